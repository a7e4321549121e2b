/* Recordings of heaptrack, which the command reads. */
#include "../tests/private.h"
#include "reader.h"
#include "../examples/heapdump/formats/heaptrack.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const hd_format format = { .name = "heaptrack", .detect = heaptrack_detect, .read = heaptrack_read };
    return read_all_ways(&format, data, size);
}
