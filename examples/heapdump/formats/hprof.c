/* HPROF: heap dumps of Java virtual machines, versions 1.0.1, 1.0.2 and 1.0.3 (Android). The records are described by
   the JDK's manual of its HPROF agent and by HotSpot's services/heapDumper.cpp. The reader makes one pass over
   the first dump of the file. It keeps a graph, the text of strings, and the values of boxed numbers.

   Objects of java.lang.Class are the class objects. Their references are static fields, "Class.field". An instance
   keeps its class alive, and so the class loader: it has a reference "<class>", but not if the class is of the JVM
   or of the system's class loader, which live as long as the JVM. A soft
   reference holds its object, a weak or phantom reference does not. Null references are left out, so each reference
   has a name of its own. hprof_sizes.h finds the sizes. */

#include <time.h>

#include "formats.h"
#include "hprof_class_dump.h"
#include "hprof_roots.h"

int hprof_detect(const uint8_t *bytes, size_t size) {
    static const char start[] = "JAVA PROFILE 1.0.";
    return size > sizeof start && !memcmp(bytes, start, sizeof start - 1) ? 100 : 0;
}

/* Records. ------------------------------------------------------------------------------------- */

enum { HPROF_STRING_RECORD = 0x01, HPROF_LOAD_CLASS = 0x02, HPROF_FRAME = 0x04, HPROF_TRACE = 0x05, HPROF_DUMP = 0x0c,
       HPROF_SEGMENT = 0x1c, HPROF_DUMP_END = 0x2c, HPROF_HEAD = 9 };

static void hprof_take_string(hprof *h, uint64_t length) {
    hprof_text text = { h->names.size, 0 };
    if (length < h->id_size || length - h->id_size > UINT32_MAX) {
        hprof_wrong(h, hprof_offset(h), "a string without an id");
        return;
    }
    if (!hprof_need(h, (size_t)length)) return;
    text.size = (size_t)length - h->id_size;
    if (!room_keep(&h->lines, &h->names, (const char *)h->lines.window->at + h->id_size, text.size) ||
        !ROOM(&h->lines, h->texts, h->text_count, 1, h->text_room)) {
        hprof_fail(h);
    } else if (hprof_map_put(h, &h->text_of, hprof_id(h, h->lines.window->at), (uint32_t)h->text_count)) {
        h->texts[h->text_count++] = text;
    }
}

static void hprof_take_class(hprof *h, uint64_t length) {
    const uint8_t *p;
    uint32_t i;
    if (length < 8 + 2 * (uint64_t)h->id_size) {
        hprof_wrong(h, hprof_offset(h), "a class without a name");
        return;
    }
    if (!hprof_need(h, 8 + 2 * (size_t)h->id_size)) return;
    p = h->lines.window->at;
    i = hprof_class_at(h, hprof_id(h, p + 4), hprof_id(h, p + 8 + h->id_size));
    if (i != HPROF_NONE) hprof_map_put(h, &h->serial_of, hprof_get32(h->lines.window->at), i);
}

/* One sub-record. False: none was read. */
static bool hprof_part(hprof *h, uint64_t left) {
    const hprof_root_kind *root;
    uint8_t tag;
    if (!hprof_need(h, 1)) return false;
    tag = *h->lines.window->at;
    switch (tag) {
    case 0x20: return hprof_class_record(h, left);
    case 0x21: return hprof_instance_record(h, left);
    case 0x22: return hprof_object_array(h, left);
    case 0x23: return hprof_primitive_array(h, left, true);
    case 0xc3: return hprof_primitive_array(h, left, false);
    case 0xfe:
        if (left < 5 + (uint64_t)h->id_size)
            return hprof_wrong(h, hprof_offset(h), "a heap's name beyond the end of its dump");
        return hprof_need(h, 5 + (size_t)h->id_size) && hprof_skip(h, 5 + h->id_size);
    default: break;
    }
    root = hprof_root_of(tag);
    if (!root) return hprof_wrong(h, hprof_offset(h), "a part of a heap dump with an unknown tag");
    return hprof_root(h, root, left);
}

/* Whether a dump of version 1.0.1 goes on behind its length, which has only 32 bits. Roots with other tags could be
   records. They count if the length is 0. */
static bool hprof_wraps(hprof *h, bool empty) {
    uint8_t tag = hprof_need(h, 1) ? *h->lines.window->at : 0;
    h->cut = false;
    return (tag >= 0x20 && tag <= 0x23) || tag == 0xff || (empty && tag && tag <= 0x08);
}

/* A heap dump, or a segment of one. Parts behind a malformed one are left out. */
static void hprof_dump(hprof *h, bool segment, uint64_t length) {
    uint64_t start = hprof_offset(h), end = start + length, at;
    bool open = !segment;        /* the length may be too small by a multiple of 2^32 */
    while (!h->status && !h->cut) {
        at = hprof_offset(h);
        while (open && at >= end && (at > end || hprof_wraps(h, at == start))) end += (uint64_t)1 << 32;
        if (at >= end) return;
        if (open && !length && !hprof_need(h, 1)) { /* a length of 0: up to the end */
            h->cut = false;
            return;
        }
        if (hprof_part(h, open ? HD_UNKNOWN : end - at) || h->status || h->cut) continue;
        if (hprof_offset(h) < end) hprof_skip(h, end - hprof_offset(h));
        return;
    }
}

/* A record, up to its end also where its content is malformed. Only the first dump of the file is read. */
static void hprof_record(hprof *h) {
    uint64_t length, offset = hprof_offset(h), end, at;
    uint8_t tag;
    if (!hprof_need(h, HPROF_HEAD)) return;
    tag = *h->lines.window->at;
    length = hprof_get32(h->lines.window->at + 5);
    end = offset + HPROF_HEAD + length;
    h->lines.window->at += HPROF_HEAD;
    switch (h->behind && tag < HPROF_DUMP ? 0x0a : tag) { /* 0x0a: a record that is skipped */
    case HPROF_STRING_RECORD: hprof_take_string(h, length); break;
    case HPROF_LOAD_CLASS: hprof_take_class(h, length); break;
    case HPROF_FRAME: hprof_take_frame(h, length); break;
    case HPROF_TRACE: hprof_take_trace(h, length); break;
    case HPROF_DUMP:
        if (!h->dumps) hprof_dump(h, false, length);
        h->dumps++;
        break;
    case HPROF_SEGMENT:
        if (!h->dumps) hprof_dump(h, true, length);
        h->open = true;
        break;
    case HPROF_DUMP_END:
        h->dumps += h->open;
        h->open = false;
        break;
    default:
        if (!tag || tag > 0x2c) hprof_wrong(h, offset, "a record with an unknown tag");
    }
    at = hprof_offset(h);
    if (!h->status && !h->cut && at < end) hprof_skip(h, end - at);
}

/* Fails for good: without a header nothing can be read. */
static bool hprof_bad_header(hprof *h, hd_status status, uint64_t offset) {
    hd_error found = HD_ZERO;
    if (h->status) return false;
    found.status = status;
    found.offset = offset;
    snprintf(found.message, sizeof found.message,
             status == HD_MALFORMED ? "a header that does not end" : "ids of %u bytes; 4 or 8 expected", h->id_size);
    *h->lines.err = found;
    return hprof_fail(h);
}

static bool hprof_header(hprof *h) {
    const uint8_t *p, *end;
    size_t n;
    if (!hprof_need(h, sizeof h->version + 12) && h->status) return false;
    p = h->lines.window->at;
    n = (size_t)(h->lines.window->end - p);
    h->cut = false;
    end = memchr(p, 0, n < sizeof h->version ? n : sizeof h->version);
    if (!end) return hprof_bad_header(h, HD_MALFORMED, 0);
    n = (size_t)(end - p);
    if (!hprof_need(h, n + 13)) return hprof_bad_header(h, HD_MALFORMED, n);
    p = h->lines.window->at;
    memcpy(h->version, p, n + 1);
    h->id_size = hprof_get32(p + n + 1);
    h->time_ms = hprof_get64(p + n + 5);
    if (h->id_size != 4 && h->id_size != 8) return hprof_bad_header(h, HD_UNSUPPORTED, n + 1);
    return hprof_skip(h, n + 13);
}

/* Skips the header of another file, as `cat` appends it. False: none is here. */
static bool hprof_next_file(hprof *h) {
    char version[sizeof h->version];
    uint32_t id_size = h->id_size;
    bool here = h->dumps + h->open && hprof_need(h, sizeof "JAVA PROFILE 1.0.1" + 12) &&
                hprof_detect(h->lines.window->at, (size_t)(h->lines.window->end - h->lines.window->at));
    h->cut = false;
    if (!here) return false;
    if (h->open) hprof_wrong(h, hprof_offset(h), "the end of the heap dump expected, and another file begins");
    memcpy(version, h->version, sizeof version);
    h->dumps += h->open;
    h->open = false, h->behind = true;
    if (!hprof_header(h)) return false;
    memcpy(h->version, version, sizeof version);
    h->id_size = id_size;
    return true;
}

/* Only the first dump is read. */
static void hprof_warn_of_others(const hprof *h) {
    const hd_options *o = &h->lines.reporter->options;
    hd_error others = HD_ZERO;
    if (h->dumps + h->open < 2 || !o->warning) return;
    others.status = HD_UNSUPPORTED;
    others.offset = HD_UNKNOWN;
    snprintf(others.message, sizeof others.message, "only the first of %llu heap dumps in the file is read",
             (unsigned long long)(h->dumps + h->open));
    o->warning(o->warning_user, &others);
}

/* All records. A dump without its end, or no dump: the file was cut off. */
static void hprof_records(hprof *h) {
    while (!h->status && !h->cut) {
        if (hprof_next_file(h)) continue;
        if (!h->status && hprof_need(h, 1)) {
            hprof_record(h);
            continue;
        }
        h->cut = false;
        break;
    }
    if (h->cut) hprof_wrong(h, hprof_offset(h), "the file was cut off inside a record");
    else if (h->open) hprof_wrong(h, hprof_offset(h), "the end of the heap dump expected: the file was cut off");
    else if (!h->dumps) hprof_wrong(h, hprof_offset(h), "a heap dump expected, and the file ends");
}

/* The end of reading. ---------------------------------------------------------------------------- */

/* Instances that came before their class. */
static bool hprof_take_late(hprof *h) {
    size_t head = 1 + 2 * (size_t)h->id_size + 8;
    for (size_t at = 0; at < h->late_size && !h->status;) {
        size_t n = head + hprof_get32(h->late + at + head - 4);
        hprof_take_instance(h, h->late + at, false);
        at += n;
    }
    if (h->left_out) {
        char message[80];
        snprintf(message, sizeof message, "%llu instances of classes without a record: without references",
                 (unsigned long long)h->left_out);
        hprof_wrong(h, HD_UNKNOWN, message);
    }
    return !h->status;
}

/* Names of classes, which may have come late. A name that comes twice has its class loader as scope. */
static bool hprof_name_classes(hprof *h) {
    hprof_map seen = { 0 };
    if (h->class_class) hprof_name_class(h, h->class_class, 0, hd_cstr("java/lang/Class"), hd_cstr(""));
    for (size_t i = 0; i < h->class_count && !h->status; i++) {
        const hprof_class *c = &h->classes[i];
        hd_str name = hprof_string(h, c->name);
        char scope[40] = "";
        if (hprof_array_type(name)) continue;
        if (c->name && hprof_map_get(h, &seen, c->name) != HPROF_NONE)
            snprintf(scope, sizeof scope, "loader 0x%llx", (unsigned long long)c->loader);
        if (c->name && !hprof_map_put(h, &seen, c->name, 0)) break;
        if (!name.len) name = hd_cstr("<unknown class>");
        hprof_name_class(h, c->in_graph, c->id, name, hd_cstr(scope));
    }
    room_free(&h->lines, seen.slot, seen.room, sizeof *seen.slot);
    return !h->status;
}

/* Classes by their number in the graph, for values. */
static bool hprof_index_classes(hprof *h) {
    size_t n = hd_graph_class_count(h->graph);
    if (!room_grow(&h->lines, &h->by_graph, 0, n, &h->by_graph_room, sizeof *h->by_graph)) return hprof_fail(h);
    memset(h->by_graph, 0xff, h->by_graph_room * sizeof *h->by_graph);
    for (uint32_t i = 0; i < h->class_count; i++) h->by_graph[h->classes[i].in_graph] = i;
    return true;
}

static bool hprof_seal(hprof *h, const hd_options *options) {
    if (!hprof_take_late(h) || !hprof_name_classes(h) || !hprof_order(h) || !hprof_sizes(h) || !hprof_names(h) ||
        !hprof_add_roots(h))
        return false;
    hprof_take_slots(h);
    room_free(&h->lines, h->sized, h->sized_room, sizeof *h->sized);
    room_free(&h->lines, h->late, h->late_room, 1);
    h->sized = NULL, h->order = NULL, h->late = NULL;
    h->sized_count = h->sized_room = h->late_size = h->late_room = 0;
    h->status = hd_graph_seal(h->graph, options, h->lines.err);
    return !h->status && hprof_index_classes(h);
}

void hprof_free(void *document) {
    hprof *h = document;
    hd_allocator a = h->allocator;
    struct { void *p; size_t size; } blocks[] = {
        { h->names.data, h->names.room }, { h->texts, h->text_room * sizeof *h->texts },
        { h->text_of.slot, h->text_of.room * sizeof *h->text_of.slot },
        { h->class_of.slot, h->class_of.room * sizeof *h->class_of.slot },
        { h->name_of.slot, h->name_of.room * sizeof *h->name_of.slot },
        { h->classes, h->class_room * sizeof *h->classes },
        { h->field_names, h->field_name_room * sizeof *h->field_names },
        { h->field_types, h->field_type_room }, { h->refs, h->ref_room * sizeof *h->refs },
        { h->sized, h->sized_room * sizeof *h->sized }, { h->late, h->late_room },
        { h->kept, h->kept_room * sizeof *h->kept }, { h->bytes, h->bytes_room },
        { h->wide, h->wide_room * sizeof *h->wide }, { h->gap, h->gap_room * sizeof *h->gap },
        { h->thread, h->thread_room * sizeof *h->thread },
        { h->named, h->named_room * sizeof *h->named },
        { h->frame, h->frame_room * sizeof *h->frame }, { h->trace, h->trace_room * sizeof *h->trace },
        { h->frame_ids, h->frame_id_room * sizeof *h->frame_ids },
        { h->frame_numbers, h->frame_number_room * sizeof *h->frame_numbers },
        { h->root, h->root_room * sizeof *h->root },
        { h->by_graph, h->by_graph_room * sizeof *h->by_graph },
        { h->frame_of.slot, h->frame_of.room * sizeof *h->frame_of.slot },
        { h->trace_of.slot, h->trace_of.room * sizeof *h->trace_of.slot },
        { h->label_of.slot, h->label_of.room * sizeof *h->label_of.slot },
        { h->serial_of.slot, h->serial_of.room * sizeof *h->serial_of.slot } };
    hd_graph_free(h->graph);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (blocks[i].p) a.allocate(a.user, blocks[i].p, blocks[i].size, 0);
    a.allocate(a.user, h, sizeof *h, 0);
}

static bool hprof_begin(hprof *h, hd_dump *dump, hd_in in, const hd_options *options, hd_error *err) {
    hd_graph_desc desc = HD_ZERO;
    memset(h, 0, sizeof *h);
    h->allocator = options->allocator;
    hd_dump_set_document(dump, h, 0);
    h->lines = hd_lines_of(hd_dump_window(dump, in), hd_dump_reporter(dump), err);
    h->referent_name = HPROF_NONE;
    h->wanted = options->layout;
    h->soft_weak = options->soft_weak;
    h->total = in.data || in.size ? in.size : HD_UNKNOWN;
    h->seed = (uint64_t)(uintptr_t)h * 0x9e3779b97f4a7c15u ^ (uint64_t)clock() << 32 ^ (uint64_t)time(NULL);
    desc.allocator = options->allocator;
    desc.limits = options->limits;
    h->graph = hd_graph_create(&desc, err);
    if (!h->graph) hprof_fail(h);
    return h->graph != NULL;
}

hd_status hprof_read(hd_dump *dump, hd_in in, const hd_options *options, hd_error *err) {
    hd_allocator a = options->allocator;
    hprof *h = a.allocate(a.user, NULL, 0, sizeof *h);
    if (!h) {
        memset(err, 0, sizeof *err);
        err->status = HD_OUT_OF_MEMORY;
        snprintf(err->message, sizeof err->message, "no memory for %zu bytes", sizeof *h);
        return err->status;
    }
    if (!hprof_begin(h, dump, in, options, err) || !hprof_header(h)) return h->status;
    hprof_records(h);
    if (!h->status) hprof_warn_of_others(h);
    if (!h->status) hprof_seal(h, options);
    return h->status;
}

const hd_graph *hprof_graph(const void *document) { return ((const hprof *)document)->graph; }

/* Facts and values. ------------------------------------------------------------------------------ */

hd_status hprof_info(const void *document, hd_fact_fn each, void *user, hd_error *err) {
    const hprof *h = document;
    const hd_fact facts[] = {
        { "version", NULL, 0, hd_cstr(h->version) }, { "id size", "bytes", h->id_size, { NULL, 0 } },
        { "object header", "bytes", h->layout.header, { NULL, 0 } },
        { "reference", "bytes", h->layout.reference, { NULL, 0 } },
        { "heap dumps in the file", NULL, h->dumps + h->open, { NULL, 0 } },
        { "stack traces", NULL, h->trace_count, { NULL, 0 } },
        { "stack frames", NULL, h->frame_count, { NULL, 0 } } };
    (void)err;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        hd_status status = each(user, &facts[i]);
        if (status) return status;
    }
    return HD_OK;
}

void hprof_value(const void *document, uint32_t object, hd_value *value) {
    const hprof *h = document;
    const hprof_class *c = hprof_class_of(h, object);
    const hprof_kept *kept;
    if (hd_graph_object(h->graph, object).class_index == h->class_class) hprof_class_value(h, object, value);
    switch (c ? c->says : HPROF_PLAIN) {
    case HPROF_STRING: hprof_string_value(h, object, value); break;
    case HPROF_BOXED: if ((kept = hprof_kept_of(h, object))) hprof_boxed_value(kept, value); break;
    case HPROF_NAMED:
    case HPROF_THREAD: hprof_name_value(h, object, value); break;
    case HPROF_COUNTED:
    case HPROF_DEQUE: hprof_count_value(h, object, c, value); break;
    case HPROF_WRAPPED: hprof_wrapped_value(h, object, c, value); break;
    default: break;
    }
}
