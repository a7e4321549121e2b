/* heapdump info: indexed MemProf profiles. */

#include "memprof.h"

/* The header of LLVM's file, before the memprof section: the version of the file, and its number of functions with
   counters. */
typedef struct index_header {
    unsigned version;            /* 0: no header, as in the RFC's layout */
    uint64_t functions;
} index_header;

static uint64_t index_u64(hd_str bytes, uint64_t at) {
    uint64_t v = 0;
    if (bytes.len < 8 || at > bytes.len - 8) return 0;
    for (int i = 8; i--;) v = v << 8 | (unsigned char)bytes.data[at + (uint64_t)i];
    return v;
}

static index_header index_header_of(const hd_memprof_index *index) {
    enum { VERSION = 8, FUNCTIONS = 32 }; /* offsets of the version, and of the offset of a table */
    index_header h = { 0 };
    uint64_t table;
    if (!index->before.len) return h;
    h.version = (unsigned)index_u64(index->before, VERSION); /* flags are above */
    table = index_u64(index->before, FUNCTIONS);
    if (table && table < UINT64_MAX - 8) h.functions = index_u64(index->before, table + 8);
    return h;
}

/* The number of functions with counters in the same file. */
uint64_t index_counters(const hd_memprof_index *index) { return index_header_of(index).functions; }

/* The number of summary values with unknown meaning. */
uint32_t index_unknown(const hd_memprof_index *index) {
    const uint32_t known = sizeof(hd_memprof_summary) / sizeof(uint64_t);
    return index->summary_count > known ? index->summary_count - known : 0;
}

static const char *index_is_of(const index_header *h) {
    return h->functions ? "with function counters" : "without function counters";
}

/* LLVM's summary: from the file (version 4 and later), else computed as LLVM does. */
static hd_memprof_summary index_summary(const hd_memprof_index *index) {
    hd_memprof_summary sum = HD_ZERO;
    if (hd_memprof_index_summary(index, NULL, &sum, NULL)) needed(NULL);
    return sum;
}

/* Prints the summary, and parts that only version 4 has. */
static void index_late_text(FILE *out, const hd_memprof_index *index) {
    hd_memprof_summary sum = index_summary(index);
    uint32_t callees = index_callees(index);
    display(out, "\n%llu contexts, %llu cold, %llu hot; the largest of %llu bytes cold, %llu warm, %llu hot",
            (unsigned long long)sum.contexts, (unsigned long long)sum.cold, (unsigned long long)sum.hot,
            (unsigned long long)sum.largest_cold, (unsigned long long)sum.largest_warm,
            (unsigned long long)sum.largest_hot);
    if (callees) display(out, "\n%u callees of call sites", callees);
    if (!index->has_accesses) return;
    display(out, "\naccesses to data: %u symbols and string literals, %u known cold symbols, %u known cold string "
            "literals", index->access_count, index->cold_symbol_count, index->cold_literal_count);
}

static void index_late_json(hd_json *j, const hd_memprof_index *index) {
    hd_memprof_summary sum = index_summary(index);
    hd_json_key(j, "summary"), hd_json_object(j);
    json_u64(j, "contexts", sum.contexts);
    json_u64(j, "cold", sum.cold);
    json_u64(j, "hot", sum.hot);
    json_u64(j, "largest_cold_bytes", sum.largest_cold);
    json_u64(j, "largest_warm_bytes", sum.largest_warm);
    json_u64(j, "largest_hot_bytes", sum.largest_hot);
    hd_json_end(j);
    json_u64(j, "callees", index_callees(index));
    if (!index->has_accesses) return;
    hd_json_key(j, "accesses"), hd_json_object(j);
    json_u64(j, "records", index->access_count);
    json_u64(j, "known_cold_symbols", index->cold_symbol_count);
    json_u64(j, "known_cold_literals", index->cold_literal_count);
    hd_json_end(j);
}

int index_info_text(FILE *out, const char *file, const hd_memprof_index *index) {
    index_header h = index_header_of(index);
    hd_memprof *raw;
    hd_error err;
    display(out, "%s", hd_memprof_layout_name(index->layout));
    if (h.version) display(out, ", indexed profile of version %u, %s", h.version, index_is_of(&h));
    if (h.functions) display(out, " (%llu)", (unsigned long long)h.functions);
    display(out, "\n%u function%s, %u block%s, %u call site%s, %u call stack%s, %u frame%s\nschema:",
            index->function_count, plural(index->function_count), index->block_count, plural(index->block_count),
            index->site_count, plural(index->site_count), index->stack_count, plural(index->stack_count),
            index->location_count, plural(index->location_count));
    for (uint32_t f = 0; f < index->field_count; f++)
        display(out, " %s", hd_memprof_field_name(index->field[f]));
    index_late_text(out, index);
    if (hd_memprof_index_raw(index, NULL, &raw, &err)) {
        fputc('\n', out);
        return failed(file, &err);
    }
    memprof_totals_text(out, hd_memprof_part(raw, 0));
    hd_memprof_free(raw);
    return DONE;
}

int index_info_json(hd_json *j, const char *file, const hd_memprof_index *index) {
    index_header h = index_header_of(index);
    hd_memprof *raw;
    hd_error err;
    json_text(j, "layout", hd_memprof_layout_name(index->layout));
    json_known(j, "version", h.version ? h.version : HD_UNKNOWN);
    json_u64(j, "instrumented_functions", h.functions);
    json_u64(j, "functions", index->function_count);
    json_u64(j, "blocks", index->block_count);
    json_u64(j, "call_sites", index->site_count);
    json_u64(j, "call_stacks", index->stack_count);
    json_u64(j, "frames", index->location_count);
    json_array(j, "fields");
    for (uint32_t f = 0; f < index->field_count; f++) hd_json_cstr(j, hd_memprof_field_name(index->field[f]));
    hd_json_end(j);
    index_late_json(j, index);
    if (hd_memprof_index_raw(index, NULL, &raw, &err)) return failed(file, &err);
    memprof_totals_json(j, hd_memprof_part(raw, 0));
    hd_memprof_free(raw);
    return DONE;
}
