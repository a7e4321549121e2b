/* Names of functions: linkage names or qualified names, demangled, with file, line and object. */

#include "dwarf.h"

#include <dwarf.h>

/* NULL if the name is not mangled. The caller frees it. */
static char *symbols_demangled(const char *name) {
    char *demangled = name[0] == '_' ? rust_demangle(name, 0) : NULL;
    if (!demangled && name[0] == '_' && name[1] == 'Z') demangled = __cxa_demangle(name, NULL, NULL, NULL);
    return demangled;
}

char *symbols_text(const char *name, const char *file, int line, hd_str object) {
    char *demangled = symbols_demangled(name), *text, place[24] = "";
    const char *slash = object.len ? memrchr(object.data, '/', object.len) : NULL;
    bool has_file = file && line > 0;
    if (slash) object.len -= (size_t)(slash + 1 - object.data), object.data = slash + 1;
    for (size_t i = 0; i < object.len; i++)
        if (object.data[i] == '[' || object.data[i] == ']') object.len = 0; /* hd_frame_parse would not find the
                                                                               object */
    if (has_file) snprintf(place, sizeof place, ":%d)", line);
    if (asprintf(&text, "%s%s%s%s%s%.*s%s", demangled ? demangled : name, has_file ? " (" : "", has_file ? file : "",
                 place, object.len ? " [" : "", (int)object.len, object.len ? object.data : "",
                 object.len ? "]" : "") < 0)
        text = NULL;
    free(demangled);
    return needed(text);
}

/* Scopes of C++. ------------------------------------------------------------------------------- */

void symbols_begin_names(Dwarf_Die *tree, symbols_unit *unit) {
    int language = dwarf_srclang(tree);
    unit->is_cxx = language == DW_LANG_C_plus_plus || language == DW_LANG_C_plus_plus_03 ||
                   language == DW_LANG_C_plus_plus_11 || language == DW_LANG_C_plus_plus_14 ||
                   language == 0x2b || language == 0x2c; /* 17 and 20, which older dwarf.h lack */
}

uint32_t symbols_add_named(symbols_unit *unit, Dwarf_Die *die, uint32_t above) {
    int tag = dwarf_tag(die);
    if (!unit->is_cxx || (tag != DW_TAG_subprogram && tag != DW_TAG_namespace && tag != DW_TAG_class_type &&
                          tag != DW_TAG_structure_type && tag != DW_TAG_union_type)) return above;
    unit->named = symbols_room(unit->named, unit->named_count, &unit->named_capacity, sizeof *unit->named);
    unit->named[unit->named_count] = (symbols_named){ *die, dwarf_dieoffset(die), above, NULL };
    return (uint32_t)unit->named_count++;
}

static symbols_named *symbols_named_at(const symbols_unit *unit, Dwarf_Off offset) {
    size_t low = KEYS_BELOW(unit->named, unit->named_count, offset, offset);
    return low < unit->named_count && unit->named[low].offset == offset ? &unit->named[low] : NULL;
}

static const char *symbols_linkage_name(Dwarf_Die *die) {
    Dwarf_Attribute attribute;
    const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
    return name ? name : dwarf_formstring(dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute));
}

/* One scope's part of a qualified name. Lambdas and other unnamed classes get their line. The caller frees it. */
static char *symbols_part(Dwarf_Die *die) {
    Dwarf_Attribute attribute;
    Dwarf_Word line = 0;
    const char *name = dwarf_diename(die);
    int tag = dwarf_tag(die);
    bool is_lambda = !name || !strncmp(name, "<lambda", 7) || !strncmp(name, "._anon", 6);
    char *part;
    if (tag == DW_TAG_subprogram && symbols_linkage_name(die)) {
        part = symbols_demangled(symbols_linkage_name(die));
        if (part) return part;
    }
    if (tag == DW_TAG_namespace && !name) return needed(strdup("(anonymous namespace)"));
    if (!is_lambda || tag == DW_TAG_subprogram) return needed(strdup(name ? name : "?"));
    dwarf_formudata(dwarf_attr_integrate(die, DW_AT_decl_line, &attribute), &line);
    if (asprintf(&part, "{lambda:%llu}", (unsigned long long)line) < 0)
        part = NULL;
    return needed(part);
}

/* The name of a function, qualified by the scopes around it up to a function with a linkage name. */
static const char *symbols_qualified(symbols_unit *unit, symbols_named *of) {
    enum { MOST = 8 };
    char *text;
    if (of->full) return of->full;
    text = symbols_part(&of->die);
    for (uint32_t at = of->above, n = 0; at != HD_NONE && n < MOST; at = unit->named[at].above, n++) {
        Dwarf_Die *die = &unit->named[at].die;
        char *part = symbols_part(die), *longer;
        if (asprintf(&longer, "%s::%s", part, text) < 0) longer = needed(NULL);
        free(part);
        free(text);
        text = longer;
        if (dwarf_tag(die) == DW_TAG_subprogram && symbols_linkage_name(die)) break;
    }
    return of->full = text;
}

/* The symbol at the start of a function, if it is the mangled name of a whole function (not of a part such as
   .cold). */
static const char *symbols_symbol_of(symbols_elf *o, Dwarf_Die *die) {
    Dwarf_Addr start;
    symbols_frame found = { 0 };
    if (dwarf_lowpc(die, &start) || !symbols_function_at(o, start + o->dwarf_bias, &found)) return NULL;
    return !strncmp(found.name, "_Z", 2) && !strchr(found.name, '.') ? found.name : NULL;
}

const char *symbols_scope_name(symbols_elf *o, symbols_unit *unit, const symbols_scope *scope, bool qualified) {
    Dwarf_Die die = scope->die, origin;
    Dwarf_Attribute attribute;
    symbols_named *named;
    const char *name = symbols_linkage_name(&die);
    if (name || !unit->is_cxx || !qualified) return name ? name : dwarf_diename(&die);
    if (dwarf_tag(&die) == DW_TAG_subprogram) name = symbols_symbol_of(o, &die);
    if (name) return name;
    for (int i = 0; i < 4; i++) {
        if (!dwarf_attr(&die, DW_AT_abstract_origin, &attribute) &&
            !dwarf_attr(&die, DW_AT_specification, &attribute)) break;
        if (!dwarf_formref_die(&attribute, &origin)) break;
        die = origin;
    }
    named = symbols_named_at(unit, dwarf_dieoffset(&die));
    name = dwarf_diename(&die);
    return name && named && named->above != HD_NONE ? symbols_qualified(unit, named) : name;
}

void symbols_free_names(symbols_unit *unit) {
    for (size_t i = 0; i < unit->named_count; i++) free(unit->named[i].full);
    free(unit->named);
}

void symbols_build_id(char text[65], const uint8_t *id, uint32_t size) {
    *text = 0;
    for (uint32_t i = 0; i < size && i < 32; i++) sprintf(text + 2 * i, "%02x", id[i]);
}
