/* Code made at run time, without call frame information, between main and who allocates. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
static void *volatile kept;
__attribute__((noinline)) static void below_jit(void) { kept = malloc(1234567); }
int main(void) {
#if defined(__x86_64__)
    /* push rbp; mov rbp, rsp; sub rsp, 0x40; call rdi; leave; ret */
    static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x40, 0xff, 0xd7, 0xc9, 0xc3 };
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(p, code, sizeof code);
    for (int i = 0; i < 3; i++) ((void (*)(void (*)(void)))p)(below_jit);
#else
    for (int i = 0; i < 3; i++) below_jit();
#endif
    return 0;
}
