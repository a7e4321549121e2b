/* The tree of a heap, row by row and printed, and trees of a million nodes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "private.h"
#include "long.h"
#include "heaps.h"

static void assert_printed(const hd_heap *heap, const hd_tree_options *options, const char *expected) {
    hd_buffer text = { 0 };
    assert_int_equal(hd_print_tree(heap, options, hd_out_memory(&text), NULL), HD_OK);
    assert_int_equal(hd_out_memory(&text).write(&text, "", 1), HD_OK);
    assert_string_equal((const char *)text.data, expected);
    hd_buffer_free(&text);
}

/* The document's figure. ---------------------------------------------------------------------- */

/* "Blue is by backtrace, red is by type": both halves of the figure, with every <other>, largest child first. The
   figure does not break down RdMain's T and W; by its own rule both have RTask below them. */
static void document_figure_is_the_tree_over_every_route(void **state) {
    (void)state;
    hd_profile *p = document_profile();
    hd_heap heap = { .profile = p };
    hd_tree_options options = { .cutoff.min_bytes = 64, .every_route = true };
    assert_printed(&heap, &options,
                   "1538  100.0%  total\n"
                   " 876   57.0%    BrMain\n"
                   " 601   39.1%      MsgLp\n"
                   " 307   20.0%        type: T\n"
                   " 281   18.3%        type: V\n"
                   "  13    0.8%        <other>\n"
                   " 242   15.7%      Init\n"
                   " 151    9.8%        type: T\n"
                   "  83    5.4%        type: W\n"
                   "   8    0.5%        <other>\n"
                   "  33    2.1%      <other>\n"
                   " 465   30.2%      type: T\n"
                   " 307   20.0%        MsgLp\n"
                   " 151    9.8%        Init\n"
                   "   7    0.5%        <other>\n"
                   " 297   19.3%      type: V\n"
                   " 281   18.3%        MsgLp\n"
                   "  16    1.0%        <other>\n"
                   "  96    6.2%      type: W\n"
                   "  83    5.4%        Init\n"
                   "  13    0.8%        <other>\n"
                   "  18    1.2%      <other>\n"
                   " 628   40.8%    RdMain\n"
                   " 556   36.2%      RTask\n"
                   " 337   21.9%        type: W\n"
                   " 211   13.7%        type: T\n"
                   "   8    0.5%        <other>\n"
                   "  72    4.7%      <other>\n"
                   " 355   23.1%      type: W\n"
                   " 337   21.9%        RTask\n"
                   "  18    1.2%        <other>\n"
                   " 229   14.9%      type: T\n"
                   " 211   13.7%        RTask\n"
                   "  18    1.2%        <other>\n"
                   "  44    2.9%      <other>\n"
                   "  34    2.2%    <other>\n"
                   " 698   45.4%    type: T\n"
                   " 465   30.2%      BrMain\n"
                   " 307   20.0%        MsgLp\n"
                   " 151    9.8%        Init\n"
                   "   7    0.5%        <other>\n"
                   " 229   14.9%      RdMain\n"
                   " 211   13.7%        RTask\n"
                   "  18    1.2%        <other>\n"
                   "   4    0.3%      <other>\n"
                   " 461   30.0%    type: W\n"
                   " 355   23.1%      RdMain\n"
                   " 337   21.9%        RTask\n"
                   "  18    1.2%        <other>\n"
                   "  96    6.2%      BrMain\n"
                   "  83    5.4%        Init\n"
                   "  13    0.8%        <other>\n"
                   "  10    0.7%      <other>\n"
                   " 340   22.1%    type: V\n"
                   " 297   19.3%      BrMain\n"
                   " 281   18.3%        MsgLp\n"
                   "  16    1.0%        <other>\n"
                   "  43    2.8%      <other>\n"
                   "  39    2.5%    <other>\n");
    hd_profile_free(p);
}

static void document_tree_by_backtrace_shows_types_at_the_leaves(void **state) {
    (void)state;
    hd_profile *p = document_profile();
    hd_heap heap = { .profile = p };
    assert_printed(&heap, &(hd_tree_options){ .cutoff.min_bytes = 64 },
                   "1538  100.0%  total\n"
                   " 876   57.0%    BrMain\n"
                   " 601   39.1%      MsgLp\n"
                   " 307   20.0%        type: T\n"
                   " 281   18.3%        type: V\n"
                   "  13    0.8%        <other>\n"
                   " 242   15.7%      Init\n"
                   " 151    9.8%        type: T\n"
                   "  83    5.4%        type: W\n"
                   "   8    0.5%        <other>\n"
                   "  33    2.1%      <other>\n"
                   " 628   40.8%    RdMain\n"
                   " 556   36.2%      RTask\n"
                   " 337   21.9%        type: W\n"
                   " 211   13.7%        type: T\n"
                   "   8    0.5%        <other>\n"
                   "  72    4.7%      <other>\n"
                   "  34    2.2%    <other>\n");
    hd_profile_free(p);
}

static void document_tree_by_type_shows_backtraces_below_types(void **state) {
    (void)state;
    hd_profile *p = document_profile();
    hd_heap heap = { .profile = p };
    assert_printed(&heap, &(hd_tree_options){ .cutoff.min_bytes = 300, .first_axis = HD_AXIS_TYPE },
                   "1538  100.0%  total\n"
                   " 698   45.4%    type: T\n"
                   " 465   30.2%      BrMain\n"
                   " 307   20.0%        MsgLp\n"
                   " 158   10.3%        <other>\n"
                   " 233   15.1%      <other>\n"
                   " 461   30.0%    type: W\n"
                   " 355   23.1%      RdMain\n"
                   " 337   21.9%        RTask\n"
                   "  18    1.2%        <other>\n"
                   " 106    6.9%      <other>\n"
                   " 340   22.1%    type: V\n"
                   "  39    2.5%    <other>\n");
    hd_profile_free(p);
}

/* Trees. -------------------------------------------------------------------------------------- */

static void tree_shows_blocks_and_names_its_heap(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    hd_heap heap = { .profile = p, .pid = 7, .process = "Browser", .dump = "0x1", .allocator = "malloc" };
    add_cell(p, "/main/f", "/T", 60, 1200);
    add_cell(p, "/main/g", "/T", 30, 2);
    add_cell(p, "/main", "/T", 10, 1);
    assert_printed(&heap, &(hd_tree_options){ .cutoff.min_bytes = 30 },
                   "100  100.0%  1203  malloc, Browser, pid 7, dump 0x1\n"
                   "100  100.0%  1203    main\n"
                   " 60   60.0%  1200      f\n"
                   " 60   60.0%  1200        type: T\n"
                   " 30   30.0%     2      g\n"
                   " 30   30.0%     2        type: T\n"
                   " 10   10.0%     1      <other>\n");
    hd_profile_free(p);
}

static void tree_of_a_breakdown_with_some_blocks_unknown_marks_them(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    hd_breakdown *b;
    add_cell(p, "/", "/", 100, 5);
    add_cell(p, "/a", "/", 60, HD_UNKNOWN);
    add_cell(p, "/b", "/", 30, 2);
    assert_int_equal(hd_breakdown_from_cumulative(p, NULL, &b, NULL), HD_OK);
    hd_heap heap = { .breakdown = b };
    assert_printed(&heap, NULL,
                   "100  100.0%  5  total\n"
                   " 60   60.0%  -    a\n"
                   " 30   30.0%  2    b\n"
                   " 10   10.0%  -    <other>\n");
    hd_breakdown_free(b);
    hd_profile_free(p);
}

/* A frame with all bytes of its parent has the indentation of its parent. */
static void tree_does_not_indent_chains_of_single_frames(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    hd_heap heap = { .profile = p };
    add_cell(p, "/main/run/loop/a/b", "/T", 50, HD_UNKNOWN);
    add_cell(p, "/main/run/loop/c", "/T", 30, HD_UNKNOWN);
    assert_printed(&heap, NULL,
                   "80  100.0%  total\n"
                   "80  100.0%    main\n"
                   "80  100.0%    run\n"
                   "80  100.0%    loop\n"
                   "50   62.5%      a\n"
                   "50   62.5%      b\n"
                   "50   62.5%        type: T\n"
                   "30   37.5%      c\n"
                   "30   37.5%        type: T\n");
    assert_printed(&heap, &(hd_tree_options){ .every_route = true, .cutoff.min_bytes = 80 },
                   "80  100.0%  total\n"
                   "80  100.0%    main\n"
                   "80  100.0%      run\n"
                   "80  100.0%        loop\n"
                   "80  100.0%          type: T\n"
                   "80  100.0%        type: T\n"
                   "80  100.0%          loop\n"
                   "80  100.0%      type: T\n"
                   "80  100.0%        run\n"
                   "80  100.0%          loop\n"
                   "80  100.0%    type: T\n"
                   "80  100.0%      main\n"
                   "80  100.0%        run\n"
                   "80  100.0%          loop\n");
    hd_profile_free(p);
}

/* The folded rows: "name+". */
static hd_status note_fold(void *user, const hd_tree_row *row) {
    hd_buffer *text = user;
    hd_out out = hd_out_memory(text);
    assert_int_equal(out.write(text, row->name.data, row->name.len), HD_OK);
    return (hd_status)out.write(text, row->folds ? "+ " : " ", row->folds ? 2 : 1);
}

static void assert_rows(const hd_heap *heap, const hd_tree_options *options, const char *expected) {
    hd_buffer text = { 0 };
    assert_int_equal(hd_tree(heap, options, note_fold, &text, NULL), HD_OK);
    assert_int_equal(hd_out_memory(&text).write(&text, "", 1), HD_OK);
    assert_string_equal((const char *)text.data, expected);
    hd_buffer_free(&text);
}

static void rows_fold_only_when_bytes_and_blocks_are_equal(void **state) {
    (void)state;
    hd_profile *p = profile_new(1);
    hd_heap heap = { .profile = p };
    add_cell(p, "/main/run/big", NULL, 20000000, 20);
    assert_rows(&heap, NULL, " main run+ big+ ");
    assert_rows(&heap, &(hd_tree_options){ .every_route = true }, " main run big ");
    add_cell(p, "/main/run/small", NULL, 0, 20000);
    assert_rows(&heap, &(hd_tree_options){ .cutoff.min_bytes = 1 }, " main run+ big <other> ");
    assert_printed(&heap, &(hd_tree_options){ .cutoff.min_bytes = 1 },
                   "20000000  100.0%  20020  total\n"
                   "20000000  100.0%  20020    main\n"
                   "20000000  100.0%  20020    run\n"
                   "20000000  100.0%     20      big\n"
                   "       0    0.0%  20000      <other>\n");
    hd_profile_free(p);
}

static void rows_come_in_the_order_that_is_asked_for(void **state) {
    (void)state;
    hd_profile *p = profile_new(1);
    hd_heap heap = { .profile = p };
    add_cell(p, "/main/c/y", NULL, 25, 1);
    add_cell(p, "/main/c", NULL, 20, 2);
    add_cell(p, "/main/b", NULL, 30, 9);
    add_cell(p, "/main/a", NULL, 10, HD_UNKNOWN);
    assert_rows(&heap, NULL, " main c y <self> b a ");
    assert_rows(&heap, &(hd_tree_options){ .order = HD_ORDER_BLOCKS }, " main b c <self> y a ");
    assert_rows(&heap, &(hd_tree_options){ .order = HD_ORDER_SELF }, " main b c y <self> a ");
    assert_rows(&heap, &(hd_tree_options){ .order = HD_ORDER_NAME }, " main a b c <self> y ");
    hd_profile_free(p);
}

static void assert_label(const hd_heap *heap, const hd_heap *than, const char *expected) {
    hd_buffer text = { 0 };
    assert_int_equal(hd_print_label(heap, than, hd_out_memory(&text), NULL), HD_OK);
    assert_int_equal(hd_out_memory(&text).write(&text, "", 1), HD_OK);
    assert_string_equal((const char *)text.data, expected);
    hd_buffer_free(&text);
}

static void a_label_has_all_parts_or_the_different_ones(void **state) {
    (void)state;
    hd_label x[] = { { "host", "a" }, { "zone", "1" } }, y[] = { { "host", "b" }, { "zone", "1" } };
    hd_heap before = { .allocator = "malloc", .kind = HD_HEAP_PEAK, .process = "app", .pid = 7, .dump = "0x1",
                       .labels = x, .label_count = 2, .sample_bytes = 2048 };
    hd_heap after = before, none = { 0 };
    hd_error err;
    after.dump = "0x2", after.labels = y;
    assert_label(&before, NULL, "malloc, peak, app, pid 7, dump 0x1, host=a, zone=1, sampled every 2.0 KiB");
    assert_label(&after, &before, "dump 0x2, host=b");
    assert_label(&before, &before, "");
    assert_label(&none, NULL, "total");
    assert_label(&(hd_heap){ .process = "a\nb" }, NULL, "total, a?b");
    assert_int_equal(hd_print_label(NULL, NULL, hd_out_callback(NULL, NULL), &err), HD_INVALID);
}

static void tree_prints_sizes_in_units_rounded(void **state) {
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } sizes[] = {
        { 0, "0 B" }, { 1023, "1023 B" }, { 1024, "1.0 KiB" }, { 1258291, "1.2 MiB" },
        { 1048575, "1.0 MiB" }, { UINT64_C(1) << 30, "1.0 GiB" }, { UINT64_C(3) << 39, "1.5 TiB" },
        { UINT64_C(1) << 50, "1.0 PiB" }, { UINT64_MAX, "16.0 EiB" },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char text[24];
        text[hd__print_size_text(text, sizes[i].bytes, true)] = 0;
        assert_string_equal(text, sizes[i].text);
    }
    hd_profile *p = profile_new(1);
    hd_heap heap = { .profile = p };
    add_cell(p, "/big", NULL, 3 << 20, HD_UNKNOWN);
    add_cell(p, "/small", NULL, 1023, HD_UNKNOWN);
    assert_printed(&heap, &(hd_tree_options){ .units = true },
                   "   3.0 MiB  100.0%  total\n"
                   "   3.0 MiB  100.0%    big\n"
                   "    1023 B    0.0%    small\n");
    hd_profile_free(p);
}

/* The unlisted frames between two listed entries are part of the name; a long gap has only its last eight frames. */
static void tree_joins_the_names_of_entries_that_are_not_listed(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    hd_breakdown *b;
    add_cell(p, "/", "/", 100, HD_UNKNOWN);
    add_cell(p, "/a/b/c", "/", 60, HD_UNKNOWN);
    add_cell(p, "/a/b/c", "/T", 50, HD_UNKNOWN);
    add_cell(p, "/1/2/3/4/5/6/7/8/9", "/", 20, HD_UNKNOWN);
    add_cell(p, "/x/y", "/U", 7, HD_UNKNOWN);
    assert_int_equal(hd_breakdown_from_cumulative(p, NULL, &b, NULL), HD_OK);
    hd_heap heap = { .breakdown = b };
    assert_printed(&heap, NULL,
                   "100  100.0%  total\n"
                   " 60   60.0%    a/b/c\n"
                   " 50   50.0%      type: T\n"
                   " 10   10.0%      <other>\n"
                   " 20   20.0%    .../2/3/4/5/6/7/8/9\n"
                   "  7    7.0%    x/y, U\n"
                   " 13   13.0%    <other>\n");
    hd_breakdown_free(b);
    hd_profile_free(p);
}

static void tree_keeps_every_name_on_its_line(void **state) {
    (void)state;
    hd_profile *p = profile_new(1);
    hd_heap heap = { .profile = p };
    add_cell(p, "/a\nb\tc\x7f\x1b[0m \xc3\xa4", NULL, 1, HD_UNKNOWN);
    assert_printed(&heap, NULL, "1  100.0%  total\n1  100.0%    a?b?c??[0m \xc3\xa4\n");
    hd_profile_free(p);
    /* 8-bit controls of terminals, right-to-left and line-break characters, a lone surrogate, invalid UTF-8 */
    p = profile_new(1);
    heap.profile = p;
    add_cell(p, "/a\xc2\x9b \xe2\x80\xae\xe2\x81\xa9\xe2\x80\xa8 \xed\xa0\xbd \xff\xc3 \xe2\x80\x94\xed\x9f\xbf\xf0\x9f\x8e\x89", NULL, 1, HD_UNKNOWN);
    assert_printed(&heap, NULL, "1  100.0%  total\n1  100.0%    a? ??? ? ?? \xe2\x80\x94\xed\x9f\xbf\xf0\x9f\x8e\x89\n");
    hd_profile_free(p);
}

static void labels_are_shown_as_names_are(void **state) {
    (void)state;
    hd_profile *p = profile_new(1);
    hd_heap heap = { .profile = p, .allocator = "a\x1b]0;\x07", .process = "p\nq\xc2\x9b", .pid = 7,
                     .dump = "\xe2\x80\xae\xff" };
    hd_buffer text = { 0 };
    add_cell(p, "/f\x1b", NULL, 1, HD_UNKNOWN);
    assert_printed(&heap, NULL, "1  100.0%  a?]0;?, p?q?, pid 7, dump ??\n1  100.0%    f?\n");
    assert_int_equal(hd_print_top(&heap, NULL, hd_out_memory(&text), NULL), HD_OK);
    assert_int_equal(hd_print_diff(&heap, &heap, NULL, hd_out_memory(&text), NULL), HD_OK);
    for (size_t i = 0; i < text.size; i++) assert_true(text.data[i] == '\n' || (text.data[i] >= 32 && text.data[i] < 127));
    hd_buffer_free(&text);
    hd_profile_free(p);
}

static void tree_of_nothing_is_its_total(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    assert_printed(&(hd_heap){ .profile = p }, NULL, "0    0.0%  0  total\n");
    hd_profile_free(p);
}

static void count_warning(void *user, const hd_error *warning) {
    assert_string_equal(warning->message, "the heap of m has a total of 1 bytes, but lists 2 that hold more");
    ++*(int *)user;
}

/* In a file, a part may be larger than the whole, by any factor. */
static void parts_larger_than_the_whole_have_no_share_and_a_warning(void **state) {
    (void)state;
    hd_profile *p = profile_new(1);
    hd_breakdown *b;
    hd_buffer text = { 0 };
    int warnings = 0;
    hd_options options = { .warning = count_warning, .warning_user = &warnings };
    add_cell(p, "/", NULL, 1, HD_UNKNOWN);
    add_cell(p, "/a", NULL, UINT64_MAX - 4, HD_UNKNOWN);
    add_cell(p, "/a/b", NULL, 2, HD_UNKNOWN);
    assert_int_equal(hd_breakdown_from_cumulative(p, NULL, &b, NULL), HD_OK);
    hd_heap heap = { .allocator = "m", .breakdown = b };
    assert_int_equal(hd_print_tree(&heap, &(hd_tree_options){ .options = options }, hd_out_memory(&text), NULL), HD_OK);
    assert_int_equal(warnings, 1);
    assert_int_equal(hd_print_top(&heap, &(hd_top_options){ .options = options }, hd_out_memory(&text), NULL), HD_OK);
    assert_int_equal(warnings, 2);
    assert_int_equal(hd_print_tree(&heap, NULL, hd_out_memory(&text), NULL), HD_OK);
    assert_int_equal(hd_out_memory(&text).write(&text, "", 1), HD_OK);
    const char *line = strstr((const char *)text.data, "18446744073709551611");
    assert_memory_equal(line + 20, "  > 100%  ", 10);
    assert_non_null(strstr((const char *)text.data, "1  100.0%  m\n"));
    hd_buffer_free(&text);
    hd_breakdown_free(b);
    hd_profile_free(p);
}

typedef struct rows_seen {
    uint32_t count, stop_at;
    hd_status status;
} rows_seen;

static hd_status count_row(void *user, const hd_tree_row *row) {
    rows_seen *seen = (rows_seen *)user;
    assert_true(row->depth <= seen->count);
    assert_true(row->entry == HD_NONE || row->breakdown->entries.amount[row->entry].bytes == row->amount.bytes);
    return ++seen->count == seen->stop_at ? seen->status : HD_OK;
}

static void tree_stops_at_a_failing_row_and_returns_its_status(void **state) {
    (void)state;
    hd_profile *p = document_profile();
    hd_heap heap = { .profile = p };
    hd_tree_options options = { .cutoff.min_bytes = 64, .every_route = true };
    for (uint32_t stop = 1; stop <= 59; stop++) {
        rows_seen seen = { 0, stop, stop % 2 ? HD_CANCELLED : HD_IO };
        assert_int_equal(hd_tree(&heap, &options, count_row, &seen, NULL), seen.status);
        assert_int_equal(seen.count, stop);
    }
    rows_seen all = { 0, 0, HD_OK };
    assert_int_equal(hd_tree(&heap, &options, count_row, &all, NULL), HD_OK);
    assert_int_equal(all.count, 59);
    hd_profile_free(p);
}

static void first_axis_has_to_be_one_of_the_profile(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    rows_seen seen = { 0 };
    assert_int_equal(hd_tree(&(hd_heap){ .profile = p }, &(hd_tree_options){ .first_axis = 2 }, count_row, &seen, NULL),
                     HD_INVALID);
    assert_int_equal(seen.count, 0);
    hd_profile_free(p);
}

/* Large trees: all of these are linear, or nearly linear. ------------------------------------- */

#if defined(__SANITIZE_ADDRESS__)
#define MANY 100000u
#else
#define MANY ((unsigned)long_or_short(1000000, 200000))
#endif

static hd_status count_bytes(void *user, const void *data, size_t size) {
    (void)data;
    *(uint64_t *)user += size;
    return HD_OK;
}

static uint32_t keep_name(void *user, hd_str name, hd_str *path) {
    (void)user;
    path[0] = name;
    return 1;
}

static void very_deep_trees(void **state) {
    (void)state;
    hd_profile *p = profile_new(2), *renamed = NULL;
    uint32_t at[2] = { 0, 0 };
    for (uint32_t i = 0; i < MANY; i++) assert_int_equal(hd_profile_node(p, 0, at[0], hd_cstr("f"), &at[0], NULL), HD_OK);
    assert_int_equal(hd_profile_add(p, at, 100, 1, NULL), HD_OK);
    hd_breakdown *all = exported(p, (hd_cutoff){ 0 }), *cut;
    assert_int_equal(all->entries.count, MANY + 1);
    assert_int_equal(all->entries.amount[MANY].bytes, 100);
    assert_int_equal(all->axis[0].parent[MANY], MANY - 1);
    assert_int_equal(hd_breakdown_cut(all, &(hd_cutoff){ .min_share = 1 }, NULL, &cut, NULL), HD_OK);
    assert_true(breakdowns_equal(all, cut));
    rows_seen seen = { 0 };
    assert_int_equal(hd_tree(&(hd_heap){ .breakdown = all }, NULL, count_row, &seen, NULL), HD_OK);
    assert_int_equal(seen.count, MANY + 1);
    uint64_t printed = 0;
    assert_int_equal(hd_print_tree(&(hd_heap){ .breakdown = all }, NULL, hd_out_callback(count_bytes, &printed), NULL), HD_OK);
    assert_int_equal(printed, strlen("100  100.0%  1  total\n") + MANY * strlen("100  100.0%  1    f\n"));
    assert_int_equal(hd_profile_rename(p, 0, keep_name, NULL, NULL, &renamed, NULL), HD_OK);
    assert_int_equal(hd_profile_axis(renamed, 0).node_count, MANY + 1);
    hd_profile_free(renamed);
    hd_breakdown_free(cut);
    hd_breakdown_free(all);
    hd_profile_free(p);
}

/* A row with more than two hundred columns of indentation shows its depth as a number. */
static void rows_of_deep_trees_are_bounded(void **state) {
    (void)state;
    enum { DEPTH = 2000 };
    hd_profile *p = profile_new(2);
    uint32_t at[2] = { 0, 0 };
    for (uint32_t i = 0; i < DEPTH; i++) {
        assert_int_equal(hd_profile_node(p, 0, at[0], hd_cstr("f"), &at[0], NULL), HD_OK);
        assert_int_equal(hd_profile_add(p, at, 1, 1, NULL), HD_OK);
    }
    hd_breakdown *all = exported(p, (hd_cutoff){ 0 });
    hd_buffer printed = { 0 };
    assert_int_equal(hd_print_tree(&(hd_heap){ .breakdown = all }, NULL, hd_out_memory(&printed), NULL), HD_OK);
    char *text = calloc(1, printed.size + 1);
    memcpy(text, printed.data, printed.size);
    hd_buffer_free(&printed);
    assert_non_null(strstr(text, " f\n"));
    assert_null(strstr(text, "[100] f\n"));
    assert_non_null(strstr(text, " [101] f\n"));
    assert_non_null(strstr(text, " [2000] f\n"));
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) assert_true(end - line < 260);
    free(text);
    hd_breakdown_free(all);
    hd_profile_free(p);
}

static void very_wide_trees(void **state) {
    (void)state;
    hd_profile *p = profile_new(2);
    for (uint32_t i = 0; i < MANY; i++) {
        char name[16];
        uint32_t at[2] = { 0, 0 };
        snprintf(name, sizeof name, "f%06" PRIu32, (uint32_t)(i * UINT64_C(7919) % MANY));
        assert_int_equal(hd_profile_node(p, 0, 0, hd_cstr(name), &at[0], NULL), HD_OK);
        assert_int_equal(hd_profile_add(p, at, i % 1000, 1, NULL), HD_OK);
    }
    hd_breakdown *all = exported(p, (hd_cutoff){ 0 }), *top = exported(p, (hd_cutoff){ .top = 3 }), *cut;
    assert_int_equal(all->entries.count, MANY + 1);
    for (uint32_t i = 1; i < MANY; i++)
        assert_true(hd_str_compare(all->axis[0].node_name[i], all->axis[0].node_name[i + 1]) < 0);
    char expected[128];
    snprintf(expected, sizeof expected, "/ / %u %u\n/f000081 / 999 1\n/f001081 / 999 1\n/f002081 / 999 1\n",
             MANY / 1000 * 499500, MANY);
    assert_text(breakdown_text(top), expected);
    assert_int_equal(hd_breakdown_cut(all, &(hd_cutoff){ .top = 3 }, NULL, &cut, NULL), HD_OK);
    assert_true(breakdowns_equal(cut, top));
    hd_breakdown_free(cut);
    hd_breakdown_free(top);
    hd_breakdown_free(all);
    hd_profile_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(document_figure_is_the_tree_over_every_route),
        cmocka_unit_test(document_tree_by_backtrace_shows_types_at_the_leaves),
        cmocka_unit_test(document_tree_by_type_shows_backtraces_below_types),
        cmocka_unit_test(tree_shows_blocks_and_names_its_heap),
        cmocka_unit_test(tree_of_a_breakdown_with_some_blocks_unknown_marks_them),
        cmocka_unit_test(tree_does_not_indent_chains_of_single_frames),
        cmocka_unit_test(rows_fold_only_when_bytes_and_blocks_are_equal),
        cmocka_unit_test(rows_come_in_the_order_that_is_asked_for),
        cmocka_unit_test(a_label_has_all_parts_or_the_different_ones),
        cmocka_unit_test(tree_prints_sizes_in_units_rounded),
        cmocka_unit_test(tree_joins_the_names_of_entries_that_are_not_listed),
        cmocka_unit_test(tree_keeps_every_name_on_its_line),
        cmocka_unit_test(labels_are_shown_as_names_are),
        cmocka_unit_test(tree_of_nothing_is_its_total),
        cmocka_unit_test(parts_larger_than_the_whole_have_no_share_and_a_warning),
        cmocka_unit_test(tree_stops_at_a_failing_row_and_returns_its_status),
        cmocka_unit_test(first_axis_has_to_be_one_of_the_profile),
        cmocka_unit_test(very_deep_trees),
        cmocka_unit_test(rows_of_deep_trees_are_bounded),
        cmocka_unit_test(very_wide_trees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
