/* The table of options, and the parsers of their values. */
#ifndef HEAPDUMP_OPTIONS_H
#define HEAPDUMP_OPTIONS_H

#include "shell.h"

#include <stddef.h>

typedef struct option_row option_row;
/* Parses a value into the arguments. Returns false if the value is not acceptable. */
typedef bool option_take(const option_row *o, arguments *a, const char *text);

struct option_row {
    const char *of;              /* commands with these help texts; "": all others */
    const char *name, *value;    /* value: its name in the help; NULL: the option takes no value */
    option_take *take;
    size_t at;                   /* offset in the arguments */
    const char *help;            /* NULL: formats_written */
};

#define AT(member) offsetof(arguments, member)

/* option_values.c */
option_take take_flag, take_text, take_base, take_bytes, take_some_bytes, take_count, take_depth, take_share;
option_take take_percent, take_site, take_limit, take_seconds, take_where, take_csv, take_pattern, take_pid;
option_take take_frames, take_order, take_kind, take_match, take_children, take_metric, take_prune, take_binary;
option_take take_label, take_format, take_record_format, take_times, take_soft, take_layout;

/* option_table.c: rows with the same name are adjacent: forms of the option, or help texts for different commands.
   The first row that fits the command parses the value. */
extern const option_row option_rows[];
extern const size_t option_row_count;

#endif
