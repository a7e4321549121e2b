/* Preloaded: the allocation with number FAIL_AT fails; with FAIL_ON, all later ones fail, too. FAIL_COUNT is a file
   that gets the number of allocations. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

static unsigned long count;

static bool fails(void) {
    static bool read, on;
    static unsigned long at;
    unsigned long now = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    if (!read) {
        const char *text = getenv("FAIL_AT");
        read = true;
        at = text ? strtoul(text, NULL, 10) : 0;
        on = getenv("FAIL_ON") != NULL;
    }
    if (!at || now < at || (now > at && !on)) return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return fails() ? NULL : __libc_calloc(n, size); }
void *realloc(void *memory, size_t size) { return fails() ? NULL : __libc_realloc(memory, size); }

__attribute__((destructor)) static void tell(void) {
    const char *path = getenv("FAIL_COUNT");
    char text[24];
    int n = snprintf(text, sizeof text, "%lu\n", count), fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    if (fd >= 0 && write(fd, text, (size_t)n) == n) close(fd);
}
