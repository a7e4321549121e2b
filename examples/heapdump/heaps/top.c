/* heapdump top: the functions with the most bytes, with and without their callees. */

#include "show.h"

char *function_pattern(hd_str name) {
    FREED char *short_one = short_name(name, 30);
    char *made = needed(malloc(2 * strlen(short_one) + 2)), *to = made;
    const char *from = short_one + strspn(short_one, "\xe2\x80\xa6"); /* where the beginning was cut off */
    if (from == short_one) *to++ = '^';
    for (const char *p = from; *p && (unsigned char)*p < 0x80 && *p != '('; p++) {
        if (strchr(".[]{}*+?^$|\\", *p)) *to++ = '\\';
        *to++ = *p;
    }
    while (to > made && to[-1] == ' ') to--;
    *to = 0;
    return made;
}

static hd_status top_row(void *user, const hd_top_row *row) {
    hd_json *j = user;
    json_line(j);
    json_str(j, "name", row->name);
    json_amount(j, "bytes", "blocks", "error", &row->cumulative);
    json_amount(j, "self_bytes", "self_blocks", "self_error", &row->self);
    json_bool(j, "self_is_bound", row->self_is_bound);
    json_u64(j, "unlisted_bytes", row->unlisted.bytes);
    json_known(j, "unlisted_blocks", row->unlisted.blocks);
    if (row->more) json_u64(j, "more_bytes", row->more);
    hd_json_end(j);
    return HD_OK;
}

typedef struct top_list {
    FILE *out;
    char *first;                 /* a regular expression for the first name; to be freed */
    const arguments *a;
    const screen *screen;
    uint64_t total;
    int bytes, blocks;           /* widths */
    bool estimates, more;        /* more: a line may be more */
    hd_top_row *rows;            /* names are to be freed */
    size_t count;
} top_list;

/* Bytes, with their error, and their share; "<=" before a bound. */
static int put_part(const top_list *t, const hd_amount *amount, bool is_bound) {
    display(t->out, "%s", is_bound ? " \xe2\x89\xa4" : "  ");
    put_bytes(t->out, t->a, amount->bytes, t->bytes);
    if (t->estimates) put_error(t->out, amount);
    if (amount->bytes > t->total) display(t->out, "  > 100%%");
    else put_share(t->out, amount->bytes, t->total);
    return 2 + t->bytes + 8 + (t->estimates ? 8 : 0);
}

static hd_status keep_top_row(void *user, const hd_top_row *row) {
    top_list *t = user;
    char *name = needed(malloc(row->name.len + 1));
    ONE_MORE(t->rows, t->count);
    memcpy(name, row->name.data, row->name.len);
    t->rows[t->count] = *row;
    t->rows[t->count++].name = (hd_str){ name, row->name.len };
    return HD_OK;
}

static void put_top_row(top_list *t, const hd_top_row *row, hd_str shown) {
    enum { UNLISTED_COLUMNS = 22, MORE_COLUMNS = 16 };
    int used = put_part(t, &row->cumulative, false) + put_part(t, &row->self, row->self_is_bound) + 2;
    bool unlisted = row->unlisted.bytes > t->total / 100;
    int room;
    FREED char *name = NULL;
    if (t->blocks) used += t->blocks + 2;
    room = t->screen->columns ? t->screen->columns - used - 1 - (row->more ? MORE_COLUMNS : 0) : 0;
    if (room && unlisted && room - UNLISTED_COLUMNS < 24 && room - UNLISTED_COLUMNS < columns_of(shown))
        unlisted = false;        /* the name says more */
    if (room && unlisted) room -= UNLISTED_COLUMNS;
    name = short_name(shown, room && room < 12 ? 12 : room);
    if (t->blocks && row->cumulative.blocks == HD_UNKNOWN) display(t->out, "%*s", t->blocks + 2, "-");
    else if (t->blocks) display(t->out, "%*llu", t->blocks + 2, (unsigned long long)row->cumulative.blocks);
    display(t->out, "  %s", name);
    if (unlisted || row->more) {
        put_style(t->out, t->screen, FAINT);
        if (unlisted)
            display(t->out, " ("), put_bytes(t->out, t->a, row->unlisted.bytes, 0), display(t->out, " unlisted");
        put_besides(t->out, t->a, row->more, unlisted);
        put_style(t->out, t->screen, PLAIN);
    }
    t->more |= row->more > 0;
    display(t->out, "\n");
    if (!t->first) t->first = function_pattern(hd_frame_parse(row->name).function);
}

/* Prints the rows. Names of frames are shortened by frames_shown. */
static void put_top_rows(top_list *t, bool frames) {
    FREED hd_str *names = needed(calloc(t->count + 1, sizeof *names));
    FREED char **shown = needed(calloc(t->count + 1, sizeof *shown));
    for (size_t i = 0; i < t->count; i++) names[i] = t->rows[i].name;
    if (frames) frames_shown(names, t->count, shown);
    for (size_t i = 0; i < t->count; i++) {
        put_top_row(t, &t->rows[i], frames ? hd_cstr(shown[i]) : names[i]);
        free(shown[i]), free((void *)(uintptr_t)names[i].data);
    }
    free(t->rows);
}

static hd_status top_heap(showing *s, const hd_heap *heap, hd_error *err) {
    uint32_t top = s->a->cut.cutoff.top ? s->a->cut.cutoff.top : s->a->cut.all ? 0 : s->rows > 2 ? s->rows - 2 : 20;
    hd_top_options options = { .axis = axis_in(s->a, heap), .top = top, .by_self = s->a->view.by_self,
                               .order = s->a->cut.order, .options = show_warned(s) };
    totals all = totals_of(heap);
    hd_status status;
    top_list t = { .out = s->to.text, .a = s->a, .screen = &s->screen, .total = all.bytes };
    if (s->a->view.json) return hd_top(heap, &options, top_row, &s->to.json, err);
    t.estimates = heap->sample_bytes && !has_unknown_error(heap);
    t.blocks = all.blocks == HD_UNKNOWN ? 1 : snprintf(NULL, 0, "%llu", (unsigned long long)all.blocks);
    if (t.blocks < 6) t.blocks = 6;
    if (s->screen.columns && s->screen.columns < 100) t.blocks = 0; /* names need the room */
    t.bytes = s->a->view.exact ? snprintf(NULL, 0, "%llu", (unsigned long long)all.bytes) : 10;
    if (t.bytes < 5) t.bytes = 5;
    display(t.out, "  "), put_bytes(t.out, s->a, all.bytes, t.bytes);
    if (all.blocks != HD_UNKNOWN)
        display(t.out, " in %llu block%s", (unsigned long long)all.blocks, plural(all.blocks));
    display(t.out, ": "), put_label_within(t.out, heap, NULL, s->screen.columns ? s->screen.columns - 34 : 0);
    display(t.out, "\n");
    put_style(t.out, &s->screen, FAINT);
    display(t.out, "  %*s %7s%*s  %*s %7s%*s%*s  %s\n", t.bytes, "total", "", t.estimates ? 8 : 0, "", t.bytes,
            "self", "", t.estimates ? 8 : 0, "", t.blocks ? t.blocks + 2 : 0, t.blocks ? "blocks" : "",
            !options.axis ? "function" : memprof_split(s->a) ? "type" : s->a->view.by);
    put_style(t.out, &s->screen, PLAIN);
    status = hd_top(heap, &options, keep_top_row, &t, err);
    put_top_rows(&t, !options.axis && !s->of_objects && !s->a->view.wide);
    if (t.more) put_besides_legend(t.out, &s->screen, false);
    free(s->first);
    s->first = t.first;
    return status;
}

void top_defaults(arguments *a) { a->view.hide = a->heaps.last_dump = a->heaps.live_kind = true; }

int run_top(const arguments *a) { return show(a, top_heap); }

