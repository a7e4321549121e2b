/* Profiles of valgrind --tool=dhat, version 2, and of Rust's crate dhat, which writes the same JSON. valgrind's
   dhat/dh_main.c describes the keys. A program point is a call stack with its numbers. The points become heaps:

       eb, ebk   live at the end, "t-end": kind live
       gb, gbk   live at the peak of all bytes, "t-gmax": kind peak
       tb, tbk   allocated in total: kind total
       mb, mbk   the maximum of each stack, at its own time: kind peak of "malloc maxima". Their sum was
                 never live

   Without lifetimes ("bklt": false), as in the modes copy and ad-hoc, the file has only totals, and their allocator
   is the mode. Events of --mode=ad-hoc have units instead of bytes. Models have only bytes, so the label "unit" names
   the unit. A cell cannot hold lifetimes, reads and writes: their sums are scalars of the process. Accesses to each
   byte ("acc") are left out. A heap has a time only if the file counts microseconds; counts of instructions become
   scalars.

   The frame "0x1093C0: grow (p.c:5)" is called "grow (p.c:5)" here, and "0x48417B4: malloc (in /usr/lib/libc.so.6)"
   is "malloc [libc.so.6]". A frame without a name keeps its address. */

#include "dhat_points.h"
#include "formats.h"

/* `{"dhatFileVersion":`, or that key after others, in case a program has sorted the keys. */
int dhat_detect(const uint8_t *bytes, size_t size) {
    static const char key[] = "\"dhatFileVersion\"";
    size_t at = 0, n = sizeof key - 1;
    while (at < size && json_is_space(bytes[at])) at++;
    if (at == size || bytes[at++] != '{') return 0;
    while (at < size && json_is_space(bytes[at])) at++;
    if (size - at >= n && !memcmp(bytes + at, key, n)) return 100;
    for (; size - at >= n; at++)
        if (!memcmp(bytes + at, key, n)) return 80;
    return 0;
}

/* Heaps. --------------------------------------------------------------------------------------- */

static bool dhat_is_root(const dhat *d, uint32_t frame) {
    const dhat_name *name = &d->table[frame];
    return !frame && name->size == 6 && !memcmp(d->names + name->at, "[root]", 6);
}

/* Adds a point's numbers to a heap. A point with only zeros adds no cell. */
static hd_status dhat_add(dhat *d, const dhat_point *p, int bytes, hd_profile *profile, hd_error *err) {
    uint32_t node = 0;
    hd_status status = HD_OK;
    hd_error found;
    if (p->left_out || (!p->number[bytes] && !p->number[bytes + 1])) return HD_OK;
    for (size_t i = p->count; i-- && !status;) {
        uint32_t frame = d->frames[p->frames + i];
        hd_str name = { d->names + d->table[frame].at, d->table[frame].size };
        if (!dhat_is_root(d, frame)) status = hd_profile_node(profile, HD_AXIS_BACKTRACE, node, name, &node, err);
    }
    if (status) return status;
    memset(&found, 0, sizeof found);
    status = hd_profile_add(profile, &node, p->number[bytes], p->number[bytes + 1], &found);
    if (!status) return HD_OK;
    found.offset = p->offset;
    found.line = p->line;
    return hd_report(d->json.lines.reporter, &found, err);
}

/* The first word of the command, without its directories. */
static const char *dhat_process(const dhat *d, char *name, size_t room) {
    hd_str word = { dhat_text(d, CMD), 0 };
    if (!word.data) return NULL;
    while (word.data[word.len] && word.data[word.len] != ' ') word.len++;
    word = dhat_base(word);
    snprintf(name, room, "%.*s", (int)(word.len < room ? word.len : room - 1), word.data);
    return name;
}

/* The time of a heap; 0 if the file counts instructions instead of microseconds. */
static uint64_t dhat_time(const dhat *d, int key) {
    const char *units = dhat_text(d, TU);
    return units && !strcmp(units, "\xc2\xb5s") ? d->number[key] : 0;
}

static hd_status dhat_heap(dhat *d, hd_dump *dump, const hd_heap *heap, int bytes, const hd_options *options) {
    hd_profile_desc desc;
    hd_error *err = d->json.lines.err;
    hd_heap made = *heap;
    hd_profile *profile;
    hd_status status = HD_OK;
    memset(&desc, 0, sizeof desc);
    desc.axis_count = 1;
    desc.allocator = options->allocator;
    desc.limits = options->limits;
    profile = hd_profile_create(&desc, err);
    if (!profile) return err->status;
    for (size_t i = 0; i < d->point_count && !status; i++) status = dhat_add(d, &d->points[i], bytes, profile, err);
    if (status) return hd_profile_free(profile), status;
    made.profile = profile;
    return hd_dump_add_heap(dump, &made, err);
}

/* Adds the heaps of the file, all with the labels of `base`. */
static hd_status dhat_heaps(dhat *d, hd_dump *dump, const hd_heap *base, const hd_options *options) {
    static const struct {
        int bytes, time;
        hd_heap_kind kind;
    } heaps[] = { { EB, TE, HD_HEAP_LIVE }, { GB, TG, HD_HEAP_PEAK }, { TB, TE, HD_HEAP_TOTAL },
                  { MB, TE, HD_HEAP_PEAK } };
    char most[256];
    hd_status status = HD_OK;
    for (size_t i = 0; i < sizeof heaps / sizeof *heaps && !status; i++) {
        hd_heap heap = *base;
        if (!d->lifetimes && heaps[i].bytes != TB) continue;
        heap.kind = heaps[i].kind;
        heap.time_us = dhat_time(d, heaps[i].time);
        snprintf(most, sizeof most, "%s maxima", heap.allocator ? heap.allocator : "malloc");
        if (heaps[i].bytes == MB) heap.allocator = most;
        status = dhat_heap(d, dump, &heap, heaps[i].bytes, options);
    }
    return status;
}

/* Adds a number of the process, or a text, under a name. */
static hd_status dhat_scalar(dhat *d, hd_dump *dump, const hd_heap *base, const char *name, uint64_t value,
                             const char *units, const char *text) {
    hd_scalar scalar;
    memset(&scalar, 0, sizeof scalar);
    scalar.pid = base->pid;
    scalar.process = base->process;
    scalar.name = name;
    scalar.units = units;
    scalar.value = value;
    scalar.text = text;
    return hd_dump_add_scalar(dump, &scalar, d->json.lines.err);
}

/* Adds the sum over all points of a number that cells cannot hold. */
static hd_status dhat_sum(dhat *d, hd_dump *dump, const hd_heap *base, int number, const char *name,
                          const char *units) {
    uint64_t sum = 0;
    for (size_t i = 0; i < d->point_count; i++) {
        const dhat_point *p = &d->points[i];
        hd_error found;
        if (p->left_out || p->number[number] <= UINT64_MAX - sum) {
            sum += p->left_out ? 0 : p->number[number];
            continue;
        }
        memset(&found, 0, sizeof found);
        found.status = HD_OVERFLOW;
        found.offset = p->offset;
        found.line = p->line;
        snprintf(found.message, sizeof found.message, "the sum of all \"%s\" passes 2^64", dhat_point_keys[number]);
        return hd_report(d->json.lines.reporter, &found, d->json.lines.err);
    }
    return dhat_scalar(d, dump, base, name, sum, units, NULL);
}

static hd_status dhat_scalars(dhat *d, hd_dump *dump, const hd_heap *base) {
    const char *time = dhat_text(d, TU), *unit = dhat_text(d, BSU);
    hd_status status = HD_OK;
    if (d->text[CMD]) status = dhat_scalar(d, dump, base, "command", 0, NULL, dhat_text(d, CMD));
    if (!status) status = dhat_scalar(d, dump, base, "time_end", d->number[TE], time, NULL);
    if (d->lifetimes && !status) status = dhat_scalar(d, dump, base, "time_peak", d->number[TG], time, NULL);
    if (d->lifetimes && !status) status = dhat_sum(d, dump, base, TL, "lifetimes", time);
    if (d->accesses && !status) status = dhat_sum(d, dump, base, RB, "reads", unit ? unit : "bytes");
    if (d->accesses && !status) status = dhat_sum(d, dump, base, WB, "writes", unit ? unit : "bytes");
    return status;
}

static hd_status dhat_make(dhat *d, hd_dump *dump, const hd_options *options) {
    char process[256];
    const char *mode = dhat_text(d, MODE), *unit = dhat_text(d, BSU);
    hd_label label = { "unit", unit };
    hd_status status;
    hd_heap base;
    memset(&base, 0, sizeof base);
    base.pid = d->number[PID];
    base.process = dhat_process(d, process, sizeof process);
    base.allocator = mode && !strcmp(mode, "heap") ? "malloc" : mode;
    if (unit && strcmp(unit, "bytes")) {
        base.labels = &label;
        base.label_count = 1;
    }
    status = dhat_heaps(d, dump, &base, options);
    return status ? status : dhat_scalars(d, dump, &base);
}

hd_status dhat_read(hd_dump *dump, hd_in in, const hd_options *options, hd_error *err) {
    dhat d;
    hd_lines *l = &d.json.lines;
    hd_status status;
    memset(&d, 0, sizeof d);
    d.json = json_make(dump, in, options, err);
    dhat_read_file(&d);
    dhat_check(&d);
    status = d.json.status ? d.json.status : dhat_make(&d, dump, options);
    room_free(l, d.points, d.point_room, sizeof *d.points);
    room_free(l, d.frames, d.frame_room, sizeof *d.frames);
    room_free(l, d.table, d.table_room, sizeof *d.table);
    room_free(l, d.names, d.names_room, 1);
    json_free(&d.json);
    return status;
}
