/* Profiles of DHAT, which the command reads. */
#include "../tests/private.h"
#include "reader.h"
#include "../examples/heapdump/formats/dhat.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const hd_format format = { .name = "dhat", .detect = dhat_detect, .read = dhat_read };
    return read_all_ways(&format, data, size);
}
