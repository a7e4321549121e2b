/* For tests/peers/scripts/ages.sh. `ages times [COMMAND...]` plants blocks from named threads, waits a second by its
   own clock, and plants more. It writes both times to FILE, and runs COMMAND with its pid in between. `ages many`:
   300 threads with a name each. `ages forbidden`: prctl kills it from some point on. `ages strange`: a thread name
   that is not text. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *kept[512];
static int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void keep(void *p) {
    pthread_mutex_lock(&lock);
    kept[count++] = p;
    pthread_mutex_unlock(&lock);
}

void plant_old(size_t n) { keep(malloc(n)); }
void plant_young(size_t n) { keep(malloc(n)); }
void plant_before(size_t n) { keep(malloc(n)); }
void plant_late(size_t n) { keep(malloc(n)); }
void plant_one(size_t n) { keep(malloc(n)); }

static long long milliseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void *named_itself(void *name) {
    pthread_setname_np(pthread_self(), name);
    plant_old(100000);
    return NULL;
}

static void *named_by_prctl(void *name) {
    prctl(PR_SET_NAME, name);
    plant_old(100000);
    return NULL;
}

static int go[2], went[2];

/* Allocates three times: before, between and after being named by another thread and by itself. */
static void *named_by_another(void *unused) {
    char c;
    (void)unused;
    prctl(PR_SET_NAME, "before");
    plant_before(30);
    if (write(went[1], "", 1) != 1 || read(go[0], &c, 1) != 1) exit(3);
    plant_late(50);
    prctl(PR_SET_NAME, "at last");
    plant_late(7);
    return NULL;
}

static void *one(void *i) {
    char name[16];
    snprintf(name, sizeof name, "n%d", (int)(size_t)i);
    pthread_setname_np(pthread_self(), name);
    plant_one(1000);
    return NULL;
}

static void *unnamed(void *size) {
    plant_one((size_t)size);
    return NULL;
}

static int forbid(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
    };
    struct sock_fprog filter = { sizeof code / sizeof *code, code };
    pthread_t t;
    plant_before(300);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) return 6;
    plant_late(400);
    return pthread_create(&t, NULL, unnamed, (void *)500) || pthread_join(t, NULL) ? 2 : 0;
}

static void *strange(void *unused) {
    (void)unused;
    prctl(PR_SET_NAME, "\x1b[31mred\n\a\xff\xfe");
    plant_one(1000);
    return NULL;
}

/* The recording may not know this process yet: a request that is too early is repeated. */
static void run(char **command) {
    const struct timespec rest = { 0, 20000000 };
    char pid[16], *words[16] = { NULL };
    int n = 0, status = 1;
    for (; command[n] && n < 14; n++) words[n] = command[n];
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    words[n] = pid;
    for (int tries = 0; status && tries < 1000; tries++) {
        pid_t child = fork();
        if (!child) {
            unsetenv("LD_PRELOAD");
            if (!freopen("/dev/null", "w", stderr)) _exit(126);
            execv(words[0], words);
            _exit(127);
        }
        if (waitpid(child, &status, 0) != child) exit(4);
        if (status) nanosleep(&rest, NULL);
    }
    if (status) exit(4);
}

int main(int n, char **a) {
    pthread_t t[4];
    FILE *out;
    char c;
    long long old;
    if (n > 1 && !strcmp(a[1], "many")) {
        for (size_t i = 0; i < 300; i++) {
            if (pthread_create(&t[0], NULL, one, (void *)i)) return 2;
            pthread_join(t[0], NULL);
        }
        return 0;
    }
    if (n > 1 && !strcmp(a[1], "forbidden")) return forbid();
    if (n > 1 && !strcmp(a[1], "strange"))
        return pthread_create(&t[0], NULL, strange, NULL) || pthread_join(t[0], NULL) ? 2 : 0;
    if (n < 2 || pipe(go) || pipe(went)) return 2;
    pthread_create(&t[0], NULL, named_itself, "db worker");
    pthread_create(&t[1], NULL, named_by_prctl, "net");
    pthread_create(&t[2], NULL, named_by_prctl, "db worker");
    pthread_create(&t[3], NULL, named_by_another, NULL);
    if (read(went[0], &c, 1) != 1 || pthread_setname_np(t[3], "named late") || write(go[1], "", 1) != 1) return 3;
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    plant_before(3);
    old = milliseconds();
    if (n > 2) run(a + 2);
    pthread_setname_np(pthread_self(), "boss");
    while (milliseconds() < old + 1010) {          /* the recorder's clock has milliseconds, too */
        struct timespec rest = { 0, 10000000 };
        clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, NULL);
    }
    for (int i = 0; i < 7; i++) plant_young(10000);
    out = fopen(a[1], "w");
    if (!out) return 5;
    fprintf(out, "old %lld\nyoung %lld\n", old, milliseconds());
    return fclose(out);
}
