/* Heaps of the old format: their entries are self sizes, which reading adds up. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../heapdump.h"
#include "faults.h"
#include "heaps.h"
#include "traces.h"

static void first_entry_without_bt_makes_the_old_format(void **state) {
    (void)state;
    assert_reads(ENTRIES("{'size':'10'},{'size':'3','bt':'0'},{'size':'5','bt':'1'}"),
                 "1 0x1 malloc / / 16 -\n1 0x1 malloc /BrMain / 8 -\n1 0x1 malloc /BrMain/<self> / 3 -\n"
                 "1 0x1 malloc /BrMain/Init / 5 -\n");
    assert_reads(ENTRIES("{'size':'10','bt':''},{'size':'3','bt':'0'},{'size':'5','bt':'1'}"),
                 "1 0x1 malloc / / 16 -\n1 0x1 malloc /BrMain / 3 -\n1 0x1 malloc /BrMain/Init / 5 -\n");
}

static void each_heap_has_a_format_of_its_own(void **state) {
    (void)state;
    assert_reads(TRACE("{'a':{'entries':[{'size':'9'},{'size':'3','bt':'0'},{'size':'1','bt':'1'}]},"
                       "'b':{'entries':[{'size':'9','bt':''},{'size':'3','bt':'0'},{'size':'1','bt':'1'}]}}"),
                 "1 0x1 a / / 9 -\n1 0x1 a /BrMain / 4 -\n1 0x1 a /BrMain/<self> / 3 -\n1 0x1 a /BrMain/Init / 1 -\n"
                 "1 0x1 b / / 9 -\n1 0x1 b /BrMain / 3 -\n1 0x1 b /BrMain/Init / 1 -\n");
}

static void cumulative_sizes_that_are_given_stay(void **state) {
    (void)state;
    assert_reads(ENTRIES("{'size':'64','count':'7'},{'size':'5','type':'1'},{'size':'3','bt':'0','type':'1'}"),
                 "1 0x1 malloc / / 100 7\n1 0x1 malloc / /T 5 -\n1 0x1 malloc /BrMain / 3 -\n1 0x1 malloc /BrMain /T 3 -\n");
}

static void a_missing_total_is_added_up(void **state) {
    (void)state;
    assert_reads(ENTRIES("{'size':'5','type':'1'},{'size':'3','bt':'0','type':'1'},{'size':'4','bt':'3'},{'size':'1','bt':''}"),
                 "1 0x1 malloc / / 8 -\n1 0x1 malloc / /T 5 -\n1 0x1 malloc /<self> / 1 -\n"
                 "1 0x1 malloc /BrMain / 3 -\n1 0x1 malloc /BrMain /T 3 -\n1 0x1 malloc /RdMain / 4 -\n");
}

/* A backtrace may be given for all types together, for some of them, or both. */
static void sizes_of_all_types_are_given_or_added_up(void **state) {
    (void)state;
    assert_reads(ENTRIES("{'size':'64'},{'size':'9','bt':'3'},{'size':'4','bt':'3','type':'1'},"
                         "{'size':'1','bt':'1','type':'1'},{'size':'2','bt':'1','type':'2'}"),
                 "1 0x1 malloc / / 100 -\n1 0x1 malloc / /T 5 -\n1 0x1 malloc / /U 2 -\n"
                 "1 0x1 malloc /BrMain/Init / 3 -\n1 0x1 malloc /BrMain/Init /T 1 -\n1 0x1 malloc /BrMain/Init /U 2 -\n"
                 "1 0x1 malloc /RdMain / 9 -\n1 0x1 malloc /RdMain /T 4 -\n");
}

static void counts_are_added_up_where_all_are_known(void **state) {
    (void)state;
    assert_reads(ENTRIES("{'size':'64'},{'size':'3','bt':'0','count':'1'},{'size':'5','bt':'1','count':'2'},"
                         "{'size':'7','bt':'2','count':'a'}"),
                 "1 0x1 malloc / / 100 -\n1 0x1 malloc /BrMain / 15 13\n1 0x1 malloc /BrMain/<self> / 3 1\n"
                 "1 0x1 malloc /BrMain/Init / 5 2\n1 0x1 malloc /BrMain/MsgLp / 7 10\n");
    assert_reads(ENTRIES("{'size':'64'},{'size':'3','bt':'0'},{'size':'5','bt':'1','count':'2'}"),
                 "1 0x1 malloc / / 100 -\n1 0x1 malloc /BrMain / 8 -\n1 0x1 malloc /BrMain/<self> / 3 -\n"
                 "1 0x1 malloc /BrMain/Init / 5 2\n");
}

/* Random heaps against sums over all cells. -------------------------------------------------------- */

enum { NODES = 40, TYPES_MAX = 4, CELLS = 60 };

typedef struct model {
    int parent[NODES];           /* of frames; -1: none */
    uint64_t size[NODES + 1][TYPES_MAX]; /* of frame i in itself, the last that of no frame; type 0: none told */
} model;

static uint64_t rnd_state;
static uint32_t rnd(uint32_t n) {
    rnd_state = rnd_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(rnd_state >> 33) % n;
}

static bool is_below(const model *m, int node, int above) {
    for (; node >= 0 && node < NODES; node = m->parent[node])
        if (node == above) return true;
    return above < 0;
}

/* Bytes at and below a frame (-1: all), of a type (0: all). */
static uint64_t sum_of(const model *m, int above, uint32_t type) {
    uint64_t sum = 0;
    for (int i = 0; i <= NODES; i++)
        for (uint32_t t = 0; t < TYPES_MAX; t++)
            if ((i == NODES ? above < 0 : is_below(m, i, above)) && (!type || t == type)) sum += m->size[i][t];
    return sum;
}

static uint32_t number_of(hd_str name) {
    uint32_t n = 0;
    for (size_t i = 1; i < name.len; i++) n = n * 10 + (uint32_t)(name.data[i] - '0');
    return n;
}

static void random_heaps_are_their_sums(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed < 200; seed++) {
        model m;
        char *text;
        size_t size, listed = 0;
        rnd_state = seed * 7919;
        FILE *f = open_memstream(&text, &size);
        fputs("[{\"ph\":\"M\",\"args\":{\"stackFrames\":{", f);
        for (int i = 0; i < NODES; i++) {
            m.parent[i] = rnd(8) ? (int)rnd((uint32_t)i + 1) - 1 : i - 1;
            fprintf(f, "%s\"%d\":{\"name\":\"f%d\"", i ? "," : "", i, i);
            if (m.parent[i] >= 0) fprintf(f, ",\"parent\":\"%d\"", m.parent[i]);
            fputc('}', f);
        }
        fputs("},\"typeNames\":{\"1\":\"t1\",\"2\":\"t2\",\"3\":\"t3\"}}},{\"ph\":\"v\",\"id\":1,\"args\":{\"dumps\":{\"heaps\":"
              "{\"m\":{\"entries\":[{\"size\":\"7fffffff\"}", f);
        memset(m.size, 0, sizeof m.size);
        uint32_t cells = rnd(CELLS);
        for (uint32_t i = 0; i < cells; i++) {
            uint32_t node = rnd(NODES + 1), type = rnd(2) ? rnd(TYPES_MAX) : seed % TYPES_MAX, bytes = 1 + rnd(1000);
            bool any = m.size[node][type] != 0;
            for (uint32_t t = 0; t < TYPES_MAX; t++) any |= (!t != !type) && m.size[node][t];
            if (any) continue;   /* all types together, or one by one */
            m.size[node][type] = bytes;
            fprintf(f, ",{\"bt\":\"");
            if (node < NODES) fprintf(f, "%u", node);
            fprintf(f, "\",\"size\":\"%x\"", bytes);
            if (type) fprintf(f, ",\"type\":\"%u\"", type);
            fputc('}', f);
        }
        fputs("]}}}}}]", f);
        fclose(f);
        hd_dump *d = NULL;
        hd_error err = { 0 };
        if (hd_read_memory(text, size, NULL, &d, &err)) fail_msg("%s", err.message);
        const hd_breakdown *b = hd_dump_heap(d, 0)->breakdown;
        for (uint32_t i = 0; i < b->entries.count; i++) {
            uint32_t node = b->entries.node[2 * i], t = b->entries.node[2 * i + 1];
            uint32_t type = t ? number_of(b->axis[1].node_name[t]) : 0;
            hd_str name = b->axis[0].node_name[node];
            if (!node && !type) {
                assert_int_equal(b->entries.bytes[i], 0x7fffffff);
            } else if (hd_str_equal(name, hd_cstr("<self>"))) {
                uint32_t above = b->axis[0].parent[node];
                int frame = above ? (int)number_of(b->axis[0].node_name[above]) : NODES;
                uint64_t own = 0;
                for (uint32_t k = 0; k < TYPES_MAX; k++) own += !type || k == type ? m.size[frame][k] : 0;
                assert_int_equal(b->entries.bytes[i], own);
            } else {
                assert_int_equal(b->entries.bytes[i], sum_of(&m, node ? (int)number_of(name) : -1, type));
                listed++;
            }
        }
        /* nothing is left out: every cell stands at its frame */
        for (int i = 0; i < NODES; i++)
            for (uint32_t t = 0; t < TYPES_MAX; t++) {
                bool found = !m.size[i][t];
                for (uint32_t k = 0; k < b->entries.count && !found; k++) {
                    uint32_t node = b->entries.node[2 * k], type = b->entries.node[2 * k + 1];
                    found = node && (type ? number_of(b->axis[1].node_name[type]) : 0) == t &&
                            number_of(b->axis[0].node_name[node]) == (uint32_t)i;
                }
                assert_true(found);
            }
        assert_true(listed <= 4u * cells + TYPES_MAX);
        hd_dump_free(d);
        free(text);
    }
}

/* Two entries far down a chain of frames: their sums must not be had at every frame of it. */
static void long_chains_stay_in_proportion(void **state) {
    (void)state;
    enum { CHAIN = 20000, HEAP_COUNT = 1000 };
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    fputs("[{\"ph\":\"M\",\"args\":{\"stackFrames\":{\"0\":{\"name\":\"f\"}", f);
    for (int i = 1; i < CHAIN; i++) fprintf(f, ",\"%d\":{\"name\":\"f\",\"parent\":\"%d\"}", i, i - 1);
    fprintf(f, ",\"x\":{\"name\":\"x\",\"parent\":\"%d\"}}}},{\"ph\":\"v\",\"id\":1,\"args\":{\"dumps\":{\"heaps\":{", CHAIN / 2);
    for (int i = 0; i < HEAP_COUNT; i++)
        fprintf(f, "%s\"%d\":{\"entries\":[{\"size\":\"9\"},{\"size\":\"1\",\"bt\":\"%d\"},{\"size\":\"2\",\"bt\":\"x\"}]}",
                i ? "," : "", i, CHAIN - 1);
    fputs("}}}}]", f);
    fclose(f);
    hd__faults faults = { .cap = 20 * size };
    hd_options options = { .allocator = hd__faults_allocator(&faults) };
    hd_dump *d;
    assert_int_equal(hd_read_memory(text, size, &options, &d, NULL), HD_OK);
    assert_int_equal(hd_dump_heap_count(d), HEAP_COUNT);
    const hd_rows *rows = &hd_dump_heap(d, 7)->breakdown->entries;
    assert_int_equal(rows->count, 4);
    assert_int_equal(rows->bytes[0], 9);
    assert_int_equal(rows->node[2], CHAIN / 2 + 1);
    assert_int_equal(rows->bytes[1], 3);
    hd_dump_free(d);
    assert_int_equal(faults.live, 0);
    free(text);
}

static void sums_that_pass_64_bits_are_told(void **state) {
    (void)state;
    char *text = trace_of(ENTRIES("{'size':'9'},{'size':'ffffffffffffffff','bt':'1'},{'size':'2','bt':'2'}"), NULL);
    hd_options lenient = { .lenient = true };
    hd_dump *d = NULL;
    assert_int_equal(hd_read_memory(text, strlen(text), NULL, &d, NULL), HD_OVERFLOW);
    assert_int_equal(hd_read_memory(text, strlen(text), &lenient, &d, NULL), HD_OK);
    assert_int_equal(hd_dump_warning_count(d), 1);
    hd_dump_free(d);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_entry_without_bt_makes_the_old_format),
        cmocka_unit_test(each_heap_has_a_format_of_its_own),
        cmocka_unit_test(cumulative_sizes_that_are_given_stay),
        cmocka_unit_test(a_missing_total_is_added_up),
        cmocka_unit_test(sizes_of_all_types_are_given_or_added_up),
        cmocka_unit_test(counts_are_added_up_where_all_are_known),
        cmocka_unit_test(random_heaps_are_their_sums),
        cmocka_unit_test(long_chains_stay_in_proportion),
        cmocka_unit_test(sums_that_pass_64_bits_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
