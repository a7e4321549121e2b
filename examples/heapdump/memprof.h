/* LLVM MemProf profiles, raw and indexed, beside what the tool does with every heap. */
#ifndef HEAPDUMP_MEMPROF_H
#define HEAPDUMP_MEMPROF_H

#include "symbols.h"

typedef struct index_name {
    uint64_t guid;
    hd_str name;
    char hex[19];                /* that, when no name is known */
} index_name;

typedef struct index_names {
    const hd_memprof_index *index;
    index_name *names;           /* by GUID */
    size_t count;
    char *text;                  /* of the last index_text_of */
} index_names;

/* What the files are: raw profiles, which become an index, or one that is indexed. */
typedef struct index_source {
    hd_dump *dump;
    hd_memprof *raw;
    hd_memprof_index *built;
    const hd_memprof_index *index;
} index_source;

/* memprof.c */
hd_memprof_split memprof_split(const arguments *a);
bool memprof_take_metric(arguments *a, const char *text);
bool memprof_counted(const arguments *a);
int memprof_open_binaries(arguments *a);
void memprof_close_binaries(arguments *a, bool tell);
hd_memprof_symbolizer memprof_symbolizer(const arguments *a, hd_memprof_symbolize_fn names);
hd_status memprof_view_heap(const arguments *a, const hd_memprof_raw *raw,
                            hd_memprof_symbolizer symbolizer, hd_heap *heap, bool *made,
                            hd_error *err);
hd_status memprof_heap(const arguments *a, const hd_memprof_raw *raw, hd_heap *heap, bool *made,
                       hd_error *err);
void memprof_build_id(char text[65], const hd_memprof_segment *s);
void memprof_totals_text(FILE *out, const hd_memprof_raw *raw);
void memprof_totals_json(hd_json *j, const hd_memprof_raw *raw);
void memprof_info_text(FILE *out, const hd_memprof *memprof);
void memprof_segments_json(hd_json *j, const hd_memprof_raw *raw);
void memprof_info_json(hd_json *j, const hd_memprof *memprof);
hd_options memprof_options(const arguments *a, reading *r, const char *file);
bool memprof_begins(const arguments *a, const char *file, bool packed);
int memprof_add_up(const arguments *a, const hd_dump *first, bool in_order, hd_memprof **result,
                   uint32_t *version);
int memprof_write(const arguments *a, const char *file, const hd_memprof *memprof);
bool memprof_is_raw(const char *to);
int memprof_merge(const arguments *a);
int memprof_convert(const arguments *a);

/* memprof_records.c */
void index_guid_json(hd_json *j, uint64_t guid);

/* memprof_index.c */
void index_names_make(const arguments *a, const hd_memprof_index *index, index_names *n);
void index_names_free(index_names *n);
hd_str index_name_of(void *user, uint64_t guid);
hd_str index_text_of(index_names *n, hd_str name, hd_str file, uint32_t line);
hd_status index_heap(const arguments *a, const hd_memprof_index *index, hd_heap *heap, bool *made,
                     hd_error *err);
int index_info_text(FILE *out, const char *file, const hd_memprof_index *index);
int index_info_json(hd_json *j, const char *file, const hd_memprof_index *index);
void index_close(index_source *s);
int index_build(const arguments *a, const hd_memprof_raw *from, bool skips_new, index_source *s);
int index_open(const arguments *a, index_source *s);
int index_write_to(const arguments *a, const index_source *s, const char *path);
bool index_is_asked(const char *to);
int index_convert(const arguments *a);

/* memprof_hints.c */
bool index_is_usual(const arguments *a);
int index_hints_of(const arguments *a);

#endif
