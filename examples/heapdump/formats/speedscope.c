/* Writes speedscope's JSON. Each heap is a profile of bytes with backtraces as samples; all heaps share the frames.
   Types and further axes are added up. Only one heap is in memory at a time.

   A sample repeats all frames of its stack. Deep stacks with bytes at every frame take quadratic space. Output of
   more than SPEEDSCOPE_MOST frames, half a gigabyte, is refused. */

#include "formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPEEDSCOPE_MOST = 100000000 };

typedef struct speedscope {
    hd_json json;
    uint64_t repeated;           /* frames of all samples */
    hd_profile *frames;          /* flat: its nodes are the frames, in order of first appearance */
    const hd_options *options;
    hd_error *err;
} speedscope;

static void put_text(speedscope *s, const char *key, hd_str value) {
    hd_json_key(&s->json, key);
    hd_json_str(&s->json, value);
}
static void put_number(speedscope *s, const char *key, uint64_t value) {
    hd_json_key(&s->json, key);
    hd_json_u64(&s->json, value);
}
static void put_list(speedscope *s, const char *key) {
    hd_json_key(&s->json, key);
    hd_json_array(&s->json);
}
/* An object on a line of its own. */
static void put_line(speedscope *s) {
    hd_json_newline(&s->json);
    hd_json_object(&s->json);
}

/* Splits FILE:LINE. *line is 0 if a text has another form. */
static hd_str split_place(hd_str place, uint32_t *line) {
    size_t at = place.len;
    while (at && place.data[at - 1] >= '0' && place.data[at - 1] <= '9') at--;
    *line = 0;
    if (at < 2 || place.len - at > 9 || place.data[at - 1] != ':') return place;
    for (size_t i = at; i < place.len; i++) *line = *line * 10 + (uint32_t)(place.data[i] - '0');
    return (hd_str){ place.data, at - 1 };
}

/* Splits "function (file.c:12)" and "function file.c:12" into function, file and line. */
static hd_str split_frame(hd_str frame, hd_str *file, uint32_t *line) {
    bool braces = frame.len && frame.data[frame.len - 1] == ')';
    size_t end = frame.len - braces, at = end;
    hd_frame_parts parts = hd_frame_parse(frame);
    if (parts.file.len && parts.line && parts.line <= UINT32_MAX)
        return *file = parts.file, *line = (uint32_t)parts.line, parts.function;
    while (at && !(frame.data[at - 1] == ' ' && (!braces || (at < end && frame.data[at] == '(')))) at--;
    *line = 0;
    if (!at) return frame;
    *file = split_place((hd_str){ frame.data + at + braces, end - at - braces }, line);
    if (!braces && *line && !memchr(file->data, '.', file->len)) *line = 0;
    return *line ? (hd_str){ frame.data, at - 1 } : frame;
}

static void put_frames(speedscope *s) {
    hd_axis axis = hd_profile_axis(s->frames, 0);
    hd_json_key(&s->json, "shared"), hd_json_object(&s->json);
    put_list(s, "frames");
    for (uint32_t i = 1; i < axis.node_count; i++) {
        uint32_t line;
        hd_str file, name = split_frame(axis.node_name[i], &file, &line);
        put_line(s);
        put_text(s, "name", name);
        if (line) {
            put_text(s, "file", file);
            put_number(s, "line", line);
        }
        hd_json_end(&s->json);
    }
    hd_json_end(&s->json), hd_json_end(&s->json);
}

/* "malloc live, game, pid 12, dump 0x1": the labels of the heap. */
static void put_name_of(speedscope *s, const hd_heap *heap) {
    char name[600];
    int n = snprintf(name, sizeof name, "%.200s %s", heap->allocator ? heap->allocator : "heap",
                     hd_heap_kind_name(heap->kind));
    if (heap->process && *heap->process)
        n += snprintf(name + n, sizeof name - (size_t)n, ", %.200s", heap->process);
    if (heap->pid) n += snprintf(name + n, sizeof name - (size_t)n, ", pid %llu", (unsigned long long)heap->pid);
    if (heap->dump) snprintf(name + n, sizeof name - (size_t)n, ", dump %.100s", heap->dump);
    put_text(s, "name", hd_cstr(name));
}

/* The frame of each node of an axis, from 1. */
static hd_status frames_of(speedscope *s, hd_axis axis, uint32_t *frame) {
    hd_status status = HD_OK;
    for (uint32_t i = 1; i < axis.node_count && !status; i++)
        status = hd_profile_node(s->frames, 0, 0, axis.node_name[i], &frame[i], s->err);
    return status;
}

/* Fails if the samples of one more heap exceed the limit. `depth` has room for a number for each node. */
static hd_status count_frames(speedscope *s, const hd_profile *profile, uint32_t *depth) {
    hd_axis axis = hd_profile_axis(profile, 0);
    hd_rows cells = hd_profile_cells(profile);
    for (uint32_t i = 1; i < axis.node_count; i++) depth[i] = 1 + depth[axis.parent[i]];
    for (uint32_t i = 0; i < cells.count; i++)
        if (cells.amount[i].bytes) s->repeated += depth[cells.node[i]];
    if (s->repeated <= SPEEDSCOPE_MOST) return HD_OK;
    *s->err = (hd_error){ .status = HD_LIMIT, .offset = HD_UNKNOWN };
    snprintf(s->err->message, sizeof s->err->message,
             "speedscope holds at most %d frames of samples, found %llu: use --to pprof or heaps_v2", SPEEDSCOPE_MOST,
             (unsigned long long)s->repeated);
    return HD_LIMIT;
}

/* Writes a sample for each cell. The profile is sorted, so it has one cell per backtrace. */
static void put_samples(speedscope *s, const hd_profile *profile, const uint32_t *frame, uint32_t *stack) {
    hd_axis axis = hd_profile_axis(profile, 0);
    hd_rows cells = hd_profile_cells(profile);
    put_list(s, "samples");
    for (uint32_t i = 0; i < cells.count; i++) {
        uint32_t depth = 0;
        if (!cells.amount[i].bytes) continue;
        for (uint32_t node = cells.node[i]; node; node = axis.parent[node]) stack[depth++] = frame[node];
        hd_json_array(&s->json);
        while (depth) hd_json_u64(&s->json, stack[--depth] - 1);
        hd_json_end(&s->json);
    }
    hd_json_end(&s->json);
    put_list(s, "weights");
    for (uint32_t i = 0; i < cells.count; i++)
        if (cells.amount[i].bytes) hd_json_u64(&s->json, cells.amount[i].bytes);
    hd_json_end(&s->json);
}

/* The backtraces of a heap, each once, in the order of their names. */
static hd_status backtraces(const speedscope *s, const hd_heap *heap, hd_profile **out) {
    hd_axis axis = heap->breakdown ? heap->breakdown->axis[0] : hd_profile_axis(heap->profile, 0);
    hd_profile_desc desc = { .axis_count = 1, .axis_name = { axis.name } };
    hd_status status;
    if (s->options) desc.allocator = s->options->allocator, desc.limits = s->options->limits;
    if (heap->breakdown) {
        status = hd_breakdown_axis_profile(heap->breakdown, 0, s->options, out, s->err);
    } else {
        *out = hd_profile_create(&desc, s->err);
        status = *out ? hd_profile_merge(*out, heap->profile, s->err) : s->err->status;
    }
    if (!status) status = hd_profile_sort(*out, s->err);
    return status;
}

static hd_status no_memory(const speedscope *s) {
    *s->err = (hd_error){ .status = HD_OUT_OF_MEMORY, .offset = HD_UNKNOWN };
    snprintf(s->err->message, sizeof s->err->message, "no memory for the frames of a heap");
    return HD_OUT_OF_MEMORY;
}

static hd_status put_heap(speedscope *s, const hd_heap *heap) {
    hd_profile *profile = NULL;
    hd_status status = backtraces(s, heap, &profile);
    if (!status) {
        hd_axis axis = hd_profile_axis(profile, 0);
        uint32_t *frame = calloc(axis.node_count, 2 * sizeof *frame);
        status = frame ? count_frames(s, profile, frame + axis.node_count) : no_memory(s);
        if (!status) status = frames_of(s, axis, frame);
        if (!status) {
            put_line(s);
            put_text(s, "type", hd_cstr("sampled"));
            put_name_of(s, heap);
            put_text(s, "unit", hd_cstr("bytes"));
            put_number(s, "startValue", 0);
            put_number(s, "endValue", hd_profile_bytes(profile));
            put_samples(s, profile, frame, frame + axis.node_count);
            hd_json_end(&s->json);
        }
        free(frame);
    }
    hd_profile_free(profile);
    return status;
}

/* The URL of the schema identifies the format. Other keys may precede it. */
int speedscope_detect(const uint8_t *bytes, size_t size) {
    static const char schema[] = "\"https://www.speedscope.app/file-format-schema.json\"";
    const size_t length = sizeof schema - 1;
    size_t i = 0;
    while (i < size && bytes[i] && strchr(" \t\r\n", bytes[i])) i++;
    if (i == size || bytes[i] != '{') return 0;
    while (size - i >= length && memcmp(bytes + i, schema, length)) i++;
    return size - i >= length ? 100 : 0;
}

hd_status speedscope_write(const hd_heap *heaps, size_t count, const hd_options *options, hd_out out, hd_error *err) {
    hd_error ignored;
    speedscope s = { .options = options, .err = err ? err : &ignored };
    hd_profile_desc flat = { .axis_count = 1 };
    hd_status status = HD_OK;
    if (options) flat.allocator = options->allocator, flat.limits = options->limits;
    s.frames = hd_profile_create(&flat, s.err);
    if (!s.frames) return s.err->status;
    hd_json_begin(&s.json, out);
    hd_json_object(&s.json);
    put_text(&s, "$schema", hd_cstr("https://www.speedscope.app/file-format-schema.json"));
    put_text(&s, "name", hd_cstr(count && heaps->process ? heaps->process : "heapdump"));
    put_text(&s, "exporter", hd_cstr("heapdump"));
    put_number(&s, "activeProfileIndex", 0);
    put_list(&s, "profiles");
    for (size_t i = 0; i < count && !status; i++) status = put_heap(&s, &heaps[i]);
    hd_json_end(&s.json);
    put_frames(&s);
    hd_json_end(&s.json), hd_json_newline(&s.json);
    if (!status && (status = hd_json_finish(&s.json)) != HD_OK) {
        *s.err = (hd_error){ .status = status, .offset = HD_UNKNOWN };
        snprintf(s.err->message, sizeof s.err->message, "writing speedscope's JSON failed: %s",
                 hd_status_text(status));
    }
    hd_profile_free(s.frames);
    return status;
}
