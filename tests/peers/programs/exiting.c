/* A forked child whose main thread ends while heapdump is stopped, before heapdump sees the child's record. The kernel
   shows no maps of an exiting process. `exiting PROGRAM`: the child executes PROGRAM instead, this program linked
   statically. Lines of standard input end the child, then the parent. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t heapdump;
static void *volatile keep;

static void wait_for_state(pid_t pid, char state) {
    char path[64], text[512], *end;
    for (;;) {
        FILE *f;
        size_t n;
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        f = fopen(path, "r");
        n = f ? fread(text, 1, sizeof text - 1, f) : 0;
        if (f) fclose(f);
        text[n] = 0;
        end = strrchr(text, ')');
        if (!end || end[2] == state) return;
        usleep(1000);
    }
}

static void say(const char *line) {
    if (write(1, line, strlen(line)) < 0) _exit(1);
}

static void go_on(void) {
    char line;
    kill(heapdump, SIGCONT);
    say("seen\n");
    if (read(0, &line, 1) < 0) _exit(1);
    _exit(0);
}

static void *outlive(void *unused) {
    wait_for_state(getpid(), 'Z');
    go_on();
    return unused;
}

int main(int argc, char **argv) {
    char line, number[16];
    pid_t child;
    if (argc == 3) {
        heapdump = atoi(argv[2]);
        go_on();
    }
    heapdump = getppid();
    snprintf(number, sizeof number, "%d", (int)heapdump);
    keep = malloc(1000);
    kill(heapdump, SIGSTOP);
    wait_for_state(heapdump, 'T');
    child = fork();
    if (!child) {
        pthread_t thread;
        keep = malloc(500);
        if (argc == 2) execl(argv[1], argv[1], "after", number, NULL);
        pthread_create(&thread, NULL, outlive, NULL);
        pthread_exit(NULL);
    }
    waitpid(child, NULL, 0);
    say("over\n");
    return read(0, &line, 1) < 0;
}
