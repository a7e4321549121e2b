/* Texts like /proc/PID/smaps, line by line; the first bytes give the number of live bytes, and addresses of blocks.
   For any text, maps stay in order, and the parts add up to the sum of the maps. */
#include "../examples/heapdump/record/resident_maps.c"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    resident_maps maps = { 0 };
    uint64_t part[RESIDENT_PARTS], all = 0, sum = 0, live = size ? data[0] * UINT64_C(0x101010101010101) : 0;
    for (size_t at = 0, end; at < size; at = end + 1) {
        for (end = at; end < size && data[end] != '\n';) end++;
        resident_line(&maps, (const char *)data + at, end - at);
    }
    for (size_t i = 0; i < maps.count; i++) {
        const resident_map *m = &maps.map[i];
        if (m->start >= m->end || (i && maps.map[i - 1].end > m->start)) __builtin_trap();
        if (resident_map_at(&maps, m->start) != m || resident_map_at(&maps, m->end - 1) != m) __builtin_trap();
        maps.map[i].holds = i % 3 == 1;
        all += m->bytes;
    }
    resident_guess_stacks(&maps, size % 8);
    resident_sum(&maps, live, part);
    for (int i = 0; i < RESIDENT_PARTS; i++) sum += part[i];
    if (all != sum) __builtin_trap();
    resident_maps_free(&maps);
    return 0;
}
