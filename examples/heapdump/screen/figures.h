/* Lines of a few figures followed by a class, in columns as wide as their figures. */
#ifndef HEAPDUMP_FIGURES_H
#define HEAPDUMP_FIGURES_H

#include "amounts.h"
#include "terminal.h"

/* Whether a narrow terminal shows a column. IF_ANY: if any line has a figure in it. */
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
    int gap;                     /* spaces before each column; 1 if the terminal is narrow */
    int width[MOST_FIGURES];
    bool any[MOST_FIGURES], out[MOST_FIGURES];
    char text[MOST_FIGURES][FIGURE]; /* figures of the current line */
} figures;

figures figures_of(const screen *s, const figure_column *columns, int count);
/* Set a figure of the current line. */
void figure_bytes(figures *f, const arguments *a, int column, uint64_t bytes);
void figure_change(figures *f, const arguments *a, int column, uint64_t before, uint64_t after);
void figure_count(figures *f, int column, uint64_t before, uint64_t after);
void figure_number(figures *f, int column, uint64_t n);
/* HD_NONE is "-". */
void figure_id(figures *f, int column, const hd_graph *graph, uint32_t object);
/* Measures the current line. After all lines were measured, print the titles, then set the figures of each line again
   and print it. */
void figures_measure(figures *f);
void figures_put_titles(FILE *out, figures *f);
void figures_put(FILE *out, const figures *f, hd_str class_name, hd_str scope);

#endif
