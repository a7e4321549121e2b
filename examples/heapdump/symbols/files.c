/* Files of the child process. These functions override libc's, like the functions of memory.c.

   open: libdw opens the files that .gnu_debuglink, .gnu_debugaltlink and skeletons of .dwo files name. A pipe or a
   device in their place would block it, so only regular files are opened.

   mmap: libelf maps files privately and writable, but writes to few pages: section headers that it decompresses, and
   relocated data. The system counts such a mapping as memory of the process, all of it. So the pages are mapped
   read-only until they are written to, and only then count towards the memory limit. */

#undef _FORTIFY_SOURCE
#include "dwarf.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>

bool symbols_is_child;

static int open_at(const char *path, int flags, unsigned mode) {
    bool vetted = symbols_is_child && (flags & O_ACCMODE) == O_RDONLY && !(flags & (O_PATH | O_DIRECTORY));
    struct stat st;
    int fd;
    if (vetted) flags |= O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (fd < 0 || !vetted || (!fstat(fd, &st) && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))) return fd;
    close(fd);
    errno = EACCES;
    return -1;
}

static bool has_mode(int flags) { return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE; }

int open(const char *path, int flags, ...) {
    unsigned mode = 0;
    va_list args;
    va_start(args, flags);
    if (has_mode(flags)) mode = va_arg(args, unsigned);
    va_end(args);
    return open_at(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    unsigned mode = 0;
    va_list args;
    va_start(args, flags);
    if (has_mode(flags)) mode = va_arg(args, unsigned);
    va_end(args);
    return open_at(path, flags | O_LARGEFILE, mode);
}

/* Mappings of files. ---------------------------------------------------------------------------- */

typedef struct file_mapping {
    char *at;
    size_t bytes;
} file_mapping;

static file_mapping mappings[1 << 14];
static size_t mapping_count, page_size; /* page_size 0: do not change mappings */

/* Makes the page writable. */
static void on_write(int number, siginfo_t *info, void *unused) {
    char *at = info->si_addr;
    int saved = errno;
    (void)unused;
    for (size_t i = 0; i < mapping_count && info->si_code == SEGV_ACCERR; i++) {
        if (at < mappings[i].at || at >= mappings[i].at + mappings[i].bytes) continue;
        if (mprotect(at - (uintptr_t)at % page_size, page_size, PROT_READ | PROT_WRITE)) memory_ends();
        errno = saved;
        return;
    }
    signal(number, SIG_DFL);     /* the instruction faults again */
}

void symbols_count_writes(void) {
    struct sigaction action = { .sa_sigaction = on_write, .sa_flags = SA_SIGINFO };
    if (!sigaction(SIGSEGV, &action, NULL)) page_size = (size_t)sysconf(_SC_PAGESIZE);
}

static void *map(void *address, size_t bytes, int protection, int flags, int fd, int64_t offset) {
#ifdef SYS_mmap2
    return (void *)syscall(SYS_mmap2, address, bytes, protection, flags, fd, (long)(offset >> 12));
#else
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
#endif
}

static void *map_file(void *address, size_t bytes, int protection, int flags, int fd, int64_t offset) {
    bool counts = page_size && fd >= 0 && flags & MAP_PRIVATE && protection & PROT_WRITE;
    void *at;
    counts &= !(flags & MAP_FIXED) && mapping_count < sizeof mappings / sizeof *mappings;
    at = map(address, bytes, counts ? protection & ~PROT_WRITE : protection, flags, fd, offset);
    if (counts && at != MAP_FAILED) mappings[mapping_count++] = (file_mapping){ at, bytes };
    return at;
}

void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset) {
    return map_file(address, bytes, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t bytes, int protection, int flags, int fd, off64_t offset) {
    return map_file(address, bytes, protection, flags, fd, offset);
}

int munmap(void *address, size_t bytes) {
    int failed = (int)syscall(SYS_munmap, address, bytes);
    for (size_t i = mapping_count; !failed && i-- > 0;) {
        if (mappings[i].at != (char *)address) continue;
        mappings[i] = mappings[--mapping_count];
        break;
    }
    return failed;
}
