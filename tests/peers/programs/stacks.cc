// Stacks that break an unwinder which caches or guesses, for stacks.sh. All code allocates on seeded random walks
// through frames of sixteen layouts. Arguments: objects to load, call and unload in turn.
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#define OUT_OF_LINE __attribute__((noinline, noclone)) static
#define HIDE(p) asm volatile("" : : "r"(p) : "memory") /* the compiler must not know, drop or merge p */

struct walker { unsigned seed; int kinds; ucontext_t *here, *home; jmp_buf *back; };
static unsigned roll(walker *w) { return (w->seed = w->seed * 1103515245u + 12345) >> 16 & 0x7fff; }
OUT_OF_LINE void block(size_t n) { void *p = malloc(n); HIDE(p); free(p); HIDE(&n); }
struct failure { void *p = malloc(40); ~failure() { free(p); } };
struct guard {
    bool on;
    ~guard() { if (on) try { block(41); throw failure(); } catch (failure &) { block(42); } }
};
[[noreturn]] OUT_OF_LINE void leave(walker *w) { block(43); longjmp(*w->back, 1); }
// The call is its last instruction: the return address is after the function.
OUT_OF_LINE void last_words(walker *w) { char room[72]; HIDE(room); leave(w); }
extern "C" void traps(); // signals before its first instruction, after a push, and before its last one
asm(".type traps, @function\n" "traps: .cfi_startproc; ud2; push %rbx; .cfi_adjust_cfa_offset 8\n"
    ".cfi_rel_offset %rbx, 0; ud2; pop %rbx; .cfi_adjust_cfa_offset -8; .cfi_restore %rbx; ud2; ret\n"
    ".cfi_endproc");

OUT_OF_LINE void walk(walker *w, int left);
template <int KIND> OUT_OF_LINE void frame(walker *w, int left) {
    alignas(KIND & 4 ? 64 : 8) char room[40 + 24 * (KIND & 2)]; // two functions of each layout
    HIDE(room);
    if (KIND & 8) HIDE(alloca(roll(w) % 400)); // this memory has stale return addresses
    guard g = { KIND == 15 && roll(w) % 2 };
    if (KIND == 14) { try { walk(w, left); if (roll(w) % 3 == 0) throw failure(); }
                      catch (failure &) { walk(w, left / 2); } }
    else if (roll(w) % 2) { walk(w, left); HIDE(&"one"); }
    else { walk(w, left); HIDE(&"other"); }
}
OUT_OF_LINE void walk(walker *w, int left) {
    static void (*const frames[])(walker *, int) = {
        frame<0>, frame<1>, frame<2>, frame<3>, frame<4>, frame<5>, frame<6>, frame<7>,
        frame<8>, frame<9>, frame<10>, frame<11>, frame<12>, frame<13>, frame<14>, frame<15> };
    if (roll(w) % 6 == 0) block(left);
    if (w->here && roll(w) % 8 == 0) swapcontext(w->here, w->home);
    if (left > 0) frames[roll(w) % w->kinds](w, left - 1);
    else if (w->back) last_words(w);
    block(50);
    HIDE(w);
}
// The allocation is always at one stack depth, but the frame between moves, and its old place keeps its old return
// address.
OUT_OF_LINE void inner(size_t n) { HIDE(alloca(n)); block(n + 1); HIDE(&n); }
OUT_OF_LINE void outer(size_t n) {
    HIDE(alloca(n));
    if (n & 16) { inner(1024 - n); HIDE(&"one"); } else { inner(1024 - n); HIDE(&"other"); }
}
// Two functions of one layout with two calls each, on every level: stacks that differ only in the middle.
template <int N> OUT_OF_LINE void fall(unsigned way, int left) {
    static void (*const next[])(unsigned, int) = { fall<0>, fall<1> };
    char room[56];
    HIDE(room);
    if (left == 0) { block(N + 60); HIDE(&"none"); }
    else if (way & 1) { next[way >> 1 & 1](way >> 2, left - 1); HIDE(&"one"); }
    else { next[way >> 1 & 1](way >> 2, left - 1); HIDE(&"other"); }
}
OUT_OF_LINE void jump(unsigned i) {
    jmp_buf back;
    walker w = { i, 14, 0, 0, &back };
    if (!setjmp(back)) walk(&w, i);
    block(52);
    HIDE(&w);
}
static thread_local walker upper = { 7, 16, 0, 0, 0 };
static walker lower[3];
static void on_signal(int) { walk(&upper, roll(&upper) % 6); }
static void on_trap(int, siginfo_t *, void *context) {
    walk(&upper, 2);
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}
static int by_rest(const void *a, const void *b) {
    if (roll(&upper) % 90 == 0) walk(&upper, 3);
    return *(const int *)a % 101 - *(const int *)b % 101;
}
static void *thread(void *seed) {
    walker w = { (unsigned)(size_t)seed, 16, 0, 0, 0 };
    for (int i = 0; i < 4; i++) walk(&w, roll(&w) % 60), raise(roll(&w) % 2 ? SIGUSR1 : SIGUSR2);
    return 0;
}
static void coroutine(int i) { for (;;) walk(&lower[i], 9), swapcontext(lower[i].here, lower[i].home); }
static void called() { walk(&upper, 5); }

// Objects of equal size, loaded and unloaded in turn, get the same address with other unwind rules, once the
// recorder's mapping in place of their code is removed.
static int reload(char **objects) {
    for (void *last = 0; *objects; objects++) {
        void *object = dlopen(*objects, RTLD_NOW), *call = object ? dlsym(object, "call") : 0;
        if (!call || (last && call != last)) return 3;
        for (int i = 0; i < 9; i++) ((void (*)(void (*)()))call)(called);
        dlclose(object);
        munmap((void *)((uintptr_t)call & ~(uintptr_t)4095), 4096);
        last = call;
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1) return reload(argv + 1);
    static char other_stack[65536], signal_stack[65536];
    char inner_stack[65536];
    ucontext_t home, here[3];
    pthread_t t[2];
    stack_t alternate = { signal_stack, 0, sizeof signal_stack };
    struct sigaction action = {};
    sigaltstack(&alternate, 0);
    action.sa_handler = on_signal, sigaction(SIGUSR1, &action, 0);
    action.sa_flags = SA_ONSTACK, sigaction(SIGUSR2, &action, 0);
    action.sa_flags = SA_SIGINFO, action.sa_sigaction = on_trap, sigaction(SIGILL, &action, 0);
    for (int i = 0; i < 40; i++) walk(&upper, roll(&upper) % 60); // 48 frames are kept
    for (int i = 0; i < 6; i++) traps(), raise(SIGUSR1), block(51), raise(SIGUSR2);
    for (int i = 0; i < 30; i++) jump(i);
    for (int i = 0; i < 60; i++) outer(roll(&upper) % 64 * 16);
    for (unsigned i = 0, way = 0; i < 90; i++) fall<0>(way ^= 1 << roll(&upper) % 24, 12);
    for (int i = 0; i < 3; i++) {
        here[i].uc_link = 0, getcontext(&here[i]);
        here[i].uc_stack.ss_sp = i == 0 ? other_stack : i == 1 ? inner_stack : malloc(65536);
        here[i].uc_stack.ss_size = 65536;
        lower[i] = { 70u + i, 14, &here[i], &home, 0 };
        makecontext(&here[i], (void (*)())coroutine, 1, i);
    }
    for (int i = 0; i < 90; i++) swapcontext(&home, &here[roll(&upper) % 3]), block(53);
    for (int i = 0; i < 3; i++) { // the second pair uses the stacks of the first
        for (int k = 0; k < 2; k++) pthread_create(&t[k], 0, thread, (void *)(size_t)(10 * i + k));
        for (int k = 0; k < 2; k++) pthread_join(t[k], 0);
    }
    static int numbers[600];
    for (int &n : numbers) n = roll(&upper);
    qsort(numbers, 600, sizeof *numbers, by_rest);
}
