/* Writes indexed MemProf profiles as YAML, as `llvm-profdata show --memory` prints them and llvm-profdata merges
   them. Keys are padded to a width, each frame has a line, and beyond 80 columns a line continues on the next. */

#include "formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WRAP = 80, VALUE_COLUMN = 17 };

typedef struct yaml_out {
    const hd_memprof_index *index;
    hd_sink sink;
    size_t column;               /* of the current line, in bytes */
} yaml_out;

static void out_put(yaml_out *y, const char *text, size_t n) {
    y->column += n;
    hd_sink_put(&y->sink, text, n);
}

static void out_text(yaml_out *y, const char *text) { out_put(y, text, strlen(text)); }

static void out_spaces(yaml_out *y, size_t n) {
    while (n--) out_put(y, " ", 1);
}

static void out_u64(yaml_out *y, uint64_t value) {
    char digits[20], *at = digits + sizeof digits;
    do *--at = (char)('0' + value % 10);
    while (value /= 10);
    out_put(y, at, (size_t)(digits + sizeof digits - at));
}

static void out_hex(yaml_out *y, uint64_t value) {
    char digits[18], *at = digits + sizeof digits;
    do *--at = "0123456789abcdef"[value & 15];
    while (value >>= 4);
    *--at = 'x', *--at = '0';
    out_put(y, at, (size_t)(digits + sizeof digits - at));
}

/* Begins a line with a key. */
static void out_key(yaml_out *y, size_t indent, const char *dash, const char *key, bool has_value) {
    size_t n = strlen(key) + 1;
    out_text(y, "\n");
    y->column = 0;
    out_spaces(y, indent);
    out_text(y, dash);
    out_text(y, key);
    out_text(y, ":");
    if (has_value) out_spaces(y, n < VALUE_COLUMN ? VALUE_COLUMN - n : 1);
}

/* Separates items of a line of [ ] or { }, which began at column `from`. */
static void out_next(yaml_out *y, size_t from, bool is_first) {
    if (!is_first) out_text(y, ", ");
    if (y->column <= WRAP) return;
    out_text(y, "\n");
    y->column = 0;
    out_spaces(y, from + 2);
}

/* Strings. --------------------------------------------------------------------------------------- */

static size_t out_digits(hd_str s, size_t at) {
    while (at < s.len && s.data[at] >= '0' && s.data[at] <= '9') at++;
    return at;
}

static bool out_is_any(hd_str s, const char *words) {
    for (size_t n; *words; words += n + (words[n] == ' ')) {
        n = strcspn(words, " ");
        if (n == s.len && !memcmp(words, s.data, n)) return true;
    }
    return false;
}

static bool out_is_made_of(hd_str s, size_t from, const char *digits) {
    if (from == s.len) return false;
    for (; from < s.len; from++)
        if (!s.data[from] || !strchr(digits, s.data[from])) return false;
    return true;
}

/* Whether YAML takes a text for a number. Before an exponent, digits after the point may be missing: "1.e+5". */
static bool out_is_number(hd_str s) {
    size_t at = s.data[0] == '-' || s.data[0] == '+';
    hd_str tail = { s.data + at, s.len - at };
    if (out_is_any(s, ".nan .NaN .NAN") || out_is_any(tail, ".inf .Inf .INF")) return true;
    if (s.len > 1 && s.data[0] == '0' && s.data[1] == 'o') return out_is_made_of(s, 2, "01234567");
    if (s.len > 1 && s.data[0] == '0' && s.data[1] == 'x') return out_is_made_of(s, 2, "0123456789abcdefABCDEF");
    if (at == s.len || (s.data[at] | 32) == 'e') return false;
    if (s.data[at] == '.' && out_digits(s, at + 1) == at + 1) return false;
    at = out_digits(s, at);
    if (at < s.len && s.data[at] == '.') at = out_digits(s, at + 1);
    if (at == s.len) return true;
    if ((s.data[at] | 32) != 'e' || ++at == s.len) return false;
    if ((s.data[at] == '-' || s.data[at] == '+') && ++at == s.len) return false;
    return out_digits(s, at) == s.len;
}

/* The quotes that LLVM uses for a text: 0 for none, ' or ". */
static char out_quote(hd_str s) {
    char quote = 0;
    if (!s.len || strchr(" \t\n\v\f\r", s.data[0]) || strchr(" \t\n\v\f\r", s.data[s.len - 1])) quote = '\'';
    else if (out_is_any(s, "null Null NULL ~ true True TRUE false False FALSE") || out_is_number(s)) quote = '\'';
    else if (strchr("-?:\\,[]{}#&*!|>'\"%@`", s.data[0])) quote = '\'';
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.data[i];
        if (c >= 0x7f || (c < 0x20 && c != '\t')) return '"';
        if (!(c >= '0' && c <= '9') && !((c | 32) >= 'a' && (c | 32) <= 'z') && !strchr("_-^., \t", c)) quote = '\'';
    }
    return quote;
}

/* Decodes a UTF-8 character. Returns its length, or 0 if it is invalid. */
static size_t out_character(const char *at, size_t left, uint32_t *c) {
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    unsigned char first = (unsigned char)*at;
    size_t n = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (!n || n > left) return 0;
    *c = n == 1 ? first : first & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if (((unsigned char)at[i] & 0xc0) != 0x80) return 0;
        *c = *c << 6 | ((unsigned char)at[i] & 0x3f);
    }
    return *c < least[n] || *c > 0x10ffff || (*c >= 0xd800 && *c < 0xe000) ? 0 : n;
}

/* Whether LLVM treats a character as invisible; correct for characters that Unicode has assigned. */
static bool out_is_hidden(uint32_t c) {
    static const uint32_t ranges[][2] = { { 0x200b, 0x200f }, { 0x202a, 0x202e }, { 0x2060, 0x206f },
                                          { 0xe000, 0xf8ff }, { 0xfdd0, 0xfdef }, { 0xfeff, 0xfeff },
                                          { 0xfff9, 0xfffb }, { 0xfffe, 0xffff }, { 0xe0000, 0x10ffff } };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i][0] && c <= ranges[i][1]) return true;
    return false;
}

static void out_escaped(yaml_out *y, hd_str s) {
    static const char plain[] = "0      abtnvfr";  /* by character code */
    char text[12];
    for (size_t i = 0, n; i < s.len; i += n) {
        uint32_t c = 0;
        n = out_character(s.data + i, s.len - i, &c);
        if (!n) {                /* invalid bytes: like LLVM, writes U+FFFD and ends the text */
            out_text(y, "\xef\xbf\xbd");
            return;
        }
        if (c == '"' || c == '\\') snprintf(text, sizeof text, "\\%c", (int)c);
        else if (c < sizeof plain - 1 && plain[c] != ' ') snprintf(text, sizeof text, "\\%c", plain[c]);
        else if (c == 0x1b) strcpy(text, "\\e");
        else if (c == 0x85) strcpy(text, "\\N");
        else if (c == 0xa0) strcpy(text, "\\_");
        else if (c == 0x2028 || c == 0x2029) strcpy(text, c == 0x2028 ? "\\L" : "\\P");
        else if (c < 0x20 || (c >= 0x7f && c < 0xa0)) snprintf(text, sizeof text, "\\x%02X", (unsigned)c);
        else if (out_is_hidden(c)) snprintf(text, sizeof text, c > 0xffff ? "\\U%08X" : "\\u%04X", (unsigned)c);
        else {
            out_put(y, s.data + i, n);
            continue;
        }
        out_text(y, text);
    }
}

static void out_str(yaml_out *y, hd_str s) {
    char quote = out_quote(s);
    if (!quote) {
        out_put(y, s.data, s.len);
        return;
    }
    out_put(y, &quote, 1);
    if (quote == '"') out_escaped(y, s);
    else
        for (size_t i = 0; i < s.len; i++)
            out_put(y, "''", s.data[i] == '\'' ? 2 : 0), out_put(y, s.data + i, s.data[i] != '\'');
    out_put(y, &quote, 1);
}

/* Records. --------------------------------------------------------------------------------------- */

static void out_frame(yaml_out *y, const hd_memprof_location *l) {
    size_t from;
    out_text(y, "\n");
    y->column = 0;
    out_text(y, "          - ");
    from = y->column;
    out_text(y, "{ Function: ");
    out_hex(y, l->function);
    out_next(y, from, false);
    out_text(y, "LineOffset: ");
    out_u64(y, l->line_offset);
    out_next(y, from, false);
    out_text(y, "Column: ");
    out_u64(y, l->column);
    out_next(y, from, false);
    out_text(y, l->inlined ? "IsInlineFrame: true }" : "IsInlineFrame: false }");
}

static void out_stack(yaml_out *y, const char *key, uint32_t stack) {
    const hd_memprof_index *x = y->index;
    bool is_empty = x->first[stack] == x->first[stack + 1];
    out_key(y, 6, "- ", key, is_empty);
    if (is_empty) out_text(y, "[]");
    for (uint32_t i = x->first[stack]; i < x->first[stack + 1]; i++) out_frame(y, &x->locations[x->location[i]]);
}

static void out_block(yaml_out *y, uint32_t block) {
    const hd_memprof_index *x = y->index;
    size_t row = x->block_row ? x->block_row[block] : block;
    out_stack(y, "Callstack", x->block_stack[block]);
    out_key(y, 8, "", "MemInfoBlock", !x->field_count);
    if (!x->field_count) out_text(y, "{}");
    for (uint32_t f = 0; f < x->field_count; f++) {
        out_key(y, 10, "", hd_memprof_field_name(x->field[f]), true);
        out_u64(y, x->value[row * x->field_count + f]);
    }
}

static void out_site(yaml_out *y, uint32_t site) {
    const hd_memprof_index *x = y->index;
    uint32_t from = x->callee_first ? x->callee_first[site] : 0, to = x->callee_first ? x->callee_first[site + 1] : 0;
    size_t column;
    out_stack(y, "Frames", x->site[site]);
    if (from == to) return;
    out_key(y, 8, "", "CalleeGuids", true);
    column = y->column;
    out_text(y, "[ ");
    for (uint32_t i = from; i < to; i++) {
        out_next(y, column, i == from);
        out_hex(y, x->callee[i]);
    }
    out_text(y, " ]");
}

static void out_record(yaml_out *y, uint32_t function) {
    const hd_memprof_index *x = y->index;
    out_key(y, 2, "- ", "GUID", true);
    out_hex(y, x->function[function]);
    if (x->block_first[function] < x->block_first[function + 1]) out_key(y, 4, "", "AllocSites", false);
    for (uint32_t b = x->block_first[function]; b < x->block_first[function + 1]; b++) out_block(y, b);
    if (x->site_first[function] < x->site_first[function + 1]) out_key(y, 4, "", "CallSites", false);
    for (uint32_t s = x->site_first[function]; s < x->site_first[function + 1]; s++) out_site(y, s);
}

/* Accesses to data. ------------------------------------------------------------------------------ */

/* An item to sort, with its number in the file. */
typedef struct out_item {
    uint64_t key;
    hd_str name;
    uint32_t number;
} out_item;

static int out_order(const void *a, const void *b) {
    const out_item *x = (const out_item *)a, *y = (const out_item *)b;
    int order = hd_str_compare(x->name, y->name);
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    if (order) return order;
    return x->number < y->number ? -1 : x->number > y->number;
}

enum { BY_COUNT, BY_SYMBOL, BY_LITERAL };

/* Sampled records, the most accessed first; or cold symbols or literals, ascending. To be freed. NULL: no memory. */
static out_item *out_sorted(yaml_out *y, uint32_t count, int by) {
    const hd_memprof_index *x = y->index;
    out_item *items = (out_item *)calloc((size_t)count + 1, sizeof *items);
    if (!items) return y->sink.status = HD_OUT_OF_MEMORY, (out_item *)NULL;
    for (uint32_t i = 0; i < count; i++) {
        items[i].number = i;
        if (by == BY_SYMBOL) items[i].name = x->cold_symbol[i];
        else items[i].key = by == BY_COUNT ? UINT64_MAX - x->access[i].count : x->cold_literal[i];
    }
    if (count) qsort(items, count, sizeof *items, out_order);
    return items;
}

static void out_access(yaml_out *y, const hd_memprof_access *a) {
    out_key(y, 4, "- ", a->is_literal ? "Hash" : "Symbol", true);
    if (a->is_literal) out_u64(y, a->literal);
    else out_str(y, a->symbol);
    out_key(y, 6, "", "AccessCount", true);
    out_u64(y, a->count);
    if (a->place_count) out_key(y, 6, "", "Locations", false);
    for (uint32_t i = 0; i < a->place_count; i++) {
        const hd_memprof_access_place *place = &y->index->place[a->place_first + i];
        out_key(y, 8, "- ", "FileName", true);
        out_str(y, place->file);
        out_key(y, 10, "", "Line", true);
        out_u64(y, place->line);
    }
}

static void out_accesses(yaml_out *y) {
    const hd_memprof_index *x = y->index;
    out_item *order = out_sorted(y, x->access_count, BY_COUNT);
    size_t column;
    out_key(y, 0, "", "DataAccessProfiles", false);
    if (x->access_count) out_key(y, 2, "", "SampledRecords", false);
    for (uint32_t i = 0; order && i < x->access_count; i++) out_access(y, &x->access[order[i].number]);
    free(order);
    order = out_sorted(y, x->cold_symbol_count, BY_SYMBOL);
    if (x->cold_symbol_count) out_key(y, 2, "", "KnownColdSymbols", false);
    for (uint32_t i = 0; order && i < x->cold_symbol_count; i++)
        out_text(y, "\n    - "), out_str(y, order[i].name);
    free(order);
    order = out_sorted(y, x->cold_literal_count, BY_LITERAL);
    if (x->cold_literal_count) {
        out_key(y, 2, "", "KnownColdStrHashes", true);
        column = y->column;
        out_text(y, "[ ");
        for (uint32_t i = 0; order && i < x->cold_literal_count; i++) {
            out_next(y, column, !i);
            out_u64(y, order[i].key);
        }
        out_text(y, " ]");
    }
    free(order);
}

/* The summary: a document with comments only. */
static void out_summary(yaml_out *y, const hd_memprof_summary *sum) {
    const hd_memprof_index *x = y->index;
    const struct { const char *what; uint64_t value; bool of_accesses; } lines[] = {
        { "Total contexts", sum->contexts, false }, { "Total cold contexts", sum->cold, false },
        { "Total hot contexts", sum->hot, false }, { "Maximum cold context total size", sum->largest_cold, false },
        { "Maximum warm context total size", sum->largest_warm, false },
        { "Maximum hot context total size", sum->largest_hot, false },
        { "Num hot symbols and string literals", x->access_count, true },
        { "Num known cold symbols", x->cold_symbol_count, true },
        { "Num known cold string literals", x->cold_literal_count, true } };
    hd_sink_cstr(&y->sink, "---\n# MemProfSummary:\n");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (lines[i].of_accesses && !x->has_accesses) continue;
        hd_sink_cstr(&y->sink, "#   "), hd_sink_cstr(&y->sink, lines[i].what), hd_sink_cstr(&y->sink, ": ");
        hd_sink_number(&y->sink, lines[i].value, 10);
        hd_sink_put(&y->sink, "\n", 1);
    }
}

/* Writes an index in LLVM's layout. */
static hd_status out_index(const hd_memprof_index *index, const hd_options *options, hd_out out, hd_error *err) {
    hd_memprof_summary sum;
    yaml_out y = { .index = index };
    hd_status status = hd_memprof_index_summary(index, options, &sum, err);
    if (status) return status;
    hd_sink_begin(&y.sink, out);
    out_summary(&y, &sum);
    out_text(&y, "---");
    if (index->function_count) out_key(&y, 0, "", "HeapProfileRecords", false);
    for (uint32_t f = 0; f < index->function_count && !y.sink.status; f++) out_record(&y, f);
    if (index->has_accesses) out_accesses(&y);
    out_text(&y, index->function_count || index->has_accesses ? "\n...\n" : "\n{}\n...\n");
    status = hd_sink_end(&y.sink, "YAML", NULL);
    if (status && err) {
        *err = (hd_error){ .status = status, .offset = HD_UNKNOWN };
        snprintf(err->message, sizeof err->message, "writing YAML failed: %s", hd_status_text(status));
    }
    return status;
}

/* An index in the RFC's layout first gets parts of LLVM's: records of inlined functions, and call sites. */
hd_status memprof_yaml_write(const void *document, const hd_options *options, hd_out out, hd_error *err) {
    static const hd_memprof_builder_desc desc = { true };
    const hd_memprof_index *index = (const hd_memprof_index *)document;
    hd_memprof_index *llvm = NULL;
    hd_memprof_builder *builder;
    hd_status status;
    if (index->layout != HD_MEMPROF_RFC) return out_index(index, options, out, err);
    builder = hd_memprof_builder_create(&desc, options, err);
    if (!builder) return HD_OUT_OF_MEMORY;
    status = hd_memprof_builder_add(builder, index, err);
    if (!status) status = hd_memprof_builder_finish(builder, &llvm, err);
    hd_memprof_builder_free(builder);
    if (!status) status = out_index(llvm, options, out, err);
    hd_memprof_index_free(llvm);
    return status;
}
