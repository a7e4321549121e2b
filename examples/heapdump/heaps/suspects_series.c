/* suspects: finds the heaps that are dumps of the same process, allocator and kind. */

#include "series.h"

/* A heap of one of the files; `set`: the number of the set that it is in. */
typedef struct ref {
    const hd_heap *heap;
    const chosen *of;
    uint32_t file, number, set;
} ref;

/* Heaps that belong together, in the files from `first` to `last`. */
typedef struct set {
    const hd_heap *heap;
    uint32_t id, first, last, number, joined;
} set;

static int by_number(const void *a, const void *b) {
    const ref *x = a, *y = b;
    return x->file != y->file ? compare_numbers(x->file, y->file) : compare_numbers(x->number, y->number);
}

static int compare_owners(const hd_heap *x, const hd_heap *y) {
    int order = compare_texts(x->allocator, y->allocator);
    if (!order) order = compare_numbers(x->kind, y->kind);
    if (!order) order = compare_numbers(x->pid, y->pid);
    return order || x->pid ? order : compare_texts(x->process, y->process);
}

static int by_owner(const void *a, const void *b) {
    const ref *x = a, *y = b;
    int order = compare_owners(x->heap, y->heap);
    if (!order) order = compare_numbers(x->heap->start_us, y->heap->start_us);
    return order ? order : by_number(a, b);
}

/* Orders heaps so that heaps of one moment are adjacent. */
static int by_moment(const void *a, const void *b) {
    const ref *x = a, *y = b;
    int order = compare_numbers(x->file, y->file);
    if (!order) order = compare_texts(x->heap->dump, y->heap->dump);
    if (!order) order = compare_numbers(x->heap->time_us, y->heap->time_us);
    if (!order) order = compare_heaps(x->heap, y->heap, false);
    return order ? order : by_number(a, b);
}

static bool same_moment(const ref *x, const ref *y) {
    return x->file == y->file && same_text(x->heap->dump, y->heap->dump) && x->heap->time_us == y->heap->time_us;
}

/* Numbers the sets of one process from `sets` on. Heaps of one moment differ by labels, and are in different sets.
   Returns the number after the last set. */
static uint32_t number_owner(ref *list, size_t n, uint32_t sets) {
    uint32_t most = 0;
    qsort(list, n, sizeof *list, by_moment);
    for (size_t i = 0; i < n; i++) {
        uint32_t lane = i && same_moment(&list[i - 1], &list[i]) ? list[i - 1].set - sets + 1 : 0;
        list[i].set = sets + lane;
        if (lane >= most) most = lane + 1;
    }
    return sets + most;
}

static uint32_t number_owners(ref *list, size_t n) {
    uint32_t sets = 0;
    qsort(list, n, sizeof *list, by_owner);
    for (size_t i = 0, end; i < n; i = end) {
        uint64_t start = list[i].heap->start_us;
        for (end = i + 1; end < n && !compare_owners(list[i].heap, list[end].heap); end++) {
            uint64_t other = list[end].heap->start_us; /* unknown ones are first */
            if (start && other != start) break;
            start = other;
        }
        sets = number_owner(&list[i], end - i, sets);
    }
    return sets;
}

static int compare_sums(const set *x, const set *y) {
    int order = compare_texts(x->heap->allocator, y->heap->allocator);
    return order ? order : compare_numbers(x->heap->kind, y->heap->kind);
}

static int by_first(const void *a, const void *b) {
    const set *x = a, *y = b;
    int order = compare_sums(x, y);
    if (!order) order = compare_numbers(x->first, y->first);
    return order ? order : compare_numbers(x->number, y->number);
}

static int by_name(const void *a, const void *b) {
    const set *x = a, *y = b;
    int order = compare_sums(x, y);
    if (!order) order = compare_texts(x->heap->process, y->heap->process);
    return order ? order : by_first(a, b);
}

static set *sets_of(const ref *list, size_t n, uint32_t count) {
    set *sets = needed(calloc((size_t)count + 1, sizeof *sets));
    for (size_t i = 0; i < n; i++) { /* in the order of by_number */
        set *to = &sets[list[i].set];
        if (!to->heap) *to = (set){ list[i].heap, list[i].set, list[i].file, 0, (uint32_t)i, list[i].set };
        to->last = list[i].file;
    }
    return sets;
}

/* Joins sets of processes with the same name if their files differ: the program was started again. Several sets of a
   file are joined in order. */
static void join_names(set *sets, uint32_t count) {
    enum { TRIES = 16 };
    FREED uint32_t *queue = needed(malloc(((size_t)count * (TRIES + 1) + 1) * sizeof *queue));
    qsort(sets, count, sizeof *sets, by_name);
    for (uint32_t i = 0, end; i < count; i = end) {
        size_t head = 0, tail = 0;
        for (end = i; end < count && !compare_sums(&sets[i], &sets[end]) &&
                      same_text(sets[i].heap->process, sets[end].heap->process); end++) {
            set *chain = NULL;
            for (int k = 0; k < TRIES && head < tail && !chain; k++) {
                set *one = &sets[queue[head++]];
                if (one->last < sets[end].first) chain = one;
                else queue[tail++] = (uint32_t)(one - sets);
            }
            if (chain) chain->last = sets[end].last, sets[end].joined = chain->joined;
            queue[tail++] = chain ? (uint32_t)(chain - sets) : end;
        }
    }
}

/* Joins sets if each is the only one in its files. Process names may differ. */
static void join_single(set *sets, uint32_t count, uint32_t *joined) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        joined[sets[i].id] = sets[i].joined;
        if (sets[i].joined == sets[i].id) sets[n++] = sets[i];
    }
    qsort(sets, n, sizeof *sets, by_first);
    for (uint32_t i = 0, end; i < n; i = end) {
        bool single = true;
        for (end = i + 1; end < n && !compare_sums(&sets[i], &sets[end]); end++)
            single &= sets[end].first > sets[end - 1].last;
        for (uint32_t k = i; single && k < end; k++) joined[sets[k].id] = sets[i].id;
    }
}

static void series_add_heap(all_series *all, series **to, const ref *from) {
    series *s = *to;
    if (!s) {
        ONE_MORE(all->list, all->count);
        s = *to = &all->list[all->count++];
        *s = (series){ .count = 0 };
    }
    ONE_MORE(s->heaps, s->count);
    ONE_MORE(s->from, s->count);
    s->from[s->count] = from->of;
    s->heaps[s->count++] = from->heap;
    s->file = from->of->file;
}

hd_status series_rename(series *s, hd_error *err) {
    hd_status status = HD_OK;
    frame_pairs *names;
    if (!s->count || s->from[0] == s->from[s->count - 1]) return HD_OK; /* in the order of files */
    names = frame_pairs_create(true);
    s->renamed = needed(calloc(s->count, sizeof *s->renamed));
    for (uint32_t end = s->count, i; end && !status; end = i) {
        for (i = end - 1; i && s->from[i - 1] == s->from[end - 1];) i--;
        status = frame_pairs_take(names, s->from[i]->dump, &s->heaps[i], end - i, &s->renamed[i], err);
    }
    frame_pairs_free(names);
    return status;
}

static int by_set(const void *a, const void *b) {
    const ref *x = a, *y = b;
    return x->set != y->set ? compare_numbers(x->set, y->set) : by_number(a, b);
}

void series_collect(all_series *all, const chosen *files, int count, bool any_kind) {
    size_t n = 0;
    uint32_t sets;
    FREED uint32_t *joined = NULL;
    FREED set *list = NULL;
    FREED ref *refs = NULL;
    for (int f = 0; f < count; f++) n += files[f].count;
    refs = needed(calloc(n + 1, sizeof *refs));
    n = 0;
    for (int f = 0; f < count; f++)
        for (size_t i = 0; i < files[f].count; i++) {
            const hd_heap *heap = &files[f].heaps[i];
            if (!any_kind && (heap->kind == HD_HEAP_TOTAL || heap->kind == HD_HEAP_TEMPORARY)) continue;
            refs[n++] = (ref){ heap, &files[f], (uint32_t)f, (uint32_t)i, 0 };
        }
    sets = number_owners(refs, n);
    qsort(refs, n, sizeof *refs, by_number);
    list = sets_of(refs, n, sets);
    joined = needed(calloc((size_t)sets + 1, sizeof *joined));
    join_names(list, sets);
    join_single(list, sets, joined);
    for (size_t i = 0; i < n; i++) refs[i].set = joined[refs[i].set];
    qsort(refs, n, sizeof *refs, by_set);
    for (size_t i = 0; i < n;) {
        series *to = NULL;
        size_t first = i;
        for (; i < n && refs[i].set == refs[first].set; i++) series_add_heap(all, &to, &refs[i]);
    }
}
