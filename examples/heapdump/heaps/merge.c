/* merge */

#include "heaps.h"
#include "pairing_frames.h"

#include <search.h>

typedef struct group_name {
    char *allocator;
    hd_heap_kind kind;
    size_t number;
} group_name;

/* The heaps of one allocator and kind. */
typedef struct group {
    const group_name *name;
    hd_merger *sum;
    size_t count;
    size_t files, last;          /* files with such a heap; the number of the last one */
    /* Live heaps without a total in their file; `implied` is the sum of those equal to the omitted total. */
    hd_merger *implied;
    size_t implied_count, without, last_without;
} group;

/* All groups, found by name. */
typedef struct groups {
    group *group;
    size_t count;
    void *names;                 /* tsearch, of group_name */
    const hd_format *common;     /* of all files; NULL: files of several formats */
    size_t files, snapshots;     /* that were read; snapshots: of objects */
    frame_pairs *functions;      /* names of functions in the files so far */
    reading merging;             /* for the progress report */
} groups;

static int by_allocator(const void *a, const void *b) {
    const group_name *x = a, *y = b;
    int order = compare_texts(x->allocator, y->allocator);
    return order ? order : compare_numbers(x->kind, y->kind);
}

static int by_name(const void *a, const void *b) {
    return by_allocator(((const group *)a)->name, ((const group *)b)->name);
}

static void group_name_free(void *name) {
    free(((group_name *)name)->allocator);
    free(name);
}

static void groups_free(groups *m) {
    tdestroy(m->names, group_name_free);
    for (size_t g = 0; g < m->count; g++) hd_merger_free(m->group[g].sum), hd_merger_free(m->group[g].implied);
    free(m->group);
    frame_pairs_free(m->functions);
}

static group *group_of(groups *m, const hd_heap *heap) {
    group_name *name = needed(malloc(sizeof *name)), *found;
    name->allocator = needed(strdup(heap->allocator ? heap->allocator : ""));
    name->kind = heap->kind;
    name->number = m->count;
    found = *(group_name **)needed(tsearch(name, &m->names, by_allocator));
    if (found != name) group_name_free(name);
    if (found->number == m->count) {
        ONE_MORE(m->group, m->count);
        m->group[m->count++] = (group){ .name = found, .sum = needed(hd_merger_create(NULL, NULL)) };
    }
    return &m->group[found->number];
}

/* Drops the dump, the time and the label "profile" of rows: they belong to one file, and not to a sum. */
static hd_status add_plain(hd_merger *sum, const hd_heap *heap, hd_heap_kind kind, hd_error *err) {
    FREED hd_label *labels = needed(calloc(heap->label_count + 1, sizeof *labels));
    hd_heap plain = { .process = heap->process, .kind = kind, .allocator = heap->allocator,
                      .sample_bytes = heap->sample_bytes, .profile = heap->profile, .breakdown = heap->breakdown,
                      .labels = labels };
    for (size_t i = 0; i < heap->label_count; i++)
        if (strcmp(heap->labels[i].name, "profile")) labels[plain.label_count++] = heap->labels[i];
    return hd_merger_add(sum, &plain, err);
}

/* Compares pointers to heaps; 0: one process and allocator; kinds may differ. */
static int by_owner(const void *a, const void *b) {
    hd_heap x = **(const hd_heap *const *)a, y = **(const hd_heap *const *)b;
    x.kind = y.kind = HD_HEAP_TOTAL;
    return compare_heaps(&x, &y, false);
}

/* The totals in a file, sorted. To be freed. */
static const hd_heap **totals_of_file(const chosen *c, size_t *n) {
    FREED bool *is_total = needed(calloc(c->count + 1, sizeof *is_total));
    const hd_heap **sorted;
    for (size_t i = 0; i < c->count; i++) is_total[i] = c->heaps[i].kind == HD_HEAP_TOTAL;
    sorted = sorted_heaps(c->heaps, c->count, is_total, by_owner, n);
    return sorted;
}

/* Finds an existing group, or returns NULL. */
static group *group_found(groups *m, const char *allocator, hd_heap_kind kind) {
    char none[] = "";
    group_name name = { (char *)(uintptr_t)(allocator ? allocator : none), kind, 0 };
    void *found = tfind(&name, &m->names, by_allocator);
    return found ? &m->group[(*(group_name **)found)->number] : NULL;
}

/* Whether a missing total equals the live heap. In jemalloc's files, a missing total was not counted. */
static bool omits_equal_total(const hd_format *format, const hd_heap *live) {
    return format->is & FORMAT_OMITS_TOTALS && !same_text(live->allocator, "jemalloc");
}

/* Adds a heap; `known` holds the totals of its file. A live heap without a total is also kept apart, because some
   formats omit a total that equals the live heap. */
static hd_status group_add(groups *m, const hd_format *format, const hd_heap **known, size_t known_count,
                           const hd_heap *heap, hd_error *err) {
    group *to = group_of(m, heap);
    hd_status status = add_plain(to->sum, heap, heap->kind, err);
    if (status) return status;
    to->count++;
    to->files += to->last != m->files;
    to->last = m->files;
    if (heap->kind != HD_HEAP_LIVE || bsearch(&heap, known, known_count, sizeof *known, by_owner)) return HD_OK;
    to->without += to->last_without != m->files;
    to->last_without = m->files;
    if (!omits_equal_total(format, heap)) return HD_OK;
    if (!to->implied) to->implied = needed(hd_merger_create(NULL, NULL));
    status = add_plain(to->implied, heap, HD_HEAP_TOTAL, err);
    if (!status) to->implied_count++;
    return status;
}

/* Adds live heaps as the omitted totals of their files, if all files have one format that omits equal totals. */
static hd_status add_implied(groups *m, group *total, hd_error *err) {
    group *live = group_found(m, total->name->allocator, HD_HEAP_LIVE);
    hd_heap parts[2];
    size_t n = 0;
    hd_status status = HD_OK;
    if (!total->count || !live) return HD_OK;
    total->without = live->without;
    if (!m->common || !live->implied) return HD_OK;
    status = hd_merger_finish_parts(live->implied, parts, &n, err);
    for (size_t i = 0; i < n; i++) {
        if (!status) status = hd_merger_add(total->sum, &parts[i], err);
        hd_heap_release(&parts[i]);
    }
    total->implied_count = live->implied_count;
    total->count += live->implied_count;
    total->without = 0;
    return status;
}

/* The heaps of a file to add, with functions named as in earlier files. Reports an error and returns NULL. */
static renamed_heap *merged_of(const arguments *a, const chosen *c, groups *m, size_t *count) {
    FREED bool *picked = needed(calloc(c->count, 1));
    FREED const hd_heap **heaps = needed(calloc(c->count + 1, sizeof *heaps));
    renamed_heap *renamed = needed(calloc(c->count + 1, sizeof *renamed));
    hd_error err;
    *count = 0;
    mark_picked(c, a->heaps.dump, true, picked);
    for (size_t i = 0; i < c->count; i++)
        if (a->cut.all || picked[i]) heaps[(*count)++] = &c->heaps[i];
    if (!m->functions) m->functions = frame_pairs_create(false);
    if (frame_pairs_take(m->functions, c->dump, heaps, *count, renamed, &err)) {
        failed(c->file, &err);
        free(renamed), renamed = NULL;
    }
    return renamed;
}

/* Adds the heaps of a file. A heap that does not fit the sum is reported and left out. --strict, lack of memory and
   limits end the merge. */
static int merge_chosen(const arguments *a, const chosen *c, groups *m, int *bad) {
    size_t count;
    FREED renamed_heap *renamed = merged_of(a, c, m, &count);
    int status = renamed ? DONE : BAD_INPUT;
    size_t known_count;
    FREED const hd_heap **known = totals_of_file(c, &known_count);
    for (size_t i = 0; i < count && !status; i++) {
        const hd_heap *heap = &renamed[i].heap;
        const char *allocator = heap->allocator;
        hd_error err;
        if (!group_add(m, hd_dump_format(c->dump), known, known_count, heap, &err)) continue;
        display(stderr, "heapdump: %s: a heap%s%s is left out: %s\n", c->file, allocator ? " of " : "",
                allocator ? allocator : "", err.message);
        *bad = BAD_INPUT;
        if (a->input.strict || err.status == HD_OUT_OF_MEMORY || err.status == HD_LIMIT) status = BAD_INPUT;
    }
    for (size_t i = 0; renamed && i < count; i++) renamed_heap_free(&renamed[i]);
    return status;
}

/* Adds up all files. Without --strict, unreadable files are reported and left out, and *bad is set. */
static int merge_files(const arguments *a, hd_places *places, groups *m, int *bad) {
    size_t merged = 0;
    int status = DONE;
    ahead *next = ahead_start(a);
    m->merging.doing = "merging";
    clock_gettime(CLOCK_MONOTONIC, &m->merging.began);
    for (int i = 0; i < a->input.file_count && !status; i++) {
        chosen c;
        hd_dump *dump = ahead_take(next, i);
        on_progress(&m->merging, (uint64_t)i, (uint64_t)a->input.file_count);
        if (dump ? choose_from(a, a->input.files[i], dump, &c) : choose(a, a->input.files[i], &c)) {
            *bad = BAD_INPUT;
            if (a->input.strict) status = BAD_INPUT;
            continue;
        }
        m->common = !m->files++ || m->common == hd_dump_format(c.dump) ? hd_dump_format(c.dump) : NULL;
        m->snapshots += hd_dump_graph(c.dump) != NULL;
        status = merge_chosen(a, &c, m, bad);
        if (!status) status = places_add(places, c.file, c.dump);
        chosen_free(&c);
    }
    ahead_stop(next);
    progress_end();
    for (size_t g = 0; g < m->count; g++) merged += m->group[g].count;
    return !status && !merged ? BAD_INPUT : status;
}

/* Reports the number of heaps in a sum. */
static void print_merged(const group *from, const hd_heap *heap) {
    bool live = heap->kind == HD_HEAP_LIVE;
    display(stderr, "heapdump: %s%s%s: %zu heap%s merged", heap->allocator ? heap->allocator : "-", live ? "" : ", ",
            live ? "" : hd_heap_kind_name(heap->kind), from->count, from->count == 1 ? "" : "s");
    if (!live && from->implied_count)
        display(stderr, ", %zu of them live: %s", from->implied_count,
                from->implied_count == 1 ? "its file has no total" : "their files have no total");
    if (heap->kind == HD_HEAP_TOTAL && from->without)
        display(stderr, ", %zu of %zu files ha%s a total", from->files, from->files + from->without,
                from->files == 1 ? "s" : "ve");
    fputc('\n', stderr);
}

/* Sums are sorted by name, so the order of files does not matter. Rows keep sums of profiles and of breakdowns
   apart. */
static int finish_groups(groups *m, bool parts, hd_heap *heaps, size_t *count) {
    hd_status status = HD_OK;
    hd_error err;
    for (size_t g = 0; g < m->count && !status; g++)
        if (m->group[g].name->kind == HD_HEAP_TOTAL) status = add_implied(m, &m->group[g], &err);
    qsort(m->group, m->count, sizeof *m->group, by_name); /* group_found does not work from here on */
    for (size_t g = 0; g < m->count && !status; g++) {
        const group *from = &m->group[g];
        hd_heap *heap = &heaps[*count];
        size_t n = 1;
        if (!from->count) continue;  /* all of them were left out */
        status = parts ? hd_merger_finish_parts(from->sum, heap, &n, &err) : hd_merger_finish(from->sum, heap, &err);
        if (status) break;
        *count += n;
        print_merged(from, heap);
    }
    if (status) display(stderr, "heapdump: %s\n", err.message);
    return status ? BAD_INPUT : DONE;
}

/* The default format of the sums: the format of all files, if it can hold the sums without loss. */
static const char *common_format(const arguments *a, const groups *m, const hd_heap *heaps, size_t count) {
    const hd_format *format = m->common;
    if (!format || !format->write_heaps || a->cut.has_cutoff) return NULL;
    for (size_t i = 0; i < count; i++) {
        const hd_heap *heap = &heaps[i];
        if (heap->breakdown && format->lacks & HD_LACKS_CUMULATIVE) return NULL;
        if (heap->label_count && format->lacks & HD_LACKS_MORE_LABELS) return NULL;
        if (format->lacks & HD_LACKS_DUMPS &&
            (heap->pid != heaps[0].pid || !same_text(heap->process, heaps[0].process)))
            return NULL;
    }
    return format->name;
}

/* Writes the sums in the format of --to, or else of the output's name. */
int merge_heaps(const arguments *a) {
    output_options out = a->out;
    groups m = { 0 };
    hd_places *places;
    FREED hd_heap *heaps = NULL;
    size_t count = 0;
    bool named;
    int status, bad = DONE;
    status = check_to(a);
    if (status) return status;
    named = out.to || out.add_to;
    places = named ? places_create(&out) : needed(hd_places_create(NULL, NULL));
    status = merge_files(a, places, &m, &bad);
    heaps = needed(calloc(2 * m.count + 1, sizeof *heaps));
    if (!named && m.common && m.common->is & HD_FORMAT_PARTS) out.to = m.common->name;
    if (!status) status = finish_groups(&m, format_is(out.to, HD_FORMAT_PARTS), heaps, &count);
    if (!named && !out.to && !status) out.to = common_format(a, &m, heaps, count);
    if (!status) status = check_terminal(out.file, out.to);
    if (!status && m.snapshots)
        display(stderr, "heapdump: the result has no objects: it has the retained sizes by class (dominator trees) "
                "of %zu snapshot%s, added up\n", m.snapshots, plural(m.snapshots));
    if (!status)
        status = write_condensed(&out, &a->cut, &(hd_chrome_dumps){ .heaps = heaps, .heap_count = count }, places,
                                 0, 0);
    for (size_t i = 0; i < count; i++) hd_heap_release(&heaps[i]);
    groups_free(&m);
    hd_places_free(places);
    return status ? status : bad;
}

