/* A file with its object graph: names, sizes and ids. */
#ifndef HEAPDUMP_GRAPH_FILE_H
#define HEAPDUMP_GRAPH_FILE_H

#include "../heaps/heaps.h"

/* A file with an object graph and its dominator tree. */
typedef struct objects {
    const char *file;
    hd_dump *dump;
    const hd_graph *graph;
    hd_dominators *dominators;   /* NULL where nobody asked */
    struct list_lengths *lengths; /* answers about lists that several paths share; NULL: none */
    int id_columns;              /* columns of the longest id, at least 10 */
} objects;

void objects_close(objects *o);
int objects_open(const arguments *a, const char *file, bool dominators, objects *o);
void put_class(FILE *out, const hd_graph *graph, uint32_t class_index);
int put_class_within(FILE *out, const screen *s, const hd_graph *graph, uint32_t class_index, int room);
/* The class of an object and its own name, or its number of elements. */
int put_object_within(FILE *out, const screen *s, const objects *o, uint32_t object, int room);
void json_class(hd_json *j, const hd_graph *graph, uint32_t class_index);
void put_id(FILE *out, const objects *o, uint64_t id, int width);
/* Columns of the longest id of a graph, at least 10. */
int id_columns_of(const hd_graph *graph, bool hex);
/* Index of a reference in an array or table; HD_UNKNOWN: it has no index. */
uint64_t index_of(const objects *o, uint32_t object, uint32_t reference);
/* Whether a text is digits only. */
bool is_number(hd_str text);
/* Prints a reference as its field, or as "[7]" by its index: V8 numbers node 0's references by names. False: it has
   neither. */
bool put_reference(FILE *out, const objects *o, uint32_t object, uint32_t reference);
void id_text(const objects *o, uint32_t object, char text[24]);
void json_id(hd_json *j, const objects *o, uint32_t object);
hd_str name_of(const objects *o, uint32_t object);
/* Whether an object represents a class of a Java program, which is its name. */
bool is_class_object(const objects *o, uint32_t object);
/* Whether the format has values of objects besides names, and the value of an object: Dart, HPROF. */
bool has_data(const objects *o);
hd_dart_value data_of(const objects *o, uint32_t object);
/* Number of elements that a collection has memory for; 0: unknown. */
uint64_t slots_of(const objects *o, uint32_t object);
/* "12 of 4,096 slots" or "9 elements"; empty: the format has no count of its elements. The caller frees it. */
char *fill_text(const objects *o, uint32_t object);
/* The retained size of an object; 0: garbage. */
uint64_t retained_by(const objects *o, uint32_t object);
void put_cut(FILE *out, hd_str name, size_t most);
int distances_of(const objects *o, uint32_t **distances);
/* Prints the name of an object, or its number of elements, behind its class; nothing if it has neither. */
void put_known_name(FILE *out, const objects *o, uint32_t object);
uint32_t object_with(const objects *o, const char *text);
bool is_left_out(const objects *o, uint32_t object);
uint32_t largest(const arguments *a, const objects *o, uint32_t usual, uint32_t **top);
int each_graph(const arguments *a, const char *name, bool dominators,
               int (*text)(const arguments *a, const objects *o, FILE *out),
               int (*json)(const arguments *a, const objects *o, hd_json *j));
int no_class(const objects *o, const char *name);
uint8_t *reach(const char *file, const hd_graph *graph, hd_total *total);

#endif
