/* What the tool does with heaps that say who allocated: tree, top, diff, merge, info, convert. */
#ifndef HEAPDUMP_PROFILES_H
#define HEAPDUMP_PROFILES_H

#include "graphs.h"
#include "index.h"

/* Choosing heaps, and working on them. ---------------------------------------------------------- */

/* The chosen heaps of one file. */
typedef struct chosen {
    const char *file;
    hd_dump *dump;
    hd_heap *heaps;
    bool *made;                  /* by an operation: released with the rest */
    size_t count;
} chosen;

static bool selected(const arguments *a, const hd_heap *heap) {
    if (a->has_pid && heap->pid != a->pid) return false;
    if (a->dump && (!heap->dump || strcmp(heap->dump, a->dump))) return false;
    return !a->allocator || (heap->allocator && !strcmp(heap->allocator, a->allocator));
}

static uint32_t axis_of(const arguments *a) {
    return a->by && strcmp(a->by, "backtrace") ? HD_AXIS_TYPE : 0;
}

/* In place of `heap`, what an operation made of it. */
static void worked(hd_heap *heap, bool *made, hd_heap result) {
    if (*made) hd_heap_release(heap);
    *heap = result;
    *made = true;
}

/* Frames can be turned round in a breakdown only when its types are left out. */
static hd_status inverted(const arguments *a, const char *file, const hd_heap *heap, hd_heap *out,
                          hd_error *err) {
    reading r = { .file = file };
    hd_options options = { .warning = on_warning, .warning_user = &r };
    hd_heap one = *heap;
    hd_profile *profile;
    hd_status status;
    if (!heap->breakdown || heap->breakdown->entries.axis_count == 1)
        return hd_invert_for(heap, axis_of(a), &a->listed, &options, out, err);
    status = hd_breakdown_axis_profile(heap->breakdown, axis_of(a), NULL, &profile, err);
    if (status) return status;
    one.breakdown = NULL;
    one.profile = profile;
    status = hd_invert_for(&one, 0, &a->listed, &options, out, err);
    hd_profile_free(profile);
    return status;
}

/* --keep, --drop, --root, --invert. */
static hd_status work(const arguments *a, const char *file, hd_heap *heap, bool *made, hd_error *err) {
    hd_heap result;
    hd_status status = HD_OK;
    for (const pattern *p = &a->keep; p <= &a->root && !status; p++) {
        void *user = (void *)(uintptr_t)p;
        if (!p->text) continue;
        if (p == &a->root) status = hd_reroot(heap, p->axis, pattern_matches, user, NULL, &result, err);
        else status = hd_filter(heap, p->axis, pattern_matches, user, p == &a->keep, NULL, &result, err);
        if (!status) worked(heap, made, result);
    }
    if (status || !a->invert) return status;
    status = inverted(a, file, heap, &result, err);
    if (!status) worked(heap, made, result);
    return status;
}

static void chosen_free(chosen *c) {
    for (size_t i = 0; i < c->count; i++)
        if (c->made[i]) hd_heap_release(&c->heaps[i]);
    free(c->heaps);
    free(c->made);
    hd_dump_free(c->dump);
}

/* Of MemProf profiles, what --metric, --by and --binary ask for. */
static hd_status viewed(const arguments *a, const hd_dump *dump, size_t number, hd_heap *heap, bool *made,
                        hd_error *err) {
    const hd_memprof *raw = hd_dump_memprof(dump);
    const hd_memprof_index *index = hd_dump_memprof_index(dump);
    if (raw) return memprof_heap(a, hd_memprof_part(raw, number), heap, made, err);
    return index ? index_heap(a, index, heap, made, err) : HD_OK;
}

/* From a dump, which is freed with what was chosen. Of objects: the tree of what dominates what. Nothing
   chosen is an error, told here. */
static int choose_from(const arguments *a, const char *file, hd_dump *dump, chosen *c) {
    const hd_graph *graph = hd_dump_graph(dump);
    size_t all = hd_dump_heap_count(dump);
    hd_error err;
    int status = DONE;
    if (!hd_dump_memprof(dump) && !hd_dump_memprof_index(dump) && (memprof_split(a) || a->field)) {
        display(stderr, "heapdump: %s is no MemProf profile: %s is not to be had\n", file,
                memprof_split(a) ? a->by : hd_memprof_field_name(a->field));
        hd_dump_free(dump);
        return BAD_INPUT;
    }
    c->file = file;
    c->dump = dump;
    c->count = 0;
    c->heaps = needed(calloc(all + 1, sizeof *c->heaps));
    c->made = needed(calloc(all + 1, sizeof *c->made));
    if (graph) {
        status = graph_heap(a, file, graph, &c->heaps[0]);
        c->made[0] = !status;
        c->count = !status;
        if (!status && work(a, file, &c->heaps[0], &c->made[0], &err)) status = failed(file, &err);
    }
    for (size_t i = 0; i < all && !status; i++) {
        if (!selected(a, hd_dump_heap(c->dump, i))) continue;
        c->heaps[c->count] = *hd_dump_heap(c->dump, i);
        if (viewed(a, dump, i, &c->heaps[c->count], &c->made[c->count], &err) ||
            work(a, file, &c->heaps[c->count], &c->made[c->count], &err)) {
            display(stderr, "heapdump: %s: %s\n", file, err.message);
            status = BAD_INPUT;
        }
        c->count++;
    }
    if (!status && !c->count) {
        display(stderr, "heapdump: %s: no heap dump%s\n", file, all ? " matches" : " in it");
        status = BAD_INPUT;
    }
    if (status) chosen_free(c);
    return status;
}

/* Freed with chosen_free on success alone. */
static int choose(const arguments *a, const char *file, chosen *c) {
    hd_dump *dump;
    int status = read_dump(file, a, &dump);
    return status ? status : choose_from(a, file, dump, c);
}

/* tree, top ------------------------------------------------------------------------------------- */

static void json_error(hd_json *j, const char *key, double variance) {
    if (variance > 0) hd_json_key(j, key), hd_json_u64(j, hd_standard_error(variance));
}

/* The axis to look along in a heap: of an inverted breakdown no other is left. */
static uint32_t axis_in(const arguments *a, const hd_heap *heap) {
    bool alone = heap->breakdown ? heap->breakdown->entries.axis_count == 1
                                 : hd_profile_axis_count(heap->profile) == 1;
    return alone ? 0 : axis_of(a);
}

static hd_tree_options tree_options(const arguments *a) {
    hd_tree_options options = {
        .cutoff = a->cutoff, .first_axis = axis_of(a), .every_route = a->every_route,
        .units = !a->exact && !memprof_counted(a)
    };
    if (!a->has_cutoff) options.cutoff.min_share = 0.01;
    return options;
}

static hd_status tree_row(void *user, const hd_tree_row *row) {
    hd_json *j = user;
    hd_json_newline(j);
    hd_json_object(j);
    hd_json_key(j, "depth"), hd_json_u64(j, row->depth);
    json_text(j, "axis", row->depth ? row->breakdown->axis[row->axis].name : NULL);
    hd_json_key(j, "name"), hd_json_str(j, row->name);
    hd_json_key(j, "bytes"), hd_json_u64(j, row->bytes);
    json_known(j, "blocks", row->blocks);
    json_error(j, "error", row->variance);
    hd_json_end(j);
    return HD_OK;
}

static hd_status tree_heap(const arguments *a, const hd_heap *heap, reading *r, hd_json *j, hd_out out) {
    hd_tree_options options = tree_options(a);
    options.first_axis = axis_in(a, heap);
    options.options.warning = on_warning;
    options.options.warning_user = r;
    return a->json ? hd_tree(heap, &options, tree_row, j, NULL) : hd_print_tree(heap, &options, out, NULL);
}

static hd_status top_row(void *user, const hd_top_row *row) {
    hd_json *j = user;
    hd_json_newline(j);
    hd_json_object(j);
    hd_json_key(j, "name"), hd_json_str(j, row->name);
    hd_json_key(j, "bytes"), hd_json_u64(j, row->bytes);
    json_known(j, "blocks", row->blocks);
    json_error(j, "error", row->variance);
    hd_json_key(j, "self_bytes"), hd_json_u64(j, row->self_bytes);
    json_known(j, "self_blocks", row->self_blocks);
    json_error(j, "self_error", row->self_variance);
    hd_json_key(j, "self_is_bound"), hd_json_bool(j, row->self_is_bound);
    hd_json_key(j, "unlisted_bytes"), hd_json_u64(j, row->unlisted_bytes);
    json_known(j, "unlisted_blocks", row->unlisted_blocks);
    hd_json_end(j);
    return HD_OK;
}

static hd_status top_heap(const arguments *a, const hd_heap *heap, reading *r, hd_json *j, hd_out out) {
    hd_top_options options = {
        .axis = axis_in(a, heap), .count = a->cutoff.top ? a->cutoff.top : 20, .by_self = a->by_self,
        .units = !a->exact && !memprof_counted(a), .options = { .warning = on_warning, .warning_user = r }
    };
    return a->json ? hd_top(heap, &options, top_row, j, NULL) : hd_print_top(heap, &options, out, NULL);
}

/* Each chosen heap of each file; what could be read is shown even when another file was bad. */
static int show(const arguments *a, hd_status (*one)(const arguments *a, const hd_heap *heap, reading *r,
                                                     hd_json *j, hd_out out)) {
    output o;
    hd_json *j;
    bool any = false;
    int status = output_open(&o, a->output);
    if (status) return status;
    j = json_open(a, "heaps", o.out);
    for (int i = 0; i < a->file_count; i++) {
        chosen c;
        reading r = { .file = a->files[i] };
        hd_status failed = HD_OK;
        if (choose(a, a->files[i], &c)) {
            status = BAD_INPUT;
            continue;
        }
        for (size_t h = 0; h < c.count && !failed; h++) {
            if (any && !a->json) o.out.write(o.out.user, "\n", 1);
            any = true;
            if (a->json) {
                hd_json_object(j);
                json_label(j, &c.heaps[h]);
                hd_json_key(j, "rows"), hd_json_array(j);
            }
            failed = one(a, &c.heaps[h], &r, j, o.out);
            if (a->json) hd_json_end(j), hd_json_end(j);
        }
        if (failed && failed != HD_IO) /* output_close tells of output */
            display(stderr, "heapdump: %s: %s\n", c.file, hd_status_text(failed));
        if (failed) status = BAD_INPUT;
        chosen_free(&c);
    }
    if (json_close(a, j)) status = BAD_INPUT;
    if (!any) return output_close(&o, a->output, status);
    return output_close(&o, a->output, DONE) ? BAD_INPUT : status;
}

static int tree(const arguments *a) {
    arguments listing = *a;
    listing.listed = tree_options(a).cutoff;
    return show(&listing, tree_heap);
}

static int top(const arguments *a) { return show(a, top_heap); }

/* diff ------------------------------------------------------------------------------------------ */

static int compare_texts(const char *x, const char *y) { return strcmp(x ? x : "", y ? y : ""); }
static bool same_text(const char *x, const char *y) { return !compare_texts(x, y); }

static int compare_numbers(uint64_t x, uint64_t y) { return (x > y) - (x < y); }

/* Of heaps in one array, told by pointers into it: by allocator and process, those of one in their order. */
static int by_pid(const void *a, const void *b) {
    const hd_heap *x = *(const hd_heap *const *)a, *y = *(const hd_heap *const *)b;
    int order = compare_numbers(x->pid, y->pid);
    if (!order) order = compare_texts(x->allocator, y->allocator);
    return order ? order : (x > y) - (x < y);
}

static int by_process(const void *a, const void *b) {
    const hd_heap *x = *(const hd_heap *const *)a, *y = *(const hd_heap *const *)b;
    int order = compare_texts(x->process, y->process);
    if (!order) order = compare_texts(x->allocator, y->allocator);
    return order ? order : (x > y) - (x < y);
}

static bool same_pid(const hd_heap *x, const hd_heap *y) {
    return x->pid == y->pid && same_text(x->allocator, y->allocator);
}

/* Those that are marked (NULL: all), sorted. *n is how many. To be freed. */
static const hd_heap **sorted_heaps(const hd_heap *heaps, size_t count, const bool *marked,
                                    int (*order)(const void *, const void *), size_t *n) {
    const hd_heap **sorted = needed(malloc((count + 1) * sizeof *sorted));
    *n = 0;
    for (size_t i = 0; i < count; i++)
        if (!marked || marked[i]) sorted[(*n)++] = &heaps[i];
    qsort(sorted, *n, sizeof *sorted, order);
    return sorted;
}

/* Marks the heaps of the dump to work on: that of the id, else the first or last of each process. */
static void mark_picked(const chosen *c, const char *id, bool last, bool *picked) {
    size_t n;
    const hd_heap **sorted;
    for (size_t i = 0; i < c->count; i++) picked[i] = id && same_text(c->heaps[i].dump, id);
    if (id) return;
    sorted = sorted_heaps(c->heaps, c->count, NULL, by_pid, &n);
    for (size_t i = 0; i < n; i++) {
        const hd_heap *heap = sorted[i], *next = i + 1 < n ? sorted[i + 1] : NULL;
        const hd_heap *beside = last ? next : i ? sorted[i - 1] : NULL;
        if (!beside || !same_pid(heap, beside)) picked[heap - c->heaps] = true;
    }
    free(sorted);
}

enum { NO_MATE = -1 };

/* What to compare each picked heap of x with, by its number in y; the picked heaps of y that are nothing's are
   marked in `left`. In one file heaps of one process belong together, of two files those of one name, in turn. */
static void find_mates(const chosen *x, const bool *in_x, const chosen *y, const bool *in_y, ptrdiff_t *mate,
                       bool *left) {
    int (*order)(const void *, const void *) = x == y ? by_pid : by_process;
    size_t nx, ny, i = 0, k = 0;
    const hd_heap **before = sorted_heaps(x->heaps, x->count, in_x, order, &nx);
    const hd_heap **after = sorted_heaps(y->heaps, y->count, in_y, order, &ny);
    for (; i < nx; i++) mate[before[i] - x->heaps] = NO_MATE;
    memcpy(left, in_y, y->count);
    for (i = 0; i < nx && k < ny;) {
        int side = compare_texts(before[i]->allocator, after[k]->allocator);
        int first = x == y ? compare_numbers(before[i]->pid, after[k]->pid)
                           : compare_texts(before[i]->process, after[k]->process);
        if (first) side = first;
        if (!side) {
            mate[before[i] - x->heaps] = after[k] - y->heaps;
            left[after[k] - y->heaps] = false;
        }
        i += side <= 0;
        k += side >= 0;
    }
    free(before), free(after);
}

static hd_status diff_row(void *user, const hd_diff_row *row) {
    static const struct { unsigned flag; const char *name; } changes[] = {
        { HD_DIFF_NEW, "new" }, { HD_DIFF_GONE, "gone" }, { HD_DIFF_GROWN, "grown" },
        { HD_DIFF_SHRUNK, "shrunk" }
    };
    static const char *const bytes[] = { "before", "after" }, *const blocks[] = { "blocks_before",
                                                                                  "blocks_after" },
                      *const errors[] = { "error_before", "error_after" };
    hd_json *j = user;
    const char *change = "same";
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        if (row->flags & changes[i].flag) change = changes[i].name;
    hd_json_newline(j);
    hd_json_object(j);
    hd_json_key(j, "depth"), hd_json_u64(j, row->depth);
    json_text(j, "axis", row->depth ? row->diff->axis[row->axis].name : NULL);
    hd_json_key(j, "name"), hd_json_str(j, row->name);
    hd_json_key(j, "change"), hd_json_cstr(j, change);
    for (int i = 0; i < 2; i++) {
        hd_json_key(j, bytes[i]), hd_json_u64(j, row->bytes[i]);
        json_known(j, blocks[i], row->blocks[i]);
        json_error(j, errors[i], row->variance[i]);
    }
    if (row->flags & HD_DIFF_BOUND) hd_json_key(j, "bound"), hd_json_bool(j, true);
    if (row->flags & HD_DIFF_NOISE) hd_json_key(j, "noise"), hd_json_bool(j, true);
    hd_json_end(j);
    return HD_OK;
}

static void json_side(hd_json *j, const char *key, const hd_heap *heap, const hd_heap *absent) {
    hd_json_key(j, key);
    if (heap == absent) {
        hd_json_null(j);
    } else {
        hd_json_object(j), json_label(j, heap), hd_json_end(j);
    }
}

/* Where a heap that has no counterpart was looked for. */
static char *place_of(const chosen *c, const char *id) {
    char *text;
    if (asprintf(&text, "none in %s%s%s", c->file, id ? ", dump " : "", id ? id : "") < 0) text = needed(NULL);
    return text;
}

/* NULL on one side: nothing was there. `places` are what to call the sides then. */
static int diff_pair(const arguments *a, const hd_heap *before, const hd_heap *after, char *const *places,
                     hd_json *j, hd_out out) {
    hd_tree_options options = tree_options(a);
    hd_profile *none = needed(hd_profile_create(NULL, NULL));
    hd_heap absent = { .allocator = places[before != NULL], .profile = none };
    hd_error err;
    hd_status status;
    if (!axis_in(a, before ? before : after) && !axis_in(a, after ? after : before)) options.first_axis = 0;
    if (!before) before = &absent;
    if (!after) after = &absent;
    err.message[0] = 0;
    if (a->json) {
        hd_json_object(j);
        json_side(j, "before", before, &absent);
        json_side(j, "after", after, &absent);
        hd_json_key(j, "rows"), hd_json_array(j);
        status = hd_diff_tree(before, after, &options, diff_row, j, &err);
        hd_json_end(j), hd_json_end(j);
    } else {
        status = hd_print_diff(before, after, &options, out, NULL);
    }
    hd_profile_free(none);
    if (status) display(stderr, "heapdump: %s\n", *err.message ? err.message : hd_status_text(status));
    return status ? BAD_INPUT : DONE;
}

/* Marks the heaps of the dump to compare; an id that none has is an error. */
static int pick(const chosen *c, const char *id, bool last, bool *picked) {
    mark_picked(c, id, last, picked);
    for (size_t i = 0; i < c->count; i++)
        if (picked[i]) return DONE;
    display(stderr, "heapdump: %s: no heap is of dump %s\n", c->file, id);
    return BAD_INPUT;
}

static int diff_chosen(const arguments *a, const chosen *x, const chosen *y, hd_json *j, hd_out out) {
    bool *in_x = needed(calloc(x->count, 1)), *in_y = needed(calloc(y->count, 1));
    bool *left = needed(calloc(y->count, 1)), any = false;
    ptrdiff_t *mate = needed(calloc(x->count, sizeof *mate));
    char *places[2] = { place_of(x, a->before), place_of(y, a->after) };
    bool bad = pick(x, a->before, x != y, in_x) || pick(y, a->after, true, in_y);
    int status;
    if (!bad && x == y && !memcmp(in_x, in_y, x->count)) {
        display(stderr, "heapdump: %s: one dump, and none to compare it with\n", x->file);
        bad = true;
    }
    status = bad ? BAD_INPUT : DONE;
    if (!bad) find_mates(x, in_x, y, in_y, mate, left);
    for (size_t i = 0; i < x->count + y->count && !bad; i++) { /* then what is new */
        const hd_heap *before = i < x->count ? &x->heaps[i] : NULL, *after = NULL;
        if (before ? !in_x[i] : !left[i - x->count]) continue;
        if (!before) after = &y->heaps[i - x->count];
        else if (mate[i] != NO_MATE) after = &y->heaps[mate[i]];
        if (any && !a->json) out.write(out.user, "\n", 1);
        any = true;
        if (diff_pair(a, before, after, places, j, out)) status = BAD_INPUT;
    }
    free(in_x), free(in_y), free(left), free(mate), free(places[0]), free(places[1]);
    return status;
}

/* `after` may be NULL, or the same as `before`. Both dumps are freed. */
static int diff_heaps(const arguments *a, hd_dump *before, hd_dump *after) {
    chosen x, y, *other = after ? &y : &x;
    output o;
    hd_json *j;
    int status = choose_from(a, a->files[0], before, &x);
    if (status) {
        hd_dump_free(after);
        return status;
    }
    if (after) status = choose_from(a, a->files[1], after, &y);
    if (!status) {
        status = output_open(&o, a->output);
        if (!status) {
            j = json_open(a, "diffs", o.out);
            status = diff_chosen(a, &x, other, j, o.out);
            if (json_close(a, j)) status = BAD_INPUT;
            status = output_close(&o, a->output, status);
        }
        if (after) chosen_free(&y);
    }
    chosen_free(&x);
    return status;
}

static int diff(const arguments *a) {
    hd_dump *before, *after = NULL;
    int status;
    if (a->file_count > 2) return usage("diff takes one file or two");
    status = read_dump(a->files[0], a, &before);
    if (status) return status;
    if (a->file_count == 2 && read_dump(a->files[1], a, &after)) {
        hd_dump_free(before);
        return BAD_INPUT;
    }
    if (!hd_dump_graph(before) && !(after && hd_dump_graph(after)) && !a->live) return diff_heaps(a, before, after);
    if (after && hd_dump_graph(before) && hd_dump_graph(after)) {
        status = classes_cut(a) ? usage("of classes, --top alone leaves some out")
                                : diff_objects(a, before, after);
    } else if (after || !hd_dump_graph(before)) {
        display(stderr, "heapdump: %s says who allocated, not who holds: %s\n",
                a->files[hd_dump_graph(before) ? 1 : 0],
                a->live ? "--live is for objects" : "objects are compared with objects");
        status = BAD_INPUT;
    } else {
        display(stderr, "heapdump: objects are compared with those of another file\n");
        status = BAD_INPUT;
    }
    hd_dump_free(before);
    hd_dump_free(after);
    return status;
}

/* convert, merge ------------------------------------------------------------------------------- */

/* Heaps to write: named, and condensed for every format but heaps_v2. Freed with condensed_free. */
static int condense(const hd_heap *from, size_t n, const arguments *a, symbols *names, hd_heap **heaps,
                    size_t *count) {
    bool whole = a->to && !strcmp(a->to, "heaps_v2");
    *heaps = needed(calloc(n + 1, sizeof **heaps));
    for (*count = 0; *count < n; ++*count) {
        hd_heap *heap = &(*heaps)[*count];
        hd_profile *named = NULL;
        hd_breakdown *breakdown;
        hd_status status = HD_OK;
        hd_error err;
        *heap = from[*count];
        if (whole && !heap->profile) {
            display(stderr, "heapdump: the heap of %s has cumulative sizes, of which heaps_v2 cannot be "
                    "made; --to chrome keeps them\n", heap->allocator ? heap->allocator : "the file");
            return BAD_INPUT;
        }
        if (heap->profile) {
            status = hd_profile_rename(heap->profile, HD_AXIS_BACKTRACE, symbols_rename, names, NULL, &named,
                                       &err);
            if (named) heap->profile = named;
        }
        if (!status && !whole) {
            status = hd_heap_break_down(heap, &a->cutoff, NULL, &breakdown, &err);
            hd_profile_free(named);
            heap->profile = NULL;
            heap->breakdown = breakdown;
        }
        if (status) {
            display(stderr, "heapdump: %s\n", err.message);
            return BAD_INPUT;
        }
    }
    return DONE;
}

static void condensed_free(hd_heap *heaps, size_t count) {
    for (size_t i = 0; i < count; i++) hd_heap_release(&heaps[i]);
    free(heaps);
}

/* A trace of the heaps alone, or one with them added. */
static int write_heaps(const hd_heap *heaps, size_t count, const char *path, bool is_default,
                       const char *add_to) {
    hd_chrome_dumps dumps = { .heaps = heaps, .heap_count = count };
    hd_options options = { .inflate = &hd_zlib };
    hd_in in;
    output o;
    hd_error err;
    hd_status failed;
    int status;
    if (add_to && hd_in_open(add_to, &in, &err)) {
        complain(add_to, &err, "");
        return BAD_INPUT;
    }
    status = output_open_as(&o, path, is_default);
    if (!status) {
        failed = add_to ? hd_chrome_add(in, &dumps, &options, o.out, &err)
                        : hd_chrome_write(heaps, count, NULL, o.out, &err);
        if (failed) {
            const char *why = o.is_file && o.file.os_error ? strerror(o.file.os_error) : err.message;
            display(stderr, "heapdump: %s: %s\n", add_to ? add_to : path ? path : "standard output", why);
            status = BAD_INPUT;
        }
        status = output_close(&o, path, status);
    }
    if (add_to) hd_in_close(&in);
    return status;
}

static int write_condensed(const arguments *a, const hd_heap *heaps, size_t n) {
    symbols names = { 0 };
    hd_heap *condensed = NULL;
    size_t count = 0;
    int status = condense(heaps, n, a, &names, &condensed, &count);
    if (!status) status = write_heaps(condensed, count, a->output, false, a->add_to);
    condensed_free(condensed, count);
    symbols_free(&names);
    return status;
}

/* Formats of objects. */
static int convert_graph(const arguments *a) {
    objects o;
    int status;
    if (a->has_cutoff) return usage("what is listed cannot be cut off in %s", a->to);
    if (a->add_to) return usage("objects cannot be added to a trace as %s", a->to);
    status = objects_open(a, a->files[0], false, &o);
    if (status) return status;
    status = write_objects(a, o.dump);
    objects_close(&o);
    return status;
}

static int check_to(const arguments *a) {
    if (!a->to || !strcmp(a->to, "chrome")) return DONE;
    if (strcmp(a->to, "heaps_v2")) return usage("no format '%s' is written here", a->to);
    return a->has_cutoff ? usage("heaps_v2 holds self sizes, which cannot be cut off") : DONE;
}

static int convert(const arguments *a) {
    chosen c;
    int status;
    if (!a->to && !a->add_to)
        return usage("convert needs --to FORMAT (chrome, heaps_v2, netcf, dart, memprof-raw, memprof-index)");
    if (a->file_count != 1) return usage("convert takes one file");
    if (index_is_asked(a->to)) return index_convert(a);
    if (memprof_is_raw(a->to)) return memprof_convert(a);
    if (a->to && (!strcmp(a->to, "netcf") || !strcmp(a->to, "dart"))) return convert_graph(a);
    status = check_to(a);
    if (!status) status = choose(a, a->files[0], &c);
    if (status) return status;
    status = write_condensed(a, c.heaps, c.count);
    chosen_free(&c);
    return status;
}

/* The heaps of one allocator, added up so far: all profiles in one, breakdowns by twos, these by twos and
   so on, as the next sum takes as long as what it adds up. Labels are kept apart: those of the heaps go with
   their files. */
typedef struct merged {
    hd_heap *part;               /* the profiles, then 2^i breakdowns; neither set: none */
    size_t parts;
    char *allocator, *process;   /* process: NULL when they are several */
    uint64_t sample_bytes;
    size_t count;
} merged;

/* Part i, made when it is not there. */
static hd_heap *merged_part(merged *m, size_t i) {
    if (i >= m->parts) {
        m->part = needed(realloc(m->part, (i + 1) * sizeof *m->part));
        memset(m->part + m->parts, 0, (i + 1 - m->parts) * sizeof *m->part);
        m->parts = i + 1;
    }
    return &m->part[i];
}

static hd_status merge_profile(merged *m, const hd_heap *heap, hd_error *err) {
    hd_heap *part = merged_part(m, 0);
    if (!part->profile) return hd_merge(heap, 1, NULL, part, err);
    return hd_profile_merge((hd_profile *)(uintptr_t)part->profile, heap->profile, err);
}

static hd_status merge_breakdown(merged *m, const hd_heap *heap, hd_error *err) {
    hd_heap both[2], sum, *part;
    hd_status status = hd_merge(heap, 1, NULL, &sum, err);
    size_t i = 1;
    for (; !status && (part = merged_part(m, i))->breakdown; i++) {
        both[0] = *part;
        both[1] = sum;
        status = hd_merge(both, 2, NULL, &sum, err);
        hd_heap_release(&both[1]);
        if (!status) hd_heap_release(part), memset(part, 0, sizeof *part);
    }
    if (!status) *part = sum;
    return status;
}

static hd_status merge_heap(merged *m, const hd_heap *heap, hd_error *err) {
    hd_heap plain = { .profile = heap->profile, .breakdown = heap->breakdown };
    if (m->count++ == 0) {
        m->allocator = heap->allocator ? needed(strdup(heap->allocator)) : NULL;
        m->process = heap->process ? needed(strdup(heap->process)) : NULL;
    }
    if (m->process && !same_text(m->process, heap->process)) free(m->process), m->process = NULL;
    if (heap->sample_bytes > m->sample_bytes) m->sample_bytes = heap->sample_bytes;
    return heap->profile ? merge_profile(m, &plain, err) : merge_breakdown(m, &plain, err);
}

/* The whole, in the first part. */
static hd_status merge_end(merged *m, hd_error *err) {
    hd_heap sum;
    hd_status status;
    size_t n = 0;
    for (size_t i = 0; i < m->parts; i++)
        if (m->part[i].profile || m->part[i].breakdown) m->part[n++] = m->part[i];
    m->parts = n;
    if (n == 1 && m->part->profile) return hd_profile_sort((hd_profile *)(uintptr_t)m->part->profile, err);
    status = hd_merge(m->part, n, NULL, &sum, err);
    if (status) return status;
    for (size_t i = 0; i < n; i++) hd_heap_release(&m->part[i]);
    m->part[0] = sum;
    m->parts = 1;
    return HD_OK;
}

/* All allocators, in the order of their first heaps, and found by name. */
typedef struct merger {
    merged *groups;
    size_t count, room;
    void *names;                 /* tsearch, of name */
} merger;

typedef struct merger_name {
    char *allocator;
    size_t group;
} merger_name;

static int by_allocator(const void *a, const void *b) {
    return compare_texts(((const merger_name *)a)->allocator, ((const merger_name *)b)->allocator);
}

static void merger_name_free(void *name) {
    free(((merger_name *)name)->allocator);
    free(name);
}

static void merger_free(merger *m) {
    tdestroy(m->names, merger_name_free);
    for (size_t g = 0; g < m->count; g++) {
        for (size_t i = 0; i < m->groups[g].parts; i++) hd_heap_release(&m->groups[g].part[i]);
        free(m->groups[g].part);
        free(m->groups[g].allocator);
        free(m->groups[g].process);
    }
    free(m->groups);
}

static merged *merger_group(merger *m, const char *allocator) {
    merger_name *name = needed(malloc(sizeof *name)), *found;
    name->allocator = needed(strdup(allocator ? allocator : ""));
    name->group = m->count;
    found = *(merger_name **)needed(tsearch(name, &m->names, by_allocator));
    if (found != name) merger_name_free(name);
    if (found->group == m->count) {
        if (m->count == m->room) {
            m->room = 2 * m->room + 1;
            m->groups = needed(realloc(m->groups, m->room * sizeof *m->groups));
        }
        memset(&m->groups[m->count++], 0, sizeof *m->groups);
    }
    return &m->groups[found->group];
}

static int merge_chosen(const arguments *a, const chosen *c, merger *m) {
    bool *picked = needed(calloc(c->count, 1));
    int status = DONE;
    mark_picked(c, a->dump, true, picked);
    for (size_t i = 0; i < c->count && !status; i++) {
        hd_error err;
        if (!a->all && !picked[i]) continue;
        if (merge_heap(merger_group(m, c->heaps[i].allocator), &c->heaps[i], &err)) {
            display(stderr, "heapdump: %s: %s\n", c->file, err.message);
            status = BAD_INPUT;
        }
    }
    free(picked);
    return status;
}

static int merge(const arguments *a) {
    merger m = { 0 };
    hd_heap *heaps;
    hd_error err;
    int status;
    if (memprof_is_raw(a->to) || (!a->to && !a->add_to && memprof_begins(*a->files))) return memprof_merge(a);
    status = check_to(a);
    for (int i = 0; i < a->file_count && !status; i++) {
        chosen c;
        status = choose(a, a->files[i], &c);
        if (status) break;
        status = merge_chosen(a, &c, &m);
        chosen_free(&c);
    }
    heaps = needed(calloc(m.count + 1, sizeof *heaps));
    for (size_t g = 0; g < m.count && !status; g++) {
        hd_heap *heap = &heaps[g];
        merged *group = &m.groups[g];
        if (merge_end(group, &err)) {
            display(stderr, "heapdump: %s\n", err.message);
            status = BAD_INPUT;
            break;
        }
        *heap = *group->part;
        heap->sample_bytes = group->sample_bytes;
        heap->allocator = group->allocator;
        heap->process = group->process;
        display(stderr, "heapdump: %s: %zu heap%s merged\n", heap->allocator ? heap->allocator : "-",
                group->count, group->count == 1 ? "" : "s");
    }
    if (!status) status = write_condensed(a, heaps, m.count);
    merger_free(&m);
    free(heaps);
    return status;
}

/* info ----------------------------------------------------------------------------------------- */

/* What a heap holds in all. */
typedef struct totals {
    uint64_t bytes, blocks;
    uint32_t rows;
} totals;

static totals totals_of(const hd_heap *heap) {
    totals t;
    if (heap->breakdown) {
        t.bytes = heap->breakdown->entries.bytes[0];
        t.blocks = heap->breakdown->entries.blocks[0];
        t.rows = heap->breakdown->entries.count;
    } else {
        t.bytes = hd_profile_bytes(heap->profile);
        t.blocks = hd_profile_blocks(heap->profile);
        t.rows = hd_profile_cells(heap->profile).count;
    }
    return t;
}

static void info_heap(FILE *out, const hd_heap *heap) {
    totals t = totals_of(heap);
    char count[24] = "-", sampled[48] = "";
    if (t.blocks != HD_UNKNOWN) snprintf(count, sizeof count, "%llu", (unsigned long long)t.blocks);
    if (heap->sample_bytes)
        snprintf(sampled, sizeof sampled, ", sampled every %llu bytes",
                 (unsigned long long)heap->sample_bytes);
    display(out, "%10llu  %-16s %-12s %10.3f s  %-16s %14llu %10s  %u %s%s\n", (unsigned long long)heap->pid,
            heap->process ? heap->process : "-", heap->dump ? heap->dump : "-", (double)heap->time_us / 1e6,
            heap->allocator ? heap->allocator : "-", (unsigned long long)t.bytes, count, t.rows,
            heap->breakdown ? "entries" : "contexts", sampled);
}

/* Whether a heap or a scalar is from a process and dump that was asked for. */
static bool scalar_selected(const arguments *a, const hd_scalar *s) {
    hd_heap heap = { .pid = s->pid, .dump = s->dump, .allocator = s->allocator };
    return selected(a, &heap);
}

/* Totals of processes, and the sizes of outermost allocators; --all: everything. */
static bool scalar_shown(const arguments *a, const hd_scalar *s) {
    if (a->all || !s->allocator) return true;
    return !strchr(s->allocator, '/') && !strcmp(s->name, "size");
}

static int by_dump(const void *a, const void *b) {
    const hd_heap *x = *(const hd_heap *const *)a, *y = *(const hd_heap *const *)b;
    int order = compare_numbers(x->pid, y->pid);
    if (!order) order = compare_texts(x->dump, y->dump);
    return order ? order : compare_texts(x->allocator, y->allocator);
}

/* Whether the line of a heap says the same; heaps are sorted, of like ones the first counts. */
static bool scalar_told(const hd_heap *const *heaps, size_t n, const hd_scalar *s) {
    hd_heap key = { .pid = s->pid, .dump = s->dump, .allocator = s->allocator };
    const hd_heap *at = &key;
    size_t low = 0, high = n;
    if (!s->allocator || strcmp(s->name, "size")) return false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_dump(&heaps[middle], &at) < 0) low = middle + 1;
        else high = middle;
    }
    return low < n && !by_dump(&heaps[low], &at) && totals_of(heaps[low]).bytes == s->value;
}

static int by_dump_and_turn(const void *a, const void *b) {
    const hd_heap *x = *(const hd_heap *const *)a, *y = *(const hd_heap *const *)b;
    int order = by_dump(a, b);
    return order ? order : (x > y) - (x < y);
}

static void info_scalars(FILE *out, const hd_dump *dump, const arguments *a) {
    bool any = false;
    size_t left = 0, n;
    const hd_heap **heaps =
        sorted_heaps(hd_dump_heap(dump, 0), hd_dump_heap_count(dump), NULL, by_dump_and_turn, &n);
    for (size_t i = 0; i < hd_dump_scalar_count(dump); i++) {
        const hd_scalar *s = hd_dump_scalar(dump, i);
        if (!scalar_selected(a, s) || (!a->all && scalar_told(heaps, n, s))) continue;
        if (!scalar_shown(a, s)) {
            left++;
            continue;
        }
        if (!any)
            display(out, "%10s  %-16s %-12s %14s %-8s %s\n", "pid", "process", "dump", "value", "unit", "of");
        any = true;
        display(out, "%10llu  %-16s %-12s ", (unsigned long long)s->pid, s->process ? s->process : "-",
                s->dump ? s->dump : "-");
        if (s->text) display(out, "%14s", s->text);
        else display(out, "%14llu", (unsigned long long)s->value);
        display(out, " %-8s %s %s\n", s->units ? s->units : "-", s->allocator ? s->allocator : "process",
                s->name);
    }
    free(heaps);
    if (left) display(out, "%zu more attributes of allocators (--all lists them)\n", left);
}

static int info_text(FILE *out, const char *file, const hd_dump *dump, const arguments *a) {
    size_t n = hd_dump_heap_count(dump);
    bool any = false;
    display(out, "%s: %s", file, hd_format_name(hd_dump_format(dump)));
    if (hd_dump_graph(dump)) {
        fputc('\n', out);
        if (hd_dump_netcf(dump)) netcf_info(out, hd_dump_netcf(dump));
        else graph_info_text(out, hd_dump_graph(dump));
        return hd_dump_dart(dump) ? dart_info_text(a, file, out, hd_dump_dart(dump)) : DONE;
    }
    display(out, ", %zu heap%s\n", n, n == 1 ? "" : "s");
    if (hd_dump_memprof(dump)) memprof_info_text(out, hd_dump_memprof(dump));
    if (hd_dump_memprof_index(dump) && index_info_text(out, file, hd_dump_memprof_index(dump)))
        return BAD_INPUT;
    for (size_t i = 0; i < n; i++) {
        if (!selected(a, hd_dump_heap(dump, i))) continue;
        if (!any)
            display(out, "%10s  %-16s %-12s %12s  %-16s %14s %10s  %s\n", "pid", "process", "dump", "time",
                    "allocator", "bytes", "blocks", "holds");
        any = true;
        info_heap(out, hd_dump_heap(dump, i));
    }
    info_scalars(out, dump, a);
    return DONE;
}

static int info_json(hd_json *j, const char *file, const hd_dump *dump, const arguments *a) {
    int status = DONE;
    hd_json_newline(j);
    hd_json_object(j);
    json_text(j, "file", file);
    json_text(j, "format", hd_format_name(hd_dump_format(dump)));
    hd_json_key(j, "warnings"), hd_json_u64(j, hd_dump_warning_count(dump));
    if (hd_dump_graph(dump)) graph_info_json(j, hd_dump_graph(dump));
    if (hd_dump_netcf(dump)) netcf_info_json(j, hd_dump_netcf(dump));
    if (hd_dump_dart(dump)) status = dart_info_json(file, j, hd_dump_dart(dump));
    if (hd_dump_memprof(dump)) memprof_info_json(j, hd_dump_memprof(dump));
    if (hd_dump_memprof_index(dump)) status = index_info_json(j, file, hd_dump_memprof_index(dump));
    hd_json_key(j, "heaps"), hd_json_array(j);
    for (size_t i = 0; i < hd_dump_heap_count(dump); i++) {
        const hd_heap *heap = hd_dump_heap(dump, i);
        totals t = totals_of(heap);
        if (!selected(a, heap)) continue;
        hd_json_newline(j);
        hd_json_object(j);
        json_label(j, heap);
        hd_json_key(j, "bytes"), hd_json_u64(j, t.bytes);
        json_known(j, "blocks", t.blocks);
        hd_json_key(j, heap->breakdown ? "entries" : "contexts"), hd_json_u64(j, t.rows);
        hd_json_end(j);
    }
    hd_json_end(j);
    hd_json_key(j, "scalars"), hd_json_array(j);
    for (size_t i = 0; i < hd_dump_scalar_count(dump); i++) {
        const hd_scalar *s = hd_dump_scalar(dump, i);
        if (!scalar_selected(a, s)) continue;
        hd_json_newline(j);
        hd_json_object(j);
        hd_json_key(j, "pid"), hd_json_u64(j, s->pid);
        json_text(j, "process", s->process);
        json_text(j, "dump", s->dump);
        hd_json_key(j, "time_us"), hd_json_u64(j, s->time_us);
        json_text(j, "allocator", s->allocator);
        json_text(j, "name", s->name);
        json_text(j, "units", s->units);
        hd_json_key(j, "value");
        if (s->text) hd_json_cstr(j, s->text);
        else hd_json_u64(j, s->value);
        hd_json_end(j);
    }
    hd_json_end(j), hd_json_end(j);
    return status;
}

static int info(const arguments *a) {
    output o;
    FILE *text;
    hd_json *j;
    int status = output_open(&o, a->output);
    if (status) return status;
    text = output_text(&o);
    j = json_open(a, "files", o.out);
    for (int i = 0; i < a->file_count; i++) {
        hd_dump *dump;
        if (read_dump(a->files[i], a, &dump)) {
            status = BAD_INPUT;
            continue;
        }
        if (a->json ? info_json(j, a->files[i], dump, a) : info_text(text, a->files[i], dump, a))
            status = BAD_INPUT;
        hd_dump_free(dump);
    }
    if (json_close(a, j)) status = BAD_INPUT;
    if (fclose(text)) status = BAD_INPUT;
    return output_close(&o, a->output, DONE) ? BAD_INPUT : status;
}

#endif
