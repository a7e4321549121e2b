/* Object by object comparison in diff: V8 objects pair by id, Dart objects by identity hash code. */

#include "objects.h"

/* An object that is new, gone, or has another size. */
typedef struct moved {
    uint32_t object[2];          /* HD_NONE: not in this snapshot */
    uint64_t bytes[2];
} moved;

enum { NEW, GONE, CHANGED, KINDS };

static const char *const kind_title[KINDS] = { "new objects", "objects that are gone",
                                               "objects of another size" };
static const char *const kind_title_of_one[KINDS] = { "new object", "object that is gone", "object of another size" };
static const char *const kind_name[KINDS] = { "new", "gone", "changed" };

static uint64_t by_how_much(const moved *m) {
    return m->bytes[0] > m->bytes[1] ? m->bytes[0] - m->bytes[1] : m->bytes[1] - m->bytes[0];
}

static int moved_more(const void *a, const void *b) {
    const moved *x = a, *y = b;
    int side = x->object[0] == HD_NONE;
    if (by_how_much(x) != by_how_much(y)) return by_how_much(x) < by_how_much(y) ? 1 : -1;
    return x->object[side] < y->object[side] ? -1 : x->object[side] > y->object[side];
}

/* All objects of a kind, the largest change first. The caller frees the list. */
static size_t moved_of(const identity_pair *p, int kind, moved **list) {
    int side = kind == NEW;
    const hd_graph *const *graph = p->graph;
    uint32_t count = hd_graph_object_count(graph[side]);
    size_t n = 0, room = 0;
    *list = NULL;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t other = side ? p->change->then[i] : p->change->now[i];
        moved m = { { side ? other : i, side ? i : other }, { 0, 0 } };
        if (p->side[side] && !hd_dart_identity(p->side[side], i)) continue;
        if ((other != HD_NONE) != (kind == CHANGED)) continue;
        if (p->reached && !p->reached[side][i]) continue;
        for (int k = 0; k < 2; k++)
            if (m.object[k] != HD_NONE) m.bytes[k] = hd_graph_object(graph[k], m.object[k]).size;
        if (kind == CHANGED && m.bytes[0] == m.bytes[1]) continue;
        if (n == room) *list = needed(realloc(*list, (room = 2 * room + 64) * sizeof **list));
        (*list)[n++] = m;
    }
    if (n) qsort(*list, n, sizeof **list, moved_more);
    return n;
}

static bool identity_changed(const hd_identity_row *r) {
    return r->objects[0] != r->kept || r->objects[1] != r->kept || r->kept_bytes[0] != r->kept_bytes[1];
}

/* The scope of the class in all lists. A Dart library without a name is known by its address. */
static hd_str scope_of(const hd_identity_row *r) { return r->library.len ? r->library : r->library_uri; }

static void moved_figures(const arguments *a, const identity_pair *p, const moved *m, figures *f) {
    figure_change(f, a, 0, m->bytes[0], m->bytes[1]);
    for (int k = 0; k < 2; k++) figure_id(f, 1 + k, p->graph[k], m->object[k]);
}

static void put_moved(const arguments *a, FILE *out, const screen *s, const identity_pair *p, const moved *list,
                      size_t count) {
    static const figure_column columns[2][3] = { /* V8's objects have one id in both snapshots */
        { { "bytes", ALWAYS }, { "id before", IF_ANY }, { "id after", IF_WIDE } },
        { { "bytes", ALWAYS }, { "id before", IF_ANY }, { "id after", IF_ANY } }
    };
    figures f = figures_of(s, columns[p->side[0] || list[0].object[0] == HD_NONE], 3);
    for (size_t i = 0; i < count; i++) moved_figures(a, p, &list[i], &f), figures_measure(&f);
    figures_put_titles(out, &f);
    for (size_t i = 0; i < count; i++) {
        int side = list[i].object[0] == HD_NONE;
        hd_object x = hd_graph_object(p->graph[side], list[i].object[side]);
        hd_class c = hd_graph_class(p->graph[side], x.class_index);
        moved_figures(a, p, &list[i], &f), figures_put(out, &f, c.name, c.scope);
    }
}

/* False if objects only changed class: a detached node has another class than before. */
static bool is_any_changed(const identity_pair *p) {
    FREED moved *list = NULL;
    size_t n;
    for (uint32_t i = 0; i < p->change->count; i++)
        if (identity_changed(&p->change->rows[i])) return true;
    n = moved_of(p, CHANGED, &list);
    return n != 0;
}

static void identity_figures(const arguments *a, const hd_identity_row *r, figures *f) {
    figure_bytes(f, a, 0, r->bytes[1] - r->kept_bytes[1]);
    figure_number(f, 1, r->objects[1] - r->kept);
    figure_bytes(f, a, 2, r->bytes[0] - r->kept_bytes[0]);
    figure_number(f, 3, r->objects[0] - r->kept);
    figure_change(f, a, 4, r->kept_bytes[0], r->kept_bytes[1]);
    figure_number(f, 5, r->kept);
}

/* Prints classes with objects that are new, gone or of another size. */
static void put_identity_classes(const arguments *a, FILE *out, const screen *s, const identity_pair *p) {
    static const figure_column columns[] = { { "new bytes", ALWAYS }, { "new", ALWAYS }, { "gone bytes", ALWAYS },
                                             { "gone", ALWAYS }, { "change of kept", IF_ANY }, { "kept", IF_WIDE } };
    figures f = figures_of(s, columns, 6);
    uint32_t most = shown_of(a, HD_NONE);
    for (int put = 0; put < 2; put++) {
        for (uint32_t i = 0, n = 0; i < p->change->count && n < most; i++) {
            const hd_identity_row *r = &p->change->rows[i];
            if (!identity_changed(r)) continue;
            n++;
            identity_figures(a, r, &f);
            if (put) figures_put(out, &f, r->name, scope_of(r));
            else figures_measure(&f);
        }
        if (!put) figures_put_titles(out, &f);
    }
}

void identity_text(const arguments *a, FILE *out, const identity_pair *p) {
    enum { WHOLE_LINE = 96 };
    screen s = screen_of(a);
    display(out, "\nobject by object%s", p->side[0] ? ", for objects with an identity hash code" : "");
    if (!is_any_changed(p)) {
        bool fits = !s.columns || s.columns >= WHOLE_LINE || !p->side[0];
        display(out, fits ? ": none is new, gone or of another size\n" : ":\nnone is new, gone or of another size\n");
        return;
    }
    display(out, "\n");
    put_identity_classes(a, out, &s, p);
    for (int kind = NEW; kind < KINDS; kind++) {
        FREED moved *list = NULL;
        size_t n = moved_of(p, kind, &list), shown = shown_of(a, 10);
        if (shown > n) shown = n;
        if (n) display(out, "\n%zu %s\n", n, n == 1 ? kind_title_of_one[kind] : kind_title[kind]);
        if (n) put_moved(a, out, &s, p, list, shown);
        put_more(out, n, shown);
    }
}

static void json_identity_class(hd_json *j, const hd_identity_row *r) {
    json_line(j);
    json_str(j, "class", r->name);
    json_str(j, "library", r->library);
    json_str(j, "library_uri", r->library_uri);
    json_u64(j, "new_objects", r->objects[1] - r->kept);
    json_u64(j, "new_bytes", r->bytes[1] - r->kept_bytes[1]);
    json_u64(j, "gone_objects", r->objects[0] - r->kept);
    json_u64(j, "gone_bytes", r->bytes[0] - r->kept_bytes[0]);
    json_u64(j, "kept_objects", r->kept);
    json_u64(j, "kept_bytes_before", r->kept_bytes[0]);
    json_u64(j, "kept_bytes_after", r->kept_bytes[1]);
    hd_json_end(j);
}

static void json_moved(hd_json *j, const identity_pair *p, const moved *m) {
    static const char *const id[] = { "id_before", "id_after" }, *const bytes[] = { "before", "after" };
    int side = m->object[0] == HD_NONE;
    const hd_graph *graph = p->graph[side];
    json_line(j);
    for (int k = 0; k < 2; k++) {
        if (m->object[k] == HD_NONE) continue;
        hd_json_key(j, id[k]);
        hd_json_decimal(j, hd_graph_object(p->graph[k], m->object[k]).id);
        json_u64(j, bytes[k], m->bytes[k]);
    }
    json_class(j, graph, hd_graph_object(graph, m->object[side]).class_index);
    hd_json_end(j);
}

/* Writes kinds as {"count": all of them, "objects": [the shown ones]}. */
void identity_json(const arguments *a, hd_json *j, const identity_pair *p) {
    uint32_t most = a->cut.cutoff.top ? a->cut.cutoff.top : HD_NONE, shown = 0;
    hd_json_object(j);
    json_array(j, "classes");
    for (uint32_t i = 0; i < p->change->count && shown < most; i++) {
        if (!identity_changed(&p->change->rows[i])) continue;
        shown++;
        json_identity_class(j, &p->change->rows[i]);
    }
    hd_json_end(j);
    for (int kind = NEW; kind < KINDS; kind++) {
        FREED moved *list = NULL;
        size_t n = moved_of(p, kind, &list);
        json_object(j, kind_name[kind]);
        json_u64(j, "count", n);
        json_array(j, "objects");
        for (size_t i = 0; i < n && i < shown_of(a, 10); i++) json_moved(j, p, &list[i]);
        hd_json_end(j), hd_json_end(j);
    }
    hd_json_end(j);
}

/* Reports why ids do not identify objects. A small share above the limit gets a decimal digit. */
static void say_other_ids(const char *const file[2], const hd_identity_change *c) {
    double share = c->common ? 100 * (double)c->renamed / (double)c->common : 0;
    display(stderr, "heapdump: %s, %s: ", file[0], file[1]);
    if (c->common) display(stderr, "%.*f%% of the ids in both files name another object", share < 10, share);
    else display(stderr, "no id is in both files");
    display(stderr, ": V8 gives new ids when an inspector session ends, and each process its own; "
                    "compared by class\n");
}

static int identity_of_v8(const char *const file[2], const hd_dump *before, const hd_dump *after,
                          const uint8_t *const *reached, hd_identity_change **change) {
    const hd_v8 *doc[2] = { hd_dump_v8(before), hd_dump_v8(after) };
    hd_error err;
    *change = NULL;
    if (!doc[0] || !doc[1]) return DONE;
    if (hd_v8_diff(doc[0], doc[1], reached, NULL, change, &err)) return failed(file[0], &err);
    if (!(*change)->by_chance) return DONE;
    say_other_ids(file, *change);
    hd_identity_change_free(*change);
    *change = NULL;
    return DONE;
}

static int identity_of_dart(const char *const file[2], const hd_dart *before, const hd_dart *after,
                            const uint8_t *const *reached, hd_identity_change **change) {
    const hd_dart *const doc[2] = { before, after };
    hd_error err;
    for (int k = 0; k < 2; k++) {
        if (hd_dart_header(doc[k]).has_identity) continue;
        display(stderr, "heapdump: %s has no identity hash codes: compared by class\n", file[k]);
        return DONE;
    }
    if (hd_dart_diff(before, after, reached, NULL, change, &err)) return failed(file[0], &err);
    if (!(*change)->by_chance) return DONE;
    display(stderr, "heapdump: %s and %s are of different processes, by their identity hash codes: "
                    "compared by class\n", file[0], file[1]);
    hd_identity_change_free(*change);
    *change = NULL;
    return DONE;
}

int identity_of(const char *const file[2], const hd_dump *before, const hd_dump *after, const uint8_t *const *reached,
                hd_identity_change **change) {
    const hd_dart *dart[2] = { hd_dump_dart(before), hd_dump_dart(after) };
    *change = NULL;
    if (dart[0] && dart[1]) return identity_of_dart(file, dart[0], dart[1], reached, change);
    return identity_of_v8(file, before, after, reached, change);
}

/* Opens a pair of snapshots of one format. */
int identity_open(const arguments *a, const hd_dump *before, const hd_dump *after, const uint8_t *const *reached,
                  identity_pair *p) {
    const char *const file[2] = { a->input.files[0], a->input.files[1] };
    memset(p, 0, sizeof *p);
    p->graph[0] = hd_dump_graph(before), p->graph[1] = hd_dump_graph(after);
    p->reached = reached;
    if (!hd_dump_v8(before)) p->side[0] = hd_dump_dart(before), p->side[1] = hd_dump_dart(after);
    return identity_of(file, before, after, reached, &p->change);
}
