/* Ends the process that finds names when it is out of memory, because libdw does not always check. */

#include "symbols.h"

#include <dlfcn.h>

/* libdw uses some allocations without a check. Where it checks, it treats a failed allocation like missing debug
   information. So in the child, a failed allocation ends the process, except for sizes that only damaged files ask
   for. These functions override libc and preloaded libraries, and call the next function of the name. Sanitizers
   bring their own. */
#ifndef SYMBOLS_SANITIZED
#define SYMBOLS_ALLOCATION_MAX (1u << 30)

static void *symbols_allocated(void *memory, size_t count, size_t size) {
    if (memory || !symbols_is_child || !count || !size || count > SYMBOLS_ALLOCATION_MAX / size) return memory;
    return needed(NULL);
}

/* Also returns NULL when dlsym itself allocates, which dlsym can do without. */
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
