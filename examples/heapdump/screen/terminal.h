/* The destination of listings: a terminal with its size, or anything else. */
#ifndef HEAPDUMP_TERMINAL_H
#define HEAPDUMP_TERMINAL_H

#include "../shell/shell.h"

typedef struct screen {
    bool terminal;               /* if true, the members below are set */
    int columns, rows;           /* columns 0: lines of any length */
    bool colour;
} screen;

typedef enum style { PLAIN, STRONG, FAINT, MORE_THAN, LESS_THAN } style;

/* The screen of an answer. */
screen screen_of(const arguments *a);
/* The number of lines for each of `listings` listings; 0: any number. */
uint32_t rows_for(const arguments *a, const screen *s, size_t listings);
/* Prints a text, cut off after `columns` columns; 0: whole. */
void put_within(FILE *out, const char *text, int columns);
/* Prints a line, and continues it on further lines if it is too long. A figure stays on one line. */
void put_wrapped(FILE *out, const char *line, int columns);
/* The visible text, with "…" in place of its middle if it is wider than `columns`; 0: whole. Freed by the caller. */
char *cut_within(hd_str text, int columns);
/* Begins a style, which lasts until the next one. Does nothing without colours. */
void put_style(FILE *out, const screen *s, style look);
/* Prints a bar of `columns` columns, filled by part / whole. Does nothing without a terminal. */
void put_bar(FILE *out, const screen *s, uint64_t part, uint64_t whole, int columns);

/* Starts a pager, as git does: $HEAPDUMP_PAGER, $PAGER or less. NULL without a pager or a terminal. Ended by pclose.
   */
FILE *pager_open(const screen *s);

/* Suggests the next command and its purpose, on a terminal. The arguments are its name, other words, and NULL. It
   repeats the options that `a` needs for its files. Nothing is suggested if a file is standard input. */
void put_next(FILE *out, const screen *s, const arguments *a, const char *purpose, ...) __attribute__((sentinel));

#endif
