/* heapdump watch: reads the region of a recording repeatedly, and shows one of its processes. */

#include "watched.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <search.h>
#include <signal.h>
#include <sys/mman.h>

watch_table *watch_table_of(watch *w) { return &w->table; }
bool watch_is_done(const watch *w) { return w->a->watch.count && w->ticks >= w->a->watch.count; }

void watch_tell(watch *w, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(w->told, sizeof w->told, format, args);
    va_end(args);
}

/* Names. ---------------------------------------------------------------------------------------- */

static int compare_known(const void *a, const void *b) {
    return strcmp(((const known *)a)->frame, ((const known *)b)->frame);
}

static void known_free(void *p) {
    known *k = p;
    free(k->frame);
    free(k->site);
    free(k->first);
    free(k);
}

static void known_clear(watch *w) {
    tdestroy(w->known, known_free);
    w->known = NULL;
    w->known_count = 0;
}

static void known_make(watch *w, known *k, hd_str frame) {
    hd_str path[HD_RENAME_MAX];
    uint32_t n = symbols_rename(&w->r.names, frame, path), i = n;
    k->first = needed(strndup(path[n - 1].len ? path[n - 1].data : "", path[n - 1].len));
    while (i && is_helper(path[i - 1])) i--;
    if (i) k->site = needed(strndup(path[i - 1].len ? path[i - 1].data : "", path[i - 1].len));
}

/* Frames are named once. Generated code may get its name later. */
static known *known_of(watch *w, hd_str frame) {
    char text[WATCH_NAME + 1];
    known key = { .frame = text }, **found, *k;
    if (frame.len > WATCH_NAME) frame.len = WATCH_NAME;
    if (frame.len) memcpy(text, frame.data, frame.len);
    text[frame.len] = 0;
    found = tfind(&key, &w->known, compare_known);
    if (found) return *found;
    k = needed(calloc(1, sizeof *k));
    k->frame = needed(strdup(text));
    known_make(w, k, hd_cstr(text));
    needed(tsearch(k, &w->known, compare_known));
    w->known_count++;
    return k;
}

static watch_row *row_named(watch *w, const char *name, watch_row **row) {
    if (!*row) *row = watch_row_of(&w->table, hd_cstr(*name ? name : "[unknown]"));
    return *row;
}

/* The row for the site of a call stack: the innermost function that does not allocate for others, or else the
   innermost function. */
static watch_row *site_of(watch *w, const hd_axis *axis, uint32_t node) {
    known *first = NULL;
    for (; node; node = axis->parent[node]) {
        known *k = known_of(w, axis->node_name[node]);
        if (k->site) return row_named(w, k->site, &k->row);
        if (!first) first = k;
    }
    return first ? row_named(w, first->first, &first->first_row) : watch_row_of(&w->table, hd_cstr("[unknown]"));
}

/* Reading. -------------------------------------------------------------------------------------- */

static double double_of(hd_u128 n) { return ldexp((double)n.hi, 64) + (double)n.lo; }

static void row_add(watch_row *row, hd_heap_kind kind, const hd_amount *a) {
    watch_amount *to = &row->next;
    double variance = double_of(a->variance);
    if (kind == HD_HEAP_LIVE) to->live += a->bytes, to->blocks += a->blocks, to->live_variance += variance;
    else if (kind == HD_HEAP_TOTAL)
        to->total += a->bytes, to->total_blocks += a->blocks, to->total_variance += variance;
    else to->temporary += a->bytes, to->temporary_blocks += a->blocks;
}

static bool look_at(watch *w, const process *p, hd_heap_kind kind) {
    hd_snapshot_options options = { .kind = kind };
    uint64_t bytes = region_bytes(&w->r.region, &options.options.limits);
    hd_profile *profile;
    FREED watch_row **rows = NULL;
    hd_error err;
    hd_status status;
    if (p->refused) return false;
    status = hd_recorder_view_snapshot(w->r.region.base, bytes, p->number, &options, &profile, &err);
    region_was_read(&w->r.region);
    if (status) {
        watch_tell(w, "%s", err.message);
        return false;
    }
    hd_axis axis = hd_profile_axis(profile, HD_AXIS_BACKTRACE);
    symbols_prepare(&w->r.names, axis);
    hd_rows cells = hd_profile_cells(profile);
    rows = needed(calloc(axis.node_count, sizeof *rows)); /* a call stack has a cell per type */
    for (uint32_t i = 0; i < cells.count; i++) {
        uint32_t node = cells.node[(size_t)i * cells.axis_count + HD_AXIS_BACKTRACE];
        if (!rows[node]) rows[node] = site_of(w, &axis, node);
        row_add(rows[node], kind, &cells.amount[i]);
    }
    hd_profile_free(profile);
    return true;
}

static void look(watch *w) {
    process *p = w->r.processes[w->at];
    if (w->known_count > KNOWN_MOST) known_clear(w);
    if (w->r.names.twins) modules_look(&w->r, p);
    code_file_look(p->code, &w->r.names);
    w->r.names.code = p->code;
    watch_begin(&w->table);
    if (look_at(w, p, HD_HEAP_LIVE) && look_at(w, p, HD_HEAP_TOTAL) && look_at(w, p, HD_HEAP_TEMPORARY))
        watch_end(&w->table, now_us());
    w->r.names.code = NULL;
}

/* The process. ---------------------------------------------------------------------------------- */

/* The RSS of a process; HD_UNKNOWN: unknown. */
static uint64_t rss_of(uint64_t pid) {
    char path[64], text[128];
    unsigned long long pages;
    ssize_t n;
    int fd;
    snprintf(path, sizeof path, "/proc/%llu/statm", (unsigned long long)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = 0;
    return sscanf(text, "%*s %llu", &pages) == 1 && pages ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : HD_UNKNOWN;
}

static bool program_of(uint64_t pid, char path[PATH_MAX]) {
    char name[64];
    ssize_t n;
    snprintf(name, sizeof name, "/proc/%llu/exe", (unsigned long long)pid);
    n = readlink(name, path, PATH_MAX - 1);
    path[n > 0 ? n : 0] = 0;
    return n > 0;
}

static void choose_process(watch *w, uint32_t at) {
    known_clear(w);
    watch_clear(&w->table);
    w->at = at;
    w->ended = w->replaced = false;
    program_of(w->r.processes[at]->pid, w->program);
}

/* The requested process, or else the live process with the most memory. */
static uint32_t first_process(const watch *w) {
    uint32_t best = HD_NONE;
    bool best_lives = false;
    for (uint32_t i = 0; i < w->r.count; i++) {
        const process *p = w->r.processes[i], *b = best == HD_NONE ? NULL : w->r.processes[best];
        bool lives = is_alive(p);
        if (w->pid && p->pid == w->pid && !p->later) return i;
        if (b && (best_lives > lives ||
                  (best_lives == lives && b->state.counters.live_bytes >= p->state.counters.live_bytes))) continue;
        best = i;
        best_lives = lives;
    }
    return best;
}

static void tell_time(char text[16]) {
    time_t now = time(NULL);
    struct tm tm;
    strftime(text, 16, "%H:%M:%S", localtime_r(&now, &tm));
}

/* Follows the process when it executes another program that is recorded too, and reports its end. */
static void follow(watch *w) {
    const process *p = w->r.processes[w->at];
    char now[PATH_MAX], at[16];
    tell_time(at);
    if (p->later) {
        uint64_t pid = p->pid;
        char before[64];
        snprintf(before, sizeof before, "%s", p->name);
        for (uint32_t i = w->r.count; i-- > w->at + 1;) {
            if (w->r.processes[i]->pid != pid || w->r.processes[i]->later) continue;
            choose_process(w, i);
            watch_tell(w, "%s (%llu) became %s at %s", before, (unsigned long long)pid, w->r.processes[i]->name, at);
            return;
        }
    } else if (p->ended && !w->ended) {
        w->ended = true;
        watch_tell(w, "%s (%llu) ended at %s", p->name, (unsigned long long)p->pid, at);
    } else if (!p->ended && program_of(p->pid, now) && *w->program && strcmp(now, w->program) && !w->replaced) {
        w->replaced = true;
        watch_tell(w, "%s (%llu) became %s at %s, which does not record", p->name, (unsigned long long)p->pid,
                   symbols_basename(now), at);
    }
}

void watch_next(watch *w) {
    for (uint32_t i = 1; w->at != HD_NONE && i < w->r.count; i++) {
        uint32_t at = (w->at + i) % w->r.count;
        if (w->r.processes[at]->later) continue;
        choose_process(w, at);
        *w->told = 0;
        w->next_us = 0;
        return;
    }
    watch_tell(w, "no other process");
}

/* Reads the parts of the RSS, for at most a hundredth of the time. In between, the last reading stays. */
static void look_resident(watch *w, process *p) {
    watch_table *t = &w->table;
    if (!w->replaced && now_us() >= w->r.resident_next_us) resident_look_at(&w->r, p);
    t->part_us = p->resident.at_us;
    memcpy(t->part, p->resident.part, sizeof t->part);
}

static void tick(watch *w) {
    uint64_t began = now_us();
    process *p;
    processes_look(&w->r);
    if (w->at == HD_NONE && (w->at = first_process(w)) != HD_NONE) choose_process(w, w->at);
    if (w->at != HD_NONE) {
        follow(w);
        p = w->r.processes[w->at];
        w->table.rss = w->replaced || !is_alive(p) ? HD_UNKNOWN : rss_of(p->pid);
        look_resident(w, p);
        look(w);
    }
    w->ticks++;
    w->took_us = now_us() - began;
    /* reading a heap with many call stacks takes time: at most a fifth of the interval */
    w->next_us = began + (uint64_t)w->every_ms * 1000;
    if (w->next_us < began + 5 * w->took_us) w->next_us = began + 5 * w->took_us;
}

int watch_tick(watch *w) {
    uint64_t now = now_us();
    if (now >= w->next_us) tick(w);
    now = now_us();
    return now >= w->next_us ? 0 : (int)((w->next_us - now + 999) / 1000);
}

watch_state watch_state_of(const watch *w) {
    const process *p = w->at == HD_NONE ? NULL : w->r.processes[w->at];
    watch_state s = { .name = p ? p->name : "", .told = w->told, .finished = true };
    for (uint32_t i = 0; i < w->r.count; i++) {
        const process *other = w->r.processes[i];
        s.finished &= !is_alive(other) && !is_unseen(other);
        s.others += other != p && !other->later;
        s.others_alive += other != p && is_alive(other);
    }
    if (!p) return s;
    s.pid = p->pid;
    s.sample_bytes = p->state.sample_bytes;
    s.is = p->ended ? IS_ENDED : w->replaced ? IS_REPLACED : is_unseen(p) ? IS_UNSEEN : IS_ALIVE;
    if (!p->resident.at_us && p->resident.error) s.unread = strerrordesc_np(p->resident.error);
    return s;
}

/* A snapshot. ----------------------------------------------------------------------------------- */

static bool saved_name(watch *w, const process *p, char path[PATH_MAX]) {
    char program[64];
    if (w->a->out.file) return snprintf(path, PATH_MAX, "%s", w->a->out.file) < PATH_MAX;
    snprintf(program, sizeof program, "%s", p->name);
    for (char *c = program; *c; c++)
        if (*c == '/' || (unsigned char)*c < ' ') *c = '_';
    do snprintf(path, PATH_MAX, "heapdump.%s.%llu.%u.json", program, (unsigned long long)p->pid, ++w->saved);
    while (!access(path, F_OK));
    return true;
}

void watch_save(watch *w, char *said, size_t size) {
    recording *r = &w->r;
    timeline *t = &r->file;
    char path[PATH_MAX];
    hd_chrome_dumps dumps = { 0 };
    FREED hd_heap *heaps = NULL;
    FREED hd_scalar *scalars = NULL;
    int status = BAD_INPUT;
    if (w->at == HD_NONE || !saved_name(w, r->processes[w->at], path)) {
        snprintf(said, size, "nothing to save");
        return;
    }
    t->moments++;
    for (uint32_t i = 0; i < r->count; i++)
        if ((i == w->at || is_alive(r->processes[i])) && r->processes[i]->state.counters.total_blocks) {
            code_file_look(r->processes[i]->code, &r->names);
            timeline_add(r, r->processes[i], HD_HEAP_LIVE, t->moments, 0, now_us());
        }
    dumps.heaps = heaps = heaps_from(r, 0);
    dumps.heap_count = t->count;
    dumps.scalars = scalars = scalars_from(r, 0, &dumps.scalar_count);
    if (t->count) status = write_heaps(&r->out, &dumps, NULL, path, !w->a->out.file);
    snprintf(said, size, status ? "%s could not be written" : "saved: %s", path);
    while (t->count) kept_release(&t->heaps[--t->count]);
}

/* The command. ---------------------------------------------------------------------------------- */

static void on_cut_off(int number) {
    static const char words[] = "heapdump: the file of --keep was truncated\n";
    (void)number;
    watch_screen_end();
    if (write(STDERR_FILENO, words, sizeof words - 1)) {}
    _exit(BAD_INPUT);
}

/* Opens the file of --keep, or the region of a running recording. Its name may change while the file is rewritten. */
static bool watch_open(watch *w, const char *what) {
    int fd = open(what, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool found = fd >= 0 && region_from(&w->r.region, fd);
    if (fd >= 0 && !found) close(fd);
    fd = found ? -1 : recording_region(w->a, what);
    if (fd == -2) return false;
    if (!found && fd >= 0 && !(found = region_from(&w->r.region, fd))) close(fd);
    if (!found)
        display(stderr,
                "heapdump: %s: expected a running recording of this user, or a file of record --keep (a compressed "
                "recording is named by its PID)%s\n",
                what, recorded_by);
    signal(SIGBUS, on_cut_off);
    w->pid = access(what, F_OK) ? strtoull(what, NULL, 10) : 0;
    return found;
}

static int take_options(watch *w) {
    const arguments *a = w->a;
    double every = a->watch.every > 0 ? a->watch.every : 1;
    if (every < 0.01 || every > 86400) return usage("--every takes 0.01 to 86400 seconds, not %g", every);
    w->every_ms = (uint32_t)(every * 1000);
    if (a->watch.sort) {
        int order = 0;
        while (order < WATCH_ORDERS && strcmp(watch_order_names[order], a->watch.sort)) order++;
        if (order == WATCH_ORDERS)
            return usage("--sort takes live, blocks, growth, rate, temporary or name, not '%s'", a->watch.sort);
        w->table.order = (watch_order)order;
    }
    if (a->watch.filter && !watch_filter(&w->table, a->watch.filter))
        return usage("--filter does not take '%s': %s", a->watch.filter, pattern_error);
    return DONE;
}

int run_watch(const arguments *a) {
    static watch w = { .r = { .region = { .fd = -1 }, .listener = -1, .timer = -1, .signals = -1,
                              .file = { .fd = -1 } }, .at = HD_NONE };
    int status;
    if (a->input.file_count != 1) return usage("watch takes the file of a recording, or the PID of a process");
    w.a = w.r.a = a;
    w.r.out = a->out;
    w.r.cut.cutoff.min_share = LEAST_SHARE;
    status = take_options(&w);
    if (status) return status;
    if (!watch_open(&w, a->input.files[0])) return BAD_INPUT; /* first: it says how to record */
    if (!a->view.json && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
        return usage("watch needs a terminal, or --json");
    status = a->view.json ? watch_lines(&w) : watch_screen(&w);
    if (!status && w.at == HD_NONE) {
        display(stderr, "heapdump: %s: no process has recorded into it\n", a->input.files[0]);
        status = BAD_INPUT;
    }
    known_clear(&w);
    watch_free(&w.table);
    timeline_free(&w.r);
    processes_free(&w.r);
    symbols_free(&w.r.names);
    munmap(w.r.region.base, (size_t)w.r.region.size);
    close(w.r.region.fd);
    return status;
}
