/* MemProf profiles as YAML: the YAML that LLVM 22 shows and reads, all spellings of values, listings of raw profiles,
   and every fault with its place. Frames read by the fast path, without libyaml, must equal frames read by
   libyaml. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../heapdump.h"
#include "faults.h"
#include "heaps.h"
#include "load.h"
#include "readers.h"
#include "../examples/heapdump/formats/memprof_yaml.c"
#include "../examples/heapdump/formats/memprof_yaml_write.c"

static const hd_format format = { .name = "memprof-yaml", .title = "a memprof profile as YAML", .detect = memprof_yaml_detect,
                                  .read = memprof_yaml_read, .write = memprof_yaml_write };

static hd_dump *read_text(const char *text) { return read_well(&format, text, strlen(text), false, 0); }
static const hd_memprof_index *index_of(const hd_dump *dump) {
    const hd_memprof_index *x = hd_dump_memprof_index(dump);
    assert_non_null(x);
    return x;
}

/* The index as YAML; the caller frees the text. */
static char *shown(const hd_memprof_index *x) {
    hd_buffer out = { 0 };
    assert_int_equal(memprof_yaml_write(x, NULL, hd_out_memory(&out), NULL), HD_OK);
    assert_int_equal(hd_out_memory(&out).write(&out, "", 1), HD_OK);
    return (char *)out.data;
}

static char *loaded(const char *file) {
    uint8_t *data = NULL;
    size_t size = 0;
    char *text;
    load(file, &data, &size);
    text = (char *)realloc(data, size + 1);
    text[size] = 0;
    return text;
}

static void same_text(char *a, char *b) {
    assert_string_equal(a, b);
    free(a);
    free(b);
}

/* Reads a text, and expects this YAML without the summary. */
static void says(const char *text, const char *want) {
    hd_dump *dump = read_text(text);
    char *all = shown(index_of(dump)), *from = strstr(all, "\n---\n");
    assert_non_null(from);
    assert_string_equal(from + 5, want);
    free(all);
    hd_dump_free(dump);
}

static void llvm_shows_the_same_as_we_read(void **state) {
    (void)state;
    static const char *const files[] = { "memprof-22-written.yaml", "memprof-22-access.yaml" };
    for (int i = 0; i < 2; i++) {
        char *text = loaded(files[i]);
        hd_dump *dump = read_text(text);
        const hd_memprof_index *x = index_of(dump);
        hd_buffer out = { 0 };
        same_text(shown(x), loaded("memprof-22-access.yaml"));
        assert_int_equal(x->layout, HD_MEMPROF_LLVM_4);
        assert_int_equal(x->fields, HD_MEMPROF_HOT_COLD);
        if (!i) assert_true(hd_str_equal(x->locations[0].name, hd_cstr("_Z6bufferm")));
        assert_int_equal(hd_dump_write(dump, NULL, hd_out_memory(&out), NULL), HD_OK); /* in the file's own format */
        assert_int_equal(hd_out_memory(&out).write(&out, "", 1), HD_OK);
        same_text((char *)out.data, loaded("memprof-22-access.yaml"));
        survives_pieces(&format, text, strlen(text));
        hd_dump_free(dump);
        free(text);
    }
}

static hd_buffer packed(const hd_memprof_index *x) {
    hd_memprof_index_desc desc = { .layout = HD_MEMPROF_LLVM_4 };
    hd_buffer out = { 0 };
    assert_int_equal(hd_memprof_index_write(x, &desc, NULL, hd_out_memory(&out), NULL), HD_OK);
    return out;
}

/* The order of records is the order of a hash table, which changes each time. Through YAML twice, a file is the same
   again. */
static void a_file_of_llvm_comes_back(void **state) {
    (void)state;
    uint8_t *data = NULL;
    size_t size = 0;
    hd_memprof_index *x;
    hd_buffer bytes;
    load("memprof-22-v4.profdata", &data, &size);
    assert_int_equal(hd_memprof_index_read(hd_in_memory(data, size), NULL, &x, NULL), HD_OK);
    for (int i = 0; i < 2; i++) {
        char *text = shown(x);
        hd_dump *dump = read_text(text);
        assert_int_equal(hd_dump_heap_count(dump), 1);
        assert_int_equal(hd_dump_heap(dump, 0)->kind, HD_HEAP_TOTAL);
        bytes = packed(index_of(dump));
        hd_memprof_index_free(x);
        assert_int_equal(hd_memprof_index_read(hd_in_memory(bytes.data, bytes.size), NULL, &x, NULL), HD_OK);
        assert_int_equal(bytes.size == size && !memcmp(bytes.data, data, size), i);
        hd_buffer_free(&bytes);
        hd_dump_free(dump);
        free(text);
    }
    hd_memprof_index_free(x);
    free(data);
}

#define FRAME(f, l, c, i) "          - { Function: " f ", LineOffset: " l ", Column: " c ", IsInlineFrame: " i " }\n"
#define RECORD(guid) "  - GUID: " guid "\n"
#define ALLOCATION "    AllocSites:\n      - Callstack:\n"
#define BLOCK(fields) "        MemInfoBlock: { " fields " }\n"
#define HEAP "---\nHeapProfileRecords:\n"
#define ONE(frame) HEAP RECORD("f") ALLOCATION frame BLOCK("AllocCount: 1")
#define GUID_F "0xcc914f75dd4ca18f"
#define SHOWN(frame)                                                                                                    \
    "HeapProfileRecords:\n  - GUID:            " GUID_F "\n    AllocSites:\n      - Callstack:\n" frame                 \
    "        MemInfoBlock:\n          AllocCount:      1\n          TotalSize:       0\n          TotalLifetime:   0\n" \
    "          TotalLifetimeAccessDensity: 0\n...\n"

/* The whole index, with each context once; blocks of one call stack share their values. */
static hd_memprof_index *united(const hd_memprof_index *x) {
    hd_memprof_builder *b = hd_memprof_builder_create(NULL, NULL, NULL);
    hd_memprof_index *all = NULL;
    assert_int_equal(hd_memprof_builder_add(b, x, NULL), HD_OK);
    assert_int_equal(hd_memprof_builder_finish(b, &all, NULL), HD_OK);
    hd_memprof_builder_free(b);
    return all;
}

/* A text read, summed up, and shown again, so that its order of records does not matter. The caller frees the
   result. */
static char *summed(char *text) {
    hd_dump *dump = read_text(text);
    hd_memprof_index *x = united(index_of(dump));
    free(text);
    text = shown(x);
    hd_memprof_index_free(x);
    hd_dump_free(dump);
    return text;
}

static hd_memprof_index *written_as(const hd_memprof_index *x, hd_memprof_layout layout) {
    const hd_memprof_index_desc desc = { .layout = layout };
    hd_buffer out = { 0 };
    hd_memprof_index *again = NULL;
    assert_int_equal(hd_memprof_index_write(x, &desc, NULL, hd_out_memory(&out), NULL), HD_OK);
    assert_int_equal(hd_memprof_index_read(hd_in_memory(out.data, out.size), NULL, &again, NULL), HD_OK);
    hd_buffer_free(&out);
    return again;
}

static void blocks_that_share_their_values_are_written_with_these(void **state) {
    (void)state;
    uint8_t *data = NULL;
    size_t size = 0;
    hd_memprof_index *x = NULL, *rfc, *shares, *apart;
    load("memprof-22-v4.profdata", &data, &size);
    assert_int_equal(hd_memprof_index_read(hd_in_memory(data, size), NULL, &x, NULL), HD_OK);
    rfc = written_as(x, HD_MEMPROF_RFC);
    shares = united(rfc);
    assert_non_null(shares->block_row);
    assert_true(shares->row_count < shares->block_count);
    apart = written_as(shares, HD_MEMPROF_LLVM_4);
    assert_null(apart->block_row);
    same_text(summed(shown(shares)), summed(shown(apart)));
    hd_memprof_index_free(apart);
    hd_memprof_index_free(shares);
    hd_memprof_index_free(rfc);
    hd_memprof_index_free(x);
    free(data);
}

/* Records of inlined functions, and call sites: the RFC's layout has them only in its call stacks. */
static void all_records_of_the_rfcs_layout_are_written(void **state) {
    (void)state;
    static const char *const files[] = { "memprof-22-v4.profdata", "memprof-19-v1.profdata" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        uint8_t *data = NULL;
        size_t size = 0;
        hd_memprof_index *x = NULL, *rfc, *llvm;
        hd_dump *dump;
        char *text;
        load(files[i], &data, &size);
        assert_int_equal(hd_memprof_index_read(hd_in_memory(data, size), NULL, &x, NULL), HD_OK);
        rfc = written_as(x, HD_MEMPROF_RFC);
        llvm = written_as(rfc, HD_MEMPROF_LLVM_1); /* with all fields */
        text = shown(rfc);
        dump = read_text(text);
        assert_int_equal(index_of(dump)->function_count, llvm->function_count);
        assert_int_equal(index_of(dump)->site_count, llvm->site_count);
        hd_dump_free(dump);
        free(text);
        hd_memprof_index_free(llvm);
        llvm = written_as(rfc, HD_MEMPROF_LLVM_4);
        if (rfc->fields == llvm->fields) same_text(summed(shown(rfc)), summed(shown(llvm)));
        hd_memprof_index_free(llvm);
        hd_memprof_index_free(rfc);
        hd_memprof_index_free(x);
        free(data);
    }
}

static void a_listing_of_a_raw_profile_has_its_records_and_names(void **state) {
    (void)state;
    char *text = loaded("memprof-22-listing.yaml");
    hd_dump *dump = read_text(text);
    const hd_memprof_index *x = index_of(dump);
    uint32_t f = hd_memprof_index_find(x, hd_memprof_guid(hd_cstr("_Z2mkv")));
    assert_true(f != HD_NONE && x->function_count == 10 && x->block_count == 6);
    assert_int_equal(hd_memprof_index_value(x, x->block_first[f], HD_MEMPROF_TOTAL_SIZE), 200);
    assert_int_equal(hd_memprof_index_value(x, x->block_first[f], HD_MEMPROF_MAX_LIFETIME_ACCESS_DENSITY), 2000);
    assert_int_equal(hd_memprof_index_value(x, x->block_first[f], HD_MEMPROF_ACCESS_HISTOGRAM), 0);
    assert_true(hd_str_equal(x->locations[x->location[x->first[x->block_stack[x->block_first[f]]]]].name, hd_cstr("_Z2mkv")));
    hd_dump_free(dump);
    free(text);
    /* each frame of a call site is separate; <None> is no name; unknown keys are skipped; so are our own listings */
    says("MemprofProfile:\n  Summary:\n    X: [ 1, { 2: 3 } ]\n  Records:\n  -\n    Function: f\n    CallSites:\n    -\n      -\n"
         "        Function: 1\n        SymbolName: <None>\n        LineOffset: 2\n        Column: 3\n        Inline: 1\n    -\n      -\n"
         "        SymbolName: f\n        LineOffset: 4\n        Column: 5\n        Inline: 0\n        File: x\n    -\n      -\n"
         "        Function: 6\n        LineOffset: 7\n        Column: 8\n        Inline: 0\n",
         "HeapProfileRecords:\n  - GUID:            " GUID_F "\n    CallSites:\n      - Frames:\n" FRAME("0x1", "2", "3", "true")
         FRAME(GUID_F, "4", "5", "false") "      - Frames:\n" FRAME("0x6", "7", "8", "false") "...\n");
}

static void values_are_read_as_llvm_reads_them(void **state) {
    (void)state;
    static const char *const same[][2] = {
        { FRAME("0x1f", "010", "0xfFfFfFfF", "True"), FRAME("0x1f", "8", "4294967295", "true") },
        { FRAME("0X00000000000000001F", "0b101", "0o17", "on"), FRAME("0x1f", "5", "15", "true") },
        { FRAME("'f.llvm.7'", "\"7\"", "000", "N"), FRAME(GUID_F, "7", "0", "false") },
        { FRAME("!!str &a f", "4294967295", "0XA", "no"), FRAME(GUID_F, "4294967295", "10", "false") },
        { "          - {IsInlineFrame: y,Column: 1,\n              Function: \"f\",LineOffset: 2,}\n", FRAME(GUID_F, "2", "1", "true") },
        { "          - Function: f\n            LineOffset: 2 # x\n            Column: 1\n            IsInlineFrame: off\n",
          FRAME(GUID_F, "2", "1", "false") },
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        char text[512], want[768];
        snprintf(text, sizeof text, ONE("%s"), same[i][0]);
        snprintf(want, sizeof want, SHOWN("%s"), same[i][1]);
        says(text, want);
    }
}

/* A line of more than 80 columns continues on the next one, which only libyaml reads. */
static void long_lines_are_broken_as_llvm_breaks_them(void **state) {
    (void)state;
    const char *const broken = SHOWN("          - { Function: 0xffffffffffffffff, LineOffset: 4294967295, Column: 65535, \n"
                                     "              IsInlineFrame: false }\n");
    says(ONE(FRAME("0xffffffffffffffff", "4294967295", "65535", "false")), broken);
    says("---\nHeapProfileRecords:\n  - GUID: 0x1\n    CallSites:\n      - Frames:\n" FRAME("0x1", "2", "3", "false")
         "        CalleeGuids: [ 0x1111111111111111, 0x2222222222222222, 0x3333333333333333, 0x4444444444444444, g ]\n",
         "HeapProfileRecords:\n  - GUID:            0x1\n    CallSites:\n      - Frames:\n" FRAME("0x1", "2", "3", "false")
         "        CalleeGuids:     [ 0x1111111111111111, 0x2222222222222222, 0x3333333333333333, \n"
         "                           0x4444444444444444, 0xb671664347fff5b2 ]\n...\n");
}

/* Lines that bypass libyaml, and the same lines in a form for libyaml, give equal frames in all places. */
static void frames_that_pass_by_libyaml_are_as_others(void **state) {
    (void)state;
    static const char *const lines[][2] = {
        { FRAME("0x1", "2", "3", "false"), "          -  { Function: 0x1, LineOffset: 2, Column: 3, IsInlineFrame: false }\n" },
        { "  # x\n" FRAME("0xffffffffffffffff", "999999999", "0", "true") "\n",
          "          - { Function: 0xffffffffffffffff, LineOffset: 999999999, Column: 0, IsInlineFrame: true } # x\n" },
    };
    for (size_t i = 0; i < 2; i++) {
        char text[2][512];
        hd_dump *dump[2];
        for (int k = 0; k < 2; k++) {
            snprintf(text[k], sizeof text[k], ONE("%s%s"), lines[i][k], lines[i][k]);
            dump[k] = read_text(text[k]);
        }
        same_text(shown(index_of(dump[0])), shown(index_of(dump[1])));
        hd_dump_free(dump[0]);
        hd_dump_free(dump[1]);
    }
}

static void accesses_to_data_are_read(void **state) {
    (void)state;
    says("---\nDataAccessProfiles:\n  KnownColdStrHashes: [ 9, 010 ]\n  KnownColdSymbols: [ q.llvm.1, .b.c, \"it's\" ]\n  SampledRecords:\n"
         "    - { Symbol: t.__uniq.7.llvm.5, AccessCount: 5, Locations: [ { FileName: a/b.c, Line: 14 }, { } ] }\n"
         "    - { Hash: 7, AccessCount: 6 }\n    - { AccessCount: 6, Symbol: s, Hash: 8 }\n",
         "DataAccessProfiles:\n  SampledRecords:\n    - Hash:            7\n      AccessCount:     6\n"
         "    - Symbol:          s\n      AccessCount:     6\n    - Symbol:          t.__uniq.7\n      AccessCount:     5\n"
         "      Locations:\n        - FileName:        'a/b.c'\n          Line:            14\n"
         "        - FileName:        ''\n          Line:            0\n"
         "  KnownColdSymbols:\n    - .b.c\n    - 'it''s'\n    - q\n  KnownColdStrHashes: [ 8, 9 ]\n...\n");
}

static void texts_are_quoted_as_llvm_quotes_them(void **state) {
    (void)state;
    static const char *const texts[][2] = {
        { "a b", "a b" }, { "x^,._-\ty", "x^,._-\ty" }, { "", "''" }, { " a", "' a'" }, { "a ", "'a '" }, { "~", "'~'" }, { "Null", "'Null'" },
        { "nUll", "nUll" }, { "true", "'true'" }, { "yes", "yes" }, { "12", "'12'" }, { "1_0", "1_0" }, { "-.5", "'-.5'" }, { ".", "." }, { "1.", "'1.'" },
        { "1.5e-3", "'1.5e-3'" }, { "5e", "5e" }, { "5e+", "'5e+'" }, { "e5", "e5" }, { "+.inf", "'+.inf'" }, { "-.nan", "'-.nan'" }, { ".NaN", "'.NaN'" },
        { "0x1f", "'0x1f'" }, { "0x", "0x" }, { "0o8", "0o8" }, { "0o7", "'0o7'" }, { "-b", "'-b'" }, { "C:\\x", "'C:\\x'" }, { "b#", "'b#'" },
        { "a\nb", "\"a\\nb\"" }, { "\x01\x1b\x7f", "\"\\x01\\e\\x7F\"" }, { "\xc3\xa9\"\\", "\"\xc3\xa9\\\"\\\\\"" }, { "\xc2\x85\xc2\xa0\xe2\x80\xa8\xe2\x80\xa9", "\"\\N\\_\\L\\P\"" },
        { "\xe2\x80\x8b\xf3\xa0\x80\x81", "\"\\u200B\\U000E0001\"" }, { "a\xff", "\"a\xef\xbf\xbd\"" }, { "\xc0\x80", "\"\xef\xbf\xbd\"" },
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        hd_str symbol = hd_cstr(texts[i][0]);
        hd_memprof_index x = { .layout = HD_MEMPROF_LLVM_4, .has_accesses = true, .access_is_named = true, .cold_symbol_count = 1,
                               .cold_symbol = &symbol };
        const uint32_t zero[1] = { 0 };
        char *text, *at, want[64];
        x.first = x.block_first = x.site_first = zero;
        text = shown(&x);
        at = strstr(text, "Symbols:\n    - ");
        snprintf(want, sizeof want, "Symbols:\n    - %s%s\n...\n", texts[i][1], "");
        /* LLVM does not take 5e+ for a number: it stays as it is */
        if (!at || (strcmp(at, want) && strcmp(texts[i][0], "5e+") && strcmp(texts[i][0], "-.nan"))) fail_msg("%s", text);
        free(text);
    }
}

/* Cases that LLVM drops or stops at: a second record of a function, the largest GUID, call sites in LLVM 20's form,
   another beginning. Text after the document is not read. */
static void unambiguous_texts_are_read(void **state) {
    (void)state;
    static const char *const begins[] = { "---\n", "", "\n# x\n", "%YAML 1.2\n---\n", "\xef\xbb\xbf---\n", "--- # x\n", "---\r\n", "---\n# MemProfSummary:\n---\n",
                                          "---\n...\n---\n~\n---\n" };
    char text[512];
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        snprintf(text, sizeof text, "%sHeapProfileRecords:\n  - GUID: f\n...\n", begins[i]);
        says(text, "HeapProfileRecords:\n  - GUID:            " GUID_F "\n...\n");
    }
    says(HEAP RECORD("f") "...\n\t\tx: [ *y\n", "HeapProfileRecords:\n  - GUID:            " GUID_F "\n...\n");
    says(HEAP RECORD("0xffffffffffffffff") "---\n\"\n", "HeapProfileRecords:\n  - GUID:            0xffffffffffffffff\n...\n");
    says(HEAP RECORD("f") "    CallSites:\n      -\n" FRAME("0x1", "1", "1", "false") RECORD("g") RECORD("f") ALLOCATION FRAME("0x1", "2", "3", "false")
         BLOCK("AllocCount: 1"),
         "HeapProfileRecords:\n  - GUID:            0xb671664347fff5b2\n  - GUID:            " GUID_F "\n    AllocSites:\n      - Callstack:\n" FRAME("0x1", "2", "3", "false")
         "        MemInfoBlock:\n          AllocCount:      1\n          TotalSize:       0\n          TotalLifetime:   0\n"
         "          TotalLifetimeAccessDensity: 0\n    CallSites:\n      - Frames:\n" FRAME("0x1", "1", "1", "false") "...\n");
}

/* "---" is not enough to recognize YAML: comments and empty documents may come before the first key. */
static void it_begins_with_a_key(void **state) {
    (void)state;
    static const char *const others[] = { "---\n", "---\n# x\n", "---\nhello\n", "---\nFoo: 1\n", "--- contention\nHeapProfileRecords:\n",
                                          "--- symbol\n0x1 HeapProfileRecords\n", "--- mutex:\n", "--- heap\n", "%TAG\n---\n", "-- -\n", "...\n" };
    char text[HD_DETECT_BYTES];
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (memprof_yaml_detect((const uint8_t *)others[i], strlen(others[i]))) fail_msg("'%s' is taken", others[i]);
    assert_int_equal(memprof_yaml_detect((const uint8_t *)"---\n...\n--- # x\n~\nDataAccessProfiles:", 37), 100);
    memset(text, 'x', sizeof text);
    memcpy(text, "---\n# a comment of any length", 29);
    for (size_t size = HD_DETECT_FIRST; size <= HD_DETECT_BYTES; size += HD_DETECT_BYTES - HD_DETECT_FIRST)
        assert_int_equal(memprof_yaml_detect((const uint8_t *)text, size), 20);
    assert_int_equal(memprof_yaml_detect((const uint8_t *)text, 1000), 0);
    memcpy(text, "---\nhello,\n", 11);
    for (size_t size = HD_DETECT_FIRST; size <= HD_DETECT_BYTES; size += HD_DETECT_BYTES - HD_DETECT_FIRST)
        assert_int_equal(memprof_yaml_detect((const uint8_t *)text, size), 0);
}

static void tells(void *user, const hd_error *warning) { *(hd_error *)user = *warning; }

/* Numbers are cut to their width as in LLVM. One warning reports that; one reports records without frames. */
static void losses_are_reported(void **state) {
    (void)state;
    const char *const wide = ONE(FRAME("0x1", "2", "3", "false")) "";
    hd_error told = { 0 }, err;
    hd_options options = { .warning = tells, .warning_user = &told };
    hd_dump *dump;
    char text[512];
    (void)wide;
    snprintf(text, sizeof text, HEAP RECORD("f") ALLOCATION FRAME("0x1", "2", "3", "false") BLOCK("AllocCount: 4294967301, TotalSize: 18446744073709551614"));
    assert_int_equal(read_with(&format, text, strlen(text), options, &dump, &err), HD_OK);
    assert_int_equal(hd_memprof_index_value(index_of(dump), 0, HD_MEMPROF_ALLOC_COUNT), 5);
    assert_true(hd_memprof_index_value(index_of(dump), 0, HD_MEMPROF_TOTAL_SIZE) == UINT64_MAX - 1);
    assert_true(told.status == HD_OVERFLOW && told.line == 7 && strstr(told.message, "AllocCount of 4294967301"));
    assert_int_equal(hd_dump_warning_count(dump), 0);
    hd_dump_free(dump);
    snprintf(text, sizeof text, HEAP RECORD("f") "    AllocSites: [ { Callstack: [ ], MemInfoBlock: { } } ]\n    CallSites: [ { Frames: [ ] } ]\n");
    assert_int_equal(read_with(&format, text, strlen(text), options, &dump, &err), HD_OK);
    assert_int_equal(index_of(dump)->block_count + index_of(dump)->site_count, 0);
    assert_true(told.line == 5 && strstr(told.message, "a call site without frames"));
    hd_dump_free(dump);
}

static void is_wrong(const char *text, uint64_t line, uint64_t offset, const char *what) {
    hd_options options = { .format = "memprof-yaml" };
    hd_dump *dump;
    hd_error err;
    hd_status status = read_with(&format, text, strlen(text), options, &dump, &err);
    if (status != HD_MALFORMED || err.line != line || err.offset != offset || !strstr(err.message, what))
        fail_msg("%d, line %d, offset %d: %s", status, (int)err.line, (int)err.offset, err.message);
}

static void faults_are_reported_with_their_place(void **state) {
    (void)state;
    is_wrong("---\n", 2, 4, "HeapProfileRecords or DataAccessProfiles expected, and the input ends");
    is_wrong("---\nhello\n", 2, 4, "found 'hello'");
    is_wrong("---\n- 1\n", 2, 4, "found a list");
    is_wrong("---\nFoo: 1\n", 2, 4, "unknown key 'Foo'");
    is_wrong("---\nHeapProfileRecords: []\n", 3, 27, "a profile without records");
    is_wrong("---\nHeapProfileRecords: {}\n", 2, 24, "a list of records expected, found a mapping");
    is_wrong("---\nHeapProfileRecords:\n  - GUID: f\n    GUID: g\n", 4, 40, "duplicate key GUID");
    is_wrong(HEAP "  - AllocSites: []\n", 4, 43, "a record without GUID");
    is_wrong(HEAP RECORD("12"), 3, 34, "0x and digits, or its name, expected, found '12'");
    is_wrong(HEAP RECORD("0x10000000000000000"), 3, 34, "0x and up to 16 digits");
    is_wrong(HEAP RECORD("[ f ]"), 3, 34, "a function expected, found a list");
    is_wrong(HEAP RECORD("*a"), 3, 34, "found an alias");
    is_wrong(ONE(FRAME("0x1", "4294967296", "1", "true")), 6, 112, "a number of at most 32 bits expected, found '4294967296'");
    is_wrong(ONE(FRAME("0x1", "-1", "1", "true")), 6, 112, "found '-1'");
    is_wrong(ONE(FRAME("0x1", "08", "1", "true")), 6, 112, "found '08'");
    is_wrong(ONE(FRAME("0x1", "1", "1", "1")), 6, 141, "true or false expected, found '1'");
    is_wrong(ONE("          - { Function: 0x1, LineOffset: 1, Column: 1 }\n"), 6, 125, "a frame without IsInlineFrame");
    is_wrong(ONE("          - { }\n"), 6, 85, "a frame without Function");
    is_wrong(HEAP RECORD("f") ALLOCATION FRAME("0x1", "1", "1", "true") BLOCK("Foo: 1"), 7, 172, "unknown key 'Foo'");
    is_wrong(HEAP RECORD("f") ALLOCATION FRAME("0x1", "1", "1", "true") BLOCK("AllocCount: 1.5"), 7, 184, "64 bits expected, found '1.5'");
    is_wrong(HEAP RECORD("f") ALLOCATION FRAME("0x1", "1", "1", "true"), 7, 148, "an allocation without MemInfoBlock");
    is_wrong(HEAP "\t- GUID: f\n", 3, 24, "found character that cannot start any token");
    is_wrong(HEAP RECORD("\"f"), 4, 37, "unexpected end of stream");
    is_wrong(HEAP RECORD("\xff"), 3, 34, "UTF-8");
    is_wrong(HEAP RECORD("\x01"), 3, 34, "control characters");
    /* characters of several bytes before it */
    is_wrong(HEAP "# \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\n" RECORD("\xc3\xa9") RECORD("12"), 5, 59, "found '12'");
    is_wrong("\xef\xbb\xbf---\n\xc3\xa9: 1\n", 2, 7, "unknown key '\xc3\xa9'");
    /* after frames that bypassed libyaml */
    is_wrong(ONE(FRAME("0x1", "1", "1", "true") FRAME("0x1", "1", "1", "true")) RECORD("12"), 9, 275, "found '12'");
}

#define ODD FRAME("0x1", "1", "1", "true")

/* A line that looks like a frame, where no frame can be. */
static void a_frame_elsewhere_is_malformed(void **state) {
    (void)state;
    is_wrong(HEAP RECORD("\"f\n" ODD "\""), 6, 116, "a frame precedes this, where frames are not allowed");
    is_wrong(HEAP RECORD("|\n" ODD), 6, 114, "a frame precedes this, where frames are not allowed");
    is_wrong(HEAP RECORD("f\n" ODD), 6, 114, "a frame precedes this, where frames are not allowed");
    is_wrong(HEAP ODD, 3, 36, "a record expected as a mapping, found a mapping");
    is_wrong("---\nDataAccessProfiles:\n  KnownColdSymbols:\n" ODD, 4, 56, "a symbol expected");
    is_wrong("---\nDataAccessProfiles:\n  KnownColdStrHashes:\n" ODD, 4, 58, "a number of at most 64 bits expected, found a mapping");
    is_wrong("---\nHeapProfileRecords:\n  - GUID: f\n    CallSites:\n      - Frames: []\n        CalleeGuids:\n" ODD, 7, 103, "found a mapping");
    is_wrong(ONE("          - 0\n"), 6, 83, "a frame expected as a mapping, found '0'");
}

static void leniently_a_record_is_left_out(void **state) {
    (void)state;
    const char *const text = HEAP RECORD("f") ALLOCATION FRAME("0x1", "1", "1", "true") FRAME("0x1", "-1", "1", "true") FRAME("0x1", "1", "1", "true")
        BLOCK("AllocCount: 1") "  - 5\n  - [ ]\n" RECORD("g") "    Foo: { a: [ b ] }\n" RECORD("h") "DataAccessProfiles:\n  SampledRecords:\n    - { Symbol: s }\n"
        "    - 7\n    - { Symbol: t, AccessCount: 1 }\n";
    hd_dump *dump = read_well(&format, text, strlen(text), true, 6);
    const hd_memprof_index *x = index_of(dump);
    assert_int_equal(x->function_count, 1);
    assert_true(x->function[0] == hd_memprof_guid(hd_cstr("h")));
    assert_int_equal(x->access_count, 1);
    hd_dump_free(dump);
    dump = read_well(&format, HEAP RECORD("f") RECORD("\"g"), strlen(HEAP RECORD("f") RECORD("\"g")), true, 1); /* cut off */
    assert_int_equal(index_of(dump)->function_count, 1);
    hd_dump_free(dump);
}

/* An endless text: a beginning, and then one repeated character. */
typedef struct endless {
    const char *begin;
    size_t at;
    char filler;
    uint64_t left;
} endless;

static int64_t read_endless(void *user, void *buffer, size_t capacity) {
    endless *e = (endless *)user;
    size_t n = strlen(e->begin + e->at);
    if (n) {
        if (n > capacity) n = capacity;
        memcpy(buffer, e->begin + e->at, n);
        e->at += n;
        return (int64_t)n;
    }
    n = capacity < e->left ? capacity : (size_t)e->left;
    memset(buffer, e->filler, n);
    e->left -= n;
    return (int64_t)n;
}

static void endless_texts_are_refused(void **state) {
    (void)state;
    static const struct { const char *begin; char filler; hd_status status; } bombs[] = {
        { HEAP "  - GUID: ", 'f', HD_LIMIT }, { HEAP "  - GUID: \"", 'f', HD_LIMIT }, { HEAP "# ", 'f', HD_LIMIT }, { HEAP, '\n', HD_LIMIT },
        { HEAP, ' ', HD_LIMIT }, { HEAP "  - GUID: f\n    AllocSites: ", '[', HD_MALFORMED }, { HEAP "  - ", '{', HD_MALFORMED }, { "--- ", '[', HD_MALFORMED },
    };
    for (size_t i = 0; i < sizeof bombs / sizeof *bombs; i++) {
        endless e = { bombs[i].begin, 0, bombs[i].filler, UINT64_C(1) << 32 };
        hd_options options = { .formats = &format, .format_count = 1, .format = "memprof-yaml" };
        hd_dump *dump;
        hd_error err;
        hd_status status = hd_read(hd_in_callback(read_endless, &e), &options, &dump, &err);
        if (status != bombs[i].status) fail_msg("%d of %zu: %s", status, i, err.message);
        assert_true((UINT64_C(1) << 32) - e.left < 20 << 20);
    }
}

/* Texts for which libyaml needs quadratic time. It looks at all open collections with each token. It also compares
   all tags that a document declares, with any line breaks, before its first event. */
static void texts_of_quadratic_time_are_not_read_on(void **state) {
    (void)state;
    enum { MANY = 5000 };
    static const char *const nested[] = { "[", "{ a: ", "- ", "? " };
    static const char *const breaks[] = { "\n", "\r", "\r\n", "\xc2\x85", "\xe2\x80\xa8" };
    hd_options options = { .formats = &format, .format_count = 1, .format = "memprof-yaml", .lenient = true };
    hd_dump *dump;
    hd_error err;
    char *text = (char *)calloc(1, 50 * MANY);
    for (size_t i = 0; i < sizeof nested / sizeof *nested; i++)
        for (int in_list = 0; in_list < 2; in_list++) {
            strcpy(text, "---\nMemprofProfile:\n  Records:\n    - { FunctionGUID: 5 }\n");
            strcat(text, in_list ? "    - " : "  Foo: "); /* in a skipped piece, or in an unknown key */
            if (*nested[i] == '-' || *nested[i] == '?') strcat(text, "\n      ");
            for (int k = 0; k < MANY; k++) strcat(text, nested[i]);
            assert_int_equal(hd_read_memory(text, strlen(text), &options, &dump, &err), HD_OK);
            assert_int_equal(index_of(dump)->function_count, 1);
            assert_in_range(hd_dump_warning_count(dump), 1, 2);
            hd_dump_free(dump);
        }
    for (size_t b = 0; b < sizeof breaks / sizeof *breaks; b++) {
        size_t n = 0;
        for (int k = 0; k < 2 * MANY; k++) n += (size_t)sprintf(text + n, "%%TAG !a%d! x%s", k, breaks[b]);
        strcpy(text + n, "---\nHeapProfileRecords: []\n");
        assert_int_equal(hd_read_memory(text, strlen(text), &options, &dump, &err), HD_LIMIT);
        assert_string_equal(err.message, "more than 65536 bytes before a document begins");
    }
    free(text);
}

/* Valid files nest far less than the limit, and are read. */
static void the_allowed_depth_is_read(void **state) {
    (void)state;
    char text[1000] = "---\nMemprofProfile:\n  Foo: ";
    for (int k = 0; k < 30; k++) strcat(text, "[");
    for (int k = 0; k < 30; k++) strcat(text, "]");
    strcat(text, "\n  Records:\n    - { FunctionGUID: 5 }\n");
    hd_dump_free(read_text(text));
    is_wrong("---\nMemprofProfile:\n  Foo: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\n", 3, 57, "lists and mappings nested deeper than 32");
}

static const char damaged[] = HEAP RECORD("f") ALLOCATION FRAME("0x1f", "2", "3", "true") FRAME("g", "2", "3", "false") BLOCK("AllocCount: 1, TotalSize: 2")
    "    CallSites:\n      - Frames:\n" FRAME("0x1", "2", "3", "false") "        CalleeGuids: [ 0x1, \"\xc3\xa9\" ]\n"
    "DataAccessProfiles:\n  SampledRecords:\n    - { Symbol: s, AccessCount: 5, Locations: [ { FileName: a.c, Line: 1 } ] }\n  KnownColdSymbols: [ q ]\n"
    "  KnownColdStrHashes: [ 9 ]\n...\n";

/* The first stored text is a symbol. */
static const char accessed[] = "---\nDataAccessProfiles:\n  SampledRecords:\n    - { Symbol: a.__uniq.1.b, AccessCount: 5 }\n";

static void malformed_numbers_are_refused(void **state) {
    (void)state;
    survives_malformed(&format, "---\nDataAccessProfiles:\n  SampledRecords:\n    - { Symbol: a, AccessCount: ?, Locations: "
                              "[ { FileName: a.c, Line: ? } ] }\n  KnownColdStrHashes: [ ? ]\n");
    survives_depth(&format, "---\nMemprofProfile:\n  Foo: ", '[');
    survives_depth(&format, "---\nMemprofProfile:\n  Foo: ", '{');
}

static int put_record(char *to, size_t room, int i) {
    return snprintf(to, room, "    - { Symbol: a%d, AccessCount: 5, Locations: [ { FileName: file%d.c, Line: %d } ] }\n", i, i, i % 100 + 1);
}

static void limits_bind(void **state) {
    (void)state;
    char *text = long_text("---\nDataAccessProfiles:\n  SampledRecords:\n", "", 5000, put_record);
    survives_limits(&format, text, strlen(text));
    free(text);
}

static void damage_is_survived(void **state) {
    (void)state;
    survives_damage(&format, damaged, sizeof damaged - 1, 1 << 20);
    survives_pieces(&format, damaged, sizeof damaged - 1);
    survives_faults(&format, damaged, sizeof damaged - 1);
    survives_faults(&format, accessed, sizeof accessed - 1);
}

static void a_failing_output_is_reported(void **state) {
    (void)state;
    hd_dump *dump = read_text(damaged);
    hd__write_faults w = { .fail_at = 1 };
    hd_error err = { 0 };
    assert_int_equal(memprof_yaml_write(index_of(dump), NULL, hd__faults_out(&w), &err), HD_IO);
    assert_non_null(strstr(err.message, "writing YAML failed"));
    hd__write_faults_free(&w);
    hd_dump_free(dump);
}

static void detection_by_the_first_bytes(void **state) {
    (void)state;
    static const struct { const char *text; int certainty; } begins[] = {
        { "---\nHeapProfileRecords:", 100 }, { "---\r\nDataAccessProfiles:", 100 }, { "--- {\"HeapProfileRecords\":", 100 }, { "MemprofProfile:", 100 },
        { "---\n# MemProfSummary:", 100 }, { "# x\n\n%YAML 1.2\n---\nHeapProfileRecords:", 100 }, { "\xef\xbb\xbfHeapProfileRecords:", 100 },
        { "---\n", 0 }, { "--- ", 0 }, { "---\n# x", 0 }, { "---\nfoo: HeapProfileRecords", 0 }, { "---", 0 }, { "", 0 }, { "----\n", 0 }, { "foo", 0 },
    };
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (memprof_yaml_detect((const uint8_t *)begins[i].text, strlen(begins[i].text)) != begins[i].certainty) fail_msg("%s", begins[i].text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(llvm_shows_the_same_as_we_read),
        cmocka_unit_test(a_file_of_llvm_comes_back),
        cmocka_unit_test(blocks_that_share_their_values_are_written_with_these),
        cmocka_unit_test(all_records_of_the_rfcs_layout_are_written),
        cmocka_unit_test(a_listing_of_a_raw_profile_has_its_records_and_names),
        cmocka_unit_test(values_are_read_as_llvm_reads_them),
        cmocka_unit_test(long_lines_are_broken_as_llvm_breaks_them),
        cmocka_unit_test(frames_that_pass_by_libyaml_are_as_others),
        cmocka_unit_test(accesses_to_data_are_read),
        cmocka_unit_test(texts_are_quoted_as_llvm_quotes_them),
        cmocka_unit_test(unambiguous_texts_are_read),
        cmocka_unit_test(it_begins_with_a_key),
        cmocka_unit_test(losses_are_reported),
        cmocka_unit_test(faults_are_reported_with_their_place),
        cmocka_unit_test(a_frame_elsewhere_is_malformed),
        cmocka_unit_test(leniently_a_record_is_left_out),
        cmocka_unit_test(endless_texts_are_refused),
        cmocka_unit_test(texts_of_quadratic_time_are_not_read_on),
        cmocka_unit_test(the_allowed_depth_is_read),
        cmocka_unit_test(damage_is_survived),
        cmocka_unit_test(limits_bind),
        cmocka_unit_test(malformed_numbers_are_refused),
        cmocka_unit_test(a_failing_output_is_reported),
        cmocka_unit_test(detection_by_the_first_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
