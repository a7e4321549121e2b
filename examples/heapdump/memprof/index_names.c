/* Names for the functions of indexed MemProf profiles, and their heaps. */

#include "memprof.h"

static int index_name_order(const void *a, const void *b) {
    const index_name *x = a, *y = b;
    return x->guid < y->guid ? -1 : x->guid > y->guid;
}

static index_name *index_find(const index_names *n, uint64_t guid) {
    index_name key = { .guid = guid };
    return n->count ? bsearch(&key, n->names, n->count, sizeof key, index_name_order) : NULL;
}

/* A symbols_name_fn. */
static bool index_take_name(void *user, const char *name) {
    index_name *found = index_find(user, hd_memprof_guid(hd_cstr(name)));
    if (!found || found->name.len) return false;
    found->name = hd_cstr(name);
    return true;
}

/* The number of callees of all call sites, as far as the file has callees. */
uint32_t index_callees(const hd_memprof_index *index) {
    return index->callee_first ? index->callee_first[index->site_count] : 0;
}

void index_names_make(const arguments *a, const hd_memprof_index *index, index_names *n) {
    size_t functions = (size_t)index->location_count + index->function_count, kept = 0;
    size_t callees = index_callees(index), all = functions + callees;
    *n = (index_names){ .index = index, .names = needed(calloc(all + 1, sizeof *n->names)) };
    for (uint32_t i = 0; i < index->location_count; i++) {
        n->names[i].guid = index->locations[i].function;
        n->names[i].name = index->locations[i].name;
    }
    for (uint32_t f = 0; f < index->function_count; f++)
        n->names[index->location_count + f].guid = index->function[f];
    for (size_t i = 0; i < callees; i++) n->names[functions + i].guid = index->callee[i];
    if (all) qsort(n->names, all, sizeof *n->names, index_name_order);
    for (size_t i = 0; i < all; i++) {
        if (!kept || n->names[kept - 1].guid != n->names[i].guid) n->names[kept++] = n->names[i];
        else if (!n->names[kept - 1].name.len) n->names[kept - 1].name = n->names[i].name;
    }
    n->count = kept;
    if (a->naming.opened) symbols_each_name(a->naming.opened, index_take_name, n);
    for (size_t i = 0; i < kept; i++) {
        index_name *name = &n->names[i];
        if (name->name.len) continue;
        snprintf(name->hex, sizeof name->hex, "0x%llx", (unsigned long long)name->guid);
        name->name = hd_cstr(name->hex);
    }
}

void index_names_free(index_names *n) {
    free(n->names);
    free(n->text);
}

/* The name as linked, or the GUID: "0x1f". */
hd_str index_name_of(void *user, uint64_t guid) { return index_find(user, guid)->name; }

/* The name for people: demangled, with file and line if these are known. */
hd_str index_text_of(index_names *n, hd_str name, hd_str file, uint32_t line_number) {
    FREED char *linked = needed(strndup(name.data, name.len));
    FREED char *path = file.len ? needed(strndup(file.data, file.len)) : NULL;
    free(n->text);
    n->text = symbols_text(linked, path, (int)line_number, (hd_str){ NULL, 0 });
    return hd_cstr(n->text);
}

/* An hd_memprof_symbolize_fn. */
static uint32_t index_shown(void *user, const hd_memprof_address *a, hd_memprof_frame *frames,
                            uint32_t capacity) {
    index_names *n = user;
    hd_memprof_namer namer = { .index = n->index, .name = index_name_of, .user = n };
    uint32_t count = hd_memprof_index_frame(&namer, a, frames, capacity < 1 ? capacity : 1);
    if (count) frames->function = index_text_of(n, frames->function, frames->file, frames->line);
    return count;
}

hd_status index_heap(const arguments *a, const hd_memprof_index *index, hd_heap *heap, bool *made,
                     hd_error *err) {
    hd_memprof_symbolizer by = { .symbolize = index_shown };
    hd_memprof *raw;
    index_names names;
    hd_status status = hd_memprof_index_raw(index, NULL, &raw, err);
    if (status) return status;
    index_names_make(a, index, &names);
    by.user = &names;
    status = memprof_view_heap(a, hd_memprof_part(raw, 0), by, heap, made, err);
    index_names_free(&names);
    hd_memprof_free(raw);
    return status;
}
