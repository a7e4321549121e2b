/* The commands classes and retained. */

#include "objects.h"

enum { EXACT_CLASSES = 16 * 63 };

static int goes_more(const void *a, const void *b) {
    const class_line *x = a, *y = b;
    if (x->row.retained != y->row.retained) return x->row.retained < y->row.retained ? 1 : -1;
    if (x->row.bytes != y->row.bytes) return x->row.bytes < y->row.bytes ? 1 : -1;
    return x->place < y->place ? -1 : x->place > y->place;
}

int class_list_open(const objects *o, class_list *list) {
    hd_histogram *h;
    hd_total *sums;
    /* Without ephemerons, the dominators are exact for a class with one live object. */
    uint32_t *classes, n = 0, alone = hd_dump_format(o->dump)->is & FORMAT_JAVA ? 1 : 0;
    reading r;
    hd_options options = long_call(&r, "finding the bytes that each class retains");
    hd_error err;
    hd_status status;
    if (hd_graph_histogram(o->graph, o->dominators, NULL, &h, &err)) return failed(o->file, &err);
    list->count = h->count;
    list->lines = needed(calloc((size_t)h->count + 1, sizeof *list->lines));
    for (uint32_t i = 0; i < h->count; i++) list->lines[i] = (class_line){ h->rows[i], i };
    hd_histogram_free(h);
    classes = needed(calloc(EXACT_CLASSES, sizeof *classes));
    sums = needed(calloc(EXACT_CLASSES, sizeof *sums));
    for (uint32_t i = 0; i < list->count && n < EXACT_CLASSES; i++)
        if (list->lines[i].row.live_objects > alone) classes[n++] = list->lines[i].row.class_index;
    status = hd_graph_classes_retained(o->graph, classes, n, &options, sums, &err);
    progress_end();
    n = 0;
    for (list->exact = 0; list->exact < list->count; list->exact++) {
        if (list->lines[list->exact].row.live_objects <= alone) continue;
        if (n == EXACT_CLASSES) break;
        list->lines[list->exact].row.retained = sums[n++].bytes;
    }
    qsort(list->lines, list->exact, sizeof *list->lines, goes_more);
    free(classes), free(sums);
    if (!status) return DONE;
    free(list->lines);
    return failed(o->file, &err);
}

enum { WIDE_FROM = 110 };        /* columns that leave room for garbage */

static void put_class_line(FILE *out, const arguments *a, const screen *s, const objects *o, const class_list *list,
                           uint32_t i) {
    const hd_class_row *row = &list->lines[i].row;
    bool wide = !s->columns || s->columns >= WIDE_FROM;
    put_style(out, s, row->retained >= o->dominators->bytes / 10 && row->retained ? STRONG : PLAIN);
    display(out, "%s", i < list->exact ? " " : ">"), put_bytes(out, a, row->retained, 11);
    put_style(out, s, PLAIN);
    put_share(out, row->retained, o->dominators->bytes);
    display(out, " "), put_bytes(out, a, row->live_bytes, 12);
    display(out, " %10llu", (unsigned long long)row->live_objects);
    if (wide) {
        display(out, " "), put_bytes(out, a, row->bytes, 12);
        display(out, " %10llu", (unsigned long long)row->objects);
    }
    display(out, "  ");
    put_class_within(out, s, o->graph, row->class_index, s->columns ? s->columns - (wide ? 71 : 47) : 0);
    display(out, "\n");
}

/* The first class with several objects and a name without parentheses, which V8 puts around names of its own classes.
   A class of one object may stand for all roots. */
static uint32_t first_class(const objects *o, const class_list *list) {
    uint32_t several = HD_NONE;
    for (uint32_t i = 0; i < list->count; i++) {
        hd_str name = hd_graph_class(o->graph, list->lines[i].row.class_index).name;
        if (list->lines[i].row.live_objects < 2) continue;
        if (!name.len || *name.data != '(') return i;
        if (several == HD_NONE) several = i;
    }
    return several == HD_NONE ? 0 : several;
}

static int classes_text(const arguments *a, const objects *o, FILE *out) {
    screen s = screen_of(a);
    uint32_t rows = rows_for(a, &s, (size_t)a->input.file_count);
    uint32_t most = shown_of(a, rows > 3 ? rows - 1 : HD_NONE), i = 0;
    bool wide = !s.columns || s.columns >= WIDE_FROM;
    class_list list;
    if (class_list_open(o, &list)) return BAD_INPUT;
    put_style(out, &s, FAINT);
    display(out, "%12s %7s %12s %10s", "retained", "", "live bytes", "live count");
    if (wide) display(out, " %12s %10s", "all bytes", "all count");
    display(out, "  class\n");
    put_style(out, &s, PLAIN);
    for (; i < list.count && i < most; i++) put_class_line(out, a, &s, o, &list, i);
    if (i < list.count) display(out, "%u more classes%s\n", list.count - i, s.terminal ? " (--all)" : "");
    if (list.count) {
        hd_str c = hd_graph_class(o->graph, list.lines[first_class(o, &list)].row.class_index).name;
        FREED char *name = needed(strndup(c.data, c.len));
        put_next(out, &s, a, "why they are alive", "path", "--class", name, o->file, NULL);
        put_next(out, &s, a, "which they are", "objects", "--class", name, o->file, NULL);
    }
    free(list.lines);
    return DONE;
}

static int classes_json(const arguments *a, const objects *o, hd_json *j) {
    class_list list;
    uint32_t most = shown_of(a, HD_NONE);
    if (class_list_open(o, &list)) return BAD_INPUT;
    json_array(j, "classes");
    for (uint32_t i = 0; i < list.count && i < most; i++) {
        const hd_class_row *row = &list.lines[i].row;
        json_line(j);
        json_class(j, o->graph, row->class_index);
        json_u64(j, "retained", row->retained);
        json_bool(j, "exact", i < list.exact);
        json_u64(j, "live_bytes", row->live_bytes);
        json_u64(j, "live_objects", row->live_objects);
        json_u64(j, "bytes", row->bytes);
        json_u64(j, "objects", row->objects);
        hd_json_end(j);
    }
    hd_json_end(j);
    free(list.lines);
    return DONE;
}

int run_classes(const arguments *a) {
    return a->view.by ? class_groups_run(a) : each_graph(a, "files", true, classes_text, classes_json);
}

/* retained -------------------------------------------------------------------------------------- */

/* A class without objects retains nothing; a class that the file does not have is an error. */
static int class_total(const arguments *a, const objects *o, hd_total *total) {
    uint32_t count = hd_graph_object_count(o->graph), n = 0, *all;
    uint8_t *asked = classes_asked(a, o);
    hd_error err;
    int status = DONE;
    memset(total, 0, sizeof *total);
    if (!asked) return BAD_INPUT;
    all = needed(malloc(((size_t)count + 1) * sizeof *all));
    for (uint32_t i = 0; i < count; i++)
        if (asked[hd_graph_object(o->graph, i).class_index]) all[n++] = i;
    if (hd_graph_retained(o->graph, all, n, NULL, total, &err)) status = failed(o->file, &err);
    free(asked), free(all);
    return status;
}

static void put_retained(FILE *out, const arguments *a, const screen *s, const objects *o, uint32_t object) {
    hd_object x = hd_graph_object(o->graph, object);
    uint64_t retained = o->dominators->retained[object];
    put_style(out, s, retained >= o->dominators->bytes / 10 && retained ? STRONG : PLAIN);
    put_bytes(out, a, retained, 12);
    put_style(out, s, PLAIN);
    put_share(out, retained, o->dominators->bytes);
    display(out, " "), put_bytes(out, a, x.size, 12);
    display(out, " "), put_id(out, o, x.id, o->id_columns), display(out, "  ");
    put_object_within(out, s, o, object, s->columns - 37 - o->id_columns);
    display(out, "\n");
}

static int retained_text(const arguments *a, const objects *o, FILE *out) {
    screen s = screen_of(a);
    uint32_t *top, n, rows = rows_for(a, &s, (size_t)a->input.file_count);
    hd_total total;
    if (a->objects.class_name) {
        if (class_total(a, o, &total)) return BAD_INPUT;
        put_bytes(out, a, total.bytes, 12);
        display(out, " in %llu object%s would go with all of class %s%s\n", (unsigned long long)total.objects,
                plural(total.objects), a->objects.class_name, a->objects.subclasses ? " and of its subclasses"
                    : "");
        return DONE;
    }
    n = largest(a, o, rows > 3 ? rows : 20, &top);
    put_style(out, &s, FAINT);
    display(out, "%12s %7s %12s %*s  class\n", "retained", "", "shallow", o->id_columns, "id");
    put_style(out, &s, PLAIN);
    for (uint32_t i = 0; i < n; i++) put_retained(out, a, &s, o, top[i]);
    if (n) {
        char id[24];
        id_text(o, top[n > 1], id); /* the first is often the object that stands for all roots */
        put_next(out, &s, a, "all about it", "object", o->file, id, NULL);
        put_next(out, &s, a, "why it is alive", "path", "--id", id, o->file, NULL);
    }
    free(top);
    return DONE;
}

static int retained_json(const arguments *a, const objects *o, hd_json *j) {
    uint32_t *top, *distances, n;
    hd_total total;
    if (a->objects.class_name) {
        int status = class_total(a, o, &total);
        json_text(j, "class", a->objects.class_name);
        json_u64(j, "retained", total.bytes);
        json_u64(j, "objects", total.objects);
        return status;
    }
    if (distances_of(o, &distances)) return BAD_INPUT;
    n = largest(a, o, 20, &top);
    json_u64(j, "live_bytes", o->dominators->bytes);
    json_array(j, "objects");
    for (uint32_t i = 0; i < n; i++) {
        hd_object object = hd_graph_object(o->graph, top[i]);
        json_line(j);
        json_id(j, o, top[i]);
        json_class(j, o->graph, object.class_index);
        json_u64(j, "retained", o->dominators->retained[top[i]]);
        json_u64(j, "bytes", object.size);
        if (o->dominators->parent[top[i]] != HD_NONE)
            json_object(j, "dominator"), json_id(j, o, o->dominators->parent[top[i]]), hd_json_end(j);
        if (distances) json_known(j, "distance", distances[top[i]] != HD_NONE ? distances[top[i]] : HD_UNKNOWN);
        hd_json_end(j);
    }
    hd_json_end(j);
    free(top), free(distances);
    return DONE;
}

int run_retained(const arguments *a) {
    if (a->objects.subclasses && !a->objects.class_name) return usage("--subclasses needs --class NAME");
    return each_graph(a, "files", !a->objects.class_name, retained_text, retained_json);
}

