/* Call stacks of heap profiles as text: reads them, stores each once, and adds them to the heaps. */
#ifndef HEAPDUMP_HEAP_TEXT_STACKS_H
#define HEAPDUMP_HEAP_TEXT_STACKS_H

#include "heap_text_amounts.h"

/* "0x4b4b95 0x461121". *good is false if an address is malformed. */
static hd_status heap_text_addresses(heap_text *t, bool *good) {
    hd_lines *l = &t->lines;
    t->depth = 0;
    *good = false;
    while (!hd_lines_done(l)) {
        uint64_t address = 0;
        const char *wrong = "an address: 0x and hexadecimal digits";
        if (hd_lines_take(l, "0x")) wrong = hd_lines_number(l, 16, &address);
        if (!wrong && l->at < l->end && *l->at != ' ' && *l->at != '\r' && *l->at != '\t')
            wrong = "a space after an address";
        if (wrong) return hd_lines_wrong(l, wrong);
        if (!ROOM(l, t->stack, t->depth, 1, t->stack_room)) return l->err->status;
        t->stack[t->depth++] = address;
    }
    *good = true;
    return HD_OK;
}

static uint64_t heap_text_hash(const heap_text *t, uint32_t caller, uint64_t address) {
    return t->factor[0] * caller + t->factor[1] * (uint32_t)address + t->factor[2] * (address >> 32);
}

/* The slot of a call, or the free slot for it. */
static uint64_t *heap_text_slot(const heap_text *t, uint64_t hash, uint32_t caller, uint64_t address) {
    size_t mask = t->slot_count - 1, i = (size_t)(hash >> 32) & mask;
    for (; t->slots[i]; i = (i + 1) & mask) {
        const heap_text_call *call = &t->calls[(uint32_t)t->slots[i]];
        if (t->slots[i] >> 32 == hash >> 32 && call->caller == caller && call->address == address) break;
    }
    return &t->slots[i];
}

/* Doubles the slots. At least half of them stay free. */
static hd_status heap_text_more_slots(heap_text *t) {
    size_t old_count = t->slot_count, none = 0;
    uint64_t *old = t->slots, *slots = NULL;
    if (!ROOM(&t->lines, slots, 0, old_count ? 2 * old_count : 64, none)) return t->lines.err->status;
    t->slots = slots;
    t->slot_count = none;
    memset(t->slots, 0, none * sizeof *old);
    for (size_t i = 0; i < old_count; i++) {
        const heap_text_call *call = old[i] ? &t->calls[(uint32_t)old[i]] : NULL;
        if (call)
            *heap_text_slot(t, heap_text_hash(t, call->caller, call->address), call->caller, call->address) = old[i];
    }
    room_free(&t->lines, old, old_count, sizeof *old);
    return HD_OK;
}

/* Finds or makes the number of a call. */
static hd_status heap_text_number(heap_text *t, uint32_t caller, uint64_t address, uint32_t *number) {
    uint64_t hash = heap_text_hash(t, caller, address), *slot;
    heap_text_call call = { address, caller, HD_NONE };
    if (2 * (t->call_count + 1) > t->slot_count && heap_text_more_slots(t)) return t->lines.err->status;
    slot = heap_text_slot(t, hash, caller, address);
    if (!*slot) {
        if (t->call_count >= HD_NONE - 2) return room_full(&t->lines, "frames");
        if (!ROOM(&t->lines, t->calls, t->call_count, 2, t->call_room)) return t->lines.err->status;
        if (!t->call_count) t->calls[t->call_count++] = (heap_text_call){ 0, 0, 0 };
        *slot = hash >> 32 << 32 | (uint32_t)t->call_count;
        t->calls[t->call_count++] = call;
    }
    *number = (uint32_t)*slot;
    return HD_OK;
}

/* The number of the stack's innermost call. */
static hd_status heap_text_look_up(heap_text *t, uint32_t *number) {
    hd_status status = HD_OK;
    *number = 0;
    for (size_t i = t->depth; i-- && !status;) {
        uint64_t address = t->stack[i];
        status = heap_text_number(t, *number, address - (address != 0), number);
    }
    return status;
}

/* The path of a stack that Go names. Frames without a name belong to Go's runtime, and are left out. */
static hd_status heap_text_path(heap_text *t, hd_profile *p, uint32_t *node) {
    hd_status status = HD_OK;
    *node = 0;
    for (size_t i = t->named_count; i-- && !status;) {
        hd_str name = { t->names.data + t->named[i].at, t->named[i].length };
        status = hd_profile_node(p, HD_AXIS_BACKTRACE, *node, name, node, t->lines.err);
    }
    return status;
}

static void heap_text_sum(hd_amount *sum, const hd_amount *a) {
    sum->bytes = a->bytes > UINT64_MAX - sum->bytes ? UINT64_MAX : sum->bytes + a->bytes;
    sum->blocks = a->blocks > UINT64_MAX - sum->blocks ? UINT64_MAX : sum->blocks + a->blocks;
}

/* Adds an amount to a profile. Reports amounts beyond 64 bits. */
static hd_status heap_text_put(heap_text *t, hd_profile *p, uint32_t node, const heap_text_held *held, bool fits) {
    hd_error found = HD_ZERO;
    hd_status status = HD_OVERFLOW;
    snprintf(found.message, sizeof found.message, "a scaled size of at most 64 bits expected");
    if (fits) status = hd_profile_add_amount(p, &node, &held->amount, &found);
    if (status != HD_OVERFLOW) {
        if (status) *t->lines.err = found;
        return status;
    }
    found.status = HD_OVERFLOW;
    found.offset = held->offset;
    found.line = held->line;
    return hd_report(t->lines.reporter, &found, t->lines.err);
}

/* Adds a stack to one heap; `call` is its innermost call. */
static hd_status heap_text_add_one(heap_text *t, int heap, uint32_t call) {
    heap_text_held held = { t->offset, t->line, t->amount[heap], call };
    hd_status status;
    uint32_t node = 0;
    bool fits;
    if (!t->kept[heap]) return HD_OK;
    heap_text_sum(&t->sum[heap], &held.amount);
    fits = heap_text_estimate(t, heap, &held.amount);
    if (!fits) return heap_text_put(t, NULL, 0, &held, false);
    if (!held.amount.blocks && !held.amount.bytes) return HD_OK;
    if (t->named_count) {
        status = heap_text_path(t, t->profile[heap], &node);
        return status ? status : heap_text_put(t, t->profile[heap], node, &held, true);
    }
    if (!ROOM(&t->lines, t->held[heap], t->held_count[heap], 1, t->held_room[heap]))
        return t->lines.err->status;
    t->held[heap][t->held_count[heap]++] = held;
    return HD_OK;
}

/* Ends the stack being read. */
static hd_status heap_text_add(heap_text *t) {
    hd_status status = HD_OK;
    uint32_t call = 0;
    if (!t->has_stack) return HD_OK;
    t->has_stack = false;
    t->differs |= t->kept[LIVE] && t->kept[TOTAL] && memcmp(&t->amount[LIVE], &t->amount[TOTAL], sizeof *t->amount);
    if (!t->named_count) status = heap_text_look_up(t, &call);
    for (int i = LIVE; i < HEAPS && !status; i++) status = heap_text_add_one(t, i, call);
    t->named_count = t->names.size = 0;
    return status;
}

static void heap_text_begin(heap_text *t) {
    hd_lines *l = &t->lines;
    t->offset = hd_lines_offset(l) - (uint64_t)(l->at - l->start);
    t->line = l->number;
    t->has_stack = true;
}

/* Keeps bytes in names, at *at. */
static hd_status heap_text_keep(heap_text *t, const char *data, size_t length, size_t *at) {
    *at = t->names.size;
    return room_keep(&t->lines, &t->names, data, length) ? HD_OK : t->lines.err->status;
}

/* The text before the next tab. Skips the tabs. */
static hd_str heap_text_column(hd_lines *l) {
    hd_str column = { l->at, 0 };
    while (l->at < l->end && *l->at != '\t') l->at++;
    column.len = (size_t)(l->at - column.data);
    while (l->at < l->end && *l->at == '\t') l->at++;
    return column;
}

/* The length of the text before the last `last`, or of the whole text. */
static size_t heap_text_before(hd_str text, char last) {
    for (size_t i = text.len; i--;)
        if (text.data[i] == last) return i;
    return text.len;
}

/* "#\t0x4b4712\tmain.table+0xb2\t\theapsample/main.go:33" becomes "main.table (heapsample/main.go:33)". */
static hd_status heap_text_go_frame(heap_text *t) {
    hd_lines *l = &t->lines;
    hd_str address, name, file;
    heap_text_name *n;
    size_t at;
    hd_status status;
    if (!t->has_stack || !hd_lines_take(l, "#\t")) return HD_OK;
    address = heap_text_column(l);
    name = heap_text_column(l);
    file = heap_text_column(l);
    name.len = heap_text_before(name, '+');
    if (!name.len) name = address;
    if (!name.len) return HD_OK;
    if (!ROOM(l, t->named, t->named_count, 1, t->named_room)) return l->err->status;
    n = &t->named[t->named_count];
    status = heap_text_keep(t, name.data, name.len, &n->at);
    if (!status && file.len) {
        status = heap_text_keep(t, " (", 2, &at);
        if (!status) status = heap_text_keep(t, file.data, file.len, &at);
        if (!status) status = heap_text_keep(t, ")", 1, &at);
    }
    n->length = t->names.size - n->at;
    t->named_count++;
    return status;
}

#endif
