/* Mapped objects of heap profiles as text, and the frame names that they give. */
#ifndef HEAPDUMP_HEAP_TEXT_OBJECTS_H
#define HEAPDUMP_HEAP_TEXT_OBJECTS_H

#include "heap_text_amounts.h"
#include "heap_text_stacks.h"

/* "source=/home": later paths use it as "$source". A variable that is too long, or beyond the limit, is ignored. */
static hd_status heap_text_add_variable(heap_text *t, hd_str text) {
    heap_text_variable v = { 0, 0, 0 };
    size_t sign = 0, unused;
    hd_status status;
    while (sign < text.len && text.data[sign] != '=') sign++;
    for (v.name = sign; v.name && strchr(" \t", text.data[v.name - 1]) && text.data[v.name - 1];) v.name--;
    while (++sign < text.len && (text.data[sign] == ' ' || text.data[sign] == '\t')) {}
    v.length = sign < text.len ? text.len - sign : 0;
    if (!v.name || v.name + v.length > HEAP_TEXT_PATH || t->variable_count == HEAP_TEXT_VARIABLES) return HD_OK;
    status = heap_text_keep(t, text.data, v.name, &v.at);
    if (!status && v.length) status = heap_text_keep(t, text.data + sign, v.length, &unused);
    if (!status) t->variables[t->variable_count++] = v;
    return status;
}

/* The variable with the longest name at `at`, or NULL. */
static const heap_text_variable *heap_text_variable_of(const heap_text *t, const char *at, const char *end) {
    const heap_text_variable *best = NULL;
    for (size_t i = 0; i < t->variable_count; i++) {
        const heap_text_variable *v = &t->variables[i];
        if (v->name > (size_t)(end - at) || memcmp(at, t->names.data + v->at, v->name)) continue;
        if (!best || best->name <= v->name) best = v;
    }
    return best;
}

/* A path with the values of its variables; unchanged if the result is too long. */
static hd_str heap_text_expand(heap_text *t, hd_str path) {
    hd_str made = { t->path, 0 };
    if (!t->variable_count || !path.len || !memchr(path.data, '$', path.len)) return path;
    for (const char *p = path.data, *end = path.data + path.len; p < end;) {
        const heap_text_variable *v = *p == '$' ? heap_text_variable_of(t, p + 1, end) : NULL;
        const char *piece = v ? t->names.data + v->at + v->name : p;
        size_t n = v ? v->length : 1;
        if (n > sizeof t->path - made.len) return path;
        memcpy(t->path + made.len, piece, n);
        made.len += n;
        p += v ? v->name + 1 : 1;
    }
    return made;
}

/* An object's path, cut if it is long. */
static hd_str heap_text_object(heap_text *t, hd_str path) {
    static const char deleted[] = " (deleted)";
    bool is_gone;
    const size_t tail = sizeof deleted - 1;
    size_t cut;
    path = heap_text_expand(t, path);
    is_gone = path.len > tail && !memcmp(path.data + path.len - tail, deleted, tail);
    if (is_gone) path.len -= tail;
    if (!is_gone && path.len <= HEAP_TEXT_PATH) return path;
    cut = heap_text_before(path, '/') + 1;
    if (cut > path.len) cut = 0;
    if (path.len - cut > HEAP_TEXT_PATH) cut = path.len - HEAP_TEXT_PATH;
    path.data += cut;
    path.len -= cut;
    if (!is_gone) return path;
    path.len = (size_t)snprintf(t->name, sizeof t->name, "(deleted)/%.*s", (int)path.len, path.data);
    path.data = t->name;
    return path;
}

/* "r-xp" */
static bool heap_text_permissions(const hd_lines *l) {
    const char *p = l->at;
    while (p < l->end && strchr("-rwxps", *p) && *p) p++;
    return p - l->at >= 3 && p - l->at <= 5 && (p == l->end || *p == ' ' || *p == '\r');
}

/* The rest of a brief line, as google/pprof reads it: ": r-xp /lib/ld.so (@1000) BUILDID". All but the path may be
   missing. */
static const char *heap_text_brief(hd_lines *l, heap_text_map *m, hd_str *path) {
    const char *wrong = NULL;
    hd_lines_skip_spaces(l);
    if (heap_text_permissions(l))
        while (l->at < l->end && *l->at != ' ' && *l->at != '\r') l->at++;
    *path = symbols_rest(l);
    for (size_t i = 0; i + 2 < path->len; i++) {
        if (memcmp(path->data + i, " (@", 3)) continue;
        l->at = path->data + i + 3;
        wrong = hd_lines_number(l, 16, &m->offset);
        path->len = i;
    }
    return wrong;
}

/* "7f4e3faa9000-7f4e3facf000 r-xp 00001000 00:00 332383      /usr/lib/ld.so". NULL: success; else the expected
   text. */
static const char *heap_text_map_line(hd_lines *l, heap_text_map *m, hd_str *path) {
    const char *wrong;
    hd_lines_take(l, "0x");
    wrong = hd_lines_number(l, 16, &m->start);
    if (wrong) return wrong;
    if (!hd_lines_take(l, "-")) return "'-' between the addresses of a mapping";
    hd_lines_take(l, "0x");
    wrong = hd_lines_number(l, 16, &m->end);
    if (wrong) return wrong;
    if (hd_lines_take(l, ":")) return heap_text_brief(l, m, path);
    for (int i = 0; i < 4; i++) { /* permissions, offset, device, inode */
        if (l->at == l->end || *l->at != ' ') return "permissions, offset, device and inode of a mapping";
        hd_lines_skip_spaces(l);
        if (!i && !heap_text_permissions(l)) return heap_text_brief(l, m, path);
        if (i == 1) {
            wrong = hd_lines_number(l, 16, &m->offset);
            if (wrong) return wrong;
        }
        while (l->at < l->end && *l->at != ' ' && *l->at != '\r') l->at++;
    }
    *path = symbols_rest(l);
    return NULL;
}

static hd_status heap_text_add_map(heap_text *t) {
    hd_lines *l = &t->lines;
    heap_text_map m = { 0, 0, 0, 0, 0 };
    const heap_text_map *last;
    const char *wrong, *start;
    hd_str path = { NULL, 0 };
    hd_status status = HD_OK;
    if (hd_lines_done(l)) return HD_OK;
    start = l->at;
    wrong = heap_text_map_line(l, &m, &path);
    if (wrong && memchr(start, '=', (size_t)(l->end - start))) {
        l->at = start;
        return heap_text_add_variable(t, symbols_rest(l));
    }
    if (wrong) return hd_lines_wrong(l, wrong);
    path = heap_text_object(t, path);
    if (!path.len || m.start >= m.end) return HD_OK;
    if (!ROOM(l, t->maps, t->map_count, 1, t->map_room)) return l->err->status;
    last = t->map_count ? &t->maps[t->map_count - 1] : NULL;
    if (last && hd_str_equal((hd_str){ t->names.data + last->path, last->length }, path)) m.path = last->path;
    else status = heap_text_keep(t, path.data, path.len, &m.path);
    m.length = path.len;
    if (!status) t->maps[t->map_count++] = m;
    return status;
}

static int heap_text_map_order(const void *a, const void *b) {
    const heap_text_map *x = (const heap_text_map *)a, *y = (const heap_text_map *)b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    return x->path < y->path ? -1 : x->path > y->path;
}

/* Finds the position of address 0 of each object. The beginning of its file is mapped there, unless the object is
   linked at its address. */
static void heap_text_place(heap_text *t) {
    uint64_t base = 0, offset = 0;
    if (t->map_count) qsort(t->maps, t->map_count, sizeof *t->maps, heap_text_map_order);
    for (size_t i = 0; i < t->map_count; i++) {
        heap_text_map *m = &t->maps[i];
        if (!i || m->path != t->maps[i - 1].path || (!m->offset && offset)) base = m->start - m->offset;
        if (base < HEAP_TEXT_LOW) base = 0;
        offset = m->offset;
        m->offset = base;
    }
}

/* The mapping of an address, or NULL. */
static const heap_text_map *heap_text_map_of(const heap_text *t, uint64_t address) {
    size_t low = 0, high = t->map_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->maps[middle].start <= address) low = middle + 1;
        else high = middle;
    }
    return low && address < t->maps[low - 1].end ? &t->maps[low - 1] : NULL;
}

/* OBJECT+0xOFFSET, or the address outside of all objects. */
static hd_str heap_text_frame(heap_text *t, const heap_text_map *m, uint64_t address) {
    hd_str name = { t->name, 0 };
    if (m) memcpy(t->name, t->names.data + m->path, name.len = m->length);
    if (m) address -= m->offset;
    name.len += (size_t)snprintf(t->name + name.len, sizeof t->name - name.len, m ? "+0x%llx" : "0x%llx",
                                 (unsigned long long)address);
    return name;
}

/* "FUNCTION [OBJECT]", if both are known and not too long. */
static hd_str heap_text_function(heap_text *t, const heap_text_map *m, hd_str function) {
    hd_str object = { "", 0 };
    size_t slash;
    if (m) object.data = t->names.data + m->path, object.len = m->length;
    slash = heap_text_before(object, '/') + 1;
    if (slash < object.len) object.data += slash, object.len -= slash;
    if (object.len > 2 && *object.data == '[') object.data++, object.len -= 2; /* "[vdso]" */
    if (!object.len || object.len + function.len + 4 > sizeof t->name) return function;
    function.len = (size_t)snprintf(t->name, sizeof t->name, "%.*s [%.*s]", (int)function.len, function.data,
                                    (int)object.len, object.data);
    function.data = t->name;
    return function;
}

/* The node of a call: one for each function there if the file names them, else one for the address. */
static hd_status heap_text_node(heap_text *t, hd_profile *p, heap_text_call *call) {
    const heap_text_map *m = heap_text_map_of(t, call->address);
    hd_str names = symbols_find(&t->symbols, call->address);
    hd_status status = HD_OK;
    bool any = false;
    if (!names.len) names = symbols_find(&t->symbols, call->address + 1);
    call->node = t->calls[call->caller].node;
    for (int i = 1; names.len && !status; i++) {
        hd_str name = symbols_next(&names, i == SYMBOL_FUNCTIONS);
        if (!name.len) continue;
        any = true;
        status = hd_profile_node(p, HD_AXIS_BACKTRACE, call->node, heap_text_function(t, m, name), &call->node,
                                 t->lines.err);
    }
    if (any || status) return status;
    return hd_profile_node(p, HD_AXIS_BACKTRACE, call->node, heap_text_frame(t, m, call->address), &call->node,
                           t->lines.err);
}

/* Names the stacks of a heap, and adds their amounts. */
static hd_status heap_text_fill(heap_text *t, int heap) {
    hd_profile *p = t->profile[heap];
    hd_status status = HD_OK;
    for (size_t i = 1; i < t->call_count; i++) t->calls[i].node = HD_NONE;
    for (size_t i = 0; i < t->held_count[heap]; i++)
        if (t->held[heap][i].call) t->calls[t->held[heap][i].call].node = 0;
    for (size_t i = t->call_count; i-- > 1;)
        if (t->calls[i].node != HD_NONE) t->calls[t->calls[i].caller].node = 0;
    for (size_t i = 1; i < t->call_count && !status; i++) {
        if (t->calls[i].node != HD_NONE) status = heap_text_node(t, p, &t->calls[i]);
    }
    for (size_t i = 0; i < t->held_count[heap] && !status; i++) {
        const heap_text_held *held = &t->held[heap][i];
        status = heap_text_put(t, p, held->call ? t->calls[held->call].node : 0, held, true);
    }
    return status;
}

#endif
