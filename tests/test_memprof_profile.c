/* Memprof profiles as profiles: every metric, every split, with and without a symbolizer. Real profiles can be used
   like any dump. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "../heapdump.h"
#include "faults.h"
#include "heaps.h"
#include "load.h"
#include "memprof.h"

/* Blocks of three stacks: main -> work -> malloc, with work inlined into loop; main -> malloc; elsewhere. */
static void program(mp_model *m, uint32_t version) {
    static const uint64_t pc[] = { 0x401010, 0x402020, 0x403030, 0x401010, 0x403040, 0x401010, 0x7f0000001111, 0x99 };
    mp_open(m, version, 2, 4, 3, 8, 0);
    m->segments[0].start = 0x401000;
    m->segments[0].end = 0x404000;
    m->segments[0].offset = version < 3 ? 0x1000 : 0;
    m->segments[1].start = 0x7f0000001000;
    m->segments[1].end = 0x7f0000003000;
    m->segments[1].offset = version < 3 ? 0x800 : 0x7f0000000000;
    if (version > 2) {
        m->segments[0].build_id_size = 20;
        for (int i = 0; i < 20; i++) m->segments[0].build_id[i] = (uint8_t)(0xa0 + i);
        m->segments[1].build_id_size = 2;
        m->segments[1].build_id[0] = 0xbe;
        m->segments[1].build_id[1] = 0x0f;
    }
    memcpy(m->pc, pc, sizeof pc);
    m->first[1] = 3;
    m->first[2] = 5;
    m->first[3] = 8;
    for (uint32_t i = 0; i < 3; i++) m->stack_id[i] = i;
    for (uint32_t i = 0; i < 4; i++) {
        hd_memprof_block *b = &m->blocks[i];
        b->stack = i ? i - 1 : 0; /* the first two blocks have one stack */
        b->value[HD_MEMPROF_ALLOC_COUNT] = i + 1;
        b->value[HD_MEMPROF_TOTAL_SIZE] = 100 * (i + 1) * (i + 1);
        b->value[HD_MEMPROF_MIN_SIZE] = 50 - i;
        b->value[HD_MEMPROF_MAX_SIZE] = 200 + i;
        b->value[HD_MEMPROF_TOTAL_LIFETIME] = i == 3 ? 4 * 300000 : 5 * i * (i + 1);
        b->value[HD_MEMPROF_TOTAL_ACCESS_COUNT] = 7;
        b->value[HD_MEMPROF_TOTAL_LIFETIME_ACCESS_DENSITY] = version < 2 ? 0 : i == 3 ? 10 : i == 2 ? 3 * 100001 : 500;
    }
}

static void is(hd_str s, const char *text) {
    if (!hd_str_equal(s, hd_cstr(text))) fail_msg("'%.*s', not '%s'", (int)s.len, s.data, text);
}

/* Names for program's addresses, by their offset in the file. */
typedef struct symbols {
    uint32_t calls;
    bool file_offsets;
} symbols;

static uint32_t symbolize(void *user, const hd_memprof_address *a, hd_memprof_frame *f, uint32_t capacity) {
    symbols *s = (symbols *)user;
    char gone[64];               /* the symbolizer's texts are valid only until the next call */
    static char text[64];
    s->calls++;
    assert_true(capacity >= 2);
    assert_int_equal(a->file_offset, s->file_offsets);
    if (!a->segment) assert_int_equal(a->offset, a->pc);
    if (!a->segment || a->segment->start != 0x401000) return 0;
    snprintf(gone, sizeof gone, "%llx", (unsigned long long)(s->file_offsets ? a->offset - 0x1000 + 0x401000 : a->offset));
    f->file = hd_cstr("/src/program.cpp");
    if (!strcmp(gone, "401010")) {
        f->function = hd_cstr("malloc");
        f->file = hd_cstr("/llvm/memprof_malloc_linux.cpp");
        return 1;
    }
    if (!strcmp(gone, "402020")) {
        strcpy(text, "_Z4workv");
        f[0].function = hd_cstr(text);
        f[0].line = 12;
        f[0].start_line = 10;
        f[0].column = 3;
        f[0].discriminator = 2;
        f[1] = f[0];
        f[1].function = hd_cstr("loop");
        f[1].line = 31;
        return 2;
    }
    f->function = hd_cstr("main");
    f->line = !strcmp(gone, "403030") ? 50 : 51;
    return 1;
}

static hd_profile *made(const mp_model *m, const hd_memprof_view *view) {
    hd_profile *p = NULL;
    hd_error err;
    if (hd_memprof_profile(&m->raw, view, NULL, &p, &err)) fail_msg("%s", err.message);
    return p;
}

static void shows(const mp_model *m, const hd_memprof_view *view, const char *expected) {
    hd_profile *p = made(m, view);
    assert_text(profile_text(p), expected);
    hd_profile_free(p);
}

static void without_a_symbolizer(void **state) {
    (void)state;
    mp_model m;
    program(&m, 4);
    shows(&m, NULL,
          "/a0a1a2a3a4a5a6a7+0x403030/a0a1a2a3a4a5a6a7+0x402020/a0a1a2a3a4a5a6a7+0x401010 500 3\n"
          "/a0a1a2a3a4a5a6a7+0x403040/a0a1a2a3a4a5a6a7+0x401010 900 3\n"
          "/0x99/be0f+0x1111/a0a1a2a3a4a5a6a7+0x401010 1600 4\n");
    mp_close(&m);
    program(&m, 2);
    shows(&m, NULL,
          "/map@1000:3000+0x3030/map@1000:3000+0x2020/map@1000:3000+0x1010 500 3\n"
          "/map@1000:3000+0x3040/map@1000:3000+0x1010 900 3\n"
          "/0x99/map@800:2000+0x911/map@1000:3000+0x1010 1600 4\n");
    mp_close(&m);
}

static void with_a_symbolizer(void **state) {
    (void)state;
    for (uint32_t version = 1; version < 6; version++) {
        mp_model m;
        symbols s = { 0, version < 3 };
        hd_memprof_view view = { .symbolizer = { .symbolize = symbolize, .user = &s } };
        program(&m, version);
        shows(&m, &view, "/main/loop/_Z4workv 500 3\n/main 900 3\n"); /* the third stack has no frames left */
        assert_int_equal(s.calls, 6);                                 /* distinct addresses */
        view.symbolizer.keep_runtime = true;
        shows(&m, &view, "/main/loop/_Z4workv/malloc 500 3\n/main/malloc 900 3\n/malloc 1600 4\n");
        view.symbolizer.keep_unresolved = true;
        view.symbolizer.keep_runtime = false;
        view.lines = true;
        shows(&m, &view, version < 3 ? "/main program.cpp:50/loop program.cpp:31/_Z4workv program.cpp:12 500 3\n"
                                       "/main program.cpp:51 900 3\n/0x99/map@800:2000+0x911 1600 4\n"
                                     : "/main program.cpp:50/loop program.cpp:31/_Z4workv program.cpp:12 500 3\n"
                                       "/main program.cpp:51 900 3\n/0x99/be0f+0x1111 1600 4\n");
        mp_close(&m);
    }
}

static void frames_are_complete(void **state) {
    (void)state;
    mp_model m;
    symbols s = { 0, false };
    hd_memprof_symbolizer by = { .symbolize = symbolize, .user = &s };
    hd_memprof_symbols *found;
    program(&m, 4);
    assert_int_equal(hd_memprof_symbolize(&m.raw, &by, NULL, &found, NULL), HD_OK);
    assert_int_equal(found->addresses, 6);
    assert_int_equal(found->unresolved, 2);
    assert_int_equal(found->runtime, 1);
    assert_int_equal(found->stack_count, 3);
    assert_int_equal(found->first[1], 3);
    assert_int_equal(found->first[2], 4);
    assert_int_equal(found->first[3], 4);
    const hd_memprof_frame *f = &found->frames[found->frame[0]];
    is(f->function, "_Z4workv");
    is(f->file, "/src/program.cpp");
    assert_int_equal(f->line, 12);
    assert_int_equal(f->start_line, 10);
    assert_int_equal(f->column, 3);
    assert_int_equal(f->discriminator, 2);
    assert_true(f->inlined && f->resolved);
    assert_int_equal(f->segment, 0);
    assert_int_equal(f->pc, 0x402020);
    f = &found->frames[found->frame[1]];
    is(f->function, "loop");
    assert_false(f->inlined);
    is(found->frames[found->frame[2]].function, "main");
    hd_memprof_symbols_free(found);
    hd_memprof_symbols_free(NULL);
    assert_int_equal(hd_memprof_symbolize(&m.raw, NULL, NULL, &found, NULL), HD_OK);
    assert_int_equal(found->unresolved, 6);
    assert_int_equal(found->first[3], 8);
    f = &found->frames[found->frame[7]];
    assert_false(f->resolved);
    assert_int_equal(f->segment, HD_NONE);
    hd_memprof_symbols_free(found);
    mp_close(&m);
}

/* The number of frames is the address modulo `user`. 0 means a frame of the runtime. */
static uint32_t deep_symbolize(void *user, const hd_memprof_address *a, hd_memprof_frame *f, uint32_t capacity) {
    uint32_t n = (uint32_t)(a->pc % *(uint32_t *)user);
    assert_true(capacity == HD_MEMPROF_INLINE_MAX);
    for (uint32_t i = 0; i < (n ? n : 1); i++) {
        f[i].function = hd_cstr("f");
        f[i].file = hd_cstr(n ? "f.cpp" : "memprof_malloc_linux.cpp");
        f[i].line = i;
    }
    return n ? n : 1;
}

/* Stacks of addresses with each depth of inlining; the first stack has each address once. */
static void frames_of(mp_model *m, uint32_t depth, uint32_t stacks, uint32_t length) {
    uint64_t seed = depth;
    mp_open(m, 4, 1, 0, stacks, stacks * length, 0);
    m->segments[0].end = UINT64_MAX;
    for (uint32_t s = 0; s < stacks; s++) {
        m->stack_id[s] = s;
        m->first[s + 1] = (s + 1) * length;
        for (uint32_t k = 0; k < length; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            m->pc[s * length + k] = UINT64_C(0x9e3779b97f4a7c15) * (s ? seed >> 40 & (length - 1) : k);
        }
    }
}

static void inlined_frames_follow_each_other(void **state) {
    (void)state;
    const uint32_t depths[] = { 1, 2, 3, 4, 5, 6, 7, 9, 100, HD_MEMPROF_INLINE_MAX + 1 };
    for (size_t d = 0; d < sizeof depths / sizeof *depths; d++) {
        const uint32_t stacks = 40, length = 512; /* a power of two */
        uint32_t depth = depths[d];
        hd_memprof_symbolizer by = { .symbolize = deep_symbolize, .user = &depth };
        hd_options options = { 0 };
        hd_memprof_symbols *found;
        hd_error err;
        uint64_t all = 0;
        mp_model m;
        frames_of(&m, depth, stacks, length);
        assert_int_equal(hd_memprof_symbolize(&m.raw, &by, NULL, &found, NULL), HD_OK);
        assert_int_equal(found->addresses, length);
        for (uint32_t s = 0; s < stacks; s++) {
            assert_int_equal(found->first[s], all);
            for (uint32_t k = s * length; k < (s + 1) * length; k++)
                for (uint32_t i = 0; i < m.pc[k] % depth; i++) {
                    const hd_memprof_frame *f = &found->frames[found->frame[all++]];
                    if (f->pc != m.pc[k] || f->line != i || f->inlined != (i + 1 < m.pc[k] % depth))
                        fail_msg("stack %u, address %u of depth %u: frame %u is line %u of 0x%llx", s, k, depth, i,
                                 f->line, (unsigned long long)f->pc);
                }
        }
        assert_int_equal(found->first[stacks], all);
        hd_memprof_symbols_free(found);
        options.limits.max_records = all ? all : 1;
        assert_int_equal(hd_memprof_symbolize(&m.raw, &by, &options, &found, NULL), HD_OK);
        hd_memprof_symbols_free(found);
        options.limits.max_records--;
        if (options.limits.max_records) { /* 0 is the default */
            assert_int_equal(hd_memprof_symbolize(&m.raw, &by, &options, &found, &err), HD_LIMIT);
            assert_true(strstr(err.message, "more frames than max_records of "));
        }
        mp_close(&m);
    }
}

static hd_str own_label(void *user, const hd_memprof_raw *raw, uint32_t block) {
    (void)user;
    return hd_cstr(raw->blocks[block].value[HD_MEMPROF_ALLOC_COUNT] % 2 ? "odd" : "even");
}

/* The first two of the blocks 1 to 4 have one stack. */
static void every_metric_and_split(void **state) {
    (void)state;
    mp_model m;
    symbols s = { 0, false };
    hd_memprof_view view = { .symbolizer = { .symbolize = symbolize, .user = &s, .keep_runtime = true } };
    hd_profile *p;
    program(&m, 4);
    view.field = HD_MEMPROF_ALLOC_COUNT;
    shows(&m, &view, "/main/loop/_Z4workv/malloc 3 3\n/main/malloc 3 3\n/malloc 4 4\n");
    view.field = HD_MEMPROF_MIN_SIZE;
    shows(&m, &view, "/main/loop/_Z4workv/malloc 49 3\n/main/malloc 48 3\n/malloc 47 4\n");
    view.field = HD_MEMPROF_MAX_SIZE;
    shows(&m, &view, "/main/loop/_Z4workv/malloc 201 3\n/main/malloc 202 3\n/malloc 203 4\n");
    view.field = HD_MEMPROF_TOTAL_ACCESS_COUNT;
    shows(&m, &view, "/main/loop/_Z4workv/malloc 14 3\n/main/malloc 7 3\n/malloc 7 4\n");
    view.average = true;         /* 14 / 3, 7 / 3, 7 / 4, rounded to the nearest */
    shows(&m, &view, "/main/loop/_Z4workv/malloc 5 3\n/main/malloc 2 3\n/malloc 2 4\n");
    view.field = 0;              /* 500 / 3 */
    shows(&m, &view, "/main/loop/_Z4workv/malloc 167 3\n/main/malloc 300 3\n/malloc 400 4\n");
    view.field = HD_MEMPROF_TOTAL_LIFETIME;
    view.split = HD_MEMPROF_SPLIT_LIFETIME; /* 0, 5, 10, 300000 ms */
    shows(&m, &view,
          "/main/loop/_Z4workv/malloc /< 1 ms 0 1\n/main/loop/_Z4workv/malloc /< 10 ms 5 2\n"
          "/main/malloc /< 100 ms 10 3\n/malloc />= 100 s 300000 4\n");
    view.average = false;
    view.field = HD_MEMPROF_TOTAL_SIZE;
    view.split = HD_MEMPROF_SPLIT_SIZE; /* 100, 200, 300, 400 */
    shows(&m, &view,
          "/main/loop/_Z4workv/malloc /<= 128 100 1\n/main/loop/_Z4workv/malloc /<= 256 400 2\n"
          "/main/malloc /<= 512 900 3\n/malloc /<= 512 1600 4\n");
    view.split = HD_MEMPROF_SPLIT_HEAT; /* 5, 2.5, 1000.01, 0.025 accesses per byte and second */
    shows(&m, &view,
          "/main/loop/_Z4workv/malloc /not cold 500 3\n/main/malloc /hot 900 3\n/malloc /cold 1600 4\n");
    view.thresholds = (hd_memprof_thresholds){ .cold_density = 3, .cold_lifetime_ms = 5, .hot_density = 4.5 };
    shows(&m, &view,
          "/main/loop/_Z4workv/malloc /hot 100 1\n/main/loop/_Z4workv/malloc /cold 400 2\n"
          "/main/malloc /hot 900 3\n/malloc /cold 1600 4\n");
    view.split = HD_MEMPROF_SPLIT_BINARY;
    view.symbolizer.symbolize = NULL;
    p = made(&m, &view);
    assert_string_equal(hd_profile_axis(p, 1).name, "binary");
    is(hd_profile_axis(p, 1).node_name[1], "a0a1a2a3a4a5a6a7");
    hd_profile_free(p);
    view.symbolizer.symbolize = symbolize;
    view.label = own_label;
    p = made(&m, &view);
    assert_string_equal(hd_profile_axis(p, 1).name, "type");
    assert_text(profile_text(p), "/main/loop/_Z4workv/malloc /odd 100 1\n/main/loop/_Z4workv/malloc /even 400 2\n"
                                 "/main/malloc /odd 900 3\n/malloc /even 1600 4\n");
    assert_int_equal(hd_profile_bytes(p), 3000);
    assert_int_equal(hd_profile_blocks(p), 10);
    hd_profile_free(p);
    assert_int_equal(hd_memprof_block_heat(&m.raw, 2, NULL), HD_MEMPROF_HOT);
    /* exactly the threshold, which does not exceed it */
    m.blocks[2].value[HD_MEMPROF_TOTAL_LIFETIME_ACCESS_DENSITY] = 3 * 100000;
    assert_int_equal(hd_memprof_block_heat(&m.raw, 2, NULL), HD_MEMPROF_NOT_COLD);
    m.blocks[3].value[HD_MEMPROF_TOTAL_LIFETIME] = 4 * 200000 - 1;
    assert_int_equal(hd_memprof_block_heat(&m.raw, 3, NULL), HD_MEMPROF_NOT_COLD);
    m.blocks[3].value[HD_MEMPROF_ALLOC_COUNT] = 0;
    assert_int_equal(hd_memprof_block_heat(&m.raw, 3, NULL), HD_MEMPROF_HEAT_UNKNOWN);
    m.raw.fields = hd_memprof_version_fields(1);
    assert_int_equal(hd_memprof_block_heat(&m.raw, 2, NULL), HD_MEMPROF_HEAT_UNKNOWN);
    assert_string_equal(hd_memprof_heat_name(HD_MEMPROF_HEAT_UNKNOWN), "unknown");
    mp_close(&m);
}

static void refused(const mp_model *m, hd_memprof_view view, hd_status status, const char *message) {
    hd_profile *p = (hd_profile *)&view;
    hd_error err = { 0 };
    assert_int_equal(hd_memprof_profile(&m->raw, &view, NULL, &p, &err), status);
    assert_ptr_equal(p, &view);
    if (!strstr(err.message, message)) fail_msg("%s", err.message);
}

static void impossible_requests_are_reported(void **state) {
    (void)state;
    mp_model m;
    program(&m, 1);
    refused(&m, (hd_memprof_view){ .field = HD_MEMPROF_TOTAL_ACCESS_DENSITY }, HD_UNSUPPORTED,
            "the blocks do not have TotalAccessDensity");
    refused(&m, (hd_memprof_view){ .field = HD_MEMPROF_ALLOC_TIMESTAMP }, HD_INVALID,
            "expected a count or total, minimum or maximum, found AllocTimestamp");
    refused(&m, (hd_memprof_view){ .field = 28 }, HD_INVALID, "found unknown");
    refused(&m, (hd_memprof_view){ .field = HD_MEMPROF_MAX_SIZE, .average = true }, HD_INVALID, "found MaxSize");
    refused(&m, (hd_memprof_view){ .split = (hd_memprof_split)5 }, HD_INVALID, "there is no split 5");
    m.blocks[2].value[HD_MEMPROF_TOTAL_SIZE] = UINT64_MAX - 100;
    refused(&m, (hd_memprof_view){ 0 }, HD_OVERFLOW, "overflow");
    m.blocks[2].stack = 3;
    refused(&m, (hd_memprof_view){ 0 }, HD_INVALID, "stack");
    mp_close(&m);
}

static bool never(void *user, uint64_t done, uint64_t total) {
    (void)done, (void)total;
    return --*(int *)user >= 0;
}

static void faults_are_passed_up(void **state) {
    (void)state;
    mp_model m;
    symbols s = { 0, false };
    hd__faults f = { 0 };
    hd_memprof_view view = { .symbolizer = { .symbolize = symbolize, .user = &s, .keep_unresolved = true },
                             .lines = true, .split = HD_MEMPROF_SPLIT_SIZE };
    program(&m, 4);
    HD__EACH_FAULT(f) {
        hd_options options = { .allocator = hd__faults_allocator(&f) };
        hd_profile *p;
        hd_error err = { 0 };
        hd_status status = hd_memprof_profile(&m.raw, &view, &options, &p, &err);
        assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
        assert_int_equal(err.status, status);
        if (!status) hd_profile_free(p);
        assert_int_equal(f.live, 0);
        assert_null(f.misuse);
    }
    for (int calls = 0; calls < 3; calls++) {
        int left = calls;
        hd_options options = { .progress = never, .progress_user = &left };
        hd_profile *p;
        hd_status status = hd_memprof_profile(&m.raw, &view, &options, &p, NULL);
        assert_int_equal(status, calls < 2 ? HD_CANCELLED : HD_OK);
        if (!status) hd_profile_free(p);
    }
    for (uint64_t n = 1; n < 12; n++) {
        hd_options options = { .limits.max_records = n };
        hd_profile *p;
        hd_status status = hd_memprof_profile(&m.raw, &view, &options, &p, NULL);
        assert_int_equal(status, n < 7 ? HD_LIMIT : HD_OK); /* frames of all stacks, nodes */
        if (!status) hd_profile_free(p);
    }
    mp_bytes b = { 0 };
    mp_write(&b, &m.raw);
    f.fail_at = 0;
    HD__EACH_FAULT(f) {
        hd_options options = { .allocator = hd__faults_allocator(&f) };
        hd_dump *dump;
        hd_error err = { 0 };
        hd_status status = hd_read_memory(b.data, b.size, &options, &dump, &err);
        assert_int_equal(status, f.failed ? HD_OUT_OF_MEMORY : HD_OK);
        if (!status) hd_dump_free(dump);
        assert_int_equal(f.live, 0);
        assert_null(f.misuse);
    }
    free(b.data);
    mp_close(&m);
}

/* Recordings of tests/peers/programs/memprof_small.c, compiled by clang 14, 16 and 19. */
static void real_profiles(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint32_t version, segments, blocks;
        uint64_t count, bytes, accesses, counters;
    } real[] = {
        { "memprof-14.raw", 1, 6, 10, 29, 3636, 775, 0 },
        { "memprof-16.raw", 2, 7, 10, 29, 3635, 775, 0 },
        { "memprof-19.raw", 4, 7, 8, 27, 3572, 775, 0 },
        { "memprof-19-histogram.raw", 4, 7, 8, 27, 3572, 351, 229 },
    };
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
        uint8_t *data = NULL;
        size_t size = 0;
        hd_dump *dump;
        hd_error err;
        hd_buffer out = { 0 };
        uint64_t sums[28] = { 0 };
        bool chain = false, thread = false;
        load(real[i].name, &data, &size);
        if (hd_read_memory(data, size, NULL, &dump, &err)) fail_msg("%s: %s", real[i].name, err.message);
        assert_string_equal(hd_dump_format(dump)->name, "memprof");
        assert_null(hd_dump_graph(dump));
        assert_null(hd_dump_dart(dump));
        assert_int_equal(hd_memprof_write(hd_dump_memprof(dump), NULL, hd_out_memory(&out), NULL), HD_OK);
        assert_int_equal(out.size, size);
        assert_memory_equal(out.data, data, size);
        memset(data, 0, size);   /* the dump borrows nothing from the input */
        const hd_memprof_raw *r = hd_memprof_part(hd_dump_memprof(dump), 0);
        assert_int_equal(r->version, real[i].version);
        assert_int_equal(r->segment_count, real[i].segments);
        assert_int_equal(r->block_count, real[i].blocks);
        assert_int_equal(r->counter_count, real[i].counters);
        for (uint32_t b = 0; b < r->block_count; b++) {
            const uint64_t *v = r->blocks[b].value;
            for (uint32_t field = 1; field < 28; field++) sums[field] += v[field];
            chain |= v[HD_MEMPROF_ALLOC_COUNT] == 19 && v[HD_MEMPROF_TOTAL_SIZE] == 1900 && v[HD_MEMPROF_MIN_SIZE] == 10 &&
                     /* clang 14's runtime stored the smallest size for both */
                     v[HD_MEMPROF_MAX_SIZE] == (r->version == 1 ? 10 : 190);
            thread |= v[HD_MEMPROF_ALLOC_COUNT] == 1 && v[HD_MEMPROF_TOTAL_SIZE] == 1000;
        }
        assert_true(chain && thread);
        assert_int_equal(sums[HD_MEMPROF_ALLOC_COUNT], real[i].count);
        assert_int_equal(sums[HD_MEMPROF_TOTAL_SIZE], real[i].bytes);
        assert_int_equal(sums[HD_MEMPROF_TOTAL_ACCESS_COUNT], real[i].accesses);
        assert_int_equal(hd_dump_heap_count(dump), 1);
        const hd_heap *heap = hd_dump_heap(dump, 0);
        assert_string_equal(heap->dump, "0x1");
        assert_int_equal(hd_profile_bytes(heap->profile), real[i].bytes);
        assert_int_equal(hd_profile_blocks(heap->profile), real[i].count);
        out.size = 0;
        assert_int_equal(hd_print_tree(heap, NULL, hd_out_memory(&out), NULL), HD_OK);
        assert_int_equal(hd_print_top(heap, NULL, hd_out_memory(&out), NULL), HD_OK);
        assert_int_equal(hd_print_diff(heap, heap, NULL, hd_out_memory(&out), NULL), HD_OK);
        hd_buffer_free(&out);
        hd_dump_free(dump);
        free(data);
    }
}

/* The name of the first segment. */
static hd_str own_segment(void *user, const hd_memprof_raw *raw, uint32_t segment) {
    assert_true(segment < raw->segment_count);
    return hd_cstr(segment ? "" : (const char *)user);
}

static void a_segment_has_the_callers_name(void **state) {
    (void)state;
    char name[] = "app";
    for (uint32_t version = 1; version < 6; version += 3) {
        mp_model m;
        hd_memprof_view view = { .split = HD_MEMPROF_SPLIT_BINARY, .segment = own_segment, .user = name };
        program(&m, version);
        hd_profile *p = made(&m, &view);
        assert_string_equal(hd_profile_axis(p, 1).name, "binary");
        is(hd_profile_axis(p, 1).node_name[1], "app");
        hd_profile_free(p);
        name[0] = 0;
        p = made(&m, &view);
        is(hd_profile_axis(p, 1).node_name[1], version < 3 ? "map@1000:3000" : "a0a1a2a3a4a5a6a7");
        hd_profile_free(p);
        name[0] = 'a';
        mp_close(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_symbolizer),
        cmocka_unit_test(with_a_symbolizer),
        cmocka_unit_test(frames_are_complete),
        cmocka_unit_test(inlined_frames_follow_each_other),
        cmocka_unit_test(every_metric_and_split),
        cmocka_unit_test(a_segment_has_the_callers_name),
        cmocka_unit_test(impossible_requests_are_reported),
        cmocka_unit_test(faults_are_passed_up),
        cmocka_unit_test(real_profiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
