/* The table of options, and how their values are taken. */
#ifndef HEAPDUMP_OPTIONS_H
#define HEAPDUMP_OPTIONS_H

#include "shell.h"

#include <stddef.h>

typedef struct option_row option_row;
/* False: this value will not do. */
typedef bool option_take(const option_row *o, arguments *a, const char *text);

struct option_row {
    const char *of;              /* commands that have these words for it; "": the others */
    const char *name, *value;    /* value: as the help calls it; NULL: it takes none */
    option_take *take;
    size_t at;                   /* where in the arguments */
    const char *help;            /* NULL: formats_written */
};

#define AT(member) offsetof(arguments, member)

/* option_values.c */
option_take take_flag, take_text, take_base, take_bytes, take_some_bytes, take_count, take_depth, take_share;
option_take take_percent, take_site, take_limit, take_seconds, take_where, take_csv, take_pattern, take_pid;
option_take take_frames, take_order, take_kind, take_match, take_children, take_metric, take_prune, take_binary;
option_take take_label, take_format, take_record_format;

/* option_table.c: rows of one name stand together: forms of the option, or the words that commands have for it.
   Values are taken as the first of them says that is of the command. */
extern const option_row option_rows[];
extern const size_t option_row_count;

#endif
