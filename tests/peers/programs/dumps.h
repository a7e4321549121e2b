/* The number of dumps so far in the recording's file $DUMPS; a large number if there is no recording. Recorded
   programs run until there are enough dumps, however fast they are. Does not allocate. */
#ifndef DUMPS_H
#define DUMPS_H

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

static int dumps_written(void) {
    static const char id[] = "\"ph\":\"v\"";
    const char *file = getenv("DUMPS");
    char buffer[4096];
    int n = 0, matched = 0;
    ssize_t got;
    int fd = file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    if (!file) return INT_MAX;
    while (fd >= 0 && (got = read(fd, buffer, sizeof buffer)) > 0)
        for (ssize_t i = 0; i < got; i++) {
            matched = buffer[i] == id[matched] ? matched + 1 : buffer[i] == id[0];
            if (matched < (int)sizeof id - 1) continue;
            n++;
            matched = 0;
        }
    if (fd >= 0) close(fd);
    return n;
}

#endif
