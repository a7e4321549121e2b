/* heapdump.h with its private names, for the tests of them: instead of heapdump.h. One object of the library, made of
   library.c, serves all tests; private.awk makes it and what is included here.

   What that object asks of the system it asks through the functions below. A test that is to watch, or to fail, one
   defines it, not static; else it does what its name says. */
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

/* A thread that is alone takes no locks, and its peaks are exact: false, and it does as others. */
extern bool test_alone;
#if defined(__GLIBC__) && defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define HD__FIGURE_ALONE() (test_alone && __libc_single_threaded)
#endif
#endif

/* How many portions a budget is divided into, for each entry: few, and bounds are met early. */
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
