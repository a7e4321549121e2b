/* Include this instead of heapdump.h, to test its private functions. All tests share one object of the library, made
   from library.c. private.awk makes that object's source and the header that is included here.

   The object makes its system calls through the functions below. library.c defines them as the functions of their names. A
   test that wants to observe a call, or let it fail, defines the function itself, not static. */
#ifndef PRIVATE_H
#define PRIVATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

void *test_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
int test_munmap(void *at, size_t size);
int test_madvise(void *at, size_t size, int advice);
long test_sysconf(int name);
int test_lock(pthread_mutex_t *mutex);
int test_unlock(pthread_mutex_t *mutex);

/* If false, the recorder locks even if the process has one thread. (A single thread takes no locks, and its peaks are
   exact.) */
extern bool test_alone;
#if defined(__GLIBC__) && defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define HD__FIGURE_ALONE() (test_alone && __libc_single_threaded)
#endif
#endif

/* The number of portions of a budget, for each entry. With few portions, tests meet the bounds early. */
extern unsigned test_portions;
#define HD__BUDGET_PORTIONS_EACH test_portions

#define mmap test_mmap
#define munmap test_munmap
#define madvise test_madvise
#define sysconf test_sysconf
#define pthread_mutex_lock test_lock
#define pthread_mutex_unlock test_unlock
#define HEAPDUMP_IMPLEMENTATION
#ifdef LIBRARY
#include "library.h"
#else
#include "names.h"
#endif
#undef mmap
#undef munmap
#undef madvise
#undef sysconf
#undef pthread_mutex_lock
#undef pthread_mutex_unlock
#endif
