/* How many dumps of this process lie in the spool: programs that are recorded go on until there are enough,
   however fast they are. Many, when they are not recorded. */
#ifndef DUMPS_H
#define DUMPS_H

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int dumps_written(void) {
    const char *spool = getenv("HEAPDUMP_SPOOL"); /* DEVICE:INODE:PATH */
    int n = 0;
    DIR *d;
    if (!spool) return INT_MAX;
    d = opendir(strchr(spool, '/'));
    for (struct dirent *e; d && (e = readdir(d));) {
        const char *dot = strrchr(e->d_name, '.');
        n += atoi(e->d_name) == getpid() && dot && !strcmp(dot, ".json");
    }
    if (d) closedir(d);
    return n;
}

#endif
