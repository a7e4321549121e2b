/* Code made at run time, listed in /tmp/perf-PID.map. Variants: other code at this address before (again), malformed
   lines (junk), a symbolic link (link), another user's file (user), a file that disappears before the end (gone).
   Allocates 700000 bytes below the code. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static void *volatile kept;
__attribute__((noinline)) static void below(void) { kept = malloc(700000); }

int main(int argc, char **argv) {
    /* push rbp; mov rbp, rsp; sub rsp, 0x40; call rdi; leave; ret */
    static const unsigned char plain[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x40, 0xff, 0xd7, 0xc9, 0xc3 };
    unsigned char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*jit)(void (*)(void));
    struct timespec moment = { 0, 1000000 };
    const char *what = argc > 1 ? argv[1] : "";
    char path[64];
    FILE *f;
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    if (!strcmp(what, "link")) {
        if (symlink("perf-elsewhere.map", path)) return 1;
        f = fopen("/tmp/perf-elsewhere.map", "w");
    } else {
        f = fopen(path, "w");
    }
    if (!f) return 1;
    memcpy(p, plain, sizeof plain);
    *(void **)&jit = p;
    if (!strcmp(what, "again")) {
        fprintf(f, "%lx 1000 wrong\n", (long)p);
        fprintf(f, "%lx 800 wrong\n", (long)p - 16);
    }
    if (!strcmp(what, "junk"))
        fprintf(f, "\nno\n%lx\n%lx 10\n%lx 10 \n%lx 0 none\nffffffffffffffff ffff over\n11112222333344445 1 long\nx y z\n%c%c\n",
                (long)p, (long)p, (long)p, (long)p, 0, 200);
    fprintf(f, "0x%lx c right and proper\n", (long)p);
    if (!strcmp(what, "again")) fprintf(f, "%lx 1000 after\n", (long)p + 12);
    fprintf(f, "%lx 1 cut", (long)p);
    fclose(f);
    if (!strcmp(what, "user") && chown(path, 65534, 65534)) return 1;
    jit(below);
    if (!strcmp(what, "gone")) { /* once heapdump has read it: a second open file shows that */
        for (int i = 0; i < 100000 && access("read", F_OK); i++) nanosleep(&moment, NULL);
        unlink(path);
    }
    return 0;
}
