/* Objects by path, and functions for frames that are addresses in them. */

#include "symbols.h"

#include <search.h>

/* The last object with a path. */
typedef struct symbols_path {
    hd_str path;                 /* points into the first object with this path */
    size_t object;
} symbols_path;

/* Returns the array, possibly moved, with room for one more item. */
void *symbols_room(void *items, size_t count, size_t *capacity, size_t size) {
    if (count < *capacity) return items;
    *capacity = *capacity ? 2 * *capacity : 16;
    return needed(realloc(items, *capacity * size));
}

const char *symbols_basename(const char *path) {
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

/* Objects. ------------------------------------------------------------------------------------ */

static int symbols_path_order(const void *a, const void *b) {
    return hd_str_compare(((const symbols_path *)a)->path, ((const symbols_path *)b)->path);
}

symbols_object *symbols_find(const symbols *s, hd_str path) {
    const symbols_path key = { path, 0 };
    symbols_path **found = tfind(&key, &s->by_path, symbols_path_order);
    return found ? &s->objects[(*found)->object] : NULL;
}

void symbols_name_path(symbols *s, hd_str path, size_t object) {
    symbols_path *p = needed(malloc(sizeof *p)), *found;
    *p = (symbols_path){ path, object };
    found = *(symbols_path **)needed(tsearch(p, &s->by_path, symbols_path_order));
    if (found != p) free(p);
    found->object = object;
}

symbols_object *symbols_add(symbols *s, hd_str path) {
    symbols_object *o;
    s->objects = symbols_room(s->objects, s->count, &s->room, sizeof *s->objects);
    o = &s->objects[s->count++];
    memset(o, 0, sizeof *o);
    o->path = needed(calloc(1, path.len + 1));
    memcpy(o->path, path.data, path.len);
    return o;
}

symbols_object *symbols_object_of(symbols *s, hd_str path) {
    symbols_object *o = symbols_find(s, path);
    if (o) return o;
    o = symbols_add(s, path);
    if (*o->path == '/') {
        o->files[0] = (symbols_candidate){ .fd = -1, .file = needed(strdup(o->path)) };
        o->file_count = 1;
    }
    symbols_name_path(s, (hd_str){ o->path, path.len }, s->count - 1);
    return o;
}

/* The object of a path, or the binary that --binary gave for it: one with the same file name. */
symbols_object *symbols_object_for(symbols *s, hd_str path) {
    const char *slash = memrchr(path.data, '/', path.len);
    hd_str file = path;
    if (slash) file.data = slash + 1, file.len -= (size_t)(slash + 1 - path.data);
    for (size_t i = 0; i < s->given; i++) {
        if (!hd_str_equal(hd_cstr(symbols_basename(s->objects[i].path)), file)) continue;
        s->objects[i].used = true;
        return &s->objects[i];
    }
    return symbols_object_of(s, path);
}

/* Frames. ------------------------------------------------------------------------------------- */

static bool hexadecimal(hd_str digits, uint64_t *number) {
    if (digits.len < 3 || memcmp(digits.data, "0x", 2)) return false;
    *number = 0;
    for (size_t k = 2; k < digits.len; k++) {
        char c = digits.data[k];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                                                : 16;
        if (digit > 15 || *number >> 60) return false;
        *number = *number * 16 + digit;
    }
    return true;
}

/* OBJECT+0xOFFSET */
static bool symbols_split(hd_str name, hd_str *path, uint64_t *offset) {
    size_t i = name.len;
    while (i && name.data[i - 1] != '+') i--;
    if (i < 2) return false;
    *path = (hd_str){ name.data, i - 1 };
    return hexadecimal((hd_str){ name.data + i, name.len - i }, offset);
}

/* The object of a frame and the address in it; NULL if the frame is not an address. */
static symbols_object *object_of_frame(symbols *s, hd_str name, uint64_t *address, symbols_kind *kind) {
    hd_str path;
    *kind = SYMBOLS_TEXT;
    if (symbols_split(name, &path, address)) return symbols_object_for(s, path);
    *kind = SYMBOLS_CODE;
    return s->code && hexadecimal(name, address) ? code_file_object(s->code, s) : NULL;
}

void symbols_prepare(symbols *s, hd_axis axis) {
    uint64_t address;
    symbols_kind kind;
    for (uint32_t i = 1; i < axis.node_count; i++) {
        symbols_object *o = object_of_frame(s, axis.node_name[i], &address, &kind);
        if (o) symbols_want(s, o, kind, false, address);
    }
    symbols_fetch(s);
}

/* FILE+0xOFFSET, with the build id if the file could not be read. */
static hd_str symbols_unresolved(symbols *s, const symbols_object *o, hd_str name) {
    const char *slash = memrchr(name.data, '/', name.len);
    char id[2 * sizeof o->build_id + 1];
    if (slash) name.len -= (size_t)(slash + 1 - name.data), name.data = slash + 1;
    if (!o->known || o->is_elf || !o->build_id_size) return name;
    for (uint32_t i = 0; i < o->build_id_size; i++) snprintf(id + 2 * i, 3, "%02x", o->build_id[i]);
    if (asprintf(&s->name, "%.*s [%s]", (int)name.len, name.data, id) < 0) needed(s->name = NULL);
    return hd_cstr(s->name);
}

/* An hd_rename_fn: OBJECT+0xOFFSET becomes the functions at that address; other names stay. */
uint32_t symbols_rename(void *user, hd_str name, hd_str *path) {
    symbols *s = user;
    symbols_object *o;
    const symbols_answer *found;
    uint64_t address;
    symbols_kind kind;
    free(s->name);
    s->name = NULL;
    path[0] = name;
    o = object_of_frame(s, name, &address, &kind);
    if (!o) return 1;
    found = symbols_answered(s, o, kind, false, address);
    if (!found->count && kind == SYMBOLS_CODE) return 1;
    if (!found->count) {
        s->unresolved++;
        path[0] = symbols_unresolved(s, o, name);
        return 1;
    }
    if (kind != SYMBOLS_CODE) s->resolved++;
    for (uint32_t i = 0; i < found->count; i++) path[i] = hd_cstr(found->frame[found->count - 1 - i].name);
    return found->count;
}

static void free_object(symbols_object *o) {
    for (uint32_t i = 0; i < o->file_count; i++) {
        if (o->files[i].kept) close(o->files[i].fd);
        free(o->files[i].file);
    }
    free(o->loads);
    free(o->why);
    free(o->path);
}

void symbols_free(symbols *s) {
    symbols_tell(s);
    symbols_child_end(s);
    if (s->second) symbols_child_end(s->second);
    free(s->second);
    symbols_answers_free(s);
    for (size_t i = 0; i < s->count; i++) free_object(&s->objects[i]);
    for (size_t i = 0; i < s->copy_count; i++) {
        close(s->copies[i].fd);
        free(s->copies[i].path);
    }
    for (size_t i = 0; i < s->kept_count; i++) free(s->kept[i]);
    tdestroy(s->by_path, free);
    tdestroy(s->by_id, free);
    tdestroy(s->by_build, free);
    free(s->objects);
    free(s->copies);
    free(s->loading);
    free(s->kept);
    free(s->name);
    memset(s, 0, sizeof *s);
}
