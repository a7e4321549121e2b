/* Functions for addresses of MemProf profiles. */

#include "symbols.h"

#include <dwarf.h>

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

/* Whether an address is in an object: by build id, or, where a segment has none, by its place and size. */
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

/* The functions at an address, innermost first; 0: nothing is known. As LLVM has it, what debug information leaves out is
   not resolved. */
static uint32_t symbols_of(symbols *s, const hd_memprof_address *a, bool qualified, symbols_frame *frames,
                           uint32_t capacity) {
    for (size_t i = 0; a->segment && i < s->count; i++) {
        symbols_object *o = &s->objects[i];
        Dwarf_Addr address;
        uint32_t n;
        if (!symbols_is_of(o, a)) continue;
        o->used = true;
        address = symbols_address(o, a) + o->bias;
        n = symbols_frames(o, address, qualified, frames, capacity);
        return n || (o->unit_count && !s->by_table) ? n : symbols_function_at(o, address, frames);
    }
    return 0;
}

static uint32_t symbols_symbolize(symbols *s, const hd_memprof_address *a, bool qualified, hd_memprof_frame *frames,
                                  uint32_t capacity) {
    SYMBOLS_WORK;
    symbols_frame found[HD_MEMPROF_INLINE_MAX];
    uint32_t n = symbols_of(s, a, qualified, found, capacity < HD_MEMPROF_INLINE_MAX ? capacity : HD_MEMPROF_INLINE_MAX);
    for (uint32_t i = 0; i < n; i++) {
        const symbols_frame *f = &found[i];
        frames[i].function = hd_cstr(f->name);
        if (f->file) frames[i].file = hd_cstr(f->file);
        frames[i].line = (uint32_t)f->line;
        frames[i].column = (uint32_t)f->column;
        frames[i].discriminator = f->discriminator;
        frames[i].start_line = f->start_line;
    }
    return n;
}

/* An hd_memprof_symbolize_fn: functions as they are linked. */
uint32_t symbols_linked(void *user, const hd_memprof_address *a, hd_memprof_frame *frames,
                        uint32_t capacity) {
    return symbols_symbolize(user, a, false, frames, capacity);
}

/* An hd_memprof_symbolize_fn: functions as people read them, "function (dir/file.c:12) [object]". */
uint32_t symbols_shown(void *user, const hd_memprof_address *a, hd_memprof_frame *frames,
                       uint32_t capacity) {
    symbols *s = user;
    uint32_t n = symbols_symbolize(s, a, true, frames, capacity);
    const symbols_object *o = n ? symbols_binary(s, a) : NULL;
    while (s->name_count) free(s->names[--s->name_count]);
    for (uint32_t i = 0; i < n; i++) {
        char *text = symbols_text(frames[i].function.data, frames[i].file.data, (int)frames[i].line,
                                  hd_cstr(o ? o->path : ""));
        s->names[s->name_count++] = text;
        frames[i].function = hd_cstr(text);
    }
    return n;
}

/* The binary that an address is in; NULL: it is not given. */
const symbols_object *symbols_binary(const symbols *s, const hd_memprof_address *a) {
    SYMBOLS_WORK;
    for (size_t i = 0; a->segment && i < s->count; i++)
        if (symbols_is_of(&s->objects[i], a)) return &s->objects[i];
    return NULL;
}

/* What hd_memprof_view.segment asks for: the name of a binary that is given, or its path when another has that
   name. */
hd_str symbols_file(void *user, const hd_memprof_raw *raw, uint32_t segment) {
    const symbols *s = user;
    hd_memprof_address a = { .segment = &raw->segments[segment], .file_offset = raw->version < 3 };
    const symbols_object *o = symbols_binary(s, &a);
    const char *name = o ? symbols_basename(o->path) : "";
    for (size_t i = 0; o && i < s->count; i++)
        if (&s->objects[i] != o && !strcmp(symbols_basename(s->objects[i].path), name)) name = o->path;
    return hd_cstr(name);
}

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
void symbols_each_name(symbols *s, symbols_name_fn take, void *user) {
    SYMBOLS_WORK;
    symbols_taking to = { take, user };
    for (size_t i = 0; i < s->count; i++) {
        symbols_object *o = &s->objects[i];
        Dwfl_Module *module = o->module;
        int n = module ? dwfl_module_getsymtab(module) : 0;
        if (module) symbols_read_units(o);
        for (size_t u = 0; u < o->unit_count; u++)
            dwarf_getfuncs(symbols_tree(o, &o->units[u]), symbols_take_function, &to, 0);
        for (int k = 1; k < n; k++) {
            GElf_Sym symbol;
            const char *name = dwfl_module_getsym(module, k, &symbol, NULL);
            if (name && *name && GELF_ST_TYPE(symbol.st_info) == STT_FUNC) take(user, name);
        }
        o->used = true;
    }
}
