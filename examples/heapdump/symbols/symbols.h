/* Names for OBJECT+0xOFFSET, for addresses in MemProf profiles, and for code that a program generated at run time.

   A child process opens and reads ELF, DWARF and perf maps, and queries debuginfod. Its memory and processor time are
   limited. Questions go out in batches, one object at a time, so if the child dies, the object that killed it is
   known. The next child reads only the symbol table of that object; after a second death its frames stay addresses.
   The parent keeps descriptors of files that may change, for example recorded programs, and passes them to each new
   child. */
#ifndef HEAPDUMP_SYMBOLS_H
#define HEAPDUMP_SYMBOLS_H

#include "../shell/shell.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/types.h>

/* A function at an address. */
typedef struct symbols_frame {
    const char *name, *file;     /* as linked; may be NULL */
    int line, column;            /* the function's own line; in an outer frame the line of the call */
    unsigned discriminator, start_line;
} symbols_frame;

/* A segment of an object that the loader maps (PT_LOAD). */
typedef struct symbols_load {
    uint64_t offset, file_bytes, address, memory_bytes;
    bool is_code;
} symbols_load;

/* How much of an object the child reads: less after each child that died of it. */
typedef enum symbols_level { SYMBOLS_ALL, SYMBOLS_TABLE, SYMBOLS_NOTHING } symbols_level;

enum { SYMBOLS_FILES = 3, SYMBOLS_DYING = 8 };

/* A file that may be the object. The first one with the build id of the loaded object is used. */
typedef struct symbols_candidate {
    int fd;                      /* -1: open it by its path */
    bool kept;                   /* the descriptor belongs to this object */
    char *file;                  /* its path: debug files are in the same directory */
} symbols_candidate;

typedef struct symbols_object {
    char *path;
    symbols_candidate files[SYMBOLS_FILES];
    uint32_t file_count;
    bool is_code_map;
    uint32_t version;            /* changes when its files change */
    uint32_t sent;               /* the child that got this version last */
    unsigned char build_id[32];  /* of the loaded object, or of the opened file */
    uint32_t build_id_size, copy; /* copy: number of its copy, if it has no build id */
    bool has_wanted_id;          /* files with another build id are not this object */
    bool known, is_elf;          /* known: the child has looked at the files */
    bool is_slow;                /* its file system was slow to open it */
    int64_t changed;             /* modification time of the file, in seconds */
    symbols_load *loads;
    uint32_t load_count;
    symbols_level level;
    char *why;                   /* reason for the level */
    uint64_t lost;               /* addresses that stay unnamed for this reason */
    symbols_level told_level;
    uint64_t answer_bytes;
    bool used;
    bool told;                   /* a warning reported that it is newer than the dump */
} symbols_object;

/* A copy of a program file, taken when the process began. */
typedef struct symbols_copy {
    char *path;
    uint64_t pid;
    int fd;
    struct stat file;            /* the original */
} symbols_copy;

/* A question: an address of an object. */
typedef struct symbols_key {
    uint32_t object;
    uint8_t kind;                /* symbols_kind */
    bool strict;                 /* use the symbol table only if there is no debug information */
    uint64_t address;
} symbols_key;

typedef struct symbols_answer symbols_answer;

typedef struct symbols_child {
    pid_t pid;                   /* 0: none */
    int fd;
    char *in;                    /* its output that was not parsed yet */
    size_t in_start, in_size, in_room;
    int brought[4];              /* descriptors that came with its output */
    uint32_t brought_count;
    bool greeted;                /* it is ready */
    int64_t patience_ms;         /* how long it may wait for a file system or server */
    uint64_t ran_ns;             /* its processor time when last checked */
    struct timespec moved;       /* when it last did something */
} symbols_child;

enum { SYMBOLS_MEANWHILE = 66 };

/* Other work to do while the child is busy, which may take minutes. It must not ask for names. */
typedef struct symbols_meanwhile {
    uint32_t (*wait)(void *user, struct pollfd *to); /* adds at most SYMBOLS_MEANWHILE; NULL: no work */
    void (*serve)(void *user, const struct pollfd *from, uint32_t count); /* after each poll */
    void *user;
} symbols_meanwhile;

/* code_file.c */
typedef struct code_file code_file;

typedef struct symbols {
    symbols_object *objects;
    size_t count, room;
    void *by_path;               /* tsearch: the last object of a path */
    void *by_id;                 /* tsearch: by path and build id */
    void *by_build;              /* tsearch: the first `built` objects, by build id */
    size_t built;
    size_t given;                /* number of objects given by --binary: they come first */
    symbols_copy *copies;
    size_t copy_count;
    uint64_t copied;             /* total bytes of the copies */
    struct symbols_loading *loading; /* objects with files still to be opened */
    size_t loading_count, loading_room;
    void *answers;               /* tsearch */
    symbols_key *wanted;      /* addresses for the next symbols_fetch */
    size_t wanted_count, wanted_room;
    char **kept;                 /* names that the caller of symbols_each_name keeps */
    size_t kept_count, kept_room;
    char *name;                  /* returned by the last call */
    uint64_t resolved, unresolved;
    uint64_t answer_bytes, spent_ns;
    size_t kept_files;           /* descriptors */
    bool twins;                  /* several objects had the same path */
    code_file *code;             /* perf map of the process of the current frames; may be NULL */
    bool by_table;               /* MemProf: use the symbol table if debug information has no function */
    symbols_child child;
    symbols_meanwhile meanwhile;
    bool is_busy;                /* `meanwhile` is running, and the child is busy */
    struct symbols *second;      /* has its own child, for programs that begin meanwhile; NULL: not started */
    pid_t dying[SYMBOLS_DYING];  /* killed children that were not reaped yet; 0: free slot */
    uint32_t dying_count;
    int64_t waited_ms;           /* total time spent on files whose file system did not answer */
    uint32_t unopened;           /* files that could not be opened in time */
    uint32_t children;           /* number of children started so far */
    uint64_t served_ns, served_bytes; /* used up by debuginfod servers */
    bool interrupted;            /* a message reported the interruption */
    struct timespec held;        /* since when a signal that ends us is pending; 0: none is */
    bool none;                   /* no child can be started, or the time for all objects is used up */
} symbols;

/* false: the name is not kept */
typedef bool (*symbols_name_fn)(void *user, const char *name);

/* symbols.c */
symbols_object *symbols_object_of(symbols *s, hd_str path);
symbols_object *symbols_object_for(symbols *s, hd_str path);
/* Asks for all frames of an axis that are addresses, in one batch; symbols_rename then answers from memory. */
void symbols_prepare(symbols *s, hd_axis axis);
uint32_t symbols_rename(void *user, hd_str name, hd_str *path);
void symbols_free(symbols *s);
void *symbols_room(void *items, size_t count, size_t *capacity, size_t size);
const char *symbols_basename(const char *path);

/* loaded.c: objects of recorded processes */
/* Copies the program file of a process that has just begun and waits for us: the file may be overwritten as soon as
   the process ends. Large files, and files copied before, are not copied. */
void symbols_begun(symbols *s, uint64_t pid);
/* Adds a module. symbols_loaded_end opens the files of many modules together. */
void symbols_loaded(symbols *s, const hd_module *m, uint64_t pid);
void symbols_loaded_end(symbols *s);
/* Opens a regular file for reading; -1 if it is not one. The file may be replaced by a pipe at any time; the open
   never blocks. */
int symbols_file_open(const char *path);

/* symbols.c */
symbols_object *symbols_add(symbols *s, hd_str path);
symbols_object *symbols_find(const symbols *s, hd_str path);
void symbols_name_path(symbols *s, hd_str path, size_t object);

/* answers.c: questions and answers */
typedef enum symbols_kind { SYMBOLS_INFO, SYMBOLS_TEXT, SYMBOLS_LINKED, SYMBOLS_NAMES, SYMBOLS_CODE } symbols_kind;

struct symbols_answer {
    symbols_key key;
    uint32_t count;              /* innermost first */
    size_t bytes;
    symbols_frame frame[];
};

const symbols_answer *symbols_answered(symbols *s, const symbols_object *o, symbols_kind kind, bool strict,
                                       uint64_t address);
/* Adds an address to the questions of the next symbols_fetch. */
void symbols_want(symbols *s, const symbols_object *o, symbols_kind kind, bool strict, uint64_t address);
void symbols_fetch(symbols *s);
/* Finds out whether the object can be read, its build id and its loads. */
bool symbols_know(symbols *s, symbols_object *o);
void symbols_answers_free(symbols *s);

/* child.c: the child */
/* memory: bytes; both 0: the defaults */
void symbols_limit(uint64_t memory, double seconds);
double symbols_seconds_most(void);
/* Starts the child, unless it runs. */
bool symbols_start(symbols *s);
void symbols_child_end(symbols *s);
uint64_t symbols_child_nanoseconds(const symbols *s);

/* open.c: the child opens files that recorded programs chose, because their file systems may never answer. */
typedef enum symbols_opening {
    SYMBOLS_LOOK,                /* only *st */
    SYMBOLS_LOOK_NO_LINK,
    SYMBOLS_KEEP,                /* a descriptor, unless closing it might block for ever */
    SYMBOLS_KEEP_NO_LINK,
    SYMBOLS_COPY                 /* a copy in memory */
} symbols_opening;

typedef enum symbols_openable { SYMBOLS_OPENED, SYMBOLS_ABSENT, SYMBOLS_UNKNOWN } symbols_openable;

typedef struct symbols_opened {
    const char *path;
    bool is_again;               /* most likely the same file as the one before: skipped if that one is UNKNOWN */
    symbols_openable is;
    struct stat st;
    int fd;                      /* -1: none */
} symbols_opened;

void symbols_open_all(symbols *s, symbols_opened *files, uint32_t count, symbols_opening how);
/* The same for one file. ABSENT: not a readable regular file. UNKNOWN: the file system did not answer. */
symbols_openable symbols_open(symbols *s, const char *path, symbols_opening how, struct stat *st, int *fd);

/* ask.c: questions about an object */
/* Receives the answers in order; `take` and `name` return false to stop. */
typedef struct symbols_taker {
    bool (*take)(void *user, uint32_t index, uint32_t count, const symbols_frame *frames);
    bool (*name)(void *user, const char *name);
    void *user;
} symbols_taker;
void symbols_ask(symbols *s, symbols_object *o, symbols_kind kind, bool strict, const uint64_t *addresses,
                 uint32_t count, const symbols_taker *to);
/* Whether the binaries given by --binary lack no names. */
bool symbols_given_whole(const symbols *s);
/* Reports on standard error which objects lack names, and why. */
void symbols_tell(symbols *s);

/* server.c: the child's main. -1: the command line does not start a child */
int symbols_server(int argc, char **argv);

/* files.c: set in the child */
extern bool symbols_is_child;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SYMBOLS_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SYMBOLS_SANITIZED
#endif

/* names.c */
/* "function (dir/file.c:12) [object]", demangled. The file may be NULL, the object's path empty. The caller frees
   it. */
char *symbols_text(const char *name, const char *file, int line, hd_str object);

/* code_file.c: /tmp/perf-PID.map of a process, kept open while its addresses need names */
code_file *code_file_open(uint64_t pid);
/* Looks for the file while the process lives, and at its end. */
void code_file_look(code_file *m, symbols *s);
/* The same for many processes. */
void code_files_look(code_file *const *files, uint32_t count, symbols *s);
/* The object of the file in `s`; NULL if there is no file. */
symbols_object *code_file_object(code_file *m, symbols *s);
void code_file_free(code_file *m);

/* names.c */
void symbols_build_id(char text[65], const uint8_t *id, uint32_t size);

#endif
