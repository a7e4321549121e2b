/* Heap dumps of JVMs, which the command reads. */
#include "../tests/private.h"
#include "reader.h"
#include "../examples/heapdump/formats/hprof.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const hd_format format = { .name = "hprof", .detect = hprof_detect, .read = hprof_read, .free = hprof_free,
                                      .graph = hprof_graph, .info = hprof_info, .value = hprof_value };
    return read_all_ways(&format, data, size);
}
