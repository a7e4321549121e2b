/* Heap profiles as text, which the command reads. */
#include "../tests/private.h"
#include "reader.h"
#include "../examples/heapdump/formats/heap_text.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const hd_format format = { .name = "heap-text", .detect = heap_text_detect, .read = heap_text_read };
    return read_all_ways(&format, data, size);
}
