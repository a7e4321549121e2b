/* heapdump strings: texts that several strings have, in Dart, V8 and HPROF dumps. */

#include "objects.h"

enum { MAX_TEXT = 60 };          /* of a string, in a list */

/* Strings by text. In V8 snapshots the text is the node's name, in HPROF it is the value of a String. */
typedef struct string_list {
    hd_string_table table;
    hd_string_table *of_dart;    /* owns the rows of a Dart snapshot, */
    hd_string_row *rows;         /* or this owns them */
} string_list;

static void string_list_free(string_list *list) {
    hd_string_table_free(list->of_dart);
    free(list->rows);
}

/* A string with its text, in the encoding of `tag`. */
typedef struct text_at {
    hd_dart_value data;
    uint32_t object, part;       /* part: the object with the text in HPROF, which strings may share; or HD_NONE */
} text_at;

static int order_of(uint64_t x, uint64_t y) { return x < y ? -1 : x > y; }

/* Orders strings by text and length; those with one text by the object of the text and by number. */
static int text_before(const void *a, const void *b) {
    const text_at *x = a, *y = b;
    int order = order_of(x->data.tag, y->data.tag);
    if (!order && x->data.text.data != y->data.text.data) order = hd_str_compare(x->data.text, y->data.text);
    if (!order) order = order_of(x->data.value, y->data.value);
    if (!order) order = order_of(x->part, y->part);
    return order ? order : order_of(x->object, y->object);
}

static int string_before(const void *a, const void *b) {
    const hd_string_row *x = a, *y = b;
    if (x->wasted != y->wasted) return x->wasted < y->wasted ? 1 : -1;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return hd_str_compare(x->data.text, y->data.text);
}

enum { V8_UNITS = 1024 };        /* code units of a string's text that V8 writes at most */

/* Whether V8 may have truncated a text. */
static bool may_be_cut(hd_str text) {
    size_t units = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        units += (c & 0xc0) != 0x80;
        units += c >= 0xf0;      /* a surrogate pair; V8 may have kept one half */
    }
    return units >= V8_UNITS - 1;
}

/* Concatenated strings and slices have no text in a V8 snapshot; strings with a text that a damaged file has
   lost are skipped, too. */
static bool text_of_string(const objects *o, uint32_t object, hd_dart_value *data) {
    const hd_v8 *v8 = hd_dump_v8(o->dump);
    if (!v8) return is_string((*data = data_of(o, object)).tag);
    *data = (hd_dart_value){ .tag = HD_DART_NAME, .text = hd_v8_name(v8, object) };
    return hd_str_equal(hd_v8_type(v8, object), hd_cstr("string")) && !hd_v8_name_lost(v8, object);
}

/* The object with the text of a string in HPROF, or HD_NONE. */
static uint32_t part_of(const objects *o, uint32_t object) {
    hd_object x = hd_graph_object(o->graph, object);
    for (uint32_t r = 0; r < x.reference_count && !hd_dump_v8(o->dump); r++)
        if (hd_str_equal(hd_graph_field(o->graph, object, r), hd_cstr("value"))) return x.references[r];
    return HD_NONE;
}

/* Adds a string to the rows. `before`: the string before it in the order of texts, or NULL. */
static void take_string(const objects *o, string_list *list, const text_at *s, const text_at *before,
                        uint64_t *largest) {
    hd_string_table *t = &list->table;
    bool same = before && before->data.tag == s->data.tag && before->data.value == s->data.value &&
                hd_str_equal(before->data.text, s->data.text);
    hd_string_row *row = &list->rows[t->count - same];
    uint64_t own = hd_graph_object(o->graph, s->object).size;
    uint64_t text = s->part == HD_NONE ? 0 : hd_graph_object(o->graph, s->part).size;
    uint64_t added = own + (same && before->part == s->part ? 0 : text);
    if (!same) {
        t->count++;
        row->data = s->data;
        row->object = s->object;
        row->cut = hd_dump_v8(o->dump) ? may_be_cut(row->data.text) : units_of(&row->data) < row->data.value;
        *largest = 0;
    }
    if (s->object < row->object) row->object = s->object;
    if (own + text > *largest) *largest = own + text;
    row->objects++;
    row->bytes += added, t->bytes += added;
    row->wasted = row->bytes - *largest;
}

/* Strings of V8 and HPROF. */
static void strings_by_text(const objects *o, const uint8_t *reached, string_list *list) {
    uint32_t n = 0, room = 0;
    FREED text_at *all = NULL;
    hd_string_table *t = &list->table;
    uint64_t largest = 0;
    for (uint32_t i = 0; i < hd_graph_object_count(o->graph); i++) {
        text_at s = { .object = i };
        if ((reached && !reached[i]) || !text_of_string(o, i, &s.data)) continue;
        s.part = part_of(o, i);
        if (n == room) all = needed(realloc(all, (room = room ? 2 * room : 256) * sizeof *all));
        all[n++] = s;
    }
    if (n) qsort(all, n, sizeof *all, text_before);
    list->rows = needed(calloc((size_t)n + 1, sizeof *list->rows));
    for (uint32_t i = 0; i < n; i++) take_string(o, list, &all[i], i ? &all[i - 1] : NULL, &largest);
    for (uint32_t i = 0; i < t->count; i++) t->wasted += list->rows[i].cut ? 0 : list->rows[i].wasted;
    t->objects = n;
    t->rows = list->rows;
    qsort(list->rows, t->count, sizeof *list->rows, string_before);
}

static int find_strings(const arguments *a, const objects *o, string_list *list) {
    FREED uint8_t *reached = NULL;
    hd_total total;
    hd_error err;
    hd_status status = HD_OK;
    memset(list, 0, sizeof *list);
    if (!has_data(o) && !hd_dump_v8(o->dump)) {
        display(stderr, "heapdump: %s: a %s file has no strings\n", o->file, hd_dump_format(o->dump)->name);
        return BAD_INPUT;
    }
    if (!a->objects.garbage && !(reached = reach(o->file, o->graph, &total))) return BAD_INPUT;
    if (!hd_dump_dart(o->dump)) strings_by_text(o, reached, list);
    else status = hd_dart_strings(hd_dump_dart(o->dump), reached, NULL, &list->of_dart, &err);
    if (list->of_dart) list->table = *list->of_dart;
    return status ? failed(o->file, &err) : DONE;
}

/* Number of rows that waste bytes, which come first. *cut: wasted bytes if truncated texts are equal. */
static uint32_t repeated(const hd_string_table *table, uint64_t *cut) {
    uint32_t n = 0;
    for (*cut = 0; n < table->count && table->rows[n].wasted; n++)
        if (table->rows[n].cut) *cut += table->rows[n].wasted;
    return n;
}

static void put_string(FILE *out, const arguments *a, const screen *s, const objects *o, const hd_string_row *row) {
    int room = s->columns - o->id_columns - 41;
    FREED char *text = NULL;
    size_t size;
    FILE *f = needed(open_memstream(&text, &size));
    put_value(f, &row->data, a->view.wide ? SIZE_MAX : MAX_TEXT);
    closed_text(f, &text);
    put_bytes(out, a, row->wasted, 12);
    fputc(' ', out), put_bytes(out, a, row->bytes, 12);
    display(out, " %10llu ", (unsigned long long)row->objects);
    put_id(out, o, hd_graph_object(o->graph, row->object).id, o->id_columns);
    display(out, row->cut ? " ? " : "   ");
    put_within(out, text, !s->columns ? 0 : room > 10 ? room : 10);
    fputc('\n', out);
}

static int strings_text(const arguments *a, const objects *o, FILE *out) {
    screen s = screen_of(a);
    string_list list;
    const hd_string_table *table = &list.table;
    uint64_t cut;
    uint32_t rows = rows_for(a, &s, (size_t)a->input.file_count), most = shown_of(a, rows > 3 ? rows - 2 : 20), n, i;
    if (find_strings(a, o, &list)) return BAD_INPUT;
    n = repeated(table, &cut);
    display(out, "%llu %s, %u different, ", (unsigned long long)table->objects,
            a->objects.garbage ? "strings with garbage" : "live strings", table->count);
    put_bytes(out, a, table->bytes, 0), display(out, a->view.exact ? " bytes" : "");
    display(out, "; duplicates waste "), put_bytes(out, a, table->wasted, 0);
    if (cut) display(out, "\nand "), put_bytes(out, a, cut, 0), display(out, " more if those marked ? are alike");
    fputc('\n', out);
    put_style(out, &s, FAINT);
    display(out, "%12s %12s %10s %*s   text\n", "wasted", "bytes", "objects", o->id_columns, "first id");
    put_style(out, &s, PLAIN);
    for (i = 0; i < n && i < most; i++) put_string(out, a, &s, o, &table->rows[i]);
    put_more(out, n, i);
    if (n) {
        char id[24];
        id_text(o, table->rows[0].object, id);
        put_next(out, &s, a, "who holds the first", "path", "--id", id, o->file, NULL);
    }
    string_list_free(&list);
    return DONE;
}

static int strings_json(const arguments *a, const objects *o, hd_json *j) {
    string_list list;
    const hd_string_table *table = &list.table;
    uint64_t cut;
    uint32_t n;
    if (find_strings(a, o, &list)) return BAD_INPUT;
    n = repeated(table, &cut);
    json_bool(j, "garbage", a->objects.garbage);
    json_u64(j, "objects", table->objects);
    json_u64(j, "bytes", table->bytes);
    json_u64(j, "different", table->count);
    json_u64(j, "wasted", table->wasted);
    json_u64(j, "wasted_if_alike", cut);
    json_u64(j, "repeated", n);
    json_array(j, "strings");
    for (uint32_t i = 0; i < n && i < shown_of(a, 20); i++) {
        const hd_string_row *row = &table->rows[i];
        json_line(j);
        json_id(j, o, row->object);
        json_u64(j, "wasted", row->wasted);
        json_u64(j, "bytes", row->bytes);
        json_u64(j, "objects", row->objects);
        json_bool(j, "cut", row->cut);
        if (list.rows && hd_dump_v8(o->dump)) json_str(j, "text", row->data.text);
        else json_value(j, &row->data, SIZE_MAX);
        hd_json_end(j);
    }
    hd_json_end(j);
    string_list_free(&list);
    return DONE;
}

int run_strings(const arguments *a) { return each_graph(a, "files", false, strings_text, strings_json); }
