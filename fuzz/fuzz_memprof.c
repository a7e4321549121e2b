/* Raw MemProf profiles, read strictly and leniently, from memory and in pieces. A file that was read is written back
   byte by byte; the result of lenient reading passes strict reading; merging and showing it lose nothing. */
#include "../tests/private.h"
#include "pieces.h"

static uint64_t sum(const hd_memprof_raw *r, uint32_t field) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < r->block_count; i++) total = hd__memprof_sum(total, r->blocks[i].value[field]);
    return total;
}

static uint32_t symbolize(void *user, const hd_memprof_address *a, hd_memprof_frame *f, uint32_t capacity) {
    (void)user;
    for (uint32_t i = 0; i < 3 && i < capacity; i++) {
        f[i].function = hd_cstr(a->segment ? "inside" : "outside");
        f[i].file = hd_cstr(a->pc % 7 ? "a.c" : "memprof_new_delete.cpp");
        f[i].line = (uint32_t)a->offset;
    }
    return a->pc % 4 < 3 ? a->pc % 4 : 0;
}

/* As a profile: all allocated bytes are in it, unless a sum overflows. */
static void show(const hd_memprof_raw *r) {
    hd_memprof_view view = { .split = (hd_memprof_split)(r->block_count % 5) };
    hd_profile *p;
    hd_status status = hd_memprof_profile(r, &view, NULL, &p, NULL);
    CHECK(status == HD_OK || status == HD_OVERFLOW);
    if (!status) {
        CHECK(hd_profile_bytes(p) == sum(r, HD_MEMPROF_TOTAL_SIZE) && hd_profile_blocks(p) == sum(r, HD_MEMPROF_ALLOC_COUNT));
        hd_profile_free(p);
    }
    view.symbolizer.symbolize = symbolize;
    view.lines = view.average = true;
    status = hd_memprof_profile(r, &view, NULL, &p, NULL);
    CHECK(status == HD_OK || status == HD_OVERFLOW);
    if (!status) hd_profile_free(p);
}

static const hd_options raw_alone = { .no_heaps = true };

/* Merges the document, and merges the result again: sums and stacks stay. */
static void merge(const hd_memprof *doc) {
    const hd_options lenient = { .lenient = true };
    hd_memprof_merger *x = hd_memprof_merger_create(&lenient, NULL), *y = hd_memprof_merger_create(&lenient, NULL);
    hd_memprof *merged, *again;
    hd_dump *read;
    hd_buffer out = { 0 };
    uint64_t size = 0;
    CHECK(x && y);
    for (size_t i = 0; i < hd_memprof_part_count(doc); i++) {
        hd_status status = hd_memprof_merger_add(x, hd_memprof_part(doc, i), NULL);
        CHECK(status == HD_OK || status == HD_UNSUPPORTED);
        if (!status) size = hd__memprof_sum(size, sum(hd_memprof_part(doc, i), HD_MEMPROF_TOTAL_SIZE));
    }
    if (!hd_memprof_merger_finish(x, &merged, NULL)) {
        const hd_memprof_raw *r = hd_memprof_part(merged, 0), *s;
        CHECK(sum(r, HD_MEMPROF_TOTAL_SIZE) == size);
        CHECK(!hd_memprof_write(merged, &lenient, hd_out_memory(&out), NULL));
        CHECK(!hd_read_as(&hd_format_memprof, hd_in_memory(out.data, out.size), &raw_alone, &read,
                          NULL)); /* segments fit, ids are unique */
        hd_dump_free(read);
        CHECK(!hd_memprof_merger_add(y, r, NULL) && !hd_memprof_merger_finish(y, &again, NULL));
        s = hd_memprof_part(again, 0);
        CHECK(s->block_count == r->block_count && s->stack_count == r->stack_count);
        CHECK(sum(s, HD_MEMPROF_TOTAL_SIZE) == size && s->fields == r->fields);
        hd_memprof_free(again);
        hd_buffer_free(&out);
        hd_memprof_free(merged);
    }
    hd_memprof_merger_free(x);
    hd_memprof_merger_free(y);
}

static void write_sum(hd_memprof_merger *x, bool takes, hd_buffer *out) {
    const hd_options lenient = { .lenient = true };
    hd_memprof *sum;
    if ((takes ? hd_memprof_merger_take : hd_memprof_merger_finish)(x, &sum, NULL)) return;
    CHECK(!hd_memprof_write(sum, &lenient, hd_out_memory(out), NULL));
    hd_memprof_free(sum);
}

/* Merges profiles while they are read, and takes over the first one's blocks: the result equals the document's. */
static void merge_taken(const hd_memprof *doc, const uint8_t *data, size_t size) {
    const hd_options lenient = { .lenient = true };
    hd_memprof_merger *x = hd_memprof_merger_create(&lenient, NULL), *y = hd_memprof_merger_create(&lenient, NULL);
    hd_memprof_reader *reader;
    const hd_memprof_raw *raw;
    hd_buffer out[2] = { { 0 }, { 0 } };
    CHECK(x && y && !hd_memprof_open(hd_in_memory(data, size), &lenient, &reader, NULL));
    for (size_t i = 0; i < hd_memprof_part_count(doc); i++) {
        CHECK(!hd_memprof_next(reader, &raw, NULL) && raw);
        CHECK(hd_memprof_merger_add_taken(x, reader, NULL) == hd_memprof_merger_add(y, hd_memprof_part(doc, i), NULL));
    }
    hd_memprof_close(reader);
    write_sum(x, true, &out[0]);
    write_sum(y, false, &out[1]);
    CHECK(out[0].size == out[1].size && (!out[0].size || !memcmp(out[0].data, out[1].data, out[0].size)));
    for (int i = 0; i < 2; i++) hd_buffer_free(&out[i]);
    hd_memprof_merger_free(x);
    hd_memprof_merger_free(y);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hd_status status[4];
    uint64_t warnings[4] = { 0 };
    for (int run = 0; run < 4; run++) {
        hd_in in = hd_in_memory(data, size), left = in;
        hd_options options = { .lenient = run / 2, .no_heaps = true, .limits.max_memory = 32 * size + 262144 };
        hd_dump *doc = NULL, *again = NULL;
        hd_buffer out = { 0 };
        hd_error err = { 0 };
        if (run % 2) in = hd_in_callback(read_piece, &left);
        status[run] = hd_read_as(&hd_format_memprof, in, &options, &doc, &err);
        CHECK(err.status == status[run] || options.lenient);
        CHECK(!doc == !!status[run] && status[run] != HD_LIMIT);
        CHECK(!status[run] || err.offset <= size);
        if (!doc) continue;
        warnings[run] = hd_dump_warning_count(doc);
        CHECK(!hd_memprof_write(hd_dump_memprof(doc), NULL, hd_out_memory(&out), NULL));
        if (!warnings[run]) CHECK(out.size == size && !memcmp(out.data, data, size));
        if (out.size) CHECK(!hd_read_as(&hd_format_memprof, hd_in_memory(out.data, out.size), &raw_alone, &again,
                                        NULL));
        if (run == 2) {
            const hd_memprof *raw = hd_dump_memprof(doc);
            for (size_t i = 0; i < hd_memprof_part_count(raw); i++) show(hd_memprof_part(raw, i));
            merge(raw);
            merge_taken(raw, data, size);
        }
        hd_dump_free(again);
        hd_buffer_free(&out);
        hd_dump_free(doc);
    }
    CHECK(status[0] == status[1] && status[2] == status[3] && warnings[2] == warnings[3]);
    CHECK(status[0] || !warnings[2]);
    return 0;
}
