/* --frames hidden: lists the frames that a view hides. */

#include "hidden_list.h"
#include "show.h"

hd_status hidden_heap(showing *s, const hd_heap *heap, hd_error *err) {
    hidden_row *rows = NULL;
    size_t count = 0;
    uint64_t total = totals_of(heap).bytes;
    hd_status status = s->of_objects ? HD_OK : hidden_list_make(heap, &rows, &count, err);
    int width = s->a->view.exact ? snprintf(NULL, 0, "%llu", (unsigned long long)total) : 10;
    if (status) return status;
    if (!s->a->view.json) {
        display(s->to.text, "hidden frames of "), put_label_within(s->to.text, heap, NULL, 0);
        display(s->to.text, ", with all bytes of their stacks%s\n", count ? "" : ": none");
    }
    for (size_t i = 0; i < count; i++) {
        const hidden_row *r = &rows[i];
        if (s->a->view.json) {
            json_line(&s->to.json);
            json_text(&s->to.json, "pattern", r->pattern);
            json_text(&s->to.json, "object", *r->object ? r->object : NULL);
            json_amount(&s->to.json, "bytes", "blocks", "error", &r->amount);
            hd_json_end(&s->to.json);
            continue;
        }
        display(s->to.text, "  "), put_bytes(s->to.text, s->a, r->amount.bytes, width);
        put_share(s->to.text, r->amount.bytes, total);
        if (r->amount.blocks == HD_UNKNOWN) display(s->to.text, "%8s", "-");
        else display(s->to.text, "%8llu", (unsigned long long)r->amount.blocks);
        display(s->to.text, "  %s%s%s%s\n", r->pattern, *r->object ? " [" : "", r->object, *r->object ? "]" : "");
    }
    hidden_list_free(rows, count);
    return HD_OK;
}

int run_hidden(const arguments *a) { return show(a, hidden_heap); }
