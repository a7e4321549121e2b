/* The commands, and the options that they take. */
#ifndef HEAPDUMP_COMMAND_H
#define HEAPDUMP_COMMAND_H

#include "text.h"

struct arguments;

/* A command is a row of the table in main.c. */
typedef struct command {
    const char *name;
    int (*run)(const struct arguments *a); /* returns the exit status */
    void (*defaults)(struct arguments *a); /* sets options that were not given; may be NULL */
    const char *heading;         /* above it in the list of commands, and above those that follow; may be NULL */
    const char *summary;         /* in that list */
    const char *usage, *help;
    /* The options it takes, by name, in the order of its help, which shows what is in brackets as it is: what
       holds when none of those before is given. */
    const char *options;
    const char *examples;        /* may be NULL */
    bool runs_program;           /* what stands behind the options is a program with its own */
} command;

/* All of them. */
typedef struct command_table {
    const command *list;
    size_t count;
    const char *examples;        /* of the tool */
} command_table;

/* help.c */
void tool_help(const command_table *t, FILE *out);
void command_help(const command *c, FILE *out);
const command *command_named(const command_table *t, const char *name); /* NULL: there is none */
/* Says so, and which may be meant. Returns WRONG_USAGE. */
int unknown_command(const command_table *t, const char *word);
/* --version, with what stands behind it; --completion. */
int version(int count, char **options);
int completion(const command_table *t, const char *shell);

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
int options_read(const command *c, int argc, char **argv, struct arguments *a);
void options_help(const command *c, FILE *out);
/* Tells all forms of the options of a command, in the order of its help. A name in brackets is a remark. */
typedef void option_seen(void *user, hd_str name, const char *value, const char *help);
void options_each(const command *c, option_seen *seen, void *user);

/* complete.c: writes what a shell completes command lines with; false: it is none of bash, zsh, fish. */
bool completion_write(const char *shell, const command *commands, size_t count, FILE *out);

/* manual.c: writes what the man page says of them. */
void man_write(const command_table *t, FILE *out);

#endif
