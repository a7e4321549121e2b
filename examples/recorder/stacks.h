/* The stack of the call that a hook records: by unwind.h, or by libunwind where that declines.
   A part of heapdump_record.c, which includes it once. */
#ifndef RECORD_STACKS_H
#define RECORD_STACKS_H

/* The frame that called the hook. */
static __thread unwind_frame caller __attribute__((tls_model("initial-exec")));
#define CALLER()                                                                        \
    (unwind_frame) {                                                                    \
        (uintptr_t)__builtin_return_address(0), (uintptr_t)__builtin_frame_address(0) + 16, \
            *(uintptr_t *)__builtin_frame_address(0)                                    \
    }

static bool is_own(const void *pc) { return (uintptr_t)pc >= own_start && (uintptr_t)pc < own_end; }

/* libunwind and dl_iterate_phdr have private locks. In a forked child such a lock stays locked if another thread of
   the parent held it. So a fork waits until no thread unwinds. No thread waits for a fork; a block that it allocates
   meanwhile has no stack. A forked child never uses libunwind, since the program's own threads may have held these
   locks. */
static union {
    pthread_rwlock_t lock;
    char apart[64];
} gates[16];
enum { GATES = sizeof gates / sizeof *gates };

static pthread_rwlock_t *unwind_begin(void) {
    pthread_rwlock_t *gate = &gates[((uintptr_t)&caller >> 12) * 0x9e3779b1u >> 16 & (GATES - 1)].lock;
    return forked || pthread_rwlock_tryrdlock(gate) ? NULL : gate;
}

/* To check if memory is readable, libunwind writes it to a pipe that it keeps. If the program closed the pipe's
   descriptors and opened its own files there, bytes would be lost from or added to these files. So libunwind gets no
   pipe, and asks the kernel in another way. */
static int no_pipe(int fds[2], int flags) {
    (void)fds, (void)flags;
    errno = EMFILE;
    return -1;
}

static ssize_t read_no_pipe(int fd, void *p, size_t n) {
    if (fd >= 0) return read(fd, p, n);
    errno = EAGAIN;
    return -1;
}

/* libunwind calls write through this. The kernel reads a signal set before it checks the operation. */
static long write_no_pipe(long call, long a, long b, long c, long d, long e, long f) {
    if (call != SYS_write || (int)a != -1) return syscall(call, a, b, c, d, e, f);
    syscall(SYS_rt_sigprocmask, -1, b & ~7l, NULL, 8);
    return errno == EFAULT ? -1 : c;
}

static void give_no_pipe(uintptr_t bias, const ElfW(Dyn) *d) {
    static const struct { const char *name; uintptr_t function; } replaced[] = {
        { "pipe2", (uintptr_t)no_pipe }, { "read", (uintptr_t)read_no_pipe },
        { "syscall", (uintptr_t)write_no_pipe } };
    const ElfW(Rela) *slots = NULL;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    size_t size = 0, page = (size_t)sysconf(_SC_PAGESIZE);
    for (; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_JMPREL) slots = (const ElfW(Rela) *)d->d_un.d_ptr;
        if (d->d_tag == DT_PLTRELSZ) size = d->d_un.d_val;
        if (d->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym) *)d->d_un.d_ptr;
        if (d->d_tag == DT_STRTAB) names = (const char *)d->d_un.d_ptr;
    }
    for (size_t i = 0; slots && symbols && names && i < size / sizeof *slots; i++) {
        uintptr_t slot = bias + slots[i].r_offset;
        for (size_t k = 0; k < sizeof replaced / sizeof *replaced; k++) {
            if (strcmp(names + symbols[slots[i].r_info >> 32].st_name, replaced[k].name)) continue;
            if (mprotect((void *)(slot & ~(uintptr_t)(page - 1)), page, PROT_READ | PROT_WRITE) == 0)
                *(uintptr_t *)slot = replaced[k].function;
        }
    }
}

static int without_pipe(struct dl_phdr_info *info, size_t size, void *user) {
    const ElfW(Dyn) *dynamic = NULL;
    bool is_unwinder = false;
    (void)size, (void)user;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + ph->p_vaddr;
        if (ph->p_type == PT_DYNAMIC) dynamic = (const ElfW(Dyn) *)start;
        if (ph->p_type == PT_LOAD && (uintptr_t)unw_backtrace - start < ph->p_memsz) is_unwinder = true;
    }
    if (is_unwinder && dynamic) give_no_pipe(info->dlpi_addr, dynamic);
    return is_unwinder;
}

/* A stack that unwind_from declines, and the place for libunwind's result. */
typedef struct slow_stack {
    const void **pcs;
    size_t capacity, n;
} slow_stack;

/* Unwinds from this frame outward. */
static void unwind_slow_stack(void *argument) {
    enum { OWN = 12 };
    slow_stack *s = argument;
    void *found[HD_MAX_FRAMES + 1 + OWN];
    int n = unw_backtrace(found, (int)s->capacity + OWN), skip = 0;
    while (skip < n && is_own(found[skip])) skip++;
    while (skip < n && s->n < s->capacity) {
        if (found[skip]) meet_code((uintptr_t)found[skip] - 1);
        s->pcs[s->n++] = found[skip++];
    }
}

/* libunwind needs more stack than an allocating thread may have, and calls cancellation points. */
static size_t unwind_slowly(const void **pcs, size_t capacity) {
    slow_stack s = { pcs, capacity, 0 };
    pthread_rwlock_t *gate = unwind_begin();
    int cancel;
    if (!gate) return 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    unwind_aside(unwind_slow_stack, &s, false);
    pthread_rwlock_unlock(gate);
    pthread_setcancelstate(cancel, NULL);
    return s.n;
}

/* Whether the thread is in dlclose: code that is unloaded may allocate, with a frame of this library further out. */
static __thread bool is_closing __attribute__((tls_model("initial-exec")));

/* Drops the frames of this library near the inner end. An operator new may call another one without a tail jump, if
   the compiler optimized little. */
static size_t without_own(const void **pcs, size_t n) {
    enum { NEAR = 4 };
    size_t kept = 0, most = is_closing || n < NEAR ? n : NEAR;
    while (kept < most && !is_own(pcs[kept])) kept++;
    if (kept == most) return n;
    for (size_t i = kept; i < n; i++)
        if (!is_own(pcs[i])) pcs[kept++] = pcs[i];
    return kept;
}

/* Return addresses, innermost first, without the frames of this library. */
static size_t unwind(void *user, const void **pcs, size_t capacity) {
    size_t n = unwind_from(caller, pcs, capacity);
    (void)user;
    return without_own(pcs, n ? n : unwind_slowly(pcs, capacity));
}

#endif
