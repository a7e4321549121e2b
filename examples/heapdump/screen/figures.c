/* Lines of a few figures followed by a class. A narrow terminal first omits columns, then shortens the class. */

#include "screen.h"

figures figures_of(const screen *s, const figure_column *columns, int count) {
    figures f = { .screen = s, .columns = columns, .count = count, .gap = 2 };
    for (int i = 0; i < count; i++) f.width[i] = (int)strlen(columns[i].title);
    return f;
}

static void set(figures *f, int column, const char *sign, const char *text, bool any) {
    snprintf(f->text[column], FIGURE, "%s%.*s", sign, FIGURE - 2, text);
    f->any[column] |= any;
}

void figure_bytes(figures *f, const arguments *a, int column, uint64_t bytes) {
    char text[FIGURE];
    bytes_text(a, bytes, text);
    set(f, column, "", text, bytes != 0);
}

static const char *sign_of(uint64_t before, uint64_t after) {
    return before < after ? "+" : before > after ? "-" : "";
}

static uint64_t difference_of(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

void figure_change(figures *f, const arguments *a, int column, uint64_t before, uint64_t after) {
    char text[FIGURE];
    bytes_text(a, difference_of(before, after), text);
    set(f, column, sign_of(before, after), text, before != after);
}

static void set_number(figures *f, int column, const char *sign, uint64_t n) {
    char text[FIGURE];
    snprintf(text, sizeof text, "%llu", (unsigned long long)n);
    set(f, column, sign, text, n != 0);
}

void figure_count(figures *f, int column, uint64_t before, uint64_t after) {
    set_number(f, column, sign_of(before, after), difference_of(before, after));
}

void figure_number(figures *f, int column, uint64_t n) { set_number(f, column, "", n); }

void figure_id(figures *f, int column, const hd_graph *graph, uint32_t object) {
    if (object == HD_NONE) set(f, column, "", "-", false);
    else set_number(f, column, "", hd_graph_object(graph, object).id);
}

void figures_measure(figures *f) {
    for (int i = 0; i < f->count; i++) {
        int n = (int)strlen(f->text[i]);
        if (f->width[i] < n) f->width[i] = n;
    }
}

/* Width of the columns before the class. */
static int columns_before(const figures *f) {
    int used = 2;
    for (int i = 0; i < f->count; i++)
        if (!f->out[i]) used += f->gap + f->width[i];
    return used;
}

/* Omits columns until the class has room, first the columns without figures. */
static void make_room(figures *f) {
    enum { WANTED = 30 };
    for (int need = IF_ANY; need <= IF_WIDE && f->screen->columns; need++)
        for (int i = f->count; i-- > 0 && f->screen->columns - columns_before(f) < WANTED;)
            if (need == IF_WIDE ? f->columns[i].need == IF_WIDE : f->columns[i].need == IF_ANY && !f->any[i])
                f->out[i] = true;
    if (f->screen->columns && f->screen->columns - columns_before(f) < WANTED) f->gap = 1;
}

void figures_put_titles(FILE *out, figures *f) {
    make_room(f);
    put_style(out, f->screen, FAINT);
    for (int i = 0; i < f->count; i++)
        if (!f->out[i]) display(out, "%*s", f->gap + f->width[i], f->columns[i].title);
    display(out, "  class\n");
    put_style(out, f->screen, PLAIN);
}

void figures_put(FILE *out, const figures *f, hd_str class_name, hd_str scope) {
    for (int i = 0; i < f->count; i++)
        if (!f->out[i]) display(out, "%*s", f->gap + f->width[i], f->text[i]);
    display(out, "  ");
    put_scoped_within(out, f->screen, class_name, scope, f->screen->columns - columns_before(f));
    display(out, "\n");
}
