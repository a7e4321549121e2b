/* info */

#include "heaps.h"

static void info_heap(FILE *out, const arguments *a, const hd_heap *heap) {
    totals t = totals_of(heap);
    char count[24] = "-";
    if (t.blocks != HD_UNKNOWN) snprintf(count, sizeof count, "%llu", (unsigned long long)t.blocks);
    display(out, "%10llu  %-16s %-12s %10.3f s  %-16s ", (unsigned long long)heap->pid,
            heap->process ? heap->process : "-", heap->dump ? heap->dump : "-", (double)heap->time_us / 1e6,
            heap->allocator ? heap->allocator : "-");
    put_bytes(out, a, t.bytes, 14);
    display(out, " %10s  %u %s%s%s", count, t.rows,
            t.rows == 1 ? heap->breakdown ? "entry" : "context" : heap->breakdown ? "entries" : "contexts",
            heap->kind == HD_HEAP_LIVE ? "" : ", ", heap->kind == HD_HEAP_LIVE ? "" : hd_heap_kind_name(heap->kind));
    if (heap->sample_bytes) display(out, ", sampled every "), put_bytes_named(out, a, heap->sample_bytes);
    if (t.error) display(out, ", \xc2\xb1"), put_bytes_named(out, a, t.error);
    for (size_t i = 0; i < heap->label_count; i++)
        display(out, ", %s=%s", heap->labels[i].name, heap->labels[i].value);
    display(out, "\n");
}

/* Whether a scalar belongs to a selected process, dump and allocator. */
static bool scalar_selected(const arguments *a, const hd_scalar *s) {
    hd_heap heap = { .pid = s->pid, .dump = s->dump, .allocator = s->allocator };
    return selected(&a->heaps, &heap);
}

/* Without --all, only totals of processes and sizes of outermost allocators are shown. */
static bool scalar_shown(const arguments *a, const hd_scalar *s) {
    if (a->cut.all || !s->allocator) return true;
    return !strchr(s->allocator, '/') && !strcmp(s->name, "size");
}

static int by_dump(const void *a, const void *b) {
    const hd_heap *x = *(const hd_heap *const *)a, *y = *(const hd_heap *const *)b;
    int order = compare_numbers(x->pid, y->pid);
    if (!order) order = compare_texts(x->dump, y->dump);
    if (!order) order = compare_texts(x->allocator, y->allocator);
    return order ? order : compare_numbers(x->kind, y->kind); /* live first: it equals an allocator's size */
}

/* Whether the line of a heap already shows this value. Heaps are sorted; the first of equal ones counts. */
static bool repeats_heap(const hd_heap *const *heaps, size_t n, const hd_scalar *s) {
    hd_heap key = { .pid = s->pid, .dump = s->dump, .allocator = s->allocator };
    const hd_heap *at = &key;
    size_t i;
    if (!s->allocator || strcmp(s->name, "size")) return false;
    i = items_before(&at, heaps, n, sizeof *heaps, by_dump);
    return i < n && !by_dump(&heaps[i], &at) && totals_of(heaps[i]).bytes == s->value;
}

static int by_dump_and_turn(const void *a, const void *b) {
    const hd_heap *x = *(const hd_heap *const *)a, *y = *(const hd_heap *const *)b;
    int order = by_dump(a, b);
    return order ? order : (x > y) - (x < y);
}

size_t other_scalars(const hd_dump *dump) {
    size_t count = 0, n;
    FREED const hd_heap **heaps =
        sorted_heaps(hd_dump_heap(dump, 0), hd_dump_heap_count(dump), NULL, by_dump_and_turn, &n);
    for (size_t i = 0; i < hd_dump_scalar_count(dump); i++)
        count += !repeats_heap(heaps, n, hd_dump_scalar(dump, i));
    return count;
}

/* The value of a scalar, and its unit. */
static void info_value(FILE *out, const arguments *a, const hd_scalar *s) {
    bool in_bytes = !s->text && s->units && !strcmp(s->units, "bytes");
    if (s->text) display(out, "%14s", s->text);
    else if (in_bytes) put_bytes(out, a, s->value, 14);
    else display(out, "%14llu", (unsigned long long)s->value);
    display(out, " %-8s", in_bytes && !a->view.exact ? "" : s->units ? s->units : "-");
}

static void info_scalars(FILE *out, const hd_dump *dump, const arguments *a) {
    bool any = false, parts = has_resident(dump);
    size_t left = 0, n;
    FREED const hd_heap **heaps =
        sorted_heaps(hd_dump_heap(dump, 0), hd_dump_heap_count(dump), NULL, by_dump_and_turn, &n);
    for (size_t i = 0; i < hd_dump_scalar_count(dump); i++) {
        const hd_scalar *s = hd_dump_scalar(dump, i);
        if (!scalar_selected(a, s)) continue;
        if (!a->cut.all && ((parts && is_resident(s)) || repeats_heap(heaps, n, s))) continue;
        if (!scalar_shown(a, s)) {
            left++;
            continue;
        }
        if (!any)
            display(out, "%10s  %-16s %-12s %14s %-8s %s\n", "pid", "process", "dump", "value", "unit", "of");
        any = true;
        display(out, "%10llu  %-16s %-12s ", (unsigned long long)s->pid, s->process ? s->process : "-",
                s->dump ? s->dump : "-");
        info_value(out, a, s);
        display(out, " %s %s\n", s->allocator ? s->allocator : "process", s->name);
    }
    if (left) display(out, "%zu more attributes of allocators (--all lists them)\n", left);
}

static hd_status fact_text(void *user, const hd_fact *fact) {
    FILE *out = user;
    display(out, "%s: ", fact->name);
    if (fact->text.data) put_name(out, fact->text);
    else
        display(out, "%llu%s%s", (unsigned long long)fact->value, fact->units ? " " : "",
                fact->units ? fact->units : "");
    fputc('\n', out);
    return HD_OK;
}

static hd_status fact_json(void *user, const hd_fact *fact) {
    hd_json *j = user;
    json_line(j);
    json_text(j, "name", fact->name);
    if (fact->text.data) json_str(j, "text", fact->text);
    else json_u64(j, "value", fact->value);
    json_text(j, "units", fact->units);
    hd_json_end(j);
    return HD_OK;
}

static int info_facts(const char *file, const hd_dump *dump, hd_fact_fn each, void *user) {
    hd_error err;
    return hd_dump_facts(dump, each, user, &err) ? failed(file, &err) : DONE;
}

/* Prints heaps, by process and in the order of time, then scalars and facts of a file. */
int info_heaps_text(FILE *out, const char *file, const hd_dump *dump, const arguments *a) {
    size_t n;
    const hd_heap **heaps =
        sorted_heaps(hd_dump_heap(dump, 0), hd_dump_heap_count(dump), NULL, by_process_and_time, &n);
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        if (!selected(&a->heaps, heaps[i])) continue;
        if (!any)
            display(out, "%10s  %-16s %-12s %12s  %-16s %14s %10s  %s\n", "pid", "process", "dump", "time",
                    "allocator", "size", "blocks", "holds");
        any = true;
        info_heap(out, a, heaps[i]);
    }
    free(heaps);
    info_scalars(out, dump, a);
    resident_info(out, dump, a);
    return info_facts(file, dump, fact_text, out);
}

int info_heaps_json(hd_json *j, const char *file, const hd_dump *dump, const arguments *a) {
    int status = DONE;
    json_array(j, "heaps");
    for (size_t i = 0; i < hd_dump_heap_count(dump); i++) {
        const hd_heap *heap = hd_dump_heap(dump, i);
        totals t = totals_of(heap);
        if (!selected(&a->heaps, heap)) continue;
        json_line(j);
        json_label(j, heap);
        json_u64(j, "bytes", t.bytes);
        json_known(j, "blocks", t.blocks);
        if (t.error) json_u64(j, "error", t.error);
        json_u64(j, heap->breakdown ? "entries" : "contexts", t.rows);
        hd_json_end(j);
    }
    hd_json_end(j);
    json_array(j, "scalars");
    for (size_t i = 0; i < hd_dump_scalar_count(dump); i++) {
        const hd_scalar *s = hd_dump_scalar(dump, i);
        if (!scalar_selected(a, s)) continue;
        json_line(j);
        json_u64(j, "pid", s->pid);
        json_text(j, "process", s->process);
        json_text(j, "dump", s->dump);
        json_u64(j, "time_us", s->time_us);
        json_text(j, "allocator", s->allocator);
        json_text(j, "name", s->name);
        json_text(j, "units", s->units);
        hd_json_key(j, "value");
        if (s->text) hd_json_cstr(j, s->text);
        else hd_json_u64(j, s->value);
        hd_json_end(j);
    }
    hd_json_end(j);
    json_array(j, "facts");
    if (info_facts(file, dump, fact_json, j)) status = BAD_INPUT;
    hd_json_end(j);
    return status;
}

/* Prints the facts of the format about the whole file. */
int info_facts_text(FILE *out, const char *file, const hd_dump *dump) {
    return info_facts(file, dump, fact_text, out);
}
