/* Starts N processes that allocate all the time, prints a byte when all of them do, and ends with its input. */
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

void *volatile kept;

static void allocate(int ready) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    kept = malloc(1000);
    if (write(ready, "", 1) != 1) _exit(1);
    for (;;) {
        void *next = malloc(1000);
        free(kept);
        kept = next;
    }
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1, ready[2];
    char byte;
    if (pipe(ready)) return 1;
    for (int i = 0; i < n; i++)
        if (!fork()) allocate(ready[1]);
    for (int i = 0; i < n; i++)
        if (read(ready[0], &byte, 1) != 1) return 1;
    if (write(STDOUT_FILENO, "x", 1) != 1) return 1;
    while (read(STDIN_FILENO, &byte, 1) > 0) {}
    return 0;
}
