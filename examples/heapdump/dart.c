/* Values of Dart's snapshots; strings, of V8's too; info. */

#include "commands.h"
#include "dart.h"
#include "screen.h"

/* The text of a string or name as UTF-8, no more than its first `most` code units; freed by the caller. */
static hd_str text_of(hd_dart_value data, size_t most) {
    size_t unit = data.tag == HD_DART_UTF16 ? 2 : 1, n;
    const unsigned char *p = (const unsigned char *)data.text.data;
    char *text;
    if (data.text.len / unit > most) {
        data.text.len = most * unit;
        if (data.tag == HD_DART_UTF16 && most && p[data.text.len - 1] >> 2 == 0x36)
            data.text.len -= 2;  /* half a pair */
        while (data.tag == HD_DART_NAME && data.text.len && (p[data.text.len] & 0xc0) == 0x80)
            data.text.len--;
    }
    n = hd_dart_utf8(&data, NULL, 0);
    text = needed(malloc(n + 1));
    hd_dart_utf8(&data, text, n);
    return (hd_str){ text, n };
}

bool is_string(uint32_t tag) { return tag == HD_DART_LATIN1 || tag == HD_DART_UTF16; }

/* Code units that the file has of a string. */
uint64_t units_of(const hd_dart_value *data) {
    return data->text.len / (data->tag == HD_DART_UTF16 ? 2 : 1);
}

/* Spells a number in as few digits as bring it back. */
static void number_text(double number, char text[32]) {
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, 32, "%.*g", digits, number);
        if (strtod(text, NULL) == number) return;
    }
}

enum { MAX_TEXT = 60 };          /* of a string, in a list */

static void put_text(FILE *out, const hd_dart_value *data, size_t most) {
    hd_str text = text_of(*data, most);
    put_quoted(out, text);
    if (units_of(data) > most || (is_string(data->tag) && units_of(data) < data->value)) display(out, "...");
    free((char *)text.data);
}

/* Nothing for what has no data. */
void put_value(FILE *out, const hd_dart_value *data, size_t most) {
    char number[32];
    switch (data->tag) {
    case HD_DART_NULL: display(out, "null"); break;
    case HD_DART_BOOL: display(out, data->value ? "true" : "false"); break;
    case HD_DART_INTEGER: display(out, "%lld", (long long)data->value); break;
    case HD_DART_DOUBLE: number_text(data->number, number), display(out, "%s", number); break;
    case HD_DART_LENGTH: display(out, "length %llu", (unsigned long long)data->value); break;
    case HD_DART_LATIN1: case HD_DART_UTF16: case HD_DART_NAME: put_text(out, data, most); break;
    }
}

hd_str value_text(const hd_dart_value *data) {
    char *text;
    size_t size;
    FILE *f;
    if (is_string(data->tag) || data->tag == HD_DART_NAME) return text_of(*data, SIZE_MAX);
    f = needed(open_memstream(&text, &size));
    put_value(f, data, SIZE_MAX);
    closed_text(f, &text);
    return (hd_str){ text, size };
}

static void json_units(hd_json *j, const hd_dart_value *data, size_t most) {
    hd_str text = text_of(*data, most);
    if (is_string(data->tag)) {
        json_u64(j, "length", data->value);
        json_u64(j, "truncated_length", units_of(data));
    }
    json_str(j, "text", text);
    free((char *)text.data);
}

/* Members of an object. Numbers that may have a fraction, or be none, are strings. */
void json_value(hd_json *j, const hd_dart_value *data, size_t most) {
    char number[32];
    json_text(j, "tag", hd_dart_tag_name(data->tag));
    switch (data->tag) {
    case HD_DART_BOOL: json_bool(j, "value", data->value != 0); break;
    case HD_DART_INTEGER: hd_json_key(j, "value"), hd_json_i64(j, (int64_t)data->value); break;
    case HD_DART_DOUBLE: number_text(data->number, number), json_text(j, "value", number); break;
    case HD_DART_LENGTH: json_u64(j, "length", data->value); break;
    case HD_DART_LATIN1: case HD_DART_UTF16: case HD_DART_NAME: json_units(j, data, most); break;
    }
}

/* strings --------------------------------------------------------------------------------------- */

/* Whether what the command says can be told of a file. */
static bool is_dart(const objects *o, const char *what) {
    if (hd_dump_dart(o->dump)) return true;
    display(stderr, "heapdump: %s: a %s file has no %s\n", o->file, hd_dump_format(o->dump)->name,
            what);
    return false;
}

/* Strings by their texts. The data of V8's are names. */
typedef struct string_list {
    hd_string_table table;
    hd_string_table *of_dart;    /* owns the rows, */
    hd_string_row *of_v8;        /* or this does */
} string_list;

static void string_list_free(string_list *list) {
    hd_string_table_free(list->of_dart);
    free(list->of_v8);
}

/* Objects by their texts; those of one text in order. */
static int text_before(const void *a, const void *b, void *v8) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    hd_str p = hd_v8_name(v8, x), q = hd_v8_name(v8, y);
    int order = p.data == q.data ? 0 : hd_str_compare(p, q);
    return order ? order : x < y ? -1 : x > y;
}

static int string_before(const void *a, const void *b) {
    const hd_string_row *x = a, *y = b;
    if (x->wasted != y->wasted) return x->wasted < y->wasted ? 1 : -1;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return hd_str_compare(x->data.text, y->data.text);
}

enum { V8_UNITS = 1024 };        /* of a string's text that V8 writes, at most */

/* Whether V8 may have cut a text off. */
static bool may_be_cut(hd_str text) {
    size_t units = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        units += (c & 0xc0) != 0x80;
        units += c >= 0xf0;      /* two, of which V8 may have kept one */
    }
    return units >= V8_UNITS - 1;
}

/* Strings of V8; those that were put together of others, or are parts of them, have no text there, nor have those
   whose text a damaged file has lost. */
static void v8_strings(const hd_v8 *v8, const hd_graph *graph, const uint8_t *reached, string_list *list) {
    uint32_t n = 0, *all = needed(malloc(((size_t)hd_graph_object_count(graph) + 1) * sizeof *all));
    hd_string_table *t = &list->table;
    uint64_t largest = 0;
    for (uint32_t i = 0; i < hd_graph_object_count(graph); i++)
        if ((!reached || reached[i]) && hd_str_equal(hd_v8_type(v8, i), hd_cstr("string")) && !hd_v8_name_lost(v8, i))
            all[n++] = i;
    qsort_r(all, n, sizeof *all, text_before, (void *)(uintptr_t)v8);
    list->of_v8 = needed(calloc((size_t)n + 1, sizeof *list->of_v8));
    for (uint32_t i = 0; i < n; i++) {
        hd_str text = hd_v8_name(v8, all[i]);
        uint64_t size = hd_graph_object(graph, all[i]).size;
        hd_string_row *row = &list->of_v8[t->count - (t->count && hd_str_equal(list->of_v8[t->count - 1].data.text, text))];
        if (!row->objects++) {
            t->count++;
            row->data.tag = HD_DART_NAME;
            row->data.text = text;
            row->object = all[i];
            row->cut = may_be_cut(text);
            largest = 0;
        }
        if (size > largest) largest = size;
        row->bytes += size;
        row->wasted = row->bytes - largest;
        t->bytes += size;
    }
    for (uint32_t i = 0; i < t->count; i++) t->wasted += list->of_v8[i].cut ? 0 : list->of_v8[i].wasted;
    t->objects = n;
    t->rows = list->of_v8;
    qsort(list->of_v8, t->count, sizeof *list->of_v8, string_before);
    free(all);
}

static int find_strings(const arguments *a, const objects *o, string_list *list) {
    const hd_v8 *v8 = hd_dump_v8(o->dump);
    uint8_t *reached = NULL;
    hd_total total;
    hd_error err;
    hd_status status = HD_OK;
    memset(list, 0, sizeof *list);
    if ((!v8 && !is_dart(o, "strings")) || (!a->garbage && !(reached = reach(o->file, o->graph, &total))))
        return BAD_INPUT;
    if (v8) v8_strings(v8, o->graph, reached, list);
    else status = hd_dart_strings(hd_dump_dart(o->dump), reached, NULL, &list->of_dart, &err);
    if (list->of_dart) list->table = *list->of_dart;
    free(reached);
    return status ? failed(o->file, &err) : DONE;
}

/* Rows of strings that are there more than once: these come first, but for those that waste nothing. */
static uint32_t repeated(const hd_string_table *table, uint64_t *cut) {
    uint32_t n = 0;
    for (*cut = 0; n < table->count && table->rows[n].wasted; n++)
        if (table->rows[n].cut) *cut += table->rows[n].wasted;
    return n;
}

static void put_string(FILE *out, const arguments *a, const screen *s, const objects *o, const hd_string_row *row) {
    int room = s->columns - o->id_columns - 41;
    char *text;
    size_t size;
    FILE *f = needed(open_memstream(&text, &size));
    put_text(f, &row->data, a->wide ? SIZE_MAX : MAX_TEXT);
    closed_text(f, &text);
    put_bytes(out, a, row->wasted, 12);
    fputc(' ', out), put_bytes(out, a, row->bytes, 12);
    display(out, " %10llu ", (unsigned long long)row->objects);
    put_id(out, o, hd_graph_object(o->graph, row->object).id, o->id_columns);
    display(out, row->cut ? " ? " : "   ");
    put_within(out, text, !s->columns ? 0 : room > 10 ? room : 10);
    fputc('\n', out);
    free(text);
}

static int strings_text(const arguments *a, const objects *o, FILE *out) {
    screen s = screen_of(a);
    string_list list;
    const hd_string_table *table = &list.table;
    uint64_t cut;
    uint32_t rows = rows_for(a, &s, (size_t)a->file_count), most = shown_of(a, rows > 3 ? rows - 2 : 20), n, i;
    if (find_strings(a, o, &list)) return BAD_INPUT;
    n = repeated(table, &cut);
    display(out, "%llu %s, %u different, ", (unsigned long long)table->objects,
            a->garbage ? "strings with garbage" : "live strings", table->count);
    put_bytes(out, a, table->bytes, 0), display(out, a->exact ? " bytes" : "");
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
    json_bool(j, "garbage", a->garbage);
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
        if (list.of_v8) json_str(j, "text", row->data.text);
        else json_value(j, &row->data, SIZE_MAX);
        hd_json_end(j);
    }
    hd_json_end(j);
    string_list_free(&list);
    return DONE;
}

int run_strings(const arguments *a) { return each_graph(a, "files", false, strings_text, strings_json); }

/* info ------------------------------------------------------------------------------------------ */

enum { TAGS = HD_DART_NAME + 1 };

/* What info tells; freed with facts_free. */
typedef struct dart_facts {
    uint64_t tags[TAGS], identities;
    hd_total live;
    hd_library_table *libraries;
    hd_length_table *lengths;
    const hd_length_row **longest; /* rows of lengths, longest first */
} dart_facts;

static int longer(const void *a, const void *b) {
    const hd_length_row *r = *(const hd_length_row *const *)a, *s = *(const hd_length_row *const *)b;
    if (r->length != s->length) return r->length < s->length ? 1 : -1;
    return r->object < s->object ? -1 : r->object > s->object;
}

static void facts_free(dart_facts *f) {
    free(f->longest);
    hd_library_table_free(f->libraries);
    hd_length_table_free(f->lengths);
}

static int facts_find(const char *file, const hd_dart *dart, dart_facts *f) {
    const hd_graph *graph = hd_dart_graph(dart);
    uint64_t n = hd_graph_summarize(graph).objects;
    uint8_t *reached;
    hd_error err;
    hd_status status;
    memset(f, 0, sizeof *f);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t tag = hd_dart_data(dart, i).tag;
        if (tag < TAGS) f->tags[tag]++;
        f->identities += hd_dart_identity(dart, i) != 0;
    }
    reached = reach(file, graph, &f->live);
    if (!reached) return BAD_INPUT;
    status = hd_dart_libraries(dart, reached, NULL, &f->libraries, &err);
    if (!status) status = hd_dart_lengths(dart, NULL, NULL, &f->lengths, &err);
    free(reached);
    if (status) {
        facts_free(f);
        return failed(file, &err);
    }
    f->longest = needed(malloc(((size_t)f->lengths->count + 1) * sizeof *f->longest));
    for (uint32_t i = 0; i < f->lengths->count; i++) f->longest[i] = &f->lengths->rows[i];
    qsort(f->longest, f->lengths->count, sizeof *f->longest, longer);
    return DONE;
}

static void put_length(const arguments *a, FILE *out, const hd_graph *graph, const hd_length_row *row) {
    display(out, "%12llu %10llu ", (unsigned long long)row->length, (unsigned long long)row->objects);
    put_bytes(out, a, row->bytes, 12);
    display(out, " %10llu  ", (unsigned long long)hd_graph_object(graph, row->object).id);
    put_class(out, graph, row->class_index);
    fputc('\n', out);
}

static void put_lengths(const arguments *a, FILE *out, const hd_graph *graph, const dart_facts *f) {
    uint32_t n = f->lengths->count, most = shown_of(a, 5), i;
    if (!n) return;
    display(out, "lists, maps and sets, those of most bytes by class and length\n%12s %10s %12s %10s  %s\n",
            "length", "objects", "bytes", "first id", "class");
    for (i = 0; i < n && i < most; i++) put_length(a, out, graph, &f->lengths->rows[i]);
    put_more(out, n, i);
    if (i == n) return;
    display(out, "the longest\n");
    for (i = 0; i < n && i < most; i++) put_length(a, out, graph, f->longest[i]);
}

static void put_libraries(const arguments *a, FILE *out, const hd_library_table *table) {
    uint32_t most = shown_of(a, 5), i;
    display(out, "libraries\n%12s %10s %12s %10s %8s  %s\n", "live bytes", "live", "bytes", "objects",
            "classes", "library");
    for (i = 0; i < table->count && i < most; i++) {
        const hd_library_row *row = &table->rows[i];
        put_bytes(out, a, row->live_bytes, 12), display(out, " %10llu ", (unsigned long long)row->live_objects);
        put_bytes(out, a, row->bytes, 12);
        display(out, " %10llu %8llu  ", (unsigned long long)row->objects, (unsigned long long)row->classes);
        if (!row->name.len && !row->uri.len) display(out, "(the VM's own)");
        put_name(out, row->name);
        if (row->uri.len) display(out, row->name.len ? "  (" : "("), put_name(out, row->uri), fputc(')', out);
        fputc('\n', out);
    }
    put_more(out, table->count, i);
}

int dart_info_text(const arguments *a, const char *file, FILE *out, const hd_dart *dart) {
    hd_dart_header_info h = hd_dart_header(dart);
    dart_facts f;
    if (facts_find(file, dart, &f)) return BAD_INPUT;
    display(out, "%12llu object%s that the root holds, ", (unsigned long long)f.live.objects, plural(f.live.objects));
    put_bytes_named(out, a, f.live.bytes), fputc('\n', out);
    display(out, "%12zu external propert%s\n", hd_dart_external_count(dart),
            hd_dart_external_count(dart) == 1 ? "y" : "ies");
    if (h.has_identity)
        display(out, "%12llu identity hash code%s not 0\n", (unsigned long long)f.identities,
                f.identities == 1 ? " that is" : "s that are");
    else display(out, "             no identity hash codes\n");
    display(out, "isolate "), put_name(out, h.name);
    display(out, ", flags %llu; as the VM counts: ", (unsigned long long)h.flags);
    put_bytes_named(out, a, h.shallow_size), display(out, " of objects, ");
    put_bytes(out, a, h.external_size, 0), display(out, " external, ");
    put_bytes(out, a, h.capacity, 0), display(out, " capacity\n");
    display(out, "objects by their data\n");
    for (uint32_t tag = 0; tag < TAGS; tag++)
        display(out, "%12llu %s\n", (unsigned long long)f.tags[tag], hd_dart_tag_name(tag));
    put_libraries(a, out, f.libraries);
    put_lengths(a, out, hd_dart_graph(dart), &f);
    facts_free(&f);
    return DONE;
}

static void json_libraries(hd_json *j, const hd_library_table *table) {
    json_array(j, "libraries");
    for (uint32_t i = 0; i < table->count; i++) {
        const hd_library_row *row = &table->rows[i];
        json_line(j);
        json_str(j, "name", row->name);
        json_str(j, "uri", row->uri);
        json_u64(j, "live_bytes", row->live_bytes);
        json_u64(j, "live_objects", row->live_objects);
        json_u64(j, "bytes", row->bytes);
        json_u64(j, "objects", row->objects);
        json_u64(j, "classes", row->classes);
        hd_json_end(j);
    }
    hd_json_end(j);
}

static void json_lengths(hd_json *j, const hd_graph *graph, const hd_length_table *table) {
    json_array(j, "lengths");
    for (uint32_t i = 0; i < table->count; i++) {
        const hd_length_row *row = &table->rows[i];
        json_line(j);
        json_class(j, graph, row->class_index);
        json_u64(j, "length", row->length);
        json_u64(j, "objects", row->objects);
        json_u64(j, "bytes", row->bytes);
        hd_json_key(j, "first_id"), hd_json_decimal(j, hd_graph_object(graph, row->object).id);
        hd_json_end(j);
    }
    hd_json_end(j);
}

int dart_info_json(const char *file, hd_json *j, const hd_dart *dart) {
    hd_dart_header_info h = hd_dart_header(dart);
    dart_facts f;
    if (facts_find(file, dart, &f)) return BAD_INPUT;
    json_object(j, "dart");
    json_str(j, "isolate", h.name);
    json_u64(j, "flags", h.flags);
    json_u64(j, "shallow_size", h.shallow_size);
    json_u64(j, "external_size", h.external_size);
    json_u64(j, "capacity", h.capacity);
    json_u64(j, "live_objects", f.live.objects);
    json_u64(j, "live_bytes", f.live.bytes);
    json_u64(j, "external_properties", hd_dart_external_count(dart));
    json_known(j, "identities", h.has_identity ? f.identities : HD_UNKNOWN);
    json_object(j, "tags");
    for (uint32_t tag = 0; tag < TAGS; tag++)
        json_u64(j, hd_dart_tag_name(tag), f.tags[tag]);
    hd_json_end(j);
    json_libraries(j, f.libraries);
    json_lengths(j, hd_dart_graph(dart), f.lengths);
    hd_json_end(j);
    facts_free(&f);
    return DONE;
}

