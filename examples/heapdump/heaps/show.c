/* Shared by tree, top and --frames hidden: shows each chosen heap of each file, and counts omitted ones. */

#include "heaps.h"
#include "show.h"

hd_options show_warned(showing *s) {
    return (hd_options){ .warning = on_warning, .warning_user = &s->reading };
}

/* Suggests further commands, in at most two lines. */
static void put_what_next(showing *s, const chosen *c) {
    if (c->earlier) put_next(s->to.text, &s->screen, s->a, "what grew", "diff", c->file, NULL);
    if (hd_dump_graph(c->dump)) put_next(s->to.text, &s->screen, s->a, "the objects", "retained", c->file, NULL);
    else if (s->first && s->a->view.by_self && !s->a->view.by)
        put_next(s->to.text, &s->screen, s->a, "who calls it", "tree", "--invert", "--keep", s->first, c->file, NULL);
    else put_next(s->to.text, &s->screen, s->a, "who allocates", "top", "--self", c->file, NULL);
}

/* Heaps in the order of display. To be freed. */
static sized_heap *in_order(const showing *s, const chosen *c, size_t *shown) {
    sized_heap *order = needed(calloc(c->count + 1, sizeof *order));
    for (size_t h = 0; h < c->count; h++) order[h] = (sized_heap){ totals_of(&c->heaps[h]).bytes, h };
    *shown = largest_first(s->a, &s->screen, order, c->count);
    return order;
}

/* Adds the hidden frames of the shown heaps to *hidden. */
static bool show_file(showing *s, const chosen *c, bool any, show_heap *one, size_t *hidden) {
    hd_error err;
    hd_status failed = HD_OK;
    size_t shown, own = 0;
    FREED sized_heap *order = in_order(s, c, &shown);
    s->rows = rows_for(s->a, &s->screen, shown);
    for (size_t k = 0; k < shown && !failed; k++) {
        hd_json *j = &s->to.json;
        size_t h = order[k].number;
        if (any && !s->a->view.json) display(s->to.text, "\n");
        any = true;
        own += c->hidden[h];
        s->again = &c->again[h];
        s->of_objects = hd_dump_graph(c->dump) != NULL;
        if (s->a->view.json) {
            hd_json_object(j);
            json_text(j, "file", c->file);
            json_label(j, &c->heaps[h]);
            json_array(j, "rows");
        }
        failed = one(s, &c->heaps[h], &err);
        if (s->a->view.json) hd_json_end(j), hd_json_end(j);
    }
    if (!s->a->view.json) {
        put_smaller(s->to.text, s->a, &s->screen, "heaps", order, shown, c->count);
        put_left_out(s->to.text, &s->screen, own, c->other_kinds, c->left_kinds, c->earlier);
        if (!s->a->view.frames_hidden) put_what_next(s, c);
    }
    *hidden += own;
    if (failed && failed != HD_IO) /* output_close reports errors of the output */
        display(stderr, "heapdump: %s: %s\n", c->file, err.message);
    return !failed;
}

int show(const arguments *a, show_heap *one) {
    showing s = { .a = a, .screen = screen_of(a) };
    bool any = false;
    if (a->view.frames_hidden) one = hidden_heap;
    size_t hidden = 0, other_kinds = 0, earlier = 0;
    int status = answer_open(&s.to, a, "heaps");
    if (status) return status;
    for (int i = 0; i < a->input.file_count; i++) {
        chosen c;
        s.reading = (reading){ .file = a->input.files[i] };
        if (choose(a, a->input.files[i], &c)) {
            status = BAD_INPUT;
            continue;
        }
        if (!show_file(&s, &c, any, one, &hidden)) status = BAD_INPUT;
        any = true;
        other_kinds += c.other_kinds, earlier += c.earlier;
        chosen_free(&c);
    }
    json_left_out(&s.to, hidden, other_kinds, earlier);
    free(s.first);
    if (!any) return answer_close(&s.to, status);
    return answer_close(&s.to, DONE) ? BAD_INPUT : status;
}
