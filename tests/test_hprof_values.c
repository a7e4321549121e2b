/* Heap dumps of JVMs: threads with their state, stack and local variables; collections with the number of their
   elements and slots. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../heapdump.h"
#include "faults.h"
#include "readers.h"
#include "hprof.h"
#include "../examples/heapdump/formats/hprof.c"

static const hd_format format = { .name = "hprof", .title = "a heap dump of a JVM", .detect = hprof_detect,
                                  .read = hprof_read, .free = hprof_free, .graph = hprof_graph, .info = hprof_info,
                                  .value = hprof_value, .is = HD_FORMAT_BINARY };

static hd_dump *read_file(jvm_file *f) {
    hd_dump *dump;
    hd_error err;
    jvm_close(f);
    jvm_open(f, 0x2c);
    jvm_close(f);
    dump = read_well(&format, f->data, f->size, false, 0);
    if (hd_graph_validate(hd_dump_graph(dump), &err)) fail_msg("%s", err.message);
    free(f->data);
    return dump;
}

static hd_value value_of(const hd_dump *dump, uint64_t id) {
    hd_values values = hd_dump_values(dump);
    hd_value value = HD_ZERO;
    uint32_t object = hd_graph_find(hd_dump_graph(dump), id);
    assert_true(object != HD_NONE);
    values.get(values.document, object, &value);
    return value;
}

static bool is_text(hd_str text, const char *expected) { return hd_str_equal(text, hd_cstr(expected)); }

/* Threads. ------------------------------------------------------------------------------------------ */

enum { OBJECT, STRING, THREAD, HOLDER, WORKER, BYTES, CLASSES, NAME = 0, VALUE, CODER, STATUS, HOLDS, RUN, SOURCE, NAMES };
static uint64_t class_id(unsigned i) { return 0xd0000000u + 0x200 * (uint64_t)i; }

/* Classes of threads. `held`: the status is in a holder, as from JDK 19 on. */
static jvm_file threads_begin(bool held, uint64_t name[NAMES]) {
    static const char *const classes[CLASSES] = { "java/lang/Object", "java/lang/String", "java/lang/Thread",
                                                  "java/lang/Thread$FieldHolder", "Worker", "[B" };
    static const char *const names[NAMES] = { "name", "value", "coder", "threadStatus", "holder", "run", "Worker.java" };
    jvm_file f = jvm_begin("1.0.2", 8);
    jvm_class_dump c = { 0, 0, 0, 0, 0, 0, 0, 0, 0 };
    for (unsigned i = 0; i < NAMES; i++) name[i] = jvm_put_string(&f, names[i]);
    for (unsigned i = 0; i < CLASSES; i++) jvm_put_load(&f, i + 1, class_id(i), jvm_put_string(&f, classes[i]));
    for (uint64_t i = 0; i < 3; i++) /* Worker.run (Worker.java:10), (native), without a line */
        jvm_put_frame(&f, 0x70 + i, name[RUN], name[SOURCE], WORKER + 1, i == 0 ? 10 : i == 1 ? -3 : -1);
    jvm_open(&f, 0x1c);
    {
        const jvm_slot_of string[] = { { name[VALUE], 2, 0 }, { name[CODER], 8, 0 } },
                          thread[] = { { name[NAME], 2, 0 }, { name[held ? HOLDS : STATUS], held ? 2 : 10, 0 } },
                          holder[] = { { name[STATUS], 10, 0 } };
        const jvm_slot_of *fields[CLASSES] = { NULL, string, thread, holder, NULL, NULL };
        static const uint32_t counts[CLASSES] = { 0, 2, 2, 1, 0, 0 };
        for (unsigned i = 0; i < CLASSES; i++) {
            c.id = class_id(i), c.super = i ? class_id(i == WORKER ? THREAD : OBJECT) : 0, c.fields = counts[i];
            jvm_put_class(&f, c, fields[i]);
        }
    }
    return f;
}

/* A worker, a subclass of Thread; returns its id. */
static uint64_t put_worker(jvm_file *f, bool held, const char *text, uint32_t status) {
    jvm_slot_of string[] = { { 0, 2, 0 }, { 0, 8, 0 } }, thread[] = { { 0, 2, 0 }, { 0, held ? 2 : 10, status } },
                holder[] = { { 0, 10, status } };
    uint64_t id;
    string[0].value = jvm_put_bytes(f, &jvm_compressed, text, (uint32_t)strlen(text));
    thread[0].value = jvm_place_at(f, 24);
    jvm_put_instance(f, thread[0].value, class_id(STRING), 2, string);
    if (held) {
        thread[1].value = jvm_place_at(f, 16);
        jvm_put_instance(f, thread[1].value, class_id(HOLDER), 1, holder);
    }
    id = jvm_place_at(f, 24);
    jvm_put_instance(f, id, class_id(WORKER), 2, thread);
    return id;
}

static void threads_have_a_name_and_a_state(void **state) {
    (void)state;
    static const struct { uint32_t status; const char *state; } states[] = {
        { 0, "NEW" }, { 1, "RUNNABLE" }, { 5, "RUNNABLE" }, { 0x401, "BLOCKED" }, { 0x191, "WAITING" },
        { 0x1a1, "TIMED_WAITING" }, { 2, "TERMINATED" } };
    enum { STATES = sizeof states / sizeof *states };
    for (int held = 0; held < 2; held++) {
        uint64_t name[NAMES], id[STATES];
        jvm_file f = threads_begin(held, name);
        hd_dump *dump;
        const hd_graph *g;
        for (unsigned i = 0; i < STATES; i++) id[i] = put_worker(&f, held, i ? "caf\xe9" : "main", states[i].status);
        for (unsigned i = 0; i < STATES; i++) jvm_put_root(&f, 0x08, id[i], i + 1, 0);
        jvm_put_root(&f, 0x08, 0xeeee0000, 99, 0); /* a thread without an object */
        dump = read_file(&f), g = hd_dump_graph(dump);
        assert_int_equal(hd_graph_thread_count(g), STATES + 1);
        for (uint32_t i = 0; i <= STATES; i++) {
            hd_thread_info t = hd_graph_thread(g, i);
            assert_int_equal(t.id, i < STATES ? id[i] : 0xeeee0000);
            assert_int_equal(t.object, hd_graph_find(g, t.id));
            assert_true(is_text(t.state, i < STATES ? states[i].state : ""));
            assert_true(is_text(t.name, i == STATES ? "" : i ? "caf\xc3\xa9" : "main"));
            assert_int_equal(t.frame_count, 0);
        }
        hd_dump_free(dump);
    }
}

/* A stack belongs to one thread, named by the root of the thread's object. Unknown frames are empty. */
static void threads_have_their_stack_and_locals(void **state) {
    (void)state;
    uint64_t name[NAMES], id[3], local;
    const uint64_t frames[] = { 0x71, 0x70, 0x99, 0x72 };
    jvm_file f = threads_begin(false, name);
    hd_dump *dump;
    const hd_graph *g;
    hd_thread_info t;
    hd_stack_frame frame;
    hd_root r;
    for (unsigned i = 0; i < 3; i++) id[i] = put_worker(&f, false, "w", 5);
    local = jvm_put_bytes(&f, &jvm_compressed, "local", 5);
    jvm_close(&f);
    jvm_put_trace(&f, 7, 1, 4, frames);
    jvm_put_trace(&f, 8, 1, 1, frames);  /* another trace of thread 1 */
    jvm_open(&f, 0x1c);
    for (uint32_t i = 0; i < 3; i++) jvm_put_root(&f, 0x08, id[i], i + 1, i == 2 ? 8 : 7);
    jvm_put_root(&f, 0x03, local, 1, 1); /* in Worker.run, line 10 */
    jvm_put_root(&f, 0x02, local, 1, 0xffffffff);
    jvm_put_root(&f, 0x03, local, 2, 0); /* thread 2 has no stack */
    jvm_put_root(&f, 0x03, local, 3, 5); /* beyond the stack */
    jvm_put_root(&f, 0x03, local, 77, 0); /* an unknown thread */
    dump = read_file(&f), g = hd_dump_graph(dump);
    assert_int_equal(hd_graph_thread_count(g), 3);
    t = hd_graph_thread(g, 0);
    assert_int_equal(t.frame_count, 4);
    frame = hd_graph_frame(g, t.frames[0]);
    assert_true(is_text(frame.function, "Worker.run") && frame.native && !frame.line && is_text(frame.file, "Worker.java"));
    frame = hd_graph_frame(g, t.frames[1]);
    assert_true(is_text(frame.function, "Worker.run") && !frame.native && frame.line == 10);
    assert_int_equal(hd_graph_frame(g, t.frames[2]).function.len, 0);
    frame = hd_graph_frame(g, t.frames[3]);
    assert_true(is_text(frame.function, "Worker.run") && !frame.native && !frame.line);
    assert_int_equal(hd_graph_thread(g, 1).frame_count, 0);
    assert_int_equal(hd_graph_thread(g, 2).frame_count, 1);
    for (uint32_t i = 0; i < 3; i++) {
        r = hd_graph_root(g, i);
        assert_true(r.thread == i + 1 && !r.frame && r.kind == HD_ROOT_INTERNAL);
    }
    for (uint32_t i = 3; i < 8; i++) {
        static const struct { uint32_t thread, frame; const char *name; } places[] = {
            { 1, 2, "local variable of thread w, Worker.run (Worker.java:10)" }, { 1, 0, "JNI local of thread w" },
            { 2, 0, "local variable of thread w" }, { 3, 0, "local variable of thread w" }, { 0, 0, "local variable" } };
        r = hd_graph_root(g, i);
        assert_true(r.thread == places[i - 3].thread && r.frame == places[i - 3].frame && r.kind == HD_ROOT_LOCAL);
        assert_true(is_text(hd_graph_root_name(g, &r), places[i - 3].name));
    }
    hd_dump_free(dump);
}

/* Threads and constants of an enum whose strings share a text of `n` bytes, each of them `c`. The first `expected`
   bytes of UTF-8 are the name, and memory is kept for no more. */
static void check_long_name(char c, uint32_t n, size_t expected) {
    enum { COUNT = 50 };
    static char text[65536];
    uint64_t name[NAMES];
    jvm_file f = threads_begin(false, name);
    jvm_slot_of string[] = { { 0, 2, 0 }, { 0, 8, 0 } }, thread[] = { { 0, 2, 0 }, { 0, 10, 5 } };
    const hd_graph *g;
    hd_dump *dump;
    memset(text, c, n);
    string[0].value = jvm_put_bytes(&f, &jvm_compressed, text, n);
    jvm_close(&f);
    jvm_put_load(&f, CLASSES + 1, class_id(CLASSES), jvm_put_string(&f, "java/lang/Enum"));
    jvm_open(&f, 0x1c);
    jvm_put_class(&f, (jvm_class_dump){ .id = class_id(CLASSES), .fields = 1 }, (jvm_slot_of[]){ { name[NAME], 2, 0 } });
    for (uint64_t i = 0; i < COUNT; i++) {
        thread[0].value = 0x100000 + 16 * i;
        jvm_put_instance(&f, thread[0].value, class_id(STRING), 2, string);
        jvm_put_instance(&f, 0x200000 + 16 * i, class_id(CLASSES), 1, thread);
        jvm_put_instance(&f, 0x300000 + 16 * i, class_id(THREAD), 2, thread);
        jvm_put_root(&f, 0x08, 0x300000 + 16 * i, (uint32_t)i + 1, 0);
    }
    dump = read_file(&f), g = hd_dump_graph(dump);
    assert_int_equal(hd_graph_thread_count(g), COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        hd_value value = value_of(dump, 0x200000 + 16 * i);
        assert_int_equal(hd_graph_thread(g, i).name.len, expected);
        assert_int_equal(value.kind, HD_VALUE_NAME);
        assert_int_equal(value.text.len, expected);
        for (size_t k = 0; k < expected; k++)
            assert_int_equal((uint8_t)value.text.data[k], c == 'n' ? 'n' : k % 2 ? 0xa9 : 0xc3);
    }
    assert_int_equal(((const hprof *)hd_dump_values(dump).document)->bytes_size, n + COUNT * expected);
    hd_dump_free(dump);
}

static void long_names_are_cut(void **state) {
    (void)state;
    check_long_name('n', 1023, 1023);
    check_long_name('n', 1024, 1024);
    check_long_name('n', 1025, 1024);
    check_long_name('\xe9', 511, 1022);
    check_long_name('\xe9', 65536, 1024);
}

/* Collections. -------------------------------------------------------------------------------------- */

/* A class of the library with its fields. `length` of the array: the slots are half of it for pairs. */
typedef struct library_class {
    const char *name, *number[2], *array;
    uint32_t value[2], length;
    uint64_t elements, slots;    /* expected */
} library_class;

static const library_class library[] = {
    { "java/util/HashMap", { "size" }, "table", { 12 }, 4096, 12, 4096 },
    { "java/util/HashMap", { "size" }, "table", { 0 }, 0, 0, 0 }, /* no table so far */
    { "java/util/ArrayList", { "size" }, "elementData", { 7 }, 10, 7, 10 },
    { "java/util/Vector", { "elementCount" }, "elementData", { 1 }, 33, 1, 33 },
    { "java/util/Hashtable", { "count" }, "table", { 2 }, 17, 2, 17 },
    { "java/util/PriorityQueue", { "size" }, "queue", { 3 }, 40, 3, 40 },
    { "java/util/TreeMap", { "size" }, NULL, { 9 }, 0, 9, 0 },
    { "java/util/LinkedList", { "size" }, NULL, { 4 }, 0, 4, 0 },
    { "java/util/WeakHashMap", { "size" }, "table", { 5 }, 16, 5, 16 },
    { "java/util/IdentityHashMap", { "size" }, "table", { 1 }, 64, 1, 32 },
    { "java/util/EnumMap", { "size" }, "vals", { 1 }, 3, 1, 3 },
    { "java/util/ArrayDeque", { "head", "tail" }, "elements", { 3, 9 }, 16, 6, 16 },
    { "java/util/ArrayDeque", { "head", "tail" }, "elements", { 9, 3 }, 16, 10, 16 } /* around the end */
};
enum { LIBRARY = sizeof library / sizeof *library };

/* One collection of a class, or of a subclass with a field of its own. */
static void check_collection(const library_class *l, bool subclass) {
    jvm_file f = jvm_begin("1.0.2", 8);
    jvm_class_dump c = { .id = class_id(0) };
    jvm_slot_of slot[4] = { { 0 } };
    uint64_t nulls[4096] = { 0 }, own = jvm_put_string(&f, "own"), id;
    uint32_t n = 0;
    hd_value value;
    hd_dump *dump;
    jvm_put_load(&f, 1, class_id(0), jvm_put_string(&f, "java/lang/Object"));
    jvm_put_load(&f, 2, class_id(1), jvm_put_string(&f, l->name));
    jvm_put_load(&f, 3, class_id(2), jvm_put_string(&f, "Cart"));
    jvm_put_load(&f, 4, class_id(3), jvm_put_string(&f, "[Ljava/lang/Object;"));
    if (subclass) slot[n++] = (jvm_slot_of){ own, 11, 77 };
    for (int k = 0; k < 2; k++)
        if (l->number[k]) slot[n++] = (jvm_slot_of){ jvm_put_string(&f, l->number[k]), 10, l->value[k] };
    if (l->array) slot[n++] = (jvm_slot_of){ jvm_put_string(&f, l->array), 2, 0 };
    jvm_open(&f, 0x1c);
    jvm_put_class(&f, c, NULL);
    c.super = class_id(0), c.id = class_id(3);
    jvm_put_class(&f, c, NULL);
    c.id = class_id(1), c.fields = n - subclass;
    jvm_put_class(&f, c, slot + subclass);
    c.id = class_id(2), c.super = class_id(1), c.fields = 1;
    jvm_put_class(&f, c, slot);
    if (l->length) {
        f.next += subclass;      /* an id that is no address */
        slot[n - 1].value = jvm_place_at(&f, 16 + 4 * l->length);
        jvm_put_objects(&f, slot[n - 1].value, class_id(3), l->length, nulls);
    }
    id = jvm_place_at(&f, 48);
    jvm_put_instance(&f, id, class_id(subclass ? 2 : 1), n, slot);
    dump = read_file(&f);
    value = value_of(dump, id);
    assert_int_equal(value.kind, HD_VALUE_LENGTH);
    assert_int_equal(value.number, l->elements);
    assert_int_equal(value.slots, l->slots);
    hd_dump_free(dump);
}

static void collections_count_their_elements(void **state) {
    (void)state;
    for (size_t i = 0; i < LIBRARY; i++) check_collection(&library[i], false), check_collection(&library[i], true);
}

/* A HashSet, a TreeSet and Properties have the value of the map inside; a ConcurrentHashMap counts in cells, too. */
static void wrapped_and_concurrent_collections_count(void **state) {
    (void)state;
    static const char *const names[] = { "java/lang/Object", "java/util/HashSet", "java/util/concurrent/ConcurrentHashMap",
                                         "java/util/concurrent/ConcurrentHashMap$CounterCell", "[Ljava/lang/Object;",
                                         "java/util/TreeSet", "java/util/Properties" };
    enum { MAP_OF_SETS, BASE, CELLS, TABLE, CELL, M, FIELDS };
    static const char *const field_names[FIELDS] = { "map", "baseCount", "counterCells", "table", "value", "m" };
    jvm_file f = jvm_begin("1.0.2", 8);
    uint64_t name[FIELDS], cells[4] = { 0 }, nulls[64] = { 0 }, set[3], map, array, table;
    jvm_class_dump c = { .id = class_id(0) };
    hd_value value;
    hd_dump *dump;
    for (unsigned i = 0; i < FIELDS; i++) name[i] = jvm_put_string(&f, field_names[i]);
    for (unsigned i = 0; i < 7; i++) jvm_put_load(&f, i + 1, class_id(i), jvm_put_string(&f, names[i]));
    jvm_open(&f, 0x1c);
    {
        jvm_slot_of sets[] = { { name[MAP_OF_SETS], 2, 0 } }, trees[] = { { name[M], 2, 0 } }, cell[] = { { name[CELL], 11, 0 } },
                    maps[] = { { name[BASE], 11, 0 }, { name[CELLS], 2, 0 }, { name[TABLE], 2, 0 } };
        const jvm_slot_of *fields[] = { NULL, sets, maps, cell, NULL, trees, sets };
        static const uint32_t counts[] = { 0, 1, 3, 1, 0, 1, 1 };
        for (unsigned i = 0; i < 7; i++) {
            c.id = class_id(i), c.super = i ? class_id(0) : 0, c.fields = counts[i];
            jvm_put_class(&f, c, fields[i]);
        }
        for (unsigned i = 1; i < 4; i += 2) {
            cell[0].value = 100 * i;
            cells[i] = jvm_place_at(&f, 24);
            jvm_put_instance(&f, cells[i], class_id(3), 1, cell);
        }
        array = jvm_place_at(&f, 32);
        jvm_put_objects(&f, array, class_id(4), 4, cells);
        table = jvm_place_at(&f, 16 + 4 * 64);
        jvm_put_objects(&f, table, class_id(4), 64, nulls);
        maps[0].value = 7, maps[1].value = array, maps[2].value = table;
        map = jvm_place_at(&f, 64);
        jvm_put_instance(&f, map, class_id(2), 3, maps);
        sets[0].value = map;
        for (unsigned i = 0; i < 3; i++) {
            set[i] = jvm_place_at(&f, 16);
            jvm_put_instance(&f, set[i], class_id(i ? 4 + i : 1), 1, sets);
        }
    }
    dump = read_file(&f);
    for (unsigned i = 0; i < 4; i++) {
        value = value_of(dump, i < 3 ? set[i] : map);
        assert_int_equal(value.kind, HD_VALUE_LENGTH);
        assert_int_equal(value.number, 407);
        assert_int_equal(value.slots, 64);
    }
    value = value_of(dump, cells[1]);
    assert_true(value.kind == HD_VALUE_INTEGER && value.number == 100);
    hd_dump_free(dump);
}

/* A subclass of HashSet may have a field "map" of its own. Objects of other classes have no count. */
static void sets_count_by_their_own_map(void **state) {
    (void)state;
    static const char *const names[] = { "java/util/HashMap", "java/util/HashSet", "MySet", "java/lang/Integer" };
    jvm_file f = jvm_begin("1.0.2", 8);
    jvm_slot_of size[] = { { jvm_put_string(&f, "size"), 10, 3 } }, map[] = { { jvm_put_string(&f, "map"), 2, 0 } },
                number[] = { { jvm_put_string(&f, "value"), 10, 5 } };
    const jvm_slot_of *fields[] = { size, map, map, number };
    hd_dump *dump;
    for (unsigned i = 0; i < 4; i++) jvm_put_load(&f, i + 1, class_id(i), jvm_put_string(&f, names[i]));
    jvm_open(&f, 0x1c);
    for (unsigned i = 0; i < 4; i++)
        jvm_put_class(&f, (jvm_class_dump){ .id = class_id(i), .super = i == 2 ? class_id(1) : 0, .fields = 1 }, fields[i]);
    jvm_put_instance(&f, 0x1000, class_id(0), 1, size);
    jvm_put_instance(&f, 0x1010, class_id(3), 1, number);
    for (uint64_t i = 0; i < 2; i++)
        jvm_put_instance(&f, 0x1020 + 0x10 * i, class_id(2), 2, (jvm_slot_of[]){ { 0, 2, 0x1010 - 0x10 * i }, { 0, 2, 0x1000 + 0x10 * i } });
    dump = read_file(&f);
    assert_true(value_of(dump, 0x1020).kind == HD_VALUE_LENGTH && value_of(dump, 0x1020).number == 3);
    assert_int_equal(value_of(dump, 0x1030).kind, HD_VALUE_NONE);
    hd_dump_free(dump);
}

/* Counts below zero, and fields that the file does not have, give no value. */
static void damaged_collections_have_no_count(void **state) {
    (void)state;
    static const char *const classes[] = { "java/util/HashMap", "java/util/ArrayDeque", "java/util/HashSet" };
    for (unsigned i = 0; i < 6; i++) {
        jvm_file f = jvm_begin("1.0.2", 8);
        jvm_slot_of slot[] = { { jvm_put_string(&f, i < 3 ? "size" : "head"), 10, 0x80000000 }, { jvm_put_string(&f, "map"), 2, 0 } };
        jvm_class_dump c = { .id = class_id(0) };
        uint64_t id;
        hd_dump *dump;
        hd_value value;
        jvm_put_load(&f, 1, class_id(0), jvm_put_string(&f, classes[i % 3]));
        jvm_open(&f, 0x1c);
        c.fields = 2;
        jvm_put_class(&f, c, slot);
        id = jvm_place_at(&f, 32);
        slot[1].value = id;      /* a set of itself */
        jvm_put_instance(&f, id, class_id(0), 2, slot);
        dump = read_file(&f);
        value = value_of(dump, id);
        if (i == 4) assert_true(value.kind == HD_VALUE_LENGTH && value.number == 0x80000000u); /* from -2^31 to 0 */
        else assert_int_equal(value.kind, HD_VALUE_NONE);
        hd_dump_free(dump);
    }
}

/* Counts of collections are int or long. If the value of a String is a collection, the String has no text: slots are
   no characters. */
static void a_count_is_no_text(void **state) {
    (void)state;
    static const char *const names[] = { "java/lang/String", "java/util/ArrayList", "[Ljava/lang/Object;" };
    static const struct { uint8_t type; uint32_t kind; } counts[] = {
        { 8, HD_VALUE_NONE }, { 5, HD_VALUE_NONE }, { 4, HD_VALUE_NONE }, { 9, HD_VALUE_NONE },
        { 10, HD_VALUE_LENGTH }, { 11, HD_VALUE_LENGTH } };
    static uint64_t nulls[60000];
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        jvm_file f = jvm_begin("1.0.2", 8);
        jvm_slot_of list[] = { { jvm_put_string(&f, "size"), counts[i].type, 1 },
                               { jvm_put_string(&f, "elementData"), 2, 0x100000 } },
                    string[] = { { jvm_put_string(&f, "value"), 2, 0x200000 } };
        hd_dump *dump;
        for (unsigned k = 0; k < 3; k++) jvm_put_load(&f, k + 1, class_id(k), jvm_put_string(&f, names[k]));
        jvm_open(&f, 0x1c);
        jvm_put_class(&f, (jvm_class_dump){ .id = class_id(0), .fields = 1 }, string);
        jvm_put_class(&f, (jvm_class_dump){ .id = class_id(1), .fields = 2 }, list);
        jvm_put_class(&f, (jvm_class_dump){ .id = class_id(2) }, NULL);
        jvm_put_objects(&f, 0x100000, class_id(2), 60000, nulls);
        jvm_put_instance(&f, 0x200000, class_id(1), 2, list);
        jvm_put_instance(&f, 0x300000, class_id(0), 1, string);
        dump = read_file(&f);
        assert_int_equal(value_of(dump, 0x200000).kind, counts[i].kind);
        assert_int_equal(value_of(dump, 0x300000).kind, HD_VALUE_NONE);
        hd_dump_free(dump);
    }
}

/* A list that is a Byte, too, has a byte as its value, and slots. It is no text either. */
static void a_byte_with_slots_is_no_text(void **state) {
    (void)state;
    static const char *const names[] = { "java/lang/String", "java/lang/Byte", "java/util/ArrayList", "[Ljava/lang/Object;" };
    static uint64_t nulls[60000];
    jvm_file f = jvm_begin("1.0.2", 8);
    jvm_slot_of value[] = { { jvm_put_string(&f, "value"), 8, 5 } }, string[] = { { value->name, 2, 0x200000 } };
    hd_dump *dump;
    for (unsigned k = 0; k < 4; k++) jvm_put_load(&f, k + 1, class_id(k), jvm_put_string(&f, names[k]));
    jvm_open(&f, 0x1c);
    jvm_put_class(&f, (jvm_class_dump){ .id = class_id(0), .fields = 1 }, string);
    jvm_put_class(&f, (jvm_class_dump){ .id = class_id(1), .fields = 1 }, value);
    jvm_put_class(&f, (jvm_class_dump){ .id = class_id(2), .super = class_id(1) }, NULL);
    jvm_put_class(&f, (jvm_class_dump){ .id = class_id(3) }, NULL);
    jvm_put_objects(&f, 0, class_id(3), 60000, nulls);
    jvm_put_instance(&f, 0x200000, class_id(2), 1, value);
    jvm_put_instance(&f, 0x300000, class_id(0), 1, string);
    dump = read_file(&f);
    assert_int_equal(value_of(dump, 0x300000).kind, HD_VALUE_NONE);
    hd_dump_free(dump);
}

/* The super classes of a map run in a circle, so its set has no count. */
static void a_circle_of_super_classes_has_no_count(void **state) {
    (void)state;
    static const char *const names[] = { "java/util/HashSet", "A", "B" };
    jvm_file f = jvm_begin("1.0.2", 8);
    jvm_slot_of map[] = { { jvm_put_string(&f, "map"), 2, 0x1000 } };
    hd_dump *dump;
    for (unsigned i = 0; i < 3; i++) jvm_put_load(&f, i + 1, class_id(i), jvm_put_string(&f, names[i]));
    jvm_open(&f, 0x1c);
    jvm_put_class(&f, (jvm_class_dump){ .id = class_id(0), .fields = 1 }, map);
    jvm_put_class(&f, (jvm_class_dump){ .id = class_id(1), .super = class_id(2) }, NULL);
    jvm_put_class(&f, (jvm_class_dump){ .id = class_id(2), .super = class_id(1) }, NULL);
    jvm_put_instance(&f, 0x1000, class_id(1), 0, NULL);
    jvm_put_instance(&f, 0x2000, class_id(0), 1, map);
    jvm_close(&f);
    jvm_open(&f, 0x2c);
    jvm_close(&f);
    dump = read_well(&format, f.data, f.size, true, 1); /* an instance is left out */
    assert_int_equal(value_of(dump, 0x2000).kind, HD_VALUE_NONE);
    assert_int_equal(value_of(dump, 0x1000).kind, HD_VALUE_NONE);
    hd_dump_free(dump);
    free(f.data);
}

/* A map adds the counts of its cells to its own count; a cell may be negative. A map has no value if its sum is
   negative or too large. */
static void counts_in_cells_may_be_any_number(void **state) {
    (void)state;
    static const struct { uint64_t base, cell; uint32_t kind; uint64_t number; } sums[] = {
        { 10, (uint64_t)-3, HD_VALUE_LENGTH, 7 }, { (uint64_t)-3, 10, HD_VALUE_LENGTH, 7 },
        { 3, (uint64_t)-10, HD_VALUE_NONE, 0 }, { INT64_MAX, 0, HD_VALUE_LENGTH, INT64_MAX },
        { INT64_MAX, INT64_MAX, HD_VALUE_NONE, 0 }, { INT64_MAX, 1, HD_VALUE_NONE, 0 } };
    static const char *const names[] = { "java/util/concurrent/ConcurrentHashMap",
                                         "java/util/concurrent/ConcurrentHashMap$CounterCell", "[Ljava/lang/Object;" };
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        jvm_file f = jvm_begin("1.0.2", 8);
        jvm_slot_of map[] = { { jvm_put_string(&f, "baseCount"), 11, sums[i].base },
                              { jvm_put_string(&f, "counterCells"), 2, 0x2000 } },
                    cell[] = { { jvm_put_string(&f, "value"), 11, sums[i].cell } };
        uint64_t cells[] = { 0x1000 };
        hd_dump *dump;
        hd_value value;
        for (unsigned k = 0; k < 3; k++) jvm_put_load(&f, k + 1, class_id(k), jvm_put_string(&f, names[k]));
        jvm_open(&f, 0x1c);
        jvm_put_class(&f, (jvm_class_dump){ .id = class_id(0), .fields = 2 }, map);
        jvm_put_class(&f, (jvm_class_dump){ .id = class_id(1), .fields = 1 }, cell);
        jvm_put_class(&f, (jvm_class_dump){ .id = class_id(2) }, NULL);
        jvm_put_instance(&f, 0x1000, class_id(1), 1, cell);
        jvm_put_objects(&f, 0x2000, class_id(2), 1, cells);
        jvm_put_instance(&f, 0x3000, class_id(0), 2, map);
        dump = read_file(&f);
        value = value_of(dump, 0x3000);
        assert_int_equal(value.kind, sums[i].kind);
        assert_int_equal(value.number, sums[i].number);
        hd_dump_free(dump);
    }
}

/* Options. ------------------------------------------------------------------------------------------ */

static hd_dump *read_shop(hd_options options) {
    jvm_file f = shop_of("1.0.2", &jvm_compressed, 0x1c);
    hd_dump *dump;
    hd_error err;
    if (read_with(&format, f.data, f.size, options, &dump, &err)) fail_msg("%s", err.message);
    free(f.data);
    return dump;
}

/* Sizes of a String, a Thread, a Toy, an Object[3] and the class object of Shop. */
static void a_layout_overrides_the_distances(void **state) {
    (void)state;
    static const struct { uint32_t layout; uint64_t size[5]; } layouts[] = {
        { HD_LAYOUT_FOUND, { 24, 16, 32, 32, 512 } }, { HD_LAYOUT_COMPRESSED, { 24, 16, 32, 32, 24 } },
        { HD_LAYOUT_WIDE, { 32, 24, 40, 40, 24 } }, { HD_LAYOUT_FILE, { 13, 8, 28, 24, 12 } } };
    static const uint32_t objects[] = { 12, 13, 16, 20, 3 };
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        hd_dump *dump = read_shop((hd_options){ .layout = layouts[i].layout });
        for (size_t k = 0; k < 5; k++)
            if (hd_graph_object(hd_dump_graph(dump), objects[k]).size != layouts[i].size[k])
                fail_msg("layout %zu, object %u: %llu", i, objects[k],
                         (unsigned long long)hd_graph_object(hd_dump_graph(dump), objects[k]).size);
        hd_dump_free(dump);
    }
}

/* A soft reference holds its object unless the caller says otherwise; other references of it always do. */
static void soft_references_hold_by_choice(void **state) {
    (void)state;
    static const char *const classes[] = { "java/lang/Object", "java/lang/ref/Reference", "java/lang/ref/SoftReference" };
    for (int weak = 0; weak < 2; weak++) {
        jvm_file f = jvm_begin("1.0.2", 8);
        jvm_slot_of slot[] = { { jvm_put_string(&f, "referent"), 2, 0 }, { jvm_put_string(&f, "queue"), 2, 0 } };
        jvm_class_dump c = { .id = class_id(0) };
        hd_options o = { .soft_weak = weak };
        uint64_t held[2], soft;
        hd_object x;
        hd_total total;
        hd_dump *dump;
        hd_error err;
        for (unsigned i = 0; i < 3; i++) jvm_put_load(&f, i + 1, class_id(i), jvm_put_string(&f, classes[i]));
        jvm_open(&f, 0x1c);
        for (unsigned i = 0; i < 3; i++) {
            c.id = class_id(i), c.super = i ? class_id(i - 1) : 0, c.fields = i == 1 ? 2 : 0;
            jvm_put_class(&f, c, slot);
        }
        for (int k = 0; k < 2; k++) {
            held[k] = jvm_place_at(&f, 16);
            jvm_put_instance(&f, held[k], class_id(0), 0, NULL);
            slot[k].value = held[k];
        }
        soft = jvm_place_at(&f, 24);
        jvm_put_instance(&f, soft, class_id(2), 2, slot);
        jvm_put_root(&f, 0x01, soft, 0, 0);
        jvm_close(&f);
        jvm_open(&f, 0x2c);
        jvm_close(&f);
        if (read_with(&format, f.data, f.size, o, &dump, &err)) fail_msg("%s", err.message);
        x = hd_graph_object(hd_dump_graph(dump), hd_graph_find(hd_dump_graph(dump), soft));
        assert_int_equal(x.reference_count, 2);
        assert_true(weak ? x.kinds && x.kinds[0] == HD_REFERENCE_WEAK && x.kinds[1] == HD_REFERENCE_STRONG : !x.kinds);
        assert_int_equal(hd_graph_reach(hd_dump_graph(dump), NULL, 0, NULL, NULL, &total, &err), HD_OK);
        assert_int_equal(total.objects, 3 - weak);
        hd_dump_free(dump);
        free(f.data);
    }
}

/* Several dumps. ------------------------------------------------------------------------------------ */

static void keep_warning(void *user, const hd_error *warning) {
    char *to = user;
    snprintf(to + strlen(to), 200 - strlen(to), "%s;", warning->message);
}

/* Files one after the other, with ids of another size; several dumps in a file; a first file without its end. The
   graph is that of the first dump. Strict reading warns, too. */
static void of_several_dumps_the_first_is_read(void **state) {
    (void)state;
    static const struct { int files; bool same_file, cut; const char *warning; } cases[] = {
        { 1, false, false, "" }, { 2, false, false, "only the first of 2 heap dumps in the file is read;" },
        { 3, false, false, "only the first of 3 heap dumps in the file is read;" },
        { 1, true, false, "only the first of 2 heap dumps in the file is read;" },
        { 2, false, true, "the end of the heap dump expected, and another file begins;"
                          "only the first of 2 heap dumps in the file is read;" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        jvm_file f = shop_of("1.0.2", &jvm_compressed, cases[i].same_file ? 0x0c : 0x1c);
        char warning[200] = "";
        hd_options o = { .warning = keep_warning, .warning_user = warning, .lenient = cases[i].cut };
        hd_dump *dump;
        hd_error err;
        if (cases[i].cut) f.size -= 9;
        if (cases[i].same_file) jvm_open(&f, 0x0c), jvm_close(&f);
        for (int k = 1; k < cases[i].files; k++) {
            jvm_file more = shop_of("1.0.1", &jvm_narrow, 0x0c);
            jvm_put(&f, more.data, more.size);
            free(more.data);
        }
        for (size_t chunk = 1; chunk < 400; chunk = 7 * chunk) {
            hd__reads r = { .data = f.data, .size = f.size, .chunk = chunk };
            o.formats = &format, o.format_count = 1;
            *warning = 0;
            if (hd_read(hd__faults_in(&r), &o, &dump, &err)) fail_msg("case %zu: %s", i, err.message);
            assert_string_equal(warning, cases[i].warning);
            assert_int_equal(hd_graph_object_count(hd_dump_graph(dump)), 22);
            hd_dump_free(dump);
        }
        free(f.data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_have_a_name_and_a_state),
        cmocka_unit_test(threads_have_their_stack_and_locals),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(collections_count_their_elements),
        cmocka_unit_test(wrapped_and_concurrent_collections_count),
        cmocka_unit_test(sets_count_by_their_own_map),
        cmocka_unit_test(damaged_collections_have_no_count),
        cmocka_unit_test(a_count_is_no_text),
        cmocka_unit_test(a_byte_with_slots_is_no_text),
        cmocka_unit_test(a_circle_of_super_classes_has_no_count),
        cmocka_unit_test(counts_in_cells_may_be_any_number),
        cmocka_unit_test(a_layout_overrides_the_distances),
        cmocka_unit_test(soft_references_hold_by_choice),
        cmocka_unit_test(of_several_dumps_the_first_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
