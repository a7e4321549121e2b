/* The table of formats that only the command reads or writes. */

#include "formats.h"

const hd_format tool_formats[] = {
    { .name = "speedscope", .detect = speedscope_detect, .write_heaps = speedscope_write,
      .lacks = HD_LACKS_TYPES | HD_LACKS_CUMULATIVE | HD_LACKS_BLOCKS | HD_LACKS_VARIANCE | HD_LACKS_TIMES |
               HD_LACKS_MORE_LABELS },
    { .name = "heap-text", .title = "a heap profile as text", .detect = heap_text_detect, .read = heap_text_read,
      .is = FORMAT_ADDRESSES | FORMAT_OMITS_TOTALS },
    { .name = "heaptrack", .title = "a heaptrack recording", .detect = heaptrack_detect, .read = heaptrack_read },
    { .name = "memprof-yaml", .title = "a memprof profile as YAML", .detect = memprof_yaml_detect,
      .read = memprof_yaml_read, .write = memprof_yaml_write,
      .is = HD_FORMAT_MEMPROF_INDEX | FORMAT_OMITS_ZEROS },
    { .name = "memprof-report", .title = "a text report of the MemProf runtime", .detect = memprof_report_detect,
      .read = memprof_report_read, .is = FORMAT_SOME_ADDRESSES },
    { .name = "dhat", .title = "a profile of valgrind's DHAT", .detect = dhat_detect, .read = dhat_read },
    { .name = "hprof", .title = "a heap dump of a JVM", .detect = hprof_detect, .read = hprof_read,
      .free = hprof_free, .graph = hprof_graph, .info = hprof_info, .value = hprof_value,
      .is = HD_FORMAT_BINARY | FORMAT_JAVA },
    { .name = NULL } /* the end */
};
const size_t tool_format_count = sizeof tool_formats / sizeof *tool_formats - 1;
