/* Counts the allocations of programs independently: preloaded next to heapdump and below it. The file $TALLY, which
   all processes map, has a row for each program of a process; a forked child counts only its own blocks.
   $TALLY_BLOCKS gets the current table of blocks of one process. -DWITH_NEW: for allocators with their own operator
   new, which may call their malloc or not: a call within another does not count. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROWS = 4096, BLOCKS = 1 << 22 };
typedef struct row { uint64_t pid, live_bytes, live_blocks, all_bytes, all_blocks, short_bytes, short_blocks, apart; } row;
typedef struct block { uintptr_t at; size_t size; } block;
static row none, *rows, *own = &none;
static block *blocks;            /* by address; a freed one keeps its slot: size SIZE_MAX */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *(*real_malloc)(size_t), *(*real_calloc)(size_t, size_t), *(*real_realloc)(void *, size_t);
static int (*real_posix_memalign)(void **, size_t, size_t);
static void *(*real_aligned_alloc)(size_t, size_t), *(*real_memalign)(size_t, size_t);
static void (*real_free)(void *);
static char early[16384] __attribute__((aligned(16)));
static size_t early_used;
static __thread struct { uintptr_t last; int within; } me __attribute__((tls_model("initial-exec")));
static void leave(int *unused) { me.within--; } /* also when an exception passes: -fexceptions */
#define WITHIN(call) __extension__({ int w __attribute__((cleanup(leave))) = me.within++; (call); })

static block *find(uintptr_t at) {
    size_t i = at * 0x9e3779b97f4a7c15u >> 42;
    while (blocks[i].at && blocks[i].at != at) i = (i + 1) % BLOCKS;
    return &blocks[i];
}

static void *took(void *p, size_t n) {
    block *b;
    if (!p || !blocks || me.within) return p;
    pthread_mutex_lock(&lock);
    b = find((uintptr_t)p);
    if (b->at && b->size != SIZE_MAX) own->live_bytes -= b->size, own->live_blocks--; /* freed by a call that is not hooked */
    *b = (block){ (uintptr_t)p, n };
    me.last = (uintptr_t)p;
    own->live_bytes += n, own->live_blocks++, own->all_bytes += n, own->all_blocks++;
    pthread_mutex_unlock(&lock);
    return p;
}

/* Returns SIZE_MAX for an unknown block. */
static size_t gave(void *p) {
    size_t size = SIZE_MAX;
    block *b;
    if (!p || !blocks || me.within) return size;
    pthread_mutex_lock(&lock);
    b = find((uintptr_t)p);
    if (b->at && b->size != SIZE_MAX) own->live_bytes -= size = b->size, own->live_blocks--, b->size = SIZE_MAX;
    if (size != SIZE_MAX && me.last == (uintptr_t)p) own->short_bytes += size, own->short_blocks++, me.last = 0;
    pthread_mutex_unlock(&lock);
    return size;
}

static void begin(void) {
    uint64_t n = __atomic_fetch_add(&rows[0].pid, 1, __ATOMIC_RELAXED) + 1; /* the first row has the number of rows */
    own = n < ROWS ? &rows[n] : &none;
    *own = (row){ .pid = (uint64_t)getpid() };
}

static void before(void) { pthread_mutex_lock(&lock); }
static void parent(void) { pthread_mutex_unlock(&lock); }
static void child(void) {
    madvise(blocks, BLOCKS * sizeof *blocks, MADV_DONTNEED);
    begin();
    pthread_mutex_unlock(&lock);
}

static void start(void) {
    static int started;
    const char *path = getenv("TALLY");
    const char *kept = getenv("TALLY_BLOCKS");
    int fd;
    if (started++) return;
    real_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
    real_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    real_posix_memalign = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
    real_aligned_alloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "aligned_alloc");
    real_memalign = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "memalign");
    real_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    fd = path && strcmp(program_invocation_short_name, "heapdump") ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    rows = mmap(NULL, ROWS * sizeof *rows, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (rows == MAP_FAILED) return;
    begin();
    pthread_atfork(before, parent, child);
    fd = kept ? open(kept, O_RDWR | O_CLOEXEC) : -1;
    blocks = mmap(NULL, BLOCKS * sizeof *blocks, PROT_READ | PROT_WRITE,
                  (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) | MAP_NORESERVE, fd, 0);
    if (fd >= 0) close(fd);
}
__attribute__((constructor)) static void constructor(void) { start(); }

static void *take_early(size_t n) {
    void *p = early + early_used;
    early_used += (n + 15) & ~(size_t)15;
    if (early_used > sizeof early) abort();
    return p;
}
static int is_early(void *p) { return (char *)p >= early && (char *)p < early + sizeof early; }

static void *take(size_t n) { return start(), real_malloc ? took(WITHIN(real_malloc(n)), n) : take_early(n); }
static void *resize(void *p, size_t n) {
    size_t was;
    void *q;
    if (!p) return take(n);
    was = gave(p);
    q = WITHIN(real_realloc(p, n));
    if (q || !n) return took(q, n);
    if (was != SIZE_MAX) took(p, was);
    return NULL;
}

void *malloc(size_t n) { return take(n); }
void *calloc(size_t n, size_t size) {
    return start(), real_malloc ? took(WITHIN(real_calloc(n, size)), n * size) : take_early(n * size);
}
void free(void *p) {
    if (is_early(p)) return;
    gave(p);
    if (real_free) real_free(p);
}
void *realloc(void *p, size_t n) { return resize(p, n); }
void *reallocarray(void *p, size_t n, size_t size) {
    return __builtin_mul_overflow(n, size, &n) ? NULL : resize(p, n);
}
int posix_memalign(void **p, size_t alignment, size_t n) {
    int status = (start(), WITHIN(real_posix_memalign(p, alignment, n)));
    if (!status) took(*p, n);
    return status;
}
void *aligned_alloc(size_t alignment, size_t n) { return start(), took(WITHIN(real_aligned_alloc(alignment, n)), n); }
void *memalign(size_t alignment, size_t n) { return start(), took(WITHIN(real_memalign(alignment, n)), n); }

#ifdef WITH_NEW
#define NEW(name) \
    void *name(size_t n, uintptr_t a, uintptr_t b) { \
        static void *(*next)(size_t, uintptr_t, uintptr_t); \
        if (!next) next = (void *(*)(size_t, uintptr_t, uintptr_t))dlsym(RTLD_NEXT, #name); \
        return start(), took(WITHIN(next(n, a, b)), n); \
    }
#define DELETE(name) \
    void name(void *p, uintptr_t a, uintptr_t b) { \
        static void (*next)(void *, uintptr_t, uintptr_t); \
        if (!next) next = (void (*)(void *, uintptr_t, uintptr_t))dlsym(RTLD_NEXT, #name); \
        gave(p); \
        WITHIN(next(p, a, b)); \
    }
NEW(_Znwm) NEW(_Znam) NEW(_ZnwmRKSt9nothrow_t) NEW(_ZnamRKSt9nothrow_t) NEW(_ZnwmSt11align_val_t)
NEW(_ZnamSt11align_val_t) NEW(_ZnwmSt11align_val_tRKSt9nothrow_t) NEW(_ZnamSt11align_val_tRKSt9nothrow_t)
DELETE(_ZdlPv) DELETE(_ZdaPv) DELETE(_ZdlPvm) DELETE(_ZdaPvm) DELETE(_ZdlPvRKSt9nothrow_t) DELETE(_ZdaPvRKSt9nothrow_t)
DELETE(_ZdlPvSt11align_val_t) DELETE(_ZdaPvSt11align_val_t) DELETE(_ZdlPvmSt11align_val_t) DELETE(_ZdaPvmSt11align_val_t)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t) DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t)
#endif
