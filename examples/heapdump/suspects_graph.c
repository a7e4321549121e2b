/* suspects, of objects that hold each other: where they pile up, and why they are alive. */

#include "suspects.h"
#include "frames.h"
#include "instances.h"
#include "steps.h"

/* A snapshot, with what suspects need of it. */
typedef struct shot {
    objects o;
    ways ways;                   /* of the last one */
} shot;

/* Objects that something piles up in. */
typedef struct pile {
    uint32_t object;             /* of the last snapshot */
    double bytes;                /* retained, in the last one */
    trend trend;                 /* of what it holds that no older object below it does */
} pile;

typedef struct class_suspect {
    uint32_t class_index;        /* of the last snapshot */
    hd_class_row last;
    trend trend;                 /* of live bytes */
    double grown_objects;
} class_suspect;

enum { MOST_STEPS = 24, MOST_PILES = 6, MOST_CLASSES = 6 };

/* Shortest ways. ------------------------------------------------------------------------------- */

/* "Map.table", or "system.sessions": an object as what it holds the next by. To be freed. */
static char *step_text(const shot *s, uint32_t object, uint32_t reference) {
    hd_class c = hd_graph_class(s->o.graph, hd_graph_object(s->o.graph, object).class_index);
    hd_str name = name_of(&s->o, object), field = { "", 0 };
    char *text;
    if (reference != HD_NONE) field = hd_graph_field(s->o.graph, object, reference);
    if (name.len > 40 || !name.len) name = c.name;
    if (asprintf(&text, "%.*s%s%.*s", (int)(name.len < 60 ? name.len : 60), name.data ? name.data : "",
                 field.len ? "." : "", (int)(field.len < 60 ? field.len : 60), field.data ? field.data : "") < 0)
        text = needed(NULL);
    return text;
}

/* Whether an object is a virtual machine's own, to which classes in brackets and "system / ..." belong. */
static bool is_internal(hd_str class_name) {
    return class_name.len &&
           (class_name.data[0] == '(' || (class_name.len > 6 && !memcmp(class_name.data, "system", 6)));
}

/* The field by which one object holds the next; of an ephemeron's key none. */
static hd_str field_of(const shot *s, uint32_t holder, uint32_t reference) {
    return reference == HD_NONE ? hd_cstr("") : hd_graph_field(s->o.graph, holder, reference);
}

/* Whether what is new of a class is the machine at work, which compiles what runs often, not the program. */
static bool is_machinery(hd_str name) {
    static const char *const classes[] = { "(compiled code)", "(object shape)", "(system)" };
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (hd_str_equal(name, hd_cstr(classes[i]))) return true;
    return name.len > 6 && !memcmp(name.data, "system", 6) && !hd_str_equal(name, hd_cstr("system / Context"));
}

/* The way to an object, the root's first. */
static uint32_t way_to(const shot *s, uint32_t object, char **texts) {
    steps way = steps_of_way(&s->o, &s->ways, object, HD_NONE, 60);
    uint32_t n = 0, skip = way.count > MOST_STEPS ? way.count - MOST_STEPS : 0;
    for (uint32_t i = skip; i < way.count; i++) texts[n++] = needed(strdup(way.list[i].text));
    steps_free(&way);
    return n;
}

static void texts_free(char **steps, uint32_t n) {
    while (n) free(steps[--n]);
}

/* Many objects' ways as one: at each step back the commonest class and field. `share` of the objects come all this
   way. The objects themselves are not among the steps. */
static uint32_t common_way(const shot *s, uint32_t *at, uint32_t live, char **steps, double *share) {
    uint32_t n = 0, all = live;
    uint32_t *by = needed(malloc(((size_t)live + 1) * sizeof *by));
    *share = 1;
    while (live && n < MOST_STEPS) {
        uint32_t best = 0, best_class = 0, kept = 0, one = HD_NONE;
        hd_str best_field = { "", 0 };
        for (uint32_t i = 0; i < live; i++)
            if (at[i] != HD_NONE) by[i] = s->ways.by[at[i]], at[i] = s->ways.held_by[at[i]];
        for (uint32_t trial = 0; trial < 16 && trial < live; trial++) { /* what is common is found soon */
            uint32_t i = (uint32_t)((uint64_t)trial * live / 16 % live), count = 0, c;
            hd_str field;
            if (at[i] == HD_NONE) continue;
            c = hd_graph_object(s->o.graph, at[i]).class_index, field = field_of(s, at[i], by[i]);
            for (uint32_t k = 0; k < live; k++)
                count += at[k] != HD_NONE && hd_graph_object(s->o.graph, at[k]).class_index == c &&
                         hd_str_equal(field_of(s, at[k], by[k]), field);
            if (count > best) best = count, best_class = c, best_field = field;
        }
        if (best < all / 2 || !best) break;
        for (uint32_t i = 0; i < live; i++) {
            if (at[i] == HD_NONE || hd_graph_object(s->o.graph, at[i]).class_index != best_class ||
                !hd_str_equal(field_of(s, at[i], by[i]), best_field)) continue;
            if (one == HD_NONE) one = by[i];
            at[kept++] = at[i];
        }
        live = kept;
        *share = (double)live / all;
        steps[n++] = step_text(s, at[0], one);
    }
    for (uint32_t i = 0; i < n / 2; i++) {
        char *t = steps[i];
        steps[i] = steps[n - 1 - i], steps[n - 1 - i] = t;
    }
    free(by);
    return n;
}

/* Piles. --------------------------------------------------------------------------------------- */

static int by_pile(const void *a, const void *b) {
    const pile *x = a, *y = b;
    if (x->trend.score != y->trend.score) return x->trend.score < y->trend.score ? 1 : -1;
    return (x->object > y->object) - (x->object < y->object);
}

static void add_pile(pile *piles, uint32_t *n, pile one) {
    if (*n == MOST_PILES && one.trend.score <= piles[*n - 1].trend.score) return;
    if (*n < MOST_PILES) ++*n;
    piles[*n - 1] = one;
    qsort(piles, *n, sizeof *piles, by_pile);
}

/* Of one snapshot: objects that retain a tenth, none of whose children retains most of that: there it fans out. What
   holds nearly everything is no news. */
static uint32_t find_piles(const shot *s, pile *piles) {
    const hd_dominators *d = s->o.dominators;
    uint64_t *most = needed(calloc((size_t)d->count + 1, sizeof *most));
    uint32_t n = 0;
    for (uint32_t o = 0; o < d->count; o++)
        if (d->below[o] && d->parent[o] != HD_NONE && d->retained[o] > most[d->parent[o]])
            most[d->parent[o]] = d->retained[o];
    for (uint32_t o = 0; o < d->count; o++) {
        double bytes = (double)d->retained[o];
        if (!d->below[o] || bytes < 0.1 * (double)d->bytes || bytes > 0.9 * (double)d->bytes ||
            (double)most[o] > 0.7 * bytes)
            continue;
        add_pile(piles, &n, (pile){ .object = o, .bytes = bytes, .trend = { .score = bytes } });
    }
    free(most);
    return n;
}

/* By object of the last snapshot, its number in each: HD_NONE where it is not in all. NULL when ids say nothing. */
static int match_all(const arguments *a, const shot *shots, uint32_t count, uint32_t **ids) {
    uint32_t n = hd_graph_object_count(shots[count - 1].o.graph);
    uint32_t *all = needed(malloc(((size_t)n * count + 1) * sizeof *all));
    hd_error err;
    for (uint32_t o = 0; o < n; o++) all[(size_t)o * count + count - 1] = o;
    for (uint32_t t = count - 1; t-- > 0;) {
        hd_identity_change *change;
        if (hd_graph_match(shots[t].o.graph, shots[t + 1].o.graph, NULL, NULL, &change, &err))
            return free(all), failed(a->files[t], &err);
        if (change->by_chance) {
            hd_identity_change_free(change);
            return free(all), *ids = NULL, DONE;
        }
        for (uint32_t o = 0; o < n; o++) {
            uint32_t after = all[(size_t)o * count + t + 1];
            all[(size_t)o * count + t] = after == HD_NONE ? HD_NONE : change->then[after];
        }
        hd_identity_change_free(change);
    }
    *ids = all;
    return DONE;
}

/* Snapshots do not say when they were taken: as if each step, the one to the first too, had been as long. */
static uint64_t *step_times(uint32_t count) {
    uint64_t *times = needed(malloc(count * sizeof *times));
    for (uint32_t t = 0; t < count; t++) times[t] = t + 1;
    return times;
}

/* Gives each new object to the oldest below which it is, of those nearest to it: how many each has. What is the
   machine's own is taken from the bytes that it `held`. */
static double *new_objects(const shot *last, const uint32_t *ids, uint32_t count, double *held) {
    const hd_dominators *d = last->o.dominators;
    uint32_t *owner = needed(malloc(((size_t)d->count + 1) * sizeof *owner));
    double *number = needed(calloc((size_t)d->count + 1, sizeof *number));
    for (uint32_t i = 0; i < d->reached; i++) {
        uint32_t o = d->order[i];
        hd_object info = hd_graph_object(last->o.graph, o);
        owner[o] = ids[(size_t)o * count] != HD_NONE ? o : d->parent[o] != HD_NONE ? owner[d->parent[o]] : HD_NONE;
        if (owner[o] == o || owner[o] == HD_NONE) continue;
        if (is_machinery(hd_graph_class(last->o.graph, info.class_index).name)) held[owner[o]] -= (double)info.size;
        else number[owner[o]]++;
    }
    free(owner);
    return number;
}

/* Of several: objects that are in all, by how what they hold grew, beyond what older objects below them hold. */
static uint32_t find_growing(const shot *shots, uint32_t count, const uint32_t *ids, pile *piles) {
    const shot *last = &shots[count - 1];
    uint32_t n = hd_graph_object_count(last->o.graph), found = 0;
    double **held = needed(calloc(count, sizeof *held)), *v = needed(malloc(count * sizeof *v)), *number;
    uint64_t *turn = step_times(count);
    for (uint32_t t = 0; t < count; t++) {
        const hd_dominators *d = shots[t].o.dominators;
        held[t] = needed(calloc((size_t)d->count + 1, sizeof **held));
        for (uint32_t o = 0; o < n; o++) {
            const uint32_t *id = &ids[(size_t)o * count];
            uint32_t own = id[t];
            if (id[0] == HD_NONE || !d->below[own]) continue;
            held[t][own] += (double)d->retained[own];
            if (d->parent[own] != HD_NONE) held[t][d->parent[own]] -= (double)d->retained[own];
        }
    }
    number = new_objects(last, ids, count, held[count - 1]);
    for (uint32_t o = 0; o < n; o++) {
        const uint32_t *id = &ids[(size_t)o * count];
        pile one = { .object = o, .bytes = (double)last->o.dominators->retained[o] };
        bool alive = id[0] != HD_NONE;
        for (uint32_t t = 0; alive && t < count; t++)
            alive = shots[t].o.dominators->below[id[t]] != 0, v[t] = held[t][id[t]];
        if (!alive || v[count - 1] <= v[0]) continue;
        one.trend = trend_of(v, turn, count);
        one.trend.score *= occasions(one.trend.growth, number[o]);
        if (one.trend.score > 0) add_pile(piles, &found, one);
    }
    for (uint32_t t = 0; t < count; t++) free(held[t]);
    free(held), free(v), free(turn), free(number);
    return found;
}

/* A class of objects below a pile. */
typedef struct below {
    uint32_t class_index;
    uint64_t objects;
    hd_str name;                 /* that most of them have beside it: of V8 a function's */
} below;

enum { MOST_BELOW = 3 };

/* The name that most of some objects have: one that is met twice among the first of them is. */
static hd_str common_name(const shot *s, const uint32_t *list, uint32_t n) {
    for (uint32_t i = 0; i + 1 < n; i++) {
        hd_str name = name_of(&s->o, list[i]);
        uint32_t equal = 0;
        for (uint32_t k = 0; k < n; k++) equal += hd_str_equal(name, name_of(&s->o, list[k]));
        if (name.len && 2 * equal > n) return name;
    }
    return hd_cstr("");
}

/* The classes whose objects retain most below an object, those of the program before the machine's own; of several
   snapshots, counting new objects alone. */
static uint32_t classes_below(const shot *s, uint32_t object, const uint32_t *ids, uint32_t count,
                              below found[MOST_BELOW]) {
    enum { SAMPLE = 16 };
    const hd_dominators *d = s->o.dominators;
    uint32_t all = hd_graph_class_count(s->o.graph), n = 0, sample[SAMPLE], sampled;
    uint64_t *bytes = needed(calloc((size_t)all + 1, sizeof *bytes));
    uint64_t *number = needed(calloc((size_t)all + 1, sizeof *number));
    uint32_t *end = needed(calloc((size_t)all + 1, sizeof *end)); /* of what is counted already */
    for (uint32_t i = 1; i < d->below[object]; i++) {
        uint32_t o = d->order[d->position[object] + i], c = hd_graph_object(s->o.graph, o).class_index;
        if (ids && ids[(size_t)o * count] != HD_NONE) { /* it has its own */
            i += d->below[o] - 1;
            continue;
        }
        number[c]++;
        if (i < end[c]) continue;
        bytes[c] += d->retained[o];
        end[c] = i + d->below[o];
    }
    for (bool internal = false; n < MOST_BELOW;) {
        uint32_t best = 0;
        for (uint32_t c = 1; c < all; c++)
            if (bytes[c] > bytes[best] && is_internal(hd_graph_class(s->o.graph, c).name) == internal) best = c;
        if (!best && internal) break;
        internal |= !best;
        if (!best) continue;
        found[n] = (below){ best, number[best], { "", 0 } };
        bytes[best] = sampled = 0;
        for (uint32_t i = 1; i < d->below[object] && sampled < SAMPLE; i++) {
            uint32_t o = d->order[d->position[object] + i];
            if (ids && ids[(size_t)o * count] != HD_NONE) i += d->below[o] - 1;
            else if (hd_graph_object(s->o.graph, o).class_index == best) sample[sampled++] = o;
        }
        found[n++].name = common_name(s, sample, sampled);
    }
    free(bytes), free(number), free(end);
    return n;
}

/* Which of its references leads from an object to one; HD_NONE: none does. */
static uint32_t reference_to(const shot *s, uint32_t from, uint32_t to) {
    hd_object o = hd_graph_object(s->o.graph, from);
    for (uint32_t r = 0; r < o.reference_count; r++)
        if (o.references[r] == to) return r;
    return HD_NONE;
}

/* From a pile on through objects that each retain at least half of it, to where it fans out: a list that grew at its
   head has its length here. */
static uint32_t way_below(const shot *s, uint32_t object, char **steps) {
    const hd_dominators *d = s->o.dominators;
    uint64_t half = d->retained[object] / 2;
    uint32_t n = 0;
    while (n < MOST_STEPS) {
        uint32_t next = HD_NONE;
        for (uint32_t i = 1; i < d->below[object] && next == HD_NONE;) {
            uint32_t o = d->order[d->position[object] + i];
            if (d->retained[o] > half) next = o;
            i += d->below[o];
        }
        if (next == HD_NONE) break;
        steps[n++] = step_text(s, object, reference_to(s, object, next));
        object = next;
    }
    return n;
}

/* Classes. ------------------------------------------------------------------------------------- */

static int by_class(const void *a, const void *b) {
    const class_suspect *x = a, *y = b;
    if (x->trend.score != y->trend.score) return x->trend.score < y->trend.score ? 1 : -1;
    return (x->class_index > y->class_index) - (x->class_index < y->class_index);
}

/* Live bytes of a class that is called so. */
static const hd_class_row *row_named(const hd_graph *graph, const hd_histogram *h, hd_class c) {
    for (uint32_t i = 0; i < h->count; i++) {
        hd_class other = hd_graph_class(graph, h->rows[i].class_index);
        if (hd_str_equal(other.name, c.name) && hd_str_equal(other.scope, c.scope)) return &h->rows[i];
    }
    return NULL;
}

/* Classes that hold a tenth, or of several snapshots that grew, the likeliest first. */
static int find_classes(const arguments *a, const shot *shots, uint32_t count, class_suspect *found, uint32_t *n) {
    hd_histogram **h = needed(calloc(count, sizeof *h));
    double *v = needed(malloc(count * sizeof *v));
    uint64_t *turn = step_times(count);
    uint64_t all = shots[count - 1].o.dominators->bytes;
    hd_error err;
    int status = DONE;
    *n = 0;
    for (uint32_t t = 0; t < count && !status; t++)
        if (hd_graph_histogram(shots[t].o.graph, shots[t].o.dominators, NULL, &h[t], &err))
            status = failed(a->files[t], &err);
    for (uint32_t i = 0; !status && i < h[count - 1]->count; i++) {
        const hd_class_row *row = &h[count - 1]->rows[i];
        class_suspect one = { .class_index = row->class_index, .last = *row };
        if (count == 1) {
            if (row->live_bytes < all / 10 && row->retained < all / 10) continue;
            if (row->live_objects < 2) continue; /* one object is a pile or none */
            one.trend.score = (double)row->retained;
        } else if (row->live_bytes > all / 2000) {
            for (uint32_t t = 0; t < count; t++) {
                const hd_class_row *r =
                    row_named(shots[t].o.graph, h[t], hd_graph_class(shots[count - 1].o.graph, row->class_index));
                v[t] = r ? (double)r->live_bytes : 0;
                if (!t) one.grown_objects = (double)row->live_objects - (r ? (double)r->live_objects : 0);
            }
            one.trend = trend_of(v, turn, count);
            if (one.trend.score <= 0 || one.trend.ups + 1 < count) continue;
        }
        if (one.trend.score <= 0 || (*n == MOST_CLASSES && found[*n - 1].trend.score >= one.trend.score)) continue;
        if (*n < MOST_CLASSES) ++*n;
        found[*n - 1] = one;
        qsort(found, *n, sizeof *found, by_class);
    }
    for (uint32_t t = 0; t < count; t++) hd_histogram_free(h[t]);
    free(h), free(v), free(turn);
    return status;
}

/* The live objects of a class, or those of them that are new. */
static uint32_t *objects_of(const shot *s, uint32_t class_index, const uint32_t *ids, uint32_t count, uint32_t *n) {
    uint32_t all = hd_graph_object_count(s->o.graph);
    uint32_t *list = needed(malloc(((size_t)all + 1) * sizeof *list));
    *n = 0;
    for (uint32_t o = 0; o < all; o++)
        if (s->ways.state[o] && hd_graph_object(s->o.graph, o).class_index == class_index &&
            !(ids && ids[(size_t)o * count] != HD_NONE)) list[(*n)++] = o;
    return list;
}

/* Answers. ------------------------------------------------------------------------------------- */

static void put_way(FILE *out, const arguments *a, const char *what, char **steps, uint32_t n) {
    hd_str names[MOST_STEPS];
    char *chain;
    if (!n) return;
    for (uint32_t i = 0; i < n; i++) names[i] = hd_cstr(steps[i]);
    chain = short_chain(names, n, name_columns(a), false);
    display(out, "      %s %s", what, chain);
    free(chain);
}

static void put_pile(FILE *out, const arguments *a, const shot *s, uint32_t count, const uint32_t *ids, const pile *p,
                     uint32_t number) {
    char *steps[MOST_STEPS], *on[MOST_STEPS];
    below classes[MOST_BELOW];
    uint32_t n = way_to(s, p->object, steps), on_count = way_below(s, p->object, on), kinds;
    display(out, "%3u  ", number);
    put_short(out, a, hd_graph_class(s->o.graph, hd_graph_object(s->o.graph, p->object).class_index).name);
    put_known_name(out, &s->o, p->object);
    display(out, ", id "), put_id(out, &s->o, hd_graph_object(s->o.graph, p->object).id, 0);
    display(out, "\n      ");
    if (count > 1) {
        put_signed(out, a, p->trend.growth), display(out, "; ");
        put_signed(out, a, p->trend.growth / (count - 1)),
            display(out, " a step; grew in %u of %u steps", p->trend.ups, count - 1);
        if (count > 2) display(out, ", %s", trend_words(&p->trend, count - 1));
        display(out, "; ");
    }
    display(out, "retains "), put_bytes(out, a, (uint64_t)p->bytes, 0);
    display(out, ", %.1f%% of all\n", 100 * p->bytes / (double)(s->o.dominators->bytes ? s->o.dominators->bytes : 1));
    kinds = classes_below(s, p->object, ids, count, classes);
    for (uint32_t i = 0; i < kinds; i++) {
        char *text = short_name(hd_graph_class(s->o.graph, classes[i].class_index).name, 24);
        display(out, "%s%llu %s", i ? ", " : ids ? "      new below it: " : "      below it: ",
                (unsigned long long)classes[i].objects, text);
        if (classes[i].name.len) display(out, " "), put_cut(out, classes[i].name, 24);
        free(text);
    }
    if (kinds) fputc('\n', out);
    if (on_count) put_way(out, a, "most of it is in", on, on_count), fputc('\n', out);
    texts_free(on, on_count);
    put_way(out, a, "held by", steps, n), fputc('\n', out);
    texts_free(steps, n);
}

static void put_class_suspect(FILE *out, const arguments *a, const shot *s, uint32_t count, const uint32_t *ids,
                              const class_suspect *c, uint32_t number) {
    char *steps[MOST_STEPS];
    double share;
    uint32_t live, n, *list = objects_of(s, c->class_index, ids, count, &live);
    display(out, "%3u  ", number);
    put_short(out, a, hd_graph_class(s->o.graph, c->class_index).name);
    display(out, ": %llu objects, ", (unsigned long long)c->last.live_objects);
    put_bytes(out, a, c->last.live_bytes, 0), display(out, ", retain "), put_bytes(out, a, c->last.retained, 0);
    if (count > 1) {
        display(out, "; "), put_signed(out, a, c->trend.growth);
        display(out, ", %+.0f objects", c->grown_objects);
        if (count > 2) display(out, ", %s", trend_words(&c->trend, count - 1));
    }
    fputc('\n', out);
    n = common_way(s, list, live, steps, &share);
    if (n)
        put_way(out, a, "held by", steps, n),
            display(out, share < 0.995 ? "  (%.0f%% of%s %u)\n" : "\n", 100 * share, ids ? " the new" : "", live);
    texts_free(steps, n);
    free(list);
}

static void json_way(hd_json *j, const char *key, char **steps, uint32_t n) {
    json_array(j, key);
    for (uint32_t i = 0; i < n; i++) hd_json_cstr(j, steps[i]);
    hd_json_end(j);
    texts_free(steps, n);
}

static void json_trend(hd_json *j, const trend *t, uint32_t count) {
    if (count < 2) return;
    hd_json_key(j, "growth"), hd_json_i64(j, (int64_t)t->growth);
    hd_json_key(j, "per_step"), hd_json_i64(j, (int64_t)(t->growth / (count - 1)));
    json_u64(j, "steps_grown", t->ups);
    json_u64(j, "steady_percent", (uint64_t)(100 * t->steady));
}

static void json_pile(hd_json *j, const shot *s, uint32_t count, const uint32_t *ids, const pile *p) {
    char *steps[MOST_STEPS];
    below classes[MOST_BELOW];
    uint32_t kinds, n;
    json_line(j);
    json_class(j, s->o.graph, hd_graph_object(s->o.graph, p->object).class_index);
    json_str(j, "name", name_of(&s->o, p->object));
    json_id(j, &s->o, p->object);
    json_u64(j, "retained", (uint64_t)p->bytes);
    json_trend(j, &p->trend, count);
    kinds = classes_below(s, p->object, ids, count, classes);
    json_array(j, "below");
    for (uint32_t i = 0; i < kinds; i++) {
        json_line(j), json_class(j, s->o.graph, classes[i].class_index);
        if (classes[i].name.len) json_str(j, "name", classes[i].name);
        json_u64(j, "objects", classes[i].objects), hd_json_end(j);
    }
    hd_json_end(j);
    n = way_below(s, p->object, steps);
    json_way(j, "within", steps, n);
    n = way_to(s, p->object, steps);
    json_way(j, "path", steps, n);
    hd_json_end(j);
}

static void json_class_suspect(hd_json *j, const shot *s, uint32_t count, const uint32_t *ids,
                               const class_suspect *c) {
    char *steps[MOST_STEPS];
    double share;
    uint32_t live, n, *list = objects_of(s, c->class_index, ids, count, &live);
    json_line(j);
    json_class(j, s->o.graph, c->class_index);
    json_u64(j, "objects", c->last.live_objects);
    json_u64(j, "bytes", c->last.live_bytes);
    json_u64(j, "retained", c->last.retained);
    json_trend(j, &c->trend, count);
    n = common_way(s, list, live, steps, &share);
    json_u64(j, "path_percent", (uint64_t)(100 * share));
    json_way(j, "path", steps, n);
    hd_json_end(j);
    free(list);
}

static void answer_graph(const arguments *a, const shot *shots, uint32_t count, const uint32_t *ids,
                         const pile *piles, uint32_t n, const class_suspect *classes, uint32_t class_count,
                         answer *r) {
    const shot *s = &shots[count - 1];
    hd_json *j = &r->json;
    FILE *out = r->text;
    uint32_t fit = suspects_that_fit(a, 6, MOST_PILES); /* of each list */
    if (a->json) {
        json_line(j);
        json_text(j, "file", s->o.file);
        json_u64(j, "snapshots", count);
        json_u64(j, "live_bytes", s->o.dominators->bytes);
        json_array(j, "suspects");
        for (uint32_t i = 0; i < n; i++) json_pile(j, s, count, ids, &piles[i]);
        hd_json_end(j);
        json_array(j, "classes");
        for (uint32_t i = 0; i < class_count; i++) json_class_suspect(j, s, count, ids, &classes[i]);
        hd_json_end(j), hd_json_end(j);
        return;
    }
    display(out, "%s: ", s->o.file);
    if (count > 1) {
        display(out, "%u snapshots, ", count), put_bytes(out, a, shots[0].o.dominators->bytes, 0),
            display(out, " to ");
    }
    put_bytes(out, a, s->o.dominators->bytes, 0);
    display(out, " alive\n%s\n",
            count > 1 ? "where it piled up, the likeliest leak first:"
                      : "where it piles up: objects that hold a tenth or more, where that fans out:");
    for (uint32_t i = 0; i < n && i < fit; i++) put_pile(out, a, s, count, ids, &piles[i], i + 1);
    if (!n)
        display(out, count > 1 && !ids ? "  not known: these are no snapshots of one process that tell who is who\n"
                                       : "  nothing\n");
    display(out, "%s\n",
            count > 1 ? "classes that grew in every step, and what holds them:"
                      : "classes that hold a tenth or more, and what holds them:");
    for (uint32_t i = 0; i < class_count && i < fit; i++) put_class_suspect(out, a, s, count, ids, &classes[i], i + 1);
    if (!class_count) display(out, "  none\n");
}

int suspects_of_graphs(const arguments *a, hd_dump **dumps, int count, answer *r) {
    shot *shots = needed(calloc((size_t)count, sizeof *shots));
    pile piles[MOST_PILES];
    class_suspect classes[MOST_CLASSES];
    uint32_t n = 0, class_count = 0, *ids = NULL;
    int status = DONE;
    for (int i = 0; i < count && !status; i++) {
        shots[i].o = (objects){ .file = a->files[i], .dump = dumps[i], .graph = hd_dump_graph(dumps[i]) };
        status = dominate(a->files[i], shots[i].o.graph, &shots[i].o.dominators);
    }
    if (!status) ways_find(&shots[count - 1].o, &shots[count - 1].ways);
    if (!status && count > 1 && hd_dump_v8(dumps[0]) && hd_dump_v8(dumps[count - 1]))
        status = match_all(a, shots, (uint32_t)count, &ids);
    if (!status) status = find_classes(a, shots, (uint32_t)count, classes, &class_count);
    if (!status) {
        if (count == 1) n = find_piles(&shots[0], piles);
        else if (ids) n = find_growing(shots, (uint32_t)count, ids, piles);
        answer_graph(a, shots, (uint32_t)count, ids, piles, n, classes, class_count, r);
    }
    for (int i = 0; i < count; i++) {
        hd_dominators_free(shots[i].o.dominators);
        ways_free(&shots[i].ways);
    }
    free(ids), free(shots);
    return status;
}
