/* heapdump record --format memprof-raw, memprof-rfc: MemProf profiles of what is in the region. */

#include "memprof.h"
#include "record.h"

#include <search.h>

/* A raw profile in the making. */
typedef struct raw_columns {
    hd_memprof_segment *segments;
    hd_memprof_block *blocks;
    uint64_t *ids, *pcs;
    uint32_t *first;             /* one more than blocks */
    uint32_t segment_count, count, depth;
    size_t segment_room, block_room, pc_room;
} raw_columns;

static void *room_for(void *items, size_t count, size_t *room, size_t each) {
    if (count < *room) return items;
    *room = *room ? 2 * *room : 256;
    return needed(realloc(items, *room * each));
}

static void add_context(void *user, const hd_lifetimes *of, const uint64_t *pcs, size_t count) {
    raw_columns *c = user;
    uint64_t *v;
    if (c->count >= HD_NONE - 1 || count >= HD_NONE - 1 - c->depth) return;
    if (c->count + 1 >= c->block_room) {
        size_t room = c->block_room, same = room;
        c->blocks = room_for(c->blocks, c->count + 1, &room, sizeof *c->blocks);
        room = same, c->ids = room_for(c->ids, c->count + 1, &room, sizeof *c->ids);
        room = same, c->first = room_for(c->first, c->count + 1, &room, sizeof *c->first);
        c->block_room = room;
    }
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
        c->pcs = room_for(c->pcs, c->depth, &c->pc_room, sizeof *c->pcs);
        c->pcs[c->depth++] = pcs[i] - 1;
    }
    c->first[c->count] = c->depth;
}

/* The modules of one kind, loaded still or closed, into the columns. */
typedef struct segments_of {
    raw_columns *c;
    bool loaded;
    void *taken;                 /* tsearch, of their address_range */
} segments_of;

typedef struct address_range {
    uint64_t start, end;
} address_range;

/* Ranges that overlap are equal. */
static int compare_ranges(const void *a, const void *b) {
    const address_range *x = a, *y = b;
    return x->end <= y->start ? -1 : x->start >= y->end;
}

/* What was closed stands back where something else was loaded in its place. */
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
    c->segments = room_for(c->segments, c->segment_count, &c->segment_room, sizeof *c->segments);
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

/* Fills the columns with what a process allocated until it ended. */
static hd_status raw_fill(recording *r, const process *p, raw_columns *c, hd_memprof_raw *raw, hd_error *err) {
    hd_options options = { .lenient = true };
    uint64_t bytes = region_bytes(&r->region, &options.limits), until = p->ended_us;
    uint32_t now = until > p->state.start_us ? (uint32_t)((until - p->state.start_us) / 1000) : 0;
    segments_of of = { .c = c, .loaded = true };
    hd_status status = hd_recorder_view_lifetimes(r->region.base, bytes, p->number, now, &options, add_context, c, err);
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
    arguments to = *r->a;
    index_source s = { .name = r->file.path };
    index_counts counts;
    int status;
    to.names = (symbols *)(uintptr_t)&r->names;
    to.memprof_version = "rfc";
    status = index_build(&to, s.name, raw, NULL, true, &s.built);
    s.index = s.built;
    if (!status) status = index_write_to(&to, &s, s.name, &counts);
    index_close(&s);
    return status;
}

/* The profiles of all processes, one after the other in a file, or added up for the RFC's. */
int memprof_recorded(recording *r) {
    bool is_rfc = !strcmp(r->a->record_format, "memprof-rfc");
    hd_options options = { .lenient = true }; /* what is too large for its field is the largest */
    hd_error err;
    hd_memprof_merger *sum = is_rfc ? needed(hd_memprof_merger_create(&options, &err)) : NULL;
    hd_memprof *all = NULL;
    hd_status failed = HD_OK;
    output o;
    int status = is_rfc ? DONE : output_open_as(&o, r->file.path, r->file.is_default);
    if (status) return status;
    for (uint32_t i = r->count; i-- > 0 && !failed;) { /* what looks at one profile of a file takes the last */
        const process *p = &r->processes[i];
        raw_columns c = { 0 };
        hd_memprof_raw raw;
        if (!p->state.counters.total_blocks) continue;
        if (raw_fill(r, p, &c, &raw, &err)) { /* the others may be whole */
            display(stderr, "heapdump: %s (%llu): %s\n", p->name, (unsigned long long)p->pid, err.message);
            status = BAD_INPUT;
        } else if (c.count)
            failed = is_rfc ? hd_memprof_merger_add(sum, &raw, &err) : hd_memprof_write_raw(&raw, 0, &options, o.out, &err);
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
