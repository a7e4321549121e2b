/* Shortens chains of steps that are too long for a terminal: the names that a programmer knows stay. */

#include "objects.h"

#include <limits.h>

/* The least known name of a chain, never the last name. Among equally known names the second is chosen first, and the
   first name last. A root is chosen only when at most one name before the last is left, and a programmer knows that
   name. Returns count if only the last name is left. */
static uint32_t least_known(const brief_steps *c) {
    uint32_t worst = c->count, left = 0;
    for (uint32_t i = 1; i + 1 < c->count; i++) {
        left += c->columns[i] != 0;
        if (c->columns[i] && (worst == c->count || c->known[i] < c->known[worst])) worst = i;
    }
    if (c->rooted) {
        bool all = !left || (left == 1 && c->known[worst] >= PROPERTY);
        return all && c->count > 1 && c->columns[0] ? 0 : worst;
    }
    if (c->count > 1 && c->columns[0] && (worst == c->count || c->known[0] < c->known[worst])) worst = 0;
    return worst;
}

/* Whether a programmer looks for this name: a variable, or the last remaining property. */
static bool is_sought(const brief_steps *c, uint32_t name) {
    if (c->known[name] != PROPERTY) return c->known[name] == VARIABLE;
    for (uint32_t i = 0; i + 1 < c->count; i++)
        if (i != name && c->columns[i] && c->known[i] >= PROPERTY) return false;
    return true;
}

/* The part of a step that says "list of 10" or "tree of"; length 0 if there is no such part. */
static hd_str group_in(hd_str text) {
    static const char list[] = "list of ", tree[] = "tree of ";
    enum { LENGTH = sizeof list - 1 };
    for (size_t i = 0; i + LENGTH < text.len; i++) {
        size_t n = i + LENGTH;
        if (i && text.data[i - 1] != ' ') continue;
        if (!memcmp(text.data + i, tree, LENGTH)) return (hd_str){ text.data + i, LENGTH - 1 };
        while (n < text.len && text.data[n] >= '0' && text.data[n] <= '9') n++;
        if (!memcmp(text.data + i, list, LENGTH) && n > i + LENGTH) return (hd_str){ text.data + i, n - i };
    }
    return (hd_str){ text.data, 0 };
}

/* "head: list of 10…": a list without its class. NULL if that is not shorter. The caller frees it. */
static char *brief_group(hd_str text, hd_str group) {
    size_t n = (size_t)(group.data - text.data) + group.len;
    char *out;
    if (n + strlen("\xe2\x80\xa6") >= text.len) return NULL;
    if (asprintf(&out, "%.*s\xe2\x80\xa6", (int)n, text.data) < 0) return needed(NULL);
    return out;
}

/* Saves columns without losing a name: first shortens the marks, then "bus: EventEmitter" to "bus". */
static bool keep_briefly(brief_steps *c, uint32_t name) {
    hd_str *text = c->names[name];
    size_t label = 0;
    if (!c->brief) return c->brief = true;
    if (group_in(*text).len) {
        char *group = brief_group(*text, group_in(*text));
        if (!group) return false;
        free((char *)(uintptr_t)text->data);
        *text = hd_cstr(group), c->columns[name] = columns_of(*text);
        return true;
    }
    while (label + 1 < text->len && (text->data[label] != ':' || text->data[label + 1] != ' ')) label++;
    if (!label || label + 1 >= text->len) return false;
    text->len = label;
    c->columns[name] = columns_of(*text);
    return true;
}

/* The same for a name that is sought; if its text cannot be shortened, for any other name. A root has no label, so
   only other names are shortened for it. */
static bool keep_any_briefly(brief_steps *c, uint32_t name) {
    bool root = c->rooted && !name;
    if (root && !c->brief) return c->brief = true;
    if (!root && keep_briefly(c, name)) return true;
    for (uint32_t i = c->rooted; i + 1 < c->count; i++)
        if (c->columns[i] && c->known[i] >= PROPERTY && keep_briefly(c, i)) return true;
    return false;
}

static const char *mark_end(const brief_steps *c) { return c->brief ? "" : " more"; }

/* Columns of the printed chain: each run of omitted names is one "… 3 more". */
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

/* The beginning of a text, with "…" if it was cut. */
static char *beginning(hd_str text, int columns) {
    char *out, *whole = cut_within(text, 0);
    size_t size;
    FILE *f = needed(open_memstream(&out, &size));
    put_within(f, whole, columns);
    closed_text(f, &out), free(whole);
    return out;
}

char *step_within(hd_str text, int columns) {
    enum { LEAST_NAME = 5, LEAST_CLASS = 8 };
    hd_str group = group_in(text), name = { text.data, (size_t)(group.data - text.data) };
    hd_str end = { group.data + group.len, text.len - name.len - group.len };
    int fixed = (int)group.len, left;
    char *before, *behind, *whole;
    if (!columns || columns_of(text) <= columns || !group.len) return cut_within(text, columns);
    left = columns - fixed - (columns_of(end) < LEAST_CLASS ? columns_of(end) : LEAST_CLASS);
    if (columns_of(name) > left && name.len > 2 && name.data[name.len - 2] == ':') { /* "aLo…me: list of 10 Node" */
        FREED char *cut = cut_within((hd_str){ name.data, name.len - 2 },
                                     left - 2 > LEAST_NAME ? left - 2 : LEAST_NAME);
        if (asprintf(&before, "%s: ", cut) < 0) before = needed(NULL);
    } else {
        before = needed(strndup(name.data, name.len));
    }
    left = columns - fixed - columns_of(hd_cstr(before));
    behind = beginning(end, left > 1 ? left : 1);
    if (asprintf(&whole, "%s%.*s%s", before, fixed, group.data, behind) < 0) whole = needed(NULL);
    free(before), free(behind);
    return whole;
}

/* Restores the last property that fits, if a programmer knows none of the remaining names. */
static void put_name_back(brief_steps *c, int room) {
    for (uint32_t i = 0; i + 1 < c->count; i++)
        if (c->columns[i] && c->known[i] >= PROPERTY) return;
    for (uint32_t i = c->count; i-- > 1;) {
        if (i + 1 == c->count || c->known[i] < PROPERTY) continue;
        c->brief = true, keep_briefly(c, i);
        c->columns[i] = columns_of(*c->names[i]);
        if (columns_of_chain(c) <= room) return;
        c->columns[i] = 0;
    }
}

/* If the last name can keep this many columns, `name` is not omitted. */
static int least_beside(const brief_steps *c, uint32_t name) {
    enum { BESIDE_LAST_NAME = 8, BESIDE_ROOT = 12, BESIDE_VARIABLE = 20 };
    if (!c->rooted) return c->known[name] == VARIABLE ? BESIDE_VARIABLE : INT_MAX;
    if (!name) return BESIDE_ROOT;
    return c->columns[0] ? INT_MAX : BESIDE_LAST_NAME;
}

void steps_shorten(brief_steps *c, int room) {
    enum { MOST_WEIGHED = 64, KEPT_AT_END = 32, LEAST = 8 };
    int64_t over;
    uint32_t i;
    for (i = 1; c->count > MOST_WEIGHED && i < c->count - KEPT_AT_END; i++) c->columns[i] = 0;
    while ((over = columns_of_chain(c) - room) > 0 && (i = least_known(c)) < c->count) {
        bool sought = is_sought(c, i) || (c->rooted && !i);
        if (sought && keep_any_briefly(c, i)) continue;
        if (sought && c->columns[c->count - 1] - over >= least_beside(c, i)) break;
        c->columns[i] = 0;
    }
    put_name_back(c, room);
    if (over > 0) {
        hd_str *last = c->names[c->count - 1];
        int64_t left = c->columns[c->count - 1] - over;
        char *cut = step_within(*last, left > LEAST ? (int)left : LEAST);
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

/* The texts of the remaining steps, with marks between them. */
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
                      needed(malloc(n * sizeof *c.columns)), s->count, s->rooted, false };
    FREED hd_str *texts = needed(malloc(n * sizeof *texts));
    char *text;
    for (uint32_t i = 0; i < s->count; i++) {
        texts[i] = hd_cstr(needed(strdup(s->list[i].text)));
        c.names[i] = &texts[i], c.known[i] = s->list[i].known, c.columns[i] = columns_of(texts[i]);
    }
    if (columns) steps_shorten(&c, columns);
    text = joined(&c);
    for (uint32_t i = 0; i < s->count; i++) free((char *)(uintptr_t)texts[i].data);
    free(c.names), free(c.known), free(c.columns);
    return text;
}
