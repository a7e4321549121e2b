/* Chains of objects as steps: engine objects are folded, and a run of one class by one field is a list. */

#include "list_length.h"
#include "runs.h"

/* Names. --------------------------------------------------------------------------------------- */

bool begins_with(hd_str text, const char *start) {
    size_t n = strlen(start);
    return text.len >= n && !memcmp(text.data, start, n);
}

static bool is_one_of(hd_str text, const char *const *list) {
    while (*list)
        if (hd_str_equal(text, hd_cstr(*list++))) return true;
    return false;
}

bool is_of_engine(const objects *o, uint32_t object) {
    static const char *const types[] = { "hidden", "array", "code", "synthetic", "object shape", NULL };
    const hd_v8 *v8 = hd_dump_v8(o->dump);
    return v8 && (is_one_of(hd_v8_type(v8, object), types) || begins_with(hd_v8_name(v8, object), "system / ") ||
           hd_str_equal(hd_v8_name(v8, object), hd_cstr("system")));
}

bool is_synthetic(const objects *o, uint32_t object) {
    const hd_v8 *v8 = hd_dump_v8(o->dump);
    return v8 && hd_str_equal(hd_v8_type(v8, object), hd_cstr("synthetic"));
}

uint32_t reference_between(const objects *o, uint32_t holder, uint32_t object) {
    hd_object x = hd_graph_object(o->graph, holder);
    for (uint32_t r = 0; r < x.reference_count; r++)
        if (x.references[r] == object && (!x.kinds || x.kinds[r] == HD_REFERENCE_STRONG)) return r;
    return HD_NONE;
}

/* V8 calls the value of a WeakMap's pair "7 / part of key (K @5) -> value (V @9) pair in WeakMap (table @3)". */
static bool is_pair(hd_str field) {
    static const char part[] = " / part of key (";
    size_t i = 0;
    while (i < field.len && field.data[i] >= '0' && field.data[i] <= '9') i++;
    return i && field.len - i >= sizeof part && !memcmp(field.data + i, part, sizeof part - 1);
}

/* One string for all elements: suspects compare labels by pointer. */
static const char any_element[] = "[]";

static const char as_key[] = "as key", as_weak_key[] = "as WeakMap key";

step_label label_of(const objects *o, uint32_t holder, uint32_t reference) {
    const hd_v8 *v8 = hd_dump_v8(o->dump);
    hd_str field, type;
    if (reference == HD_NONE) return (step_label){ PROPERTY, hd_cstr(as_key) };
    if (index_of(o, holder, reference) != HD_UNKNOWN) return (step_label){ ELEMENT, hd_cstr(any_element) };
    field = hd_graph_field(o->graph, holder, reference);
    if (!field.len) return (step_label){ UNNAMED, field };
    if (is_number(field)) return (step_label){ ELEMENT, hd_cstr(any_element) };
    if (!v8) return (step_label){ PROPERTY, field };
    type = hd_v8_edge_type(v8, holder, reference);
    if (hd_str_equal(type, hd_cstr("context"))) return (step_label){ VARIABLE, field };
    if (hd_str_equal(type, hd_cstr("property")) || hd_str_equal(type, hd_cstr("shortcut")))
        return (step_label){ PROPERTY, field };
    if (is_synthetic(o, holder)) return (step_label){ UNNAMED, field };
    if (is_pair(field)) return (step_label){ PROPERTY, hd_cstr(as_weak_key) };
    return (step_label){ OF_ENGINE, field };
}

/* A name cut to `most` bytes, between characters, followed by `end`. */
static char *cut(hd_str name, size_t most, const char *end) {
    size_t n = name.len;
    char *text;
    if (most && n > most)
        for (n = most - 3; n && ((unsigned char)name.data[n] & 0xc0) == 0x80;) n--;
    if (asprintf(&text, "%.*s%s%s", (int)n, n ? name.data : "", n < name.len ? "\xe2\x80\xa6" : "", end) < 0)
        return needed(NULL);
    return text;
}

/* On a terminal, without the package of a class of Java. */
static char *class_text(const objects *o, uint32_t object, size_t most) {
    hd_str name = hd_graph_class(o->graph, hd_graph_object(o->graph, object).class_index).name;
    if (most && hd_dump_format(o->dump)->is & FORMAT_JAVA)
        for (size_t n = name.len; n-- > 1;)
            if (name.data[n - 1] == '.') return cut((hd_str){ name.data + n, name.len - n }, most, "");
    return cut(name, most, "");
}

char *object_text(const objects *o, uint32_t object, size_t most) {
    const hd_v8 *v8 = hd_dump_v8(o->dump);
    if (v8 && hd_v8_name(v8, object).len) {
        if (hd_str_equal(hd_v8_type(v8, object), hd_cstr("closure"))) return cut(hd_v8_name(v8, object), most, "()");
        if (is_of_engine(o, object)) return cut(hd_v8_name(v8, object), most, "");
    }
    if (!v8 && name_of(o, object).len) {
        char *text;
        FREED char *of = is_class_object(o, object) ? needed(strdup("class")) : class_text(o, object, most);
        FREED char *name = cut(name_of(o, object), most, "");
        if (asprintf(&text, "%s %s", of, name) < 0) text = needed(NULL);
        return text;
    }
    return class_text(o, object, most);
}

/* Folding. ------------------------------------------------------------------------------------- */

/* A step before lists are found. */
typedef struct draft {
    uint32_t object, folded;
    step_label label;
    bool root, unnamed;
    uint32_t head;               /* first element of the list that continues here; HD_NONE: none */
    uint32_t elements;           /* length of that list; 0: not known; HD_NONE: it is a tree */
    uint32_t link;               /* index of the chain link at the end of this step */
} draft;

/* Whether both are parts of one concatenated text. */
static bool is_part_of_text(const objects *o, uint32_t holder, uint32_t object) {
    static const char *const rope[] = { "concatenated string", NULL };
    const hd_v8 *v8 = hd_dump_v8(o->dump);
    return v8 && holder != HD_NONE && is_one_of(hd_v8_type(v8, holder), rope) &&
           is_one_of(hd_v8_type(v8, object), rope);
}

/* V8's own root, before all others; it may have no name and no class name in a snapshot. */
static bool is_nameless_root(const objects *o, const chain_link *l) {
    return hd_dump_v8(o->dump) && l->holder == HD_NONE && !name_of(o, l->object).len &&
           !hd_graph_class(o->graph, hd_graph_object(o->graph, l->object).class_index).name.len;
}

/* Folds engine objects between two objects of the program, and parts of a text. The best label among their references
   goes to the second object. The value of a variable or property is always shown, and so is the last object, except
   that a text of many parts shows only the text. Of several synthetic roots, only the last is shown, since it names
   the kind of root. */
static uint32_t fold(const objects *o, const chain_link *links, uint32_t count, draft *out) {
    step_label best = { UNNAMED, { "", 0 } };
    uint32_t n = 0, folded = 0;
    for (uint32_t i = 0; i < count; i++) {
        const chain_link *l = &links[i];
        bool root = is_synthetic(o, l->object) || is_nameless_root(o, l);
        step_label label = { UNNAMED, { "", 0 } };
        if (l->holder != HD_NONE) label = label_of(o, l->holder, l->reference);
        if (l->flags & LINK_ANY_FIELD) label = (step_label){ ELEMENT, hd_cstr(any_element) };
        if (l->flags & LINK_NO_FIELD) best = label = (step_label){ UNNAMED, { "", 0 } };
        bool can_fold = i && !(l->flags & LINK_SHOWN); /* only a root leads to the first link */
        bool part = can_fold && is_part_of_text(o, l->holder, l->object);
        folded++;
        if (part && i + 1 == count && l->flags & LINK_ANY_NAME && n) {
            out[n - 1].folded += folded;
            break;
        }
        if (label.known >= best.known && !root) best = label;
        if (root ? i + 1 < count && (is_synthetic(o, links[i + 1].object) || !name_of(o, l->object).len)
                 : i + 1 < count && can_fold && best.known < PROPERTY && (part || is_of_engine(o, l->object)))
            continue;
        if (i && best.known < PROPERTY && is_synthetic(o, l->holder)) best = (step_label){ UNNAMED, { "", 0 } };
        out[n] = (draft){ l->object, folded, best, !i && l->holder == HD_NONE && l->reference != HD_NONE,
                            (l->flags & LINK_ANY_NAME) != 0, l->flags & LINK_LIST ? l->head : HD_NONE,
                            l->flags & LINK_LIST ? l->elements : 0, i };
        best = (step_label){ UNNAMED, { "", 0 } }, folded = 0, n++;
    }
    return n;
}

/* A path before lists are found. */
typedef struct drafts {
    const objects *o;
    const chain_link *links;
    const draft *list;
    uint32_t count;
    uint32_t *period;            /* period of the list of at least three elements that begins here; 0: none */
    list_lengths *lengths;       /* NULL: not used yet */
} drafts;

static bool draft_alike(const void *user, uint32_t at, uint32_t before, bool first) {
    const drafts *d = user;
    return are_alike(d->o, d->list[at].object, d->list[before].object) &&
           (first || hd_str_equal(d->list[at].label.name, d->list[before].label.name));
}

static void find_periods(drafts *d) {
    FREED uint64_t *keys = needed(malloc(((size_t)d->count + 1) * sizeof *keys));
    for (uint32_t i = 0; i < d->count; i++) {
        hd_str label = d->list[i].label.name;
        keys[i] = hd_graph_object(d->o->graph, d->list[i].object).class_index;
        for (size_t k = 0; k < label.len; k++) keys[i] = run_key(keys[i], (uint8_t)label.data[k]);
    }
    d->period = run_starts(keys, d->count, draft_alike, d);
}

/* A run of one list or tree. */
typedef struct run {
    uint32_t count;              /* steps; 0: none */
    uint32_t period, elements;   /* elements: of the whole list; HD_NONE: a tree */
    bool known;                  /* elements on other paths count, too */
    bool any_field;              /* all elements on the path belong to it, whichever field leads to them */
    hd_str by;                   /* the field that orders the elements, if the path has another field; or empty */
} run;

/* Judges the run that begins here: a list or a tree. A run through the key of an ephemeron keeps its known length. */
static void judge_run(drafts *d, uint32_t first, run *r) {
    uint32_t from = d->list[first].link, count = d->list[first + r->period].link - from;
    list_pattern p = { needed(malloc(count * sizeof *p.part)), count };
    list_answer got;
    for (uint32_t i = 0; i < count; i++) {
        const chain_link *link = &d->links[from + 1 + i];
        p.part[i] = (list_part){ link->holder, link->reference, link->object };
        r->known |= link->reference == HD_NONE;
    }
    r->known = !r->known;
    if (!d->lengths) d->lengths = d->o->lengths ? d->o->lengths : list_lengths_open(d->o);
    got = list_length(d->lengths, &p, d->list[first].object, 1);
    r->elements = got.elements, r->by = got.by;
    r->any_field = r->known && (got.elements == HD_NONE || count == 1);
    free(p.part);
}

/* The step with the next element of the list or tree, at most `period` steps on; 0: none. */
static uint32_t next_member(const drafts *d, uint32_t first, uint32_t at, uint32_t period) {
    for (uint32_t i = at + 1; i <= at + period && i < d->count; i++)
        if (are_alike(d->o, d->list[i].object, d->list[first].object) &&
            are_in_one_list(d->lengths, d->list[i].object, d->list[first].object))
            return i;
    return 0;
}

/* Whether three steps are of one class, with the same classes between them, by any fields. Plain objects are often
   in each other; their fields have to repeat. */
static bool repeats_classes(const drafts *d, uint32_t first, uint32_t period) {
    hd_object head = hd_graph_object(d->o->graph, d->list[first].object);
    uint32_t equal = 0;
    if (first + 2 * period >= d->count || d->list[first].head != HD_NONE) return false;
    for (uint32_t i = first; i <= first + period; i++) {
        if (!are_alike(d->o, d->list[i].object, d->list[i + period].object)) return false;
        if (is_synthetic(d->o, d->list[i].object)) return false;
    }
    if (!hd_str_equal(hd_graph_class(d->o->graph, head.class_index).name, hd_cstr("Object"))) return true;
    for (uint32_t i = first + 1; i + period < d->count && draft_alike(d, i, first, true); i += period)
        equal += draft_alike(d, i + period, first + 1, false);
    return equal > 1;
}

/* The list or tree that begins here. Two elements are enough where a longer list is known. */
static run run_from(drafts *d, uint32_t first, uint32_t *no_mixed) {
    enum { MOST_PARTS = 6 };
    run r = { .period = d->period[first], .by = hd_cstr("") };
    uint32_t at, last = first, counted = 0, next;
    bool mixed = false;
    for (uint32_t p = 1; !r.period && p <= MOST_PARTS && first + p < d->count; p++)
        if (d->list[first + p].head == d->list[first].object && draft_alike(d, first + p, first, true)) r.period = p;
    for (uint32_t p = 1; !r.period && first >= *no_mixed && p <= MOST_PARTS; p++)
        if (repeats_classes(d, first, p)) r.period = p, mixed = true;
    if (!r.period) return r;
    judge_run(d, first, &r);
    for (at = first + r.period; !mixed && at < d->count;) {
        if (!draft_alike(d, at, at - r.period, at == first + r.period)) break;
        at++;
    }
    for (uint32_t i = first; !mixed && i < at; i++)
        if (are_alike(d->o, d->list[i].object, d->list[first].object)) last = i, counted++;
    while (r.any_field && (next = next_member(d, first, last, r.period)) != 0) last = next, counted++;
    if (mixed && (!r.any_field || last < first + 2 * r.period)) {
        for (*no_mixed = first + 1; *no_mixed < d->count && draft_alike(d, *no_mixed, first, true);) ++*no_mixed;
        return r;
    }
    for (uint32_t i = first; i <= last && !r.known; i++)
        if (d->list[i].head == d->list[first].object && d->list[i].elements > counted) counted = d->list[i].elements;
    if (!r.known || r.elements < counted) r.elements = counted;
    r.count = last - first + 1;
    return r;
}

/* "list of 300 Object (someMethod › originalThing)": these fields lead from an element to the next. "tree of <li>"
   has no number: the path goes along one of its branches. */
static char *list_text(const objects *o, const draft *d, const run *r, size_t most) {
    uint32_t elements = r->elements, period = r->by.len ? 1 : r->period;
    char *class_name = hd_dump_v8(o->dump) ? object_text(o, d->object, most) : class_text(o, d->object, most), *text;
    size_t size;
    FILE *f = needed(open_memstream(&text, &size));
    bool tree = elements == HD_NONE, named = false;
    if (tree) display(f, "tree of %s", class_name);
    else display(f, "list of %u %s", elements, class_name);
    for (uint32_t i = 1; i <= period; i++) named |= d[i].label.name.len && (period > 1 || d[i].label.known > ELEMENT);
    for (uint32_t i = 1; !tree && named && i <= period; i++) {
        FREED char *name = cut(r->by.len ? r->by : d[i].label.name, most, "");
        display(f, "%s%s%s", i > 1 ? CALLS : " (", name, i == period ? ")" : "");
    }
    free(class_name);
    closed_text(f, &text);
    return text;
}

bool is_of_java(hd_str name) {
    static const char *const packages[] = { "java.", "javax.", "jdk.", "sun.", "com.sun." };
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++)
        if (begins_with(name, packages[i])) return true;
    return false;
}

/* How well known the label of a step is on a terminal: "as key" is not a name. Few know the static fields of Java's
   library; their labels begin with the class. */
static known worth_of(const objects *o, const step_label *l) {
    if (hd_dump_format(o->dump)->is & FORMAT_JAVA && is_of_java(l->name)) return OF_ENGINE;
    return hd_str_equal(l->name, hd_cstr(as_key)) || hd_str_equal(l->name, hd_cstr(as_weak_key)) ? ELEMENT : l->known;
}

static char *step_text(const objects *o, const draft *d, const char *what, size_t most, const chain_link *first) {
    bool element = d->label.known == ELEMENT, engine = hd_dump_v8(o->dump) != NULL;
    char *text;
    FREED char *label = cut(d->label.name, most, "");
    hd_root of;
    int n;
    if (d->root && (!engine || is_cut_off(o, d->object))) {
        of = hd_graph_root(o->graph, first->reference);
        if (first->flags & LINK_ANY_ROOT) of.name = 0;
        FREED char *name = root_text(o, &of, " root");
        n = asprintf(&text, "%s: %s", name, what);
    } else n = asprintf(&text, "%s%s%s", label, element ? " " : *label ? ": " : "", what);
    return n < 0 ? needed(NULL) : text;
}

/* The text of an object, with the number of its elements if it is a collection. */
static char *shown_text(const objects *o, const chain_link *link, size_t most) {
    char *name = object_text(o, link->object, most), *fill, *text;
    if (!(link->flags & LINK_ONE)) return name;
    fill = fill_text(o, link->object);
    if (asprintf(&text, "%s%s%s", name, *fill ? ", " : "", fill) < 0) text = needed(NULL);
    free(name), free(fill);
    return text;
}

steps steps_of_links(const objects *o, const chain_link *links, uint32_t count, size_t most) {
    draft *d = needed(malloc(((size_t)count + 1) * sizeof *d));
    steps s = { needed(malloc(((size_t)count + 1) * sizeof *s.list)), 0,
                count && links[0].holder == HD_NONE };
    drafts all = { .o = o, .links = links, .list = d, .count = fold(o, links, count, d) };
    uint32_t n = all.count, no_mixed = 0;
    find_periods(&all);
    for (uint32_t i = 0, next; i < n; i = next) {
        step *to = &s.list[s.count++];
        run r = run_from(&all, i, &no_mixed);
        FREED char *what = NULL;
        next = i + (r.count ? r.count : 1);
        *to = (step){ .object = d[i].object, .last = d[next - 1].object, .known = worth_of(o, &d[i].label) };
        if (r.count) to->elements = r.elements;
        for (uint32_t k = i; k < next; k++) to->folded += d[k].folded - 1;
        what = to->elements     ? list_text(o, &d[i], &r, most)
               : d[i].unnamed ? class_text(o, d[i].object, most)
                              : shown_text(o, &links[d[i].link], most);
        to->text = step_text(o, &d[i], what, most, &links[0]);
    }
    free(d), free(all.period);
    if (all.lengths != o->lengths) list_lengths_free(all.lengths);
    return s;
}

steps steps_of_path(const objects *o, const hd_path *path, size_t most) {
    FREED chain_link *links = needed(malloc(((size_t)path->length + 1) * sizeof *links));
    steps s;
    for (uint32_t i = 0; i < path->length; i++)
        links[i] = i ? (chain_link){ path->objects[i], path->objects[i - 1], path->references[i - 1],
                                     path->ephemerons ? path->ephemerons[i - 1] : HD_NONE, LINK_ONE, HD_NONE, 0 }
                     : (chain_link){ path->objects[0], HD_NONE, path->root, HD_NONE, LINK_ONE, HD_NONE, 0 };
    s = steps_of_links(o, links, path->length, most);
    return s;
}

steps steps_of_way(const objects *o, const ways *w, uint32_t object, uint32_t count, size_t most) {
    FREED chain_link *links = NULL;
    uint32_t n = 0, i;
    steps s;
    for (uint32_t at = object; at != HD_NONE && n < count; at = w->held_by[at]) n++;
    links = needed(malloc(((size_t)n + 1) * sizeof *links));
    for (i = n; i--; object = w->held_by[object])
        links[i] = (chain_link){ object, w->held_by[object], w->by[object], HD_NONE, LINK_ONE, HD_NONE, 0 };
    s = steps_of_links(o, links, n, most);
    return s;
}

void steps_free(steps *s) {
    while (s->count) free(s->list[--s->count].text);
    free(s->list);
}

/* Text. ---------------------------------------------------------------------------------------- */

int steps_columns(const arguments *a, int otherwise) { return !screen_of(a).columns || a->cut.all ? 0 : otherwise; }

size_t steps_name(const arguments *a, size_t otherwise) { return steps_columns(a, 1) ? otherwise : 0; }

void steps_json(hd_json *j, const char *key, const steps *s) {
    json_array(j, key);
    for (uint32_t i = 0; i < s->count; i++) hd_json_cstr(j, s->list[i].text);
    hd_json_end(j);
}
