/* Preloaded below a recorder: logs each allocation and free in order, as three 64-bit words: the
   kind (lowest byte) and the thread (above it); the address; the size. The file is $ONE_RUN.PROGRAM.
   */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TOOK = 1, GAVE, ROOM = 1 << 30 };
typedef struct event {
    uint64_t what, where, size;
} event;
static event *events, *next;
static __thread int thread __attribute__((tls_model("initial-exec")));

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

__attribute__((constructor)) static void start(void) {
    const char *name = getenv("ONE_RUN");
    char path[4096];
    int fd;
    if (events || !name) return;
    snprintf(path, sizeof path, "%s.%s", name, program_invocation_short_name);
    unlink(path);                /* heapdump has a child with its own name, which must not truncate its file */
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, ROOM)) abort();
    events = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (events == MAP_FAILED) abort();
    next = events;
    close(fd);
}

static void *note(uint64_t what, void *where, size_t size) {
    event *e;
    if (!events) start();
    if (!where || !events) return where;
    if (!thread) thread = gettid();
    e = __atomic_fetch_add(&next, sizeof *next, __ATOMIC_RELAXED);
    if (e == events + ROOM / sizeof *e) abort();
    e->where = (uint64_t)(uintptr_t)where;
    e->size = size;
    e->what = what | (uint64_t)thread << 8;
    return where;
}

void *malloc(size_t n) { return note(TOOK, __libc_malloc(n), n); }
void *calloc(size_t n, size_t size) { return note(TOOK, __libc_calloc(n, size), n * size); }
void *memalign(size_t to, size_t n) { return note(TOOK, __libc_memalign(to, n), n); }
void *aligned_alloc(size_t to, size_t n) { return memalign(to, n); }
void free(void *p) { __libc_free(note(GAVE, p, 0)); }

int posix_memalign(void **p, size_t to, size_t n) {
    void *q = memalign(to, n);
    if (q) *p = q;
    return q ? 0 : ENOMEM;
}

void *realloc(void *p, size_t n) {
    note(GAVE, p, 0);
    return note(TOOK, __libc_realloc(p, n), n); /* a failed realloc ends the block here; the recorded programs have none */
}

void *reallocarray(void *p, size_t n, size_t size) { return size && n > SIZE_MAX / size ? NULL : realloc(p, n * size); }
