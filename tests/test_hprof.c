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
#include "load.h"
#include "readers.h"
#include "hprof.h"
#include "../examples/heapdump/formats/hprof.c"

static const hd_format format = { .name = "hprof", .title = "a heap dump of a JVM", .detect = hprof_detect,
                                  .read = hprof_read, .free = hprof_free, .graph = hprof_graph, .info = hprof_info,
                                  .value = hprof_value, .is = HD_FORMAT_BINARY };

/* A graph as text. ------------------------------------------------------------------------------------ */

typedef struct text { char *data; size_t size, room; } text;

static void say(text *t, const char *pattern, ...) {
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

static void say_value(text *t, const hd_value *v) {
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

static void say_object(text *t, const hd_dump *dump, uint32_t i, bool sizes) {
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
    text t = { NULL, 0, 0 };
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
        stands_pieces(&format, f.data, f.size);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_has_the_same_graph),
        cmocka_unit_test(sizes_are_those_of_the_jvm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
