/* validate */

#include "heaps.h"

/* A fault of one file. Faults of its bytes have an offset in the file, faults of its sums name the heap. */
typedef struct finding {
    const char *kind;            /* "warning", "unreadable", "inconsistent" */
    hd_error what;
    const hd_heap *heap;         /* the heap with wrong sums; NULL: a fault of the file or of a scalar */
} finding;

typedef struct findings {
    finding *list;
    size_t count, most;          /* number found; number kept in `list`, at most */
    uint64_t refused;            /* pieces that a strict reader refuses */
} findings;

enum { SHOWN = 100 };

static void found(findings *f, const char *kind, const hd_error *what, const hd_heap *heap) {
    if (f->count++ >= f->most) return;
    ONE_MORE(f->list, f->count - 1);
    f->list[f->count - 1] = (finding){ kind, *what, heap };
}

/* Adds a finding without a place in the file. */
static void __attribute__((format(__printf__, 3, 4))) inconsistent(findings *f, const hd_heap *heap,
                                                                   const char *format, ...) {
    hd_error what = { .status = HD_MALFORMED, .offset = HD_UNKNOWN };
    va_list args;
    va_start(args, format);
    vsnprintf(what.message, sizeof what.message, format, args);
    va_end(args);
    found(f, "inconsistent", &what, heap);
}

static void on_finding(void *user, const hd_error *warning) {
    reading *r = user;
    found(r->findings, "warning", warning, NULL);
}

/* Heaps. --------------------------------------------------------------------------------------- */

/* Names of an entry on all axes, from the root on. A text that is too long is cut off at the outer end. */
static const char *path_of(const hd_breakdown *b, uint32_t entry, char text[80]) {
    size_t at = 79;
    text[at] = 0;
    for (uint32_t axis = b->entries.axis_count; axis-- > 0;) {
        hd_axis names = b->axis[axis];
        for (uint32_t n = b->entries.node[(size_t)entry * b->entries.axis_count + axis]; n; n = names.parent[n]) {
            hd_str name = names.node_name[n];
            size_t room = at > 4 ? at - 4 : 0, take = name.len < room ? name.len : room;
            if (at < 79) text[--at] = '/';
            memcpy(text + (at -= take), name.data + name.len - take, take);
            if (take < name.len) return memcpy(text + at - 3, "...", 3), text + at - 3;
        }
    }
    return at == 79 ? "the total" : text + at;
}

/* The nearest listed entry above an entry, along one axis. */
static uint32_t listed_above(const hd_breakdown *b, uint32_t entry, uint32_t axis) {
    uint32_t nodes[HD_MAX_AXES], count = b->entries.axis_count, above = HD_NONE;
    memcpy(nodes, &b->entries.node[(size_t)entry * count], count * sizeof *nodes);
    while (above == HD_NONE && nodes[axis]) {
        nodes[axis] = b->axis[axis].parent[nodes[axis]];
        above = hd_breakdown_find(b, nodes);
    }
    return above;
}

/* Checks that no entry is larger than the one above it, and that entries below it do not add up to more. */
static void check_breakdown(findings *f, const hd_heap *heap) {
    const hd_breakdown *b = heap->breakdown;
    uint32_t n = b->entries.count;
    FREED uint64_t *sum = needed(malloc((size_t)n * sizeof *sum));
    FREED bool *reported = needed(malloc(n));
    char inner[80], outer[80];
    for (uint32_t axis = 0; axis < b->entries.axis_count; axis++) {
        memset(sum, 0, (size_t)n * sizeof *sum);
        memset(reported, 0, n);
        for (uint32_t i = 1; i < n; i++) {
            uint64_t bytes = b->entries.amount[i].bytes, whole;
            uint32_t above = listed_above(b, i, axis);
            if (above == HD_NONE) continue;
            whole = b->entries.amount[above].bytes;
            sum[above] = sum[above] > UINT64_MAX - bytes ? UINT64_MAX : sum[above] + bytes;
            if (bytes <= whole) continue;
            reported[above] = true;
            inconsistent(f, heap, "%s holds %llu bytes, more than the %llu of %s", path_of(b, i, inner),
                         (unsigned long long)bytes, (unsigned long long)whole, path_of(b, above, outer));
        }
        for (uint32_t i = 0; i < n; i++)
            if (sum[i] > b->entries.amount[i].bytes && !reported[i])
                inconsistent(f, heap, "%s holds %llu bytes, but entries below it (by %s) add up to %llu",
                             path_of(b, i, outer), (unsigned long long)b->entries.amount[i].bytes,
                             b->axis[axis].name, (unsigned long long)sum[i]);
    }
}

/* Allocators. ---------------------------------------------------------------------------------- */

static int by_allocator(const void *a, const void *b) {
    const hd_scalar *x = *(const hd_scalar *const *)a, *y = *(const hd_scalar *const *)b;
    int order = compare_numbers(x->pid, y->pid);
    if (!order) order = compare_texts(x->dump, y->dump);
    return order ? order : compare_texts(x->allocator, y->allocator);
}

/* The nearest allocator with a size that contains this one: "malloc" for "malloc/arena/main", if "malloc/arena" has
   no size. */
static const hd_scalar *part_of(const hd_scalar *const *sizes, size_t n, const hd_scalar *s, size_t *index) {
    char *name = needed(strdup(s->allocator)), *slash;
    hd_scalar key = *s;
    const hd_scalar *at = &key;
    const hd_scalar *const *place = NULL;
    key.allocator = name;
    while (!place && (slash = strrchr(name, '/'))) {
        *slash = 0;
        place = bsearch(&at, sizes, n, sizeof *sizes, by_allocator);
    }
    free(name);
    if (!place) return NULL;
    *index = (size_t)(place - sizes);
    return *place;
}

/* Checks that no allocator is smaller than its parts together. */
static void check_scalars(findings *f, const hd_dump *dump) {
    size_t all = hd_dump_scalar_count(dump), n = 0, index;
    FREED const hd_scalar **sizes = needed(malloc((all + 1) * sizeof *sizes));
    FREED uint64_t *sum = needed(calloc(all + 1, sizeof *sum));
    for (size_t i = 0; i < all; i++) {
        const hd_scalar *s = hd_dump_scalar(dump, i);
        if (s->allocator && !strcmp(s->name, "size") && !s->text) sizes[n++] = s;
    }
    qsort(sizes, n, sizeof *sizes, by_allocator);
    for (size_t i = 0; i < n; i++) {
        if (!part_of(sizes, n, sizes[i], &index)) continue;
        sum[index] = sum[index] > UINT64_MAX - sizes[i]->value ? UINT64_MAX : sum[index] + sizes[i]->value;
    }
    for (size_t i = 0; i < n; i++)
        if (sum[i] > sizes[i]->value)
            inconsistent(f, NULL, "%.60s of process %llu, dump %.20s, has %llu bytes, but its parts add up to %llu",
                         sizes[i]->allocator, (unsigned long long)sizes[i]->pid,
                         sizes[i]->dump ? sizes[i]->dump : "-", (unsigned long long)sizes[i]->value,
                         (unsigned long long)sum[i]);
}

/* Objects. ------------------------------------------------------------------------------------- */

/* References of a Dart snapshot lead to object 0 if the VM left out the object. Names that a V8 snapshot lost are
   already reported as faults of its bytes. */
static void check_graph(findings *f, const hd_dump *dump) {
    const hd_graph *graph = hd_dump_graph(dump);
    hd_graph_summary s = hd_graph_summarize(graph);
    hd_error err;
    if (hd_graph_validate(graph, &err)) found(f, "inconsistent", &err, NULL);
    if (s.missing_objects && !hd_dump_dart(dump))
        inconsistent(f, NULL,
                     "no record describes %llu object%s, to which %llu reference%s and %llu root%s refer",
                     (unsigned long long)s.missing_objects, plural(s.missing_objects),
                     (unsigned long long)s.missing_references, plural(s.missing_references),
                     (unsigned long long)s.missing_roots, plural(s.missing_roots));
    if (s.missing_classes && !hd_dump_v8(dump))
        inconsistent(f, NULL, "no record describes %llu class%s of objects",
                     (unsigned long long)s.missing_classes, s.missing_classes == 1 ? "" : "es");
    if (s.objects && s.roots == s.weak_roots)
        inconsistent(f, NULL, "%llu object%s, but no root that holds one", (unsigned long long)s.objects,
                     plural(s.objects));
}

/* Checks source locations and call stacks, which other commands read only when needed. */
static void check_origins(findings *f, const hd_v8 *v8, const hd_options *options) {
    hd_v8_origins *origins;
    hd_error err;
    if (hd_v8_origins_read(v8, options, &origins, &err)) found(f, "unreadable", &err, NULL);
    else hd_v8_origins_free(origins);
}

/* Files. --------------------------------------------------------------------------------------- */

/* Collects all findings. `*dump` is NULL if nothing could be read. */
static void examine(const arguments *a, const char *file, findings *f, hd_dump **dump) {
    reading r = { .file = input_name(file), .findings = f };
    hd_options options = reading_options(&a->input, &r);
    hd_error err;
    *dump = NULL;
    options.lenient = true;
    options.warning = on_finding;
    if (read_input(file, &options, dump, &err)) {
        *dump = NULL;
        f->refused = 1;
        found(f, "unreadable", &err, NULL);
        return;
    }
    f->refused = hd_dump_warning_count(*dump);
    if (f->refused > f->count)   /* a format may count pieces without a warning for each */
        inconsistent(f, NULL, "%llu malformed pieces were left out", (unsigned long long)(f->refused - f->count));
    for (size_t i = 0; i < hd_dump_heap_count(*dump); i++)
        if (hd_dump_heap(*dump, i)->breakdown) check_breakdown(f, hd_dump_heap(*dump, i));
    check_scalars(f, *dump);
    if (hd_dump_graph(*dump)) check_graph(f, *dump);
    if (hd_dump_v8(*dump)) check_origins(f, hd_dump_v8(*dump), &options);
}

static void put_finding(FILE *out, const finding *f) {
    display(out, "  ");
    if (f->what.offset != HD_UNKNOWN) display(out, "offset %llu", (unsigned long long)f->what.offset);
    if (f->what.line > 1 && f->what.offset != HD_UNKNOWN)
        display(out, " (line %llu)", (unsigned long long)f->what.line);
    if (f->what.offset != HD_UNKNOWN) display(out, ": ");
    if (f->heap)
        display(out, "%s of process %llu, dump %s: ", f->heap->allocator ? f->heap->allocator : "the heap",
                (unsigned long long)f->heap->pid, f->heap->dump ? f->heap->dump : "-");
    display(out, "%s\n", f->what.message);
}

static void finding_json(hd_json *j, const finding *f) {
    json_line(j);
    json_text(j, "kind", f->kind);
    json_known(j, "offset", f->what.offset);
    json_known(j, "line", f->what.line ? f->what.line : HD_UNKNOWN);
    json_text(j, "message", f->what.message);
    if (f->heap) json_object(j, "heap"), json_label(j, f->heap), hd_json_end(j);
    hd_json_end(j);
}

static int validate_file(const arguments *a, const char *file, answer *r) {
    findings f = { .most = a->cut.all ? SIZE_MAX : SHOWN };
    size_t shown;
    hd_dump *dump;
    const char *format;
    examine(a, file, &f, &dump);
    shown = f.count < f.most ? f.count : f.most;
    format = dump ? hd_dump_format(dump)->name : f.list[shown - 1].what.format;
    if (a->view.json) {
        json_line(&r->json);
        json_text(&r->json, "file", file);
        json_text(&r->json, "format", format);
        json_u64(&r->json, "findings", f.count);
        json_u64(&r->json, "refused", f.refused);
        json_array(&r->json, "list");
        for (size_t i = 0; i < shown; i++) finding_json(&r->json, &f.list[i]);
        hd_json_end(&r->json), hd_json_end(&r->json);
    } else {
        display(r->text, "%s: %s, ", input_name(file), format ? format : "unknown format");
        if (f.count) display(r->text, "%zu finding%s", f.count, f.count == 1 ? "" : "s");
        if (!dump || (f.refused && is_empty(dump))) display(r->text, ", not readable");
        else if (f.refused) display(r->text, ", refused when read with --strict");
        if (f.count) fputc('\n', r->text);
        else display(r->text, "nothing wrong\n");
        for (size_t i = 0; i < shown; i++) put_finding(r->text, &f.list[i]);
        if (f.count > shown) display(r->text, "  ... %zu more (--all lists them)\n", f.count - shown);
    }
    free(f.list);
    hd_dump_free(dump);
    return f.count ? BAD_INPUT : DONE;
}

int run_validate(const arguments *a) {
    answer r;
    int status = answer_open(&r, a, "files");
    if (status) return status;
    for (int i = 0; i < a->input.file_count; i++)
        if (validate_file(a, a->input.files[i], &r)) status = BAD_INPUT;
    return answer_close(&r, DONE) ? BAD_INPUT : status;
}
