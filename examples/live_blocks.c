/* Records a pool, and asks the recorder about it: counters, the largest live block, and how full its pages are. The
   recorder takes its memory from pages of the OS, not from malloc. */

#include <inttypes.h>

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

enum { PAGE = 4096, PAGES = 8 };

static char memory[(PAGES + 1) * PAGE];
static hd_recorder *recorder;

/* Allocates from the pool, which is never full here. */
static char *take(size_t size, const char *type) {
    static char *at;
    char *block;
    if (!at) at = memory + (PAGE - (uintptr_t)memory % PAGE);
    block = at;
    at += (size + 15) / 16 * 16;
    hd_record_alloc(recorder, block, size, type);
    return block;
}

static void keep_largest(void *user, const hd_allocation *live) {
    hd_allocation *largest = (hd_allocation *)user;
    if (live->size > largest->size) *largest = *live;
}

static void print_largest(void) {
    hd_allocation largest = { 0, 0, 0, 0 };
    hd_frame frame;
    hd_recorder_visit(recorder, keep_largest, &largest);
    frame = hd_contexts_frame(hd_recorder_contexts(recorder), largest.context);
    printf("the largest live block: %" PRIu64 " bytes of %s\n", largest.size,
           frame.kind == HD_FRAME_TYPE ? (const char *)frame.value : "no type");
}

static hd_status print_pages(hd_error *err) {
    hd_pages_options options = { .page_bytes = PAGE };
    hd_pages *pages;
    hd_pages_summary total;
    hd_status status;
    options.options.allocator = hd_page_allocator();
    status = hd_recorder_pages(recorder, &options, &pages, err);
    if (status) return status;
    total = hd_pages_total(pages);
    printf("%" PRIu64 " pages hold %" PRIu64 " bytes; %" PRIu64 " are less than a tenth full\n", total.pages,
           total.used, total.tenths[0]);
    for (size_t i = 0; i < hd_pages_count(pages); i++) {
        hd_page_use use = hd_pages_use(pages, i);
        printf("  %" PRIu64 " bytes on %" PRIu64 " pages, %" PRIu64 " of them alone\n", use.bytes, use.pages, use.alone);
    }
    hd_pages_free(pages);
    return HD_OK;
}

int main(void) {
    hd_recorder_counters counters;
    hd_error err;
    hd_status status;
    char *meshes[PAGES];
    recorder = hd_recorder_create(NULL, &err);
    for (int i = 0; i < PAGES; i++) {
        meshes[i] = take(3000, "Mesh");
        take(96, "Name");        /* small and kept: they keep the pages of freed meshes resident */
    }
    for (int i = 1; i < PAGES; i++) hd_record_free(recorder, meshes[i]);
    hd_recorder_stats(recorder, &counters);
    printf("%" PRIu64 " blocks live, of %" PRIu64 "; %" PRIu64 " bytes live, %" PRIu64 " at the peak\n",
           counters.live_blocks, counters.total_blocks, hd_recorder_live_bytes(recorder),
           hd_recorder_peak_bytes(recorder));
    print_largest();
    status = print_pages(&err);
    if (status) fprintf(stderr, "%s\n", err.message);
    hd_recorder_free(recorder);
    return status != HD_OK || fflush(stdout);
}
