/* merge */

#include "commands.h"

#include <search.h>

#include "heaps.h"
#include "memprof.h"

/* The heaps of one allocator, added up so far: all profiles in one, breakdowns by twos, these by twos and
   so on, as the next sum takes as long as what it adds up. Labels are kept apart: those of the heaps go with
   their files. */
typedef struct merged {
    hd_heap *part;               /* the profiles, then 2^i breakdowns; neither set: none */
    size_t parts;
    char *allocator, *process;   /* process: NULL when they are several */
    uint64_t sample_bytes;
    size_t count;
} merged;

/* Part i, made when it is not there. */
static hd_heap *merged_part(merged *m, size_t i) {
    if (i >= m->parts) {
        m->part = needed(realloc(m->part, (i + 1) * sizeof *m->part));
        memset(m->part + m->parts, 0, (i + 1 - m->parts) * sizeof *m->part);
        m->parts = i + 1;
    }
    return &m->part[i];
}

static hd_status merge_profile(merged *m, const hd_heap *heap, hd_error *err) {
    hd_heap *part = merged_part(m, 0);
    if (!part->profile) return hd_merge(heap, 1, NULL, part, err);
    return hd_profile_merge((hd_profile *)(uintptr_t)part->profile, heap->profile, err);
}

static hd_status merge_breakdown(merged *m, const hd_heap *heap, hd_error *err) {
    hd_heap both[2], sum, *part;
    hd_status status = hd_merge(heap, 1, NULL, &sum, err);
    size_t i = 1;
    for (; !status && (part = merged_part(m, i))->breakdown; i++) {
        both[0] = *part;
        both[1] = sum;
        status = hd_merge(both, 2, NULL, &sum, err);
        hd_heap_release(&both[1]);
        if (!status) hd_heap_release(part), memset(part, 0, sizeof *part);
    }
    if (!status) *part = sum;
    return status;
}

static hd_status merge_heap(merged *m, const hd_heap *heap, hd_error *err) {
    hd_heap plain = { .profile = heap->profile, .breakdown = heap->breakdown };
    if (m->count++ == 0) {
        m->allocator = heap->allocator ? needed(strdup(heap->allocator)) : NULL;
        m->process = heap->process ? needed(strdup(heap->process)) : NULL;
    }
    if (m->process && !same_text(m->process, heap->process)) free(m->process), m->process = NULL;
    if (heap->sample_bytes > m->sample_bytes) m->sample_bytes = heap->sample_bytes;
    return heap->profile ? merge_profile(m, &plain, err) : merge_breakdown(m, &plain, err);
}

/* The whole, in the first part. */
static hd_status merge_end(merged *m, hd_error *err) {
    hd_heap sum;
    hd_status status;
    size_t n = 0;
    for (size_t i = 0; i < m->parts; i++)
        if (m->part[i].profile || m->part[i].breakdown) m->part[n++] = m->part[i];
    m->parts = n;
    if (n == 1 && m->part->profile) return hd_profile_sort((hd_profile *)(uintptr_t)m->part->profile, err);
    status = hd_merge(m->part, n, NULL, &sum, err);
    if (status) return status;
    for (size_t i = 0; i < n; i++) hd_heap_release(&m->part[i]);
    m->part[0] = sum;
    m->parts = 1;
    return HD_OK;
}

/* All allocators, in the order of their first heaps, and found by name. */
typedef struct merger {
    merged *groups;
    size_t count, room;
    void *names;                 /* tsearch, of name */
} merger;

typedef struct merger_name {
    char *allocator;
    size_t group;
} merger_name;

static int by_allocator(const void *a, const void *b) {
    return compare_texts(((const merger_name *)a)->allocator, ((const merger_name *)b)->allocator);
}

static void merger_name_free(void *name) {
    free(((merger_name *)name)->allocator);
    free(name);
}

static void merger_free(merger *m) {
    tdestroy(m->names, merger_name_free);
    for (size_t g = 0; g < m->count; g++) {
        for (size_t i = 0; i < m->groups[g].parts; i++) hd_heap_release(&m->groups[g].part[i]);
        free(m->groups[g].part);
        free(m->groups[g].allocator);
        free(m->groups[g].process);
    }
    free(m->groups);
}

static merged *merger_group(merger *m, const char *allocator) {
    merger_name *name = needed(malloc(sizeof *name)), *found;
    name->allocator = needed(strdup(allocator ? allocator : ""));
    name->group = m->count;
    found = *(merger_name **)needed(tsearch(name, &m->names, by_allocator));
    if (found != name) merger_name_free(name);
    if (found->group == m->count) {
        if (m->count == m->room) {
            m->room = 2 * m->room + 1;
            m->groups = needed(realloc(m->groups, m->room * sizeof *m->groups));
        }
        memset(&m->groups[m->count++], 0, sizeof *m->groups);
    }
    return &m->groups[found->group];
}

static int merge_chosen(const arguments *a, const chosen *c, merger *m) {
    bool *picked = needed(calloc(c->count, 1));
    int status = DONE;
    mark_picked(c, a->dump, true, picked);
    for (size_t i = 0; i < c->count && !status; i++) {
        hd_error err;
        if (!a->all && !picked[i]) continue;
        if (merge_heap(merger_group(m, c->heaps[i].allocator), &c->heaps[i], &err)) {
            display(stderr, "heapdump: %s: %s\n", c->file, err.message);
            status = BAD_INPUT;
        }
    }
    free(picked);
    return status;
}

int run_merge(const arguments *a) {
    merger m = { 0 };
    hd_heap *heaps;
    hd_error err;
    int status;
    if (memprof_is_raw(a->to) || (!a->to && !a->add_to && memprof_begins(*a->files))) return memprof_merge(a);
    status = check_to(a);
    for (int i = 0; i < a->file_count && !status; i++) {
        chosen c;
        status = choose(a, a->files[i], &c);
        if (status) break;
        status = merge_chosen(a, &c, &m);
        chosen_free(&c);
    }
    heaps = needed(calloc(m.count + 1, sizeof *heaps));
    for (size_t g = 0; g < m.count && !status; g++) {
        hd_heap *heap = &heaps[g];
        merged *group = &m.groups[g];
        if (merge_end(group, &err)) {
            display(stderr, "heapdump: %s\n", err.message);
            status = BAD_INPUT;
            break;
        }
        *heap = *group->part;
        heap->sample_bytes = group->sample_bytes;
        heap->allocator = group->allocator;
        heap->process = group->process;
        display(stderr, "heapdump: %s: %zu heap%s merged\n", heap->allocator ? heap->allocator : "-",
                group->count, group->count == 1 ? "" : "s");
    }
    if (!status) status = write_condensed(a, heaps, m.count);
    merger_free(&m);
    free(heaps);
    return status;
}

