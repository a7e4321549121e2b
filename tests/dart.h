/* Dart snapshots for tests and benchmarks. Include after heapdump.h. snap_ calls append a snapshot to memory, number
   by number; `pad` lengthens every number by that number of bytes. snap_sample is a snapshot with every kind of
   record and value. dart_repeat writes one snapshot's content many times: object 1 of the first copy refers to object
   1 of each other copy. */
#ifndef DART_H
#define DART_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct snap {
    uint8_t *data;
    size_t size, capacity;
    unsigned pad;
} snap;

HD_UNUSED static void snap_bytes(snap *s, const void *data, size_t size) {
    if (s->capacity - s->size < size) {
        s->capacity = 2 * s->capacity + size + 64;
        s->data = (uint8_t *)realloc(s->data, s->capacity);
        if (!s->data) abort();
    }
    if (size) memcpy(s->data + s->size, data, size);
    s->size += size;
}

HD_UNUSED static void snap_uleb(snap *s, uint64_t value) {
    uint8_t bytes[32];
    size_t n = 0, most;
    for (; value >= 128; value >>= 7) bytes[n++] = (uint8_t)(value | 128);
    bytes[n++] = (uint8_t)value;
    for (most = n + s->pad > 10 ? 10 : n + s->pad; n < most; bytes[n++] = 0) bytes[n - 1] |= 128;
    snap_bytes(s, bytes, n);
}

HD_UNUSED static void snap_numbers(snap *s, size_t n, const uint64_t *values) {
    for (size_t i = 0; i < n; i++) snap_uleb(s, values[i]);
}

HD_UNUSED static void snap_text(snap *s, hd_str text) {
    snap_uleb(s, text.len);
    snap_bytes(s, text.data, text.len);
}
HD_UNUSED static void snap_str(snap *s, const char *text) { snap_text(s, hd_cstr(text)); }

HD_UNUSED static void snap_header(snap *s, const hd_dart_header_info *h) {
    snap_bytes(s, "dartheap", 8);
    snap_uleb(s, h->flags);
    snap_text(s, h->name);
    snap_uleb(s, h->shallow_size);
    snap_uleb(s, h->capacity);
    snap_uleb(s, h->external_size);
    snap_uleb(s, h->class_count);
}

HD_UNUSED static void snap_class(snap *s, hd_dart_class_info c) {
    hd_dart_field f;
    snap_uleb(s, c.flags);
    snap_text(s, c.name);
    snap_text(s, c.library);
    snap_text(s, c.library_uri);
    snap_text(s, c.reserved);
    snap_uleb(s, c.field_count);
    while (hd_dart_next_field(&c, &f)) {
        snap_uleb(s, f.flags);
        snap_uleb(s, f.index);
        snap_text(s, f.name);
        snap_text(s, f.reserved);
    }
}

HD_UNUSED static void snap_data(snap *s, const hd_dart_value *d) {
    snap_uleb(s, d->tag);
    if (d->tag == HD_DART_BOOL || d->tag == HD_DART_INTEGER || (d->tag >= HD_DART_LATIN1 && d->tag <= HD_DART_LENGTH))
        snap_uleb(s, d->value);
    if (d->tag == HD_DART_DOUBLE) {
        uint64_t bits;
        memcpy(&bits, &d->number, 8);
        for (int i = 0; i < 8; i++, bits >>= 8) {
            uint8_t byte = (uint8_t)bits;
            snap_bytes(s, &byte, 1);
        }
    }
    if (d->tag == HD_DART_LATIN1 || d->tag == HD_DART_UTF16 || d->tag == HD_DART_NAME) {
        snap_uleb(s, d->tag == HD_DART_UTF16 ? d->text.len / 2 : d->text.len);
        snap_bytes(s, d->text.data, d->text.len);
    }
}

/* Object ids of copy k are higher by k times the number of objects. */
HD_UNUSED static void dart_repeat_pass(hd_in in, uint32_t copies, uint32_t copy, char kind, snap *s, hd_out out) {
    hd_dart_reader *r = NULL;
    hd_dart_record record;
    if (hd_dart_open(in, NULL, &r, NULL)) abort();
    for (;;) {
        const hd_dart_header_info *h = hd_dart_reader_header(r);
        uint64_t shift;
        if (hd_dart_next(r, &record, NULL)) abort();
        shift = copy * h->object_count;
        if (kind == 'c' && record.kind == 'c') {
            hd_dart_header_info all = *h;
            all.shallow_size *= copies;
            all.capacity *= copies;
            all.external_size *= copies;
            if (record.id == 1) snap_header(s, &all);
            snap_class(s, record.described);
        }
        if (kind == 'c' && record.kind == 'o') {
            snap_uleb(s, h->reference_count * copies + copies - 1);
            snap_uleb(s, h->object_count * copies);
            break;
        }
        if (kind == 'o' && record.kind == 'o') {
            uint64_t more = !copy && record.id == 1 ? copies - 1 : 0;
            snap_uleb(s, record.class_id);
            snap_uleb(s, record.size);
            snap_data(s, &record.data);
            snap_uleb(s, record.reference_count + more);
            for (uint64_t i = 1; i <= more; i++) snap_uleb(s, i * h->object_count + 1);
        }
        if (kind == 'o' && (record.kind == 'o' || record.kind == 'r'))
            for (size_t i = 0; i < record.count; i++)
                snap_uleb(s, record.references[i] ? record.references[i] + shift : 0);
        if (kind == 'x' && (record.kind == 'i' || !record.kind) && !copy && record.id < 2)
            snap_uleb(s, h->external_count * copies); /* also if the snapshot has no external objects */
        if (kind == 'X' && record.kind == 'x') {
            snap_uleb(s, record.id ? record.id + shift : 0);
            snap_uleb(s, record.size);
            snap_text(s, record.name);
        }
        if (kind == 'i' && record.kind == 'i') snap_uleb(s, record.identity);
        if (!record.kind || (kind == 'x' && record.kind == 'i')) break;
        if (s->size < 65536) continue;
        if (out.write(out.user, s->data, s->size)) abort();
        s->size = 0;
    }
    hd_dart_close(r);
}

HD_UNUSED static void dart_repeat(const void *data, size_t size, uint32_t copies, hd_out out) {
    static const char kinds[] = "coxXi";
    snap s;
    memset(&s, 0, sizeof s);
    for (int k = 0; k < 5; k++)
        for (uint32_t copy = 0; copy < (kinds[k] == 'c' || kinds[k] == 'x' ? 1 : copies); copy++)
            dart_repeat_pass(hd_in_memory(data, size), copies, copy, kinds[k], &s, out);
    if (s.size && out.write(out.user, s.data, s.size)) abort();
    free(s.data);
}

/* A class with up to two fields; a NULL field is omitted. */
HD_UNUSED static void snap_named(snap *s, const char *name, const char *library, const char *uri, const char *field,
                                 const char *second) {
    snap_uleb(s, 0);
    snap_str(s, name);
    snap_str(s, library);
    snap_str(s, uri);
    snap_str(s, "");
    snap_uleb(s, (field ? 1u : 0u) + (second ? 1u : 0u));
    for (int i = 0; i < 2; i++)
        if (i ? second : field) {
            snap_uleb(s, 1);
            snap_uleb(s, i ? 2 : 0);
            snap_str(s, i ? second : field);
            snap_str(s, "");
        }
}

HD_UNUSED static void snap_object(snap *s, uint64_t class_id, uint64_t size, const void *data, size_t data_size, size_t n,
                                  const uint64_t *references) {
    snap_uleb(s, class_id);
    snap_uleb(s, size);
    snap_bytes(s, data, data_size);
    snap_uleb(s, n);
    snap_numbers(s, n, references);
}

/* Twelve objects in five classes; objects 11 and 12 are garbage. */
HD_UNUSED static void snap_sample(snap *s, bool identities) {
    static const uint64_t root[] = { 2, 3, 0, 9 }, list[] = { 4, 5, 4, 300 - 294 }, node[] = { 7, 0, 8 };
    static const uint64_t named[] = { 10 }, cycle[] = { 12 }, back[] = { 11, 4 };
    static const uint64_t codes[] = { 0, 0, 77, 0, 1073741823, 5, 0, 0, 6, 0, 7, 128 };
    hd_dart_header_info h;
    memset(&h, 0, sizeof h);
    h.flags = 1;
    h.name = hd_cstr("main");
    h.shallow_size = 1000;
    h.capacity = 4096;
    h.external_size = 1016;
    h.class_count = 5;
    snap_header(s, &h);
    snap_named(s, "Root", "", "", NULL, NULL);
    snap_named(s, "_List", "dart.core", "dart:core", NULL, NULL);
    snap_named(s, "_OneByteString", "dart.core", "dart:core", NULL, NULL);
    snap_named(s, "Node", "", "package:app/node.dart", "left", "right");
    snap_named(s, "_Double", "dart.core", "dart:core", "unused", NULL);
    snap_uleb(s, 20);
    snap_uleb(s, 12);
    snap_object(s, 1, 0, "\0", 1, 4, root);
    snap_object(s, 2, 32, "\7\4", 2, 4, list);
    snap_object(s, 4, 24, "\0", 1, 3, node);
    snap_object(s, 3, 16, "\5\5\5hello", 8, 0, NULL);
    snap_object(s, 3, 16, "\5\5\5hello", 8, 0, NULL);
    snap_object(s, 5, 12, "\4\0\0\0\0\0\0\370\277", 9, 0, NULL); /* -1.5 */
    snap_object(s, 2, 8, "\3\377\377\377\377\377\377\377\377\377\1", 11, 0, NULL); /* -1 */
    snap_object(s, 0, 0, "\2\1", 2, 0, NULL);
    snap_object(s, 4, 40, "\10\4n\303\244h", 6, 1, named);
    snap_object(s, 3, 300, "\6\310\1\3\74\330\211\337a\0", 10, 0, NULL); /* 200 units; U+1F389, a */
    snap_object(s, 4, 20, "\1", 1, 1, cycle);
    snap_object(s, 4, 532, "\5\0\0", 3, 2, back);
    snap_uleb(s, 2);
    snap_uleb(s, 9);
    snap_uleb(s, 1000);
    snap_str(s, "image");
    snap_uleb(s, 3);
    snap_uleb(s, 16);
    snap_str(s, "");
    if (identities) snap_numbers(s, 12, codes);
}

#endif
