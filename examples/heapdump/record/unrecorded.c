/* heapdump record: processes below the program that do not record because they did not get the region: static
   programs, and programs started with another environment, without descriptors or in another root. Recorded processes
   report programs that cannot join when they start them (join.h). Other processes are found by looking into /proc now
   and then, so short-lived ones may be missed. */

#include "record.h"

#include <dirent.h>

enum { VISITED = 1024, JUST_NOW = 10000000, APART = 100000 }; /* microseconds */

static bool is_refused(const recording *r, pid_t pid) {
    for (uint32_t i = 0; i < r->others.refused_count; i++)
        if (r->others.refused[i] == pid) return true;
    return false;
}

/* The process has begun to record. */
void unrecorded_shown(recording *r, pid_t pid) {
    for (int i = 0; i < JOINING; i++)
        if (r->others.joined[i].pid == pid) r->others.joined[i].pid = 0;
}

bool unrecorded_joins(const recording *r, pid_t pid) {
    for (int i = 0; i < JOINING; i++)
        if (r->others.joined[i].pid == pid) return true;
    return false;
}

/* Whether a process got the region lately, and does not record yet. */
static bool joined_just_now(const recording *r, pid_t pid, uint64_t now) {
    for (int i = 0; i < JOINING; i++)
        if (r->others.joined[i].pid == pid && now - r->others.joined[i].at_us < JUST_NOW) return true;
    return false;
}

static void forget(unrecorded *u, pid_t pid) {
    for (uint32_t i = u->count; i--;)
        if (u->found[i].pid == pid) u->found[i] = u->found[--u->count];
}

/* A program asked for the region, and got it or was refused. */
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

void unrecorded_outside(recording *r, pid_t pid, const join_request *request) {
    enum { MOST = 1024 };
    unrecorded *u = &r->others;
    struct outside *o;
    if (u->outside_count == MOST) return;
    u->outside = needed(realloc(u->outside, (u->outside_count + 1) * sizeof *u->outside));
    o = &u->outside[u->outside_count++];
    *o = (struct outside){ .pid = pid, .start_us = request->start_us };
    u->main_outside |= pid == r->main;
    snprintf(o->name, sizeof o->name, "%s", request->program);
    snprintf(o->allocator, sizeof o->allocator, "%s", request->allocator);
}

/* The name of a process's program; false: it has ended. */
static bool program_of(pid_t pid, char name[64]) {
    char path[64], link[PATH_MAX];
    const char *base;
    ssize_t n;
    FILE *f;
    snprintf(path, sizeof path, "/proc/%ld/exe", (long)pid);
    n = readlink(path, link, sizeof link - 1);
    if (n > 0) {
        link[n] = 0;
        base = strrchr(link, '/');
        snprintf(name, 64, "%.63s", base ? base + 1 : link);
        return true;
    }
    if (is_visible(pid)) return false;
    snprintf(path, sizeof path, "/proc/%ld/comm", (long)pid);
    f = fopen(path, "re");
    if (!f || !fgets(name, 64, f)) *name = 0;
    if (f) fclose(f);
    name[strcspn(name, "\n")] = 0;
    return *name;
}

/* Whether a process is so large that it must map the region, which spares reading all its maps. */
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

static bool has_record(const recording *r, pid_t pid) {
    for (uint32_t i = 0; i < r->count; i++)
        if (r->processes[i]->pid == (uint64_t)pid && !r->processes[i]->ended) return true;
    return false;
}

/* A process that hides its maps is assumed to record, unless it has other rights than ours. */
static bool may_record(const recording *r, pid_t pid) {
    if (!is_visible(pid)) return has_record(r, pid) || !has_other_rights(pid);
    return is_as_large(r, pid) || has_region(r, (uint64_t)pid, true);
}

static struct found *find(unrecorded *u, pid_t pid) {
    forget(u, pid);
    u->found = needed(realloc(u->found, (u->count + 1) * sizeof *u->found));
    u->found[u->count] = (struct found){ .pid = pid };
    return &u->found[u->count++];
}

/* A process that spawned a program numbers it as we do only if it numbers itself so. The program may have joined
   against expectation. */
void unrecorded_missed(recording *r, pid_t from, const join_missed *missed) {
    enum { MOST = 4096 };
    pid_t pid = missed->pid == missed->own ? from : missed->pid;
    struct found *f;
    if (pid <= 0 || is_refused(r, from) || is_refused(r, pid)) return;
    if (pid != from && (missed->own != from || unrecorded_joins(r, pid) || has_record(r, pid))) return;
    if (r->others.count >= MOST) {
        r->others.more++;
        return;
    }
    f = find(&r->others, pid);
    f->why = reason_given(missed);
    snprintf(f->name, sizeof f->name, "%.63s", missed->program);
}

static void visit(recording *r, pid_t pid, uint64_t now) {
    unrecorded *u = &r->others;
    char path[64], name[64];
    struct found *f;
    struct stat st;
    snprintf(path, sizeof path, "/proc/%ld", (long)pid);
    if (may_record(r, pid)) {
        forget(u, pid);
        return;
    }
    if (stat(path, &st) || (r->a->record.same_user && st.st_uid != geteuid()) || joined_just_now(r, pid, now)) return;
    if (!program_of(pid, name)) return;
    f = find(u, pid);
    f->why = reason_of(r, pid, f->preload);
    memcpy(f->name, name, sizeof name);
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

/* Looks at all processes below the known ones. Takes at most a fiftieth of the time, unless `now` is set. */
void unrecorded_look(recording *r, bool now) {
    static pid_t pids[VISITED];
    uint64_t began = now_us(), took;
    size_t n = 0;
    if (r->a->record.no_children || r->stopped || (!now && began < r->others.next_us)) return;
    if (!r->main_ended) add_pid(r, pids, &n, r->main);
    for (uint32_t i = 0; i < r->count; i++) {
        const process *p = r->processes[i];
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
    free(r->others.outside);
}
