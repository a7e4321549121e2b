/* Reads and writes raw MemProf profiles for memprof-raw.sh.

       memprof_tool same FILE                 whether it is written back unchanged
       memprof_tool facts FILE                version and counts of each profile
       memprof_tool addresses FILE            the distinct addresses of all stacks, one per line
       memprof_tool records FILE TABLE        each block: "B", its fields from 1 on, then counters; then its frames:
                                              "F", function, line offset, column, inlined. Frames come from a table
                                              of lines "address function file line column start", tab-separated;
                                              several lines of one address have the innermost first
       memprof_tool merge OUT FILE...         writes one profile of all files
       memprof_tool convert OUT VERSION FILE  writes another version
       memprof_tool swap OUT FILE             writes the other byte order */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define HEAPDUMP_IMPLEMENTATION
#include "../../../heapdump.h"

static hd_error err;
static void must(hd_status status) {
    if (!status) return;
    fprintf(stderr, "memprof_tool: %s (offset %" PRIu64 ")\n", err.message, err.offset);
    exit(1);
}

static hd_dump *load(const char *path) {
    hd_in in;
    hd_dump *doc;
    must(hd_in_open(path, &in, &err));
    must(hd_read_as(&hd_format_memprof, in, &(hd_options){ .no_heaps = true }, &doc, &err));
    hd_in_close(&in);
    return doc;
}

static hd_status compare(void *user, const void *data, size_t size) {
    hd_in *left = (hd_in *)user;
    if (size > left->size || memcmp(left->data, data, size)) return HD_INVALID;
    left->data += size;
    left->size -= size;
    return HD_OK;
}

static void same(const char *path) {
    hd_in in, left;
    hd_dump *doc = load(path);
    must(hd_in_open_mapped(path, &in, &err));
    left = in;
    hd_status status = hd_memprof_write(hd_dump_memprof(doc), NULL, hd_out_callback(compare, &left), &err);
    puts(!status && !left.size ? "identical" : "NOT written back as it was");
    hd_in_close(&in);
    hd_dump_free(doc);
}

static void facts(const char *path) {
    hd_dump *doc = load(path);
    for (size_t i = 0; i < hd_memprof_part_count(hd_dump_memprof(doc)); i++) {
        const hd_memprof_raw *r = hd_memprof_part(hd_dump_memprof(doc), i);
        printf("version %u segments %u blocks %u stacks %u counters %" PRIu64 "\n", r->version, r->segment_count,
               r->block_count, r->stack_count, r->counter_count);
    }
    hd_dump_free(doc);
}

static void addresses(const char *path) {
    hd_dump *doc = load(path);
    hd_memprof_symbols *s;
    for (size_t i = 0; i < hd_memprof_part_count(hd_dump_memprof(doc)); i++) {
        must(hd_memprof_symbolize(hd_memprof_part(hd_dump_memprof(doc), i), NULL, NULL, &s, &err));
        for (uint32_t k = 0; k < s->frame_count; k++) printf("0x%" PRIx64 "\n", s->frames[k].pc);
        hd_memprof_symbols_free(s);
    }
    hd_dump_free(doc);
}

typedef struct row {
    uint64_t pc;
    char *function, *file;
    uint32_t line, column, start;
} row;
static row *rows;
static size_t row_count;

static void table(const char *path) {
    static char line[65536];
    FILE *f = fopen(path, "r");
    if (!f) exit(1);
    while (fgets(line, sizeof line, f)) {
        char *field[6], *p = strtok(line, "\t\n");
        for (int i = 0; i < 6; i++, p = strtok(NULL, "\t\n"))
            if (!(field[i] = p)) exit(1);
        rows = realloc(rows, (row_count + 1) * sizeof *rows);
        rows[row_count++] = (row){ strtoull(field[0], NULL, 0), strdup(field[1]), strdup(field[2]),
                                   (uint32_t)atoi(field[3]), (uint32_t)atoi(field[4]), (uint32_t)atoi(field[5]) };
    }
    fclose(f);
}

static uint32_t symbolize(void *user, const hd_memprof_address *a, hd_memprof_frame *f, uint32_t capacity) {
    uint32_t n = 0;
    (void)user;
    for (size_t i = 0; i < row_count && n < capacity; i++)
        if (rows[i].pc == a->pc) {
            f[n].function = hd_cstr(rows[i].function);
            f[n].file = hd_cstr(rows[i].file);
            f[n].line = rows[i].line;
            f[n].column = rows[i].column;
            f[n++].start_line = rows[i].start;
        }
    return n;
}

static void records(const hd_memprof_raw *r) {
    hd_memprof_symbolizer by = { .symbolize = symbolize };
    hd_memprof_symbols *s;
    must(hd_memprof_symbolize(r, &by, NULL, &s, &err));
    for (uint32_t i = 0; i < r->block_count; i++) {
        const hd_memprof_block *b = &r->blocks[i];
        if (s->first[b->stack] == s->first[b->stack + 1]) continue;
        printf("B");
        for (uint32_t f = 1; f < HD_MEMPROF_FIELDS; f++)
            if (r->fields >> f & 1) printf(" %" PRIu64, b->value[f]);
        for (uint64_t k = 0; k < b->value[HD_MEMPROF_ACCESS_HISTOGRAM_SIZE]; k++)
            printf(" %" PRIu64, hd_memprof_counter(r, b->histogram + k));
        puts("");
        for (uint32_t k = s->first[b->stack]; k < s->first[b->stack + 1]; k++) {
            const hd_memprof_frame *f = &s->frames[s->frame[k]];
            printf("F %.*s %u %u %d\n", (int)f->function.len, f->function.data, f->line - f->start_line, f->column, f->inlined);
        }
    }
    hd_memprof_symbols_free(s);
}

int main(int argc, char **argv) {
    const char *mode = argc > 2 ? argv[1] : "";
    if (argc < 3) return fprintf(stderr, "usage: see memprof_tool.c\n"), 2;
    if (!strcmp(mode, "same")) same(argv[2]);
    else if (!strcmp(mode, "facts")) facts(argv[2]);
    else if (!strcmp(mode, "addresses")) addresses(argv[2]);
    else if (!strcmp(mode, "records")) {
        hd_dump *doc = load(argv[2]);
        table(argv[3]);
        for (size_t i = 0; i < hd_memprof_part_count(hd_dump_memprof(doc)); i++)
            records(hd_memprof_part(hd_dump_memprof(doc), i));
        hd_dump_free(doc);
    } else {
        FILE *out = fopen(argv[2], "wb");
        hd_memprof *doc;
        if (!out) return 1;
        if (!strcmp(mode, "merge")) {
            hd_memprof_merger *x = hd_memprof_merger_create(NULL, &err);
            for (int i = 3; i < argc; i++) {
                hd_memprof_reader *r;
                const hd_memprof_raw *raw;
                hd_in in;
                must(hd_in_open(argv[i], &in, &err));
                must(hd_memprof_open(in, NULL, &r, &err));
                for (;;) {
                    must(hd_memprof_next(r, &raw, &err));
                    if (!raw) break;
                    must(hd_memprof_merger_add(x, raw, &err));
                }
                hd_memprof_close(r);
                hd_in_close(&in);
            }
            must(hd_memprof_merger_finish(x, &doc, &err));
            hd_memprof_merger_free(x);
            must(hd_memprof_write(doc, NULL, hd_out_file(out), &err));
            hd_memprof_free(doc);
        } else {
            hd_memprof_raw raw;
            hd_dump *dump = load(argv[argc - 1]);
            raw = *hd_memprof_part(hd_dump_memprof(dump), 0);
            if (*mode == 's') raw.big_endian = !raw.big_endian;
            must(hd_memprof_write_raw(&raw, *mode == 'c' ? (uint32_t)atoi(argv[3]) : 0, NULL, hd_out_file(out), &err));
            hd_dump_free(dump);
        }
        if (fclose(out)) return 1;
    }
    return 0;
}
