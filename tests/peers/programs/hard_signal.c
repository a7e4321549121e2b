/* Many SIGALRMs during allocations. The handler counts; or calls _exit(7) at the 20th; or forks from time to time. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t ticks;
static const char *what = "";
static void *volatile keep;

static void on_alarm(int number) {
    (void)number;
    if (++ticks < 20) return;
    if (!strcmp(what, "exit")) _exit(7);
    if (!strcmp(what, "fork") && ticks % 4 == 0) {
        pid_t pid = fork();
        if (pid == 0 && ticks % 40) kill(getpid(), SIGKILL);
        if (pid == 0) _exit(0);
        if (pid < 0 || waitpid(pid, NULL, 0) != pid) _exit(9);
    }
}

int main(int argc, char **argv) {
    struct itimerval every = { { 0, 300 }, { 0, 300 } }, never = { { 0, 0 }, { 0, 0 } };
    if (argc > 1) what = argv[1];
    keep = malloc(1000003);
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &every, NULL);
    while (ticks < 1000) free(realloc(malloc((size_t)(rand() % 500)), 700));
    setitimer(ITIMER_REAL, &never, NULL);
    return 3;
}
