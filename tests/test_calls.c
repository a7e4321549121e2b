/* Calls all public functions with arguments that are valid, NULL, zero or past the last. Each call must be defined
   behaviour, and with invalid arguments it must return nothing.

   calls.awk makes the table of calls from the header's declarations, so the table is complete. This file has the
   arguments of each type; a function with a new type does not compile. The calls run in child processes, so that a
   crash ends only one of them. They run with valid arguments, and with each pair of arguments varied. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "private.h"
#include "call_fixtures.h"

/* Variant 0 of an argument is valid, 1 is NULL or zero, 2 and 3 are other invalid numbers. */
enum { MOST = 12, VARIANTS = 4 };

static const int *variants;
static bool missing;             /* a required object or result is NULL */
static bool past;                /* an index is past the last */
static hd_error error_given;
static bool bad;

static void complain(const char *what) {
    static int lines;
    if (bad && ++lines > 5) return;
    printf("%s(", calling);
    for (int i = 0; i < MOST && variants[i] >= 0; i++) printf(i ? " %d" : "%d", variants[i]);
    printf("): %s\n", what);
    bad = true;
}

/* Arguments. ----------------------------------------------------------------------------------- */

static void *object(int v, void *valid) { return v ? missing = true, (void *)NULL : valid; }
static void *optional(int v, void *valid) { return v ? NULL : valid; }
static uint64_t past_the_last(int v) {
    static const uint64_t some[] = { 0, 1000, 0x80000000u, HD_NONE };
    if (v) past = true;
    return some[v];
}
static uint64_t number(int v) {
    static const uint64_t some[] = { 1, 0, 0x80000000u, UINT64_MAX };
    return some[v];
}
static uint64_t count_of(int v) { return v != 1; }
static uint64_t some_bytes(int v) { return v == 1 ? 0 : v == 2 ? 100 : 256 << 10; }
static const char *text(int v) { return v == 1 ? NULL : v == 2 ? "" : "name"; }
static hd_str str(int v) { return v ? hd_cstr("") : hd_cstr("name"); }

static uint32_t numbers[4096];   /* zeros, also where a result may be written */
static uint64_t words[4096];
static size_t sizes[4096];
static uint8_t some_flags[4096];
static const uint8_t *two_reached[2];

/* Objects and results: a valid pointer, or NULL. */
#define OBJECT(type, end) \
    HD_UNUSED static type *ARG_##type##_p(int v) { \
        if (v) return missing = true, (type *)NULL; \
        forget = type##_forget; \
        return type##_valid(); \
    } \
    HD_UNUSED static type **ARG_##type##_pp(int v) { return (type **)object(v, &out_##type); }
OBJECTS(OBJECT)
#undef OBJECT
#define DOCUMENT(format) \
    static const hd_##format *ARG_hd_##format##_p(int v) { \
        if (v) return missing = true, (const hd_##format *)NULL; \
        return hd_##format##_valid(); \
    }
DOCUMENTS(DOCUMENT)
#undef DOCUMENT

/* Structs of the caller, which a call fills or reads. */
#define STRUCTS(X) \
    X(hd_recorded, ARG_hd_recorded_out_p) X(hd_recorder_counters, ARG_hd_recorder_counters_p) \
    X(hd_allocation, ARG_hd_allocation_p) X(hd_resize, ARG_hd_resize_p) X(hd_place, ARG_hd_place_p) \
    X(hd_mapping, ARG_hd_mapping_p) X(hd_module, ARG_hd_module_p) X(hd_scalar, ARG_hd_scalar_p) \
    X(hd_netcf_record, ARG_hd_netcf_record_p) X(hd_dart_record, ARG_hd_dart_record_p) \
    X(hd_dart_class_info, ARG_hd_dart_class_info_p) X(hd_dart_field, ARG_hd_dart_field_p) \
    X(hd_dart_value, ARG_hd_dart_value_p) X(hd_v8_place, ARG_hd_v8_place_p) X(hd_cursor, ARG_hd_cursor_p) \
    X(hd_category, ARG_hd_category_p) X(hd_scope, ARG_hd_scope_p) X(hd_class, ARG_hd_class_p) \
    X(hd_root, ARG_hd_root_p) X(hd_graph_columns, ARG_hd_graph_columns_p) X(hd_amount, ARG_hd_amount_p) \
    X(hd_allocator_stat, ARG_hd_allocator_stat_p) X(hd_detail, ARG_hd_detail_p) \
    X(hd_memprof_location, ARG_hd_memprof_location_p) X(hd_memprof_access, ARG_hd_memprof_access_p) \
    X(hd_memprof_address, ARG_hd_memprof_address_p) \
    X(hd_memprof_frame, ARG_hd_memprof_frame_p) X(hd_memprof_summary, ARG_hd_memprof_summary_p) \
    X(hd_chrome_dumps, ARG_hd_chrome_dumps_p) X(hd_path_starts, ARG_hd_path_starts_p) \
    X(hd_memprof_namer, ARG_void_namer_p) X(hd_stack_frame, ARG_hd_stack_frame_p) \
    X(hd_thread_info, ARG_hd_thread_info_p)
#define STRUCT(type, argument) \
    HD_UNUSED static type *argument(int v) { \
        static type some[1 << 8]; \
        memset(some, 0, sizeof some); \
        return (type *)object(v, some); \
    }
STRUCTS(STRUCT)
#undef STRUCT

/* Structs that may be NULL. */
#define OPTIONS(X) \
    X(hd_options) X(hd_cutoff) X(hd_tree_options) X(hd_top_options) X(hd_snapshot_options) X(hd_pages_options) \
    X(hd_dominator_options) X(hd_profile_desc) X(hd_recorder_desc) X(hd_graph_desc) X(hd_memprof_builder_desc) \
    X(hd_memprof_index_desc) X(hd_chrome_writer_desc) X(hd_memprof_thresholds) X(hd_memprof_view) \
    X(hd_netcf_domain_info) X(hd_total) X(hd_memprof_access_place)
#define OPTION(type) \
    HD_UNUSED static type *ARG_##type##_p(int v) { \
        static type none; \
        memset(&none, 0, sizeof none); \
        return (type *)optional(v, &none); \
    }
OPTIONS(OPTION)
#undef OPTION
#define ARG_hd_memprof_symbolizer_p(v) ((hd_memprof_symbolizer *)optional(v, &symbolizer))
static bool error_passed;
static hd_error *ARG_hd_error_p(int v) {
    error_passed = !v && strcmp(calling, "hd_report"); /* hd_report itself takes an error as input */
    return (hd_error *)optional(v, &error_given);
}
static hd_tracker_desc *ARG_hd_tracker_desc_p(int v) {
    static hd_tracker_desc desc;
    desc.contexts = hd_contexts_valid();
    return (hd_tracker_desc *)object(v, &desc);
}
static hd_memory_dump_manager_desc *ARG_hd_memory_dump_manager_desc_p(int v) {
    static hd_memory_dump_manager_desc desc;
    desc.out = hd_out_memory(&written);
    return (hd_memory_dump_manager_desc *)object(v, &desc);
}

static bool provides_nothing(void *user, hd_detail detail, hd_memory_dump *dump) {
    return (void)user, (void)detail, (void)dump, true;
}
static hd_memory_dump_provider *ARG_hd_memory_dump_provider_p(int v) {
    static hd_memory_dump_provider provider = { "p", provides_nothing, NULL, NULL };
    return (hd_memory_dump_provider *)object(v, &provider);
}

/* Objects that exist only during a call of the library. */
static hd_memory_dump *the_memory_dump;
static hd_window *the_window;
static hd_memory_dump *ARG_hd_memory_dump_p(int v) { return (hd_memory_dump *)object(v, the_memory_dump); }
static hd_window *ARG_hd_window_p(int v) { return (hd_window *)object(v, the_window); }
static hd_reporter *ARG_hd_reporter_p(int v) {
    static hd_reporter reporter;
    return (hd_reporter *)object(v, &reporter);
}

static hd_heap *ARG_hd_heap_p(int v) {
    static hd_heap empty;
    if (v == 2) return missing = true, &empty;
    return (hd_heap *)object(v, (void *)(uintptr_t)heap_kept());
}
static hd_heap *ARG_hd_heap_heaps_p(int v) { return (hd_heap *)optional(v, (void *)(uintptr_t)heap_kept()); }
static hd_heap *ARG_hd_heap_out_p(int v) { return (hd_heap *)object(v, out_heaps); }
static hd_axis ARG_hd_axis(int v) {
    static const hd_axis none;
    return v ? none : hd_profile_axis(hd_profile_valid(), 0);
}
static hd_buffer *ARG_hd_buffer_p(int v) { return (hd_buffer *)object(v, &out_buffer); }
static hd_file *ARG_hd_file_p(int v) { return v ? missing = true, (hd_file *)NULL : file_valid(); }
static hd_sink *ARG_hd_sink_p(int v) {
    static hd_sink sink;
    if (v) return missing = true, (hd_sink *)NULL;
    hd_sink_begin(&sink, hd_out_memory(&written));
    return &sink;
}
static hd_lines *ARG_hd_lines_p(int v) {
    static hd_reporter reporter;
    static hd_lines lines;
    if (v) return missing = true, (hd_lines *)NULL;
    lines = hd_lines_of(the_window, &reporter, NULL);
    must(!hd_lines_next(&lines));
    return &lines;
}
static hd_json *ARG_hd_json_p(int v) { return v ? missing = true, (hd_json *)NULL : json_valid(); }
static hd_in ARG_hd_in(int v) {
    static const hd_in none;
    return v ? none : in_valid();
}
static hd_in *ARG_hd_in_p(int v) { return (hd_in *)object(v, &out_in); }
static hd_out ARG_hd_out(int v) {
    static const hd_out none;
    return v ? none : hd_out_memory(&written);
}
static hd_memprof_raw *ARG_hd_memprof_raw_p(int v) {
    static const hd_memprof_raw empty;
    return v == 2 ? (hd_memprof_raw *)(uintptr_t)&empty : (hd_memprof_raw *)object(v, (void *)(uintptr_t)raw_valid());
}
static const hd_memprof_raw *read_raw;
static const hd_memprof_raw **ARG_hd_memprof_raw_pp(int v) { return (const hd_memprof_raw **)object(v, &read_raw); }
static const hd_graph *two_graphs[2];
static const hd_graph *const *ARG_hd_graph_list(int v) {
    two_graphs[0] = hd_graph_valid();
    return v == 1 ? NULL : two_graphs;
}
static const hd_format *ARG_hd_format_p(int v) { return v ? NULL : hd_format_at(0); }
static FILE *ARG_FILE_file_p(int v) { return (FILE *)optional(v, stderr); }

/* Callbacks. */
static bool matches(void *user, hd_str name) { return (void)user, name.len > 1; }
static uint32_t renames(void *user, hd_str name, hd_str *path) { return (void)user, *path = name, 1; }
static int64_t reads(void *user, void *to, size_t capacity) { return (void)user, (void)to, (void)capacity, 0; }
static hd_status writes(void *user, const void *data, size_t size) {
    return (void)user, (void)data, (void)size, HD_OK;
}
static hd_status each_fact(void *user, const hd_fact *fact) { return (void)user, (void)fact, HD_OK; }
static hd_status each_row(void *user, const hd_tree_row *row) { return (void)user, (void)row, HD_OK; }
static hd_status each_diff(void *user, const hd_diff_row *row) { return (void)user, (void)row, HD_OK; }
static hd_status each_top(void *user, const hd_top_row *row) { return (void)user, (void)row, HD_OK; }
static void each_live(void *user, const hd_allocation *live) { (void)user, (void)live; }
static void each_module(void *user, const hd_module *module, bool loaded) { (void)user, (void)module, (void)loaded; }
static void each_stat(void *user, const hd_allocator_stat *stat) { (void)user, (void)stat; }
static void each_address(void *user, uint64_t address) { (void)user, (void)address; }
static void each_context(void *user, uint32_t context, const uint32_t *nodes) {
    (void)user, (void)context, (void)nodes;
}
static void each_lifetime(void *user, const hd_lifetimes *of, const uint64_t *pcs, size_t count) {
    (void)user, (void)of, (void)pcs, (void)count;
}
#define CALLBACK(v, f) ((v) ? NULL : (f))
#define NEEDED(v, f) ((v) ? (missing = true, NULL) : (f))
#define ARG_hd_match_fn(v) CALLBACK(v, matches)
#define ARG_hd_rename_fn(v) CALLBACK(v, renames)
#define ARG_hd_read_fn(v) CALLBACK(v, reads)
#define ARG_hd_write_fn(v) CALLBACK(v, writes)
#define ARG_hd_fact_fn(v) CALLBACK(v, each_fact)
#define ARG_fn_hd_tree_row(v) CALLBACK(v, each_row)
#define ARG_fn_hd_diff_tree_row(v) CALLBACK(v, each_diff)
#define ARG_fn_hd_top_row(v) CALLBACK(v, each_top)
#define ARG_fn_hd_recorder_visit_each(v) CALLBACK(v, each_live)
#define ARG_fn_hd_recorder_view_modules_each(v) CALLBACK(v, each_module)
#define ARG_fn_hd_recorder_view_allocator_stats_each(v) CALLBACK(v, each_stat)
#define ARG_fn_hd_recorder_view_block_pages_each(v) CALLBACK(v, each_address)
#define ARG_fn_hd_recorder_view_contexts_each(v) CALLBACK(v, each_context)
#define ARG_fn_hd_recorder_view_lifetimes_each(v) CALLBACK(v, each_lifetime)

/* Numbers. */
#define ARG_hd_status(v) (hd_status)number(v)
#define ARG_hd_heap_kind(v) (hd_heap_kind)number(v)
#define ARG_hd_frame_kind(v) (v == 0 ? HD_FRAME_NAME : v == 1 ? HD_FRAME_ROOT : HD_FRAME_PC)
#define ARG_hd_detail(v) (hd_detail)number(v)
#define ARG_hd_memprof_heat(v) (hd_memprof_heat)number(v)
#define ARG_hd_memprof_layout(v) (hd_memprof_layout)number(v)
#define ARG_hd_rows_form(v) (hd_rows_form)number(v)
static hd_u128 ARG_hd_u128(int v) {
    hd_u128 value = { number(v), v == 3 ? UINT64_MAX : 0 };
    return value;
}
static hd_memory ARG_hd_memory(int v) {
    hd_memory memory = { number(v), number(v) };
    return memory;
}
#define ARG_bool_enabled(v) !v
#define ARG_bool_keep(v) !v
#define ARG_bool_recording(v) !v
#define ARG_bool_value(v) !v
#define ARG_int64_t_value(v) (int64_t)number(v)
#define ARG_size_t_index(v) (size_t)past_the_last(v)
#define ARG_uint32_t_object(v) (uint32_t)past_the_last(v)
#define ARG_uint32_t_class_index(v) (uint32_t)past_the_last(v)
#define ARG_uint32_t_root(v) (uint32_t)past_the_last(v)
#define ARG_uint32_t_thread(v) (uint32_t)past_the_last(v)
#define ARG_uint32_t_frame(v) (uint32_t)past_the_last(v)
#define ARG_uint32_t_axis(v) (uint32_t)past_the_last(v)
#define ARG_uint32_t_block(v) (uint32_t)past_the_last(v)
#define ARG_uint64_t_counter(v) past_the_last(v)
#define ARG_uint32_t_number(v) (uint32_t)past_the_last(v)
#define INDEX(v) (uint32_t)some_index[v]
static const uint64_t some_index[] = { 0, 1000, 0x80000000u, HD_NONE };
#define ARG_uint32_t_age_class(v) INDEX(v)
#define ARG_uint32_t_context(v) INDEX(v)
#define ARG_uint32_t_field(v) INDEX(v)
#define ARG_uint32_t_fields(v) INDEX(v)
#define ARG_uint32_t_first(v) INDEX(v)
#define ARG_uint32_t_flag(v) INDEX(v)
#define ARG_uint32_t_id(v) INDEX(v)
#define ARG_uint32_t_index(v) INDEX(v)
#define ARG_uint32_t_kind(v) INDEX(v)
#define ARG_uint32_t_name(v) INDEX(v)
#define ARG_uint32_t_now(v) INDEX(v)
#define ARG_uint32_t_parent(v) INDEX(v)
#define ARG_uint32_t_reference(v) INDEX(v)
#define ARG_uint32_t_tag(v) INDEX(v)
#define ARG_uint32_t_version(v) INDEX(v)
#define ARG_size_t_capacity(v) (size_t)count_of(v)
#define ARG_size_t_count(v) (size_t)count_of(v)
#define ARG_size_t_size(v) (size_t)count_of(v)
#define ARG_uint32_t_capacity(v) (uint32_t)count_of(v)
#define ARG_unsigned_base(v) (unsigned)number(v)
#define ARG_uint32_t_count(v) (uint32_t)count_of(v)
#define ARG_uint32_t_length(v) (uint32_t)count_of(v)
#define ARG_uint32_t_most(v) (uint32_t)count_of(v)
#define ARG_uint32_t_objects(v) (uint32_t)count_of(v)
#define ARG_uint32_t_references(v) (uint32_t)count_of(v)
#define ARG_uint32_t_room(v) (uint32_t)count_of(v)
#define ARG_uint64_t_add(v) number(v)
#define ARG_uint64_t_address(v) number(v)
#define ARG_uint64_t_blocks(v) number(v)
#define ARG_uint64_t_bytes(v) some_bytes(v)
#define ARG_uint64_t_done(v) number(v)
#define ARG_uint64_t_guid(v) number(v)
#define ARG_uint64_t_hash(v) number(v)
#define ARG_uint64_t_id(v) number(v)
#define ARG_uint64_t_milliseconds(v) number(v)
#define ARG_uint64_t_offset(v) number(v)
#define ARG_uint64_t_pid(v) number(v)
#define ARG_uint64_t_size(v) number(v)
#define ARG_uint64_t_start(v) number(v)
#define ARG_uint64_t_start_us(v) number(v)
#define ARG_uint64_t_time_us(v) number(v)
#define ARG_uint64_t_total(v) number(v)
#define ARG_uint64_t_value(v) number(v)
#define ARG_uint64_t_want(v) number(v)
#define ARG_uint64_t_warning_count(v) number(v)

/* Texts and arrays. */
#define ARG_char_allocator_p(v) text(v)
#define ARG_char_data_p(v) text(v)
#define ARG_char_expected_p(v) text(v)
#define ARG_char_field_p(v) text(v)
#define ARG_char_filter_p(v) text(v)
#define ARG_char_id_p(v) text(v)
#define ARG_char_key_p(v) text(v)
#define ARG_char_name_p(v) text(v)
#define ARG_char_path_p(v) (v == 0 ? path_valid() : v == 1 ? NULL : v == 2 ? "" : "/nowhere/name")
#define ARG_char_s_p(v) text(v)
#define ARG_char_text_p(v) text(v)
#define ARG_char_type_p(v) text(v)
#define ARG_char_units_p(v) text(v)
#define ARG_char_value_p(v) text(v)
#define ARG_char_what_p(v) text(v)
#define ARG_hd_str_a(v) str(v)
#define ARG_hd_str_b(v) str(v)
#define ARG_hd_str_frame(v) str(v)
#define ARG_hd_str_key(v) str(v)
#define ARG_hd_str_linkage_name(v) str(v)
#define ARG_hd_str_name(v) str(v)
#define ARG_hd_str_symbol(v) str(v)
#define ARG_hd_str_text(v) str(v)
#define ARG_hd_str_value(v) str(v)
static hd_str two_texts[2];
#define TEXTS(v) ((v) ? NULL : (two_texts[0] = two_texts[1] = hd_cstr("name"), two_texts))
#define ARG_hd_str_text_p(v) TEXTS(v)
#define ARG_hd_str_path_p(v) TEXTS(v)
#define ARG_hd_str_own_p(v) TEXTS(v)
#define ZEROS(v, array) ((v) ? NULL : (memset(array, 0, sizeof array), array))
#define ARG_bool_hidden_p(v) (bool *)ZEROS(v, some_flags)
#define ARG_char_buffer_p(v) (char *)ZEROS(v, some_flags)
#define ARG_uint8_t_reached_p(v) ZEROS(v, some_flags)
#define ARG_uint8_t_reached_pp(v) (const uint8_t *const *)ZEROS(v, two_reached)
static size_t a_count;
static bool a_flag;
static const uint32_t *an_order;
#define ARG_bool_whole_p(v) (bool *)object(v, &a_flag)
#define ARG_size_t_count_p(v) (size_t *)object(v, &a_count)
#define ARG_size_t_first_p(v) ZEROS(v, sizes)
#define ARG_uint32_t_blocks_p(v) ZEROS(v, numbers)
#define ARG_uint32_t_caller_p(v) ZEROS(v, numbers)
#define ARG_uint32_t_child_p(v) (uint32_t *)object(v, numbers)
#define ARG_uint32_t_class_index_p(v) ZEROS(v, numbers)
#define ARG_uint32_t_classes_p(v) ZEROS(v, numbers)
#define ARG_uint32_t_distances_p(v) (uint32_t *)object(v, numbers)
#define ARG_uint32_t_id_p(v) ZEROS(v, numbers)
#define ARG_uint32_t_names_p(v) ZEROS(v, numbers)
#define ARG_uint32_t_node_p(v) (uint32_t *)object(v, numbers)
#define ARG_uint32_t_nodes_p(v) (uint32_t *)object(v, memset(numbers, 0, sizeof numbers))
#define ARG_uint32_t_number_p(v) \
    (uint32_t *)(is_called("hd_graph_add_name") || is_called("hd_graph_add_frame") || \
                  is_called("hd_graph_add_thread") ? optional(v, numbers) : object(v, numbers))
#define ARG_uint32_t_objects_p(v) ZEROS(v, numbers)
#define ARG_uint32_t_order_pp(v) (const uint32_t **)object(v, &an_order)
#define ARG_uint32_t_without_p(v) ZEROS(v, numbers)
#define ARG_uint64_t_blocks_p(v) ZEROS(v, words)
#define ARG_uint64_t_bytes_p(v) ZEROS(v, words)
#define ARG_uint64_t_callees_p(v) ZEROS(v, words)
#define ARG_uint64_t_ids_p(v) ZEROS(v, words)
#define ARG_uint64_t_value_p(v) ZEROS(v, words)
#define ARG_void_address_p(v) ((v) ? NULL : block)
#define ARG_void_data_p(v) ((v) ? NULL : input.data)
#define ARG_void_document_p(v) ((v) ? NULL : (void *)words)
#define ARG_void_now_p(v) ((v) ? NULL : block)
#define ARG_void_region_p(v) object(v, region_valid())
#define ARG_void_user_p(v) ((void)(v), NULL)
#define ARG_void_value_p(v) text(v)

/* Results. ------------------------------------------------------------------------------------- */

/* Whether a result is nothing: zeros, HD_NONE or HD_UNKNOWN, in words of four bytes. */
static bool is_nothing(const void *result, size_t size) {
    const unsigned char *p = (const unsigned char *)result;
    uint32_t word;
    for (; size >= 4; p += 4, size -= 4) {
        memcpy(&word, p, 4);
        if (word && word != HD_NONE) return false;
    }
    while (size--)
        if (*p++) return false;
    return true;
}

/* Calls that accept NULL: a heap to compare with, a label without sizes, no block before realloc. */
static bool takes_null(void) {
    return is_called("hd_diff_tree") || is_called("hd_print_diff") || is_called("hd_print_label") ||
           is_called("hd_record_skips") || is_called("hd_register_next") || is_called("hd_graph_histogram") ||
           is_called("hd_record_resized");
}

static void of_nothing(const void *result, size_t size) {
    if ((missing || past) && !takes_null() && !is_nothing(result, size)) complain("returned something");
}

static void status_of(hd_status status) {
    if (!status && (missing || past) && !takes_null()) complain("succeeded");
    if (status && error_passed && error_given.status != status) complain("failed without an error");
}

#define RESULT_void(call) call;
#define RESULT_hd_status(call) status_of(call);
/* Frees the object that a call made. */
#define RESULT_OBJECT(type, call) { \
        type *result = (type *)(uintptr_t)call; \
        of_nothing(&result, sizeof result); \
        if (strstr(calling, "_create")) out_##type = result; \
    }
#if defined(__GNUC__) && __GNUC__ >= 11 && !defined(__clang__)
#define RESULT_OF(type, call) { \
        type result = call; \
        __builtin_clear_padding(&result); \
        of_nothing(&result, sizeof result); \
    }
#else
#define RESULT_OF(type, call) { type result = call; if (sizeof result <= 8) of_nothing(&result, sizeof result); }
#endif
#define RESULT_bool(call) RESULT_OF(bool, call)
#define RESULT_hd_axis(call) RESULT_OF(hd_axis, call)
#define RESULT_hd_chrome_writer_p(call) RESULT_OBJECT(hd_chrome_writer, call)
#define RESULT_hd_class(call) RESULT_OF(hd_class, call)
#define RESULT_hd_contexts_p(call) RESULT_OBJECT(hd_contexts, call)
#define RESULT_hd_dart_class_info(call) RESULT_OF(hd_dart_class_info, call)
#define RESULT_hd_dart_external_info(call) RESULT_OF(hd_dart_external_info, call)
#define RESULT_hd_dart_header_info(call) RESULT_OF(hd_dart_header_info, call)
#define RESULT_hd_dart_header_info_p(call) RESULT_OF(const hd_dart_header_info *, call)
#define RESULT_hd_dart_p(call) RESULT_OF(const hd_dart *, call)
#define RESULT_hd_dart_value(call) RESULT_OF(hd_dart_value, call)
#define RESULT_hd_deduplicator_p(call) RESULT_OBJECT(hd_deduplicator, call)
#define RESULT_hd_format_p(call) RESULT_OF(const hd_format *, call)
#define RESULT_hd_frame(call) RESULT_OF(hd_frame, call)
#define RESULT_hd_graph_p(call) RESULT_OBJECT(hd_graph, call)
#define RESULT_hd_graph_summary(call) RESULT_OF(hd_graph_summary, call)
#define RESULT_hd_heap_p(call) RESULT_OF(const hd_heap *, call)
#define RESULT_hd_mapping(call) RESULT_OF(hd_mapping, call)
#define RESULT_hd_memory(call) RESULT_OF(hd_memory, call)
#define RESULT_hd_memory_dump_manager_p(call) RESULT_OBJECT(hd_memory_dump_manager, call)
#define RESULT_hd_memprof_builder_p(call) RESULT_OBJECT(hd_memprof_builder, call)
#define RESULT_hd_memprof_index_p(call) RESULT_OF(const hd_memprof_index *, call)
#define RESULT_hd_memprof_merger_p(call) RESULT_OBJECT(hd_memprof_merger, call)
#define RESULT_hd_memprof_p(call) RESULT_OF(const hd_memprof *, call)
#define RESULT_hd_memprof_raw_p(call) RESULT_OF(const hd_memprof_raw *, call)
#define RESULT_hd_merger_p(call) RESULT_OBJECT(hd_merger, call)
#define RESULT_hd_netcf_domain_info(call) RESULT_OF(hd_netcf_domain_info, call)
#define RESULT_hd_netcf_p(call) RESULT_OF(const hd_netcf *, call)
#define RESULT_hd_object(call) RESULT_OF(hd_object, call)
#define RESULT_hd_page_use(call) RESULT_OF(hd_page_use, call)
#define RESULT_hd_pages_summary(call) RESULT_OF(hd_pages_summary, call)
#define RESULT_hd_places_p(call) RESULT_OBJECT(hd_places, call)
#define RESULT_hd_profile_p(call) RESULT_OBJECT(hd_profile, call)
#define RESULT_hd_recorder_p(call) RESULT_OBJECT(hd_recorder, call)
#define RESULT_hd_register_p(call) RESULT_OBJECT(hd_register, call)
#define RESULT_hd_reporter_p(call) RESULT_OF(const hd_reporter *, call)
#define RESULT_hd_root(call) RESULT_OF(hd_root, call)
#define RESULT_hd_stack_frame(call) RESULT_OF(hd_stack_frame, call)
#define RESULT_hd_thread_info(call) RESULT_OF(hd_thread_info, call)
#define RESULT_hd_rows(call) RESULT_OF(hd_rows, call)
#define RESULT_hd_rows_writer_p(call) RESULT_OBJECT(hd_rows_writer, call)
#define RESULT_hd_scalar_p(call) RESULT_OF(const hd_scalar *, call)
#define RESULT_hd_scope(call) RESULT_OF(hd_scope, call)
#define RESULT_hd_str(call) { hd_str result = call; of_nothing(&result.len, sizeof result.len); }
#define RESULT_hd_v8_link(call) RESULT_OF(hd_v8_link, call)
#define RESULT_hd_v8_p(call) RESULT_OF(const hd_v8 *, call)
#define RESULT_hd_window_p(call) RESULT_OF(const hd_window *, call)
#define RESULT_size_t(call) RESULT_OF(size_t, call)
#define RESULT_uint32_t(call) RESULT_OF(uint32_t, call)
#define RESULT_uint64_t(call) RESULT_OF(uint64_t, call)
#define RESULT_void_p(call) RESULT_OF(const void *, call)
#define RESULT_char_p(call) { const char *result = call; (void)result; }
#define RESULT_hd_memprof_heat(call) RESULT_ANY(call)
#define RESULT_hd_out(call) RESULT_ANY(call)
#define RESULT_hd_lines(call) RESULT_ANY(call)
#define RESULT_hd_error(call) RESULT_ANY(call)
#define RESULT_hd_in(call) RESULT_ANY(call)
#define RESULT_hd_allocator(call) RESULT_ANY(call)
#define RESULT_hd_values(call) RESULT_ANY(call)
#define RESULT_hd_frame_parts(call) RESULT_ANY(call)
#define RESULT_int(call) RESULT_ANY(call)
#define RESULT_ANY(call) (void)call;

/* The table. ----------------------------------------------------------------------------------- */

typedef struct call_row {
    const char *name;
    int parameters;
    const char *first;           /* type of the first parameter: "hd_graph_p" */
    void (*call)(const int *v);
} call_row;

#include "calls.h"

enum { CALLS = sizeof calls / sizeof *calls };

static const call_row *row;

static bool from_a_provider(void *user, hd_detail detail, hd_memory_dump *dump) {
    (void)user, (void)detail;
    the_memory_dump = dump;
    row->call(variants);
    the_memory_dump = NULL;
    return true;
}

static hd_status from_a_format(hd_dump *dump, hd_in in, const hd_options *options, hd_error *err) {
    (void)options, (void)err;
    the_hd_dump = dump;
    the_window = hd_dump_window(dump, in);
    row->call(variants);
    the_hd_dump = NULL;
    return HD_OK;
}

static void let_be(void *document) { (void)document; }

/* Calls from a provider of a memory dump, or from a format that reads. */
static void call_inside(void) {
    static const hd_format format = { .name = "own", .read = from_a_format, .free = let_be };
    hd_options options = { .formats = &format, .format_count = 1, .format = "own" };
    hd_dump *dump = NULL;
    hd_memory_dump_provider provider = { "p", from_a_provider, NULL, NULL };
    if (is_called("hd_memory_dump_add")) {
        must(!hd_memory_dump_manager_register(hd_memory_dump_manager_valid(), &provider, NULL));
        must(!hd_memory_dump_manager_dump(hd_memory_dump_manager_valid(), HD_DETAILED, 1, NULL));
    } else {
        hd_read_memory("x", 1, &options, &dump, NULL);
        hd_dump_free(dump);
    }
}

static bool is_inside(void) {
    static const char *const some[] = { "hd_memory_dump_add", "hd_window", "hd_lines", "hd_dump_window",
                                        "hd_dump_reporter", "hd_dump_set", "hd_dump_add" };
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        if (is_called(some[i])) return true;
    return false;
}

static bool frees(void) {
    size_t n = strlen(calling);
    return !strcmp(calling + n - 5, "_free") || !strcmp(calling + n - 6, "_close");
}

static void call_with(const int *v) {
    variants = v;
    missing = past = error_passed = false;
    forget = NULL;
    memset(&error_given, 0, sizeof error_given);
    if (is_called("hd_recorder_fork_parent") || is_called("hd_recorder_fork_child"))
        hd_recorder_fork_prepare(v[0] ? NULL : hd_recorder_valid());
    if (is_inside()) call_inside();
    else row->call(v);
    if (is_called("hd_recorder_fork_prepare")) hd_recorder_fork_parent(v[0] ? NULL : hd_recorder_valid());
    if (frees() && forget) forget();
    /* A dump owns the argument, even after a failure. */
    if (is_called("hd_dump_set_memprof_index")) hd_memprof_index_forget();
    if ((is_called("hd_dump_add_heap") && !v[1]) || (is_called("hd_heap_release") && !v[0])) hd_profile_forget();
    fixtures_free();
}

/* Calls with all arguments valid, with all of each variant, and with each pair of arguments varied. */
static void call_all_ways(void) {
    int v[MOST];
    for (int i = 0; i < MOST; i++) v[i] = i < row->parameters ? 0 : -1;
    call_with(v);
    for (int k = 1; k < VARIANTS; k++) {
        for (int i = 0; i < row->parameters; i++) v[i] = k;
        call_with(v);
    }
    for (int i = 0; i < row->parameters; i++) v[i] = 0;
    for (int i = 0; i < row->parameters; i++)
        for (int j = i; j < row->parameters; j++)
            for (int k = 1; k < VARIANTS * VARIANTS; k++) {
                v[i] = k / VARIANTS;
                v[j] = k % VARIANTS;
                call_with(v);
                v[i] = v[j] = 0;
            }
}

static void died(int signal_number) {
    complain(strsignal(signal_number));
    fflush(NULL);
    _exit(2);
}

/* Calls with one of two objects of a type, after the other was freed. Returns false if the first argument is no
   object. */
static bool call_without_other(int freed) {
    int v[MOST];
    for (int i = 0; i < MOST; i++) v[i] = i < row->parameters ? 0 : -1;
#define OBJECT(type, end) \
    if (!strcmp(row->first, #type "_p")) { \
        type *pair[2]; \
        pair[0] = type##_made(); \
        pair[1] = type##_made(); \
        must(pair[0] && pair[1] && pair[0] != pair[1]); \
        end(pair[freed]); \
        the_##type = pair[!freed]; \
        call_with(v); \
        return true; \
    }
    OBJECTS(OBJECT)
#undef OBJECT
#define DOCUMENT(format) \
    if (!strcmp(row->first, "hd_" #format "_p")) { \
        hd_dump *pair[2]; \
        pair[0] = hd_dump_made(); \
        pair[1] = hd_dump_made(); \
        must(pair[0] && pair[1] && pair[0] != pair[1]); \
        hd_dump_free(pair[freed]); \
        the_hd_dump = pair[!freed]; \
        call_with(v); \
        return true; \
    }
    DOCUMENTS(DOCUMENT)
#undef DOCUMENT
    return false;
}

static void call_apart(void) {
    if (is_inside()) return;     /* these calls get their object from the library */
    for (int freed = 0; freed < 2; freed++) call_without_other(freed);
}

/* Calls the functions from `first` up to `end` in a child process, so that a crash ends only the child. */
static bool are_defined(int first, int end, void (*call)(void)) {
    static const int deadly[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM };
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        for (size_t k = 0; k < sizeof deadly / sizeof *deadly; k++) signal(deadly[k], died);
        alarm(60);
        for (int i = first; i < end; i++) {
            row = &calls[i];
            calling = row->name;
            call();
        }
        hd_buffer_free(&input);
        exit(bad);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return !status;
}

/* Runs many functions per process, and again each in its own process if one of them failed. (Each process ends with a
   search for leaks in all its memory.) Counts the failed functions. TEST_CALLS, if set, selects functions by their
   prefix. */
static int each_in_a_process(void (*call)(void), int *failed) {
    enum { AT_ONCE = 128 };
    const char *only = getenv("TEST_CALLS");
    int called = 0;
    for (int first = 0; first < CALLS; first += AT_ONCE) {
        int end = first + AT_ONCE < CALLS ? first + AT_ONCE : CALLS;
        if (!only && are_defined(first, end, call)) {
            called += end - first;
            continue;
        }
        for (int i = first; i < end; i++) {
            row = &calls[i];
            calling = row->name;
            if (only && !is_called(only)) continue;
            called++;
            if (!are_defined(i, i + 1, call)) *failed += printf("%s: not as expected\n", row->name) > 0;
        }
    }
    return called;
}

static void every_function_is_defined_for_every_argument(void **state) {
    int failed = 0, called = each_in_a_process(call_all_ways, &failed);
    (void)state;
    printf("%d public functions called with NULL, zero and past the last: %d are defined\n", called, called - failed);
    assert_int_equal(failed, 0);
}

static void objects_share_no_state(void **state) {
    int failed = 0;
    (void)state;
    each_in_a_process(call_apart, &failed);
    assert_int_equal(failed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_is_defined_for_every_argument),
        cmocka_unit_test(objects_share_no_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
