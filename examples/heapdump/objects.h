/* What the commands for objects share: a file with its graph, names, sizes and ids; one file after
   another. */
#ifndef HEAPDUMP_OBJECTS_H
#define HEAPDUMP_OBJECTS_H

#include "screen.h"

/* A file that has a graph, with what holds what. */
typedef struct objects {
    const char *file;
    hd_dump *dump;
    const hd_graph *graph;
    hd_dominators *dominators;   /* NULL where nobody asked */
    int id_columns;              /* columns of the longest id, at least 10 */
} objects;

/* Classes with what would go with all of their objects, the most first; of those behind the first
   EXACT_CLASSES (classes.c) that are alive, by what their objects dominate, this is what is told: at least that. */
typedef struct class_line {
    hd_class_row row;
    uint32_t place;              /* in the histogram */
} class_line;

typedef struct class_list {
    uint32_t count, exact;       /* lines, of which so many at the beginning are exact */
    class_line *lines;
} class_list;

/* objects.c */
hd_options long_call(reading *r, const char *doing);
int failed(const char *file, const hd_error *err);
int dominate(const char *file, const hd_graph *graph, hd_dominators **dominators);
void objects_close(objects *o);
int objects_open(const arguments *a, const char *file, bool dominators, objects *o);
void put_scoped(FILE *out, hd_str name, hd_str scope);
void put_class(FILE *out, const hd_graph *graph, uint32_t class_index);
/* Print at most `room` columns on a screen (12 if `room` is less), elsewhere everything. Return the used columns. */
int put_scoped_within(FILE *out, const screen *s, hd_str class_name, hd_str scope, int room);
int put_class_within(FILE *out, const screen *s, const hd_graph *graph, uint32_t class_index, int room);
/* The class of an object and its own name. */
int put_object_within(FILE *out, const screen *s, const objects *o, uint32_t object, int room);
/* Columns for a text that shares `room` with another of `other` columns: the rest, at least half. */
int room_beside(int room, int other);
/* "19.6 KiB", or with --bytes "20032". */
enum { FIGURE = 32 };
void bytes_text(const arguments *a, uint64_t bytes, char text[FIGURE]);
void put_bytes(FILE *out, const arguments *a, uint64_t bytes, int width);
/* The same in a sentence: "20032 bytes". */
void put_bytes_named(FILE *out, const arguments *a, uint64_t bytes);
void put_share(FILE *out, uint64_t part, uint64_t whole);
void json_class(hd_json *j, const hd_graph *graph, uint32_t class_index);
void put_id(FILE *out, const objects *o, uint64_t id, int width);
/* Columns of the longest id of a graph, at least 10. */
int id_columns_of(const hd_graph *graph, bool hex);
/* Index of a reference in an array or table; HD_UNKNOWN: it has no index. */
uint64_t index_of(const objects *o, uint32_t object, uint32_t reference);
/* Whether a text is digits only. */
bool is_number(hd_str text);
/* A reference by its field, or "[7]" by its index: V8 numbers node 0's references by names. False: it has neither. */
bool put_reference(FILE *out, const objects *o, uint32_t object, uint32_t reference);
void id_text(const objects *o, uint32_t object, char text[24]);
void json_id(hd_json *j, const objects *o, uint32_t object);
hd_str name_of(const objects *o, uint32_t object);
void put_cut(FILE *out, hd_str name, size_t most);
int distances_of(const objects *o, uint32_t **distances);
void put_known_name(FILE *out, const objects *o, uint32_t object);
uint32_t object_with(const objects *o, const char *text);
uint32_t shown_of(const arguments *a, uint32_t otherwise);
void put_more(FILE *out, uint64_t all, uint64_t shown);
bool is_left_out(const objects *o, uint32_t object);
uint32_t largest(const arguments *a, const objects *o, uint32_t **top);
int each_graph(const arguments *a, const char *name, bool dominators,
               int (*text)(const arguments *a, const objects *o, FILE *out),
               int (*json)(const arguments *a, const objects *o, hd_json *j));
int no_class(const objects *o, const char *name);
uint8_t *reach(const char *file, const hd_graph *graph, hd_total *total);

/* classes.c: list->lines are the caller's to free. */
int class_list_open(const objects *o, class_list *list);

/* graphs.c */
void graph_info_text(const arguments *a, FILE *out, const hd_dump *dump, const hd_graph *graph);
void graph_info_json(hd_json *j, const hd_graph *graph, bool is_dart);
void netcf_info_json(hd_json *j, const hd_netcf *netcf);
void netcf_info(const arguments *a, FILE *out, const hd_dump *dump);
int graph_heap(const arguments *a, const char *file, const hd_graph *graph, hd_heap *heap);
bool classes_cut(const arguments *a);
int diff_objects(const arguments *a, const hd_dump *before, const hd_dump *after);
int write_objects(const arguments *a, const hd_dump *dump, const hd_format *format);

#endif
