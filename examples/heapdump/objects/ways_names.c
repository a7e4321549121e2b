/* path --class: names of its tree that fit into lines; the engine's go first. */

#include "ways_tree.h"

void name_worth_add(name_worth *w, char *name, known how) {
    if (!(w->count & (w->count - 1)))
        w->list = needed(realloc(w->list, (w->count ? 2 * (size_t)w->count : 1) * sizeof *w->list));
    w->list[w->count++] = (struct worth){ name, how };
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct worth *)a)->name, ((const struct worth *)b)->name);
}

void name_worth_free(name_worth *w) {
    while (w->count) free(w->list[--w->count].name);
    free(w->list);
}

static known worth_of(const name_worth *w, hd_str name) {
    FREED char *text = needed(strndup(name.data, name.len));
    const struct worth sought = { text, UNNAMED };
    const struct worth *found = bsearch(&sought, w->list, w->count, sizeof *w->list, by_name);
    return found ? found->known : UNNAMED;
}

/* Lines of one row of the listing, from its head on. */
static void shorten_row(listing *l, const name_worth *w, uint32_t head, int room) {
    brief_steps c = { NULL, NULL, NULL, 0, false, false };
    size_t n = 1;
    for (uint32_t i = head; i != HD_NONE; i = l->lines[i].next) n += l->lines[i].name_count;
    c.names = needed(malloc(n * sizeof *c.names)), c.known = needed(malloc(n * sizeof *c.known));
    c.columns = needed(malloc(n * sizeof *c.columns));
    for (uint32_t i = head; i != HD_NONE; i = l->lines[i].next)
        for (uint32_t k = 0; k < l->lines[i].name_count; k++, c.count++) {
            c.names[c.count] = &l->lines[i].names[k];
            c.known[c.count] = worth_of(w, l->lines[i].names[k]);
            c.columns[c.count] = columns_of(l->lines[i].names[k]);
        }
    steps_shorten(&c, room);
    for (uint32_t i = head; i != HD_NONE; i = l->lines[i].next) {
        listing_line *x = &l->lines[i];
        uint32_t kept = 0;
        for (uint32_t k = 0; k < x->name_count; k++)
            if (x->names[k].data) x->names[kept++] = x->names[k];
        x->name_count = kept;
    }
    free(c.names), free(c.known), free(c.columns);
}

void ways_shorten(listing *l, name_worth *w, int columns, int in_front) {
    enum { LEAST = 12 };
    qsort(w->list, w->count, sizeof *w->list, by_name);
    for (uint32_t i = 1; i < l->count; i++) {
        int indent = 2 * (int)(l->lines[i].indent < 100 ? l->lines[i].indent : 100);
        int room = columns - in_front - (indent < columns / 3 ? indent : columns / 3);
        if (l->lines[i].head == i) shorten_row(l, w, i, room < LEAST ? LEAST : room);
    }
}
