/* Chains of steps that are too long for a terminal: the names that a programmer knows stay. */

#include "steps.h"
#include "frames.h"

/* The least known name of a chain, never the last one. Of equal ones the second goes first and the first goes last.
   count: all others are left out. */
static uint32_t least_known(const brief_steps *c) {
    uint32_t worst = c->count;
    for (uint32_t i = 1; i + 1 < c->count; i++)
        if (c->columns[i] && (worst == c->count || c->known[i] < c->known[worst])) worst = i;
    if (c->count > 1 && c->columns[0] && (worst == c->count || c->known[0] < c->known[worst])) worst = 0;
    return worst;
}

/* Whether a programmer looks for this name: a variable, or the last property that is left. */
static bool is_sought(const brief_steps *c, uint32_t name) {
    if (c->known[name] != PROPERTY) return c->known[name] == VARIABLE;
    for (uint32_t i = 0; i + 1 < c->count; i++)
        if (i != name && c->columns[i] && c->known[i] >= PROPERTY) return false;
    return true;
}

/* Saves columns without the loss of a name: first brief marks, then "bus" for "bus: EventEmitter". */
static bool keep_briefly(brief_steps *c, uint32_t name) {
    hd_str *text = c->names[name];
    size_t label = 0;
    if (!c->brief) return c->brief = true;
    while (label + 1 < text->len && (text->data[label] != ':' || text->data[label + 1] != ' ')) label++;
    if (!label || label + 1 >= text->len) return false;
    text->len = label;
    c->columns[name] = columns_of(*text);
    return true;
}

/* The same for a name that is sought, or else for any other. */
static bool keep_any_briefly(brief_steps *c, uint32_t name) {
    if (keep_briefly(c, name)) return true;
    for (uint32_t i = 0; i + 1 < c->count; i++)
        if (c->columns[i] && c->known[i] >= PROPERTY && keep_briefly(c, i)) return true;
    return false;
}

static const char *mark_end(const brief_steps *c) { return c->brief ? "" : " more"; }

/* Columns of the chain as it is printed: each run of names that are left out is one "… 3 more". */
static int64_t columns_of_chain(const brief_steps *c) {
    enum { BETWEEN_NAMES = 3 };
    int64_t used = -BETWEEN_NAMES;
    for (uint32_t i = 0, left_out = 0; i < c->count; i++) {
        left_out = c->columns[i] ? 0 : left_out + 1;
        if (!c->columns[i] && i + 1 < c->count && !c->columns[i + 1]) continue;
        used += BETWEEN_NAMES + (left_out ? snprintf(NULL, 0, "- %u%s", left_out, mark_end(c)) : c->columns[i]);
    }
    return used;
}

void steps_shorten(brief_steps *c, int room) {
    enum { MOST_WEIGHED = 64, KEPT_AT_END = 32, LEAST = 8, LEAST_BESIDE_VARIABLE = 20 };
    int64_t over;
    uint32_t i;
    for (i = 1; c->count > MOST_WEIGHED && i < c->count - KEPT_AT_END; i++) c->columns[i] = 0;
    while ((over = columns_of_chain(c) - room) > 0 && (i = least_known(c)) < c->count)
        if (!is_sought(c, i) || !keep_any_briefly(c, i)) {
            if (c->known[i] == VARIABLE && c->columns[c->count - 1] - over >= LEAST_BESIDE_VARIABLE) break;
            c->columns[i] = 0;
        }
    if (over > 0) {
        hd_str *last = c->names[c->count - 1];
        int64_t left = c->columns[c->count - 1] - over;
        char *cut = cut_within(*last, left > LEAST ? (int)left : LEAST);
        free((char *)(uintptr_t)last->data);
        *last = hd_cstr(cut);
    }
    for (i = 0; i + 1 < c->count; i++) {
        uint32_t end = i;
        char *text;
        while (end + 1 < c->count && !c->columns[end]) end++;
        if (end == i) continue;
        if (asprintf(&text, "\xe2\x80\xa6 %u%s", end - i, mark_end(c)) < 0) needed(NULL);
        for (uint32_t k = i; k < end; k++) {
            free((char *)(uintptr_t)c->names[k]->data);
            *c->names[k] = k == i ? hd_cstr(text) : (hd_str){ NULL, 0 };
        }
        i = end;
    }
}

/* Texts of the steps that are left, with marks between. */
static char *joined(const brief_steps *c) {
    char *text;
    size_t size;
    FILE *f = needed(open_memstream(&text, &size));
    bool any = false;
    for (uint32_t i = 0; i < c->count; i++) {
        if (!c->names[i]->data) continue;
        if (any) display(f, CALLS);
        display(f, "%.*s", (int)c->names[i]->len, c->names[i]->data);
        any = true;
    }
    closed_text(f, &text);
    return text;
}

char *steps_text(const steps *s, int columns) {
    size_t n = (size_t)s->count + 1;
    brief_steps c = { needed(malloc(n * sizeof *c.names)), needed(malloc(n * sizeof *c.known)),
                      needed(malloc(n * sizeof *c.columns)), s->count, false };
    hd_str *texts = needed(malloc(n * sizeof *texts));
    char *text;
    for (uint32_t i = 0; i < s->count; i++) {
        texts[i] = hd_cstr(needed(strdup(s->list[i].text)));
        c.names[i] = &texts[i], c.known[i] = s->list[i].known, c.columns[i] = columns_of(texts[i]);
    }
    if (columns) steps_shorten(&c, columns);
    text = joined(&c);
    for (uint32_t i = 0; i < s->count; i++) free((char *)(uintptr_t)texts[i].data);
    free(texts), free(c.names), free(c.known), free(c.columns);
    return text;
}
