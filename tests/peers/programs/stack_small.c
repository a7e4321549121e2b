/* A signal handler allocates on an alternate stack of 8 KiB with no memory below it, anywhere within 200,000 or more
   allocations. 2,000 signals are enough. Blocks of all sizes wait in the thread's cache, two for the handler:
   otherwise glibc does not allow a handler to allocate. */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>

static volatile sig_atomic_t signals;

static void on_alarm(int number) {
    (void)number;
    signals++;
    free(malloc(333));
}

int main(void) {
    struct itimerval every = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
    char *m = mmap(NULL, 16384, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = { .ss_sp = m + 8192, .ss_size = 8192 };
    struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_ONSTACK };
    if (m == MAP_FAILED || mprotect(m + 8192, 8192, PROT_READ | PROT_WRITE)) return 9;
    if (sigaltstack(&stack, NULL) || sigaction(SIGALRM, &action, NULL)) return 9;
    for (unsigned i = 0; i < 1000; i++) {
        void *volatile one = malloc(i), *volatile two = malloc(i);
        free(one), free(two);
    }
    setitimer(ITIMER_REAL, &every, NULL);
    for (unsigned i = 0; i < 200000 || signals < 2000; i++) free(malloc(i % 1000));
    setitimer(ITIMER_REAL, &never, NULL);
    return 3;
}
