/* Contains its own malloc. `delegate`: it calls the next malloc. `own`: it has its own memory. Then allocates 100
   blocks, and waits until its input ends. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

static bool has_memory = true;
static char memory[1 << 20];
static size_t used;

void *malloc(size_t size) {
    static void *(*next)(size_t);
    if (has_memory) {
        void *block = memory + used;
        used += (size + 15) & ~(size_t)15;
        return used <= sizeof memory ? block : NULL;
    }
    if (!next) next = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    return next(size);
}

void free(void *block) {
    static void (*next)(void *);
    if ((char *)block >= memory && (char *)block < memory + sizeof memory) return;
    if (!next) next = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    next(block);
}

int main(int argc, char **argv) {
    static void *volatile kept[100];
    char byte;
    has_memory = argc > 1 && *argv[1] == 'o';
    for (int i = 0; i < 100; i++) kept[i] = malloc(1000);
    while (read(STDIN_FILENO, &byte, 1) > 0) {}
    return 0;
}
