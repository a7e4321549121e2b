/* heapdump record --format memprof-raw, memprof-rfc: MemProf profiles made from the region. */

#include "memprof.h"
#include "../record/record.h"

#include <search.h>

/* A raw profile in the making. */
typedef struct raw_columns {
    hd_memprof_segment *segments;
    hd_memprof_block *blocks;
    uint64_t *ids, *pcs;
    uint32_t *first;             /* one more than blocks */
    uint32_t segment_count, count, depth;
} raw_columns;

static void add_context(void *user, const hd_lifetimes *of, const uint64_t *pcs, size_t count) {
    raw_columns *c = user;
    uint64_t *v;
    if (c->count >= HD_NONE - 1 || count >= HD_NONE - 1 - c->depth) return;
    ONE_MORE(c->blocks, c->count);
    ONE_MORE(c->ids, c->count);
    ONE_MORE(c->first, c->count + 1);
    memset(&c->blocks[c->count], 0, sizeof *c->blocks);
    c->blocks[c->count].stack = c->count;
    c->ids[c->count] = c->count + 1;
    c->first[c->count] = c->depth;
    v = c->blocks[c->count++].value;
    v[HD_MEMPROF_ALLOC_COUNT] = of->count;
    v[HD_MEMPROF_TOTAL_SIZE] = of->bytes;
    v[HD_MEMPROF_MIN_SIZE] = of->min_size;
    v[HD_MEMPROF_MAX_SIZE] = of->max_size;
    v[HD_MEMPROF_ALLOC_TIMESTAMP] = of->allocated;
    v[HD_MEMPROF_DEALLOC_TIMESTAMP] = of->freed;
    v[HD_MEMPROF_TOTAL_LIFETIME] = of->lifetime;
    v[HD_MEMPROF_MIN_LIFETIME] = of->min_lifetime;
    v[HD_MEMPROF_MAX_LIFETIME] = of->max_lifetime;
    v[HD_MEMPROF_NUM_LIFETIME_OVERLAPS] = of->overlaps;
    for (size_t i = 0; i < count; i++) {
        ONE_MORE(c->pcs, c->depth);
        c->pcs[c->depth++] = pcs[i] - 1;
    }
    c->first[c->count] = c->depth;
}

/* Adds the modules of one kind, loaded or closed, to the columns. */
typedef struct segments_of {
    raw_columns *c;
    bool loaded;
    void *taken;                 /* tsearch, of their address_range */
} segments_of;

typedef struct address_range {
    uint64_t start, end;
} address_range;

/* Overlapping ranges count as equal. */
static int compare_ranges(const void *a, const void *b) {
    const address_range *x = a, *y = b;
    return x->end <= y->start ? -1 : x->start >= y->end;
}

/* Leaves out a closed module if another one was loaded at its addresses. */
static void add_segment(void *user, const hd_module *m, bool loaded) {
    segments_of *of = user;
    raw_columns *c = of->c;
    hd_memprof_segment *s;
    address_range here = { m->start, m->end }, *range;
    if (loaded != of->loaded || m->start >= m->end || c->segment_count >= 65536) return;
    if (tfind(&here, &of->taken, compare_ranges)) return;
    range = needed(malloc(sizeof *range));
    *range = here;
    needed(tsearch(range, &of->taken, compare_ranges));
    ONE_MORE(c->segments, c->segment_count);
    s = &c->segments[c->segment_count++];
    memset(s, 0, sizeof *s);
    s->start = m->start;
    s->end = m->end;
    s->offset = m->bias;
    s->build_id_size = m->build_id_size <= sizeof s->build_id ? m->build_id_size : 0;
    memcpy(s->build_id, m->build_id, s->build_id_size);
}

static void raw_free(raw_columns *c) {
    free(c->segments), free(c->blocks), free(c->ids), free(c->pcs), free(c->first);
}

/* Fills the columns with the allocations of a process until its end. */
static hd_status raw_fill(recording *r, const process *p, raw_columns *c, hd_memprof_raw *raw, hd_error *err) {
    hd_options options = { .lenient = true };
    uint64_t bytes = region_bytes(&r->region, &options.limits), until = p->ended_us;
    uint32_t now = until > p->state.start_us ? (uint32_t)((until - p->state.start_us) / 1000) : 0;
    segments_of of = { .c = c, .loaded = true };
    hd_status status =
        hd_recorder_view_lifetimes(r->region.base, bytes, p->number, now, &options, add_context, c, err);
    region_was_read(&r->region);
    if (status) return status;
    hd_recorder_view_modules(r->region.base, bytes, p->number, add_segment, &of, NULL);
    of.loaded = false;
    hd_recorder_view_modules(r->region.base, bytes, p->number, add_segment, &of, NULL);
    tdestroy(of.taken, free);
    *raw = (hd_memprof_raw){ .version = 4, .fields = hd_memprof_version_fields(4), .segment_count = c->segment_count,
                             .block_count = c->count, .stack_count = c->count, .segments = c->segments,
                             .blocks = c->blocks, .stack_id = c->ids, .first = c->first, .pc = c->pcs };
    return HD_OK;
}

/* One profile of all processes, with names, in the RFC's layout. */
static int write_rfc(const recording *r, const hd_memprof_raw *raw) {
    index_source s = { .name = r->file.path };
    index_counts counts;
    int status;
    status = index_build((symbols *)(uintptr_t)&r->names, s.name, raw, NULL, true, &s.built);
    s.index = s.built;
    if (!status) status = index_write_to(r->a, &s, s.name, &counts);
    index_close(&s);
    return status;
}

/* Writes the profiles of all processes one after the other, or their sum in the RFC's layout. */
int memprof_recorded(recording *r) {
    bool is_rfc = format_is(r->a->record.format, FORMAT_RFC);
    hd_options options = { .lenient = true }; /* values too large for a field become its maximum */
    hd_error err;
    hd_memprof_merger *sum = is_rfc ? needed(hd_memprof_merger_create(&options, &err)) : NULL;
    hd_memprof *all = NULL;
    hd_status failed = HD_OK;
    output o;
    int status = is_rfc ? DONE : output_open_as(&o, r->file.path, r->file.is_default);
    if (status) return status;
    for (uint32_t i = r->count; i-- > 0 && !failed;) { /* readers of one profile take the last: the first process */
        const process *p = r->processes[i];
        raw_columns c = { 0 };
        hd_memprof_raw raw;
        if (!p->state.counters.total_blocks) continue;
        if (raw_fill(r, p, &c, &raw, &err)) { /* other processes may be intact */
            display(stderr, "heapdump: %s (%llu): %s\n", p->name, (unsigned long long)p->pid, err.message);
            status = BAD_INPUT;
        } else if (c.count)
            failed = is_rfc ? hd_memprof_merger_add(sum, &raw, &err)
                            : hd_memprof_write_raw(&raw, 0, &options, o.out, &err);
        raw_free(&c);
    }
    if (is_rfc && !failed) failed = hd_memprof_merger_finish(sum, &all, &err);
    if (failed) {
        display(stderr, "heapdump: %s: %s\n", r->file.path, is_rfc ? err.message : output_error(&o, &err));
        status = BAD_INPUT;
    }
    if (!failed && is_rfc && write_rfc(r, hd_memprof_part(all, 0))) status = BAD_INPUT;
    hd_memprof_free(all);
    hd_memprof_merger_free(sum);
    if (is_rfc) return status;
    return output_close(&o, r->file.path, failed ? BAD_INPUT : DONE) ? BAD_INPUT : status;
}
