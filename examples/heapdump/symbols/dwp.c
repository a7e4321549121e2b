/* Units of a .dwp, which libdw before 0.191 does not read.

   A unit is turned into a file in memory like the .dwo file that it was packed from, with the sections that functions
   need. libdw takes such a file only when it opens the file that the unit's skeleton names. So each unit gets a
   second skeleton: it names the memory file under /proc/self/fd, and repeats the addresses of the first skeleton.

   libdw does not recognize skeletons of DWARF 4 that contain functions themselves (-fsplit-dwarf-inlining): it finds
   neither their .dwo files nor their lines. These units get a second skeleton too, without functions. */

#include "dwarf.h"

#include <dwarf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum {
    DWP_INFO, DWP_ABBREV, DWP_STR_OFFSETS, DWP_RNGLISTS, DWP_PARTS, /* sections in which each unit has its own part */
    DWP_STR = DWP_PARTS, DWP_INDEX, DWP_SECTIONS,
    DWP_MOST = 64                /* limit of all memory files together, in multiples of the .dwp's sections */
};

static const char *const dwp_names[DWP_SECTIONS] = {
    ".debug_info.dwo", ".debug_abbrev.dwo", ".debug_str_offsets.dwo", ".debug_rnglists.dwo", ".debug_str.dwo",
    ".debug_cu_index"
};

/* Section numbers in the index, versions 2 (DWARF 4) and 5. */
static const uint32_t dwp_columns[2][DWP_PARTS] = { { 1, 3, 6, 0 }, { 1, 3, 6, 8 } };

typedef struct dwp_bytes {
    const unsigned char *data;
    size_t size;
} dwp_bytes;

typedef struct dwp_buffer {
    unsigned char *data;
    size_t size, capacity;
} dwp_buffer;

typedef struct dwp_entry {
    uint64_t id;
    uint32_t row;
} dwp_entry;

typedef struct dwp_unit {
    uint64_t id;
    uint32_t row;                /* HD_NONE: the unit is in the .dwo file that its skeleton names */
    bool lines;                  /* libdw does not recognize the first skeleton: take lines from the second */
    Dwarf_CU *cu;                /* the second skeleton */
} dwp_unit;

struct symbols_dwp {
    char *path;                  /* of the .dwp; NULL: no .dwp was found */
    int fd;
    Elf *elf;
    size_t size, taken;          /* bytes of all sections, and of the files made from them */
    dwp_bytes sections[DWP_SECTIONS];
    uint32_t version, columns, rows;
    dwp_entry *entries;          /* by id */
    size_t entry_count;
    Dwarf *program, *skeletons;
    dwp_buffer info;             /* bytes of the second skeletons */
    dwp_unit *units;
    size_t unit_count, unit_capacity;
    int slot;                    /* the descriptor that the skeletons name */
    bool begun, told, lines;
};

static uint64_t dwp_number(const unsigned char *at, size_t size) {
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    if (size == 2) return memcpy(&two, at, 2), two;
    if (size == 4) return memcpy(&four, at, 4), four;
    return memcpy(&eight, at, 8), eight;
}

static uint32_t dwp_word(dwp_bytes s, size_t i) { return (uint32_t)dwp_number(s.data + 4 * i, 4); }

static void dwp_put(dwp_buffer *b, const void *data, size_t size) {
    if (b->capacity - b->size < size) {
        b->capacity = 2 * b->capacity + size;
        b->data = needed(realloc(b->data, b->capacity));
    }
    if (size) memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void dwp_put_number(dwp_buffer *b, uint64_t value, size_t size) {
    uint16_t two = (uint16_t)value;
    uint32_t four = (uint32_t)value;
    uint8_t one = (uint8_t)value;
    dwp_put(b, size == 1 ? (void *)&one : size == 2 ? (void *)&two : size == 4 ? (void *)&four : &value, size);
}

/* A section of an ELF file, decompressed; empty if the file lacks it. */
static dwp_bytes dwp_section(Elf *elf, const char *name) {
    dwp_bytes found = { 0 };
    Elf_Scn *section = NULL;
    size_t names;
    if (elf_getshdrstrndx(elf, &names)) return found;
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr h;
        Elf_Data *data;
        const char *is = gelf_getshdr(section, &h) ? elf_strptr(elf, names, h.sh_name) : NULL;
        bool z = is && !strncmp(is, ".z", 2) && !strcmp(is + 2, name + 1);
        if (!is || h.sh_type == SHT_NOBITS || (!z && strcmp(is, name))) continue;
        if (z) elf_compress_gnu(section, 0, 0);
        if (h.sh_flags & SHF_COMPRESSED && elf_compress(section, 0, 0) < 0) continue;
        data = elf_getdata(section, NULL);
        if (!data || !data->d_buf) continue;
        found.data = data->d_buf;
        found.size = data->d_size;
        return found;
    }
    return found;
}

/* Makes an ELF file in memory; -1 if that fails. */
static int dwp_image(const char *const *names, const dwp_bytes *sections, size_t count) {
    const unsigned one = 1;
    Elf64_Ehdr e = { .e_type = ET_EXEC, .e_version = EV_CURRENT, .e_ehsize = sizeof e,
                     .e_shentsize = sizeof(Elf64_Shdr) };
    Elf64_Shdr headers[DWP_SECTIONS + 2] = { { 0 } }, *h = headers + 1;
    dwp_buffer text = { 0 };
    size_t end = sizeof e;
    int fd = memfd_create("symbols", MFD_CLOEXEC);
    bool written = fd >= 0;
    dwp_put(&text, "", 1);
    for (size_t i = 0; i <= count; i++, h++) {
        dwp_bytes s = i < count ? sections[i] : (dwp_bytes){ text.data, text.size };
        if (i < count && !s.size) { h--; continue; }
        *h = (Elf64_Shdr){ .sh_name = i < count ? (Elf64_Word)text.size : 0, .sh_addralign = 1,
                           .sh_type = i < count ? SHT_PROGBITS : SHT_STRTAB, .sh_offset = end, .sh_size = s.size };
        written = written && symbols_write(fd, s.data, s.size, end);
        end = (end + s.size + 15) & ~(size_t)15;
        if (i < count) dwp_put(&text, names[i], strlen(names[i]) + 1);
    }
    memcpy(e.e_ident, ELFMAG, SELFMAG);
    e.e_ident[EI_CLASS] = ELFCLASS64;
    e.e_ident[EI_DATA] = *(const char *)&one ? ELFDATA2LSB : ELFDATA2MSB;
    e.e_ident[EI_VERSION] = EV_CURRENT;
    e.e_shoff = end;
    e.e_shnum = (Elf64_Half)(h - headers);
    e.e_shstrndx = (Elf64_Half)(e.e_shnum - 1);
    written = written && symbols_write(fd, &e, sizeof e, 0) &&
              symbols_write(fd, headers, e.e_shnum * sizeof *headers, end);
    free(text.data);
    if (written) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

static int dwp_entry_order(const void *a, const void *b) {
    const dwp_entry *x = a, *y = b;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Reads the index. Returns why it cannot be read, or NULL. Its hash table is read as a list, because a search in a
   damaged one might loop for ever. */
static const char *dwp_read_index(symbols_dwp *d) {
    dwp_bytes index = d->sections[DWP_INDEX], rows;
    uint32_t slots;
    uint64_t most;
    if (!index.size) return "has no .debug_cu_index, which each .dwp file needs";
    if (index.size < 16) return "has a truncated .debug_cu_index";
    d->version = (uint32_t)dwp_number(index.data, 4);
    if (d->version != 2) d->version = (uint32_t)dwp_number(index.data, 2);
    if (d->version != 2 && d->version != 5) return "has a .debug_cu_index of a version that is neither 2 nor 5";
    d->columns = dwp_word(index, 1);
    d->rows = dwp_word(index, 2);
    slots = dwp_word(index, 3);
    most = (index.size - 16) / 4;
    if (slots > most / 3 || d->columns > most - 3ull * slots ||
        (d->columns && d->rows > (most - 3ull * slots - d->columns) / 2 / d->columns))
        return "has a .debug_cu_index that claims more units than it has bytes for";
    rows = (dwp_bytes){ index.data + 16 + 8ull * slots, 4ull * slots };
    d->entries = needed(malloc((slots + 1ull) * sizeof *d->entries));
    for (uint32_t i = 0; i < slots; i++) {
        uint32_t row = dwp_word(rows, i);
        if (!row) continue;
        if (row > d->rows) return "has a .debug_cu_index that names more units than it has";
        d->entries[d->entry_count++] = (dwp_entry){ dwp_number(index.data + 16 + 8ull * i, 8), row };
    }
    if (d->entry_count) qsort(d->entries, d->entry_count, sizeof *d->entries, dwp_entry_order);
    return NULL;
}

/* False: the file does not exist. */
static bool dwp_open(symbols_dwp *d, const char *path) {
    const unsigned one = 1;
    const char *why = "is not an ELF file of this byte order", *ident;
    d->fd = symbols_unpacked(open(path, O_RDONLY | O_CLOEXEC));
    if (d->fd < 0) return false;
    d->path = needed(strdup(path));
    elf_version(EV_CURRENT);
    d->elf = elf_begin(d->fd, ELF_C_READ_MMAP, NULL);
    ident = d->elf && elf_kind(d->elf) == ELF_K_ELF ? elf_getident(d->elf, NULL) : NULL;
    if (ident && ident[EI_DATA] == (*(const char *)&one ? ELFDATA2LSB : ELFDATA2MSB)) {
        for (int i = 0; i < DWP_SECTIONS; i++) {
            d->sections[i] = dwp_section(d->elf, dwp_names[i]);
            d->size += d->sections[i].size;
        }
        why = dwp_read_index(d);
    }
    if (!why) return true;
    display(stderr, "heapdump: %s %s: it is ignored\n", path, why);
    d->entry_count = 0;
    return true;
}

/* Opens the .dwp in the directory of the object, or of the file with its debug information. */
symbols_dwp *symbols_dwp_open(const symbols_elf *o, Dwarf *program) {
    symbols_dwp *d = needed(calloc(1, sizeof *d));
    const char *files[3] = { o->path, NULL, NULL };
    d->fd = d->slot = -1;
    d->program = program;
    dwfl_module_info(o->module, NULL, NULL, NULL, NULL, NULL, &files[1], &files[2]);
    for (int i = 0; i < 3 && !d->path; i++) {
        FREED char *path = NULL;
        if (!files[i]) continue;
        if (asprintf(&path, "%s.dwp", files[i]) < 0) needed(NULL);
        dwp_open(d, path);
    }
    return d;
}

const char *symbols_dwp_path(const symbols_dwp *d) { return d->path; }

static uint32_t dwp_row(const symbols_dwp *d, uint64_t id) {
    size_t low = KEYS_BELOW(d->entries, d->entry_count, id, id);
    return low < d->entry_count && d->entries[low].id == id ? d->entries[low].row : HD_NONE;
}

static uint64_t dwp_attribute(Dwarf_Die *die, unsigned name) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    dwarf_formudata(dwarf_attr(die, name, &attribute), &value);
    return value;
}

/* Appends a second skeleton, in the form that the abbreviations in dwp_begin describe. */
static void dwp_put_skeleton(dwp_buffer *b, Dwarf_Die *die, const char *file, uint64_t id, bool is_5, uint8_t width) {
    Dwarf_Attribute attribute;
    const char *directory = dwarf_formstring(dwarf_attr(die, DW_AT_comp_dir, &attribute));
    size_t start = b->size;
    uint32_t length;
    Dwarf_Addr low = 0;
    dwarf_lowpc(die, &low);
    if (!directory) directory = "";
    dwp_put_number(b, 0, 4);
    dwp_put_number(b, is_5 ? 5 : 4, 2);
    if (is_5) {
        dwp_put_number(b, DW_UT_skeleton, 1);
        dwp_put_number(b, width, 1);
    }
    dwp_put_number(b, 0, 4);
    if (is_5) dwp_put_number(b, id, 8);
    else dwp_put_number(b, width, 1);
    dwp_put_number(b, is_5 ? 1 : 2, 1);
    dwp_put(b, file, strlen(file) + 1);
    dwp_put_number(b, low, width == 4 ? 4 : 8);
    dwp_put_number(b, dwp_attribute(die, is_5 ? DW_AT_addr_base : DW_AT_GNU_addr_base), 8);
    dwp_put_number(b, dwp_attribute(die, is_5 ? DW_AT_rnglists_base : DW_AT_GNU_ranges_base), 8);
    if (!is_5) {
        dwp_put_number(b, id, 8);
        dwp_put_number(b, dwp_attribute(die, DW_AT_stmt_list), 4);
        dwp_put(b, directory, strlen(directory) + 1);
    }
    length = (uint32_t)(b->size - start - 4);
    memcpy(b->data + start, &length, 4);
}

/* Makes the second skeleton of a unit. It names the .dwo file `file`; NULL means the unit's part of the .dwp. Returns
   the unit's number; HD_NONE if the .dwp does not have the unit. */
uint32_t symbols_dwp_add(symbols_dwp *d, Dwarf_CU *cu, const char *file) {
    dwp_unit unit = { .row = HD_NONE };
    Dwarf_Half version;
    Dwarf_Die die;
    uint8_t width, type;
    char slot[32];
    if (dwarf_cu_info(cu, &version, &type, &die, NULL, &unit.id, &width, NULL)) return HD_NONE;
    if (version < 5) unit.id = dwp_attribute(&die, DW_AT_GNU_dwo_id);
    if (!file && (unit.row = dwp_row(d, unit.id)) == HD_NONE) return HD_NONE;
    if (d->slot < 0 && (d->slot = memfd_create("symbols", MFD_CLOEXEC)) < 0) return HD_NONE;
    snprintf(slot, sizeof slot, "/proc/self/fd/%d", d->slot);
    dwp_put_skeleton(&d->info, &die, file ? file : slot, unit.id, version >= 5, width);
    unit.lines = type != DW_UT_skeleton;
    d->lines |= unit.lines;
    d->units = symbols_room(d->units, d->unit_count, &d->unit_capacity, sizeof *d->units);
    d->units[d->unit_count] = unit;
    return (uint32_t)d->unit_count++;
}

/* Opens all second skeletons, with the program's addresses and ranges, and its lines if a unit needs them. */
static void dwp_begin(symbols_dwp *d) {
    static const unsigned char abbreviations[] = {
        1, DW_TAG_skeleton_unit, DW_CHILDREN_no, DW_AT_dwo_name, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr,
        DW_AT_addr_base, DW_FORM_data8, DW_AT_rnglists_base, DW_FORM_data8, 0, 0,
        /* DW_AT_GNU_dwo_name, _addr_base, _ranges_base and _dwo_id take two bytes */
        2, DW_TAG_compile_unit, DW_CHILDREN_no, 0xb0, 0x42, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr,
        0xb3, 0x42, DW_FORM_data8, 0xb2, 0x42, DW_FORM_data8, 0xb1, 0x42, DW_FORM_data8,
        DW_AT_stmt_list, DW_FORM_sec_offset, DW_AT_comp_dir, DW_FORM_string, 0, 0, 0
    };
    static const char *const names[] = { ".debug_info", ".debug_abbrev", ".debug_addr", ".debug_ranges",
                                         ".debug_rnglists", ".debug_line" };
    dwp_bytes sections[6] = { { d->info.data, d->info.size }, { abbreviations, sizeof abbreviations } };
    Elf *elf = dwarf_getelf(d->program);
    Dwarf_CU *cu = NULL;
    int fd;
    d->begun = true;
    for (int i = 2; i < 5 + d->lines; i++) sections[i] = dwp_section(elf, names[i]);
    fd = dwp_image(names, sections, 6);
    d->skeletons = fd >= 0 ? dwarf_begin(fd, DWARF_C_READ) : NULL;
    if (fd >= 0) close(fd);
    for (size_t i = 0; d->skeletons && i < d->unit_count; i++)
        if (dwarf_get_units(d->skeletons, cu, &cu, NULL, NULL, NULL, NULL)) break;
        else d->units[i].cu = cu;
}

/* The size of the header of a unit's table of offsets, and the width of an offset. */
static size_t dwp_offsets(const symbols_dwp *d, dwp_bytes table, size_t *width) {
    *width = 4;
    if (d->version < 5 || table.size < 8) return 0;
    if (dwp_word(table, 0) != 0xffffffff) return dwp_number(table.data + 4, 2) == 5 ? 8 : 0;
    if (table.size < 16 || dwp_number(table.data + 12, 2) != 5) return 0;
    *width = 8;
    return 16;
}

/* Copies the strings of one unit, and its offsets changed to match. Returns all strings if the copy would not be
   smaller. */
static void dwp_strings(const symbols_dwp *d, dwp_bytes *offsets, dwp_bytes *strings, dwp_buffer *own) {
    dwp_bytes all = d->sections[DWP_STR];
    size_t width, start = dwp_offsets(d, *offsets, &width);
    *strings = all;
    dwp_put(&own[0], offsets->data, offsets->size);
    for (size_t i = start; i + width <= offsets->size; i += width) {
        uint64_t at = dwp_number(offsets->data + i, width), to = own[1].size;
        size_t length = at < all.size ? strnlen((const char *)all.data + at, all.size - (size_t)at) + 1 : 0;
        if (length > all.size - own[1].size) return;
        if (!length || length > all.size - at) to = UINT64_MAX; /* keep it out of range, as in the file */
        else dwp_put(&own[1], all.data + at, length);
        memcpy(own[0].data + i, &to, width);
    }
    *offsets = (dwp_bytes){ own[0].data, own[0].size };
    *strings = (dwp_bytes){ own[1].data, own[1].size };
}

/* The part of a section that belongs to a unit; false if the index names a part outside the section. */
static bool dwp_part(const symbols_dwp *d, uint32_t row, int part, dwp_bytes *found) {
    dwp_bytes index = d->sections[DWP_INDEX], all = d->sections[part];
    uint32_t slots = dwp_word(index, 3), column = 0, offset, size;
    size_t names = 4 + 3ull * slots, cell;
    *found = (dwp_bytes){ 0 };
    while (column < d->columns && dwp_word(index, names + column) != dwp_columns[d->version == 5][part]) column++;
    if (column == d->columns) return true;
    cell = names + d->columns + (size_t)(row - 1) * d->columns + column;
    offset = dwp_word(index, cell);
    size = dwp_word(index, cell + (size_t)d->rows * d->columns);
    if (offset > all.size || size > all.size - offset) return false;
    *found = (dwp_bytes){ all.data + offset, size };
    return true;
}

static int dwp_unit_file(symbols_dwp *d, uint32_t row) {
    dwp_bytes parts[DWP_PARTS + 1];
    dwp_buffer own[2] = { { 0 } };
    size_t size = 0;
    int fd = -1;
    for (int i = 0; i < DWP_PARTS; i++)
        if (!dwp_part(d, row, i, &parts[i])) return -1;
    if (parts[DWP_RNGLISTS].size < 12) parts[DWP_RNGLISTS].size = 0; /* libdw does not check its size */
    dwp_strings(d, &parts[DWP_STR_OFFSETS], &parts[DWP_STR], own);
    for (int i = 0; i <= DWP_PARTS; i++) size += parts[i].size;
    if (size <= DWP_MOST * d->size - d->taken) {
        d->taken += size;
        fd = dwp_image(dwp_names, parts, DWP_PARTS + 1);
    }
    free(own[0].data);
    free(own[1].data);
    return fd;
}

/* Gives a unit the tree that its second skeleton names. If that fails, the unit keeps its own tree. */
void symbols_dwp_read(symbols_dwp *d, uint32_t number, symbols_unit *to) {
    const dwp_unit *unit = &d->units[number];
    bool is_packed = unit->row != HD_NONE, named = true;
    Dwarf_Die die, tree = { 0 };
    if (!d->begun) dwp_begin(d);
    if (unit->cu && is_packed) {
        int fd = dwp_unit_file(d, unit->row);
        named = fd >= 0 && dup3(fd, d->slot, O_CLOEXEC) >= 0;
        if (fd >= 0) close(fd);
    }
    if (unit->cu && dwarf_cu_info(unit->cu, NULL, NULL, &die, named ? &tree : NULL, NULL, NULL, NULL) == 0) {
        if (unit->lines) to->die = die;
        if (tree.addr) to->tree = tree;
    }
    if (tree.addr || !is_packed || d->told) return;
    d->told = true;
    display(stderr, "heapdump: %s: the unit with id %016llx is damaged: it is ignored\n", d->path,
            (unsigned long long)unit->id);
}

void symbols_dwp_close(symbols_dwp *d) {
    if (!d) return;
    dwarf_end(d->skeletons);
    elf_end(d->elf);
    if (d->fd >= 0) close(d->fd);
    if (d->slot >= 0) close(d->slot);
    free(d->info.data);
    free(d->units);
    free(d->entries);
    free(d->path);
    free(d);
}
