/* A plugin for hard_dl.c: keeps KEEP bytes in a function NAME. */
#include <stdlib.h>
__attribute__((visibility("default"), noinline)) void *NAME(void) {
    void *p = malloc(KEEP);
    free(malloc(99));
    __asm__ volatile("" : : : "memory");
    return p;
}
