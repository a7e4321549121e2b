/* Functions for addresses of MemProf profiles. */

#include "memprof.h"

#include <search.h>

/* The next segment of an object, from *k on, that is mapped as code. */
static bool symbols_code(const symbols_object *o, size_t *k, symbols_load *load) {
    while (*k < o->load_count) {
        *load = o->loads[(*k)++];
        if (load->is_code) return true;
    }
    return false;
}

/* Whether an address is in an object. The segment has no build id, so its position and size decide. */
static bool symbols_is_at(symbols *s, symbols_object *o, const hd_memprof_address *a) {
    const hd_memprof_segment *g = a->segment;
    symbols_load h;
    if (o->is_code_map || !symbols_know(s, o)) return false;
    for (size_t k = 0; symbols_code(o, &k, &h);) {
        uint64_t from = h.address, size = h.memory_bytes, page = 4095;
        if (a->file_offset) {
            from = h.offset & ~page;
            size = ((h.address + size + page) & ~page) - (h.address & ~page);
        }
        if (g->end - g->start == size && (a->file_offset ? g->offset : g->start - g->offset) == from)
            return true;
    }
    return false;
}

/* Converts an address to the linked address that the object file uses. */
static uint64_t symbols_address(const symbols_object *o, const hd_memprof_address *a) {
    symbols_load h;
    if (!a->file_offset) return a->offset;
    for (size_t k = 0; symbols_code(o, &k, &h);)
        if (a->offset - h.offset < h.file_bytes) return a->offset - h.offset + h.address;
    return a->offset;
}

/* The first object with a build id. */
typedef struct symbols_build {
    uint32_t size;
    unsigned char id[32];
    size_t object;
} symbols_build;

static int symbols_build_order(const void *a, const void *b) {
    const symbols_build *x = a, *y = b;
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    return memcmp(x->id, y->id, sizeof x->id);
}

/* Indexes new objects by build id. */
static void symbols_index_builds(symbols *s) {
    for (; s->built < s->count; s->built++) {
        symbols_object *o = &s->objects[s->built];
        symbols_build *b;
        if (o->is_code_map) continue;
        if (!o->has_wanted_id) symbols_know(s, o);
        if (!o->build_id_size) continue;
        b = needed(calloc(1, sizeof *b));
        b->size = o->build_id_size;
        memcpy(b->id, o->build_id, o->build_id_size);
        b->object = s->built;
        if (*(symbols_build **)needed(tsearch(b, &s->by_build, symbols_build_order)) != b) free(b);
    }
}

symbols_object *symbols_binary(symbols *s, const hd_memprof_address *a) {
    symbols_build key = { 0 }, **found;
    if (!a->segment || a->segment->build_id_size > sizeof key.id) return NULL;
    symbols_index_builds(s);
    for (size_t i = 0; !a->segment->build_id_size && i < s->count; i++)
        if (symbols_is_at(s, &s->objects[i], a)) return &s->objects[i];
    if (!a->segment->build_id_size) return NULL;
    key.size = a->segment->build_id_size;
    memcpy(key.id, a->segment->build_id, key.size);
    found = tfind(&key, &s->by_build, symbols_build_order);
    return found ? &s->objects[(*found)->object] : NULL;
}

/* The functions at an address, innermost first; NULL: its object is not given. Like LLVM, leaves addresses unresolved
   that the debug information omits. */
static const symbols_answer *symbols_of(symbols *s, const hd_memprof_address *a, symbols_kind kind) {
    symbols_object *o = symbols_binary(s, a);
    if (!o) return NULL;
    o->used = true;
    if (a->file_offset) symbols_know(s, o);
    return symbols_answered(s, o, kind, !s->by_table, symbols_address(o, a));
}

static uint32_t symbols_symbolize(symbols *s, const hd_memprof_address *a, symbols_kind kind,
                                  hd_memprof_frame *frames, uint32_t capacity) {
    const symbols_answer *found = symbols_of(s, a, kind);
    uint32_t n = !found ? 0 : found->count < capacity ? found->count : capacity;
    for (uint32_t i = 0; i < n; i++) {
        const symbols_frame *f = &found->frame[i];
        frames[i].function = hd_cstr(f->name);
        if (f->file) frames[i].file = hd_cstr(f->file);
        frames[i].line = (uint32_t)f->line;
        frames[i].column = (uint32_t)f->column;
        frames[i].discriminator = f->discriminator;
        frames[i].start_line = f->start_line;
    }
    return n;
}

/* An hd_memprof_symbolize_fn: functions as they are linked. */
uint32_t symbols_linked(void *user, const hd_memprof_address *a, hd_memprof_frame *frames,
                        uint32_t capacity) {
    return symbols_symbolize(user, a, SYMBOLS_LINKED, frames, capacity);
}

/* An hd_memprof_symbolize_fn: functions as people read them, "function (dir/file.c:12) [object]". */
uint32_t symbols_shown(void *user, const hd_memprof_address *a, hd_memprof_frame *frames,
                       uint32_t capacity) {
    return symbols_symbolize(user, a, SYMBOLS_TEXT, frames, capacity);
}

/* The addresses that symbols_prepare_memprof asks for. */
typedef struct symbols_wanting {
    symbols *s;
    symbols_kind kind;
} symbols_wanting;

/* An hd_memprof_symbolize_fn that only collects addresses. */
static uint32_t symbols_collect(void *user, const hd_memprof_address *a, hd_memprof_frame *frames,
                                uint32_t capacity) {
    symbols_wanting *x = user;
    symbols_object *o = symbols_binary(x->s, a);
    (void)frames, (void)capacity;
    if (!o) return 0;
    if (a->file_offset) symbols_know(x->s, o);
    symbols_want(x->s, o, x->kind, !x->s->by_table, symbols_address(o, a));
    return 0;
}

void symbols_prepare_memprof(symbols *s, const hd_memprof_raw *raw, bool shown) {
    symbols_wanting x = { s, shown ? SYMBOLS_TEXT : SYMBOLS_LINKED };
    hd_memprof_symbolizer by = { .symbolize = symbols_collect, .user = &x };
    hd_memprof_symbols *found;
    hd_status status = hd_memprof_symbolize(raw, &by, NULL, &found, NULL);
    if (status == HD_OUT_OF_MEMORY) needed(NULL);
    if (!status) hd_memprof_symbols_free(found);
    symbols_fetch(s);
}

/* The hd_memprof_view.segment callback: the file name of a given binary, or its path if another binary has the same
   name. */
hd_str symbols_file(void *user, const hd_memprof_raw *raw, uint32_t segment) {
    symbols *s = user;
    hd_memprof_address a = { .segment = &raw->segments[segment], .file_offset = raw->version < 3 };
    const symbols_object *o = symbols_binary(s, &a);
    const char *name = o ? symbols_basename(o->path) : "";
    for (size_t i = 0; o && i < s->count; i++)
        if (&s->objects[i] != o && !strcmp(symbols_basename(s->objects[i].path), name)) name = o->path;
    return hd_cstr(name);
}

typedef struct symbols_keeping {
    symbols *s;
    symbols_name_fn take;
    void *user;
} symbols_keeping;

static bool keep_name(void *user, const char *name) {
    symbols_keeping *x = user;
    symbols *s = x->s;
    s->kept = symbols_room(s->kept, s->kept_count, &s->kept_room, sizeof *s->kept);
    s->kept[s->kept_count] = needed(strdup(name));
    if (x->take(x->user, s->kept[s->kept_count])) s->kept_count++;
    else free(s->kept[s->kept_count]);
    return true;
}

void symbols_each_name(symbols *s, symbols_name_fn take, void *user) {
    symbols_keeping x = { s, take, user };
    const symbols_taker to = { .name = keep_name, .user = &x };
    for (size_t i = 0; i < s->count; i++) {
        if (s->objects[i].is_code_map) continue;
        symbols_ask(s, &s->objects[i], SYMBOLS_NAMES, false, NULL, 0, &to);
        s->objects[i].used = true;
    }
}
