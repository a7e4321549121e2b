/* Heaps of the old format have self sizes. If the totals agree with them, a heap is a profile; else its sizes are
   added up to a breakdown. */
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

/* A backtrace may have an entry for all types together, for some types, or both. */
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

/* Heaps with totals that add up. ------------------------------------------------------------------- */

static void sizes_that_add_up_are_a_profile(void **state) {
    (void)state;
    static const struct { const char *entries, *cells; } cases[] = {
        { "{'size':'8'},{'size':'3','bt':'0'},{'size':'5','bt':'1'}",
          "1 0x1 malloc self /BrMain / 3 -\n1 0x1 malloc self /BrMain/Init / 5 -\n" },
        { "{'size':'9','count':'3'},{'size':'1','bt':'','count':'1'},{'size':'8','bt':'1','count':'2'}",
          "1 0x1 malloc self / / 1 1\n1 0x1 malloc self /BrMain/Init / 8 2\n" },
        /* totals of types, and of a backtrace with several types */
        { "{'size':'c'},{'size':'7','type':'1'},{'size':'5','type':'2'},{'size':'9','bt':'1'},{'size':'4','bt':'1','type':'1'},"
          "{'size':'5','bt':'1','type':'2'},{'size':'3','bt':'3','type':'1'}",
          "1 0x1 malloc self /BrMain/Init /T 4 -\n1 0x1 malloc self /BrMain/Init /U 5 -\n1 0x1 malloc self /RdMain /T 3 -\n" },
        /* a backtrace without types, and one with types */
        { "{'size':'9'},{'size':'4','type':'1'},{'size':'4','bt':'1','type':'1'},{'size':'5','bt':'3'}",
          "1 0x1 malloc self /BrMain/Init /T 4 -\n1 0x1 malloc self /RdMain / 5 -\n" },
        /* totals may be missing, as may the counts of totals */
        { "{'size':'4','type':'1'},{'size':'4','bt':'1','type':'1','count':'2'},{'size':'5','bt':'3','count':'1'}",
          "1 0x1 malloc self /BrMain/Init /T 4 2\n1 0x1 malloc self /RdMain / 5 1\n" },
        /* only by type */
        { "{'size':'9'},{'size':'4','type':'1'},{'size':'5','type':'2'}",
          "1 0x1 malloc self / /T 4 -\n1 0x1 malloc self / /U 5 -\n" },
        { "{'size':'0'}", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        snprintf(text, sizeof text, ENTRIES("%s"), cases[i].entries);
        assert_reads(text, cases[i].cells);
    }
    assert_reads("[{'pid':1,'ph':'M','args':{'stackFrames':{'1':{'name':'f'},'2':{'name':'f'}},'typeNames':{'1':'T','2':'T'}}},"
                 HEAPS("{'m':{'entries':[{'size':'6'},{'size':'4','type':'1'},{'size':'2','type':'2'},"
                       "{'size':'5','bt':'1','type':'2'},{'size':'1','bt':'2','type':'1'}]}}") "]",
                 "1 0x1 m self /f /T 6 -\n");
}

/* Each of these heaps has a total that differs from the sum of its self sizes. */
static void sizes_that_do_not_add_up_are_reported(void **state) {
    (void)state;
    static const struct { const char *entries, *told; } cases[] = {
        { "{'size':'9'},{'size':'3','bt':'0'},{'size':'5','bt':'1'}", "a total of 9 bytes, but its self sizes add up to 8" },
        { "{'size':'7'},{'size':'3','bt':'0'},{'size':'5','bt':'1'}", "a total of 7 bytes, but its self sizes add up to 8" },
        { "{'size':'9'}", "a total of 9 bytes, but its self sizes add up to 0" },
        { "{'size':'8','count':'3'},{'size':'3','bt':'0','count':'1'},{'size':'5','bt':'1','count':'1'}", "do not add up to its totals" },
        { "{'size':'8','count':'3'},{'size':'3','bt':'0','count':'1'},{'size':'5','bt':'1'}", "do not add up to its totals" },
        { "{'size':'8'},{'size':'8','type':'1'},{'size':'8','bt':'1'}", "do not add up to its totals" },
        { "{'size':'8'},{'size':'9','type':'1'},{'size':'8','bt':'1','type':'1'}", "do not add up to its totals" },
        { "{'size':'8'},{'size':'8','bt':'1'},{'size':'7','bt':'1','type':'1'}", "a total of 8 bytes, but its self sizes add up to 7" },

    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int lenient = 0; lenient < 2; lenient++) {
            char quoted[1024], *text;
            warnings seen = { 0 };
            hd_options options = { .lenient = lenient, .warning = keep_warning, .warning_user = &seen };
            hd_dump *d = NULL;
            snprintf(quoted, sizeof quoted, ENTRIES("%s"), cases[i].entries);
            text = trace_of(quoted, NULL);
            assert_int_equal(hd_read_memory(text, strlen(text), &options, &d, NULL), HD_OK);
            assert_non_null(hd_dump_heap(d, 0)->breakdown);
            assert_int_equal(seen.count, 1);
            assert_int_equal(hd_dump_warning_count(d), 0); /* no entry was skipped */
            assert_non_null(strstr(seen.last.message, cases[i].told));
            assert_non_null(strstr(seen.last.message, "pid 1, dump 0x1: "));
            hd_dump_free(d);
            free(text);
        }
}

/* Random heaps, compared with sums over all cells. ------------------------------------------------- */

enum { NODES = 40, TYPES_MAX = 4, CELLS = 60 };

typedef struct model {
    int parent[NODES];           /* parent of a frame, or -1 */
    /* self size of frame i by type; the last row is for no frame, type 0 for no type */
    uint64_t size[NODES + 1][TYPES_MAX];
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

/* Bytes at and below a frame (-1: all), of a type (0: all types). */
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
            if (any) continue;   /* a frame has all types together, or single types */
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
                assert_int_equal(b->entries.amount[i].bytes, 0x7fffffff);
            } else if (hd_str_equal(name, hd_cstr("<self>"))) {
                uint32_t above = b->axis[0].parent[node];
                int frame = above ? (int)number_of(b->axis[0].node_name[above]) : NODES;
                uint64_t own = 0;
                for (uint32_t k = 0; k < TYPES_MAX; k++) own += !type || k == type ? m.size[frame][k] : 0;
                assert_int_equal(b->entries.amount[i].bytes, own);
            } else {
                assert_int_equal(b->entries.amount[i].bytes, sum_of(&m, node ? (int)number_of(name) : -1, type));
                listed++;
            }
        }
        /* nothing is missing: every cell is listed at its frame */
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

/* An entry of the input: of frame `node` itself (NODES: no frame), or a total (-1); of a type, or of all types
   (0). */
typedef struct given {
    int node;
    uint32_t type;
    uint64_t bytes, blocks;
} given;

/* The sum of the cells of a profile that belong to an entry. */
static void come_to(const hd_profile *p, const given *g, uint64_t *bytes, uint64_t *blocks) {
    hd_rows cells = hd_profile_cells(p);
    hd_axis frames = hd_profile_axis(p, 0), types = hd_profile_axis(p, 1);
    *bytes = *blocks = 0;
    for (uint32_t i = 0; i < cells.count; i++) {
        uint32_t node = cells.node[2 * i], type = cells.node[2 * i + 1];
        int frame = node ? (int)number_of(frames.node_name[node]) : NODES;
        if (g->node >= 0 && frame != g->node) continue;
        if (g->type && (!type || number_of(types.node_name[type]) != g->type)) continue;
        *bytes += cells.amount[i].bytes;
        *blocks += cells.amount[i].blocks;
    }
}

/* All entries of a random heap in the old format: cells, and totals of types, of backtraces, and of the heap. */
static size_t random_entries(model *m, given *list) {
    size_t n = 0;
    given total = { -1, 0, 0, 0 }, by_type[TYPES_MAX] = { { -1, 0, 0, 0 }, { -1, 1, 0, 0 }, { -1, 2, 0, 0 }, { -1, 3, 0, 0 } };
    list[n++] = total;
    for (int i = 0; i <= NODES; i++) {
        bool apart = rnd(2);     /* entries by type */
        given all = { i, 0, 0, 0 };
        if (rnd(3)) continue;
        for (uint32_t t = apart; t < (apart ? TYPES_MAX : 1); t++) {
            given cell = { i, t, 1 + rnd(1000), 1 + rnd(9) };
            if (apart && rnd(2)) continue;
            list[n++] = cell;
            m->size[i][t] = cell.bytes;
            by_type[t].bytes += cell.bytes, by_type[t].blocks += cell.blocks;
            all.bytes += cell.bytes, all.blocks += cell.blocks;
        }
        if (apart && all.bytes) list[n++] = all;
        total.bytes += all.bytes, total.blocks += all.blocks;
    }
    for (uint32_t t = 1; t < TYPES_MAX; t++) list[n++] = by_type[t];
    list[0] = total;
    return n;
}

static hd_dump *read_entries(const model *m, const given *list, size_t n) {
    char *text;
    size_t size;
    hd_dump *d = NULL;
    FILE *f = open_memstream(&text, &size);
    fputs("[{\"ph\":\"M\",\"args\":{\"stackFrames\":{", f);
    for (int i = 0; i < NODES; i++) {
        fprintf(f, "%s\"%d\":{\"name\":\"f%d\"", i ? "," : "", i, i);
        if (m->parent[i] >= 0) fprintf(f, ",\"parent\":\"%d\"", m->parent[i]);
        fputc('}', f);
    }
    fputs("},\"typeNames\":{\"1\":\"t1\",\"2\":\"t2\",\"3\":\"t3\"}}},{\"ph\":\"v\",\"id\":1,\"args\":{\"dumps\":{\"heaps\":"
          "{\"m\":{\"entries\":[", f);
    for (size_t i = 0; i < n; i++) {
        fprintf(f, "%s{\"size\":\"%" PRIx64 "\",\"count\":\"%" PRIx64 "\"", i ? "," : "", list[i].bytes, list[i].blocks);
        if (list[i].node == NODES) fputs(",\"bt\":\"\"", f);
        else if (list[i].node >= 0) fprintf(f, ",\"bt\":\"%d\"", list[i].node);
        if (list[i].type) fprintf(f, ",\"type\":\"%u\"", list[i].type);
        fputc('}', f);
    }
    fputs("]}}}}}]", f);
    fclose(f);
    assert_int_equal(hd_read_memory(text, size, NULL, &d, NULL), HD_OK);
    free(text);
    return d;
}

static void assert_all_come_to(const hd_dump *d, const given *list, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint64_t bytes, blocks;
        come_to(hd_dump_heap(d, 0)->profile, &list[i], &bytes, &blocks);
        assert_int_equal(bytes, list[i].bytes);
        assert_int_equal(blocks, list[i].blocks);
    }
}

/* With all its entries, a heap is a profile, and its sums equal the entries. The heap is a profile without any one of
   its totals, too, but not without a cell. */
static void a_profile_comes_to_all_that_was_given(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed < 100; seed++) {
        given list[(NODES + 1) * (TYPES_MAX + 1) + TYPES_MAX], swap;
        model m;
        size_t n;
        hd_dump *d;
        rnd_state = seed * 104729;
        memset(&m, 0, sizeof m);
        for (int i = 0; i < NODES; i++) m.parent[i] = rnd(8) ? (int)rnd((uint32_t)i + 1) - 1 : i - 1;
        n = random_entries(&m, list);
        for (size_t i = 2; i < n; i++) { /* in any order, except that the first entry, the total, marks the format */
            size_t k = 1 + rnd((uint32_t)i);
            swap = list[i], list[i] = list[k], list[k] = swap;
        }
        d = read_entries(&m, list, n);
        assert_non_null(hd_dump_heap(d, 0)->profile);
        assert_int_equal(hd_dump_warning_count(d), 0);
        assert_all_come_to(d, list, n);

        hd_breakdown *b;
        assert_int_equal(hd_export(hd_dump_heap(d, 0)->profile, NULL, NULL, &b, NULL), HD_OK);
        for (uint32_t i = 0; i < b->entries.count; i++) {
            uint32_t node = b->entries.node[2 * i], type = b->entries.node[2 * i + 1];
            if (b->axis[0].node_name[node].len && b->axis[0].node_name[node].data[0] == '<') continue;
            if (type && b->axis[1].node_name[type].data[0] == '<') continue;
            assert_int_equal(b->entries.amount[i].bytes, sum_of(&m, node ? (int)number_of(b->axis[0].node_name[node]) : -1,
                                                         type ? number_of(b->axis[1].node_name[type]) : 0));
        }
        hd_breakdown_free(b);
        hd_dump_free(d);

        for (size_t i = 1; i < n; i++) {
            bool is_all = list[i].node < 0;
            for (size_t k = 1; k < n && list[i].node >= 0 && !list[i].type; k++)
                is_all |= k != i && list[k].node == list[i].node;
            swap = list[i], list[i] = list[n - 1];
            d = read_entries(&m, list, n - 1);
            assert_int_equal(hd_dump_heap(d, 0)->profile != NULL, is_all);
            if (is_all) assert_all_come_to(d, list, n - 1);
            hd_dump_free(d);
            list[i] = swap;
        }
    }
}

/* Two entries far down a chain of frames: their sums must not be stored at every frame of the chain. */
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
    assert_int_equal(rows->amount[0].bytes, 9);
    assert_int_equal(rows->node[2], CHAIN / 2 + 1);
    assert_int_equal(rows->amount[1].bytes, 3);
    hd_dump_free(d);
    assert_int_equal(faults.live, 0);
    free(text);
}

static void sums_over_64_bits_are_reported(void **state) {
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
        cmocka_unit_test(sizes_that_add_up_are_a_profile),
        cmocka_unit_test(sizes_that_do_not_add_up_are_reported),
        cmocka_unit_test(random_heaps_are_their_sums),
        cmocka_unit_test(a_profile_comes_to_all_that_was_given),
        cmocka_unit_test(long_chains_stay_in_proportion),
        cmocka_unit_test(sums_over_64_bits_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
