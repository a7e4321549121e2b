/* Indexed MemProf profiles: names for their functions, heaps, info, making and writing them. */

#include "commands.h"
#include "formats/formats.h"
#include "memprof.h"

#include <fcntl.h>
#include <sys/stat.h>

static int index_name_order(const void *a, const void *b) {
    const index_name *x = a, *y = b;
    return x->guid < y->guid ? -1 : x->guid > y->guid;
}

static index_name *index_find(const index_names *n, uint64_t guid) {
    index_name key = { .guid = guid };
    return n->count ? bsearch(&key, n->names, n->count, sizeof key, index_name_order) : NULL;
}

/* A symbols_name_fn. */
static bool index_take_name(void *user, const char *name) {
    index_name *found = index_find(user, hd_memprof_guid(hd_cstr(name)));
    if (!found || found->name.len) return false;
    found->name = hd_cstr(name);
    return true;
}

/* How many functions the call sites call, as far as that is told. */
uint32_t index_callees(const hd_memprof_index *index) {
    return index->callee_first ? index->callee_first[index->site_count] : 0;
}

void index_names_make(const arguments *a, const hd_memprof_index *index, index_names *n) {
    size_t functions = (size_t)index->location_count + index->function_count, kept = 0;
    size_t callees = index_callees(index), all = functions + callees;
    memset(n, 0, sizeof *n);
    n->index = index;
    n->names = needed(calloc(all + 1, sizeof *n->names));
    for (uint32_t i = 0; i < index->location_count; i++) {
        n->names[i].guid = index->locations[i].function;
        n->names[i].name = index->locations[i].name;
    }
    for (uint32_t f = 0; f < index->function_count; f++)
        n->names[index->location_count + f].guid = index->function[f];
    for (size_t i = 0; i < callees; i++) n->names[functions + i].guid = index->callee[i];
    if (all) qsort(n->names, all, sizeof *n->names, index_name_order);
    for (size_t i = 0; i < all; i++) {
        if (!kept || n->names[kept - 1].guid != n->names[i].guid) n->names[kept++] = n->names[i];
        else if (!n->names[kept - 1].name.len) n->names[kept - 1].name = n->names[i].name;
    }
    n->count = kept;
    if (a->names) symbols_each_name(a->names, index_take_name, n);
    for (size_t i = 0; i < kept; i++) {
        index_name *name = &n->names[i];
        if (name->name.len) continue;
        snprintf(name->hex, sizeof name->hex, "0x%llx", (unsigned long long)name->guid);
        name->name = hd_cstr(name->hex);
    }
}

void index_names_free(index_names *n) {
    free(n->names);
    free(n->text);
}

/* The name as linked, or the GUID: "0x1f". */
hd_str index_name_of(void *user, uint64_t guid) { return index_find(user, guid)->name; }

/* The name as people read it: demangled, with file and line where these are known. */
hd_str index_text_of(index_names *n, hd_str name, hd_str file, uint32_t line) {
    char *linked = needed(strndup(name.data, name.len));
    char *path = file.len ? needed(strndup(file.data, file.len)) : NULL;
    free(n->text);
    n->text = symbols_text(linked, path, (int)line, (hd_str){ NULL, 0 });
    free(linked);
    free(path);
    return hd_cstr(n->text);
}

/* An hd_memprof_symbolize_fn. */
static uint32_t index_shown(void *user, const hd_memprof_address *a, hd_memprof_frame *frames,
                            uint32_t capacity) {
    index_names *n = user;
    hd_memprof_namer namer = { .index = n->index, .name = index_name_of, .user = n };
    uint32_t count = hd_memprof_index_frame(&namer, a, frames, capacity < 1 ? capacity : 1);
    if (count) frames->function = index_text_of(n, frames->function, frames->file, frames->line);
    return count;
}

/* Heaps. ---------------------------------------------------------------------------------------- */

hd_status index_heap(const arguments *a, const hd_memprof_index *index, hd_heap *heap, bool *made,
                     hd_error *err) {
    hd_memprof_symbolizer by = { .symbolize = index_shown };
    hd_memprof *raw;
    index_names names;
    hd_status status = hd_memprof_index_raw(index, NULL, &raw, err);
    if (status) return status;
    index_names_make(a, index, &names);
    by.user = &names;
    status = memprof_view_heap(a, hd_memprof_part(raw, 0), by, heap, made, err);
    index_names_free(&names);
    hd_memprof_free(raw);
    return status;
}

/* info ----------------------------------------------------------------------------------------- */

/* What stands before the memprof section of LLVM's: the version of the whole, and how many functions have
   counters. */
typedef struct index_header {
    unsigned version;            /* 0: none, as in the RFC's */
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

/* Functions that have counters beside the section. */
uint64_t index_counters(const hd_memprof_index *index) { return index_header_of(index).functions; }

/* Numbers of its summary whose meaning is not known. */
uint32_t index_unknown(const hd_memprof_index *index) {
    const uint32_t known = sizeof(hd_memprof_summary) / sizeof(uint64_t);
    return index->summary_count > known ? index->summary_count - known : 0;
}

static const char *index_is_of(const index_header *h) {
    return h->functions ? "with counters of functions beside it" : "without counters of functions";
}

/* What LLVM tells of the whole: in the file from version 4 on, else counted as it would be. */
static hd_memprof_summary index_summary(const hd_memprof_index *index) {
    hd_memprof_summary sum;
    memset(&sum, 0, sizeof sum);
    if (hd_memprof_index_summary(index, NULL, &sum, NULL)) needed(NULL);
    return sum;
}

/* The summary, and what is in files of version 4 alone. */
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
        complain(file, &err, "");
        return BAD_INPUT;
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
    if (hd_memprof_index_raw(index, NULL, &raw, &err)) {
        complain(file, &err, "");
        return BAD_INPUT;
    }
    memprof_totals_json(j, hd_memprof_part(raw, 0));
    hd_memprof_free(raw);
    return DONE;
}

/* index, convert -------------------------------------------------------------------------------- */

void index_close(index_source *s) {
    hd_memprof_index_free(s->built);
    hd_dump_free(s->dump);
}

/* The version that is asked for; NULL: none. */
const char *index_version(const arguments *a) {
    return !a->memprof_version && a->like ? (strcmp(a->like, "19") ? "3" : "0") : a->memprof_version;
}

/* Whether fields beyond those that tell hot from cold are asked for. */
bool index_is_full(const arguments *a) {
    const char *v = index_version(a);
    if (a->hints || a->hot_cold_schema) return false;
    return a->full_schema || (v && strcmp(v, "2") && strcmp(v, "3") && strcmp(v, "4"));
}

/* An index of the raw profile of `file`, which is taken out of the document that has it, unless that is NULL. */
int index_build(const arguments *a, const char *file, const hd_memprof_raw *raw, hd_memprof *doc, bool skips_new,
                hd_memprof_index **out) {
    symbols_counts x;
    hd_memprof_symbolizer by = { .symbolize = symbols_counted, .user = &x };
    hd_memprof_symbols *found = NULL;
    hd_error err;
    int status = DONE;
    symbols_counts_make(&x, a->names, raw);
    x.skips_new = skips_new;
    if (!x.names) {
        usage("%s needs --binary FILE, of each module that was profiled", file);
        status = WRONG_USAGE;
        if (!hd_memprof_symbolize(raw, &by, NULL, &found, &err)) symbols_tell_absent(&x);
        hd_memprof_symbols_free(found);
    } else {
        hd_status failed;
        symbols_prepare_memprof(x.names, raw, false);
        failed = doc ? hd_memprof_index_take(doc, raw->fields, &by, NULL, out, &err)
                     : hd_memprof_index_build(raw, &by, NULL, out, &err);
        symbols_tell(x.names);
        symbols_tell_unnamed(&x);
        if (!failed && !symbols_given_whole(x.names)) { /* the compiler would take the profile for whole */
            hd_memprof_index_free(*out);
            *out = NULL;
            status = BAD_INPUT;
        }
        if (failed) complain(file, &err, ""), status = BAD_INPUT;
    }
    symbols_counts_free(&x);
    return status;
}

/* Whether a file is one raw profile alone, and not packed, which is taken as it is. */
static bool index_is_alone(const arguments *a, const char *file) {
    unsigned char header[24];
    struct stat st;
    uint64_t total = 0;
    bool may_be = !input_is_pipe(file) && memprof_begins(a, file, false);
    int fd = may_be ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    bool found = fd >= 0 && !fstat(fd, &st) && read(fd, header, sizeof header) == (ssize_t)sizeof header;
    if (fd >= 0) close(fd);
    for (int i = 0; found && i < 8; i++) total = total << 8 | header[*header == 0x81 ? 23 - i : 16 + i];
    return found && total >= (uint64_t)st.st_size;
}

static int index_read_alone(const arguments *a, const char *file, hd_memprof **out) {
    reading r;
    hd_options options = memprof_options(a, &r, file);
    hd_error err;
    hd_in in;
    hd_status status = hd_in_open(file, &in, &err);
    if (!status) {
        status = hd_memprof_read(in, &options, out, &err);
        hd_in_close(&in);
    }
    if (status) return complain(file, &err, ""), BAD_INPUT;
    if (hd_memprof_part_count(*out) && (hd_memprof_part(*out, 0)->block_count || !hd_memprof_warning_count(*out)))
        return DONE;
    hd_memprof_free(*out);
    *out = NULL;
    return memprof_check_read(file, &(memprof_sum){ 0 });
}

/* One raw file as llvm-profdata has it: its profiles are added up by address, and call stacks that are the same only
   when they are named stay apart. */
static int index_open_raw(const arguments *a, index_source *s) {
    reading r;
    hd_options options = memprof_options(a, &r, s->name);
    memprof_sum sum = { .merger = needed(hd_memprof_merger_create(&options, NULL)) };
    hd_memprof *file = NULL;
    hd_memprof_raw raw;
    hd_error err;
    int status;
    hd_memprof_merger_keep_order(sum.merger);
    if (index_is_alone(a, a->files[0])) status = index_read_alone(a, a->files[0], &file);
    else status = memprof_add(a, a->files[0], &sum);
    if (!status && !file) status = memprof_check_read(s->name, &sum);
    if (!status && !file && hd_memprof_merger_take(sum.merger, &file, &err))
        complain(s->name, &err, ""), status = BAD_INPUT;
    hd_memprof_merger_free(sum.merger);
    if (status) return status;
    raw = *hd_memprof_part(file, 0);
    if (!index_is_full(a)) raw.fields &= HD_MEMPROF_HOT_COLD;
    status = index_build(a, s->name, &raw, file, false, &s->built);
    s->layout = HD_MEMPROF_LLVM_3;
    hd_memprof_free(file);
    return status;
}

/* Whether a function has several blocks of one call stack. */
static bool index_repeats(const hd_memprof_index *x) {
    /* By stack: a function that has it, plus 1. */
    uint32_t *last = needed(calloc((size_t)x->stack_count + 1, sizeof *last));
    bool found = false;
    for (uint32_t f = 0; f < x->function_count && !found; f++)
        for (uint32_t b = x->block_first[f]; b < x->block_first[f + 1]; b++) {
            found |= last[x->block_stack[b]] == f + 1;
            last[x->block_stack[b]] = f + 1;
        }
    free(last);
    return found;
}

/* Adds raw profiles, `all` or else what a merger has, to the indexed ones. Beside these they keep all fields. `file`: the
   first of them. */
static int index_add_raw(const arguments *a, memprof_sum *sum, const char *file, hd_memprof_merger **merger,
                         hd_memprof *all, hd_memprof_index **only) {
    bool is_one = sum->raw == 1 && !sum->indexed && !(sum->later_file && sum->older_file);
    hd_memprof_index *built = NULL;
    hd_error err;
    hd_memprof_raw raw;
    int status;
    if (!all && hd_memprof_merger_take(*merger, &all, &err)) return complain("merging", &err, ""), BAD_INPUT;
    hd_memprof_merger_free(*merger);
    *merger = NULL;
    raw = *hd_memprof_part(all, 0);
    if (!index_is_full(a) && (!sum->indexed || a->hints || a->hot_cold_schema)) raw.fields &= HD_MEMPROF_HOT_COLD;
    status = index_build(a, file, &raw, all, false, &built);
    if (!status && is_one && !index_repeats(built)) *only = built, built = NULL;
    else if (!status && hd_memprof_builder_add(sum->builder, built, &err))
        complain("merging", &err, ""), status = BAD_INPUT;
    hd_memprof_index_free(built);
    hd_memprof_free(all);
    return status;
}

/* All files added up, raw and indexed ones: a block for each context. The source may have the first as a dump. */
static int index_add_up(const arguments *a, index_source *s) {
    reading r;
    hd_options options = memprof_options(a, &r, s->name);
    memprof_sum sum = { .merger = needed(hd_memprof_merger_create(&options, NULL)),
                        .older = needed(hd_memprof_merger_create(&options, NULL)),
                        .builder = needed(hd_memprof_builder_create(NULL, &options, NULL)),
                        .is_partial = s->is_partial };
    reading merging = { .doing = "merging" };
    hd_memprof *alone = NULL;
    hd_error err;
    int status = DONE;
    hd_memprof_merger_keep_order(sum.merger);
    hd_memprof_merger_keep_order(sum.older);
    clock_gettime(CLOCK_MONOTONIC, &merging.began);
    for (int i = 0; i < a->file_count && !status; i++) {
        if (a->file_count > 1) on_progress(&merging, (uint64_t)i, (uint64_t)a->file_count);
        if (!i && s->dump) status = memprof_add_dump(a->files[0], s->dump, &sum);
        else if (a->file_count > 1 || !index_is_alone(a, a->files[0]))
            status = memprof_add(a, a->files[i], &sum);
        else sum.raw++, sum.later_file = s->name, status = index_read_alone(a, a->files[0], &alone);
    }
    progress_end();
    if (!status) status = memprof_check_read(s->name, &sum);
    if (!status && sum.later_file) status = index_add_raw(a, &sum, sum.later_file, &sum.merger, alone, &s->built);
    if (!status && sum.older_file) status = index_add_raw(a, &sum, sum.older_file, &sum.older, NULL, &s->built);
    if (!status && !s->built && hd_memprof_builder_finish(sum.builder, &s->built, &err))
        complain("merging", &err, ""), status = BAD_INPUT;
    if (!status && sum.indexed) memprof_tell_lost(sum.fields, s->built->fields);
    if (!status && sum.functions && !a->base)
        display(stderr, "heapdump: counters of %llu functions, beside the profiles, are left out%s\n",
                (unsigned long long)sum.functions,
                a->yaml || yaml_is_asked(a->to) ? "" : ": --base FILE keeps those of one");
    s->indexed = sum.indexed;
    s->left_out = sum.left_out;
    s->numbers_lost = sum.numbers;
    memcpy(s->lacking, sum.lacking, sizeof s->lacking);
    if (!status) s->layout = s->built->layout > sum.layout ? s->built->layout : sum.layout;
    hd_memprof_builder_free(sum.builder);
    hd_memprof_merger_free(sum.merger);
    hd_memprof_merger_free(sum.older);
    return status;
}

/* Whether the bytes of LLVM are asked for, which are those of one raw file. */
static bool index_is_like(const arguments *a) {
    return a->like && a->file_count == 1 && memprof_begins(a, a->files[0], true);
}

/* `is_partial`: files that cannot be read are left out of several, and s->left_out says how many. */
int index_open(const arguments *a, bool is_partial, index_source *s) {
    bool is_like = index_is_like(a);
    int status;
    *s = (index_source){ .name = memprof_files_name(a), .is_partial = is_partial };
    if (!is_like && a->file_count == 1 && !memprof_begins(a, a->files[0], false)) {
        status = read_dump(a->files[0], a, &s->dump);
        if (status) return status;
        s->index = hd_dump_memprof_index(s->dump);
        if (s->index) return s->layout = s->index->layout, DONE;
    }
    status = is_like ? index_open_raw(a, s) : index_add_up(a, s);
    s->index = s->built;
    if (status) index_close(s);
    return status;
}

/* Another index in place of a source's, which it was made of; beside the same counters. */
void index_replace(index_source *s, hd_memprof_index *made) {
    if (s->dump && index_counters(s->index)) made->before = s->index->before, made->after = s->index->after;
    s->indexed += !s->built;
    s->numbers_lost += index_unknown(s->index);
    hd_memprof_index_free(s->built);
    s->index = s->built = made;
}

/* Makes one block of those of a context, which LLVM's files may have several of, by each function once. */
int index_unite(const arguments *a, index_source *s) {
    reading r;
    hd_options options = memprof_options(a, &r, s->name);
    hd_memprof_builder *to = needed(hd_memprof_builder_create(NULL, &options, NULL));
    hd_memprof_index *united = NULL;
    hd_error err;
    hd_status status = hd_memprof_builder_add(to, s->index, &err);
    if (!status) status = hd_memprof_builder_finish(to, &united, &err);
    hd_memprof_builder_free(to);
    if (status) return complain(s->name, &err, ""), BAD_INPUT;
    index_replace(s, united);
    return DONE;
}

/* Whether options go with an indexed profile, and with each other. */
int index_check(const arguments *a) {
    const char *v = a->memprof_version;
    if (a->has_cutoff || a->add_to || a->keep.text || a->drop.text || a->root.text || a->invert || a->dump ||
        a->allocator || a->has_pid)
        return usage("indexed profiles are written whole, and by themselves");
    if (v && strcmp(v, "rfc") && (*v < '0' || *v > '4' || v[1]))
        return usage("indexed profiles have versions 0, 1, 2, 3, 4 and rfc, not '%s'", v);
    if (a->like && strcmp(a->like, "19") && strcmp(a->like, "22"))
        return usage("indexed profiles are written like LLVM's of 19 or 22, not '%s'", a->like);
    if (a->like && v && !strcmp(v, "rfc"))
        return usage("the RFC's layout is of no release: --like does not go with it");
    if (a->like && v && (a->like[0] == '1' ? *v > '3' : *v < '2'))
        return usage("LLVM %s does not write version %s", a->like, v);
    if (a->full_schema && a->hot_cold_schema)
        return usage("--full-schema and --hot-cold-schema do not go together");
    return DONE;
}

int run_index(const arguments *a) {
    index_source s;
    int status = file_is_named(a);
    if (!status) status = check_terminal(a->output, "memprof-index");
    memory_keep();
    if (!status) status = index_check(a);
    if (!status) status = index_open(a, true, &s);
    if (!status && s.left_out) memprof_tell_merged(a, s.left_out), fputc('\n', stderr);
    return status ? status : index_finish(a, &s);
}

/* Whether a file begins as an indexed profile does, as YAML too. */
static bool index_begins(const arguments *a, const char *file) {
    const hd_format *format = format_named("memprof-index"), *yaml = format_named("memprof-yaml");
    uint8_t first[HD_DETECT_FIRST];
    size_t n;
    if (!format || !yaml) return false;
    if (a->format) return !strcmp(a->format, format->name) || !strcmp(a->format, yaml->name);
    n = input_look(file, true, first);
    return format->detect(first, n) > 0 || yaml->detect(first, n) > 0;
}

/* Whether merging makes an indexed profile: one of the files is one, or it is asked for. Of pipes the first alone is
   looked at: who writes another may wait until that is read. */
bool index_is_merged(const arguments *a) {
    bool has_pipe = false;
    if (a->to || a->add_to) return index_is_asked(a->to);
    for (int i = 0; i < a->file_count; i++) {
        bool is_pipe = input_is_pipe(a->files[i]);
        if (!(is_pipe && has_pipe) && index_begins(a, a->files[i])) return true;
        has_pipe |= is_pipe;
    }
    return false;
}

bool index_is_asked(const char *to) { return to && !strcmp(to, "memprof-index"); }

/* Refuses options of indexed profiles where another format is written, which `takes_version` of memprof-raw. */
int index_check_none(const arguments *a, bool takes_version) {
    const char *name = a->prune             ? "prune"
                       : a->base            ? "base"
                       : a->like            ? "like"
                       : a->full_schema     ? "full-schema"
                       : a->hot_cold_schema ? "hot-cold-schema"
                                            : NULL;
    if (!name && a->memprof_version && !takes_version) name = "memprof-version";
    return name ? usage("--%s is of indexed profiles, and here none is written: --to memprof-index writes one", name)
                : DONE;
}

/* The files of a command line, of which those that cannot be read are left out, as one; which is told. */
int index_open_merged(const arguments *a, index_source *s) {
    int status;
    *s = (index_source){ .name = memprof_files_name(a), .is_partial = true };
    status = index_is_like(a) ? index_open_raw(a, s) : index_add_up(a, s);
    s->index = s->built;
    if (status) index_close(s);
    else memprof_tell_merged(a, s->left_out), fputc('\n', stderr);
    return status;
}

int index_merge(const arguments *a) {
    index_source s;
    int status = index_check(a);
    memory_keep();
    if (!status) status = index_open_merged(a, &s);
    return status ? status : index_finish(a, &s);
}
