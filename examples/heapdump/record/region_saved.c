/* heapdump record: saves the region to a file if heapdump must end before the recording is written. Allocates no
   memory, and may run in a signal handler. */

#include "record.h"

#include <fcntl.h>
#include <signal.h>

/* Copies pages with data; the file is as sparse as the region. */
static bool copy_pages(int from, int to) {
    static char buffer[1 << 16];
    static const char zeros[4096];
    off_t at = 0, end;
    while ((at = lseek(from, at, SEEK_DATA)) >= 0 && (end = lseek(from, at, SEEK_HOLE)) > at)
        while (at < end) {
            size_t size = end - at < (off_t)sizeof buffer ? (size_t)(end - at) : sizeof buffer;
            ssize_t n = pread(from, buffer, size, at);
            if (n <= 0) return false;
            for (ssize_t i = 0; i < n; i += (ssize_t)sizeof zeros) {
                size_t page = n - i < (ssize_t)sizeof zeros ? (size_t)(n - i) : sizeof zeros;
                if (memcmp(buffer + i, zeros, page) && pwrite(to, buffer + i, page, at + i) != (ssize_t)page)
                    return false;
            }
            at += n;
        }
    return errno == ENXIO;       /* no more data */
}

/* Copies the region to a new file. */
static bool region_copy(const recording *r, const char *path) {
    off_t size = (off_t)r->region.size;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool done;
    if (fd < 0) return false;
    while (size && ftruncate(fd, size)) size /= 2; /* a file system may not allow so large a file */
    done = copy_pages(r->region.fd, fd);
    if (close(fd)) done = false;
    if (!done) unlink(path);
    return done;
}

void region_save(const recording *r) {
    static char path[PATH_MAX + 16];
    const char *own = r->a->record.region; /* --keep */
    if (!r->count || r->region.fd < 0) return;
    snprintf(path, sizeof path, "%s.region", r->file.path);
    if (!own && !region_copy(r, path)) display(stderr, "heapdump: %s: %s\n", path, strerror(errno));
    else
        display(stderr, "heapdump: the recording is saved in %s: heapdump recover %s\n", own ? own : path,
                own ? own : path);
}
