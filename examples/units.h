/* units.h - what of debug information is read in bulk: which DIEs of a unit have code, and its lines; a part
   of the heapdump tool.

   libdw finds files, sections and units, and tells what attributes mean. To pass over a DIE it looks its
   abbreviation up, and of lines it keeps a list: of what names one address in a thousand of a unit, that
   would be most of the time. */

#ifndef UNITS_H
#define UNITS_H

#include <dwarf.h>
#include <elfutils/libdw.h>

/* Bytes of a file, in its order. Behind the end there is nothing but zeros. */
typedef struct unit_bytes {
    const unsigned char *p, *end;
    bool big;
} unit_bytes;

HD__INLINE void unit_skip(unit_bytes *b, uint64_t n) {
    b->p = n < (uint64_t)(b->end - b->p) ? b->p + n : b->end;
}

HD__INLINE uint64_t unit_fixed(unit_bytes *b, unsigned n) {
    uint64_t v = 0;
    if ((size_t)(b->end - b->p) < n) b->p = b->end;
    else for (unsigned i = 0; i < n; i++) v |= (uint64_t)b->p[i] << 8 * (b->big ? n - 1 - i : i);
    unit_skip(b, n);
    return v;
}

HD__INLINE uint64_t unit_leb(unit_bytes *b, bool is_signed) {
    uint64_t v = 0;
    unsigned shift = 0;
    if (b->p < b->end && *b->p < (is_signed ? 64 : 128)) return *b->p++;
    while (b->p < b->end) {
        unsigned char byte = *b->p++;
        if (shift < 64) v |= (uint64_t)(byte & 127) << shift;
        shift += 7;
        if (byte & 128) continue;
        if (is_signed && byte & 64 && shift < 64) v |= UINT64_MAX << shift;
        break;
    }
    return v;
}

/* The items, which may have moved, with room for one more. */
static void *unit_room(void *items, size_t count, size_t *capacity, size_t size) {
    if (count < *capacity) return items;
    *capacity = *capacity ? 2 * *capacity : 16;
    return needed(realloc(items, *capacity * size));
}

/* DIEs. ---------------------------------------------------------------------------------------- */

/* The sections that a unit is told in. */
typedef struct unit_sections {
    unit_bytes abbrev, line, line_str, str;
} unit_sections;

typedef struct unit_field {
    uint16_t name, form;
    int32_t size;                /* bytes, -1 when they differ; the constant of DW_FORM_implicit_const */
} unit_field;

typedef struct unit_abbreviation {
    uint32_t first, count;       /* fields */
    int32_t size;                /* bytes of all of them; -1: that differs */
    uint16_t tag;                /* 0: no such abbreviation */
    bool has_children;
} unit_abbreviation;

typedef struct unit_reader {
    Dwarf_CU *cu;
    unit_bytes at;
    const unsigned char *start;  /* what offsets within the unit count from */
    Dwarf_Half version;
    uint8_t address_size, offset_size;
    unit_abbreviation *abbreviations; /* by code */
    unit_field *fields;
    size_t abbreviation_count, abbreviation_capacity, field_count, field_capacity;
    size_t depth;                /* of the next DIE */
} unit_reader;

/* A DIE that may have code: a function, or an inlined one. */
typedef struct unit_function {
    Dwarf_Die die;
    size_t depth, lowest;        /* lowest: of it and of what was passed over since the one before */
    bool is_inlined;
    bool is_one;                 /* its code is [start, end); otherwise ranges tell, or there is none */
    Dwarf_Addr start, end;
} unit_function;

enum { UNIT_CODES = 1024 };      /* compilers number abbreviations from 1 on; so many may be left out */

/* Bytes of a form; -1: that differs. */
static int32_t unit_form_size(const unit_reader *u, unsigned form) {
    switch (form) {
    case DW_FORM_flag_present: case DW_FORM_implicit_const: return 0;
    case DW_FORM_data1: case DW_FORM_flag: case DW_FORM_ref1: case DW_FORM_strx1: case DW_FORM_addrx1:
        return 1;
    case DW_FORM_data2: case DW_FORM_ref2: case DW_FORM_strx2: case DW_FORM_addrx2: return 2;
    case DW_FORM_strx3: case DW_FORM_addrx3: return 3;
    case DW_FORM_data4: case DW_FORM_ref4: case DW_FORM_strx4: case DW_FORM_addrx4: case DW_FORM_ref_sup4:
        return 4;
    case DW_FORM_data8: case DW_FORM_ref8: case DW_FORM_ref_sig8: case DW_FORM_ref_sup8: return 8;
    case DW_FORM_data16: return 16;
    case DW_FORM_addr: return u->address_size;
    case DW_FORM_ref_addr: return u->version < 3 ? u->address_size : u->offset_size;
    case DW_FORM_strp: case DW_FORM_line_strp: case DW_FORM_sec_offset: case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt: case DW_FORM_GNU_strp_alt: return u->offset_size;
    default: return -1;
    }
}

/* Passes over a value; false when its form is not known. */
static bool unit_skip_form(unit_reader *u, unsigned form) {
    int32_t size;
    if (form == DW_FORM_indirect) form = (unsigned)unit_leb(&u->at, false);
    size = unit_form_size(u, form);
    if (size >= 0) {
        unit_skip(&u->at, (uint64_t)size);
        return true;
    }
    switch (form) {
    case DW_FORM_udata: case DW_FORM_sdata: case DW_FORM_ref_udata: case DW_FORM_strx: case DW_FORM_addrx:
    case DW_FORM_loclistx: case DW_FORM_rnglistx: case DW_FORM_GNU_addr_index: case DW_FORM_GNU_str_index:
        unit_leb(&u->at, false);
        return true;
    case DW_FORM_string:
        while (u->at.p < u->at.end && *u->at.p++) {}
        return true;
    case DW_FORM_block1: unit_skip(&u->at, unit_fixed(&u->at, 1)); return true;
    case DW_FORM_block2: unit_skip(&u->at, unit_fixed(&u->at, 2)); return true;
    case DW_FORM_block4: unit_skip(&u->at, unit_fixed(&u->at, 4)); return true;
    case DW_FORM_block: case DW_FORM_exprloc: unit_skip(&u->at, unit_leb(&u->at, false)); return true;
    default: return false;
    }
}

/* Whether DIEs in one like this may have code. */
static bool unit_holds_code(unsigned tag) {
    switch (tag) {
    case DW_TAG_variable: case DW_TAG_formal_parameter: case DW_TAG_enumeration_type:
    case DW_TAG_subroutine_type: case DW_TAG_array_type: case DW_TAG_call_site: case DW_TAG_GNU_call_site:
        return false;
    default: return true;
    }
}

static bool unit_is_function(unsigned tag) {
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

HD__INLINE bool unit_skip_field(unit_reader *u, const unit_field *f) {
    if (f->form == DW_FORM_implicit_const) return true;
    if (f->size < 0) return unit_skip_form(u, f->form);
    unit_skip(&u->at, (uint64_t)f->size);
    return true;
}

static void unit_add_fields(unit_reader *u, unit_bytes *at, unit_abbreviation *a) {
    a->first = (uint32_t)u->field_count;
    for (;;) {
        unit_field f = { 0 };
        uint64_t name = unit_leb(at, false), form = unit_leb(at, false);
        int32_t size;
        if (!name && !form) break;
        if (name <= UINT16_MAX) f.name = (uint16_t)name;
        f.form = form <= UINT16_MAX ? (uint16_t)form : UINT16_MAX;
        f.size = size = unit_form_size(u, f.form);
        if (form == DW_FORM_implicit_const) f.size = (int32_t)unit_leb(at, true);
        u->fields = unit_room(u->fields, u->field_count, &u->field_capacity, sizeof f);
        u->fields[u->field_count++] = f;
        a->count++;
        if (size < 0 || (f.name == DW_AT_sibling && !unit_holds_code(a->tag)))
            a->size = -1;
        else if (a->size >= 0 && a->size < INT32_MAX / 2) a->size += size;
    }
}

static void unit_read_abbreviations(unit_reader *u, unit_bytes at) {
    for (uint64_t code; (code = unit_leb(&at, false)) != 0;) {
        unit_abbreviation a = { 0 };
        if (code > 2 * u->abbreviation_count + UNIT_CODES) return;
        a.tag = (uint16_t)unit_leb(&at, false);
        a.has_children = unit_fixed(&at, 1) != 0;
        unit_add_fields(u, &at, &a);
        while (u->abbreviation_count <= code) {
            u->abbreviations = unit_room(u->abbreviations, u->abbreviation_count, &u->abbreviation_capacity,
                                         sizeof a);
            memset(&u->abbreviations[u->abbreviation_count++], 0, sizeof a);
        }
        u->abbreviations[code] = a;
    }
}

static bool unit_is_big(Dwarf *dwarf) {
    const char *ident = elf_getident(dwarf_getelf(dwarf), NULL);
    return ident && ident[EI_DATA] == ELFDATA2MSB;
}

/* What a section holds, unpacked, which libdw has done. */
static unit_bytes unit_section(Dwarf *dwarf, const char *name) {
    Elf *elf = dwarf_getelf(dwarf);
    Elf_Scn *section = NULL;
    unit_bytes bytes = { .big = unit_is_big(dwarf) };
    size_t names;
    if (elf_getshdrstrndx(elf, &names)) return bytes;
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        const char *found = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        Elf_Data *data;
        if (!found || header.sh_type == SHT_NOBITS || strcmp(found, name)) continue;
        data = elf_getdata(section, NULL);
        if (!data || !data->d_buf) continue;
        bytes.p = data->d_buf;
        bytes.end = bytes.p + data->d_size;
    }
    return bytes;
}

static unit_sections unit_find_sections(Dwarf *dwarf) {
    return (unit_sections){ .abbrev = unit_section(dwarf, ".debug_abbrev"),
                            .line = unit_section(dwarf, ".debug_line"),
                            .line_str = unit_section(dwarf, ".debug_line_str"),
                            .str = unit_section(dwarf, ".debug_str") };
}

/* Before the unit's own DIE. Its abbreviations are in `from`'s section when it is of the same file. */
static bool unit_open(unit_reader *u, Dwarf_Die *die, Dwarf *of, const unit_sections *from) {
    Dwarf *dwarf = dwarf_cu_getdwarf(die->cu);
    Dwarf_Off at = dwarf_dieoffset(die), offset = at - dwarf_cuoffset(die), next, abbreviations;
    unit_bytes abbrev = dwarf == of ? from->abbrev : unit_section(dwarf, ".debug_abbrev.dwo");
    size_t header;
    memset(u, 0, sizeof *u);
    if (dwarf_next_unit(dwarf, offset, &next, &header, &u->version, &abbreviations, &u->address_size,
                        &u->offset_size, NULL, NULL))
        return false;
    u->cu = die->cu;
    u->at.p = die->addr;
    u->at.end = u->at.p + (next - at);
    u->at.big = unit_is_big(dwarf);
    u->start = u->at.p - (at - offset);
    unit_skip(&abbrev, abbreviations);
    unit_read_abbreviations(u, abbrev);
    return true;
}

static void unit_close(unit_reader *u) {
    free(u->abbreviations);
    free(u->fields);
}

/* What a function's DIE says of its code. */
static bool unit_read_function(unit_reader *u, const unit_abbreviation *a, unit_function *f) {
    Dwarf_Word size = 0;
    bool has_start = false, has_end = false;
    f->is_inlined = a->tag == DW_TAG_inlined_subroutine;
    for (uint32_t i = a->first; i < a->first + a->count; i++) {
        unsigned char *value = (unsigned char *)(uintptr_t)u->at.p;
        Dwarf_Attribute attribute = { u->fields[i].name, u->fields[i].form, value, u->cu };
        if (attribute.form == DW_FORM_implicit_const || attribute.form == DW_FORM_indirect) {
            /* its value is elsewhere: libdw is asked for the whole */
        } else if (attribute.code == DW_AT_low_pc) {
            has_start = !dwarf_formaddr(&attribute, &f->start);
        } else if (attribute.code == DW_AT_high_pc) {
            has_end = true;
            if (dwarf_formaddr(&attribute, &f->end)) has_end = !dwarf_formudata(&attribute, &size);
        }
        if (!unit_skip_field(u, &u->fields[i])) return false;
    }
    if (size) f->end = f->start + size;
    f->is_one = has_start && has_end;
    return true;
}

static bool unit_pass_over(unit_reader *u, const unit_abbreviation *a) {
    const unsigned char *sibling = NULL;
    if (a->size >= 0) {
        unit_skip(&u->at, (uint64_t)a->size);
        return true;
    }
    for (uint32_t i = a->first; i < a->first + a->count; i++) {
        const unit_field *f = &u->fields[i];
        if (f->name == DW_AT_sibling && f->form == DW_FORM_ref4) {
            uint64_t offset = unit_fixed(&u->at, 4);
            if (offset < (uint64_t)(u->at.end - u->start)) sibling = u->start + offset;
        } else if (!unit_skip_field(u, f)) {
            return false;
        }
    }
    if (a->has_children && !unit_holds_code(a->tag) && sibling > u->at.p) {
        u->at.p = sibling;
        u->depth--;
    }
    return true;
}

/* The next function; false behind the last. */
static bool unit_next(unit_reader *u, unit_function *f) {
    size_t lowest = SIZE_MAX;
    while (u->at.p < u->at.end) {
        const unsigned char *from = u->at.p;
        uint64_t code = unit_leb(&u->at, false);
        const unit_abbreviation *a;
        if (!code) {
            if (!u->depth || !--u->depth) return false;
            continue;
        }
        if (code >= u->abbreviation_count || !u->abbreviations[code].tag) return false;
        a = &u->abbreviations[code];
        if (u->depth < lowest) lowest = u->depth;
        memset(f, 0, sizeof *f);
        f->depth = u->depth;
        f->lowest = lowest;
        u->depth += a->has_children;
        if (unit_is_function(a->tag)) {
            f->die.addr = (void *)(uintptr_t)from;
            f->die.cu = u->cu;
            return unit_read_function(u, a, f);
        }
        if (!unit_pass_over(u, a) || !u->depth) return false;
    }
    return false;
}

/* A number, when the form is that of one; otherwise 0. */
static uint64_t unit_number(const unit_reader *u, const unit_field *f, unit_bytes at) {
    switch (f->form) {
    case DW_FORM_data1: case DW_FORM_ref1: return unit_fixed(&at, 1);
    case DW_FORM_data2: case DW_FORM_ref2: return unit_fixed(&at, 2);
    case DW_FORM_data4: case DW_FORM_ref4: return unit_fixed(&at, 4);
    case DW_FORM_data8: case DW_FORM_ref8: return unit_fixed(&at, 8);
    case DW_FORM_udata: case DW_FORM_ref_udata: return unit_leb(&at, false);
    case DW_FORM_sdata: return unit_leb(&at, true);
    case DW_FORM_sec_offset: return unit_fixed(&at, u->offset_size);
    case DW_FORM_implicit_const: return (uint64_t)(int64_t)f->size;
    default: return 0;
    }
}

/* What a function's DIE tells beside its code, and those that it refers to for the rest. */
typedef struct unit_told {
    const char *linkage_name, *name; /* NULL: not told */
    bool has_start_line;
    uint32_t start_line;
    uint32_t call_file, call_line, call_column, call_discriminator;
} unit_told;

enum { UNIT_DISCRIMINATOR = 0x2136 }; /* DW_AT_GNU_discriminator, which dwarf.h lacks */

/* By libdw, of a DIE in another unit. */
static void unit_tell_far(Dwarf_Attribute *to, unit_told *told) {
    Dwarf_Die die;
    Dwarf_Attribute a;
    Dwarf_Word line;
    if (!dwarf_formref_die(to, &die)) return;
    if (!told->linkage_name)
        told->linkage_name = dwarf_formstring(dwarf_attr_integrate(&die, DW_AT_linkage_name, &a));
    if (!told->linkage_name)
        told->linkage_name = dwarf_formstring(dwarf_attr_integrate(&die, DW_AT_MIPS_linkage_name, &a));
    if (!told->name) told->name = dwarf_diename(&die);
    if (!told->has_start_line && !dwarf_formudata(dwarf_attr_integrate(&die, DW_AT_decl_line, &a), &line))
        told->start_line = (uint32_t)line;
}

/* Adds what one DIE tells; the DIE it refers to, or NULL. */
static const unsigned char *unit_tell_one(const unit_reader *u, const unsigned char *at, unit_told *told) {
    unit_reader reader = *u;
    const unsigned char *next = NULL;
    const unit_abbreviation *a;
    uint64_t code;
    reader.at.p = at;
    code = unit_leb(&reader.at, false);
    if (code >= u->abbreviation_count) return NULL;
    a = &u->abbreviations[code];
    for (uint32_t i = a->first; i < a->first + a->count; i++) {
        const unit_field *f = &u->fields[i];
        Dwarf_Attribute attribute = { f->name, f->form, (unsigned char *)(uintptr_t)reader.at.p, u->cu };
        switch (f->name) {
        case DW_AT_linkage_name: case DW_AT_MIPS_linkage_name:
            if (!told->linkage_name) told->linkage_name = dwarf_formstring(&attribute);
            break;
        case DW_AT_name:
            if (!told->name) told->name = dwarf_formstring(&attribute);
            break;
        case DW_AT_decl_line:
            if (!told->has_start_line) told->start_line = (uint32_t)unit_number(u, f, reader.at);
            told->has_start_line = true;
            break;
        case DW_AT_call_file: told->call_file = (uint32_t)unit_number(u, f, reader.at); break;
        case DW_AT_call_line: told->call_line = (uint32_t)unit_number(u, f, reader.at); break;
        case DW_AT_call_column: told->call_column = (uint32_t)unit_number(u, f, reader.at); break;
        case UNIT_DISCRIMINATOR: told->call_discriminator = (uint32_t)unit_number(u, f, reader.at); break;
        case DW_AT_abstract_origin: case DW_AT_specification: {
            uint64_t offset = unit_number(u, f, reader.at);
            if (!offset) unit_tell_far(&attribute, told);
            else if (offset < (uint64_t)(u->at.end - u->start)) next = u->start + offset;
        }
        }
        if (!unit_skip_field(&reader, f)) return NULL;
    }
    return next;
}

static unit_told unit_tell(const unit_reader *u, const unsigned char *die) {
    unit_told told = { 0 };
    for (int steps = 0; die && steps < 16; steps++) {
        unit_told own = told;
        die = unit_tell_one(u, die, &told);
        if (!steps) continue;
        told.call_file = own.call_file; /* of the inlined one itself */
        told.call_line = own.call_line;
        told.call_column = own.call_column;
        told.call_discriminator = own.call_discriminator;
    }
    return told;
}

/* Lines. --------------------------------------------------------------------------------------- */

typedef struct unit_line {
    Dwarf_Addr address;
    uint32_t file, line, column, discriminator;
} unit_line;

/* Lines of code that lies together, each up to the next. */
typedef struct unit_sequence {
    Dwarf_Addr start, end;
    size_t first, count;
} unit_sequence;

typedef struct unit_file {
    const char *name;
    uint64_t directory;
    char *path;                  /* when it was asked for */
} unit_file;

typedef struct unit_lines {
    unit_line *lines;
    unit_sequence *sequences;
    const char **directories;
    unit_file *files;            /* by number */
    size_t count, capacity, sequence_count, sequence_capacity;
    size_t directory_count, directory_capacity, file_count, file_capacity;
} unit_lines;

/* Of a line program. */
typedef struct unit_program {
    const unit_sections *sections;
    unit_bytes at;
    unsigned version, offset_size;
    uint64_t step;               /* bytes of the shortest instruction */
    unsigned opcode_base;
    unsigned char operands[256]; /* of opcodes below the base */
    unsigned char steps[256];    /* of those from there on, how much address and line grow */
    int lines[256];
    unit_line now;
    size_t first;                /* line of the sequence at hand */
} unit_program;

/* The text at `at`, which ends with a 0; "" where it does not. */
static const char *unit_text(unit_bytes *at) {
    const char *text = (const char *)at->p;
    const unsigned char *end = at->p < at->end ? memchr(at->p, 0, (size_t)(at->end - at->p)) : NULL;
    at->p = end ? end + 1 : at->end;
    return end ? text : "";
}

static const char *unit_text_at(unit_bytes section, uint64_t offset) {
    unit_skip(&section, offset);
    return unit_text(&section);
}

static void unit_add_directory(unit_lines *to, const char *name) {
    to->directories = unit_room(to->directories, to->directory_count, &to->directory_capacity,
                                sizeof *to->directories);
    to->directories[to->directory_count++] = name;
}

static void unit_add_file(unit_lines *to, const char *name, uint64_t directory) {
    to->files = unit_room(to->files, to->file_count, &to->file_capacity, sizeof *to->files);
    to->files[to->file_count++] = (unit_file){ name, directory, NULL };
}

/* Up to version 4: directories and files count from 1, 0 is where, and what, was compiled. */
static void unit_read_names_4(unit_lines *to, unit_bytes at) {
    const char *name;
    unit_add_directory(to, NULL);
    unit_add_file(to, NULL, 0);
    while (*(name = unit_text(&at))) unit_add_directory(to, name);
    while (*(name = unit_text(&at))) {
        unit_add_file(to, name, unit_leb(&at, false));
        unit_leb(&at, false);
        unit_leb(&at, false);
    }
}

/* From 5 on each list tells first what its entries have. */
static bool unit_read_names_5(unit_program *p, unit_lines *to, unit_bytes *at, bool is_files) {
    unit_reader reader = { .version = 5, .offset_size = (uint8_t)p->offset_size };
    unsigned fields = (unsigned)unit_fixed(at, 1);
    unit_field field[256];
    uint64_t count;
    for (unsigned i = 0; i < fields; i++) {
        field[i].name = (uint16_t)unit_leb(at, false);
        field[i].form = (uint16_t)unit_leb(at, false);
    }
    for (count = unit_leb(at, false); count && fields && at->p < at->end; count--) {
        const char *name = NULL;
        const unsigned char *before = at->p;
        uint64_t directory = 0;
        for (unsigned i = 0; i < fields; i++) {
            unit_bytes value = *at;
            reader.at = *at;
            if (!unit_skip_form(&reader, field[i].form)) return false;
            *at = reader.at;
            if (field[i].name == DW_LNCT_directory_index) directory = unit_number(&reader, &field[i], value);
            if (field[i].name != DW_LNCT_path) continue;
            if (field[i].form == DW_FORM_string) name = unit_text(&value);
            else if (field[i].form == DW_FORM_line_strp)
                name = unit_text_at(p->sections->line_str, unit_fixed(&value, p->offset_size));
            else if (field[i].form == DW_FORM_strp)
                name = unit_text_at(p->sections->str, unit_fixed(&value, p->offset_size));
        }
        if (at->p == before) return false;
        if (is_files) unit_add_file(to, name, directory);
        else unit_add_directory(to, name);
    }
    return true;
}

/* The path of a file, as what the unit tells makes it; NULL: not told. */
static const char *unit_path(unit_lines *l, uint64_t number, const char *compiled_in) {
    unit_file *f = number < l->file_count ? &l->files[number] : NULL;
    const char *directory, *above = "", *slash = "";
    if (!f || !f->name || f->path) return f ? f->path : NULL;
    directory = f->directory < l->directory_count ? l->directories[f->directory] : NULL;
    if (!compiled_in) compiled_in = "";
    if (!directory) directory = compiled_in;
    else if (*directory != '/' && f->directory) {
        above = l->directories[0] ? l->directories[0] : compiled_in;
        slash = *above ? "/" : "";
    }
    if (*f->name == '/') f->path = needed(strdup(f->name));
    else if (asprintf(&f->path, "%s%s%s%s%s", above, slash, directory, *directory ? "/" : "", f->name) < 0)
        f->path = needed(NULL);
    return f->path;
}

static void unit_put_line(unit_lines *to, unit_program *p) {
    unit_line *last = to->count > p->first ? &to->lines[to->count - 1] : NULL;
    if (last && last->address == p->now.address) {
        *last = p->now;
    } else {
        to->lines = unit_room(to->lines, to->count, &to->capacity, sizeof *to->lines);
        to->lines[to->count++] = p->now;
    }
    p->now.discriminator = 0;
}

static void unit_end_sequence(unit_lines *to, unit_program *p) {
    unit_sequence s = { .end = p->now.address, .first = p->first, .count = to->count - p->first };
    if (s.count) s.start = to->lines[s.first].address;
    if (s.start < s.end && s.count) {
        to->sequences = unit_room(to->sequences, to->sequence_count, &to->sequence_capacity, sizeof s);
        to->sequences[to->sequence_count++] = s;
    } else {
        to->count = p->first;
    }
    p->first = to->count;
    p->now = (unit_line){ .file = 1, .line = 1 };
}

static void unit_extended(unit_lines *to, unit_program *p) {
    uint64_t size = unit_leb(&p->at, false);
    unit_bytes rest = p->at;
    unit_skip(&p->at, size);
    rest.end = p->at.p;
    if (!size) return;
    switch (unit_fixed(&rest, 1)) {
    case DW_LNE_end_sequence: unit_end_sequence(to, p); break;
    case DW_LNE_set_address: p->now.address = unit_fixed(&rest, size <= 9 ? (unsigned)size - 1 : 8); break;
    case DW_LNE_set_discriminator: p->now.discriminator = (uint32_t)unit_leb(&rest, false); break;
    }
}

static void unit_standard(unit_lines *to, unit_program *p, unsigned opcode) {
    switch (opcode) {
    case DW_LNS_copy: unit_put_line(to, p); break;
    case DW_LNS_advance_pc: p->now.address += unit_leb(&p->at, false) * p->step; break;
    case DW_LNS_advance_line: p->now.line += (uint32_t)unit_leb(&p->at, true); break;
    case DW_LNS_set_file: p->now.file = (uint32_t)unit_leb(&p->at, false); break;
    case DW_LNS_set_column: p->now.column = (uint32_t)unit_leb(&p->at, false); break;
    case DW_LNS_const_add_pc: p->now.address += p->steps[255] * p->step; break;
    case DW_LNS_fixed_advance_pc: p->now.address += unit_fixed(&p->at, 2); break;
    default:
        for (unsigned n = p->operands[opcode]; n; n--) unit_leb(&p->at, false);
    }
}

static bool unit_read_header(unit_program *p, unit_lines *to) {
    uint64_t size = unit_fixed(&p->at, 4);
    unsigned line_range;
    int line_base;
    unit_bytes rest;
    p->offset_size = size == 0xffffffff ? 8 : 4;
    if (p->offset_size == 8) size = unit_fixed(&p->at, 8);
    if (size > (uint64_t)(p->at.end - p->at.p)) return false;
    p->at.end = p->at.p + size;
    p->version = (unsigned)unit_fixed(&p->at, 2);
    if (p->version < 2 || p->version > 5) return false;
    if (p->version == 5) unit_skip(&p->at, 2);
    size = unit_fixed(&p->at, p->offset_size);
    rest = p->at;
    unit_skip(&p->at, size);
    rest.end = p->at.p;
    p->step = unit_fixed(&rest, 1);
    if (p->version > 3) unit_skip(&rest, 1); /* operations an instruction: several on Itanium alone */
    unit_skip(&rest, 1);
    line_base = (int8_t)unit_fixed(&rest, 1);
    line_range = (unsigned)unit_fixed(&rest, 1);
    p->opcode_base = (unsigned)unit_fixed(&rest, 1);
    if (!line_range || !p->opcode_base) return false;
    for (unsigned i = 1; i < p->opcode_base; i++) p->operands[i] = (unsigned char)unit_fixed(&rest, 1);
    for (unsigned i = p->opcode_base; i < 256; i++) {
        p->steps[i] = (unsigned char)((i - p->opcode_base) / line_range);
        p->lines[i] = line_base + (int)((i - p->opcode_base) % line_range);
    }
    if (p->version < 5) unit_read_names_4(to, rest);
    else if (unit_read_names_5(p, to, &rest, false)) unit_read_names_5(p, to, &rest, true);
    return true;
}

static int unit_sequence_order(const void *a, const void *b) {
    const unit_sequence *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* The program at an offset of its section. */
static void unit_read_lines(unit_lines *to, const unit_sections *sections, uint64_t offset) {
    unit_program p = { .sections = sections, .at = sections->line, .now = { .file = 1, .line = 1 } };
    unit_skip(&p.at, offset);
    if (!unit_read_header(&p, to)) return;
    while (p.at.p < p.at.end) {
        unsigned opcode = *p.at.p++;
        if (opcode >= p.opcode_base) {
            p.now.address += p.steps[opcode] * p.step;
            p.now.line += (uint32_t)p.lines[opcode];
            unit_put_line(to, &p);
        } else if (opcode) {
            unit_standard(to, &p, opcode);
        } else {
            unit_extended(to, &p);
        }
    }
    to->count = p.first;         /* without a sequence that does not end */
    if (to->sequence_count)
        qsort(to->sequences, to->sequence_count, sizeof *to->sequences, unit_sequence_order);
}

/* The line of an address, or NULL. */
static const unit_line *unit_line_at(const unit_lines *l, Dwarf_Addr address) {
    size_t low = 0, high = l->sequence_count;
    const unit_sequence *s;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (l->sequences[middle].start <= address) low = middle + 1;
        else high = middle;
    }
    if (!low || address >= l->sequences[low - 1].end) return NULL;
    s = &l->sequences[low - 1];
    low = s->first;
    high = s->first + s->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (l->lines[middle].address <= address) low = middle + 1;
        else high = middle;
    }
    return low > s->first ? &l->lines[low - 1] : NULL;
}

static void unit_lines_free(unit_lines *l) {
    for (size_t i = 0; i < l->file_count; i++) free(l->files[i].path);
    free(l->files);
    free(l->directories);
    free(l->lines);
    free(l->sequences);
}

#endif
