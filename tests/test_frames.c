/* Names of frames for people: which are hidden, how they are shortened, how chains of them are folded. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../examples/heapdump/frames.c"

void *needed(void *memory) {
    if (!memory) abort();
    return memory;
}

static void those_that_allocate_for_others_are_hidden(void **state) {
    (void)state;
    static const char *const hidden[] = {
        "malloc", "malloc (rtld-malloc.h:56)", "operator new(unsigned long)", "operator new[](unsigned long) (new_opv.cc:32)",
        "_Znwm", "std::vector<int>::_M_default_append(unsigned long)",
        "void std::vector<Point, std::allocator<Point> >::_M_realloc_insert<Point>(Point*, Point&&) (vector.tcc:440)",
        "std::__new_allocator<int>::allocate(unsigned long, void const*)",
        "std::_Vector_base<std::pair<int, std::vector<char> >, std::allocator<std::pair<int, std::vector<char> > > >::_M_allocate(unsigned long)",
        "<fn() as core::ops::function::FnOnce<()>>::call_once (function.rs:250)", "<alloc::alloc::Global>::alloc_impl",
        "<u8 as alloc::vec::spec_from_elem::SpecFromElem>::from_elem (spec_from_elem.rs:51)",
        "__rust_alloc", "<alloc::alloc::Global as core::alloc::Allocator>::allocate", "alloc::raw_vec::RawVec<T,A>::grow_one",
        "PyMem_RawMalloc (obmalloc.c:572)", "_start", "__libc_start_main_impl (libc-start.c:360)", "start_thread",
        "runtime.mallocgc", "je_malloc", "tcmalloc::allocate_full_malloc_oom"
    };
    static const char *const shown[] = {
        "", "main", "mallocator", "my_malloc", "std::vector<int, std::allocator<int> >::resize(unsigned long)",
        "operator new_name", "Pool::malloc()", "PyList_New (listobject.c:179)", "_start_of_day",
        "std::vector<int>::push_back(int&&)", "Tree::_M_insert(int)", "std::__cxx11::basic_string<char>::append(char)", "alloc::vec::Vec<T,A>::push", "<T as Into<U>>::into"
    };
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (!frame_is_hidden(NULL, hd_cstr(hidden[i]))) fail_msg("%s is shown", hidden[i]);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (frame_is_hidden(NULL, hd_cstr(shown[i]))) fail_msg("%s is hidden", shown[i]);
}

/* What a name is in so many columns; never more than that. */
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
    is_short(name, 80, "ns::Map<std::string, std::vector<int> >::insert(std::string const&, int) const");
    is_short(name, 60, "ns::Map<std::string, std::vector<int> >::insert");
    is_short(name, 40, "ns::Map<\xe2\x80\xa6>::insert");
    is_short(name, 10, "\xe2\x80\xa6insert");
    is_short(name, 4, "\xe2\x80\xa6""ert");
    is_short("operator<<(std::ostream&, Point const&)", 20, "operator<<");
    is_short("Fn<int>::operator()(int) const (fn.cc:3)", 25, "Fn<int>::operator()");
    is_short("std::vector<int> ns::grow<int>(unsigned long) (g.cc:4)", 20, "ns::grow<int>");
    is_short("std::vector<int> ns::grow<int>(unsigned long) (g.cc:4)", 9, "\xe2\x80\xa6grow<\xe2\x80\xa6>");
    is_short("Fn::operator bool() const", 20, "Fn::operator bool");
    is_short("(anonymous namespace)::make(int)", 30, "(anonymous namespace)::make");
    is_short("core::iter::map::h0123456789abcdef", 60, "core::iter::map");
    is_short("core::iter::map::h0123456789abcdef", 0, "core::iter::map::h0123456789abcdef");
    is_short("f (not a place)", 60, "f (not a place)");
    is_short("\x1b[31mred", 60, "?[31mred");
    is_short("", 10, "");
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

static void chains_fold_to_what_fits(void **state) {
    (void)state;
    static const char *const calls[] = { "main (app.c:1)", "run (app.c:20)", "step", "step", "step", "parse (p.c:7)", "grow (p.c:9)" };
    is_chain(calls, 1, 40, false, "main (app.c:1)");
    is_chain(calls, 2, 40, false, "main" CALLS_ "run");
    is_chain(calls, 2, 0, false, "main (app.c:1)" CALLS_ "run (app.c:20)");
    is_chain(calls, 7, 60, false, "main" CALLS_ "run" CALLS_ "step \xc3\x97" "3" CALLS_ "parse" CALLS_ "grow");
    is_chain(calls, 7, 34, false, "main" CALLS_ MORE_ " 2 more" CALLS_ "parse" CALLS_ "grow");
    is_chain(calls, 7, 28, false, "main" CALLS_ MORE_ " 3 more" CALLS_ "grow");
    is_chain(calls, 7, 20, false, MORE_ " 4 more" CALLS_ "grow");
    is_chain(calls, 7, 34, true, "main" CALLS_ "run" CALLS_ MORE_ " 2 more" CALLS_ "grow");
    is_chain(calls, 7, 20, true, "main" CALLS_ MORE_ " 4 more");
    is_chain(calls, 7, 0, false, "main (app.c:1)" CALLS_ MORE_ " 2 more" CALLS_ "parse (p.c:7)" CALLS_ "grow (p.c:9)");
}

/* Every name of up to eight of these letters, in every width: no width is passed, and nothing is read beyond. */
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
        cmocka_unit_test(those_that_allocate_for_others_are_hidden),
        cmocka_unit_test(names_lose_place_parameters_templates_beginning),
        cmocka_unit_test(chains_fold_to_what_fits),
        cmocka_unit_test(no_name_is_too_odd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
