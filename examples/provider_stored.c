/* An allocator that stores a context in each of its blocks, and can enumerate them, needs no register. Here it is an
   intrusive list of blocks. provider_stored > stored.json */

#include <stdlib.h>

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

typedef struct block {
    struct block *next, *previous;
    size_t size;
    uint32_t context;            /* its call stack and type */
} block;

static block blocks = { &blocks, &blocks, 0, 0 };
static hd_contexts *contexts;

static void *pool_alloc(size_t size, const char *type) {
    block *b = (block *)malloc(sizeof *b + size);
    if (!b) return NULL;
    b->size = size;
    b->context = hd_tracker_snapshot(type);
    b->next = blocks.next;
    b->previous = &blocks;
    b->next->previous = b->previous->next = b;
    return b + 1;
}

static void pool_free(void *p) {
    block *b = (block *)p - 1;
    b->next->previous = b->previous;
    b->previous->next = b->next;
    free(b);
}

static bool on_memory_dump(void *user, hd_detail detail, hd_memory_dump *dump) {
    uint32_t count = hd_contexts_count(contexts);
    uint64_t *bytes = (uint64_t *)calloc(count, 2 * sizeof *bytes), *number = bytes + count, size = 0, n = 0;
    hd_heap heap = { .allocator = "pool" };
    hd_profile *profile = NULL;
    (void)user;
    if (!bytes) return false;
    for (const block *b = blocks.next; b != &blocks; b = b->next, n++) {
        bytes[b->context] += b->size;
        number[b->context]++;
        size += b->size;
    }
    hd_memory_dump_add_scalar(dump, "pool", "size", "bytes", size, NULL);
    hd_memory_dump_add_scalar(dump, "pool", "object_count", "objects", n, NULL);
    if (detail == HD_DETAILED && !hd_contexts_profile(contexts, bytes, number, count, NULL, &profile, NULL)) {
        heap.profile = profile;
        hd_memory_dump_add_heap(dump, &heap, NULL);
    }
    hd_profile_free(profile);
    free(bytes);
    return true;
}

int main(void) {
    hd_memory_dump_provider pool = { "pool", on_memory_dump, NULL, NULL };
    /* A dump every 10 ms, every second one detailed. */
    hd_memory_dump_manager_desc d = { .out = hd_out_file(stdout), .period_us = 10000, .detailed_every = 2 };
    hd_memory_dump_manager *manager = hd_memory_dump_manager_create(&d, NULL);
    hd_tracker_desc tracker = { .contexts = contexts = hd_contexts_create(NULL) };
    bool ok = manager && contexts && !hd_tracker_start(&tracker, NULL) &&
              !hd_memory_dump_manager_register(manager, &pool, NULL);
    for (uint64_t ms = 0; ok && ms < 50; ms++) {   /* the program's own loop, with its own clock */
        HD_SCOPE("pool", "Frame");
        void *p = pool_alloc(100, "Particle");
        if (ms % 3 == 0) pool_free(p);
        ok = !hd_memory_dump_manager_tick(manager, 1000 * ms, NULL);
    }
    ok = ok && !hd_memory_dump_manager_finish(manager, NULL);
    while (blocks.next != &blocks) pool_free(blocks.next + 1);
    hd_tracker_stop();
    hd_memory_dump_manager_free(manager);
    hd_contexts_free(contexts);
    return !ok;
}
