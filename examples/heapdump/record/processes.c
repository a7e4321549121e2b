/* heapdump record: the processes in the region, whether they run, and their state. */

#include "record.h"

#include <dirent.h>
#include <poll.h>
#include <search.h>
#include <signal.h>
#include <sys/syscall.h>

/* The programs that one process executed in turn. A region may have many records, so these are found by search. */
typedef struct images {
    uint64_t pid;
    uint32_t count, last;        /* last: an index of r->processes */
} images;

static int compare_images(const void *a, const void *b) {
    const images *x = a, *y = b;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

static images *images_of(recording *r, uint64_t pid) {
    images key = { .pid = pid }, *made, **found = tfind(&key, &r->images, compare_images);
    if (found) return *found;
    made = needed(calloc(1, sizeof *made));
    made->pid = pid;
    needed(tsearch(made, &r->images, compare_images));
    return made;
}

/* Whether the process `pid` has mapped the region. In another namespace a process has another number, so here `pid`
   may be a stranger. `unseen`: also true for a descendant with unreadable maps. */
bool has_region(const recording *r, uint64_t pid, bool unseen) {
    char path[64], *line = NULL;
    size_t room = 0;
    struct stat st;
    bool found = false;
    FILE *f;
    snprintf(path, sizeof path, "/proc/%llu/maps", (unsigned long long)pid);
    f = fopen(path, "re");
    if (!f || fstat(r->region.fd, &st)) {
        if (f) fclose(f);
        return !f && errno != ENOENT && unseen && pid <= INT_MAX && is_descendant((pid_t)pid);
    }
    while (!found && getline(&line, &room, f) > 0) {
        unsigned long long inode = 0;
        found = sscanf(line, "%*s %*s %*s %*s %llu", &inode) == 1 && inode == (unsigned long long)st.st_ino;
    }
    free(line);
    fclose(f);
    return found;
}

static bool is_over(const process *p) {
    struct pollfd wait = { .fd = p->pidfd, .events = POLLIN };
    if (p->pidfd >= 0) return poll(&wait, 1, 0) > 0;
    return p->asked && kill((pid_t)p->pid, 0) && errno == ESRCH;
}

static void process_end(process *p) {
    if (p->pidfd >= 0) close(p->pidfd);
    p->pidfd = -1;
    p->asked = false;
    if (!p->ended) p->ended_us = now_us();
    p->ended = true;
}

/* Reads the state of a process, a letter, and its flags in the kernel; 0: no process has this number. */
static char state_of(uint64_t pid, unsigned long *flags) {
    char path[64], text[512], state = 0, *end;
    size_t n;
    FILE *f;
    snprintf(path, sizeof path, "/proc/%llu/stat", (unsigned long long)pid);
    f = fopen(path, "re");
    n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = 0;
    end = strrchr(text, ')');    /* the name of a program may contain any character */
    return end && sscanf(end + 1, " %c %*d %*d %*d %*d %*d %lu", &state, flags) == 2 ? state : 0;
}

char process_state(uint64_t pid) {
    unsigned long flags;
    return state_of(pid, &flags);
}

/* Whether a process is exiting. The kernel no longer shows its maps. Its pidfd becomes readable when its last thread
   has ended. */
static bool is_exiting(uint64_t pid) {
    enum { EXITING = 4 };        /* PF_EXITING of the kernel */
    unsigned long flags;
    return state_of(pid, &flags) && flags & EXITING;
}

static void process_watch(const recording *r, process *p) {
    p->pidfd = p->pid && p->pid <= INT_MAX ? (int)syscall(SYS_pidfd_open, (pid_t)p->pid, 0) : -1;
    if (p->pidfd < 0) p->asked = errno != ESRCH && errno != EINVAL;
    if (p->pidfd < 0 && !p->asked) process_end(p);
    if (p->ended || p->pid == (uint64_t)r->main || has_region(r, p->pid, true)) return;
    if (is_over(p)) {
        process_end(p);
        return;
    }
    /* it became another program, or it is exiting */
    if (is_exiting(p->pid) || is_descendant((pid_t)p->pid)) return;
    /* a process of another namespace: its heaps are written after the program has ended */
    if (p->pidfd >= 0) close(p->pidfd);
    p->pidfd = -1;
    p->asked = false;
}

/* Whether a process has become another program, or is gone. The region does not prove it, since any recorded program
   can write any number there. */
static bool is_replaced(const recording *r, const process *p) {
    return unrecorded_joins(r, (pid_t)p->pid) || is_over(p);
}

/* Adds a record that is seen for the first time. An earlier program of the process ends with this. */
static void process_add(recording *r, uint32_t number, const hd_recorded *state) {
    images *of = images_of(r, state->pid);
    process *p = of->count ? r->processes[of->last] : NULL;
    if (p) {
        if (is_replaced(r, p)) process_end(p);
        p->later = true;
        r->file.stale |= p->types != 0;
    }
    if (r->count == r->room) {
        r->room = r->room ? 2 * r->room : 64;
        r->processes = needed(realloc(r->processes, r->room * sizeof *r->processes));
    }
    of->last = r->count;
    p = r->processes[r->count] = needed(malloc(sizeof *p));
    *p = (process){ .index = r->count++, .number = number, .image = of->count++, .pid = state->pid, .pidfd = -1,
                    .peak_us = now_us() };
    p->name = needed(strndup(state->name, sizeof state->name));
    p->code = code_file_open(state->pid);
    process_watch(r, p);
    unrecorded_shown(r, (pid_t)state->pid);
}

typedef struct loaded_by {
    recording *r;
    uint64_t pid, count;
} loaded_by;

static void on_module(void *user, const hd_module *module, bool loaded) {
    loaded_by *by = user;
    (void)loaded;
    if (by->count++ < 4096) symbols_loaded(&by->r->names, module, by->pid);
}

static void modules_add(recording *r, process *p) {
    loaded_by by = { r, p->pid, 0 };
    hd_limits limits = { 0 };
    uint64_t bytes = region_bytes(&r->region, &limits);
    p->has_new_modules = false;
    hd_recorder_view_modules(r->region.base, bytes, p->number, on_module, &by, NULL);
    region_was_read(&r->region);
}

void modules_look(recording *r, process *p) {
    modules_add(r, p);
    symbols_loaded_end(&r->names);
}

void codes_look(recording *r, bool (*is_wanted)(const process *p)) {
    FREED code_file **files = needed(calloc(r->count + 1, sizeof *files));
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->count; i++)
        if (is_wanted(r->processes[i])) files[n++] = r->processes[i]->code;
    if (n) code_files_look(files, n, &r->names);
}

static bool has_new_modules(const process *p) { return p->has_new_modules; }

/* Opens new modules at once, since later another file may have the name. The modules of all processes go to the child
   in one request, because the child may get little processor time. */
static void modules_open(recording *r) {
    codes_look(r, has_new_modules);
    for (uint32_t i = 0; i < r->count; i++)
        if (r->processes[i]->has_new_modules) modules_add(r, r->processes[i]);
    symbols_loaded_end(&r->names);
}

/* Adds new processes. */
static void processes_add(recording *r, uint64_t bytes, const hd_limits *limits) {
    uint32_t n = region_count(&r->region, bytes, limits);
    bool whole = true;
    hd_recorded state;
    if (n > r->known_count) {
        r->known = needed(realloc(r->known, n));
        memset(r->known + r->known_count, 0, n - r->known_count);
        r->known_count = n;
    }
    for (uint32_t i = r->looked; i < n; i++) {
        if (!r->known[i]) {
            if (hd_recorder_view(r->region.base, bytes, i, &state, NULL)) {
                whole = false;   /* the record is not complete yet */
                continue;
            }
            process_add(r, i, &state);
            r->known[i] = true;
        }
        if (whole) r->looked = i + 1;
    }
}

/* A process is skipped if it and earlier processes claim more than the region holds. */
static void process_refuse(recording *r, process *p) {
    enum { TOLD = 3 };
    if (!p->spoiled && r->refused_records++ < TOLD)
        display(stderr, "heapdump: %s (%llu): its record is damaged: it claims more memory than the recording "
                "has%s\n", p->name, (unsigned long long)p->pid,
                r->refused_records == TOLD ? "; other records may be damaged, too" : "");
    p->spoiled = p->refused = true;
}

static void process_update(process *p, hd_recorded *state) {
    state->name[sizeof state->name - 1] = 0;
    if (state->peak_number != p->peak_number) p->peak_us = p->ended ? p->ended_us : now_us();
    p->peak_number = state->peak_number;
    p->has_new_modules |= state->counters.total_blocks != p->state.counters.total_blocks;
    p->state = *state;
    if (strcmp(p->name, state->name)) {
        free(p->name);
        p->name = needed(strdup(state->name));
    }
}

bool process_changed(recording *r, process *p, bool *at_work) {
    hd_limits limits = { 0 };
    uint64_t bytes = region_bytes(&r->region, &limits);
    const hd_recorder_counters before = p->state.counters, *now = &p->state.counters;
    hd_recorded state;
    *at_work = false;
    if (p->refused || hd_recorder_view(r->region.base, bytes, p->number, &state, NULL)) return false;
    *at_work = state.under_way && (p->pidfd >= 0 || p->asked) && !is_over(p);
    process_update(p, &state);
    region_was_read(&r->region);
    return now->total_blocks != before.total_blocks || now->live_blocks != before.live_blocks ||
           now->total_bytes != before.total_bytes || now->live_bytes != before.live_bytes ||
           now->peak_bytes != before.peak_bytes;
}

/* Finds new processes, and processes that have ended. During a search for names new modules are left for later. */
void processes_look(recording *r) {
    hd_limits limits = { 0 };
    uint64_t bytes = region_bytes(&r->region, &limits), left = region_claims(&limits);
    hd_recorded state;
    processes_add(r, bytes, &limits);
    for (uint32_t i = 0; i < r->count; i++) {
        process *p = r->processes[i];
        if (p->written) continue;
        if (!p->ended && is_over(p)) process_end(p);
        if (hd_recorder_view(r->region.base, bytes, p->number, &state, NULL)) continue;
        p->refused = false;
        if (state.bytes > left) {
            process_refuse(r, p);
            continue;
        }
        left -= state.bytes;
        process_update(p, &state);
    }
    region_was_read(&r->region);
    r->look_us = now_us();
    if (!r->names.is_busy) modules_open(r);
}

void processes_end(recording *r) {
    for (uint32_t i = 0; i < r->count; i++) {
        process *p = r->processes[i];
        if (!p->ended) p->ended_us = r->stopped_us;
        p->ended = true;
    }
}

/* Whether any recorded process is running. */
bool processes_live(const recording *r) {
    for (uint32_t i = 0; i < r->count; i++)
        if (!r->processes[i]->ended && (r->processes[i]->pidfd >= 0 || r->processes[i]->asked)) return true;
    return false;
}

/* Whether a process has mapped the region but has no record yet. It may be the child of a process that ended right
   after the fork. */
bool processes_come(const recording *r) {
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    bool found = false;
    while (proc && !found && (entry = readdir(proc))) {
        char *end;
        unsigned long long pid = strtoull(entry->d_name, &end, 10);
        found = !*end && pid && pid != (unsigned long long)getpid() && has_region(r, pid, false);
    }
    if (proc) closedir(proc);
    return found;
}

/* The number of a process in the trace. Each earlier program of the process gets its own number, above all numbers of
   the system. */
uint64_t process_number(const recording *r, const process *p) {
    images key = { .pid = p->pid }, **found = tfind(&key, &r->images, compare_images);
    return p->pid + ((uint64_t)(found ? (*found)->count - 1 - p->image : 0) << 22);
}

void processes_free(recording *r) {
    for (uint32_t i = 0; i < r->count; i++) {
        process_end(r->processes[i]);
        free(r->processes[i]->name);
        free(r->processes[i]->ranges.at);
        code_file_free(r->processes[i]->code);
        free(r->processes[i]);
    }
    free(r->processes);
    free(r->known);
    tdestroy(r->images, free);
    r->processes = NULL;
    r->known = NULL;
    r->images = NULL;
    r->count = r->room = r->known_count = 0;
}
