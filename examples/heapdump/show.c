/* tree, top */

#include "commands.h"
#include "heaps.h"
#include "memprof.h"

static hd_status tree_row(void *user, const hd_tree_row *row) {
    hd_json *j = user;
    json_line(j);
    json_u64(j, "depth", row->depth);
    json_text(j, "axis", row->depth ? row->breakdown->axis[row->axis].name : NULL);
    json_str(j, "name", row->name);
    json_amount(j, "bytes", "blocks", "error", &row->amount);
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
    json_line(j);
    json_str(j, "name", row->name);
    json_amount(j, "bytes", "blocks", "error", &row->cumulative);
    json_amount(j, "self_bytes", "self_blocks", "self_error", &row->self);
    json_bool(j, "self_is_bound", row->self_is_bound);
    json_u64(j, "unlisted_bytes", row->unlisted.bytes);
    json_known(j, "unlisted_blocks", row->unlisted.blocks);
    hd_json_end(j);
    return HD_OK;
}

static hd_status top_heap(const arguments *a, const hd_heap *heap, reading *r, hd_json *j, hd_out out) {
    hd_top_options options = {
        .axis = axis_in(a, heap), .top = a->cutoff.top ? a->cutoff.top : 20, .by_self = a->by_self,
        .units = !a->exact && !memprof_counted(a), .options = { .warning = on_warning, .warning_user = r }
    };
    return a->json ? hd_top(heap, &options, top_row, j, NULL) : hd_print_top(heap, &options, out, NULL);
}

/* Each chosen heap of each file; what could be read is shown even when another file was bad. */
static int show(const arguments *a, hd_status (*one)(const arguments *a, const hd_heap *heap, reading *r,
                                                     hd_json *j, hd_out out)) {
    answer to;
    hd_json *j = &to.json;
    hd_out out;
    bool any = false;
    int status = answer_open(&to, a, "heaps");
    if (status) return status;
    out = to.output.out;
    for (int i = 0; i < a->file_count; i++) {
        chosen c;
        reading r = { .file = a->files[i] };
        hd_status failed = HD_OK;
        if (choose(a, a->files[i], &c)) {
            status = BAD_INPUT;
            continue;
        }
        for (size_t h = 0; h < c.count && !failed; h++) {
            if (any && !a->json) out.write(out.user, "\n", 1);
            any = true;
            if (a->json) {
                hd_json_object(j);
                json_label(j, &c.heaps[h]);
                json_array(j, "rows");
            }
            failed = one(a, &c.heaps[h], &r, j, out);
            if (a->json) hd_json_end(j), hd_json_end(j);
        }
        if (failed && failed != HD_IO) /* output_close tells of output */
            display(stderr, "heapdump: %s: %s\n", c.file, hd_status_text(failed));
        if (failed) status = BAD_INPUT;
        chosen_free(&c);
    }
    if (!any) return answer_close(&to, status);
    return answer_close(&to, DONE) ? BAD_INPUT : status;
}

int run_tree(const arguments *a) {
    arguments listing = *a;
    listing.listed = tree_options(a).cutoff;
    listing.default_share = 0.01;
    return show(&listing, tree_heap);
}

int run_top(const arguments *a) { return show(a, top_heap); }

