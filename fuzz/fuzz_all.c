/* Any input that hd_read accepts. Every analysis and every writer runs on it, and the written file must read back as
   equal. Then the same runs again with one failing allocation at a time: each call must report it, and nothing may
   leak. */
#include "../tests/private.h"
#include "../tests/faults.h"
#include "pieces.h"
#include "../examples/heapdump/formats/formats.h"

typedef struct run {
    hd__faults faults;
    hd_options options;
    uint32_t seen;               /* statuses of the run without failures, one bit each */
    bool clean;                  /* this is the run without failures */
} run;

/* Whether a call succeeded. A failure must also occur without failing allocations, or be HD_OUT_OF_MEMORY. */
static bool went(run *r, hd_status status) {
    if (r->clean) r->seen |= 1u << status;
    CHECK(r->clean ? status != HD_OUT_OF_MEMORY : status == HD_OUT_OF_MEMORY || r->seen >> status & 1);
    return !status;
}

static hd_buffer nothing(run *r) { return (hd_buffer){ .allocator = r->options.allocator }; }
static hd_status ignore(void *user, const void *data, size_t size) { return (void)user, (void)data, (void)size, HD_OK; }
static hd_out nowhere(void) { return hd_out_callback(ignore, NULL); }
static bool is_even(void *user, hd_str name) { return (void)user, name.len % 2 == 0; }

/* The written file must be a dump that strict reading accepts. */
static hd_dump *reread(run *r, const hd_buffer *bytes) {
    hd_options strict = r->options;
    hd_dump *dump = NULL;
    strict.lenient = false;
    if (!bytes->size) return NULL;   /* lenient reading kept nothing */
    hd_status status = hd_read_memory(bytes->data, bytes->size, &strict, &dump, NULL);
    CHECK(!status || (!r->clean && status == HD_OUT_OF_MEMORY) || status == HD_LIMIT);
    return dump;
}

/* Heaps: only small ones, since some operations multiply their size. ---------------------------------- */

static uint32_t axis_count(const hd_heap *h) {
    return h->profile ? hd_profile_axis_count(h->profile) : h->breakdown->entries.axis_count;
}

static void derive(run *r, const hd_heap *h, uint32_t axis) {
    hd_heap made;
    hd_profile *flat;
    for (int keep = 0; keep < 2; keep++)
        if (went(r, hd_filter(h, axis, is_even, NULL, keep, &r->options, &made, NULL))) hd_heap_release(&made);
    if (went(r, hd_reroot(h, axis, is_even, NULL, &r->options, &made, NULL))) hd_heap_release(&made);
    if (went(r, hd_hide(h, axis, is_even, NULL, &r->options, &made, NULL))) hd_heap_release(&made);
    if (went(r, hd_invert(h, axis, &r->options, &made, NULL))) hd_heap_release(&made);
    went(r, hd_print_top(h, &(hd_top_options){ .axis = axis, .options = r->options }, nowhere(), NULL));
    if (h->breakdown && went(r, hd_breakdown_axis_profile(h->breakdown, axis, &r->options, &flat, NULL))) hd_profile_free(flat);
}

static void condense(run *r, const hd_heap *h) {
    static const hd_cutoff cutoffs[] = { { 0 }, { .min_share = 0.01 }, { .top = 3 }, { .max_entries = 5 }, { .max_output_bytes = 300 } };
    for (size_t i = 0; i < sizeof cutoffs / sizeof *cutoffs; i++) {
        hd_breakdown *b;
        if (!went(r, hd_heap_break_down(h, &cutoffs[i], &r->options, &b, NULL))) continue;
        CHECK(!cutoffs[i].max_entries || b->entries.count <= cutoffs[i].max_entries);
        hd_breakdown_free(b);
        went(r, hd_print_tree(h, &(hd_tree_options){ .cutoff = cutoffs[i], .options = r->options }, nowhere(), NULL));
    }
}

static void compare(run *r, const hd_heap *a, const hd_heap *b) {
    hd_heap two[2] = { *a, *b }, sum;
    hd_diff *d;
    if (went(r, hd_merge(two, 2, &r->options, &sum, NULL))) hd_heap_release(&sum);
    went(r, hd_print_diff(a, b, &(hd_tree_options){ .options = r->options }, nowhere(), NULL));
    if (went(r, hd_compare(a, a, NULL, &r->options, &d, NULL))) {
        CHECK(d->before.count == 1);     /* compared with itself: only the total */
        hd_diff_free(d);
    }
}

static uint64_t total(const hd_heap *h, size_t n) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) sum += h[i].profile ? hd_profile_bytes(h[i].profile) : h[i].breakdown->entries.amount[0].bytes;
    return sum;
}

static void write_trace(run *r, const hd_heap *heaps, size_t n, bool of_a_trace) {
    hd_buffer bytes = nothing(r);
    if (went(r, hd_chrome_write(heaps, n, &r->options, hd_out_memory(&bytes), NULL))) {
        hd_dump *again = reread(r, &bytes);
        if (again) CHECK(total(heaps, n) == total(hd_dump_heap(again, 0), hd_dump_heap_count(again)));
        if (again && r->clean && of_a_trace && heaps_are_ascii(heaps, n))
            CHECK(heaps_digest(heaps, n) == heaps_digest(hd_dump_heap(again, 0), hd_dump_heap_count(again)));
        hd_dump_free(again);
    }
    hd_buffer_free(&bytes);
}

static hd_status pass_over(void *user, const hd_fact *fact) { return (void)user, fact->name ? HD_OK : HD_INVALID; }

static void write_profile(run *r, const hd_dump *dump, const hd_heap *h) {
    hd_options options = r->options;
    hd_buffer bytes = nothing(r);
    hd_places *places = hd_places_create(&options, NULL);
    CHECK(places || !r->clean);
    if (places && went(r, hd_dump_places(dump, places, NULL))) options.places = places;
    if (went(r, hd_pprof_write(h, 1, &options, hd_out_memory(&bytes), NULL))) {
        hd_dump *again = reread(r, &bytes);
        if (again && h->profile) CHECK(total(h, 1) == total(hd_dump_heap(again, 0), hd_dump_heap_count(again)));
        hd_dump_free(again);
    }
    hd_buffer_free(&bytes);
    hd_places_free(places);
}

/* Writes with the command's own writers. */
static void write_others(run *r, const hd_heap *heaps, size_t n) {
    for (size_t i = 0; i < tool_format_count; i++)
        if (tool_formats[i].write_heaps) went(r, tool_formats[i].write_heaps(heaps, n, &r->options, nowhere(), NULL));
}

static void ask_heaps(run *r, const hd_dump *dump) {
    size_t n = hd_dump_heap_count(dump);
    const hd_heap *heaps = hd_dump_heap(dump, 0);
    went(r, hd_dump_facts(dump, pass_over, NULL, NULL));
    for (size_t i = 0; i < n && i < 4; i++) {
        const hd_heap *h = &heaps[i];
        if ((h->profile ? hd_profile_cells(h->profile) : h->breakdown->entries).count > 1000) continue;
        for (uint32_t axis = 0; axis < axis_count(h); axis++) derive(r, h, axis);
        condense(r, h);
        write_profile(r, dump, h);
        compare(r, h, &heaps[(i + 1) % n]);
    }
    if (n) write_others(r, heaps, n);
    if (n) write_trace(r, heaps, n, !strcmp(hd_dump_format(dump)->name, "chrome"));
}

/* Objects. -------------------------------------------------------------------------------------------- */

static void walk_paths(run *r, const hd_graph *g) {
    uint32_t n = hd_graph_object_count(g), last = n - 1;
    hd_paths *paths;
    hd_links *links;
    hd_total total = { 0, 0 };
    if (!n) return;
    if (went(r, hd_graph_paths(g, last, 3, &r->options, &paths, NULL))) hd_paths_free(paths);
    if (went(r, hd_graph_referrers(g, &r->options, &links, NULL))) hd_links_free(links);
    if (went(r, hd_graph_retained(g, &last, 1, &r->options, &total, NULL))) CHECK(total.objects <= n);
}

static void dominate(run *r, const hd_graph *g) {
    hd_dominators *d;
    hd_histogram *h;
    hd_breakdown *b;
    hd_total alive = { 0, 0 };
    if (!went(r, hd_graph_dominators(g, &r->options, &d, NULL))) return;
    if (went(r, hd_graph_reach(g, NULL, 0, &r->options, NULL, &alive, NULL))) CHECK(alive.bytes == d->bytes);
    if (went(r, hd_graph_histogram(g, d, &r->options, &h, NULL))) {
        for (uint32_t i = 0; i < h->count; i++) CHECK(h->rows[i].live_bytes <= h->rows[i].bytes);
        hd_histogram_free(h);
    }
    if (went(r, hd_dominator_tree(g, d, &(hd_dominator_options){ .cutoff.max_entries = 50, .options = r->options }, &b, NULL))) {
        hd_heap heap = { .breakdown = b };
        CHECK(b->entries.amount[0].bytes == d->bytes);
        went(r, hd_print_tree(&heap, NULL, nowhere(), NULL));
        hd_breakdown_free(b);
    }
    hd_dominators_free(d);
}

static void same_objects(run *r, hd_total kept, hd_status status, hd_buffer *bytes, uint64_t more) {
    if (went(r, status)) {
        hd_dump *again = reread(r, bytes);
        if (again) {
            hd_graph_summary s = hd_graph_summarize(hd_dump_graph(again));
            CHECK(kept.objects + more == s.objects && kept.bytes == s.bytes);
        }
        hd_dump_free(again);
    }
    hd_buffer_free(bytes);
}

/* Counts reachable objects. A V8 snapshot contains them even without a record, unless the object is a sentinel. */
static bool alive(run *r, const hd_graph *g, bool has_sentinel, hd_total *total) {
    uint32_t n = hd_graph_object_count(g);
    uint8_t *reached = malloc(n + 1);
    bool ok;
    CHECK(reached);
    ok = went(r, hd_graph_reach(g, NULL, 0, &r->options, reached, total, NULL));
    total->objects = 0;
    for (uint32_t o = 0; ok && o < n; o++) total->objects += reached[o] && (hd_graph_object(g, o).class_index || !has_sentinel);
    free(reached);
    return ok;
}

static void ask_graph(run *r, const hd_graph *g, hd_values values, bool is_dart) {
    hd_graph_change *change;
    hd_buffer text = nothing(r), snapshot = nothing(r), v8 = nothing(r);
    hd_graph_summary s = hd_graph_summarize(g);
    hd_total all = { s.objects, s.bytes }, live;
    hd_options with_values = r->options;
    with_values.values = &values;
    CHECK(!hd_graph_validate(g, NULL));
    dominate(r, g);
    walk_paths(r, g);
    if (went(r, hd_graph_diff(g, g, NULL, &r->options, &change, NULL))) {
        for (uint32_t i = 0; i < change->count; i++) CHECK(change->rows[i].bytes[0] == change->rows[i].bytes[1]);
        hd_graph_change_free(change);
    }
    same_objects(r, all, hd_netcf_write_graph(g, NULL, &r->options, hd_out_memory(&text), NULL), &text, 0);
    same_objects(r, all, hd_dart_write_graph(g, hd_cstr("x"), &with_values, hd_out_memory(&snapshot), NULL), &snapshot, 1);
    if (alive(r, g, is_dart, &live)) same_objects(r, live, hd_v8_write_graph(g, &r->options, hd_out_memory(&v8), NULL), &v8, 2);
}

/* Documents: written, and read again. ------------------------------------------------------------------ */

static void same_bytes(run *r, hd_status status, hd_buffer *bytes) {
    if (went(r, status)) {
        hd_buffer again = nothing(r);
        hd_dump *d = reread(r, bytes);
        status = HD_OUT_OF_MEMORY;
        if (d) status = hd_dump_write(d, NULL, hd_out_memory(&again), NULL);
        CHECK(!status || !r->clean || !d);
        if (!status) CHECK(again.size == bytes->size && !memcmp(again.data, bytes->data, again.size));
        hd_dump_free(d);
        hd_buffer_free(&again);
    }
    hd_buffer_free(bytes);
}

static void write_index(run *r, const hd_memprof_index *x) {
    for (int layout = HD_MEMPROF_LLVM_0; layout <= HD_MEMPROF_RFC; layout++) {
        hd_memprof_index_desc desc = { .layout = (hd_memprof_layout)layout };
        hd_buffer bytes = nothing(r);
        hd_options lenient = r->options;
        lenient.lenient = true;
        if (went(r, hd_memprof_index_write(x, &desc, &lenient, hd_out_memory(&bytes), NULL))) hd_dump_free(reread(r, &bytes));
        hd_buffer_free(&bytes);
    }
}

static uint32_t name_address(void *user, const hd_memprof_address *address, hd_memprof_frame *frames, uint32_t capacity) {
    static const char *const names[] = { "main", "f", "operator new", "g.llvm.1" };
    (void)user, (void)capacity;
    frames->function = hd_cstr(names[address->pc & 3]);
    frames->line = (uint32_t)(address->pc >> 2 & 63);
    return address->pc % 7 != 0;
}

static void index_raw(run *r, const hd_memprof *m) {
    hd_memprof_symbolizer symbolizer = { .symbolize = name_address };
    hd_memprof_merger *merger = hd_memprof_merger_create(&r->options, NULL);
    hd_memprof *sum;
    hd_memprof_index *x;
    for (size_t i = 0; merger && i < hd_memprof_part_count(m); i++) went(r, hd_memprof_merger_add(merger, hd_memprof_part(m, i), NULL));
    if (merger && went(r, hd_memprof_merger_finish(merger, &sum, NULL))) hd_memprof_free(sum);
    hd_memprof_merger_free(merger);
    if (!hd_memprof_part_count(m) || !went(r, hd_memprof_index_build(hd_memprof_part(m, 0), &symbolizer, &r->options, &x, NULL))) return;
    write_index(r, x);
    hd_memprof_index_free(x);
}

static void ask_document(run *r, const hd_dump *d) {
    hd_buffer bytes = nothing(r);
    if (hd_dump_netcf(d) && hd_netcf_domain_count(hd_dump_netcf(d))) /* without a domain, only blank lines are left */
        same_bytes(r, hd_dump_write(d, &r->options, hd_out_memory(&bytes), NULL), &bytes);
    if (hd_dump_dart(d)) same_bytes(r, hd_dump_write(d, &r->options, hd_out_memory(&bytes), NULL), &bytes);
    if (hd_dump_v8(d)) same_bytes(r, hd_dump_write(d, &r->options, hd_out_memory(&bytes), NULL), &bytes);
    if (hd_dump_memprof(d)) {
        same_bytes(r, hd_dump_write(d, &r->options, hd_out_memory(&bytes), NULL), &bytes);
        index_raw(r, hd_dump_memprof(d));
    }
    if (hd_dump_memprof_index(d)) write_index(r, hd_dump_memprof_index(d));
}

static uint64_t try_all(run *r, const uint8_t *data, size_t size, uint64_t fail_at) {
    hd_dump *d = NULL;
    hd_error err = { 0 };
    r->faults = (hd__faults){ .fail_at = fail_at };
    r->options.allocator = hd__faults_allocator(&r->faults);
    r->clean = !fail_at;
    hd_status status = hd_read_memory(data, size, &r->options, &d, &err);
    CHECK(err.status == status || (status == 0 && r->options.lenient));
    CHECK(!d == !!status);
    if (went(r, status)) {
        ask_heaps(r, d);
        if (hd_dump_graph(d)) ask_graph(r, hd_dump_graph(d), hd_dump_values(d), hd_dump_dart(d) != NULL);
        ask_document(r, d);
    }
    hd_dump_free(d);
    CHECK(!r->faults.live && !r->faults.misuse);
    return r->faults.count;
}

/* Reads the input as each format, without detection. */
static void read_as_any(const uint8_t *data, size_t size, bool lenient) {
    for (size_t i = 0; hd_format_at(i); i++) {
        hd__faults faults = { 0 };
        hd_options options = { .format = hd_format_at(i)->name, .lenient = lenient, .allocator = hd__faults_allocator(&faults) };
        hd_dump *d = NULL;
        hd_error err;
        if (hd_read_memory(data, size, &options, &d, &err)) CHECK(!err.format || err.format == options.format);
        hd_dump_free(d);
        CHECK(!faults.live && !faults.misuse);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint64_t hash = hd__hash_bytes(0, (const char *)data, size);
    for (int lenient = 0; lenient < 2; lenient++) {
        run r = { .options = { .lenient = lenient, .formats = tool_formats, .format_count = tool_format_count } };
        read_as_any(data, size, lenient);
        uint64_t allocations = try_all(&r, data, size, 0);
        for (int i = 0; i < 3 && allocations; i++, hash = hd__hash_u64(hash, allocations)) try_all(&r, data, size, 1 + hash % allocations);
    }
    return 0;
}
