/* LLVM's MemProf profiles, raw and indexed: their own commands, and their part of the commands for all heaps. */
#ifndef HEAPDUMP_MEMPROF_H
#define HEAPDUMP_MEMPROF_H

#include "../heaps/heaps.h"

typedef struct index_name {
    uint64_t guid;
    hd_str name;
    char hex[19];                /* the GUID, if the name is unknown */
} index_name;

typedef struct index_names {
    const hd_memprof_index *index;
    index_name *names;           /* sorted by GUID */
    size_t count;
    char *text;                  /* of the last index_text_of */
} index_names;

/* The input: one indexed profile, or raw and indexed profiles that are added up to one index. */
typedef struct index_source {
    hd_dump *dump;
    hd_memprof_index *built;     /* NULL: the index is the dump's */
    const hd_memprof_index *index;
    int indexed;                 /* indexed files in `built` */
    char **files;
    int file_count;
    const char *name;            /* of the file, or of the operation on several */
    bool is_full;                /* with fields that do not serve to distinguish hot from cold */
    const char *lacking[HD_MEMPROF_FIELDS]; /* by field: the first of several files without it */
    hd_memprof_layout layout;    /* of the output, by default */
    bool is_partial;             /* of several files, unreadable ones are left out, unless --strict is given */
    int left_out;                /* number of these files */
    uint64_t numbers_lost;       /* summary values of unknown meaning that the sum cannot have */
} index_source;

/* The counts of a written file. */
typedef struct index_counts {
    uint32_t functions, blocks, sites, stacks;
    uint32_t lost_sites;         /* call sites of the source that the layout cannot hold */
    bool base_lost;              /* the base had a MemProf profile of its own */
} index_counts;

/* A sum of MemProf profiles in the making. */
typedef struct memprof_sum {
    hd_memprof_merger *merger;   /* of raw profiles */
    hd_memprof_merger *older;    /* of raw versions 1 and 2, whose addresses do not fit later ones; NULL: these go
                                    into `merger`, or are refused */
    hd_memprof_builder *builder; /* of indexed profiles; NULL: they are refused */
    bool is_partial;             /* as in index_source */
    int left_out;
    bool clashes;                /* raw versions that do not fit together were refused */
    bool has_blocks;             /* at least one profile has blocks */
    uint64_t warnings;           /* of files that were read */
    int raw, indexed;            /* files */
    const char *later_file, *older_file; /* the first file in `merger`, in `older`; NULL: no file */
    uint32_t fields;             /* of any file */
    const char *lacking[HD_MEMPROF_FIELDS]; /* by field: the first file without it */
    uint32_t version;            /* the latest version of raw files */
    hd_memprof_layout layout;    /* the latest LLVM layout of indexed files */
    uint64_t functions;          /* with counters in indexed files; the counters are left out */
    uint64_t numbers;            /* summary values of unknown meaning, which cannot be added up */
} memprof_sum;

/* memprof.c */
uint64_t index_sum(uint64_t x, uint64_t y); /* UINT64_MAX on overflow */
uint64_t index_hash(uint64_t hash, uint64_t id);
int memprof_open_binaries(arguments *a);
void memprof_close_binaries(arguments *a, bool tell);
hd_memprof_symbolizer memprof_symbolizer(const arguments *a, hd_memprof_symbolize_fn names);
hd_status memprof_view_heap(const arguments *a, const hd_memprof_raw *raw,
                            hd_memprof_symbolizer symbolizer, hd_heap *heap, bool *made,
                            hd_error *err);
void memprof_build_id(char text[65], const hd_memprof_segment *s);
void memprof_totals_text(FILE *out, const hd_memprof_raw *raw);
void memprof_totals_json(hd_json *j, const hd_memprof_raw *raw);
void memprof_info_text(FILE *out, const hd_memprof *memprof);
void memprof_segments_json(hd_json *j, const hd_memprof_raw *raw);
void memprof_info_json(hd_json *j, const hd_memprof *memprof);
const char *memprof_files_name(char **files, int count);
hd_options memprof_options(const arguments *a, reading *r, const char *file);
bool memprof_begins(const arguments *a, const char *file, bool packed);
int memprof_add_dump(const char *file, const hd_dump *dump, memprof_sum *sum);
int memprof_check_read(const char *name, const memprof_sum *sum);
int memprof_add(const arguments *a, const char *file, memprof_sum *sum);
void memprof_warn_lost(uint32_t had, uint32_t has);
int memprof_add_up(const arguments *a, const hd_dump *first, hd_memprof **result, uint32_t *version, int *left_out);
void memprof_print_merged(const arguments *a, int left_out);
int memprof_merge(const arguments *a);
int memprof_convert(const arguments *a);

/* symbols.c */
/* Asks for all addresses of a profile in one batch. */
void symbols_prepare_memprof(symbols *s, const hd_memprof_raw *raw, bool shown);
uint32_t symbols_linked(void *user, const hd_memprof_address *a, hd_memprof_frame *frames,
                        uint32_t capacity);
uint32_t symbols_shown(void *user, const hd_memprof_address *a, hd_memprof_frame *frames,
                       uint32_t capacity);
symbols_object *symbols_binary(symbols *s, const hd_memprof_address *a);
hd_str symbols_file(void *user, const hd_memprof_raw *raw, uint32_t segment);
void symbols_each_name(symbols *s, symbols_name_fn take, void *user);

/* missing.c: counts the addresses that an hd_memprof_symbolize_fn names, and those without a name. */
typedef struct symbols_counts {
    symbols *names;              /* NULL: no --binary */
    const hd_memprof_raw *raw;
    uint32_t *missing;           /* by segment: addresses without a binary */
    uint32_t addresses, absent, unnamed, outside; /* absent: the sum of `missing` */
    bool skips_new;              /* operator new belongs to the allocator, as in clang's recordings */
} symbols_counts;

void symbols_counts_make(symbols_counts *x, symbols *names, const hd_memprof_raw *raw);
void symbols_counts_free(symbols_counts *x);
/* As symbols_linked, with counting; `user` is a symbols_counts. */
uint32_t symbols_counted(void *user, const hd_memprof_address *a, hd_memprof_frame *frames, uint32_t capacity);
/* Report on standard error addresses without names, and binaries that are missing. */
void symbols_warn_unnamed(symbols_counts *x);
void symbols_warn_absent(symbols_counts *x);

/* records.c */
void index_guid_json(hd_json *j, uint64_t guid);

/* index_names.c */
void index_names_make(const arguments *a, const hd_memprof_index *index, index_names *n);
void index_names_free(index_names *n);
hd_str index_name_of(void *user, uint64_t guid);
hd_str index_text_of(index_names *n, hd_str name, hd_str file, uint32_t line);
hd_status index_heap(const arguments *a, const hd_memprof_index *index, hd_heap *heap, bool *made,
                     hd_error *err);
uint32_t index_callees(const hd_memprof_index *index);

/* index_info.c */
int index_info_text(FILE *out, const char *file, const hd_memprof_index *index);
int index_info_json(hd_json *j, const char *file, const hd_memprof_index *index);
uint64_t index_counters(const hd_memprof_index *index);
uint32_t index_unknown(const hd_memprof_index *index);

/* index.c */
void index_close(index_source *s);
bool index_is_full(const arguments *a);
const char *index_version(const arguments *a);
int index_build(symbols *opened, const char *file, const hd_memprof_raw *from, hd_memprof *doc, bool skips_new,
                hd_memprof_index **out);
/* Files to open. */
index_source index_source_of(const arguments *a, char **files, int count);
int index_open(const arguments *a, index_source *s);
int index_open_merged(const arguments *a, index_source *s);
void index_replace(index_source *s, hd_memprof_index *made);
int index_unite(const arguments *a, index_source *s);
bool index_is_merged(const arguments *a);
int index_merge(const arguments *a);
bool index_is_asked(const char *to);
int index_check(const arguments *a);
int index_check_none(const arguments *a, bool takes_version);

/* written.c */
void index_warn_unknown(uint64_t numbers);
int index_write_to(const arguments *a, const index_source *s, const char *path, index_counts *counts);
int index_finish(const arguments *a, index_source *s);

/* prune.c */
int index_prune(const arguments *a, index_source *s);

/* yaml.c */
bool yaml_is_asked(const char *to);
bool yaml_is_source(const index_source *s);
int yaml_show(const arguments *a);
int yaml_convert(const arguments *a);
int yaml_merge(const arguments *a);

/* hints.c */
bool index_is_usual(const arguments *a);

/* hints_list.c */
int index_hints_of(const arguments *a);

/* memprof.c: heaps_view */
hd_status memprof_view(const arguments *a, const hd_dump *dump, size_t number, hd_heap *heap, bool *made,
                       hd_error *err);

/* recorded.c: record_as_memprof */
struct recording;
int memprof_recorded(struct recording *r);

/* The commands of this floor. */
int run_index(const arguments *a);
int run_memprof(const arguments *a);

#endif
