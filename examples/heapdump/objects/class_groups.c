/* classes --by: packages and class loaders. */

#include "objects.h"

enum { EXACT_GROUPS = 16 * 63 };

/* All classes of a package or loader. */
typedef struct class_group {
    char *name;                  /* owned */
    uint32_t classes, place;     /* place: by name */
    uint64_t live_objects, live_bytes, objects, bytes;
    uint64_t retained;           /* by all its objects together; in groups that are not exact a lower bound */
} class_group;

typedef struct class_groups {
    class_group *list;
    uint32_t count, exact;       /* exact: number of groups at the beginning with exact retained sizes */
    uint32_t *of;                /* by class: its group, or HD_NONE: no objects */
} class_groups;

static bool by_loader(const arguments *a) { return !strcmp(a->view.by, "loader"); }

/* "com.example" of "com.example.Shop$Item[]". Names of lambdas have more dots behind a '$'. */
static char *package_of(const objects *o, uint32_t class_index) {
    static const char *const primitive[] = { "boolean", "byte", "char", "double", "float", "int", "long", "short" };
    hd_class c = hd_graph_class(o->graph, class_index);
    size_t n = 0, dot = 0;
    while (n < c.name.len && c.name.data[n] != '[' && (c.name.data[n] != '$' || !n)) {
        if (c.name.data[n] == '.') dot = n;
        n++;
    }
    for (size_t i = 0; i < sizeof primitive / sizeof *primitive && n < c.name.len; i++)
        if (c.name.data[n] == '[' && hd_str_equal((hd_str){ c.name.data, n }, hd_cstr(primitive[i])))
            return needed(strdup("(primitive arrays)"));
    return dot ? needed(strndup(c.name.data, dot)) : needed(strdup("(no package)"));
}

/* The object that loaded a class; HD_NONE: the VM itself. *any: set if the class has a class object. */
static uint32_t loader_of(const objects *o, uint32_t class_index, bool *any) {
    uint64_t id = hd_graph_class(o->graph, class_index).id;
    uint32_t object = id ? hd_graph_find(o->graph, id) : HD_NONE;
    hd_object x;
    if (object == HD_NONE || !is_class_object(o, object)) return HD_NONE;
    *any = true;
    x = hd_graph_object(o->graph, object);
    for (uint32_t i = 0; i < x.reference_count; i++)
        if (hd_str_equal(hd_graph_field(o->graph, object, i), hd_cstr("<class loader>"))) return x.references[i];
    return HD_NONE;
}

/* "com.example.Loader  id 4027". */
static char *loader_text(const objects *o, uint32_t loader) {
    char *text, id[24];
    size_t size;
    FILE *f;
    if (loader == HD_NONE) return needed(strdup("(bootstrap loader)"));
    f = needed(open_memstream(&text, &size));
    id_text(o, loader, id);
    put_class(f, o->graph, hd_graph_object(o->graph, loader).class_index);
    display(f, "  id %s", id);
    closed_text(f, &text);
    return text;
}

typedef struct named_class { char *name; uint32_t row; } named_class;

static int by_name(const void *a, const void *b) {
    const named_class *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : x->row < y->row ? -1 : x->row > y->row;
}

/* Adds up the rows of a histogram by name. */
static void add_rows(class_groups *g, const hd_histogram *h, named_class *names) {
    qsort(names, h->count, sizeof *names, by_name);
    for (uint32_t i = 0; i < h->count; i++) {
        const hd_class_row *row = &h->rows[names[i].row];
        class_group *to;
        if (!i || strcmp(names[i].name, g->list[g->count - 1].name)) {
            g->list[g->count] = (class_group){ .name = names[i].name, .place = g->count };
            g->count++;
        } else {
            free(names[i].name);
        }
        to = &g->list[g->count - 1];
        to->classes++, to->objects += row->objects, to->bytes += row->bytes;
        to->live_objects += row->live_objects, to->live_bytes += row->live_bytes;
        g->of[row->class_index] = to->place;
    }
}

static int by_live(const void *a, const void *b) {
    const class_group *x = a, *y = b;
    if (x->live_bytes != y->live_bytes) return x->live_bytes < y->live_bytes ? 1 : -1;
    return x->place < y->place ? -1 : 1;
}

static int by_retained(const void *a, const void *b) {
    const class_group *x = a, *y = b;
    if (x->retained != y->retained) return x->retained < y->retained ? 1 : -1;
    return by_live(a, b);
}

/* The retained sizes of the largest groups, each with all its objects. */
static int find_retained(const objects *o, class_groups *g) {
    uint32_t n = hd_graph_object_count(o->graph), *members = needed(malloc(((size_t)n + 1) * sizeof *members));
    uint32_t *rank = needed(calloc((size_t)g->count + 1, sizeof *rank));
    size_t *first = needed(calloc((size_t)g->exact + 2, sizeof *first));
    hd_total *sums = needed(calloc((size_t)g->exact + 1, sizeof *sums));
    reading r;
    hd_options options = long_call(&r, "finding the bytes that each group of classes retains");
    hd_error err;
    hd_status status;
    for (uint32_t i = 0; i < g->count; i++) rank[g->list[i].place] = i;
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t i = 0; i < n; i++) {
            uint32_t group = g->of[hd_graph_object(o->graph, i).class_index];
            if (group == HD_NONE || rank[group] >= g->exact) continue;
            if (fill) members[first[rank[group] + 1]++] = i;
            else first[rank[group] + 2]++;
        }
        for (uint32_t i = 0; !fill && i < g->exact; i++) first[i + 1] += first[i];
    }
    status = hd_graph_sets_retained(o->graph, members, first, g->exact, &options, sums, &err);
    progress_end();
    for (uint32_t i = 0; i < g->count; i++)
        g->list[i].retained = i < g->exact ? sums[i].bytes : g->list[i].live_bytes;
    free(members), free(rank), free(first), free(sums);
    return status ? failed(o->file, &err) : DONE;
}

static void groups_close(class_groups *g) {
    for (uint32_t i = 0; i < g->count; i++) free(g->list[i].name);
    free(g->list), free(g->of);
}

static int groups_open(const arguments *a, const objects *o, class_groups *g) {
    hd_histogram *h;
    named_class *names;
    bool any = !by_loader(a);
    hd_error err;
    memset(g, 0, sizeof *g);
    if (hd_graph_histogram(o->graph, o->dominators, NULL, &h, &err)) return failed(o->file, &err);
    names = needed(malloc(((size_t)h->count + 1) * sizeof *names));
    g->list = needed(malloc(((size_t)h->count + 1) * sizeof *g->list));
    g->of = needed(malloc(((size_t)hd_graph_class_count(o->graph) + 1) * sizeof *g->of));
    memset(g->of, 0xff, ((size_t)hd_graph_class_count(o->graph) + 1) * sizeof *g->of);
    for (uint32_t i = 0; i < h->count; i++) {
        uint32_t c = h->rows[i].class_index;
        names[i] = (named_class){ by_loader(a) ? loader_text(o, loader_of(o, c, &any)) : package_of(o, c), i };
    }
    add_rows(g, h, names);
    hd_histogram_free(h);
    free(names);
    if (!any) {
        display(stderr, "heapdump: %s: the file has no class loaders; heap dumps of Java VMs (hprof) have them\n",
                o->file);
        groups_close(g);
        return BAD_INPUT;
    }
    qsort(g->list, g->count, sizeof *g->list, by_live);
    g->exact = g->count < EXACT_GROUPS ? g->count : EXACT_GROUPS;
    if (find_retained(o, g)) return groups_close(g), BAD_INPUT;
    qsort(g->list, g->exact, sizeof *g->list, by_retained);
    return DONE;
}

/* Output. --------------------------------------------------------------------------------------- */

static void put_group(FILE *out, const arguments *a, const screen *s, const objects *o, const class_groups *g,
                      uint32_t i) {
    const class_group *x = &g->list[i];
    char *name = cut_within(hd_cstr(x->name), s->columns ? s->columns - 55 : 0);
    put_style(out, s, x->retained >= o->dominators->bytes / 10 && x->retained ? STRONG : PLAIN);
    display(out, "%s", i < g->exact ? " " : ">"), put_bytes(out, a, x->retained, 11);
    put_style(out, s, PLAIN);
    put_share(out, x->retained, o->dominators->bytes);
    display(out, " "), put_bytes(out, a, x->live_bytes, 12);
    display(out, " %10llu %7u  %s\n", (unsigned long long)x->live_objects, x->classes, name);
    free(name);
}

static int groups_text(const arguments *a, const objects *o, FILE *out) {
    screen s = screen_of(a);
    uint32_t rows = rows_for(a, &s, (size_t)a->input.file_count), i = 0;
    uint32_t most = shown_of(a, rows > 2 ? rows - 2 : HD_NONE);
    class_groups g;
    if (groups_open(a, o, &g)) return BAD_INPUT;
    put_style(out, &s, FAINT);
    display(out, "%12s %7s %12s %10s %7s  %s\n", "retained", "", "live bytes", "live count", "classes", a->view.by);
    put_style(out, &s, PLAIN);
    for (; i < g.count && i < most; i++) put_group(out, a, &s, o, &g, i);
    put_more(out, g.count, i);
    groups_close(&g);
    return DONE;
}

static int groups_json(const arguments *a, const objects *o, hd_json *j) {
    uint32_t most = shown_of(a, HD_NONE);
    class_groups g;
    if (groups_open(a, o, &g)) return BAD_INPUT;
    json_array(j, "groups");
    for (uint32_t i = 0; i < g.count && i < most; i++) {
        const class_group *x = &g.list[i];
        json_line(j);
        json_text(j, a->view.by, x->name);
        json_u64(j, "retained", x->retained);
        json_bool(j, "exact", i < g.exact);
        json_u64(j, "live_bytes", x->live_bytes);
        json_u64(j, "live_objects", x->live_objects);
        json_u64(j, "bytes", x->bytes);
        json_u64(j, "objects", x->objects);
        json_u64(j, "classes", x->classes);
        hd_json_end(j);
    }
    hd_json_end(j);
    groups_close(&g);
    return DONE;
}

int class_groups_run(const arguments *a) {
    if (!by_loader(a) && strcmp(a->view.by, "package"))
        return usage("classes --by takes package or loader, not '%s'", a->view.by);
    return each_graph(a, "files", true, groups_text, groups_json);
}
