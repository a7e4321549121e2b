/* Scopes with names known only at run time, as in an interpreter, by the calls behind HD_SCOPE; categories; and types
   set after the allocation. */

#include <inttypes.h>

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

static hd_recorder *recorder;
static char memory[1000];        /* memory of the recorded allocator */
static hd_category script = { "script", 0, 0 }, debugger = { "disabled-by-default-debugger", 0, 0 };

/* Runs a function of the script. Names must stay valid as long as the contexts. */
static void call(const char *const *names, size_t size) {
    hd_scope scope = hd_scope_begin(&script, names[0]), inner = hd_scope_begin(&debugger, "Step");
    void *object = memory + size;
    hd_record_alloc(recorder, object, size, NULL);
    if (names[1]) call(names + 1, size + 10);
    hd_record_set_type(recorder, object, size > 10 ? "Table" : "String"); /* its call stack stays */
    if (!names[1]) fprintf(stderr, "%" PRIu32 " scopes at %s\n", hd_tracker_depth(), names[0]);
    hd_scope_end(&inner);
    hd_scope_end(&scope);        /* also ends inner scopes that were not ended */
}

int main(void) {
    static const char *const names[] = { "main.lua", "update", "spawn", NULL }, *const off[] = { "quiet", NULL };
    hd_error err;
    hd_contexts *contexts = hd_contexts_create(&err);
    hd_tracker_desc tracker = { .contexts = contexts, .categories = "script" };
    hd_profile *profile = NULL;
    hd_heap heap = { .allocator = "script" };
    uint32_t context = 0;
    hd_status status = contexts ? hd_tracker_start(&tracker, &err) : err.status;
    if (!status) recorder = hd_recorder_create(NULL, &err); /* joins the running tracker */
    call(names, 10);
    hd_tracker_set_heap_profiling(false);                   /* scopes now cost one load each */
    call(off, 40);
    hd_tracker_set_heap_profiling(true);
    hd_tracker_set_recording(true);
    if (!status) status = hd_tracker_set_categories("script,disabled-by-default-debugger");
    call(names + 2, 50);
    /* Makes a context by hand: a frame at the root, and a type below it. */
    if (!status) status = hd_contexts_child(contexts, 0, HD_FRAME_NAME, "by hand", &context);
    if (!status) status = hd_contexts_child(contexts, context, HD_FRAME_TYPE, "Texture", &context);
    fprintf(stderr, "the tracker is %s; contexts take %s\n", hd_tracker_running() ? "running" : "stopped",
            hd_contexts_memory(contexts) < 1 << 20 ? "less than a megabyte" : "more");
    if (!status) status = hd_recorder_snapshot(recorder, NULL, &profile, &err);
    heap.profile = profile;
    if (!status) status = hd_print_tree(&heap, NULL, hd_out_file(stdout), &err);
    if (status) fprintf(stderr, "%s\n", hd_status_text(status));
    hd_profile_free(profile);
    hd_recorder_free(recorder);
    hd_tracker_stop();
    hd_contexts_free(contexts);
    return status != HD_OK || fflush(stdout);
}
