/* merge */

#include "commands.h"

#include <search.h>

#include "heaps.h"
#include "memprof.h"

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
} group;

/* All groups, found by name. */
typedef struct groups {
    group *group;
    size_t count, room;
    void *names;                 /* tsearch, of group_name */
    reading merging;             /* of which progress is told */
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
    for (size_t g = 0; g < m->count; g++) hd_merger_free(m->group[g].sum);
    free(m->group);
}

static group *group_of(groups *m, const hd_heap *heap) {
    group_name *name = needed(malloc(sizeof *name)), *found;
    name->allocator = needed(strdup(heap->allocator ? heap->allocator : ""));
    name->kind = heap->kind;
    name->number = m->count;
    found = *(group_name **)needed(tsearch(name, &m->names, by_allocator));
    if (found != name) group_name_free(name);
    if (found->number == m->count) {
        if (m->count == m->room) {
            m->room = 2 * m->room + 1;
            m->group = needed(realloc(m->group, m->room * sizeof *m->group));
        }
        m->group[m->count++] = (group){ .name = found, .sum = needed(hd_merger_create(NULL, NULL)) };
    }
    return &m->group[found->number];
}

/* The dump and time are those of a file, and so is the label that rows have for that. */
static hd_status group_add(group *m, const hd_heap *heap, hd_error *err) {
    hd_label *labels = needed(calloc(heap->label_count + 1, sizeof *labels));
    hd_status status;
    hd_heap plain = { .process = heap->process, .kind = heap->kind, .allocator = heap->allocator,
                      .sample_bytes = heap->sample_bytes, .profile = heap->profile, .breakdown = heap->breakdown,
                      .labels = labels };
    for (size_t i = 0; i < heap->label_count; i++)
        if (strcmp(heap->labels[i].name, "profile")) labels[plain.label_count++] = heap->labels[i];
    status = hd_merger_add(m->sum, &plain, err);
    if (!status) m->count++;
    free(labels);
    return status;
}

/* Adds the heaps of a file. One that does not fit the sum is left out as a bad file is; without memory nothing is. */
static int merge_chosen(const arguments *a, const chosen *c, groups *m, int *bad) {
    bool *picked = needed(calloc(c->count, 1));
    int status = DONE;
    mark_picked(c, a->dump, true, picked);
    for (size_t i = 0; i < c->count && !status; i++) {
        const char *allocator = c->heaps[i].allocator;
        hd_error err;
        if (!a->all && !picked[i]) continue;
        if (!group_add(group_of(m, &c->heaps[i]), &c->heaps[i], &err)) continue;
        display(stderr, "heapdump: %s: a heap%s%s is left out: %s\n", c->file, allocator ? " of " : "",
                allocator ? allocator : "", err.message);
        *bad = BAD_INPUT;
        if (a->strict || err.status == HD_OUT_OF_MEMORY || err.status == HD_LIMIT) status = BAD_INPUT;
    }
    free(picked);
    return status;
}

/* Adds up all files. What cannot be read or added is left out, unless --strict is given, and *bad says so. */
static int merge_files(const arguments *a, hd_places *places, groups *m, int *bad) {
    size_t merged = 0;
    int status = DONE;
    ahead *next = ahead_start(a);
    m->merging.doing = "merging";
    clock_gettime(CLOCK_MONOTONIC, &m->merging.began);
    for (int i = 0; i < a->file_count && !status; i++) {
        chosen c;
        hd_dump *dump = ahead_take(next, i);
        on_progress(&m->merging, (uint64_t)i, (uint64_t)a->file_count);
        if (dump ? choose_from(a, a->files[i], dump, &c) : choose(a, a->files[i], &c)) {
            *bad = BAD_INPUT;
            if (a->strict) status = BAD_INPUT;
            continue;
        }
        status = merge_chosen(a, &c, m, bad);
        if (!status) status = places_add(places, c.file, c.dump);
        chosen_free(&c);
    }
    ahead_stop(next);
    progress_end();
    for (size_t g = 0; g < m->count; g++) merged += m->group[g].count;
    return !status && !merged ? BAD_INPUT : status;
}

/* The sums by their names, whichever file came first. Rows tell those of profiles and of breakdowns apart. */
static int finish_groups(const arguments *a, groups *m, hd_heap *heaps, size_t *count) {
    bool parts = a->to && !strncmp(a->to, "rows", 4);
    qsort(m->group, m->count, sizeof *m->group, by_name);
    for (size_t g = 0; g < m->count; g++) {
        const group *from = &m->group[g];
        hd_heap *heap = &heaps[*count];
        size_t n = 1;
        hd_error err;
        if (!from->count) continue;  /* all of them were left out */
        if (parts ? hd_merger_finish_parts(from->sum, heap, &n, &err) : hd_merger_finish(from->sum, heap, &err)) {
            display(stderr, "heapdump: %s\n", err.message);
            return BAD_INPUT;
        }
        *count += n;
        display(stderr, "heapdump: %s%s%s: %zu heap%s merged\n", heap->allocator ? heap->allocator : "-",
                heap->kind == HD_HEAP_LIVE ? "" : ", ", heap->kind == HD_HEAP_LIVE ? "" : hd_heap_kind_name(heap->kind),
                from->count, from->count == 1 ? "" : "s");
    }
    return DONE;
}

/* The first file that there is something of, which says what is merged: one that cannot be read is left out. */
static const char *first_readable(const arguments *a) {
    uint8_t first[HD_DETECT_FIRST];
    for (int i = 0; i < a->file_count; i++)
        if (input_is_pipe(a->files[i]) || input_look(a->files[i], false, first)) return a->files[i];
    return a->files[0];
}

int run_merge(const arguments *a) {
    groups m = { 0 };
    hd_places *places;
    hd_heap *heaps;
    size_t count = 0;
    bool is_raw;
    int status, bad = DONE;
    if (file_is_named(a)) return WRONG_USAGE;
    if (yaml_is_asked(a->to)) return yaml_merge(a);
    if (index_is_merged(a)) return index_merge(a);
    is_raw = memprof_is_raw(a->to) || (!a->to && !a->add_to && memprof_begins(a, first_readable(a), true));
    status = index_check_none(a, is_raw);
    if (status) return status;
    if (is_raw) return memprof_merge(a);
    status = check_to(a);
    if (status) return status;
    places = places_create(a);
    status = merge_files(a, places, &m, &bad);
    heaps = needed(calloc(2 * m.count + 1, sizeof *heaps));
    if (!status) status = finish_groups(a, &m, heaps, &count);
    if (!status) status = write_condensed(a, &(hd_chrome_dumps){ .heaps = heaps, .heap_count = count }, places, 0, 0);
    for (size_t i = 0; i < count; i++) hd_heap_release(&heaps[i]);
    groups_free(&m);
    hd_places_free(places);
    free(heaps);
    return status ? status : bad;
}
