/* Calls a function on another stack. The thread's own stack may be small, or be a signal handler's, and have too
   little room.

   Signals are blocked meanwhile: their handlers expect the usual stack, and may leave it for good with longjmp.
   Signals that libc uses between threads are not blocked. On x86-64 the frame pointer still points into the thread's
   stack, so unwinders and debuggers find the way back. On other processors they stop at the function. */

#ifndef ASIDE_H
#define ASIDE_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef void aside_fn(void *argument);

#if defined(__x86_64__) && defined(__ELF__)

void aside_switch(void *argument, aside_fn *run, char *top) __attribute__((visibility("hidden")));
__asm__(".pushsection .text\n"
        ".hidden aside_switch\n"
        ".globl aside_switch\n"
        ".type aside_switch, @function\n"
        "aside_switch:\n"
        ".cfi_startproc\n"
        "    pushq %rbp\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset %rbp, -16\n"
        "    movq %rsp, %rbp\n"
        "    .cfi_def_cfa_register %rbp\n"
        "    movq %rdx, %rsp\n"
        "    callq *%rsi\n"
        "    leave\n"
        "    .cfi_def_cfa %rsp, 8\n"
        "    ret\n"
        ".cfi_endproc\n"
        ".size aside_switch, . - aside_switch\n"
        ".popsection");

static void aside_enter(char *stack, size_t size, aside_fn *run, void *argument) {
    aside_switch(argument, run, stack + size);
}

#else

#include <ucontext.h>

typedef struct aside_contexts {
    ucontext_t here, there;
    aside_fn *run;
    void *argument;
} aside_contexts;

static void aside_run(unsigned high, unsigned low) {
    aside_contexts *c = (aside_contexts *)(uintptr_t)((uint64_t)high << 32 | low);
    c->run(c->argument);
}

static void aside_enter(char *stack, size_t size, aside_fn *run, void *argument) {
    aside_contexts *c = (aside_contexts *)(void *)stack;
    c->run = run;
    c->argument = argument;
    getcontext(&c->there);
    c->there.uc_stack.ss_sp = stack + sizeof *c;
    c->there.uc_stack.ss_size = size - sizeof *c;
    c->there.uc_link = &c->here;
    makecontext(&c->there, (void (*)(void))aside_run, 2, (unsigned)((uint64_t)(uintptr_t)c >> 32),
                (unsigned)(uintptr_t)c);
    swapcontext(&c->here, &c->there);
}

#endif

/* Blocks signals. Returns the former mask, for aside_signals_go. */
static uint64_t aside_signals_wait(void) {
    uint64_t all = ~((uint64_t)3 << 31), before;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
    return before;
}

static void aside_signals_go(uint64_t before) {
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
}

/* The bounds of the stack are multiples of 16. */
static void aside(char *stack, size_t size, aside_fn *run, void *argument) {
    uint64_t before = aside_signals_wait();
    aside_enter(stack, size, run, argument);
    aside_signals_go(before);
}

#endif
