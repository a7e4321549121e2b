/* Names of frames and chains of frames for people, shortened. */

#include "screen.h"

#include <ctype.h>

/* A growing text. */
typedef struct growing { char *data; size_t size; } growing;

static void text_put(growing *t, const char *data, size_t size) {
    t->data = needed(realloc(t->data, t->size + size + 1));
    if (size) memcpy(t->data + t->size, data, size);
    t->data[t->size += size] = 0;
}

static void text_end_at(growing *t, size_t size) { t->data[t->size = size] = 0; }

size_t without_place(const char *s, size_t n) { return hd_frame_parse((hd_str){ s, n }).function.len; }

static bool ends_with(const char *s, size_t n, const char *text) {
    size_t m = strlen(text);
    return n >= m && !memcmp(s + n - m, text, m);
}

/* Whether s[i] is '<' or '>' of an operator, not of a template. */
static bool is_operator_sign(const char *s, size_t i) {
    while (i && strchr("<>=-", s[i - 1])) i--;
    return ends_with(s, i, "operator");
}

/* Whether s[i] opens (1) or closes (-1) template arguments. A Rust name may begin with '<'. */
static int template_sign(const char *s, size_t i, size_t depth) {
    if ((s[i] != '<' && s[i] != '>') || is_operator_sign(s, i)) return 0;
    if (s[i] == '<') return 1;
    return depth && !(i && s[i - 1] == '-') ? -1 : 0; /* "->" */
}

/* The length without the parameters at the end and their suffixes ("const", "[clone .cold]"). */
static size_t without_parameters(const char *s, size_t n) {
    size_t inner = 0, depth = 0, open = 0, last = n, end = 0; /* inner: depth of templates and "{lambda(int)#1}" */
    for (size_t i = 0; i < n; i++) {
        inner += (size_t)template_sign(s, i, inner) + (s[i] == '{') - (s[i] == '}' && inner);
        if (inner) continue;
        if (s[i] == '(' && !depth++) open = i;
        if (s[i] == ')' && depth && !--depth) last = open, end = i + 1;
    }
    if (depth || last == n || !last || (end < n && s[end] == ':')) return n; /* "f(int)::{lambda(int)#1}" */
    return ends_with(s, last, "operator") || (n - last > 10 && !memcmp(s + last, "(anonymous", 10)) ? n : last;
}

/* Replaces the text between outermost '<' and '>' by `mark`, except at the beginning of a name. */
static void without_templates(growing *t, const char *s, size_t n, const char *mark) {
    size_t depth = 0;
    text_put(t, "", 0);
    for (size_t i = 0; i < n; i++) {
        int sign = i ? template_sign(s, i, depth) : 0;
        if (sign > 0 && !depth++) text_put(t, "<", 1), text_put(t, mark, strlen(mark));
        if (sign < 0) depth--;
        if (!depth) text_put(t, s + i, 1);
    }
}

/* The offset after the return type, which names of template instances include. */
static size_t return_type(const char *s, size_t n) {
    size_t depth = 0, after = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        depth += (size_t)template_sign(s, i, depth);
        if (depth) continue;
        if (s[i] == '(') break;
        if (s[i] == ' ' && !ends_with(s, i, ":") && !ends_with(s, i, "operator") && /* "type: int" */
            s[i + 1] != '(' && s[i + 1] != '[') after = i + 1;
    }
    return after;
}

char *plain_function(hd_str function) {
    growing plain = { NULL, 0 };
    without_templates(&plain, function.data, without_parameters(function.data, function.len), "");
    return plain.data;
}

size_t behind_return_type(const char *plain) { return return_type(plain, strlen(plain)); }

/* Shortening. ---------------------------------------------------------------------------------- */

#define MORE "\xe2\x80\xa6"      /* … */
#define TIMES "\xc3\x97"         /* × */

int columns_of(hd_str name) {
    int columns = 0;
    for (hd_str piece; (piece = hd_visible(&name)).len;)
        for (size_t i = 0; i < piece.len; i++) columns += (piece.data[i] & 0xc0) != 0x80;
    return columns;
}

static int columns_in(const growing *t) { return columns_of((hd_str){ t->data, t->size }); }

/* Cuts the beginning: at a "::" or "/" if one is near and more than half remains, else anywhere. */
static void cut_beginning(growing *t, int columns) {
    size_t from = t->size, best;
    growing cut = { NULL, 0 };
    for (int left = columns - 1; from && left > 0; left--)
        do from--;
        while (from && (t->data[from] & 0xc0) == 0x80);
    for (best = from; best < t->size && best < from + 24; best++)
        if (best && (is_separator(t->data[best - 1]) || (t->data[best - 1] == ':' && t->data[best] != ':'))) break;
    if (best == t->size || best == from + 24 || 2 * (t->size - best) < t->size - from)
        best = from;             /* more than half remains */
    text_put(&cut, MORE, strlen(MORE));
    text_put(&cut, t->data + best, t->size - best);
    free(t->data);
    *t = cut;
}

/* The length without Rust's hash "::h0123456789abcdef", which distinguishes versions of a function. */
static size_t without_hash(const char *s, size_t n) {
    if (n < 20 || memcmp(s + n - 19, "::h", 3)) return n;
    for (size_t i = n - 16; i < n; i++)
        if (!isxdigit((unsigned char)s[i])) return n;
    return n - 19;
}

/* Cuts the beginning of the file or object in " (file.c:12)" or " [libfoo.so]", which ends at `end`, so that it fits
   into `columns`. The line number stays. */
static void cut_place(growing *t, size_t end, int columns) {
    growing cut = { NULL, 0 };
    size_t from = 2;
    if (columns_in(t) <= columns) return;
    for (int left = columns_in(t) + 1; from < end && left > columns; left--)
        do from++;
        while ((t->data[from] & 0xc0) == 0x80);
    text_put(&cut, t->data, 2);
    text_put(&cut, MORE, strlen(MORE));
    text_put(&cut, t->data + from, t->size - from);
    free(t->data);
    *t = cut;
}

/* Shortens a name that has a place. The place is whole while the name has LEAST columns, and omitted if it has fewer
   than FEWEST. */
static void shorten_placed(growing *t, int columns) {
    enum { LEAST = 10, FEWEST = 4 };
    growing place = { NULL, 0 };
    size_t n = without_place(t->data, t->size);
    hd_frame_parts parts = hd_frame_parse((hd_str){ t->data, t->size });
    hd_str name = { t->data, n }, cut = parts.line || parts.file.len ? parts.file : parts.object;
    int least = columns_of(name) < LEAST ? columns_of(name) : LEAST;
    FREED char *shorter = NULL;
    text_put(&place, t->data + n, t->size - n);
    cut_place(&place, (size_t)(cut.data + cut.len - t->data) - n, columns - least);
    if (columns - columns_in(&place) < (least < FEWEST ? least : FEWEST)) text_end_at(&place, 0);
    shorter = short_name(name, columns - columns_in(&place));
    text_end_at(t, 0);
    text_put(t, shorter, strlen(shorter));
    text_put(t, place.data, place.size);
    free(place.data);
}

/* The length of "age: " in a value of an axis, "age: 10 ms to 100 ms"; 0: not a value. */
static size_t axis_key(hd_str name) {
    size_t n = 0;
    while (n < name.len && (isalnum((unsigned char)name.data[n]) || strchr("_-", name.data[n]))) n++;
    return n && n + 2 < name.len && name.data[n] == ':' && name.data[n + 1] == ' ' ? n + 2 : 0;
}

/* Shortens a value, and keeps the key of its axis. */
static char *short_value(hd_str name, size_t key, int columns) {
    growing t = { NULL, 0 };
    FREED char *value = short_name((hd_str){ name.data + key, name.len - key }, columns);
    text_put(&t, name.data, key);
    text_put(&t, value, strlen(value));
    return t.data;
}

enum { VALUE_FEWEST = 4 };       /* columns of a value after its key */

int value_columns(hd_str name) {
    enum { KEY_MOST = 32 };      /* a longer key is shortened together with the value */
    int key = (int)axis_key(name), columns = columns_of(name);
    if (!key || key > KEY_MOST) return 0;
    return columns < key + VALUE_FEWEST ? columns : key + VALUE_FEWEST;
}

char *short_name(hd_str name, int columns) {
    growing t = { NULL, 0 };
    int key = (int)axis_key(name);
    if (key && columns >= key + VALUE_FEWEST && columns_of(name) > columns)
        return short_value(name, (size_t)key, columns - key);
    text_put(&t, "", 0);
    for (hd_str piece, rest = name; (piece = hd_visible(&rest)).len;) text_put(&t, piece.data, piece.len);
    if (!columns) return t.data;
    text_end_at(&t, without_hash(t.data, t.size));
    if (columns_in(&t) > columns && without_place(t.data, t.size) < t.size) {
        shorten_placed(&t, columns);
        return t.data;
    }
    if (columns_in(&t) > columns) {
        size_t begin;
        text_end_at(&t, without_parameters(t.data, t.size));
        begin = return_type(t.data, t.size);
        memmove(t.data, t.data + begin, t.size - begin + 1);
        t.size -= begin;
    }
    if (columns_in(&t) > columns) {
        growing plain = { NULL, 0 };
        without_templates(&plain, t.data, t.size, MORE);
        free(t.data);
        t = plain;
    }
    if (columns_in(&t) > columns) cut_beginning(&t, columns);
    return t.data;
}

hd_str module_of_address(hd_str name) {
    size_t at = name.len;
    while (at && isxdigit((unsigned char)name.data[at - 1])) at--;
    if (at < 4 || at == name.len || memcmp(name.data + at - 3, "+0x", 3)) return (hd_str){ name.data, 0 };
    return (hd_str){ name.data, at - 3 };
}

/* A run of equal names. */
typedef struct run { frame_run of; char *name; int columns; } run;

/* The name in at most `columns` columns (0: whole), with its repetitions. `placed`: with file and line, for the frame
   that the line is about. Freed by the caller. */
static char *run_name(const run *r, int columns, bool placed) {
    char times[48] = "", *with;
    FREED char *name = NULL;
    int used = 0;
    if (r->of.times > 1)
        used = snprintf(times, sizeof times, "%s " TIMES "%llu", r->of.nameless ? " (stripped)" : "",
                        (unsigned long long)r->of.times) - 1;
    if (columns) columns = columns - used > 8 ? columns - used : 8;
    name = short_name((hd_str){ r->of.name.data, columns && !placed ? without_place(r->of.name.data, r->of.name.len)
                                                                     : r->of.name.len }, columns);
    if (asprintf(&with, "%s%s", name, times) < 0) with = needed(NULL);
    return with;
}

static size_t runs_of(const frame_run *calls, size_t count, int columns, bool from_start, run *runs) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (n && hd_str_equal(calls[i].name, runs[n - 1].of.name)) runs[n - 1].of.times += calls[i].times;
        else runs[n++] = (run){ .of = calls[i] };
    }
    for (size_t i = 0; i < n; i++) {
        runs[i].name = run_name(&runs[i], columns, i == (from_start ? 0 : n - 1));
        runs[i].columns = columns_of(hd_cstr(runs[i].name));
    }
    return n;
}

enum { BETWEEN = 3 };            /* width of CALLS */

/* The number of names from one end that fit, besides the name at the other end and "… N more". */
static size_t that_fit(const run *runs, size_t n, int columns, bool from_start) {
    int used = runs[0].columns + runs[n - 1].columns + 2 * BETWEEN + 10;
    size_t count = 1;
    if (used > columns) return 0;
    while (count + 1 < n) {
        used += runs[from_start ? count : n - 1 - count].columns + BETWEEN;
        if (used > columns) break;
        count++;
    }
    return count;
}

static void put_runs(growing *t, const run *runs, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        if (t->size) text_put(t, CALLS, strlen(CALLS));
        text_put(t, runs[i].name, strlen(runs[i].name));
    }
}

static void put_more_runs(growing *t, size_t count) {
    char more[40];
    snprintf(more, sizeof more, "%s" MORE " %zu more", t->size ? CALLS : "", count);
    text_put(t, more, strlen(more));
}

/* Columns for one name next to "… 3 more". */
static int room_of_end(size_t n, int columns) { return columns - snprintf(NULL, 0, "%zu more", n - 1) - 2 - BETWEEN; }

/* Prints the name at an end, shortened, and the number of others. */
static void put_end_run(growing *t, const run *runs, size_t n, int columns, bool from_start) {
    int left = room_of_end(n, columns);
    FREED char *name = run_name(&runs[from_start ? 0 : n - 1], left > 8 ? left : 8, true);
    if (!from_start) put_more_runs(t, n - 1), text_put(t, CALLS, strlen(CALLS));
    text_put(t, name, strlen(name));
    if (from_start) put_more_runs(t, n - 1);
}

/* Omits the place of the line's own name if then all names fit, and if it had to be omitted in any case. */
static bool fit_without_place(run *runs, size_t n, int used, int columns, bool from_start) {
    run *r = &runs[from_start ? 0 : n - 1];
    char *name = run_name(r, columns, false);
    int shorter = columns_of(hd_cstr(name));
    if (r->columns <= room_of_end(n, columns) || used - r->columns + shorter > columns) return free(name), false;
    free(r->name);
    r->name = name, r->columns = shorter;
    return true;
}

char *short_chain(const hd_str *names, size_t count, int columns, bool from_start) {
    FREED frame_run *calls = needed(calloc(count + 1, sizeof *calls));
    for (size_t i = 0; i < count; i++) calls[i] = (frame_run){ .name = names[i], .of = names[i], .times = 1 };
    return short_calls(calls, count, columns, from_start);
}

char *short_calls(const frame_run *calls, size_t count, int columns, bool from_start) {
    enum { ALL_SHOWN = 4 };
    FREED run *runs = NULL;
    size_t n, shown;
    int used = -BETWEEN;
    growing t = { NULL, 0 };
    if (count == 1 && calls->times == 1) return short_name(calls->name, columns);
    runs = needed(calloc(count, sizeof *runs));
    n = runs_of(calls, count, columns, from_start, runs);
    for (size_t i = 0; i < n; i++) used += runs[i].columns + BETWEEN;
    text_put(&t, "", 0);
    shown = columns ? that_fit(runs, n, columns, from_start) : 2;
    if (columns ? used <= columns || (n > 1 && !shown && fit_without_place(runs, n, used, columns, from_start))
                : n <= ALL_SHOWN) {
        put_runs(&t, runs, 0, n);
    } else if (n <= 2 || !shown) {
        if (n == 1) {
            free(t.data);
            t.data = run_name(&runs[0], columns, true);
        } else put_end_run(&t, runs, n, columns, from_start);
    } else {
        put_runs(&t, runs, 0, from_start ? shown : 1);
        put_more_runs(&t, n - 1 - shown);
        put_runs(&t, runs, from_start ? n - 1 : n - shown, n);
    }
    for (size_t i = 0; i < n; i++) free(runs[i].name);
    return t.data;
}

/* Frames of one list. -------------------------------------------------------------------------- */

/* A frame of a list, with the shown part of its path and object. */
typedef struct listed_frame {
    hd_frame_parts parts;
    hd_str name, file;           /* file: the shown end of parts.file */
    char *shown;
    bool object;
} listed_frame;

static int compare_listed(const void *a, const void *b) {
    const listed_frame *x = a, *y = b;
    return hd_str_compare(x->name, y->name);
}

static bool reads_same(const listed_frame *x, const listed_frame *y) {
    return hd_str_equal(x->parts.function, y->parts.function) && hd_str_equal(x->file, y->file) &&
           x->parts.line == y->parts.line && x->object == y->object &&
           (!x->object || hd_str_equal(x->parts.object, y->parts.object));
}

static int compare_shown(const void *a, const void *b) {
    const listed_frame *x = *(listed_frame *const *)a, *y = *(listed_frame *const *)b;
    int order = hd_str_compare(x->parts.function, y->parts.function);
    if (!order) order = hd_str_compare(x->file, y->file);
    if (!order) order = (x->parts.line > y->parts.line) - (x->parts.line < y->parts.line);
    if (!order) order = x->object - y->object;
    if (!order && x->object) order = hd_str_compare(x->parts.object, y->parts.object);
    return order ? order : compare_listed(x, y);
}

/* Shows one more directory. Returns false if the path is whole already. */
static bool show_directory(listed_frame *f) {
    const char *begin = f->parts.file.data, *from = f->file.data;
    size_t more;
    if (!f->parts.file.len || from == begin) return false;
    do from--;
    while (from > begin && !is_separator(from[-1]));
    more = (size_t)(f->file.data - from);
    f->file = (hd_str){ from, f->file.len + more };
    return true;
}

/* Shows more of frames that read the same: directories, or objects if the paths are equal. Returns false if nothing
   is left to show. */
static bool distinguish(listed_frame **same, size_t n) {
    bool any = false, one_path = true;
    for (size_t i = 1; i < n; i++) one_path &= hd_str_equal(same[i]->parts.file, same[0]->parts.file);
    for (size_t i = 0; i < n; i++) {
        bool more = one_path ? !same[i]->object && same[i]->parts.object.len : show_directory(same[i]);
        if (one_path) same[i]->object |= more;
        any |= more;
    }
    return any;
}

static void show_frame(listed_frame *f) {
    growing t = { NULL, 0 };
    char line[32];
    text_put(&t, f->parts.function.data, f->parts.function.len);
    if (f->parts.file.len) {
        int n = snprintf(line, sizeof line, ":%llu)", (unsigned long long)f->parts.line);
        text_put(&t, " (", 2), text_put(&t, f->file.data, f->file.len), text_put(&t, line, (size_t)n);
    }
    if (f->object) {
        text_put(&t, " [", 2);
        text_put(&t, f->parts.object.data, f->parts.object.len);
        text_put(&t, "]", 1);
    }
    /* NUL would end the text; a screen shows all control characters in the same way. */
    for (size_t i = 0; i < t.size; i++) t.data[i] = t.data[i] ? t.data[i] : '\1';
    f->shown = t.data;
}

/* The distinct frames, sorted by name. */
static size_t listed_once(const hd_str *names, size_t count, listed_frame *list) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++) list[i] = (listed_frame){ .name = names[i] };
    qsort(list, count, sizeof *list, compare_listed);
    for (size_t i = 0; i < count; i++)
        if (!n || !hd_str_equal(list[n - 1].name, list[i].name)) list[n++] = list[i];
    for (size_t i = 0; i < n; i++) {
        listed_frame *f = &list[i];
        size_t from;
        f->parts = hd_frame_parse(f->name);
        from = f->parts.file.len;
        while (from && !is_separator(f->parts.file.data[from - 1])) from--;
        f->file = (hd_str){ f->parts.file.data + from, f->parts.file.len - from };
    }
    return n;
}

void frames_shown(const hd_str *names, size_t count, char **shown) {
    enum { DIRECTORIES = 64 };
    FREED listed_frame *list = needed(calloc(count + 1, sizeof *list));
    FREED listed_frame **order = needed(calloc(count + 1, sizeof *order));
    size_t n = listed_once(names, count, list);
    bool any = n > 1;
    for (size_t i = 0; i < n; i++) order[i] = &list[i];
    for (int k = 0; k < DIRECTORIES && any; k++) {
        any = false;
        qsort(order, n, sizeof *order, compare_shown);
        for (size_t i = 0, end; i < n; i = end) {
            for (end = i + 1; end < n && reads_same(order[i], order[end]); end++) {}
            if (end - i > 1) any |= distinguish(order + i, end - i);
        }
    }
    for (size_t i = 0; i < n; i++) show_frame(&list[i]);
    for (size_t i = 0; i < count; i++) {
        listed_frame key = { .name = names[i] };
        listed_frame *f = bsearch(&key, list, n, sizeof *list, compare_listed);
        shown[i] = needed(strdup(f->shown));
    }
    for (size_t i = 0; i < n; i++) free(list[i].shown);
}
