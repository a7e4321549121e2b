/* What listings are printed on: a terminal of some size, or anything else. */
#ifndef HEAPDUMP_TERMINAL_H
#define HEAPDUMP_TERMINAL_H

#include "../shell/shell.h"

typedef struct screen {
    bool terminal;               /* then the following: */
    int columns, rows;           /* columns 0: lines may be of any length */
    bool colour;
} screen;

typedef enum style { PLAIN, STRONG, FAINT, MORE_THAN, LESS_THAN } style;

/* Where an answer goes. */
screen screen_of(const arguments *a);
/* How many lines each of so many listings may have, 0: any number. */
uint32_t rows_for(const arguments *a, const screen *s, size_t listings);
/* A text that is shown as it is, cut off behind so many columns; 0: whole. */
void put_within(FILE *out, const char *text, int columns);
/* The same, but what has no room goes on in lines below; ends the line. A figure stays whole. */
void put_wrapped(FILE *out, const char *line, int columns);
/* The visible text, with "…" in place of its middle if it is wider than `columns`; 0: whole. Freed by the caller. */
char *cut_within(hd_str text, int columns);
/* Begins a style, until the next; nothing where there are no colours. */
void put_style(FILE *out, const screen *s, style look);
/* A bar of so many columns, filled as the part is of the whole; nothing but on a terminal. */
void put_bar(FILE *out, const screen *s, uint64_t part, uint64_t whole, int columns);

/* A program that shows pages, as git starts one: $HEAPDUMP_PAGER, $PAGER, less. NULL where there is none, or no
   terminal. Ended with pclose. */
FILE *pager_open(const screen *s);

/* A command to go on with, and what for, on a terminal: its name, other words, and NULL. Files are those of `a`,
   whose options it needs, too; nothing where one is standard input. */
void put_next(FILE *out, const screen *s, const arguments *a, const char *purpose, ...) __attribute__((sentinel));

#endif
