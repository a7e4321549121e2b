/* heapdump record: resident memory of its processes, read from /proc/PID/smaps while they live. Our process does the
   reading; a recorded process waits only if it changes its maps at that time. So readings take at most a hundredth of
   the time, except when a snapshot asks for one. The last reading is kept, with its age. */

#include "record.h"

#include <dirent.h>

static void line_of(char *line, ssize_t n, resident_maps *maps) {
    if (n > 0 && line[n - 1] == '\n') n--;
    resident_line(maps, line, (size_t)n);
}

/* Returns 0 or an errno. */
static int maps_read(uint64_t pid, resident_maps *maps) {
    char path[64], *line = NULL;
    size_t room = 0;
    ssize_t n;
    FILE *f;
    int error;
    snprintf(path, sizeof path, "/proc/%llu/smaps", (unsigned long long)pid);
    f = fopen(path, "re");
    if (!f) return errno;
    errno = 0;
    while (!maps->unexpected && (n = getline(&line, &room, f)) > 0) line_of(line, n, maps);
    error = maps->unexpected ? EPROTO : ferror(f) ? errno : 0;
    free(line);
    fclose(f);
    return error;
}

/* Marks the map of a thread's stack pointer. False if the kernel does not show it: the thread is running. */
static bool thread_stack(const char *task, const char *thread, const resident_maps *maps) {
    char path[320], text[512], *last = NULL, *before = NULL;
    resident_map *map;
    size_t n;
    FILE *f;
    snprintf(path, sizeof path, "%.64s/%.64s/syscall", task, thread);
    f = fopen(path, "re");
    n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = 0;
    /* the last two are the stack pointer and the program counter */
    for (char *at = text; (at = strstr(at, " 0x")); at++) before = last, last = at;
    map = before ? resident_map_at(maps, strtoull(before, NULL, 16)) : NULL;
    if (map && map->writes && !map->inode) map->is_stack = true;
    return before != NULL;
}

static void stacks_mark(uint64_t pid, const resident_ranges *before, resident_maps *maps) {
    char path[64];
    struct dirent *thread;
    size_t unseen = 0, known = 0;
    DIR *threads;
    snprintf(path, sizeof path, "/proc/%llu/task", (unsigned long long)pid);
    threads = opendir(path);
    while (threads && (thread = readdir(threads)))
        if (*thread->d_name != '.') unseen += !thread_stack(path, thread->d_name, maps);
    if (threads) closedir(threads);
    for (size_t i = 0; i < before->count && known < unseen; i++) {
        resident_map *map = before->at[i].holds ? NULL : resident_map_at(maps, before->at[i].start);
        if (!map || map->is_stack || map->start != before->at[i].start || map->inode) continue;
        map->is_stack = true;
        known++;
    }
    if (unseen > known) resident_guess_stacks(maps, unseen - known);
}

int resident_read(uint64_t pid, uint64_t inode, const resident_ranges *before, resident_maps *maps) {
    bool found = false;          /* a process loses the region when it executes another program */
    int error = maps_read(pid, maps);
    if (error) return error;
    for (size_t i = 0; i < maps->count; i++)
        if (maps->map[i].inode == inode) maps->map[i].of_recorder = found = true;
    if (!found) return ENOENT;
    stacks_mark(pid, before, maps);
    return 0;
}

typedef struct holding {
    const resident_maps *maps;
    resident_map *last;
} holding;

static void page_holds(void *user, uint64_t address) {
    holding *h = user;
    if (!h->last || address < h->last->start || address >= h->last->end) h->last = resident_map_at(h->maps, address);
    if (h->last) h->last->holds = true;
}

/* Maps that held blocks at the last look count even without live blocks: they belong to the allocator, and still
   exist. */
bool resident_parts(resident_maps *maps, const void *base, uint64_t bytes, uint32_t number,
                    const resident_ranges *before, uint64_t part[RESIDENT_PARTS]) {
    holding h = { maps, NULL };
    hd_recorded state;
    uint64_t live, inherited;
    if (hd_recorder_view_block_pages(base, bytes, number, page_holds, &h, NULL) ||
        hd_recorder_view(base, bytes, number, &state, NULL))
        return false;
    for (size_t i = 0; i < before->count; i++) {
        resident_map *map = before->at[i].holds ? resident_map_at(maps, before->at[i].start) : NULL;
        if (map && map->start == before->at[i].start && map->kind == MAP_ANONYMOUS_ONE && !map->is_stack)
            map->holds = true;
    }
    live = state.counters.live_bytes;
    inherited = state.counters.inherited_bytes;
    resident_sum(maps, live > UINT64_MAX - inherited ? UINT64_MAX : live + inherited, part);
    return true;
}

bool resident_remember(resident_ranges *to, const resident_maps *maps) {
    size_t n = 0;
    void *grown;
    for (size_t i = 0; i < maps->count; i++) n += maps->map[i].holds || maps->map[i].is_stack;
    grown = realloc(to->at, (n + 1) * sizeof *to->at);
    if (!grown) return false;
    to->at = grown;
    to->count = 0;
    for (size_t i = 0; i < maps->count; i++) {
        const resident_map *map = &maps->map[i];
        if (!map->holds && !map->is_stack) continue;
        to->at[to->count].start = map->start;
        to->at[to->count++].holds = map->holds;
    }
    return true;
}

/* Reads the resident memory of a process now, if it lives and records. */
void resident_look_at(recording *r, process *p) {
    resident_maps maps = { 0 };
    hd_limits limits = { 0 };
    struct stat st;
    uint64_t began = now_us(), bytes;
    int error;
    if (p->ended || p->written || p->later || (p->pidfd < 0 && !p->asked) || !p->state.counters.total_blocks) return;
    error = fstat(r->region.fd, &st) ? errno : resident_read(p->pid, (uint64_t)st.st_ino, &p->ranges, &maps);
    if (error && error != ESRCH && error != ENOENT && !p->resident.at_us) p->resident.error = error;
    if (!error) {
        bytes = region_bytes(&r->region, &limits);
        if (resident_parts(&maps, r->region.base, bytes, p->number, &p->ranges, p->resident.part)) {
            p->resident.at_us = now_us();
            p->resident.error = 0;
            if (!resident_remember(&p->ranges, &maps)) needed(NULL);
        }
        region_was_read(&r->region);
    }
    resident_maps_free(&maps);
    r->resident_next_us = now_us() + 100 * (now_us() - began);
}

/* Looks at one process after the other, when it is time. */
void resident_look(recording *r) {
    if (!r->count || r->a->record.format || now_us() < r->resident_next_us) return;
    for (uint32_t i = 0; i < r->count; i++) {
        process *p = r->processes[r->resident_turn++ % r->count];
        uint64_t next = r->resident_next_us;
        if (!p->refused) resident_look_at(r, p);
        if (r->resident_next_us != next) return;
    }
}

/* Output. ---------------------------------------------------------------------------------------- */

static void take_stat(void *user, const hd_allocator_stat *s) {
    kept_heap *k = user;
    hd_scalar *to;
    bool ours = !strncmp(s->allocator, "resident", 8) && (!s->allocator[8] || s->allocator[8] == '/');
    if (ours || !*s->allocator || !*s->name) return;
    for (size_t i = 0; i < k->stat_count; i++) /* data from the region may be anything */
        if (!strcmp(k->stats[i].allocator, s->allocator) && !strcmp(k->stats[i].name, s->name)) return;
    k->stats = needed(realloc(k->stats, (k->stat_count + 1) * sizeof *k->stats));
    to = &k->stats[k->stat_count++];
    *to = (hd_scalar){ .allocator = needed(strdup(s->allocator)), .name = needed(strdup(s->name)), .value = s->value,
                       .units = s->units ? needed(strdup(s->units)) : NULL };
}

/* Stores the last reading of a process's memory with its heap. */
void resident_keep(const recording *r, const process *p, kept_heap *k) {
    k->resident = p->resident;
    if (k->resident.at_us > k->heap.time_us) k->resident.at_us = k->heap.time_us;
    hd_recorder_view_allocator_stats(r->region.base, r->region.used, p->number, take_stat, k, NULL);
}

static void scalar_add(hd_scalar *to, size_t *n, const hd_scalar *of, const char *allocator, const char *name,
                       const char *units, uint64_t value, const char *text) {
    to[*n] = *of;
    to[*n].allocator = allocator;
    to[*n].name = name;
    to[*n].units = units;
    to[*n].value = value;
    to[(*n)++].text = text;
}

static void reading_add(hd_scalar *to, size_t *n, const hd_scalar *of, const resident_reading *at) {
    static const char *const allocators[RESIDENT_PARTS] = {
        "resident/live_blocks", "resident/allocator", "resident/stacks", "resident/files", "resident/anonymous",
        "resident/recorder", "resident/unexplained" };
    uint64_t all = 0;
    if (at->error) scalar_add(to, n, of, "resident", "unread", NULL, 0, strerrordesc_np(at->error));
    if (!at->at_us) return;
    for (int i = 0; i < RESIDENT_PARTS; i++) all += at->part[i];
    scalar_add(to, n, of, NULL, "resident_set_bytes", NULL, all, NULL);
    scalar_add(to, n, of, "resident", "size", "bytes", all, NULL);
    scalar_add(to, n, of, "resident", "age", "ms", (of->time_us - at->at_us) / 1000, NULL);
    for (int i = 0; i < RESIDENT_PARTS; i++)
        scalar_add(to, n, of, allocators[i], "size", "bytes", at->part[i], NULL);
}

/* The scalars for heaps_from. The caller frees the array; the texts belong to the heaps. */
hd_scalar *scalars_from(const recording *r, size_t first, size_t *count) {
    const timeline *t = &r->file;
    size_t room = 1, n = 0;
    hd_scalar *scalars;
    for (size_t i = first; i < t->count; i++) room += t->heaps[i].stat_count + RESIDENT_PARTS + 4;
    scalars = needed(calloc(room, sizeof *scalars));
    for (size_t i = first; i < t->count; i++) {
        const kept_heap *k = &t->heaps[i];
        const process *p = r->processes[k->of];
        hd_scalar of = { .pid = process_number(r, p), .process = p->name, .dump = k->dump,
                         .time_us = k->heap.time_us };
        if (k->heap.kind != HD_HEAP_LIVE) continue;
        reading_add(scalars, &n, &of, &k->resident);
        for (size_t s = 0; s < k->stat_count; s++)
            scalar_add(scalars, &n, &of, k->stats[s].allocator, k->stats[s].name, k->stats[s].units,
                       k->stats[s].value, NULL);
    }
    *count = n;
    return scalars;
}

/* Reports a process for which the kernel refused the reading. */
void resident_told(const recording *r) {
    for (uint32_t i = 0; i < r->count; i++) {
        const process *p = r->processes[i];
        if (!p->resident.error) continue;
        display(stderr, "heapdump: cannot read the resident memory of %s (%llu): %s\n", p->name,
                (unsigned long long)p->pid, strerror(p->resident.error));
        return;
    }
}
