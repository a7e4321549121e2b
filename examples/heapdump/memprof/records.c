/* memprof: lists the records of raw and of indexed profiles. */

#include "memprof.h"

/* A site of a function: a block that it allocated, or an address that it calls from. */
typedef struct memprof_site {
    hd_str function;
    uint32_t number;             /* the block, or the first frame of the address */
    bool is_call;
} memprof_site;

typedef struct memprof_records {
    const hd_memprof_raw *raw;
    uint32_t version;            /* of the files; their sum may have another one */
    hd_memprof_symbols *symbols;
    memprof_site *sites;         /* by function, allocations first */
    size_t count;
    uint32_t blocks, functions, stacks; /* functions that allocate; stacks with frames */
} memprof_records;

static int memprof_site_order(const void *a, const void *b) {
    const memprof_site *x = a, *y = b;
    int order = hd_str_compare(x->function, y->function);
    if (order) return order;
    if (x->is_call != y->is_call) return x->is_call - y->is_call;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void memprof_add_site(memprof_records *r, hd_str function, uint32_t number, bool is_call) {
    ONE_MORE(r->sites, r->count);
    r->sites[r->count++] = (memprof_site){ function, number, is_call };
}

/* Frames of one address are adjacent; the last one is not inlined. */
static uint32_t memprof_address_end(const hd_memprof_symbols *s, uint32_t frame) {
    while (s->frames[frame].inlined) frame++;
    return frame + 1;
}

/* Collects the records. The record of a function has its allocations, also those by functions inlined into it, and
   the addresses that it calls from. */
static void memprof_collect(memprof_records *r) {
    const hd_memprof_symbols *s = r->symbols;
    FREED bool *calls = needed(calloc((size_t)s->frame_count + 1, 1)); /* by frame */
    FREED bool *seen = needed(calloc((size_t)s->stack_count + 1, 1));
    size_t n = 0;
    for (uint32_t b = 0; b < r->raw->block_count; b++) {
        uint32_t stack = r->raw->blocks[b].stack, i = s->first[stack], end = s->first[stack + 1];
        if (i == end) continue;
        r->stacks += !seen[stack];
        if (!seen[stack])
            for (uint32_t k = i + 1; k < end; k++) calls[s->frame[k]] = true;
        seen[stack] = true;
        do memprof_add_site(r, s->frames[s->frame[i]].function, b, false);
        while (s->frames[s->frame[i++]].inlined);
    }
    for (uint32_t f = 0, end; f < s->frame_count; f = end) {
        end = memprof_address_end(s, f);
        for (uint32_t k = f; k < end; k++)
            if (calls[k]) memprof_add_site(r, s->frames[k].function, f, true);
    }
    if (r->count) qsort(r->sites, r->count, sizeof *r->sites, memprof_site_order);
    for (size_t i = 0; i < r->count; i++) { /* a function that is inlined into itself calls once */
        const memprof_site *last = n ? &r->sites[n - 1] : NULL, *site = &r->sites[i];
        if (last && last->is_call && !memprof_site_order(last, site)) continue;
        if (!site->is_call) {
            r->blocks++;
            r->functions += !last || hd_str_compare(last->function, site->function);
        }
        r->sites[n++] = *site;
    }
    r->count = n;
}

static void memprof_frames_text(FILE *out, const hd_memprof_symbols *s, const uint32_t *frame, uint32_t n,
                                uint32_t first) {
    for (uint32_t i = 0; i < n; i++) {
        const hd_memprof_frame *f = &s->frames[frame ? frame[i] : first + i];
        display(out, "      -\n        SymbolName: ");
        put_name(out, f->function);
        display(out, "\n        LineOffset: %u\n        Column: %u\n        Inline: %d\n",
                f->line - f->start_line, f->column, f->inlined);
    }
}

static void memprof_block_text(FILE *out, const hd_memprof_raw *raw, const hd_memprof_block *b) {
    display(out, "      MemInfoBlock:\n");
    for (uint32_t f = 1; f < HD_MEMPROF_FIELDS; f++)
        if (raw->fields >> f & 1)
            display(out, "        %s: %llu\n", hd_memprof_field_name(f), (unsigned long long)b->value[f]);
    if (!raw->counter_count || !b->value[HD_MEMPROF_ACCESS_HISTOGRAM_SIZE]) return;
    display(out, "        AccessHistogramValues:");
    for (uint64_t i = 0; i < b->value[HD_MEMPROF_ACCESS_HISTOGRAM_SIZE]; i++)
        display(out, " %llu", (unsigned long long)hd_memprof_counter(raw, b->histogram + i));
    fputc('\n', out);
}

static void memprof_records_text(FILE *out, const memprof_records *r) {
    const hd_memprof_raw *raw = r->raw;
    const hd_memprof_symbols *s = r->symbols;
    display(out, "MemprofProfile:\n  Summary:\n    Version: %u\n    NumSegments: %u\n    NumMibInfo: %u\n"
            "    NumAllocFunctions: %u\n    NumStackOffsets: %u\n  Segments:\n", r->version,
            raw->segment_count, r->blocks, r->functions, r->stacks);
    for (uint32_t i = 0; i < raw->segment_count; i++) {
        char id[65];
        memprof_build_id(id, &raw->segments[i]);
        display(out, "  -\n    BuildId: %s\n    Start: 0x%llX\n    End: 0x%llX\n    Offset: 0x%llX\n",
                *id ? id : "<None>", (unsigned long long)raw->segments[i].start,
                (unsigned long long)raw->segments[i].end, (unsigned long long)raw->segments[i].offset);
    }
    display(out, "  Records:\n");
    for (size_t i = 0; i < r->count; i++) {
        const memprof_site *site = &r->sites[i], *last = i ? site - 1 : NULL;
        bool is_new = !last || hd_str_compare(last->function, site->function);
        if (is_new) display(out, "  -\n    Function: "), put_name(out, site->function), fputc('\n', out);
        if (is_new || last->is_call != site->is_call)
            display(out, "    %s:\n", site->is_call ? "CallSites" : "AllocSites");
        display(out, site->is_call ? "    -\n" : "    -\n      Callstack:\n");
        if (site->is_call) {
            memprof_frames_text(out, s, NULL, memprof_address_end(s, site->number) - site->number,
                                site->number);
        } else {
            const hd_memprof_block *b = &raw->blocks[site->number];
            uint32_t from = s->first[b->stack];
            memprof_frames_text(out, s, s->frame + from, s->first[b->stack + 1] - from, 0);
            memprof_block_text(out, raw, b);
        }
    }
}

static void memprof_frames_json(hd_json *j, const hd_memprof_symbols *s, const uint32_t *frame, uint32_t n,
                                uint32_t first) {
    hd_json_array(j);
    for (uint32_t i = 0; i < n; i++) {
        const hd_memprof_frame *f = &s->frames[frame ? frame[i] : first + i];
        hd_json_object(j);
        json_str(j, "SymbolName", f->function);
        json_u64(j, "LineOffset", f->line - f->start_line);
        json_u64(j, "Column", f->column);
        json_bool(j, "Inline", f->inlined);
        json_str(j, "File", f->file);
        json_u64(j, "Line", f->line);
        json_u64(j, "Discriminator", f->discriminator);
        hd_json_end(j);
    }
    hd_json_end(j);
}

static void memprof_block_json(hd_json *j, const hd_memprof_raw *raw, const hd_memprof_block *b) {
    hd_json_object(j);
    for (uint32_t f = 1; f < HD_MEMPROF_FIELDS; f++)
        if (raw->fields >> f & 1) json_u64(j, hd_memprof_field_name(f), b->value[f]);
    if (raw->counter_count && b->value[HD_MEMPROF_ACCESS_HISTOGRAM_SIZE]) {
        json_array(j, "AccessHistogramValues");
        for (uint64_t i = 0; i < b->value[HD_MEMPROF_ACCESS_HISTOGRAM_SIZE]; i++)
            hd_json_u64(j, hd_memprof_counter(raw, b->histogram + i));
        hd_json_end(j);
    }
    hd_json_end(j);
}

static void memprof_site_json(hd_json *j, const memprof_records *r, const memprof_site *site) {
    const hd_memprof_symbols *s = r->symbols;
    const hd_memprof_block *b = &r->raw->blocks[site->number];
    if (site->is_call) {
        memprof_frames_json(j, s, NULL, memprof_address_end(s, site->number) - site->number, site->number);
        return;
    }
    hd_json_object(j);
    hd_json_key(j, "Callstack");
    memprof_frames_json(j, s, s->frame + s->first[b->stack], s->first[b->stack + 1] - s->first[b->stack], 0);
    hd_json_key(j, "MemInfoBlock"), memprof_block_json(j, r->raw, b);
    hd_json_end(j);
}

static void memprof_records_json(hd_json *j, const memprof_records *r) {
    json_u64(j, "Version", r->version);
    json_u64(j, "NumMibInfo", r->blocks);
    json_u64(j, "NumAllocFunctions", r->functions);
    json_u64(j, "NumStackOffsets", r->stacks);
    memprof_segments_json(j, r->raw);
    json_array(j, "Records");
    for (size_t i = 0, from; i < r->count; hd_json_end(j)) {
        hd_str function = r->sites[i].function;
        json_line(j);
        json_str(j, "Function", function);
        for (int is_call = 0; is_call < 2; is_call++) {
            json_array(j, is_call ? "CallSites" : "AllocSites");
            for (from = i; i < r->count && r->sites[i].is_call == is_call &&
                           !hd_str_compare(function, r->sites[i].function); i++) {
                if (i > from) hd_json_newline(j);
                memprof_site_json(j, r, &r->sites[i]);
            }
            hd_json_end(j);
        }
    }
    hd_json_end(j);
}

static int memprof_show(const arguments *a, const memprof_records *r) {
    answer to;
    int status = answer_open(&to, a, NULL);
    if (status) return status;
    if (a->view.json) memprof_records_json(&to.json, r);
    else memprof_records_text(to.text, r);
    return answer_close(&to, DONE);
}

/* Lists raw profiles. Blocks of one call stack are one record, across profiles and files. */
static int memprof_raw_records(const arguments *a, const hd_dump *first) {
    hd_memprof_symbolizer by = memprof_symbolizer(a, symbols_counted);
    memprof_records r = { 0 };
    symbols_counts counts;
    hd_memprof *sum = NULL;
    hd_error err;
    int status = memprof_add_up(a, first, &sum, &r.version, NULL);
    if (status) return status;
    r.raw = hd_memprof_part(sum, 0);
    symbols_counts_make(&counts, a->naming.opened, r.raw);
    by.user = &counts;
    if (a->naming.opened) symbols_prepare_memprof(a->naming.opened, r.raw, false);
    if (hd_memprof_symbolize(r.raw, &by, NULL, &r.symbols, &err)) {
        status = failed(memprof_files_name(a->input.files, a->input.file_count), &err);
    } else {
        memprof_collect(&r);
        status = memprof_show(a, &r);
        if (a->naming.opened)
            display(stderr, "heapdump: no name for %u of %u address%s; left out: %u of the MemProf runtime\n",
                    r.symbols->unresolved, r.symbols->addresses, r.symbols->addresses == 1 ? "" : "es",
                    r.symbols->runtime);
        if (a->naming.opened) symbols_warn_absent(&counts);
    }
    free(r.sites);
    symbols_counts_free(&counts);
    hd_memprof_symbols_free(r.symbols);
    hd_memprof_free(sum);
    return status;
}

/* Indexed profiles. ----------------------------------------------------------------------------- */

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

/* A block of an index in the form of a raw profile. */
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

void index_guid_json(hd_json *j, uint64_t guid) {
    char hex[19];
    snprintf(hex, sizeof hex, "0x%llx", (unsigned long long)guid);
    json_text(j, "GUID", hex);
}

static void index_callees_text(FILE *out, const hd_memprof_index *index, index_names *names, uint32_t site) {
    uint32_t from = index->callee_first ? index->callee_first[site] : 0;
    uint32_t to = index->callee_first ? index->callee_first[site + 1] : 0;
    if (from == to) return;
    display(out, "      Callees:");
    for (; from < to; from++) display(out, " "), put_name(out, index_name_of(names, index->callee[from]));
    display(out, "\n");
}

/* The callees of each call site of a function. */
static void index_callees_json(hd_json *j, const hd_memprof_index *index, index_names *names, uint32_t function) {
    json_array(j, "Callees");
    for (uint32_t s = index->site_first[function]; s < index->site_first[function + 1]; s++) {
        hd_json_array(j);
        for (uint32_t i = index->callee_first[s]; i < index->callee_first[s + 1]; i++)
            hd_json_str(j, index_name_of(names, index->callee[i]));
        hd_json_end(j);
    }
    hd_json_end(j);
}

static int access_order(const void *a, const void *b, void *index) {
    const hd_memprof_access *access = ((const hd_memprof_index *)index)->access;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint64_t n = access[x].count, m = access[y].count;
    return n != m ? (n < m ? 1 : -1) : x < y ? -1 : x > y;
}

/* Numbers of accesses, the most frequent first; to be freed. */
static uint32_t *index_accesses(const hd_memprof_index *index) {
    uint32_t *order = needed(calloc((size_t)index->access_count + 1, sizeof *order));
    for (uint32_t i = 0; i < index->access_count; i++) order[i] = i;
    if (index->access_count)
        qsort_r(order, index->access_count, sizeof *order, access_order, (void *)(uintptr_t)index);
    return order;
}

static void index_accesses_text(FILE *out, const hd_memprof_index *index) {
    FREED uint32_t *order = index_accesses(index);
    display(out, "  DataAccessProfiles:\n    SampledRecords:\n");
    for (uint32_t i = 0; i < index->access_count; i++) {
        const hd_memprof_access *x = &index->access[order[i]];
        display(out, "    -\n");
        if (x->is_literal) display(out, "      Hash: %llu\n", (unsigned long long)x->literal);
        else display(out, "      Symbol: "), put_name(out, x->symbol), display(out, "\n");
        display(out, "      AccessCount: %llu\n", (unsigned long long)x->count);
        for (uint32_t k = 0; k < x->place_count; k++) {
            const hd_memprof_access_place *place = &index->place[x->place_first + k];
            display(out, "      Location: "), put_name(out, place->file), display(out, ":%u\n", place->line);
        }
    }
    if (index->cold_symbol_count) display(out, "    KnownColdSymbols:\n");
    for (uint32_t i = 0; i < index->cold_symbol_count; i++)
        display(out, "    - "), put_name(out, index->cold_symbol[i]), display(out, "\n");
    if (index->cold_literal_count) display(out, "    KnownColdStrHashes:\n");
    for (uint32_t i = 0; i < index->cold_literal_count; i++)
        display(out, "    - %llu\n", (unsigned long long)index->cold_literal[i]);
}

static void index_accesses_json(hd_json *j, const hd_memprof_index *index) {
    FREED uint32_t *order = index_accesses(index);
    hd_json_key(j, "DataAccessProfiles"), hd_json_object(j);
    json_array(j, "SampledRecords");
    for (uint32_t i = 0; i < index->access_count; i++) {
        const hd_memprof_access *x = &index->access[order[i]];
        json_line(j);
        if (x->is_literal) json_u64(j, "Hash", x->literal);
        else json_str(j, "Symbol", x->symbol);
        json_u64(j, "AccessCount", x->count);
        json_array(j, "Locations");
        for (uint32_t k = 0; k < x->place_count; k++) {
            const hd_memprof_access_place *place = &index->place[x->place_first + k];
            hd_json_object(j);
            json_str(j, "FileName", place->file);
            json_u64(j, "Line", place->line);
            hd_json_end(j);
        }
        hd_json_end(j), hd_json_end(j);
    }
    hd_json_end(j);
    json_array(j, "KnownColdSymbols");
    for (uint32_t i = 0; i < index->cold_symbol_count; i++) hd_json_str(j, index->cold_symbol[i]);
    hd_json_end(j);
    json_array(j, "KnownColdStrHashes");
    for (uint32_t i = 0; i < index->cold_literal_count; i++) hd_json_u64(j, index->cold_literal[i]);
    hd_json_end(j), hd_json_end(j);
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
            index_callees_text(out, index, names, s);
        }
    }
    if (index->has_accesses) index_accesses_text(out, index);
}

static void index_records_json(hd_json *j, const hd_memprof_index *index, index_names *names,
                               const hd_memprof_symbols *frames) {
    hd_memprof_raw fields = { .fields = index->fields };
    const uint32_t *frame;
    uint32_t n;
    json_text(j, "Layout", hd_memprof_layout_name(index->layout));
    json_u64(j, "NumMibInfo", index->block_count);
    json_u64(j, "NumCallStacks", index->stack_count);
    json_array(j, "Records");
    for (uint32_t f = 0; f < index->function_count; f++) {
        json_line(j);
        json_str(j, "Function", index_name_of(names, index->function[f]));
        index_guid_json(j, index->function[f]);
        json_array(j, "AllocSites");
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
        json_array(j, "CallSites");
        for (uint32_t s = index->site_first[f]; s < index->site_first[f + 1]; s++) {
            frame = index_stack(index, index->site[s], &n);
            memprof_frames_json(j, frames, frame, n, 0);
        }
        hd_json_end(j);
        if (index_callees(index)) index_callees_json(j, index, names, f);
        hd_json_end(j);
    }
    hd_json_end(j);
    if (index->has_accesses) index_accesses_json(j, index);
}

static int index_show_records(const arguments *a, const hd_memprof_index *index) {
    hd_memprof_symbols all = { .frame_count = index->location_count };
    index_names names;
    FREED hd_memprof_frame *frames = NULL;
    answer to;
    int status = answer_open(&to, a, NULL);
    if (status) return status;
    index_names_make(a, index, &names);
    all.frames = frames = index_frames(index, &names);
    if (a->view.json) index_records_json(&to.json, index, &names, &all);
    else index_records_text(to.text, index, &names, &all);
    index_names_free(&names);
    return answer_close(&to, DONE);
}

/* The command. ---------------------------------------------------------------------------------- */

/* Lists the records of raw profiles or of an indexed one, or the compiler's hints for them. */
int run_memprof(const arguments *a) {
    hd_dump *first;
    int status;
    bool hints = a->memprof.hints || a->memprof.effect;
    if (!hints && (!index_is_usual(a) || a->memprof.clang || a->memprof.hints_diff))
        return usage("thresholds, --clang and --diff need --hints");
    if (a->memprof.effect && (a->memprof.hints || a->memprof.hints_diff))
        return usage("--%s and --effect do not go together", a->memprof.hints_diff ? "diff" : "hints");
    if (a->memprof.yaml && (hints || a->view.json)) return usage("--yaml goes neither with --hints nor with --json");
    if (hints) return index_hints_of(a);
    if (a->memprof.yaml) return yaml_show(a);
    if (memprof_begins(a, a->input.files[0], false)) return memprof_raw_records(a, NULL);
    status = read_dump(a->input.files[0], &a->input, &first);
    if (status) return status;
    if (!hd_dump_memprof_index(first)) status = memprof_raw_records(a, first);
    else if (a->input.file_count > 1) status = usage("memprof takes only one indexed profile; merge adds up several");
    else status = index_show_records(a, hd_dump_memprof_index(first));
    hd_dump_free(first);
    return status;
}
