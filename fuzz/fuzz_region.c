/* Damaged regions: a small region with two recorders, in which the input replaces words (pairs of offset and value).
   Viewing it must end, and read nothing beyond the region. */
#include "../tests/private.h"
#include <sys/mman.h>

enum { BYTES = 512 << 10 };

static size_t unwind(void *user, const void **pcs, size_t capacity) {
    static uintptr_t pc = 0x1000;
    (void)user;
    for (size_t i = 0; i < 3 && i < capacity; i++) pcs[i] = (const void *)(pc + 16 * i);
    pc += 16;
    return capacity < 3 ? capacity : 3;
}

static uint32_t clock_of(void *user) {
    (void)user;
    return 7;
}

static void record_into(void *region, bool lifetimes) {
    hd_recorder_desc desc = { .region = region, .region_bytes = BYTES, .name = "fuzzed", .lifetimes = lifetimes,
                              .clock = clock_of, .shards = 2, .sample_bytes = lifetimes ? 0 : 64,
                              .ages = true, .threads = !lifetimes };
    hd_module module = { 0x1000, 0x2000, 0x1000, hd_cstr("/bin/fuzzed"), { 1, 2 }, 2, false };
    hd_allocator_stat stat = { "malloc/arenas", "size", "bytes", 100 };
    hd_recorder *rec;
    desc.tracker.capture = HD_CAPTURE_NATIVE_STACK;
    desc.tracker.unwind = unwind;
    rec = hd_recorder_create(&desc, NULL);
    hd_recorder_add_module(rec, &module);
    hd_recorder_allocator_stats(rec, &stat, 1);
    hd_tracker_set_thread("worker");
    for (uintptr_t i = 1; i < 40; i++) {
        hd_record_alloc(rec, (void *)(64 * i), i * 100, i % 3 ? "T" : NULL);
        if (i % 4 == 0) hd_record_free(rec, (void *)(64 * i));
    }
    if (lifetimes) {                 /* a child of the recorder */
        hd_recorder_fork_prepare(rec);
        hd_recorder_fork_child(rec);
        hd_record_alloc(rec, (void *)64, 1, NULL);
    }
    hd_recorder_free(rec);
}

/* the region as recorded, and a copy with nothing mapped behind it */
static uint8_t *whole, *copy;

static void make_regions(void) {
    if (whole) return;
    whole = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    copy = mmap(NULL, BYTES + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(copy + BYTES, 4096, PROT_NONE);
    hd_region_init(whole, BYTES, NULL);
    record_into(whole, true);
    record_into(whole, false);
    memcpy(copy, whole, BYTES);
}

static void count(void *user, const hd_module *module, bool loaded) {
    (void)loaded;
    *(uint64_t *)user += module->path.len + module->build_id_size;
}

static void sum(void *user, const hd_lifetimes *of, const uint64_t *pcs, size_t n) {
    *(uint64_t *)user += of->count;
    for (size_t i = 0; i < n; i++) *(uint64_t *)user += pcs[i];
}

static void add(void *user, uint32_t context, const uint32_t *nodes) { *(uint64_t *)user += context + nodes[0] + nodes[1]; }
static void add_page(void *user, uint64_t address) { *(uint64_t *)user += address; }

static void add_stat(void *user, const hd_allocator_stat *s) {
    *(uint64_t *)user += strlen(s->allocator) + strlen(s->name) + (s->units ? strlen(s->units) : 0) + s->value;
}

static void look(uint32_t number) {
    hd_options options = { .limits = { .max_memory = 4 << 20, .max_records = 100000 } };
    hd_recorded recorded;
    hd_pages *pages;
    hd_profile *names;
    uint64_t any = 0;
    if (hd_recorder_view(copy, BYTES, number, &recorded, NULL)) return;
    for (int kind = HD_HEAP_LIVE; kind <= HD_HEAP_TEMPORARY; kind++) {
        hd_snapshot_options snapshot = { .options = options, .kind = (hd_heap_kind)kind };
        hd_profile *p;
        if (!hd_recorder_view_snapshot(copy, BYTES, number, &snapshot, &p, NULL)) hd_profile_free(p);
    }
    hd_recorder_view_block_pages(copy, BYTES, number, add_page, &any, NULL);
    hd_recorder_view_allocator_stats(copy, BYTES, number, add_stat, &any, NULL);
    hd_recorder_view_modules(copy, BYTES, number, count, &any, NULL);
    hd_recorder_view_lifetimes(copy, BYTES, number, 9, &options, sum, &any, NULL);
    if (!hd_recorder_view_pages(copy, BYTES, number, &(hd_pages_options){ .options = options }, &pages, NULL))
        hd_pages_free(pages);
    if (!hd_recorder_view_contexts(copy, BYTES, number, &(hd_snapshot_options){ .options = options }, add, &any, &names, NULL))
        hd_profile_free(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint32_t n;
    make_regions();
    for (size_t at = 0; at + 11 <= size; at += 11) {
        size_t where = (data[at] | (size_t)data[at + 1] << 8 | (size_t)data[at + 2] << 16) * 8 % BYTES;
        memcpy(copy + where, data + at + 3, 8);
    }
    n = hd_region_count(copy, BYTES);
    hd_region_used(copy, BYTES);
    for (uint32_t i = 0; i < n && i < 6; i++) look(i);
    for (size_t at = 0; at + 11 <= size; at += 11) {
        size_t where = (data[at] | (size_t)data[at + 1] << 8 | (size_t)data[at + 2] << 16) * 8 % BYTES;
        memcpy(copy + where, whole + where, 8);
    }
    return 0;
}
