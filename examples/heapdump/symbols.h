/* Names for OBJECT+0xOFFSET and for addresses of MemProf profiles, by elfutils' libdw.

   Objects are opened where they lie, their debug information is looked for beside them, under
   /usr/lib/debug, by build id, and by debuginfod where DEBUGINFOD_URLS is set. Which functions are at an
   address is told by tables of their ranges, made of what a unit says when one of its addresses is asked for
   first: compilers leave .debug_aranges out, and libdw would search a unit's tree for every address. */
#ifndef HEAPDUMP_SYMBOLS_H
#define HEAPDUMP_SYMBOLS_H

#include "cli.h"

#include <elfutils/libdwfl.h>
#include <sys/stat.h>

typedef struct symbols_function {
    Dwarf_Addr start, end;       /* end 0: not told, reaches to the next */
    const char *name;
    unsigned char rank;          /* of names for one address the highest counts, then the last */
    int index;
} symbols_function;

/* A range that reaches to the next one, and the number of the innermost function, or of the unit, there. */
typedef struct symbols_range {
    Dwarf_Addr start, end;       /* end is for making the table */
    uint32_t number;             /* HD_NONE: nothing */
} symbols_range;

typedef struct symbols_ranges {
    symbols_range *range;
    size_t count, capacity;
} symbols_ranges;

/* A DIE that has code: a function, or an inlined one. */
typedef struct symbols_scope {
    Dwarf_Die die;
    uint32_t around;             /* the scope that it is in; HD_NONE: none */
    uint32_t named;              /* of C++: its symbols_named, or the one that it is in; HD_NONE: none */
} symbols_scope;

/* A DIE of C++ that qualifies names: a function, a class, a namespace. */
typedef struct symbols_named {
    Dwarf_Die die;
    Dwarf_Off offset;
    uint32_t above;              /* the one that it is in; HD_NONE: none */
    char *full;                  /* its qualified name, once asked for */
} symbols_named;

typedef struct symbols_unit {
    Dwarf_Die die, tree;         /* the tree of a split unit is in another file */
    uint32_t split;              /* its number, where symbols_dwp.c is to be asked for the tree; or HD_NONE */
    bool read;
    symbols_scope *scopes;
    size_t count, capacity;
    symbols_ranges ranges;
    bool is_cxx;
    symbols_named *named;        /* by offset */
    size_t named_count, named_capacity;
} symbols_unit;

/* A function at an address; strings are libdw's. */
typedef struct symbols_frame {
    const char *name, *file;     /* as linked; may be NULL */
    int line, column;            /* where it is, or calls the next inner one */
    unsigned discriminator, start_line;
} symbols_frame;

typedef struct symbols_dwp symbols_dwp;

typedef struct symbols_object {
    char *path;
    Dwfl *dwfl;
    Dwfl_Module *module;         /* NULL: not to be opened */
    Dwarf_Addr bias;             /* address here = offset + bias */
    symbols_function *functions; /* by start; libdw itself would search its table from end to end */
    size_t function_count;
    Dwarf_Addr dwarf_bias;
    symbols_unit *units;
    size_t unit_count, unit_capacity;
    symbols_ranges ranges;       /* of units */
    symbols_dwp *dwp;            /* of split units that libdw does not find; NULL: not asked for */
    size_t missed;               /* units whose .dwo files are not there */
    unsigned char build_id[32];  /* of what was loaded, where that could not be opened */
    uint32_t build_id_size;
    struct stat file;            /* of which it is a copy; zeros: it is none */
    bool used, has_functions, has_units;
    bool told;                   /* that it is newer than what it names */
} symbols_object;

/* The last object of a path. */
typedef struct symbols_path {
    hd_str path;                 /* the first object's */
    size_t object;
} symbols_path;

/* code_map.c: what a process says of code that it made */
typedef struct code_map code_map;

typedef struct symbols {
    symbols_object *objects;
    size_t count;
    void *by_path;               /* tsearch, of symbols_path */
    size_t given;                /* of them, by --binary: they come first */
    char *names[HD_MEMPROF_INLINE_MAX]; /* of the last call, freed by the next; HD_RENAME_MAX is less */
    uint32_t name_count;
    uint64_t resolved, unresolved;
    bool twins;                  /* of one path there were several objects */
    uint64_t copied;             /* bytes of objects that are copies */
    code_map *code;              /* of the process whose frames are named; may be NULL */
    bool by_table;               /* MemProf: where debug information says nothing, take the symbol table */
} symbols;

typedef void (*symbols_name_fn)(void *user, const char *name);

/* memory.c */
extern __thread unsigned symbols_at_work;
void symbols_rest(const unsigned *before);
/* Ends the tool when libdw gets no memory, to the end of the block. */
#define SYMBOLS_WORK \
    __attribute__((cleanup(symbols_rest), unused)) const unsigned symbols_before = symbols_at_work++

/* symbols.c */
uint32_t symbols_function_at(symbols_object *o, Dwarf_Addr address, symbols_frame *frame);
symbols_object *symbols_object_of(symbols *s, hd_str path);
symbols_object *symbols_object_for(symbols *s, hd_str path);
void symbols_begun(symbols *s, uint64_t pid);
void symbols_loaded(symbols *s, const hd_module *m, uint64_t pid);
uint32_t symbols_frames(symbols_object *o, Dwarf_Addr address, bool qualified, symbols_frame *frames,
                        uint32_t capacity);
uint32_t symbols_rename(void *user, hd_str name, hd_str *path);
void symbols_free(symbols *s);
void *symbols_room(void *items, size_t count, size_t *capacity, size_t size);
void symbols_read_units(symbols_object *o);
Dwarf_Die *symbols_tree(symbols_object *o, symbols_unit *unit);

/* symbols_names.c: what functions are called. */
const char *symbols_basename(const char *path);
/* "function (dir/file.c:12) [object]", demangled; the file may be NULL, the object's path empty. To be freed. */
char *symbols_text(const char *name, const char *file, int line, hd_str object);
void symbols_begin_names(Dwarf_Die *tree, symbols_unit *unit);
uint32_t symbols_add_named(symbols_unit *unit, Dwarf_Die *die, uint32_t above);
/* The name of a function as it is linked. Lambdas and static functions of C++ may have no such name in debug information:
   if `qualified`, they get that of the symbol table, else the name with those of the scopes around it. LLVM's MemProf
   has the bare name. */
const char *symbols_scope_name(symbols_object *o, symbols_unit *unit, const symbols_scope *scope, bool qualified);
void symbols_free_names(symbols_unit *unit);

/* code_map.c */
code_map *code_map_open(uint64_t pid);
/* Reads what was written since the last look, while the process lives and at its end. */
void code_map_look(code_map *m);
/* Of a frame that is an address, "0x7f..": the function, to be freed; NULL: nothing is told of it. */
char *code_map_name(code_map *m, hd_str address);
void code_map_free(code_map *m);

/* symbols_packed.c */
bool symbols_write(int fd, const void *data, size_t size, size_t at);
int symbols_unpacked(int fd);
/* A regular file, open for reading; else -1. It may be exchanged for a pipe at any time, and never holds us up. */
int symbols_file_open(const char *path);

/* symbols_dwp.c */
symbols_dwp *symbols_dwp_open(const symbols_object *o, Dwarf *program);
const char *symbols_dwp_path(const symbols_dwp *d);
uint32_t symbols_dwp_add(symbols_dwp *d, Dwarf_CU *cu, const char *file);
void symbols_dwp_read(symbols_dwp *d, uint32_t number, symbols_unit *to);
void symbols_dwp_close(symbols_dwp *d);

/* memprof_symbols.c */
uint32_t symbols_linked(void *user, const hd_memprof_address *a, hd_memprof_frame *frames,
                        uint32_t capacity);
uint32_t symbols_shown(void *user, const hd_memprof_address *a, hd_memprof_frame *frames,
                       uint32_t capacity);
const symbols_object *symbols_binary(const symbols *s, const hd_memprof_address *a);
hd_str symbols_file(void *user, const hd_memprof_raw *raw, uint32_t segment);
void symbols_each_name(symbols *s, symbols_name_fn take, void *user);

/* memprof_missing.c: what an hd_memprof_symbolize_fn names, and what it does not. */
typedef struct symbols_counts {
    symbols *names;              /* NULL: no binary is given */
    const hd_memprof_raw *raw;
    uint32_t *missing;           /* addresses that no binary is given for, by segment */
    uint32_t addresses, absent, unnamed, outside; /* absent: of all segments */
    bool skips_new;              /* operator new is part of the allocator, as it is where clang records */
} symbols_counts;

void symbols_counts_make(symbols_counts *x, symbols *names, const hd_memprof_raw *raw);
void symbols_counts_free(symbols_counts *x);
/* symbols_linked, counted; `user`: symbols_counts. */
uint32_t symbols_counted(void *user, const hd_memprof_address *a, hd_memprof_frame *frames, uint32_t capacity);
/* Tells on standard error what has no name, and then what binaries to give. */
void symbols_tell_unnamed(symbols_counts *x);
void symbols_tell_absent(symbols_counts *x);
void symbols_build_id(char text[65], const uint8_t *id, uint32_t size);

#endif
