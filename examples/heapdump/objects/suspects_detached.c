/* Detached DOM nodes in suspects: a page removed them from its document and still holds them. */

#include "suspects_detached.h"
#include "origins.h"

/* Whether an object is a DOM node. The browser's own data of a node does not count, nor does a native object of
   Node.js, which is detached if JavaScript does not hold it. */
static bool is_page_node(const objects *o, uint32_t object) {
    hd_str name = hd_v8_name(hd_dump_v8(o->dump), object);
    return is_detached(o, object) && !begins_with(name, "Node / ") && !begins_with(name, "blink::") &&
           !begins_with(name, "system / ");
}

static uint32_t count_nodes(const objects *o) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < hd_graph_object_count(o->graph); i++)
        n += is_page_node(o, i) && o->dominators->position[i] != HD_NONE;
    return n;
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The most frequent number of a list; the smallest of several. Sorts the list. */
static uint32_t most_frequent(uint32_t *list, uint32_t n, uint32_t *times) {
    uint32_t best = HD_NONE, run = 0;
    *times = 0;
    qsort(list, n, sizeof *list, by_number);
    for (uint32_t i = 0; i < n; i++) {
        run = i && list[i] == list[i - 1] ? run + 1 : 1;
        if (run > *times) *times = run, best = list[i];
    }
    return best;
}

/* Finds the object that holds most nodes, on shortest paths, or a path that most holders share. Nodes of a removed
   tree that hold each other do not count. */
static void find_holder(const shot *s, detached *d, const uint32_t *nodes) {
    steps way;
    uint32_t sharing;
    d->holders = needed(malloc(((size_t)d->nodes + 1) * sizeof *d->holders));
    for (uint32_t i = 0; i < d->nodes; i++) {
        uint32_t holder = s->ways.held_by[nodes[i]];
        if (holder != HD_NONE && !is_detached(&s->o, holder)) d->holders[d->held++] = holder;
    }
    d->holder = most_frequent(d->holders, d->held, &d->by_holder);
    if (2 * (uint64_t)d->by_holder > d->held) return;
    way = common_way(s, d->holders, d->held, 0, 0, &sharing);
    if (way.count) d->common = true, d->by_holder = sharing;
    steps_free(&way);
}

static steps way_to_holder(const shot *s, const detached *d, size_t most) {
    uint32_t sharing;
    if (d->common) return common_way(s, d->holders, d->held, 0, most, &sharing);
    return steps_of_way(&s->o, &s->ways, d->holder, HD_NONE, most);
}

/* The classes of most nodes. */
static void find_kinds(const shot *s, detached *d, const uint32_t *nodes) {
    uint32_t *classes = needed(malloc(((size_t)d->nodes + 1) * sizeof *classes)), n = d->nodes;
    for (uint32_t i = 0; i < n; i++) classes[i] = hd_graph_object(s->o.graph, nodes[i]).class_index;
    while (n && d->kinds < MOST_BELOW) {
        below *kind = &d->kind[d->kinds++];
        uint32_t times, left = 0;
        kind->class_index = most_frequent(classes, n, &times);
        kind->objects = times;
        for (uint32_t i = 0; i < n; i++)
            if (classes[i] != kind->class_index) classes[left++] = classes[i];
        n = left;
    }
    free(classes);
}

int detached_find(const matched *m, detached *d) {
    const shot *s = &m->shots[m->count - 1];
    uint32_t *nodes, n = 0;
    hd_error err;
    hd_status status;
    if (!hd_dump_v8(s->o.dump)) return DONE;
    d->nodes = count_nodes(&s->o);
    if (m->count > 1 && hd_dump_v8(m->shots[0].o.dump)) d->before = count_nodes(&m->shots[0].o);
    if (!d->nodes) return DONE;
    nodes = needed(malloc((size_t)d->nodes * sizeof *nodes));
    for (uint32_t i = 0; i < hd_graph_object_count(s->o.graph); i++)
        if (is_page_node(&s->o, i) && s->o.dominators->position[i] != HD_NONE) nodes[n++] = i;
    status = hd_graph_retained(s->o.graph, nodes, n, NULL, &d->retained, &err);
    if (!status) find_holder(s, d, nodes), find_kinds(s, d, nodes);
    free(nodes);
    return status ? failed(s->o.file, &err) : DONE;
}

void detached_free(detached *d) { free(d->holders); }

/* "<li>" of "Detached <li>". */
static hd_str attached_name(const shot *s, uint32_t class_index) {
    hd_str name = hd_graph_class(s->o.graph, class_index).name;
    if (begins_with(name, "Detached ")) name.data += 9, name.len -= 9;
    return name;
}

void put_detached(FILE *out, const arguments *a, const matched *m, const detached *d) {
    const shot *s = &m->shots[m->count - 1];
    if (!d->nodes) return;
    display(out, "detached DOM nodes, which a page removed from its document and still holds:\n  %u node%s (",
            d->nodes, plural(d->nodes));
    for (uint32_t i = 0; i < d->kinds; i++)
        display(out, "%s%llu ", i ? ", " : "", (unsigned long long)d->kind[i].objects),
            put_short_class(out, a, (hd_class){ .name = attached_name(s, d->kind[i].class_index) });
    display(out, "), retain%s ", d->nodes == 1 ? "s" : ""), put_bytes(out, a, d->retained.bytes, 0);
    if (m->count > 1) display(out, "; %u in the first snapshot", d->before);
    fputc('\n', out);
    if (d->holder == HD_NONE || !d->held) return;
    steps way = way_to_holder(s, d, steps_name(a, MOST_NAME));
    char rest[64] = "";
    if (d->by_holder < d->held)
        snprintf(rest, sizeof rest, "  (%u of %u that are held from outside)", d->by_holder, d->held);
    put_way(out, a, "held by", &way, rest);
    steps_free(&way);
}

void json_detached(hd_json *j, const matched *m, const detached *d) {
    const shot *s = &m->shots[m->count - 1];
    if (!d->nodes) return;
    json_object(j, "detached");
    json_u64(j, "nodes", d->nodes);
    json_u64(j, "retained", d->retained.bytes);
    if (m->count > 1) json_u64(j, "nodes_before", d->before);
    json_object(j, "classes");
    for (uint32_t i = 0; i < d->kinds; i++) {
        hd_json_key_str(j, hd_graph_class(s->o.graph, d->kind[i].class_index).name);
        hd_json_u64(j, d->kind[i].objects);
    }
    hd_json_end(j);
    if (d->held) {
        steps way = way_to_holder(s, d, 0);
        json_u64(j, "path_nodes", d->by_holder);
        json_u64(j, "path_of", d->held);
        steps_json(j, "path", &way);
        steps_free(&way);
    }
    hd_json_end(j);
}
