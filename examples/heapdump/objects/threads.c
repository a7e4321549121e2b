/* The command threads: stacks, and the memory that local variables retain. */

#include "objects.h"

/* A local variable. An object that several roots hold in one frame is listed once. */
typedef struct local {
    uint32_t thread, frame;      /* frame: position in the stack plus 1; 0: the file does not have it */
    uint32_t object, root;
} local;

typedef struct thread_line {
    hd_thread_info info;
    uint32_t number;
    const local *locals;         /* by frame, the largest first */
    uint32_t count;
    hd_total retained;           /* by all its locals together; not exact: a lower bound */
    uint64_t sum, most;          /* of the bytes that each local retains */
} thread_line;

typedef struct thread_list {
    thread_line *lines;          /* most retained first; behind the exact threads the largest sum first */
    uint32_t count, exact;       /* exact: number of threads at the beginning with exact retained sizes */
    local *locals;
    hd_total together;           /* retained by the locals of all threads */
} thread_list;

enum { EXACT_THREADS = 16 * 63 }; /* one walk through the graph for 63 */

/* Lines of a thread on a screen: locals, and the share of the heap that its locals must retain. */
enum { SHOWN_LOCALS = 3, SHOWN_PART = 100, SHOWN_UNITS = 60 };

static int by_frame(const void *a, const void *b, void *of) {
    const objects *o = of;
    const local *x = a, *y = b;
    uint64_t p = retained_by(o, x->object), q = retained_by(o, y->object);
    if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
    if (x->frame != y->frame) return x->frame < y->frame ? -1 : 1;
    if (p != q) return p < q ? 1 : -1;
    if (x->object != y->object) return x->object < y->object ? -1 : 1;
    return x->root < y->root ? -1 : x->root > y->root;
}

static int by_sum(const void *a, const void *b) {
    const thread_line *x = a, *y = b;
    if (x->sum != y->sum) return x->sum < y->sum ? 1 : -1;
    return x->number < y->number ? -1 : 1;
}

static int by_retained(const void *a, const void *b) {
    const thread_line *x = a, *y = b;
    if (x->retained.bytes != y->retained.bytes) return x->retained.bytes < y->retained.bytes ? 1 : -1;
    return x->number < y->number ? -1 : 1;
}

/* Collects the locals of all threads, thread after thread. */
static uint32_t find_locals(const objects *o, thread_list *list) {
    uint32_t n = 0, kept = 0;
    list->locals = needed(malloc(((size_t)hd_graph_root_count(o->graph) + 1) * sizeof *list->locals));
    for (uint32_t i = 0; i < hd_graph_root_count(o->graph); i++) {
        hd_root root = hd_graph_root(o->graph, i);
        if (root.thread && root.kind == HD_ROOT_LOCAL)
            list->locals[n++] = (local){ root.thread - 1, root.frame, root.object, i };
    }
    qsort_r(list->locals, n, sizeof *list->locals, by_frame, (void *)(uintptr_t)o);
    for (uint32_t i = 0; i < n; i++) {
        const local *x = &list->locals[i], *before = &list->locals[kept - (kept > 0)];
        if (!kept || x->thread != before->thread || x->frame != before->frame || x->object != before->object)
            list->locals[kept++] = *x;
    }
    return kept;
}

/* Gives each thread its locals, and sorts the threads by the sum of the retained sizes. */
static void share_locals(const objects *o, thread_list *list, uint32_t locals) {
    for (uint32_t i = 0; i < locals; i++) {
        thread_line *t = &list->lines[list->locals[i].thread];
        uint64_t bytes = retained_by(o, list->locals[i].object);
        if (!t->count++) t->locals = &list->locals[i];
        if (bytes > t->most) t->most = bytes;
        t->sum += bytes > UINT64_MAX - t->sum ? UINT64_MAX - t->sum : bytes;
    }
    qsort(list->lines, list->count, sizeof *list->lines, by_sum);
    list->exact = list->count < EXACT_THREADS ? list->count : EXACT_THREADS;
}

/* The retained sizes of the locals of the exact threads, and of all threads together. */
static int find_retained(const objects *o, thread_list *list, uint32_t locals) {
    size_t *first = needed(calloc((size_t)list->exact + 2, sizeof *first)), n = 0;
    uint32_t *members = needed(malloc(2 * ((size_t)locals + 1) * sizeof *members));
    hd_total *sums = needed(calloc((size_t)list->exact + 1, sizeof *sums));
    reading r;
    hd_options options = long_call(&r, "finding the bytes that each thread retains");
    hd_error err;
    hd_status status;
    for (uint32_t i = 0; i < list->exact; i++) {
        for (uint32_t k = 0; k < list->lines[i].count; k++) members[n++] = list->lines[i].locals[k].object;
        first[i + 1] = n;
    }
    for (uint32_t i = 0; i < locals; i++) members[n++] = list->locals[i].object;
    first[list->exact + 1] = n;
    status = hd_graph_sets_retained(o->graph, members, first, (size_t)list->exact + 1, &options, sums, &err);
    progress_end();
    for (uint32_t i = 0; i < list->count; i++) {
        thread_line *t = &list->lines[i];
        t->retained = i < list->exact ? sums[i] : (hd_total){ .objects = t->count != 0, .bytes = t->most };
    }
    list->together = sums[list->exact];
    free(first), free(members), free(sums);
    return status ? failed(o->file, &err) : DONE;
}

/* A thread behind the first `i` lines retains at most these bytes. */
static uint64_t most_behind(const thread_list *list, uint32_t i) {
    uint64_t sum = list->exact < list->count ? list->lines[i > list->exact ? i : list->exact].sum : 0;
    return i < list->exact && list->lines[i].retained.bytes > sum ? list->lines[i].retained.bytes : sum;
}

static void threads_close(thread_list *list) { free(list->lines), free(list->locals); }

static int threads_open(const objects *o, thread_list *list) {
    uint32_t locals;
    memset(list, 0, sizeof *list);
    list->count = hd_graph_thread_count(o->graph);
    if (!list->count) {
        display(stderr, "heapdump: %s (%s): the file has no threads; heap dumps of Java VMs (hprof) have them\n",
                o->file, hd_dump_format(o->dump)->name);
        return BAD_INPUT;
    }
    list->lines = needed(calloc(list->count, sizeof *list->lines));
    for (uint32_t i = 0; i < list->count; i++)
        list->lines[i].info = hd_graph_thread(o->graph, i), list->lines[i].number = i;
    locals = find_locals(o, list);
    share_locals(o, list, locals);
    if (find_retained(o, list, locals)) {
        threads_close(list);
        return BAD_INPUT;
    }
    qsort(list->lines, list->exact, sizeof *list->lines, by_retained);
    return DONE;
}

/* Text. ------------------------------------------------------------------------------------------ */

/* "#3 Shop.run (Shop.java:41)". */
static void put_frame(FILE *out, const screen *s, const objects *o, const thread_line *t, uint32_t at) {
    hd_stack_frame f = hd_graph_frame(o->graph, t->info.frames[at]);
    char *text;
    size_t size;
    FILE *line = needed(open_memstream(&text, &size));
    if (f.function.len) put_name(line, f.function);
    else display(line, "unknown function");
    if (f.native) display(line, " (native)");
    else if (f.file.len) display(line, " ("), put_name(line, f.file);
    if (!f.native && f.file.len && f.line) display(line, ":%u", f.line);
    if (!f.native && f.file.len) display(line, ")");
    closed_text(line, &text);
    display(out, "%12s  #%u ", "", at), put_within(out, text, s->columns ? s->columns - 20 : 0), display(out, "\n");
    free(text);
}

/* "1.2 KiB    java.util.ArrayList, 3 of 10 slots  id 4027". */
static void put_local(FILE *out, const arguments *a, const screen *s, const objects *o, const local *x) {
    static const char no_frame[] = ", not in a frame";
    char *text = class_and_value(o, x->object), *cut, id[24];
    int room = s->columns - 21 - (x->frame ? 0 : (int)sizeof no_frame - 1);
    id_text(o, x->object, id);
    cut = cut_within(hd_cstr(text), s->columns ? room - (int)strlen(id) : 0);
    put_bytes(out, a, retained_by(o, x->object), 12);
    display(out, "    %s  id %s%s\n", cut, id, x->frame ? "" : no_frame);
    free(text), free(cut);
}

/* "main, RUNNABLE  id 4027, retains 1.2 KiB". */
static void put_thread(FILE *out, const arguments *a, const screen *s, const objects *o, const thread_line *t,
                       bool exact) {
    char *text;
    size_t size;
    FILE *line = needed(open_memstream(&text, &size));
    if (t->info.name.len) put_name(line, t->info.name);
    else display(line, "thread without a name");
    if (t->info.state.len) display(line, ", "), put_name(line, t->info.state);
    if (t->info.object != HD_NONE) {
        display(line, "  id "), put_id(line, o, hd_graph_object(o->graph, t->info.object).id, 0);
        display(line, ", retains "), put_bytes(line, a, retained_by(o, t->info.object), 0);
    }
    closed_text(line, &text);
    put_style(out, s, t->retained.bytes >= o->dominators->bytes / 10 && t->retained.bytes ? STRONG : PLAIN);
    display(out, "%s", exact ? " " : ">"), put_bytes(out, a, t->retained.bytes, 11);
    put_share(out, t->retained.bytes, o->dominators->bytes);
    display(out, "  "), put_within(out, text, s->columns ? s->columns - 23 : 0);
    put_style(out, s, PLAIN);
    display(out, "\n");
    free(text);
}

/* The whole stack with all locals. Locals without a frame come first. */
static void put_whole(FILE *out, const arguments *a, const screen *s, const objects *o, const thread_line *t) {
    uint32_t k = 0;
    for (uint32_t frame = 0; frame <= t->info.frame_count; frame++) {
        if (frame) put_frame(out, s, o, t, frame - 1);
        for (; k < t->count && t->locals[k].frame == frame; k++) put_local(out, a, s, o, &t->locals[k]);
    }
}

static int by_size(const void *a, const void *b, void *of) {
    const objects *o = of;
    const local *x = a, *y = b;
    uint64_t p = retained_by(o, x->object), q = retained_by(o, y->object);
    if (p != q) return p < q ? 1 : -1;
    if (x->object != y->object) return x->object < y->object ? -1 : 1;
    return x->frame < y->frame ? -1 : x->frame > y->frame;
}

/* The largest locals of a thread. An object that is a local of several frames has its place in the innermost. */
typedef struct largest_locals {
    local list[SHOWN_LOCALS];
    uint32_t count, more;        /* more: other objects */
    uint64_t most;               /* bytes that the largest of those retains */
} largest_locals;

static largest_locals largest_of(const objects *o, const thread_line *t) {
    local *sorted = needed(malloc(((size_t)t->count + 1) * sizeof *sorted));
    largest_locals l = { .count = 0 };
    if (t->count) memcpy(sorted, t->locals, t->count * sizeof *sorted);
    qsort_r(sorted, t->count, sizeof *sorted, by_size, (void *)(uintptr_t)o);
    for (uint32_t i = 0; i < t->count; i++) {
        if (i && sorted[i].object == sorted[i - 1].object) continue;
        if (l.count < SHOWN_LOCALS) l.list[l.count++] = sorted[i];
        else if (!l.more++) l.most = retained_by(o, sorted[i].object);
    }
    free(sorted);
    return l;
}

/* The innermost frame, the largest locals with their frames, and one line for all others. */
static void put_brief(FILE *out, const arguments *a, const screen *s, const objects *o, const thread_line *t) {
    largest_locals l = largest_of(o, t);
    uint32_t left = t->info.frame_count;
    for (uint32_t frame = 0; frame <= t->info.frame_count; frame++) {
        bool wanted = frame == 1;
        for (uint32_t k = 0; k < l.count; k++) wanted |= l.list[k].frame == frame;
        if (frame && wanted) put_frame(out, s, o, t, frame - 1), left--;
        for (uint32_t k = 0; k < l.count; k++)
            if (l.list[k].frame == frame) put_local(out, a, s, o, &l.list[k]);
    }
    if (!left && !l.more) return;
    put_style(out, s, FAINT);
    display(out, "%12s  ... ", "");
    if (left) display(out, "%u more frame%s%s", left, plural(left), l.more ? ", " : "");
    if (l.more) {
        display(out, "%u more local%s of at most ", l.more, plural(l.more));
        put_bytes(out, a, l.most, 0);
    }
    display(out, " (--all)\n");
    put_style(out, s, PLAIN);
}

/* The number of lines of put_thread and put_brief. */
static uint32_t lines_of(const objects *o, const thread_line *t) {
    largest_locals l = largest_of(o, t);
    uint32_t frames = t->info.frame_count != 0;
    for (uint32_t k = 0; k < l.count; k++) {
        bool again = l.list[k].frame <= 1;
        for (uint32_t i = 0; i < k; i++) again |= l.list[i].frame == l.list[k].frame;
        frames += !again;
    }
    return 1 + frames + l.count + (frames < t->info.frame_count || l.more);
}

/* Whether a screen shows the stack of a thread: the first one, and those that hold a hundredth of the heap. */
static bool has_stack(const objects *o, const thread_list *list, uint32_t i) {
    return !i || list->lines[i].retained.bytes >= o->dominators->bytes / SHOWN_PART;
}

static int threads_text(const arguments *a, const objects *o, FILE *out) {
    screen s = screen_of(a);
    uint32_t rows = rows_for(a, &s, (size_t)a->input.file_count), i = 0, used = 2; /* lines */
    thread_list list;
    if (threads_open(o, &list)) return BAD_INPUT;
    display(out, "%u thread%s; all local variables together retain ", list.count, plural(list.count));
    put_bytes(out, a, list.together.bytes, 0);
    display(out, "\n");
    put_style(out, &s, FAINT);
    display(out, "%12s %7s  thread, #frame, local variable\n", "retained", "");
    put_style(out, &s, PLAIN);
    for (; i < list.count && i < shown_of(a, HD_NONE); i++) {
        const thread_line *t = &list.lines[i];
        bool stack = rows && has_stack(o, &list, i) && (!i || used + lines_of(o, t) <= rows);
        if (rows && i && used >= rows && !a->cut.cutoff.top) break;
        used += stack ? lines_of(o, t) : 1;
        put_thread(out, a, &s, o, t, i < list.exact);
        if (!rows) put_whole(out, a, &s, o, t);
        else if (stack) put_brief(out, a, &s, o, t);
    }
    if (i < list.count) {
        display(out, "... %u more thread%s, each with at most ", list.count - i, plural(list.count - i));
        put_bytes(out, a, most_behind(&list, i), 0);
        display(out, " (--all)\n");
    }
    if (list.lines[0].count) {
        char id[24];
        largest_locals l = largest_of(o, &list.lines[0]);
        id_text(o, l.list[0].object, id);
        put_next(out, &s, a, "all about the largest", "object", o->file, id, NULL);
    }
    threads_close(&list);
    return DONE;
}

/* JSON. ------------------------------------------------------------------------------------------ */

static void json_local(hd_json *j, const objects *o, const local *x) {
    hd_root root = hd_graph_root(o->graph, x->root);
    hd_json_object(j);
    if (x->frame) json_u64(j, "frame", x->frame - 1);
    json_members(j, o, x->object);
    json_data(j, o, x->object, SHOWN_UNITS);
    json_root(j, o, &root);
    hd_json_end(j);
}

static void json_thread(hd_json *j, const objects *o, const thread_line *t, bool exact) {
    json_line(j);
    json_str(j, "thread", t->info.name);
    json_str(j, "state", t->info.state);
    if (t->info.object != HD_NONE) {
        json_id(j, o, t->info.object);
        json_class(j, o->graph, hd_graph_object(o->graph, t->info.object).class_index);
        json_u64(j, "retained", retained_by(o, t->info.object));
    }
    json_u64(j, "locals_retained", t->retained.bytes);
    json_bool(j, "exact", exact);
    json_u64(j, "locals_retained_objects", t->retained.objects);
    json_array(j, "frames");
    for (uint32_t i = 0; i < t->info.frame_count; i++) {
        hd_stack_frame f = hd_graph_frame(o->graph, t->info.frames[i]);
        hd_json_object(j);
        json_str(j, "function", f.function);
        if (f.file.len) json_str(j, "source", f.file);
        if (f.line) json_u64(j, "line", f.line);
        json_bool(j, "native", f.native);
        hd_json_end(j);
    }
    hd_json_end(j);
    json_array(j, "locals");
    for (uint32_t i = 0; i < t->count; i++) json_local(j, o, &t->locals[i]);
    hd_json_end(j);
    hd_json_end(j);
}

static int threads_json(const arguments *a, const objects *o, hd_json *j) {
    thread_list list;
    if (threads_open(o, &list)) return BAD_INPUT;
    json_u64(j, "live_bytes", o->dominators->bytes);
    json_u64(j, "locals_retained", list.together.bytes);
    json_u64(j, "count", list.count);
    json_array(j, "threads");
    for (uint32_t i = 0; i < list.count && i < shown_of(a, HD_NONE); i++)
        json_thread(j, o, &list.lines[i], i < list.exact);
    hd_json_end(j);
    threads_close(&list);
    return DONE;
}

int run_threads(const arguments *a) { return each_graph(a, "files", true, threads_text, threads_json); }
