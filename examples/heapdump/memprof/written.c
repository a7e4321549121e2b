/* Writes indexed MemProf profiles, and reports losses. */

#include "memprof.h"

#include <sys/stat.h>

/* The requested layout; else version 3, or 4 if needed; or the layout of the file. */
static hd_memprof_layout index_layout(const arguments *a, const index_source *s) {
    const char *v = index_version(a);
    if (!v) return s->layout;
    return strcmp(v, "rfc") ? (hd_memprof_layout)(HD_MEMPROF_LLVM_0 + (*v - '0')) : HD_MEMPROF_RFC;
}

static void index_count(const hd_memprof_index *x, index_counts *counts) {
    counts->functions = x->function_count;
    counts->blocks = x->block_count;
    counts->sites = x->site_count;
    counts->stacks = x->stack_count;
}

static int index_hash_order(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

#define INDEX_ALL ((1u << HD_MEMPROF_FIELDS) - 2)
#define INDEX_HISTOGRAM \
    (HD_MEMPROF_FIELD(HD_MEMPROF_ACCESS_HISTOGRAM) | HD_MEMPROF_FIELD(HD_MEMPROF_ACCESS_HISTOGRAM_SIZE))

/* The fields to write; 0: as in the index. False: the index lacks requested fields. */
static bool index_fields(const arguments *a, const index_source *s, hd_memprof_layout layout,
                         uint32_t *fields) {
    const uint32_t all = INDEX_ALL, has = s->index->fields;
    bool is_small = layout >= HD_MEMPROF_LLVM_2 && layout <= HD_MEMPROF_LLVM_4;
    bool is_rfc = layout == HD_MEMPROF_RFC, is_raw = s->built && !s->indexed;
    *fields = 0;
    if (a->memprof.full_schema) {
        *fields = is_rfc ? has : all;
        return is_raw || yaml_is_source(s) || !(all & ~INDEX_HISTOGRAM & ~has);
    }
    if (!a->memprof.hot_cold_schema && !s->built && layout == s->index->layout) return true;
    *fields = a->memprof.hot_cold_schema || (is_small && is_raw) ? has & HD_MEMPROF_HOT_COLD : is_rfc || !is_raw
        ? has : all;
    return !a->memprof.hot_cold_schema || *fields;
}

/* The first file that lacks a requested field. */
static const char *index_lacking(const index_source *s, uint32_t asked) {
    for (uint32_t f = 1; f < HD_MEMPROF_FIELDS; f++)
        if (asked & ~s->index->fields & HD_MEMPROF_FIELD(f) && s->lacking[f]) return s->lacking[f];
    return s->name;
}

/* Hashes of call sites by function and frames, sorted. To be freed. */
static uint64_t *index_sites(const hd_memprof_index *x) {
    FREED uint64_t *ids = needed(calloc((size_t)x->location_count + 1, sizeof *ids));
    uint64_t *sites = needed(calloc((size_t)x->site_count + 1, sizeof *sites));
    for (uint32_t i = 0; i < x->location_count; i++)
        ids[i] = hd_memprof_stack_id(&x->locations[i]) * 2 + x->locations[i].inlined;
    for (uint32_t f = 0; f < x->function_count; f++)
        for (uint32_t s = x->site_first[f]; s < x->site_first[f + 1]; s++) {
            sites[s] = x->function[f];
            for (uint32_t i = x->first[x->site[s]]; i < x->first[x->site[s] + 1]; i++)
                sites[s] = index_hash(sites[s], ids[x->location[i]]);
        }
    if (x->site_count) qsort(sites, x->site_count, sizeof *sites, index_hash_order);
    return sites;
}

/* The number of call sites of `x` that `of` lacks, or has less often. */
static uint32_t index_sites_lost(const hd_memprof_index *x, const hd_memprof_index *of) {
    FREED uint64_t *had = index_sites(x), *has = index_sites(of);
    uint32_t lost = 0, k = 0;
    for (uint32_t i = 0; i < x->site_count; i++) {
        while (k < of->site_count && has[k] < had[i]) k++;
        if (k < of->site_count && has[k] == had[i]) k++;
        else lost++;
    }
    return lost;
}

/* Writes an index into memory and reads it again. */
static hd_status index_again(const hd_memprof_index *x, const hd_memprof_index_desc *desc, const hd_options *options,
                             hd_buffer *bytes, hd_memprof_index **again, hd_error *err) {
    const hd_options unpacking = { .unpackers = tool_unpackers, .unpacker_count = TOOL_UNPACKERS };
    hd_status status = hd_memprof_index_write(x, desc, options, hd_out_memory(bytes), err);
    return status ? status : hd_memprof_index_read(hd_in_memory(bytes->data, bytes->size), &unpacking, again, err);
}

/* Writes an index in the other layout family, LLVM's or the RFC's. The families hold different parts, so the counts
   come from the written file. */
static hd_status index_write_across(const hd_memprof_index *x, const hd_memprof_index_desc *desc,
                                    const hd_options *options, hd_out out, index_counts *counts, hd_error *err) {
    const hd_memprof_index_desc back = { .layout = HD_MEMPROF_LLVM_4 };
    hd_buffer bytes = { .data = NULL }, unfolded = { .data = NULL };
    hd_memprof_index *written = NULL, *read = NULL;
    hd_status status = index_again(x, desc, options, &bytes, &written, err);
    if (!status && desc->layout == HD_MEMPROF_RFC) {
        status = index_again(written, &back, NULL, &unfolded, &read, err);
        if (!status) counts->lost_sites = index_sites_lost(x, read);
    }
    if (!status) index_count(written, counts);
    if (!status && out.write(out.user, bytes.data, bytes.size)) {
        status = err->status = HD_IO;
        snprintf(err->message, sizeof err->message, "writing the profile failed");
    }
    hd_memprof_index_free(written);
    hd_memprof_index_free(read);
    hd_buffer_free(&unfolded);
    hd_buffer_free(&bytes);
    return status;
}

/* Whether a file is one of the input files. */
static bool index_is_added(const arguments *a, const char *file) {
    struct stat of, st;
    for (int i = 0; !stat(file, &of) && i < a->input.file_count; i++)
        if (!stat(a->input.files[i], &st) && st.st_dev == of.st_dev && st.st_ino == of.st_ino) return true;
    return false;
}

/* Loads the profile of --base. *has_profile: its MemProf profile will be lost, because it is not one of the inputs
   as well. */
static int index_load_base(const arguments *a, hd_buffer *base, hd_memprof_index_desc *desc, bool *has_profile) {
    static const uint8_t nothing;
    enum { FLAGS = 15, HAS_PROFILE = 0x40 }; /* the version's last byte */
    unpacked profile;
    hd_error err;
    hd_status failed = unpacked_open(&profile, a->memprof.base, &err);
    if (!failed) {
        failed = hd_in_load(profile.in, NULL, base, &err);
        if (failed) unpacked_explain(&profile, &err);
        unpacked_close(&profile);
    }
    if (failed) return complain(a->memprof.base, &err, ""), BAD_INPUT;
    desc->base = base->data ? base->data : &nothing;
    desc->base_size = base->size;
    *has_profile = base->size > FLAGS && base->data[FLAGS] & HAS_PROFILE && !index_is_added(a, a->memprof.base);
    return DONE;
}

/* The file that a failure is about. */
static const char *index_failed(const arguments *a, const index_source *s, const char *path, hd_status failed) {
    if (failed == HD_IO) return path ? path : "standard output";
    return a->memprof.base && (failed == HD_MALFORMED || failed == HD_UNKNOWN_FORMAT || failed == HD_UNSUPPORTED)
           ? a->memprof.base
                                                                                                          : s->name;
}

int index_write_to(const arguments *a, const index_source *s, const char *path, index_counts *counts) {
    hd_memprof_index_desc desc = { .layout = index_layout(a, s) };
    reading r;
    hd_options options = memprof_options(a, &r, s->name);
    hd_buffer base = { .data = NULL };
    hd_error err;
    output o;
    int status = DONE;
    desc.llvm = a->memprof.like ? (uint32_t)strtoul(a->memprof.like, NULL, 10) : 0;
    if (!index_fields(a, s, desc.layout, &desc.fields)) {
        uint32_t asked = a->memprof.full_schema ? INDEX_ALL & ~INDEX_HISTOGRAM : HD_MEMPROF_HOT_COLD;
        display(stderr, "heapdump: %s lacks fields that --%s-schema needs\n", index_lacking(s, asked),
                a->memprof.full_schema ? "full" : "hot-cold");
        return BAD_INPUT;
    }
    if (a->memprof.base) status = index_load_base(a, &base, &desc, &counts->base_lost);
    if (!status) status = output_open_as(&o, path, a->out.is_default);
    if (!status) {
        bool across = (desc.layout == HD_MEMPROF_RFC) != (s->index->layout == HD_MEMPROF_RFC);
        hd_status failed = across ? index_write_across(s->index, &desc, &options, o.out, counts, &err)
                                  : hd_memprof_index_write(s->index, &desc, &options, o.out, &err);
        if (!across) index_count(s->index, counts);
        status = output_end(&o, path, failed ? index_failed(a, s, path, failed) : NULL, failed, &err);
    }
    hd_buffer_free(&base);
    return status;
}

void index_warn_unknown(uint64_t numbers) {
    if (!numbers) return;
    display(stderr, "heapdump: %llu value%s of the summary %s left out: LLVM 22 does not have %s\n",
            (unsigned long long)numbers, numbers == 1 ? "" : "s", numbers == 1 ? "is" : "are",
            numbers == 1 ? "it" : "them");
}

/* Reports parts of an index that the layout cannot hold. */
static void index_warn_lost(const index_source *s, hd_memprof_layout layout) {
    const hd_memprof_index *index = s->index;
    static const char *const names[] = { "version 0", "version 1", "version 2", "version 3", "version 4", "the RFC" };
    const char *name = names[layout - HD_MEMPROF_LLVM_0];
    uint32_t callees = index_callees(index);
    index_warn_unknown(s->numbers_lost + (layout == HD_MEMPROF_LLVM_4 ? 0 : index_unknown(index)));
    if (layout == HD_MEMPROF_LLVM_4) return;
    if (callees) display(stderr, "heapdump: %s cannot hold callees of call sites; left out: %u\n", name, callees);
    if (index->has_accesses)
        display(stderr, "heapdump: %s cannot hold accesses to data; left out: %u symbols and literals, %u known to "
                "be cold\n", name, index->access_count, index->cold_symbol_count + index->cold_literal_count);
}

/* Reports the written fields if most are left out by default. */
static void index_print_fields(const arguments *a, const index_source *s) {
    if (!s->built || s->indexed || a->memprof.hot_cold_schema || index_is_full(a)) return;
    for (uint32_t f = 0; f < s->index->field_count; f++)
        display(stderr, "%s %s", f ? "," : "heapdump: fields kept:",
                hd_memprof_field_name(s->index->field[f]));
    display(stderr, " (--full-schema keeps all)\n");
}

/* Writes the index, and reports its counts and losses. */
int index_finish(const arguments *a, index_source *s) {
    index_counts counts = { 0 };
    int status = a->memprof.prune ? index_prune(a, s) : DONE;
    if (!status) status = index_write_to(a, s, a->out.file, &counts);
    if (!status) {
        index_print_fields(a, s);
        index_warn_lost(s, index_layout(a, s));
        if (counts.lost_sites)
            display(stderr, "heapdump: the RFC's layout holds only call sites on its call stacks, each once; "
                    "left out: %u\n", counts.lost_sites);
        if (counts.base_lost)
            display(stderr, "heapdump: the MemProf profile in %s is left out; name the file as an input to keep it\n",
                    a->memprof.base);
        display(stderr, "heapdump: %u function%s, %u block%s, %u call site%s, %u call stack%s\n", counts.functions,
                plural(counts.functions), counts.blocks, plural(counts.blocks), counts.sites, plural(counts.sites),
                counts.stacks, plural(counts.stacks));
    }
    index_close(s);
    return status || !s->left_out ? status : BAD_INPUT;
}
