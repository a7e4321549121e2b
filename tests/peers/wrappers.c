/* wrappers: starts itself in every way that there is to exec, each time without the recorder in the environment.
   wrappers raw PRELOAD PROGRAM...: execs by a system call, which no library sees. wrappers execvp|posix_spawnp PROGRAM:
   starts it by its name. wrappers early: allocates in .preinit_array, and later. Anything else: allocates 100 blocks of
   1000 bytes. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char *const none[] = { "A=b", NULL }, *const arguments[] = { "wrappers", "work", NULL };
static void *volatile kept;

static void early(int count, char **values, char **environment) {
    (void)environment;
    if (count > 1 && !strcmp(values[1], "early")) kept = malloc(10);
}
__attribute__((section(".preinit_array"), used)) static void (*before)(int, char **, char **) = early;

enum { WAYS = 11 };

static void start(int way, const char *self) {
    switch (way) {
    case 0: execve(self, arguments, none); break;
    case 1: execle(self, "wrappers", "work", (char *)NULL, none); break;
    case 2: execvpe(self, arguments, none); break;
    case 3: fexecve(open(self, O_RDONLY), arguments, none); break;
    default: clearenv();
    }
    switch (way) {
    case 4: execv(self, arguments); break;
    case 5: execl(self, "wrappers", "work", (char *)NULL); break;
    case 6: execvp(self, arguments); break;
    case 7: execlp(self, "wrappers", "work", (char *)NULL); break;
    case 8:
        setenv("LD_PRELOAD", "libdl.so.2", 1);
        execv(self, arguments);
    }
    _exit(9);
}

static int start_all(const char *self) {
    int failed = 0, status;
    pid_t pid;
    for (int way = 0; way < WAYS; way++) {
        if (way == 9) failed += posix_spawn(&pid, self, NULL, NULL, arguments, none) != 0;
        else if (way == 10) failed += posix_spawnp(&pid, self, NULL, NULL, arguments, none) != 0;
        else if (!(pid = way ? fork() : vfork())) start(way, self);
        waitpid(pid, &status, 0);
        failed += status != 0;
    }
    return failed;
}

int main(int argc, char **argv) {
    char preload[4096];
    char *const only[] = { preload, NULL };
    if (argc < 2) return start_all(argv[0]);
    if (argc > 3 && !strcmp(argv[1], "raw")) {
        snprintf(preload, sizeof preload, "LD_PRELOAD=%s", argv[2]);
        syscall(SYS_execve, argv[3], argv + 3, only);
        return 9;
    }
    if (argc > 2) {
        pid_t pid = 0;
        int status = 1;
        char *const work[] = { argv[2], "work", NULL };
        if (!strcmp(argv[1], "execvp")) {
            if (!(pid = vfork())) execvp(argv[2], work), _exit(9);
        } else if (posix_spawnp(&pid, argv[2], NULL, NULL, work, environ)) {
            return 9;
        }
        waitpid(pid, &status, 0);
        return status != 0;
    }
    for (int i = 0; i < 100; i++) kept = malloc(1000);
    return 0;
}
