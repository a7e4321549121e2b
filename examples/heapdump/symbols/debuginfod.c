/* Debug information from debuginfod servers, which may be hostile. libdebuginfod caches their files on the disk. One
   file may have as many bytes as the process may have memory, all files together FILES times that. All answers
   together may take the time of one object. */

#include "dwarf.h"

#include <signal.h>
#include <sys/resource.h>
#include <time.h>

enum { FILES = 4 };

static symbols_served most, taken;
static void (*on_taken)(const symbols_served *more);
static volatile sig_atomic_t is_too_large;

static bool asks(void) {
    const char *servers = getenv("DEBUGINFOD_URLS");
    return servers && *servers;
}

static bool is_over(void) { return taken.ns >= most.ns || taken.bytes / FILES >= most.bytes; }

void symbols_debuginfod_limit(symbols_served limit, symbols_served by, void (*on_more)(const symbols_served *more)) {
    most = limit;
    if (most.bytes > UINT64_MAX / FILES) most.bytes = UINT64_MAX / FILES;
    taken = by;
    on_taken = on_more;
    if (is_over()) unsetenv("DEBUGINFOD_URLS"); /* an earlier child used up the limit */
}

/* Sets a limit of libdebuginfod, unless the user set a lower one. Returns the lower one. */
static uint64_t set_limit(const char *name, uint64_t value) {
    const char *own = getenv(name);
    uint64_t is = own ? strtoull(own, NULL, 10) : 0;
    char text[24];
    if (is && is <= value) return is;
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    setenv(name, text, 1);
    return value;
}

static void on_too_large(int number) {
    (void)number;
    is_too_large = 1;
}

static void tell_over(void) {
    unsetenv("DEBUGINFOD_URLS");
    if (taken.ns >= most.ns)
        display(stderr, "heapdump: the debuginfod server took more than %.0f s and is not asked any more "
                        "(--names-time raises that)\n", (double)most.ns / 1e9);
    else
        display(stderr, "heapdump: the debuginfod server sent more than %.3g GiB and is not asked any more "
                        "(--names-memory raises that)\n", (double)most.bytes * FILES / (1 << 30));
}

static void tell_too_large(uint64_t bytes) {
    static bool told;
    if (!told)
        display(stderr, "heapdump: the debuginfod server sent a file of more than %.3g GiB, which is not kept "
                        "(--names-memory raises that)\n", (double)bytes / (1 << 30));
    told = true;
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Bytes that this process wrote to files; 0: unknown. libdebuginfod does not write files that it has cached. */
static uint64_t written(void) {
    unsigned long long bytes = 0;
    FILE *f = fopen("/proc/self/io", "re");
    if (f && fscanf(f, "rchar: %*u wchar: %llu", &bytes) != 1) bytes = 0;
    if (f) fclose(f);
    return bytes;
}

int symbols_find_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base, const char *file,
                           const char *link, GElf_Word crc, char **found) {
    struct sigaction too_large = { .sa_handler = on_too_large }, before;
    struct rlimit files, less;
    symbols_served more = { 0 };
    uint64_t began, left, bytes, before_bytes;
    int fd;
    if (!asks())
        return symbols_unpacked(dwfl_standard_find_debuginfo(module, user, name, base, file, link, crc, found));
    left = most.bytes * FILES - taken.bytes;
    if (left > most.bytes) left = most.bytes;
    set_limit("DEBUGINFOD_MAXTIME", (most.ns - taken.ns + 999999999) / 1000000000);
    bytes = set_limit("DEBUGINFOD_MAXSIZE", left);
    if (getrlimit(RLIMIT_FSIZE, &files)) files.rlim_cur = files.rlim_max = RLIM_INFINITY;
    less = files;
    if (less.rlim_cur == RLIM_INFINITY || less.rlim_cur > bytes) less.rlim_cur = (rlim_t)bytes;
    is_too_large = 0;
    sigaction(SIGXFSZ, &too_large, &before);
    setrlimit(RLIMIT_FSIZE, &less);
    began = now_ns(), before_bytes = written();
    fd = dwfl_standard_find_debuginfo(module, user, name, base, file, link, crc, found);
    more.ns = now_ns() - began;
    setrlimit(RLIMIT_FSIZE, &files);
    sigaction(SIGXFSZ, &before, NULL);
    if (fd >= 0) more.bytes = written() - before_bytes; /* files not found leave nothing on the disk */
    if (fd == -EFBIG) is_too_large = 1; /* the server announced the size */
    if (is_too_large && bytes == left && left < most.bytes) more.bytes = left; /* the rest of the limit is used up */
    taken.ns += more.ns, taken.bytes += more.bytes;
    on_taken(&more);
    if (is_over()) tell_over();
    else if (is_too_large && bytes == left) tell_too_large(left);
    return symbols_unpacked(fd);
}
