/* tree, top */

#include "commands.h"
#include "hidden_list.h"
#include "listing.h"
#include "memprof.h"
#include "objects.h"

/* Where heaps are shown. */
typedef struct showing {
    const arguments *a;
    answer to;
    screen screen;
    uint32_t rows;               /* lines for each heap; 0: any number */
    reading reading;
    const repeats *again;        /* of the heap that is shown */
    bool of_objects;             /* so is the file */
    char *first;                 /* a regular expression for the name listed first; NULL: none was */
} showing;

static hd_options warned(showing *s) { return (hd_options){ .warning = on_warning, .warning_user = &s->reading }; }

/* JSON of a tree; `along`: NULL, or the axis whose values are among its frames. */
typedef struct json_tree { hd_json *json; const char *along; } json_tree;

static hd_status tree_row(void *user, const hd_tree_row *row) {
    const json_tree *t = user;
    hd_json *j = t->json;
    hd_str value = t->along ? value_along(row->name, t->along) : (hd_str){ NULL, 0 };
    json_line(j);
    json_u64(j, "depth", row->depth);
    json_text(j, "axis", !row->depth ? NULL : value.len ? t->along : row->breakdown->axis[row->axis].name);
    json_str(j, "name", value.len ? value : row->name);
    json_amount(j, "bytes", "blocks", "error", &row->amount);
    if (row->unlisted) json_u64(j, "more_bytes", row->unlisted);
    hd_json_end(j);
    return HD_OK;
}

/* A regular expression that a function's name begins with. To be freed. */
static char *pattern_of(hd_str name) {
    char *short_one = short_name(name, 30), *made = needed(malloc(2 * strlen(short_one) + 2)), *to = made;
    const char *from = short_one + strspn(short_one, "\xe2\x80\xa6"); /* where the beginning was cut off */
    if (from == short_one) *to++ = '^';
    for (const char *p = from; *p && (unsigned char)*p < 0x80 && *p != '('; p++) {
        if (strchr(".[]{}*+?^$|\\", *p)) *to++ = '\\';
        *to++ = *p;
    }
    while (to > made && to[-1] == ' ') to--;
    *to = 0;
    free(short_one);
    return made;
}

static hd_status json_heap(showing *s, const hd_heap *heap, hd_tree_options *tree, hd_error *err) {
    json_tree t = { &s->to.json, NULL };
    hd_heap along;
    hd_status status;
    if (!is_along(s->a, tree->first_axis, false)) return hd_tree(heap, tree, tree_row, &t, err);
    t.along = s->a->by;
    status = heap_along(heap, tree->first_axis, &tree->options, &along, err);
    if (status) return status;
    tree->first_axis = 0;
    tree->cutoff.nested = true;
    status = hd_tree(&along, tree, tree_row, &t, err);
    hd_heap_release(&along);
    return status;
}

static hd_status tree_heap(showing *s, const hd_heap *heap, hd_error *err) {
    hd_options options = warned(s);
    arguments view = *s->a;
    listing l;
    hd_status status;
    view.once &= !s->of_objects;
    if (s->a->json) {
        hd_tree_options tree = tree_options(s->a);
        tree.first_axis = axis_in(s->a, heap);
        tree.options = options;
        return json_heap(s, heap, &tree, err);
    }
    status = listing_make(&view, heap, NULL, s->rows, &options, &l, err);
    if (status) return status;
    if (!s->a->invert) listing_repeat(&l, s->again);
    if (!s->of_objects && !s->a->wide) listing_shorten(&l);
    listing_sort(&l, s->a->order);
    listing_put(s->to.text, s->a, &s->screen, &l, heap, NULL);
    listing_free(&l);
    return HD_OK;
}

/* top ------------------------------------------------------------------------------------------- */

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
    if (!(t->count & (t->count - 1))) t->rows = needed(realloc(t->rows, (2 * t->count + 1) * sizeof *t->rows));
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
    char *name;
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
    if (!t->first) t->first = pattern_of(hd_frame_parse(row->name).function);
    free(name);
}

/* The rows, with names as frames_shown has them if they are frames. */
static void put_top_rows(top_list *t, bool frames) {
    hd_str *names = needed(calloc(t->count + 1, sizeof *names));
    char **shown = needed(calloc(t->count + 1, sizeof *shown));
    for (size_t i = 0; i < t->count; i++) names[i] = t->rows[i].name;
    if (frames) frames_shown(names, t->count, shown);
    for (size_t i = 0; i < t->count; i++) {
        put_top_row(t, &t->rows[i], frames ? hd_cstr(shown[i]) : names[i]);
        free(shown[i]), free((void *)(uintptr_t)names[i].data);
    }
    free(names), free(shown), free(t->rows);
}

static hd_status top_heap(showing *s, const hd_heap *heap, hd_error *err) {
    uint32_t top = s->a->cutoff.top ? s->a->cutoff.top : s->a->all ? 0 : s->rows > 2 ? s->rows - 2 : 20;
    hd_top_options options = { .axis = axis_in(s->a, heap), .top = top, .by_self = s->a->by_self,
                               .order = s->a->order, .options = warned(s) };
    totals all = totals_of(heap);
    hd_status status;
    top_list t = { .out = s->to.text, .a = s->a, .screen = &s->screen, .total = all.bytes };
    if (s->a->json) return hd_top(heap, &options, top_row, &s->to.json, err);
    t.estimates = heap->sample_bytes && !has_unknown_error(heap);
    t.blocks = all.blocks == HD_UNKNOWN ? 1 : snprintf(NULL, 0, "%llu", (unsigned long long)all.blocks);
    if (t.blocks < 6) t.blocks = 6;
    if (s->screen.columns && s->screen.columns < 100) t.blocks = 0; /* names need the room */
    t.bytes = s->a->exact ? snprintf(NULL, 0, "%llu", (unsigned long long)all.bytes) : 10;
    if (t.bytes < 5) t.bytes = 5;
    display(t.out, "  "), put_bytes(t.out, s->a, all.bytes, t.bytes);
    if (all.blocks != HD_UNKNOWN)
        display(t.out, " in %llu block%s", (unsigned long long)all.blocks, plural(all.blocks));
    display(t.out, ": "), put_label_within(t.out, heap, NULL, s->screen.columns ? s->screen.columns - 34 : 0);
    display(t.out, "\n");
    put_style(t.out, &s->screen, FAINT);
    display(t.out, "  %*s %7s%*s  %*s %7s%*s%*s  %s\n", t.bytes, "total", "", t.estimates ? 8 : 0, "", t.bytes,
            "self", "", t.estimates ? 8 : 0, "", t.blocks ? t.blocks + 2 : 0, t.blocks ? "blocks" : "",
            !options.axis ? "function" : memprof_split(s->a) ? "type" : s->a->by);
    put_style(t.out, &s->screen, PLAIN);
    status = hd_top(heap, &options, keep_top_row, &t, err);
    put_top_rows(&t, !options.axis && !s->of_objects && !s->a->wide);
    if (t.more) put_besides_legend(t.out, &s->screen, false);
    free(s->first);
    s->first = t.first;
    return status;
}

/* --frames hidden ------------------------------------------------------------------------------- */

static hd_status put_hidden(showing *s, const hd_heap *heap, hd_error *err) {
    hidden_row *rows = NULL;
    size_t count = 0;
    uint64_t total = totals_of(heap).bytes;
    hd_status status = s->of_objects ? HD_OK : hidden_list_make(heap, &rows, &count, err);
    int width = s->a->exact ? snprintf(NULL, 0, "%llu", (unsigned long long)total) : 10;
    if (status) return status;
    if (!s->a->json) {
        display(s->to.text, "hidden frames of "), put_label_within(s->to.text, heap, NULL, 0);
        display(s->to.text, ", with all that their stacks hold%s\n", count ? "" : ": none");
    }
    for (size_t i = 0; i < count; i++) {
        const hidden_row *r = &rows[i];
        if (s->a->json) {
            json_line(&s->to.json);
            json_text(&s->to.json, "pattern", r->pattern);
            json_text(&s->to.json, "object", *r->object ? r->object : NULL);
            json_amount(&s->to.json, "bytes", "blocks", "error", &r->amount);
            hd_json_end(&s->to.json);
            continue;
        }
        display(s->to.text, "  "), put_bytes(s->to.text, s->a, r->amount.bytes, width);
        put_share(s->to.text, r->amount.bytes, total);
        if (r->amount.blocks == HD_UNKNOWN) display(s->to.text, "%8s", "-");
        else display(s->to.text, "%8llu", (unsigned long long)r->amount.blocks);
        display(s->to.text, "  %s%s%s%s\n", r->pattern, *r->object ? " [" : "", r->object, *r->object ? "]" : "");
    }
    hidden_list_free(rows, count);
    return HD_OK;
}

/* Both ------------------------------------------------------------------------------------------ */

static int by_size(const void *x, const void *y) {
    const sized_heap *a = x, *b = y;
    int order = -compare_numbers(a->bytes, b->bytes);
    return order ? order : compare_numbers(a->number, b->number);
}

size_t largest_first(const arguments *a, const screen *s, sized_heap *heaps, size_t count) {
    enum { MOST = 10, LINES = 8 };
    size_t most = s->rows ? (size_t)s->rows / LINES : MOST;
    if (a->all || a->json || count <= MOST) return count;
    qsort(heaps, count, sizeof *heaps, by_size);
    return most < 2 ? 2 : most < count ? most : count;
}

void put_smaller(FILE *out, const arguments *a, const screen *s, const char *what, const sized_heap *heaps,
                 size_t shown, size_t count) {
    uint64_t bytes = 0;
    if (shown == count) return;
    for (size_t h = shown; h < count; h++)
        bytes = heaps[h].bytes > UINT64_MAX - bytes ? UINT64_MAX : bytes + heaps[h].bytes;
    put_style(out, s, FAINT);
    display(out, "not shown: %zu smaller %s, of ", count - shown, what), put_bytes(out, a, heaps[shown].bytes, 0);
    if (heaps[shown].bytes)
        display(out, " and less, "), put_bytes(out, a, bytes, 0), display(out, " together");
    display(out, " (--all)\n");
    put_style(out, s, PLAIN);
}

/* What a listing leaves out, and how to see it. */
void put_left_out(FILE *out, const screen *s, size_t hidden, size_t other_kinds, size_t earlier) {
    char text[96];
    put_style(out, s, FAINT);
    snprintf(text, sizeof text, "hidden: %zu frame%s of allocators and of what starts a program (--frames all)",
             hidden, plural(hidden));
    if (hidden) put_wrapped(out, text, s->columns);
    snprintf(text, sizeof text, "not shown: %zu heap%s of other kinds (--kind peak, total or temporary)", other_kinds,
             plural(other_kinds));
    if (other_kinds) put_wrapped(out, text, s->columns);
    snprintf(text, sizeof text, "not shown: %zu heap%s of earlier dumps (--all)", earlier, plural(earlier));
    if (earlier) put_wrapped(out, text, s->columns);
    put_style(out, s, PLAIN);
}

void json_left_out(answer *to, size_t hidden, size_t other_kinds, size_t earlier) {
    if (!to->a->json) return;
    answer_end_list(to);
    json_object(&to->json, "left_out");
    json_u64(&to->json, "hidden_frames", hidden);
    json_u64(&to->json, "other_kinds", other_kinds);
    json_u64(&to->json, "earlier_heaps", earlier);
    hd_json_end(&to->json);
}

/* At most two lines. */
static void put_what_next(showing *s, const chosen *c) {
    if (c->earlier) put_next(s->to.text, &s->screen, s->a, "what grew", "diff", c->file, NULL);
    if (hd_dump_graph(c->dump)) put_next(s->to.text, &s->screen, s->a, "the objects", "retained", c->file, NULL);
    else if (s->first && s->a->by_self && !s->a->by)
        put_next(s->to.text, &s->screen, s->a, "who calls it", "tree", "--invert", "--root", s->first, c->file, NULL);
    else put_next(s->to.text, &s->screen, s->a, "who allocates", "top", "--self", c->file, NULL);
}

/* Heaps in the order in which they are shown. To be freed. */
static sized_heap *in_order(const showing *s, const chosen *c, size_t *shown) {
    sized_heap *order = needed(calloc(c->count + 1, sizeof *order));
    for (size_t h = 0; h < c->count; h++) order[h] = (sized_heap){ totals_of(&c->heaps[h]).bytes, h };
    *shown = largest_first(s->a, &s->screen, order, c->count);
    return order;
}

static bool show_file(showing *s, const chosen *c, bool any,
                      hd_status (*one)(showing *s, const hd_heap *heap, hd_error *err)) {
    hd_error err;
    hd_status failed = HD_OK;
    size_t shown;
    sized_heap *order = in_order(s, c, &shown);
    s->rows = rows_for(s->a, &s->screen, shown);
    for (size_t k = 0; k < shown && !failed; k++) {
        hd_json *j = &s->to.json;
        size_t h = order[k].number;
        if (any && !s->a->json) display(s->to.text, "\n");
        any = true;
        s->again = &c->again[h];
        s->of_objects = hd_dump_graph(c->dump) != NULL;
        if (s->a->json) {
            hd_json_object(j);
            json_text(j, "file", c->file);
            json_label(j, &c->heaps[h]);
            json_array(j, "rows");
        }
        failed = one(s, &c->heaps[h], &err);
        if (s->a->json) hd_json_end(j), hd_json_end(j);
    }
    if (!s->a->json) {
        put_smaller(s->to.text, s->a, &s->screen, "heaps", order, shown, c->count);
        put_left_out(s->to.text, &s->screen, c->hidden, c->other_kinds, c->earlier);
        if (!s->a->frames_hidden) put_what_next(s, c);
    }
    free(order);
    if (failed && failed != HD_IO) /* output_close tells of output */
        display(stderr, "heapdump: %s: %s\n", c->file, err.message);
    return !failed;
}

/* Each chosen heap of each file; what could be read is shown even when another file was bad. */
static int show(const arguments *a, hd_status (*one)(showing *s, const hd_heap *heap, hd_error *err)) {
    showing s = { .a = a, .screen = screen_of(a) };
    bool any = false;
    if (a->frames_hidden) one = put_hidden;
    size_t hidden = 0, other_kinds = 0, earlier = 0;
    int status = answer_open(&s.to, a, "heaps");
    if (status) return status;
    for (int i = 0; i < a->file_count; i++) {
        chosen c;
        s.reading = (reading){ .file = a->files[i] };
        if (choose(a, a->files[i], &c)) {
            status = BAD_INPUT;
            continue;
        }
        if (!show_file(&s, &c, any, one)) status = BAD_INPUT;
        any = true;
        hidden += c.hidden, other_kinds += c.other_kinds, earlier += c.earlier;
        chosen_free(&c);
    }
    json_left_out(&s.to, hidden, other_kinds, earlier);
    free(s.first);
    if (!any) return answer_close(&s.to, status);
    return answer_close(&s.to, DONE) ? BAD_INPUT : status;
}

int run_tree(const arguments *a) {
    arguments view = *a;
    view.hide = view.once = view.last_dump = view.live_kind = true;
    view.exact |= memprof_counted(a);
    if (a->all && !a->has_cutoff) view.has_cutoff = true; /* and none is set */
    view.listed = tree_options(&view).cutoff;
    view.default_share = a->all ? 0 : 0.01;
    return show(&view, tree_heap);
}

int run_top(const arguments *a) {
    arguments view = *a;
    view.hide = view.last_dump = view.live_kind = true;
    view.exact |= memprof_counted(a);
    return show(&view, top_heap);
}

int run_hidden(const arguments *a) {
    arguments view = *a;
    view.last_dump = view.live_kind = true;
    view.exact |= memprof_counted(a);
    return show(&view, put_hidden);
}
