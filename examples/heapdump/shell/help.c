/* Help of the tool and of its commands. */

#include "shell.h"

void tool_help(const command_table *t, FILE *out) {
    put_lines(out, hd_cstr("heapdump - looks into heap dumps, and records programs to have one\n\n"
                           "usage: heapdump COMMAND [OPTIONS] FILE...       (- is standard input)\n\n"));
    for (const command *c = t->list; c < t->list + t->count; c++) {
        char name[16];
        snprintf(name, sizeof name, "  %s", c->name);
        if (c->heading) display(out, "\n%s:\n\n", c->heading);
        put_beside(out, name, 12, c->summary);
    }
    put_lines(out, hd_cstr("\n`heapdump help COMMAND` lists the options of a command, `heapdump --version` tells "
                           "the version,\nwith --license the licence. `heapdump --completion bash`, zsh or fish, "
                           "writes what that shell completes\ncommands with.\n\nexamples:\n"));
    put_beside(out, "", 2, t->examples);
    put_lines(out, hd_cstr("\nexit status: 0 done, 1 the input is bad, 2 wrong usage; `record` ends as the program "
                           "ended\n"));
}

void command_help(const command *c, FILE *out) {
    display(out, "usage: heapdump %s %s\n\n", c->name, c->usage);
    put_beside(out, "", 0, c->help);
    display(out, "\n");
    options_help(c, out);
    if (c->examples) display(out, "\nexamples:\n"), put_beside(out, "", 2, c->examples);
}

const command *command_named(const command_table *t, const char *name) {
    for (size_t i = 0; i < t->count; i++)
        if (!strcmp(t->list[i].name, name)) return &t->list[i];
    return NULL;
}

int unknown_command(const command_table *t, const char *word) {
    guess g = { .word = word };
    for (const command *c = t->list; c < t->list + t->count; c++) guess_try(&g, hd_cstr(c->name));
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
