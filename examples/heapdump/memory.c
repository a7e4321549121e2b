#include "symbols.h"

#include <dlfcn.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* libdw uses some of what it allocates without looking, and where it looks, takes what cannot be had for debug
   information that is not there. So in the child process that it works in, allocations that fail end the process, but
   for sizes that only damaged files ask for. These functions come before those of libc, and of what is preloaded, and
   hand on to the next. Sanitizers bring their own. */
#ifndef SYMBOLS_SANITIZED
#define SYMBOLS_ALLOCATION_MAX (1u << 30)

static void *symbols_allocated(void *memory, size_t count, size_t size) {
    if (memory || !symbols_is_child || !count || !size || count > SYMBOLS_ALLOCATION_MAX / size) return memory;
    return needed(NULL);
}

/* NULL as well to what dlsym itself allocates, which it can do without. */
static void *symbols_next(const char *name) {
    static __thread bool looking;
    void *next;
    if (looking) return NULL;
    looking = true;
    next = dlsym(RTLD_NEXT, name);
    looking = false;
    return next;
}

void *malloc(size_t size) {
    static void *(*next)(size_t);
    if (!next) *(void **)&next = symbols_next("malloc");
    return symbols_allocated(next ? next(size) : NULL, 1, size);
}

void *calloc(size_t count, size_t size) {
    static void *(*next)(size_t, size_t);
    if (!next) *(void **)&next = symbols_next("calloc");
    return symbols_allocated(next ? next(count, size) : NULL, count, size);
}

void *realloc(void *memory, size_t size) {
    static void *(*next)(void *, size_t);
    if (!next) *(void **)&next = symbols_next("realloc");
    return symbols_allocated(next ? next(memory, size) : NULL, 1, size);
}
#endif

void memory_keep(void) {
#if defined(M_TOP_PAD) && defined(MADV_HUGEPAGE)
    const uintptr_t page = 2 << 20;
    void *volatile block;        /* or else the compiler leaves both calls out */
    struct rlimit space, data;
    uintptr_t before = (uintptr_t)sbrk(0), from = (before + page - 1) & ~(page - 1), end;
    if (getrlimit(RLIMIT_AS, &space) || getrlimit(RLIMIT_DATA, &data) || space.rlim_cur != RLIM_INFINITY ||
        data.rlim_cur != RLIM_INFINITY)
        return;                  /* these limits count addresses, too */
    mallopt(M_TOP_PAD, 256 << 20);
    block = malloc(1 << 20);     /* more than malloc has yet, and too little for a map of its own */
    free(block);
    mallopt(M_TOP_PAD, 1 << 20);
    end = (uintptr_t)sbrk(0);
    if (end <= from) return;     /* the kernel refused, or this is another malloc than glibc's */
    madvise((void *)from, end - from, MADV_HUGEPAGE);
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 512 << 20);
    memory_large_block = 16 << 20;
#endif
}
