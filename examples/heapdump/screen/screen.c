/* Terminals. */

#define HEAPDUMP_TEXT_C          /* this file sends control sequences */
#include "screen.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

screen screen_of(const arguments *a) {
    screen s = { 0 };
    struct winsize size;
    const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
    if (a->view.json || (a->out.file && strcmp(a->out.file, "-")) || !isatty(STDOUT_FILENO)) return s;
    s.terminal = true;
    s.columns = 80, s.rows = 24;
    if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size)) {
        if (size.ws_col) s.columns = size.ws_col;
        if (size.ws_row) s.rows = size.ws_row;
    }
    if (s.columns < 40) s.columns = 40;
    if (a->view.wide) s.columns = 0;
    s.colour = !(no_colour && *no_colour) && terminal && strcmp(terminal, "dumb");
    return s;
}

uint32_t rows_for(const arguments *a, const screen *s, size_t listings) {
    enum { AROUND = 6, LEAST = 5 }; /* around: omitted parts, the next command, the prompt */
    size_t rows = s->rows > AROUND ? (size_t)(s->rows - AROUND) / (listings ? listings : 1) : LEAST;
    return !s->terminal || a->cut.all ? 0 : rows < LEAST ? LEAST : (uint32_t)rows;
}

/* The offset after `count` characters of UTF-8. */
static size_t behind_characters(const char *text, int count) {
    size_t size = 0;
    for (; count > 0 && text[size]; count--)
        do size++;
        while ((text[size] & 0xc0) == 0x80);
    return size;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* A number is printed whole or omitted, unless it is most of the text. */
void put_within(FILE *out, const char *text, int columns) {
    size_t end, before;
    if (!columns || columns_of(hd_cstr(text)) <= columns) {
        display(out, "%s", text);
        return;
    }
    before = end = behind_characters(text, columns - 1);
    if (is_digit(text[end]))
        while (before && (is_digit(text[before - 1]) || text[before - 1] == '.')) before--;
    display(out, "%.*s\xe2\x80\xa6", (int)(before >= end / 2 ? before : end), text);
}

char *cut_within(hd_str text, int columns) {
    char *whole = short_name(text, 0), *cut;
    int all = columns_of(hd_cstr(whole)), head = (columns - 1) / 2;
    if (!columns || all <= columns) return whole;
    if (asprintf(&cut, "%.*s\xe2\x80\xa6%s", (int)behind_characters(whole, head), whole,
                 whole + behind_characters(whole, all - (columns - 1 - head))) < 0)
        cut = needed(NULL);
    free(whole);
    return cut;
}

/* Whether the space at a position is inside a figure: "7.5 MiB". */
static bool is_in_figure(const char *line, size_t space) {
    const char *unit = line + space + 1;
    if (!space || !is_digit(line[space - 1])) return false;
    return *unit == 'B' || (*unit && strchr("KMGTPE", *unit) && !strncmp(unit + 1, "iB", 2));
}

/* The position of a line break: after a punctuation mark in the second half, else at the last space; 0: none. */
static size_t break_within(const char *line, int columns) {
    size_t end = behind_characters(line, columns), space = 0, mark = 0;
    for (size_t i = 1; i <= end; i++) {
        if (line[i] != ' ' || line[i - 1] == ' ' || is_in_figure(line, i)) continue;
        space = i;
        if (strchr(",;:)", line[i - 1]) || line[i + 1] == ' ') mark = i;
    }
    return mark > end / 2 ? mark : space;
}

void put_wrapped(FILE *out, const char *line, int columns) {
    enum { INDENT = 8 };
    int room = columns;
    for (; columns && columns_of(hd_cstr(line)) > room; room = columns - INDENT) {
        size_t n = break_within(line, room);
        if (n) {
            display(out, "%.*s", (int)n, line);
        } else { /* a word that is too long is cut in its middle */
            FREED char *word = NULL;
            n = strspn(line, " "), n += strcspn(line + n, " ");
            word = cut_within((hd_str){ line, n }, room);
            display(out, "%s", word);
        }
        line += n, line += strspn(line, " ");
        if (!*line) break;
        display(out, "\n%*s", INDENT, "");
    }
    display(out, "%s\n", line);
}

void put_style(FILE *out, const screen *s, style look) {
    static const char *const codes[] = { "", "1", "2", "31", "32" };
    if (s->colour) fprintf(out, "\033[%sm", codes[look]);
}

void put_bar(FILE *out, const screen *s, uint64_t part, uint64_t whole, int columns) {
    double filled = whole ? (double)part / (double)whole * columns : 0;
    if (!s->terminal) return;
    for (int i = 0; i < columns; i++, filled--) {
        static const char *const eighths[] = { " ", "\xe2\x96\x8f", "\xe2\x96\x8e", "\xe2\x96\x8d", "\xe2\x96\x8c",
                                               "\xe2\x96\x8b", "\xe2\x96\x8a", "\xe2\x96\x89", "\xe2\x96\x88" };
        fputs(eighths[filled >= 1 ? 8 : filled <= 0 ? 0 : (int)(filled * 8)], out);
    }
}

/* Whether the shell finds the program of a command. */
static bool is_there(const char *program) {
    size_t n = strcspn(program, " ");
    const char *path = getenv("PATH");
    if (!n) return false;
    if (memchr(program, '/', n)) return true;
    for (const char *p = path ? path : ""; *p; p += strcspn(p, ":"), p += *p == ':') {
        char file[4096];
        int length = snprintf(file, sizeof file, "%.*s/%.*s", (int)strcspn(p, ":"), p, (int)n, program);
        if (length > 0 && (size_t)length < sizeof file && !access(file, X_OK)) return true;
    }
    return false;
}

FILE *pager_open(const screen *s) {
    const char *program = getenv("HEAPDUMP_PAGER");
    if (!s->terminal) return NULL;
    if (!program) program = getenv("PAGER");
    if (!program) program = "less";
    if (!strcmp(program, "cat") || !is_there(program)) return NULL;
    setenv("LESS", "FRX", 0); /* less exits at once if one page is enough, and keeps colours and the screen */
    setenv("LV", "-c", 0);
    return popen(program, "w");
}

/* Prints a word, quoted for the shell. */
static void put_word(FILE *out, const char *word) {
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+./:=@%,";
    if (*word && !word[strspn(word, plain)]) {
        display(out, "%s", word);
        return;
    }
    putc('\'', out);
    for (size_t n; n = strcspn(word, "'"), display(out, "%.*s", (int)n, word), word[n]; word += n + 1)
        fputs("'\\''", out);
    putc('\'', out);
}

static void put_option(FILE *out, const char *name, const char *value) {
    if (value) fprintf(out, " --%s ", name), put_word(out, value);
}

/* Prints the options that the next command needs to read the file, and to select the same heaps and frames. */
static void put_options_again(FILE *out, const arguments *a, const char *name) {
    bool to_diff = !strcmp(name, "diff");
    put_option(out, "format", a->input.format);
    if (a->input.decimal) fputs(" --decimal", out);
    if (!to_diff && strcmp(name, "tree") && strcmp(name, "top")) return;
    if (a->view.frames_all) put_option(out, "frames", "all");
    if (a->heaps.has_pid) fprintf(out, " --pid %llu", (unsigned long long)a->heaps.pid);
    if (!to_diff) put_option(out, "dump", a->heaps.dump);
    put_option(out, "allocator", a->heaps.allocator);
    put_option(out, "kind", a->heaps.kind);
    for (int i = 0; i < a->naming.binary_count; i++) put_option(out, "binary", a->naming.binaries[i]);
}

/* Prints a word. A file name that begins with "-" gets "./" in front. */
static void put_next_word(FILE *out, const arguments *a, const char *word) {
    putc(' ', out);
    for (int i = 0; i < a->input.file_count; i++)
        if (word == a->input.files[i] && *word == '-') fputs("./", out);
    put_word(out, word);
}

void put_next(FILE *out, const screen *s, const arguments *a, const char *purpose, ...) {
    va_list words;
    FREED char *text = NULL;
    const char *name;
    size_t size;
    FILE *f;
    if (!s->terminal) return;
    for (int i = 0; i < a->input.file_count; i++)
        if (!strcmp(a->input.files[i], "-")) return; /* standard input cannot be read again */
    f = needed(open_memstream(&text, &size));
    va_start(words, purpose);
    name = va_arg(words, const char *);
    fprintf(f, "next: heapdump %s", name);
    put_options_again(f, a, name);
    for (const char *word; (word = va_arg(words, const char *)) != NULL;) put_next_word(f, a, word);
    va_end(words);
    closed_text(f, &text);
    put_style(out, s, FAINT);
    fputs(text, out);
    if (!s->columns || size + 4 + strlen(purpose) < (size_t)s->columns) fprintf(out, "  # %s", purpose);
    put_style(out, s, PLAIN);
    putc('\n', out);
}
