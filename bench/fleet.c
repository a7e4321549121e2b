/* Heap profiles of an invented fleet, generated from a seed: for bench/fleet.py and peers.

       fleet DIRECTORY FORMAT PROFILES [CONTEXTS [STACKS [SEED]]]

   writes DIRECTORY/DAY-RELEASE-HOST.FORMAT: for each host a profile of yesterday and one of today, all of one
   program, sampled every 512 KiB. FORMAT is one of the library's (pprof, chrome, ...), compressed if `.gz` follows.
   Today half of the hosts run release 1.5, which has a leak.

   The parameters were measured on recorded programs (`heapdump record --min-bytes 1`, `convert --to folded`): gcc's
   cc1 with a small file, python3 with JSON, python3 importing all its modules, sqlite3 filling a table:

   - SIZES: bytes of the k-th largest context fall as k^-1.4. Least squares over logarithms, at ranks with equal
     steps of the logarithm. Live bytes: 1.43, 1.41, 0.92; all allocated bytes: 1.38, 1.53, 0.95, 2.27.
   - SHARED: 20 programs compiled by cc1 had 4,237 contexts in the first, 12,391 in all, 5,070 in each. So the number of
     distinct contexts in n profiles grows as n^0.36. It does if a profile has the k-th context with probability
     (K/k)^(1/0.36), at most 1. Then 64 % of a profile's contexts are in all profiles (cc1: 58 %). A program has a
     limited number of contexts, STACKS: four times those of a profile (20 runs of cc1: 2.4 times).
   - FRESH: each context has 3.7 to 8.6 frames (4.4) that no earlier one has in that place, and 12 to 42 in all;
     a profile has 0.2 to 1.1 (0.7) functions for each of its contexts. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>
#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

#define SIZES 1.4
#define SHARED (1 / 0.36)
#define FRESH 4.4
#define DEEPEST 52
#define PERIOD 524288

typedef struct program {
    uint32_t *parent, *function, nodes; /* the tree of calls: node 0 is the root */
    uint32_t *leaf, *type, stacks;      /* of each context */
    double *block_bytes, common;        /* common: K above */
} program;

static uint64_t state;

static uint64_t next(void) {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static uint32_t below(uint32_t n) { return (uint32_t)(next() % n); }
static double chance(void) { return (double)(next() >> 11) / 9007199254740992.0; }

static void *array(size_t count, size_t size) {
    void *p = calloc(count, size);
    if (!p) abort();
    return p;
}

static uint32_t depth_of(const program *p, uint32_t node) {
    uint32_t n = 0;
    for (; node; node = p->parent[node]) n++;
    return n;
}

/* Each context branches off an earlier one near its end, and continues with its own frames. */
static program make_program(uint32_t contexts, uint32_t stacks) {
    program p = { .stacks = stacks, .nodes = 1 };
    double sum;
    p.parent = array((size_t)stacks * DEEPEST + 1, sizeof *p.parent);
    p.function = array((size_t)stacks * DEEPEST + 1, sizeof *p.function);
    p.leaf = array(stacks, sizeof *p.leaf);
    p.type = array(stacks, sizeof *p.type);
    p.block_bytes = array(stacks, sizeof *p.block_bytes);
    for (uint32_t s = 0; s < stacks; s++) {
        uint32_t at = s ? p.leaf[below(s)] : 0, back = below(5), fresh = 1 + below((uint32_t)(2 * FRESH));
        while (back-- && at) at = p.parent[at];
        for (uint32_t left = DEEPEST - depth_of(&p, at); left && fresh; left--, fresh--) {
            p.parent[p.nodes] = at;
            p.function[p.nodes] = below(1 + contexts * 7 / 10);
            at = p.nodes++;
        }
        p.leaf[s] = at;
        p.type[s] = below(40);
        p.block_bytes[s] = (double)(16u << below(10));
    }
    for (p.common = 1, sum = 0; sum < contexts && p.common < stacks; p.common *= 1.001) {
        sum = 0;
        for (uint32_t s = 0; s < stacks; s++) sum += fmin(1, pow(p.common / (s + 1), SHARED));
    }
    return p;
}

/* The profile's node for a node of the program; `made`: nodes that exist already. */
static uint32_t node_of(const program *p, hd_profile *profile, uint32_t *made, uint32_t node) {
    uint32_t path[DEEPEST + 1], depth = 0;
    while (node && !made[node]) path[depth++] = node, node = p->parent[node];
    while (depth--) {
        char name[96];
        unsigned f = p->function[path[depth]];
        snprintf(name, sizeof name, "ns%u::Class%u::method%u(Class%u const&) (source%u.cc:%u)", f % 17, f % 211, f,
                 f % 97, f % 211, 10 + f % 990);
        if (hd_profile_node(profile, HD_AXIS_BACKTRACE, made[node], hd_cstr(name), &made[path[depth]], NULL)) abort();
        node = path[depth];
    }
    return made[node];
}

/* Samples each context of the profile at least once. */
static hd_profile *make_profile(const program *p, bool leaks) {
    hd_profile *profile = hd_profile_create(NULL, NULL);
    uint32_t *made = array(p->nodes, sizeof *made);
    for (uint32_t s = 0; s < p->stacks; s++) {
        double there = fmin(1, pow(p->common / (s + 1), SHARED)), jitter = exp(chance() + chance() - 1);
        double samples = fmax(1, round(1000 * pow(s + 1, -SIZES) * jitter * (leaks && s == 20 ? 9 : 1)));
        double blocks = round(samples / -expm1(-p->block_bytes[s] / PERIOD));
        uint32_t nodes[2];
        char type[16];
        if (chance() >= there && !(leaks && s == 20)) continue;
        snprintf(type, sizeof type, "Type%u", p->type[s]);
        nodes[0] = node_of(p, profile, made, p->leaf[s]);
        if (!profile || hd_profile_node(profile, HD_AXIS_TYPE, 0, hd_cstr(type), &nodes[1], NULL) ||
            hd_profile_add(profile, nodes, (uint64_t)(blocks * p->block_bytes[s]), (uint64_t)blocks, NULL)) abort();
    }
    free(made);
    return profile;
}

static hd_status to_gzip(void *user, const void *data, size_t size) {
    return !size || gzwrite((gzFile)user, data, (unsigned)size) > 0 ? HD_OK : HD_IO;
}

/* Rows contain variances, which reading computes for sampled heaps: so writes the heap and reads it back. */
static hd_dump *as_read(const hd_heap *heap) {
    hd_buffer bytes = { .data = NULL };
    hd_dump *dump;
    if (hd_pprof_write(heap, 1, NULL, hd_out_memory(&bytes), NULL) ||
        hd_read_memory(bytes.data, bytes.size, NULL, &dump, NULL)) abort();
    hd_buffer_free(&bytes);
    return dump;
}

static const hd_format *format_of(const char *name) {
    size_t n = strcspn(name, ".");
    for (size_t i = 0; hd_format_at(i); i++)
        if (strlen(hd_format_at(i)->name) == n && !strncmp(name, hd_format_at(i)->name, n)) return hd_format_at(i);
    fprintf(stderr, "fleet: no format '%s'\n", name);
    exit(2);
}

int main(int argc, char **argv) {
    uint32_t profiles = argc > 3 ? (uint32_t)atoi(argv[3]) : 0, contexts = argc > 4 ? (uint32_t)atoi(argv[4]) : 1000;
    uint32_t stacks = argc > 5 ? (uint32_t)atoi(argv[5]) : 4 * contexts;
    uint64_t seed = state = argc > 6 ? strtoull(argv[6], NULL, 0) : 1;
    program p;
    if (!profiles || !contexts || stacks < contexts) {
        fprintf(stderr, "usage: fleet DIRECTORY FORMAT PROFILES [CONTEXTS [STACKS [SEED]]]\n");
        return 2;
    }
    p = make_program(contexts, stacks);
    for (uint32_t i = 0; i < profiles; i++) {
        const hd_format *format = format_of(argv[2]);
        uint32_t host = i / 2, today = i % 2, leaks = today && host % 2;
        char path[4096], name[64], release[8];
        hd_label labels[] = { { "host", name + 15 }, { "profile", name }, { "release", release } };
        hd_heap heap = { .pid = 100 + host, .process = "server", .allocator = "malloc", .sample_bytes = PERIOD };
        hd_dump *dump;
        hd_error err;
        gzFile out;
        state = seed ^ ((uint64_t)i + 1) << 32;
        heap.time_us = 1763683200000000u + today * 86400000000u; /* 2025-11-21 */
        heap.profile = make_profile(&p, leaks);
        dump = as_read(&heap);
        hd_heap_release(&heap);
        heap = *hd_dump_heap(dump, 0);
        heap.labels = labels;
        heap.label_count = 3;
        snprintf(release, sizeof release, "1.%u", 4 + leaks);
        snprintf(name, sizeof name, "2025-11-%u-%s-host%05u", 21 + today, release, host);
        snprintf(path, sizeof path, "%s/%s.%s", argv[1], name, argv[2]);
        out = gzopen(path, strstr(argv[2], ".gz") ? "wb1" : "wbT");
        if (!out || format->write_heaps(&heap, 1, NULL, hd_out_callback(to_gzip, out), &err) || gzclose(out)) {
            fprintf(stderr, "fleet: %s: not written\n", path);
            return 1;
        }
        hd_dump_free(dump);
    }
    return 0;
}
