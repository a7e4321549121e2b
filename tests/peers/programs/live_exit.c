/* Blocks allocated and freed while the program ends. It has no threads: libc's allocation for a thread grows with the
   thread-local modules of a preloaded library. */
#include <stdio.h>
#include <stdlib.h>

static void *volatile early, *volatile late;

static void at_exit_handler(void) {
    free(early);
    late = malloc(1234);
}
__attribute__((destructor)) static void at_unload(void) { late = malloc(4321); }

int main(void) {
    early = malloc(777);
    atexit(at_exit_handler);
    puts("done");
    return 0;
}
