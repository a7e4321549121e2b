/* A malloc hook: this program has its own malloc on top of glibc's, and records all allocations of the program and
   its libraries. Prints the live blocks at the end. */

#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

static hd_recorder *recorder;    /* NULL at first: recording into it does nothing */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);

void *malloc(size_t size) {
    void *block = __libc_malloc(size);
    hd_record_alloc(recorder, block, size, NULL);
    return block;
}

void *calloc(size_t count, size_t size) {
    void *block = __libc_calloc(count, size);
    hd_record_alloc(recorder, block, count * size, NULL);
    return block;
}

/* During the move the old block still counts, although another thread may get its address. */
void *realloc(void *block, size_t size) {
    hd_resize resize;
    void *moved;
    hd_record_resize(recorder, block, &resize);
    moved = __libc_realloc(block, size);
    if (moved || !size) hd_record_resized(recorder, &resize, moved, size, NULL);
    else hd_record_not_resized(recorder, &resize);
    return moved;
}

void free(void *block) {
    hd_record_free(recorder, block);
    __libc_free(block);
}

static char *read_words(void) {
    HD_SCOPE("example", "ReadWords");
    return strdup("libraries allocate too: strdup, for instance"); /* libraries allocate, too, for example strdup */
}

static void *grow(void) {
    HD_SCOPE("example", "Grow");
    void *block = malloc(100);
    return block ? realloc(block, 100000) : NULL;
}

int main(void) {
    hd_error err;
    hd_profile *profile = NULL;
    hd_heap heap = { .allocator = "malloc" };
    hd_status status;
    char *words;
    void *grown;
    recorder = hd_recorder_create(NULL, &err);
    words = read_words();
    grown = grow();
    free(calloc(1000, 8));
    status = recorder ? hd_recorder_snapshot(recorder, NULL, &profile, &err) : err.status;
    heap.profile = profile;
    if (!status) status = hd_print_tree(&heap, NULL, hd_out_file(stdout), &err);
    if (status) fprintf(stderr, "%s\n", err.message);
    hd_profile_free(profile);
    free(words);
    free(grown);
    return status != HD_OK || fflush(stdout);  /* the recorder stays: libraries free blocks until the end */
}
