/* The data of the page of `report`: JSON, which page.js reads. */
#ifndef HEAPDUMP_REPORT_H
#define HEAPDUMP_REPORT_H

#include "../objects/objects.h"
#include "../record/record.h"

/* JSON that is being written. Names are numbered, and written once at the end. */
typedef struct report {
    hd_json json;
    hd_profile *names;           /* one axis; children of its root are the names, and their nodes the numbers */
    uint32_t budget;             /* number of all entries, or objects, on the page */
} report;

/* report.c. The number of a name; 0: no name. */
uint32_t report_name(report *r, hd_str name);
/* Write a column as a member of an object; HD_NONE or HD_UNKNOWN becomes -1. */
void report_column(report *r, const char *key, const uint32_t *values, size_t count);
void report_sizes(report *r, const char *key, const uint64_t *values, size_t count);

/* heaps.c: heaps of up to two files, as "heaps". */
int report_heaps(report *r, const arguments *a, const chosen *files, int count);

/* pages.c: pages of the recording that --pages names, as "pages". */
int report_pages(report *r, const arguments *a);

/* graph.c: objects, as "graph". `before` may be NULL. */
int report_graph(report *r, const objects *o, const hd_graph *before);

/* The commands of this floor. */
int run_report(const arguments *a);

#endif
