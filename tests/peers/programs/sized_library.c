/* An allocator's own calls in a library to be preloaded. Like jemalloc's, they call no hooked function; with -DCALLS
   they call malloc, realloc and free by name. */
#include <stddef.h>

#ifdef CALLS
void *malloc(size_t);
void *realloc(void *, size_t);
void free(void *);
#else
#define malloc __libc_malloc
#define realloc __libc_realloc
#define free __libc_free
void *malloc(size_t);
void *realloc(void *, size_t);
void free(void *);
#endif
size_t malloc_usable_size(void *);

void *mallocx(size_t n, int flags) { return (void)flags, malloc(n); }
void *rallocx(void *p, size_t n, int flags) { return (void)flags, realloc(p, n); }
size_t xallocx(void *p, size_t n, size_t more, int flags) {
    (void)n, (void)more, (void)flags;
    return malloc_usable_size(p);
}
void dallocx(void *p, int flags) { (void)flags, free(p); }
void sdallocx(void *p, size_t n, int flags) { (void)n, (void)flags, free(p); }
void free_sized(void *p, size_t n) { (void)n, free(p); }
void free_aligned_sized(void *p, size_t alignment, size_t n) { (void)alignment, (void)n, free(p); }
