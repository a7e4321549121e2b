/* Lines of a few figures with a class behind them, in columns as wide as the figures are. */
#ifndef HEAPDUMP_FIGURES_H
#define HEAPDUMP_FIGURES_H

#include "amounts.h"
#include "terminal.h"

/* When a narrow terminal has a column: IF_ANY one line has something there. */
typedef enum figure_need { ALWAYS, IF_ANY, IF_WIDE } figure_need;

typedef struct figure_column {
    const char *title;
    figure_need need;
} figure_column;

enum { MOST_FIGURES = 6 };
typedef struct figures {
    const screen *screen;
    const figure_column *columns;
    int count;
    int width[MOST_FIGURES];
    bool any[MOST_FIGURES], out[MOST_FIGURES];
    char text[MOST_FIGURES][FIGURE]; /* of one line */
} figures;

figures figures_of(const screen *s, const figure_column *columns, int count);
/* Set a figure of the line. */
void figure_bytes(figures *f, const arguments *a, int column, uint64_t bytes);
void figure_change(figures *f, const arguments *a, int column, uint64_t before, uint64_t after);
void figure_count(figures *f, int column, uint64_t before, uint64_t after);
void figure_number(figures *f, int column, uint64_t n);
/* "-" for HD_NONE. */
void figure_id(figures *f, int column, const hd_graph *graph, uint32_t object);
/* Takes note of a line. After all lines: the titles, then each line, its figures set again. */
void figures_measure(figures *f);
void figures_put_titles(FILE *out, figures *f);
void figures_put(FILE *out, const figures *f, hd_str class_name, hd_str scope);

#endif
