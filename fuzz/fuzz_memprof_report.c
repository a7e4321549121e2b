/* Text reports of the MemProf runtime, which the command reads. */
#include "../tests/private.h"
#include "reader.h"
#include "../examples/heapdump/formats/memprof_report.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const hd_format format = { .name = "memprof-report", .detect = memprof_report_detect, .read = memprof_report_read };
    return read_all_ways(&format, data, size);
}
