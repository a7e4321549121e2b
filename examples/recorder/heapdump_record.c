/* libheapdump_record.so: records the heap of the program that it is preloaded into. Other processes can read the
   record.

   `heapdump record` sets it up. The record lies in a region (>>region of heapdump.h) that the program maps when it
   starts. `heapdump` maps it as well, and reads it at any time, even when the program is dead. The recorded program
   writes no file, gets no signal, and does nothing at its end. Environment:

     HEAPDUMP_JOIN, HEAPDUMP_USER   the source of the region, and the region's owner: join.h
     HEAPDUMP_KEEP                  without HEAPDUMP_JOIN: a file that is the region, created if missing;
                                    `heapdump recover` reads it. Several programs can share a file
     HEAPDUMP_DEPTH, HEAPDUMP_SAMPLE   with HEAPDUMP_KEEP: frames per stack [48], sampling interval in bytes [0: all]
     HEAPDUMP_AGES, HEAPDUMP_THREADS   with HEAPDUMP_KEEP, if not empty: as record --ages and --threads

   Without a region nothing is recorded. The library interposes the malloc family. Stacks come from unwind.h, or from
   libunwind where that declines. The type of a block is the object that allocated it. The library never prints. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "bypass.h"
#include "exec.h"
#include "join.h"
#include "unwind.h"

#define HEAPDUMP_IMPLEMENTATION
#define HEAPDUMP_STATIC
#define HD__THREAD_OWN_CACHE() ((hd__thread_cache *)unwind_bytes_of_thread())
#include "../../heapdump.h"
_Static_assert(sizeof(hd__thread_cache) <= UNWIND_BYTES, "a cache is among a thread's bytes");

#define EXPORT __attribute__((visibility("default")))

#include "below.h"

/* State. --------------------------------------------------------------------------------------- */

enum { COLD, STARTING, READY, OFF };

/* The kernel clears this page in a child that gets a copy of the memory. After fork, fork_child makes the child ready
   again. After a raw system call the child finds that the start already ran, and stays off: other threads of the
   parent may have held any lock. */
static union {
    int now;                     /* OFF: there is no region (any more) */
    char page[4096];
} state __attribute__((aligned(4096)));
static bool started;
static hd_recorder *recorder;
static void *region;
static uint64_t region_bytes;    /* bytes mapped */
static uint64_t region_whole;    /* bytes of the whole region */
static uint64_t region_step;     /* where addresses are limited: bytes by which the mapping grows */
static uint32_t join_flags;      /* of the join_reply */
static uint64_t started_us;
static bool timing;
static bool forked;              /* this process did not start with exec */
static bool over;                /* the recording was stopped */
static uintptr_t own_start, own_end;

static void set_state(int to) { __atomic_store_n(&state.now, to, __ATOMIC_RELAXED); }
/* If several threads try at once, one of them succeeds. */
static bool change_state(int from, int to) {
    return __atomic_compare_exchange_n(&state.now, &from, to, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
static int get_state(void) { return __atomic_load_n(&state.now, __ATOMIC_RELAXED); }

static uint64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

#include "modules.h"

#include "stacks.h"

#include "costs.h"

/* Calls a function that needs much stack, on another stack if there is one. Nothing is recorded meanwhile. */
static void with_room(aside_fn *run, void *argument) {
    bool outside = hd_record_suspend();
    if (!unwind_aside(run, argument, outside)) run(argument);
    hd_record_resume();
}

static pid_t own_pid;

/* False in a handler that interrupts the recorder: the thread may hold its locks. */
static bool is_outside(void) {
    bool outside = hd_record_suspend();
    hd_record_resume();
    return outside;
}

#include "mapped.h"

#include "threads.h"

#include "start.h"

/* Hooks. --------------------------------------------------------------------------------------- */

static bool ready(void) {
    int now = get_state();
    if (__builtin_expect(now == READY, 1)) return true;
    if (__builtin_expect(now != COLD, 1)) return false;
    start();
    return get_state() == READY;
}

EXPORT int pthread_setname_np(pthread_t thread, const char *name) {
    int status;
    if (!real.pthread_setname_np) ready();
    status = real.pthread_setname_np ? real.pthread_setname_np(thread, name) : ENOSYS;
    if (pthread_equal(thread, pthread_self())) named_at = 0;
    else __atomic_add_fetch(&renames, 1, __ATOMIC_RELEASE);
    return status;
}

EXPORT int prctl(int option, ...) {
    unsigned long a[4];
    va_list list;
    int status;
    va_start(list, option);
    for (int i = 0; i < 4; i++) a[i] = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS)
        __atomic_store_n(&sandboxed, true, __ATOMIC_RELEASE);
    status = real.prctl ? real.prctl(option, a[0], a[1], a[2], a[3])
                        : (int)syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]);
    if (option == PR_SET_NAME) named_at = 0; /* after the call: until then a signal handler may allocate under the old
                                                name */
    return status;
}

/* Whether the recording was stopped. This thread may be the first to notice. From then on only threads inside the
   recorder change the region, so its heaps show one moment. */
static inline bool is_stopped(void) {
    int saved = errno;
    if (__builtin_expect(!hd_region_ended(region), 1)) return false;
    end_recording();
    errno = saved;
    return true;
}

/* The frame is passed as words, in registers. A struct would be copied by loads wider than the stores just before,
   which have to wait for them. */
static __attribute__((noinline)) void record_alloc(void *p, size_t n, uintptr_t pc, uintptr_t sp, uintptr_t bp) {
    int saved = errno;
    uint64_t began;
    unwind_frame before = caller; /* of the interrupted hook, if this is a signal handler */
    if (is_stopped()) return;
    began = timing ? timed_call() : 0;
    if (named) name_thread();
    caller.pc = pc;
    caller.sp = sp;
    caller.bp = bp;
    hd_record_alloc(recorder, p, n, NULL);
    caller = before;
    if (began) timed_call_ends(began);
    errno = saved;
}

/* Records a successful realloc; p NULL: the block was freed. */
static __attribute__((noinline)) void record_resized(const hd_resize *resize, void *p, size_t n, uintptr_t pc,
                                                     uintptr_t sp, uintptr_t bp) {
    int saved = errno;
    uint64_t began;
    unwind_frame before = caller;
    if (is_stopped()) return;
    began = timing ? timed_call() : 0;
    if (named) name_thread();
    caller.pc = pc;
    caller.sp = sp;
    caller.bp = bp;
    hd_record_resized(recorder, resize, p, n, NULL);
    caller = before;
    if (began) timed_call_ends(began);
    errno = saved;
}

static __attribute__((noinline)) void record_free(void *p) {
    int saved = errno;
    uint64_t began;
    if (is_stopped()) return;
    began = timing ? timed_call() : 0;
    hd_record_free(recorder, p);
    if (began) timed_call_ends(began);
    errno = saved;
}

static inline void *took(void *p, size_t n, unwind_frame from) {
    if (p && (timing || !hd_record_skips_alloc(recorder, n))) record_alloc(p, n, from.pc, from.sp, from.bp);
    return p;
}

static inline void gave(void *p) {
    if (timing || !hd_record_skips_free(recorder, p)) record_free(p);
}

/* The frame from which this thread called the hook that is now in the allocator below; pc 0: none. An allocator may
   call one of its functions from another, by name, and so come back to these hooks. Examples: reallocarray of glibc
   calls realloc, operator new of jemalloc calls aligned_alloc. Only the outer hook records. Frees are also recorded
   for blocks other than `gone`, which the outer hook has already recorded as freed.

   An exception or a longjmp may leave it set. So a hook is nested only if it lies close below, and the outer hook's
   return address is still on the stack. Signal handlers lie further below. */
static __thread struct { uintptr_t pc, sp; void *gone; } outer __attribute__((tls_model("initial-exec")));

static __attribute__((noinline)) bool is_nested(uintptr_t sp) {
    enum { NEAR = 1024 };
    if (outer.sp - sp - 1 >= NEAR) return false;
#if defined(__x86_64__)
    return *(const volatile uintptr_t *)(outer.sp - sizeof(uintptr_t)) == outer.pc;
#else
    return true;
#endif
}

/* Whether a hook records the block. The hook calls the allocator below next. */
static inline bool enters(unwind_frame from) {
    if (!ready() || (__builtin_expect(outer.pc != 0, 0) && is_nested(from.sp))) return false;
    outer.pc = from.pc;
    outer.sp = from.sp;
    return true;
}

/* After that call: records the block. */
static inline void *leaves(bool on, void *p, size_t n, unwind_frame from) {
    if (!on) return p;
    outer.pc = 0;
    return took(p, n, from);
}

EXPORT BYPASSED void *malloc(size_t n) {
    bool on = enters(CALLER());
    void *p = real.malloc ? real.malloc(n) : bootstrap_take(n);
    return leaves(on, p, n, CALLER());
}

EXPORT BYPASSED void *calloc(size_t n, size_t size) {
    bool on;
    void *p;
    on = enters(CALLER());
    if (!real.calloc) return size && n > sizeof bootstrap / size ? NULL : bootstrap_take(n * size);
    p = real.calloc(n, size);
    return leaves(on, p, n * size, CALLER());
}

EXPORT BYPASSED void free(void *p) {
    if (!p || is_bootstrap(p)) return;
    if (ready() && !(__builtin_expect(outer.gone == p, 0) && is_nested(CALLER().sp))) gave(p);
    if (real.free) real.free(p);
}

/* Before realloc: the old block stays live until the allocator returns. */
static inline void resize_begins(void *p, hd_resize *resize) {
    int saved = errno;
    resize->address = 0;
    if (p && !is_stopped()) hd_record_resize(recorder, p, resize);
    outer.gone = p;
    errno = saved;
}

/* After a successful realloc to q; NULL: the block was freed. */
static inline __attribute__((always_inline)) void resize_ends(const hd_resize *resize, void *q, size_t n,
                                                              unwind_frame from) {
    outer.pc = 0;
    outer.gone = NULL;
    if (!ready()) return;
    if (resize->address) record_resized(resize, q, n, from.pc, from.sp, from.bp);
    else took(q, n, from);
}

/* After a failed realloc: the old block is unchanged. */
static void resize_fails(const hd_resize *resize) {
    int saved = errno;
    outer.pc = 0;
    outer.gone = NULL;
    if (!is_stopped()) hd_record_not_resized(recorder, resize);
    errno = saved;
}

/* In line, so that the calling frame is only read when needed. */
static inline __attribute__((always_inline)) void *resized(void *p, size_t n, size_t size, bool array) {
    hd_resize resize;
    void *q;
    resize_begins(p, &resize);
    q = array ? real.reallocarray(p, n, size) : real.realloc(p, n);
    if (q || !n || (array && !size)) resize_ends(&resize, q, array ? n * size : n, CALLER());
    else resize_fails(&resize);
    return q;
}

static void *resized_bootstrap(void *p, size_t n) {
    void *q = malloc(n);
    size_t most = (size_t)(bootstrap + sizeof bootstrap - (char *)p);
    if (q) memcpy(q, p, n < most ? n : most);
    return q;
}

EXPORT BYPASSED void *realloc(void *p, size_t n) {
    if (p && is_bootstrap(p)) return resized_bootstrap(p, n);
    if (enters(CALLER())) return resized(p, n, 1, false);
    return real.realloc ? real.realloc(p, n) : bootstrap_take(n);
}

EXPORT BYPASSED void *reallocarray(void *p, size_t n, size_t size) {
    if (p && is_bootstrap(p)) return size && n > SIZE_MAX / size ? NULL : resized_bootstrap(p, n * size);
    if (enters(CALLER())) return resized(p, n, size, true);
    return real.reallocarray ? real.reallocarray(p, n, size) : NULL;
}

EXPORT BYPASSED int posix_memalign(void **p, size_t alignment, size_t n) {
    bool on = enters(CALLER());
    int status = real.posix_memalign ? real.posix_memalign(p, alignment, n) : ENOMEM;
    leaves(on, status ? NULL : *p, n, CALLER());
    return status;
}

EXPORT BYPASSED void *aligned_alloc(size_t alignment, size_t n) {
    bool on = enters(CALLER());
    void *p = real.aligned_alloc ? real.aligned_alloc(alignment, n) : NULL;
    return leaves(on, p, n, CALLER());
}

EXPORT BYPASSED void *memalign(size_t alignment, size_t n) {
    bool on = enters(CALLER());
    void *p = real.memalign ? real.memalign(alignment, n) : NULL;
    return leaves(on, p, n, CALLER());
}

EXPORT BYPASSED void *valloc(size_t n) {
    bool on = enters(CALLER());
    void *p = real.valloc ? real.valloc(n) : NULL;
    return leaves(on, p, n, CALLER());
}

EXPORT BYPASSED void *pvalloc(size_t n) {
    bool on = enters(CALLER());
    void *p = real.pvalloc ? real.pvalloc(n) : NULL;
    return leaves(on, p, n, CALLER());
}

/* jemalloc, tcmalloc and mimalloc have an operator new that does not call malloc; it is recorded here. Other
   operators are reached by a jump, so that no frame of this library lies between. */
typedef struct late_symbol {
    const char *name;
    void *found;
} late_symbol;

static void find_late(void *symbol) {
    late_symbol *s = symbol;
    void *library;
    s->found = dlsym(RTLD_NEXT, s->name);
    library = s->found ? NULL : dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    if (library) {
        s->found = dlsym(library, s->name);
        real.dlclose(library);
    }
    dlerror();
}

static void *late(const char *name) { /* dlopen loaded the C++ library after the start */
    late_symbol symbol = { name, NULL };
    with_room(find_late, &symbol);
    return symbol.found;
}

static void *new_lately(int i, size_t n, uintptr_t a, uintptr_t b) {
    void *p;
    real_new[i] = (new_fn *)(uintptr_t)late(new_names[i]);
    if (real_new[i]) return real_new[i](n, a, b);
    p = i < 4 ? malloc(n ? n : 1) : aligned_alloc(a, (n + a - 1) & ~(a - 1));
    if (!p && i % 4 < 2) abort();
    return p;
}

static inline __attribute__((always_inline)) void *new_any(int i, size_t n, uintptr_t a, uintptr_t b) {
    ready();
    if (__builtin_expect(!real_new[i], 0)) return new_lately(i, n, a, b);
    if (!new_is_below[i] || !enters(CALLER())) return real_new[i](n, a, b);
    return leaves(true, real_new[i](n, a, b), n, CALLER());
}

static void delete_lately(int i, void *p, uintptr_t a, uintptr_t b) {
    real_delete[i] = (delete_fn *)(uintptr_t)late(delete_names[i]);
    if (real_delete[i]) real_delete[i](p, a, b);
    else free(p);
}

static inline void delete_any(int i, void *p, uintptr_t a, uintptr_t b) {
    ready();
    if (__builtin_expect(!real_delete[i], 0)) {
        delete_lately(i, p, a, b);
    } else if (!delete_is_below[i] || !p || !enters(CALLER())) {
        real_delete[i](p, a, b);
    } else {
        gave(p);
        outer.gone = p;
        real_delete[i](p, a, b);
        outer.pc = 0;
        outer.gone = NULL;
    }
}

/* The hooks of allocators, by names that other objects do not define. */
#define OWN(name, own) OWN_AS(name, own)
#define OWN_AS(name, own)                                       \
    extern char own[] __attribute__((visibility("hidden")));    \
    __asm__(".globl " #own "\n.hidden " #own "\n.set " #own ", " #name);

#define NEW(i, name) \
    EXPORT BYPASSED void *name(size_t n, uintptr_t a, uintptr_t b) { return new_any(i, n, a, b); }             \
    OWN(name, own_new_##i)
NEW(0, _Znwm)
NEW(1, _Znam)
NEW(2, _ZnwmRKSt9nothrow_t)
NEW(3, _ZnamRKSt9nothrow_t)
NEW(4, _ZnwmSt11align_val_t)
NEW(5, _ZnamSt11align_val_t)
NEW(6, _ZnwmSt11align_val_tRKSt9nothrow_t)
NEW(7, _ZnamSt11align_val_tRKSt9nothrow_t)
#undef NEW
#define DELETE(i, name) \
    EXPORT BYPASSED void name(void *p, uintptr_t a, uintptr_t b) { delete_any(i, p, a, b); }                   \
    OWN(name, own_delete_##i)
DELETE(0, _ZdlPv)
DELETE(1, _ZdaPv)
DELETE(2, _ZdlPvm)
DELETE(3, _ZdaPvm)
DELETE(4, _ZdlPvRKSt9nothrow_t)
DELETE(5, _ZdaPvRKSt9nothrow_t)
DELETE(6, _ZdlPvSt11align_val_t)
DELETE(7, _ZdaPvSt11align_val_t)
DELETE(8, _ZdlPvmSt11align_val_t)
DELETE(9, _ZdaPvmSt11align_val_t)
DELETE(10, _ZdlPvSt11align_val_tRKSt9nothrow_t)
DELETE(11, _ZdaPvSt11align_val_tRKSt9nothrow_t)
#undef DELETE

#include "allocator_calls.h"
#include "process_calls.h"

OWN(malloc, own_malloc)
OWN(calloc, own_calloc)
OWN(free, own_free)
OWN(realloc, own_realloc)
OWN(reallocarray, own_reallocarray)
OWN(posix_memalign, own_posix_memalign)
OWN(aligned_alloc, own_aligned_alloc)
OWN(memalign, own_memalign)
OWN(valloc, own_valloc)
OWN(pvalloc, own_pvalloc)

/* Bypasses all hooks. If there are blocks from the start, hooks that free or move blocks stay: the allocator below
   does not know these blocks. */
static void bypass_hooks(void) {
#define BELOW(name) { own_##name, (void *const *)(const void *)&real.name }
#define NEW(i) { own_new_##i, (void *const *)(const void *)&real_new[i] }
#define DELETE(i) { own_delete_##i, (void *const *)(const void *)&real_delete[i] }
    static const bypass hooks[] = {
        BELOW(free), BELOW(realloc), BELOW(reallocarray), BELOW(malloc), BELOW(calloc), BELOW(posix_memalign),
        BELOW(aligned_alloc), BELOW(memalign), BELOW(valloc), BELOW(pvalloc), NEW(0), NEW(1), NEW(2), NEW(3), NEW(4),
        NEW(5), NEW(6), NEW(7), DELETE(0), DELETE(1), DELETE(2), DELETE(3), DELETE(4), DELETE(5), DELETE(6),
        DELETE(7), DELETE(8), DELETE(9), DELETE(10), DELETE(11) };
    enum { GIVERS = 3 };
    size_t from = bootstrap_used ? GIVERS : 0;
    bypass_all(hooks + from, sizeof hooks / sizeof *hooks - from);
    bypass_all(extra_hooks, EXTRAS);
#undef BELOW
#undef NEW
#undef DELETE
}

#include "programs.h"
