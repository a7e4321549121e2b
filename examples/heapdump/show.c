/* tree, top */

#include "commands.h"
#include "heaps.h"
#include "memprof.h"

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

int run_tree(const arguments *a) {
    arguments listing = *a;
    listing.listed = tree_options(a).cutoff;
    listing.default_share = 0.01;
    return show(&listing, tree_heap);
}

int run_top(const arguments *a) { return show(a, top_heap); }

