/* Memory that malloc keeps for later blocks. */

#include "shell.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>

void memory_reuse(void) {
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 2 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

void memory_keep(void) {
#if defined(M_TOP_PAD) && defined(MADV_HUGEPAGE)
    const uintptr_t page = 2 << 20;
    void *volatile block;        /* volatile: otherwise the compiler removes both calls */
    struct rlimit space, data;
    uintptr_t before = (uintptr_t)sbrk(0), from = (before + page - 1) & ~(page - 1), end;
    if (getrlimit(RLIMIT_AS, &space) || getrlimit(RLIMIT_DATA, &data) || space.rlim_cur != RLIM_INFINITY ||
        data.rlim_cur != RLIM_INFINITY)
        return;                  /* these limits count addresses too */
    mallopt(M_TOP_PAD, 256 << 20);
    block = malloc(1 << 20);     /* more than malloc has now, and too small for a mapping of its own */
    free(block);
    mallopt(M_TOP_PAD, 1 << 20);
    end = (uintptr_t)sbrk(0);
    if (end <= from) return;     /* the kernel refused, or malloc is not glibc's */
    madvise((void *)from, end - from, MADV_HUGEPAGE);
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 512 << 20);
    memory_large_block = 16 << 20;
#endif
}
