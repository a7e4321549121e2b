/* Heap profiles as text: of gperftools, of tcmalloc's sampling, of Go's runtime (debug=1) and of jemalloc.

   Each stack has a line of what is live, and in brackets what was allocated since the start: a heap of either kind.
   Frames are addresses inside the calls, as OBJECT+0xOFFSET where the mapped libraries that follow the stacks say
   so: OFFSET counts as the object's own symbols do. An object that was no more in its place when it ran becomes
   "(deleted)/FILE": what is in that place by now is something else. Go names its frames itself.

   What is sampled is scaled line by line, as each program's own tool does: with n blocks of s = bytes / n each, of
   which one is met with the chance p = 1 - exp(-s / R), there were n / p blocks and bytes / p bytes. The variance is
   that of the recorder's snapshots, of each block met s * s * (1 - p) / (p * p), so n times that; it takes the
   blocks of a line for equal, as the scale does. */

#include "formats.h"

#include <math.h>
#include <sys/random.h>

#include "lines.h"

enum {
    HEAP_TEXT_PATH = 512,        /* of longer paths the file's name stays, so that names follow the input in size */
    HEAP_TEXT_LOW = 0x20000000,  /* objects that begin below are linked to be there */
    HEAP_TEXT_FULL = 1000000     /* bytes: a file of gperftools that is longer may be cut */
};

/* A mapped object, or a part of it. */
typedef struct heap_text_map {
    uint64_t start, end;
    uint64_t offset;             /* in the file; then, where its address 0 is */
    size_t path, length;         /* in names */
} heap_text_map;

/* A piece of names: a frame that Go names. */
typedef struct heap_text_name {
    size_t at, length;
} heap_text_name;

enum { LIVE, TOTAL, HEAPS };

/* A frame of a caller, whose number is lower. */
typedef struct heap_text_call {
    uint64_t address;
    uint32_t caller;             /* number 0 is none */
    uint32_t node;               /* in the profile being made; HD_NONE: not needed */
} heap_text_call;

/* What a stack holds, as estimated. Stacks have most of their frames in common, and are named when all that is mapped
   is known. */
typedef struct heap_text_held {
    uint64_t offset, line;
    hd_amount amount;
    uint32_t call;
} heap_text_held;

typedef struct heap_text {
    text_lines lines;
    uint64_t period;             /* bytes a sample; 0: nothing is left out */
    bool is_jemalloc, is_go, is_exact;
    bool differs;                /* what was allocated from what is live */
    bool has_header, has_maps;
    hd_amount header[HEAPS], sum[HEAPS]; /* as the first line, and the others, have them */
    double rest[HEAPS][2];       /* of blocks and bytes: what rounding took away */
    hd_profile *profile[HEAPS];
    heap_text_held *held[HEAPS];
    size_t held_count[HEAPS], held_room[HEAPS];
    /* The stack being read. */
    bool has_stack, kept[HEAPS]; /* kept: its numbers are well-formed */
    uint64_t offset, line;       /* where it is */
    hd_amount amount[HEAPS];
    uint64_t *stack;             /* innermost first */
    size_t depth, stack_room;
    heap_text_call *calls;
    size_t call_count, call_room;
    uint64_t *slots;             /* upper half of a hash, and number, of a call; 0: free */
    size_t slot_count;           /* a power of two */
    uint64_t factor[3];          /* odd, of the hash: chosen by chance, so that no input can aim at it */
    heap_text_name *named;       /* as Go has it, innermost first */
    size_t named_count, named_room;
    /* Objects. */
    char *names;                 /* their paths; before these come, what Go names of a stack */
    size_t names_size, names_room;
    heap_text_map *maps;
    size_t map_count, map_room;
    char name[HEAP_TEXT_PATH + 32]; /* of the last frame */
} heap_text;

int heap_text_detect(const uint8_t *bytes, size_t size) {
    static const char header[] = "heap profile:", jemalloc[] = "heap_v2/";
    if (size >= sizeof header - 1 && !memcmp(bytes, header, sizeof header - 1)) return 100;
    if (size < sizeof jemalloc || memcmp(bytes, jemalloc, sizeof jemalloc - 1)) return 0;
    return bytes[sizeof jemalloc - 1] >= '0' && bytes[sizeof jemalloc - 1] <= '9' ? 100 : 0;
}

/* Amounts. ------------------------------------------------------------------------------------- */

/* A number below 2^128, to a whole one. */
static hd_u128 heap_text_u128(double v) {
    const double two64 = 18446744073709551616.0;
    hd_u128 n = { UINT64_MAX, UINT64_MAX };
    if (v < 1) v = 0;
    if (v >= two64 * two64) return n;
    n.hi = (uint64_t)(v / two64);
    n.lo = (uint64_t)(v - (double)n.hi * two64);
    return n;
}

/* To a whole number. jeprof adds fractions up: what rounding takes away, the next number gets. pprof cuts them. */
static uint64_t heap_text_whole(double v, double *rest) {
    uint64_t whole;
    if (!rest) return (uint64_t)v;
    v += *rest;
    whole = v < 0.5 ? 0 : (uint64_t)(v + 0.5);
    *rest = v - (double)whole;
    return whole;
}

/* What the blocks that were met stand for. False: more than 64 bits. */
static bool heap_text_estimate(heap_text *t, int heap, hd_amount *a) {
    double *rest = t->is_jemalloc ? t->rest[heap] : NULL, size, chance, blocks, bytes;
    if (t->period <= 1) return true;
    if (!a->blocks || !a->bytes) return a->blocks = a->bytes = 0, true;
    size = (double)a->bytes / (double)a->blocks;
    chance = 1 - exp(-size / (double)t->period);
    if (chance <= 0) return false;
    blocks = (double)a->blocks * (1 / chance);
    bytes = (double)a->bytes * (1 / chance);
    if (blocks >= 1.8e19 || bytes >= 1.8e19) return false;
    a->variance = heap_text_u128((double)a->bytes * size * (1 - chance) / (chance * chance));
    a->blocks = heap_text_whole(blocks, rest);
    a->bytes = heap_text_whole(bytes, rest ? rest + 1 : NULL);
    return true;
}

/* "1: 57", behind spaces: counts may be negative where a program's own counter has run over. */
static const char *heap_text_pair(text_lines *l, hd_amount *a) {
    const char *wrong;
    memset(a, 0, sizeof *a);
    lines_skip_spaces(l);
    wrong = lines_number(l, 10, &a->blocks);
    if (wrong) return l->at < l->end && *l->at == '-' ? "a number of blocks that is not negative" : wrong;
    if (!lines_take(l, ":")) return "':' behind the number of blocks";
    lines_skip_spaces(l);
    wrong = lines_number(l, 10, &a->bytes);
    if (wrong) return l->at < l->end && *l->at == '-' ? "a number of bytes that is not negative" : wrong;
    if (a->bytes && !a->blocks) return "the bytes of 0 blocks to be 0, and a space";
    return NULL;
}

/* "1: 57 [2: 114]" of a stack or a heap. Of two pairs one that is negative is told of and left out, else both. */
static hd_status heap_text_pairs(heap_text *t, hd_amount amount[HEAPS]) {
    text_lines *l = &t->lines;
    t->kept[LIVE] = t->kept[TOTAL] = false;
    for (int i = LIVE; i < HEAPS; i++) {
        const char *wrong = heap_text_pair(l, &amount[i]);
        bool negative = wrong && l->at < l->end && *l->at == '-';
        hd_status status = wrong ? lines_wrong(l, wrong) : HD_OK;
        if (status) return status;
        t->kept[i] = !wrong;
        while (negative && l->at < l->end && *l->at != (i == LIVE ? '[' : ']')) l->at++;
        lines_skip_spaces(l);
        if ((!wrong || negative) && lines_take(l, i == LIVE ? "[" : "]")) continue;
        t->kept[LIVE] = t->kept[TOTAL] = false;
        if (wrong) return HD_OK;
        return lines_wrong(l, i == LIVE ? "'[' behind what is live" : "']' behind what was allocated");
    }
    return HD_OK;
}

/* Stacks. -------------------------------------------------------------------------------------- */

/* "0x4b4b95 0x461121": none that is right leaves `*good` false. */
static hd_status heap_text_addresses(heap_text *t, bool *good) {
    text_lines *l = &t->lines;
    t->depth = 0;
    *good = false;
    while (!lines_done(l)) {
        uint64_t *grown, address = 0;
        const char *wrong = "an address: 0x and hexadecimal digits";
        if (lines_take(l, "0x")) wrong = lines_number(l, 16, &address);
        if (!wrong && l->at < l->end && *l->at != ' ' && *l->at != '\r' && *l->at != '\t')
            wrong = "a space behind an address";
        if (wrong) return lines_wrong(l, wrong);
        grown = (uint64_t *)lines_room(l, t->stack, t->depth, 1, &t->stack_room, sizeof *grown);
        if (!grown) return l->err->status;
        t->stack = grown;
        t->stack[t->depth++] = address;
    }
    *good = true;
    return HD_OK;
}

static uint64_t heap_text_hash(const heap_text *t, uint32_t caller, uint64_t address) {
    return t->factor[0] * caller + t->factor[1] * (uint32_t)address + t->factor[2] * (address >> 32);
}

/* The slot of a call, or the free one where it belongs. */
static uint64_t *heap_text_slot(const heap_text *t, uint64_t hash, uint32_t caller, uint64_t address) {
    size_t mask = t->slot_count - 1, i = (size_t)(hash >> 32) & mask;
    for (; t->slots[i]; i = (i + 1) & mask) {
        const heap_text_call *call = &t->calls[(uint32_t)t->slots[i]];
        if (t->slots[i] >> 32 == hash >> 32 && call->caller == caller && call->address == address) break;
    }
    return &t->slots[i];
}

/* Twice as many slots, of which half are free at least. */
static hd_status heap_text_more_slots(heap_text *t) {
    size_t old_count = t->slot_count, none = 0;
    uint64_t *old = t->slots;
    t->slots = (uint64_t *)lines_room(&t->lines, NULL, 0, old_count ? 2 * old_count : 64, &none, sizeof *old);
    if (!t->slots) return t->slots = old, t->lines.err->status;
    t->slot_count = none;
    memset(t->slots, 0, none * sizeof *old);
    for (size_t i = 0; i < old_count; i++) {
        const heap_text_call *call = old[i] ? &t->calls[(uint32_t)old[i]] : NULL;
        if (call) *heap_text_slot(t, heap_text_hash(t, call->caller, call->address), call->caller, call->address) = old[i];
    }
    lines_free(&t->lines, old, old_count, sizeof *old);
    return HD_OK;
}

/* The number of a call, which is made when it is new. */
static hd_status heap_text_number(heap_text *t, uint32_t caller, uint64_t address, uint32_t *number) {
    uint64_t hash = heap_text_hash(t, caller, address), *slot;
    heap_text_call *grown, call = { address, caller, HD_NONE };
    if (2 * (t->call_count + 1) > t->slot_count && heap_text_more_slots(t)) return t->lines.err->status;
    slot = heap_text_slot(t, hash, caller, address);
    if (!*slot) {
        if (t->call_count >= HD_NONE - 2) return lines_full(&t->lines, "frames");
        grown = (heap_text_call *)lines_room(&t->lines, t->calls, t->call_count, 2, &t->call_room, sizeof *grown);
        if (!grown) return t->lines.err->status;
        t->calls = grown;
        if (!t->call_count) grown[t->call_count++] = (heap_text_call){ 0, 0, 0 };
        *slot = hash >> 32 << 32 | (uint32_t)t->call_count;
        grown[t->call_count++] = call;
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

/* The path of a stack that Go names: frames without a name are its runtime's own, left out. */
static hd_status heap_text_path(heap_text *t, hd_profile *p, uint32_t *node) {
    hd_status status = HD_OK;
    *node = 0;
    for (size_t i = t->named_count; i-- && !status;) {
        hd_str name = { t->names + t->named[i].at, t->named[i].length };
        status = hd_profile_node(p, HD_AXIS_BACKTRACE, *node, name, node, t->lines.err);
    }
    return status;
}

static void heap_text_sum(hd_amount *sum, const hd_amount *a) {
    sum->bytes = a->bytes > UINT64_MAX - sum->bytes ? UINT64_MAX : sum->bytes + a->bytes;
    sum->blocks = a->blocks > UINT64_MAX - sum->blocks ? UINT64_MAX : sum->blocks + a->blocks;
}

/* Adds to a profile: what does not fit into 64 bits is reported. */
static hd_status heap_text_put(heap_text *t, hd_profile *p, uint32_t node, const heap_text_held *held, bool fits) {
    hd_error found;
    hd_status status = HD_OVERFLOW;
    memset(&found, 0, sizeof found);
    snprintf(found.message, sizeof found.message, "a size that 64 bits can hold when it is scaled expected");
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

/* Adds a stack, whose innermost call this is, to one heap. */
static hd_status heap_text_add_one(heap_text *t, int heap, uint32_t call) {
    heap_text_held held = { t->offset, t->line, t->amount[heap], call }, *grown;
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
    grown = (heap_text_held *)lines_room(&t->lines, t->held[heap], t->held_count[heap], 1, &t->held_room[heap],
                                         sizeof held);
    if (!grown) return t->lines.err->status;
    t->held[heap] = grown;
    grown[t->held_count[heap]++] = held;
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
    t->named_count = t->names_size = 0;
    return status;
}

static void heap_text_begin(heap_text *t) {
    text_lines *l = &t->lines;
    t->offset = hd_window_offset(l->window);
    t->line = hd_window_line(l->window, t->offset);
    t->has_stack = true;
}

/* Bytes for names; their place becomes *at. */
static hd_status heap_text_keep(heap_text *t, const char *data, size_t length, size_t *at) {
    char *grown = (char *)lines_room(&t->lines, t->names, t->names_size, length, &t->names_room, 1);
    if (!grown) return t->lines.err->status;
    t->names = grown;
    memcpy(t->names + t->names_size, data, length);
    *at = t->names_size;
    t->names_size += length;
    return HD_OK;
}

/* What stands before the next tab, and the tabs. */
static hd_str heap_text_column(text_lines *l) {
    hd_str column = { l->at, 0 };
    while (l->at < l->end && *l->at != '\t') l->at++;
    column.len = (size_t)(l->at - column.data);
    while (l->at < l->end && *l->at == '\t') l->at++;
    return column;
}

/* The length of what is before the last of these characters, of all when there is none. */
static size_t heap_text_before(hd_str text, char last) {
    for (size_t i = text.len; i--;)
        if (text.data[i] == last) return i;
    return text.len;
}

/* "#\t0x4b4712\tmain.table+0xb2\t\theapsample/main.go:33" becomes "main.table (main.go:33)". */
static hd_status heap_text_go_frame(heap_text *t) {
    text_lines *l = &t->lines;
    hd_str address, name, file;
    heap_text_name *grown, *n;
    size_t at, slash;
    hd_status status;
    if (!t->has_stack || !lines_take(l, "#\t")) return HD_OK;
    address = heap_text_column(l);
    name = heap_text_column(l);
    file = heap_text_column(l);
    name.len = heap_text_before(name, '+');
    slash = heap_text_before(file, '/') + 1;
    if (slash < file.len) file.data += slash, file.len -= slash;
    if (!name.len) name = address;
    if (!name.len) return HD_OK;
    grown = (heap_text_name *)lines_room(l, t->named, t->named_count, 1, &t->named_room, sizeof *grown);
    if (!grown) return l->err->status;
    t->named = grown;
    n = &t->named[t->named_count];
    status = heap_text_keep(t, name.data, name.len, &n->at);
    if (!status && file.len) {
        status = heap_text_keep(t, " (", 2, &at);
        if (!status) status = heap_text_keep(t, file.data, file.len, &at);
        if (!status) status = heap_text_keep(t, ")", 1, &at);
    }
    n->length = t->names_size - n->at;
    t->named_count++;
    return status;
}

/* Objects. ------------------------------------------------------------------------------------- */

/* The path at the end of a line, or what is kept of it. */
static hd_str heap_text_object(heap_text *t) {
    static const char deleted[] = " (deleted)";
    const text_lines *l = &t->lines;
    bool is_gone;
    const size_t tail = sizeof deleted - 1;
    hd_str path = { l->at, (size_t)(l->end - l->at) };
    size_t cut;
    while (path.len && (path.data[path.len - 1] == '\r' || path.data[path.len - 1] == ' ')) path.len--;
    is_gone = path.len > tail && !memcmp(path.data + path.len - tail, deleted, tail);
    if (is_gone) path.len -= tail;
    if (!is_gone && path.len <= HEAP_TEXT_PATH) return path;
    cut = heap_text_before(path, '/') + 1;
    if (cut > path.len) cut = 0;
    if (path.len - cut > HEAP_TEXT_PATH) cut = path.len - HEAP_TEXT_PATH;
    path.data += cut;
    path.len -= cut;
    if (!is_gone) return path;
    path.len = (size_t)snprintf(t->name, sizeof t->name, "(deleted)/%.*s", (int)path.len, path.data);
    path.data = t->name;
    return path;
}

/* "7f4e3faa9000-7f4e3facf000 r-xp 00001000 00:00 332383      /usr/lib/ld.so": up to the path. NULL: passed; else
   what was expected instead. */
static const char *heap_text_map_line(text_lines *l, heap_text_map *m) {
    const char *wrong = lines_number(l, 16, &m->start);
    if (wrong) return wrong;
    if (!lines_take(l, "-")) return "'-' between the addresses of a mapping";
    wrong = lines_number(l, 16, &m->end);
    if (wrong) return wrong;
    for (int i = 0; i < 4; i++) { /* permissions, offset, device, inode */
        if (l->at == l->end || *l->at != ' ') return "permissions, offset, device and inode of a mapping";
        lines_skip_spaces(l);
        if (i == 1) {
            wrong = lines_number(l, 16, &m->offset);
            if (wrong) return wrong;
        }
        while (l->at < l->end && *l->at != ' ' && *l->at != '\r') l->at++;
    }
    lines_skip_spaces(l);
    return NULL;
}

static hd_status heap_text_add_map(heap_text *t) {
    text_lines *l = &t->lines;
    heap_text_map m = { 0, 0, 0, 0, 0 }, *grown;
    const heap_text_map *last;
    const char *wrong, *start;
    hd_str path;
    hd_status status = HD_OK;
    if (lines_done(l)) return HD_OK;
    start = l->at;
    wrong = heap_text_map_line(l, &m);
    if (wrong) {                 /* "build=/home/me": a name for use in paths, of which no program today makes any */
        bool is_name = memchr(start, '=', (size_t)(l->end - start)) != NULL;
        return is_name ? HD_OK : lines_wrong(l, wrong);
    }
    path = heap_text_object(t);
    if (!path.len || m.start >= m.end) return HD_OK;
    grown = (heap_text_map *)lines_room(l, t->maps, t->map_count, 1, &t->map_room, sizeof *grown);
    if (!grown) return l->err->status;
    t->maps = grown;
    last = t->map_count ? &grown[t->map_count - 1] : NULL;
    if (last && last->length == path.len && !memcmp(t->names + last->path, path.data, path.len)) m.path = last->path;
    else status = heap_text_keep(t, path.data, path.len, &m.path);
    m.length = path.len;
    if (!status) t->maps[t->map_count++] = m;
    return status;
}

static int heap_text_map_order(const void *a, const void *b) {
    const heap_text_map *x = (const heap_text_map *)a, *y = (const heap_text_map *)b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    return x->path < y->path ? -1 : x->path > y->path;
}

/* Finds where address 0 of each object is: its file's beginning is mapped there, unless it is linked to be where it
   is. */
static void heap_text_place(heap_text *t) {
    uint64_t base = 0, offset = 0;
    if (t->map_count) qsort(t->maps, t->map_count, sizeof *t->maps, heap_text_map_order);
    for (size_t i = 0; i < t->map_count; i++) {
        heap_text_map *m = &t->maps[i];
        if (!i || m->path != t->maps[i - 1].path || (!m->offset && offset)) base = m->start - m->offset;
        if (base < HEAP_TEXT_LOW) base = 0;
        offset = m->offset;
        m->offset = base;
    }
}

/* OBJECT+0xOFFSET, or the address where no object is there. */
static hd_str heap_text_frame(heap_text *t, uint64_t address) {
    size_t low = 0, high = t->map_count;
    const heap_text_map *m;
    hd_str name = { t->name, 0 };
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->maps[middle].start <= address) low = middle + 1;
        else high = middle;
    }
    m = low ? &t->maps[low - 1] : NULL;
    if (m && address >= m->end) m = NULL;
    if (m) memcpy(t->name, t->names + m->path, name.len = m->length);
    if (m) address -= m->offset;
    name.len += (size_t)snprintf(t->name + name.len, sizeof t->name - name.len, m ? "+0x%llx" : "0x%llx",
                                 (unsigned long long)address);
    return name;
}

/* Names the stacks of a heap, and adds what they hold. */
static hd_status heap_text_fill(heap_text *t, int heap) {
    hd_profile *p = t->profile[heap];
    hd_status status = HD_OK;
    for (size_t i = 1; i < t->call_count; i++) t->calls[i].node = HD_NONE;
    for (size_t i = 0; i < t->held_count[heap]; i++)
        if (t->held[heap][i].call) t->calls[t->held[heap][i].call].node = 0;
    for (size_t i = t->call_count; i-- > 1;)
        if (t->calls[i].node != HD_NONE) t->calls[t->calls[i].caller].node = 0;
    for (size_t i = 1; i < t->call_count && !status; i++) {
        heap_text_call *call = &t->calls[i];
        if (call->node != HD_NONE)
            status = hd_profile_node(p, HD_AXIS_BACKTRACE, t->calls[call->caller].node,
                                     heap_text_frame(t, call->address), &call->node, t->lines.err);
    }
    for (size_t i = 0; i < t->held_count[heap] && !status; i++) {
        const heap_text_held *held = &t->held[heap][i];
        status = heap_text_put(t, p, held->call ? t->calls[held->call].node : 0, held, true);
    }
    return status;
}

/* The lines. ----------------------------------------------------------------------------------- */

static hd_status heap_text_failed(text_lines *l, hd_status status, const char *expected) {
    *l->err = lines_error(l, status, expected);
    return status;
}

/* "@ heap_v2/16384", in the first line. */
static hd_status heap_text_kind(heap_text *t) {
    static const char expected[] = "'@ heapprofile', '@ heap_v2/R' or '@ heap/R' in the first line";
    text_lines *l = &t->lines;
    const char *word;
    size_t n;
    while (l->at < l->end && *l->at != '@') l->at++;
    if (!lines_take(l, "@")) return heap_text_failed(l, HD_MALFORMED, expected);
    lines_skip_spaces(l);
    word = l->at;
    while (l->at < l->end && *l->at != '/' && *l->at != ' ' && *l->at != '\r') l->at++;
    n = (size_t)(l->at - word);
    t->is_go = n == 4 && !memcmp(word, "heap", n);
    t->is_exact = n == 11 && !memcmp(word, "heapprofile", n);
    if (!t->is_go && !t->is_exact && !(n == 7 && !memcmp(word, "heap_v2", n)) &&
        !(n == 8 && !memcmp(word, "heapz_v2", n))) {
        l->at = word;
        return heap_text_failed(l, HD_UNSUPPORTED, expected);
    }
    if (!t->is_exact && lines_take(l, "/") && lines_number(l, 10, &t->period))
        return heap_text_failed(l, HD_MALFORMED, "a number of bytes a sample");
    if (t->is_go) t->period /= 2;
    return HD_OK;
}

static hd_status heap_text_header(heap_text *t) {
    text_lines *l = &t->lines;
    hd_status status = lines_next(l);
    if (status) return status;
    if (lines_take(l, "heap_v2/")) {
        t->is_jemalloc = true;
        if (lines_number(l, 10, &t->period)) return heap_text_failed(l, HD_MALFORMED, "a number of bytes a sample");
        return HD_OK;
    }
    lines_take(l, "heap profile:");
    status = heap_text_pairs(t, t->header);
    t->has_header = t->kept[LIVE] && t->kept[TOTAL];
    return status ? status : heap_text_kind(t);
}

/* "1: 57 [1: 57] @ 0x7fe79ac39210 0x7fe79a93f95c" */
static hd_status heap_text_stack(heap_text *t) {
    text_lines *l = &t->lines;
    hd_status status;
    bool good = false;
    heap_text_begin(t);
    status = heap_text_pairs(t, t->amount);
    lines_skip_spaces(l);
    if (status || !(t->kept[LIVE] || t->kept[TOTAL])) return t->has_stack = false, status;
    if (lines_take(l, "@")) status = heap_text_addresses(t, &good);
    else status = lines_wrong(l, "'@' and addresses");
    if (!good) t->has_stack = false;
    return status;
}

/* "t*: 1: 5169 [1: 5169]": of the stack, or before all stacks of everything; and its parts by thread, t0 to tN. */
static hd_status heap_text_thread(heap_text *t) {
    text_lines *l = &t->lines;
    hd_amount amount[HEAPS];
    uint64_t thread;
    hd_status status;
    bool all = lines_take(l, "t*");
    const char *wrong = NULL;
    if (!all) {
        l->at++;
        wrong = lines_number(l, 10, &thread);
    }
    if (!wrong && !lines_take(l, ":")) wrong = "':' behind t*, or t and the number of a thread";
    if (wrong) return t->has_stack = false, lines_wrong(l, wrong);
    memset(amount, 0, sizeof amount);
    status = heap_text_pairs(t, amount);
    if (!status && all && t->has_stack) {
        memcpy(t->amount, amount, sizeof amount);
        status = heap_text_add(t);
    }
    memset(t->kept, 0, sizeof t->kept); /* of a stack without t* nothing is */
    return status;
}

/* Before the next stack, and the mapped objects. */
static hd_status heap_text_missing(heap_text *t) {
    if (!t->has_stack) return HD_OK;
    t->has_stack = false;
    return lines_wrong(&t->lines, "t* and what the stack before it holds");
}

static hd_status heap_text_jemalloc_line(heap_text *t) {
    text_lines *l = &t->lines;
    hd_status status;
    bool good = false;
    if (*l->at == 't') return heap_text_thread(t);
    if (*l->at == '@' && (status = heap_text_missing(t)) != HD_OK) return status;
    if (!lines_take(l, "@")) return lines_wrong(l, "'@' and addresses, or t* and t0 with its numbers");
    heap_text_begin(t);
    status = heap_text_addresses(t, &good);
    if (!good) t->has_stack = false;
    return status;
}

static hd_status heap_text_line(heap_text *t) {
    text_lines *l = &t->lines;
    hd_status status;
    if (t->has_maps) return heap_text_add_map(t);
    if (l->at < l->end && *l->at == '#') return heap_text_go_frame(t);
    status = t->is_jemalloc ? HD_OK : heap_text_add(t);
    if (status || lines_done(l)) return status;
    if (t->is_jemalloc && *l->at == 'M') status = heap_text_missing(t);
    if (status) return status;
    t->has_maps = lines_take(l, "MAPPED_LIBRARIES:") || lines_take(l, "--- Memory map: ---");
    if (t->has_maps) return HD_OK;
    return t->is_jemalloc ? heap_text_jemalloc_line(t) : heap_text_stack(t);
}

/* Tells when stacks are missing: their sum is not what the first line says. */
static hd_status heap_text_check(heap_text *t) {
    text_lines *l = &t->lines;
    const hd_options *options = &l->reporter->options;
    hd_error found;
    bool cut;
    memset(&found, 0, sizeof found);
    found.status = HD_MALFORMED;
    found.offset = hd_window_offset(l->window);
    found.line = hd_window_line(l->window, found.offset);
    if (t->is_jemalloc) {        /* its first lines are of what is met, before anything is scaled */
        if (t->has_maps) return HD_OK;
        snprintf(found.message, sizeof found.message, "MAPPED_LIBRARIES expected, and the input ends");
        return hd_report(l->reporter, &found, l->err);
    }
    if (!t->has_header || l->reporter->warning_count ||
        !memcmp(t->header, t->sum, sizeof t->sum)) return HD_OK;
    cut = t->is_exact && t->sum[LIVE].bytes <= t->header[LIVE].bytes && found.offset > HEAP_TEXT_FULL;
    snprintf(found.message, sizeof found.message,
             "stacks of %llu blocks, %llu bytes expected by the first line, and these are %llu blocks, %llu bytes%s",
             (unsigned long long)t->header[LIVE].blocks, (unsigned long long)t->header[LIVE].bytes,
             (unsigned long long)t->sum[LIVE].blocks, (unsigned long long)t->sum[LIVE].bytes,
             cut ? ": gperftools writes 1 MiB at most" : "");
    if (!cut) return hd_report(l->reporter, &found, l->err);
    found.status = HD_LIMIT;     /* as its program makes it */
    if (options->warning) options->warning(options->warning_user, &found);
    return HD_OK;
}

/* The file's name of the first object, which is the program. */
static const char *heap_text_program(heap_text *t) {
    for (size_t i = 0; i < t->map_count; i++) {
        hd_str path = { t->names + t->maps[i].path, t->maps[i].length };
        size_t slash = heap_text_before(path, '/');
        if (slash + 1 >= path.len) continue;
        snprintf(t->name, sizeof t->name, "%.*s", (int)(path.len - slash - 1), path.data + slash + 1);
        return t->name;
    }
    return NULL;
}

static hd_status heap_text_finish(heap_text *t, hd_dump *dump) {
    hd_error *err = t->lines.err;
    hd_status status = heap_text_add(t);
    bool has_total = t->is_go || t->is_exact || t->differs;
    if (t->is_jemalloc) has_total = t->sum[TOTAL].bytes || t->sum[TOTAL].blocks;
    if (status) return status;
    heap_text_place(t);
    for (int i = LIVE; i < HEAPS && !status; i++) status = heap_text_fill(t, i);
    if (!status) status = heap_text_check(t);
    for (int i = LIVE; i < (has_total ? HEAPS : TOTAL) && !status; i++) {
        hd_heap heap;
        memset(&heap, 0, sizeof heap);
        heap.process = heap_text_program(t);
        heap.kind = i == LIVE ? HD_HEAP_LIVE : HD_HEAP_TOTAL;
        heap.allocator = t->is_jemalloc ? "jemalloc" : t->is_go ? "go" : "tcmalloc";
        heap.sample_bytes = t->period > 1 ? t->period : 0;
        heap.profile = t->profile[i];
        t->profile[i] = NULL;    /* the dump's from now on */
        status = hd_dump_add_heap(dump, &heap, err);
    }
    return status;
}

static hd_status heap_text_run(heap_text *t) {
    hd_status status = heap_text_header(t);
    while (!status) {
        status = lines_next(&t->lines);
        if (status || !t->lines.start) break;
        status = heap_text_line(t);
    }
    return status;
}

hd_status heap_text_read(hd_dump *dump, hd_in in, const hd_options *options, hd_error *err) {
    hd_profile_desc desc;
    heap_text t;
    hd_status status = HD_OK;
    memset(&desc, 0, sizeof desc);
    desc.axis_count = 1;
    desc.allocator = options->allocator;
    desc.limits = options->limits;
    memset(&t, 0, sizeof t);
    t.lines = lines_make(dump, in, options, err);
    for (int i = 0; i < 3; i++) {
        if (getentropy(&t.factor[i], sizeof t.factor[i])) t.factor[i] = UINT64_C(0x9e3779b97f4a7c15) >> 2 * i;
        t.factor[i] |= 1;
    }
    for (int i = LIVE; i < HEAPS && !status; i++) {
        t.profile[i] = hd_profile_create(&desc, err);
        if (!t.profile[i]) status = err->status;
    }
    if (!status) status = heap_text_run(&t);
    if (!status) status = heap_text_finish(&t, dump);
    for (int i = LIVE; i < HEAPS; i++) {
        hd_profile_free(t.profile[i]);
        lines_free(&t.lines, t.held[i], t.held_room[i], sizeof *t.held[i]);
    }
    lines_free(&t.lines, t.stack, t.stack_room, sizeof *t.stack);
    lines_free(&t.lines, t.calls, t.call_room, sizeof *t.calls);
    lines_free(&t.lines, t.slots, t.slot_count, sizeof *t.slots);
    lines_free(&t.lines, t.named, t.named_room, sizeof *t.named);
    lines_free(&t.lines, t.names, t.names_room, 1);
    lines_free(&t.lines, t.maps, t.map_room, sizeof *t.maps);
    return status;
}
