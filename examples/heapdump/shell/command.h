/* The commands and their options. */
#ifndef HEAPDUMP_COMMAND_H
#define HEAPDUMP_COMMAND_H

#include "text.h"

struct arguments;

/* A command is a row of the table in main.c. */
typedef struct command {
    const char *name;
    int (*run)(const struct arguments *a); /* returns the exit status */
    void (*defaults)(struct arguments *a); /* sets options that were not given; may be NULL */
    const char *group;           /* this command begins a group of the list; NULL: same group as the one before */
    const char *brief;           /* at most 25 characters, for the short list; NULL: the list shows `summary` */
    const char *summary;         /* a verb phrase of at most 60 characters */
    const char *usage;
    const char *needs;           /* the argument that it needs, for a message; NULL: a file */
    const char *help;            /* a paragraph per line */
    /* Names of its options, in the order of its help. Text in brackets is printed as it is: the default of the
       options before it. */
    const char *options;
    const char *examples;        /* lines of at most 78 columns; may be NULL */
    bool runs_program;           /* the arguments are a program and its own options */
} command;

typedef struct command_table {
    const command *list;         /* the first group has the commands that most people need */
    size_t count;
    const char *examples;        /* of the man page, and of `heapdump help all` */
} command_table;

/* help.c */
void tool_help(const command_table *t, FILE *out);  /* at most 23 lines of 80 columns */
void help_all(const command_table *t, FILE *out);   /* all summaries */
void command_help(const command *c, FILE *out);
const command *command_named(const command_table *t, const char *name); /* NULL: unknown */
/* Reports an unknown command, with the nearest name. If the word is a file, names a command for that file instead.
   Returns WRONG_USAGE. */
int unknown_command(const command_table *t, const char *word);
/* heapdump --version [--license], and heapdump --completion SHELL: print, and return the exit status. */
int version(int count, char **options);
int completion(const command_table *t, const char *shell);

/* The licence at the end of heapdump.h, from the Makefile. NULL if the tool was compiled in another way. */
extern const char license_text[] __attribute__((weak));

/* options.c: finds the name that is nearest to a mistyped word. */
typedef struct guess {
    const char *word;
    hd_str best;                 /* empty: no name is near */
    size_t distance;
} guess;
void guess_try(guess *g, hd_str name);

/* Reads the options of a command, which is argv[0]. The other arguments become a->input.files. */
int options_read(const command *c, int argc, char **argv, struct arguments *a);
void options_help(const command *c, FILE *out);
/* Calls `seen` for each form of each option, in the order of the help. `help` is one line for the help of the
   command, then lines for the man page only. If it is NULL, `name` is a remark in brackets. */
typedef void option_seen(void *user, hd_str name, const char *value, const char *help);
void options_each(const command *c, option_seen *seen, void *user);

/* complete.c: writes the completion script of a shell. Returns false if it is not bash, zsh or fish. */
bool completion_write(const char *shell, const command *commands, size_t count, FILE *out);

/* manual.c: writes the generated part of the man page. */
void man_write(const command_table *t, FILE *out);

#endif
