/* suspects of object graphs: the largest or growing holders, and the paths that keep them alive. */

#include "list_length.h"
#include "suspects_detached.h"
#include "objects.h"

#include <math.h>

/* Snapshots. ----------------------------------------------------------------------------------- */

/* Classes of Dart's virtual machine have no library. */
static bool is_of_dart(hd_class c) {
    static const char *const classes[] = {
        "Root", "Isolate", "Library", "Namespace", "Class", "PatchClass", "Field", "Function", "ClosureData", "Code",
        "Script", "ObjectPool", "Instructions", "InstructionsSection", "KernelProgramInfo", "ICData", "PcDescriptors",
        "CodeSourceMap", "CompressedStackMaps", "LocalVarDescriptors", "ExceptionHandlers", "Context", "ContextScope",
        "TypeArguments", "TypeParameters", "SubtypeTestCache", "MegamorphicCache", "UnlinkedCall", "WeakArray",
        "Sentinel", "FfiTrampolineData", "LoadingUnit", NULL
    };
    for (size_t i = 0; !c.scope.len && classes[i]; i++)
        if (hd_str_equal(c.name, hd_cstr(classes[i]))) return true;
    return false;
}

static role role_in_dart(const shot *s, uint32_t object) {
    hd_class c = hd_graph_class(s->o.graph, s->class_of[object]);
    hd_str name = c.name;
    if (hd_str_equal(name, hd_cstr("Root")) || hd_str_equal(name, hd_cstr("Isolate"))) return ROOTS;
    if (hd_str_equal(name, hd_cstr("Context"))) return SCOPE;
    if (hd_str_equal(name, hd_cstr("_List"))) return TABLE;
    if (hd_str_equal(name, hd_cstr("_OneByteString")) || hd_str_equal(name, hd_cstr("_TwoByteString"))) return DATA;
    return is_of_dart(c) ? MACHINE : OF_PROGRAM;
}

bool is_of_browser(const shot *s, uint32_t object) {
    const hd_v8 *v8 = hd_dump_v8(s->o.dump);
    return v8 && begins_with(hd_v8_name(v8, object), "blink::");
}

static role role_of(const shot *s, uint32_t object) {
    static const char *const data[] = { "string", "concatenated string", "sliced string", "number", "bigint",
                                        "symbol" };
    const hd_v8 *v8 = hd_dump_v8(s->o.dump);
    hd_str type, name;
    if (!v8) return hd_dump_dart(s->o.dump) ? role_in_dart(s, object) : OF_PROGRAM;
    type = hd_v8_type(v8, object), name = hd_v8_name(v8, object);
    if (hd_str_equal(type, hd_cstr("synthetic"))) return ROOTS;
    if (hd_str_equal(type, hd_cstr("array"))) return TABLE;
    if (hd_str_equal(name, hd_cstr("system / Context"))) return SCOPE;
    for (size_t i = 0; i < sizeof data / sizeof *data; i++)
        if (hd_str_equal(type, hd_cstr(data[i]))) return DATA;
    if (is_of_browser(s, object)) return TABLE;
    if (hd_str_equal(type, hd_cstr("native")))
        return is_of_engine(&s->o, object) || (name.len > 7 && !memcmp(name.data, "Node / ", 7)) ? DATA : OF_PROGRAM;
    return is_of_engine(&s->o, object) ? MACHINE : OF_PROGRAM;
}

static int shot_open(const char *file, hd_dump *dump, shot *s) {
    uint32_t n;
    role *java = NULL;
    s->o = (objects){ .file = file, .dump = dump, .graph = hd_dump_graph(dump) };
    if (dominate(file, s->o.graph, &s->o.dominators)) return BAD_INPUT;
    ways_find(&s->o, &s->ways);
    n = hd_graph_object_count(s->o.graph);
    if (hd_dump_format(dump)->is & FORMAT_JAVA) s->java = names_of_java(&s->o), java = roles_of_java(&s->o);
    s->role = needed(malloc((size_t)n + 1));
    s->class_of = needed(malloc(((size_t)n + 1) * sizeof *s->class_of));
    for (uint32_t o = 0; o < n; o++) {
        s->class_of[o] = hd_graph_object(s->o.graph, o).class_index;
        s->role[o] = (uint8_t)(java ? java[s->class_of[o]] : role_of(s, o));
    }
    free(java);
    return DONE;
}

/* Columns that only the last snapshot has. */
static void shot_prepare(shot *s) {
    enum { TRIED = 100 };
    const hd_dominators *d = s->o.dominators;
    const hd_v8 *v8 = hd_dump_v8(s->o.dump);
    s->heaviest = needed(malloc(((size_t)d->count + 1) * sizeof *s->heaviest));
    s->label = needed(calloc((size_t)d->count + 1, sizeof *s->label));
    s->closure = needed(calloc((size_t)d->count + 1, sizeof *s->closure));
    s->distance = needed(calloc((size_t)d->count + 1, sizeof *s->distance));
    s->named = needed(calloc((size_t)hd_graph_class_count(s->o.graph) + 1, 1));
    memset(s->heaviest, 0xff, ((size_t)d->count + 1) * sizeof *s->heaviest);
    for (uint32_t i = 0; i < d->reached; i++) {
        uint32_t o = d->order[i], above = d->parent[o];
        uint8_t *named = &s->named[s->class_of[o]];
        if (!v8 && *named != 1 && *named < TRIED)
            *named = name_of(&s->o, o).len ? 1 : (uint8_t)(*named + 1 + !*named);
        if (above == HD_NONE) continue;
        if (s->heaviest[above] == HD_NONE || d->retained[o] > d->retained[s->heaviest[above]]) s->heaviest[above] = o;
    }
    for (uint32_t i = 0; i < s->ways.count; i++) {
        uint32_t o = s->ways.order[i];
        if (v8 && hd_str_equal(hd_v8_type(v8, o), hd_cstr("closure"))) s->closure[o] = hd_v8_name(v8, o).data;
        if (s->ways.held_by[o] == HD_NONE) continue;
        s->label[o] = label_of(&s->o, s->ways.held_by[o], s->ways.by[o]).name.data;
        s->distance[o] = s->distance[s->ways.held_by[o]] + 1;
    }
    s->period = list_periods(s);
    s->head = way_heads(s, &s->length);
    s->whole = needed(calloc((size_t)d->count + 1, sizeof *s->whole));
    s->lengths = s->o.lengths = list_lengths_open(&s->o);
}

static void shot_free(shot *s) {
    hd_dominators_free(s->o.dominators);
    if (s->class_of) ways_free(&s->ways);
    free(s->java), free(s->role), free(s->class_of), free(s->label), free(s->closure), free(s->named);
    free(s->heaviest);
    free(s->period), free(s->distance), free(s->head), free(s->length), free(s->whole), list_lengths_free(s->lengths);
}

/* Finds the objects of the last snapshot in all others; finds none if ids changed their meaning in between. */
static int match_all(const arguments *a, matched *m) {
    uint32_t count = m->count, n = hd_graph_object_count(m->shots[count - 1].o.graph);
    m->ids = needed(malloc(((size_t)n * count + 1) * sizeof *m->ids));
    for (uint32_t o = 0; o < n; o++) m->ids[(size_t)o * count + count - 1] = o;
    for (uint32_t t = count - 1; t-- > 0;) {
        const char *const file[2] = { a->input.files[t], a->input.files[t + 1] };
        hd_identity_change *change;
        int status = identity_of(file, m->shots[t].o.dump, m->shots[t + 1].o.dump, NULL, &change);
        if (status || !change) {
            free(m->ids), m->ids = NULL;
            return status;
        }
        for (uint32_t o = 0; o < n; o++) {
            uint32_t after = m->ids[(size_t)o * count + t + 1];
            m->ids[(size_t)o * count + t] = after == HD_NONE ? HD_NONE : change->then[after];
        }
        hd_identity_change_free(change);
    }
    return DONE;
}

/* Text. ---------------------------------------------------------------------------------------- */

void put_way(FILE *out, const arguments *a, const char *what, const steps *way, const char *rest) {
    enum { LEAST = 48 };
    if (!way->count) return;
    int room = screen_of(a).columns - (int)strlen("       ") - (int)strlen(what);
    int left = room - columns_of(hd_cstr(rest));
    FREED char *text = NULL;
    if (left >= LEAST || left >= room) room = left; /* else the rest goes on below, if need be */
    text = steps_text(way, steps_columns(a, room < 24 ? 24 : room));
    if (*text) display(out, "      %s %s%s\n", what, text, rest);
}

/* The path to a suspect or to most objects of a class. V8 has no name for the root of a path of one step. */
static void put_holder(FILE *out, const arguments *a, const shot *s, const steps *way, const char *rest) {
    if (way->count != 1 || way->list[0].elements || !hd_dump_v8(s->o.dump)) put_way(out, a, "held by", way, rest);
    else if (s->ways.held_by[way->list[0].object] == HD_NONE && way->list[0].object) /* object 0 is the root */
        display(out, "      held by no path from a root\n");
}

static void put_growth(FILE *out, const arguments *a, const trend *t, uint32_t count) {
    put_signed(out, a, t->growth), display(out, "; ");
    put_signed(out, a, t->growth / (count - 1));
    display(out, " a step; grew in %u of %u step%s", t->ups, count - 1, plural(count - 1));
    if (count > 2) display(out, ", %s", trend_words(t, count - 1));
    display(out, "; ");
}

/* A name of a list of classes: cut on a terminal only. */
static char *listed_name(const arguments *a, hd_str name) { return cut_within(name, steps_columns(a, 24)); }

static void put_classes(FILE *out, const arguments *a, const matched *m, const pile *p, bool own, const char *what) {
    const shot *s = &m->shots[m->count - 1];
    below classes[MOST_BELOW];
    uint32_t kinds = classes_below(m, p, own, classes);
    for (uint32_t i = 0; i < kinds; i++) {
        FREED char *text = listed_name(a, hd_graph_class(s->o.graph, classes[i].class_index).name);
        size_t most = steps_name(a, 24);
        display(out, "%s", i ? ", " : what);
        if (classes[i].name.len && classes[i].named < classes[i].objects)
            display(out, "%llu of ", (unsigned long long)classes[i].named);
        display(out, "%llu %s", (unsigned long long)classes[i].objects, text);
        if (classes[i].name.len) display(out, " "), put_cut(out, classes[i].name, most ? most : SIZE_MAX);
    }
    if (kinds) fputc('\n', out);
}

/* Bytes that a suspect retains, without the listed suspects below it. */
static uint64_t in_no_other(const shot *s, const pile *piles, uint32_t n, const pile *p) {
    const hd_dominators *d = s->o.dominators;
    uint64_t bytes = d->retained[p->object];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = piles[i].object == p->object ? HD_NONE : d->parent[piles[i].object];
        bool below_other = false;
        for (; at != HD_NONE && at != p->object; at = d->parent[at])
            for (uint32_t k = 0; k < n; k++) below_other |= piles[k].object == at;
        if (at == p->object && !below_other) bytes -= d->retained[piles[i].object];
    }
    return bytes;
}

static void put_pile(FILE *out, const arguments *a, const matched *m, const pile *piles, uint32_t n, uint32_t i) {
    const pile *p = &piles[i];
    const shot *s = &m->shots[m->count - 1];
    const hd_dominators *d = s->o.dominators;
    uint64_t retained = p->group ? (uint64_t)p->bytes : d->retained[p->object];
    uint64_t alone = in_no_other(s, piles, n, p);
    size_t most = steps_name(a, MOST_NAME);
    steps way = steps_to(s, p, most), within = steps_within(s, p, most);
    display(out, "%3u  ", i + 1);
    if (p->variable.len) {
        display(out, "variable "), put_name(out, p->variable), display(out, " of ");
        put_short_class(out, a, hd_graph_class(s->o.graph, s->class_of[p->scope])), display(out, ": ");
    }
    if (p->elements == HD_NONE && p->object == p->point) display(out, "tree of ");
    else if (p->elements && p->object == p->point) display(out, "list of %u ", p->elements);
    else if (p->group) display(out, "%u ", p->group);
    put_short_class(out, a, hd_graph_class(s->o.graph, s->class_of[p->object]));
    put_known_name(out, &s->o, p->object);
    display(out, p->group ? ", the largest id " : ", id ");
    put_id(out, &s->o, hd_graph_object(s->o.graph, p->object).id, 0);
    display(out, "\n      ");
    if (m->count > 1) put_growth(out, a, &p->trend, m->count);
    display(out, p->group ? "together retain " : "retains "), put_bytes(out, a, retained, 0);
    display(out, ", %.1f%% of all", 100 * (double)retained / (double)(d->bytes ? d->bytes : 1));
    if (p->spread) display(out, "; the growth is spread over %u object%s below it", p->spread,
                           plural(p->spread));
    if (p->shared > 0 && m->count > 1) {
        display(out, "; "), put_bytes(out, a, (uint64_t)p->shared, 0);
        display(out, " of the growth in objects that others hold too");
    } else if (p->shared > 0) {
        double with = (double)retained + p->shared;
        display(out, "; "), put_bytes(out, a, (uint64_t)with, 0);
        display(out, ", %.1f%%, with objects that others hold too", 100 * with / (double)(d->bytes ? d->bytes : 1));
    } else if (m->count == 1 && !p->group && alone < retained) {
        display(out, "; "), put_bytes(out, a, alone, 0), display(out, " of it in no other suspect");
    }
    fputc('\n', out);
    if (m->count == 1)
        put_classes(out, a, m, p, false, p->group ? "      below the largest: " : "      below it: ");
    if (p->owner != HD_NONE)
        put_classes(out, a, m, p, true, m->ids ? "      new in it: " : "      shared with others: ");
    put_way(out, a, "most of it is in", &within, "");
    put_holder(out, a, s, &way, p->group ? "  (the largest)" : "");
    put_pile_origin(out, m, p);
    steps_free(&way), steps_free(&within);
}

/* The figures of a class. Without a change of the number of objects, the objects themselves grew. */
static void put_class_figures(FILE *out, const arguments *a, const matched *m, const class_suspect *c) {
    const char *retain = c->last.live_objects == 1 ? "retains" : "retain";
    display(out, ": %llu object%s, ", (unsigned long long)c->last.live_objects, plural(c->last.live_objects));
    put_bytes(out, a, c->last.live_bytes, 0), display(out, ", %s ", retain), put_bytes(out, a, c->last.retained, 0);
    if (m->count > 1) {
        display(out, "; "), put_signed(out, a, c->trend.growth);
        if (c->grown_objects > 0 || c->grown_objects < 0)
            display(out, ", %+.0f object%s", c->grown_objects, plural((uint64_t)fabs(c->grown_objects)));
        if (m->count > 2) display(out, ", %s", trend_words(&c->trend, m->count - 1));
        if (c->grown_retained > c->trend.growth)
            display(out, "; %s ", retain), put_bytes(out, a, (uint64_t)c->grown_retained, 0), display(out, " more");
    }
    fputc('\n', out);
}

static void put_class_suspect(FILE *out, const arguments *a, const matched *m, const class_suspect *c,
                              uint32_t number) {
    char rest[64] = "";
    class_way w = way_of_class(m, c->class_index, steps_name(a, MOST_NAME));
    display(out, "%3u  ", number);
    put_short_class(out, a, hd_graph_class(m->shots[m->count - 1].o.graph, c->class_index));
    put_class_figures(out, a, m, c);
    if (w.sharing < w.all)
        snprintf(rest, sizeof rest, "  (%u of %s%u)", w.sharing, w.all < c->last.live_objects ? w.which : "", w.all);
    if (w.to_holder) put_way(out, a, "held below", &w.way, rest);
    else put_holder(out, a, &m->shots[m->count - 1], &w.way, rest);
    put_class_origin(out, m, c->class_index);
    steps_free(&w.way);
}

/* Classes that grew, without the first `shown` of the list. */
static grown_classes not_listed(grown_classes all, const class_suspect *classes, uint32_t shown) {
    for (uint32_t i = 0; i < shown; i++) all.classes--, all.growth -= classes[i].trend.growth;
    return all;
}

/* The engine's objects are listed if the program's do not explain most bytes, and always last. */
static const char *holders_head(const pile *piles, uint32_t n) {
    if (n && piles[n - 1].engine && !piles[0].engine)
        return "large holders, the likeliest leak first, the engine's last:";
    return "large holders, the likeliest leak first:";
}

/* The length of each list: by --top or --all, else as many as fit. */
static uint32_t listed_of(const arguments *a, uint32_t found) {
    uint32_t most = shown_of(a, a->view.json ? MOST_PILES : suspects_that_fit(a, 6, MOST_PILES));
    return found < most ? found : most;
}

/* Why no object is listed. */
static const char *nothing_known(const matched *m) {
    const hd_dump *dump = m->shots[m->count - 1].o.dump;
    bool grew = m->shots[0].o.dominators->bytes < m->shots[m->count - 1].o.dominators->bytes;
    if (m->dart && grew) return "not known: no object with an identity hash code holds more than before";
    if (m->ids) return "nothing";
    if (hd_dump_v8(dump))
        return "not known: object ids differ between these snapshots (see the warning); compared by class";
    if (hd_dump_dart(dump))
        return "not known: objects have no identity hash codes that match (see the warning); compared by class";
    return "not known: only snapshots of V8 and Dart are compared by object; compared by class";
}

static void answer_text(const arguments *a, const matched *m, const pile *piles, uint32_t n,
                        const class_suspect *classes, uint32_t class_count, grown_classes grown, FILE *out) {
    const shot *s = &m->shots[m->count - 1];
    display(out, "%s: ", s->o.file);
    if (m->count > 1) {
        display(out, "%u snapshots, ", m->count), put_bytes(out, a, m->shots[0].o.dominators->bytes, 0),
            display(out, " to ");
    }
    put_bytes(out, a, s->o.dominators->bytes, 0);
    display(out, " alive\n%s\n",
            m->count > 1 ? "objects that hold more than before, the likeliest leak first:"
                         : holders_head(piles, n));
    for (uint32_t i = 0; i < n; i++) put_pile(out, a, m, piles, n, i);
    if (!n)
        display(out, "  %s\n", m->count > 1 ? nothing_known(m) : "nothing");
    display(out, "%s\n",
            m->count > 1 ? "classes that grew in every step, with the path to most of their objects:"
                         : "classes that hold a tenth or more, with the path to most of their objects:");
    for (uint32_t i = 0; i < class_count; i++) put_class_suspect(out, a, m, &classes[i], i + 1);
    if (!class_count) display(out, "  none%s\n", m->count > 1 ? "" : ", of those with several objects");
    if (!grown.classes || m->count < 2) return;
    display(out, "     not listed: %u more class%s grew, by ", grown.classes, grown.classes == 1 ? "" : "es");
    put_bytes(out, a, (uint64_t)grown.growth, 0), fputc('\n', out);
}

/* JSON. ---------------------------------------------------------------------------------------- */

static void json_trend(hd_json *j, const trend *t, uint32_t count) {
    if (count < 2) return;
    hd_json_key(j, "growth"), hd_json_i64(j, (int64_t)t->growth);
    hd_json_key(j, "per_step"), hd_json_i64(j, (int64_t)(t->growth / (count - 1)));
    json_u64(j, "steps_grown", t->ups);
    json_u64(j, "steady_percent", (uint64_t)(100 * t->steady));
}

static void json_classes(hd_json *j, const matched *m, const pile *p, bool own, const char *key) {
    const shot *s = &m->shots[m->count - 1];
    below classes[MOST_BELOW];
    uint32_t kinds = classes_below(m, p, own, classes);
    json_array(j, key);
    for (uint32_t i = 0; i < kinds; i++) {
        json_line(j), json_class(j, s->o.graph, classes[i].class_index);
        if (classes[i].name.len) json_str(j, "name", classes[i].name), json_u64(j, "named", classes[i].named);
        json_u64(j, "objects", classes[i].objects), hd_json_end(j);
    }
    hd_json_end(j);
}

static void json_pile(hd_json *j, const matched *m, const pile *piles, uint32_t n, uint32_t i) {
    const pile *p = &piles[i];
    const shot *s = &m->shots[m->count - 1];
    steps way = steps_to(s, p, 0), within = steps_within(s, p, 0);
    json_line(j);
    json_class(j, s->o.graph, s->class_of[p->object]);
    json_str(j, "name", name_of(&s->o, p->object));
    json_id(j, &s->o, p->object);
    if (p->variable.len) {
        json_str(j, "variable", p->variable), json_object(j, "variable_of");
        json_class(j, s->o.graph, s->class_of[p->scope]), json_id(j, &s->o, p->scope), hd_json_end(j);
    }
    json_u64(j, "retained", p->group ? (uint64_t)p->bytes : s->o.dominators->retained[p->object]);
    if (p->group) json_u64(j, "group_of", p->group);
    if (m->count == 1 && !p->group) json_u64(j, "in_no_other", in_no_other(s, piles, n, p));
    if (p->shared > 0) json_u64(j, "shared", (uint64_t)p->shared);
    if (p->spread) json_u64(j, "spread_over", p->spread);
    if (p->elements && p->elements != HD_NONE) json_u64(j, "list_of", p->elements);
    json_trend(j, &p->trend, m->count);
    json_classes(j, m, p, false, "below");
    if (p->owner != HD_NONE) json_classes(j, m, p, true, m->ids ? "new" : "shared_objects");
    steps_json(j, "within", &within);
    steps_json(j, "path", &way);
    json_origins(j, m->from, p->object);
    hd_json_end(j);
    steps_free(&way), steps_free(&within);
}

static void json_class_suspect(hd_json *j, const matched *m, const class_suspect *c) {
    class_way w = way_of_class(m, c->class_index, 0);
    const steps none = { NULL, 0, false };
    json_line(j);
    json_class(j, m->shots[m->count - 1].o.graph, c->class_index);
    json_u64(j, "objects", c->last.live_objects);
    json_u64(j, "bytes", c->last.live_bytes);
    json_u64(j, "retained", c->last.retained);
    json_trend(j, &c->trend, m->count);
    if (m->count > 1) hd_json_key(j, "retained_growth"), hd_json_i64(j, (int64_t)c->grown_retained);
    json_u64(j, "path_percent", w.all ? 100 * (uint64_t)w.sharing / w.all : 0);
    json_u64(j, "path_objects", w.sharing);
    json_u64(j, "path_of", w.all);
    steps_json(j, "path", w.to_holder ? &none : &w.way);
    if (w.to_holder) steps_json(j, "holder_path", &w.way);
    json_class_origin(j, m, c->class_index);
    hd_json_end(j);
    steps_free(&w.way);
}

static void answer_json(const matched *m, const pile *piles, uint32_t n, const class_suspect *classes,
                        uint32_t class_count, grown_classes grown, const detached *lost, hd_json *j) {
    const shot *s = &m->shots[m->count - 1];
    json_line(j);
    json_text(j, "file", s->o.file);
    json_u64(j, "snapshots", m->count);
    json_u64(j, "live_bytes", s->o.dominators->bytes);
    json_array(j, "suspects");
    for (uint32_t i = 0; i < n; i++) json_pile(j, m, piles, n, i);
    hd_json_end(j);
    json_array(j, "classes");
    for (uint32_t i = 0; i < class_count; i++) json_class_suspect(j, m, &classes[i]);
    hd_json_end(j);
    if (m->count > 1) {
        json_object(j, "classes_not_listed");
        json_u64(j, "classes", grown.classes);
        hd_json_key(j, "growth"), hd_json_i64(j, (int64_t)grown.growth);
        hd_json_end(j);
    }
    json_detached(j, m, lost);
    hd_json_end(j);
}

/* Proposes the path to the first object, or else to the objects of the first class. */
static void propose(const shot *last, const pile *piles, uint32_t n, const class_suspect *classes,
                    uint32_t class_count, proposal *next) {
    char id[24];
    hd_str c;
    if (!n && !class_count) return;
    *next = (proposal){ .command = "path", .file = last->o.file };
    if (n) {
        id_text(&last->o, piles[0].object, id);
        next->option = "--id", next->purpose = "why it is alive", next->name = needed(strdup(id));
    } else {
        c = hd_graph_class(last->o.graph, classes[0].class_index).name;
        next->option = "--class", next->purpose = "why they are alive", next->name = needed(strndup(c.data, c.len));
    }
}

int suspects_of_graphs(const arguments *a, hd_dump **dumps, int count, answer *r, proposal *next) {
    FREED shot *shots = needed(calloc((size_t)count, sizeof *shots));
    matched m = { .shots = shots, .count = (uint32_t)count };
    pile piles[MOST_PILES];
    class_suspect classes[MOST_CLASSES];
    grown_classes grown;
    detached lost = { 0 };
    origins from = { NULL, NULL };
    uint32_t n = 0, class_count = 0;
    int status = DONE;
    for (int i = 0; i < count && !status; i++) status = shot_open(a->input.files[i], dumps[i], &shots[i]);
    if (!status) shot_prepare(&shots[count - 1]);
    if (!status) status = origins_open(a, &shots[count - 1].o, &from);
    m.from = &from;
    if (!status && count > 1) status = match_all(a, &m);
    if (m.ids) m.dart = hd_dump_dart(dumps[count - 1]);
    if (!status && count > 1 && !m.ids) m.came = came_by_way(&m);
    if (!status) status = find_classes(a, &m, classes, &class_count, &grown);
    if (!status) status = detached_find(&m, &lost);
    if (!status) {
        if (count == 1) n = find_group(&shots[0], piles, find_piles(&m, piles));
        else if (m.ids) n = find_growing(&m, piles);
        n = listed_of(a, n), class_count = listed_of(a, class_count);
        grown = not_listed(grown, classes, class_count);
        if (a->view.json) answer_json(&m, piles, n, classes, class_count, grown, &lost, &r->json);
        else answer_text(a, &m, piles, n, classes, class_count, grown, r->text), put_detached(r->text, a, &m, &lost);
        propose(&shots[count - 1], piles, n, classes, class_count, next);
    }
    for (int i = 0; i < count; i++) shot_free(&shots[i]);
    origins_close(&from);
    detached_free(&lost);
    free(m.ids), free(m.came), free(m.owner);
    return status;
}
