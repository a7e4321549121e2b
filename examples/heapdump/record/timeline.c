/* heapdump record: the file of a recording.

   While the program runs, the file is an array without its end. Events are appended, each batch by one write. So
   anyone who reads it meanwhile, or after we were killed, gets all events up to then. At the end it is written again,
   into a new file, with all type names before their first use, as the trace viewer needs it. It is rewritten earlier,
   each time that its size has doubled, if type names were added or a process has executed another program. */

#include "record.h"

#include <fcntl.h>
#include <signal.h>

int (*record_as_memprof)(recording *r);

static const uint64_t ticks_most = 32 << 20;

uint64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Heaps. ----------------------------------------------------------------------------------------- */

kept_heap *kept_add(timeline *t) {
    if (t->count == t->room) {
        t->room = t->room ? 2 * t->room : 64;
        t->heaps = needed(realloc(t->heaps, t->room * sizeof *t->heaps));
    }
    memset(&t->heaps[t->count], 0, sizeof *t->heaps);
    return &t->heaps[t->count++];
}

void kept_release(kept_heap *k) {
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

/* The heaps of a file from index `first` on, with labels. The caller frees the array. */
hd_heap *heaps_from(const recording *r, size_t first) {
    const timeline *t = &r->file;
    hd_heap *heaps = needed(calloc(t->count - first + 1, sizeof *heaps));
    for (size_t i = first; i < t->count; i++) {
        const process *p = r->processes[t->heaps[i].of];
        heaps[i - first] = t->heaps[i].heap;
        heaps[i - first].pid = process_number(r, p);
        heaps[i - first].process = p->name;
        heaps[i - first].dump = t->heaps[i].dump;
    }
    return heaps;
}

/* The growing file. ------------------------------------------------------------------------------ */

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

/* Chooses the file. It does not exist before it has content. */
void timeline_open(recording *r) {
    const arguments *a = r->a;
    timeline *t = &r->file;
    struct stat st;
    const char *program = strrchr(a->input.files[0], '/') ? strrchr(a->input.files[0], '/') + 1 : a->input.files[0];
    const char *ending = r->out.to                                 ? "csv"
                         : !a->record.format                       ? "json"
                         : format_is(a->record.format, FORMAT_RFC) ? "memprof"
                                                                   : "memprofraw";
    t->fd = -1;
    t->is_default = !a->out.file;
    if (!r->main) {              /* recovered */
        if (asprintf(&t->path, "%s.%s", a->input.files[0], ending) < 0) t->path = NULL;
    } else if (asprintf(&t->path, "heapdump.%s.%ld.%s", program, (long)r->main, ending) < 0) {
        t->path = NULL;
    }
    needed(t->path);
    if (a->out.file) {
        free(t->path);
        t->path = needed(strdup(a->out.file));
    }
    t->is_plain = !a->record.format && !r->out.to && !packed_end(t->path) &&
                  (stat(t->path, &st) || S_ISREG(st.st_mode));
}

/* Creates the file under its name, with the writer's first output. */
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

/* Waits for readers, since a write becomes visible page by page. A process that opens the file now waits until our
   lease ends. A process that has it open gets the time of a copy, unless it keeps the file open. SIGURG signals a
   waiting process because its default is to be ignored. */
static void readers_wait(timeline *t) {
    enum { LONGEST = 128 };
    const struct timespec a_millisecond = { .tv_nsec = 1000000 };
    int left = t->is_watched ? 1 : LONGEST;
    fcntl(t->fd, F_SETSIG, SIGURG);
    while (fcntl(t->fd, F_SETLEASE, F_WRLCK) && errno == EAGAIN && --left) nanosleep(&a_millisecond, NULL);
    t->is_watched = !left;
}

/* Appends the pending output, completely or not at all. */
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
        display(stderr, "heapdump: %s: %s; the recording is kept in memory\n", t->path, strerror(errno));
    }
    t->failed = !done;
    return done;
}

/* Writes all kept heaps to a new file that replaces the old one. */
static void file_again(recording *r) {
    timeline *t = &r->file;
    int before = t->fd;
    hd_chrome_writer_free(t->writer);
    t->writer = NULL;
    t->pending_size = t->size = 0;
    t->stale = false;
    t->fd = -1;                  /* a client that looks for the recording finds one of the two files open */
    for (uint32_t i = 0; i < r->count; i++) r->processes[i]->types = 0;
    timeline_flush(r, 0);
    if (before >= 0) close(before);
    t->size_again = t->size;
}

/* Drops every other moment from the older three quarters of the time line. */
static void timeline_thin(recording *r) {
    timeline *t = &r->file;
    size_t n = 0, moments = 0, seen = 0;
    uint32_t last = 0;
    for (size_t i = 0; i < t->count; i++)
        if (t->heaps[i].tick && t->heaps[i].tick != last) last = t->heaps[i].tick, moments++;
    last = 0;
    for (size_t i = 0; i < t->count; i++) {
        kept_heap *k = &t->heaps[i];
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

/* Creates the file and the control socket, so that requests can name the file before the first program records. */
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

/* Accounts for heaps that the writer got, in `size` bytes. The viewer reads only the first list of types of each
   process. */
static void heaps_are_in(recording *r, size_t first, uint64_t size) {
    timeline *t = &r->file;
    for (kept_heap *k = t->heaps + first; k < t->heaps + t->count; k++) {
        process *p = r->processes[k->of];
        const hd_deduplicator *d = hd_chrome_writer_deduplicator(t->writer, process_number(r, p), HD_AXIS_TYPE);
        uint32_t types = d ? hd_deduplicator_count(d) : 0;
        t->stale |= p->types && types > p->types;
        p->types = types;
        if (k->size) continue;   /* rewritten */
        k->size = size / (t->count - first) + 1;
        if (k->tick) t->ticks_size += k->size;
    }
}

/* Writes the heaps from index `first` on, which are one or more complete dumps. */
int timeline_flush(recording *r, size_t first) {
    timeline *t = &r->file;
    hd_chrome_dumps dumps = { .heap_count = t->count - first };
    FREED hd_heap *heaps = NULL;
    FREED hd_scalar *scalars = NULL;
    hd_error err;
    hd_status status = HD_OK;
    size_t before = t->pending_size;
    if (!t->is_plain || first == t->count) return DONE;
    writer_begin(t);
    dumps.heaps = heaps = heaps_from(r, first);
    dumps.scalars = scalars = scalars_from(r, first, &dumps.scalar_count);
    status = hd_chrome_writer_add(t->writer, &dumps, &err);
    if (status) display(stderr, "heapdump: %s: %s\n", t->path, err.message);
    else heaps_are_in(r, first, t->pending_size - before);
    if (!file_write(r)) return BAD_INPUT;
    if (first && t->ticks_size > ticks_most && t->ticks > 16) timeline_thin(r);
    else if (first && t->stale && (t->size < 1 << 20 || t->size / 2 > t->size_again)) file_again(r);
    return status ? BAD_INPUT : DONE;
}

/* The end of the file. --------------------------------------------------------------------------- */

/* Writes the heaps to the directory for temporary files, because they would be lost otherwise. */
static void write_elsewhere(recording *r, const hd_chrome_dumps *dumps) {
    const char *tmp = getenv("TMPDIR");
    FREED char *path = NULL;
    if (asprintf(&path, "%s/heapdump.%ld.json", tmp && *tmp == '/' ? tmp : "/tmp", (long)r->main) < 0) needed(NULL);
    if (!write_heaps(&r->out, dumps, NULL, path, true))
        display(stderr, "heapdump: the recording is in %s\n", path);
}

/* Writes the complete file, in order of time. If that fails, the existing file gets its end. */
int timeline_finish(recording *r) {
    timeline *t = &r->file;
    struct stat st;
    bool is_there;
    hd_chrome_dumps dumps = { 0 };
    FREED hd_heap *heaps = NULL;
    FREED hd_scalar *scalars = NULL;
    hd_error err;
    int status;
    if (r->a->record.format) {
        for (uint32_t i = 0; i < r->count; i++)
            if (r->processes[i]->state.counters.total_blocks) return record_as_memprof(r);
        return DONE;
    }
    if (!t->count) timeline_discard(r);
    if (!t->count) return DONE;
    dumps.heaps = heaps = heaps_from(r, 0);
    dumps.heap_count = t->count;
    dumps.scalars = scalars = scalars_from(r, 0, &dumps.scalar_count);
    status = write_heaps(&r->out, &dumps, NULL, t->path, t->is_default);
    is_there = t->fd >= 0 && !fstat(t->fd, &st) && st.st_nlink;
    if (status) write_elsewhere(r, &dumps);
    if (status && t->writer && is_there) {
        if (!t->failed && !hd_chrome_writer_finish(t->writer, &err)) file_write(r);
        display(stderr, "heapdump: %s has the heaps that were written before\n", t->path);
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
