/* --csv: the JSON of --json as a table. */

#include "screen.h"

/* The JSON objects that become rows, by command. The first entry with any objects is used. */
typedef struct csv_rows {
    const char *command;
    const char *lists;           /* paths to the lists of objects; if there are several, a column has the name of the
                                    list */
    const char *about;           /* members of the enclosing objects, which come first in each row */
    const char *joined;          /* members that are lists of numbers or texts, and become one cell */
} csv_rows;

static const csv_rows all_rows[] = {
    { "tree", "heaps.rows", "file pid process dump allocator kind", "" },
    { "top", "heaps.rows", "file pid process dump allocator kind", "" },
    { "diff", "diffs.rows", "pid process dump allocator kind", "" },
    { "diff", "classes", "", "" },
    { "info", "files.heaps", "file format", "" },
    { "info", "files", "", "" },
    { "classes", "files.classes", "file", "" },
    { "classes", "files.groups", "file", "" },
    { "retained", "files.objects", "file", "" },
    { "retained", "files", "", "" },
    { "path", "files.rows", "file", "" },
    { "path", "files.paths.objects", "file path root", "" },
    { "objects", "files.objects", "file", "stack" },
    { "object", "files.references files.referrers files.dominated", "file", "" },
    { "strings", "files.strings", "file", "" },
    { "threads", "files.threads.locals", "file thread state", "" },
    { "suspects", "series.suspects", "pid process dump allocator kind dumps", "callers bytes blocks" },
    { "suspects", "graphs.suspects graphs.classes", "file snapshots", "within path" },
    { "pages", "processes.sites", "file pid process page_bytes", "stack" },
    { "check", "checks", "", "" },
    { "validate", "files.list", "file format", "" },
    { "validate", "files", "", "" }
};

typedef struct csv_column {
    char *name;
    hd_str cell;                 /* as in JSON; empty: the row has no value */
    bool about;                  /* the cell stays for all rows of a list */
} csv_column;

typedef struct csv {
    const char *at;              /* position in the JSON, which is well-formed */
    const csv_rows *from;
    csv_column *columns;
    size_t count, next;          /* next: the column that is likely used next */
    uint64_t rows;
    uint32_t inside;             /* depth of lists in a row, which are omitted */
    FILE *out;                   /* NULL: first pass, which collects the columns */
} csv;

/* Cells. --------------------------------------------------------------------------------------- */

/* Four digits after "\u". */
static uint32_t unit_at(const char *p) {
    char digits[5] = { p[2], p[3], p[4], p[5], 0 };
    return (uint32_t)strtoul(digits, NULL, 16);
}

/* The text of a JSON string. Freed by the caller. */
static char *text_of(hd_str json, size_t *size) {
    char *text = needed(malloc(json.len + 1)), *to = text;
    for (const char *p = json.data + 1, *end = json.data + json.len - 1; p < end; p++) {
        uint32_t unit;
        if (*p != '\\') {
            *to++ = *p;
        } else if (*++p != 'u') {
            *to++ = *p;
        } else {
            unit = unit_at(p - 1);
            p += 4;
            if (unit >= 0x800) *to++ = (char)(0xe0 | unit >> 12), *to++ = (char)(0x80 | (unit >> 6 & 0x3f));
            else if (unit >= 0x80) *to++ = (char)(0xc0 | unit >> 6);
            *to++ = (char)(unit < 0x80 ? unit : 0x80 | (unit & 0x3f));
        }
    }
    *to = 0;
    *size = (size_t)(to - text);
    return text;
}

/* Whether a spreadsheet might take a text for a formula. */
static bool is_formula(const char *text) {
    char *end;
    if (!*text || !strchr("=+-@\t\r", *text)) return false;
    if (strspn(text, "+-.0123456789eE") != strlen(text)) return true;
    strtod(text, &end);
    return *end || end == text;
}

/* Writes a cell as in RFC 4180. Invisible characters become '?', so that a cell stays on one line. */
static void put_text_cell(FILE *out, const char *text, size_t size) {
    bool quoted = text[strcspn(text, ",\"\r\n")] || *text == ' ' || (size && text[size - 1] == ' ');
    if (quoted) putc_unlocked('"', out);
    if (is_formula(text)) putc_unlocked('\'', out);
    for (hd_str rest = { text, size }, piece; (piece = hd_visible(&rest)).len;)
        for (size_t i = 0; i < piece.len; i++) {
            if (piece.data[i] == '"') putc_unlocked('"', out);
            putc_unlocked(piece.data[i], out);
        }
    if (quoted) putc_unlocked('"', out);
}

/* The end of a quoted text, or of the text before the next punctuation mark. */
static const char *scalar_end(const char *at) {
    if (*at == '"')
        for (at++; *at != '"'; at++) at += *at == '\\';
    else
        while (!strchr(",]} \n", at[1])) at++;
    return at + 1;
}

/* The elements of a list, separated by "; ". Freed by the caller. */
static char *joined_text(hd_str json, size_t *size) {
    char *text;
    FILE *f = needed(open_memstream(&text, size));
    const char *between = "";
    for (const char *at = json.data + 1, *end; at + 1 < json.data + json.len; at = end) {
        end = at + 1;
        if (strchr(" \n,", *at)) continue;
        end = scalar_end(at);
        display(f, "%s", between);
        between = "; ";
        if (*at == '"') {
            size_t n;
            FREED char *element = text_of((hd_str){ at, (size_t)(end - at) }, &n);
            put_name(f, (hd_str){ element, n });
        } else put_name(f, (hd_str){ at, (size_t)(end - at) });
    }
    closed_text(f, &text);
    return text;
}

static void put_cell(FILE *out, hd_str json) {
    FREED char *text = NULL;
    size_t size;
    if (!json.len || hd_str_equal(json, hd_cstr("null"))) return;
    if (*json.data == '[') {
        text = joined_text(json, &size);
        put_text_cell(out, text, size);
        return;
    }
    if (*json.data != '"') {
        put_name(out, json);
        return;
    }
    text = text_of(json, &size);
    put_text_cell(out, text, size);
}

/* Writes a row, with the line end of RFC 4180. */
static void put_row(csv *c) {
    for (size_t i = 0; i < c->count; i++) {
        if (i) putc(',', c->out);
        put_cell(c->out, c->columns[i].cell);
        if (!c->columns[i].about) c->columns[i].cell.len = 0;
    }
    display(c->out, "\r\n");
}

static void put_header(csv *c) {
    for (size_t i = 0; i < c->count; i++) {
        if (i) putc(',', c->out);
        put_text_cell(c->out, c->columns[i].name, strlen(c->columns[i].name));
        c->columns[i].cell.len = 0;
    }
    if (c->count) display(c->out, "\r\n");
}

/* Rows. ---------------------------------------------------------------------------------------- */

/* Sets a cell of a known or new column. */
static void set_cell(csv *c, hd_str name, hd_str json, bool about) {
    size_t i = c->next;
    if (c->inside) return;
    if (i >= c->count || !hd_str_equal(hd_cstr(c->columns[i].name), name))
        for (i = 0; i < c->count && !hd_str_equal(hd_cstr(c->columns[i].name), name);) i++;
    if (i == c->count) {
        ONE_MORE(c->columns, i);
        c->columns[c->count++] = (csv_column){ .name = needed(strndup(name.data, name.len)), .about = about };
    }
    c->columns[i].cell = json;
    c->next = i + 1;
}

/* Whether a list of words has this word. */
static bool has_word(const char *list, hd_str word) {
    for (; *list; list += strcspn(list, " "), list += *list == ' ')
        if (strcspn(list, " ") == word.len && !memcmp(list, word.data, word.len)) return true;
    return false;
}

static void skip_space(csv *c) {
    while (*c->at == ' ' || *c->at == '\n') c->at++;
}

/* The quoted text, or the text before the next punctuation mark. */
static hd_str next_scalar(csv *c) {
    hd_str s = { c->at, (size_t)(scalar_end(c->at) - c->at) };
    c->at += s.len;
    return s;
}

/* The last name of a path, by which csv_rows names the list. */
static hd_str path_end(const char *path) {
    const char *dot = strrchr(path, '.');
    return hd_cstr(dot ? dot + 1 : path);
}

static void walk(csv *c, const char *path, const char *column, bool is_element);

/* Reads a list of scalars as one cell. */
static void take_list(csv *c, hd_str key) {
    const char *from = c->at++;
    for (skip_space(c); *c->at != ']'; skip_space(c)) {
        c->at = scalar_end(c->at);
        skip_space(c);
        c->at += *c->at == ',';
    }
    c->at++;
    set_cell(c, key, (hd_str){ from, (size_t)(c->at - from) }, false);
}

/* Reads a list or object that is a member of the value at `path`, or of a row, where it is `column`. */
static void walk_member(csv *c, const char *path, const char *column, hd_str key) {
    const char *outer = column ? column : path;
    FREED char *inner = NULL;
    if (column && !*column && *c->at == '[' && has_word(c->from->joined, key)) {
        take_list(c, key);
        return;
    }
    if (asprintf(&inner, "%s%s%.*s", outer, *outer ? "." : "", (int)key.len, key.data) < 0) needed(NULL);
    walk(c, column ? path : inner, column ? inner : NULL, false);
}

/* Reads a member that is neither. */
static void take_scalar(csv *c, const char *column, hd_str key) {
    hd_str value = next_scalar(c);
    FREED char *name = NULL;
    if (!column) {
        if (has_word(c->from->about, key)) set_cell(c, key, value, true);
    } else if (!*column) {
        set_cell(c, key, value, false);
    } else if (!c->inside) {
        if (asprintf(&name, "%s.%.*s", column, (int)key.len, key.data) < 0) needed(NULL);
        set_cell(c, hd_cstr(name), value, false);
    }
}

/* Reads a list or object at `path`. In a row, `column` names its cells; elsewhere it is NULL. */
static void walk(csv *c, const char *path, const char *column, bool is_element) {
    bool row = is_element && !column && has_word(c->from->lists, hd_cstr(path)), object = *c->at == '{';
    if (!object) c->inside += column != NULL;
    if (row) column = "";
    if (row && strchr(c->from->lists, ' ')) set_cell(c, hd_cstr("list"), path_end(path), false);
    for (c->at++, skip_space(c); *c->at != '}' && *c->at != ']'; skip_space(c)) {
        hd_str key = { "", 0 };
        if (object) {
            key = next_scalar(c);
            key.data++, key.len -= 2;
            c->at++, skip_space(c);
        }
        if (*c->at != '{' && *c->at != '[') take_scalar(c, column, key);
        else if (object) walk_member(c, path, column, key);
        else walk(c, path, column, true);
        skip_space(c);
        c->at += *c->at == ',';
    }
    c->at++;
    if (!object) c->inside -= column != NULL;
    if (!row) return;
    c->rows++;
    c->next = 0;
    if (c->out) put_row(c);
}

static void columns_free(csv *c) {
    for (size_t i = 0; i < c->count; i++) free(c->columns[i].name);
    free(c->columns);
}

void csv_write(const char *json, FILE *out) {
    const csv_rows *end = all_rows + sizeof all_rows / sizeof *all_rows;
    csv c = { .count = 0 };
    for (const csv_rows *r = all_rows; r < end && !c.rows; r++) {
        if (strcmp(r->command, command_name)) continue;
        columns_free(&c);
        c = (csv){ .at = json, .from = r };
        walk(&c, "", NULL, false);
    }
    c.out = out;
    put_header(&c);
    c.at = json, c.next = 0;
    if (c.from) walk(&c, "", NULL, false);
    columns_free(&c);
}
