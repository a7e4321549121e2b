/* Hidden frames: allocators, and functions that start programs and threads. */

#include "screen.h"

#include <ctype.h>

enum {
    INNER = 1,                   /* without an object, hidden at the inner end of a stack */
    OUTER = 2,                   /* hidden at the outer end; without an object, or in any with ANY_OBJECT */
    ANY_OBJECT = 4,
    ANY_UNSOURCED = 64,          /* at the inner end in any object, unless its source file is known and another */
    RUST = 8,                    /* hidden if the frame is of Rust's own crates, by source path or form of the name */
    GO = 16,                     /* the same for Go's package runtime */
    RESERVED = 32                /* names that only the language's library can have */
};

/* One allocator or runtime: its functions, and their objects and source files, separated by '|'. An object is the
   beginning of a base name; a file is a part of a path. "/elf/dl-" is in "./elf/dl-load.c" and "elf/dl-load.c", not
   in "shelf/dl-load.c". A part with a suffix, "/zmalloc.c", is the end of a path. A name is compared without
   parameters and with "<>" for template arguments, or as it is; "*" at an end is any text. */
typedef struct hidden_rule {
    const char *objects, *files;
    unsigned flags;
    const char *names[40];
} hidden_rule;

#define LIBC "libc.so|libc-2|libc.musl|ld-linux|ld-musl|ld-2|ld.so|ld64|libpthread"
#define ALLOCATORS \
    "libjemalloc|libtcmalloc|libtcmalloc_minimal|libtcmalloc_and_profiler|libtcmalloc_debug|" \
    "libmimalloc|libmimalloc-secure|libheapdump_record|libheaptrack_preload|libheaptrack_inject|" \
    "libasan|liblsan|libtsan|libhwasan|vgpreload_memcheck|vgpreload_massif|vgpreload_dhat|vgpreload_core"
#define LIBSTDCXX "libstdc++|libc++|libc++abi|libsupc++"
#define PYTHON "python|python2|python3|libpython|libpython2|libpython3"
#define JEMALLOC_SOURCES "/jemalloc/src/|/jemalloc/internal/|/jemalloc-4|/jemalloc-5|/jemalloc.c"
#define TCMALLOC_SOURCES "/tcmalloc/|/gperftools/src/|/gperftools-2|/tcmalloc.cc"
#define MIMALLOC_SOURCES "/mimalloc/src/|/mimalloc/include/|/mimalloc-1|/mimalloc-2|/mimalloc-3|/mimalloc.h"
#define V8 "node|libnode|libv8|d8|chrome|chromium|electron|libchrome|libcontent"

static const hidden_rule hidden_rules[] = {
    { ALLOCATORS, NULL, 0, { "*" } },
    { LIBC "|" ALLOCATORS,
      "/malloc/malloc.c|/malloc/hooks.c|/malloc/arena.c|/src/malloc/|/asan/asan_malloc|/memprof/memprof_malloc|"
      "/rtld-malloc.h|/elf/dl-minimal.c", INNER,
      { "malloc", "calloc", "realloc", "reallocarray", "memalign", "aligned_alloc", "posix_memalign", "valloc",
        "pvalloc", "__libc_malloc", "__libc_calloc", "__libc_realloc", "__libc_memalign", "__GI___libc_malloc",
        "__GI___libc_realloc", "__libc_reallocarray", "_int_malloc", "_int_realloc", "_int_memalign", "_mid_memalign",
        "sysmalloc", "malloc_hook_ini", "ptmalloc_init", "tcache_init", "malloc_consolidate", "__interceptor_*" } },
    { "libjemalloc|redis-server|redis-check-rdb|valkey-server|valkey-check-rdb", JEMALLOC_SOURCES, INNER,
      { "je_malloc", "je_calloc", "je_realloc", "je_memalign", "je_aligned_alloc", "je_posix_memalign", "je_mallocx",
        "je_rallocx", "je_valloc", "je_malloc_default" } },
    { "libjemalloc|redis-server|redis-check-rdb|valkey-server|valkey-check-rdb", JEMALLOC_SOURCES, 0,
      { "je_*", "do_rallocx", "imalloc*", "prof_*" } },
    { "libjemalloc", JEMALLOC_SOURCES, INNER, { "_rjem_*" } },
    { "libtcmalloc|libtcmalloc_minimal|libtcmalloc_debug", TCMALLOC_SOURCES, INNER,
      { "tc_malloc", "tc_calloc", "tc_realloc", "tc_memalign", "tc_new", "tc_newarray", "tc_posix_memalign",
        "tcmalloc::allocate_full_*" } },
    { "libtcmalloc|libtcmalloc_minimal|libtcmalloc_debug", TCMALLOC_SOURCES, 0,
      { "tc_malloc*", "tc_calloc*", "tc_realloc*", "tc_memalign*", "tc_new*", "tcmalloc::*", "do_malloc",
        "DoSampledAllocation" } },
    { "libmimalloc", MIMALLOC_SOURCES, INNER,
      { "mi_malloc", "mi_calloc", "mi_realloc", "mi_zalloc", "mi_malloc_aligned" } },
    { "libmimalloc", MIMALLOC_SOURCES, 0, { "mi_*", "_mi_*" } },
    { LIBSTDCXX "|" ALLOCATORS,
      "/libsupc++/|/new_op.cc|/new_opv.cc|/new_opnt.cc|/new_opvnt.cc|/new_opa.cc|/new_opva.cc|/libcxx/src/new|"
      "/libcxxabi/src/|/asan/asan_new_delete|/memprof/memprof_new_delete", INNER | ANY_UNSOURCED,
      { "operator new", "operator new[]", "operator delete", "operator delete[]", "_Znwm", "_Znam", "_Znwj", "_Znaj",
        "__cxa_allocate_exception" } },
    { NULL, NULL, RESERVED,
      { "std::allocator<>::*", "std::allocator_traits<>::*", "std::__new_allocator<>::*",
        "__gnu_cxx::new_allocator<>::*", "std::__1::allocator<>::*", "std::__1::allocator_traits<>::*" } },
    { NULL, NULL, RUST,
      { "__rust_*", "__rdl_*", "__rg_*", "alloc::alloc::*", "<alloc::alloc::Global*", "std::alloc::*",
        "<std::alloc::System*", "alloc::raw_vec::*", "<alloc::raw_vec::*", "*alloc::vec::spec_from_*",
        "alloc::boxed::box_new*", "alloc::boxed::Box<>::new*", "*>>::with_capacity_in", "*>>::try_new_uninit_in",
        "hashbrown::raw::*", "<hashbrown::raw::*" } },
    { NULL, NULL, RUST,
      { "std::rt::*", "std::panic::*", "std::panicking::*", "std::sys::backtrace::*", "std::sys_common::backtrace::*",
        "std::sys::pal::unix::thread::*", "std::sys::thread::*", "std::thread::lifecycle::*",
        "std::thread::Builder::*", "*as core::ops::function::FnOnce*", "core::ops::function::FnOnce::call_once*" } },
    { "libglib-2", "/glib/gmem.c|/glib/gslice.c", 0,
      { "g_malloc*", "g_realloc*", "g_try_malloc*", "g_slice_alloc*" } },
    { "libsqlite3|sqlite3", "/sqlite3.c|/sqlite/src/malloc.c|/sqlite/src/mem", 0,
      { "sqlite3Malloc*", "sqlite3_malloc*", "sqlite3Realloc", "sqlite3MemMalloc", "sqlite3DbMalloc*",
        "mallocWithAlarm", "dbMallocRawFinish", "dbReallocFinish" } },
    { "redis-server|redis-check-rdb|redis-check-aof|valkey-server|valkey-check-rdb|valkey-check-aof|redis-cli|"
      "redis-benchmark", "/zmalloc.c", 0,
      { "zmalloc*", "zcalloc*", "zrealloc*", "ztrymalloc*", "ztrycalloc*", "ztryrealloc*" } },
    { PYTHON, "/obmalloc.c|/gcmodule.c|/Python/gc.c|/Objects/typeobject.c", 0,
      { "PyMem_*", "_PyMem_*", "PyObject_Malloc", "PyObject_Calloc", "PyObject_Realloc", "_PyObject_Malloc",
        "_PyObject_Calloc", "_PyObject_Realloc", "pymalloc_*", "allocate_from_new_pool", "new_arena", "arena_map_*",
        "_PyObject_Arena*", "gc_alloc", "_PyObject_GC_*", "PyObject_GC_*", "_PyObject_New*", "PyType_GenericAlloc",
        "_PyType_AllocNoTrack" } },
    { V8, "/deps/v8/|/v8/src/|/deps/uv/", 0,
      { "v8::internal::Malloced::*", "v8::internal::AllocWithRetry", "v8::internal::AlignedAllocWithRetry",
        "v8::internal::NewArray<>", "v8::internal::AccountingAllocator::*", "v8::base::Malloc", "v8::base::Realloc",
        "v8::base::Calloc", "v8::base::AlignedAlloc", "node::Malloc<>", "node::Realloc<>", "node::UncheckedMalloc<>",
        "node::UncheckedRealloc<>" } },
    { V8 "|libuv", "/deps/uv/|/uv-common.c", 0, { "uv__malloc", "uv__calloc", "uv__realloc" } },
    { V8 "|libcrypto", "/crypto/mem.c", 0, { "CRYPTO_malloc", "CRYPTO_zalloc" } },
    { NULL, NULL, GO,
      { "runtime.mallocgc", "runtime.newobject", "runtime.makeslice", "runtime.goexit", "runtime.main" } },
    { LIBC, "/csu/libc-start.c|/libc_start_call_main.h|/libc-start.h", OUTER | ANY_OBJECT,
      { "_start", "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main", "__libc_start_main@*" } },
    { LIBC,
      "/elf/dl-|/elf/rtld.c|/nptl/|/pthread_create.c|/linux/x86_64/clone|/clone.S|/clone3.S|/clone-internal.c|"
      "/csu/libc-start.c", 0,
      { "_dl_start_user", "_dl_init", "call_init", "start_thread", "clone", "clone3", "__clone", "__clone3",
        "__GI___clone", "__GI___clone3", "__clone_internal" } }
};

static bool is_like(const char *like, const char *s, size_t n) {
    size_t m = strlen(like);
    if (m == 1 && *like == '*') return true;
    if (*like == '*' && like[m - 1] == '*') return memmem(s, n, like + 1, m - 2) != NULL;
    if (*like == '*') return n >= m - 1 && !memcmp(s + n - (m - 1), like + 1, m - 1);
    if (like[m - 1] == '*') return n >= m - 1 && !memcmp(like, s, m - 1);
    return n == m && !memcmp(like, s, m);
}

/* Whether one of the texts, separated by '|', begins a base name. "libc.so" begins libc.so.6, but "node" does not
   begin node_exporter. */
static bool is_object(const char *objects, hd_str object) {
    while (objects) {
        size_t n = strcspn(objects, "|");
        if (object.len >= n && !memcmp(object.data, objects, n) &&
            (object.len == n || !(isalpha((unsigned char)object.data[n]) || object.data[n] == '_'))) return true;
        objects = objects[n] ? objects + n + 1 : NULL;
    }
    return false;
}

/* Whether s is this text, with separators of Windows or others. */
static bool is_path(const char *s, const char *text, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (s[i] != text[i] && !(text[i] == '/' && is_separator(s[i]))) return false;
    return true;
}

/* Whether a base name, as in older recordings, can be a file with this ending. */
static bool is_base_name(hd_str path, const char *ending) {
    size_t n = strlen(ending);
    for (size_t i = 0; i < path.len; i++)
        if (is_separator(path.data[i])) return false;
    return path.len > n && !memcmp(path.data + path.len - n, ending, n);
}

static bool has_part(hd_str path, const char *parts) {
    while (parts) {
        size_t n = strcspn(parts, "|");
        bool is_end = memchr(parts, '.', n) != NULL;
        for (size_t at = 0; at + n <= path.len + 1; at++) {
            size_t skip = !at;       /* a path may lack the first "/" */
            if (at && !is_separator(path.data[at - 1])) continue;
            if ((!is_end || at + n == path.len + 1) && is_path(path.data + (at + skip - 1), parts + skip, n - skip))
                return true;
        }
        parts = parts[n] ? parts + n + 1 : NULL;
    }
    return false;
}

/* Whether only Rust's compiler makes this name: "core::fmt::write::h0123456789abcdef", "<T as Trait>::f", "f::<u8>".
   Names without parameters are possible in C++ too, if a file omits them. */
static bool is_named_by_rust(hd_str s) {
    size_t hex = 0;
    if (str_begins(s, "__rust_") || str_begins(s, "__rdl_") || str_begins(s, "__rg_")) return true;
    if (str_begins(s, "<")) return !str_begins(s, "<lambda") && !str_begins(s, "<unnamed");
    while (hex < 16 && hex < s.len && isxdigit((unsigned char)s.data[s.len - 1 - hex])) hex++;
    if (hex == 16 && s.len > 19 && !memcmp(s.data + s.len - 19, "::h", 3)) return true;
    for (size_t i = 0; i + 3 < s.len; i++)
        if (!memcmp(s.data + i, "::<", 3)) {
            hd_str rest = { s.data + i + 2, s.len - i - 2 };
            return !str_begins(rest, "<lambda") && !str_begins(rest, "<unnamed");
        }
    return false;
}

/* Whether it is in Rust's own crates: by source path, or without one by a name that only Rust has. */
static bool is_of_rust(const hd_frame_parts *f) {
    if (f->file.len)
        return has_part(f->file, "/rustc/|/library/alloc/|/library/core/|/library/std/|/hashbrown/src/|/hashbrown-0|"
                                 "/library/rtstartup/") ||
               is_base_name(f->file, ".rs");
    return is_named_by_rust(f->function);
}

/* Without a source file, a name with a dot is Go's if it is the symbol of an object. */
static bool is_of_go(const hd_frame_parts *f) {
    if (!f->file.len) return f->object.len > 0;
    return has_part(f->file, "/src/runtime/") || str_begins(f->file, "runtime/") ||
           is_base_name(f->file, ".go");
}

static frame_role role_by(const hidden_rule *r, const hd_frame_parts *f) {
    if (r->flags & RESERVED || (r->flags & RUST && is_of_rust(f)) || (r->flags & GO && is_of_go(f)))
        return FRAME_HIDDEN;
    if (f->object.len && is_object(r->objects, f->object)) return FRAME_HIDDEN;
    if (f->file.len && has_part(f->file, r->files)) return FRAME_HIDDEN;
    if (f->object.len && !(r->flags & ANY_OBJECT) && (f->file.len || !(r->flags & ANY_UNSOURCED))) return FRAME_SHOWN;
    return r->flags & INNER ? FRAME_HIDDEN_INSIDE : r->flags & OUTER ? FRAME_HIDDEN_OUTSIDE : FRAME_SHOWN;
}

/* Whether it is an internal function of the C++ library, such as std::vector<>::_M_realloc_insert: its name begins
   with '_' in std:: or __gnu_cxx::, and it is a template or has libstdc++'s _M_ or _S_. */
static bool is_inside_std(hd_str name) {
    const char *last = name.data;
    hd_str own;
    if (!str_begins(name, "std::") && !str_begins(name, "__gnu_cxx::")) return false;
    for (size_t i = 0; i + 2 < name.len; i++)
        if (name.data[i] == ':' && name.data[i + 1] == ':') last = name.data + i + 2;
    own = (hd_str){ last, name.len - (size_t)(last - name.data) };
    return str_begins(own, "_M_") || str_begins(own, "_S_") ||
           (str_begins(own, "_") && memmem(name.data, name.len, "<>", 2));
}

frame_role frame_role_of(hd_str name, const char **which) {
    hd_frame_parts f = hd_frame_parse(name);
    FREED char *plain = plain_function(f.function);
    size_t n = strlen(plain), whole = f.function.len, behind = behind_return_type(plain);
    frame_role role = FRAME_SHOWN;
    const char *found = NULL, *open = memchr(f.function.data, '(', whole);
    if (open && open > f.function.data) whole = (size_t)(open - f.function.data);
    if (is_inside_std((hd_str){ plain + behind, n - behind })) role = FRAME_HIDDEN, found = "std::*::_*";
    for (size_t i = 0; i < sizeof hidden_rules / sizeof *hidden_rules && f.function.len; i++) {
        const hidden_rule *r = &hidden_rules[i];
        for (size_t k = 0; r->names[k] && role != FRAME_HIDDEN; k++) {
            const char *like = r->names[k];
            frame_role by;
            if (*like != '*' && *like != *plain && *like != *f.function.data) continue;
            if (!is_like(like, plain, n) && !is_like(like, f.function.data, whole)) continue;
            by = *like == '*' && !like[1] && !f.object.len ? FRAME_SHOWN : role_by(r, &f);
            if (by > role) role = by, found = like;
        }
    }
    if (which) *which = found;
    return role;
}

bool frame_is_hidden(void *user, hd_str name) {
    (void)user;
    return frame_role_of(name, NULL) != FRAME_SHOWN;
}

bool frame_is_library(hd_str name) {
    static const char *const rust[] = { "core::", "alloc::", "<alloc::", "<core::", "hashbrown::", "<hashbrown::" };
    static const char *const libc[] = { "__GI__", "_IO_", "__libc_", "call_init", "_dl_", "__interceptor_" };
    static const char *const unnamed[] = { "libc.so", "libstdc++.so", "libc++.so", "ld-linux" };
    hd_frame_parts f = hd_frame_parse(name);
    FREED char *plain = plain_function(f.function);
    hd_str called = hd_cstr(plain + behind_return_type(plain));
    bool is = str_begins(called, "std::") || str_begins(called, "__gnu_cxx::") || str_begins(f.function, "std::") ||
              (f.object.len && is_object(LIBC "|" LIBSTDCXX, f.object));
    for (size_t i = 0; i < sizeof rust / sizeof *rust; i++) is |= str_begins(f.function, rust[i]) && is_of_rust(&f);
    is |= f.file.len > 3 && !memcmp(f.file.data + f.file.len - 3, ".rs", 3) &&
          has_part(f.file, "/library/core/src/|/library/alloc/src/|/library/std/src/");
    for (size_t i = 0; i < sizeof libc / sizeof *libc; i++) is |= !f.object.len && str_begins(f.function, libc[i]);
    for (size_t i = 0; i < sizeof unnamed / sizeof *unnamed; i++) is |= str_begins(f.function, unnamed[i]);
    is |= str_begins(called, "v8::internal::") &&
          (f.object.len ? is_object(V8, f.object) : !f.file.len || has_part(f.file, "/v8/src/|/deps/v8/|/src/"));
    return is;
}

/* Nodes. --------------------------------------------------------------------------------------- */

/* The object that names a stack of hidden frames: the object of the innermost frame that is not an allocator, if any.
   */
static hd_str object_of_stack(hd_axis axis, uint32_t node) {
    hd_str innermost = { NULL, 0 };
    for (uint32_t i = node; i; i = axis.parent[i]) {
        hd_frame_parts f = hd_frame_parse(axis.node_name[i]);
        if (!f.object.len) continue;
        if (!innermost.len) innermost = f.object;
        if (frame_role_of(f.function, NULL) != FRAME_HIDDEN_INSIDE && !is_object(ALLOCATORS, f.object))
            return f.object;
    }
    return innermost;
}

static void name_own(hidden_frames *h, hd_axis axis, uint32_t node) {
    hd_str object;
    char *text;
    if (h->own[node].data) return;
    object = object_of_stack(axis, node);
    if (!object.len) return;
    if (asprintf(&text, "[%.*s]", (int)object.len, object.data) < 0) text = needed(NULL);
    h->own[node] = hd_cstr(text);
}

void hidden_frames_find(hidden_frames *h, hd_axis axis, const hd_rows *rows) {
    uint32_t n = axis.node_count;
    FREED uint8_t *role = needed(calloc(n, 1));
    FREED bool *inner = needed(malloc(n)), *outer = needed(calloc(n, 1));
    FREED bool *wholly = needed(calloc(n, 1)), *used = needed(calloc(n, 1));
    *h = (hidden_frames){ .count = n };
    h->is = needed(calloc(n, sizeof *h->is));
    h->pattern = needed(calloc(n, sizeof *h->pattern));
    h->own = needed(calloc(n, sizeof *h->own));
    memset(inner, 1, n);         /* every inner frame is hidden, so far */
    for (uint32_t i = 0; i < rows->count; i++) used[rows->node[(size_t)i * rows->axis_count]] = true;
    outer[0] = wholly[0] = true;
    for (uint32_t i = n; i-- > 1;) {
        used[axis.parent[i]] |= used[i];
        role[i] = (uint8_t)frame_role_of(axis.node_name[i], &h->pattern[i]);
        inner[i] &= role[i] == FRAME_HIDDEN || role[i] == FRAME_HIDDEN_INSIDE;
        if (!inner[i] && !hd_str_equal(axis.node_name[i], hd_cstr("<self>"))) inner[axis.parent[i]] = false;
    }
    for (uint32_t i = 1; i < n; i++) {
        uint32_t above = axis.parent[i];
        outer[i] = outer[above] && (role[i] == FRAME_HIDDEN || role[i] == FRAME_HIDDEN_OUTSIDE);
        h->is[i] = role[i] == FRAME_HIDDEN || (role[i] == FRAME_HIDDEN_INSIDE && inner[i]) ||
                   (role[i] == FRAME_HIDDEN_OUTSIDE && outer[i]);
        wholly[i] = h->is[i] && wholly[above];
        h->hidden += h->is[i] && used[i];
    }
    for (uint32_t i = 0; i < rows->count; i++) {
        uint32_t node = rows->node[(size_t)i * rows->axis_count];
        if (node && wholly[node]) name_own(h, axis, node);
    }
}

void hidden_frames_free(hidden_frames *h) {
    for (uint32_t i = 0; i < h->count; i++) free((char *)(uintptr_t)h->own[i].data);
    free(h->is), free(h->pattern), free(h->own);
}
