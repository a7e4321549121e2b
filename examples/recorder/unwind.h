/* Return addresses of the calling thread's stack: exact, and cheap enough for every malloc.

   The caller of a frame follows from the frame's program counter, stack pointer and frame pointer. Two words on the
   stack are also needed: the return address and the saved frame pointer. The call frame information (.eh_frame) of
   the object says where these two are. It is interpreted once per program counter. The result is a rule of 8 bytes in
   a table that all threads share.

   Most frames of a stack were also in the thread's last stack, which the thread keeps as its shadow. If a frame's
   three registers and two words are unchanged, its caller is the same as before. This holds after longjmp, exceptions
   and switches of coroutines, too. So all frames but the innermost cost two compares each. Unloading objects drops
   rules and shadows.

   Code without call frame information (JIT code) is followed by its frame pointer, if that points into the stack just
   above. If a rule cannot express the information, the stack is left to the caller of unwind_from.

   Little is put on the thread's stack: information is interpreted on another stack, which is allocated with the
   shadow. unwind_aside lends this stack. All this is for x86-64 and ELF. Elsewhere unwind_from always declines, and
   unwind_aside has no other stack. */

#ifndef UNWIND_H
#define UNWIND_H

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "aside.h"

/* Registers of a frame once its callee has returned to pc. */
typedef struct unwind_frame {
    uintptr_t pc, sp, bp;
} unwind_frame;

enum { UNWIND_FRAMES = 130 };    /* maximum for one stack */
enum { UNWIND_BYTES = 5632 };    /* bytes of a thread, for the user of this file */

typedef struct unwind_stats {
    uint64_t stacks, frames;
    uint64_t shadowed;           /* frames found in the shadow */
    uint64_t rules;              /* frames with interpreted call frame information */
    uint64_t declined;           /* stacks left to the caller */
} unwind_stats;

#ifdef DLFO_STRUCT_HAS_EH_DBASE
extern int _dl_find_object(void *pc, struct dl_find_object *found) __attribute__((weak));
#endif

#if defined(__x86_64__) && defined(__ELF__)

#include "unwind_rules.h"

/* A request for the rule of a program counter, and the answer. */
typedef struct unwind_query {
    uintptr_t pc;
    unwind_rule rule;
} unwind_query;

/* Called for code when its rule is needed; may be NULL. */
static void (*unwind_told)(uintptr_t pc);

static void unwind_answer(void *query) {
    unwind_query *q = query;
    if (unwind_told) unwind_told(q->pc);
    q->rule = unwind_rule_of(q->pc);
}

/* Finds the rule for a return address that is not in the table, and puts it there. Not for a pc where a signal
   struck. */
static __attribute__((noinline)) unwind_rule unwind_rule_find(uintptr_t pc, bool struck, uint64_t key, uint64_t hash,
                                                              unwind_stats *stats) {
    unwind_slot *set = unwind_sets[hash >> 50], *to = NULL;
    unwind_query query = { struck ? pc : pc - 1, { 0 } };
    uint64_t kept;
    unwind_aside(unwind_answer, &query, false);
    stats->rules++;
    if (struck) return query.rule;
    for (int i = 0; i < UNWIND_WAYS && !to; i++)
        if (!__atomic_load_n(&set[i].rule, __ATOMIC_RELAXED)) to = &set[i];
    if (!to) to = &set[hash >> 48 & (UNWIND_WAYS - 1)];
    memcpy(&kept, &query.rule, sizeof kept);
    __atomic_store_n(&to->rule, kept, __ATOMIC_RELAXED);
    __atomic_store_n(&to->check, kept ^ key, __ATOMIC_RELAXED);
    return query.rule;
}

static inline unwind_rule unwind_rule_at(uintptr_t pc, bool struck, unwind_stats *stats) {
    uint64_t key = pc ^ (uint64_t)__atomic_load_n(&unwind_generation, __ATOMIC_RELAXED) << 48;
    uint64_t hash = pc * 0x9e3779b97f4a7c15u, kept;
    const unwind_slot *set = unwind_sets[hash >> 50];
    unwind_rule rule;
    for (int i = 0; i < UNWIND_WAYS && !struck; i++) {
        kept = __atomic_load_n(&set[i].rule, __ATOMIC_RELAXED);
        if ((__atomic_load_n(&set[i].check, __ATOMIC_RELAXED) ^ kept) != key) continue;
        memcpy(&rule, &kept, sizeof rule);
        return rule;
    }
    return unwind_rule_find(pc, struck, key, hash, stats);
}

/* The state of a walk, besides the frame. */
typedef struct unwind_walk {
    bool struck;                 /* the frame's pc is where a signal struck, not a return address */
    bool guessed;                /* a frame pointer was trusted on the way: registers may have any value */
    uintptr_t readable;          /* a page that is readable */
} unwind_walk;

/* Whether an address is readable. In a walk without guesses all words are on the stack. */
static bool unwind_readable(unwind_walk *w, uintptr_t address) {
    if (!w->guessed || address >> 12 == w->readable) return true;
    if (address & 7) return false;
    /* The kernel reads the signal set before it rejects the operation. */
    if (syscall(SYS_rt_sigprocmask, ~0L, address, NULL, 8L) >= 0 || errno == EFAULT) return false;
    w->readable = address >> 12;
    return true;
}

typedef enum unwind_result { UNWIND_STEPPED, UNWIND_ENDED, UNWIND_DECLINED } unwind_result;

enum { UNWIND_NEVER = 1 };       /* not an address: the rule always makes this step */

/* Whether a stack pointer cannot belong to a caller. */
static inline bool unwind_is_wild(uintptr_t cfa, uintptr_t sp) {
    return (cfa - sp - 1 >= (uintptr_t)1 << 30) | ((cfa & 7) != 0);
}

/* unwind_step for rare frames: any rule, and uncertain cases. */
static __attribute__((noinline)) unwind_result unwind_step_seldom(unwind_frame *f, unwind_walk *w, unwind_rule rule,
                                                                  uintptr_t *saved) {
    bool was_struck = w->struck;
    uintptr_t cfa = 0, bp_at;
    w->struck = false;
    *saved = UNWIND_NEVER;
    switch ((unwind_kind)rule.kind) {
    case UNWIND_SP: cfa = f->sp + (uintptr_t)(intptr_t)rule.cfa; break;
    case UNWIND_BP: cfa = f->bp + (uintptr_t)(intptr_t)rule.cfa; break;
    case UNWIND_AT_BP:
        bp_at = f->bp + (uintptr_t)(intptr_t)rule.cfa;
        if (!unwind_readable(w, bp_at)) return UNWIND_ENDED;
        cfa = *(uintptr_t *)bp_at;
        break;
    case UNWIND_POINTER:
        w->guessed = true;
        if (f->bp < f->sp || f->bp - f->sp >= 1 << 20) return UNWIND_ENDED;
        cfa = f->bp + 16;
        rule.saved = UNWIND_BP_AT_BP;
        rule.bp = 0;
        break;
    case UNWIND_SIGNAL: {
        const ucontext_t *context = (const ucontext_t *)f->sp;
        if (w->guessed) return UNWIND_ENDED;
        f->pc = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
        f->sp = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
        f->bp = (uintptr_t)context->uc_mcontext.gregs[REG_RBP];
        w->struck = true;
        return UNWIND_STEPPED;
    }
    case UNWIND_END: return UNWIND_ENDED;
    default: return w->guessed ? UNWIND_ENDED : UNWIND_DECLINED;
    }
    if (unwind_is_wild(cfa, f->sp)) return w->guessed ? UNWIND_ENDED : UNWIND_DECLINED;
    bp_at = (rule.saved == UNWIND_BP_AT_CFA ? cfa : f->bp) + (uintptr_t)(intptr_t)rule.bp;
    if (!unwind_readable(w, cfa - 8) || (rule.saved != UNWIND_BP_SAME && !unwind_readable(w, bp_at)))
        return UNWIND_ENDED;
    if (!was_struck && !w->guessed && rule.kind != UNWIND_AT_BP)
        *saved = rule.saved == UNWIND_BP_SAME ? 0 : bp_at;
    if (rule.saved != UNWIND_BP_SAME) f->bp = *(uintptr_t *)bp_at;
    f->pc = *(uintptr_t *)(cfa - 8);
    f->sp = cfa;
    return f->pc ? UNWIND_STEPPED : UNWIND_ENDED;
}

static inline bool unwind_is_plain(const unwind_walk *w) { return !(w->struck | w->guessed); }

/* Steps to the caller of a frame. *saved is the address of the caller's bp; 0: unchanged. The address of *f is not
   passed to any function, so *f stays in registers. */
static inline unwind_result unwind_step(unwind_frame *f, unwind_walk *w, uintptr_t *saved, unwind_stats *stats) {
    unwind_rule rule = unwind_rule_at(f->pc, w->struck, stats);
    uintptr_t cfa, bp_at = 0;
    if (!unwind_is_plain(w) || (rule.kind != UNWIND_SP && rule.kind != UNWIND_BP)) {
        unwind_frame moved = *f;
        unwind_result result = unwind_step_seldom(&moved, w, rule, saved);
        *f = moved;
        return result;
    }
    cfa = (rule.kind == UNWIND_SP ? f->sp : f->bp) + (uintptr_t)(intptr_t)rule.cfa;
    if (unwind_is_wild(cfa, f->sp)) {
        *saved = UNWIND_NEVER;
        return UNWIND_DECLINED;
    }
    if (rule.saved != UNWIND_BP_SAME) {
        bp_at = (rule.saved == UNWIND_BP_AT_CFA ? cfa : f->bp) + (uintptr_t)(intptr_t)rule.bp;
        f->bp = *(uintptr_t *)bp_at;
    }
    *saved = bp_at;
    f->pc = *(uintptr_t *)(cfa - 8);
    f->sp = cfa;
    return f->pc ? UNWIND_STEPPED : UNWIND_ENDED;
}

/* Shadows. ------------------------------------------------------------------------------------- */

typedef struct unwind_known {
    unwind_frame frame;
    uintptr_t saved;             /* of the step to the next outer frame */
} unwind_known;

enum { UNWIND_KNOWN = 240, UNWIND_GUARD = 4096, UNWIND_STACK = 64 * 1024 };

/* `known` is the last stack, outermost first, and frames further out from earlier stacks. Each frame led to the one
   before it. `fresh` are frames of the present stack that are not in `known`, innermost first. */
typedef struct unwind_shadow {
    struct unwind_shadow *next, *next_free;
    unwind_stats stats;
    uint32_t generation, count;
    bool whole;                  /* known[0] is the outermost frame of the thread */
    unwind_known known[UNWIND_KNOWN], fresh[UNWIND_FRAMES];
} unwind_shadow;

/* The parts of one mapping. A guard page stops the stack above it from growing too far. Then the stack, the shadow,
   and bytes for the user of this file, zeros at first. */
typedef struct unwind_room {
    char guard[UNWIND_GUARD], stack[UNWIND_STACK];
    unwind_shadow shadow;
    uint64_t bytes[UNWIND_BYTES / 8];
} unwind_room;

static __thread unwind_shadow *unwind_own __attribute__((tls_model("initial-exec")));
static unwind_shadow *unwind_shadows, *unwind_free; /* all shadows; shadows of ended threads */
static pthread_mutex_t unwind_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t unwind_key;

static unwind_room *unwind_room_of(unwind_shadow *s) {
    return (unwind_room *)(void *)((char *)s - offsetof(unwind_room, shadow));
}

static void unwind_thread_ends(void *shadow) {
    uint64_t signals = aside_signals_wait(); /* their handlers may need a shadow, and so the lock */
    unwind_own = NULL;
    pthread_mutex_lock(&unwind_lock);
    ((unwind_shadow *)shadow)->next_free = unwind_free;
    unwind_free = shadow;
    pthread_mutex_unlock(&unwind_lock);
    aside_signals_go(signals);
}

static unwind_shadow *unwind_make_shadow(void) {
    unwind_room *room = mmap(NULL, sizeof *room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return NULL;
    mprotect(room->guard, sizeof room->guard, PROT_NONE);
    room->shadow.next = unwind_shadows;
    unwind_shadows = &room->shadow;
    return unwind_shadows;
}

static unwind_shadow *unwind_take_shadow(void) {
    unwind_shadow *s;
    pthread_mutex_lock(&unwind_lock);
    s = unwind_free;
    if (s) unwind_free = s->next_free;
    else s = unwind_make_shadow();
    pthread_mutex_unlock(&unwind_lock);
    if (!s) return NULL;
    s->count = 0;
    memset(unwind_room_of(s)->bytes, 0, UNWIND_BYTES);
    unwind_own = s;
    pthread_setspecific(unwind_key, s);
    return s;
}

/* The thread's bytes; NULL: out of memory. Not for a signal handler that interrupts this file's functions. */
static void *unwind_bytes_of_thread(void) {
    unwind_shadow *s = unwind_own;
    if (!s && (!unwind_sets || !(s = unwind_take_shadow()))) return NULL;
    return unwind_room_of(s)->bytes;
}

/* Runs a function on the stack of the thread's shadow, with signals blocked. False: no shadow, and !may_make. A
   signal handler that interrupts this file's functions must not make one. The function must not call this again. */
static bool unwind_aside(aside_fn *run, void *argument, bool may_make) {
    unwind_shadow *s = unwind_own;
    if (!s && (!may_make || !unwind_sets || !(s = unwind_take_shadow()))) return false;
    aside(unwind_room_of(s)->stack, UNWIND_STACK, run, argument);
    return true;
}

/* Called before any other function, while there is one thread. `told` (may be NULL) is called for each program
   counter that a thread meets for the first time, and perhaps again. It runs on the stack that unwind_aside lends. */
static void unwind_start(void (*told)(uintptr_t pc)) {
    unwind_told = told;
    void *sets = mmap(NULL, UNWIND_SETS * sizeof *unwind_sets, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sets != MAP_FAILED && pthread_key_create(&unwind_key, unwind_thread_ends) == 0) unwind_sets = sets;
}

/* Around fork. */
static void unwind_fork_prepare(void) { pthread_mutex_lock(&unwind_lock); }
static void unwind_fork_done(void) { pthread_mutex_unlock(&unwind_lock); }

/* In a forked child: counters begin at 0. */
static void unwind_clear_stats(void) {
    for (unwind_shadow *s = unwind_shadows; s; s = s->next) memset(&s->stats, 0, sizeof s->stats);
}

/* Called after an object was unloaded: another object may be loaded at its addresses. Objects that libc unloads by
   itself (its converters of character sets) are missed. */
static void unwind_forget(void) {
    if (__atomic_add_fetch(&unwind_generation, 1, __ATOMIC_RELEASE) << 16 || !unwind_sets) return;
    for (size_t i = 0; i < UNWIND_SETS; i++) /* the part of the generation in slots wraps around */
        for (size_t k = 0; k < UNWIND_WAYS; k++)
            __atomic_store_n(&unwind_sets[i][k].check, 0, __ATOMIC_RELAXED);
}

/* The calling thread's counts since its last call of this. */
static void unwind_take_stats(unwind_stats *taken) {
    if (!unwind_own) return;
    *taken = unwind_own->stats;
    memset(&unwind_own->stats, 0, sizeof unwind_own->stats);
}

/* Puts the fresh frames inside the first `kept` known ones. */
static void unwind_remember(unwind_shadow *s, uint32_t kept, uint32_t fresh) {
    if (kept + fresh > UNWIND_KNOWN) {
        uint32_t dropped = kept - (kept < UNWIND_KNOWN / 2 - 20 ? kept : UNWIND_KNOWN / 2 - 20);
        memmove(s->known, s->known + dropped, (kept - dropped) * sizeof *s->known);
        kept -= dropped;
        s->whole = false;
    }
    s->count = kept + fresh;
    for (uint32_t i = 0; i < fresh; i++) s->known[kept + i] = s->fresh[fresh - 1 - i];
}

static inline bool unwind_is_same(const unwind_frame *a, unwind_frame b) {
    return !((a->pc ^ b.pc) | (a->sp ^ b.sp) | (a->bp ^ b.bp));
}

/* Follows known frames outward from known[at] while each leads to the same caller as before, at most `most` frames.
   Returns their number, with known[at]. Each frame is unchanged, so its two words are readable. */
static uint32_t unwind_follow(const unwind_shadow *s, uint32_t at, const void **pcs, size_t most) {
    const unwind_known *known = &s->known[at];
    uint32_t n = 1;
    if (most > at + 1) most = at + 1;
    pcs[0] = (const void *)known->frame.pc;
    for (; n < most && known->saved != UNWIND_NEVER; known--) {
        const unwind_frame *caller = &known[-1].frame;
        const uintptr_t *bp_at = known->saved ? (const uintptr_t *)known->saved : &caller->bp;
        if ((*(const uintptr_t *)(caller->sp - 8) ^ caller->pc) | (*bp_at ^ caller->bp)) break;
        pcs[n++] = (const void *)caller->pc;
    }
    return n;
}

/* Program counters outward from f: f.pc first, at most `capacity` or UNWIND_FRAMES. Returns 0 if rules cannot unwind
   this stack. Not re-entrant, for example by a signal handler. */
static size_t unwind_from(unwind_frame f, const void **pcs, size_t capacity) {
    unwind_shadow *s = unwind_own;
    uint32_t generation = __atomic_load_n(&unwind_generation, __ATOMIC_ACQUIRE);
    uint32_t k, fresh = 0, run = 0; /* known[k - 1] is compared next; a run of frames begins there */
    unwind_result result = UNWIND_STEPPED;
    unwind_walk walk = { false, false, 0 };
    size_t n = 0;
    if (!unwind_sets || (!s && !(s = unwind_take_shadow()))) return 0;
    if (capacity > UNWIND_FRAMES) capacity = UNWIND_FRAMES;
    if (s->generation != generation) s->generation = generation, s->count = 0;
    for (k = s->count; result == UNWIND_STEPPED && n < capacity; run = 0) {
        while (k && s->known[k - 1].frame.sp < f.sp) k--;
        if (k && unwind_is_plain(&walk) && unwind_is_same(&s->known[k - 1].frame, f)) {
            run = unwind_follow(s, k - 1, pcs + n, capacity - n);
            s->stats.shadowed += run;
            n += run;
            if (n == capacity) break;
            if (run == k && s->whole) {
                result = UNWIND_ENDED;
                break;
            }
            f = s->known[k - run].frame;
            for (uint32_t i = 0; i < run; i++) s->fresh[fresh++] = s->known[k - 1 - i];
        } else {
            pcs[n++] = (const void *)f.pc;
            s->fresh[fresh].frame = f;
            s->fresh[fresh++].saved = UNWIND_NEVER;
        }
        if (n < capacity) result = unwind_step(&f, &walk, &s->fresh[fresh - 1].saved, &s->stats);
    }
    s->stats.stacks++;
    if (result == UNWIND_DECLINED) {
        s->stats.declined++;
        return 0;
    }
    s->stats.frames += n;
    if (!run) s->whole = result == UNWIND_ENDED;
    unwind_remember(s, run ? k : 0, fresh);
    return n;
}

#else

static void unwind_start(void (*told)(uintptr_t pc)) { (void)told; }
static void unwind_fork_prepare(void) {}
static void unwind_fork_done(void) {}
static void unwind_clear_stats(void) {}
static void unwind_forget(void) {}
static void unwind_take_stats(unwind_stats *taken) { (void)taken; }
static void *unwind_bytes_of_thread(void) {
    static __thread uint64_t bytes[UNWIND_BYTES / 8] __attribute__((tls_model("initial-exec")));
    return bytes;
}
static bool unwind_aside(aside_fn *run, void *argument, bool may_make) {
    uint64_t before = aside_signals_wait();
    (void)may_make;
    run(argument);
    aside_signals_go(before);
    return true;
}
static size_t unwind_from(unwind_frame f, const void **pcs, size_t capacity) {
    (void)f, (void)pcs, (void)capacity;
    return 0;
}

#endif
#endif
