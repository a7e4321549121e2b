/* Reads speedscope's JSON, so that tests and harnesses can compare it with the heaps from which it was written. It
   reads only the form that speedscope.c writes, with keys in this order. Include after speedscope.c. */
#ifndef SPEEDSCOPE_H
#define SPEEDSCOPE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct scope_text {
    const char *at, *end;
    bool bad;
} scope_text;

/* Whether `word` comes next, after white space; if so, skips it. */
static bool scope_has(scope_text *t, const char *word) {
    size_t n = strlen(word);
    while (t->at < t->end && strchr(" \n", *t->at)) t->at++;
    if ((size_t)(t->end - t->at) < n || memcmp(t->at, word, n)) return false;
    t->at += n;
    return true;
}
static void scope_must(scope_text *t, const char *word) {
    if (!scope_has(t, word)) t->bad = true;
}

/* Whether an array has another item; skips the comma. */
static bool scope_item(scope_text *t, bool any) { return !any || scope_has(t, ","); }

static uint64_t scope_number(scope_text *t) {
    uint64_t value = 0;
    const char *from = t->at;
    for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++) value = value * 10 + (uint64_t)(*t->at - '0');
    if (t->at == from) t->bad = true;
    return value;
}

/* A character of the basic plane as UTF-8. */
static size_t scope_utf8(unsigned code, char *to) {
    if (code < 0x80) return to[0] = (char)code, 1;
    if (code < 0x800) return to[0] = (char)(0xc0 | code >> 6), to[1] = (char)(0x80 | (code & 0x3f)), 2;
    to[0] = (char)(0xe0 | code >> 12), to[1] = (char)(0x80 | (code >> 6 & 0x3f)), to[2] = (char)(0x80 | (code & 0x3f));
    return 3;
}

/* A string. Its text is at least as long as its value, so `to` needs only the text's size. */
static hd_str scope_string(scope_text *t, char *to) {
    static const char code[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";
    hd_str s = { to, 0 };
    unsigned unit = 0;
    scope_must(t, "\"");
    while (!t->bad && t->at < t->end && *t->at != '"') {
        const char *known;
        if (*t->at != '\\' || t->end - t->at < 7) {
            to[s.len++] = *t->at++;
        } else if (t->at[1] == 'u' && sscanf(t->at + 2, "%4x", &unit) == 1) {
            s.len += scope_utf8(unit, to + s.len);
            t->at += 6;
        } else if ((known = strchr(code, t->at[1])) != NULL && *known) {
            to[s.len++] = meaning[known - code];
            t->at += 2;
        } else {
            t->bad = true;
        }
    }
    scope_must(t, "\"");
    return s;
}

/* "name (file:line)", or only the name. The caller frees it. */
static char *scope_label(hd_str name, hd_str file, uint64_t line, size_t *size) {
    char *label = (char *)calloc(1, name.len + file.len + 32);
    if (!label) abort();
    if (name.len) memcpy(label, name.data, name.len);
    *size = name.len;
    if (!line) return label;
    memcpy(label + *size, " (", 2);
    if (file.len) memcpy(label + *size + 2, file.data, file.len);
    *size += 2 + file.len;
    *size += (size_t)snprintf(label + *size, 24, ":%llu)", (unsigned long long)line);
    return label;
}

/* Adds the frames' labels below the root of axis 0, in their order. Frames with equal labels become one node. */
static size_t scope_frames(scope_text *t, hd_profile *p, uint32_t **nodes) {
    size_t count = 0, room = 0, text = (size_t)(t->end - t->at) + 1;
    char *name = (char *)malloc(text), *file = (char *)malloc(text);
    *nodes = NULL;
    if (!name || !file) abort();
    while (!t->bad && scope_item(t, count) && scope_has(t, "{\"name\":")) {
        hd_str n = scope_string(t, name), f = { 0 };
        uint64_t line = 0;
        size_t size;
        if (scope_has(t, ",\"file\":")) f = scope_string(t, file), scope_must(t, ",\"line\":"), line = scope_number(t);
        scope_must(t, "}");
        if (count == room && !(*nodes = (uint32_t *)realloc(*nodes, (room = 2 * room + 16) * sizeof **nodes))) abort();
        char *label = scope_label(n, f, line, &size);
        if (hd_profile_node(p, 0, 0, (hd_str){ label, size }, &(*nodes)[count++], NULL)) abort();
        free(label);
    }
    free(name);
    free(file);
    return count;
}

/* Adds a profile's samples to `p`. `frames` is an axis with the labels of the frame numbers. */
static void scope_samples(scope_text *t, hd_axis frames, const uint32_t *nodes, size_t count, hd_profile *p) {
    scope_text weights = *t;
    uint64_t sum = 0, end;
    scope_must(t, ",\"unit\":\"bytes\",\"startValue\":0,\"endValue\":");
    end = scope_number(t);
    scope_must(t, ",\"samples\":[");
    while (weights.at < weights.end && !scope_has(&weights, "],\"weights\":[")) weights.at++;
    for (bool any = false; !t->bad && !weights.bad && scope_item(t, any) && scope_has(t, "["); any = true) {
        uint32_t node = 0;
        uint64_t bytes;
        for (bool deep = false; !t->bad && !scope_has(t, "]"); deep = true) {
            if (deep) scope_must(t, ",");
            uint64_t frame = scope_number(t);
            if (frame >= count) t->bad = true;
            else if (hd_profile_node(p, 0, node, frames.node_name[nodes[frame]], &node, NULL)) abort();
        }
        if (any) scope_must(&weights, ",");
        bytes = scope_number(&weights);
        sum += bytes;
        if (hd_profile_add(p, &node, bytes, HD_UNKNOWN, NULL)) abort();
    }
    scope_must(t, "],\"weights\":[");
    scope_must(&weights, "]}");
    if (sum != end) t->bad = true;
    t->bad |= weights.bad;
    t->at = weights.at;
}

/* Reads at most `room` profiles of a text, sorted, each with one axis of labels. `names` are their names as quoted
   JSON. Returns the number of profiles, or -1 if the text does not have the expected form. The caller frees the
   profiles. */
static int scope_read(const void *data, size_t size, hd_profile **profiles, hd_str *names, int room) {
    scope_text whole = { (const char *)data, (const char *)data + size, false }, t = whole, frames = whole;
    hd_profile *labels = hd_profile_create(&(hd_profile_desc){ .axis_count = 1 }, NULL);
    static const char shared[] = "],\"shared\":{\"frames\":[";
    char *text = (char *)malloc(size + 1);
    uint32_t *nodes;
    size_t count;
    int n = 0;
    if (!labels || !text) abort();
    for (; frames.at < frames.end; frames.at++)  /* a name contains no unescaped quote */
        if (scope_has(&frames, shared)) break;
    count = scope_frames(&frames, labels, &nodes);
    scope_must(&frames, "]}}");
    scope_must(&t, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"name\":");
    scope_string(&t, text);
    scope_must(&t, ",\"exporter\":\"heapdump\",\"activeProfileIndex\":0,\"profiles\":[");
    while (!t.bad && n < room && scope_item(&t, n > 0) && scope_has(&t, "{\"type\":\"sampled\",\"name\":")) {
        names[n] = (hd_str){ t.at, 0 };
        scope_string(&t, text);
        names[n].len = (size_t)(t.at - names[n].data);
        profiles[n] = hd_profile_create(&(hd_profile_desc){ .axis_count = 1 }, NULL);
        if (!profiles[n]) abort();
        scope_samples(&t, hd_profile_axis(labels, 0), nodes, count, profiles[n]);
        if (hd_profile_sort(profiles[n++], NULL)) abort();
    }
    scope_must(&t, shared);
    t.bad |= frames.bad;
    hd_profile_free(labels);
    free(nodes);
    free(text);
    for (int i = 0; t.bad && i < n; i++) hd_profile_free(profiles[i]);
    return t.bad ? -1 : n;
}

/* The bytes of a profile by backtrace, with frames named as in scope_read. The caller frees the profile. */
static hd_profile *scope_expected(const hd_profile *of) {
    hd_profile *p = hd_profile_create(&(hd_profile_desc){ .axis_count = 1 }, NULL);
    hd_axis axis = hd_profile_axis(of, 0);
    hd_rows cells = hd_profile_cells(of);
    uint32_t axes = hd_profile_axis_count(of), *node = (uint32_t *)calloc(axis.node_count, sizeof *node);
    if (!p || !node) abort();
    for (uint32_t i = 0; i < cells.count; i++) {
        uint32_t deep = 0, at = 0, from = cells.node[axes * (size_t)i];
        if (!cells.amount[i].bytes) continue;
        for (uint32_t k = from; k; k = axis.parent[k]) node[deep++] = k;
        while (deep) {
            hd_str file = { 0 }, name;
            uint32_t line;
            size_t size;
            name = split_frame(axis.node_name[node[--deep]], &file, &line);
            char *label = scope_label(name, file, line, &size);
            if (hd_profile_node(p, 0, at, (hd_str){ label, size }, &at, NULL)) abort();
            free(label);
        }
        if (hd_profile_add(p, &at, cells.amount[i].bytes, HD_UNKNOWN, NULL)) abort();
    }
    free(node);
    if (hd_profile_sort(p, NULL)) abort();
    return p;
}

/* Whether two sorted profiles of one axis have the same bytes at the same paths. */
static bool scope_same(const hd_profile *a, const hd_profile *b) {
    hd_axis x = hd_profile_axis(a, 0), y = hd_profile_axis(b, 0);
    hd_rows s = hd_profile_cells(a), t = hd_profile_cells(b);
    if (x.node_count != y.node_count || s.count != t.count) return false;
    for (uint32_t i = 1; i < x.node_count; i++)
        if (x.parent[i] != y.parent[i] || x.node_name[i].len != y.node_name[i].len ||
            memcmp(x.node_name[i].data, y.node_name[i].data, x.node_name[i].len)) return false;
    for (uint32_t i = 0; i < s.count; i++)
        if (s.node[i] != t.node[i] || s.amount[i].bytes != t.amount[i].bytes) return false;
    return true;
}

#endif
