/* Private to hprof.c: the state of a reading, bytes of the input, and tables by id. */
#ifndef HEAPDUMP_HPROF_IN_H
#define HEAPDUMP_HPROF_IN_H

#include "room.h"

#define HPROF_NONE 0xffffffffu

/* Types of values, as in the file. */
enum {
    HPROF_OBJECT = 2, HPROF_BOOLEAN = 4, HPROF_CHAR, HPROF_FLOAT, HPROF_DOUBLE, HPROF_BYTE, HPROF_SHORT, HPROF_INT,
    HPROF_LONG, HPROF_TYPES
};

/* id -> number of an entry. Open addressing; seeded, so that a file cannot choose ids that collide. */
typedef struct hprof_map {
    struct hprof_slot { uint64_t id; uint32_t entry, used; } *slot;
    size_t count, room;          /* room: a power of two, or 0 */
} hprof_map;

typedef struct hprof_text { size_t at, size; } hprof_text;

/* A reference among a class's own fields. */
typedef struct hprof_ref { uint32_t offset, name; } hprof_ref; /* offset in the class's part of an instance */

/* How references of java.lang.ref hold. */
enum { HPROF_STRONG, HPROF_SOFT, HPROF_WEAK };

/* Kinds of values that instances of a class have. HOLDER: fields of a thread. COUNTED: a collection with a field for
   the number of its elements. DEQUE: a ring with the positions of both ends. WRAPPED: with another collection. */
enum { HPROF_PLAIN, HPROF_STRING, HPROF_BOXED, HPROF_NAMED, HPROF_THREAD, HPROF_HOLDER, HPROF_COUNTED, HPROF_DEQUE,
       HPROF_WRAPPED };

/* A class of the Java library, and its fields that form a value. */
typedef struct hprof_rule {
    const char *name;
    uint8_t says;
    const char *number[2], *object[2]; /* its own fields with numbers, and with references */
    uint32_t slot_size;          /* elements of the array in object[0] for each slot [1] */
} hprof_rule;

typedef struct hprof_class {
    uint64_t id, name, super, loader;
    uint64_t lacks;              /* id of a super class without a record when it was last sought; 0: none */
    uint32_t in_graph;           /* class of the graph for its instances */
    uint32_t object;             /* the class object, or HPROF_NONE: no CLASS DUMP */
    uint32_t field, field_count; /* own instance fields, in hprof.types and hprof.names */
    uint32_t ref, ref_count;     /* own references, in hprof.refs */
    uint32_t own_bytes;          /* own fields, as the file has them */
    uint32_t bytes;              /* with all super classes */
    uint32_t up;                 /* nearest super class with fields, or HPROF_NONE */
    uint32_t over;               /* the super class, or HPROF_NONE */
    uint8_t state, holds, says;
    uint8_t number_type[2];
    uint32_t number_at[2], object_at[2]; /* offsets of the fields of `rule`; HPROF_NONE: none */
    const hprof_rule *rule;      /* of the class itself; NULL: none */
    uint32_t written;            /* size of an instance, as the file has it */
    uint32_t static_bytes[2];    /* of static fields, with references of 4 and of 8 bytes */
    uint32_t size;               /* of an instance in the JVM; 0: unknown */
    uint32_t gap;                /* least distance of an instance to the next object; 0: unknown */
    uint32_t object_gap;         /* distance of the class object; 0: unknown */
} hprof_class;

/* A primitive array with text, or the primitive value of an object. */
typedef struct hprof_kept {
    uint64_t at;                 /* in hprof.bytes, or the value */
    uint32_t object;
    uint32_t size;               /* of the whole text; hprof.bytes has HPROF_TEXT bytes of it at most. In a
                                    collection: length of its array; while reading, the low half of its id */
    uint32_t high;               /* the other half of that id */
    uint8_t type;
} hprof_kept;

/* An object, until its size is known. */
typedef struct hprof_sized {
    uint32_t of, length;         /* of: class, HPROF_ARRAY + type, or HPROF_CLASS; length: of an array, the class of a
                                    class object, or the low bits of the id of a string's text; HPROF_NONE: no text */
} hprof_sized;
#define HPROF_ARRAY 0xfffffff0u
#define HPROF_CLASS 0xffffffefu /* a class object; `length` is the class */

typedef struct hprof_frame {
    uint64_t method, source;     /* strings */
    uint32_t of;                 /* serial number of its class */
    int32_t line;
} hprof_frame;

typedef struct hprof_trace {
    uint32_t count;
    bool taken;                  /* a thread of the graph has it */
    size_t frame;                /* innermost first, in hprof.frame_ids */
} hprof_trace;

typedef struct hprof_root_record {
    uint64_t id;
    uint32_t thread, frame;      /* serial number and position in the stack, or HPROF_NONE; in the root of a thread
                                    the serial number of its stack */
    uint8_t kind;                /* in hprof_roots */
} hprof_root_record;

/* A thread or an enum constant, with the string of its name. `at`: the name as UTF-8 in hprof.bytes, or
   HPROF_NO_NAME. */
typedef struct hprof_named {
    uint64_t string;
    size_t at;
    uint32_t object, size;
} hprof_named;
#define HPROF_NO_NAME SIZE_MAX

/* An object of java.lang.Thread; holder: the object with its other fields; named: its number in hprof.named. */
typedef struct hprof_thread {
    uint64_t id, holder;
    size_t named;
} hprof_thread;

typedef struct hprof {
    hd_allocator allocator;
    hd_lines lines;              /* while reading: window, reporter, place of errors */
    hd_status status;            /* the first failure sticks */
    uint64_t seed, total;
    char version[32];
    uint32_t id_size;
    uint64_t time_ms;
    bool cut;                    /* the input ended inside a record */
    bool open;                   /* segments of a dump without its end so far */
    bool behind;                 /* in another file that was appended to the first one */

    room_text names;             /* of all strings */
    hprof_text *texts;
    size_t text_count, text_room;
    hprof_map text_of, class_of, name_of;

    hprof_class *classes;
    size_t class_count, class_room;
    uint64_t *field_names;
    uint8_t *field_types;
    size_t field_count, field_name_room, field_type_room;
    hprof_ref *refs;
    size_t ref_count, ref_room;
    uint32_t primitive[HPROF_TYPES]; /* classes of the graph; 0: none yet */
    uint32_t known_names[5];     /* names of the graph for the parts of a class, and for the class of an instance */
    uint64_t system_loader;      /* java.lang.ClassLoader.scl: lives as long as the JVM, and so its classes; or 0 */
    uint32_t class_class;        /* class of the graph for class objects; 0: none yet */

    hprof_frame *frame;          /* STACK FRAME records */
    hprof_trace *trace;          /* STACK TRACE records */
    uint64_t *frame_ids;         /* of all traces */
    uint32_t *frame_numbers;     /* in h->frame; frame_count: unknown */
    hprof_root_record *root;     /* roots, until all threads and frames are known */
    size_t frame_count, frame_room, trace_count, trace_room, frame_id_count, frame_id_room, root_count, root_room,
        frame_number_room;
    hprof_map frame_of, trace_of, label_of, serial_of; /* trace_of, serial_of: traces and classes by serial number */

    hd_graph *graph;
    uint32_t objects;            /* added to the graph */
    hprof_sized *sized;
    size_t sized_count, sized_room;
    const uint32_t *order;       /* objects by id, while sizes are sought; the graph's */
    hprof_named *named;          /* by object */
    size_t named_count, named_room;
    hprof_thread *thread;
    size_t thread_count, thread_room;
    uint32_t referent_name;      /* number of this name in the graph, or HPROF_NONE */
    uint8_t *late;               /* instances that came before their class */
    size_t late_size, late_room;

    hprof_kept *kept;            /* by object */
    size_t kept_count, kept_room;
    uint8_t *bytes;
    size_t bytes_size, bytes_room;
    uint32_t *wide;              /* strings of two bytes a character, by object */
    size_t wide_count, wide_room;

    struct hprof_layout { uint32_t header, reference, base, packing; } layout;
    uint32_t wanted;             /* HD_LAYOUT_: by the caller */
    bool soft_weak;              /* soft references do not hold their objects */
    struct hprof_gap { uint32_t type, length, gap; } *gap; /* arrays with the distance to the next object */
    size_t gap_count, gap_room;
    uint32_t *by_graph;          /* classes by their number in the graph */
    size_t by_graph_room;
    uint64_t dumps, left_out;
} hprof;

/* Bytes. --------------------------------------------------------------------------------------- */

HD_UNUSED static bool hprof_fail(hprof *h) {
    if (!h->status) h->status = h->lines.err->status;
    return false;
}

/* Reports a malformed piece at the byte at hand; lenient reading leaves it out. Always false. */
HD_UNUSED static bool hprof_wrong(hprof *h, uint64_t offset, const char *message) {
    hd_error found = HD_ZERO;
    if (h->status) return false;
    found.status = HD_MALFORMED;
    found.offset = offset;
    snprintf(found.message, sizeof found.message, "%s", message);
    h->status = hd_report(h->lines.reporter, &found, h->lines.err);
    return false;
}

HD_UNUSED static uint64_t hprof_offset(const hprof *h) { return hd_window_offset(h->lines.window); }

/* Shows `n` bytes. False: the input ends before, or fails. */
HD_UNUSED static bool hprof_need(hprof *h, size_t n) {
    hd_window *w = h->lines.window;
    if (h->status) return false;
    if ((size_t)(w->end - w->at) >= n) return true;
    if (!w->ended) {
        h->status = hd_window_fill(w, n, h->lines.err);
        if (!h->status && h->total != HD_UNKNOWN)
            h->status = hd_report_progress(h->lines.reporter, hprof_offset(h), h->total, h->lines.err);
    }
    if (h->status) return false;
    if ((size_t)(w->end - w->at) >= n) return true;
    h->cut = true;
    return false;
}

HD_UNUSED static bool hprof_skip(hprof *h, uint64_t n) {
    hd_window *w = h->lines.window;
    while (n && !h->status) {
        uint64_t here = (uint64_t)(w->end - w->at);
        if (!here) {
            if (!hprof_need(h, 1)) return false;
            continue;
        }
        if (here > n) here = n;
        w->at += here;
        n -= here;
    }
    return !h->status;
}

HD_UNUSED static uint32_t hprof_get16(const uint8_t *p) { return (uint32_t)p[0] << 8 | p[1]; }
HD_UNUSED static uint32_t hprof_get32(const uint8_t *p) { return hprof_get16(p) << 16 | hprof_get16(p + 2); }
HD_UNUSED static uint64_t hprof_get64(const uint8_t *p) {
    return (uint64_t)hprof_get32(p) << 32 | hprof_get32(p + 4);
}

HD_UNUSED static uint64_t hprof_id(const hprof *h, const uint8_t *p) {
    return h->id_size == 8 ? hprof_get64(p) : hprof_get32(p);
}

/* Bytes of a value in the file; 0: no type. */
HD_UNUSED static uint32_t hprof_width(const hprof *h, uint32_t type) {
    static const uint8_t width[HPROF_TYPES] = { 0, 0, 0, 0, 1, 2, 4, 8, 1, 2, 4, 8 };
    if (type == HPROF_OBJECT) return h->id_size;
    return type < HPROF_TYPES ? width[type] : 0;
}

/* Tables by id. -------------------------------------------------------------------------------- */

HD_UNUSED static size_t hprof_map_home(const hprof *h, const hprof_map *m, uint64_t id) {
    uint64_t x = (id ^ h->seed) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 32) * (h->seed | 1);
    return (size_t)(x >> 20) & (m->room - 1);
}

/* The entry of an id, or HPROF_NONE. */
HD_UNUSED static uint32_t hprof_map_get(const hprof *h, const hprof_map *m, uint64_t id) {
    if (!m->room) return HPROF_NONE;
    for (size_t i = hprof_map_home(h, m, id);; i = (i + 1) & (m->room - 1)) {
        if (!m->slot[i].used) return HPROF_NONE;
        if (m->slot[i].id == id) return m->slot[i].entry;
    }
}

HD_UNUSED static void hprof_map_set(const hprof *h, hprof_map *m, uint64_t id, uint32_t entry) {
    size_t i = hprof_map_home(h, m, id);
    while (m->slot[i].used && m->slot[i].id != id) i = (i + 1) & (m->room - 1);
    m->count += !m->slot[i].used;
    m->slot[i].id = id;
    m->slot[i].entry = entry;
    m->slot[i].used = 1;
}

HD_UNUSED static bool hprof_map_put(hprof *h, hprof_map *m, uint64_t id, uint32_t entry) {
    hprof_map old = *m;
    if (2 * m->count >= m->room) {
        size_t room = m->room ? 2 * m->room : 256, has = 0;
        m->slot = NULL;
        if (!room_grow(&h->lines, &m->slot, 0, room, &has, sizeof *m->slot)) {
            *m = old;
            return hprof_fail(h);
        }
        memset(m->slot, 0, room * sizeof *m->slot);
        m->room = room;
        m->count = 0;
        for (size_t i = 0; i < old.room; i++)
            if (old.slot[i].used) hprof_map_set(h, m, old.slot[i].id, old.slot[i].entry);
        room_free(&h->lines, old.slot, old.room, sizeof *old.slot);
    }
    hprof_map_set(h, m, id, entry);
    return true;
}

/* The text of a string, empty if no string of the file has this id. */
HD_UNUSED static hd_str hprof_string(const hprof *h, uint64_t id) {
    uint32_t i = hprof_map_get(h, &h->text_of, id);
    hd_str none = { "", 0 };
    if (i == HPROF_NONE) return none;
    return (hd_str){ h->names.data + h->texts[i].at, h->texts[i].size };
}

/* Whether a text is this name. Android writes "java.lang.String" for "java/lang/String". */
HD_UNUSED static bool hprof_same(hd_str text, const char *name) {
    if (text.len != strlen(name)) return false;
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] != name[i] && (text.data[i] != '.' || name[i] != '/')) return false;
    return true;
}

HD_UNUSED static bool hprof_is(const hprof *h, uint64_t id, const char *text) {
    return hprof_same(hprof_string(h, id), text);
}

/* Whether Android's runtime wrote the file. */
HD_UNUSED static bool hprof_of_android(const hprof *h) {
    return h->id_size == 4 && !strcmp(h->version, "JAVA PROFILE 1.0.3");
}

#endif
