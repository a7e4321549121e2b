/* What the tool does with indexed MemProf profiles: names for their functions, heaps, info, making and
   writing them, their records, and what the compiler calls each context. */
#ifndef HEAPDUMP_INDEX_H
#define HEAPDUMP_INDEX_H

#include <float.h>

#include "memprof.h"

/* Names. LLVM's files have GUIDs alone: the functions of the binaries are tried. ------------------ */

typedef struct index_name {
    uint64_t guid;
    hd_str name;
    char hex[19];                /* that, when no name is known */
} index_name;

typedef struct index_names {
    const hd_memprof_index *index;
    index_name *names;           /* by GUID */
    size_t count;
    char *text;                  /* of the last index_text_of */
} index_names;

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

static void index_names_make(const arguments *a, const hd_memprof_index *index, index_names *n) {
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

static void index_names_free(index_names *n) {
    free(n->names);
    free(n->text);
}

/* As linked, or the GUID: "0x1f". */
static hd_str index_name_of(void *user, uint64_t guid) { return index_find(user, guid)->name; }

/* As people read it: demangled, with file and line where these are known. */
static hd_str index_text_of(index_names *n, hd_str name, hd_str file, uint32_t line) {
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

/* As a heap. ------------------------------------------------------------------------------------ */

static hd_status index_heap(const arguments *a, const hd_memprof_index *index, hd_heap *heap, bool *made,
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

static int index_info_text(FILE *out, const char *file, const hd_memprof_index *index) {
    index_header h = index_header_of(index);
    hd_memprof *raw;
    hd_error err;
    uint64_t total;
    int column = 0;
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
    for (uint32_t f = 1; f < HD_MEMPROF_FIELDS; f++)
        if (memprof_total(hd_memprof_part(raw, 0), f, &total))
            display(out, column++ % 2 ? "  %26s %16llu" : "\n%26s %16llu", hd_memprof_field_name(f),
                    (unsigned long long)total);
    fputc('\n', out);
    hd_memprof_free(raw);
    return DONE;
}

static int index_info_json(hd_json *j, const char *file, const hd_memprof_index *index) {
    index_header h = index_header_of(index);
    hd_memprof *raw;
    hd_error err;
    uint64_t total;
    json_text(j, "layout", hd_memprof_layout_name(index->layout));
    hd_json_key(j, "version");
    if (h.version) hd_json_u64(j, h.version);
    else hd_json_null(j);
    hd_json_key(j, "instrumented_functions"), hd_json_u64(j, h.functions);
    hd_json_key(j, "functions"), hd_json_u64(j, index->function_count);
    hd_json_key(j, "blocks"), hd_json_u64(j, index->block_count);
    hd_json_key(j, "call_sites"), hd_json_u64(j, index->site_count);
    hd_json_key(j, "call_stacks"), hd_json_u64(j, index->stack_count);
    hd_json_key(j, "frames"), hd_json_u64(j, index->location_count);
    hd_json_key(j, "fields"), hd_json_array(j);
    for (uint32_t f = 0; f < index->field_count; f++) hd_json_cstr(j, hd_memprof_field_name(index->field[f]));
    hd_json_end(j);
    if (hd_memprof_index_raw(index, NULL, &raw, &err)) {
        complain(file, &err, "");
        return BAD_INPUT;
    }
    hd_json_key(j, "totals"), hd_json_object(j);
    for (uint32_t f = 1; f < HD_MEMPROF_FIELDS; f++)
        if (memprof_total(hd_memprof_part(raw, 0), f, &total))
            hd_json_key(j, hd_memprof_field_name(f)), hd_json_u64(j, total);
    hd_json_end(j);
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

/* What the files are: raw profiles, which become an index, or one that is indexed. */
typedef struct index_source {
    hd_dump *dump;
    hd_memprof *raw;
    hd_memprof_index *built;
    const hd_memprof_index *index;
} index_source;

static void index_close(index_source *s) {
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

static int index_build(const arguments *a, const hd_memprof_raw *from, bool skips_new, index_source *s) {
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

static int index_open(const arguments *a, index_source *s) {
    const char *file = a->files[0];
    bool is_raw = memprof_begins(file);
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

static int index_write_to(const arguments *a, const index_source *s, const char *path) {
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
        hd_in in;
        hd_status failed = hd_in_open(a->base, &in, &err);
        if (!failed) {
            failed = hd_in_load(in, &options, &base, &err);
            hd_in_close(&in);
        }
        if (failed) return complain(a->base, &err, ""), BAD_INPUT;
        desc.base = base.data ? base.data : (const uint8_t *)"";
        desc.base_size = base.size;
    }
    status = output_open_as(&o, path, a->default_output);
    if (!status) {
        hd_status failed = hd_memprof_index_write(s->index, &desc, &options, o.out, &err);
        if (failed) {
            const char *why = o.is_file && o.file.os_error ? strerror(o.file.os_error) : err.message;
            const char *what = failed != HD_IO ? (a->base ? a->base : a->files[0])
                               : path          ? path
                                               : "standard output";
            display(stderr, "heapdump: %s: %s\n", what, why);
            status = BAD_INPUT;
        }
        status = output_close(&o, path, status);
    }
    hd_buffer_free(&base);
    return status;
}

/* Says which fields are written, where most are not and nobody said so. */
static void index_tell_fields(const arguments *a, const index_source *s) {
    if (!s->built || a->hot_cold_schema || index_is_full(a)) return;
    for (uint32_t f = 0; f < s->index->field_count; f++)
        display(stderr, "%s %s", f ? "," : "heapdump: fields kept:",
                hd_memprof_field_name(s->index->field[f]));
    display(stderr, " (--full-schema keeps all)\n");
}

static int memprof_index(const arguments *a) {
    index_source s;
    int status = index_check(a);
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

static bool index_is_asked(const char *to) { return to && !strcmp(to, "memprof-index"); }

static int index_convert(const arguments *a) {
    if (a->has_cutoff || a->add_to || a->keep.text || a->drop.text || a->root.text || a->invert || a->dump ||
        a->allocator || a->has_pid)
        return usage("indexed profiles are written whole, and by themselves");
    return memprof_index(a);
}

/* memprof: the records. ------------------------------------------------------------------------- */

/* Locations as frames. */
static hd_memprof_frame *index_frames(const hd_memprof_index *index, index_names *names) {
    hd_memprof_frame *frames = needed(calloc((size_t)index->location_count + 1, sizeof *frames));
    for (uint32_t i = 0; i < index->location_count; i++) {
        const hd_memprof_location *l = &index->locations[i];
        frames[i].function = index_name_of(names, l->function);
        frames[i].file = l->file;
        frames[i].line = l->line;
        frames[i].start_line = l->line - l->line_offset;
        frames[i].column = l->column;
        frames[i].discriminator = l->discriminator;
        frames[i].inlined = l->inlined;
    }
    return frames;
}

/* A block of an index as a raw profile has it. */
static hd_memprof_block index_block(const hd_memprof_index *index, uint32_t block) {
    hd_memprof_block b = { .stack = index->block_stack[block] };
    for (uint32_t f = 0; f < index->field_count; f++)
        b.value[index->field[f]] = hd_memprof_index_value(index, block, index->field[f]);
    return b;
}

/* Frames of stack `stack`, in *n. */
static const uint32_t *index_stack(const hd_memprof_index *index, uint32_t stack, uint32_t *n) {
    *n = index->first[stack + 1] - index->first[stack];
    return index->location + index->first[stack];
}

static void index_guid_json(hd_json *j, uint64_t guid) {
    char hex[19];
    snprintf(hex, sizeof hex, "0x%llx", (unsigned long long)guid);
    json_text(j, "GUID", hex);
}

static void index_records_text(FILE *out, const hd_memprof_index *index, index_names *names,
                               const hd_memprof_symbols *frames) {
    hd_memprof_raw fields = { .fields = index->fields };
    const uint32_t *frame;
    uint32_t n;
    display(out, "MemprofProfile:\n  Summary:\n    Layout: %s\n    NumFunctions: %u\n    NumMibInfo: %u\n"
            "    NumCallSites: %u\n    NumCallStacks: %u\n  Records:\n",
            hd_memprof_layout_name(index->layout), index->function_count, index->block_count,
            index->site_count, index->stack_count);
    for (uint32_t f = 0; f < index->function_count; f++) {
        uint32_t b = index->block_first[f], s = index->site_first[f];
        display(out, "  -\n    Function: "), put_name(out, index_name_of(names, index->function[f]));
        display(out, "\n    GUID: 0x%llx\n", (unsigned long long)index->function[f]);
        if (b < index->block_first[f + 1]) display(out, "    AllocSites:\n");
        for (; b < index->block_first[f + 1]; b++) {
            hd_memprof_block block = index_block(index, b);
            display(out, "    -\n      Callstack:\n");
            frame = index_stack(index, block.stack, &n);
            memprof_frames_text(out, frames, frame, n, 0);
            memprof_block_text(out, &fields, &block);
        }
        if (s < index->site_first[f + 1]) display(out, "    CallSites:\n");
        for (; s < index->site_first[f + 1]; s++) {
            display(out, "    -\n");
            frame = index_stack(index, index->site[s], &n);
            memprof_frames_text(out, frames, frame, n, 0);
        }
    }
}

static void index_records_json(hd_json *j, const hd_memprof_index *index, index_names *names,
                               const hd_memprof_symbols *frames) {
    hd_memprof_raw fields = { .fields = index->fields };
    const uint32_t *frame;
    uint32_t n;
    hd_json_object(j);
    json_text(j, "Layout", hd_memprof_layout_name(index->layout));
    hd_json_key(j, "NumMibInfo"), hd_json_u64(j, index->block_count);
    hd_json_key(j, "NumCallStacks"), hd_json_u64(j, index->stack_count);
    hd_json_key(j, "Records"), hd_json_array(j);
    for (uint32_t f = 0; f < index->function_count; f++) {
        hd_json_newline(j), hd_json_object(j);
        hd_json_key(j, "Function"), hd_json_str(j, index_name_of(names, index->function[f]));
        index_guid_json(j, index->function[f]);
        hd_json_key(j, "AllocSites"), hd_json_array(j);
        for (uint32_t b = index->block_first[f]; b < index->block_first[f + 1]; b++) {
            hd_memprof_block block = index_block(index, b);
            hd_json_object(j);
            hd_json_key(j, "Callstack");
            frame = index_stack(index, block.stack, &n);
            memprof_frames_json(j, frames, frame, n, 0);
            hd_json_key(j, "MemInfoBlock"), memprof_block_json(j, &fields, &block);
            hd_json_end(j);
        }
        hd_json_end(j);
        hd_json_key(j, "CallSites"), hd_json_array(j);
        for (uint32_t s = index->site_first[f]; s < index->site_first[f + 1]; s++) {
            frame = index_stack(index, index->site[s], &n);
            memprof_frames_json(j, frames, frame, n, 0);
        }
        hd_json_end(j), hd_json_end(j);
    }
    hd_json_end(j), hd_json_end(j), hd_json_newline(j);
}

static int index_show_records(const arguments *a, const hd_memprof_index *index) {
    hd_memprof_symbols all = { .frame_count = index->location_count };
    index_names names;
    hd_memprof_frame *frames;
    output o;
    FILE *text;
    hd_json j;
    int status = output_open(&o, a->output);
    if (status) return status;
    index_names_make(a, index, &names);
    all.frames = frames = index_frames(index, &names);
    text = output_text(&o);
    hd_json_begin(&j, o.out);
    if (a->json) index_records_json(&j, index, &names, &all);
    else index_records_text(text, index, &names, &all);
    if (a->json && hd_json_finish(&j)) status = BAD_INPUT;
    if (fclose(text)) status = BAD_INPUT;
    free(frames);
    index_names_free(&names);
    return output_close(&o, a->output, status);
}

/* memprof --hints: what the compiler calls each context. ---------------------------------------- */

#define INDEX_COMPILER "clang 19"

/* Whether all thresholds are the compiler's own. */
static bool index_is_usual(const arguments *a) {
    return a->limit[0] < 0 && a->limit[1] < 0 && a->limit[2] < 0;
}

/* A context of an allocation: a block of the index as a raw profile, where call stacks are numbers of
   locations. */
typedef struct index_context {
    uint32_t block;
    uint32_t depth;              /* locations that tell it from those of other heat; 0: there are none of
                                    other heat; more than it has: it is not told apart */
    uint32_t left, right;        /* while that is found: locations shared with the next of other heat */
    hd_memprof_heat heat, hint;  /* by its numbers; what the compiler makes of it among the others */
    uint64_t bytes;
} index_context;

/* Allocations at one place of one function: what the compiler sees as a call of an allocator. */
typedef struct index_site {
    size_t first, count;         /* contexts */
    hd_memprof_location at;
    uint64_t bytes, function_bytes;
    bool is_mixed;               /* contexts of several hints */
} index_site;

typedef struct index_hints {
    const hd_memprof_index *index;
    const hd_memprof_raw *raw;
    index_names names;
    hd_memprof_thresholds thresholds;
    index_context *contexts;
    size_t count, site_count;
    index_site *sites;
    uint64_t bytes[HD_MEMPROF_HEAT_UNKNOWN + 1]; /* by hint */
    uint32_t each[HD_MEMPROF_HEAT_UNKNOWN + 1];  /* contexts */
} index_hints;

static const hd_memprof_location *index_location(const index_hints *h, uint32_t block, uint32_t depth) {
    return &h->index->locations[h->raw->pc[h->raw->first[h->raw->blocks[block].stack] + depth]];
}

static uint32_t index_length(const index_hints *h, uint32_t block) {
    uint32_t stack = h->raw->blocks[block].stack;
    return h->raw->first[stack + 1] - h->raw->first[stack];
}

/* Places as the compiler tells them apart: whether something was inlined does not count. */
static int index_place_order(const hd_memprof_location *x, const hd_memprof_location *y) {
    if (x->function != y->function) return x->function < y->function ? -1 : 1;
    if (x->line_offset != y->line_offset) return x->line_offset < y->line_offset ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

/* How many locations two contexts share, from the innermost on. */
static uint32_t index_shared(const index_hints *h, uint32_t x, uint32_t y) {
    uint32_t n = index_length(h, x), m = index_length(h, y), i = 0;
    while (i < n && i < m && !index_place_order(index_location(h, x, i), index_location(h, y, i))) i++;
    return i;
}

static int index_stack_order(const void *a, const void *b, void *user) {
    const index_hints *h = user;
    const index_context *x = a, *y = b;
    uint32_t n = index_length(h, x->block), m = index_length(h, y->block);
    uint32_t i = index_shared(h, x->block, y->block);
    if (i < n && i < m)
        return index_place_order(index_location(h, x->block, i), index_location(h, y->block, i));
    if (n != m) return n < m ? -1 : 1;
    return x->block < y->block ? -1 : x->block > y->block;
}

static int index_size_order(const void *a, const void *b) {
    const index_context *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return x->block < y->block ? -1 : x->block > y->block;
}

static int index_function_order(const void *a, const void *b) {
    const index_site *x = a, *y = b;
    if (x->at.function != y->at.function) return x->at.function < y->at.function ? -1 : 1;
    return 0;
}

/* The functions that allocate most first, and of each the places. */
static int index_site_order(const void *a, const void *b) {
    const index_site *x = a, *y = b;
    if (x->function_bytes != y->function_bytes) return x->function_bytes > y->function_bytes ? -1 : 1;
    if (x->at.function != y->at.function) return x->at.function < y->at.function ? -1 : 1;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return index_place_order(&x->at, &y->at);
}

static uint64_t index_sum(uint64_t x, uint64_t y) { return y > UINT64_MAX - x ? UINT64_MAX : x + y; }

/* The compiler follows the callers of an allocation as far as it needs to find contexts of one heat. The
   contexts are in the order of their stacks, so those that share most with one are beside it. One that ends
   before, or that other heats have in common, is not cold to be safe. */
static void index_decide(index_hints *h, index_site *site) {
    index_context *c = &h->contexts[site->first];
    size_t n = site->count;
    for (size_t i = 1; i < n; i++) {
        uint32_t shared = index_shared(h, c[i - 1].block, c[i].block);
        c[i].left = c[i - 1].heat != c[i].heat || shared < c[i - 1].left ? shared : c[i - 1].left;
    }
    for (size_t i = n - 1; i-- > 0;) {
        uint32_t shared = index_shared(h, c[i].block, c[i + 1].block);
        c[i].right = c[i + 1].heat != c[i].heat || shared < c[i + 1].right ? shared : c[i + 1].right;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t shared = c[i].left > c[i].right ? c[i].left : c[i].right;
        c[i].depth = shared ? shared + 1 : 0;
        c[i].hint = c[i].heat;
        if (c[i].depth > index_length(h, c[i].block)) c[i].hint = HD_MEMPROF_NOT_COLD;
        site->is_mixed |= c[i].hint != c[0].hint;
        h->bytes[c[i].hint] = index_sum(h->bytes[c[i].hint], c[i].bytes);
        h->each[c[i].hint]++;
    }
}

static void index_hints_make(index_hints *h) {
    const hd_memprof_raw *raw = h->raw;
    h->contexts = needed(calloc((size_t)raw->block_count + 1, sizeof *h->contexts));
    h->sites = needed(calloc((size_t)raw->block_count + 1, sizeof *h->sites));
    for (uint32_t b = 0; b < raw->block_count; b++) {
        index_context *c = &h->contexts[h->count];
        if (!index_length(h, b)) continue;
        h->count++;
        c->block = b;
        c->heat = hd_memprof_block_heat(raw, b, &h->thresholds);
        c->bytes = raw->blocks[b].value[HD_MEMPROF_TOTAL_SIZE];
    }
    if (h->count) qsort_r(h->contexts, h->count, sizeof *h->contexts, index_stack_order, h);
    for (size_t i = 0; i < h->count; i++) {
        const hd_memprof_location *at = index_location(h, h->contexts[i].block, 0);
        index_site *site = h->site_count ? &h->sites[h->site_count - 1] : NULL;
        if (!site || index_place_order(&site->at, at)) {
            site = &h->sites[h->site_count++];
            site->first = i;
            site->at = *at;
        }
        site->count++;
        site->bytes = index_sum(site->bytes, h->contexts[i].bytes);
    }
    for (size_t i = 0, k; i < h->site_count; i = k) { /* of one function, they stand side by side */
        uint64_t bytes = 0;
        for (k = i; k < h->site_count && !index_function_order(&h->sites[i], &h->sites[k]); k++)
            bytes = index_sum(bytes, h->sites[k].bytes);
        while (i < k) h->sites[i++].function_bytes = bytes;
    }
    for (size_t i = 0; i < h->site_count; i++) {
        index_decide(h, &h->sites[i]);
        qsort(&h->contexts[h->sites[i].first], h->sites[i].count, sizeof *h->contexts, index_size_order);
    }
    if (h->site_count) qsort(h->sites, h->site_count, sizeof *h->sites, index_site_order);
}

/* Accesses a byte and second of lifetime, and lifetime in seconds, of an allocation on average. */
static double index_density(const uint64_t *value) {
    double count = (double)value[HD_MEMPROF_ALLOC_COUNT];
    return count > 0 ? (double)value[HD_MEMPROF_TOTAL_LIFETIME_ACCESS_DENSITY] / count / 100 : 0;
}

static double index_lifetime(const uint64_t *value) {
    double count = (double)value[HD_MEMPROF_ALLOC_COUNT];
    return count > 0 ? (double)value[HD_MEMPROF_TOTAL_LIFETIME] / count / 1000 : 0;
}

static const char *index_verdict(const index_hints *h, const index_site *site) {
    return site->is_mixed ? "ambiguous" : hd_memprof_heat_name(h->contexts[site->first].hint);
}

static void index_put_shown(FILE *out, index_hints *h, uint64_t guid) {
    put_name(out, index_text_of(&h->names, index_name_of(&h->names, guid), hd_cstr(""), 0));
}

/* The callers that tell it apart; all of them when `all`. */
static void index_put_context(FILE *out, index_hints *h, const index_context *c, bool all) {
    const uint64_t *value = h->raw->blocks[c->block].value;
    uint32_t n = index_length(h, c->block), shown = all || c->depth > n ? n : c->depth;
    display(out, "%14llu %10llu %14.3f %12.3f  %s", (unsigned long long)c->bytes,
            (unsigned long long)value[HD_MEMPROF_ALLOC_COUNT], index_density(value), index_lifetime(value),
            hd_memprof_heat_name(c->hint));
    if (c->hint != c->heat) display(out, " (%s, but not to be told apart)", hd_memprof_heat_name(c->heat));
    for (uint32_t i = 1; i < shown; i++) {
        const hd_memprof_location *l = index_location(h, c->block, i);
        display(out, i == 1 ? ", from " : " < ");
        index_put_shown(out, h, l->function);
        display(out, " +%u:%u", l->line_offset, l->column);
    }
    fputc('\n', out);
}

static void index_hints_text(FILE *out, const arguments *a, index_hints *h, const double limits[3]) {
    display(out, "what " INDEX_COMPILER " makes of them, by %s\n",
            index_is_usual(a) ? "its own thresholds" : "thresholds that were given");
    display(out, "cold: less than %g accesses a byte and second, and living for %g s or longer\n"
            "hot: more than %g accesses a byte and second\n", limits[0], limits[1], limits[2]);
    for (int heat = 0; heat <= HD_MEMPROF_HEAT_UNKNOWN; heat++)
        if (h->each[heat])
            display(out, "%14llu bytes in %u contexts: %s\n", (unsigned long long)h->bytes[heat],
                    h->each[heat], hd_memprof_heat_name((hd_memprof_heat)heat));
    for (size_t i = 0; i < h->site_count; i++) {
        const index_site *site = &h->sites[i];
        if (!i || index_function_order(site - 1, site)) {
            fputc('\n', out);
            index_put_shown(out, h, site->at.function);
            display(out, ": %llu bytes\n", (unsigned long long)site->function_bytes);
        }
        display(out, "  line +%u, column %u: %s\n%14s %10s %14s %12s\n", site->at.line_offset,
                site->at.column, index_verdict(h, site), "bytes", "blocks", "accesses/(B s)", "lifetime (s)");
        for (size_t k = 0; k < site->count; k++)
            index_put_context(out, h, &h->contexts[site->first + k], a->all);
    }
}

static void index_place_json(hd_json *j, index_hints *h, const hd_memprof_location *l) {
    hd_json_key(j, "function"), hd_json_str(j, index_name_of(&h->names, l->function));
    index_guid_json(j, l->function);
    hd_json_key(j, "line_offset"), hd_json_u64(j, l->line_offset);
    hd_json_key(j, "column"), hd_json_u64(j, l->column);
}

static void index_context_json(hd_json *j, index_hints *h, const index_context *c) {
    const uint64_t *value = h->raw->blocks[c->block].value;
    uint32_t n = index_length(h, c->block), depth = c->depth ? c->depth : 1;
    hd_json_newline(j), hd_json_object(j);
    hd_json_key(j, "bytes"), hd_json_u64(j, c->bytes);
    hd_json_key(j, "blocks"), hd_json_u64(j, value[HD_MEMPROF_ALLOC_COUNT]);
    hd_json_key(j, "total_lifetime_ms"), hd_json_u64(j, value[HD_MEMPROF_TOTAL_LIFETIME]);
    hd_json_key(j, "total_lifetime_access_density");
    hd_json_u64(j, value[HD_MEMPROF_TOTAL_LIFETIME_ACCESS_DENSITY]);
    json_text(j, "heat", hd_memprof_heat_name(c->heat));
    json_text(j, "hint", hd_memprof_heat_name(c->hint));
    hd_json_key(j, "told_apart"), hd_json_bool(j, depth <= n);
    hd_json_key(j, "frames"), hd_json_u64(j, depth < n ? depth : n);
    hd_json_key(j, "stack"), hd_json_array(j);
    for (uint32_t i = 0; i < n; i++) {
        const hd_memprof_location *l = index_location(h, c->block, i);
        hd_json_object(j);
        index_place_json(j, h, l);
        hd_json_key(j, "inlined"), hd_json_bool(j, l->inlined);
        hd_json_end(j);
    }
    hd_json_end(j), hd_json_end(j);
}

static void index_hints_json(hd_json *j, const arguments *a, index_hints *h) {
    hd_json_object(j);
    json_text(j, "compiler", INDEX_COMPILER);
    hd_json_key(j, "own_thresholds"), hd_json_bool(j, index_is_usual(a));
    hd_json_key(j, "allocations"), hd_json_array(j);
    for (size_t i = 0; i < h->site_count; i++) {
        const index_site *site = &h->sites[i];
        hd_json_newline(j), hd_json_object(j);
        index_place_json(j, h, &site->at);
        hd_json_key(j, "bytes"), hd_json_u64(j, site->bytes);
        json_text(j, "hint", index_verdict(h, site));
        hd_json_key(j, "contexts"), hd_json_array(j);
        for (size_t k = 0; k < site->count; k++) index_context_json(j, h, &h->contexts[site->first + k]);
        hd_json_end(j), hd_json_end(j);
    }
    hd_json_end(j), hd_json_end(j), hd_json_newline(j);
}

/* 0 is what was asked for, not the library's default: as single precision, it is 0 there. */
static double index_limit(double asked) { return asked > 0 ? asked : DBL_MIN; }

static int index_show_hints(const arguments *a, const hd_memprof_index *index) {
    static const double defaults[3] = { 0.05, 200, 1000 };
    double limits[3];
    index_hints h = { .index = index };
    hd_memprof *raw;
    hd_error err;
    output o;
    FILE *text;
    hd_json j;
    int status;
    if (hd_memprof_index_raw(index, NULL, &raw, &err)) return complain(a->files[0], &err, ""), BAD_INPUT;
    for (int i = 0; i < 3; i++) limits[i] = a->limit[i] < 0 ? defaults[i] : a->limit[i];
    status = output_open(&o, a->output);
    if (!status) {
        h.raw = hd_memprof_part(raw, 0);
        h.thresholds.cold_density = index_limit(limits[0]);
        h.thresholds.cold_lifetime_ms = index_limit(limits[1] * 1000);
        h.thresholds.hot_density = index_limit(limits[2]);
        index_names_make(a, index, &h.names);
        index_hints_make(&h);
        text = output_text(&o);
        hd_json_begin(&j, o.out);
        if (a->json) index_hints_json(&j, a, &h);
        else index_hints_text(text, a, &h, limits);
        if (a->json && hd_json_finish(&j)) status = BAD_INPUT;
        if (fclose(text)) status = BAD_INPUT;
        status = output_close(&o, a->output, status);
        index_names_free(&h.names);
        free(h.contexts);
        free(h.sites);
    }
    hd_memprof_free(raw);
    return status;
}

static int index_hints_of(const arguments *a) {
    index_source s;
    int status = index_open(a, &s);
    if (status) return status;
    status = index_show_hints(a, s.index);
    index_close(&s);
    return status;
}

/* The records of raw profiles, of an indexed one, or what the compiler makes of either. */
static int memprof(const arguments *a) {
    hd_dump *first;
    int status;
    if (!a->hints && !index_is_usual(a))
        return usage("thresholds are for --hints");
    if (a->hints) return index_hints_of(a);
    if (memprof_begins(a->files[0])) return memprof_raw_records(a, NULL);
    status = read_dump(a->files[0], a, &first);
    if (status) return status;
    if (!hd_dump_memprof_index(first)) status = memprof_raw_records(a, first);
    else if (a->file_count > 1) status = usage("of indexed profiles memprof takes one");
    else status = index_show_records(a, hd_dump_memprof_index(first));
    hd_dump_free(first);
    return status;
}

#endif
