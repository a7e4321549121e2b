/* Heap dumps of JVMs: each record and sub-record in files that a builder writes, with exact objects, sizes, references,
   roots and values; random graphs, object by object; malformed and damaged input. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../heapdump.h"
#include "faults.h"
#include "graphs.h"
#include "heaps.h"
#include "readers.h"
#include "hprof.h"
#include "../examples/heapdump/formats/hprof.c"

static const hd_format format = { .name = "hprof", .title = "a heap dump of a JVM", .detect = hprof_detect,
                                  .read = hprof_read, .free = hprof_free, .graph = hprof_graph, .info = hprof_info,
                                  .value = hprof_value, .is = HD_FORMAT_BINARY };

/* A graph as text. ------------------------------------------------------------------------------------ */

typedef struct shown { char *data; size_t size, room; } shown;

static void say(shown *t, const char *pattern, ...) {
    for (;;) {
        va_list list;
        int n;
        va_start(list, pattern);
        n = vsnprintf(t->data ? t->data + t->size : NULL, t->room - t->size, pattern, list);
        va_end(list);
        assert_true(n >= 0);
        if (t->size + (size_t)n < t->room) {
            t->size += (size_t)n;
            return;
        }
        t->room = 2 * t->room + (size_t)n + 100;
        t->data = realloc(t->data, t->room);
        assert_non_null(t->data);
    }
}

static void say_value(shown *t, const hd_value *v) {
    size_t step = v->encoding == HD_TEXT_UTF16 ? 2 : 1;
    switch (v->kind) {
    case HD_VALUE_NONE: return;
    case HD_VALUE_BOOL: say(t, " = %s", v->number ? "true" : "false"); return;
    case HD_VALUE_INTEGER: say(t, " = %lld", (long long)v->number); return;
    case HD_VALUE_REAL: say(t, " = %g", v->real); return;
    default: break;
    }
    say(t, v->kind == HD_VALUE_NAME ? " = " : " = \"");
    for (size_t i = 0; i + step <= v->text.len; i += step) {
        unsigned c = (uint8_t)v->text.data[i];
        if (step == 2) c |= (unsigned)(uint8_t)v->text.data[i + 1] << 8;
        say(t, c < 0x7f && c >= 0x20 ? "%c" : "\\u%04x", c);
    }
    if (v->kind == HD_VALUE_STRING) say(t, "\"");
    if (v->number) say(t, " of %llu", (unsigned long long)v->number);
}

static void say_object(shown *t, const hd_dump *dump, uint32_t i, bool sizes) {
    const hd_graph *g = hd_dump_graph(dump);
    hd_object o = hd_graph_object(g, i);
    hd_class c = hd_graph_class(g, o.class_index);
    hd_values values = hd_dump_values(dump);
    hd_value value = HD_ZERO;
    say(t, "%u %.*s", i, (int)c.name.len, c.name.data);
    if (c.scope.len) say(t, " (%.*s)", (int)c.scope.len, c.scope.data);
    if (sizes) say(t, " %llu", (unsigned long long)o.size);
    values.get(values.document, i, &value);
    say_value(t, &value);
    for (uint32_t k = 0; k < o.reference_count; k++) {
        hd_str name = hd_graph_field(g, i, k);
        uint32_t index = hd_graph_index(g, i, k);
        say(t, k ? ", " : ": ");
        if (index != HD_NONE) say(t, "[%u]", index);
        else say(t, "%.*s", (int)name.len, name.data);
        say(t, "%s%u", o.kinds && o.kinds[k] ? "~>" : "->", o.references[k]);
    }
    say(t, "\n");
}

/* Objects with number, class, size, value and references; then roots. To be freed. */
static char *graph_text(const hd_dump *dump, bool sizes) {
    const hd_graph *g = hd_dump_graph(dump);
    shown t = { NULL, 0, 0 };
    assert_non_null(g);
    say(&t, "");
    for (uint32_t i = 0; i < hd_graph_object_count(g); i++) say_object(&t, dump, i, sizes);
    for (uint32_t i = 0; i < hd_graph_root_count(g); i++) {
        hd_root r = hd_graph_root(g, i);
        hd_str name = hd_graph_root_name(g, &r);
        say(&t, "%s%s %u: %.*s\n", r.flags & HD_ROOT_WEAK ? "weak " : "", hd_root_kind_name(r.kind), r.object, (int)name.len,
            name.data);
    }
    return t.data;
}

static hd_dump *read_file(jvm_file *f) {
    hd_dump *dump = read_well(&format, f->data, f->size, false, 0);
    hd_error err;
    if (hd_graph_validate(hd_dump_graph(dump), &err)) fail_msg("%s", err.message);
    free(f->data);
    return dump;
}

/* Reads leniently, with this number of warnings. */
static hd_dump *read_leniently(jvm_file *f, uint64_t warnings) {
    hd_dump *dump = read_well(&format, f->data, f->size, true, warnings);
    hd_error err;
    if (hd_graph_validate(hd_dump_graph(dump), &err)) fail_msg("%s", err.message);
    free(f->data);
    return dump;
}

/* A file with these strings, classes of the shop, and one open segment. */
static jvm_file begin_dump(const char *version, const jvm_machine *m, unsigned tag, uint64_t name[9]) {
    jvm_file f = jvm_begin(version, m->ids);
    shop_head(&f, name);
    jvm_open(&f, tag);
    shop_classes(&f, name, 0);
    return f;
}

static void end_dump(jvm_file *f) {
    jvm_close(f);
    jvm_open(f, 0x2c);
    jvm_close(f);
}

/* Well-formed files. ------------------------------------------------------------------------------------ */

static const char shop_text[] =
    "0 java.lang.Class = java.lang.Object\n"
    "1 java.lang.Class = java.lang.String: <super>->0\n"
    "2 java.lang.Class = java.lang.Thread: <super>->0\n"
    "3 java.lang.Class = Shop: <super>->0, Shop.next->11\n"
    "4 java.lang.Class = Shop$Item: <super>->0\n"
    "5 java.lang.Class = Shop$Toy: <super>->4\n"
    "6 java.lang.Class = java.lang.ref.Reference: <super>->0\n"
    "7 java.lang.Class = java.lang.ref.WeakReference: <super>->6\n"
    "8 java.lang.Class = java.lang.Integer: <super>->0\n"
    "9 java.lang.Class = byte[]: <super>->0\n"
    "10 java.lang.Class = java.lang.Object[]: <super>->0\n"
    "11 byte[]\n"
    "12 java.lang.String = \"main\": value->11\n"
    "13 java.lang.Thread = main: name->12\n"
    "14 byte[]\n"
    "15 java.lang.String = \"caf\\u00e9\": value->14\n"
    "16 Shop$Toy: name->15\n"
    "17 Shop$Toy: name->15, next->16\n"
    "18 java.lang.ref.WeakReference: next->17, referent~>16\n"
    "19 java.lang.Integer = -5\n"
    "20 java.lang.Object[]: [0]->17, [2]->19\n"
    "21 byte[]\n"
    "collector 3: system class\n"
    "internal 13: thread main\n"
    "local 20: local variable of thread main, Shop.run (Shop.java:41)\n"
    "handle 17: JNI global\n"
    "local 12: JNI local of thread main\n";

static void every_version_has_the_same_graph(void **state) {
    (void)state;
    static const char *const versions[] = { "1.0.1", "1.0.2", "1.0.3" };
    const jvm_machine *machines[] = { &jvm_compressed, &jvm_references, &jvm_wide, &jvm_narrow };
    for (size_t i = 0; i < 24; i++) {
        jvm_file f = shop_of(versions[i % 3], machines[i / 3 % 4], i / 12 ? 0x0c : 0x1c);
        hd_dump *dump;
        survives_pieces(&format, f.data, f.size);
        dump = read_file(&f);
        assert_text(graph_text(dump, false), shop_text);
        hd_dump_free(dump);
    }
}

/* Sizes of objects 11 to 21 in four layouts: headers, references, alignment. */
static void sizes_are_those_of_the_jvm(void **state) {
    (void)state;
    static const struct { const jvm_machine *machine; uint64_t size[11]; } layouts[] = {
        { &jvm_compressed, { 24, 24, 16, 24, 24, 32, 32, 24, 16, 32, 16 } },
        { &jvm_references, { 24, 32, 24, 24, 32, 40, 40, 32, 16, 40, 16 } },
        { &jvm_wide, { 32, 32, 24, 32, 32, 48, 48, 32, 24, 48, 24 } },
        { &jvm_narrow, { 16, 24, 16, 16, 24, 32, 32, 16, 16, 24, 16 } } };
    for (size_t i = 0; i < 4; i++) {
        jvm_file f = shop_of("1.0.2", layouts[i].machine, 0x1c);
        hd_dump *dump = read_file(&f);
        for (uint32_t k = 0; k < 11; k++)
            if (hd_graph_object(hd_dump_graph(dump), 11 + k).size != layouts[i].size[k])
                fail_msg("layout %zu, object %u: %llu", i, 11 + k,
                         (unsigned long long)hd_graph_object(hd_dump_graph(dump), 11 + k).size);
        hd_dump_free(dump);
    }
}

/* ZGC's dumps omit dead objects, so distances are no sizes. The JVM pads threads by an unknown number of bytes, so the
   distance is the best answer there. */
static void distances_with_gaps_are_no_sizes(void **state) {
    (void)state;
    static const uint64_t sizes[11] = { 24, 24, 16 + 48, 24, 24, 32, 32, 24, 16, 32, 16 };
    uint64_t name[9];
    jvm_file f = begin_dump("1.0.2", &jvm_compressed, 0x1c, name);
    hd_dump *dump;
    f.gap = 48;
    shop_objects(&f, &jvm_compressed);
    end_dump(&f);
    dump = read_file(&f);
    for (uint32_t k = 0; k < 11; k++) assert_int_equal(hd_graph_object(hd_dump_graph(dump), 11 + k).size, sizes[k]);
    hd_dump_free(dump);
}

/* The JDK's old agent numbers objects, so that their distances are no sizes. */
static void ids_that_are_no_addresses_are_no_sizes(void **state) {
    (void)state;
    static const uint64_t sizes[] = { 24, 32, 32, 16 };
    uint64_t name[9];
    jvm_file f = begin_dump("1.0.1", &jvm_narrow, 0x0c, name);
    jvm_slot_of slot[4] = { { 0, 10, 0 }, { 0, 2, 0 }, { 0, 11, 0 }, { 0, 2, 0 } };
    hd_dump *dump;
    jvm_put_instance(&f, 21, shop_class(SHOP_STRING), 3, (jvm_slot_of[]){ { 0, 2, 0 }, { 0, 10, 0 }, { 0, 8, 0 } });
    jvm_put_instance(&f, 22, shop_class(SHOP_TOY), 4, slot);
    jvm_put_instance(&f, 23, shop_class(SHOP_TOY), 4, slot);
    jvm_put_array(&f, 0x23, 24, 8, 4);
    jvm_put(&f, "text", 4);
    jvm_close(&f);
    dump = read_file(&f);
    for (uint32_t k = 0; k < 4; k++) assert_int_equal(hd_graph_object(hd_dump_graph(dump), 11 + k).size, sizes[k]);
    hd_dump_free(dump);
}

/* The text from object `from` on, or from the first root. To be freed. */
static char *text_from(const hd_dump *dump, int from, bool sizes) {
    char *all = graph_text(dump, sizes), start[20], *at, *copy;
    if (!from) return all;
    snprintf(start, sizeof start, "\n%d ", from);
    at = from < 0 ? all : strstr(all, start);
    if (from < 0) {
        uint32_t n = hd_graph_object_count(hd_dump_graph(dump));
        while (n--) at = strchr(at, '\n') + 1;
        at--;
    }
    assert_non_null(at);
    copy = strdup(at + 1);
    free(all);
    return copy;
}

static void lengths_of_single_dumps_may_be_too_small(void **state) {
    (void)state;
    static const uint8_t roots[] = { 0xff, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x00 };
    for (size_t i = 0; i < sizeof roots; i++) { /* 0: the dump begins with a class */
        jvm_file f = jvm_begin("1.0.1", 8);
        uint64_t name[9];
        hd_dump *dump;
        shop_head(&f, name);
        jvm_open(&f, 0x0c);
        if (roots[i]) jvm_put_root(&f, roots[i], 0, 1, 0);
        shop_classes(&f, name, f.next);
        shop_objects(&f, &jvm_wide);
        jvm_set_length(&f, 0); /* "to the end" */
        survives_pieces(&format, f.data, f.size);
        dump = read_file(&f);
        assert_text(graph_text(dump, false), shop_text);
        hd_dump_free(dump);
    }
}

/* An empty dump is followed by another record. */
static void empty_dumps_have_no_objects(void **state) {
    (void)state;
    static const uint8_t tags[] = { 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x2c };
    for (size_t i = 0; i < sizeof tags; i++) {
        jvm_file f = jvm_begin("1.0.1", 8);
        hd_dump *dump;
        jvm_open(&f, 0x0c);
        jvm_open(&f, tags[i]);
        dump = read_file(&f);
        assert_int_equal(hd_graph_object_count(hd_dump_graph(dump)), 0);
        hd_dump_free(dump);
    }
}

/* A dump of more than 4 GiB, made as it is read: an array of 2^32 bytes lies between its head and its tail. */
typedef struct large { const jvm_file *f; size_t cut; uint64_t at; } large;

static int64_t read_large(void *user, void *to, size_t size) {
    large *l = user;
    uint64_t hole = (uint64_t)1 << 32;
    size_t n;
    if (l->at >= l->cut && l->at < l->cut + hole) {
        n = l->cut + hole - l->at < size ? (size_t)(l->cut + hole - l->at) : size;
        memset(to, 'x', n);
    } else {
        uint64_t from = l->at < l->cut ? l->at : l->at - hole, end = l->at < l->cut ? l->cut : l->f->size;
        n = end - from < size ? (size_t)(end - from) : size;
        memcpy(to, l->f->data + from, n);
    }
    l->at += n;
    return (int64_t)n;
}

static void lengths_wrap_at_4_gib(void **state) {
    (void)state;
    uint64_t name[9];
    jvm_file f = begin_dump("1.0.1", &jvm_wide, 0x0c, name);
    hd_options options = { .formats = &format, .format_count = 1 };
    large l = { &f, 0, 0 };
    hd_dump *dump;
    hd_error err;
    jvm_put_array(&f, 0x23, f.next, 11, 1u << 29);
    l.cut = f.size;
    f.next += 24 + ((uint64_t)1 << 32);
    shop_objects(&f, &jvm_wide);
    jvm_close(&f);
    jvm_open(&f, 0x0d), jvm_close(&f); /* CPU samples */
    if (hd_read(hd_in_callback(read_large, &l), &options, &dump, &err)) fail_msg("%s", err.message);
    assert_int_equal(hd_graph_object_count(hd_dump_graph(dump)), 23);
    assert_int_equal(hd_graph_root_count(hd_dump_graph(dump)), 5);
    assert_int_equal(hd_graph_object(hd_dump_graph(dump), 11).size, 24 + ((uint64_t)1 << 32));
    hd_dump_free(dump);
    free(f.data);
}

static void roots_have_kind_thread_and_frame(void **state) {
    (void)state;
    static const struct { unsigned tag; uint32_t thread, frame; const char *expected; } roots[] = {
        { 0xff, 0, 0, "internal 11: unknown root\n" }, { 0x01, 0, 0, "handle 11: JNI global\n" },
        { 0x02, 1, 1, "local 11: JNI local of thread main, java.lang.Thread.run (native)\n" },
        { 0x03, 1, 0, "local 11: local variable of thread main, Shop.run (Shop.java:41)\n" },
        { 0x03, 1, 2, "local 11: local variable of thread main\n" },
        { 0x03, 1, 0xffffffff, "local 11: local variable of thread main\n" },
        { 0x03, 9, 0, "local 11: local variable\n" }, { 0x04, 1, 0, "local 11: native stack of thread main\n" },
        { 0x05, 0, 0, "collector 11: system class\n" }, { 0x06, 1, 0, "internal 11: thread block of thread main\n" },
        { 0x07, 0, 0, "handle 11: monitor\n" }, { 0x89, 0, 0, "collector 11: interned string\n" },
        { 0x8a, 0, 0, "finalizer 11: object to be finalized\n" }, { 0x8b, 0, 0, "internal 11: debugger\n" },
        { 0x8c, 0, 0, "internal 11: reference cleanup\n" }, { 0x8d, 0, 0, "internal 11: VM internal\n" },
        { 0x8e, 1, 0, "handle 11: JNI monitor of thread main, Shop.run (Shop.java:41)\n" },
        { 0x90, 0, 0, "weak internal 11: unreachable object\n" } };
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        uint64_t name[9];
        jvm_file f = begin_dump("1.0.3", &jvm_compressed, 0x1c, name);
        hd_dump *dump;
        char *all, *last;
        jvm_put_root(&f, roots[i].tag, f.next, roots[i].thread, roots[i].frame);
        shop_objects(&f, &jvm_compressed);
        end_dump(&f);
        dump = read_file(&f);
        all = text_from(dump, -1, false);
        last = strchr(all, '\n') + 1;
        *last = 0;
        assert_text(all, roots[i].expected);
        hd_dump_free(dump);
    }
}

/* One of each box, and strings of each form. */
static void values_are_shown(void **state) {
    (void)state;
    static const struct { const char *name; uint8_t type; uint64_t value; const char *shown; } boxes[] = {
        { "java/lang/Boolean", 4, 1, "true" }, { "java/lang/Character", 5, 0x20ac, "8364" },
        { "java/lang/Float", 6, 0x40490000, "3.14062" }, { "java/lang/Double", 7, UINT64_C(0xbff8000000000000), "-1.5" },
        { "java/lang/Byte", 8, 0x80, "-128" }, { "java/lang/Short", 9, 0x8000, "-32768" },
        { "java/lang/Integer", 10, 0x80000000, "-2147483648" },
        { "java/lang/Long", 11, UINT64_C(0x8000000000000000), "-9223372036854775808" } };
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++) {
        jvm_file f = jvm_begin("1.0.2", 8);
        jvm_slot_of field = { jvm_put_string(&f, "value"), boxes[i].type, boxes[i].value };
        jvm_class_dump c = { .id = 0x100, .fields = 1 };
        char expected[100];
        hd_dump *dump;
        jvm_put_load(&f, 1, 0x100, jvm_put_string(&f, boxes[i].name));
        jvm_open(&f, 0x1c);
        jvm_put_class(&f, c, &field);
        jvm_put_instance(&f, 0x1000, 0x100, 1, &field);
        end_dump(&f);
        dump = read_file(&f);
        snprintf(expected, sizeof expected, "1 java.lang.%s = %s\n", boxes[i].name + 10, boxes[i].shown);
        assert_text(text_from(dump, 1, false), expected);
        hd_dump_free(dump);
    }
}

/* The name of a thread or constant is UTF-8. It is the field of java.lang.Thread or Enum: subclasses may have a field
   of the same name. */
static void names_are_those_of_threads_and_constants(void **state) {
    (void)state;
    static const struct { const char *data; uint32_t n; unsigned coder; const char *shown; } names[] = {
        { "main", 4, 0, "main" }, { "Gr\xfc\xdf", 4, 0, "Gr\xc3\xbc\xc3\x9f" }, { "", 0, 0, "" },
        { "\x3f\x04", 2, 1, "\xd0\xbf" }, { "\xac\x20", 2, 1, "\xe2\x82\xac" },
        { "\x3d\xd8\x00\xde", 4, 1, "\xf0\x9f\x98\x80" }, { "\x3d\xd8", 2, 1, "\xed\xa0\xbd" } };
    for (size_t i = 0; i < 2 * sizeof names / sizeof *names; i++) {
        uint64_t name[9];
        bool thread = i % 2;
        jvm_file f = begin_dump("1.0.2", &jvm_compressed, 0x1c, name);
        jvm_slot_of field = { name[3], 2, 0 }, text[] = { { 0, 2, 0 }, { 0, 10, 0 }, { 0, 8, 0 } }, slot[2] = { { 0, 2, 0 } };
        shown want = { NULL, 0, 0 };
        hd_dump *dump;
        size_t k = i / 2;
        jvm_close(&f);
        jvm_put_load(&f, 20, 0x100, jvm_put_string(&f, thread ? "Worker" : "java/lang/Enum"));
        jvm_put_load(&f, 21, 0x110, jvm_put_string(&f, "Color"));
        jvm_open(&f, 0x1c);
        jvm_put_class(&f, (jvm_class_dump){ .id = 0x100, .super = shop_class(thread ? SHOP_THREAD : SHOP_OBJECT), .fields = 1 }, &field);
        jvm_put_class(&f, (jvm_class_dump){ .id = 0x110, .super = 0x100, .fields = !thread }, &field);
        slot[0].value = jvm_put_text(&f, &jvm_compressed, shop_class(SHOP_STRING), "a label");
        text[0].value = jvm_put_bytes(&f, &jvm_compressed, names[k].data, names[k].n);
        text[2].value = names[k].coder;
        slot[1] = (jvm_slot_of){ 0, 2, jvm_place_at(&f, 24) };
        jvm_put_instance(&f, slot[1].value, shop_class(SHOP_STRING), 3, text);
        jvm_put_instance(&f, jvm_place_at(&f, 24), 0x110, 2, slot);
        jvm_put_root(&f, 0x08, f.next - 24, 7, 0);
        end_dump(&f);
        dump = read_file(&f);
        say(&want, "17 Color");
        say_value(&want, &(hd_value){ .kind = HD_VALUE_NAME, .text = hd_cstr(names[k].shown) });
        say(&want, ": name->14, name->16\ninternal 17: thread%s%s\n", thread && *names[k].shown ? " " : "",
            thread ? names[k].shown : "");
        assert_text(text_from(dump, 17, false), want.data);
        hd_dump_free(dump);
        free(want.data);
    }
}

/* A root has 64 bytes of its thread's name at most: whole characters. */
static void long_names_of_threads_are_cut(void **state) {
    (void)state;
    uint64_t name[9];
    jvm_file f = begin_dump("1.0.2", &jvm_compressed, 0x1c, name);
    jvm_slot_of slot[] = { { 0, 2, 0 } };
    char text[71], expected[200];
    hd_dump *dump;
    memset(text, 'x', 70), text[70] = 0, text[63] = '\xe9';
    slot[0].value = jvm_put_text(&f, &jvm_compressed, shop_class(SHOP_STRING), text);
    jvm_put_root(&f, 0x08, f.next, 1, 0);
    jvm_put_instance(&f, jvm_place_at(&f, 16), shop_class(SHOP_THREAD), 1, slot);
    end_dump(&f);
    dump = read_file(&f);
    snprintf(expected, sizeof expected, "internal 13: thread %.63s\xe2\x80\xa6\n", text);
    assert_text(text_from(dump, -1, false), expected);
    hd_dump_free(dump);
}

/* The name of a constant is no name if it is no string, or a string without a text. */
static void names_are_strings(void **state) {
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t name[9], text;
        jvm_file f = begin_dump("1.0.2", &jvm_compressed, 0x1c, name);
        jvm_slot_of slot[] = { { 0, 2, 0 }, { 0, 10, 0 }, { 0, 8, 0 } };
        hd_dump *dump;
        jvm_put_array(&f, 0x23, text = 13 * 8, 8, 1); /* strings have 13 bytes in the file */
        jvm_put(&f, "x", 1);
        f.next = 0x1000;
        slot[0].value = jvm_place_at(&f, 24);
        if (i) jvm_put_instance(&f, slot[0].value, shop_class(SHOP_WEAK), 2, (jvm_slot_of[]){ { 0, 2, text }, { 0, 2, text } });
        else jvm_put_instance(&f, slot[0].value, shop_class(SHOP_STRING), 3, (jvm_slot_of[]){ { 0, 2, 0 }, { 0, 10, 0 }, { 0, 8, 0 } });
        jvm_put_instance(&f, jvm_place_at(&f, 16), shop_class(SHOP_THREAD), 1, slot);
        end_dump(&f);
        dump = read_file(&f);
        assert_text(text_from(dump, 13, false), "13 java.lang.Thread: name->12\n");
        hd_dump_free(dump);
    }
}

/* The text of a thread's name may be far from its string, and ids may be any numbers. */
static void names_of_threads_are_found_by_any_ids(void **state) {
    (void)state;
    static const struct { unsigned ids; uint64_t text, string; } places[] = {
        { 8, (UINT64_C(1) << 35) - 24, UINT64_C(1) << 35 }, { 8, (UINT64_C(1) << 35) + 8, 16 },
        { 8, 16, (UINT64_C(9) << 35) - 8 }, { 8, UINT64_C(127) << 40, UINT64_C(127) << 40 | 16 }, { 4, 7, 9 }, { 4, 0xfffffffd, 1 } };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        uint64_t name[9];
        jvm_machine m = jvm_compressed;
        jvm_file f;
        jvm_slot_of slot[] = { { 0, 2, places[i].text }, { 0, 10, 0 }, { 0, 8, 0 } };
        hd_dump *dump;
        m.ids = places[i].ids;
        f = begin_dump("1.0.1", &m, 0x1c, name);
        jvm_put_array(&f, 0x23, places[i].text, 8, 4);
        jvm_put(&f, "pool", 4);
        jvm_put_instance(&f, places[i].string, shop_class(SHOP_STRING), 3, slot);
        slot[0].value = places[i].string;
        jvm_put_instance(&f, 3, shop_class(SHOP_THREAD), 1, slot);
        jvm_put_root(&f, 0x08, 3, 1, 0);
        end_dump(&f);
        dump = read_file(&f);
        assert_text(text_from(dump, 13, false), "13 java.lang.Thread = pool: name->12\ninternal 13: thread pool\n");
        hd_dump_free(dump);
    }
}

static void strings_are_latin1_or_utf16(void **state) {
    (void)state;
    uint64_t name[9];
    jvm_file f = begin_dump("1.0.2", &jvm_compressed, 0x1c, name);
    const jvm_machine *m = &jvm_compressed;
    jvm_slot_of slot[] = { { 0, 2, 0 }, { 0, 10, 0 }, { 0, 8, 1 } };
    hd_dump *dump;
    slot[0].value = jvm_put_bytes(&f, m, "\xc0\x03x\0", 4); /* coder 1: UTF-16, in the JVM's byte order */
    jvm_put_instance(&f, jvm_place_at(&f, 24), shop_class(SHOP_STRING), 3, slot);
    slot[2].value = 0;
    slot[0].value = jvm_place_at(&f, 16 + 4);
    jvm_put_array(&f, 0x23, slot[0].value, 5, 2); /* char[], as before JDK 9 */
    jvm_put(&f, "\x03\xc0\0y", 4);
    jvm_put_instance(&f, jvm_place_at(&f, 24), shop_class(SHOP_STRING), 3, slot);
    slot[0].value = 0;
    jvm_put_instance(&f, jvm_place_at(&f, 24), shop_class(SHOP_STRING), 3, slot);
    (void)jvm_put_text(&f, m, shop_class(SHOP_STRING), "");
    end_dump(&f);
    dump = read_file(&f);
    assert_text(text_from(dump, 11, true), "11 byte[] 24\n12 java.lang.String 24 = \"\\u03c0x\": value->11\n13 char[] 24\n"
                "14 java.lang.String 24 = \"\\u03c0y\": value->13\n15 java.lang.String 24\n16 byte[] 16\n"
                "17 java.lang.String 24 = \"\": value->16\n");
    hd_dump_free(dump);
}

/* The reader keeps the first 64 KiB of a text, and its whole length. */
static void long_strings_have_their_length(void **state) {
    (void)state;
    for (unsigned wide = 0; wide < 2; wide++) {
        uint64_t name[9];
        jvm_file f = begin_dump("1.0.2", &jvm_compressed, 0x1c, name);
        jvm_slot_of slot[] = { { 0, 2, 0 }, { 0, 10, 0 }, { 0, 8, wide } };
        char *text = calloc(1, 200000);
        hd_values values;
        hd_value value = HD_ZERO;
        hd_dump *dump;
        assert_non_null(text);
        slot[0].value = jvm_put_bytes(&f, &jvm_compressed, text, 200000);
        jvm_put_instance(&f, jvm_place_at(&f, 24), shop_class(SHOP_STRING), 3, slot);
        end_dump(&f);
        dump = read_file(&f);
        values = hd_dump_values(dump);
        values.get(values.document, 12, &value);
        assert_int_equal(value.kind, HD_VALUE_STRING);
        assert_int_equal(value.text.len, 65536);
        assert_int_equal(value.number, wide ? 100000 : 200000);
        hd_dump_free(dump);
        free(text);
    }
}

/* Kinds of references, an enum constant, statics of all types, constants, arrays of all types. */
static void classes_decide_what_references_mean(void **state) {
    (void)state;
    static const char *const names[] = { "java/lang/ref/Reference", "java/lang/ref/SoftReference",
        "java/lang/ref/WeakReference", "java/lang/ref/PhantomReference", "java/lang/ref/FinalReference",
        "java/lang/ref/Finalizer", "Key" };
    static const unsigned super[] = { 0, 0, 0, 0, 0, 4, 2 };
    jvm_file f = jvm_begin("1.0.2", 4);
    jvm_slot_of field = { jvm_put_string(&f, "referent"), 2, 0x2000 };
    hd_dump *dump;
    for (uint32_t i = 0; i < 7; i++) jvm_put_load(&f, i + 1, 0x100 + 8 * i, jvm_put_string(&f, names[i]));
    jvm_open(&f, 0x1c);
    for (uint32_t i = 0; i < 7; i++) {
        jvm_class_dump c = { .id = 0x100 + 8 * i, .super = i ? 0x100 + 8 * super[i] : 0, .fields = !i || i == 6 };
        jvm_put_class(&f, c, &field);
    }
    for (uint32_t i = 1; i < 7; i++) {
        jvm_slot_of slot[] = { { 0, 2, i == 6 ? 0x1000 : 0x2000 }, { 0, 2, 0x2000 } };
        jvm_put_instance(&f, 0x1000 + 16 * i, 0x100 + 8 * i, i == 6 ? 2 : 1, slot);
    }
    jvm_put_array(&f, 0x23, 0x2000, 8, 0);
    end_dump(&f);
    dump = read_file(&f);
    assert_text(text_from(dump, 7, false), "7 java.lang.ref.SoftReference: referent->13\n"
                "8 java.lang.ref.WeakReference: referent~>13\n9 java.lang.ref.PhantomReference: referent~>13\n"
                "10 java.lang.ref.FinalReference: referent->13\n11 java.lang.ref.Finalizer: referent->13\n"
                "12 Key: referent->14, referent~>13\n13 byte[]\n14 <not described>\n");
    hd_dump_free(dump);
}

/* A file that names java.lang.Class has class objects and other instances of one class. */
static void class_objects_have_the_class_of_the_file(void **state) {
    (void)state;
    for (unsigned late = 0; late < 2; late++) {
        jvm_file f = jvm_begin("1.0.2", 8);
        const hd_graph *g;
        hd_dump *dump;
        uint64_t name = jvm_put_string(&f, "java/lang/Class");
        if (!late) jvm_put_load(&f, 1, 0x100, name);
        jvm_open(&f, 0x1c);
        jvm_put_class(&f, (jvm_class_dump){ .id = 0x200 }, NULL);
        jvm_close(&f);
        if (late) jvm_put_load(&f, 1, 0x100, name);
        jvm_open(&f, 0x1c);
        jvm_put_class(&f, (jvm_class_dump){ .id = 0x100 }, NULL);
        jvm_put_instance(&f, 0x1000, 0x100, 0, NULL); /* int.class */
        end_dump(&f);
        dump = read_file(&f);
        g = hd_dump_graph(dump);
        assert_text(graph_text(dump, false), "0 java.lang.Class = <unknown class>\n1 java.lang.Class = java.lang.Class\n2 java.lang.Class\n");
        for (uint32_t i = 0; i < 3; i++) assert_int_equal(hd_graph_object(g, i).class_index, hd_graph_object(g, 0).class_index);
        hd_dump_free(dump);
    }
}

static void every_type_is_skipped_or_followed(void **state) {
    (void)state;
    static const uint8_t width[12] = { 0, 0, 0, 0, 1, 2, 4, 8, 1, 2, 4, 8 };
    jvm_file f = jvm_begin("1.0.2", 8);
    uint64_t object = jvm_put_string(&f, "java/lang/Object"), all = jvm_put_string(&f, "a/All"), enumeration, color;
    jvm_slot_of slot[40];
    jvm_class_dump c = { .id = 0x200, .super = 0x100, .loader = 0x1000, .signers = 0x1000, .domain = 0x1000 };
    uint32_t n = 0;
    char data[16] = "";
    hd_dump *dump;
    enumeration = jvm_put_string(&f, "java/lang/Enum"), color = jvm_put_string(&f, "Color");
    jvm_put_load(&f, 1, 0x100, object), jvm_put_load(&f, 2, 0x200, all);
    for (int part = 0; part < 3; part++)
        for (uint8_t type = 2; type < 12; type++) {
            char name[20];
            if (type == 3) continue;
            snprintf(name, sizeof name, "%s%u", part == 1 ? "s" : "f", type);
            slot[n++] = (jvm_slot_of){ jvm_put_string(&f, name), type, 0x1000 };
        }
    c.constants = c.statics = c.fields = 9;
    jvm_put_load(&f, 3, 0x300, enumeration), jvm_put_load(&f, 4, 0x400, color);
    jvm_open(&f, 0x1c);
    jvm_put_class(&f, (jvm_class_dump){ .id = 0x100 }, NULL);
    jvm_put_class(&f, c, slot);
    jvm_put_instance(&f, 0x1000, 0x200, 9, slot + 18);
    for (uint8_t type = 4; type < 12; type++) {
        jvm_put_array(&f, 0x23, 0x2000 + 0x100u * type, type, 2);
        jvm_put(&f, data, 2u * width[type]);
    }
    end_dump(&f);
    dump = read_file(&f);
    assert_text(graph_text(dump, false), "0 java.lang.Class = java.lang.Object\n"
                "1 java.lang.Class = a.All: <super>->0, <class loader>->2, <signers>->2, <protection domain>->2, a.All.s2->2\n"
                "2 a.All: f2->2, <class>->1\n3 boolean[]\n4 char[]\n5 float[]\n6 double[]\n7 byte[]\n8 short[]\n9 int[]\n10 long[]\n");
    hd_dump_free(dump);
}

/* An instance keeps its class alive, and so a class loader that nothing else holds. Classes of the JVM and of the
   system's class loader live anyway, so their instances need no such reference. */
static void instances_keep_their_class_loader(void **state) {
    static const char *const names[] = { "java/lang/Object", "java/lang/ClassLoader", "Plugin", "Own", "scl" };
    jvm_file f = jvm_begin("1.0.2", 8);
    uint64_t name[5];
    jvm_slot_of scl = { 0, 2, 0x1000 };
    hd_dump *dump;
    (void)state;
    for (uint32_t i = 0; i < 5; i++) name[i] = jvm_put_string(&f, names[i]);
    for (uint32_t i = 0; i < 4; i++) jvm_put_load(&f, i + 1, 0x100 * (i + 1), name[i]);
    scl.name = name[4];
    jvm_open(&f, 0x1c);
    jvm_put_class(&f, (jvm_class_dump){ .id = 0x100 }, NULL);
    jvm_put_class(&f, (jvm_class_dump){ .id = 0x200, .super = 0x100, .statics = 1 }, &scl);
    jvm_put_class(&f, (jvm_class_dump){ .id = 0x300, .super = 0x100, .loader = 0x2000 }, NULL);
    jvm_put_class(&f, (jvm_class_dump){ .id = 0x400, .super = 0x100, .loader = 0x1000 }, NULL);
    jvm_put_instance(&f, 0x1000, 0x200, 0, NULL);
    jvm_put_instance(&f, 0x2000, 0x200, 0, NULL);
    jvm_put_instance(&f, 0x3000, 0x300, 0, NULL);
    jvm_put_instance(&f, 0x4000, 0x400, 0, NULL);
    jvm_put_root(&f, 0xff, 0x3000, 0, 0);
    end_dump(&f);
    dump = read_file(&f);
    assert_text(graph_text(dump, false),
                "0 java.lang.Class = java.lang.Object\n1 java.lang.Class = java.lang.ClassLoader: <super>->0, "
                "java.lang.ClassLoader.scl->4\n2 java.lang.Class = Plugin: <super>->0, <class loader>->5\n"
                "3 java.lang.Class = Own: <super>->0, <class loader>->4\n4 java.lang.ClassLoader\n"
                "5 java.lang.ClassLoader\n6 Plugin: <class>->2\n7 Own\ninternal 6: unknown root\n");
    hd_dump_free(dump);
}

/* Its order of records, and its own records. */
static void android_dumps_are_read(void **state) {
    (void)state;
    jvm_file f = android_of(&jvm_narrow);
    hd_dump *dump;
    survives_pieces(&format, f.data, f.size);
    survives_damage(&format, f.data, f.size, 1 << 18);
    dump = read_file(&f);
    assert_int_equal(hd_graph_object_count(hd_dump_graph(dump)), 23);
    assert_text(text_from(dump, 15, true),
                "15 java.lang.Class 8 = java.lang.Object[]: <super>->5\n16 java.lang.String 24 = \"main\": value->0\n"
                "17 java.lang.Thread 16 = main: name->16\n18 java.lang.String 24 = \"caf\\u00e9\": value->1\n"
                "19 Shop$Toy 32: name->18\n20 Shop$Toy 32: name->18, next->19\n"
                "21 java.lang.ref.WeakReference 16: next->20, referent~>19\n22 java.lang.Integer 16 = -5\n"
                "collector 8: system class\ninternal 17: thread main\n"
                "local 2: local variable of thread main, Shop.run (Shop.java:41)\n"
                "handle 20: JNI global\nlocal 16: JNI local of thread main\n"
                "internal 5: unknown root\nlocal 6: native stack of thread main\ninternal 7: thread block of thread main\n"
                "handle 8: monitor\ncollector 9: interned string\nfinalizer 10: object to be finalized\n"
                "internal 11: debugger\ninternal 12: reference cleanup\ninternal 13: VM internal\n"
                "handle 14: JNI monitor of thread main, Shop.run (Shop.java:41)\nweak internal 15: unreachable object\n");
    hd_dump_free(dump);
}

/* Sizes of the file's classes: distances are none, since the text of a string is inside the string. */
static void dumps_of_art_have_their_own_sizes(void **state) {
    (void)state;
    jvm_file f = art_of();
    hd_dump *dump;
    survives_pieces(&format, f.data, f.size);
    dump = read_file(&f);
    assert_text(graph_text(dump, true),
                "0 byte[] 16\n"
                "1 byte[] 32\n"
                "2 java.lang.Class 16 = java.lang.Object: java.lang.Object.$classOverhead->1, "
                "java.lang.Object.$class$name->23\n"
                "3 byte[] 32\n"
                "4 java.lang.Class 16 = java.lang.Class: <super>->2, java.lang.Class.$classOverhead->3, "
                "java.lang.Class.$class$name->23\n"
                "5 byte[] 32\n"
                "6 java.lang.Class 16 = java.lang.String: <super>->2, java.lang.String.$classOverhead->5, "
                "java.lang.String.$class$name->23\n"
                "7 byte[] 32\n"
                "8 java.lang.Class 16 = java.lang.Thread: <super>->2, java.lang.Thread.$classOverhead->7, "
                "java.lang.Thread.$class$name->23\n"
                "9 byte[] 32\n"
                "10 java.lang.Class 16 = com.example.MainActivity: <super>->2, com.example.MainActivity.$classOverhead->9, "
                "com.example.MainActivity.$class$name->23, com.example.MainActivity.cache->23\n"
                "11 byte[] 32\n"
                "12 java.lang.Class 16 = byte[]: <super>->2, byte[].$classOverhead->11, "
                "byte[].$class$name->23\n"
                "13 byte[] 32\n"
                "14 java.lang.Class 16 = char[]: <super>->2, char[].$classOverhead->13, "
                "char[].$class$name->23\n"
                "15 char[] 24\n16 java.lang.String 16 = \"caf\\u00e9\": value->15\n17 byte[] 16\n"
                "18 java.lang.String 16 = \"main\": value->17\n19 java.lang.Thread 16 = main: name->18\n"
                "20 com.example.MainActivity 24: name->16, next->21\n21 com.example.MainActivity 24: name->16\n"
                "22 byte[] 1016\n23 java.lang.String 16 = \"boot\": value->0\n"
                "collector 23: interned string\ncollector 10: system class\ninternal 19: thread main\n"
                "local 20: local variable of thread main\ninternal 6: VM internal\n");
    hd_dump_free(dump);
}

/* Random graphs. ----------------------------------------------------------------------------------------- */

enum { CLASSES = 12, FIELDS = 6, OBJECTS = 120, ROOTS = 10 };

/* A class: its super class, and its own fields by type. Names of fields are f0, f1, ... */
typedef struct random_class { unsigned super, count; uint8_t type[FIELDS]; uint32_t size; } random_class;
/* An object: a class, or an array of a type with this length. Values of fields and elements are ids. */
typedef struct random_object { uint64_t id, size; unsigned of, type, length; uint64_t value[64]; } random_object;

typedef struct random_graph {
    const jvm_machine *machine;
    uint64_t random, names[FIELDS];
    random_class classes[CLASSES];
    random_object objects[OBJECTS];
    uint64_t root[ROOTS];
} random_graph;

static unsigned any(random_graph *g, unsigned below) { return (unsigned)(graphs_random(&g->random) % below); }

static uint32_t bytes_of(const jvm_machine *m, unsigned type) {
    static const uint8_t width[12] = { 0, 0, 0, 0, 1, 2, 4, 8, 1, 2, 4, 8 };
    return type == 2 ? m->reference : width[type];
}

static uint8_t any_type(random_graph *g, bool primitive) {
    static const uint8_t types[] = { 4, 5, 6, 7, 8, 9, 10, 11, 2, 2, 2, 2, 2, 2 };
    return types[any(g, primitive ? 8 : 14)];
}

/* Values of an instance: those of its class first. Returns their number. */
static unsigned fields_of(const random_graph *g, unsigned of, const random_class **part) {
    unsigned n = 0;
    for (;; of = g->classes[of].super) {
        part[n++] = &g->classes[of];
        if (!of) return n;
    }
}

static void make_graph(random_graph *g, jvm_file *f) {
    for (unsigned i = 0; i < CLASSES; i++) {
        random_class *c = &g->classes[i];
        uint32_t size = i ? 0 : g->machine->header;
        c->super = i ? any(g, i) : 0;
        c->count = i ? any(g, FIELDS + 1) : 0;
        for (unsigned k = 0; k < c->count; k++) {
            c->type[k] = any_type(g, false);
            size += bytes_of(g->machine, c->type[k]);
        }
        /* More than any layout needs: the reader has to take the distance for the size. */
        c->size = (size + (i ? g->classes[c->super].size : 0) + 7) / 8 * 8;
    }
    for (unsigned i = 0; i < OBJECTS; i++) {
        random_object *o = &g->objects[i];
        unsigned kind = any(g, 4);
        o->type = kind < 2 ? 0 : kind == 2 ? 2 : any_type(g, true);
        o->of = any(g, CLASSES);
        o->length = o->type ? any(g, 40) : 0;
        o->size = g->classes[o->of].size;
        if (o->type) {
            uint64_t width = bytes_of(g->machine, o->type), base = g->machine->base;
            o->size = ((width == 8 ? (base + 7) / 8 * 8 : base) + o->length * width + 7) / 8 * 8;
        }
        o->id = jvm_place_at(f, o->size);
    }
    (void)jvm_place_at(f, 8);
    for (unsigned i = 0; i < OBJECTS; i++)
        for (unsigned k = 0; k < 64; k++) g->objects[i].value[k] = any(g, 4) ? g->objects[any(g, OBJECTS)].id : 0;
    for (unsigned i = 0; i < ROOTS; i++) g->root[i] = g->objects[any(g, OBJECTS)].id;
}

static void put_object(random_graph *g, jvm_file *f, const random_object *o) {
    const random_class *part[CLASSES];
    jvm_slot_of slot[CLASSES * FIELDS];
    unsigned n = 0;
    if (!o->type) {
        for (unsigned p = 0, parts = fields_of(g, o->of, part); p < parts; p++)
            for (unsigned k = 0; k < part[p]->count; k++, n++) slot[n] = (jvm_slot_of){ 0, part[p]->type[k], o->value[n % 64] };
        jvm_put_instance(f, o->id, 0x100 + 0x100 * o->of, n, slot);
    } else if (o->type == 2) {
        jvm_put_objects(f, o->id, 0x100 + 0x100 * CLASSES, o->length, o->value);
    } else {
        jvm_put_array(f, 0x23, o->id, o->type, o->length);
        for (unsigned k = 0; k < o->length; k++) jvm_put_value(f, o->type, o->value[k]);
    }
}

static void put_class(random_graph *g, jvm_file *f, unsigned i) {
    jvm_slot_of slot[FIELDS];
    jvm_class_dump c = { .id = 0x100 + 0x100 * i, .super = i ? 0x100 + 0x100 * g->classes[i].super : 0,
                         .size = g->classes[i].size, .fields = g->classes[i].count };
    for (unsigned k = 0; k < c.fields; k++) slot[k] = (jvm_slot_of){ g->names[k], g->classes[i].type[k], 0 };
    jvm_put_class(f, c, slot);
}

/* Classes first, last, or among the objects; several segments; objects in any order. */
static jvm_file put_graph(random_graph *g) {
    static const char *const versions[] = { "1.0.1", "1.0.2", "1.0.3" };
    jvm_file f = jvm_begin(versions[any(g, 3)], g->machine->ids);
    unsigned tag = any(g, 3) ? 0x1c : 0x0c, order = any(g, 3), at = 0;
    for (unsigned i = 0; i < FIELDS; i++) {
        char name[3] = { 'f', (char)('0' + i), 0 };
        g->names[i] = jvm_put_string(&f, name);
    }
    for (unsigned i = 0; i <= CLASSES; i++) {
        char name[20];
        snprintf(name, sizeof name, i < CLASSES ? "C%u" : "[LC;", i);
        jvm_put_load(&f, i + 1, 0x100 + 0x100 * i, jvm_put_string(&f, name));
    }
    make_graph(g, &f);
    jvm_open(&f, tag);
    for (unsigned i = 0; i < OBJECTS + CLASSES; i++) {
        bool is_class = order == 0 ? i < CLASSES : order == 1 ? i >= OBJECTS : i % 2 && i / 2 < CLASSES;
        if (is_class) put_class(g, &f, order == 0 ? i : order == 1 ? i - OBJECTS : i / 2);
        else put_object(g, &f, &g->objects[at++ * 77 % OBJECTS]);
        if (tag == 0x1c && !any(g, 20)) jvm_close(&f), jvm_open(&f, tag);
    }
    for (unsigned i = 0; i < ROOTS; i++) jvm_put_root(&f, 0xff, g->root[i], 0, 0);
    jvm_close(&f);
    if (tag == 0x1c) jvm_open(&f, 0x2c), jvm_close(&f);
    return f;
}

/* The next reference has this name or index and this target; null references are left out. */
static void check_reference(const hd_graph *g, uint32_t object, uint32_t *reference, uint64_t id, const char *name,
                            uint32_t index) {
    hd_object o = hd_graph_object(g, object);
    if (!id) return;
    assert_true(*reference < o.reference_count);
    assert_int_equal(hd_graph_object(g, o.references[*reference]).id, id);
    assert_int_equal(hd_graph_index(g, object, *reference), index);
    assert_true(hd_str_equal(hd_graph_field(g, object, *reference), hd_cstr(name)));
    ++*reference;
}

static void check_object(const random_graph *g, const hd_graph *found, const random_object *o) {
    static const char *const arrays[] = { "", "", "C[]", "", "boolean[]", "char[]", "float[]", "double[]", "byte[]", "short[]",
                                          "int[]", "long[]" };
    uint32_t i = hd_graph_find(found, o->id), reference = 0;
    const random_class *part[CLASSES];
    char name[20];
    hd_object object = hd_graph_object(found, i);
    assert_int_not_equal(i, HD_NONE);
    if (object.size != o->size)
        fail_msg("class %u, type %u, length %u: %llu bytes, not %llu", o->of, o->type, o->length,
                 (unsigned long long)object.size, (unsigned long long)o->size);
    snprintf(name, sizeof name, "C%u", o->of);
    assert_true(hd_str_equal(hd_graph_class(found, object.class_index).name, hd_cstr(o->type ? arrays[o->type] : name)));
    for (unsigned k = 0; k < o->length && o->type == 2; k++) check_reference(found, i, &reference, o->value[k], "", k);
    for (unsigned p = 0, n = 0, parts = o->type ? 0 : fields_of(g, o->of, part); p < parts; p++)
        for (unsigned k = 0; k < part[p]->count; k++, n++) {
            char field[3] = { 'f', (char)('0' + k), 0 };
            if (part[p]->type[k] == 2) check_reference(found, i, &reference, o->value[n % 64], field, HD_NONE);
        }
    assert_int_equal(reference, object.reference_count);
}

static void random_graphs_are_read_object_by_object(void **state) {
    (void)state;
    static random_graph g;
    static const jvm_machine *const machines[] = { &jvm_compressed, &jvm_references, &jvm_wide, &jvm_narrow };
    for (unsigned seed = 0; seed < 200; seed++) {
        jvm_file f;
        hd_dump *dump;
        const hd_graph *found;
        g.random = seed;
        g.machine = machines[seed % 4];
        f = put_graph(&g);
        dump = read_file(&f);
        found = hd_dump_graph(dump);
        assert_int_equal(hd_graph_object_count(found), OBJECTS + CLASSES);
        for (unsigned i = 0; i < OBJECTS; i++) check_object(&g, found, &g.objects[i]);
        for (unsigned i = 0; i < ROOTS; i++)
            assert_int_equal(hd_graph_object(found, hd_graph_root(found, i).object).id, g.root[i]);
        hd_dump_free(dump);
    }
}

/* Malformed files. -------------------------------------------------------------------------------------- */

/* Strictly, the file is refused with this message; leniently it gives these objects from `from` on, with warnings. */
static void is_wrong(jvm_file *f, const char *message, uint64_t offset, uint64_t warnings, int from, const char *expected) {
    hd_options options = { 0 };
    hd_dump *dump;
    hd_error err;
    assert_int_equal(read_with(&format, f->data, f->size, options, &dump, &err), HD_MALFORMED);
    assert_string_equal(err.message, message);
    assert_int_equal(err.offset, offset);
    dump = read_leniently(f, warnings);
    assert_text(text_from(dump, from, false), expected);
    hd_dump_free(dump);
}

static void instances_of_another_size_are_reported(void **state) {
    (void)state;
    for (unsigned late = 0; late < 2; late++) {
        uint64_t name[9], at;
        jvm_file f = jvm_begin("1.0.2", 8);
        jvm_slot_of slot[] = { { 0, 10, 1 }, { 0, 2, 0xe0000000u }, { 0, 11, 2 }, { 0, 2, 0xe0000000u }, { 0, 2, 0xe0000000u } };
        shop_head(&f, name);
        jvm_open(&f, 0x1c);
        if (!late) shop_classes(&f, name, 0);
        at = f.size;
        jvm_put_instance(&f, 0xe0000000u, shop_class(SHOP_TOY), 2, slot); /* too short for Item's part */
        jvm_put_instance(&f, 0xe0000030u, shop_class(SHOP_TOY), 5, slot); /* too long */
        if (late) shop_classes(&f, name, 0);
        end_dump(&f);
        is_wrong(&f, "an instance of another size than its class", late ? HD_UNKNOWN : at, 2, late ? -1 : 11,
                 late ? "" : "11 Shop$Toy\n12 Shop$Toy: name->11, next->11\n");
    }
}

static void classes_may_come_after_their_instances(void **state) {
    (void)state;
    uint64_t name[9];
    jvm_file f = jvm_begin("1.0.2", 8);
    hd_dump *dump;
    shop_head(&f, name);
    jvm_open(&f, 0x1c);
    shop_objects(&f, &jvm_wide);
    shop_classes(&f, name, 0);
    end_dump(&f);
    survives_pieces(&format, f.data, f.size);
    dump = read_file(&f);
    assert_int_equal(hd_graph_object_count(hd_dump_graph(dump)), 22);
    assert_text(text_from(dump, 15, false),
                "15 java.lang.String = \"main\": value->0\n16 java.lang.Thread = main: name->15\n"
                "17 java.lang.String = \"caf\\u00e9\": value->1\n18 Shop$Toy: name->17\n19 Shop$Toy: name->17, next->18\n"
                "20 java.lang.ref.WeakReference: next->19, referent~>18\n21 java.lang.Integer = -5\n"
                "collector 7: system class\ninternal 16: thread main\n"
                "local 2: local variable of thread main, Shop.run (Shop.java:41)\n"
                "handle 19: JNI global\nlocal 15: JNI local of thread main\n");
    hd_dump_free(dump);
}

static void classes_may_be_missing_or_cyclic(void **state) {
    (void)state;
    for (unsigned cyclic = 0; cyclic < 2; cyclic++) {
        jvm_file f = jvm_begin("1.0.2", 8);
        jvm_slot_of slot[] = { { 0, 2, 0x1000 } };
        uint64_t a = jvm_put_string(&f, "A"), b = jvm_put_string(&f, "B");
        jvm_put_load(&f, 1, 0x100, a), jvm_put_load(&f, 2, 0x200, b);
        jvm_open(&f, 0x1c);
        jvm_put_class(&f, (jvm_class_dump){ .id = 0x100, .super = 0x200 }, NULL);
        if (cyclic) jvm_put_class(&f, (jvm_class_dump){ .id = 0x200, .super = 0x100 }, NULL);
        jvm_put_instance(&f, 0x1000, 0x100, 1, slot);
        jvm_put_instance(&f, 0x1010, 0x900, 1, slot);
        end_dump(&f);
        is_wrong(&f, "2 instances of classes without a record: without references", HD_UNKNOWN, 1, 1,
                 cyclic ? "1 java.lang.Class = B: <super>->0\n2 A\n3 <unknown class>\n"
                        : "1 A\n2 <unknown class>\n3 <not described>\n");
    }
}

static void equal_ids_are_reported(void **state) {
    (void)state;
    for (unsigned wide = 0; wide < 2; wide++) {
        uint64_t name[9], one;
        const jvm_machine *m = wide ? &jvm_wide : &jvm_narrow;
        jvm_file f = begin_dump("1.0.2", m, 0x1c, name);
        one = jvm_put_bytes(&f, m, "a", 1);
        jvm_put_array(&f, 0x23, one, 8, 0);
        jvm_put_array(&f, 0x23, one, 8, 0);
        jvm_put_objects(&f, f.next, shop_class(SHOP_OBJECTS), 1, &one);
        jvm_put_array(&f, 0x23, shop_class(SHOP_OBJECT), 8, 0);
        end_dump(&f);
        is_wrong(&f, "3 objects have the id of another object", HD_UNKNOWN, 1, 11,
                 "11 byte[]\n12 byte[]\n13 byte[]\n14 java.lang.Object[]: [0]->11\n15 byte[]\n");
    }
}

static void parts_that_end_behind_their_dump_are_left_out(void **state) {
    (void)state;
    static const char *const said[] = { "an instance beyond the end of its dump", "an array beyond the end of its dump",
        "an array beyond the end of its dump", "a class beyond the end of its dump", "a root beyond the end of its dump",
        "a heap's name beyond the end of its dump", "a part of a heap dump with an unknown tag",
        "a primitive array of an unknown type", "a field of an unknown type", "a value of an unknown type" };
    for (unsigned i = 0; i < 10; i++) {
        uint64_t name[9], at;
        jvm_file f = begin_dump("1.0.3", &jvm_wide, 0x1c, name);
        jvm_slot_of bad = { 0, i == 8 || i == 9 ? 3 : 2, 0 };
        jvm_class_dump c = { .id = 0xd0009000u, .fields = i == 8 || i == 3, .statics = i == 9 };
        at = f.size;
        if (i == 0) jvm_put_instance(&f, f.next, shop_class(SHOP_TOY), 0, NULL), memset(f.data + f.size - 4, 255, 4);
        if (i == 1) jvm_put_objects(&f, f.next, shop_class(SHOP_OBJECTS), 0, NULL), memset(f.data + f.size - 12, 255, 4);
        if (i == 2) jvm_put_array(&f, 0x23, f.next, 11, 0xffffffff);
        if (i == 3) jvm_put_class(&f, c, &bad), f.size -= 2;
        if (i == 4) jvm_put_root(&f, 0x03, f.next, 1, 1), f.size--;
        if (i == 5) jvm_put_number(&f, 1, 0xfe), jvm_put_number(&f, 4, 'A');
        if (i == 6) jvm_put_number(&f, 1, 0x99);
        if (i == 7) jvm_put_array(&f, 0x23, f.next, 2, 0), at += 17;
        if (i > 7) jvm_put_class(&f, c, &bad);
        if (i == 3 || i > 7) at = f.size - (i == 8 ? 0 : i == 9 ? 2 : 7);
        jvm_close(&f);
        jvm_open(&f, 0x1c);
        (void)jvm_put_bytes(&f, &jvm_wide, "after", 5);
        end_dump(&f);
        is_wrong(&f, said[i], at, 1, i == 3 || i > 7 ? 12 : 11, i == 3 || i > 7 ? "12 byte[]\n" : "11 byte[]\n");
    }
}

static void records_that_are_too_short_are_left_out(void **state) {
    (void)state;
    static const struct { unsigned tag; const char *said; } records[] = {
        { 0x01, "a string without an id" }, { 0x02, "a class without a name" }, { 0x04, "a short stack frame" },
        { 0x05, "a short stack trace" }, { 0x00, "a record with an unknown tag" }, { 0x77, "a record with an unknown tag" } };
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        jvm_file f = jvm_begin("1.0.2", 8), shop = shop_of("1.0.2", &jvm_compressed, 0x1c);
        jvm_open(&f, records[i].tag);
        jvm_put_number(&f, 3, 1);
        jvm_close(&f);
        jvm_put(&f, shop.data + 31, shop.size - 31);
        free(shop.data);
        is_wrong(&f, records[i].said, i < 4 ? 40 : 31, 1, 0, shop_text);
    }
    {
        jvm_file f = jvm_begin("1.0.2", 8), shop = shop_of("1.0.2", &jvm_compressed, 0x1c);
        jvm_put_trace(&f, 1, 1, 0, NULL);
        f.size -= 4;
        jvm_put_number(&f, 4, 0xfffffffc);
        jvm_put(&f, shop.data + 31, shop.size - 31);
        free(shop.data);
        is_wrong(&f, "a stack trace with too many frames", 40, 1, 0, shop_text);
    }
}

/* Strictly, no part of a file is taken for the whole. Leniently, more bytes give no fewer objects. */
static void cut_files_give_what_is_there(void **state) {
    (void)state;
    jvm_file f = shop_of("1.0.2", &jvm_compressed, 0x1c);
    uint32_t before = 0;
    for (size_t n = 40; n < f.size; n++) {
        hd_options options = { 0 };
        hd_dump *dump;
        hd_error err;
        if (!read_with(&format, f.data, n, options, &dump, &err)) fail_msg("%zu of %zu bytes are taken", n, f.size);
        options.lenient = true;
        if (read_with(&format, f.data, n, options, &dump, &err)) fail_msg("%zu bytes: %s", n, err.message);
        assert_int_equal(hd_dump_warning_count(dump), 1);
        assert_true(hd_graph_object_count(hd_dump_graph(dump)) + 8 >= before);
        before = hd_graph_object_count(hd_dump_graph(dump));
        hd_dump_free(dump);
    }
    assert_int_equal(before, 22);
    free(f.data);
}

static void headers_are_checked(void **state) {
    (void)state;
    static const struct { const char *head; size_t n; hd_status status; } heads[] = {
        { "JAVA PROFILE 1.0.2\0\0\0\0\5\0\0\0\0\0\0\0\0", 31, HD_UNSUPPORTED },
        { "JAVA PROFILE 1.0.2\0\377\377\377\377\0\0\0\0\0\0\0\0", 31, HD_UNSUPPORTED },
        { "JAVA PROFILE 1.0.2\0\0\0\0\10\0\0\0\0\0\0\0\0", 31, HD_MALFORMED },
        { "JAVA PROFILE 1.0.2\0\0\0\0\10\0\0\0\0\0\0\0\0", 30, HD_MALFORMED },
        { "JAVA PROFILE 1.0.2222222222222222222222222222222\0\0\0\0\10", 54, HD_MALFORMED } };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        for (int lenient = 0; lenient < 2; lenient++) {
            hd_options options = { .lenient = lenient };
            hd_dump *dump;
            hd_error err;
            hd_status status = read_with(&format, heads[i].head, heads[i].n, options, &dump, &err);
            assert_int_equal(status, i == 2 && lenient ? HD_OK : heads[i].status); /* a file without a dump */
            if (dump) assert_int_equal(hd_graph_validate(hd_dump_graph(dump), NULL), HD_OK);
            hd_dump_free(dump);
        }
    }
    assert_int_equal(hprof_detect((const uint8_t *)heads[0].head, 31), 100);
    assert_int_equal(hprof_detect((const uint8_t *)"JAVA PROFILE 2.0.", 18), 0);
    assert_int_equal(hprof_detect((const uint8_t *)"JAVA PROFILE", 12), 0);
}

/* Damage. ------------------------------------------------------------------------------------------------ */

static void damage_is_survived(void **state) {
    (void)state;
    jvm_file f = shop_of("1.0.2", &jvm_narrow, 0x1c);
    survives_damage(&format, f.data, f.size, 1 << 18);
    survives_malformed_words(&format, f.data, f.size, 1 << 18);
    survives_faults(&format, f.data, f.size);
    free(f.data);
}

static void limits_bind(void **state) {
    (void)state;
    uint64_t name[9], list[100];
    jvm_file f = begin_dump("1.0.2", &jvm_compressed, 0x1c, name);
    for (int i = 0; i < 100; i++) list[i] = f.next;
    for (int i = 0; i < 3000; i++) (void)jvm_put_text(&f, &jvm_compressed, shop_class(SHOP_STRING), "some text");
    for (int i = 0; i < 30; i++) jvm_put_objects(&f, jvm_place_at(&f, 416), shop_class(SHOP_OBJECTS), 100, list);
    end_dump(&f);
    survives_limits(&format, f.data, f.size);
    free(f.data);
}

/* Deep super classes whose root never comes: each instance must not climb all of them. */
static void deep_classes_take_no_time(void **state) {
    (void)state;
    jvm_file f = jvm_begin("1.0.2", 4);
    hd_dump *dump;
    jvm_open(&f, 0x1c);
    for (uint32_t i = 1; i < 4000; i++) jvm_put_class(&f, (jvm_class_dump){ .id = 8 * i, .super = 8 * (i + 1) }, NULL);
    for (uint32_t i = 0; i < 200000; i++) jvm_put_instance(&f, 0x100000 + 8 * i, 8, 0, NULL);
    end_dump(&f);
    dump = read_leniently(&f, 1);
    assert_int_equal(hd_graph_object_count(hd_dump_graph(dump)), 203999 + 1);
    hd_dump_free(dump);
}

/* Classes below one missing super class do not each walk through all super classes, even if other classes come between
   them. */
static void classes_below_a_missing_class_take_no_time(void **state) {
    (void)state;
    enum { CHAIN = 4000, BELOW = 20000 };
    jvm_file f = jvm_begin("1.0.2", 4);
    hd_dump *dump;
    jvm_open(&f, 0x1c);
    for (uint32_t i = 1; i <= CHAIN; i++) jvm_put_class(&f, (jvm_class_dump){ .id = 8 * i, .super = 8 * (i + 1) }, NULL);
    for (uint32_t i = 0; i < BELOW; i++) {
        jvm_put_class(&f, (jvm_class_dump){ .id = 0x100000 + 8 * i, .super = 8 }, NULL);
        jvm_put_instance(&f, 0x200000 + 8 * i, 0x100000 + 8 * i, 0, NULL);
    }
    end_dump(&f);
    dump = read_leniently(&f, 1);
    assert_int_equal(hd_graph_object_count(hd_dump_graph(dump)), CHAIN + 2 * BELOW + 1);
    hd_dump_free(dump);
}

/* A chain of super classes is complete only when its last record comes, in any order. */
static void super_classes_may_come_last(void **state) {
    (void)state;
    enum { CHAIN = 50 };
    jvm_file f = jvm_begin("1.0.2", 4);
    jvm_slot_of slot[CHAIN] = { { 0 } };
    hd_object o;
    hd_dump *dump;
    for (uint32_t i = 0; i < CHAIN; i++) slot[i] = (jvm_slot_of){ 0x10, 2, 0x1000 };
    slot[0].name = jvm_put_string(&f, "next");
    jvm_open(&f, 0x1c);
    for (uint32_t i = 1; i <= CHAIN; i++) {
        jvm_put_class(&f, (jvm_class_dump){ .id = 8 * i, .super = i < CHAIN ? 8 * (i + 1) : 0, .fields = 1 }, slot);
        jvm_put_instance(&f, 0x1000 + 8 * i, 8, CHAIN, slot);
    }
    jvm_put_instance(&f, 0x1000, 8, CHAIN, slot);
    end_dump(&f);
    dump = read_file(&f);
    for (uint32_t i = 0; i <= CHAIN; i++) {
        o = hd_graph_object(hd_dump_graph(dump), hd_graph_find(hd_dump_graph(dump), 0x1000 + 8 * i));
        assert_int_equal(o.reference_count, CHAIN);
    }
    hd_dump_free(dump);
}

/* Each thread's name is found without a search through all threads. */
static void many_threads_take_no_time(void **state) {
    (void)state;
    enum { THREADS = 30000 };
    uint64_t name[9], text;
    jvm_file f = begin_dump("1.0.2", &jvm_compressed, 0x1c, name);
    jvm_slot_of slot = { 0, 2, 0 };
    hd_dump *dump;
    hd_root root;
    text = jvm_put_text(&f, &jvm_compressed, shop_class(SHOP_STRING), "pool");
    slot.value = text;
    for (uint32_t i = 0; i < THREADS; i++) {
        uint64_t id = jvm_place_at(&f, 16);
        jvm_put_instance(&f, id, shop_class(SHOP_THREAD), 1, &slot);
        jvm_put_root(&f, 0x08, id, i + 2, 1);
        for (uint32_t k = 0; k < 10; k++) jvm_put_root(&f, 0x03, text, i + 2, k);
    }
    end_dump(&f);
    dump = read_file(&f);
    root = hd_graph_root(hd_dump_graph(dump), 11 * THREADS - 1);
    assert_true(hd_str_equal(hd_graph_root_name(hd_dump_graph(dump), &root), hd_cstr("local variable of thread pool")));
    hd_dump_free(dump);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_has_the_same_graph),
        cmocka_unit_test(sizes_are_those_of_the_jvm),
        cmocka_unit_test(distances_with_gaps_are_no_sizes),
        cmocka_unit_test(ids_that_are_no_addresses_are_no_sizes),
        cmocka_unit_test(lengths_of_single_dumps_may_be_too_small),
        cmocka_unit_test(empty_dumps_have_no_objects),
        cmocka_unit_test(lengths_wrap_at_4_gib),
        cmocka_unit_test(roots_have_kind_thread_and_frame),
        cmocka_unit_test(values_are_shown),
        cmocka_unit_test(names_are_those_of_threads_and_constants),
        cmocka_unit_test(long_names_of_threads_are_cut),
        cmocka_unit_test(names_are_strings),
        cmocka_unit_test(names_of_threads_are_found_by_any_ids),
        cmocka_unit_test(strings_are_latin1_or_utf16),
        cmocka_unit_test(long_strings_have_their_length),
        cmocka_unit_test(classes_decide_what_references_mean),
        cmocka_unit_test(class_objects_have_the_class_of_the_file),
        cmocka_unit_test(every_type_is_skipped_or_followed),
        cmocka_unit_test(instances_keep_their_class_loader),
        cmocka_unit_test(android_dumps_are_read),
        cmocka_unit_test(dumps_of_art_have_their_own_sizes),
        cmocka_unit_test(random_graphs_are_read_object_by_object),
        cmocka_unit_test(instances_of_another_size_are_reported),
        cmocka_unit_test(classes_may_come_after_their_instances),
        cmocka_unit_test(classes_may_be_missing_or_cyclic),
        cmocka_unit_test(equal_ids_are_reported),
        cmocka_unit_test(parts_that_end_behind_their_dump_are_left_out),
        cmocka_unit_test(records_that_are_too_short_are_left_out),
        cmocka_unit_test(cut_files_give_what_is_there),
        cmocka_unit_test(headers_are_checked),
        cmocka_unit_test(damage_is_survived),
        cmocka_unit_test(limits_bind),
        cmocka_unit_test(deep_classes_take_no_time),
        cmocka_unit_test(classes_below_a_missing_class_take_no_time),
        cmocka_unit_test(super_classes_may_come_last),
        cmocka_unit_test(many_threads_take_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
