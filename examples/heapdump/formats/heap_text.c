/* Heap profiles as text: of gperftools, of tcmalloc's sampling, growth and fragmentation, of Go's runtime (debug=1)
   and of jemalloc. Names of addresses may precede them, if jeprof or pprof printed them with --raw.

   Each stack has a line with its live amount and, in brackets, the amount allocated since the start. These become two
   heaps. Frames are addresses inside the calls. They become OBJECT+0xOFFSET if the mapped libraries after the stacks
   contain them; OFFSET counts like the object's own symbols. An object that was replaced while the program ran
   becomes "(deleted)/FILE", because another file is in its place by now. Go names its frames itself.

   Samples are scaled line by line, as each program's own tool does. A block of s = bytes / n, with n sampled blocks
   in the line, is sampled with probability p = 1 - exp(-s / R), where R is the sampling interval. So there were n / p
   blocks and bytes / p bytes. As in the recorder's snapshots, each sampled block has the variance s * s * (1 - p) /
   (p * p), so a line has n times that. Scale and variance both assume that the blocks of a line have equal sizes. */

#include "formats.h"
#include "heap_text_objects.h"
#include "heap_text_stacks.h"

#include <sys/random.h>

/* Other kinds of profiles with a similar beginning. */
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

static hd_status heap_text_failed(hd_lines *l, hd_status status, const char *expected) {
    *l->err = hd_lines_error(l, status, expected);
    return status;
}

static bool heap_text_word(const char *word, size_t n, const char *one, const char *other) {
    return (n == strlen(one) && !memcmp(word, one, n)) || (n == strlen(other) && !memcmp(word, other, n));
}

/* "@ heap_v2/16384", in the header. Growth is memory that tcmalloc got from the system; fragmentation is free memory
   that it keeps. */
static hd_status heap_text_kind(heap_text *t) {
    static const char expected[] = "'@ heapprofile', '@ heap_v2/R', '@ heap/R' or '@ growth'";
    hd_lines *l = &t->lines;
    const char *word;
    size_t n;
    while (l->at < l->end && *l->at != '@') l->at++;
    if (!hd_lines_take(l, "@")) return heap_text_failed(l, HD_MALFORMED, expected);
    hd_lines_skip_spaces(l);
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
    if (!t->is_exact && hd_lines_take(l, "/") && hd_lines_number(l, 10, &t->period))
        return heap_text_failed(l, HD_MALFORMED, "a number of bytes per sample");
    if (t->is_go) t->period /= 2;
    return HD_OK;
}

/* The beginning of the rest of the line, made safe for a terminal. Returns its length, at most `most` bytes. */
static size_t heap_text_visible(const hd_lines *l, char *text, size_t most) {
    hd_str rest = { l->at, (size_t)(l->end - l->at) }, piece;
    size_t n = 0;
    while (n < most && (piece = hd_visible(&rest)).len) {
        if (piece.len > most - n)
            for (piece.len = most - n; piece.len && (piece.data[piece.len] & 0xc0) == 0x80; piece.len--) {}
        if (!piece.len) break;   /* no half of a character */
        memcpy(text + n, piece.data, piece.len);
        n += piece.len;
    }
    return n;
}

/* "%warn the clock was set back": passes on a message of the program that wrote the file. */
static void heap_text_command(hd_lines *l) {
    const hd_options *options = &l->reporter->options;
    hd_error warning = hd_lines_error(l, HD_LIMIT, "");
    char text[160];
    size_t n;
    n = heap_text_visible(l, text, sizeof text);
    snprintf(warning.message, sizeof warning.message, "the file says: '%.*s'", (int)n, text);
    if (options->warning) options->warning(options->warning_user, &warning);
}

/* Goes to the next line that is not a command. */
static hd_status heap_text_next(heap_text *t) {
    hd_lines *l = &t->lines;
    hd_status status;
    while ((status = hd_lines_next(l)) == HD_OK && l->start && l->at < l->end && *l->at == '%') heap_text_command(l);
    if (status || l->start) return status;
    *l->err = room_ended(l, "'heap profile:' or 'heap_v2/'");
    return HD_MALFORMED;
}

/* Reads names of addresses, up to the line "---". */
static hd_status heap_text_symbols(heap_text *t) {
    hd_lines *l = &t->lines;
    hd_status status;
    while ((status = hd_lines_next(l)) == HD_OK && l->start && !hd_lines_take(l, "---")) {
        bool is_binary = hd_lines_take(l, "binary");
        hd_lines_skip_spaces(l);
        if (is_binary && hd_lines_take(l, "=")) {
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

/* Reads up to the header: commands, names of addresses, "--- heap". */
static hd_status heap_text_before_header(heap_text *t) {
    hd_lines *l = &t->lines;
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
    *l->err = hd_lines_error(l, HD_UNSUPPORTED, "");
    n = heap_text_visible(l, text, sizeof text);
    snprintf(l->err->message, sizeof l->err->message, "a heap profile expected, found %s ('%.*s')", other,
             (int)n, text);
    return HD_UNSUPPORTED;
}

static hd_status heap_text_header(heap_text *t) {
    hd_lines *l = &t->lines;
    hd_status status = heap_text_before_header(t);
    if (status) return status;
    if (hd_lines_take(l, "heap_v2/")) {
        t->is_jemalloc = true;
        t->allocator = "jemalloc";
        if (hd_lines_number(l, 10, &t->period))
            return heap_text_failed(l, HD_MALFORMED, "a number of bytes per sample");
        return HD_OK;
    }
    if (!hd_lines_take(l, "heap profile:"))
        return heap_text_failed(l, HD_MALFORMED, "'heap profile:' or 'heap_v2/'");
    status = heap_text_pairs(t, t->header);
    t->has_header = t->kept[LIVE] && t->kept[TOTAL];
    return status ? status : heap_text_kind(t);
}

/* "1: 57 [1: 57] @ 0x7fe79ac39210 0x7fe79a93f95c" */
static hd_status heap_text_stack(heap_text *t) {
    hd_lines *l = &t->lines;
    hd_status status;
    bool good = false;
    heap_text_begin(t);
    status = heap_text_pairs(t, t->amount);
    hd_lines_skip_spaces(l);
    if (status || !(t->kept[LIVE] || t->kept[TOTAL])) return t->has_stack = false, status;
    if (hd_lines_take(l, "@")) status = heap_text_addresses(t, &good);
    else status = hd_lines_wrong(l, "'@' and addresses");
    if (!good) t->has_stack = false;
    return status;
}

/* "t*: 1: 5169 [1: 5169]": the amounts of the stack, or before all stacks of everything; t0 to tN are its threads. */
static hd_status heap_text_thread(heap_text *t) {
    hd_lines *l = &t->lines;
    hd_amount amount[HEAPS];
    uint64_t thread;
    hd_status status;
    bool all = hd_lines_take(l, "t*");
    const char *wrong = NULL;
    if (!all) {
        l->at++;
        wrong = hd_lines_number(l, 10, &thread);
    }
    if (!wrong && !hd_lines_take(l, ":")) wrong = "':' after t*, or t and the number of a thread";
    if (wrong) return t->has_stack = false, hd_lines_wrong(l, wrong);
    memset(amount, 0, sizeof amount);
    status = heap_text_pairs(t, amount);
    if (!status && all && t->has_stack) {
        memcpy(t->amount, amount, sizeof amount);
        status = heap_text_add(t);
    }
    memset(t->kept, 0, sizeof t->kept); /* a stack without t* keeps nothing */
    return status;
}

/* Reports a stack without amounts, before the next stack or the mapped objects. */
static hd_status heap_text_missing(heap_text *t) {
    if (!t->has_stack) return HD_OK;
    t->has_stack = false;
    return hd_lines_wrong(&t->lines, "t* with the amounts of the stack before it");
}

static hd_status heap_text_jemalloc_line(heap_text *t) {
    hd_lines *l = &t->lines;
    hd_status status;
    bool good = false;
    if (*l->at == 't') return heap_text_thread(t);
    if (*l->at == '@' && (status = heap_text_missing(t)) != HD_OK) return status;
    if (!hd_lines_take(l, "@")) return hd_lines_wrong(l, "'@' and addresses, or t* and t0 with its numbers");
    heap_text_begin(t);
    status = heap_text_addresses(t, &good);
    if (!good) t->has_stack = false;
    return status;
}

static hd_status heap_text_line(heap_text *t) {
    hd_lines *l = &t->lines;
    hd_status status;
    if (t->has_maps) return heap_text_add_map(t);
    if (l->at < l->end && *l->at == '#') return heap_text_go_frame(t);
    status = t->is_jemalloc ? HD_OK : heap_text_add(t);
    if (status || hd_lines_done(l)) return status;
    if (t->is_jemalloc && *l->at == 'M') status = heap_text_missing(t);
    if (status) return status;
    t->has_maps = hd_lines_take(l, "MAPPED_LIBRARIES:") || hd_lines_take(l, "--- Memory map: ---");
    if (t->has_maps) return HD_OK;
    return t->is_jemalloc ? heap_text_jemalloc_line(t) : heap_text_stack(t);
}

/* "1 block, 8 bytes" */
static const char *heap_text_amount(const hd_amount *a, char text[64]) {
    snprintf(text, 64, "%llu block%s, %llu byte%s", (unsigned long long)a->blocks, a->blocks == 1 ? "" : "s",
             (unsigned long long)a->bytes, a->bytes == 1 ? "" : "s");
    return text;
}

/* Reports if the stacks do not add up to the first line, and which of its two pairs differs. */
static hd_status heap_text_check(heap_text *t) {
    hd_lines *l = &t->lines;
    const hd_options *options = &l->reporter->options;
    bool differs[HEAPS], cut;
    char said[HEAPS][64], sum[HEAPS][64];
    int first, n;
    hd_error found = room_ended(l, "MAPPED_LIBRARIES");
    if (t->is_jemalloc) /* its first lines count samples, before scaling */
        return t->has_maps ? HD_OK : hd_report(l->reporter, &found, l->err);
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
    found.status = HD_LIMIT;     /* the program itself cuts its files */
    if (options->warning) options->warning(options->warning_user, &found);
    return HD_OK;
}

/* The program: the file name of the first object, or the binary of the symbols. */
static const char *heap_text_program(heap_text *t) {
    for (size_t i = 0; i < t->map_count; i++) {
        hd_str path = { t->names.data + t->maps[i].path, t->maps[i].length };
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
        hd_heap heap = HD_ZERO;
        heap.process = heap_text_program(t);
        heap.kind = i == LIVE ? HD_HEAP_LIVE : HD_HEAP_TOTAL;
        heap.allocator = t->allocator;
        heap.sample_bytes = t->period > 1 ? t->period : 0;
        heap.profile = t->profile[i];
        t->profile[i] = NULL;    /* now the dump owns it */
        status = hd_dump_add_heap(dump, &heap, err);
    }
    return status;
}

static hd_status heap_text_run(heap_text *t) {
    hd_status status = heap_text_header(t);
    while (!status && !(status = hd_lines_next(&t->lines)) && t->lines.start) status = heap_text_line(t);
    return status;
}

hd_status heap_text_read(hd_dump *dump, hd_in in, const hd_options *options, hd_error *err) {
    heap_text t = HD_ZERO;
    hd_status status = HD_OK;
    t.lines = hd_lines_of(hd_dump_window(dump, in), hd_dump_reporter(dump), err);
    for (int i = 0; i < 3; i++) {
        if (getentropy(&t.factor[i], sizeof t.factor[i])) t.factor[i] = UINT64_C(0x9e3779b97f4a7c15) >> 2 * i;
        t.factor[i] |= 1;
    }
    for (int i = LIVE; i < HEAPS && !status; i++) {
        t.profile[i] = room_profile(options, err);
        if (!t.profile[i]) status = err->status;
    }
    if (!status) status = heap_text_run(&t);
    if (!status) status = heap_text_finish(&t, dump);
    for (int i = LIVE; i < HEAPS; i++) {
        hd_profile_free(t.profile[i]);
        room_free(&t.lines, t.held[i], t.held_room[i], sizeof *t.held[i]);
    }
    room_free(&t.lines, t.stack, t.stack_room, sizeof *t.stack);
    room_free(&t.lines, t.calls, t.call_room, sizeof *t.calls);
    room_free(&t.lines, t.slots, t.slot_count, sizeof *t.slots);
    room_free(&t.lines, t.named, t.named_room, sizeof *t.named);
    room_free(&t.lines, t.names.data, t.names.room, 1);
    room_free(&t.lines, t.symbols.list, t.symbols.room, sizeof *t.symbols.list);
    room_free(&t.lines, t.symbols.text.data, t.symbols.text.room, 1);
    room_free(&t.lines, t.maps, t.map_room, sizeof *t.maps);
    return status;
}
