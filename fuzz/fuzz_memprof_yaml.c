/* MemProf profiles as YAML, which the command reads; written and read again, a profile is equal. */
#include "../tests/private.h"
#include "reader.h"
#include "../examples/heapdump/formats/memprof_yaml.c"
#include "../examples/heapdump/formats/memprof_yaml_write.c"

static const hd_format format = { .name = "memprof-yaml", .detect = memprof_yaml_detect, .read = memprof_yaml_read,
                                  .write = memprof_yaml_write };

static hd_buffer written(const void *data, size_t size) {
    hd_options options = { .formats = &format, .format_count = 1 };
    hd_dump *dump;
    hd_buffer out = { 0 };
    if (hd_read_memory(data, size, &options, &dump, NULL)) return out;
    CHECK(!hd_dump_write(dump, NULL, hd_out_memory(&out), NULL));
    hd_dump_free(dump);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hd_buffer once, again, third;
    if (!memprof_yaml_detect(data, size < HD_DETECT_BYTES ? size : HD_DETECT_BYTES)) return 0;
    once = written(data, size);
    again = written(once.data, once.size);
    third = written(again.data, again.size);
    CHECK(!once.size || again.size == once.size || !again.size); /* invalid UTF-8 is cut off, a record without sites stays */
    CHECK(third.size == again.size);
    hd_buffer_free(&once);
    hd_buffer_free(&again);
    hd_buffer_free(&third);
    return read_all_ways(&format, data, size);
}
