/* suspects: the path from a root to a suspect, and from there to the point where it fans out. */

#include "suspects.h"

typedef struct links {
    chain_link *list;
    uint32_t count;
} links;

static void link_push(links *l, chain_link one) {
    if (!(l->count & (l->count - 1)))
        l->list = needed(realloc(l->list, (l->count ? 2 * (size_t)l->count : 1) * sizeof *l->list));
    l->list[l->count++] = one;
}

static void links_turn(links *l) {
    for (uint32_t i = 0; i < l->count / 2; i++) {
        chain_link t = l->list[i];
        l->list[i] = l->list[l->count - 1 - i], l->list[l->count - 1 - i] = t;
    }
}

/* Appends the elements of a list, without the first. */
static void push_elements(const shot *s, links *l, uint32_t first) {
    chain c;
    uint32_t whole;
    if (!chain_from(s, first, &c)) return;
    whole = chain_whole(s, &c);
    for (uint32_t i = 1; i < c.count; i++) {
        uint32_t before = c.part[i - 1].object, at = c.part[i].object;
        link_push(l, (chain_link){ at, before, reference_between(&s->o, before, at), HD_NONE,
                                   i % c.period ? 0 : LINK_LIST | LINK_SHOWN, first, whole });
    }
    free(c.part);
}

static steps steps_and_free(const shot *s, links *l, size_t most) {
    steps all = steps_of_links(&s->o, l->list, l->count, most);
    free(l->list);
    return all;
}

/* Reference of a scope by the name of its variable. */
static uint32_t variable_reference(const shot *s, const pile *p) {
    hd_object o = hd_graph_object(s->o.graph, p->scope);
    for (uint32_t r = 0; r < o.reference_count; r++)
        if (o.references[r] == p->object && hd_str_equal(label_of(&s->o, p->scope, r).name, p->variable)) return r;
    return HD_NONE;
}

steps steps_to(const shot *s, const pile *p, size_t most) {
    links l = { NULL, 0 };
    for (uint32_t at = p->object, above; at != HD_NONE; at = above) {
        bool by_name = at == p->object && p->variable.len;
        uint32_t head = by_name ? at : s->head[at]; /* the list that the path goes along may be longer */
        above = by_name ? p->scope : s->ways.held_by[at];
        link_push(&l, (chain_link){ at, above, by_name ? variable_reference(s, p) : s->ways.by[at], HD_NONE,
                                    LINK_ONE | (at == p->object ? LINK_SHOWN : 0) | (head == at ? 0 : LINK_LIST),
                                    head, list_whole(s, at) });
    }
    links_turn(&l);
    if (p->elements && p->object == p->point) push_elements(s, &l, p->point);
    return steps_and_free(s, &l, most);
}

/* No steps if an object is its own point, or if the point is a table of the engine. The browser's tables are shown:
   they distinguish listeners from children. */
steps steps_within(const shot *s, const pile *p, size_t most) {
    const hd_dominators *d = s->o.dominators;
    links l = { NULL, 0 };
    steps all;
    if (p->object != p->point && (p->elements || s->role[p->point] < TABLE || is_of_browser(s, p->point)))
        for (uint32_t at = p->point; at != HD_NONE; at = at == p->object ? HD_NONE : d->parent[at]) {
            uint32_t above = at == p->object ? HD_NONE : d->parent[at];
            uint32_t r = above == HD_NONE ? HD_NONE : reference_between(&s->o, above, at);
            bool shown = above == HD_NONE || (p->elements && at == p->point); /* the first element of a list counts */
            link_push(&l, (chain_link){ at, r == HD_NONE ? HD_NONE : above, r, HD_NONE,
                                        LINK_ONE | (shown ? LINK_SHOWN : 0), HD_NONE, 0 });
        }
    links_turn(&l);
    if (l.count && p->elements) push_elements(s, &l, p->point);
    all = steps_and_free(s, &l, most);
    if (!all.count) return all;
    free(all.list[0].text);      /* the step of the object itself */
    all.rooted = false;
    memmove(all.list, all.list + 1, --all.count * sizeof *all.list);
    return all;
}

