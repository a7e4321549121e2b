/* MemProf profiles as YAML. llvm-profdata prints them, people write them by hand, and `llvm-profdata merge` reads
   them. They list functions with their allocations and call sites, and accesses to data. libyaml reads the YAML event
   by event; this file interprets the events. One record at a time is in memory. A builder then adds it to the index.

   The reader accepts one document as LLVM 22 does, and more where the meaning is clear. A document may begin without
   "---". Call sites may be lists of frames, as in LLVM 20. The listing that `llvm-profdata show` makes of raw
   profiles ("MemprofProfile") is accepted, too; its functions are decimal and have names. Several records of one
   function are merged; LLVM drops all but the first. Aliases are refused, so that a text cannot expand.

   Reading ends at a scalar of more than SCALAR_MOST bytes, and after BEFORE_MOST bytes before the document. It also
   ends at nesting deeper than DEPTH_MOST. The format needs far less. Lenient reading drops the current record. */

#include "formats.h"
#include "memprof_yaml_in.h"

/* Records. --------------------------------------------------------------------------------------- */

/* A line with a frame, see memprof_yaml_in.h. */
static hd_status yaml_take_quick(yaml_in *y, const yaml_quick *q) {
    hd_memprof_location l = HD_ZERO;
    l.function = q->function;
    l.line_offset = q->line_offset;
    l.column = q->column;
    l.inlined = q->inlined;
    y->quick_at++;
    return yaml_push(y, &y->locations, &l, sizeof l);
}

static hd_status yaml_frame(yaml_in *y) {
    enum { FUNCTION, LINE_OFFSET, COLUMN, IS_INLINE, INLINE, SYMBOL_NAME };
    static const yaml_key keys[] = { KEY("Function"),      KEY("LineOffset"), KEY("Column"),
                                     KEY("IsInlineFrame"), KEY("Inline"),     KEY("SymbolName") };
    yaml_mapping m = { keys, y->is_listing ? 6 : 4, 0, 0 };
    hd_memprof_location l = HD_ZERO;
    uint64_t v = 0;
    unsigned key;
    const yaml_quick *quick = yaml_frame_at_hand(y);
    hd_status status = quick ? HD_OK : yaml_enter(y, "a frame");
    if (quick) return yaml_take_quick(y, quick);
    while (!status && !(status = yaml_member(y, &m, &key)) && key < m.count) {
        switch (key) {
        case FUNCTION:
            status = y->is_listing ? yaml_number(y, UINT64_MAX, &l.function) : yaml_guid(y, &l.function, &l.name);
            break;
        case LINE_OFFSET: status = yaml_u32(y, &l.line_offset); break;
        case COLUMN: status = yaml_u32(y, &l.column); break;
        case IS_INLINE: status = yaml_bool(y, &l.inlined); break;
        case INLINE: status = yaml_number(y, 1, &v), l.inlined = v != 0; break;
        default:
            if (!yaml_is_scalar(y)) status = yaml_bad(y, "a name expected, found %s", yaml_found(y));
            else if (!yaml_is(yaml_scalar(y), "<None>")) l.name = yaml_keep(y, yaml_scalar(y)), status = y->failed;
        }
    }
    if (!status && y->is_listing && !(m.seen & 1) && l.name.len) l.function = hd_memprof_guid(l.name), m.seen |= 1;
    if (!status) status = yaml_needs(y, &m, y->is_listing ? 0x17 : 0xf, "a frame");
    return status ? status : yaml_push(y, &y->locations, &l, sizeof l);
}

static hd_status yaml_stack(yaml_in *y, size_t *first, uint32_t *length) {
    hd_status status;
    *first = y->locations.count;
    status = yaml_list(y, "frames", yaml_frame);
    if (!status && y->locations.count - *first > UINT32_MAX / 2)
        return yaml_bad(y, "a call stack of more than 2^31 frames");
    *length = (uint32_t)(y->locations.count - *first);
    return status;
}

/* Bits of the fields with 64-bit numbers; other fields have 32 bits. */
#define WIDE_FIELDS                                                                                    \
    (HD_MEMPROF_FIELD(HD_MEMPROF_TOTAL_ACCESS_COUNT) | HD_MEMPROF_FIELD(HD_MEMPROF_MIN_ACCESS_COUNT) | \
     HD_MEMPROF_FIELD(HD_MEMPROF_MAX_ACCESS_COUNT) | HD_MEMPROF_FIELD(HD_MEMPROF_TOTAL_SIZE) |         \
     HD_MEMPROF_FIELD(HD_MEMPROF_TOTAL_LIFETIME) | HD_MEMPROF_FIELD(HD_MEMPROF_DATA_TYPE_ID) |         \
     HD_MEMPROF_FIELD(HD_MEMPROF_TOTAL_ACCESS_DENSITY) |                                               \
     HD_MEMPROF_FIELD(HD_MEMPROF_TOTAL_LIFETIME_ACCESS_DENSITY) | HD_MEMPROF_FIELD(HD_MEMPROF_ACCESS_HISTOGRAM))

/* Warns, at the current event, about input that is not malformed. */
static void yaml_warn(yaml_in *y, hd_status status, const char *format, ...)
    __attribute__((format(__printf__, 3, 4)));
static void yaml_warn(yaml_in *y, hd_status status, const char *format, ...) {
    const hd_options *o = &y->reporter->options;
    hd_error kept = y->found;
    va_list args;
    if (!o->warning) return;
    va_start(args, format);
    yaml_bad_at(y, yaml_offset(y, &y->event.start_mark), &y->event.start_mark, format, args);
    va_end(args);
    y->found.status = status;
    o->warning(o->warning_user, &y->found);
    y->found = kept;
}

static hd_status yaml_values(yaml_in *y, yaml_block *b) {
    static __thread yaml_key keys[HD_MEMPROF_FIELDS + 1]; /* by field */
    yaml_mapping m = { keys, HD_MEMPROF_FIELDS, HD_MEMPROF_ALLOC_COUNT, 1 };
    unsigned key;
    hd_status status = yaml_enter(y, "MemInfoBlock");
    if (!keys->name)
        for (unsigned i = HD_MEMPROF_FIELDS; i--;)
            keys[i].name = i ? hd_memprof_field_name(i) : "", keys[i].length = strlen(keys[i].name);
    memset(b->value, 0, sizeof b->value);
    while (!status && !(status = yaml_member(y, &m, &key)) && key < m.count) {
        status = yaml_number(y, UINT64_MAX, &b->value[key]);
        if (!status && !(WIDE_FIELDS >> key & 1) && b->value[key] > UINT32_MAX) {
            if (!y->cuts++)
                yaml_warn(y, HD_OVERFLOW,
                          "%s of %llu needs more than 32 bits; like LLVM, keeps the low 32, %u, here and below",
                          hd_memprof_field_name(key), (unsigned long long)b->value[key], (unsigned)b->value[key]);
            b->value[key] &= UINT32_MAX;
        }
        if (y->is_listing && key == HD_MEMPROF_ACCESS_HISTOGRAM) b->value[key] = 0; /* an address in its program */
    }
    b->fields = (m.seen & ~1u) | HD_MEMPROF_HOT_COLD;
    return status;
}

static hd_status yaml_allocation(yaml_in *y) {
    static const yaml_key keys[] = { KEY("Callstack"), KEY("MemInfoBlock") };
    yaml_mapping m = { keys, 2, 0, 0 };
    yaml_block b = HD_ZERO;
    unsigned key;
    hd_status status = yaml_enter(y, "an allocation");
    while (!status && !(status = yaml_member(y, &m, &key)) && key < m.count)
        status = key ? yaml_values(y, &b) : yaml_stack(y, &b.first, &b.length);
    if (!status) status = yaml_needs(y, &m, 3, "an allocation");
    if (status) return status;
    if (!b.length) return yaml_warn(y, HD_UNSUPPORTED, "an allocation without frames is left out"), HD_OK;
    return yaml_push(y, &y->blocks, &b, sizeof b);
}

static hd_status yaml_callee(yaml_in *y) {
    uint64_t guid = 0;
    hd_status status = yaml_guid(y, &guid, NULL);
    return status ? status : yaml_push(y, &y->callees, &guid, sizeof guid);
}

/* A listing shows each frame of a call site as a site of its own. All but the last are inlined. */
static bool yaml_goes_on(const yaml_in *y) {
    const yaml_site *s;
    if (!y->is_listing || !y->sites.count) return false;
    s = (const yaml_site *)y->sites.items + y->sites.count - 1;
    return ((const hd_memprof_location *)y->locations.items)[s->first + s->length - 1].inlined;
}

/* A mapping with Frames, or a list of frames. */
static hd_status yaml_call(yaml_in *y) {
    static const yaml_key keys[] = { KEY("Frames"), KEY("CalleeGuids") };
    yaml_mapping m = { keys, 2, 0, 0 };
    yaml_site s = HD_ZERO;
    unsigned key;
    hd_status status = HD_OK;
    if (y->event.type == YAML_SEQUENCE_START_EVENT) {
        status = yaml_stack(y, &s.first, &s.length);
    } else {
        status = yaml_enter(y, "a call site");
        while (!status && !(status = yaml_member(y, &m, &key)) && key < m.count) {
            s.callee = key ? y->callees.count : s.callee;
            status = key ? yaml_list(y, "functions", yaml_callee) : yaml_stack(y, &s.first, &s.length);
            if (key) s.callees = (uint32_t)(y->callees.count - s.callee);
        }
        if (!status) status = yaml_needs(y, &m, 1, "a call site");
    }
    if (status) return status;
    if (s.length && yaml_goes_on(y))
        return ((yaml_site *)y->sites.items)[y->sites.count - 1].length += s.length, HD_OK;
    if (!s.length) return yaml_warn(y, HD_UNSUPPORTED, "a call site without frames is left out"), HD_OK;
    return yaml_push(y, &y->sites, &s, sizeof s);
}

/* Gives the record to the builder. */
static hd_status yaml_build(yaml_in *y, uint64_t guid) {
    const hd_memprof_location *locations = (const hd_memprof_location *)y->locations.items;
    const yaml_block *b = (const yaml_block *)y->blocks.items;
    const yaml_site *s = (const yaml_site *)y->sites.items;
    y->failed = hd_memprof_builder_function(y->builder, guid, y->err);
    for (size_t i = 0; i < y->blocks.count && !y->failed; i++)
        y->failed = hd_memprof_builder_block(y->builder, locations + b[i].first, b[i].length, b[i].fields, b[i].value,
                                             y->err);
    for (size_t i = 0; i < y->sites.count && !y->failed; i++)
        y->failed = hd_memprof_builder_site(y->builder, locations + s[i].first, s[i].length,
                                            s[i].callees ? (const uint64_t *)y->callees.items + s[i].callee : NULL,
                                            s[i].callees, y->err);
    if (!y->failed) y->records++;
    return y->failed;
}

static hd_status yaml_record_parts(yaml_in *y, uint64_t *guid) {
    enum { GUID, ALLOCATIONS, CALLS, FUNCTION_GUID, FUNCTION };
    static const yaml_key keys[] = { KEY("GUID"), KEY("AllocSites"), KEY("CallSites"), KEY("FunctionGUID"),
                                     KEY("Function") };
    yaml_mapping m = { keys, y->is_listing ? 5 : 3, 0, 0 };
    unsigned key;
    hd_status status = yaml_enter(y, "a record");
    while (!status && !(status = yaml_member(y, &m, &key)) && key < m.count) {
        if (key == GUID) status = yaml_guid(y, guid, NULL);
        else if (key == FUNCTION)
            *guid = m.seen >> GUID & 1 || !yaml_is_scalar(y) ? *guid : hd_memprof_guid(yaml_scalar(y));
        else if (key == FUNCTION_GUID) status = yaml_number(y, UINT64_MAX, guid);
        else
            status = key == ALLOCATIONS ? yaml_list(y, "allocations", yaml_allocation)
                                        : yaml_list(y, "call sites", yaml_call);
    }
    if (!status && m.seen >> FUNCTION_GUID & 3) m.seen |= 1;
    return status ? status : yaml_needs(y, &m, 1, "a record");
}

static hd_status yaml_record(yaml_in *y) {
    uint32_t depth = y->depth;
    uint64_t guid = 0;
    hd_status status;
    yaml_begin(y);
    if (y->event.type != YAML_MAPPING_START_EVENT && y->event.type != YAML_SEQUENCE_START_EVENT)
        depth = 0; /* not a collection: nothing to skip */
    status = yaml_record_parts(y, &guid);
    if (!status) return yaml_build(y, guid);
    if (depth) return yaml_piece(y, status, depth);
    return y->failed ? y->failed : hd_report(y->reporter, &y->found, y->err);
}

/* Accesses to data. ------------------------------------------------------------------------------ */

/* Removes the suffixes that the compiler adds, as LLVM does: everything from the first '.', or from the first '.'
   after ".__uniq." if the symbol contains that. A symbol that begins with '.' stays. */
static hd_str yaml_symbol_of(hd_str s) {
    static const char unique[] = ".__uniq.";
    size_t n = sizeof unique - 1, from = 0;
    const char *dot;
    if (!s.len) return s;
    for (size_t i = 0; i + n <= s.len && !from; i++)
        if (!memcmp(s.data + i, unique, n)) from = i + n;
    dot = from < s.len ? (const char *)memchr(s.data + from, '.', s.len - from) : NULL;
    if (dot && dot != s.data) s.len = (size_t)(dot - s.data);
    return s;
}

static hd_status yaml_text(yaml_in *y, hd_str *text) {
    if (!yaml_is_scalar(y)) return yaml_bad(y, "a text expected, found %s", yaml_found(y));
    *text = yaml_keep(y, yaml_scalar(y));
    return y->failed;
}

static hd_status yaml_place(yaml_in *y) {
    static const yaml_key keys[] = { KEY("FileName"), KEY("Line") };
    yaml_mapping m = { keys, 2, 0, 0 };
    hd_memprof_access_place p = HD_ZERO;
    unsigned key;
    hd_status status = yaml_enter(y, "a location");
    while (!status && !(status = yaml_member(y, &m, &key)) && key < m.count)
        status = key ? yaml_u32(y, &p.line) : yaml_text(y, &p.file);
    return status ? status : yaml_push(y, &y->places, &p, sizeof p);
}

static hd_status yaml_access_parts(yaml_in *y, hd_memprof_access *a) {
    static const yaml_key keys[] = { KEY("Symbol"), KEY("Hash"), KEY("AccessCount"), KEY("Locations") };
    yaml_mapping m = { keys, 4, 0, 0 };
    unsigned key;
    hd_status status = yaml_enter(y, "a sampled record");
    while (!status && !(status = yaml_member(y, &m, &key)) && key < m.count) {
        switch (key) {
        case 0: status = yaml_text(y, &a->symbol); break;
        case 1: status = yaml_number(y, UINT64_MAX, &a->literal); break;
        case 2: status = yaml_number(y, UINT64_MAX, &a->count); break;
        default: status = yaml_list(y, "locations", yaml_place);
        }
    }
    if (!status) status = yaml_needs(y, &m, 4, "a sampled record");
    a->symbol = yaml_symbol_of(a->symbol);
    a->is_literal = !a->symbol.len;
    if (!a->is_literal) a->literal = 0;
    a->place_count = (uint32_t)y->places.count;
    return status;
}

static hd_status yaml_access(yaml_in *y) {
    uint32_t depth =
        y->event.type == YAML_MAPPING_START_EVENT || y->event.type == YAML_SEQUENCE_START_EVENT ? y->depth : 0;
    hd_memprof_access a = HD_ZERO;
    hd_status status;
    yaml_begin(y);
    status = yaml_access_parts(y, &a);
    if (!status) {
        y->records++;
        return y->failed = hd_memprof_builder_access(y->builder, &a, (const hd_memprof_access_place *)y->places.items,
                                                     y->err);
    }
    if (depth) return yaml_piece(y, status, depth);
    return y->failed ? y->failed : hd_report(y->reporter, &y->found, y->err);
}

static hd_status yaml_cold_symbol(yaml_in *y) {
    hd_str symbol = yaml_symbol_of(yaml_scalar(y));
    if (!yaml_is_scalar(y)) return yaml_bad(y, "a symbol expected, found %s", yaml_found(y));
    if (!symbol.len) return yaml_bad(y, "a symbol expected, found nothing");
    y->records++;
    return y->failed = hd_memprof_builder_cold_symbol(y->builder, symbol, y->err);
}

static hd_status yaml_cold_literal(yaml_in *y) {
    uint64_t hash = 0;
    hd_status status = yaml_number(y, UINT64_MAX, &hash);
    if (status) return status;
    y->records++;
    return y->failed = hd_memprof_builder_cold_literal(y->builder, hash, y->err);
}

static hd_status yaml_accesses(yaml_in *y) {
    static const yaml_key keys[] = { KEY("SampledRecords"), KEY("KnownColdSymbols"), KEY("KnownColdStrHashes") };
    yaml_mapping m = { keys, 3, 0, 0 };
    unsigned key;
    hd_status status;
    if (yaml_is_null(y)) return HD_OK;
    status = yaml_enter(y, "DataAccessProfiles");
    while (!status && !(status = yaml_member(y, &m, &key)) && key < m.count)
        status = !key ? yaml_list(y, "sampled records", yaml_access)
                 : key == 1 ? yaml_list(y, "symbols", yaml_cold_symbol)
                            : yaml_list(y, "hashes", yaml_cold_literal);
    return status;
}

/* Documents. ------------------------------------------------------------------------------------- */

/* The mapping below MemprofProfile. */
static hd_status yaml_listing(yaml_in *y) {
    static const yaml_key keys[] = { KEY("Records") };
    yaml_mapping m = { keys, 1, 0, 0 };
    unsigned key;
    hd_status status;
    y->is_listing = true;
    status = yaml_enter(y, "MemprofProfile");
    while (!status && !(status = yaml_member(y, &m, &key)) && key < m.count)
        status = yaml_list(y, "records", yaml_record);
    y->is_listing = false;
    return status;
}

static hd_status yaml_document(yaml_in *y) {
    static const yaml_key keys[] = { KEY("HeapProfileRecords"), KEY("DataAccessProfiles"), KEY("MemprofProfile") };
    yaml_mapping m = { keys, 3, 0, 0 };
    unsigned key;
    hd_status status = yaml_enter(y, "HeapProfileRecords, DataAccessProfiles or MemprofProfile");
    while (!status && !y->ended && !(status = yaml_member(y, &m, &key)) && key < m.count)
        status = !key ? yaml_list(y, "records", yaml_record) : key == 1 ? yaml_accesses(y) : yaml_listing(y);
    return status;
}

/* The first document that is not empty. Later documents are not read. */
static hd_status yaml_stream(yaml_in *y) {
    hd_status status = HD_OK;
    for (;;) {
        do status = yaml_next(y);
        while (!status && (y->event.type == YAML_STREAM_START_EVENT || y->event.type == YAML_DOCUMENT_START_EVENT ||
                           y->event.type == YAML_DOCUMENT_END_EVENT));
        if (status) break;
        if (y->event.type == YAML_STREAM_END_EVENT)
            return yaml_bad(y, "HeapProfileRecords or DataAccessProfiles expected, and the input ends");
        if (!yaml_is_null(y)) return yaml_document(y);
    }
    return status;
}

static hd_status yaml_run(yaml_in *y) {
    hd_status status = yaml_stream(y);
    if (y->failed) return y->failed;
    if (!status && !y->records && !y->ended)
        status = yaml_bad(
            y,
            "a profile without records: HeapProfileRecords, DataAccessProfiles or MemprofProfile with some expected");
    return status == HD_MALFORMED ? hd_report(y->reporter, &y->found, y->err) : status;
}

static void yaml_free(yaml_in *y) {
    if (y->has_event) yaml_event_delete(&y->event);
    if (y->is_made) yaml_parser_delete(&y->parser);
    yaml_begin(y);
    if (y->text) y->allocator.allocate(y->allocator.user, y->text, sizeof *y->text + y->text->capacity, 0);
    yaml_rows_free(y, &y->wide);
    yaml_rows_free(y, &y->quick);
    yaml_rows_free(y, &y->locations);
    yaml_rows_free(y, &y->blocks);
    yaml_rows_free(y, &y->sites);
    yaml_rows_free(y, &y->callees);
    yaml_rows_free(y, &y->places);
    hd_memprof_builder_free(y->builder);
}

hd_status memprof_yaml_read(hd_dump *dump, hd_in in, const hd_options *options, hd_error *err) {
    static const hd_memprof_builder_desc desc = { true };
    hd_memprof_index *index = NULL;
    yaml_in y = HD_ZERO;
    hd_status status;
    y.window = hd_dump_window(dump, in);
    y.reporter = hd_dump_reporter(dump);
    y.allocator = options->allocator;
    y.err = err;
    y.total = in.data || in.size ? in.size : HD_UNKNOWN;
    y.builder = hd_memprof_builder_create(&desc, options, err);
    if (!y.builder) return err->status;
    y.is_made = yaml_parser_initialize(&y.parser);
    status = y.is_made ? hd_window_fill(y.window, 3, err) : yaml_no_memory(&y, sizeof y.parser);
    if (!status) {
        if (y.window->end - y.window->at >= 3 && !memcmp(y.window->at, "\xef\xbb\xbf", 3))
            y.window->at += 3, y.fed = y.base = 3;
        yaml_parser_set_encoding(&y.parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input(&y.parser, yaml_feed, &y);
        status = yaml_run(&y);
    }
    if (!status) status = hd_memprof_builder_finish(y.builder, &index, err);
    yaml_free(&y);
    return status ? status : hd_dump_set_memprof_index(dump, index, options, err);
}

/* Whether a line of YAML, after spaces and quotes, may precede the first key: comments, directives, ends of
   documents, and "~", which is null. */
static bool memprof_yaml_is_empty(const uint8_t *begin, const uint8_t *end) {
    size_t n = (size_t)(end - begin);
    return !n || *begin == '#' || *begin == '%' || (n == 1 && *begin == '~') || (n == 3 && !memcmp(begin, "...", 3));
}

/* Whether the text begins with a key of ours. Comments after "---" may be longer than the given bytes. */
int memprof_yaml_detect(const uint8_t *bytes, size_t size) {
    static const char *const keys[] = { "HeapProfileRecords", "DataAccessProfiles", "MemprofProfile",
                                        "# MemProfSummary:" };
    size_t at = size >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3) ? 3 : 0, line;
    bool has_dashes = size - at > 3 && !memcmp(bytes + at, "---", 3) && memchr(" \t\r\n", bytes[at + 3], 4);
    for (line = at; line < size;) { /* the first line that is no comment */
        size_t end = line, begin;
        while (end < size && bytes[end] != '\n' && bytes[end] != '\r') end++;
        begin = line + (end - line >= 3 && !memcmp(bytes + line, "---", 3) ? 3 : 0);
        while (begin < end && memchr(" \t{\"'", bytes[begin], 5)) begin++;
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            size_t n = strlen(keys[k]);
            if (end - begin >= n && !memcmp(bytes + begin, keys[k], n)) return 100;
        }
        if (!memprof_yaml_is_empty(bytes + begin, bytes + end)) return 0;
        line = end + 1;
    }
    return has_dashes && (size == HD_DETECT_FIRST || size == HD_DETECT_BYTES) ? 20 : 0;
}
