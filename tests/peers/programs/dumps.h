/* How many dumps the file of the recording has so far, which $DUMPS names: programs that are recorded go on until there
   are enough, however fast they are. Many, when they are not recorded. Asks for no memory. */
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
