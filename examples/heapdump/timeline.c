/* heapdump record: what of a recording is written when, and the file that it becomes.

   While the program runs the file is an array without its end, to which whole events are appended, each lot by one
   write: whoever reads it meanwhile, or after we were killed, has all up to then. At its end it is written again,
   beside itself, with all names of types before what refers to them, as the trace viewer wants it; before, when there
   are more of these, or when a process has become another program, as often as the file doubles. */

#include "record.h"

#include <fcntl.h>
#include <signal.h>

enum { TICK_BYTES = 12 * 1024, FEW_CELLS = 8, MANY_CELLS = 2000 };
static const uint64_t ticks_most = 32 << 20;

uint64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* What is kept. ---------------------------------------------------------------------------------- */

static kept *kept_add(timeline *t) {
    if (t->count == t->room) {
        t->room = t->room ? 2 * t->room : 64;
        t->heaps = needed(realloc(t->heaps, t->room * sizeof *t->heaps));
    }
    memset(&t->heaps[t->count], 0, sizeof *t->heaps);
    return &t->heaps[t->count++];
}

void kept_release(kept *k) {
    for (size_t i = 0; i < k->stat_count; i++) {
        free((char *)(uintptr_t)k->stats[i].allocator);
        free((char *)(uintptr_t)k->stats[i].name);
        free((char *)(uintptr_t)k->stats[i].units);
    }
    free(k->stats);
    k->stats = NULL;
    k->stat_count = 0;
    hd_heap_release(&k->heap);
}

/* Of the time line, and of a helper, of which a shell script starts hundreds. What the caller asks for is not cut
   further. */
static bool is_short(const recording *r, const process *p, uint32_t tick) {
    return !r->cut_off && (tick || (p->pid != (uint64_t)r->main && p->state.counters.peak_bytes < 1 << 20));
}

/* The time on the clock of a process's recorder; 0: what was kept of it tells no better than its last block. */
static uint32_t clock_of(const recording *r, const process *p, uint64_t time_us) {
    uint64_t from = p->state.start_us;
    return r->region.is_ours && time_us > from ? (uint32_t)((time_us - from) / 1000) : 0;
}

/* A heap of a process now, or as it was when it ended, into memory; tick: of the time line, else 0. */
int timeline_add(recording *r, process *p, hd_heap_kind kind, uint32_t moment, uint32_t tick, uint64_t time_us) {
    hd_snapshot_options options = { .kind = kind, .now = clock_of(r, p, time_us) };
    arguments a = *r->a;
    hd_heap heap = { .kind = kind, .allocator = "malloc", .time_us = time_us, .start_us = p->state.start_us,
                     .sample_bytes = p->state.sample_bytes }, *condensed = NULL;
    uint64_t bytes = region_bytes(&r->region, &options.options.limits);
    hd_profile *profile;
    size_t count = 0;
    hd_error err;
    kept *k;
    int status;
    hd_status failed;
    if (p->refused) return BAD_INPUT;
    if (r->names.twins) modules_look(r, p, bytes);
    failed = hd_recorder_view_snapshot(r->region.base, bytes, p->number, &options, &profile, &err);
    region_was_read(&r->region);
    if (failed) {
        r->short_of_memory |= failed == HD_OUT_OF_MEMORY;
        if (!p->spoiled) display(stderr, "heapdump: %s (%llu): %s\n", p->name, (unsigned long long)p->pid, err.message);
        p->spoiled = true;
        return BAD_INPUT;
    }
    /* a budget lists nothing of what has all of a heap, which is what a small one may be */
    if (is_short(r, p, tick) && hd_profile_cells(profile).count > FEW_CELLS) {
        a.cutoff = (hd_cutoff){ .max_output_bytes = TICK_BYTES };
        /* a budget over all entries takes long */
        if (hd_profile_cells(profile).count > MANY_CELLS) a.cutoff.min_share = 1.0 / MANY_CELLS;
        a.has_cutoff = true;
    }
    heap.profile = profile;
    code_file_look(p->code, &r->names);
    r->names.code = p->code;
    status = condense(&heap, 1, &a, &r->names, &condensed, &count);
    r->names.code = NULL;
    hd_profile_free(profile);
    if (!status) {
        k = kept_add(&r->file);
        k->heap = condensed[0];
        k->of = (uint32_t)(p - r->processes);
        k->tick = tick;
        snprintf(k->dump, sizeof k->dump, "0x%x", moment);
        if (kind == HD_HEAP_LIVE) resident_keep(r, p, k);
        free(condensed);
    } else {
        p->spoiled = true;       /* as condense printed */
        condensed_free(condensed, count);
    }
    return status;
}

/* Heaps of a file from the first on, labelled. To be freed. */
hd_heap *heaps_from(const recording *r, size_t first) {
    const timeline *t = &r->file;
    hd_heap *heaps = needed(calloc(t->count - first + 1, sizeof *heaps));
    for (size_t i = first; i < t->count; i++) {
        const process *p = &r->processes[t->heaps[i].of];
        heaps[i - first] = t->heaps[i].heap;
        heaps[i - first].pid = process_number(r, p);
        heaps[i - first].process = p->name;
        heaps[i - first].dump = t->heaps[i].dump;
    }
    return heaps;
}

/* What every process that lives holds now. Of the time line, or asked for. */
void timeline_moment(recording *r, bool tick) {
    uint64_t now = now_us();
    size_t first = r->file.count;
    uint32_t moment, number;
    if (r->a->record_format) return;
    moment = ++r->file.moments, number = tick ? ++r->file.ticks : 0;
    for (uint32_t i = 0; i < r->count; i++) {
        process *p = &r->processes[i];
        if (!p->written && p->state.counters.total_blocks) timeline_add(r, p, HD_HEAP_LIVE, moment, number, now);
    }
    timeline_flush(r, first);
}

/* What ended processes leave: the peak, what was live at the end, all, and what was freed at once. Those that recorded
   nothing, as a shell's child before it becomes a program, leave nothing. */
void processes_ended(recording *r, const process *only) {
    for (uint32_t i = 0; i < r->count; i++) {
        process *p = &r->processes[i];
        size_t first = r->file.count;
        uint64_t now = now_us();
        uint32_t moment;
        if (p->written || !p->ended || (only && p != only)) continue;
        p->written = true;
        p->ended_us = now;
        if (!p->state.counters.total_blocks || r->a->record_format) continue;
        if (r->at_peak) timeline_add(r, p, HD_HEAP_PEAK, ++r->file.moments, 0, p->peak_us);
        if (r->at_exit) {
            moment = ++r->file.moments;
            timeline_add(r, p, HD_HEAP_LIVE, moment, 0, now);
            timeline_add(r, p, HD_HEAP_TOTAL, moment, 0, now);
            timeline_add(r, p, HD_HEAP_TEMPORARY, moment, 0, now);
        }
        for (size_t k = first; k < r->file.count; k++) {
            totals t = totals_of(&r->file.heaps[k].heap);
            if (r->file.heaps[k].heap.kind != HD_HEAP_TEMPORARY) continue;
            p->temporary_bytes = t.bytes;
            p->temporary_blocks = t.blocks;
        }
        timeline_flush(r, first);
    }
}

/* The file as it grows. -------------------------------------------------------------------------- */

static hd_status pend(void *user, const void *data, size_t size) {
    timeline *t = user;
    if (t->pending_room - t->pending_size < size) {
        t->pending_room = 2 * t->pending_room + size;
        t->pending = needed(realloc(t->pending, t->pending_room));
    }
    memcpy(t->pending + t->pending_size, data, size);
    t->pending_size += size;
    return HD_OK;
}

static bool is_packed(const char *path) {
    static const char *const endings[] = { ".gz", ".zst", ".xz" };
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (!strcmp(dot, endings[i])) return true;
    return false;
}

/* Chooses the file, which is not there before something is in it. */
void timeline_open(recording *r) {
    const arguments *a = r->a;
    timeline *t = &r->file;
    struct stat st;
    const char *program = strrchr(a->files[0], '/') ? strrchr(a->files[0], '/') + 1 : a->files[0];
    const char *ending = a->to ? "csv" : !a->record_format ? "json" : strcmp(a->record_format, "memprof-rfc") ? "memprofraw" : "memprof";
    t->fd = -1;
    t->is_default = !a->output;
    if (!r->main) {              /* recovered */
        if (asprintf(&t->path, "%s.%s", a->files[0], ending) < 0) t->path = NULL;
    } else if (asprintf(&t->path, "heapdump.%s.%ld.%s", program, (long)r->main, ending) < 0) {
        t->path = NULL;
    }
    needed(t->path);
    if (a->output) {
        free(t->path);
        t->path = needed(strdup(a->output));
    }
    t->is_plain = !a->record_format && !a->to && !is_packed(t->path) && (stat(t->path, &st) || S_ISREG(st.st_mode));
}

/* What the writer wrote becomes the file, under its name. */
static bool file_begin(timeline *t) {
    hd_file file;
    hd_error err;
    hd_out out;
    int fd;
    if ((t->is_default ? hd_file_create_default : hd_file_create)(t->path, &file, &err)) return false;
    out = hd_file_out(&file);
    if (out.write(out.user, t->pending, t->pending_size)) {
        errno = file.os_error;
        hd_file_discard(&file);
        return false;
    }
    fd = fcntl(file.fd, F_DUPFD_CLOEXEC, 0);
    if (hd_file_commit(&file, &err)) {
        if (fd >= 0) close(fd);
        return false;
    }
    if (t->fd >= 0) close(t->fd);
    t->fd = fd;
    return fd >= 0;
}

/* A write shows page by page to who reads meanwhile. Who opens the file now waits for our lease to end; who has it open
   is given the time of a copy, but for one that keeps it open. The signal that somebody waits is one that is ignored by
   default. */
static void readers_wait(timeline *t) {
    enum { LONGEST = 128 };
    const struct timespec a_millisecond = { .tv_nsec = 1000000 };
    int left = t->is_watched ? 1 : LONGEST;
    fcntl(t->fd, F_SETSIG, SIGURG);
    while (fcntl(t->fd, F_SETLEASE, F_WRLCK) && errno == EAGAIN && --left) nanosleep(&a_millisecond, NULL);
    t->is_watched = !left;
}

/* Appends what is pending, all of it or nothing. */
static bool file_append(timeline *t) {
    ssize_t n;
    int failure;
    readers_wait(t);
    n = pwrite(t->fd, t->pending, t->pending_size, (off_t)t->size);
    failure = n < 0 ? errno : n < (ssize_t)t->pending_size ? ENOSPC : 0;
    if (failure && ftruncate(t->fd, (off_t)t->size)) {}
    fcntl(t->fd, F_SETLEASE, F_UNLCK);
    errno = failure;
    return !failure;
}

static bool file_write(recording *r) {
    timeline *t = &r->file;
    bool is_new = t->fd < 0, done;
    if (!t->pending_size) return true;
    done = is_new ? file_begin(t) : file_append(t);
    if (done) {
        t->size += t->pending_size;
        t->pending_size = 0;
    } else if (!t->failed) {
        display(stderr, "heapdump: %s: %s; what is recorded is kept in memory\n", t->path, strerror(errno));
    }
    t->failed = !done;
    return done;
}

/* All kept heaps anew, into a file that takes the place of the old one. */
static void file_again(recording *r) {
    timeline *t = &r->file;
    int before = t->fd;
    hd_chrome_writer_free(t->writer);
    t->writer = NULL;
    t->pending_size = t->size = 0;
    t->stale = false;
    t->fd = -1;                  /* whoever looks for the recording finds that we have one of the two open */
    for (uint32_t i = 0; i < r->count; i++) r->processes[i].types = 0;
    timeline_flush(r, 0);
    if (before >= 0) close(before);
    t->size_again = t->size;
}

/* Every other moment goes of the older three quarters of the time line. */
static void timeline_thin(recording *r) {
    timeline *t = &r->file;
    size_t n = 0, moments = 0, seen = 0;
    uint32_t last = 0;
    for (size_t i = 0; i < t->count; i++)
        if (t->heaps[i].tick && t->heaps[i].tick != last) last = t->heaps[i].tick, moments++;
    last = 0;
    for (size_t i = 0; i < t->count; i++) {
        kept *k = &t->heaps[i];
        if (k->tick && k->tick != last) last = k->tick, seen++;
        if (k->tick && seen <= moments / 4 * 3 && seen % 2 == 0) {
            t->ticks_size -= k->size;
            kept_release(k);
        } else {
            t->heaps[n++] = *k;
        }
    }
    if (n == t->count) return;
    t->count = n;
    file_again(r);
}

static void writer_begin(timeline *t) {
    hd_chrome_writer_desc desc = { .interruptible = true };
    hd_error err;
    if (!t->writer) t->writer = hd_chrome_writer_create(&desc, hd_out_callback(pend, t), &err);
    needed(t->writer);
}

/* Once somebody records, there is a file to be asked about. */
void timeline_begin(recording *r) {
    timeline *t = &r->file;
    hd_chrome_dumps none = { .heap_count = 0 };
    hd_error err;
    if (t->begun) return;
    t->begun = true;
    control_listen(r);
    if (!t->is_plain) return;
    writer_begin(t);
    if (!hd_chrome_writer_add(t->writer, &none, &err)) file_write(r);
}

/* Takes note of heaps that the writer got, in so many bytes. Of each process the viewer takes the first list of types
   alone. */
static void heaps_are_in(recording *r, size_t first, uint64_t size) {
    timeline *t = &r->file;
    for (kept *k = t->heaps + first; k < t->heaps + t->count; k++) {
        process *p = &r->processes[k->of];
        const hd_deduplicator *d = hd_chrome_writer_deduplicator(t->writer, process_number(r, p), HD_AXIS_TYPE);
        uint32_t types = d ? hd_deduplicator_count(d) : 0;
        t->stale |= p->types && types > p->types;
        p->types = types;
        if (k->size) continue;   /* written again */
        k->size = size / (t->count - first) + 1;
        if (k->tick) t->ticks_size += k->size;
    }
}

/* Writes the heaps from the first on, which are one or more whole dumps. */
int timeline_flush(recording *r, size_t first) {
    timeline *t = &r->file;
    hd_chrome_dumps dumps = { .heap_count = t->count - first };
    hd_heap *heaps;
    hd_scalar *scalars;
    hd_error err;
    hd_status status = HD_OK;
    size_t before = t->pending_size;
    if (!t->is_plain || first == t->count) return DONE;
    writer_begin(t);
    dumps.heaps = heaps = heaps_from(r, first);
    dumps.scalars = scalars = scalars_from(r, first, &dumps.scalar_count);
    status = hd_chrome_writer_add(t->writer, &dumps, &err);
    free(heaps);
    free(scalars);
    if (status) display(stderr, "heapdump: %s: %s\n", t->path, err.message);
    else heaps_are_in(r, first, t->pending_size - before);
    if (!file_write(r)) return BAD_INPUT;
    if (first && t->ticks_size > ticks_most && t->ticks > 16) timeline_thin(r);
    else if (first && t->stale && (t->size < 1 << 20 || t->size / 2 > t->size_again)) file_again(r);
    return status ? BAD_INPUT : DONE;
}

/* The end of the file. --------------------------------------------------------------------------- */

/* Where temporary files go, for what would be lost. */
static void write_elsewhere(recording *r, const hd_chrome_dumps *dumps) {
    const char *tmp = getenv("TMPDIR");
    char *path;
    if (asprintf(&path, "%s/heapdump.%ld.json", tmp && *tmp == '/' ? tmp : "/tmp", (long)r->main) < 0) needed(NULL);
    if (!write_heaps(r->a, dumps, NULL, path, true))
        display(stderr, "heapdump: what was recorded is in %s\n", path);
    free(path);
}

/* The whole, in the order of time; when that cannot be, what is there gets its end. */
int timeline_finish(recording *r) {
    timeline *t = &r->file;
    struct stat st;
    bool is_there;
    hd_chrome_dumps dumps = { 0 };
    hd_heap *heaps;
    hd_scalar *scalars;
    hd_error err;
    int status;
    if (r->a->record_format) {
        for (uint32_t i = 0; i < r->count; i++)
            if (r->processes[i].state.counters.total_blocks) return memprof_recorded(r);
        return DONE;
    }
    if (!t->count) timeline_discard(r);
    if (!t->count) return DONE;
    dumps.heaps = heaps = heaps_from(r, 0);
    dumps.heap_count = t->count;
    dumps.scalars = scalars = scalars_from(r, 0, &dumps.scalar_count);
    status = write_heaps(r->a, &dumps, NULL, t->path, t->is_default);
    is_there = t->fd >= 0 && !fstat(t->fd, &st) && st.st_nlink;
    if (status) write_elsewhere(r, &dumps);
    free(heaps);
    free(scalars);
    if (status && t->writer && is_there) {
        if (!t->failed && !hd_chrome_writer_finish(t->writer, &err)) file_write(r);
        display(stderr, "heapdump: %s has what was written before\n", t->path);
    }
    return status;
}

void timeline_discard(recording *r) {
    if (r->file.fd >= 0) unlink(r->file.path);
}

void timeline_free(recording *r) {
    timeline *t = &r->file;
    for (size_t i = 0; i < t->count; i++) kept_release(&t->heaps[i]);
    hd_chrome_writer_free(t->writer);
    if (t->fd >= 0) close(t->fd);
    free(t->heaps);
    free(t->pending);
    free(t->path);
}
