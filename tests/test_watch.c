/* heapdump watch: the contents of the table from tick to tick. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../examples/heapdump/watch/table.c"

char pattern_error[96];

void *needed(void *memory) {
    if (!memory) abort();
    return memory;
}

/* A tick with the figures of one site. */
static void tick(watch_table *t, uint64_t seconds, const char *name, watch_amount a) {
    watch_begin(t);
    watch_row_of(t, hd_cstr(name))->next = a;
    watch_end(t, seconds * 1000000);
}

static watch_figures of(watch_table *t, const char *name) {
    return watch_figures_of(t, watch_row_of(t, hd_cstr(name)));
}

static void shows(watch_table *t, const char *names) {
    char text[256] = "";
    watch_sort(t);
    for (uint32_t i = 0; i < t->shown_count; i++) strcat(strcat(text, t->shown[i]->name), " ");
    assert_string_equal(text, names);
}

static void rates_are_between_two_ticks(void **state) {
    watch_table t = { 0 };
    watch_figures f;
    (void)state;
    tick(&t, 100, "f", (watch_amount){ .live = 10, .blocks = 1, .total = 5000 });
    f = of(&t, "f");
    assert_true(f.live == 10 && f.blocks == 1 && f.rate == 0 && f.growth == 0 && f.temporary < 0);
    tick(&t, 102, "f", (watch_amount){ .live = 30, .blocks = 3, .total = 9000, .temporary = 1000 });
    f = of(&t, "f");
    assert_true(f.live == 30 && f.rate == 2000 && f.temporary == 0.25 && f.error == 0);
    tick(&t, 103, "f", (watch_amount){ .live = 30, .blocks = 3, .total = 9000, .temporary = 1000 });
    f = of(&t, "f");
    assert_true(f.rate == 0 && f.temporary < 0);
    tick(&t, 104, "f", (watch_amount){ .live = 30, .total = 8000, .temporary = 2000 }); /* values from the region */
    f = of(&t, "f");
    assert_true(f.rate == 0 && f.temporary < 0);
    watch_free(&t);
}

static void growth_is_of_the_last_minute(void **state) {
    watch_table t = { 0 };
    (void)state;
    tick(&t, 1000, "f", (watch_amount){ .live = 0 });
    tick(&t, 1030, "f", (watch_amount){ .live = 500 });
    assert_true(watch_window(&t) == 30 && of(&t, "f").growth == 1000);
    watch_clear(&t);
    for (uint64_t s = 0; s <= 300; s++) tick(&t, s + 1, "f", (watch_amount){ .live = s < 200 ? 7 * s : 1400 });
    assert_true(watch_window(&t) >= 60 && watch_window(&t) <= 65);
    assert_true(of(&t, "f").growth == 0);
    for (uint64_t s = 301; s <= 400; s++) tick(&t, s + 1, "f", (watch_amount){ .live = 1400 + 10 * (s - 300) });
    assert_true(of(&t, "f").growth == 600);
    assert_true(watch_figures_of(&t, &t.all).growth == 600);
    watch_free(&t);
}

static void resident_bytes_are_shown_like_growth(void **state) {
    watch_table t = { 0 };
    (void)state;
    assert_true(watch_rss(&t) == HD_UNKNOWN && watch_rss_growth(&t) == 0);
    t.rss = 1000, tick(&t, 1, "f", (watch_amount){ .live = 1 });
    t.rss = 4000, tick(&t, 31, "f", (watch_amount){ .live = 1 });
    assert_true(watch_rss(&t) == 4000 && watch_rss_growth(&t) == 6000);
    watch_freeze(&t, true);
    t.rss = HD_UNKNOWN, tick(&t, 61, "f", (watch_amount){ .live = 1 });
    assert_true(watch_rss(&t) == 4000 && watch_rss_growth(&t) == 6000 && watch_window(&t) == 30);
    watch_freeze(&t, false);
    assert_true(watch_rss(&t) == HD_UNKNOWN && watch_rss_growth(&t) == 0 && watch_window(&t) == 60);
    watch_free(&t);
}

static void a_site_that_comes_later_had_nothing(void **state) {
    watch_table t = { 0 };
    (void)state;
    tick(&t, 1, "f", (watch_amount){ .live = 100 });
    tick(&t, 31, "g", (watch_amount){ .live = 50, .total = 60 });
    assert_true(of(&t, "g").growth == 100 && of(&t, "g").rate == 2);
    assert_true(of(&t, "f").growth == -200 && of(&t, "f").live == 0);
    assert_true(watch_figures_of(&t, &t.all).live == 50);
    watch_free(&t);
}

/* Blocks that are live at both moments add no error. Other blocks add at most the errors of both moments. */
static void growth_has_the_error_of_changed_blocks(void **state) {
    watch_table t = { 0 };
    (void)state;
    tick(&t, 0, "f", (watch_amount){ .live = 1000, .live_variance = 1e6, .total_variance = 4e6 });
    tick(&t, 60, "f", (watch_amount){ .live = 1000, .live_variance = 1e6, .total_variance = 4e6 });
    assert_true(of(&t, "f").error == 1000 && of(&t, "f").growth_error == 0);
    tick(&t, 60, "f", (watch_amount){ .live = 1900, .live_variance = 1.9e6, .total_variance = 4.9e6 });
    assert_true(fabs(of(&t, "f").growth_error - sqrt(0.9e6)) < 1e-6);
    tick(&t, 60, "f", (watch_amount){ .live = 500, .live_variance = 0.5e6, .total_variance = 4e6 });
    assert_true(fabs(of(&t, "f").growth_error - sqrt(0.5e6)) < 1e-6);
    /* many blocks were allocated and freed */
    tick(&t, 60, "f", (watch_amount){ .live = 1000, .live_variance = 1e6, .total_variance = 1e9 });
    assert_true(fabs(of(&t, "f").growth_error - sqrt(2e6)) < 1e-6);
    watch_free(&t);
}

static void frozen_figures_stay_and_changes_are_counted_from_there(void **state) {
    watch_table t = { 0 };
    (void)state;
    tick(&t, 1, "f", (watch_amount){ .live = 100, .blocks = 10, .total = 100 });
    watch_freeze(&t, true);
    tick(&t, 2, "f", (watch_amount){ .live = 170, .blocks = 11, .total = 400 });
    assert_true(of(&t, "f").live == 100 && of(&t, "f").rate == 0 && watch_figures_of(&t, &t.all).live == 100);
    watch_freeze(&t, false);
    assert_true(of(&t, "f").live == 170 && of(&t, "f").rate == 300);
    watch_changes(&t, true);
    assert_true(of(&t, "f").live == 70 && of(&t, "f").blocks == 1 && watch_figures_of(&t, &t.all).live == 70);
    tick(&t, 3, "f", (watch_amount){ .live = 40, .blocks = 1, .total = 400 });
    assert_true(of(&t, "f").live == -60 && of(&t, "f").blocks == -9);
    watch_changes(&t, false);
    assert_true(of(&t, "f").live == 40);
    watch_clear(&t);
    tick(&t, 4, "f", (watch_amount){ .live = 5 });
    watch_changes(&t, true);     /* never frozen: counts changes from now on */
    assert_true(of(&t, "f").live == 0);
    tick(&t, 5, "f", (watch_amount){ .live = 6 });
    assert_true(of(&t, "f").live == 1);
    watch_free(&t);
}

static void three(watch_table *t, uint64_t at, uint64_t times) {
    watch_begin(t);
    watch_row_of(t, hd_cstr("few large"))->next = (watch_amount){ .live = 300, .blocks = 1, .total = 300 };
    watch_row_of(t, hd_cstr("busy"))->next = (watch_amount){ .live = 100, .blocks = 2, .total = 900 * times, .temporary = 800 * times };
    watch_row_of(t, hd_cstr("leak"))->next = (watch_amount){ .live = 50 * times, .blocks = 5, .total = 50 * times };
    watch_row_of(t, hd_cstr("gone"))->next = (watch_amount){ .total = 7 };
    watch_end(t, at);
}

static void rows_are_sorted_and_filtered(void **state) {
    watch_table t = { 0 };
    (void)state;
    three(&t, 1000000, 1);
    three(&t, 2000000, 2);
    shows(&t, "few large busy leak ");
    t.order = BY_BLOCKS, shows(&t, "leak busy few large ");
    t.order = BY_GROWTH, shows(&t, "leak busy few large ");
    t.order = BY_RATE, shows(&t, "busy leak few large ");
    t.order = BY_NAME, shows(&t, "busy few large leak ");
    t.order = BY_TEMPORARY;
    watch_sort(&t);
    assert_string_equal(t.shown[0]->name, "busy");
    t.order = BY_LIVE;
    assert_true(watch_filter(&t, "^(leak|busy)$"));
    shows(&t, "busy leak ");
    three(&t, 3000000, 3);
    watch_row_of(&t, hd_cstr("late leak"));
    shows(&t, "leak busy ");
    assert_false(watch_filter(&t, "("));
    assert_true(*pattern_error);
    shows(&t, "leak busy ");
    watch_freeze(&t, true);
    watch_freeze(&t, false);
    three(&t, 4000000, 0);
    watch_changes(&t, true);
    shows(&t, "leak ");          /* busy has not changed */
    assert_true(watch_filter(&t, ""));
    watch_changes(&t, false);
    shows(&t, "few large busy leak ");
    watch_free(&t);
}

static void sites_are_bounded(void **state) {
    watch_table t = { 0 };
    static char name[3 * WATCH_NAME];
    (void)state;
    watch_begin(&t);
    for (uint32_t i = 0; i < WATCH_ROWS + 10; i++) {
        int n = snprintf(name, sizeof name, "f%u", i);
        watch_row_of(&t, (hd_str){ name, (size_t)n })->next.live += 1;
    }
    watch_end(&t, 1);
    assert_int_equal(t.count, WATCH_ROWS);
    assert_true(of(&t, "<other>").live == 11 && watch_figures_of(&t, &t.all).live == WATCH_ROWS + 10);
    watch_clear(&t);
    memset(name, 'x', sizeof name);
    assert_int_equal(strlen(watch_row_of(&t, (hd_str){ name, sizeof name })->name), WATCH_NAME);
    assert_ptr_equal(watch_row_of(&t, (hd_str){ name, 0 }), watch_row_of(&t, hd_cstr("")));
    watch_free(&t);
}

static void parts_of_resident_bytes_do_not_change_while_frozen(void **state) {
    watch_table t = { 0 };
    uint64_t age = 7;
    (void)state;
    tick(&t, 100, "f", (watch_amount){ .live = 10 });
    assert_null(watch_resident(&t, &age)); /* never read */
    t.part[RESIDENT_BLOCKS] = 4096, t.part_us = 101000000;
    tick(&t, 103, "f", (watch_amount){ .live = 10 });
    assert_int_equal(watch_resident(&t, &age)[RESIDENT_BLOCKS], 4096);
    assert_int_equal(age, 2000000);
    watch_freeze(&t, true);
    t.part[RESIDENT_BLOCKS] = 8192, t.part_us = 104000000;
    tick(&t, 105, "f", (watch_amount){ .live = 10 });
    assert_int_equal(watch_resident(&t, &age)[RESIDENT_BLOCKS], 4096);
    assert_int_equal(age, 2000000);
    watch_freeze(&t, false);
    assert_int_equal(watch_resident(&t, &age)[RESIDENT_BLOCKS], 8192);
    assert_int_equal(age, 1000000);
    t.part_us = 200000000;       /* read after the last tick: age 0 */
    assert_true(watch_resident(&t, &age) && age == 0);
    watch_clear(&t);
    assert_null(watch_resident(&t, &age));
    watch_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_between_two_ticks), cmocka_unit_test(growth_is_of_the_last_minute),
        cmocka_unit_test(resident_bytes_are_shown_like_growth),
        cmocka_unit_test(parts_of_resident_bytes_do_not_change_while_frozen), cmocka_unit_test(a_site_that_comes_later_had_nothing), cmocka_unit_test(growth_has_the_error_of_changed_blocks),
        cmocka_unit_test(frozen_figures_stay_and_changes_are_counted_from_there),
        cmocka_unit_test(rows_are_sorted_and_filtered), cmocka_unit_test(sites_are_bounded)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
