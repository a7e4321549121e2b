/* Starts the recorder, and keeps it correct across forks.
   A part of heapdump_record.c, which includes it once. */
#ifndef RECORD_START_H
#define RECORD_START_H

/* FORK_INSIDE: fork in a signal handler that interrupts a hook, which may hold locks. */
enum { FORK_UNPREPARED, FORK_INSIDE, FORK_PREPARED };
static __thread int fork_is;

static void fork_prepare(void) {
    fork_is = get_state() == READY ? FORK_PREPARED : FORK_UNPREPARED;
    if (fork_is == FORK_PREPARED && !is_outside()) fork_is = FORK_INSIDE;
    if (fork_is != FORK_PREPARED) return;
    hd_record_suspend();
    for (int i = 0; i < GATES; i++) pthread_rwlock_wrlock(&gates[i].lock);
    pthread_mutex_lock(&module_lock);
    hd_recorder_fork_prepare(recorder);
    unwind_fork_prepare();
}

static void fork_parent(void) {
    if (fork_is != FORK_PREPARED) return;
    unwind_fork_done();
    hd_recorder_fork_parent(recorder);
    pthread_mutex_unlock(&module_lock);
    for (int i = 0; i < GATES; i++) pthread_rwlock_unlock(&gates[i].lock);
    hd_record_resume();
}

static void fork_child(void) {
    forked = true;
    own_pid = getpid();
    set_state(OFF);
    if (fork_is != FORK_PREPARED) return;
    unwind_clear_stats();
    unwind_fork_done();
    if (!(join_flags & JOIN_NO_CHILDREN) && hd_recorder_fork_child(recorder)) set_state(READY);
    pthread_mutex_unlock(&module_lock);
    memset(gates, 0, sizeof gates); /* an unlock would check the thread's id, which differs in the child */
    hd_record_resume();
}

static bool is_below(const void *p) {
    Dl_info below, other;
    return dladdr((void *)(uintptr_t)real.malloc, &below) && dladdr(p, &other) &&
           below.dli_fbase == other.dli_fbase;
}

/* Whether an object behind this one has operator new. An object without a hash table of names may have it. */
static int has_new(struct dl_phdr_info *info, size_t size, void *user) {
    elf_symbols s = symbols_of(info);
    bool *behind = user;
    (void)size;
    if (*behind) return s.table && (!s.hashed || find_symbol(&s, new_names[0]));
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        *behind |= ph->p_type == PT_LOAD && (uintptr_t)&has_new - info->dlpi_addr - ph->p_vaddr < ph->p_memsz;
    }
    return 0;
}

/* Searches only if operator new exists: a failed dlsym would leave the program a foreign error in dlerror, and a
   block of memory. */
static void find_real_new(void) {
    bool behind = false;
    if (!dl_iterate_phdr(has_new, &behind) || !dlsym(RTLD_NEXT, new_names[0])) return;
    for (size_t i = 0; i < NEWS; i++) {
        void *p = dlsym(RTLD_NEXT, new_names[i]);
        real_new[i] = (new_fn *)(uintptr_t)p;
        new_is_below[i] = p && is_below(p);
    }
    for (size_t i = 0; i < DELETES; i++) {
        void *p = dlsym(RTLD_NEXT, delete_names[i]);
        real_delete[i] = (delete_fn *)(uintptr_t)p;
        delete_is_below[i] = p && is_below(p);
    }
}

/* Puts the first object with a malloc into request->allocator, unless it is this library. Objects come in the order
   in which the loader searches names, so the program calls that malloc. */
static int first_malloc(struct dl_phdr_info *info, size_t size, void *user) {
    join_request *request = user;
    elf_symbols s = symbols_of(info);
    const char *name = info->dlpi_name ? info->dlpi_name : "", *slash = strrchr(name, '/');
    (void)size;
    if (!find_symbol(&s, "malloc")) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        if (ph->p_type == PT_LOAD && (uintptr_t)&first_malloc - info->dlpi_addr - ph->p_vaddr < ph->p_memsz) return 1;
    }
    if (slash) name = slash + 1;
    strncpy(request->allocator, *name ? name : ".", sizeof request->allocator - 1);
    return 1;
}

static void find_real(void) {
#define FIND(field, name) *(void **)&real.field = dlsym(RTLD_NEXT, name)
    FIND(calloc, "calloc");
    FIND(malloc, "malloc");
    FIND(realloc, "realloc");
    FIND(reallocarray, "reallocarray");
    FIND(posix_memalign, "posix_memalign");
    FIND(aligned_alloc, "aligned_alloc");
    FIND(memalign, "memalign");
    FIND(valloc, "valloc");
    FIND(pvalloc, "pvalloc");
    FIND(free, "free");
    FIND(dlclose, "dlclose");
    FIND(pthread_setname_np, "pthread_setname_np");
    FIND(prctl, "prctl");
    FIND(execve, "execve");
    FIND(execvpe, "execvpe");
    FIND(fexecve, "fexecve");
    FIND(posix_spawn, "posix_spawn");
    FIND(posix_spawnp, "posix_spawnp");
    FIND(setuid, "setuid");
    FIND(seteuid, "seteuid");
    FIND(setreuid, "setreuid");
    FIND(setresuid, "setresuid");
    FIND(setgid, "setgid");
    FIND(setegid, "setegid");
    FIND(setregid, "setregid");
    FIND(setresgid, "setresgid");
#undef FIND
    find_real_new();
}

static void hook_extras(void);

static uint32_t clock_ms(void *user) {
    (void)user;
    return (uint32_t)((now_us() - started_us) / 1000);
}

static void record_from_now(const join_request *request, const join_reply *reply, int fd) {
    hd_recorder_desc desc;
    memset(&desc, 0, sizeof desc);
    join_flags = reply->flags;
    desc.region_bytes = region_bytes = map_region(fd, reply->region_bytes);
    if (!region_bytes) return;
    dl_iterate_phdr(without_pipe, NULL);
    unwind_start(meet_code);
    desc.region = region;
    desc.region_more = more_region;
    desc.name = request->program;
    desc.start_us = started_us;
    desc.sample_bytes = reply->sample_bytes;
    desc.lifetimes = (join_flags & JOIN_LIFETIMES) != 0;
    desc.ages = (join_flags & JOIN_AGES) != 0;
    desc.threads = named = (join_flags & JOIN_THREADS) != 0;
    if (desc.lifetimes || desc.ages) desc.clock = clock_ms;
    desc.blocks = (join_flags & JOIN_BLOCKS) != 0;
    desc.tracker.max_frames = reply->depth <= HD_MAX_FRAMES ? reply->depth : HD_MAX_FRAMES;
    desc.tracker.capture = HD_CAPTURE_NATIVE_STACK;
    desc.tracker.unwind = unwind;
    own_pid = getpid();
    recorder = hd_recorder_create(&desc, NULL);
    if (!recorder) {
        munmap(region, region_bytes);
        return;
    }
    timing = (join_flags & JOIN_STATS) != 0;
    dl_iterate_phdr(each_module, NULL);
    hook_extras();
    hd_record_suspend();
    pthread_atfork(fork_prepare, fork_parent, fork_child);
    hd_record_resume();
    set_state(READY);
}

static void start_inside(void *unused) {
    const char *join = exec_variable("HEAPDUMP_JOIN"), *keep = exec_variable("HEAPDUMP_KEEP");
    const char *invoked = program_invocation_short_name, *slash;
    Dl_info own;
    join_request request = { JOIN_VERSION, sizeof request, 0, "", "" };
    join_reply reply;
    int fd = -1, cancel;
    (void)unused;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    find_real();
    if (dladdr((void *)(uintptr_t)&each_module, &own) && own.dli_fname) exec_start(own.dli_fname);
    memset(&reply, 0, sizeof reply);
    if (!invoked || !*invoked) { /* the C library does not know the name this early */
        invoked = exec_argument();
        slash = invoked ? strrchr(invoked, '/') : NULL;
        if (slash) invoked = slash + 1;
    }
    request.start_us = started_us = now_us();
    strncpy(request.program, invoked && *invoked ? invoked : "program", sizeof request.program - 1);
    dl_iterate_phdr(first_malloc, &request);
    if (join && *join) fd = join_recording(join, &request, &reply);
    else if (keep && *keep) fd = keep_region(keep, &reply);
    join_flags = reply.flags;
    if (fd >= 0) {
        record_from_now(&request, &reply, fd);
        close(fd);
    }
    if (get_state() != READY) {
        set_state(OFF);
        bypass_hooks();
    }
    madvise(&state, sizeof state, MADV_WIPEONFORK);
    pthread_setcancelstate(cancel, NULL);
}

/* The stack of start_inside. */
static char stack[256 * 1024] __attribute__((aligned(4096)));

/* On the first call of any hook, which may come before any constructor. */
static __attribute__((noinline)) void start(void) {
    int saved = errno;
    set_state(started ? OFF : STARTING);
    if (!started) {
        started = true;
        aside(stack, sizeof stack, start_inside, NULL);
        madvise(stack, sizeof stack, MADV_DONTNEED);
    }
    errno = saved;
}

__attribute__((constructor)) static void start_early(void) {
    if (get_state() == COLD) start();
}

#endif
