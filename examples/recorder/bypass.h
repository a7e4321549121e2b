/* Takes hooks out of a program's way for good: the first instruction of a hook becomes a jump to the function below
   it. This works for every call, even through pointers that the program keeps. Other threads may be inside a hook, or
   about to enter it. So the instruction has 8 bytes at a multiple of 8, and one store replaces it. If the compiler,
   processor or system does not allow this, the hooks stay, and only pass calls on. */

#ifndef BYPASS_H
#define BYPASS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef __has_attribute
#define __has_attribute(x) 0
#endif

/* Marks hooks that can be bypassed: they begin with `lea 0(%rsp), %rsp` in 8 bytes. Not with ThreadSanitizer, which
   watches all stores. */
#if defined(__x86_64__) && __has_attribute(ms_hook_prologue) && !defined(__SANITIZE_THREAD__)
#define BYPASSED __attribute__((ms_hook_prologue, aligned(16)))
#else
#define BYPASSED
#endif

/* A hook, and the constant place that has the address of the function below. */
typedef struct bypass {
    void *hook, *const *below;
} bypass;

static bool bypass_fits(const bypass *b) {
    static const unsigned char first[8] = { 0x48, 0x8d, 0xa4, 0x24, 0, 0, 0, 0 };
    intptr_t far = (intptr_t)b->below - (intptr_t)b->hook - 6;
    return *b->below && (uintptr_t)b->hook % 8 == 0 && far == (int32_t)far && !memcmp(b->hook, first, sizeof first);
}

/* Bypasses all hooks of a list. Memory between the first and the last hook must be code of their object. */
static void bypass_all(const bypass *list, size_t n) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = UINTPTR_MAX, last = 0;
    for (size_t i = 0; i < n; i++) {
        uintptr_t at = (uintptr_t)list[i].hook;
        if (!bypass_fits(&list[i])) continue;
        if (at < first) first = at;
        if (at > last) last = at;
    }
    if (!last) return;
    first &= ~(page - 1);
    last = (last | (page - 1)) + 1;
    if (mprotect((void *)first, last - first, PROT_READ | PROT_WRITE | PROT_EXEC)) return;
    for (size_t i = 0; i < n; i++) {
        unsigned char jump[8] = { 0xff, 0x25, 0, 0, 0, 0, 0x0f, 0x0b }; /* jmp *far(%rip); ud2 */
        int32_t far = (int32_t)((intptr_t)list[i].below - (intptr_t)list[i].hook - 6);
        uint64_t word;
        if (!bypass_fits(&list[i])) continue;
        memcpy(jump + 2, &far, sizeof far);
        memcpy(&word, jump, sizeof word);
        __atomic_store_n((uint64_t *)list[i].hook, word, __ATOMIC_RELEASE);
    }
    mprotect((void *)first, last - first, PROT_READ | PROT_EXEC);
}

#endif
