/* Rules that lead from a frame to its caller, made from call frame information (.eh_frame).
   A part of unwind.h, which includes it once, on x86-64 and ELF. */
#ifndef UNWIND_RULES_H
#define UNWIND_RULES_H

typedef enum unwind_kind {
    UNWIND_UNKNOWN,              /* no rule yet */
    UNWIND_SP,                   /* the caller's stack pointer is sp + cfa */
    UNWIND_BP,                   /* it is bp + cfa */
    UNWIND_AT_BP,                /* it is the word at bp + cfa: functions that align their stack */
    UNWIND_POINTER,              /* no information: as UNWIND_BP, when bp is a frame pointer */
    UNWIND_SIGNAL,               /* the registers are in a ucontext at sp */
    UNWIND_END,                  /* the outermost frame */
    UNWIND_FOREIGN               /* not possible with rules */
} unwind_kind;

enum { UNWIND_BP_SAME, UNWIND_BP_AT_CFA, UNWIND_BP_AT_BP };

typedef struct unwind_rule {
    int32_t cfa;
    int16_t bp;                  /* the caller's bp is at cfa + bp, or at bp + bp */
    uint8_t kind, saved;
} unwind_rule;

/* The check word of a slot is pc, generation and rule, combined with xor. If another thread has written only half of
   a slot, the check fails and the slot is a miss. So is a slot from before an object was unloaded. A set is one cache
   line. */
enum { UNWIND_SETS = 1 << 14, UNWIND_WAYS = 4 };
typedef struct unwind_slot {
    uint64_t check, rule;
} unwind_slot;
static unwind_slot (*unwind_sets)[UNWIND_WAYS]; /* NULL: every stack is declined */
static uint32_t unwind_generation = 1; /* incremented when unloading makes rules invalid */

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

/* Reads a pointer in one of the encodings of .eh_frame, except the indirect ones. `base`: the base of data-relative
   pointers. */
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

/* The rules of a frame at one point of its function. */
typedef struct unwind_row {
    uint64_t cfa_register;
    int64_t cfa, bp;
    bool cfa_at_bp, cfa_foreign, bp_foreign, ra_foreign, ra_undefined;
    uint8_t saved;
} unwind_row;

enum { UNWIND_RBP = 6, UNWIND_RSP = 7, UNWIND_RA = 16 };

/* Reads breg6 N, or breg6 N deref: the expressions of functions that align their stack. */
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

/* Notes where a register is saved. Registers that do not matter are ignored. */
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

/* Runs an instruction about a saved register; false: it is another instruction. */
static bool unwind_run_saved(const unwind_cie *cie, uint8_t op, unwind_bytes *b, unwind_row *row,
                             const unwind_row *initial) {
    uint64_t reg;
    int64_t offset = 0;
    if (op == 0x2e) return unwind_uleb(b), true;                                 /* GNU_args_size */
    if (op < 0x05 || op > 0x16) return false;
    reg = unwind_uleb(b);
    switch (op) {
    case 0x05: unwind_saved(row, reg, (int64_t)unwind_uleb(b) * cie->data_align, false); break; /* offset_extended */
    case 0x06: unwind_restored(row, reg, initial); break;                        /* restore_extended */
    case 0x07:                                                                   /* undefined */
        if (reg == UNWIND_RA) row->ra_undefined = true;
        if (reg == UNWIND_RBP) row->saved = UNWIND_BP_SAME, row->bp_foreign = false;
        break;
    case 0x08:                                                                   /* same_value */
        if (reg == UNWIND_RBP) row->saved = UNWIND_BP_SAME, row->bp_foreign = false;
        break;
    case 0x09: case 0x14: case 0x15:                                             /* register, val_offset, _sf */
        unwind_uleb(b);
        unwind_saved(row, reg, 0, true);
        break;
    case 0x10:                                                                   /* expression */
        if (unwind_expression(b, false, &offset) && reg == UNWIND_RBP) {
            row->saved = UNWIND_BP_AT_BP;
            row->bp = offset;
            row->bp_foreign = false;
        } else {
            unwind_saved(row, reg, 0, true);
        }
        break;
    case 0x11: unwind_saved(row, reg, unwind_sleb(b) * cie->data_align, false); break; /* offset_extended_sf */
    case 0x16:                                                                   /* val_expression */
        unwind_expression(b, false, &offset);
        unwind_saved(row, reg, 0, true);
        break;
    default: return false;
    }
    return true;
}

/* Runs an instruction about the position of the frame; false: it is another instruction. */
static bool unwind_run_cfa(const unwind_cie *cie, uint8_t op, unwind_bytes *b, unwind_row *row) {
    switch (op) {
    case 0x0c: case 0x12:                                                        /* def_cfa, _sf */
        row->cfa_register = unwind_uleb(b);
        row->cfa = op == 0x0c ? (int64_t)unwind_uleb(b) : unwind_sleb(b) * cie->data_align;
        row->cfa_at_bp = row->cfa_foreign = false;
        break;
    case 0x0d: row->cfa_register = unwind_uleb(b); break;                        /* def_cfa_register */
    case 0x0e: row->cfa = (int64_t)unwind_uleb(b); break;                        /* def_cfa_offset, _sf */
    case 0x13: row->cfa = unwind_sleb(b) * cie->data_align; break;
    case 0x0f:                                                                   /* def_cfa_expression */
        row->cfa_at_bp = unwind_expression(b, true, &row->cfa);
        row->cfa_foreign = !row->cfa_at_bp;
        break;
    default: return false;
    }
    return true;
}

/* Runs a program of call frame instructions up to the row of pc; false: it has an unknown instruction. */
static bool unwind_run(const unwind_cie *cie, unwind_bytes b, uintptr_t at, uintptr_t pc, unwind_row *row,
                       const unwind_row *initial) {
    unwind_row kept[8];
    unsigned depth = 0;
    while (b.at < b.end && at <= pc) {
        uint8_t op = *b.at++, low = op & 0x3f;
        switch (op & 0xc0 ? op & 0xc0 : op) {
        case 0x40: at += low * cie->code_align; break;
        case 0x80: unwind_saved(row, low, (int64_t)unwind_uleb(&b) * cie->data_align, false); break;
        case 0xc0: unwind_restored(row, low, initial); break;
        case 0x00: break;                                                        /* nop */
        case 0x01: at = unwind_pointer(&b, cie->encoding, 0); break;             /* set_loc */
        case 0x02: at += unwind_fixed(&b, 1) * cie->code_align; break;           /* advance_loc1, 2, 4 */
        case 0x03: at += unwind_fixed(&b, 2) * cie->code_align; break;
        case 0x04: at += unwind_fixed(&b, 4) * cie->code_align; break;
        case 0x0a:                                                               /* remember_state */
            if (depth == sizeof kept / sizeof *kept) return false;
            kept[depth++] = *row;
            break;
        case 0x0b:                                                               /* restore_state */
            if (!depth) return false;
            *row = kept[--depth];
            break;
        default:
            if (!unwind_run_cfa(cie, op, &b, row) && !unwind_run_saved(cie, op, &b, row, initial)) return false;
        }
    }
    return true;
}

/* Reads the length of the entry at b, and moves b behind it; 0 at the end. .eh_frame does not use 64-bit lengths. */
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

/* The entry of the binary search table of .eh_frame_hdr that may contain pc; NULL: none. */
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

/* .eh_frame_hdr of the object that contains pc. */
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

/* The rule for pc, which lies inside a call instruction, or is where a signal struck. */
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

#endif
