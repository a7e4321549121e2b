/* A stack of the tool's own, if `ulimit -s` allows less than libdw and the tool need. The limit itself stays, since
   recorded programs inherit it. */

#include "shell.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

enum { STACK_NEEDED = 2 << 20, STACK_SIZE = 8 << 20 };

static struct { int (*run)(int, char **); int count; char **words; int status; } call;

static void call_run(void) { call.status = call.run(call.count, call.words); }

int on_large_stack(int (*run)(int count, char **words), int count, char **words) {
    static ucontext_t here, there;
    struct rlimit limit;
    void *stack;
    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= STACK_NEEDED) return run(count, words);
    stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK,
                 -1, 0);
    if (stack == MAP_FAILED || getcontext(&there)) return run(count, words);
    call.run = run, call.count = count, call.words = words;
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = STACK_SIZE;
    there.uc_link = &here;
    makecontext(&there, call_run, 0);
    swapcontext(&here, &there);
    return call.status;
}
