/* Bytes, shares and numbers of rows as text. */

#include "screen.h"

void bytes_text(const arguments *a, uint64_t bytes, char text[FIGURE]) {
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    double size = (double)bytes;
    int u = 0;
    for (; !a->view.exact && u < 4 && size >= 1023.95; u++) size /= 1024;
    if (a->view.exact) snprintf(text, FIGURE, "%llu", (unsigned long long)bytes);
    else snprintf(text, FIGURE, u ? "%.1f %s" : "%.0f %s", size, units[u]);
}

void put_bytes(FILE *out, const arguments *a, uint64_t bytes, int width) {
    char text[FIGURE];
    bytes_text(a, bytes, text);
    display(out, "%*s", width, text);
}

void put_bytes_named(FILE *out, const arguments *a, uint64_t bytes) {
    put_bytes(out, a, bytes, 0);
    if (a->view.exact) display(out, " byte%s", plural(bytes));
}

void put_share(FILE *out, uint64_t part, uint64_t whole) {
    display(out, " %6.1f%%", whole ? 100.0 * (double)part / (double)whole : 0.0);
}

void put_more(FILE *out, uint64_t all, uint64_t shown) {
    if (all > shown) display(out, "... %llu more (--all lists them)\n", (unsigned long long)(all - shown));
}

/* The number of shown items of a list: by --top or --all, else `otherwise`. */
uint32_t shown_of(const arguments *a, uint32_t otherwise) {
    return a->cut.all ? HD_NONE : a->cut.cutoff.top ? a->cut.cutoff.top : otherwise;
}
