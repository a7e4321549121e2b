/* threads. Sampled recordings: estimates are unbiased, standard errors are honest, and both survive export, renaming
   and traces. All seeds are fixed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "private.h"
#include "long.h"
#include "heaps.h"
#include "traces.h"

static hd_recorder *sampler(uint64_t sample_bytes, uint64_t seed) {
    hd_recorder_desc desc = { .tracker = { .capture = HD_CAPTURE_OFF }, .sample_bytes = sample_bytes,
                              .sample_seed = seed };
    hd_recorder *rec = hd_recorder_create(&desc, NULL);
    assert_non_null(rec);
    return rec;
}

static const void *at(uint64_t i) { return (const void *)(uintptr_t)(i << 4); }

static uint64_t recorded(hd_recorder *rec) {
    hd_recorder_counters stats;
    hd_recorder_stats(rec, &stats);
    return stats.live_blocks;
}

static hd_profile *snapshot(hd_recorder *rec) {
    hd_profile *p;
    assert_int_equal(hd_recorder_snapshot(rec, NULL, &p, NULL), HD_OK);
    return p;
}

static bool near(double a, double b, double relative) { return fabs(a - b) <= relative * fabs(b); }

/* The functions that sampling needs. ---------------------------------------------------------- */

static void logarithms_and_probabilities_equal_libm(void **state) {
    (void)state;
    for (int i = 0; i <= 53; i++) assert_true(near(hd__number_log(ldexp(1, -i)), log(ldexp(1, -i)), 1e-13) || !i);
    for (int i = 1; i < 1000; i++) assert_true(near(hd__number_log(i / 1000.0), log(i / 1000.0), 1e-13));
    assert_true(hd__number_log(1) == 0 && hd__number_decay(0) == 0);
    for (double x = 1e-12; x < 100; x *= 1.7) assert_true(near(hd__number_decay(x), -expm1(-x), 1e-13));
}

static void standard_errors_are_square_roots(void **state) {
    (void)state;
    static const struct {
        hd_u128 variance;
        uint64_t root;
    } rounded[] = { { { 0, 0 }, 0 },
                    { { 1, 0 }, 1 },
                    { { 2, 0 }, 1 },
                    { { 3, 0 }, 2 },
                    { { 6, 0 }, 2 },
                    { { 7, 0 }, 3 },
                    { { UINT64_MAX, 0 }, UINT64_C(1) << 32 },
                    { { 0, 1 }, UINT64_C(1) << 32 },
                    { { 0, UINT64_MAX }, UINT64_MAX - 1 },
                    { { UINT64_MAX, UINT64_MAX }, UINT64_MAX - 1 } };
    for (size_t i = 0; i < sizeof rounded / sizeof *rounded; i++)
        assert_int_equal(hd_standard_error(rounded[i].variance), rounded[i].root);
    for (uint64_t i = 1; i < UINT64_C(1) << 62; i += i / 3 + 1) {
        hd_u128 square = hd__u128_product(i, i), below = { i, 0 }, one = { 1, 0 };
        assert_int_equal(hd_standard_error(square), i);
        assert_int_equal(hd_standard_error(hd__u128_add(square, below)), i);
        assert_int_equal(hd_standard_error(hd__u128_add(hd__u128_add(square, below), one)), i + 1);
    }
}

static void assert_u128(hd_u128 n, uint64_t hi, uint64_t lo) {
    assert_true(n.hi == hi && n.lo == lo);
}

static void variances_are_added_exactly(void **state) {
    (void)state;
    hd_u128 one = { 1, 0 }, low = { UINT64_MAX, 0 }, most = { UINT64_MAX, UINT64_MAX }, high = { 5, UINT64_MAX };
    assert_u128(hd__u128_add(low, one), 1, 0);
    assert_u128(hd__u128_add(low, low), 1, UINT64_MAX - 1);
    assert_u128(hd__u128_add(most, one), UINT64_MAX, UINT64_MAX);
    assert_u128(hd__u128_add(high, high), UINT64_MAX, UINT64_MAX);
    assert_u128(hd__u128_add(high, low), UINT64_MAX, UINT64_MAX);
    assert_u128(hd__u128_less(hd__u128_add(low, one), one), 0, UINT64_MAX);
    assert_u128(hd__u128_less(one, low), 0, 0);
    assert_u128(hd__u128_less(high, one), UINT64_MAX, 4);
    assert_u128(hd__u128_product(UINT64_MAX, UINT64_MAX), UINT64_MAX - 1, 1);
    assert_u128(hd__u128_product(UINT64_C(1) << 40, (UINT64_C(1) << 40) + 1), 1 << 16, UINT64_C(1) << 40);
    assert_u128(hd__u128_round(-1), 0, 0);
    assert_u128(hd__u128_round((double)NAN), 0, 0);
    assert_u128(hd__u128_round(0.49), 0, 0);
    assert_u128(hd__u128_round(2.5), 0, 3);
    assert_u128(hd__u128_round(ldexp(1, 53) + 2), 0, (UINT64_C(1) << 53) + 2);
    assert_u128(hd__u128_round(ldexp(3, 100)), UINT64_C(3) << 36, 0);
    assert_u128(hd__u128_round(ldexp(1, 128)), UINT64_MAX, UINT64_MAX);
    assert_u128(hd__u128_round((double)INFINITY), UINT64_MAX, UINT64_MAX);
}

static double as_double(hd_u128 n) { return ldexp((double)n.hi, 64) + (double)n.lo; }

/* Sampling. ----------------------------------------------------------------------------------- */

static void blocks_much_larger_than_the_gap_are_all_recorded_as_they_are(void **state) {
    (void)state;
    hd_recorder *rec = sampler(16, 1);
    for (uint64_t i = 1; i <= 1000; i++) assert_true(hd_record_alloc(rec, at(i), 4096, "T"));
    hd_profile *p = snapshot(rec);
    assert_int_equal(hd_profile_bytes(p), 4096000);
    assert_int_equal(hd_profile_blocks(p), 1000);
    assert_u128(hd_profile_cells(p).amount[0].variance, 0, 0);
    hd_profile_free(p);
    for (uint64_t i = 1; i <= 1000; i++) assert_true(hd_record_free(rec, at(i)));
    assert_int_equal(recorded(rec), 0);
    assert_int_equal(hd_recorder_live_bytes(rec), 0);
    hd_recorder_free(rec);
}

/* One block of 1 / (1 - exp(-64 / 65536)) is sampled, and represents all of these. */
static void a_sampled_block_represents_the_skipped_ones(void **state) {
    (void)state;
    hd_recorder *rec = sampler(65536, 7);
    uint64_t i = 1;
    while (!hd_record_alloc(rec, at(i), 64, "T")) i++;
    assert_int_equal(recorded(rec), 1);
    hd_profile *p = snapshot(rec);
    double weight = 1 / -expm1(-64 / 65536.0), error = 64 * sqrt(weight * (weight - 1));
    assert_int_equal(hd_profile_bytes(p), (uint64_t)(64 * weight + 0.5));
    assert_int_equal(hd_profile_blocks(p), (uint64_t)(weight + 0.5));
    assert_int_equal(hd_recorder_live_bytes(rec), (uint64_t)(64 * weight + 0.5));
    assert_int_equal(hd_standard_error(hd_profile_cells(p).amount[0].variance), (uint64_t)(error + 0.5));
    hd_profile_free(p);
    for (uint64_t k = 1; k < i; k++) assert_false(hd_record_free(rec, at(k)));
    assert_true(hd_record_free(rec, at(i)));
    assert_false(hd_record_free(rec, at(i)));
    assert_int_equal(hd_recorder_live_bytes(rec), 0);
    hd_recorder_free(rec);
}

static void equal_seeds_draw_equal_samples(void **state) {
    (void)state;
    uint8_t drawn[3][2000];
    static const uint64_t seeds[3] = { 5, 5, 6 };
    for (int r = 0; r < 3; r++) {
        hd_recorder *rec = sampler(1000, seeds[r]);
        for (uint64_t i = 0; i < 2000; i++) drawn[r][i] = hd_record_alloc(rec, at(i + 1), 100, NULL);
        hd_recorder_free(rec);
    }
    assert_memory_equal(drawn[0], drawn[1], sizeof drawn[0]);
    assert_memory_not_equal(drawn[0], drawn[2], sizeof drawn[0]);
}

/* More sampled blocks than the filter has counters, so that some counters are full. */
static void freed_samples_go_however_full_the_filter_is(void **state) {
    (void)state;
    enum { N = 300000 };
    hd_recorder *rec = sampler(1, 3);
    for (uint64_t i = 1; i <= N; i++) assert_true(hd_record_alloc(rec, at(i), 64, NULL));
    for (uint64_t i = 1; i <= N; i++) assert_true(hd_record_free(rec, at(i)));
    assert_int_equal(recorded(rec), 0);
    for (uint64_t i = 1; i <= 1000; i++) {
        assert_true(hd_record_alloc(rec, at(i), 64, NULL));
        assert_true(hd_record_free(rec, at(i)));
        assert_false(hd_record_free(rec, at(i)));
    }
    /* one address, more often than a counter can count */
    for (uint64_t i = 0; i < 1000; i++) assert_true(hd_record_alloc(rec, at(1), 64, NULL));
    assert_true(hd_record_free(rec, at(1)));
    assert_int_equal(hd_recorder_live_bytes(rec), 0);
    hd_recorder_free(rec);
}

static void reallocations_and_types_of_blocks_left_out(void **state) {
    (void)state;
    hd_recorder *rec = sampler(UINT64_C(1) << 40, 3), *all = sampler(1, 3);
    hd_resize resize;
    assert_false(hd_record_alloc(rec, at(1), 100, "T"));
    hd_record_resize(rec, at(1), &resize);
    assert_int_equal(resize.address, 0);
    hd_record_not_resized(rec, &resize);
    assert_false(hd_record_set_type(rec, at(1), "U"));
    assert_true(hd_record_alloc(all, at(1), 100, "T"));
    hd_record_resize(all, at(1), &resize);
    assert_int_equal(hd_recorder_live_bytes(all), 100);
    hd_record_not_resized(all, &resize);
    assert_true(hd_record_set_type(all, at(1), "U"));
    assert_true(hd_record_free(all, at(1)));
    hd_recorder_free(all);
    hd_recorder_free(rec);
}

/* Unbiased. ----------------------------------------------------------------------------------- */

enum { SITES = 24, BLOCKS = 40000, LARGEST = 10 };
#define RUNS ((unsigned)long_or_short(200, 80))

typedef struct site {
    char name[16];
    uint64_t size, bytes, blocks; /* exact */
    double sum, squares, counts, count_squares; /* over the estimates of all runs */
    unsigned covered;            /* runs with the true value within the standard error */
} site;

static int larger(const void *a, const void *b) {
    const site *x = a, *y = b;
    return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

/* Sites of all sizes: empty, one byte, up to half a sampling interval, and several intervals. */
static void program_allocates(hd_recorder *rec, site *sites, bool tally) {
    uint64_t random = 12345;
    for (uint64_t i = 0; i < BLOCKS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        site *s = &sites[(random >> 33) % SITES];
        uint64_t size = s->size + (s->size ? (random >> 40) % s->size : 0);
        hd_record_alloc(rec, at(i + 1), size, s->name);
        if (random >> 62) {
            if (tally) s->bytes += size, s->blocks++;
        } else {
            hd_record_free(rec, at(i + 1));
        }
    }
}

static void add_run(site *s, double bytes, double blocks, hd_u128 variance) {
    s->sum += bytes;
    s->squares += bytes * bytes;
    s->counts += blocks;
    s->count_squares += blocks * blocks;
    s->covered += fabs(bytes - (double)s->bytes) <= (double)hd_standard_error(variance);
}

/* The mean over all runs is within three of its standard errors. */
static void assert_mean(double sum, double squares, uint64_t exact) {
    double mean = sum / RUNS, spread = sqrt((squares / RUNS - mean * mean) / RUNS);
    assert_true(fabs(mean - (double)exact) <= 3 * spread);
}

/* Expects 68.3 %, within three binomial standard deviations. */
static void assert_covered(unsigned covered, unsigned runs) {
    double spread = 3 * sqrt(0.683 * (1 - 0.683) * runs);
    assert_in_range(covered, (unsigned)(0.683 * runs - spread), (unsigned)(0.683 * runs + spread));
}

static void assert_unbiased(const site *s) {
    assert_mean(s->sum, s->squares, s->bytes);
    assert_mean(s->counts, s->count_squares, s->blocks);
}

static void estimates_are_unbiased_and_their_errors_honest(void **state) {
    (void)state;
    site sites[SITES] = { 0 }, total = { .size = 1 };
    unsigned covered = 0;
    for (int i = 0; i < SITES; i++) {
        snprintf(sites[i].name, sizeof sites[i].name, "site%02u", (unsigned)i);
        sites[i].size = i < 2 ? (uint64_t)i : (uint64_t)(8 * pow(1.55, i - 2));
    }
    for (unsigned run = 0; run < RUNS; run++) {
        hd_recorder *rec = sampler(65536, run + 1);
        hd_u128 none = { 0, 0 }, variance = none;
        program_allocates(rec, sites, run == 0);
        if (!run) {
            for (int i = 0; i < SITES; i++) total.bytes += sites[i].bytes, total.blocks += sites[i].blocks;
        }
        hd_profile *p = snapshot(rec);
        hd_rows cells = hd_profile_cells(p);
        hd_axis types = hd_profile_axis(p, HD_AXIS_TYPE);
        for (int i = 0; i < SITES; i++) {
            uint32_t node = hd_axis_child(types, 0, hd_cstr(sites[i].name)), c = 0;
            while (c < cells.count && cells.node[2 * c + 1] != node) c++;
            if (c < cells.count) {
                add_run(&sites[i], (double)cells.amount[c].bytes, (double)cells.amount[c].blocks, cells.amount[c].variance);
                variance = hd__u128_add(variance, cells.amount[c].variance);
            } else {
                add_run(&sites[i], 0, 0, none);
            }
        }
        add_run(&total, (double)hd_profile_bytes(p), (double)hd_profile_blocks(p), variance);
        hd_profile_free(p);
        hd_recorder_free(rec);
    }
    qsort(sites, SITES, sizeof *sites, larger);
    assert_unbiased(&total);
    for (int i = 0; i < LARGEST; i++) {
        assert_unbiased(&sites[i]);
        covered += sites[i].covered;
    }
    assert_covered(total.covered, RUNS);
    assert_covered(covered, LARGEST * RUNS);
}

/* Estimates in profiles, breakdowns, trees and traces. ---------------------------------------- */

static hd_profile *estimates(void) {
    hd_profile *p = profile_new(2);
    uint32_t a[2] = { path_node(p, 0, "/A"), path_node(p, 1, "/T") }, b[2] = { path_node(p, 0, "/A/B"), a[1] };
    assert_int_equal(add_estimate(p, a, 1000, 10, 900), HD_OK);
    assert_int_equal(add_estimate(p, b, 3000, 30, 1000), HD_OK);
    assert_int_equal(add_estimate(p, b, 0, 0, 600), HD_OK);
    return p;
}

/* Variance of the entry of a backtrace over all types; -1 if it is not listed. */
static double variance_at(const hd_breakdown *b, const char *backtrace) {
    uint32_t nodes[2] = { 0, 0 }, entry;
    while (*backtrace && nodes[0] != HD_NONE) {
        hd_str name = { backtrace + 1, strcspn(backtrace + 1, "/") };
        nodes[0] = hd_axis_child(b->axis[0], nodes[0], name);
        backtrace = name.data + name.len;
    }
    entry = nodes[0] == HD_NONE ? HD_NONE : hd_breakdown_find(b, nodes);
    return entry == HD_NONE ? -1 : as_double(b->entries.amount[entry].variance);
}

static uint32_t rename_upper(void *user, hd_str name, hd_str *path) {
    (void)user, (void)name;
    path[0] = hd_cstr("X");
    return 1;
}

static void variances_add_up_as_bytes_do(void **state) {
    (void)state;
    hd_profile *p = estimates(), *renamed = NULL;
    hd_breakdown *b, *cut, *again;
    assert_int_equal(hd_export(p, NULL, NULL, &b, NULL), HD_OK);
    assert_true(variance_at(b, "") == 2500 && variance_at(b, "/A") == 2500);
    assert_true(variance_at(b, "/A/B") == 1600 && variance_at(b, "/A/<self>") == 900);
    assert_int_equal(hd_breakdown_cut(b, &(hd_cutoff){ .min_bytes = 2000 }, NULL, &cut, NULL), HD_OK);
    assert_true(variance_at(cut, "/A/B") == 1600 && variance_at(cut, "/A/<self>") == -1);
    assert_int_equal(hd_profile_rename(p, 0, rename_upper, NULL, NULL, &renamed, NULL), HD_OK);
    assert_int_equal(hd_export(renamed, NULL, NULL, &again, NULL), HD_OK);
    assert_true(variance_at(again, "/X/X") == 1600 && variance_at(again, "/X") == 2500);
    hd_breakdown_free(again);
    hd_breakdown_free(cut);
    hd_breakdown_free(b);
    hd_profile_free(renamed);
    hd_profile_free(p);
}

/* A missing total has the variance of the sum that replaces it. */
static void totals_of_cumulative_estimates(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    hd_breakdown *b;
    uint32_t a[2] = { path_node(p, 0, "/A"), 0 }, c[2] = { path_node(p, 0, "/C"), 0 };
    assert_int_equal(add_estimate(p, a, 10, 1, 9), HD_OK);
    assert_int_equal(add_estimate(p, c, 20, 1, 16), HD_OK);
    assert_int_equal(hd_breakdown_from_cumulative(p, NULL, &b, NULL), HD_OK);
    assert_true(b->entries.amount[0].bytes == 30 && as_double(b->entries.amount[0].variance) == 25);
    hd_breakdown_free(b);
    hd_profile_free(p);
}

static void trees_print_standard_errors(void **state) {
    (void)state;
    hd_profile *p = estimates();
    hd_buffer text = { 0 };
    hd_heap heap = { .allocator = "malloc", .sample_bytes = 2048, .profile = p };
    assert_int_equal(hd_print_tree(&heap, &(hd_tree_options){ .cutoff.min_bytes = 2000 }, hd_out_memory(&text), NULL), HD_OK);
    assert_int_equal(hd_out_memory(&text).write(&text, "", 1), HD_OK);
    assert_string_equal((const char *)text.data,
                        "4000   ±1.3%  100.0%  40  malloc, sampled every 2.0 KiB\n"
                        "4000   ±1.3%  100.0%  40    A\n"
                        "3000   ±1.3%   75.0%  30      B\n"
                        "3000   ±1.3%   75.0%  30        type: T\n"
                        "1000   ±3.0%   25.0%  10      <other>\n");
    hd_buffer_free(&text);
    hd_profile_free(p);
}

/* Sampled heaps stay sampled in any sum: variances add up. */
static void sums_are_as_sparse_as_their_sparsest_part(void **state) {
    (void)state;
    static const uint64_t rates[][3] = { { 2048, 2048, 2048 }, { 2048, 0, 2048 }, { 0, 2048, 2048 }, { 512, 4096, 4096 },
                                         { 4096, 512, 4096 }, { 0, 0, 0 } };
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        hd_profile *p = profile_new(1), *q = profile_new(1);
        hd_heap heaps[2] = { { .allocator = "malloc", .sample_bytes = rates[i][0], .profile = p },
                             { .allocator = "malloc", .sample_bytes = rates[i][1], .profile = q } }, sum;
        hd_buffer text = { 0 };
        uint32_t a = path_node(p, 0, "/A"), b = path_node(q, 0, "/A");
        assert_int_equal(add_estimate(p, &a, 3000, 30, rates[i][0] ? 900 : 0), HD_OK);
        assert_int_equal(add_estimate(q, &b, 1000, 10, rates[i][1] ? 1600 : 0), HD_OK);
        assert_int_equal(hd_merge(heaps, 2, NULL, &sum, NULL), HD_OK);
        assert_int_equal(sum.sample_bytes, rates[i][2]);
        assert_int_equal(hd_print_tree(&sum, NULL, hd_out_memory(&text), NULL), HD_OK);
        assert_int_equal(hd_out_memory(&text).write(&text, "", 1), HD_OK);
        assert_int_equal(strstr((const char *)text.data, rates[i][0] && rates[i][1] ? "±1.3%" : rates[i][0] ? "±0.8%"
                                                         : rates[i][1] ? "±1.0%" : "4000") != NULL, 1);
        assert_int_equal(strstr((const char *)text.data, "sampled every") != NULL, rates[i][2] > 0);
        hd_buffer_free(&text);
        hd_heap_release(&sum);
        hd_profile_free(p), hd_profile_free(q);
    }
}

/* As a profile in heaps_v2, and as a breakdown in the new format. */
static void traces_keep_errors_and_the_rate(void **state) {
    (void)state;
    hd_profile *p = estimates();
    hd_breakdown *b, *read;
    assert_int_equal(hd_export(p, NULL, NULL, &b, NULL), HD_OK);
    for (int v2 = 0; v2 < 2; v2++) {
        hd_buffer text = { 0 };
        hd_heap heap = { .pid = 1, .dump = "0x1", .allocator = "malloc", .sample_bytes = 524288 };
        hd_dump *dump;
        if (v2) heap.profile = p;
        else heap.breakdown = b;
        assert_int_equal(hd_chrome_write(&heap, 1, NULL, hd_out_memory(&text), NULL), HD_OK);
        assert_int_equal(hd_read_memory(text.data, text.size, NULL, &dump, NULL), HD_OK);
        assert_int_equal(hd_dump_warning_count(dump), 0);
        assert_int_equal(hd_dump_heap(dump, 0)->sample_bytes, 524288);
        assert_int_equal(hd_heap_break_down(hd_dump_heap(dump, 0), NULL, NULL, &read, NULL), HD_OK);
        assert_int_equal(read->entries.count, b->entries.count);
        for (uint32_t i = 0; i < b->entries.count; i++) {
            assert_int_equal(read->entries.amount[i].bytes, b->entries.amount[i].bytes);
            assert_memory_equal(&read->entries.amount[i].variance, &b->entries.amount[i].variance, sizeof(hd_u128));
        }
        hd_breakdown_free(read);
        hd_dump_free(dump);
        hd_buffer_free(&text);
    }
    hd_breakdown_free(b);
    hd_profile_free(p);
}

static void exact_heaps_say_nothing_of_errors(void **state) {
    (void)state;
    hd_profile *p = document_profile();
    hd_heap heap = { .pid = 1, .profile = p };
    hd_buffer text = { 0 };
    assert_int_equal(hd_chrome_write(&heap, 1, NULL, hd_out_memory(&text), NULL), HD_OK);
    assert_int_equal(hd_out_memory(&text).write(&text, "", 1), HD_OK);
    assert_null(strstr((const char *)text.data, "error"));
    assert_null(strstr((const char *)text.data, "sample"));
    hd_buffer_free(&text);
    hd_profile_free(p);
}

/* Threads. ------------------------------------------------------------------------------------ */

enum { THREADS = 4, EACH = 100000 };

static void *allocate_and_free(void *arg) {
    hd_recorder *rec = arg;
    uint64_t base = (uint64_t)(uintptr_t)&rec >> 4 << 20, kept = 0;
    for (uint64_t i = 1; i <= EACH; i++) {
        hd_record_alloc(rec, at(base + i), 100, "T");
        if (i % 2) hd_record_free(rec, at(base + i));
        else kept++;
        if (i % 20000 == 0) hd_profile_free(snapshot(rec));
    }
    for (uint64_t i = 2; i <= EACH; i += 2) hd_record_free(rec, at(base + i));
    return (void *)(uintptr_t)kept;
}

static void threads_sample_on_their_own(void **state) {
    (void)state;
    hd_recorder *rec = sampler(1000, 9);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, allocate_and_free, rec), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    hd_recorder_counters stats;
    hd_recorder_stats(rec, &stats);
    assert_int_equal(stats.live_blocks, 0);
    assert_int_equal(hd_recorder_live_bytes(rec), 0);
    /* 40 million bytes allocated: 40,000 intervals of 1,000; several in one block count once */
    double expected = THREADS * EACH * -expm1(-0.1);
    assert_true(near((double)stats.total_blocks, expected, 3 / sqrt(expected)));
    hd_recorder_free(rec);
}

/* A parent and its children must not skip the same blocks. */
static void forked_children_draw_samples_of_their_own(void **state) {
    (void)state;
    uint8_t (*drawn)[200] = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(drawn != MAP_FAILED);
    hd_recorder *rec = sampler(1000, 5);
    hd_record_alloc(rec, at(1), 1, NULL);
    for (int i = 0; i < 3; i++) {
        hd_recorder_fork_prepare(rec);
        pid_t child = i < 2 ? fork() : 0;
        if (!child && i < 2) {
            hd_recorder_fork_child(rec);
            for (int k = 0; k < 200; k++) drawn[i][k] = hd_record_alloc(rec, at(2 + (uint64_t)k), 300, NULL);
            _exit(0);
        }
        hd_recorder_fork_parent(rec);
        if (i < 2) assert_int_equal(waitpid(child, NULL, 0), child);
    }
    for (int k = 0; k < 200; k++) drawn[2][k] = hd_record_alloc(rec, at(2 + (uint64_t)k), 300, NULL);
    for (int i = 0; i < 3; i++) assert_memory_not_equal(drawn[i], drawn[(i + 1) % 3], 200);
    hd_recorder_free(rec);
    munmap(drawn, 4096);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logarithms_and_probabilities_equal_libm),
        cmocka_unit_test(standard_errors_are_square_roots),
        cmocka_unit_test(variances_are_added_exactly),
        cmocka_unit_test(blocks_much_larger_than_the_gap_are_all_recorded_as_they_are),
        cmocka_unit_test(a_sampled_block_represents_the_skipped_ones),
        cmocka_unit_test(equal_seeds_draw_equal_samples),
        cmocka_unit_test(freed_samples_go_however_full_the_filter_is),
        cmocka_unit_test(reallocations_and_types_of_blocks_left_out),
        cmocka_unit_test(estimates_are_unbiased_and_their_errors_honest),
        cmocka_unit_test(variances_add_up_as_bytes_do),
        cmocka_unit_test(totals_of_cumulative_estimates),
        cmocka_unit_test(trees_print_standard_errors),
        cmocka_unit_test(sums_are_as_sparse_as_their_sparsest_part),
        cmocka_unit_test(traces_keep_errors_and_the_rate),
        cmocka_unit_test(exact_heaps_say_nothing_of_errors),
        cmocka_unit_test(threads_sample_on_their_own),
        cmocka_unit_test(forked_children_draw_samples_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
