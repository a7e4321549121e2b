/* Code made at run time, without unwind tables, between main and the allocating function. With an argument, its frame
   pointer register holds another value, which resembles a frame pointer and leads nowhere. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
static void *volatile kept;
__attribute__((noinline)) static void below_jit(void) { kept = malloc(1234567); }
__attribute__((noinline, optimize("no-omit-frame-pointer"))) static int framed(volatile int x) { return x + 1; }
static void *code(const unsigned char *bytes, size_t n) {
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memcpy(p, bytes, n);
}
int main(int argc, char **argv) {
    /* push rbp; mov rbp, rsp; sub rsp, 0x40; call rdi; leave; ret */
    static const unsigned char plain[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x40, 0xff, 0xd7, 0xc9, 0xc3 };
    /* push rbp; mov rbp, rsi; sub rsp, 0x10; call rdi; add rsp, 0x10; pop rbp; ret */
    static const unsigned char other[] = { 0x55, 0x48, 0x89, 0xf5, 0x48, 0x83, 0xec, 0x10, 0xff, 0xd7,
                                           0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3 };
    void (*jit)(void (*)(void), uintptr_t *);
    uintptr_t trap[2];
    (void)argv;
    trap[0] = ((uintptr_t)trap & ~(uintptr_t)7) + (256 << 20);
    trap[1] = (uintptr_t)framed + 8;
    *(void **)&jit = argc > 1 ? code(other, sizeof other) : code(plain, sizeof plain);
    for (int i = 0; i < 3; i++) jit(below_jit, trap);
    return framed(-1);
}
