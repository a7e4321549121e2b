/* The lines of a listing as text: figures, then names shortened to the remaining columns. */

#include "screen.h"

#include <limits.h>

/* Prints the label of a heap; with `than`, only the parts that differ. */
static void put_label(FILE *out, const char *before, const hd_heap *heap, const hd_heap *than) {
    hd_buffer label = { 0 };
    if (hd_print_label(heap, than, hd_out_memory(&label), NULL)) needed(NULL);
    if (label.size)
        display(out, "%s%.*s", before, (int)label.size, (const char *)label.data);
    hd_buffer_free(&label);
    if (!than && has_unknown_error(heap)) display(out, ", error unknown (no block counts)");
}

void put_label_within(FILE *out, const hd_heap *heap, const hd_heap *after, int columns) {
    FREED char *text = NULL;
    size_t size;
    FILE *f = needed(open_memstream(&text, &size));
    put_label(f, "", heap, NULL);
    if (after) put_label(f, " -> ", after, compare_heaps(heap, after, true) ? NULL : heap);
    closed_text(f, &text);
    put_within(out, text, columns);
}

void put_error(FILE *out, const hd_amount *amount) {
    uint64_t error = hd_standard_error(amount->variance);
    double share = amount->bytes ? (double)error / (double)amount->bytes : 0;
    if (share >= 10) display(out, " \xc2\xb1>1000%%");
    else display(out, " \xc2\xb1%5.1f%%", 100 * share);
}

/* The columns of one listing. */
typedef struct columns {
    const arguments *a;
    const screen *screen;
    bool estimates, compares;
    int bytes, blocks;           /* widths; blocks 0: no column */
    uint64_t total;
} columns;

static int digits_of(uint64_t n) {
    int digits = 1;
    while (n /= 10) digits++;
    return digits;
}

static void put_blocks(FILE *out, uint64_t blocks, int width) {
    if (blocks == HD_UNKNOWN) display(out, "%*s", width, "-");
    else display(out, "%*llu", width, (unsigned long long)blocks);
}

enum { BAR = 8, BAR_FROM = 100 };

/* Prints bytes, share of the whole, and blocks. Returns the used columns. */
static int put_amount(FILE *out, const columns *c, const listing_line *x) {
    const hd_amount *amount = &x->amount[0];
    int used = c->bytes + 8;
    put_style(out, c->screen, c->total && amount->bytes >= c->total / 10 && x->entry != HD_NONE ? STRONG : PLAIN);
    put_bytes(out, c->a, amount->bytes, c->bytes);
    put_style(out, c->screen, PLAIN);
    if (c->estimates) put_error(out, amount), used += 8;
    if (amount->bytes > c->total) display(out, "  > 100%%");
    else put_share(out, amount->bytes, c->total);
    if (c->blocks) {
        display(out, "  "), put_blocks(out, amount->blocks, c->blocks);
        used += 2 + c->blocks;
    }
    if (c->screen->columns >= BAR_FROM) {
        display(out, "  "), put_bar(out, c->screen, amount->bytes, c->total, BAR);
        used += 2 + BAR;
    }
    return used;
}

/* Prints a change with its sign, after "~" if sampling may explain it. */
static void put_signed(FILE *out, const columns *c, uint64_t change, const char *sign, int width) {
    FREED char *text = NULL;
    size_t size;
    FILE *f = needed(open_memstream(&text, &size));
    display(f, "%s", sign), put_bytes(f, c->a, change, 0);
    closed_text(f, &text);
    display(out, "%*s", width, text);
}

static int put_changes(FILE *out, const columns *c, const listing_line *x) {
    const hd_amount *before = &x->amount[0], *after = &x->amount[1];
    bool grown = after->bytes > before->bytes, same = after->bytes == before->bytes;
    const char *sign = grown ? "+" : same ? "" : "-";
    int width = c->bytes + (c->screen->columns && c->screen->columns < 80 ? 1 : 2), used = 3 * width;
    put_style(out, c->screen, same || x->flags & HD_DIFF_NOISE ? PLAIN : grown ? MORE_THAN : LESS_THAN);
    put_signed(out, c, difference(before->bytes, after->bytes),
               !(x->flags & HD_DIFF_NOISE) ? sign : grown ? "~+" : same ? "~" : "~-", width);
    put_style(out, c->screen, PLAIN);
    if (c->estimates) {
        hd_u128 sum = before->variance;
        sum.lo += after->variance.lo;
        sum.hi += after->variance.hi + (sum.lo < after->variance.lo);
        put_signed(out, c, hd_standard_error(sum), "\xc2\xb1", width);
        used += width;
    }
    put_bytes(out, c->a, before->bytes, width);
    put_bytes(out, c->a, after->bytes, width);
    if (!c->blocks) return used;
    if (before->blocks == HD_UNKNOWN || after->blocks == HD_UNKNOWN) put_blocks(out, HD_UNKNOWN, c->blocks + 3);
    else display(out, "%*s%llu", c->blocks + 3 - digits_of(difference(before->blocks, after->blocks)),
                 after->blocks > before->blocks ? "+" : after->blocks < before->blocks ? "-" : "",
                 (unsigned long long)difference(before->blocks, after->blocks));
    return used + c->blocks + 3;
}

static bool is_self(hd_str name) { return hd_str_equal(name, hd_cstr("<self>")); }

/* Appends the frames of a row to those of its printed line. Adjacent frames of one library without names become one.
   */
static size_t add_calls(const columns *c, const listing_line *x, bool is_first, frame_run **calls, size_t n) {
    *calls = needed(realloc(*calls, (n + x->name_count + 1) * sizeof **calls));
    for (uint32_t k = 0; k < x->name_count; k++) {
        frame_run *to = *calls + n, *last = n ? to - 1 : NULL;
        hd_str module = module_of_address(x->names[k]);
        uint64_t times = x->times && x->times[k] ? x->times[k] : 1;
        bool joins = last && module.len && times == 1 && (last->nameless || last->times == 1) &&
                     !c->a->view.frames_all;
        if (!is_first && is_self(x->names[k])) continue;
        if (joins && hd_str_equal(module_of_address(last->of), module)) {
            if (n > 1) last->name = module; /* the first frame of a line keeps its address */
            last->nameless = true;
            last->times++;
            continue;
        }
        *to = (frame_run){ .name = x->names[k], .of = x->names[k], .times = times };
        n++;
    }
    return n;
}

/* The names of a line: frames, without a folded "<self>", then values of other axes. */
typedef struct named {
    frame_run *calls;
    hd_str *values;
    size_t count, value_count;
} named;

static void add_values(named *to, const hd_str *values, size_t count) {
    to->values = needed(realloc(to->values, (to->value_count + count + 1) * sizeof *to->values));
    for (size_t i = 0; i < count; i++) to->values[to->value_count++] = values[i];
}

static named named_by(const columns *c, const listing *l, const listing_line *x) {
    named names = { NULL, NULL, 0, 0 };
    for (const listing_line *y = x;; y = &l->lines[y->next]) {
        if (y->axis == x->axis || y->axis == HD_AXIS_BACKTRACE)
            names.count = add_calls(c, y, y == x, &names.calls, names.count);
        else add_values(&names, y->names, y->name_count);
        add_values(&names, y->values, y->value_count);
        if (y->next == HD_NONE) return names;
    }
}

/* All values, in a third of the columns, or more if their keys need more. */
static char *values_text(const named *names, int room) {
    int each = room / (3 * (int)names->value_count);
    char *text;
    size_t size;
    FILE *f = needed(open_memstream(&text, &size));
    for (size_t i = 0; i < names->value_count; i++) {
        int least = value_columns(names->values[i]);
        FREED char *value = NULL;
        if (least < 8) least = 8;
        value = short_name(names->values[i], !room ? 0 : each > least ? each : least);
        display(f, "%s%s", i ? CALLS : "", value);
    }
    closed_text(f, &text);
    return text;
}

static void put_names(FILE *out, const columns *c, const listing *l, uint32_t i, int room) {
    enum { LEAST = 12 };
    const listing_line *x = &l->lines[i];
    named names = named_by(c, l, x);
    FREED char *text = NULL, *values = NULL;
    int least = names.count ? value_columns(names.calls[0].name) : 0;
    if (least < LEAST) least = LEAST;
    if (names.value_count) values = values_text(&names, room);
    if (room && values) room -= columns_of(hd_cstr(values)) + 3;
    if (l->whole) room = INT_MAX / 2;
    if (names.count) text = short_calls(names.calls, names.count, room && room < least ? least : room,
                                        c->a->view.invert);
    put_style(out, c->screen, x->entry == HD_NONE || (names.count && is_self(names.calls[0].name)) ? FAINT : PLAIN);
    display(out, "%s", text ? text : "");
    if (values) put_style(out, c->screen, FAINT), display(out, "%s%s", text ? CALLS : "", values);
    put_style(out, c->screen, PLAIN);
    free(names.calls), free(names.values);
}

void put_besides(FILE *out, const arguments *a, uint64_t more, bool open) {
    if (more) display(out, open ? ", +" : " (+"), put_bytes(out, a, more, 0), display(out, "?");
    if (more || open) display(out, ")");
}

void put_besides_legend(FILE *out, const screen *s, bool compares) {
    put_style(out, s, FAINT);
    display(out, compares ? "(?, before +..., after +...)" : "(+...?)");
    display(out, ": at most this much more, from merged heaps that do not list the line\n");
    put_style(out, s, PLAIN);
}

static void put_line(FILE *out, const columns *c, const listing *l, uint32_t i) {
    enum { INDENT_MOST = 200, MORE_COLUMNS = 16 };
    const listing_line *x = &l->lines[i];
    int used = (c->compares ? put_changes : put_amount)(out, c, x);
    int indent = 2 * (int)(x->indent < INDENT_MOST / 2 ? x->indent : INDENT_MOST / 2);
    int room = c->screen->columns;
    if (room && indent > room / 3) indent = room / 3;
    display(out, "%*s", 2 + indent, "");
    if (x->indent > INDENT_MOST / 2) display(out, "[%u] ", x->depth);
    const char *change = x->flags & HD_DIFF_NEW ? " (new" : x->flags & HD_DIFF_GONE ? " (gone" :
                         x->flags & HD_DIFF_BOUND ? " (" : "";
    if (x->entry == HD_NONE) change = "";
    if (room) room -= used + indent + 3 + (*change ? 8 : 0) + MORE_COLUMNS * ((x->more[0] != 0) + (x->more[1] != 0));
    if (c->screen->columns && room < 12) room = 12;
    put_names(out, c, l, i, room);
    if (*change) {
        display(out, "%s%s", change, x->flags & HD_DIFF_BOUND ? "?" : "");
        for (int k = 0; k < 2; k++)
            if (x->more[k]) display(out, k ? ", after +" : ", before +"), put_bytes(out, c->a, x->more[k], 0);
        display(out, ")");
    } else if (x->more[0]) {
        put_style(out, c->screen, FAINT);
        put_besides(out, c->a, x->more[0], false);
        put_style(out, c->screen, PLAIN);
    }
    display(out, "\n");
}

/* Whether the screen is too narrow for a column of blocks. */
static bool is_narrow(const screen *s) { return s->columns && s->columns < 100; }

int listing_figures(const arguments *a, const screen *s, const listing *l) {
    const hd_amount *x = &l->lines[0].amount[0];
    return (a->view.exact ? digits_of(x->bytes) : 10) + 8 + 2 + digits_of(x->blocks) + 3 +
           (s->columns >= BAR_FROM ? 2 + BAR : 0);
}

void listing_put(FILE *out, const arguments *a, const screen *s, const listing *l, const hd_heap *heap,
                 const hd_heap *after) {
    const hd_amount *x = &l->lines[0].amount[0], *y = &l->lines[0].amount[1];
    uint64_t blocks = x->blocks;
    bool more = false;
    int used;
    columns c = { .a = a, .screen = s, .compares = after != NULL, .total = x->bytes };
    if (after && blocks != HD_UNKNOWN) blocks = y->blocks == HD_UNKNOWN || y->blocks > blocks ? y->blocks : blocks;
    c.estimates = (heap->sample_bytes && x->blocks != HD_UNKNOWN) ||
                  (after && after->sample_bytes && y->blocks != HD_UNKNOWN) || x->variance.lo || x->variance.hi ||
                  y->variance.lo || y->variance.hi;
    c.bytes = a->view.exact ? digits_of(x->bytes > y->bytes ? x->bytes : y->bytes) : 10;
    c.blocks = blocks == HD_UNKNOWN || (after && c.estimates && is_narrow(s)) ? 0 : digits_of(blocks);
    used = (after ? put_changes : put_amount)(out, &c, &l->lines[0]);
    display(out, "  ");
    put_label_within(out, heap, after, !s->columns ? 0 : s->columns > used + 15 ? s->columns - used - 3 : 12);
    display(out, "\n");
    for (uint32_t i = 1; i < l->count; i++) {
        if (l->lines[i].head != i) continue;
        put_line(out, &c, l, i);
        more |= l->lines[i].more[0] || l->lines[i].more[1];
    }
    if (more) put_besides_legend(out, s, after != NULL);
}
