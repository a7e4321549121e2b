/* The formats that only the tool reads or writes: each a file beside this, with a row of the table in formats.c and
   the declarations of its functions here. */
#ifndef HEAPDUMP_FORMATS_H
#define HEAPDUMP_FORMATS_H

#include "../cli.h"

/* heap_text.c */
int heap_text_detect(const uint8_t *bytes, size_t size);
hd_status heap_text_read(hd_dump *dump, hd_in in, const hd_options *options, hd_error *err);

/* heaptrack.c */
int heaptrack_detect(const uint8_t *bytes, size_t size);
hd_status heaptrack_read(hd_dump *dump, hd_in in, const hd_options *options, hd_error *err);

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

/* The tool's own, then the library's; NULL past the last. */
const hd_format *format_at(size_t index);
/* The format of this name, the tool's own or one of the library's; NULL: there is none. */
const hd_format *format_named(const char *name);
/* Whether --format takes it. */
bool format_is_read(const char *name);
/* Names and titles of those. */
void formats_help(FILE *out);
/* Whether frames of its heaps are addresses, OBJECT+0xOFFSET, until they are named. */
bool format_has_addresses(const hd_format *format);
/* All that --to can name: "chrome, heaps_v2, netcf ...". */
const char *formats_written(void);

#endif
