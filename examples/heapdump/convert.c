/* convert; and writing of heaps, which others do as well. */

#include "commands.h"
#include "formats/formats.h"
#include "heaps.h"
#include "memprof.h"
#include "objects.h"

/* Heaps to write: named, and condensed for traces of cumulative sizes, and where cut-offs are given. Freed with
   condensed_free. */
int condense(const hd_heap *from, size_t n, const arguments *a, symbols *names, hd_heap **heaps,
             size_t *count) {
    bool whole = a->to && strcmp(a->to, "chrome") && !a->has_cutoff;
    *heaps = needed(calloc(n + 1, sizeof **heaps));
    for (*count = 0; *count < n; ++*count) {
        hd_heap *heap = &(*heaps)[*count];
        hd_profile *named = NULL;
        hd_breakdown *breakdown;
        hd_status status = HD_OK;
        hd_error err;
        *heap = from[*count];
        if (whole && !heap->profile && !strcmp(a->to, "heaps_v2")) {
            display(stderr, "heapdump: the heap of %s has cumulative sizes, of which heaps_v2 cannot be "
                    "made; --to chrome keeps them\n", heap->allocator ? heap->allocator : "the file");
            return BAD_INPUT;
        }
        if (heap->profile) {
            status = hd_profile_rename(heap->profile, HD_AXIS_BACKTRACE, symbols_rename, names, NULL, &named,
                                       &err);
            if (named) heap->profile = named;
        }
        if (!status && (!whole || heap->breakdown)) { /* a copy, to be freed */
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

void condensed_free(hd_heap *heaps, size_t count) {
    for (size_t i = 0; i < count; i++) hd_heap_release(&heaps[i]);
    free(heaps);
}

/* What --to names: traces have two names, of which one is for self sizes. NULL: there is no such format. */
static const hd_format *heaps_format(const arguments *a) {
    return format_named(a->to && strcmp(a->to, "heaps_v2") ? a->to : "chrome");
}

/* The heaps alone as --to has it, or a trace with them added. */
int write_heaps(const arguments *a, const hd_heap *heaps, size_t count, const char *path, bool is_default) {
    const char *add_to = a->add_to;
    hd_chrome_dumps dumps = { .heaps = heaps, .heap_count = count };
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
        failed = add_to ? hd_chrome_add(in, &dumps, NULL, o.out, &err)
                        : heaps_format(a)->write_heaps(heaps, count, NULL, o.out, &err);
        if (failed) {
            display(stderr, "heapdump: %s: %s\n", add_to ? add_to : path ? path : "standard output",
                    output_error(&o, &err));
            status = BAD_INPUT;
        }
        status = output_close(&o, path, status);
    }
    if (add_to) hd_in_close(&in);
    return status;
}

int write_condensed(const arguments *a, const hd_heap *heaps, size_t n) {
    symbols names = { 0 };
    hd_heap *condensed = NULL;
    size_t count = 0;
    int status = condense(heaps, n, a, &names, &condensed, &count);
    if (!status) status = write_heaps(a, condensed, count, a->output, false);
    condensed_free(condensed, count);
    symbols_free(&names);
    return status;
}

/* Writes objects, in a format of objects. */
static int convert_graph(const arguments *a, const hd_format *format) {
    objects o;
    int status;
    if (a->has_cutoff) return usage("what is listed cannot be cut off in %s", a->to);
    if (a->add_to) return usage("objects cannot be added to a trace as %s", a->to);
    status = objects_open(a, a->files[0], false, &o);
    if (status) return status;
    status = write_objects(a, o.dump, format);
    objects_close(&o);
    return status;
}

int check_to(const arguments *a) {
    const hd_format *format = heaps_format(a);
    if (!format || !format->write_heaps) return usage("no format '%s' is written here", a->to);
    if (a->add_to && format != format_named("chrome"))
        return usage("heaps cannot be added to a trace as %s", a->to);
    if (a->to && !strcmp(a->to, "heaps_v2") && a->has_cutoff)
        return usage("heaps_v2 holds self sizes, which cannot be cut off");
    return DONE;
}

int run_convert(const arguments *a) {
    const hd_format *format = a->to ? format_named(a->to) : NULL;
    chosen c;
    int status;
    if (!a->to && !a->add_to)
        return usage("convert needs --to FORMAT (%s)", formats_written());
    if (a->file_count != 1) return usage("convert takes one file");
    if (index_is_asked(a->to)) return index_convert(a);
    if (memprof_is_raw(a->to)) return memprof_convert(a);
    if (format && format->write_graph) return convert_graph(a, format);
    status = check_to(a);
    if (!status) status = choose(a, a->files[0], &c);
    if (status) return status;
    status = write_condensed(a, c.heaps, c.count);
    chosen_free(&c);
    return status;
}
