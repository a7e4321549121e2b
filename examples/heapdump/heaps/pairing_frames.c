/* Pairs objects and source paths of two builds, so that the same function has one name, and renames heaps. */

#include "pairing_frames.h"

enum { OBJECTS, PATHS, PARTS };

/* Names of one kind, by their number on an axis of frame_pairs.names. */
typedef struct part_names {
    bool *known;                 /* in an earlier file */
    bool *here;                  /* in the current file */
    uint32_t *to;                /* the new name; the same number if it stays */
    uint32_t *object;            /* of paths: the object of their functions; 0: unknown, HD_NONE: several */
    uint32_t *list, count;       /* names in the current file */
    uint32_t room;
} part_names;

/* The build id of an object in earlier files. */
typedef struct build {
    char *id;
    uint32_t object;
} build;

struct frame_pairs {
    hd_profile *names;
    part_names part[PARTS];
    bool compares;
    uint32_t program;            /* the main program of earlier files; 0: unknown or several */
    uint32_t main;               /* the source path of its main function */
    size_t files;
    build *builds;
    size_t build_count;
};

frame_pairs *frame_pairs_create(bool compares) {
    hd_profile_desc desc = { .axis_count = PARTS, .axis_name = { "object", "path" } };
    frame_pairs *p = needed(calloc(1, sizeof *p));
    p->names = needed(hd_profile_create(&desc, NULL));
    p->compares = compares;
    return p;
}

void frame_pairs_free(frame_pairs *p) {
    if (!p) return;
    hd_profile_free(p->names);
    for (part_names *n = p->part; n < p->part + PARTS; n++) {
        free(n->known), free(n->here), free(n->to);
        free(n->object), free(n->list);
    }
    for (size_t i = 0; i < p->build_count; i++) free(p->builds[i].id);
    free(p->builds);
    free(p);
}

/* Gets the backtrace of a heap; false if axis 0 is another one. */
static bool backtrace_of(const hd_heap *heap, hd_axis *axis) {
    *axis = heap->breakdown ? heap->breakdown->axis[0] : hd_profile_axis(heap->profile, 0);
    return !strcmp(axis->name, "backtrace");
}

static hd_str base_name(hd_str path) {
    size_t at = path.len;
    while (at && !is_separator(path.data[at - 1])) at--;
    return (hd_str){ path.data + at, path.len - at };
}

/* The number of a name; 0 if it is empty. */
static hd_status number_of(frame_pairs *p, uint32_t part, hd_str name, uint32_t *number, hd_error *err) {
    part_names *to = &p->part[part];
    *number = 0;
    if (!name.len) return HD_OK;
    hd_status status = hd_profile_node(p->names, part, 0, name, number, err);
    if (status || *number < to->room) return status;
    uint32_t room = 2 * *number + 8;
    to->known = needed(realloc(to->known, room * sizeof *to->known));
    to->here = needed(realloc(to->here, room * sizeof *to->here));
    to->to = needed(realloc(to->to, room * sizeof *to->to));
    to->object = needed(realloc(to->object, room * sizeof *to->object));
    to->list = needed(realloc(to->list, room * sizeof *to->list));
    for (uint32_t i = to->room; i < room; i++)
        to->known[i] = to->here[i] = false, to->to[i] = i, to->object[i] = 0;
    to->room = room;
    return HD_OK;
}

/* Marks a name as present in the current file; ignores 0. */
static void mark_here(part_names *names, uint32_t number) {
    if (number && !names->here[number]) names->here[number] = true, names->list[names->count++] = number;
}

/* Collects objects and source paths of a heap's frames. *main becomes the source path of main, if a frame has it. */
static hd_status take_names(frame_pairs *p, const hd_heap *heap, uint32_t *main, hd_error *err) {
    hd_axis axis;
    hd_status status = HD_OK;
    if (!backtrace_of(heap, &axis)) return HD_OK;
    for (uint32_t i = 1; i < axis.node_count && !status; i++) {
        hd_frame_parts f = hd_frame_parse(axis.node_name[i]);
        uint32_t object = 0, path = 0;
        status = number_of(p, OBJECTS, f.object, &object, err);
        if (!status) status = number_of(p, PATHS, f.file, &path, err);
        mark_here(&p->part[OBJECTS], object);
        mark_here(&p->part[PATHS], path);
        if (status || !path) continue;
        if (hd_str_equal(f.function, hd_cstr("main"))) *main = path;
        uint32_t *of = &p->part[PATHS].object[path];
        *of = *of && *of != object ? HD_NONE : object;
    }
    return status;
}

/* The main program of a heap: the object with the name of its process, or else the object of main or _start.
   HD_NONE: several. */
static hd_status program_of(frame_pairs *p, const hd_heap *heap, uint32_t *program, hd_error *err) {
    hd_axis axis;
    hd_status status = HD_OK;
    *program = 0;
    if (!backtrace_of(heap, &axis)) return HD_OK;
    if (heap->process) status = number_of(p, OBJECTS, base_name(hd_cstr(heap->process)), program, err);
    if (status || (*program && p->part[OBJECTS].here[*program])) return status;
    *program = 0;
    for (uint32_t i = 1; i < axis.node_count && !status; i++) {
        hd_frame_parts f = hd_frame_parse(axis.node_name[i]);
        uint32_t object = 0;
        if (!hd_str_equal(f.function, hd_cstr("main")) && !hd_str_equal(f.function, hd_cstr("_start"))) continue;
        status = number_of(p, OBJECTS, f.object, &object, err);
        if (object) *program = !*program || *program == object ? object : HD_NONE;
    }
    return status;
}

/* The only main program of a file's heaps; 0: unknown or several. */
static hd_status program_in(frame_pairs *p, const hd_heap *const *heaps, size_t count, uint32_t *program,
                            hd_error *err) {
    hd_status status = HD_OK;
    *program = 0;
    for (size_t i = 0; i < count && !status; i++) {
        uint32_t own;
        status = program_of(p, heaps[i], &own, err);
        if (!status && own) *program = !*program || *program == own ? own : HD_NONE;
    }
    if (*program == HD_NONE) *program = 0;
    return status;
}

static int same_id(const void *a, const void *b) { return strcmp(((const build *)a)->id, ((const build *)b)->id); }

static int by_id(const void *a, const void *b) {
    int order = same_id(a, b);
    return order ? order : compare_numbers(((const build *)a)->object, ((const build *)b)->object);
}

/* Pairs objects by build id, if the dump has build ids: objects with another name in earlier files. */
static hd_status pair_builds(frame_pairs *p, const hd_dump *dump, hd_error *err) {
    hd_places *places;
    hd_status status;
    size_t before = p->build_count;
    if (!dump || !hd_dump_format(dump)->places) return HD_OK;
    places = hd_places_create(NULL, err);
    if (!places) return err->status;
    status = hd_dump_places(dump, places, err);
    p->builds = needed(realloc(p->builds, (before + hd_places_mapping_count(places) + 1) * sizeof *p->builds));
    for (size_t i = 0; i < hd_places_mapping_count(places) && !status; i++) {
        hd_mapping m = hd_places_mapping(places, i);
        build own = { NULL, 0 }, *same;
        part_names *objects;
        if (!m.build_id.len) continue;
        status = number_of(p, OBJECTS, base_name(m.file), &own.object, err);
        objects = &p->part[OBJECTS];
        if (status || !own.object || !objects->here[own.object]) continue;
        own.id = needed(strndup(m.build_id.data, m.build_id.len));
        same = before ? bsearch(&own, p->builds, before, sizeof own, same_id) : NULL;
        if (same && !objects->known[own.object] && !objects->here[same->object]) {
            objects->to[own.object] = same->object;
            mark_here(objects, same->object); /* taken */
        }
        if (same) free(own.id);
        else p->builds[p->build_count++] = own;
    }
    qsort(p->builds, p->build_count, sizeof *p->builds, by_id);
    hd_places_free(places);
    return status;
}

/* Pairs the main programs; false: no name changes. */
static bool pair_programs(frame_pairs *p, uint32_t program) {
    part_names *objects = &p->part[OBJECTS];
    if (!program || !p->program || objects->known[program] || objects->to[program] != program) return false;
    if (!objects->here[p->program]) objects->to[program] = p->program;
    return objects->to[program] != program;
}

/* Pairs source paths of paired objects. Returns whether both files are of one program, judged by the source path of
   main. */
static bool pair_sources(frame_pairs *p, uint32_t main) {
    part_names *paths = &p->part[PATHS];
    hd_axis axis = hd_profile_axis(p->names, PATHS);
    FREED uint32_t *object = needed(malloc((size_t)axis.node_count * sizeof *object));
    bool unpaired = false, same;
    for (uint32_t i = 0; i < paths->count; i++) unpaired |= !paths->known[paths->list[i]];
    for (uint32_t i = 1; i < axis.node_count; i++) {
        object[i] = paths->object[i];
        if (paths->here[i] && object[i] && object[i] != HD_NONE) object[i] = p->part[OBJECTS].to[object[i]];
    }
    same = unpaired &&
           pair_paths(axis.node_name, axis.node_count, paths->here, paths->known, object, main, paths->to);
    return main && (main == p->main || (same && paths->to[main] == p->main));
}

static char *put(char *to, hd_str text) {
    memcpy(to, text.data, text.len);
    return to + text.len;
}

/* Renames a frame to its name in earlier files. *text has *room bytes and holds the result until the next call. */
static hd_status renamed(frame_pairs *p, hd_str name, char **text, size_t *room, hd_str *out, hd_error *err) {
    hd_frame_parts f = hd_frame_parse(name);
    const hd_str old[PARTS] = { f.object, f.file };
    hd_str now[PARTS];
    uint32_t number[PARTS];
    char *end;
    *out = name;
    for (uint32_t i = 0; i < PARTS; i++) {
        hd_status status = number_of(p, i, old[i], &number[i], err);
        if (status) return status;
        now[i] = number[i] ? hd_profile_axis(p->names, i).node_name[number[i] = p->part[i].to[number[i]]] : old[i];
    }
    if (hd_str_equal(now[OBJECTS], f.object) && hd_str_equal(now[PATHS], f.file)) return HD_OK;
    if (*room < name.len + now[OBJECTS].len + now[PATHS].len)
        *text = needed(realloc(*text, *room = 2 * (name.len + now[OBJECTS].len + now[PATHS].len)));
    end = *text;
    if (f.file.len) {
        end = put(end, (hd_str){ name.data, (size_t)(f.file.data - name.data) });
        end = put(end, now[PATHS]);
        name = (hd_str){ f.file.data + f.file.len, name.len - (size_t)(f.file.data - name.data) - f.file.len };
    }
    if (f.object.len) {
        end = put(end, (hd_str){ name.data, (size_t)(f.object.data - name.data) });
        end = put(end, now[OBJECTS]);
        name = (hd_str){ f.object.data + f.object.len,
                         name.len - (size_t)(f.object.data - name.data) - f.object.len };
    }
    end = put(end, name);
    *out = (hd_str){ *text, (size_t)(end - *text) };
    return HD_OK;
}

/* Renames types: recordings name a block of unknown type after the object that allocated it. `names` is by node, to
   be freed. */
static hd_status types_renamed(frame_pairs *p, const hd_axis *types, hd_str **names, hd_error *err) {
    FREED uint32_t *number = needed(calloc(types->node_count, sizeof *number));
    hd_status status = HD_OK;
    FREED bool *taken = NULL;
    *names = needed(malloc(types->node_count * sizeof **names));
    for (uint32_t i = 1; i < types->node_count && !status; i++)
        status = number_of(p, OBJECTS, types->node_name[i], &number[i], err);
    taken = needed(calloc((size_t)p->part[OBJECTS].room + 1, sizeof *taken));
    for (uint32_t i = 1; i < types->node_count; i++) taken[number[i]] = true;
    for (uint32_t i = 1; i < types->node_count; i++) {
        uint32_t now = number[i] ? p->part[OBJECTS].to[number[i]] : 0;
        bool same = now == number[i] || taken[now];
        (*names)[i] = same ? types->node_name[i] : hd_profile_axis(p->names, OBJECTS).node_name[now];
    }
    return status;
}

/* Copies an axis into a new profile, with frames renamed. `map` gives the new node of each node. */
static hd_status copy_axis(frame_pairs *p, hd_profile *to, uint32_t a, const hd_axis *axis, uint32_t *map,
                           hd_error *err) {
    char *text = NULL;
    hd_str *types = NULL;
    size_t room = 0;
    hd_status status = HD_OK;
    map[0] = 0;
    if (a && !strcmp(axis->name, "type")) status = types_renamed(p, axis, &types, err);
    for (uint32_t i = 1; i < axis->node_count && !status; i++) {
        hd_str name = axis->node_name[i];
        if (!a) status = renamed(p, axis->node_name[i], &text, &room, &name, err);
        else if (types) name = types[i];
        if (!status) status = hd_profile_node(to, a, map[axis->parent[i]], name, &map[i], err);
    }
    free(text), free(types);
    return status;
}

static int by_path(const void *a, const void *b) {
    return compare_numbers(((const repeat *)a)->path, ((const repeat *)b)->path);
}

/* Repeats of the same frames, after paths are renamed. */
static repeats again_renamed(const repeats *again, const hd_axis *axis, const hd_axis *now, const uint32_t *map) {
    repeats own = { needed(malloc((size_t)axis->node_count * sizeof *own.list)), 0 };
    uint64_t (*path)[2] = needed(calloc(axis->node_count, sizeof *path));
    for (uint32_t i = 1; i < axis->node_count; i++) {
        uint64_t times;
        path[i][0] = longer_path(path[axis->parent[i]][0], axis->node_name[i]);
        path[i][1] = longer_path(path[axis->parent[i]][1], now->node_name[map[i]]);
        times = times_of(again, path[i][0]);
        if (times > 1) own.list[own.count++] = (repeat){ path[i][1], times };
    }
    qsort(own.list, own.count, sizeof *own.list, by_path);
    free(path);
    return own;
}

/* Copies a heap with its frames renamed. Two names of a heap never become one, so rows stay as they are. */
static hd_status heap_renamed(frame_pairs *p, const hd_heap *heap, renamed_heap *to, hd_error *err) {
    hd_rows rows = heap->breakdown ? heap->breakdown->entries : hd_profile_cells(heap->profile);
    hd_profile_desc desc = { .axis_count = rows.axis_count };
    uint32_t *map[HD_MAX_AXES] = { NULL }, node[HD_MAX_AXES];
    hd_axis axis[HD_MAX_AXES];
    hd_profile *made;
    hd_breakdown *breakdown = NULL;
    hd_status status;
    for (uint32_t a = 0; a < rows.axis_count; a++) {
        axis[a] = heap->breakdown ? heap->breakdown->axis[a] : hd_profile_axis(heap->profile, a);
        desc.axis_name[a] = axis[a].name;
    }
    made = hd_profile_create(&desc, err);
    status = made ? HD_OK : err->status;
    for (uint32_t a = 0; a < rows.axis_count && !status; a++) {
        map[a] = needed(malloc((size_t)axis[a].node_count * sizeof **map));
        status = copy_axis(p, made, a, &axis[a], map[a], err);
    }
    for (uint32_t i = 0; i < rows.count && !status; i++) {
        for (uint32_t a = 0; a < rows.axis_count; a++) node[a] = map[a][rows.node[(size_t)i * rows.axis_count + a]];
        status = hd_profile_add_amount(made, node, &rows.amount[i], err);
    }
    if (!status && to->again && to->again->count) {
        hd_axis now = hd_profile_axis(made, 0);
        to->own = again_renamed(to->again, &axis[0], &now, map[0]);
        to->again = &to->own;
    }
    for (uint32_t a = 0; a < rows.axis_count; a++) free(map[a]);
    if (!status && heap->breakdown) {
        status = hd_breakdown_from_cumulative(made, NULL, &breakdown, err);
        hd_profile_free(made), made = NULL;
    }
    if (status) return hd_profile_free(made), status;
    to->heap.profile = made;
    to->heap.breakdown = breakdown;
    to->made = true;
    return HD_OK;
}

/* Decides new names for the current file; *any: a name changes. `main` is the source path of main. */
static hd_status pair_names(frame_pairs *p, const hd_dump *dump, uint32_t program, uint32_t main, bool *any,
                            hd_error *err) {
    hd_status status = pair_builds(p, dump, err);
    part_names *paths = &p->part[PATHS];
    bool paired, same;
    *any = false;
    if (status || !p->files) return status;
    paired = pair_programs(p, program);
    same = pair_sources(p, main) || p->compares;
    if (paired && !same) {       /* different programs */
        p->part[OBJECTS].to[program] = program;
        for (uint32_t i = 0; i < paths->count; i++) paths->to[paths->list[i]] = paths->list[i];
        pair_sources(p, main);
    }
    for (int i = 0; i < PARTS; i++)
        for (uint32_t k = 0; k < p->part[i].count; k++)
            *any |= p->part[i].to[p->part[i].list[k]] != p->part[i].list[k];
    return HD_OK;
}

/* Makes the current file's names, as renamed, known for later files. */
static void keep_names(frame_pairs *p, uint32_t program, uint32_t main) {
    part_names *paths = &p->part[PATHS];
    if (!p->program && program) p->program = p->part[OBJECTS].to[program], p->main = main ? paths->to[main] : 0;
    p->files++;
    for (uint32_t i = 0; i < paths->count; i++) {
        uint32_t *of = &paths->object[paths->list[i]];
        if (*of && *of != HD_NONE) *of = p->part[OBJECTS].to[*of];
    }
    for (size_t i = 0; i < p->build_count; i++) p->builds[i].object = p->part[OBJECTS].to[p->builds[i].object];
    for (int i = 0; i < PARTS; i++) {
        part_names *names = &p->part[i];
        for (uint32_t k = 0; k < names->count; k++) {
            uint32_t number = names->list[k];
            names->known[names->to[number]] = true;
            names->here[number] = false, names->to[number] = number;
        }
        names->count = 0;
    }
}

hd_status frame_pairs_take(frame_pairs *p, const hd_dump *dump, const hd_heap *const *heaps, size_t count,
                           renamed_heap *out, hd_error *err) {
    uint32_t program = 0, main = 0;
    bool any = false;
    hd_status status = HD_OK;
    for (size_t i = 0; i < count; i++) out[i] = (renamed_heap){ .heap = *heaps[i], .again = out[i].again };
    for (size_t i = 0; i < count && !status; i++) status = take_names(p, heaps[i], &main, err);
    if (!status) status = program_in(p, heaps, count, &program, err);
    if (!status) status = pair_names(p, dump, program, main, &any, err);
    for (size_t i = 0; any && i < count && !status; i++) {
        hd_axis axis;
        if (has_bounds(heaps[i]) || !backtrace_of(heaps[i], &axis)) continue;
        status = heap_renamed(p, heaps[i], &out[i], err);
        if (status == HD_OVERFLOW) status = HD_OK; /* rows that add up to more than 2^64 cannot be copied */
    }
    if (status)
        for (size_t i = 0; i < count; i++) renamed_heap_free(&out[i]);
    keep_names(p, program, main);
    return status;
}

void renamed_heap_free(renamed_heap *h) {
    if (h->made) hd_heap_release(&h->heap);
    free(h->own.list);
    h->made = false, h->own = (repeats){ NULL, 0 };
}
