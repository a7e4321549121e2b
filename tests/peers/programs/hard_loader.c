/* Forks while another thread is inside dl_iterate_phdr: in the child, its lock stays locked for good. */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int stop;
static void *volatile kept;
static int look(struct dl_phdr_info *info, size_t size, void *user) { return (void)info, (void)size, (void)user, 0; }
static void *iterate(void *arg) {
    while (!stop) dl_iterate_phdr(look, NULL);
    return arg;
}
int main(void) {
    pthread_t threads[2];
    kept = malloc(1000003);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, iterate, NULL);
    for (int i = 0; i < 60; i++) {
        pid_t pid = fork();
        if (!pid) _exit(malloc(77) ? 0 : 1);
        waitpid(pid, NULL, 0);
    }
    stop = 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 5;
}
