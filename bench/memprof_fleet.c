/* Raw MemProf profiles of many invented runs of one program: for bench/memprof.py.

       memprof_fleet PREFIX PROCESSES BUILD_ID START END < ADDRESSES

   writes PREFIX.0.raw and so on, in version 4. The number of call stacks follows the document's 500 runs of clang:
   the least (940) in the first, mostly 10661, and the most (35355) in the second; the program has twice as many in
   all. Three in four addresses are taken from the input, one per line, in a program mapped at [START, END). The
   others are in libraries, at another address each time. With 0 processes: one profile, PREFIX.raw, with each address
   once. */
#include <inttypes.h>
#include <stdio.h>
#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"
#include "../tests/memprof.h"

static uint64_t *addresses;
static uint32_t address_count;

static void read_addresses(void) {
    char line[64];
    uint32_t capacity = 0;
    while (fgets(line, sizeof line, stdin)) {
        if (address_count == capacity) {
            capacity = capacity ? 2 * capacity : 4096;
            addresses = (uint64_t *)realloc(addresses, capacity * sizeof *addresses);
            if (!addresses) abort();
        }
        addresses[address_count++] = strtoull(line, NULL, 0);
    }
}

static void be_program(hd_memprof_segment *s, char **told) {
    memset(s->build_id, 0, sizeof s->build_id);
    s->build_id_size = (uint32_t)strlen(told[0]) / 2;
    for (uint32_t i = 0; i < s->build_id_size && i < 32; i++) {
        char digits[3] = { told[0][2 * i], told[0][2 * i + 1], 0 };
        s->build_id[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    s->start = strtoull(told[1], NULL, 0);
    s->end = strtoull(told[2], NULL, 0);
    s->offset = 0;
}

static void write_profile(const char *prefix, const char *number, const mp_model *model) {
    char path[4096];
    mp_bytes bytes;
    FILE *f;
    memset(&bytes, 0, sizeof bytes);
    mp_write(&bytes, &model->raw);
    snprintf(path, sizeof path, "%s%s.raw", prefix, number);
    f = fopen(path, "wb");
    if (!f || fwrite(bytes.data, 1, bytes.size, f) != bytes.size || fclose(f)) {
        perror(path);
        exit(1);
    }
    free(bytes.data);
}

/* Every address, five to a stack. */
static void each_address(mp_model *m) {
    uint32_t stacks = (address_count + 4) / 5;
    mp_open(m, 4, 1, stacks, stacks, address_count, 0);
    memcpy(m->pc, addresses, address_count * sizeof *addresses);
    for (uint32_t i = 0; i < stacks; i++) {
        m->stack_id[i] = i + 1;
        m->first[i + 1] = 5 * (i + 1) < address_count ? 5 * (i + 1) : address_count;
        m->blocks[i].stack = i;
        m->blocks[i].value[HD_MEMPROF_ALLOC_COUNT] = 1;
    }
}

int main(int argc, char **argv) {
    int processes = argc == 6 ? atoi(argv[2]) : -1;
    read_addresses();
    if (processes < 0 || !address_count) return fputs("usage: see memprof_fleet.c\n", stderr), 2;
    for (int i = 0; i < processes; i++) {
        uint32_t contexts = i == 0 ? 940 : i == 1 ? 35355 : 10661;
        char number[16];
        mp_model m;
        mp_process(&m, (uint32_t)i, contexts, 2 * 35355, 4);
        for (uint32_t k = 0; k < m.first[contexts]; k++)
            if (m.pc[k] < m.segments[0].end) m.pc[k] = addresses[(m.pc[k] - m.segments[0].start) % address_count];
        be_program(&m.segments[0], argv + 3);
        snprintf(number, sizeof number, ".%d", i);
        write_profile(argv[1], number, &m);
        mp_close(&m);
    }
    if (!processes) {
        mp_model m;
        each_address(&m);
        be_program(&m.segments[0], argv + 3);
        write_profile(argv[1], "", &m);
        mp_close(&m);
    }
    free(addresses);
    return 0;
}
