#include "formats.h"

const hd_format tool_formats[] = {
    { .name = "speedscope", .detect = speedscope_detect, .write_heaps = speedscope_write,
      .lacks = HD_LACKS_TYPES | HD_LACKS_CUMULATIVE | HD_LACKS_BLOCKS | HD_LACKS_VARIANCE | HD_LACKS_TIMES |
               HD_LACKS_MORE_LABELS },
    { .name = "heap-text", .title = "a heap profile as text", .detect = heap_text_detect, .read = heap_text_read },
    { .name = "heaptrack", .title = "a heaptrack recording", .detect = heaptrack_detect, .read = heaptrack_read },
    { .name = "memprof-yaml", .title = "a memprof profile as YAML", .detect = memprof_yaml_detect,
      .read = memprof_yaml_read, .write = memprof_yaml_write },
    { .name = "memprof-report", .title = "a text report of the MemProf runtime", .detect = memprof_report_detect,
      .read = memprof_report_read },
    { .name = NULL } /* the end */
};
const size_t tool_format_count = sizeof tool_formats / sizeof *tool_formats - 1;

const hd_format *format_at(size_t index) {
    return index < tool_format_count ? &tool_formats[index] : hd_format_at(index - tool_format_count);
}

const hd_format *format_named(const char *name) {
    const hd_format *format;
    for (size_t i = 0; (format = format_at(i)) && strcmp(format->name, name); i++) {}
    return format;
}

bool format_is_read(const char *name) {
    const hd_format *format = format_named(name);
    return format && format->read;
}

void formats_help(FILE *out) {
    const hd_format *format;
    for (size_t i = 0; (format = format_at(i)); i++)
        if (format->read) display(out, format->title ? "%-15s %s\n" : "%s\n", format->name, format->title);
}

bool format_has_addresses(const hd_format *format) { return !strcmp(format->name, "heap-text"); }

const char *formats_written(void) {
    static const char *const called[][2] = { { "chrome", "chrome, heaps_v2" }, { "memprof", "memprof-raw" } };
    static char text[256];
    const hd_format *format;
    size_t n = 0;
    for (size_t i = 0; (format = format_at(i)) && n < sizeof text; i++) {
        const char *name = format->name;
        if (!format->write && !format->write_heaps && !format->write_graph) continue;
        for (size_t k = 0; k < sizeof called / sizeof *called; k++)
            if (!strcmp(name, called[k][0])) name = called[k][1];
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? ", " : "", name);
    }
    return text;
}
