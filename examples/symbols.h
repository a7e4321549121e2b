/* symbols.h - names for OBJECT+0xOFFSET, by elfutils' libdw; a part of the heapdump tool.

   Objects are opened where they lie, their debug information is looked for beside them, under
   /usr/lib/debug, by build id, and by debuginfod where DEBUGINFOD_URLS is set. */

#ifndef SYMBOLS_H
#define SYMBOLS_H

#include <dwarf.h>
#include <elfutils/libdwfl.h>

/* libstdc++'s, and libc++'s */
char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

typedef struct symbols_function {
    Dwarf_Addr start, end;       /* end 0: not told, reaches to the next */
    const char *name;
    unsigned char rank;          /* of names for one address the highest counts */
} symbols_function;

typedef struct symbols_object {
    char *path;
    Dwfl *dwfl;
    Dwfl_Module *module;         /* NULL: not to be opened */
    Dwarf_Addr bias;             /* address here = offset + bias */
    symbols_function *functions; /* by start; libdw itself would search its table from end to end */
    size_t function_count;
} symbols_object;

typedef struct symbols {
    symbols_object *objects;
    size_t count;
    char *names[HD_RENAME_MAX];  /* of the last call, freed by the next */
    uint32_t name_count;
    uint64_t resolved, unresolved;
} symbols;

static int symbols_order(const void *a, const void *b) {
    const symbols_function *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return (int)x->rank - (int)y->rank;
}

static void symbols_read_functions(symbols_object *o) {
    int n = dwfl_module_getsymtab(o->module);
    if (n > 0) o->functions = malloc((size_t)n * sizeof *o->functions);
    for (int i = 1; i < n && o->functions; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        symbols_function *f = &o->functions[o->function_count];
        int type;
        f->name = dwfl_module_getsym_info(o->module, i, &symbol, &address, NULL, NULL, NULL);
        type = GELF_ST_TYPE(symbol.st_info);
        if (!f->name || !*f->name || symbol.st_shndx == SHN_UNDEF ||
            (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
            continue;
        f->start = address;
        f->end = symbol.st_size ? address + symbol.st_size : 0;
        f->rank = (unsigned char)((type != STT_NOTYPE) * 4 + (symbol.st_size != 0) * 2 +
                                  (GELF_ST_BIND(symbol.st_info) == STB_GLOBAL));
        o->function_count++;
    }
    if (o->function_count) qsort(o->functions, o->function_count, sizeof *o->functions, symbols_order);
}

/* The function an address lies in, NULL when no symbol says. */
static const char *symbols_function_at(const symbols_object *o, Dwarf_Addr address) {
    size_t low = 0, high = o->function_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (o->functions[middle].start <= address) low = middle + 1;
        else high = middle;
    }
    if (!low) return NULL;
    return !o->functions[low - 1].end || address < o->functions[low - 1].end ? o->functions[low - 1].name
                                                                             : NULL;
}

static symbols_object *symbols_object_of(symbols *s, hd_str path) {
    static char *debuginfo_path;
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .section_address = dwfl_offline_section_address,
        .debuginfo_path = &debuginfo_path
    };
    symbols_object *o, *grown;
    GElf_Addr bias = 0;
    for (size_t i = s->count; i--;)
        if (hd_str_equal(hd_cstr(s->objects[i].path), path)) return &s->objects[i];
    grown = realloc(s->objects, (s->count + 1) * sizeof *grown);
    if (!grown) return NULL;
    s->objects = grown;
    o = &grown[s->count];
    memset(o, 0, sizeof *o);
    o->path = strndup(path.data, path.len);
    if (!o->path) return NULL;
    s->count++;
    o->dwfl = *o->path == '/' ? dwfl_begin(&callbacks) : NULL;
    if (!o->dwfl) return o;
    dwfl_report_begin(o->dwfl);
    o->module = dwfl_report_offline(o->dwfl, o->path, o->path, -1);
    dwfl_report_end(o->dwfl, NULL, NULL);
    if (o->module && !dwfl_module_getelf(o->module, &bias)) o->module = NULL;
    o->bias = bias;
    if (o->module) symbols_read_functions(o);
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
static void symbols_add(symbols *s, const char *name, const char *file, int line) {
    int status = -1;
    char *demangled = name[0] == '_' && name[1] == 'Z' ? __cxa_demangle(name, NULL, NULL, &status) : NULL;
    char *text = NULL;
    const char *shown = demangled && !status ? demangled : name;
    if (s->name_count == HD_RENAME_MAX) {
        free(demangled);
        return;
    }
    if (file && line > 0) {
        if (asprintf(&text, "%s (%s:%d)", shown, symbols_basename(file), line) < 0) text = NULL;
    } else {
        text = strdup(shown);
    }
    free(demangled);
    if (text) s->names[s->name_count++] = text;
}

/* The innermost scope at an address, then those around it: dwarf_getscopes leaves the concrete ones
   for the abstract at the first inlined function, dwarf_getscopes_die does not. */
static int symbols_scopes(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die **scopes) {
    Dwarf_Die *found = NULL, innermost;
    if (!unit || dwarf_getscopes(unit, address, &found) <= 0) return 0;
    innermost = found[0];
    free(found);
    return dwarf_getscopes_die(&innermost, scopes);
}

/* The functions that are inlined where the address is, outermost first; false without DWARF. A
   function's line is where it calls the next inner one. */
static bool symbols_inlined(symbols *s, Dwfl_Module *module, Dwarf_Addr address) {
    struct { const char *name, *file; int line; } found[HD_RENAME_MAX];
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit = dwfl_module_addrdie(module, address, &bias), *scopes = NULL;
    Dwfl_Line *at = dwfl_module_getsrc(module, address);
    int n = symbols_scopes(unit, address - bias, &scopes), line = 0;
    const char *file = at ? dwfl_lineinfo(at, NULL, &line, NULL, NULL, NULL) : NULL;
    Dwarf_Files *files = NULL;
    uint32_t count = 0;
    if (unit) dwarf_getsrcfiles(unit, &files, NULL);
    for (int i = 0; i < n && count < HD_RENAME_MAX; i++) {
        int tag = dwarf_tag(&scopes[i]);
        const char *name;
        Dwarf_Attribute attribute;
        Dwarf_Word call_file = 0, call_line = 0;
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
        name = symbols_die_name(&scopes[i]);
        if (name) {
            found[count].name = name;
            found[count].file = file;
            found[count++].line = line;
        }
        if (tag == DW_TAG_subprogram) break;
        dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_file, &attribute), &call_file);
        dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_line, &attribute), &call_line);
        file = files ? dwarf_filesrc(files, call_file, NULL, NULL) : NULL;
        line = (int)call_line;
    }
    for (uint32_t i = count; i--;) symbols_add(s, found[i].name, found[i].file, found[i].line);
    free(scopes);
    return count > 0;
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
    symbols *s = user;
    symbols_object *o;
    hd_str object;
    uint64_t offset;
    while (s->name_count) free(s->names[--s->name_count]);
    path[0] = name;
    if (!symbols_split(name, &object, &offset)) return 1;
    o = symbols_object_of(s, object);
    if (o && o->module && !symbols_inlined(s, o->module, offset + o->bias)) {
        const char *symbol = symbols_function_at(o, offset + o->bias);
        if (symbol) symbols_add(s, symbol, NULL, 0);
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

static void symbols_free(symbols *s) {
    while (s->name_count) free(s->names[--s->name_count]);
    for (size_t i = 0; i < s->count; i++) {
        if (s->objects[i].dwfl) dwfl_end(s->objects[i].dwfl);
        free(s->objects[i].functions);
        free(s->objects[i].path);
    }
    free(s->objects);
    memset(s, 0, sizeof *s);
}

#endif
