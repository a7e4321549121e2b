/* merge */

#include "commands.h"

#include <search.h>

#include "heaps.h"
#include "memprof.h"

/* The heaps of one allocator and kind. */
typedef struct group {
    hd_merger *sum;
    uint64_t sample_bytes;       /* the largest */
    size_t count;
} group;

/* All groups, in the order of their first heaps, and found by name. */
typedef struct groups {
    group *group;
    size_t count, room;
    void *names;                 /* tsearch, of group_name */
    reading merging;             /* of which progress is told */
} groups;

typedef struct group_name {
    char *allocator;
    hd_heap_kind kind;
    size_t number;
} group_name;

static int by_allocator(const void *a, const void *b) {
    const group_name *x = a, *y = b;
    int order = compare_texts(x->allocator, y->allocator);
    return order ? order : compare_numbers(x->kind, y->kind);
}

static void group_name_free(void *name) {
    free(((group_name *)name)->allocator);
    free(name);
}

static void groups_free(groups *m) {
    tdestroy(m->names, group_name_free);
    for (size_t g = 0; g < m->count; g++) hd_merger_free(m->group[g].sum);
    free(m->group);
}

static group *group_of(groups *m, const hd_heap *heap) {
    group_name *name = needed(malloc(sizeof *name)), *found;
    name->allocator = needed(strdup(heap->allocator ? heap->allocator : ""));
    name->kind = heap->kind;
    name->number = m->count;
    found = *(group_name **)needed(tsearch(name, &m->names, by_allocator));
    if (found != name) group_name_free(name);
    if (found->number == m->count) {
        if (m->count == m->room) {
            m->room = 2 * m->room + 1;
            m->group = needed(realloc(m->group, m->room * sizeof *m->group));
        }
        m->group[m->count++] = (group){ .sum = needed(hd_merger_create(NULL, NULL)) };
    }
    return &m->group[found->number];
}

/* The dump and time are those of a file. */
static hd_status group_add(group *m, const hd_heap *heap, hd_error *err) {
    hd_heap plain = { .process = heap->process, .kind = heap->kind, .allocator = heap->allocator,
                      .profile = heap->profile, .breakdown = heap->breakdown };
    if (heap->sample_bytes > m->sample_bytes) m->sample_bytes = heap->sample_bytes;
    m->count++;
    return hd_merger_add(m->sum, &plain, err);
}

static int merge_chosen(const arguments *a, const chosen *c, groups *m) {
    bool *picked = needed(calloc(c->count, 1));
    int status = DONE;
    mark_picked(c, a->dump, true, picked);
    for (size_t i = 0; i < c->count && !status; i++) {
        hd_error err;
        if (!a->all && !picked[i]) continue;
        if (group_add(group_of(m, &c->heaps[i]), &c->heaps[i], &err)) {
            display(stderr, "heapdump: %s: %s\n", c->file, err.message);
            status = BAD_INPUT;
        }
    }
    free(picked);
    return status;
}

int run_merge(const arguments *a) {
    groups m = { 0 };
    hd_places *places;
    hd_heap *heaps;
    hd_error err;
    int status;
    if (file_is_named(a)) return WRONG_USAGE;
    if (memprof_is_raw(a->to) || (!a->to && !a->add_to && memprof_begins(a, *a->files, true))) return memprof_merge(a);
    status = check_to(a);
    places = status ? NULL : places_create(a);
    m.merging.doing = "merging";
    clock_gettime(CLOCK_MONOTONIC, &m.merging.began);
    for (int i = 0; i < a->file_count && !status; i++) {
        chosen c;
        on_progress(&m.merging, (uint64_t)i, (uint64_t)a->file_count);
        status = choose(a, a->files[i], &c);
        if (status) break;
        status = merge_chosen(a, &c, &m);
        if (!status) status = places_add(places, c.file, c.dump);
        chosen_free(&c);
    }
    progress_end();
    heaps = needed(calloc(m.count + 1, sizeof *heaps));
    for (size_t g = 0; g < m.count && !status; g++) {
        const group *from = &m.group[g];
        if (hd_merger_finish(from->sum, &heaps[g], &err)) {
            display(stderr, "heapdump: %s\n", err.message);
            status = BAD_INPUT;
            break;
        }
        heaps[g].sample_bytes = from->sample_bytes;
        display(stderr, "heapdump: %s%s%s: %zu heap%s merged\n", heaps[g].allocator ? heaps[g].allocator : "-",
                heaps[g].kind == HD_HEAP_LIVE ? "" : ", ", heaps[g].kind == HD_HEAP_LIVE ? "" : hd_heap_kind_name(heaps[g].kind),
                from->count, from->count == 1 ? "" : "s");
    }
    if (!status) status = write_condensed(a, heaps, m.count, places, 0, 0);
    for (size_t g = 0; g < m.count; g++) hd_heap_release(&heaps[g]);
    groups_free(&m);
    hd_places_free(places);
    free(heaps);
    return status;
}

