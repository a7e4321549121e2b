/* Two indexed MemProf profiles of any layout. The input is a number, the offset of the second profile, and both
   profiles. Added in any order and grouping they give one file. Its sums are the two sums added, and it reads back as
   equal. A builder that keeps everything loses no block. */
#include "../tests/private.h"
#include "pieces.h"

static const hd_options lenient = { .lenient = true };

static uint64_t sum(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

/* A total over the records of all functions. Each block counts once, and sums saturate. */
static uint64_t total(const hd_memprof_index *x, uint32_t field) {
    hd_memprof_index *once = NULL;
    hd_memprof_builder *b = hd_memprof_builder_create(NULL, &lenient, NULL);
    uint64_t v = 0;
    CHECK(b && !hd_memprof_builder_add(b, x, NULL) && !hd_memprof_builder_finish(b, &once, NULL));
    for (uint32_t i = 0; i < once->block_count; i++) v = sum(v, hd_memprof_index_value(once, i, field));
    hd_memprof_index_free(once);
    hd_memprof_builder_free(b);
    return v;
}

static hd_memprof_index *merged(const hd_memprof_index *first, const hd_memprof_index *second, bool keep) {
    hd_memprof_builder_desc desc = { .keep = keep };
    hd_memprof_builder *b = hd_memprof_builder_create(&desc, &lenient, NULL);
    hd_memprof_index *x = NULL;
    CHECK(b);
    CHECK(!hd_memprof_builder_add(b, first, NULL));
    CHECK(!second || !hd_memprof_builder_add(b, second, NULL));
    CHECK(!hd_memprof_builder_finish(b, &x, NULL));
    hd_memprof_builder_free(b);
    return x;
}

static hd_status put(const hd_memprof_index *x, uint32_t fields, hd_buffer *out) {
    hd_memprof_index_desc desc = { .layout = HD_MEMPROF_LLVM_4, .fields = fields };
    hd_options options = { .lenient = true };
    return hd_memprof_index_write(x, &desc, &options, hd_out_memory(out), NULL);
}

/* fields that depend on order: time stamps, CPUs, comparisons of these, and the type of the first */
static const uint32_t ordered = 0xfe300;

static void same(const hd_memprof_index *x, const hd_memprof_index *y) {
    uint32_t fields = x->fields & ~ordered;
    hd_buffer a = { 0 }, b = { 0 };
    hd_memprof_index *back = NULL;
    if (!fields) fields = HD_MEMPROF_HOT_COLD;
    CHECK(x->fields == y->fields && x->block_count == y->block_count && x->site_count == y->site_count);
    if (!put(x, fields, &a)) {
        CHECK(!put(y, fields, &b));
        CHECK(a.size == b.size && !memcmp(a.data, b.data, a.size));
        if (!hd_memprof_index_read(hd_in_memory(a.data, a.size), NULL, &back, NULL)) {
            CHECK(back->block_count == x->block_count && back->site_count == x->site_count);
            CHECK(back->access_count == x->access_count && back->place_count == x->place_count);
            if (fields >> HD_MEMPROF_TOTAL_SIZE & 1)
                CHECK(total(back, HD_MEMPROF_TOTAL_SIZE) == total(x, HD_MEMPROF_TOTAL_SIZE));
            hd_memprof_index_free(back);
        }
    }
    hd_buffer_free(&a);
    hd_buffer_free(&b);
}

static void both(const hd_memprof_index *a, const hd_memprof_index *b) {
    hd_memprof_index *one = merged(a, b, false), *other = merged(b, a, false), *kept = merged(a, b, true);
    hd_memprof_index *left = merged(a, NULL, false), *right = merged(b, NULL, false), *grouped = merged(right, left, false);
    same(one, other);
    same(one, grouped);
    for (uint32_t f = HD_MEMPROF_TOTAL_ACCESS_COUNT; f <= HD_MEMPROF_TOTAL_SIZE; f += 3)
        if (one->fields >> f & 1) CHECK(total(one, f) == sum(total(a, f), total(b, f)));
    CHECK(one->block_count <= kept->block_count && one->function_count == kept->function_count);
    if (a->layout != HD_MEMPROF_RFC && b->layout != HD_MEMPROF_RFC) {
        CHECK(kept->block_count == a->block_count + b->block_count);
        CHECK(kept->site_count == a->site_count + b->site_count);
    }
    for (uint32_t i = 0; i < one->function_count; i++)
        CHECK(hd_memprof_index_find(a, one->function[i]) != HD_NONE || a->layout == HD_MEMPROF_RFC ||
              hd_memprof_index_find(b, one->function[i]) != HD_NONE || b->layout == HD_MEMPROF_RFC);
    hd_memprof_index_free(one);
    hd_memprof_index_free(other);
    hd_memprof_index_free(kept);
    hd_memprof_index_free(left);
    hd_memprof_index_free(right);
    hd_memprof_index_free(grouped);
}

/* The blocks of the input that can be read and added. */
static hd_memprof_index *read_part(const uint8_t *data, size_t size) {
    hd_options options = { .lenient = true, .limits.max_memory = 4096 * size + (64u << 20) };
    hd_memprof_builder *b;
    hd_memprof_index *x = NULL;
    hd_status status;
    if (hd_memprof_index_read(hd_in_memory(data, size), &options, &x, NULL)) return NULL;
    b = hd_memprof_builder_create(NULL, &lenient, NULL);
    status = hd_memprof_builder_add(b, x, NULL);
    hd_memprof_builder_free(b);
    /* HD_UNSUPPORTED: compressed names; too many inlined calls */
    CHECK(!status || status == HD_UNSUPPORTED);
    if (!status) return x;
    hd_memprof_index_free(x);
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t cut = size < 4 ? size : data[0] | data[1] << 8 | data[2] << 16;
    hd_memprof_index *a, *b;
    if (size < 4) return 0;
    data += 4;
    size -= 4;
    if (cut > size) cut = size;
    a = read_part(data, cut);
    b = read_part(data + cut, size - cut);
    if (a) both(a, b ? b : a);
    else if (b) both(b, b);
    hd_memprof_index_free(a);
    hd_memprof_index_free(b);
    return 0;
}
