/* Keeps 1000003 bytes and ends in the way given by its argument. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *volatile keep;
static char small[16384];        /* too small a stack for writing a dump */

static void on_overflow(int number) { _exit(number == SIGSEGV ? 4 : 9); }
static int overflow(int depth) {
    volatile char frame[200];
    if (depth % 16 == 0) free(malloc(10));
    frame[0] = 1;
    return overflow(depth + 1) + frame[0];
}
static void *end_in_thread(void *arg) { _exit(5); return arg; }
static void *end_last(void *arg) {
    pthread_join(*(pthread_t *)arg, NULL);
    return NULL;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    static pthread_t main_thread;
    pthread_t thread;
    keep = malloc(1000003);
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "overflow")) {
        stack_t stack = { .ss_sp = small, .ss_size = sizeof small };
        struct sigaction action = { .sa_handler = on_overflow, .sa_flags = SA_ONSTACK };
        sigaltstack(&stack, NULL);
        sigaction(SIGSEGV, &action, NULL);
        return overflow(0);
    }
    if (!strcmp(how, "pthread_exit")) {
        main_thread = pthread_self();
        pthread_create(&thread, NULL, end_last, &main_thread);
        pthread_exit(NULL);
    }
    if (!strcmp(how, "quick_exit")) quick_exit(6);
    if (!strcmp(how, "thread")) {
        pthread_create(&thread, NULL, end_in_thread, NULL);
        pause();
    }
    if (!strcmp(how, "daemon")) { /* continues when no process can write to descriptor 5 any more */
        char go;
        if (daemon(1, 1)) return 9;
        while (read(5, &go, 1) > 0) {}
        keep = malloc(2000003);
    }
    return 0;
}
