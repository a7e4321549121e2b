/* open for the child process: libdw opens the files that .gnu_debuglink, .gnu_debugaltlink and skeletons of .dwo files
   name. A pipe or a device in their place would hold it up, so it gets regular files only. This function comes before
   libc's, as those of memory.c do. */

#undef _FORTIFY_SOURCE
#include "symbols.h"

#include <fcntl.h>
#include <stdarg.h>
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
