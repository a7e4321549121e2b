/* Names by elfutils' libdw, in the child process (server.c).

   Debug information is searched in the directory of an object, under /usr/lib/debug, by build id, and by debuginfod
   if DEBUGINFOD_URLS is set. Tables of address ranges give the functions at an address. The table of a unit is built
   when the first of its addresses is looked up. Compilers omit .debug_aranges, and libdw would search a unit's tree
   for every address. */
#ifndef HEAPDUMP_SYMBOLS_DWARF_H
#define HEAPDUMP_SYMBOLS_DWARF_H

#include "symbols.h"

#include <elfutils/libdwfl.h>

typedef struct symbols_function {
    Dwarf_Addr start, end;       /* end 0: unknown; reaches to the next function */
    const char *name;
    unsigned char rank;          /* of several names for one address, the highest rank wins, then the last */
    int index;
} symbols_function;

/* A range up to the start of the next one, and the number of the innermost function, or of the unit, there. */
typedef struct symbols_range {
    Dwarf_Addr start, end;       /* end is only used to build the table */
    uint32_t number;             /* HD_NONE: no function or unit */
} symbols_range;

typedef struct symbols_ranges {
    symbols_range *range;
    size_t count, capacity;
} symbols_ranges;

/* A DIE with code: a function, or an inlined function. */
typedef struct symbols_scope {
    Dwarf_Die die;
    uint32_t around;             /* the scope around it; HD_NONE: none */
    uint32_t named;              /* C++: its symbols_named, or the surrounding scope's; HD_NONE: none */
} symbols_scope;

/* A C++ DIE that qualifies names: a function, a class, a namespace. */
typedef struct symbols_named {
    Dwarf_Die die;
    Dwarf_Off offset;
    uint32_t above;              /* the symbols_named around it; HD_NONE: none */
    char *full;                  /* its qualified name, made on first use */
} symbols_named;

typedef struct symbols_unit {
    Dwarf_Die die, tree;         /* the tree of a split unit is in another file */
    uint32_t split;              /* number for symbols_dwp_read, which gets the tree; or HD_NONE */
    bool read;
    symbols_scope *scopes;
    size_t count, capacity;
    symbols_ranges ranges;
    bool is_cxx;
    symbols_named *named;        /* by offset */
    size_t named_count, named_capacity;
} symbols_unit;

typedef struct symbols_dwp symbols_dwp;

/* An object that is open. */
typedef struct symbols_elf {
    const char *path;            /* path for messages and names */
    Dwfl *dwfl;
    Dwfl_Module *module;         /* NULL: it cannot be read */
    Dwarf_Addr bias;             /* address here = offset + bias */
    symbols_function *functions; /* by start: libdw itself would search its table linearly */
    size_t function_count;
    Dwarf_Addr dwarf_bias;
    symbols_unit *units;
    size_t unit_count, unit_capacity;
    symbols_ranges ranges;       /* of units */
    symbols_dwp *dwp;            /* split units that libdw does not find; NULL: not opened yet */
    size_t missed;               /* units without their .dwo files */
    Dwarf *counted;              /* the debug information that `left` belongs to */
    uint64_t left;               /* number of ranges that its sections may still have */
    bool has_functions, has_units, told;
} symbols_elf;

/* dwarf.c */
/* Opens an object and takes over the descriptor; debug files are searched in the directory of `file`. */
void symbols_take(symbols_elf *o, const char *path, const char *file, int fd);
void symbols_close(symbols_elf *o);
uint32_t symbols_function_at(symbols_elf *o, Dwarf_Addr address, symbols_frame *frame);
uint32_t symbols_frames(symbols_elf *o, Dwarf_Addr address, bool qualified, symbols_frame *frames, uint32_t capacity);
/* All functions, by linkage name, first from debug information, then from the symbol table; a name may be passed more
   than once. */
void symbols_all_names(symbols_elf *o, bool with_dwarf, void (*take)(void *user, const char *name), void *user);

/* names.c */
void symbols_begin_names(Dwarf_Die *tree, symbols_unit *unit);
uint32_t symbols_add_named(symbols_unit *unit, Dwarf_Die *die, uint32_t above);
/* The linkage name of a function. Debug information may lack it for lambdas and static functions of C++. If
   `qualified`, these get the symbol table's name, else their name qualified by the scopes around it. LLVM's MemProf
   uses the bare name. */
const char *symbols_scope_name(symbols_elf *o, symbols_unit *unit, const symbols_scope *scope, bool qualified);
void symbols_free_names(symbols_unit *unit);

/* packed.c */
/* Bytes written to files in memory, which the system does not count as memory of the process. */
extern uint64_t symbols_written, symbols_written_most;
/* Writes to such a file. All these files together may have as many bytes as the process may have memory. */
bool symbols_write(int fd, const void *data, size_t size, size_t at);
int symbols_unpacked(int fd);

/* files.c: from now on, a mapped file counts as memory only in the pages that are written to. */
void symbols_count_writes(void);

/* dwp.c */
symbols_dwp *symbols_dwp_open(const symbols_elf *o, Dwarf *program);
const char *symbols_dwp_path(const symbols_dwp *d);
uint32_t symbols_dwp_add(symbols_dwp *d, Dwarf_CU *cu, const char *file);
void symbols_dwp_read(symbols_dwp *d, uint32_t number, symbols_unit *to);
void symbols_dwp_close(symbols_dwp *d);

/* debuginfod.c: asks debuginfod servers, until their answers used up the limits of time and bytes. */
typedef struct symbols_served {
    uint64_t ns, bytes;          /* bytes: size of the received files, which stay on the disk */
} symbols_served;
/* `by`: used up by earlier children of this parent. on_more: reports each further use. */
void symbols_debuginfod_limit(symbols_served most, symbols_served by, void (*on_more)(const symbols_served *more));
int symbols_find_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base, const char *file,
                           const char *link, GElf_Word crc, char **found);

/* code_map.c */
typedef struct code_map code_map;
code_map *code_map_open(void);
/* Reads new lines of the file. */
void code_map_read(code_map *m, int fd);
/* The function at an address, to be freed; NULL if the map has no code there. */
char *code_map_name(code_map *m, uint64_t address);
void code_map_free(code_map *m);

/* From libiberty: NULL if the name is not mangled by Rust. Its demangle.h does not compile as C11. */
char *rust_demangle(const char *mangled, int options);
/* From libstdc++ or libc++. */
char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

#endif
