/* Lines about omitted parts of a listing: smaller heaps, other kinds, hidden frames. */

#include "screen.h"

static int by_size(const void *x, const void *y) {
    const sized_heap *a = x, *b = y;
    int order = -compare_numbers(a->bytes, b->bytes);
    return order ? order : compare_numbers(a->number, b->number);
}

size_t largest_first(const arguments *a, const screen *s, sized_heap *heaps, size_t count) {
    enum { MOST = 10, LINES = 8 };
    size_t most = s->rows ? (size_t)s->rows / LINES : MOST;
    if (a->cut.all || a->view.json || count <= MOST) return count;
    qsort(heaps, count, sizeof *heaps, by_size);
    return most < 2 ? 2 : most < count ? most : count;
}

void put_smaller(FILE *out, const arguments *a, const screen *s, const char *what, const sized_heap *heaps,
                 size_t shown, size_t count) {
    uint64_t bytes = 0;
    if (shown == count) return;
    for (size_t h = shown; h < count; h++)
        bytes = heaps[h].bytes > UINT64_MAX - bytes ? UINT64_MAX : bytes + heaps[h].bytes;
    put_style(out, s, FAINT);
    display(out, "not shown: %zu smaller %s, of ", count - shown, what), put_bytes(out, a, heaps[shown].bytes, 0);
    if (heaps[shown].bytes)
        display(out, " and less, "), put_bytes(out, a, bytes, 0), display(out, " together");
    display(out, " (--all)\n");
    put_style(out, s, PLAIN);
}

/* Reports omitted parts, and the option that shows them. */
void put_left_out(FILE *out, const screen *s, size_t hidden, size_t other_kinds, unsigned kinds, size_t earlier) {
    char text[128];
    size_t n;
    put_style(out, s, FAINT);
    snprintf(text, sizeof text, "hidden: %zu frame%s of allocators and startup code (--frames all)",
             hidden, plural(hidden));
    if (hidden) put_wrapped(out, text, s->columns);
    n = (size_t)snprintf(text, sizeof text, "not shown: %zu heap%s of other kinds (--kind", other_kinds,
                         plural(other_kinds));
    for (int kind = HD_HEAP_LIVE; kind <= HD_HEAP_TEMPORARY; kind++) {
        if (!(kinds >> kind & 1)) continue;
        kinds &= ~(1U << kind);
        n += (size_t)snprintf(text + n, sizeof text - n, " %s%s", hd_heap_kind_name((hd_heap_kind)kind),
                              !kinds ? ")" : kinds & (kinds - 1) ? "," : " or");
    }
    if (other_kinds) put_wrapped(out, text, s->columns);
    snprintf(text, sizeof text, "not shown: %zu heap%s of earlier dumps (--all)", earlier, plural(earlier));
    if (earlier) put_wrapped(out, text, s->columns);
    put_style(out, s, PLAIN);
}

void json_left_out(answer *to, size_t hidden, size_t other_kinds, size_t earlier) {
    if (!to->a->view.json) return;
    answer_end_list(to);
    json_object(&to->json, "left_out");
    json_u64(&to->json, "hidden_frames", hidden);
    json_u64(&to->json, "other_kinds", other_kinds);
    json_u64(&to->json, "earlier_heaps", earlier);
    hd_json_end(&to->json);
}
