/* Compares the cut-off policies at equal size of their output, on heaps of real programs.

       make bench-cutoff                                records three programs and prints the tables

   Each policy gets the value with the largest output that does not exceed the size. "explained" is the measure by
   which budgets are spent: the share of the information about the cells (in bits, weighted by bytes) that the listed
   entries give. "<other>": bytes that the tree shows in these lines. */
#include <math.h>
#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

static hd_status count_bytes(void *user, const void *data, size_t size) {
    (void)data;
    *(uint64_t *)user += size;
    return HD_OK;
}

static hd_status add_other(void *user, const hd_tree_row *row) {
    if (row->entry == HD_NONE) *(uint64_t *)user += row->amount.bytes;
    return HD_OK;
}

static void must(hd_status status) {
    if (!status) return;
    fprintf(stderr, "cutoff: %s\n", hd_status_text(status));
    exit(1);
}

static uint64_t written(const hd_breakdown *b) {
    uint64_t bytes = 0;
    hd_heap heap = { .pid = 1, .breakdown = b };
    must(hd_chrome_write(&heap, 1, NULL, hd_out_callback(count_bytes, &bytes), NULL));
    return bytes;
}

/* The entry of `all` with the names of an entry of `b`. */
static uint32_t entry_in(const hd_breakdown *all, const hd_breakdown *b, uint32_t entry) {
    uint32_t nodes[HD_MAX_AXES];
    for (uint32_t a = 0; a < b->entries.axis_count; a++) {
        uint32_t path[1024], depth = 0;
        for (uint32_t k = hd__entry_node(b, entry, a); k; k = b->axis[a].parent[k]) path[depth++] = k;
        nodes[a] = 0;
        while (depth) nodes[a] = hd_axis_child(all->axis[a], nodes[a], b->axis[a].node_name[path[--depth]]);
    }
    return hd_breakdown_find(all, nodes);
}

/* The explained share: the information of these entries divided by the information of a list of all cells. */
static double explained(const hd_breakdown *all, const hd_breakdown *b) {
    hd__mem m = hd__mem_options(NULL);
    hd__arena arena = { 0 };
    hd__budget x = { 0 };
    hd_rows atoms;
    uint8_t *none = calloc(all->entries.count, 1);
    double bits = 0, most = 0;
    uint64_t gain = 0;
    bool enough = true;
    x.m = &m;
    x.arena = &arena;
    x.b = all;
    must(hd__budget_residuals(&m, &arena, all, &atoms, &x.whole, NULL));
    must(hd__budget_take(&x, &atoms, NULL));
    enough = hd__budget_reset(&x, none);
    for (uint32_t i = 0; i < atoms.count; i++)
        if (atoms.amount[i].bytes)
            most += (double)atoms.amount[i].bytes * log2((double)all->entries.amount[0].bytes / (double)atoms.amount[i].bytes);
    for (uint32_t e = 1; e < b->entries.count; e++) {
        uint32_t in = entry_in(all, b, e);
        enough = enough && hd__budget_gain(&x, in, &gain) && hd__budget_list(&x, in);
        bits += (double)gain / x.scale;
    }
    must(enough ? HD_OK : HD_OUT_OF_MEMORY);
    free(none);
    hd__arr_free(&m, x.classes);
    hd__arr_free(&m, x.cuts);
    hd__arr_free(&m, x.portions);
    hd__arr_free(&m, x.moved);
    hd__arena_free(&m, &arena);
    return most > 0 ? bits / most : 1;
}

typedef enum policy { MIN_BYTES, PARENT_SHARE, TOP, ENTRIES, BYTES, POLICIES } policy;
static const char *const names[] = { "at least n bytes", "at least a share of the parent", "top k", "budget: entries",
                                     "budget: output bytes" };

/* A policy with one value from 0 to 1: a larger value lists more. */
static hd_breakdown *cut(const hd_breakdown *all, policy p, double much, uint64_t size) {
    hd_cutoff c = { 0 };
    hd_breakdown *b;
    double total = (double)all->entries.amount[0].bytes;
    switch (p) {
    case MIN_BYTES: c.min_bytes = (uint64_t)(exp((1 - much) * log(total))); break;
    case PARENT_SHARE: c.min_parent_share = pow(1 - much, 3); break;
    case TOP: c.top = 1 + (uint32_t)(exp(much * 7) - 1); break;
    case ENTRIES: c.max_entries = 1 + (uint32_t)(exp(much * log(all->entries.count)) - 1); break;
    default: c.max_output_bytes = size;
    }
    must(hd_breakdown_cut(all, &c, NULL, &b, NULL));
    return b;
}

static void compare(const char *file, const hd_breakdown *all) {
    static const uint64_t sizes[] = { 2048, 8192, 32768 };
    hd_breakdown *total;
    uint64_t least;
    must(hd_breakdown_cut(all, &(hd_cutoff){ .max_entries = 1 }, NULL, &total, NULL));
    least = written(total);
    hd_breakdown_free(total);
    printf("\n%s: %llu bytes in %u entries, %llu bytes of trace\n", file, (unsigned long long)all->entries.amount[0].bytes,
           all->entries.count, (unsigned long long)written(all));
    printf("%8s  %-32s %8s %8s %10s %9s\n", "at most", "policy", "output", "entries", "explained", "<other>");
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int p = 0; p < POLICIES; p++) {
            hd_breakdown *best = NULL;
            double low = 0, high = 1;
            uint64_t other = 0;
            for (int step = 0; step < (p == BYTES ? 1 : 24); step++) {
                double middle = p == BYTES ? 1 : (low + high) / 2;
                hd_breakdown *b = cut(all, (policy)p, middle, sizes[s]);
                if (written(b) - least > sizes[s]) {
                    high = middle;
                    hd_breakdown_free(b);
                } else {
                    low = middle;
                    hd_breakdown_free(best);
                    best = b;
                }
            }
            if (!best) continue;
            hd_heap heap = { .breakdown = best };
            must(hd_tree(&heap, NULL, add_other, &other, NULL));
            printf("%8llu  %-32s %8llu %8u %9.1f%% %8.1f%%\n", (unsigned long long)sizes[s], names[p],
                   (unsigned long long)(written(best) - least), best->entries.count, 100 * explained(all, best),
                   100 * (double)other / (double)all->entries.amount[0].bytes);
            hd_breakdown_free(best);
        }
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        hd_dump *dump;
        hd_error err;
        hd_breakdown *all;
        if (hd_read_file(argv[i], NULL, &dump, &err)) {
            fprintf(stderr, "cutoff: %s: %s\n", argv[i], err.message);
            return 1;
        }
        must(hd_heap_break_down(hd_dump_heap(dump, 0), NULL, NULL, &all, NULL));
        compare(argv[i], all);
        hd_breakdown_free(all);
        hd_dump_free(dump);
    }
    return 0;
}
