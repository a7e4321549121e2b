/* What the commands share: options, reading and writing files, JSON. First of the includes. */
#ifndef HEAPDUMP_SHELL_H
#define HEAPDUMP_SHELL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sorted.h"
#include "text.h"

/* stack.c */
int on_large_stack(int (*run)(int count, char **words), int count, char **words);

enum { DONE = 0, BAD_INPUT = 1, WRONG_USAGE = 2 };

/* A regular expression over the names of an axis. */
typedef struct pattern {
    const char *text;            /* NULL: none was given */
    uint32_t axis;
    regex_t regex;
} pattern;

/* What a site may hold. */
typedef struct site_limit {
    pattern site;
    uint64_t bytes;
    char *text;                  /* what the pattern's is part of */
} site_limit;

/* What objects are picked by. */
typedef struct condition {
    enum { OF_FIELD, OF_LENGTH, OF_SIZE, OF_RETAINED, OF_DETACHED } of;
    char compare;                /* < > =, ( for <=, ) for >= */
    uint64_t bound;
    const char *field;           /* OF_FIELD: whose class or value matches */
    size_t field_length;
    pattern value;
} condition;

/* What is read. */
typedef struct input_options {
    char **files;                /* what stands after the options */
    int file_count;
    const char *format;          /* of the inputs; NULL: what they begin like */
    bool format_help;            /* to list these instead */
    bool strict, decimal;
    bool quiet;                  /* warnings were told before */
    hd_label *labels;            /* what heaps are labelled with */
    int label_count;
} input_options;

/* What is written, and as what. */
typedef struct output_options {
    const char *file;
    bool is_default;             /* of a name that nobody typed */
    const char *to, *add_to;     /* convert: a format; a file */
    bool json_lines;             /* rows */
} output_options;

/* How much is listed, in which order. */
typedef struct cut_options {
    hd_cutoff cutoff;
    bool has_cutoff, all;
    double default_share;        /* of objects, where no cut-off is given */
    hd_order order;              /* --sort of lists */
    bool ordered;                /* it was given */
} cut_options;

/* Which heaps, and which call stacks of them. */
typedef struct heap_options {
    const char *dump, *allocator, *kind;
    uint64_t pid;
    bool has_pid;
    bool last_dump;              /* of each process, where no other is asked for */
    bool live_kind;              /* what is live, where no other kind is asked for and the file has it */
    pattern keep, drop, root;    /* frames */
    hd_cutoff listed;            /* of each heap; zero: what is made of it needs all */
    const char *before, *after;  /* diff: ids of dumps */
    bool match_process;          /* heaps of two files belong together only if their processes have one name */
} heap_options;

/* How it is shown. */
typedef struct view_options {
    bool json, csv, exact;
    bool wide;                   /* names whole, on a terminal too */
    const char *by;              /* the axis to look along */
    bool invert, every_route, by_self;
    bool once;                   /* recursion is told once, in text, unless frames_all */
    bool hide;                   /* what hidden_frames_find says, unless frames_all */
    bool frames_all;
    bool frames_hidden;          /* list these frames */
} view_options;

/* What fails check. */
typedef struct check_options {
    double max_growth;           /* a share; less than 0: not given */
    uint64_t max_total;          /* 0: not given */
    site_limit *sites;
    int site_count;
} check_options;

/* Which objects. */
typedef struct object_options {
    const char *id, *class_name;
    bool subclasses;             /* and what extends it */
    condition *where;
    int where_count;
    uint32_t paths;
    bool garbage, live;
} object_options;

/* What functions are named with. */
typedef struct name_options {
    const char **binaries;
    int binary_count;
    struct symbols *opened;      /* these; NULL: none given */
    bool keep_unresolved, keep_runtime;
    uint64_t memory;             /* limits of the process that finds names; 0: as usual */
    double seconds;
} name_options;

/* Profiles of MemProf. */
typedef struct profile_options {
    uint32_t field;              /* what is shown for bytes; 0: bytes */
    bool average;
    const char *version;         /* to write; NULL: as it is, or usual */
    const char *base;            /* an indexed profile to put it into */
    const char *like;            /* release of LLVM whose bytes to write; NULL: the latest that goes */
    bool full_schema, hot_cold_schema, hints, yaml;
    const char *clang;           /* release whose hints these are; NULL: the latest */
    bool hints_diff;
    const char *effect;          /* the profile whose hints are judged */
    bool prune;
    double prune_cold;           /* share of cold bytes to leave out */
    uint64_t prune_bytes;        /* and contexts below */
    double limit[3];             /* cold density, cold lifetime in seconds, hot density; less than 0: usual */
} profile_options;

/* What record runs, and how. */
typedef struct record_options {
    const char *at;              /* when a dump is taken */
    pattern children;            /* which of them are recorded; NULL: all */
    bool no_children, same_user;
    bool ages, threads;          /* axes that a recording has more */
    const char *region;          /* the file to keep it in */
    const char *format;          /* memprof-raw, memprof-rfc; NULL: a trace */
    bool stats, blocks;
    uint64_t page_size;          /* 0: this machine's */
    uint32_t depth;
    uint64_t sample_bytes;       /* 0 for all */
} record_options;

/* A program that runs: capture, watch, snapshot, report. */
typedef struct watch_options {
    bool gc;                     /* capture */
    double wait;                 /* seconds without a sign of life; 0: usual */
    double every;                /* seconds between two; 0: one is taken, of watch the usual */
    uint32_t count;              /* so many; 0: as is usual */
    const char *target;          /* of several */
    const char *sort, *filter;   /* watch */
    const char *pages;           /* report: the recording whose pages to show, too */
} watch_options;

/* The options of all commands, as options.c takes them. */
typedef struct arguments {
    bool help;
    input_options input;
    output_options out;
    cut_options cut;
    heap_options heaps;
    view_options view;
    check_options check;
    object_options objects;
    name_options naming;
    profile_options memprof;
    record_options record;
    watch_options watch;
} arguments;

typedef struct reading {
    const char *file;
    const char *doing;           /* what takes long, instead of reading it */
    bool writes;                 /* the file, instead of reading it */
    unsigned long long warnings;
    struct timespec began, told;
    bool shown;
    hd_in in;                    /* of read_input */
    uint64_t taken, size;        /* bytes of it, packed ones where it is packed; size: 0: not known */
    uint8_t first[16];           /* the first of these bytes: `taken`, if fewer were read */
    void *findings;              /* what warnings are kept in, where they are not told */
} reading;

typedef struct packing packing;

typedef struct output {
    hd_file file;
    bool is_file;
    hd_out out;
    struct gathering *gathering; /* in front of the file: what a write takes to it at once */
    packing *packing;            /* in front of that; NULL: none */
    hd_out told_to;              /* in front of these, what a terminal is told of */
    reading told;
} output;

/* An input by name, or standard input, unpacked where it is packed. */
typedef struct unpacked {
    hd_in in;
    hd_in file;
    uint8_t first[8];            /* bytes that were looked at */
    size_t size, at;
    uint64_t taken;              /* packed bytes */
    const hd_unpacker *unpacker; /* NULL: it is plain */
    void *stream;
    bool failed;                 /* reading what is packed */
} unpacked;

/* input.c */
/* A file as messages call it. */
const char *input_name(const char *file);
/* Whether its bytes come once: standard input, pipes, devices. */
bool input_is_pipe(const char *file);
/* Opens a file by name, or standard input for "-". */
hd_status input_open(const char *file, hd_in *in, hd_error *err);
void input_close(hd_in *in);
/* The first bytes of a file, what is packed in them where it `unpacks`: how many there are. A pipe is read from its
   beginning after that all the same. */
size_t input_look(const char *file, bool unpacks, uint8_t first[HD_DETECT_FIRST]);

/* unpack.c: for hd_options.unpackers */
enum { TOOL_UNPACKERS = 4 };
extern const hd_unpacker tool_unpackers[TOOL_UNPACKERS];
/* For what is no dump to be read: `in` of it is read, once. Stays where it is until it is closed. */
hd_status unpacked_open(unpacked *u, const char *path, hd_error *err);
/* The same of an input that is open, and is closed with this. */
void unpacked_from(unpacked *u, hd_in in);
/* What was wrong with it, in place of HD_IO: the packing is damaged. */
void unpacked_explain(const unpacked *u, hd_error *err);
void unpacked_close(unpacked *u);

/* foreign.c: the kind of a file that is not a heap dump, such as "a JPEG image", and a command that fits it. */
const char *foreign_file(const uint8_t *first, size_t size);

/* pack.c: what packs `to`, where the name of a file asks for it; NULL, and *out is `to`, where it does not. */
packing *packing_open(const char *path, hd_out to, hd_out *out);
/* Ends what is packed, if that is whole. NULL is fine. */
hd_status packing_close(packing *p, bool whole);
/* hd_options.deflate, with LLVM's level. */
size_t tool_deflate(void *user, void *to, size_t capacity, const void *data, size_t size);

/* memory.c */
/* Has malloc ask the kernel for 256 MB of addresses, in large pages if there are any, and take blocks of the library
   up to 16 MB from there, so that what is freed is used for what comes next: the kernel takes longer to clear a page
   than we do to fill it. Where arrays grow, more memory is in use for that. Call it while the library holds no
   memory. */
void memory_keep(void);
extern size_t memory_large_block; /* HEAPDUMP_LARGE_BLOCK */

/* messages.c */
void *needed(void *memory);
/* The items, which may have moved, with room for one behind `count`: a list that grows by this alone has room for a
   power of two. */
static inline void *one_more(void *items, size_t count, size_t size) {
    return count & (count - 1) ? items : needed(realloc(items, (count ? 2 * count : 1) * size));
}
#define ONE_MORE(list, count) ((list) = one_more(list, (size_t)(count), sizeof *(list)))
/* Called before the tool ends for want of memory; NULL: nothing is. */
extern void (*before_failing)(void);
/* Removes the output that is not whole. */
void output_abandon(void);
extern void (*memory_ends)(void); /* called instead of a message when there is no memory; NULL: none */
struct sigaction;
/* A file over the limit (RLIMIT_FSIZE), in memory too, is a failed write like others, until sigaction puts *before
   back. */
void file_limit_fails(struct sigaction *before);
/* Closes what open_memstream opened; the text is whole then. */
void closed_text(FILE *f, char **text);
extern const char *command_name; /* NULL: none is known yet */
/* Says what is wrong with the command line, and where its help is. Returns WRONG_USAGE. */
int usage(const char *format, ...) __attribute__((format(__printf__, 1, 2)));
void complain(const char *file, const hd_error *err, const char *kind);
int failed(const char *file, const hd_error *err);
/* patterns.c */
bool pattern_set(pattern *p, const char *text);
extern char pattern_error[96];   /* why it was false; empty: it never was */
bool pattern_matches(void *user, hd_str name);
/* reading.c */
void on_warning(void *user, const hd_error *warning);
bool on_progress(void *user, uint64_t done, uint64_t total);
void progress_end(void);         /* its line is empty again, for what else is told */
/* How `r->file` is read: leniently unless --strict, warnings and progress told by `r`. */
hd_options reading_options(const input_options *in, reading *r);
/* Of another long call than reading: progress told by `r`. */
hd_options long_call(reading *r, const char *doing);
hd_status read_input(const char *file, const hd_options *options, hd_dump **dump, hd_error *err);
int read_dump(const char *file, const input_options *in, hd_dump **dump);
/* output.c */
int output_open_as(output *o, const char *path, bool is_default);
int output_open(output *o, const char *path);
int check_terminal(const char *path, const char *format); /* refuses a binary format where a terminal is written to */
/* What is made for other programs is not written to a terminal unasked: WRONG_USAGE, told. */
int file_is_named(const arguments *a);
const char *output_name(const char *path);
/* Why writing failed. */
const char *output_error(const output *o, const hd_error *err);
int output_close(output *o, const char *path, int status);
/* Closes it after all is written, or writing has failed, which is told with `name` (may be NULL) before it. */
int output_end(output *o, const char *path, const char *name, hd_status failed, const hd_error *err);
/* option_values.c: numbers of a command line, of digits from their first character on. False: it is none, or too
   large. */
bool parse_bytes(const char *s, uint64_t *n);
bool parse_number(const char *s, char **end, double *n); /* `end`: what stands behind it */

/* metric.c */
hd_memprof_split memprof_split(const arguments *a);
bool memprof_take_metric(arguments *a, const char *text);
bool memprof_counted(const arguments *a);
bool prune_parse(arguments *a, const char *text);

/* json.c */
/* Members of an object. A text may be NULL, and is null then. */
void json_text(hd_json *j, const char *key, const char *value);
void json_str(hd_json *j, const char *key, hd_str value);
void json_u64(hd_json *j, const char *key, uint64_t value);
void json_bool(hd_json *j, const char *key, bool value);
void json_array(hd_json *j, const char *key);
void json_object(hd_json *j, const char *key);
/* An object without a key, on a line of its own. */
void json_line(hd_json *j);
/* null, when it is HD_UNKNOWN */
void json_known(hd_json *j, const char *key, uint64_t value);
void json_label(hd_json *j, const hd_heap *heap);

/* known_formats.c */
/* The tool's own, for hd_options.formats. Set by main, as a floor above has them. */
extern const hd_format *own_formats;
extern size_t own_format_count;
/* The tool's own, then the library's; NULL past the last. */
const hd_format *format_at(size_t index);
/* The format of this name, the tool's own or one of the library's; NULL: there is none. */
const hd_format *format_named(const char *name);
/* What --to, and --format of `record`, name: a format or a way to write one. */
enum {
    FORMAT_SELF_SIZES = HD_FORMAT_OWN << 8, /* traces of self sizes, in place of cumulative ones */
    FORMAT_RAW = HD_FORMAT_OWN << 9,        /* raw profiles of MemProf */
    FORMAT_RFC = HD_FORMAT_OWN << 10        /* indexed ones in the RFC's layout */
};
typedef struct written_as {
    const hd_format *format;                /* NULL: nothing has the name */
    uint32_t is;                            /* HD_FORMAT_..., FORMAT_... */
} written_as;
written_as format_written(const char *name);
/* Whether what the name stands for has one of the flags. A NULL name has none. */
bool format_is(const char *name, uint32_t flags);
/* Whether a format with one of the flags begins like this. */
bool format_begins(const uint8_t *first, size_t size, uint32_t flags);
/* The format that most likely begins like this; NULL: none does. */
const hd_format *format_beginning(const uint8_t *first, size_t size);
/* Whether --format takes it. */
bool format_is_read(const char *name);
/* Names and titles of those. */
void formats_help(FILE *out);
/* All that --to can name: "chrome, heaps_v2, netcf ...". */
const char *formats_written(void);

/* The rest of the face. */
#include "command.h"

#endif
