/* Functions of objects, by their debug information and their symbol tables. */

#include "symbols.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

enum { SYMBOLS_DISCRIMINATOR = 0x2136 }; /* DW_AT_GNU_discriminator, which dwarf.h lacks */

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
uint32_t symbols_function_at(symbols_object *o, Dwarf_Addr address, symbols_frame *frame) {
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
void *symbols_room(void *items, size_t count, size_t *capacity, size_t size) {
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

/* Makes ranges that may be inside of others into ranges that each reach to the next, the innermost counting. */
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

/* Where the .dwo file of a unit is; what begins with `from`. */
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

/* Tells, once, of a unit whose debug information is in a .dwo file that is not there, or not of this program. */
static void symbols_miss(symbols_object *o, Dwarf_Die *die) {
    char *file = symbols_split_file(die, symbols_directory(die));
    const char *packed = symbols_dwp_path(o->dwp);
    if (!o->missed++ && file)
        display(stderr, "heapdump: %s: debug information is in %s, which %s%s%s%s\n", o->path, file,
                access(file, R_OK) ? "is not there" : "is of another program, or not for libdw to read",
                packed ? "; " : "", packed ? packed : "", packed ? " has nothing of it" : "");
    free(file);
}

/* The tree of a unit whose skeleton libdw takes for none: one of DWARF 4 that has inlined functions itself. */
static uint32_t symbols_inlining(symbols_object *o, Dwarf_CU *cu, Dwarf_Die *die) {
    const char *slash = strrchr(o->path, '/');
    hd_str beside = { o->path, slash ? (size_t)(slash - o->path) : 0 };
    char *file = symbols_split_file(die, slash ? beside : hd_cstr("."));
    uint32_t number;
    if (file && access(file, R_OK)) {
        free(file);
        file = symbols_split_file(die, symbols_directory(die));
    }
    number = symbols_dwp_add(o->dwp, cu, file && !access(file, R_OK) ? file : NULL);
    free(file);
    return number;
}

static void symbols_add_unit(symbols_object *o, Dwarf_CU *cu, uint8_t type, Dwarf_Die die, Dwarf_Die tree) {
    symbols_unit unit = { .die = die, .tree = die, .split = HD_NONE };
    bool inlining = type != DW_UT_skeleton && dwarf_hasattr(&die, DW_AT_GNU_dwo_name);
    bool is_split = inlining || type == DW_UT_skeleton; /* of DWARF 4 as well: DW_TAG_compile_unit there */
    if (tree.addr) unit.tree = tree;
    else if (is_split) {
        if (!o->dwp) o->dwp = symbols_dwp_open(o, dwfl_module_getdwarf(o->module, &o->dwarf_bias));
        unit.split = inlining ? symbols_inlining(o, cu, &die) : symbols_dwp_add(o->dwp, cu, NULL);
        if (unit.split == HD_NONE) {
            symbols_miss(o, &die);
            if (inlining) unit.split = symbols_dwp_add(o->dwp, cu, "");
        }
    }
    symbols_add_ranges(&o->ranges, &die, (uint32_t)o->unit_count);
    o->units = symbols_room(o->units, o->unit_count, &o->unit_capacity, sizeof *o->units);
    o->units[o->unit_count++] = unit;
}

/* Tells of what dwz has put into another file, where that is not there. */
static void symbols_miss_alternate(const symbols_object *o, Dwarf *dwarf) {
    const char *name;
    const void *id;
    if (dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id) > 0 && !dwarf_getalt(dwarf))
        display(stderr, "heapdump: %s: debug information is in %s, which is not there\n", o->path, name);
}

void symbols_read_units(symbols_object *o) {
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

/* What a unit says of its functions; where that is not to be had, what its skeleton says. */
Dwarf_Die *symbols_tree(symbols_object *o, symbols_unit *unit) {
    uint32_t number = unit->split;
    unit->split = HD_NONE;
    if (number != HD_NONE) symbols_dwp_read(o->dwp, number, unit);
    return &unit->tree;
}

static uint32_t symbols_add_scope(symbols_unit *unit, Dwarf_Die *die, uint32_t around, uint32_t named) {
    if (dwarf_tag(die) == DW_TAG_subprogram) around = HD_NONE;
    unit->scopes = symbols_room(unit->scopes, unit->count, &unit->capacity, sizeof *unit->scopes);
    unit->scopes[unit->count] = (symbols_scope){ *die, around, named };
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
static void symbols_read_unit(symbols_object *o, symbols_unit *unit) {
    size_t depth = 0, capacity = 0;
    symbols_scope *path = symbols_room(NULL, 0, &capacity, sizeof *path); /* the DIEs from the unit down */
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
            next.around = symbols_add_scope(unit, die, next.around, next.named);
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

static int symbols_find_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
                                  const char *file, const char *link, GElf_Word crc, char **found) {
    return symbols_unpacked(dwfl_standard_find_debuginfo(module, user, name, base, file, link, crc, found));
}

/* Opens what an object is in, a descriptor that becomes its own, or is closed; `file` is beside its debug files. */
static void symbols_take(symbols_object *o, const char *file, int fd) {
    static char *debuginfo_path;
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = symbols_find_debuginfo,
        .section_address = dwfl_offline_section_address,
        .debuginfo_path = &debuginfo_path
    };
    SYMBOLS_WORK;
    GElf_Addr bias = 0;
    struct sigaction before;
    file_limit_fails(&before);
    o->dwfl = fd >= 0 ? dwfl_begin(&callbacks) : NULL;
    if (o->dwfl) {
        dwfl_report_begin(o->dwfl);
        fd = symbols_unpacked(fd);
        o->module = dwfl_report_offline(o->dwfl, o->path, file, fd);
    }
    if (fd >= 0 && !o->module) close(fd);
    sigaction(SIGXFSZ, &before, NULL);
    if (!o->dwfl) return;
    dwfl_report_end(o->dwfl, NULL, NULL);
    if (o->module && !dwfl_module_getelf(o->module, &bias)) o->module = NULL;
    o->bias = bias;
    if (o->module) symbols_read_build_id(o);
}

/* The same of a file, which is where the object's path leads, or led. */
static void symbols_open(symbols_object *o, const char *file) {
    symbols_take(o, file, *file == '/' ? symbols_file_open(file) : -1);
}

static int symbols_path_order(const void *a, const void *b) {
    return hd_str_compare(((const symbols_path *)a)->path, ((const symbols_path *)b)->path);
}

static symbols_object *symbols_find(const symbols *s, hd_str path) {
    const symbols_path key = { path, 0 };
    symbols_path **found = tfind(&key, &s->by_path, symbols_path_order);
    return found ? &s->objects[(*found)->object] : NULL;
}

/* Makes an object the one that is found by its path, which may have a zero byte. */
static void symbols_name(symbols *s, hd_str path, size_t object) {
    symbols_path *p = needed(malloc(sizeof *p)), *found;
    *p = (symbols_path){ path, object };
    found = *(symbols_path **)needed(tsearch(p, &s->by_path, symbols_path_order));
    if (found != p) free(p);
    found->object = object;
}

static symbols_object *symbols_add(symbols *s, hd_str path) {
    symbols_object *o;
    s->objects = needed(realloc(s->objects, (s->count + 1) * sizeof *s->objects));
    o = &s->objects[s->count++];
    memset(o, 0, sizeof *o);
    o->path = needed(calloc(1, path.len + 1));
    memcpy(o->path, path.data, path.len);
    path.data = o->path;
    symbols_name(s, path, s->count - 1);
    return o;
}

symbols_object *symbols_object_of(symbols *s, hd_str path) {
    symbols_object *o = symbols_find(s, path);
    if (o) return o;
    o = symbols_add(s, path);
    symbols_open(o, o->path);
    return o;
}

/* Whether an object is what was loaded; what has no build id is taken for it. */
static bool symbols_is(const symbols_object *o, const hd_module *m) {
    return !m->build_id_size ||
           (o->build_id_size == m->build_id_size && !memcmp(o->build_id, m->build_id, m->build_id_size));
}

/* Of several objects that had one path, one after the other, the one that was loaded is to be found. False: it is not
   known. */
static bool symbols_choose(symbols *s, const hd_module *m) {
    symbols_object *found = symbols_find(s, m->path);
    if (!found || symbols_is(found, m)) return found != NULL;
    for (symbols_object *o = s->objects; o < found; o++) {
        if (!hd_str_equal(hd_cstr(o->path), m->path) || !symbols_is(o, m)) continue;
        symbols_name(s, m->path, (size_t)(o - s->objects));
        return true;
    }
    s->twins = true;
    return false;
}

/* Opens what a process has loaded, while it is there: where the process sees other files than we do, by its own root.
   What is not that, by its build id, names nothing. */
void symbols_loaded(symbols *s, const hd_module *m, uint64_t pid) {
    symbols_object *o;
    char root[40], *file;
    if (!m->path.len || *m->path.data != '/' || symbols_choose(s, m)) return;
    snprintf(root, sizeof root, "/proc/%llu/root", (unsigned long long)pid);
    o = symbols_add(s, m->path);
    for (int at_root = 1; at_root >= 0; at_root--) {
        if (asprintf(&file, "%s%s", at_root ? root : "", o->path) < 0) needed(NULL);
        symbols_open(o, file);
        free(file);
        if (o->module && symbols_is(o, m)) return;
        if (o->dwfl) dwfl_end(o->dwfl);
        o->dwfl = NULL;
        o->module = NULL;
    }
    o->build_id_size = m->build_id_size <= sizeof o->build_id ? m->build_id_size : 0;
    memcpy(o->build_id, m->build_id, o->build_id_size);
}

/* Opens the program of a process that has just begun and waits for us: a copy, since it may be written over as soon as
   the process ends. Not one that is large or known, nor when there are many. */
void symbols_begun(symbols *s, uint64_t pid) {
    enum { LARGEST = 16 << 20, TOGETHER = 128 << 20 };
    char link[40], path[PATH_MAX];
    struct sigaction before;
    symbols_object *o;
    struct stat st;
    ssize_t n;
    int fd, copy;
    snprintf(link, sizeof link, "/proc/%llu/exe", (unsigned long long)pid);
    n = readlink(link, path, sizeof path);
    if (n <= 0 || n == sizeof path || *path != '/' || stat(link, &st) || st.st_size > LARGEST) return;
    if (s->copied + (uint64_t)st.st_size > TOGETHER) return;
    path[n] = 0;
    o = symbols_find(s, hd_cstr(path));
    if (o && o->file.st_ino == st.st_ino && !memcmp(&o->file.st_mtim, &st.st_mtim, sizeof st.st_mtim)) return;
    fd = open(link, O_RDONLY | O_CLOEXEC);
    copy = fd < 0 ? -1 : memfd_create("program", MFD_CLOEXEC);
    file_limit_fails(&before);
    n = copy < 0 ? -1 : sendfile(copy, fd, NULL, (size_t)st.st_size);
    sigaction(SIGXFSZ, &before, NULL);
    if (n == st.st_size) {
        s->copied += (uint64_t)st.st_size;
        s->twins |= o != NULL;
        o = symbols_add(s, hd_cstr(path));
        o->file = st;
        symbols_take(o, path, copy);
    } else if (copy >= 0) {
        close(copy);
    }
    if (fd >= 0) close(fd);
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
uint32_t symbols_frames(symbols_object *o, Dwarf_Addr address, bool qualified, symbols_frame *frames,
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

/* The object of a path, or the binary that was given for it: one of its name. */
symbols_object *symbols_object_for(symbols *s, hd_str path) {
    const char *slash = memrchr(path.data, '/', path.len);
    hd_str file = path;
    if (slash) file.data = slash + 1, file.len -= (size_t)(slash + 1 - path.data);
    for (size_t i = 0; i < s->given; i++) {
        if (!hd_str_equal(hd_cstr(symbols_basename(s->objects[i].path)), file)) continue;
        s->objects[i].used = true;
        return &s->objects[i];
    }
    return symbols_object_of(s, path);
}

/* FILE+0xOFFSET, and which one it was where that is not there. */
static hd_str symbols_unresolved(symbols *s, const symbols_object *o, hd_str name) {
    const char *slash = memrchr(name.data, '/', name.len);
    char id[2 * sizeof o->build_id + 1], *text;
    if (slash) name.len -= (size_t)(slash + 1 - name.data), name.data = slash + 1;
    if (o->module || !o->build_id_size) return name;
    for (uint32_t i = 0; i < o->build_id_size; i++) snprintf(id + 2 * i, 3, "%02x", o->build_id[i]);
    if (asprintf(&text, "%.*s [%s]", (int)name.len, name.data, id) < 0) needed(NULL);
    s->names[s->name_count++] = text;
    return hd_cstr(text);
}

/* What is in no object. */
static uint32_t symbols_of_code(symbols *s, hd_str name, hd_str *path) {
    char *text = s->code ? code_map_name(s->code, name) : NULL;
    if (!text) return 1;
    s->names[s->name_count++] = text;
    path[0] = hd_cstr(text);
    return 1;
}

/* An hd_rename_fn: OBJECT+0xOFFSET becomes the functions there, other names stay. */
uint32_t symbols_rename(void *user, hd_str name, hd_str *path) {
    SYMBOLS_WORK;
    symbols *s = user;
    symbols_object *o;
    symbols_frame frames[HD_RENAME_MAX];
    hd_str object;
    uint64_t offset;
    while (s->name_count) free(s->names[--s->name_count]);
    path[0] = name;
    if (!symbols_split(name, &object, &offset)) return symbols_of_code(s, name, path);
    o = symbols_object_for(s, object);
    if (o->module) {
        uint32_t n = symbols_frames(o, offset + o->bias, true, frames, HD_RENAME_MAX);
        if (!n) n = symbols_function_at(o, offset + o->bias, frames);
        while (n--)
            s->names[s->name_count++] = symbols_text(frames[n].name, frames[n].file, frames[n].line, object);
    }
    if (!s->name_count) {
        s->unresolved++;
        path[0] = symbols_unresolved(s, o, name);
        return 1;
    }
    s->resolved++;
    for (uint32_t i = 0; i < s->name_count; i++) path[i] = hd_cstr(s->names[i]);
    return s->name_count;
}

void symbols_free(symbols *s) {
    while (s->name_count) free(s->names[--s->name_count]);
    for (size_t i = 0; i < s->count; i++) {
        symbols_object *o = &s->objects[i];
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
        free(o->path);
    }
    tdestroy(s->by_path, free);
    free(s->objects);
    memset(s, 0, sizeof *s);
}
