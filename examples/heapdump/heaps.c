/* Choosing heaps that say who allocated, and working on them. */

#include "heaps.h"

#include <sys/stat.h>

#include "formats/formats.h"
#include "frames.h"
#include "memprof.h"
#include "objects.h"

bool selected(const arguments *a, const hd_heap *heap) {
    if (a->has_pid && heap->pid != a->pid) return false;
    if (a->dump && (!heap->dump || strcmp(heap->dump, a->dump))) return false;
    if (a->kind && strcmp(hd_heap_kind_name(heap->kind), a->kind)) return false;
    return !a->allocator || (heap->allocator && !strcmp(heap->allocator, a->allocator));
}

static uint32_t axis_count(const hd_heap *heap) {
    return heap->breakdown ? heap->breakdown->entries.axis_count : hd_profile_axis_count(heap->profile);
}

static hd_axis axis_at(const hd_heap *heap, uint32_t i) {
    return heap->breakdown ? heap->breakdown->axis[i] : hd_profile_axis(heap->profile, i);
}

/* The axis that --by names; 0 where the heap has no such one. Of an inverted breakdown no other is left. */
uint32_t axis_in(const arguments *a, const hd_heap *heap) {
    uint32_t count = axis_count(heap);
    if (!a->by || !strcmp(a->by, "backtrace") || count == 1) return 0;
    for (uint32_t i = 1; i < count; i++)
        if (!strcmp(axis_at(heap, i).name, a->by)) return i;
    return !strcmp(a->by, "type") ? HD_AXIS_TYPE : 0;
}

/* The axis that --by names in heaps that are compared; 0 where one of them has no such. */
uint32_t axis_in_both(const arguments *a, const hd_heap *before, const hd_heap *after) {
    return axis_in(a, after) ? axis_in(a, before) : 0;
}

/* Whether a dump can be looked at as --by and --metric ask; otherwise tells why not. */
static bool can_be_seen(const arguments *a, const char *file, const hd_dump *dump) {
    const char *format = hd_dump_format(dump)->name;
    bool of_memprof = hd_dump_memprof(dump) || hd_dump_memprof_index(dump);
    const hd_heap *most = NULL;
    bool any = !a->by || !strcmp(a->by, "backtrace") || !strcmp(a->by, "type") || (of_memprof && memprof_split(a));
    for (size_t i = 0; i < hd_dump_heap_count(dump) && !any; i++) {
        const hd_heap *heap = hd_dump_heap(dump, i);
        any = axis_in(a, heap) != 0;
        if (!most || axis_count(heap) > axis_count(most)) most = heap;
    }
    if (any && (of_memprof || !a->field)) return true;
    if (any || memprof_split(a)) {
        display(stderr, "heapdump: %s (%s) is no MemProf profile: %s is not to be had\n", file, format,
                any ? hd_memprof_field_name(a->field) : a->by);
        return false;
    }
    display(stderr, "heapdump: %s (%s): --by takes backtrace", file, format);
    for (uint32_t i = 1; most && i < axis_count(most); i++) display(stderr, ", %s", axis_at(most, i).name);
    display(stderr, " here, not '%s'\n", a->by);
    return false;
}

/* In place of `heap`, what an operation made of it. */
static void worked(hd_heap *heap, bool *made, hd_heap result) {
    if (*made) hd_heap_release(heap);
    *heap = result;
    *made = true;
}

/* Frames can be turned round in a breakdown only when its types are left out. */
static hd_status inverted(const arguments *a, const char *file, bool once, const hd_heap *heap, hd_heap *out,
                          hd_error *err) {
    reading r = { .file = file };
    hd_options options = { .warning = on_warning, .warning_user = &r };
    hd_heap one = *heap, shorter = { 0 };
    repeats times = { NULL, 0 };
    bool found = false;
    hd_profile *profile;
    hd_status status;
    if (!heap->breakdown || (heap->breakdown->entries.axis_count == 1 && !once))
        return hd_invert_for(heap, axis_in(a, heap), &a->listed, &options, out, err);
    status = hd_breakdown_axis_profile(heap->breakdown, axis_in(a, heap), NULL, &profile, err);
    if (status) return status;
    one.breakdown = NULL;
    one.profile = profile;
    if (once && !axis_in(a, heap)) status = tell_recursion_once(&one, &shorter, &found, &times, err);
    if (!status) status = hd_invert_for(found ? &shorter : &one, 0, &a->listed, &options, out, err);
    if (found && !status) hd_heap_release(&shorter);
    free(times.list);
    hd_profile_free(profile);
    return status;
}

static hd_rows rows_of(const hd_heap *heap) {
    return heap->breakdown ? heap->breakdown->entries : hd_profile_cells(heap->profile);
}

/* Without the frames of allocators and runtimes; *hidden counts them. */
static hd_status hide(const hd_heap *heap, size_t *hidden, hd_heap *result, hd_error *err) {
    hidden_frames frames;
    hd_rows rows = rows_of(heap);
    hd_status status;
    hidden_frames_find(&frames, axis_at(heap, HD_AXIS_BACKTRACE), &rows);
    *hidden += frames.hidden;
    status = hd_hide_nodes(heap, HD_AXIS_BACKTRACE, frames.is, frames.own, NULL, result, err);
    hidden_frames_free(&frames);
    return status;
}

static bool tells_once(const arguments *a, const chosen *c) {
    return a->once && !a->json && !a->frames_all && !a->frames_hidden && !hd_dump_graph(c->dump);
}

/* Whether it is a sum of breakdowns, which tells how much more there may be. */
bool has_bounds(const hd_heap *heap) { return heap->breakdown && heap->breakdown->entries.unlisted; }

/* Once, what operations on merged heaps do not tell. */
static void tell_unbounded(const char *file) {
    static bool told;
    if (!told)
        display(stderr, "heapdump: %s: what merged heaps hold and do not list is not told of what is made of them; "
                "whole heaps with --frames all tell it\n", file);
    told = true;
}

/* Frames of allocators left out, and recursion told once, unless that would cost the bounds of a merged heap. */
static hd_status folded(const arguments *a, chosen *c, hd_heap *heap, bool *made, repeats *again, hd_error *err) {
    hd_heap result;
    bool found;
    size_t hidden;
    hd_status status = HD_OK;
    if (a->hide && !a->frames_all && !a->frames_hidden && !hd_dump_graph(c->dump)) {
        hd_profile *shorter;
        status = without_drop_frames(c->dump, heap, &c->hidden, &shorter, err);
        if (status) return status;
        result = *heap;
        result.profile = shorter;
        if (shorter) worked(heap, made, result);
        hidden = c->hidden;
        status = hide(heap, &c->hidden, &result, err);
        if (!status && c->hidden != hidden) worked(heap, made, result);
        else if (!status) hd_heap_release(&result);
    }
    if (status || !tells_once(a, c) || has_bounds(heap)) return status;
    status = tell_recursion_once(heap, &result, &found, again, err);
    if (!status && found) worked(heap, made, result);
    return status;
}

/* --keep, --drop, --root, --frames, --invert. */
static hd_status work(const arguments *a, chosen *c, hd_heap *heap, bool *made, repeats *again, hd_error *err) {
    hd_heap result;
    bool bounded = has_bounds(heap);
    hd_status status = HD_OK;
    for (const pattern *p = &a->keep; p <= &a->root && !status; p++) {
        void *user = (void *)(uintptr_t)p;
        if (!p->text) continue;
        if (p == &a->root) status = hd_reroot(heap, p->axis, pattern_matches, user, NULL, &result, err);
        else status = hd_filter(heap, p->axis, pattern_matches, user, p == &a->keep, NULL, &result, err);
        if (!status) worked(heap, made, result);
    }
    if (!status && a->hide && !hd_dump_graph(c->dump)) {
        bool fewer;
        status = without_labels(a, heap, &result, &fewer, err);
        if (!status && fewer) worked(heap, made, result);
    }
    if (!status) status = folded(a, c, heap, made, again, err);
    if (!status && a->invert && !a->frames_hidden) {
        status = inverted(a, c->file, tells_once(a, c), heap, &result, err);
        if (!status) worked(heap, made, result);
    }
    if (!status && bounded && !has_bounds(heap)) tell_unbounded(c->file);
    return status;
}

void chosen_free(chosen *c) {
    for (size_t i = 0; i < c->count; i++) {
        if (c->made[i]) hd_heap_release(&c->heaps[i]);
        free(c->again[i].list);
    }
    free(c->heaps), free(c->made), free(c->again);
    symbols_free(&c->names);
    if (!c->borrowed) hd_dump_free(c->dump);
}

/* Functions for frames that are addresses in objects. */
static hd_status named(const arguments *a, chosen *c, hd_heap *heap, bool *made, hd_error *err) {
    hd_heap result = *heap;
    symbols *names = a->names ? a->names : &c->names;
    hd_profile *profile;
    hd_status status;
    /* What its runtime could not name, as in what is written. */
    if (!strcmp(hd_dump_format(c->dump)->name, "memprof-report")) {
        symbols_prepare(names, hd_profile_axis(heap->profile, HD_AXIS_BACKTRACE));
        status = hd_profile_rename(heap->profile, HD_AXIS_BACKTRACE, symbols_rename, names, NULL, &profile, err);
    } else if (format_has_addresses(hd_dump_format(c->dump)))
        status = name_profile(a, names, heap->profile, &profile, err);
    else if (heap->profile && (a->names || a->hide))
        status = name_places(names, c->dump, heap->profile, &profile, err);
    else
        return HD_OK;
    symbols_tell(names);
    if (status || !profile) return status;
    result.profile = profile;
    worked(heap, made, result);
    return HD_OK;
}

/* Warns of objects that are newer than the dump whose frames they name. */
static void tell_newer(const char *file, symbols *names) {
    struct stat dump;
    if (stat(file, &dump)) return;
    for (size_t i = 0; i < names->count; i++) {
        symbols_object *o = &names->objects[i];
        if (!o->is_elf || o->told || (i < names->given && !o->used)) continue;
        o->told = o->changed > (int64_t)dump.st_mtim.tv_sec;
        if (o->told)
            display(stderr, "heapdump: warning: %s is newer than %s: it may name other functions than those that ran\n",
                    o->path, file);
    }
}

/* Of MemProf profiles, what --metric, --by and --binary ask for. */
static hd_status viewed(const arguments *a, const hd_dump *dump, size_t number, hd_heap *heap, bool *made,
                        hd_error *err) {
    const hd_memprof *raw = hd_dump_memprof(dump);
    const hd_memprof_index *index = hd_dump_memprof_index(dump);
    if (raw) return memprof_heap(a, hd_memprof_part(raw, number), heap, made, err);
    return index ? index_heap(a, index, heap, made, err) : HD_OK;
}

/* Only the last dump of each process. */
static void keep_last(chosen *c) {
    bool *picked = needed(calloc(c->count + 1, 1));
    size_t n = 0;
    mark_picked(c, NULL, true, picked);
    for (size_t i = 0; i < c->count; i++) {
        if (picked[i]) {
            c->heaps[n] = c->heaps[i], c->made[n] = c->made[i], c->again[n++] = c->again[i];
        } else {
            if (c->made[i]) hd_heap_release(&c->heaps[i]);
            free(c->again[i].list);
        }
    }
    c->earlier = c->count - n;
    c->count = n;
    free(picked);
}

static bool has_live(const arguments *a, const hd_dump *dump) {
    for (size_t i = 0; i < hd_dump_heap_count(dump); i++)
        if (selected(a, hd_dump_heap(dump, i)) && hd_dump_heap(dump, i)->kind == HD_HEAP_LIVE) return true;
    return false;
}

/* Of objects: the tree of what dominates what. Nothing chosen is an error, told here. */
static int choose_heaps(const arguments *a, const char *file, hd_dump *dump, chosen *c) {
    const hd_graph *graph = hd_dump_graph(dump);
    size_t all = hd_dump_heap_count(dump);
    hd_error err;
    bool only_live = !a->kind && a->live_kind && has_live(a, dump);
    int status = DONE;
    if (!can_be_seen(a, file, dump)) {
        if (!c->borrowed) hd_dump_free(dump);
        return BAD_INPUT;
    }
    c->file = file;
    c->dump = dump;
    c->count = c->hidden = c->earlier = c->other_kinds = 0;
    memset(&c->names, 0, sizeof c->names);
    c->heaps = needed(calloc(all + 1, sizeof *c->heaps));
    c->made = needed(calloc(all + 1, sizeof *c->made));
    c->again = needed(calloc(all + 1, sizeof *c->again));
    if (graph) {
        status = graph_heap(a, file, graph, &c->heaps[0]);
        c->made[0] = !status;
        c->count = !status;
        if (!status && work(a, c, &c->heaps[0], &c->made[0], &c->again[0], &err)) status = failed(file, &err);
    }
    for (size_t i = 0; i < all && !status; i++) {
        if (!selected(a, hd_dump_heap(c->dump, i))) continue;
        if (only_live && hd_dump_heap(c->dump, i)->kind != HD_HEAP_LIVE) {
            c->other_kinds++;
            continue;
        }
        c->heaps[c->count] = *hd_dump_heap(c->dump, i);
        if (viewed(a, dump, i, &c->heaps[c->count], &c->made[c->count], &err) ||
            named(a, c, &c->heaps[c->count], &c->made[c->count], &err) ||
            work(a, c, &c->heaps[c->count], &c->made[c->count], &c->again[c->count], &err)) {
            display(stderr, "heapdump: %s (%s): %s\n", file, hd_dump_format(dump)->name, err.message);
            status = BAD_INPUT;
        }
        c->count++;
    }
    if (!status && a->last_dump && !a->all && !a->dump) keep_last(c);
    if (!status && !a->quiet && format_has_addresses(hd_dump_format(dump))) tell_newer(file, a->names ? a->names : &c->names);
    if (!status && !c->count) {
        display(stderr, "heapdump: %s (%s): no heap dump%s\n", file, hd_dump_format(dump)->name,
                all ? " matches" : " in it");
        status = BAD_INPUT;
    }
    if (status) chosen_free(c);
    return status;
}

/* From a dump, which is freed with what was chosen. */
int choose_from(const arguments *a, const char *file, hd_dump *dump, chosen *c) {
    c->borrowed = false;
    return choose_heaps(a, file, dump, c);
}

/* Other heaps of a dump that heaps were chosen of, and which frees it. */
int choose_again(const arguments *a, const chosen *from, chosen *c) {
    c->borrowed = true;
    return choose_heaps(a, from->file, from->dump, c);
}

/* Freed with chosen_free on success alone. */
int choose(const arguments *a, const char *file, chosen *c) {
    hd_dump *dump;
    int status = read_dump(file, a, &dump);
    return status ? status : choose_from(a, file, dump, c);
}

/* By the names of its parts; the error when there is one. */
void json_amount(hd_json *j, const char *bytes, const char *blocks, const char *error,
                 const hd_amount *amount) {
    uint64_t root = hd_standard_error(amount->variance);
    json_u64(j, bytes, amount->bytes);
    json_known(j, blocks, amount->blocks);
    if (root) json_u64(j, error, root);
}

hd_tree_options tree_options(const arguments *a) {
    hd_tree_options options = {
        .cutoff = a->cutoff, .every_route = a->every_route, .order = a->order,
        .units = !a->exact && !memprof_counted(a)
    };
    if (!a->has_cutoff) options.cutoff.min_share = 0.01;
    return options;
}

int compare_texts(const char *x, const char *y) { return strcmp(x ? x : "", y ? y : ""); }
bool same_text(const char *x, const char *y) { return !compare_texts(x, y); }

int compare_numbers(uint64_t x, uint64_t y) { return (x > y) - (x < y); }

/* Labels in the order that they have. */
static int compare_labels(const hd_heap *x, const hd_heap *y) {
    int order = compare_numbers(x->label_count, y->label_count);
    for (size_t i = 0; i < x->label_count && !order; i++) {
        order = strcmp(x->labels[i].name, y->labels[i].name);
        if (!order) order = strcmp(x->labels[i].value, y->labels[i].value);
    }
    return order;
}

/* 0: heaps of one process. Processes are told apart by number and labels, or, of two files and without a number, by
   name. */
static int compare_processes(const hd_heap *x, const hd_heap *y, bool by_name) {
    int order = by_name ? 0 : compare_numbers(x->pid, y->pid);
    if (by_name || (!order && !x->pid)) order = compare_texts(x->process, y->process);
    return order || by_name ? order : compare_labels(x, y);
}

/* 0: heaps of one process, allocator and kind, which can be compared. */
int compare_heaps(const hd_heap *x, const hd_heap *y, bool by_name) {
    int order = compare_processes(x, y, by_name);
    if (!order) order = compare_texts(x->allocator, y->allocator);
    return order ? order : compare_numbers(x->kind, y->kind);
}

/* False of two processes that had one number, one after the other. */
bool same_start(const hd_heap *x, const hd_heap *y) {
    return !x->start_us || !y->start_us || x->start_us == y->start_us;
}

bool same_process(const hd_heap *x, const hd_heap *y) { return !compare_processes(x, y, false) && same_start(x, y); }

/* Of heaps in one array, told by pointers into it: process by process, each by time. */
int by_process_and_time(const void *a, const void *b) {
    const hd_heap *x = *(const hd_heap *const *)a, *y = *(const hd_heap *const *)b;
    int order = compare_processes(x, y, false);
    if (!order) order = compare_numbers(x->start_us, y->start_us);
    if (!order) order = compare_numbers(x->time_us, y->time_us);
    return order ? order : (x > y) - (x < y);
}

/* Of heaps in one array, told by pointers into it; those that can be compared stay in their order. */
int by_pid(const void *a, const void *b) {
    const hd_heap *x = *(const hd_heap *const *)a, *y = *(const hd_heap *const *)b;
    int order = compare_heaps(x, y, false);
    return order ? order : (x > y) - (x < y);
}

/* Those that are marked (NULL: all), sorted. *n is how many. To be freed. */
const hd_heap **sorted_heaps(const hd_heap *heaps, size_t count, const bool *marked,
                             int (*order)(const void *, const void *), size_t *n) {
    const hd_heap **sorted = needed(malloc((count + 1) * sizeof *sorted));
    *n = 0;
    for (size_t i = 0; i < count; i++)
        if (!marked || marked[i]) sorted[(*n)++] = &heaps[i];
    qsort(sorted, *n, sizeof *sorted, order);
    return sorted;
}

/* Whether two heaps that can be compared are parts of one sum, as rows have it: its profile and its breakdown, or what
   was sampled at other distances. */
static bool same_sum(const hd_heap *x, const hd_heap *y) {
    return (!x->profile != !y->profile || x->sample_bytes != y->sample_bytes) && x->time_us == y->time_us &&
           same_text(x->dump, y->dump);
}

/* Marks the heaps of the dump to work on: that of the id, else the first or last of each process. */
void mark_picked(const chosen *c, const char *id, bool last, bool *picked) {
    size_t n;
    const hd_heap **sorted;
    for (size_t i = 0; i < c->count; i++) picked[i] = id && same_text(c->heaps[i].dump, id);
    if (id) return;
    sorted = sorted_heaps(c->heaps, c->count, NULL, by_pid, &n);
    for (size_t k = 0; k < n; k++) {
        size_t i = last ? n - 1 - k : k;
        const hd_heap *heap = sorted[i], *beside = !k ? NULL : sorted[last ? i + 1 : i - 1];
        if (!beside || compare_heaps(heap, beside, false) || !same_start(heap, beside) ||
            (picked[beside - c->heaps] && same_sum(heap, beside)))
            picked[heap - c->heaps] = true;
    }
    free(sorted);
}

/* Whether it is sampled, and nothing tells its errors: for these the blocks would have to be known. */
bool has_unknown_error(const hd_heap *heap) {
    totals t;
    if (!heap->sample_bytes) return false;
    t = totals_of(heap);
    return t.blocks == HD_UNKNOWN && !t.error && t.bytes;
}

totals totals_of(const hd_heap *heap) {
    totals t;
    if (heap->breakdown) {
        const hd_amount *total = &heap->breakdown->entries.amount[0];
        t = (totals){ total->bytes, total->blocks, hd_standard_error(total->variance),
                      heap->breakdown->entries.count };
    } else {
        hd_u128 variance = { 0, 0 };
        hd_rows cells = hd_profile_cells(heap->profile);
        t.bytes = hd_profile_bytes(heap->profile);
        t.blocks = hd_profile_blocks(heap->profile);
        t.rows = cells.count;
        for (uint32_t i = 0; i < cells.count; i++) {
            if (cells.amount[i].blocks == HD_UNKNOWN) t.blocks = HD_UNKNOWN; /* a sum of those that are told */
            variance.lo += cells.amount[i].variance.lo;
            variance.hi += cells.amount[i].variance.hi + (variance.lo < cells.amount[i].variance.lo);
        }
        t.error = hd_standard_error(variance);
    }
    return t;
}
