/* Names of frames on screens: hidden frames, shortened names, folded chains. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../examples/heapdump/screen/frames.c"
#include "../examples/heapdump/screen/hidden.c"

void *needed(void *memory) {
    if (!memory) abort();
    return memory;
}

typedef struct role_case { const char *name; frame_role role; } role_case;

static void frames_are_hidden_by_name_and_object(void **state) {
    (void)state;
    static const role_case cases[] = {
        /* allocators, known by their object files or sources */
        { "malloc [libc.so.6]", FRAME_HIDDEN }, { "__GI___libc_malloc (./malloc/malloc.c:3329) [libc.so.6]", FRAME_HIDDEN },
        { "malloc (./malloc/malloc.c:3329) [static-app]", FRAME_HIDDEN }, { "malloc (rtld-malloc.h:56)", FRAME_HIDDEN },
        { "operator new(unsigned long) [libstdc++.so.6]", FRAME_HIDDEN },
        { "operator new[](unsigned long) (../../../../src/libstdc++-v3/libsupc++/new_opv.cc:32) [app]", FRAME_HIDDEN },
        { "anything [libjemalloc.so.2]", FRAME_HIDDEN }, { "resized (rec.c:3) [libheapdump_record.so]", FRAME_HIDDEN },
        { "tc_malloc [libtcmalloc_minimal.so.4]", FRAME_HIDDEN }, { "mi_heap_malloc [libmimalloc.so.2]", FRAME_HIDDEN },
        { "g_malloc0 [libglib-2.0.so.0]", FRAME_HIDDEN }, { "sqlite3Malloc [libsqlite3.so.0]", FRAME_HIDDEN },
        { "sqlite3Malloc (sqlite3.c:28123) [app]", FRAME_HIDDEN }, { "zmalloc [redis-server]", FRAME_HIDDEN },
        { "PyMem_RawMalloc [libpython3.11.so.1.0]", FRAME_HIDDEN }, { "new_arena (../Objects/obmalloc.c:5) [python3.11]", FRAME_HIDDEN },
        { "node::Malloc<char>(unsigned long) [node]", FRAME_HIDDEN }, { "PyMem_RawMalloc (obmalloc.c:572)", FRAME_HIDDEN },
        /* the C++ library, in any object file */
        { "std::vector<int>::_M_default_append(unsigned long) [app]", FRAME_HIDDEN },
        { "void std::vector<Point, std::allocator<Point> >::_M_realloc_insert<Point>(Point*, Point&&) (vector.tcc:440)", FRAME_HIDDEN },
        { "std::__new_allocator<int>::allocate(unsigned long, void const*) (/usr/include/c++/12/a.h:3) [app]", FRAME_HIDDEN },
        { "std::_Vector_base<std::pair<int, std::vector<char> >, std::allocator<std::pair<int, std::vector<char> > > >::_M_allocate(unsigned long)", FRAME_HIDDEN },
        /* Rust and Go: known by their sources, or by names that C++ cannot have */
        { "<fn() as core::ops::function::FnOnce<()>>::call_once (function.rs:250)", FRAME_HIDDEN },
        { "<alloc::alloc::Global>::alloc_impl [app]", FRAME_HIDDEN }, { "__rust_alloc [app]", FRAME_HIDDEN },
        { "<u8 as alloc::vec::spec_from_elem::SpecFromElem>::from_elem (spec_from_elem.rs:51)", FRAME_HIDDEN },
        { "<alloc::alloc::Global as core::alloc::Allocator>::allocate", FRAME_HIDDEN },
        { "alloc::raw_vec::RawVec<T,A>::grow_one (/rustc/ab/library/alloc/src/raw_vec.rs:3) [app]", FRAME_HIDDEN },
        { "alloc::alloc::Pool::grow(int) (/src/pool.cc:3) [app]", FRAME_SHOWN }, { "std::rt::lang_start::h0123456789abcdef", FRAME_HIDDEN },
        { "std::rt::lang_start::<()>", FRAME_HIDDEN }, { "__rust_alloc", FRAME_HIDDEN },
        { "alloc::alloc::grow(int) [app]", FRAME_SHOWN },
        { "runtime.mallocgc [app]", FRAME_HIDDEN }, { "runtime.mallocgc (/usr/lib/go/src/runtime/malloc.go:3)", FRAME_HIDDEN },
        { "runtime.main (/usr/lib/go/src/runtime/proc.go:271) [app]", FRAME_HIDDEN },
        /* without an object file: known by their position */
        { "malloc", FRAME_HIDDEN_INSIDE }, { "operator new(unsigned long)", FRAME_HIDDEN_INSIDE }, { "_Znwm", FRAME_HIDDEN_INSIDE },
        { "je_malloc", FRAME_HIDDEN_INSIDE }, { "tcmalloc::allocate_full_malloc_oom", FRAME_HIDDEN_INSIDE },
        { "_start", FRAME_HIDDEN_OUTSIDE }, { "_start [app]", FRAME_HIDDEN_OUTSIDE }, { "__libc_start_main", FRAME_HIDDEN_OUTSIDE },
        { "__libc_start_main_impl (../csu/libc-start.c:360) [libc.so.6]", FRAME_HIDDEN },
        { "start_thread (./nptl/pthread_create.c:442) [libc.so.6]", FRAME_HIDDEN }, { "clone [libc.so.6]", FRAME_HIDDEN },
        /* operator new in a statically linked program */
        { "operator new(unsigned long) [cc1]", FRAME_HIDDEN_INSIDE }, { "operator new[](unsigned long) [cc1]", FRAME_HIDDEN_INSIDE },
        { "operator delete(void*) [cc1]", FRAME_HIDDEN_INSIDE },
        /* sources match by whole directories */
        { "mi_heap_malloc (/src/mimalloc/src/alloc.c:3) [app]", FRAME_HIDDEN }, { "je_grow (jemalloc.c:3) [app]", FRAME_HIDDEN },
        { "_dl_init (elf/dl-init.c:3)", FRAME_HIDDEN }, { "CRYPTO_malloc (../crypto/mem.c:3) [app]", FRAME_HIDDEN },
        { "mi_load_textures (/tmp/x/mimalloc-demo/main.c:3) [mi]", FRAME_SHOWN }, { "_dl_init (shelf/dl-x.c:3) [app]", FRAME_SHOWN },
        { "je_suis (/tmp/x/jemalloc-demo/main.c:3) [je]", FRAME_SHOWN }, { "clone (shelf/dl-x.c:3) [app]", FRAME_SHOWN },
        { "tcmalloc::run() (/tmp/tcmalloc-demo/a.cc:3) [a]", FRAME_SHOWN }, { "CRYPTO_malloc (mycrypto/mem.c:3) [app]", FRAME_SHOWN },
        { "zmalloc (my_zmalloc.c:3) [app]", FRAME_SHOWN }, { "zmalloc (zmalloc.cpp:3) [app]", FRAME_SHOWN },
        /* without object file and source: only the malloc family is known */
        { "alloc::alloc::Pool::grow", FRAME_SHOWN }, { "std::rt::lang_start", FRAME_SHOWN }, { "runtime.main", FRAME_SHOWN },
        { "runtime.mallocgc", FRAME_SHOWN }, { "do_malloc", FRAME_SHOWN }, { "tcmalloc::Fork::run", FRAME_SHOWN },
        { "hashbrown::raw::eat", FRAME_SHOWN }, { "alloc::alloc::Pool::grow [app]", FRAME_SHOWN }, { "std::_run", FRAME_SHOWN },
        { "f()::<lambda(int)>", FRAME_SHOWN },
        /* paths of Windows */
        { "fill (C:\\src\\cache.rs:3)", FRAME_SHOWN }, { "main.fill (C:\\src\\cache.go:3)", FRAME_SHOWN },
        { "alloc::raw_vec::RawVec<T,A>::grow_one (/rustc/ab\\library\\alloc\\src\\raw_vec.rs:3) [app.exe]", FRAME_HIDDEN },
        { "alloc::raw_vec::RawVec::grow (C:\\src\\raw_vec.rs:3) [app.exe]", FRAME_SHOWN },
        { "runtime.mallocgc (C:\\Go\\src\\runtime\\malloc.go:3) [app.exe]", FRAME_HIDDEN },
        { "mi_heap_malloc (C:\\src\\mimalloc\\src\\alloc.c:3) [app.exe]", FRAME_HIDDEN },
        { "mi_load (C:\\src\\mimalloc-demo\\main.c:3) [app.exe]", FRAME_SHOWN },
        /* a program's own functions */
        { "malloc (own.c:3) [app]", FRAME_SHOWN }, { "operator new(unsigned long) (own.cc:3) [app]", FRAME_SHOWN },
        { "clone (tree.c:12) [app]", FRAME_SHOWN }, { "clone [app]", FRAME_SHOWN }, { "clone", FRAME_SHOWN },
        { "mi_load_textures (gpu.c:3) [app]", FRAME_SHOWN }, { "mi_load_textures", FRAME_SHOWN }, { "new_arena [app]", FRAME_SHOWN },
        { "new_arena", FRAME_SHOWN }, { "je_suis [app]", FRAME_SHOWN }, { "g_malloc_all [app]", FRAME_SHOWN },
        { "xmalloc (wrapper.c:3) [git]", FRAME_SHOWN }, { "xmalloc", FRAME_SHOWN }, { "zmalloc_stack (z.c:1) [app]", FRAME_SHOWN },
        { "tcmalloc::Fork::run() (/home/me/fork.cc:3) [app]", FRAME_SHOWN }, { "start_thread [app]", FRAME_SHOWN },
        { "uv__malloc [node_exporter]", FRAME_SHOWN }, { "CRYPTO_malloc", FRAME_SHOWN }, { "call_init [app]", FRAME_SHOWN },
        { "", FRAME_SHOWN }, { "main", FRAME_SHOWN }, { "mallocator", FRAME_SHOWN }, { "my_malloc", FRAME_SHOWN },
        { "std::vector<int, std::allocator<int> >::resize(unsigned long)", FRAME_SHOWN }, { "operator new_name", FRAME_SHOWN },
        { "Pool::malloc()", FRAME_SHOWN }, { "PyList_New (listobject.c:179)", FRAME_SHOWN }, { "_start_of_day", FRAME_SHOWN },
        { "std::vector<int>::push_back(int&&)", FRAME_SHOWN }, { "Tree::_M_insert(int)", FRAME_SHOWN },
        { "std::__cxx11::basic_string<char>::append(char)", FRAME_SHOWN }, { "alloc::vec::Vec<T,A>::push", FRAME_SHOWN },
        { "<T as Into<U>>::into", FRAME_SHOWN }, { "libjemalloc.so.2+0x12", FRAME_SHOWN }, { "operator()(int) [app]", FRAME_SHOWN }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        frame_role role = frame_role_of(hd_cstr(cases[i].name), NULL);
        if (role != cases[i].role) fail_msg("%s: %d, not %d", cases[i].name, (int)role, (int)cases[i].role);
        assert_int_equal(frame_is_hidden(NULL, hd_cstr(cases[i].name)), role != FRAME_SHOWN);
    }
}

static void the_library_is_no_namespace_of_a_program(void **state) {
    (void)state;
    static const char *const library[] = {
        "std::vector<int>::push_back(int&&) [app]", "void std::sort<int*>(int*, int*) (stl_algo.h:3) [app]", "strdup [libc.so.6]",
        "core::iter::Map::fold (/rustc/ab/library/core/src/iter.rs:1) [app]", "core::str::from_utf8::h0123456789abcdef", "<core::Map as core::Iterator>::fold", "libc.so.6+0x12",
        "v8::internal::Heap::Allocate(int) [node]", 
        "<i32 as core::fmt::Display>::fmt (library/core/src/fmt/num.rs:164) [app]", "<u8 as core::fmt::Display>::fmt (/rustc/ab/library/core/src/fmt/num.rs:164) [app]", "__libc_csu_init"
    };
    static const char *const own[] = {
        "core::Engine::load_textures(int) (engine.cc:3) [app]", "core::Engine::load_textures(int)", "core::Engine::load_textures", "core::Engine::load_textures [app]", "alloc::Pool::grow() [app]",
        "hashbrown::eat(int) (kitchen.cc:1) [app]", "v8::internal::run() (engine_of_mine.cc:1) [app]", "strdup [app]", "main"
    };
    for (size_t i = 0; i < sizeof library / sizeof *library; i++)
        if (!frame_is_library(hd_cstr(library[i]))) fail_msg("%s is the program's", library[i]);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (frame_is_library(hd_cstr(own[i]))) fail_msg("%s is the library's", own[i]);
}

/* Nodes of a tree, a parent and a name each. A hidden frame becomes '-' or the name of its object file. */
static void positions_decide_where_no_object_does(void **state) {
    (void)state;
    static const struct { uint32_t parent; const char *name, *becomes; } nodes[] = {
        { HD_NONE, "", "" },
        { 0, "_start", "-" }, { 1, "main", "main" }, { 2, "malloc", "malloc" }, { 3, "hook", "hook" }, { 4, "malloc", "-" },
        { 2, "operator new(unsigned long)", "-" }, { 6, "malloc", "-" }, { 7, "<self>", "<self>" }, { 2, "_start", "_start" },
        { 0, "start_thread (pthread_create.c:3) [libc.so.6]", "-" }, { 10, "call_init [ld-linux-x86-64.so.2]", "[ld-linux-x86-64.so.2]" },
        { 11, "malloc [libc.so.6]", "[ld-linux-x86-64.so.2]" }, { 0, "malloc", "-" }, { 0, "operator new(unsigned long) [libstdc++.so.6]", "[libstdc++.so.6]" }
    };
    enum { COUNT_ = sizeof nodes / sizeof *nodes };
    uint32_t parent[COUNT_], node[COUNT_];
    hd_str names[COUNT_];
    hidden_frames h;
    for (uint32_t i = 0; i < COUNT_; i++) parent[i] = nodes[i].parent, names[i] = hd_cstr(nodes[i].name), node[i] = i;
    hd_axis axis = { .name = "backtrace", .node_count = COUNT_, .parent = parent, .node_name = names };
    hd_rows rows = { .count = COUNT_, .axis_count = 1, .node = node };
    hidden_frames_find(&h, axis, &rows);
    for (uint32_t i = 1; i < COUNT_; i++) {
        hd_str becomes = h.own[i].len ? h.own[i] : h.is[i] ? hd_cstr("-") : names[i];
        if (i == 10) continue;   /* has bytes itself: a stack only of libc */
        if (!hd_str_equal(becomes, hd_cstr(nodes[i].becomes))) fail_msg("%s (%u): %.*s", nodes[i].name, i, (int)becomes.len, becomes.data);
        assert_true(!h.own[i].len || h.is[i]);
    }
    assert_true(hd_str_equal(h.own[10], hd_cstr("[libc.so.6]")));
    hidden_frames_free(&h);
}

/* A name shortened to `columns`; the result is never wider. */
static void is_short(const char *name, int columns, const char *expected) {
    char *text = short_name(hd_cstr(name), columns);
    assert_string_equal(text, expected);
    assert_true(!columns || columns_of(hd_cstr(text)) <= columns);
    free(text);
}

static void names_lose_place_parameters_templates_beginning(void **state) {
    (void)state;
    const char *name = "ns::Map<std::string, std::vector<int> >::insert(std::string const&, int) const (map.h:120)";
    is_short(name, 0, name);
    is_short(name, 100, name);
    is_short(name, 80, "ns::Map<std::string, std::vector<int> >::insert (map.h:120)");
    is_short(name, 60, "ns::Map<std::string, std::vector<int> >::insert (map.h:120)");
    is_short(name, 40, "ns::Map<\xe2\x80\xa6>::insert (map.h:120)");
    is_short(name, 10, "\xe2\x80\xa6insert");
    is_short(name, 4, "\xe2\x80\xa6""ert");
    is_short("operator<<(std::ostream&, Point const&)", 20, "operator<<");
    is_short("Fn<int>::operator()(int) const (fn.cc:3)", 25, "\xe2\x80\xa6operator() (fn.cc:3)");
    is_short("std::vector<int> ns::grow<int>(unsigned long) (g.cc:4)", 20, "ns::grow<\xe2\x80\xa6> (g.cc:4)");
    is_short("std::vector<int> ns::grow<int>(unsigned long) (g.cc:4)", 9, "\xe2\x80\xa6grow<\xe2\x80\xa6>");
    is_short("Fn::operator bool() const", 20, "Fn::operator bool");
    is_short("(anonymous namespace)::make(int)", 30, "(anonymous namespace)::make");
    is_short("core::iter::map::h0123456789abcdef", 60, "core::iter::map");
    is_short("core::iter::map::h0123456789abcdef", 0, "core::iter::map::h0123456789abcdef");
    is_short("<core::iter::Map<I,F> as core::iter::Iterator>::fold::<(), call<fn(u8) -> u8>>(u8)", 72,
             "<core::iter::Map<\xe2\x80\xa6> as core::iter::Iterator>::fold::<\xe2\x80\xa6>");
    is_short("main(int)::{lambda(int)#1}", 25, "\xe2\x80\xa6{lambda(int)#1}");
    is_short("<lambda(int, char const*)>", 20, "\xe2\x80\xa6(int, char const*)>");
    is_short("grow (C:\\src\\base\\a.cc:12)", 40, "grow (C:\\src\\base\\a.cc:12)");
    is_short("grow (C:\\src\\base\\a.cc:12)", 20, "grow (\xe2\x80\xa6""base\\a.cc:12)");
    is_short("grow (C:/src/base/a.cc:12)", 20, "grow (\xe2\x80\xa6""base/a.cc:12)");
    is_short("grow (C:/src/base/a.cc:12)", 14, "grow (\xe2\x80\xa6.cc:12)");
    is_short("ns::Pool::grow(int) (C:/src:old/a.cc:1234) [a.exe]", 38, "\xe2\x80\xa6ool::grow (\xe2\x80\xa6rc:old/a.cc:1234) [a.exe]");
    is_short("operator() [libabcdefgh.so]", 22, "operator() [\xe2\x80\xa6""defgh.so]");
    is_short("operator() [libabcdefgh.so]", 8, "\xe2\x80\xa6r() [\xe2\x80\xa6]");
    is_short("f (not a place)", 60, "f (not a place)");
    is_short("\x1b[31mred", 60, "?[31mred");
    is_short("", 10, "");
    is_short("type: std::vector<std::string>", 40, "type: std::vector<std::string>");
    is_short("type: std::vector<std::string>", 20, "type: std::vector<\xe2\x80\xa6>");
    is_short("type: std::vector<std::string>", 12, "type: \xe2\x80\xa6" "or<\xe2\x80\xa6>");
    is_short("guarded_status: Disabled", 18, "\xe2\x80\xa6 Disabled");
    is_short("guarded_status: Disabled", 20, "guarded_status: \xe2\x80\xa6led");
    assert_int_equal(value_columns(hd_cstr("guarded_status: Disabled")), 20);
    assert_int_equal(value_columns(hd_cstr("type: app")), 9);
    assert_int_equal(value_columns(hd_cstr("type: std::string")), 10);
    assert_int_equal(value_columns(hd_cstr("ns::f")), 0);
    assert_int_equal(value_columns(hd_cstr("a_key_that_is_longer_than_any_line_has_room_for: 1")), 0);
}

static void is_chain(const char *const *names, size_t count, int columns, bool from_start, const char *expected) {
    hd_str strings[64];
    char *text;
    for (size_t i = 0; i < count; i++) strings[i] = hd_cstr(names[i]);
    text = short_chain(strings, count, columns, from_start);
    assert_true(!columns || columns_of(hd_cstr(text)) <= columns);
    assert_string_equal(text, expected);
    free(text);
}

#define CALLS_ " \xe2\x80\xba "
#define MORE_ "\xe2\x80\xa6"

static void chains_fold_to_the_width(void **state) {
    (void)state;
    static const char *const calls[] = { "main (app.c:1)", "run (app.c:20)", "step", "step", "step", "parse (p.c:7)", "grow (p.c:9)" };
    is_chain(calls, 1, 40, false, "main (app.c:1)");
    is_chain(calls, 2, 40, false, "main" CALLS_ "run (app.c:20)");
    is_chain(calls, 2, 0, false, "main (app.c:1)" CALLS_ "run (app.c:20)");
    is_chain(calls, 7, 60, false, "main" CALLS_ "run" CALLS_ "step \xc3\x97" "3" CALLS_ "parse" CALLS_ "grow (p.c:9)");
    is_chain(calls, 7, 34, false, "main" CALLS_ MORE_ " 3 more" CALLS_ "grow (p.c:9)");
    is_chain(calls, 7, 28, false, MORE_ " 4 more" CALLS_ "grow (p.c:9)");
    is_chain(calls, 7, 20, false, MORE_ " 4 more" CALLS_ "grow");
    is_chain(calls, 7, 34, true, "main (app.c:1)" CALLS_ MORE_ " 3 more" CALLS_ "grow");
    is_chain(calls, 7, 20, true, "main" CALLS_ MORE_ " 4 more");
    is_chain(calls, 7, 0, false, "main (app.c:1)" CALLS_ MORE_ " 2 more" CALLS_ "parse (p.c:7)" CALLS_ "grow (p.c:9)");
}

/* Every name of up to eight of these letters, in every width. The result never exceeds the width, and nothing beyond
   the name is read. */
static void no_name_is_too_odd(void **state) {
    (void)state;
    static const char letters[] = "<>():1 o";
    uint64_t seed = 3;
    for (int round = 0; round < 20000; round++) {
        size_t n = (size_t)(seed >> 33) % 24;
        char *name = malloc(n + 1);
        for (size_t i = 0; i < n; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            name[i] = letters[(seed >> 40) % (sizeof letters - 1)];
        }
        name[n] = 0;
        for (int columns = 2; columns < 26; columns += 3) {
            char *text = short_name((hd_str){ name, n }, columns);
            assert_true(columns_of(hd_cstr(text)) <= columns);
            free(text);
        }
        frame_is_hidden(NULL, (hd_str){ name, n });
        free(name);
        seed++;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_hidden_by_name_and_object), cmocka_unit_test(the_library_is_no_namespace_of_a_program),
        cmocka_unit_test(positions_decide_where_no_object_does),
        cmocka_unit_test(names_lose_place_parameters_templates_beginning),
        cmocka_unit_test(chains_fold_to_the_width),
        cmocka_unit_test(no_name_is_too_odd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
