/* Private to hprof.c: classes, their fields, and where the references of an instance are. */
#ifndef HEAPDUMP_HPROF_CLASSES_H
#define HEAPDUMP_HPROF_CLASSES_H

#include "hprof_in.h"

enum { HPROF_UNREADY, HPROF_READY, HPROF_BROKEN }; /* hprof_class.state */
enum { HPROF_DEPTH = 4096 };     /* of super classes */

/* Names of the references that every class object has. */
enum { HPROF_SUPER, HPROF_LOADER, HPROF_SIGNERS, HPROF_DOMAIN, HPROF_CLASS_NAME };

/* "java/lang/String" -> "java.lang.String", "[[I" -> "int[][]". Returns its length; `to` may be too small. */
HD_UNUSED static size_t hprof_class_name(hd_str name, char *to, size_t room) {
    static const char *const types[][2] = { { "Z", "boolean" }, { "C", "char" }, { "F", "float" }, { "D", "double" },
                                            { "B", "byte" }, { "S", "short" }, { "I", "int" }, { "J", "long" } };
    size_t ranks = 0, n = 0;
    const char *of = NULL;
    while (ranks < name.len && name.data[ranks] == '[') ranks++;
    if (ranks && ranks == name.len) ranks = 0;
    name.data += ranks, name.len -= ranks;
    for (size_t i = 0; i < sizeof types / sizeof *types && ranks; i++)
        if (name.len == 1 && *name.data == *types[i][0]) of = types[i][1];
    if (of) name = hd_cstr(of);
    else if (ranks && name.len > 2 && *name.data == 'L' && name.data[name.len - 1] == ';') name.data++, name.len -= 2;
    for (size_t i = 0; i < name.len; i++, n++)
        if (n < room) to[n] = name.data[i] == '/' ? '.' : name.data[i];
    for (size_t i = 0; i < 2 * ranks; i++, n++)
        if (n < room) to[n] = i % 2 ? ']' : '[';
    return n;
}

/* Sets the name of a class in the graph. */
HD_UNUSED static bool hprof_name_class(hprof *h, uint32_t in_graph, uint64_t id, hd_str name, hd_str scope) {
    hd_class desc = HD_ZERO;
    char buffer[512], *to = buffer;
    size_t n = hprof_class_name(name, buffer, sizeof buffer), room = 0;
    if (n > sizeof buffer) {
        to = NULL;
        if (!room_grow(&h->lines, &to, 0, n, &room, 1)) return hprof_fail(h);
        hprof_class_name(name, to, n);
    }
    desc.id = id;
    desc.name = (hd_str){ to, n };
    desc.scope = scope;
    desc.described = true;
    h->status = hd_graph_set_class(h->graph, in_graph, &desc, h->lines.err);
    room_free(&h->lines, room ? to : NULL, room, 1);
    return !h->status;
}

HD_UNUSED static bool hprof_graph_class(hprof *h, uint64_t id, uint32_t *in_graph) {
    hd_class desc = HD_ZERO;
    desc.id = id;
    desc.name = desc.scope = hd_cstr("");
    desc.described = true;
    h->status = hd_graph_add_class(h->graph, &desc, in_graph, h->lines.err);
    return !h->status;
}

/* The class of primitive arrays of a type. */
HD_UNUSED static bool hprof_primitive(hprof *h, uint32_t type, uint32_t *in_graph) {
    static const char *const names[HPROF_TYPES] = { 0, 0, 0, 0, "[Z", "[C", "[F", "[D", "[B", "[S", "[I", "[J" };
    if (!h->primitive[type])
        if (!hprof_graph_class(h, 0, &h->primitive[type]) ||
            !hprof_name_class(h, h->primitive[type], 0, hd_cstr(names[type]), hd_cstr("")))
            return false;
    *in_graph = h->primitive[type];
    return true;
}

/* The class of class objects, also if the file names it only later. */
HD_UNUSED static bool hprof_mirror(hprof *h, uint32_t *in_graph) {
    if (!h->class_class && !hprof_graph_class(h, 0, &h->class_class)) return false;
    *in_graph = h->class_class;
    return true;
}

/* The type of a primitive array's class, or 0. */
HD_UNUSED static uint32_t hprof_array_type(hd_str name) {
    static const char *const names[HPROF_TYPES][2] = {
        { 0 }, { 0 }, { 0 }, { 0 }, { "[Z", "boolean[]" }, { "[C", "char[]" }, { "[F", "float[]" },
        { "[D", "double[]" }, { "[B", "byte[]" }, { "[S", "short[]" }, { "[I", "int[]" }, { "[J", "long[]" } };
    if (name.len < 2 || (*name.data != '[' && name.data[name.len - 1] != ']')) return 0;
    for (uint32_t t = HPROF_BOOLEAN; t < HPROF_TYPES; t++)
        if (hprof_same(name, names[t][0]) || hprof_same(name, names[t][1])) return t;
    return 0;
}

/* The class with an id; a new one if the file has not named it. HPROF_NONE: no memory. */
HD_UNUSED static uint32_t hprof_class_at(hprof *h, uint64_t id, uint64_t name) {
    uint32_t i = hprof_map_get(h, &h->class_of, id), type;
    hprof_class *c;
    if (i != HPROF_NONE) {
        if (name && !h->classes[i].name) h->classes[i].name = name;
        return i;
    }
    if (!ROOM(&h->lines, h->classes, h->class_count, 1, h->class_room)) return hprof_fail(h), HPROF_NONE;
    c = &h->classes[i = (uint32_t)h->class_count];
    memset(c, 0, sizeof *c);
    c->id = id;
    c->name = name;
    c->object = c->up = c->over = HPROF_NONE;
    c->number_at[0] = c->number_at[1] = c->object_at[0] = c->object_at[1] = HPROF_NONE;
    type = hprof_array_type(hprof_string(h, name));
    if (type                                     ? !hprof_primitive(h, type, &c->in_graph)
        : hprof_is(h, name, "java/lang/Class") ? !hprof_mirror(h, &c->in_graph)
                                                 : !hprof_graph_class(h, id, &c->in_graph))
        return HPROF_NONE;
    if (!hprof_map_put(h, &h->class_of, id, i)) return HPROF_NONE;
    h->class_count++;
    return i;
}

/* The number in the graph of a name of fields. */
HD_UNUSED static bool hprof_field_name(hprof *h, uint64_t id, hd_str before, uint32_t *number) {
    uint32_t known = before.len ? HPROF_NONE : hprof_map_get(h, &h->name_of, id);
    hd_str text = hprof_string(h, id);
    char buffer[512];
    if (known != HPROF_NONE) return *number = known, true;
    if (before.len) { /* a static field: Class.field */
        size_t n = hprof_class_name(before, buffer, sizeof buffer - 1);
        if (n < sizeof buffer - 1 - text.len && text.len < sizeof buffer) {
            buffer[n++] = '.';
            memcpy(buffer + n, text.data, text.len);
            text = (hd_str){ buffer, n + text.len };
        }
    }
    h->status = hd_graph_add_name(h->graph, text, number, h->lines.err);
    if (!before.len && hd_str_equal(text, hd_cstr("referent"))) h->referent_name = *number;
    return !h->status && (before.len || hprof_map_put(h, &h->name_of, id, *number));
}

/* The rule for a class, or NULL. */
HD_UNUSED static const hprof_rule *hprof_rule_of(hd_str name) {
    static const hprof_rule rules[] = {
        { "java/lang/String", HPROF_STRING, { "coder" }, { "value" }, 1 },
        { "java/lang/Integer", HPROF_BOXED, { "value" }, { 0 }, 1 },
        { "java/lang/Long", HPROF_BOXED, { "value" }, { 0 }, 1 },
        { "java/lang/Short", HPROF_BOXED, { "value" }, { 0 }, 1 },
        { "java/lang/Byte", HPROF_BOXED, { "value" }, { 0 }, 1 },
        { "java/lang/Character", HPROF_BOXED, { "value" }, { 0 }, 1 },
        { "java/lang/Boolean", HPROF_BOXED, { "value" }, { 0 }, 1 },
        { "java/lang/Float", HPROF_BOXED, { "value" }, { 0 }, 1 },
        { "java/lang/Double", HPROF_BOXED, { "value" }, { 0 }, 1 },
        { "java/lang/Enum", HPROF_NAMED, { 0 }, { "name" }, 1 },
        { "java/lang/Thread", HPROF_THREAD, { "threadStatus" }, { "name", "holder" }, 1 },
        { "java/lang/Thread$FieldHolder", HPROF_HOLDER, { "threadStatus" }, { 0 }, 1 },
        { "java/util/ArrayList", HPROF_COUNTED, { "size" }, { "elementData" }, 1 },
        { "java/util/ArrayDeque", HPROF_DEQUE, { "head", "tail" }, { "elements" }, 1 },
        { "java/util/EnumMap", HPROF_COUNTED, { "size" }, { "vals" }, 1 },
        { "java/util/HashMap", HPROF_COUNTED, { "size" }, { "table" }, 1 },
        { "java/util/HashSet", HPROF_WRAPPED, { 0 }, { "map" }, 1 },
        { "java/util/Hashtable", HPROF_COUNTED, { "count" }, { "table" }, 1 },
        { "java/util/IdentityHashMap", HPROF_COUNTED, { "size" }, { "table" }, 2 }, /* key and value in turn */
        { "java/util/LinkedList", HPROF_COUNTED, { "size" }, { 0 }, 1 },
        { "java/util/PriorityQueue", HPROF_COUNTED, { "size" }, { "queue" }, 1 },
        { "java/util/Properties", HPROF_WRAPPED, { 0 }, { "map" }, 1 },
        { "java/util/TreeMap", HPROF_COUNTED, { "size" }, { 0 }, 1 },
        { "java/util/TreeSet", HPROF_WRAPPED, { 0 }, { "m" }, 1 },
        { "java/util/Vector", HPROF_COUNTED, { "elementCount" }, { "elementData" }, 1 },
        { "java/util/WeakHashMap", HPROF_COUNTED, { "size" }, { "table" }, 1 },
        { "java/util/concurrent/ConcurrentHashMap", HPROF_COUNTED, { "baseCount" }, { "table" }, 1 },
        { "java/util/concurrent/ConcurrentHashMap$CounterCell", HPROF_BOXED, { "value" }, { 0 }, 1 } };
    if (name.len < 14 || memcmp(name.data, "java", 4)) return NULL;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (hprof_same(name, rules[i].name)) return &rules[i];
    return NULL;
}

/* Finds the fields of a class's own rule. */
HD_UNUSED static void hprof_rule_fields(const hprof *h, hprof_class *c) {
    for (uint32_t i = 0, at = 0; i < c->field_count; i++) {
        uint64_t name = h->field_names[c->field + i];
        uint8_t type = h->field_types[c->field + i];
        for (int k = 0; k < 2; k++) {
            const char *wanted = type == HPROF_OBJECT ? c->rule->object[k] : c->rule->number[k];
            if (!wanted || !hprof_is(h, name, wanted)) continue;
            if (type == HPROF_OBJECT) c->object_at[k] = at;
            else c->number_at[k] = at, c->number_type[k] = type;
        }
        at += hprof_width(h, type);
    }
}

/* Sets how instances of a class hold `referent`, and which kind of value they have. */
HD_UNUSED static void hprof_class_kind(hprof *h, hprof_class *c) {
    static const struct { const char *name; uint8_t holds; } kinds[] = {
        { "java/lang/ref/SoftReference", HPROF_SOFT }, { "java/lang/ref/WeakReference", HPROF_WEAK },
        { "java/lang/ref/PhantomReference", HPROF_WEAK } };
    hd_str name = hprof_string(h, c->name);
    if (c->over != HPROF_NONE) c->holds = h->classes[c->over].holds, c->says = h->classes[c->over].says;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (hprof_same(name, kinds[i].name)) c->holds = kinds[i].holds;
    c->rule = hprof_rule_of(name);
    if (!c->rule) return;
    c->says = c->rule->says;
    hprof_rule_fields(h, c);
}

/* Whether the file has the record of a class so far. */
HD_UNUSED static bool hprof_has_class(const hprof *h, uint64_t id) {
    uint32_t i = hprof_map_get(h, &h->class_of, id);
    return i != HPROF_NONE && h->classes[i].object != HPROF_NONE;
}

/* Notes which super class the classes of a chain lack. Always false. */
HD_UNUSED static bool hprof_lack(hprof *h, const uint32_t *chain, uint32_t n, uint64_t id) {
    while (n--) h->classes[chain[n]].lacks = id;
    return false;
}

/* Finds the super classes of a class. False: the record of one is still missing, or they run in a circle. */
HD_UNUSED static bool hprof_class_ready(hprof *h, uint32_t of) {
    uint32_t chain[HPROF_DEPTH], n = 0, i = of;
    uint64_t sum = 0;
    if (h->classes[of].state) return h->classes[of].state == HPROF_READY;
    for (; i != HPROF_NONE && h->classes[i].state != HPROF_READY; n++) {
        hprof_class *c = &h->classes[i];
        if (c->object == HPROF_NONE) return hprof_lack(h, chain, n, c->id);
        if (c->lacks && !hprof_has_class(h, c->lacks)) return hprof_lack(h, chain, n, c->lacks);
        if (n == HPROF_DEPTH || c->state == HPROF_BROKEN) break;
        chain[n] = i;
        i = c->super ? hprof_map_get(h, &h->class_of, c->super) : HPROF_NONE;
        if (c->super && i == HPROF_NONE) return hprof_lack(h, chain, n + 1, c->super);
    }
    for (uint32_t k = n; k--;) {
        hprof_class *c = &h->classes[chain[k]];
        c->over = k + 1 < n ? chain[k + 1] : i;
        c->state = HPROF_BROKEN;
        if (n == HPROF_DEPTH || (c->over != HPROF_NONE && h->classes[c->over].state != HPROF_READY)) continue;
        sum = c->own_bytes;
        if (c->over != HPROF_NONE) {
            const hprof_class *over = &h->classes[c->over];
            sum += over->bytes;
            c->up = over->field_count ? c->over : over->up;
        }
        if (sum > UINT32_MAX) continue;
        c->bytes = (uint32_t)sum;
        c->state = HPROF_READY;
        hprof_class_kind(h, c);
    }
    return h->classes[of].state == HPROF_READY;
}

#endif
