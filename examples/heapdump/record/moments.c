/* heapdump record: heaps of processes, taken at one moment, and named and written then or later. */

#include "record.h"

#include <poll.h>

enum { TICK_BYTES = 12 * 1024, FEW_CELLS = 8, MANY_CELLS = 2000 };

/* Live heaps of all running processes, taken at one time. */
struct kept_moment {
    kept_heap *heaps;            /* their frames are addresses */
    uint32_t count, number, tick, under_way;
    struct client *client;       /* waits for the result; NULL: none */
    kept_moment *next;
};

/* Taking. ---------------------------------------------------------------------------------------- */

/* The time on the clock of a process's recorder. 0: unknown, so the time of its last block is used. */
static uint32_t clock_of(const recording *r, const process *p, uint64_t time_us) {
    uint64_t from = p->state.start_us;
    return r->region.is_ours && time_us > from ? (uint32_t)((time_us - from) / 1000) : 0;
}

/* Takes a snapshot. If the region grew meanwhile, sites behind the readable part may have blocks: then takes it
   again. */
static hd_status heap_read(recording *r, const process *p, hd_snapshot_options *options, hd_profile **out,
                           hd_error *err) {
    enum { TRIES = 3 };
    for (int tries = 1;; tries++) {
        uint64_t bytes = region_bytes(&r->region, &options->options.limits);
        hd_status failed = hd_recorder_view_snapshot(r->region.base, bytes, p->number, options, out, err);
        region_was_read(&r->region);
        if (failed || !*options->under_way || tries == TRIES) return failed;
        if (hd_region_used(r->region.base, r->region.size) <= bytes) return failed;
        hd_profile_free(*out);
    }
}

/* The current heap of a process, or its heap at its end. tick: its number in the time line; 0: not part of it. Adds
   operations that did not end meanwhile to *under_way. Waits for them until a second after the moment: many processes
   may be stopped. */
static int heap_take(recording *r, process *p, hd_heap_kind kind, uint32_t moment, uint32_t tick, uint64_t time_us,
                     uint32_t *under_way, kept_heap *to) {
    enum { PATIENCE_US = 1000000 };
    uint32_t count = 0;
    hd_snapshot_options options = { .kind = kind, .now = clock_of(r, p, time_us), .under_way = &count,
                                    .ended = p->ended || now_us() - time_us > PATIENCE_US };
    hd_profile *profile;
    hd_error err;
    hd_status failed;
    if (p->refused) return BAD_INPUT;
    failed = heap_read(r, p, &options, &profile, &err);
    *under_way += count;
    if (failed) {
        r->short_of_memory |= failed == HD_OUT_OF_MEMORY;
        if (!p->spoiled)
            display(stderr, "heapdump: %s (%llu): %s\n", p->name, (unsigned long long)p->pid, err.message);
        p->spoiled = true;
        return BAD_INPUT;
    }
    *to = (kept_heap){ .of = p->index, .tick = tick };
    to->heap = (hd_heap){ .kind = kind, .allocator = "malloc", .time_us = time_us, .start_us = p->state.start_us,
                          .sample_bytes = p->state.sample_bytes, .profile = profile };
    snprintf(to->dump, sizeof to->dump, "0x%x", moment);
    if (kind == HD_HEAP_LIVE) resident_keep(r, p, to);
    return DONE;
}

/* Naming. ---------------------------------------------------------------------------------------- */

/* Whether to cut a heap to a few KiB: the time line has many heaps, and a shell script starts hundreds of small
   helpers. A cut-off given by the user is never changed. */
static bool is_short(const recording *r, const process *p, uint32_t tick) {
    return !r->cut.has_cutoff && (tick || (p->pid != (uint64_t)r->main && p->state.counters.peak_bytes < 1 << 20));
}

/* Names the frames of a heap, which may take long, and condenses it. It is released if that fails. */
static int heap_name(recording *r, kept_heap *k) {
    process *p = r->processes[k->of];
    hd_profile *profile = (hd_profile *)(uintptr_t)k->heap.profile;
    uint64_t cells = hd_profile_cells(profile).count;
    cut_options cut = r->cut;
    hd_heap *condensed = NULL;
    size_t count = 0;
    int status;
    if (r->names.twins || p->has_new_modules) modules_look(r, p);
    /* a budget lists no entry that has all bytes of the heap, and a small heap may have only that one */
    if (is_short(r, p, k->tick) && cells > FEW_CELLS) {
        cut.cutoff = (hd_cutoff){ .max_output_bytes = TICK_BYTES };
        /* a budget over all entries takes long */
        if (cells > MANY_CELLS) cut.cutoff.min_share = 1.0 / MANY_CELLS;
        cut.has_cutoff = true;
    }
    r->names.code = p->code;
    status = condense(&k->heap, 1, &r->out, &cut, &r->names, &condensed, &count);
    r->names.code = NULL;
    if (status) {
        p->spoiled = true;       /* condense reported why */
        condensed_free(condensed, count);
        kept_release(k);
        return status;
    }
    hd_profile_free(profile);
    k->heap = condensed[0];
    free(condensed);
    return DONE;
}

int timeline_add(recording *r, process *p, hd_heap_kind kind, uint32_t moment, uint32_t tick, uint64_t time_us) {
    kept_heap k;
    uint32_t under_way = 0;      /* the summary prints the number in the process's state */
    int status = heap_take(r, p, kind, moment, tick, time_us, &under_way, &k);
    if (!status) status = heap_name(r, &k);
    if (!status) *kept_add(&r->file) = k;
    return status;
}

/* Moments. --------------------------------------------------------------------------------------- */

uint32_t moment_take(recording *r, bool tick, struct client *client, uint32_t *number) {
    uint64_t now = now_us();
    kept_moment *m = needed(calloc(1, sizeof *m)), **end = &r->moments;
    uint32_t at = tick ? ++r->file.ticks : 0;
    m->heaps = needed(calloc(r->count + 1, sizeof *m->heaps));
    m->client = client;
    m->tick = at;
    m->number = ++r->file.moments;
    for (uint32_t i = 0; i < r->count; i++) {
        process *p = r->processes[i];
        if (p->ended || p->written || !p->state.counters.total_blocks) continue;
        if (!heap_take(r, p, HD_HEAP_LIVE, m->number, at, now, &m->under_way, &m->heaps[m->count])) m->count++;
    }
    if (number) *number = m->number;
    if (!m->count) {
        free(m->heaps);
        free(m);
        return 0;
    }
    while (*end) end = &(*end)->next;
    *end = m;
    return m->count;
}

static bool is_running(const process *p) { return !p->ended; }

static bool is_to_write(const process *p) { return p->ended && !p->written && p->state.counters.total_blocks; }

/* Without a client the recording itself prints what was under way: once for all heaps of the time line. */
static void tell_under_way(recording *r, const kept_moment *m) {
    if (!m->under_way || (m->tick && r->file.is_under_way_told)) return;
    r->file.is_under_way_told |= m->tick != 0;
    display(stderr, "heapdump: dump 0x%x", m->number);
    put_under_way(m->under_way);
    display(stderr, "\n");
}

/* Requests that come during the search for names are added to the list, and written in turn. */
void moments_write(recording *r) {
    if (r->names.is_busy) return;
    for (kept_moment *m; (m = r->moments);) {
        size_t first = r->file.count;
        r->moments = m->next;
        codes_look(r, is_running);
        for (uint32_t i = 0; i < m->count; i++)
            if (!heap_name(r, &m->heaps[i])) *kept_add(&r->file) = m->heaps[i];
        if (m->client) control_written(r, m->client, m->number, m->under_way, first);
        else timeline_flush(r, first);
        if (!m->client) tell_under_way(r, m);
        free(m->heaps);
        free(m);
    }
}

void timeline_moment(recording *r, bool tick) {
    if (r->a->record.format) return;
    moment_take(r, tick, NULL, NULL);
    moments_write(r);
}

/* Ends. ------------------------------------------------------------------------------------------ */

/* Adds the heaps of a process that has ended: peak, live, total and temporary. */
static void ended_add(recording *r, process *p, uint32_t moment) {
    uint64_t at = p->ended_us;
    if (r->at_peak) timeline_add(r, p, HD_HEAP_PEAK, moment++, 0, p->peak_us);
    if (!r->at_exit) return;
    timeline_add(r, p, HD_HEAP_LIVE, moment, 0, at);
    timeline_add(r, p, HD_HEAP_TOTAL, moment, 0, at);
    timeline_add(r, p, HD_HEAP_TEMPORARY, moment, 0, at);
}

/* A process that runs on after its recording was stopped may still have threads inside the recorder. All processes
   together have one time limit. */
static void ended_wait(recording *r, process *p) {
    bool at_work;
    while ((process_changed(r, p, &at_work) || at_work) && now_us() < r->settled_us) poll(NULL, 0, 1);
}

/* Takes all heaps of one moment: if one changed before the last was taken, all are taken again. */
static void ended_take(recording *r, process *p) {
    enum { TRIES = 4 };
    size_t first = r->file.count;
    uint32_t moment = r->file.moments + 1;
    bool at_work;
    r->file.moments += (uint32_t)r->at_peak + (uint32_t)r->at_exit;
    for (int i = 1;; i++) {
        ended_add(r, p, moment);
        if (i == TRIES || !process_changed(r, p, &at_work)) return;
        while (r->file.count > first) kept_release(&r->file.heaps[--r->file.count]);
        ended_wait(r, p);
    }
}

/* A process without blocks, such as a shell's child before exec, has no heaps in the file. */
void processes_ended(recording *r) {
    if (!r->a->record.format) codes_look(r, is_to_write);
    for (uint32_t i = 0; i < r->count; i++) {
        process *p = r->processes[i];
        size_t first = r->file.count;
        if (p->written || !p->ended) continue;
        p->written = true;
        ended_wait(r, p);
        if (!p->state.counters.total_blocks || r->a->record.format) continue;
        ended_take(r, p);
        for (size_t k = first; k < r->file.count; k++) {
            totals t = totals_of(&r->file.heaps[k].heap);
            if (r->file.heaps[k].heap.kind == HD_HEAP_TOTAL) p->total_blocks = t.blocks;
            if (r->file.heaps[k].heap.kind != HD_HEAP_TEMPORARY) continue;
            p->temporary_bytes = t.bytes;
            p->temporary_blocks = t.blocks;
        }
        timeline_flush(r, first);
    }
}

/* Nothing was written: no time of --at has come. The file gets the ends of all processes. */
void processes_end_instead(recording *r) {
    if (r->a->record.format || r->at_exit || is_spoiled(r)) return;
    r->at_exit = r->is_end_instead = true;
    for (uint32_t i = 0; i < r->count; i++) r->processes[i]->written = false;
    processes_ended(r);
}
