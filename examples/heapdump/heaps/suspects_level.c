/* suspects: compares condensed dumps. A function that a dump leaves out has an unknown size there, not 0 bytes.

   Growth is the difference between the first and the last dump. If one dump may leave out a function, the bytes of
   the function move to the nearest caller that both dumps list. A function keeps its bytes if the dump would have
   listed a function of this size: the dump lists a smaller function there, or has no call path that is as large. */

#include "series.h"

#include <math.h>

/* By node, in the dump to level: the bytes of the caller that are not broken down, and of the largest of its call
   paths; the smallest listed child. */
typedef struct levelling {
    series *s;
    uint32_t dump, other;        /* the dump to level, and the dump that may list more */
    double *left, *largest, *least;
    double *size;                /* with all below, in the other dump */
    uint32_t *caller;            /* the nearest listed one */
    uint32_t *to;                /* the node that gets the bytes; itself: they stay */
} levelling;

/* Whether a dump lists a node. Nodes are numbered in the order of dumps. */
static bool lists(const series *s, uint32_t dump, uint32_t node) {
    return !node || (dump ? s->seen[node] > dump : node < s->first_nodes);
}

static void sizes_find(levelling *l) {
    const series *s = l->s;
    const uint32_t *parent = hd_profile_axis(s->names, 0).parent;
    FREED double *below = needed(calloc(s->nodes, sizeof *below));
    for (uint32_t i = s->nodes; i-- > 0;) {
        point own = point_at(&s->at[i], l->dump);
        uint32_t at = s->helper[i] ? 0 : i, up = parent[i];
        l->left[at] += own.bytes, l->largest[at] = fmax(l->largest[at], own.largest);
        below[i] += own.bytes, l->size[i] += point_at(&s->at[i], l->other).bytes;
        if (!i) break;
        below[up] += below[i], l->size[up] += l->size[i];
        if (at && lists(s, l->dump, i) && below[i] > 0 && (l->least[up] <= 0 || below[i] < l->least[up]))
            l->least[up] = below[i];
    }
}

/* Whether the dump may leave out this node below a listed caller. */
static bool may_be_left_out(const levelling *l, uint32_t caller, uint32_t node) {
    double size = l->size[node];
    if (size <= 0 || size > l->left[caller] || size > l->largest[caller] * l->s->ways[node]) return false;
    return l->least[caller] <= 0 || size <= l->least[caller];
}

static void targets_find(levelling *l) {
    const series *s = l->s;
    const uint32_t *parent = hd_profile_axis(s->names, 0).parent;
    for (uint32_t i = 1; i < s->nodes; i++) {
        uint32_t up = parent[i];
        l->to[i] = l->caller[i] = i;
        if (s->helper[i] || lists(s, l->dump, i)) continue;
        l->caller[i] = l->caller[up];
        if (l->to[up] != up || may_be_left_out(l, l->caller[up], i)) l->to[i] = l->caller[up];
    }
}

/* Moves the bytes of nodes to their targets. */
static void bytes_move(levelling *l) {
    series *s = l->s;
    bool to_none = false;
    for (uint32_t i = 1; i < s->nodes; i++) to_none |= !l->to[i];
    for (uint32_t i = 1; i < s->nodes; i++) {
        if (to_none && s->helper[i]) l->to[i] = 0; /* they may be bytes of the functions left out */
        if (l->to[i] == i || !s->at[i].count) continue;
        s->levelled += !s->helper[i];
        track_add(&s->at[l->to[i]], &s->at[i]);
        s->at[i].count = 0;
    }
}

static void level(series *s, uint32_t dump, uint32_t other) {
    size_t n = s->nodes;
    FREED double *amounts = NULL;
    FREED uint32_t *nodes = NULL;
    levelling l;
    if (!s->heaps[dump]->breakdown) return;
    amounts = needed(calloc(4 * n, sizeof *amounts)), nodes = needed(calloc(2 * n, sizeof *nodes));
    l = (levelling){ s, dump, other, amounts, amounts + n, amounts + 2 * n, amounts + 3 * n, nodes, nodes + n };
    sizes_find(&l);
    targets_find(&l);
    bytes_move(&l);
}

void series_level(series *s) {
    if (s->counted < 2) return;
    level(s, 0, s->counted - 1);
    level(s, s->counted - 1, 0);
}
