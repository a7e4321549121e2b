/* All that the tool says to people goes through here. What came from files, or names them, is shown as
   hd_visible has it, so that it cannot give orders to a terminal or begin a line. What would go around this
   does not compile. */
#ifndef HEAPDUMP_TEXT_H
#define HEAPDUMP_TEXT_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../../heapdump.h"

/* text.c */
void put_name(FILE *out, hd_str name);
void put_lines(FILE *out, hd_str text);
void put_beside(FILE *out, const char *left, int column, const char *lines);
void put_quoted(FILE *out, hd_str text);
/* What makes a noun behind a number plural: "1 block", "5 blocks". */
const char *plural(uint64_t n);
/* Between the directories of a path, of Windows as well. */
static inline bool is_separator(char c) { return c == '/' || c == '\\'; }
/* Whether a name begins with a text. */
static inline bool str_begins(hd_str s, const char *with) {
    return s.len >= strlen(with) && !memcmp(s.data, with, strlen(with));
}
void display_list(FILE *out, const char *format, va_list args);
void display(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

#ifndef HEAPDUMP_TEXT_C
#pragma GCC poison fprintf vfprintf printf vprintf dprintf fputs puts putchar fwrite perror
#endif

#endif
