/* Heap profiles as text: of gperftools, of tcmalloc's sampling, growth and fragmentation, of Go's runtime (debug=1)
   and of jemalloc; with names of addresses before them when jeprof or pprof printed them with --raw.

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

#include "heap_text_symbols.h"
#include "lines.h"

enum {
    HEAP_TEXT_VARIABLES = 16,    /* names that stand for parts of paths */
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

/* A name for use in paths, and behind it what it stands for, in names. */
typedef struct heap_text_variable {
    size_t at, name, length;     /* bytes of the name, and of the other */
} heap_text_variable;

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
    const char *allocator;
    text_symbols symbols;
    char binary[256];            /* the program that has them */
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
    heap_text_variable variables[HEAP_TEXT_VARIABLES];
    size_t variable_count;
    char path[HEAP_TEXT_PATH];   /* of the last object, with what its variables stand for */
    char name[HEAP_TEXT_PATH + 32]; /* of the last frame */
} heap_text;

/* Other profiles with a similar beginning. */
static const struct { const char *begins, *is; } heap_text_others[] = {
    { "--- contention", "a profile of lock contention" }, { "--- mutex", "a profile of lock contention" },
    { "--- Stacks:", "a profile of lock contention" },    { "--- profile", "a CPU profile" },
    { "--- pmuprofile", "a CPU profile" },                { "--- wall", "a profile of time" },
    { "--- threadz", "a list of threads" },               { "--- heapz", "a heap profile of Java" },
    { "goroutine profile:", "a list of goroutines" },     { "threadcreate profile:", "a list of threads" }
};

static bool heap_text_begins(const char *line, const char *end, const char *word) {
    size_t n = strlen(word);
    return (size_t)(end - line) >= n && !memcmp(line, word, n);
}

/* Whether the line is these words, and nothing else. */
static bool heap_text_is(const char *line, const char *end, const char *words) {
    if (!heap_text_begins(line, end, words)) return false;
    for (line += strlen(words); line < end && (*line == ' ' || *line == '\t' || *line == '\r'); line++) {}
    return line == end;
}

/* The name of another kind of profile that begins like this; NULL if it may be a heap profile. */
static const char *heap_text_other(const char *line, const char *end) {
    for (size_t i = 0; i < sizeof heap_text_others / sizeof *heap_text_others; i++) {
        const char *begins = heap_text_others[i].begins, *next = line + strlen(begins);
        if (!heap_text_begins(line, end, begins)) continue;
        if (next < end && *next == 'z') next++;
        if (next[-1] == ':' || next >= end || strchr(" :\r", *next)) return heap_text_others[i].is;
    }
    return NULL;
}

int heap_text_detect(const uint8_t *bytes, size_t size) {
    const char *line = (const char *)bytes, *all = line + size, *end;
    for (;; line = end + 1) {    /* commands come before a header */
        end = (const char *)memchr(line, '\n', (size_t)(all - line));
        if (!end) end = all;
        if (line == all || *line != '%' || end == all) break;
    }
    if (heap_text_begins(line, end, "heap profile:") || heap_text_other(line, end)) return 100;
    if (heap_text_is(line, end, "--- symbol") || heap_text_is(line, end, "--- heap") ||
        heap_text_is(line, end, "--- growth")) return 100;
    return heap_text_begins(line, end, "heap_v2/") && end - line > 8 && line[8] >= '0' && line[8] <= '9' ? 100 : 0;
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

/* "1: 57", behind spaces: counts may be negative where a program's own counter has run over. gperftools counts no
   block where only a part of a mapping is left; from samples such bytes cannot be estimated. */
static const char *heap_text_pair(heap_text *t, hd_amount *a) {
    text_lines *l = &t->lines;
    const char *wrong;
    memset(a, 0, sizeof *a);
    lines_skip_spaces(l);
    wrong = lines_number(l, 10, &a->blocks);
    if (wrong) return l->at < l->end && *l->at == '-' ? "a number of blocks that is not negative" : wrong;
    if (!lines_take(l, ":")) return "':' behind the number of blocks";
    lines_skip_spaces(l);
    wrong = lines_number(l, 10, &a->bytes);
    if (wrong) return l->at < l->end && *l->at == '-' ? "a number of bytes that is not negative" : wrong;
    if (a->bytes && !a->blocks && t->period > 1) return "the bytes of 0 blocks to be 0, and a space";
    return NULL;
}

/* "1: 57 [2: 114]" of a stack or a heap. Of two pairs one that is negative is told of and left out, else both. */
static hd_status heap_text_pairs(heap_text *t, hd_amount amount[HEAPS]) {
    text_lines *l = &t->lines;
    t->kept[LIVE] = t->kept[TOTAL] = false;
    for (int i = LIVE; i < HEAPS; i++) {
        const char *wrong = heap_text_pair(t, &amount[i]);
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

/* "#\t0x4b4712\tmain.table+0xb2\t\theapsample/main.go:33" becomes "main.table (heapsample/main.go:33)". */
static hd_status heap_text_go_frame(heap_text *t) {
    text_lines *l = &t->lines;
    hd_str address, name, file;
    heap_text_name *grown, *n;
    size_t at;
    hd_status status;
    if (!t->has_stack || !lines_take(l, "#\t")) return HD_OK;
    address = heap_text_column(l);
    name = heap_text_column(l);
    file = heap_text_column(l);
    name.len = heap_text_before(name, '+');
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

/* "source=/home": later paths use it as "$source". A variable that is too long, or beyond the limit, is ignored. */
static hd_status heap_text_add_variable(heap_text *t, hd_str text) {
    heap_text_variable v = { 0, 0, 0 };
    size_t sign = 0, unused;
    hd_status status;
    while (sign < text.len && text.data[sign] != '=') sign++;
    for (v.name = sign; v.name && strchr(" \t", text.data[v.name - 1]) && text.data[v.name - 1];) v.name--;
    while (++sign < text.len && (text.data[sign] == ' ' || text.data[sign] == '\t')) {}
    v.length = sign < text.len ? text.len - sign : 0;
    if (!v.name || v.name + v.length > HEAP_TEXT_PATH || t->variable_count == HEAP_TEXT_VARIABLES) return HD_OK;
    status = heap_text_keep(t, text.data, v.name, &v.at);
    if (!status && v.length) status = heap_text_keep(t, text.data + sign, v.length, &unused);
    if (!status) t->variables[t->variable_count++] = v;
    return status;
}

/* The variable with the longest name that a path goes on with; NULL: none. */
static const heap_text_variable *heap_text_variable_of(const heap_text *t, const char *at, const char *end) {
    const heap_text_variable *best = NULL;
    for (size_t i = 0; i < t->variable_count; i++) {
        const heap_text_variable *v = &t->variables[i];
        if (v->name > (size_t)(end - at) || memcmp(at, t->names + v->at, v->name)) continue;
        if (!best || best->name <= v->name) best = v;
    }
    return best;
}

/* A path with the values of its variables; unchanged if the result is too long. */
static hd_str heap_text_expand(heap_text *t, hd_str path) {
    hd_str made = { t->path, 0 };
    if (!t->variable_count || !path.len || !memchr(path.data, '$', path.len)) return path;
    for (const char *p = path.data, *end = path.data + path.len; p < end;) {
        const heap_text_variable *v = *p == '$' ? heap_text_variable_of(t, p + 1, end) : NULL;
        const char *piece = v ? t->names + v->at + v->name : p;
        size_t n = v ? v->length : 1;
        if (n > sizeof t->path - made.len) return path;
        memcpy(t->path + made.len, piece, n);
        made.len += n;
        p += v ? v->name + 1 : 1;
    }
    return made;
}

/* An object's path, cut if it is long. */
static hd_str heap_text_object(heap_text *t, hd_str path) {
    static const char deleted[] = " (deleted)";
    bool is_gone;
    const size_t tail = sizeof deleted - 1;
    size_t cut;
    path = heap_text_expand(t, path);
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

/* "r-xp" */
static bool heap_text_permissions(const text_lines *l) {
    const char *p = l->at;
    while (p < l->end && strchr("-rwxps", *p) && *p) p++;
    return p - l->at >= 3 && p - l->at <= 5 && (p == l->end || *p == ' ' || *p == '\r');
}

/* The rest of a brief line, as google/pprof reads it: ": r-xp /lib/ld.so (@1000) BUILDID". All but the path may be
   missing. */
static const char *heap_text_brief(text_lines *l, heap_text_map *m, hd_str *path) {
    const char *wrong = NULL;
    lines_skip_spaces(l);
    if (heap_text_permissions(l))
        while (l->at < l->end && *l->at != ' ' && *l->at != '\r') l->at++;
    *path = symbols_rest(l);
    for (size_t i = 0; i + 2 < path->len; i++) {
        if (memcmp(path->data + i, " (@", 3)) continue;
        l->at = path->data + i + 3;
        wrong = lines_number(l, 16, &m->offset);
        path->len = i;
    }
    return wrong;
}

/* "7f4e3faa9000-7f4e3facf000 r-xp 00001000 00:00 332383      /usr/lib/ld.so". NULL: passed; else what was expected
   instead. */
static const char *heap_text_map_line(text_lines *l, heap_text_map *m, hd_str *path) {
    const char *wrong;
    lines_take(l, "0x");
    wrong = lines_number(l, 16, &m->start);
    if (wrong) return wrong;
    if (!lines_take(l, "-")) return "'-' between the addresses of a mapping";
    lines_take(l, "0x");
    wrong = lines_number(l, 16, &m->end);
    if (wrong) return wrong;
    if (lines_take(l, ":")) return heap_text_brief(l, m, path);
    for (int i = 0; i < 4; i++) { /* permissions, offset, device, inode */
        if (l->at == l->end || *l->at != ' ') return "permissions, offset, device and inode of a mapping";
        lines_skip_spaces(l);
        if (!i && !heap_text_permissions(l)) return heap_text_brief(l, m, path);
        if (i == 1) {
            wrong = lines_number(l, 16, &m->offset);
            if (wrong) return wrong;
        }
        while (l->at < l->end && *l->at != ' ' && *l->at != '\r') l->at++;
    }
    *path = symbols_rest(l);
    return NULL;
}

static hd_status heap_text_add_map(heap_text *t) {
    text_lines *l = &t->lines;
    heap_text_map m = { 0, 0, 0, 0, 0 }, *grown;
    const heap_text_map *last;
    const char *wrong, *start;
    hd_str path = { NULL, 0 };
    hd_status status = HD_OK;
    if (lines_done(l)) return HD_OK;
    start = l->at;
    wrong = heap_text_map_line(l, &m, &path);
    if (wrong && memchr(start, '=', (size_t)(l->end - start))) {
        l->at = start;
        return heap_text_add_variable(t, symbols_rest(l));
    }
    if (wrong) return lines_wrong(l, wrong);
    path = heap_text_object(t, path);
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

/* The mapping of an address; NULL: none. */
static const heap_text_map *heap_text_map_of(const heap_text *t, uint64_t address) {
    size_t low = 0, high = t->map_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->maps[middle].start <= address) low = middle + 1;
        else high = middle;
    }
    return low && address < t->maps[low - 1].end ? &t->maps[low - 1] : NULL;
}

/* OBJECT+0xOFFSET, or the address where no object is there. */
static hd_str heap_text_frame(heap_text *t, const heap_text_map *m, uint64_t address) {
    hd_str name = { t->name, 0 };
    if (m) memcpy(t->name, t->names + m->path, name.len = m->length);
    if (m) address -= m->offset;
    name.len += (size_t)snprintf(t->name + name.len, sizeof t->name - name.len, m ? "+0x%llx" : "0x%llx",
                                 (unsigned long long)address);
    return name;
}

/* "FUNCTION [OBJECT]", where both are known and not too long. */
static hd_str heap_text_function(heap_text *t, const heap_text_map *m, hd_str function) {
    hd_str object = { "", 0 };
    size_t slash;
    if (m) object.data = t->names + m->path, object.len = m->length;
    slash = heap_text_before(object, '/') + 1;
    if (slash < object.len) object.data += slash, object.len -= slash;
    if (object.len > 2 && *object.data == '[') object.data++, object.len -= 2; /* "[vdso]" */
    if (!object.len || object.len + function.len + 4 > sizeof t->name) return function;
    function.len = (size_t)snprintf(t->name, sizeof t->name, "%.*s [%.*s]", (int)function.len, function.data,
                                    (int)object.len, object.data);
    function.data = t->name;
    return function;
}

/* The node of a call: of each function there when the file names them, else of the address. */
static hd_status heap_text_node(heap_text *t, hd_profile *p, heap_text_call *call) {
    const heap_text_map *m = heap_text_map_of(t, call->address);
    hd_str names = symbols_find(&t->symbols, call->address);
    hd_status status = HD_OK;
    bool any = false;
    if (!names.len) names = symbols_find(&t->symbols, call->address + 1);
    call->node = t->calls[call->caller].node;
    for (int i = 1; names.len && !status; i++) {
        hd_str name = symbols_next(&names, i == SYMBOL_FUNCTIONS);
        if (!name.len) continue;
        any = true;
        status = hd_profile_node(p, HD_AXIS_BACKTRACE, call->node, heap_text_function(t, m, name), &call->node,
                                 t->lines.err);
    }
    if (any || status) return status;
    return hd_profile_node(p, HD_AXIS_BACKTRACE, call->node, heap_text_frame(t, m, call->address), &call->node,
                           t->lines.err);
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
        if (t->calls[i].node != HD_NONE) status = heap_text_node(t, p, &t->calls[i]);
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

static bool heap_text_word(const char *word, size_t n, const char *one, const char *other) {
    return (n == strlen(one) && !memcmp(word, one, n)) || (n == strlen(other) && !memcmp(word, other, n));
}

/* "@ heap_v2/16384", in the header. Growth is memory that tcmalloc got from the system; fragmentation is free memory
   that it keeps. */
static hd_status heap_text_kind(heap_text *t) {
    static const char expected[] = "'@ heapprofile', '@ heap_v2/R', '@ heap/R' or '@ growth'";
    text_lines *l = &t->lines;
    const char *word;
    size_t n;
    while (l->at < l->end && *l->at != '@') l->at++;
    if (!lines_take(l, "@")) return heap_text_failed(l, HD_MALFORMED, expected);
    lines_skip_spaces(l);
    word = l->at;
    while (l->at < l->end && *l->at != '/' && *l->at != ' ' && *l->at != '\r') l->at++;
    n = (size_t)(l->at - word);
    t->is_go = heap_text_word(word, n, "heap", "heap");
    t->is_exact = heap_text_word(word, n, "heapprofile", "heapprofile");
    t->allocator = t->is_go ? "go" : "tcmalloc";
    if (heap_text_word(word, n, "growth", "growthz")) return t->allocator = "tcmalloc/growth", HD_OK;
    if (heap_text_word(word, n, "fragmentation", "fragmentationz"))
        return t->allocator = "tcmalloc/fragmentation", HD_OK;
    if (!t->is_go && !t->is_exact && !heap_text_word(word, n, "heap_v2", "heapz_v2")) {
        l->at = word;
        return heap_text_failed(l, HD_UNSUPPORTED, expected);
    }
    if (!t->is_exact && lines_take(l, "/") && lines_number(l, 10, &t->period))
        return heap_text_failed(l, HD_MALFORMED, "a number of bytes a sample");
    if (t->is_go) t->period /= 2;
    return HD_OK;
}

/* "%warn the clock was set back": a message of the program that wrote the file, which is passed on. */
static void heap_text_command(text_lines *l) {
    const hd_options *options = &l->reporter->options;
    hd_error told = lines_error(l, HD_LIMIT, "");
    char text[160];
    size_t n;
    if (l->end[-1] == '\r') l->end--;
    n = lines_visible(l, text, sizeof text);
    snprintf(told.message, sizeof told.message, "the file says: '%.*s'", (int)n, text);
    if (options->warning) options->warning(options->warning_user, &told);
}

/* Shows the next line that is no command. */
static hd_status heap_text_next(heap_text *t) {
    text_lines *l = &t->lines;
    hd_status status;
    while ((status = lines_next(l)) == HD_OK && l->start && l->at < l->end && *l->at == '%') heap_text_command(l);
    if (status || l->start) return status;
    l->start = l->at = l->end = (const char *)l->window->at;
    *l->err = lines_error(l, HD_MALFORMED, "");
    snprintf(l->err->message, sizeof l->err->message, "'heap profile:' or 'heap_v2/' expected, and the input ends");
    return HD_MALFORMED;
}

/* Names of addresses, up to the line "---". */
static hd_status heap_text_symbols(heap_text *t) {
    text_lines *l = &t->lines;
    hd_status status;
    while ((status = lines_next(l)) == HD_OK && l->start && !lines_take(l, "---")) {
        bool is_binary = lines_take(l, "binary");
        lines_skip_spaces(l);
        if (is_binary && lines_take(l, "=")) {
            hd_str path = symbols_rest(l);
            size_t slash = heap_text_before(path, '/') + 1;
            if (slash < path.len) path.data += slash, path.len -= slash;
            snprintf(t->binary, sizeof t->binary, "%.*s", (int)(path.len < 255 ? path.len : 255), path.data);
        } else if (!is_binary) {
            status = symbols_add(&t->symbols, l);
        }
        if (status) break;
    }
    symbols_sort(&t->symbols);
    return status;
}

/* Up to the header: commands, names of addresses, "--- heap". */
static hd_status heap_text_before_header(heap_text *t) {
    text_lines *l = &t->lines;
    const char *other;
    char text[60];
    size_t n;
    hd_status status = heap_text_next(t);
    if (!status && heap_text_is(l->at, l->end, "--- symbol")) {
        status = heap_text_symbols(t);
        if (!status) status = heap_text_next(t);
    }
    if (!status && (heap_text_is(l->at, l->end, "--- heap") || heap_text_is(l->at, l->end, "--- growth")))
        status = heap_text_next(t);
    if (status) return status;
    other = heap_text_other(l->at, l->end);
    if (!other) return HD_OK;
    *l->err = lines_error(l, HD_UNSUPPORTED, "");
    if (l->end[-1] == '\r') l->end--;
    n = lines_visible(l, text, sizeof text);
    snprintf(l->err->message, sizeof l->err->message, "a heap profile expected, found %s ('%.*s')", other,
             (int)n, text);
    return HD_UNSUPPORTED;
}

static hd_status heap_text_header(heap_text *t) {
    text_lines *l = &t->lines;
    hd_status status = heap_text_before_header(t);
    if (status) return status;
    if (lines_take(l, "heap_v2/")) {
        t->is_jemalloc = true;
        t->allocator = "jemalloc";
        if (lines_number(l, 10, &t->period)) return heap_text_failed(l, HD_MALFORMED, "a number of bytes a sample");
        return HD_OK;
    }
    if (!lines_take(l, "heap profile:"))
        return heap_text_failed(l, HD_MALFORMED, "'heap profile:' or 'heap_v2/'");
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

/* "1 block, 8 bytes" */
static const char *heap_text_amount(const hd_amount *a, char text[64]) {
    snprintf(text, 64, "%llu block%s, %llu byte%s", (unsigned long long)a->blocks, a->blocks == 1 ? "" : "s",
             (unsigned long long)a->bytes, a->bytes == 1 ? "" : "s");
    return text;
}

/* Reports that the stacks do not add up to the first line: which of its two pairs differs. */
static hd_status heap_text_check(heap_text *t) {
    text_lines *l = &t->lines;
    const hd_options *options = &l->reporter->options;
    bool differs[HEAPS], cut;
    char said[HEAPS][64], sum[HEAPS][64];
    int first, n;
    hd_error found;
    memset(&found, 0, sizeof found);
    found.status = HD_MALFORMED;
    found.offset = hd_window_offset(l->window);
    found.line = hd_window_line(l->window, found.offset);
    if (t->is_jemalloc) {        /* its first lines are of what is met, before anything is scaled */
        if (t->has_maps) return HD_OK;
        snprintf(found.message, sizeof found.message, "MAPPED_LIBRARIES expected, and the input ends");
        return hd_report(l->reporter, &found, l->err);
    }
    for (int i = LIVE; i < HEAPS; i++) {
        differs[i] = t->header[i].blocks != t->sum[i].blocks || t->header[i].bytes != t->sum[i].bytes;
        heap_text_amount(&t->header[i], said[i]);
        heap_text_amount(&t->sum[i], sum[i]);
    }
    if (!t->has_header || (!differs[LIVE] && !differs[TOTAL])) return HD_OK;
    first = differs[LIVE] ? LIVE : TOTAL;
    cut = t->is_exact && t->sum[LIVE].bytes <= t->header[LIVE].bytes && found.offset > HEAP_TEXT_FULL;
    n = snprintf(found.message, sizeof found.message, "the first line says %s %s, but the stacks add up to %s",
                 said[first], first == LIVE ? "live" : "allocated", sum[first]);
    if (cut) snprintf(found.message + n, sizeof found.message - (size_t)n, ": gperftools writes 1 MiB at most");
    else if (first == LIVE && differs[TOTAL])
        snprintf(found.message + n, sizeof found.message - (size_t)n, "; allocated: %.60s, but %.60s",
                 said[TOTAL], sum[TOTAL]);
    if (!cut) return hd_report(l->reporter, &found, l->err);
    found.status = HD_LIMIT;     /* as its program makes it */
    if (options->warning) options->warning(options->warning_user, &found);
    return HD_OK;
}

/* The file's name of the first object, which is the program, or the program of the symbols. */
static const char *heap_text_program(heap_text *t) {
    for (size_t i = 0; i < t->map_count; i++) {
        hd_str path = { t->names + t->maps[i].path, t->maps[i].length };
        size_t slash = heap_text_before(path, '/');
        if (slash + 1 >= path.len) continue;
        snprintf(t->name, sizeof t->name, "%.*s", (int)(path.len - slash - 1), path.data + slash + 1);
        return t->name;
    }
    return *t->binary ? t->binary : NULL;
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
        heap.allocator = t->allocator;
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
    lines_free(&t.lines, t.symbols.list, t.symbols.room, sizeof *t.symbols.list);
    lines_free(&t.lines, t.symbols.text, t.symbols.text_room, 1);
    lines_free(&t.lines, t.maps, t.map_room, sizeof *t.maps);
    return status;
}
