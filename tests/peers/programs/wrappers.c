/* wrappers: starts itself by every exec function, each time without the recorder in the environment.
   wrappers behind LIBRARY: the same, with the recorder in LD_PRELOAD after a library.
   wrappers raw PRELOAD PROGRAM...: execs by a system call, which no library sees; rawbehind LIBRARY PROGRAM...: the
   same, with the recorder after the library. wrappers HOW PROGRAM: starts it by one function; HOW has no slash.
   wrappers sleep, or a name that ends in "sleeps": sleeps for a second. wrappers early: allocates in .preinit_array,
   and later. Anything else: allocates 100 blocks of 1000 bytes. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char preload[8192];
static char *none[] = { "A=b", NULL, NULL }, *const arguments[] = { "wrappers", "work", NULL };
static void *volatile kept;

static void early(int count, char **values, char **environment) {
    (void)environment;
    if (count > 1 && !strcmp(values[1], "early")) kept = malloc(10);
}
__attribute__((section(".preinit_array"), used)) static void (*before)(int, char **, char **) = early;

enum { WAYS = 11 };

static void put_before(const char *library) {
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s:%s", library, getenv("LD_PRELOAD"));
    none[1] = preload;
    putenv(preload);
}

static void start(int way, const char *self) {
    switch (way) {
    case 0: execve(self, arguments, none); break;
    case 1: execle(self, "wrappers", "work", (char *)NULL, none); break;
    case 2: execvpe(self, arguments, none); break;
    case 3: fexecve(open(self, O_RDONLY), arguments, none); break;
    default: if (!*preload) clearenv();
    }
    switch (way) {
    case 4: execv(self, arguments); break;
    case 5: execl(self, "wrappers", "work", (char *)NULL); break;
    case 6: execvp(self, arguments); break;
    case 7: execlp(self, "wrappers", "work", (char *)NULL); break;
    case 8:
        if (!*preload) setenv("LD_PRELOAD", "libdl.so.2", 1);
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

/* Starts a program by one exec function. */
static void start_program(const char *how, char *program) {
    char *const work[] = { program, "work", NULL };
    char *name = strrchr(program, '/');
    char *const no_argument[] = { program, NULL };
    if (!strcmp(how, "execve")) execve(program, work, environ);
    else if (!strcmp(how, "execve-bare")) execve(program, no_argument, environ);
    else if (!strcmp(how, "execvp")) execvp(program, work);
    else if (!strcmp(how, "fexecve")) fexecve(open(program, O_RDONLY), work, environ);
    else if (!strcmp(how, "fexecve-path")) fexecve(open(program, O_PATH), work, environ);
#ifdef __GLIBC__ /* musl does not have it */
    else if (!strcmp(how, "execveat")) execveat(open(program, O_PATH), "", work, environ, AT_EMPTY_PATH);
    else if (!strcmp(how, "execveat-in") && name) {
        *name = 0;
        execveat(open(*program ? program : "/", O_PATH), name + 1, work, environ, 0);
    }
#endif
    _exit(9);
}

static int started(const char *how, char *program) {
    char *const work[] = { program, "work", NULL };
    pid_t pid = 0;
    int status = 1;
    if (!strcmp(how, "posix_spawn")) {
        if (posix_spawn(&pid, program, NULL, NULL, work, environ)) return 9;
    } else if (!strcmp(how, "posix_spawnp")) {
        if (posix_spawnp(&pid, program, NULL, NULL, work, environ)) return 9;
    } else if (!(pid = fork())) {
        start_program(how, program);
    }
    waitpid(pid, &status, 0);
    return status != 0;
}

int main(int argc, char **argv) {
    char *const only[] = { preload, NULL };
    if (strstr(argv[0], "sleeps") || (argc == 2 && !strcmp(argv[1], "sleep"))) return usleep(1000000), 0;
    if (argc < 2) return start_all(argv[0]);
    if (argc == 3 && !strcmp(argv[1], "behind")) {
        put_before(argv[2]);
        return start_all(argv[0]);
    }
    if (argc > 3 && !strcmp(argv[1], "raw")) {
        snprintf(preload, sizeof preload, "LD_PRELOAD=%s", argv[2]);
        syscall(SYS_execve, argv[3], argv + 3, only);
        return 9;
    }
    if (argc > 3 && !strcmp(argv[1], "rawbehind")) {
        put_before(argv[2]);
        syscall(SYS_execve, argv[3], argv + 3, environ);
        return 9;
    }
    if (argc > 2 && !strchr(argv[1], '/')) return started(argv[1], argv[2]);
    for (int i = 0; i < 100; i++) kept = malloc(1000);
    return 0;
}
