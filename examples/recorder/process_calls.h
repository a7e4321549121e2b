/* Calls that change the process: dlclose, limits of memory, and users.
   A part of heapdump_record.c, which includes it once. */
#ifndef RECORD_PROCESS_CALLS_H
#define RECORD_PROCESS_CALLS_H

/* Keeps the addresses of unloaded objects reserved. Code that is loaded there later counts as another module. */
EXPORT int dlclose(void *handle) {
    int status, saved;
    bool within = is_closing;
    ready();
    is_closing = true;
    status = real.dlclose ? real.dlclose(handle) : -1;
    is_closing = within;
    saved = errno;
    unwind_forget();
    if (get_state() == READY && is_outside()) {
        with_room(forget_closed, NULL);
        unwind_forget();         /* rules that were added meanwhile */
    }
    errno = saved;
    return status;
}

#ifdef __LP64__ /* both names are the same struct */
static int limit(pid_t pid, unsigned resource, const void *to, void *was) {
    int saved = errno;
    if (to && resource == RLIMIT_AS && (!pid || pid == getpid()))
        shrink_region(((const struct rlimit *)to)->rlim_cur);
    errno = saved;
    return (int)syscall(SYS_prlimit64, pid, resource, to, was);
}

/* mlockall would make all of the mapping resident. So unused parts of the region are unmapped first. */
EXPORT int mlockall(int flags) {
    const uint64_t as_if = (uint64_t)160 << 20; /* a tenth of it stays mapped in addition to the used part */
    int saved = errno;
    shrink_region(as_if);
    errno = saved;
    return (int)syscall(SYS_mlockall, flags);
}
EXPORT int setrlimit(__rlimit_resource_t resource, const struct rlimit *to) {
    return limit(0, (unsigned)resource, to, NULL);
}
EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *to) {
    return limit(0, (unsigned)resource, to, NULL);
}
EXPORT int prlimit(pid_t pid, __rlimit_resource_t resource, const struct rlimit *to, struct rlimit *was) {
    return limit(pid, (unsigned)resource, to, was);
}
EXPORT int prlimit64(pid_t pid, __rlimit_resource_t resource, const struct rlimit64 *to, struct rlimit64 *was) {
    return limit(pid, (unsigned)resource, to, was);
}
#endif

/* With JOIN_SAME_USER, a process that becomes another user leaves the region. An id of -1 means no change. */
static void becomes(const id_t *now, id_t a, id_t b, id_t c) {
    id_t to[3] = { a, b, c };
    int saved = errno;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            if (ready() && join_flags & JOIN_SAME_USER && to[i] != (id_t)-1 && to[i] != now[k]) leave_region();
    errno = saved;
}

static void becomes_user(uid_t a, uid_t b, uid_t c) {
    uid_t now[3] = { 0, 0, 0 };
    getresuid(&now[0], &now[1], &now[2]);
    becomes(now, a, b, c);
}

static void becomes_group(gid_t a, gid_t b, gid_t c) {
    gid_t now[3] = { 0, 0, 0 };
    getresgid(&now[0], &now[1], &now[2]);
    becomes(now, a, b, c);
}

EXPORT int setuid(uid_t u) { return becomes_user(u, u, u), real.setuid(u); }
EXPORT int seteuid(uid_t u) { return becomes_user(u, u, u), real.seteuid(u); }
EXPORT int setreuid(uid_t r, uid_t e) { return becomes_user(r, e, e), real.setreuid(r, e); }
EXPORT int setresuid(uid_t r, uid_t e, uid_t s) { return becomes_user(r, e, s), real.setresuid(r, e, s); }
EXPORT int setgid(gid_t g) { return becomes_group(g, g, g), real.setgid(g); }
EXPORT int setegid(gid_t g) { return becomes_group(g, g, g), real.setegid(g); }
EXPORT int setregid(gid_t r, gid_t e) { return becomes_group(r, e, e), real.setregid(r, e); }
EXPORT int setresgid(gid_t r, gid_t e, gid_t s) { return becomes_group(r, e, s), real.setresgid(r, e, s); }

#endif
