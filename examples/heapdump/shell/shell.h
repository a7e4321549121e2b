/* Services for all commands: options, reading and writing files, JSON. Include it first. */
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

/* A limit for a site, of check --site. */
typedef struct site_limit {
    pattern site;
    uint64_t bytes;
    char *text;                  /* REGEX or type=REGEX; the pattern's text is a part of it */
} site_limit;

/* A condition of objects --where. */
typedef struct condition {
    enum { OF_FIELD, OF_LENGTH, OF_SIZE, OF_RETAINED, OF_DETACHED } of;
    char compare;                /* < > =, ( for <=, ) for >= */
    uint64_t bound;
    const char *field;           /* OF_FIELD: the field with a matching class or value */
    size_t field_length;
    pattern value;
} condition;

/* Inputs. */
typedef struct input_options {
    char **files;                /* the arguments after the options */
    int file_count;
    const char *format;          /* format of the inputs; NULL: recognized by their first bytes */
    bool format_help;            /* --format help: list the formats */
    bool strict, decimal;
    bool soft_weak;              /* --soft weak */
    uint32_t layout;             /* HD_LAYOUT_ */
    bool quiet;                  /* warnings were reported before */
    hd_label *labels;            /* labels for all heaps */
    int label_count;
} input_options;

/* Output and its format. */
typedef struct output_options {
    const char *file;
    bool is_default;             /* the name is a default */
    const char *to, *add_to;     /* a format; a trace to add heaps to */
    bool json_lines;             /* rows --json-lines */
} output_options;

/* Cut-offs and the order of lists. */
typedef struct cut_options {
    hd_cutoff cutoff;
    bool has_cutoff, all;
    double default_share;        /* for snapshots, if no cut-off is given */
    hd_order order;              /* --sort of lists */
    bool ordered;                /* --sort was given */
} cut_options;

/* Selected heaps and call stacks. */
typedef struct heap_options {
    const char *dump, *allocator, *kind;
    uint64_t pid;
    bool has_pid;
    bool last_dump;              /* use the last dump of each process unless a dump is selected */
    bool live_kind;              /* use live heaps, if the file has any, unless a kind is selected */
    pattern keep, drop, root;    /* functions, or types */
    hd_cutoff listed;            /* cut-off of each heap that is read; zero: the command needs all cells */
    const char *before, *after;  /* diff: ids of dumps */
    bool match_process;          /* heaps of two files pair only if their process names are equal */
} heap_options;

/* Display. */
typedef struct view_options {
    bool json, csv, exact;
    bool wide;                   /* whole names, on a terminal too */
    const char *by;              /* the axis to break down by first */
    bool invert, every_route, by_self;
    bool once;                   /* text folds recursion unless frames_all */
    bool hide;                   /* hide the frames of hidden_frames_find unless frames_all */
    bool frames_all;
    bool frames_hidden;          /* list the hidden frames */
} view_options;

/* Limits of check. */
typedef struct check_options {
    double max_growth;           /* a share; less than 0: none */
    uint64_t max_total;          /* 0: none */
    site_limit *sites;
    int site_count;
} check_options;

/* Selected objects. */
typedef struct object_options {
    const char *id, *class_name;
    bool subclasses;             /* include classes that extend it */
    condition *where;
    int where_count;
    uint32_t paths;
    bool garbage, live;
} object_options;

/* Sources of function names. */
typedef struct name_options {
    const char **binaries;
    int binary_count;
    struct symbols *opened;      /* the opened binaries; NULL: none */
    bool keep_unresolved, keep_runtime;
    uint64_t memory;             /* limits of the process that finds names; 0: default */
    double seconds;
} name_options;

/* MemProf profiles. */
typedef struct profile_options {
    uint32_t field;              /* the field to show instead of bytes; 0: bytes */
    bool average;
    const char *version;         /* version to write; NULL: unchanged, or the default */
    const char *base;            /* an indexed profile to add to */
    const char *like;            /* write the bytes of this LLVM release; NULL: the latest possible */
    bool full_schema, hot_cold_schema, hints, yaml;
    const char *clang;           /* release of clang for hints; NULL: the latest */
    bool hints_diff;
    const char *effect;          /* profile with the hints to judge */
    bool prune;
    double prune_cold;           /* leave out cold contexts up to this share of cold bytes */
    uint64_t prune_bytes;        /* leave out contexts of fewer bytes */
    double limit[3];             /* cold density, cold lifetime in seconds, hot density; less than 0: default */
} profile_options;

/* Options of record and pages. */
typedef struct record_options {
    char at[256];                /* list of times for dumps; empty: the default */
    pattern children;            /* children to record; NULL: all */
    bool no_children, same_user;
    bool ages, threads;          /* additional axes */
    const char *region;          /* --keep: the file of the region */
    const char *format;          /* memprof-raw, memprof-rfc; NULL: a trace */
    bool stats, blocks;
    uint64_t page_size;          /* 0: this machine's */
    uint32_t depth;
    uint64_t sample_bytes;       /* 0: every block */
} record_options;

/* Running programs: capture, watch, snapshot, report. */
typedef struct watch_options {
    bool gc, jvm, live;          /* capture */
    double wait;                 /* seconds to wait for a sign of life; 0: default */
    double every;                /* seconds between snapshots, 0: one snapshot; between updates of watch, 0: default
                                    */
    uint32_t count;              /* number of snapshots or updates; 0: default */
    const char *target;          /* selects a page, worker or isolate */
    const char *sort, *filter;   /* watch */
    const char *pages;           /* report: the recording of the page map */
} watch_options;

/* The options of all commands, set by options.c. */
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
    const char *doing;           /* name of the long call for progress; NULL: reading or writing `file` */
    bool writes;                 /* `file` is written, not read */
    unsigned long long warnings;
    struct timespec began, told;
    bool shown;
    hd_in in;                    /* for read_input */
    uint64_t taken, size;        /* bytes of the file, compressed ones if it is compressed; size 0: unknown */
    uint8_t first[16];           /* the first bytes of the file; all, if `taken` is less */
    void *findings;              /* validate: collects warnings instead of printing them */
} reading;

typedef struct packing packing;

typedef struct output {
    hd_file file;
    bool is_file;
    hd_out out;
    struct gathering *gathering; /* collects writes to the file in pieces */
    packing *packing;            /* compresses before that; NULL: no compression */
    hd_out told_to;              /* progress before these, on a terminal */
    reading told;
} output;

/* An input by name, or standard input, decompressed if it is compressed. */
typedef struct unpacked {
    hd_in in;
    hd_in file;
    uint8_t first[8];            /* bytes that were read to recognize compression */
    size_t size, at;
    uint64_t taken;              /* compressed bytes that were read */
    const hd_unpacker *unpacker; /* NULL: not compressed */
    void *stream;
    bool failed;                 /* reading the file failed */
} unpacked;

/* input.c */
/* The name of a file in messages. */
const char *input_name(const char *file);
/* Whether it can be read only once: standard input, pipes, devices. */
bool input_is_pipe(const char *file);
/* Opens a file by name, or standard input for "-". */
hd_status input_open(const char *file, hd_in *in, hd_error *err);
void input_close(hd_in *in);
/* Reads the first bytes of a file, decompressed if `unpacks`, and returns their number. A pipe can still be read from
   its beginning afterwards. */
size_t input_look(const char *file, bool unpacks, uint8_t first[HD_DETECT_FIRST]);

/* unpack.c: for hd_options.unpackers */
enum { TOOL_UNPACKERS = 4 };
extern const hd_unpacker tool_unpackers[TOOL_UNPACKERS];
/* For inputs that are not dumps: `in` of it can be read once. The struct must not move before unpacked_close. */
hd_status unpacked_open(unpacked *u, const char *path, hd_error *err);
/* The same for an open input, which unpacked_close closes. */
void unpacked_from(unpacked *u, hd_in in);
/* Replaces the error HD_IO by the reason, if the compressed data is damaged. */
void unpacked_explain(const unpacked *u, hd_error *err);
void unpacked_close(unpacked *u);

/* foreign.c: the kind of a file that is not a heap dump, such as "a JPEG image", and a command that fits it. */
const char *foreign_file(const uint8_t *first, size_t size);

/* pack.c: sets *out to an output that compresses into `to`, if the file name asks for it. Otherwise *out is `to`, and
   the result is NULL. */
packing *packing_open(const char *path, hd_out to, hd_out *out);
/* The length of .gz, .zst or .xz at the end of a file name; 0: the file is not compressed. */
size_t packed_end(const char *path);
/* Ends the compressed data if it is complete. NULL is fine. */
hd_status packing_close(packing *p, bool whole);
/* For hd_options.deflate, with LLVM's compression level. */
size_t tool_deflate(void *user, void *to, size_t capacity, const void *data, size_t size);

/* memory.c */
/* Makes malloc reuse freed blocks of less than 2 MB instead of returning them to the kernel, which takes longer to
   clear new pages than the tool takes to fill them. */
void memory_reuse(void);
/* Reserves 256 MB for malloc, in huge pages if the kernel has any, and makes the library take blocks of up to 16 MB
   from malloc. Freed memory is then reused: the kernel takes longer to clear a page than the tool takes to fill it.
   Growing arrays use more memory in return. Call it while the library holds no memory. */
void memory_keep(void);
extern size_t memory_large_block; /* HEAPDUMP_LARGE_BLOCK */

/* messages.c */
void *needed(void *memory);
/* A local pointer to memory that is freed at the end of its scope. */
#define FREED __attribute__((cleanup(free_local)))
static inline void free_local(void *pointer) {
    void *memory;
    memcpy(&memory, pointer, sizeof memory);
    free(memory);
}
/* Returns the items, possibly moved, with room for one more after `count`. A list that grows only by this call has
   room for a power of two. */
static inline void *one_more(void *items, size_t count, size_t size) {
    return count & (count - 1) ? items : needed(realloc(items, (count ? 2 * count : 1) * size));
}
#define ONE_MORE(list, count) ((list) = one_more(list, (size_t)(count), sizeof *(list)))
/* Called before the tool exits because memory ran out; may be NULL. */
extern void (*before_failing)(void);
/* Removes an incomplete output. */
void output_abandon(void);
extern void (*memory_ends)(void); /* called before the message that memory ran out; may be NULL */
struct sigaction;
/* Makes a write beyond the file size limit (RLIMIT_FSIZE) fail like any other write, without a signal, until
   sigaction restores *before. This includes files in memory. */
void file_limit_fails(struct sigaction *before);
/* Closes a stream of open_memstream; its text is then complete. */
void closed_text(FILE *f, char **text);
extern const char *command_name; /* NULL: not known yet */
/* Reports an error of the command line, and the command for help. Returns WRONG_USAGE. */
int usage(const char *format, ...) __attribute__((format(__printf__, 1, 2)));
void complain(const char *file, const hd_error *err, const char *kind);
int failed(const char *file, const hd_error *err);
/* patterns.c */
bool pattern_set(pattern *p, const char *text);
extern char pattern_error[96];   /* why pattern_set failed last; empty: it never failed */
bool pattern_matches(void *user, hd_str name);
/* reading.c */
void on_warning(void *user, const hd_error *warning);
bool on_progress(void *user, uint64_t done, uint64_t total);
void progress_end(void);         /* clears the line of the progress, for other messages */
/* Options for reading `r->file`: lenient unless --strict, with warnings and progress through `r`. */
hd_options reading_options(const input_options *in, reading *r);
/* Options for another long call, with progress through `r`. */
hd_options long_call(reading *r, const char *doing);
hd_status read_input(const char *file, const hd_options *options, hd_dump **dump, hd_error *err);
int read_dump(const char *file, const input_options *in, hd_dump **dump);
/* Whether a dump has no heap, no value and no object. */
bool is_empty(const hd_dump *dump);
/* output.c */
int output_open_as(output *o, const char *path, bool is_default);
int output_open(output *o, const char *path);
int check_terminal(const char *path, const char *format); /* refuses a binary format on a terminal */
/* Refuses to write a format for programs to a terminal, unless -o is given: reports it and returns WRONG_USAGE. */
int file_is_named(const arguments *a);
const char *output_name(const char *path);
/* The reason of a failed write. */
const char *output_error(const output *o, const hd_error *err);
int output_close(output *o, const char *path, int status);
/* Closes the output. If writing failed, it first reports that, with `name` in front (may be NULL). */
int output_end(output *o, const char *path, const char *name, hd_status failed, const hd_error *err);
/* option_values.c: parse numbers of a command line, which must begin with a digit. Return false if there is no
   number, or it is too large. */
bool parse_bytes(const char *s, uint64_t *n);
bool parse_number(const char *s, char **end, double *n); /* *end: the text after the number */

/* metric.c */
hd_memprof_split memprof_split(const arguments *a);
bool memprof_take_metric(arguments *a, const char *text);
bool memprof_counted(const arguments *a);
bool prune_parse(arguments *a, const char *text);

/* json.c */
/* Write members of an object. A text of NULL becomes null. */
void json_text(hd_json *j, const char *key, const char *value);
void json_str(hd_json *j, const char *key, hd_str value);
void json_u64(hd_json *j, const char *key, uint64_t value);
void json_bool(hd_json *j, const char *key, bool value);
void json_array(hd_json *j, const char *key);
void json_object(hd_json *j, const char *key);
/* An object without a key, on a line of its own. */
void json_line(hd_json *j);
/* HD_UNKNOWN becomes null */
void json_known(hd_json *j, const char *key, uint64_t value);
void json_label(hd_json *j, const hd_heap *heap);

/* known_formats.c */
/* The tool's own formats, for hd_options.formats. main sets them, since a higher floor has them. */
extern const hd_format *own_formats;
extern size_t own_format_count;
/* Enumerates the tool's own formats, then the library's; NULL after the last. */
const hd_format *format_at(size_t index);
/* The format with this name, of the tool or the library; NULL: unknown. */
const hd_format *format_named(const char *name);
/* Names of --to and record --format: a format, or a way to write one. */
enum {
    FORMAT_SELF_SIZES = HD_FORMAT_OWN << 8, /* traces of self sizes instead of cumulative ones */
    FORMAT_RAW = HD_FORMAT_OWN << 9,        /* raw MemProf profiles */
    FORMAT_RFC = HD_FORMAT_OWN << 10        /* indexed MemProf profiles in the RFC's layout */
};
typedef struct written_as {
    const hd_format *format;                /* NULL: unknown name */
    uint32_t is;                            /* HD_FORMAT_..., FORMAT_... */
} written_as;
written_as format_written(const char *name);
/* Whether the name's format has one of the flags; false for NULL. */
bool format_is(const char *name, uint32_t flags);
/* Whether a format with one of the flags can begin like this. */
bool format_begins(const uint8_t *first, size_t size, uint32_t flags);
/* The most likely format of a file that begins like this; NULL: unknown. */
const hd_format *format_beginning(const uint8_t *first, size_t size);
/* Whether --format accepts the name. */
bool format_is_read(const char *name);
/* Prints the names and titles of the formats that can be read. */
const char *format_title(const hd_format *format);
void formats_help(FILE *out);
/* The name of the format that a file name asks for, by its longest known ending; NULL: no ending is known. */
const char *format_of_name(const char *path);
/* Whether rows in a file with this name are JSON lines. */
bool is_json_name(const char *path);
/* The names that --to accepts: "chrome, heaps_v2, netcf ...". */
const char *formats_written(void);

/* The rest of this floor's interface. */
#include "command.h"

#endif
