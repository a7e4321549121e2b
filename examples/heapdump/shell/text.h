/* The only way to print text for people. Names and texts from files pass hd_visible, so that they cannot control a
   terminal or begin a line. Calls of printf and the like do not compile. */
#ifndef HEAPDUMP_TEXT_H
#define HEAPDUMP_TEXT_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../../heapdump.h"

/* text.c */
void put_name(FILE *out, hd_str name);
void put_lines(FILE *out, hd_str text);
/* Prints lines as they are from a column on, and `left` before the first. */
void put_beside(FILE *out, const char *left, int column, const char *lines);
/* Prints a paragraph the same way, with line breaks between words: for the width of a terminal, from 40 to 100
   columns, or else for 80 columns. */
void put_filled(FILE *out, const char *left, int column, hd_str text);
void put_quoted(FILE *out, hd_str text);
/* The ending of a noun after a number: "1 block", "5 blocks". */
const char *plural(uint64_t n);
/* Whether a character separates directories of a path, on Windows too. */
static inline bool is_separator(char c) { return c == '/' || c == '\\'; }
/* Whether `s` begins with a text. */
static inline bool str_begins(hd_str s, const char *with) {
    return s.len >= strlen(with) && !memcmp(s.data, with, strlen(with));
}
void display_list(FILE *out, const char *format, va_list args);
void display(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

#ifndef HEAPDUMP_TEXT_C
#pragma GCC poison fprintf vfprintf printf vprintf dprintf fputs puts putchar fwrite perror
#endif

#endif
