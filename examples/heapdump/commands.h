/* The commands, and the options that they take. */
#ifndef HEAPDUMP_COMMANDS_H
#define HEAPDUMP_COMMANDS_H

#include "cli.h"

/* A command is a row of the table in main.c. */
typedef struct command {
    const char *name;
    int (*run)(const arguments *a); /* returns the exit status */
    const char *heading;         /* above it in the list of commands, and above those that follow; may be NULL */
    const char *summary;         /* in that list */
    const char *usage, *help;
    /* The options it takes, by name, in the order of its help, which shows what is in brackets as it is: what
       holds when none of those before is given. */
    const char *options;
    const char *examples;        /* may be NULL */
    bool runs_program;           /* what stands behind the options is a program with its own */
} command;

/* What heapdump.h ends with; the Makefile makes it. NULL where something else compiled the tool. */
extern const char license_text[] __attribute__((weak));

/* options.c: of names, the one that a mistyped word may stand for. */
typedef struct guess {
    const char *word;
    hd_str best;                 /* empty: none is near */
    size_t distance;
} guess;
void guess_try(guess *g, hd_str name);

/* Where argv[0] is the command, what stands behind the options becomes a->files. */
int options_read(const command *c, int argc, char **argv, arguments *a);
void options_help(const command *c, FILE *out);
/* Tells all forms of the options of a command, in the order of its help. A name in brackets is a remark. */
typedef void option_seen(void *user, hd_str name, const char *value, const char *help);
void options_each(const command *c, option_seen *seen, void *user);

/* complete.c: writes what a shell completes command lines with; false: it is none of bash, zsh, fish. */
bool completion_write(const char *shell, const command *commands, size_t count, FILE *out);

/* manual.c: writes what the man page says of them. */
void man_write(const command *commands, size_t count, const char *examples, FILE *out);

/* record.c */
int run_record(const arguments *a);
int run_recover(const arguments *a);

/* snapshot.c */
int run_snapshot(const arguments *a);
int run_stop(const arguments *a);

/* watch.c */
int run_watch(const arguments *a);

/* capture.c */
int run_capture(const arguments *a);

/* show.c */
int run_tree(const arguments *a);
int run_hidden(const arguments *a); /* --frames hidden */
int run_top(const arguments *a);

/* diff.c */
int run_diff(const arguments *a);

/* pages.c */
int run_pages(const arguments *a);

/* check.c */
int run_check(const arguments *a);

/* merge.c */
int run_merge(const arguments *a);

/* info.c */
int run_info(const arguments *a);

/* convert.c */
int run_convert(const arguments *a);

/* rows.c */
int run_rows(const arguments *a);
/* The format of rows that the name of a file asks for; NULL asks for CSV. */
const char *rows_named_by(const char *path);

/* classes.c */
int run_classes(const arguments *a);
int run_retained(const arguments *a);

/* object.c */
int run_path(const arguments *a);
int run_object(const arguments *a);

/* instances.c */
int run_objects(const arguments *a);

/* suspects.c */
int run_suspects(const arguments *a);

/* validate.c */
int run_validate(const arguments *a);

/* report.c */
int run_report(const arguments *a);

/* dart.c */
int run_strings(const arguments *a);

/* memprof_records.c */
int run_memprof(const arguments *a);

/* memprof_index.c */
int run_index(const arguments *a);

#endif
