/* heapdump.h - record heaps, read heap dumps, say what holds the memory

   A single-file library for C99 and later, and C++11 and later. In ONE source file:

       #define HEAPDUMP_IMPLEMENTATION
       #include "heapdump.h"

   and in the others just the #include. stb_ds.h must be on the include path (Debian:
   libstb-dev, `pkg-config --cflags stb`); link with -lpthread where that is a library.

   QUICK START

       // read a heap dump, print where the memory is
       hd_dump *dump; hd_error err;
       if (hd_read_file("app.json", NULL, &dump, &err)) { puts(err.message); return 1; }
       for (size_t i = 0; i < hd_dump_heap_count(dump); i++)   // per process, dump, allocator
           hd_print_tree(hd_dump_heap(dump, i), &(hd_tree_options){ .cutoff.min_bytes = 65536 },
                         hd_out_file(stdout));
       hd_dump_free(dump);

       // record your own allocator
       hd_recorder *rec = hd_recorder_create(NULL, NULL);
       HD_SCOPE("engine", "LoadLevel");            // a pseudo-stack frame until the block ends
       hd_record_alloc(rec, p, n, "Texture");      // after allocating
       hd_record_free(rec, p);                     // before freeing

       // condense the recording and write it for the trace viewer (catapult)
       hd_profile *profile; hd_breakdown *breakdown;
       hd_recorder_snapshot(rec, NULL, &profile, &err);
       hd_export(profile, &(hd_cutoff){ .min_bytes = 4096 }, NULL, &breakdown, &err);
       hd_heap heap = { .pid = 1, .dump = "0x1", .allocator = "engine", .breakdown = breakdown };
       hd_chrome_write(&heap, 1, NULL, hd_out_file(file), &err);

   ROOMS (search for the tag; each stands twice, as API and as implementation)

       >>base      status, error, allocator, limits, strings; arenas and maps
       >>io        input and output: memory, files, callbacks
       >>json      streaming writer; pull parser
       >>profile   axes, cells, breakdowns: cut-off export, tree, top, diff, merge, filter
       >>graph     objects, references, roots: reachability, dominators, paths, diff
       >>tracker   contexts, the thread-local pseudo-stack, categories, capture modes
       >>register  address -> (size, context), straight on the OS's memory
       >>recorder  what a malloc hook calls; snapshots
       >>chrome    heap dumps in Chromium traces; deduplicators
       >>provider  dump providers and the manager that asks them
       >>netcf     .NET Compact Framework and XNA heap dumps (text)
       >>dart      Dart VM heap snapshots
       >>memprof   LLVM MemProf: what clang's -fmemory-profile writes
       >>dump      hd_read_*: detects the format, reads anything

   Models carry everything. A *profile* says what allocated the memory: cells, each a self
   size at one node of every axis (axis 0 the backtrace tree, axis 1 the type). A *breakdown* is
   what a condensed dump says: cumulative sizes at the nodes worth listing, the rest being
   `<other>`. Recorders fill profiles, export turns a profile into a breakdown, and whatever
   prints or writes takes either, labelled with where it came from: an hd_heap. A *graph* says what
   is alive and who holds it; its dominator tree is a breakdown, and so printed and written as one.

   OPTIONS FOR THE INCLUDER, defined before the #include

       HEAPDUMP_IMPLEMENTATION  compile the implementation here
       HEAPDUMP_STATIC          all functions static: a private copy for this source file
       HEAPDUMP_API             what stands before each declaration (default extern)
       HEAPDUMP_ASSERT(x)       checks of the library's own invariants (default: none)
       HEAPDUMP_NO_STDIO        no <stdio.h>: leaves out hd_out_file
       HEAPDUMP_NO_SIMD         portable code only: no SSE2, no AVX2
       HEAPDUMP_NO_THREADS      no locks, no thread-local state: for single-threaded programs
       HEAPDUMP_STB_DS_H        where stb_ds is (default "stb_ds.h")
       HD_MAX_AXES              axes a profile may have (default 8)

   CONVENTIONS

   Every fallible function returns hd_status, HD_OK being 0, and writes its result through its
   last pointers, only on success. `hd_error *` may be NULL, as may every options struct, in
   which zero means default. Functions named _create return the object, or NULL. Freeing NULL
   is fine. Objects are not synchronised unless their comment says so; distinct objects never
   share state. The library never prints, aborts or exits, and treats all input as hostile.
   Strings it returns (hd_str) are not NUL-terminated and live as long as what they came from.

   The licence stands at the end of the file. */

#ifndef HEAPDUMP_H
#define HEAPDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifndef HEAPDUMP_NO_STDIO
#include <stdio.h>
#endif

#if defined(__GNUC__)
#define HD_UNUSED __attribute__((unused))
#else
#define HD_UNUSED
#endif

#ifdef HEAPDUMP_STATIC
#undef HEAPDUMP_API
#define HEAPDUMP_API HD_UNUSED static
#elif !defined(HEAPDUMP_API)
#define HEAPDUMP_API extern
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* =================================================================================== >>base
   What every room shares: how calls fail, where memory comes from, how strings look. */

/* No such node, entry or context. */
#define HD_NONE 0xffffffffu
/* A count that the source of the data did not give. */
#define HD_UNKNOWN UINT64_MAX

typedef enum hd_status {
    HD_OK = 0,
    HD_OUT_OF_MEMORY,    /* the allocator or the OS refused */
    HD_LIMIT,            /* a bound of hd_limits was reached */
    HD_IO,               /* reading, writing, renaming failed */
    HD_MALFORMED,        /* the input breaks the rules of its format */
    HD_UNKNOWN_FORMAT,   /* the input is in no format the library reads */
    HD_UNSUPPORTED,      /* valid, but not something this call can represent */
    HD_OVERFLOW,         /* a sum of sizes or counts passes 2^64 */
    HD_INVALID,          /* the caller's argument is out of range */
    HD_CANCELLED         /* the progress callback said stop */
} hd_status;

/* The constant's name in words, "out of memory" say; static, never NULL. */
HEAPDUMP_API const char *hd_status_text(hd_status status);

/* What went wrong. Filled on failure only; untouched on success. */
typedef struct hd_error {
    hd_status status;
    uint64_t offset;     /* bytes into the input, HD_UNKNOWN when there is none */
    uint64_t line;       /* 1-based, 0 when the input is not text */
    uint64_t column;     /* in bytes, 1-based; 0: not told */
    char message[232];   /* one line: what was expected, what was found; NUL-terminated */
} hd_error;

/* Where memory comes from. `allocate` behaves as realloc does: NULL in, a new block; size 0, the
   block is freed and NULL returned; NULL out, nothing changed. old_size is the block's size. Memory
   comes back aligned for any type. Zeroed: the C library's realloc. */
typedef struct hd_allocator {
    void *(*allocate)(void *user, void *block, size_t old_size, size_t size);
    void *user;
} hd_allocator;

/* An allocator over whole pages of the OS: never touches malloc, safe in a malloc hook and in a
   signal handler; wasteful for small blocks (each takes at least a page). */
HEAPDUMP_API hd_allocator hd_page_allocator(void);

/* Bounds on what one call may take. Zero: the default in brackets. */
typedef struct hd_limits {
    uint64_t max_memory;   /* bytes allocated at a time [no bound of its own] */
    uint32_t max_depth;    /* nesting of brackets in the input, up to 1024 [512] */
    uint64_t max_records;  /* entries, frames, cells: each kind [2^32 - 2] */
} hd_limits;

struct hd_inflate;

/* What reading, exporting and writing calls may be told; all of it optional. */
typedef struct hd_options {
    hd_allocator allocator;
    hd_limits limits;
    const struct hd_inflate *inflate; /* unpacks gzip for reading calls (>>io) [none] */
    /* Malformed pieces cost that piece, a warning each, instead of failing the call. */
    bool lenient;
    void (*warning)(void *user, const hd_error *warning);
    /* Called now and then with bytes (or cells) done and in all (HD_UNKNOWN: cannot be told);
       false stops the call with HD_CANCELLED. */
    bool (*progress)(void *user, uint64_t done, uint64_t total);
    void *user;            /* handed to both */
    bool netcf_decimal;    /* >>netcf: sizes are decimal numbers */
} hd_options;

/* Bytes, usually UTF-8, not NUL-terminated. */
typedef struct hd_str {
    const char *data;
    size_t len;
} hd_str;

HEAPDUMP_API hd_str hd_cstr(const char *s);          /* NULL gives the empty string */
HEAPDUMP_API bool hd_str_equal(hd_str a, hd_str b);
/* By bytes, a prefix before the longer: <0, 0, >0. */
HEAPDUMP_API int hd_str_compare(hd_str a, hd_str b);

/* ===================================================================================== >>io
   Inputs and outputs are small structs passed by value; whoever made one closes it. */

/* Up to `capacity` bytes into `buffer`: how many, 0 at the end, -1 on failure. */
typedef int64_t (*hd_read_fn)(void *user, void *buffer, size_t capacity);

/* Either bytes in memory (data, size) or a callback (read, user). */
typedef struct hd_in {
    const uint8_t *data;
    uint64_t size;
    hd_read_fn read;
    void *user;
    int mapped;            /* how hd_in_open got it; 0 elsewhere */
} hd_in;

HEAPDUMP_API hd_in hd_in_memory(const void *data, size_t size);  /* borrows data */
HEAPDUMP_API hd_in hd_in_callback(hd_read_fn read, void *user);
/* A file by name, mapped where it can be, else (pipes, devices) read as it comes.
   Close with hd_in_close. Errors: HD_IO. */
HEAPDUMP_API hd_status hd_in_open(const char *path, hd_in *in, hd_error *err);
HEAPDUMP_API void hd_in_close(hd_in *in);

/* How gzip is unpacked: the library cannot, but lets whoever can. examples/inflate.h does it with zlib. */
typedef struct hd_inflate {
    /* A stream that unpacks what packed(packed_user, ...) reads, all members of it; NULL when there is no
       memory. Both stay until close. */
    void *(*open)(void *user, hd_read_fn packed, void *packed_user);
    /* Unpacked bytes, as any input: -1 where the packed ones are damaged, end early or cannot be read. */
    int64_t (*read)(void *stream, void *buffer, size_t capacity);
    void (*close)(void *stream);
    void *user;                  /* handed to open */
} hd_inflate;

/* Takes all `size` bytes, or returns HD_IO (or any other failure, which is passed on). */
typedef hd_status (*hd_write_fn)(void *user, const void *data, size_t size);

typedef struct hd_out {
    hd_write_fn write;
    void *user;
} hd_out;

/* Bytes growing in memory. Zeroed but for the allocator is empty. */
typedef struct hd_buffer {
    uint8_t *data;
    size_t size, capacity;
    hd_allocator allocator;
} hd_buffer;

HEAPDUMP_API hd_out hd_out_callback(hd_write_fn write, void *user);
HEAPDUMP_API hd_out hd_out_memory(hd_buffer *buffer);  /* appends; HD_OUT_OF_MEMORY keeps it whole */
#ifndef HEAPDUMP_NO_STDIO
HEAPDUMP_API hd_out hd_out_file(FILE *file);           /* the caller flushes and closes */
#endif
HEAPDUMP_API void hd_buffer_free(hd_buffer *buffer);

/* Private: an output with a buffer in front of it; the first failure sticks. */
typedef struct hd_sink {
    hd_out out;
    hd_status status;
    uint32_t fill;
    char buffer[4096];
} hd_sink;

/* A file that appears under its final name only when it is whole: written beside it under a
   temporary name, then renamed, with the permissions of the file it replaces. Symbolic links are
   followed; devices and pipes are written to as they are. Async-signal-safe on POSIX, and free of
   malloc. */
typedef struct hd_file {
    int fd;
    hd_status status;            /* of the writes so far: a file with a gap is not committed */
    int os_error;                /* errno of the write that failed; 0: none did */
    char path[4096], temporary[4096];
} hd_file;

HEAPDUMP_API hd_status hd_file_create(const char *path, hd_file *file, hd_error *err);
HEAPDUMP_API hd_out hd_file_out(hd_file *file);
/* Renames into place. On failure the temporary file is removed and an older file of that name is
   as it was. Either way `file` is closed. Errors: HD_IO. */
HEAPDUMP_API hd_status hd_file_commit(hd_file *file, hd_error *err);
HEAPDUMP_API void hd_file_discard(hd_file *file);      /* nothing appears; also after a commit */

/* =================================================================================== >>json
   A streaming writer. Calls nest as the text does; commas and quotes come by themselves. The first
   failure sticks and makes the rest no-ops, so that only hd_json_finish needs checking. */

#define HD_JSON_DEPTH 64

typedef struct hd_json {
    hd_sink sink;
    uint32_t depth;              /* open objects and arrays, at most HD_JSON_DEPTH */
    uint8_t state[HD_JSON_DEPTH + 1];
    bool newline;
} hd_json;

HEAPDUMP_API void hd_json_begin(hd_json *json, hd_out out);
HEAPDUMP_API void hd_json_object(hd_json *json);       /* { ... hd_json_end */
HEAPDUMP_API void hd_json_array(hd_json *json);        /* [ ... hd_json_end */
HEAPDUMP_API void hd_json_end(hd_json *json);
HEAPDUMP_API void hd_json_key(hd_json *json, const char *key);
HEAPDUMP_API void hd_json_key_str(hd_json *json, hd_str key);
/* Control characters, quotes and backslashes are escaped; lone surrogates (as three bytes) come out
   as \uD8xx; other bytes that are not UTF-8 become U+FFFD. */
HEAPDUMP_API void hd_json_str(hd_json *json, hd_str value);
HEAPDUMP_API void hd_json_cstr(hd_json *json, const char *value);
HEAPDUMP_API void hd_json_u64(hd_json *json, uint64_t value);   /* exact, all 64 bits */
HEAPDUMP_API void hd_json_i64(hd_json *json, int64_t value);
HEAPDUMP_API void hd_json_hex(hd_json *json, uint64_t value);   /* "1f": a string, lower case */
HEAPDUMP_API void hd_json_decimal(hd_json *json, uint64_t value); /* "31": a string */
HEAPDUMP_API void hd_json_bool(hd_json *json, bool value);
HEAPDUMP_API void hd_json_null(hd_json *json);
HEAPDUMP_API void hd_json_newline(hd_json *json);      /* a line break before what comes next */
/* Writes out what is buffered. HD_INVALID when calls did not nest, HD_LIMIT when too deep,
   else what the output said. */
HEAPDUMP_API hd_status hd_json_finish(hd_json *json);

/* ================================================================================ >>profile
   What allocated the memory. An axis is a tree of names, node 0 its root, a parent always before
   its children; a flat list of types is a tree of height one. A profile holds cells: bytes and
   count at one node per axis, self sizes that add up. A breakdown holds entries: the same but
   cumulative (over the product of the axes), and only those worth listing.
   Source: chromium-heap-dump-format. */

#ifndef HD_MAX_AXES
#define HD_MAX_AXES 8
#endif
#define HD_AXIS_BACKTRACE 0
#define HD_AXIS_TYPE 1

/* One axis, read only. Columns are borrowed, valid until their owner changes or is freed. */
typedef struct hd_axis {
    const char *name;            /* "backtrace" */
    uint32_t node_count;         /* at least 1 */
    const uint32_t *parent;      /* parent[0] is HD_NONE; else parent[i] < i */
    const uint32_t *end;         /* below node i are i + 1 .. end[i] - 1; NULL in a profile that is
                                    being filled, whose nodes are in order of arrival */
    const hd_str *node_name;     /* node_name[0] is empty */
} hd_axis;

typedef struct hd_profile hd_profile;

typedef struct hd_profile_desc {
    uint32_t axis_count;                 /* 1 to HD_MAX_AXES [2] */
    const char *axis_name[HD_MAX_AXES];  /* borrowed ["backtrace", "type", "axis 2"...] */
    hd_allocator allocator;
    hd_limits limits;
} hd_profile_desc;

HEAPDUMP_API hd_profile *hd_profile_create(const hd_profile_desc *desc, hd_error *err);
HEAPDUMP_API void hd_profile_free(hd_profile *profile);
/* The child of `parent` called `name` (copied), made when it is not there yet. O(1).
   Errors: HD_OUT_OF_MEMORY, HD_LIMIT, HD_INVALID (no such axis or parent). */
HEAPDUMP_API hd_status hd_profile_node(hd_profile *profile, uint32_t axis, uint32_t parent,
                                       hd_str name, uint32_t *node);
/* Adds bytes and count to the cell at nodes[0..axis_count). O(1). Errors: as above, and
   HD_OVERFLOW when the profile's totals would pass 2^64 - 2. */
HEAPDUMP_API hd_status hd_profile_add(hd_profile *profile, const uint32_t *nodes, uint64_t bytes,
                                      uint64_t count);
/* The same for what a sample says: `variance` of the bytes, in bytes squared. */
HEAPDUMP_API hd_status hd_profile_add_estimate(hd_profile *profile, const uint32_t *nodes,
                                               uint64_t bytes, uint64_t count, double variance);

HEAPDUMP_API uint32_t hd_profile_axis_count(const hd_profile *profile);
HEAPDUMP_API hd_axis hd_profile_axis(const hd_profile *profile, uint32_t axis);

/* Cells or entries in columns, borrowed: row i stands at node[i * axis_count + axis]. */
typedef struct hd_rows {
    uint32_t count, axis_count;
    const uint32_t *node;
    const uint64_t *bytes;
    const uint64_t *blocks;      /* number of allocations, HD_UNKNOWN when not told */
    const double *variance;      /* of the bytes, when they are estimates; 0: exact */
} hd_rows;

/* The standard error of an estimate with this variance, in whole bytes. */
HEAPDUMP_API uint64_t hd_standard_error(double variance);

HEAPDUMP_API hd_rows hd_profile_cells(const hd_profile *profile);
/* What all cells add up to; blocks that were not told count as none. */
HEAPDUMP_API uint64_t hd_profile_bytes(const hd_profile *profile);
HEAPDUMP_API uint64_t hd_profile_blocks(const hd_profile *profile);

/* A copy of the profile with every node of one axis renamed: `rename` turns a name into a path of
   0 to HD_RENAME_MAX names, outermost first (several for inlined frames; 0 drops the node, its
   children moving up). Nodes that become equal are merged. Names it returns need to live until it
   is called again. Called once per distinct name of a node. Errors: HD_OUT_OF_MEMORY, HD_LIMIT. */
#define HD_RENAME_MAX 64
typedef uint32_t (*hd_rename_fn)(void *user, hd_str name, hd_str *path);
HEAPDUMP_API hd_status hd_profile_rename(const hd_profile *profile, uint32_t axis,
                                         hd_rename_fn rename, void *user,
                                         const hd_options *options, hd_profile **out, hd_error *err);

/* Which children of an entry a breakdown lists. All that are set must hold; zeroed lists all. A
   child is listed when it passes in any of the breakdowns that reach it. */
typedef struct hd_cutoff {
    uint64_t min_bytes;
    double min_share;            /* of the total, 0 to 1 */
    double min_parent_share;     /* of the entry broken down, 0 to 1 */
    uint32_t top;                /* the largest k of each breakdown; ties by name; 0: all */
    /* Budgets: of what passes all of the above, list what explains most. 0: no bound. */
    uint32_t max_entries;        /* listed in all, the total among them */
    uint64_t max_output_bytes;   /* of text that entries and the names they need add to a trace with the
                                    total alone, as hd_chrome_write writes one heap */
} hd_cutoff;

/* What a set of listed entries explains: each byte of the heap is told by which of them it is in; the
   entropy of that, in bits times bytes, is how much of "which cell is this byte in" is answered. An entry
   that has all bytes of the one above it, or none, explains nothing; halving a gigabyte explains more
   than halving a kilobyte. Of a chain of entries with the same bytes the innermost is listed. An entry
   need not have what is above it listed: it then counts to <other> of the nearest listed one.

   Choosing k entries is done greedily, which for this measure comes to at least 1 - 1/e (63 %) of what
   any k of the candidates can explain; mostly it is the best there is. For output bytes the better of two
   greedy choices is taken, by gain and by gain per byte; were the price of an entry fixed (names are
   shared), that would be at least (1 - 1/e) / 2. Ties go by size, then in canonical order. A breakdown has
   no cells: what an entry holds beyond those below it is taken for one, which is right for one axis, and
   for several if nothing is left out; otherwise bytes that are listed by type here and by frame there are
   taken for different ones, and may be explained twice. Cost: of a profile, that of an export of somewhat
   more, and the cells below each entry a few times; of a breakdown, entries times those below each: both
   are quadratic for a chain of calls, memory is not. */

/* Cumulative entries over axes. Read only; all of it is owned by the breakdown. Nodes are numbered
   in preorder, siblings ordered by name; entries are ordered by their nodes, axis 0 first, so that
   equal breakdowns are equal arrays. entry 0 is the total. */
typedef struct hd_breakdown {
    hd_axis axis[HD_MAX_AXES];
    hd_rows entries;
} hd_breakdown;

/* Condenses a profile: starting at the total, breaks every listed entry down along each axis in
   turn. A node with cells of its own and children gets a child "<self>" that holds its own.
   Cost: about (listed entries) x (cells below each), for n frames that call each other in turn, a cell
   each, n squared; memory is linear in cells and entries. Untrusted heaps want a cut-off, and progress that
   can cancel. Errors: HD_OUT_OF_MEMORY, HD_LIMIT, HD_CANCELLED, HD_INVALID (a share that is not within 0
   and 1). */
HEAPDUMP_API hd_status hd_export(const hd_profile *profile, const hd_cutoff *cutoff,
                                 const hd_options *options, hd_breakdown **out, hd_error *err);
/* A profile whose cells are already cumulative, taken as it is: how readers make breakdowns. The
   total may be absent and is then the sum of the topmost entries. Errors: HD_OUT_OF_MEMORY,
   HD_LIMIT, HD_OVERFLOW (that sum passes 2^64). */
HEAPDUMP_API hd_status hd_breakdown_from_cumulative(const hd_profile *entries,
                                                    const hd_options *options,
                                                    hd_breakdown **out, hd_error *err);
/* The same policies applied to what a breakdown lists. Cost: near-linear in its entries. */
HEAPDUMP_API hd_status hd_breakdown_cut(const hd_breakdown *breakdown, const hd_cutoff *cutoff,
                                        const hd_options *options, hd_breakdown **out,
                                        hd_error *err);
HEAPDUMP_API void hd_breakdown_free(hd_breakdown *breakdown);
/* The entry at nodes[0..axis_count), or HD_NONE. O(log entries). */
HEAPDUMP_API uint32_t hd_breakdown_find(const hd_breakdown *breakdown, const uint32_t *nodes);
/* The child of a node by name, or HD_NONE. O(nodes of the axis). */
HEAPDUMP_API uint32_t hd_axis_child(hd_axis axis, uint32_t parent, hd_str name);

/* A heap, labelled. Exactly one of profile and breakdown is set; both are borrowed, as are the
   strings, which may be NULL. */
typedef struct hd_heap {
    uint64_t pid;
    const char *process;         /* "Browser" */
    const char *dump;            /* id of the dump; heaps of one dump were taken together */
    uint64_t time_us;            /* microseconds, on the trace's own clock */
    const char *allocator;       /* "malloc" */
    uint64_t sample_bytes;       /* allocated bytes per sample, on average; 0: nothing was left out */
    const hd_profile *profile;
    const hd_breakdown *breakdown;
} hd_heap;

/* hd_export or hd_breakdown_cut, whichever the heap needs. */
HEAPDUMP_API hd_status hd_heap_break_down(const hd_heap *heap, const hd_cutoff *cutoff,
                                          const hd_options *options, hd_breakdown **out,
                                          hd_error *err);

typedef struct hd_tree_options {
    hd_cutoff cutoff;
    uint32_t first_axis;         /* the axis to break down by first */
    /* Break every entry down along every axis, as the document's figure does, listing an entry
       once per route that leads to it. Otherwise each entry is broken down along the first axis,
       and along the others only where the first has nothing more to list. */
    bool every_route;
    bool units;                  /* sizes as "1.2 MiB" instead of "1258291" */
    hd_options options;
} hd_tree_options;

/* One line of a tree. Rows come in preorder; a row's parent is the last one above with depth - 1.
   `<other>` is what an entry holds beyond its listed children. */
typedef struct hd_tree_row {
    uint32_t depth;              /* 0: the total */
    uint32_t axis;               /* the axis broken down along to reach this row */
    uint32_t entry;              /* in `breakdown`; HD_NONE: <other> */
    hd_str name;                 /* the node's, "/"-joined when nodes between are not listed */
    uint64_t bytes;
    uint64_t blocks;             /* HD_UNKNOWN when not told */
    double variance;             /* of the bytes; 0: exact */
    const hd_breakdown *breakdown;
} hd_tree_row;

/* Calls `row` for each line, largest child first, ties by name, <other> last. Stops when it returns
   anything but HD_OK, and returns that. Cost: the cut-off's, then linear in the rows. */
HEAPDUMP_API hd_status hd_tree(const hd_heap *heap, const hd_tree_options *options,
                               hd_status (*row)(void *user, const hd_tree_row *row), void *user,
                               hd_error *err);
/* The tree as text: bytes (with their standard error when they are estimates: two times in three the
   truth is within it), share of the total, blocks, indented name. A frame that is its parent's
   only content is not indented further, unless every_route is set. */
HEAPDUMP_API hd_status hd_print_tree(const hd_heap *heap, const hd_tree_options *options,
                                     hd_out out);

/* Operations. Each takes heaps of either model and makes a new one that borrows nothing from them but the
   names of axes; inputs stay as they are. What they make of profiles is exact. A breakdown does not say
   what it does not list, so of breakdowns some results are bounds: each operation says which. */

/* Frees the profile or breakdown of a heap that an operation made; its strings are not its own. */
HEAPDUMP_API void hd_heap_release(hd_heap *heap);

/* Adds the cells of `from` to those of `into`, nodes being the same when their paths are. The axes are
   those of `into`, found in `from` by name: over an axis that `into` lacks cells are added up, on one that
   `from` lacks they stand at the root. Exact, so that neither order nor grouping matters: equal sums, and
   after hd_profile_sort equal arrays (of variances, which are rounded, all but the last bits). `into`
   takes memory for what is new to it alone. On failure its cells are as they were. `from` may be `into`.
   Cost: one pass over the nodes and cells of `from`. Errors: HD_OUT_OF_MEMORY, HD_LIMIT, HD_OVERFLOW,
   HD_INVALID (two axes of one name; `into` was read from a file and takes no nodes). */
HEAPDUMP_API hd_status hd_profile_merge(hd_profile *into, const hd_profile *from, hd_error *err);
/* Canonical order, as a breakdown's: nodes in preorder, siblings by name, cells by their nodes; nodes
   without cells at or below them go. Equal profiles become equal arrays. Nodes have new numbers then.
   Errors: HD_OUT_OF_MEMORY, HD_LIMIT; the profile is as it was. */
HEAPDUMP_API hd_status hd_profile_sort(hd_profile *profile, hd_error *err);
/* Adds up breakdowns. Listed is what any of them lists. One that does not list an entry adds nothing to it,
   so entries that are not listed everywhere are lower bounds, and may be smaller than what is listed
   below them; the total is exact. Axes are united by name: "backtrace", "type", then others by name; an
   entry stands at the root of axes that its breakdown lacks. Neither order nor grouping matters: the same
   arrays, but for the last bits of variances. Cost: a pass over all entries, then sorting the result;
   memory follows the result. Errors: HD_OUT_OF_MEMORY, HD_LIMIT, HD_CANCELLED, HD_OVERFLOW, HD_INVALID
   (two axes of one name, no breakdown), HD_UNSUPPORTED (more than HD_MAX_AXES in all). */
HEAPDUMP_API hd_status hd_breakdown_merge(const hd_breakdown *const *breakdowns, size_t count,
                                          const hd_options *options, hd_breakdown **out, hd_error *err);
/* Either, for heaps: a sorted profile when all are profiles, else a breakdown, in which the profiles count
   with all their entries. What labels all heaps share stays; strings are borrowed from the first. */
HEAPDUMP_API hd_status hd_merge(const hd_heap *heaps, size_t count, const hd_options *options, hd_heap *out,
                                hd_error *err);

/* Says whether a node is meant, by its name. Called once per node of an axis that rows stand at or below,
   but for the root. */
typedef bool (*hd_match_fn)(void *user, hd_str name);

/* What stands at or below a node of `axis` that matches (keep), or all the rest (!keep). Of breakdowns:
   an entry above matching ones becomes what the outermost of those listed below it add up to, a lower
   bound; dropped, it loses that, which leaves an upper bound. Keeping and dropping add up to the whole.
   Cost: a pass over nodes and rows. Errors: HD_OUT_OF_MEMORY, HD_LIMIT, HD_CANCELLED,
   HD_INVALID (no such axis). */
HEAPDUMP_API hd_status hd_filter(const hd_heap *heap, uint32_t axis, hd_match_fn match, void *user, bool keep,
                                 const hd_options *options, hd_heap *out, hd_error *err);
/* Paths of `axis` start at their outermost matching node, several occurrences merged; what is below none
   is dropped. Of breakdowns: sizes at and below matching nodes are lower bounds where an occurrence is
   not listed, and so are those of the root. Cost and errors: as above, and HD_OVERFLOW. */
HEAPDUMP_API hd_status hd_reroot(const hd_heap *heap, uint32_t axis, hd_match_fn match, void *user,
                                 const hd_options *options, hd_heap *out, hd_error *err);
/* Bottom-up: each path of `axis` reversed, the innermost name first, the outermost HD_INVERT_MAX names from
   there on being left out; "<self>" counts to the node above it. Inverted again, paths are as they were.
   Makes a profile, also of a breakdown with that axis only. Cost: (nodes with cells) x (their depth), but no
   more than a million names and 32 for each node of the axis: of chains for which that is too few, less
   than HD_INVERT_MAX names are kept, of each path equally many.
   Errors: as above, and HD_UNSUPPORTED (a breakdown over several axes: use hd_breakdown_axis_profile). */
#define HD_INVERT_MAX 512
#define HD__INVERT_NAMES 1048576u
#define HD__INVERT_NAMES_EACH 32u
HEAPDUMP_API hd_status hd_invert(const hd_heap *heap, uint32_t axis, const hd_options *options, hd_heap *out,
                                 hd_error *err);
/* One axis of a breakdown as a profile with that axis: the entries at the root of all other axes, each
   with what it holds beyond its listed children. That is never negative in a breakdown of one heap (of a
   merged one, a negative rest is taken for 0). A node's own bytes ("<self>", which is not a node of the
   result) and what is not listed below it are not told apart. Errors: HD_OUT_OF_MEMORY, HD_LIMIT,
   HD_OVERFLOW, HD_INVALID (no such axis). */
HEAPDUMP_API hd_status hd_breakdown_axis_profile(const hd_breakdown *breakdown, uint32_t axis,
                                                 const hd_options *options, hd_profile **out, hd_error *err);

/* How an entry changed: one of the first four, or none of them when its size did not. */
enum {
    HD_DIFF_NEW = 1,             /* nothing before, something after */
    HD_DIFF_GONE = 2,
    HD_DIFF_GROWN = 4,
    HD_DIFF_SHRUNK = 8,
    HD_DIFF_BOUND = 16,          /* a breakdown does not list it: taken for 0 there, but it may be as much
                                    as <other> of the entry above it */
    HD_DIFF_NOISE = 32           /* estimates that differ by at most two standard errors */
};

/* Two heaps side by side: the same nodes, in canonical order, entry 0 the total. Read only. */
typedef struct hd_diff {
    hd_axis axis[HD_MAX_AXES];
    hd_rows before, after;       /* of the same nodes; share the node column */
    const uint64_t *gross;       /* how much changed: what is listed, and sorted, by */
    const uint8_t *flags;        /* HD_DIFF_ */
} hd_diff;

/* Compares two heaps of any kinds, nodes being the same when their paths are; axes as hd_breakdown_merge has
   them. The cut-off applies to how much changed. Of two profiles that is gross change, the sum of what
   every cell below changed by, so that 100 more here and 100 less there are not lost in a sum of 0; if
   either is a breakdown, it is the largest change of an entry that is listed there or below. What did
   not change is not listed; the total is. Cost: a merge, then hd_export's of the result. Errors: as
   hd_merge and hd_export. */
HEAPDUMP_API hd_status hd_compare(const hd_heap *before, const hd_heap *after, const hd_cutoff *cutoff,
                                  const hd_options *options, hd_diff **out, hd_error *err);
HEAPDUMP_API void hd_diff_free(hd_diff *diff);

/* One line of a diff's tree, as in hd_tree_row. */
typedef struct hd_diff_row {
    uint32_t depth, axis, entry; /* entry in `diff`; HD_NONE: <other> */
    hd_str name;
    uint64_t bytes[2], blocks[2]; /* before, after */
    double variance[2];
    unsigned flags;              /* HD_DIFF_ */
    const hd_diff *diff;
} hd_diff_row;

/* Calls `row` for each line, the most changed child first, ties in canonical order, <other> last if it
   changed. Otherwise as hd_tree. */
HEAPDUMP_API hd_status hd_diff_tree(const hd_heap *before, const hd_heap *after,
                                    const hd_tree_options *options,
                                    hd_status (*row)(void *user, const hd_diff_row *row), void *user,
                                    hd_error *err);
/* The tree as text: change in bytes (with its standard error when the heaps are estimates), bytes before
   and after, change in blocks, indented name. "~" before a change: within two standard errors. "new" and
   "gone" behind names, with "?" where that is only not listed. */
HEAPDUMP_API hd_status hd_print_diff(const hd_heap *before, const hd_heap *after,
                                     const hd_tree_options *options, hd_out out);

typedef struct hd_top_options {
    uint32_t axis;               /* whose names to list */
    uint32_t count;              /* list that many; 0: all */
    bool by_self;                /* largest self size first; otherwise largest total */
    bool units;                  /* as in hd_tree_options */
    hd_options options;
} hd_top_options;

/* A name wherever it stands on an axis: what is at nodes of that name (self), and what is at or below
   them (total), counted once where the name is on one path several times. */
typedef struct hd_top_row {
    hd_str name;                 /* "<self>": what stands at the root itself */
    uint64_t self_bytes, self_blocks, bytes, blocks;
    double self_variance, variance;
} hd_top_row;

/* Calls `row` for each name, the largest first, ties by name. "<self>" counts to the node above it. Of a
   breakdown: the same of hd_breakdown_axis_profile, so that self is an upper bound, what is not listed
   further being in it, and total a lower one. Stops when `row` returns anything but HD_OK, and returns
   that. Cost: a pass over nodes and cells, then sorting the names. Errors: HD_OUT_OF_MEMORY, HD_LIMIT,
   HD_OVERFLOW, HD_INVALID (no such axis). */
HEAPDUMP_API hd_status hd_top(const hd_heap *heap, const hd_top_options *options,
                              hd_status (*row)(void *user, const hd_top_row *row), void *user, hd_error *err);
/* The list as text: a line for the heap, then total and self bytes (with standard errors when they are
   estimates) and their shares of the heap, blocks, name. */
HEAPDUMP_API hd_status hd_print_top(const hd_heap *heap, const hd_top_options *options, hd_out out);

/* ================================================================================== >>graph
   What is alive and who holds it. Objects are numbered from 0 in the order of their records, whatever
   ids their file gives them; references stand in compressed sparse rows. What is referred to but has
   no record is an object too, behind all others: of class 0 and no bytes, holding nothing, so that
   analysis needs no special cases. Memory per object: 12 bytes, 6 to 14 more where ids are kept; per
   reference 4. Source: dart-heap-snapshot, netcf-gc-heap-dump. */

/* Why a root is one. The first six are those of netcf-gc-heap-dump, "Root Record". */
enum {
    HD_ROOT_INTERNAL = 0,        /* "internal": the runtime's own, application domains say */
    HD_ROOT_LOCAL = 1,           /* "local": a local variable */
    HD_ROOT_FINALIZER = 2,       /* "finalizer": waits for its finalizer */
    HD_ROOT_HANDLE = 3,          /* "handle" */
    HD_ROOT_STATIC = 4,          /* "static": hd_root.container has the variable */
    HD_ROOT_COLLECTOR = 5        /* "collector": interned strings, class descriptions */
};
/* Flags of roots: bits. A weak root does not hold its object alive. */
enum {
    HD_ROOT_PINNED = 1,          /* "pinned" */
    HD_ROOT_WEAK = 2,            /* "weak" */
    HD_ROOT_UNSAFE = 4           /* "unsafe": an unsafe pointer or a value field points there */
};

/* The names above; "unknown" for what has none. hd_root_flag_name takes one bit. */
HEAPDUMP_API const char *hd_root_kind_name(uint32_t kind);
HEAPDUMP_API const char *hd_root_flag_name(uint32_t flag);

typedef struct hd_root {
    uint32_t object;
    uint32_t kind, flags;
    uint32_t container;          /* class with the static variable, or HD_NONE */
} hd_root;

typedef struct hd_class {
    uint64_t id;                 /* the file's */
    hd_str name;
    hd_str scope;                /* the library or application domain it belongs to; may be empty */
    bool described;              /* false: a number that no record names */
} hd_class;

typedef struct hd_object {
    uint64_t id;                 /* the file's */
    uint64_t size;               /* shallow, bytes */
    uint32_t class_index;        /* 0: no record describes it */
    uint32_t reference_count;
    const uint32_t *references;  /* objects, in the file's order */
} hd_object;

typedef struct hd_graph hd_graph;

typedef struct hd_graph_desc {
    bool dense;                  /* object k has the id first_id + k: none is stored */
    uint64_t first_id;
    hd_allocator allocator;
    hd_limits limits;            /* max_records: objects, references, roots, classes: each */
} hd_graph_desc;

/* Graphs are filled in any order that names classes before objects, then sealed once; until then only
   the filling calls may be used, afterwards all but those. Adding costs O(1). Errors of filling calls:
   HD_OUT_OF_MEMORY, HD_LIMIT, HD_OVERFLOW (all sizes together pass 2^64 - 2), HD_INVALID (no such class
   or object, sealed already); the graph is then as it was. */
HEAPDUMP_API hd_graph *hd_graph_create(const hd_graph_desc *desc, hd_error *err);
HEAPDUMP_API void hd_graph_free(hd_graph *graph);
/* Class 0 is there from the start: "<not described>". Strings are copied. */
HEAPDUMP_API hd_status hd_graph_add_class(hd_graph *graph, const hd_class *desc, uint32_t *class_index);
/* Names a class when its record comes late. Not class 0. */
HEAPDUMP_API hd_status hd_graph_set_class(hd_graph *graph, uint32_t class_index, const hd_class *desc);
/* The name of the `reference`th reference of every object of a class. */
HEAPDUMP_API hd_status hd_graph_add_field(hd_graph *graph, uint32_t class_index, uint32_t reference,
                                          hd_str name);
/* In a dense graph `id` is not looked at. */
HEAPDUMP_API hd_status hd_graph_add_object(hd_graph *graph, uint64_t id, uint32_t class_index,
                                           uint64_t size);
/* References of the object added last, by the ids of what they lead to. */
HEAPDUMP_API hd_status hd_graph_add_references(hd_graph *graph, const uint64_t *ids, size_t count);
/* Adds to the size of an object: memory that it has elsewhere. */
HEAPDUMP_API hd_status hd_graph_add_size(hd_graph *graph, uint32_t object, uint64_t size);
/* root->object is ignored, `id` says which object is meant. */
HEAPDUMP_API hd_status hd_graph_add_root(hd_graph *graph, uint64_t id, const hd_root *root);
/* Turns ids into object numbers. Near-linear. Errors: HD_MALFORMED (two objects with one id),
   HD_OUT_OF_MEMORY, HD_LIMIT, HD_CANCELLED; the graph can only be freed then. */
HEAPDUMP_API hd_status hd_graph_seal(hd_graph *graph, const hd_options *options, hd_error *err);
/* Walks through the columns: every number within its range, offsets in order, ids found where they
   are, sizes adding up. HD_OK for every graph that was sealed. */
HEAPDUMP_API hd_status hd_graph_validate(const hd_graph *graph, hd_error *err);

HEAPDUMP_API uint32_t hd_graph_object_count(const hd_graph *graph);
HEAPDUMP_API uint32_t hd_graph_class_count(const hd_graph *graph);
HEAPDUMP_API uint32_t hd_graph_root_count(const hd_graph *graph);
HEAPDUMP_API hd_object hd_graph_object(const hd_graph *graph, uint32_t object);
HEAPDUMP_API hd_class hd_graph_class(const hd_graph *graph, uint32_t class_index);
HEAPDUMP_API hd_root hd_graph_root(const hd_graph *graph, uint32_t root);
/* The object with the file's id, or HD_NONE. A few probes; O(log objects) at worst. */
HEAPDUMP_API uint32_t hd_graph_find(const hd_graph *graph, uint64_t id);
/* What the `reference`th reference of an object is called; empty when it has no name. O(log fields). */
HEAPDUMP_API hd_str hd_graph_field(const hd_graph *graph, uint32_t object, uint32_t reference);

typedef struct hd_graph_summary {
    uint64_t objects, classes, roots, references; /* that have records; class 0 is not counted */
    uint64_t bytes;              /* shallow sizes of all objects, garbage included */
    uint64_t weak_roots;
    /* What no record describes: distinct objects, references and roots that lead to these, classes. */
    uint64_t missing_objects, missing_references, missing_roots, missing_classes;
    uint64_t memory;             /* bytes the graph takes */
} hd_graph_summary;

/* Cost: linear in the references. */
HEAPDUMP_API hd_graph_summary hd_graph_summarize(const hd_graph *graph);

/* One graph of several, domains of one process for instance. Objects are one when id, name of the
   class, size and referred ids are alike; an id that its own graph does not describe leads to the first
   graph that does. Objects that share no more than the id stay apart (hd_graph_find gives the first), as
   do classes unless id and name are alike. Equal roots are taken once. Errors: HD_OUT_OF_MEMORY,
   HD_LIMIT, HD_OVERFLOW, HD_CANCELLED. */
HEAPDUMP_API hd_status hd_graph_merge(const hd_graph *const *graphs, size_t count,
                                      const hd_options *options, hd_graph **out, hd_error *err);

typedef struct hd_total {
    uint64_t objects;            /* that have records */
    uint64_t bytes;
} hd_total;

/* What the roots that are not weak hold alive when none of `without` is there. `reached` (may be NULL)
   has a byte per object, set to 1 for what is and 0 for what is not: garbage. Linear.
   Errors: HD_OUT_OF_MEMORY, HD_LIMIT, HD_CANCELLED, HD_INVALID (no such object). */
HEAPDUMP_API hd_status hd_graph_reach(const hd_graph *graph, const uint32_t *without, size_t count,
                                      const hd_options *options, uint8_t *reached, hd_total *total,
                                      hd_error *err);
/* What would become garbage together with these objects, themselves included, each object counted once.
   Exact, also for what several of them hold between them. Linear. Errors as above. */
HEAPDUMP_API hd_status hd_graph_retained(const hd_graph *graph, const uint32_t *objects, size_t count,
                                         const hd_options *options, hd_total *total, hd_error *err);
/* The same of all objects of a class. */
HEAPDUMP_API hd_status hd_graph_class_retained(const hd_graph *graph, uint32_t class_index,
                                               const hd_options *options, hd_total *total, hd_error *err);

/* Immediate dominators: the object that all ways from the roots to an object lead through, nearest to
   it. Retained is what an object holds alone: the sizes of all below it in that tree, and its own.
   Columns by object unless said otherwise, all owned by the result. Below object o in the tree are
   order[position[o] + 1 .. position[o] + below[o]): its first child comes first, the next child of the
   same parent `below` places after it. */
typedef struct hd_dominators {
    uint32_t count, reached;     /* objects; those that a root holds */
    const uint32_t *parent;      /* HD_NONE: held by no single object, or unreachable */
    const uint32_t *position;    /* in `order`; HD_NONE: unreachable */
    const uint32_t *below;       /* objects in its subtree, itself included; 0: unreachable */
    const uint64_t *retained;    /* bytes; 0: unreachable */
    const uint32_t *order;       /* by position: objects, dominators first (preorder) */
    uint64_t bytes;              /* of all that is reachable */
} hd_dominators;

/* Near-linear in objects and references, without recursion. Memory: the result has 24 bytes an object;
   while it runs some 40 bytes an object and 12 a reference that leads neither to a new object nor down.
   Errors: HD_OUT_OF_MEMORY, HD_LIMIT, HD_CANCELLED. */
HEAPDUMP_API hd_status hd_graph_dominators(const hd_graph *graph, const hd_options *options,
                                           hd_dominators **out, hd_error *err);
HEAPDUMP_API void hd_dominators_free(hd_dominators *dominators);
/* The `count` objects that retain most, largest first, ties by number. At most `count` are written to
   `objects`; returns how many. O(objects x log count). */
HEAPDUMP_API uint32_t hd_dominators_top(const hd_dominators *dominators, uint32_t count,
                                        uint32_t *objects);

typedef struct hd_dominator_options {
    hd_cutoff cutoff;
    bool every_link;             /* a class that holds itself: a level each, instead of one for all */
    hd_options options;
} hd_dominator_options;

/* The dominator tree for printing: objects of one class that hang below the same entry are one entry,
   bytes what they retain, blocks how many objects that is, those without records not counted. "<self>" is
   what the objects of an entry have themselves. The one axis is called "dominator". Cut off before
   anything is named, so that it costs what is listed: each object below a listed entry is looked at twice.
   Errors: HD_OUT_OF_MEMORY, HD_LIMIT, HD_CANCELLED, HD_INVALID (a share that is not within 0 and 1). */
HEAPDUMP_API hd_status hd_dominator_tree(const hd_graph *graph, const hd_dominators *dominators,
                                         const hd_dominator_options *options, hd_breakdown **out,
                                         hd_error *err);

typedef struct hd_class_row {
    uint32_t class_index;
    uint64_t objects, bytes;     /* all of the class: count and shallow size */
    uint64_t live_objects, live_bytes; /* of these, reachable; 0 without dominators */
    uint64_t retained;           /* what its objects dominate, nested ones counted once: no more than
                                    hd_graph_class_retained says; 0 without dominators */
} hd_class_row;

typedef struct hd_histogram {
    uint32_t count;              /* classes that have objects with records */
    const hd_class_row *rows;    /* most retained first, then bytes, then by name, scope, number */
} hd_histogram;

/* `dominators` may be NULL. Linear. Errors: HD_OUT_OF_MEMORY, HD_LIMIT. */
HEAPDUMP_API hd_status hd_graph_histogram(const hd_graph *graph, const hd_dominators *dominators,
                                          const hd_options *options, hd_histogram **out, hd_error *err);
HEAPDUMP_API void hd_histogram_free(hd_histogram *histogram);

typedef struct hd_class_change {
    hd_str name, scope;          /* borrowed from the graphs */
    uint64_t objects[2], bytes[2]; /* before, after */
} hd_class_change;

typedef struct hd_graph_change {
    uint32_t count;
    const hd_class_change *rows; /* largest change of bytes first, then by name and scope */
} hd_graph_change;

/* Two graphs class by class, told apart by name and scope: ids of objects and classes mean nothing
   from one dump to the next. Classes with equal numbers are listed too. Errors as above. */
HEAPDUMP_API hd_status hd_graph_diff(const hd_graph *before, const hd_graph *after,
                                     const hd_options *options, hd_graph_change **out, hd_error *err);
HEAPDUMP_API void hd_graph_change_free(hd_graph_change *change);

/* Who refers to each object: target[first[o]] .. target[first[o + 1] - 1], in ascending order, as often
   as they do. 4 bytes an object and 4 a reference. Errors: HD_OUT_OF_MEMORY, HD_LIMIT, HD_CANCELLED. */
typedef struct hd_links {
    uint32_t count;
    const uint32_t *first, *target;
} hd_links;

HEAPDUMP_API hd_status hd_graph_referrers(const hd_graph *graph, const hd_options *options,
                                          hd_links **out, hd_error *err);
HEAPDUMP_API void hd_links_free(hd_links *links);

typedef struct hd_path {
    uint32_t root;               /* number of the root it starts from */
    uint32_t length;             /* objects, at least 1 */
    const uint32_t *objects;     /* the root's first, the one asked for last */
    const uint32_t *references;  /* references[i] of objects[i] leads to objects[i + 1]; the last: HD_NONE */
} hd_path;

typedef struct hd_paths {
    uint32_t count;
    const hd_path *paths;
} hd_paths;

/* Up to `most` ways from roots that are not weak to an object: a shortest one, then each time a shortest
   one that has neither the root nor any object in common with those before, but for the last. Ties: the
   first root, the first reference. Garbage has none. Each costs a walk through the graph at worst, and
   8 bytes an object for all. Errors: HD_OUT_OF_MEMORY, HD_LIMIT, HD_CANCELLED, HD_INVALID. */
HEAPDUMP_API hd_status hd_graph_paths(const hd_graph *graph, uint32_t object, uint32_t most,
                                      const hd_options *options, hd_paths **out, hd_error *err);
HEAPDUMP_API void hd_paths_free(hd_paths *paths);

/* Strongly connected components: component[o] for each of object_count objects, numbered so that
   references never lead to a higher one; *count says how many. Linear, no recursion; 16 bytes an
   object while it runs. Errors: HD_OUT_OF_MEMORY, HD_LIMIT, HD_CANCELLED. */
HEAPDUMP_API hd_status hd_graph_components(const hd_graph *graph, const hd_options *options,
                                           uint32_t *component, uint32_t *count, hd_error *err);

/* ================================================================================ >>tracker
   Where in the program an allocation happens. Contexts are interned: each is a number, node of one
   tree that all threads share, so that a snapshot is a number, not a copy of a stack. The tracker
   keeps a stack of scope names per thread. Source: chromium-heap-profiler. */

/* Frames kept per backtrace at most, whatever hd_tracker_desc asks for. */
#define HD_MAX_FRAMES 128

/* An interned tree of contexts. Any thread may use one at any time; look-ups take no lock. Memory
   comes straight from the OS. A context is a number below hd_contexts_count; 0 is the empty
   backtrace with no type. Frames are told apart by address, not by content: names must stay where
   they are until the contexts are freed (string literals do). */
typedef struct hd_contexts hd_contexts;

typedef enum hd_frame_kind {
    HD_FRAME_ROOT,               /* context 0 only */
    HD_FRAME_NAME,               /* value: const char *, a scope's name */
    HD_FRAME_PC,                 /* value: a program counter */
    HD_FRAME_TRUNCATED,          /* value: NULL; frames beyond the limit stood here */
    HD_FRAME_TYPE                /* value: const char *, a type's name; always a leaf */
} hd_frame_kind;

typedef struct hd_frame {
    uint32_t parent;             /* HD_NONE for context 0 */
    hd_frame_kind kind;
    const void *value;
} hd_frame;

HEAPDUMP_API hd_contexts *hd_contexts_create(hd_error *err);
HEAPDUMP_API void hd_contexts_free(hd_contexts *contexts);
/* The child of a context, made when it is not there yet. Errors: HD_OUT_OF_MEMORY. */
HEAPDUMP_API hd_status hd_contexts_child(hd_contexts *contexts, uint32_t parent,
                                         hd_frame_kind kind, const void *value, uint32_t *child);
HEAPDUMP_API hd_frame hd_contexts_frame(const hd_contexts *contexts, uint32_t context);
HEAPDUMP_API uint32_t hd_contexts_count(const hd_contexts *contexts);
/* Bytes taken from the OS. */
HEAPDUMP_API uint64_t hd_contexts_memory(const hd_contexts *contexts);

typedef enum hd_capture {
    HD_CAPTURE_DEFAULT,          /* pseudo-stack */
    HD_CAPTURE_OFF,              /* empty backtraces; types only */
    HD_CAPTURE_PSEUDO_STACK,
    HD_CAPTURE_NATIVE_STACK,     /* what `unwind` finds */
    HD_CAPTURE_MIXED_STACK       /* the pseudo-stack, and the native frames under it */
} hd_capture;

/* Program counters of the calling thread's stack, innermost first, at most `capacity`, without the
   library's own frames; how many there were. Called inside allocations: must not take locks that
   can be held there. What it allocates is ignored by recorders. */
typedef size_t (*hd_unwind_fn)(void *user, const void **pcs, size_t capacity);

typedef struct hd_tracker_desc {
    hd_contexts *contexts;       /* borrowed, until hd_tracker_stop; required */
    hd_capture capture;
    const char *categories;      /* as hd_tracker_set_categories takes [""] */
    uint32_t max_frames;         /* per backtrace, up to HD_MAX_FRAMES [48] */
    hd_unwind_fn unwind;         /* required for native and mixed */
    void *user;
} hd_tracker_desc;

/* There is one tracker per program. Starting makes all three conditions for scopes hold: a trace is
   being recorded, the scope's category is enabled, heap profiling is enabled. Scopes that were
   entered before are not on any stack. A pseudo-stack keeps its outermost frames, a native stack
   its innermost; a frame "<truncated>" marks the cut. Start and stop while no other thread is
   inside a scope or a snapshot; the setters may be called at any time.
   Errors: HD_INVALID (running already, no contexts, no unwinder, bad categories). */
HEAPDUMP_API hd_status hd_tracker_start(const hd_tracker_desc *desc, hd_error *err);
HEAPDUMP_API void hd_tracker_stop(void);
HEAPDUMP_API bool hd_tracker_running(void);
HEAPDUMP_API void hd_tracker_set_recording(bool recording);
HEAPDUMP_API void hd_tracker_set_heap_profiling(bool enabled);
/* "a,b" enables these, "-c" all but c, "*" and "?" match in names. A "disabled-by-default-x" is
   enabled only by a pattern that begins with that prefix. A scope whose category is a list "a,b" is
   enabled when one of them is. Exact names come before exclusions, exclusions before patterns.
   "" enables all but those that begin with disabled-by-default-. At most 1023 bytes: HD_INVALID. */
HEAPDUMP_API hd_status hd_tracker_set_categories(const char *filter);
/* The calling thread's context now, with a type (NULL: "[unknown]"). O(1) with a pseudo-stack.
   0 when the tracker is not running. */
HEAPDUMP_API uint32_t hd_tracker_snapshot(const char *type);
/* Frames on the calling thread's pseudo-stack, those beyond the limit included. */
HEAPDUMP_API uint32_t hd_tracker_depth(void);

/* A scope's category and whether it is enabled, found once per change of the filter. */
typedef struct hd_category {
    const char *name;
    uint32_t state, last;        /* private; last: the context that its last scope led to */
} hd_category;

/* Remembers whether its begin pushed, and onto what, so that its end restores just that, also after
   a longjmp over inner scopes. */
typedef struct hd_scope {
    uint32_t session, depth, top;  /* private; session 0: nothing was pushed */
} hd_scope;

HEAPDUMP_API hd_scope hd_scope_begin(hd_category *category, const char *name);
HEAPDUMP_API void hd_scope_end(hd_scope *scope);

/* Private: a bit for each condition that does not hold; scopes push while it is 0. Lets a scope that
   is off cost one load. */
#ifdef HEAPDUMP_STATIC
HD_UNUSED static uint32_t hd__scopes_off = 1;
#else
HEAPDUMP_API uint32_t hd__scopes_off;
#endif

/* HD_SCOPE(category, name): both string literals; a pseudo-stack frame to the end of the block,
   however that is left. */
#define HD__JOIN2(a, b) a##b
#define HD__JOIN(a, b) HD__JOIN2(a, b)
#if defined(__GNUC__)
#define HD__SCOPES_ON() (!__atomic_load_n(&hd__scopes_off, __ATOMIC_RELAXED))
#else
#define HD__SCOPES_ON() (!*(volatile uint32_t *)&hd__scopes_off)
#endif
#if defined(__cplusplus)
} /* extern "C" */
namespace {
struct hd__auto_scope {
    hd_scope scope;
    hd__auto_scope(hd_category *category, const char *name) {
        scope.session = scope.depth = 0;
        if (HD__SCOPES_ON()) scope = hd_scope_begin(category, name);
    }
    ~hd__auto_scope() { if (scope.session) hd_scope_end(&scope); }
    hd__auto_scope(const hd__auto_scope &) = delete;
    hd__auto_scope &operator=(const hd__auto_scope &) = delete;
};
}
extern "C" {
#define HD_SCOPE(category, name)                                                    \
    static hd_category HD__JOIN(hd__category_, __LINE__) = { (category), 0, 0 };       \
    hd__auto_scope HD__JOIN(hd__scope_, __LINE__)(&HD__JOIN(hd__category_, __LINE__), (name))
#elif defined(__GNUC__)
HD_UNUSED static void hd__scope_cleanup(hd_scope *scope) {
    if (scope->session) hd_scope_end(scope);
}
#define HD_SCOPE(category, name)                                                    \
    static hd_category HD__JOIN(hd__category_, __LINE__) = { (category), 0, 0 };       \
    hd_scope HD__JOIN(hd__scope_, __LINE__) __attribute__((cleanup(hd__scope_cleanup), unused)) = \
        HD__SCOPES_ON() ? hd_scope_begin(&HD__JOIN(hd__category_, __LINE__), (name)) : (hd_scope){ 0, 0, 0 }
#endif

/* =============================================================================== >>register
   A hash table from addresses to what is allocated there. Its memory comes straight from the OS,
   so that malloc hooks can use it. Not synchronised: one thread at a time.
   Source: chromium-heap-profiler. */

typedef struct hd_register hd_register;

typedef struct hd_allocation {
    uint64_t address;            /* not 0 */
    uint64_t size;               /* bytes */
    uint32_t context;
    uint32_t time;               /* of allocation, on the caller's clock; 0 when not kept */
} hd_allocation;

HEAPDUMP_API hd_register *hd_register_create(hd_error *err);
HEAPDUMP_API void hd_register_free(hd_register *reg);
/* Adds, or replaces what is at that address: `replaced` (may be NULL) gets the old one, address 0
   when there was none. Errors: HD_INVALID (address 0), HD_OUT_OF_MEMORY (the OS gives no more;
   what is registered stays). O(1); the slowest single call moves one table of 1 MiB. */
HEAPDUMP_API hd_status hd_register_insert(hd_register *reg, const hd_allocation *allocation,
                                          hd_allocation *replaced);
/* These return false when nothing is at that address; `found` and `removed` may be NULL. */
HEAPDUMP_API bool hd_register_find(const hd_register *reg, uint64_t address, hd_allocation *found);
HEAPDUMP_API bool hd_register_remove(hd_register *reg, uint64_t address, hd_allocation *removed);
HEAPDUMP_API bool hd_register_set_context(hd_register *reg, uint64_t address, uint32_t context);
HEAPDUMP_API uint64_t hd_register_count(const hd_register *reg);
HEAPDUMP_API void hd_register_clear(hd_register *reg);      /* gives its memory back */

/* All allocations, in no order that means anything: start with a zeroed cursor; false at the end.
   The register must not change between. */
typedef struct hd_cursor {
    uint32_t table, slot;
} hd_cursor;
HEAPDUMP_API bool hd_register_next(const hd_register *reg, hd_cursor *cursor, hd_allocation *found);

/* Bytes of address space taken, and of those what the OS may have to keep in memory. O(tables). */
typedef struct hd_memory {
    uint64_t reserved, resident;
} hd_memory;
HEAPDUMP_API hd_memory hd_register_memory(const hd_register *reg);

/* =============================================================================== >>recorder
   Contexts, register, locks: the object a malloc hook calls. Any thread may call any of the
   hd_record_ functions at any time, also from inside themselves (an unwinder or a clock that
   allocates): such inner calls are ignored and counted. They never call malloc.
   Source: chromium-heap-profiler. */

typedef struct hd_recorder hd_recorder;

typedef struct hd_recorder_desc {
    /* Where backtraces come from. While the tracker is running the recorder joins it, with its
       contexts, and has to be freed before whoever started it. Otherwise it starts the tracker with
       this, making contexts when none are given, and stops it when freed. */
    hd_tracker_desc tracker;
    uint32_t shards;             /* locks and registers, a power of two up to 256 [16] */
    /* Record a sample only: on average one block per this many allocated bytes, each byte as likely as
       any other, so that a block of n bytes is recorded with probability 1 - exp(-n / sample_bytes).
       A block left out costs a few nanoseconds. Snapshots scale sizes and counts so that they are
       unbiased estimates, and give their variance. [0: record every block] */
    uint64_t sample_bytes;
    uint64_t sample_seed;        /* equal seeds draw equal samples in each thread [drawn at random] */
    /* Called after a block was freed, dropped or replaced, outside of all locks. */
    void (*on_free)(void *user, const hd_allocation *freed, uint32_t lifetime);
    /* Fills hd_allocation.time. Asked only when set; any unit, may wrap. */
    uint32_t (*clock)(void *user);
    void *user;                  /* handed to both */
} hd_recorder_desc;

HEAPDUMP_API hd_recorder *hd_recorder_create(const hd_recorder_desc *desc, hd_error *err);
/* After the last hook has returned. */
HEAPDUMP_API void hd_recorder_free(hd_recorder *rec);

/* Call after allocating. NULL addresses are ignored, size 0 is a block like any other, an address
   recorded already is replaced. `type` is a name that stays, or NULL. False when the block was not
   recorded (see hd_recorder_stats), or is not in the sample. */
HEAPDUMP_API bool hd_record_alloc(hd_recorder *rec, const void *address, size_t size,
                                  const char *type);
/* Call before freeing, so that no other thread can be given the address in between. False when
   the address is not recorded. */
HEAPDUMP_API bool hd_record_free(hd_recorder *rec, const void *address);
/* Around a realloc: take before it; when it fails restore, when it does not drop what was taken and
   record the new block. Only a dropped block counts as freed for on_free. */
HEAPDUMP_API bool hd_record_take(hd_recorder *rec, const void *address, hd_allocation *taken);
HEAPDUMP_API void hd_record_restore(hd_recorder *rec, const hd_allocation *taken);
HEAPDUMP_API void hd_record_drop(hd_recorder *rec, const hd_allocation *taken);
/* For hooks that do more around these calls than the calls themselves: true when sampling leaves a block
   of this size out, so that there is nothing to record (otherwise call hd_record_alloc next), and when
   nothing can be recorded at this address. A few nanoseconds; always false when every block is recorded,
   but for address NULL. */
HEAPDUMP_API bool hd_record_skips_alloc(hd_recorder *rec, size_t size);
HEAPDUMP_API bool hd_record_skips_free(const hd_recorder *rec, const void *address);
/* For when the type becomes known after the allocation. False when the address is not recorded. */
HEAPDUMP_API bool hd_record_set_type(hd_recorder *rec, const void *address, const char *type);

/* Enter and leave a stretch of the calling thread in which nothing is recorded, counted as ignored;
   these nest. True when the thread was recording before. */
HEAPDUMP_API bool hd_record_suspend(void);
HEAPDUMP_API void hd_record_resume(void);

/* Around fork(), for pthread_atfork or by hand: the child's recorder is then whole, its peak what is
   live. All recorders of a program that are live have to have the same contexts. */
HEAPDUMP_API void hd_recorder_fork_prepare(hd_recorder *rec);
HEAPDUMP_API void hd_recorder_fork_parent(hd_recorder *rec);
HEAPDUMP_API void hd_recorder_fork_child(hd_recorder *rec);

/* Of a sampled recording live_bytes and peak_bytes are estimates; the rest tells of the sample. */
typedef struct hd_recorder_stats {
    uint64_t live_bytes, live_blocks;
    uint64_t peak_bytes;         /* the most live_bytes ever was */
    uint64_t total_bytes, total_blocks; /* all recorded, freed ones included */
    uint64_t replaced;           /* allocations at an address that was live: a free was missed */
    uint64_t unknown_frees;      /* frees of addresses never seen; few of them when sampled */
    uint64_t ignored;            /* calls made while the thread was inside the recorder */
    uint64_t lost;               /* allocations there was no memory to record */
    hd_memory memory;            /* the recorder's own: registers and contexts */
} hd_recorder_stats;

HEAPDUMP_API void hd_recorder_get_stats(hd_recorder *rec, hd_recorder_stats *stats);
/* The most live_bytes ever was, and live_bytes: two loads, no lock. */
HEAPDUMP_API uint64_t hd_recorder_peak_bytes(const hd_recorder *rec);
HEAPDUMP_API uint64_t hd_recorder_live_bytes(const hd_recorder *rec);
HEAPDUMP_API hd_contexts *hd_recorder_contexts(hd_recorder *rec);
/* Every live allocation, in no order. A shard is locked while `each` is called for what is in it: it must not
   call the recorder, nor wait for who does. Async-signal-safe when the thread was not inside the recorder and
   `each` is. */
HEAPDUMP_API void hd_recorder_visit(hd_recorder *rec, void (*each)(void *user, const hd_allocation *live),
                                    void *user);

typedef struct hd_snapshot_options {
    hd_options options;
    /* The name of a program counter: into `buffer`, or any string that stays until the next call.
       [0x and the address in hexadecimal] */
    hd_str (*pc_name)(void *user, const void *pc, char *buffer, size_t capacity);
    /* The type of a context that was given none. ["[unknown]"] */
    hd_str (*type_name)(void *user, const hd_contexts *contexts, uint32_t context, char *buffer,
                        size_t capacity);
    void *user;
} hd_snapshot_options;

/* What is live now, as a profile with axes backtrace and type. Each shard is locked for as long as
   it takes to add its allocations up; the calling thread's own allocations are not recorded.
   Async-signal-safe with hd_page_allocator when the thread was not inside the recorder.
   Errors: HD_OUT_OF_MEMORY, HD_LIMIT, HD_CANCELLED. */
HEAPDUMP_API hd_status hd_recorder_snapshot(hd_recorder *rec, const hd_snapshot_options *options,
                                            hd_profile **out, hd_error *err);

/* The same of contexts that the caller added up himself: bytes[c] and blocks[c] are those of context c, for
   all c below `count`. `blocks` may be NULL: not told. Errors also: HD_INVALID (no such contexts). */
HEAPDUMP_API hd_status hd_contexts_profile(const hd_contexts *contexts, const uint64_t *bytes,
                                           const uint64_t *blocks, uint32_t count,
                                           const hd_snapshot_options *options, hd_profile **out,
                                           hd_error *err);

/* ================================================================================= >>chrome
   Heap dumps inside Chromium traces. Written: the new format (cumulative entries) from breakdowns,
   heaps_v2 (self sizes) from profiles. Read, through >>dump: both and the old format, in trace objects,
   bare arrays and arrays that a crashed writer left open. Source: chromium-heap-dump-format,
   AS-SHIPPED. */

/* What a dump says of a process in one number or text: an attribute of an allocator, or, without an
   allocator, a total of the process. Strings are borrowed, and NULL where nothing is told. */
typedef struct hd_scalar {
    uint64_t pid;
    const char *process;         /* "Browser" */
    const char *dump;            /* id of the dump */
    uint64_t time_us;            /* microseconds, on the trace's own clock */
    const char *allocator;       /* "malloc/allocated_objects"; NULL: process_totals */
    const char *name;            /* "size", "resident_set_bytes" */
    const char *units;           /* "bytes", "objects" or NULL */
    uint64_t value;
    const char *text;            /* a string attribute's value, else NULL */
} hd_scalar;

typedef enum hd_detail {
    HD_DETAILED,                 /* heaps and scalars */
    HD_LIGHT,                    /* scalars: cheap, for often */
    HD_BACKGROUND                /* scalars that are next to free, for reports from the field */
} hd_detail;

/* What the dumps of a trace have in common is told once: a deduplicator numbers stack frames (of
   HD_AXIS_BACKTRACE; a frame is its name and what called it) or names of types (of HD_AXIS_TYPE). Ids count
   from 0 in the order in which they were first inserted and never change; type 0 is "[unknown]", there from
   the start. One thread at a time. Source: chromium-heap-profiler, "StackFrameDeduplicator". */
typedef struct hd_deduplicator hd_deduplicator;

/* Of options the allocator and limits count; max_records: ids. Errors: HD_OUT_OF_MEMORY, HD_INVALID (another
   axis). */
HEAPDUMP_API hd_deduplicator *hd_deduplicator_create(uint32_t axis, const hd_options *options,
                                                     hd_error *err);
HEAPDUMP_API void hd_deduplicator_free(hd_deduplicator *deduplicator);
/* The id of a backtrace's innermost frame, the outermost coming first in `path`, or that of a type, whose
   path is one name. An empty path has the id HD_NONE, as a type 0. Names are copied, each once. O(their
   bytes). Errors: HD_OUT_OF_MEMORY, HD_LIMIT, HD_INVALID (a type of several names); outer frames may be in
   then. */
HEAPDUMP_API hd_status hd_deduplicator_insert(hd_deduplicator *deduplicator, const hd_str *path,
                                              size_t count, uint32_t *id, hd_error *err);
HEAPDUMP_API uint32_t hd_deduplicator_count(const hd_deduplicator *deduplicator);
/* What an id stands for, which is empty past the last. Borrowed. *caller (may be NULL): the frame above, with
   a smaller id; HD_NONE: none. */
HEAPDUMP_API hd_str hd_deduplicator_name(const hd_deduplicator *deduplicator, uint32_t id, uint32_t *caller);
/* The dictionary of ids from `first` on, as the value of "stackFrames" or "typeNames": {"0":{"name":"main"},
   "1":{"name":"f","parent":"0"}} or {"0":"[unknown]","1":"T"}. Source: chromium-heap-dump-format, "Exact
   trace log format". */
HEAPDUMP_API void hd_deduplicator_write(const hd_deduplicator *deduplicator, uint32_t first,
                                        hd_json *json);
/* Bytes that it holds; of a writer's, those of the whole writer. */
HEAPDUMP_API uint64_t hd_deduplicator_memory(const hd_deduplicator *deduplicator);

/* Heaps and scalars of any processes and dumps. Those of one pid and dump id are written as one event,
   so have one time, and belong into one of these. All of it is borrowed. */
typedef struct hd_chrome_dumps {
    const hd_heap *heaps;        /* profiles as heaps_v2, breakdowns in the new format */
    size_t heap_count;
    const hd_scalar *scalars;
    size_t scalar_count;
    hd_detail detail;            /* of all of them; only detailed dumps have heaps */
    const char *trigger;         /* the events' name ["explicitly_triggered"] */
} hd_chrome_dumps;

/* Writes a trace dump by dump, for as long as the program runs. Frames and names of types are
   deduplicated over all dumps of a process: each is written once, before its first use but for the names
   of types in the new format, of which the trace viewer takes one list per process: that comes at the
   end. A heap costs its bytes in the output; between calls memory holds each distinct frame and type.
   One thread at a time. */
typedef struct hd_chrome_writer hd_chrome_writer;

typedef struct hd_chrome_writer_desc {
    hd_options options;
    /* Whatever was added can be read when the program does not get to finish: the trace is a bare array,
       and each dump comes with the types it is the first to use. Of these the trace viewer only takes the
       first list of a process; it has no such trouble with heaps_v2. */
    bool interruptible;
} hd_chrome_writer_desc;

HEAPDUMP_API hd_chrome_writer *hd_chrome_writer_create(const hd_chrome_writer_desc *desc, hd_out out,
                                                       hd_error *err);
/* Writes these dumps, ordered by pid, time, dump and allocator, through to `out`; the viewer wants
   the dumps of later calls to have later times. Progress counts heaps and scalars of one process.
   Errors: the output's; HD_OUT_OF_MEMORY; HD_LIMIT; HD_CANCELLED; HD_UNSUPPORTED (more than two axes);
   HD_INVALID (two heaps of one pid, dump and allocator; two scalars that have their name in common too;
   one dump of a pid at two times, or in two calls; heaps in a light dump). After HD_INVALID and
   HD_UNSUPPORTED nothing was written and the writer goes on; all others stick. */
HEAPDUMP_API hd_status hd_chrome_writer_add(hd_chrome_writer *writer, const hd_chrome_dumps *dumps,
                                            hd_error *err);
/* Ends the trace. */
HEAPDUMP_API hd_status hd_chrome_writer_finish(hd_chrome_writer *writer, hd_error *err);
/* What the dumps of a process have referred to so far; NULL when it has none, and for other axes. Its ids are
   those of the new format, unless the process also has heaps_v2, which share the ids of frames in a trace.
   Valid until dumps are added. */
HEAPDUMP_API const hd_deduplicator *hd_chrome_writer_deduplicator(const hd_chrome_writer *writer,
                                                                  uint64_t pid, uint32_t axis);
/* Bytes that the writer holds. */
HEAPDUMP_API uint64_t hd_chrome_writer_memory(const hd_chrome_writer *writer);
HEAPDUMP_API void hd_chrome_writer_free(hd_chrome_writer *writer);

/* A trace of these heaps, ordered by pid, time, dump and allocator; those alike in the first three
   become one event. Dictionaries are shared by the heaps of a process. Equal heaps give equal bytes.
   Errors: the output's; HD_OUT_OF_MEMORY; HD_UNSUPPORTED (more than two axes); HD_INVALID (two heaps
   of one pid, dump and allocator; one dump of a pid at two times). */
HEAPDUMP_API hd_status hd_chrome_write(const hd_heap *heaps, size_t count,
                                       const hd_options *options, hd_out out, hd_error *err);

/* Copies a trace, byte for byte, and inserts these dumps as the last of its events. Ids of frames and
   types are above all that its events define or use, so that nothing in it gets another meaning. An array
   that a crashed writer left open is closed. What the trace has of a process already makes a difference to
   the trace viewer alone, which takes the first list of type names only: dumps of such a process are better
   added as profiles. Memory: that of hd_chrome_write and 200 KB, however long the trace. Progress counts
   bytes. Errors: hd_chrome_write's; HD_MALFORMED with the place, where the trace is no JSON or has not one
   traceEvents; HD_INVALID also when the trace has a dump of the same pid and id, whatever is in it: the
   viewer takes one set of heaps per dump; HD_UNSUPPORTED also for gzip, and when the trace's ids pass 2^52.
   What was written until then is of no use. Cost: about that of reading the trace. */
HEAPDUMP_API hd_status hd_chrome_add(hd_in trace, const hd_chrome_dumps *dumps, const hd_options *options,
                                     hd_out out, hd_error *err);

/* =============================================================================== >>provider
   Chromium's flow of a memory dump: parts of a program that know about memory register as providers with
   a manager; it asks each for its part, and writes what they say as a dump into a trace. Any thread may
   call the manager at any time; calls wait for each other. Providers are called one after the other, in
   the order they registered in, by the thread that registers, enables or dumps, and may not call their
   manager back (HD_INVALID). Source: chromium-heap-profiler. */

typedef struct hd_memory_dump_manager hd_memory_dump_manager;
/* One dump, for as long as a provider is asked. */
typedef struct hd_memory_dump hd_memory_dump;

typedef struct hd_memory_dump_provider {
    const char *name;            /* for warnings */
    /* Says what there is, by hd_memory_dump_add_ calls: scalars always, heaps when the dump is detailed.
       False when that failed: of this dump the provider then has no part, and after failing
       HD_PROVIDER_FAILURES times in a row it is asked no more. So it is when such a call failed. */
    bool (*on_memory_dump)(void *user, hd_detail detail, hd_memory_dump *dump);
    /* May be NULL. Called when heap profiling is switched, and as early as registration when it is on
       already: from then on, record what is allocated. */
    void (*on_heap_profiling_enabled)(void *user, bool enabled);
    void *user;
} hd_memory_dump_provider;

#define HD_PROVIDER_FAILURES 3

typedef struct hd_memory_dump_manager_desc {
    hd_out out;                  /* where the trace goes; required */
    bool interruptible;          /* as in hd_chrome_writer_desc */
    uint64_t pid;                /* [1] */
    const char *process;         /* borrowed */
    hd_cutoff heap_cutoff;       /* what of a heap is worth writing */
    uint64_t period_us;          /* between dumps made by hd_memory_dump_manager_tick [none are] */
    uint32_t detailed_every;     /* of these, the first and then every so many-th is detailed [8] */
    /* Warnings are of providers that failed. Progress counts providers asked. */
    hd_options options;
} hd_memory_dump_manager_desc;

/* Errors: HD_INVALID (no output), HD_OUT_OF_MEMORY. */
HEAPDUMP_API hd_memory_dump_manager *hd_memory_dump_manager_create(const hd_memory_dump_manager_desc *desc,
                                                                   hd_error *err);
/* Ends the trace; no dumps can follow. */
HEAPDUMP_API hd_status hd_memory_dump_manager_finish(hd_memory_dump_manager *manager, hd_error *err);
HEAPDUMP_API void hd_memory_dump_manager_free(hd_memory_dump_manager *manager);

/* The provider stays where it is until it is unregistered. Errors: HD_INVALID (registered already, or
   called by a provider), HD_OUT_OF_MEMORY. */
HEAPDUMP_API hd_status hd_memory_dump_manager_register(hd_memory_dump_manager *manager,
                                                       const hd_memory_dump_provider *provider,
                                                       hd_error *err);
/* After this the provider is not called any more. Errors: HD_INVALID (not registered, or called by a
   provider). */
HEAPDUMP_API hd_status hd_memory_dump_manager_unregister(hd_memory_dump_manager *manager,
                                                         const hd_memory_dump_provider *provider,
                                                         hd_error *err);
/* Tells all providers, when that is new. Errors: HD_INVALID (called by a provider). */
HEAPDUMP_API hd_status hd_memory_dump_manager_set_heap_profiling(hd_memory_dump_manager *manager,
                                                                 bool enabled, hd_error *err);

/* Asks all providers and writes the dump through to the output, under the ids 0x1, 0x2, ...; one of which
   nobody has anything to say is not written. time_us: microseconds on the trace's clock, never less than
   before. What providers said of their own memory becomes `tracing/heap_profiler`, together with the
   manager's; the trace viewer takes that out of the process's total. Errors: as hd_chrome_writer_add has;
   HD_INVALID (called by a provider). */
HEAPDUMP_API hd_status hd_memory_dump_manager_dump(hd_memory_dump_manager *manager, hd_detail detail,
                                                   uint64_t time_us, hd_error *err);
/* Call often: makes the dump that is due by period_us, if one is, and at most one. The first call starts
   the periods. Errors: as above. */
HEAPDUMP_API hd_status hd_memory_dump_manager_tick(hd_memory_dump_manager *manager, uint64_t time_us,
                                                   hd_error *err);

/* Whether the provider is registered, and asked for dumps. */
HEAPDUMP_API bool hd_memory_dump_manager_asks(hd_memory_dump_manager *manager,
                                              const hd_memory_dump_provider *provider);

/* What providers call. All arguments are copied. Allocators are paths, "foo/arena_1", a parent holding
   its children. Errors: HD_OUT_OF_MEMORY, HD_LIMIT, HD_INVALID (said already; no name). */
HEAPDUMP_API hd_status hd_memory_dump_add_scalar(hd_memory_dump *dump, const char *allocator,
                                                 const char *name, const char *units, uint64_t value);
HEAPDUMP_API hd_status hd_memory_dump_add_string(hd_memory_dump *dump, const char *allocator,
                                                 const char *name, const char *text);
/* Of the whole process: "resident_set_bytes". */
HEAPDUMP_API hd_status hd_memory_dump_add_total(hd_memory_dump *dump, const char *name, uint64_t value);
/* A heap by its allocator, profile or breakdown, and sample_bytes, condensed by the manager's cut-off;
   the rest of its label is the manager's. Errors also: hd_export's; HD_UNSUPPORTED (more than two axes);
   HD_INVALID (the dump is light). */
HEAPDUMP_API hd_status hd_memory_dump_add_heap(hd_memory_dump *dump, const hd_heap *heap);
/* What a recorder has recorded, and as overhead its own memory. */
HEAPDUMP_API hd_status hd_memory_dump_add_recorder(hd_memory_dump *dump, const char *allocator,
                                                   hd_recorder *rec,
                                                   const hd_snapshot_options *options);
/* Memory that profiling itself takes: a register's, say. These add up. */
HEAPDUMP_API hd_status hd_memory_dump_add_overhead(hd_memory_dump *dump, hd_memory memory);

/* ================================================================================== >>netcf
   Heap dumps of the .NET Compact Framework and of XNA: text, a record a line. Numbers are hexadecimal;
   sizes are decimal when hd_options.netcf_decimal says so. Lines end in LF or CR LF and have at most
   2^28 bytes. Source: netcf-gc-heap-dump, AS-SHIPPED. */

typedef struct hd_netcf_record {
    char kind;                   /* 'a', 't', 'o', 'r', 'c': the record's letter; 0: the end */
    uint32_t version;            /* a */
    hd_str name;                 /* a, c: the application; t: the type. Until the next call */
    uint64_t time_ms;            /* a, c: since the device booted */
    uint64_t id;                 /* t: the type; o, r: the object */
    uint64_t type;               /* o: its type; r: the root container when has_container is set */
    uint64_t size;               /* o: bytes */
    const uint64_t *references;  /* o: ids. Until the next call */
    size_t reference_count;
    uint32_t descriptor, flags;  /* r: as hd_root.kind and hd_root.flags */
    bool has_container;
    hd_str text;                 /* the line as it is, without LF. Until the next call */
    uint64_t line, offset;       /* where it stands, from 1 and from 0 */
    uint32_t form;               /* private: how it is spelled */
} hd_netcf_record;

/* Record by record, for files larger than memory: holds one line. `in` must stay open. */
typedef struct hd_netcf_reader hd_netcf_reader;
HEAPDUMP_API hd_status hd_netcf_open(hd_in in, const hd_options *options, hd_netcf_reader **out,
                                     hd_error *err);
/* The next record. It has been checked to stand inside an application domain, and an end record to name
   it; ids are not looked at. Errors: HD_MALFORMED with line and column (lenient: a warning, the line is
   left out; a domain without an end ends where the next begins), HD_IO, HD_OUT_OF_MEMORY, HD_LIMIT,
   HD_CANCELLED. */
HEAPDUMP_API hd_status hd_netcf_next(hd_netcf_reader *reader, hd_netcf_record *record, hd_error *err);
HEAPDUMP_API uint64_t hd_netcf_reader_warnings(const hd_netcf_reader *reader);
HEAPDUMP_API void hd_netcf_close(hd_netcf_reader *reader);

/* A whole file: a graph for each application domain, and what it takes to write the file again, a
   quarter of a byte a record and lines of unusual spelling. */
typedef struct hd_netcf hd_netcf;

typedef struct hd_netcf_domain {
    hd_str name;
    uint32_t version;
    uint64_t begin_ms, end_ms;   /* since the device booted */
    const hd_graph *graph;       /* its own records alone */
} hd_netcf_domain;

/* Errors: as hd_netcf_next, also for an object or type described twice in its domain (lenient: the
   first counts), and HD_OVERFLOW for sizes that pass 2^64 together. */
HEAPDUMP_API hd_status hd_netcf_read(hd_in in, const hd_options *options, hd_netcf **out, hd_error *err);
HEAPDUMP_API void hd_netcf_free(hd_netcf *netcf);
HEAPDUMP_API size_t hd_netcf_domain_count(const hd_netcf *netcf);
HEAPDUMP_API hd_netcf_domain hd_netcf_get_domain(const hd_netcf *netcf, size_t index);
/* All domains as one graph: hd_graph_merge of several. NULL: the file has no domain. */
HEAPDUMP_API const hd_graph *hd_netcf_graph(const hd_netcf *netcf);
HEAPDUMP_API uint64_t hd_netcf_warning_count(const hd_netcf *netcf);
/* The bytes that were read; after lenient reading those of a well-formed file without what was left out.
   Errors: the output's, HD_CANCELLED. */
HEAPDUMP_API hd_status hd_netcf_write(const hd_netcf *netcf, const hd_options *options, hd_out out,
                                      hd_error *err);
/* Any graph as a dump of one domain: types, objects, roots. Ids of the graph are kept where they are
   unique, else objects or types are numbered; names of fields and scopes are left out, and bytes that a
   name cannot have become '?'. `domain`: name [heap], version [2],
   times. Errors: as above. */
HEAPDUMP_API hd_status hd_netcf_write_graph(const hd_graph *graph, const hd_netcf_domain *domain,
                                            const hd_options *options, hd_out out, hd_error *err);

/* =================================================================================== >>dart
   Heap snapshots of the Dart VM. Objects and classes have ids from 1 in their order, 0 stands for what
   was left out; the root is object 1. In a document's graph, object id k is number k - 1, class id k is
   class k, and all references to 0 lead to one object without a record.
   Source: dart-heap-snapshot, AS-SHIPPED. */

/* What an object's data is: dart-heap-snapshot, "NonReferenceData". */
enum {
    HD_DART_NO_DATA = 0,         /* "none" */
    HD_DART_NULL = 1,            /* "null" */
    HD_DART_BOOL = 2,            /* "bool" */
    HD_DART_INTEGER = 3,         /* "integer" */
    HD_DART_DOUBLE = 4,          /* "double" */
    HD_DART_LATIN1 = 5,          /* "latin1": a string of one byte a code unit */
    HD_DART_UTF16 = 6,           /* "utf16": a string of two bytes a code unit */
    HD_DART_LENGTH = 7,          /* "length": of a list, map or set */
    HD_DART_NAME = 8             /* "name": of a function, field, class or library */
};
HEAPDUMP_API const char *hd_dart_tag_name(uint32_t tag); /* the names above; "unknown" */

typedef struct hd_dart_data {
    uint32_t tag;
    uint64_t value;              /* BOOL: 1 or 0; INTEGER: its two's complement; LATIN1, UTF16: code units
                                    of the string, of which `text` may have fewer; LENGTH: elements */
    double number;               /* DOUBLE */
    hd_str text;                 /* LATIN1; UTF16: little-endian; NAME: UTF-8 */
} hd_dart_data;

/* The text of LATIN1, UTF16 and NAME as UTF-8 (lone surrogates as three bytes): how many bytes that is,
   of which those that fit in whole characters are written to `buffer`. */
HEAPDUMP_API size_t hd_dart_utf8(const hd_dart_data *data, char *buffer, size_t capacity);

typedef struct hd_dart_header {
    uint64_t flags;
    hd_str name;
    uint64_t shallow_size, capacity, external_size; /* bytes, as the VM told; need not be the sums */
    uint64_t class_count, reference_count, object_count, external_count; /* as announced */
    bool has_identity;           /* identity hash codes follow: newer VMs */
} hd_dart_header;

typedef struct hd_dart_class {
    uint64_t flags;
    hd_str name, library, library_uri, reserved;
    uint64_t field_count;        /* how often hd_dart_next_field finds one */
    hd_str fields;               /* private: those to come, as they are in the file */
} hd_dart_class;

typedef struct hd_dart_field {
    uint64_t flags;
    uint64_t index;              /* of the object's references, from 0 */
    hd_str name, reserved;
} hd_dart_field;

/* Takes the next field from a copy of what describes a class. False: there are no more. */
HEAPDUMP_API bool hd_dart_next_field(hd_dart_class *from, hd_dart_field *field);

typedef struct hd_dart_record {
    char kind;                   /* 'c' class, 'o' object, 'r' more references of the object before, 'x'
                                    external property, 'i' identity hash code of an object; 0: the end */
    uint64_t id;                 /* of the class or object */
    uint64_t offset;             /* where it stands */
    hd_dart_class described;     /* c */
    uint64_t class_id;           /* o */
    uint64_t size;               /* o: shallow; x: external; bytes */
    hd_dart_data data;           /* o */
    uint64_t reference_count;    /* o: all of the object's */
    const uint32_t *references;  /* o, r: ids, `count` of them; the rest come in records 'r' */
    size_t count;
    hd_str name;                 /* x */
    uint64_t identity;           /* i: 0: none */
} hd_dart_record;

/* Record by record, for files larger than memory: holds one class, or what stands before an object's
   references. Strings and references stay until the next call. `in` must stay open. */
typedef struct hd_dart_reader hd_dart_reader;
HEAPDUMP_API hd_status hd_dart_open(hd_in in, const hd_options *options, hd_dart_reader **out,
                                    hd_error *err);
/* Errors: HD_UNKNOWN_FORMAT (not a snapshot); HD_MALFORMED with the offset, naming class or object
   (lenient: a warning; ids that nobody has become 0, anything worse is the end); HD_IO,
   HD_OUT_OF_MEMORY, HD_LIMIT, HD_CANCELLED. */
HEAPDUMP_API hd_status hd_dart_next(hd_dart_reader *reader, hd_dart_record *record, hd_error *err);
/* As far as it was read: the first record that is asked for fills all up to class_count, the first
   object the other counts but for external_count. */
HEAPDUMP_API const hd_dart_header *hd_dart_reader_header(const hd_dart_reader *reader);
HEAPDUMP_API uint64_t hd_dart_reader_warnings(const hd_dart_reader *reader);
HEAPDUMP_API void hd_dart_close(hd_dart_reader *reader);

/* A whole file: its graph, and what it takes to write the file again. Beyond the graph an object takes
   its data as the file has it, half a byte, and 4 bytes where there are identity hash codes. */
typedef struct hd_dart hd_dart;

/* Errors: as hd_dart_next, and HD_OVERFLOW for sizes that pass 2^64 together (lenient: one that does is
   taken for 0). Lenient: references to objects that could not be read become 0. */
HEAPDUMP_API hd_status hd_dart_read(hd_in in, const hd_options *options, hd_dart **out, hd_error *err);
HEAPDUMP_API void hd_dart_free(hd_dart *dart);
/* Sizes are shallow size and external properties together. The one root is object number 0. Classes have
   their library's name, or its URI when that is empty, for a scope. What is owned here is counted in the
   graph's memory. */
HEAPDUMP_API const hd_graph *hd_dart_graph(const hd_dart *dart);
HEAPDUMP_API hd_dart_header hd_dart_get_header(const hd_dart *dart);
/* By class_index of the graph; zeroed for what stands for no class (id 0). */
HEAPDUMP_API hd_dart_class hd_dart_get_class(const hd_dart *dart, uint32_t class_index);
/* What the following say of an object goes by its number in the graph. */
HEAPDUMP_API hd_dart_data hd_dart_get_data(const hd_dart *dart, uint32_t object);
HEAPDUMP_API uint64_t hd_dart_shallow(const hd_dart *dart, uint32_t object);  /* without external sizes */
HEAPDUMP_API uint64_t hd_dart_identity(const hd_dart *dart, uint32_t object); /* hash code; 0: none */

typedef struct hd_dart_external {
    uint32_t object;             /* HD_NONE: left out (id 0) */
    uint64_t size;               /* bytes */
    hd_str name;
} hd_dart_external;

HEAPDUMP_API size_t hd_dart_external_count(const hd_dart *dart);
HEAPDUMP_API hd_dart_external hd_dart_get_external(const hd_dart *dart, size_t index);
HEAPDUMP_API uint64_t hd_dart_warning_count(const hd_dart *dart);

/* The bytes that were read; after lenient reading those of a well-formed file without what was left out.
   Errors: the output's, HD_CANCELLED. */
HEAPDUMP_API hd_status hd_dart_write(const hd_dart *dart, const hd_options *options, hd_out out,
                                     hd_error *err);
/* Any graph as a snapshot of this name: object 1 is a "Root" that refers to what roots that are not weak
   hold; then the graph's objects in their order, with classes and names of fields. Errors: as above. */
HEAPDUMP_API hd_status hd_dart_write_graph(const hd_graph *graph, hd_str name, const hd_options *options,
                                           hd_out out, hd_error *err);

/* In what follows `reached` is what hd_graph_reach fills, or NULL. Errors: HD_OUT_OF_MEMORY, HD_LIMIT. */

typedef struct hd_string_row {
    hd_dart_data data;           /* LATIN1 or UTF16 */
    uint32_t object;             /* the first that has it */
    uint64_t objects, bytes;     /* all that have it */
    uint64_t wasted;             /* bytes, without the largest of them: one is needed */
    bool cut;                    /* `text` has less than the string: alike as far as one sees */
} hd_string_row;

typedef struct hd_string_table {
    uint32_t count;              /* distinct strings */
    const hd_string_row *rows;   /* most wasted first, then bytes, then by text and tag */
    uint64_t objects, bytes;     /* of all strings */
    uint64_t wasted;             /* of all rows that are not cut */
} hd_string_table;

/* Strings with one text, by code units and length; only those reached when `reached` is given. Near-linear
   in the bytes of the strings. */
HEAPDUMP_API hd_status hd_dart_strings(const hd_dart *dart, const uint8_t *reached,
                                       const hd_options *options, hd_string_table **out, hd_error *err);
HEAPDUMP_API void hd_string_table_free(hd_string_table *table);

typedef struct hd_length_row {
    uint32_t class_index;
    hd_str name, scope;          /* of the class; borrowed */
    uint64_t length;             /* elements */
    uint32_t object;             /* the first of them */
    uint64_t objects, bytes;
} hd_length_row;

typedef struct hd_length_table {
    uint32_t count;
    const hd_length_row *rows;   /* most bytes first, then by name, scope and number of class, length */
} hd_length_table;

/* Lists, maps and sets by class and length; only those reached when `reached` is given. Near-linear. */
HEAPDUMP_API hd_status hd_dart_lengths(const hd_dart *dart, const uint8_t *reached,
                                       const hd_options *options, hd_length_table **out, hd_error *err);
HEAPDUMP_API void hd_length_table_free(hd_length_table *table);

typedef struct hd_library_row {
    hd_str name, uri;            /* borrowed; both empty: classes of the VM itself */
    uint64_t classes;            /* that have objects */
    uint64_t objects, bytes;
    uint64_t live_objects, live_bytes; /* of these, reached; 0 without `reached` */
} hd_library_row;

typedef struct hd_library_table {
    uint32_t count;              /* libraries that have objects */
    const hd_library_row *rows;  /* most bytes first, then by URI and name */
} hd_library_table;

HEAPDUMP_API hd_status hd_dart_libraries(const hd_dart *dart, const uint8_t *reached,
                                         const hd_options *options, hd_library_table **out, hd_error *err);
HEAPDUMP_API void hd_library_table_free(hd_library_table *table);

typedef struct hd_identity_row {
    hd_str name, library, library_uri; /* of the class; borrowed */
    uint64_t objects[2], bytes[2]; /* that have a hash code: before, after */
    uint64_t kept;               /* objects that are in both */
    uint64_t kept_bytes[2];      /* before, after */
} hd_identity_row;

typedef struct hd_identity_change {
    uint32_t count;
    const hd_identity_row *rows; /* most bytes that went and came first, then by name and library */
    const uint32_t *now;         /* by object of `before`: its number in `after`, or HD_NONE */
    const uint32_t *then;        /* by object of `after`: its number in `before`, or HD_NONE */
} hd_identity_change;

/* Two snapshots of one process object by object: one is in both when its class (by name and library) and
   its identity hash code are; of several alike the first is the first. Objects without a code are in no
   row. Near-linear. Errors: as above, and HD_UNSUPPORTED when a file has no hash codes. */
HEAPDUMP_API hd_status hd_dart_diff(const hd_dart *before, const hd_dart *after, const hd_options *options,
                                    hd_identity_change **out, hd_error *err);
HEAPDUMP_API void hd_identity_change_free(hd_identity_change *change);

/* ================================================================================ >>memprof
   Heap profiles of programs compiled with clang's -fmemory-profile. A block sums up all allocations that one
   call stack made, freed or not; a raw profile has the blocks of one process, its call stacks as addresses,
   and what was mapped at these. Source: llvm-memprof-rfc, "Raw Binary Format"; AS-SHIPPED. */

/* What a block tells, under LLVM's names and numbers (the tags of its schemas). Time stamps and lifetimes are
   milliseconds, sizes bytes; access density is accesses x 100 / size, lifetime access density that x 1000 /
   lifetime. */
enum {
    HD_MEMPROF_ALLOC_COUNT = 1,
    HD_MEMPROF_TOTAL_ACCESS_COUNT = 2,
    HD_MEMPROF_MIN_ACCESS_COUNT = 3,
    HD_MEMPROF_MAX_ACCESS_COUNT = 4,
    HD_MEMPROF_TOTAL_SIZE = 5,
    HD_MEMPROF_MIN_SIZE = 6,
    HD_MEMPROF_MAX_SIZE = 7,
    HD_MEMPROF_ALLOC_TIMESTAMP = 8,
    HD_MEMPROF_DEALLOC_TIMESTAMP = 9,
    HD_MEMPROF_TOTAL_LIFETIME = 10,
    HD_MEMPROF_MIN_LIFETIME = 11,
    HD_MEMPROF_MAX_LIFETIME = 12,
    HD_MEMPROF_ALLOC_CPU_ID = 13,
    HD_MEMPROF_DEALLOC_CPU_ID = 14,
    HD_MEMPROF_NUM_MIGRATED_CPU = 15,
    HD_MEMPROF_NUM_LIFETIME_OVERLAPS = 16,
    HD_MEMPROF_NUM_SAME_ALLOC_CPU = 17,
    HD_MEMPROF_NUM_SAME_DEALLOC_CPU = 18,
    HD_MEMPROF_DATA_TYPE_ID = 19,
    HD_MEMPROF_TOTAL_ACCESS_DENSITY = 20, /* versions 2 on, to 25 */
    HD_MEMPROF_MIN_ACCESS_DENSITY = 21,
    HD_MEMPROF_MAX_ACCESS_DENSITY = 22,
    HD_MEMPROF_TOTAL_LIFETIME_ACCESS_DENSITY = 23,
    HD_MEMPROF_MIN_LIFETIME_ACCESS_DENSITY = 24,
    HD_MEMPROF_MAX_LIFETIME_ACCESS_DENSITY = 25,
    HD_MEMPROF_ACCESS_HISTOGRAM_SIZE = 26, /* counters; versions 4 on */
    HD_MEMPROF_ACCESS_HISTOGRAM = 27,      /* an address in the process that is gone */
    HD_MEMPROF_FIELDS = 28
};
/* "AllocCount"; "unknown" for what is no field. */
HEAPDUMP_API const char *hd_memprof_field_name(uint32_t field);
/* The fields that blocks of a raw version have: bit `field` of each. 0: no such version. */
HEAPDUMP_API uint32_t hd_memprof_version_fields(uint32_t version);

typedef struct hd_memprof_segment {
    uint64_t start, end;         /* addresses */
    uint64_t offset;             /* versions 1 and 2: where in its file the mapped part begins; 3 on: what was
                                    added to the file's own addresses */
    uint32_t build_id_size;      /* up to 32; 0: none */
    uint8_t build_id[32];        /* what is behind build_id_size is kept, and means nothing */
} hd_memprof_segment;

typedef struct hd_memprof_block {
    uint32_t stack;              /* number of its call stack */
    uint64_t histogram;          /* number of its first counter, of value[HD_MEMPROF_ACCESS_HISTOGRAM_SIZE] */
    uint64_t value[HD_MEMPROF_FIELDS]; /* by field; 0 for those that the profile's blocks do not have */
} hd_memprof_block;

/* One raw profile, in columns. Whoever fills one himself can have it written, merged and shown as well. */
typedef struct hd_memprof_raw {
    uint32_t version;            /* 1 to 5 */
    bool big_endian;
    uint32_t fields;             /* that blocks have: bit `field` of each. Absent is not zero */
    uint32_t segment_count, block_count, stack_count;
    const hd_memprof_segment *segments; /* none overlap */
    const hd_memprof_block *blocks; /* several may have one stack */
    const uint64_t *stack_id;    /* by stack: the file's number for it */
    const uint32_t *first;       /* addresses of stack s: pc[first[s]] .. pc[first[s + 1] - 1] */
    const uint64_t *pc;          /* innermost first; each the return address minus one */
    uint64_t counter_count;
    const uint64_t *counters;    /* of histograms, as the file has them: see hd_memprof_counter */
    uint64_t padding[3];         /* private: what fills each section up to 8 bytes */
} hd_memprof_raw;

/* A counter's value: version 5 packs it into 16 bits. */
HEAPDUMP_API uint64_t hd_memprof_counter(const hd_memprof_raw *raw, uint64_t counter);

/* Profile by profile, when a file has several end to end: holds one at a time. `in` must stay open. */
typedef struct hd_memprof_reader hd_memprof_reader;
HEAPDUMP_API hd_status hd_memprof_open(hd_in in, const hd_options *options, hd_memprof_reader **out,
                                       hd_error *err);
/* The next profile, until the next call; NULL at the end. Errors: HD_UNKNOWN_FORMAT (no raw profile);
   HD_UNSUPPORTED (a version that is not known); HD_MALFORMED with the offset (lenient: a warning, and without
   what is malformed; a block without a stack is left out); HD_IO, HD_OUT_OF_MEMORY, HD_LIMIT,
   HD_CANCELLED. */
HEAPDUMP_API hd_status hd_memprof_next(hd_memprof_reader *reader, const hd_memprof_raw **raw, hd_error *err);
HEAPDUMP_API uint64_t hd_memprof_reader_warnings(const hd_memprof_reader *reader);
HEAPDUMP_API void hd_memprof_close(hd_memprof_reader *reader);

/* A whole file. Errors: as hd_memprof_next. */
typedef struct hd_memprof hd_memprof;
HEAPDUMP_API hd_status hd_memprof_read(hd_in in, const hd_options *options, hd_memprof **out, hd_error *err);
HEAPDUMP_API void hd_memprof_free(hd_memprof *memprof);
HEAPDUMP_API size_t hd_memprof_count(const hd_memprof *memprof);
/* NULL past the last. */
HEAPDUMP_API const hd_memprof_raw *hd_memprof_get(const hd_memprof *memprof, size_t index);
HEAPDUMP_API uint64_t hd_memprof_warning_count(const hd_memprof *memprof);
/* The bytes that were read; after lenient reading those of a well-formed file without what was left out.
   Errors: the output's, HD_CANCELLED. */
HEAPDUMP_API hd_status hd_memprof_write(const hd_memprof *memprof, const hd_options *options, hd_out out,
                                        hd_error *err);
/* One profile, as `version` (0: its own): fields which that does not have are left out, histograms are packed
   or unpacked. Takes no memory. Errors: the output's, HD_CANCELLED, HD_INVALID (no such version; columns
   that do not fit each other), HD_UNSUPPORTED (blocks lack fields of that version, other than a histogram;
   versions 1 and 2 tell of segments otherwise than the rest), HD_OVERFLOW (a number too large for its
   field; lenient: a warning, and the largest that there is). */
HEAPDUMP_API hd_status hd_memprof_write_raw(const hd_memprof_raw *raw, uint32_t version,
                                            const hd_options *options, hd_out out, hd_error *err);

/* Adds profiles up as they come, block by block. Blocks are one, within a process and across processes, when
   their call stacks are, address by address: by the build id of the segment and the place in its file.
   (Segments without a build id are told apart by their size and, in versions 1 and 2, their place in the
   file.) Counts, totals, minima, maxima and histograms do not depend on the order. NumLifetimeOverlaps,
   NumSameAllocCpu and NumSameDeallocCpu gain one for each block that comes after another and was allocated
   before that was freed, or on its CPU; time stamps and CPUs are those of the last; what else there is, of
   the first. Sums end at the largest number. Memory follows the distinct call stacks. */
typedef struct hd_memprof_merger hd_memprof_merger;
HEAPDUMP_API hd_memprof_merger *hd_memprof_merger_create(const hd_options *options, hd_error *err);
/* Cost: a hash of each call stack. Errors: HD_UNSUPPORTED (versions 1 and 2 do not go with later ones);
   HD_INVALID (columns that do not fit each other); of both nothing was added. HD_OUT_OF_MEMORY, HD_LIMIT,
   HD_CANCELLED: the merger can only be freed then. */
HEAPDUMP_API hd_status hd_memprof_merger_add(hd_memprof_merger *merger, const hd_memprof_raw *raw,
                                             hd_error *err);
/* What was added so far as one profile, little-endian, of the version that has the fields that all had:
   stacks and segments in an order that does not depend on that of the profiles, stack ids from 1 on. Modules
   keep the lowest of their addresses as long as they do not run into each other there. Errors:
   HD_OUT_OF_MEMORY, HD_LIMIT, HD_UNSUPPORTED (modules that fill more than the address space). */
HEAPDUMP_API hd_status hd_memprof_merger_finish(hd_memprof_merger *merger, hd_memprof **out, hd_error *err);
/* Bytes that the merger holds. */
HEAPDUMP_API uint64_t hd_memprof_merger_memory(const hd_memprof_merger *merger);
HEAPDUMP_API void hd_memprof_merger_free(hd_memprof_merger *merger);

/* What an address is inside of. */
typedef struct hd_memprof_address {
    uint64_t pc;
    const hd_memprof_segment *segment; /* NULL: none */
    uint64_t offset;             /* versions 1 and 2: in the segment's file; 3 on: as the file itself counts
                                    addresses; without a segment: pc */
    bool file_offset;            /* the former */
} hd_memprof_address;

typedef struct hd_memprof_frame {
    hd_str function;             /* linkage name */
    hd_str file;                 /* path; may be empty */
    uint32_t line, column, discriminator; /* 0: not known */
    uint32_t start_line;         /* of the function: LLVM's line offsets count from it */
    bool inlined;                /* into the next frame of the same address */
    bool resolved;               /* the symbolizer knew it; otherwise the function's name is "module+0x1f" */
    uint32_t segment;            /* HD_NONE: none */
    uint64_t pc;
} hd_memprof_frame;

/* The frames of an address, the innermost first, at most `capacity`; how many: 0 for an address that is not
   known. Sets function, file, line, column, discriminator, start_line, on frames that were zeroed; strings
   need to live until the next call. */
typedef uint32_t (*hd_memprof_symbolize_fn)(void *user, const hd_memprof_address *address,
                                            hd_memprof_frame *frames, uint32_t capacity);
#define HD_MEMPROF_INLINE_MAX 256

typedef struct hd_memprof_symbolizer {
    hd_memprof_symbolize_fn symbolize; /* NULL: addresses stay what they are, and all of them */
    void *user;
    /* Otherwise what is not known is left out, and so are frames of the runtime that records (by their file's
       name), as llvm-profdata has it. */
    bool keep_unresolved, keep_runtime;
} hd_memprof_symbolizer;

/* The call stacks of a profile as frames. */
typedef struct hd_memprof_symbols {
    uint32_t frame_count;
    const hd_memprof_frame *frames;
    uint32_t stack_count;        /* as the profile's */
    const uint32_t *first;       /* frames of stack s: frame[first[s]] .. frame[first[s + 1] - 1] */
    const uint32_t *frame;       /* numbers, innermost first; may be none */
    uint32_t addresses, unresolved, runtime; /* distinct addresses; of these, not known; of the runtime */
} hd_memprof_symbols;

/* Each distinct address is asked for once. Errors: HD_OUT_OF_MEMORY, HD_LIMIT, HD_CANCELLED. */
HEAPDUMP_API hd_status hd_memprof_symbolize(const hd_memprof_raw *raw,
                                            const hd_memprof_symbolizer *symbolizer,
                                            const hd_options *options, hd_memprof_symbols **out,
                                            hd_error *err);
HEAPDUMP_API void hd_memprof_symbols_free(hd_memprof_symbols *symbols);

/* What LLVM makes of a block: its defaults when 0. */
typedef struct hd_memprof_thresholds {
    double cold_density;         /* accesses a byte and second of lifetime, less than [0.05] */
    double cold_lifetime_ms;     /* and on average so long-lived: cold [200000] */
    double hot_density;          /* more than: hot [1000] */
} hd_memprof_thresholds;

typedef enum hd_memprof_heat {
    HD_MEMPROF_NOT_COLD,         /* "not cold" */
    HD_MEMPROF_COLD,             /* "cold" */
    HD_MEMPROF_HOT,              /* "hot" */
    HD_MEMPROF_HEAT_UNKNOWN      /* "unknown": no access density in this version, or no allocations */
} hd_memprof_heat;

HEAPDUMP_API hd_memprof_heat hd_memprof_block_heat(const hd_memprof_raw *raw, uint32_t block,
                                                   const hd_memprof_thresholds *thresholds);
HEAPDUMP_API const char *hd_memprof_heat_name(hd_memprof_heat heat);

/* What axis 1 of a profile tells apart. */
typedef enum hd_memprof_split {
    HD_MEMPROF_SPLIT_NONE,       /* nothing: there is no axis 1 */
    HD_MEMPROF_SPLIT_LIFETIME,   /* of an allocation, on average: "< 1 ms", "< 10 ms" ... ">= 100 s" */
    HD_MEMPROF_SPLIT_SIZE,       /* of an allocation, on average: "<= 16", "<= 32" ... powers of two */
    HD_MEMPROF_SPLIT_HEAT,       /* hd_memprof_heat's names */
    HD_MEMPROF_SPLIT_BINARY      /* the build id of the innermost frame's segment */
} hd_memprof_split;

typedef struct hd_memprof_view {
    /* What the profile has for bytes: a field that is a count, total, minimum or maximum. Cells with several
       blocks have what merging these gives; a sum over cells means something for counts and totals alone.
       [HD_MEMPROF_TOTAL_SIZE] */
    uint32_t field;
    bool average;                /* divided by the number of allocations, rounded: of counts and totals */
    hd_memprof_split split;
    /* Instead of the split: the name on axis 1, which needs to live until the next call. */
    hd_str (*label)(void *user, const hd_memprof_raw *raw, uint32_t block);
    void *user;                  /* handed to it */
    hd_memprof_thresholds thresholds;
    hd_memprof_symbolizer symbolizer;
    bool lines;                  /* frames are called "function file.c:12" */
} hd_memprof_view;

/* A profile over call stacks and axis 1, blocks being allocations (AllocCount). Freed or not: it says what a
   program allocated, not what it held. Errors: HD_OUT_OF_MEMORY, HD_LIMIT, HD_CANCELLED, HD_OVERFLOW,
   HD_INVALID (a field that is none of those; columns that do not fit each other), HD_UNSUPPORTED (a field
   that the blocks do not have). */
HEAPDUMP_API hd_status hd_memprof_profile(const hd_memprof_raw *raw, const hd_memprof_view *view,
                                          const hd_options *options, hd_profile **out, hd_error *err);

/* =================================================================================== >>dump
   Reads anything. */

typedef struct hd_dump hd_dump;

typedef enum hd_format {
    HD_FORMAT_CHROME = 1,        /* "chrome" */
    HD_FORMAT_NETCF = 2,         /* "netcf" */
    HD_FORMAT_DART = 3,          /* "dart" */
    HD_FORMAT_MEMPROF = 4        /* "memprof" */
} hd_format;

HEAPDUMP_API const char *hd_format_name(hd_format format);

/* The format is found from the content. What is packed with gzip needs hd_options.inflate; offsets and
   lines then are those of the unpacked text. Memory stays within a small multiple of the heap dumps in
   the input; the rest is passed over, and needs no more than brackets that match and strings that end.
   Errors: HD_IO, HD_UNKNOWN_FORMAT, HD_UNSUPPORTED, HD_MALFORMED,
   HD_OVERFLOW, HD_OUT_OF_MEMORY, HD_LIMIT, HD_CANCELLED. An input that is a trace without heap dumps is no
   error: it has 0 heaps. Whatever is returned stays valid after the input is closed. */
HEAPDUMP_API hd_status hd_read(hd_in in, const hd_options *options, hd_dump **dump, hd_error *err);
HEAPDUMP_API hd_status hd_read_file(const char *path, const hd_options *options, hd_dump **dump,
                                    hd_error *err);
HEAPDUMP_API hd_status hd_read_memory(const void *data, size_t size, const hd_options *options,
                                      hd_dump **dump, hd_error *err);
HEAPDUMP_API void hd_dump_free(hd_dump *dump);
HEAPDUMP_API hd_format hd_dump_format(const hd_dump *dump);
/* Ordered by pid, then time of the dump, then allocator. Owned by the dump. */
HEAPDUMP_API size_t hd_dump_heap_count(const hd_dump *dump);
HEAPDUMP_API const hd_heap *hd_dump_heap(const hd_dump *dump, size_t index);
/* What dumps say of allocators and processes as a whole; a trace may have these and no heaps. Ordered by
   pid, time of the dump, dump, allocator (process totals first), name. Owned by the dump; NULL past the
   last. */
HEAPDUMP_API size_t hd_dump_scalar_count(const hd_dump *dump);
HEAPDUMP_API const hd_scalar *hd_dump_scalar(const hd_dump *dump, size_t index);
/* The level of detail of a process's dump with heaps or scalars. False, and *detail as it was, when the
   trace tells none of the three, or has no such dump. O(log dumps). */
HEAPDUMP_API bool hd_dump_detail(const hd_dump *dump, uint64_t pid, const char *id, hd_detail *detail);
/* What is alive and who holds it; NULL when the format does not say. Of several application domains, all
   as one (hd_netcf_graph). Owned by the dump. */
HEAPDUMP_API const hd_graph *hd_dump_graph(const hd_dump *dump);
/* The document of a HD_FORMAT_NETCF; NULL for the others. Owned by the dump. */
HEAPDUMP_API const hd_netcf *hd_dump_netcf(const hd_dump *dump);
/* The same of a HD_FORMAT_DART. */
HEAPDUMP_API const hd_dart *hd_dump_dart(const hd_dump *dump);
/* The same of a HD_FORMAT_MEMPROF. Its heaps are what hd_memprof_profile makes of each profile without being
   told anything: bytes allocated, by call stack, under dump ids 0x1, 0x2, ... */
HEAPDUMP_API const hd_memprof *hd_dump_memprof(const hd_dump *dump);
/* Malformed pieces that lenient reading left out. */
HEAPDUMP_API uint64_t hd_dump_warning_count(const hd_dump *dump);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* HEAPDUMP_H */

/* ============================================================================================
   ==================================== IMPLEMENTATION ========================================
   ============================================================================================ */

#if defined(HEAPDUMP_IMPLEMENTATION) && !defined(HD__IMPLEMENTED)
#define HD__IMPLEMENTED

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(_WIN32)
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>
#include <fcntl.h>
#include <io.h>
#include <sys/stat.h>
#else
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifndef HEAPDUMP_NO_THREADS
#include <pthread.h>
#endif
#endif

#ifndef HEAPDUMP_ASSERT
#define HEAPDUMP_ASSERT(x) ((void)0)
#endif

#if defined(__GNUC__)
#define HD__LIKELY(x) __builtin_expect(!!(x), 1)
#define HD__UNLIKELY(x) __builtin_expect(!!(x), 0)
#define HD__NOINLINE __attribute__((noinline))
#define HD__INLINE static inline __attribute__((always_inline))
#else
#define HD__LIKELY(x) (x)
#define HD__UNLIKELY(x) (x)
#define HD__NOINLINE
#define HD__INLINE static
#endif

/* stb_ds, as a private copy: its names renamed, its functions static, its memory ours. What a
   program sees of its own stb_ds, included before or after, stays as it was. */
#ifndef HEAPDUMP_STB_DS_H
#define HEAPDUMP_STB_DS_H "stb_ds.h"
#endif
#pragma push_macro("INCLUDE_STB_DS_H")
#pragma push_macro("STB_DS_IMPLEMENTATION")
#pragma push_macro("STBDS_NO_SHORT_NAMES")
#pragma push_macro("STBDS_REALLOC")
#pragma push_macro("STBDS_FREE")
#pragma push_macro("STBDS_ASSERT")
#pragma push_macro("STBDS_UNIT_TESTS")
#pragma push_macro("STBDS_STATISTICS")
#undef INCLUDE_STB_DS_H
#undef STB_DS_IMPLEMENTATION
#undef STBDS_NO_SHORT_NAMES
#undef STBDS_REALLOC
#undef STBDS_FREE
#undef STBDS_ASSERT
#undef STBDS_UNIT_TESTS
#undef STBDS_STATISTICS
#define STB_DS_IMPLEMENTATION
#define STBDS_NO_SHORT_NAMES
/* Growth happens in hd__arr_room alone, which has the block ready; nothing else of stb_ds runs. */
#define STBDS_REALLOC(context, block, size) \
    ((void)(context), (void)(block), (void)(size), hd__stbds_block)
#define STBDS_FREE(context, block) ((void)(context), (void)(block))
#define stbds_rand_seed hd__stbds_rand_seed
#define stbds_hash_bytes hd__stbds_hash_bytes
#define stbds_hash_string hd__stbds_hash_string
#define stbds_string_arena hd__stbds_string_arena
#define stbds_string_block hd__stbds_string_block
#define stbds_array_header hd__stbds_array_header
#define stbds_hash_bucket hd__stbds_hash_bucket
#define stbds_hash_index hd__stbds_hash_index
#define stbds_hash_seed hd__stbds_hash_seed
#define stbds_stralloc hd__stbds_stralloc
#define stbds_strreset hd__stbds_strreset
#define stbds_strdup hd__stbds_strdup
#define stbds_arrgrowf hd__stbds_arrgrowf
#define stbds_arrfreef hd__stbds_arrfreef
#define stbds_hmfree_func hd__stbds_hmfree_func
#define stbds_hmget_key hd__stbds_hmget_key
#define stbds_hmget_key_ts hd__stbds_hmget_key_ts
#define stbds_hmput_default hd__stbds_hmput_default
#define stbds_hmput_key hd__stbds_hmput_key
#define stbds_hmdel_key hd__stbds_hmdel_key
#define stbds_shmode_func hd__stbds_shmode_func
#define stbds_probe_position hd__stbds_probe_position
#define stbds_log2 hd__stbds_log2
#define stbds_make_hash_index hd__stbds_make_hash_index
#define stbds_siphash_bytes hd__stbds_siphash_bytes
#define stbds_is_key_equal hd__stbds_is_key_equal
#define stbds_hm_find_slot hd__stbds_hm_find_slot
#define STBDS_SH_NONE HD__STBDS_SH_NONE
#define STBDS_SH_DEFAULT HD__STBDS_SH_DEFAULT
#define STBDS_SH_STRDUP HD__STBDS_SH_STRDUP
#define STBDS_SH_ARENA HD__STBDS_SH_ARENA
#ifdef __cplusplus
#define stbds_arrgrowf_wrapper hd__stbds_arrgrowf_wrapper
#define stbds_hmget_key_wrapper hd__stbds_hmget_key_wrapper
#define stbds_hmget_key_ts_wrapper hd__stbds_hmget_key_ts_wrapper
#define stbds_hmput_default_wrapper hd__stbds_hmput_default_wrapper
#define stbds_hmput_key_wrapper hd__stbds_hmput_key_wrapper
#define stbds_hmdel_key_wrapper hd__stbds_hmdel_key_wrapper
#define stbds_shmode_func_wrapper hd__stbds_shmode_func_wrapper
extern "C" {
#endif
struct stbds_string_arena;
HD_UNUSED static void stbds_rand_seed(size_t seed);
HD_UNUSED static size_t stbds_hash_bytes(void *p, size_t len, size_t seed);
HD_UNUSED static size_t stbds_hash_string(char *str, size_t seed);
HD_UNUSED static char *stbds_stralloc(struct stbds_string_arena *a, char *str);
HD_UNUSED static void stbds_strreset(struct stbds_string_arena *a);
HD_UNUSED static void *stbds_arrgrowf(void *a, size_t elemsize, size_t addlen, size_t min_cap);
HD_UNUSED static void stbds_arrfreef(void *a);
HD_UNUSED static void stbds_hmfree_func(void *p, size_t elemsize);
HD_UNUSED static void *stbds_hmget_key(void *a, size_t elemsize, void *key, size_t keysize, int mode);
HD_UNUSED static void *stbds_hmget_key_ts(void *a, size_t elemsize, void *key, size_t keysize,
                                          ptrdiff_t *temp, int mode);
HD_UNUSED static void *stbds_hmput_default(void *a, size_t elemsize);
HD_UNUSED static void *stbds_hmput_key(void *a, size_t elemsize, void *key, size_t keysize, int mode);
HD_UNUSED static void *stbds_hmdel_key(void *a, size_t elemsize, void *key, size_t keysize,
                                       size_t keyoffset, int mode);
HD_UNUSED static void *stbds_shmode_func(size_t elemsize, int mode);
#ifdef __cplusplus
}
#endif

#if !defined(HEAPDUMP_NO_SIMD) && (defined(__SSE2__) || defined(_M_X64))
#include <emmintrin.h>
#define HD__SSE2
#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#define HD__AVX2
#endif
#endif

#if defined(HEAPDUMP_NO_THREADS)
#define HD__THREAD_LOCAL
#elif defined(_MSC_VER)
#define HD__THREAD_LOCAL __declspec(thread)
#else
#define HD__THREAD_LOCAL __thread
#endif
static HD__THREAD_LOCAL void *hd__stbds_block;

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#include HEAPDUMP_STB_DS_H
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* =================================================================================== >>base
   Failure is a status passed up at once (HD__TRY). Memory goes through an hd__mem, one per object,
   which counts it against the object's limit; what lasts as long as the object lies in its arena.
   Dynamic arrays are stb_ds arrays whose growth is checked beforehand by hd__arr_room. */

#define HD__TRY(call)                              \
    do {                                           \
        hd_status hd__s = (call);                  \
        if (HD__UNLIKELY(hd__s)) return hd__s;     \
    } while (0)

#if defined(__GNUC__)
#define HD__LOAD(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define HD__LOAD_RELAXED(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define HD__STORE(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define HD__ADD(p, v) __atomic_add_fetch((p), (v), __ATOMIC_RELAXED)
#define HD__OR(p, v) __atomic_fetch_or((p), (v), __ATOMIC_RELEASE)
#define HD__AND(p, v) __atomic_fetch_and((p), (v), __ATOMIC_RELEASE)
#define HD__CAS(p, expected, v) \
    __atomic_compare_exchange_n((p), (expected), (v), true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#elif defined(HEAPDUMP_NO_THREADS)
#define HD__LOAD(p) (*(p))
#define HD__LOAD_RELAXED(p) (*(p))
#define HD__STORE(p, v) (*(p) = (v))
#define HD__ADD(p, v) (*(p) += (v))
#define HD__OR(p, v) (*(p) |= (v))
#define HD__AND(p, v) (*(p) &= (v))
#define HD__CAS(p, expected, v) ((void)(expected), *(p) = (v), true)
#else
#error "heapdump.h: no atomics known for this compiler; define HEAPDUMP_NO_THREADS"
#endif

#if defined(HEAPDUMP_NO_THREADS)
typedef int hd__mutex;
static void hd__mutex_init(hd__mutex *m) { *m = 0; }
static void hd__mutex_free(hd__mutex *m) { (void)m; }
static void hd__lock(hd__mutex *m) { (void)m; }
static void hd__unlock(hd__mutex *m) { (void)m; }
#elif defined(_WIN32)
typedef SRWLOCK hd__mutex;
static void hd__mutex_init(hd__mutex *m) { InitializeSRWLock(m); }
static void hd__mutex_free(hd__mutex *m) { (void)m; }
static void hd__lock(hd__mutex *m) { AcquireSRWLockExclusive(m); }
static void hd__unlock(hd__mutex *m) { ReleaseSRWLockExclusive(m); }
#else
typedef pthread_mutex_t hd__mutex;
static void hd__mutex_init(hd__mutex *m) {
#if defined(PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP)
    static const pthread_mutex_t unlocked = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
    *m = unlocked;               /* spins a little: what is done under a lock is shorter than a sleep */
#else
    pthread_mutex_init(m, NULL);
#endif
}
static void hd__mutex_free(hd__mutex *m) { pthread_mutex_destroy(m); }
static void hd__lock(hd__mutex *m) { pthread_mutex_lock(m); }
static void hd__unlock(hd__mutex *m) { pthread_mutex_unlock(m); }
#endif

/* Pages of the OS, zeroed; sizes are rounded up to pages. NULL when there are no more. */
#define HD__PAGE 4096u
static size_t hd__page_round(size_t size) { return (size + HD__PAGE - 1) & ~(size_t)(HD__PAGE - 1); }

#if defined(_WIN32)
static void *hd__pages_take(size_t size) {
    return VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}
static void hd__pages_give(void *p, size_t size) {
    (void)size;
    if (p) VirtualFree(p, 0, MEM_RELEASE);
}
#else
#ifndef MAP_ANONYMOUS
#if defined(MAP_ANON)
#define MAP_ANONYMOUS MAP_ANON
#elif defined(__linux__)
#define MAP_ANONYMOUS 0x20
#endif
#endif
#if !defined(MAP_NORESERVE)
#define MAP_NORESERVE 0
#endif
static void *hd__pages_take(size_t size) {
    void *p = mmap(NULL, hd__page_round(size), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}
static void hd__pages_give(void *p, size_t size) {
    if (p) munmap(p, hd__page_round(size));
}
#endif

HEAPDUMP_API const char *hd_status_text(hd_status status) {
    static const char *const text[] = {
        "ok", "out of memory", "limit reached", "input or output failed", "malformed input",
        "unknown format", "unsupported", "sum overflows", "invalid argument", "cancelled" };
    return (unsigned)status < sizeof text / sizeof *text ? text[status] : "unknown status";
}

HEAPDUMP_API hd_str hd_cstr(const char *s) {
    hd_str str;
    str.data = s ? s : "";
    str.len = s ? strlen(s) : 0;
    return str;
}

HEAPDUMP_API bool hd_str_equal(hd_str a, hd_str b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

HEAPDUMP_API int hd_str_compare(hd_str a, hd_str b) {
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n ? memcmp(a.data, b.data, n) : 0;
    return order ? order : a.len < b.len ? -1 : a.len > b.len;
}

/* Digits of `value` in `base` at the end of a buffer of 20 bytes; returns where they start. */
static char *hd__digits(char end[20], uint64_t value, unsigned base) {
    char *p = end + 20;
    do {
        *--p = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    return p;
}

/* A small printf for messages, without stdio: %s const char *, %S hd_str, %u uint64_t, %x the same
   in hexadecimal, %c int. Cut to fit; bytes that are not printable ASCII become '?'. */
static void hd__format(char *buffer, size_t capacity, const char *format, va_list args) {
    size_t n = 0;
    for (; *format; format++) {
        char digits[20];
        hd_str piece;
        piece.data = format;
        piece.len = 1;
        if (*format == '%') {
            switch (*++format) {
            case 's': piece = hd_cstr(va_arg(args, const char *)); break;
            case 'S': piece = va_arg(args, hd_str); break;
            case 'c': digits[0] = (char)va_arg(args, int); piece.data = digits; break;
            default:
                piece.data = hd__digits(digits, va_arg(args, uint64_t), *format == 'x' ? 16 : 10);
                piece.len = (size_t)(digits + 20 - piece.data);
            }
        }
        for (size_t i = 0; i < piece.len && n + 1 < capacity; i++)
            buffer[n++] = piece.data[i] >= 32 && piece.data[i] < 127 ? piece.data[i] : '?';
    }
    buffer[n] = 0;
}

/* Fills the error, if there is one to fill, and returns its status. */
HD__NOINLINE static hd_status hd__fail_at(hd_error *err, hd_status status, uint64_t offset,
                                          uint64_t line, const char *format, ...) {
    if (err) {
        va_list args;
        err->status = status;
        err->offset = offset;
        err->line = line;
        err->column = 0;
        va_start(args, format);
        hd__format(err->message, sizeof err->message, format, args);
        va_end(args);
    }
    return status;
}
#define hd__fail(err, status, ...) hd__fail_at((err), (status), HD_UNKNOWN, 0, __VA_ARGS__)

/* Memory of one object: the caller's allocator, counted. */
typedef struct hd__mem {
    hd_allocator allocator;
    uint64_t used, limit;
    bool over;           /* the limit, not the allocator, said no last */
} hd__mem;

/* Blocks this large ask the OS for large pages: walks through graphs in no order of memory, and filling
   tables for the first time, take half the time. */
#define HD__LARGE_BLOCK ((size_t)8 << 20)
#if defined(__linux__)
#if defined(__STRICT_ANSI__) && !defined(__cplusplus) /* hidden by -std=c99 */
int madvise(void *block, size_t size, int advice);
#endif
static void hd__large_pages(void *block, size_t size) {
    uintptr_t from = ((uintptr_t)block + HD__PAGE - 1) & ~(uintptr_t)(HD__PAGE - 1);
    uintptr_t end = ((uintptr_t)block + size) & ~(uintptr_t)(HD__PAGE - 1);
    int saved = errno;
    if (madvise((void *)from, end - from, 14 /* MADV_HUGEPAGE */)) errno = saved; /* small ones will do */
}
#else
static void hd__large_pages(void *block, size_t size) { (void)block, (void)size; }
#endif

static void *hd__libc_allocate(void *user, void *block, size_t old_size, size_t size) {
    (void)user;
    if (size) {
        void *p = realloc(block, size);
        if (p && size >= HD__LARGE_BLOCK && size > old_size) hd__large_pages(p, size);
        return p;
    }
    free(block);
    return NULL;
}

static void *hd__page_allocate(void *user, void *block, size_t old_size, size_t size) {
    void *p;
    (void)user;
    if (block && size && hd__page_round(old_size) == hd__page_round(size)) return block;
    p = size ? hd__pages_take(size) : NULL;
    if (size && !p) return NULL;
    if (block) {
        if (p) memcpy(p, block, old_size < size ? old_size : size);
        hd__pages_give(block, old_size);
    }
    return p;
}

HEAPDUMP_API hd_allocator hd_page_allocator(void) {
    hd_allocator a;
    a.allocate = hd__page_allocate;
    a.user = NULL;
    return a;
}

static hd__mem hd__mem_make(hd_allocator allocator, uint64_t limit) {
    hd__mem m;
    m.allocator = allocator;
    if (!m.allocator.allocate) m.allocator.allocate = hd__libc_allocate;
    m.used = 0;
    m.limit = limit ? limit : UINT64_MAX;
    m.over = false;
    return m;
}

static hd__mem hd__mem_options(const hd_options *options) {
    hd_options none;
    memset(&none, 0, sizeof none);
    if (!options) options = &none;
    return hd__mem_make(options->allocator, options->limits.max_memory);
}

/* The memory of another object made by the same call: what is left of the limit. */
static hd__mem hd__mem_rest(const hd__mem *m) {
    hd__mem rest = *m;
    rest.limit = m->limit - m->used;
    rest.used = 0;
    return rest;
}

static void *hd__realloc(hd__mem *m, void *block, size_t old_size, size_t size) {
    void *p;
    if (size > old_size && (uint64_t)(size - old_size) > m->limit - m->used) {
        m->over = true;
        return NULL;
    }
    p = m->allocator.allocate(m->allocator.user, block, old_size, size);
    if (p || !size) m->used += (uint64_t)size - old_size;
    else m->over = false;
    return p;
}

static void hd__free(hd__mem *m, void *block, size_t size) {
    if (block) hd__realloc(m, block, size, 0);
}

static hd_status hd__no_memory(const hd__mem *m, hd_error *err) {
    if (m->over)
        return hd__fail(err, HD_LIMIT, "more than the allowed %u bytes of memory needed", m->limit);
    return hd__fail(err, HD_OUT_OF_MEMORY, "out of memory");
}

/* Room for `extra` more elements in the stb_ds array that *array points to; on failure the array is
   as it was. */
static bool hd__arr_room(hd__mem *m, void *array, size_t element, size_t extra) {
    void *a;
    size_t length, capacity, wanted;
    memcpy(&a, array, sizeof a);
    length = stbds_arrlenu(a);
    capacity = stbds_arrcap(a);
    if (capacity - length >= extra) return true;
    wanted = length + extra;
    if (wanted < length) return false;
    if (wanted < 2 * capacity) wanted = 2 * capacity;
    if (wanted < 8) wanted = 8;
    if (wanted > (SIZE_MAX / 2 - sizeof(stbds_array_header)) / element) return false;
    hd__stbds_block = hd__realloc(
        m, a ? (void *)stbds_header(a) : NULL,
        a ? sizeof(stbds_array_header) + capacity * element : 0,
        sizeof(stbds_array_header) + wanted * element);
    if (!hd__stbds_block) return false;
    if (a) a = (stbds_array_header *)hd__stbds_block + 1; /* it may have moved */
    a = stbds_arrgrowf(a, element, extra, wanted);
    memcpy(array, &a, sizeof a);
    return true;
}

static void hd__arr_release(hd__mem *m, void *array, size_t element) {
    void *a;
    memcpy(&a, array, sizeof a);
    if (a) hd__free(m, stbds_header(a), sizeof(stbds_array_header) + stbds_arrcap(a) * element);
    a = NULL;
    memcpy(array, &a, sizeof a);
}

#define hd__room(m, a, extra) hd__arr_room((m), &(a), sizeof *(a), (extra))
#define hd__push(m, a, v) (hd__room((m), (a), 1) && (stbds_arrput((a), (v)), true))
#define hd__arr_free(m, a) hd__arr_release((m), &(a), sizeof *(a))
#define hd__len(a) stbds_arrlenu(a)
#define hd__set_len(a, n) ((void)((a) ? stbds_header(a)->length = (n) : 0))

/* n zeroed elements, outside of any arena. */
static void *hd__calloc(hd__mem *m, size_t n, size_t element) {
    void *p;
    if (n > SIZE_MAX / 2 / element) return NULL;
    p = hd__realloc(m, NULL, 0, n ? n * element : 1);
    if (p) memset(p, 0, n ? n * element : 1);
    return p;
}
static void hd__cfree(hd__mem *m, void *p, size_t n, size_t element) {
    hd__free(m, p, n ? n * element : 1);
}

/* Blocks that are freed together. */
typedef struct hd__chunk {
    struct hd__chunk *next;
    size_t size;
} hd__chunk;

typedef struct hd__arena {
    hd__chunk *chunks;
    char *at;
    size_t left;
} hd__arena;

#define HD__ALIGN 16u

static void *hd__arena_take(hd__mem *m, hd__arena *arena, size_t n, size_t element) {
    void *p;
    size_t size;
    if (n > SIZE_MAX / 4 / element) return NULL;
    size = (n * element + HD__ALIGN - 1) & ~(size_t)(HD__ALIGN - 1);
    if (!size) size = HD__ALIGN; /* NULL would mean failure */
    if (size > arena->left) {
        size_t head = (sizeof(hd__chunk) + HD__ALIGN - 1) & ~(size_t)(HD__ALIGN - 1);
        size_t grown = arena->chunks ? 2 * arena->chunks->size : 1024;
        hd__chunk *chunk;
        if (grown > 65536) grown = 65536;
        if (size + head > grown) grown = size + head;
        chunk = (hd__chunk *)hd__realloc(m, NULL, 0, grown);
        if (!chunk) return NULL;
        chunk->size = grown;
        /* A block too large to share a chunk leaves the current one current. */
        if (arena->chunks && grown - head - size < arena->left) {
            chunk->next = arena->chunks->next;
            arena->chunks->next = chunk;
            return (char *)chunk + head;
        }
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        arena->at = (char *)chunk + head;
        arena->left = grown - head;
    }
    p = arena->at;
    arena->at += size;
    arena->left -= size;
    return p;
}

/* A copy of s, NUL-terminated. NULL when out of memory. */
static char *hd__arena_str(hd__mem *m, hd__arena *arena, hd_str s) {
    char *p = (char *)hd__arena_take(m, arena, s.len + 1, 1);
    if (!p) return NULL;
    if (s.len) memcpy(p, s.data, s.len);
    p[s.len] = 0;
    return p;
}

static void hd__arena_free(hd__mem *m, hd__arena *arena) {
    while (arena->chunks) {
        hd__chunk *next = arena->chunks->next;
        hd__free(m, arena->chunks, arena->chunks->size);
        arena->chunks = next;
    }
    arena->at = NULL;
    arena->left = 0;
}

/* a * b folded to 64 bits: the mixing step of every hash here. */
static uint64_t hd__mix(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
    __extension__ typedef unsigned __int128 hd__u128;
    hd__u128 product = (hd__u128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    uint64_t low = al * bl, middle = ah * bl + (low >> 32), cross = al * bh + (uint32_t)middle;
    return ((cross << 32) | (uint32_t)low) ^ (ah * bh + (middle >> 32) + (cross >> 32));
#endif
}

/* What is multiplied depends on the seed, so that no value is known to make it zero. */
static uint64_t hd__hash_u64(uint64_t seed, uint64_t value) {
    return hd__mix(value ^ (seed * 0xd1b54a32d192ed03u + 0x8bb84b93962eacc9u), 0x9e3779b97f4a7c15u);
}

static uint64_t hd__hash_bytes(uint64_t seed, const void *data, size_t size) {
    const unsigned char *p = (const unsigned char *)data;
    uint64_t hash = seed ^ ((uint64_t)size * 0xa0761d6478bd642fu), word;
    for (; size >= 8; size -= 8, p += 8) {
        memcpy(&word, p, 8);
        hash = hd__hash_u64(hash, word);
    }
    word = 0;
    if (size) memcpy(&word, p, size);
    return hd__hash_u64(hash, word);
}

/* A number a file's author cannot know. */
static uint64_t hd__seed(void) {
    static uint64_t calls;
    uint64_t call = HD__ADD(&calls, 1), seed = (uint64_t)time(NULL);
    seed = hd__hash_u64(seed, (uint64_t)(uintptr_t)&call);
    seed = hd__hash_u64(seed, (uint64_t)(uintptr_t)&errno ^ (uint64_t)clock());
    return hd__hash_u64(seed, call);
}

/* An open-addressed set of numbers whose keys live elsewhere: the caller hashes and compares.
   A slot holds 32 bits of hash and the number plus one. */
typedef struct hd__index {
    uint64_t *slots;
    size_t capacity, count;
} hd__index;

/* The next number whose hash may be this one; HD_NONE at the end. Start with *probe 0. */
static uint32_t hd__index_next(const hd__index *index, uint64_t hash, size_t *probe) {
    if (!index->capacity) return HD_NONE;
    for (;;) {
        uint64_t slot = index->slots[((size_t)hash + (*probe)++) & (index->capacity - 1)];
        if (!slot) return HD_NONE;
        if (slot >> 32 == hash >> 32) return (uint32_t)slot - 1;
    }
}

static void hd__index_place(uint64_t *slots, size_t capacity, uint64_t hash, uint32_t number) {
    size_t i = (size_t)hash & (capacity - 1);
    while (slots[i]) i = (i + 1) & (capacity - 1);
    slots[i] = (hash >> 32 << 32) | (uint32_t)(number + 1);
}

/* Adds a number that is not in there. `rehash` gives the hash of a number already in. */
static bool hd__index_add(hd__mem *m, hd__index *index, uint64_t hash, uint32_t number,
                          uint64_t (*rehash)(const void *owner, uint32_t number),
                          const void *owner) {
    if (4 * (index->count + 1) > 3 * index->capacity) {
        size_t capacity = index->capacity ? 2 * index->capacity : 16;
        uint64_t *slots = (uint64_t *)hd__calloc(m, capacity, sizeof *slots);
        if (!slots) return false;
        for (size_t i = 0; i < index->capacity; i++)
            if (index->slots[i]) {
                uint32_t old = (uint32_t)index->slots[i] - 1;
                hd__index_place(slots, capacity, rehash(owner, old), old);
            }
        if (index->slots) hd__cfree(m, index->slots, index->capacity, sizeof *slots);
        index->slots = slots;
        index->capacity = capacity;
    }
    hd__index_place(index->slots, index->capacity, hash, number);
    index->count++;
    return true;
}

static void hd__index_free(hd__mem *m, hd__index *index) {
    if (index->slots) hd__cfree(m, index->slots, index->capacity, sizeof *index->slots);
    memset(index, 0, sizeof *index);
}

/* Distinct strings, numbered from 0 in order of arrival. */
typedef struct hd__strings {
    hd_str *strings;
    hd__index index;
    uint64_t seed;
} hd__strings;

static uint64_t hd__strings_rehash(const void *owner, uint32_t number) {
    const hd__strings *s = (const hd__strings *)owner;
    return hd__hash_bytes(s->seed, s->strings[number].data, s->strings[number].len);
}

/* The number of a string, HD_NONE when it is not there. */
static uint32_t hd__strings_find(const hd__strings *s, hd_str string, uint64_t hash) {
    size_t probe = 0;
    uint32_t i;
    while ((i = hd__index_next(&s->index, hash, &probe)) != HD_NONE)
        if (hd_str_equal(s->strings[i], string)) break;
    return i;
}

/* The number of a string, copied into the arena when it is new; HD_NONE when out of memory. */
static uint32_t hd__strings_add(hd__mem *m, hd__arena *arena, hd__strings *s, hd_str string) {
    uint64_t hash = hd__hash_bytes(s->seed, string.data, string.len);
    uint32_t i = hd__strings_find(s, string, hash);
    if (i != HD_NONE) return i;
    i = (uint32_t)hd__len(s->strings);
    if (i >= HD_NONE - 1) return HD_NONE;
    if (!hd__room(m, s->strings, 1)) return HD_NONE;
    string.data = hd__arena_str(m, arena, string);
    if (!string.data || !hd__index_add(m, &s->index, hash, i, hd__strings_rehash, s)) return HD_NONE;
    stbds_arrput(s->strings, string);
    return i;
}

static void hd__strings_free(hd__mem *m, hd__strings *s) {
    hd__index_free(m, &s->index);
    hd__arr_free(m, s->strings);
}

/* Sorts n numbers by before(owner, a, b): stable, no recursion; `spare` holds n more. */
static void hd__sort(uint32_t *numbers, uint32_t *spare, size_t n,
                     bool (*before)(const void *owner, uint32_t a, uint32_t b), const void *owner) {
    uint32_t *from = numbers, *to = spare;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t low = 0; low < n; low += 2 * width) {
            size_t middle = low + width < n ? low + width : n;
            size_t high = middle + width < n ? middle + width : n;
            size_t i = low, j = middle, k = low;
            if (middle == high || !before(owner, from[middle], from[middle - 1])) {
                memcpy(to + low, from + low, (high - low) * sizeof *to);
                continue;
            }
            while (i < middle && j < high)
                to[k++] = before(owner, from[j], from[i]) ? from[j++] : from[i++];
            while (i < middle) to[k++] = from[i++];
            while (j < high) to[k++] = from[j++];
        }
        { uint32_t *swap = from; from = to; to = swap; }
    }
    if (from != numbers && n) memcpy(numbers, from, n * sizeof *numbers);
}

/* A number and what it is the key of, sorted by key: stable, in as many passes as keys have bytes that
   differ. `spare` holds n more. */
typedef struct hd__keyed {
    uint64_t key;
    uint32_t number;
} hd__keyed;

static void hd__sort_keys(hd__keyed *keys, hd__keyed *spare, size_t n) {
    hd__keyed *from = keys, *to = spare;
    uint64_t differ = 0;
    for (size_t i = 1; i < n; i++) differ |= keys[i].key ^ keys[0].key;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t at[256], sum = 0;
        if (!(differ >> shift & 0xff)) continue;
        memset(at, 0, sizeof at);
        for (size_t i = 0; i < n; i++) at[from[i].key >> shift & 0xff]++;
        for (unsigned d = 0; d < 256; d++) {
            size_t count = at[d];
            at[d] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++) to[at[from[i].key >> shift & 0xff]++] = from[i];
        { hd__keyed *swap = from; from = to; to = swap; }
    }
    if (from != keys && n) memcpy(keys, from, n * sizeof *keys);
}

/* Sums saturate at the largest value that is not HD_UNKNOWN, and say so. */
static bool hd__sum(uint64_t *sum, uint64_t value) {
    if (value > UINT64_MAX - 1 - *sum) {
        *sum = UINT64_MAX - 1;
        return false;
    }
    *sum += value;
    return true;
}
/* The same for counts of which one may not be known. */
static void hd__sum_known(uint64_t *sum, uint64_t value) {
    if (*sum == HD_UNKNOWN || value == HD_UNKNOWN) *sum = HD_UNKNOWN;
    else hd__sum(sum, value);
}

/* What is left of a whole; never less than nothing. */
static uint64_t hd__less(uint64_t whole, uint64_t part) { return whole > part ? whole - part : 0; }
static uint64_t hd__less_known(uint64_t whole, uint64_t part) {
    return whole == HD_UNKNOWN || part == HD_UNKNOWN ? HD_UNKNOWN : hd__less(whole, part);
}
static double hd__less_variance(double whole, double part) { return whole > part ? whole - part : 0; }

typedef struct hd__amount {
    uint64_t bytes, blocks;
    double variance;
} hd__amount;

static void hd__amount_add(hd__amount *to, hd__amount a) {
    hd__sum(&to->bytes, a.bytes);
    hd__sum_known(&to->blocks, a.blocks);
    to->variance += a.variance;
}

static void hd__amount_take(hd__amount *from, hd__amount a) {
    from->bytes = hd__less(from->bytes, a.bytes);
    from->blocks = hd__less_known(from->blocks, a.blocks);
    from->variance = hd__less_variance(from->variance, a.variance);
}

static hd__amount hd__amount_at(const hd_rows *rows, uint32_t row) {
    hd__amount a;
    a.bytes = rows->bytes[row];
    a.blocks = rows->blocks[row];
    a.variance = rows->variance[row];
    return a;
}

/* Trees of names, and rows of their nodes: both found by hash. --------------------------------- */

typedef struct hd__tree {
    const char *name;
    uint32_t *parent;            /* stb_ds arrays */
    hd_str *names;
    hd__index index;
    uint64_t seed;
    hd__strings *copies;         /* of names; NULL where none are copied */
} hd__tree;

static uint64_t hd__tree_hash(const hd__tree *t, uint32_t parent, hd_str name) {
    return hd__hash_bytes(hd__hash_u64(t->seed, parent), name.data, name.len);
}

static uint64_t hd__tree_rehash(const void *owner, uint32_t node) {
    const hd__tree *t = (const hd__tree *)owner;
    return hd__tree_hash(t, t->parent[node], t->names[node]);
}

/* The child by that name, made when missing; its name is copied only if asked. */
static hd_status hd__tree_child(hd__mem *m, hd__arena *arena, hd__tree *t, uint64_t max_records,
                                uint32_t parent, hd_str name, bool copy, uint32_t *node, hd_error *err) {
    uint64_t hash = hd__tree_hash(t, parent, name);
    size_t probe = 0, n = hd__len(t->parent);
    uint32_t i;
    while ((i = hd__index_next(&t->index, hash, &probe)) != HD_NONE)
        if (t->parent[i] == parent && hd_str_equal(t->names[i], name)) {
            *node = i;
            return HD_OK;
        }
    if (n >= max_records) return hd__fail(err, HD_LIMIT, "more than the allowed %u nodes", max_records);
    if (!hd__room(m, t->parent, 1) || !hd__room(m, t->names, 1)) return hd__no_memory(m, err);
    if (copy) {
        uint32_t number = hd__strings_add(m, arena, t->copies, name);
        if (number == HD_NONE) return hd__no_memory(m, err);
        name = t->copies->strings[number];
    }
    if (!hd__index_add(m, &t->index, hash, (uint32_t)n, hd__tree_rehash, t)) return hd__no_memory(m, err);
    stbds_arrput(t->parent, parent);
    stbds_arrput(t->names, name);
    *node = (uint32_t)n;
    return HD_OK;
}

static void hd__tree_free(hd__mem *m, hd__tree *t) {
    hd__arr_free(m, t->parent);
    hd__arr_free(m, t->names);
    hd__index_free(m, &t->index);
}

static hd_axis hd__tree_axis(const hd__tree *t) {
    hd_axis axis;
    axis.name = t->name;
    axis.node_count = (uint32_t)hd__len(t->parent);
    axis.parent = t->parent;
    axis.end = NULL;
    axis.node_name = t->names;
    return axis;
}

typedef struct hd__table {
    uint32_t axis_count;
    uint32_t *node;              /* stb_ds arrays */
    uint64_t *bytes, *blocks;
    double *variance;
    hd__index index;
    uint64_t seed;
} hd__table;

static uint64_t hd__table_hash(const hd__table *t, const uint32_t *nodes) {
    uint64_t hash = t->seed;
    for (uint32_t a = 0; a < t->axis_count; a++) hash = hd__hash_u64(hash, nodes[a]);
    return hash;
}

static uint64_t hd__table_rehash(const void *owner, uint32_t row) {
    const hd__table *t = (const hd__table *)owner;
    return hd__table_hash(t, t->node + (size_t)row * t->axis_count);
}

static uint32_t hd__table_find(const hd__table *t, const uint32_t *nodes) {
    uint64_t hash = hd__table_hash(t, nodes);
    size_t probe = 0;
    uint32_t i;
    while ((i = hd__index_next(&t->index, hash, &probe)) != HD_NONE)
        if (!memcmp(t->node + (size_t)i * t->axis_count, nodes, t->axis_count * sizeof *nodes)) break;
    return i;
}

/* Room for that many more rows. */
static bool hd__table_room(hd__mem *m, hd__table *t, size_t rows) {
    return hd__room(m, t->node, rows * t->axis_count) && hd__room(m, t->bytes, rows) &&
           hd__room(m, t->blocks, rows) && hd__room(m, t->variance, rows);
}

/* A row, for which there is room, that hd__table_find will not find. */
static void hd__table_append(hd__table *t, const uint32_t *nodes, uint64_t bytes, uint64_t blocks) {
    for (uint32_t a = 0; a < t->axis_count; a++) stbds_arrput(t->node, nodes[a]);
    stbds_arrput(t->bytes, bytes);
    stbds_arrput(t->blocks, blocks);
    stbds_arrput(t->variance, 0.0);
}

/* Adds a row that is not there yet. */
static hd_status hd__table_add(hd__mem *m, hd__table *t, uint64_t max_records, const uint32_t *nodes,
                               uint64_t bytes, uint64_t blocks, hd_error *err) {
    size_t row = hd__len(t->bytes);
    if (row >= max_records)
        return hd__fail(err, HD_LIMIT, "more than the allowed %u entries", max_records);
    if (!hd__table_room(m, t, 1) ||
        !hd__index_add(m, &t->index, hd__table_hash(t, nodes), (uint32_t)row, hd__table_rehash, t))
        return hd__no_memory(m, err);
    hd__table_append(t, nodes, bytes, blocks);
    return HD_OK;
}

/* Takes back all rows from number n on. */
static void hd__table_truncate(hd__table *t, uint32_t n) {
    if (n >= hd__len(t->bytes) && n >= t->index.count) return;
    hd__set_len(t->node, (size_t)n * t->axis_count);
    hd__set_len(t->bytes, n);
    hd__set_len(t->blocks, n);
    hd__set_len(t->variance, n);
    memset(t->index.slots, 0, t->index.capacity * sizeof *t->index.slots);
    t->index.count = n;
    for (uint32_t i = 0; i < n; i++)
        hd__index_place(t->index.slots, t->index.capacity, hd__table_rehash(t, i), i);
}

static void hd__table_free(hd__mem *m, hd__table *t) {
    hd__arr_free(m, t->node);
    hd__arr_free(m, t->bytes);
    hd__arr_free(m, t->blocks);
    hd__arr_free(m, t->variance);
    hd__index_free(m, &t->index);
}

static hd_rows hd__table_rows(const hd__table *t) {
    hd_rows rows;
    rows.count = (uint32_t)hd__len(t->bytes);
    rows.axis_count = t->axis_count;
    rows.node = t->node;
    rows.bytes = t->bytes;
    rows.blocks = t->blocks;
    rows.variance = t->variance;
    return rows;
}

/* ===================================================================================== >>io
   hd__reader shows an input to a parser as a window [at, end) that hd__reader_fill moves on: over
   memory the whole input at once, over a callback one buffer after the other, over a mapped file a
   stretch of it, whose pages are given back behind the window. */

HEAPDUMP_API hd_in hd_in_memory(const void *data, size_t size) {
    hd_in in;
    memset(&in, 0, sizeof in);
    in.data = (const uint8_t *)(data ? data : "");
    in.size = size;
    return in;
}

HEAPDUMP_API hd_in hd_in_callback(hd_read_fn read_fn, void *user) {
    hd_in in;
    memset(&in, 0, sizeof in);
    in.read = read_fn;
    in.user = user;
    return in;
}

#if defined(_WIN32)
#define hd__os_open(path, flags) _open((path), (flags) | _O_BINARY, _S_IREAD | _S_IWRITE)
#define hd__os_read(fd, p, n) _read((fd), (p), (unsigned)((n) < 0x40000000 ? (n) : 0x40000000))
#define hd__os_write(fd, p, n) _write((fd), (p), (unsigned)((n) < 0x40000000 ? (n) : 0x40000000))
#define hd__os_close(fd) _close(fd)
#define hd__os_unlink(path) _unlink(path)
#define hd__os_rename(from, to) (MoveFileExA((from), (to), MOVEFILE_REPLACE_EXISTING) ? 0 : -1)
#define hd__os_pid() ((uint64_t)GetCurrentProcessId())
#else
#ifndef O_CLOEXEC
#define O_CLOEXEC 0
#endif
#define hd__os_open(path, flags) open((path), (flags) | O_CLOEXEC, 0666)
#define hd__os_read(fd, p, n) read((fd), (p), (n))
#define hd__os_write(fd, p, n) write((fd), (p), (n))
#define hd__os_close(fd) close(fd)
#define hd__os_unlink(path) unlink(path)
#ifdef HEAPDUMP_NO_STDIO
#ifdef __cplusplus
extern "C"
#endif
int rename(const char *from, const char *to); /* stdio.h has it */
#endif
#define hd__os_rename(from, to) rename((from), (to))
#if defined(__STRICT_ANSI__) && !defined(__cplusplus) /* hidden by -std=c99 */
ssize_t readlink(const char *path, char *target, size_t size);
int fchmod(int fd, mode_t mode);
int madvise(void *start, size_t size, int advice);
#endif
#if defined(__linux__) && !defined(MADV_DONTNEED)
#define MADV_DONTNEED 4
#endif
#define hd__os_pid() ((uint64_t)getpid())
#endif

static hd_status hd__fail_os(hd_error *err, const char *what, const char *path) {
    /* not called in vain: hd_file_ functions may be in signal handlers, strerror may not */
    return err ? hd__fail(err, HD_IO, "cannot %s %s: %s", what, path, strerror(errno)) : HD_IO;
}

static int64_t hd__fd_read(void *user, void *buffer, size_t capacity) {
    int64_t n;
    do n = (int64_t)hd__os_read((int)(intptr_t)user, buffer, capacity);
    while (n < 0 && errno == EINTR);
    return n;
}

HEAPDUMP_API hd_status hd_in_open(const char *path, hd_in *in, hd_error *err) {
    int fd = path ? hd__os_open(path, O_RDONLY) : -1;
    if (!path) return hd__fail(err, HD_INVALID, "no path given");
    if (fd < 0) return hd__fail_os(err, "open", path);
#if !defined(_WIN32)
    {
        struct stat st;
        if (fstat(fd, &st)) {
            hd__os_close(fd);
            return hd__fail_os(err, "open", path);
        }
        if (S_ISDIR(st.st_mode)) {
            hd__os_close(fd);
            return hd__fail(err, HD_IO, "cannot read %s: it is a directory", path);
        }
        if (S_ISREG(st.st_mode) && st.st_size > 0 && (uint64_t)st.st_size <= SIZE_MAX) {
            void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
            if (p != MAP_FAILED) {
                hd__os_close(fd);
                *in = hd_in_memory(p, (size_t)st.st_size);
                in->mapped = 1;
                return HD_OK;
            }
        }
    }
#endif
    *in = hd_in_callback(hd__fd_read, (void *)(intptr_t)fd);
    in->mapped = 2;
    return HD_OK;
}

HEAPDUMP_API void hd_in_close(hd_in *in) {
#if !defined(_WIN32)
    if (in->mapped == 1) munmap((void *)(uintptr_t)in->data, (size_t)in->size);
#endif
    if (in->mapped == 2) hd__os_close((int)(intptr_t)in->user);
    memset(in, 0, sizeof *in);
}

HEAPDUMP_API hd_out hd_out_callback(hd_write_fn write_fn, void *user) {
    hd_out out;
    out.write = write_fn;
    out.user = user;
    return out;
}

static hd_status hd__buffer_write(void *user, const void *data, size_t size) {
    hd_buffer *b = (hd_buffer *)user;
    hd__mem m = hd__mem_make(b->allocator, 0);
    if (size > b->capacity - b->size) {
        size_t wanted = 2 * b->capacity + 256;
        void *p;
        if (size > SIZE_MAX / 4 - b->size) return HD_OUT_OF_MEMORY;
        if (wanted < b->size + size) wanted = b->size + size;
        p = hd__realloc(&m, b->data, b->capacity, wanted);
        if (!p) return HD_OUT_OF_MEMORY;
        b->data = (uint8_t *)p;
        b->capacity = wanted;
    }
    if (size) memcpy(b->data + b->size, data, size);
    b->size += size;
    return HD_OK;
}

HEAPDUMP_API hd_out hd_out_memory(hd_buffer *buffer) {
    return hd_out_callback(hd__buffer_write, buffer);
}

HEAPDUMP_API void hd_buffer_free(hd_buffer *buffer) {
    if (buffer) {
        hd__mem m = hd__mem_make(buffer->allocator, 0);
        hd__free(&m, buffer->data, buffer->capacity);
        buffer->data = NULL;
        buffer->size = buffer->capacity = 0;
    }
}

#ifndef HEAPDUMP_NO_STDIO
static hd_status hd__stdio_write(void *user, const void *data, size_t size) {
    return fwrite(data, 1, size, (FILE *)user) == size ? HD_OK : HD_IO;
}

HEAPDUMP_API hd_out hd_out_file(FILE *file) { return hd_out_callback(hd__stdio_write, file); }
#endif

static hd_status hd__file_write(void *user, const void *data, size_t size) {
    hd_file *file = (hd_file *)user;
    const char *p = (const char *)data;
    while (size && !file->status) {
        int64_t n = (int64_t)hd__os_write(file->fd, p, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            file->status = HD_IO;
            file->os_error = n < 0 ? errno : ENOSPC;
            break;
        }
        p += n;
        size -= (size_t)n;
    }
    return file->status;
}

/* Replaces a symbolic link by what it leads to, so that the link stays. */
static void hd__follow_links(char *path, size_t most) {
#if !defined(_WIN32)
    char target[sizeof ((hd_file *)0)->path];
    for (int links = 0; links < 40; links++) {
        ssize_t n = readlink(path, target, sizeof target);
        char *slash = strrchr(path, '/');
        size_t keep = n > 0 && *target != '/' && slash ? (size_t)(slash + 1 - path) : 0;
        if (n <= 0 || keep + (size_t)n > most) return;
        memcpy(path + keep, target, (size_t)n);
        path[keep + (size_t)n] = 0;
    }
#else
    (void)path, (void)most;
#endif
}

HEAPDUMP_API hd_status hd_file_create(const char *path, hd_file *file, hd_error *err) {
    static uint64_t counter;
    size_t n = path ? strlen(path) : 0, most = sizeof file->path - 48;
#if !defined(_WIN32)
    struct stat st;
    bool exists;
#endif
    file->fd = -1;
    file->status = HD_OK;
    file->os_error = 0;
    if (n == 0 || n > most)
        return hd__fail(err, HD_INVALID, "a path of 1 to %u bytes expected, %u found", (uint64_t)most,
                        (uint64_t)n);
    memcpy(file->path, path, n + 1);
    hd__follow_links(file->path, most);
    n = strlen(file->path);
    *file->temporary = 0;
#if !defined(_WIN32)
    exists = !stat(file->path, &st);
    if (exists && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
        file->fd = hd__os_open(file->path, O_WRONLY);
        return file->fd < 0 ? hd__fail_os(err, "open", path) : HD_OK;
    }
#endif
    for (int attempt = 0; attempt < 100; attempt++) {
        char digits[20], *end = file->temporary + n, *p;
        uint64_t part[2];
        part[0] = hd__os_pid();
        part[1] = HD__ADD(&counter, 1);
        memcpy(file->temporary, file->path, n);
        for (int i = 0; i < 2; i++) {
            p = hd__digits(digits, part[i], 10);
            *end++ = '.';
            memcpy(end, p, (size_t)(digits + 20 - p));
            end += digits + 20 - p;
        }
        memcpy(end, ".tmp", 5);
        file->fd = hd__os_open(file->temporary, O_WRONLY | O_CREAT | O_EXCL);
        if (file->fd >= 0) {
#if !defined(_WIN32)
            if (exists && fchmod(file->fd, st.st_mode & 07777)) {} /* the new file's own will do */
#endif
            return HD_OK;
        }
        if (errno != EEXIST) break;
    }
    return hd__fail_os(err, "create", path);
}

HEAPDUMP_API hd_out hd_file_out(hd_file *file) { return hd_out_callback(hd__file_write, file); }

HEAPDUMP_API hd_status hd_file_commit(hd_file *file, hd_error *err) {
    int fd = file->fd;
    hd_status status = file->status;
    bool beside = *file->temporary != 0;
    if (fd < 0) return hd__fail(err, HD_INVALID, "the file is not open");
    if (status) hd__fail(err, status, "cannot write %s: not all that was written fitted", file->path);
    file->fd = -1;
    if (hd__os_close(fd) && !status) status = hd__fail_os(err, "write", file->path);
    if (!status && beside && hd__os_rename(file->temporary, file->path))
        status = hd__fail_os(err, "write", file->path);
    if (status && beside) hd__os_unlink(file->temporary);
    return status;
}

HEAPDUMP_API void hd_file_discard(hd_file *file) {
    if (file->fd < 0) return;
    hd__os_close(file->fd);
    if (*file->temporary) hd__os_unlink(file->temporary);
    file->fd = -1;
}

static void hd__sink_begin(hd_sink *s, hd_out out) {
    s->out = out;
    s->status = HD_OK;
    s->fill = 0;
}

static hd_status hd__sink_flush(hd_sink *s) {
    if (!s->status && s->fill) s->status = s->out.write(s->out.user, s->buffer, s->fill);
    s->fill = 0;
    return s->status;
}

static void hd__sink_put(hd_sink *s, const char *data, size_t size) {
    if (size > sizeof s->buffer - s->fill) {
        hd__sink_flush(s);
        if (size > sizeof s->buffer) {
            if (!s->status) s->status = s->out.write(s->out.user, data, size);
            return;
        }
    }
    if (size) memcpy(s->buffer + s->fill, data, size);
    s->fill += (uint32_t)size;
}

static void hd__sink_str(hd_sink *s, hd_str text) { hd__sink_put(s, text.data, text.len); }

static void hd__sink_pad(hd_sink *s, size_t spaces) {
    for (; spaces; spaces--) hd__sink_put(s, " ", 1);
}

/* An input that hd_options.inflate unpacks. */
typedef struct hd__packed {
    hd_in in;
    const hd_inflate *hook;
    void *stream;
    uint64_t at;                 /* packed bytes read so far */
    uint64_t unpacked;           /* bytes they gave */
    bool failed;                 /* they could not be read */
    bool damaged;                /* they ended early, or were wrong */
} hd__packed;

static int64_t hd__packed_bytes(void *user, void *buffer, size_t capacity) {
    hd__packed *p = (hd__packed *)user;
    int64_t n = (int64_t)capacity;
    if (p->in.read) {
        n = p->in.read(p->in.user, buffer, capacity);
        if (n > (int64_t)capacity) n = -1;
        p->failed |= n < 0;
    } else {
        uint64_t left = p->in.size - p->at;
        if (left < capacity) n = (int64_t)left;
        if (n) memcpy(buffer, p->in.data + p->at, (size_t)n);
    }
    if (n > 0) p->at += (uint64_t)n;
    return n;
}

static int64_t hd__unpacked_read(void *user, void *buffer, size_t capacity) {
    hd__packed *p = (hd__packed *)user;
    int64_t n = p->damaged ? -1 : p->hook->read(p->stream, buffer, capacity);
    if (n > 0) p->unpacked += (uint64_t)n;
    p->damaged |= n < 0 && !p->failed;
    return n;
}

/* The unpacked input, or false when there is no memory for it. */
static bool hd__packed_open(hd__packed *p, hd_in in, const hd_inflate *hook) {
    memset(p, 0, sizeof *p);
    p->in = in;
    p->hook = hook;
    p->stream = hook->open(hook->user, hd__packed_bytes, p);
    return p->stream != NULL;
}

/* Why an input failed. Damage of the packing is the input's own fault. */
static hd_status hd__fail_input(const hd__packed *packed, hd_error *err, uint64_t offset, uint64_t line) {
    if (packed && !packed->failed)
        return hd__fail_at(err, HD_MALFORMED, offset, line,
                           "the gzip stream is damaged or cut off in its first %u bytes", packed->at);
    return hd__fail_at(err, HD_IO, offset, line, "reading the input failed");
}

typedef struct hd__reader {
    const uint8_t *at, *end, *start;
    uint64_t base;               /* offset of start in the input */
    const uint8_t *counted;      /* in the window */
    uint64_t lines;              /* newlines before `counted` */
    const uint8_t *released;     /* of a mapped file: what is before was given back */
    hd_in in;
    hd__mem *mem;
    uint8_t *buffer;
    const hd__packed *packed;    /* what the callback unpacks; NULL: it reads plainly */
    bool failed;                 /* the callback did */
    bool ended;
} hd__reader;

#define HD__READER_BUFFER 65536u
#define HD__READER_MAPPED ((size_t)4 << 20)

/* The next bytes of a mapped file, or of any memory, become visible. */
static void hd__reader_show(hd__reader *r, size_t most) {
    size_t rest = (size_t)(r->in.data + r->in.size - r->end);
    r->end += rest < most ? rest : most;
    r->ended = rest <= most;
}

static bool hd__reader_open(hd__reader *r, hd__mem *m, hd_in in) {
    memset(r, 0, sizeof *r);
    r->in = in;
    r->mem = m;
    if (!in.read) {
        r->at = r->start = r->end = r->counted = r->released = in.data;
        hd__reader_show(r, in.mapped == 1 ? HD__READER_MAPPED : SIZE_MAX);
        return true;
    }
    r->buffer = (uint8_t *)hd__realloc(m, NULL, 0, HD__READER_BUFFER);
    r->at = r->start = r->end = r->counted = r->buffer;
    return r->buffer != NULL;
}

static void hd__reader_close(hd__reader *r) { hd__free(r->mem, r->buffer, HD__READER_BUFFER); }

static uint64_t hd__reader_offset(const hd__reader *r) { return r->base + (uint64_t)(r->at - r->start); }

static uint64_t hd__newlines(const uint8_t *p, const uint8_t *end) {
    uint64_t n = 0;
#if defined(HD__SSE2)
    while (end - p >= 16) {      /* bytes of `sums` count to 255 at most */
        const uint8_t *stop = end - p >= 255 * 16 ? p + 255 * 16 : p + (end - p) / 16 * 16;
        __m128i sums = _mm_setzero_si128();
        for (; p < stop; p += 16)
            sums = _mm_sub_epi8(sums, _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)p),
                                                     _mm_set1_epi8('\n')));
        sums = _mm_sad_epu8(sums, _mm_setzero_si128());
        n += (uint64_t)_mm_cvtsi128_si32(sums) + (uint64_t)_mm_cvtsi128_si32(_mm_srli_si128(sums, 8));
    }
#endif
    while (p < end && (p = (const uint8_t *)memchr(p, '\n', (size_t)(end - p))) != NULL) {
        n++;
        p++;
    }
    return n;
}

/* The line of an offset, or of the window's start when that is past it. Costs the distance to the
   place last asked for. */
static uint64_t hd__reader_line(hd__reader *r, uint64_t offset) {
    const uint8_t *to = offset <= r->base                                  ? r->start
                        : offset - r->base > (uint64_t)(r->end - r->start) ? r->end
                                                                           : r->start + (offset - r->base);
    if (to >= r->counted) r->lines += hd__newlines(r->counted, to);
    else r->lines -= hd__newlines(to, r->counted);
    r->counted = to;
    return 1 + r->lines;
}

/* Pages of a mapped file that were read would be counted as the program's. Gives those from *released
   up to `at` back. */
static void hd__reader_release(const uint8_t **released, const uint8_t *at) {
#if defined(__linux__)
    uintptr_t from = ((uintptr_t)*released + HD__PAGE - 1) & ~(uintptr_t)(HD__PAGE - 1);
    uintptr_t to = (uintptr_t)at & ~(uintptr_t)(HD__PAGE - 1);
    if (from < to && madvise((void *)from, to - from, MADV_DONTNEED)) {} /* they stay, then */
#endif
    *released = at;
}

/* Moves the window on so that it begins at the reader's place and shows more: false at the end of the
   input, and when the window is full. */
HD__NOINLINE static bool hd__reader_more(hd__reader *r) {
    size_t left = (size_t)(r->end - r->at);
    int64_t n;
    if (r->ended || left >= (r->in.read ? HD__READER_BUFFER : HD__READER_MAPPED)) return false;
    hd__reader_line(r, hd__reader_offset(r));
    r->base += (uint64_t)(r->at - r->start);
    if (!r->in.read) {
        hd__reader_release(&r->released, r->at);
        r->start = r->at;
        hd__reader_show(r, HD__READER_MAPPED);
        return true;
    }
    if (left) memmove(r->buffer, r->at, left);
    n = r->in.read(r->in.user, r->buffer + left, HD__READER_BUFFER - left);
    if (n > (int64_t)(HD__READER_BUFFER - left)) n = -1;
    r->failed = n < 0;
    r->ended = n <= 0;
    r->at = r->start = r->counted = r->buffer;
    r->end = r->buffer + left + (n > 0 ? n : 0);
    return n > 0;
}

/* Called when the window is used up: false at the end of the input. */
static bool hd__reader_fill(hd__reader *r) {
    HEAPDUMP_ASSERT(r->at == r->end);
    return hd__reader_more(r);
}

/* =================================================================================== >>json
   Writer: state[depth] says what may come next at each level. Reader: a pull parser that holds no
   more than the string being read; strings and numbers are decoded only when asked for, else passed
   over by the next pull. Control characters inside strings are let through. */

enum { HD__W_ARRAY = 1, HD__W_OBJECT = 2, HD__W_MORE = 4, HD__W_VALUE = 8, HD__W_DONE = 16 };

static void hd__json_break(hd_json *j) {
    if (j->newline) hd__sink_put(&j->sink, "\n", 1);
    j->newline = false;
}

/* What goes before a value: a comma, and proof that a value may stand here. */
static bool hd__json_value(hd_json *j) {
    uint8_t *state = &j->state[j->depth];
    if (j->sink.status) return false;
    if ((j->depth == 0 && (*state & HD__W_DONE)) ||
        ((*state & HD__W_OBJECT) && !(*state & HD__W_VALUE))) {
        j->sink.status = HD_INVALID;
        return false;
    }
    if ((*state & HD__W_ARRAY) && (*state & HD__W_MORE)) hd__sink_put(&j->sink, ",", 1);
    hd__json_break(j);
    *state = (uint8_t)((*state & ~HD__W_VALUE) | HD__W_MORE | (j->depth ? 0 : HD__W_DONE));
    return true;
}

static void hd__json_open(hd_json *j, uint8_t kind) {
    if (!hd__json_value(j)) return;
    if (j->depth == HD_JSON_DEPTH) {
        j->sink.status = HD_LIMIT;
        return;
    }
    hd__sink_put(&j->sink, kind == HD__W_OBJECT ? "{" : "[", 1);
    j->state[++j->depth] = kind;
}

HEAPDUMP_API void hd_json_begin(hd_json *j, hd_out out) {
    hd__sink_begin(&j->sink, out);
    j->depth = 0;
    j->state[0] = 0;
    j->newline = false;
}

HEAPDUMP_API void hd_json_object(hd_json *j) { hd__json_open(j, HD__W_OBJECT); }
HEAPDUMP_API void hd_json_array(hd_json *j) { hd__json_open(j, HD__W_ARRAY); }

HEAPDUMP_API void hd_json_end(hd_json *j) {
    if (j->sink.status) return;
    if (!j->depth || (j->state[j->depth] & HD__W_VALUE)) {
        j->sink.status = HD_INVALID;
        return;
    }
    hd__json_break(j);
    hd__sink_put(&j->sink, j->state[j->depth--] & HD__W_OBJECT ? "}" : "]", 1);
}

/* Length of the well-formed UTF-8 sequence at p, 0 when there is none; 3 for a lone surrogate too. */
static unsigned hd__utf8(const unsigned char *p, size_t left) {
    unsigned n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
    if (n > left) return 0;
    for (unsigned i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    if (n == 3 && p[0] == 0xe0 && p[1] < 0xa0) return 0;
    if (n == 4 && ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))) return 0;
    return n;
}

/* A code point in one to four bytes; surrogates too. */
static size_t hd__utf8_put(uint32_t code, char bytes[4]) {
    static const unsigned char first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; code >>= 6) bytes[i] = (char)(0x80 | (code & 0x3f));
    bytes[0] = (char)(first[n] | code);
    return n;
}

static void hd__json_escape(hd_json *j, unsigned code) {
    static const char hex[] = "0123456789abcdef";
    char text[6];
    text[0] = '\\';
    text[1] = 'u';
    for (int i = 0; i < 4; i++) text[2 + i] = hex[(code >> (12 - 4 * i)) & 15];
    hd__sink_put(&j->sink, text, 6);
}

/* Bytes that hd__json_quote writes. */
static uint32_t hd__json_length(hd_str s) {
    const unsigned char *p = (const unsigned char *)s.data, *end = p + s.len;
    size_t n = 2;
    while (p < end && n < HD_NONE / 2) {
        unsigned bytes = *p < 128 ? 1 : hd__utf8(p, (size_t)(end - p));
        if (*p < 32 || *p == 127) n += 6;
        else if (*p == '"' || *p == '\\') n += 2;
        else if (bytes == 3 && p[0] == 0xed && p[1] >= 0xa0) n += 6;
        else n += bytes ? bytes : 3;
        p += bytes ? bytes : 1;
    }
    return (uint32_t)n;
}

static void hd__json_quote(hd_json *j, hd_str s) {
    const unsigned char *p = (const unsigned char *)(s.len ? s.data : ""), *end = p + s.len;
    hd__sink_put(&j->sink, "\"", 1);
    while (p < end) {
        const unsigned char *plain = p;
        while (p < end && *p >= 32 && *p < 127 && *p != '"' && *p != '\\') p++;
        hd__sink_put(&j->sink, (const char *)plain, (size_t)(p - plain));
        if (p == end) break;
        if (*p == '"' || *p == '\\') {
            char text[2];
            text[0] = '\\';
            text[1] = (char)*p++;
            hd__sink_put(&j->sink, text, 2);
        } else if (*p < 32 || *p == 127) {
            hd__json_escape(j, *p++);
        } else {
            unsigned n = hd__utf8(p, (size_t)(end - p));
            if (!n) hd__sink_put(&j->sink, "\xef\xbf\xbd", 3);
            else if (n == 3 && p[0] == 0xed && p[1] >= 0xa0)
                hd__json_escape(j, 0xd000u | (unsigned)(p[1] & 0x3f) << 6 | (p[2] & 0x3fu));
            else hd__sink_put(&j->sink, (const char *)p, n);
            p += n ? n : 1;
        }
    }
    hd__sink_put(&j->sink, "\"", 1);
}

HEAPDUMP_API void hd_json_key_str(hd_json *j, hd_str key) {
    uint8_t *state = &j->state[j->depth];
    if (j->sink.status) return;
    if (!(*state & HD__W_OBJECT) || (*state & HD__W_VALUE)) {
        j->sink.status = HD_INVALID;
        return;
    }
    if (*state & HD__W_MORE) hd__sink_put(&j->sink, ",", 1);
    hd__json_break(j);
    hd__json_quote(j, key);
    hd__sink_put(&j->sink, ":", 1);
    *state |= HD__W_VALUE;
}

HEAPDUMP_API void hd_json_key(hd_json *j, const char *key) { hd_json_key_str(j, hd_cstr(key)); }

HEAPDUMP_API void hd_json_str(hd_json *j, hd_str value) {
    if (hd__json_value(j)) hd__json_quote(j, value);
}

HEAPDUMP_API void hd_json_cstr(hd_json *j, const char *value) { hd_json_str(j, hd_cstr(value)); }

static void hd__json_digits(hd_json *j, uint64_t value, unsigned base, const char *quote) {
    char digits[20], *p = hd__digits(digits, value, base);
    hd__sink_put(&j->sink, quote, strlen(quote));
    hd__sink_put(&j->sink, p, (size_t)(digits + 20 - p));
    hd__sink_put(&j->sink, quote, strlen(quote));
}

HEAPDUMP_API void hd_json_u64(hd_json *j, uint64_t value) {
    if (hd__json_value(j)) hd__json_digits(j, value, 10, "");
}

HEAPDUMP_API void hd_json_i64(hd_json *j, int64_t value) {
    if (!hd__json_value(j)) return;
    if (value < 0) hd__sink_put(&j->sink, "-", 1);
    hd__json_digits(j, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10, "");
}

HEAPDUMP_API void hd_json_hex(hd_json *j, uint64_t value) {
    if (hd__json_value(j)) hd__json_digits(j, value, 16, "\"");
}

HEAPDUMP_API void hd_json_decimal(hd_json *j, uint64_t value) {
    if (hd__json_value(j)) hd__json_digits(j, value, 10, "\"");
}

HEAPDUMP_API void hd_json_bool(hd_json *j, bool value) {
    if (hd__json_value(j)) hd__sink_put(&j->sink, value ? "true" : "false", value ? 4 : 5);
}

HEAPDUMP_API void hd_json_null(hd_json *j) {
    if (hd__json_value(j)) hd__sink_put(&j->sink, "null", 4);
}

HEAPDUMP_API void hd_json_newline(hd_json *j) {
    j->newline = true;
}

HEAPDUMP_API hd_status hd_json_finish(hd_json *j) {
    if (!j->sink.status) hd__json_break(j);
    if (!j->sink.status && (j->depth || !(j->state[0] & HD__W_DONE))) j->sink.status = HD_INVALID;
    return hd__sink_flush(&j->sink);
}

typedef enum hd__token {
    HD__T_ERROR,                 /* see status and the error */
    HD__T_END,                   /* of the input, after the value */
    HD__T_CUT,                   /* of the input, between the elements of an outermost array */
    HD__T_OBJECT, HD__T_ARRAY, HD__T_CLOSE, /* { [ and } or ] */
    HD__T_KEY, HD__T_STRING, HD__T_NUMBER,  /* text still unread */
    HD__T_TRUE, HD__T_FALSE, HD__T_NULL
} hd__token;

typedef enum hd__expect {
    HD__E_VALUE, HD__E_FIRST_VALUE, HD__E_FIRST_KEY, HD__E_KEY, HD__E_COLON, HD__E_MORE
} hd__expect;

#define HD__JSON_MAX_DEPTH 1024u

/* What of 64 bytes passing over a value needs to know: a bit per byte. */
typedef struct hd__bits {
    uint64_t quote, backslash;
    uint64_t open, close;        /* brackets of both kinds */
    uint64_t mark;               /* v and M: the phases of events that matter */
} hd__bits;

#define HD__BLOCK 64u
#define HD__BLOCKS 32u           /* looked at at a time */

#if defined(HD__SSE2)
static void hd__bits_sse2(const uint8_t *p, hd__bits *b) {
    memset(b, 0, sizeof *b);
    for (unsigned i = 0; i < HD__BLOCK; i += 16) {
        __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
        __m128i lower = _mm_or_si128(c, _mm_set1_epi8(0x20)); /* [ to {, ] to } */
        __m128i mark =
            _mm_or_si128(_mm_cmpeq_epi8(c, _mm_set1_epi8('v')), _mm_cmpeq_epi8(c, _mm_set1_epi8('M')));
        b->quote |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(c, _mm_set1_epi8('"'))) << i;
        b->backslash |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(c, _mm_set1_epi8('\\'))) << i;
        b->open |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(lower, _mm_set1_epi8('{'))) << i;
        b->close |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(lower, _mm_set1_epi8('}'))) << i;
        b->mark |= (uint64_t)(unsigned)_mm_movemask_epi8(mark) << i;
    }
}
#endif

#if defined(HD__AVX2)
__attribute__((target("avx2"))) static void hd__bits_avx2(const uint8_t *p, size_t blocks, hd__bits *b) {
    const __m256i quote = _mm256_set1_epi8('"'), backslash = _mm256_set1_epi8('\\');
    const __m256i open = _mm256_set1_epi8('{'), close = _mm256_set1_epi8('}'), bit = _mm256_set1_epi8(0x20);
    const __m256i v = _mm256_set1_epi8('v'), m = _mm256_set1_epi8('M');
    for (; blocks; blocks--, p += HD__BLOCK, b++) {
        __m256i c = _mm256_loadu_si256((const __m256i *)(const void *)p);
        __m256i d = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
        __m256i lc = _mm256_or_si256(c, bit), ld = _mm256_or_si256(d, bit);
        __m256i mc = _mm256_or_si256(_mm256_cmpeq_epi8(c, v), _mm256_cmpeq_epi8(c, m));
        __m256i md = _mm256_or_si256(_mm256_cmpeq_epi8(d, v), _mm256_cmpeq_epi8(d, m));
#define HD__MASK(x, y) \
    ((uint64_t)(unsigned)_mm256_movemask_epi8(x) | (uint64_t)(unsigned)_mm256_movemask_epi8(y) << 32)
        b->quote = HD__MASK(_mm256_cmpeq_epi8(c, quote), _mm256_cmpeq_epi8(d, quote));
        b->backslash = HD__MASK(_mm256_cmpeq_epi8(c, backslash), _mm256_cmpeq_epi8(d, backslash));
        b->open = HD__MASK(_mm256_cmpeq_epi8(lc, open), _mm256_cmpeq_epi8(ld, open));
        b->close = HD__MASK(_mm256_cmpeq_epi8(lc, close), _mm256_cmpeq_epi8(ld, close));
        b->mark = HD__MASK(mc, md);
#undef HD__MASK
    }
}
#endif

/* The same without vectors: a class per byte. */
HD_UNUSED static void hd__bits_plain(const uint8_t *p, hd__bits *b) {
    memset(b, 0, sizeof *b);
    for (unsigned i = 0; i < HD__BLOCK; i++) {
        uint64_t bit = (uint64_t)1 << i;
        switch (p[i]) {
        case '"': b->quote |= bit; break;
        case '\\': b->backslash |= bit; break;
        case '{': case '[': b->open |= bit; break;
        case '}': case ']': b->close |= bit; break;
        case 'v': case 'M': b->mark |= bit; break;
        default: break;
        }
    }
}

static void hd__bits_of(const uint8_t *p, size_t blocks, hd__bits *b) {
#if defined(HD__AVX2)
    if (__builtin_cpu_supports("avx2")) {
        hd__bits_avx2(p, blocks, b);
        return;
    }
#endif
    for (; blocks; blocks--, p += HD__BLOCK, b++) {
#if defined(HD__SSE2)
        hd__bits_sse2(p, b);
#else
        hd__bits_plain(p, b);
#endif
    }
}

/* Passing over text, block by block. The bits of blocks are found some blocks ahead. */
typedef struct hd__scan {
    const uint8_t *block, *at, *end; /* the one at hand, where it ends, and the text */
    uint64_t string;             /* all ones inside a string */
    uint64_t escaped, after_quote; /* of the next block's first byte */
    uint64_t suspects;           /* of the block at hand: "v", "M", and strings that begin with an escape */
    uint32_t next, ready, ahead;
    hd__bits bits[HD__BLOCKS];
} hd__scan;

/* The text from here on; strings and escapes go on from what was before. */
static void hd__scan_text(hd__scan *s, const uint8_t *at, const uint8_t *end) {
    s->block = s->at = at;
    s->end = end;
    s->next = s->ready = 0;
    s->ahead = 2;
}

static void hd__scan_begin(hd__scan *s, const uint8_t *at, const uint8_t *end) {
    s->string = s->escaped = s->after_quote = 0;
    hd__scan_text(s, at, end);
}

HD__NOINLINE static void hd__scan_ahead(hd__scan *s) {
    size_t left = (size_t)(s->end - s->block), blocks = left / HD__BLOCK;
    if (blocks > s->ahead) blocks = s->ahead;
    if (blocks) {
        hd__bits_of(s->block, blocks, s->bits);
        if (s->ahead < HD__BLOCKS) s->ahead *= 2;
    } else {
        uint8_t last[HD__BLOCK];
        memset(last, ' ', sizeof last);
        memcpy(last, s->block, left);
        hd__bits_of(last, blocks = 1, s->bits);
    }
    s->next = 0;
    s->ready = (uint32_t)blocks;
}

static unsigned hd__lowest_bit(uint64_t bits) {
#if defined(__GNUC__)
    return (unsigned)__builtin_ctzll(bits);
#else
    unsigned n = 0;
    for (; !(bits & 0xff); bits >>= 8) n += 8;
    for (; !(bits & 1); bits >>= 1) n++;
    return n;
#endif
}

/* Moves on to the next block: its brackets outside of strings. False at the end of the text. */
HD__INLINE bool hd__scan_next(hd__scan *s, uint64_t *brackets) {
    const hd__bits *b;
    uint64_t quote, string, escaped = s->escaped, backslash, before_quote;
    size_t left = (size_t)(s->end - s->at);
    unsigned last = left < HD__BLOCK ? (unsigned)left - 1 : HD__BLOCK - 1;
    if (!left) return false;
    s->block = s->at;
    s->at += last + 1;
    if (s->next == s->ready) hd__scan_ahead(s);
    b = &s->bits[s->next++];
    s->escaped = 0;
    for (backslash = b->backslash & ~escaped; backslash;) { /* each takes away the meaning of the next */
        uint64_t bit = backslash & (0 - backslash);
        escaped |= bit << 1;
        s->escaped = bit >> last;
        backslash &= ~(bit | bit << 1);
    }
    quote = b->quote & ~escaped;
    string = quote ^ quote << 1; /* from a quote to the one that ends the string */
    string ^= string << 2;
    string ^= string << 4;
    string ^= string << 8;
    string ^= string << 16;
    string ^= string << 32;
    string ^= s->string;
    s->string = 0 - (string >> 63);
    before_quote = b->quote >> 1 | (uint64_t)(s->at < s->end && *s->at == '"') << 63;
    s->suspects = (b->quote << 1 | s->after_quote) & (b->backslash | (b->mark & before_quote));
    s->after_quote = b->quote >> last & 1;
    *brackets = (b->open | b->close) & ~string;
    return true;
}

typedef struct hd__pull {
    hd__reader r;
    hd_error *err;
    hd_status status;
    hd__expect expect;
    hd__token unread;            /* HD__T_KEY, _STRING or _NUMBER not decoded yet, else 0 */
    uint32_t depth, max_depth;
    uint64_t token_offset;       /* where the last token began */
    char *scratch;               /* stb_ds array: the last string that had to be copied */
    size_t keep;                 /* bytes of a string to copy at most; the rest is passed over */
    uint64_t objects[HD__JSON_MAX_DEPTH / 64]; /* a bit per level: object, not array */
} hd__pull;

static hd_status hd__pull_open(hd__pull *p, hd__mem *m, hd_in in, uint32_t max_depth, hd_error *err) {
    memset(p, 0, sizeof *p);
    p->err = err;
    p->expect = HD__E_VALUE;
    p->keep = SIZE_MAX;
    p->max_depth = max_depth ? max_depth : 512;
    if (p->max_depth > HD__JSON_MAX_DEPTH) p->max_depth = HD__JSON_MAX_DEPTH;
    if (!hd__reader_open(&p->r, m, in)) return hd__no_memory(m, err);
    return HD_OK;
}

static void hd__pull_close(hd__pull *p) {
    hd__arr_free(p->r.mem, p->scratch);
    hd__reader_close(&p->r);
}

/* Fails with the reader's place; the first failure sticks. */
HD__NOINLINE static hd__token hd__pull_fail(hd__pull *p, hd_status status, const char *expected) {
    hd__reader *r = &p->r;
    uint64_t offset = hd__reader_offset(r), line;
    if (p->status) return HD__T_ERROR;
    line = hd__reader_line(r, offset);
    p->status = status;
    if (r->failed)
        p->status = hd__fail_input(r->packed, p->err, offset, line);
    else if (status == HD_LIMIT)
        hd__fail_at(p->err, status, offset, line, "brackets nested deeper than %u", (uint64_t)p->max_depth);
    else if (status == HD_OUT_OF_MEMORY)
        p->status = hd__no_memory(r->mem, p->err);
    else if (r->at < r->end)
        hd__fail_at(p->err, status, offset, line, "%s expected, '%c' found", expected, (int)*r->at);
    else
        hd__fail_at(p->err, status, offset, line, "%s expected, end of input found", expected);
    return HD__T_ERROR;
}

static bool hd__pull_in_object(const hd__pull *p) {
    return p->depth && (p->objects[(p->depth - 1) / 64] >> ((p->depth - 1) % 64) & 1);
}

static bool hd__is_number_byte(uint8_t c) {
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* The next quote or backslash. */
static const uint8_t *hd__string_special(const uint8_t *at, const uint8_t *end) {
#if defined(HD__SSE2)
    for (; end - at >= 16; at += 16) {
        __m128i c = _mm_loadu_si128((const __m128i *)(const void *)at);
        int found = _mm_movemask_epi8(
            _mm_or_si128(_mm_cmpeq_epi8(c, _mm_set1_epi8('"')), _mm_cmpeq_epi8(c, _mm_set1_epi8('\\'))));
        if (found) return at + hd__lowest_bit((unsigned)found);
    }
#endif
    while (at < end && *at != '"' && *at != '\\') at++;
    return at;
}

/* Passes over the rest of a string, its quote included. */
static bool hd__pull_skip_string(hd__pull *p) {
    hd__reader *r = &p->r;
    for (;;) {
        const uint8_t *at = hd__string_special(r->at, r->end);
        r->at = at;
        if (at == r->end) {
            if (!hd__reader_fill(r)) return hd__pull_fail(p, HD_MALFORMED, "'\"'"), false;
            continue;
        }
        r->at++;
        if (*at == '"') return true;
        if (r->at == r->end && !hd__reader_fill(r))
            return hd__pull_fail(p, HD_MALFORMED, "an escape"), false;
        r->at++;
    }
}

static hd__token hd__pull_literal(hd__pull *p, const char *word, hd__token token) {
    hd__reader *r = &p->r;
    for (; *word; word++, r->at++)
        if ((r->at == r->end && !hd__reader_fill(r)) || *r->at != (uint8_t)*word)
            return hd__pull_fail(p, HD_MALFORMED, "a value");
    p->expect = HD__E_MORE;
    return token;
}

static hd__token hd__pull_open_bracket(hd__pull *p, bool object) {
    uint64_t bit = (uint64_t)1 << (p->depth % 64);
    if (p->depth >= p->max_depth) return hd__pull_fail(p, HD_LIMIT, "");
    if (object) p->objects[p->depth / 64] |= bit;
    else p->objects[p->depth / 64] &= ~bit;
    p->depth++;
    p->r.at++;
    p->expect = object ? HD__E_FIRST_KEY : HD__E_FIRST_VALUE;
    return object ? HD__T_OBJECT : HD__T_ARRAY;
}

static hd__token hd__pull_close_bracket(hd__pull *p) {
    p->depth--;
    p->r.at++;
    p->expect = HD__E_MORE;
    return HD__T_CLOSE;
}

static hd__token hd__pull_value(hd__pull *p) {
    hd__reader *r = &p->r;
    switch (*r->at) {
    case '{': return hd__pull_open_bracket(p, true);
    case '[': return hd__pull_open_bracket(p, false);
    case '"':
        r->at++;
        p->expect = HD__E_MORE;
        return p->unread = HD__T_STRING;
    case 't': return hd__pull_literal(p, "true", HD__T_TRUE);
    case 'f': return hd__pull_literal(p, "false", HD__T_FALSE);
    case 'n': return hd__pull_literal(p, "null", HD__T_NULL);
    default:
        if (*r->at != '-' && (*r->at < '0' || *r->at > '9'))
            return hd__pull_fail(p, HD_MALFORMED, "a value");
        p->expect = HD__E_MORE;
        return p->unread = HD__T_NUMBER;
    }
}

/* Passes over a string or number that was not asked for. */
static bool hd__pull_drop(hd__pull *p) {
    hd__reader *r = &p->r;
    hd__token unread = p->unread;
    p->unread = HD__T_ERROR;
    if (unread == HD__T_NUMBER) {
        do {
            while (r->at < r->end && hd__is_number_byte(*r->at)) r->at++;
        } while (r->at == r->end && hd__reader_fill(r));
        return true;
    }
    return !unread || hd__pull_skip_string(p);
}

/* The next token. Keys and values of objects alternate; commas and colons are checked, not shown. */
static hd__token hd__pull_next(hd__pull *p) {
    hd__reader *r = &p->r;
    if (p->status || !hd__pull_drop(p)) return HD__T_ERROR;
    for (;;) {
        uint8_t c;
        while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t'))
            r->at++;
        if (r->at == r->end) {
            if (hd__reader_fill(r)) continue;
            if (p->expect == HD__E_MORE && !p->depth && !r->failed) return HD__T_END;
            if (p->depth == 1 && !hd__pull_in_object(p) && !r->failed) return HD__T_CUT;
            return hd__pull_fail(p, HD_MALFORMED,
                                 p->expect == HD__E_COLON ? "':'" :
                                 p->expect == HD__E_KEY || p->expect == HD__E_FIRST_KEY ? "a key" :
                                 p->expect != HD__E_MORE ? "a value" :
                                 hd__pull_in_object(p) ? "',' or '}'" : "',' or ']'");
        }
        c = *r->at;
        p->token_offset = hd__reader_offset(r);
        switch (p->expect) {
        case HD__E_COLON:
            if (c != ':') return hd__pull_fail(p, HD_MALFORMED, "':'");
            r->at++;
            p->expect = HD__E_VALUE;
            continue;
        case HD__E_MORE:
            if (!p->depth) return hd__pull_fail(p, HD_MALFORMED, "end of input");
            if (c == ',') {
                r->at++;
                p->expect = hd__pull_in_object(p) ? HD__E_KEY : HD__E_VALUE;
                continue;
            }
            if (c == (hd__pull_in_object(p) ? '}' : ']')) return hd__pull_close_bracket(p);
            return hd__pull_fail(p, HD_MALFORMED, hd__pull_in_object(p) ? "',' or '}'" : "',' or ']'");
        case HD__E_FIRST_KEY:
            if (c == '}') return hd__pull_close_bracket(p);
            /* fall through */
        case HD__E_KEY:
            if (c != '"') return hd__pull_fail(p, HD_MALFORMED, "a key");
            r->at++;
            p->expect = HD__E_COLON;
            return p->unread = HD__T_KEY;
        case HD__E_FIRST_VALUE:
            if (c == ']') return hd__pull_close_bracket(p);
            /* fall through */
        case HD__E_VALUE: return hd__pull_value(p);
        }
    }
}

static bool hd__pull_copy(hd__pull *p, const void *data, size_t size) {
    if (size > p->keep - hd__len(p->scratch)) size = p->keep - hd__len(p->scratch);
    if (!hd__room(p->r.mem, p->scratch, size ? size : 1))
        return hd__pull_fail(p, HD_OUT_OF_MEMORY, ""), false;
    if (size) memcpy(p->scratch + hd__len(p->scratch), data, size);
    hd__set_len(p->scratch, hd__len(p->scratch) + size);
    return true;
}

/* Four hexadecimal digits after \u. */
static bool hd__pull_unit(hd__pull *p, unsigned *unit) {
    hd__reader *r = &p->r;
    *unit = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        uint8_t c;
        if (r->at == r->end && !hd__reader_fill(r))
            return hd__pull_fail(p, HD_MALFORMED, "a hexadecimal digit"), false;
        c = *r->at;
        if (c >= '0' && c <= '9') *unit = *unit * 16 + (unsigned)(c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f') *unit = *unit * 16 + (unsigned)((c | 32) - 'a' + 10);
        else return hd__pull_fail(p, HD_MALFORMED, "a hexadecimal digit"), false;
    }
    return true;
}

static bool hd__pull_put_code(hd__pull *p, uint32_t code) {
    char b[4];
    size_t n = hd__utf8_put(code, b);
    return hd__pull_copy(p, (const uint8_t *)b, n);
}

/* The escape after a backslash. A surrogate pair becomes one code point; a lone one stays. */
static bool hd__pull_escape(hd__pull *p) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    hd__reader *r = &p->r;
    const char *found;
    unsigned high = 0, unit;
    for (;;) {
        if (r->at == r->end && !hd__reader_fill(r)) return hd__pull_fail(p, HD_MALFORMED, "an escape"), false;
        if (*r->at != 'u') break;
        r->at++;
        if (!hd__pull_unit(p, &unit)) return false;
        if (high && unit >= 0xdc00 && unit < 0xe000)
            return hd__pull_put_code(p, 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00));
        if (high && !hd__pull_put_code(p, high)) return false;
        if (unit < 0xd800 || unit >= 0xdc00) return hd__pull_put_code(p, unit);
        high = unit;
        if ((r->at == r->end && !hd__reader_fill(r)) || *r->at != '\\')
            return hd__pull_put_code(p, high);
        r->at++;
    }
    if (high && !hd__pull_put_code(p, high)) return false;
    found = *r->at ? strchr(from, *r->at) : NULL;
    if (!found) return hd__pull_fail(p, HD_MALFORMED, "an escape"), false;
    r->at++;
    return hd__pull_copy(p, &to[found - from], 1);
}

/* The text of the string or key just pulled, valid until the next call; copied only when it has
   escapes or crosses the window. */
static bool hd__pull_string(hd__pull *p, hd_str *s) {
    hd__reader *r = &p->r;
    bool copied = false;
    HEAPDUMP_ASSERT(p->unread == HD__T_KEY || p->unread == HD__T_STRING);
    p->unread = HD__T_ERROR;
    hd__set_len(p->scratch, 0);
    for (;;) {
        const uint8_t *from = r->at, *at = hd__string_special(from, r->end);
        r->at = at;
        if (at < r->end && *at == '"' && !copied) {
            s->data = (const char *)from;
            s->len = (size_t)(at - from);
            r->at++;
            return true;
        }
        if (!hd__pull_copy(p, from, (size_t)(at - from))) return false;
        copied = true;
        if (at == r->end) {
            if (!hd__reader_fill(r)) return hd__pull_fail(p, HD_MALFORMED, "'\"'"), false;
        } else if (*r->at++ == '"') {
            s->data = p->scratch;
            s->len = hd__len(p->scratch);
            return true;
        } else if (!hd__pull_escape(p)) {
            return false;
        }
    }
}

/* The digits of the number just pulled, at most 63 of its bytes; the rest is passed over. */
typedef struct hd__number {
    char text[64];
    size_t len;
} hd__number;

static void hd__pull_number(hd__pull *p, hd__number *number) {
    hd__reader *r = &p->r;
    HEAPDUMP_ASSERT(p->unread == HD__T_NUMBER);
    number->len = 0;
    do {
        for (; r->at < r->end && hd__is_number_byte(*r->at); r->at++)
            if (number->len < sizeof number->text - 1) number->text[number->len++] = (char)*r->at;
    } while (r->at == r->end && hd__reader_fill(r));
    number->text[number->len] = 0;
    p->unread = HD__T_ERROR;
}

/* The bracket at `at` is opened or closed at that depth. False, and told, when it may not be. */
static bool hd__pull_skip_bracket(hd__pull *p, const uint8_t *at) {
    bool object = (*at & 0x20) != 0;
    p->r.at = at;
    if ((*at & 0x0f) == 0x0b) return hd__pull_open_bracket(p, object) != HD__T_ERROR;
    if (hd__pull_in_object(p) == object) return hd__pull_close_bracket(p) != HD__T_ERROR;
    hd__pull_fail(p, HD_MALFORMED, object ? "',' or ']'" : "',' or '}'");
    return false;
}

/* Passes over the value whose first token is given. Of what is inside it only brackets and strings are
   looked at: brackets must match and be no deeper than is allowed, strings must end. */
static bool hd__pull_skip(hd__pull *p, hd__token token) {
    uint32_t depth = p->depth;
    hd__reader *r = &p->r;
    hd__scan scan;
    if (token != HD__T_OBJECT && token != HD__T_ARRAY) return token != HD__T_ERROR;
    hd__scan_begin(&scan, r->at, r->end);
    for (;;) {
        uint64_t brackets;
        while (hd__scan_next(&scan, &brackets))
            for (; brackets; brackets &= brackets - 1) {
                if (!hd__pull_skip_bracket(p, scan.block + hd__lowest_bit(brackets))) return false;
                if (p->depth < depth) return true;
            }
        r->at = r->end;
        if (!hd__reader_fill(r))
            return hd__pull_fail(p, HD_MALFORMED, scan.string                ? "'\"'"
                                                  : hd__pull_in_object(p) ? "',' or '}'" : "',' or ']'"),
                   false;
        hd__scan_text(&scan, r->at, r->end);
    }
}

/* After an object in an array: whether the next one begins, past a comma, and where. */
static const uint8_t *hd__next_object(const uint8_t *at, const uint8_t *end) {
    for (int comma = 0; at < end; at++) {
        if (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t') continue;
        if (*at == ',' && !comma) comma = 1;
        else return *at == '{' && comma ? at : NULL;
    }
    return NULL;
}

/* With an object of an array just opened: passes over it and those that follow, up to `most`, as
   hd__pull_skip would, as long as they cannot have "v" or "M" among their values and are no longer than a
   callback's window, whatever the input is. True when the one that stopped it is open now, nothing of it
   read yet; false when the last was closed. */
static bool hd__pull_pass(hd__pull *p, uint64_t most, uint64_t *passed) {
    hd__reader *r = &p->r;
    uint32_t room = p->max_depth - p->depth; /* levels inside an object */
    uint64_t kinds = 0;          /* a bit for each open bracket inside: object, not array */
    uint32_t depth = 1;          /* 0: between objects */
    hd__scan scan;
    uint64_t brackets;
    if (room > 62) room = 62;
    hd__scan_begin(&scan, r->at, r->end);
    for (;;) {
        if (!hd__scan_next(&scan, &brackets)) {
            /* the object goes on beyond the window */
            if (!hd__reader_more(r)) return true;
            hd__scan_begin(&scan, r->at, r->end);
            kinds = 0;
            depth = 1;
            continue;
        }
        for (; brackets; brackets &= brackets - 1) {
            unsigned bit = hd__lowest_bit(brackets);
            const uint8_t *at = scan.block + bit;
            uint64_t object = *at >> 5 & 1u;
            if ((*at & 0x0f) == 0x0b) {
                kinds = kinds << 1 | object;
                if (depth++ > room) return true;
                continue;
            }
            if (depth > 1) {
                if ((kinds & 1) != object) return true;
                kinds >>= 1;
                depth--;
                continue;
            }
            if (!object || (scan.suspects & (((uint64_t)2 << bit) - 1)) ||
                at - r->at >= (ptrdiff_t)HD__READER_BUFFER)
                return true;
            /* the object is passed over */
            depth = 0;
            kinds = 0;
            at++;
            ++*passed;
            {
                const uint8_t *next = --most ? hd__next_object(at, r->end) : NULL;
                if (!next) {
                    r->at = at;
                    p->depth--;
                    p->expect = HD__E_MORE;
                    return false;
                }
                r->at = next + 1;
                p->token_offset = hd__reader_offset(r) - 1;
            }
            scan.suspects &= ~(((uint64_t)2 << bit) - 1);
        }
        if (scan.suspects || scan.at - r->at >= (ptrdiff_t)HD__READER_BUFFER) return true;
    }
}

static bool hd__is(hd_str s, const char *name) { return hd_str_equal(s, hd_cstr(name)); }

/* The key just pulled, to be compared with known names: of longer ones only the beginning is kept. */
static bool hd__pull_key(hd__pull *p, hd_str *key) {
    bool ok;
    p->keep = 64;
    ok = hd__pull_string(p, key);
    p->keep = SIZE_MAX;
    return ok;
}

/* ================================================================================ >>profile
   A profile's cells are an hd__table while it is filled, as are the entries listed so far during an
   export. Exporting numbers each axis in preorder
   with the largest child first, so that the ancestor of a node at a given depth is a few steps away,
   and walks the entries depth first, each holding its cells as a range of one array that it permutes
   in place. What comes out is brought into canonical order (hd__seal). Trees with other names but the
   same shape cost the same; depth costs memory, never stack. */

struct hd_profile {
    hd__mem mem;
    hd__arena arena;
    hd__strings names;           /* of all axes */
    hd__tree tree[HD_MAX_AXES];
    hd__table cells;
    uint64_t total_bytes, total_blocks, max_records;
    hd_axis fixed[HD_MAX_AXES];  /* axes shared with others; the profile then takes no nodes */
    bool is_fixed;
};

static uint64_t hd__records(const hd_limits *limits) {
    uint64_t n = limits ? limits->max_records : 0;
    return n && n < HD_NONE - 1 ? n : HD_NONE - 1;
}

/* A profile without axes yet, the object in its own memory. */
static hd_profile *hd__profile_make(hd__mem *mem, uint32_t axis_count, uint64_t max_records) {
    hd_profile *p = (hd_profile *)hd__realloc(mem, NULL, 0, sizeof *p);
    if (!p) return NULL;
    memset(p, 0, sizeof *p);
    p->mem = *mem;
    p->max_records = max_records;
    p->cells.axis_count = axis_count;
    p->cells.seed = p->names.seed = hd__seed();
    return p;
}

/* Names axis a, and gives it its root. */
static hd_status hd__profile_axis_begin(hd_profile *p, uint32_t a, const char *name, hd_error *err) {
    uint32_t root;
    p->tree[a].seed = p->cells.seed;
    p->tree[a].copies = &p->names;
    p->tree[a].name = name;
    return hd__tree_child(&p->mem, &p->arena, &p->tree[a], p->max_records, HD_NONE, hd_cstr(""), false, &root,
                          err);
}

HEAPDUMP_API hd_profile *hd_profile_create(const hd_profile_desc *desc, hd_error *err) {
    static const char *const names[] = { "backtrace", "type", "axis 2", "axis 3",
                                         "axis 4",    "axis 5", "axis 6", "axis 7" };
    hd_profile_desc none;
    hd_profile *p;
    uint32_t axes;
    hd__mem mem;
    memset(&none, 0, sizeof none);
    if (!desc) desc = &none;
    axes = desc->axis_count ? desc->axis_count : 2;
    if (axes > HD_MAX_AXES)
        return hd__fail(err, HD_INVALID, "1 to %u axes expected, %u found", (uint64_t)HD_MAX_AXES,
                        (uint64_t)axes), (hd_profile *)NULL;
    mem = hd__mem_make(desc->allocator, desc->limits.max_memory);
    p = hd__profile_make(&mem, axes, hd__records(&desc->limits));
    if (!p) return hd__no_memory(&mem, err), (hd_profile *)NULL;
    for (uint32_t a = 0; a < axes; a++) {
        const char *name = desc->axis_name[a] ? desc->axis_name[a] : a < 8 ? names[a] : "axis";
        if (!hd__profile_axis_begin(p, a, name, err)) continue;
        hd_profile_free(p);
        return NULL;
    }
    return p;
}

HEAPDUMP_API void hd_profile_free(hd_profile *p) {
    hd__mem mem;
    if (!p) return;
    for (uint32_t a = 0; a < HD_MAX_AXES; a++) hd__tree_free(&p->mem, &p->tree[a]);
    hd__table_free(&p->mem, &p->cells);
    hd__strings_free(&p->mem, &p->names);
    hd__arena_free(&p->mem, &p->arena);
    mem = p->mem;
    hd__free(&mem, p, sizeof *p);
}

HEAPDUMP_API uint32_t hd_profile_axis_count(const hd_profile *p) { return p->cells.axis_count; }

HEAPDUMP_API hd_axis hd_profile_axis(const hd_profile *p, uint32_t axis) {
    HEAPDUMP_ASSERT(axis < p->cells.axis_count);
    return p->is_fixed ? p->fixed[axis] : hd__tree_axis(&p->tree[axis]);
}

HEAPDUMP_API hd_rows hd_profile_cells(const hd_profile *p) { return hd__table_rows(&p->cells); }

HEAPDUMP_API uint64_t hd_profile_bytes(const hd_profile *p) { return p->total_bytes; }
HEAPDUMP_API uint64_t hd_profile_blocks(const hd_profile *p) { return p->total_blocks; }

HEAPDUMP_API hd_status hd_profile_node(hd_profile *p, uint32_t axis, uint32_t parent, hd_str name,
                                       uint32_t *node) {
    if (axis >= p->cells.axis_count || p->is_fixed || parent >= hd__len(p->tree[axis].parent))
        return HD_INVALID;
    return hd__tree_child(&p->mem, &p->arena, &p->tree[axis], p->max_records, parent, name, true, node,
                          NULL);
}

HEAPDUMP_API hd_status hd_profile_add(hd_profile *p, const uint32_t *nodes, uint64_t bytes,
                                      uint64_t blocks) {
    uint64_t total_bytes = p->total_bytes, total_blocks = p->total_blocks;
    uint32_t row;
    if (p->is_fixed) return HD_INVALID;
    for (uint32_t a = 0; a < p->cells.axis_count; a++)
        if (nodes[a] >= hd__len(p->tree[a].parent)) return HD_INVALID;
    if (!hd__sum(&total_bytes, bytes) || (blocks != HD_UNKNOWN && !hd__sum(&total_blocks, blocks)))
        return HD_OVERFLOW;
    row = hd__table_find(&p->cells, nodes);
    if (row == HD_NONE) {
        HD__TRY(hd__table_add(&p->mem, &p->cells, p->max_records, nodes, bytes, blocks, NULL));
    } else {
        p->cells.bytes[row] += bytes;
        hd__sum_known(&p->cells.blocks[row], blocks);
    }
    p->total_bytes = total_bytes;
    p->total_blocks = total_blocks;
    return HD_OK;
}

HEAPDUMP_API hd_status hd_profile_add_estimate(hd_profile *p, const uint32_t *nodes, uint64_t bytes,
                                               uint64_t blocks, double variance) {
    if (!(variance >= 0)) return HD_INVALID;
    HD__TRY(hd_profile_add(p, nodes, bytes, blocks));
    if (variance > 0) p->cells.variance[hd__table_find(&p->cells, nodes)] += variance;
    return HD_OK;
}

/* Newton's, from above, to the nearest. */
HEAPDUMP_API uint64_t hd_standard_error(double variance) {
    double root = variance > 1 ? variance : 1;
    if (!(variance > 0)) return 0;
    if (variance >= 3.4e38) return UINT64_MAX - 1;
    for (double next; (next = (root + variance / root) / 2) < root;) root = next;
    return (uint64_t)(root + 0.5);
}

HEAPDUMP_API uint32_t hd_axis_child(hd_axis axis, uint32_t parent, hd_str name) {
    for (uint32_t i = parent + 1; i < (axis.end ? axis.end[parent] : axis.node_count); i++)
        if (axis.parent[i] == parent && hd_str_equal(axis.node_name[i], name)) return i;
    return HD_NONE;
}

/* Renaming: the path each distinct name becomes is asked for once and kept in `paths`. */
typedef struct hd__rename {
    hd__mem *mem;                /* the new profile's */
    hd__arena arena;
    hd__strings names;
    hd_str *paths;               /* stb_ds arrays: all paths end to end */
    size_t *path_end;            /* by number of name */
} hd__rename;

static hd_status hd__rename_path(hd__rename *r, hd_str name, hd_rename_fn rename_fn, void *user,
                                 uint32_t *number, hd_error *err) {
    hd_str path[HD_RENAME_MAX];
    uint32_t n;
    *number = hd__strings_add(r->mem, &r->arena, &r->names, name);
    if (*number == HD_NONE) return hd__no_memory(r->mem, err);
    if (*number < hd__len(r->path_end)) return HD_OK;
    n = rename_fn(user, name, path);
    if (n > HD_RENAME_MAX) n = HD_RENAME_MAX;
    if (!hd__room(r->mem, r->paths, n ? n : 1) || !hd__room(r->mem, r->path_end, 1))
        return hd__no_memory(r->mem, err);
    for (uint32_t i = 0; i < n; i++) {
        path[i].data = hd__arena_str(r->mem, &r->arena, path[i]);
        if (!path[i].data) return hd__no_memory(r->mem, err);
        stbds_arrput(r->paths, path[i]);
    }
    stbds_arrput(r->path_end, hd__len(r->paths));
    return HD_OK;
}

static hd_status hd__rename_run(hd__rename *r, const hd_profile *from, uint32_t axis,
                                hd_rename_fn rename_fn, void *user, hd_profile *to, uint32_t *map,
                                hd_error *err) {
    hd_rows cells = hd_profile_cells(from);
    for (uint32_t a = 0; a < cells.axis_count; a++) {
        hd_axis old = hd_profile_axis(from, a);
        map[0] = 0;
        for (uint32_t i = 1; i < old.node_count; i++) {
            uint32_t node = map[old.parent[i]], number = 0;
            if (a != axis) {
                HD__TRY(hd__tree_child(&to->mem, &to->arena, &to->tree[a], to->max_records, node,
                                       old.node_name[i], true, &map[i], err));
                continue;
            }
            HD__TRY(hd__rename_path(r, old.node_name[i], rename_fn, user, &number, err));
            for (size_t k = number ? r->path_end[number - 1] : 0; k < r->path_end[number]; k++)
                HD__TRY(hd__tree_child(&to->mem, &to->arena, &to->tree[a], to->max_records, node,
                                       r->paths[k], true, &node, err));
            map[i] = node;
        }
        map += old.node_count;
    }
    return HD_OK;
}

HEAPDUMP_API hd_status hd_profile_rename(const hd_profile *profile, uint32_t axis, hd_rename_fn rename_fn,
                                         void *user, const hd_options *options, hd_profile **out,
                                         hd_error *err) {
    hd_rows cells = hd_profile_cells(profile);
    hd_profile_desc desc;
    hd_profile *p;
    hd__rename r;
    uint32_t *map;
    size_t nodes = 0;
    hd_status status = HD_OK;
    hd_error ignored;
    if (!err) err = &ignored;
    if (axis >= cells.axis_count)
        return hd__fail(err, HD_INVALID, "no axis %u", (uint64_t)axis);
    memset(&desc, 0, sizeof desc);
    desc.axis_count = cells.axis_count;
    if (options) {
        desc.allocator = options->allocator;
        desc.limits = options->limits;
    }
    for (uint32_t a = 0; a < cells.axis_count; a++) {
        desc.axis_name[a] = hd_profile_axis(profile, a).name;
        nodes += hd_profile_axis(profile, a).node_count;
    }
    p = hd_profile_create(&desc, err);
    if (!p) return err->status;
    memset(&r, 0, sizeof r);
    r.mem = &p->mem;
    r.names.seed = p->cells.seed;
    map = (uint32_t *)hd__calloc(r.mem, nodes, sizeof *map);
    if (!map) status = hd__no_memory(r.mem, err);
    else status = hd__rename_run(&r, profile, axis, rename_fn, user, p, map, err);
    for (uint32_t i = 0; i < cells.count && !status; i++) {
        uint32_t at[HD_MAX_AXES];
        const uint32_t *m = map;
        for (uint32_t a = 0; a < cells.axis_count; a++) {
            at[a] = m[cells.node[(size_t)i * cells.axis_count + a]];
            m += hd_profile_axis(profile, a).node_count;
        }
        status = hd_profile_add_estimate(p, at, cells.bytes[i], cells.blocks[i], cells.variance[i]);
        if (status) hd__fail(err, status, "%s while renaming", hd_status_text(status));
    }
    hd__strings_free(r.mem, &r.names);
    hd__arr_free(r.mem, r.paths);
    hd__arr_free(r.mem, r.path_end);
    hd__arena_free(r.mem, &r.arena);
    if (map) hd__cfree(r.mem, map, nodes, sizeof *map);
    if (status) hd_profile_free(p);
    else *out = p;
    return status;
}

/* Sealing: canonical order. ------------------------------------------------------------------- */

typedef struct hd__breakdown {
    hd_breakdown shown;          /* first, so that a pointer to one is a pointer to the other */
    hd__mem mem;
    hd__arena arena;
} hd__breakdown;

static bool hd__by_parent_and_name(const void *owner, uint32_t a, uint32_t b) {
    const hd_axis *axis = (const hd_axis *)owner;
    if (axis->parent[a] != axis->parent[b]) return axis->parent[a] < axis->parent[b];
    return hd_str_compare(axis->node_name[a], axis->node_name[b]) < 0;
}

/* The used nodes of an axis, numbered in preorder with siblings by name, in new columns from the
   arena. On entry map[i] is nonzero for the nodes to keep (parents of kept nodes are kept too); on
   return it is the new number of each. `scratch` holds 3 x node_count numbers. */
static hd_status hd__axis_order(hd__mem *m, hd__arena *arena, const hd_axis *from, uint32_t *map,
                                uint32_t *scratch, bool copy_names, hd_axis *to, hd_error *err) {
    uint32_t n = 0, *order = scratch, *spare = scratch + from->node_count,
             *next = scratch + 2 * (size_t)from->node_count;
    uint32_t *parent, *end;
    hd_str *names;
    map[0] = 1;
    for (uint32_t i = from->node_count; i-- > 1;)
        if (map[i]) map[from->parent[i]] = 1;
    for (uint32_t i = 1; i < from->node_count; i++)
        if (map[i]) order[n++] = i;
    hd__sort(order, spare, n, hd__by_parent_and_name, from);
    n++;
    parent = (uint32_t *)hd__arena_take(m, arena, n, sizeof *parent);
    end = (uint32_t *)hd__arena_take(m, arena, n, sizeof *end);
    names = (hd_str *)hd__arena_take(m, arena, n, sizeof *names);
    if (!parent || !end || !names) return hd__no_memory(m, err);
    /* map counts the nodes of each subtree first, and becomes the preorder number then. */
    for (uint32_t i = from->node_count; i-- > 1;)
        if (map[i]) map[from->parent[i]] += map[i];
    end[0] = map[0];
    map[0] = 0;
    next[0] = 1;
    parent[0] = HD_NONE;
    names[0] = from->node_name[0];
    for (uint32_t k = 0; k + 1 < n; k++) {
        uint32_t i = order[k], size = map[i], above = from->parent[i];
        uint32_t at = next[above];
        next[above] += size;
        next[i] = at + 1;
        map[i] = at;
        parent[at] = map[above];
        end[at] = at + size;
        names[at] = from->node_name[i];
        if (copy_names) {
            names[at].data = hd__arena_str(m, arena, names[at]);
            if (!names[at].data) return hd__no_memory(m, err);
        }
    }
    to->name = from->name;
    to->node_count = n;
    to->parent = parent;
    to->end = end;
    to->node_name = names;
    return HD_OK;
}

/* Row numbers in the order of the rows' nodes: sorted by counting, by the last axis first. NULL when out of
   memory; to be freed with hd__cfree(m, order, rows->count, 2 * sizeof *order). */
static uint32_t *hd__rows_sort(hd__mem *m, const hd_rows *rows) {
    uint32_t n = rows->count, axes = rows->axis_count, most = 0, *from, *to, *start;
    uint32_t *order = (uint32_t *)hd__calloc(m, n, 2 * sizeof *order);
    for (size_t i = 0; i < (size_t)n * axes; i++)
        if (rows->node[i] > most) most = rows->node[i];
    start = order ? (uint32_t *)hd__calloc(m, (size_t)most + 2, sizeof *start) : NULL;
    if (!start) {
        if (order) hd__cfree(m, order, n, 2 * sizeof *order);
        return NULL;
    }
    from = order;
    to = order + n;
    for (uint32_t i = 0; i < n; i++) from[i] = i;
    for (uint32_t a = axes; a-- > 0;) {
        uint32_t *swap = from;
        memset(start, 0, ((size_t)most + 2) * sizeof *start);
        for (uint32_t i = 0; i < n; i++) start[rows->node[(size_t)i * axes + a] + 1]++;
        for (uint32_t k = 1; k <= most; k++) start[k] += start[k - 1];
        for (uint32_t i = 0; i < n; i++) to[start[rows->node[(size_t)from[i] * axes + a]]++] = from[i];
        from = to;
        to = swap;
    }
    if (from != order) memcpy(order, from, n * sizeof *order);
    hd__cfree(m, start, (size_t)most + 2, sizeof *start);
    return order;
}

/* Rows in the order of their nodes, in new columns from the arena. The axes are in preorder. */
static hd_status hd__rows_order(hd__mem *m, hd__arena *arena, const hd_rows *from, hd_rows *to,
                                hd_error *err) {
    uint32_t *node =
        (uint32_t *)hd__arena_take(m, arena, (size_t)from->count * from->axis_count, sizeof *node);
    uint64_t *bytes = (uint64_t *)hd__arena_take(m, arena, from->count, sizeof *bytes);
    uint64_t *blocks = (uint64_t *)hd__arena_take(m, arena, from->count, sizeof *blocks);
    double *variance = (double *)hd__arena_take(m, arena, from->count, sizeof *variance);
    uint32_t *order = hd__rows_sort(m, from);
    if (!node || !bytes || !blocks || !variance || !order) {
        if (order) hd__cfree(m, order, from->count, 2 * sizeof *order);
        return hd__no_memory(m, err);
    }
    for (uint32_t i = 0; i < from->count; i++) {
        memcpy(node + (size_t)i * from->axis_count, from->node + (size_t)order[i] * from->axis_count,
               from->axis_count * sizeof *node);
        bytes[i] = from->bytes[order[i]];
        blocks[i] = from->blocks[order[i]];
        variance[i] = from->variance[order[i]];
    }
    hd__cfree(m, order, from->count, 2 * sizeof *order);
    to->count = from->count;
    to->axis_count = from->axis_count;
    to->node = node;
    to->bytes = bytes;
    to->blocks = blocks;
    to->variance = variance;
    return HD_OK;
}

/* Children of the entries of a breakdown along one axis: those of entry e are
   child[first[e]] .. child[first[e + 1] - 1], largest first. */
typedef struct hd__children {
    uint32_t *parent, *first, *child;
} hd__children;

typedef struct hd__entry_order {
    const hd_breakdown *breakdown;
    uint32_t axis;
    const uint32_t *parent;
} hd__entry_order;

/* Whether two entries differ at most along one axis. */
static bool hd__same_but(const hd_rows *rows, uint32_t axis, uint32_t a, uint32_t b) {
    const uint32_t *x = rows->node + (size_t)a * rows->axis_count;
    const uint32_t *y = rows->node + (size_t)b * rows->axis_count;
    for (uint32_t i = 0; i < rows->axis_count; i++)
        if (i != axis && x[i] != y[i]) return false;
    return true;
}

static bool hd__by_axis_last(const void *owner, uint32_t a, uint32_t b) {
    const hd__entry_order *o = (const hd__entry_order *)owner;
    const hd_rows *rows = &o->breakdown->entries;
    const uint32_t *x = rows->node + (size_t)a * rows->axis_count;
    const uint32_t *y = rows->node + (size_t)b * rows->axis_count;
    for (uint32_t i = 0; i < rows->axis_count; i++)
        if (i != o->axis && x[i] != y[i]) return x[i] < y[i];
    return x[o->axis] < y[o->axis];
}

static bool hd__by_parent_and_size(const void *owner, uint32_t a, uint32_t b) {
    const hd__entry_order *o = (const hd__entry_order *)owner;
    const uint64_t *bytes = o->breakdown->entries.bytes;
    if (o->parent[a] != o->parent[b]) return o->parent[a] < o->parent[b];
    return bytes[a] != bytes[b] ? bytes[a] > bytes[b] : a < b;
}

/* The nearest listed ancestor of every entry along one axis: entries alike on the other axes are
   visited in preorder, with the listed ancestors of the current one on a stack. */
static void hd__nearest_listed(const hd_breakdown *b, uint32_t axis, const uint32_t *order,
                               uint32_t *stack, uint32_t *parent) {
    const hd_rows *rows = &b->entries;
    const uint32_t *end = b->axis[axis].end;
    uint32_t depth = 0;
    for (uint32_t k = 0; k < rows->count; k++) {
        uint32_t e = order[k], node = rows->node[(size_t)e * rows->axis_count + axis];
        if (k && !hd__same_but(rows, axis, order[k - 1], e)) depth = 0;
        while (depth && end[rows->node[(size_t)stack[depth - 1] * rows->axis_count + axis]] <= node) depth--;
        parent[e] = depth ? stack[depth - 1] : HD_NONE;
        stack[depth++] = e;
    }
}

/* Children along every axis, from the arena. An entry that no axis reaches becomes a child of the
   total along axis 0. */
static hd_status hd__children_build(hd__mem *m, hd__arena *arena, const hd_breakdown *b,
                                    hd__children children[HD_MAX_AXES], hd_error *err) {
    uint32_t n = b->entries.count, axes = b->entries.axis_count;
    uint32_t *scratch = (uint32_t *)hd__arena_take(m, arena, n, 2 * sizeof *scratch);
    hd__entry_order o;
    if (!scratch) return hd__no_memory(m, err);
    o.breakdown = b;
    for (uint32_t a = 0; a < axes; a++) {
        uint32_t *block = (uint32_t *)hd__arena_take(m, arena, (size_t)n + 1, 3 * sizeof *block);
        if (!block) return hd__no_memory(m, err);
        children[a].parent = block;
        children[a].first = block + n + 1;
        children[a].child = block + 2 * ((size_t)n + 1);
        for (uint32_t i = 0; i < n; i++) children[a].child[i] = i;
        o.axis = a;
        hd__sort(children[a].child, scratch, n, hd__by_axis_last, &o);
        hd__nearest_listed(b, a, children[a].child, scratch, children[a].parent);
    }
    for (uint32_t i = 1; i < n; i++) {
        uint32_t a = 0;
        while (a < axes && children[a].parent[i] == HD_NONE) a++;
        if (a == axes) children[0].parent[i] = 0;
    }
    for (uint32_t a = 0; a < axes; a++) {
        hd__children *c = &children[a];
        uint32_t k = 0;
        o.parent = c->parent;
        hd__sort(c->child, scratch, n, hd__by_parent_and_size, &o);
        for (uint32_t e = 0; e <= n; e++) {
            while (k < n && c->parent[c->child[k]] < e) k++;
            c->first[e] = k;
        }
    }
    return HD_OK;
}

/* The node of an entry along an axis. */
static uint32_t hd__entry_node(const hd_breakdown *b, uint32_t entry, uint32_t axis) {
    return b->entries.node[(size_t)entry * b->entries.axis_count + axis];
}

/* Fills entry 0 with what the topmost entries add up to: the larger sum of those below the total along
   one axis. False when that passes 2^64. */
static bool hd__topmost(hd_breakdown *b, const hd__children *children) {
    uint64_t bytes = 0, blocks = HD_UNKNOWN;
    double variance = 0;
    bool whole = true;
    for (uint32_t a = 0; a < b->entries.axis_count; a++) {
        uint64_t sum = 0, count = 0;
        double error = 0;
        for (uint32_t k = children[a].first[0]; k < children[a].first[1]; k++) {
            whole &= hd__sum(&sum, b->entries.bytes[children[a].child[k]]);
            hd__sum_known(&count, b->entries.blocks[children[a].child[k]]);
            error += b->entries.variance[children[a].child[k]];
        }
        if (sum > bytes || (sum == bytes && blocks == HD_UNKNOWN)) {
            bytes = sum;
            blocks = count;
            variance = error;
        }
    }
    *(uint64_t *)(uintptr_t)b->entries.bytes = bytes;
    *(uint64_t *)(uintptr_t)b->entries.blocks = blocks;
    *(double *)(uintptr_t)b->entries.variance = variance;
    return whole;
}

/* The same rows with one more in front, for the total. */
static hd_status hd__rows_with_total(hd__mem *m, hd__arena *arena, hd_rows *rows, hd_error *err) {
    uint32_t axes = rows->axis_count, n = rows->count + 1;
    uint32_t *node = (uint32_t *)hd__arena_take(m, arena, (size_t)n * axes, sizeof *node);
    uint64_t *bytes = (uint64_t *)hd__arena_take(m, arena, n, 2 * sizeof *bytes);
    double *variance = (double *)hd__arena_take(m, arena, n, sizeof *variance);
    if (!node || !bytes || !variance) return hd__no_memory(m, err);
    memset(node, 0, axes * sizeof *node);
    bytes[0] = bytes[n] = 0;
    variance[0] = 0;
    if (rows->count) {
        memcpy(node + axes, rows->node, (size_t)rows->count * axes * sizeof *node);
        memcpy(bytes + 1, rows->bytes, rows->count * sizeof *bytes);
        memcpy(bytes + n + 1, rows->blocks, rows->count * sizeof *bytes);
        memcpy(variance + 1, rows->variance, rows->count * sizeof *variance);
    }
    rows->count = n;
    rows->node = node;
    rows->bytes = bytes;
    rows->blocks = bytes + n;
    rows->variance = variance;
    return HD_OK;
}

/* Fills the entries of a breakdown whose axes are there, in preorder: rows in order, and a total
   if there is none. HD_OVERFLOW when that passes 2^64; all is filled then, the total the most there is. */
static hd_status hd__breakdown_fill(hd__mem *m, hd__arena *arena, hd_breakdown *b, hd_rows rows,
                                    hd_error *err) {
    hd__arena scratch = { NULL, NULL, 0 };
    hd__children children[HD_MAX_AXES];
    bool total = false;
    hd_status status = HD_OK;
    for (uint32_t i = 0; i < rows.count && !total; i++) {
        total = true;
        for (uint32_t a = 0; a < rows.axis_count; a++) total &= !rows.node[(size_t)i * rows.axis_count + a];
    }
    if (!total) status = hd__rows_with_total(m, &scratch, &rows, err);
    if (!status) status = hd__rows_order(m, arena, &rows, &b->entries, err);
    if (!status && !total && rows.count > 1) {
        status = hd__children_build(m, &scratch, b, children, err);
        if (!status) {
            if (!hd__topmost(b, children))
                status = hd__fail(err, HD_OVERFLOW, "the topmost entries pass 2^64 bytes");
        }
    }
    hd__arena_free(m, &scratch);
    return status;
}

/* The nodes that rows stand at or below, in canonical order: new axes, from the arena, and the rows'
   nodes renumbered, into `nodes`. `maps`, unless NULL, takes the new numbers of all nodes, 0 for none. */
static hd_status hd__axes_order(hd__mem *m, hd__arena *arena, const hd_axis *axes, hd_rows *rows,
                                uint32_t *nodes, bool copy_names, uint32_t *const *maps, hd_axis *to,
                                hd_error *err) {
    if (rows->count) memcpy(nodes, rows->node, (size_t)rows->count * rows->axis_count * sizeof *nodes);
    for (uint32_t a = 0; a < rows->axis_count; a++) {
        uint32_t n = axes[a].node_count;
        uint32_t *map = (uint32_t *)hd__calloc(m, n, 4 * sizeof *map);
        hd_status status;
        if (!map) return hd__no_memory(m, err);
        for (uint32_t i = 0; i < rows->count; i++) map[nodes[(size_t)i * rows->axis_count + a]] = 1;
        status = hd__axis_order(m, arena, &axes[a], map, map + n, copy_names, &to[a], err);
        for (uint32_t i = 0; i < rows->count && !status; i++) {
            uint32_t *at = &nodes[(size_t)i * rows->axis_count + a];
            *at = map[*at];
        }
        if (maps) memcpy(maps[a], map, n * sizeof *map);
        hd__cfree(m, map, n, 4 * sizeof *map);
        HD__TRY(status);
    }
    rows->node = nodes;
    return HD_OK;
}

/* A breakdown of these rows over these axes: only the nodes in use, all in canonical order. */
static hd_status hd__seal(hd__mem mem, const hd_axis *axes, hd_rows rows, uint32_t *const *maps,
                          hd_breakdown **out, hd_error *err) {
    hd__breakdown *b = (hd__breakdown *)hd__realloc(&mem, NULL, 0, sizeof *b);
    size_t size = (size_t)rows.count * rows.axis_count;
    uint32_t *nodes;
    hd_status status;
    if (!b) return hd__no_memory(&mem, err);
    memset(b, 0, sizeof *b);
    b->mem = mem;
    nodes = (uint32_t *)hd__calloc(&b->mem, size, sizeof *nodes);
    status = nodes ? HD_OK : hd__no_memory(&b->mem, err);
    if (!status)
        status = hd__axes_order(&b->mem, &b->arena, axes, &rows, nodes, true, maps, b->shown.axis, err);
    if (!status) status = hd__breakdown_fill(&b->mem, &b->arena, &b->shown, rows, err);
    if (nodes) hd__cfree(&b->mem, nodes, size, sizeof *nodes);
    if (status) hd_breakdown_free(&b->shown);
    else *out = &b->shown;
    return status;
}

HEAPDUMP_API void hd_breakdown_free(hd_breakdown *breakdown) {
    hd__breakdown *b = (hd__breakdown *)breakdown;
    hd__mem mem;
    if (!b) return;
    hd__arena_free(&b->mem, &b->arena);
    mem = b->mem;
    hd__free(&mem, b, sizeof *b);
}

HEAPDUMP_API uint32_t hd_breakdown_find(const hd_breakdown *breakdown, const uint32_t *nodes) {
    const hd_rows *rows = &breakdown->entries;
    uint32_t low = 0, high = rows->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2, a = 0;
        const uint32_t *at = rows->node + (size_t)middle * rows->axis_count;
        while (a < rows->axis_count && at[a] == nodes[a]) a++;
        if (a == rows->axis_count) return middle;
        if (at[a] < nodes[a]) low = middle + 1;
        else high = middle;
    }
    return HD_NONE;
}

/* Cut-off. ------------------------------------------------------------------------------------ */

/* A child of an entry that is being broken down. */
typedef struct hd__candidate {
    uint64_t bytes, blocks;
    double variance;
    hd_str name;
    uint32_t id;                 /* node or entry */
    uint32_t cells;              /* how many stand below it; export only */
    bool listed;
} hd__candidate;

static bool hd__larger(const void *owner, uint32_t a, uint32_t b) {
    const hd__candidate *c = (const hd__candidate *)owner;
    if (c[a].bytes != c[b].bytes) return c[a].bytes > c[b].bytes;
    return hd_str_compare(c[a].name, c[b].name) < 0;
}

/* Marks the children that the policy lists. `order` is an stb_ds array for scratch. */
static bool hd__select(hd__mem *m, const hd_cutoff *cutoff, uint64_t total, uint64_t parent,
                       hd__candidate *c, uint32_t n, uint32_t **order) {
    uint32_t *o = *order;
    for (uint32_t i = 0; i < n; i++)
        c[i].listed = c[i].bytes >= cutoff->min_bytes &&
                      (double)c[i].bytes >= cutoff->min_share * (double)total &&
                      (double)c[i].bytes >= cutoff->min_parent_share * (double)parent;
    if (!cutoff->top || n <= cutoff->top) return true;
    hd__set_len(o, 0);
    if (!hd__room(m, o, 2 * (size_t)n)) return false;
    *order = o;
    for (uint32_t i = 0; i < n; i++) o[i] = i;
    hd__sort(o, o + n, n, hd__larger, c);
    for (uint32_t i = cutoff->top; i < n; i++) c[o[i]].listed = false;
    return true;
}

static hd_status hd__check_cutoff(const hd_cutoff *cutoff, hd_error *err) {
    if (!(cutoff->min_share >= 0 && cutoff->min_share <= 1) ||
        !(cutoff->min_parent_share >= 0 && cutoff->min_parent_share <= 1))
        return hd__fail(err, HD_INVALID, "a share from 0 to 1 expected");
    return HD_OK;
}

/* An axis numbered in preorder, largest child first, so that a chain of largest children (a path)
   is a run of numbers; head is the first of a node's path. */
typedef struct hd__lattice_axis {
    uint32_t count;
    uint32_t *parent, *depth, *head, *end;
    hd_axis named;               /* parent and node_name of the same nodes, as hd__seal takes them */
    hd_str *names;
    uint32_t *at;                /* by cell: where it stands */
    uint32_t *slot;              /* by node: index of its candidate, HD_NONE between calls */
} hd__lattice_axis;

typedef struct hd__range {
    uint32_t row, low, high;     /* an entry and its cells */
    uint32_t axis;               /* next to break down along */
    size_t waiting;              /* groups below this one on the stack */
} hd__range;

typedef struct hd__export {
    hd__mem mem;
    hd__arena arena;
    const hd_options *options;
    hd_cutoff cutoff;
    hd_rows cells;
    hd__lattice_axis axis[HD_MAX_AXES];
    hd__table out;
    uint32_t *order;             /* permuted cell numbers */
    uint32_t *child, *moved;     /* by position in order: scratch of one split */
    hd__candidate *candidates;   /* stb_ds arrays */
    uint32_t *sorted;
    hd__range *groups, *path;
    uint64_t splits;
    const hd__amount *side[2];   /* amounts of cells to add up by the way; NULL: none */
    hd__amount *sum[2];          /* stb_ds arrays, by entry */
} hd__export;

/* The ancestor of node x at `depth`, no deeper than x is. */
static uint32_t hd__ancestor(const hd__lattice_axis *l, uint32_t x, uint32_t depth) {
    while (l->depth[l->head[x]] > depth) x = l->parent[l->head[x]];
    return x - (l->depth[x] - depth);
}

/* Where the cells of each node stand once <self> nodes are in: own[i] is the node that takes the
   cells of node i, either i or its "<self>" child. Returns how many nodes there are then. */
static uint32_t hd__place_self(const hd_axis *axis, const hd_rows *cells, uint32_t a, uint32_t *own,
                               uint8_t *flags) {
    enum { OWN = 1, BELOW = 2 };
    const hd_str self = hd_cstr("<self>");
    uint32_t n = axis->node_count;
    for (uint32_t i = 0; i < n; i++) own[i] = HD_NONE;
    for (uint32_t i = 0; i < cells->count; i++)
        flags[cells->node[(size_t)i * cells->axis_count + a]] |= OWN;
    for (uint32_t i = axis->node_count; i-- > 1;) {
        if (flags[i]) flags[axis->parent[i]] |= BELOW;
        if (hd_str_equal(axis->node_name[i], self)) own[axis->parent[i]] = i;
    }
    for (uint32_t i = 0; i < axis->node_count; i++) {
        if (flags[i] != (OWN | BELOW)) own[i] = i;
        else if (own[i] == HD_NONE) own[i] = n++;
    }
    return n;
}

static hd_status hd__lattice_build(hd__export *x, const hd_axis *axis, uint32_t a, hd_error *err) {
    hd__mem *m = &x->mem;
    hd__lattice_axis *l = &x->axis[a];
    uint32_t old = axis->node_count, n, *own, *parent, *size, *heavy, *at, *next;
    uint8_t *flags;
    own = (uint32_t *)hd__arena_take(m, &x->arena, old, sizeof *own);
    flags = (uint8_t *)hd__arena_take(m, &x->arena, old, 1);
    if (!own || !flags) return hd__no_memory(m, err);
    memset(flags, 0, old);
    n = hd__place_self(axis, &x->cells, a, own, flags);
    l->count = n;
    parent = (uint32_t *)hd__arena_take(m, &x->arena, n, 9 * sizeof *parent);
    l->names = (hd_str *)hd__arena_take(m, &x->arena, n, sizeof *l->names);
    l->at = (uint32_t *)hd__arena_take(m, &x->arena, x->cells.count, sizeof *l->at);
    if (!parent || !l->names || !l->at) return hd__no_memory(m, err);
    size = parent + n, heavy = size + n, at = heavy + n, next = at + n;
    l->parent = next + n, l->depth = l->parent + n, l->head = l->depth + n, l->end = l->head + n;
    for (uint32_t i = 0; i < old; i++) {
        parent[i] = axis->parent[i];
        if (own[i] != i && own[i] >= old) parent[own[i]] = i;
    }
    for (uint32_t i = 0; i < n; i++) size[i] = 1, heavy[i] = HD_NONE;
    for (uint32_t i = n; i-- > 1;) {
        uint32_t p = parent[i];
        size[p] += size[i];
        if (heavy[p] == HD_NONE || size[i] > size[heavy[p]]) heavy[p] = i;
    }
    at[0] = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t p = i ? parent[i] : HD_NONE, k;
        if (i && heavy[p] == i) at[i] = at[p] + 1;
        else if (i) at[i] = next[p], next[p] += size[i];
        k = at[i];
        next[i] = k + 1 + (heavy[i] == HD_NONE ? 0 : size[heavy[i]]);
        l->parent[k] = i ? at[p] : HD_NONE;
        l->depth[k] = i ? l->depth[at[p]] + 1 : 0;
        l->head[k] = i && heavy[p] == i ? l->head[at[p]] : k;
        l->end[k] = k + size[i];
        l->names[k] = i < old ? axis->node_name[i] : hd_cstr("<self>");
    }
    for (uint32_t i = 0; i < x->cells.count; i++)
        l->at[i] = at[own[x->cells.node[(size_t)i * x->cells.axis_count + a]]];
    l->slot = parent;            /* the old numbering is no longer needed */
    for (uint32_t i = 0; i < n; i++) l->slot[i] = HD_NONE;
    l->named.name = axis->name;
    l->named.node_count = n;
    l->named.parent = l->parent;
    l->named.end = NULL;
    l->named.node_name = l->names;
    return HD_OK;
}

/* Adds up the cells of a range by child of `node`; candidates in order of first sight. */
static hd_status hd__group(hd__export *x, const hd__range *r, uint32_t a, uint32_t node, hd_error *err) {
    hd__lattice_axis *l = &x->axis[a];
    uint32_t depth = l->depth[node] + 1;
    hd_status status = HD_OK;
    hd__set_len(x->candidates, 0);
    for (uint32_t i = r->low; i < r->high; i++) {
        uint32_t cell = x->order[i], at = l->at[cell], child, k;
        if (at == node) {        /* nothing below */
            x->child[i] = HD_NONE;
            continue;
        }
        child = hd__ancestor(l, at, depth);
        k = l->slot[child];
        if (k == HD_NONE) {
            hd__candidate c;
            memset(&c, 0, sizeof c);
            c.id = child;
            c.name = l->names[child];
            k = (uint32_t)hd__len(x->candidates);
            if (!hd__push(&x->mem, x->candidates, c)) {
                status = hd__no_memory(&x->mem, err);
                break;
            }
            l->slot[child] = k;
        }
        x->child[i] = k;
        x->candidates[k].cells++;
        x->candidates[k].bytes += x->cells.bytes[cell];
        hd__sum_known(&x->candidates[k].blocks, x->cells.blocks[cell]);
        x->candidates[k].variance += x->cells.variance[cell];
    }
    for (size_t k = 0; k < hd__len(x->candidates); k++) l->slot[x->candidates[k].id] = HD_NONE;
    return status;
}

/* What the cells of the entry listed last have on each side. */
static bool hd__export_sums(hd__export *x, uint32_t low, uint32_t high) {
    for (int s = 0; s < 2 && x->side[s]; s++) {
        hd__amount sum = { 0, 0, 0 };
        for (uint32_t i = low; i < high; i++) hd__amount_add(&sum, x->side[s][x->order[i]]);
        if (!hd__push(&x->mem, x->sum[s], sum)) return false;
    }
    return true;
}

/* Breaks the entry of a range down along one axis: lists the children that pass, and puts those not
   listed before on the stack with their cells. */
static hd_status hd__split(hd__export *x, hd__range r, uint32_t a, hd_error *err) {
    uint32_t axes = x->cells.axis_count, nodes[HD_MAX_AXES], n, at;
    size_t first = hd__len(x->groups);
    memcpy(nodes, x->out.node + (size_t)r.row * axes, axes * sizeof *nodes);
    if (x->axis[a].end[nodes[a]] == nodes[a] + 1) return HD_OK;
    if (x->options && x->options->progress && ++x->splits % 4096 == 0 &&
        !x->options->progress(x->options->user, hd__len(x->out.bytes), HD_UNKNOWN))
        return hd__fail(err, HD_CANCELLED, "cancelled");
    HD__TRY(hd__group(x, &r, a, nodes[a], err));
    n = (uint32_t)hd__len(x->candidates);
    if (!hd__select(&x->mem, &x->cutoff, x->out.bytes[0], x->out.bytes[r.row], x->candidates, n,
                    &x->sorted) ||
        !hd__room(&x->mem, x->groups, n ? n : 1))
        return hd__no_memory(&x->mem, err);
    at = r.low;
    for (uint32_t k = 0; k < n; k++) {
        hd__candidate *c = &x->candidates[k];
        hd__range group;
        if (!c->listed) continue;
        nodes[a] = c->id;
        c->listed = hd__table_find(&x->out, nodes) == HD_NONE;
        if (!c->listed) continue;
        group.row = (uint32_t)hd__len(x->out.bytes);
        group.low = at;
        group.high = at += c->cells;
        group.axis = 0;
        group.waiting = 0;
        HD__TRY(hd__table_add(&x->mem, &x->out, hd__records(x->options ? &x->options->limits : NULL), nodes,
                              c->bytes, c->blocks, err));
        stbds_arrlast(x->out.variance) = c->variance;
        stbds_arrput(x->groups, group);
        c->id = group.low;       /* from here on: where the next of its cells goes */
    }
    if (at == r.low) return HD_OK;
    if (n > 1 || at < r.high) {
        for (uint32_t i = r.low; i < r.high; i++) {
            uint32_t k = x->child[i];
            x->moved[k != HD_NONE && x->candidates[k].listed ? x->candidates[k].id++ : at++] = x->order[i];
        }
        memcpy(x->order + r.low, x->moved + r.low, (r.high - r.low) * sizeof *x->order);
    }
    for (size_t g = first; g < hd__len(x->groups); g++)
        if (!hd__export_sums(x, x->groups[g].low, x->groups[g].high)) return hd__no_memory(&x->mem, err);
    return HD_OK;
}

static hd_status hd__export_run(hd__export *x, hd_error *err) {
    hd__mem *m = &x->mem;
    uint32_t n = x->cells.count, root[HD_MAX_AXES] = { 0 };
    uint64_t bytes = 0, blocks = 0;
    double variance = 0;
    hd__range all;
    x->order = (uint32_t *)hd__arena_take(m, &x->arena, n, 3 * sizeof *x->order);
    if (!x->order) return hd__no_memory(m, err);
    x->child = x->order + n;
    x->moved = x->child + n;
    for (uint32_t i = 0; i < n; i++) {
        x->order[i] = i;
        bytes += x->cells.bytes[i];
        hd__sum_known(&blocks, x->cells.blocks[i]);
        variance += x->cells.variance[i];
    }
    HD__TRY(hd__table_add(m, &x->out, HD_NONE, root, bytes, blocks, err));
    stbds_arrlast(x->out.variance) = variance;
    if (!hd__export_sums(x, 0, n)) return hd__no_memory(m, err);
    memset(&all, 0, sizeof all);
    all.high = n;
    if (!hd__push(m, x->path, all)) return hd__no_memory(m, err);
    while (hd__len(x->path)) {
        hd__range *top = &stbds_arrlast(x->path);
        if (hd__len(x->groups) > top->waiting) {
            hd__range group = stbds_arrpop(x->groups);
            group.waiting = hd__len(x->groups);
            if (!hd__push(m, x->path, group)) return hd__no_memory(m, err);
        } else if (top->axis < x->cells.axis_count) {
            uint32_t a = top->axis++;
            HD__TRY(hd__split(x, *top, a, err));
        } else {
            (void)stbds_arrpop(x->path);
        }
    }
    return HD_OK;
}

/* The entries as x->out, in order of arrival, over the axes x->axis[].named. */
static hd_status hd__export_rows(hd__export *x, const hd_profile *profile, const hd_cutoff *cutoff,
                                 const hd_options *options, hd_error *err) {
    x->mem = hd__mem_options(options);
    if (cutoff) x->cutoff = *cutoff;
    HD__TRY(hd__check_cutoff(&x->cutoff, err));
    x->options = options;
    x->cells = hd_profile_cells(profile);
    x->out.axis_count = x->cells.axis_count;
    x->out.seed = profile->cells.seed;
    for (uint32_t a = 0; a < x->cells.axis_count; a++) {
        hd_axis axis = hd_profile_axis(profile, a);
        HD__TRY(hd__lattice_build(x, &axis, a, err));
    }
    return hd__export_run(x, err);
}

static void hd__export_free(hd__export *x) {
    hd__table_free(&x->mem, &x->out);
    hd__arr_free(&x->mem, x->candidates);
    hd__arr_free(&x->mem, x->sorted);
    hd__arr_free(&x->mem, x->groups);
    hd__arr_free(&x->mem, x->path);
    hd__arr_free(&x->mem, x->sum[0]);
    hd__arr_free(&x->mem, x->sum[1]);
    hd__arena_free(&x->mem, &x->arena);
}

static hd_status hd__cut_run(hd__mem *m, hd__arena *arena, const hd_breakdown *b, const hd_cutoff *cutoff,
                             uint8_t *listed, hd_error *err) {
    hd__children children[HD_MAX_AXES];
    hd__candidate *c = NULL;
    uint32_t *sorted = NULL, *stack, depth = 0, n = b->entries.count;
    hd_status status = hd__children_build(m, arena, b, children, err);
    HD__TRY(status);
    stack = (uint32_t *)hd__arena_take(m, arena, n, sizeof *stack);
    if (!stack) return hd__no_memory(m, err);
    listed[0] = 1;
    stack[depth++] = 0;
    while (depth && !status) {
        uint32_t e = stack[--depth];
        for (uint32_t a = 0; a < b->entries.axis_count && !status; a++) {
            uint32_t first = children[a].first[e], count = children[a].first[e + 1] - first;
            hd__set_len(c, 0);
            if (!hd__room(m, c, count ? count : 1)) status = hd__no_memory(m, err);
            for (uint32_t k = 0; k < count && !status; k++) {
                uint32_t child = children[a].child[first + k];
                hd__candidate one;
                memset(&one, 0, sizeof one);
                one.id = child;
                one.bytes = b->entries.bytes[child];
                one.name = b->axis[a].node_name[hd__entry_node(b, child, a)];
                stbds_arrput(c, one);
            }
            if (!status &&
                !hd__select(m, cutoff, b->entries.bytes[0], b->entries.bytes[e], c, count, &sorted))
                status = hd__no_memory(m, err);
            for (uint32_t k = 0; k < count && !status; k++)
                if (c[k].listed && !listed[c[k].id]) {
                    listed[c[k].id] = 1;
                    stack[depth++] = c[k].id;
                }
        }
    }
    hd__arr_free(m, c);
    hd__arr_free(m, sorted);
    return status;
}

/* The rows marked in `listed`, as new columns. */
static hd_status hd__rows_listed(hd__mem *m, hd__arena *arena, const hd_rows *from, const uint8_t *listed,
                                 hd_rows *to, hd_error *err) {
    uint32_t *node =
        (uint32_t *)hd__arena_take(m, arena, (size_t)from->count * from->axis_count, sizeof *node);
    uint64_t *bytes = (uint64_t *)hd__arena_take(m, arena, from->count, 2 * sizeof *bytes);
    double *variance = (double *)hd__arena_take(m, arena, from->count, sizeof *variance);
    uint64_t *blocks;
    uint32_t n = 0;
    if (!node || !bytes || !variance) return hd__no_memory(m, err);
    blocks = bytes + from->count;
    for (uint32_t i = 0; i < from->count; i++) {
        if (!listed[i]) continue;
        memcpy(node + (size_t)n * from->axis_count, from->node + (size_t)i * from->axis_count,
               from->axis_count * sizeof *node);
        bytes[n] = from->bytes[i];
        variance[n] = from->variance[i];
        blocks[n++] = from->blocks[i];
    }
    to->count = n;
    to->axis_count = from->axis_count;
    to->node = node;
    to->bytes = bytes;
    to->blocks = blocks;
    to->variance = variance;
    return HD_OK;
}

/* Budgets. ------------------------------------------------------------------------------------
   The bytes of a heap come in atoms, which no entry divides: its cells. Atoms in the same listed entries are
   one class. What listing one more entry explains is by how much it divides the classes it cuts through:
   with w bytes in a class and i of them in the entry, w times the entropy of i / w, in bits. That is the
   gain in joint entropy of the indicators "is in entry k", which is submodular: gains only shrink as
   more is listed, so those computed earlier are upper bounds, and an entry whose gain is computed anew and
   still exceeds all others' bounds is the best. */

typedef struct hd__budget {
    hd__mem *m;
    hd__arena *arena;
    const hd_breakdown *b;       /* candidates are among its entries */
    const hd_options *options;
    uint32_t atoms;
    const uint64_t *bytes;       /* by atom */
    uint32_t *at[HD_MAX_AXES];   /* by atom: the node it stands at */
    uint32_t *start[HD_MAX_AXES]; /* by node: the first in `order` that is at it or at a node behind it */
    uint32_t *order[HD_MAX_AXES]; /* atoms by node */
    uint32_t *class_of;          /* by atom */
    uint64_t *weight, *within;   /* by class: bytes; bytes in the entry at hand */
    uint32_t *touched, *fresh;   /* classes the entry at hand is in part of; the new class of each */
    uint32_t classes;
    double scale;                /* of gains, which are whole numbers so that their sums have no order */
    uint64_t evaluations;
    uint64_t *gain;              /* by entry: an upper bound */
    uint32_t *cost, *stamp;      /* by entry: of listing it; how many were listed when that was found */
    uint32_t *heap, heap_size;
    uint32_t *node_cost[HD_MAX_AXES];
    uint8_t *seen[HD_MAX_AXES];  /* by node: it is in the dictionary */
    uint32_t id_digits[HD_MAX_AXES];
    bool by_density;
    bool made;                   /* atoms are made of entries */
} hd__budget;

/* The shortest text an entry can have. */
enum { HD__ENTRY_LEAST = 20 };

/* The logarithm to base 2 of a number of at least 1. */
static double hd__base_2(double x) {
    double z, zz, e = 0;
    while (x >= 65536) x *= 1.0 / 65536, e += 16;
    while (x >= 2) x *= 0.5, e += 1;
    if (x > 1.4142135623730951) x *= 0.5, e += 1;
    z = (x - 1) / (x + 1);
    zz = z * z;
    return e + 2.8853900817779268 * z *
           (1 + zz * (1.0 / 3 + zz * (1.0 / 5 + zz * (1.0 / 7 + zz * (1.0 / 9 + zz * (1.0 / 11 + zz *
           (1.0 / 13 + zz / 15)))))));
}

/* Bits in telling which of w bytes are the i in question. */
static double hd__entropy(uint64_t i, uint64_t w) {
    double all = hd__base_2((double)w);
    if (!i || i >= w) return 0;
    return (double)i * (all - hd__base_2((double)i)) + (double)(w - i) * (all - hd__base_2((double)(w - i)));
}

static void hd__budget_atoms(hd__budget *x, const hd_rows *atoms) {
    for (uint32_t a = 0; a < atoms->axis_count; a++) {
        uint32_t n = x->b->axis[a].node_count, *start = x->start[a];
        memset(start, 0, ((size_t)n + 1) * sizeof *start);
        for (uint32_t i = 0; i < atoms->count; i++) {
            x->at[a][i] = atoms->node[(size_t)i * atoms->axis_count + a];
            start[x->at[a][i]]++;
        }
        for (uint32_t k = 0, sum = 0; k <= n; k++) sum += start[k], start[k] = sum;
        for (uint32_t i = atoms->count; i-- > 0;) x->order[a][--start[x->at[a][i]]] = i;
    }
}

/* Calls for each atom of an entry: along the axis where the fewest are below its node. */
typedef struct hd__atoms {
    const uint32_t *at, *end;
    uint32_t axis;
} hd__atoms;

static hd__atoms hd__budget_below(const hd__budget *x, uint32_t entry) {
    hd__atoms least = { NULL, NULL, 0 };
    for (uint32_t a = 0; a < x->b->entries.axis_count; a++) {
        uint32_t node = hd__entry_node(x->b, entry, a);
        uint32_t low = x->start[a][node], high = x->start[a][x->b->axis[a].end[node]];
        if (least.at && high - low >= (uint32_t)(least.end - least.at)) continue;
        least.at = x->order[a] + low;
        least.end = x->order[a] + high;
        least.axis = a;
    }
    return least;
}

static bool hd__budget_holds(const hd__budget *x, uint32_t entry, uint32_t but, uint32_t atom) {
    for (uint32_t a = 0; a < x->b->entries.axis_count; a++) {
        uint32_t node = hd__entry_node(x->b, entry, a);
        if (a != but && (x->at[a][atom] < node || x->at[a][atom] >= x->b->axis[a].end[node])) return false;
    }
    return true;
}

/* Bytes of an entry by class; how many classes. */
static uint32_t hd__budget_touch(hd__budget *x, uint32_t entry) {
    hd__atoms atoms = hd__budget_below(x, entry);
    uint32_t n = 0;
    for (const uint32_t *i = atoms.at; i < atoms.end; i++) {
        uint32_t c = x->class_of[*i];
        if (!x->bytes[*i] || !hd__budget_holds(x, entry, atoms.axis, *i)) continue;
        if (!x->within[c]) x->touched[n++] = c;
        x->within[c] += x->bytes[*i];
    }
    return n;
}

static uint64_t hd__budget_gain(hd__budget *x, uint32_t entry) {
    uint32_t n = hd__budget_touch(x, entry);
    uint64_t gain = 0;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t c = x->touched[k];
        gain += (uint64_t)(hd__entropy(x->within[c], x->weight[c]) * x->scale);
        x->within[c] = 0;
    }
    x->evaluations++;
    return gain;
}

/* Bytes of text that listing an entry adds: the entry, and names that are not in the dictionary yet. */
static uint32_t hd__budget_cost(const hd__budget *x, uint32_t entry) {
    const hd_rows *rows = &x->b->entries;
    char digits[20];
    size_t cost = strlen(",\n{\"size\":\"\",\"bt\":\"\"}");
    cost += (size_t)(digits + 20 - hd__digits(digits, rows->bytes[entry], 16));
    if (rows->blocks[entry] != HD_UNKNOWN) {
        cost += strlen(",\"count\":\"\"");
        cost += (size_t)(digits + 20 - hd__digits(digits, rows->blocks[entry], 16));
    }
    if (rows->variance[entry] > 0) cost += strlen(",\"error\":\"\"") + 16;
    for (uint32_t a = 0; a < rows->axis_count; a++) {
        uint32_t node = hd__entry_node(x->b, entry, a);
        if (node) cost += x->id_digits[a] + (a ? strlen(",\"type\":\"\"") : 0);
        for (; !x->seen[a][node]; node = x->b->axis[a].parent[node]) cost += x->node_cost[a][node];
    }
    return cost < HD_NONE ? (uint32_t)cost : HD_NONE;
}

/* Lists an entry: the classes it cuts through become two. */
static void hd__budget_list(hd__budget *x, uint32_t entry) {
    hd__atoms atoms = hd__budget_below(x, entry);
    uint32_t n = hd__budget_touch(x, entry);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t c = x->touched[k];
        x->fresh[c] = HD_NONE;
        if (x->within[c] == x->weight[c]) continue;
        x->fresh[c] = x->classes++;
        x->weight[x->fresh[c]] = x->within[c];
        x->weight[c] -= x->within[c];
    }
    for (const uint32_t *i = atoms.at; i < atoms.end; i++)
        if (x->bytes[*i] && x->fresh[x->class_of[*i]] != HD_NONE && x->within[x->class_of[*i]] &&
            hd__budget_holds(x, entry, atoms.axis, *i))
            x->class_of[*i] = x->fresh[x->class_of[*i]];
    for (uint32_t k = 0; k < n; k++) x->within[x->touched[k]] = 0;
    for (uint32_t a = 0; a < x->b->entries.axis_count; a++) {
        uint32_t node = hd__entry_node(x->b, entry, a);
        for (; !x->seen[a][node]; node = x->b->axis[a].parent[node]) x->seen[a][node] = 1;
    }
}

/* By gain, or gain per byte of text; then by size, because an entry explains as much as all but it. */
static bool hd__budget_before(const hd__budget *x, uint32_t a, uint32_t b) {
    const uint64_t *bytes = x->b->entries.bytes;
    double p = x->by_density ? (double)x->gain[a] / x->cost[a] : 0;
    double q = x->by_density ? (double)x->gain[b] / x->cost[b] : 0;
    if (p > q || p < q) return p > q;
    if (x->gain[a] != x->gain[b]) return x->gain[a] > x->gain[b];
    return bytes[a] != bytes[b] ? bytes[a] > bytes[b] : a < b;
}

static void hd__budget_down(hd__budget *x, uint32_t i) {
    uint32_t *h = x->heap, entry = h[i];
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= x->heap_size) break;
        if (child + 1 < x->heap_size && hd__budget_before(x, h[child + 1], h[child])) child++;
        if (!hd__budget_before(x, h[child], entry)) break;
        h[i] = h[child];
        i = child;
    }
    h[i] = entry;
}

/* Nothing is listed but the total. */
static void hd__budget_reset(hd__budget *x, const uint8_t *candidates) {
    const hd_rows *rows = &x->b->entries;
    uint64_t total = 0;
    for (uint32_t i = 0; i < x->atoms; i++) hd__sum(&total, x->bytes[i]);
    memset(x->class_of, 0, x->atoms * sizeof *x->class_of);
    x->classes = 1;
    x->weight[0] = total;
    x->within[0] = 0;
    /* 2^57: an entry explains at most a bit per byte, all of them no more than 32. */
    x->scale = total ? 144115188075855872.0 / (double)total : 0;
    for (uint32_t a = 0; a < rows->axis_count; a++) {
        memset(x->seen[a], 0, x->b->axis[a].node_count);
        x->seen[a][0] = 1;
    }
    x->heap_size = 0;
    for (uint32_t e = 1; e < rows->count; e++) {
        if (!candidates[e]) continue;
        /* Made of entries, atoms can be more than the entry above them. */
        if (x->made || rows->bytes[e] > total / 2) x->gain[e] = UINT64_MAX;
        else x->gain[e] = (uint64_t)(hd__entropy(rows->bytes[e], total) * x->scale) + 1;
        x->cost[e] = hd__budget_cost(x, e);
        x->stamp[e] = HD_NONE;
        x->heap[x->heap_size++] = e;
    }
    for (uint32_t i = x->heap_size / 2; i-- > 0;) hd__budget_down(x, i);
}

/* Lists greedily until a budget is spent. *explained is what all of it explains, *least the least that one
   entry did, per byte of text if by density, before the first that did not fit. */
static hd_status hd__budget_greedy(hd__budget *x, const hd_cutoff *cutoff, const uint8_t *candidates,
                                   uint8_t *listed, uint64_t *explained, double *least, hd_error *err) {
    uint64_t left = cutoff->max_output_bytes ? cutoff->max_output_bytes : UINT64_MAX;
    uint32_t count = 0, most = cutoff->max_entries ? cutoff->max_entries - 1 : HD_NONE;
    bool fits = true;
    *explained = 0;
    *least = 1e300;
    memset(listed, 0, x->b->entries.count);
    listed[0] = 1;
    hd__budget_reset(x, candidates);
    while (x->heap_size && count < most && left >= HD__ENTRY_LEAST) {
        uint32_t e = x->heap[0];
        if (x->stamp[e] != count) {
            x->gain[e] = hd__budget_gain(x, e);
            x->cost[e] = hd__budget_cost(x, e);
            x->stamp[e] = count;
            if (x->options && x->options->progress && x->evaluations % 4096 == 0 &&
                !x->options->progress(x->options->user, count, HD_UNKNOWN))
                return hd__fail(err, HD_CANCELLED, "cancelled");
            hd__budget_down(x, 0);
            continue;
        }
        x->heap[0] = x->heap[--x->heap_size];
        if (x->heap_size) hd__budget_down(x, 0);
        if (!x->gain[e]) {
            if (fits) *least = 0;
            return HD_OK;        /* the rest says nothing that is not said */
        }
        if (x->cost[e] > left) {
            fits = false;
            continue;
        }
        left -= x->cost[e];
        *explained += x->gain[e];
        if (fits) *least = x->by_density ? (double)x->gain[e] / x->cost[e] : (double)x->gain[e];
        hd__budget_list(x, e);
        listed[e] = 1;
        count++;
    }
    if (!x->heap_size && fits) *least = 0;
    return HD_OK;
}

/* An entry whose bytes are all in one child along axis 0 says nothing that the child, whose path is longer,
   does not. */
static void hd__budget_pass_over(const hd__budget *x, const uint32_t *parent, uint8_t *candidates) {
    const hd_rows *rows = &x->b->entries;
    for (uint32_t e = 1; e < rows->count; e++)
        if (candidates[e] && parent[e] != HD_NONE && rows->bytes[e] == rows->bytes[parent[e]])
            candidates[parent[e]] = 0;
}

/* Atoms of a breakdown: what an entry holds beyond those at or below it. */
static hd_status hd__budget_residuals(hd__mem *m, hd__arena *arena, const hd_breakdown *b, hd_rows *atoms,
                                      hd_error *err) {
    const hd_rows *rows = &b->entries;
    uint64_t *bytes = (uint64_t *)hd__arena_take(m, arena, rows->count, sizeof *bytes);
    if (!bytes) return hd__no_memory(m, err);
    for (uint32_t e = rows->count; e-- > 0;) {
        uint32_t end = b->axis[0].end[hd__entry_node(b, e, 0)];
        bytes[e] = rows->bytes[e];
        for (uint32_t i = e + 1; i < rows->count && hd__entry_node(b, i, 0) < end && bytes[e]; i++) {
            bool below = true;
            for (uint32_t a = 1; a < rows->axis_count && below; a++) {
                uint32_t node = hd__entry_node(b, e, a), at = hd__entry_node(b, i, a);
                below = at >= node && at < b->axis[a].end[node];
            }
            if (below) bytes[e] = hd__less(bytes[e], bytes[i]);
        }
    }
    *atoms = *rows;
    atoms->bytes = bytes;
    return HD_OK;
}

static hd_status hd__budget_take(hd__budget *x, const hd_rows *atoms, hd_error *err) {
    uint32_t n = atoms->count, rows = x->b->entries.count;
    uint32_t *by_atom, *by_entry;
    char digits[20];
    x->atoms = n;
    x->bytes = atoms->bytes;
    by_atom = (uint32_t *)hd__arena_take(x->m, x->arena, (size_t)n + 1, 3 * sizeof *by_atom);
    x->weight = (uint64_t *)hd__arena_take(x->m, x->arena, (size_t)n + 1, 2 * sizeof *x->weight);
    by_entry = (uint32_t *)hd__arena_take(x->m, x->arena, rows, 3 * sizeof *by_entry);
    x->gain = (uint64_t *)hd__arena_take(x->m, x->arena, rows, sizeof *x->gain);
    if (!by_atom || !x->weight || !by_entry || !x->gain) return hd__no_memory(x->m, err);
    x->class_of = by_atom;
    x->touched = x->class_of + n + 1;
    x->fresh = x->touched + n + 1;
    x->within = x->weight + n + 1;
    memset(x->weight, 0, 2 * ((size_t)n + 1) * sizeof *x->weight);
    x->cost = by_entry;
    x->stamp = by_entry + rows;
    x->heap = x->stamp + rows;
    for (uint32_t a = 0; a < atoms->axis_count; a++) {
        const hd_axis *axis = &x->b->axis[a];
        uint32_t nodes = axis->node_count, fixed;
        x->at[a] = (uint32_t *)hd__arena_take(x->m, x->arena, n, 2 * sizeof *x->at[a]);
        x->start[a] = (uint32_t *)hd__arena_take(x->m, x->arena, (size_t)nodes + 1, 2 * sizeof *x->start[a]);
        x->seen[a] = (uint8_t *)hd__arena_take(x->m, x->arena, nodes, 1);
        if (!x->at[a] || !x->start[a] || !x->seen[a]) return hd__no_memory(x->m, err);
        x->order[a] = x->at[a] + n;
        x->node_cost[a] = x->start[a] + nodes + 1;
        x->id_digits[a] = (uint32_t)(digits + 20 - hd__digits(digits, nodes + 2, 10));
        fixed = (uint32_t)strlen(",\n\"\":");
        if (!a) fixed += (uint32_t)strlen("{\"name\":}");
        for (uint32_t i = 1; i < nodes; i++) {
            x->node_cost[a][i] = fixed + x->id_digits[a] + hd__json_length(axis->node_name[i]);
            if (!a && axis->parent[i])
                x->node_cost[a][i] += (uint32_t)strlen(",\"parent\":\"\"") + x->id_digits[a];
        }
    }
    hd__budget_atoms(x, atoms);
    return HD_OK;
}

/* Takes away from the candidates what a budget has no room for. Without atoms they are made of the
   entries. Further candidates, each of less gain than *least by itself, would change nothing. */
static hd_status hd__budget_run(hd__mem *m, const hd_breakdown *b, const hd_rows *atoms,
                                const hd_cutoff *cutoff, const hd_options *options, uint8_t *candidates,
                                double *least, hd_error *err) {
    hd__arena arena = { NULL, NULL, 0 };
    uint32_t n = b->entries.count;
    uint8_t *listed[2];
    uint32_t *order = (uint32_t *)hd__arena_take(m, &arena, n, 3 * sizeof *order);
    uint64_t explained[2] = { 0, 0 };
    double lowest[2] = { 0, 0 };
    hd_rows residuals;
    hd__entry_order o;
    hd__budget x;
    hd_status status = HD_OK;
    memset(&x, 0, sizeof x);
    x.m = m;
    x.arena = &arena;
    x.b = b;
    x.options = options;
    x.made = !atoms;
    listed[0] = (uint8_t *)hd__arena_take(m, &arena, n, 2);
    if (!order || !listed[0]) status = hd__no_memory(m, err);
    else listed[1] = listed[0] + n;
    if (!status && !atoms) status = hd__budget_residuals(m, &arena, b, &residuals, err);
    if (!status) status = hd__budget_take(&x, atoms ? atoms : &residuals, err);
    if (!status) {
        for (uint32_t e = 0; e < n; e++) order[e] = e;
        o.breakdown = b;
        o.axis = 0;
        o.parent = NULL;
        hd__sort(order, order + n, n, hd__by_axis_last, &o);
        hd__nearest_listed(b, 0, order, order + n, order + 2 * (size_t)n);
        hd__budget_pass_over(&x, order + 2 * (size_t)n, candidates);
        status = hd__budget_greedy(&x, cutoff, candidates, listed[0], &explained[0], &lowest[0], err);
    }
    x.by_density = true;
    if (!status && cutoff->max_output_bytes)
        status = hd__budget_greedy(&x, cutoff, candidates, listed[1], &explained[1], &lowest[1], err);
    if (!status) memcpy(candidates, listed[explained[1] > explained[0]], n);
    *least = lowest[0];
    lowest[1] *= (double)HD__ENTRY_LEAST;
    if (cutoff->max_output_bytes && lowest[1] < *least) *least = lowest[1];
    if (x.scale > 0) *least /= x.scale;
    hd__arena_free(m, &arena);
    return status;
}

static bool hd__has_budget(const hd_cutoff *cutoff) {
    return cutoff->max_entries || cutoff->max_output_bytes;
}

/* hd__seal of those rows that a budget has room for. `atoms` are over the same axes. */
static hd_status hd__seal_budget(hd__mem mem, const hd_axis *axes, hd_rows rows, const hd_rows *atoms,
                                 const hd_cutoff *cutoff, const hd_options *options, double *least,
                                 hd_breakdown **out, hd_error *err) {
    hd__arena arena = { NULL, NULL, 0 };
    hd_breakdown *all;
    hd_rows placed, some;
    uint32_t *map[HD_MAX_AXES], *node = NULL;
    uint8_t *listed;
    hd__mem m;
    hd_status status = HD_OK;
    if (!hd__has_budget(cutoff)) return hd__seal(mem, axes, rows, NULL, out, err);
    for (uint32_t a = 0; a < rows.axis_count && !status; a++) {
        map[a] = (uint32_t *)hd__arena_take(&mem, &arena, axes[a].node_count, sizeof *map[a]);
        if (!map[a]) status = hd__no_memory(&mem, err);
    }
    if (!status) status = hd__seal(hd__mem_rest(&mem), axes, rows, map, &all, err);
    if (status) {
        hd__arena_free(&mem, &arena);
        return status;
    }
    mem.used += ((hd__breakdown *)all)->mem.used;
    listed = (uint8_t *)hd__arena_take(&mem, &arena, all->entries.count, 1);
    if (atoms) {
        placed = *atoms;
        node = (uint32_t *)hd__arena_take(&mem, &arena, atoms->count, atoms->axis_count * sizeof *node);
        placed.node = node;
    }
    if (!listed || (atoms && !node)) status = hd__no_memory(&mem, err);
    for (uint32_t a = 0; a < rows.axis_count && !status && atoms; a++) {
        /* From nodes that no row needs, atoms move up. */
        for (uint32_t i = 1; i < axes[a].node_count; i++)
            if (!map[a][i]) map[a][i] = map[a][axes[a].parent[i]];
        for (uint32_t i = 0; i < atoms->count; i++)
            node[(size_t)i * atoms->axis_count + a] = map[a][atoms->node[(size_t)i * atoms->axis_count + a]];
    }
    if (!status) {
        memset(listed, 1, all->entries.count);
        status = hd__budget_run(&mem, all, atoms ? &placed : NULL, cutoff, options, listed, least, err);
    }
    if (!status) status = hd__rows_listed(&mem, &arena, &all->entries, listed, &some, err);
    m = hd__mem_rest(&mem);
    if (!status) status = hd__seal(m, all->axis, some, NULL, out, err);
    hd__arena_free(&mem, &arena);
    hd_breakdown_free(all);
    return status;
}

/* The cells, at nodes of the axes that the entries are over. */
static hd_status hd__export_atoms(hd__export *x, hd_rows *atoms, hd_error *err) {
    uint32_t n = x->cells.count, axes = x->cells.axis_count;
    uint32_t *node = (uint32_t *)hd__arena_take(&x->mem, &x->arena, n, axes * sizeof *node);
    if (!node) return hd__no_memory(&x->mem, err);
    for (uint32_t a = 0; a < axes; a++)
        for (uint32_t i = 0; i < n; i++) node[(size_t)i * axes + a] = x->axis[a].at[i];
    *atoms = x->cells;
    atoms->node = node;
    return HD_OK;
}

static hd_status hd__export_once(const hd_profile *profile, const hd_cutoff *cutoff,
                                 const hd_options *options, double *least, hd_breakdown **out,
                                 hd_error *err) {
    hd_axis axes[HD_MAX_AXES];
    hd_rows atoms;
    hd__export x;
    hd_status status;
    memset(&x, 0, sizeof x);
    status = hd__export_rows(&x, profile, cutoff, options, err);
    for (uint32_t a = 0; a < x.out.axis_count; a++) axes[a] = x.axis[a].named;
    atoms = x.cells;
    if (!status && hd__has_budget(cutoff)) status = hd__export_atoms(&x, &atoms, err);
    if (!status)
        status = hd__seal_budget(hd__mem_rest(&x.mem), axes, hd__table_rows(&x.out), &atoms, cutoff, options,
                                 least, out, err);
    hd__export_free(&x);
    return status;
}

/* With a budget, entries below a size are left out at first. What such an entry can explain is bounded: if
   all that was listed explains more, nothing is missing; otherwise the size was too large. */
HEAPDUMP_API hd_status hd_export(const hd_profile *profile, const hd_cutoff *cutoff,
                                 const hd_options *options, hd_breakdown **out, hd_error *err) {
    uint64_t total = profile->total_bytes, size;
    hd_cutoff c;
    hd_breakdown *b;
    double least = 0;
    memset(&c, 0, sizeof c);
    if (cutoff) c = *cutoff;
    if (!hd__has_budget(&c)) return hd__export_once(profile, &c, options, &least, out, err);
    size = total / 8 / (c.max_output_bytes ? c.max_output_bytes / 64 + 1 : c.max_entries);
    for (;; size /= 16) {
        uint64_t asked = c.min_bytes;
        bool all = size <= asked || size < 2;
        if (!all) c.min_bytes = size;
        HD__TRY(hd__export_once(profile, &c, options, &least, &b, err));
        c.min_bytes = asked;
        if (all || least >= hd__entropy(size < total / 2 ? size : total / 2, total)) break;
        hd_breakdown_free(b);
    }
    *out = b;
    return HD_OK;
}

HEAPDUMP_API hd_status hd_breakdown_cut(const hd_breakdown *b, const hd_cutoff *cutoff,
                                        const hd_options *options, hd_breakdown **out, hd_error *err) {
    hd__mem m = hd__mem_options(options);
    hd__arena arena = { NULL, NULL, 0 };
    hd_cutoff all;
    hd_rows rows;
    uint8_t *listed;
    double least;
    hd_status status;
    memset(&all, 0, sizeof all);
    if (!cutoff) cutoff = &all;
    HD__TRY(hd__check_cutoff(cutoff, err));
    listed = (uint8_t *)hd__arena_take(&m, &arena, b->entries.count, 1);
    if (listed) {
        memset(listed, 0, b->entries.count);
        status = hd__cut_run(&m, &arena, b, cutoff, listed, err);
    } else {
        status = hd__no_memory(&m, err);
    }
    if (!status) status = hd__rows_listed(&m, &arena, &b->entries, listed, &rows, err);
    if (!status)
        status = hd__seal_budget(hd__mem_rest(&m), b->axis, rows, NULL, cutoff, options, &least, out, err);
    hd__arena_free(&m, &arena);
    return status;
}

HEAPDUMP_API hd_status hd_breakdown_from_cumulative(const hd_profile *entries, const hd_options *options,
                                                    hd_breakdown **out, hd_error *err) {
    hd_axis axis[HD_MAX_AXES];
    for (uint32_t a = 0; a < entries->cells.axis_count; a++) axis[a] = hd_profile_axis(entries, a);
    return hd__seal(hd__mem_options(options), axis, hd_profile_cells(entries), NULL, out, err);
}

HEAPDUMP_API hd_status hd_heap_break_down(const hd_heap *heap, const hd_cutoff *cutoff,
                                          const hd_options *options, hd_breakdown **out, hd_error *err) {
    if (heap->profile) return hd_export(heap->profile, cutoff, options, out, err);
    if (heap->breakdown) return hd_breakdown_cut(heap->breakdown, cutoff, options, out, err);
    return hd__fail(err, HD_INVALID, "a heap needs a profile or a breakdown");
}

/* Operations. ---------------------------------------------------------------------------------
   Rows over axes are handed around as an hd_breakdown, whether they are cells or entries. All operations
   that make new nodes are a merge into an empty profile: of some of the rows, with other parents, or
   with paths reversed. */

static hd_breakdown hd__view(const hd_heap *heap) {
    hd_breakdown view;
    memset(&view, 0, sizeof view);
    if (heap->breakdown) return *heap->breakdown;
    view.entries = hd_profile_cells(heap->profile);
    for (uint32_t a = 0; a < view.entries.axis_count; a++) view.axis[a] = hd_profile_axis(heap->profile, a);
    return view;
}

static hd_status hd__check_heap(const hd_heap *heap, hd_error *err) {
    if (!heap->profile == !heap->breakdown)
        return hd__fail(err, HD_INVALID, "a heap needs a profile or a breakdown");
    return HD_OK;
}

HEAPDUMP_API void hd_heap_release(hd_heap *heap) {
    hd_profile_free((hd_profile *)(uintptr_t)heap->profile);
    hd_breakdown_free((hd_breakdown *)(uintptr_t)heap->breakdown);
    heap->profile = NULL;
    heap->breakdown = NULL;
}

/* Rows on their way into a profile. Scratch is the profile's memory. */
typedef struct hd__merge {
    hd_profile *into;
    const hd_breakdown *from;
    const hd_options *options;   /* whose progress to call; may be NULL */
    bool cumulative;             /* rows are entries: their sum means nothing */
    bool copy;                   /* names, which otherwise need to outlive the profile */
    bool invert;                 /* paths of axis `inverted` */
    uint32_t inverted;
    uint32_t to[HD_MAX_AXES];    /* by axis of `from`: the profile's, HD_NONE when it has none such */
    uint32_t *map[HD_MAX_AXES];  /* by node: the profile's */
    /* Heaps of one program have most of their nodes and cells in one order: what follows the one found
       last is tried first, which needs no hashing and stays where the processor has just been. */
    uint32_t next_node, next_row;
    uint32_t *row;               /* by row: the profile's. Set: only places are made, and written there */
} hd__merge;

static hd_status hd__merge_axes(hd__merge *x, hd_error *err) {
    uint32_t n = x->from->entries.axis_count;
    for (uint32_t a = 0; a < n; a++) {
        const char *name = x->from->axis[a].name;
        x->to[a] = HD_NONE;
        for (uint32_t k = 0; k < a; k++)
            if (!strcmp(x->from->axis[k].name, name))
                return hd__fail(err, HD_INVALID, "two axes called \"%s\"", name);
        for (uint32_t k = 0; k < x->into->cells.axis_count; k++) {
            if (strcmp(x->into->tree[k].name, name)) continue;
            if (x->to[a] != HD_NONE) return hd__fail(err, HD_INVALID, "two axes called \"%s\"", name);
            x->to[a] = k;
        }
    }
    return HD_OK;
}

static hd_status hd__merge_progress(const hd__merge *x, uint32_t done, uint32_t total, hd_error *err) {
    if (done % 4096 == 0 && x->options && x->options->progress &&
        !x->options->progress(x->options->user, done, total))
        return hd__fail(err, HD_CANCELLED, "cancelled");
    return HD_OK;
}

static hd_status hd__merge_child(hd__merge *x, uint32_t a, uint32_t parent, hd_str name, uint32_t *node,
                                 hd_error *err) {
    hd_profile *p = x->into;
    hd__tree *t = &p->tree[x->to[a]];
    uint32_t next = x->next_node;
    if (next < hd__len(t->parent) && t->parent[next] == parent && hd_str_equal(t->names[next], name)) {
        *node = next;
    } else {
        HD__TRY(hd__tree_child(&p->mem, &p->arena, t, p->max_records, parent, name, x->copy, node, err));
    }
    x->next_node = *node + 1;
    return HD_OK;
}

/* The nodes of an axis that rows stand at or below, made where they are missing. */
static hd_status hd__merge_nodes(hd__merge *x, uint32_t a, hd_error *err) {
    const hd_axis *axis = &x->from->axis[a];
    const hd_rows *rows = &x->from->entries;
    uint32_t *map = x->map[a];
    for (uint32_t i = 0; i < rows->count; i++) map[rows->node[(size_t)i * rows->axis_count + a]] = 1;
    for (uint32_t i = axis->node_count; i-- > 1;) map[axis->parent[i]] |= map[i];
    map[0] = 0;
    for (uint32_t i = 1; i < axis->node_count; i++)
        if (map[i])
            HD__TRY(hd__merge_child(x, a, map[axis->parent[i]], axis->node_name[i], &map[i], err));
    return HD_OK;
}

static bool hd__is_self(hd_str name) { return hd_str_equal(name, hd_cstr("<self>")); }

/* How many names of inverted paths are kept, so that chains of thousands of frames do not multiply. */
static hd_status hd__invert_depth(hd__merge *x, const hd_axis *axis, const uint32_t *rows_at, uint32_t *most,
                                  hd_error *err) {
    uint64_t room = HD__INVERT_NAMES + (uint64_t)HD__INVERT_NAMES_EACH * axis->node_count;
    hd__mem *m = &x->into->mem;
    uint32_t at_least[HD_INVERT_MAX + 1] = { 0 }; /* nodes with rows, by depth; then, that are as deep */
    uint32_t *depth = (uint32_t *)hd__calloc(m, axis->node_count, sizeof *depth);
    if (!depth) return hd__no_memory(m, err);
    for (uint32_t i = 1; i < axis->node_count; i++) {
        depth[i] = depth[axis->parent[i]] + 1;
        if (depth[i] > HD_INVERT_MAX) depth[i] = HD_INVERT_MAX;
        at_least[depth[i]] += rows_at[i];
    }
    hd__cfree(m, depth, axis->node_count, sizeof *depth);
    for (uint32_t d = HD_INVERT_MAX; d-- > 0;) at_least[d] += at_least[d + 1];
    for (*most = 0; *most < HD_INVERT_MAX && at_least[*most + 1] <= room; ++*most)
        room -= at_least[*most + 1];
    return HD_OK;
}

static hd_status hd__merge_inverted(hd__merge *x, uint32_t a, hd_error *err) {
    const hd_axis *axis = &x->from->axis[a];
    const hd_rows *rows = &x->from->entries;
    uint32_t *map = x->map[a], most;
    for (uint32_t i = 0; i < rows->count; i++) map[rows->node[(size_t)i * rows->axis_count + a]] = 1;
    HD__TRY(hd__invert_depth(x, axis, map, &most, err));
    for (uint32_t i = 0; i < axis->node_count; i++) {
        uint32_t node = 0, depth = 0, at = i;
        HD__TRY(hd__merge_progress(x, i, axis->node_count, err));
        if (!map[i]) continue;
        if (i && hd__is_self(axis->node_name[at])) at = axis->parent[at];
        for (; at && depth < most; at = axis->parent[at], depth++)
            HD__TRY(hd__merge_child(x, a, node, axis->node_name[at], &node, err));
        map[i] = node;
    }
    return HD_OK;
}

/* Finds each row's place, or makes an empty one. */
static hd_status hd__merge_places(hd__merge *x, hd_error *err) {
    const hd_rows *rows = &x->from->entries;
    hd_profile *p = x->into;
    for (uint32_t i = 0; i < rows->count; i++) {
        const uint32_t *node = rows->node + (size_t)i * rows->axis_count;
        uint32_t at[HD_MAX_AXES] = { 0 };
        HD__TRY(hd__merge_progress(x, i, rows->count, err));
        for (uint32_t a = 0; a < rows->axis_count; a++)
            if (x->to[a] != HD_NONE) at[x->to[a]] = x->map[a][node[a]];
        x->row[i] = x->next_row;
        if (x->next_row >= hd__len(p->cells.bytes) ||
            memcmp(p->cells.node + (size_t)x->next_row * p->cells.axis_count, at,
                   p->cells.axis_count * sizeof *at) != 0)
            x->row[i] = hd__table_find(&p->cells, at);
        if (x->row[i] == HD_NONE) {
            x->row[i] = (uint32_t)hd__len(p->cells.bytes);
            HD__TRY(hd__table_add(&p->mem, &p->cells, p->max_records, at, 0, 0, err));
        }
        x->next_row = x->row[i] + 1;
    }
    return HD_OK;
}

static hd_status hd__merge_amounts(hd__merge *x, hd_error *err) {
    const hd_rows *rows = &x->from->entries;
    hd_profile *p = x->into;
    uint64_t bytes = p->total_bytes, blocks = p->total_blocks;
    bool whole = true;
    for (uint32_t i = 0; i < rows->count; i++) {
        whole &= x->cumulative || hd__sum(&bytes, rows->bytes[i]);
        if (rows->blocks[i] != HD_UNKNOWN) whole &= hd__sum(&blocks, rows->blocks[i]) || x->cumulative;
    }
    if (!whole) return hd__fail(err, HD_OVERFLOW, "the sum of the heaps passes 2^64 bytes or blocks");
    p->total_bytes = bytes;
    p->total_blocks = blocks;
    for (uint32_t i = 0; i < rows->count; i++) {
        uint32_t row = x->row[i];
        whole &= hd__sum(&p->cells.bytes[row], rows->bytes[i]);
        hd__sum_known(&p->cells.blocks[row], rows->blocks[i]);
        p->cells.variance[row] += rows->variance[i];
    }
    return whole ? HD_OK : hd__fail(err, HD_OVERFLOW, "the sum of an entry passes 2^64 bytes");
}

/* On failure the profile's cells are as they were, unless a sum of entries overflowed. */
static hd_status hd__merge_run(hd__merge *x, hd_error *err) {
    const hd_rows *rows = &x->from->entries;
    hd__mem *m = &x->into->mem;
    uint32_t before = (uint32_t)hd__len(x->into->cells.bytes), *scratch;
    bool places = x->row != NULL;
    size_t size = places ? 0 : rows->count;
    hd_status status = HD_OK;
    if (x->into->is_fixed) return hd__fail(err, HD_INVALID, "a profile that was read takes no nodes");
    HD__TRY(hd__merge_axes(x, err));
    for (uint32_t a = 0; a < rows->axis_count; a++)
        if (x->to[a] != HD_NONE) size += x->from->axis[a].node_count;
    scratch = (uint32_t *)hd__calloc(m, size, sizeof *scratch);
    if (!scratch) return hd__no_memory(m, err);
    if (!places) x->row = scratch;
    for (uint32_t a = 0, *at = scratch + (places ? 0 : rows->count); a < rows->axis_count && !status; a++) {
        if (x->to[a] == HD_NONE) continue;
        x->map[a] = at;
        at += x->from->axis[a].node_count;
        status = x->invert && a == x->inverted ? hd__merge_inverted(x, a, err) : hd__merge_nodes(x, a, err);
    }
    if (!status) status = hd__merge_places(x, err);
    if (!status && !places) status = hd__merge_amounts(x, err);
    if (status) hd__table_truncate(&x->into->cells, before);
    hd__cfree(m, scratch, size, sizeof *scratch);
    return status;
}

static hd__merge hd__merge_make(hd_profile *into, const hd_breakdown *from, const hd_options *options) {
    hd__merge x;
    memset(&x, 0, sizeof x);
    x.into = into;
    x.from = from;
    x.options = options;
    return x;
}

HEAPDUMP_API hd_status hd_profile_merge(hd_profile *into, const hd_profile *from, hd_error *err) {
    hd_breakdown view;
    hd_heap heap;
    hd__merge x;
    memset(&heap, 0, sizeof heap);
    heap.profile = from;
    view = hd__view(&heap);
    x = hd__merge_make(into, &view, NULL);
    x.copy = true;
    return hd__merge_run(&x, err);
}

/* An empty profile with axes of these names. */
static hd_status hd__profile_of(const char *const *names, uint32_t axes, const hd_options *options,
                                hd_profile **out, hd_error *err) {
    hd_profile_desc desc;
    hd_error e;
    memset(&desc, 0, sizeof desc);
    desc.axis_count = axes;
    for (uint32_t a = 0; a < axes; a++) desc.axis_name[a] = names[a];
    if (options) {
        desc.allocator = options->allocator;
        desc.limits = options->limits;
    }
    *out = hd_profile_create(&desc, &e);
    if (*out) return HD_OK;
    if (err) *err = e;
    return e.status;
}

/* An empty profile with the axes of these rows. */
static hd_status hd__profile_like(const hd_breakdown *view, const hd_options *options, hd_profile **out,
                                  hd_error *err) {
    const char *names[HD_MAX_AXES];
    for (uint32_t a = 0; a < view->entries.axis_count; a++) names[a] = view->axis[a].name;
    return hd__profile_of(names, view->entries.axis_count, options, out, err);
}

/* "backtrace", "type", then by name. */
static int hd__compare_axes(const char *a, const char *b) {
    int x = !strcmp(a, "backtrace") ? 0 : !strcmp(a, "type") ? 1 : 2;
    int y = !strcmp(b, "backtrace") ? 0 : !strcmp(b, "type") ? 1 : 2;
    return x != y ? x - y : strcmp(a, b);
}

/* An empty profile with the axes of all these heaps. */
static hd_status hd__profile_uniting(const hd_heap *heaps, size_t count, const hd_options *options,
                                     hd_profile **out, hd_error *err) {
    const char *names[HD_MAX_AXES];
    uint32_t n = 0;
    for (size_t i = 0; i < count; i++) {
        hd_breakdown view = hd__view(&heaps[i]);
        for (uint32_t a = 0; a < view.entries.axis_count; a++) {
            const char *name = view.axis[a].name;
            uint32_t at = 0;
            while (at < n && hd__compare_axes(names[at], name) < 0) at++;
            if (at < n && !strcmp(names[at], name)) continue;
            if (n == HD_MAX_AXES)
                return hd__fail(err, HD_UNSUPPORTED, "more than %u axes together", (uint64_t)HD_MAX_AXES);
            memmove(names + at + 1, names + at, (n++ - at) * sizeof *names);
            names[at] = name;
        }
    }
    return hd__profile_of(names, n, options, out, err);
}

/* A breakdown of a profile whose cells are entries; the profile is freed. */
static hd_status hd__seal_profile(hd_profile *p, hd_breakdown **out, hd_error *err) {
    hd_axis axes[HD_MAX_AXES];
    hd_status status;
    for (uint32_t a = 0; a < p->cells.axis_count; a++) axes[a] = hd_profile_axis(p, a);
    status = hd__seal(hd__mem_rest(&p->mem), axes, hd_profile_cells(p), NULL, out, err);
    hd_profile_free(p);
    return status;
}

/* Each profile counts with all its entries, exported one at a time. */
static hd_status hd__merge_entries(hd_profile *into, const hd_heap *heap, bool copy, hd_error *err) {
    hd_breakdown *exported = NULL;
    hd_breakdown view;
    hd__merge x;
    hd_status status = HD_OK;
    if (heap->profile) {
        hd_options options;
        memset(&options, 0, sizeof options);
        options.allocator = into->mem.allocator;
        options.limits.max_memory = into->mem.limit - into->mem.used;
        options.limits.max_records = into->max_records;
        HD__TRY(hd_export(heap->profile, NULL, &options, &exported, err));
    }
    view = heap->profile ? *exported : *heap->breakdown;
    x = hd__merge_make(into, &view, NULL);
    x.cumulative = true;
    x.copy = copy || exported;
    if (exported) into->mem.used += ((hd__breakdown *)exported)->mem.used;
    status = hd__merge_run(&x, err);
    if (exported) into->mem.used -= ((hd__breakdown *)exported)->mem.used;
    hd_breakdown_free(exported);
    return status;
}

/* Everything but the labels. */
static hd_status hd__merge_heaps(const hd_heap *heaps, size_t count, bool exact, const hd_options *options,
                                 hd_heap *out, hd_error *err) {
    hd_breakdown *breakdown = NULL;
    hd_profile *p;
    hd_status status = HD_OK;
    HD__TRY(hd__profile_uniting(heaps, count, options, &p, err));
    for (size_t i = 0; i < count && !status; i++) {
        if (options && options->progress && !options->progress(options->user, i, count))
            status = hd__fail(err, HD_CANCELLED, "cancelled");
        else if (exact) status = hd_profile_merge(p, heaps[i].profile, err);
        else status = hd__merge_entries(p, &heaps[i], false, err);
    }
    if (!status && exact) status = hd_profile_sort(p, err);
    if (status) {
        hd_profile_free(p);
        return status;
    }
    out->profile = exact ? p : NULL;
    if (!exact) status = hd__seal_profile(p, &breakdown, err);
    out->breakdown = breakdown;
    return status;
}

HEAPDUMP_API hd_status hd_breakdown_merge(const hd_breakdown *const *breakdowns, size_t count,
                                          const hd_options *options, hd_breakdown **out, hd_error *err) {
    hd__mem m = hd__mem_options(options);
    hd_heap *heaps = (hd_heap *)hd__calloc(&m, count, sizeof *heaps), merged;
    hd_options rest;
    hd_status status;
    if (!heaps) return hd__no_memory(&m, err);
    memset(&rest, 0, sizeof rest);
    if (options) rest = *options;
    rest.limits.max_memory = m.limit - m.used;
    for (size_t i = 0; i < count; i++) heaps[i].breakdown = breakdowns[i];
    if (!count) status = hd__fail(err, HD_INVALID, "at least one breakdown expected");
    else status = hd__merge_heaps(heaps, count, false, &rest, &merged, err);
    hd__cfree(&m, heaps, count, sizeof *heaps);
    if (!status) *out = (hd_breakdown *)(uintptr_t)merged.breakdown;
    return status;
}

static void hd__keep_label(const char **label, const char *other) {
    if (*label && (!other || strcmp(*label, other))) *label = NULL;
}

HEAPDUMP_API hd_status hd_merge(const hd_heap *heaps, size_t count, const hd_options *options, hd_heap *out,
                                hd_error *err) {
    hd_heap label;
    bool exact = true;
    if (!count) return hd__fail(err, HD_INVALID, "at least one heap expected");
    label = heaps[0];
    for (size_t i = 0; i < count; i++) {
        const hd_heap *h = &heaps[i];
        HD__TRY(hd__check_heap(h, err));
        exact &= h->profile != NULL;
        hd__keep_label(&label.process, h->process);
        hd__keep_label(&label.dump, h->dump);
        hd__keep_label(&label.allocator, h->allocator);
        if (label.pid != h->pid) label.pid = 0;
        if (label.time_us != h->time_us) label.time_us = 0;
        if (label.sample_bytes != h->sample_bytes) label.sample_bytes = 0;
    }
    HD__TRY(hd__merge_heaps(heaps, count, exact, options, &label, err));
    *out = label;
    return HD_OK;
}

static hd_status hd__sort_into(hd_profile *sorted, hd__arena *scratch, const hd_profile *p, hd_error *err) {
    hd_breakdown view;
    hd_rows rows = hd_profile_cells(p);
    uint32_t *nodes;
    hd__merge x;
    for (uint32_t a = 0; a < rows.axis_count; a++) {
        view.axis[a] = hd_profile_axis(p, a);
        HD__TRY(hd__profile_axis_begin(sorted, a, view.axis[a].name, err));
    }
    nodes = (uint32_t *)hd__arena_take(&sorted->mem, scratch, rows.count, rows.axis_count * sizeof *nodes);
    if (!nodes) return hd__no_memory(&sorted->mem, err);
    HD__TRY(hd__axes_order(&sorted->mem, scratch, view.axis, &rows, nodes, false, NULL, view.axis, err));
    HD__TRY(hd__rows_order(&sorted->mem, scratch, &rows, &view.entries, err));
    x = hd__merge_make(sorted, &view, NULL);
    x.copy = true;
    return hd__merge_run(&x, err);
}

HEAPDUMP_API hd_status hd_profile_sort(hd_profile *p, hd_error *err) {
    hd__mem mem = hd__mem_rest(&p->mem);
    hd_profile *sorted = hd__profile_make(&mem, p->cells.axis_count, p->max_records), swap;
    hd__arena scratch = { NULL, NULL, 0 };
    hd_status status;
    if (!sorted) return hd__no_memory(&mem, err);
    status = hd__sort_into(sorted, &scratch, p, err);
    hd__arena_free(&sorted->mem, &scratch);
    if (!status) {
        sorted->mem.limit = p->mem.limit; /* what is freed next counts no more */
        swap = *p;
        *p = *sorted;
        *sorted = swap;
        for (uint32_t a = 0; a < p->cells.axis_count; a++) p->tree[a].copies = &p->names;
    }
    hd_profile_free(sorted);
    return status;
}

/* Which nodes of an axis are at or below a match, and, with `parent`, paths that start there. */
static void hd__match_nodes(const hd_breakdown *view, uint32_t axis, hd_match_fn match, void *user,
                            uint8_t *inside, uint32_t *parent) {
    const hd_axis *a = &view->axis[axis];
    const hd_rows *rows = &view->entries;
    memset(inside, 0, a->node_count);
    for (uint32_t i = 0; i < rows->count; i++) inside[rows->node[(size_t)i * rows->axis_count + axis]] = 1;
    for (uint32_t i = a->node_count; i-- > 1;) inside[a->parent[i]] |= inside[i];
    inside[0] = 0;
    if (parent) parent[0] = HD_NONE;
    for (uint32_t i = 1; i < a->node_count; i++) {
        bool above = inside[a->parent[i]];
        inside[i] = inside[i] && (above || match(user, a->node_name[i]));
        if (parent) parent[i] = inside[i] && !above ? 0 : a->parent[i];
    }
}

/* What an entry of a breakdown has at or below matching nodes, as far as that is listed. */
typedef struct hd__parts {
    uint64_t *bytes, *blocks;
    double *variance;
    uint8_t *any;                /* whether anything that matches is listed there */
} hd__parts;

static hd_status hd__match_parts(hd__mem *m, hd__arena *arena, const hd_breakdown *b, uint32_t axis,
                                 const uint8_t *inside, hd__parts *parts, hd_error *err) {
    const hd_rows *rows = &b->entries;
    uint32_t n = rows->count, *order = (uint32_t *)hd__arena_take(m, arena, n, 3 * sizeof *order);
    hd__entry_order o;
    parts->bytes = (uint64_t *)hd__arena_take(m, arena, n, 2 * sizeof *parts->bytes);
    parts->variance = (double *)hd__arena_take(m, arena, n, sizeof *parts->variance);
    parts->any = (uint8_t *)hd__arena_take(m, arena, n, 1);
    if (!order || !parts->bytes || !parts->variance || !parts->any) return hd__no_memory(m, err);
    parts->blocks = parts->bytes + n;
    for (uint32_t i = 0; i < n; i++) {
        uint8_t in = inside[hd__entry_node(b, i, axis)];
        order[i] = i;
        parts->any[i] = in;
        parts->bytes[i] = in ? rows->bytes[i] : 0;
        parts->blocks[i] = in ? rows->blocks[i] : 0;
        parts->variance[i] = in ? rows->variance[i] : 0;
    }
    o.breakdown = b;
    o.axis = axis;
    o.parent = NULL;
    hd__sort(order, order + n, n, hd__by_axis_last, &o);
    hd__nearest_listed(b, axis, order, order + n, order + 2 * (size_t)n);
    for (uint32_t k = n; k-- > 0;) {
        uint32_t e = order[k], above = order[2 * (size_t)n + e];
        if (!parts->any[e] || above == HD_NONE || inside[hd__entry_node(b, above, axis)]) continue;
        parts->any[above] = 1;
        hd__sum(&parts->bytes[above], parts->bytes[e]);
        hd__sum_known(&parts->blocks[above], parts->blocks[e]);
        parts->variance[above] += parts->variance[e];
    }
    return HD_OK;
}


typedef enum hd__filter_kind { HD__KEEP, HD__DROP, HD__REROOT } hd__filter_kind;

/* The rows of the result, in new columns. */
static hd_status hd__filter_rows(hd__mem *m, hd__arena *arena, const hd_heap *heap, const hd_breakdown *view,
                                 uint32_t axis, const uint8_t *inside, hd__filter_kind kind, hd_rows *rows,
                                 hd_error *err) {
    const hd_rows *from = &view->entries;
    uint8_t *listed = (uint8_t *)hd__arena_take(m, arena, from->count, 1);
    hd_rows changed = *from;
    hd__parts parts = { NULL, NULL, NULL, NULL };
    if (!listed) return hd__no_memory(m, err);
    for (uint32_t i = 0; i < from->count; i++)
        listed[i] = inside[hd__entry_node(view, i, axis)] == (kind != HD__DROP);
    if (heap->profile) return hd__rows_listed(m, arena, from, listed, rows, err);
    HD__TRY(hd__match_parts(m, arena, view, axis, inside, &parts, err));
    for (uint32_t i = 0; i < from->count; i++) {
        if (kind == HD__DROP) {
            bool some = parts.any[i];
            parts.bytes[i] = hd__less(from->bytes[i], parts.bytes[i]);
            parts.blocks[i] = hd__less_known(from->blocks[i], parts.blocks[i]);
            parts.variance[i] = hd__less_variance(from->variance[i], parts.variance[i]);
            listed[i] = listed[i] && (!some || parts.bytes[i]);
        } else if (!listed[i]) {
            listed[i] = parts.any[i] && (kind == HD__KEEP || !hd__entry_node(view, i, axis));
        }
    }
    listed[0] = 1;
    changed.bytes = parts.bytes;
    changed.blocks = parts.blocks;
    changed.variance = parts.variance;
    return hd__rows_listed(m, arena, &changed, listed, rows, err);
}

/* Filtering and re-rooting: some rows, with the paths that `parent` says, into an empty profile. */
static hd_status hd__filter_into(hd_profile *p, hd__arena *scratch, const hd_heap *heap, uint32_t axis,
                                 hd_match_fn match, void *user, hd__filter_kind kind,
                                 const hd_options *options, hd_error *err) {
    hd_breakdown view = hd__view(heap), some = view;
    uint32_t n = view.axis[axis].node_count;
    uint8_t *inside = (uint8_t *)hd__arena_take(&p->mem, scratch, n, 1);
    uint32_t *parent = NULL;
    hd__merge x;
    if (!inside) return hd__no_memory(&p->mem, err);
    if (kind == HD__REROOT) {
        parent = (uint32_t *)hd__arena_take(&p->mem, scratch, n, sizeof *parent);
        if (!parent) return hd__no_memory(&p->mem, err);
        some.axis[axis].parent = parent;
    }
    hd__match_nodes(&view, axis, match, user, inside, parent);
    HD__TRY(hd__filter_rows(&p->mem, scratch, heap, &view, axis, inside, kind, &some.entries, err));
    x = hd__merge_make(p, &some, options);
    x.copy = heap->profile != NULL;
    x.cumulative = heap->breakdown != NULL;
    return hd__merge_run(&x, err);
}

/* An operation's result, labelled as the heap it was made of. */
static hd_status hd__made(const hd_heap *heap, bool entries, hd_profile *p, hd_status status, hd_heap *out,
                          hd_error *err) {
    hd_breakdown *breakdown = NULL;
    if (status) {
        hd_profile_free(p);
        return status;
    }
    if (entries) HD__TRY(hd__seal_profile(p, &breakdown, err));
    *out = *heap;
    out->profile = entries ? NULL : p;
    out->breakdown = breakdown;
    return HD_OK;
}

static hd_status hd__check_axis(const hd_heap *heap, uint32_t axis, hd_error *err) {
    HD__TRY(hd__check_heap(heap, err));
    if (axis >= hd__view(heap).entries.axis_count)
        return hd__fail(err, HD_INVALID, "no axis %u", (uint64_t)axis);
    return HD_OK;
}

static hd_status hd__filter(const hd_heap *heap, uint32_t axis, hd_match_fn match, void *user,
                            hd__filter_kind kind, const hd_options *options, hd_heap *out, hd_error *err) {
    hd__arena scratch = { NULL, NULL, 0 };
    hd_breakdown view;
    hd_profile *p;
    hd_status status;
    HD__TRY(hd__check_axis(heap, axis, err));
    view = hd__view(heap);
    HD__TRY(hd__profile_like(&view, options, &p, err));
    status = hd__filter_into(p, &scratch, heap, axis, match, user, kind, options, err);
    hd__arena_free(&p->mem, &scratch);
    return hd__made(heap, heap->breakdown != NULL, p, status, out, err);
}

HEAPDUMP_API hd_status hd_filter(const hd_heap *heap, uint32_t axis, hd_match_fn match, void *user, bool keep,
                                 const hd_options *options, hd_heap *out, hd_error *err) {
    return hd__filter(heap, axis, match, user, keep ? HD__KEEP : HD__DROP, options, out, err);
}

HEAPDUMP_API hd_status hd_reroot(const hd_heap *heap, uint32_t axis, hd_match_fn match, void *user,
                                 const hd_options *options, hd_heap *out, hd_error *err) {
    return hd__filter(heap, axis, match, user, HD__REROOT, options, out, err);
}

/* The entries at the root of all other axes, with what each holds beyond its listed children. */
static hd_status hd__axis_rows(hd__mem *m, hd__arena *arena, const hd_breakdown *b, uint32_t axis,
                               hd_rows *to, hd_error *err) {
    const hd_rows *rows = &b->entries;
    uint32_t n = 0, depth = 0, *node, *stack;
    uint64_t *bytes, *blocks;
    double *variance;
    node = (uint32_t *)hd__arena_take(m, arena, rows->count, 2 * sizeof *node);
    bytes = (uint64_t *)hd__arena_take(m, arena, rows->count, 2 * sizeof *bytes);
    variance = (double *)hd__arena_take(m, arena, rows->count, sizeof *variance);
    if (!node || !bytes || !variance) return hd__no_memory(m, err);
    stack = node + rows->count;
    blocks = bytes + rows->count;
    for (uint32_t i = 0; i < rows->count; i++) {
        uint32_t at = hd__entry_node(b, i, axis), above;
        if (!hd__same_but(rows, axis, 0, i)) continue;
        while (depth && b->axis[axis].end[node[stack[depth - 1]]] <= at) depth--;
        node[n] = at;
        bytes[n] = rows->bytes[i];
        blocks[n] = rows->blocks[i];
        variance[n] = rows->variance[i];
        if (depth) {
            above = stack[depth - 1];
            bytes[above] = hd__less(bytes[above], bytes[n]);
            blocks[above] = hd__less_known(blocks[above], blocks[n]);
            variance[above] = hd__less_variance(variance[above], variance[n]);
        }
        stack[depth++] = n++;
    }
    for (uint32_t i = 0; i < n; i++)
        if (node[i] && hd__is_self(b->axis[axis].node_name[node[i]])) node[i] = b->axis[axis].parent[node[i]];
    to->count = 0;
    to->axis_count = 1;
    to->node = node;
    to->bytes = bytes;
    to->blocks = blocks;
    to->variance = variance;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = to->count;
        if (!bytes[i] && (!blocks[i] || blocks[i] == HD_UNKNOWN)) continue;
        node[k] = node[i];
        bytes[k] = bytes[i];
        blocks[k] = blocks[i];
        variance[k] = variance[i];
        to->count++;
    }
    return HD_OK;
}

HEAPDUMP_API hd_status hd_breakdown_axis_profile(const hd_breakdown *b, uint32_t axis,
                                                 const hd_options *options, hd_profile **out,
                                                 hd_error *err) {
    hd__arena scratch = { NULL, NULL, 0 };
    hd_breakdown view;
    hd_profile *p;
    hd__merge x;
    hd_status status;
    if (axis >= b->entries.axis_count) return hd__fail(err, HD_INVALID, "no axis %u", (uint64_t)axis);
    memset(&view, 0, sizeof view);
    view.axis[0] = b->axis[axis];
    view.entries.axis_count = 1;
    HD__TRY(hd__profile_like(&view, options, &p, err));
    status = hd__axis_rows(&p->mem, &scratch, b, axis, &view.entries, err);
    if (!status) {
        x = hd__merge_make(p, &view, options);
        x.copy = true;
        status = hd__merge_run(&x, err);
    }
    hd__arena_free(&p->mem, &scratch);
    if (status) hd_profile_free(p);
    else *out = p;
    return status;
}

HEAPDUMP_API hd_status hd_invert(const hd_heap *heap, uint32_t axis, const hd_options *options, hd_heap *out,
                                 hd_error *err) {
    hd__arena scratch = { NULL, NULL, 0 };
    hd_breakdown view;
    hd_profile *p;
    hd__merge x;
    hd_status status = HD_OK;
    HD__TRY(hd__check_axis(heap, axis, err));
    view = hd__view(heap);
    if (heap->breakdown && view.entries.axis_count > 1)
        return hd__fail(err, HD_UNSUPPORTED, "a breakdown over several axes cannot be inverted, because its "
                        "cells cannot be had back: take the profile of one of its axes");
    HD__TRY(hd__profile_like(&view, options, &p, err));
    if (heap->breakdown) status = hd__axis_rows(&p->mem, &scratch, heap->breakdown, axis, &view.entries, err);
    if (!status) {
        x = hd__merge_make(p, &view, options);
        x.copy = x.invert = true;
        x.inverted = axis;
        status = hd__merge_run(&x, err);
    }
    hd__arena_free(&p->mem, &scratch);
    return hd__made(heap, false, p, status, out, err);
}

/* Comparing. ----------------------------------------------------------------------------------
   The rows of both heaps are united first, with two columns of amounts. Of profiles, what each cell changed
   by is then exported like sizes; of breakdowns, what each entry changed by is cut like sizes. Either way
   each row that stays remembers, as its number of blocks, which it was. */

typedef struct hd__diff {
    hd_diff shown;               /* first */
    hd__mem mem;
    hd_breakdown *entries;       /* axes and nodes; bytes is the gross change */
    hd__amount *amounts;         /* unused but as the block of the columns */
} hd__diff;

/* Both heaps' rows: cells of two profiles, otherwise entries. */
typedef struct hd__pair {
    hd_profile *both;            /* whose cells are the united rows, all empty */
    hd__arena arena;             /* in its memory */
    hd_breakdown *exported[2];
    hd__amount *side[2];         /* by united row */
    uint8_t *present[2];
    bool cells, complete[2];     /* complete: what is not listed is not there */
} hd__pair;

static void hd__pair_free(hd__pair *p) {
    hd_breakdown_free(p->exported[0]);
    hd_breakdown_free(p->exported[1]);
    if (!p->both) return;
    hd__arena_free(&p->both->mem, &p->arena);
    hd_profile_free(p->both);
}

static hd_status hd__pair_unite(hd__pair *p, const hd_heap heaps[2], const hd_options *options,
                                hd_error *err) {
    hd_breakdown view[2];
    uint32_t *row[2], n;
    hd__mem *m;
    p->cells = heaps[0].profile && heaps[1].profile;
    HD__TRY(hd__profile_uniting(heaps, 2, options, &p->both, err));
    m = &p->both->mem;
    for (int s = 0; s < 2; s++) {
        hd__merge x;
        hd_heap heap = heaps[s];
        p->complete[s] = heap.profile != NULL;
        if (!p->cells && heap.profile) {
            hd_options rest;
            memset(&rest, 0, sizeof rest);
            if (options) rest = *options;
            rest.limits.max_memory = m->limit - m->used;
            HD__TRY(hd_export(heap.profile, NULL, &rest, &p->exported[s], err));
            m->used += ((hd__breakdown *)p->exported[s])->mem.used;
            heap.profile = NULL;
            heap.breakdown = p->exported[s];
        }
        view[s] = hd__view(&heap);
        row[s] = (uint32_t *)hd__arena_take(m, &p->arena, view[s].entries.count, sizeof *row[s]);
        if (!row[s]) return hd__no_memory(m, err);
        x = hd__merge_make(p->both, &view[s], NULL);
        x.row = row[s];
        HD__TRY(hd__merge_run(&x, err));
    }
    n = p->both->cells.bytes ? (uint32_t)hd__len(p->both->cells.bytes) : 0;
    for (int s = 0; s < 2; s++) {
        p->side[s] = (hd__amount *)hd__arena_take(m, &p->arena, n, sizeof *p->side[s]);
        p->present[s] = (uint8_t *)hd__arena_take(m, &p->arena, n, 1);
        if (!p->side[s] || !p->present[s]) return hd__no_memory(m, err);
        memset(p->side[s], 0, n * sizeof *p->side[s]);
        memset(p->present[s], 0, n);
        for (uint32_t i = 0; i < view[s].entries.count; i++) {
            p->side[s][row[s][i]] = hd__amount_at(&view[s].entries, i);
            p->present[s][row[s][i]] = 1;
        }
    }
    return HD_OK;
}

static uint64_t hd__distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

static uint8_t hd__diff_flags(const hd__amount *before, const hd__amount *after) {
    double change = (double)hd__distance(before->bytes, after->bytes);
    double variance = before->variance + after->variance;
    uint8_t flags = 0;
    if (before->bytes < after->bytes) flags = before->bytes ? HD_DIFF_GROWN : HD_DIFF_NEW;
    if (before->bytes > after->bytes) flags = after->bytes ? HD_DIFF_SHRUNK : HD_DIFF_GONE;
    if (variance > 0 && change * change <= 4 * variance) flags |= HD_DIFF_NOISE;
    return flags;
}

/* A diff of the rows of `sealed`, which say as their blocks which of the amounts are theirs. Takes it. */
static hd_status hd__diff_make(hd_breakdown *sealed, const hd__amount *side0, const hd__amount *side1,
                               const uint8_t *bound, hd__mem mem, hd_diff **out, hd_error *err) {
    uint32_t n = sealed->entries.count;
    hd_rows *rows[2];
    hd__diff *d = (hd__diff *)hd__realloc(&mem, NULL, 0, sizeof *d);
    uint64_t *numbers;
    double *variance;
    uint8_t *flags;
    if (d) {
        memset(d, 0, sizeof *d);
        d->mem = mem;
        d->amounts = (hd__amount *)hd__calloc(&d->mem, n, 2 * sizeof *d->amounts + 1);
        mem = d->mem;
    }
    if (!d || !d->amounts) {
        if (d) hd__free(&mem, d, sizeof *d);
        hd_breakdown_free(sealed);
        return hd__no_memory(&mem, err);
    }
    d->entries = sealed;
    numbers = (uint64_t *)d->amounts;
    variance = (double *)(numbers + 4 * (size_t)n);
    flags = (uint8_t *)(variance + 2 * (size_t)n);
    memcpy(d->shown.axis, sealed->axis, sizeof sealed->axis);
    rows[0] = &d->shown.before;
    rows[1] = &d->shown.after;
    for (uint32_t s = 0; s < 2; s++) {
        *rows[s] = sealed->entries;
        rows[s]->bytes = numbers + 2 * (size_t)s * n;
        rows[s]->blocks = numbers + (2 * (size_t)s + 1) * n;
        rows[s]->variance = variance + (size_t)s * n;
    }
    for (uint32_t i = 0; i < n; i++) {
        size_t from = (size_t)sealed->entries.blocks[i];
        const hd__amount *amount[2];
        amount[0] = &side0[from];
        amount[1] = &side1[from];
        for (uint32_t s = 0; s < 2; s++) {
            numbers[2 * (size_t)s * n + i] = amount[s]->bytes;
            numbers[(2 * (size_t)s + 1) * n + i] = amount[s]->blocks;
            variance[(size_t)s * n + i] = amount[s]->variance;
        }
        flags[i] = hd__diff_flags(amount[0], amount[1]);
        if (bound && bound[from]) flags[i] |= HD_DIFF_BOUND;
    }
    d->shown.gross = sealed->entries.bytes;
    d->shown.flags = flags;
    *out = &d->shown;
    return HD_OK;
}

HEAPDUMP_API void hd_diff_free(hd_diff *diff) {
    hd__diff *d = (hd__diff *)diff;
    hd__mem mem;
    if (!d) return;
    hd__cfree(&d->mem, d->amounts, d->entries->entries.count, 2 * sizeof *d->amounts + 1);
    hd_breakdown_free(d->entries);
    mem = d->mem;
    hd__free(&mem, d, sizeof *d);
}

/* Rows sealed, numbered by their blocks, and made a diff. `numbers` holds a number per row. */
static hd_status hd__diff_seal(hd__mem mem, const hd_axis *axes, hd_rows rows, uint64_t *numbers,
                               const hd__amount *side0, const hd__amount *side1, const uint8_t *bound,
                               const hd_rows *atoms, const hd_cutoff *cutoff, const hd_options *options,
                               hd_diff **out, hd_error *err) {
    hd_breakdown *sealed;
    double least;
    rows.blocks = numbers;
    HD__TRY(hd__seal_budget(mem, axes, rows, atoms, cutoff, options, &least, &sealed, err));
    mem.used = 0;
    mem.limit -= ((hd__breakdown *)sealed)->mem.used;
    return hd__diff_make(sealed, side0, side1, bound, mem, out, err);
}

static hd_status hd__compare_cells(hd__pair *p, const hd_cutoff *cutoff, const hd_options *options,
                                   hd_diff **out, hd_error *err) {
    hd_profile *both = p->both;
    uint32_t n = hd_profile_cells(both).count;
    hd_options rest;
    hd__export x;
    uint64_t *numbers;
    hd_status status;
    for (uint32_t i = 0; i < n; i++) {
        both->cells.bytes[i] = hd__distance(p->side[0][i].bytes, p->side[1][i].bytes);
        if (!hd__sum(&both->total_bytes, both->cells.bytes[i]))
            return hd__fail(err, HD_OVERFLOW, "the sum of all changes passes 2^64 bytes");
    }
    memset(&rest, 0, sizeof rest);
    if (options) rest = *options;
    rest.limits.max_memory = both->mem.limit - both->mem.used;
    memset(&x, 0, sizeof x);
    x.side[0] = p->side[0];
    x.side[1] = p->side[1];
    status = hd__export_rows(&x, both, cutoff, &rest, err);
    if (!status) {
        hd_rows rows = hd__table_rows(&x.out), atoms = rows;
        hd_axis axes[HD_MAX_AXES];
        for (uint32_t a = 0; a < rows.axis_count; a++) axes[a] = x.axis[a].named;
        numbers = (uint64_t *)hd__arena_take(&x.mem, &x.arena, rows.count, sizeof *numbers);
        for (uint32_t i = 0; numbers && i < rows.count; i++) numbers[i] = i;
        if (!numbers) status = hd__no_memory(&x.mem, err);
        if (!status && hd__has_budget(cutoff)) status = hd__export_atoms(&x, &atoms, err);
        if (!status)
            status = hd__diff_seal(hd__mem_rest(&x.mem), axes, rows, numbers, x.sum[0], x.sum[1], NULL,
                                   &atoms, cutoff, options, out, err);
    }
    hd__export_free(&x);
    return status;
}

/* Marks the entries that one heap does not list although what is above them along each axis leaves room
   for them. `order`, `parent` and `stack` hold a number per entry, `rest` what each has beyond its
   children. */
typedef struct hd__bounds {
    const hd_breakdown *united;
    uint32_t *order, *parent, *stack;
    uint64_t *rest;
    uint8_t *possible;           /* by entry: axes along which there is room */
} hd__bounds;

static void hd__bounds_along(hd__bounds *x, uint32_t axis, const hd__amount *side, const uint8_t *present) {
    const hd_rows *rows = &x->united->entries;
    const uint32_t *end = x->united->axis[axis].end;
    uint32_t depth = 0;
    for (uint32_t k = 0; k < rows->count; k++) {
        uint32_t e = x->order[k], at = hd__entry_node(x->united, e, axis);
        if (k && !hd__same_but(rows, axis, x->order[k - 1], e)) depth = 0;
        while (depth && end[hd__entry_node(x->united, x->stack[depth - 1], axis)] <= at) depth--;
        x->parent[e] = depth ? x->stack[depth - 1] : HD_NONE;
        if (!present[e]) continue;
        x->rest[e] = side[e].bytes;
        if (depth) x->rest[x->parent[e]] = hd__less(x->rest[x->parent[e]], side[e].bytes);
        x->stack[depth++] = e;
    }
    for (uint32_t e = 0; e < rows->count; e++)
        if (!present[e] && (x->parent[e] == HD_NONE || x->rest[x->parent[e]])) x->possible[e]++;
}

/* United entries in canonical order: their amounts, whether each side lists them, and bounds. */
static hd_status hd__compare_entries(hd__pair *p, const hd_cutoff *cutoff, const hd_options *options,
                                     hd_diff **out, hd_error *err) {
    hd__mem *m = &p->both->mem;
    hd_breakdown *united;
    hd_rows rows = hd_profile_cells(p->both);
    hd_axis axes[HD_MAX_AXES];
    uint32_t n = rows.count;
    uint64_t *numbers = (uint64_t *)hd__arena_take(m, &p->arena, n, sizeof *numbers), *gross;
    hd__amount *side[2];
    uint8_t *present, *bound, *listed;
    hd__bounds x;
    hd__entry_order o;
    hd_status status;
    if (!numbers) return hd__no_memory(m, err);
    for (uint32_t i = 0; i < n; i++) numbers[i] = i;
    for (uint32_t a = 0; a < rows.axis_count; a++) axes[a] = hd_profile_axis(p->both, a);
    rows.blocks = numbers;
    HD__TRY(hd__seal(hd__mem_rest(m), axes, rows, NULL, &united, err));
    p->exported[p->exported[0] != NULL] = united; /* to be freed */
    m->used += ((hd__breakdown *)united)->mem.used;
    x.united = united;
    side[0] = (hd__amount *)hd__arena_take(m, &p->arena, n, 2 * sizeof *side[0]);
    x.order = (uint32_t *)hd__arena_take(m, &p->arena, n, 3 * sizeof *x.order);
    x.rest = (uint64_t *)hd__arena_take(m, &p->arena, n, 2 * sizeof *x.rest);
    x.possible = (uint8_t *)hd__arena_take(m, &p->arena, n, 4);
    if (!side[0] || !x.order || !x.rest || !x.possible) return hd__no_memory(m, err);
    side[1] = side[0] + n;
    x.parent = x.order + n;
    x.stack = x.parent + n;
    gross = x.rest + n;
    present = x.possible + n;
    bound = present + n;
    listed = bound + n;
    memset(bound, 0, 2 * (size_t)n);
    o.breakdown = united;
    o.parent = NULL;
    for (int s = 0; s < 2; s++) {
        memset(x.possible, 0, n);
        for (uint32_t e = 0; e < n; e++) {
            size_t from = (size_t)united->entries.blocks[e];
            side[s][e] = p->side[s][from];
            present[e] = p->present[s][from];
        }
        for (uint32_t a = 0; a < rows.axis_count && !p->complete[s]; a++) {
            for (uint32_t e = 0; e < n; e++) x.order[e] = e;
            o.axis = a;
            hd__sort(x.order, x.parent, n, hd__by_axis_last, &o);
            hd__bounds_along(&x, a, side[s], present);
        }
        for (uint32_t e = 0; e < n; e++) bound[e] |= x.possible[e] == rows.axis_count;
    }
    for (uint32_t e = 0; e < n; e++) gross[e] = hd__distance(side[0][e].bytes, side[1][e].bytes);
    for (uint32_t a = 0; a < rows.axis_count; a++) {
        for (uint32_t e = 0; e < n; e++) x.order[e] = e;
        o.axis = a;
        hd__sort(x.order, x.parent, n, hd__by_axis_last, &o);
        hd__nearest_listed(united, a, x.order, x.stack, x.parent);
        for (uint32_t k = n; k-- > 0;) {
            uint32_t e = x.order[k], above = x.parent[e];
            if (above != HD_NONE && gross[above] < gross[e]) gross[above] = gross[e];
        }
    }
    for (uint32_t e = 0; e < n; e++) {
        gross[0] = gross[e] > gross[0] ? gross[e] : gross[0];
        numbers[e] = e;
    }
    united->entries.bytes = gross;
    status = hd__cut_run(m, &p->arena, united, cutoff, listed, err);
    united->entries.blocks = numbers;
    if (!status) status = hd__rows_listed(m, &p->arena, &united->entries, listed, &rows, err);
    if (!status)
        status = hd__diff_seal(hd__mem_rest(m), united->axis, rows, (uint64_t *)(uintptr_t)rows.blocks,
                               side[0], side[1], bound, NULL, cutoff, options, out, err);
    return status;
}

HEAPDUMP_API hd_status hd_compare(const hd_heap *before, const hd_heap *after, const hd_cutoff *cutoff,
                                  const hd_options *options, hd_diff **out, hd_error *err) {
    hd_heap heaps[2];
    hd__pair pair;
    hd_cutoff changed;
    hd_status status;
    HD__TRY(hd__check_heap(before, err));
    HD__TRY(hd__check_heap(after, err));
    memset(&changed, 0, sizeof changed);
    if (cutoff) changed = *cutoff;
    HD__TRY(hd__check_cutoff(&changed, err));
    if (!changed.min_bytes) changed.min_bytes = 1;
    memset(&pair, 0, sizeof pair);
    heaps[0] = *before;
    heaps[1] = *after;
    status = hd__pair_unite(&pair, heaps, options, err);
    if (!status)
        status = pair.cells ? hd__compare_cells(&pair, &changed, options, out, err)
                            : hd__compare_entries(&pair, &changed, options, out, err);
    hd__pair_free(&pair);
    return status;
}

/* The tree. -----------------------------------------------------------------------------------
   Of one heap, or of two that are compared: then each row has two amounts, and sizes to sort by are how
   much changed. */

/* An entry whose rows are being emitted: where it is among the children along which axis. */
typedef struct hd__walk_level {
    uint32_t entry;
    uint32_t turn;               /* how many axes are behind it */
    uint32_t next;               /* index of the child to emit next */
    hd__amount rest[2];          /* not in children emitted so far along this axis */
} hd__walk_level;

typedef struct hd__walk_row {
    uint32_t depth, axis, entry;
    hd_str name;
    hd__amount amount[2];
    unsigned flags;
} hd__walk_row;

typedef struct hd__walk {
    hd__mem mem;
    hd__arena arena;
    const hd_breakdown *breakdown;
    const hd_diff *diff;         /* NULL: of one heap */
    hd_rows rows[2];
    uint32_t sides;              /* of `rows` */
    hd__children children[HD_MAX_AXES];
    hd__walk_level *levels;      /* stb_ds arrays */
    char *name;
    uint32_t first_axis;
    bool every_route;
} hd__walk;

/* Axes in turn: the first, then the others in order. */
static uint32_t hd__walk_axis(const hd__walk *w, uint32_t turn) {
    return turn == 0 ? w->first_axis : turn <= w->first_axis ? turn - 1 : turn;
}

static bool hd__append(hd__mem *m, char **text, hd_str s) {
    char *t = *text;
    if (!hd__room(m, t, s.len + 1)) return false;
    *text = t;
    if (s.len) memcpy(t + hd__len(t), s.data, s.len);
    hd__set_len(t, hd__len(t) + s.len);
    return true;
}

/* The names that lead from an entry to one below it, of which the last few are enough. */
static bool hd__walk_name(hd__walk *w, uint32_t from, uint32_t to, hd_str *name) {
    enum { SHOWN = 8 };
    const hd_breakdown *b = w->breakdown;
    hd__set_len(w->name, 0);
    name->data = NULL;
    for (uint32_t a = 0; a < b->entries.axis_count; a++) {
        const hd_axis *axis = &b->axis[a];
        uint32_t above = hd__entry_node(b, from, a), i = hd__entry_node(b, to, a), path[SHOWN], n = 0;
        for (; n < SHOWN && i != above && i != HD_NONE; i = axis->parent[i]) path[n++] = i;
        if (!n) continue;
        if (n == 1 && !name->data) {
            *name = axis->node_name[path[0]];
            if (!hd__append(&w->mem, &w->name, *name)) return false;
            continue;
        }
        if (hd__len(w->name) && !hd__append(&w->mem, &w->name, hd_cstr(", "))) return false;
        if (i != above && i != HD_NONE && !hd__append(&w->mem, &w->name, hd_cstr(".../"))) return false;
        while (n--)
            if (!hd__append(&w->mem, &w->name, axis->node_name[path[n]]) ||
                (n && !hd__append(&w->mem, &w->name, hd_cstr("/"))))
                return false;
        name->data = w->name;
        name->len = hd__len(w->name);
    }
    if (!name->data) *name = hd_cstr("");
    return true;
}

/* What an entry holds, before any of its children was emitted. */
static void hd__walk_whole(const hd__walk *w, hd__walk_level *l) {
    for (uint32_t s = 0; s < w->sides; s++) l->rest[s] = hd__amount_at(&w->rows[s], l->entry);
}

static bool hd__walk_enter(hd__walk *w, uint32_t entry) {
    hd__walk_level level;
    memset(&level, 0, sizeof level);
    level.entry = entry;
    level.next = w->children[w->first_axis].first[entry];
    hd__walk_whole(w, &level);
    return hd__push(&w->mem, w->levels, level);
}

static bool hd__walk_child(hd__walk *w, hd__walk_level *l, uint32_t e, hd__walk_row *row) {
    uint32_t parent = l->entry;
    row->entry = e;
    row->flags = w->diff ? w->diff->flags[e] : 0;
    for (uint32_t s = 0; s < w->sides; s++) {
        row->amount[s] = hd__amount_at(&w->rows[s], e);
        hd__amount_take(&l->rest[s], row->amount[s]);
    }
    return hd__walk_name(w, parent, e, &row->name) && hd__walk_enter(w, e);
}

/* The row that comes next, false at the end. *fail is set when out of memory. */
static bool hd__walk_next(hd__walk *w, hd__walk_row *row, bool *fail) {
    while (hd__len(w->levels)) {
        hd__walk_level *l = &stbds_arrlast(w->levels);
        uint32_t a = hd__walk_axis(w, l->turn);
        const hd__children *c = &w->children[a];
        bool any = c->first[l->entry] < c->first[l->entry + 1];
        row->depth = (uint32_t)hd__len(w->levels);
        row->axis = a;
        if (l->next < c->first[l->entry + 1]) {
            uint32_t e = c->child[l->next++];
            *fail = !hd__walk_child(w, l, e, row);
            return !*fail;
        }
        row->entry = HD_NONE;
        row->amount[0] = l->rest[0];
        row->amount[1] = l->rest[1];
        row->flags = w->diff ? hd__diff_flags(&l->rest[0], &l->rest[1]) : 0;
        row->name = hd_cstr("<other>");
        if (++l->turn < w->breakdown->entries.axis_count && (w->every_route || !any)) {
            l->next = w->children[hd__walk_axis(w, l->turn)].first[l->entry];
            hd__walk_whole(w, l);
        } else {
            (void)stbds_arrpop(w->levels);
        }
        if (any && (w->diff ? row->amount[0].bytes != row->amount[1].bytes : row->amount[0].bytes > 0))
            return true;
    }
    return false;
}

typedef hd_status (*hd__walk_fn)(void *user, const hd__walk *w, const hd__walk_row *row);

static hd_status hd__walk_run(hd__walk *w, hd__walk_fn emit, void *user, hd_error *err) {
    hd__walk_row row;
    hd_status status;
    bool fail = false;
    if (w->first_axis >= w->breakdown->entries.axis_count)
        return hd__fail(err, HD_INVALID, "no axis %u", (uint64_t)w->first_axis);
    HD__TRY(hd__children_build(&w->mem, &w->arena, w->breakdown, w->children, err));
    if (!hd__walk_enter(w, 0)) return hd__no_memory(&w->mem, err);
    memset(&row, 0, sizeof row);
    row.name = hd_cstr("");
    for (uint32_t s = 0; s < w->sides; s++) row.amount[s] = hd__amount_at(&w->rows[s], 0);
    row.flags = w->diff ? w->diff->flags[0] : 0;
    status = emit(user, w, &row);
    while (!status && hd__walk_next(w, &row, &fail)) status = emit(user, w, &row);
    return fail ? hd__no_memory(&w->mem, err) : status;
}

/* The rows of a heap, or of two. */
static hd_status hd__walk_heaps(const hd_heap *heap, const hd_heap *after, const hd_tree_options *options,
                                hd__walk_fn emit, void *user, hd_error *err) {
    hd_breakdown *b = NULL;
    hd_diff *diff = NULL;
    hd__walk w;
    hd_status status;
    memset(&w, 0, sizeof w);
    if (after) HD__TRY(hd_compare(heap, after, &options->cutoff, &options->options, &diff, err));
    else HD__TRY(hd_heap_break_down(heap, &options->cutoff, &options->options, &b, err));
    w.diff = diff;
    w.breakdown = diff ? ((hd__diff *)diff)->entries : b;
    w.rows[0] = diff ? diff->before : b->entries;
    if (diff) w.rows[1] = diff->after;
    w.sides = diff ? 2 : 1;
    w.mem = hd__mem_rest(&((hd__breakdown *)(uintptr_t)w.breakdown)->mem);
    if (diff) w.mem.limit -= ((hd__diff *)diff)->mem.used;
    w.first_axis = options->first_axis;
    w.every_route = options->every_route;
    status = hd__walk_run(&w, emit, user, err);
    hd__arr_free(&w.mem, w.levels);
    hd__arr_free(&w.mem, w.name);
    hd__arena_free(&w.mem, &w.arena);
    hd_breakdown_free(b);
    hd_diff_free(diff);
    return status;
}

typedef struct hd__tree_user {
    hd_status (*row)(void *user, const hd_tree_row *row);
    hd_status (*diff_row)(void *user, const hd_diff_row *row);
    void *user;
} hd__tree_user;

static hd_status hd__tree_emit(void *user, const hd__walk *w, const hd__walk_row *from) {
    const hd__tree_user *u = (const hd__tree_user *)user;
    hd_tree_row row;
    row.depth = from->depth;
    row.axis = from->axis;
    row.entry = from->entry;
    row.name = from->name;
    row.bytes = from->amount[0].bytes;
    row.blocks = from->amount[0].blocks;
    row.variance = from->amount[0].variance;
    row.breakdown = w->breakdown;
    return u->row(u->user, &row);
}

static hd_status hd__diff_emit(void *user, const hd__walk *w, const hd__walk_row *from) {
    const hd__tree_user *u = (const hd__tree_user *)user;
    hd_diff_row row;
    row.depth = from->depth;
    row.axis = from->axis;
    row.entry = from->entry;
    row.name = from->name;
    for (int s = 0; s < 2; s++) {
        row.bytes[s] = from->amount[s].bytes;
        row.blocks[s] = from->amount[s].blocks;
        row.variance[s] = from->amount[s].variance;
    }
    row.flags = from->flags;
    row.diff = w->diff;
    return u->diff_row(u->user, &row);
}

HEAPDUMP_API hd_status hd_tree(const hd_heap *heap, const hd_tree_options *options,
                               hd_status (*row)(void *user, const hd_tree_row *row), void *user,
                               hd_error *err) {
    hd_tree_options none;
    hd__tree_user u;
    memset(&none, 0, sizeof none);
    memset(&u, 0, sizeof u);
    u.row = row;
    u.user = user;
    return hd__walk_heaps(heap, NULL, options ? options : &none, hd__tree_emit, &u, err);
}

HEAPDUMP_API hd_status hd_diff_tree(const hd_heap *before, const hd_heap *after,
                                    const hd_tree_options *options,
                                    hd_status (*row)(void *user, const hd_diff_row *row), void *user,
                                    hd_error *err) {
    hd_tree_options none;
    hd__tree_user u;
    memset(&none, 0, sizeof none);
    memset(&u, 0, sizeof u);
    u.diff_row = row;
    u.user = user;
    return hd__walk_heaps(before, after, options ? options : &none, hd__diff_emit, &u, err);
}

/* Columns of indentation; rows beyond say their depth instead, so that the text of a tree stays in
   proportion to its rows. */
#define HD__INDENT_MOST 200

/* A row that leads to the current one. */
typedef struct hd__tree_line {
    uint64_t bytes[2];
    uint32_t indent;
} hd__tree_line;

typedef struct hd__tree_print {
    hd__mem mem;
    hd_sink sink;
    const hd_heap *heap, *after; /* after: NULL, or what the heap is compared with */
    uint64_t total;
    size_t width, blocks_width;  /* of the columns */
    hd__tree_line *above;        /* stb_ds array, by depth */
    bool units, joins, estimates;
} hd__tree_print;

/* A size to the nearest tenth of the unit that suits it, or in full; returns its length. */
static size_t hd__size_text(char text[24], uint64_t bytes, bool units) {
    static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    char digits[20], *p;
    unsigned u = 0;
    uint64_t tenths = 0;
    size_t n;
    while (units && u < 5 && bytes >> (10 * u) >= 1u << 20) u++;
    if (units && bytes >= 1024)
        do tenths = ((bytes >> (10 * u++)) * 10 + 512) / 1024;
        while (tenths >= 10240 && u < 6);
    p = hd__digits(digits, u ? tenths / 10 : bytes, 10);
    n = (size_t)(digits + 20 - p);
    memcpy(text, p, n);
    if (u) {
        text[n++] = '.';
        text[n++] = (char)('0' + tenths % 10);
    }
    if (units) {
        text[n++] = ' ';
        memcpy(text + n, unit[u], strlen(unit[u]));
        n += strlen(unit[u]);
    }
    return n;
}

static void hd__sink_right(hd_sink *s, const char *text, size_t n, size_t width) {
    if (n < width) hd__sink_pad(s, width - n);
    hd__sink_put(s, text, n);
}

static void hd__print_size(hd_sink *s, uint64_t bytes, bool units, size_t width) {
    char text[24];
    hd__sink_right(s, text, hd__size_text(text, bytes, units), width);
}

/* The width of a column of sizes of which this is the largest. */
static size_t hd__size_width(uint64_t bytes, bool units) {
    char text[24];
    size_t width = hd__size_text(text, bytes, units);
    return units && width < 10 ? 10 : width;
}

static void hd__print_blocks(hd_sink *s, uint64_t blocks, size_t width) {
    char digits[20], *p = hd__digits(digits, blocks, 10);
    if (blocks == HD_UNKNOWN) *(p = digits + 19) = '-';
    hd__sink_right(s, p, (size_t)(digits + 20 - p), width);
}

/* 0, for no column, when the whole is not told. */
static size_t hd__blocks_width(uint64_t blocks) {
    char digits[20];
    return blocks == HD_UNKNOWN ? 0 : (size_t)(digits + 20 - hd__digits(digits, blocks, 10));
}

/* Whether a terminal shows the UTF-8 sequence of n bytes at p, and does not take it for an order: controls,
   lone surrogates, breaks of lines, directions to write in. */
static bool hd__is_shown(const unsigned char *p, unsigned n) {
    if (n == 1) return *p >= 32 && *p != 127;
    if (n == 2) return p[0] != 0xc2 || p[1] >= 0xa0;
    if (n != 3) return n != 0;
    if (p[0] == 0xe2 && p[1] == 0x80) return p[2] < 0xa8 || p[2] > 0xae;
    if (p[0] == 0xe2 && p[1] == 0x81) return p[2] < 0xa6 || p[2] > 0xa9;
    return p[0] != 0xed || p[1] < 0xa0;
}

/* A name is within one line, whatever is in it. */
static void hd__print_name(hd_sink *s, hd_str name) {
    const unsigned char *p = (const unsigned char *)name.data, *end = p + name.len;
    while (p < end) {
        unsigned n = hd__utf8(p, (size_t)(end - p));
        if (hd__is_shown(p, n)) hd__sink_put(s, (const char *)p, n);
        else hd__sink_put(s, "?", 1);
        p += n ? n : 1;
    }
}

/* Behind a sign of `sign` bytes that takes one column. */
static void hd__print_share(hd_sink *s, uint64_t part, uint64_t whole, const char *sign) {
    char text[24], *p;
    double share = whole ? (double)part / (double)whole : 0;
    uint64_t tenths = (uint64_t)((share < 1e6 ? share : 1e6) * 1000 + 0.5);
    size_t n = strlen(sign);
    p = hd__digits(text + 4, tenths % 10, 10);
    *--p = '.';
    do *--p = (char)('0' + (tenths / 10) % 10), tenths /= 10;
    while (tenths >= 10);
    memcpy(p -= n, sign, n);
    hd__sink_right(s, p, (size_t)(text + 24 - p), 7 + (n > 1 ? n - 1 : 0));
    hd__sink_put(s, "%", 1);
}

static void hd__print_label(hd_sink *s, const hd_heap *heap) {
    char digits[20], *p = hd__digits(digits, heap->pid, 10);
    hd__sink_str(s, heap->allocator ? hd_cstr(heap->allocator) : hd_cstr("total"));
    if (heap->process) {
        hd__sink_str(s, hd_cstr(", "));
        hd__sink_str(s, hd_cstr(heap->process));
    }
    if (heap->pid) {
        hd__sink_str(s, hd_cstr(", pid "));
        hd__sink_put(s, p, (size_t)(digits + 20 - p));
    }
    if (heap->dump) {
        hd__sink_str(s, hd_cstr(", dump "));
        hd__sink_str(s, hd_cstr(heap->dump));
    }
    if (heap->sample_bytes) {
        char text[24];
        hd__sink_str(s, hd_cstr(", sampled every "));
        hd__sink_put(s, text, hd__size_text(text, heap->sample_bytes, true));
    }
}

/* Goes to the row's level, and says how far to indent. */
static bool hd__line_enter(hd__tree_print *t, const hd__walk_row *row, uint32_t *indent) {
    hd__tree_line line;
    line.bytes[0] = row->amount[0].bytes;
    line.bytes[1] = row->amount[1].bytes;
    line.indent = 0;
    if (row->depth) {
        const hd__tree_line *above;
        hd__set_len(t->above, row->depth);
        above = &t->above[row->depth - 1];
        line.indent = above->indent + 2;
        if (t->joins && row->depth > 1 && row->axis == HD_AXIS_BACKTRACE &&
            line.bytes[0] == above->bytes[0] && line.bytes[1] == above->bytes[1])
            line.indent -= 2;
    }
    *indent = line.indent;
    return hd__push(&t->mem, t->above, line);
}

static void hd__line_name(hd__tree_print *t, const hd__walk_row *row, uint32_t indent) {
    hd_sink *s = &t->sink;
    hd__sink_pad(s, 2 + (size_t)(indent < HD__INDENT_MOST ? indent : HD__INDENT_MOST));
    if (indent > HD__INDENT_MOST) {
        char digits[20], *p = hd__digits(digits, row->depth, 10);
        hd__sink_put(s, "[", 1), hd__sink_put(s, p, (size_t)(digits + 20 - p)), hd__sink_put(s, "] ", 2);
    }
    if (row->depth && row->entry != HD_NONE && row->axis != HD_AXIS_BACKTRACE) hd__sink_put(s, ": ", 2);
    if (row->depth) hd__print_name(s, row->name);
}

static hd_status hd__print_row(void *user, const hd__walk *w, const hd__walk_row *row) {
    hd__tree_print *t = (hd__tree_print *)user;
    hd_sink *s = &t->sink;
    const hd__amount *a = &row->amount[0];
    uint32_t indent;
    (void)w;
    if (!row->depth) {
        t->total = a->bytes;
        t->estimates = t->heap->sample_bytes || a->variance > 0;
        t->width = hd__size_width(a->bytes, t->units);
        t->blocks_width = hd__blocks_width(a->blocks);
    }
    if (!hd__line_enter(t, row, &indent)) return HD_OUT_OF_MEMORY;
    hd__print_size(s, a->bytes, t->units, t->width);
    if (t->estimates) hd__print_share(s, hd_standard_error(a->variance), a->bytes, "\xc2\xb1");
    hd__print_share(s, a->bytes, t->total, "");
    if (t->blocks_width) hd__print_blocks(s, a->blocks, t->blocks_width + 2);
    hd__line_name(t, row, indent);
    if (!row->depth) hd__print_label(s, t->heap);
    hd__sink_put(s, "\n", 1);
    return s->status;
}

/* Behind its sign, of one or two bytes and one column, with "~" in front if it may be chance. */
static void hd__print_change(hd_sink *s, uint64_t change, const char *sign, bool noise, bool units,
                             size_t width) {
    char text[32];
    size_t n = strlen(sign), extra = n > 1 ? n - 1 : 0;
    if (noise) text[0] = '~';
    memcpy(text + noise, sign, n);
    n += noise;
    n += hd__size_text(text + n, change, units);
    hd__sink_right(s, text, n, width + extra);
}

static const char *hd__sign(uint64_t before, uint64_t after) {
    return after > before ? "+" : after < before ? "-" : " ";
}

static hd_status hd__print_diff_row(void *user, const hd__walk *w, const hd__walk_row *row) {
    hd__tree_print *t = (hd__tree_print *)user;
    hd_sink *s = &t->sink;
    const hd__amount *x = &row->amount[0], *y = &row->amount[1];
    uint32_t indent;
    (void)w;
    if (!row->depth) {
        uint64_t most = w->diff->gross[0], blocks;
        if (x->bytes > most) most = x->bytes;
        if (y->bytes > most) most = y->bytes;
        blocks = x->blocks == HD_UNKNOWN || y->blocks == HD_UNKNOWN ? HD_UNKNOWN
                 : x->blocks > y->blocks                            ? x->blocks
                                                                    : y->blocks;
        t->estimates = t->heap->sample_bytes || t->after->sample_bytes || x->variance > 0 || y->variance > 0;
        t->width = hd__size_width(most, t->units);
        t->blocks_width = hd__blocks_width(blocks);
    }
    if (!hd__line_enter(t, row, &indent)) return HD_OUT_OF_MEMORY;
    hd__print_change(s, hd__distance(x->bytes, y->bytes), hd__sign(x->bytes, y->bytes),
                     row->flags & HD_DIFF_NOISE, t->units, t->width + 2);
    if (t->estimates)
        hd__print_change(s, hd_standard_error(x->variance + y->variance), "\xc2\xb1", false, t->units,
                         t->width + 3);
    hd__print_size(s, x->bytes, t->units, t->width + 2);
    hd__print_size(s, y->bytes, t->units, t->width + 2);
    if (t->blocks_width) {
        if (x->blocks == HD_UNKNOWN || y->blocks == HD_UNKNOWN)
            hd__print_blocks(s, HD_UNKNOWN, t->blocks_width + 3);
        else hd__print_change(s, hd__distance(x->blocks, y->blocks), hd__sign(x->blocks, y->blocks), false,
                              false, t->blocks_width + 3);
    }
    hd__line_name(t, row, indent);
    if (!row->depth) {
        hd__print_label(s, t->heap);
        hd__sink_str(s, hd_cstr(" -> "));
        hd__print_label(s, t->after);
    } else if (row->flags & (HD_DIFF_NEW | HD_DIFF_GONE)) {
        hd__sink_str(s, hd_cstr(row->flags & HD_DIFF_NEW ? " (new" : " (gone"));
        hd__sink_str(s, hd_cstr(row->flags & HD_DIFF_BOUND ? "?)" : ")"));
    }
    hd__sink_put(s, "\n", 1);
    return s->status;
}

static hd_status hd__print_heaps(const hd_heap *heap, const hd_heap *after, const hd_tree_options *options,
                                 hd_out out) {
    hd_tree_options none;
    hd__tree_print t;
    hd_status status;
    memset(&none, 0, sizeof none);
    if (!options) options = &none;
    memset(&t, 0, offsetof(hd__tree_print, sink));
    hd__sink_begin(&t.sink, out);
    t.mem = hd__mem_options(&options->options);
    t.heap = heap;
    t.after = after;
    t.above = NULL;
    t.units = options->units;
    t.joins = !options->every_route;
    status = hd__walk_heaps(heap, after, options, after ? hd__print_diff_row : hd__print_row, &t, NULL);
    hd__arr_free(&t.mem, t.above);
    return status ? status : hd__sink_flush(&t.sink);
}

HEAPDUMP_API hd_status hd_print_tree(const hd_heap *heap, const hd_tree_options *options, hd_out out) {
    return hd__print_heaps(heap, NULL, options, out);
}

HEAPDUMP_API hd_status hd_print_diff(const hd_heap *before, const hd_heap *after,
                                     const hd_tree_options *options, hd_out out) {
    return hd__print_heaps(before, after, options, out);
}

/* Names of an axis. --------------------------------------------------------------------------- */

typedef struct hd__top {
    hd__mem mem;
    hd__arena arena;
    hd__strings names;
    hd_axis axis;
    hd__amount *self, *whole;    /* by node */
    uint8_t *used;               /* by node: whether cells stand at or below it */
    hd__amount *name_self, *name_whole; /* by name */
    uint32_t *order;             /* of names */
} hd__top;

static bool hd__top_before(const void *owner, uint32_t a, uint32_t b) {
    const hd__top *t = (const hd__top *)owner;
    uint64_t x = t->name_whole[a].bytes, y = t->name_whole[b].bytes;
    return x != y ? x > y : hd_str_compare(t->names.strings[a], t->names.strings[b]) < 0;
}

static bool hd__top_before_by_self(const void *owner, uint32_t a, uint32_t b) {
    const hd__top *t = (const hd__top *)owner;
    uint64_t x = t->name_self[a].bytes, y = t->name_self[b].bytes;
    return x != y ? x > y : hd__top_before(owner, a, b);
}

/* Self and whole of each node. */
static hd_status hd__top_nodes(hd__top *t, const hd_rows *cells, uint32_t axis, hd_error *err) {
    uint32_t n = t->axis.node_count;
    t->self = (hd__amount *)hd__arena_take(&t->mem, &t->arena, n, 2 * sizeof *t->self);
    t->used = (uint8_t *)hd__arena_take(&t->mem, &t->arena, n, 1);
    if (!t->self || !t->used) return hd__no_memory(&t->mem, err);
    t->whole = t->self + n;
    memset(t->self, 0, n * sizeof *t->self);
    memset(t->used, 0, n);
    for (uint32_t i = 0; i < cells->count; i++) {
        uint32_t at = cells->node[(size_t)i * cells->axis_count + axis];
        if (at && hd__is_self(t->axis.node_name[at])) at = t->axis.parent[at];
        hd__amount_add(&t->self[at], hd__amount_at(cells, i));
        t->used[at] = 1;
    }
    memcpy(t->whole, t->self, n * sizeof *t->self);
    for (uint32_t i = n; i-- > 1;) {
        hd__amount_add(&t->whole[t->axis.parent[i]], t->whole[i]);
        t->used[t->axis.parent[i]] |= t->used[i];
    }
    return HD_OK;
}

/* All nodes in preorder: order[i] is the i-th. `scratch` holds 2 x node_count numbers. */
static void hd__preorder(const hd_axis *axis, uint32_t *order, uint32_t *scratch) {
    uint32_t n = axis->node_count, *size = scratch, *next = scratch + n;
    for (uint32_t i = 0; i < n; i++) size[i] = 1;
    for (uint32_t i = n; i-- > 1;) size[axis->parent[i]] += size[i];
    order[0] = 0;
    next[0] = 1;
    for (uint32_t i = 1; i < n; i++) {
        uint32_t at = next[axis->parent[i]];
        next[axis->parent[i]] += size[i];
        next[i] = at + 1;
        order[at] = i;
    }
}

/* What each name has: its outermost nodes are told by how often it is on the path to a node. */
static hd_status hd__top_names(hd__top *t, hd_error *err) {
    hd__mem *m = &t->mem;
    uint32_t n = t->axis.node_count, depth = 0, names;
    uint32_t *number = (uint32_t *)hd__arena_take(m, &t->arena, n, 4 * sizeof *number);
    uint32_t *preorder = number + n, *path = number + 2 * (size_t)n, *open;
    if (!number) return hd__no_memory(m, err);
    for (uint32_t i = 0; i < n; i++) {
        number[i] = HD_NONE;
        if (!(i ? t->used[i] : t->self[0].bytes || t->self[0].blocks)) continue;
        number[i] = hd__strings_add(m, &t->arena, &t->names, i ? t->axis.node_name[i] : hd_cstr("<self>"));
        if (number[i] == HD_NONE) return hd__no_memory(m, err);
    }
    names = (uint32_t)hd__len(t->names.strings);
    hd__preorder(&t->axis, preorder, path);
    open = (uint32_t *)hd__arena_take(m, &t->arena, names, 3 * sizeof *open);
    t->name_self = (hd__amount *)hd__arena_take(m, &t->arena, names, 2 * sizeof *t->name_self);
    if (!open || !t->name_self) return hd__no_memory(m, err);
    t->order = open + names;
    t->name_whole = t->name_self + names;
    memset(open, 0, names * sizeof *open);
    memset(t->name_self, 0, 2 * names * sizeof *t->name_self);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = preorder[k], name = number[i];
        for (; depth && path[depth - 1] != t->axis.parent[i]; depth--)
            if (number[path[depth - 1]] != HD_NONE) open[number[path[depth - 1]]]--;
        path[depth++] = i;
        if (name == HD_NONE) continue;
        hd__amount_add(&t->name_self[name], t->self[i]);
        if (!open[name]) hd__amount_add(&t->name_whole[name], i ? t->whole[i] : t->self[i]);
        if (i) open[name]++;
        else number[i] = HD_NONE; /* the root is on every path, by no name */
    }
    return HD_OK;
}

static hd_status hd__top_run(hd__top *t, const hd_profile *p, const hd_top_options *options, uint32_t axis,
                             hd_status (*emit)(void *user, const hd_top_row *row), void *user,
                             hd_error *err) {
    hd_rows cells = hd_profile_cells(p);
    uint32_t n;
    hd_status status = HD_OK;
    t->axis = hd_profile_axis(p, axis);
    HD__TRY(hd__top_nodes(t, &cells, axis, err));
    HD__TRY(hd__top_names(t, err));
    n = (uint32_t)hd__len(t->names.strings);
    for (uint32_t i = 0; i < n; i++) t->order[i] = i;
    hd__sort(t->order, t->order + n, n, options->by_self ? hd__top_before_by_self : hd__top_before, t);
    if (options->count && n > options->count) n = options->count;
    for (uint32_t i = 0; i < n && !status; i++) {
        uint32_t name = t->order[i];
        hd_top_row row;
        row.name = t->names.strings[name];
        row.self_bytes = t->name_self[name].bytes;
        row.self_blocks = t->name_self[name].blocks;
        row.self_variance = t->name_self[name].variance;
        row.bytes = t->name_whole[name].bytes;
        row.blocks = t->name_whole[name].blocks;
        row.variance = t->name_whole[name].variance;
        status = emit(user, &row);
    }
    return status;
}

HEAPDUMP_API hd_status hd_top(const hd_heap *heap, const hd_top_options *options,
                              hd_status (*emit)(void *user, const hd_top_row *row), void *user,
                              hd_error *err) {
    hd_top_options none;
    hd_profile *own = NULL;
    hd__top t;
    hd_status status;
    memset(&none, 0, sizeof none);
    if (!options) options = &none;
    HD__TRY(hd__check_axis(heap, options->axis, err));
    if (heap->breakdown)
        HD__TRY(hd_breakdown_axis_profile(heap->breakdown, options->axis, &options->options, &own, err));
    memset(&t, 0, sizeof t);
    t.mem = own ? hd__mem_rest(&own->mem) : hd__mem_options(&options->options);
    t.names.seed = hd__seed();
    status = hd__top_run(&t, own ? own : heap->profile, options, own ? 0 : options->axis, emit, user, err);
    hd__strings_free(&t.mem, &t.names);
    hd__arena_free(&t.mem, &t.arena);
    hd_profile_free(own);
    return status;
}

typedef struct hd__top_print {
    hd_sink sink;
    uint64_t total;
    size_t width, blocks_width;
    bool units, estimates;
} hd__top_print;

static hd_status hd__print_top_row(void *user, const hd_top_row *row) {
    hd__top_print *t = (hd__top_print *)user;
    hd_sink *s = &t->sink;
    hd__print_size(s, row->bytes, t->units, t->width);
    if (t->estimates) hd__print_share(s, hd_standard_error(row->variance), row->bytes, "\xc2\xb1");
    hd__print_share(s, row->bytes, t->total, "");
    hd__print_size(s, row->self_bytes, t->units, t->width + 2);
    if (t->estimates) hd__print_share(s, hd_standard_error(row->self_variance), row->self_bytes, "\xc2\xb1");
    hd__print_share(s, row->self_bytes, t->total, "");
    if (t->blocks_width) hd__print_blocks(s, row->blocks, t->blocks_width + 2);
    hd__sink_pad(s, 2);
    hd__print_name(s, row->name);
    hd__sink_put(s, "\n", 1);
    return s->status;
}

/* The heap itself is a line like the others, with its label. */
HEAPDUMP_API hd_status hd_print_top(const hd_heap *heap, const hd_top_options *options, hd_out out) {
    hd__top_print t;
    hd_breakdown view;
    hd__amount total = { 0, 0, 0 };
    hd_status status = hd__check_heap(heap, NULL);
    if (status) return status;
    view = hd__view(heap);
    for (uint32_t i = 0; i < (heap->breakdown ? 1 : view.entries.count); i++)
        hd__amount_add(&total, hd__amount_at(&view.entries, i));
    memset(&t, 0, sizeof t);
    hd__sink_begin(&t.sink, out);
    t.total = total.bytes;
    t.units = options && options->units;
    t.estimates = heap->sample_bytes || total.variance > 0;
    t.width = hd__size_width(total.bytes, t.units);
    t.blocks_width = hd__blocks_width(total.blocks);
    hd__print_size(&t.sink, total.bytes, t.units, t.width);
    if (t.estimates) hd__print_share(&t.sink, hd_standard_error(total.variance), total.bytes, "\xc2\xb1");
    hd__print_share(&t.sink, total.bytes, t.total, "");
    hd__sink_pad(&t.sink, t.width + 2 + 8 + (t.estimates ? 8 : 0));
    if (t.blocks_width) hd__print_blocks(&t.sink, total.blocks, t.blocks_width + 2);
    hd__sink_pad(&t.sink, 2);
    hd__print_label(&t.sink, heap);
    hd__sink_put(&t.sink, "\n", 1);
    status = hd_top(heap, options, hd__print_top_row, &t, NULL);
    return status ? status : hd__sink_flush(&t.sink);
}

/* ================================================================================== >>graph
   While a graph is filled, references and roots hold ids; sealing replaces them by numbers in place. Ids
   are found through an index that keeps the ids in ascending order (which they often are in a file, and
   then nothing is copied) and knows for each of at most as many equal ranges of ids where it starts:
   neighbours stay neighbours in memory, and a crafted file can make a look-up no worse than a binary
   search. Sizes of 2^32 - 1 and more stand in a list of their own. */

#if defined(__GNUC__)
#define HD__PREFETCH(p) __builtin_prefetch(p)
#else
#define HD__PREFETCH(p) ((void)0)
#endif

/* Numbers of 64 bits, most of which fit 32: `high` is there once one does not. stb_ds arrays. */
typedef struct hd__ids {
    uint32_t *low, *high;
} hd__ids;

HD__INLINE uint64_t hd__ids_get(const hd__ids *ids, size_t i) {
    return ids->low[i] | (ids->high ? (uint64_t)ids->high[i] << 32 : 0);
}

/* Room for `extra` more in each column there is. */
static bool hd__ids_room(hd__mem *m, hd__ids *ids, size_t extra) {
    return hd__room(m, ids->low, extra) && (!ids->high || hd__room(m, ids->high, extra));
}

/* Makes the high column, as long and with as much room as the low one. */
HD__NOINLINE static bool hd__ids_widen(hd__mem *m, hd__ids *ids) {
    size_t n = hd__len(ids->low);
    if (ids->high) return true;
    if (!hd__room(m, ids->high, stbds_arrcap(ids->low))) return false;
    memset(ids->high, 0, stbds_arrcap(ids->low) * sizeof *ids->high);
    hd__set_len(ids->high, n);
    return true;
}

static bool hd__ids_push(hd__mem *m, hd__ids *ids, uint64_t id) {
    if (!hd__ids_room(m, ids, 1) || (id >> 32 && !hd__ids_widen(m, ids))) return false;
    stbds_arrput(ids->low, (uint32_t)id);
    if (ids->high) stbds_arrput(ids->high, (uint32_t)(id >> 32));
    return true;
}

static void hd__ids_free(hd__mem *m, hd__ids *ids) {
    hd__arr_free(m, ids->low);
    hd__arr_free(m, ids->high);
}

/* Gives back what an stb_ds array has beyond its length; leaves it be when it cannot. */
static void hd__arr_trim(hd__mem *m, void *array, size_t element) {
    stbds_array_header *head;
    void *a;
    size_t length, capacity;
    memcpy(&a, array, sizeof a);
    length = stbds_arrlenu(a);
    capacity = stbds_arrcap(a);
    if (!a || !length || length == capacity) return;
    head = (stbds_array_header *)hd__realloc(m, stbds_header(a), sizeof *head + capacity * element,
                                             sizeof *head + length * element);
    if (!head) return;
    head->capacity = length;
    a = head + 1;
    memcpy(array, &a, sizeof a);
}
#define hd__trim(m, a) hd__arr_trim((m), &(a), sizeof *(a))

/* Sorts pairs of a key (upper half) and a number by key: a stable radix sort that leaves out the digits in
   which all keys agree. The result is in `pairs` or in `spare`; which one is returned. */
static uint64_t *hd__radix_sort_digits(uint64_t *pairs, uint64_t *spare, uint32_t n) {
    enum { BITS = 11, DIGITS = 1 << BITS, PASSES = 3 };
    uint32_t start[PASSES][DIGITS] = { { 0 } };
    for (uint32_t i = 0; i < n; i++)
        for (unsigned p = 0; p < PASSES; p++) start[p][pairs[i] >> (32 + BITS * p) & (DIGITS - 1)]++;
    for (unsigned p = 0; p < PASSES && n; p++) {
        unsigned shift = 32 + BITS * p;
        uint64_t *swap = spare;
        uint32_t at = 0;
        if (start[p][pairs[0] >> shift & (DIGITS - 1)] == n) continue;
        for (unsigned d = 0; d < DIGITS; d++) {
            uint32_t count = start[p][d];
            start[p][d] = at;
            at += count;
        }
        for (uint32_t i = 0; i < n; i++) spare[start[p][pairs[i] >> shift & (DIGITS - 1)]++] = pairs[i];
        spare = pairs;
        pairs = swap;
    }
    return pairs;
}

/* The same; more than a cache holds is first split by the leading digit in which keys differ, so that all
   other passes are over what a cache does hold. */
static uint64_t *hd__radix_sort(uint64_t *pairs, uint64_t *spare, uint32_t n) {
    enum { BITS = 11, DIGITS = 1 << BITS, SPLIT_FROM = 1 << 17 };
    uint32_t start[DIGITS + 1] = { 0 }, from = 0;
    uint64_t differ = 0;
    unsigned shift = 32;
    if (n < SPLIT_FROM) return hd__radix_sort_digits(pairs, spare, n);
    for (uint32_t i = 0; i < n; i++) differ |= pairs[i] ^ pairs[0];
    while (differ >> shift >= DIGITS) shift++;
    for (uint32_t i = 0; i < n; i++) start[(pairs[i] >> shift & (DIGITS - 1)) + 1]++;
    for (unsigned d = 0; d < DIGITS; d++) start[d + 1] += start[d];
    for (uint32_t i = 0; i < n; i++) spare[start[pairs[i] >> shift & (DIGITS - 1)]++] = pairs[i];
    for (unsigned d = 0; d < DIGITS; d++) {
        uint32_t count = start[d] - from;
        uint64_t *sorted = hd__radix_sort_digits(spare + from, pairs + from, count);
        if (sorted != spare + from) memcpy(spare + from, sorted, count * sizeof *sorted);
        from = start[d];
    }
    return spare;
}

/* The numbers 0 .. n - 1 in the order of their ids, equal ids in order of number: the lower halves of an
   stb_ds array, whose upper halves are the high halves of the ids if there are any, else the low ones.
   NULL: no memory. */
static uint64_t *hd__ids_sorted(hd__mem *m, const hd__ids *ids, uint32_t n) {
    uint64_t *pairs = NULL, *spare = NULL, *sorted = NULL;
    if (hd__room(m, pairs, n ? n : 1) && hd__room(m, spare, n ? n : 1)) {
        for (uint32_t i = 0; i < n; i++) pairs[i] = (uint64_t)ids->low[i] << 32 | i;
        sorted = hd__radix_sort(pairs, spare, n);
        for (uint32_t i = 0; i < n && ids->high; i++)
            sorted[i] = (uint64_t)ids->high[(uint32_t)sorted[i]] << 32 | (uint32_t)sorted[i];
        if (ids->high) sorted = hd__radix_sort(sorted, sorted == pairs ? spare : pairs, n);
        hd__set_len(sorted, n);
    }
    if (sorted != pairs) hd__arr_free(m, pairs);
    if (sorted != spare) hd__arr_free(m, spare);
    return sorted;
}

typedef struct hd__id_index {
    const hd__ids *ids;
    uint64_t *pairs;             /* ascending: the low half of an id, and its number; NULL: ids ascend */
    uint32_t *high;              /* beside `pairs`, when ids->high is there. stb_ds arrays */
    uint32_t *start;             /* by range: its first position; one more at the end */
    uint64_t least;
    uint32_t count, ranges;
    unsigned shift;
} hd__id_index;

/* By position in ascending order. */
HD__INLINE uint64_t hd__id_index_get(const hd__id_index *x, size_t i) {
    if (!x->pairs) return hd__ids_get(x->ids, i);
    return x->pairs[i] >> 32 | (x->high ? (uint64_t)x->high[i] << 32 : 0);
}

static bool hd__id_index_order(hd__mem *m, hd__id_index *x, uint32_t n) {
    x->pairs = hd__ids_sorted(m, x->ids, n);
    if (!x->pairs) return false;
    if (!x->ids->high) return true;
    if (!hd__room(m, x->high, n)) return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t number = (uint32_t)x->pairs[i];
        x->high[i] = (uint32_t)(x->pairs[i] >> 32);
        x->pairs[i] = (uint64_t)x->ids->low[number] << 32 | number;
    }
    hd__set_len(x->high, n);
    return true;
}

static bool hd__id_index_build(hd__mem *m, hd__id_index *x, const hd__ids *ids, uint32_t n) {
    uint32_t at = 0;
    uint64_t span;
    bool ascending = true;
    x->ids = ids;
    x->count = n;
    if (!n) return true;
    for (uint32_t i = 1; i < n && ascending; i++) ascending = hd__ids_get(ids, i - 1) < hd__ids_get(ids, i);
    if (!ascending && !hd__id_index_order(m, x, n)) return false;
    x->least = hd__id_index_get(x, 0);
    span = hd__id_index_get(x, n - 1) - x->least;
    while (span >> x->shift > n) x->shift++;
    x->ranges = (uint32_t)(span >> x->shift) + 1;
    if (!hd__room(m, x->start, (size_t)x->ranges + 1)) return false;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t range = (hd__id_index_get(x, i) - x->least) >> x->shift;
        while (at <= range) x->start[at++] = i;
    }
    x->start[at] = n;
    hd__set_len(x->start, (size_t)x->ranges + 1);
    return true;
}

static void hd__id_index_free(hd__mem *m, hd__id_index *x) {
    hd__arr_free(m, x->pairs);
    hd__arr_free(m, x->high);
    hd__arr_free(m, x->start);
}

HD__INLINE void hd__id_index_prefetch(const hd__id_index *x, size_t i) {
    if (x->pairs) HD__PREFETCH(&x->pairs[i]);
    else HD__PREFETCH(&x->ids->low[i]);
}

/* The first number with this id, given the range it is in. */
HD__INLINE uint32_t hd__id_index_in(const hd__id_index *x, uint64_t id, uint64_t range) {
    uint32_t low = x->start[range], high = x->start[range + 1];
    while (high - low > 8) {
        uint32_t middle = low + (high - low) / 2;
        if (hd__id_index_get(x, middle) < id) low = middle + 1;
        else high = middle;
    }
    while (low < high && hd__id_index_get(x, low) < id) low++;
    if (low == x->count || hd__id_index_get(x, low) != id) return HD_NONE;
    return x->pairs ? (uint32_t)x->pairs[low] : low;
}

HD__INLINE uint64_t hd__id_index_range(const hd__id_index *x, uint64_t id) {
    uint64_t range = (id - x->least) >> x->shift;
    return x->count && id >= x->least && range < x->ranges ? range : UINT64_MAX;
}

typedef struct hd__big {
    uint64_t size;
    uint32_t object;
} hd__big;

typedef struct hd__field {
    hd_str name;
    uint32_t class_index, reference;
} hd__field;

/* References and roots whose ids nobody has. */
typedef struct hd__missing {
    hd__ids ids;
    uint64_t *at;                /* number of the reference, or 2^32 + number of the root */
} hd__missing;

struct hd_graph {
    hd__mem mem;
    hd__arena arena;
    uint64_t max_records, first_id, bytes;
    uint32_t described, count;   /* objects with records, all objects; count is 0 until sealed */
    uint32_t room;               /* objects the columns have room for */
    bool dense, sealed;
    uint32_t *class_of, *size, *first; /* stb_ds arrays, as are all here */
    hd__big *big;                /* by object once sealed; size[object] is UINT32_MAX */
    hd__ids id, target, extra;   /* extra: ids of objects without records, ascending */
    hd__id_index index;
    hd_class *classes;
    hd__field *fields;           /* by class and reference once sealed */
    hd_root *roots;
    hd__ids root_id;
};

static bool hd__go_on(const hd_options *options, uint64_t done, uint64_t total) {
    return !options || !options->progress || options->progress(options->user, done, total);
}
#define HD__TICK 0xfffffu         /* progress is told of whenever the low bits of `done` are zero */

static hd_status hd__cancelled(hd_error *err) { return hd__fail(err, HD_CANCELLED, "cancelled"); }

HEAPDUMP_API const char *hd_root_kind_name(uint32_t kind) {
    static const char *const names[] = { "internal", "local", "finalizer", "handle", "static", "collector" };
    return kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

HEAPDUMP_API const char *hd_root_flag_name(uint32_t flag) {
    return flag == HD_ROOT_PINNED   ? "pinned"
           : flag == HD_ROOT_WEAK   ? "weak"
           : flag == HD_ROOT_UNSAFE ? "unsafe"
                                    : "unknown";
}

HEAPDUMP_API hd_graph *hd_graph_create(const hd_graph_desc *desc, hd_error *err) {
    hd_graph_desc none;
    hd_class nothing;
    hd_graph *g;
    hd__mem mem;
    memset(&none, 0, sizeof none);
    if (!desc) desc = &none;
    mem = hd__mem_make(desc->allocator, desc->limits.max_memory);
    g = (hd_graph *)hd__realloc(&mem, NULL, 0, sizeof *g);
    if (!g) return hd__no_memory(&mem, err), (hd_graph *)NULL;
    memset(g, 0, sizeof *g);
    g->mem = mem;
    g->dense = desc->dense;
    g->first_id = desc->first_id;
    g->max_records = hd__records(&desc->limits);
    memset(&nothing, 0, sizeof nothing);
    nothing.name = hd_cstr("<not described>");
    nothing.scope = hd_cstr("");
    if (hd__push(&g->mem, g->classes, nothing)) return g;
    hd__no_memory(&g->mem, err);
    hd_graph_free(g);
    return NULL;
}

HEAPDUMP_API void hd_graph_free(hd_graph *g) {
    hd__mem mem;
    if (!g) return;
    hd__arr_free(&g->mem, g->class_of);
    hd__arr_free(&g->mem, g->size);
    hd__arr_free(&g->mem, g->first);
    hd__arr_free(&g->mem, g->big);
    hd__ids_free(&g->mem, &g->id);
    hd__ids_free(&g->mem, &g->target);
    hd__ids_free(&g->mem, &g->extra);
    hd__id_index_free(&g->mem, &g->index);
    hd__arr_free(&g->mem, g->classes);
    hd__arr_free(&g->mem, g->fields);
    hd__arr_free(&g->mem, g->roots);
    hd__ids_free(&g->mem, &g->root_id);
    hd__arena_free(&g->mem, &g->arena);
    mem = g->mem;
    hd__free(&mem, g, sizeof *g);
}

/* What a filling call that got no memory returns. */
static hd_status hd__graph_full(const hd_graph *g) { return hd__no_memory(&g->mem, NULL); }

static hd_status hd__graph_copy_class(hd_graph *g, const hd_class *desc, hd_class *copy) {
    const char *name = hd__arena_str(&g->mem, &g->arena, desc->name);
    const char *scope = hd__arena_str(&g->mem, &g->arena, desc->scope);
    if (!name || !scope) return hd__graph_full(g);
    *copy = *desc;
    copy->name.data = name;
    copy->scope.data = scope;
    return HD_OK;
}

HEAPDUMP_API hd_status hd_graph_add_class(hd_graph *g, const hd_class *desc, uint32_t *class_index) {
    size_t n = hd__len(g->classes);
    hd_class copy;
    if (g->sealed) return HD_INVALID;
    if (n > g->max_records) return HD_LIMIT;
    HD__TRY(hd__graph_copy_class(g, desc, &copy));
    if (!hd__push(&g->mem, g->classes, copy)) return hd__graph_full(g);
    if (class_index) *class_index = (uint32_t)n;
    return HD_OK;
}

HEAPDUMP_API hd_status hd_graph_set_class(hd_graph *g, uint32_t class_index, const hd_class *desc) {
    hd_class copy;
    if (g->sealed || !class_index || class_index >= hd__len(g->classes)) return HD_INVALID;
    HD__TRY(hd__graph_copy_class(g, desc, &copy));
    g->classes[class_index] = copy;
    return HD_OK;
}

HEAPDUMP_API hd_status hd_graph_add_field(hd_graph *g, uint32_t class_index, uint32_t reference,
                                          hd_str name) {
    hd__field field;
    if (g->sealed || !class_index || class_index >= hd__len(g->classes)) return HD_INVALID;
    if (hd__len(g->fields) >= g->max_records) return HD_LIMIT;
    field.class_index = class_index;
    field.reference = reference;
    field.name = name;
    field.name.data = hd__arena_str(&g->mem, &g->arena, name);
    if (!field.name.data || !hd__push(&g->mem, g->fields, field)) return hd__graph_full(g);
    return HD_OK;
}

HEAPDUMP_API hd_status hd_graph_add_size(hd_graph *g, uint32_t object, uint64_t size) {
    hd__big big;
    uint64_t bytes = g->bytes;
    if (g->sealed || object >= g->described) return HD_INVALID;
    if (!hd__sum(&bytes, size)) return HD_OVERFLOW;
    if (g->size[object] != UINT32_MAX && size < UINT32_MAX - g->size[object]) {
        g->size[object] += (uint32_t)size;
    } else if (size) {
        big.object = object;
        big.size = size + (g->size[object] != UINT32_MAX ? g->size[object] : 0);
        if (!hd__push(&g->mem, g->big, big)) return hd__graph_full(g);
        g->size[object] = UINT32_MAX;
    }
    g->bytes = bytes;
    return HD_OK;
}

/* The lengths of the columns follow `described` only here and when sealing. */
static void hd__graph_set_lengths(hd_graph *g) {
    hd__set_len(g->class_of, g->described);
    hd__set_len(g->size, g->described);
    hd__set_len(g->first, g->described);
    hd__set_len(g->id.low, g->dense ? 0 : g->described);
    hd__set_len(g->id.high, g->described);
}

/* Room in the columns for so many more objects. */
HD__NOINLINE static hd_status hd__graph_grow(hd_graph *g, size_t extra) {
    hd__mem *m = &g->mem;
    if (extra > (size_t)UINT32_MAX - g->described) extra = (size_t)UINT32_MAX - g->described;
    hd__graph_set_lengths(g);
    if (!hd__room(m, g->class_of, extra) || !hd__room(m, g->size, extra) || !hd__room(m, g->first, extra) ||
        (!g->dense && !hd__ids_room(m, &g->id, extra)))
        return hd__graph_full(g);
    g->room = g->described + (uint32_t)extra;
    return HD_OK;
}

/* Room for `times` as many more objects and references as there are, so that no column grows by being
   copied. Their pages cost nothing until they are used. It is no error when there is no such room, or when
   it would take more than half of the memory allowed. */
static void hd__graph_expect(hd_graph *g, double times) {
    size_t references = hd__len(g->target.low);
    double objects = (double)g->described * times, targets = (double)references * times;
    double bytes = objects * 4 * (g->id.high ? 5 : 4) + targets * (g->target.high ? 8 : 4);
    if (g->sealed || bytes > (double)(g->mem.limit - g->mem.used) / 2 || bytes > (double)(SIZE_MAX / 4)) return;
    if (!hd__graph_grow(g, (size_t)objects)) (void)hd__ids_room(&g->mem, &g->target, (size_t)targets);
}

HEAPDUMP_API hd_status hd_graph_add_object(hd_graph *g, uint64_t id, uint32_t class_index, uint64_t size) {
    uint64_t bytes = g->bytes;
    uint32_t n = g->described;
    if (g->sealed || !class_index || class_index >= hd__len(g->classes)) return HD_INVALID;
    if (g->described >= g->max_records) return HD_LIMIT;
    if (!hd__sum(&bytes, size)) return HD_OVERFLOW;
    if (n == g->room) HD__TRY(hd__graph_grow(g, n < 8 ? 8 : n));
    if (!g->dense) {
        if (HD__UNLIKELY(id >> 32 && !g->id.high)) {
            hd__set_len(g->id.low, n);
            if (!hd__ids_widen(&g->mem, &g->id)) return hd__graph_full(g);
        }
        g->id.low[n] = (uint32_t)id;
        if (g->id.high) g->id.high[n] = (uint32_t)(id >> 32);
    }
    g->class_of[n] = class_index;
    g->first[n] = (uint32_t)hd__len(g->target.low);
    g->size[n] = size < UINT32_MAX ? (uint32_t)size : 0;
    g->described++;
    if (HD__LIKELY(size < UINT32_MAX)) g->bytes = bytes;
    else if (hd_graph_add_size(g, n, size)) g->described--;
    return g->described == n ? hd__graph_full(g) : HD_OK;
}

HEAPDUMP_API hd_status hd_graph_add_references(hd_graph *g, const uint64_t *ids, size_t count) {
    size_t n = hd__len(g->target.low);
    uint64_t any = 0;
    if (g->sealed || !g->described) return HD_INVALID;
    if (!count) return HD_OK;
    if (count > g->max_records - n) return HD_LIMIT;
    if (!hd__ids_room(&g->mem, &g->target, count)) return hd__graph_full(g);
    for (size_t i = 0; i < count; i++) any |= ids[i];
    if (any >> 32 && !hd__ids_widen(&g->mem, &g->target)) return hd__graph_full(g);
    for (size_t i = 0; i < count; i++) g->target.low[n + i] = (uint32_t)ids[i];
    hd__set_len(g->target.low, n + count);
    if (g->target.high) {
        for (size_t i = 0; i < count; i++) g->target.high[n + i] = (uint32_t)(ids[i] >> 32);
        hd__set_len(g->target.high, n + count);
    }
    return HD_OK;
}

HEAPDUMP_API hd_status hd_graph_add_root(hd_graph *g, uint64_t id, const hd_root *root) {
    if (g->sealed || (root->container != HD_NONE && root->container >= hd__len(g->classes)))
        return HD_INVALID;
    if (hd__len(g->roots) >= g->max_records) return HD_LIMIT;
    if (!hd__room(&g->mem, g->roots, 1) || !hd__ids_push(&g->mem, &g->root_id, id)) return hd__graph_full(g);
    stbds_arrput(g->roots, *root);
    return HD_OK;
}

/* The object with a record that has this id. */
static uint32_t hd__graph_described(const hd_graph *g, uint64_t id) {
    uint64_t range;
    if (g->dense) return id - g->first_id < g->described ? (uint32_t)(id - g->first_id) : HD_NONE;
    range = hd__id_index_range(&g->index, id);
    return range == UINT64_MAX ? HD_NONE : hd__id_index_in(&g->index, id, range);
}

static bool hd__missing_add(hd__mem *m, hd__missing *missing, uint64_t id, uint64_t at) {
    return hd__ids_push(m, &missing->ids, id) && hd__push(m, missing->at, at);
}

static void hd__missing_free(hd__mem *m, hd__missing *missing) {
    hd__ids_free(m, &missing->ids);
    hd__arr_free(m, missing->at);
}

/* Numbers for what nobody described, by id, and the references and roots to them. */
static bool hd__graph_place_missing(hd_graph *g, hd__missing *missing) {
    hd__mem *m = &g->mem;
    uint32_t n = (uint32_t)hd__len(missing->at), number = 0;
    uint64_t *sorted = hd__ids_sorted(m, &missing->ids, n), id = 0, last;
    bool ok = sorted != NULL;
    for (uint32_t i = 0; i < n && ok; i++) {
        uint64_t at = missing->at[(uint32_t)sorted[i]];
        last = id;
        id = hd__ids_get(&missing->ids, (uint32_t)sorted[i]);
        if (!i || id != last) {
            number = g->described + (uint32_t)hd__len(g->extra.low);
            ok = number < HD_NONE - 1 && hd__ids_push(m, &g->extra, id);
        }
        if (at >> 32) g->roots[(uint32_t)at].object = number;
        else g->target.low[at] = number;
    }
    hd__arr_free(m, sorted);
    return ok;
}

/* Columns of the objects without records, the end of the last row, and nothing to spare. */
static bool hd__graph_close(hd_graph *g) {
    hd__mem *m = &g->mem;
    size_t extra = hd__len(g->extra.low);
    uint32_t references = (uint32_t)hd__len(g->target.low);
    if (!hd__room(m, g->class_of, extra) || !hd__room(m, g->size, extra) ||
        !hd__room(m, g->first, extra + 1) ||
        (g->described + extra && !hd__room(m, g->target.low, references ? 0 : 1))) /* rows have an address, */
        return false;                                                            /* empty ones too */
    for (size_t i = 0; i < extra; i++) {
        stbds_arrput(g->class_of, 0);
        stbds_arrput(g->size, 0);
        stbds_arrput(g->first, references);
    }
    stbds_arrput(g->first, references);
    g->count = g->described + (uint32_t)extra;
    hd__trim(m, g->class_of);
    hd__trim(m, g->size);
    hd__trim(m, g->first);
    hd__trim(m, g->id.low);
    hd__trim(m, g->id.high);
    hd__trim(m, g->target.low);
    hd__trim(m, g->classes);
    g->sealed = true;
    return true;
}

/* The numbers of the objects with these ids, a block at a time so that the cache misses of one look-up
   overlap with those of the others. `number` may be where the low halves of the ids stand. */
#define HD__BLOCK 64u
static void hd__graph_numbers(const hd_graph *g, const hd__ids *ids, size_t from, size_t n, uint32_t *number) {
    const hd__id_index *x = &g->index;
    uint64_t range[HD__BLOCK];
    for (size_t i = 0; i < n && g->dense; i++) number[i] = hd__graph_described(g, hd__ids_get(ids, from + i));
    if (g->dense) return;
    for (size_t i = 0; i < n; i++) {
        range[i] = hd__id_index_range(x, hd__ids_get(ids, from + i));
        if (range[i] != UINT64_MAX) HD__PREFETCH(&x->start[range[i]]);
    }
    for (size_t i = 0; i < n; i++)
        if (range[i] != UINT64_MAX) hd__id_index_prefetch(x, x->start[range[i]]);
    for (size_t i = 0; i < n; i++)
        number[i] = range[i] == UINT64_MAX ? HD_NONE
                                           : hd__id_index_in(x, hd__ids_get(ids, from + i), range[i]);
}

/* References by the shelf of the index that they are looked up in. A shelf fits into a cache, the index of a
   large graph whose ids are in no order does not. */
typedef struct hd__shelves {
    const hd__id_index *index;
    hd__ids ids;                 /* shelf after shelf, each in the order of the graph; then their numbers */
    size_t at[514];              /* by shelf: where its next one stands */
    unsigned shift;              /* from ranges to shelves */
} hd__shelves;
#define HD__SHELVES_FROM (1u << 18) /* objects */

HD__INLINE size_t hd__shelf_of(const hd__shelves *p, uint64_t id) {
    uint64_t range = hd__id_index_range(p->index, id);
    return range == UINT64_MAX ? 0 : (size_t)(range >> p->shift);
}

/* Finds all references. False: there are too few for it to pay, or no memory. */
static bool hd__shelves_find(hd__mem *m, hd__shelves *p, const hd_graph *g) {
    const hd__ids *ids = &g->target;
    size_t n = hd__len(ids->low), shelves = sizeof p->at / sizeof *p->at - 1;
    memset(p, 0, sizeof *p);
    p->index = &g->index;
    if (!p->index->pairs || g->described < HD__SHELVES_FROM || n < g->described / 2) return false;
    if (!hd__room(m, p->ids.low, n) || (ids->high && !hd__room(m, p->ids.high, n))) return false;
    while (p->index->ranges >> p->shift >= shelves) p->shift++;
    for (size_t i = 0; i < n; i++) p->at[hd__shelf_of(p, hd__ids_get(ids, i)) + 1]++;
    for (size_t i = 0; i < shelves; i++) p->at[i + 1] += p->at[i];
    for (size_t i = 0; i < n; i++) {
        size_t at = p->at[hd__shelf_of(p, hd__ids_get(ids, i))]++;
        p->ids.low[at] = ids->low[i];
        if (ids->high) p->ids.high[at] = ids->high[i];
    }
    memmove(p->at + 1, p->at, shelves * sizeof *p->at);
    p->at[0] = 0;
    for (size_t i = 0; i < n; i += HD__BLOCK)
        hd__graph_numbers(g, &p->ids, i, n - i < HD__BLOCK ? n - i : HD__BLOCK, p->ids.low + i);
    return true;
}

static hd_status hd__graph_resolve_roots(hd_graph *g, hd__missing *missing) {
    for (size_t i = 0; i < hd__len(g->roots); i++) {
        uint64_t id = hd__ids_get(&g->root_id, i);
        uint32_t object = hd__graph_described(g, id);
        if (object == HD_NONE && !hd__missing_add(&g->mem, missing, id, i | (uint64_t)1 << 32))
            return hd__graph_full(g);
        g->roots[i].object = object;
    }
    hd__ids_free(&g->mem, &g->root_id);
    return HD_OK;
}

/* References and roots to numbers. */
static hd_status hd__graph_resolve(hd_graph *g, hd__missing *missing, const hd_options *options) {
    hd__mem *m = &g->mem;
    hd__ids *ids = &g->target;
    size_t n = hd__len(ids->low);
    hd__shelves shelves;
    bool found = hd__shelves_find(m, &shelves, g);
    hd_status status = HD_OK;
    for (size_t low = 0; low < n && !status; low += HD__BLOCK) {
        size_t size = n - low < HD__BLOCK ? n - low : HD__BLOCK;
        uint32_t number[HD__BLOCK];
        if (!(low & HD__TICK) && !hd__go_on(options, low, n)) status = HD_CANCELLED;
        for (size_t i = 0; i < size && found; i++)
            number[i] = shelves.ids.low[shelves.at[hd__shelf_of(&shelves, hd__ids_get(ids, low + i))]++];
        if (!found) hd__graph_numbers(g, ids, low, size, number);
        for (size_t i = 0; i < size && !status; i++) {
            if (HD__UNLIKELY(number[i] == HD_NONE) &&
                !hd__missing_add(m, missing, hd__ids_get(ids, low + i), low + i))
                status = hd__graph_full(g);
            ids->low[low + i] = number[i];
        }
    }
    hd__ids_free(m, &shelves.ids);
    if (!status) hd__arr_free(m, ids->high);
    return status ? status : hd__graph_resolve_roots(g, missing);
}

static bool hd__field_before(const void *owner, uint32_t a, uint32_t b) {
    const hd__field *f = (const hd__field *)owner;
    return f[a].class_index != f[b].class_index ? f[a].class_index < f[b].class_index
                                                : f[a].reference < f[b].reference;
}

static bool hd__big_before(const void *owner, uint32_t a, uint32_t b) {
    const hd__big *big = (const hd__big *)owner;
    return big[a].object < big[b].object;
}

/* Sorts an stb_ds array of anything by moving it through a copy. */
static bool hd__sort_array(hd__mem *m, void *array, size_t n, size_t element,
                           bool (*before)(const void *owner, uint32_t a, uint32_t b)) {
    uint32_t *order = (uint32_t *)hd__calloc(m, n, 2 * sizeof *order);
    char *copy = (char *)hd__calloc(m, n, element);
    if (order && copy && n) {
        for (uint32_t i = 0; i < n; i++) order[i] = i;
        memcpy(copy, array, n * element);
        hd__sort(order, order + n, n, before, copy);
        for (size_t i = 0; i < n; i++)
            memcpy((char *)array + i * element, copy + order[i] * element, element);
    }
    if (order) hd__cfree(m, order, n, 2 * sizeof *order);
    if (copy) hd__cfree(m, copy, n, element);
    return order && copy;
}

static bool hd__graph_sort_lists(hd_graph *g) {
    size_t n = hd__len(g->big), kept = 0;
    if (!hd__sort_array(&g->mem, g->fields, hd__len(g->fields), sizeof *g->fields, hd__field_before) ||
        !hd__sort_array(&g->mem, g->big, n, sizeof *g->big, hd__big_before))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (kept && g->big[kept - 1].object == g->big[i].object) g->big[kept - 1].size += g->big[i].size;
        else g->big[kept++] = g->big[i];
    }
    hd__set_len(g->big, kept);
    return true;
}

/* The second object, in file order, of those that share an id with an earlier one; HD_NONE: all ids
   differ. After the index is built. */
static uint32_t hd__graph_duplicate(const hd_graph *g) {
    const hd__id_index *x = &g->index;
    uint32_t first = HD_NONE;
    if (!x->pairs) return HD_NONE;
    for (uint32_t i = 1; i < x->count; i++)
        if ((uint32_t)x->pairs[i] < first && hd__id_index_get(x, i - 1) == hd__id_index_get(x, i))
            first = (uint32_t)x->pairs[i];
    return first;
}

/* *duplicate says which object has an id that another has. */
static hd_status hd__graph_seal(hd_graph *g, const hd_options *options, uint32_t *duplicate, hd_error *err) {
    hd__mem *m = &g->mem;
    hd__missing missing;
    hd_status status;
    *duplicate = HD_NONE;
    if (g->sealed) return hd__fail(err, HD_INVALID, "the graph is sealed already");
    hd__graph_set_lengths(g);
    if (!g->dense && !hd__id_index_build(m, &g->index, &g->id, g->described)) return hd__no_memory(m, err);
    *duplicate = hd__graph_duplicate(g);
    if (*duplicate != HD_NONE)
        return hd__fail(err, HD_MALFORMED, "object %x is described twice", hd__ids_get(&g->id, *duplicate));
    memset(&missing, 0, sizeof missing);
    status = hd__graph_resolve(g, &missing, options);
    if (!status && (!hd__graph_place_missing(g, &missing) || !hd__graph_sort_lists(g) || !hd__graph_close(g)))
        status = HD_OUT_OF_MEMORY;
    hd__missing_free(m, &missing);
    return status == HD_CANCELLED ? hd__cancelled(err) : status ? hd__no_memory(m, err) : HD_OK;
}

HEAPDUMP_API hd_status hd_graph_seal(hd_graph *g, const hd_options *options, hd_error *err) {
    uint32_t duplicate;
    return hd__graph_seal(g, options, &duplicate, err);
}

HEAPDUMP_API uint32_t hd_graph_object_count(const hd_graph *g) { return g->count; }
HEAPDUMP_API uint32_t hd_graph_class_count(const hd_graph *g) { return (uint32_t)hd__len(g->classes); }
HEAPDUMP_API uint32_t hd_graph_root_count(const hd_graph *g) { return (uint32_t)hd__len(g->roots); }

HD__NOINLINE static uint64_t hd__graph_big(const hd_graph *g, uint32_t object) {
    size_t low = 0, high = hd__len(g->big);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (g->big[middle].object < object) low = middle + 1;
        else high = middle;
    }
    return low < hd__len(g->big) && g->big[low].object == object ? g->big[low].size : UINT32_MAX;
}

HD__INLINE uint64_t hd__graph_size(const hd_graph *g, uint32_t object) {
    return HD__LIKELY(g->size[object] != UINT32_MAX) ? g->size[object] : hd__graph_big(g, object);
}

static uint64_t hd__graph_id(const hd_graph *g, uint32_t object) {
    return object >= g->described ? hd__ids_get(&g->extra, object - g->described)
           : g->dense             ? g->first_id + object
                                  : hd__ids_get(&g->id, object);
}

HEAPDUMP_API hd_object hd_graph_object(const hd_graph *g, uint32_t object) {
    hd_object o;
    HEAPDUMP_ASSERT(object < g->count);
    o.id = hd__graph_id(g, object);
    o.size = hd__graph_size(g, object);
    o.class_index = g->class_of[object];
    o.reference_count = g->first[object + 1] - g->first[object];
    o.references = o.reference_count ? g->target.low + g->first[object] : NULL;
    return o;
}

HEAPDUMP_API hd_class hd_graph_class(const hd_graph *g, uint32_t class_index) {
    return g->classes[class_index];
}
HEAPDUMP_API hd_root hd_graph_root(const hd_graph *g, uint32_t root) { return g->roots[root]; }

HEAPDUMP_API uint32_t hd_graph_find(const hd_graph *g, uint64_t id) {
    uint32_t object = hd__graph_described(g, id);
    size_t low = 0, high = hd__len(g->extra.low);
    if (object != HD_NONE) return object;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (hd__ids_get(&g->extra, middle) < id) low = middle + 1;
        else high = middle;
    }
    if (low == hd__len(g->extra.low) || hd__ids_get(&g->extra, low) != id) return HD_NONE;
    return g->described + (uint32_t)low;
}

HEAPDUMP_API hd_str hd_graph_field(const hd_graph *g, uint32_t object, uint32_t reference) {
    uint32_t class_index = g->class_of[object];
    size_t low = 0, n = hd__len(g->fields), high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const hd__field *f = &g->fields[middle];
        if (f->class_index < class_index || (f->class_index == class_index && f->reference < reference))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == n || g->fields[low].class_index != class_index || g->fields[low].reference != reference)
        return hd_cstr("");
    return g->fields[low].name;
}

HEAPDUMP_API hd_graph_summary hd_graph_summarize(const hd_graph *g) {
    hd_graph_summary s;
    memset(&s, 0, sizeof s);
    s.objects = g->described;
    s.roots = hd__len(g->roots);
    s.references = hd__len(g->target.low);
    s.bytes = g->bytes;
    s.memory = g->mem.used;
    s.missing_objects = g->count - g->described;
    for (size_t i = 1; i < hd__len(g->classes); i++) {
        s.classes += g->classes[i].described;
        s.missing_classes += !g->classes[i].described;
    }
    for (size_t i = 0; i < s.references; i++) s.missing_references += g->target.low[i] >= g->described;
    for (size_t i = 0; i < s.roots; i++) {
        s.missing_roots += g->roots[i].object >= g->described;
        s.weak_roots += (g->roots[i].flags & HD_ROOT_WEAK) != 0;
    }
    return s;
}

HEAPDUMP_API hd_status hd_graph_validate(const hd_graph *g, hd_error *err) {
    uint32_t classes = (uint32_t)hd__len(g->classes), references = (uint32_t)hd__len(g->target.low);
    uint64_t bytes = 0;
    if (!g->sealed) return hd__fail(err, HD_INVALID, "the graph is not sealed");
    if (g->first[0] || g->first[g->count] != references)
        return hd__fail(err, HD_INVALID, "the rows do not span the references");
    for (uint32_t i = 0; i < g->count; i++) {
        uint32_t found = hd_graph_find(g, hd__graph_id(g, i));
        if (g->first[i] > g->first[i + 1])
            return hd__fail(err, HD_INVALID, "the row of object %u ends before it starts", (uint64_t)i);
        if (g->class_of[i] >= classes || (i < g->described) != (g->class_of[i] != 0))
            return hd__fail(err, HD_INVALID, "object %u is of class %u of %u", (uint64_t)i,
                            (uint64_t)g->class_of[i], (uint64_t)classes);
        if (found > i || hd__graph_id(g, found) != hd__graph_id(g, i))
            return hd__fail(err, HD_INVALID, "object %u is not found by its id %x", (uint64_t)i,
                            hd__graph_id(g, i));
        if (!hd__sum(&bytes, hd__graph_size(g, i))) return hd__fail(err, HD_INVALID, "the sizes pass 2^64");
    }
    if (bytes != g->bytes)
        return hd__fail(err, HD_INVALID, "the sizes are %u together, not %u", bytes, g->bytes);
    for (uint32_t i = 0; i < references; i++)
        if (g->target.low[i] >= g->count)
            return hd__fail(err, HD_INVALID, "reference %u leads to object %u of %u", (uint64_t)i,
                            (uint64_t)g->target.low[i], (uint64_t)g->count);
    for (uint32_t i = 0; i < hd__len(g->roots); i++)
        if (g->roots[i].object >= g->count ||
            (g->roots[i].container != HD_NONE && g->roots[i].container >= classes))
            return hd__fail(err, HD_INVALID, "root %u leads to nothing", (uint64_t)i);
    return HD_OK;
}

/* Results: what is shown to the caller, behind what it owns. ------------------------------------ */

typedef struct hd__owned {
    hd__mem mem;
    hd__arena arena;
    uint64_t size;
} hd__owned;

/* A zeroed struct for the caller; columns for it come from hd__owned_take. */
static void *hd__owned_create(hd__mem mem, size_t size) {
    hd__owned *o = (hd__owned *)hd__realloc(&mem, NULL, 0, sizeof *o + size);
    if (!o) return NULL;
    memset(o, 0, sizeof *o + size);
    o->mem = mem;
    o->size = size;
    return o + 1;
}

static void *hd__owned_take(void *shown, size_t n, size_t element) {
    hd__owned *o = (hd__owned *)shown - 1;
    return hd__arena_take(&o->mem, &o->arena, n, element);
}

static void hd__owned_free(void *shown) {
    hd__owned *o;
    hd__mem mem;
    if (!shown) return;
    o = (hd__owned *)shown - 1;
    hd__arena_free(&o->mem, &o->arena);
    mem = o->mem;
    hd__free(&mem, o, sizeof *o + (size_t)o->size);
}

static hd_status hd__graph_ready(const hd_graph *g, hd_error *err) {
    if (!g->sealed) return hd__fail(err, HD_INVALID, "the graph is not sealed");
    return HD_OK;
}

static hd_status hd__graph_has(const hd_graph *g, const uint32_t *objects, size_t n, hd_error *err) {
    HD__TRY(hd__graph_ready(g, err));
    for (size_t i = 0; i < n; i++)
        if (objects[i] >= g->count)
            return hd__fail(err, HD_INVALID, "no object %u among %u", (uint64_t)objects[i],
                            (uint64_t)g->count);
    return HD_OK;
}

static bool hd__root_holds(const hd_root *root) { return !(root->flags & HD_ROOT_WEAK); }

/* Brings near what a queue of objects will need: first their rows' offsets, then the rows, then what is
   known of the objects these lead to. */
HD__INLINE void hd__queue_prefetch(const hd_graph *g, const uint32_t *queue, uint32_t at, uint32_t end,
                                   const void *known, size_t element) {
    const uint32_t *target = g->target.low;
    if (end - at <= 24) return;
    HD__PREFETCH(&g->first[queue[at + 24]]);
    HD__PREFETCH(&target[g->first[queue[at + 16]]]);
    for (uint32_t o = queue[at + 8], e = g->first[o], n = 0; e < g->first[o + 1] && n < 8; e++, n++)
        HD__PREFETCH((const char *)known + target[e] * element);
}

/* Marks all that is reachable and not marked yet; queue holds an object each. */
static hd_status hd__reach_run(const hd_graph *g, const hd_options *options, uint8_t *mark, uint32_t *queue,
                               hd_total *total, hd_error *err) {
    const uint32_t *target = g->target.low;
    uint32_t end = 0;
    for (size_t i = 0; i < hd__len(g->roots); i++) {
        uint32_t o = g->roots[i].object;
        if (!hd__root_holds(&g->roots[i]) || mark[o]) continue;
        mark[o] = 1;
        queue[end++] = o;
    }
    for (uint32_t at = 0; at < end; at++) {
        uint32_t o = queue[at];
        if (!(at & HD__TICK) && !hd__go_on(options, at, g->count)) return hd__cancelled(err);
        hd__queue_prefetch(g, queue, at, end, mark, 1);
        total->bytes += hd__graph_size(g, o);
        total->objects += o < g->described;
        for (uint32_t e = g->first[o]; e < g->first[o + 1]; e++)
            if (!mark[target[e]]) {
                mark[target[e]] = 1;
                queue[end++] = target[e];
            }
    }
    return HD_OK;
}

HEAPDUMP_API hd_status hd_graph_reach(const hd_graph *g, const uint32_t *without, size_t count,
                                      const hd_options *options, uint8_t *reached, hd_total *total,
                                      hd_error *err) {
    enum { LEFT_OUT = 2 };
    hd__mem m = hd__mem_options(options);
    uint32_t *queue;
    uint8_t *mark;
    hd_total sum = { 0, 0 };
    hd_status status;
    HD__TRY(hd__graph_has(g, without, count, err));
    queue = (uint32_t *)hd__calloc(&m, g->count, sizeof *queue);
    mark = (uint8_t *)hd__calloc(&m, g->count, 1);
    if (queue && mark) {
        for (size_t i = 0; i < count; i++) mark[without[i]] = LEFT_OUT;
        status = hd__reach_run(g, options, mark, queue, &sum, err);
    } else {
        status = hd__no_memory(&m, err);
    }
    if (!status && reached)
        for (uint32_t i = 0; i < g->count; i++) reached[i] = mark[i] == 1;
    if (!status && total) *total = sum;
    if (queue) hd__cfree(&m, queue, g->count, sizeof *queue);
    if (mark) hd__cfree(&m, mark, g->count, 1);
    return status;
}

HEAPDUMP_API hd_status hd_graph_retained(const hd_graph *g, const uint32_t *objects, size_t count,
                                         const hd_options *options, hd_total *total, hd_error *err) {
    hd_total all, rest;
    HD__TRY(hd_graph_reach(g, NULL, 0, options, NULL, &all, err));
    HD__TRY(hd_graph_reach(g, objects, count, options, NULL, &rest, err));
    total->objects = all.objects - rest.objects;
    total->bytes = all.bytes - rest.bytes;
    return HD_OK;
}

HEAPDUMP_API hd_status hd_graph_class_retained(const hd_graph *g, uint32_t class_index,
                                               const hd_options *options, hd_total *total, hd_error *err) {
    hd__mem m = hd__mem_options(options);
    uint32_t n = 0, *objects;
    hd_status status;
    HD__TRY(hd__graph_ready(g, err));
    if (class_index >= hd__len(g->classes))
        return hd__fail(err, HD_INVALID, "no class %u", (uint64_t)class_index);
    objects = (uint32_t *)hd__calloc(&m, g->count, sizeof *objects);
    if (!objects) return hd__no_memory(&m, err);
    for (uint32_t i = 0; i < g->count; i++)
        if (g->class_of[i] == class_index) objects[n++] = i;
    status = hd_graph_retained(g, objects, n, options, total, err);
    hd__cfree(&m, objects, g->count, sizeof *objects);
    return status;
}

/* Dominators: semi-NCA (Georgiadis, Tarjan). Objects are renumbered from 1 in depth-first order, 0 standing
   for all roots together. What leads down in that order settles while it is walked; the other
   references are collected as pairs and sorted by where they lead. A semidominator is the smallest
   number among those of the objects on the ways back up (hd__dom_eval, with path compression); the
   dominator is then the nearest ancestor that is not above it. ------------------------------------- */

/* By object, during the walk: all that a reference to it needs stands in one cache line. */
typedef struct hd__dom_node {
    uint32_t first;              /* its row */
    uint32_t number;             /* 0: not seen yet */
    uint32_t semi;               /* smallest number above that refers to it */
    uint32_t incoming;           /* pairs that lead to it */
} hd__dom_node;

typedef struct hd__dom_edge {
    uint32_t from, to;
} hd__dom_edge;

/* By number: during the walk the rest of its row, then the forest of eval. */
typedef struct hd__dom_link {
    uint32_t up;                 /* cursor; then an ancestor */
    uint32_t best;               /* end; then the smallest semi from here to below that ancestor */
} hd__dom_link;

typedef struct hd__dom {
    const hd_graph *g;
    const hd_options *options;
    hd__mem mem;
    hd__arena arena, walk;       /* walk: what is not needed once dominators are known */
    hd__dom_node *node;
    hd__dom_link *link;
    hd__dom_edge *pairs;             /* stb_ds array */
    uint32_t *object, *parent;   /* by number; parent becomes the dominator */
    uint32_t *semi, *start, *from, *stack;
    uint64_t *bytes;             /* retained; by number, as are the next two */
    uint32_t *below, *next;      /* size of the subtree; position of its next child */
    uint32_t count;              /* numbers given: 1 .. count */
} hd__dom;

static hd_status hd__dom_pair(hd__dom *d, uint32_t from, uint32_t to, hd_error *err) {
    hd__dom_edge pair;
    pair.from = from;
    pair.to = to;
    return hd__push(&d->mem, d->pairs, pair) ? HD_OK : hd__no_memory(&d->mem, err);
}

/* Gives an object the next number, as child of `parent`. */
HD__INLINE uint32_t hd__dom_enter(hd__dom *d, uint32_t object, uint32_t parent) {
    const uint32_t *target = d->g->target.low;
    hd__dom_node *node = &d->node[object];
    uint32_t number = ++d->count, end = node[1].first;
    node->number = number;
    node->semi = parent;
    d->object[number] = object;
    d->parent[number] = parent;
    d->link[number].up = node->first;
    d->link[number].best = end;
    for (uint32_t e = node->first, n = 0; e < end && n < 8; e++, n++) HD__PREFETCH(&d->node[target[e]]);
    for (uint32_t e = node->first, n = 0; e < end && n < 3; e++, n++)
        HD__PREFETCH(&target[d->node[target[e]].first]);
    return number;
}

static hd_status hd__dom_walk_from(hd__dom *d, uint32_t root, hd_error *err) {
    const uint32_t *target = d->g->target.low;
    uint32_t v = hd__dom_enter(d, root, 0);
    while (v) {
        uint32_t e = d->link[v].up, end = d->link[v].best;
        hd__dom_node *node = NULL;
        for (; e < end; e++) {
            node = &d->node[target[e]];
            if (!node->number) break;
            if (node->number > v) {
                if (v < node->semi) node->semi = v;
            } else if (node->number < v) {
                node->incoming++;
                HD__TRY(hd__dom_pair(d, v, node->number, err));
            }
        }
        if (e == end) {
            v = d->parent[v];
            continue;
        }
        d->link[v].up = e + 1;
        v = hd__dom_enter(d, target[e], v);
        if (!(v & HD__TICK) && !hd__go_on(d->options, v, d->g->count)) return hd__cancelled(err);
    }
    return HD_OK;
}

static hd_status hd__dom_walk(hd__dom *d, hd_error *err) {
    const hd_graph *g = d->g;
    size_t n = (size_t)g->count + 1;
    d->node = (hd__dom_node *)hd__arena_take(&d->mem, &d->walk, n, sizeof *d->node);
    d->link = (hd__dom_link *)hd__arena_take(&d->mem, &d->walk, n, sizeof *d->link);
    d->semi = (uint32_t *)hd__arena_take(&d->mem, &d->walk, n, sizeof *d->semi);
    d->start = (uint32_t *)hd__arena_take(&d->mem, &d->walk, n, sizeof *d->start);
    d->object = (uint32_t *)hd__arena_take(&d->mem, &d->arena, n, sizeof *d->object);
    d->parent = (uint32_t *)hd__arena_take(&d->mem, &d->arena, n, sizeof *d->parent);
    if (!d->node || !d->link || !d->semi || !d->start || !d->object || !d->parent)
        return hd__no_memory(&d->mem, err);
    for (size_t i = 0; i < n; i++) {
        d->node[i].first = g->first[i];
        d->node[i].number = d->node[i].incoming = 0;
    }
    for (size_t i = 0; i < hd__len(g->roots); i++) {
        uint32_t o = g->roots[i].object;
        if (!hd__root_holds(&g->roots[i])) continue;
        if (!d->node[o].number) HD__TRY(hd__dom_walk_from(d, o, err));
        d->node[o].semi = 0;
    }
    return HD_OK;
}

/* Columns by number instead of by object, and the pairs by where they lead. After this what leads to w
   is from[start[w - 1]] .. from[start[w] - 1]. */
static hd_status hd__dom_sort(hd__dom *d, hd_error *err) {
    size_t n = hd__len(d->pairs);
    uint32_t at = 0;
    d->from = (uint32_t *)hd__arena_take(&d->mem, &d->walk, n, sizeof *d->from);
    if (!d->from) return hd__no_memory(&d->mem, err);
    d->start[0] = d->semi[0] = d->parent[0] = 0;
    for (uint32_t w = 1; w <= d->count; w++) {
        const hd__dom_node *node = &d->node[d->object[w]];
        if (d->count - w > 16) HD__PREFETCH(&d->node[d->object[w + 16]]);
        d->semi[w] = node->semi;
        d->start[w] = at;
        at += node->incoming;
        d->link[w].up = d->parent[w];
    }
    for (size_t i = 0; i < n; i++) {
        if (n - i > 16) HD__PREFETCH(&d->start[d->pairs[i + 16].to]);
        d->from[d->start[d->pairs[i].to]++] = d->pairs[i].from;
    }
    hd__arr_free(&d->mem, d->pairs);
    d->stack = (uint32_t *)(void *)d->node; /* nodes are done with */
    return HD_OK;
}

/* The smallest semi on the way from v up to the last number that is more than w. */
HD__INLINE uint32_t hd__dom_eval(hd__dom *d, uint32_t v, uint32_t w) {
    hd__dom_link *link = d->link, above;
    uint32_t depth = 0;
    if (link[v].up <= w) return link[v].best;
    for (; link[v].up > w; v = link[v].up) d->stack[depth++] = v;
    above = link[v];
    while (depth) {
        v = d->stack[--depth];
        if (above.best > link[v].best) above.best = link[v].best;
        link[v] = above;
    }
    return above.best;
}

/* Dominators from semidominators: up the tree so far to the first number that is no more. Each number has
   a second ancestor further up (Myers' skew-binary jumps, by depth), so that a long way takes a logarithm of
   steps. */
static void hd__dom_nearest(hd__dom *d) {
    hd__dom_link *link = d->link; /* from here on: up jumps, best is the depth */
    link[0].up = link[0].best = 0;
    for (uint32_t w = 1; w <= d->count; w++) {
        uint32_t up = d->parent[w], semi = d->semi[w], jump, leap;
        while (up > semi) up = link[up].up > semi ? link[up].up : d->parent[up];
        jump = link[up].up;
        leap = link[jump].up;
        d->parent[w] = up;
        link[w].up = link[up].best - link[jump].best == link[jump].best - link[leap].best ? leap : up;
        link[w].best = link[up].best + 1;
    }
}

static hd_status hd__dom_solve(hd__dom *d, hd_error *err) {
    for (uint32_t w = d->count; w; w--) {
        uint32_t semi = d->semi[w], low = d->start[w - 1];
        if (!(w & HD__TICK) && !hd__go_on(d->options, d->count - w, d->g->count)) return hd__cancelled(err);
        for (uint32_t i = d->start[w]; i-- > low;) {
            uint32_t best;
            if (i > 8) HD__PREFETCH(&d->link[d->from[i - 8]]);
            best = hd__dom_eval(d, d->from[i], w);
            if (best < semi) semi = best;
        }
        d->semi[w] = d->link[w].best = semi;
    }
    hd__dom_nearest(d);
    return HD_OK;
}

/* Sums up the tree. */
static hd_status hd__dom_sum(hd__dom *d, hd_error *err) {
    const hd_graph *g = d->g;
    size_t n = (size_t)d->count + 1;
    d->bytes = (uint64_t *)hd__arena_take(&d->mem, &d->arena, n, sizeof *d->bytes);
    d->below = (uint32_t *)hd__arena_take(&d->mem, &d->arena, n, sizeof *d->below);
    d->next = (uint32_t *)hd__arena_take(&d->mem, &d->arena, n, sizeof *d->next);
    if (!d->bytes || !d->below || !d->next) return hd__no_memory(&d->mem, err);
    d->bytes[0] = d->next[0] = d->below[0] = 0;
    for (uint32_t w = 1; w <= d->count; w++) {
        if (d->count - w > 16) HD__PREFETCH(&g->size[d->object[w + 16]]);
        d->bytes[w] = hd__graph_size(g, d->object[w]);
        d->below[w] = 1;
    }
    for (uint32_t w = d->count; w; w--) {
        d->bytes[d->parent[w]] += d->bytes[w];
        d->below[d->parent[w]] += d->below[w];
    }
    return HD_OK;
}

/* Brings the tree from numbers to objects. */
static hd_status hd__dom_result(hd__dom *d, hd_dominators *out, hd_error *err) {
    uint32_t n = d->g->count;
    uint32_t *parent = (uint32_t *)hd__owned_take(out, n, sizeof *parent);
    uint32_t *position = (uint32_t *)hd__owned_take(out, n, sizeof *position);
    uint32_t *below = (uint32_t *)hd__owned_take(out, n, sizeof *below);
    uint64_t *retained = (uint64_t *)hd__owned_take(out, n, sizeof *retained);
    uint32_t *order = (uint32_t *)hd__owned_take(out, d->count, sizeof *order);
    if (!parent || !position || !below || !retained || !order)
        return hd__no_memory(&((hd__owned *)(void *)out - 1)->mem, err);
    if (d->count < n) {
        memset(parent, 0xff, n * sizeof *parent);
        memset(position, 0xff, n * sizeof *position);
        memset(below, 0, n * sizeof *below);
        memset(retained, 0, n * sizeof *retained);
    }
    for (uint32_t w = 1; w <= d->count; w++) {
        uint32_t up = d->parent[w], at = d->next[up], o = d->object[w];
        if (d->count - w > 16) {
            uint32_t soon = d->object[w + 16];
            HD__PREFETCH(&parent[soon]);
            HD__PREFETCH(&position[soon]);
            HD__PREFETCH(&below[soon]);
            HD__PREFETCH(&retained[soon]);
        }
        d->next[up] += d->below[w];
        d->next[w] = at + 1;
        order[at] = o;
        position[o] = at;
        parent[o] = up ? d->object[up] : HD_NONE;
        below[o] = d->below[w];
        retained[o] = d->bytes[w];
    }
    out->count = n;
    out->reached = d->count;
    out->parent = parent;
    out->position = position;
    out->below = below;
    out->retained = retained;
    out->order = order;
    out->bytes = d->bytes[0];
    return HD_OK;
}

HEAPDUMP_API hd_status hd_graph_dominators(const hd_graph *g, const hd_options *options, hd_dominators **out,
                                           hd_error *err) {
    hd_dominators *result = NULL;
    hd_status status;
    hd__dom d;
    HD__TRY(hd__graph_ready(g, err));
    memset(&d, 0, sizeof d);
    d.mem = hd__mem_options(options);
    d.g = g;
    d.options = options;
    status = hd__dom_walk(&d, err);
    if (!status) status = hd__dom_sort(&d, err);
    if (!status) status = hd__dom_solve(&d, err);
    hd__arr_free(&d.mem, d.pairs);
    hd__arena_free(&d.mem, &d.walk);
    if (!status) status = hd__dom_sum(&d, err);
    if (!status) {
        result = (hd_dominators *)hd__owned_create(hd__mem_rest(&d.mem), sizeof *result);
        status = result ? hd__dom_result(&d, result, err) : hd__no_memory(&d.mem, err);
    }
    hd__arena_free(&d.mem, &d.arena);
    if (status) hd__owned_free(result);
    else *out = result;
    return status;
}

HEAPDUMP_API void hd_dominators_free(hd_dominators *d) { hd__owned_free(d); }

/* Whether a is to be told after b: the order of a heap whose top is what goes first. */
static bool hd__retains_less(const hd_dominators *d, uint32_t a, uint32_t b) {
    return d->retained[a] != d->retained[b] ? d->retained[a] < d->retained[b] : a > b;
}

static void hd__top_sift(const hd_dominators *d, uint32_t *heap, uint32_t n, uint32_t at) {
    for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
        uint32_t swap = heap[at];
        if (child + 1 < n && hd__retains_less(d, heap[child + 1], heap[child])) child++;
        if (!hd__retains_less(d, heap[child], swap)) return;
        heap[at] = heap[child];
        heap[child] = swap;
    }
}

HEAPDUMP_API uint32_t hd_dominators_top(const hd_dominators *d, uint32_t count, uint32_t *objects) {
    uint32_t n = 0;
    for (uint32_t p = 0; p < d->reached && count; p++) {
        uint32_t o = d->order[p];
        if (n < count) {
            objects[n++] = o;
            for (uint32_t i = n == count ? n / 2 : 0; i-- > 0;) hd__top_sift(d, objects, n, i);
        } else if (hd__retains_less(d, objects[0], o)) {
            objects[0] = o;
            hd__top_sift(d, objects, n, 0);
        }
    }
    if (n < count)
        for (uint32_t i = n / 2; i-- > 0;) hd__top_sift(d, objects, n, i);
    for (uint32_t left = n; left > 1;) {
        uint32_t swap = objects[--left];
        objects[left] = objects[0];
        objects[0] = swap;
        hd__top_sift(d, objects, left, 0);
    }
    return n;
}

/* The dominator tree, cut off: entries are broken down one after the other, each with its objects in a
   range of one array. ---------------------------------------------------------------------------- */

typedef struct hd__dom_group {
    uint32_t row;
    uint32_t label;              /* HD_NONE for the total */
    uint32_t low, high;          /* its objects in `member` */
} hd__dom_group;

typedef struct hd__dom_tree {
    const hd_graph *g;
    const hd_dominators *d;
    const hd_dominator_options *options;
    hd__mem mem;
    hd__arena arena;
    uint64_t max_records, total, done;
    hd__strings names;
    uint32_t *label;             /* by class: number of its name */
    uint32_t *slot;              /* by label: its candidate, HD_NONE between calls */
    uint32_t *member;
    uint32_t members;
    uint32_t *missing;           /* by position: objects before it that no record describes; NULL: none */
    hd__candidate *candidates;   /* stb_ds arrays, as are all below */
    uint32_t *sorted, *chain;    /* chain: objects of the group's own class right below it */
    hd__dom_group *groups;
    uint32_t *parent;            /* nodes; each has one entry of the same number */
    hd_str *node_name;
    uint64_t *bytes, *blocks;
} hd__dom_tree;

static hd_status hd__dom_entry(hd__dom_tree *t, uint32_t parent, hd_str name, uint64_t bytes, uint64_t blocks,
                               hd_error *err) {
    if (hd__len(t->bytes) >= t->max_records)
        return hd__fail(err, HD_LIMIT, "more than the allowed %u entries", t->max_records);
    if (!hd__push(&t->mem, t->parent, parent) || !hd__push(&t->mem, t->node_name, name) ||
        !hd__push(&t->mem, t->bytes, bytes) || !hd__push(&t->mem, t->blocks, blocks))
        return hd__no_memory(&t->mem, err);
    return HD_OK;
}

/* How many objects from a position on have records. */
static uint32_t hd__dom_described(const hd__dom_tree *t, uint32_t position, uint32_t count) {
    return t->missing ? count - (t->missing[position + count] - t->missing[position]) : count;
}

static bool hd__dom_find_missing(hd__dom_tree *t) {
    uint32_t n = 0;
    if (t->g->described == t->g->count) return true;
    t->missing = (uint32_t *)hd__arena_take(&t->mem, &t->arena, (size_t)t->d->reached + 1,
                                            sizeof *t->missing);
    if (!t->missing) return false;
    t->missing[0] = 0;
    for (uint32_t p = 0; p < t->d->reached; p++)
        t->missing[p + 1] = n += t->d->order[p] >= t->g->described;
    return true;
}

/* One object below a group: into its candidate, or into the chain. */
static bool hd__dom_count(hd__dom_tree *t, const hd__dom_group *group, uint32_t child) {
    uint32_t label = t->label[t->g->class_of[child]], k = t->slot[label];
    if (label == group->label && !t->options->every_link) return hd__push(&t->mem, t->chain, child);
    if (k == HD_NONE) {
        hd__candidate c;
        memset(&c, 0, sizeof c);
        c.id = label;
        c.name = t->names.strings[label];
        k = (uint32_t)hd__len(t->candidates);
        if (!hd__push(&t->mem, t->candidates, c)) return false;
        t->slot[label] = k;
    }
    t->candidates[k].bytes += t->d->retained[child];
    t->candidates[k].blocks += hd__dom_described(t, t->d->position[child], t->d->below[child]);
    t->candidates[k].cells++;
    return true;
}

/* The next object of a group, chain included. */
static bool hd__dom_member(const hd__dom_tree *t, const hd__dom_group *group, uint32_t i, uint32_t *object) {
    uint32_t n = group->high - group->low;
    if (i >= n + hd__len(t->chain)) return false;
    *object = i < n ? t->member[group->low + i] : t->chain[i - n];
    return true;
}

/* The range of positions below an object; below all roots when there is none. */
static uint32_t hd__dom_below(const hd_dominators *d, uint32_t object, uint32_t *end) {
    *end = object == HD_NONE ? d->reached : d->position[object] + d->below[object];
    return object == HD_NONE ? 0 : d->position[object] + 1;
}

static hd_status hd__dom_collect(hd__dom_tree *t, const hd__dom_group *group, hd_error *err) {
    hd__candidate self;
    uint32_t object, end;
    memset(&self, 0, sizeof self);
    for (uint32_t i = 0; hd__dom_member(t, group, i, &object); i++) {
        if (object != HD_NONE) {
            self.bytes += hd__graph_size(t->g, object);
            self.blocks += object < t->g->described;
        }
        for (uint32_t p = hd__dom_below(t->d, object, &end); p < end; p += t->d->below[t->d->order[p]]) {
            if (!(++t->done & HD__TICK) && !hd__go_on(&t->options->options, t->done, t->d->reached))
                return hd__cancelled(err);
            if (!hd__dom_count(t, group, t->d->order[p])) return hd__no_memory(&t->mem, err);
        }
    }
    self.id = HD_NONE;
    self.name = hd_cstr("<self>");
    if (self.blocks && hd__len(t->candidates) && !hd__push(&t->mem, t->candidates, self))
        return hd__no_memory(&t->mem, err);
    return HD_OK;
}

/* Breaks a group down: lists the candidates that pass, each with its objects. */
static hd_status hd__dom_split(hd__dom_tree *t, hd__dom_group group, hd_error *err) {
    uint32_t n, object, end;
    hd__set_len(t->candidates, 0);
    hd__set_len(t->chain, 0);
    HD__TRY(hd__dom_collect(t, &group, err));
    n = (uint32_t)hd__len(t->candidates);
    if (!hd__select(&t->mem, &t->options->cutoff, t->total, t->bytes[group.row], t->candidates, n,
                    &t->sorted) ||
        !hd__room(&t->mem, t->groups, n ? n : 1))
        return hd__no_memory(&t->mem, err);
    for (uint32_t k = 0; k < n; k++) {
        hd__candidate *c = &t->candidates[k];
        hd__dom_group below;
        if (!c->listed) continue;
        below.row = (uint32_t)hd__len(t->bytes);
        HD__TRY(hd__dom_entry(t, group.row, c->name, c->bytes, c->blocks, err));
        if (c->id == HD_NONE) continue;
        below.label = c->id;
        below.low = t->members;
        below.high = t->members += c->cells;
        stbds_arrput(t->groups, below);
        c->cells = below.low;    /* from here on: where the next of its objects goes */
    }
    for (uint32_t i = 0; hd__dom_member(t, &group, i, &object); i++)
        for (uint32_t p = hd__dom_below(t->d, object, &end); p < end; p += t->d->below[t->d->order[p]]) {
            uint32_t child = t->d->order[p], k = t->slot[t->label[t->g->class_of[child]]];
            if (k != HD_NONE && t->candidates[k].listed) t->member[t->candidates[k].cells++] = child;
        }
    for (uint32_t k = 0; k < n; k++)
        if (t->candidates[k].id != HD_NONE) t->slot[t->candidates[k].id] = HD_NONE;
    return HD_OK;
}

static hd_status hd__dom_tree_run(hd__dom_tree *t, hd_error *err) {
    size_t classes = hd__len(t->g->classes);
    hd__dom_group all;
    t->label = (uint32_t *)hd__arena_take(&t->mem, &t->arena, classes, 2 * sizeof *t->label);
    t->member = (uint32_t *)hd__arena_take(&t->mem, &t->arena, (size_t)t->d->reached + 1, sizeof *t->member);
    if (!t->label || !t->member || !hd__dom_find_missing(t)) return hd__no_memory(&t->mem, err);
    t->slot = t->label + classes;
    for (size_t i = 0; i < classes; i++) {
        t->label[i] = hd__strings_add(&t->mem, &t->arena, &t->names, t->g->classes[i].name);
        t->slot[i] = HD_NONE;
        if (t->label[i] == HD_NONE) return hd__no_memory(&t->mem, err);
    }
    HD__TRY(hd__dom_entry(t, HD_NONE, hd_cstr(""), t->total, hd__dom_described(t, 0, t->d->reached), err));
    all.row = all.low = 0;
    all.high = t->members = 1;
    all.label = HD_NONE;
    t->member[0] = HD_NONE;      /* all roots together */
    if (!hd__push(&t->mem, t->groups, all)) return hd__no_memory(&t->mem, err);
    while (hd__len(t->groups)) {
        hd__dom_group group = stbds_arrpop(t->groups);
        HD__TRY(hd__dom_split(t, group, err));
    }
    return HD_OK;
}

/* The entries as rows of a breakdown. */
static hd_status hd__dom_tree_seal(hd__dom_tree *t, hd_breakdown **out, hd_error *err) {
    uint32_t n = (uint32_t)hd__len(t->bytes);
    uint32_t *node = (uint32_t *)hd__arena_take(&t->mem, &t->arena, n, sizeof *node);
    double *variance = (double *)hd__arena_take(&t->mem, &t->arena, n, sizeof *variance);
    hd_axis axis;
    hd_rows rows;
    if (!node || !variance) return hd__no_memory(&t->mem, err);
    for (uint32_t i = 0; i < n; i++) {
        node[i] = i;
        variance[i] = 0;
    }
    axis.name = "dominator";
    axis.node_count = n;
    axis.parent = t->parent;
    axis.end = NULL;
    axis.node_name = t->node_name;
    rows.count = n;
    rows.axis_count = 1;
    rows.node = node;
    rows.bytes = t->bytes;
    rows.blocks = t->blocks;
    rows.variance = variance;
    return hd__seal(hd__mem_rest(&t->mem), &axis, rows, NULL, out, err);
}

HEAPDUMP_API hd_status hd_dominator_tree(const hd_graph *g, const hd_dominators *d,
                                         const hd_dominator_options *options, hd_breakdown **out,
                                         hd_error *err) {
    hd_dominator_options none;
    hd__dom_tree t;
    hd_status status;
    memset(&none, 0, sizeof none);
    memset(&t, 0, sizeof t);
    t.options = options ? options : &none;
    HD__TRY(hd__check_cutoff(&t.options->cutoff, err));
    if (d->count != g->count) return hd__fail(err, HD_INVALID, "dominators of another graph");
    t.g = g;
    t.d = d;
    t.mem = hd__mem_options(&t.options->options);
    t.max_records = hd__records(&t.options->options.limits);
    t.total = d->bytes;
    t.names.seed = hd__seed();
    status = hd__dom_tree_run(&t, err);
    if (!status) status = hd__dom_tree_seal(&t, out, err);
    hd__strings_free(&t.mem, &t.names);
    hd__arr_free(&t.mem, t.candidates);
    hd__arr_free(&t.mem, t.sorted);
    hd__arr_free(&t.mem, t.chain);
    hd__arr_free(&t.mem, t.groups);
    hd__arr_free(&t.mem, t.parent);
    hd__arr_free(&t.mem, t.node_name);
    hd__arr_free(&t.mem, t.bytes);
    hd__arr_free(&t.mem, t.blocks);
    hd__arena_free(&t.mem, &t.arena);
    return status;
}

/* Classes. ------------------------------------------------------------------------------------ */

/* Puts what is in `rows` into the order of `before`, in place. */
static hd_status hd__order_rows(hd__mem *m, void *rows, size_t n, size_t element,
                                bool (*before)(const void *owner, uint32_t a, uint32_t b), hd_error *err) {
    return hd__sort_array(m, rows, n, element, before) ? HD_OK : hd__no_memory(m, err);
}

static int hd__compare_names(hd_str name, hd_str scope, hd_str other_name, hd_str other_scope) {
    int order = hd_str_compare(name, other_name);
    return order ? order : hd_str_compare(scope, other_scope);
}

/* A row with the class it is about, so that sorting sees names. */
typedef struct hd__class_line {
    hd_class_row row;
    hd_str name, scope;
} hd__class_line;

static bool hd__class_before(const void *owner, uint32_t a, uint32_t b) {
    const hd__class_line *x = (const hd__class_line *)owner + a, *y = (const hd__class_line *)owner + b;
    int order;
    if (x->row.retained != y->row.retained) return x->row.retained > y->row.retained;
    if (x->row.bytes != y->row.bytes) return x->row.bytes > y->row.bytes;
    order = hd__compare_names(x->name, x->scope, y->name, y->scope);
    return order ? order < 0 : x->row.class_index < y->row.class_index;
}

static void hd__class_lines(const hd_graph *g, const hd_dominators *d, hd__class_line *line, uint32_t *open) {
    for (uint32_t i = 0; i < hd__len(g->classes); i++) {
        line[i].row.class_index = i;
        line[i].name = g->classes[i].name;
        line[i].scope = g->classes[i].scope;
    }
    for (uint32_t o = 0; o < g->described; o++) {
        hd_class_row *row = &line[g->class_of[o]].row;
        uint64_t size = hd__graph_size(g, o);
        row->objects++;
        row->bytes += size;
        if (!d || !d->below[o]) continue;
        row->live_objects++;
        row->live_bytes += size;
    }
    for (uint32_t p = 0; d && p < d->reached; p++) {
        uint32_t o = d->order[p], c = g->class_of[o];
        if (p < open[c]) continue; /* below another of its class */
        open[c] = p + d->below[o];
        line[c].row.retained += d->retained[o];
    }
}

HEAPDUMP_API hd_status hd_graph_histogram(const hd_graph *g, const hd_dominators *d,
                                          const hd_options *options, hd_histogram **out, hd_error *err) {
    hd__mem m = hd__mem_options(options);
    size_t classes = hd__len(g->classes);
    hd__class_line *line;
    uint32_t *open, n = 0;
    hd_histogram *h = NULL;
    hd_class_row *rows = NULL;
    hd_status status;
    HD__TRY(hd__graph_ready(g, err));
    if (d && d->count != g->count) return hd__fail(err, HD_INVALID, "dominators of another graph");
    line = (hd__class_line *)hd__calloc(&m, classes, sizeof *line);
    open = (uint32_t *)hd__calloc(&m, classes, sizeof *open);
    status = line && open ? HD_OK : hd__no_memory(&m, err);
    if (!status) {
        hd__class_lines(g, d, line, open);
        for (size_t i = 1; i < classes; i++)
            if (line[i].row.objects) line[n++] = line[i];
        status = hd__order_rows(&m, line, n, sizeof *line, hd__class_before, err);
    }
    if (!status) {
        h = (hd_histogram *)hd__owned_create(hd__mem_rest(&m), sizeof *h);
        rows = h ? (hd_class_row *)hd__owned_take(h, n, sizeof *rows) : NULL;
        if (!rows) status = hd__no_memory(h ? &((hd__owned *)(void *)h - 1)->mem : &m, err);
    }
    for (uint32_t i = 0; i < n && !status; i++) rows[i] = line[i].row;
    if (line) hd__cfree(&m, line, classes, sizeof *line);
    if (open) hd__cfree(&m, open, classes, sizeof *open);
    if (status) {
        hd__owned_free(h);
        return status;
    }
    h->count = n;
    h->rows = rows;
    *out = h;
    return HD_OK;
}

HEAPDUMP_API void hd_histogram_free(hd_histogram *h) { hd__owned_free(h); }

static uint64_t hd__apart(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

static bool hd__change_before(const void *owner, uint32_t a, uint32_t b) {
    const hd_class_change *x = (const hd_class_change *)owner + a, *y = (const hd_class_change *)owner + b;
    uint64_t dx = hd__apart(x->bytes[0], x->bytes[1]), dy = hd__apart(y->bytes[0], y->bytes[1]);
    if (dx != dy) return dx > dy;
    return hd__compare_names(x->name, x->scope, y->name, y->scope) < 0;
}

typedef struct hd__changes {
    hd__mem mem;
    hd_class_change *rows;       /* stb_ds array */
    hd__index index;
    uint64_t seed;
} hd__changes;

static uint64_t hd__change_hash(const void *owner, uint32_t number) {
    const hd__changes *c = (const hd__changes *)owner;
    const hd_class_change *row = &c->rows[number];
    return hd__hash_bytes(hd__hash_bytes(c->seed, row->name.data, row->name.len), row->scope.data,
                          row->scope.len);
}

/* Adds the classes of one side; its number by class goes to `row`. */
static bool hd__change_side(hd__changes *c, const hd_graph *g, int side, uint32_t *row) {
    for (uint32_t i = 1; i < hd__len(g->classes); i++) {
        hd_class_change change;
        size_t probe = 0;
        uint32_t k, n = (uint32_t)hd__len(c->rows);
        uint64_t hash;
        memset(&change, 0, sizeof change);
        change.name = g->classes[i].name;
        change.scope = g->classes[i].scope;
        if (!hd__push(&c->mem, c->rows, change)) return false;
        hash = hd__change_hash(c, n);
        while ((k = hd__index_next(&c->index, hash, &probe)) != HD_NONE)
            if (hd_str_equal(c->rows[k].name, change.name) && hd_str_equal(c->rows[k].scope, change.scope))
                break;
        if (k != HD_NONE) (void)stbds_arrpop(c->rows);
        else if (!hd__index_add(&c->mem, &c->index, hash, k = n, hd__change_hash, c)) return false;
        row[i] = k;
    }
    for (uint32_t o = 0; o < g->described; o++) {
        hd_class_change *change = &c->rows[row[g->class_of[o]]];
        change->objects[side]++;
        change->bytes[side] += hd__graph_size(g, o);
    }
    return true;
}

static bool hd__change_run(hd__changes *c, const hd_graph *before, const hd_graph *after) {
    size_t n = hd__len(before->classes), k = hd__len(after->classes), rows = n > k ? n : k, kept = 0;
    uint32_t *row = (uint32_t *)hd__calloc(&c->mem, rows, sizeof *row);
    bool ok = row && hd__change_side(c, before, 0, row) && hd__change_side(c, after, 1, row);
    if (row) hd__cfree(&c->mem, row, rows, sizeof *row);
    for (size_t i = 0; i < hd__len(c->rows); i++)
        if (c->rows[i].objects[0] || c->rows[i].objects[1]) c->rows[kept++] = c->rows[i];
    hd__set_len(c->rows, kept);
    return ok && hd__sort_array(&c->mem, c->rows, kept, sizeof *c->rows, hd__change_before);
}

HEAPDUMP_API hd_status hd_graph_diff(const hd_graph *before, const hd_graph *after, const hd_options *options,
                                     hd_graph_change **out, hd_error *err) {
    hd_graph_change *result = NULL;
    hd_class_change *rows = NULL;
    hd__changes c;
    HD__TRY(hd__graph_ready(before, err));
    HD__TRY(hd__graph_ready(after, err));
    memset(&c, 0, sizeof c);
    c.mem = hd__mem_options(options);
    c.seed = hd__seed();
    if (hd__change_run(&c, before, after)) {
        result = (hd_graph_change *)hd__owned_create(hd__mem_rest(&c.mem), sizeof *result);
        if (result) rows = (hd_class_change *)hd__owned_take(result, hd__len(c.rows), sizeof *rows);
    }
    if (rows) {
        result->count = (uint32_t)hd__len(c.rows);
        result->rows = rows;
        if (result->count) memcpy(rows, c.rows, result->count * sizeof *rows);
        *out = result;
    } else {
        hd__no_memory(result ? &((hd__owned *)(void *)result - 1)->mem : &c.mem, err);
        c.mem.over |= result && ((hd__owned *)(void *)result - 1)->mem.over;
        hd__owned_free(result);
    }
    hd__index_free(&c.mem, &c.index);
    hd__arr_free(&c.mem, c.rows);
    return rows ? HD_OK : c.mem.over ? HD_LIMIT : HD_OUT_OF_MEMORY;
}

HEAPDUMP_API void hd_graph_change_free(hd_graph_change *change) { hd__owned_free(change); }

/* Ways. --------------------------------------------------------------------------------------- */

static hd_status hd__links_fill(const hd_graph *g, const hd_options *options, hd_links *links,
                                hd_error *err) {
    uint32_t references = g->first[g->count];
    uint32_t *first = (uint32_t *)hd__owned_take(links, (size_t)g->count + 2, sizeof *first);
    uint32_t *target = (uint32_t *)hd__owned_take(links, references, sizeof *target);
    if (!first || !target) return hd__no_memory(&((hd__owned *)(void *)links - 1)->mem, err);
    memset(first, 0, ((size_t)g->count + 2) * sizeof *first);
    if (!hd__go_on(options, 0, references)) return hd__cancelled(err);
    for (uint32_t e = 0; e < references; e++) {
        if (references - e > 16) HD__PREFETCH(&first[g->target.low[e + 16] + 2]);
        first[g->target.low[e] + 2]++;
    }
    for (uint32_t i = 0; i < g->count; i++) first[i + 2] += first[i + 1];
    for (uint32_t o = 0; o < g->count; o++) {
        if (!(o & HD__TICK) && !hd__go_on(options, g->first[o], references)) return hd__cancelled(err);
        for (uint32_t e = g->first[o]; e < g->first[o + 1]; e++) {
            if (references - e > 16) HD__PREFETCH(&first[g->target.low[e + 16] + 1]);
            target[first[g->target.low[e] + 1]++] = o;
        }
    }
    links->count = g->count;
    links->first = first;
    links->target = target;
    return HD_OK;
}

HEAPDUMP_API hd_status hd_graph_referrers(const hd_graph *g, const hd_options *options, hd_links **out,
                                          hd_error *err) {
    hd__mem m = hd__mem_options(options);
    hd_links *links;
    hd_status status;
    HD__TRY(hd__graph_ready(g, err));
    links = (hd_links *)hd__owned_create(m, sizeof *links);
    if (!links) return hd__no_memory(&m, err);
    status = hd__links_fill(g, options, links, err);
    if (status) hd__owned_free(links);
    else *out = links;
    return status;
}

HEAPDUMP_API void hd_links_free(hd_links *links) { hd__owned_free(links); }

typedef struct hd__path_search {
    const hd_graph *g;
    const hd_options *options;
    hd__mem mem;
    uint32_t *from;              /* by object: what led to it, itself at a root; HD_NONE: not seen */
    uint32_t *queue;
    hd_path *paths;              /* stb_ds array */
} hd__path_search;

/* Breadth first from the roots until the object turns up. What `from` has already is not entered. */
static hd_status hd__path_search_run(hd__path_search *s, uint32_t object, bool *found, hd_error *err) {
    const hd_graph *g = s->g;
    const uint32_t *target = g->target.low;
    uint32_t end = 0;
    *found = false;
    for (size_t i = 0; i < hd__len(g->roots); i++) {
        uint32_t o = g->roots[i].object;
        if (!hd__root_holds(&g->roots[i]) || s->from[o] != HD_NONE || o == object) continue;
        s->from[o] = o;
        s->queue[end++] = o;
    }
    for (uint32_t at = 0; at < end && !*found; at++) {
        uint32_t o = s->queue[at];
        if (!(at & HD__TICK) && !hd__go_on(s->options, at, g->count)) return hd__cancelled(err);
        hd__queue_prefetch(g, s->queue, at, end, s->from, sizeof *s->from);
        for (uint32_t e = g->first[o]; e < g->first[o + 1] && !*found; e++) {
            if (s->from[target[e]] != HD_NONE) continue;
            s->from[target[e]] = o;
            s->queue[end++] = target[e];
            *found = target[e] == object;
        }
    }
    return HD_OK;
}

/* The way that `from` tells, as a path of the result. */
static hd_status hd__path_search_add(hd__path_search *s, hd_paths *out, uint32_t object, uint32_t root,
                                     hd_error *err) {
    const hd_graph *g = s->g;
    uint32_t length = 1, *objects, *references;
    hd_path path;
    if (root == HD_NONE)
        for (uint32_t o = object; s->from[o] != o; o = s->from[o]) length++;
    objects = (uint32_t *)hd__owned_take(out, length, 2 * sizeof *objects);
    if (!objects) return hd__no_memory(&((hd__owned *)(void *)out - 1)->mem, err);
    references = objects + length;
    references[length - 1] = HD_NONE;
    for (uint32_t i = length, o = object; i-- > 0; o = s->from[o]) {
        objects[i] = o;
        if (i + 1 == length) continue;
        references[i] = 0;
        while (g->target.low[g->first[o] + references[i]] != objects[i + 1]) references[i]++;
    }
    for (uint32_t i = 0; root == HD_NONE; i++)
        if (g->roots[i].object == objects[0] && hd__root_holds(&g->roots[i])) root = i;
    path.root = root;
    path.length = length;
    path.objects = objects;
    path.references = references;
    return hd__push(&s->mem, s->paths, path) ? HD_OK : hd__no_memory(&s->mem, err);
}

static hd_status hd__path_search_all(hd__path_search *s, hd_paths *out, uint32_t object, uint32_t most,
                                     hd_error *err) {
    const hd_graph *g = s->g;
    bool found = true;
    for (uint32_t i = 0; i < hd__len(g->roots) && hd__len(s->paths) < most; i++)
        if (g->roots[i].object == object && hd__root_holds(&g->roots[i]))
            HD__TRY(hd__path_search_add(s, out, object, i, err));
    while (found && hd__len(s->paths) < most) {
        memset(s->from, 0xff, g->count * sizeof *s->from);
        for (size_t i = 0; i < hd__len(s->paths); i++)
            for (uint32_t k = 0; k + 1 < s->paths[i].length; k++)
                s->from[s->paths[i].objects[k]] = s->paths[i].objects[k];
        HD__TRY(hd__path_search_run(s, object, &found, err));
        if (found) HD__TRY(hd__path_search_add(s, out, object, HD_NONE, err));
    }
    return HD_OK;
}

HEAPDUMP_API hd_status hd_graph_paths(const hd_graph *g, uint32_t object, uint32_t most,
                                      const hd_options *options, hd_paths **out, hd_error *err) {
    hd_paths *result;
    hd_path *paths = NULL;
    hd__path_search s;
    hd_status status;
    HD__TRY(hd__graph_has(g, &object, 1, err));
    memset(&s, 0, sizeof s);
    s.g = g;
    s.options = options;
    s.mem = hd__mem_options(options);
    s.from = (uint32_t *)hd__calloc(&s.mem, g->count, sizeof *s.from);
    s.queue = (uint32_t *)hd__calloc(&s.mem, g->count, sizeof *s.queue);
    result = (hd_paths *)hd__owned_create(hd__mem_rest(&s.mem), sizeof *result);
    status = s.from && s.queue && result ? hd__path_search_all(&s, result, object, most, err)
                                         : hd__no_memory(&s.mem, err);
    if (!status) {
        paths = (hd_path *)hd__owned_take(result, hd__len(s.paths), sizeof *paths);
        if (!paths) status = hd__no_memory(&((hd__owned *)(void *)result - 1)->mem, err);
    }
    if (!status) {
        result->count = (uint32_t)hd__len(s.paths);
        result->paths = paths;
        if (result->count) memcpy(paths, s.paths, result->count * sizeof *paths);
        *out = result;
    } else {
        hd__owned_free(result);
    }
    hd__arr_free(&s.mem, s.paths);
    if (s.from) hd__cfree(&s.mem, s.from, g->count, sizeof *s.from);
    if (s.queue) hd__cfree(&s.mem, s.queue, g->count, sizeof *s.queue);
    return status;
}

HEAPDUMP_API void hd_paths_free(hd_paths *paths) { hd__owned_free(paths); }

/* Tarjan's, without recursion: component[v] is the number of v in depth-first order until its component
   is known, low[v] the smallest such number it reaches, HD_NONE from then on. */
typedef struct hd__scc {
    uint32_t *low, *next, *parent, *stack;
    uint32_t numbers, waiting, components;
} hd__scc;

static void hd__scc_enter(const hd_graph *g, hd__scc *s, uint32_t v, uint32_t parent, uint32_t *component) {
    s->low[v] = component[v] = ++s->numbers;
    s->next[v] = g->first[v];
    s->parent[v] = parent;
    s->stack[s->waiting++] = v;
}

/* Leaves v for its parent, which is returned; a component is complete when v reaches nothing above. */
static uint32_t hd__scc_leave(hd__scc *s, uint32_t v, uint32_t *component) {
    uint32_t parent = s->parent[v], low = s->low[v], member;
    if (low == component[v]) {
        do {
            member = s->stack[--s->waiting];
            component[member] = s->components;
            s->low[member] = HD_NONE;
        } while (member != v);
        s->components++;
    } else if (s->low[parent] > low) {
        s->low[parent] = low;
    }
    return parent;
}

static void hd__scc_from(const hd_graph *g, hd__scc *s, uint32_t v, uint32_t *component) {
    hd__scc_enter(g, s, v, HD_NONE, component);
    while (v != HD_NONE) {
        uint32_t w;
        if (s->next[v] == g->first[v + 1]) {
            v = hd__scc_leave(s, v, component);
            continue;
        }
        w = g->target.low[s->next[v]++];
        if (!s->low[w]) {
            hd__scc_enter(g, s, w, v, component);
            v = w;
        } else if (s->low[w] < s->low[v]) {
            s->low[v] = s->low[w];
        }
    }
}

HEAPDUMP_API hd_status hd_graph_components(const hd_graph *g, const hd_options *options, uint32_t *component,
                                           uint32_t *count, hd_error *err) {
    hd__mem m = hd__mem_options(options);
    hd_status status = HD_OK;
    hd__scc s;
    HD__TRY(hd__graph_ready(g, err));
    memset(&s, 0, sizeof s);
    s.low = (uint32_t *)hd__calloc(&m, g->count, 4 * sizeof *s.low);
    if (!s.low) return hd__no_memory(&m, err);
    s.next = s.low + g->count;
    s.parent = s.next + g->count;
    s.stack = s.parent + g->count;
    for (uint32_t v = 0; v < g->count && !status; v++) {
        if (!(v & HD__TICK) && !hd__go_on(options, v, g->count)) status = hd__cancelled(err);
        else if (!s.low[v]) hd__scc_from(g, &s, v, component);
    }
    hd__cfree(&m, s.low, g->count, 4 * sizeof *s.low);
    if (!status) *count = s.components;
    return status;
}

/* Merging. ------------------------------------------------------------------------------------ */

typedef struct hd__union {
    const hd_graph *const *graphs;
    size_t count;
    const hd_options *options;
    hd_graph *to;                /* all memory is taken from its own, so that one limit holds */
    hd__arena arena;
    uint32_t **class_map, **map; /* by graph: number in `to` of its classes and objects */
    uint32_t *source, *source_graph; /* by object of `to`: where it is from. stb_ds arrays */
    hd__index classes, objects, ids, roots;
    uint64_t seed;
} hd__union;

static uint64_t hd__union_class_hash(const void *owner, uint32_t number) {
    const hd__union *x = (const hd__union *)owner;
    const hd_class *c = &x->to->classes[number];
    return hd__hash_bytes(hd__hash_u64(x->seed, c->id), c->name.data, c->name.len);
}

static uint64_t hd__union_id_hash(const void *owner, uint32_t object) {
    const hd__union *x = (const hd__union *)owner;
    return hd__hash_u64(x->seed, hd__graph_id(x->graphs[x->source_graph[object]], x->source[object]));
}

static uint64_t hd__union_hash(const void *owner, uint32_t object) {
    const hd__union *x = (const hd__union *)owner;
    const hd_graph *g = x->graphs[x->source_graph[object]];
    hd_object o = hd_graph_object(g, x->source[object]);
    hd_str name = g->classes[o.class_index].name;
    uint64_t hash = hd__hash_u64(hd__hash_u64(x->seed, o.id), o.size);
    hash = hd__hash_bytes(hash, name.data, name.len);
    for (uint32_t i = 0; i < o.reference_count; i++)
        hash = hd__hash_u64(hash, hd__graph_id(g, o.references[i]));
    return hash;
}

static bool hd__union_alike(const hd__union *x, uint32_t a, uint32_t b) {
    const hd_graph *g = x->graphs[x->source_graph[a]], *h = x->graphs[x->source_graph[b]];
    hd_object o = hd_graph_object(g, x->source[a]), p = hd_graph_object(h, x->source[b]);
    if (x->source_graph[a] == x->source_graph[b] || o.id != p.id || o.size != p.size ||
        o.reference_count != p.reference_count ||
        !hd_str_equal(g->classes[o.class_index].name, h->classes[p.class_index].name))
        return false;
    for (uint32_t i = 0; i < o.reference_count; i++)
        if (hd__graph_id(g, o.references[i]) != hd__graph_id(h, p.references[i])) return false;
    return true;
}

static uint64_t hd__union_root_hash(const void *owner, uint32_t number) {
    const hd__union *x = (const hd__union *)owner;
    const hd_root *r = &x->to->roots[number];
    uint64_t hash = hd__hash_u64(x->seed, (uint64_t)r->object << 32 | r->container);
    return hd__hash_u64(hash, (uint64_t)r->kind << 32 | r->flags);
}

static hd_status hd__union_classes(hd__union *x, size_t which) {
    const hd_graph *g = x->graphs[which];
    uint32_t *map = x->class_map[which];
    map[0] = 0;
    for (uint32_t i = 1; i < hd__len(g->classes); i++) {
        const hd_class *c = &g->classes[i];
        uint64_t hash = hd__hash_bytes(hd__hash_u64(x->seed, c->id), c->name.data, c->name.len);
        size_t probe = 0;
        while ((map[i] = hd__index_next(&x->classes, hash, &probe)) != HD_NONE)
            if (x->to->classes[map[i]].id == c->id && hd_str_equal(x->to->classes[map[i]].name, c->name))
                break;
        if (map[i] != HD_NONE) {
            hd_class *same = &x->to->classes[map[i]];
            same->described |= c->described;
            if (!hd_str_equal(same->scope, c->scope)) same->scope = hd_cstr("");
            continue;
        }
        HD__TRY(hd_graph_add_class(x->to, c, &map[i]));
        if (!hd__index_add(&x->to->mem, &x->classes, hash, map[i], hd__union_class_hash, x))
            return HD_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < hd__len(g->fields); i++)
        HD__TRY(hd_graph_add_field(x->to, map[g->fields[i].class_index], g->fields[i].reference,
                                   g->fields[i].name));
    return HD_OK;
}

/* Objects of one graph that are not in `to` yet, without references. */
static hd_status hd__union_objects(hd__union *x, size_t which) {
    const hd_graph *g = x->graphs[which];
    for (uint32_t o = 0; o < g->described; o++) {
        uint32_t n = (uint32_t)hd__len(x->source), same;
        uint64_t hash, id_hash;
        size_t probe = 0;
        if (!(o & HD__TICK) && !hd__go_on(x->options, o, g->described)) return HD_CANCELLED;
        if (!hd__room(&x->to->mem, x->source, 1) || !hd__room(&x->to->mem, x->source_graph, 1))
            return HD_OUT_OF_MEMORY;
        stbds_arrput(x->source, o);
        stbds_arrput(x->source_graph, (uint32_t)which);
        hash = hd__union_hash(x, n);
        while ((same = hd__index_next(&x->objects, hash, &probe)) != HD_NONE)
            if (hd__union_alike(x, same, n)) break;
        x->map[which][o] = same;
        if (same != HD_NONE) {
            (void)stbds_arrpop(x->source);
            (void)stbds_arrpop(x->source_graph);
            continue;
        }
        x->map[which][o] = n;
        id_hash = hd__union_id_hash(x, n);
        probe = 0;
        while ((same = hd__index_next(&x->ids, id_hash, &probe)) != HD_NONE)
            if (hd__graph_id(x->graphs[x->source_graph[same]], x->source[same]) == hd__graph_id(g, o)) break;
        if (!hd__index_add(&x->to->mem, &x->objects, hash, n, hd__union_hash, x) ||
            (same == HD_NONE && !hd__index_add(&x->to->mem, &x->ids, id_hash, n, hd__union_id_hash, x)))
            return HD_OUT_OF_MEMORY;
        HD__TRY(hd_graph_add_object(x->to, hd__graph_id(g, o), x->class_map[which][g->class_of[o]],
                                    hd__graph_size(g, o)));
    }
    return HD_OK;
}

/* What an object of a graph is in `to`; HD_NONE: described nowhere. */
static uint32_t hd__union_number(const hd__union *x, size_t which, uint32_t object) {
    const hd_graph *g = x->graphs[which];
    uint64_t id = hd__graph_id(g, object), hash = hd__hash_u64(x->seed, id);
    size_t probe = 0;
    uint32_t n;
    if (object < g->described) return x->map[which][object];
    while ((n = hd__index_next(&x->ids, hash, &probe)) != HD_NONE)
        if (hd__graph_id(x->graphs[x->source_graph[n]], x->source[n]) == id) break;
    return n;
}

static hd_status hd__union_references(hd__union *x, hd__missing *missing) {
    hd_graph *to = x->to;
    for (uint32_t n = 0; n < to->described; n++) {
        size_t which = x->source_graph[n];
        hd_object o = hd_graph_object(x->graphs[which], x->source[n]);
        to->first[n] = (uint32_t)hd__len(to->target.low);
        if (o.reference_count > to->max_records - to->first[n]) return HD_LIMIT;
        if (!hd__ids_room(&to->mem, &to->target, o.reference_count)) return HD_OUT_OF_MEMORY;
        for (uint32_t i = 0; i < o.reference_count; i++) {
            uint32_t target = hd__union_number(x, which, o.references[i]);
            if (target == HD_NONE &&
                !hd__missing_add(&to->mem, missing, hd__graph_id(x->graphs[which], o.references[i]),
                                 hd__len(to->target.low)))
                return HD_OUT_OF_MEMORY;
            stbds_arrput(to->target.low, target);
        }
    }
    return HD_OK;
}

/* Roots, those to objects nobody describes last: these have numbers only once all are known. */
static hd_status hd__union_roots(hd__union *x, hd__missing *missing) {
    for (size_t which = 0; which < x->count; which++)
        for (size_t i = 0; i < hd__len(x->graphs[which]->roots); i++) {
            hd_root r = x->graphs[which]->roots[i];
            uint32_t object = r.object;
            uint64_t id = hd__graph_id(x->graphs[which], object), n = hd__len(x->to->roots);
            if (n >= x->to->max_records) return HD_LIMIT;
            if (r.container != HD_NONE) r.container = x->class_map[which][r.container];
            r.object = hd__union_number(x, which, object);
            if (r.object == HD_NONE && !hd__missing_add(&x->to->mem, missing, id, n | (uint64_t)1 << 32))
                return HD_OUT_OF_MEMORY;
            if (!hd__push(&x->to->mem, x->to->roots, r)) return HD_OUT_OF_MEMORY;
        }
    return HD_OK;
}

static bool hd__union_unique_roots(hd__union *x) {
    hd_root *roots = x->to->roots;
    uint32_t kept = 0;
    for (size_t i = 0; i < hd__len(roots); i++) {
        uint64_t hash;
        size_t probe = 0;
        uint32_t k;
        roots[kept] = roots[i];
        hash = hd__union_root_hash(x, kept);
        while ((k = hd__index_next(&x->roots, hash, &probe)) != HD_NONE)
            if (!memcmp(&roots[k], &roots[kept], sizeof *roots)) break;
        if (k != HD_NONE) continue;
        if (!hd__index_add(&x->to->mem, &x->roots, hash, kept, hd__union_root_hash, x)) return false;
        kept++;
    }
    hd__set_len(roots, kept);
    return true;
}

static hd_status hd__union_run(hd__union *x) {
    hd__mem *m = &x->to->mem;
    hd__missing missing;
    hd_status status = HD_OK;
    x->class_map = (uint32_t **)hd__arena_take(m, &x->arena, x->count, sizeof *x->class_map);
    x->map = (uint32_t **)hd__arena_take(m, &x->arena, x->count, sizeof *x->map);
    if (!x->class_map || !x->map) return HD_OUT_OF_MEMORY;
    for (size_t i = 0; i < x->count; i++) {
        x->class_map[i] = (uint32_t *)hd__arena_take(m, &x->arena, hd__len(x->graphs[i]->classes), 4);
        x->map[i] = (uint32_t *)hd__arena_take(m, &x->arena, x->graphs[i]->described, 4);
        if (!x->class_map[i] || !x->map[i]) return HD_OUT_OF_MEMORY;
        HD__TRY(hd__union_classes(x, i));
        HD__TRY(hd__union_objects(x, i));
    }
    hd__graph_set_lengths(x->to);
    memset(&missing, 0, sizeof missing);
    status = hd__union_references(x, &missing);
    if (!status) status = hd__union_roots(x, &missing);
    if (!status && (!hd__id_index_build(&x->to->mem, &x->to->index, &x->to->id, x->to->described) ||
                    !hd__graph_place_missing(x->to, &missing) || !hd__union_unique_roots(x) ||
                    !hd__graph_sort_lists(x->to) || !hd__graph_close(x->to)))
        status = HD_OUT_OF_MEMORY;
    hd__missing_free(&x->to->mem, &missing);
    return status;
}

HEAPDUMP_API hd_status hd_graph_merge(const hd_graph *const *graphs, size_t count, const hd_options *options,
                                      hd_graph **out, hd_error *err) {
    hd_graph_desc desc;
    hd__union x;
    hd_status status;
    hd_error ignored;
    if (!err) err = &ignored;
    for (size_t i = 0; i < count; i++) HD__TRY(hd__graph_ready(graphs[i], err));
    memset(&desc, 0, sizeof desc);
    if (options) {
        desc.allocator = options->allocator;
        desc.limits = options->limits;
    }
    memset(&x, 0, sizeof x);
    x.graphs = graphs;
    x.count = count;
    x.options = options;
    x.seed = hd__seed();
    x.to = hd_graph_create(&desc, err);
    if (!x.to) return err->status;
    status = hd__union_run(&x);
    if (status == HD_OUT_OF_MEMORY && x.to->mem.over) status = HD_LIMIT;
    if (status) hd__fail(err, status, "%s while merging", hd_status_text(status));
    hd__index_free(&x.to->mem, &x.classes);
    hd__index_free(&x.to->mem, &x.objects);
    hd__index_free(&x.to->mem, &x.ids);
    hd__index_free(&x.to->mem, &x.roots);
    hd__arr_free(&x.to->mem, x.source);
    hd__arr_free(&x.to->mem, x.source_graph);
    hd__arena_free(&x.to->mem, &x.arena);
    if (status) hd_graph_free(x.to);
    else *out = x.to;
    return status;
}

/* ================================================================================ >>tracker
   Contexts: nodes never move (segments of doubling size) and never change, so that readers need no
   lock; a hash table of node numbers finds children. Adding takes the lock, writes the node, then
   publishes its number in the table. A table that is full is replaced; the old ones, half as large
   together, stay until the end because a reader may still be in them: what it misses there it finds
   under the lock. Cost: 16 bytes and two to four table slots of 4 per context.

   The pseudo-stack of a thread holds contexts, one per open scope, so that its top is the backtrace.
   It is plain thread-local memory: nothing to allocate, nothing to free when a thread ends. A scope's
   place in the program remembers the context that it led to last, mostly the next one too; a thread
   remembers its last native stack, and looks up only the frames that are new. */

#define HD__SEGMENT_BITS 10u
#define HD__SEGMENTS 22u

typedef struct hd__node {
    uint32_t parent, kind;
    const void *value;
} hd__node;

typedef struct hd__node_table {
    struct hd__node_table *older;
    size_t capacity;
    uint32_t slots[1];           /* node numbers plus one; `capacity` of them */
} hd__node_table;

struct hd_contexts {
    hd__node_table *table;
    uint32_t count;
    uintptr_t memory;
    hd__node *segments[HD__SEGMENTS];
    hd__mutex lock;
};

typedef struct hd__thread {
    uint32_t session;            /* of the tracker that `nodes` belongs to */
    uint32_t depth;              /* of open scopes that pushed; these remember what they pushed onto */
    uint32_t top;                /* the context of the innermost; 0: none is open */
    /* Volatile, since signal handlers look at them, and malloc hooks from inside calls that glibc
       declares leaf: compilers take those for unable to come back here. */
    volatile uint32_t adding;    /* inside a lock of the tracker: a signal handler must not wait */
    volatile uint32_t suspended; /* recorders ignore this thread */
    uint32_t sampler;            /* number of the recorder that the next two are for */
    uint64_t until_sample;       /* bytes to allocate until the block that is sampled */
    uint64_t random;
    /* The last native stack, outermost frame first, and the contexts it led to: most frames of the next
       one are the same. */
    uint32_t native_busy;        /* a signal handler that comes now leaves these alone */
    uint32_t native_count, native_root; /* native_root: the context it stands on */
    uint32_t native_nodes[HD_MAX_FRAMES];
    const void *native_pcs[HD_MAX_FRAMES];
} hd__thread;

static HD__THREAD_LOCAL hd__thread hd__this;

static unsigned hd__log2(uint32_t x) {
#if defined(__GNUC__)
    return 31u - (unsigned)__builtin_clz(x);
#else
    unsigned n = 0;
    while (x >>= 1) n++;
    return n;
#endif
}

static hd__node *hd__contexts_node(const hd_contexts *c, uint32_t context) {
    uint32_t shifted = context + (1u << HD__SEGMENT_BITS);
    unsigned segment = hd__log2(shifted) - HD__SEGMENT_BITS;
    return &c->segments[segment][shifted - (1u << (segment + HD__SEGMENT_BITS))];
}

static uint64_t hd__contexts_hash(uint32_t parent, const void *value) {
    return hd__hash_u64(parent, (uint64_t)(uintptr_t)value);
}

static uint32_t hd__contexts_find(const hd_contexts *c, uint64_t hash, uint32_t parent, hd_frame_kind kind,
                                  const void *value) {
    const hd__node_table *t = HD__LOAD(&c->table);
    for (size_t i = (size_t)hash;; i++) {
        uint32_t slot = HD__LOAD(&t->slots[i & (t->capacity - 1)]);
        const hd__node *n;
        if (!slot) return HD_NONE;
        n = hd__contexts_node(c, slot - 1);
        if (n->parent == parent && n->value == value && n->kind == (uint32_t)kind) return slot - 1;
    }
}

static void hd__contexts_place(const hd_contexts *c, hd__node_table *t, uint32_t context) {
    const hd__node *n = hd__contexts_node(c, context);
    size_t i = (size_t)hd__contexts_hash(n->parent, n->value);
    while (HD__LOAD_RELAXED(&t->slots[i & (t->capacity - 1)])) i++;
    HD__STORE(&t->slots[i & (t->capacity - 1)], context + 1);
}

static bool hd__contexts_grow(hd_contexts *c, size_t capacity) {
    size_t size = offsetof(hd__node_table, slots) + capacity * sizeof(uint32_t);
    hd__node_table *t = (hd__node_table *)hd__pages_take(size);
    if (!t) return false;
    HD__ADD(&c->memory, hd__page_round(size));
    t->capacity = capacity;
    t->older = c->table;
    for (uint32_t i = 1; i < c->count; i++) hd__contexts_place(c, t, i);
    HD__STORE(&c->table, t);
    return true;
}

/* Under the lock: a new node, not yet in the table. */
static bool hd__contexts_append(hd_contexts *c, uint32_t parent, hd_frame_kind kind, const void *value) {
    uint32_t shifted = c->count + (1u << HD__SEGMENT_BITS);
    unsigned segment = hd__log2(shifted) - HD__SEGMENT_BITS;
    hd__node *n;
    if (segment >= HD__SEGMENTS) return false;
    if (!c->segments[segment]) {
        size_t size = sizeof *n << (segment + HD__SEGMENT_BITS);
        c->segments[segment] = (hd__node *)hd__pages_take(size);
        if (!c->segments[segment]) return false;
        HD__ADD(&c->memory, hd__page_round(size));
    }
    n = hd__contexts_node(c, c->count);
    n->parent = parent;
    n->kind = (uint32_t)kind;
    n->value = value;
    HD__STORE(&c->count, c->count + 1);
    return true;
}

HEAPDUMP_API hd_contexts *hd_contexts_create(hd_error *err) {
    hd_contexts *c = (hd_contexts *)hd__pages_take(sizeof *c);
    if (c) {
        hd__mutex_init(&c->lock);
        c->memory = hd__page_round(sizeof *c);
        if (hd__contexts_append(c, HD_NONE, HD_FRAME_ROOT, NULL) && hd__contexts_grow(c, 512)) return c;
        hd_contexts_free(c);
    }
    hd__fail(err, HD_OUT_OF_MEMORY, "the OS gives no memory for contexts");
    return NULL;
}

HEAPDUMP_API void hd_contexts_free(hd_contexts *c) {
    if (!c) return;
    while (c->table) {
        hd__node_table *t = c->table;
        c->table = t->older;
        hd__pages_give(t, offsetof(hd__node_table, slots) + t->capacity * sizeof(uint32_t));
    }
    for (unsigned i = 0; i < HD__SEGMENTS; i++)
        hd__pages_give(c->segments[i], sizeof(hd__node) << (i + HD__SEGMENT_BITS));
    hd__mutex_free(&c->lock);
    hd__pages_give(c, sizeof *c);
}

HD__NOINLINE static hd_status hd__contexts_add(hd_contexts *c, uint64_t hash, uint32_t parent,
                                               hd_frame_kind kind, const void *value, uint32_t *child) {
    hd_status status = HD_OUT_OF_MEMORY;
    if (hd__this.adding) return status;
    hd__this.adding = 1;
    hd__lock(&c->lock);
    *child = hd__contexts_find(c, hash, parent, kind, value);
    if (*child != HD_NONE) {
        status = HD_OK;
    } else if ((2 * ((size_t)c->count + 1) <= c->table->capacity ||
                hd__contexts_grow(c, 2 * c->table->capacity)) &&
               hd__contexts_append(c, parent, kind, value)) {
        *child = c->count - 1;
        hd__contexts_place(c, c->table, *child);
        status = HD_OK;
    }
    hd__unlock(&c->lock);
    hd__this.adding = 0;
    return status;
}

HEAPDUMP_API hd_status hd_contexts_child(hd_contexts *c, uint32_t parent, hd_frame_kind kind,
                                         const void *value, uint32_t *child) {
    uint64_t hash = hd__contexts_hash(parent, value);
    uint32_t found = hd__contexts_find(c, hash, parent, kind, value);
    if (HD__UNLIKELY(found == HD_NONE)) {
        HD__TRY(hd__contexts_add(c, hash, parent, kind, value, &found));
    }
    *child = found;
    return HD_OK;
}

HEAPDUMP_API hd_frame hd_contexts_frame(const hd_contexts *c, uint32_t context) {
    const hd__node *n = hd__contexts_node(c, context);
    hd_frame frame;
    frame.parent = n->parent;
    frame.kind = (hd_frame_kind)n->kind;
    frame.value = n->value;
    return frame;
}

HEAPDUMP_API uint32_t hd_contexts_count(const hd_contexts *c) { return HD__LOAD(&c->count); }

HEAPDUMP_API uint64_t hd_contexts_memory(const hd_contexts *c) {
    return HD__LOAD_RELAXED(&c->memory);
}

/* The one tracker. `lock` guards the filter; the rest changes only between start and stop, but for
   the flags, which are words of their own. */
static struct hd__tracker {
    hd_contexts *contexts;       /* NULL: not running */
    hd_unwind_fn unwind;
    void *user;
    hd_capture capture;
    uint32_t max_frames;
    uint32_t session;            /* counts starts */
    uint32_t pseudo_session;     /* the same while pseudo-stacks are all that is captured; else 1, which
                                    is no session */
    uint32_t generation;         /* counts filters; in the upper 31 bits of hd_category.state */
    char filter[1024];
#if !defined(HEAPDUMP_NO_THREADS)
    hd__mutex lock;
#endif
} hd__tracker = { NULL, NULL, NULL, HD_CAPTURE_DEFAULT, 0, 1, 1, 1, "",
#if defined(HEAPDUMP_NO_THREADS)
#elif defined(_WIN32)
    SRWLOCK_INIT
#else
    PTHREAD_MUTEX_INITIALIZER
#endif
};

/* The bits of hd__scopes_off. */
enum { HD__NOT_RUNNING = 1, HD__NOT_RECORDING = 2, HD__NOT_PROFILING = 4 };

#ifndef HEAPDUMP_STATIC
uint32_t hd__scopes_off = HD__NOT_RUNNING;
#endif

static void hd__scopes_set(uint32_t bit, bool holds) {
    if (holds) HD__AND(&hd__scopes_off, ~bit);
    else HD__OR(&hd__scopes_off, bit);
}

static void hd__tracker_lock(void) {
    hd__this.adding = hd__this.adding + 1;
#if !defined(HEAPDUMP_NO_THREADS)
    hd__lock(&hd__tracker.lock);
#endif
}
static void hd__tracker_unlock(void) {
#if !defined(HEAPDUMP_NO_THREADS)
    hd__unlock(&hd__tracker.lock);
#endif
    hd__this.adding = hd__this.adding - 1;
}

HEAPDUMP_API hd_status hd_tracker_start(const hd_tracker_desc *desc, hd_error *err) {
    hd_capture capture = desc->capture ? desc->capture : HD_CAPTURE_PSEUDO_STACK;
    if (hd__tracker.contexts) return hd__fail(err, HD_INVALID, "the tracker is running already");
    if (!desc->contexts) return hd__fail(err, HD_INVALID, "the tracker needs contexts");
    if (!desc->unwind && (capture == HD_CAPTURE_NATIVE_STACK || capture == HD_CAPTURE_MIXED_STACK))
        return hd__fail(err, HD_INVALID, "native stacks need an unwinder");
    if (desc->max_frames > HD_MAX_FRAMES)
        return hd__fail(err, HD_INVALID, "at most %u frames expected, %u found", (uint64_t)HD_MAX_FRAMES,
                        (uint64_t)desc->max_frames);
    if (hd_tracker_set_categories(desc->categories))
        return hd__fail(err, HD_INVALID, "a category filter of at most 1023 bytes expected");
    hd__tracker.capture = capture;
    hd__tracker.max_frames = desc->max_frames ? desc->max_frames : 48;
    hd__tracker.unwind = desc->unwind;
    hd__tracker.user = desc->user;
    if (++hd__tracker.session < 2) hd__tracker.session = 2;
    HD__STORE(&hd__tracker.pseudo_session, capture == HD_CAPTURE_PSEUDO_STACK ? hd__tracker.session : 1);
    HD__STORE(&hd__tracker.contexts, desc->contexts);
    hd_tracker_set_recording(true);
    hd_tracker_set_heap_profiling(true);
    hd__scopes_set(HD__NOT_RUNNING, capture == HD_CAPTURE_PSEUDO_STACK || capture == HD_CAPTURE_MIXED_STACK);
    return HD_OK;
}

HEAPDUMP_API void hd_tracker_stop(void) {
    hd__scopes_set(HD__NOT_RUNNING, false);
    HD__STORE(&hd__tracker.pseudo_session, 1);
    HD__STORE(&hd__tracker.contexts, (hd_contexts *)NULL);
}

HEAPDUMP_API bool hd_tracker_running(void) { return HD__LOAD(&hd__tracker.contexts) != NULL; }

HEAPDUMP_API void hd_tracker_set_recording(bool recording) {
    hd__scopes_set(HD__NOT_RECORDING, recording);
}

HEAPDUMP_API void hd_tracker_set_heap_profiling(bool enabled) {
    hd__scopes_set(HD__NOT_PROFILING, enabled);
}

HEAPDUMP_API hd_status hd_tracker_set_categories(const char *filter) {
    size_t n = filter ? strlen(filter) : 0;
    if (n >= sizeof hd__tracker.filter) return HD_INVALID;
    hd__tracker_lock();
    if (n) memcpy(hd__tracker.filter, filter, n);
    hd__tracker.filter[n] = 0;
    HD__STORE(&hd__tracker.generation, (hd__tracker.generation + 1) & 0x7fffffffu);
    hd__tracker_unlock();
    return HD_OK;
}

/* Whether a pattern with * and ? matches a whole name. */
static bool hd__glob(hd_str pattern, hd_str name) {
    size_t p = 0, n = 0, star = SIZE_MAX, mark = 0;
    while (n < name.len) {
        if (p < pattern.len && (pattern.data[p] == '?' || pattern.data[p] == name.data[n]) &&
            pattern.data[p] != '*') {
            p++;
            n++;
        } else if (p < pattern.len && pattern.data[p] == '*') {
            star = p++;
            mark = n;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            n = ++mark;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.data[p] == '*') p++;
    return p == pattern.len;
}

/* The next piece of a comma-separated list, without spaces around it; false at the end. */
static bool hd__list_next(hd_str *list, hd_str *piece) {
    if (!list->data) return false;
    piece->data = list->data;
    piece->len = 0;
    while (piece->len < list->len && list->data[piece->len] != ',') piece->len++;
    if (piece->len < list->len) {
        list->data += piece->len + 1;
        list->len -= piece->len + 1;
    } else {
        list->data = NULL;
    }
    while (piece->len && *piece->data == ' ') piece->data++, piece->len--;
    while (piece->len && piece->data[piece->len - 1] == ' ') piece->len--;
    return true;
}

static bool hd__starts_with(hd_str s, const char *prefix) {
    size_t n = strlen(prefix);
    return s.len >= n && !memcmp(s.data, prefix, n);
}

static bool hd__category_enabled(hd_str filter, hd_str category) {
    const char *by_default = "disabled-by-default-";
    bool hidden = hd__starts_with(category, by_default), included = false, excluded = false, any = false;
    hd_str piece;
    while (hd__list_next(&filter, &piece)) {
        bool minus = piece.len && *piece.data == '-';
        if (minus) piece.data++, piece.len--;
        if (!piece.len) continue;
        any |= !minus;
        if (!minus && hd_str_equal(piece, category)) return true;
        if (!hd__glob(piece, category)) continue;
        if (minus) excluded = true;
        else if (!hidden || hd__starts_with(piece, by_default)) included = true;
    }
    return !excluded && (included || (!any && !hidden));
}

HD__NOINLINE static bool hd__category_find(hd_category *category) {
    hd_str list = hd_cstr(category->name), piece;
    uint32_t enabled = 0, generation;
    if (hd__this.adding) return false;
    hd__tracker_lock();
    while (hd__list_next(&list, &piece))
        enabled |= (uint32_t)hd__category_enabled(hd_cstr(hd__tracker.filter), piece);
    generation = hd__tracker.generation;
    hd__tracker_unlock();
    HD__STORE(&category->state, generation << 1 | enabled);
    return enabled;
}

/* The calling thread's stack, emptied when it belongs to an earlier session. */
static hd__thread *hd__thread_stack(void) {
    hd__thread *t = &hd__this;
    if (HD__UNLIKELY(t->session != hd__tracker.session)) {
        t->depth = t->top = 0;
        t->native_count = 0;
        t->session = hd__tracker.session;
    }
    return t;
}

static bool hd__is_child(const hd_contexts *c, uint32_t context, uint32_t parent, const char *name) {
    const hd__node *n;
    if (context >= HD__LOAD(&c->count)) return false;
    n = hd__contexts_node(c, context);
    return n->parent == parent && n->value == name && n->kind == HD_FRAME_NAME;
}

HD__INLINE hd_scope hd__scope_push(hd__thread *t, uint32_t session, uint32_t node) {
    hd_scope scope;
    scope.session = session;
    scope.depth = t->depth;
    scope.top = t->top;
    t->depth = scope.depth + 1;
    t->top = node;
    return scope;
}

/* Looks the category and the context up. */
HD__NOINLINE static hd_scope hd__scope_find(hd_category *category, const char *name) {
    hd_contexts *contexts = HD__LOAD(&hd__tracker.contexts);
    uint32_t state = HD__LOAD_RELAXED(&category->state), session = hd__tracker.session, parent, node, kept;
    hd__thread *t;
    hd_scope scope;
    scope.session = scope.depth = 0;
    if (!contexts || !HD__SCOPES_ON()) return scope;
    if (!(state >> 1 == HD__LOAD_RELAXED(&hd__tracker.generation) ? state & 1 : hd__category_find(category)))
        return scope;
    t = hd__thread_stack();
    kept = t->depth;
    node = parent = t->top;
    if (kept < hd__tracker.max_frames) {
        hd_contexts_child(contexts, parent, HD_FRAME_NAME, name, &node);
        HD__STORE(&category->last, node);
    } else if (kept == hd__tracker.max_frames) {
        hd_contexts_child(contexts, parent, HD_FRAME_TRUNCATED, NULL, &node);
    }
    return hd__scope_push(t, session, node);
}

/* Calls nothing where the scope led to the same context last time. */
HEAPDUMP_API hd_scope hd_scope_begin(hd_category *category, const char *name) {
    hd_contexts *contexts = HD__LOAD(&hd__tracker.contexts);
    uint32_t state = HD__LOAD_RELAXED(&category->state), last = HD__LOAD_RELAXED(&category->last);
    hd__thread *t = &hd__this;
    if (HD__LIKELY(contexts && HD__SCOPES_ON() && state >> 1 == HD__LOAD_RELAXED(&hd__tracker.generation) &&
                   (state & 1) && t->session == hd__tracker.session && t->depth < hd__tracker.max_frames &&
                   hd__is_child(contexts, last, t->top, name)))
        return hd__scope_push(t, t->session, last);
    return hd__scope_find(category, name);
}

HEAPDUMP_API void hd_scope_end(hd_scope *scope) {
    hd__thread *t = &hd__this;
    if (scope->session && scope->session == t->session && scope->depth < t->depth) {
        t->depth = scope->depth;
        t->top = scope->top;
    }
    scope->session = 0;
}

HEAPDUMP_API uint32_t hd_tracker_depth(void) {
    return hd_tracker_running() ? hd__thread_stack()->depth : 0;
}

static uint32_t hd__tracker_native(hd_contexts *contexts, hd__thread *t, uint32_t node) {
    const void *pcs[HD_MAX_FRAMES + 1];
    uint32_t max = hd__tracker.max_frames, i = 0;
    size_t n = hd__tracker.unwind(hd__tracker.user, pcs, (size_t)max + 1);
    if (n > max) {
        hd_contexts_child(contexts, node, HD_FRAME_TRUNCATED, NULL, &node);
        n = max;
    }
    if (HD__UNLIKELY(HD__LOAD_RELAXED(&t->native_busy))) {
        while (n-- && hd_contexts_child(contexts, node, HD_FRAME_PC, pcs[n], &node) == HD_OK) {}
        return node;
    }
    HD__STORE(&t->native_busy, 1);
    if (t->native_root != node) t->native_count = 0;
    t->native_root = node;
    while (i < n && i < t->native_count && t->native_pcs[i] == pcs[n - 1 - i]) i++;
    if (i) node = t->native_nodes[i - 1];
    for (; i < n && hd_contexts_child(contexts, node, HD_FRAME_PC, pcs[n - 1 - i], &node) == HD_OK; i++) {
        t->native_pcs[i] = pcs[n - 1 - i];
        t->native_nodes[i] = node;
    }
    t->native_count = i;
    HD__STORE(&t->native_busy, 0);
    return node;
}

HD__NOINLINE static uint32_t hd__tracker_capture(const char *type) {
    hd_contexts *contexts = HD__LOAD(&hd__tracker.contexts);
    hd_capture capture = hd__tracker.capture;
    hd__thread *t;
    uint32_t node = 0;
    if (!contexts) return 0;
    t = hd__thread_stack();
    if (capture == HD_CAPTURE_PSEUDO_STACK || capture == HD_CAPTURE_MIXED_STACK) node = t->top;
    if (capture == HD_CAPTURE_NATIVE_STACK || capture == HD_CAPTURE_MIXED_STACK)
        node = hd__tracker_native(contexts, t, node);
    if (type) hd_contexts_child(contexts, node, HD_FRAME_TYPE, type, &node);
    return node;
}

HEAPDUMP_API uint32_t hd_tracker_snapshot(const char *type) {
    const hd__thread *t = &hd__this;
    if (HD__LIKELY(!type && t->session == HD__LOAD_RELAXED(&hd__tracker.pseudo_session))) return t->top;
    return hd__tracker_capture(type);
}

/* =============================================================================== >>register
   Entries stand in groups of 15. A group has 16 bytes of its own: a tag per entry, 8 bits of its key
   (the key being a bijective hash of the address), and how many entries found the group full and went
   on to the next. A look-up compares 16 tags at once, touches an entry only where a tag agrees, and
   stops at a group that nobody went past. The tags of a table lie together: those of 300,000 blocks
   stay in the second-level cache, so that finding out that an address is unknown misses no cache, and
   finding it misses one, for its entry.

   The home of a key is its group when keys are scaled to the number of groups. Scaling keeps order, so
   a table grows in place, by an eighth when 11 or 13 of 15 slots are in use, in one pass through memory.
   When it has used up the 1 MiB of address space that is its own it splits in two by the next bit of the
   key; a directory over the top bits finds the table. Thus no call moves more than one table. Tables that
   empty shrink and give their pages back. Nothing is prefetched: fetching a slot before the stack is
   unwound gains nothing that can be measured, at 300,000 blocks and at three million.
   Cost: 25 bytes a slot; 34 to 39 a live allocation, from five million up 29 to 33. */

typedef struct hd__slot {
    uint64_t key, size;          /* key 0: empty */
    uint32_t context, time;
} hd__slot;

enum { HD__GROUP = 15, HD__PASSED = HD__GROUP, HD__TAGS = 16, HD__TABLE_HEAD = 64 };

/* The head of a table, in the middle of a page within its own HD__SLOTS_BYTES. From it upward its slots lie,
   and downward, for each group, HD__GROUP tags, 0 where nothing is, and how many went past, 255 and more
   for good. So a look-up need not know how long a table is, and a small one takes one page. */
typedef struct hd__table_of_slots {
    uint32_t groups;
    uint32_t count;
    uint32_t least, limit;       /* of the count, before the table shrinks or grows */
    uint32_t depth;              /* leading bits that all keys here share */
    uint32_t number;             /* in the register's array */
} hd__slots;

#define HD__SLOTS_BYTES ((size_t)1 << 20)
#define HD__GROUP_BYTES (HD__GROUP * sizeof(hd__slot))
#define HD__HEAD_AT ((size_t)46 << 10)
#define HD__GROUPS_MAX ((uint32_t)((HD__SLOTS_BYTES - HD__HEAD_AT - HD__TABLE_HEAD) / HD__GROUP_BYTES))
#define HD__DIRECTORY_BITS 24u

/* What a directory says of a table: the page that its head is on, and in the low bits how many of its
   groups are homes, so that a look-up need not wait for the head. Of a table that was never used: its
   depth alone. */
typedef uintptr_t hd__route;
#define HD__ROUTE_LOW ((uintptr_t)4095)
#define HD__ROUTE_HEAD (HD__HEAD_AT & HD__ROUTE_LOW)

struct hd_register {
    hd__route *directory;        /* `first` until it has to be larger */
    uint32_t bits, shift;        /* the directory has 1 << bits entries, and keys shifted by this index it */
    uint64_t count;
    uint32_t tables, capacity;
    hd__slots **table;
    hd__route first[2];
};

/* Bijective, 0 to 0. The top 24 bits choose the table, the next 8 are the tag, the rest tells the home. */
static uint64_t hd__key_of(uint64_t address) {
    uint64_t x = address * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 32) * 0x9e3779b97f4a7c15u;
    return x ^ x >> 32;
}

static uint64_t hd__address_of(uint64_t key) {
    uint64_t x = (key ^ key >> 32) * 0xf1de83e19937733du; /* the inverse of the factor above, modulo 2^64 */
    return (x ^ x >> 32) * 0xf1de83e19937733du;
}

static hd__route hd__route_of(const hd_register *reg, uint64_t key) {
    return reg->directory[key >> reg->shift];
}

/* Keys scale to all groups but the last few, which take what goes past. */
static uint32_t hd__homes(uint32_t groups) { return groups - 1 - groups / 512; }

static hd__route hd__route_to(const hd__slots *t) {
    return ((uintptr_t)t - HD__ROUTE_HEAD) | hd__homes(t->groups);
}

static bool hd__route_unused(hd__route route) { return route <= HD__ROUTE_LOW; }

static hd__slots *hd__route_table(hd__route route) {
    return (hd__slots *)((route & ~HD__ROUTE_LOW) + HD__ROUTE_HEAD);
}

static uint8_t *hd__tags_at(const hd__slots *t, uint32_t group) {
    return (uint8_t *)(uintptr_t)t - ((size_t)group + 1) * HD__TAGS;
}

static hd__slot *hd__slots_at(const hd__slots *t, uint32_t group) {
    return (hd__slot *)((uintptr_t)t + HD__TABLE_HEAD) + (size_t)group * HD__GROUP;
}

static uint32_t hd__home(uint32_t homes, uint64_t key) {
    return (uint32_t)((uint64_t)(uint32_t)key * homes >> 32);
}

static uint32_t hd__home_of(hd__route route, uint64_t key) {
    return hd__home((uint32_t)(route & HD__ROUTE_LOW), key);
}

static uint8_t hd__tag(uint64_t key) {
    uint8_t bits = (uint8_t)(key >> 32);
    return (uint8_t)(bits + !bits);
}

/* A bit for each of the group's tags that is equal to this one. */
static uint32_t hd__match(const uint8_t *tags, uint8_t tag) {
#if defined(HD__SSE2)
    __m128i group = _mm_loadu_si128((const __m128i *)(const void *)tags);
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(group, _mm_set1_epi8((char)tag))) &
           ((1u << HD__GROUP) - 1);
#else
    const uint64_t low7 = 0x7f7f7f7f7f7f7f7fu, pattern = tag * UINT64_C(0x0101010101010101);
    uint32_t found = 0;
    for (unsigned half = 0; half < 2; half++) {
        uint64_t x = 0;
        for (unsigned i = 0; i < 8; i++) x |= (uint64_t)tags[8 * half + i] << (8 * i);
        x ^= pattern;
        x = ~(((x & low7) + low7) | x | low7);          /* 0x80 where a byte was 0 */
        found |= (uint32_t)((x >> 7) * 0x0102040810204080u >> 56) << (8 * half);
    }
    return found & ((1u << HD__GROUP) - 1);
#endif
}

static unsigned hd__lowest(uint32_t bits) {
#if defined(__GNUC__)
    return (unsigned)__builtin_ctz(bits);
#else
    return hd__log2(bits & (0 - bits));
#endif
}

/* The entry of a key that is at home in this group, and its tag; NULL when there is none. */
HD__INLINE hd__slot *hd__search(const hd__slots *t, uint32_t home, uint64_t key, uint8_t **tag_of) {
    uint8_t tag = hd__tag(key);
    for (uint32_t g = home;; g++) {
        uint8_t *tags = hd__tags_at(t, g);
        for (uint32_t found = hd__match(tags, tag); found; found &= found - 1) {
            hd__slot *s = hd__slots_at(t, g) + hd__lowest(found);
            *tag_of = tags + hd__lowest(found);
            if (HD__LIKELY(s->key == key)) return s;
        }
        if (HD__LIKELY(!tags[HD__PASSED])) return NULL;
    }
}

static void hd__passed(const hd__slots *t, uint32_t group) {
    uint8_t *passed = hd__tags_at(t, group) + HD__PASSED;
    if (*passed < 255) ++*passed;
}

/* The first group from a full one on that has room, told to all that are passed; t->groups: none has. */
HD__NOINLINE static uint32_t hd__pass(hd__slots *t, uint32_t home) {
    uint32_t g = home;
    while (g < t->groups && !hd__match(hd__tags_at(t, g), 0)) g++;
    for (; g < t->groups && home < g; home++) hd__passed(t, home);
    return g;
}

/* An entry for a key that has none, in a group that has room: `empty` is a bit for each such place. */
HD__INLINE hd__slot *hd__put(hd_register *reg, hd__slots *t, uint32_t group, uint32_t empty, uint64_t key) {
    hd__slot *s = hd__slots_at(t, group) + hd__lowest(empty);
    hd__tags_at(t, group)[hd__lowest(empty)] = hd__tag(key);
    s->key = key;
    t->count++;
    reg->count++;
    return s;
}

/* Moves entries to their places in a table that is empty, those whose keys have `bit` as `value` says (bit
   0: all). `from` may lie in the table, at its end, and is cleared then. False when one finds no place. */
static bool hd__move(hd__slot *from, uint32_t groups, hd__slots *to, uint64_t bit, bool value, bool clear) {
    uint8_t used[HD__GROUPS_MAX];       /* slots of each group */
    uint32_t homes = hd__homes(to->groups);
    hd__slot *end = from + (size_t)groups * HD__GROUP;
    memset(used, 0, to->groups);
    for (; from < end; from++) {
        hd__slot s = *from;
        uint32_t at;
        if (!s.key || (bit && !(s.key & bit) == value)) continue;
        if (clear) from->key = 0;
        for (at = hd__home(homes, s.key); HD__UNLIKELY(used[at] == HD__GROUP);) {
            hd__passed(to, at);
            if (++at == to->groups) return false;
        }
        hd__tags_at(to, at)[used[at]] = hd__tag(s.key);
        hd__slots_at(to, at)[used[at]++] = s;
    }
    return true;
}

/* Slots of a group, on average, that are in use when a table grows: fewer misses while what the register
   takes is little, less memory when it is much. */
static uint32_t hd__full(const hd_register *reg) { return reg->tables < 160 ? 11 : 13; }

/* Lays a table out over this many groups. */
static void hd__slots_lay(hd__slots *t, uint32_t groups, uint32_t full) {
    t->groups = groups;
    t->limit = hd__homes(groups) * full;
    t->least = t->limit / 3;
}

static size_t hd__slots_bytes(uint32_t groups) {
    size_t tags = groups * HD__TAGS, below = tags < HD__ROUTE_HEAD ? 0 : tags - HD__ROUTE_HEAD;
    return hd__page_round(below) + hd__page_round(HD__ROUTE_HEAD + HD__TABLE_HEAD + groups * HD__GROUP_BYTES);
}

/* At least so many groups, as many as their pages hold. */
static uint32_t hd__groups_for(uint64_t groups) {
    const size_t head = HD__ROUTE_HEAD + HD__TABLE_HEAD;
    uint64_t most = HD__GROUPS_MAX, n = groups < 2 ? 2 : groups < most ? groups : most;
    n = (hd__page_round(head + (size_t)n * HD__GROUP_BYTES) - head) / HD__GROUP_BYTES;
    return (uint32_t)(n < most ? n : most);
}

static void hd__tags_clear(hd__slots *t) {
    memset((void *)hd__tags_at(t, t->groups - 1), 0, t->groups * HD__TAGS);
}

/* In place: the entries go to the new end first, then forward. No entry passes one that has not moved
   yet, since a group moves by no more than the table grows by. */
static void hd__slots_grow(hd__slots *t, uint32_t groups, uint32_t full) {
    uint32_t old = t->groups;
    hd__slot *from = hd__slots_at(t, 0), *to = hd__slots_at(t, groups - old);
    hd__slots_lay(t, groups, full);
    memmove((void *)to, (void *)from, old * HD__GROUP_BYTES);
    memset((void *)from, 0, (groups - old) * HD__GROUP_BYTES);
    hd__tags_clear(t);
    hd__move(to, old, t, 0, false, true);
}

static void hd__slots_give(hd__slots *t) {
    if (t) hd__pages_give((uint8_t *)t - HD__HEAD_AT, HD__SLOTS_BYTES);
}

static hd__slots *hd__slots_take(void) {
    uint8_t *p = (uint8_t *)hd__pages_take(HD__SLOTS_BYTES);
    return p ? (hd__slots *)(void *)(p + HD__HEAD_AT) : NULL;
}

/* A table of its own for the `count` entries of another that a bit tells. NULL when there is no memory, or
   no place for them all. */
static hd__slots *hd__slots_from(const hd_register *reg, const hd__slots *from, uint32_t count,
                                 uint32_t depth, uint64_t bit, bool value) {
    uint32_t full = hd__full(reg), groups = hd__groups_for(count / (full - 1) + 2);
    hd__slots *t = hd__slots_take();
    while (t) {
        hd__slots_lay(t, groups, full);
        t->count = count;
        t->depth = depth;
        if (hd__move(hd__slots_at(from, 0), from->groups, t, bit, value, false)) return t;
        if (groups == HD__GROUPS_MAX) break;
        hd__tags_clear(t);
        memset((void *)hd__slots_at(t, 0), 0, groups * HD__GROUP_BYTES);
        groups = hd__groups_for((uint64_t)groups * 2);
    }
    hd__slots_give(t);
    return NULL;
}

/* The directory entries of the keys that begin with the first `depth` bits of this one. */
static void hd__directory_point(hd_register *reg, uint64_t key, uint32_t depth, hd__route route) {
    size_t span = (size_t)1 << (reg->bits - depth);
    size_t at = depth ? (size_t)(key >> (64 - depth)) * span : 0;
    for (size_t i = at; i < at + span; i++) reg->directory[i] = route;
}

/* A table, and the directory for the keys that begin as this one, are about each other from here on. */
static void hd__slots_enter(hd_register *reg, uint64_t key, hd__slots *t, uint32_t number) {
    t->number = number;
    reg->table[number] = t;
    hd__directory_point(reg, key, t->depth, hd__route_to(t));
}

/* Stays as it is when there is no memory, or the entries stand too close together for less. True. */
HD__NOINLINE static bool hd__slots_shrink(hd_register *reg, uint64_t key, hd__slots *t) {
    hd__slots *smaller = NULL;
    if (t->groups > hd__groups_for(t->count / 8 + 2))
        smaller = hd__slots_from(reg, t, t->count, t->depth, 0, false);
    if (smaller && smaller->groups < t->groups) {
        hd__slots_enter(reg, key, smaller, t->number);
        hd__slots_give(t);
    } else {
        hd__slots_give(smaller);
    }
    return true;
}

static bool hd__tables_grow(hd_register *reg) {
    uint32_t capacity = reg->capacity ? 2 * reg->capacity : HD__PAGE / (uint32_t)sizeof *reg->table;
    hd__slots **grown = (hd__slots **)hd__pages_take(capacity * sizeof *grown);
    if (!grown) return false;
    if (reg->table) memcpy(grown, reg->table, reg->tables * sizeof *grown);
    hd__pages_give(reg->table, reg->capacity * sizeof *grown);
    reg->table = grown;
    reg->capacity = capacity;
    return true;
}

static void hd__directory_give(hd_register *reg) {
    if (reg->directory != reg->first) hd__pages_give(reg->directory, sizeof *reg->directory << reg->bits);
}

static bool hd__directory_double(hd_register *reg) {
    size_t n = (size_t)1 << reg->bits;
    hd__route *doubled;
    if (reg->bits == HD__DIRECTORY_BITS) return false;
    doubled = (hd__route *)hd__pages_take(2 * n * sizeof *doubled);
    if (!doubled) return false;
    for (size_t i = 0; i < 2 * n; i++) doubled[i] = reg->directory[i / 2];
    hd__directory_give(reg);
    reg->directory = doubled;
    reg->shift = 64 - ++reg->bits;
    return true;
}

/* The leading bits that all keys of a table share, and how many keys have the bit after its depth set. */
static uint32_t hd__shared_bits(const hd__slots *t, uint32_t *with_next) {
    uint64_t all = UINT64_MAX, any = 0, differ;
    uint32_t bits = 0;
    *with_next = 0;
    for (size_t i = 0; i < (size_t)t->groups * HD__GROUP; i++) {
        uint64_t key = hd__slots_at(t, 0)[i].key;
        if (!key) continue;
        all &= key;
        any |= key;
        *with_next += (uint32_t)(key >> (63 - t->depth) & 1);
    }
    for (differ = all ^ any; bits < 63 && !(differ >> (63 - bits) & 1);) bits++;
    return bits;
}

/* Keys that share more bits than the table's depth stand too close together: the table takes that
   depth, and the other sides of the bits between are tables that were never used. */
static bool hd__slots_deepen(hd_register *reg, uint64_t key, hd__slots *t, uint32_t depth) {
    hd__slots *deeper;
    while (reg->bits < depth)
        if (!hd__directory_double(reg)) return false;
    deeper = hd__slots_from(reg, t, t->count, depth, 0, false);
    if (!deeper) return false;
    for (uint32_t d = t->depth + 1; d <= depth; d++)
        hd__directory_point(reg, key ^ (uint64_t)1 << (64 - d), d, d);
    hd__slots_enter(reg, key, deeper, t->number);
    hd__slots_give(t);
    return true;
}

/* Whether there is memory for a table: asked first, lest every insert looks through a full one in vain. */
static bool hd__pages_left(void) {
    void *p = hd__pages_take(HD__SLOTS_BYTES);
    hd__pages_give(p, HD__SLOTS_BYTES);
    return p != NULL;
}

static bool hd__slots_split(hd_register *reg, uint64_t key, hd__slots *t) {
    hd__slots *high, *low;
    uint32_t n, shared;
    uint64_t bit;
    if (t->depth >= 63 || !hd__pages_left()) return false;
    if (reg->tables == reg->capacity && !hd__tables_grow(reg)) return false;
    shared = hd__shared_bits(t, &n);
    if (shared > t->depth) return shared <= HD__DIRECTORY_BITS && hd__slots_deepen(reg, key, t, shared);
    if (t->depth == reg->bits && !hd__directory_double(reg)) return false;
    bit = (uint64_t)1 << (63 - t->depth);
    high = hd__slots_from(reg, t, n, t->depth + 1, bit, true);
    if (!high) return false;
    low = hd__slots_from(reg, t, t->count - n, t->depth + 1, bit, false);
    if (!low) {
        hd__slots_give(high);
        return false;
    }
    hd__slots_enter(reg, key & ~bit, low, t->number);
    hd__slots_enter(reg, key | bit, high, reg->tables++);
    hd__slots_give(t);
    return true;
}

/* A table for keys that have none yet. */
static bool hd__slots_first(hd_register *reg, uint64_t key, uint32_t depth) {
    hd__slots *t;
    if (reg->tables == reg->capacity && !hd__tables_grow(reg)) return false;
    t = hd__slots_take();
    if (!t) return false;
    hd__slots_lay(t, hd__groups_for(1), hd__full(reg));
    t->depth = depth;
    hd__slots_enter(reg, key, t, reg->tables++);
    return true;
}

/* More room for the table of a key: longer, or split. */
HD__NOINLINE static bool hd__register_room(hd_register *reg, uint64_t key) {
    hd__route route = hd__route_of(reg, key);
    hd__slots *t = hd__route_table(route);
    uint32_t more;
    if (hd__route_unused(route)) return hd__slots_first(reg, key, (uint32_t)route);
    if (t->groups == HD__GROUPS_MAX) return hd__slots_split(reg, key, t);
    more = t->groups / 8;
    more = more > 8 ? more - 8 : 1;              /* as pages are filled, it gets some more */
    hd__slots_grow(t, hd__groups_for(t->groups + more), hd__full(reg));
    hd__slots_enter(reg, key, t, t->number);
    return true;
}

/* Of zeros, an empty register. */
static void hd__register_begin(hd_register *reg) {
    reg->directory = reg->first;
    reg->bits = 1;
    reg->shift = 63;
}

HEAPDUMP_API hd_register *hd_register_create(hd_error *err) {
    hd_register *reg = (hd_register *)hd__pages_take(sizeof *reg);
    if (reg) hd__register_begin(reg);
    else hd__fail(err, HD_OUT_OF_MEMORY, "the OS gives no memory for a register");
    return reg;
}

HEAPDUMP_API void hd_register_clear(hd_register *reg) {
    for (uint32_t i = 0; i < reg->tables; i++) hd__slots_give(reg->table[i]);
    hd__pages_give(reg->table, reg->capacity * sizeof *reg->table);
    hd__directory_give(reg);
    memset(reg, 0, sizeof *reg);
    hd__register_begin(reg);
}

HEAPDUMP_API void hd_register_free(hd_register *reg) {
    if (!reg) return;
    hd_register_clear(reg);
    hd__pages_give(reg, sizeof *reg);
}

static void hd__slot_show(const hd__slot *s, uint64_t address, hd_allocation *allocation) {
    if (!allocation) return;
    allocation->address = address;
    allocation->size = s->size;
    allocation->context = s->context;
    allocation->time = s->time;
}

HD__INLINE hd_status hd__slot_set(hd__slot *s, const hd_allocation *allocation) {
    s->size = allocation->size;
    s->context = allocation->context;
    s->time = allocation->time;
    return HD_OK;
}

/* Inserts a key that has no entry and no place in its home group. */
HD__NOINLINE static hd_status hd__register_force(hd_register *reg, const hd_allocation *allocation,
                                                 uint64_t key, hd_allocation *replaced) {
    for (bool more = true;; more = hd__register_room(reg, key)) {
        hd__route route = hd__route_of(reg, key);
        if (!hd__route_unused(route)) {
            hd__slots *t = hd__route_table(route);
            if (t->count < t->limit || !more) {
                uint32_t g = hd__pass(t, hd__home_of(route, key));
                if (g < t->groups) {
                    if (replaced) replaced->address = 0;
                    return hd__slot_set(hd__put(reg, t, g, hd__match(hd__tags_at(t, g), 0), key), allocation);
                }
            }
        }
        if (!more) return HD_OUT_OF_MEMORY;
    }
}

HEAPDUMP_API hd_status hd_register_insert(hd_register *reg, const hd_allocation *allocation,
                                          hd_allocation *replaced) {
    uint64_t key = hd__key_of(allocation->address);
    hd__route route = hd__route_of(reg, key);
    if (HD__UNLIKELY(!key)) return HD_INVALID;
    if (HD__LIKELY(!hd__route_unused(route))) {
        hd__slots *t = hd__route_table(route);
        uint32_t home = hd__home_of(route, key), empty;
        uint8_t *tag;
        hd__slot *s = hd__search(t, home, key, &tag);
        if (s) {
            hd__slot_show(s, allocation->address, replaced);
            return hd__slot_set(s, allocation);
        }
        empty = hd__match(hd__tags_at(t, home), 0);
        if (HD__LIKELY(empty && t->count < t->limit)) {
            if (replaced) replaced->address = 0;
            return hd__slot_set(hd__put(reg, t, home, empty, key), allocation);
        }
    }
    return hd__register_force(reg, allocation, key, replaced);
}

HD__INLINE hd__slot *hd__register_at(const hd_register *reg, uint64_t address) {
    uint64_t key = hd__key_of(address);
    hd__route route = hd__route_of(reg, key);
    uint8_t *tag;
    if (HD__UNLIKELY(hd__route_unused(route))) return NULL;
    return hd__search(hd__route_table(route), hd__home_of(route, key), key, &tag);
}

HEAPDUMP_API bool hd_register_find(const hd_register *reg, uint64_t address, hd_allocation *found) {
    const hd__slot *s = hd__register_at(reg, address);
    if (s) hd__slot_show(s, address, found);
    return s != NULL;
}

HEAPDUMP_API bool hd_register_set_context(hd_register *reg, uint64_t address, uint32_t context) {
    hd__slot *s = hd__register_at(reg, address);
    if (s) s->context = context;
    return s != NULL;
}

HEAPDUMP_API bool hd_register_remove(hd_register *reg, uint64_t address, hd_allocation *removed) {
    uint64_t key = hd__key_of(address);
    hd__route route = hd__route_of(reg, key);
    uint32_t home = hd__home_of(route, key);
    hd__slots *t = hd__route_table(route);
    hd__slot *s;
    uint8_t *tag;
    if (HD__UNLIKELY(hd__route_unused(route)) || !(s = hd__search(t, home, key, &tag))) return false;
    hd__slot_show(s, address, removed);
    s->key = 0;
    *tag = 0;
    for (uint8_t *tags = hd__tags_at(t, home); HD__UNLIKELY(tag < tags); tags -= HD__TAGS)
        if (tags[HD__PASSED] < 255) --tags[HD__PASSED];
    t->count--;
    reg->count--;
    return HD__UNLIKELY(t->count < t->least) ? hd__slots_shrink(reg, key, t) : true;
}

HEAPDUMP_API uint64_t hd_register_count(const hd_register *reg) { return reg->count; }

HEAPDUMP_API bool hd_register_next(const hd_register *reg, hd_cursor *cursor, hd_allocation *found) {
    for (; cursor->table < reg->tables; cursor->table++, cursor->slot = 0) {
        const hd__slots *t = reg->table[cursor->table];
        while (cursor->slot < t->groups * HD__GROUP) {
            const hd__slot *s = hd__slots_at(t, 0) + cursor->slot++;
            if (!s->key) continue;
            hd__slot_show(s, hd__address_of(s->key), found);
            return true;
        }
    }
    return false;
}

HEAPDUMP_API hd_memory hd_register_memory(const hd_register *reg) {
    hd_memory memory;
    uint64_t fixed = hd__page_round(sizeof *reg) + hd__page_round(reg->capacity * sizeof *reg->table);
    if (reg->directory != reg->first) fixed += hd__page_round(sizeof *reg->directory << reg->bits);
    memory.resident = fixed;
    memory.reserved = fixed;
    for (uint32_t i = 0; i < reg->tables; i++) {
        memory.reserved += HD__SLOTS_BYTES;
        memory.resident += hd__slots_bytes(reg->table[i]->groups);
    }
    return memory;
}

/* =============================================================================== >>recorder
   Addresses are spread over shards, each a register behind a lock held for one operation. A counter
   in the thread says that the thread is inside, so that whatever the recorder's callbacks allocate
   is passed by. Live bytes are one shared counter, because their peak is.

   Sampling is a Poisson process over allocated bytes: a thread counts down to its next sampled byte,
   the gap between two being drawn from the exponential distribution. Whether a block is sampled then
   depends on its size alone, never on other blocks, and dividing by that probability makes sums
   unbiased (Horvitz and Thompson). A filter of counters tells most blocks that were not sampled from
   those that were, when they are freed, by one load. */

typedef struct hd__shard {
    hd__mutex lock;
    hd_register *reg;
    uint64_t total_bytes, total_blocks, replaced, unknown_frees, lost;
    char apart[64];              /* the next shard's lock on another cache line */
} hd__shard;

struct hd_recorder {
    hd_contexts *contexts;
    bool owns_contexts, started_tracker;
    void (*on_free)(void *user, const hd_allocation *freed, uint32_t lifetime);
    uint32_t (*clock)(void *user);
    void *user;
    uint64_t sample_bytes, sample_seed;
    uint8_t *filter;             /* how many sampled blocks have this hash, 255: that or more, once;
                                    a shard's counters change under its lock. NULL: nothing is sampled */
    uintptr_t threads;           /* that have drawn samples */
    uint32_t number;             /* tells recorders apart */
    uint32_t shards;
    char apart[64];              /* what all threads write, on a cache line of its own */
    uintptr_t live_bytes, peak_bytes, ignored;
    char apart_too[64];
    hd__shard shard[1];          /* `shards` of them */
};

static uintptr_t hd__recorders;

#define HD__FILTER_BYTES ((size_t)1 << 16)

static size_t hd__recorder_size(uint32_t shards) {
    return offsetof(hd_recorder, shard) + shards * sizeof(hd__shard);
}

static uint32_t hd__shard_number(const hd_recorder *rec, uint64_t address) {
    return (uint32_t)(address * 0xff51afd7ed558ccdu >> 48) & (rec->shards - 1);
}

static hd__shard *hd__shard_of(hd_recorder *rec, uint64_t address) {
    return &rec->shard[hd__shard_number(rec, address)];
}

/* The natural logarithm of 0 < x <= 1, and 1 - exp(-x) for x >= 0: libm may not be linked. */
static double hd__log(double x) {
    double z, sum = 0, power;
    int halvings = 0;
    while (x < 0.70710678118654752) x *= 2, halvings++;
    power = z = (x - 1) / (x + 1);
    for (int k = 1; k < 24; k += 2, power *= z * z) sum += power / k;
    return 2 * sum - halvings * 0.69314718055994531;
}

static double hd__decay(double x) {
    double term = 1, sum = 0;
    if (x > 40) return 1;
    if (x > 0.5) {
        double half = hd__decay(x / 2);
        return half * (2 - half);
    }
    for (int k = 1; k < 16; k++) sum -= term *= -x / k;
    return sum;
}

/* The chance that a block of this size is sampled. Empty blocks count as one byte. */
static double hd__sample_chance(const hd_recorder *rec, uint64_t size) {
    return hd__decay((double)(size ? size : 1) / (double)rec->sample_bytes);
}

/* What a recorded block of this size stands for. */
static uint64_t hd__recorded_bytes(const hd_recorder *rec, uint64_t size) {
    return rec->sample_bytes ? (uint64_t)((double)size / hd__sample_chance(rec, size) + 0.5) : size;
}

/* How many bytes up to and including the next that is sampled. */
HD__NOINLINE static uint64_t hd__sample_gap(hd_recorder *rec, hd__thread *t) {
    double gap;
    if (t->sampler != rec->number) {
        t->sampler = rec->number;
        t->random = hd__hash_u64(rec->sample_seed, HD__ADD(&rec->threads, 1));
    }
    t->random += 0x9e3779b97f4a7c15u;
    gap = (double)((hd__key_of(t->random) >> 11) + 1) / 9007199254740992.0; /* 2^53 */
    gap = -hd__log(gap) * (double)rec->sample_bytes;
    return gap < 9e18 ? (uint64_t)gap + 1 : (uint64_t)9e18;
}

HEAPDUMP_API bool hd_record_skips_alloc(hd_recorder *rec, size_t size) {
    hd__thread *t = &hd__this;
    if (!rec->sample_bytes) return false;
    if (HD__UNLIKELY(t->sampler != rec->number)) t->until_sample = hd__sample_gap(rec, t);
    if (!size) size = 1;
    if (HD__LIKELY(size < t->until_sample)) {
        t->until_sample -= size;
        return true;
    }
    t->until_sample = 0;         /* hd_record_alloc takes the block, whatever its size */
    return false;
}

/* A counter's lowest bits are its shard's number. */
static uint8_t *hd__filter_at(const hd_recorder *rec, uint64_t address) {
    return &rec->filter[address * 0xff51afd7ed558ccdu >> 48];
}

/* Under the lock of the block's shard. */
static void hd__filter_count(const hd_recorder *rec, uint64_t address, int by) {
    uint8_t *at = rec->filter ? hd__filter_at(rec, address) : NULL;
    if (at && *at != 255) HD__STORE(at, (uint8_t)(*at + by));
}

HEAPDUMP_API bool hd_record_skips_free(const hd_recorder *rec, const void *address) {
    return !address || (rec->filter && !HD__LOAD_RELAXED(hd__filter_at(rec, (uint64_t)(uintptr_t)address)));
}

/* Joins the running tracker, or starts it. */
static hd_status hd__recorder_track(hd_recorder *rec, const hd_tracker_desc *desc, hd_error *err) {
    hd_tracker_desc tracker = *desc;
    if (hd_tracker_running()) {
        rec->contexts = hd__tracker.contexts;
        if (desc->contexts && desc->contexts != rec->contexts)
            return hd__fail(err, HD_INVALID, "the tracker is running with other contexts");
        return HD_OK;
    }
    if (!tracker.contexts) {
        tracker.contexts = hd_contexts_create(err);
        if (!tracker.contexts) return HD_OUT_OF_MEMORY;
        rec->owns_contexts = true;
    }
    rec->contexts = tracker.contexts;
    HD__TRY(hd_tracker_start(&tracker, err));
    rec->started_tracker = true;
    return HD_OK;
}

HEAPDUMP_API hd_recorder *hd_recorder_create(const hd_recorder_desc *desc, hd_error *err) {
    hd_recorder_desc none;
    hd_recorder *rec;
    uint32_t shards;
    memset(&none, 0, sizeof none);
    if (!desc) desc = &none;
    shards = desc->shards ? desc->shards : 16;
    if (shards > 256 || (shards & (shards - 1)))
        return hd__fail(err, HD_INVALID, "a power of two of shards up to 256 expected, %u found",
                        (uint64_t)shards), (hd_recorder *)NULL;
    rec = (hd_recorder *)hd__pages_take(hd__recorder_size(shards));
    if (!rec)
        return hd__fail(err, HD_OUT_OF_MEMORY, "the OS gives no memory for a recorder"), (hd_recorder *)NULL;
    rec->shards = shards;
    rec->on_free = desc->on_free;
    rec->clock = desc->clock;
    rec->user = desc->user;
    rec->number = (uint32_t)HD__ADD(&hd__recorders, 1);
    rec->sample_bytes = desc->sample_bytes;
    rec->sample_seed = desc->sample_seed ? desc->sample_seed : hd__seed();
    if (rec->sample_bytes && !(rec->filter = (uint8_t *)hd__pages_take(HD__FILTER_BYTES))) {
        hd_recorder_free(rec);
        return hd__fail(err, HD_OUT_OF_MEMORY, "the OS gives no memory for a recorder"), (hd_recorder *)NULL;
    }
    for (uint32_t i = 0; i < shards; i++) {
        hd__mutex_init(&rec->shard[i].lock);
        rec->shard[i].reg = hd_register_create(err);
        if (!rec->shard[i].reg) {
            hd_recorder_free(rec);
            return NULL;
        }
    }
    if (hd__recorder_track(rec, &desc->tracker, err)) {
        hd_recorder_free(rec);
        return NULL;
    }
    return rec;
}

HEAPDUMP_API void hd_recorder_free(hd_recorder *rec) {
    if (!rec) return;
    if (rec->started_tracker) hd_tracker_stop();
    if (rec->owns_contexts) hd_contexts_free(rec->contexts);
    for (uint32_t i = 0; i < rec->shards; i++) {
        hd_register_free(rec->shard[i].reg);
        hd__mutex_free(&rec->shard[i].lock);
    }
    hd__pages_give(rec->filter, HD__FILTER_BYTES);
    hd__pages_give(rec, hd__recorder_size(rec->shards));
}

HEAPDUMP_API bool hd_record_suspend(void) {
    uint32_t before = hd__this.suspended;
    hd__this.suspended = before + 1;
    return before == 0;
}
HEAPDUMP_API void hd_record_resume(void) { hd__this.suspended = hd__this.suspended - 1; }

/* Enters the recorder, unless the thread is inside already. */
static bool hd__recorder_enter(hd_recorder *rec) {
    if (HD__UNLIKELY(hd__this.suspended)) {
        HD__ADD(&rec->ignored, 1);
        return false;
    }
    hd__this.suspended = 1;
    return true;
}

static void hd__recorder_leave(void) { hd_record_resume(); }

static void hd__recorder_freed(hd_recorder *rec, const hd_allocation *freed) {
    if (rec->on_free) rec->on_free(rec->user, freed, rec->clock ? rec->clock(rec->user) - freed->time : 0);
}

/* Inside: registers an allocation. `is_new` says that it counts towards the totals. */
static bool hd__recorder_insert(hd_recorder *rec, const hd_allocation *allocation, bool is_new) {
    hd__shard *shard = hd__shard_of(rec, allocation->address);
    hd_allocation replaced;
    uintptr_t live, peak;
    hd_status status;
    replaced.address = 0;
    hd__lock(&shard->lock);
    status = hd_register_insert(shard->reg, allocation, &replaced);
    if (status) {
        shard->lost++;
    } else if (is_new) {
        shard->total_bytes += allocation->size;
        shard->total_blocks++;
    }
    if (!status && !replaced.address) hd__filter_count(rec, allocation->address, 1);
    shard->replaced += replaced.address != 0;
    /* under the lock, so that a fork finds it in step with the registers */
    live = status ? 0
                  : HD__ADD(&rec->live_bytes,
                            (uintptr_t)(hd__recorded_bytes(rec, allocation->size) -
                                        (replaced.address ? hd__recorded_bytes(rec, replaced.size) : 0)));
    hd__unlock(&shard->lock);
    if (status) return false;
    peak = HD__LOAD_RELAXED(&rec->peak_bytes);
    while (live > peak && !HD__CAS(&rec->peak_bytes, &peak, live)) {}
    if (replaced.address) hd__recorder_freed(rec, &replaced);
    return true;
}

/* The context now; without a backtrace when the tracker was stopped, or started with other contexts. */
static uint32_t hd__recorder_context(hd_recorder *rec, const char *type) {
    uint32_t context = 0;
    if (HD__LIKELY(HD__LOAD(&hd__tracker.contexts) == rec->contexts)) return hd_tracker_snapshot(type);
    if (type) hd_contexts_child(rec->contexts, 0, HD_FRAME_TYPE, type, &context);
    return context;
}

HEAPDUMP_API bool hd_record_alloc(hd_recorder *rec, const void *address, size_t size, const char *type) {
    hd_allocation allocation;
    bool recorded;
    if (!address || hd_record_skips_alloc(rec, size)) return false;
    if (rec->sample_bytes) hd__this.until_sample = hd__sample_gap(rec, &hd__this);
    if (!hd__recorder_enter(rec)) return false;
    allocation.address = (uint64_t)(uintptr_t)address;
    allocation.size = size;
    allocation.context = hd__recorder_context(rec, type);
    allocation.time = rec->clock ? rec->clock(rec->user) : 0;
    recorded = hd__recorder_insert(rec, &allocation, true);
    hd__recorder_leave();
    return recorded;
}

/* Takes a block out; on_free hears of it when nobody is to get it back. */
static bool hd__recorder_remove(hd_recorder *rec, const void *address, hd_allocation *taken) {
    hd__shard *shard = hd__shard_of(rec, (uint64_t)(uintptr_t)address);
    hd_allocation removed;
    bool found;
    if (hd_record_skips_free(rec, address) || !hd__recorder_enter(rec)) return false;
    hd__lock(&shard->lock);
    found = hd_register_remove(shard->reg, (uint64_t)(uintptr_t)address, &removed);
    shard->unknown_frees += !found;
    if (found) {
        hd__filter_count(rec, removed.address, -1);
        HD__ADD(&rec->live_bytes, (uintptr_t)0 - (uintptr_t)hd__recorded_bytes(rec, removed.size));
    }
    hd__unlock(&shard->lock);
    if (found && taken) *taken = removed;
    else if (found) hd__recorder_freed(rec, &removed);
    hd__recorder_leave();
    return found;
}

HEAPDUMP_API bool hd_record_free(hd_recorder *rec, const void *address) {
    return hd__recorder_remove(rec, address, NULL);
}

HEAPDUMP_API bool hd_record_take(hd_recorder *rec, const void *address, hd_allocation *taken) {
    return hd__recorder_remove(rec, address, taken);
}

HEAPDUMP_API void hd_record_drop(hd_recorder *rec, const hd_allocation *taken) {
    if (!hd__recorder_enter(rec)) return;
    hd__recorder_freed(rec, taken);
    hd__recorder_leave();
}

HEAPDUMP_API void hd_record_restore(hd_recorder *rec, const hd_allocation *taken) {
    if (!hd__recorder_enter(rec)) return;
    hd__recorder_insert(rec, taken, false);
    hd__recorder_leave();
}

HEAPDUMP_API bool hd_record_set_type(hd_recorder *rec, const void *address, const char *type) {
    uint64_t at = (uint64_t)(uintptr_t)address;
    hd__shard *shard = hd__shard_of(rec, at);
    hd_allocation was, is;
    uint32_t context;
    bool found;
    if (hd_record_skips_free(rec, address) || !hd__recorder_enter(rec)) return false;
    hd__lock(&shard->lock);
    found = hd_register_find(shard->reg, at, &was);
    hd__unlock(&shard->lock);
    if (found) {
        hd_frame frame = hd_contexts_frame(rec->contexts, was.context);
        context = frame.kind == HD_FRAME_TYPE ? frame.parent : was.context;
        if (type) found = hd_contexts_child(rec->contexts, context, HD_FRAME_TYPE, type, &context) == HD_OK;
    }
    if (found) {                 /* no two locks at once: it may have gone, or be another by now */
        hd__lock(&shard->lock);
        found = hd_register_find(shard->reg, at, &is) && is.context == was.context && is.time == was.time;
        if (found) hd_register_set_context(shard->reg, at, context);
        hd__unlock(&shard->lock);
    }
    hd__recorder_leave();
    return found;
}

/* The locks that recorders share are taken once per fork, by the first that prepares. */
static HD__THREAD_LOCAL uint32_t hd__forking;

HEAPDUMP_API void hd_recorder_fork_prepare(hd_recorder *rec) {
    hd_record_suspend();
    for (uint32_t i = 0; i < rec->shards; i++) hd__lock(&rec->shard[i].lock);
    if (hd__forking++) return;
    hd__this.adding = hd__this.adding + 1;
    hd__lock(&rec->contexts->lock);
    hd__tracker_lock();
}

HEAPDUMP_API void hd_recorder_fork_parent(hd_recorder *rec) {
    if (!--hd__forking) {
        hd__tracker_unlock();
        hd__unlock(&rec->contexts->lock);
        hd__this.adding = hd__this.adding - 1;
    }
    for (uint32_t i = rec->shards; i--;) hd__unlock(&rec->shard[i].lock);
    hd_record_resume();
}

HEAPDUMP_API void hd_recorder_fork_child(hd_recorder *rec) {
    rec->peak_bytes = rec->live_bytes;
    /* a sample of its own: what parent and child miss adds up otherwise */
    rec->sample_seed = hd__hash_u64(rec->sample_seed, hd__os_pid());
    hd__this.sampler = 0;
    hd_recorder_fork_parent(rec);
}

HEAPDUMP_API uint64_t hd_recorder_peak_bytes(const hd_recorder *rec) {
    return HD__LOAD_RELAXED(&rec->peak_bytes);
}
HEAPDUMP_API uint64_t hd_recorder_live_bytes(const hd_recorder *rec) {
    return HD__LOAD_RELAXED(&rec->live_bytes);
}
HEAPDUMP_API hd_contexts *hd_recorder_contexts(hd_recorder *rec) { return rec->contexts; }

HEAPDUMP_API void hd_recorder_get_stats(hd_recorder *rec, hd_recorder_stats *stats) {
    uint64_t fixed = hd__page_round(hd__recorder_size(rec->shards)) + hd_contexts_memory(rec->contexts);
    memset(stats, 0, sizeof *stats);
    stats->peak_bytes = hd_recorder_peak_bytes(rec);
    stats->live_bytes = hd_recorder_live_bytes(rec);
    stats->ignored = HD__LOAD_RELAXED(&rec->ignored);
    stats->memory.reserved = stats->memory.resident = fixed;
    hd_record_suspend();
    for (uint32_t i = 0; i < rec->shards; i++) {
        hd__shard *shard = &rec->shard[i];
        hd_memory memory;
        hd__lock(&shard->lock);
        memory = hd_register_memory(shard->reg);
        stats->live_blocks += hd_register_count(shard->reg);
        stats->total_bytes += shard->total_bytes;
        stats->total_blocks += shard->total_blocks;
        stats->replaced += shard->replaced;
        stats->unknown_frees += shard->unknown_frees;
        stats->lost += shard->lost;
        hd__unlock(&shard->lock);
        stats->memory.reserved += memory.reserved;
        stats->memory.resident += memory.resident;
    }
    hd_record_resume();
}

/* What the sample of a context says. */
typedef struct hd__estimate {
    double bytes, blocks, variance;
} hd__estimate;

/* Live bytes and blocks by context, and the nodes of the profile that contexts become. */
typedef struct hd__snapshot {
    hd__mem *mem;                /* the profile's */
    const hd_contexts *contexts;
    const hd_snapshot_options *options;
    hd_profile *profile;
    size_t n;
    uint64_t *bytes, *blocks;    /* by context */
    const hd_recorder *rec;
    hd__estimate *estimates;     /* by context; NULL: nothing is sampled */
    hd__estimate rounded;        /* what rounding has taken away so far, so that totals keep it */
    uint32_t *node, *stack;      /* by context: its backtrace node, HD_NONE when not known yet */
} hd__snapshot;

static void hd__snapshot_drop(hd__snapshot *s) {
    if (s->bytes) hd__cfree(s->mem, s->bytes, s->n, 2 * sizeof *s->bytes);
    if (s->estimates) hd__cfree(s->mem, s->estimates, s->n, sizeof *s->estimates);
}

/* Room for contexts below n and for those that come while the snapshot is taken. */
static bool hd__snapshot_room(hd__snapshot *s, uint32_t count) {
    size_t n = (size_t)count + count / 4 + 64;
    uint64_t *sums = (uint64_t *)hd__calloc(s->mem, n, 2 * sizeof *sums);
    hd__estimate *estimates = NULL;
    if (!sums) return false;
    if (s->rec && s->rec->sample_bytes &&
        !(estimates = (hd__estimate *)hd__calloc(s->mem, n, sizeof *estimates))) {
        hd__cfree(s->mem, sums, n, 2 * sizeof *sums);
        return false;
    }
    if (s->n) {
        memcpy(sums, s->bytes, s->n * sizeof *sums);
        memcpy(sums + n, s->blocks, s->n * sizeof *sums);
        if (estimates) memcpy(estimates, s->estimates, s->n * sizeof *estimates);
        hd__snapshot_drop(s);
    }
    s->estimates = estimates;
    s->bytes = sums;
    s->blocks = sums + n;
    s->n = n;
    return true;
}

/* An entry's context was there before the entry: below what is counted under the shard's lock. */
static hd_status hd__snapshot_shard(hd__snapshot *s, hd__shard *shard, hd_error *err) {
    hd_cursor cursor = { 0, 0 };
    hd_allocation a;
    uint32_t count;
    bool whole = true;
    hd__lock(&shard->lock);
    while ((count = hd_contexts_count(s->contexts)) > s->n) {
        hd__unlock(&shard->lock);
        if (!hd__snapshot_room(s, count)) return hd__no_memory(s->mem, err);
        hd__lock(&shard->lock);
    }
    while (hd_register_next(shard->reg, &cursor, &a)) {
        whole &= hd__sum(&s->bytes[a.context], a.size);
        s->blocks[a.context]++;
        if (s->estimates) {
            double chance = hd__sample_chance(s->rec, a.size), size = (double)a.size;
            s->estimates[a.context].bytes += size / chance;
            s->estimates[a.context].blocks += 1 / chance;
            s->estimates[a.context].variance += size * size * (1 - chance) / (chance * chance);
        }
    }
    hd__unlock(&shard->lock);
    return whole ? HD_OK : hd__fail(err, HD_OVERFLOW, "the sizes in a context pass 2^64");
}

static hd_str hd__frame_name(const hd__snapshot *s, hd_frame frame, char *buffer, size_t capacity) {
    char digits[20], *p;
    hd_str name;
    if (frame.kind == HD_FRAME_TRUNCATED) return hd_cstr("<truncated>");
    if (frame.kind != HD_FRAME_PC) return hd_cstr((const char *)frame.value);
    if (s->options->pc_name) return s->options->pc_name(s->options->user, frame.value, buffer, capacity);
    p = hd__digits(digits, (uint64_t)(uintptr_t)frame.value, 16);
    name.len = (size_t)(digits + 20 - p) + 2;
    memcpy(buffer, "0x", 2);
    memcpy(buffer + 2, p, name.len - 2);
    name.data = buffer;
    return name;
}

/* The backtrace node of a context that is no type. */
static hd_status hd__snapshot_node(hd__snapshot *s, uint32_t context, uint32_t *node, hd_error *err) {
    char buffer[1024];
    uint32_t depth = 0, at;
    for (; s->node[context] == HD_NONE; context = hd_contexts_frame(s->contexts, context).parent)
        s->stack[depth++] = context;
    at = s->node[context];
    while (depth--) {
        hd_frame frame = hd_contexts_frame(s->contexts, s->stack[depth]);
        hd_status status = hd_profile_node(s->profile, HD_AXIS_BACKTRACE, at,
                                           hd__frame_name(s, frame, buffer, sizeof buffer), &at);
        if (status) return hd__fail(err, status, "%s while naming frames", hd_status_text(status));
        s->node[s->stack[depth]] = at;
    }
    *node = at;
    return HD_OK;
}

/* To a whole number, and what that took away or added to the next one. */
static uint64_t hd__round(double value, double *rest) {
    double with = value + *rest;
    uint64_t whole = with <= 0 ? 0 : with >= 1.8e19 ? UINT64_MAX - 1 : (uint64_t)(with + 0.5);
    *rest = with - (double)whole;
    return whole;
}

static hd_status hd__snapshot_cell(hd__snapshot *s, uint32_t context, hd_error *err) {
    hd_frame frame = hd_contexts_frame(s->contexts, context);
    hd_str type = hd_cstr("[unknown]");
    uint32_t nodes[2];
    char buffer[1024];
    hd_status status;
    HD__TRY(hd__snapshot_node(s, frame.kind == HD_FRAME_TYPE ? frame.parent : context, &nodes[0], err));
    if (frame.kind == HD_FRAME_TYPE) type = hd_cstr((const char *)frame.value);
    else if (s->options->type_name)
        type = s->options->type_name(s->options->user, s->contexts, context, buffer, sizeof buffer);
    status = hd_profile_node(s->profile, HD_AXIS_TYPE, 0, type, &nodes[1]);
    if (!status && s->estimates) {
        hd__estimate *e = &s->estimates[context];
        status = hd_profile_add_estimate(s->profile, nodes, hd__round(e->bytes, &s->rounded.bytes),
                                         hd__round(e->blocks, &s->rounded.blocks), e->variance);
    } else if (!status) {
        status = hd_profile_add(s->profile, nodes, s->bytes[context], s->blocks[context]);
    }
    return status ? hd__fail(err, status, "%s while adding up a snapshot", hd_status_text(status)) : HD_OK;
}

static hd_status hd__snapshot_cells(hd__snapshot *s, hd_error *err) {
    const hd_options *o = &s->options->options;
    s->node = (uint32_t *)hd__calloc(s->mem, s->n, 2 * sizeof *s->node);
    if (!s->node) return hd__no_memory(s->mem, err);
    s->stack = s->node + s->n;
    for (size_t i = 1; i < s->n; i++) s->node[i] = HD_NONE;
    for (size_t i = 0; i < s->n; i++) {
        if (o->progress && i % 4096 == 0 && !o->progress(o->user, i, s->n))
            return hd__fail(err, HD_CANCELLED, "cancelled");
        if (s->blocks[i] || s->bytes[i]) HD__TRY(hd__snapshot_cell(s, (uint32_t)i, err));
    }
    return HD_OK;
}

static hd_status hd__snapshot_run(hd__snapshot *s, hd_recorder *rec, hd_error *err) {
    if (!hd__snapshot_room(s, hd_contexts_count(s->contexts))) return hd__no_memory(s->mem, err);
    for (uint32_t i = 0; i < rec->shards; i++) HD__TRY(hd__snapshot_shard(s, &rec->shard[i], err));
    return hd__snapshot_cells(s, err);
}

/* A profile, empty, and what fills it. */
static hd_status hd__snapshot_begin(hd__snapshot *s, const hd_contexts *contexts,
                                    const hd_snapshot_options *options, hd_error *err) {
    hd_profile_desc desc;
    memset(&desc, 0, sizeof desc);
    memset(s, 0, sizeof *s);
    s->options = options;
    s->contexts = contexts;
    desc.allocator = options->options.allocator;
    desc.limits = options->options.limits;
    s->profile = hd_profile_create(&desc, err);
    if (!s->profile) return err->status;
    s->mem = &s->profile->mem;
    return HD_OK;
}

static hd_status hd__snapshot_end(hd__snapshot *s, hd_status status, hd_profile **out) {
    hd__snapshot_drop(s);
    if (s->node) hd__cfree(s->mem, s->node, s->n, 2 * sizeof *s->node);
    if (status) hd_profile_free(s->profile);
    else *out = s->profile;
    return status;
}

HEAPDUMP_API void hd_recorder_visit(hd_recorder *rec, void (*each)(void *user, const hd_allocation *live),
                                    void *user) {
    hd_record_suspend();
    for (uint32_t i = 0; i < rec->shards; i++) {
        hd_cursor cursor = { 0, 0 };
        hd_allocation a;
        hd__lock(&rec->shard[i].lock);
        while (hd_register_next(rec->shard[i].reg, &cursor, &a)) each(user, &a);
        hd__unlock(&rec->shard[i].lock);
    }
    hd_record_resume();
}

HEAPDUMP_API hd_status hd_recorder_snapshot(hd_recorder *rec, const hd_snapshot_options *options,
                                            hd_profile **out, hd_error *err) {
    hd_snapshot_options none;
    hd__snapshot s;
    hd_status status;
    hd_error ignored;
    if (!err) err = &ignored;
    memset(&none, 0, sizeof none);
    hd_record_suspend();
    status = hd__snapshot_begin(&s, rec->contexts, options ? options : &none, err);
    s.rec = rec;
    if (!status) status = hd__snapshot_run(&s, rec, err);
    status = hd__snapshot_end(&s, status, out);
    hd_record_resume();
    return status;
}

HEAPDUMP_API hd_status hd_contexts_profile(const hd_contexts *contexts, const uint64_t *bytes,
                                           const uint64_t *blocks, uint32_t count,
                                           const hd_snapshot_options *options, hd_profile **out,
                                           hd_error *err) {
    hd_snapshot_options none;
    hd__snapshot s;
    hd_status status;
    hd_error ignored;
    if (!err) err = &ignored;
    memset(&none, 0, sizeof none);
    if (count > hd_contexts_count(contexts))
        return hd__fail(err, HD_INVALID, "%u contexts given, there are %u", (uint64_t)count,
                        (uint64_t)hd_contexts_count(contexts));
    status = hd__snapshot_begin(&s, contexts, options ? options : &none, err);
    if (!status && !hd__snapshot_room(&s, count)) status = hd__no_memory(s.mem, err);
    for (uint32_t c = 0; c < count && !status; c++) {
        s.bytes[c] = bytes[c];
        s.blocks[c] = blocks ? blocks[c] : bytes[c] ? HD_UNKNOWN : 0;
    }
    if (!status) status = hd__snapshot_cells(&s, err);
    return hd__snapshot_end(&s, status, out);
}

/* ================================================================================= >>chrome
   Writing: a deduplicator per axis of a process, whose ids are numbered as the trace tells of
   them. Reading: one pass over the events keeps
   what heap dumps need, ids as numbered strings, because dictionaries may follow their use; then all
   heaps share one tree of frames and one of types, so that memory follows the bytes of the input
   however heaps and frames multiply. */

/* The columns of a heap in heaps_v2, told apart by their first letters. "errors", standard errors, is
   ours, as is "error" in the new format and "sample_bytes" in both: the viewer passes them over. */
enum { HD__V2_COLUMNS = 5, HD__V2_REQUIRED = 2 };
static const char *const hd__v2_columns[HD__V2_COLUMNS] = { "nodes", "sizes", "counts", "types", "errors" };

/* Deduplicators: trees of names whose node n has the id n - 1. A writer's take their memory from it. */
struct hd_deduplicator {
    hd__mem *mem;
    hd__arena *arena;
    hd__tree tree;
    uint64_t max_nodes;
    bool types, copy;
};

typedef struct hd__deduplicator {
    hd_deduplicator public_part;
    hd__mem mem;
    hd__arena arena;
    hd__strings names;
} hd__deduplicator;

static hd_status hd__deduplicate(hd_deduplicator *d, uint32_t parent, hd_str name, uint32_t *node,
                                 hd_error *err) {
    return hd__tree_child(d->mem, d->arena, &d->tree, d->max_nodes, parent, name, d->copy, node, err);
}

/* Names are copied into `names`, or, where that is NULL, borrowed. */
static hd_status hd__deduplicator_init(hd_deduplicator *d, hd__mem *mem, hd__arena *arena, hd__strings *names,
                                       uint64_t seed, bool types, uint64_t max_records, hd_error *err) {
    uint32_t node;
    memset(d, 0, sizeof *d);
    d->mem = mem;
    d->arena = arena;
    d->tree.seed = seed;
    d->tree.copies = names;
    d->types = types;
    d->max_nodes = max_records + 1;
    HD__TRY(hd__deduplicate(d, HD_NONE, hd_cstr(""), &node, err));
    if (types) HD__TRY(hd__deduplicate(d, 0, hd_cstr("[unknown]"), &node, err));
    d->copy = names != NULL;
    return HD_OK;
}

HEAPDUMP_API hd_deduplicator *hd_deduplicator_create(uint32_t axis, const hd_options *options,
                                                     hd_error *err) {
    hd__mem mem = hd__mem_options(options);
    hd__deduplicator *d;
    if (axis > HD_AXIS_TYPE) {
        hd__fail(err, HD_INVALID, "axis %u: backtrace or type expected", (uint64_t)axis);
        return NULL;
    }
    d = (hd__deduplicator *)hd__realloc(&mem, NULL, 0, sizeof *d);
    if (!d) {
        hd__no_memory(&mem, err);
        return NULL;
    }
    memset(d, 0, sizeof *d);
    d->mem = mem;
    d->names.seed = hd__seed();
    if (!hd__deduplicator_init(&d->public_part, &d->mem, &d->arena, &d->names, d->names.seed,
                               axis == HD_AXIS_TYPE, hd__records(options ? &options->limits : NULL), err))
        return &d->public_part;
    hd_deduplicator_free(&d->public_part);
    return NULL;
}

HEAPDUMP_API void hd_deduplicator_free(hd_deduplicator *deduplicator) {
    hd__deduplicator *d = (hd__deduplicator *)deduplicator; /* its first member */
    hd__mem mem;
    if (!d) return;
    hd__tree_free(&d->mem, &d->public_part.tree);
    hd__strings_free(&d->mem, &d->names);
    hd__arena_free(&d->mem, &d->arena);
    mem = d->mem;
    hd__free(&mem, d, sizeof *d);
}

HEAPDUMP_API hd_status hd_deduplicator_insert(hd_deduplicator *d, const hd_str *path, size_t count,
                                              uint32_t *id, hd_error *err) {
    uint32_t node = d->types && !count ? 1 : 0;
    if (d->types && count > 1)
        return hd__fail(err, HD_INVALID, "a type of one name expected, %u found", (uint64_t)count);
    for (size_t i = 0; i < count; i++) HD__TRY(hd__deduplicate(d, node, path[i], &node, err));
    *id = node - 1;
    return HD_OK;
}

HEAPDUMP_API uint32_t hd_deduplicator_count(const hd_deduplicator *d) {
    return (uint32_t)hd__len(d->tree.parent) - 1;
}

HEAPDUMP_API hd_str hd_deduplicator_name(const hd_deduplicator *d, uint32_t id, uint32_t *caller) {
    bool there = id < hd_deduplicator_count(d);
    if (caller) *caller = there ? d->tree.parent[id + 1] - 1 : HD_NONE;
    return there ? d->tree.names[id + 1] : hd_cstr("");
}

HEAPDUMP_API uint64_t hd_deduplicator_memory(const hd_deduplicator *d) { return d->mem->used; }

/* Types are flat: a node below another is written under its own name. */
static void hd__write_item(hd_json *j, const hd_deduplicator *d, uint32_t node, uint64_t id,
                           uint64_t caller) {
    char digits[20], *at = hd__digits(digits, id, 10);
    hd_str key;
    key.data = at;
    key.len = (size_t)(digits + 20 - at);
    hd_json_key_str(j, key);
    if (d->types) {
        hd_json_str(j, d->tree.names[node]);
        return;
    }
    hd_json_object(j);
    hd_json_key(j, "name"), hd_json_str(j, d->tree.names[node]);
    if (d->tree.parent[node]) hd_json_key(j, "parent"), hd_json_decimal(j, caller);
    hd_json_end(j);
}

HEAPDUMP_API void hd_deduplicator_write(const hd_deduplicator *d, uint32_t first, hd_json *json) {
    hd_json_object(json);
    for (uint32_t id = first; id < hd_deduplicator_count(d); id++)
        hd__write_item(json, d, id + 1, id, (uint64_t)d->tree.parent[id + 1] - 1);
    hd_json_end(json);
}

/* The ids of one axis of a process: each node gets one per format, less hd_chrome_writer.first, in the
   order in which the trace tells of them; those told of are the lengths of the arrays. */
typedef struct hd__told {
    hd_deduplicator names;
    uint32_t *id, *v2_id;        /* stb_ds arrays, by node; [0] is the root's and not used */
} hd__told;

typedef struct hd__writer_process {
    uint64_t pid;
    bool named, v1, v2;          /* what the trace told of it so far */
    hd__told axis[2];
    hd__strings dumps;           /* their ids */
    hd__strings strings;         /* heaps_v2: names */
    uint32_t *string_id;         /* stb_ds array */
    uint32_t next[2];            /* of the new format's ids */
} hd__writer_process;

/* The trace viewer has one namespace for the maps of heaps_v2 of all processes, and one per process for
   frames of either format. So ids of heaps_v2 are drawn from counters of the whole trace, as are the new
   format's frames where a process has both. */
enum { HD__IDS_NODES, HD__IDS_TYPES, HD__IDS_STRINGS, HD__IDS };

struct hd_chrome_writer {
    hd__mem mem;
    hd__arena arena;
    hd__strings names;           /* those of all trees, where `copy` is set */
    hd_options options;
    hd_json json;
    bool copy, interruptible;
    hd_status status;            /* of the writes so far */
    uint64_t first;              /* all ids are above or equal */
    uint32_t next_v2[HD__IDS];
    hd__writer_process *processes; /* stb_ds array */
    hd__index index;
    uint32_t *ids;               /* node of the dictionary by node of the heap at hand, axis after axis */
};

static uint32_t hd__heap_axes(const hd_heap *heap) {
    return heap->breakdown ? heap->breakdown->entries.axis_count
           : heap->profile ? heap->profile->cells.axis_count
                           : 0;
}

static hd_axis hd__heap_axis(const hd_heap *heap, uint32_t axis) {
    return heap->breakdown ? heap->breakdown->axis[axis] : hd_profile_axis(heap->profile, axis);
}

static hd_rows hd__heap_rows(const hd_heap *heap) {
    return heap->breakdown ? heap->breakdown->entries : hd_profile_cells(heap->profile);
}

/* What heaps and scalars are ordered by: heaps come first, so that the numbers from heap_count on are
   those of scalars. Defaults are filled in. */
typedef struct hd__label {
    uint64_t pid, time_us;
    const char *process, *dump, *allocator, *name; /* name: NULL for heaps; allocator: for process_totals */
} hd__label;

static hd__label hd__label_of(const hd_chrome_dumps *d, uint32_t i) {
    hd__label l;
    if (i < d->heap_count) {
        const hd_heap *heap = &d->heaps[i];
        l.pid = heap->pid;
        l.time_us = heap->time_us;
        l.process = heap->process;
        l.dump = heap->dump;
        l.allocator = heap->allocator ? heap->allocator : "malloc";
        l.name = NULL;
    } else {
        const hd_scalar *scalar = &d->scalars[i - d->heap_count];
        l.pid = scalar->pid;
        l.time_us = scalar->time_us;
        l.process = scalar->process;
        l.dump = scalar->dump;
        l.allocator = scalar->allocator;
        l.name = scalar->name;
    }
    if (!l.dump) l.dump = "0x1";
    return l;
}

/* NULL before all. */
static int hd__compare_texts(const char *a, const char *b) {
    return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

/* By what a reader tells dumps apart, and what is in them. */
static int hd__compare_dumps(const hd__label *x, const hd__label *y) {
    if (x->pid != y->pid) return x->pid < y->pid ? -1 : 1;
    return strcmp(x->dump, y->dump);
}

static int hd__compare_labels(const hd__label *x, const hd__label *y) {
    int order = hd__compare_dumps(x, y);
    if (!order) order = (x->name != NULL) - (y->name != NULL);
    if (!order) order = hd__compare_texts(x->allocator, y->allocator);
    return order ? order : hd__compare_texts(x->name, y->name);
}

static bool hd__label_by_name(const void *owner, uint32_t a, uint32_t b) {
    const hd_chrome_dumps *d = (const hd_chrome_dumps *)owner;
    hd__label x = hd__label_of(d, a), y = hd__label_of(d, b);
    return hd__compare_labels(&x, &y) < 0;
}

static bool hd__label_before(const void *owner, uint32_t a, uint32_t b) {
    const hd_chrome_dumps *d = (const hd_chrome_dumps *)owner;
    hd__label x = hd__label_of(d, a), y = hd__label_of(d, b);
    if (x.pid == y.pid && x.time_us != y.time_us) return x.time_us < y.time_us;
    return hd__compare_labels(&x, &y) < 0;
}

static const char *const hd__detail_names[] = { "detailed", "light", "background" };

static hd_status hd__check_heaps(const hd_chrome_dumps *d, hd_error *err) {
    if (d->heap_count >= HD_NONE || d->scalar_count >= HD_NONE - d->heap_count)
        return hd__fail(err, HD_INVALID, "fewer than 2^32 heaps expected");
    if (d->detail != HD_DETAILED && d->heap_count)
        return hd__fail(err, HD_INVALID, "a %s dump without heaps expected, it has %u",
                        hd__detail_names[d->detail], (uint64_t)d->heap_count);
    for (size_t i = 0; i < d->heap_count; i++) {
        if (!d->heaps[i].breakdown == !d->heaps[i].profile)
            return hd__fail(err, HD_INVALID, "heap %u: either a profile or a breakdown expected",
                            (uint64_t)i);
        if (hd__heap_axes(&d->heaps[i]) > 2)
            return hd__fail(err, HD_UNSUPPORTED,
                            "a trace has the axes backtrace and type, heap %u has %u axes", (uint64_t)i,
                            (uint64_t)hd__heap_axes(&d->heaps[i]));
    }
    for (size_t i = 0; i < d->scalar_count; i++)
        if (!d->scalars[i].name)
            return hd__fail(err, HD_INVALID, "scalar %u: a name expected", (uint64_t)i);
    return HD_OK;
}

/* Whether a trace can tell these apart; sorted by name. */
static hd_status hd__check_names(const hd_chrome_dumps *d, const uint32_t *order, size_t count,
                                 hd_error *err) {
    for (size_t i = 1; i < count; i++) {
        hd__label x = hd__label_of(d, order[i - 1]), y = hd__label_of(d, order[i]);
        if (!hd__compare_labels(&x, &y) && y.name)
            return hd__fail(err, HD_INVALID, "two values of %s of %s in dump %s of pid %u", y.name,
                            y.allocator ? y.allocator : "process_totals", y.dump, y.pid);
        if (!hd__compare_labels(&x, &y))
            return hd__fail(err, HD_INVALID, "two heaps of %s in dump %s of pid %u", y.allocator, y.dump,
                            y.pid);
        if (!hd__compare_dumps(&x, &y) && x.time_us != y.time_us)
            return hd__fail(err, HD_INVALID, "dump %s of pid %u at two times, %u and %u", y.dump, y.pid,
                            x.time_us, y.time_us);
    }
    return HD_OK;
}

static uint64_t hd__writer_hash(const hd_chrome_writer *w, uint64_t pid) {
    return hd__hash_u64(w->names.seed, pid);
}

static uint64_t hd__writer_rehash(const void *owner, uint32_t i) {
    const hd_chrome_writer *w = (const hd_chrome_writer *)owner;
    return hd__writer_hash(w, w->processes[i].pid);
}

/* Dictionaries with nothing but the roots, and the type that the viewer expects to be there. */
static hd_status hd__writer_process_init(hd_chrome_writer *w, hd__writer_process *p, hd_error *err) {
    p->strings.seed = p->dumps.seed = hd__seed();
    for (int a = 0; a < 2; a++) {
        hd__told *d = &p->axis[a];
        HD__TRY(hd__deduplicator_init(&d->names, &w->mem, &w->arena, w->copy ? &w->names : NULL,
                                      p->strings.seed, a == HD_AXIS_TYPE, HD_NONE - 2, err));
        if (!hd__push(&w->mem, d->id, 0) || !hd__push(&w->mem, d->v2_id, 0))
            return hd__no_memory(&w->mem, err);
    }
    return HD_OK;
}

static void hd__writer_process_free(hd_chrome_writer *w, hd__writer_process *p) {
    for (int a = 0; a < 2; a++) {
        hd__tree_free(&w->mem, &p->axis[a].names.tree);
        hd__arr_free(&w->mem, p->axis[a].id);
        hd__arr_free(&w->mem, p->axis[a].v2_id);
    }
    hd__strings_free(&w->mem, &p->dumps);
    hd__strings_free(&w->mem, &p->strings);
    hd__arr_free(&w->mem, p->string_id);
}

static hd__writer_process *hd__writer_find(const hd_chrome_writer *w, uint64_t pid) {
    size_t probe = 0;
    uint32_t i;
    while ((i = hd__index_next(&w->index, hd__writer_hash(w, pid), &probe)) != HD_NONE)
        if (w->processes[i].pid == pid) return &w->processes[i];
    return NULL;
}

/* The process of a pid, made when it is new; valid until the next. */
static hd_status hd__writer_process_of(hd_chrome_writer *w, uint64_t pid, hd__writer_process **process,
                                       hd_error *err) {
    size_t n = hd__len(w->processes);
    hd__writer_process fresh;
    *process = hd__writer_find(w, pid);
    if (*process) return HD_OK;
    memset(&fresh, 0, sizeof fresh);
    fresh.pid = pid;
    if (!hd__push(&w->mem, w->processes, fresh)) return hd__no_memory(&w->mem, err);
    if (!hd__index_add(&w->mem, &w->index, hd__writer_hash(w, pid), (uint32_t)n, hd__writer_rehash, w))
        return hd__no_memory(&w->mem, err);
    *process = &w->processes[n];
    return hd__writer_process_init(w, *process, err);
}

/* Dictionary nodes for the nodes that a heap uses; heaps may share axes much larger than that. */
static hd_status hd__chrome_intern(hd_chrome_writer *w, hd__writer_process *p, const hd_heap *heap,
                                   hd_error *err) {
    hd_rows rows = hd__heap_rows(heap);
    hd__set_len(w->ids, 0);
    for (uint32_t a = 0; a < rows.axis_count; a++) {
        hd_axis axis = hd__heap_axis(heap, a);
        uint32_t *ids;
        if (!hd__room(&w->mem, w->ids, axis.node_count)) return hd__no_memory(&w->mem, err);
        ids = w->ids + hd__len(w->ids);
        memset(ids, 0, axis.node_count * sizeof *ids);
        for (uint32_t i = 0; i < rows.count; i++) ids[rows.node[(size_t)i * rows.axis_count + a]] = 1;
        for (uint32_t i = axis.node_count; i-- > 1;) ids[axis.parent[i]] |= ids[i];
        ids[0] = 0;
        for (uint32_t i = 1; i < axis.node_count; i++)
            if (ids[i])
                HD__TRY(hd__deduplicate(&p->axis[a].names, ids[axis.parent[i]], axis.node_name[i], &ids[i],
                                        err));
        hd__set_len(w->ids, hd__len(w->ids) + axis.node_count);
    }
    return HD_OK;
}

/* Up to the key of the event's own object in args. */
static void hd__chrome_event(hd_json *j, uint64_t pid, uint64_t time_us, const char *phase,
                             const char *category, const char *name) {
    hd_json_newline(j);
    hd_json_object(j);
    hd_json_key(j, "pid"), hd_json_u64(j, pid);
    hd_json_key(j, "tid"), hd_json_u64(j, pid);
    hd_json_key(j, "ts"), hd_json_u64(j, time_us);
    hd_json_key(j, "ph"), hd_json_cstr(j, phase);
    hd_json_key(j, "cat"), hd_json_cstr(j, category);
    hd_json_key(j, "name"), hd_json_cstr(j, name);
}

static void hd__write_name(hd_chrome_writer *w, hd__writer_process *p, const char *name) {
    hd_json *j = &w->json;
    if (p->named || !name) return;
    p->named = true;
    hd__chrome_event(j, p->pid, 0, "M", "__metadata", "process_name");
    hd_json_key(j, "args"), hd_json_object(j);
    hd_json_key(j, "name"), hd_json_cstr(j, name);
    hd_json_end(j), hd_json_end(j);
}

/* What has not been told of yet. */
static hd_status hd__write_dictionary(hd_chrome_writer *w, hd__writer_process *p, bool types, hd_error *err) {
    static const char *const names[] = { "stackFrames", "typeNames" };
    hd_json *j = &w->json;
    hd__told *d = &p->axis[types];
    uint32_t *next = !types && p->v2 ? &w->next_v2[HD__IDS_NODES] : &p->next[types];
    const hd__tree *tree = &d->names.tree;
    uint32_t told = (uint32_t)hd__len(d->id), n = (uint32_t)hd__len(tree->parent);
    if (told == n && told > 1) return HD_OK;
    if (!hd__room(&w->mem, d->id, n - told)) return hd__no_memory(&w->mem, err);
    hd__chrome_event(j, p->pid, 0, "M", "__metadata", names[types]);
    hd_json_key(j, "args"), hd_json_object(j);
    hd_json_key(j, names[types]), hd_json_object(j);
    for (; told < n; told++) {
        stbds_arrput(d->id, (*next)++);
        hd__write_item(j, &d->names, told, w->first + d->id[told], w->first + d->id[tree->parent[told]]);
    }
    hd_json_end(j), hd_json_end(j), hd_json_end(j);
    return HD_OK;
}

static void hd__chrome_entries(hd_chrome_writer *w, const hd__writer_process *p, const hd_heap *heap) {
    hd_json *j = &w->json;
    const hd_rows *rows = &heap->breakdown->entries;
    const uint32_t *frames = w->ids, *types = frames + heap->breakdown->axis[0].node_count;
    hd_json_object(j);
    hd_json_key(j, "entries"), hd_json_array(j);
    for (uint32_t i = 0; i < rows->count; i++) {
        const uint32_t *node = rows->node + (size_t)i * rows->axis_count;
        hd_json_newline(j);
        hd_json_object(j);
        hd_json_key(j, "size"), hd_json_hex(j, rows->bytes[i]);
        hd_json_key(j, "bt");
        if (node[0]) hd_json_decimal(j, w->first + p->axis[0].id[frames[node[0]]]);
        else hd_json_cstr(j, "");
        /* Types are numbered by their nodes, whether the trace has told of them yet or not. */
        if (rows->axis_count > 1 && node[1])
            hd_json_key(j, "type"), hd_json_decimal(j, w->first + types[node[1]] - 1);
        if (rows->blocks[i] != HD_UNKNOWN) hd_json_key(j, "count"), hd_json_hex(j, rows->blocks[i]);
        if (rows->variance[i] > 0)
            hd_json_key(j, "error"), hd_json_hex(j, hd_standard_error(rows->variance[i]));
        hd_json_end(j);
    }
    hd_json_end(j);
    if (heap->sample_bytes) hd_json_key(j, "sample_bytes"), hd_json_hex(j, heap->sample_bytes);
    hd_json_end(j);
}

/* Ids of heaps_v2 for the nodes that have none yet. */
static bool hd__chrome_v2_ids(hd_chrome_writer *w, hd__writer_process *p) {
    if (!p->v2 && w->next_v2[HD__IDS_NODES] < p->next[0]) w->next_v2[HD__IDS_NODES] = p->next[0];
    p->v2 = true;
    for (int a = 0; a < 2; a++) {
        hd__told *d = &p->axis[a];
        size_t n = hd__len(d->names.tree.parent);
        if (!hd__room(&w->mem, d->v2_id, n - hd__len(d->v2_id))) return false;
        while (hd__len(d->v2_id) < n) stbds_arrput(d->v2_id, w->next_v2[a]++);
    }
    return true;
}

static uint64_t hd__v2_id(const hd_chrome_writer *w, const hd__told *d, uint32_t node) {
    return node ? w->first + d->v2_id[node] : 0;
}

static void hd__chrome_column(hd_chrome_writer *w, const hd__writer_process *p, const hd_heap *heap,
                              const char *name) {
    hd_json *j = &w->json;
    hd_rows rows = hd_profile_cells(heap->profile);
    const uint32_t *frames = w->ids, *types = frames + hd_profile_axis(heap->profile, 0).node_count;
    hd_json_key(j, name), hd_json_array(j);
    for (uint32_t i = 0; i < rows.count; i++) {
        const uint32_t *node = rows.node + (size_t)i * rows.axis_count;
        switch (*name) {
        case 'n': hd_json_u64(j, hd__v2_id(w, &p->axis[0], frames[node[0]])); break;
        case 's': hd_json_u64(j, rows.bytes[i]); break;
        case 'c': hd_json_u64(j, rows.blocks[i]); break;
        case 'e': hd_json_u64(j, hd_standard_error(rows.variance[i])); break;
        default: hd_json_u64(j, rows.axis_count > 1 ? hd__v2_id(w, &p->axis[1], types[node[1]]) : 0);
        }
    }
    hd_json_end(j);
}

/* What the maps of heaps_v2 have not said yet of one axis: nodes from `told` on. */
static bool hd__chrome_map(hd_chrome_writer *w, hd__writer_process *p, const char *key, int axis,
                           size_t told) {
    hd_json *j = &w->json;
    const hd__told *d = &p->axis[axis];
    const hd__tree *tree = &d->names.tree;
    hd_json_key(j, key), hd_json_array(j);
    for (size_t i = told; i < hd__len(d->v2_id); i++) {
        uint32_t string = hd__strings_add(&w->mem, &w->arena, &p->strings, tree->names[i]);
        if (string == HD_NONE || !hd__room(&w->mem, p->string_id, 1)) return false;
        if (string == hd__len(p->string_id)) stbds_arrput(p->string_id, w->next_v2[HD__IDS_STRINGS]++);
        hd_json_object(j);
        hd_json_key(j, "id"), hd_json_u64(j, w->first + d->v2_id[i]);
        hd_json_key(j, "name_sid"), hd_json_u64(j, w->first + p->string_id[string]);
        if (tree->parent[i]) hd_json_key(j, "parent"), hd_json_u64(j, hd__v2_id(w, d, tree->parent[i]));
        hd_json_end(j);
    }
    hd_json_end(j);
    return true;
}

static bool hd__counts_known(const hd_profile *p) {
    hd_rows rows = hd_profile_cells(p);
    for (uint32_t i = 0; i < rows.count; i++)
        if (rows.blocks[i] == HD_UNKNOWN) return false;
    return true;
}

static bool hd__errors_known(const hd_profile *p) {
    hd_rows rows = hd_profile_cells(p);
    for (uint32_t i = 0; i < rows.count; i++)
        if (rows.variance[i] > 0) return true;
    return false;
}

/* The n heaps of one dump, those that are profiles. */
static hd_status hd__chrome_v2(hd_chrome_writer *w, hd__writer_process *p, const hd_chrome_dumps *d,
                               const uint32_t *order, size_t n, hd_error *err) {
    hd_json *j = &w->json;
    size_t nodes = hd__len(p->axis[0].v2_id), types = hd__len(p->axis[1].v2_id);
    size_t strings = hd__len(p->string_id);
    hd_json_key(j, "heaps_v2"), hd_json_object(j);
    hd_json_key(j, "version"), hd_json_u64(j, 1);
    hd_json_key(j, "allocators"), hd_json_object(j);
    for (size_t i = 0; i < n; i++) {
        const hd_heap *heap = &d->heaps[order[i]];
        if (!heap->profile) continue;
        HD__TRY(hd__chrome_intern(w, p, heap, err));
        if (!hd__chrome_v2_ids(w, p)) return hd__no_memory(&w->mem, err);
        hd_json_key(j, hd__label_of(d, order[i]).allocator), hd_json_object(j);
        for (int c = 0; c < HD__V2_COLUMNS; c++) {
            char column = *hd__v2_columns[c];
            if (column == 'c' && !hd__counts_known(heap->profile)) continue;
            if (column == 'e' && !hd__errors_known(heap->profile)) continue;
            hd__chrome_column(w, p, heap, hd__v2_columns[c]);
        }
        if (heap->sample_bytes) hd_json_key(j, "sample_bytes"), hd_json_u64(j, heap->sample_bytes);
        hd_json_end(j);
    }
    hd_json_end(j);
    hd_json_key(j, "maps"), hd_json_object(j);
    if (!hd__chrome_map(w, p, "nodes", 0, nodes) || !hd__chrome_map(w, p, "types", 1, types))
        return hd__no_memory(&w->mem, err);
    hd_json_key(j, "strings"), hd_json_array(j);
    for (; strings < hd__len(p->string_id); strings++) {
        hd_json_object(j);
        hd_json_key(j, "id"), hd_json_u64(j, w->first + p->string_id[strings]);
        hd_json_key(j, "string"), hd_json_str(j, p->strings.strings[strings]);
        hd_json_end(j);
    }
    hd_json_end(j), hd_json_end(j), hd_json_end(j);
    return HD_OK;
}

static void hd__write_attribute(hd_json *j, const char *name, const char *units, uint64_t value,
                                 const char *text) {
    hd_json_key(j, name), hd_json_object(j);
    hd_json_key(j, "type"), hd_json_cstr(j, text ? "string" : "scalar");
    if (units) hd_json_key(j, "units"), hd_json_cstr(j, units);
    hd_json_key(j, "value");
    if (text) hd_json_cstr(j, text);
    else hd_json_hex(j, value);
    hd_json_end(j);
}

/* The allocators of n heaps and m scalars, both ordered by allocator. An allocator with a heap has a size,
   which is what the viewer shows, the heap's where no scalar gives one. */
static void hd__write_allocators(hd_json *j, const hd_chrome_dumps *d, const uint32_t *heaps, size_t n,
                                  const uint32_t *scalars, size_t m) {
    hd_json_key(j, "allocators"), hd_json_object(j);
    for (size_t i = 0, k = 0, end; i < n || k < m; k = end) {
        const char *of_heap = i < n ? hd__label_of(d, heaps[i]).allocator : NULL;
        const char *of_scalar = k < m ? hd__label_of(d, scalars[k]).allocator : NULL;
        int order = !of_heap ? 1 : !of_scalar ? -1 : strcmp(of_heap, of_scalar);
        const char *name = order <= 0 ? of_heap : of_scalar;
        hd__label l = hd__label_of(d, order <= 0 ? heaps[i] : scalars[k]);
        bool sized = order > 0;
        for (end = k; end < m && !strcmp(hd__label_of(d, scalars[end]).allocator, name); end++)
            sized |= !strcmp(hd__label_of(d, scalars[end]).name, "size");
        hd_json_key(j, name), hd_json_object(j);
        hd_json_key(j, "guid"), hd_json_hex(j, hd__hash_bytes(l.pid, name, strlen(name)));
        hd_json_key(j, "attrs"), hd_json_object(j);
        if (!sized) {
            const hd_heap *heap = &d->heaps[heaps[i]];
            hd__write_attribute(j, "size", "bytes",
                                 heap->breakdown ? heap->breakdown->entries.bytes[0]
                                                 : heap->profile->total_bytes, NULL);
        }
        for (; k < end; k++) {
            const hd_scalar *s = &d->scalars[scalars[k] - d->heap_count];
            hd__write_attribute(j, s->name, s->units, s->value, s->text);
        }
        hd_json_end(j), hd_json_end(j);
        i += order <= 0;
    }
    hd_json_end(j);
}

static void hd__write_totals(hd_json *j, const hd_chrome_dumps *d, const uint32_t *scalars, size_t m) {
    hd_json_key(j, "process_totals"), hd_json_object(j);
    for (size_t k = 0; k < m; k++) {
        const hd_scalar *s = &d->scalars[scalars[k] - d->heap_count];
        hd_json_key(j, s->name);
        if (s->text) hd_json_cstr(j, s->text);
        else hd_json_hex(j, s->value);
    }
    hd_json_end(j);
}

/* One dump of one process: n of its heaps and scalars. */
static hd_status hd__chrome_dump(hd_chrome_writer *w, hd__writer_process *p, const hd_chrome_dumps *d,
                                 const uint32_t *order, size_t n, hd_error *err) {
    hd__label first = hd__label_of(d, order[0]);
    hd_json *j = &w->json;
    bool v2 = false, v1 = false;
    size_t heaps = 0, totals;
    for (; heaps < n && order[heaps] < d->heap_count; heaps++) {
        v1 |= d->heaps[order[heaps]].breakdown != NULL;
        v2 |= d->heaps[order[heaps]].profile != NULL;
    }
    if (w->copy && hd__strings_add(&w->mem, &w->arena, &p->dumps, hd_cstr(first.dump)) == HD_NONE)
        return hd__no_memory(&w->mem, err);
    for (totals = heaps; totals < n && !hd__label_of(d, order[totals]).allocator; totals++) {}
    hd__chrome_event(j, first.pid, first.time_us, "v", "disabled-by-default-memory-infra",
                     d->trigger ? d->trigger : "explicitly_triggered");
    hd_json_key(j, "id"), hd_json_cstr(j, first.dump);
    hd_json_key(j, "args"), hd_json_object(j);
    hd_json_key(j, "dumps"), hd_json_object(j);
    hd_json_key(j, "level_of_detail"), hd_json_cstr(j, hd__detail_names[d->detail]);
    if (totals > heaps) hd__write_totals(j, d, order + heaps, totals - heaps);
    if (heaps || totals < n) hd__write_allocators(j, d, order, heaps, order + totals, n - totals);
    if (v1) {
        hd_json_key(j, "heaps"), hd_json_object(j);
        for (size_t i = 0; i < heaps; i++) {
            const hd_heap *heap = &d->heaps[order[i]];
            if (!heap->breakdown) continue;
            HD__TRY(hd__chrome_intern(w, p, heap, err));
            hd_json_key(j, hd__label_of(d, order[i]).allocator);
            hd__chrome_entries(w, p, heap);
        }
        hd_json_end(j);
    }
    if (v2) HD__TRY(hd__chrome_v2(w, p, d, order, heaps, err));
    hd_json_end(j), hd_json_end(j), hd_json_end(j);
    return HD_OK;
}

/* All of one process: what its dumps refer to comes before them. */
static hd_status hd__chrome_process_out(hd_chrome_writer *w, const hd_chrome_dumps *d, const uint32_t *order,
                                        size_t n, hd_error *err) {
    const hd_options *o = &w->options;
    hd__writer_process *p = NULL;
    bool v1 = false;
    HD__TRY(hd__writer_process_of(w, hd__label_of(d, order[0]).pid, &p, err));
    for (size_t i = 0; i < n; i++) {
        hd__write_name(w, p, hd__label_of(d, order[i]).process);
        if (order[i] >= d->heap_count) continue;
        v1 |= d->heaps[order[i]].breakdown != NULL;
        HD__TRY(hd__chrome_intern(w, p, &d->heaps[order[i]], err));
    }
    p->v1 |= v1;
    if (v1) HD__TRY(hd__write_dictionary(w, p, false, err));
    if (v1 && w->interruptible) HD__TRY(hd__write_dictionary(w, p, true, err));
    for (size_t i = 0, k; i < n; i = k) {
        hd__label x = hd__label_of(d, order[i]);
        for (k = i + 1; k < n; k++) {
            hd__label y = hd__label_of(d, order[k]);
            if (hd__compare_dumps(&x, &y)) break;
        }
        if (o->progress && !o->progress(o->user, i, n)) return hd__fail(err, HD_CANCELLED, "cancelled");
        HD__TRY(hd__chrome_dump(w, p, d, order + i, k - i, err));
    }
    return HD_OK;
}

/* Whether these dumps are new to the trace; sorted by name. */
static hd_status hd__check_dumps(const hd_chrome_writer *w, const hd_chrome_dumps *d, const uint32_t *order,
                                 size_t count, hd_error *err) {
    for (size_t i = 0; i < count; i++) {
        hd__label l = hd__label_of(d, order[i]);
        const hd__writer_process *p = hd__writer_find(w, l.pid);
        hd_str id = hd_cstr(l.dump);
        if (p && hd__strings_find(&p->dumps, id, hd__hash_bytes(p->dumps.seed, id.data, id.len)) != HD_NONE)
            return hd__fail(err, HD_INVALID, "dump %s of pid %u was written before", l.dump, l.pid);
    }
    return HD_OK;
}

static hd_status hd__chrome_dumps_out(hd_chrome_writer *w, const hd_chrome_dumps *d, uint32_t *order,
                                      size_t count, hd_error *err) {
    for (size_t i = 0; i < count; i++) order[i] = (uint32_t)i;
    hd__sort(order, order + count, count, hd__label_by_name, d);
    HD__TRY(hd__check_names(d, order, count, err));
    HD__TRY(hd__check_dumps(w, d, order, count, err));
    hd__sort(order, order + count, count, hd__label_before, d);
    for (size_t i = 0, k; i < count && !w->status; i = k) {
        for (k = i + 1; k < count && hd__label_of(d, order[k]).pid == hd__label_of(d, order[i]).pid; k++) {}
        w->status = hd__chrome_process_out(w, d, order + i, k - i, err);
    }
    return w->status;
}

static hd_status hd__writer_failed(hd_chrome_writer *w, hd_status status, hd_error *err) {
    w->status = status;
    return hd__fail(err, status, "writing the trace: %s", hd_status_text(status));
}

static void hd__writer_init(hd_chrome_writer *w, const hd_chrome_writer_desc *desc, hd_out out) {
    memset(w, 0, sizeof *w);
    w->mem = hd__mem_options(desc ? &desc->options : NULL);
    if (desc) w->options = desc->options;
    w->interruptible = desc && desc->interruptible;
    w->copy = true;
    w->names.seed = hd__seed();
    for (int k = 0; k < HD__IDS; k++) w->next_v2[k] = 1;
    hd_json_begin(&w->json, out);
}

/* Before the first event. */
static void hd__writer_begin(hd_chrome_writer *w, bool bare) {
    if (!bare) {
        hd_json_object(&w->json);
        hd_json_key(&w->json, "traceEvents");
    }
    hd_json_array(&w->json);
}

static void hd__writer_release(hd_chrome_writer *w) {
    for (size_t i = 0; i < hd__len(w->processes); i++) hd__writer_process_free(w, &w->processes[i]);
    hd__arr_free(&w->mem, w->processes);
    hd__index_free(&w->mem, &w->index);
    hd__arr_free(&w->mem, w->ids);
    hd__strings_free(&w->mem, &w->names);
    hd__arena_free(&w->mem, &w->arena);
}

HEAPDUMP_API hd_chrome_writer *hd_chrome_writer_create(const hd_chrome_writer_desc *desc, hd_out out,
                                                       hd_error *err) {
    hd__mem mem = hd__mem_options(desc ? &desc->options : NULL);
    hd_chrome_writer *w = (hd_chrome_writer *)hd__realloc(&mem, NULL, 0, sizeof *w);
    if (!w) {
        hd__no_memory(&mem, err);
        return NULL;
    }
    hd__writer_init(w, desc, out);
    w->mem.used = mem.used;
    hd__writer_begin(w, w->interruptible);
    return w;
}

HEAPDUMP_API void hd_chrome_writer_free(hd_chrome_writer *w) {
    hd__mem mem;
    if (!w) return;
    hd__writer_release(w);
    mem = w->mem;
    hd__free(&mem, w, sizeof *w);
}

HEAPDUMP_API const hd_deduplicator *hd_chrome_writer_deduplicator(const hd_chrome_writer *w, uint64_t pid,
                                                                  uint32_t axis) {
    const hd__writer_process *p = axis > HD_AXIS_TYPE ? NULL : hd__writer_find(w, pid);
    return p ? &p->axis[axis].names : NULL;
}

HEAPDUMP_API uint64_t hd_chrome_writer_memory(const hd_chrome_writer *w) { return w->mem.used; }

HEAPDUMP_API hd_status hd_chrome_writer_add(hd_chrome_writer *w, const hd_chrome_dumps *dumps,
                                            hd_error *err) {
    size_t count = dumps->heap_count + dumps->scalar_count;
    uint32_t *order;
    hd_status status;
    if (w->status) return hd__writer_failed(w, w->status, err);
    HD__TRY(hd__check_heaps(dumps, err));
    order = (uint32_t *)hd__calloc(&w->mem, count, 2 * sizeof *order);
    if (!order) return w->status = hd__no_memory(&w->mem, err);
    status = hd__chrome_dumps_out(w, dumps, order, count, err);
    hd__cfree(&w->mem, order, count, 2 * sizeof *order);
    /* So that what comes after a crash ends between two events. */
    if (!status && hd__sink_flush(&w->json.sink)) status = hd__writer_failed(w, w->json.sink.status, err);
    return status;
}

/* Types that were not told of where they were used. */
static hd_status hd__writer_types(hd_chrome_writer *w, hd_error *err) {
    for (size_t i = 0; i < hd__len(w->processes) && !w->status; i++)
        if (w->processes[i].v1) w->status = hd__write_dictionary(w, &w->processes[i], true, err);
    return w->status;
}

HEAPDUMP_API hd_status hd_chrome_writer_finish(hd_chrome_writer *w, hd_error *err) {
    hd_json *j = &w->json;
    hd_status status;
    if (w->status) return hd__writer_failed(w, w->status, err);
    HD__TRY(hd__writer_types(w, err));
    hd_json_newline(j);
    hd_json_end(j);
    if (j->depth) hd_json_end(j);
    hd_json_newline(j);
    status = hd_json_finish(j);
    if (status) return hd__writer_failed(w, status, err);
    w->status = HD_INVALID;      /* nothing may follow */
    return HD_OK;
}

HEAPDUMP_API hd_status hd_chrome_write(const hd_heap *heaps, size_t count, const hd_options *options,
                                       hd_out out, hd_error *err) {
    hd_chrome_writer w;
    hd_chrome_writer_desc desc;
    hd_chrome_dumps dumps;
    hd_status status;
    memset(&desc, 0, sizeof desc);
    memset(&dumps, 0, sizeof dumps);
    if (options) desc.options = *options;
    dumps.heaps = heaps;
    dumps.heap_count = count;
    desc.interruptible = true;   /* all types are known before the first dump */
    hd__writer_init(&w, &desc, out);
    w.copy = false;
    hd__writer_begin(&w, false);
    status = hd_chrome_writer_add(&w, &dumps, err);
    if (!status) status = hd_chrome_writer_finish(&w, err);
    hd__writer_release(&w);
    return status;
}

/* Reading. ------------------------------------------------------------------------------------ */

/* What a trace says of a dump as a whole. */
typedef struct hd__dump_detail {
    uint64_t pid;
    const char *id;
    hd_detail detail;
} hd__dump_detail;

struct hd_dump {
    hd__mem mem;
    hd__arena arena;
    hd_format format;
    uint64_t warnings;
    hd_heap *heaps;              /* stb_ds arrays */
    hd_scalar *scalars;
    hd__dump_detail *details;    /* by pid and id */
    hd__strings strings;
    hd_netcf *netcf;
    hd_dart *dart;
    hd_memprof *memprof;
};

typedef enum hd__dictionary {
    HD__D_FRAMES, HD__D_TYPES,                    /* stackFrames, typeNames */
    HD__D_V2_NODES, HD__D_V2_TYPES, HD__D_V2_STRINGS,
    HD__DICTIONARIES
} hd__dictionary;

typedef struct hd__item_found {
    uint32_t item, id;
} hd__item_found;

/* Where something stood in the input; `event` HD_UNKNOWN: in none. */
typedef struct hd__place {
    uint64_t offset, line, event;
} hd__place;

/* One definition in a dictionary. Names are numbers of strings; in heaps_v2 a name is the id of a string
   defined elsewhere. */
typedef struct hd__item {
    hd__place place;
    uint32_t process, dictionary, id, name, parent;
    uint32_t node;               /* in the tree of its axis */
} hd__item;

#define HD__NODE_UNKNOWN HD_NONE
#define HD__NODE_BAD (HD_NONE - 1)
#define HD__NODE_OPEN (HD_NONE - 2)  /* being resolved: meeting it again is a cycle */

typedef struct hd__entry {
    uint64_t size, count, error;
    uint32_t bt, type;           /* ids, then nodes; HD_NONE: absent */
    uint32_t self;               /* old format: the node of bt's "<self>"; HD_NONE: a cumulative size */
    bool bad;                    /* complained of already */
} hd__entry;

typedef struct hd__chrome_heap {
    uint32_t process, dump, allocator;
    hd__place place;
    uint64_t sample_bytes;
    size_t first, count;         /* entries */
    bool v2, old;
} hd__chrome_heap;

/* Of the old format: bytes of one type (0: of all) in a frame itself. */
typedef struct hd__cell {
    uint32_t type, node, self;
    uint64_t bytes, blocks;
} hd__cell;

/* A node on the way from the root to the cell at hand: what was found at and below it. */
typedef struct hd__level {
    hd__cell own;
    uint64_t bytes, blocks;
    bool has_own, has_callees;
} hd__level;

typedef struct hd__chrome_scalar {
    uint64_t value;
    hd__place place;
    uint32_t process, dump;
    uint32_t allocator, name, units, text; /* numbers of strings; HD_NONE: absent */
} hd__chrome_scalar;

typedef struct hd__chrome_process {
    uint64_t pid;
    uint32_t name;
} hd__chrome_process_info;

typedef struct hd__chrome_dump {
    uint32_t process, id;
    uint32_t detail;             /* one more than an hd_detail; 0: not told */
    uint64_t time_us;
} hd__chrome_dump_info;

/* What an event says, in whatever order; `dumps` and dictionaries go to the arrays at once and are
   taken back when the event turns out to be another. */
typedef struct hd__event {
    uint64_t pid, time_us;
    uint32_t id, process_name, detail;
    char phase;
    bool has_pid;
    size_t items, heaps, entries, scalars; /* lengths of the arrays before */
} hd__event;

typedef struct hd__chrome_in {
    hd__pull pull;
    hd_dump *dump;
    const hd_options *options;
    hd_error *err;
    uint64_t max_records, events, seed;
    hd__event event;             /* the one being read */
    bool in_event;
    hd__item *items;             /* stb_ds arrays */
    hd__index item_index;
    hd__chrome_heap *heaps;
    hd__entry *entries;
    hd__chrome_scalar *scalars;
    hd__chrome_process_info *processes;
    hd__chrome_dump_info *dumps;
    uint32_t *chain;
    hd__tree tree[2];
    hd__table seen;              /* entries of one heap by (bt, type) ids */
    hd__table rows;
    hd__index process_index, dump_index;
    hd__item_found found[HD__DICTIONARIES];
    hd__cell *cells;
    hd__level *levels;
    char *joined;                /* the last name that was put together */
} hd__chrome_in;

/* Where a malformed piece stands: `event` HD_UNKNOWN outside of events, what is not known of it yet is
   not told. */
typedef struct hd__where {
    uint64_t offset, line, event, pid;
    uint32_t id;                 /* of the dump; HD_NONE: none */
    bool has_pid;
} hd__where;

static hd_str hd__chrome_text(const hd__chrome_in *x, uint32_t string) {
    return string == HD_NONE ? hd_cstr("") : x->dump->strings.strings[string];
}

/* NULL where there is none. */
static const char *hd__chrome_label_text(const hd__chrome_in *x, uint32_t string) {
    return string == HD_NONE ? NULL : hd__chrome_text(x, string).data;
}

/* A malformed piece: fatal when strict, else counted, told, and left out. */
static hd_status hd__complain_at(hd__chrome_in *x, hd_status status, hd__where where,
                                 const char *format, ...) {
    hd_str id = hd__chrome_text(x, where.id);
    hd_error e;
    size_t n;
    va_list args;
    if (id.len > 32) id.len = 32;
    hd__fail_at(&e, status, where.offset, where.line,
                where.event == HD_UNKNOWN ? ""
                : !where.has_pid          ? "event %u: "
                : where.id == HD_NONE     ? "event %u, pid %u: "
                                          : "event %u, pid %u, dump %S: ",
                where.event, where.pid, id);
    n = strlen(e.message);
    va_start(args, format);
    hd__format(e.message + n, sizeof e.message - n, format, args);
    va_end(args);
    if (!x->options || !x->options->lenient) {
        if (x->err) *x->err = e;
        return status;
    }
    x->dump->warnings++;
    if (x->options->warning) x->options->warning(x->options->user, &e);
    return HD_OK;
}

static hd__where hd__where_now(hd__chrome_in *x, uint64_t offset) {
    hd__where where;
    where.offset = offset;
    where.line = hd__reader_line(&x->pull.r, offset);
    where.event = x->in_event ? x->events - 1 : HD_UNKNOWN;
    where.pid = x->event.pid;
    where.id = x->in_event ? x->event.id : HD_NONE;
    where.has_pid = x->event.has_pid;
    return where;
}

/* Of what was read before: a heap's or an item's place. */
static hd__where hd__where_was(const hd__chrome_in *x, const hd__place *place, uint32_t process,
                               uint32_t dump) {
    hd__where where;
    where.offset = place->offset;
    where.line = place->line;
    where.event = place->event;
    where.has_pid = process != HD_NONE;
    where.pid = where.has_pid ? x->processes[process].pid : 0;
    where.id = dump == HD_NONE ? HD_NONE : x->dumps[dump].id;
    return where;
}

#define hd__complain(x, status, offset, ...) \
    hd__complain_at((x), (status), hd__where_now((x), (offset)), __VA_ARGS__)
#define hd__complain_of(x, status, heap, ...)                                                             \
    hd__complain_at((x), (status), hd__where_was((x), &(heap)->place, (heap)->process, (heap)->dump), \
                    __VA_ARGS__)

static hd_status hd__in_no_memory(hd__chrome_in *x) { return hd__no_memory(&x->dump->mem, x->err); }

/* The text of a string, or the digits of a number, as a numbered string; other values are malformed,
   and *ok is false for them. */
static hd_status hd__chrome_string(hd__chrome_in *x, hd__token token, const char *what, uint32_t *string,
                                   bool *ok) {
    uint64_t offset = x->pull.token_offset;
    hd__number number;
    hd_str s;
    *ok = token == HD__T_STRING || token == HD__T_NUMBER;
    if (token == HD__T_STRING) {
        if (!hd__pull_string(&x->pull, &s)) return x->pull.status;
    } else if (token == HD__T_NUMBER) {
        hd__pull_number(&x->pull, &number);
        s.data = number.text;
        s.len = number.len;
    } else {
        if (!hd__pull_skip(&x->pull, token)) return x->pull.status;
        return hd__complain(x, HD_MALFORMED, offset, "%s: a string expected", what);
    }
    *string = hd__strings_add(&x->dump->mem, &x->dump->arena, &x->dump->strings, s);
    return *string == HD_NONE ? hd__in_no_memory(x) : HD_OK;
}

/* Ids are numbers of strings, or, where they are decimal numbers as most are, these: above. */
#define HD__ID_NUMBER 0x80000000u
#define HD__ID_MOST 0x7ffffff0u

typedef char hd__digits_text[20];

static hd_str hd__id_text(const hd__chrome_in *x, uint32_t id, hd__digits_text digits) {
    hd_str s;
    if (id < HD__ID_NUMBER || id - HD__ID_NUMBER >= HD__ID_MOST) return hd__chrome_text(x, id);
    s.data = hd__digits(digits, id - HD__ID_NUMBER, 10);
    s.len = (size_t)(digits + 20 - s.data);
    return s;
}

static hd_status hd__chrome_id_of(hd__chrome_in *x, hd_str s, uint32_t *id) {
    uint32_t n = 0;
    size_t i = 0;
    if (s.len < 10 && (s.len == 1 || (s.len && *s.data != '0'))) /* one way to write each */
        for (; i < s.len && s.data[i] >= '0' && s.data[i] <= '9'; i++)
            n = n * 10 + (uint32_t)(s.data[i] - '0');
    if (i && i == s.len) {
        *id = HD__ID_NUMBER + n;
        return HD_OK;
    }
    *id = hd__strings_add(&x->dump->mem, &x->dump->arena, &x->dump->strings, s);
    if (*id == HD_NONE) return hd__in_no_memory(x);
    return *id < HD__ID_NUMBER ? HD_OK : hd__fail(x->err, HD_LIMIT, "more than 2^31 strings");
}

/* The same as hd__chrome_string, for an id. */
static hd_status hd__chrome_id(hd__chrome_in *x, hd__token token, const char *what, uint32_t *id, bool *ok) {
    hd__number number;
    hd_str s;
    if (token != HD__T_STRING && token != HD__T_NUMBER) return hd__chrome_string(x, token, what, id, ok);
    *ok = true;
    if (token == HD__T_STRING) {
        if (!hd__pull_string(&x->pull, &s)) return x->pull.status;
    } else {
        hd__pull_number(&x->pull, &number);
        s.data = number.text;
        s.len = number.len;
    }
    return hd__chrome_id_of(x, s, id);
}

/* Digits to a number; false when there are none, others, or too many. */
static bool hd__parse_u64(hd_str s, unsigned base, uint64_t *value) {
    uint64_t v = 0;
    if (base == 16 && s.len > 2 && s.data[0] == '0' && (s.data[1] | 32) == 'x') s.data += 2, s.len -= 2;
    if (!s.len) return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.data[i];
        unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0')
                       : (c | 32) >= 'a' && (c | 32) <= 'f' ? (unsigned)((c | 32) - 'a' + 10) : 99u;
        if (digit >= base || v > (UINT64_MAX - digit) / base) return false;
        v = v * base + digit;
    }
    *value = v;
    return true;
}

/* A JSON number without its fraction; false when it is negative, no number, or too large. *fraction is
   whether there was one. */
static bool hd__parse_decimal(hd_str s, uint64_t *value, bool *fraction) {
    uint64_t v = 0, exponent = 0;
    size_t i = 0, places = 0, digits = 0;
    bool point = false, down = false;
    hd_str rest;
    *fraction = false;
    for (; i < s.len && (s.data[i] == '.' || (s.data[i] >= '0' && s.data[i] <= '9')); i++) {
        if (s.data[i] == '.') {
            if (point) return false;
            point = true;
            continue;
        }
        digits++;
        if (point && v > UINT64_MAX / 16) { /* places too small to matter */
            *fraction |= s.data[i] != '0';
            continue;
        }
        if (v > (UINT64_MAX - (uint64_t)(s.data[i] - '0')) / 10) return false;
        v = v * 10 + (uint64_t)(s.data[i] - '0');
        places += point;
    }
    if (!digits) return false;
    if (i < s.len) {
        if ((s.data[i] | 32) != 'e') return false;
        i++;
        down = i < s.len && s.data[i] == '-';
        if (i < s.len && (s.data[i] == '-' || s.data[i] == '+')) i++;
        rest.data = s.data + i;
        rest.len = s.len - i;
        if (!hd__parse_u64(rest, 10, &exponent)) return false;
    }
    if (down) {
        for (; exponent && v; exponent--, v /= 10) *fraction |= v % 10 != 0;
    } else {
        for (; exponent && places; exponent--) places--;
        for (; exponent && v; exponent--) {
            if (v > UINT64_MAX / 10) return false;
            v *= 10;
        }
    }
    for (; places && v; places--, v /= 10) *fraction |= v % 10 != 0;
    *value = v;
    return true;
}

/* A number given as string or number; of a time, which is HD__TIME, fractions are cut off. */
#define HD__TIME 0u

static hd_status hd__chrome_u64(hd__chrome_in *x, hd__token token, unsigned base, const char *what,
                                uint64_t *value, bool *ok) {
    uint64_t offset = x->pull.token_offset;
    hd__number number;
    bool fraction;
    hd_str s;
    s.data = number.text;
    s.len = 0;
    *ok = false;
    if (token == HD__T_STRING) {
        x->pull.keep = 64;
        *ok = hd__pull_string(&x->pull, &s);
        x->pull.keep = SIZE_MAX;
        if (!*ok) return x->pull.status;
    } else if (token == HD__T_NUMBER) {
        hd__pull_number(&x->pull, &number);
        s.len = number.len;
    } else if (!hd__pull_skip(&x->pull, token)) {
        return x->pull.status;
    }
    if (base != 16 && token == HD__T_NUMBER)
        *ok = hd__parse_decimal(s, value, &fraction) && (!fraction || base == HD__TIME);
    else *ok = hd__parse_u64(s, base ? base : 10, value);
    if (*ok) return HD_OK;
    return hd__complain(x, HD_MALFORMED, offset, "%s: a %s number of at most 64 bits expected, '%S' found",
                        what, base == 16 ? "hexadecimal" : "decimal", s);
}

/* The next key of the object that was opened, into *key, and the first token of its value; HD__T_CLOSE
   at the end, HD__T_ERROR on failure. */
static hd__token hd__pull_member(hd__pull *p, hd_str *key, char copy[64]) {
    hd__token token = hd__pull_next(p);
    if (token != HD__T_KEY) return token;
    if (!hd__pull_key(p, key)) return HD__T_ERROR;
    if (key->len > 64) key->len = 64;
    if (key->len) memcpy(copy, key->data, key->len);
    key->data = copy;
    return hd__pull_next(p);
}

#define HD__MEMBERS(x, key, token)                                           \
    char key##_text[64];                                                     \
    hd_str key;                                                              \
    hd__token token;                                                         \
    while ((token = hd__pull_member(&(x)->pull, &(key), key##_text)) != HD__T_CLOSE && token != HD__T_ERROR)

static hd_status hd__chrome_skip(hd__chrome_in *x, hd__token token) {
    return hd__pull_skip(&x->pull, token) ? HD_OK : x->pull.status;
}

/* True for a value of the kind expected; else the value is passed over and complained of. */
static hd_status hd__chrome_expect(hd__chrome_in *x, hd__token token, hd__token wanted, const char *what,
                                   bool *ok) {
    uint64_t offset = x->pull.token_offset;
    *ok = token == wanted;
    if (*ok) return HD_OK;
    HD__TRY(hd__chrome_skip(x, token));
    return hd__complain(x, HD_MALFORMED, offset, "%s: %s expected", what,
                        wanted == HD__T_OBJECT  ? "an object"
                        : wanted == HD__T_ARRAY ? "an array"
                                                : "a string");
}

/* Whether a key of this object, known by its bit, came before: its value then is passed over and told. */
static hd_status hd__chrome_twice(hd__chrome_in *x, hd__token token, hd_str key, unsigned bit, unsigned *seen,
                                  bool *twice) {
    uint64_t offset = x->pull.token_offset;
    *twice = (*seen & bit) != 0;
    *seen |= bit;
    if (!*twice) return HD_OK;
    HD__TRY(hd__chrome_skip(x, token));
    return hd__complain(x, HD_MALFORMED, offset, "key '%S' comes twice", key);
}

static hd__place hd__place_of(hd__chrome_in *x, uint64_t offset) {
    hd__place place;
    place.offset = offset;
    place.line = hd__reader_line(&x->pull.r, offset);
    place.event = x->in_event ? x->events - 1 : HD_UNKNOWN;
    return place;
}

static hd_status hd__chrome_item(hd__chrome_in *x, hd__dictionary dictionary, uint64_t offset, uint32_t id,
                                 uint32_t name, uint32_t parent) {
    hd__item item;
    item.place = hd__place_of(x, offset);
    item.process = HD_NONE;
    item.dictionary = (uint32_t)dictionary;
    item.id = id;
    item.name = name;
    item.parent = parent;
    item.node = HD__NODE_UNKNOWN;
    if (hd__len(x->items) >= x->max_records)
        return hd__fail(x->err, HD_LIMIT, "more than the allowed %u dictionary items", x->max_records);
    return hd__push(&x->dump->mem, x->items, item) ? HD_OK : hd__in_no_memory(x);
}

/* {"id":{"name":"f","parent":"id"}} or {"id":"name"} */
static hd_status hd__chrome_dictionary(hd__chrome_in *x, hd__token token, hd__dictionary dictionary) {
    bool ok;
    HD__TRY(hd__chrome_expect(x, token, HD__T_OBJECT,
                              dictionary == HD__D_FRAMES ? "stackFrames" : "typeNames", &ok));
    if (!ok) return HD_OK;
    while ((token = hd__pull_next(&x->pull)) == HD__T_KEY) {
        uint32_t id, name = HD_NONE, parent = HD_NONE;
        uint64_t offset = x->pull.token_offset;
        hd_str s;
        hd__digits_text digits;
        if (!hd__pull_string(&x->pull, &s)) return x->pull.status;
        HD__TRY(hd__chrome_id_of(x, s, &id));
        token = hd__pull_next(&x->pull);
        ok = true;
        if (dictionary == HD__D_FRAMES && token == HD__T_OBJECT) {
            unsigned seen = 0;
            HD__MEMBERS(x, key, value) {
                bool is_name = hd__is(key, "name"), twice;
                if (!ok || (!is_name && !hd__is(key, "parent"))) {
                    HD__TRY(hd__chrome_skip(x, value));
                    continue;
                }
                HD__TRY(hd__chrome_twice(x, value, key, is_name ? 1 : 2, &seen, &twice));
                if (twice) ok = false;
                else if (is_name) HD__TRY(hd__chrome_string(x, value, "a frame's name", &name, &ok));
                else HD__TRY(hd__chrome_id(x, value, "a frame's parent", &parent, &ok));
            }
            if (value == HD__T_ERROR) return x->pull.status;
        } else if (dictionary == HD__D_TYPES && token == HD__T_STRING) {
            HD__TRY(hd__chrome_string(x, token, "a type", &name, &ok));
        } else {
            HD__TRY(hd__chrome_skip(x, token));
        }
        if (!ok) continue;
        if (name != HD_NONE) HD__TRY(hd__chrome_item(x, dictionary, offset, id, name, parent));
        else
            HD__TRY(hd__complain(x, HD_MALFORMED, offset, "%s '%S' has no name",
                                 dictionary == HD__D_FRAMES ? "frame" : "type", hd__id_text(x, id, digits)));
    }
    return token == HD__T_ERROR ? x->pull.status : HD_OK;
}

/* [{"id":1,"name_sid":2,"parent":3}] or [{"id":1,"string":"f"}] */
static hd_status hd__chrome_v2_map(hd__chrome_in *x, hd__token token, hd__dictionary dictionary) {
    bool ok;
    HD__TRY(hd__chrome_expect(x, token, HD__T_ARRAY, "a map of heaps_v2", &ok));
    if (!ok) return HD_OK;
    while ((token = hd__pull_next(&x->pull)) != HD__T_CLOSE && token != HD__T_ERROR) {
        uint32_t id = HD_NONE, name = HD_NONE, parent = HD_NONE;
        uint64_t offset = x->pull.token_offset;
        unsigned seen = 0;
        HD__TRY(hd__chrome_expect(x, token, HD__T_OBJECT, "an item of a heaps_v2 map", &ok));
        if (!ok) continue;
        HD__MEMBERS(x, key, value) {
            uint32_t *to = hd__is(key, "id") ? &id : hd__is(key, "parent") ? &parent
                         : hd__is(key, dictionary == HD__D_V2_STRINGS ? "string" : "name_sid") ? &name : NULL;
            bool twice = false;
            if (!ok || !to) {
                HD__TRY(hd__chrome_skip(x, value));
                continue;
            }
            HD__TRY(hd__chrome_twice(x, value, key, to == &id ? 1 : to == &name ? 2 : 4, &seen, &twice));
            if (twice) ok = false;
            else if (to == &name && dictionary == HD__D_V2_STRINGS)
                HD__TRY(hd__chrome_string(x, value, "a string of a heaps_v2 map", to, &ok));
            else HD__TRY(hd__chrome_id(x, value, "an item of a heaps_v2 map", to, &ok));
        }
        if (value == HD__T_ERROR) return x->pull.status;
        if (!ok) continue;
        if (id != HD_NONE && name != HD_NONE)
            HD__TRY(hd__chrome_item(x, dictionary, offset, id, name, parent));
        else HD__TRY(hd__complain(x, HD_MALFORMED, offset, "an item of a heaps_v2 map has no id or no name"));
    }
    return token == HD__T_ERROR ? x->pull.status : HD_OK;
}

static hd_status hd__chrome_new_heap(hd__chrome_in *x, uint32_t allocator, uint64_t offset, bool v2) {
    hd__chrome_heap heap;
    memset(&heap, 0, sizeof heap);
    heap.allocator = allocator;
    heap.place = hd__place_of(x, offset);
    heap.first = hd__len(x->entries);
    heap.v2 = v2;
    if (hd__len(x->heaps) >= x->max_records)
        return hd__fail(x->err, HD_LIMIT, "more than the allowed %u heaps", x->max_records);
    return hd__push(&x->dump->mem, x->heaps, heap) ? HD_OK : hd__in_no_memory(x);
}

/* Takes the last heap back. Its line was told while it was in sight. */
static hd_status hd__chrome_no_heap(hd__chrome_in *x, const char *why) {
    hd__chrome_heap heap = stbds_arrpop(x->heaps);
    hd__where where = hd__where_now(x, heap.place.offset);
    where.line = heap.place.line;
    return hd__complain_at(x, HD_MALFORMED, where, why, hd__chrome_text(x, heap.allocator));
}

static hd_status hd__chrome_new_entry(hd__chrome_in *x, hd__entry entry) {
    if (hd__len(x->entries) >= x->max_records)
        return hd__fail(x->err, HD_LIMIT, "more than the allowed %u entries", x->max_records);
    return hd__push(&x->dump->mem, x->entries, entry) ? HD_OK : hd__in_no_memory(x);
}

/* Digits up to a quote, at most so many, none of them needless; past these, or NULL. */
static const uint8_t *hd__plain_digits(const uint8_t *at, bool hexadecimal, int most, uint64_t *value) {
    const uint8_t *first = at;
    uint64_t v = 0;
    for (; at - first <= most; at++) {
        uint8_t c = *at;
        if (c >= '0' && c <= '9') v = v * (hexadecimal ? 16 : 10) + (uint64_t)(c - '0');
        else if (hexadecimal && c >= 'a' && c <= 'f') v = v * 16 + (uint64_t)(c - 'a' + 10);
        else break;
    }
    if (*at != '"' || at == first || at - first > most || (*first == '0' && at - first > 1)) return NULL;
    *value = v;
    return at + 1;
}

/* The entry after whose brace `at` is, if it is as programs write it: known keys, none twice, digits in
   quotes, nothing between, all before `end`. Where its other brace is, or NULL. */
static const uint8_t *hd__plain_entry(const uint8_t *at, const uint8_t *end, hd__entry *entry) {
    enum { OF_SIZE, OF_BT, OF_TYPE, OF_COUNT, OF_ERRORS, KEYS, LONGEST = 9 + 18 };
    uint64_t values[KEYS] = { 0, 0, 0, HD_UNKNOWN, 0 };
    unsigned seen = 0;
    for (;; at++) {
        int key;
        if (end - at <= LONGEST) return NULL;
#define HD__KEY(text) (!memcmp(at, text, sizeof text - 1) && (at += sizeof text - 1, true))
        if (HD__KEY("\"size\":\"")) key = OF_SIZE;
        else if (HD__KEY("\"bt\":\"")) key = OF_BT;
        else if (HD__KEY("\"type\":\"")) key = OF_TYPE;
        else if (HD__KEY("\"count\":\"")) key = OF_COUNT;
        else if (HD__KEY("\"error\":\"")) key = OF_ERRORS;
        else return NULL;
#undef HD__KEY
        if (seen & 1u << key) return NULL;
        seen |= 1u << key;
        at = key == OF_BT || key == OF_TYPE ? hd__plain_digits(at, false, 9, &values[key])
                                            : hd__plain_digits(at, true, 16, &values[key]);
        if (!at) return NULL;
        if (*at == '}') break;
        if (*at != ',') return NULL;
    }
    if (!(seen & 1u << OF_SIZE) || !(seen & 1u << OF_BT)) return NULL;
    entry->size = values[OF_SIZE];
    entry->bt = HD__ID_NUMBER + (uint32_t)values[OF_BT];
    entry->type = seen & 1u << OF_TYPE ? HD__ID_NUMBER + (uint32_t)values[OF_TYPE] : HD_NONE;
    entry->count = values[OF_COUNT];
    entry->error = values[OF_ERRORS];
    return at;
}

/* With an entry just opened: takes it and those that follow, as long as they are plain. *open is whether one
   that is not is open now, nothing of it taken. Tokens would need four times as long, and recordings are
   little else than entries. */
static hd_status hd__chrome_plain_entries(hd__chrome_in *x, bool *open) {
    hd__entry entry = { 0, HD_UNKNOWN, 0, HD_NONE, HD_NONE, HD_NONE, false };
    hd__reader *r = &x->pull.r;
    const uint8_t *at;
    *open = true;
    while ((at = hd__plain_entry(r->at, r->end, &entry)) != NULL) {
        HD__TRY(hd__chrome_new_entry(x, entry));
        r->at = at;
        *open = r->end - at > 4 && at[1] == ',' && at[2 + (at[2] == '\n')] == '{';
        if (!*open) break;
        r->at = at + 3 + (at[2] == '\n');
        x->pull.token_offset = hd__reader_offset(r) - 1;
    }
    if (!*open) hd__pull_close_bracket(&x->pull);
    return HD_OK;
}

/* {"size":"1f","bt":"3","type":"1","count":"2"}, one or several. Of the old format when the first has no
   bt. */
static hd_status hd__chrome_entry(hd__chrome_in *x, hd__token token, bool first, bool *old_format) {
    hd__entry entry = { 0, HD_UNKNOWN, 0, HD_NONE, HD_NONE, HD_NONE, false };
    uint64_t offset;
    size_t entries = hd__len(x->entries);
    bool has_size = false, has_bt = false, good = true, ok;
    unsigned seen = 0;
    HD__TRY(hd__chrome_expect(x, token, HD__T_OBJECT, "a heap entry", &ok));
    if (!ok) return HD_OK;
    HD__TRY(hd__chrome_plain_entries(x, &ok));
    if (!ok) return HD_OK;
    first &= hd__len(x->entries) == entries;
    offset = x->pull.token_offset;
    HD__MEMBERS(x, key, value) {
        unsigned bit = hd__is(key, "size") ? 1 : hd__is(key, "bt") ? 2 : hd__is(key, "count") ? 4
                     : hd__is(key, "type") ? 8 : hd__is(key, "error") ? 16 : 0;
        bool twice = false;
        ok = true;
        has_bt |= bit == 2;
        if (!good || !bit) {     /* one complaint is enough */
            HD__TRY(hd__chrome_skip(x, value));
            continue;
        }
        HD__TRY(hd__chrome_twice(x, value, key, bit, &seen, &twice));
        if (twice) {
            ok = false;
        } else if (bit == 1) {
            HD__TRY(hd__chrome_u64(x, value, 16, "size", &entry.size, &ok));
            has_size = true;
        } else if (bit == 2) {
            HD__TRY(hd__chrome_id(x, value, "bt", &entry.bt, &ok));
        } else if (bit == 4) {
            HD__TRY(hd__chrome_u64(x, value, 16, "count", &entry.count, &ok));
        } else if (bit == 8) {
            HD__TRY(hd__chrome_id(x, value, "type", &entry.type, &ok));
        } else {
            HD__TRY(hd__chrome_u64(x, value, 16, "error", &entry.error, &ok));
        }
        good = ok;
    }
    if (value == HD__T_ERROR) return x->pull.status;
    if (first && !has_bt) *old_format = true;
    if (!good) return HD_OK;
    if (!has_size || (entry.bt == HD_NONE && !*old_format))
        return hd__complain(x, HD_MALFORMED, offset, "a heap entry without %s", has_size ? "bt" : "size");
    return hd__chrome_new_entry(x, entry);
}

/* {"entries":[...]} */
static hd_status hd__chrome_v1_heap(hd__chrome_in *x, hd__token token, uint32_t allocator) {
    uint64_t offset = x->pull.token_offset;
    size_t entries = hd__len(x->entries);
    bool ok, old_format = false, first = true, told = false;
    HD__TRY(hd__chrome_expect(x, token, HD__T_OBJECT, "a heap", &ok));
    if (!ok) return HD_OK;
    HD__TRY(hd__chrome_new_heap(x, allocator, offset, false));
    HD__MEMBERS(x, key, value) {
        if (hd__is(key, "sample_bytes")) {
            HD__TRY(hd__chrome_u64(x, value, 16, "sample_bytes", &stbds_arrlast(x->heaps).sample_bytes, &ok));
            continue;
        }
        if (!hd__is(key, "entries")) {
            HD__TRY(hd__chrome_skip(x, value));
            continue;
        }
        HD__TRY(hd__chrome_expect(x, value, HD__T_ARRAY, "entries", &ok));
        told |= !ok;
        if (!ok) continue;
        while ((value = hd__pull_next(&x->pull)) != HD__T_CLOSE && value != HD__T_ERROR) {
            HD__TRY(hd__chrome_entry(x, value, first, &old_format));
            first = false;
        }
        if (value == HD__T_ERROR) return x->pull.status;
    }
    if (value == HD__T_ERROR) return x->pull.status;
    stbds_arrlast(x->heaps).count = hd__len(x->entries) - entries;
    stbds_arrlast(x->heaps).old = old_format;
    if (!first) return HD_OK;
    if (told) {
        hd__set_len(x->heaps, hd__len(x->heaps) - 1);
        return HD_OK;
    }
    return hd__chrome_no_heap(x, "the heap of %S has no entries");
}

/* As for entries: takes the elements of a column that follow, as long as they are plain numbers with nothing
   between, all in sight. *done are known. */
static hd_status hd__chrome_plain_column(hd__chrome_in *x, size_t first, char column, size_t *done) {
    hd__reader *r = &x->pull.r;
    const uint8_t *at = r->at;
    bool id = column == 'n' || column == 't';
    int most = id ? 9 : 18;
    while (r->end - at > 24 && *at == ',') {
        const uint8_t *digit = ++at;
        uint64_t value = 0;
        hd__entry *e;
        for (; *at >= '0' && *at <= '9' && at - digit < most; at++)
            value = value * 10 + (uint64_t)(*at - '0');
        if (at == digit || (*digit == '0' && at - digit > 1) || (*at != ',' && *at != ']')) break;
        if (first + *done >= hd__len(x->entries)) {
            hd__entry none = { 0, HD_UNKNOWN, 0, HD_NONE, HD_NONE, HD_NONE, false };
            HD__TRY(hd__chrome_new_entry(x, none));
        }
        e = &x->entries[first + (*done)++];
        switch (column) {
        case 'n': e->bt = HD__ID_NUMBER + (uint32_t)value; break;
        case 't': e->type = HD__ID_NUMBER + (uint32_t)value; break;
        case 's': e->size = value; break;
        case 'e': e->error = value; break;
        default: e->count = value;
        }
        r->at = at;
    }
    return HD_OK;
}

/* One column of heaps_v2: numbers, put into the entries from `first` on. *whole is false after a
   complaint that costs the heap. */
static hd_status hd__chrome_column_in(hd__chrome_in *x, hd__token token, size_t first, char column,
                                      size_t *length, bool *whole) {
    uint64_t offset = x->pull.token_offset;
    bool ok, twice = *length != SIZE_MAX;
    *length = 0;
    if (twice) {
        *whole = false;
        HD__TRY(hd__chrome_skip(x, token));
        return hd__complain(x, HD_MALFORMED, offset, "a column of heaps_v2 comes twice");
    }
    HD__TRY(hd__chrome_expect(x, token, HD__T_ARRAY, "a column of heaps_v2", &ok));
    *whole &= ok;
    if (!ok) return HD_OK;
    while ((token = hd__pull_next(&x->pull)) != HD__T_CLOSE && token != HD__T_ERROR) {
        hd__entry *e;
        uint32_t id;
        size_t i = first + (*length)++;
        if (i >= hd__len(x->entries)) {
            hd__entry none = { 0, HD_UNKNOWN, 0, HD_NONE, HD_NONE, HD_NONE, false };
            HD__TRY(hd__chrome_new_entry(x, none));
        }
        e = &x->entries[i];
        id = HD_NONE;
        switch (column) {
        case 'n': HD__TRY(hd__chrome_id(x, token, "nodes", &id, &ok)); break;
        case 't': HD__TRY(hd__chrome_id(x, token, "types", &id, &ok)); break;
        case 's': HD__TRY(hd__chrome_u64(x, token, 10, "sizes", &e->size, &ok)); break;
        case 'e': HD__TRY(hd__chrome_u64(x, token, 10, "errors", &e->error, &ok)); break;
        default: HD__TRY(hd__chrome_u64(x, token, 10, "counts", &e->count, &ok));
        }
        x->entries[i].bad |= !ok;
        if (column == 'n') x->entries[i].bt = id;
        if (column == 't') x->entries[i].type = id;
        HD__TRY(hd__chrome_plain_column(x, first, column, length));
    }
    return token == HD__T_ERROR ? x->pull.status : HD_OK;
}

static hd_status hd__chrome_v2_heap(hd__chrome_in *x, hd__token token, uint32_t allocator) {
    uint64_t offset = x->pull.token_offset;
    size_t first = hd__len(x->entries), length[HD__V2_COLUMNS];
    bool ok, whole = true;
    for (int c = 0; c < HD__V2_COLUMNS; c++) length[c] = SIZE_MAX;
    HD__TRY(hd__chrome_expect(x, token, HD__T_OBJECT, "a heap", &ok));
    if (!ok) return HD_OK;
    HD__TRY(hd__chrome_new_heap(x, allocator, offset, true));
    HD__MEMBERS(x, key, value) {
        int c = 0;
        while (c < HD__V2_COLUMNS && !hd__is(key, hd__v2_columns[c])) c++;
        if (hd__is(key, "sample_bytes"))
            HD__TRY(hd__chrome_u64(x, value, 10, "sample_bytes", &stbds_arrlast(x->heaps).sample_bytes, &ok));
        else if (c == HD__V2_COLUMNS || !whole) HD__TRY(hd__chrome_skip(x, value));
        else HD__TRY(hd__chrome_column_in(x, value, first, *hd__v2_columns[c], &length[c], &whole));
    }
    if (value == HD__T_ERROR) return x->pull.status;
    stbds_arrlast(x->heaps).count = hd__len(x->entries) - first;
    ok = length[0] != SIZE_MAX;
    for (int c = 1; c < HD__V2_COLUMNS; c++)
        ok &= length[c] == length[0] || (length[c] == SIZE_MAX && c >= HD__V2_REQUIRED);
    if (whole && ok) return HD_OK;
    hd__set_len(x->entries, first);
    if (!whole) {
        hd__set_len(x->heaps, hd__len(x->heaps) - 1);
        return HD_OK;
    }
    return hd__chrome_no_heap(x, "the columns of %S are missing, or differ in length");
}

/* An object of heaps by allocator. */
static hd_status hd__chrome_heaps(hd__chrome_in *x, hd__token token, bool v2) {
    bool ok;
    HD__TRY(hd__chrome_expect(x, token, HD__T_OBJECT, v2 ? "allocators of heaps_v2" : "heaps", &ok));
    if (!ok) return HD_OK;
    while ((token = hd__pull_next(&x->pull)) == HD__T_KEY) {
        uint32_t allocator;
        hd_str s;
        if (!hd__pull_string(&x->pull, &s)) return x->pull.status;
        allocator = hd__strings_add(&x->dump->mem, &x->dump->arena, &x->dump->strings, s);
        if (allocator == HD_NONE) return hd__in_no_memory(x);
        token = hd__pull_next(&x->pull);
        if (v2) HD__TRY(hd__chrome_v2_heap(x, token, allocator));
        else HD__TRY(hd__chrome_v1_heap(x, token, allocator));
    }
    return token == HD__T_ERROR ? x->pull.status : HD_OK;
}

static hd_status hd__chrome_heaps_v2(hd__chrome_in *x, hd__token token) {
    bool ok;
    HD__TRY(hd__chrome_expect(x, token, HD__T_OBJECT, "heaps_v2", &ok));
    if (!ok) return HD_OK;
    HD__MEMBERS(x, key, value) {
        if (hd__is(key, "allocators")) {
            HD__TRY(hd__chrome_heaps(x, value, true));
        } else if (hd__is(key, "maps")) {
            HD__TRY(hd__chrome_expect(x, value, HD__T_OBJECT, "maps of heaps_v2", &ok));
            if (!ok) continue;
            HD__MEMBERS(x, map, list) {
                if (hd__is(map, "nodes")) HD__TRY(hd__chrome_v2_map(x, list, HD__D_V2_NODES));
                else if (hd__is(map, "types")) HD__TRY(hd__chrome_v2_map(x, list, HD__D_V2_TYPES));
                else if (hd__is(map, "strings")) HD__TRY(hd__chrome_v2_map(x, list, HD__D_V2_STRINGS));
                else HD__TRY(hd__chrome_skip(x, list));
            }
            if (list == HD__T_ERROR) return x->pull.status;
        } else {
            HD__TRY(hd__chrome_skip(x, value));
        }
    }
    return value == HD__T_ERROR ? x->pull.status : HD_OK;
}

typedef enum hd__scalar_type { HD__S_ANY, HD__S_NUMBER, HD__S_TEXT, HD__S_BAD } hd__scalar_type;

/* A value of process_totals, or the "value" of an attribute, whose type need not be known yet: digits are
   hexadecimal, quoted or not; other strings and truth values are texts. *found is what it is, of digits
   where both will do, HD__S_ANY. */
static hd_status hd__chrome_scalar_value(hd__chrome_in *x, hd__token token, hd__scalar_type type,
                                         hd__chrome_scalar *scalar, hd__scalar_type *found) {
    uint64_t offset = x->pull.token_offset;
    bool is_number = false, is_text = token == HD__T_STRING || token == HD__T_TRUE || token == HD__T_FALSE;
    hd__number number;
    bool fraction;
    hd_str s = hd_cstr(token == HD__T_TRUE ? "true" : "false");
    if (token == HD__T_STRING) {
        if (!hd__pull_string(&x->pull, &s)) return x->pull.status;
        is_number = type != HD__S_TEXT && hd__parse_u64(s, 16, &scalar->value);
    } else if (token == HD__T_NUMBER) {
        hd__pull_number(&x->pull, &number);
        s.data = number.text;
        s.len = number.len;
        is_number = hd__parse_u64(s, 16, &scalar->value) || hd__parse_decimal(s, &scalar->value, &fraction);
    } else {
        HD__TRY(hd__chrome_skip(x, token));
    }
    if (type == HD__S_NUMBER) is_text = false;
    if (is_text) {
        scalar->text = hd__strings_add(&x->dump->mem, &x->dump->arena, &x->dump->strings, s);
        if (scalar->text == HD_NONE) return hd__in_no_memory(x);
    }
    *found = is_number ? (is_text ? HD__S_ANY : HD__S_NUMBER) : is_text ? HD__S_TEXT : HD__S_BAD;
    if (*found != HD__S_BAD) return HD_OK;
    return hd__complain(x, HD_MALFORMED, offset,
                        "a hexadecimal number of at most 64 bits, or a text, expected");
}

/* Kept as a text only if it is known to be one, or can be nothing else. */
static hd_status hd__chrome_new_scalar(hd__chrome_in *x, hd__chrome_scalar scalar, hd__scalar_type type,
                                       hd__scalar_type found) {
    if (found == HD__S_BAD) return HD_OK; /* told */
    if (found == HD__S_ANY && type != HD__S_TEXT) scalar.text = HD_NONE;
    if (scalar.text != HD_NONE) scalar.value = 0;
    if (hd__len(x->scalars) >= x->max_records)
        return hd__fail(x->err, HD_LIMIT, "more than the allowed %u scalars", x->max_records);
    return hd__push(&x->dump->mem, x->scalars, scalar) ? HD_OK : hd__in_no_memory(x);
}

/* The key just pulled, as the name of a scalar, the name of its group before it. */
static hd_status hd__chrome_scalar_begin(hd__chrome_in *x, uint32_t allocator, uint32_t group,
                                         hd__chrome_scalar *scalar) {
    hd__mem *m = &x->dump->mem;
    hd_str s, first = hd__chrome_text(x, group);
    memset(scalar, 0, sizeof *scalar);
    scalar->place = hd__place_of(x, x->pull.token_offset);
    scalar->allocator = allocator;
    scalar->units = scalar->text = HD_NONE;
    if (!hd__pull_string(&x->pull, &s)) return x->pull.status;
    if (group != HD_NONE && first.len <= 32) { /* longer ones would multiply the input */
        hd__set_len(x->joined, 0);
        if (!hd__room(m, x->joined, first.len + 1 + s.len)) return hd__in_no_memory(x);
        memcpy(x->joined, first.data, first.len);
        x->joined[first.len] = '/';
        memcpy(x->joined + first.len + 1, s.data, s.len);
        s.data = x->joined;
        s.len += first.len + 1;
    }
    scalar->name = hd__strings_add(m, &x->dump->arena, &x->dump->strings, s);
    return scalar->name == HD_NONE ? hd__in_no_memory(x) : HD_OK;
}

/* {"size":{"type":"scalar","units":"bytes","value":"602"}} */
static hd_status hd__chrome_attributes(hd__chrome_in *x, hd__token token, uint32_t allocator) {
    bool ok;
    HD__TRY(hd__chrome_expect(x, token, HD__T_OBJECT, "attrs", &ok));
    if (!ok) return HD_OK;
    while ((token = hd__pull_next(&x->pull)) == HD__T_KEY) {
        hd__chrome_scalar scalar;
        hd__scalar_type type = HD__S_ANY, found = HD__S_ANY;
        bool has_value = false, good = true;
        HD__TRY(hd__chrome_scalar_begin(x, allocator, HD_NONE, &scalar));
        HD__TRY(hd__chrome_expect(x, hd__pull_next(&x->pull), HD__T_OBJECT, "an attribute", &ok));
        if (!ok) continue;
        HD__MEMBERS(x, key, value) {
            if (good && hd__is(key, "value")) {
                HD__TRY(hd__chrome_scalar_value(x, value, type, &scalar, &found));
                good = found != HD__S_BAD;
                has_value = true;
            } else if (good && hd__is(key, "units") && value != HD__T_NULL) {
                HD__TRY(hd__chrome_string(x, value, "units", &scalar.units, &good));
            } else if (hd__is(key, "type") && value == HD__T_STRING) {
                hd_str text;
                if (!hd__pull_key(&x->pull, &text)) return x->pull.status;
                type = hd__is(text, "string")   ? HD__S_TEXT
                       : hd__is(text, "scalar") ? HD__S_NUMBER
                                                : HD__S_ANY;
            } else {
                HD__TRY(hd__chrome_skip(x, value));
            }
        }
        if (value == HD__T_ERROR) return x->pull.status;
        if (good && has_value) HD__TRY(hd__chrome_new_scalar(x, scalar, type, found));
        else if (good)
            HD__TRY(hd__complain(x, HD_MALFORMED, scalar.place.offset, "an attribute without a value"));
    }
    return token == HD__T_ERROR ? x->pull.status : HD_OK;
}

/* {"malloc":{"guid":"1","attrs":{...}}} */
static hd_status hd__chrome_allocators_in(hd__chrome_in *x, hd__token token) {
    bool ok;
    HD__TRY(hd__chrome_expect(x, token, HD__T_OBJECT, "allocators", &ok));
    if (!ok) return HD_OK;
    while ((token = hd__pull_next(&x->pull)) == HD__T_KEY) {
        uint32_t allocator;
        hd_str s;
        if (!hd__pull_string(&x->pull, &s)) return x->pull.status;
        allocator = hd__strings_add(&x->dump->mem, &x->dump->arena, &x->dump->strings, s);
        if (allocator == HD_NONE) return hd__in_no_memory(x);
        HD__TRY(hd__chrome_expect(x, hd__pull_next(&x->pull), HD__T_OBJECT, "an allocator", &ok));
        if (!ok) continue;
        HD__MEMBERS(x, key, value) {
            if (hd__is(key, "attrs")) HD__TRY(hd__chrome_attributes(x, value, allocator));
            else HD__TRY(hd__chrome_skip(x, value));
        }
        if (value == HD__T_ERROR) return x->pull.status;
    }
    return token == HD__T_ERROR ? x->pull.status : HD_OK;
}

/* {"resident_set_bytes":"1000"}, or such objects by name, "os_dump/resident_set_bytes" then. */
static hd_status hd__chrome_totals_in(hd__chrome_in *x, hd__token token) {
    uint32_t depth = x->pull.depth, group = HD_NONE;
    bool ok;
    HD__TRY(hd__chrome_expect(x, token, HD__T_OBJECT, "process_totals", &ok));
    if (!ok) return HD_OK;
    while ((token = hd__pull_next(&x->pull)) == HD__T_KEY ||
           (token == HD__T_CLOSE && x->pull.depth == depth)) {
        hd__chrome_scalar scalar;
        hd__scalar_type found;
        if (token == HD__T_CLOSE) {
            group = HD_NONE;
            continue;
        }
        HD__TRY(hd__chrome_scalar_begin(x, HD_NONE, group, &scalar));
        token = hd__pull_next(&x->pull);
        if (token == HD__T_OBJECT && group == HD_NONE) {
            group = scalar.name;
            continue;
        }
        HD__TRY(hd__chrome_scalar_value(x, token, HD__S_ANY, &scalar, &found));
        HD__TRY(hd__chrome_new_scalar(x, scalar, HD__S_ANY, found));
    }
    return token == HD__T_ERROR ? x->pull.status : HD_OK;
}

static hd_status hd__chrome_detail(hd__chrome_in *x, hd__token token, uint32_t *detail) {
    bool ok;
    hd_str s;
    HD__TRY(hd__chrome_expect(x, token, HD__T_STRING, "level_of_detail", &ok));
    if (!ok) return HD_OK;
    if (!hd__pull_key(&x->pull, &s)) return x->pull.status;
    for (uint32_t i = 0; i < sizeof hd__detail_names / sizeof *hd__detail_names; i++)
        if (hd_str_equal(s, hd_cstr(hd__detail_names[i]))) *detail = i + 1;
    return HD_OK;
}

static hd_status hd__chrome_args(hd__chrome_in *x, hd__event *event) {
    bool ok;
    HD__MEMBERS(x, key, token) {
        if (hd__is(key, "stackFrames")) {
            HD__TRY(hd__chrome_dictionary(x, token, HD__D_FRAMES));
        } else if (hd__is(key, "typeNames")) {
            HD__TRY(hd__chrome_dictionary(x, token, HD__D_TYPES));
        } else if (hd__is(key, "name") && token == HD__T_STRING) {
            HD__TRY(hd__chrome_string(x, token, "name", &event->process_name, &ok));
        } else if (hd__is(key, "dumps")) {
            HD__TRY(hd__chrome_expect(x, token, HD__T_OBJECT, "dumps", &ok));
            if (!ok) continue;
            HD__MEMBERS(x, part, value) {
                if (hd__is(part, "heaps")) HD__TRY(hd__chrome_heaps(x, value, false));
                else if (hd__is(part, "heaps_v2")) HD__TRY(hd__chrome_heaps_v2(x, value));
                else if (hd__is(part, "allocators")) HD__TRY(hd__chrome_allocators_in(x, value));
                else if (hd__is(part, "process_totals")) HD__TRY(hd__chrome_totals_in(x, value));
                else if (hd__is(part, "level_of_detail"))
                    HD__TRY(hd__chrome_detail(x, value, &event->detail));
                else HD__TRY(hd__chrome_skip(x, value));
            }
            if (value == HD__T_ERROR) return x->pull.status;
        } else {
            HD__TRY(hd__chrome_skip(x, token));
        }
    }
    return token == HD__T_ERROR ? x->pull.status : HD_OK;
}

static uint64_t hd__process_hash(const hd__chrome_in *x, uint64_t pid) { return hd__hash_u64(x->seed, pid); }

static uint64_t hd__process_rehash(const void *owner, uint32_t i) {
    const hd__chrome_in *x = (const hd__chrome_in *)owner;
    return hd__process_hash(x, x->processes[i].pid);
}

static hd_status hd__chrome_process_number(hd__chrome_in *x, uint64_t pid, uint32_t *number) {
    uint64_t hash = hd__process_hash(x, pid);
    size_t probe = 0;
    hd__chrome_process_info process;
    while ((*number = hd__index_next(&x->process_index, hash, &probe)) != HD_NONE)
        if (x->processes[*number].pid == pid) return HD_OK;
    process.pid = pid;
    process.name = HD_NONE;
    *number = (uint32_t)hd__len(x->processes);
    if (!hd__push(&x->dump->mem, x->processes, process) ||
        !hd__index_add(&x->dump->mem, &x->process_index, hash, *number, hd__process_rehash, x))
        return hd__in_no_memory(x);
    return HD_OK;
}

static uint64_t hd__dump_hash(const hd__chrome_in *x, uint32_t process, uint32_t id) {
    return hd__hash_u64(x->seed, (uint64_t)process << 32 | id);
}

static uint64_t hd__dump_rehash(const void *owner, uint32_t i) {
    const hd__chrome_in *x = (const hd__chrome_in *)owner;
    return hd__dump_hash(x, x->dumps[i].process, x->dumps[i].id);
}

/* The dump of that id in a process; its time and level of detail are what its first event has. */
static hd_status hd__chrome_dump_number(hd__chrome_in *x, uint32_t process, const hd__event *event,
                                        uint32_t *number) {
    uint64_t hash = hd__dump_hash(x, process, event->id);
    size_t probe = 0;
    hd__chrome_dump_info dump;
    while ((*number = hd__index_next(&x->dump_index, hash, &probe)) != HD_NONE)
        if (x->dumps[*number].process == process && x->dumps[*number].id == event->id) {
            if (!x->dumps[*number].detail) x->dumps[*number].detail = event->detail;
            return HD_OK;
        }
    dump.process = process;
    dump.id = event->id;
    dump.detail = event->detail;
    dump.time_us = event->time_us;
    *number = (uint32_t)hd__len(x->dumps);
    if (!hd__push(&x->dump->mem, x->dumps, dump) ||
        !hd__index_add(&x->dump->mem, &x->dump_index, hash, *number, hd__dump_rehash, x))
        return hd__in_no_memory(x);
    return HD_OK;
}

/* The event is whole: what it brought belongs to its process, or is taken back. */
static hd_status hd__chrome_event_end(hd__chrome_in *x, hd__event *e, bool is_process_name) {
    uint32_t process, dump;
    bool metadata = e->phase == 'M', memory = e->phase == 'v';
    bool new_name = metadata && is_process_name && e->process_name != HD_NONE;
    if (!memory) {
        hd__set_len(x->heaps, e->heaps);
        hd__set_len(x->entries, e->entries);
        hd__set_len(x->scalars, e->scalars);
    }
    if (!metadata && !memory) hd__set_len(x->items, e->items);
    if (hd__len(x->items) == e->items && hd__len(x->heaps) == e->heaps &&
        hd__len(x->scalars) == e->scalars && !new_name)
        return HD_OK;
    HD__TRY(hd__chrome_process_number(x, e->pid, &process));
    if (new_name) x->processes[process].name = e->process_name;
    for (size_t i = e->items; i < hd__len(x->items); i++) x->items[i].process = process;
    if (hd__len(x->heaps) == e->heaps && hd__len(x->scalars) == e->scalars) return HD_OK;
    HD__TRY(hd__chrome_dump_number(x, process, e, &dump));
    for (size_t i = e->scalars; i < hd__len(x->scalars); i++) {
        x->scalars[i].process = process;
        x->scalars[i].dump = dump;
    }
    for (size_t i = e->heaps; i < hd__len(x->heaps); i++) {
        x->heaps[i].process = process;
        x->heaps[i].dump = dump;
    }
    return HD_OK;
}

static hd_status hd__chrome_id2(hd__chrome_in *x, uint32_t *id) {
    bool ok;
    HD__MEMBERS(x, key, token) HD__TRY(hd__chrome_string(x, token, "id2", id, &ok));
    return token == HD__T_ERROR ? x->pull.status : HD_OK;
}

static hd_status hd__chrome_read_event(hd__chrome_in *x) {
    hd__event *e = &x->event;
    bool is_process_name = false, bad = false, twice = false, no_args = false, ok;
    uint64_t offset = x->pull.token_offset;
    unsigned seen = 0;
    memset(e, 0, sizeof *e);
    e->id = e->process_name = HD_NONE;
    e->items = hd__len(x->items);
    e->heaps = hd__len(x->heaps);
    e->entries = hd__len(x->entries);
    e->scalars = hd__len(x->scalars);
    x->in_event = true;
    x->events++;
    HD__MEMBERS(x, key, token) {
        unsigned bit = hd__is(key, "ph") ? 1 : hd__is(key, "pid") ? 2 : hd__is(key, "args") ? 4
                     : hd__is(key, "id") ? 8 : hd__is(key, "ts") ? 16 : 0;
        hd_str s;
        twice |= (seen & bit) != 0;
        seen |= bit;
        no_args |= bit == 4 && token != HD__T_OBJECT;
        if (hd__is(key, "ph") && token == HD__T_STRING) {
            if (!hd__pull_key(&x->pull, &s)) return x->pull.status;
            e->phase = s.len == 1 ? s.data[0] : '?';
        } else if (hd__is(key, "name") && token == HD__T_STRING) {
            if (!hd__pull_key(&x->pull, &s)) return x->pull.status;
            is_process_name = hd__is(s, "process_name");
        } else if (hd__is(key, "pid")) {
            HD__TRY(hd__chrome_u64(x, token, 10, "pid", &e->pid, &ok));
            bad |= !ok;
            e->has_pid = ok;
        } else if (hd__is(key, "ts")) {
            HD__TRY(hd__chrome_u64(x, token, HD__TIME, "ts", &e->time_us, &ok));
        } else if (hd__is(key, "id") && (!e->phase || e->phase == 'v')) {
            HD__TRY(hd__chrome_string(x, token, "id", &e->id, &ok));
            bad |= !ok;
        } else if (hd__is(key, "id2") && token == HD__T_OBJECT && (!e->phase || e->phase == 'v')) {
            HD__TRY(hd__chrome_id2(x, &e->id));
        } else if (hd__is(key, "args") && token == HD__T_OBJECT &&
                   (!e->phase || e->phase == 'v' || e->phase == 'M')) {
            HD__TRY(hd__chrome_args(x, e));
        } else {
            HD__TRY(hd__chrome_skip(x, token));
        }
    }
    if (token == HD__T_ERROR) return x->pull.status;
    if (e->phase == 'v' && no_args && !twice)
        HD__TRY(hd__complain(x, HD_MALFORMED, offset, "args: an object expected"));
    if ((e->phase == 'v' || e->phase == 'M') && twice && !bad) {
        HD__TRY(hd__complain(x, HD_MALFORMED, offset, "a key of the event comes twice"));
        bad = true;
    }
    x->in_event = false;
    if (bad) e->phase = '?';     /* whose it is cannot be told */
    return hd__chrome_event_end(x, e, is_process_name);
}

/* Progress is told every so many events. */
#define HD__PROGRESS 1024u

static hd_status hd__chrome_progress(hd__chrome_in *x) {
    const hd_options *o = x->options;
    const hd__reader *r = &x->pull.r;
    if (!o || !o->progress || x->events % HD__PROGRESS) return HD_OK;
    if (o->progress(o->user, hd__reader_offset(r), r->in.read ? HD_UNKNOWN : r->in.size)) return HD_OK;
    return hd__fail(x->err, HD_CANCELLED, "cancelled");
}

/* The elements of the array of events; a bare array may end anywhere between two. */
static hd_status hd__chrome_events(hd__chrome_in *x) {
    hd__token token;
    while ((token = hd__pull_next(&x->pull)) != HD__T_CLOSE) {
        uint64_t offset = x->pull.token_offset;
        HD__TRY(hd__chrome_progress(x));
        if (token == HD__T_ERROR) return x->pull.status;
        if (token == HD__T_CUT) return HD_OK;
        if (token == HD__T_OBJECT) {
            if (hd__pull_pass(&x->pull, HD__PROGRESS - x->events % HD__PROGRESS, &x->events))
                HD__TRY(hd__chrome_read_event(x));
        } else {
            HD__TRY(hd__chrome_skip(x, token));
            HD__TRY(hd__complain(x, HD_MALFORMED, offset, "event %u is no object", x->events));
            x->events++;
        }
    }
    return HD_OK;
}

static hd_status hd__chrome_root(hd__chrome_in *x) {
    hd__token token = hd__pull_next(&x->pull);
    bool ok;
    if (token == HD__T_ARRAY) {
        HD__TRY(hd__chrome_events(x));
    } else {
        HD__TRY(hd__chrome_expect(x, token, HD__T_OBJECT, "a trace", &ok));
        if (!ok) return x->pull.status;
        {
            HD__MEMBERS(x, key, value) {
                if (hd__is(key, "traceEvents")) {
                    HD__TRY(hd__chrome_expect(x, value, HD__T_ARRAY, "traceEvents", &ok));
                    if (ok) HD__TRY(hd__chrome_events(x));
                } else if (hd__is(key, "stackFrames")) HD__TRY(hd__chrome_dictionary(x, value, HD__D_FRAMES));
                else HD__TRY(hd__chrome_skip(x, value));
            }
            if (value == HD__T_ERROR) return x->pull.status;
        }
    }
    token = hd__pull_next(&x->pull);
    return token == HD__T_ERROR ? x->pull.status : HD_OK;
}

/* Building: dictionaries to trees, entries to rows. ------------------------------------------- */

static uint64_t hd__item_hash(const hd__chrome_in *x, uint32_t process, uint32_t dictionary, uint32_t id) {
    return hd__hash_u64(x->seed + dictionary, (uint64_t)process << 32 | id);
}

static uint64_t hd__item_rehash(const void *owner, uint32_t i) {
    const hd__chrome_in *x = (const hd__chrome_in *)owner;
    const hd__item *item = &x->items[i];
    return hd__item_hash(x, item->process, item->dictionary, item->id);
}

static uint32_t hd__chrome_look(const hd__chrome_in *x, uint32_t process, uint32_t dictionary, uint32_t id) {
    uint64_t hash = hd__item_hash(x, process, dictionary, id);
    size_t probe = 0;
    uint32_t i;
    while ((i = hd__index_next(&x->item_index, hash, &probe)) != HD_NONE) {
        const hd__item *item = &x->items[i];
        if (item->process == process && item->dictionary == dictionary && item->id == id) break;
    }
    return i;
}

/* The item of an id. Ids and places in the input often go together: first it is looked for as far from the
   last one found as the ids are apart. */
static uint32_t hd__chrome_find(hd__chrome_in *x, uint32_t process, hd__dictionary dictionary, uint32_t id) {
    hd__item_found *last = &x->found[dictionary];
    uint32_t i = last->item + (id - last->id);
    if (i < hd__len(x->items) && x->items[i].id == id && x->items[i].process == process &&
        x->items[i].dictionary == (uint32_t)dictionary && id != HD_NONE)
        return i;
    i = hd__chrome_look(x, process, (uint32_t)dictionary, id);
    if (i != HD_NONE) {
        last->item = i;
        last->id = id;
    }
    return i;
}

/* Finds items by id from here on. Of two definitions that differ the first counts. */
static hd_status hd__chrome_index(hd__chrome_in *x) {
    for (uint32_t i = 0; i < hd__len(x->items); i++) {
        hd__item *item = &x->items[i];
        uint32_t first = hd__chrome_look(x, item->process, item->dictionary, item->id);
        hd__digits_text a, b, c;
        if (first == HD_NONE) {
            if (!hd__index_add(&x->dump->mem, &x->item_index,
                               hd__item_hash(x, item->process, item->dictionary, item->id), i,
                               hd__item_rehash, x))
                return hd__in_no_memory(x);
            continue;
        }
        if (x->items[first].name != item->name || x->items[first].parent != item->parent)
            HD__TRY(hd__complain_at(x, HD_MALFORMED, hd__where_was(x, &item->place, item->process, HD_NONE),
                                    "id '%S' is defined twice, as '%S' and as '%S'",
                                    hd__id_text(x, item->id, a), hd__id_text(x, x->items[first].name, b),
                                    hd__id_text(x, item->name, c)));
        item->id = HD_NONE;
    }
    return HD_OK;
}

/* The item of an id: frames may also come from the trace as a whole. */
static uint32_t hd__chrome_item_of(hd__chrome_in *x, uint32_t process, hd__dictionary dictionary,
                                   uint32_t id) {
    uint32_t i = hd__chrome_find(x, process, dictionary, id);
    if (i == HD_NONE && dictionary == HD__D_FRAMES) i = hd__chrome_find(x, HD_NONE, dictionary, id);
    return i;
}

/* The node of an id, HD__NODE_BAD when its definition, or that of a frame above it, is missing or
   circular. */
static hd_status hd__chrome_node(hd__chrome_in *x, uint32_t process, hd__dictionary dictionary, uint32_t id,
                                 uint32_t *node) {
    /* what an item refers to is looked for where the item stands, so that it is one node to all */
    hd__tree *tree = &x->tree[dictionary == HD__D_TYPES || dictionary == HD__D_V2_TYPES];
    uint32_t at = 0;
    hd__set_len(x->chain, 0);
    while (id != HD_NONE) {
        uint32_t i = hd__chrome_item_of(x, process, dictionary, id);
        if (i == HD_NONE) at = HD__NODE_BAD;
        else if (x->items[i].node == HD__NODE_OPEN) at = HD__NODE_BAD;
        else if (x->items[i].node != HD__NODE_UNKNOWN) at = x->items[i].node;
        else {
            if (!hd__push(&x->dump->mem, x->chain, i)) return hd__in_no_memory(x);
            x->items[i].node = HD__NODE_OPEN;
            id = x->items[i].parent;
            process = x->items[i].process;
            continue;
        }
        break;
    }
    while (hd__len(x->chain)) {
        hd__item *item = &x->items[stbds_arrpop(x->chain)];
        uint32_t name = item->name;
        if (at != HD__NODE_BAD && (dictionary == HD__D_V2_NODES || dictionary == HD__D_V2_TYPES)) {
            uint32_t string = hd__chrome_find(x, item->process, HD__D_V2_STRINGS, name);
            if (string == HD_NONE) at = HD__NODE_BAD;
            else name = x->items[string].name;
        }
        if (at != HD__NODE_BAD)
            HD__TRY(hd__tree_child(&x->dump->mem, NULL, tree, HD_NONE - 3, at, hd__chrome_text(x, name),
                                   false, &at, x->err));
        item->node = at;
    }
    *node = at;
    return HD_OK;
}

/* The nodes of an entry. False when it has to be left out. */
static hd_status hd__chrome_entry_nodes(hd__chrome_in *x, const hd__chrome_heap *heap, size_t i,
                                        uint32_t nodes[2], bool *ok) {
    const hd__entry *e = &x->entries[heap->first + i];
    bool no_bt = (heap->v2 && e->bt == HD__ID_NUMBER) ||
                 ((e->bt == HD_NONE || e->bt < HD__ID_NUMBER) && hd__chrome_text(x, e->bt).len == 0),
         no_type = e->type == HD_NONE || (heap->v2 && e->type == HD__ID_NUMBER);
    hd__digits_text digits;
    nodes[0] = nodes[1] = 0;
    *ok = true;
    /* heaps_v2: id 0, when nothing is defined by it, is the empty backtrace and no type. */
    if (!no_bt ||
        hd__chrome_item_of(x, heap->process, heap->v2 ? HD__D_V2_NODES : HD__D_FRAMES, e->bt) != HD_NONE)
        HD__TRY(
            hd__chrome_node(x, heap->process, heap->v2 ? HD__D_V2_NODES : HD__D_FRAMES, e->bt, &nodes[0]));
    if (!no_type ||
        (e->type != HD_NONE && hd__chrome_item_of(x, heap->process, HD__D_V2_TYPES, e->type) != HD_NONE))
        HD__TRY(
            hd__chrome_node(x, heap->process, heap->v2 ? HD__D_V2_TYPES : HD__D_TYPES, e->type, &nodes[1]));
    if (nodes[0] == HD__NODE_BAD || nodes[1] == HD__NODE_BAD) {
        *ok = false;
        return hd__complain_of(x, HD_MALFORMED, heap,
                               "entry %u of the heap of %S: %s '%S' is unknown or circular", (uint64_t)i,
                               hd__chrome_text(x, heap->allocator),
                               nodes[0] == HD__NODE_BAD ? "stack frame" : "type",
                               hd__id_text(x, nodes[0] == HD__NODE_BAD ? e->bt : e->type, digits));
    }
    return HD_OK;
}

/* Whether ids rise from entry to entry, as most writers have it: then none stands twice. */
static bool hd__chrome_rising(const hd__chrome_in *x, const hd__chrome_heap *heap) {
    uint64_t last = 0;
    for (size_t i = 0; i < heap->count; i++) {
        const hd__entry *e = &x->entries[heap->first + i];
        uint64_t ids = (uint64_t)(e->bt + 1) << 32 | (e->type + 1); /* HD_NONE is 0 */
        if (i && ids <= last) return false;
        last = ids;
    }
    return true;
}

/* Ids to nodes, in place; the bt of an entry to be left out becomes HD__NODE_BAD. */
static hd_status hd__chrome_resolve(hd__chrome_in *x, const hd__chrome_heap *heap) {
    hd__mem *m = &x->dump->mem;
    bool may_repeat = !heap->v2 && !hd__chrome_rising(x, heap);
    hd__table_free(m, &x->seen);
    for (size_t i = 0; i < heap->count; i++) {
        hd__entry *e = &x->entries[heap->first + i];
        uint32_t nodes[2], ids[2];
        bool ok;
        ids[0] = e->bt;
        ids[1] = e->type;
        if (e->bad) {
            e->bt = HD__NODE_BAD;
            continue;
        }
        HD__TRY(hd__chrome_entry_nodes(x, heap, i, nodes, &ok));
        if (ok && may_repeat) {
            ok = hd__table_find(&x->seen, ids) == HD_NONE;
            if (ok) HD__TRY(hd__table_add(m, &x->seen, HD_NONE - 1, ids, 0, 0, x->err));
            else
                HD__TRY(hd__complain_of(x, HD_MALFORMED, heap,
                                        "entry %u of the heap of %S stands twice", (uint64_t)i,
                                        hd__chrome_text(x, heap->allocator)));
        }
        if (ok && heap->old && ids[0] != HD_NONE)
            HD__TRY(hd__tree_child(m, NULL, &x->tree[0], HD_NONE - 3, nodes[0], hd_cstr("<self>"), false,
                                   &e->self, x->err));
        e->bt = ok ? nodes[0] : HD__NODE_BAD;
        e->type = nodes[1];
    }
    return HD_OK;
}

/* The entries of a heap that are not left out, by the final numbers of their nodes; what its cells add up
   to. */
static hd_status hd__chrome_keys(hd__chrome_in *x, const hd__chrome_heap *heap, uint32_t *const map[2],
                                 uint64_t *bytes, uint64_t *blocks, hd__keyed *keys, size_t *count) {
    *bytes = *blocks = 0;
    *count = 0;
    for (size_t i = 0; i < heap->count; i++) {
        const hd__entry *e = &x->entries[heap->first + i];
        hd__keyed *key = &keys[*count];
        if (e->bt == HD__NODE_BAD) continue;
        if (heap->v2 && !hd__sum(bytes, e->size)) {
            HD__TRY(hd__complain_of(x, HD_OVERFLOW, heap, "the sizes in the heap of %S pass 2^64",
                                    hd__chrome_text(x, heap->allocator)));
            continue;
        }
        if (e->count != HD_UNKNOWN) hd__sum(blocks, e->count);
        key->key = (uint64_t)map[0][e->bt] << 32 | map[1][e->type];
        key->number = (uint32_t)i;
        ++*count;
    }
    return HD_OK;
}

/* The entries of a heap as rows of x->rows, in the order of their nodes. Entries that lead to one node by
   different ids add up. */
static hd_status hd__chrome_rows(hd__chrome_in *x, const hd__chrome_heap *heap, uint32_t *const map[2],
                                 uint64_t *bytes, uint64_t *blocks) {
    hd__mem *m = &x->dump->mem;
    size_t n = 0, row = 0;
    hd__keyed *keys = (hd__keyed *)hd__calloc(m, heap->count, 2 * sizeof *keys);
    hd_status status = keys ? HD_OK : hd__in_no_memory(x);
    hd__table_free(m, &x->rows);
    if (!status) status = hd__chrome_keys(x, heap, map, bytes, blocks, keys, &n);
    if (!status && n && !hd__table_room(m, &x->rows, n)) status = hd__in_no_memory(x);
    if (!status) hd__sort_keys(keys, keys + heap->count, n);
    for (size_t i = 0; i < n && !status; i++) {
        const hd__entry *e = &x->entries[heap->first + keys[i].number];
        if (i && keys[i].key == keys[i - 1].key) {
            hd__sum(&x->rows.bytes[row], e->size);
            hd__sum_known(&x->rows.blocks[row], e->count);
        } else {
            uint32_t nodes[2];
            nodes[0] = (uint32_t)(keys[i].key >> 32);
            nodes[1] = (uint32_t)keys[i].key;
            row = hd__len(x->rows.bytes);
            hd__table_append(&x->rows, nodes, e->size, e->count);
        }
        x->rows.variance[row] += (double)e->error * (double)e->error;
    }
    if (keys) hd__cfree(m, keys, heap->count, 2 * sizeof *keys);
    return status;
}

/* The old format. Its entries are the self sizes of backtraces, of one type or of all, and cumulative
   sizes at the root. They become the new format's entries: what is given is kept, and what is missing is
   added up at each node where entries meet or have bytes of their own. (At each node on the way it would
   be out of proportion to the input.) */

static bool hd__cell_by_node(const void *owner, uint32_t a, uint32_t b) {
    const hd__cell *x = (const hd__cell *)owner + a, *y = (const hd__cell *)owner + b;
    return x->node != y->node ? x->node < y->node : x->type < y->type;
}

static bool hd__cell_by_type(const void *owner, uint32_t a, uint32_t b) {
    const hd__cell *x = (const hd__cell *)owner + a, *y = (const hd__cell *)owner + b;
    return x->type != y->type ? x->type < y->type : x->node < y->node;
}

/* Appends what the n cells in the order of their nodes come to: one cell per place, and one of all types
   per node. There is room for 2n. */
static bool hd__old_places(hd__chrome_in *x, const uint32_t *order, size_t n) {
    hd__cell all = { 0, HD_NONE, HD_NONE, 0, 0 };
    bool whole = true, given = true;
    for (size_t i = 0; i <= n; i++) {
        hd__cell next = i < n ? x->cells[order[i]] : all, *last = &stbds_arrlast(x->cells);
        bool same = i > 0 && i < n && next.node == all.node;
        if (same && last->type == next.type) {
            whole &= hd__sum(&last->bytes, next.bytes);
            hd__sum_known(&last->blocks, next.blocks);
        } else if (i < n) {
            if (!same && !given) stbds_arrput(x->cells, all);
            stbds_arrput(x->cells, next);
        } else if (!given) {
            stbds_arrput(x->cells, all);
        }
        if (!same) {
            all = next;
            all.type = 0;
            given = next.type == 0;
        } else if (!given) {
            whole &= hd__sum(&all.bytes, next.bytes);
            hd__sum_known(&all.blocks, next.blocks);
        }
    }
    return whole;
}

/* For each node an ancestor far above it, so that any is reached in a logarithmic number of steps. */
static void hd__old_jumps(const hd_axis *axis, uint32_t *jump, uint32_t *depth) {
    jump[0] = depth[0] = 0;
    for (uint32_t i = 1; i < axis->node_count; i++) {
        uint32_t up = axis->parent[i], leap = jump[up];
        depth[i] = depth[up] + 1;
        jump[i] = depth[up] - depth[leap] == depth[leap] - depth[jump[leap]] ? jump[leap] : up;
    }
}

/* The node next above `node` that `later`, which follows it in preorder, is below too. */
static uint32_t hd__old_meeting(const hd_axis *axis, const uint32_t *jump, uint32_t node, uint32_t later) {
    while (axis->end[node] <= later)
        node = axis->end[jump[node]] <= later ? jump[node] : axis->parent[node];
    return node;
}

static hd_status hd__old_row(hd__chrome_in *x, uint32_t node, uint32_t type, uint64_t bytes,
                             uint64_t blocks) {
    uint32_t nodes[2];
    nodes[0] = node;
    nodes[1] = type;
    if (hd__table_find(&x->rows, nodes) != HD_NONE) return HD_OK; /* given */
    return hd__table_add(&x->dump->mem, &x->rows, HD_NONE - 1, nodes, bytes, blocks, x->err);
}

/* A level is done: its sizes become rows. Whether a node has callees is what it has of all types. */
static hd_status hd__old_close(hd__chrome_in *x, const hd__level *level, uint32_t type) {
    const hd__cell *own = &level->own;
    uint32_t self[2] = { own->self, 0 };
    bool apart = level->has_own && (own->node == 0 || (type ? hd__table_find(&x->rows, self) != HD_NONE
                                                            : level->has_callees));
    if (apart) HD__TRY(hd__old_row(x, own->self, type, own->bytes, own->blocks));
    return hd__old_row(x, own->node, type, level->bytes, level->blocks);
}

/* Closes the innermost level into the one around it. */
static hd_status hd__old_leave(hd__chrome_in *x, uint32_t type, bool *whole) {
    hd__level done = stbds_arrpop(x->levels), *above = &stbds_arrlast(x->levels);
    *whole &= hd__sum(&above->bytes, done.bytes);
    hd__sum_known(&above->blocks, done.blocks);
    above->has_callees = true;
    return hd__old_close(x, &done, type);
}

static hd_status hd__old_enter(hd__chrome_in *x, uint32_t node) {
    hd__level level;
    memset(&level, 0, sizeof level);
    level.own.node = node;
    return hd__push(&x->dump->mem, x->levels, level) ? HD_OK : hd__in_no_memory(x);
}

/* Rows for the n cells of one type, in the order of their nodes. */
static hd_status hd__old_type(hd__chrome_in *x, const hd_axis *axis, const uint32_t *jump,
                              const uint32_t *order, size_t n, bool *whole) {
    uint32_t type = x->cells[order[0]].type;
    hd__set_len(x->levels, 0);
    HD__TRY(hd__old_enter(x, 0));
    for (size_t i = 0; i < n; i++) {
        const hd__cell *cell = &x->cells[order[i]];
        hd__level *top = &stbds_arrlast(x->levels);
        while (axis->end[top->own.node] <= cell->node) {
            uint32_t meeting = hd__old_meeting(axis, jump, top->own.node, cell->node);
            if (top[-1].own.node < meeting) { /* between the two: a level of its own */
                hd__level child = *top;
                memset(top, 0, sizeof *top);
                top->own.node = meeting;
                if (!hd__push(&x->dump->mem, x->levels, child)) return hd__in_no_memory(x);
            }
            HD__TRY(hd__old_leave(x, type, whole));
            top = &stbds_arrlast(x->levels);
        }
        if (top->own.node != cell->node) {
            HD__TRY(hd__old_enter(x, cell->node));
            top = &stbds_arrlast(x->levels);
        }
        top->own = *cell;
        top->has_own = true;
        *whole &= hd__sum(&top->bytes, cell->bytes);
        hd__sum_known(&top->blocks, cell->blocks);
    }
    while (hd__len(x->levels) > 1) HD__TRY(hd__old_leave(x, type, whole));
    return hd__old_close(x, &x->levels[0], type);
}

/* The cells of a heap, at most n, `order` with room for 4n. */
static hd_status hd__old_cells(hd__chrome_in *x, const hd_axis *axis, const uint32_t *jump, uint32_t *order,
                               bool *whole) {
    size_t n = hd__len(x->cells), first = n;
    for (size_t i = 0; i < n; i++) order[i] = (uint32_t)i;
    hd__sort(order, order + n, n, hd__cell_by_node, x->cells);
    *whole &= hd__old_places(x, order, n);
    n = hd__len(x->cells) - first;
    for (size_t i = 0; i < n; i++) order[i] = (uint32_t)(first + i);
    hd__sort(order, order + n, n, hd__cell_by_type, x->cells);
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && x->cells[order[k]].type == x->cells[order[i]].type; k++) {}
        HD__TRY(hd__old_type(x, axis, jump, order + i, k - i, whole));
    }
    return HD_OK;
}

/* The rows of a heap of the old format. */
static hd_status hd__old_rows(hd__chrome_in *x, const hd__chrome_heap *heap, uint32_t *const map[2],
                              const hd_axis *axis, const uint32_t *jump) {
    hd__mem *m = &x->dump->mem;
    bool whole = true;
    hd__table_free(m, &x->rows);
    hd__set_len(x->cells, 0);
    for (size_t i = 0; i < heap->count; i++) {
        const hd__entry *e = &x->entries[heap->first + i];
        hd__cell cell;
        if (e->bt == HD__NODE_BAD) continue;
        cell.type = map[1][e->type];
        cell.node = map[0][e->bt];
        cell.self = e->self == HD_NONE ? HD_NONE : map[0][e->self];
        cell.bytes = e->size;
        cell.blocks = e->count;
        if (cell.self == HD_NONE) HD__TRY(hd__old_row(x, 0, cell.type, cell.bytes, cell.blocks));
        else if (!hd__push(m, x->cells, cell)) return hd__in_no_memory(x);
    }
    if (hd__len(x->cells)) {
        size_t n = hd__len(x->cells);
        uint32_t *order = (uint32_t *)hd__calloc(m, n, 4 * sizeof *order);
        hd_status status = HD_OK;
        if (!order || !hd__room(m, x->cells, 2 * n)) status = hd__in_no_memory(x);
        else status = hd__old_cells(x, axis, jump, order, &whole);
        if (order) hd__cfree(m, order, n, 4 * sizeof *order);
        HD__TRY(status);
    }
    if (whole) return HD_OK;
    return hd__complain_of(x, HD_OVERFLOW, heap, "the sizes in the heap of %S pass 2^64",
                               hd__chrome_text(x, heap->allocator));
}

static hd_status hd__chrome_profile(hd__chrome_in *x, const hd_axis axes[2], uint64_t bytes, uint64_t blocks,
                                    hd_heap *heap) {
    hd__mem mem = hd__mem_rest(&x->dump->mem);
    hd_profile *p = hd__profile_make(&mem, 2, HD_NONE - 1);
    if (!p) return hd__no_memory(&mem, x->err);
    heap->profile = p;
    p->is_fixed = true;
    p->fixed[0] = axes[0];
    p->fixed[1] = axes[1];
    p->total_bytes = bytes;
    p->total_blocks = blocks;
    if (hd__len(x->rows.bytes) && !hd__table_room(&p->mem, &p->cells, hd__len(x->rows.bytes)))
        return hd__no_memory(&p->mem, x->err);
    for (size_t i = 0; i < hd__len(x->rows.bytes); i++) {
        hd__table_append(&p->cells, x->rows.node + 2 * i, x->rows.bytes[i], x->rows.blocks[i]);
        p->cells.variance[i] = x->rows.variance[i];
    }
    x->dump->mem.used += p->mem.used; /* what is left for the rest of the dump */
    return HD_OK;
}

static hd_status hd__chrome_breakdown(hd__chrome_in *x, const hd_axis axes[2], const hd__chrome_heap *from,
                                      hd_heap *heap) {
    hd_dump *d = x->dump;
    hd_status status;
    hd_breakdown *b = (hd_breakdown *)hd__arena_take(&d->mem, &d->arena, 1, sizeof *b);
    if (!b) return hd__in_no_memory(x);
    memset(b, 0, sizeof *b);
    b->axis[0] = axes[0];
    b->axis[1] = axes[1];
    heap->breakdown = b;
    status = hd__breakdown_fill(&d->mem, &d->arena, b, hd__table_rows(&x->rows), NULL);
    if (status == HD_OVERFLOW)
        return hd__complain_of(x, status, from, "the sizes in the heap of %S pass 2^64",
                               hd__chrome_text(x, from->allocator));
    return status ? hd__in_no_memory(x) : HD_OK;
}

/* What a heap is called. */
static hd_heap hd__chrome_label(const hd__chrome_in *x, const hd__chrome_heap *from) {
    const hd__chrome_process_info *process = &x->processes[from->process];
    const hd__chrome_dump_info *dump = &x->dumps[from->dump];
    hd_heap heap;
    memset(&heap, 0, sizeof heap);
    heap.pid = process->pid;
    heap.process = hd__chrome_label_text(x, process->name);
    heap.dump = hd__chrome_label_text(x, dump->id);
    heap.time_us = dump->time_us;
    heap.allocator = hd__chrome_text(x, from->allocator).data;
    heap.sample_bytes = from->sample_bytes;
    return heap;
}

/* The trees in preorder, every heap a set of columns over them. `maps` has room for four numbers per
   node. */
static hd_status hd__chrome_columns(hd__chrome_in *x, const uint32_t *order, size_t n, uint32_t *maps) {
    hd_dump *d = x->dump;
    hd_axis axes[2];
    uint32_t *map[2], *jump = NULL;
    for (int a = 0; a < 2; a++) {
        hd_axis axis = hd__tree_axis(&x->tree[a]);
        map[a] = a ? maps + 4 * hd__len(x->tree[0].parent) : maps;
        for (uint32_t i = 0; i < axis.node_count; i++) map[a][i] = 1;
        HD__TRY(hd__axis_order(&d->mem, &d->arena, &axis, map[a], map[a] + axis.node_count, false, &axes[a],
                               x->err));
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t bytes = 0, blocks = 0;
        const hd__chrome_heap *from = &x->heaps[order[i]];
        hd_heap *heap = &d->heaps[i];
        if (from->old && !jump) {
            jump = maps + axes[0].node_count;
            hd__old_jumps(&axes[0], jump, jump + axes[0].node_count);
        }
        if (from->old) HD__TRY(hd__old_rows(x, from, map, &axes[0], jump));
        else HD__TRY(hd__chrome_rows(x, from, map, &bytes, &blocks));
        if (from->v2) HD__TRY(hd__chrome_profile(x, axes, bytes, blocks, heap));
        else HD__TRY(hd__chrome_breakdown(x, axes, from, heap));
    }
    return HD_OK;
}

static hd_status hd__chrome_build(hd__chrome_in *x, const uint32_t *order, size_t n) {
    static const char *const axis_names[] = { "backtrace", "type" };
    hd_dump *d = x->dump;
    size_t size;
    uint32_t *maps, root;
    hd_status status;
    for (int a = 0; a < 2; a++) {
        x->tree[a].name = axis_names[a];
        HD__TRY(hd__tree_child(&d->mem, NULL, &x->tree[a], 1, HD_NONE, hd_cstr(""), false, &root, x->err));
    }
    if (n && !hd__room(&d->mem, d->heaps, n)) return hd__in_no_memory(x);
    for (size_t i = 0; i < n; i++) {
        hd_heap heap = hd__chrome_label(x, &x->heaps[order[i]]);
        stbds_arrput(d->heaps, heap);
        HD__TRY(hd__chrome_resolve(x, &x->heaps[order[i]]));
    }
    size = hd__len(x->tree[0].parent) + hd__len(x->tree[1].parent);
    maps = (uint32_t *)hd__calloc(&d->mem, size, 4 * sizeof *maps);
    if (!maps) return hd__in_no_memory(x);
    status = hd__chrome_columns(x, order, n, maps);
    hd__cfree(&d->mem, maps, size, 4 * sizeof *maps);
    return status;
}

static bool hd__chrome_heap_before(const void *owner, uint32_t i, uint32_t k) {
    const hd__chrome_in *x = (const hd__chrome_in *)owner;
    const hd__chrome_heap *a = &x->heaps[i], *b = &x->heaps[k];
    const hd__chrome_dump_info *c = &x->dumps[a->dump], *d = &x->dumps[b->dump];
    if (a->process != b->process) return x->processes[a->process].pid < x->processes[b->process].pid;
    if (c->time_us != d->time_us) return c->time_us < d->time_us;
    if (a->dump != b->dump) return a->dump < b->dump;
    return hd_str_compare(hd__chrome_text(x, a->allocator), hd__chrome_text(x, b->allocator)) < 0;
}

static bool hd__same_heap(const hd__chrome_heap *a, const hd__chrome_heap *b) {
    return a->process == b->process && a->dump == b->dump && a->allocator == b->allocator && a->v2 == b->v2;
}

/* Absent before empty. */
static int hd__compare_text(const hd__chrome_in *x, uint32_t a, uint32_t b) {
    if (a == b) return 0;
    if (a == HD_NONE || b == HD_NONE) return a == HD_NONE ? -1 : 1;
    return hd_str_compare(hd__chrome_text(x, a), hd__chrome_text(x, b));
}

static bool hd__chrome_scalar_before(const void *owner, uint32_t i, uint32_t k) {
    const hd__chrome_in *x = (const hd__chrome_in *)owner;
    const hd__chrome_scalar *a = &x->scalars[i], *b = &x->scalars[k];
    const hd__chrome_dump_info *c = &x->dumps[a->dump], *d = &x->dumps[b->dump];
    int order;
    if (a->process != b->process) return x->processes[a->process].pid < x->processes[b->process].pid;
    if (c->time_us != d->time_us) return c->time_us < d->time_us;
    if (a->dump != b->dump) return a->dump < b->dump;
    order = hd__compare_text(x, a->allocator, b->allocator);
    return order ? order < 0 : hd__compare_text(x, a->name, b->name) < 0;
}

/* Labels the scalars in their order; of those alike that do not agree the first counts. */
static hd_status hd__chrome_scalars(hd__chrome_in *x, const uint32_t *order, size_t n) {
    hd_dump *d = x->dump;
    const hd__chrome_scalar *last = NULL;
    if (n && !hd__room(&d->mem, d->scalars, n)) return hd__in_no_memory(x);
    for (size_t i = 0; i < n; i++) {
        const hd__chrome_scalar *from = &x->scalars[order[i]];
        hd_scalar scalar;
        if (last && !hd__chrome_scalar_before(x, order[i - 1], order[i])) {
            if (from->value == last->value && from->text == last->text && from->units == last->units)
                continue;
            HD__TRY(hd__complain_of(x, HD_MALFORMED, from, "'%S' of '%S' comes twice, and differs",
                                    hd__chrome_text(x, from->name), hd__chrome_text(x, from->allocator)));
            continue;
        }
        last = from;
        scalar.pid = x->processes[from->process].pid;
        scalar.process = hd__chrome_label_text(x, x->processes[from->process].name);
        scalar.dump = hd__chrome_label_text(x, x->dumps[from->dump].id);
        scalar.time_us = x->dumps[from->dump].time_us;
        scalar.allocator = hd__chrome_label_text(x, from->allocator);
        scalar.name = hd__chrome_text(x, from->name).data;
        scalar.units = hd__chrome_label_text(x, from->units);
        scalar.value = from->value;
        scalar.text = hd__chrome_label_text(x, from->text);
        stbds_arrput(d->scalars, scalar);
    }
    return HD_OK;
}

static hd_status hd__chrome_build_scalars(hd__chrome_in *x) {
    hd__mem *m = &x->dump->mem;
    size_t n = hd__len(x->scalars);
    uint32_t *order = (uint32_t *)hd__calloc(m, n, 2 * sizeof *order);
    hd_status status;
    if (!order) return hd__in_no_memory(x);
    for (size_t i = 0; i < n; i++) order[i] = (uint32_t)i;
    hd__sort(order, order + n, n, hd__chrome_scalar_before, x);
    status = hd__chrome_scalars(x, order, n);
    hd__cfree(m, order, n, 2 * sizeof *order);
    return status;
}

static bool hd__chrome_dump_before(const void *owner, uint32_t i, uint32_t k) {
    const hd__chrome_in *x = (const hd__chrome_in *)owner;
    const hd__chrome_dump_info *a = &x->dumps[i], *b = &x->dumps[k];
    if (a->process != b->process) return x->processes[a->process].pid < x->processes[b->process].pid;
    return hd__compare_texts(hd__chrome_label_text(x, a->id), hd__chrome_label_text(x, b->id)) < 0;
}

static hd_status hd__chrome_build_details(hd__chrome_in *x) {
    hd__mem *m = &x->dump->mem;
    size_t n = hd__len(x->dumps);
    uint32_t *order = (uint32_t *)hd__calloc(m, n, 2 * sizeof *order);
    hd_status status = order ? HD_OK : hd__in_no_memory(x);
    HD__TRY(status);
    for (size_t i = 0; i < n; i++) order[i] = (uint32_t)i;
    hd__sort(order, order + n, n, hd__chrome_dump_before, x);
    for (size_t i = 0; i < n && !status; i++) {
        const hd__chrome_dump_info *from = &x->dumps[order[i]];
        hd__dump_detail detail;
        if (!from->detail) continue;
        detail.pid = x->processes[from->process].pid;
        detail.id = hd__chrome_label_text(x, from->id);
        detail.detail = (hd_detail)(from->detail - 1);
        if (!hd__push(m, x->dump->details, detail)) status = hd__in_no_memory(x);
    }
    hd__cfree(m, order, n, 2 * sizeof *order);
    return status;
}

static hd_status hd__chrome_build_all(hd__chrome_in *x) {
    hd__mem *m = &x->dump->mem;
    size_t n = hd__len(x->heaps), kept = 0;
    uint32_t *order = (uint32_t *)hd__calloc(m, n, 2 * sizeof *order);
    hd_status status;
    if (!order) return hd__in_no_memory(x);
    for (size_t i = 0; i < n; i++) order[i] = (uint32_t)i;
    hd__sort(order, order + n, n, hd__chrome_heap_before, x);
    status = hd__chrome_index(x);
    for (size_t i = 0; i < n && !status; i++) {
        const hd__chrome_heap *heap = &x->heaps[order[i]];
        if (kept && hd__same_heap(heap, &x->heaps[order[kept - 1]]))
            status = hd__complain_of(x, HD_MALFORMED, heap, "the heap of %S comes twice",
                                     hd__chrome_text(x, heap->allocator));
        else order[kept++] = order[i];
    }
    if (!status) status = hd__chrome_build(x, order, kept);
    hd__cfree(m, order, n, 2 * sizeof *order);
    return status;
}

/* Syntax errors end the reading; when lenient, what was read so far is kept. */
static hd_status hd__chrome_parse(hd__chrome_in *x) {
    hd_error error;
    hd_status status;
    memset(&error, 0, sizeof error);
    x->pull.err = &error;
    status = hd__chrome_root(x);
    if (!status) return HD_OK;
    if (x->pull.status == status && status == HD_MALFORMED) {
        if (x->in_event) {       /* what it brought belongs to no process */
            hd__set_len(x->items, x->event.items);
            hd__set_len(x->heaps, x->event.heaps);
            hd__set_len(x->scalars, x->event.scalars);
        }
        {
            hd__where where = hd__where_now(x, error.offset);
            where.line = error.line;
            return hd__complain_at(x, status, where, "%s", error.message);
        }
    }
    if (x->pull.status == status && x->err) *x->err = error;
    return status;
}

/* `skipped` bytes of the input were passed over already; `packed` as in a reader. */
static hd_status hd__chrome_read(hd_dump *d, hd_in in, uint64_t skipped, const hd__packed *packed,
                                 const hd_options *options, hd_error *err) {
    hd__mem *m = &d->mem;
    hd__chrome_in x;
    hd_status status;
    memset(&x, 0, sizeof x);
    x.dump = d;
    x.options = options;
    x.err = err;
    x.max_records = hd__records(options ? &options->limits : NULL);
    x.seen.axis_count = x.rows.axis_count = 2;
    x.seed = x.seen.seed = x.rows.seed = x.tree[0].seed = x.tree[1].seed = d->strings.seed;
    status = hd__pull_open(&x.pull, m, in, options ? options->limits.max_depth : 0, err);
    x.pull.r.base = skipped;
    x.pull.r.packed = packed;
    if (!status) status = hd__chrome_parse(&x);
    if (!status) status = hd__chrome_build_all(&x);
    if (!status) status = hd__chrome_build_scalars(&x);
    if (!status) status = hd__chrome_build_details(&x);
    hd__pull_close(&x.pull);
    hd__arr_free(m, x.items);
    hd__arr_free(m, x.heaps);
    hd__arr_free(m, x.entries);
    hd__arr_free(m, x.scalars);
    hd__arr_free(m, x.processes);
    hd__arr_free(m, x.dumps);
    hd__arr_free(m, x.chain);
    hd__index_free(m, &x.item_index);
    hd__index_free(m, &x.process_index);
    hd__index_free(m, &x.dump_index);
    for (int a = 0; a < 2; a++) hd__tree_free(m, &x.tree[a]);
    hd__table_free(m, &x.seen);
    hd__table_free(m, &x.rows);
    hd__arr_free(m, x.cells);
    hd__arr_free(m, x.levels);
    hd__arr_free(m, x.joined);
    return status;
}

/* Adding to a trace. --------------------------------------------------------------------------
   The parser walks over the events while their bytes, up to where it is, are copied behind its back. What
   it has to know of them: which ids are taken, and whether a dump of ours is there already. */

typedef struct hd__add {
    hd__pull pull;
    hd_in in;
    const hd_options *options;
    hd_chrome_writer w;
    const hd_chrome_dumps *dumps;
    const uint32_t *order;       /* of heaps and scalars, by pid and dump */
    size_t count;
    char *id;                    /* of the event at hand */
    size_t id_room;              /* longer ids are none of ours */
    uint64_t written;            /* bytes of the input */
    uint8_t *held;               /* from a callback: the bytes from there on, in a buffer of HD__HELD */
    size_t held_size;
    uint64_t events;
    bool inserted;
} hd__add;

#define HD__HELD (2 * (size_t)HD__READER_BUFFER)
/* Numbers from here on are not ours to give: doubles, which the viewer has, end soon after. */
#define HD__IDS_END ((uint64_t)1 << 52)

/* Copies the input up to an offset that the parser is not past. */
static void hd__add_copy(hd__add *a, uint64_t to) {
    size_t n = (size_t)(to - a->written);
    if (!a->in.read) {
        const uint8_t *from = a->in.data + a->written;
        hd__sink_put(&a->w.json.sink, (const char *)from, n);
        if (a->in.mapped == 1) hd__reader_release(&from, from + n);
    } else {
        hd__sink_put(&a->w.json.sink, (const char *)a->held, n);
        a->held_size -= n;
        memmove(a->held, a->held + n, a->held_size);
    }
    a->written = to;
}

/* The parser needs more, and does not need what was before its window. */
static int64_t hd__add_read(void *user, void *buffer, size_t capacity) {
    hd__add *a = (hd__add *)user;
    int64_t n;
    hd__add_copy(a, a->pull.r.base);
    n = a->in.read(a->in.user, buffer, capacity);
    if (n <= 0 || (uint64_t)n > capacity || (size_t)n > HD__HELD - a->held_size) return n ? -1 : 0;
    memcpy(a->held + a->held_size, buffer, (size_t)n);
    a->held_size += (size_t)n;
    return n;
}

static hd_status hd__add_progress(hd__add *a) {
    const hd_options *o = a->options;
    const hd__reader *r = &a->pull.r;
    uint64_t offset = hd__reader_offset(r);
    if (!a->in.read) hd__add_copy(a, offset);
    if (a->w.json.sink.status) return hd__writer_failed(&a->w, a->w.json.sink.status, a->pull.err);
    if (o->progress && !o->progress(o->user, offset, a->in.read ? HD_UNKNOWN : a->in.size))
        return hd__fail(a->pull.err, HD_CANCELLED, "cancelled");
    return HD_OK;
}

static void hd__add_taken(hd__add *a, uint64_t id) {
    if (id < HD__IDS_END && id >= a->w.first) a->w.first = id + 1;
}

/* A number, or one in a string; false for anything else. */
static bool hd__add_number(hd__add *a, hd__token token, uint64_t *value) {
    hd__number number;
    bool fraction;               /* of a time, which is read to the microsecond */
    hd_str s;
    if (token == HD__T_STRING) return hd__pull_key(&a->pull, &s) && hd__parse_u64(s, 10, value);
    if (token != HD__T_NUMBER) {
        hd__pull_skip(&a->pull, token);
        return false;
    }
    hd__pull_number(&a->pull, &number);
    s.data = number.text;
    s.len = number.len;
    return hd__parse_decimal(s, value, &fraction);
}

/* {"0":...,"1":...} */
static void hd__add_dictionary(hd__add *a, hd__token token) {
    uint64_t id;
    if (token != HD__T_OBJECT) {
        hd__pull_skip(&a->pull, token);
        return;
    }
    {
        HD__MEMBERS(a, key, value) {
            if (hd__parse_u64(key, 10, &id)) hd__add_taken(a, id);
            hd__pull_skip(&a->pull, value);
        }
    }
}

/* [{"id":1,...},...] */
static void hd__add_map(hd__add *a, hd__token token) {
    uint64_t id;
    if (token != HD__T_ARRAY) {
        hd__pull_skip(&a->pull, token);
        return;
    }
    while ((token = hd__pull_next(&a->pull)) != HD__T_CLOSE && token != HD__T_ERROR) {
        if (token != HD__T_OBJECT) {
            hd__pull_skip(&a->pull, token);
            continue;
        }
        {
            HD__MEMBERS(a, key, value) {
                if (!hd__is(key, "id")) hd__pull_skip(&a->pull, value);
                else if (hd__add_number(a, value, &id)) hd__add_taken(a, id);
            }
        }
    }
}

/* Heaps of either format: ids that they use are taken too, wherever they are defined, if at all. */
static void hd__add_uses(hd__add *a, hd__token token) {
    hd__pull *p = &a->pull;
    uint32_t depth = p->depth;
    bool is_id = false;
    uint64_t id;
    hd_str s;
    if (token != HD__T_OBJECT) {
        hd__pull_skip(p, token);
        return;
    }
    while ((token = hd__pull_next(p)) != HD__T_ERROR && (token != HD__T_CLOSE || p->depth >= depth)) {
        if (token == HD__T_KEY) {
            if (!hd__pull_key(p, &s)) return;
            is_id = hd__is(s, "bt") || hd__is(s, "type") || hd__is(s, "nodes") || hd__is(s, "types");
        } else if (token == HD__T_STRING || token == HD__T_NUMBER) {
            if (!is_id) hd__pull_skip(p, token);
            else if (hd__add_number(a, token, &id)) hd__add_taken(a, id);
        }
    }
}

/* args, or in it dumps, heaps_v2, maps: objects one inside the other, with the ids in the last. */
static void hd__add_args(hd__add *a) {
    static const char *const levels[] = { "dumps", "heaps_v2", "maps" };
    uint32_t level = 0;
    hd_str key;
    char text[64];
    for (;;) {
        hd__token token = hd__pull_member(&a->pull, &key, text);
        if (token == HD__T_ERROR) return;
        if (token == HD__T_CLOSE) {
            if (!level--) return;
        } else if (level == 3) {
            hd__add_map(a, token);
        } else if (token == HD__T_OBJECT && hd__is(key, levels[level])) {
            level++;
        } else if (!level && (hd__is(key, "stackFrames") || hd__is(key, "typeNames"))) {
            hd__add_dictionary(a, token);
        } else if (level && hd__is(key, level == 1 ? "heaps" : "allocators")) {
            hd__add_uses(a, token);
        } else {
            hd__pull_skip(&a->pull, token);
        }
    }
}

/* The id of an event, kept as far as ours go. */
static void hd__add_id(hd__add *a, hd__token token) {
    hd_str s;
    hd__number number;
    *a->id = 0;
    if (token == HD__T_STRING) {
        bool ok;
        a->pull.keep = a->id_room - 1;
        ok = hd__pull_string(&a->pull, &s);
        a->pull.keep = SIZE_MAX;
        if (!ok) return;
    } else if (token == HD__T_NUMBER) {
        hd__pull_number(&a->pull, &number);
        s.data = number.text;
        s.len = number.len;
    } else {
        hd__pull_skip(&a->pull, token);
        return;
    }
    if (s.len >= a->id_room) s.len = a->id_room - 1;
    if (s.len) memcpy(a->id, s.data, s.len);
    a->id[s.len] = 0;
}

/* Whether the dump of that pid and id is among ours. */
static bool hd__add_has(const hd__add *a, uint64_t pid, const char *id) {
    size_t low = 0, high = a->count;
    hd__label l, sought;
    memset(&sought, 0, sizeof sought);
    sought.pid = pid;
    sought.dump = id;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order;
        l = hd__label_of(a->dumps, a->order[middle]);
        order = hd__compare_dumps(&sought, &l);
        if (!order) return true;
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return false;
}

static hd_status hd__add_event(hd__add *a) {
    hd__pull *p = &a->pull;
    uint64_t offset = p->token_offset, pid = 0;
    bool known = false, memory = false;
    *a->id = 0;
    {
        HD__MEMBERS(a, key, token) {
            hd_str s;
            if (hd__is(key, "ph") && token == HD__T_STRING) {
                if (!hd__pull_key(p, &s)) return p->status;
                memory = s.len == 1 && *s.data == 'v';
            } else if (hd__is(key, "pid")) {
                known = hd__add_number(a, token, &pid);
            } else if (hd__is(key, "id")) {
                hd__add_id(a, token);
            } else if (hd__is(key, "id2") && token == HD__T_OBJECT) {
                HD__MEMBERS(a, scope, value) hd__add_id(a, value);
            } else if (hd__is(key, "args") && token == HD__T_OBJECT) {
                hd__add_args(a);
            } else {
                hd__pull_skip(p, token);
            }
        }
    }
    if (p->status) return p->status;
    if (!memory || !known || !*a->id || !hd__add_has(a, pid, a->id)) return HD_OK;
    return hd__fail_at(p->err, HD_INVALID, offset, hd__reader_line(&p->r, offset),
                       "the trace has a dump %s of pid %u already", a->id, pid);
}

/* JSON, but not a trace as we know them. */
static hd_status hd__add_fail(hd__add *a, const char *sentence) {
    hd__pull *p = &a->pull;
    return hd__fail_at(p->err, HD_MALFORMED, p->token_offset, hd__reader_line(&p->r, p->token_offset), "%s",
                       sentence);
}

/* At the end of the array of events, `more`: after one without a comma. */
static hd_status hd__add_insert(hd__add *a, uint64_t offset, bool more) {
    hd_json *j = &a->w.json;
    if (a->w.first >= HD__IDS_END - HD_NONE - HD_NONE)
        return hd__fail(a->pull.err, HD_UNSUPPORTED, "the trace has ids up to %u, which leaves none",
                        a->w.first - 1);
    hd__add_copy(a, offset);
    a->inserted = true;
    if (!a->count) return HD_OK;
    for (int k = 0; k < HD__IDS; k++) a->w.next_v2[k] = a->w.first == 0;
    j->depth = 1;
    j->state[1] = (uint8_t)(HD__W_ARRAY | (more ? HD__W_MORE : 0));
    HD__TRY(hd_chrome_writer_add(&a->w, a->dumps, a->pull.err));
    hd_json_newline(j);
    hd__json_break(j);
    return HD_OK;
}

static hd_status hd__add_events(hd__add *a) {
    hd__pull *p = &a->pull;
    hd__token token;
    bool any = false;
    if (a->inserted) return hd__add_fail(a, "traceEvents for the second time");
    while ((token = hd__pull_next(p)) != HD__T_CLOSE && token != HD__T_CUT) {
        if (token == HD__T_ERROR) return p->status;
        any = true;
        if (a->events % HD__PROGRESS == 0) HD__TRY(hd__add_progress(a));
        if (token == HD__T_OBJECT && !hd__pull_pass(p, HD__PROGRESS - a->events % HD__PROGRESS, &a->events))
            continue;
        if (token == HD__T_OBJECT) HD__TRY(hd__add_event(a));
        else if (!hd__pull_skip(p, token)) return p->status;
        a->events++;
    }
    if (token == HD__T_CLOSE) return hd__add_insert(a, p->token_offset, any);
    /* A crashed writer left the array open; it is whole from now on. */
    HD__TRY(hd__add_insert(a, hd__reader_offset(&p->r), any && p->expect == HD__E_MORE));
    hd__sink_put(&a->w.json.sink, "]\n", 2);
    return HD_OK;
}

/* Byte order mark, then an object or an array. */
static hd_status hd__add_root(hd__add *a) {
    static const uint8_t mark[] = { 0xef, 0xbb, 0xbf };
    hd__pull *p = &a->pull;
    hd__reader *r = &p->r;
    hd__token token;
    for (size_t i = 0; i < sizeof mark; i++) {
        if (r->at == r->end && !hd__reader_fill(r)) break;
        if (!i && *r->at == 0x1f)
            return hd__fail_at(p->err, HD_UNSUPPORTED, 0, 0, "an unpacked trace expected, gzip found");
        if (*r->at != mark[i]) break;
        r->at++;
    }
    token = hd__pull_next(p);
    if (token == HD__T_ARRAY) {
        HD__TRY(hd__add_events(a));
    } else if (token == HD__T_OBJECT) {
        HD__MEMBERS(a, key, value) {
            if (!hd__is(key, "traceEvents")) hd__pull_skip(p, value);
            else if (value != HD__T_ARRAY) return hd__add_fail(a, "traceEvents: an array expected");
            else HD__TRY(hd__add_events(a));
        }
        if (p->status) return p->status;
        if (!a->inserted) return hd__add_fail(a, "a trace expected, an object without traceEvents found");
    } else {
        return p->status ? p->status : hd__add_fail(a, "a trace expected: an object or an array");
    }
    while ((token = hd__pull_next(p)) != HD__T_END && token != HD__T_CUT)
        if (token == HD__T_ERROR) return p->status;
    hd__add_copy(a, hd__reader_offset(r));
    if (hd__sink_flush(&a->w.json.sink)) return hd__writer_failed(&a->w, a->w.json.sink.status, p->err);
    return HD_OK;
}

static hd_status hd__add_run(hd__add *a, uint32_t *order, hd_error *err) {
    hd__mem *m = &a->w.mem;
    hd_in in = a->in;
    hd_status status;
    a->id_room = 2;
    for (size_t i = 0; i < a->count; i++) {
        size_t length = strlen(hd__label_of(a->dumps, (uint32_t)i).dump);
        order[i] = (uint32_t)i;
        if (length + 2 > a->id_room) a->id_room = length + 2;
    }
    hd__sort(order, order + a->count, a->count, hd__label_by_name, a->dumps);
    HD__TRY(hd__check_names(a->dumps, order, a->count, err));
    a->order = order;
    a->id = (char *)hd__realloc(m, NULL, 0, a->id_room);
    if (a->id && in.read) a->held = (uint8_t *)hd__realloc(m, NULL, 0, HD__HELD);
    if (!a->id || (in.read && !a->held)) return hd__no_memory(m, err);
    if (in.read) in = hd_in_callback(hd__add_read, a);
    in.mapped = 0;               /* pages are given back once they were copied */
    status = hd__pull_open(&a->pull, m, in, a->options->limits.max_depth, err);
    if (status) return status;
    status = hd__add_root(a);
    hd__pull_close(&a->pull);
    return status;
}

HEAPDUMP_API hd_status hd_chrome_add(hd_in trace, const hd_chrome_dumps *dumps, const hd_options *options,
                                     hd_out out, hd_error *err) {
    hd__add a;
    hd_chrome_writer_desc desc;
    uint32_t *order;
    hd_status status;
    hd_error ignored;
    if (!err) err = &ignored;
    memset(&a, 0, sizeof a);
    memset(&desc, 0, sizeof desc);
    if (options) desc.options = *options;
    HD__TRY(hd__check_heaps(dumps, err));
    hd__writer_init(&a.w, &desc, out);
    a.w.interruptible = true;    /* all types are known */
    a.w.copy = false;
    a.w.options.progress = NULL; /* it counts other things */
    a.options = &desc.options;
    a.in = trace;
    a.dumps = dumps;
    a.count = dumps->heap_count + dumps->scalar_count;
    order = (uint32_t *)hd__calloc(&a.w.mem, a.count, 2 * sizeof *order);
    if (!order) return hd__no_memory(&a.w.mem, err);
    status = hd__add_run(&a, order, err);
    hd__free(&a.w.mem, a.id, a.id_room);
    hd__free(&a.w.mem, a.held, HD__HELD);
    hd__cfree(&a.w.mem, order, a.count, 2 * sizeof *order);
    hd__writer_release(&a.w);
    return status;
}

/* =============================================================================== >>provider
   A dump gathers copies of what providers say, then is written whole. What a failing provider said is cut
   off again: all of it stands at the ends of arrays. */

struct hd_memory_dump {
    hd_memory_dump_manager *manager;
    hd__arena arena;
    hd_detail detail;
    hd_scalar *scalars;          /* stb_ds arrays */
    hd_heap *heaps;              /* their breakdowns are the dump's */
    hd__index names;             /* scalars by allocator and name */
    uint64_t seed;
    hd_memory overhead;
    hd_error error;              /* the first of an add_ call, since the provider was asked */
};

typedef struct hd__registration {
    const hd_memory_dump_provider *provider;
    uint32_t failures;           /* in a row */
} hd__registration;

struct hd_memory_dump_manager {
    hd__mem mem;
    hd_memory_dump_manager_desc desc;
    hd__mutex lock;
    hd_chrome_writer *writer;
    hd__registration *providers; /* stb_ds array */
    bool profiling, ticking;
    uint64_t dumps;              /* ids given */
    uint64_t due_us, periods;
    hd_memory_dump dump;
    const hd_memory_dump_manager *outer; /* that its caller is inside of */
};

/* The manager that the calling thread is inside of. */
static HD__THREAD_LOCAL const hd_memory_dump_manager *hd__managing;

static hd_status hd__manager_enter(hd_memory_dump_manager *m, hd_error *err) {
    if (hd__managing == m) return hd__fail(err, HD_INVALID, "the manager was called by one of its providers");
    hd__lock(&m->lock);
    m->outer = hd__managing;
    hd__managing = m;
    return HD_OK;
}

static void hd__manager_leave(hd_memory_dump_manager *m) {
    hd__managing = m->outer;
    hd__unlock(&m->lock);
}

HEAPDUMP_API hd_memory_dump_manager *hd_memory_dump_manager_create(const hd_memory_dump_manager_desc *desc,
                                                                   hd_error *err) {
    hd__mem mem = hd__mem_options(desc ? &desc->options : NULL);
    hd_chrome_writer_desc writer;
    hd_memory_dump_manager *m;
    if (!desc || !desc->out.write) {
        hd__fail(err, HD_INVALID, "an output for the trace expected");
        return NULL;
    }
    m = (hd_memory_dump_manager *)hd__calloc(&mem, 1, sizeof *m);
    if (!m) {
        hd__no_memory(&mem, err);
        return NULL;
    }
    memset(&writer, 0, sizeof writer);
    writer.options = desc->options;
    writer.options.progress = NULL;
    writer.interruptible = desc->interruptible;
    m->writer = hd_chrome_writer_create(&writer, desc->out, err);
    if (!m->writer) {
        hd__cfree(&mem, m, 1, sizeof *m);
        return NULL;
    }
    m->mem = mem;
    m->desc = *desc;
    if (!m->desc.pid) m->desc.pid = 1;
    if (!m->desc.detailed_every) m->desc.detailed_every = 8;
    m->dump.manager = m;
    m->dump.seed = hd__seed();
    hd__mutex_init(&m->lock);
    return m;
}

HEAPDUMP_API void hd_memory_dump_manager_free(hd_memory_dump_manager *m) {
    hd__mem mem;
    if (!m) return;
    hd_chrome_writer_free(m->writer);
    hd__arr_free(&m->mem, m->providers);
    hd__mutex_free(&m->lock);
    mem = m->mem;
    hd__cfree(&mem, m, 1, sizeof *m);
}

HEAPDUMP_API hd_status hd_memory_dump_manager_finish(hd_memory_dump_manager *m, hd_error *err) {
    hd_status status;
    HD__TRY(hd__manager_enter(m, err));
    status = hd_chrome_writer_finish(m->writer, err);
    hd__manager_leave(m);
    return status;
}

static size_t hd__manager_find(const hd_memory_dump_manager *m, const hd_memory_dump_provider *provider) {
    size_t i = 0;
    while (i < hd__len(m->providers) && m->providers[i].provider != provider) i++;
    return i;
}

static hd_status hd__manager_register(hd_memory_dump_manager *m, const hd_memory_dump_provider *provider,
                                      hd_error *err) {
    hd__registration fresh;
    if (!provider->on_memory_dump)
        return hd__fail(err, HD_INVALID, "a provider with on_memory_dump expected");
    if (hd__manager_find(m, provider) < hd__len(m->providers))
        return hd__fail(err, HD_INVALID, "provider %s is registered already",
                        provider->name ? provider->name : "");
    fresh.provider = provider;
    fresh.failures = 0;
    if (!hd__push(&m->mem, m->providers, fresh)) return hd__no_memory(&m->mem, err);
    if (m->profiling && provider->on_heap_profiling_enabled)
        provider->on_heap_profiling_enabled(provider->user, true);
    return HD_OK;
}

HEAPDUMP_API hd_status hd_memory_dump_manager_register(hd_memory_dump_manager *m,
                                                       const hd_memory_dump_provider *provider,
                                                       hd_error *err) {
    hd_status status;
    HD__TRY(hd__manager_enter(m, err));
    status = hd__manager_register(m, provider, err);
    hd__manager_leave(m);
    return status;
}

HEAPDUMP_API hd_status hd_memory_dump_manager_unregister(hd_memory_dump_manager *m,
                                                         const hd_memory_dump_provider *provider,
                                                         hd_error *err) {
    size_t i, n;
    HD__TRY(hd__manager_enter(m, err));
    i = hd__manager_find(m, provider);
    n = hd__len(m->providers);
    if (i < n) {
        memmove(m->providers + i, m->providers + i + 1, (n - i - 1) * sizeof *m->providers);
        hd__set_len(m->providers, n - 1);
    }
    hd__manager_leave(m);
    return i < n ? HD_OK : hd__fail(err, HD_INVALID, "the provider is not registered");
}

HEAPDUMP_API bool hd_memory_dump_manager_asks(hd_memory_dump_manager *m,
                                              const hd_memory_dump_provider *provider) {
    bool entered = !hd__manager_enter(m, NULL);
    size_t i = hd__manager_find(m, provider);
    bool asks = i < hd__len(m->providers) && m->providers[i].failures < HD_PROVIDER_FAILURES;
    if (entered) hd__manager_leave(m);
    return asks;
}

HEAPDUMP_API hd_status hd_memory_dump_manager_set_heap_profiling(hd_memory_dump_manager *m, bool enabled,
                                                                 hd_error *err) {
    HD__TRY(hd__manager_enter(m, err));
    if (m->profiling != enabled) {
        m->profiling = enabled;
        for (size_t i = 0; i < hd__len(m->providers); i++) {
            const hd_memory_dump_provider *p = m->providers[i].provider;
            if (p->on_heap_profiling_enabled) p->on_heap_profiling_enabled(p->user, enabled);
        }
    }
    hd__manager_leave(m);
    return HD_OK;
}

static uint64_t hd__scalar_hash(uint64_t seed, const hd_scalar *s) {
    const char *allocator = s->allocator ? s->allocator : "";
    return hd__hash_bytes(hd__hash_bytes(seed, allocator, strlen(allocator)), s->name, strlen(s->name));
}

static uint64_t hd__scalar_rehash(const void *owner, uint32_t i) {
    const hd_memory_dump *d = (const hd_memory_dump *)owner;
    return hd__scalar_hash(d->seed, &d->scalars[i]);
}

/* A copy; NULL stays NULL. */
static bool hd__memory_dump_copy(hd_memory_dump *d, const char **text) {
    if (*text) *text = hd__arena_str(&d->manager->mem, &d->arena, hd_cstr(*text));
    else return true;
    return *text != NULL;
}

static hd_status hd__memory_dump_scalar(hd_memory_dump *d, hd_scalar s) {
    hd__mem *m = &d->manager->mem;
    size_t n = hd__len(d->scalars), probe = 0;
    uint64_t hash;
    uint32_t i;
    if (!s.name) return hd__fail(&d->error, HD_INVALID, "a value without a name");
    hash = hd__scalar_hash(d->seed, &s);
    while ((i = hd__index_next(&d->names, hash, &probe)) != HD_NONE)
        if (!hd__compare_texts(d->scalars[i].allocator, s.allocator) && !strcmp(d->scalars[i].name, s.name))
            return hd__fail(&d->error, HD_INVALID, "%s of %s was given already", s.name,
                            s.allocator ? s.allocator : "the process");
    if (!hd__memory_dump_copy(d, &s.allocator) || !hd__memory_dump_copy(d, &s.name) ||
        !hd__memory_dump_copy(d, &s.units) || !hd__memory_dump_copy(d, &s.text) ||
        !hd__room(m, d->scalars, 1) ||
        !hd__index_add(m, &d->names, hash, (uint32_t)n, hd__scalar_rehash, d))
        return hd__no_memory(m, &d->error);
    stbds_arrput(d->scalars, s);
    return HD_OK;
}

HEAPDUMP_API hd_status hd_memory_dump_add_scalar(hd_memory_dump *d, const char *allocator, const char *name,
                                                 const char *units, uint64_t value) {
    hd_scalar s;
    memset(&s, 0, sizeof s);
    s.allocator = allocator ? allocator : "";
    s.name = name;
    s.units = units;
    s.value = value;
    return hd__memory_dump_scalar(d, s);
}

HEAPDUMP_API hd_status hd_memory_dump_add_string(hd_memory_dump *d, const char *allocator, const char *name,
                                                 const char *text) {
    hd_scalar s;
    memset(&s, 0, sizeof s);
    s.allocator = allocator ? allocator : "";
    s.name = name;
    s.units = "";
    s.text = text ? text : "";
    return hd__memory_dump_scalar(d, s);
}

HEAPDUMP_API hd_status hd_memory_dump_add_total(hd_memory_dump *d, const char *name, uint64_t value) {
    hd_scalar s;
    memset(&s, 0, sizeof s);
    s.name = name;
    s.units = "bytes";
    s.value = value;
    return hd__memory_dump_scalar(d, s);
}

HEAPDUMP_API hd_status hd_memory_dump_add_overhead(hd_memory_dump *d, hd_memory memory) {
    hd__sum(&d->overhead.reserved, memory.reserved);
    hd__sum(&d->overhead.resident, memory.resident);
    return HD_OK;
}

HEAPDUMP_API hd_status hd_memory_dump_add_heap(hd_memory_dump *d, const hd_heap *heap) {
    hd__mem *m = &d->manager->mem;
    const hd_memory_dump_manager_desc *desc = &d->manager->desc;
    hd_breakdown *breakdown;
    hd_heap own;
    hd_options options = desc->options;
    memset(&own, 0, sizeof own);
    own.allocator = heap->allocator ? heap->allocator : "malloc";
    own.sample_bytes = heap->sample_bytes;
    options.progress = NULL;
    if (d->detail != HD_DETAILED)
        return hd__fail(&d->error, HD_INVALID, "the heap of %s is not for a light dump", own.allocator);
    if (!heap->breakdown == !heap->profile)
        return hd__fail(&d->error, HD_INVALID, "the heap of %s: either a profile or a breakdown expected",
                        own.allocator);
    if (hd__heap_axes(heap) > 2)
        return hd__fail(&d->error, HD_UNSUPPORTED, "the heap of %s has more axes than backtrace and type",
                        own.allocator);
    for (size_t i = 0; i < hd__len(d->heaps); i++)
        if (!strcmp(d->heaps[i].allocator, own.allocator))
            return hd__fail(&d->error, HD_INVALID, "the heap of %s was given already", own.allocator);
    if (!hd__memory_dump_copy(d, &own.allocator) || !hd__room(m, d->heaps, 1))
        return hd__no_memory(m, &d->error);
    HD__TRY(hd_heap_break_down(heap, &desc->heap_cutoff, &options, &breakdown, &d->error));
    own.breakdown = breakdown;
    stbds_arrput(d->heaps, own);
    return HD_OK;
}

HEAPDUMP_API hd_status hd_memory_dump_add_recorder(hd_memory_dump *d, const char *allocator,
                                                   hd_recorder *rec,
                                                   const hd_snapshot_options *options) {
    hd_profile *profile;
    hd_heap heap;
    hd_recorder_stats stats;
    hd_status status;
    memset(&heap, 0, sizeof heap);
    heap.allocator = allocator;
    heap.sample_bytes = rec->sample_bytes;
    HD__TRY(hd_recorder_snapshot(rec, options, &profile, &d->error));
    heap.profile = profile;
    status = hd_memory_dump_add_heap(d, &heap);
    hd_profile_free(profile);
    hd_recorder_get_stats(rec, &stats);
    return status ? status : hd_memory_dump_add_overhead(d, stats.memory);
}

/* Takes what was added after there were this many. */
static void hd__memory_dump_cut(hd_memory_dump *d, size_t scalars, size_t heaps) {
    hd__mem *m = &d->manager->mem;
    for (size_t i = heaps; i < hd__len(d->heaps); i++)
        hd_breakdown_free((hd_breakdown *)(uintptr_t)d->heaps[i].breakdown);
    hd__set_len(d->heaps, heaps);
    hd__set_len(d->scalars, scalars);
    hd__index_free(m, &d->names);
}

static void hd__memory_dump_clear(hd_memory_dump *d) {
    hd__mem *m = &d->manager->mem;
    hd__memory_dump_cut(d, 0, 0);
    hd__arr_free(m, d->scalars);
    hd__arr_free(m, d->heaps);
    hd__arena_free(m, &d->arena);
    memset(&d->overhead, 0, sizeof d->overhead);
}

static void hd__manager_warn(hd_memory_dump_manager *m, const hd__registration *r, const hd_error *why) {
    hd_error warning;
    if (!m->desc.options.warning) return;
    hd__fail(&warning, why->status ? why->status : HD_INVALID, "provider %s failed%s%s%s",
             r->provider->name ? r->provider->name : "", why->status ? ": " : "",
             why->status ? why->message : "",
             r->failures == HD_PROVIDER_FAILURES ? "; it is asked no more" : "");
    m->desc.options.warning(m->desc.options.user, &warning);
}

/* One provider's part, or nothing. */
static hd_status hd__manager_ask(hd_memory_dump_manager *m, hd__registration *r, hd_error *err) {
    hd_memory_dump *d = &m->dump;
    size_t scalars = hd__len(d->scalars), heaps = hd__len(d->heaps);
    hd_memory overhead = d->overhead;
    memset(&d->error, 0, sizeof d->error);
    if (r->provider->on_memory_dump(r->provider->user, d->detail, d) && !d->error.status) {
        r->failures = 0;
        return HD_OK;
    }
    r->failures++;
    hd__manager_warn(m, r, &d->error);
    d->overhead = overhead;
    hd__memory_dump_cut(d, scalars, heaps);
    for (uint32_t i = 0; i < scalars; i++)
        if (!hd__index_add(&m->mem, &d->names, hd__scalar_rehash(d, i), i, hd__scalar_rehash, d))
            return hd__no_memory(&m->mem, err);
    return HD_OK;
}

/* What tracing takes. A provider that says so itself is believed. */
static hd_status hd__manager_overhead(hd_memory_dump_manager *m, hd_error *err) {
    hd_memory_dump *d = &m->dump;
    uint64_t own = m->mem.used + hd_chrome_writer_memory(m->writer);
    hd_status status;
    if (!d->overhead.reserved && !d->overhead.resident) return HD_OK;
    hd__sum(&d->overhead.reserved, own);
    hd__sum(&d->overhead.resident, own);
    memset(&d->error, 0, sizeof d->error);
    status = hd_memory_dump_add_scalar(d, "tracing/heap_profiler", "size", "bytes", d->overhead.reserved);
    if (!status)
        status = hd_memory_dump_add_scalar(d, "tracing/heap_profiler", "resident_size", "bytes",
                                           d->overhead.resident);
    if (status == HD_INVALID) return HD_OK; /* said already */
    if (status && err) *err = d->error;
    return status;
}

static hd_status hd__manager_write(hd_memory_dump_manager *m, uint64_t time_us, const char *trigger,
                                   hd_error *err) {
    hd_memory_dump *d = &m->dump;
    hd_chrome_dumps dumps;
    char id[24], digits[20], *at = hd__digits(digits, m->dumps + 1, 16);
    size_t length = (size_t)(digits + 20 - at);
    memcpy(id, "0x", 2);
    memcpy(id + 2, at, length);
    id[2 + length] = 0;
    for (size_t i = 0; i < hd__len(d->heaps); i++) {
        d->heaps[i].pid = m->desc.pid;
        d->heaps[i].process = m->desc.process;
        d->heaps[i].dump = id;
        d->heaps[i].time_us = time_us;
    }
    for (size_t i = 0; i < hd__len(d->scalars); i++) {
        d->scalars[i].pid = m->desc.pid;
        d->scalars[i].process = m->desc.process;
        d->scalars[i].dump = id;
        d->scalars[i].time_us = time_us;
    }
    memset(&dumps, 0, sizeof dumps);
    dumps.heaps = d->heaps;
    dumps.heap_count = hd__len(d->heaps);
    dumps.scalars = d->scalars;
    dumps.scalar_count = hd__len(d->scalars);
    dumps.detail = d->detail;
    dumps.trigger = trigger;
    if (!dumps.heap_count && !dumps.scalar_count) return HD_OK;
    HD__TRY(hd_chrome_writer_add(m->writer, &dumps, err));
    m->dumps++;
    return HD_OK;
}

static hd_status hd__manager_gather(hd_memory_dump_manager *m, hd_error *err) {
    const hd_options *o = &m->desc.options;
    size_t n = hd__len(m->providers);
    for (size_t i = 0; i < n; i++) {
        if (o->progress && !o->progress(o->user, i, n)) return hd__fail(err, HD_CANCELLED, "cancelled");
        if (m->providers[i].failures < HD_PROVIDER_FAILURES)
            HD__TRY(hd__manager_ask(m, &m->providers[i], err));
    }
    return hd__manager_overhead(m, err);
}

static hd_status hd__manager_dump(hd_memory_dump_manager *m, hd_detail detail, uint64_t time_us,
                                  const char *trigger, hd_error *err) {
    hd_status status;
    m->dump.detail = detail;
    status = hd__manager_gather(m, err);
    if (!status) status = hd__manager_write(m, time_us, trigger, err);
    hd__memory_dump_clear(&m->dump);
    return status;
}

HEAPDUMP_API hd_status hd_memory_dump_manager_dump(hd_memory_dump_manager *m, hd_detail detail,
                                                   uint64_t time_us, hd_error *err) {
    hd_status status;
    HD__TRY(hd__manager_enter(m, err));
    status = hd__manager_dump(m, detail, time_us, NULL, err);
    hd__manager_leave(m);
    return status;
}

/* Periods that passed without a call are not made up for. */
static hd_status hd__manager_tick(hd_memory_dump_manager *m, uint64_t time_us, hd_error *err) {
    uint64_t period = m->desc.period_us, passed = m->ticking ? (time_us - m->due_us) / period : 0;
    hd_detail detail;
    if (!m->ticking) m->due_us = time_us;
    m->ticking = true;
    detail = m->periods++ % m->desc.detailed_every ? HD_LIGHT : HD_DETAILED;
    m->due_us += (passed + 1) * period;
    if (m->due_us <= time_us) m->due_us = UINT64_MAX; /* past the end of the clock */
    return hd__manager_dump(m, detail, time_us, "periodic_interval", err);
}

HEAPDUMP_API hd_status hd_memory_dump_manager_tick(hd_memory_dump_manager *m, uint64_t time_us,
                                                   hd_error *err) {
    hd_status status = HD_OK;
    if (!m->desc.period_us) return HD_OK;
    HD__TRY(hd__manager_enter(m, err));
    if (!m->ticking || time_us >= m->due_us) status = hd__manager_tick(m, time_us, err);
    hd__manager_leave(m);
    return status;
}

/* ================================================================================== >>netcf
   The reader shows one line at a time, where it lies in memory or in a buffer that grows to the longest
   line. Documents keep two bits a record for the order of the four kinds, the records themselves being
   in the graph, and the text of lines that would be written otherwise than they were read. */

#define HD__NETCF_LINE ((size_t)1 << 28)

/* How a line is spelled. */
enum {
    HD__NETCF_CR = 1,            /* ends in CR LF */
    HD__NETCF_UPPER = 2,         /* has digits A to F */
    HD__NETCF_LOWER = 4,         /* has digits a to f */
    HD__NETCF_SPACE = 8,         /* a space at the end */
    HD__NETCF_ODD = 16,          /* leading zeros, more spaces than needed */
    HD__NETCF_WRONG = 32         /* lenient: not to be written like this */
};

struct hd_netcf_reader {
    hd__mem mem;
    hd_options options;
    hd_in in;
    const uint8_t *start, *at, *end; /* the window; `at`: the next line */
    uint64_t base;               /* offset of start in the input */
    uint64_t line, warnings, ticked;
    uint8_t *buffer;
    size_t capacity;
    uint64_t *references;        /* stb_ds arrays */
    char *domain;                /* name of the domain that is open */
    bool open, ended, bom, unterminated;
    const uint8_t *from, *to;    /* the line at hand, without its end */
    uint64_t before;             /* bytes of it in front of `from` */
    hd_error error;              /* of the line at hand */
};

HEAPDUMP_API hd_status hd_netcf_open(hd_in in, const hd_options *options, hd_netcf_reader **out,
                                     hd_error *err) {
    hd__mem mem = hd__mem_options(options);
    hd_netcf_reader *r = (hd_netcf_reader *)hd__realloc(&mem, NULL, 0, sizeof *r);
    if (!r) return hd__no_memory(&mem, err);
    memset(r, 0, sizeof *r);
    r->mem = mem;
    if (options) r->options = *options;
    r->in = in;
    if (!in.read) {
        r->start = r->at = in.data;
        r->end = in.data + in.size;
        r->ended = true;
    }
    *out = r;
    return HD_OK;
}

HEAPDUMP_API void hd_netcf_close(hd_netcf_reader *r) {
    hd__mem mem;
    if (!r) return;
    hd__free(&r->mem, r->buffer, r->capacity);
    hd__arr_free(&r->mem, r->references);
    hd__arr_free(&r->mem, r->domain);
    mem = r->mem;
    hd__free(&mem, r, sizeof *r);
}

HEAPDUMP_API uint64_t hd_netcf_reader_warnings(const hd_netcf_reader *r) { return r->warnings; }

/* More of the input behind what is in the window from `at` on. False when there is no memory; `ended`
   says when the input is. */
static hd_status hd__netcf_fill(hd_netcf_reader *r, hd_error *err) {
    size_t kept = (size_t)(r->end - r->at);
    int64_t n;
    if (kept) memmove(r->buffer, r->at, kept);
    r->base += (uint64_t)(r->at - r->start);
    if (kept == r->capacity) {
        size_t capacity = r->capacity ? 2 * r->capacity : HD__READER_BUFFER;
        uint8_t *grown = (uint8_t *)hd__realloc(&r->mem, r->buffer, r->capacity, capacity);
        if (grown) {
            r->buffer = grown;
            r->capacity = capacity;
        }
        r->start = r->at = r->buffer;
        r->end = r->buffer ? r->buffer + kept : NULL;
        if (!grown) return hd__no_memory(&r->mem, err);
    }
    r->start = r->at = r->buffer;
    n = r->in.read(r->in.user, r->buffer + kept, r->capacity - kept);
    if (n > (int64_t)(r->capacity - kept)) n = -1;
    r->end = r->buffer + kept + (n > 0 ? n : 0);
    r->ended = n <= 0;
    return n < 0 ? hd__fail_at(err, HD_IO, r->base + kept, r->line, "reading the input failed") : HD_OK;
}

/* Says what is wrong at a place of the line at hand. */
HD__NOINLINE static hd_status hd__netcf_bad(hd_netcf_reader *r, const uint8_t *at, const char *expected) {
    hd_str found;
    found.data = (const char *)at;
    found.len = (size_t)(r->to - at) < 40 ? (size_t)(r->to - at) : 40;
    hd__fail_at(&r->error, HD_MALFORMED, r->base + (uint64_t)(at - r->start), r->line,
                found.len ? "line %u, column %u: %s expected, found '%S'" : "line %u, column %u: %s expected",
                r->line, r->before + (uint64_t)(at - r->from) + 1, expected, found);
    r->error.column = r->before + (uint64_t)(at - r->from) + 1;
    return HD_MALFORMED;
}

/* What the reader does about the error it holds: counts it and goes on, or fails. */
static hd_status hd__netcf_complain(hd_netcf_reader *r, hd_error *err) {
    if (r->options.lenient && (r->error.status == HD_MALFORMED || r->error.status == HD_OVERFLOW)) {
        r->warnings++;
        if (r->options.warning) r->options.warning(r->options.user, &r->error);
        return HD_OK;
    }
    if (err) *err = r->error;
    return r->error.status;
}

/* Passes over what is left of a line that is too long. */
static hd_status hd__netcf_skip(hd_netcf_reader *r, hd_error *err) {
    for (;;) {
        const uint8_t *newline = (const uint8_t *)memchr(r->at, '\n', (size_t)(r->end - r->at));
        r->at = newline ? newline + 1 : r->end;
        if (newline || r->ended) return HD_OK;
        HD__TRY(hd__netcf_fill(r, err));
        if (!hd__go_on(&r->options, r->base, HD_UNKNOWN)) return hd__cancelled(err);
    }
}

/* The next line into from and to; *any is false at the end. */
static hd_status hd__netcf_line(hd_netcf_reader *r, bool *any, hd_error *err) {
    uint64_t length = (uint64_t)(r->to - r->from);
    for (;;) {
        const uint8_t *newline = NULL;
        size_t searched = 0, most;
        r->line++;
        for (;;) {
            size_t left = (size_t)(r->end - r->at);
            most = left > HD__NETCF_LINE + 1 ? HD__NETCF_LINE + 1 : left;
            if (most > searched) newline = (const uint8_t *)memchr(r->at + searched, '\n', most - searched);
            if (newline || r->ended || most > HD__NETCF_LINE) break;
            searched = most;
            HD__TRY(hd__netcf_fill(r, err));
        }
        *any = newline || most;
        if (!*any && r->unterminated) {  /* the end is that of the last line */
            r->line--;
            r->before = length;
        }
        r->from = r->at;
        r->to = newline ? newline : r->at + most;
        if (newline || most <= HD__NETCF_LINE) {
            r->at = newline ? newline + 1 : r->to;
            if (*any) r->unterminated = !newline;
            return HD_OK;
        }
        hd__netcf_bad(r, r->from + HD__NETCF_LINE, "a line of at most 2^28 bytes");
        HD__TRY(hd__netcf_complain(r, err));
        HD__TRY(hd__netcf_skip(r, err));
    }
}

/* By byte: the value of a digit with 32 for a to f and 64 for A to F; 128 for what is no digit. */
#define HD__X8 128, 128, 128, 128, 128, 128, 128, 128
#define HD__X32 HD__X8, HD__X8, HD__X8, HD__X8
static const uint8_t hd__hex_digit[256] = {
    HD__X32, HD__X8, HD__X8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 128, 128, 128, 128, 128, 128,
    128, 74, 75, 76, 77, 78, 79, 128, HD__X8, HD__X8, HD__X8,
    128, 42, 43, 44, 45, 46, 47, 128, HD__X8, HD__X8, HD__X8,
    HD__X32, HD__X32, HD__X32, HD__X32 };

/* Eight digits at a time, where a word in memory starts with its lowest byte: the value of the bytes at p up
   to the first one that is a blank or control character, at most eight of them. Returns how many these are,
   0 when not all are hexadecimal digits. The next word can be fetched once their number is known, before
   their value is. */
#if defined(__GNUC__) && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define HD__HEX_WORDS
typedef struct hd__letters {
    uint64_t lower, upper;       /* not 0: there were digits a to f, A to F */
} hd__letters;

HD__INLINE unsigned hd__hex_word(const uint8_t *p, uint64_t *value, hd__letters *seen) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t x, v, end, cases, again;
    unsigned n, rest;
    memcpy(&x, p, 8);
    end = (x - '!' * ones) & ~x & 128 * ones;
    if (HD__UNLIKELY(end & 128)) return 0;
    n = (unsigned)__builtin_ctzll(end >> 8 | (uint64_t)1 << 63) / 8 + 1; /* no branch: ids of 7 and 8 digits */
    rest = 64 - 8 * n;
    x <<= rest;
    v = (x & 15 * ones) + 9 * (x >> 6 & ones);
    cases = (x & 64 * ones) >> 1; /* of letters, the bit that lower case has */
    again = v + '0' * ones + ('a' - '9' - 1) * ((v + 6 * ones) >> 4 & ones);
    if (HD__UNLIKELY(((again ^ (x | cases)) | (v & 240 * ones)) >> rest)) return 0;
    seen->lower |= cases & x;
    seen->upper |= cases & ~x;
    v = __builtin_bswap64(v);
    v = (v | v >> 4) & UINT64_C(0x00ff00ff00ff00ff);
    v = (v | v >> 8) & UINT64_C(0x0000ffff0000ffff);
    *value = (uint32_t)(v | v >> 16);
    return n;
}

HD__INLINE uint32_t hd__letters_form(const hd__letters *seen) {
    return (uint32_t)(seen->lower != 0) * HD__NETCF_LOWER | (uint32_t)(seen->upper != 0) * HD__NETCF_UPPER;
}
#endif

/* A number at *at, which moves on to the space behind it or to the end of the line. */
HD__INLINE hd_status hd__netcf_hex(hd_netcf_reader *r, const uint8_t **at, const char *what, uint64_t *value,
                                   uint32_t *form) {
    const uint8_t *p = *at, *end = r->to;
    uint64_t v = 0;
    uint8_t seen = 0, digit = 128;
#if defined(HD__HEX_WORDS)
    if (HD__LIKELY(r->end - p > 8)) {
        hd__letters letters = { 0, 0 };
        unsigned n = hd__hex_word(p, &v, &letters);
        if (HD__LIKELY(n && (p[n] == ' ' || p + n == end))) {
            *form |= hd__letters_form(&letters) | (uint32_t)(*p == '0' && n > 1) * HD__NETCF_ODD;
            *value = v;
            *at = p + n;
            return HD_OK;
        }
        v = 0;                   /* none, more than eight, or something behind them */
    }
#endif
    for (; p < end && (digit = hd__hex_digit[*p]) < 128; p++) {
        if (HD__UNLIKELY(v >> 60)) return hd__netcf_bad(r, *at, "a number of at most 64 bits");
        v = v << 4 | (digit & 15);
        seen |= digit;
    }
    if (HD__UNLIKELY(p == *at || (p < end && *p != ' '))) return hd__netcf_bad(r, p, what);
    if (seen & 32) *form |= HD__NETCF_LOWER;
    if (seen & 64) *form |= HD__NETCF_UPPER;
    if (HD__UNLIKELY(**at == '0' && p - *at > 1)) *form |= HD__NETCF_ODD;
    *value = v;
    *at = p;
    return HD_OK;
}

static hd_status hd__netcf_decimal(hd_netcf_reader *r, const uint8_t **at, uint64_t *value, uint32_t *form) {
    const uint8_t *p = *at;
    uint64_t v = 0;
    for (; p < r->to && *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (v > (UINT64_MAX - digit) / 10) return hd__netcf_bad(r, *at, "a number of at most 64 bits");
        v = v * 10 + digit;
    }
    if (p == *at || (p < r->to && *p != ' ')) return hd__netcf_bad(r, p, "a size, a decimal number,");
    if (**at == '0' && p - *at > 1) *form |= HD__NETCF_ODD;
    *value = v;
    *at = p;
    return HD_OK;
}

/* Passes over the spaces before a field. */
HD__INLINE void hd__netcf_field(const hd_netcf_reader *r, const uint8_t **at, uint32_t *form) {
    const uint8_t *p = *at;
    if (HD__LIKELY(p < r->to && *p == ' ')) p++;
    while (HD__UNLIKELY(p < r->to && *p == ' ')) {
        p++;
        *form |= HD__NETCF_ODD;
    }
    *at = p;
}

static hd_status hd__netcf_small(hd_netcf_reader *r, const uint8_t **at, const char *what, uint32_t *value,
                                 uint32_t *form) {
    const uint8_t *from = *at;
    uint64_t v = 0;
    HD__TRY(hd__netcf_hex(r, at, what, &v, form));
    if (v > UINT32_MAX) return hd__netcf_bad(r, from, "a number of at most 32 bits");
    *value = (uint32_t)v;
    return HD_OK;
}

/* A name that ends at `end`. */
static hd_status hd__netcf_name(hd_netcf_reader *r, const uint8_t *at, const uint8_t *end, const char *what,
                                hd_str *name) {
    const uint8_t *nul;
    if (at >= end) return hd__netcf_bad(r, at > end ? end : at, what);
    nul = (const uint8_t *)memchr(at, 0, (size_t)(end - at));
    if (nul) return hd__netcf_bad(r, nul, "a name without NUL bytes");
    name->data = (const char *)at;
    name->len = (size_t)(end - at);
    return HD_OK;
}

/* "NAME TIME" to the end of the line. */
static hd_status hd__netcf_name_time(hd_netcf_reader *r, const uint8_t *at, hd_netcf_record *record) {
    const uint8_t *space = r->to;
    while (space > at && space[-1] != ' ') space--;
    if (space == at) {           /* one word, or none: which is missing? */
        HD__TRY(hd__netcf_name(r, at, r->to, "the name of an application", &record->name));
        return hd__netcf_bad(r, r->to, "a time stamp");
    }
    HD__TRY(hd__netcf_name(r, at, space - 1, "the name of an application", &record->name));
    return hd__netcf_hex(r, &space, "a time stamp, a hexadecimal number,", &record->time_ms, &record->form);
}

static hd_status hd__netcf_object(hd_netcf_reader *r, const uint8_t *at, hd_netcf_record *record) {
    uint32_t form = record->form;
    size_t n = 0, room = stbds_arrcap(r->references);
    HD__TRY(hd__netcf_hex(r, &at, "an object id, a hexadecimal number,", &record->id, &form));
    hd__netcf_field(r, &at, &form);
    HD__TRY(hd__netcf_hex(r, &at, "a type id, a hexadecimal number,", &record->type, &form));
    hd__netcf_field(r, &at, &form);
    if (r->options.netcf_decimal) HD__TRY(hd__netcf_decimal(r, &at, &record->size, &form));
    else HD__TRY(hd__netcf_hex(r, &at, "a size, a hexadecimal number,", &record->size, &form));
    while (at < r->to) {
        hd__netcf_field(r, &at, &form);
        if (at == r->to) {
            form |= HD__NETCF_SPACE;
            break;
        }
        if (HD__UNLIKELY(n + 4 > room)) { /* three for hd__netcf_plain_object */
            hd__set_len(r->references, n);
            if (!hd__room(&r->mem, r->references, 4)) return hd__no_memory(&r->mem, &r->error);
            room = stbds_arrcap(r->references);
        }
        HD__TRY(hd__netcf_hex(r, &at, "an object id, a hexadecimal number,", &r->references[n], &form));
        n++;
    }
    record->references = r->references;
    record->reference_count = n;
    record->form = form;
    return HD_OK;
}

static hd_status hd__netcf_root(hd_netcf_reader *r, const uint8_t *at, hd_netcf_record *record) {
    uint32_t *form = &record->form;
    HD__TRY(hd__netcf_hex(r, &at, "an object id, a hexadecimal number,", &record->id, form));
    hd__netcf_field(r, &at, form);
    HD__TRY(hd__netcf_small(r, &at, "a root descriptor, a hexadecimal number,", &record->descriptor, form));
    hd__netcf_field(r, &at, form);
    HD__TRY(hd__netcf_small(r, &at, "root flags, a hexadecimal number,", &record->flags, form));
    hd__netcf_field(r, &at, form);
    record->has_container = record->descriptor == HD_ROOT_STATIC;
    if (record->has_container) {
        HD__TRY(hd__netcf_hex(r, &at, "the root container of a static root", &record->type, form));
        hd__netcf_field(r, &at, form);
    }
    if (at < r->to) return hd__netcf_bad(r, at, "the end of the line");
    if (r->to[-1] == ' ') *form |= HD__NETCF_SPACE;
    return HD_OK;
}

/* Whether a record may stand here: 'a' opens a domain, 'c' closes it, all else is inside. */
static hd_status hd__netcf_place(hd_netcf_reader *r, hd_netcf_record *record) {
    hd_str open;
    open.data = r->domain;
    open.len = hd__len(r->domain);
    if (record->kind == 'a') {
        if (r->open) {
            hd__netcf_bad(r, r->from, "the end record of the application domain before");
            if (!r->options.lenient) return HD_MALFORMED;
            hd__netcf_complain(r, NULL);
        }
        hd__set_len(r->domain, 0);
        if (!hd__append(&r->mem, &r->domain, record->name)) return hd__no_memory(&r->mem, &r->error);
        r->open = true;
        return HD_OK;
    }
    if (!r->open) return hd__netcf_bad(r, r->from, "an application domain record");
    if (record->kind != 'c') return HD_OK;
    if (!hd_str_equal(open, record->name)) {
        hd__netcf_bad(r, r->from + 2, "the name in the application domain record");
        if (!r->options.lenient) return HD_MALFORMED;
        hd__netcf_complain(r, NULL);
        record->form |= HD__NETCF_WRONG;
    }
    r->open = false;
    return HD_OK;
}

static hd_status hd__netcf_parse(hd_netcf_reader *r, hd_netcf_record *record) {
    const uint8_t *at = r->from;
    record->line = r->line;
    record->offset = r->base + (uint64_t)(r->from - r->start);
    record->text.data = (const char *)r->from;
    record->text.len = (size_t)(r->to - r->from);
    record->form = 0;
    if (r->to > r->from && r->to[-1] == '\r') {
        r->to--;
        record->form = HD__NETCF_CR;
    }
    record->kind = at < r->to ? (char)*at : 0;
    if (record->kind != 'o' && record->kind != 'r' && record->kind != 't' && record->kind != 'a' &&
        record->kind != 'c')
        return hd__netcf_bad(r, at, "a record: a, t, o, r or c");
    if (++at == r->to || *at != ' ') return hd__netcf_bad(r, at, "a space after the record's letter");
    if (record->kind != 'o' && record->kind != 'r') at++;
    else hd__netcf_field(r, &at, &record->form);
    switch (record->kind) {
    case 'o':
        if (!r->open) break;
        return hd__netcf_object(r, at, record);
    case 'r':
        HD__TRY(hd__netcf_root(r, at, record));
        break;
    case 't':
        HD__TRY(hd__netcf_hex(r, &at, "a type id, a hexadecimal number,", &record->id, &record->form));
        HD__TRY(hd__netcf_name(r, at + 1, r->to, "the name of a type", &record->name));
        break;
    case 'a':
        HD__TRY(hd__netcf_small(r, &at, "a version, a hexadecimal number,", &record->version, &record->form));
        at++;
        /* fallthrough */
    default:
        HD__TRY(hd__netcf_name_time(r, at < r->to ? at : r->to, record));
    }
    return hd__netcf_place(r, record);
}

#if defined(HD__HEX_WORDS)
/* A number of at most 16 digits, without leading zeros, at p and behind it what ends it: its length, 0 when
   it is anything else. Reads 16 bytes. */
HD__INLINE unsigned hd__netcf_plain_number(const uint8_t *p, uint64_t *value, hd__letters *seen) {
    uint64_t low;
    unsigned n = hd__hex_word(p, value, seen), more;
    if (HD__LIKELY(p[n] <= ' ')) return *p == '0' && n > 1 ? 0 : n;
    more = n == 8 ? hd__hex_word(p + 8, &low, seen) : 0;
    if (!more || *p == '0') return 0;
    *value = *value << 4 * more | low;
    return n + more;
}

/* The record at hand when it is what nearly all are: an object, spelled without anything that is not needed,
   and far enough from the end of the window. All else is left to others, as if not looked at. */
HD__INLINE bool hd__netcf_plain_object(hd_netcf_reader *r, hd_netcf_record *record) {
    const uint8_t *from = r->at, *p = from + 2, *newline;
    uint64_t *number = r->references;
    size_t n = 0, room = stbds_arrcap(number), left = (size_t)(r->end - from);
    hd__letters seen = { 0, 0 };
    if (left > HD__NETCF_LINE) left = HD__NETCF_LINE;
    if (left < 64 || from[0] != 'o' || from[1] != ' ' || !r->open || r->options.netcf_decimal) return false;
    for (;;) {
        unsigned length;
        if ((size_t)(p - from) > left - 20 || n == room) return false;
        length = hd__netcf_plain_number(p, &number[n], &seen);
        p += length;
        if (!length) break;
        n++;
        if (*p != ' ') break;
        p++;
    }
    if (n < 3) return false;
    record->form = hd__letters_form(&seen) | (uint32_t)(p[-1] == ' ') * HD__NETCF_SPACE;
    record->form |= (uint32_t)(*p == '\r') * HD__NETCF_CR;
    newline = p + (*p == '\r');
    if (*newline != '\n') return false;
    r->from = from;
    r->to = p;
    r->at = newline + 1;
    record->kind = 'o';
    record->id = number[0];
    record->type = number[1];
    record->size = number[2];
    record->references = number + 3;
    record->reference_count = n - 3;
    record->line = ++r->line;
    record->offset = r->base + (uint64_t)(from - r->start);
    record->text.data = (const char *)from;
    record->text.len = (size_t)(newline - from);
    r->unterminated = false;
    return true;
}
#else
HD__INLINE bool hd__netcf_plain_object(hd_netcf_reader *r, hd_netcf_record *record) {
    (void)r, (void)record;
    return false;
}
#endif

/* What is left to say when the input has ended. */
static hd_status hd__netcf_end(hd_netcf_reader *r, hd_netcf_record *record, hd_error *err) {
    record->kind = 0;
    if (!r->open) return HD_OK;
    r->open = false;
    hd__netcf_bad(r, r->from, "the end record of the application domain");
    return hd__netcf_complain(r, err);
}

HEAPDUMP_API hd_status hd_netcf_next(hd_netcf_reader *r, hd_netcf_record *record, hd_error *err) {
    for (;;) {
        hd_status status;
        bool any;
        uint64_t done = r->base + (uint64_t)(r->at - r->start);
        if (done >= r->ticked) {
            r->ticked = done + 1048576;
            if (!hd__go_on(&r->options, done, r->in.read ? HD_UNKNOWN : r->in.size))
                return hd__cancelled(err);
        }
        r->before = 0;
        if (HD__LIKELY(hd__netcf_plain_object(r, record))) return HD_OK;
        HD__TRY(hd__netcf_line(r, &any, err));
        if (r->line == 1 && r->to - r->from >= 3 && !memcmp(r->from, "\xef\xbb\xbf", 3)) {
            r->bom = true;
            r->from += 3;
            r->before = 3;
        }
        if (!any) return hd__netcf_end(r, record, err);
        status = hd__netcf_parse(r, record);
        if (!status) return HD_OK;
        r->error.status = status;
        HD__TRY(hd__netcf_complain(r, err));
    }
}

/* Documents. ---------------------------------------------------------------------------------- */

enum { HD__NETCF_T, HD__NETCF_O, HD__NETCF_R, HD__NETCF_A_C };

typedef struct hd__netcf_odd {
    uint64_t record;
    hd_str text;
} hd__netcf_odd;

typedef struct hd__netcf_section {
    hd_netcf_domain domain;
    hd_graph *graph;
    uint64_t line, offset;       /* of its first record */
    uint64_t records;
    uint8_t *kinds;              /* four a byte. stb_ds arrays */
    uint32_t *types;             /* by type record: class */
    hd__netcf_odd *odd;          /* lines kept as they are, by record */
    uint32_t style, known;       /* of HD__NETCF_CR and so on: how all other lines are spelled */
    bool ended, closed;          /* its end record was there; its graph is sealed */
} hd__netcf_section;

struct hd_netcf {
    hd__mem mem;
    hd__arena arena;
    hd__netcf_section *sections; /* stb_ds array */
    hd_graph *merged;            /* of several domains */
    uint64_t warnings;
    bool decimal, bom, unterminated;
};

#define HD__NETCF_SAMPLE 65536u    /* objects of a domain, from which is told how many there will be */
#define HD__NETCF_CACHE 2048u     /* entries: more than most programs have types */

typedef struct hd__netcf_in {
    hd_netcf *doc;
    hd_netcf_reader *r;
    hd_options options;
    hd__index types;             /* classes of the open domain by id */
    hd__index seen;              /* objects of it by id, once lenient reading finds ids out of order */
    bool ordered;                /* ids of objects ascended so far */
    uint64_t seed, last;
    uint64_t graphs;             /* bytes that the closed domains' graphs take */
    struct { uint64_t id; uint32_t class_index, section; } cache[HD__NETCF_CACHE]; /* section from 1 */
} hd__netcf_in;

static uint64_t hd__netcf_type_hash(const void *owner, uint32_t number) {
    const hd__netcf_in *x = (const hd__netcf_in *)owner;
    return hd__hash_u64(x->seed, stbds_arrlast(x->doc->sections).graph->classes[number].id);
}

static uint64_t hd__netcf_object_hash(const void *owner, uint32_t number) {
    const hd__netcf_in *x = (const hd__netcf_in *)owner;
    return hd__hash_u64(x->seed, hd__ids_get(&stbds_arrlast(x->doc->sections).graph->id, number));
}

/* The class of a type id, made nameless when no record named it so far. */
static hd_status hd__netcf_class(hd__netcf_in *x, uint64_t id, uint32_t *class_index) {
    hd_graph *g = stbds_arrlast(x->doc->sections).graph;
    uint32_t line = (uint32_t)(id % HD__NETCF_CACHE), section = (uint32_t)hd__len(x->doc->sections), n;
    uint64_t hash;
    size_t probe = 0;
    if (HD__LIKELY(x->cache[line].section == section && x->cache[line].id == id)) {
        *class_index = x->cache[line].class_index;
        return HD_OK;
    }
    hash = hd__hash_u64(x->seed, id);
    while ((n = hd__index_next(&x->types, hash, &probe)) != HD_NONE)
        if (g->classes[n].id == id) break;
    if (n == HD_NONE) {
        char text[32] = "<type ", digits[20], *p = hd__digits(digits, id, 16);
        hd_class desc;
        size_t length = (size_t)(digits + 20 - p);
        memcpy(text + 6, p, length);
        text[6 + length] = '>';
        memset(&desc, 0, sizeof desc);
        desc.id = id;
        desc.name.data = text;
        desc.name.len = length + 7;
        desc.scope = stbds_arrlast(x->doc->sections).domain.name;
        HD__TRY(hd_graph_add_class(g, &desc, &n));
        if (!hd__index_add(&x->doc->mem, &x->types, hash, n, hd__netcf_type_hash, x)) return HD_OUT_OF_MEMORY;
    }
    x->cache[line].id = id;
    x->cache[line].section = section;
    x->cache[line].class_index = n;
    *class_index = n;
    return HD_OK;
}

/* What the document and its graphs leave of the memory allowed; at least a byte, 0 being no bound. */
static uint64_t hd__netcf_rest(const hd__netcf_in *x) {
    uint64_t rest = hd__mem_rest(&x->doc->mem).limit;
    return rest > x->graphs ? rest - x->graphs : 1;
}

static hd_status hd__netcf_begin(hd__netcf_in *x, const hd_netcf_record *record) {
    hd_netcf *doc = x->doc;
    hd__netcf_section s;
    hd_graph_desc desc;
    hd_error error;
    memset(&desc, 0, sizeof desc);
    desc.allocator = doc->mem.allocator;
    desc.limits = x->options.limits;
    desc.limits.max_memory = hd__netcf_rest(x);
    memset(&s, 0, sizeof s);
    s.line = record->line;
    s.offset = record->offset;
    s.domain.version = record->version;
    s.domain.begin_ms = s.domain.end_ms = record->time_ms;
    s.domain.name = record->name;
    s.domain.name.data = hd__arena_str(&doc->mem, &doc->arena, record->name);
    if (!s.domain.name.data || !hd__room(&doc->mem, doc->sections, 1)) return HD_OUT_OF_MEMORY;
    s.graph = hd_graph_create(&desc, &error);
    if (!s.graph) return error.status;
    s.domain.graph = s.graph;
    stbds_arrput(doc->sections, s);
    hd__index_free(&doc->mem, &x->types);
    hd__index_free(&doc->mem, &x->seen);
    x->ordered = true;
    return HD_OK;
}

/* An error about a place in the line at hand that only the document can see. */
static hd_status hd__netcf_reject(hd__netcf_in *x, const char *expected) {
    const uint8_t *id = x->r->from + 2;
    while (id < x->r->to && *id == ' ') id++;
    return hd__netcf_bad(x->r, id, expected);
}

static hd_status hd__netcf_type(hd__netcf_in *x, const hd_netcf_record *record) {
    hd__netcf_section *s = &stbds_arrlast(x->doc->sections);
    hd_class desc;
    uint32_t n;
    HD__TRY(hd__netcf_class(x, record->id, &n));
    desc = s->graph->classes[n];
    if (desc.described) return hd__netcf_reject(x, "a type that was not described before");
    desc.name = record->name;
    desc.described = true;
    HD__TRY(hd_graph_set_class(s->graph, n, &desc));
    return hd__push(&x->doc->mem, s->types, n) ? HD_OK : HD_OUT_OF_MEMORY;
}

/* Lenient reading: whether an object with this id is there already. */
static hd_status hd__netcf_unseen(hd__netcf_in *x, uint64_t id) {
    hd_graph *g = stbds_arrlast(x->doc->sections).graph;
    uint64_t hash = hd__hash_u64(x->seed, id);
    size_t probe = 0;
    uint32_t n = g->described;
    if (x->ordered) {
        x->ordered = !n || id > x->last;
        x->last = id;
        for (uint32_t i = 0; i < n && !x->ordered; i++)
            if (!hd__index_add(&x->doc->mem, &x->seen, hd__netcf_object_hash(x, i), i,
                               hd__netcf_object_hash, x))
                return HD_OUT_OF_MEMORY;
        if (x->ordered) return HD_OK;
    }
    while ((n = hd__index_next(&x->seen, hash, &probe)) != HD_NONE)
        if (hd__ids_get(&g->id, n) == id)
            return hd__netcf_reject(x, "an object that was not described before");
    return hd__index_add(&x->doc->mem, &x->seen, hash, g->described, hd__netcf_object_hash, x)
               ? HD_OK : HD_OUT_OF_MEMORY;
}

/* What the rest of an input of known length will hold, going by the domain so far. */
static void hd__netcf_expect(hd__netcf_in *x, const hd_netcf_record *record) {
    hd__netcf_section *s = &stbds_arrlast(x->doc->sections);
    uint64_t size = x->r->in.size;
    if (x->r->in.read || size < record->offset) return;
    hd__graph_expect(s->graph, 1.0625 * (double)(size - record->offset) / (double)(record->offset - s->offset));
}

static hd_status hd__netcf_take_object(hd__netcf_in *x, const hd_netcf_record *record) {
    hd_graph *g = stbds_arrlast(x->doc->sections).graph;
    uint32_t class_index;
    hd_status status;
    if (x->options.lenient) {
        uint64_t bytes = g->bytes;
        if (!hd__sum(&bytes, record->size))
            return hd__netcf_reject(x, "a size that does not take the sum past 2^64");
        HD__TRY(hd__netcf_unseen(x, record->id));
    }
    if (HD__UNLIKELY(g->described == HD__NETCF_SAMPLE)) hd__netcf_expect(x, record);
    HD__TRY(hd__netcf_class(x, record->type, &class_index));
    status = hd_graph_add_object(g, record->id, class_index, record->size);
    if (status == HD_OVERFLOW) {
        hd__netcf_reject(x, "a size that does not take the sum past 2^64");
        return x->r->error.status = HD_OVERFLOW;
    }
    return status ? status : hd_graph_add_references(g, record->references, record->reference_count);
}

static hd_status hd__netcf_take_root(hd__netcf_in *x, const hd_netcf_record *record) {
    hd_root root;
    root.object = 0;
    root.kind = record->descriptor;
    root.flags = record->flags;
    root.container = HD_NONE;
    if (record->has_container) HD__TRY(hd__netcf_class(x, record->type, &root.container));
    return hd_graph_add_root(stbds_arrlast(x->doc->sections).graph, record->id, &root);
}

/* Whether a line would be written otherwise than it was read; the first of its kind sets the style. */
static bool hd__netcf_is_odd(hd__netcf_section *s, const hd_netcf_record *record) {
    uint32_t style = record->form & (HD__NETCF_CR | HD__NETCF_UPPER | HD__NETCF_SPACE), known = HD__NETCF_CR;
    if (record->form & (HD__NETCF_UPPER | HD__NETCF_LOWER)) known |= HD__NETCF_UPPER;
    if (record->kind == 'o') known |= HD__NETCF_SPACE;
    s->style |= style & known & ~s->known;
    s->known |= known;
    if (record->form & HD__NETCF_WRONG) return false;
    return (record->form & HD__NETCF_ODD) || ((style ^ s->style) & known) ||
           (record->kind != 'o' && (style & HD__NETCF_SPACE)) ||
           (record->form & (HD__NETCF_UPPER | HD__NETCF_LOWER)) == (HD__NETCF_UPPER | HD__NETCF_LOWER);
}

/* Notes the place of a record among the others. */
static hd_status hd__netcf_note(hd__netcf_in *x, const hd_netcf_record *record) {
    hd__mem *m = &x->doc->mem;
    hd__netcf_section *s = &stbds_arrlast(x->doc->sections);
    unsigned kind = record->kind == 't'   ? HD__NETCF_T
                    : record->kind == 'o' ? HD__NETCF_O
                    : record->kind == 'r' ? HD__NETCF_R
                                          : HD__NETCF_A_C;
    if (s->records % 4 == 0 && !hd__push(m, s->kinds, 0)) return HD_OUT_OF_MEMORY;
    stbds_arrlast(s->kinds) = (uint8_t)(stbds_arrlast(s->kinds) | kind << (s->records % 4 * 2));
    if (HD__UNLIKELY(hd__netcf_is_odd(s, record))) {
        hd__netcf_odd odd;
        odd.record = s->records;
        odd.text = record->text;
        odd.text.data = hd__arena_str(m, &x->doc->arena, record->text);
        if (!odd.text.data || !hd__push(m, s->odd, odd)) return HD_OUT_OF_MEMORY;
    }
    s->records++;
    return HD_OK;
}

static unsigned hd__netcf_kind(const hd__netcf_section *s, uint64_t record) {
    return s->kinds[record / 4] >> (record % 4 * 2) & 3;
}

/* The line of an object of a domain that has a record a line: strict reading. */
static uint64_t hd__netcf_line_of(const hd__netcf_section *s, uint32_t object) {
    uint64_t i = 0;
    for (uint32_t n = 0; i < s->records; i++)
        if (hd__netcf_kind(s, i) == HD__NETCF_O && n++ == object) break;
    return s->line + i;
}

static hd_status hd__netcf_finish(hd__netcf_in *x, hd_error *err) {
    hd__netcf_section *s = &stbds_arrlast(x->doc->sections);
    uint32_t duplicate;
    hd_status status;
    hd_error error;
    memset(&error, 0, sizeof error);
    s->closed = true;
    hd__trim(&x->doc->mem, s->kinds);
    status = hd__graph_seal(s->graph, &x->options, &duplicate, &error);
    x->graphs += s->graph->mem.used;
    if (status && duplicate != HD_NONE) {
        uint64_t line = hd__netcf_line_of(s, duplicate), column = 3;
        uint64_t record = line - s->line;
        for (size_t i = 0; i < hd__len(s->odd); i++)
            if (s->odd[i].record == record)
                while (s->odd[i].text.data[column - 1] == ' ') column++;
        hd__fail_at(&error, HD_MALFORMED, HD_UNKNOWN, line,
                    "line %u, column %u: an object that was not described before expected, found '%x'", line,
                    column, hd__ids_get(&s->graph->id, duplicate));
        error.column = column;
    }
    if (status && err) *err = error;
    return status;
}

/* One record into the document; what is wrong with it is the reader's error. */
static hd_status hd__netcf_take(hd__netcf_in *x, const hd_netcf_record *record) {
    switch (record->kind) {
    case 'a': HD__TRY(hd__netcf_begin(x, record)); break;
    case 't': HD__TRY(hd__netcf_type(x, record)); break;
    case 'o': HD__TRY(hd__netcf_take_object(x, record)); break;
    case 'r': HD__TRY(hd__netcf_take_root(x, record)); break;
    default:
        stbds_arrlast(x->doc->sections).domain.end_ms = record->time_ms;
        stbds_arrlast(x->doc->sections).ended = true;
    }
    return hd__netcf_note(x, record);
}

static hd_status hd__netcf_run(hd__netcf_in *x, hd_error *err) {
    hd_netcf *doc = x->doc;
    hd_netcf_record record;
    for (;;) {
        bool open = hd__len(doc->sections) && !stbds_arrlast(doc->sections).closed;
        hd_status status;
        HD__TRY(hd_netcf_next(x->r, &record, err));
        if (open && (record.kind == 'a' || !record.kind)) HD__TRY(hd__netcf_finish(x, err));
        if (!record.kind) return HD_OK;
        x->r->error.status = HD_OK;
        status = hd__netcf_take(x, &record);
        if (status && x->r->error.status == status) {
            HD__TRY(hd__netcf_complain(x->r, err));
            continue;
        }
        if (status)
            return hd__fail_at(err, doc->mem.over || status == HD_LIMIT ? HD_LIMIT : status, record.offset,
                               record.line, "%s at record %c", hd_status_text(status), record.kind);
        if (record.kind == 'c') HD__TRY(hd__netcf_finish(x, err));
    }
}

/* One graph of all domains. */
static hd_status hd__netcf_merge(hd__netcf_in *x, hd_error *err) {
    hd_netcf *doc = x->doc;
    hd_options options = x->options;
    size_t n = hd__len(doc->sections);
    const hd_graph **graphs;
    hd_status status;
    if (n < 2) return HD_OK;
    graphs = (const hd_graph **)hd__calloc(&doc->mem, n, sizeof *graphs);
    if (!graphs) return hd__no_memory(&doc->mem, err);
    for (size_t i = 0; i < n; i++) graphs[i] = doc->sections[i].graph;
    options.limits.max_memory = hd__netcf_rest(x);
    status = hd_graph_merge(graphs, n, &options, &doc->merged, err);
    hd__cfree(&doc->mem, graphs, n, sizeof *graphs);
    return status;
}

HEAPDUMP_API hd_status hd_netcf_read(hd_in in, const hd_options *options, hd_netcf **out, hd_error *err) {
    hd__mem mem = hd__mem_options(options);
    hd__netcf_in *x;
    hd_netcf *doc = (hd_netcf *)hd__realloc(&mem, NULL, 0, sizeof *doc);
    hd_status status;
    if (!doc) return hd__no_memory(&mem, err);
    memset(doc, 0, sizeof *doc);
    doc->mem = mem;
    x = (hd__netcf_in *)hd__calloc(&doc->mem, 1, sizeof *x);
    if (!x) {
        status = hd__no_memory(&doc->mem, err);
        hd_netcf_free(doc);
        return status;
    }
    x->doc = doc;
    x->seed = hd__seed();
    if (options) x->options = *options;
    doc->decimal = x->options.netcf_decimal;
    status = hd_netcf_open(in, options, &x->r, err);
    if (!status) {
        status = hd__netcf_run(x, err);
        doc->warnings = x->r->warnings;
        doc->bom = x->r->bom;
        doc->unterminated = x->r->unterminated;
    }
    hd_netcf_close(x->r);
    hd__index_free(&doc->mem, &x->types);
    hd__index_free(&doc->mem, &x->seen);
    if (!status) status = hd__netcf_merge(x, err);
    hd__cfree(&doc->mem, x, 1, sizeof *x);
    if (status) hd_netcf_free(doc);
    else *out = doc;
    return status;
}

HEAPDUMP_API void hd_netcf_free(hd_netcf *doc) {
    hd__mem mem;
    if (!doc) return;
    for (size_t i = 0; i < hd__len(doc->sections); i++) {
        hd__netcf_section *s = &doc->sections[i];
        hd_graph_free(s->graph);
        hd__arr_free(&doc->mem, s->kinds);
        hd__arr_free(&doc->mem, s->types);
        hd__arr_free(&doc->mem, s->odd);
    }
    hd_graph_free(doc->merged);
    hd__arr_free(&doc->mem, doc->sections);
    hd__arena_free(&doc->mem, &doc->arena);
    mem = doc->mem;
    hd__free(&mem, doc, sizeof *doc);
}

HEAPDUMP_API size_t hd_netcf_domain_count(const hd_netcf *doc) { return hd__len(doc->sections); }

HEAPDUMP_API hd_netcf_domain hd_netcf_get_domain(const hd_netcf *doc, size_t index) {
    return doc->sections[index].domain;
}

HEAPDUMP_API const hd_graph *hd_netcf_graph(const hd_netcf *doc) {
    return doc->merged ? doc->merged : hd__len(doc->sections) ? doc->sections[0].graph : NULL;
}

HEAPDUMP_API uint64_t hd_netcf_warning_count(const hd_netcf *doc) { return doc->warnings; }

/* Writing. ------------------------------------------------------------------------------------ */

typedef struct hd__netcf_out {
    hd_sink sink;
    const char *digits;          /* "0123456789abcdef", or with capitals */
    bool cr, space, decimal;
    bool own_ids, own_types;     /* numbers from 1 instead of the graph's ids, which are not unique */
} hd__netcf_out;

static void hd__netcf_letter(hd__netcf_out *o, const char *letter) { hd__sink_put(&o->sink, letter, 1); }

/* A space and a number. */
static void hd__netcf_number(hd__netcf_out *o, uint64_t value) {
    char text[17], *p = text + 17;
    do *--p = o->digits[value & 15], value >>= 4;
    while (value);
    *--p = ' ';
    hd__sink_put(&o->sink, p, (size_t)(text + 17 - p));
}

static void hd__netcf_line_end(hd__netcf_out *o) {
    hd__sink_put(&o->sink, o->cr ? "\r\n" : "\n", o->cr ? 2 : 1);
}

static void hd__netcf_object_id(hd__netcf_out *o, const hd_graph *g, uint32_t object) {
    hd__netcf_number(o, o->own_ids ? object + (uint64_t)1 : hd__graph_id(g, object));
}

static void hd__netcf_type_id(hd__netcf_out *o, const hd_graph *g, uint32_t class_index) {
    hd__netcf_number(o, o->own_types ? class_index : g->classes[class_index].id);
}

/* A space and a name, which is one line of at least a byte. */
static void hd__netcf_put_name(hd__netcf_out *o, hd_str name) {
    hd__netcf_letter(o, " ");
    if (!name.len) hd__netcf_letter(o, "?");
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        bool bad = c == '\n' || !c || (c == '\r' && i + 1 == name.len);
        hd__netcf_letter(o, bad ? "?" : name.data + i);
    }
}

static void hd__netcf_put_object(hd__netcf_out *o, const hd_graph *g, uint32_t object) {
    hd_object x = hd_graph_object(g, object);
    hd__netcf_letter(o, "o");
    hd__netcf_object_id(o, g, object);
    hd__netcf_type_id(o, g, x.class_index);
    if (o->decimal) {
        char digits[20], *p = hd__digits(digits, x.size, 10);
        hd__netcf_letter(o, " ");
        hd__sink_put(&o->sink, p, (size_t)(digits + 20 - p));
    } else {
        hd__netcf_number(o, x.size);
    }
    for (uint32_t i = 0; i < x.reference_count; i++) hd__netcf_object_id(o, g, x.references[i]);
    if (o->space) hd__netcf_letter(o, " ");
    hd__netcf_line_end(o);
}

static void hd__netcf_put_type(hd__netcf_out *o, const hd_graph *g, uint32_t class_index) {
    hd__netcf_letter(o, "t");
    hd__netcf_type_id(o, g, class_index);
    hd__netcf_put_name(o, g->classes[class_index].name);
    hd__netcf_line_end(o);
}

static void hd__netcf_put_root(hd__netcf_out *o, const hd_graph *g, uint32_t root) {
    const hd_root *r = &g->roots[root];
    hd__netcf_letter(o, "r");
    hd__netcf_object_id(o, g, r->object);
    hd__netcf_number(o, r->kind);
    hd__netcf_number(o, r->flags);
    if (r->kind == HD_ROOT_STATIC) hd__netcf_type_id(o, g, r->container == HD_NONE ? 0 : r->container);
    hd__netcf_line_end(o);
}

static void hd__netcf_put_domain(hd__netcf_out *o, const hd_netcf_domain *domain, bool begin) {
    hd__netcf_letter(o, begin ? "a" : "c");
    if (begin) hd__netcf_number(o, domain->version);
    hd__netcf_put_name(o, domain->name);
    hd__netcf_number(o, begin ? domain->begin_ms : domain->end_ms);
    hd__netcf_line_end(o);
}

static void hd__netcf_out_begin(hd__netcf_out *o, hd_out out, bool decimal) {
    hd__sink_begin(&o->sink, out);
    o->digits = "0123456789abcdef";
    o->cr = o->space = o->own_ids = o->own_types = false;
    o->decimal = decimal;
}

static hd_status hd__netcf_out_end(hd__netcf_out *o, hd_status status, hd_error *err) {
    if (status) return hd__cancelled(err);
    status = hd__sink_flush(&o->sink);
    return status ? hd__fail(err, status, "writing the dump failed") : HD_OK;
}

/* Record i of a domain; next[] counts types, objects and roots so far. */
static void hd__netcf_put(hd__netcf_out *o, const hd__netcf_section *s, uint64_t i, uint32_t next[3]) {
    switch (hd__netcf_kind(s, i)) {
    case HD__NETCF_T: hd__netcf_put_type(o, s->graph, s->types[next[0]++]); break;
    case HD__NETCF_O: hd__netcf_put_object(o, s->graph, next[1]++); break;
    case HD__NETCF_R: hd__netcf_put_root(o, s->graph, next[2]++); break;
    default: hd__netcf_put_domain(o, &s->domain, i == 0);
    }
}

/* A line as it was read, with its LF. */
static void hd__netcf_put_odd(hd__netcf_out *o, const hd__netcf_section *s, uint64_t i, hd_str text,
                              uint32_t next[3]) {
    unsigned kind = hd__netcf_kind(s, i);
    if (kind != HD__NETCF_A_C) next[kind]++;
    hd__sink_str(&o->sink, text);
    hd__netcf_letter(o, "\n");
}

HEAPDUMP_API hd_status hd_netcf_write(const hd_netcf *doc, const hd_options *options, hd_out out,
                                      hd_error *err) {
    hd__netcf_out o;
    hd_status status = HD_OK;
    uint64_t done = 0, total = 0;
    hd__netcf_out_begin(&o, out, doc->decimal);
    if (doc->bom && hd__len(doc->sections)) hd__sink_put(&o.sink, "\xef\xbb\xbf", 3);
    for (size_t k = 0; k < hd__len(doc->sections); k++) total += doc->sections[k].records;
    for (size_t k = 0; k < hd__len(doc->sections) && !status; k++) {
        const hd__netcf_section *s = &doc->sections[k];
        uint32_t next[3] = { 0, 0, 0 };
        size_t odd = 0;
        o.digits = s->style & HD__NETCF_UPPER ? "0123456789ABCDEF" : "0123456789abcdef";
        o.cr = (s->style & HD__NETCF_CR) != 0;
        o.space = (s->style & HD__NETCF_SPACE) != 0;
        for (uint64_t i = 0; i < s->records && !o.sink.status && !status; i++, done++) {
            if (!(done & HD__TICK) && !hd__go_on(options, done, total)) status = HD_CANCELLED;
            if (odd < hd__len(s->odd) && s->odd[odd].record == i)
                hd__netcf_put_odd(&o, s, i, s->odd[odd++].text, next);
            else
                hd__netcf_put(&o, s, i, next);
        }
        if (!s->ended) hd__netcf_put_domain(&o, &s->domain, false);
    }
    if (doc->unterminated && o.sink.fill) o.sink.fill--; /* the LF of the last line */
    return hd__netcf_out_end(&o, status, err);
}

/* Whether two classes have one id. True also when there is no memory to find out. */
static bool hd__netcf_types_collide(const hd_graph *g, hd__mem m) {
    uint32_t n = (uint32_t)hd__len(g->classes);
    uint64_t *sorted = NULL;
    hd__ids ids = { NULL, NULL };
    bool ok = true;
    for (uint32_t i = 0; i < n && ok; i++) ok = hd__ids_push(&m, &ids, g->classes[i].id);
    ok = ok && (sorted = hd__ids_sorted(&m, &ids, n)) != NULL;
    for (uint32_t i = 1; i < n && ok; i++)
        ok = hd__ids_get(&ids, (uint32_t)sorted[i - 1]) != hd__ids_get(&ids, (uint32_t)sorted[i]);
    hd__ids_free(&m, &ids);
    hd__arr_free(&m, sorted);
    return !ok;
}

HEAPDUMP_API hd_status hd_netcf_write_graph(const hd_graph *g, const hd_netcf_domain *domain,
                                            const hd_options *options, hd_out out, hd_error *err) {
    hd__netcf_out o;
    hd_netcf_domain d;
    hd_status status = HD_OK;
    memset(&d, 0, sizeof d);
    if (domain) d = *domain;
    if (!d.name.len) d.name = hd_cstr("heap");
    if (!d.version) d.version = 2;
    HD__TRY(hd__graph_ready(g, err));
    hd__netcf_out_begin(&o, out, options && options->netcf_decimal);
    o.own_ids = !g->dense && hd__graph_duplicate(g) != HD_NONE;
    o.own_types = hd__netcf_types_collide(g, hd__mem_options(options));
    hd__netcf_put_domain(&o, &d, true);
    for (uint32_t i = 1; i < hd__len(g->classes); i++)
        if (g->classes[i].described) hd__netcf_put_type(&o, g, i);
    for (uint32_t i = 0; i < g->described && !o.sink.status && !status; i++) {
        if (!(i & HD__TICK) && !hd__go_on(options, i, g->described)) status = HD_CANCELLED;
        hd__netcf_put_object(&o, g, i);
    }
    for (uint32_t i = 0; i < hd__len(g->roots) && !status; i++) hd__netcf_put_root(&o, g, i);
    hd__netcf_put_domain(&o, &d, false);
    return hd__netcf_out_end(&o, status, err);
}

/* =================================================================================== >>dart
   Parsers work on a window of bytes and say what stopped them; where that is the window's end, and not the
   input's, what they read so far is read again with more behind it. A document keeps what no column has
   as the bytes it was: header and classes, objects' data, external properties, each decoded when asked
   for. Numbers outside of these that are spelled with more bytes than they need have their offset noted. */

#if defined(__GNUC__) && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define HD__ULEB_WORDS
#endif

enum {
    HD__DART_FINE,
    HD__DART_SHORT,              /* the window ends within a number */
    HD__DART_BYTES,              /* `want` bytes announced, the window ends before */
    HD__DART_LONG,               /* no number of 64 bits in ten bytes */
    HD__DART_TAG,                /* `want` is no tag */
    HD__DART_RANGE,              /* `want` is the id of no object */
    HD__DART_MAGIC
};

typedef struct hd__dart_window {
    const uint8_t *end, *bad;    /* bad: the place it is about */
    uint64_t want, left;
    uint32_t why;
    bool odd;                    /* a number has more bytes than it needs */
} hd__dart_window;

static const uint8_t *hd__dart_stop(hd__dart_window *w, const uint8_t *at, uint32_t why, uint64_t want) {
    w->bad = at;
    w->why = why;
    w->want = want;
    return NULL;
}

HD__NOINLINE static const uint8_t *hd__uleb_any(hd__dart_window *w, const uint8_t *p, uint64_t *value) {
    const uint8_t *at = p;
    uint64_t v = 0;
    for (unsigned shift = 0; p < w->end; shift += 7) {
        uint8_t byte = *p++;
        if (shift == 63 && byte > 1) return hd__dart_stop(w, at, HD__DART_LONG, 0);
        v |= (uint64_t)(byte & 127) << shift;
        if (byte >= 128) continue;
        if (!byte && shift) w->odd = true;
        *value = v;
        return p;
    }
    return hd__dart_stop(w, w->end, HD__DART_SHORT, 0);
}

#if defined(HD__ULEB_WORDS)
/* A number of up to four bytes at p, of which four can be read: how many it takes, 0 when it has more.
   *spare is negative when its last byte is zero. */
HD__INLINE unsigned hd__uleb_word(const uint8_t *p, uint32_t *value, int64_t *spare) {
    uint32_t x, stop, low;
    memcpy(&x, p, 4);
    stop = ~x & 0x80808080u;
    low = stop & (0u - stop);    /* the highest bit of the last byte */
    x &= low - 1;
    *spare = (int64_t)x - (int64_t)(low >> 7);
    *value = (x & 0x7f) | (x >> 1 & 0x3f80) | (x >> 2 & 0x1fc000) | (x >> 3 & 0xfe00000);
    return stop ? (unsigned)__builtin_ctz(stop) / 8 + 1 : 0;
}
#endif

/* A number that more often than not has one byte. */
HD__INLINE const uint8_t *hd__uleb(hd__dart_window *w, const uint8_t *p, uint64_t *value) {
    if (HD__UNLIKELY(p == w->end || *p >= 128)) return hd__uleb_any(w, p, value);
    *value = *p;
    return p + 1;
}

/* The same without a branch that depends on its size, up to five bytes: those of a hash code. */
HD__INLINE const uint8_t *hd__uleb_mixed(hd__dart_window *w, const uint8_t *p, uint64_t *value) {
#if defined(HD__ULEB_WORDS)
    if (HD__LIKELY(w->end - p >= 8)) {
        uint64_t x, stop, low;
        memcpy(&x, p, 8);
        stop = ~x & UINT64_C(0x8080808080);
        low = stop & (0 - stop);
        x &= low - 1;
        if (HD__LIKELY(stop != 0)) {
            w->odd |= (x < low >> 7) & (low > 0x80);
            *value = (x & 0x7f) | (x >> 1 & 0x3f80) | (x >> 2 & 0x1fc000) | (x >> 3 & 0xfe00000) |
                     (x >> 4 & UINT64_C(0x7f0000000));
            return p + __builtin_ctzll(stop) / 8 + 1;
        }
    }
#endif
    return hd__uleb_any(w, p, value);
}

/* `count` units of bytes behind p, the place of the number that told so being `at`. */
static const uint8_t *hd__dart_bytes(hd__dart_window *w, const uint8_t *at, const uint8_t *p, uint64_t count,
                                     unsigned unit, hd_str *bytes) {
    if (count > (uint64_t)(w->end - p) / unit) {
        w->left = (uint64_t)(w->end - p);
        return hd__dart_stop(w, at, HD__DART_BYTES, count);
    }
    bytes->data = (const char *)p;
    bytes->len = (size_t)count * unit;
    return p + bytes->len;
}

static const uint8_t *hd__dart_str(hd__dart_window *w, const uint8_t *p, hd_str *str) {
    uint64_t n;
    const uint8_t *at = p;
    if (!(p = hd__uleb(w, p, &n))) return NULL;
    return hd__dart_bytes(w, at, p, n, 1, str);
}

static double hd__dart_double(const uint8_t *p) {
    uint64_t bits = 0;
    double number;
    for (int i = 7; i >= 0; i--) bits = bits << 8 | p[i];
    memcpy(&number, &bits, sizeof number);
    return number;
}

HD__INLINE const uint8_t *hd__dart_data(hd__dart_window *w, const uint8_t *p, hd_dart_data *d) {
    const uint8_t *at = p;
    uint64_t tag, n;
    memset(d, 0, sizeof *d);
    d->text.data = "";
    if (!(p = hd__uleb(w, p, &tag))) return NULL;
    if (HD__UNLIKELY(tag > HD_DART_NAME)) return hd__dart_stop(w, at, HD__DART_TAG, tag);
    d->tag = (uint32_t)tag;
    switch (d->tag) {
    case HD_DART_BOOL:
    case HD_DART_INTEGER:
    case HD_DART_LENGTH: return hd__uleb(w, p, &d->value);
    case HD_DART_DOUBLE:
        if (w->end - p < 8) return hd__dart_stop(w, w->end, HD__DART_SHORT, 0);
        d->number = hd__dart_double(p);
        return p + 8;
    case HD_DART_LATIN1:
    case HD_DART_UTF16:
        if (!(p = hd__uleb(w, p, &d->value))) return NULL;
        at = p;
        if (!(p = hd__uleb(w, p, &n))) return NULL;
        return hd__dart_bytes(w, at, p, n, d->tag == HD_DART_UTF16 ? 2 : 1, &d->text);
    case HD_DART_NAME: return hd__dart_str(w, p, &d->text);
    default: return p;
    }
}

static const uint8_t *hd__dart_field(hd__dart_window *w, const uint8_t *p, hd_dart_field *field) {
    if (!(p = hd__uleb(w, p, &field->flags)) || !(p = hd__uleb(w, p, &field->index)) ||
        !(p = hd__dart_str(w, p, &field->name)))
        return NULL;
    return hd__dart_str(w, p, &field->reserved);
}

static const uint8_t *hd__dart_class(hd__dart_window *w, const uint8_t *p, hd_dart_class *c) {
    const uint8_t *from;
    hd_dart_field field;
    if (!(p = hd__uleb(w, p, &c->flags)) || !(p = hd__dart_str(w, p, &c->name)) ||
        !(p = hd__dart_str(w, p, &c->library)) || !(p = hd__dart_str(w, p, &c->library_uri)) ||
        !(p = hd__dart_str(w, p, &c->reserved)) || !(p = hd__uleb(w, p, &c->field_count)))
        return NULL;
    from = p;
    for (uint64_t i = 0; i < c->field_count; i++)
        if (!(p = hd__dart_field(w, p, &field))) return NULL;
    c->fields.data = (const char *)from;
    c->fields.len = (size_t)(p - from);
    return p;
}

/* What has been checked already, as a window of its own. */
static hd__dart_window hd__dart_whole(const uint8_t *end) {
    hd__dart_window w;
    memset(&w, 0, sizeof w);
    w.end = end;
    return w;
}

/* The same of an stb_ds array. */
static hd__dart_window hd__dart_all(const uint8_t *array) {
    return hd__dart_whole(array ? array + hd__len(array) : NULL);
}

HEAPDUMP_API bool hd_dart_next_field(hd_dart_class *from, hd_dart_field *field) {
    const uint8_t *p = (const uint8_t *)from->fields.data, *next;
    hd__dart_window w;
    if (!from->fields.len) return false;
    w = hd__dart_whole(p + from->fields.len);
    next = hd__dart_field(&w, p, field);
    if (!next) return false;
    from->fields.data = (const char *)next;
    from->fields.len = (size_t)(w.end - next);
    return true;
}

HEAPDUMP_API const char *hd_dart_tag_name(uint32_t tag) {
    static const char *const names[] = { "none",   "null",  "bool",   "integer", "double",
                                         "latin1", "utf16", "length", "name" };
    return tag < sizeof names / sizeof *names ? names[tag] : "unknown";
}

HEAPDUMP_API size_t hd_dart_utf8(const hd_dart_data *data, char *buffer, size_t capacity) {
    const uint8_t *p = (const uint8_t *)data->text.data;
    size_t unit = data->tag == HD_DART_UTF16 ? 2 : 1, total = 0;
    bool fits = true;
    for (size_t i = 0; i + unit <= data->text.len; i += unit) {
        char bytes[4];
        size_t n = 1;
        bytes[0] = (char)p[i];
        if (data->tag == HD_DART_UTF16) {
            uint32_t c = p[i] | (uint32_t)p[i + 1] << 8;
            if (c >> 10 == 0x36 && data->text.len - i >= 4 && p[i + 3] >> 2 == 0x37) {
                c = 0x10000 + ((c & 0x3ff) << 10 | (p[i + 3] & 3u) << 8 | p[i + 2]);
                i += 2;
            }
            n = hd__utf8_put(c, bytes);
        } else if (data->tag == HD_DART_LATIN1) {
            n = hd__utf8_put(p[i], bytes);
        } else {
            while (i + n < data->text.len && (p[i + n] & 0xc0) == 0x80 && n < 4) {
                bytes[n] = (char)p[i + n];
                n++;
            }
            i += n - 1;
        }
        fits = fits && n <= capacity - total;
        if (fits) memcpy(buffer + total, bytes, n);
        total += n;
    }
    return total;
}

/* The reader. ---------------------------------------------------------------------------------- */

enum {
    HD__DART_HEADER,
    HD__DART_CLASSES,
    HD__DART_COUNTS,
    HD__DART_OBJECTS,
    HD__DART_REFERENCES,         /* of the object at hand, those that are left */
    HD__DART_EXTERNAL_COUNT,
    HD__DART_EXTERNALS,
    HD__DART_IDENTITIES,
    HD__DART_END
};

#define HD__DART_BLOCK 1024u     /* references in a record */

struct hd_dart_reader {
    hd__mem mem;
    hd__arena arena;
    hd_options options;
    hd_in in;
    const uint8_t *start, *at;   /* the window; at: what comes next */
    hd__dart_window w;
    const uint8_t *from;         /* what was read last */
    const uint8_t *body, *mark;  /* an object's data; in header, counts and objects: the last number */
    uint64_t base;               /* offset of start in the input */
    uint8_t *buffer;
    size_t capacity;
    bool ended, cut, crowded;    /* cut: lenient, not all is there; crowded: said so */
    uint32_t stage;
    uint64_t done, number;       /* of this stage; what is at hand, from 1: for messages */
    uint64_t left;               /* references */
    uint64_t bulk;               /* read in bulk once no more are left: one before is wrong */
    uint64_t references, counts_at; /* so far; offset of the announcement */
    uint64_t ticked, warnings;
    uint32_t *block;
    hd_dart_header header;
    hd_error error;              /* of what is at hand */
};

HEAPDUMP_API hd_status hd_dart_open(hd_in in, const hd_options *options, hd_dart_reader **out,
                                    hd_error *err) {
    hd__mem mem = hd__mem_options(options);
    hd_dart_reader *r = (hd_dart_reader *)hd__realloc(&mem, NULL, 0, sizeof *r);
    if (!r) return hd__no_memory(&mem, err);
    memset(r, 0, sizeof *r);
    r->mem = mem;
    if (options) r->options = *options;
    r->in = in;
    r->header.name = hd_cstr("");
    r->start = r->at = r->from = in.read ? (const uint8_t *)"" : in.data;
    r->w.end = in.read ? r->at : in.data + in.size;
    r->ended = !in.read;
    r->block = (uint32_t *)hd__arena_take(&r->mem, &r->arena, HD__DART_BLOCK, sizeof *r->block);
    if (r->block) {
        *out = r;
        return HD_OK;
    }
    hd__no_memory(&r->mem, err);
    mem = r->mem;
    hd_dart_close(r);
    return mem.over ? HD_LIMIT : HD_OUT_OF_MEMORY;
}

HEAPDUMP_API void hd_dart_close(hd_dart_reader *r) {
    hd__mem mem;
    if (!r) return;
    hd__free(&r->mem, r->buffer, r->capacity);
    hd__arena_free(&r->mem, &r->arena);
    mem = r->mem;
    hd__free(&mem, r, sizeof *r);
}

HEAPDUMP_API const hd_dart_header *hd_dart_reader_header(const hd_dart_reader *r) { return &r->header; }
HEAPDUMP_API uint64_t hd_dart_reader_warnings(const hd_dart_reader *r) { return r->warnings; }

static uint64_t hd__dart_offset(const hd_dart_reader *r, const uint8_t *p) {
    return r->base + (uint64_t)(p - r->start);
}

/* As much of the input as the buffer takes behind what is in the window from `at` on, and at least as much
   as there is. */
static hd_status hd__dart_fill(hd_dart_reader *r) {
    size_t kept = (size_t)(r->w.end - r->at);
    int64_t n = 1;
    if (kept > r->capacity / 2 || !r->capacity) {
        size_t capacity = r->capacity ? 2 * r->capacity : HD__READER_BUFFER;
        uint8_t *grown = (uint8_t *)hd__realloc(&r->mem, NULL, 0, capacity);
        if (!grown) return hd__no_memory(&r->mem, &r->error);
        if (kept) memcpy(grown, r->at, kept);
        hd__free(&r->mem, r->buffer, r->capacity);
        r->buffer = grown;
        r->capacity = capacity;
    } else if (kept) {
        memmove(r->buffer, r->at, kept);
    }
    r->base = hd__dart_offset(r, r->at);
    r->start = r->at = r->buffer;
    r->w.end = r->buffer + kept;
    while (n > 0 && kept < r->capacity) {
        n = r->in.read(r->in.user, r->buffer + kept, r->capacity - kept);
        if (n > (int64_t)(r->capacity - kept)) n = -1;
        if (n > 0) kept += (size_t)n;
    }
    r->w.end = r->buffer + kept;
    r->ended = n <= 0;
    return n < 0 ? hd__fail_at(&r->error, HD_IO, r->base + kept, 0, "reading the input failed") : HD_OK;
}

/* Says what is wrong at a place of the window, with what is at hand in front. */
HD__NOINLINE static hd_status hd__dart_bad(hd_dart_reader *r, hd_status status, const uint8_t *at,
                                           const char *format, ...) {
    static const char *const at_hand[] = { "header", "class", "counts", "object", "object",
                                           "external properties", "external property",
                                           "identity hash code of object", "end" };
    hd_error *e = &r->error;
    size_t n;
    va_list args;
    hd__fail_at(e, status, hd__dart_offset(r, at), 0, r->number ? "%s %u: " : "%s: ", at_hand[r->stage],
                r->number);
    n = strlen(e->message);
    va_start(args, format);
    hd__format(e->message + n, sizeof e->message - n, format, args);
    va_end(args);
    return status;
}

/* The same for what stopped a parser. */
HD__NOINLINE static hd_status hd__dart_stopped(hd_dart_reader *r) {
    const hd__dart_window *w = &r->w;
    switch (w->why) {
    case HD__DART_LONG:
        return hd__dart_bad(r, HD_MALFORMED, w->bad, "a number of at most ten bytes and 64 bits expected");
    case HD__DART_BYTES:
        return hd__dart_bad(r, HD_MALFORMED, w->bad, "a string of %u units announced where %u bytes are left",
                            w->want, w->left);
    case HD__DART_TAG:
        return hd__dart_bad(r, HD_MALFORMED, w->bad, "data of tag 0 to 8 expected, found tag %u", w->want);
    case HD__DART_RANGE:
        return hd__dart_bad(r, HD_MALFORMED, w->bad, "a reference to object %u of %u", w->want,
                            r->header.object_count);
    case HD__DART_MAGIC:
        return hd__dart_bad(r, HD_UNKNOWN_FORMAT, w->bad, "a file that begins with \"dartheap\" expected");
    default: return hd__dart_bad(r, HD_MALFORMED, w->bad, "the input ends here, too early");
    }
}

/* What the reader does about malformed input: goes on after counting it, or fails. */
static hd_status hd__dart_complain(hd_dart_reader *r, hd_error *err) {
    if (r->options.lenient && (r->error.status == HD_MALFORMED || r->error.status == HD_OVERFLOW)) {
        r->warnings++;
        if (r->options.warning) r->options.warning(r->options.user, &r->error);
        return HD_OK;
    }
    if (err) *err = r->error;
    return r->error.status;
}

/* Complaints that cost one number: HD_OK when reading goes on. */
#define HD__DART_REPAIR(r, ...) \
    (hd__dart_bad((r), HD_MALFORMED, __VA_ARGS__), (r)->options.lenient ? hd__dart_complain((r), NULL) \
                                                                       : HD_MALFORMED)

typedef const uint8_t *(*hd__dart_parse)(hd_dart_reader *r, const uint8_t *p, hd_dart_record *record);

/* Runs a parser over what is next, with as much of the input as it needs. */
HD__INLINE hd_status hd__dart_unit(hd_dart_reader *r, hd__dart_parse parse, hd_dart_record *record) {
    for (;;) {
        const uint8_t *p;
        r->w.odd = false;
        p = parse(r, r->at, record);
        if (HD__LIKELY(p != NULL)) {
            r->from = r->at;
            r->at = p;
            return HD_OK;
        }
        if (r->ended || (r->w.why != HD__DART_SHORT && r->w.why != HD__DART_BYTES))
            return hd__dart_stopped(r);
        HD__TRY(hd__dart_fill(r));
    }
}

static hd_status hd__dart_tick(hd_dart_reader *r) {
    uint64_t done = hd__dart_offset(r, r->at);
    if (done - r->ticked <= HD__TICK && done) return HD_OK;
    r->ticked = done;
    return hd__go_on(&r->options, done, r->in.read ? HD_UNKNOWN : r->in.size) ? HD_OK
                                                                              : hd__cancelled(&r->error);
}

static const uint8_t *hd__dart_parse_header(hd_dart_reader *r, const uint8_t *p, hd_dart_record *record) {
    hd_dart_header *h = &r->header;
    size_t n = (size_t)(r->w.end - p) < 8 ? (size_t)(r->w.end - p) : 8;
    (void)record;
    if ((n && memcmp(p, "dartheap", n)) || (!n && r->ended))
        return hd__dart_stop(&r->w, p, HD__DART_MAGIC, 0);
    if (n < 8) return hd__dart_stop(&r->w, p + n, HD__DART_SHORT, 0);
    p += 8;
    if (!(p = hd__uleb(&r->w, p, &h->flags)) || !(p = hd__dart_str(&r->w, p, &h->name)) ||
        !(p = hd__uleb(&r->w, p, &h->shallow_size)) || !(p = hd__uleb(&r->w, p, &h->capacity)) ||
        !(p = hd__uleb(&r->w, p, &h->external_size)))
        return NULL;
    r->mark = p;
    return hd__uleb(&r->w, p, &h->class_count);
}

/* Counts are compared with the bytes there are where that is known: at least `least` each. */
static hd_status hd__dart_count(hd_dart_reader *r, const uint8_t *at, const char *what, uint64_t count,
                                uint64_t least) {
    uint64_t left = (uint64_t)(r->w.end - r->at);
    if (r->in.read || r->options.lenient || count <= left / least) return HD_OK;
    return hd__dart_bad(r, HD_MALFORMED, at, "%u %s announced where %u bytes are left", count, what, left);
}

static hd_status hd__dart_header(hd_dart_reader *r) {
    hd_dart_record record;
    hd_status status;
    r->header.name = hd_cstr("");
    status = hd__dart_unit(r, hd__dart_parse_header, &record);
    if (status) {
        memset(&r->header, 0, sizeof r->header);
        r->header.name = hd_cstr("");
        return status;
    }
    r->header.name.data = hd__arena_str(&r->mem, &r->arena, r->header.name);
    if (!r->header.name.data) {
        r->header.name = hd_cstr("");
        return hd__no_memory(&r->mem, &r->error);
    }
    return hd__dart_count(r, r->mark, "classes", r->header.class_count, 6);
}

static const uint8_t *hd__dart_parse_class(hd_dart_reader *r, const uint8_t *p, hd_dart_record *record) {
    return hd__dart_class(&r->w, p, &record->described);
}

static const uint8_t *hd__dart_parse_counts(hd_dart_reader *r, const uint8_t *p, hd_dart_record *record) {
    (void)record;
    if (!(p = hd__uleb(&r->w, p, &r->header.reference_count))) return NULL;
    r->mark = p;
    return hd__uleb(&r->w, p, &r->header.object_count);
}

static hd_status hd__dart_counts(hd_dart_reader *r) {
    hd_dart_record record;
    HD__TRY(hd__dart_unit(r, hd__dart_parse_counts, &record));
    r->counts_at = hd__dart_offset(r, r->from);
    return hd__dart_count(r, r->mark, "objects", r->header.object_count, 4);
}

/* What stands before an object's references; `mark` is their number. */
HD__INLINE const uint8_t *hd__dart_parse_object(hd_dart_reader *r, const uint8_t *p, hd_dart_record *o) {
    if (!(p = hd__uleb_mixed(&r->w, p, &o->class_id)) || !(p = hd__uleb_mixed(&r->w, p, &o->size)))
        return NULL;
    r->body = p;
    if (!(p = hd__dart_data(&r->w, p, &o->data))) return NULL;
    r->mark = p;
    return hd__uleb(&r->w, p, &o->reference_count);
}

/* An object without its references, which come next. */
HD__INLINE hd_status hd__dart_head(hd_dart_reader *r, hd_dart_record *o) {
    uint64_t count;
    HD__TRY(hd__dart_unit(r, hd__dart_parse_object, o));
    o->id = r->number;
    count = o->reference_count;
    if (HD__UNLIKELY(o->class_id > r->header.class_count)) {
        HD__TRY(HD__DART_REPAIR(r, r->from, "of class %u where there are %u", o->class_id,
                                r->header.class_count));
        o->class_id = 0;
    }
    if (HD__UNLIKELY(r->ended && count > (uint64_t)(r->w.end - r->at)))
        return hd__dart_bad(r, HD_MALFORMED, r->mark, "%u references announced where %u bytes are left",
                            count, (uint64_t)(r->w.end - r->at));
    if (HD__UNLIKELY(count > r->header.reference_count - r->references) && !r->crowded) {
        HD__TRY(HD__DART_REPAIR(r, r->mark, "%u references after %u where %u were announced for all", count,
                                r->references, r->header.reference_count));
        r->crowded = true;
    }
    r->references += count;
    r->left = r->bulk = count;
    return HD_OK;
}

/* One after the other, with all checks. */
HD__NOINLINE static size_t hd__dart_each_reference(hd_dart_reader *r, uint32_t *ids, size_t n) {
    size_t i = 0;
    for (; i < n; i++) {
        uint64_t id = 0;
        const uint8_t *p = hd__uleb(&r->w, r->at, &id);
        if (p && (id > r->header.object_count || id >= HD_NONE))
            p = hd__dart_stop(&r->w, r->at, HD__DART_RANGE, id);
        if (!p) break;
        ids[i] = (uint32_t)id;
        r->at = p;
    }
    return i;
}

/* Up to n references of the object at hand as ids: how many, as far as the window goes or nothing is
   wrong. Four bytes at a time, checked in bulk. */
HD__INLINE size_t hd__dart_references(hd_dart_reader *r, uint32_t *ids, size_t n) {
    size_t i = 0;
    r->w.why = HD__DART_FINE;
    r->w.odd = false;
#if defined(HD__ULEB_WORDS)
    if (HD__LIKELY(r->w.end - r->at >= 4 && r->left <= r->bulk)) {
        const uint8_t *p = r->at;
        size_t safe = (size_t)(r->w.end - p) / 4; /* as many can be read four bytes at a time */
        uint64_t count = r->header.object_count, wrong = 0;
        int64_t odd = 0;
        if (safe > n) safe = n;
        for (; i < safe; i++) {
            uint32_t id;
            int64_t spare;
            unsigned size = hd__uleb_word(p, &id, &spare);
            if (HD__UNLIKELY(!size)) break;
            wrong |= count - id;
            odd |= spare;        /* 0 looks odd, and costs a second look */
            ids[i] = id;
            p += size;
        }
        if (HD__LIKELY(!(wrong >> 63))) {
            r->at = p;
            r->w.odd = odd < 0;
        } else {
            r->bulk = r->left - i;
            i = 0;
        }
    }
#endif
    if (HD__UNLIKELY(i < n)) i += hd__dart_each_reference(r, ids + i, n - i);
    r->left -= i;
    return i;
}

/* The next references of the object at hand, at least one of up to n. They were read from `from` on. */
HD__INLINE hd_status hd__dart_more(hd_dart_reader *r, uint32_t *ids, size_t n, size_t *count) {
    uint64_t id;
    for (;;) {
        r->from = r->at;
        *count = hd__dart_references(r, ids, n);
        if (HD__LIKELY(*count)) return HD_OK;
        if (r->w.why == HD__DART_RANGE) break;
        if (r->ended || r->w.why == HD__DART_LONG) return hd__dart_stopped(r);
        HD__TRY(hd__dart_fill(r));
    }
    hd__dart_stopped(r);
    if (!r->options.lenient) return HD_MALFORMED;
    HD__TRY(hd__dart_complain(r, NULL));
    r->at = hd__uleb(&r->w, r->at, &id);
    r->left--;
    ids[0] = 0;
    *count = 1;
    return HD_OK;
}

static size_t hd__dart_block(const hd_dart_reader *r) {
    return r->left < HD__DART_BLOCK ? (size_t)r->left : HD__DART_BLOCK;
}

static hd_status hd__dart_object(hd_dart_reader *r, hd_dart_record *record) {
    HD__TRY(hd__dart_head(r, record));
    record->kind = 'o';
    record->references = r->block;
    /* those that the window has: moving it would take the strings away */
    record->count = hd__dart_references(r, r->block, hd__dart_block(r));
    return HD_OK;
}

static const uint8_t *hd__dart_parse_count(hd_dart_reader *r, const uint8_t *p, hd_dart_record *record) {
    (void)record;
    return hd__uleb(&r->w, p, &r->header.external_count);
}

static const uint8_t *hd__dart_parse_external(hd_dart_reader *r, const uint8_t *p, hd_dart_record *record) {
    if (!(p = hd__uleb(&r->w, p, &record->id)) || !(p = hd__uleb(&r->w, p, &record->size))) return NULL;
    return hd__dart_str(&r->w, p, &record->name);
}

static hd_status hd__dart_external(hd_dart_reader *r, hd_dart_record *record) {
    HD__TRY(hd__dart_unit(r, hd__dart_parse_external, record));
    record->kind = 'x';
    if (record->id <= r->header.object_count) return HD_OK;
    record->kind = 0;
    return HD__DART_REPAIR(r, r->from, "of object %u where there are %u", record->id, r->header.object_count);
}

HD__INLINE const uint8_t *hd__dart_parse_identity(hd_dart_reader *r, const uint8_t *p,
                                                  hd_dart_record *record) {
    return hd__uleb_mixed(&r->w, p, &record->identity);
}

/* Whether the input goes on. */
static hd_status hd__dart_any(hd_dart_reader *r, bool *any) {
    if (r->at == r->w.end && !r->ended) HD__TRY(hd__dart_fill(r));
    *any = r->at < r->w.end;
    return HD_OK;
}

/* Behind the external properties. */
static hd_status hd__dart_tail(hd_dart_reader *r) {
    bool any;
    HD__TRY(hd__dart_any(r, &any));
    if (any && r->header.object_count && !r->header.has_identity) {
        r->header.has_identity = true;
        r->stage = HD__DART_IDENTITIES;
        return HD_OK;
    }
    r->stage = HD__DART_END;
    if (any) return hd__dart_bad(r, HD_MALFORMED, r->at, "the end of the input expected, found more");
    if (r->header.reference_count > hd__dart_offset(r, r->at) - r->counts_at) {
        hd__dart_bad(r, HD_MALFORMED, r->at, "%u references were announced where %u bytes followed",
                     r->header.reference_count, hd__dart_offset(r, r->at) - r->counts_at);
        r->error.offset = r->counts_at;
        return HD_MALFORMED;
    }
    return HD_OK;
}

/* The next stage once this one has had `count`: true, and then there is no record yet. */
static bool hd__dart_over(hd_dart_reader *r, uint64_t count, uint32_t stage) {
    if (r->done < count) {
        r->number = r->done + 1;
        return false;
    }
    r->number = r->done = 0;
    r->stage = stage;
    return true;
}

static hd_status hd__dart_step(hd_dart_reader *r, hd_dart_record *record) {
    HD__TRY(hd__dart_tick(r));
    switch (r->stage) {
    case HD__DART_HEADER:
        HD__TRY(hd__dart_header(r));
        r->stage = HD__DART_CLASSES;
        return HD_OK;
    case HD__DART_CLASSES:
        if (hd__dart_over(r, r->header.class_count, HD__DART_COUNTS)) return HD_OK;
        HD__TRY(hd__dart_unit(r, hd__dart_parse_class, record));
        record->kind = 'c';
        record->id = ++r->done;
        return HD_OK;
    case HD__DART_COUNTS:
        HD__TRY(hd__dart_counts(r));
        r->stage = HD__DART_OBJECTS;
        return HD_OK;
    case HD__DART_OBJECTS:
        if (hd__dart_over(r, r->header.object_count, HD__DART_EXTERNAL_COUNT)) return HD_OK;
        HD__TRY(hd__dart_object(r, record));
        r->done++;
        if (r->left) r->stage = HD__DART_REFERENCES;
        return HD_OK;
    case HD__DART_REFERENCES:
        HD__TRY(hd__dart_more(r, r->block, hd__dart_block(r), &record->count));
        record->kind = 'r';
        record->id = r->number;
        record->references = r->block;
        if (!r->left) r->stage = HD__DART_OBJECTS;
        return HD_OK;
    case HD__DART_EXTERNAL_COUNT:
        HD__TRY(hd__dart_unit(r, hd__dart_parse_count, record));
        HD__TRY(hd__dart_count(r, r->from, "external properties", r->header.external_count, 3));
        r->stage = HD__DART_EXTERNALS;
        return HD_OK;
    case HD__DART_EXTERNALS:
        if (hd__dart_over(r, r->header.external_count, HD__DART_END)) return hd__dart_tail(r);
        r->done++;
        return hd__dart_external(r, record);
    default:
        if (hd__dart_over(r, r->header.object_count, HD__DART_END)) return hd__dart_tail(r);
        HD__TRY(hd__dart_unit(r, hd__dart_parse_identity, record));
        record->kind = 'i';
        record->id = ++r->done;
        return HD_OK;
    }
}

/* One step; lenient, what cannot be repaired is the end. */
static hd_status hd__dart_try(hd_dart_reader *r, hd_dart_record *record, hd_error *err) {
    record->kind = 0;
    record->offset = hd__dart_offset(r, r->at);
    if (HD__LIKELY(!hd__dart_step(r, record))) return HD_OK;
    HD__TRY(hd__dart_complain(r, err));
    record->kind = 0;
    r->stage = HD__DART_END;
    r->cut = true;
    return HD_OK;
}

HEAPDUMP_API hd_status hd_dart_next(hd_dart_reader *r, hd_dart_record *record, hd_error *err) {
    memset(record, 0, sizeof *record);
    while (r->stage != HD__DART_END) {
        HD__TRY(hd__dart_try(r, record, err));
        if (record->kind) return HD_OK;
    }
    return HD_OK;
}

/* The document. -------------------------------------------------------------------------------- */

#define HD__DART_STEP 16u        /* objects from one known place in the data to the next */

struct hd_dart {
    hd__mem mem;                 /* of this struct; all else is the graph's */
    hd_graph *graph;
    hd_dart_header header;
    uint64_t warnings;
    uint8_t *front, *data, *back; /* as in the file: header and classes; data; external properties */
    uint64_t count_at, classes_at; /* in `front`: the number of classes; the first */
    uint64_t *class_at, *data_at, *external_at; /* where each begins, of data every HD__DART_STEPth */
    hd__big *external;           /* external sizes by object */
    hd__ids identity;
    uint64_t *odd;               /* offsets of numbers and, in the low four bits, their sizes */
    uint32_t no_class;           /* class_index of what has class id 0; HD_NONE: nothing has */
};

typedef struct hd__dart_in {
    hd_dart *doc;
    hd_graph *g;
    hd__mem *mem;
    hd_dart_reader *r;
    hd_options options;
    uint64_t most;
} hd__dart_in;

static hd_status hd__dart_full(hd__dart_in *x) { return hd__no_memory(x->mem, &x->r->error); }

static hd_status hd__dart_most(hd__dart_in *x, const char *what) {
    return hd__dart_bad(x->r, HD_LIMIT, x->r->from, "more than the allowed %u %s", x->most, what);
}

HD__NOINLINE static hd_status hd__dart_graph_full(hd__dart_in *x, hd_status status, const char *what) {
    return status == HD_LIMIT ? hd__dart_most(x, what) : hd__dart_full(x);
}

/* Appends bytes to an stb_ds array. */
static bool hd__dart_keep(hd__mem *m, uint8_t **to, const uint8_t *from, size_t n) {
    size_t length = hd__len(*to);
    if (!hd__arr_room(m, to, 1, n)) return false;
    memcpy(*to + length, from, n);
    hd__set_len(*to, length + n);
    return true;
}

/* The same of an object's data: few bytes, which are copied as sixteen where there are as many. */
HD__INLINE bool hd__dart_keep_data(hd__dart_in *x, const uint8_t *from, size_t n) {
    uint8_t *data = x->doc->data;
    size_t length = hd__len(data);
    if (HD__UNLIKELY(n > 16 || stbds_arrcap(data) - length < 16 || x->r->w.end - from < 16))
        return hd__dart_keep(x->mem, &x->doc->data, from, n);
    memcpy(data + length, from, 16);
    hd__set_len(data, length + n);
    return true;
}

/* Notes the numbers from p on, `n` of them, that have more bytes than they need. */
HD__NOINLINE static hd_status hd__dart_note(hd__dart_in *x, const uint8_t *p, uint64_t n) {
    for (; n; n--) {
        const uint8_t *at = p;
        uint64_t value, noted;
        p = hd__uleb_any(&x->r->w, p, &value);
        if (p - at < 2 || p[-1]) continue;
        noted = hd__dart_offset(x->r, at) << 4 | (uint64_t)(p - at);
        if (!hd__push(x->mem, x->doc->odd, noted)) return hd__dart_full(x);
    }
    return HD_OK;
}

static hd_status hd__dart_add_fields(hd__dart_in *x, hd_dart_class c, uint32_t class_index) {
    hd_dart_field field;
    while (hd_dart_next_field(&c, &field)) {
        hd_status status = HD_OK;
        if (field.index < HD_NONE)
            status = hd_graph_add_field(x->g, class_index, (uint32_t)field.index, field.name);
        if (status) return hd__dart_graph_full(x, status, "fields");
    }
    return HD_OK;
}

static hd_status hd__dart_add_class(hd__dart_in *x, const hd_dart_record *record) {
    hd_dart *doc = x->doc;
    hd_class c;
    uint32_t n;
    uint64_t at = hd__len(doc->front);
    if (record->id > x->most) return hd__dart_most(x, "classes");
    c.id = record->id;
    c.name = record->described.name;
    c.scope = record->described.library.len ? record->described.library : record->described.library_uri;
    c.described = true;
    if (!hd__push(x->mem, doc->class_at, at) ||
        !hd__dart_keep(x->mem, &doc->front, x->r->from, (size_t)(x->r->at - x->r->from)) ||
        hd_graph_add_class(x->g, &c, &n))
        return hd__dart_full(x);
    return hd__dart_add_fields(x, record->described, n);
}

/* Objects of class id 0 have a class behind all others. */
HD__NOINLINE static hd_status hd__dart_no_class(hd__dart_in *x) {
    hd_status status;
    hd_class c;
    memset(&c, 0, sizeof c);
    c.name = hd_cstr("<no class>");
    c.scope = hd_cstr("");
    return (status = hd_graph_add_class(x->g, &c, &x->doc->no_class)) != HD_OK
               ? hd__dart_graph_full(x, status, "classes") : HD_OK;
}

/* Room for more objects: all that are announced, as far as the bytes at hand can hold them. */
HD__NOINLINE static hd_status hd__dart_grow(hd__dart_in *x) {
    hd_graph *g = x->g;
    uint64_t here = (uint64_t)(x->r->w.end - x->r->from) / 4 + 1;
    uint64_t extra = x->r->header.object_count - g->described;
    if (here < g->described) here = g->described;
    if (extra > here) extra = here;
    if (extra > x->most - g->described) extra = x->most - g->described;
    if (!extra) return hd__dart_most(x, "objects");
    hd__graph_set_lengths(g);
    if (!hd__room(x->mem, g->class_of, (size_t)extra + 1) || !hd__room(x->mem, g->size, (size_t)extra + 1) ||
        !hd__room(x->mem, g->first, (size_t)extra + 2)) /* sealing adds to them */
        return hd__dart_full(x);
    g->room = g->described + (uint32_t)extra;
    return HD_OK;
}

/* The same for references: for `n` more at least. */
HD__NOINLINE static hd_status hd__dart_grow_references(hd__dart_in *x, size_t n) {
    hd_graph *g = x->g;
    size_t have = hd__len(g->target.low), here = (size_t)(x->r->w.end - x->r->at), extra;
    if (n > x->most - have) return hd__dart_most(x, "references");
    extra = x->r->header.reference_count > have && x->r->header.reference_count - have < here
                ? (size_t)(x->r->header.reference_count - have) : here;
    if (extra > x->most - have) extra = (size_t)(x->most - have);
    if (extra < n) extra = n;
    return hd__room(x->mem, g->target.low, extra) ? HD_OK : hd__dart_full(x);
}

/* The references of the object at hand, as ids. */
HD__INLINE hd_status hd__dart_take_references(hd__dart_in *x) {
    hd_graph *g = x->g;
    hd_dart_reader *r = x->r;
    while (r->left) {
        size_t have = hd__len(g->target.low), here = (size_t)(r->w.end - r->at), took;
        size_t n = here < r->left ? here : (size_t)r->left;
        if (!n) n = 1;           /* the window is used up */
        if (HD__UNLIKELY(stbds_arrcap(g->target.low) - have < n || have + n > x->most))
            HD__TRY(hd__dart_grow_references(x, n));
        HD__TRY(hd__dart_more(r, g->target.low + have, n, &took));
        hd__set_len(g->target.low, have + took);
        if (HD__UNLIKELY(r->w.odd && !r->warnings)) HD__TRY(hd__dart_note(x, r->from, took));
    }
    return HD_OK;
}

/* Sizes that pass 2^64 together: HD_OK when this one is to be left out. */
HD__NOINLINE static hd_status hd__dart_overflow(hd__dart_in *x) {
    hd__dart_bad(x->r, HD_OVERFLOW, x->r->from, "the sizes pass 2^64 together");
    return x->options.lenient ? hd__dart_complain(x->r, NULL) : HD_OVERFLOW;
}

HD__INLINE hd_status hd__dart_take_object(hd__dart_in *x) {
    hd_dart *doc = x->doc;
    hd_graph *g = x->g;
    hd_dart_reader *r = x->r;
    hd_dart_record o;
    uint32_t n = g->described;
    uint64_t bytes = g->bytes, at = hd__len(doc->data);
    HD__TRY(hd__dart_head(r, &o));
    if (HD__UNLIKELY(n == g->room)) HD__TRY(hd__dart_grow(x));
    if (HD__UNLIKELY(!hd__sum(&bytes, o.size))) {
        HD__TRY(hd__dart_overflow(x));
        o.size = 0;
        bytes = g->bytes;
    }
    if (HD__UNLIKELY(!o.class_id)) {
        if (doc->no_class == HD_NONE) HD__TRY(hd__dart_no_class(x));
        o.class_id = doc->no_class;
    }
    if (n % HD__DART_STEP == 0 && !hd__push(x->mem, doc->data_at, at)) return hd__dart_full(x);
    if (HD__UNLIKELY(!hd__dart_keep_data(x, r->body, (size_t)(r->mark - r->body)))) return hd__dart_full(x);
    if (HD__UNLIKELY(r->w.odd)) {
        HD__TRY(hd__dart_note(x, r->from, 2));
        HD__TRY(hd__dart_note(x, r->mark, 1));
    }
    g->class_of[n] = (uint32_t)o.class_id;
    g->size[n] = o.size < UINT32_MAX ? (uint32_t)o.size : 0;
    g->first[n] = (uint32_t)hd__len(g->target.low);
    HD__TRY(hd__dart_take_references(x));
    g->described++;
    if (HD__LIKELY(o.size < UINT32_MAX)) g->bytes = bytes;
    else if (hd_graph_add_size(g, n, o.size)) return hd__dart_full(x);
    return HD_OK;
}

/* All objects; what was begun of one that could not be read is taken back. */
static hd_status hd__dart_take_objects(hd__dart_in *x) {
    hd_dart_reader *r = x->r;
    hd_status status = HD_OK;
    while (!status && r->done < r->header.object_count) {
        size_t data = hd__len(x->doc->data), references = hd__len(x->g->target.low);
        r->number = r->done + 1;
        status = r->done % 256 ? HD_OK : hd__dart_tick(r);
        if (!status) status = hd__dart_take_object(x);
        if (!status) {
            r->done++;
            continue;
        }
        hd__set_len(x->doc->data, data);
        hd__set_len(x->g->target.low, references);
        hd__set_len(x->doc->data_at, ((size_t)x->g->described + HD__DART_STEP - 1) / HD__DART_STEP);
    }
    if (status) return status;
    r->done = r->number = 0;
    r->stage = HD__DART_EXTERNAL_COUNT;
    return HD_OK;
}

static hd_status hd__dart_add_external(hd__dart_in *x, const hd_dart_record *record) {
    hd_dart *doc = x->doc;
    hd__mem *m = x->mem;
    uint64_t at = hd__len(doc->back);
    hd__big external;
    hd_status status = HD_OK;
    external.object = (uint32_t)record->id - 1;
    external.size = record->size;
    if (at / 3 >= x->most && hd__len(doc->external_at) >= x->most)
        return hd__dart_most(x, "external properties");
    if (record->id) status = hd_graph_add_size(x->g, external.object, external.size);
    if (status == HD_OVERFLOW) return hd__dart_overflow(x);
    if (status || (record->id && !hd__push(m, doc->external, external)) ||
        !hd__push(m, doc->external_at, at) ||
        !hd__dart_keep(m, &doc->back, x->r->from, (size_t)(x->r->at - x->r->from)))
        return hd__dart_full(x);
    return HD_OK;
}

/* All hash codes. */
static hd_status hd__dart_take_identities(hd__dart_in *x) {
    hd_dart_reader *r = x->r;
    hd__ids *ids = &x->doc->identity;
    if (!hd__ids_room(x->mem, ids, x->g->described)) return hd__dart_full(x);
    for (uint32_t i = 0; i < x->g->described; i++) {
        hd_dart_record record;
        r->number = (uint64_t)i + 1;
        if (i % 256 == 0) HD__TRY(hd__dart_tick(r));
        HD__TRY(hd__dart_unit(r, hd__dart_parse_identity, &record));
        if (HD__UNLIKELY(r->w.odd)) HD__TRY(hd__dart_note(x, r->from, 1));
        if (HD__UNLIKELY(record.identity >> 32 && !ids->high) && !hd__ids_widen(x->mem, ids))
            return hd__dart_full(x);
        stbds_arrput(ids->low, (uint32_t)record.identity);
        if (ids->high) stbds_arrput(ids->high, (uint32_t)(record.identity >> 32));
    }
    r->done = r->header.object_count;
    return HD_OK;
}

/* What a step of the reader brought. */
static hd_status hd__dart_take(hd__dart_in *x, uint32_t stage, const hd_dart_record *record) {
    hd_dart_reader *r = x->r;
    switch (stage) {
    case HD__DART_HEADER:
        x->doc->count_at = (uint64_t)(r->mark - r->from);
        x->doc->classes_at = (uint64_t)(r->at - r->from);
        return hd__dart_keep(x->mem, &x->doc->front, r->from, (size_t)(r->at - r->from)) ? HD_OK
                                                                                       : hd__dart_full(x);
    case HD__DART_COUNTS: return r->w.odd ? hd__dart_note(x, r->from, 2) : HD_OK;
    case HD__DART_EXTERNAL_COUNT: return r->w.odd ? hd__dart_note(x, r->from, 1) : HD_OK;
    default: break;
    }
    switch (record->kind) {
    case 'c': return hd__dart_add_class(x, record);
    case 'x': return hd__dart_add_external(x, record);
    default: return HD_OK;
    }
}

static hd_status hd__dart_run(hd__dart_in *x, hd_error *err) {
    hd_dart_reader *r = x->r;
    hd_dart_record record;
    while (r->stage != HD__DART_END) {
        uint32_t stage = r->stage;
        hd_status status = HD_OK;
        record.kind = 0;
        if (stage == HD__DART_OBJECTS) {
            status = hd__dart_take_objects(x);
        } else {
            if (stage == HD__DART_IDENTITIES) status = hd__dart_take_identities(x);
            if (!status) status = hd__dart_step(r, &record);
            if (!status) status = hd__dart_take(x, stage, &record);
        }
        if (!status) continue;
        HD__TRY(hd__dart_complain(r, err));
        r->stage = HD__DART_END;
        r->cut = true;
    }
    return HD_OK;
}

/* References from ids to numbers. What is referred to but not there is the object behind the last. */
static bool hd__dart_number(hd_graph *g) {
    uint32_t *target = g->target.low, count = g->described, most = 0;
    size_t n = hd__len(target);
    for (size_t i = 0; i < n; i++) {
        uint32_t number = target[i] - 1;
        number = number < count ? number : count;
        most = number > most ? number : most;
        target[i] = number;
    }
    return n && most == count;
}

/* Makes the graph whole, and all as large as it needs to be. */
static hd_status hd__dart_seal(hd__dart_in *x) {
    hd_dart *doc = x->doc;
    hd_graph *g = x->g;
    hd__mem *m = x->mem;
    hd_root root;
    memset(&root, 0, sizeof root);
    root.container = HD_NONE;
    hd__graph_set_lengths(g);
    if ((hd__dart_number(g) && !hd__ids_push(m, &g->extra, 0)) ||
        (g->described && !hd__push(m, g->roots, root)) || !hd__graph_sort_lists(g) || !hd__graph_close(g) ||
        !hd__sort_array(m, doc->external, hd__len(doc->external), sizeof *doc->external, hd__big_before))
        return hd__dart_full(x);
    while (x->r->header.has_identity && hd__len(doc->identity.low) < g->described)
        if (!hd__ids_push(m, &doc->identity, 0)) return hd__dart_full(x);
    if (x->r->warnings) hd__arr_free(m, doc->odd); /* what follows a repair has moved */
    hd__trim(m, doc->front);
    hd__trim(m, doc->data);
    hd__trim(m, doc->data_at);
    hd__trim(m, doc->class_at);
    hd__trim(m, doc->identity.low);
    return HD_OK;
}

/* The counts of what is there, instead of those announced. */
static void hd__dart_set_header(hd__dart_in *x) {
    hd_dart *doc = x->doc;
    hd_dart_header *h = &doc->header;
    uint64_t references = hd__len(x->g->target.low);
    *h = x->r->header;
    h->class_count = hd__len(doc->class_at);
    h->object_count = x->g->described;
    h->external_count = hd__len(doc->external_at);
    if (x->r->warnings && (h->reference_count < references || x->r->cut)) h->reference_count = references;
    h->name = hd_cstr("");
    if (doc->front) {
        hd__dart_window w = hd__dart_all(doc->front);
        uint64_t flags;
        hd__dart_str(&w, hd__uleb(&w, doc->front + 8, &flags), &h->name);
    }
}

HEAPDUMP_API hd_status hd_dart_read(hd_in in, const hd_options *options, hd_dart **out, hd_error *err) {
    hd__mem mem = hd__mem_options(options);
    hd_graph_desc desc;
    hd__dart_in x;
    hd_status status;
    hd_error ignored;
    hd_dart *doc = (hd_dart *)hd__calloc(&mem, 1, sizeof *doc);
    if (!err) err = &ignored;
    if (!doc) return hd__no_memory(&mem, err);
    doc->mem = mem;
    doc->no_class = HD_NONE;
    memset(&x, 0, sizeof x);
    if (options) x.options = *options;
    memset(&desc, 0, sizeof desc);
    desc.dense = true;
    desc.first_id = 1;
    desc.allocator = x.options.allocator;
    desc.limits = x.options.limits;
    desc.limits.max_memory = hd__mem_rest(&mem).limit;
    x.doc = doc;
    x.g = doc->graph = hd_graph_create(&desc, err);
    status = x.g ? hd_dart_open(in, options, &x.r, err) : err->status;
    if (!status) {
        x.mem = &x.g->mem;
        x.most = x.g->max_records;
        status = hd__dart_run(&x, err);
        if (!status) {
            status = hd__dart_seal(&x);
            if (status) *err = x.r->error;
            else hd__dart_set_header(&x);
        }
        doc->warnings = x.r->warnings;
    }
    hd_dart_close(x.r);
    if (status) hd_dart_free(doc);
    else *out = doc;
    return status;
}

HEAPDUMP_API void hd_dart_free(hd_dart *doc) {
    hd__mem mem;
    if (!doc) return;
    if (doc->graph) {
        hd__mem *m = &doc->graph->mem;
        hd__arr_free(m, doc->front);
        hd__arr_free(m, doc->data);
        hd__arr_free(m, doc->back);
        hd__arr_free(m, doc->class_at);
        hd__arr_free(m, doc->data_at);
        hd__arr_free(m, doc->external_at);
        hd__arr_free(m, doc->external);
        hd__ids_free(m, &doc->identity);
        hd__arr_free(m, doc->odd);
        hd_graph_free(doc->graph);
    }
    mem = doc->mem;
    hd__cfree(&mem, doc, 1, sizeof *doc);
}

HEAPDUMP_API const hd_graph *hd_dart_graph(const hd_dart *doc) { return doc->graph; }
HEAPDUMP_API hd_dart_header hd_dart_get_header(const hd_dart *doc) { return doc->header; }
HEAPDUMP_API uint64_t hd_dart_warning_count(const hd_dart *doc) { return doc->warnings; }
HEAPDUMP_API size_t hd_dart_external_count(const hd_dart *doc) { return hd__len(doc->external_at); }

HEAPDUMP_API hd_dart_class hd_dart_get_class(const hd_dart *doc, uint32_t class_index) {
    hd_dart_class c;
    hd__dart_window w = hd__dart_all(doc->front);
    memset(&c, 0, sizeof c);
    if (class_index - 1 < hd__len(doc->class_at))
        hd__dart_class(&w, doc->front + doc->class_at[class_index - 1], &c);
    return c;
}

HEAPDUMP_API hd_dart_data hd_dart_get_data(const hd_dart *doc, uint32_t object) {
    hd_dart_data data;
    hd__dart_window w = hd__dart_all(doc->data);
    const uint8_t *p;
    memset(&data, 0, sizeof data);
    data.text = hd_cstr("");
    if (object >= doc->graph->described) return data;
    p = doc->data + doc->data_at[object / HD__DART_STEP];
    for (uint32_t i = object % HD__DART_STEP; i && p; i--) p = hd__dart_data(&w, p, &data);
    if (p) hd__dart_data(&w, p, &data);
    return data;
}

HEAPDUMP_API uint64_t hd_dart_shallow(const hd_dart *doc, uint32_t object) {
    uint64_t size = hd__graph_size(doc->graph, object);
    size_t low = 0, high = hd__len(doc->external);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (doc->external[middle].object < object) low = middle + 1;
        else high = middle;
    }
    for (; low < hd__len(doc->external) && doc->external[low].object == object; low++)
        size -= doc->external[low].size;
    return size;
}

HEAPDUMP_API uint64_t hd_dart_identity(const hd_dart *doc, uint32_t object) {
    return object < hd__len(doc->identity.low) ? hd__ids_get(&doc->identity, object) : 0;
}

HEAPDUMP_API hd_dart_external hd_dart_get_external(const hd_dart *doc, size_t index) {
    hd_dart_external external;
    hd__dart_window w = hd__dart_all(doc->back);
    uint64_t id = 0;
    const uint8_t *p = hd__uleb(&w, doc->back + doc->external_at[index], &id);
    external.object = (uint32_t)id - 1; /* of 0: HD_NONE */
    p = hd__uleb(&w, p, &external.size);
    hd__dart_str(&w, p, &external.name);
    return external;
}

/* Writing. ------------------------------------------------------------------------------------- */

typedef struct hd__dart_out {
    hd_sink sink;
    uint64_t base;               /* what the sink has passed on */
    const uint64_t *odd, *odd_end;
} hd__dart_out;

static void hd__dart_flush(hd__dart_out *o) {
    o->base += o->sink.fill;
    hd__sink_flush(&o->sink);
}

static void hd__dart_put_bytes(hd__dart_out *o, const void *data, size_t size) {
    while (size) {
        size_t room = sizeof o->sink.buffer - o->sink.fill, n = size < room ? size : room;
        memcpy(o->sink.buffer + o->sink.fill, data, n);
        o->sink.fill += (uint32_t)n;
        if (n == room) hd__dart_flush(o);
        data = (const char *)data + n;
        size -= n;
    }
}

/* A number in as many bytes as it needs; room for ten expected. */
HD__INLINE char *hd__uleb_put(char *p, uint64_t value) {
#if defined(HD__ULEB_WORDS)
    if (HD__LIKELY(value < 1u << 28)) {
        uint32_t v = (uint32_t)value, bytes;
        unsigned n = (38u - (unsigned)__builtin_clz(v | 1)) / 7;
        bytes = (v & 0x7f) | (v & 0x3f80) << 1 | (v & 0x1fc000) << 2 | (v & 0xfe00000) << 3;
        bytes |= 0x80808080u & ((1u << (8 * (n - 1))) - 1);
        memcpy(p, &bytes, 4);
        return p + n;
    }
#endif
    for (; value >= 128; value >>= 7) *p++ = (char)(value | 128);
    *p++ = (char)value;
    return p;
}

/* With all the bytes it had where it was read. */
HD__NOINLINE static void hd__dart_put_odd(hd__dart_out *o, uint64_t value) {
    char bytes[16], *end = hd__uleb_put(bytes, value);
    size_t n;
    if (o->odd < o->odd_end && *o->odd >> 4 == o->base + o->sink.fill) {
        for (n = *o->odd++ & 15; end < bytes + n; *end++ = 0) end[-1] = (char)(end[-1] | 128);
    }
    hd__dart_put_bytes(o, bytes, (size_t)(end - bytes));
}

/* Whether `count` numbers more fit the sink, emptied if need be, and none of them is odd. */
HD__INLINE bool hd__dart_ready(hd__dart_out *o, size_t count) {
    if (HD__UNLIKELY(sizeof o->sink.buffer - o->sink.fill < 10 * count)) hd__dart_flush(o);
    return HD__LIKELY(o->odd == o->odd_end || *o->odd >> 4 > o->base + o->sink.fill + 10 * count);
}

static void hd__dart_put(hd__dart_out *o, uint64_t value) {
    if (hd__dart_ready(o, 1))
        o->sink.fill = (uint32_t)(hd__uleb_put(o->sink.buffer + o->sink.fill, value) - o->sink.buffer);
    else
        hd__dart_put_odd(o, value);
}

/* References as ids: number + 1, and 0 for what has no record. */
HD__INLINE void hd__dart_put_references(hd__dart_out *o, const uint32_t *target, size_t n, uint32_t described,
                                        uint32_t add) {
    while (n) {
        size_t part = n < sizeof o->sink.buffer / 10 ? n : sizeof o->sink.buffer / 10;
        if (hd__dart_ready(o, part)) {
            char *p = o->sink.buffer + o->sink.fill;
            for (size_t i = 0; i < part; i++)
                p = hd__uleb_put(p, target[i] < described ? (uint64_t)target[i] + add : 0);
            o->sink.fill = (uint32_t)(p - o->sink.buffer);
        } else {
            part = 1;
            hd__dart_put_odd(o, *target < described ? (uint64_t)*target + add : 0);
        }
        target += part;
        n -= part;
    }
}

static hd_status hd__dart_out_end(hd__dart_out *o, hd_status status, hd_error *err) {
    if (status) return hd__cancelled(err);
    status = hd__sink_flush(&o->sink);
    return status ? hd__fail(err, status, "writing the snapshot failed") : HD_OK;
}

static void hd__dart_out_begin(hd__dart_out *o, hd_out out) {
    hd__sink_begin(&o->sink, out);
    o->base = 0;
    o->odd = o->odd_end = NULL;
}

static void hd__dart_put_front(hd__dart_out *o, const hd_dart *doc) {
    size_t size = hd__len(doc->front);
    if (!size) {                 /* lenient: nothing of the header could be read */
        hd__dart_put_bytes(o, "dartheap\0\0\0\0\0\0", 14);
        return;
    }
    if (doc->warnings) {
        hd__dart_put_bytes(o, doc->front, (size_t)doc->count_at);
        hd__dart_put(o, doc->header.class_count);
        hd__dart_put_bytes(o, doc->front + doc->classes_at, size - (size_t)doc->classes_at);
    } else {
        hd__dart_put_bytes(o, doc->front, size);
    }
}

static hd_status hd__dart_put_objects(hd__dart_out *o, const hd_dart *doc, const hd_options *options) {
    const hd_graph *g = doc->graph;
    const uint8_t *p = doc->data;
    hd__dart_window w = hd__dart_all(p);
    hd_dart_data data;
    size_t external = 0, externals = hd__len(doc->external);
    for (uint32_t i = 0; i < g->described && !o->sink.status; i++) {
        uint64_t size = hd__graph_size(g, i);
        const uint8_t *next = hd__dart_data(&w, p, &data);
        uint32_t class_id = g->class_of[i] == doc->no_class ? 0 : g->class_of[i];
        uint32_t first = g->first[i], count = g->first[i + 1] - first;
        if (!(i & HD__TICK) && !hd__go_on(options, i, g->described)) return HD_CANCELLED;
        for (; external < externals && doc->external[external].object == i; external++)
            size -= doc->external[external].size;
        hd__dart_put(o, class_id);
        hd__dart_put(o, size);
        hd__dart_put_bytes(o, p, (size_t)(next - p));
        hd__dart_put(o, count);
        if (count) hd__dart_put_references(o, g->target.low + first, count, g->described, 1);
        p = next;
    }
    return HD_OK;
}

HEAPDUMP_API hd_status hd_dart_write(const hd_dart *doc, const hd_options *options, hd_out out,
                                     hd_error *err) {
    hd__dart_out o;
    hd_status status;
    hd__dart_out_begin(&o, out);
    o.odd = doc->odd;
    o.odd_end = doc->odd ? doc->odd + hd__len(doc->odd) : NULL;
    hd__dart_put_front(&o, doc);
    hd__dart_put(&o, doc->header.reference_count);
    hd__dart_put(&o, doc->header.object_count);
    status = hd__dart_put_objects(&o, doc, options);
    hd__dart_put(&o, doc->header.external_count);
    hd__dart_put_bytes(&o, doc->back, hd__len(doc->back));
    for (size_t i = 0; i < hd__len(doc->identity.low) && !o.sink.status; i++)
        hd__dart_put(&o, hd__ids_get(&doc->identity, i));
    return hd__dart_out_end(&o, status, err);
}

static void hd__dart_put_str(hd__dart_out *o, hd_str s) {
    hd__dart_put(o, s.len);
    hd__dart_put_bytes(o, s.data, s.len);
}

/* A class with those of the graph's fields that are its own, of which *field is the first to look at. */
static void hd__dart_put_class(hd__dart_out *o, const hd_graph *g, uint32_t class_index, size_t *field) {
    const hd_class *c = &g->classes[class_index];
    size_t n = hd__len(g->fields), end;
    while (*field < n && g->fields[*field].class_index < class_index) ++*field;
    for (end = *field; end < n && g->fields[end].class_index == class_index;) end++;
    hd__dart_put(o, 0);
    hd__dart_put_str(o, c->name);
    hd__dart_put_str(o, c->scope);
    hd__dart_put_str(o, hd_cstr(""));
    hd__dart_put_str(o, hd_cstr(""));
    hd__dart_put(o, end - *field);
    for (; *field < end; ++*field) {
        hd__dart_put(o, 0);
        hd__dart_put(o, g->fields[*field].reference);
        hd__dart_put_str(o, g->fields[*field].name);
        hd__dart_put_str(o, hd_cstr(""));
    }
}

/* Header, classes (the root's first, then the graph's by number) and the root, which refers to `holding`
   objects. */
static void hd__dart_put_root(hd__dart_out *o, const hd_graph *g, hd_str name, uint32_t holding) {
    size_t field = 0, classes = hd__len(g->classes);
    hd__dart_put_bytes(o, "dartheap\0", 9);
    hd__dart_put_str(o, name);
    hd__dart_put(o, g->bytes);
    hd__dart_put(o, g->bytes);
    hd__dart_put(o, 0);
    hd__dart_put(o, classes);
    hd__dart_put_bytes(o, "\0\4Root\0\0\0\0", 10);
    for (uint32_t i = 1; i < classes; i++) hd__dart_put_class(o, g, i, &field);
    hd__dart_put(o, holding + hd__len(g->target.low));
    hd__dart_put(o, (uint64_t)g->described + 1);
    hd__dart_put_bytes(o, "\1\0\0", 3);
    hd__dart_put(o, holding);
    for (size_t i = 0; i < hd__len(g->roots); i++)
        if (hd__root_holds(&g->roots[i]))
            hd__dart_put_references(o, &g->roots[i].object, 1, g->described, 2);
}

HEAPDUMP_API hd_status hd_dart_write_graph(const hd_graph *g, hd_str name, const hd_options *options,
                                           hd_out out, hd_error *err) {
    hd__dart_out o;
    hd_status status = HD_OK;
    uint32_t holding = 0;
    HD__TRY(hd__graph_ready(g, err));
    for (size_t i = 0; i < hd__len(g->roots); i++) holding += hd__root_holds(&g->roots[i]);
    hd__dart_out_begin(&o, out);
    hd__dart_put_root(&o, g, name, holding);
    for (uint32_t i = 0; i < g->described && !o.sink.status && !status; i++) {
        uint32_t first = g->first[i], count = g->first[i + 1] - first;
        if (!(i & HD__TICK) && !hd__go_on(options, i, g->described)) status = HD_CANCELLED;
        hd__dart_put(&o, (uint64_t)g->class_of[i] + 1);
        hd__dart_put(&o, hd__graph_size(g, i));
        hd__dart_put(&o, HD_DART_NO_DATA);
        hd__dart_put(&o, count);
        if (count) hd__dart_put_references(&o, g->target.low + first, count, g->described, 2);
    }
    hd__dart_put(&o, 0);
    return hd__dart_out_end(&o, status, err);
}

/* Queries. ------------------------------------------------------------------------------------- */

/* What such calls share: rows in an stb_ds array, found by hash, sorted in the end. */
typedef struct hd__dart_query {
    const hd_dart *doc;
    const uint8_t *reached;
    hd__mem mem;
    hd__index index;
    uint64_t seed;
    const uint8_t *next;         /* data of the next object */
    hd__dart_window w;
} hd__dart_query;

static void hd__dart_query_begin(hd__dart_query *q, const hd_dart *doc, const uint8_t *reached, hd__mem mem) {
    memset(q, 0, sizeof *q);
    q->doc = doc;
    q->reached = reached;
    q->mem = mem;
    q->seed = hd__seed();
    q->next = doc->data;
    q->w = hd__dart_all(doc->data);
}

/* The data of the next object; whether it is asked for. */
static bool hd__dart_query_next(hd__dart_query *q, uint32_t object, hd_dart_data *data) {
    q->next = hd__dart_data(&q->w, q->next, data);
    return !q->reached || q->reached[object];
}

static uint64_t hd__string_hash(const hd__dart_query *q, const hd_dart_data *d) {
    return hd__hash_bytes(hd__hash_u64(q->seed ^ d->tag, d->value), d->text.data, d->text.len);
}

typedef struct hd__string_query {
    hd__dart_query q;
    hd_string_row *rows;
    uint64_t *largest;
} hd__string_query;

static uint64_t hd__string_rehash(const void *owner, uint32_t number) {
    const hd__string_query *x = (const hd__string_query *)owner;
    return hd__string_hash(&x->q, &x->rows[number].data);
}

static bool hd__string_before(const void *owner, uint32_t a, uint32_t b) {
    const hd_string_row *r = (const hd_string_row *)owner, *s = r + b;
    int order;
    r += a;
    if (r->wasted != s->wasted) return r->wasted > s->wasted;
    if (r->bytes != s->bytes) return r->bytes > s->bytes;
    order = hd_str_compare(r->data.text, s->data.text);
    if (order) return order < 0;
    return r->data.tag != s->data.tag ? r->data.tag < s->data.tag : r->data.value < s->data.value;
}

static bool hd__string_add(hd__string_query *x, uint32_t object, const hd_dart_data *d) {
    uint64_t hash = hd__string_hash(&x->q, d), size = hd__graph_size(x->q.doc->graph, object);
    hd_string_row row, *r;
    size_t probe = 0;
    uint32_t i;
    while ((i = hd__index_next(&x->q.index, hash, &probe)) != HD_NONE) {
        const hd_dart_data *known = &x->rows[i].data;
        if (known->tag == d->tag && known->value == d->value && hd_str_equal(known->text, d->text)) break;
    }
    if (i == HD_NONE) {
        i = (uint32_t)hd__len(x->rows);
        memset(&row, 0, sizeof row);
        row.data = *d;
        row.object = object;
        row.cut = d->text.len / (d->tag == HD_DART_UTF16 ? 2 : 1) < d->value;
        if (!hd__push(&x->q.mem, x->rows, row) || !hd__push(&x->q.mem, x->largest, 0) ||
            !hd__index_add(&x->q.mem, &x->q.index, hash, i, hd__string_rehash, x))
            return false;
    }
    r = &x->rows[i];
    r->objects++;
    r->bytes += size;
    if (size > x->largest[i]) x->largest[i] = size;
    r->wasted = r->bytes - x->largest[i];
    return true;
}

#define hd__table_create(type, options) ((type *)hd__owned_create(hd__mem_options(options), sizeof(type)))

/* Moves the rows, *rows being an stb_ds array, sorted into the table, which is freed on failure. */
static hd_status hd__rows_finish(hd__mem *m, bool ok, void *rows, size_t element,
                                 bool (*before)(const void *owner, uint32_t a, uint32_t b), void *table,
                                 void *to, uint32_t *count, hd_error *err) {
    void *from, *copy;
    size_t n;
    memcpy(&from, rows, sizeof from);
    n = stbds_arrlenu(from);
    if (ok) ok = hd__sort_array(m, from, n, element, before);
    if (ok) {
        copy = hd__owned_take(table, n, element);
        ok = copy != NULL;
        if (!ok) m->over = ((hd__owned *)table - 1)->mem.over;
        if (ok && n) memcpy(copy, from, n * element);
        if (ok) memcpy(to, &copy, sizeof copy);
        *count = (uint32_t)n;
    }
    hd__arr_release(m, rows, element);
    if (ok) return HD_OK;
    hd__owned_free(table);
    return hd__no_memory(m, err);
}

HEAPDUMP_API hd_status hd_dart_strings(const hd_dart *doc, const uint8_t *reached, const hd_options *options,
                                       hd_string_table **out, hd_error *err) {
    hd__mem *m;
    hd_string_table *t = hd__table_create(hd_string_table, options);
    hd__string_query x;
    hd_status status;
    bool ok = true;
    memset(&x, 0, sizeof x);
    hd__dart_query_begin(&x.q, doc, reached, hd__mem_options(options));
    m = &x.q.mem;
    if (!t) return hd__no_memory(m, err);
    for (uint32_t i = 0; i < doc->graph->described && ok; i++) {
        hd_dart_data d;
        if (!hd__dart_query_next(&x.q, i, &d)) continue;
        if (d.tag != HD_DART_LATIN1 && d.tag != HD_DART_UTF16) continue;
        t->objects++;
        t->bytes += hd__graph_size(doc->graph, i);
        ok = hd__string_add(&x, i, &d);
    }
    for (size_t i = 0; i < hd__len(x.rows); i++) t->wasted += x.rows[i].cut ? 0 : x.rows[i].wasted;
    hd__arr_free(m, x.largest);
    hd__index_free(m, &x.q.index);
    status = hd__rows_finish(m, ok, &x.rows, sizeof *x.rows, hd__string_before, t, &t->rows, &t->count, err);
    if (!status) *out = t;
    return status;
}

HEAPDUMP_API void hd_string_table_free(hd_string_table *table) { hd__owned_free(table); }

typedef struct hd__length_query {
    hd__dart_query q;
    hd_length_row *rows;
} hd__length_query;

static uint64_t hd__length_hash(const hd__dart_query *q, uint32_t class_index, uint64_t length) {
    return hd__hash_u64(hd__hash_u64(q->seed, class_index), length);
}

static uint64_t hd__length_rehash(const void *owner, uint32_t number) {
    const hd__length_query *x = (const hd__length_query *)owner;
    return hd__length_hash(&x->q, x->rows[number].class_index, x->rows[number].length);
}

static bool hd__length_before(const void *owner, uint32_t a, uint32_t b) {
    const hd_length_row *r = (const hd_length_row *)owner, *s = r + b;
    int order;
    r += a;
    if (r->bytes != s->bytes) return r->bytes > s->bytes;
    order = hd_str_compare(r->name, s->name);
    if (!order) order = hd_str_compare(r->scope, s->scope);
    if (order) return order < 0;
    return r->class_index != s->class_index ? r->class_index < s->class_index : r->length < s->length;
}

static bool hd__length_add(hd__length_query *x, uint32_t object, uint64_t length) {
    const hd_graph *g = x->q.doc->graph;
    uint32_t class_index = g->class_of[object], i;
    uint64_t hash = hd__length_hash(&x->q, class_index, length);
    size_t probe = 0;
    hd_length_row row;
    while ((i = hd__index_next(&x->q.index, hash, &probe)) != HD_NONE)
        if (x->rows[i].class_index == class_index && x->rows[i].length == length) break;
    if (i == HD_NONE) {
        i = (uint32_t)hd__len(x->rows);
        memset(&row, 0, sizeof row);
        row.class_index = class_index;
        row.name = g->classes[class_index].name;
        row.scope = g->classes[class_index].scope;
        row.length = length;
        row.object = object;
        if (!hd__push(&x->q.mem, x->rows, row) ||
            !hd__index_add(&x->q.mem, &x->q.index, hash, i, hd__length_rehash, x))
            return false;
    }
    x->rows[i].objects++;
    x->rows[i].bytes += hd__graph_size(g, object);
    return true;
}

HEAPDUMP_API hd_status hd_dart_lengths(const hd_dart *doc, const uint8_t *reached, const hd_options *options,
                                       hd_length_table **out, hd_error *err) {
    hd_length_table *t = hd__table_create(hd_length_table, options);
    hd__length_query x;
    hd_status status;
    bool ok = true;
    memset(&x, 0, sizeof x);
    hd__dart_query_begin(&x.q, doc, reached, hd__mem_options(options));
    if (!t) return hd__no_memory(&x.q.mem, err);
    for (uint32_t i = 0; i < doc->graph->described && ok; i++) {
        hd_dart_data d;
        if (hd__dart_query_next(&x.q, i, &d) && d.tag == HD_DART_LENGTH) ok = hd__length_add(&x, i, d.value);
    }
    hd__index_free(&x.q.mem, &x.q.index);
    status = hd__rows_finish(&x.q.mem, ok, &x.rows, sizeof *x.rows, hd__length_before, t, &t->rows, &t->count,
                             err);
    if (!status) *out = t;
    return status;
}

HEAPDUMP_API void hd_length_table_free(hd_length_table *table) { hd__owned_free(table); }

/* Classes by what they are called: numbers that are the same wherever the name, or only the library's
   name, and URI are. */
typedef struct hd__dart_names {
    hd__mem *mem;
    hd_dart_class *known;
    hd__index index;
    uint64_t seed;
    bool libraries;              /* classes of one library have one number */
} hd__dart_names;

static uint64_t hd__dart_names_hash(const hd__dart_names *x, const hd_dart_class *c) {
    uint64_t hash = hd__hash_bytes(x->seed, c->library.data, c->library.len);
    hash = hd__hash_bytes(hash, c->library_uri.data, c->library_uri.len);
    return x->libraries ? hash : hd__hash_bytes(hash, c->name.data, c->name.len);
}

static uint64_t hd__dart_names_rehash(const void *owner, uint32_t number) {
    const hd__dart_names *x = (const hd__dart_names *)owner;
    return hd__dart_names_hash(x, &x->known[number]);
}

static void hd__dart_names_free(hd__dart_names *x) {
    hd__arr_free(x->mem, x->known);
    hd__index_free(x->mem, &x->index);
}

/* A number for each class of a graph; NULL: no memory. */
static uint32_t *hd__dart_names_of(hd__dart_names *x, const hd_dart *doc) {
    uint32_t n = hd_graph_class_count(doc->graph), k;
    uint32_t *number = (uint32_t *)hd__calloc(x->mem, n, sizeof *number);
    for (uint32_t i = 0; i < n && number; i++) {
        hd_dart_class c = hd_dart_get_class(doc, i);
        uint64_t hash;
        size_t probe = 0;
        hash = hd__dart_names_hash(x, &c);
        while ((k = hd__index_next(&x->index, hash, &probe)) != HD_NONE)
            if (hd_str_equal(x->known[k].library, c.library) &&
                hd_str_equal(x->known[k].library_uri, c.library_uri) &&
                (x->libraries || hd_str_equal(x->known[k].name, c.name)))
                break;
        if (k == HD_NONE) {
            k = (uint32_t)hd__len(x->known);
            if (!hd__push(x->mem, x->known, c) ||
                !hd__index_add(x->mem, &x->index, hash, k, hd__dart_names_rehash, x)) {
                hd__cfree(x->mem, number, n, sizeof *number);
                return NULL;
            }
        }
        number[i] = k;
    }
    return number;
}

static bool hd__library_before(const void *owner, uint32_t a, uint32_t b) {
    const hd_library_row *r = (const hd_library_row *)owner, *s = r + b;
    int order;
    r += a;
    if (r->bytes != s->bytes) return r->bytes > s->bytes;
    order = hd_str_compare(r->uri, s->uri);
    return (order ? order : hd_str_compare(r->name, s->name)) < 0;
}

/* Totals by library into an stb_ds array, those without objects left out. */
static bool hd__library_rows(const hd_dart *doc, const uint8_t *reached, const hd__dart_names *names,
                             const uint32_t *number, uint8_t *used, hd_library_row **rows) {
    const hd_graph *g = doc->graph;
    size_t n = hd__len(names->known), kept = 0;
    if (!hd__room(names->mem, *rows, n)) return false;
    memset(*rows, 0, n * sizeof **rows);
    hd__set_len(*rows, n);
    for (size_t i = 0; i < n; i++) {
        (*rows)[i].name = names->known[i].library;
        (*rows)[i].uri = names->known[i].library_uri;
    }
    for (uint32_t i = 0; i < g->described; i++) {
        hd_library_row *r = &(*rows)[number[g->class_of[i]]];
        uint64_t size = hd__graph_size(g, i);
        r->classes += !used[g->class_of[i]];
        used[g->class_of[i]] = 1;
        r->objects++;
        r->bytes += size;
        if (!reached || !reached[i]) continue;
        r->live_objects++;
        r->live_bytes += size;
    }
    for (size_t i = 0; i < n; i++)
        if ((*rows)[i].objects) (*rows)[kept++] = (*rows)[i];
    hd__set_len(*rows, kept);
    return true;
}

HEAPDUMP_API hd_status hd_dart_libraries(const hd_dart *doc, const uint8_t *reached,
                                         const hd_options *options, hd_library_table **out, hd_error *err) {
    hd__mem m = hd__mem_options(options);
    uint32_t classes = hd_graph_class_count(doc->graph);
    hd_library_table *t = hd__table_create(hd_library_table, options);
    uint8_t *used = (uint8_t *)hd__calloc(&m, classes, 1);
    hd_library_row *rows = NULL;
    uint32_t *number;
    hd__dart_names names;
    hd_status status;
    bool ok;
    memset(&names, 0, sizeof names);
    names.mem = &m;
    names.seed = hd__seed();
    names.libraries = true;
    number = t && used ? hd__dart_names_of(&names, doc) : NULL;
    ok = number && hd__library_rows(doc, reached, &names, number, used, &rows);
    if (number) hd__cfree(&m, number, classes, sizeof *number);
    if (used) hd__cfree(&m, used, classes, 1);
    hd__dart_names_free(&names);
    if (!t) return hd__no_memory(&m, err);
    status = hd__rows_finish(&m, ok, &rows, sizeof *rows, hd__library_before, t, &t->rows, &t->count, err);
    if (!status) *out = t;
    return status;
}

HEAPDUMP_API void hd_library_table_free(hd_library_table *table) { hd__owned_free(table); }

/* Objects of one snapshot that have hash codes, in the order of their class's name, code and number. */
typedef struct hd__identities {
    const hd_dart *doc;
    uint32_t *number;            /* of each class's name */
    uint32_t *order;             /* stb_ds array */
} hd__identities;

static bool hd__identities_sort(hd__mem *m, hd__dart_names *names, hd__identities *x, const hd_dart *doc) {
    const hd__ids *ids = &doc->identity;
    uint32_t n = 0, count = doc->graph->described;
    uint64_t *pairs, *sorted;
    x->doc = doc;
    x->number = hd__dart_names_of(names, doc);
    if (!x->number) return false;
    for (uint32_t i = 0; i < count; i++) n += hd__ids_get(ids, i) != 0;
    pairs = (uint64_t *)hd__calloc(m, n, 2 * sizeof *pairs);
    if (!pairs || !hd__room(m, x->order, n)) {
        if (pairs) hd__cfree(m, pairs, n, 2 * sizeof *pairs);
        return false;
    }
    for (uint32_t i = 0, k = 0; i < count; i++)
        if (hd__ids_get(ids, i)) pairs[k++] = (uint64_t)ids->low[i] << 32 | i;
    sorted = hd__radix_sort(pairs, pairs + n, n);
    for (int by = ids->high ? 0 : 1; by < 2; by++) {
        for (uint32_t i = 0; i < n; i++) {
            uint32_t object = (uint32_t)sorted[i];
            uint64_t key = by ? x->number[doc->graph->class_of[object]] : ids->high[object];
            sorted[i] = key << 32 | object;
        }
        sorted = hd__radix_sort(sorted, sorted == pairs ? pairs + n : pairs, n);
    }
    for (uint32_t i = 0; i < n; i++) x->order[i] = (uint32_t)sorted[i];
    hd__set_len(x->order, n);
    hd__cfree(m, pairs, n, 2 * sizeof *pairs);
    return true;
}

static void hd__identities_free(hd__mem *m, hd__identities *x) {
    if (x->number) hd__cfree(m, x->number, hd_graph_class_count(x->doc->graph), sizeof *x->number);
    hd__arr_free(m, x->order);
}

/* <0, 0, >0: which of two comes first. */
static int hd__identities_compare(const hd__identities *a, uint32_t object, const hd__identities *b,
                                  uint32_t other) {
    uint32_t name = a->number[a->doc->graph->class_of[object]];
    uint32_t name2 = b->number[b->doc->graph->class_of[other]];
    uint64_t code = hd_dart_identity(a->doc, object), code2 = hd_dart_identity(b->doc, other);
    if (name != name2) return name < name2 ? -1 : 1;
    return code < code2 ? -1 : code > code2;
}

static bool hd__identity_before(const void *owner, uint32_t a, uint32_t b) {
    const hd_identity_row *r = (const hd_identity_row *)owner, *s = r + b;
    uint64_t moved, moved2;
    int order;
    r += a;
    moved = r->bytes[0] - r->kept_bytes[0] + (r->bytes[1] - r->kept_bytes[1]);
    moved2 = s->bytes[0] - s->kept_bytes[0] + (s->bytes[1] - s->kept_bytes[1]);
    if (moved != moved2) return moved > moved2;
    order = hd_str_compare(r->name, s->name);
    if (!order) order = hd_str_compare(r->library_uri, s->library_uri);
    return (order ? order : hd_str_compare(r->library, s->library)) < 0;
}

/* Walks through both in step. */
static void hd__identity_match(const hd__identities side[2], hd_identity_row *rows, uint32_t *now,
                               uint32_t *then) {
    size_t at[2] = { 0, 0 }, n[2] = { hd__len(side[0].order), hd__len(side[1].order) };
    while (at[0] < n[0] || at[1] < n[1]) {
        int order = at[0] == n[0]   ? 1
                    : at[1] == n[1] ? -1
                                    : hd__identities_compare(&side[0], side[0].order[at[0]], &side[1],
                                                             side[1].order[at[1]]);
        for (int k = 0; k < 2; k++) {
            const hd_graph *g = side[k].doc->graph;
            uint32_t object;
            hd_identity_row *r;
            if (order && (order < 0) != (k == 0)) continue;
            object = side[k].order[at[k]];
            r = &rows[side[k].number[g->class_of[object]]];
            r->objects[k]++;
            r->bytes[k] += hd__graph_size(g, object);
            if (!order) r->kept_bytes[k] += hd__graph_size(g, object);
            if (!order && !k) {
                r->kept++;
                now[object] = side[1].order[at[1]];
                then[now[object]] = object;
            }
        }
        if (order <= 0) at[0]++;
        if (order >= 0) at[1]++;
    }
}

static uint32_t *hd__identity_column(hd_identity_change *t, const hd_dart *doc) {
    uint32_t *column = (uint32_t *)hd__owned_take(t, doc->graph->count, sizeof *column);
    if (column) memset(column, 0xff, doc->graph->count * sizeof *column);
    return column;
}

static bool hd__identity_run(hd__mem *m, const hd_dart *const doc[2], hd__dart_names *names,
                             hd__identities side[2], hd_identity_change *t, hd_identity_row **rows) {
    size_t n, kept = 0;
    uint32_t *now = hd__identity_column(t, doc[0]), *then = hd__identity_column(t, doc[1]);
    if (!now || !then) m->over = ((hd__owned *)t - 1)->mem.over;
    if (!now || !then || !hd__identities_sort(m, names, &side[0], doc[0]) ||
        !hd__identities_sort(m, names, &side[1], doc[1]))
        return false;
    n = hd__len(names->known);
    if (!hd__room(m, *rows, n)) return false;
    memset(*rows, 0, n * sizeof **rows);
    hd__set_len(*rows, n);
    for (size_t i = 0; i < n; i++) {
        (*rows)[i].name = names->known[i].name;
        (*rows)[i].library = names->known[i].library;
        (*rows)[i].library_uri = names->known[i].library_uri;
    }
    t->now = now;
    t->then = then;
    hd__identity_match(side, *rows, now, then);
    for (size_t i = 0; i < n; i++)
        if ((*rows)[i].objects[0] || (*rows)[i].objects[1]) (*rows)[kept++] = (*rows)[i];
    hd__set_len(*rows, kept);
    return true;
}

HEAPDUMP_API hd_status hd_dart_diff(const hd_dart *before, const hd_dart *after, const hd_options *options,
                                    hd_identity_change **out, hd_error *err) {
    hd__mem m = hd__mem_options(options);
    const hd_dart *doc[2] = { before, after };
    hd_identity_change *t;
    hd_identity_row *rows = NULL;
    hd__identities side[2];
    hd__dart_names names;
    hd_status status;
    bool ok;
    for (int i = 0; i < 2; i++)
        if (!doc[i]->header.has_identity)
            return hd__fail(err, HD_UNSUPPORTED, "the snapshot %s has no identity hash codes",
                            i ? "after" : "before");
    t = hd__table_create(hd_identity_change, options);
    if (!t) return hd__no_memory(&m, err);
    memset(&names, 0, sizeof names);
    names.mem = &m;
    names.seed = hd__seed();
    memset(side, 0, sizeof side);
    ok = hd__identity_run(&m, doc, &names, side, t, &rows);
    hd__identities_free(&m, &side[0]);
    hd__identities_free(&m, &side[1]);
    hd__dart_names_free(&names);
    status = hd__rows_finish(&m, ok, &rows, sizeof *rows, hd__identity_before, t, &t->rows, &t->count, err);
    if (!status) *out = t;
    return status;
}

HEAPDUMP_API void hd_identity_change_free(hd_identity_change *change) { hd__owned_free(change); }

/* ================================================================================ >>memprof
   Reading holds one profile as bytes and one as columns: sections are found by their offsets, checked against
   the bytes that are there, and taken apart. Strictly read are files that the writer makes again: sections in
   their usual order, each filled up to 8 bytes, with whatever the runtime left there. */

/* Name, bytes in a raw profile, what several of them come to: only some come to anything. */
enum { HD__MIB_SUM, HD__MIB_MIN, HD__MIB_MAX, HD__MIB_OWN };
typedef struct hd__mib_field {
    const char *name;
    uint8_t width, rule;
} hd__mib_field;

static const hd__mib_field hd__mib[HD_MEMPROF_FIELDS] = {
    { "unknown", 0, HD__MIB_OWN },
    { "AllocCount", 4, HD__MIB_SUM },
    { "TotalAccessCount", 8, HD__MIB_SUM },
    { "MinAccessCount", 8, HD__MIB_MIN },
    { "MaxAccessCount", 8, HD__MIB_MAX },
    { "TotalSize", 8, HD__MIB_SUM },
    { "MinSize", 4, HD__MIB_MIN },
    { "MaxSize", 4, HD__MIB_MAX },
    { "AllocTimestamp", 4, HD__MIB_OWN },
    { "DeallocTimestamp", 4, HD__MIB_OWN },
    { "TotalLifetime", 8, HD__MIB_SUM },
    { "MinLifetime", 4, HD__MIB_MIN },
    { "MaxLifetime", 4, HD__MIB_MAX },
    { "AllocCpuId", 4, HD__MIB_OWN },
    { "DeallocCpuId", 4, HD__MIB_OWN },
    { "NumMigratedCpu", 4, HD__MIB_OWN },
    { "NumLifetimeOverlaps", 4, HD__MIB_OWN },
    { "NumSameAllocCpu", 4, HD__MIB_OWN },
    { "NumSameDeallocCpu", 4, HD__MIB_OWN },
    { "DataTypeId", 8, HD__MIB_OWN },
    { "TotalAccessDensity", 8, HD__MIB_SUM },
    { "MinAccessDensity", 4, HD__MIB_MIN },
    { "MaxAccessDensity", 4, HD__MIB_MAX },
    { "TotalLifetimeAccessDensity", 8, HD__MIB_SUM },
    { "MinLifetimeAccessDensity", 4, HD__MIB_MIN },
    { "MaxLifetimeAccessDensity", 4, HD__MIB_MAX },
    { "AccessHistogramSize", 4, HD__MIB_OWN },
    { "AccessHistogram", 8, HD__MIB_OWN },
};

#define HD__MIB_UP_TO(field) ((2u << (field)) - 2) /* bits of fields 1 to this */
#define HD__MIB_HISTOGRAM (1u << HD_MEMPROF_ACCESS_HISTOGRAM_SIZE | 1u << HD_MEMPROF_ACCESS_HISTOGRAM)

HEAPDUMP_API const char *hd_memprof_field_name(uint32_t field) {
    return hd__mib[field < HD_MEMPROF_FIELDS ? field : 0].name;
}

/* Fields of a version: 1 to this one. */
static uint32_t hd__memprof_last_field(uint32_t version) {
    static const uint8_t last[] = { 0, HD_MEMPROF_DATA_TYPE_ID, HD_MEMPROF_MAX_LIFETIME_ACCESS_DENSITY,
                                    HD_MEMPROF_MAX_LIFETIME_ACCESS_DENSITY, HD_MEMPROF_ACCESS_HISTOGRAM,
                                    HD_MEMPROF_ACCESS_HISTOGRAM };
    return version < sizeof last ? last[version] : 0;
}

HEAPDUMP_API uint32_t hd_memprof_version_fields(uint32_t version) {
    return HD__MIB_UP_TO(hd__memprof_last_field(version));
}

HEAPDUMP_API uint64_t hd_memprof_counter(const hd_memprof_raw *raw, uint64_t counter) {
    uint64_t c = raw->counters[counter];
    return raw->version < 5 ? c : (c & 0xfff) << (c >> 12 & 15);
}

/* The same into 16 bits: 12 of them rounded up, 4 to shift by. */
static uint64_t hd__memprof_pack(uint64_t count) {
    uint64_t shift = 0;
    if (count > 0xfffu << 15) count = 0xfffu << 15;
    for (; count > 0xfff; shift++) count = (count + 1) >> 1;
    return shift << 12 | count;
}

static uint64_t hd__memprof_counters(const hd_memprof_raw *raw, const hd_memprof_block *b) {
    const uint32_t field = HD_MEMPROF_ACCESS_HISTOGRAM_SIZE;
    return raw->fields >> field & 1 ? b->value[field] : 0;
}

/* Numbers of 2, 4 or 8 bytes, in the file's byte order. */
HD__INLINE uint64_t hd__memprof_get(const uint8_t *p, unsigned width, bool big) {
    uint64_t v = 0;
    if (width == 8 && !big)
        return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
               (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
    if (width == 4 && !big)
        return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
    for (unsigned i = 0; i < width; i++) v = v << 8 | p[big ? i : width - 1 - i];
    return v;
}

static const uint8_t hd__memprof_magic[8] = { 0x81, 'r', 'f', 'o', 'r', 'p', 'm', 0xff }; /* little-endian */

/* 1: a raw profile, 2: a big-endian one, 0: none. */
static int hd__memprof_detect(const uint8_t *p, size_t size) {
    int order = 3;
    if (size < 8) return 0;
    for (int i = 0; i < 8; i++)
        order &= (p[i] == hd__memprof_magic[i] ? 1 : 0) | (p[i] == hd__memprof_magic[7 - i] ? 2 : 0);
    return order;
}

#define HD__MEMPROF_HEADER 48u

enum { HD__MEMPROF_SEGMENTS, HD__MEMPROF_BLOCKS, HD__MEMPROF_STACKS };
static const char *const hd__memprof_section_name[] = { "segment", "block", "stack" };

/* The columns of a profile, stb_ds arrays. */
typedef struct hd__memprof_columns {
    hd_memprof_segment *segments;
    hd_memprof_block *blocks;
    uint64_t *stack_id, *pc, *counters;
    uint32_t *first;
} hd__memprof_columns;

static void hd__memprof_columns_free(hd__mem *m, hd__memprof_columns *c) {
    hd__arr_free(m, c->segments);
    hd__arr_free(m, c->blocks);
    hd__arr_free(m, c->stack_id);
    hd__arr_free(m, c->pc);
    hd__arr_free(m, c->counters);
    hd__arr_free(m, c->first);
}

static void hd__memprof_columns_show(const hd__memprof_columns *c, hd_memprof_raw *raw) {
    raw->segment_count = (uint32_t)hd__len(c->segments);
    raw->segments = c->segments;
    raw->block_count = (uint32_t)hd__len(c->blocks);
    raw->blocks = c->blocks;
    raw->stack_count = (uint32_t)hd__len(c->stack_id);
    raw->stack_id = c->stack_id;
    raw->first = c->first;
    raw->pc = c->pc;
    raw->counter_count = hd__len(c->counters);
    raw->counters = c->counters;
}

struct hd_memprof_reader {
    hd__mem mem;
    hd_options options;
    hd_in in;
    const uint8_t *p;            /* the profile, as far as it is there */
    uint64_t size;
    uint8_t *buffer;             /* of a callback: what p is then */
    size_t capacity;
    uint64_t base;               /* offset of the profile in the input */
    uint64_t number;             /* of profiles so far */
    uint64_t max_records, warnings, seed;
    bool cut;                    /* lenient: nothing follows */
    hd__index ids;               /* stacks by id */
    hd__keyed *order, *spare;    /* stb_ds arrays: segments by start */
    hd__memprof_columns columns;
    hd_memprof_raw raw;
    hd_error error;
};

HEAPDUMP_API hd_status hd_memprof_open(hd_in in, const hd_options *options, hd_memprof_reader **out,
                                       hd_error *err) {
    hd__mem mem = hd__mem_options(options);
    hd_memprof_reader *r = (hd_memprof_reader *)hd__realloc(&mem, NULL, 0, sizeof *r);
    if (!r) return hd__no_memory(&mem, err);
    memset(r, 0, sizeof *r);
    r->mem = mem;
    r->in = in;
    if (options) r->options = *options;
    r->max_records = hd__records(options ? &options->limits : NULL);
    r->seed = hd__seed();
    *out = r;
    return HD_OK;
}

/* Frees the reader; what of its memory others took over stays counted. */
static hd__mem hd__memprof_release(hd_memprof_reader *r) {
    hd__mem mem;
    hd__free(&r->mem, r->buffer, r->capacity);
    hd__index_free(&r->mem, &r->ids);
    hd__arr_free(&r->mem, r->order);
    hd__arr_free(&r->mem, r->spare);
    hd__memprof_columns_free(&r->mem, &r->columns);
    mem = r->mem;
    hd__free(&mem, r, sizeof *r);
    return mem;
}

HEAPDUMP_API void hd_memprof_close(hd_memprof_reader *r) {
    if (r) hd__memprof_release(r);
}

HEAPDUMP_API uint64_t hd_memprof_reader_warnings(const hd_memprof_reader *r) { return r->warnings; }

/* Shows at least `want` bytes of the profile at hand, or all that is left of the input. */
static hd_status hd__memprof_fetch(hd_memprof_reader *r, uint64_t want) {
    if (!r->in.read) {
        r->p = r->in.data + r->base;
        r->size = r->in.size - r->base < want ? r->in.size - r->base : want;
        return HD_OK;
    }
    while (r->size < want) {
        size_t most;
        int64_t n;
        if (r->size == r->capacity) {
            size_t capacity = r->capacity ? 2 * r->capacity : HD__READER_BUFFER;
            uint8_t *grown = (uint8_t *)hd__realloc(&r->mem, r->buffer, r->capacity, capacity);
            if (!grown) return hd__no_memory(&r->mem, &r->error);
            r->buffer = grown;
            r->capacity = capacity;
        }
        most = want < r->capacity ? (size_t)(want - r->size) : r->capacity - (size_t)r->size;
        n = r->in.read(r->in.user, r->buffer + r->size, most);
        if (n < 0 || (uint64_t)n > most)
            return hd__fail_at(&r->error, HD_IO, r->base + r->size, 0, "reading the input failed");
        if (!n) break;
        r->size += (uint64_t)n;
    }
    r->p = r->buffer;
    return HD_OK;
}

/* Says what is wrong at an offset into the profile. HD_OK: lenient reading goes on. */
HD__NOINLINE static hd_status hd__memprof_bad(hd_memprof_reader *r, uint64_t at, const char *format, ...) {
    hd_error *e = &r->error;
    size_t n = 0;
    va_list args;
    hd__fail_at(e, HD_MALFORMED, r->base + at, 0, r->number > 1 ? "profile %u: " : "", r->number);
    n = strlen(e->message);
    va_start(args, format);
    hd__format(e->message + n, sizeof e->message - n, format, args);
    va_end(args);
    if (!r->options.lenient) return HD_MALFORMED;
    r->warnings++;
    if (r->options.warning) r->options.warning(r->options.user, e);
    return HD_OK;
}

static bool hd__memprof_tick(const hd_memprof_reader *r, uint64_t at) {
    return hd__go_on(&r->options, r->base + at, r->in.read ? HD_UNKNOWN : r->in.size);
}

static hd_status hd__memprof_full(hd_memprof_reader *r) { return hd__no_memory(&r->mem, &r->error); }

HD__INLINE uint64_t hd__memprof_u64(const hd_memprof_reader *r, uint64_t at) {
    return hd__memprof_get(r->p + at, 8, r->raw.big_endian);
}

/* Where records of a section are, [at, end), and how many. */
typedef struct hd__memprof_section {
    uint64_t offset, at, end, count;
} hd__memprof_section;

static hd_status hd__memprof_section_open(hd_memprof_reader *r, const uint64_t offset[3], int k,
                                          uint64_t least, hd__memprof_section *s) {
    const char *name = hd__memprof_section_name[k];
    s->offset = offset[k];
    s->end = r->size;
    s->count = 0;
    if (s->offset < HD__MEMPROF_HEADER || r->size < 8 || s->offset > r->size - 8) {
        s->at = s->end;
        return hd__memprof_bad(r, 24 + 8 * (uint64_t)k,
                               "the %s section expected within the profile's bytes 48 to %u, found at %u",
                               name, r->size, s->offset);
    }
    s->at = s->offset + 8;
    for (int j = 0; j < 3; j++)
        if (offset[j] > s->offset && offset[j] < s->end) s->end = offset[j];
    if (s->end < s->at) s->end = s->at;
    s->count = hd__memprof_u64(r, s->offset);
    if (s->count > (s->end - s->at) / least) {
        HD__TRY(hd__memprof_bad(r, s->offset, "%u %ss announced where %u bytes are left", s->count, name,
                                s->end - s->at));
        s->count = (s->end - s->at) / least;
    }
    if (s->count > r->max_records)
        return hd__fail_at(&r->error, HD_LIMIT, r->base + s->offset, 0, "more than the allowed %u %ss",
                           r->max_records, name);
    return HD_OK;
}

/* The section has been read up to s->at: what comes next, at `next`, begins at the next multiple of 8. */
static hd_status hd__memprof_section_close(hd_memprof_reader *r, const hd__memprof_section *s, int k,
                                           uint64_t next, const char *what) {
    uint64_t end = (s->at + 7) & ~(uint64_t)7;
    r->raw.padding[k] = 0;
    if (next != end)
        return hd__memprof_bad(r, s->at, "%s expected at %u, behind the %s section, found at %u", what, end,
                               hd__memprof_section_name[k], next);
    for (uint64_t i = 0; s->at + i < end && s->at + i < r->size; i++)
        r->raw.padding[k] |= (uint64_t)r->p[s->at + i] << 8 * i;
    return HD_OK;
}

static hd_status hd__memprof_segments(hd_memprof_reader *r, hd__memprof_section *s) {
    bool old = r->raw.version < 3;
    uint64_t width = old ? 56 : 64;
    if (!hd__room(&r->mem, r->columns.segments, (size_t)s->count)) return hd__memprof_full(r);
    for (uint64_t i = 0; i < s->count; i++, s->at += width) {
        const uint8_t *id = r->p + s->at + width - 32;
        hd_memprof_segment segment;
        uint64_t size = 0;
        segment.start = hd__memprof_u64(r, s->at);
        segment.end = hd__memprof_u64(r, s->at + 8);
        segment.offset = hd__memprof_u64(r, s->at + 16);
        memcpy(segment.build_id, id, 32);
        if (old)
            for (int k = 0; k < 32; k++) size = id[k] ? 32 : size;
        else size = hd__memprof_u64(r, s->at + 24);
        if (size > 32) {
            HD__TRY(hd__memprof_bad(r, s->at + 24,
                                    "segment %u: a build id of at most 32 bytes expected, %u found", i,
                                    size));
            continue;
        }
        segment.build_id_size = (uint32_t)size;
        if (segment.start > segment.end) {
            HD__TRY(hd__memprof_bad(r, s->at, "segment %u: it starts at 0x%x and ends before, at 0x%x", i,
                                    segment.start, segment.end));
            continue;
        }
        stbds_arrput(r->columns.segments, segment);
    }
    return HD_OK;
}

/* Numbers of segments by where they start, in `order`. False: out of memory. */
static bool hd__memprof_order(hd__mem *m, const hd_memprof_segment *segments, size_t n, hd__keyed **order,
                              hd__keyed **spare) {
    hd__set_len(*order, 0);
    if (!hd__room(m, *order, n) || !hd__room(m, *spare, n)) return false;
    for (size_t i = 0; i < n; i++) {
        hd__keyed key;
        key.key = segments[i].start;
        key.number = (uint32_t)i;
        stbds_arrput(*order, key);
    }
    hd__sort_keys(*order, *spare, n);
    return true;
}

/* Lenient: of two that overlap, the one that starts later goes. */
static hd_status hd__memprof_overlaps(hd_memprof_reader *r, uint64_t at) {
    hd_memprof_segment *segments = r->columns.segments;
    size_t n = hd__len(segments), kept = 0;
    uint64_t end = 0, width = r->raw.version < 3 ? 56 : 64;
    bool gone = false;
    if (!hd__memprof_order(&r->mem, segments, n, &r->order, &r->spare)) return hd__memprof_full(r);
    for (size_t i = 0; i < n; i++) {
        hd_memprof_segment *s = &segments[r->order[i].number];
        if (s->start < end) {
            HD__TRY(hd__memprof_bad(r, at + r->order[i].number * width,
                                    "segment %u: it starts at 0x%x, in another one that ends at 0x%x",
                                    (uint64_t)r->order[i].number, s->start, end));
            s->start = 1;        /* its mark: it ends before it starts */
            s->end = 0;
            gone = true;
        } else {
            end = s->end;
        }
    }
    for (size_t i = 0; i < n && gone; i++)
        if (segments[i].start <= segments[i].end) segments[kept++] = segments[i];
    if (gone) hd__set_len(segments, kept);
    return HD_OK;
}

static uint64_t hd__memprof_id_rehash(const void *owner, uint32_t stack) {
    const hd_memprof_reader *r = (const hd_memprof_reader *)owner;
    return hd__hash_u64(r->seed, r->columns.stack_id[stack]);
}

static uint32_t hd__memprof_find_stack(const hd_memprof_reader *r, uint64_t id) {
    size_t probe = 0;
    uint32_t s;
    while ((s = hd__index_next(&r->ids, hd__hash_u64(r->seed, id), &probe)) != HD_NONE)
        if (r->columns.stack_id[s] == id) break;
    return s;
}

/* Whether the last addresses in the column, which are no stack's yet, are those of this one. */
static bool hd__memprof_same_stack(const hd__memprof_columns *c, uint32_t other) {
    uint32_t first = c->first[hd__len(c->stack_id)], n = (uint32_t)hd__len(c->pc) - first;
    uint32_t then = c->first[other], count = c->first[other + 1] - then;
    return n == count && (!n || !memcmp(c->pc + first, c->pc + then, n * sizeof *c->pc));
}

static hd_status hd__memprof_stacks(hd_memprof_reader *r, hd__memprof_section *s) {
    hd__memprof_columns *c = &r->columns;
    size_t count = (size_t)s->count;
    if (!hd__room(&r->mem, c->stack_id, count) || !hd__room(&r->mem, c->first, count + 1))
        return hd__memprof_full(r);
    stbds_arrput(c->first, 0u);
    for (uint64_t i = 0; i < s->count; i++) {
        uint64_t id, n, at = s->at;
        uint32_t known;
        if (s->end - at < 16)
            return hd__memprof_bad(r, at, "%u stacks announced, the section ends in number %u", s->count, i);
        id = hd__memprof_u64(r, at);
        n = hd__memprof_u64(r, at + 8);
        if (n > (s->end - at - 16) / 8)
            return hd__memprof_bad(r, at + 8, "stack id %u: %u addresses announced where %u bytes are left",
                                   id, n, s->end - at - 16);
        if (n > r->max_records - hd__len(c->pc))
            return hd__fail_at(&r->error, HD_LIMIT, r->base + at, 0, "more than the allowed %u addresses",
                               r->max_records);
        s->at += 16 + 8 * n;
        if (!hd__room(&r->mem, c->pc, (size_t)n)) return hd__memprof_full(r);
        for (uint64_t k = 0; k < n; k++) stbds_arrput(c->pc, hd__memprof_u64(r, at + 16 + 8 * k));
        known = hd__memprof_find_stack(r, id);
        if (known != HD_NONE && !hd__memprof_same_stack(c, known)) {
            HD__TRY(hd__memprof_bad(r, at, "stack id %u: told before, with other addresses", id));
            hd__set_len(c->pc, hd__len(c->pc) - (size_t)n);
            continue;
        }
        if (known == HD_NONE &&
            !hd__index_add(&r->mem, &r->ids, hd__hash_u64(r->seed, id), (uint32_t)hd__len(c->stack_id),
                           hd__memprof_id_rehash, r))
            return hd__memprof_full(r);
        stbds_arrput(c->stack_id, id);
        stbds_arrput(c->first, (uint32_t)hd__len(c->pc));
    }
    return HD_OK;
}

static uint64_t hd__mib_size(uint32_t last) {
    uint64_t size = 0;
    for (uint32_t f = 1; f <= last; f++) size += hd__mib[f].width;
    return size;
}

/* The fields of a block from 1 to `last`. */
HD__INLINE void hd__mib_get(const uint8_t *p, uint32_t last, bool big, uint64_t *value) {
    for (uint32_t f = 1; f <= last; f++) {
        value[f] = hd__mib[f].width == 4 ? hd__memprof_get(p, 4, big) : hd__memprof_get(p, 8, big);
        p += hd__mib[f].width;
    }
}

/* The counters of a block, which is complete up to here. */
static hd_status hd__memprof_histogram(hd_memprof_reader *r, hd__memprof_section *s, uint64_t n) {
    unsigned width = r->raw.version < 5 ? 8 : 2;
    if (!hd__room(&r->mem, r->columns.counters, (size_t)n)) return hd__memprof_full(r);
    for (uint64_t i = 0; i < n; i++, s->at += width)
        stbds_arrput(r->columns.counters, hd__memprof_get(r->p + s->at, width, r->raw.big_endian));
    return HD_OK;
}

static hd_status hd__memprof_blocks(hd_memprof_reader *r, hd__memprof_section *s) {
    hd__memprof_columns *c = &r->columns;
    uint32_t last = hd__memprof_last_field(r->raw.version);
    uint64_t size = 8 + hd__mib_size(last), width = r->raw.version < 5 ? 8 : 2;
    if (!hd__room(&r->mem, c->blocks, (size_t)s->count)) return hd__memprof_full(r);
    for (uint64_t i = 0; i < s->count; i++) {
        hd_memprof_block *b;
        uint64_t at = s->at, id, counters;
        if (s->end - at < size)
            return hd__memprof_bad(r, at, "%u blocks announced, the section ends in number %u", s->count, i);
        if (!(i & HD__TICK) && !hd__memprof_tick(r, at)) return hd__cancelled(&r->error);
        b = &c->blocks[hd__len(c->blocks)]; /* not counted in until it is whole */
        b->value[0] = 0;
        for (uint32_t f = last + 1; f < HD_MEMPROF_FIELDS; f++) b->value[f] = 0;
        id = hd__memprof_u64(r, at);
        if (r->raw.big_endian) hd__mib_get(r->p + at + 8, last, true, b->value);
        else hd__mib_get(r->p + at + 8, last, false, b->value);
        s->at += size;
        counters = b->value[HD_MEMPROF_ACCESS_HISTOGRAM_SIZE];
        if (counters > (s->end - s->at) / width)
            return hd__memprof_bad(r, at,
                                   "block %u: a histogram of %u counters announced where %u bytes are left",
                                   i, counters, s->end - s->at);
        /* mostly the stacks are in the same order */
        b->stack = (uint32_t)i;
        if (i >= hd__len(c->stack_id) || c->stack_id[i] != id) b->stack = hd__memprof_find_stack(r, id);
        if (b->stack == HD_NONE) {
            s->at += counters * width;
            HD__TRY(hd__memprof_bad(r, at, "block %u: no stack has the id %u", i, id));
            continue;
        }
        b->histogram = hd__len(c->counters);
        if (counters) HD__TRY(hd__memprof_histogram(r, s, counters));
        hd__set_len(c->blocks, hd__len(c->blocks) + 1);
    }
    return HD_OK;
}

/* A profile whose header is there and whose bytes are shown. */
static hd_status hd__memprof_parse(hd_memprof_reader *r, uint64_t total) {
    static const char *const next[] = { "the block section", "the stack section", "the profile's end" };
    hd__memprof_section s[3];
    uint64_t offset[4];
    uint64_t block = 8 + hd__mib_size(hd__memprof_last_field(r->raw.version));
    uint64_t least[] = { r->raw.version < 3 ? 56u : 64u, block, 16 };
    for (int k = 0; k < 3; k++) offset[k] = hd__memprof_u64(r, 24 + 8 * (uint64_t)k);
    offset[3] = total;
    if (offset[HD__MEMPROF_SEGMENTS] != HD__MEMPROF_HEADER)
        HD__TRY(hd__memprof_bad(r, 24, "the segment section expected at 48, found at %u", offset[0]));
    for (int k = 1; k < 3; k++)
        if (offset[k] <= offset[k - 1])
            HD__TRY(hd__memprof_bad(r, 24 + 8 * (uint64_t)k,
                                    "the %s section expected behind the %s section, at %u, found at %u",
                                    hd__memprof_section_name[k], hd__memprof_section_name[k - 1],
                                    offset[k - 1], offset[k]));
    for (int k = 0; k < 3; k++) HD__TRY(hd__memprof_section_open(r, offset, k, least[k], &s[k]));
    HD__TRY(hd__memprof_segments(r, &s[HD__MEMPROF_SEGMENTS]));
    HD__TRY(hd__memprof_overlaps(r, offset[HD__MEMPROF_SEGMENTS] + 8));
    HD__TRY(hd__memprof_stacks(r, &s[HD__MEMPROF_STACKS]));
    HD__TRY(hd__memprof_blocks(r, &s[HD__MEMPROF_BLOCKS]));
    for (int k = 0; k < 3; k++) HD__TRY(hd__memprof_section_close(r, &s[k], k, offset[k + 1], next[k]));
    return HD_OK;
}

/* The header of the next profile; *total is 0 at the end of the input. */
static hd_status hd__memprof_header(hd_memprof_reader *r, uint64_t *total) {
    int order;
    uint64_t version;
    *total = 0;
    HD__TRY(hd__memprof_fetch(r, HD__MEMPROF_HEADER));
    if (!r->size && r->number) return HD_OK;
    order = hd__memprof_detect(r->p, (size_t)r->size);
    if (!order && !r->number)
        return hd__fail_at(&r->error, HD_UNKNOWN_FORMAT, 0, 0,
                           "a file expected that begins with the magic of a raw memprof profile");
    r->number++;
    if (!order) {
        r->cut = true;
        return hd__memprof_bad(r, 0, "another raw profile or the input's end expected");
    }
    if (r->size < HD__MEMPROF_HEADER) {
        r->cut = true;
        return hd__memprof_bad(r, r->size, "the input ends in the header");
    }
    memset(&r->raw, 0, sizeof r->raw);
    r->raw.big_endian = order == 2;
    version = hd__memprof_u64(r, 8);
    if (version < 1 || version > 5)
        return hd__fail_at(&r->error, HD_UNSUPPORTED, r->base + 8, 0,
                           "a raw profile of version 1 to 5 expected, version %u found", version);
    r->raw.version = (uint32_t)version;
    r->raw.fields = hd_memprof_version_fields(r->raw.version);
    *total = hd__memprof_u64(r, 16);
    if (*total >= HD__MEMPROF_HEADER) return HD_OK;
    HD__TRY(hd__memprof_bad(r, 16, "a total size of 48 bytes or more expected, %u found", *total));
    *total = UINT64_MAX;         /* lenient: what there is */
    return HD_OK;
}

static hd_status hd__memprof_step(hd_memprof_reader *r, const hd_memprof_raw **raw) {
    hd__memprof_columns *c = &r->columns;
    uint64_t total;
    r->base += r->number ? r->size : 0;
    r->size = 0;
    hd__index_free(&r->mem, &r->ids); /* clearing it could cost more than the profile has bytes */
    hd__set_len(c->segments, 0);
    hd__set_len(c->blocks, 0);
    hd__set_len(c->stack_id, 0);
    hd__set_len(c->first, 0);
    hd__set_len(c->pc, 0);
    hd__set_len(c->counters, 0);
    *raw = NULL;
    if (r->cut) return HD_OK;
    HD__TRY(hd__memprof_header(r, &total));
    if (!total) return HD_OK;
    HD__TRY(hd__memprof_fetch(r, total));
    if (r->size < total) {
        r->cut = true;
        HD__TRY(hd__memprof_bad(r, 16, "a total size of %u bytes announced where %u are left", total,
                                r->size));
    }
    if (!hd__memprof_tick(r, 0)) return hd__cancelled(&r->error);
    HD__TRY(hd__memprof_parse(r, total));
    hd__memprof_columns_show(c, &r->raw);
    *raw = &r->raw;
    return HD_OK;
}

HEAPDUMP_API hd_status hd_memprof_next(hd_memprof_reader *r, const hd_memprof_raw **raw, hd_error *err) {
    const hd_memprof_raw *found;
    hd_status status = hd__memprof_step(r, &found);
    if (!status) *raw = found;
    else if (err) *err = r->error;
    return status;
}

/* A whole file. -------------------------------------------------------------------------------- */

typedef struct hd__memprof_part {
    hd__memprof_columns columns;
    hd_memprof_raw raw;
} hd__memprof_part;

struct hd_memprof {
    hd__mem mem;
    hd__memprof_part *parts;     /* stb_ds array */
    uint64_t warnings;
};

HEAPDUMP_API void hd_memprof_free(hd_memprof *doc) {
    hd__mem mem;
    if (!doc) return;
    for (size_t i = 0; i < hd__len(doc->parts); i++)
        hd__memprof_columns_free(&doc->mem, &doc->parts[i].columns);
    hd__arr_free(&doc->mem, doc->parts);
    mem = doc->mem;
    hd__free(&mem, doc, sizeof *doc);
}

HEAPDUMP_API hd_status hd_memprof_read(hd_in in, const hd_options *options, hd_memprof **out, hd_error *err) {
    hd_memprof_reader *r;
    hd_memprof *doc;
    const hd_memprof_raw *raw;
    hd_status status;
    hd__mem mem;
    HD__TRY(hd_memprof_open(in, options, &r, err));
    doc = (hd_memprof *)hd__calloc(&r->mem, 1, sizeof *doc);
    status = doc ? HD_OK : hd__no_memory(&r->mem, err);
    while (!status && !(status = hd_memprof_next(r, &raw, err)) && raw) {
        hd__memprof_part part;
        part.columns = r->columns;
        part.raw = *raw;
        if (!hd__push(&r->mem, doc->parts, part)) status = hd__no_memory(&r->mem, err);
        else memset(&r->columns, 0, sizeof r->columns);
    }
    if (doc) doc->warnings = r->warnings;
    mem = hd__memprof_release(r);
    if (doc) doc->mem = mem;
    if (status) hd_memprof_free(doc);
    else *out = doc;
    return status;
}

HEAPDUMP_API size_t hd_memprof_count(const hd_memprof *doc) { return hd__len(doc->parts); }

HEAPDUMP_API const hd_memprof_raw *hd_memprof_get(const hd_memprof *doc, size_t index) {
    return index < hd__len(doc->parts) ? &doc->parts[index].raw : NULL;
}

HEAPDUMP_API uint64_t hd_memprof_warning_count(const hd_memprof *doc) { return doc->warnings; }

/* Whether columns fit each other, which any caller may have filled. */
static hd_status hd__memprof_fits(const hd_memprof_raw *raw, hd_error *err) {
    if (!hd__memprof_last_field(raw->version))
        return hd__fail(err, HD_INVALID, "a version from 1 to 5 expected, %u found", (uint64_t)raw->version);
    for (uint32_t i = 0; i < raw->segment_count; i++)
        if (raw->segments[i].build_id_size > 32)
            return hd__fail(err, HD_INVALID, "segment %u: a build id of at most 32 bytes expected",
                            (uint64_t)i);
    for (uint32_t i = 0; i < raw->stack_count; i++)
        if (raw->first[i] > raw->first[i + 1])
            return hd__fail(err, HD_INVALID, "stack %u: it ends before it begins", (uint64_t)i);
    for (uint32_t i = 0; i < raw->block_count; i++) {
        const hd_memprof_block *b = &raw->blocks[i];
        uint64_t n = hd__memprof_counters(raw, b);
        if (b->stack >= raw->stack_count)
            return hd__fail(err, HD_INVALID, "block %u: one of %u stacks expected, number %u found",
                            (uint64_t)i, (uint64_t)raw->stack_count, (uint64_t)b->stack);
        if (n && (n > raw->counter_count || b->histogram > raw->counter_count - n))
            return hd__fail(err, HD_INVALID, "block %u: its histogram is not within the %u counters",
                            (uint64_t)i, raw->counter_count);
    }
    return HD_OK;
}

/* Writing. ------------------------------------------------------------------------------------- */

typedef struct hd__memprof_out {
    const hd_memprof_raw *raw;
    const hd_options *options;
    uint32_t version, last;      /* last: field */
    uint64_t at[4];              /* where sections begin, and the profile ends */
    uint64_t end[3];             /* where their records do */
    hd_sink sink;
} hd__memprof_out;

static char *hd__memprof_put(char *p, unsigned width, bool big, uint64_t v) {
    for (unsigned i = 0; i < width; i++, v >>= 8) p[big ? width - 1 - i : i] = (char)(v & 0xff);
    return p + width;
}

/* The counters of a block as they will be written. */
static uint64_t hd__memprof_out_counters(const hd__memprof_out *o, const hd_memprof_block *b) {
    return o->version < 4 ? 0 : hd__memprof_counters(o->raw, b);
}

static uint64_t hd__memprof_out_counter(const hd__memprof_out *o, uint64_t i) {
    if (o->raw->version == 5 && o->version == 5) return o->raw->counters[i];
    return o->version < 5 ? hd_memprof_counter(o->raw, i) : hd__memprof_pack(hd_memprof_counter(o->raw, i));
}

/* Whether fields fit what is written of them; how long the block section is. */
static hd_status hd__memprof_check_blocks(const hd__memprof_out *o, uint64_t *size, hd_error *err) {
    const hd_memprof_raw *raw = o->raw;
    uint64_t each = 8 + hd__mib_size(o->last), width = o->version < 5 ? 8 : 2;
    *size = 8;
    for (uint32_t i = 0; i < raw->block_count; i++) {
        const hd_memprof_block *b = &raw->blocks[i];
        if (!(i & HD__TICK) && !hd__go_on(o->options, i, raw->block_count)) return hd__cancelled(err);
        for (uint32_t f = 1; f <= o->last; f++) {
            hd_error warning;
            if (hd__mib[f].width == 8 || !(b->value[f] >> 32) || !(raw->fields >> f & 1)) continue;
            hd__fail(&warning, HD_OVERFLOW, "block %u: %s is %u, which does not fit its 32 bits", (uint64_t)i,
                     hd__mib[f].name, b->value[f]);
            if (!o->options || !o->options->lenient || f == HD_MEMPROF_ACCESS_HISTOGRAM_SIZE) {
                if (err) *err = warning;
                return HD_OVERFLOW;
            }
            if (o->options->warning) o->options->warning(o->options->user, &warning);
        }
        *size += each + width * hd__memprof_out_counters(o, b);
    }
    return HD_OK;
}

static hd_status hd__memprof_check(hd__memprof_out *o, hd_error *err) {
    const hd_memprof_raw *raw = o->raw;
    uint32_t lacking = hd_memprof_version_fields(o->version) & ~raw->fields & ~HD__MIB_HISTOGRAM, f = 1;
    uint64_t size;
    for (; f < 32 && !(lacking >> f & 1); f++) {}
    if (lacking)
        return hd__fail(err, HD_UNSUPPORTED, "version %u needs %s, which the blocks do not have",
                        (uint64_t)o->version, hd_memprof_field_name(f));
    if ((raw->version < 3) != (o->version < 3) && raw->segment_count)
        return hd__fail(err, HD_UNSUPPORTED,
                        "segments of version %u cannot be told in version %u: before 3 offsets differ",
                        (uint64_t)raw->version, (uint64_t)o->version);
    HD__TRY(hd__memprof_check_blocks(o, &size, err));
    o->at[0] = HD__MEMPROF_HEADER;
    o->end[0] = o->at[0] + 8 + (o->version < 3 ? 56 : 64) * (uint64_t)raw->segment_count;
    o->at[1] = (o->end[0] + 7) & ~(uint64_t)7;
    o->end[1] = o->at[1] + size;
    o->at[2] = (o->end[1] + 7) & ~(uint64_t)7;
    o->end[2] = o->at[2] + 8 + 16 * (uint64_t)raw->stack_count;
    if (raw->stack_count) o->end[2] += 8 * (uint64_t)(raw->first[raw->stack_count] - raw->first[0]);
    o->at[3] = (o->end[2] + 7) & ~(uint64_t)7;
    return HD_OK;
}

static void hd__memprof_put_u64(hd__memprof_out *o, uint64_t v) {
    char bytes[8];
    hd__memprof_put(bytes, 8, o->raw->big_endian, v);
    hd__sink_put(&o->sink, bytes, 8);
}

static void hd__memprof_put_padding(hd__memprof_out *o, int k) {
    char bytes[8];
    hd__memprof_put(bytes, 8, false, o->raw->padding[k]);
    hd__sink_put(&o->sink, bytes, (size_t)(o->at[k + 1] - o->end[k]));
}

static void hd__memprof_put_segments(hd__memprof_out *o) {
    hd__memprof_put_u64(o, o->raw->segment_count);
    for (uint32_t i = 0; i < o->raw->segment_count; i++) {
        const hd_memprof_segment *s = &o->raw->segments[i];
        hd__memprof_put_u64(o, s->start);
        hd__memprof_put_u64(o, s->end);
        hd__memprof_put_u64(o, s->offset);
        if (o->version > 2) hd__memprof_put_u64(o, s->build_id_size);
        hd__sink_put(&o->sink, (const char *)s->build_id, 32);
    }
    hd__memprof_put_padding(o, HD__MEMPROF_SEGMENTS);
}

static hd_status hd__memprof_put_blocks(hd__memprof_out *o) {
    const hd_memprof_raw *raw = o->raw;
    bool big = raw->big_endian;
    hd__memprof_put_u64(o, raw->block_count);
    for (uint32_t i = 0; i < raw->block_count && !o->sink.status; i++) {
        const hd_memprof_block *b = &raw->blocks[i];
        uint64_t counters = hd__memprof_out_counters(o, b);
        char bytes[8 * HD_MEMPROF_FIELDS], *p = hd__memprof_put(bytes, 8, big, raw->stack_id[b->stack]);
        if (!(i & HD__TICK) && !hd__go_on(o->options, i, raw->block_count)) return HD_CANCELLED;
        for (uint32_t f = 1; f <= o->last; f++) {
            uint64_t v = raw->fields >> f & 1 ? b->value[f] : 0;
            if (hd__mib[f].width == 4 && v >> 32) v = UINT32_MAX;
            p = hd__memprof_put(p, hd__mib[f].width, big, v);
        }
        hd__sink_put(&o->sink, bytes, (size_t)(p - bytes));
        for (uint64_t k = 0; k < counters; k++) {
            uint64_t counter = hd__memprof_out_counter(o, b->histogram + k);
            p = hd__memprof_put(bytes, o->version < 5 ? 8 : 2, big, counter);
            hd__sink_put(&o->sink, bytes, (size_t)(p - bytes));
        }
    }
    hd__memprof_put_padding(o, HD__MEMPROF_BLOCKS);
    return HD_OK;
}

static void hd__memprof_put_stacks(hd__memprof_out *o) {
    const hd_memprof_raw *raw = o->raw;
    hd__memprof_put_u64(o, raw->stack_count);
    for (uint32_t i = 0; i < raw->stack_count && !o->sink.status; i++) {
        hd__memprof_put_u64(o, raw->stack_id[i]);
        hd__memprof_put_u64(o, raw->first[i + 1] - raw->first[i]);
        for (uint32_t k = raw->first[i]; k < raw->first[i + 1]; k++) hd__memprof_put_u64(o, raw->pc[k]);
    }
    hd__memprof_put_padding(o, HD__MEMPROF_STACKS);
}

HEAPDUMP_API hd_status hd_memprof_write_raw(const hd_memprof_raw *raw, uint32_t version,
                                            const hd_options *options, hd_out out, hd_error *err) {
    hd__memprof_out o;
    hd_status status;
    o.raw = raw;
    o.options = options;
    o.version = version ? version : raw->version;
    o.last = hd__memprof_last_field(o.version);
    if (!o.last)
        return hd__fail(err, HD_INVALID, "a version from 1 to 5 expected, %u found", (uint64_t)o.version);
    HD__TRY(hd__memprof_fits(raw, err));
    HD__TRY(hd__memprof_check(&o, err));
    hd__sink_begin(&o.sink, out);
    for (int i = 0; i < 8; i++)
        hd__sink_put(&o.sink, (const char *)&hd__memprof_magic[raw->big_endian ? 7 - i : i], 1);
    hd__memprof_put_u64(&o, o.version);
    hd__memprof_put_u64(&o, o.at[3]);
    for (int i = 0; i < 3; i++) hd__memprof_put_u64(&o, o.at[i]);
    hd__memprof_put_segments(&o);
    if (hd__memprof_put_blocks(&o)) return hd__cancelled(err);
    hd__memprof_put_stacks(&o);
    status = hd__sink_flush(&o.sink);
    return status ? hd__fail(err, status, "writing the profile failed") : HD_OK;
}

HEAPDUMP_API hd_status hd_memprof_write(const hd_memprof *doc, const hd_options *options, hd_out out,
                                        hd_error *err) {
    for (size_t i = 0; i < hd__len(doc->parts); i++)
        HD__TRY(hd_memprof_write_raw(&doc->parts[i].raw, 0, options, out, err));
    return HD_OK;
}

/* Merging. Frames of a stack are pairs of a module and an address in it, which is what all processes have in
   common; a module is what has one build id. What an address was moved by in its process is the bias. -- */

typedef struct hd__memprof_module {
    uint8_t build_id[32];
    uint32_t build_id_size;
    uint64_t size, place;        /* without a build id */
    uint64_t least, most;        /* bias */
} hd__memprof_module;

/* Mapped addresses of a module, less the bias; 2^63 more, so that those below the bias come first. */
#define HD__MEMPROF_MIDDLE (UINT64_C(1) << 63)
typedef struct hd__memprof_range {
    uint64_t start, end;
    uint32_t module;
} hd__memprof_range;

struct hd_memprof_merger {
    hd__mem mem;
    hd_options options;
    uint64_t seed, max_records;
    hd_status status;            /* of the calls so far */
    uint32_t fields;             /* that all had */
    bool any, old;               /* old: of versions 1 and 2 */
    hd__memprof_module *modules; /* stb_ds arrays, as are all here */
    hd__index module_index;
    hd__memprof_range *ranges;
    hd__index range_index;
    uint32_t *first, *module;    /* stacks: frames of s are module[first[s]] .. module[first[s + 1] - 1] */
    uint64_t *address;
    hd__index stack_index;
    hd_memprof_block *blocks;    /* by stack; `stack` and `histogram` are not used */
    uint64_t **counters;         /* by stack, as many as the block says */
    uint32_t *map;               /* of the profile at hand: its stacks here, or HD_NONE */
    uint32_t *segment_module;
    hd__keyed *order, *spare;
};

HEAPDUMP_API hd_memprof_merger *hd_memprof_merger_create(const hd_options *options, hd_error *err) {
    hd__mem mem = hd__mem_options(options);
    hd_memprof_merger *x = (hd_memprof_merger *)hd__calloc(&mem, 1, sizeof *x);
    if (!x) return hd__no_memory(&mem, err), (hd_memprof_merger *)NULL;
    x->mem = mem;
    if (options) x->options = *options;
    x->max_records = hd__records(options ? &options->limits : NULL);
    x->seed = hd__seed();
    x->fields = hd_memprof_version_fields(5);
    return x;
}

HEAPDUMP_API void hd_memprof_merger_free(hd_memprof_merger *x) {
    hd__mem mem;
    if (!x) return;
    for (size_t i = 0; i < hd__len(x->counters); i++)
        hd__cfree(&x->mem, x->counters[i], (size_t)x->blocks[i].value[HD_MEMPROF_ACCESS_HISTOGRAM_SIZE],
                  sizeof **x->counters);
    hd__arr_free(&x->mem, x->modules);
    hd__index_free(&x->mem, &x->module_index);
    hd__arr_free(&x->mem, x->ranges);
    hd__index_free(&x->mem, &x->range_index);
    hd__arr_free(&x->mem, x->first);
    hd__arr_free(&x->mem, x->module);
    hd__arr_free(&x->mem, x->address);
    hd__index_free(&x->mem, &x->stack_index);
    hd__arr_free(&x->mem, x->blocks);
    hd__arr_free(&x->mem, x->counters);
    hd__arr_free(&x->mem, x->map);
    hd__arr_free(&x->mem, x->segment_module);
    hd__arr_free(&x->mem, x->order);
    hd__arr_free(&x->mem, x->spare);
    mem = x->mem;
    hd__free(&mem, x, sizeof *x);
}

HEAPDUMP_API uint64_t hd_memprof_merger_memory(const hd_memprof_merger *x) { return x->mem.used; }

static uint64_t hd__memprof_bias(const hd_memprof_raw *raw, const hd_memprof_segment *s) {
    return raw->version < 3 ? s->start - s->offset : s->offset;
}

static uint64_t hd__memprof_module_rehash(const void *owner, uint32_t number) {
    const hd_memprof_merger *x = (const hd_memprof_merger *)owner;
    const hd__memprof_module *m = &x->modules[number];
    return hd__hash_bytes(hd__hash_u64(hd__hash_u64(x->seed, m->size), m->place), m->build_id, 32);
}

static uint64_t hd__memprof_range_rehash(const void *owner, uint32_t number) {
    const hd_memprof_merger *x = (const hd_memprof_merger *)owner;
    const hd__memprof_range *r = &x->ranges[number];
    return hd__hash_u64(hd__hash_u64(hd__hash_u64(x->seed, r->start), r->end), r->module);
}

/* The module of a segment, HD_NONE when out of memory. */
static uint32_t hd__memprof_module_of(hd_memprof_merger *x, const hd_memprof_raw *raw,
                                      const hd_memprof_segment *s) {
    uint64_t bias = hd__memprof_bias(raw, s), hash;
    uint32_t n = (uint32_t)hd__len(x->modules), i;
    size_t probe = 0;
    hd__memprof_module *m;
    if (!hd__room(&x->mem, x->modules, 1)) return HD_NONE;
    m = &x->modules[n];          /* not counted in before it is known to be new */
    memset(m, 0, sizeof *m);
    memcpy(m->build_id, s->build_id, s->build_id_size);
    m->build_id_size = s->build_id_size;
    if (!s->build_id_size) m->size = s->end - s->start;
    if (!s->build_id_size && raw->version < 3) m->place = s->offset;
    m->least = m->most = bias;
    hash = hd__memprof_module_rehash(x, n);
    while ((i = hd__index_next(&x->module_index, hash, &probe)) != HD_NONE)
        if (!memcmp(x->modules[i].build_id, m->build_id, 32) && x->modules[i].size == m->size &&
            x->modules[i].place == m->place)
            break;
    if (i != HD_NONE) {
        m = &x->modules[i];
        if (m->least > bias) m->least = bias;
        if (m->most < bias) m->most = bias;
        return i;
    }
    if (!hd__index_add(&x->mem, &x->module_index, hash, n, hd__memprof_module_rehash, x)) return HD_NONE;
    hd__set_len(x->modules, n + 1);
    return n;
}

static bool hd__memprof_add_range(hd_memprof_merger *x, uint64_t start, uint64_t size, uint32_t module) {
    uint32_t n = (uint32_t)hd__len(x->ranges), i;
    hd__memprof_range *r;
    uint64_t hash;
    size_t probe = 0;
    if (!hd__room(&x->mem, x->ranges, 1)) return false;
    r = &x->ranges[n];
    r->start = start + HD__MEMPROF_MIDDLE;
    r->end = size > UINT64_MAX - r->start ? UINT64_MAX : r->start + size;
    r->module = module;
    hash = hd__memprof_range_rehash(x, n);
    while ((i = hd__index_next(&x->range_index, hash, &probe)) != HD_NONE)
        if (x->ranges[i].start == r->start && x->ranges[i].end == r->end && x->ranges[i].module == module)
            return true;
    if (!hd__index_add(&x->mem, &x->range_index, hash, n, hd__memprof_range_rehash, x)) return false;
    hd__set_len(x->ranges, n + 1);
    return true;
}

/* The segments of a profile: where they are, what modules they are of. */
static hd_status hd__memprof_add_segments(hd_memprof_merger *x, const hd_memprof_raw *raw, hd_error *err) {
    uint32_t n = raw->segment_count;
    hd__set_len(x->segment_module, 0);
    if (!hd__memprof_order(&x->mem, raw->segments, n, &x->order, &x->spare) ||
        !hd__room(&x->mem, x->segment_module, n))
        return hd__no_memory(&x->mem, err);
    for (uint32_t i = 0; i < n; i++) {
        const hd_memprof_segment *s = &raw->segments[i];
        uint32_t module = hd__memprof_module_of(x, raw, s);
        if (module == HD_NONE ||
            !hd__memprof_add_range(x, s->start - hd__memprof_bias(raw, s), s->end - s->start, module))
            return hd__no_memory(&x->mem, err);
        stbds_arrput(x->segment_module, module);
    }
    if (hd__len(x->ranges) > x->max_records)
        return hd__fail(err, HD_LIMIT, "more than the allowed %u segments", x->max_records);
    return HD_OK;
}

/* The segment that an address is in, or HD_NONE. *last: where it was found the last time, in `order`. */
static uint32_t hd__memprof_locate(const hd_memprof_raw *raw, const hd__keyed *order, uint64_t pc,
                                   size_t *last) {
    size_t low = 0, high = raw->segment_count;
    const hd_memprof_segment *s = high ? &raw->segments[order[*last].number] : NULL;
    if (s && pc >= s->start && pc < s->end) return order[*last].number;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (order[middle].key <= pc) low = middle + 1;
        else high = middle;
    }
    if (!low || pc >= raw->segments[order[low - 1].number].end) return HD_NONE;
    *last = low - 1;
    return order[low - 1].number;
}

static uint64_t hd__memprof_stack_hash(const hd_memprof_merger *x, size_t from, size_t to) {
    uint64_t hash = x->seed;
    for (; from < to; from++) hash = hd__hash_u64(hash ^ x->module[from], x->address[from]);
    return hash;
}

static uint64_t hd__memprof_stack_rehash(const void *owner, uint32_t stack) {
    const hd_memprof_merger *x = (const hd_memprof_merger *)owner;
    return hd__memprof_stack_hash(x, x->first[stack], x->first[stack + 1]);
}

/* The stack whose frames are the last in the columns: an older one that is the same, or a new one. */
static hd_status hd__memprof_intern(hd_memprof_merger *x, size_t from, uint32_t *stack, hd_error *err) {
    size_t to = hd__len(x->module), n = to - from, probe = 0;
    uint64_t hash = hd__memprof_stack_hash(x, from, to);
    hd_memprof_block none;
    uint32_t i;
    while ((i = hd__index_next(&x->stack_index, hash, &probe)) != HD_NONE)
        if (x->first[i + 1] - x->first[i] == n &&
            (!n || (!memcmp(x->module + x->first[i], x->module + from, n * sizeof *x->module) &&
                    !memcmp(x->address + x->first[i], x->address + from, n * sizeof *x->address))))
            break;
    if (i != HD_NONE) {
        hd__set_len(x->module, from);
        hd__set_len(x->address, from);
        *stack = i;
        return HD_OK;
    }
    i = (uint32_t)hd__len(x->blocks);
    if (i >= x->max_records || to > x->max_records)
        return hd__fail(err, HD_LIMIT, "more than the allowed %u call stacks or frames", x->max_records);
    memset(&none, 0, sizeof none);
    if (!hd__room(&x->mem, x->counters, 1) || !hd__room(&x->mem, x->blocks, 1) ||
        !hd__push(&x->mem, x->first, (uint32_t)to) ||
        !hd__index_add(&x->mem, &x->stack_index, hash, i, hd__memprof_stack_rehash, x))
        return hd__no_memory(&x->mem, err);
    none.stack = HD_NONE;        /* nothing was added to it */
    stbds_arrput(x->counters, NULL);
    stbds_arrput(x->blocks, none);
    *stack = i;
    return HD_OK;
}

static hd_status hd__memprof_add_stack(hd_memprof_merger *x, const hd_memprof_raw *raw, uint32_t s,
                                       size_t *last, uint32_t *stack, hd_error *err) {
    size_t from = hd__len(x->module), n = raw->first[s + 1] - raw->first[s];
    if (!hd__room(&x->mem, x->module, n) || !hd__room(&x->mem, x->address, n))
        return hd__no_memory(&x->mem, err);
    for (size_t k = 0; k < n; k++) {
        uint64_t pc = raw->pc[raw->first[s] + k];
        uint32_t segment = hd__memprof_locate(raw, x->order, pc, last), module = HD_NONE;
        if (segment != HD_NONE) {
            module = x->segment_module[segment];
            pc -= hd__memprof_bias(raw, &raw->segments[segment]);
        }
        stbds_arrput(x->module, module);
        stbds_arrput(x->address, pc);
    }
    return hd__memprof_intern(x, from, stack, err);
}

static uint64_t hd__sum_full(uint64_t a, uint64_t b) { return a + b < a ? UINT64_MAX : a + b; }

/* A total, and the minimum and maximum behind it. */
HD__INLINE void hd__mib_merge_three(uint64_t *to, const uint64_t *from, uint32_t total) {
    to[total] = hd__sum_full(to[total], from[total]);
    to[total + 1] = from[total + 1] < to[total + 1] ? from[total + 1] : to[total + 1];
    to[total + 2] = from[total + 2] > to[total + 2] ? from[total + 2] : to[total + 2];
}

/* What a block says and what the one after it does, but for histograms. */
static void hd__mib_merge(uint64_t *to, const uint64_t *from) {
    to[HD_MEMPROF_NUM_LIFETIME_OVERLAPS] +=
        from[HD_MEMPROF_ALLOC_TIMESTAMP] < to[HD_MEMPROF_DEALLOC_TIMESTAMP];
    to[HD_MEMPROF_NUM_SAME_ALLOC_CPU] += from[HD_MEMPROF_ALLOC_CPU_ID] == to[HD_MEMPROF_ALLOC_CPU_ID];
    to[HD_MEMPROF_NUM_SAME_DEALLOC_CPU] += from[HD_MEMPROF_DEALLOC_CPU_ID] == to[HD_MEMPROF_DEALLOC_CPU_ID];
    to[HD_MEMPROF_ALLOC_TIMESTAMP] = from[HD_MEMPROF_ALLOC_TIMESTAMP];
    to[HD_MEMPROF_DEALLOC_TIMESTAMP] = from[HD_MEMPROF_DEALLOC_TIMESTAMP];
    to[HD_MEMPROF_ALLOC_CPU_ID] = from[HD_MEMPROF_ALLOC_CPU_ID];
    to[HD_MEMPROF_DEALLOC_CPU_ID] = from[HD_MEMPROF_DEALLOC_CPU_ID];
    to[HD_MEMPROF_ALLOC_COUNT] = hd__sum_full(to[HD_MEMPROF_ALLOC_COUNT], from[HD_MEMPROF_ALLOC_COUNT]);
    hd__mib_merge_three(to, from, HD_MEMPROF_TOTAL_ACCESS_COUNT);
    hd__mib_merge_three(to, from, HD_MEMPROF_TOTAL_SIZE);
    hd__mib_merge_three(to, from, HD_MEMPROF_TOTAL_LIFETIME);
    hd__mib_merge_three(to, from, HD_MEMPROF_TOTAL_ACCESS_DENSITY);
    hd__mib_merge_three(to, from, HD_MEMPROF_TOTAL_LIFETIME_ACCESS_DENSITY);
}

static hd_status hd__memprof_add_block(hd_memprof_merger *x, const hd_memprof_raw *raw,
                                       const hd_memprof_block *from, uint32_t stack, hd_error *err) {
    hd_memprof_block *to = &x->blocks[stack];
    uint64_t n = hd__memprof_counters(raw, from), have = to->value[HD_MEMPROF_ACCESS_HISTOGRAM_SIZE];
    if (n > have) {
        uint64_t *grown = NULL;
        if (n <= SIZE_MAX / 2 / sizeof *grown)
            grown = (uint64_t *)hd__realloc(&x->mem, x->counters[stack], (size_t)have * sizeof *grown,
                                            (size_t)n * sizeof *grown);
        if (!grown) return hd__no_memory(&x->mem, err);
        memset(grown + have, 0, (size_t)(n - have) * sizeof *grown);
        x->counters[stack] = grown;
        have = n;
    }
    if (to->stack == HD_NONE) *to = *from;
    else hd__mib_merge(to->value, from->value);
    to->stack = stack;
    to->value[HD_MEMPROF_ACCESS_HISTOGRAM_SIZE] = have;
    to->value[HD_MEMPROF_ACCESS_HISTOGRAM] = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t *sum = &x->counters[stack][i];
        *sum = hd__sum_full(*sum, hd_memprof_counter(raw, from->histogram + i));
    }
    return HD_OK;
}

static hd_status hd__memprof_add_blocks(hd_memprof_merger *x, const hd_memprof_raw *raw, hd_error *err) {
    size_t last = 0;
    hd__set_len(x->map, 0);
    if (!hd__len(x->first) && !hd__push(&x->mem, x->first, 0)) return hd__no_memory(&x->mem, err);
    if (!hd__room(&x->mem, x->map, raw->stack_count)) return hd__no_memory(&x->mem, err);
    for (uint32_t s = 0; s < raw->stack_count; s++) stbds_arrput(x->map, HD_NONE);
    for (uint32_t i = 0; i < raw->block_count; i++) {
        const hd_memprof_block *b = &raw->blocks[i];
        uint32_t *stack = &x->map[b->stack];
        if (!(i & HD__TICK) && !hd__go_on(&x->options, i, raw->block_count)) return hd__cancelled(err);
        if (*stack == HD_NONE) HD__TRY(hd__memprof_add_stack(x, raw, b->stack, &last, stack, err));
        HD__TRY(hd__memprof_add_block(x, raw, b, *stack, err));
    }
    return HD_OK;
}

HEAPDUMP_API hd_status hd_memprof_merger_add(hd_memprof_merger *x, const hd_memprof_raw *raw, hd_error *err) {
    if (x->status) return hd__fail(err, x->status, "an earlier profile could not be added");
    HD__TRY(hd__memprof_fits(raw, err));
    if (x->any && x->old != (raw->version < 3))
        return hd__fail(err, HD_UNSUPPORTED, "a profile of version %u cannot be added to those of %s: before "
                        "version 3 segments tell offsets of the file", (uint64_t)raw->version,
                        x->old ? "versions 1 and 2" : "later versions");
    x->any = true;
    x->old = raw->version < 3;
    x->fields &= raw->fields;
    x->status = hd__memprof_add_segments(x, raw, err);
    if (!x->status) x->status = hd__memprof_add_blocks(x, raw, err);
    return x->status;
}

/* What has been merged as a profile: modules get places, all gets an order that is its own. */
typedef struct hd__memprof_extent {
    uint64_t start, end;         /* addresses */
    uint32_t module, turn;       /* HD_NONE: an address in no module, which stays. turn: who may stay first */
    bool placed;
} hd__memprof_extent;

typedef struct hd__memprof_layout {
    const hd_memprof_merger *from;
    hd__mem *mem;
    uint32_t *rank;              /* of modules, in canonical order; stb_ds arrays, as are all here */
    uint64_t *bias, *low, *high; /* low, high: of all ranges of a module */
    uint32_t *numbers, *scratch, *stacks;
    hd__memprof_extent *extents;
    hd__memprof_range *ranges;   /* with ranks for modules */
} hd__memprof_layout;

static bool hd__memprof_module_before(const void *owner, uint32_t a, uint32_t b) {
    const hd__memprof_module *m = (const hd__memprof_module *)owner;
    int order = memcmp(m[a].build_id, m[b].build_id, 32);
    if (order) return order < 0;
    return m[a].size != m[b].size ? m[a].size < m[b].size : m[a].place < m[b].place;
}

static bool hd__memprof_stack_before(const void *owner, uint32_t a, uint32_t b) {
    const hd__memprof_layout *l = (const hd__memprof_layout *)owner;
    const hd_memprof_merger *x = l->from;
    uint32_t i = x->first[a], j = x->first[b], i_end = x->first[a + 1], j_end = x->first[b + 1];
    for (; i < i_end && j < j_end; i++, j++) {
        if (x->module[i] != x->module[j])
            return x->module[j] == HD_NONE ||
                   (x->module[i] != HD_NONE && l->rank[x->module[i]] < l->rank[x->module[j]]);
        if (x->address[i] != x->address[j]) return x->address[i] < x->address[j];
    }
    return i == i_end && j < j_end;
}

static bool hd__memprof_range_before(const void *owner, uint32_t a, uint32_t b) {
    const hd__memprof_range *r = (const hd__memprof_range *)owner;
    if (r[a].module != r[b].module) return r[a].module < r[b].module;
    return r[a].start != r[b].start ? r[a].start < r[b].start : r[a].end < r[b].end;
}

static bool hd__memprof_extent_before(const void *owner, uint32_t a, uint32_t b) {
    const hd__memprof_extent *e = (const hd__memprof_extent *)owner;
    if (e[a].start != e[b].start) return e[a].start < e[b].start;
    return e[a].turn != e[b].turn ? e[a].turn < e[b].turn : e[a].module < e[b].module;
}

static bool hd__memprof_segment_before(const void *owner, uint32_t a, uint32_t b) {
    const hd_memprof_segment *s = (const hd_memprof_segment *)owner;
    return s[a].start != s[b].start ? s[a].start < s[b].start : s[a].end < s[b].end;
}

/* Those that may stay where they are: addresses, then what was never moved, then the rest. */
static void hd__memprof_settle(hd__memprof_extent *e, size_t n) {
    for (uint32_t turn = 0; turn < 3; turn++) {
        uint64_t end = 0, next = UINT64_MAX;
        size_t ahead = 0;        /* the next that was placed before this turn; where it starts: `next` */
        for (size_t i = 0; i < n; i++) {
            if (ahead <= i) {
                for (ahead = i; ahead < n && (!e[ahead].placed || e[ahead].turn == turn); ahead++) {}
                next = ahead < n ? e[ahead].start : UINT64_MAX;
            }
            if (e[i].turn == turn && e[i].start <= e[i].end)
                e[i].placed = !turn || (e[i].start >= end && (ahead == n || e[i].end <= next));
            if (e[i].placed && e[i].end > end) end = e[i].end;
        }
    }
}

/* The others get what is free between these, from below. */
static hd_status hd__memprof_move(hd__memprof_layout *l, hd_error *err) {
    size_t n = hd__len(l->extents), next = 0;
    uint64_t at = 4096;
    for (size_t i = 0; i < n; i++) {
        hd__memprof_extent *e = &l->extents[i];
        uint64_t low, size, start;
        if (e->placed) continue;
        low = l->low[e->module];
        size = l->high[e->module] - low;
        for (;; next++) {
            start = ((at + 4095) & ~(uint64_t)4095) + (low & 4095);
            while (next < n && (!l->extents[next].placed || l->extents[next].end <= at)) next++;
            if (start < at || size > UINT64_MAX - start)
                return hd__fail(err, HD_UNSUPPORTED,
                                "the modules of all processes need more than the address space");
            if (next == n || start + size <= l->extents[next].start) break;
            at = l->extents[next].end;
        }
        l->bias[e->module] = start - (low - HD__MEMPROF_MIDDLE);
        at = start + size;
    }
    return HD_OK;
}

/* A bias for each module. */
static hd_status hd__memprof_place(hd__memprof_layout *l, hd_error *err) {
    const hd_memprof_merger *x = l->from;
    size_t modules = hd__len(x->modules), n;
    for (size_t r = 0; r < modules; r++) {
        const hd__memprof_module *m = &x->modules[l->numbers[r]];
        hd__memprof_extent e;
        e.start = m->least + l->low[r] - HD__MEMPROF_MIDDLE;
        e.end = e.start + (l->high[r] - l->low[r]);
        e.module = (uint32_t)r;
        e.turn = m->least == m->most ? 1 : 2;
        e.placed = false;
        l->bias[r] = m->least;
        if (!hd__push(l->mem, l->extents, e)) return hd__no_memory(l->mem, err);
    }
    for (size_t i = 0; i < hd__len(x->module); i++) {
        hd__memprof_extent e;
        if (x->module[i] != HD_NONE) continue;
        e.start = x->address[i];
        e.end = e.start + (e.start != UINT64_MAX);
        e.module = HD_NONE;
        e.turn = 0;
        e.placed = false;
        if (!hd__push(l->mem, l->extents, e)) return hd__no_memory(l->mem, err);
    }
    n = hd__len(l->extents);
    if (!hd__sort_array(l->mem, l->extents, n, sizeof *l->extents, hd__memprof_extent_before))
        return hd__no_memory(l->mem, err);
    hd__memprof_settle(l->extents, n);
    return hd__memprof_move(l, err);
}

/* Modules in order, and what of each was mapped. */
static hd_status hd__memprof_rank(hd__memprof_layout *l, hd_error *err) {
    const hd_memprof_merger *x = l->from;
    size_t modules = hd__len(x->modules), ranges = hd__len(x->ranges), stacks = hd__len(x->blocks);
    size_t most = modules > stacks ? modules : stacks;
    if (!hd__room(l->mem, l->rank, modules) || !hd__room(l->mem, l->bias, modules) ||
        !hd__room(l->mem, l->low, modules) || !hd__room(l->mem, l->high, modules) ||
        !hd__room(l->mem, l->numbers, most) || !hd__room(l->mem, l->scratch, most) ||
        !hd__room(l->mem, l->ranges, ranges))
        return hd__no_memory(l->mem, err);
    for (size_t i = 0; i < modules; i++) l->numbers[i] = (uint32_t)i;
    hd__sort(l->numbers, l->scratch, modules, hd__memprof_module_before, x->modules);
    for (size_t r = 0; r < modules; r++) {
        l->rank[l->numbers[r]] = (uint32_t)r;
        l->low[r] = UINT64_MAX;
        l->high[r] = 0;
    }
    for (size_t i = 0; i < ranges; i++) {
        hd__memprof_range range = x->ranges[i];
        uint32_t r = range.module = l->rank[range.module];
        if (range.start < l->low[r]) l->low[r] = range.start;
        if (range.end > l->high[r]) l->high[r] = range.end;
        stbds_arrput(l->ranges, range);
    }
    if (!hd__sort_array(l->mem, l->ranges, ranges, sizeof *l->ranges, hd__memprof_range_before))
        return hd__no_memory(l->mem, err);
    return hd__memprof_place(l, err);
}

/* Ranges that overlap are one segment. */
static hd_status hd__memprof_merged_segments(hd__memprof_layout *l, hd__memprof_columns *c, hd_error *err) {
    const hd_memprof_merger *x = l->from;
    size_t n = hd__len(l->ranges);
    if (!hd__room(l->mem, c->segments, n)) return hd__no_memory(l->mem, err);
    for (size_t i = 0; i < n;) {
        hd__memprof_range r = l->ranges[i];
        const hd__memprof_module *m = &x->modules[l->numbers[r.module]];
        hd_memprof_segment s;
        for (i++; i < n && l->ranges[i].module == r.module && l->ranges[i].start < r.end; i++)
            if (l->ranges[i].end > r.end) r.end = l->ranges[i].end;
        memset(&s, 0, sizeof s);
        s.start = l->bias[r.module] + (r.start - HD__MEMPROF_MIDDLE);
        s.end = s.start + (r.end - r.start);
        s.offset = x->old ? r.start - HD__MEMPROF_MIDDLE : l->bias[r.module];
        s.build_id_size = m->build_id_size;
        memcpy(s.build_id, m->build_id, 32);
        stbds_arrput(c->segments, s);
    }
    if (!hd__sort_array(l->mem, c->segments, hd__len(c->segments), sizeof *c->segments,
                        hd__memprof_segment_before))
        return hd__no_memory(l->mem, err);
    return HD_OK;
}

static hd_status hd__memprof_merged_stacks(hd__memprof_layout *l, hd__memprof_columns *c, hd_error *err) {
    const hd_memprof_merger *x = l->from;
    size_t n = hd__len(x->blocks), counters = 0;
    for (size_t i = 0; i < n; i++) counters += (size_t)x->blocks[i].value[HD_MEMPROF_ACCESS_HISTOGRAM_SIZE];
    if (!hd__room(l->mem, c->blocks, n) || !hd__room(l->mem, c->stack_id, n) ||
        !hd__room(l->mem, c->first, n + 1) || !hd__room(l->mem, c->pc, hd__len(x->module)) ||
        !hd__room(l->mem, c->counters, counters))
        return hd__no_memory(l->mem, err);
    for (size_t i = 0; i < n; i++) l->scratch[i] = (uint32_t)i;
    if (!hd__room(l->mem, l->stacks, n)) return hd__no_memory(l->mem, err);
    hd__sort(l->scratch, l->stacks, n, hd__memprof_stack_before, l);
    stbds_arrput(c->first, 0u);
    for (size_t i = 0; i < n; i++) {
        uint32_t s = l->scratch[i];
        hd_memprof_block b = x->blocks[s];
        b.stack = (uint32_t)i;
        b.histogram = hd__len(c->counters);
        for (uint64_t k = 0; k < b.value[HD_MEMPROF_ACCESS_HISTOGRAM_SIZE]; k++)
            stbds_arrput(c->counters, x->counters[s][k]);
        for (uint32_t f = 1; f < HD_MEMPROF_FIELDS; f++)
            if (!(x->fields >> f & 1)) b.value[f] = 0;
        for (uint32_t k = x->first[s]; k < x->first[s + 1]; k++) {
            uint32_t module = x->module[k];
            stbds_arrput(c->pc, x->address[k] + (module == HD_NONE ? 0 : l->bias[l->rank[module]]));
        }
        stbds_arrput(c->blocks, b);
        stbds_arrput(c->stack_id, (uint64_t)i + 1);
        stbds_arrput(c->first, (uint32_t)hd__len(c->pc));
    }
    return HD_OK;
}

HEAPDUMP_API hd_status hd_memprof_merger_finish(hd_memprof_merger *x, hd_memprof **out, hd_error *err) {
    hd__mem mem = hd__mem_rest(&x->mem);
    hd_memprof *doc;
    hd__memprof_layout l;
    hd__memprof_part part;
    hd_status status;
    if (x->status) return hd__fail(err, x->status, "an earlier profile could not be added");
    memset(&l, 0, sizeof l);
    memset(&part, 0, sizeof part);
    l.from = x;
    l.mem = &mem;
    doc = (hd_memprof *)hd__calloc(&mem, 1, sizeof *doc);
    status = doc && hd__room(&mem, doc->parts, 1) ? HD_OK : hd__no_memory(&mem, err);
    if (!status) status = hd__memprof_rank(&l, err);
    if (!status) status = hd__memprof_merged_segments(&l, &part.columns, err);
    if (!status) status = hd__memprof_merged_stacks(&l, &part.columns, err);
    hd__arr_free(&mem, l.rank);
    hd__arr_free(&mem, l.bias);
    hd__arr_free(&mem, l.low);
    hd__arr_free(&mem, l.high);
    hd__arr_free(&mem, l.numbers);
    hd__arr_free(&mem, l.scratch);
    hd__arr_free(&mem, l.stacks);
    hd__arr_free(&mem, l.extents);
    hd__arr_free(&mem, l.ranges);
    if (doc) doc->mem = mem;
    if (status) {
        if (doc) hd__memprof_columns_free(&doc->mem, &part.columns);
        hd_memprof_free(doc);
        return status;
    }
    part.raw.fields = x->fields;
    part.raw.version = x->fields >> HD_MEMPROF_ACCESS_HISTOGRAM & 1           ? 4
                       : !x->old                                              ? 3
                       : x->fields >> HD_MEMPROF_TOTAL_ACCESS_DENSITY & 1 ? 2
                                                                              : 1;
    hd__memprof_columns_show(&part.columns, &part.raw);
    stbds_arrput(doc->parts, part);
    *out = doc;
    return HD_OK;
}

/* Call stacks as frames, and as a profile. ------------------------------------------------------ */

/* What is behind the last slash. */
static hd_str hd__basename(hd_str path) {
    size_t at = path.len;
    while (at && path.data[at - 1] != '/') at--;
    path.data += at;
    path.len -= at;
    return path;
}

static bool hd__memprof_is_runtime(hd_str file) {
    static const char *const names[] = { "memprof_malloc_linux.cpp", "memprof_interceptors.cpp",
                                         "memprof_new_delete.cpp" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (hd_str_equal(hd__basename(file), hd_cstr(names[i]))) return true;
    return false;
}

/* A segment's name: its build id's first 8 bytes, or else where it lies in its file, and its size. */
static char *hd__memprof_segment_name(char *p, const hd_memprof_raw *raw, const hd_memprof_segment *s) {
    static const char hex[] = "0123456789abcdef";
    char digits[20], *from;
    if (s->build_id_size) {
        for (uint32_t i = 0; i < s->build_id_size && i < 8; i++) {
            *p++ = hex[s->build_id[i] >> 4];
            *p++ = hex[s->build_id[i] & 15];
        }
        return p;
    }
    memcpy(p, "map@", 4);
    p += 4;
    from = hd__digits(digits, raw->version < 3 ? s->offset : s->start - s->offset, 16);
    memcpy(p, from, (size_t)(digits + 20 - from));
    p += digits + 20 - from;
    *p++ = ':';
    from = hd__digits(digits, s->end - s->start, 16);
    memcpy(p, from, (size_t)(digits + 20 - from));
    return p + (digits + 20 - from);
}

#define HD__MEMPROF_NAME 80u     /* the longest of those, and an offset */

static hd_str hd__memprof_address_name(char *buffer, const hd_memprof_raw *raw, const hd_memprof_address *a) {
    char digits[20], *p = buffer, *from = hd__digits(digits, a->offset, 16);
    hd_str name;
    if (a->segment) {
        p = hd__memprof_segment_name(p, raw, a->segment);
        *p++ = '+';
    }
    *p++ = '0';
    *p++ = 'x';
    memcpy(p, from, (size_t)(digits + 20 - from));
    name.data = buffer;
    name.len = (size_t)(p + (digits + 20 - from) - buffer);
    return name;
}

/* While frames are looked up; memory is the result's. */
typedef struct hd__memprof_lookup {
    const hd_memprof_raw *raw;
    const hd_memprof_symbolizer *by;
    hd__mem *mem;
    hd__arena *arena;
    uint64_t seed, most;         /* most: frames of all stacks */
    hd__keyed *order, *spare;    /* stb_ds arrays, as are all here: segments */
    size_t last;
    uint64_t *pc;                /* distinct addresses */
    hd__index index;
    uint32_t *first;             /* their frames */
    hd_memprof_frame *frames;
    hd__strings strings;
    uint32_t *numbers;           /* of the addresses of all stacks */
    uint32_t unresolved, runtime;
    hd_memprof_frame found[HD_MEMPROF_INLINE_MAX];
    uint32_t used;               /* of these, not zero */
} hd__memprof_lookup;

static uint64_t hd__memprof_pc_rehash(const void *owner, uint32_t number) {
    const hd__memprof_lookup *l = (const hd__memprof_lookup *)owner;
    return hd__hash_u64(l->seed, l->pc[number]);
}

static bool hd__memprof_keep(hd__memprof_lookup *l, hd_str *text) {
    uint32_t number = hd__strings_add(l->mem, l->arena, &l->strings, *text);
    if (number == HD_NONE) return false;
    *text = l->strings.strings[number];
    return true;
}

/* The frames of an address that is new. False: out of memory. */
static bool hd__memprof_look_up(hd__memprof_lookup *l, uint64_t pc) {
    uint32_t segment = hd__memprof_locate(l->raw, l->order, pc, &l->last), n = 0;
    hd_memprof_address a;
    hd_memprof_frame *f = l->found;
    char name[HD__MEMPROF_NAME];
    a.pc = pc;
    a.segment = segment == HD_NONE ? NULL : &l->raw->segments[segment];
    a.offset = a.segment ? pc - hd__memprof_bias(l->raw, a.segment) : pc;
    a.file_offset = l->raw->version < 3;
    memset(f, 0, (l->used ? l->used : 1) * sizeof *f);
    if (l->by->symbolize) n = l->by->symbolize(l->by->user, &a, f, HD_MEMPROF_INLINE_MAX);
    if (n > HD_MEMPROF_INLINE_MAX) n = HD_MEMPROF_INLINE_MAX;
    l->used = n;
    if (n && hd__memprof_is_runtime(f->file)) {
        l->runtime++;
        if (!l->by->keep_runtime) return true;
    }
    for (uint32_t i = 0; i < n; i++) {
        f[i].inlined = i + 1 < n;
        f[i].resolved = true;
    }
    if (!n) {
        l->unresolved++;
        if (l->by->symbolize && !l->by->keep_unresolved) return true;
        memset(f, 0, sizeof *f);
        f->function = hd__memprof_address_name(name, l->raw, &a);
        l->used = n = 1;
    }
    if (!hd__room(l->mem, l->frames, n)) return false;
    for (uint32_t i = 0; i < n; i++) {
        f[i].segment = segment;
        f[i].pc = pc;
        if (!hd__memprof_keep(l, &f[i].function) || !hd__memprof_keep(l, &f[i].file)) return false;
        stbds_arrput(l->frames, f[i]);
    }
    return true;
}

/* The number of an address; HD_NONE: out of memory. */
static uint32_t hd__memprof_number(hd__memprof_lookup *l, uint64_t pc) {
    uint64_t hash = hd__hash_u64(l->seed, pc);
    size_t probe = 0;
    uint32_t i;
    while ((i = hd__index_next(&l->index, hash, &probe)) != HD_NONE)
        if (l->pc[i] == pc) return i;
    i = (uint32_t)hd__len(l->pc);
    if (!hd__push(l->mem, l->pc, pc) || !hd__room(l->mem, l->first, 2) || !hd__memprof_look_up(l, pc) ||
        !hd__index_add(l->mem, &l->index, hash, i, hd__memprof_pc_rehash, l))
        return HD_NONE;
    if (!i) stbds_arrput(l->first, 0u);
    stbds_arrput(l->first, (uint32_t)hd__len(l->frames));
    return i;
}

static hd_status hd__memprof_symbolize_all(hd__memprof_lookup *l, hd_memprof_symbols *out,
                                           const hd_options *options, hd_error *err) {
    const hd_memprof_raw *raw = l->raw;
    uint64_t total = 0, at = 0;
    uint32_t *first, *frame;
    hd_memprof_frame *frames;
    if (!hd__memprof_order(l->mem, raw->segments, raw->segment_count, &l->order, &l->spare))
        return hd__no_memory(l->mem, err);
    for (uint32_t s = 0; s < raw->stack_count; s++) {
        size_t n = raw->first[s + 1] - raw->first[s];
        if (!(s & HD__TICK) && !hd__go_on(options, s, raw->stack_count)) return hd__cancelled(err);
        if (!hd__room(l->mem, l->numbers, n)) return hd__no_memory(l->mem, err);
        for (size_t k = 0; k < n; k++) {
            uint32_t number = hd__memprof_number(l, raw->pc[raw->first[s] + k]);
            if (number == HD_NONE) return hd__no_memory(l->mem, err);
            stbds_arrput(l->numbers, number);
            total += l->first[number + 1] - l->first[number];
        }
        if (total > l->most) return hd__fail(err, HD_LIMIT, "more than the allowed %u frames", l->most);
    }
    first = (uint32_t *)hd__owned_take(out, (size_t)raw->stack_count + 1, sizeof *first);
    frame = (uint32_t *)hd__owned_take(out, (size_t)total, sizeof *frame);
    frames = (hd_memprof_frame *)hd__owned_take(out, hd__len(l->frames), sizeof *frames);
    if (!first || !frame || !frames) return hd__no_memory(l->mem, err);
    total = 0;
    for (uint32_t s = 0; s < raw->stack_count; s++) {
        first[s] = (uint32_t)total;
        for (uint32_t k = raw->first[s]; k < raw->first[s + 1]; k++) {
            uint32_t number = l->numbers[at++];
            for (uint32_t i = l->first[number]; i < l->first[number + 1]; i++) frame[total++] = i;
        }
    }
    first[raw->stack_count] = (uint32_t)total;
    if (l->frames) memcpy(frames, l->frames, hd__len(l->frames) * sizeof *frames);
    out->frame_count = (uint32_t)hd__len(l->frames);
    out->frames = frames;
    out->stack_count = raw->stack_count;
    out->first = first;
    out->frame = frame;
    out->addresses = (uint32_t)hd__len(l->pc);
    out->unresolved = l->unresolved;
    out->runtime = l->runtime;
    return HD_OK;
}

HEAPDUMP_API hd_status hd_memprof_symbolize(const hd_memprof_raw *raw,
                                            const hd_memprof_symbolizer *symbolizer,
                                            const hd_options *options, hd_memprof_symbols **out,
                                            hd_error *err) {
    hd__mem mem = hd__mem_options(options);
    hd_memprof_symbolizer none;
    hd__memprof_lookup l;
    hd_memprof_symbols *result;
    hd_status status;
    HD__TRY(hd__memprof_fits(raw, err));
    result = hd__table_create(hd_memprof_symbols, options);
    if (!result) return hd__no_memory(&mem, err);
    memset(&none, 0, sizeof none);
    memset(&l, 0, sizeof l);
    l.raw = raw;
    l.by = symbolizer ? symbolizer : &none;
    l.mem = &((hd__owned *)(void *)result - 1)->mem;
    l.arena = &((hd__owned *)(void *)result - 1)->arena;
    l.seed = l.strings.seed = hd__seed();
    l.most = hd__records(options ? &options->limits : NULL);
    status = hd__memprof_symbolize_all(&l, result, options, err);
    hd__arr_free(l.mem, l.order);
    hd__arr_free(l.mem, l.spare);
    hd__arr_free(l.mem, l.pc);
    hd__index_free(l.mem, &l.index);
    hd__arr_free(l.mem, l.first);
    hd__arr_free(l.mem, l.frames);
    hd__strings_free(l.mem, &l.strings);
    hd__arr_free(l.mem, l.numbers);
    if (status) hd__owned_free(result);
    else *out = result;
    return status;
}

HEAPDUMP_API void hd_memprof_symbols_free(hd_memprof_symbols *symbols) { hd__owned_free(symbols); }

HEAPDUMP_API const char *hd_memprof_heat_name(hd_memprof_heat heat) {
    static const char *const names[] = { "not cold", "cold", "hot" };
    return (unsigned)heat < sizeof names / sizeof *names ? names[heat] : "unknown";
}

/* In single precision, as LLVM counts. */
HEAPDUMP_API hd_memprof_heat hd_memprof_block_heat(const hd_memprof_raw *raw, uint32_t block,
                                                   const hd_memprof_thresholds *thresholds) {
    const uint32_t needed = 1u << HD_MEMPROF_ALLOC_COUNT | 1u << HD_MEMPROF_TOTAL_LIFETIME |
                            1u << HD_MEMPROF_TOTAL_LIFETIME_ACCESS_DENSITY;
    const uint64_t *v = raw->blocks[block].value;
    hd_memprof_thresholds t;
    float count = (float)v[HD_MEMPROF_ALLOC_COUNT], density, lifetime;
    if ((raw->fields & needed) != needed || !v[HD_MEMPROF_ALLOC_COUNT]) return HD_MEMPROF_HEAT_UNKNOWN;
    memset(&t, 0, sizeof t);
    if (thresholds) t = *thresholds;
    density = (float)v[HD_MEMPROF_TOTAL_LIFETIME_ACCESS_DENSITY] / count / 100;
    lifetime = (float)v[HD_MEMPROF_TOTAL_LIFETIME] / count;
    if (density < (float)(t.cold_density > 0 ? t.cold_density : 0.05) &&
        lifetime >= (float)(t.cold_lifetime_ms > 0 ? t.cold_lifetime_ms : 200000))
        return HD_MEMPROF_COLD;
    return density > (float)(t.hot_density > 0 ? t.hot_density : 1000) ? HD_MEMPROF_HOT : HD_MEMPROF_NOT_COLD;
}

/* While a profile is filled. */
typedef struct hd__memprof_filling {
    const hd_memprof_raw *raw;
    const hd_memprof_view *view;
    const hd_memprof_symbols *symbols;
    hd_profile *profile;
    uint32_t field;
    uint64_t *sums;              /* stb_ds array: the field, by cell */
    char *text;                  /* stb_ds array */
    char label[HD__MEMPROF_NAME];
} hd__memprof_filling;

static hd_str hd__memprof_lifetime_name(double ms) {
    static const char *const names[] = { "< 1 ms", "< 10 ms", "< 100 ms", "< 1 s", "< 10 s", "< 100 s" };
    size_t i = 0;
    for (double bound = 1; i < 6 && ms >= bound; bound *= 10) i++;
    return hd_cstr(i < 6 ? names[i] : ">= 100 s");
}

static hd_str hd__memprof_size_name(char *buffer, double size) {
    char digits[20], *from;
    uint64_t bound = 16;
    hd_str name;
    while (bound < HD__MEMPROF_MIDDLE && size > (double)bound) bound *= 2;
    from = hd__digits(digits, bound, 10);
    memcpy(buffer, "<= ", 3);
    memcpy(buffer + 3, from, (size_t)(digits + 20 - from));
    name.data = buffer;
    name.len = 3 + (size_t)(digits + 20 - from);
    return name;
}

static hd_str hd__memprof_label(hd__memprof_filling *x, uint32_t block) {
    const hd_memprof_block *b = &x->raw->blocks[block];
    double count = b->value[HD_MEMPROF_ALLOC_COUNT] ? (double)b->value[HD_MEMPROF_ALLOC_COUNT] : 1;
    const uint32_t *first = x->symbols->first + b->stack;
    hd_str name = hd_cstr("unknown");
    uint32_t segment;
    if (x->view->label) return x->view->label(x->view->user, x->raw, block);
    switch (x->view->split) {
    case HD_MEMPROF_SPLIT_LIFETIME:
        return hd__memprof_lifetime_name((double)b->value[HD_MEMPROF_TOTAL_LIFETIME] / count);
    case HD_MEMPROF_SPLIT_SIZE:
        return hd__memprof_size_name(x->label, (double)b->value[HD_MEMPROF_TOTAL_SIZE] / count);
    case HD_MEMPROF_SPLIT_HEAT:
        return hd_cstr(hd_memprof_heat_name(hd_memprof_block_heat(x->raw, block, &x->view->thresholds)));
    default: break;
    }
    segment = first[0] < first[1] ? x->symbols->frames[x->symbols->frame[first[0]]].segment : HD_NONE;
    if (segment == HD_NONE) return name;
    name.len = (size_t)(hd__memprof_segment_name(x->label, x->raw, &x->raw->segments[segment]) - x->label);
    name.data = x->label;
    return name;
}

/* What a frame is called. */
static bool hd__memprof_frame_name(hd__memprof_filling *x, const hd_memprof_frame *f, hd_str *name) {
    char digits[20], *from = hd__digits(digits, f->line, 10);
    hd__mem *m = &x->profile->mem;
    hd_str line;
    *name = f->function;
    if (!x->view->lines || !f->file.len) return true;
    line.data = from;
    line.len = (size_t)(digits + 20 - from);
    hd__set_len(x->text, 0);
    if (!hd__append(m, &x->text, f->function) || !hd__append(m, &x->text, hd_cstr(" ")) ||
        !hd__append(m, &x->text, hd__basename(f->file)) || !hd__append(m, &x->text, hd_cstr(":")) ||
        !hd__append(m, &x->text, line))
        return false;
    name->data = x->text;
    name->len = hd__len(x->text);
    return true;
}

static void hd__memprof_combine(uint64_t *sum, uint64_t value, uint32_t rule) {
    if (rule == HD__MIB_SUM) *sum = hd__sum_full(*sum, value);
    else if (rule == HD__MIB_MIN ? value < *sum : value > *sum) *sum = value;
}

static hd_status hd__memprof_fill_block(hd__memprof_filling *x, uint32_t block) {
    const hd_memprof_block *b = &x->raw->blocks[block];
    const hd_memprof_symbols *s = x->symbols;
    hd_profile *p = x->profile;
    uint32_t nodes[HD_MAX_AXES], from = s->first[b->stack], to = s->first[b->stack + 1], row;
    uint64_t blocks = HD_UNKNOWN;
    if (x->raw->fields >> HD_MEMPROF_ALLOC_COUNT & 1) blocks = b->value[HD_MEMPROF_ALLOC_COUNT];
    if (from == to && x->view->symbolizer.symbolize) return HD_OK;
    memset(nodes, 0, sizeof nodes);
    while (to > from) {
        hd_str name;
        if (!hd__memprof_frame_name(x, &s->frames[s->frame[--to]], &name)) return HD_OUT_OF_MEMORY;
        HD__TRY(hd_profile_node(p, 0, nodes[0], name, &nodes[0]));
    }
    if (p->cells.axis_count > 1) HD__TRY(hd_profile_node(p, 1, 0, hd__memprof_label(x, block), &nodes[1]));
    row = hd__table_find(&p->cells, nodes);
    HD__TRY(hd_profile_add(p, nodes, 0, blocks));
    if (row != HD_NONE) {
        hd__memprof_combine(&x->sums[row], b->value[x->field], hd__mib[x->field].rule);
        return HD_OK;
    }
    return hd__push(&p->mem, x->sums, b->value[x->field]) ? HD_OK : HD_OUT_OF_MEMORY;
}

static hd_status hd__memprof_fill(hd__memprof_filling *x, const hd_options *options, hd_error *err) {
    hd_profile *p = x->profile;
    hd_status status = HD_OK;
    for (uint32_t i = 0; i < x->raw->block_count && !status; i++) {
        if (!(i & HD__TICK) && !hd__go_on(options, i, x->raw->block_count)) return hd__cancelled(err);
        status = hd__memprof_fill_block(x, i);
    }
    for (uint32_t row = 0; row < hd__len(x->sums) && !status; row++) {
        uint64_t value = x->sums[row], count = p->cells.blocks[row];
        if (x->view->average) {
            if (count == HD_UNKNOWN || !count) value = 0;
            else value = value / count + (value % count >= count - count / 2);
        }
        p->cells.bytes[row] = value;
        if (!hd__sum(&p->total_bytes, value)) status = HD_OVERFLOW;
    }
    if (status == HD_OUT_OF_MEMORY) return hd__no_memory(&p->mem, err);
    return status ? hd__fail(err, status, "%s while making a profile of %s", hd_status_text(status),
                             hd_memprof_field_name(x->field))
                  : HD_OK;
}

HEAPDUMP_API hd_status hd_memprof_profile(const hd_memprof_raw *raw, const hd_memprof_view *view,
                                          const hd_options *options, hd_profile **out, hd_error *err) {
    static const char *const axes[] = { NULL, "lifetime", "size", "heat", "binary" };
    hd_memprof_view none;
    hd_profile_desc desc;
    hd_memprof_symbols *symbols;
    hd__memprof_filling x;
    hd_status status;
    hd_error ignored;
    if (!err) err = &ignored;
    memset(&none, 0, sizeof none);
    memset(&desc, 0, sizeof desc);
    memset(&x, 0, sizeof x);
    x.raw = raw;
    x.view = view ? view : &none;
    x.field = x.view->field;
    if (!x.field) x.field = HD_MEMPROF_TOTAL_SIZE;
    if (x.field >= HD_MEMPROF_FIELDS || hd__mib[x.field].rule > HD__MIB_MAX ||
        (x.view->average && hd__mib[x.field].rule != HD__MIB_SUM))
        return hd__fail(err, HD_INVALID, "a count or total%s expected, %s found",
                        x.view->average ? "" : ", minimum or maximum", hd_memprof_field_name(x.field));
    if ((unsigned)x.view->split > HD_MEMPROF_SPLIT_BINARY)
        return hd__fail(err, HD_INVALID, "no split %u", (uint64_t)x.view->split);
    if (!(raw->fields >> x.field & 1))
        return hd__fail(err, HD_UNSUPPORTED, "the blocks of version %u do not have %s",
                        (uint64_t)raw->version, hd_memprof_field_name(x.field));
    desc.axis_count = x.view->split || x.view->label ? 2 : 1;
    if (!x.view->label) desc.axis_name[1] = axes[x.view->split];
    if (options) {
        desc.allocator = options->allocator;
        desc.limits = options->limits;
    }
    HD__TRY(hd_memprof_symbolize(raw, &x.view->symbolizer, options, &symbols, err));
    x.symbols = symbols;
    x.profile = hd_profile_create(&desc, err);
    status = x.profile ? hd__memprof_fill(&x, options, err) : err->status;
    if (x.profile) {
        hd__arr_free(&x.profile->mem, x.sums);
        hd__arr_free(&x.profile->mem, x.text);
    }
    hd_memprof_symbols_free(symbols);
    if (status) hd_profile_free(x.profile);
    else *out = x.profile;
    return status;
}

/* =================================================================================== >>dump
   Looks at the first bytes, hands the input to the reader of that format. */

HEAPDUMP_API const char *hd_format_name(hd_format format) {
    return format == HD_FORMAT_CHROME  ? "chrome"
           : format == HD_FORMAT_NETCF ? "netcf"
           : format == HD_FORMAT_DART  ? "dart"
           : format == HD_FORMAT_MEMPROF ? "memprof"
                                       : "unknown";
}

/* An input whose first bytes were looked at already. */
#define HD__PEEK 64u
typedef struct hd__peeked {
    hd_in in;
    uint8_t bytes[HD__PEEK];
    size_t size, at;
} hd__peeked;

static int64_t hd__peeked_read(void *user, void *buffer, size_t capacity) {
    hd__peeked *p = (hd__peeked *)user;
    size_t n = p->size - p->at;
    if (!n) return p->in.read(p->in.user, buffer, capacity);
    if (n > capacity) n = capacity;
    memcpy(buffer, p->bytes + p->at, n);
    p->at += n;
    return (int64_t)n;
}

/* Fills what is peeked at, as far as the input goes. */
static bool hd__peek(hd__peeked *p, hd_in in) {
    p->in = in;
    p->size = p->at = 0;
    if (!in.read) {
        p->size = in.size < sizeof p->bytes ? (size_t)in.size : sizeof p->bytes;
        memcpy(p->bytes, in.data, p->size);
        return true;
    }
    while (p->size < sizeof p->bytes) {
        int64_t n = in.read(in.user, p->bytes + p->size, sizeof p->bytes - p->size);
        if (n < 0 || n > (int64_t)(sizeof p->bytes - p->size)) return false;
        if (!n) break;
        p->size += (size_t)n;
    }
    return true;
}

/* An application domain record: "a ", a number, a space. */
static bool hd__detect_netcf(const uint8_t *p, size_t size) {
    size_t i = 2;
    if (size < 4 || p[0] != 'a' || p[1] != ' ') return false;
    while (i < size && hd__hex_digit[p[i]] < 128) i++;
    return i > 2 && i < size && p[i] == ' ';
}

/* The format these bytes begin; 0 when it is none. *skip is what stands before it. */
static hd_format hd__detect(const uint8_t *p, size_t size, size_t *skip) {
    size_t i = 0;
    if (size >= 3 && !memcmp(p, "\xef\xbb\xbf", 3)) i = 3;
    *skip = 0;
    if (size >= 8 && !memcmp(p, "dartheap", 8)) return HD_FORMAT_DART;
    if (hd__memprof_detect(p, size)) return HD_FORMAT_MEMPROF;
    *skip = i;
    if (hd__detect_netcf(p + i, size - i)) {
        *skip = 0;               /* what stands before it is written again */
        return HD_FORMAT_NETCF;
    }
    while (i < size && (p[i] == ' ' || p[i] == '\t' || p[i] == '\r' || p[i] == '\n')) i++;
    /* white space as far as one sees: what may begin so is JSON */
    if (i == size ? size == HD__PEEK : p[i] == '{' || p[i] == '[') return HD_FORMAT_CHROME;
    return (hd_format)0;
}

static bool hd__is_gzip(const hd__peeked *p) {
    return p->size >= 2 && p->bytes[0] == 0x1f && p->bytes[1] == 0x8b;
}

/* A heap for each profile of a memprof file. */
static hd_status hd__dump_profiles(hd_dump *d, const hd_options *options, hd_error *err) {
    for (size_t i = 0; i < hd_memprof_count(d->memprof); i++) {
        char text[24], *digits = hd__digits(text + 4, i + 1, 16);
        hd_str id;
        hd_heap heap;
        hd_profile *profile;
        *--digits = 'x';
        *--digits = '0';
        id.data = digits;
        id.len = (size_t)(text + 24 - digits);
        memset(&heap, 0, sizeof heap);
        heap.allocator = "malloc";
        heap.dump = hd__arena_str(&d->mem, &d->arena, id);
        if (!heap.dump || !hd__room(&d->mem, d->heaps, 1)) return hd__no_memory(&d->mem, err);
        HD__TRY(hd_memprof_profile(hd_memprof_get(d->memprof, i), NULL, options, &profile, err));
        heap.profile = profile;
        stbds_arrput(d->heaps, heap);
    }
    return HD_OK;
}

/* What is packed, to all readers but that of traces: where the packing is damaged the input ends for them, so
   that leniently they keep what came before. */
typedef struct hd__cut {
    hd__peeked *peeked;
    const hd__packed *packed;
    const hd_options *options;
    uint64_t warnings;
} hd__cut;

static int64_t hd__cut_read(void *user, void *buffer, size_t capacity) {
    hd__cut *c = (hd__cut *)user;
    int64_t n = hd__peeked_read(c->peeked, buffer, capacity);
    hd_error warning;
    if (n >= 0 || !c->packed->damaged) return n;
    if (c->options->lenient && !c->warnings++ && c->options->warning) {
        hd__fail_input(c->packed, &warning, c->packed->unpacked, 0);
        c->options->warning(c->options->user, &warning);
    }
    return 0;
}

static hd_status hd__read_document(hd_dump *d, hd_in in, const hd_options *options, hd_error *err) {
    if (d->format == HD_FORMAT_NETCF) {
        HD__TRY(hd_netcf_read(in, options, &d->netcf, err));
        d->warnings = hd_netcf_warning_count(d->netcf);
    } else if (d->format == HD_FORMAT_DART) {
        HD__TRY(hd_dart_read(in, options, &d->dart, err));
        d->warnings = hd_dart_warning_count(d->dart);
    } else {
        HD__TRY(hd_memprof_read(in, options, &d->memprof, err));
        d->warnings = hd_memprof_warning_count(d->memprof);
        HD__TRY(hd__dump_profiles(d, options, err));
    }
    return HD_OK;
}

/* The same of what is packed. */
static hd_status hd__read_packed_document(hd_dump *d, hd__peeked *peeked, const hd__packed *packed,
                                         const hd_options *options, hd_error *err) {
    hd__cut cut;
    hd_status status;
    cut.peeked = peeked;
    cut.packed = packed;
    cut.options = options;
    cut.warnings = 0;
    status = hd__read_document(d, hd_in_callback(hd__cut_read, &cut), options, err);
    d->warnings += cut.warnings;
    if (packed->damaged && !options->lenient && (!status || status == HD_MALFORMED))
        return hd__fail_input(packed, err, packed->unpacked, 0);
    return status;
}

/* An input that is plain, of which `peeked` has the beginning. */
static hd_status hd__read_plain(hd__peeked *peeked, const hd__packed *packed, const hd_options *options,
                                hd_dump **dump, hd_error *err) {
    hd__mem mem = hd__mem_options(options);
    hd_in in = peeked->in;
    hd_format format;
    size_t skip;
    hd_dump *d;
    hd_status status;
    if (!peeked->size)
        return hd__fail_at(err, HD_UNKNOWN_FORMAT, 0, 0, "the %sinput is empty", packed ? "unpacked " : "");
    format = hd__detect(peeked->bytes, peeked->size, &skip);
    if (!format)
        return hd__fail_at(err, HD_UNKNOWN_FORMAT, 0, 0,
                           "no heap dump format known to begin like this: a trace (JSON), a .NET CF dump, a "
                           "Dart snapshot or a memprof profile expected");
    if (in.read) {
        peeked->at = skip;
        in = hd_in_callback(hd__peeked_read, peeked);
    } else {
        in.data += skip;
        in.size -= skip;
    }
    d = (hd_dump *)hd__realloc(&mem, NULL, 0, sizeof *d);
    if (!d) return hd__no_memory(&mem, err);
    memset(d, 0, sizeof *d);
    d->mem = mem;
    d->format = format;
    d->strings.seed = hd__seed();
    if (format == HD_FORMAT_CHROME) status = hd__chrome_read(d, in, skip, packed, options, err);
    else if (packed) status = hd__read_packed_document(d, peeked, packed, options, err);
    else status = hd__read_document(d, in, options, err);
    if (status) hd_dump_free(d);
    else *dump = d;
    return status;
}

static hd_status hd__read_packed(hd__peeked *peeked, const hd_options *options, hd_dump **dump,
                                 hd_error *err) {
    hd_in in = peeked->in.read ? hd_in_callback(hd__peeked_read, peeked) : peeked->in;
    hd__peeked unpacked;
    hd__packed packed;
    hd_status status;
    if (!options || !options->inflate)
        return hd__fail_at(err, HD_UNSUPPORTED, 0, 0,
                           "compressed with gzip: unpack it, or set hd_options.inflate");
    if (!hd__packed_open(&packed, in, options->inflate))
        return hd__fail(err, HD_OUT_OF_MEMORY, "out of memory");
    if (hd__peek(&unpacked, hd_in_callback(hd__unpacked_read, &packed)))
        status = hd__read_plain(&unpacked, &packed, options, dump, err);
    else status = hd__fail_input(&packed, err, unpacked.size, 0);
    packed.hook->close(packed.stream);
    return status;
}

HEAPDUMP_API hd_status hd_read(hd_in in, const hd_options *options, hd_dump **dump, hd_error *err) {
    hd__peeked peeked;
    if (!hd__peek(&peeked, in)) return hd__fail(err, HD_IO, "reading the input failed");
    if (hd__is_gzip(&peeked)) return hd__read_packed(&peeked, options, dump, err);
    return hd__read_plain(&peeked, NULL, options, dump, err);
}

HEAPDUMP_API hd_status hd_read_memory(const void *data, size_t size, const hd_options *options,
                                      hd_dump **dump, hd_error *err) {
    return hd_read(hd_in_memory(data, size), options, dump, err);
}

HEAPDUMP_API hd_status hd_read_file(const char *path, const hd_options *options, hd_dump **dump,
                                    hd_error *err) {
    hd_in in;
    hd_status status;
    HD__TRY(hd_in_open(path, &in, err));
    status = hd_read(in, options, dump, err);
    hd_in_close(&in);
    return status;
}

HEAPDUMP_API void hd_dump_free(hd_dump *d) {
    hd__mem mem;
    if (!d) return;
    for (size_t i = 0; i < hd__len(d->heaps); i++)
        hd_profile_free((hd_profile *)(uintptr_t)d->heaps[i].profile);
    hd_netcf_free(d->netcf);
    hd_dart_free(d->dart);
    hd_memprof_free(d->memprof);
    hd__arr_free(&d->mem, d->heaps);
    hd__arr_free(&d->mem, d->scalars);
    hd__arr_free(&d->mem, d->details);
    hd__strings_free(&d->mem, &d->strings);
    hd__arena_free(&d->mem, &d->arena);
    mem = d->mem;
    hd__free(&mem, d, sizeof *d);
}

HEAPDUMP_API hd_format hd_dump_format(const hd_dump *d) { return d->format; }
HEAPDUMP_API size_t hd_dump_heap_count(const hd_dump *d) { return hd__len(d->heaps); }

HEAPDUMP_API const hd_heap *hd_dump_heap(const hd_dump *d, size_t index) {
    return index < hd__len(d->heaps) ? &d->heaps[index] : NULL;
}

HEAPDUMP_API size_t hd_dump_scalar_count(const hd_dump *d) { return hd__len(d->scalars); }

HEAPDUMP_API const hd_scalar *hd_dump_scalar(const hd_dump *d, size_t index) {
    return index < hd__len(d->scalars) ? &d->scalars[index] : NULL;
}

HEAPDUMP_API const hd_graph *hd_dump_graph(const hd_dump *d) {
    return d->netcf ? hd_netcf_graph(d->netcf) : d->dart ? hd_dart_graph(d->dart) : NULL;
}

HEAPDUMP_API const hd_netcf *hd_dump_netcf(const hd_dump *d) { return d->netcf; }
HEAPDUMP_API const hd_dart *hd_dump_dart(const hd_dump *d) { return d->dart; }
HEAPDUMP_API const hd_memprof *hd_dump_memprof(const hd_dump *d) { return d->memprof; }

HEAPDUMP_API bool hd_dump_detail(const hd_dump *d, uint64_t pid, const char *id, hd_detail *detail) {
    size_t low = 0, high = hd__len(d->details);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const hd__dump_detail *at = &d->details[middle];
        int order = at->pid != pid ? (at->pid < pid ? -1 : 1) : hd__compare_texts(at->id, id);
        if (!order) {
            *detail = at->detail;
            return true;
        }
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return false;
}

HEAPDUMP_API uint64_t hd_dump_warning_count(const hd_dump *d) { return d->warnings; }

#ifdef __cplusplus
} /* extern "C" */
#endif

/* stb_ds is private no more: its names mean the program's own again. */
#undef stbds_rand_seed
#undef stbds_hash_bytes
#undef stbds_hash_string
#undef stbds_string_arena
#undef stbds_string_block
#undef stbds_array_header
#undef stbds_hash_bucket
#undef stbds_hash_index
#undef stbds_hash_seed
#undef stbds_stralloc
#undef stbds_strreset
#undef stbds_strdup
#undef stbds_arrgrowf
#undef stbds_arrfreef
#undef stbds_hmfree_func
#undef stbds_hmget_key
#undef stbds_hmget_key_ts
#undef stbds_hmput_default
#undef stbds_hmput_key
#undef stbds_hmdel_key
#undef stbds_shmode_func
#undef stbds_probe_position
#undef stbds_log2
#undef stbds_make_hash_index
#undef stbds_siphash_bytes
#undef stbds_is_key_equal
#undef stbds_hm_find_slot
#undef STBDS_SH_NONE
#undef STBDS_SH_DEFAULT
#undef STBDS_SH_STRDUP
#undef STBDS_SH_ARENA
#ifdef __cplusplus
#undef stbds_arrgrowf_wrapper
#undef stbds_hmget_key_wrapper
#undef stbds_hmget_key_ts_wrapper
#undef stbds_hmput_default_wrapper
#undef stbds_hmput_key_wrapper
#undef stbds_hmdel_key_wrapper
#undef stbds_shmode_func_wrapper
#endif
#undef STBDS_STATS
#pragma pop_macro("INCLUDE_STB_DS_H")
#pragma pop_macro("STB_DS_IMPLEMENTATION")
#pragma pop_macro("STBDS_NO_SHORT_NAMES")
#pragma pop_macro("STBDS_REALLOC")
#pragma pop_macro("STBDS_FREE")
#pragma pop_macro("STBDS_ASSERT")
#pragma pop_macro("STBDS_UNIT_TESTS")
#pragma pop_macro("STBDS_STATISTICS")

#endif /* HEAPDUMP_IMPLEMENTATION */

/* Licence: choose either.

   Public domain (www.unlicense.org)

   This is free and unencumbered software released into the public domain. Anyone is free to copy,
   modify, publish, use, compile, sell, or distribute this software, either in source code form or
   as a compiled binary, for any purpose, commercial or non-commercial, and by any means. In
   jurisdictions that recognize copyright laws, the author or authors of this software dedicate any
   and all copyright interest in the software to the public domain. THE SOFTWARE IS PROVIDED "AS
   IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
   WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT
   SHALL THE AUTHORS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF
   CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE
   OR OTHER DEALINGS IN THE SOFTWARE.

   MIT

   Copyright (c) 2026 the authors of heapdump.h

   Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
   associated documentation files (the "Software"), to deal in the Software without restriction,
   including without limitation the rights to use, copy, modify, merge, publish, distribute,
   sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
   furnished to do so, subject to the following conditions: The above copyright notice and this
   permission notice shall be included in all copies or substantial portions of the Software. THE
   SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT
   LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
   NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
   DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
   OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE. */
