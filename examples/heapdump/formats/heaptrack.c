/* Recordings of heaptrack, versions 1 to 3, unpacked, as heaptrack_interpret writes them and the GUI reads them. A
   recording has every allocation and deallocation of a run, in order. It becomes four heaps:

       live        blocks that were never freed
       peak        blocks that were live at the peak of bytes
       total       all blocks
       temporary   blocks that were freed before any other event. heaptrack counts more of these: also each
                   deallocation of the file's first allocation that follows another deallocation

   Suppressed leaks are leaks here. Frames, inlined ones too, have the names of the recording.

   One pass over the events suffices. The peak amounts of an allocation are its latest ones before the peak; the first
   event that changes them notes them. Memory depends on strings, stacks and allocations, and not on events. */

#include "formats.h"
#include "heaptrack_tables.h"

/* "v 10400 3", newline, "X ". heaptrack 1.2 wrote "v 10200" for a while, for version 1. */
int heaptrack_detect(const uint8_t *bytes, size_t size) {
    static const char early[] = "v 10200\n";
    size_t i = 2;
    if (size < 2 || bytes[0] != 'v' || bytes[1] != ' ') return 0;
    for (int number = 0; number < 2; number++, i++) {
        size_t start = i;
        while (i < size && ((bytes[i] >= '0' && bytes[i] <= '9') || (bytes[i] >= 'a' && bytes[i] <= 'f'))) i++;
        if (!number && i < size && i + 2 == sizeof early && !memcmp(bytes, early, i + 1)) number = 1;
        if (i == start || (i < size && bytes[i] != (number ? '\n' : ' '))) return 0;
        if (i >= size) return number ? 60 : 0;
    }
    if (i + 1 >= size) return 60;
    return (bytes[i] == 'X' || bytes[i] == 'x') && bytes[i + 1] == ' ' ? 100 : 0;
}

/* Events. -------------------------------------------------------------------------------------- */

/* Notes the peak amounts before an event changes them. */
static void heaptrack_touch(const heaptrack *t, heaptrack_info *info) {
    if (info->changed <= t->peak_event) info->blocks[PEAK] = info->blocks[LEAKED];
}

static hd_status heaptrack_allocated(heaptrack *t, heaptrack_info *info) {
    if (info->size > UINT64_MAX - t->bytes) {
        t->lines.at = t->lines.start + 2;
        return hd_lines_wrong(&t->lines, "an allocation with which less than 2^64 bytes are live");
    }
    heaptrack_touch(t, info);
    info->changed = ++t->events;
    info->blocks[LEAKED]++;
    info->blocks[ALL]++;
    t->bytes += info->size;
    t->last = (uint32_t)(info - t->infos);
    if (t->bytes <= t->peak_bytes) return HD_OK;
    t->peak_bytes = t->bytes;
    t->peak_event = t->events;
    t->peak_ms = t->time_ms;
    return HD_OK;
}

static hd_status heaptrack_freed(heaptrack *t, heaptrack_info *info) {
    if (!info->blocks[LEAKED]) {
        t->lines.at = t->lines.start + 2;
        return hd_lines_wrong(&t->lines, "an allocation that is live");
    }
    heaptrack_touch(t, info);
    info->changed = ++t->events;
    info->blocks[LEAKED]--;
    t->bytes -= info->size;
    info->blocks[TEMPORARY] += t->last == (uint32_t)(info - t->infos);
    t->last = HD_NONE;
    return HD_OK;
}

/* "+ 67d" or "- 0" */
static hd_status heaptrack_event(heaptrack *t, bool is_new) {
    hd_lines *l = &t->lines;
    const char *start = l->at, *wrong;
    uint64_t index = 0;
    wrong = heaptrack_number(l, &index);
    if (!wrong && index >= t->info_count) {
        l->at = start + 1;
        wrong = "the number of an earlier allocation";
    }
    if (!wrong && !hd_lines_done(l)) wrong = "the end of the line";
    if (wrong) return hd_lines_wrong(l, wrong);
    return is_new ? heaptrack_allocated(t, &t->infos[index]) : heaptrack_freed(t, &t->infos[index]);
}

static hd_status heaptrack_time(heaptrack *t) {
    hd_lines *l = &t->lines;
    const char *wrong = heaptrack_number(l, &t->time_ms);
    if (!wrong && !hd_lines_done(l)) wrong = "the end of the line";
    return wrong ? hd_lines_wrong(l, wrong) : HD_OK;
}

/* The command line: its first word is the program's name. */
static void heaptrack_command(heaptrack *t) {
    const hd_lines *l = &t->lines;
    const char *name = l->at, *end = l->at;
    for (; end < l->end && *end != ' '; end++)
        if (*end == '/') name = end + 1;
    snprintf(t->process, sizeof t->process, "%.*s", (int)(end - name < 255 ? end - name : 255), name);
}

/* "I PAGESIZE PAGES" */
static bool heaptrack_is_system(hd_lines *l) {
    uint64_t number;
    return hd_lines_take(l, "I") && !heaptrack_number(l, &number) && !heaptrack_number(l, &number) &&
           hd_lines_done(l);
}

/* Whether a line "I" follows, as it does since version 1.1: lines before it are arguments of the command. Otherwise
   the recording begins after the line of the command. */
static hd_status heaptrack_look_ahead(heaptrack *t) {
    hd_lines *l = &t->lines, line = *l;
    hd_status status = hd_window_fill(l->window, HEAPTRACK_AHEAD, l->err);
    const char *end = (const char *)l->window->end;
    if (status) return status;
    l->start = l->at = l->end = (const char *)l->window->at; /* the line may have moved */
    t->started = true;
    for (const char *p = l->start; p < end && t->started; p = line.end + 1) {
        line.end = (const char *)memchr(p, '\n', (size_t)(end - p));
        if (!line.end) line.end = end;
        line.at = p;
        t->started = !heaptrack_is_system(&line);
    }
    return HD_OK;
}

/* The command line. Its arguments may contain line breaks. */
static hd_status heaptrack_before(heaptrack *t) {
    hd_lines *l = &t->lines;
    if (!*t->process && hd_lines_take(l, "X ")) return heaptrack_command(t), heaptrack_look_ahead(t);
    if (hd_lines_take(l, "x ")) {
        l->at = l->start;
        *l->err = hd_lines_error(l, HD_UNSUPPORTED, "a recording that heaptrack_interpret has processed");
        return HD_UNSUPPORTED;
    }
    t->started = heaptrack_is_system(l);
    return HD_OK;
}

static hd_status heaptrack_line(heaptrack *t) {
    hd_lines *l = &t->lines;
    if (!t->started) return heaptrack_before(t);
    if (l->at == l->end) return HD_OK;
    switch (*l->at++) {
    case '+': return heaptrack_event(t, true);
    case '-': return heaptrack_event(t, false);
    case 's': return heaptrack_add_string(t);
    case 'i': return heaptrack_add_ip(t);
    case 't': return heaptrack_add_trace(t);
    case 'a': return heaptrack_add_info(t);
    case 'c': return heaptrack_time(t);
    case '#': case 'R': case 'A': case 'S': case 'I': return HD_OK;
    default: l->at--; return hd_lines_wrong(l, "one of +, -, s, i, t, a, c, R, S, A and #");
    }
}

/* Heaps. --------------------------------------------------------------------------------------- */

static hd_str heaptrack_text(const heaptrack *t, uint32_t number) {
    hd_str text = { "", 0 };
    if (!number || !t->strings[number - 1].length) return text;
    text.data = t->text.data + t->strings[number - 1].at;
    text.len = t->strings[number - 1].length;
    return text;
}

/* The part of a path after the last '/'. */
static hd_str heaptrack_base(hd_str path) {
    for (size_t i = path.len; i--;)
        if (path.data[i] == '/') {
            path.data += i + 1;
            path.len -= i + 1;
            break;
        }
    return path;
}

/* "tree(int, int) (/src/alloc.cpp:12) [libtree.so]"; without a function, "0x7f4b990a57b9 [libstdc++.so.6]". */
static hd_str heaptrack_name(heaptrack *t, const heaptrack_ip *ip, const heaptrack_frame *f) {
    hd_str name = heaptrack_text(t, f ? f->function : 0), object = heaptrack_base(heaptrack_text(t, ip->module));
    hd_str file = heaptrack_text(t, name.len && f->line ? f->file : 0);
    char address[24];
    if (!name.len) {
        name.data = address;
        name.len = (size_t)snprintf(address, sizeof address, "0x%llx", (unsigned long long)ip->address);
    }
    if (name.len > HEAPTRACK_NAME) name.len = HEAPTRACK_NAME;
    memcpy(t->name, name.data, name.len);
    name.data = t->name;
    if (name.len + file.len + object.len > HEAPTRACK_PLACED) return name;
    if (file.len)
        name.len += (size_t)snprintf(t->name + name.len, sizeof t->name - name.len, " (%.*s:%llu)", (int)file.len,
                                     file.data, (unsigned long long)f->line);
    if (object.len)
        name.len += (size_t)snprintf(t->name + name.len, sizeof t->name - name.len, " [%.*s]", (int)object.len,
                                     object.data);
    return name;
}

/* The node of a stack, below the node of its caller. */
static hd_status heaptrack_node(heaptrack *t, heaptrack_trace *trace, hd_profile *p, hd_error *err) {
    const heaptrack_ip *ip = trace->ip ? &t->ips[trace->ip - 1] : NULL;
    hd_status status = HD_OK;
    trace->node = trace->parent ? t->traces[trace->parent - 1].node : 0;
    for (uint32_t i = ip ? ip->count + !ip->count : 0; i-- && !status;) {
        const heaptrack_frame *f = ip->count ? &t->frames[ip->first + i] : NULL;
        status = hd_profile_node(p, HD_AXIS_BACKTRACE, trace->node, heaptrack_name(t, ip, f), &trace->node, err);
    }
    return status;
}

/* Makes the nodes of the stacks with blocks of a kind. */
static hd_status heaptrack_nodes(heaptrack *t, heaptrack_kind kind, hd_profile *p, hd_error *err) {
    hd_status status = HD_OK;
    for (size_t i = 0; i < t->trace_count; i++) t->traces[i].node = HD_NONE;
    for (size_t i = 0; i < t->info_count; i++)
        if (t->infos[i].blocks[kind] && t->infos[i].trace) t->traces[t->infos[i].trace - 1].node = 0;
    for (size_t i = t->trace_count; i--;)
        if (!t->traces[i].node && t->traces[i].parent) t->traces[t->traces[i].parent - 1].node = 0;
    for (size_t i = 0; i < t->trace_count && !status; i++)
        if (!t->traces[i].node) status = heaptrack_node(t, &t->traces[i], p, err);
    return status;
}

static hd_status heaptrack_fill(heaptrack *t, heaptrack_kind kind, hd_profile *p, hd_error *err) {
    hd_status status = heaptrack_nodes(t, kind, p, err);
    for (size_t i = 0; i < t->info_count && !status; i++) {
        const heaptrack_info *info = &t->infos[i];
        uint64_t blocks = info->blocks[kind];
        hd_error found = HD_ZERO;
        if (!blocks) continue;
        if (info->size > UINT64_MAX / blocks) {
            found.status = status = HD_OVERFLOW;
            snprintf(found.message, sizeof found.message, "all allocations add up to more than 2^64 bytes");
        } else {
            status = hd_profile_add(p, info->trace ? &t->traces[info->trace - 1].node : &(uint32_t){ 0 },
                                    info->size * blocks, blocks, &found);
        }
        if (status != HD_OVERFLOW) {
            if (status) *err = found;
            continue;
        }
        found.offset = hd_window_offset(t->lines.window);
        status = hd_report(t->lines.reporter, &found, err);
    }
    return status;
}

static hd_status heaptrack_heap(heaptrack *t, heaptrack_kind kind, hd_dump *dump, const hd_options *options,
                                hd_error *err) {
    static const hd_heap_kind kinds[KINDS] = { HD_HEAP_LIVE, HD_HEAP_PEAK, HD_HEAP_TOTAL, HD_HEAP_TEMPORARY };
    hd_heap heap = HD_ZERO;
    hd_profile *p = room_profile(options, err);
    hd_status status;
    if (!p) return err->status;
    status = heaptrack_fill(t, kind, p, err);
    if (status) return hd_profile_free(p), status;
    heap.process = *t->process ? t->process : NULL;
    heap.time_us = 1000 * (kind == PEAK ? t->peak_ms : t->time_ms);
    heap.kind = kinds[kind];
    heap.allocator = "malloc";
    heap.profile = p;
    return hd_dump_add_heap(dump, &heap, err);
}

/* "v 10400 3", or "v 10200" for version 1. */
static hd_status heaptrack_version(heaptrack *t) {
    static const char expected[] = "\"v\", the version of heaptrack and that of the format, 1 to 3,";
    hd_lines *l = &t->lines;
    uint64_t program = 0;
    const char *last;
    hd_status status = hd_lines_next(l);
    if (status) return status;
    if (hd_lines_take(l, "v") && !heaptrack_number(l, &program)) {
        last = l->at;
        if (l->at == l->end && program == 0x10200) t->version = 1;
        else if (!heaptrack_number(l, &t->version) && (t->version < 1 || t->version > 3)) l->at = last + 1;
    }
    if (t->version >= 1 && t->version <= 3 && hd_lines_done(l)) return HD_OK;
    *l->err = hd_lines_error(l, HD_UNSUPPORTED, expected);
    return HD_UNSUPPORTED;
}

static hd_status heaptrack_run(heaptrack *t) {
    hd_lines *l = &t->lines;
    hd_error found;
    hd_status status = heaptrack_version(t);
    while (!status && !(status = hd_lines_next(l)) && l->start) status = heaptrack_line(t);
    if (status) return status;
    for (size_t i = 0; i < t->info_count; i++) heaptrack_touch(t, &t->infos[i]);
    if (t->started) return HD_OK;
    found = room_ended(l, "\"X\" and the command line");
    return hd_report(l->reporter, &found, l->err);
}

hd_status heaptrack_read(hd_dump *dump, hd_in in, const hd_options *options, hd_error *err) {
    heaptrack t = HD_ZERO;
    hd_status status;
    t.lines = hd_lines_of(hd_dump_window(dump, in), hd_dump_reporter(dump), err);
    t.last = HD_NONE;
    status = heaptrack_run(&t);
    for (int kind = LEAKED; kind < KINDS && !status; kind++)
        status = heaptrack_heap(&t, (heaptrack_kind)kind, dump, options, err);
    room_free(&t.lines, t.text.data, t.text.room, 1);
    room_free(&t.lines, t.strings, t.string_room, sizeof *t.strings);
    room_free(&t.lines, t.ips, t.ip_room, sizeof *t.ips);
    room_free(&t.lines, t.frames, t.frame_room, sizeof *t.frames);
    room_free(&t.lines, t.traces, t.trace_room, sizeof *t.traces);
    room_free(&t.lines, t.infos, t.info_room, sizeof *t.infos);
    return status;
}
