/* The FooDumpProvider of Chromium's document on its heap profiler: an allocator with a memory dump provider gets heap
   dumps from its own register. provider_foo > foo.json */

#include <pthread.h>
#include <stdlib.h>
#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

/* A register reserves much address space, so it exists only while heap profiling is enabled. */
static hd_register *allocation_register;
static pthread_mutex_t allocation_register_lock = PTHREAD_MUTEX_INITIALIZER;
static hd_contexts *contexts;

static void insert_allocation(void *address, size_t size, const char *type) {
    hd_allocation allocation = { (uintptr_t)address, size, hd_tracker_snapshot(type), 0 };
    pthread_mutex_lock(&allocation_register_lock);
    if (allocation_register) hd_register_insert(allocation_register, &allocation, NULL);
    pthread_mutex_unlock(&allocation_register_lock);
}

static void remove_allocation(void *address) {
    pthread_mutex_lock(&allocation_register_lock);
    if (allocation_register) hd_register_remove(allocation_register, (uintptr_t)address, NULL);
    pthread_mutex_unlock(&allocation_register_lock);
}

/* Called as early as possible by the memory dump manager. */
static void on_heap_profiling_enabled(void *user, bool enabled) {
    (void)user;
    pthread_mutex_lock(&allocation_register_lock);
    hd_register_free(allocation_register);
    allocation_register = enabled ? hd_register_create(NULL) : NULL;
    pthread_mutex_unlock(&allocation_register_lock);
}

static bool on_memory_dump(void *user, hd_detail detail, hd_memory_dump *dump) {
    hd_memory_dump_add_scalar(dump, "foo_allocator", "size", "bytes", *(const size_t *)user, NULL);
    if (detail == HD_DETAILED) {
        hd_heap heap = { .allocator = "foo_allocator" };
        hd_profile *profile = NULL;
        pthread_mutex_lock(&allocation_register_lock);
        uint32_t count = hd_contexts_count(contexts);
        uint64_t *bytes_by_context = (uint64_t *)calloc(count, sizeof *bytes_by_context);
        if (allocation_register && bytes_by_context) {
            /* Only group allocations by context while the lock is held. */
            hd_cursor cursor = { 0, 0 };
            hd_allocation a;
            while (hd_register_next(allocation_register, &cursor, &a)) bytes_by_context[a.context] += a.size;
            hd_memory_dump_add_overhead(dump, hd_register_memory(allocation_register), NULL);
        }
        pthread_mutex_unlock(&allocation_register_lock);
        if (bytes_by_context)
            hd_contexts_profile(contexts, bytes_by_context, NULL, count, NULL, &profile, NULL);
        heap.profile = profile;
        if (profile) hd_memory_dump_add_heap(dump, &heap, NULL);
        hd_profile_free(profile);
        free(bytes_by_context);
    }
    return true;
}

int main(void) {
    static char foo_memory[3000];
    size_t foo_bytes = 2000;
    hd_memory_dump_provider foo = { "foo", on_memory_dump, on_heap_profiling_enabled, &foo_bytes };
    hd_memory_dump_manager_desc desc = { .out = hd_out_file(stdout), .process = "foo" };
    hd_memory_dump_manager *manager = hd_memory_dump_manager_create(&desc, NULL);
    hd_tracker_desc tracker = { .contexts = contexts = hd_contexts_create(NULL) };
    if (!manager || hd_tracker_start(&tracker, NULL)) return 1;
    hd_memory_dump_manager_set_heap_profiling(manager, true, NULL);
    hd_memory_dump_manager_register(manager, &foo, NULL);
    HD_SCOPE("foo", "Load");                       /* foo_alloc and foo_free would do this: */
    for (int i = 0; i < 3; i++) insert_allocation(foo_memory + 1000 * i, 1000, i ? "Vertex" : "Image");
    remove_allocation(foo_memory);
    bool failed = hd_memory_dump_manager_dump(manager, HD_DETAILED, 1000, NULL) ||
                  hd_memory_dump_manager_finish(manager, NULL);
    hd_memory_dump_manager_free(manager);
    return failed;               /* the rest stays while the program runs */
}
