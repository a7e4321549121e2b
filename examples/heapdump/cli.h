/* What the commands share: options, reading and writing files, JSON. First of the includes. */
#ifndef HEAPDUMP_CLI_H
#define HEAPDUMP_CLI_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

/* The options of all commands, as options.c takes them. */
typedef struct arguments {
    hd_cutoff cutoff;
    bool help, has_cutoff, json, csv, strict, exact, decimal;
    hd_cutoff listed;            /* of each heap; zero: what is made of it needs all */
    const char *output;
    bool default_output;         /* of a name that nobody typed */
    const char *dump, *allocator, *kind; /* which heaps */
    double default_share;        /* of objects, where no cut-off is given */
    uint64_t pid;
    bool has_pid;
    const char *by;              /* the axis to look along */
    pattern keep, drop, root;
    bool invert, every_route, by_self, all, garbage, live;
    bool frames_all, hide;       /* hide: what hidden_frames_find says, unless frames_all */
    bool frames_hidden;          /* list these frames */
    bool once;                   /* recursion is told once, in text, unless frames_all */
    bool wide;                   /* names whole, on a terminal too */
    bool last_dump;              /* of each process, where no other is asked for */
    bool live_kind;              /* what is live, where no other kind is asked for and the file has it */
    const char *to, *add_to;     /* convert */
    bool json_lines;             /* rows */
    hd_label *labels;            /* what heaps are labelled with */
    int label_count;
    bool quiet;                  /* warnings were told before */
    const char *before, *after;  /* diff: ids of dumps */
    bool match_process;          /* heaps of two files belong together only if their processes have one name */
    double max_growth;           /* check: a share; less than 0: not given */
    uint64_t max_total;          /* 0: not given */
    site_limit *sites;
    int site_count;
    const char *id, *class_name; /* an object, a class */
    bool subclasses;             /* and what extends it */
    condition *where;
    int where_count;
    uint32_t field;              /* MemProf: what is shown for bytes; 0: bytes */
    bool average;
    const char *memprof_version; /* to write; NULL: as it is, or usual */
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
    const char **binaries;       /* to name its functions with */
    int binary_count;
    struct symbols *names;       /* these, opened; NULL: none given */
    bool keep_unresolved, keep_runtime;
    uint64_t names_memory;       /* limits of the process that finds names; 0: as usual */
    double names_seconds;
    uint32_t paths;
    const char *at;              /* record */
    pattern children;            /* which of them are recorded; NULL: all */
    bool no_children, same_user;
    bool ages, threads;          /* axes that a recording has more */
    const char *region;          /* the file to keep it in */
    const char *format;          /* of the inputs; NULL: what they begin like */
    bool format_help;            /* instead, to list these */
    const char *record_format;   /* memprof-raw, memprof-rfc; NULL: a trace */
    bool gc;                     /* capture */
    double wait;                 /* seconds without a sign of life; 0: usual */
    double every;                /* seconds between two; 0: one is taken, of watch the usual */
    hd_order order;              /* --sort of lists */
    bool ordered;                /* it was given */
    const char *sort, *filter;   /* watch */
    uint32_t count;              /* so many; 0: as is usual */
    const char *target;          /* of several */
    bool stats, blocks;
    const char *pages;           /* report: the recording whose pages to show, too */
    uint64_t page_size;          /* 0: this machine's */
    uint32_t depth;
    uint64_t sample_bytes;       /* 0 for all */
    char **files;                /* what stands after the options */
    int file_count;
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

/* What a command answers, as text or JSON. */
typedef struct answer {
    const arguments *a;
    output output;
    FILE *text, *pager;          /* pager: NULL, or where the text goes */
    FILE *rows;                  /* --csv: where the JSON goes, */
    char *rows_text;             /* which becomes this */
    size_t rows_size;
    hd_json json;
    int open;                    /* of the object and the list of answer_open: what has not ended */
} answer;

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

/* pack.c: what packs `to`, where the name of a file asks for it; NULL, and *out is `to`, where it does not. */
packing *packing_open(const char *path, hd_out to, hd_out *out);
/* Ends what is packed, if that is whole. NULL is fine. */
hd_status packing_close(packing *p, bool whole);
/* hd_options.deflate, with LLVM's level. */
size_t tool_deflate(void *user, void *to, size_t capacity, const void *data, size_t size);

/* memory.c */
/* Has malloc ask the kernel for 256 MB of addresses, in large pages if there are any, and take blocks of the library up
   to 16 MB from there, so that what is freed is used for what comes next: the kernel takes longer to clear a page than
   we do to fill it. Where arrays grow, more memory is in use for that. Call it while the library holds no memory. */
void memory_keep(void);
extern size_t memory_large_block; /* HEAPDUMP_LARGE_BLOCK */

/* csv.c: writes as a table what is JSON of an answer, whole. */
void csv_write(const char *json, FILE *out);

/* cli.c */
void *needed(void *memory);
/* Called before the tool ends for want of memory; NULL: nothing is. */
extern void (*before_failing)(void);
/* Removes the output that is not whole. */
void output_abandon(void);
extern void (*memory_ends)(void); /* called instead of a message when there is no memory; NULL: none */
struct sigaction;
/* A file over the limit (RLIMIT_FSIZE), in memory too, is a failed write like others, until sigaction puts *before back. */
void file_limit_fails(struct sigaction *before);
/* Closes what open_memstream opened; the text is whole then. */
void closed_text(FILE *f, char **text);
extern const char *command_name; /* NULL: none is known yet */
/* Says what is wrong with the command line, and where its help is. Returns WRONG_USAGE. */
int usage(const char *format, ...) __attribute__((format(__printf__, 1, 2)));
void complain(const char *file, const hd_error *err, const char *kind);
bool pattern_set(pattern *p, const char *text);
extern char pattern_error[96];   /* why it was false; empty: it never was */
bool pattern_matches(void *user, hd_str name);
void on_warning(void *user, const hd_error *warning);
bool on_progress(void *user, uint64_t done, uint64_t total);
void progress_end(void);         /* its line is empty again, for what else is told */
/* How `r->file` is read: leniently unless --strict, warnings and progress told by `r`. */
hd_options reading_options(const arguments *a, reading *r);
hd_status read_input(const char *file, const hd_options *options, hd_dump **dump, hd_error *err);
int read_dump(const char *file, const arguments *a, hd_dump **dump);
int output_open_as(output *o, const char *path, bool is_default);
int output_open(output *o, const char *path);
int check_terminal(const char *path, const char *format); /* refuses a binary format where a terminal is written to */
/* What is made for other programs is not written to a terminal unasked: WRONG_USAGE, told. */
int file_is_named(const arguments *a);
const char *output_error(const output *o, const hd_error *err);
int output_close(output *o, const char *path, int status);
/* options.c: numbers of a command line, of digits from their first character on. False: it is none, or too large. */
bool parse_bytes(const char *s, uint64_t *n);
bool parse_number(const char *s, char **end, double *n); /* `end`: what stands behind it */
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
/* JSON is {"heapdump":VERSION,"command":...,"files":[...],"LIST":[ what is written next ]}, or where `list` is NULL
   what is written next are members of that. */
int answer_open(answer *r, const arguments *a, const char *list);
/* Ends the list, for what is to stand beside it. */
void answer_end_list(answer *r);
/* Leaves no file behind when the status is not DONE. Returns that, or BAD_INPUT when writing failed. */
int answer_close(answer *r, int status);

#endif
