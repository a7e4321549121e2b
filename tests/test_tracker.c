/* threads. The tracker: a thread's stack is compared with a model, contexts with the paths that made them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>

/* Counts the memory that contexts request from the OS, and lets one request fail. */
static uint64_t test_mapped, test_map_calls, test_map_fail_at;

void *test_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    void *p;
    if (__atomic_add_fetch(&test_map_calls, 1, __ATOMIC_RELAXED) == test_map_fail_at) return MAP_FAILED;
    p = mmap(at, size, protection, flags, fd, offset);
    if (p != MAP_FAILED) __atomic_add_fetch(&test_mapped, size, __ATOMIC_RELAXED);
    return p;
}

int test_munmap(void *at, size_t size) {
    __atomic_sub_fetch(&test_mapped, size, __ATOMIC_RELAXED);
    return munmap(at, size);
}

/* Locks in which a signal can arrive, and at which threads can meet. They detect a thread that waits for
   itself. */
static __thread struct {
    pthread_mutex_t *held[8];
    unsigned n, deadlocks;
    unsigned raise_at;           /* number of the lock in which a signal arrives, counted from now; 0: none */
    bool meet;
} test_locks;
static pthread_barrier_t barrier;

int test_lock(pthread_mutex_t *mutex) {
    bool again = false;
    if (test_locks.meet) {
        test_locks.meet = false;
        pthread_barrier_wait(&barrier);
    }
    for (unsigned i = 0; i < test_locks.n; i++) again |= test_locks.held[i] == mutex;
    if (again) test_locks.deadlocks++;
    else pthread_mutex_lock(mutex);
    test_locks.held[test_locks.n++] = again ? NULL : mutex;
    if (test_locks.raise_at && !--test_locks.raise_at) raise(SIGUSR1);
    return 0;
}

int test_unlock(pthread_mutex_t *mutex) {
    return test_locks.held[--test_locks.n] ? pthread_mutex_unlock(mutex) : 0;
}

#include "private.h"
#include "faults.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define THREADS 8
#ifdef __SANITIZE_THREAD__
#define SLOWER 10 /* times */
#else
#define SLOWER 1
#endif

static hd_contexts *contexts;
static hd_category any = { .name = "any" };
static const char *const letters[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j" };

static int setup(void **state) {
    (void)state;
    hd_tracker_stop();
    test_map_calls = test_map_fail_at = test_mapped = 0;
    memset(&test_locks, 0, sizeof test_locks);
    contexts = hd_contexts_create(NULL);
    return contexts ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    hd_tracker_stop();
    hd_contexts_free(contexts);
    return test_mapped || test_locks.n || test_locks.deadlocks ? -1 : 0;
}

static void start(hd_capture capture, const char *categories, uint32_t max_frames) {
    hd_tracker_desc desc = { contexts, capture, categories, max_frames, NULL, NULL };
    assert_int_equal(hd_tracker_start(&desc, NULL), HD_OK);
}

/* The path from the root to a context: "a/b/0x10/<truncated>/:Type". */
static const char *path_of(uint32_t context, char *end) {
    hd_frame frame = hd_contexts_frame(contexts, context);
    const char *name = frame.kind == HD_FRAME_TRUNCATED ? "<truncated>" : (const char *)frame.value;
    char text[32];
    if (frame.kind == HD_FRAME_ROOT) {
        assert_int_equal(context, 0);
        assert_int_equal(frame.parent, HD_NONE);
        assert_null(frame.value);
        return end;
    }
    if (frame.kind == HD_FRAME_TRUNCATED) assert_null(frame.value);
    if (frame.kind == HD_FRAME_PC) snprintf(text, sizeof text, "/%p", frame.value);
    else snprintf(text, sizeof text, frame.kind == HD_FRAME_TYPE ? "/:%s" : "/%s", name);
    end -= strlen(text);
    memcpy(end, text, strlen(text));
    return path_of(frame.parent, end);
}

static void assert_path(uint32_t context, const char *expected) {
    char text[4096];
    text[sizeof text - 1] = 0;
    assert_string_equal(path_of(context, text + sizeof text - 1), expected);
}

#define assert_stack(expected) assert_path(hd_tracker_snapshot(NULL), expected)

/* ---- scopes */

static void a_scope_pushes_when_all_three_conditions_hold(void **state) {
    (void)state;
    start(HD_CAPTURE_DEFAULT, "", 0);
    for (unsigned on = 0; on < 8; on++) {
        hd_tracker_set_recording(on & 1);
        hd_tracker_set_heap_profiling(on & 2);
        hd_tracker_set_categories(on & 4 ? "any" : "other");
        {
            HD_SCOPE("any", "a");
            assert_int_equal(hd_tracker_depth(), on == 7);
            assert_stack(on == 7 ? "/a" : "");
        }
        assert_int_equal(hd_tracker_depth(), 0);
    }
}

static void nothing_is_tracked_while_the_tracker_is_stopped(void **state) {
    hd_scope scope;
    (void)state;
    assert_false(hd_tracker_running());
    scope = hd_scope_begin(&any, "a");
    assert_int_equal(hd_tracker_depth(), 0);
    assert_int_equal(hd_tracker_snapshot("T"), 0);
    hd_scope_end(&scope);
    start(HD_CAPTURE_DEFAULT, "", 0);
    assert_true(hd_tracker_running());
    scope = hd_scope_begin(&any, "a");
    hd_tracker_stop();
    assert_int_equal(hd_tracker_depth(), 0);
    assert_int_equal(hd_tracker_snapshot("T"), 0);
    hd_scope_end(&scope);
    assert_int_equal(hd_contexts_count(contexts), 2);
}

static void a_new_session_starts_with_empty_stacks(void **state) {
    hd_scope old, older, fresh;
    (void)state;
    start(HD_CAPTURE_DEFAULT, "", 0);
    older = hd_scope_begin(&any, "a");
    old = hd_scope_begin(&any, "b");
    hd_tracker_stop();
    start(HD_CAPTURE_DEFAULT, "", 0);
    assert_stack("");
    fresh = hd_scope_begin(&any, "c");
    hd_scope_end(&old);
    hd_scope_end(&older);
    assert_stack("/c");
    hd_scope_end(&fresh);
    old = hd_scope_begin(&any, "d");
    hd_scope_end(&fresh); /* a second end has no effect */
    assert_stack("/d");
    hd_scope_end(&old);
    assert_int_equal(hd_tracker_depth(), 0);
}

/* Scopes begin and end at random while all conditions for them change. */
static void stacks_stay_balanced_whatever_changes_between_push_and_pop(void **state) {
    static const char *const filters[] = { "", "any", "other", "-any", "a*" };
    enum { LIMIT = 6, OPEN = 12 };
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        uint64_t random = seed;
        struct { hd_scope scope; bool pushed; } open[OPEN];
        unsigned n = 0, depth = 0;
        const char *stack[OPEN];
        bool recording = true, profiling = true, enabled = true;
        start(HD_CAPTURE_PSEUDO_STACK, "", LIMIT);
        for (int step = 0; step < 3000; step++) {
            unsigned what = (unsigned)hd__test_below(&random, 24);
            char expected[256] = "";
            if (what == 0) hd_tracker_set_recording(recording = !recording);
            else if (what == 1) hd_tracker_set_heap_profiling(profiling = !profiling);
            else if (what == 2) {
                const char *filter = filters[hd__test_below(&random, COUNT(filters))];
                enabled = strcmp(filter, "other") && strcmp(filter, "-any");
                hd_tracker_set_categories(filter);
            } else if (what == 3 && hd__test_below(&random, 8) == 0) {
                hd_tracker_stop();
                start(HD_CAPTURE_PSEUDO_STACK, "", LIMIT);
                recording = profiling = enabled = true;
                for (unsigned i = depth = 0; i < n; i++) open[i].pushed = false;
            } else if (what < 14 && n < OPEN) {
                const char *name = letters[hd__test_below(&random, COUNT(letters))];
                open[n].scope = hd_scope_begin(&any, name);
                open[n].pushed = recording && profiling && enabled;
                if (open[n++].pushed) stack[depth++] = name;
            } else if (n) {
                hd_scope_end(&open[--n].scope);
                depth -= open[n].pushed;
            }
            for (unsigned i = 0; i < depth && i < LIMIT; i++) strcat(strcat(expected, "/"), stack[i]);
            if (depth > LIMIT) strcat(expected, "/<truncated>");
            assert_stack(expected);
            assert_int_equal(hd_tracker_depth(), depth);
        }
        hd_tracker_stop();
    }
}

static unsigned depth_in_scope_left_by_return(void) {
    HD_SCOPE("any", "returned");
    return hd_tracker_depth();
}

static void a_scope_ends_however_its_block_is_left(void **state) {
    int rounds = 0;
    (void)state;
    start(HD_CAPTURE_DEFAULT, "", 0);
    HD_SCOPE("any", "outer");
    assert_int_equal(depth_in_scope_left_by_return(), 2);
    assert_stack("/outer");
    for (int i = 0; i < 3; i++) {
        HD_SCOPE("any", "loop");
        assert_stack("/outer/loop");
        if (i == 0) continue;
        {
            HD_SCOPE("any", "inner");
            HD_SCOPE("any", "innermost");
            assert_stack("/outer/loop/inner/innermost");
            if (i == 1) break;
        }
    }
    assert_stack("/outer");
again:;
    {
        HD_SCOPE("any", "goto");
        assert_stack("/outer/goto");
        if (!rounds++) goto again;
        if (rounds) goto out;
    }
out:
    assert_stack("/outer");
}

static jmp_buf jump;
static void jump_out_of_two_scopes(void) {
    HD_SCOPE("any", "b");
    HD_SCOPE("any", "c");
    assert_stack("/a/b/c");
    longjmp(jump, 1);
}

static void a_longjmp_over_scopes_heals_when_an_outer_one_ends(void **state) {
    static hd_scope outer;
    (void)state;
    start(HD_CAPTURE_DEFAULT, "", 0);
    outer = hd_scope_begin(&any, "a");
    if (!setjmp(jump)) jump_out_of_two_scopes();
    {
        HD_SCOPE("any", "d");
        assert_int_equal(hd_tracker_depth(), 4);
    }
    hd_scope_end(&outer);
    assert_stack("");
    assert_int_equal(hd_tracker_depth(), 0);
}

static void a_stack_deeper_than_the_limit_keeps_its_outermost_frames(void **state) {
    static const uint32_t limits[] = { 1, 3, 0, HD_MAX_FRAMES };
    (void)state;
    for (size_t i = 0; i < COUNT(limits); i++) {
        uint32_t limit = limits[i] ? limits[i] : 48, deep = limit + 100;
        hd_scope *scopes = calloc(deep, sizeof *scopes);
        char expected[1024] = "";
        start(HD_CAPTURE_PSEUDO_STACK, "", limits[i]);
        for (uint32_t depth = 1; depth <= deep; depth++) {
            const char *name = letters[depth % COUNT(letters)];
            scopes[depth - 1] = hd_scope_begin(&any, name);
            if (depth <= limit) strcat(strcat(expected, "/"), name);
            if (depth == limit + 1) strcat(expected, "/<truncated>");
            assert_stack(expected);
            assert_int_equal(hd_tracker_depth(), depth);
        }
        while (deep--) {
            hd_scope_end(&scopes[deep]);
            assert_int_equal(hd_tracker_depth(), deep);
            if (deep == limit) *strstr(expected, "/<truncated>") = 0;
            if (deep < limit) *strrchr(expected, '/') = 0;
            assert_stack(expected);
        }
        hd_tracker_stop();
        free(scopes);
    }
}

/* ---- categories */

static void categories_follow_the_filter(void **state) {
#define HIDDEN "disabled-by-default-"
    static const struct { const char *filter, *category; bool enabled; } cases[] = {
        { "", "a", true }, { "", "", true }, { "", HIDDEN "a", false }, { "", HIDDEN "x,a", true },
        { "a,b", "a", true }, { "a,b", "b", true }, { "a,b", "c", false }, { "a,b", "ab", false },
        { "a,b", "", false }, { "A", "a", false }, { "a,", "b", false }, { ",", "a", true },
        { " ", "a", true }, { " a , b ", "a", true }, { " a , b ", "b", true }, { "a b", "a b", true },
        { "a", "b,a", true }, { "a", "b, a", true }, { "a", "b,c", false }, { "a", ",a,", true },
        { "a,b", "a,b", true }, { "-c", "c", false }, { "-c", "a", true }, { "-c", "c,a", true },
        { "-c", "c,c", false }, { "-c", HIDDEN "x", false }, { "*", "a", true }, { "*", HIDDEN "x", false },
        { "*", "", true }, { "a*", "a", true }, { "a*", "abc", true }, { "a*", "ba", false },
        { "*a", "bca", true }, { "*a", "ab", false }, { "a*c", "abbc", true }, { "a*c", "abb", false },
        { "?", "a", true }, { "?", "ab", false }, { "?", "", false }, { "a?c", "abc", true },
        { "a*b*c", "axbxbxc", true }, { "*,-c", "c", false }, { "*,-c", "a", true }, { "-c,*", "c", false },
        { "a*,-ab", "ab", false }, { "a*,-ab", "ac", true }, { "a*,-a*", "ab", false },
        { "ab,-a*", "ab", true }, { "-a*,ab", "ab", true }, { "-a*,ab", "ac", false }, { "-c,c", "c", true },
        { HIDDEN "x", HIDDEN "x", true }, { HIDDEN "x", HIDDEN "y", false },
        { HIDDEN "*", HIDDEN "y", true }, { HIDDEN "*", "a", false }, { HIDDEN "?", HIDDEN "y", true },
        { "d*", HIDDEN "x", false }, { "disabled*", HIDDEN "x", false }, { "*," HIDDEN "x", HIDDEN "x", true },
        { "*," HIDDEN "x", "a", true }, { HIDDEN "*,-" HIDDEN "x", HIDDEN "x", false },
        { HIDDEN "*,-" HIDDEN "x", HIDDEN "y", true }, { HIDDEN "*,-*", HIDDEN "y", false },
    };
    (void)state;
    start(HD_CAPTURE_DEFAULT, "", 0);
    for (size_t i = 0; i < COUNT(cases); i++) {
        hd_category category = { .name = cases[i].category };
        assert_int_equal(hd_tracker_set_categories(cases[i].filter), HD_OK);
        for (int round = 0; round < 2; round++) { /* first looked up, then remembered */
            hd_scope scope = hd_scope_begin(&category, "a");
            if (hd_tracker_depth() != cases[i].enabled)
                fail_msg("filter '%s', category '%s'", cases[i].filter, cases[i].category);
            hd_scope_end(&scope);
        }
    }
}

static void a_category_follows_every_change_of_the_filter(void **state) {
    (void)state;
    start(HD_CAPTURE_DEFAULT, "any", 0);
    for (int i = 0; i < 100; i++) {
        hd_scope scope = hd_scope_begin(&any, "a");
        assert_int_equal(hd_tracker_depth(), i % 2 == 0);
        hd_scope_end(&scope);
        hd_tracker_set_categories(i % 2 ? NULL : "other");
    }
}

static void a_filter_too_long_is_invalid_and_changes_nothing(void **state) {
    char filter[1025];
    hd_error err;
    hd_tracker_desc desc = { contexts, HD_CAPTURE_DEFAULT, filter, 0, NULL, NULL };
    (void)state;
    memset(filter, 'x', 1024);
    filter[1024] = 0;
    memset(&err, 0, sizeof err);
    assert_int_equal(hd_tracker_start(&desc, &err), HD_INVALID);
    assert_int_equal(err.status, HD_INVALID);
    assert_false(hd_tracker_running());
    start(HD_CAPTURE_DEFAULT, "any", 0);
    assert_int_equal(hd_tracker_set_categories(filter), HD_INVALID);
    {
        HD_SCOPE("any", "a");
        assert_stack("/a");
    }
    memcpy(filter + 1019, ",any", 5);
    assert_int_equal(hd_tracker_set_categories(filter), HD_OK);
    {
        HD_SCOPE("any", "b");
        assert_stack("/b");
    }
}

static bool matches(const char *pattern, const char *name) {
    if (!*pattern) return !*name;
    if (*pattern == '*') return matches(pattern + 1, name) || (*name && matches(pattern, name + 1));
    return *name && (*pattern == '?' || *pattern == *name) && matches(pattern + 1, name + 1);
}

static void patterns_match_as_the_definition_says(void **state) {
    uint64_t random = 7, matched = 0;
    (void)state;
    for (int i = 0; i < 50000; i++) {
        char pattern[9] = "", name[11] = "";
        for (uint64_t n = hd__test_below(&random, 9); n--;) pattern[n] = "aab*?*"[hd__test_below(&random, 6)];
        for (uint64_t n = hd__test_below(&random, 11); n--;) name[n] = "aab"[hd__test_below(&random, 3)];
        if (hd__tracker_glob(hd_cstr(pattern), hd_cstr(name)) != matches(pattern, name))
            fail_msg("pattern '%s', name '%s'", pattern, name);
        matched += matches(pattern, name);
    }
    assert_in_range(matched, 5000, 45000);
}

/* ---- capture */

typedef struct stack {
    uintptr_t depth;             /* program counters 0x1, 0x2 ... outward */
    size_t capacity;             /* the last requested capacity */
    unsigned calls;
    bool raise;
} stack;

static size_t unwind(void *user, const void **pcs, size_t capacity) {
    stack *s = user;
    size_t n = 0;
    s->capacity = capacity;
    s->calls++;
    if (s->raise) {
        s->raise = false;
        raise(SIGUSR1);
    }
    for (; n < capacity && n < s->depth; n++) pcs[n] = (const void *)(n + 1);
    return n;
}

static void start_native(hd_capture capture, uint32_t max_frames, stack *s) {
    hd_tracker_desc desc = { contexts, capture, "", max_frames, unwind, s };
    assert_int_equal(hd_tracker_start(&desc, NULL), HD_OK);
}

static void off_captures_types_alone(void **state) {
    uint32_t type;
    (void)state;
    start(HD_CAPTURE_OFF, "", 0);
    HD_SCOPE("any", "a");
    assert_int_equal(hd_tracker_depth(), 0);
    assert_int_equal(hd_tracker_snapshot(NULL), 0);
    type = hd_tracker_snapshot("T");
    assert_path(type, "/:T");
}

static void a_native_stack_keeps_its_innermost_frames(void **state) {
    stack s = { 0, 0, 0, false };
    (void)state;
    start_native(HD_CAPTURE_NATIVE_STACK, 3, &s);
    HD_SCOPE("any", "a"); /* scopes are not captured */
    assert_stack("");
    s.depth = 2;
    assert_stack("/0x2/0x1");
    s.depth = 3;
    assert_stack("/0x3/0x2/0x1");
    s.depth = 4;
    assert_stack("/<truncated>/0x3/0x2/0x1");
    s.depth = 1000;
    assert_path(hd_tracker_snapshot("T"), "/<truncated>/0x3/0x2/0x1/:T");
    assert_int_equal(s.calls, 5);
    assert_true(s.capacity > 3);
}

static void a_mixed_stack_has_native_frames_under_its_scopes(void **state) {
    stack s = { 2, 0, 0, false };
    (void)state;
    start_native(HD_CAPTURE_MIXED_STACK, 2, &s);
    assert_stack("/0x2/0x1");
    HD_SCOPE("any", "a");
    HD_SCOPE("any", "b");
    assert_path(hd_tracker_snapshot("T"), "/a/b/0x2/0x1/:T");
    HD_SCOPE("any", "c");
    s.depth = 3;
    assert_stack("/a/b/<truncated>/<truncated>/0x2/0x1");
    assert_int_equal(hd_tracker_depth(), 3);
}

/* Scopes come first; the remaining frames are the innermost native ones. */
static void a_mixed_stack_has_no_more_than_the_most_frames(void **state) {
    static const struct { uint32_t max, scopes, native, names, pcs, cuts; } cases[] = {
        { HD_MAX_FRAMES, 100, 100, 100, HD_MAX_FRAMES - 100, 1 },
        { HD_MAX_FRAMES, 100, HD_MAX_FRAMES - 100, 100, HD_MAX_FRAMES - 100, 0 },
        { HD_MAX_FRAMES, HD_MAX_FRAMES - 1, 500, HD_MAX_FRAMES - 1, 1, 1 },
        { HD_MAX_FRAMES, HD_MAX_FRAMES, 500, HD_MAX_FRAMES, 0, 1 },
        { HD_MAX_FRAMES, HD_MAX_FRAMES + 10, 500, HD_MAX_FRAMES, 0, 2 },
        { 70, 200, 200, 70, HD_MAX_FRAMES - 70, 2 },
        { 48, 200, 200, 48, 48, 2 },
    };
    (void)state;
    for (size_t k = 0; k < COUNT(cases); k++) {
        stack s = { cases[k].native, 0, 0, false };
        hd_scope scopes[HD_MAX_FRAMES + 100];
        uint32_t found[HD_FRAME_TYPE + 1] = { 0 };
        start_native(HD_CAPTURE_MIXED_STACK, cases[k].max, &s);
        for (uint32_t i = 0; i < cases[k].scopes; i++) scopes[i] = hd_scope_begin(&any, letters[i % 2]);
        for (int again = 0; again < 2; again++) {
            memset(found, 0, sizeof found);
            for (uint32_t at = hd_tracker_snapshot(NULL); at != HD_NONE; at = hd_contexts_frame(contexts, at).parent)
                found[hd_contexts_frame(contexts, at).kind]++;
            assert_int_equal(found[HD_FRAME_NAME], cases[k].names);
            assert_int_equal(found[HD_FRAME_PC], cases[k].pcs);
            assert_int_equal(found[HD_FRAME_TRUNCATED], cases[k].cuts);
        }
        for (uint32_t i = cases[k].scopes; i-- > 0;) hd_scope_end(&scopes[i]);
        hd_tracker_stop();
    }
}

/* A stack that changes mostly at its inner end, sometimes anywhere, with scopes above it. */
typedef struct frames {
    uintptr_t pc[64];            /* outermost first */
    size_t depth;
} frames;

static size_t unwind_frames(void *user, const void **pcs, size_t capacity) {
    const frames *f = user;
    size_t n = 0;
    for (; n < capacity && n < f->depth; n++) pcs[n] = (const void *)f->pc[f->depth - 1 - n];
    return n;
}

static void native_stacks_are_right_wherever_they_change(void **state) {
    (void)state;
    uint64_t random = 1;
    for (uint32_t max = 1; max <= 60; max += 20) {
        frames f = { .depth = 0 };
        hd_tracker_desc desc = { contexts, HD_CAPTURE_MIXED_STACK, "", max, unwind_frames, &f };
        assert_int_equal(hd_tracker_start(&desc, NULL), HD_OK);
        for (int step = 0; step < 20000; step++) {
            char expected[4096] = "";
            uint64_t what = hd__test_below(&random, 10);
            bool scoped = hd__test_below(&random, 4) == 0;
            hd_scope scope = { 0, 0, 0 };
            if (what < 4 && f.depth < COUNT(f.pc)) f.pc[f.depth++] = 1 + hd__test_below(&random, 3);
            else if (what < 8 && f.depth) f.depth -= hd__test_below(&random, f.depth + 1) / 4 + (f.depth > 40);
            else if (f.depth) f.pc[hd__test_below(&random, f.depth)] = 1 + hd__test_below(&random, 3);
            if (scoped) scope = hd_scope_begin(&any, letters[step % 2]);
            if (scoped) strcat(strcat(expected, "/"), letters[step % 2]);
            if (f.depth > max) strcat(expected, "/<truncated>");
            for (size_t i = f.depth > max ? f.depth - max : 0; i < f.depth; i++)
                sprintf(expected + strlen(expected), "/%p", (void *)f.pc[i]);
            assert_stack(expected);
            if (scoped) hd_scope_end(&scope);
        }
        hd_tracker_stop();
    }
}

static void frames_lead_nowhere_in_the_contexts_of_another_session(void **state) {
    (void)state;
    for (uint32_t session = 0; session < 3; session++) {
        stack s = { 6, 0, 0, false };
        hd_tracker_desc desc = { hd_contexts_create(NULL), HD_CAPTURE_NATIVE_STACK, "", 0, unwind, &s };
        uint32_t node, shift;
        for (shift = 0; shift < session; shift++) hd_contexts_child(desc.contexts, 0, HD_FRAME_NAME, letters[shift], &node);
        assert_int_equal(hd_tracker_start(&desc, NULL), HD_OK);
        node = hd_tracker_snapshot(NULL);
        assert_int_equal(node, shift + 6);
        for (uintptr_t pc = 1; pc <= 6; pc++) {
            hd_frame frame = hd_contexts_frame(desc.contexts, node);
            assert_ptr_equal(frame.value, (const void *)pc);
            node = frame.parent;
        }
        assert_int_equal(hd_contexts_count(desc.contexts), shift + 7);
        hd_tracker_stop();
        hd_contexts_free((hd_contexts *)desc.contexts);
    }
}

static void starting_says_what_is_wrong_and_changes_nothing(void **state) {
    hd_tracker_desc good = { contexts, HD_CAPTURE_DEFAULT, "", 0, NULL, NULL }, bad;
    hd_error err;
    (void)state;
    for (int i = 0; i < 5; i++) {
        bad = good;
        memset(&err, 0, sizeof err);
        if (i == 0) bad.contexts = NULL;
        if (i == 1) bad.capture = HD_CAPTURE_NATIVE_STACK;
        if (i == 2) bad.capture = HD_CAPTURE_MIXED_STACK;
        if (i == 3) bad.max_frames = HD_MAX_FRAMES + 1;
        if (i == 4) assert_int_equal(hd_tracker_start(&good, &err), HD_OK);
        assert_int_equal(err.status, HD_OK);
        assert_int_equal(hd_tracker_start(&bad, &err), HD_INVALID);
        assert_int_equal(err.status, HD_INVALID);
        assert_true(strlen(err.message) > 0);
        assert_int_equal(hd_tracker_running(), i == 4);
    }
    assert_int_equal(hd_tracker_start(&good, NULL), HD_INVALID);
}

/* ---- contexts */

static void equal_paths_are_one_context(void **state) {
    uint32_t a, b, plain, typed, other;
    (void)state;
    start(HD_CAPTURE_DEFAULT, "", 0);
    {
        HD_SCOPE("any", "a");
        plain = hd_tracker_snapshot(NULL);
        typed = hd_tracker_snapshot("T");
        assert_int_equal(hd_tracker_snapshot("T"), typed);
        other = hd_tracker_snapshot("U");
    }
    assert_int_equal(hd_contexts_frame(contexts, typed).parent, plain);
    assert_true(typed != plain && other != plain && other != typed);
    assert_path(other, "/a/:U");
    assert_int_equal(hd_contexts_count(contexts), 4);
    {
        HD_SCOPE("any", "a");
        assert_int_equal(hd_tracker_snapshot("U"), other);
    }
    /* One value has different meanings for different kinds of frames, and under different parents. */
    assert_int_equal(hd_contexts_child(contexts, 0, HD_FRAME_PC, letters[0], &a), HD_OK);
    assert_int_equal(hd_contexts_child(contexts, 0, HD_FRAME_TYPE, letters[0], &b), HD_OK);
    assert_true(a != b);
    assert_int_equal(hd_contexts_child(contexts, plain, HD_FRAME_PC, letters[0], &b), HD_OK);
    assert_true(a != b);
    assert_int_equal(hd_contexts_count(contexts), 7);
}

static void a_million_contexts_are_found_again(void **state) {
    enum { N = 1000000 / SLOWER };
    uint64_t random = 1;
    uint32_t child;
    (void)state;
    for (uint32_t i = 1; i <= N; i++) {
        uint32_t parent = (uint32_t)hd__test_below(&random, i);
        assert_int_equal(hd_contexts_child(contexts, parent, HD_FRAME_PC, (void *)(uintptr_t)i, &child), HD_OK);
        assert_int_equal(child, i);
        if (i & (i - 1)) continue;
        assert_int_equal(hd_contexts_memory(contexts), test_mapped);
        assert_true(test_mapped <= 64 * (uint64_t)i + 65536);
    }
    random = 1;
    for (uint32_t i = 1; i <= N; i++) {
        uint32_t parent = (uint32_t)hd__test_below(&random, i);
        hd_frame frame = hd_contexts_frame(contexts, i);
        assert_int_equal(frame.parent, parent);
        assert_int_equal(frame.kind, HD_FRAME_PC);
        assert_int_equal((uintptr_t)frame.value, i);
        assert_int_equal(hd_contexts_child(contexts, parent, HD_FRAME_PC, (void *)(uintptr_t)i, &child), HD_OK);
        assert_int_equal(child, i);
    }
    assert_int_equal(hd_contexts_count(contexts), N + 1);
    assert_true(test_mapped <= 64 * (uint64_t)N + 65536);
}

static void creating_contexts_fails_whole(void **state) {
    uint64_t before = test_mapped;
    (void)state;
    hd_contexts_free(NULL);
    for (uint64_t fail_at = 1;; fail_at++) {
        hd_error err;
        hd_contexts *made;
        memset(&err, 0, sizeof err);
        test_map_calls = 0;
        test_map_fail_at = fail_at;
        made = hd_contexts_create(&err);
        if (made) {
            assert_int_equal(fail_at, 4); /* the object, its first nodes, its first table */
            hd_contexts_free(made);
            break;
        }
        assert_int_equal(err.status, HD_OUT_OF_MEMORY);
        assert_int_equal(test_mapped, before);
    }
    assert_int_equal(test_mapped, before);
}

static void a_context_there_is_no_memory_for_leaves_the_others(void **state) {
    uint64_t failures = 0;
    (void)state;
    test_map_calls = 0;
    for (uint32_t i = 1; i <= 20000; i++) {
        uint32_t child = 77;
        hd_status status;
        test_map_fail_at = test_map_calls + 1; /* every request fails once, and succeeds when repeated */
        status = hd_contexts_child(contexts, i / 2, HD_FRAME_PC, (void *)(uintptr_t)i, &child);
        if (status) {
            assert_int_equal(status, HD_OUT_OF_MEMORY);
            assert_int_equal(child, 77);
            assert_int_equal(hd_contexts_count(contexts), i);
            failures++;
            test_map_fail_at = 0;
            assert_int_equal(hd_contexts_child(contexts, i / 2, HD_FRAME_PC, (void *)(uintptr_t)i, &child), HD_OK);
        }
        assert_int_equal(child, i);
        assert_int_equal(hd_contexts_memory(contexts), test_mapped);
    }
    assert_in_range(failures, 8, 20);
    for (uint32_t i = 1; i <= 20000; i++) assert_int_equal(hd_contexts_frame(contexts, i).parent, i / 2);
}

static void a_scope_without_memory_for_its_context_stays_balanced(void **state) {
    uint32_t child = 0;
    (void)state;
    start(HD_CAPTURE_DEFAULT, "", 0);
    for (uint32_t i = 1; 2 * (i + 2) <= 512; i++) hd_contexts_child(contexts, 0, HD_FRAME_PC, (void *)(uintptr_t)i, &child);
    {
        HD_SCOPE("any", "a"); /* the last context that fits into the first table */
        test_map_fail_at = test_map_calls + 1;
        {
            HD_SCOPE("any", "b");
            assert_int_equal(test_map_calls, test_map_fail_at);
            assert_int_equal(hd_tracker_depth(), 2);
            assert_stack("/a");
            test_map_fail_at = test_map_calls + 1;
            assert_path(hd_tracker_snapshot("T"), "/a");
            assert_path(hd_tracker_snapshot("T"), "/a/:T");
        }
        assert_int_equal(hd_tracker_depth(), 1);
        HD_SCOPE("any", "c");
        assert_stack("/a/c");
    }
    assert_int_equal(hd_tracker_depth(), 0);
}

/* ---- threads and signals */

static uint32_t interned[THREADS][10000];

/* All paths of four letters, in a different order in each thread. All threads begin with the same path, and all find
   it missing. */
static void *intern(void *argument) {
    static const uint32_t factor[THREADS] = { 1, 3, 7, 9, 11, 13, 9999, 9997 };
    uint32_t thread = (uint32_t)(uintptr_t)argument;
    test_locks.meet = true;
    for (uint32_t i = 0; i < 10000; i++) {
        uint32_t number = i * factor[thread] % 10000, digits = number, context = 0;
        for (int d = 0; d < 4; d++, digits /= 10)
            if (hd_contexts_child(contexts, context, HD_FRAME_NAME, letters[digits % 10], &context)) return &barrier;
        interned[thread][number] = context;
        if (hd_contexts_frame(contexts, context).value != letters[number / 1000]) return &barrier;
    }
    return NULL;
}

static void in_threads(void *(*run)(void *)) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, run, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    pthread_barrier_destroy(&barrier);
}

static void threads_that_intern_the_same_paths_get_the_same_numbers(void **state) {
    (void)state;
    memset(interned, 0xff, sizeof interned);
    in_threads(intern);
    assert_int_equal(hd_contexts_count(contexts), 1 + 10 + 100 + 1000 + 10000);
    assert_int_equal(hd_contexts_memory(contexts), test_mapped);
    for (uint32_t path = 0; path < 10000; path++) {
        char expected[9] = "/./././.";
        for (uint32_t d = 0, digits = path; d < 4; d++, digits /= 10) expected[2 * d + 1] = *letters[digits % 10];
        assert_path(interned[1][path], expected);
        for (int i = 0; i < THREADS; i++) assert_int_equal(interned[i][path], interned[1][path]);
    }
}

static void *scopes_of_my_own(void *argument) {
    const char *mine = letters[(uintptr_t)argument];
    uint64_t random = (uintptr_t)argument;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 2000; i++) {
        hd_scope outer = hd_scope_begin(&any, mine), inner;
        hd_frame top = hd_contexts_frame(contexts, hd_tracker_snapshot(NULL));
        if (top.kind != HD_FRAME_ROOT && top.value != mine) return &barrier;
        if (top.kind != HD_FRAME_ROOT && top.parent) return &barrier;
        switch (hd__test_below(&random, 5)) {
        case 0: hd_tracker_set_recording(hd__test_below(&random, 2)); break;
        case 1: hd_tracker_set_heap_profiling(hd__test_below(&random, 2)); break;
        case 2: hd_tracker_set_categories(hd__test_below(&random, 2) ? "any" : "-any"); break;
        default: break;
        }
        inner = hd_scope_begin(&any, "inner");
        hd_scope_end(&inner);
        hd_scope_end(&outer);
        if (hd_tracker_depth()) return &barrier;
    }
    return NULL;
}

static void threads_have_stacks_of_their_own_while_settings_change(void **state) {
    (void)state;
    start(HD_CAPTURE_DEFAULT, "", 0);
    for (int round = 0; round < 3; round++) in_threads(scopes_of_my_own);
    assert_in_range(hd_contexts_count(contexts), 2, 1 + 2 * THREADS + 1);
}

/* Waits for both threads; the waiting thread spins, so that they continue at the same instant. */
static uint32_t arrived, yields, enough;
static void meet(void) {
    uint32_t n = __atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL), spins = 0;
    while ((int32_t)(__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) - (n + n % 2)) < 0)
        if (++spins > 2000 && __atomic_add_fetch(&yields, 1, __ATOMIC_RELAXED)) sched_yield();
}

/* Each of two threads turns one condition off and on: 10,000 times, or fewer if they must wait for a processor. */
static void *turn_off_and_on(void *argument) {
    void (*set)(bool) = argument ? hd_tracker_set_recording : hd_tracker_set_heap_profiling;
    for (int i = 0; !__atomic_load_n(&enough, __ATOMIC_RELAXED); i++) {
        set(false);
        meet();
        set(true);
        meet();
        HD_SCOPE("any", "a");
        if (argument && hd_tracker_depth() != 1) interned[0][0]++;
        if (argument && (i >= 10000 / SLOWER || __atomic_load_n(&yields, __ATOMIC_RELAXED) > 3000))
            __atomic_store_n(&enough, 1, __ATOMIC_RELAXED);
        meet();
    }
    return NULL;
}

static void conditions_that_two_threads_turn_on_are_both_on(void **state) {
    pthread_t other;
    (void)state;
    start(HD_CAPTURE_DEFAULT, "", 0);
    interned[0][0] = arrived = yields = enough = 0;
    assert_int_equal(pthread_create(&other, NULL, turn_off_and_on, NULL), 0);
    turn_off_and_on(&barrier);
    pthread_join(other, NULL);
    assert_int_equal(interned[0][0], 0);
}

static hd_category rare = { .name = "rare" };
static uint32_t depth_in_handler;

/* Opens new scopes, and takes a snapshot. */
static void handler(int signal_number) {
    hd_scope scope = hd_scope_begin(&any, "handler"), inner = hd_scope_begin(&rare, "inner");
    (void)signal_number;
    hd_tracker_snapshot("handled");
    depth_in_handler = hd_tracker_depth();
    hd_scope_end(&inner);
    hd_scope_end(&scope);
}

static void a_signal_inside_an_unwinder_may_open_scopes(void **state) {
    stack s = { 2, 0, 0, true };
    (void)state;
    signal(SIGUSR1, handler);
    start_native(HD_CAPTURE_MIXED_STACK, 0, &s);
    HD_SCOPE("any", "a");
    assert_stack("/a/0x2/0x1");
    assert_int_equal(s.calls, 2);
    assert_int_equal(depth_in_handler, 3);
    assert_int_equal(hd_tracker_depth(), 1);
    s.raise = true;
    assert_path(hd_tracker_snapshot("T"), "/a/0x2/0x1/:T");
    /* a; 2 frames; under a: handler, inner, 2 frames, a type; and T */
    assert_int_equal(hd_contexts_count(contexts), 1 + 1 + 2 + 2 + 3 + 1);
}

static uint32_t context_in_handler;

static void scoped_handler(int signal_number) {
    hd_scope scope = hd_scope_begin(&any, "handler");
    (void)signal_number;
    context_in_handler = hd_tracker_snapshot(NULL);
    hd_scope_end(&scope);
}

/* A handler's stack, while the thread has a remembered one. */
static void a_signal_while_frames_are_added_leaves_later_stacks_right(void **state) {
    stack s = { 2, 0, 0, false };
    (void)state;
    signal(SIGUSR1, scoped_handler);
    start_native(HD_CAPTURE_MIXED_STACK, 0, &s);
    scoped_handler(0);           /* the handler's contexts are known */
    assert_stack("/0x2/0x1");
    s.depth = 3;
    test_locks.raise_at = 1;     /* when the first new frame is added */
    hd_tracker_snapshot(NULL);
    assert_int_equal(test_locks.raise_at, 0);
    scoped_handler(0);
    assert_path(context_in_handler, "/handler/0x3/0x2/0x1");
    assert_stack("/0x3/0x2/0x1");
}

/* At every lock of the tracker, a handler must neither wait for the lock nor leave a scope open. */
static void a_signal_inside_a_lock_neither_waits_nor_unbalances(void **state) {
    (void)state;
    signal(SIGUSR1, handler);
    for (int call = 0; call < 3; call++)
        for (unsigned lock = 1, missed = 0; !missed; lock++) {
            hd_scope scope = { 0, 0, 0 };
            hd_contexts_free(contexts);
            contexts = hd_contexts_create(NULL);
            start(HD_CAPTURE_DEFAULT, "", 0);
            test_locks.raise_at = lock;
            if (call == 0) scope = hd_scope_begin(&any, letters[0]); /* looks a category up, makes a context */
            if (call == 1) hd_tracker_set_categories("");
            if (call == 2) hd_contexts_memory(contexts);
            missed = test_locks.raise_at;
            test_locks.raise_at = 0;
            if (test_locks.deadlocks) fail_msg("call %d, lock %u: a signal handler waits for ever", call, lock);
            if (call == 0) assert_int_equal(missed, lock > 2);
            if (call == 0) assert_stack("/a");
            hd_scope_end(&scope);
            {
                HD_SCOPE("any", "after");
                assert_stack("/after");
            }
            assert_int_equal(hd_tracker_depth(), 0);
            hd_tracker_stop();
        }
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_THREAD__)
/* The processor's trap flag: a signal after every instruction. */
#define STEP(on)                                                                                         \
    __asm__ volatile("leaq -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); orq %0, (%%rsp); popfq; "  \
                     "leaq 128(%%rsp), %%rsp" : : "ri"((on) ? 0x100L : 0L) : "cc", "memory")
static unsigned steps, strays;

static void step_handler(int signal_number) {
    hd_scope scope = hd_scope_begin(&any, "handler");
    hd_frame frame;
    (void)signal_number;
    frame = hd_contexts_frame(contexts, hd_tracker_snapshot(NULL));
    strays += strcmp((const char *)frame.value, "handler") != 0;
    frame = hd_contexts_frame(contexts, frame.parent);
    strays += frame.kind != HD_FRAME_NAME || !strchr("ab", *(const char *)frame.value);
    hd_scope_end(&scope);
    steps++;
}

/* A handler between any two instructions finds a valid stack, and leaves it unchanged. */
static void a_signal_at_any_instruction_finds_and_leaves_a_whole_stack(void **state) {
    hd_scope outer, inner;
    (void)state;
    signal(SIGTRAP, step_handler);
    start(HD_CAPTURE_PSEUDO_STACK, "", 0);
    outer = hd_scope_begin(&any, "a");
    steps = 0;
    STEP(true);
    STEP(false);
    if (!steps) {                /* valgrind's processor lacks this flag */
        hd_scope_end(&outer);
        skip();
    }
    step_handler(0);             /* known contexts need no lock */
    inner = hd_scope_begin(&any, "b");
    step_handler(0);
    hd_scope_end(&inner);
    for (int repeated = 0; repeated < 2; repeated++) {
        steps = strays = 0;
        STEP(true);
        inner = hd_scope_begin(&any, "b");
        STEP(false);
        assert_in_range(steps, 10, 100000);
        assert_int_equal(strays, 0);
        assert_stack("/a/b");
        STEP(true);
        hd_scope_end(&inner);
        STEP(false);
        assert_int_equal(strays, 0);
        assert_stack("/a");
    }
    hd_scope_end(&outer);
    assert_int_equal(hd_tracker_depth(), 0);
}
#else
static void a_signal_at_any_instruction_finds_and_leaves_a_whole_stack(void **state) {
    (void)state;
    skip();
}
#endif

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_scope_pushes_when_all_three_conditions_hold),
        TEST(nothing_is_tracked_while_the_tracker_is_stopped),
        TEST(a_new_session_starts_with_empty_stacks),
        TEST(stacks_stay_balanced_whatever_changes_between_push_and_pop),
        TEST(a_scope_ends_however_its_block_is_left),
        TEST(a_longjmp_over_scopes_heals_when_an_outer_one_ends),
        TEST(a_stack_deeper_than_the_limit_keeps_its_outermost_frames),
        TEST(categories_follow_the_filter),
        TEST(a_category_follows_every_change_of_the_filter),
        TEST(a_filter_too_long_is_invalid_and_changes_nothing),
        TEST(patterns_match_as_the_definition_says),
        TEST(off_captures_types_alone),
        TEST(a_native_stack_keeps_its_innermost_frames),
        TEST(a_mixed_stack_has_native_frames_under_its_scopes),
        TEST(a_mixed_stack_has_no_more_than_the_most_frames),
        TEST(native_stacks_are_right_wherever_they_change),
        TEST(frames_lead_nowhere_in_the_contexts_of_another_session),
        TEST(starting_says_what_is_wrong_and_changes_nothing),
        TEST(equal_paths_are_one_context),
        TEST(a_million_contexts_are_found_again),
        TEST(creating_contexts_fails_whole),
        TEST(a_context_there_is_no_memory_for_leaves_the_others),
        TEST(a_scope_without_memory_for_its_context_stays_balanced),
        TEST(threads_that_intern_the_same_paths_get_the_same_numbers),
        TEST(threads_have_stacks_of_their_own_while_settings_change),
        TEST(conditions_that_two_threads_turn_on_are_both_on),
        TEST(a_signal_inside_an_unwinder_may_open_scopes),
        TEST(a_signal_while_frames_are_added_leaves_later_stacks_right),
        TEST(a_signal_inside_a_lock_neither_waits_nor_unbalances),
        TEST(a_signal_at_any_instruction_finds_and_leaves_a_whole_stack),
    };
    return cmocka_run_group_tests_name("tracker", tests, NULL, NULL);
}
