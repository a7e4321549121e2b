/* Measures the stack of a call. `stack_added WHAT FILE` makes the call WHAT on a painted stack in FILE; `stack_added
   scan FILE` prints the number of overwritten bytes below its caller, and above. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 256 * 1024, PAINT = 0x5a };
/* At the lowest address of the stack, which no call reaches. */
typedef struct painted {
    uint64_t start, caller, lowest;
} painted;

static painted *stack;
static const char *what;
static void *volatile keep;
static volatile sig_atomic_t handled;

static const unsigned char *lowest(void) {
    const unsigned char *p = (const unsigned char *)(stack + 1);
    while (*p == PAINT) p++;
    return p;
}

/* Paints everything below the caller's frame that this call does not use. */
static inline __attribute__((always_inline)) void paint(void) {
    char *sp;
    __asm__ volatile("movq %%rsp, %0" : "=r"(sp));
    memset(stack + 1, PAINT, (size_t)(sp - 128 - (char *)(stack + 1)));
}

static int is(const char *s) { return !strcmp(what, s); }

static uint64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Unwind information that gives the caller's stack pointer by an expression: this takes a real unwinder. */
int foreign(void (*f)(void));
__asm__(".text\n.globl foreign\n.type foreign, @function\nforeign:\n.cfi_startproc\n"
        "    subq $8, %rsp\n"
        "    .cfi_escape 0x0f, 0x05, 0x77, 0x08, 0x38, 0x22, 0x96\n" /* rsp + 8, and 8 more, and a nop */
        "    callq *%rdi\n"
        "    addq $8, %rsp\n"
        "    .cfi_def_cfa %rsp, 8\n    ret\n.cfi_endproc\n.size foreign, . - foreign\n");

static void once(void) { free(malloc(100)); }
static void leave(void) { keep = malloc(1000003); }

/* A new call stack each time, more blocks than any table holds at first, and every call of the family. */
__attribute__((noinline)) static void many(int depth) {
    static void *blocks[30000];
    if (depth) {
        many(depth - 1);
        __asm__ volatile("");
        return;
    }
    for (int i = 0; i < 30000; i++) blocks[i] = malloc((size_t)i % 3000);
    for (int i = 0; i < 30000; i++) blocks[i] = realloc(blocks[i], (size_t)i % 2000 + 1);
    for (int i = 0; i < 30000; i++) free(blocks[i]);
    for (int i = 0; i < 100; i++) free(calloc(1, 500));
    for (int i = 0; i < 100; i++) free(aligned_alloc(64, 512));
}

static void until_due(void) {
    for (uint64_t end = now_ms() + 20; now_ms() <= end;) free(malloc(100));
    for (int i = 0; i < 200; i++) free(malloc(100));
}

static void on_signal(int number) { (void)number, handled = 1; }

static void call(void) {
    if (is("once") || is("first")) once();
    if (is("many")) {
        many(0);
        many(40);
    }
    if (is("foreign")) foreign(leave);
    if (is("due")) until_due();
    if (is("peak")) {
        free(malloc(1 << 20));
        free(malloc(1 << 22));
    }
    if (is("signal")) raise(SIGUSR2);
    if (is("exit")) exit(0);
    if (is("_exit")) _exit(0);
    if (is("new")) {             /* a library that was loaded late */
        void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_GLOBAL);
        void *(*of)(size_t) = (void *(*)(size_t))(uintptr_t)dlsym(RTLD_DEFAULT, "_Znwm");
        if (!library || !of) exit(9);
        paint();
        keep = of(100);
    }
}

static void *run(void *unused) {
    if (!is("first")) once();    /* the thread's first call */
    if (is("once")) for (int i = 0; i < 300; i++) once();
    stack->start = (uintptr_t)stack + SIZE;
    stack->caller = (uintptr_t)__builtin_frame_address(0);
    if (!is("first")) paint();
    call();
    stack->lowest = (uintptr_t)lowest();
    return unused;
}

/* If the process ended in `call` there is no address: the stack is as the end left it. */
static int scan(void) {
    if (!stack->lowest) stack->lowest = stack->start - SIZE + (uint64_t)(lowest() - (const unsigned char *)stack);
    printf("%lu %lu\n", (unsigned long)(stack->caller - stack->lowest), (unsigned long)(stack->start - stack->caller));
    return 0;
}

int main(int argc, char **argv) {
    pthread_attr_t attributes;
    pthread_t thread;
    int fd;
    if (argc != 3) return 9;
    what = argv[1];
    fd = open(argv[2], O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, SIZE)) return 9;
    stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (stack == MAP_FAILED) return 9;
    if (is("scan")) return scan();
    memset(stack, PAINT, SIZE);
    stack->lowest = 0;
    if (is("signal")) signal(SIGUSR2, on_signal);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, SIZE);
    if (pthread_create(&thread, &attributes, run, NULL)) return 9;
    pthread_join(thread, NULL);
    return 0;
}
