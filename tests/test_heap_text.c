/* Heap profiles as text: real files have the totals that their own programs print. Tests by hand have every form of
   line and every fault. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include "../heapdump.h"
#include "faults.h"
#include "heaps.h"
#include "load.h"
#include "readers.h"
#include "../examples/heapdump/formats/heap_text.c"

static const hd_format format = { .name = "heap-text", .title = "a heap profile as text", .detect = heap_text_detect,
                                  .read = heap_text_read };

static hd_dump *read_text(const char *text) { return read_well(&format, text, strlen(text), false, 0); }

static void has_heap(const hd_dump *dump, size_t i, hd_heap_kind kind, const char *allocator, uint64_t sample_bytes,
                     uint64_t blocks, uint64_t bytes) {
    const hd_heap *h = hd_dump_heap(dump, i);
    assert_non_null(h);
    assert_int_equal(h->kind, kind);
    assert_string_equal(h->allocator, allocator);
    assert_int_equal(h->sample_bytes, sample_bytes);
    assert_int_equal(hd_profile_blocks(h->profile), blocks);
    assert_int_equal(hd_profile_bytes(h->profile), bytes);
    for (uint32_t c = 0; c < hd_profile_cells(h->profile).count && !sample_bytes; c++)
        assert_int_equal(hd_standard_error(hd_profile_cells(h->profile).amount[c].variance), 0);
}

/* tests/data/README.md says how the programs were run. */
static void real_files_have_their_totals(void **state) {
    (void)state;
    static const struct { const char *file, *allocator, *process; uint64_t sample_bytes, blocks[2], bytes[2]; } files[] = {
        { "heap-gperftools.txt", "tcmalloc", "alloc", 0, { 6259, 24260 }, { 4460703, 8161213 } },
        { "heap-tcmalloc.txt", "tcmalloc", "alloc", 16384, { 7039, 0 }, { 4472137, 0 } },
        { "heap-go.txt", "go", NULL, 4096, { 15798, 29028 }, { 2526692, 8281602 } },
        { "heap-jemalloc.txt", "jemalloc", "jalloc", 4096, { 6131, 23545 }, { 4664558, 8551836 } },
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        uint8_t *data = NULL;
        size_t size = 0;
        load(files[i].file, &data, &size);
        hd_dump *dump = read_well(&format, data, size, false, 0);
        assert_int_equal(hd_dump_heap_count(dump), files[i].blocks[1] ? 2 : 1);
        for (size_t h = 0; h < hd_dump_heap_count(dump); h++) {
            has_heap(dump, h, h ? HD_HEAP_TOTAL : HD_HEAP_LIVE, files[i].allocator, files[i].sample_bytes, files[i].blocks[h],
                     files[i].bytes[h]);
            if (files[i].process) assert_string_equal(hd_dump_heap(dump, h)->process, files[i].process);
            else assert_null(hd_dump_heap(dump, h)->process);
        }
        hd_dump_free(dump);
        survives_pieces(&format, data, size);
        free(data);
    }
}

/* Bytes of the cells at nodes of this name. */
static uint64_t self_bytes(const hd_dump *dump, const char *name) {
    const hd_profile *p = hd_dump_heap(dump, 0)->profile;
    hd_rows cells = hd_profile_cells(p);
    uint64_t sum = 0;
    for (uint32_t c = 0; c < cells.count; c++)
        if (hd_str_equal(hd_profile_axis(p, 0).node_name[cells.node[c]], hd_cstr(name))) sum += cells.amount[c].bytes;
    return sum;
}

/* The values of `go tool pprof -top`: 1314.73kB, 399.10kB, 296kB, 284.72kB, 164.68kB. */
static void go_names_its_frames(void **state) {
    (void)state;
    uint8_t *data = NULL;
    size_t size = 0;
    load("heap-go.txt", &data, &size);
    hd_dump *dump = read_well(&format, data, size, false, 0);
    assert_int_equal(self_bytes(dump, "main.table (heapsample/main.go:33)"), 1346282);
    assert_int_equal(self_bytes(dump, "main.main.func1 (heapsample/main.go:50)"), 303104);
    assert_int_equal(self_bytes(dump, "main.walk (heapsample/main.go:40)"), 291555);
    assert_int_equal(self_bytes(dump, "main.pair (heapsample/main.go:19)"), 408680);
    hd_dump_free(dump);
    free(data);
    dump = read_text("heap profile: 3: 30 [3: 30] @ heap/2\n1: 10 [1: 10] @ 0x11 0x21 0x31\n"
                     "#\t0x10\truntime.mallocgc+0x1\t\t/go/malloc.go:5\n#\t0x20\tmain.f[go.shape.int+4]+0x2\tmain.go:7\n"
                     "#\t0x20\tmain.g+0x2\tmain.go:8\n#\t0x30\n\n2: 20 [2: 20] @ 0x41\n\n# runtime.MemStats\n# Alloc = 5\n");
    has_heap(dump, 0, HD_HEAP_LIVE, "go", 0, 3, 30);
    assert_text(profile_text(hd_dump_heap(dump, 0)->profile),
                "/0x30/main.g (main.go:8)/main.f[go.shape.int+4] (main.go:7)/runtime.mallocgc (/go/malloc.go:5) 10 1\n/0x40 20 2\n");
    hd_dump_free(dump);
}

/* The unsampling formula of pprof, and the variance of the recorder's snapshots. */
static void samples_are_scaled_line_by_line(void **state) {
    (void)state;
    hd_dump *dump = read_text("heap profile: 4: 4096 [8: 16384] @ heap_v2/8192\n3: 3072 [3: 3072] @ 0x10\n"
                              "1: 1024 [1: 1024] @ 0x10\n0: 0 [4: 12288] @ 0x20\n");
    double p = 1 - exp(-1024.0 / 8192), variance = 4 * (1024.0 * 1024 * (1 - p) / (p * p));
    hd_rows cells = hd_profile_cells(hd_dump_heap(dump, 0)->profile);
    assert_int_equal(cells.count, 1);
    assert_int_equal(cells.amount[0].bytes, (uint64_t)(3072 / p) + (uint64_t)(1024 / p));
    assert_int_equal(cells.amount[0].blocks, (uint64_t)(3 / p) + (uint64_t)(1 / p));
    assert_true(fabs((double)hd_standard_error(cells.amount[0].variance) - sqrt(variance)) < 1);
    p = 1 - exp(-3072.0 / 8192);
    cells = hd_profile_cells(hd_dump_heap(dump, 1)->profile);
    assert_int_equal(cells.amount[1].blocks, (uint64_t)(4 / p));
    hd_dump_free(dump);
    dump = read_text("heap profile: 1: 8 [1: 8] @ heap_v2/1\n1: 8 [1: 8] @ 0x10\n");
    has_heap(dump, 0, HD_HEAP_LIVE, "tcmalloc", 0, 1, 8);
    assert_int_equal(hd_dump_heap_count(dump), 1);
    hd_dump_free(dump);
    /* as in pprof: a sample of size 0 counts as no blocks */
    dump = read_text("heap profile: 9: 0 [9: 0] @ heap/4096\n9: 0 [9: 0] @ 0x10\n");
    has_heap(dump, 0, HD_HEAP_LIVE, "go", 2048, 0, 0);
    hd_dump_free(dump);
    dump = read_text("heap profile: 9: 0 [9: 0] @ heapprofile\n9: 0 [9: 0] @ 0x10\n");
    has_heap(dump, 0, HD_HEAP_LIVE, "tcmalloc", 0, 9, 0);
    hd_dump_free(dump);
}

static const char maps[] =
    "\nMAPPED_LIBRARIES:\n"
    "00400000-00401000 r--p 00000000 08:01 10 /bin/app\n00401000-00402000 r-xp 00001000 08:01 10 /bin/app\n"
    "7f0000000000-7f0000001000 r--p 00000000 08:01 11                         /lib/a b.so (deleted)\n"
    "7f0000001000-7f0000003000 r-xp 00001000 08:01 11                         /lib/a b.so (deleted)\n"
    "7f0000003000-7f0000004000 rw-p 00000000 00:00 0 \n"
    "7f0000010000-7f0000012000 r-xp 00005000 08:01 12                         /lib/part.so\n"
    "7f0000020000-7f0000021000 r-xp 00000000 08:01 13                         /lib/tiny.so\n"
    "7f0000021000-7f0000022000 rwxp 00000000 08:01 13                         /lib/tiny.so\n"
    "7f0000022000-7f0000023000 rwxp 00001000 08:01 13                         /lib/tiny.so\n"
    "7f0000023000-7f0000024000 r-xp 00000000 08:01 13                         /lib/tiny.so\n"
    "7fff00000000-7fff00001000 r-xp 00000000 00:00 0                          [vdso]\nbuild=/home/me\n";

static void addresses_are_in_objects(void **state) {
    (void)state;
    static const struct { const char *address, *frame; } frames[] = {
        { "0x401235", "/bin/app+0x401234" },             /* mapped at its link address */
        { "0x401000", "/bin/app+0x400fff" },             /* the address of the call's last byte */
        { "0x7f0000001011", "(deleted)/a b.so+0x1010" }, { "0x7F0000002FFF", "(deleted)/a b.so+0x2ffe" },
        { "0x7f0000003001", "0x7f0000003000" },          /* no file */
        { "0x7f0000010011", "/lib/part.so+0x5010" },     /* only a part of the file is mapped */
        { "0x7f0000021011", "/lib/tiny.so+0x1010" }, { "0x7f0000022011", "/lib/tiny.so+0x2010" },
        { "0x7f0000023011", "/lib/tiny.so+0x10" },       /* mapped a second time */
        { "0x7fff00000101", "[vdso]+0x100" },
        { "0x1", "0x0" }, { "0x0", "0x0" }, { "0xffffffffffffffff", "0xfffffffffffffffe" }
    };
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        char text[2048], expected[128];
        snprintf(text, sizeof text, "heap profile: 1: 8 [1: 8] @ heapprofile\n1: 8 [1: 8] @ %s\n%s", frames[i].address, maps);
        hd_dump *dump = read_text(text);
        snprintf(expected, sizeof expected, "/%s 8 1\n", frames[i].frame);
        assert_text(profile_text(hd_dump_heap(dump, 0)->profile), expected);
        assert_string_equal(hd_dump_heap(dump, 0)->process, "app");
        hd_dump_free(dump);
    }
    hd_dump *dump = read_text("heap profile: 1: 8 [1: 8] @ heapprofile\n1: 8 [1: 8] @ 0x7\nMAPPED_LIBRARIES:\n");
    assert_text(profile_text(hd_dump_heap(dump, 0)->profile), "/0x6 8 1\n");
    assert_null(hd_dump_heap(dump, 0)->process);
    hd_dump_free(dump);
}

/* Frames keep only the file's name of a path that is too long, or its end. */
static void long_paths_are_cut(void **state) {
    (void)state;
    static char text[9000], path[4001], expected[700];
    for (int slash = 0; slash < 2; slash++) {
        memset(path, 'x', 4000);
        path[0] = '/';
        if (slash) memcpy(path + 3990, "/libx.so.1", 10);
        snprintf(text, sizeof text, "heap profile: 1: 8 [1: 8] @ heapprofile\n1: 8 [1: 8] @ 0x7f0000000011\n"
                 "MAPPED_LIBRARIES:\n7f0000000000-7f0000001000 r-xp 00000000 08:01 10 %s\n", path);
        hd_dump *dump = read_text(text);
        snprintf(expected, sizeof expected, "/%s+0x10 8 1\n", path + (slash ? 3991 : 4000 - HEAP_TEXT_PATH));
        assert_text(profile_text(hd_dump_heap(dump, 0)->profile), expected);
        hd_dump_free(dump);
    }
}

static void all_forms_are_read(void **state) {
    (void)state;
    static const struct { const char *text, *allocator; uint64_t sample_bytes, heaps, blocks, bytes; } forms[] = {
        { "heap profile:      1:        8 [     1:        8] @ heapprofile\n     1:        8 [     1:        8] @ 0x7 0x8\n", "tcmalloc", 0, 2, 1, 8 },
        { "heap profile: 1: 8 [1: 8] @ heapprofile\r\n1: 8 [1: 8] @ 0x7\t0x8 \r\n\r\nMAPPED_LIBRARIES:\r\n1-2 r-xp 0 0:0 0 /x\r\n", "tcmalloc", 0, 2, 1, 8 },
        { "heap profile: 0: 0 [0: 0] @ heapprofile\n", "tcmalloc", 0, 2, 0, 0 },
        { "heap profile: 0: 0 [0: 0] @ heap_v2/524288", "tcmalloc", 524288, 1, 0, 0 },
        { "heap profile: 1: 8 [1: 8] @ heapz_v2/1\n1: 8 [1: 8] @\n", "tcmalloc", 0, 1, 1, 8 },
        { "heap profile: 1: 8 [2: 9] @ heap_v2\n1: 8 [2: 9] @ 0x5\n", "tcmalloc", 0, 2, 1, 8 },
        { "heap profile: 1: 8 [1: 8] @ heap/2\n1: 8 [1: 8] @ 0x5\n--- Memory map: ---\n", "go", 0, 2, 1, 8 },
        { "heap_v2/1\n  t*: 1: 8 [0: 0]\n  t0: 1: 8 [0: 0]\n@ 0x5 0x6\n  t*: 1: 8 [0: 0]\n  t3: 1: 8 [0: 0] a thread\n\nMAPPED_LIBRARIES:\n", "jemalloc", 0, 1, 1, 8 },
        { "heap_v2/0\n@\n  t*: 1: 8 [4: 9]\n@ 0x6\n  t*: 0: 0 [4: 9]\nMAPPED_LIBRARIES:\n", "jemalloc", 0, 2, 1, 8 },
        { "heap_v2/524288\nMAPPED_LIBRARIES:\n", "jemalloc", 524288, 1, 0, 0 },
        { "heap profile: 1: 8 [5: 90] @ growth\n1: 8 [5: 90] @ 0x5\n", "tcmalloc/growth", 0, 2, 1, 8 },
        { "heap profile: 1: 8 [1: 8] @ growthz\n1: 8 [1: 8] @ 0x5\n", "tcmalloc/growth", 0, 1, 1, 8 },
        { "heap profile: 1: 8 [1: 8] @ fragmentationz\n1: 8 [1: 8] @ 0x5\n", "tcmalloc/fragmentation", 0, 1, 1, 8 },
        { "heap profile: 1: 8 [1: 8] @ fragmentation/4\n1: 8 [1: 8] @ 0x5\n", "tcmalloc/fragmentation", 0, 1, 1, 8 },
        { "--- heap\nheap profile: 1: 8 [1: 8] @ heapprofile\n1: 8 [1: 8] @ 0x5\n", "tcmalloc", 0, 2, 1, 8 },
        { "--- growth\r\nheap profile: 1: 8 [1: 8] @ growth\r\n1: 8 [1: 8] @ 0x5\r\n", "tcmalloc/growth", 0, 1, 1, 8 },
        { "--- symbol\n---\nheap profile: 1: 8 [1: 8] @ heapprofile\n1: 8 [1: 8] @ 0x5\n", "tcmalloc", 0, 2, 1, 8 },
        /* a part of a mapping is missing */
        { "heap profile: 1: 50 [2: 99] @ heapprofile\n0: 20 [1: 69] @ 0x5\n1: 30 [1: 30] @ 0x5\n", "tcmalloc", 0, 2, 1, 50 },
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        hd_dump *dump = read_text(forms[i].text);
        has_heap(dump, 0, HD_HEAP_LIVE, forms[i].allocator, forms[i].sample_bytes, forms[i].blocks, forms[i].bytes);
        assert_int_equal(hd_dump_heap_count(dump), forms[i].heaps);
        hd_dump_free(dump);
    }
}

#define HEAD "heap profile: 1: 8 [1: 8] @ heapprofile\n"
#define GOOD "1: 8 [1: 8] @ 0x7\n"

/* The fault, its place, and the result of lenient reading: warnings, live bytes, allocated bytes. */
static const struct { const char *text, *message; uint64_t line, offset, warnings, live, total; } bad[] = {
    { HEAD GOOD "x\n", "a decimal number expected, found 'x'", 3, 58, 1, 8, 8 },
    { HEAD GOOD "1\n", "':' after the number of blocks expected, and the line ends", 3, 59, 1, 8, 8 },
    { HEAD GOOD "1: 8\n", "'[' after the live amount expected, and the line ends", 3, 62, 1, 8, 8 },
    { HEAD GOOD "1: 8 [1: 8\n", "']' after the allocated amount expected, and the line ends", 3, 68, 1, 8, 8 },
    { HEAD GOOD "1: 8 [1: 8]\n", "'@' and addresses expected, and the line ends", 3, 69, 1, 8, 8 },
    { HEAD GOOD "1: 8 [1: 8] @ 7\n", "an address: 0x and hexadecimal digits expected, found '7'", 3, 72, 1, 8, 8 },
    { HEAD GOOD "1: 8 [1: 8] @ 0x\n", "a hexadecimal number expected, and the line ends", 3, 74, 1, 8, 8 },
    { HEAD GOOD "1: 8 [1: 8] @ 0x7,\n", "a space after an address expected, found ','", 3, 75, 1, 8, 8 },
    { HEAD GOOD "1: 8 [1: 8] @ 0x12345678123456789\n", "a number of at most 64 bits expected, found '12345678123456789'", 3, 74, 1, 8, 8 },
    { HEAD GOOD "1: 18446744073709551616 [1: 8] @ 0x7\n", "a number of at most 64 bits expected, found '18446744073709551616 [1: 8] @ '", 3, 61, 1, 8, 8 },
    { HEAD GOOD "-1: 8 [1: 8] @ 0x7\n", "a number of blocks that is not negative expected, found '-1: 8 [1: 8] @ 0x7'", 3, 58, 2, 8, 16 },
    { HEAD GOOD "1: -8 [1: 8] @ 0x7\n", "a number of bytes that is not negative expected, found '-8 [1: 8] @ 0x7'", 3, 61, 2, 8, 16 },
    { HEAD GOOD "1: 8 [-1: 8] @ 0x7\n", "a number of blocks that is not negative expected, found '-1: 8] @ 0x7'", 3, 64, 2, 16, 8 },
    { HEAD GOOD "\x1b[31m\xff\n", "a decimal number expected, found '?[31m?'", 3, 58, 1, 8, 8 },
    { HEAD, "the first line says 1 block, 8 bytes live, but the stacks add up to 0 blocks, 0 bytes; allocated: 1 block, 8 bytes, but 0 blocks, 0 bytes", 2, 40, 1, 0, 0 },
    { HEAD GOOD GOOD, "the first line says 1 block, 8 bytes live, but the stacks add up to 2 blocks, 16 bytes; allocated: 1 block, 8 bytes, but 2 blocks, 16 bytes", 4, 76, 1, 16, 16 },
    { HEAD "1: 8 [2: 24] @ 0x7\n", "the first line says 1 block, 8 bytes allocated, but the stacks add up to 2 blocks, 24 bytes", 3, 59, 1, 8, 24 },
    { HEAD "2: 8 [1: 8] @ 0x7\n", "the first line says 1 block, 8 bytes live, but the stacks add up to 2 blocks, 8 bytes", 3, 58, 1, 8, 8 },
    { HEAD "0: 5 [1: 8] @ 0x7\n1: 8 [0: 0] @ 0x8\n", "the first line says 1 block, 8 bytes live, but the stacks add up to 1 block, 13 bytes", 4, 76, 1, 13, 8 },
    /* the sum is checked after a warning, too */
    { HEAD GOOD GOOD "x\n", "a decimal number expected, found 'x'", 4, 76, 2, 16, 16 },
    { "heap profile: 1: 8 [1: 8] @ heap/4096\n0: 8 [1: 8] @ 0x7\n",
      "the bytes of 0 blocks to be 0, and a space expected, found ' [1: 8] @ 0x7'", 2, 42, 2, 0, 0 },
    { HEAD GOOD "2: 18446744073709551615 [0: 0] @ 0x7\n", "all cells together pass 2^64 - 2 bytes or blocks", 3, 58, 2, 8, 8 },
    { HEAD GOOD "MAPPED_LIBRARIES:\n1\n", "'-' between the addresses of a mapping expected, and the line ends", 4, 77, 1, 8, 8 },
    { HEAD GOOD "MAPPED_LIBRARIES:\nx\n", "a hexadecimal number expected, found 'x'", 4, 76, 1, 8, 8 },
    { HEAD GOOD "MAPPED_LIBRARIES:\n1-2 r-xp 0\n", "permissions, offset, device and inode of a mapping expected, and the line ends", 4, 86, 1, 8, 8 },
    { HEAD GOOD "MAPPED_LIBRARIES:\n1-2 r-xp z\n", "a hexadecimal number expected, found 'z'", 4, 85, 1, 8, 8 },
    { "heap_v2/1\n@ 0x5\n  t*: 1: 8 [1: 8]\n", "MAPPED_LIBRARIES expected, and the input ends", 4, 34, 1, 8, 8 },
    { "heap_v2/1\n@ 0x5\n  t*: 1: 8 [1: 8]\n  tx: 1: 8 [1: 8]\nMAPPED_LIBRARIES:\n", "a decimal number expected, found 'x: 1: 8 [1: 8]'", 4, 37, 1, 8, 8 },
    { "heap_v2/1\n@ 0x5\n  t* 1: 8 [1: 8]\n@ 0x6\nt*: 1: 8 [1: 8]\nMAPPED_LIBRARIES:\n",
      "':' after t*, or t and the number of a thread expected, found ' 1: 8 [1: 8]'", 3, 20, 1, 8, 8 },
    { "heap_v2/1\n@ 0x5\n  t0: 1: 8 [1: 8]\n@ 0x6\n  t*: 1: 8 [1: 8]\n  t0: 1: 8 [1: 8]\nMAPPED_LIBRARIES:\n",
      "t* with the amounts of the stack before it expected, found '@ 0x6'", 4, 34, 1, 8, 8 },
    { "heap_v2/1\n@ 0x5\n  t0: 1: 8 [1: 8]\nMAPPED_LIBRARIES:\n",
      "t* with the amounts of the stack before it expected, found 'MAPPED_LIBRARIES:'", 4, 34, 1, 0, 0 },
    { "heap_v2/1\n@ 0x5\n  t*: 1: 8 [x]\n  t0: 1: 8 [1: 8]\n@ 0x6\n  t*: 1: 8 [1: 8]\nMAPPED_LIBRARIES:\n",
      "a decimal number expected, found 'x]'", 3, 28, 1, 8, 8 },
    { "heap_v2/1\n@ 0x5\n t*: 1: 8 [1: 8]\n1: 8 [1: 8]\nMAPPED_LIBRARIES:\n", "'@' and addresses, or t* and t0 with its numbers expected, found '1: 8 [1: 8]'", 4, 33, 1, 8, 8 },
    { "heap_v2/9223372036854775807\n@ 0x5\n t*: 9: 9 [9: 9]\nMAPPED_LIBRARIES:\n", "a scaled size of at most 64 bits expected", 2, 28, 2, 0, 0 },
    { "heap profile: -1: 8 [1: 8] @ heapprofile\n" GOOD, "a number of blocks that is not negative expected, found '-1: 8 [1: 8] @ heapprofile'", 1, 14, 1, 8, 8 },
    { "heap profile: @ heapprofile\n" GOOD, "a decimal number expected, found '@ heapprofile'", 1, 14, 0, 0, 0 },
};

static void malformed_lines_are_left_out(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hd_dump *dump;
        hd_error err;
        hd_status status = read_with(&format, bad[i].text, strlen(bad[i].text), (hd_options){ 0 }, &dump, &err);
        assert_true(status == HD_MALFORMED || status == HD_OVERFLOW);
        assert_string_equal(err.message, bad[i].message);
        assert_int_equal(err.line, bad[i].line);
        assert_int_equal(err.offset, bad[i].offset);
        if (!bad[i].warnings) continue;
        dump = read_well(&format, bad[i].text, strlen(bad[i].text), true, bad[i].warnings);
        assert_int_equal(hd_profile_bytes(hd_dump_heap(dump, 0)->profile), bad[i].live);
        if (hd_dump_heap_count(dump) > 1) assert_int_equal(hd_profile_bytes(hd_dump_heap(dump, 1)->profile), bad[i].total);
        hd_dump_free(dump);
    }
}

static void other_profiles_are_named(void **state) {
    (void)state;
    static const struct { const char *text, *message; hd_status status; } others[] = {
        { "heap profile: 1: 8 [1: 8] @ other\n", "'@ heapprofile', '@ heap_v2/R', '@ heap/R' or '@ growth' expected, found 'other'", HD_UNSUPPORTED },
        { "heap profile: 1: 8 [1: 8]\n", "'@ heapprofile', '@ heap_v2/R', '@ heap/R' or '@ growth' expected, and the line ends", HD_MALFORMED },
        { "--- contention\ncycles/second = 1\n", "a heap profile expected, found a profile of lock contention ('--- contention')", HD_UNSUPPORTED },
        { "--- contentionz 1 ---\n", "a heap profile expected, found a profile of lock contention ('--- contentionz 1 ---')", HD_UNSUPPORTED },
        { "--- mutex:\ncycles/second=1\n", "a heap profile expected, found a profile of lock contention ('--- mutex:')", HD_UNSUPPORTED },
        { "--- profile\n", "a heap profile expected, found a CPU profile ('--- profile')", HD_UNSUPPORTED },
        { "--- heapz 1 ---\nformat = java\n", "a heap profile expected, found a heap profile of Java ('--- heapz 1 ---')", HD_UNSUPPORTED },
        { "--- threadz 1 ---\n", "a heap profile expected, found a list of threads ('--- threadz 1 ---')", HD_UNSUPPORTED },
        { "goroutine profile: total 6\n1 @ 0x430856\n", "a heap profile expected, found a list of goroutines ('goroutine profile: total 6')", HD_UNSUPPORTED },
        { "threadcreate profile: total 6\n", "a heap profile expected, found a list of threads ('threadcreate profile: total 6')", HD_UNSUPPORTED },
        { "--- heap\nother\n", "'heap profile:' or 'heap_v2/' expected, found 'other'", HD_MALFORMED },
        { "--- symbol\n0x1 f\n---\n--- profile\n", "a heap profile expected, found a CPU profile ('--- profile')", HD_UNSUPPORTED },
        { "--- symbol\n0x1 f\n", "'heap profile:' or 'heap_v2/' expected, and the input ends", HD_MALFORMED },
        { "heap profile: 1: 8 [1: 8] @ heap/x\n", "a number of bytes per sample expected, found 'x'", HD_MALFORMED },
        { "heap_v2/99999999999999999999\n", "a number of bytes per sample expected, found '99999999999999999999'", HD_MALFORMED },
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        for (int lenient = 0; lenient < 2; lenient++) {
            hd_dump *dump;
            hd_error err;
            assert_int_equal(read_with(&format, others[i].text, strlen(others[i].text), (hd_options){ .lenient = lenient }, &dump, &err),
                             others[i].status);
            assert_string_equal(err.message, others[i].message);
            assert_true(err.line >= 1 && err.offset <= strlen(others[i].text));
            assert_int_equal(heap_text_detect((const uint8_t *)others[i].text, strlen(others[i].text)), 100);
        }
    static const char *const none[] = { "--- other\n", "---\n", "--- \n", "%warn\n", "%warn\nother\n", "--- symbols of this\n", "goroutine profile", "--- contents\n" };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) assert_int_equal(heap_text_detect((const uint8_t *)none[i], strlen(none[i])), 0);
    assert_int_equal(heap_text_detect((const uint8_t *)"heap_v2/", 8), 0);
    assert_int_equal(heap_text_detect((const uint8_t *)"heap_v2/a", 9), 0);
    assert_int_equal(heap_text_detect((const uint8_t *)"heap profile", 12), 0);
}

static void keep_warning(void *user, const hd_error *warning) {
    assert_int_equal(warning->status, HD_LIMIT);
    strcat(strcat((char *)user, warning->message), "\n");
}

/* Lines with "%" may precede the header. Warnings show their text; they are no damage. */
static void commands_before_the_header_are_shown(void **state) {
    (void)state;
    static const char text[] = "%warn  the sampling was changed\r\n%other\n%warn\n" HEAD GOOD;
    static const char symbolized[] = "%a\n--- symbol\n---\n%b\n--- heap\n%c\n" HEAD GOOD;
    char told[1000] = "";
    hd_options options = { .warning = keep_warning, .warning_user = told };
    hd_dump *dump;
    hd_error err;
    assert_int_equal(heap_text_detect((const uint8_t *)text, sizeof text - 1), 100);
    assert_int_equal(read_with(&format, text, sizeof text - 1, options, &dump, &err), HD_OK);
    assert_string_equal(told, "the file says: '%warn  the sampling was changed'\nthe file says: '%other'\nthe file says: '%warn'\n");
    has_heap(dump, 0, HD_HEAP_LIVE, "tcmalloc", 0, 1, 8);
    assert_int_equal(hd_dump_warning_count(dump), 0);
    hd_dump_free(dump);
    *told = 0;
    assert_int_equal(read_with(&format, symbolized, sizeof symbolized - 1, options, &dump, &err), HD_OK);
    assert_string_equal(told, "the file says: '%a'\nthe file says: '%b'\nthe file says: '%c'\n");
    hd_dump_free(dump);
}

/* As jeprof and pprof print them with --raw: names for addresses inside the calls, callers of inlined functions
   first. ClickHouse and others name the addresses after the calls. */
static void symbols_name_addresses(void **state) {
    (void)state;
    static const struct { const char *symbols, *stack, *maps, *expected, *process; } cases[] = {
        { "binary=/bin/app\n0x000000000040000f leak\n0x000000000040001f main\n", "0x400010 0x400020",
          "00400000-00500000 r-xp 00000000 08:01 1 /bin/app\n", "/main [app]/leak [app] 8 1\n", "app" },
        { "binary = /x/other \r\n0x40000f outer(int)--middle--inner<int>\r\n0x400020 main\r\n", "0x400010 0x400020", "",
          "/main/outer(int)/middle/inner<int> 8 1\n", "other" },
        { "0x40000f f--A::operator----g\n0x40001f \n0x zz\nother\nkey=value\n0x11111111111111111 x\n", "0x400010 0x400020",
          "7fff00000000-7fff00001000 r-xp 00000000 00:00 0 [vdso]\n", "/0x40001f/f/A::operator--/g 8 1\n", NULL },
        { "0x7FFF00000000 f\n0x7fff00000000 later\n", "0x7fff00000001", "7fff00000000-7fff00001000 r-xp 00000000 00:00 0 [vdso]\n",
          "/later [vdso] 8 1\n", NULL },
        { "0x40000f a<0000000000001216>--b<00001216>\n0x40001f c<1216>--d<000012167>\n", "0x400010 0x400020", "", "/c<1216>/d<000012167>/a/b 8 1\n", NULL },
        { "0x40000f <00001216>--g<00001216>>\n", "0x400010", "", "/<00001216>/g<00001216>> 8 1\n", NULL },
        { "0x40000f --f----\n", "0x400010", "400000-500000 r-xp 0 0:0 0 /lib/a b.so (deleted)\n", "/f [a b.so] 8 1\n", "a b.so" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int is_jemalloc = 0; is_jemalloc < 2; is_jemalloc++) {
            char text[1000];
            snprintf(text, sizeof text, is_jemalloc ? "--- symbol\n%s---\n--- heap\nheap_v2/1\n@ %s\n  t*: 1: 8 [0: 0]\n\nMAPPED_LIBRARIES:\n%s"
                                                    : "--- symbol\n%s---\n--- heap\n" HEAD "1: 8 [1: 8] @ %s\n\nMAPPED_LIBRARIES:\n%s",
                     cases[i].symbols, cases[i].stack, cases[i].maps);
            hd_dump *dump = read_text(text);
            assert_text(profile_text(hd_dump_heap(dump, 0)->profile), cases[i].expected);
            if (cases[i].process) assert_string_equal(hd_dump_heap(dump, 0)->process, cases[i].process);
            else assert_null(hd_dump_heap(dump, 0)->process);
            hd_dump_free(dump);
        }
}

/* An address has at most 32 functions: the rest of the line is one function. */
static void symbols_are_bounded(void **state) {
    (void)state;
    char text[2000];
    size_t n = (size_t)sprintf(text, "--- symbol\n0x6 f");
    for (int i = 1; i < 100; i++) n += (size_t)sprintf(text + n, "--f%d", i);
    sprintf(text + n, "\n---\n--- heap\n" HEAD GOOD);
    hd_dump *dump = read_text(text);
    hd_axis axis = hd_profile_axis(hd_dump_heap(dump, 0)->profile, 0);
    assert_int_equal(axis.node_count, 33);
    assert_memory_equal(axis.node_name[32].data, "f31--f32--", 10);
    hd_dump_free(dump);
}

/* "START-END: PATH", as google/pprof reads them, and names that abbreviate parts of paths. */
static void brief_maps_are_read(void **state) {
    (void)state;
    static const struct { const char *address, *frame; } frames[] = {
        { "0x400010", "/home/app+0x40000f" }, { "0x7f0000001010", "/lib/libc-2.15.so+0x100f" },
        { "0x7f0000010011", "/home/b/$other.so+0x2010" }, { "0x7f0000020011", "0x7f0000020010" },
        { "0x7f0000030011", "/x.so+0x10" }, { "0x7f0000040011", "/home/home+0x10" },
    };
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        char text[2048], expected[128];
        snprintf(text, sizeof text, HEAD "1: 8 [1: 8] @ %s\n--- Memory map: ---\n  source=/home\nsource2 = b \n"
                 "  00400000-00fcb000: $source/app\n  7f0000000000-7f0000002000: /lib/libc-2.15.so\n"
                 "7f0000010000-7f0000012000: r-xp $source/$source2/$other.so (@2000) abcd\n7f0000020000-7f0000021000: \n"
                 "0x7f0000030000-0x7f0000031000 /x.so\r\n7f0000040000-7f0000041000:$source$source\n", frames[i].address);
        hd_dump *dump = read_text(text);
        snprintf(expected, sizeof expected, "/%s 8 1\n", frames[i].frame);
        assert_text(profile_text(hd_dump_heap(dump, 0)->profile), expected);
        hd_dump_free(dump);
    }
}

static void count_warning(void *user, const hd_error *warning) {
    assert_int_equal(warning->status, HD_LIMIT);
    assert_non_null(strstr(warning->message, ": gperftools writes 1 MiB at most"));
    ++*(int *)user;
}

/* gperftools stops at 1 MiB: a warning reports that, and it is no damage. */
static void a_full_file_is_reported(void **state) {
    (void)state;
    size_t size = 0;
    int told = 0;
    char *text = (char *)malloc(1100000);
    hd_options options = { .warning = count_warning, .warning_user = &told };
    hd_dump *dump;
    hd_error err;
    assert_non_null(text);
    size += (size_t)sprintf(text, "heap profile: 99999999: 799999992 [99999999: 799999992] @ heapprofile\n");
    for (uint64_t i = 0; size < 1048000; i++) size += (size_t)sprintf(text + size, "1: 8 [1: 8] @ 0x%x\n", (unsigned)i);
    assert_int_equal(read_with(&format, text, size, options, &dump, &err), HD_OK);
    assert_int_equal(told, 1);
    assert_int_equal(hd_dump_warning_count(dump), 0);
    hd_dump_free(dump);
    free(text);
}

/* Stacks with common frames in every combination, compared with a profile filled frame by frame. */
static void frames_in_common_are_the_same(void **state) {
    (void)state;
    enum { STACKS = 3000, DEPTH = 12 };
    char *text = (char *)malloc(STACKS * (DEPTH * 20 + 60));
    size_t n = (size_t)sprintf(text, "heap_v2/1\n  t*: 0: 0 [0: 0]\n");
    const hd_profile_desc desc = { .axis_count = 1 };
    hd_profile *plain[HEAPS] = { hd_profile_create(&desc, NULL), hd_profile_create(&desc, NULL) };
    uint64_t chance = 7;
    for (uint64_t i = 0; i < STACKS; i++) {
        uint64_t address[DEPTH], live = i % 3, total = i % 2 ? i : live;
        size_t depth = 0, most = 1 + (chance >> 40) % (DEPTH - 1);
        for (; depth < most; depth++) {
            chance = chance * UINT64_C(6364136223846793005) + 1442695040888963407u;
            address[depth] = (chance >> 60) % 5 + ((chance >> 50) % 3 << 32);
        }
        n += (size_t)sprintf(text + n, "@");
        for (size_t k = depth; k--;) n += (size_t)sprintf(text + n, " 0x%llx", (unsigned long long)address[k]);
        n += (size_t)sprintf(text + n, "\n  t*: %u: %u [%u: %u]\n", (unsigned)live, (unsigned)live * 8, (unsigned)total,
                             (unsigned)total * 8);
        for (int heap = 0; heap < HEAPS; heap++) {
            uint64_t blocks = heap == LIVE ? live : total;
            uint32_t node = 0;
            for (size_t k = 0; k < depth && blocks; k++) {
                char name[24];
                sprintf(name, "0x%llx", (unsigned long long)(address[k] - (address[k] != 0)));
                assert_int_equal(hd_profile_node(plain[heap], 0, node, hd_cstr(name), &node, NULL), HD_OK);
            }
            if (blocks) assert_int_equal(hd_profile_add(plain[heap], &node, 8 * blocks, blocks, NULL), HD_OK);
        }
    }
    strcpy(text + n, "\nMAPPED_LIBRARIES:\n");
    hd_dump *dump = read_text(text);
    for (int heap = 0; heap < HEAPS; heap++) {
        char *expected = profile_text(plain[heap]);
        assert_text(profile_text(hd_dump_heap(dump, (size_t)heap)->profile), expected);
        free(expected);
        hd_profile_free(plain[heap]);
    }
    hd_dump_free(dump);
    free(text);
}

static const char small[] =
    "heap profile: 3: 24 [4: 32] @ heap_v2/16\n1: 8 [2: 16] @ 0x7f0000001011 0x401235\n2: 16 [2: 16] @ 0x401235\n"
    "#\t0x401234\tmain.f+0x1\tm.go:1\n\nMAPPED_LIBRARIES:\n00400000-00402000 r-xp 00000000 08:01 10 /bin/app\n";
static const char symbols[] =
    "%warn a\n--- symbol\nbinary=/bin/app\n0x401234 f--g\n0x7 main\n---\n--- heap\nheap profile: 1: 8 [2: 16] @ heapprofile\n"
    "1: 8 [2: 16] @ 0x401235 0x7\n--- Memory map: ---\nb=/bin\n400000-402000: $b/app\n";
static const char threads[] =
    "heap_v2/16\n  t*: 3: 24 [4: 32]\n  t0: 3: 24 [4: 32]\n@ 0x401235 0x7\n  t*: 2: 16 [2: 16]\n  t1: 2: 16 [2: 16]\n"
    "@ 0x401235 0x8\n  t*: 1: 8 [2: 16]\n\nMAPPED_LIBRARIES:\n00400000-00402000 r-xp 00000000 08:01 10 /bin/app\n";

static void damage_is_withstood(void **state) {
    (void)state;
    survives_damage(&format, small, sizeof small - 1, 300000);
    survives_damage(&format, threads, sizeof threads - 1, 300000);
    survives_damage(&format, symbols, sizeof symbols - 1, 300000);
    survives_pieces(&format, small, sizeof small - 1);
    survives_faults(&format, small, sizeof small - 1);
    survives_faults(&format, threads, sizeof threads - 1);
    survives_faults(&format, symbols, sizeof symbols - 1);
}

static void malformed_numbers_are_refused(void **state) {
    (void)state;
    survives_malformed(&format, "heap profile: ?: ? [?: ?] @ heapprofile\n?: ? [?: ?] @ 0x?\n");
    survives_malformed(&format, "heap_v2/16\n  t*: ?: ? [?: ?]\n@ 0x?\n  t*: ?: ? [?: ?]\n\nMAPPED_LIBRARIES:\n");
}

static int put_stack(char *to, size_t room, int i) {
    return snprintf(to, room, "1: 8 [2: 16] @ 0x%x 0x%x 0x%x\n", 0x401000 + i, 0x501000 + 7 * i, 0x601000 + i % 97);
}

static void limits_bind(void **state) {
    (void)state;
    char *text = long_text("heap profile: 5000: 40000 [10000: 80000] @ heapprofile\n", "\nMAPPED_LIBRARIES:\n", 5000, put_stack);
    survives_limits(&format, text, strlen(text));
    free(text);
}

/* Large counts in the text take no memory. */
static void claims_are_not_believed(void **state) {
    (void)state;
    static const char *const texts[] = {
        "heap profile: 10000000000: 10000000000 [1: 1] @ heapprofile\n",
        "heap profile: 1: 1 [1: 1] @ heap_v2/18446744073709551615\n18446744073709551615: 18446744073709551615 [1: 1] @ 0x1\n",
        "heap_v2/1\n@ 0x5\nt18446744073709551615: 18446744073709551615: 18446744073709551615 [0: 0]\n",
        HEAD "MAPPED_LIBRARIES:\n0-ffffffffffffffff r-xp ffffffffffffffff 0:0 0 /x\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) survives(&format, texts[i], strlen(texts[i]), 300000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_files_have_their_totals),
        cmocka_unit_test(go_names_its_frames),
        cmocka_unit_test(samples_are_scaled_line_by_line),
        cmocka_unit_test(addresses_are_in_objects),
        cmocka_unit_test(long_paths_are_cut),
        cmocka_unit_test(all_forms_are_read),
        cmocka_unit_test(malformed_lines_are_left_out),
        cmocka_unit_test(other_profiles_are_named),
        cmocka_unit_test(commands_before_the_header_are_shown),
        cmocka_unit_test(symbols_name_addresses),
        cmocka_unit_test(symbols_are_bounded),
        cmocka_unit_test(brief_maps_are_read),
        cmocka_unit_test(a_full_file_is_reported),
        cmocka_unit_test(frames_in_common_are_the_same),
        cmocka_unit_test(damage_is_withstood),
        cmocka_unit_test(limits_bind),
        cmocka_unit_test(malformed_numbers_are_refused),
        cmocka_unit_test(claims_are_not_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
