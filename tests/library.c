/* The library that all tests share; private.h explains it. */
#define LIBRARY
#include "private.h"

__attribute__((weak)) bool test_alone = true;
__attribute__((weak)) unsigned test_portions = 8;

__attribute__((weak)) void *test_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    return mmap(at, size, protection, flags, fd, offset);
}

__attribute__((weak)) int test_munmap(void *at, size_t size) { return munmap(at, size); }

__attribute__((weak)) int test_madvise(void *at, size_t size, int advice) { return madvise(at, size, advice); }

__attribute__((weak)) long test_sysconf(int name) { return sysconf(name); }

__attribute__((weak)) int test_lock(pthread_mutex_t *mutex) { return pthread_mutex_lock(mutex); }

__attribute__((weak)) int test_unlock(pthread_mutex_t *mutex) { return pthread_mutex_unlock(mutex); }
