/* Resolves frames that are addresses to functions, in heaps that were read. */

#include "heaps.h"

/* Replaces the names of allocator functions. */
static const char allocator_frame[] = "\x01 allocator";

/* Whether a frame is in the library of an allocator. */
static bool is_allocator_object(hd_str frame) {
    hd_str file = frame;
    const char *slash;
    if (!memrchr(frame.data, '+', frame.len)) return false;
    slash = memrchr(frame.data, '/', frame.len);
    if (slash) file.data = slash + 1, file.len -= (size_t)(slash + 1 - frame.data);
    return str_begins(file, "libjemalloc") || str_begins(file, "libtcmalloc");
}

/* malloc and its like, also as jemalloc prefixes them: "operator new(unsigned long) (new_op.cc:50)". */
static bool is_allocator_function(hd_str name) {
    static const char *const functions[] = {
        "malloc", "calloc", "realloc", "aligned_alloc", "memalign", "posix_memalign", "valloc", "pvalloc", "mallocx",
        "rallocx", "operator new", "operator new[]", "tc_malloc", "tc_calloc", "tc_realloc", "tc_memalign", "tc_new",
        "tc_newarray", "tc_posix_memalign", "do_malloc", "DoSampledAllocation"
    };
    static const char *const prefixes[] = { "__libc_", "_rjem_", "je_" };
    const char *end;
    name = hd_frame_parse(name).function;
    end = memchr(name.data, '(', name.len);
    if (end) name.len = (size_t)(end - name.data);
    while (name.len && name.data[name.len - 1] == ' ') name.len--;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (!str_begins(name, prefixes[i])) continue;
        name.data += strlen(prefixes[i]);
        name.len -= strlen(prefixes[i]);
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (hd_str_equal(name, hd_cstr(functions[i]))) return true;
    return str_begins(name, "tcmalloc::");
}

/* An hd_rename_fn: as symbols_rename, but ends at the first function of the allocator. */
static uint32_t rename_outside(void *user, hd_str name, hd_str *path) {
    uint32_t n = symbols_rename(user, name, path);
    if (is_allocator_object(name)) return path[0] = hd_cstr(allocator_frame), 1;
    for (uint32_t i = 0; i < n; i++)
        if (is_allocator_function(path[i])) return path[i] = hd_cstr(allocator_frame), i + 1;
    return n;
}

/* Copies a profile without the allocator's functions and the frames below them. */
static hd_status cut_allocator(const hd_profile *from, hd_profile **out, hd_error *err) {
    hd_axis axis = hd_profile_axis(from, HD_AXIS_BACKTRACE);
    FREED bool *within = needed(calloc(axis.node_count, sizeof *within));
    for (uint32_t i = 1; i < axis.node_count; i++)
        within[i] = within[axis.parent[i]] || hd_str_equal(axis.node_name[i], hd_cstr(allocator_frame));
    return without_nodes(from, within, out, err);
}

/* Resolves addresses to functions. Cuts the allocator's functions, unless --keep-runtime is given. */
hd_status name_profile(const arguments *a, symbols *names, const hd_profile *profile, hd_profile **out,
                       hd_error *err) {
    hd_rename_fn rename_fn = a->naming.keep_runtime ? symbols_rename : rename_outside;
    hd_profile *whole;
    hd_status status;
    symbols_prepare(names, hd_profile_axis(profile, HD_AXIS_BACKTRACE));
    status = hd_profile_rename(profile, HD_AXIS_BACKTRACE, rename_fn, names, NULL, &whole, err);
    if (status) return status;
    if (a->naming.keep_runtime) return *out = whole, HD_OK;
    status = cut_allocator(whole, out, err);
    hd_profile_free(whole);
    return status;
}
