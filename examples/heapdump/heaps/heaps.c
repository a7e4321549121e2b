/* Selects heaps of a file, names their frames and applies the options that transform heaps. */

#include "heaps.h"

#include <sys/stat.h>

bool selected(const heap_options *h, const hd_heap *heap) {
    if (h->has_pid && heap->pid != h->pid) return false;
    if (h->dump && (!heap->dump || strcmp(heap->dump, h->dump))) return false;
    if (h->kind && strcmp(hd_heap_kind_name(heap->kind), h->kind)) return false;
    return !h->allocator || (heap->allocator && !strcmp(heap->allocator, h->allocator));
}

/* Whether --by and --metric fit the dump; otherwise reports why not. */
static bool can_be_seen(const arguments *a, const char *file, const hd_dump *dump) {
    const char *format = hd_dump_format(dump)->name;
    bool of_memprof = hd_dump_memprof(dump) || hd_dump_memprof_index(dump);
    const hd_heap *most = NULL;
    bool any = !a->view.by || !strcmp(a->view.by, "backtrace") || !strcmp(a->view.by, "type") ||
               (of_memprof && memprof_split(a));
    for (size_t i = 0; i < hd_dump_heap_count(dump) && !any; i++) {
        const hd_heap *heap = hd_dump_heap(dump, i);
        any = axis_in(a, heap) != 0;
        if (!most || axis_count(heap) > axis_count(most)) most = heap;
    }
    if (any && (of_memprof || !a->memprof.field)) return true;
    if (any || memprof_split(a)) {
        display(stderr, "heapdump: %s (%s): not a MemProf profile; %s needs one\n", file, format,
                any ? hd_memprof_field_name(a->memprof.field) : a->view.by);
        return false;
    }
    display(stderr, "heapdump: %s (%s): --by takes backtrace", file, format);
    for (uint32_t i = 1; most && i < axis_count(most); i++) display(stderr, ", %s", axis_at(most, i).name);
    display(stderr, " here, not '%s'\n", a->view.by);
    return false;
}

/* Replaces `heap` by the result of an operation. */
static void worked(hd_heap *heap, bool *made, hd_heap result) {
    if (*made) hd_heap_release(heap);
    *heap = result;
    *made = true;
}

/* The frames of a breakdown can be inverted only without its types. */
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
        return hd_invert_for(heap, axis_in(a, heap), &a->heaps.listed, &options, out, err);
    status = hd_breakdown_axis_profile(heap->breakdown, axis_in(a, heap), NULL, &profile, err);
    if (status) return status;
    one.breakdown = NULL;
    one.profile = profile;
    if (once && !axis_in(a, heap)) status = tell_recursion_once(&one, &shorter, &found, &times, err);
    if (!status) status = hd_invert_for(found ? &shorter : &one, 0, &a->heaps.listed, &options, out, err);
    if (found && !status) hd_heap_release(&shorter);
    free(times.list);
    hd_profile_free(profile);
    return status;
}

static hd_rows rows_of(const hd_heap *heap) {
    return heap->breakdown ? heap->breakdown->entries : hd_profile_cells(heap->profile);
}

/* Hides the frames of allocators and runtimes; *hidden counts them. */
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

static bool folds_recursion(const arguments *a, const chosen *c) {
    return a->view.once && !a->view.json && !a->view.frames_all && !a->view.frames_hidden && !hd_dump_graph(c->dump);
}

/* Warns once that the view loses the bounds of merged heaps. */
static void warn_unbounded(const char *file) {
    static bool warned;
    if (!warned)
        display(stderr, "heapdump: %s: this view loses the bounds of unlisted bytes in merged heaps; --frames all "
                "without --keep, --drop, --root and --invert shows them\n", file);
    warned = true;
}

/* Hides allocators' frames and folds recursion. A merged heap would lose its bounds, so its recursion stays. */
static hd_status folded(const arguments *a, chosen *c, size_t number, hd_error *err) {
    hd_heap *heap = &c->heaps[number], result;
    bool *made = &c->made[number], found;
    size_t *hidden = &c->hidden[number], dropped;
    hd_status status = HD_OK;
    if (a->view.hide && !a->view.frames_all && !a->view.frames_hidden && !hd_dump_graph(c->dump)) {
        hd_profile *shorter;
        status = without_drop_frames(c->dump, heap, hidden, &shorter, err);
        if (status) return status;
        result = *heap;
        result.profile = shorter;
        if (shorter) worked(heap, made, result);
        dropped = *hidden;
        status = hide(heap, hidden, &result, err);
        if (!status && *hidden != dropped) worked(heap, made, result);
        else if (!status) hd_heap_release(&result);
    }
    if (status || !folds_recursion(a, c) || has_bounds(heap)) return status;
    status = tell_recursion_once(heap, &result, &found, &c->again[number], err);
    if (!status && found) worked(heap, made, result);
    return status;
}

bool matches_any(const pattern *p, const hd_heap *heap) {
    uint32_t count = axis_count(heap);
    hd_axis axis;
    if (p->axis >= count) return false;
    axis = axis_at(heap, p->axis);
    for (uint32_t i = 1; i < axis.node_count; i++)
        if (pattern_matches((void *)(uintptr_t)p, axis.node_name[i])) return true;
    return false;
}

/* Over all heaps of the command: number of these, and which of --keep, --drop and --root match a name. */
static struct { size_t heaps; bool matched[3]; } names_seen;

static void note_matches(const heap_options *h, const hd_heap *heap) {
    const pattern *const given[] = { &h->keep, &h->drop, &h->root };
    names_seen.heaps++;
    for (int i = 0; i < 3; i++)
        if (given[i]->text && !names_seen.matched[i]) names_seen.matched[i] = matches_any(given[i], heap);
}

void heaps_tell_unmatched(const arguments *a) {
    const pattern *const given[] = { &a->heaps.keep, &a->heaps.drop, &a->heaps.root };
    for (int i = 0; i < 3 && names_seen.heaps; i++)
        if (given[i]->text && !names_seen.matched[i])
            display(stderr, "heapdump: no %s matches '%s'\n", given[i]->axis == HD_AXIS_TYPE ? "type" : "function",
                    given[i]->text);
}

/* Applies --keep, --drop and --root where given. */
static hd_status picked(const heap_options *h, hd_heap *heap, bool *made, hd_error *err) {
    const pattern *const given[] = { &h->keep, &h->drop, &h->root };
    hd_status status = HD_OK;
    for (int i = 0; i < 3 && !status; i++) {
        const pattern *p = given[i];
        void *user = (void *)(uintptr_t)p;
        hd_heap result;
        if (!p->text) continue;
        if (p == &h->root) status = hd_reroot(heap, p->axis, pattern_matches, user, NULL, &result, err);
        else status = hd_filter(heap, p->axis, pattern_matches, user, p == &h->keep, NULL, &result, err);
        if (!status) worked(heap, made, result);
    }
    return status;
}

/* Applies --keep, --drop, --root, --frames and --invert to one of the chosen heaps. */
static hd_status work(const arguments *a, chosen *c, size_t number, hd_error *err) {
    hd_heap *heap = &c->heaps[number], result;
    bool *made = &c->made[number], bounded = has_bounds(heap);
    hd_status status;
    note_matches(&a->heaps, heap);
    status = picked(&a->heaps, heap, made, err);
    if (!status && a->view.hide && !hd_dump_graph(c->dump)) {
        bool fewer;
        status = without_labels(a, heap, &result, &fewer, err);
        if (!status && fewer) worked(heap, made, result);
    }
    if (!status) status = folded(a, c, number, err);
    if (!status && a->view.invert && !a->view.frames_hidden) {
        status = inverted(a, c->file, folds_recursion(a, c), heap, &result, err);
        if (!status) worked(heap, made, result);
    }
    if (!status && bounded && !has_bounds(heap)) warn_unbounded(c->file);
    return status;
}

void chosen_free(chosen *c) {
    for (size_t i = 0; i < c->count; i++) {
        if (c->made[i]) hd_heap_release(&c->heaps[i]);
        free(c->again[i].list);
    }
    free(c->heaps), free(c->made), free(c->again), free(c->hidden);
    symbols_free(&c->names);
    if (!c->borrowed) hd_dump_free(c->dump);
}

/* Resolves frames that are addresses in objects to functions. */
static hd_status named(const arguments *a, chosen *c, hd_heap *heap, bool *made, hd_error *err) {
    hd_heap result = *heap;
    symbols *names = a->naming.opened ? a->naming.opened : &c->names;
    hd_profile *profile;
    hd_status status;
    const uint32_t is = hd_dump_format(c->dump)->is;
    /* Frames that the writing runtime could not name are resolved here as in written files. */
    if (is & FORMAT_SOME_ADDRESSES) {
        symbols_prepare(names, hd_profile_axis(heap->profile, HD_AXIS_BACKTRACE));
        status = hd_profile_rename(heap->profile, HD_AXIS_BACKTRACE, symbols_rename, names, NULL, &profile, err);
    } else if (is & FORMAT_ADDRESSES)
        status = name_profile(a, names, heap->profile, &profile, err);
    else if (heap->profile && (a->naming.opened || a->view.hide))
        status = name_places(names, c->dump, heap->profile, &profile, err);
    else
        return HD_OK;
    symbols_tell(names);
    if (status || !profile) return status;
    result.profile = profile;
    worked(heap, made, result);
    return HD_OK;
}

/* Warns about objects that are newer than the dump whose frames they name. */
static void warn_newer(const char *file, symbols *names) {
    struct stat dump;
    if (stat(file, &dump)) return;
    for (size_t i = 0; i < names->count; i++) {
        symbols_object *o = &names->objects[i];
        if (!o->is_elf || o->told || (i < names->given && !o->used)) continue;
        o->told = o->changed > (int64_t)dump.st_mtim.tv_sec;
        if (o->told)
            display(stderr, "heapdump: warning: %s is newer than %s, so names of functions may be wrong\n",
                    o->path, file);
    }
}

hd_status (*heaps_view)(const arguments *a, const hd_dump *dump, size_t number, hd_heap *heap, bool *made,
                        hd_error *err);

/* Keeps only the last dump of each process. */
static void keep_last(chosen *c) {
    FREED bool *picked = needed(calloc(c->count + 1, 1));
    size_t n = 0;
    mark_picked(c, NULL, true, picked);
    for (size_t i = 0; i < c->count; i++) {
        if (picked[i]) {
            c->heaps[n] = c->heaps[i], c->made[n] = c->made[i];
            c->hidden[n] = c->hidden[i], c->again[n++] = c->again[i];
        } else {
            if (c->made[i]) hd_heap_release(&c->heaps[i]);
            free(c->again[i].list);
        }
    }
    c->earlier = c->count - n;
    c->count = n;
}

static bool has_live(const heap_options *which, const hd_dump *dump) {
    for (size_t i = 0; i < hd_dump_heap_count(dump); i++)
        if (selected(which, hd_dump_heap(dump, i)) && hd_dump_heap(dump, i)->kind == HD_HEAP_LIVE) return true;
    return false;
}

/* Chooses heaps of a dump; a graph gives one heap, its dominator tree. Reports an error if no heap is chosen. */
static int choose_heaps(const arguments *a, const heap_options *which, bool quiet, const char *file, hd_dump *dump,
                        chosen *c) {
    const hd_graph *graph = hd_dump_graph(dump);
    size_t all = hd_dump_heap_count(dump);
    hd_error err;
    bool only_live = !which->kind && which->live_kind && has_live(which, dump);
    int status = DONE;
    if (!can_be_seen(a, file, dump)) {
        if (!c->borrowed) hd_dump_free(dump);
        return BAD_INPUT;
    }
    c->file = file;
    c->dump = dump;
    c->count = c->earlier = c->other_kinds = 0, c->left_kinds = 0;
    memset(&c->names, 0, sizeof c->names);
    c->heaps = needed(calloc(all + 1, sizeof *c->heaps));
    c->made = needed(calloc(all + 1, sizeof *c->made));
    c->again = needed(calloc(all + 1, sizeof *c->again));
    c->hidden = needed(calloc(all + 1, sizeof *c->hidden));
    if (graph) {
        status = graph_heap(a, file, graph, &c->heaps[0]);
        c->made[0] = !status;
        c->count = !status;
        if (!status && work(a, c, 0, &err)) status = failed(file, &err);
    }
    for (size_t i = 0; i < all && !status; i++) {
        if (!selected(which, hd_dump_heap(c->dump, i))) continue;
        if (only_live && hd_dump_heap(c->dump, i)->kind != HD_HEAP_LIVE) {
            c->other_kinds++, c->left_kinds |= 1U << hd_dump_heap(c->dump, i)->kind;
            continue;
        }
        c->heaps[c->count] = *hd_dump_heap(c->dump, i);
        if (heaps_view(a, dump, i, &c->heaps[c->count], &c->made[c->count], &err) ||
            named(a, c, &c->heaps[c->count], &c->made[c->count], &err) ||
            work(a, c, c->count, &err)) {
            display(stderr, "heapdump: %s (%s): %s\n", file, hd_dump_format(dump)->name, err.message);
            status = BAD_INPUT;
        }
        c->count++;
    }
    if (!status && which->last_dump && !a->cut.all && !which->dump) keep_last(c);
    if (!status && !quiet && hd_dump_format(dump)->is & FORMAT_ADDRESSES)
        warn_newer(file, a->naming.opened ? a->naming.opened : &c->names);
    if (!status && !c->count) {
        tell_no_heap(which, file, dump);
        status = BAD_INPUT;
    }
    if (status) chosen_free(c);
    return status;
}

/* Chooses heaps of a dump, which chosen_free frees, too. */
int choose_from(const arguments *a, const char *file, hd_dump *dump, chosen *c) {
    c->borrowed = false;
    return choose_heaps(a, &a->heaps, a->input.quiet, file, dump, c);
}

/* Chooses other heaps of the dump of `from`. Only `from` frees the dump. */
int choose_again(const arguments *a, const heap_options *which, const chosen *from, chosen *c) {
    c->borrowed = true;
    return choose_heaps(a, which, a->input.quiet, from->file, from->dump, c);
}

/* On success, the caller frees *c with chosen_free. */
int choose(const arguments *a, const char *file, chosen *c) {
    hd_dump *dump;
    int status = read_dump(file, &a->input, &dump);
    return status ? status : choose_from(a, file, dump, c);
}

/* Reads a file for the second time: the first reading reported its warnings. */
int choose_quietly(const arguments *a, const char *file, chosen *c) {
    input_options in = a->input;
    hd_dump *dump;
    int status;
    in.quiet = true;
    status = read_dump(file, &in, &dump);
    c->borrowed = false;
    return status ? status : choose_heaps(a, &a->heaps, true, file, dump, c);
}

/* Writes an amount under these keys; the error only if it is not 0. */
void json_amount(hd_json *j, const char *bytes, const char *blocks, const char *error,
                 const hd_amount *amount) {
    uint64_t root = hd_standard_error(amount->variance);
    json_u64(j, bytes, amount->bytes);
    json_known(j, blocks, amount->blocks);
    if (root) json_u64(j, error, root);
}

/* Whether two comparable heaps are parts of one sum. Rows split a sum into a profile and a breakdown, and by
   sampling interval. */
static bool same_sum(const hd_heap *x, const hd_heap *y) {
    return (!x->profile != !y->profile || x->sample_bytes != y->sample_bytes) && x->time_us == y->time_us &&
           same_text(x->dump, y->dump);
}

/* Marks the heaps to work on: all of dump `id`, or without an id the first or last heap of each process. */
void mark_picked(const chosen *c, const char *id, bool last, bool *picked) {
    size_t n;
    FREED const hd_heap **sorted = NULL;
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
}

