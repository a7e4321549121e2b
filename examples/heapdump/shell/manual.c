/* heapdump --man: the part of the man page about commands, options and formats, made from their tables. heapdump.1
   has the rest. */

#include "shell.h"

/* Prints a line, with the characters escaped that are special in roff. */
static void put_roff(FILE *out, hd_str line) {
    if (line.len && (*line.data == '.' || *line.data == '\'')) display(out, "\\&");
    for (size_t i = 0; i < line.len; i++) {
        static const char special[] = "-\\'`^~";
        static const char *const spelled[] = { "\\-", "\\e", "\\(aq", "\\(ga", "\\(ha", "\\(ti" };
        const char *found = strchr(special, line.data[i]);
        if (found) display(out, "%s", spelled[found - special]);
        else fputc(line.data[i], out);
    }
}

static void put_roff_lines(FILE *out, const char *text) {
    while (*text) {
        size_t n = strcspn(text, "\n");
        put_roff(out, (hd_str){ text, n });
        fputc('\n', out);
        text += n + (text[n] == '\n');
    }
}

static void put_examples(FILE *out, const char *examples) {
    display(out, ".nf\n.RS\n");
    put_roff_lines(out, examples);
    display(out, ".RE\n.fi\n");
}

static void put_option(void *user, hd_str name, const char *value, const char *help) {
    FILE *out = user;
    if (!help) {
        display(out, ".PP\n"), put_roff(out, name), display(out, "\n");
        return;
    }
    display(out, ".TP\n");
    if (hd_str_equal(name, hd_cstr("output"))) display(out, "\\fB\\-o\\fR, ");
    display(out, "\\fB\\-\\-"), put_roff(out, name), display(out, "\\fR");
    if (value) display(out, " \\fI"), put_roff(out, hd_cstr(value)), display(out, "\\fR");
    display(out, "\n");
    put_roff(out, (hd_str){ help, strcspn(help, "\n") });
    help += strcspn(help, "\n");
    display(out, *help ? ".\n" : "\n");
    if (*help) put_roff_lines(out, help + 1);
}

static void put_command(const command *c, FILE *out) {
    display(out, ".SS \"heapdump %s ", c->name);
    put_roff(out, hd_cstr(c->usage));
    display(out, "\"\n");
    for (const char *text = c->help; *text; text += strcspn(text, "\n"), text += *text == '\n') {
        if (text != c->help) display(out, ".PP\n");
        put_roff(out, (hd_str){ text, strcspn(text, "\n") });
        display(out, "\n");
    }
    options_each(c, put_option, out);
    if (c->examples) {
        display(out, ".PP\n");
        put_examples(out, c->examples);
    }
}

void man_write(const command_table *t, FILE *out) {
    const hd_format *format;
    display(out, ".SH COMMANDS\n");
    for (size_t i = 0; i < t->count; i++) put_command(&t->list[i], out);
    display(out, ".SH FORMATS\nInput formats, found by first bytes or named by \\fB\\-\\-format\\fR:\n");
    for (size_t i = 0; (format = format_at(i)); i++) {
        if (!format->read) continue;
        display(out, ".TP\n\\fB"), put_roff(out, hd_cstr(format->name)), display(out, "\\fR\n");
        put_roff_lines(out, format_title(format));
    }
    display(out, ".PP\nFormats that \\fB\\-\\-to\\fR writes:\n");
    put_roff_lines(out, formats_written());
    display(out, ".SH EXAMPLES\n");
    put_examples(out, t->examples);
}
