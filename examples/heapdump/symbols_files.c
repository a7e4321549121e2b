/* Files of the child process. These functions come before libc's, like the functions of memory.c.

   open: libdw opens the files that .gnu_debuglink, .gnu_debugaltlink and skeletons of .dwo files name. A pipe or a
   device in their place would hold it up, so it gets regular files only.

   mmap: the system counts a private mapping of a file as the process's own memory if it may be written, which libelf
   asks for and hardly does. The limit of memory is raised by as much while such a mapping is there. */

#undef _FORTIFY_SOURCE
#include "symbols_dwarf.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/resource.h>
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

uint64_t symbols_mapped;

typedef struct file_mapping {
    char *at;
    size_t bytes;
} file_mapping;

static file_mapping mappings[1 << 14];
static size_t mapping_count;

/* Allows `more` bytes of memory, or takes back `less`. */
static void allow_memory(size_t more, size_t less) {
    struct rlimit r;
    if (getrlimit(RLIMIT_DATA, &r) || r.rlim_cur == RLIM_INFINITY) return;
    r.rlim_cur = r.rlim_cur + more - less;
    if (r.rlim_max != RLIM_INFINITY && r.rlim_cur > r.rlim_max) r.rlim_cur = r.rlim_max;
    setrlimit(RLIMIT_DATA, &r);
}

static void *map(void *address, size_t bytes, int protection, int flags, int fd, int64_t offset) {
#ifdef SYS_mmap2
    return (void *)syscall(SYS_mmap2, address, bytes, protection, flags, fd, (long)(offset >> 12));
#else
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
#endif
}

static void *map_file(void *address, size_t bytes, int protection, int flags, int fd, int64_t offset) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (bytes + page - 1) & ~(page - 1);
    bool counts = symbols_is_child && fd >= 0 && flags & MAP_PRIVATE && protection & PROT_WRITE;
    void *at;
    counts &= !(flags & MAP_FIXED) && size && mapping_count < sizeof mappings / sizeof *mappings;
    if (counts) allow_memory(size, 0);
    at = map(address, bytes, protection, flags, fd, offset);
    if (counts && at == MAP_FAILED) {
        allow_memory(0, size);
    } else if (counts) {
        mappings[mapping_count++] = (file_mapping){ at, size };
        symbols_mapped += size;
    }
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
        allow_memory(0, mappings[i].bytes);
        symbols_mapped -= mappings[i].bytes;
        mappings[i] = mappings[--mapping_count];
        break;
    }
    return failed;
}
