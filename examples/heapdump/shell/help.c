/* Help of the tool and of its commands. */

#include "shell.h"

#include <sys/stat.h>

/* The commands behind the first group, two on a line, with the name of each group in front. */
static void put_groups(const command *c, const command *end, FILE *out) {
    enum { GROUP = 10, NAME = 9, BRIEF = 26 };
    bool second = false;
    for (const command *before = NULL; c < end; before = c++) {
        second = before && !c->group && !second;
        if (second) display(out, "%*s", BRIEF - (int)strlen(before->brief), "");
        else display(out, "\n%-*s", GROUP, c->group ? c->group : "");
        display(out, "%-*s%s", NAME, c->name, c->brief);
    }
    display(out, "\n");
}

void tool_help(const command_table *t, FILE *out) {
    const command *c = t->list, *end = t->list + t->count;
    put_lines(out, hd_cstr("heapdump: find memory leaks, explain peaks, show why an object is alive\n"
                           "usage: heapdump COMMAND [OPTIONS] FILE...           (- is standard input)\n\n"));
    for (; c < end && !c->brief; c++) display(out, "  %-10s%s\n", c->name, c->summary);
    put_groups(c, end, out);
    put_lines(out, hd_cstr("\nheapdump help COMMAND: options and examples; heapdump help all: all summaries\n"));
}

void help_all(const command_table *t, FILE *out) {
    for (const command *c = t->list; c < t->list + t->count; c++) {
        if (c->group) display(out, "\n%s:\n", c->group);
        display(out, "  %-10s%s\n", c->name, c->summary);
    }
    put_lines(out, hd_cstr("\nother options:\n"
                           "  --version [--license]           print the version, and the licence\n"
                           "  --completion bash|zsh|fish      print completions for a shell\n"
                           "\nexamples:\n"));
    put_beside(out, "", 2, t->examples);
    put_lines(out, hd_cstr("\nexit status: 0 success, 1 bad input, 2 wrong usage; record: status of the program\n"));
}

void command_help(const command *c, FILE *out) {
    char name[32];
    snprintf(name, sizeof name, "heapdump %s: ", c->name);
    put_filled(out, name, (int)strlen(name), hd_cstr(c->summary));
    display(out, "usage: heapdump %s %s\n", c->name, c->usage);
    for (const char *text = c->help; *text; text += strcspn(text, "\n"), text += *text == '\n') {
        display(out, "\n");
        put_filled(out, "", 0, (hd_str){ text, strcspn(text, "\n") });
    }
    display(out, "\noptions:\n");
    options_help(c, out);
    display(out, "\nMore about these options: man heapdump\n");
    if (c->examples) display(out, "\nexamples:\n"), put_beside(out, "", 2, c->examples);
}

const command *command_named(const command_table *t, const char *name) {
    for (size_t i = 0; i < t->count; i++)
        if (!strcmp(t->list[i].name, name)) return &t->list[i];
    return NULL;
}

/* The word is a file: names the command that fits it. */
static int file_without_command(const char *file) {
    uint8_t first[HD_DETECT_FIRST];
    size_t n = input_look(file, true, first);
    const hd_format *format = format_beginning(first, n);
    display(stderr, "heapdump: expected a command, found the file %s", file);
    if (format)
        display(stderr, " (%s); try: heapdump %s %s\n", format_title(format),
                format->graph ? "suspects" : "tree", file);
    else display(stderr, ", which is %s\n", foreign_file(first, n));
    return WRONG_USAGE;
}

int unknown_command(const command_table *t, const char *word) {
    guess g = { .word = word };
    struct stat st;
    for (const command *c = t->list; c < t->list + t->count; c++) guess_try(&g, hd_cstr(c->name));
    if (!g.best.len && *word == '-' && word[1])
        return usage("expected a command, found the option '%s' (options follow the command)", word);
    if (!stat(word, &st) && S_ISREG(st.st_mode)) return file_without_command(word);
    if (!g.best.len) return usage("no command '%s'", word);
    return usage("no command '%s' (did you mean %s?)", word, g.best.data);
}

int version(int count, char **options) {
    bool license = count == 1 && !strcmp(options[0], "--license");
    if (count && !license) return usage("--version takes --license, not '%s'", options[0]);
    display(stdout, "heapdump %s\n", hd_version());
    if (license && license_text) display(stdout, "\n"), put_lines(stdout, hd_cstr(license_text));
    return fflush(stdout) ? BAD_INPUT : DONE;
}

int completion(const command_table *t, const char *shell) {
    if (!completion_write(shell, t->list, t->count, stdout))
        return usage("--completion takes bash, zsh or fish, not '%s'", shell);
    return fflush(stdout) ? BAD_INPUT : DONE;
}
