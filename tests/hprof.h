/* HPROF files for tests, seeds and examples: a builder for each record, and a small shop that has all of them.

       jvm_file f = jvm_begin("1.0.2", 8);       // ids of 8 bytes
       uint64_t name = jvm_put_string(&f, "Shop"); // ids of strings are chosen
       jvm_open(&f, 0x1c);                         // a segment of a heap dump ...
       jvm_put_root(&f, 0x05, shop, 0, 0);
       jvm_close(&f);                              // ... has its length now
       free(f.data);

   Include after heapdump.h. */
#ifndef HPROF_H
#define HPROF_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct jvm_file {
    uint8_t *data;
    size_t size, room, record;   /* record: offset of the open record's length */
    uint32_t ids;                /* bytes of an id */
    uint64_t strings;            /* number of strings so far */
    uint64_t next, gap;          /* address of the next object, and bytes between objects */
} jvm_file;

/* A field with its value; the type is as in the file. */
typedef struct jvm_slot_of { uint64_t name; uint8_t type; uint64_t value; } jvm_slot_of;

/* Bytes of headers and references in the JVM. `base`: of an array's header. */
typedef struct jvm_machine { uint32_t ids, header, reference, base; } jvm_machine;
static const jvm_machine jvm_compressed = { 8, 12, 4, 16 }, jvm_references = { 8, 12, 8, 16 },
                           jvm_wide = { 8, 16, 8, 24 }, jvm_narrow = { 4, 8, 4, 12 };

HD_UNUSED static void jvm_put(jvm_file *f, const void *data, size_t n) {
    if (n > f->room - f->size) {
        f->room = 2 * f->room + n + 256;
        f->data = (uint8_t *)realloc(f->data, f->room);
        if (!f->data) abort();
    }
    if (n) memcpy(f->data + f->size, data, n);
    f->size += n;
}

/* Writes the low `n` bytes of a number. */
HD_UNUSED static void jvm_put_number(jvm_file *f, unsigned n, uint64_t value) {
    uint8_t bytes[8];
    for (unsigned i = 0; i < n; i++) bytes[i] = (uint8_t)(value >> 8 * (n - 1 - i));
    jvm_put(f, bytes, n);
}

HD_UNUSED static void jvm_put_id(jvm_file *f, uint64_t id) { jvm_put_number(f, f->ids, id); }

HD_UNUSED static jvm_file jvm_begin(const char *version, uint32_t ids) {
    jvm_file f = { NULL, 0, 0, 0, 0, 0, 0, 0 };
    f.ids = ids;
    f.next = 0xe0000000u;
    jvm_put(&f, "JAVA PROFILE ", 13);
    jvm_put(&f, version, strlen(version) + 1);
    jvm_put_number(&f, 4, ids);
    jvm_put_number(&f, 8, UINT64_C(1700000000123));
    return f;
}

HD_UNUSED static void jvm_open(jvm_file *f, unsigned tag) {
    jvm_put_number(f, 1, tag);
    jvm_put_number(f, 4, 7);   /* microseconds */
    f->record = f->size;
    jvm_put_number(f, 4, 0);
}

HD_UNUSED static void jvm_set_length(jvm_file *f, uint64_t length) {
    size_t end = f->size;
    f->size = f->record;
    jvm_put_number(f, 4, length);
    f->size = end;
}

HD_UNUSED static void jvm_close(jvm_file *f) { jvm_set_length(f, f->size - f->record - 4); }

HD_UNUSED static uint64_t jvm_put_string_with(jvm_file *f, uint64_t id, const char *text) {
    jvm_open(f, 0x01);
    jvm_put_id(f, id);
    jvm_put(f, text, strlen(text));
    jvm_close(f);
    return id;
}

HD_UNUSED static uint64_t jvm_put_string(jvm_file *f, const char *text) {
    return jvm_put_string_with(f, 0x5000 + 8 * f->strings++, text);
}

HD_UNUSED static void jvm_put_load(jvm_file *f, uint32_t serial, uint64_t id, uint64_t name) {
    jvm_open(f, 0x02);
    jvm_put_number(f, 4, serial);
    jvm_put_id(f, id);
    jvm_put_number(f, 4, 1);
    jvm_put_id(f, name);
    jvm_close(f);
}

HD_UNUSED static void jvm_put_frame(jvm_file *f, uint64_t id, uint64_t method, uint64_t source, uint32_t serial,
                                      int32_t line) {
    jvm_open(f, 0x04);
    jvm_put_id(f, id);
    jvm_put_id(f, method);
    jvm_put_id(f, method);     /* the signature */
    jvm_put_id(f, source);
    jvm_put_number(f, 4, serial);
    jvm_put_number(f, 4, (uint32_t)line);
    jvm_close(f);
}

HD_UNUSED static void jvm_put_trace(jvm_file *f, uint32_t serial, uint32_t thread, uint32_t n, const uint64_t *frames) {
    jvm_open(f, 0x05);
    jvm_put_number(f, 4, serial);
    jvm_put_number(f, 4, thread);
    jvm_put_number(f, 4, n);
    for (uint32_t i = 0; i < n; i++) jvm_put_id(f, frames[i]);
    jvm_close(f);
}

/* Sub-records of a heap dump. ---------------------------------------------------------------------- */

/* The address of the next object, which has this size. */
HD_UNUSED static uint64_t jvm_place_at(jvm_file *f, uint64_t size) {
    uint64_t id = f->next;
    f->next += (size + 7) / 8 * 8 + f->gap;
    return id;
}

/* A root of any kind. `thread` and `frame` are written if the kind has them. */
HD_UNUSED static void jvm_put_root(jvm_file *f, unsigned tag, uint64_t id, uint32_t thread, uint32_t frame) {
    bool two = tag == 0x02 || tag == 0x03 || tag == 0x08 || tag == 0x8e;
    jvm_put_number(f, 1, tag);
    jvm_put_id(f, id);
    if (tag == 0x01) jvm_put_id(f, id + 1);
    if (two || tag == 0x04 || tag == 0x06) jvm_put_number(f, 4, thread);
    if (two) jvm_put_number(f, 4, frame);
}

HD_UNUSED static void jvm_put_value(jvm_file *f, unsigned type, uint64_t value) {
    static const uint8_t width[12] = { 0, 0, 0, 0, 1, 2, 4, 8, 1, 2, 4, 8 };
    jvm_put_number(f, type == 2 ? f->ids : width[type % 12], value);
}

typedef struct jvm_class_dump {
    uint64_t id, super, loader, signers, domain;
    uint32_t size, constants, statics, fields; /* numbers of `slot`, one after the other */
} jvm_class_dump;

HD_UNUSED static void jvm_put_class(jvm_file *f, jvm_class_dump c, const jvm_slot_of *slot) {
    jvm_put_number(f, 1, 0x20);
    jvm_put_id(f, c.id);
    jvm_put_number(f, 4, 1);
    jvm_put_id(f, c.super);
    jvm_put_id(f, c.loader);
    jvm_put_id(f, c.signers);
    jvm_put_id(f, c.domain);
    jvm_put_id(f, 0);
    jvm_put_id(f, 0);
    jvm_put_number(f, 4, c.size);
    jvm_put_number(f, 2, c.constants);
    for (uint32_t i = 0; i < c.constants; i++, slot++) {
        jvm_put_number(f, 2, i);
        jvm_put_number(f, 1, slot->type);
        jvm_put_value(f, slot->type, slot->value);
    }
    jvm_put_number(f, 2, c.statics);
    for (uint32_t i = 0; i < c.statics; i++, slot++) {
        jvm_put_id(f, slot->name);
        jvm_put_number(f, 1, slot->type);
        jvm_put_value(f, slot->type, slot->value);
    }
    jvm_put_number(f, 2, c.fields);
    for (uint32_t i = 0; i < c.fields; i++, slot++) {
        jvm_put_id(f, slot->name);
        jvm_put_number(f, 1, slot->type);
    }
}

/* An instance with the values of its fields, those of super classes last. */
HD_UNUSED static void jvm_put_instance(jvm_file *f, uint64_t id, uint64_t of, uint32_t n, const jvm_slot_of *slot) {
    size_t at, end;
    jvm_put_number(f, 1, 0x21);
    jvm_put_id(f, id);
    jvm_put_number(f, 4, 1);
    jvm_put_id(f, of);
    at = f->size;
    jvm_put_number(f, 4, 0);
    for (uint32_t i = 0; i < n; i++) jvm_put_value(f, slot[i].type, slot[i].value);
    end = f->size;
    f->size = at;
    jvm_put_number(f, 4, end - at - 4);
    f->size = end;
}

HD_UNUSED static void jvm_put_objects(jvm_file *f, uint64_t id, uint64_t of, uint32_t n, const uint64_t *ids) {
    jvm_put_number(f, 1, 0x22);
    jvm_put_id(f, id);
    jvm_put_number(f, 4, 1);
    jvm_put_number(f, 4, n);
    jvm_put_id(f, of);
    for (uint32_t i = 0; i < n; i++) jvm_put_id(f, ids[i]);
}

/* An array of n values, without its data; `tag` is 0x23 or 0xc3. */
HD_UNUSED static void jvm_put_array(jvm_file *f, unsigned tag, uint64_t id, unsigned type, uint32_t n) {
    jvm_put_number(f, 1, tag);
    jvm_put_id(f, id);
    jvm_put_number(f, 4, 1);
    jvm_put_number(f, 4, n);
    jvm_put_number(f, 1, type);
}

/* A byte[] with text; returns its address. */
HD_UNUSED static uint64_t jvm_put_bytes(jvm_file *f, const jvm_machine *m, const char *text, uint32_t n) {
    uint64_t id = jvm_place_at(f, m->base + n);
    jvm_put_array(f, 0x23, id, 8, n);
    jvm_put(f, text, n);
    return id;
}

/* A java.lang.String with these fields: value, hash, coder. */
HD_UNUSED static uint64_t jvm_put_text(jvm_file *f, const jvm_machine *m, uint64_t of, const char *text) {
    jvm_slot_of slot[] = { { 0, 2, 0 }, { 0, 10, 0 }, { 0, 8, 0 } };
    uint64_t id;
    slot[0].value = jvm_put_bytes(f, m, text, (uint32_t)strlen(text));
    id = jvm_place_at(f, m->header + m->reference + 4 + 1);
    jvm_put_instance(f, id, of, 3, slot);
    return id;
}

/* A small shop. -------------------------------------------------------------------------------------- */

/* Ids of its classes: these, in this order, 0x200 bytes apart. */
enum { SHOP_OBJECT, SHOP_STRING, SHOP_THREAD, SHOP_SHOP, SHOP_ITEM, SHOP_TOY, SHOP_REFERENCE, SHOP_WEAK, SHOP_INTEGER,
       SHOP_BYTES, SHOP_OBJECTS, SHOP_CLASSES };
HD_UNUSED static uint64_t shop_class(unsigned i) { return 0xd0000000u + 0x200 * (uint64_t)i; }

/* Strings, classes, two frames and a trace. Fills the ids of the names of fields. */
HD_UNUSED static void shop_head(jvm_file *f, uint64_t name[9]) {
    static const char *const classes[SHOP_CLASSES] = {
        "java/lang/Object", "java/lang/String", "java/lang/Thread", "Shop", "Shop$Item", "Shop$Toy",
        "java/lang/ref/Reference", "java/lang/ref/WeakReference", "java/lang/Integer", "[B", "[Ljava/lang/Object;" };
    static const char *const names[9] = { "value", "hash", "coder", "name", "price", "next", "referent", "run", "Shop.java" };
    uint64_t frames[2] = { 0x71, 0x72 };
    for (unsigned i = 0; i < 9; i++) name[i] = jvm_put_string(f, names[i]);
    for (unsigned i = 0; i < SHOP_CLASSES; i++) jvm_put_load(f, i + 1, shop_class(i), jvm_put_string(f, classes[i]));
    jvm_put_frame(f, 0x71, name[7], name[8], SHOP_SHOP + 1, 41);
    jvm_put_frame(f, 0x72, name[7], name[8], SHOP_THREAD + 1, -3);
    jvm_put_trace(f, 1, 0, 0, NULL);
    jvm_put_trace(f, 2, 1, 2, frames);
}

HD_UNUSED static void shop_put_class(jvm_file *f, unsigned i, unsigned super, uint32_t statics, uint32_t fields,
                                     const jvm_slot_of *slot) {
    jvm_class_dump c = { 0, 0, 0, 0, 0, 0, 0, 0, 0 };
    c.id = shop_class(i);
    c.super = i ? shop_class(super) : 0;
    c.statics = statics;
    c.fields = fields;
    jvm_put_class(f, c, slot);
}

HD_UNUSED static void shop_classes(jvm_file *f, const uint64_t name[9], uint64_t list) {
    jvm_slot_of string[] = { { name[0], 2, 0 }, { name[1], 10, 0 }, { name[2], 8, 0 } },
                  shop[] = { { name[5], 2, list }, { name[4], 10, 7 } },
                  item[] = { { name[3], 2, 0 }, { name[4], 11, 0 }, { name[5], 2, 0 } },
                  referent[] = { { name[5], 2, 0 }, { name[6], 2, 0 } }, number[] = { { name[0], 10, 0 } };
    shop_put_class(f, SHOP_OBJECT, 0, 0, 0, NULL);
    shop_put_class(f, SHOP_STRING, SHOP_OBJECT, 0, 3, string);
    shop_put_class(f, SHOP_THREAD, SHOP_OBJECT, 0, 1, item);
    shop_put_class(f, SHOP_SHOP, SHOP_OBJECT, 2, 0, shop);
    shop_put_class(f, SHOP_ITEM, SHOP_OBJECT, 0, 3, item);
    shop_put_class(f, SHOP_TOY, SHOP_ITEM, 0, 1, number);
    shop_put_class(f, SHOP_REFERENCE, SHOP_OBJECT, 0, 2, referent);
    shop_put_class(f, SHOP_WEAK, SHOP_REFERENCE, 0, 0, NULL);
    shop_put_class(f, SHOP_INTEGER, SHOP_OBJECT, 0, 1, number);
    shop_put_class(f, SHOP_BYTES, SHOP_OBJECT, 0, 0, NULL);
    shop_put_class(f, SHOP_OBJECTS, SHOP_OBJECT, 0, 0, NULL);
}

/* A thread, two toys in a list, a weak reference to the second one, an Integer, and an array of them with a hole. */
HD_UNUSED static void shop_objects(jvm_file *f, const jvm_machine *m) {
    uint64_t text = jvm_put_text(f, m, shop_class(SHOP_STRING), "main"), array[3] = { 0, 0, 0 };
    uint64_t thread = jvm_place_at(f, m->header + m->reference), item = m->header + 2 * m->reference + 8 + 4, other;
    jvm_slot_of name[] = { { 0, 2, 0 } }, toy[] = { { 0, 10, 3 }, { 0, 2, 0 }, { 0, 11, 100 }, { 0, 2, 0 } },
                  weak[] = { { 0, 2, 0 }, { 0, 2, 0 } }, number[] = { { 0, 10, 0xfffffffb } };
    name[0].value = text;
    jvm_put_instance(f, thread, shop_class(SHOP_THREAD), 1, name);
    toy[1].value = jvm_put_text(f, m, shop_class(SHOP_STRING), "caf\xe9");
    other = jvm_place_at(f, item);
    jvm_put_instance(f, other, shop_class(SHOP_TOY), 4, toy);
    array[0] = jvm_place_at(f, item);
    toy[3].value = other;
    jvm_put_instance(f, array[0], shop_class(SHOP_TOY), 4, toy);
    weak[0].value = array[0];
    weak[1].value = other;
    jvm_put_instance(f, jvm_place_at(f, m->header + 2 * m->reference), shop_class(SHOP_WEAK), 2, weak);
    array[2] = jvm_place_at(f, m->header + 4);
    jvm_put_instance(f, array[2], shop_class(SHOP_INTEGER), 1, number);
    other = jvm_place_at(f, (m->base + m->reference - 1) / m->reference * m->reference + 3 * m->reference);
    jvm_put_objects(f, other, shop_class(SHOP_OBJECTS), 3, array);
    (void)jvm_put_bytes(f, m, "", 0);
    jvm_put_root(f, 0x05, shop_class(SHOP_SHOP), 0, 0);
    jvm_put_root(f, 0x08, thread, 1, 2);
    jvm_put_root(f, 0x03, other, 1, 0);
    jvm_put_root(f, 0x01, array[0], 0, 0);
    jvm_put_root(f, 0x02, text, 1, 0xffffffff);
}

/* The whole file. `tag`: 0x1c for segments with an end, 0x0c for one dump. */
HD_UNUSED static jvm_file shop_of(const char *version, const jvm_machine *m, unsigned tag) {
    jvm_file f = jvm_begin(version, m->ids);
    uint64_t name[9];
    shop_head(&f, name);
    jvm_open(&f, tag);
    shop_classes(&f, name, f.next);
    if (tag == 0x1c) jvm_close(&f), jvm_open(&f, tag);
    shop_objects(&f, m);
    jvm_close(&f);
    if (tag == 0x1c) jvm_open(&f, 0x2c), jvm_close(&f);
    return f;
}

/* The shop as Android writes it: the classes last, the heap of what follows, an array without its data, more roots. */
HD_UNUSED static jvm_file android_of(const jvm_machine *m) {
    static const uint8_t roots[] = { 0xff, 0x04, 0x06, 0x07, 0x89, 0x8a, 0x8b, 0x8c, 0x8d, 0x8e, 0x90 };
    jvm_file f = jvm_begin("1.0.3", m->ids);
    uint64_t name[9];
    shop_head(&f, name);
    jvm_open(&f, 0x1c);
    jvm_put_number(&f, 1, 0xfe);
    jvm_put_number(&f, 4, 'Z');
    jvm_put_id(&f, name[3]);
    shop_objects(&f, m);
    jvm_put_array(&f, 0xc3, f.next, 8, 8);
    shop_classes(&f, name, f.next);
    for (unsigned i = 0; i < sizeof roots; i++) jvm_put_root(&f, roots[i], shop_class(i), 1, 0);
    jvm_close(&f);
    jvm_open(&f, 0x2c);
    jvm_close(&f);
    return f;
}

/* What Android's runtime writes: three heaps; the text of a string as an array inside the string; instance fields of
   java.lang.Class as static fields, and an array with an odd id for the other bytes of a class. */
enum { ART_OBJECT, ART_CLASS, ART_STRING, ART_THREAD, ART_ACTIVITY, ART_BYTES, ART_CHARS, ART_CLASSES };
HD_UNUSED static uint64_t art_class(unsigned i) { return 0x70000000u + 0x100 * (uint64_t)i; }

/* A string with its text: Latin-1 text, or UTF-16 in the file's byte order. */
HD_UNUSED static uint64_t art_put_string(jvm_file *f, unsigned type, const char *text, uint32_t n) {
    uint64_t id = jvm_place_at(f, 16 + (type == 5 ? 2 * n : n));
    jvm_slot_of slot[] = { { 0, 10, type == 8 ? 2 * n : 2 * n + 1 }, { 0, 10, 7 }, { 0, 2, id + 8 } };
    jvm_put_array(f, 0x23, id + 8, type, n);
    jvm_put(f, text, type == 5 ? 2 * n : n);
    jvm_put_instance(f, id, art_class(ART_STRING), 3, slot);
    return id;
}

HD_UNUSED static void art_put_heap(jvm_file *f, char heap, uint64_t name) {
    jvm_put_number(f, 1, 0xfe);
    jvm_put_number(f, 4, (unsigned char)heap);
    jvm_put_id(f, name);
}

HD_UNUSED static jvm_file art_of(void) {
    static const char *const classes[ART_CLASSES] = { "java.lang.Object", "java.lang.Class", "java.lang.String",
        "java.lang.Thread", "com.example.MainActivity", "byte[]", "char[]" };
    static const char *const names[] = { "value", "count", "hash", "name", "next", "shown", "cache", "$classOverhead",
        "$class$name", "$class$status", "app", "image", "zygote" };
    enum { VALUE, COUNT, HASH, NAME, NEXT, SHOWN, CACHE, OVERHEAD, CLASS_NAME, CLASS_STATUS, APP, IMAGE, ZYGOTE, NAMES };
    static const uint32_t sizes[ART_CLASSES] = { 8, 0, 16, 12, 17, 0, 0 }, counts[ART_CLASSES] = { 0, 0, 3, 1, 3, 0, 0 };
    jvm_file f = jvm_begin("1.0.3", 4);
    uint64_t name[NAMES], boot, text, thread, first, second;
    jvm_slot_of slot[3] = { { 0, 2, 0 }, { 0, 2, 0 }, { 0, 4, 1 } };
    for (unsigned i = 0; i < NAMES; i++) name[i] = jvm_put_string(&f, names[i]);
    for (unsigned i = 0; i < ART_CLASSES; i++) jvm_put_load(&f, i + 1, art_class(i), jvm_put_string(&f, classes[i]));
    f.next = 0x12c00000;
    jvm_open(&f, 0x1c);
    art_put_heap(&f, 'I', name[IMAGE]);
    boot = art_put_string(&f, 8, "boot", 4);
    jvm_close(&f), jvm_open(&f, 0x1c);
    art_put_heap(&f, 'Z', name[ZYGOTE]);
    for (unsigned i = 0; i < ART_CLASSES; i++) {
        const jvm_slot_of string[] = { { name[COUNT], 10, 0 }, { name[HASH], 10, 0 }, { name[VALUE], 2, 0 } };
        const jvm_slot_of other[] = { { name[NAME], 2, 0 }, { name[NEXT], 2, 0 }, { name[SHOWN], 4, 0 } };
        const jvm_slot_of statics[] = { { name[OVERHEAD], 2, art_class(i) | 1 }, { name[CLASS_NAME], 2, boot },
                                        { name[CLASS_STATUS], 10, 9 }, { name[CACHE], 2, i == ART_ACTIVITY ? boot : 0 } };
        jvm_slot_of all[7];
        jvm_class_dump c = { art_class(i), i ? art_class(ART_OBJECT) : 0, 0, 0, 0, sizes[i], 0, 4, counts[i] };
        memcpy(all, statics, sizeof statics);
        memcpy(all + 4, i == ART_STRING ? string : other, sizeof other);
        jvm_put_array(&f, 0x23, art_class(i) | 1, 8, 20);
        for (unsigned k = 0; k < 20; k++) jvm_put_number(&f, 1, 0);
        jvm_put_class(&f, c, all);
    }
    jvm_close(&f), jvm_open(&f, 0x1c);
    art_put_heap(&f, 'A', name[APP]);
    text = art_put_string(&f, 5, "\0c\0a\0f\0\xe9", 4);
    thread = jvm_place_at(&f, 12), first = jvm_place_at(&f, 17), second = jvm_place_at(&f, 17);
    slot[0].value = art_put_string(&f, 8, "main", 4);
    jvm_put_instance(&f, thread, art_class(ART_THREAD), 1, slot);
    slot[0].value = text, slot[1].value = second;
    jvm_put_instance(&f, first, art_class(ART_ACTIVITY), 3, slot);
    slot[1].value = 0;
    jvm_put_instance(&f, second, art_class(ART_ACTIVITY), 3, slot);
    jvm_put_array(&f, 0xc3, jvm_place_at(&f, 12 + 1000), 8, 1000);
    jvm_put_root(&f, 0x89, boot, 0, 0);
    jvm_put_root(&f, 0x05, art_class(ART_ACTIVITY), 0, 0);
    jvm_put_root(&f, 0x08, thread, 1, 0);
    jvm_put_root(&f, 0x03, first, 1, 0xffffffff);
    jvm_put_root(&f, 0x8d, art_class(ART_STRING), 0, 0);
    jvm_close(&f);
    jvm_open(&f, 0x2c), jvm_close(&f);
    return f;
}

/* One of each box of a number, and an array of each type. */
HD_UNUSED static jvm_file boxes_of(const jvm_machine *m) {
    static const char *const boxes[] = { "java/lang/Boolean", "java/lang/Character", "java/lang/Float", "java/lang/Double",
                                         "java/lang/Byte", "java/lang/Short", "java/lang/Integer", "java/lang/Long" };
    jvm_file f = jvm_begin("1.0.2", m->ids);
    jvm_slot_of slot = { 0, 0, 1 };
    jvm_class_dump c = { 0, 0, 0, 0, 0, 0, 0, 0, 1 };
    slot.name = jvm_put_string(&f, "value");
    for (unsigned i = 0; i < 8; i++) jvm_put_load(&f, i + 1, shop_class(i), jvm_put_string(&f, boxes[i]));
    jvm_open(&f, 0x1c);
    for (unsigned i = 0; i < 8; i++) {
        slot.type = (uint8_t)(4 + i);
        c.id = shop_class(i);
        jvm_put_class(&f, c, &slot);
        jvm_put_instance(&f, jvm_place_at(&f, m->header + (i % 4 == 3 ? 12u : 8u)), c.id, 1, &slot);
        jvm_put_array(&f, 0x23, jvm_place_at(&f, m->base), 4 + i, 0);
    }
    jvm_close(&f);
    jvm_open(&f, 0x2c);
    jvm_close(&f);
    return f;
}

#endif
