/* Typical habits of servers: `hard_server WHAT [DIRECTORY]`. Keeps 1,000 bytes at first and 222,222 at the end. A
   variant that changes its root or user starts a child that keeps 70,000. */
#define _GNU_SOURCE
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile keep;

/* Forks twice, starts its own session, and closes all descriptors. */
static void become_daemon(void) {
    if (fork()) exit(3);
    setsid();
    if (fork()) _exit(0);
    for (int i = 0; i < 1024; i++) close(i);
}

/* From here on only the calls for malloc and the end are allowed: opening a file or a socket kills. */
static void filter(void) {
    static const int allowed[] = { SYS_brk, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_madvise, SYS_exit_group, SYS_futex,
                                   SYS_write, SYS_rt_sigprocmask, SYS_getpid, SYS_gettid };
    struct sock_filter f[3 + 2 * sizeof allowed / sizeof *allowed];
    struct sock_fprog program = { 0, f };
    unsigned n = 0;
    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
        f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    program.len = (unsigned short)n;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) exit(9);
}

static void become_nobody(void) {
    if (setgid(65534) || setuid(65534)) exit(9);
}

static void with_child(void) {
    pid_t child = fork();
    if (!child) {
        keep = malloc(70000);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void *churn(void *unused) {
    for (int i = 0; i < 300000; i++) free(malloc(16 + i % 999));
    return unused;
}

/* A worker without rights overwrites random places of the shared memory, or all of it except its first page, while
   its master allocates. */
static void scribble(unsigned seed, size_t first) {
    char line[4096];
    unsigned long start = 0, end = 0;
    uint64_t random = 88172645463325252u + seed;
    FILE *maps = fopen("/proc/self/maps", "r");
    become_nobody();
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, "memfd:heapdump") && sscanf(line, "%lx-%lx", &start, &end) == 2) break;
    if (!start) _exit(9);
    for (int i = 0; i < 3000000; i++) {
        uint64_t at;
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        at = random % (i % 2 ? (uint64_t)1 << 16 : (uint64_t)4 << 20);
        ((volatile uint8_t *)start)[first + at] = (uint8_t)(random >> 40);
    }
    _exit(0);
}

/* Checks that blocks are unchanged: a hook that writes elsewhere would damage them. */
static int master(size_t first) {
    enum { BLOCKS = 20000 };
    static unsigned char *block[BLOCKS];
    static size_t size[BLOCKS];
    pthread_t threads[3];
    unsigned random = 1;
    pid_t worker = fork();
    if (!worker) scribble((unsigned)getpid(), first);
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, churn, NULL);
    for (int i = 0; i < 600000; i++) {
        unsigned k = (random = random * 1103515245 + 12345) >> 8, at = k % BLOCKS;
        for (size_t n = 0; n < size[at]; n += 97)
            if (block[at][n] != (unsigned char)at) return 8;
        free(block[at]);
        size[at] = 1 + k % 500;
        block[at] = malloc(size[at]);
        memset(block[at], (int)at, size[at]);
    }
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    waitpid(worker, NULL, 0);
    puts("done");
    return 3;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    char byte;
    if (!strcmp(what, "wait")) return puts("ready"), fflush(stdout), read(0, &byte, 1) != 1;
    if (!strcmp(what, "vandal")) return master(argc > 2 && *argv[2] == '1' ? 4096 : 0);
    keep = malloc(1000);
    if (!strcmp(what, "daemon")) become_daemon();
    if (!strcmp(what, "unshare") && unshare(CLONE_FS | CLONE_FILES | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC) &&
        unshare(CLONE_FS | CLONE_FILES)) return 9;
    if (!strcmp(what, "seccomp")) filter();
    if (!strcmp(what, "chroot") || !strcmp(what, "both"))
        if (argc < 3 || chroot(argv[2]) || chdir("/")) return 9;
    if (!strcmp(what, "setuid") || !strcmp(what, "both")) become_nobody();
    if (argc > 2) with_child();
    for (int i = 0; i < 10000; i++) free(malloc(100 + i % 50));
    keep = malloc(222222);
    _exit(3);
}
