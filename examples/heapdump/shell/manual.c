/* heapdump --man: what the man page says of commands, options and formats, from their tables. heapdump.1 beside this
   has the rest. */

#include "shell.h"

/* A line as roff takes it. */
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
    put_roff_lines(out, help);
}

static void put_command(const command *c, FILE *out) {
    display(out, ".SS \"heapdump %s ", c->name);
    put_roff(out, hd_cstr(c->usage));
    display(out, "\"\n");
    put_roff_lines(out, c->help);
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
    display(out, ".SH FORMATS\nWhat is read is told by its first bytes, or by \\fB\\-\\-format\\fR:\n");
    for (size_t i = 0; (format = format_at(i)); i++) {
        if (!format->read) continue;
        display(out, ".TP\n\\fB"), put_roff(out, hd_cstr(format->name)), display(out, "\\fR\n");
        put_roff_lines(out, format->title ? format->title : format->name);
    }
    display(out, ".PP\nWhat \\fB\\-\\-to\\fR writes:\n");
    put_roff_lines(out, formats_written());
    display(out, ".SH EXAMPLES\n");
    put_examples(out, t->examples);
}
