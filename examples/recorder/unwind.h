/* Return addresses of the calling thread's stack: exact, and cheap enough for every malloc.

   Where a frame's caller is follows from the frame's program counter, stack pointer and frame pointer,
   and from two words on the stack: the return address and the saved frame pointer. Which ones is said
   by the call frame information (.eh_frame) of the object; it is interpreted once per program counter
   and kept as a rule of 8 bytes in a table that all threads share.

   Most frames are those of the thread's last stack. A thread keeps that as its shadow: a frame whose
   three registers are as they were, and whose two words are as they were, has the same caller as it
   had, whatever happened in between (longjmp, exceptions, other coroutines). So all but the innermost
   frames cost two compares each. Rules and shadows are dropped when objects are unloaded.

   What has no call frame information (JIT code) is followed by its frame pointer, when that points into
   the stack just above. What has some that rules cannot hold is left to the caller of unwind_from.

   The thread's stack gets little on it: information is interpreted on another stack, which comes with the
   shadow, and which unwind_aside lends.
   x86-64 and ELF; elsewhere unwind_from always declines, and unwind_aside has no other stack. */

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

enum { UNWIND_FRAMES = 130 };    /* of one stack */
enum { UNWIND_BYTES = 5632 };    /* of a thread, for whoever uses this */

typedef struct unwind_stats {
    uint64_t stacks, frames;
    uint64_t shadowed;           /* frames found in the shadow */
    uint64_t rules;              /* frames whose call frame information was interpreted */
    uint64_t declined;           /* stacks left to the caller */
} unwind_stats;

#ifdef DLFO_STRUCT_HAS_EH_DBASE
extern int _dl_find_object(void *pc, struct dl_find_object *found) __attribute__((weak));
#endif

#if defined(__x86_64__) && defined(__ELF__)

/* Rules. --------------------------------------------------------------------------------------- */

typedef enum unwind_kind {
    UNWIND_UNKNOWN,              /* no rule yet */
    UNWIND_SP,                   /* the caller's stack pointer is sp + cfa */
    UNWIND_BP,                   /* it is bp + cfa */
    UNWIND_AT_BP,                /* it is the word at bp + cfa: functions that align their stack */
    UNWIND_POINTER,              /* no information: as UNWIND_BP, when bp is a frame pointer */
    UNWIND_SIGNAL,               /* the registers are in a ucontext at sp */
    UNWIND_END,                  /* the outermost frame */
    UNWIND_FOREIGN               /* not for rules */
} unwind_kind;

enum { UNWIND_BP_SAME, UNWIND_BP_AT_CFA, UNWIND_BP_AT_BP };

typedef struct unwind_rule {
    int32_t cfa;
    int16_t bp;                  /* the caller's bp is at cfa + bp, or at bp + bp */
    uint8_t kind, saved;
} unwind_rule;

/* A slot holds pc, generation and rule xored beside the rule, so that a slot of which another thread has
   written half is a miss, as is one from before an object was unloaded. A set is a cache line. */
enum { UNWIND_SETS = 1 << 14, UNWIND_WAYS = 4 };
typedef struct unwind_slot {
    uint64_t check, rule;
} unwind_slot;
static unwind_slot (*unwind_sets)[UNWIND_WAYS]; /* NULL: declines everything */
static uint32_t unwind_generation = 1; /* counts what unloading makes void */

/* Call frame information. ---------------------------------------------------------------------- */

typedef struct unwind_bytes {
    const uint8_t *at, *end;
} unwind_bytes;

static uint64_t unwind_uleb(unwind_bytes *b) {
    uint64_t value = 0;
    for (unsigned shift = 0; b->at < b->end; shift += 7) {
        uint8_t byte = *b->at++;
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) break;
    }
    return value;
}

static int64_t unwind_sleb(unwind_bytes *b) {
    uint64_t value = 0;
    for (unsigned shift = 0; b->at < b->end;) {
        uint8_t byte = *b->at++;
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte & 0x80) continue;
        if (byte & 0x40 && shift < 64) value |= ~(uint64_t)0 << shift;
        break;
    }
    return (int64_t)value;
}

static uint64_t unwind_fixed(unwind_bytes *b, size_t n) {
    uint64_t value = 0;
    if ((size_t)(b->end - b->at) < n) b->at = b->end;
    else memcpy(&value, b->at, n), b->at += n;
    return value;
}

/* A pointer in one of the encodings of .eh_frame, without the indirect ones; `base` is what
   data-relative ones are relative to. */
static uintptr_t unwind_pointer(unwind_bytes *b, uint8_t encoding, uintptr_t base) {
    uintptr_t origin = (encoding & 0x70) == 0x10 ? (uintptr_t)b->at : (encoding & 0x70) == 0x30 ? base : 0;
    switch (encoding & 0x0f) {
    case 0x00: case 0x04: case 0x0c: return origin + unwind_fixed(b, 8);
    case 0x01: return origin + unwind_uleb(b);
    case 0x02: return origin + unwind_fixed(b, 2);
    case 0x03: return origin + unwind_fixed(b, 4);
    case 0x09: return origin + (uintptr_t)unwind_sleb(b);
    case 0x0a: return origin + (uintptr_t)(int16_t)unwind_fixed(b, 2);
    case 0x0b: return origin + (uintptr_t)(int32_t)unwind_fixed(b, 4);
    }
    b->at = b->end;
    return 0;
}

/* What the rules of a frame are at one point of its function's program. */
typedef struct unwind_row {
    uint64_t cfa_register;
    int64_t cfa, bp;
    bool cfa_at_bp, cfa_foreign, bp_foreign, ra_foreign, ra_undefined;
    uint8_t saved;
} unwind_row;

enum { UNWIND_RBP = 6, UNWIND_RSP = 7, UNWIND_RA = 16 };

/* breg6 N, or breg6 N deref: what functions that align their stack say. */
static bool unwind_expression(unwind_bytes *b, bool deref, int64_t *offset) {
    uint64_t length = unwind_uleb(b);
    unwind_bytes e = { b->at, b->end };
    if (length > (uint64_t)(b->end - b->at)) length = (uint64_t)(b->end - b->at);
    b->at += length;
    e.end = b->at;
    if (unwind_fixed(&e, 1) != 0x70 + UNWIND_RBP) return false;
    *offset = unwind_sleb(&e);
    return (!deref || unwind_fixed(&e, 1) == 0x06) && e.at == e.end;
}

/* A register other than those that matter is passed over. */
static void unwind_saved(unwind_row *row, uint64_t reg, int64_t offset, bool foreign) {
    if (reg == UNWIND_RBP) {
        row->saved = UNWIND_BP_AT_CFA;
        row->bp = offset;
        row->bp_foreign = foreign;
    } else if (reg == UNWIND_RA) {
        row->ra_foreign = foreign || offset != -8;
    }
}

static void unwind_restored(unwind_row *row, uint64_t reg, const unwind_row *initial) {
    if (reg == UNWIND_RBP) {
        row->saved = initial->saved;
        row->bp = initial->bp;
        row->bp_foreign = initial->bp_foreign;
    } else if (reg == UNWIND_RA) {
        row->ra_foreign = initial->ra_foreign;
        row->ra_undefined = initial->ra_undefined;
    }
}

typedef struct unwind_cie {
    uint64_t code_align;
    int64_t data_align;
    uint8_t encoding;
    bool has_length, is_signal;
    unwind_bytes program;
} unwind_cie;

/* Runs a program of call frame instructions up to the row of pc; false when it holds what this does
   not know. */
static bool unwind_run(const unwind_cie *cie, unwind_bytes b, uintptr_t at, uintptr_t pc, unwind_row *row,
                       const unwind_row *initial) {
    unwind_row kept[8];
    unsigned depth = 0;
    while (b.at < b.end && at <= pc) {
        uint8_t op = *b.at++, low = op & 0x3f;
        uint64_t reg;
        int64_t offset = 0;
        switch (op & 0xc0 ? op & 0xc0 : op) {
        case 0x40: at += low * cie->code_align; break;
        case 0x80: unwind_saved(row, low, (int64_t)unwind_uleb(&b) * cie->data_align, false); break;
        case 0xc0: unwind_restored(row, low, initial); break;
        case 0x00: break;                                                        /* nop */
        case 0x01: at = unwind_pointer(&b, cie->encoding, 0); break;             /* set_loc */
        case 0x02: at += unwind_fixed(&b, 1) * cie->code_align; break;           /* advance_loc1, 2, 4 */
        case 0x03: at += unwind_fixed(&b, 2) * cie->code_align; break;
        case 0x04: at += unwind_fixed(&b, 4) * cie->code_align; break;
        case 0x05:                                                               /* offset_extended */
            reg = unwind_uleb(&b);
            unwind_saved(row, reg, (int64_t)unwind_uleb(&b) * cie->data_align, false);
            break;
        case 0x06: unwind_restored(row, unwind_uleb(&b), initial); break;        /* restore_extended */
        case 0x07:                                                               /* undefined */
            reg = unwind_uleb(&b);
            if (reg == UNWIND_RA) row->ra_undefined = true;
            if (reg == UNWIND_RBP) row->saved = UNWIND_BP_SAME, row->bp_foreign = false;
            break;
        case 0x08:                                                               /* same_value */
            if (unwind_uleb(&b) == UNWIND_RBP) row->saved = UNWIND_BP_SAME, row->bp_foreign = false;
            break;
        case 0x09:                                                               /* register */
            reg = unwind_uleb(&b);
            unwind_uleb(&b);
            unwind_saved(row, reg, 0, true);
            break;
        case 0x0a:                                                               /* remember_state */
            if (depth == sizeof kept / sizeof *kept) return false;
            kept[depth++] = *row;
            break;
        case 0x0b:                                                               /* restore_state */
            if (!depth) return false;
            *row = kept[--depth];
            break;
        case 0x0c: case 0x12:                                                    /* def_cfa, _sf */
            row->cfa_register = unwind_uleb(&b);
            row->cfa = op == 0x0c ? (int64_t)unwind_uleb(&b) : unwind_sleb(&b) * cie->data_align;
            row->cfa_at_bp = row->cfa_foreign = false;
            break;
        case 0x0d: row->cfa_register = unwind_uleb(&b); break;                   /* def_cfa_register */
        case 0x0e: row->cfa = (int64_t)unwind_uleb(&b); break;                   /* def_cfa_offset, _sf */
        case 0x13: row->cfa = unwind_sleb(&b) * cie->data_align; break;
        case 0x0f:                                                               /* def_cfa_expression */
            row->cfa_at_bp = unwind_expression(&b, true, &row->cfa);
            row->cfa_foreign = !row->cfa_at_bp;
            break;
        case 0x10:                                                               /* expression */
            reg = unwind_uleb(&b);
            if (unwind_expression(&b, false, &offset) && reg == UNWIND_RBP) {
                row->saved = UNWIND_BP_AT_BP;
                row->bp = offset;
                row->bp_foreign = false;
            } else {
                unwind_saved(row, reg, 0, true);
            }
            break;
        case 0x11:                                                               /* offset_extended_sf */
            reg = unwind_uleb(&b);
            unwind_saved(row, reg, unwind_sleb(&b) * cie->data_align, false);
            break;
        case 0x14: case 0x15:                                                    /* val_offset, _sf */
            reg = unwind_uleb(&b);
            unwind_uleb(&b);
            unwind_saved(row, reg, 0, true);
            break;
        case 0x16:                                                               /* val_expression */
            reg = unwind_uleb(&b);
            unwind_expression(&b, false, &offset);
            unwind_saved(row, reg, 0, true);
            break;
        case 0x2e: unwind_uleb(&b); break;                                       /* GNU_args_size */
        default: return false;
        }
    }
    return true;
}

/* The length of the entry at b, which is left behind its length; 0 at the end. 64-bit lengths are not
   used in .eh_frame. */
static uint32_t unwind_entry(unwind_bytes *b) {
    uint32_t length;
    memcpy(&length, b->at, 4);
    if (length == 0xffffffff) length = 0;
    b->at += 4;
    b->end = b->at + length;
    return length;
}

static bool unwind_read_cie(const uint8_t *from, unwind_cie *cie) {
    unwind_bytes b = { from, from + 4 };
    const char *augmentation;
    if (!unwind_entry(&b) || unwind_fixed(&b, 4) != 0) return false;
    memset(cie, 0, sizeof *cie);
    uint64_t version = unwind_fixed(&b, 1);
    if (version != 1 && version != 3) return false;
    augmentation = (const char *)b.at;
    b.at += strlen(augmentation) + 1;
    cie->code_align = unwind_uleb(&b);
    cie->data_align = unwind_sleb(&b);
    if ((version == 1 ? unwind_fixed(&b, 1) : unwind_uleb(&b)) != UNWIND_RA) return false;
    if (*augmentation == 'z') {
        unwind_uleb(&b);
        cie->has_length = true;
        augmentation++;
    }
    for (; *augmentation; augmentation++) {
        uint8_t encoding;
        switch (*augmentation) {
        case 'R': cie->encoding = (uint8_t)unwind_fixed(&b, 1); break;
        case 'L': unwind_fixed(&b, 1); break;
        case 'P':
            encoding = (uint8_t)unwind_fixed(&b, 1);
            unwind_pointer(&b, encoding, 0);
            break;
        case 'S': cie->is_signal = true; break;
        default: return false;
        }
    }
    cie->program = b;
    return true;
}

/* The entry of the binary search table of .eh_frame_hdr that may hold pc; NULL when there is none. */
static const uint8_t *unwind_find_fde(const uint8_t *header, uintptr_t pc) {
    unwind_bytes b = { header + 4, header + 64 };
    uintptr_t base = (uintptr_t)header;
    size_t low = 0, high;
    if (header[0] != 1 || header[3] != 0x3b) return NULL;      /* data-relative, signed, 4 bytes */
    unwind_pointer(&b, header[1], base);
    high = unwind_pointer(&b, header[2], base);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int32_t start;
        memcpy(&start, b.at + 8 * middle, 4);
        if (base + (uintptr_t)(intptr_t)start <= pc) low = middle + 1;
        else high = middle;
    }
    if (!low) return NULL;
    int32_t fde;
    memcpy(&fde, b.at + 8 * (low - 1) + 4, 4);
    return header + fde;
}

static unwind_rule unwind_of_kind(unwind_kind kind) {
    unwind_rule rule = { .kind = (uint8_t)kind };
    return rule;
}

static unwind_rule unwind_of_row(const unwind_row *row) {
    unwind_rule rule = unwind_of_kind(UNWIND_FOREIGN);
    if (row->ra_undefined) return unwind_of_kind(UNWIND_END);
    if (row->ra_foreign || row->bp_foreign || row->cfa_foreign) return rule;
    if (row->cfa != (int32_t)row->cfa || row->bp != (int16_t)row->bp) return rule;
    rule.cfa = (int32_t)row->cfa;
    rule.bp = (int16_t)row->bp;
    rule.saved = row->saved;
    if (row->cfa_at_bp) rule.kind = UNWIND_AT_BP;
    else if (row->cfa_register == UNWIND_RSP) rule.kind = UNWIND_SP;
    else if (row->cfa_register == UNWIND_RBP) rule.kind = UNWIND_BP;
    return rule;
}

/* .eh_frame_hdr of the object that pc lies in. */
typedef struct unwind_object {
    uintptr_t pc;
    const uint8_t *header;
} unwind_object;

static int unwind_each_object(struct dl_phdr_info *info, size_t size, void *user) {
    unwind_object *o = user;
    const uint8_t *header = NULL;
    bool inside = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + ph->p_vaddr;
        if (ph->p_type == PT_LOAD && o->pc - start < ph->p_memsz) inside = true;
        if (ph->p_type == PT_GNU_EH_FRAME) header = (const uint8_t *)start;
    }
    if (inside) o->header = header;
    return inside;
}

static const uint8_t *unwind_header(uintptr_t pc) {
    unwind_object o = { pc, NULL };
#ifdef DLFO_STRUCT_HAS_EH_DBASE
    struct dl_find_object found;
    if (_dl_find_object) return _dl_find_object((void *)pc, &found) ? NULL : found.dlfo_eh_frame;
#endif
    dl_iterate_phdr(unwind_each_object, &o);
    return o.header;
}

static bool unwind_aside(aside_fn *run, void *argument, bool may_make);

/* pc lies inside the call instruction, or is where a signal struck. */
static unwind_rule unwind_rule_of(uintptr_t pc) {
    const uint8_t *header = unwind_header(pc), *fde = header ? unwind_find_fde(header, pc) : NULL;
    unwind_bytes b = { fde, fde ? fde + 4 : NULL };
    unwind_row row = { 0 }, initial;
    unwind_cie cie;
    uintptr_t start;
    if (header && (header[0] != 1 || header[3] != 0x3b)) return unwind_of_kind(UNWIND_FOREIGN);
    if (!fde || !unwind_entry(&b)) return unwind_of_kind(UNWIND_POINTER);
    const uint8_t *cie_at = b.at;
    cie_at -= unwind_fixed(&b, 4);
    if (!unwind_read_cie(cie_at, &cie)) return unwind_of_kind(UNWIND_FOREIGN);
    start = unwind_pointer(&b, cie.encoding, 0);
    if (pc - start >= unwind_pointer(&b, cie.encoding & 0x0f, 0)) return unwind_of_kind(UNWIND_POINTER);
    if (cie.is_signal) return unwind_of_kind(UNWIND_SIGNAL);
    if (cie.has_length) {
        uint64_t length = unwind_uleb(&b);
        b.at += length < (uint64_t)(b.end - b.at) ? length : (uint64_t)(b.end - b.at);
    }
    if (!unwind_run(&cie, cie.program, 0, UINTPTR_MAX, &row, &row)) return unwind_of_kind(UNWIND_FOREIGN);
    initial = row;
    if (!unwind_run(&cie, b, start, pc, &row, &initial)) return unwind_of_kind(UNWIND_FOREIGN);
    return unwind_of_row(&row);
}

/* What is to be interpreted, and on whose stack. */
typedef struct unwind_query {
    uintptr_t pc;
    unwind_rule rule;
} unwind_query;

/* Is told of code whose rules are asked for; NULL: nobody is. */
static void (*unwind_told)(uintptr_t pc);

static void unwind_answer(void *query) {
    unwind_query *q = query;
    if (unwind_told) unwind_told(q->pc);
    q->rule = unwind_rule_of(q->pc);
}

/* The rule at a return address that no slot of its set has, which one of them gets; not where a signal struck. */
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

/* What a walk knows beside the frame. */
typedef struct unwind_walk {
    bool struck;                 /* the frame's pc is where a signal struck, not a return address */
    bool guessed;                /* a frame pointer was trusted on the way: registers may be anything */
    uintptr_t readable;          /* a page that can be read */
} unwind_walk;

/* Of a walk that is no guess all words are on the stack. */
static bool unwind_readable(unwind_walk *w, uintptr_t address) {
    if (!w->guessed || address >> 12 == w->readable) return true;
    if (address & 7) return false;
    /* The kernel reads the set before it finds that there is no such operation. */
    if (syscall(SYS_rt_sigprocmask, ~0L, address, NULL, 8L) >= 0 || errno == EFAULT) return false;
    w->readable = address >> 12;
    return true;
}

typedef enum unwind_result { UNWIND_STEPPED, UNWIND_ENDED, UNWIND_DECLINED } unwind_result;

enum { UNWIND_NEVER = 1 };       /* no address: this step is always made by its rule */

/* A stack pointer that cannot be a caller's. */
static inline bool unwind_is_wild(uintptr_t cfa, uintptr_t sp) {
    return (cfa - sp - 1 >= (uintptr_t)1 << 30) | ((cfa & 7) != 0);
}

/* As unwind_step, of frames that are seldom: by any rule, and where not all is certain. */
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

/* To the caller of a frame. *saved says where its bp was found; 0: it did not change. The frame's address goes to no
   function, so that it stays in registers. */
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
    uintptr_t saved;             /* of the step to the next frame out */
} unwind_known;

enum { UNWIND_KNOWN = 240, UNWIND_GUARD = 4096, UNWIND_STACK = 64 * 1024 };

/* `known` is the last stack, outermost first, and what lay further out when the thread was there last:
   each frame led to the one before it. `fresh` are those of this stack that are not known, innermost
   first. */
typedef struct unwind_shadow {
    struct unwind_shadow *next, *next_free;
    unwind_stats stats;
    uint32_t generation, count;
    bool whole;                  /* known[0] is the outermost frame there is */
    unwind_known known[UNWIND_KNOWN], fresh[UNWIND_FRAMES];
} unwind_shadow;

/* What lies in one mapping: a guard, below which a stack must not grow, the stack, the shadow, and bytes for
   the thread that are not used here, zeros at first. */
typedef struct unwind_room {
    char guard[UNWIND_GUARD], stack[UNWIND_STACK];
    unwind_shadow shadow;
    uint64_t bytes[UNWIND_BYTES / 8];
} unwind_room;

static __thread unwind_shadow *unwind_own __attribute__((tls_model("initial-exec")));
static unwind_shadow *unwind_shadows, *unwind_free; /* all; those whose threads have ended */
static pthread_mutex_t unwind_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t unwind_key;

static unwind_room *unwind_room_of(unwind_shadow *s) {
    return (unwind_room *)(void *)((char *)s - offsetof(unwind_room, shadow));
}

static void unwind_thread_ends(void *shadow) {
    uint64_t signals = aside_signals_wait(); /* whose handlers may want a shadow, and so the lock */
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

/* The thread's bytes; NULL when there is no memory. Not in a signal handler that interrupts what is here. */
static void *unwind_bytes_of_thread(void) {
    unwind_shadow *s = unwind_own;
    if (!s && (!unwind_sets || !(s = unwind_take_shadow()))) return NULL;
    return unwind_room_of(s)->bytes;
}

/* On the stack beside the thread's shadow, signals waiting; false when there is none, and none may be made:
   a signal handler that interrupts what is here may not. Not to be entered again from inside. */
static bool unwind_aside(aside_fn *run, void *argument, bool may_make) {
    unwind_shadow *s = unwind_own;
    if (!s && (!may_make || !unwind_sets || !(s = unwind_take_shadow()))) return false;
    aside(unwind_room_of(s)->stack, UNWIND_STACK, run, argument);
    return true;
}

/* Before any other call, while there is one thread. `told` (may be NULL) is called for each program counter that
   a thread meets for the first time, and maybe again, from the stack that is lent. */
static void unwind_start(void (*told)(uintptr_t pc)) {
    unwind_told = told;
    void *sets = mmap(NULL, UNWIND_SETS * sizeof *unwind_sets, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sets != MAP_FAILED && pthread_key_create(&unwind_key, unwind_thread_ends) == 0) unwind_sets = sets;
}

/* Around fork. */
static void unwind_fork_prepare(void) { pthread_mutex_lock(&unwind_lock); }
static void unwind_fork_done(void) { pthread_mutex_unlock(&unwind_lock); }

/* In a forked child: counts from here on. */
static void unwind_clear_stats(void) {
    for (unwind_shadow *s = unwind_shadows; s; s = s->next) memset(&s->stats, 0, sizeof s->stats);
}

/* After an object was unloaded: another may come to lie where it was. What libc unloads by itself (its
   converters of character sets) is not told of. */
static void unwind_forget(void) {
    if (__atomic_add_fetch(&unwind_generation, 1, __ATOMIC_RELEASE) << 16 || !unwind_sets) return;
    for (size_t i = 0; i < UNWIND_SETS; i++) /* the part of the generation that slots hold begins again */
        for (size_t k = 0; k < UNWIND_WAYS; k++)
            __atomic_store_n(&unwind_sets[i][k].check, 0, __ATOMIC_RELAXED);
}

/* What the calling thread did since it asked last. */
static void unwind_take_stats(unwind_stats *taken) {
    if (!unwind_own) return;
    *taken = unwind_own->stats;
    memset(&unwind_own->stats, 0, sizeof unwind_own->stats);
}

/* The fresh frames go inside the first `kept` known ones. */
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

/* Goes outward from known[at] for as long as each frame leads to the one it led to, at most `most`
   frames; returns how many, known[at] included. Each is the frame it was, so that its two words can be read. */
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

/* Program counters from f outward: its own first, at most `capacity` or UNWIND_FRAMES. 0 when this
   stack is not for rules. Not to be entered again from inside, by a signal handler say. */
static size_t unwind_from(unwind_frame f, const void **pcs, size_t capacity) {
    unwind_shadow *s = unwind_own;
    uint32_t generation = __atomic_load_n(&unwind_generation, __ATOMIC_ACQUIRE);
    uint32_t k, fresh = 0, run = 0; /* known[k - 1] is next to compare; a run of frames begins there */
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
