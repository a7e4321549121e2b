/* Commands for object graphs, and their shared functions. */
#ifndef HEAPDUMP_OBJECTS_H
#define HEAPDUMP_OBJECTS_H

#include "graph_file.h"

/* Classes by the bytes that all objects of the class retain together, largest first. Classes after the first
   EXACT_CLASSES (classes.c) have a lower bound: the sum over their objects in the dominator tree. */
typedef struct class_line {
    hd_class_row row;
    uint32_t place;              /* its row in the histogram */
} class_line;

typedef struct class_list {
    uint32_t count, exact;       /* number of lines, and of exact lines at the beginning */
    class_line *lines;
} class_list;

/* classes.c: the caller frees list->lines. */
int class_list_open(const objects *o, class_list *list);
/* class_groups.c: classes --by */
int class_groups_run(const arguments *a);

/* graphs.c */
void graph_info_text(const arguments *a, FILE *out, const hd_dump *dump, const hd_graph *graph);
void graph_info_json(hd_json *j, const hd_graph *graph, bool is_dart);
void netcf_info_json(hd_json *j, const hd_netcf *netcf);
void netcf_info(const arguments *a, FILE *out, const hd_dump *dump);
bool classes_cut(const arguments *a);
int diff_objects(const arguments *a, const hd_dump *before, const hd_dump *after);
int write_objects(const arguments *a, const hd_dump *dump, const hd_format *format);

int convert_objects(const arguments *a, const hd_format *format);

/* suspects.c */
int suspects_of_graphs(const arguments *a, hd_dump **dumps, int count, answer *r, proposal *next);

/* The commands of this floor. */
int run_classes(const arguments *a);
int run_retained(const arguments *a);
int run_strings(const arguments *a);
int run_objects(const arguments *a);
void object_defaults(arguments *a);
int run_object(const arguments *a);
void path_defaults(arguments *a);
int run_path(const arguments *a);
int run_threads(const arguments *a);

/* The rest of the face. */
#include "dart.h"
#include "instances.h"
#include "steps.h"
#include "paths.h"

#endif
