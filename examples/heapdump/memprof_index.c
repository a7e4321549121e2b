/* Indexed MemProf profiles: names for their functions, heaps, info, making and writing them. */

#include "commands.h"
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
static void index_take_name(void *user, const char *name) {
    index_name *found = index_find(user, hd_memprof_guid(hd_cstr(name)));
    if (found && !found->name.len) found->name = hd_cstr(name);
}

void index_names_make(const arguments *a, const hd_memprof_index *index, index_names *n) {
    size_t all = (size_t)index->location_count + index->function_count, kept = 0;
    memset(n, 0, sizeof *n);
    n->index = index;
    n->names = needed(calloc(all + 1, sizeof *n->names));
    for (uint32_t i = 0; i < index->location_count; i++) {
        n->names[i].guid = index->locations[i].function;
        n->names[i].name = index->locations[i].name;
    }
    for (uint32_t f = 0; f < index->function_count; f++)
        n->names[index->location_count + f].guid = index->function[f];
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
    n->text = symbols_text(linked, path, (int)line);
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
    if (index->layout == HD_MEMPROF_RFC) return h;
    h.version = (unsigned)index_u64(index->before, VERSION); /* flags are above */
    table = index_u64(index->before, FUNCTIONS);
    if (table && table < UINT64_MAX - 8) h.functions = index_u64(index->before, table + 8);
    return h;
}

static const char *index_is_of(const index_header *h) {
    return h->functions ? "with counters of functions beside it" : "without counters of functions";
}

int index_info_text(FILE *out, const char *file, const hd_memprof_index *index) {
    index_header h = index_header_of(index);
    hd_memprof *raw;
    hd_error err;
    display(out, "%s", hd_memprof_layout_name(index->layout));
    if (h.version) display(out, ", indexed profile of version %u, %s", h.version, index_is_of(&h));
    if (h.functions) display(out, " (%llu)", (unsigned long long)h.functions);
    display(out, "\n%u functions, %u blocks, %u call sites, %u call stacks, %u frames\nschema:",
            index->function_count, index->block_count, index->site_count, index->stack_count,
            index->location_count);
    for (uint32_t f = 0; f < index->field_count; f++)
        display(out, " %s", hd_memprof_field_name(index->field[f]));
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
    if (hd_memprof_index_raw(index, NULL, &raw, &err)) {
        complain(file, &err, "");
        return BAD_INPUT;
    }
    memprof_totals_json(j, hd_memprof_part(raw, 0));
    hd_memprof_free(raw);
    return DONE;
}

/* index, convert -------------------------------------------------------------------------------- */

/* Names addresses as symbols_linked does, and counts what it does not name. */
typedef struct index_symbols {
    symbols *names;
    const hd_memprof_raw *raw;
    uint32_t *missing;           /* addresses that no binary is given for, by segment */
    uint32_t addresses, absent, unnamed, outside; /* absent: of all segments */
    bool skips_new;              /* operator new is part of the allocator, as it is where clang records */
} index_symbols;

static uint32_t index_linked(void *user, const hd_memprof_address *a, hd_memprof_frame *frames,
                             uint32_t capacity) {
    index_symbols *x = user;
    uint32_t n = x->names ? symbols_linked(x->names, a, frames, capacity) : 0;
    x->addresses++;
    if (n == 1 && x->skips_new && frames->function.len > 4 &&
        (!memcmp(frames->function.data, "_Znw", 4) || !memcmp(frames->function.data, "_Zna", 4)))
        return 0;
    if (n) return n;
    if (!a->segment) x->outside++;
    else if (x->names && symbols_binary(x->names, a)) x->unnamed++;
    else x->absent++, x->missing[a->segment - x->raw->segments]++;
    return 0;
}

static void index_tell(const index_symbols *x) {
    if (x->names && (x->absent || x->unnamed || x->outside))
        display(stderr, "heapdump: of %u addresses %u are in no binary at hand, %u have no name in theirs, "
                "%u are in no module\n", x->addresses, x->absent, x->unnamed, x->outside);
    for (uint32_t s = 0; s < x->raw->segment_count; s++) {
        char id[65];
        if (!x->missing[s]) continue;
        memprof_build_id(id, &x->raw->segments[s]);
        display(stderr, "heapdump: no binary for %u addresses in what has build id %s\n", x->missing[s],
                *id ? id : "<None>");
    }
}

void index_close(index_source *s) {
    hd_memprof_index_free(s->built);
    hd_memprof_free(s->raw);
    hd_dump_free(s->dump);
}

/* Whether fields beyond those that tell hot from cold are asked for. */
static bool index_is_full(const arguments *a) {
    const char *v = a->memprof_version;
    if (a->hints || a->hot_cold_schema) return false;
    return a->full_schema || (v && strcmp(v, "2") && strcmp(v, "3"));
}

int index_build(const arguments *a, const hd_memprof_raw *from, bool skips_new, index_source *s) {
    hd_memprof_symbolizer by = { .symbolize = index_linked };
    hd_memprof_raw raw = *from;
    index_symbols x = { .names = a->names, .raw = &raw, .skips_new = skips_new };
    hd_memprof_symbols *found = NULL;
    hd_error err;
    int status = DONE;
    by.user = &x;
    if (!index_is_full(a)) raw.fields &= HD_MEMPROF_HOT_COLD;
    x.missing = needed(calloc((size_t)raw.segment_count + 1, sizeof *x.missing));
    if (!x.names) {
        usage("%s needs --binary FILE, of each module that was profiled", a->files[0]);
        status = WRONG_USAGE;
        if (!hd_memprof_symbolize(&raw, &by, NULL, &found, &err)) index_tell(&x);
        hd_memprof_symbols_free(found);
    } else {
        hd_status failed = hd_memprof_index_build(&raw, &by, NULL, &s->built, &err);
        index_tell(&x);
        if (failed) complain(a->files[0], &err, ""), status = BAD_INPUT;
    }
    s->index = s->built;
    free(x.missing);
    return status;
}

/* Whether a file is one raw profile alone, which is taken as it is. */
static bool index_is_alone(const char *file) {
    unsigned char header[24];
    struct stat st;
    uint64_t total = 0;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
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
    if (status) complain(file, &err, "");
    return status ? BAD_INPUT : DONE;
}

int index_open(const arguments *a, index_source *s) {
    const char *file = a->files[0];
    bool is_raw = memprof_begins(a, file, false);
    int status;
    memset(s, 0, sizeof *s);
    if (a->file_count == 1 && !is_raw) {
        status = read_dump(file, a, &s->dump);
        if (status) return status;
        s->index = hd_dump_memprof_index(s->dump);
        if (s->index) return DONE;
    }
    if (a->file_count == 1 && is_raw && index_is_alone(file)) status = index_read_alone(a, file, &s->raw);
    else status = memprof_add_up(a, s->dump, true, &s->raw, NULL);
    if (!status) status = index_build(a, hd_memprof_part(s->raw, 0), false, s);
    if (status) {
        index_close(s);
        return status;
    }
    hd_memprof_free(s->raw);
    s->raw = NULL;
    return DONE;
}

/* Whether options go with each other. */
static int index_check(const arguments *a) {
    const char *v = a->memprof_version;
    if (v && strcmp(v, "rfc") && (*v < '0' || *v > '3' || v[1]))
        return usage("indexed profiles have versions 0, 1, 2, 3 and rfc, not '%s'", v);
    if (a->full_schema && a->hot_cold_schema)
        return usage("--full-schema and --hot-cold-schema do not go together");
    return DONE;
}

/* [version 3, or what the file has] */
static hd_memprof_layout index_layout(const arguments *a, const index_source *s) {
    const char *v = a->memprof_version;
    if (!v) return s->built ? HD_MEMPROF_LLVM_3 : s->index->layout;
    return strcmp(v, "rfc") ? (hd_memprof_layout)(HD_MEMPROF_LLVM_0 + (*v - '0')) : HD_MEMPROF_RFC;
}

/* The fields to write; 0: as it is. A file that was read without some does not get them. */
static bool index_fields(const arguments *a, const index_source *s, hd_memprof_layout layout,
                         uint32_t *fields) {
    const uint32_t all = (1u << HD_MEMPROF_FIELDS) - 2, rest = HD_MEMPROF_FIELD(HD_MEMPROF_ACCESS_HISTOGRAM) |
        HD_MEMPROF_FIELD(HD_MEMPROF_ACCESS_HISTOGRAM_SIZE), has = s->index->fields;
    bool is_small = layout == HD_MEMPROF_LLVM_2 || layout == HD_MEMPROF_LLVM_3;
    bool is_rfc = layout == HD_MEMPROF_RFC;
    *fields = 0;
    if (a->full_schema) {
        *fields = is_rfc ? has : all;
        return s->built || !(all & ~rest & ~has);
    }
    if (!a->hot_cold_schema && !s->built && layout == s->index->layout) return true;
    *fields = a->hot_cold_schema || (is_small && s->built) ? has & HD_MEMPROF_HOT_COLD
              : is_rfc || !s->built                        ? has
                                                           : all;
    return !a->hot_cold_schema || *fields;
}

int index_write_to(const arguments *a, const index_source *s, const char *path) {
    hd_memprof_index_desc desc = { .base = NULL };
    reading r;
    hd_options options = memprof_options(a, &r, a->files[0]);
    hd_buffer base = { .data = NULL };
    hd_error err;
    output o;
    int status;
    desc.layout = index_layout(a, s);
    if (a->base && desc.layout == HD_MEMPROF_RFC)
        return usage("the RFC's layout stands alone, without --base");
    if (!index_fields(a, s, desc.layout, &desc.fields)) {
        display(stderr, "heapdump: %s has not the fields that --%s-schema asks for\n", a->files[0],
                a->full_schema ? "full" : "hot-cold");
        return BAD_INPUT;
    }
    if (a->base) {
        unpacked profile;
        hd_status failed = unpacked_open(&profile, a->base, &err);
        if (!failed) {
            failed = hd_in_load(profile.in, &options, &base, &err);
            if (failed) unpacked_explain(&profile, &err);
            unpacked_close(&profile);
        }
        if (failed) return complain(a->base, &err, ""), BAD_INPUT;
        desc.base = base.data ? base.data : (const uint8_t *)"";
        desc.base_size = base.size;
    }
    status = output_open_as(&o, path, a->default_output);
    if (!status) {
        hd_status failed = hd_memprof_index_write(s->index, &desc, &options, o.out, &err);
        if (failed) {
            const char *what = failed != HD_IO ? (a->base ? a->base : a->files[0])
                               : path          ? path
                                               : "standard output";
            display(stderr, "heapdump: %s: %s\n", what, output_error(&o, &err));
            status = BAD_INPUT;
        }
        status = output_close(&o, path, status);
    }
    hd_buffer_free(&base);
    return status;
}

/* Tells which fields are written, where most are not and nobody said so. */
static void index_tell_fields(const arguments *a, const index_source *s) {
    if (!s->built || a->hot_cold_schema || index_is_full(a)) return;
    for (uint32_t f = 0; f < s->index->field_count; f++)
        display(stderr, "%s %s", f ? "," : "heapdump: fields kept:",
                hd_memprof_field_name(s->index->field[f]));
    display(stderr, " (--full-schema keeps all)\n");
}

int run_index(const arguments *a) {
    index_source s;
    int status = file_is_named(a);
    if (!status) status = index_check(a);
    if (!status) status = index_open(a, &s);
    if (status) return status;
    status = index_write_to(a, &s, a->output);
    if (!status) {
        index_tell_fields(a, &s);
        display(stderr, "heapdump: %u functions, %u blocks, %u call sites, %u call stacks\n",
                s.index->function_count, s.index->block_count, s.index->site_count, s.index->stack_count);
    }
    index_close(&s);
    return status;
}

bool index_is_asked(const char *to) { return to && !strcmp(to, "memprof-index"); }

int index_convert(const arguments *a) {
    if (a->has_cutoff || a->add_to || a->keep.text || a->drop.text || a->root.text || a->invert || a->dump ||
        a->allocator || a->has_pid)
        return usage("indexed profiles are written whole, and by themselves");
    return run_index(a);
}
