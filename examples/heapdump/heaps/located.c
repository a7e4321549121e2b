/* Functions for frames that are addresses in mappings of objects, as profiles of pprof have them. */

#include "heaps.h"

#include <ctype.h>

/* A profile at work. */
typedef struct located {
    const hd_places *places;
    symbols *names;
    bool reported;               /* a binary of another build was reported */
    char *text;                  /* of the last call */
} located;

/* The linked (virtual) address of a file offset. */
static bool linked_address(const symbols_object *o, uint64_t offset, uint64_t *address) {
    for (uint32_t i = 0; i < o->load_count; i++) {
        const symbols_load *load = &o->loads[i];
        if (offset < load->offset || offset - load->offset >= load->file_bytes) continue;
        *address = offset - load->offset + load->address;
        return true;
    }
    return false;
}

/* Whether the object has this build id. *known is false if the object or the profile has no hexadecimal build id. */
static bool has_id(const symbols_object *o, hd_str id, bool *known) {
    char text[65];
    symbols_build_id(text, o->build_id, o->build_id_size);
    *known = *text && id.len;
    for (size_t i = 0; i < id.len; i++) *known &= isxdigit((unsigned char)id.data[i]) != 0;
    return *known && strlen(text) == id.len && !strncasecmp(text, id.data, id.len);
}

/* The object of a mapping: one of the binaries that were given, or the file of that path if it is the same
   program. */
static symbols_object *object_at(located *l, const hd_mapping *m) {
    symbols *s = l->names;
    symbols_object *o;
    bool known, same;
    if (!s->given && (!m->build_id.len || !m->file.len || *m->file.data != '/')) return NULL;
    o = symbols_object_for(s, m->file);
    if (!symbols_know(s, o)) return NULL;
    same = has_id(o, m->build_id, &known);
    if (o >= s->objects + s->given) return same ? o : NULL;
    if (same || !known) return o;
    if (!l->reported)
        display(stderr, "heapdump: %s: its build id differs from the recorded program's, " HD_FMT
                        ": not used for names\n", o->path, HD_ARG(m->build_id));
    l->reported = true;
    return NULL;
}

/* The object that a frame is in, and its address there; NULL: the frame has a name, or is in no object. */
static symbols_object *object_of(located *l, hd_str name, uint64_t *address) {
    symbols_object *o;
    hd_mapping m;
    hd_place place;
    if (!hd_places_find(l->places, name, &place) || !place.is_address || place.mapping == HD_NONE) return NULL;
    if (hd_frame_parse(name).file.len) return NULL; /* it already has its source file */
    m = hd_places_mapping(l->places, place.mapping);
    o = object_at(l, &m);
    if (!o || place.address < m.start) return NULL;
    *address = place.address;
    return m.start && !linked_address(o, place.address - m.start + m.offset, address) ? NULL : o;
}

/* An hd_rename_fn. */
static uint32_t rename_located(void *user, hd_str name, hd_str *path) {
    located *l = user;
    symbols_object *o;
    uint64_t address;
    uint32_t n;
    path[0] = name;
    o = object_of(l, name, &address);
    if (!o) return 1;
    free(l->text);
    if (asprintf(&l->text, "%s+0x%llx", o->path, (unsigned long long)address) < 0) needed(l->text = NULL);
    address = l->names->unresolved;
    n = symbols_rename(l->names, hd_cstr(l->text), path);
    if (l->names->unresolved != address) path[0] = name, n = 1;
    return n;
}

/* Asks for all frames in one batch. */
static void prepare_located(located *l, hd_axis axis) {
    uint64_t address;
    for (uint32_t i = 1; i < axis.node_count; i++) {
        symbols_object *o = object_of(l, axis.node_name[i], &address);
        if (o) symbols_want(l->names, o, SYMBOLS_TEXT, false, address);
    }
    symbols_fetch(l->names);
}

static bool has_addresses(const hd_places *places, const hd_profile *profile) {
    hd_axis axis = hd_profile_axis(profile, HD_AXIS_BACKTRACE);
    hd_place place;
    for (uint32_t i = 1; i < axis.node_count; i++)
        if (hd_places_find(places, axis.node_name[i], &place) && place.is_address && place.mapping != HD_NONE)
            return true;
    return false;
}

hd_status name_places(symbols *names, const hd_dump *dump, const hd_profile *profile,
                      hd_profile **out, hd_error *err) {
    hd_places *places;
    hd_status status = HD_OK;
    *out = NULL;
    if (!hd_dump_format(dump)->places) return HD_OK;
    places = hd_places_create(NULL, err);
    if (!places) return err->status;
    status = hd_dump_places(dump, places, err);
    if (!status && has_addresses(places, profile)) {
        located l = { .places = places, .names = names };
        prepare_located(&l, hd_profile_axis(profile, HD_AXIS_BACKTRACE));
        status = hd_profile_rename(profile, HD_AXIS_BACKTRACE, rename_located, &l, NULL, out, err);
        free(l.text);
    }
    hd_places_free(places);
    return status;
}
