/* Functions for frames that are addresses in mappings of objects, as profiles of pprof have them. */

#include "heaps.h"

#include <ctype.h>
#include <elfutils/libdwfl.h>

/* A profile at work. */
typedef struct located {
    const hd_places *places;
    symbols *names;
    bool told;                   /* that a binary is another program */
    char *text;                  /* of the last call */
} located;

/* The linked (virtual) address of a file offset. */
static bool linked_address(const symbols_object *o, uint64_t offset, uint64_t *address) {
    SYMBOLS_WORK;
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(o->module, &bias);
    size_t n = 0;
    if (!elf || elf_getphdrnum(elf, &n)) return false;
    for (size_t i = 0; i < n && i < INT32_MAX; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD) continue;
        if (offset < header.p_offset || offset - header.p_offset >= header.p_filesz) continue;
        *address = offset - header.p_offset + header.p_vaddr;
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
    if (!o->module) return NULL;
    same = has_id(o, m->build_id, &known);
    if (o >= s->objects + s->given) return same ? o : NULL;
    if (same || !known) return o;
    if (!l->told)
        display(stderr, "heapdump: %s: its build id differs from the recorded program's, " HD_FMT
                        ": not used for names\n", o->path, HD_ARG(m->build_id));
    l->told = true;
    return NULL;
}

/* An hd_rename_fn. */
static uint32_t rename_located(void *user, hd_str name, hd_str *path) {
    located *l = user;
    symbols_object *o;
    hd_mapping m;
    hd_place place;
    uint64_t address;
    uint32_t n;
    path[0] = name;
    if (!hd_places_find(l->places, name, &place) || !place.is_address || place.mapping == HD_NONE) return 1;
    if (hd_frame_parse(name).file.len) return 1; /* named so far as it can be */
    m = hd_places_mapping(l->places, place.mapping);
    o = object_at(l, &m);
    if (!o || place.address < m.start) return 1;
    address = place.address;
    if (m.start && !linked_address(o, place.address - m.start + m.offset, &address)) return 1;
    free(l->text);
    if (asprintf(&l->text, "%s+0x%llx", o->path, (unsigned long long)address) < 0) needed(l->text = NULL);
    address = l->names->unresolved;
    n = symbols_rename(l->names, hd_cstr(l->text), path);
    if (l->names->unresolved != address) path[0] = name, n = 1;
    return n;
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
        status = hd_profile_rename(profile, HD_AXIS_BACKTRACE, rename_located, &l, NULL, out, err);
        free(l.text);
    }
    hd_places_free(places);
    return status;
}
