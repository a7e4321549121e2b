/* Functions of objects, from debug information and symbol tables. */

#include "dwarf.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>

enum { SYMBOLS_DISCRIMINATOR = 0x2136 }; /* DW_AT_GNU_discriminator, which dwarf.h lacks */

static int symbols_order(const void *a, const void *b) {
    const symbols_function *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return x->rank != y->rank ? (int)x->rank - (int)y->rank : x->index - y->index;
}

static void symbols_read_functions(symbols_elf *o) {
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

/* The function at an address; 0 if no symbol covers it. */
uint32_t symbols_function_at(symbols_elf *o, Dwarf_Addr address, symbols_frame *frame) {
    size_t low;
    if (!o->has_functions) symbols_read_functions(o);
    low = KEYS_UP_TO(o->functions, o->function_count, start, address);
    if (!low || (o->functions[low - 1].end && address >= o->functions[low - 1].end)) return 0;
    *frame = (symbols_frame){ .name = o->functions[low - 1].name };
    return 1;
}

static void symbols_add_range(symbols_ranges *r, Dwarf_Addr start, Dwarf_Addr end, uint32_t number) {
    r->range = symbols_room(r->range, r->count, &r->capacity, sizeof *r->range);
    r->range[r->count++] = (symbols_range){ start, end, number };
}

/* The number of ranges that debug information has room for, several times over. Without this limit, DIEs that share
   one list would give DIEs times ranges. */
static uint64_t symbols_ranges_most(Dwarf *dwarf) {
    enum { LEAST = 1 << 16, SHARED = 8 };
    Elf *elf = dwarf_getelf(dwarf);
    Elf_Scn *section = NULL;
    uint64_t bytes = 0;
    size_t names;
    if (!elf || elf_getshdrstrndx(elf, &names)) return LEAST;
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr h;
        const char *name = gelf_getshdr(section, &h) ? elf_strptr(elf, names, h.sh_name) : NULL;
        if (name && (strstr(name, "debug_ranges") || strstr(name, "debug_rnglists")) && bytes < h.sh_size)
            bytes = h.sh_size;
    }
    return LEAST + (bytes < UINT64_MAX / SHARED / 2 ? bytes / 2 * SHARED : 0);
}

/* False: debug information claims more ranges than it has bytes for. */
static bool symbols_may_add(symbols_elf *o, Dwarf_Die *die) {
    Dwarf *dwarf = die->cu ? dwarf_cu_getdwarf(die->cu) : NULL;
    if (dwarf && dwarf != o->counted) {
        Dwarf_Addr bias;
        Dwarf *main = dwfl_module_getdwarf(o->module, &bias);
        o->counted = dwarf;
        o->left = symbols_ranges_most(dwarf) + (main && main != dwarf ? symbols_ranges_most(main) : 0);
    }
    if (o->left) return o->left--;
    if (!o->told)
        display(stderr, "heapdump: %s: functions share too many address ranges: some inlined frames are left out\n",
                o->path);
    o->told = true;
    return false;
}

static void symbols_add_ranges(symbols_elf *o, symbols_ranges *r, Dwarf_Die *die, uint32_t number) {
    Dwarf_Addr base, start, end;
    ptrdiff_t next = 0;
    bool many = dwarf_hasattr(die, DW_AT_ranges) != 0;
    while ((next = dwarf_ranges(die, next, &base, &start, &end)) > 0) {
        if (many && !symbols_may_add(o, die)) return;
        if (start < end) symbols_add_range(r, start, end, number);
    }
}

/* Outer ranges first; an inner scope has a higher number than the scopes around it. */
static int symbols_range_order(const void *a, const void *b) {
    const symbols_range *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if (x->end != y->end) return x->end > y->end ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Turns nested ranges into ranges that each reach to the next one, with the innermost number. */
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

/* The number at an address, or HD_NONE. */
static uint32_t symbols_at(const symbols_ranges *r, Dwarf_Addr address) {
    size_t low = KEYS_UP_TO(r->range, r->count, start, address);
    return low ? r->range[low - 1].number : HD_NONE;
}

/* The path of a unit's .dwo file, relative paths taken from directory `from`. */
static char *symbols_split_file(Dwarf_Die *die, hd_str from) {
    Dwarf_Attribute attribute;
    const char *name = dwarf_formstring(dwarf_attr(die, DW_AT_dwo_name, &attribute));
    char *file;
    if (!name) name = dwarf_formstring(dwarf_attr(die, DW_AT_GNU_dwo_name, &attribute));
    if (!name) return NULL;
    if (*name == '/') from.len = 0;
    if (asprintf(&file, "%.*s%s%s", (int)from.len, from.data, from.len ? "/" : "", name) < 0) needed(NULL);
    return file;
}

static hd_str symbols_directory(Dwarf_Die *die) {
    Dwarf_Attribute attribute;
    const char *directory = dwarf_formstring(dwarf_attr(die, DW_AT_comp_dir, &attribute));
    return hd_cstr(directory ? directory : "");
}

/* Warns, once per object, that a unit's .dwo file is missing or belongs to another program. */
static void symbols_miss(symbols_elf *o, Dwarf_Die *die) {
    FREED char *file = symbols_split_file(die, symbols_directory(die));
    const char *packed = symbols_dwp_path(o->dwp);
    if (!o->missed++ && file)
        display(stderr, "heapdump: %s: debug information is in %s, which %s%s%s%s\n", o->path, file,
                access(file, R_OK) ? "is not there" : "belongs to another program, or libdw cannot read it",
                packed ? "; " : "", packed ? packed : "", packed ? " lacks it, too" : "");
}

/* Gets the tree of a unit that libdw does not treat as a skeleton: DWARF 4 with inlined functions in the skeleton. */
static uint32_t symbols_inlining(symbols_elf *o, Dwarf_CU *cu, Dwarf_Die *die) {
    const char *slash = strrchr(o->path, '/');
    hd_str beside = { o->path, slash ? (size_t)(slash - o->path) : 0 };
    FREED char *file = symbols_split_file(die, slash ? beside : hd_cstr("."));
    if (file && access(file, R_OK)) {
        file = symbols_split_file(die, symbols_directory(die));
    }
    return symbols_dwp_add(o->dwp, cu, file && !access(file, R_OK) ? file : NULL);
}

static void symbols_add_unit(symbols_elf *o, Dwarf_CU *cu, uint8_t type, Dwarf_Die die, Dwarf_Die tree) {
    symbols_unit unit = { .die = die, .tree = die, .split = HD_NONE };
    bool inlining = type != DW_UT_skeleton && dwarf_hasattr(&die, DW_AT_GNU_dwo_name);
    bool is_split = inlining || type == DW_UT_skeleton; /* DWARF 4 skeletons too: they have DW_TAG_compile_unit */
    if (tree.addr) unit.tree = tree;
    else if (is_split) {
        if (!o->dwp) o->dwp = symbols_dwp_open(o, dwfl_module_getdwarf(o->module, &o->dwarf_bias));
        unit.split = inlining ? symbols_inlining(o, cu, &die) : symbols_dwp_add(o->dwp, cu, NULL);
        if (unit.split == HD_NONE) {
            symbols_miss(o, &die);
            if (inlining) unit.split = symbols_dwp_add(o->dwp, cu, "");
        }
    }
    symbols_add_ranges(o, &o->ranges, &die, (uint32_t)o->unit_count);
    o->units = symbols_room(o->units, o->unit_count, &o->unit_capacity, sizeof *o->units);
    o->units[o->unit_count++] = unit;
}

/* Warns if the file that dwz moved shared debug information to is missing. */
static void symbols_miss_alternate(const symbols_elf *o, Dwarf *dwarf) {
    const char *name;
    const void *id;
    if (dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id) > 0 && !dwarf_getalt(dwarf))
        display(stderr, "heapdump: %s: debug information is in %s, which is not there\n", o->path, name);
}

static void symbols_read_units(symbols_elf *o) {
    Dwarf *dwarf = dwfl_module_getdwarf(o->module, &o->dwarf_bias);
    Dwarf_CU *cu = NULL;
    Dwarf_Die die, tree;
    uint8_t type;
    if (o->has_units) return;
    if (dwarf) symbols_miss_alternate(o, dwarf);
    while (dwarf && dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, &tree) == 0) {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit || tag == DW_TAG_partial_unit)
            symbols_add_unit(o, cu, type, die, tree);
    }
    symbols_flatten(&o->ranges);
    o->has_units = true;
}

/* The tree with a unit's functions; the skeleton's own tree if the split one cannot be read. */
static Dwarf_Die *symbols_tree(symbols_elf *o, symbols_unit *unit) {
    uint32_t number = unit->split;
    unit->split = HD_NONE;
    if (number != HD_NONE) symbols_dwp_read(o->dwp, number, unit);
    return &unit->tree;
}

static uint32_t symbols_add_scope(symbols_elf *o, symbols_unit *unit, Dwarf_Die *die, uint32_t around,
                                  uint32_t named) {
    if (dwarf_tag(die) == DW_TAG_subprogram) around = HD_NONE;
    unit->scopes = symbols_room(unit->scopes, unit->count, &unit->capacity, sizeof *unit->scopes);
    unit->scopes[unit->count] = (symbols_scope){ *die, around, named };
    symbols_add_ranges(o, &unit->ranges, die, (uint32_t)unit->count);
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
static void symbols_read_unit(symbols_elf *o, symbols_unit *unit) {
    size_t depth = 0, capacity = 0;
    /* The DIEs on the way from the unit. */
    FREED symbols_scope *path = symbols_room(NULL, 0, &capacity, sizeof *path);
    symbols_scope next = { .around = HD_NONE, .named = HD_NONE };
    unit->read = true;
    symbols_begin_names(symbols_tree(o, unit), unit);
    if (dwarf_child(symbols_tree(o, unit), &next.die) == 0) path[depth++] = next;
    while (depth) {
        Dwarf_Die *die = &path[depth - 1].die;
        int tag = dwarf_tag(die);
        next.around = path[depth - 1].around;
        next.named = symbols_add_named(unit, die, path[depth - 1].named);
        if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
            next.around = symbols_add_scope(o, unit, die, next.around, next.named);
        if (symbols_holds_code(tag) && dwarf_child(die, &next.die) == 0) {
            path = symbols_room(path, depth, &capacity, sizeof *path);
            path[depth++] = next;
            continue;
        }
        while (depth && dwarf_siblingof(&path[depth - 1].die, &path[depth - 1].die)) depth--;
    }
    symbols_flatten(&unit->ranges);
}

void symbols_take(symbols_elf *o, const char *path, const char *file, int fd) {
    static char *debuginfo_path;
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = symbols_find_debuginfo,
        .section_address = dwfl_offline_section_address,
        .debuginfo_path = &debuginfo_path
    };
    GElf_Addr bias = 0;
    *o = (symbols_elf){ .path = path, .dwfl = fd >= 0 ? dwfl_begin(&callbacks) : NULL };
    if (o->dwfl) {
        dwfl_report_begin(o->dwfl);
        fd = symbols_unpacked(fd);
        o->module = dwfl_report_offline(o->dwfl, path, file, fd);
    }
    if (fd >= 0 && !o->module) close(fd);
    if (!o->dwfl) return;
    dwfl_report_end(o->dwfl, NULL, NULL);
    if (o->module && !dwfl_module_getelf(o->module, &bias)) o->module = NULL;
    o->bias = bias;
}

void symbols_close(symbols_elf *o) {
    symbols_dwp_close(o->dwp);
    if (o->dwfl) dwfl_end(o->dwfl);
    for (size_t u = 0; u < o->unit_count; u++) {
        symbols_free_names(&o->units[u]);
        free(o->units[u].scopes);
        free(o->units[u].ranges.range);
    }
    free(o->units);
    free(o->ranges.range);
    free(o->functions);
    *o = (symbols_elf){ 0 };
}

static unsigned symbols_number(Dwarf_Die *die, unsigned name) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    dwarf_formudata(dwarf_attr_integrate(die, name, &attribute), &value);
    return (unsigned)value;
}

/* The file and line of an address, from the line table. */
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

/* The functions at an address, innermost first: inlined functions, then the function that contains them. 0 if there
   is no DWARF. */
uint32_t symbols_frames(symbols_elf *o, Dwarf_Addr address, bool qualified, symbols_frame *frames,
                        uint32_t capacity) {
    uint32_t number, count = 0;
    symbols_frame at;
    symbols_unit *unit;
    Dwarf_Files *files = NULL;
    symbols_read_units(o);
    address -= o->dwarf_bias;
    number = symbols_at(&o->ranges, address);
    if (number == HD_NONE) return 0;
    unit = &o->units[number];
    if (!unit->read) symbols_read_unit(o, unit);
    at = symbols_line(unit, address);
    dwarf_getsrcfiles(&unit->die, &files, NULL);
    number = symbols_at(&unit->ranges, address);
    for (; number != HD_NONE && count < capacity; number = unit->scopes[number].around) {
        Dwarf_Die *die = &unit->scopes[number].die;
        const char *name = symbols_scope_name(o, unit, &unit->scopes[number], qualified);
        if (name) {
            frames[count] = at;
            frames[count].name = name;
            frames[count++].start_line = symbols_number(die, DW_AT_decl_line);
        }
        if (unit->scopes[number].around == HD_NONE) break;
        at.file = files ? dwarf_filesrc(files, symbols_number(die, DW_AT_call_file), NULL, NULL) : NULL;
        at.line = (int)symbols_number(die, DW_AT_call_line);
        at.column = (int)symbols_number(die, DW_AT_call_column);
        at.discriminator = symbols_number(die, SYMBOLS_DISCRIMINATOR);
    }
    return count;
}

typedef struct symbols_taking {
    void (*take)(void *user, const char *name);
    void *user;
} symbols_taking;

/* Functions that exist only inlined have a DW_TAG_subprogram DIE as well. */
static int symbols_take_function(Dwarf_Die *die, void *user) {
    symbols_taking *to = user;
    Dwarf_Attribute attribute;
    const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
    if (!name) name = dwarf_diename(die);
    if (name) to->take(to->user, name);
    return DWARF_CB_OK;
}

void symbols_all_names(symbols_elf *o, bool with_dwarf, void (*take)(void *user, const char *name), void *user) {
    symbols_taking to = { take, user };
    int n;
    if (with_dwarf) symbols_read_units(o);
    for (size_t u = 0; u < o->unit_count; u++)
        dwarf_getfuncs(symbols_tree(o, &o->units[u]), symbols_take_function, &to, 0);
    n = dwfl_module_getsymtab(o->module);
    for (int i = 1; i < n; i++) {
        GElf_Sym symbol;
        const char *name = dwfl_module_getsym(o->module, i, &symbol, NULL);
        if (name && *name && GELF_ST_TYPE(symbol.st_info) == STT_FUNC) take(user, name);
    }
}
