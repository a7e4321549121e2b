/* memprof --effect: judges the hints of one run by a later run of the same source. */

#include "hints.h"

/* Contexts of the later run, by the hint that the compiler had for them. */
enum { HINT_COLD, HINT_NOT_COLD, HINT_HOT, HINT_NONE, HINTS };
static const char *const effect_hints[] = { "cold", "not cold", "hot", "nothing" };

typedef struct effect_sum {
    uint64_t contexts, bytes, blocks, lifetime, accesses;
    uint64_t cold_contexts, cold_bytes; /* of these, cold in the later run */
} effect_sum;

/* A context of the later run with the hint cold. */
typedef struct effect_cold {
    uint32_t block;
    uint64_t bytes;
    bool is_right;               /* cold in the later run, too */
} effect_cold;

typedef struct effect {
    hints before, later;
    hints_keys keys;
    effect_sum hint[HINTS], all;
    effect_cold *cold;
    size_t cold_count, right;    /* right: the first context with a right hint; wrong ones come before it */
    uint64_t gone_contexts, gone_bytes; /* hinted cold, but absent in the later run */
    bool has_accesses;
} effect;

/* The hint for a context of the later run. */
static int effect_of(effect *e, uint32_t block) {
    hints_key *key = hints_look_up(&e->keys, &e->later.made, block);
    if (!key) return HINT_NONE;
    key->met = true;
    return key->hint == HD_MEMPROF_COLD ? HINT_COLD : key->hint == HD_MEMPROF_HOT ? HINT_HOT : HINT_NOT_COLD;
}

static void effect_add(effect_sum *s, const index_context *c, const uint64_t *value) {
    bool is_cold = c->heat == HD_MEMPROF_COLD;
    s->contexts++;
    s->bytes = index_sum(s->bytes, value[HD_MEMPROF_TOTAL_SIZE]);
    s->blocks = index_sum(s->blocks, value[HD_MEMPROF_ALLOC_COUNT]);
    s->lifetime = index_sum(s->lifetime, value[HD_MEMPROF_TOTAL_LIFETIME]);
    s->accesses = index_sum(s->accesses, value[HD_MEMPROF_TOTAL_ACCESS_COUNT]);
    s->cold_contexts += is_cold;
    if (is_cold) s->cold_bytes = index_sum(s->cold_bytes, value[HD_MEMPROF_TOTAL_SIZE]);
}

/* Contexts with a wrong hint first; then by bytes, the largest first. */
static int effect_cold_order(const void *a, const void *b) {
    const effect_cold *x = a, *y = b;
    if (x->is_right != y->is_right) return x->is_right ? 1 : -1;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return x->block < y->block ? -1 : x->block > y->block;
}

static void effect_judge(effect *e) {
    const index_hints *h = &e->before.made, *later = &e->later.made;
    hints_keys_make(&e->keys, h);
    e->cold = needed(calloc(later->count + 1, sizeof *e->cold));
    e->has_accesses = later->raw->fields >> HD_MEMPROF_TOTAL_ACCESS_COUNT & 1;
    for (size_t i = 0; i < later->count; i++) {
        const index_context *c = &later->contexts[i];
        const uint64_t *value = later->raw->blocks[c->block].value;
        int hint = effect_of(e, c->block);
        effect_add(&e->hint[hint], c, value);
        effect_add(&e->all, c, value);
        if (hint == HINT_COLD)
            e->cold[e->cold_count++] = (effect_cold){ c->block, c->bytes, c->heat == HD_MEMPROF_COLD };
    }
    qsort(e->cold, e->cold_count, sizeof *e->cold, effect_cold_order);
    while (e->right < e->cold_count && !e->cold[e->right].is_right) e->right++;
    for (size_t i = 0; i < h->count; i++)
        if (h->contexts[i].hint == HD_MEMPROF_COLD && !e->keys.keys[e->keys.of[i]].met) {
            e->gone_contexts += !h->contexts[i].is_more;
            e->gone_bytes = index_sum(e->gone_bytes, h->contexts[i].bytes);
        }
}

static double effect_share(uint64_t part, uint64_t of) { return of ? 100 * (double)part / (double)of : 0; }

static void effect_row(FILE *out, const effect *e, const char *name, const effect_sum *s) {
    char accesses[24] = "-";
    if (e->has_accesses) snprintf(accesses, sizeof accesses, "%llu", (unsigned long long)s->accesses);
    display(out, "%-9s %9llu %14llu %10llu %13.3f %14s %14llu\n", name, (unsigned long long)s->contexts,
            (unsigned long long)s->bytes, (unsigned long long)s->blocks,
            s->blocks ? (double)s->lifetime / (double)s->blocks / 1000 : 0.0, accesses,
            (unsigned long long)s->cold_bytes);
}

/* Lists contexts that were hinted cold, with up to three frames; with --all, lists everything. */
static void effect_list(FILE *out, const arguments *a, effect *e, const char *title, size_t from, size_t end) {
    index_hints *h = &e->later.made;
    size_t rest = !a->cut.all && end - from > 10 ? end - from - 10 : 0;
    if (from < end) display(out, "\n%s:\n%14s %14s  call stack\n", title, "bytes", "accesses/(B s)");
    for (; from + rest < end; from++) {
        uint32_t block = e->cold[from].block, n = index_length(h, block);
        display(out, "%14llu %14.3f  ", (unsigned long long)e->cold[from].bytes,
                index_density(h->raw->blocks[block].value));
        for (uint32_t k = 0; k < n && (k < 3 || a->cut.all); k++) {
            const hd_memprof_location *l = index_location(h, block, k);
            if (k) display(out, " < ");
            index_put_shown(out, h, l->function);
            display(out, " +%u:%u", l->line_offset, l->column);
        }
        display(out, n > 3 && !a->cut.all ? " < ...\n" : "\n");
    }
    if (rest) display(out, "... and %zu more (--all)\n", rest);
}

static void effect_text(FILE *out, const arguments *a, effect *e) {
    const effect_sum *cold = &e->hint[HINT_COLD];
    uint64_t missed = e->all.cold_bytes - cold->cold_bytes;
    display(out, "%llu bytes were hinted cold, of these %llu (%.3g %%) were cold again; "
            "%llu bytes were cold, of these %llu (%.3g %%) were not hinted cold\n",
            (unsigned long long)cold->bytes, (unsigned long long)cold->cold_bytes,
            effect_share(cold->cold_bytes, cold->bytes), (unsigned long long)e->all.cold_bytes,
            (unsigned long long)missed, effect_share(missed, e->all.cold_bytes));
    if (e->gone_contexts)
        display(out, "%llu context%s (%llu bytes) hinted cold %s absent from the later run\n",
                (unsigned long long)e->gone_contexts, plural(e->gone_contexts), (unsigned long long)e->gone_bytes,
                e->gone_contexts == 1 ? "is" : "are");
    display(out, "%-9s %9s %14s %10s %13s %14s %14s\n", "hint", "contexts", "bytes", "blocks", "lifetime (s)",
            "accesses", "cold bytes");
    for (int t = 0; t < HINTS; t++)
        if (e->hint[t].contexts) effect_row(out, e, effect_hints[t], &e->hint[t]);
    effect_row(out, e, "all", &e->all);
    effect_list(out, a, e, "hinted cold, but not cold", 0, e->right);
    effect_list(out, a, e, "hinted cold, and cold again", e->right, e->cold_count);
}

static void effect_sum_json(hd_json *j, const effect *e, const effect_sum *s) {
    json_u64(j, "contexts", s->contexts);
    json_u64(j, "bytes", s->bytes);
    json_u64(j, "blocks", s->blocks);
    json_u64(j, "total_lifetime_ms", s->lifetime);
    json_known(j, "accesses", e->has_accesses ? s->accesses : HD_UNKNOWN);
    json_u64(j, "cold_contexts", s->cold_contexts);
    json_u64(j, "cold_bytes", s->cold_bytes);
}

static void effect_json(hd_json *j, const arguments *a, effect *e) {
    json_u64(j, "release", e->before.made.clang);
    json_object(j, "all");
    effect_sum_json(j, e, &e->all);
    hd_json_end(j);
    json_array(j, "told");
    for (int t = 0; t < HINTS; t++) {
        json_line(j);
        json_text(j, "hint", effect_hints[t]);
        effect_sum_json(j, e, &e->hint[t]);
        hd_json_end(j);
    }
    hd_json_end(j);
    json_object(j, "gone");
    json_u64(j, "cold_contexts", e->gone_contexts);
    json_u64(j, "cold_bytes", e->gone_bytes);
    hd_json_end(j);
    json_array(j, "told_cold");
    for (size_t i = 0; i < e->cold_count; i++) {
        index_hints *h = &e->later.made;
        uint32_t block = e->cold[i].block;
        json_line(j);
        json_bool(j, "right", e->cold[i].is_right);
        json_u64(j, "bytes", e->cold[i].bytes);
        json_u64(j, "blocks", h->raw->blocks[block].value[HD_MEMPROF_ALLOC_COUNT]);
        json_array(j, "stack");
        for (uint32_t k = 0; k < index_length(h, block); k++) {
            hd_json_object(j);
            index_place_json(j, h, index_location(h, block, k));
            hd_json_end(j);
        }
        hd_json_end(j);
        hd_json_end(j);
    }
    hd_json_end(j);
    json_text(j, "hints_file", a->memprof.effect);
    index_limits_json(j, a, &e->before.made);
}

/* The input files are the later run; the file of --effect has the hints. */
int hints_effect(const arguments *a) {
    effect e = { .cold = NULL };
    char *file = (char *)(uintptr_t)a->memprof.effect;
    index_source later = index_source_of(a, a->input.files, a->input.file_count);
    answer r;
    int status;
    status = hints_open(a, index_source_of(a, &file, 1), false, &e.before);
    if (status) return status;
    later.is_full = true;
    status = hints_open(a, later, true, &e.later);
    if (!status) {
        effect_judge(&e);
        status = answer_open(&r, a, NULL);
        if (!status) {
            if (a->view.json) effect_json(&r.json, a, &e);
            else effect_text(r.text, a, &e);
            status = answer_close(&r, DONE);
        }
        hints_keys_free(&e.keys);
        free(e.cold);
        hints_close(&e.later);
    }
    hints_close(&e.before);
    return status;
}
