/* heapdump record: processes below the program that do not record, for want of the region: static programs, those that
   were started with another environment, without descriptors or in another root. They are found by looking, now and
   then, so that who lives for a moment only may be missed. */

#include "record.h"

#include <dirent.h>

enum { VISITED = 1024, JUST_NOW = 10000000, APART = 100000 }; /* microseconds */

static bool is_refused(const recording *r, pid_t pid) {
    for (uint32_t i = 0; i < r->others.refused_count; i++)
        if (r->others.refused[i] == pid) return true;
    return false;
}

/* It begins to record. */
void unrecorded_shown(recording *r, pid_t pid) {
    for (int i = 0; i < JOINING; i++)
        if (r->others.joined[i].pid == pid) r->others.joined[i].pid = 0;
}

bool unrecorded_joins(const recording *r, pid_t pid) {
    for (int i = 0; i < JOINING; i++)
        if (r->others.joined[i].pid == pid) return true;
    return false;
}

/* It has been given the region, and does not record yet. */
static bool joined_just_now(const recording *r, pid_t pid, uint64_t now) {
    for (int i = 0; i < JOINING; i++)
        if (r->others.joined[i].pid == pid && now - r->others.joined[i].at_us < JUST_NOW) return true;
    return false;
}

static void forget(unrecorded *u, pid_t pid) {
    for (uint32_t i = u->count; i--;)
        if (u->found[i].pid == pid) u->found[i] = u->found[--u->count];
}

/* A program asked for the region, and has it or may not. */
void unrecorded_joined(recording *r, pid_t pid, bool wanted) {
    unrecorded *u = &r->others;
    forget(u, pid);
    if (wanted) {
        u->joined[u->next++ % JOINING] = (struct joined){ pid, now_us() };
    } else if (!is_refused(r, pid)) {
        u->refused = needed(realloc(u->refused, (u->refused_count + 1) * sizeof *u->refused));
        u->refused[u->refused_count++] = pid;
    }
}

/* The program that a process is; false: none any more, or not ours to see. */
static bool program_of(pid_t pid, char name[64]) {
    char path[64], link[PATH_MAX];
    const char *base;
    ssize_t n;
    snprintf(path, sizeof path, "/proc/%ld/exe", (long)pid);
    n = readlink(path, link, sizeof link - 1);
    if (n <= 0) return false;
    link[n] = 0;
    base = strrchr(link, '/');
    snprintf(name, 64, "%.63s", base ? base + 1 : link);
    return true;
}

/* What a process was started with in LD_PRELOAD, if the recorder is not in it; else an empty text. */
static void preload_of(pid_t pid, char preload[200]) {
    char path[64], *variable = NULL;
    size_t room = 0;
    FILE *f;
    *preload = 0;
    snprintf(path, sizeof path, "/proc/%ld/environ", (long)pid);
    f = fopen(path, "re");
    while (f && getdelim(&variable, &room, 0, f) > 0) {
        if (strncmp(variable, "LD_PRELOAD=", 11)) continue;
        if (!strstr(variable, "heapdump")) snprintf(preload, 200, "%.199s", variable + 11);
        break;
    }
    if (f) fclose(f);
    free(variable);
}

/* Whether a process is so large that it must have the region, to spare a look at all that it maps. */
static bool is_as_large(const recording *r, pid_t pid) {
    char path[64];
    unsigned long long pages = 0, whole = r->region.size / 4096;
    FILE *f;
    snprintf(path, sizeof path, "/proc/%ld/statm", (long)pid);
    f = fopen(path, "re");
    if (f && fscanf(f, "%llu", &pages) != 1) pages = 0;
    if (f) fclose(f);
    return whole >= 1ull << 28 && pages >= whole && pages < 4 * whole;
}

static void visit(recording *r, pid_t pid, uint64_t now) {
    unrecorded *u = &r->others;
    char path[64], name[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%ld", (long)pid);
    if (is_as_large(r, pid) || has_region(r, (uint64_t)pid, true)) {
        forget(u, pid);
        return;
    }
    if (stat(path, &st) || (r->a->same_user && st.st_uid != geteuid()) || joined_just_now(r, pid, now)) return;
    if (!program_of(pid, name)) return;
    forget(u, pid);
    u->found = needed(realloc(u->found, (u->count + 1) * sizeof *u->found));
    u->found[u->count].pid = pid;
    preload_of(pid, u->found[u->count].preload);
    memcpy(u->found[u->count++].name, name, sizeof name);
}

static void add_pid(const recording *r, pid_t *pids, size_t *n, pid_t pid) {
    for (size_t i = 0; i < *n; i++)
        if (pids[i] == pid) return;
    if (*n < VISITED && !is_refused(r, pid)) pids[(*n)++] = pid;
}

static void add_children(const recording *r, pid_t *pids, size_t *n, pid_t of) {
    char path[320];
    struct dirent *thread;
    DIR *threads;
    snprintf(path, sizeof path, "/proc/%ld/task", (long)of);
    threads = opendir(path);
    while (threads && (thread = readdir(threads))) {
        long child;
        FILE *f;
        snprintf(path, sizeof path, "/proc/%ld/task/%s/children", (long)of, thread->d_name);
        f = *thread->d_name == '.' ? NULL : fopen(path, "re");
        while (f && fscanf(f, "%ld", &child) == 1) add_pid(r, pids, n, (pid_t)child);
        if (f) fclose(f);
    }
    if (threads) closedir(threads);
}

/* Looks at all processes below those that are known. Takes a fiftieth of the time at most, unless it has to be now. */
void unrecorded_look(recording *r, bool now) {
    static pid_t pids[VISITED];
    uint64_t began = now_us(), took;
    size_t n = 0;
    if (r->a->no_children || r->stopped || (!now && began < r->others.next_us)) return;
    if (!r->main_ended) add_pid(r, pids, &n, r->main);
    for (uint32_t i = 0; i < r->count; i++) {
        const process *p = &r->processes[i];
        if (!p->ended && (p->pidfd >= 0 || p->asked)) add_pid(r, pids, &n, (pid_t)p->pid);
    }
    for (size_t i = 0; i < n; i++) {
        visit(r, pids[i], began);
        add_children(r, pids, &n, pids[i]);
    }
    took = 50 * (now_us() - began);
    r->others.next_us = began + (took > APART ? took : APART);
}

void unrecorded_free(recording *r) {
    free(r->others.found);
    free(r->others.refused);
}
