/* convert, and the writing of heaps that other commands share. */

#include "heaps.h"

/* Losses of the written format. ------------------------------------------------------------------ */

/* True if an axis from number `first` on has more nodes than its root. */
static bool has_axes(const hd_heap *heap, uint32_t first) {
    uint32_t count = heap->breakdown ? heap->breakdown->entries.axis_count : hd_profile_axis_count(heap->profile);
    for (uint32_t i = first; i < count; i++)
        if ((heap->breakdown ? heap->breakdown->axis[i] : hd_profile_axis(heap->profile, i)).node_count > 1)
            return true;
    return false;
}

static bool has_variance(const hd_heap *heap) {
    hd_rows rows = heap->breakdown ? heap->breakdown->entries : hd_profile_cells(heap->profile);
    for (uint32_t i = 0; i < rows.count; i++)
        if (rows.amount[i].variance.lo || rows.amount[i].variance.hi) return true;
    return false;
}

/* The HD_LACKS_ flags of everything that the heap has and another format may lack. */
static uint32_t holds(const hd_heap *heap) {
    uint64_t blocks = totals_of(heap).blocks;
    return (has_axes(heap, 1) ? HD_LACKS_TYPES : 0u) | (has_axes(heap, 2) ? HD_LACKS_AXES : 0u) |
           (heap->breakdown ? HD_LACKS_CUMULATIVE : 0u) | (blocks && blocks != HD_UNKNOWN ? HD_LACKS_BLOCKS : 0u) |
           (has_variance(heap) ? HD_LACKS_VARIANCE : 0u) | (heap->kind != HD_HEAP_LIVE ? HD_LACKS_KINDS : 0u) |
           (heap->pid || heap->process || heap->dump || heap->allocator ? HD_LACKS_LABELS : 0u) |
           (heap->time_us ? HD_LACKS_TIMES : 0u) | (heap->label_count ? HD_LACKS_MORE_LABELS : 0u);
}

static bool has_names(const hd_graph *graph) {
    for (uint32_t i = 0; i < hd_graph_object_count(graph); i++)
        for (uint32_t k = 0; k < hd_graph_object(graph, i).reference_count; k++)
            if (hd_graph_field(graph, i, k).len) return true;
    return false;
}

static hd_status count_fact(void *count, const hd_fact *fact) {
    (void)fact;
    ++*(size_t *)count;
    return HD_OK;
}

/* The number of facts that only the file's own format can hold: mappings, comments, positions of functions. */
static size_t other_facts(const hd_dump *dump, const hd_format *to) {
    size_t count = 0;
    hd_error err;
    return hd_dump_format(dump) == to || hd_dump_facts(dump, count_fact, &count, &err) ? 0 : count;
}

/* Parts of a file that the written format cannot hold. */
typedef struct left_out {
    uint32_t lost;               /* HD_LACKS_ flags */
    size_t kinds, dumps;         /* heaps of other kinds, and of earlier dumps (without peaks) */
    size_t peaks;                /* of earlier dumps */
    size_t scalars, facts;
} left_out;

static const char *print_count(const char *between, const char *text, size_t count, const char *way) {
    if (!count) return between;
    display(stderr, "%s%s (%zu%s)", between, text, count, way);
    return ", ";
}

/* Reports the losses in one line. */
static void warn_lost(const char *to, const left_out *l) {
    static const char *const words[] = {
        "types", "axes beyond the second", "cumulative sizes (unlisted bytes count to the frame above)",
        "numbers of blocks", "standard errors", "kinds of heaps", "labels of heaps", "times", "names of references",
        "further labels of heaps"
    };
    uint32_t lost = l->lost;
    const char *between = "";
    if (lost & HD_LACKS_TYPES) lost &= ~(uint32_t)HD_LACKS_AXES; /* types are the second axis */
    if (!lost && !l->kinds && !l->dumps && !l->peaks && !l->scalars && !l->facts) return;
    display(stderr, "heapdump: %s cannot store these, and leaves them out: ", to);
    between = print_count(between, "heaps of other kinds", l->kinds, "; select with --kind");
    between = print_count(between, "heaps at the peak", l->peaks, "; select with --kind peak");
    between = print_count(between, "heaps of earlier dumps", l->dumps, "; select with --dump");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (lost >> i & 1) display(stderr, "%s%s", between, words[i]), between = ", ";
    between = print_count(between, "attributes of processes and allocators", l->scalars, "");
    between = print_count(between, "other facts about the file that info prints", l->facts, "");
    fputc('\n', stderr);
}

/* Keeps the heaps of the last dump of each process. If the heaps of a process name no dump, keeps the last heap of
   each allocator. Returns the number of dropped heaps. */
static size_t keep_last_dump(chosen *c) {
    size_t n, kept = 0, before = c->count;
    FREED bool *picked = needed(calloc(c->count + 1, 1));
    FREED const hd_heap **sorted = NULL;
    mark_picked(c, NULL, true, picked);
    sorted = sorted_heaps(c->heaps, c->count, picked, by_process_and_time, &n);
    for (size_t i = n; i-- > 0;) {
        const hd_heap *last = sorted[i];
        for (; i > 0 && same_process(sorted[i - 1], last); i--)
            if (!same_text(sorted[i - 1]->dump, last->dump)) picked[sorted[i - 1] - c->heaps] = false;
    }
    for (size_t i = 0; i < before; i++)
        if (picked[i]) c->heaps[kept++] = c->heaps[i];
    c->count = kept;
    return before - kept;
}

static size_t peaks_in(const chosen *c) {
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++) n += c->heaps[i].kind == HD_HEAP_PEAK;
    return n;
}

/* Copies the heaps that the format can hold. A format of one kind gets the live heaps, or else the peaks, and so on.
   A format of one dump gets the last dump of each process. To be freed. */
static hd_heap *heaps_held(const hd_heap *from, size_t *count, uint32_t lacks, left_out *l) {
    hd_heap *heaps = needed(calloc(*count + 1, sizeof *heaps));
    chosen some = { .heaps = heaps };
    hd_heap_kind least = HD_HEAP_TEMPORARY;
    for (size_t i = 0; i < *count; i++)
        if (from[i].kind < least) least = from[i].kind;
    for (size_t i = 0; i < *count; i++)
        if (!(lacks & HD_LACKS_KINDS) || from[i].kind == least) heaps[some.count++] = from[i];
    l->kinds = *count - some.count;
    l->peaks = peaks_in(&some);
    if (lacks & HD_LACKS_DUMPS) l->dumps = keep_last_dump(&some);
    l->peaks -= peaks_in(&some), l->dumps -= l->peaks;
    *count = some.count;
    return heaps;
}

/* Heaps. ------------------------------------------------------------------------------------------ */

/* The format that --to names. Chromium traces have two names: chrome, and heaps_v2 for self sizes. NULL: unknown. */
static const hd_format *heaps_format(const output_options *to) {
    return to->to ? format_written(to->to).format : &hd_format_chrome;
}

/* Reduces a profile to its first two axes. Cells that differ only on the other axes are added up. */
static hd_status first_axes(const hd_profile *profile, hd_profile **out, hd_error *err) {
    hd_profile_desc desc = { .axis_count = 2 };
    hd_status status;
    for (uint32_t i = 0; i < 2; i++) desc.axis_name[i] = hd_profile_axis(profile, i).name;
    *out = hd_profile_create(&desc, err);
    status = *out ? hd_profile_merge(*out, profile, err) : err->status;
    if (status) hd_profile_free(*out);
    return status;
}

/* Makes a heap with frames named, condensed unless `whole` is true. It shares only strings with `from`. */
static hd_status condense_one(const hd_heap *from, hd_cutoff cutoff, const hd_format *format, bool whole,
                              symbols *names, hd_heap *heap, hd_error *err) {
    hd_profile *profile = NULL, *less;
    hd_breakdown *breakdown;
    hd_status status = HD_OK;
    cutoff.nested = true;
    *heap = *from;
    if (from->profile) {
        symbols_prepare(names, hd_profile_axis(from->profile, HD_AXIS_BACKTRACE));
        status = hd_profile_rename(from->profile, HD_AXIS_BACKTRACE, symbols_rename, names, NULL, &profile, err);
    }
    if (!status && profile && format->lacks & HD_LACKS_AXES && hd_profile_axis_count(profile) > 2) {
        status = first_axes(profile, &less, err);
        hd_profile_free(profile);
        profile = status ? NULL : less;
    }
    if (status) return status;
    heap->profile = profile;
    if (whole && profile) return HD_OK;
    if (whole && !(format->lacks & HD_LACKS_CUMULATIVE)) return hd_merge(from, 1, NULL, heap, err); /* a copy */
    status = hd_heap_break_down(heap, &cutoff, NULL, &breakdown, err);
    hd_profile_free(profile);
    heap->profile = NULL;
    heap->breakdown = breakdown;
    return status;
}

/* Gives heaps of one dump the latest of their times, because most formats store one time per dump. heaptrack's peak
   and end have different times, for example. Returns true if a time changed. */
static bool put_at_one_time(const hd_format *format, hd_heap *heaps, size_t count) {
    bool lost = false;
    if (!format->lacks) return false;
    for (size_t i = 0, end; i < count; i = end) {
        uint64_t last = heaps[i].time_us;
        for (end = i + 1; end < count && same_process(&heaps[end], &heaps[i]) &&
                          same_text(heaps[end].dump, heaps[i].dump); end++)
            if (heaps[end].time_us > last) last = heaps[end].time_us;
        for (size_t k = i; k < end; k++) {
            lost |= heaps[k].time_us != last;
            heaps[k].time_us = last;
        }
    }
    return lost;
}

/* Heaps to write: frames are named, and heaps condensed for traces of cumulative sizes or if cutoffs are given. Freed
   with condensed_free. */
int condense(const hd_heap *from, size_t n, const output_options *to, const cut_options *cut, symbols *names,
             hd_heap **heaps, size_t *count) {
    const hd_format *format = heaps_format(to);
    bool whole = to->to && !format_is(to->to, HD_FORMAT_TRACE) && !cut->has_cutoff;
    *heaps = needed(calloc(n + 1, sizeof **heaps));
    for (*count = 0; *count < n; ++*count) {
        const hd_heap *next = &from[*count];
        hd_error err;
        if (whole && !next->profile && format_is(to->to, FORMAT_SELF_SIZES)) {
            display(stderr, "heapdump: the heap of %s has cumulative sizes, and heaps_v2 holds only self sizes; "
                    "--to chrome keeps cumulative ones\n", next->allocator ? next->allocator : "the file");
            return BAD_INPUT;
        }
        if (condense_one(next, cut->cutoff, format, whole, names, &(*heaps)[*count], &err)) {
            display(stderr, "heapdump: %s\n", err.message);
            return BAD_INPUT;
        }
    }
    return DONE;
}

void condensed_free(hd_heap *heaps, size_t count) {
    for (size_t i = 0; i < count; i++) hd_heap_release(&heaps[i]);
    free(heaps);
}

/* Traces hold scalars of processes and allocators as well as heaps. */
static bool takes_scalars(const output_options *to) { return heaps_format(to)->is & HD_FORMAT_TRACE; }

static hd_status put_heaps(const output_options *to, const hd_chrome_dumps *what, const hd_options *options,
                           hd_out out, hd_error *err) {
    if (takes_scalars(to)) return hd_chrome_write_dumps(what, options, out, err);
    return heaps_format(to)->write_heaps(what->heaps, what->heap_count, options, out, err);
}

/* Writes the heaps in the format of --to, with their scalars in a trace; or adds them to the trace of --add-to. */
int write_heaps(const output_options *to, const hd_chrome_dumps *what, const hd_places *places, const char *path,
                bool is_default) {
    reading r = { .file = path ? path : "output" };
    hd_options options = { .places = places, .warning = on_warning, .warning_user = &r, .hidden = frame_is_hidden };
    const char *add_to = to->add_to;
    unpacked trace;
    output o;
    hd_error err;
    hd_status failed;
    int status;
    if (add_to && unpacked_open(&trace, add_to, &err)) return complain(add_to, &err, ""), BAD_INPUT;
    status = output_open_as(&o, path, is_default);
    if (!status) {
        failed = add_to ? hd_chrome_add(trace.in, what, NULL, o.out, &err)
                        : put_heaps(to, what, &options, o.out, &err);
        if (failed && add_to) unpacked_explain(&trace, &err);
        status = output_end(&o, path, add_to ? add_to : output_name(path), failed, &err);
    }
    if (add_to) unpacked_close(&trace);
    return status;
}

/* Collects code locations of frames. Returns NULL if the written format cannot hold them. */
hd_places *places_create(const output_options *to) {
    return heaps_format(to)->places ? needed(hd_places_create(NULL, NULL)) : NULL;
}

/* Adds the code locations of a dump's frames. */
int places_add(hd_places *places, const char *file, const hd_dump *dump) {
    hd_error err;
    return places && hd_dump_places(dump, places, &err) ? failed(file, &err) : DONE;
}

/* The heaps of a file as they are written. */
typedef struct written {
    hd_heap *heaps;
    size_t count;
    bool lost_times;
    uint64_t size;               /* of the file, not compressed; only --output-bytes needs it */
} written;

static hd_status add_size(void *user, const void *data, size_t size) {
    (void)data;
    *(uint64_t *)user += size;
    return HD_OK;
}

/* Condenses heaps, and measures their file. */
static int written_make(const output_options *to, const cut_options *cut, const hd_chrome_dumps *what,
                        const hd_places *places, symbols *names, written *w) {
    hd_options options = { .places = places, .hidden = frame_is_hidden };
    hd_chrome_dumps dumps = *what;
    hd_error err;
    int status = condense(what->heaps, what->heap_count, to, cut, names, &w->heaps, &w->count);
    w->lost_times = put_at_one_time(heaps_format(to), w->heaps, w->count);
    w->size = 0;
    dumps.heaps = w->heaps, dumps.heap_count = w->count;
    if (!status && cut->cutoff.max_output_bytes &&
        put_heaps(to, &dumps, &options, hd_out_callback(add_size, &w->size), &err))
        status = failed("output", &err);
    return status;
}

/* --output-bytes: the size of the whole file. Heaps share names, and formats differ in bytes for an entry, so the
   budget of each heap is found by trials: until the file has most of the bytes, and not more. */
static int written_within(const output_options *to, cut_options cut, const hd_chrome_dumps *what,
                          const hd_places *places, symbols *names, written *best) {
    enum { TRIALS = 12 };
    uint64_t most = cut.cutoff.max_output_bytes, low = 0, high = most + 1, least = UINT64_MAX;
    double next = (double)most / (double)(what->heap_count ? what->heap_count : 1);
    int status = DONE;
    for (int i = 0; i < TRIALS && high > low + 1 && best->size < most - most / 8 && !status; i++) {
        written w;
        uint64_t budget = next < (double)high ? (uint64_t)next : high > most ? most : high;
        if (budget <= low || budget >= high) budget = low + (high - low) / 2;
        if (i + 1 == TRIALS && !low) budget = 1;
        cut.cutoff.max_output_bytes = budget;
        status = written_make(to, &cut, what, places, names, &w);
        if (w.size < least) least = w.size;
        if (w.size > most) high = budget;
        else low = budget;
        next = (double)budget * (double)most / (double)(w.size ? w.size : 1) * 15 / 16;
        if (low == budget && w.size >= best->size) {
            condensed_free(best->heaps, best->count);
            *best = w;
        } else {
            condensed_free(w.heaps, w.count);
        }
    }
    if (status || best->heaps) return status;
    display(stderr, "heapdump: %zu heap%s need%s at least %llu bytes, even without call stacks; --output-bytes is "
            "%llu\n", what->heap_count, plural(what->heap_count), what->heap_count == 1 ? "s" : "",
            (unsigned long long)least, (unsigned long long)most);
    return BAD_INPUT;
}

/* `scalars` and `facts` count values of the file that are not written. */
int write_condensed(const output_options *to, const cut_options *cut, const hd_chrome_dumps *what,
                    const hd_places *places, size_t scalars, size_t facts) {
    uint32_t lacks = heaps_format(to)->lacks;
    left_out l = { .scalars = scalars, .facts = facts };
    hd_chrome_dumps dumps = *what;
    size_t n = what->heap_count;
    hd_heap *heaps = heaps_held(what->heaps, &n, lacks, &l);
    symbols names = { 0 };
    written w = { 0 };
    int status;
    dumps.heaps = heaps, dumps.heap_count = n;
    if (cut->cutoff.max_output_bytes) status = written_within(to, *cut, &dumps, places, &names, &w);
    else status = written_make(to, cut, &dumps, places, &names, &w);
    dumps.heaps = w.heaps, dumps.heap_count = w.count;
    if (!status) status = write_heaps(to, &dumps, places, to->file, false);
    for (size_t i = 0; i < w.count; i++) l.lost |= holds(&w.heaps[i]);
    for (size_t i = 0; i < n; i++) l.lost |= heaps[i].profile ? holds(&heaps[i]) : 0;
    l.lost &= lacks | (w.lost_times ? HD_LACKS_TIMES : 0u);
    if (!status) warn_lost(to->to ? to->to : "chrome", &l);
    condensed_free(w.heaps, w.count);
    symbols_free(&names);
    free(heaps);
    return status;
}

/* Whether the options ask for the whole file, unchanged. */
static bool is_whole(const arguments *a) {
    return !a->cut.has_cutoff && !a->heaps.keep.text && !a->heaps.drop.text && !a->heaps.root.text &&
           !a->view.invert && !a->heaps.dump && !a->heaps.allocator && !a->heaps.kind && !a->heaps.has_pid &&
           !a->out.add_to;
}

/* Writes a file in its own format, without loss. */
static int write_again(const arguments *a, const hd_dump *dump) {
    output o;
    hd_error err;
    int status = output_open(&o, a->out.file);
    if (status) return status;
    return output_end(&o, a->out.file, NULL, hd_dump_write(dump, NULL, o.out, &err), &err);
}

int check_to(const arguments *a) {
    const hd_format *format = heaps_format(&a->out);
    if (format && format->write_graph)
        return usage("--to %s is for snapshots of objects, and the input is a profile", a->out.to);
    if (!format || !format->write_heaps)
        return usage("cannot write format '%s': --to takes %s", a->out.to, formats_written());
    if (a->out.add_to && !(format->is & HD_FORMAT_TRACE))
        return usage("--add-to writes a trace: it does not go with --to %s", a->out.to);
    if (format_is(a->out.to, FORMAT_SELF_SIZES) && a->cut.has_cutoff)
        return usage("--to heaps_v2 has self sizes: it takes no cut-off options");
    return DONE;
}

/* Writes the chosen heaps, with the scalars of their dumps if the format holds scalars. */
static int convert_chosen(const arguments *a, const chosen *c, const hd_places *places) {
    size_t others = other_scalars(c->dump), count = hd_dump_scalar_count(c->dump);
    FREED hd_scalar *scalars = needed(calloc(count + 1, sizeof *scalars));
    hd_chrome_dumps dumps = { .heaps = c->heaps, .heap_count = c->count, .scalars = scalars };
    for (size_t i = 0; i < count && takes_scalars(&a->out); i++) {
        const hd_scalar *s = hd_dump_scalar(c->dump, i);
        for (size_t k = 0; k < c->count; k++) {
            if (c->heaps[k].pid != s->pid || !same_text(c->heaps[k].dump, s->dump)) continue;
            scalars[dumps.scalar_count] = *s;
            scalars[dumps.scalar_count++].time_us = c->heaps[k].time_us;
            break;
        }
    }
    return write_condensed(&a->out, &a->cut, &dumps, places, dumps.scalar_count ? 0 : others,
                           other_facts(c->dump, heaps_format(&a->out)));
}

/* Writes the chosen heaps of the file in the format of --to. */
int convert_heaps(const arguments *a) {
    const hd_format *format = a->out.to ? format_named(a->out.to) : NULL;
    chosen c;
    int status = check_to(a);
    if (!status) status = choose(a, a->input.files[0], &c);
    if (status) return status;
    if (hd_dump_format(c.dump) == format && format->write && is_whole(a)) status = write_again(a, c.dump);
    else {
        hd_places *places = places_create(&a->out);
        status = places_add(places, a->input.files[0], c.dump);
        if (!status) status = convert_chosen(a, &c, places);
        hd_places_free(places);
    }
    chosen_free(&c);
    return status;
}

/* Reports the parts of a graph that the format cannot hold. */
void tell_lost_of_graph(const arguments *a, const hd_dump *dump, const hd_format *format) {
    if (hd_dump_format(dump) == format) return;
    warn_lost(a->out.to, &(left_out){ .lost = has_names(hd_dump_graph(dump)) ? format->lacks & HD_LACKS_NAMES : 0,
                                  .facts = other_facts(dump, format) });
}
