/* threads. How full pages are, and which blocks keep them resident. Compares with a byte map of each page, in the
   process and from outside, with any addresses. Lets each allocation fail. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "long.h"
#include "private.h"
#include "faults.h"

#define BYTES ((uint64_t)64 << 20)
#define BASE UINT64_C(0x7f0000000000)

static uint8_t *region;
static hd_recorder *rec;

static int setup(void **state) {
    int fd = (int)syscall(SYS_memfd_create, "region", 0);
    (void)state;
    if (fd < 0 || ftruncate(fd, (off_t)BYTES)) return -1;
    region = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return hd_region_init(region, BYTES, NULL);
}

static int teardown(void **state) {
    (void)state;
    hd_recorder_free(rec);
    rec = NULL;
    munmap(region, BYTES);
    return 0;
}

static void create(const hd_recorder_desc *with) {
    hd_recorder_desc desc = with ? *with : (hd_recorder_desc){ .blocks = true };
    hd_error err;
    desc.region = region;
    desc.region_bytes = BYTES;
    rec = hd_recorder_create(&desc, &err);
    if (!rec) fail_msg("%s", err.message);
}

static void *at(uint64_t address) { return (void *)(uintptr_t)address; }
static void alloc(uint64_t address, uint64_t size, const char *type) {
    assert_true(hd_record_alloc(rec, at(address), (size_t)size, type));
}

static hd_pages *own(const hd_pages_options *options) {
    hd_pages *pages;
    hd_error err;
    if (hd_recorder_pages(rec, options, &pages, &err)) fail_msg("%s", err.message);
    return pages;
}

static hd_pages *seen(const hd_pages_options *options) {
    hd_pages *pages;
    hd_error err;
    if (hd_recorder_view_pages(region, BYTES, 0, options, &pages, &err)) fail_msg("%s", err.message);
    return pages;
}

/* The type of a group, if each context is a group. */
static const char *type_of(uint32_t context) {
    return (const char *)hd_contexts_frame(hd_recorder_contexts(rec), context).value;
}

static hd_page_use use_of(const hd_pages *pages, const char *type) {
    for (size_t i = 0; i < hd_pages_count(pages); i++)
        if (!strcmp(type_of(hd_pages_use(pages, i).group), type)) return hd_pages_use(pages, i);
    fail_msg("no %s", type);
    return hd_pages_use(pages, 0);
}

static void assert_use(const hd_pages *pages, const char *type, hd_page_use expected) {
    hd_page_use use = use_of(pages, type);
    expected.group = use.group;
    assert_int_equal(use.bytes, expected.bytes);
    assert_int_equal(use.blocks, expected.blocks);
    assert_int_equal(use.pages, expected.pages);
    assert_int_equal(use.alone, expected.alone);
    assert_int_equal(use.share, expected.share);
    assert_int_equal(use.used, expected.used);
}

static void assert_same(const hd_pages *a, const hd_pages *b) {
    hd_pages_summary x = hd_pages_total(a), y = hd_pages_total(b);
    assert_memory_equal(&x, &y, sizeof x);
    assert_int_equal(hd_pages_count(a), hd_pages_count(b));
    for (size_t i = 0; i < hd_pages_count(a); i++) {
        hd_page_use u = hd_pages_use(a, i), v = hd_pages_use(b, i);
        assert_memory_equal(&u, &v, sizeof u);
    }
}

/* Asks in the process and from outside; the answers must be equal. */
static hd_pages *both(const hd_pages_options *options) {
    hd_pages *a = own(options), *b = seen(options);
    assert_same(a, b);
    hd_pages_free(b);
    return a;
}

static const hd_pages_options small = { .page_bytes = 4096 };

static void pages_have_one_owner_or_several(void **state) {
    hd_pages *p;
    hd_pages_summary t;
    (void)state;
    create(NULL);
    alloc(BASE, 100, "A");                         /* page 0: only A */
    alloc(BASE + 4096, 300, "A");                  /* page 1: A and B, 3 to 1 */
    alloc(BASE + 4096 + 512, 100, "B");
    alloc(BASE + 3 * 4096 - 16, 4096 * 3 + 32, "C"); /* 2 (16 bytes), 3, 4, 5, 6 (16 bytes) */
    alloc(BASE + 6 * 4096 + 16, 16, "B");          /* page 6: half A, half B */
    p = both(&small);
    assert_use(p, "A", (hd_page_use){ .bytes = 400, .blocks = 2, .pages = 2, .alone = 1, .share = 4096 + 3072,
                                      .used = 100 + 400 });
    assert_use(p, "B", (hd_page_use){ .bytes = 116, .blocks = 2, .pages = 2, .alone = 0, .share = 1024 + 2048,
                                      .used = 400 + 32 });
    assert_use(p, "C", (hd_page_use){ .bytes = 12320, .blocks = 1, .pages = 5, .alone = 4,
                                      .share = 4 * 4096 + 2048, .used = 16 + 3 * 4096 + 32 });
    t = hd_pages_total(p);
    assert_int_equal(t.pages, 7);
    assert_int_equal(t.shared, 2);
    assert_int_equal(t.bytes, 400 + 116 + 12320);
    assert_int_equal(t.blocks, 5);
    assert_int_equal(t.used, t.bytes);
    assert_int_equal(t.tenths[0], 4);
    assert_int_equal(t.tenths[9], 3);
    hd_pages_free(p);
    hd_record_free(rec, at(BASE + 4096));          /* now only B keeps page 1 */
    p = both(&small);
    assert_use(p, "A", (hd_page_use){ .bytes = 100, .blocks = 1, .pages = 1, .alone = 1, .share = 4096, .used = 100 });
    assert_use(p, "B", (hd_page_use){ .bytes = 116, .blocks = 2, .pages = 2, .alone = 1, .share = 4096 + 2048,
                                      .used = 100 + 32 });
    hd_pages_free(p);
}

static void blocks_without_bytes_hold_a_page_and_overlaps_are_cut(void **state) {
    hd_pages *p;
    (void)state;
    create(NULL);
    alloc(BASE, 0, "A");
    alloc(BASE + 8192, 10000, "B");                /* the recorder missed a free: C begins inside this block */
    alloc(BASE + 8192 + 32, 32, "C");
    alloc(UINT64_MAX - 15, 4096, "D");             /* this block is cut at the last address */
    p = both(&small);
    assert_use(p, "A", (hd_page_use){ .blocks = 1, .pages = 1, .alone = 1, .share = 4096, .used = 1 });
    assert_use(p, "B", (hd_page_use){ .bytes = 10000, .blocks = 1, .pages = 1, .share = 2048, .used = 64 });
    assert_use(p, "C", (hd_page_use){ .bytes = 32, .blocks = 1, .pages = 1, .share = 2048, .used = 64 });
    assert_use(p, "D", (hd_page_use){ .bytes = 4096, .blocks = 1, .pages = 1, .alone = 1, .share = 4096, .used = 15 });
    hd_pages_free(p);
}

static void groups_are_counted_as_one(void **state) {
    uint32_t group[3] = { 0, 1, 1 };
    hd_pages_options o = { .page_bytes = 4096, .group = group, .context_count = 3, .group_count = 2 };
    hd_pages *p;
    hd_error err;
    (void)state;
    create(NULL);
    alloc(BASE, 100, "A");
    alloc(BASE + 128, 100, "B");                   /* contexts 1 and 2 are one group */
    p = both(&o);
    assert_int_equal(hd_pages_count(p), 1);
    assert_int_equal(hd_pages_use(p, 0).group, 1);
    assert_int_equal(hd_pages_use(p, 0).alone, 1);
    assert_int_equal(hd_pages_use(p, 0).used, 200);
    assert_int_equal(hd_pages_use(p, 1).blocks, 0);
    hd_pages_free(p);
    alloc(BASE + 256, 100, "newer");               /* its context is newer than the groups: skipped */
    p = both(&o);
    assert_int_equal(hd_pages_total(p).bytes, 200);
    hd_pages_free(p);
    group[2] = 2;
    assert_int_equal(hd_recorder_pages(rec, &o, &p, &err), HD_INVALID);
    assert_string_equal(err.message, "a group below 2 expected, 2 found");
}

/* The byte map: the owner of each byte of a few pages. */
enum { PAGES = 600, TYPES = 5 };
static char names[TYPES][2] = { "A", "B", "C", "D", "E" };

typedef struct counted {
    uint64_t touched[TYPES], alone[TYPES], used[TYPES], pages, all_used, shared;
} counted;

static void count_by_hand(const uint8_t *owner, uint64_t page_bytes, uint64_t bytes, counted *c) {
    memset(c, 0, sizeof *c);
    for (uint64_t page = 0; page < bytes; page += page_bytes) {
        uint64_t here[TYPES] = { 0 }, sum = 0, who = 0;
        for (uint64_t i = page; i < page + page_bytes && i < bytes; i++)
            if (owner[i]) here[owner[i] - 1]++, sum++;
        for (int k = 0; k < TYPES; k++) who += here[k] != 0;
        for (int k = 0; k < TYPES; k++) {
            c->touched[k] += here[k] != 0;
            c->alone[k] += here[k] && who == 1;
            c->used[k] += here[k] ? sum : 0;
        }
        c->pages += who != 0;
        c->all_used += sum;
        c->shared += who > 1;
    }
}

typedef struct told {
    uint64_t next, pages, bytes;
} told;

static void tell(void *user, uint64_t address, uint64_t pages, uint64_t bytes) {
    told *t = user;
    assert_true(address >= t->next && bytes);
    t->next = address + pages * 4096;
    t->pages += pages;
    t->bytes += pages * bytes;
}

static uint64_t random_state;
static uint64_t drawn(uint64_t below) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % below;
}

static void assert_counted(const hd_pages *p, const counted *c) {
    uint64_t share = 0;
    assert_int_equal(hd_pages_total(p).pages, c->pages);
    assert_int_equal(hd_pages_total(p).used, c->all_used);
    assert_int_equal(hd_pages_total(p).shared, c->shared);
    for (size_t i = 0; i < hd_pages_count(p); i++) {
        hd_page_use u = hd_pages_use(p, i);
        int k = *type_of(u.group) - 'A';
        assert_int_equal(u.pages, c->touched[k]);
        assert_int_equal(u.alone, c->alone[k]);
        assert_int_equal(u.used, c->used[k]);
        share += u.share;
    }
    assert_int_equal(share, c->pages * hd_pages_total(p).page_bytes);
}

/* Blocks of all sizes in sequence, with gaps, at multiples of `step`, across borders of shards and spans. Some are
   freed; they are recorded in random order. */
static void random_blocks(uint32_t shards, uint64_t step, uint64_t seed) {
    enum { BLOCKS = 4000 };
    uint64_t bytes = (uint64_t)PAGES * 4096, base = BASE + ((uint64_t)8 << 20) - bytes / 2, n = 0;
    uint8_t *owner = calloc(1, bytes);
    uint64_t *address = calloc(BLOCKS, sizeof *address), *size = calloc(BLOCKS, sizeof *size);
    random_state = seed;
    create(&(hd_recorder_desc){ .blocks = true, .shards = shards });
    for (uint64_t p = drawn(5000); n < BLOCKS;) {
        size[n] = drawn(40) ? 1 + drawn(drawn(10) ? 200 : 3000) : drawn(40000);
        address[n] = base + (p = (p + step - 1) / step * step);
        if (p + size[n] + step > bytes) break;
        p += (size[n] ? size[n] : 1) + (drawn(20) ? drawn(64) : drawn(30000));
        n++;
    }
    for (uint64_t i = 0; i < n; i++) {             /* in random order */
        uint64_t k = drawn(n), a = address[i], s = size[i];
        address[i] = address[k], size[i] = size[k], address[k] = a, size[k] = s;
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t kind = drawn(TYPES);
        alloc(address[i], size[i], names[kind]);
        if (drawn(3) == 0) hd_record_free(rec, at(address[i]));
        else memset(owner + (address[i] - base), (int)kind + 1, size[i] ? size[i] : 1);
    }
    for (uint64_t page = 64; page <= 65536; page *= 4) {
        hd_pages_options o = { .page_bytes = page };
        hd_pages *p;
        counted c;
        told t = { 0 };
        uint64_t skew = base % page;
        uint8_t *shifted = calloc(1, bytes + skew);
        memcpy(shifted + skew, owner, bytes);
        count_by_hand(shifted, page, bytes + skew, &c);
        free(shifted);
        if (page == 4096) o.each = tell, o.user = &t;
        p = own(&o);
        assert_counted(p, &c);
        assert_true(!o.each || (t.pages == c.pages && t.bytes == c.all_used));
        hd_pages_free(p);
        t = (told){ 0 };
        p = seen(&o);
        assert_counted(p, &c);
        assert_true(!o.each || (t.pages == c.pages && t.bytes == c.all_used));
        hd_pages_free(p);
    }
    free(owner), free(address), free(size);
}

static void random_blocks_are_counted_as_by_hand(void **state) {
    static const uint64_t steps[] = { 16, 1, 8 };
    (void)state;
    /* 0, 4, 8: each value of both parameters once */
    for (uint32_t i = 0; i < 9; i += (uint32_t)long_or_short(1, 4)) {
        random_blocks(1u << (i % 3 * 2), steps[i / 3], i);
        hd_recorder_free(rec);
        rec = NULL;
        memset(region, 0, hd_region_used(region, BYTES));
        assert_int_equal(hd_region_init(region, BYTES, NULL), HD_OK);
    }
}

static void far_apart(void **state) {
    hd_pages *p;
    (void)state;
    create(NULL);
    for (uint64_t i = 1; i < 3000; i++) alloc(i * ((uint64_t)13 << 20) + i, 10, i & 1 ? "A" : "B");
    p = both(NULL);
    assert_int_equal(hd_pages_total(p).page_bytes, (uint64_t)sysconf(_SC_PAGESIZE));
    assert_use(p, "A", (hd_page_use){ .bytes = 15000, .blocks = 1500, .pages = use_of(p, "A").pages,
                                      .alone = use_of(p, "A").pages, .share = use_of(p, "A").pages * 4096,
                                      .used = 15000 });
    assert_in_range(hd_pages_total(p).pages, 2999, 3010); /* a few blocks cover two pages */
    hd_pages_free(p);
}

static void each_allocation_may_fail(void **state) {
    (void)state;
    create(NULL);
    for (uint64_t i = 1; i < 500; i++) alloc(BASE + i * 3000, 1500, names[i % TYPES]);
    for (int way = 0; way < 2; way++) {
        hd__faults f = { 0 };
        HD__EACH_FAULT(f) {
            hd_pages_options o = { .options = { .allocator = hd__faults_allocator(&f) } };
            hd_pages *p = NULL;
            hd_error err;
            hd_status status = way ? hd_recorder_pages(rec, &o, &p, &err)
                                   : hd_recorder_view_pages(region, BYTES, 0, &o, &p, &err);
            if (status) {
                assert_int_equal(status, HD_OUT_OF_MEMORY);
                assert_null(p);
            } else {
                assert_int_equal(hd_pages_total(p).blocks, 499);
                hd_pages_free(p);
            }
            assert_int_equal(f.live, 0);
            assert_null(f.misuse);
        }
        assert_true(f.count >= 3);
    }
}

static bool cancel(void *user, uint64_t done, uint64_t total) {
    (void)user, (void)done, (void)total;
    return false;
}

static void unanswerable_requests_are_errors(void **state) {
    hd_recorder_desc desc = { .region = region, .region_bytes = BYTES };
    hd_pages *p = NULL;
    hd_error err;
    (void)state;
    create(&(hd_recorder_desc){ .name = "no blocks" });
    alloc(BASE, 1, "A");
    assert_int_equal(hd_recorder_view_pages(region, BYTES, 0, NULL, &p, &err), HD_UNSUPPORTED);
    assert_string_equal(err.message, "the recorder did not show its blocks");
    assert_int_equal(hd_recorder_view_pages(region, BYTES, 1, NULL, &p, &err), HD_INVALID);
    for (uint64_t bytes = 0; bytes < 3; bytes++) {
        hd_pages_options o = { .page_bytes = bytes == 0 ? 32 : bytes == 1 ? 4095 : (uint64_t)1 << 31 };
        assert_int_equal(hd_recorder_pages(rec, &o, &p, &err), HD_INVALID);
    }
    assert_int_equal(hd_recorder_pages(rec, &(hd_pages_options){ .options = { .progress = cancel } }, &p, &err),
                     HD_CANCELLED);
    assert_int_equal(hd_recorder_pages(rec, &(hd_pages_options){ .options = { .limits = { .max_memory = 100 } } }, &p,
                                       &err), HD_LIMIT);
    assert_int_equal(hd_recorder_pages(NULL, NULL, &p, &err), HD_INVALID);
    hd_recorder_free(rec);
    desc.blocks = true;
    desc.sample_bytes = 100;
    assert_null(rec = hd_recorder_create(&desc, &err));
    assert_string_equal(err.message, "blocks that are shown need a region, and no samples");
    desc = (hd_recorder_desc){ .sample_bytes = 100 };
    rec = hd_recorder_create(&desc, &err);
    assert_int_equal(hd_recorder_pages(rec, NULL, &p, &err), HD_UNSUPPORTED);
    assert_null(p);
    assert_int_equal(hd_pages_total(NULL).pages + hd_pages_count(NULL) + hd_pages_use(NULL, 0).pages, 0);
    hd_pages_free(NULL);
}

typedef struct named {
    uint32_t context[TYPES], count;
    uint32_t node[TYPES];
} named;

static void keep_context(void *user, uint32_t context, const uint32_t *nodes) {
    named *n = user;
    n->context[n->count] = context;
    n->node[n->count++] = nodes[1];
}

static void contexts_have_names_from_outside(void **state) {
    hd_profile *p;
    named n = { .count = 0 };
    hd_pages *pages;
    (void)state;
    create(NULL);
    alloc(BASE, 1, "A");
    alloc(BASE + 64, 2, "B");
    hd_record_free(rec, at(BASE));                 /* its context still has a name */
    assert_int_equal(hd_recorder_view_contexts(region, BYTES, 0, NULL, keep_context, &n, &p, NULL), HD_OK);
    assert_int_equal(n.count, 2);
    assert_int_equal(hd_profile_cells(p).count, 0);
    pages = seen(NULL);
    assert_int_equal(hd_pages_count(pages), 1);
    assert_int_equal(hd_pages_use(pages, 0).group, n.context[1]);
    assert_memory_equal(hd_profile_axis(p, 1).node_name[n.node[1]].data, "B", 1);
    hd_pages_free(pages);
    hd_profile_free(p);
    assert_int_equal(hd_recorder_view_contexts(region, BYTES, 7, NULL, keep_context, &n, &p, NULL), HD_INVALID);
}

/* With any bytes in the region, a view ends, and takes no more memory than the region has. */
static void any_region_ends(void **state) {
    uint64_t used;
    uint8_t *copy;
    (void)state;
    create(&(hd_recorder_desc){ .blocks = true, .shards = 2 });
    for (uint64_t i = 1; i < 300; i++) alloc(BASE + i * 3000, 1500, names[i % TYPES]);
    used = hd_region_used(region, BYTES);
    copy = mmap(NULL, used, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    random_state = 1;
    for (int i = 0; i < long_or_short(3000, 1000); i++) {
        hd_pages_options o = { .options = { .limits = { .max_memory = 64 << 20, .max_records = 1 << 16 } } };
        hd_pages *p;
        memcpy(copy, region, used);
        for (int k = 0; k < 4; k++) {
            uint64_t *word = (uint64_t *)(void *)(copy + drawn(used / 8) * 8);
            for (int tries = 0; !*word && tries < 100; tries++) word = (uint64_t *)(void *)(copy + drawn(used / 8) * 8);
            *word = drawn(3) ? drawn(used) : *word ^ (uint64_t)1 << drawn(64);
        }
        if (!hd_recorder_view_pages(copy, used, 0, &o, &p, NULL)) {
            uint64_t share = 0;
            for (size_t k = 0; k < hd_pages_count(p); k++) share += hd_pages_use(p, k).share;
            assert_int_equal(share, hd_pages_total(p).pages * hd_pages_total(p).page_bytes);
            hd_pages_free(p);
        }
    }
    munmap(copy, used);
}

/* Around a realloc, and when a type is set later. */
static void blocks_that_move_are_seen_where_they_are(void **state) {
    hd_resize resize;
    hd_pages *p;
    (void)state;
    create(NULL);
    alloc(BASE, 100, "A");
    alloc(BASE + 8192, 100, "B");
    hd_record_resize(rec, at(BASE), &resize);
    p = both(&small);
    assert_int_equal(hd_pages_total(p).pages, 2);
    hd_pages_free(p);
    hd_record_not_resized(rec, &resize);
    p = both(&small);
    assert_use(p, "A", (hd_page_use){ .bytes = 100, .blocks = 1, .pages = 1, .alone = 1, .share = 4096, .used = 100 });
    hd_pages_free(p);
    hd_record_resize(rec, at(BASE), &resize);      /* to another address, next to B */
    hd_record_resized(rec, &resize, at(BASE + 8192 + 2048), 100, "A");
    p = both(&small);
    assert_use(p, "A", (hd_page_use){ .bytes = 100, .blocks = 1, .pages = 1, .share = 2048, .used = 200 });
    hd_pages_free(p);
    assert_true(hd_record_set_type(rec, at(BASE + 8192), "A"));
    p = both(&small);
    assert_int_equal(hd_pages_count(p), 1);
    assert_use(p, "A", (hd_page_use){ .bytes = 200, .blocks = 2, .pages = 1, .alone = 1, .share = 4096, .used = 200 });
    hd_pages_free(p);
}

static volatile bool enough;

static void *churn(void *number) {
    uint64_t n = (uint64_t)(uintptr_t)number, base = BASE + (n << 16), x = n; /* threads share shards */
    while (!__atomic_load_n(&enough, __ATOMIC_RELAXED)) {
        void *p = at(base + (x = x * 5 + 1, x % 256) * 256);
        hd_record_alloc(rec, p, 100 + x % 150, names[n % TYPES]);
        if (x & 4) hd_record_free(rec, p);
    }
    return NULL;
}

static void others_may_record_meanwhile(void **state) {
    pthread_t threads[3];
    (void)state;
    create(NULL);
    __atomic_store_n(&enough, false, __ATOMIC_RELAXED);
    for (uintptr_t i = 0; i < 3; i++) assert_int_equal(pthread_create(&threads[i], NULL, churn, (void *)i), 0);
    for (int i = 0; i < 200; i++) {
        hd_pages *p = i & 1 ? own(NULL) : seen(NULL);
        uint64_t share = 0, blocks = 0;
        for (size_t k = 0; k < hd_pages_count(p); k++) {
            share += hd_pages_use(p, k).share;
            blocks += hd_pages_use(p, k).blocks;
        }
        assert_int_equal(share, hd_pages_total(p).pages * hd_pages_total(p).page_bytes);
        assert_int_equal(blocks, hd_pages_total(p).blocks);
        assert_true(blocks <= 3 * 256);
        hd_pages_free(p);
    }
    __atomic_store_n(&enough, true, __ATOMIC_RELAXED);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    hd_pages_free(both(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pages_have_one_owner_or_several, setup, teardown),
        cmocka_unit_test_setup_teardown(blocks_without_bytes_hold_a_page_and_overlaps_are_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(groups_are_counted_as_one, setup, teardown),
        cmocka_unit_test_setup_teardown(random_blocks_are_counted_as_by_hand, setup, teardown),
        cmocka_unit_test_setup_teardown(far_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(each_allocation_may_fail, setup, teardown),
        cmocka_unit_test_setup_teardown(unanswerable_requests_are_errors, setup, teardown),
        cmocka_unit_test_setup_teardown(contexts_have_names_from_outside, setup, teardown),
        cmocka_unit_test_setup_teardown(any_region_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(blocks_that_move_are_seen_where_they_are, setup, teardown),
        cmocka_unit_test_setup_teardown(others_may_record_meanwhile, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
