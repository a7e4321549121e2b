/* symbols.h - names for OBJECT+0xOFFSET and for addresses of MemProf profiles, by elfutils' libdw; a part of
   the heapdump tool.

   Objects are opened where they lie, their debug information is looked for beside them, under
   /usr/lib/debug, by build id, and by debuginfod where DEBUGINFOD_URLS is set. Which functions are at an
   address is told by tables of their ranges, made of what a unit says when one of its addresses is asked for
   first: compilers leave .debug_aranges out, and libdw would search a unit's tree for every address. */

#ifndef SYMBOLS_H
#define SYMBOLS_H

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <search.h>

enum { SYMBOLS_DISCRIMINATOR = 0x2136 }; /* DW_AT_GNU_discriminator, which dwarf.h lacks */

/* libstdc++'s, and libc++'s */
char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

/* libdw uses some of what it allocates without looking, and where it looks, takes what cannot be had for debug
   information that is not there. So while it works, allocations that fail end the tool, but for sizes that only
   damaged files ask for. These functions come before those of libc, and of what is preloaded, and hand on to the
   next. Sanitizers bring their own. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SYMBOLS_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SYMBOLS_SANITIZED
#endif

static __thread unsigned symbols_at_work;
static void symbols_rest(const unsigned *before) { symbols_at_work = *before; }
/* To the end of the block. */
#define SYMBOLS_WORK \
    __attribute__((cleanup(symbols_rest), unused)) const unsigned symbols_before = symbols_at_work++

#ifndef SYMBOLS_SANITIZED
#define SYMBOLS_ALLOCATION_MAX (1u << 30)

static void *symbols_allocated(void *memory, size_t count, size_t size) {
    if (memory || !symbols_at_work || !count || !size || count > SYMBOLS_ALLOCATION_MAX / size) return memory;
    symbols_at_work = 0;         /* for what ending allocates */
    return needed(NULL);
}

/* NULL as well to what dlsym itself allocates, which it can do without. */
static void *symbols_next(const char *name) {
    static __thread bool looking;
    void *next;
    if (looking) return NULL;
    looking = true;
    next = dlsym(RTLD_NEXT, name);
    looking = false;
    return next;
}

void *malloc(size_t size) {
    static void *(*next)(size_t);
    if (!next) *(void **)&next = symbols_next("malloc");
    return symbols_allocated(next ? next(size) : NULL, 1, size);
}

void *calloc(size_t count, size_t size) {
    static void *(*next)(size_t, size_t);
    if (!next) *(void **)&next = symbols_next("calloc");
    return symbols_allocated(next ? next(count, size) : NULL, count, size);
}

void *realloc(void *memory, size_t size) {
    static void *(*next)(void *, size_t);
    if (!next) *(void **)&next = symbols_next("realloc");
    return symbols_allocated(next ? next(memory, size) : NULL, 1, size);
}
#endif

typedef struct symbols_function {
    Dwarf_Addr start, end;       /* end 0: not told, reaches to the next */
    const char *name;
    unsigned char rank;          /* of names for one address the highest counts, then the last */
    int index;
} symbols_function;

/* From here on to the next: the innermost function, or the unit, of this number. */
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
} symbols_scope;

typedef struct symbols_unit {
    Dwarf_Die die, tree;         /* the tree of a split unit is in another file */
    bool read;
    symbols_scope *scopes;
    size_t count, capacity;
    symbols_ranges ranges;
} symbols_unit;

/* A function at an address; strings are libdw's. */
typedef struct symbols_frame {
    const char *name, *file;     /* as linked; may be NULL */
    int line, column;            /* where it is, or calls the next inner one */
    unsigned discriminator, start_line;
} symbols_frame;

/* An address that was asked for. */
typedef struct symbols_place {
    Dwarf_Addr offset;
    uint32_t count;
    symbols_frame *frames;       /* innermost first */
    char **shown;                /* as people read them */
} symbols_place;

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
    void *places;                /* a tree of <search.h> */
    unsigned char build_id[32];
    uint32_t build_id_size;
    bool used, has_functions;
} symbols_object;

typedef struct symbols {
    symbols_object *objects;
    size_t count;
    char *names[HD_RENAME_MAX];  /* of the last call, freed by the next */
    uint32_t name_count;
    uint64_t resolved, unresolved;
    bool by_table;               /* MemProf: where debug information says nothing, take the symbol table */
} symbols;

static int symbols_order(const void *a, const void *b) {
    const symbols_function *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return x->rank != y->rank ? (int)x->rank - (int)y->rank : x->index - y->index;
}

static void symbols_read_functions(symbols_object *o) {
    int n = dwfl_module_getsymtab(o->module);
    o->has_functions = true;
    if (n > 0) o->functions = needed(malloc((size_t)n * sizeof *o->functions));
    for (int i = 1; i < n; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        symbols_function *f = &o->functions[o->function_count];
        int type;
        f->name = dwfl_module_getsym_info(o->module, i, &symbol, &address, NULL, NULL, NULL);
        if (!f->name || !*f->name || symbol.st_shndx == SHN_UNDEF) continue;
        type = GELF_ST_TYPE(symbol.st_info);
        if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) continue;
        f->start = address;
        f->end = symbol.st_size ? address + symbol.st_size : 0;
        f->rank = (unsigned char)((type != STT_NOTYPE) * 4 + (symbol.st_size != 0) * 2 +
                                  (GELF_ST_BIND(symbol.st_info) == STB_GLOBAL));
        f->index = i;
        o->function_count++;
    }
    if (o->function_count) qsort(o->functions, o->function_count, sizeof *o->functions, symbols_order);
}

/* The function an address lies in; 0 when no symbol says. */
static uint32_t symbols_function_at(symbols_object *o, Dwarf_Addr address, symbols_frame *frame) {
    size_t low = 0, high;
    if (!o->has_functions) symbols_read_functions(o);
    high = o->function_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (o->functions[middle].start <= address) low = middle + 1;
        else high = middle;
    }
    if (!low || (o->functions[low - 1].end && address >= o->functions[low - 1].end)) return 0;
    *frame = (symbols_frame){ .name = o->functions[low - 1].name };
    return 1;
}

/* The items, which may have moved, with room for one more. */
static void *symbols_room(void *items, size_t count, size_t *capacity, size_t size) {
    if (count < *capacity) return items;
    *capacity = *capacity ? 2 * *capacity : 16;
    return needed(realloc(items, *capacity * size));
}

static void symbols_add_range(symbols_ranges *r, Dwarf_Addr start, Dwarf_Addr end, uint32_t number) {
    r->range = symbols_room(r->range, r->count, &r->capacity, sizeof *r->range);
    r->range[r->count++] = (symbols_range){ start, end, number };
}

static void symbols_add_ranges(symbols_ranges *r, Dwarf_Die *die, uint32_t number) {
    Dwarf_Addr base, start, end;
    ptrdiff_t next = 0;
    while ((next = dwarf_ranges(die, next, &base, &start, &end)) > 0)
        if (start < end) symbols_add_range(r, start, end, number);
}

/* What is around others first; scopes that are inside of others have higher numbers. */
static int symbols_range_order(const void *a, const void *b) {
    const symbols_range *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if (x->end != y->end) return x->end > y->end ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Where what is inside of others begins and ends, the ranges from there on to the next. */
static void symbols_flatten(symbols_ranges *r) {
    symbols_ranges flat = { 0 };
    size_t *open = needed(malloc((r->count + 1) * sizeof *open)), depth = 0;
    if (r->count) qsort(r->range, r->count, sizeof *r->range, symbols_range_order);
    for (size_t i = 0; i <= r->count; i++) {
        while (depth && (i == r->count || r->range[open[depth - 1]].end <= r->range[i].start)) {
            Dwarf_Addr end = r->range[open[--depth]].end;
            symbols_add_range(&flat, end, 0, depth ? r->range[open[depth - 1]].number : HD_NONE);
        }
        if (i == r->count) break;
        if (depth && r->range[i].end > r->range[open[depth - 1]].end)
            r->range[i].end = r->range[open[depth - 1]].end;
        symbols_add_range(&flat, r->range[i].start, 0, r->range[i].number);
        open[depth++] = i;
    }
    free(open);
    free(r->range);
    *r = flat;
}

/* What is at an address; HD_NONE: nothing. */
static uint32_t symbols_at(const symbols_ranges *r, Dwarf_Addr address) {
    size_t low = 0, high = r->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->range[middle].start <= address) low = middle + 1;
        else high = middle;
    }
    return low ? r->range[low - 1].number : HD_NONE;
}

static void symbols_read_units(symbols_object *o) {
    Dwarf *dwarf = dwfl_module_getdwarf(o->module, &o->dwarf_bias);
    Dwarf_CU *cu = NULL;
    Dwarf_Die die, tree;
    while (dwarf && dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &die, &tree) == 0) {
        int tag = dwarf_tag(&die);
        if (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit) continue;
        o->units = symbols_room(o->units, o->unit_count, &o->unit_capacity, sizeof *o->units);
        o->units[o->unit_count] = (symbols_unit){ .die = die };
        o->units[o->unit_count].tree = tag == DW_TAG_skeleton_unit ? tree : die;
        symbols_add_ranges(&o->ranges, &die, (uint32_t)o->unit_count++);
    }
    symbols_flatten(&o->ranges);
}

static uint32_t symbols_add_scope(symbols_unit *unit, Dwarf_Die *die, uint32_t around) {
    if (dwarf_tag(die) == DW_TAG_subprogram) around = HD_NONE;
    unit->scopes = symbols_room(unit->scopes, unit->count, &unit->capacity, sizeof *unit->scopes);
    unit->scopes[unit->count] = (symbols_scope){ *die, around };
    symbols_add_ranges(&unit->ranges, die, (uint32_t)unit->count);
    return (uint32_t)unit->count++;
}

static bool symbols_holds_code(int tag) {
    switch (tag) {
    case DW_TAG_variable: case DW_TAG_formal_parameter: case DW_TAG_enumeration_type:
    case DW_TAG_subroutine_type: case DW_TAG_array_type: case DW_TAG_call_site: case DW_TAG_GNU_call_site:
        return false;
    default: return true;
    }
}

/* All functions of a unit that have code. */
static void symbols_read_unit(symbols_unit *unit) {
    size_t depth = 0, capacity = 0;
    symbols_scope *path = symbols_room(NULL, 0, &capacity, sizeof *path); /* the DIEs from the unit down */
    symbols_scope next = { .around = HD_NONE };
    unit->read = true;
    if (dwarf_child(&unit->tree, &next.die) == 0) path[depth++] = next;
    while (depth) {
        Dwarf_Die *die = &path[depth - 1].die;
        int tag = dwarf_tag(die);
        next.around = path[depth - 1].around;
        if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
            next.around = symbols_add_scope(unit, die, next.around);
        if (symbols_holds_code(tag) && dwarf_child(die, &next.die) == 0) {
            path = symbols_room(path, depth, &capacity, sizeof *path);
            path[depth++] = next;
            continue;
        }
        while (depth && dwarf_siblingof(&path[depth - 1].die, &path[depth - 1].die)) depth--;
    }
    free(path);
    symbols_flatten(&unit->ranges);
}

static void symbols_read_build_id(symbols_object *o) {
    const unsigned char *bits;
    GElf_Addr address;
    int n = dwfl_module_build_id(o->module, &bits, &address);
    if (n <= 0 || (size_t)n > sizeof o->build_id) return;
    memcpy(o->build_id, bits, (size_t)n);
    o->build_id_size = (uint32_t)n;
}

static symbols_object *symbols_object_of(symbols *s, hd_str path) {
    static char *debuginfo_path;
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .section_address = dwfl_offline_section_address,
        .debuginfo_path = &debuginfo_path
    };
    SYMBOLS_WORK;
    symbols_object *o;
    GElf_Addr bias = 0;
    for (size_t i = s->count; i--;)
        if (hd_str_equal(hd_cstr(s->objects[i].path), path)) return &s->objects[i];
    s->objects = needed(realloc(s->objects, (s->count + 1) * sizeof *s->objects));
    o = &s->objects[s->count];
    memset(o, 0, sizeof *o);
    o->path = needed(strndup(path.data, path.len));
    s->count++;
    o->dwfl = *o->path == '/' ? dwfl_begin(&callbacks) : NULL;
    if (!o->dwfl) return o;
    dwfl_report_begin(o->dwfl);
    o->module = dwfl_report_offline(o->dwfl, o->path, o->path, -1);
    dwfl_report_end(o->dwfl, NULL, NULL);
    if (o->module && !dwfl_module_getelf(o->module, &bias)) o->module = NULL;
    o->bias = bias;
    if (o->module) {
        symbols_read_units(o);
        symbols_read_build_id(o);
    }
    return o;
}

static const char *symbols_basename(const char *path) {
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

/* The name of a function DIE, as linked where it says so. */
static const char *symbols_die_name(Dwarf_Die *die) {
    Dwarf_Attribute attribute;
    const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
    if (!name) name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute));
    return name ? name : dwarf_diename(die);
}

/* "function (file.c:12)", demangled */
static char *symbols_text(const char *name, const char *file, int line) {
    SYMBOLS_WORK;
    int status = -1;
    char *demangled = name[0] == '_' && name[1] == 'Z' ? __cxa_demangle(name, NULL, NULL, &status) : NULL;
    const char *shown = demangled && !status ? demangled : name;
    char *text = NULL;
    if (!file || line <= 0) text = strdup(shown);
    else if (asprintf(&text, "%s (%s:%d)", shown, symbols_basename(file), line) < 0) text = NULL;
    free(demangled);
    return needed(text);
}

static unsigned symbols_number(Dwarf_Die *die, unsigned name) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    dwarf_formudata(dwarf_attr_integrate(die, name, &attribute), &value);
    return (unsigned)value;
}

/* What the line table says of an address. */
static symbols_frame symbols_line(symbols_unit *unit, Dwarf_Addr address) {
    Dwarf_Line *line = dwarf_getsrc_die(&unit->die, address);
    symbols_frame frame = { 0 };
    if (!line) return frame;
    frame.file = dwarf_linesrc(line, NULL, NULL);
    dwarf_lineno(line, &frame.line);
    dwarf_linecol(line, &frame.column);
    dwarf_linediscriminator(line, &frame.discriminator);
    return frame;
}

/* The functions at an address, the one that it is in first, then those that this is inlined into; 0 without
   DWARF. */
static uint32_t symbols_frames(symbols_object *o, Dwarf_Addr address, symbols_frame *frames,
                               uint32_t capacity) {
    uint32_t number, count = 0;
    symbols_frame at;
    symbols_unit *unit;
    Dwarf_Files *files = NULL;
    address -= o->dwarf_bias;
    number = symbols_at(&o->ranges, address);
    if (number == HD_NONE) return 0;
    unit = &o->units[number];
    if (!unit->read) symbols_read_unit(unit);
    at = symbols_line(unit, address);
    dwarf_getsrcfiles(&unit->die, &files, NULL);
    number = symbols_at(&unit->ranges, address);
    for (; number != HD_NONE && count < capacity; number = unit->scopes[number].around) {
        Dwarf_Die *die = &unit->scopes[number].die;
        const char *name = symbols_die_name(die);
        if (name) {
            frames[count] = at;
            frames[count].name = name;
            frames[count++].start_line = symbols_number(die, DW_AT_decl_line);
        }
        at.file = files ? dwarf_filesrc(files, symbols_number(die, DW_AT_call_file), NULL, NULL) : NULL;
        at.line = (int)symbols_number(die, DW_AT_call_line);
        at.column = (int)symbols_number(die, DW_AT_call_column);
        at.discriminator = symbols_number(die, SYMBOLS_DISCRIMINATOR);
    }
    return count;
}

static bool symbols_split(hd_str name, hd_str *path, uint64_t *offset) {
    size_t i = name.len;
    hd_str digits;
    while (i && name.data[i - 1] != '+') i--;
    if (i < 2) return false;
    path->data = name.data;
    path->len = i - 1;
    digits.data = name.data + i;
    digits.len = name.len - i;
    if (digits.len < 3 || memcmp(digits.data, "0x", 2)) return false;
    *offset = 0;
    for (size_t k = 2; k < digits.len; k++) {
        char c = digits.data[k];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                                                : 16;
        if (digit > 15 || *offset >> 60) return false;
        *offset = *offset * 16 + digit;
    }
    return true;
}

/* An hd_rename_fn: OBJECT+0xOFFSET becomes the functions there, other names stay. */
static uint32_t symbols_rename(void *user, hd_str name, hd_str *path) {
    SYMBOLS_WORK;
    symbols *s = user;
    symbols_object *o;
    symbols_frame frames[HD_RENAME_MAX];
    hd_str object;
    uint64_t offset;
    while (s->name_count) free(s->names[--s->name_count]);
    path[0] = name;
    if (!symbols_split(name, &object, &offset)) return 1;
    o = symbols_object_of(s, object);
    if (o->module) {
        uint32_t n = symbols_frames(o, offset + o->bias, frames, HD_RENAME_MAX);
        if (!n) n = symbols_function_at(o, offset + o->bias, frames);
        while (n--) s->names[s->name_count++] = symbols_text(frames[n].name, frames[n].file, frames[n].line);
    }
    if (!s->name_count) {
        const char *slash = memrchr(name.data, '/', name.len);
        s->unresolved++;
        if (slash) {
            path[0].data = slash + 1;
            path[0].len = name.len - (size_t)(slash + 1 - name.data);
        }
        return 1;
    }
    s->resolved++;
    for (uint32_t i = 0; i < s->name_count; i++) path[i] = hd_cstr(s->names[i]);
    return s->name_count;
}

/* For MemProf profiles. ------------------------------------------------------------------------ */

static int symbols_place_order(const void *a, const void *b) {
    const symbols_place *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* What is at an offset. As LLVM has it, what debug information leaves out is not resolved. */
static symbols_place *symbols_place_at(symbols_object *o, Dwarf_Addr offset, bool by_table) {
    symbols_place key = { .offset = offset }, *place;
    symbols_frame frames[HD_MEMPROF_INLINE_MAX];
    void *found = tfind(&key, &o->places, symbols_place_order);
    if (found) return *(symbols_place **)found;
    place = needed(calloc(1, sizeof *place));
    place->offset = offset;
    place->count = symbols_frames(o, offset + o->bias, frames, HD_MEMPROF_INLINE_MAX);
    if (!place->count && (by_table || !o->unit_count))
        place->count = symbols_function_at(o, offset + o->bias, frames);
    place->frames = needed(calloc((size_t)place->count + 1, sizeof *frames));
    memcpy(place->frames, frames, place->count * sizeof *frames);
    needed(tsearch(place, &o->places, symbols_place_order));
    return place;
}

static void symbols_place_free(void *p) {
    symbols_place *place = p;
    for (uint32_t i = 0; place->shown && i < place->count; i++) free(place->shown[i]);
    free(place->shown);
    free(place->frames);
    free(place);
}

/* The k-th piece of an object that is mapped as code. */
static bool symbols_code(const symbols_object *o, size_t *k, GElf_Phdr *header) {
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(o->module, &bias);
    size_t n = 0;
    if (!elf || elf_getphdrnum(elf, &n)) return false;
    for (; *k < n; ++*k)
        if (gelf_getphdr(elf, (int)*k, header) && header->p_type == PT_LOAD && header->p_flags & PF_X) {
            ++*k;
            return true;
        }
    return false;
}

/* By build id; a segment without one by its place and size. */
static bool symbols_is_of(const symbols_object *o, const hd_memprof_address *a) {
    const hd_memprof_segment *s = a->segment;
    GElf_Phdr h;
    if (s->build_id_size)
        return s->build_id_size == o->build_id_size && !memcmp(s->build_id, o->build_id, o->build_id_size);
    for (size_t k = 0; symbols_code(o, &k, &h);) {
        GElf_Addr from = h.p_vaddr, size = h.p_memsz, page = 4095;
        if (a->file_offset) {
            from = h.p_offset & ~page;
            size = ((h.p_vaddr + size + page) & ~page) - (h.p_vaddr & ~page);
        }
        if (s->end - s->start == size && (a->file_offset ? s->offset : s->start - s->offset) == from)
            return true;
    }
    return false;
}

/* An address in a file as the file counts addresses. */
static Dwarf_Addr symbols_address(const symbols_object *o, const hd_memprof_address *a) {
    GElf_Phdr h;
    if (!a->file_offset) return a->offset;
    for (size_t k = 0; symbols_code(o, &k, &h);)
        if (a->offset - h.p_offset < h.p_filesz) return a->offset - h.p_offset + h.p_vaddr;
    return a->offset;
}

static symbols_place *symbols_of(symbols *s, const hd_memprof_address *a) {
    for (size_t i = 0; a->segment && i < s->count; i++) {
        symbols_object *o = &s->objects[i];
        if (!symbols_is_of(o, a)) continue;
        o->used = true;
        return symbols_place_at(o, symbols_address(o, a), s->by_table);
    }
    return NULL;
}

/* An hd_memprof_symbolize_fn: functions as they are linked. */
static uint32_t symbols_linked(void *user, const hd_memprof_address *a, hd_memprof_frame *frames,
                               uint32_t capacity) {
    SYMBOLS_WORK;
    const symbols_place *place = symbols_of(user, a);
    uint32_t n = place ? place->count : 0;
    for (uint32_t i = 0; i < n && i < capacity; i++) {
        const symbols_frame *f = &place->frames[i];
        frames[i].function = hd_cstr(f->name);
        if (f->file) frames[i].file = hd_cstr(f->file);
        frames[i].line = (uint32_t)f->line;
        frames[i].column = (uint32_t)f->column;
        frames[i].discriminator = f->discriminator;
        frames[i].start_line = f->start_line;
    }
    return n;
}

/* The same as people read them: "function (file.c:12)". */
static uint32_t symbols_shown(void *user, const hd_memprof_address *a, hd_memprof_frame *frames,
                              uint32_t capacity) {
    SYMBOLS_WORK;
    uint32_t n = symbols_linked(user, a, frames, capacity);
    symbols_place *place = n ? symbols_of(user, a) : NULL;
    if (n && !place->shown) place->shown = needed(calloc(n, sizeof *place->shown));
    for (uint32_t i = 0; i < n && i < capacity; i++) {
        const symbols_frame *f = &place->frames[i];
        if (!place->shown[i]) place->shown[i] = symbols_text(f->name, f->file, f->line);
        frames[i].function = hd_cstr(place->shown[i]);
    }
    return n;
}

/* The binary that an address is in; NULL: it is not given. */
static const symbols_object *symbols_binary(const symbols *s, const hd_memprof_address *a) {
    SYMBOLS_WORK;
    for (size_t i = 0; a->segment && i < s->count; i++)
        if (symbols_is_of(&s->objects[i], a)) return &s->objects[i];
    return NULL;
}

/* What hd_memprof_view.segment asks for: the name of a binary that is given, or its path when another has that
   name. */
static hd_str symbols_file(void *user, const hd_memprof_raw *raw, uint32_t segment) {
    const symbols *s = user;
    hd_memprof_address a = { .segment = &raw->segments[segment], .file_offset = raw->version < 3 };
    const symbols_object *o = symbols_binary(s, &a);
    const char *name = o ? symbols_basename(o->path) : "";
    for (size_t i = 0; o && i < s->count; i++)
        if (&s->objects[i] != o && !strcmp(symbols_basename(s->objects[i].path), name)) name = o->path;
    return hd_cstr(name);
}

typedef void (*symbols_name_fn)(void *user, const char *name);

typedef struct symbols_taking {
    symbols_name_fn take;
    void *user;
} symbols_taking;

/* Functions that are nowhere but inlined have such a DIE as well. */
static int symbols_take_function(Dwarf_Die *die, void *user) {
    symbols_taking *to = user;
    Dwarf_Attribute attribute;
    const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
    if (!name) name = dwarf_diename(die);
    if (name) to->take(to->user, name);
    return DWARF_CB_OK;
}

/* All functions, as linked, those of debug information first; a name may come again. */
static void symbols_each_name(symbols *s, symbols_name_fn take, void *user) {
    SYMBOLS_WORK;
    symbols_taking to = { take, user };
    for (size_t i = 0; i < s->count; i++) {
        Dwfl_Module *module = s->objects[i].module;
        Dwarf_Addr bias;
        Dwarf *dwarf = module ? dwfl_module_getdwarf(module, &bias) : NULL;
        Dwarf_CU *cu = NULL;
        Dwarf_Die die, split;
        int n = module ? dwfl_module_getsymtab(module) : 0;
        while (dwarf && dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &die, &split) == 0)
            dwarf_getfuncs(dwarf_tag(&die) == DW_TAG_skeleton_unit ? &split : &die, symbols_take_function,
                           &to, 0);
        for (int k = 1; k < n; k++) {
            GElf_Sym symbol;
            const char *name = dwfl_module_getsym(module, k, &symbol, NULL);
            if (name && *name && GELF_ST_TYPE(symbol.st_info) == STT_FUNC) take(user, name);
        }
        s->objects[i].used = true;
    }
}

static void symbols_free(symbols *s) {
    while (s->name_count) free(s->names[--s->name_count]);
    for (size_t i = 0; i < s->count; i++) {
        symbols_object *o = &s->objects[i];
        tdestroy(o->places, symbols_place_free);
        if (o->dwfl) dwfl_end(o->dwfl);
        for (size_t u = 0; u < o->unit_count; u++) {
            free(o->units[u].scopes);
            free(o->units[u].ranges.range);
        }
        free(o->units);
        free(o->ranges.range);
        free(o->functions);
        free(o->path);
    }
    free(s->objects);
    memset(s, 0, sizeof *s);
}

#endif
