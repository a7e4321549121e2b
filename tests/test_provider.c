/* threads. Dump providers and their manager: when a provider is called and how, and the fate of its values and
   failures. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include "../heapdump.h"
#include "faults.h"
#include "heaps.h"
#include "traces.h"

/* A provider that logs its calls, and adds the values that `say` adds. */
typedef struct talker {
    hd_memory_dump_provider provider;
    bool (*say)(struct talker *t, hd_detail detail, hd_memory_dump *dump);
    char log[64];                /* l, d: called for a light, a detailed dump; +, -: profiling on, off */
    hd_profile *profile;
    hd_memory_dump_manager *manager;
    bool fails;
    uint64_t value;
} talker;

static bool on_dump(void *user, hd_detail detail, hd_memory_dump *dump) {
    talker *t = (talker *)user;
    strcat(t->log, detail == HD_LIGHT ? "l" : "d");
    return (!t->say || t->say(t, detail, dump)) && !t->fails;
}

static void on_profiling(void *user, bool enabled) { strcat(((talker *)user)->log, enabled ? "+" : "-"); }

static talker talker_named(const char *name, bool (*say)(talker *t, hd_detail detail, hd_memory_dump *dump)) {
    talker t = { .provider = { .name = name, .on_memory_dump = on_dump, .on_heap_profiling_enabled = on_profiling }, .say = say };
    return t;
}

static hd_memory_dump_manager *manager_of(hd_buffer *bytes, hd_memory_dump_manager_desc desc) {
    hd_error err = { 0 };
    desc.out = hd_out_memory(bytes);
    hd_memory_dump_manager *m = hd_memory_dump_manager_create(&desc, &err);
    if (!m) fail_msg("%s", err.message);
    return m;
}

static void take_part(hd_memory_dump_manager *m, talker *t) {
    hd_error err = { 0 };
    t->provider.user = t;
    t->manager = m;
    if (hd_memory_dump_manager_register(m, &t->provider, &err)) fail_msg("%s", err.message);
}

static void dump_now(hd_memory_dump_manager *m, hd_detail detail, uint64_t time_us) {
    hd_error err = { 0 };
    if (hd_memory_dump_manager_dump(m, detail, time_us, &err)) fail_msg("%s", err.message);
}

/* Ends the trace, appends a NUL, and frees the manager. */
static void end_trace(hd_memory_dump_manager *m, hd_buffer *bytes) {
    assert_int_equal(hd_memory_dump_manager_finish(m, NULL), HD_OK);
    hd_memory_dump_manager_free(m);
    assert_int_equal(hd_out_memory(bytes).write(bytes, "", 1), HD_OK);
    bytes->size--;
}

/* The number of occurrences of a quoted text. */
static int times(const hd_buffer *bytes, const char *quoted) {
    char *text = trace_of(quoted, NULL);
    int n = 0;
    for (const char *at = (const char *)bytes->data; (at = strstr(at, text)) != NULL; at++) n++;
    free(text);
    return n;
}

static hd_dump *reread(const hd_buffer *bytes) {
    hd_dump *d = NULL;
    hd_error err = { 0 };
    if (hd_read_memory(bytes->data, bytes->size, NULL, &d, &err)) fail_msg("%s\n%s", err.message, (const char *)bytes->data);
    return d;
}

/* "Will be called as early as possible by the memory dump manager." */
static void providers_hear_of_heap_profiling_as_early_as_registration(void **state) {
    (void)state;
    hd_buffer bytes = { 0 };
    hd_memory_dump_manager *m = manager_of(&bytes, (hd_memory_dump_manager_desc){ 0 });
    talker before = talker_named("before", NULL), after = talker_named("after", NULL), deaf = talker_named("deaf", NULL);
    deaf.provider.on_heap_profiling_enabled = NULL;
    take_part(m, &deaf);
    take_part(m, &before);
    assert_string_equal(before.log, "");
    assert_int_equal(hd_memory_dump_manager_set_heap_profiling(m, true, NULL), HD_OK);
    assert_int_equal(hd_memory_dump_manager_set_heap_profiling(m, true, NULL), HD_OK);
    assert_string_equal(before.log, "+");
    take_part(m, &after);
    assert_string_equal(after.log, "+");
    assert_int_equal(hd_memory_dump_manager_unregister(m, &before.provider, NULL), HD_OK);
    assert_int_equal(hd_memory_dump_manager_set_heap_profiling(m, false, NULL), HD_OK);
    assert_string_equal(before.log, "+");
    assert_string_equal(after.log, "+-");
    take_part(m, &before);
    assert_string_equal(before.log, "+");
    end_trace(m, &bytes);
    hd_buffer_free(&bytes);
}

static bool say_foo(talker *t, hd_detail detail, hd_memory_dump *dump) {
    char path[] = "foo/arena_1"; /* the arguments need not outlive the call */
    hd_heap heap = { .allocator = path, .profile = t->profile };
    assert_int_equal(hd_memory_dump_add_scalar(dump, path, "size", "bytes", 4096, NULL), HD_OK);
    assert_int_equal(hd_memory_dump_add_scalar(dump, path, "object_count", "objects", 3, NULL), HD_OK);
    assert_int_equal(hd_memory_dump_add_string(dump, path, "kind", "slab", NULL), HD_OK);
    assert_int_equal(hd_memory_dump_add_total(dump, "resident_set_bytes", 65536, NULL), HD_OK);
    if (detail == HD_DETAILED) assert_int_equal(hd_memory_dump_add_heap(dump, &heap, NULL), HD_OK);
    memset(path, 'x', sizeof path - 1);
    return true;
}

static void a_dump_has_the_values_of_its_providers(void **state) {
    (void)state;
    hd_buffer bytes = { 0 };
    hd_memory_dump_manager *m = manager_of(&bytes, (hd_memory_dump_manager_desc){ .pid = 42, .process = "app", .heap_cutoff.min_bytes = 64 });
    talker foo = talker_named("foo", say_foo);
    foo.profile = document_profile();
    take_part(m, &foo);
    dump_now(m, HD_LIGHT, 1000);
    dump_now(m, HD_DETAILED, 2000);
    assert_string_equal(foo.log, "ld");
    end_trace(m, &bytes);
    assert_int_equal(times(&bytes, "'name':'process_name','args':{'name':'app'}"), 1);
    assert_int_equal(times(&bytes, "'pid':42,'tid':42,'ts':1000,'ph':'v','cat':'disabled-by-default-memory-infra','name':"
                                   "'explicitly_triggered','id':'0x1','args':{'dumps':{'level_of_detail':'light',"
                                   "'process_totals':{'resident_set_bytes':'10000'},'allocators':{'foo/arena_1':{'guid'"), 1);
    assert_int_equal(times(&bytes, "'ts':2000,'ph':'v'"), 1);
    assert_int_equal(times(&bytes, "'id':'0x2','args':{'dumps':{'level_of_detail':'detailed'"), 1);
    assert_int_equal(times(&bytes, "'attrs':{'kind':{'type':'string','units':'','value':'slab'},'object_count':{'type':'scalar',"
                                   "'units':'objects','value':'3'},'size':{'type':'scalar','units':'bytes','value':'1000'}}}"), 2);
    hd_dump *d = reread(&bytes);
    hd_breakdown *table = exported(foo.profile, (hd_cutoff){ .min_bytes = 64 }), *read;
    assert_int_equal(hd_dump_heap_count(d), 1);
    assert_string_equal(hd_dump_heap(d, 0)->allocator, "foo/arena_1");
    assert_int_equal(hd_heap_break_down(hd_dump_heap(d, 0), NULL, NULL, &read, NULL), HD_OK);
    assert_int_equal(read->entries.count, 20); /* the document's number of entries */
    assert_true(breakdowns_equal(read, table));
    hd_breakdown_free(read);
    hd_breakdown_free(table);
    hd_dump_free(d);
    hd_buffer_free(&bytes);
    hd_profile_free(foo.profile);
}

static bool say_size(talker *t, hd_detail detail, hd_memory_dump *dump) {
    (void)detail;
    return hd_memory_dump_add_scalar(dump, t->provider.name, "size", "bytes", t->value, NULL) == HD_OK;
}

static void a_dump_of_which_nobody_says_anything_is_not_written(void **state) {
    (void)state;
    hd_buffer bytes = { 0 };
    hd_memory_dump_manager *m = manager_of(&bytes, (hd_memory_dump_manager_desc){ 0 });
    talker mute = talker_named("mute", NULL), one = talker_named("one", say_size);
    take_part(m, &mute);
    dump_now(m, HD_DETAILED, 1);
    take_part(m, &one);
    dump_now(m, HD_DETAILED, 2);
    end_trace(m, &bytes);
    assert_int_equal(times(&bytes, "'ph':'v'"), 1);
    assert_int_equal(times(&bytes, "'id':'0x1'"), 1);
    hd_buffer_free(&bytes);
}

static bool say_much(talker *t, hd_detail detail, hd_memory_dump *dump) {
    hd_heap heap = { .allocator = "heap", .profile = t->profile };
    (void)detail;
    return !hd_memory_dump_add_scalar(dump, "bad", "size", "bytes", 7, NULL) &&
           (!t->profile || !hd_memory_dump_add_heap(dump, &heap, NULL)) &&
           !hd_memory_dump_add_overhead(dump, (hd_memory){ 1 << 20, 1 << 20 }, NULL);
}

static void a_provider_that_fails_has_no_part_and_after_three_times_is_asked_no_more(void **state) {
    (void)state;
    warnings w = { 0 };
    hd_buffer bytes = { 0 };
    hd_memory_dump_manager *m = manager_of(&bytes, (hd_memory_dump_manager_desc){ .options = { .warning = keep_warning, .warning_user = &w } });
    talker first = talker_named("first", say_size), bad = talker_named("bad", say_much), last = talker_named("last", say_size);
    bad.profile = document_profile();
    take_part(m, &first);
    take_part(m, &bad);
    take_part(m, &last);
    bad.fails = true;
    dump_now(m, HD_DETAILED, 1);
    assert_string_equal(w.last.message, "provider bad failed");
    assert_int_equal(w.last.status, HD_INVALID);
    dump_now(m, HD_DETAILED, 2);
    bad.fails = false; /* one success in between starts the count again */
    dump_now(m, HD_DETAILED, 3);
    bad.fails = true;
    dump_now(m, HD_DETAILED, 4);
    dump_now(m, HD_DETAILED, 5);
    assert_true(hd_memory_dump_manager_asks(m, &bad.provider));
    dump_now(m, HD_DETAILED, 6);
    assert_string_equal(w.last.message, "provider bad failed; it is not asked again");
    assert_false(hd_memory_dump_manager_asks(m, &bad.provider));
    assert_true(hd_memory_dump_manager_asks(m, &last.provider));
    dump_now(m, HD_DETAILED, 7);
    assert_string_equal(bad.log, "dddddd");
    assert_string_equal(last.log, "ddddddd");
    assert_int_equal(w.count, 5);
    /* it still gets notices of profiling; after it registers again, it is called again */
    assert_int_equal(hd_memory_dump_manager_set_heap_profiling(m, true, NULL), HD_OK);
    assert_string_equal(bad.log, "dddddd+");
    assert_int_equal(hd_memory_dump_manager_unregister(m, &bad.provider, NULL), HD_OK);
    bad.fails = false;
    take_part(m, &bad);
    dump_now(m, HD_DETAILED, 8);
    assert_string_equal(bad.log, "dddddd++d");
    end_trace(m, &bytes);
    assert_int_equal(times(&bytes, "'first':{'guid'"), 8);
    assert_int_equal(times(&bytes, "'last':{'guid'"), 8);
    assert_int_equal(times(&bytes, "'bad':{'guid'"), 2);
    assert_int_equal(times(&bytes, "'tracing/heap_profiler':{'guid'"), 2);
    hd_dump *d = reread(&bytes);
    assert_int_equal(hd_dump_heap_count(d), 2);
    hd_dump_free(d);
    hd_buffer_free(&bytes);
    hd_profile_free(bad.profile);
}

/* Each makes one faulty call, and ignores the result. */
static bool say_wrong(talker *t, hd_detail detail, hd_memory_dump *dump) {
    hd_heap heap = { .allocator = "h", .profile = t->profile }, none = { .allocator = "h" };
    (void)detail;
    switch (t->value) {
    case 0: (void)hd_memory_dump_add_scalar(dump, "first", "size", "bytes", 1, NULL); break;
    case 1: (void)hd_memory_dump_add_scalar(dump, "x", NULL, "bytes", 1, NULL); break;
    case 2: (void)hd_memory_dump_add_total(dump, NULL, 1, NULL); break;
    case 3: (void)hd_memory_dump_add_heap(dump, &heap, NULL); (void)hd_memory_dump_add_heap(dump, &heap, NULL); break;
    case 4: (void)hd_memory_dump_add_heap(dump, &none, NULL); break;
    default: (void)hd_memory_dump_add_heap(dump, &heap, NULL); break;
    }
    (void)hd_memory_dump_add_scalar(dump, "wrong", "size", "bytes", 1, NULL);
    return true;
}

static void a_provider_with_a_failing_call_has_failed(void **state) {
    (void)state;
    static const char *const sentences[] = {
        "provider wrong failed: duplicate value: size of first",
        "provider wrong failed: expected a value with a name",
        "provider wrong failed: expected a value with a name",
        "provider wrong failed: duplicate heap of h",
        "provider wrong failed: the heap of h: expected either a profile or a breakdown",
        "provider wrong failed: the heap of h has more axes than backtrace and type",
        "provider wrong failed: the heap of h does not belong in a light dump",
    };
    hd_profile *two = profile_new(2), *three = profile_new(3);
    for (uint64_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
        warnings w = { 0 };
        hd_buffer bytes = { 0 };
        hd_memory_dump_manager *m = manager_of(&bytes, (hd_memory_dump_manager_desc){ .options = { .warning = keep_warning, .warning_user = &w } });
        talker first = talker_named("first", say_size), wrong = talker_named("wrong", say_wrong);
        wrong.value = i;
        wrong.profile = i == 5 ? three : two;
        take_part(m, &first);
        take_part(m, &wrong);
        dump_now(m, i == 6 ? HD_LIGHT : HD_DETAILED, 1);
        assert_int_equal(w.count, 1);
        assert_string_equal(w.last.message, sentences[i]);
        end_trace(m, &bytes);
        assert_int_equal(times(&bytes, "'first':{'guid'"), 1);
        assert_int_equal(times(&bytes, "'wrong':{'guid'"), 0);
        hd_buffer_free(&bytes);
    }
    hd_profile_free(two);
    hd_profile_free(three);
}

static void call_back(talker *t) {
    hd_error err = { 0 };
    assert_int_equal(hd_memory_dump_manager_dump(t->manager, HD_LIGHT, 1, &err), HD_INVALID);
    assert_string_equal(err.message, "the manager was called from one of its providers");
    assert_int_equal(hd_memory_dump_manager_register(t->manager, &t->provider, NULL), HD_INVALID);
    assert_int_equal(hd_memory_dump_manager_unregister(t->manager, &t->provider, NULL), HD_INVALID);
    assert_int_equal(hd_memory_dump_manager_set_heap_profiling(t->manager, true, NULL), HD_INVALID);
    assert_int_equal(hd_memory_dump_manager_finish(t->manager, NULL), HD_INVALID);
    assert_int_equal(hd_memory_dump_manager_tick(t->manager, 1, NULL), HD_INVALID);
    assert_true(hd_memory_dump_manager_asks(t->manager, &t->provider));
}
static bool say_recursively(talker *t, hd_detail detail, hd_memory_dump *dump) {
    (void)detail;
    (void)dump;
    call_back(t);
    t->value++;
    return true;
}
static void told_recursively(void *user, bool enabled) {
    talker *t = (talker *)user;
    (void)enabled;
    call_back(t);
    t->value++;
}

static void providers_that_call_their_manager_are_refused(void **state) {
    (void)state;
    hd_buffer bytes = { 0 };
    hd_memory_dump_manager *m = manager_of(&bytes, (hd_memory_dump_manager_desc){ .period_us = 1 });
    talker t = talker_named("t", say_recursively), nameless = { 0 };
    hd_error err = { 0 };
    t.provider.on_heap_profiling_enabled = told_recursively;
    take_part(m, &t);
    assert_int_equal(hd_memory_dump_manager_register(m, &t.provider, &err), HD_INVALID);
    assert_string_equal(err.message, "provider t is already registered");
    assert_int_equal(hd_memory_dump_manager_unregister(m, &nameless.provider, &err), HD_INVALID);
    assert_int_equal(hd_memory_dump_manager_register(m, &nameless.provider, &err), HD_INVALID);
    assert_false(hd_memory_dump_manager_asks(m, &nameless.provider));
    assert_int_equal(hd_memory_dump_manager_set_heap_profiling(m, true, NULL), HD_OK);
    dump_now(m, HD_DETAILED, 1);
    assert_int_equal(t.value, 2);
    assert_null(hd_memory_dump_manager_create(NULL, &err));
    assert_int_equal(err.status, HD_INVALID);
    end_trace(m, &bytes);
    hd_buffer_free(&bytes);
}

static void a_dump_before_the_last_is_refused_and_nobody_asked(void **state) {
    (void)state;
    hd_buffer bytes = { 0 };
    hd_memory_dump_manager *m = manager_of(&bytes, (hd_memory_dump_manager_desc){ .period_us = 100 });
    talker t = talker_named("t", say_size);
    hd_error err = { 0 };
    take_part(m, &t);
    dump_now(m, HD_LIGHT, 1000);
    dump_now(m, HD_LIGHT, 1000); /* an equal time is allowed */
    assert_int_equal(hd_memory_dump_manager_dump(m, HD_DETAILED, 999, &err), HD_INVALID);
    assert_string_equal(err.message, "expected a dump not before the last, at 1000 us, found one at 999 us");
    assert_int_equal(hd_memory_dump_manager_tick(m, 500, &err), HD_INVALID); /* before the first one, which is due */
    assert_string_equal(t.log, "ll");
    assert_int_equal(hd_memory_dump_manager_tick(m, 1100, &err), HD_OK);
    dump_now(m, HD_LIGHT, 1150);
    assert_string_equal(t.log, "lldl");
    end_trace(m, &bytes);
    assert_int_equal(times(&bytes, "'ph':'v'"), 4);
    assert_int_equal(times(&bytes, "'id':'0x4'"), 1);
    assert_int_equal(times(&bytes, "'ts':999,"), 0);
    hd_buffer_free(&bytes);
}

static void ticks_dump_by_period_the_first_and_every_so_many_in_detail(void **state) {
    (void)state;
    hd_buffer bytes = { 0 };
    hd_memory_dump_manager *m = manager_of(&bytes, (hd_memory_dump_manager_desc){ .period_us = 100, .detailed_every = 3 });
    talker t = talker_named("t", say_size);
    take_part(m, &t);
    for (uint64_t now = 1000; now < 1650; now += 10) assert_int_equal(hd_memory_dump_manager_tick(m, now, NULL), HD_OK);
    assert_string_equal(t.log, "dlldlld");
    assert_int_equal(hd_memory_dump_manager_tick(m, 1950, NULL), HD_OK); /* late: one dump, then on schedule again */
    assert_int_equal(hd_memory_dump_manager_tick(m, 1999, NULL), HD_OK);
    assert_int_equal(hd_memory_dump_manager_tick(m, 2000, NULL), HD_OK);
    assert_int_equal(hd_memory_dump_manager_tick(m, 500, NULL), HD_OK);  /* the clock went back */
    assert_string_equal(t.log, "dlldlldll");
    assert_int_equal(hd_memory_dump_manager_tick(m, UINT64_MAX - 5, NULL), HD_OK);
    assert_int_equal(hd_memory_dump_manager_tick(m, UINT64_MAX - 1, NULL), HD_OK);
    assert_string_equal(t.log, "dlldlldlld");
    end_trace(m, &bytes);
    assert_int_equal(times(&bytes, "'name':'periodic_interval'"), 10);
    assert_int_equal(times(&bytes, "'level_of_detail':'light'"), 6);
    static const char *const at[] = { "'ts':1000,", "'ts':1100,", "'ts':1600,", "'ts':1950,", "'ts':2000," };
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) assert_int_equal(times(&bytes, at[i]), 1);
    hd_buffer_free(&bytes);
    bytes = (hd_buffer){ 0 };
    m = manager_of(&bytes, (hd_memory_dump_manager_desc){ 0 });
    t.log[0] = 0;
    take_part(m, &t);
    for (uint64_t now = 0; now < 10; now++) assert_int_equal(hd_memory_dump_manager_tick(m, now, NULL), HD_OK);
    assert_string_equal(t.log, ""); /* without a period no dumps */
    end_trace(m, &bytes);
    hd_buffer_free(&bytes);
    bytes = (hd_buffer){ 0 };
    m = manager_of(&bytes, (hd_memory_dump_manager_desc){ .period_us = 1 });
    take_part(m, &t);
    for (uint64_t now = 0; now < 17; now++) assert_int_equal(hd_memory_dump_manager_tick(m, now, NULL), HD_OK);
    assert_string_equal(t.log, "dllllllldllllllld");
    end_trace(m, &bytes);
    hd_buffer_free(&bytes);
}

static hd_recorder *recorder;
static bool say_recorded(talker *t, hd_detail detail, hd_memory_dump *dump) {
    (void)t;
    return detail == HD_LIGHT || hd_memory_dump_add_recorder(dump, "malloc", recorder, NULL, NULL) == HD_OK;
}

static uint64_t value_after(const hd_buffer *bytes, const char *quoted) {
    char *text = trace_of(quoted, NULL), *at = strstr((char *)bytes->data, text);
    if (!at) fail_msg("%s is not written", text);
    uint64_t value = strtoull(at + strlen(text), NULL, 16);
    free(text);
    return value;
}

static void a_recorders_heap_comes_with_the_recorders_overhead(void **state) {
    (void)state;
    static char blocks[4];
    hd_buffer bytes = { 0 };
    hd_recorder_counters stats;
    recorder = hd_recorder_create(NULL, NULL);
    assert_non_null(recorder);
    {
        HD_SCOPE("test", "Load");
        hd_record_alloc(recorder, &blocks[0], 1000, "Texture");
        hd_record_alloc(recorder, &blocks[1], 24, "Mesh");
    }
    hd_memory_dump_manager *m = manager_of(&bytes, (hd_memory_dump_manager_desc){ .pid = 5 });
    talker t = talker_named("recorder", say_recorded), other = talker_named("other", say_much);
    take_part(m, &t);
    take_part(m, &other); /* its values have 1 MiB of overhead */
    dump_now(m, HD_DETAILED, 1);
    hd_recorder_stats(recorder, &stats);
    end_trace(m, &bytes);
    uint64_t resident = value_after(&bytes, "'tracing/heap_profiler':{'guid':'") ? value_after(&bytes, "'resident_size':{'type':'scalar','units':'bytes','value':'") : 0;
    assert_in_range(resident, stats.memory.resident + (1 << 20) + 1000, stats.memory.resident + (1 << 20) + 100000);
    hd_dump *d = reread(&bytes);
    assert_int_equal(hd_dump_heap_count(d), 1);
    assert_text(dump_text(d), "5 0x1 malloc / / 1024 2\n5 0x1 malloc / /Mesh 24 1\n5 0x1 malloc / /Texture 1000 1\n"
                              "5 0x1 malloc /Load / 1024 2\n5 0x1 malloc /Load /Mesh 24 1\n5 0x1 malloc /Load /Texture 1000 1\n");
    hd_dump_free(d);
    hd_buffer_free(&bytes);
    hd_recorder_free(recorder);
}

/* As in the document's example: contexts with their bytes, added up by the caller. */
static void contexts_with_their_bytes_are_a_profile(void **state) {
    (void)state;
    hd_contexts *contexts = hd_contexts_create(NULL);
    uint32_t f, g, t, u;
    assert_int_equal(hd_contexts_child(contexts, 0, HD_FRAME_NAME, "f", &f), HD_OK);
    assert_int_equal(hd_contexts_child(contexts, f, HD_FRAME_NAME, "g", &g), HD_OK);
    assert_int_equal(hd_contexts_child(contexts, g, HD_FRAME_TYPE, "T", &t), HD_OK);
    assert_int_equal(hd_contexts_child(contexts, f, HD_FRAME_TYPE, "U", &u), HD_OK);
    uint32_t count = hd_contexts_count(contexts);
    uint64_t bytes[8] = { 0 }, blocks[8] = { 0 };
    assert_true(count <= 8);
    bytes[0] = 1, blocks[0] = 1;
    bytes[g] = 20;
    bytes[t] = 300, blocks[t] = 2;
    blocks[u] = 4;
    hd_profile *p = NULL;
    hd_error err = { 0 };
    assert_int_equal(hd_contexts_profile(contexts, bytes, blocks, count, NULL, &p, NULL), HD_OK);
    assert_text(profile_text(p), "/ /[unknown] 1 1\n/f/g /[unknown] 20 0\n/f/g /T 300 2\n/f /U 0 4\n");
    hd_profile_free(p);
    assert_int_equal(hd_contexts_profile(contexts, bytes, NULL, count, NULL, &p, NULL), HD_OK);
    assert_text(profile_text(p), "/ /[unknown] 1 -\n/f/g /[unknown] 20 -\n/f/g /T 300 -\n");
    hd_profile_free(p);
    assert_int_equal(hd_contexts_profile(contexts, bytes, blocks, 0, NULL, &p, NULL), HD_OK);
    assert_text(profile_text(p), "");
    hd_profile_free(p);
    p = NULL;
    assert_int_equal(hd_contexts_profile(contexts, bytes, blocks, count + 1, NULL, &p, &err), HD_INVALID);
    assert_string_equal(err.message, "6 contexts given, there are 5");
    bytes[0] = bytes[g] = UINT64_MAX - 2;
    assert_int_equal(hd_contexts_profile(contexts, bytes, blocks, count, NULL, &p, &err), HD_OVERFLOW);
    bytes[0] = bytes[g] = 1;
    hd__faults faults = { 0 };
    hd_snapshot_options options = { .options.allocator = hd__faults_allocator(&faults) };
    HD__EACH_FAULT(faults) {
        p = NULL;
        hd_status status = hd_contexts_profile(contexts, bytes, blocks, count, &options, &p, &err);
        assert_int_equal(status, faults.failed ? HD_OUT_OF_MEMORY : HD_OK);
        assert_true(!p == !!status);
        hd_profile_free(p);
        assert_int_equal(faults.live, 0);
    }
    hd_contexts_free(contexts);
}

static bool say_part(talker *t, hd_detail detail, hd_memory_dump *dump) {
    hd_heap heap = { .allocator = "foo", .profile = t->profile };
    hd_status status = hd_memory_dump_add_scalar(dump, "foo", "object_count", "objects", 3, NULL);
    if (!status) status = hd_memory_dump_add_overhead(dump, (hd_memory){ 100, 50 }, NULL);
    if (!status && detail == HD_DETAILED) status = hd_memory_dump_add_heap(dump, &heap, NULL);
    return status == HD_OK;
}

/* Three dumps of three providers; one provider always fails. */
static hd_status whole_flow(const hd_options *options, hd_out out, hd_profile *profile, hd_error *err) {
    hd_memory_dump_manager_desc desc = { .out = out };
    talker all[] = { talker_named("first", say_size), talker_named("bad", say_much), talker_named("foo", say_part) };
    if (options) desc.options = *options;
    hd_memory_dump_manager *m = hd_memory_dump_manager_create(&desc, err);
    if (!m) return err->status;
    hd_status status = HD_OK;
    for (int i = 0; i < 3 && !status; i++) {
        all[i].provider.user = &all[i];
        all[i].fails = i == 1;
        all[i].profile = i == 2 ? profile : NULL;
        status = hd_memory_dump_manager_register(m, &all[i].provider, err);
    }
    for (uint64_t i = 0; i < 3 && !status; i++) status = hd_memory_dump_manager_dump(m, i == 1 ? HD_LIGHT : HD_DETAILED, i, err);
    if (!status) status = hd_memory_dump_manager_finish(m, err);
    hd_memory_dump_manager_free(m);
    return status;
}

static void count_memory_warnings(void *user, const hd_error *warning) { *(int *)user += warning->status == HD_OUT_OF_MEMORY; }

/* If memory runs out, either the call fails, or a provider fails with a warning. */
static void faults_come_back_and_leave_nothing_behind(void **state) {
    (void)state;
    hd_profile *profile = document_profile();
    hd__write_faults whole = { 0 };
    assert_int_equal(whole_flow(NULL, hd__faults_out(&whole), profile, NULL), HD_OK);
    for (uint64_t i = 1; i <= whole.count; i++) {
        hd__write_faults w = { .fail_at = i };
        hd_error err = { 0 };
        assert_int_equal(whole_flow(NULL, hd__faults_out(&w), profile, &err), HD_IO);
        assert_int_equal(err.status, HD_IO);
        assert_int_equal(w.after, 0);
        hd__write_faults_free(&w);
    }
    hd__faults faults = { 0 };
    int warned = 0;
    hd_options options = { .allocator = hd__faults_allocator(&faults), .warning = count_memory_warnings, .warning_user = &warned };
    HD__EACH_FAULT(faults) {
        hd__write_faults w = { 0 };
        hd_error err = { 0 };
        warned = 0;
        hd_status status = whole_flow(&options, hd__faults_out(&w), profile, &err);
        assert_int_equal(faults.live, 0);
        assert_null(faults.misuse);
        assert_int_equal(err.status, status);
        if (faults.failed) assert_int_equal((status == HD_OUT_OF_MEMORY) + warned, 1);
        else assert_memory_equal(w.data, whole.data, whole.size);
        hd__write_faults_free(&w);
    }
    assert_true(faults.fail_at > 30);
    hd__write_faults_free(&whole);
    hd_profile_free(profile);
}

static bool stop_at_once(void *user, uint64_t done, uint64_t total) {
    assert_int_equal(done, 0);
    assert_int_equal(total, 1);
    return *(bool *)user;
}

static void dumps_can_be_cancelled(void **state) {
    (void)state;
    hd_buffer bytes = { 0 };
    bool go = false;
    hd_memory_dump_manager *m = manager_of(&bytes, (hd_memory_dump_manager_desc){ .options = { .progress = stop_at_once, .progress_user = &go } });
    talker t = talker_named("t", say_size);
    take_part(m, &t);
    assert_int_equal(hd_memory_dump_manager_dump(m, HD_DETAILED, 1, NULL), HD_CANCELLED);
    assert_string_equal(t.log, "");
    go = true;
    dump_now(m, HD_DETAILED, 2);
    end_trace(m, &bytes);
    assert_int_equal(times(&bytes, "'id':'0x1'"), 1);
    hd_buffer_free(&bytes);
}

static bool keep_log_short(talker *t, hd_detail detail, hd_memory_dump *dump) {
    t->log[0] = 0;
    return say_size(t, detail, dump);
}
static void no_word(void *user, bool enabled) {
    (void)user;
    (void)enabled;
}

static bool quiet(void *user, hd_detail detail, hd_memory_dump *dump) {
    talker *t = (talker *)user;
    t->value++;
    return !t->say || t->say(t, detail, dump);
}

/* Threads that register, dump and unregister at the same time. */
static void *many_calls(void *user) {
    hd_memory_dump_manager *m = (hd_memory_dump_manager *)user;
    for (int i = 0; i < 200; i++) {
        talker t = talker_named("t", NULL);
        t.provider.on_memory_dump = quiet;
        t.provider.on_heap_profiling_enabled = no_word;
        take_part(m, &t);
        dump_now(m, i % 2 ? HD_LIGHT : HD_DETAILED, 1);
        hd_memory_dump_manager_set_heap_profiling(m, i % 3 == 0, NULL);
        assert_int_equal(hd_memory_dump_manager_unregister(m, &t.provider, NULL), HD_OK);
        assert_true(t.value >= 1);
    }
    return NULL;
}

static void threads_take_turns(void **state) {
    (void)state;
    hd_buffer bytes = { 0 };
    pthread_t threads[4];
    hd_memory_dump_manager *m = manager_of(&bytes, (hd_memory_dump_manager_desc){ 0 });
    talker t = talker_named("stays", keep_log_short);
    t.provider.on_heap_profiling_enabled = NULL;
    take_part(m, &t);
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, many_calls, m), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    end_trace(m, &bytes);
    assert_int_equal(times(&bytes, "'ph':'v'"), 800);
    assert_int_equal(times(&bytes, "'id':'0x320'"), 1);
    hd_buffer_free(&bytes);
}

static bool say_kinds(talker *t, hd_detail detail, hd_memory_dump *dump) {
    (void)t;
    for (int kind = HD_HEAP_LIVE; kind <= HD_HEAP_TEMPORARY && detail != HD_LIGHT; kind++) {
        hd_snapshot_options o = { .kind = (hd_heap_kind)kind };
        if (hd_memory_dump_add_recorder(dump, "engine", recorder, &o, NULL)) return false;
    }
    return true;
}

/* Heaps of one allocator with several kinds. Without a name in the manager, the recorder's process has the recorder's
   name. */
static void kinds_and_names_come_through(void **state) {
    static char blocks[4];
    (void)state;
    recorder = hd_recorder_create(&(hd_recorder_desc){ .name = "game" }, NULL);
    hd_record_alloc(recorder, &blocks[1], 24, "Mesh");
    hd_record_alloc(recorder, &blocks[0], 1000, "Texture");
    hd_record_free(recorder, &blocks[0]);
    for (int named = 0; named < 2; named++) {
        static const uint64_t sizes[] = { [HD_HEAP_LIVE] = 24, [HD_HEAP_PEAK] = 1024, [HD_HEAP_TOTAL] = 1024, [HD_HEAP_TEMPORARY] = 1000 };
        hd_buffer bytes = { 0 };
        hd_dump *dump;
        hd_recorder_counters stats;
        unsigned seen = 0;
        hd_memory_dump_manager *m = manager_of(&bytes, (hd_memory_dump_manager_desc){ .pid = 5, .process = named ? "Browser" : NULL });
        talker t = talker_named("recorder", say_kinds);
        take_part(m, &t);
        dump_now(m, HD_DETAILED, 1);
        hd_recorder_stats(recorder, &stats);
        end_trace(m, &bytes);
        assert_int_equal(hd_read(hd_in_memory(bytes.data, bytes.size), NULL, &dump, NULL), HD_OK);
        assert_int_equal(hd_dump_heap_count(dump), 4);
        for (size_t i = 0; i < 4; i++) {
            const hd_heap *heap = hd_dump_heap(dump, i);
            assert_int_equal(heap->breakdown->entries.amount[0].bytes, sizes[heap->kind]);
            assert_string_equal(heap->allocator, "engine");
            assert_string_equal(heap->process, named ? "Browser" : "game");
            seen |= 1u << heap->kind;
        }
        assert_int_equal(seen, 15);
        for (size_t i = 0; i < hd_dump_scalar_count(dump); i++) { /* once, not per kind */
            const hd_scalar *s = hd_dump_scalar(dump, i);
            if (s->allocator && !strcmp(s->allocator, "tracing/heap_profiler") && !strcmp(s->name, "size"))
                assert_true(s->value < 2 * stats.memory.reserved);
        }
        hd_dump_free(dump);
        hd_buffer_free(&bytes);
    }
    hd_recorder_free(recorder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(providers_hear_of_heap_profiling_as_early_as_registration),
        cmocka_unit_test(a_dump_has_the_values_of_its_providers),
        cmocka_unit_test(a_dump_of_which_nobody_says_anything_is_not_written),
        cmocka_unit_test(a_provider_that_fails_has_no_part_and_after_three_times_is_asked_no_more),
        cmocka_unit_test(a_provider_with_a_failing_call_has_failed),
        cmocka_unit_test(providers_that_call_their_manager_are_refused),
        cmocka_unit_test(a_dump_before_the_last_is_refused_and_nobody_asked),
        cmocka_unit_test(ticks_dump_by_period_the_first_and_every_so_many_in_detail),
        cmocka_unit_test(a_recorders_heap_comes_with_the_recorders_overhead),
        cmocka_unit_test(kinds_and_names_come_through),
        cmocka_unit_test(contexts_with_their_bytes_are_a_profile),
        cmocka_unit_test(faults_come_back_and_leave_nothing_behind),
        cmocka_unit_test(dumps_can_be_cancelled),
        cmocka_unit_test(threads_take_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
