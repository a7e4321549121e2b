/* Formats that only the command reads or writes. Each has a file in this folder, a row of the table in formats.c, and
   its declarations here. */
#ifndef HEAPDUMP_FORMATS_H
#define HEAPDUMP_FORMATS_H

#include "../../../heapdump.h"

/* dhat.c */
int dhat_detect(const uint8_t *bytes, size_t size);
hd_status dhat_read(hd_dump *dump, hd_in in, const hd_options *options, hd_error *err);

/* heap_text.c */
int heap_text_detect(const uint8_t *bytes, size_t size);
hd_status heap_text_read(hd_dump *dump, hd_in in, const hd_options *options, hd_error *err);

/* heaptrack.c */
int heaptrack_detect(const uint8_t *bytes, size_t size);
hd_status heaptrack_read(hd_dump *dump, hd_in in, const hd_options *options, hd_error *err);

/* hprof.c */
int hprof_detect(const uint8_t *bytes, size_t size);
hd_status hprof_read(hd_dump *dump, hd_in in, const hd_options *options, hd_error *err);
void hprof_free(void *document);
const hd_graph *hprof_graph(const void *document);
hd_status hprof_info(const void *document, hd_fact_fn each, void *user, hd_error *err);
void hprof_value(const void *document, uint32_t object, hd_value *value);

/* memprof_report.c */
int memprof_report_detect(const uint8_t *bytes, size_t size);
hd_status memprof_report_read(hd_dump *dump, hd_in in, const hd_options *options, hd_error *err);

/* memprof_yaml.c */
int memprof_yaml_detect(const uint8_t *bytes, size_t size);
hd_status memprof_yaml_read(hd_dump *dump, hd_in in, const hd_options *options, hd_error *err);

/* memprof_yaml_write.c: the document is an hd_memprof_index */
hd_status memprof_yaml_write(const void *document, const hd_options *options, hd_out out, hd_error *err);

/* The table, for hd_options.formats. */
extern const hd_format tool_formats[];
extern const size_t tool_format_count;

/* speedscope.c */
int speedscope_detect(const uint8_t *bytes, size_t size);
hd_status speedscope_write(const hd_heap *heaps, size_t count, const hd_options *options, hd_out out, hd_error *err);

/* Bits of hd_format.is for these formats only. */
enum {
    FORMAT_ADDRESSES = HD_FORMAT_OWN,         /* frames are addresses, OBJECT+0xOFFSET, until they are named */
    FORMAT_SOME_ADDRESSES = HD_FORMAT_OWN << 1, /* frames without a name are addresses */
    FORMAT_OMITS_TOTALS = HD_FORMAT_OWN << 2, /* a missing total equals the live heap */
    FORMAT_OMITS_ZEROS = HD_FORMAT_OWN << 3,  /* missing fields are 0 */
    FORMAT_JAVA = HD_FORMAT_OWN << 4          /* objects of a JVM, with Java's class names */
};

#endif
