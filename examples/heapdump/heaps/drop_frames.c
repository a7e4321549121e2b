/* drop_frames and keep_frames of pprof profiles: regular expressions for functions that pprof hides, with their
   callees. Profiles are hostile, so matching keeps a set of states and takes bounded time. */

#include "heaps.h"

enum { PATTERN_MOST = 8192, DEPTH_MOST = 100 };
#define STEPS_MOST ((uint64_t)1 << 28) /* of matching, in all profiles of a command: less than a second */

typedef struct instruction {
    enum { BYTES, SPLIT, MATCHED } what;
    int32_t to[2];               /* SPLIT: both next instructions, relative to this one */
    uint8_t set[32];             /* BYTES: any of these, a bit each */
} instruction;

/* A pattern as a nondeterministic automaton: a state is the index of an instruction. */
typedef struct machine {
    instruction *code;
    size_t count;
    const char *at, *end;        /* of the pattern, while it is read */
    uint32_t *now, *next, *stack; /* states */
    uint64_t *seen;              /* by state, the step in which it was reached */
    uint64_t step;
} machine;

static void put_at(machine *m, size_t at, instruction i) {
    ONE_MORE(m->code, m->count);
    memmove(m->code + at + 1, m->code + at, (m->count - at) * sizeof *m->code);
    m->code[at] = i;
    m->count++;
}

static void put_split(machine *m, size_t at, int32_t first, int32_t second) {
    put_at(m, at, (instruction){ .what = SPLIT, .to = { first, second } });
}

static void add_range(instruction *i, unsigned from, unsigned to) {
    for (unsigned c = from; c <= to; c++) i->set[c / 8] |= (uint8_t)(1u << c % 8);
}

static void invert(instruction *i) {
    for (size_t k = 0; k < sizeof i->set; k++) i->set[k] = (uint8_t)~i->set[k];
}

/* The character class of an escape, "\\w". */
static bool read_escape(machine *m, instruction *i) {
    char c = *m->at++;
    switch (c) {
    case 'd': case 'D': add_range(i, '0', '9'); break;
    case 's': case 'S': add_range(i, '\t', '\r'), add_range(i, ' ', ' '); break;
    case 'w': case 'W':
        add_range(i, '0', '9'), add_range(i, 'a', 'z'), add_range(i, 'A', 'Z'), add_range(i, '_', '_');
        break;
    default:
        add_range(i, (unsigned char)c, (unsigned char)c);
        return (c & 0x80) || !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'));
    }
    if (c < 'a') invert(i);
    return true;
}

/* "a-z_]" */
static bool read_class(machine *m, instruction *i) {
    bool inverted = m->at < m->end && *m->at == '^', first = true;
    m->at += inverted;
    for (; m->at < m->end && (*m->at != ']' || first); first = false) {
        unsigned char c = (unsigned char)*m->at++;
        if (c == '[' && m->at < m->end && *m->at == ':') return false;
        if (c == '\\') {
            if (m->at == m->end || !read_escape(m, i)) return false;
        } else if (m->end - m->at > 1 && *m->at == '-' && m->at[1] != ']') {
            unsigned char last = (unsigned char)m->at[1];
            if (last < c || last == '\\') return false;
            add_range(i, c, last);
            m->at += 2;
        } else {
            add_range(i, c, c);
        }
    }
    if (m->at == m->end) return false;
    m->at++;
    if (inverted) invert(i);
    return true;
}

static bool read_choice(machine *m, unsigned depth);

/* A character, class or group; the caller reads its "*", "+" or "?". */
static bool read_one(machine *m, unsigned depth) {
    instruction i = { .what = BYTES };
    char c = *m->at++;
    if (c == '(') {
        if (m->end - m->at > 1 && !memcmp(m->at, "?:", 2)) m->at += 2;
        if (depth == DEPTH_MOST || !read_choice(m, depth + 1) || m->at == m->end) return false;
        return *m->at++ == ')';
    }
    if (c == '^' || c == '$') return true; /* all of a name is compared */
    if (c == '*' || c == '+' || c == '?' || c == '{') return false;
    if (c == '\\') {
        if (m->at == m->end || !read_escape(m, &i)) return false;
    } else if (c == '[') {
        if (!read_class(m, &i)) return false;
    } else if (c == '.') {
        add_range(&i, 0, 255);
    } else {
        add_range(&i, (unsigned char)c, (unsigned char)c);
    }
    put_at(m, m->count, i);
    return true;
}

static bool read_sequence(machine *m, unsigned depth) {
    while (m->at < m->end && *m->at != '|' && *m->at != ')') {
        size_t from = m->count;
        if (!read_one(m, depth)) return false;
        for (; m->at < m->end && strchr("*+?", *m->at) && *m->at; m->at++) {
            int32_t size = (int32_t)(m->count - from);
            if (*m->at == '+') put_split(m, m->count, -size, 1);
            if (*m->at == '*') put_split(m, m->count, -size, 1);
            if (*m->at != '+') put_split(m, from, 1, (int32_t)(m->count - from) + 1);
        }
    }
    return true;
}

static bool read_choice(machine *m, unsigned depth) {
    size_t from = m->count, count = 0;
    FREED size_t *ends = NULL;
    bool good = read_sequence(m, depth);
    while (good && m->at < m->end && *m->at == '|') {
        m->at++;
        put_split(m, from, 1, (int32_t)(m->count - from) + 2);
        put_split(m, m->count, 0, 0);
        ONE_MORE(ends, count);
        ends[count++] = m->count - 1;
        from = m->count;
        good = read_sequence(m, depth);
    }
    for (size_t i = 0; i < count; i++)
        m->code[ends[i]].to[0] = m->code[ends[i]].to[1] = (int32_t)(m->count - ends[i]);
    return good;
}

static void machine_free(machine *m) { free(m->code), free(m->now), free(m->next), free(m->stack), free(m->seen); }

/* False: the pattern is too long, or uses syntax that is not supported here. */
static bool machine_make(machine *m, hd_str text) {
    *m = (machine){ .at = text.data, .end = text.data + text.len };
    if (text.len > PATTERN_MOST || !read_choice(m, 0) || m->at < m->end) return machine_free(m), false;
    put_at(m, m->count, (instruction){ .what = MATCHED });
    m->now = needed(calloc(m->count, sizeof *m->now));
    m->next = needed(calloc(m->count, sizeof *m->next));
    m->stack = needed(calloc(2 * m->count + 2, sizeof *m->stack));
    m->seen = needed(calloc(m->count, sizeof *m->seen));
    return true;
}

/* Adds a state and its epsilon closure. */
static void reach(machine *m, uint32_t state, uint32_t *states, size_t *count) {
    size_t depth = 0;
    m->stack[depth++] = state;
    while (depth) {
        uint32_t s = m->stack[--depth];
        if (m->seen[s] == m->step) continue;
        m->seen[s] = m->step;
        if (m->code[s].what == SPLIT)
            for (int i = 2; i--;) m->stack[depth++] = (uint32_t)((int64_t)s + m->code[s].to[i]);
        else states[(*count)++] = s;
    }
}

/* Whether the pattern matches the whole name. *left is the budget of steps. */
static bool matches(machine *m, hd_str name, uint64_t *left) {
    size_t count = 0;
    bool found = false;
    m->step++;
    reach(m, 0, m->now, &count);
    for (size_t i = 0; i < name.len && count; i++) {
        unsigned char c = (unsigned char)name.data[i];
        size_t n = 0;
        if (*left < m->count) return *left = 0, false;
        *left -= m->count;
        m->step++;
        for (size_t k = 0; k < count; k++) {
            const instruction *at = &m->code[m->now[k]];
            if (at->what == BYTES && at->set[c / 8] >> c % 8 & 1) reach(m, m->now[k] + 1, m->next, &n);
        }
        uint32_t *swap = m->now;
        m->now = m->next, m->next = swap;
        count = n;
    }
    for (size_t k = 0; k < count; k++) found |= m->code[m->now[k]].what == MATCHED;
    return found;
}

/* The name without parameters, as pprof compares it. */
static hd_str plain(hd_str name) {
    static const char anonymous[] = "(anonymous namespace)";
    if (name.len && *name.data == '.') name.data++, name.len--;
    for (size_t i = 0; i < name.len; i++) {
        size_t left = name.len - i;
        if (name.data[i] != '(') continue;
        if (left >= sizeof anonymous - 1 && !memcmp(name.data + i, anonymous, sizeof anonymous - 1))
            i += sizeof anonymous - 2;
        else if (i >= 8 && !memcmp(name.data + i - 8, "operator", 8) && left > 1 && name.data[i + 1] == ')') i++;
        else name.len = i;
    }
    return name;
}

/* The patterns of a dump. */
typedef struct drops {
    hd_str drop, keep;
} drops;

static hd_status take_fact(void *user, const hd_fact *fact) {
    drops *d = user;
    hd_str *to = !strcmp(fact->name, "drop frames") ? &d->drop : !strcmp(fact->name, "keep frames") ? &d->keep : NULL;
    if (to && !to->data) {
        char *copy = needed(malloc(fact->text.len + 1));
        memcpy(copy, fact->text.data, fact->text.len); /* the text may contain NUL */
        *to = (hd_str){ copy, fact->text.len };
    }
    return HD_OK;
}

/* Warns once. */
static void warn_unused(const char *why) {
    static bool warned;
    if (!warned) display(stderr, "heapdump: warning: drop_frames of the profile %s, so it hides no frames\n", why);
    warned = true;
}

/* Marks hidden nodes of the backtrace. Like pprof, never hides a frame above the first user frame. */
static bool *cut_nodes(const hd_axis *axis, machine *drop, machine *keep, size_t *dropped) {
    bool *cut = needed(calloc(axis->node_count, sizeof *cut));
    FREED bool *inside = needed(calloc(axis->node_count, sizeof *inside));
    static uint64_t left = STEPS_MOST;
    for (uint32_t i = 1; i < axis->node_count; i++) {
        hd_str name = plain(hd_frame_parse(axis->node_name[i]).function);
        bool matched = false;
        cut[i] = cut[axis->parent[i]];
        if (!cut[i]) matched = matches(drop, name, &left) && !(keep && matches(keep, name, &left));
        inside[i] = inside[axis->parent[i]] || !matched;
        cut[i] |= matched && inside[axis->parent[i]];
        *dropped += cut[i];
    }
    if (!left) memset(cut, 0, axis->node_count * sizeof *cut), *dropped = 0, warn_unused("takes too long to match");
    return cut;
}

hd_status without_nodes(const hd_profile *from, const bool *cut, hd_profile **out, hd_error *err) {
    hd_profile_desc desc = { .axis_count = hd_profile_axis_count(from) };
    hd_rows cells = hd_profile_cells(from);
    uint32_t *map[HD_MAX_AXES] = { NULL }, nodes[HD_MAX_AXES];
    hd_profile *p;
    hd_status status;
    for (uint32_t a = 0; a < desc.axis_count; a++) desc.axis_name[a] = hd_profile_axis(from, a).name;
    p = hd_profile_create(&desc, err);
    status = p ? HD_OK : err->status;
    for (uint32_t a = 0; a < desc.axis_count && !status; a++) {
        hd_axis axis = hd_profile_axis(from, a);
        map[a] = needed(calloc(axis.node_count, sizeof **map));
        for (uint32_t i = 1; i < axis.node_count && !status; i++) {
            map[a][i] = map[a][axis.parent[i]];
            if (a || !cut[i]) status = hd_profile_node(p, a, map[a][i], axis.node_name[i], &map[a][i], err);
        }
    }
    for (uint32_t i = 0; i < cells.count && !status; i++) {
        for (uint32_t a = 0; a < desc.axis_count; a++) nodes[a] = map[a][cells.node[(size_t)i * desc.axis_count + a]];
        status = hd_profile_add_amount(p, nodes, &cells.amount[i], err);
    }
    for (uint32_t a = 0; a < desc.axis_count; a++) free(map[a]);
    if (status) hd_profile_free(p);
    else *out = p;
    return status;
}

hd_status without_drop_frames(const hd_dump *dump, const hd_heap *heap, size_t *hidden, hd_profile **out,
                              hd_error *err) {
    drops d = { .drop = { NULL, 0 } };
    machine drop, keep;
    bool any, keeps;
    size_t dropped = 0;
    hd_status status = heap->profile && hd_dump_format(dump)->info ? hd_dump_facts(dump, take_fact, &d, err) : HD_OK;
    *out = NULL;
    any = !status && d.drop.len && machine_make(&drop, d.drop);
    keeps = any && d.keep.len && machine_make(&keep, d.keep);
    if ((d.drop.len && !any) || (any && d.keep.len && !keeps)) warn_unused("is not supported");
    if (any && (!d.keep.len || keeps)) {
        hd_axis axis = hd_profile_axis(heap->profile, HD_AXIS_BACKTRACE);
        bool *cut = cut_nodes(&axis, &drop, keeps ? &keep : NULL, &dropped);
        if (dropped) status = without_nodes(heap->profile, cut, out, err);
        free(cut);
    }
    if (any) machine_free(&drop);
    if (keeps) machine_free(&keep);
    free((char *)d.drop.data), free((char *)d.keep.data);
    if (!status) *hidden += dropped;
    return status;
}
