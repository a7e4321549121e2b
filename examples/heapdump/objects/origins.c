/* Detachedness, source locations and allocation stacks in the commands object and objects. */

#include "origins.h"

enum { MOST_FRAMES = 1024 };

int origins_open(const arguments *a, const objects *o, origins *x) {
    reading r = { .file = o->file };
    hd_options options = { .lenient = !a->input.strict, .warning = a->input.quiet ? NULL : on_warning,
                           .warning_user = &r };
    hd_error err;
    *x = (origins){ hd_dump_v8(o->dump), NULL };
    if (!x->v8) return DONE;
    return hd_v8_origins_read(x->v8, &options, &x->read, &err) ? failed(o->file, &err) : DONE;
}

void origins_close(origins *x) { hd_v8_origins_free(x->read); }

bool is_detached(const objects *o, uint32_t object) {
    const hd_v8 *v8 = hd_dump_v8(o->dump);
    return v8 && hd_v8_detachedness(v8, object) == HD_V8_DETACHED;
}

/* "app.js:3:14"; a script without a name is "script 12". */
static void put_place_of(FILE *out, const hd_v8_place *p) {
    if (p->script.len) put_name(out, p->script);
    else display(out, "script %u", p->script_id);
    if (p->line) display(out, ":%u", p->line);
    if (p->line && p->column) display(out, ":%u", p->column);
}

static void put_frame_of(FILE *out, const hd_v8_place *p) {
    bool placed = p->script.len || p->script_id;
    if (p->function.len) put_name(out, p->function);
    else display(out, "(anonymous)");
    if (placed) display(out, " ("), put_place_of(out, p), display(out, ")");
}

/* The stack without V8's "(root)". The caller frees it. */
static hd_v8_place *stack_of(const origins *x, uint32_t object, uint32_t *depth) {
    hd_v8_place *frames = needed(malloc(MOST_FRAMES * sizeof *frames));
    *depth = x->read ? hd_v8_stack(x->read, object, frames, MOST_FRAMES) : 0;
    if (*depth > MOST_FRAMES) *depth = MOST_FRAMES;
    if (*depth && hd_str_equal(frames[*depth - 1].function, hd_cstr("(root)"))) --*depth;
    return frames;
}

void put_origins(FILE *out, const arguments *a, const origins *x, uint32_t object) {
    hd_v8_link link = x->v8 ? hd_v8_detachedness(x->v8, object) : HD_V8_UNLINKED;
    hd_v8_place place;
    FREED hd_v8_place *frames = NULL;
    uint32_t depth, most = shown_of(a, 10);
    if (link == HD_V8_DETACHED) display(out, "%12s: not in the document of a page\n", "detached");
    if (link == HD_V8_ATTACHED) display(out, "%12s: in the document of a page\n", "attached");
    if (x->read && hd_v8_location(x->read, object, &place)) {
        display(out, "%12s ", "source");
        put_place_of(out, &place);
        display(out, "\n");
    }
    frames = stack_of(x, object, &depth);
    for (uint32_t i = 0; i < depth && i < most; i++) {
        display(out, "%12s ", i ? "" : "allocated by");
        put_frame_of(out, &frames[i]);
        display(out, "\n");
    }
    put_more(out, depth, most);
}

bool origin_of(const origins *x, uint32_t object, hd_v8_place *place, bool *allocated) {
    *allocated = x->read && hd_v8_stack(x->read, object, place, 1) > 1; /* the last one is "(root)" */
    return *allocated || (x->read && hd_v8_location(x->read, object, place));
}

void put_origin(FILE *out, const hd_v8_place *place, bool allocated) {
    display(out, allocated ? "allocated by " : "source ");
    (allocated ? put_frame_of : put_place_of)(out, place);
}

void put_short_origins(FILE *out, const origins *x, uint32_t object) {
    hd_v8_place place;
    FREED hd_v8_place *frames = NULL;
    uint32_t depth;
    if (x->read && hd_v8_location(x->read, object, &place)) display(out, "  source "), put_place_of(out, &place);
    frames = stack_of(x, object, &depth);
    if (depth) display(out, "  allocated by "), put_frame_of(out, &frames[0]);
}

static void json_stack(hd_json *j, const hd_v8_place *frames, uint32_t depth) {
    json_array(j, "stack");
    for (uint32_t i = 0; i < depth; i++) {
        FREED char *text = NULL;
        size_t size;
        FILE *f = needed(open_memstream(&text, &size));
        put_frame_of(f, &frames[i]);
        closed_text(f, &text);
        hd_json_cstr(j, text);
    }
    hd_json_end(j);
}

void json_origins(hd_json *j, const origins *x, uint32_t object) {
    hd_v8_link link = x->v8 ? hd_v8_detachedness(x->v8, object) : HD_V8_UNLINKED;
    hd_v8_place place;
    FREED hd_v8_place *frames = NULL;
    uint32_t depth;
    if (link) json_bool(j, "detached", link == HD_V8_DETACHED);
    if (x->read && hd_v8_location(x->read, object, &place)) {
        json_object(j, "source");
        json_str(j, "script", place.script);
        json_u64(j, "script_id", place.script_id);
        json_u64(j, "line", place.line);
        json_u64(j, "column", place.column);
        hd_json_end(j);
    }
    frames = stack_of(x, object, &depth);
    if (depth) json_stack(j, frames, depth);
}
