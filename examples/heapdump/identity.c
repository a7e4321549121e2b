/* Which object of one snapshot is which of another, in diff: V8's by ids, Dart's by identity hash codes. */

#include "dart.h"

/* An object that went, came, or has another size. */
typedef struct moved {
    uint32_t object[2];          /* HD_NONE where it is not */
    uint64_t bytes[2];
} moved;

enum { NEW, GONE, CHANGED, KINDS };

static const char *const kind_title[KINDS][2] = { { "new objects", "new object" },
                                                  { "objects that are gone", "object that is gone" },
                                                  { "objects of another size", "object of another size" } };
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

/* All of a kind, those that matter most first; freed by the caller. */
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

/* The class has this scope in all lists. A Dart library without a name is known by its address. */
static hd_str scope_of(const hd_identity_row *r) { return r->library.len ? r->library : r->library_uri; }

static void put_moved(FILE *out, const identity_pair *p, const int id_columns[2], const moved *m) {
    int side = m->object[0] == HD_NONE;
    const hd_graph *graph = p->graph[side];
    put_change(out, m->bytes[0], m->bytes[1], 14);
    for (int k = 0; k < 2; k++) {
        if (m->object[k] == HD_NONE) display(out, " %*s", id_columns[k], "-");
        else
            display(out, " %*llu", id_columns[k],
                    (unsigned long long)hd_graph_object(p->graph[k], m->object[k]).id);
    }
    display(out, "  "), put_class(out, graph, hd_graph_object(graph, m->object[side]).class_index);
    fputc('\n', out);
}

/* False if objects only have other classes: a detached node has another class than before. */
static bool is_any_changed(const identity_pair *p) {
    moved *list;
    size_t n;
    for (uint32_t i = 0; i < p->change->count; i++)
        if (identity_changed(&p->change->rows[i])) return true;
    n = moved_of(p, CHANGED, &list);
    free(list);
    return n != 0;
}

void identity_text(const arguments *a, FILE *out, const identity_pair *p) {
    const int id_columns[2] = { id_columns_of(p->graph[0], false), id_columns_of(p->graph[1], false) };
    uint32_t most = a->cutoff.top ? a->cutoff.top : HD_NONE, shown = 0;
    display(out, "\nobject by object%s", p->side[0] ? ", of those that have an identity hash code" : "");
    if (!is_any_changed(p)) {
        display(out, ": none is new, gone or of another size\n");
        return;
    }
    display(out, "\n");
    display(out, "%14s %10s %14s %10s %14s %10s  %s\n", "new bytes", "new", "gone bytes", "gone",
            "change of kept", "kept", "class");
    for (uint32_t i = 0; i < p->change->count && shown < most; i++) {
        const hd_identity_row *r = &p->change->rows[i];
        if (!identity_changed(r)) continue;
        shown++;
        display(out, "%14llu %10llu %14llu %10llu ", (unsigned long long)(r->bytes[1] - r->kept_bytes[1]),
                (unsigned long long)(r->objects[1] - r->kept),
                (unsigned long long)(r->bytes[0] - r->kept_bytes[0]),
                (unsigned long long)(r->objects[0] - r->kept));
        put_change(out, r->kept_bytes[0], r->kept_bytes[1], 14);
        display(out, " %10llu  ", (unsigned long long)r->kept), put_scoped(out, r->name, scope_of(r));
        fputc('\n', out);
    }
    for (int kind = NEW; kind < KINDS; kind++) {
        moved *list;
        size_t n = moved_of(p, kind, &list), i;
        if (n)
            display(out, "\n%zu %s\n%14s %*s %*s  class\n", n, kind_title[kind][n == 1], "bytes", id_columns[0], "id before",
                    id_columns[1], "id after");
        for (i = 0; i < n && i < shown_of(a, 10); i++) put_moved(out, p, id_columns, &list[i]);
        put_more(out, n, i);
        free(list);
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

/* Kinds as {"count": all of them, "objects": [those shown]}. */
void identity_json(const arguments *a, hd_json *j, const identity_pair *p) {
    uint32_t most = a->cutoff.top ? a->cutoff.top : HD_NONE, shown = 0;
    hd_json_object(j);
    json_array(j, "classes");
    for (uint32_t i = 0; i < p->change->count && shown < most; i++) {
        if (!identity_changed(&p->change->rows[i])) continue;
        shown++;
        json_identity_class(j, &p->change->rows[i]);
    }
    hd_json_end(j);
    for (int kind = NEW; kind < KINDS; kind++) {
        moved *list;
        size_t n = moved_of(p, kind, &list);
        json_object(j, kind_name[kind]);
        json_u64(j, "count", n);
        json_array(j, "objects");
        for (size_t i = 0; i < n && i < shown_of(a, 10); i++) json_moved(j, p, &list[i]);
        hd_json_end(j), hd_json_end(j);
        free(list);
    }
    hd_json_end(j);
}

/* Why ids are no evidence. A small share that is over the limit has a digit behind the point. */
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

/* Pairs of snapshots of one format. */
int identity_open(const arguments *a, const hd_dump *before, const hd_dump *after, const uint8_t *const *reached,
                  identity_pair *p) {
    const char *const file[2] = { a->files[0], a->files[1] };
    memset(p, 0, sizeof *p);
    p->graph[0] = hd_dump_graph(before), p->graph[1] = hd_dump_graph(after);
    p->reached = reached;
    if (!hd_dump_v8(before)) p->side[0] = hd_dump_dart(before), p->side[1] = hd_dump_dart(after);
    return identity_of(file, before, after, reached, &p->change);
}
