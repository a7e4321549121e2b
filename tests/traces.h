/* Traces from text, and read heaps as text, for the tests of Chromium traces. Include after heaps.h.

   Traces are written with ' for ". An @ and a # enclose the place to which an error is expected to point. */
#ifndef TRACES_H
#define TRACES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text with its quotes. If `piece` is not NULL, it gets the offsets of the @ and the #. */
HD_UNUSED static char *trace_of(const char *quoted, uint64_t piece[2]) {
    char *text = (char *)malloc(strlen(quoted) + 1), *p = text;
    for (; *quoted; quoted++) {
        if (piece && (*quoted == '@' || *quoted == '#')) piece[*quoted == '#'] = (uint64_t)(p - text);
        else *p++ = *quoted == '\'' ? '"' : *quoted;
    }
    *p = 0;
    return text;
}

HD_UNUSED static uint64_t line_of(const char *text, uint64_t offset) {
    uint64_t line = 1;
    for (uint64_t i = 0; i < offset; i++) line += text[i] == '\n';
    return line;
}

/* All heaps, one entry per line: pid, dump, allocator, "self" before a cell of heaps_v2, and the row. */
HD_UNUSED static char *dump_text(const hd_dump *d) {
    char *text, prefix[256];
    size_t size;
    FILE *f = open_memstream(&text, &size);
    for (size_t i = 0; i < hd_dump_heap_count(d); i++) {
        const hd_heap *h = hd_dump_heap(d, i);
        assert_true(!h->profile != !h->breakdown);
        snprintf(prefix, sizeof prefix, "%" PRIu64 " %s %s ", h->pid, h->dump ? h->dump : "-", h->allocator);
        if (h->breakdown) {
            put_rows(f, prefix, h->breakdown->axis, h->breakdown->entries);
        } else {
            hd_axis axes[2] = { hd_profile_axis(h->profile, 0), hd_profile_axis(h->profile, 1) };
            strcat(prefix, "self ");
            put_rows(f, prefix, axes, hd_profile_cells(h->profile));
        }
    }
    fclose(f);
    return text;
}

/* Reads the quoted text strictly from memory, and compares all heaps. */
HD_UNUSED static void assert_reads(const char *quoted, const char *expected) {
    char *text = trace_of(quoted, NULL);
    hd_dump *d;
    hd_error err = { 0 };
    hd_status status = hd_read_memory(text, strlen(text), NULL, &d, &err);
    if (status) print_error("%s\n", err.message);
    assert_int_equal(status, HD_OK);
    assert_text(dump_text(d), expected);
    assert_int_equal(hd_dump_warning_count(d), 0);
    hd_dump_free(d);
    free(text);
}

typedef struct warnings {
    uint64_t count;
    hd_error last;
} warnings;

HD_UNUSED static void keep_warning(void *user, const hd_error *warning) {
    warnings *w = (warnings *)user;
    w->count++;
    w->last = *warning;
}

HD_UNUSED static char *file_text(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    char *text;
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    text = (char *)malloc(*size + 1);
    assert_int_equal(fread(text, 1, *size, f), *size);
    text[*size] = 0;
    fclose(f);
    return text;
}

/* The events at the start of most traces in these tests, one per line. Frames: 0 BrMain, 1 Init below it, 2 MsgLp
   below 0, 3 RdMain. Types: 0 [unknown], 1 T, 2 U. */
#define FRAMES                                                                       \
    "{'pid':1,'ph':'M','name':'stackFrames','args':{'stackFrames':{\n"               \
    "'0':{'name':'BrMain'},'1':{'name':'Init','parent':'0'},\n"                      \
    "'2':{'name':'MsgLp','parent':'0'},'3':{'name':'RdMain'}}}}"
#define TYPES                                                                        \
    "{'pid':1,'ph':'M','name':'typeNames','args':{'typeNames':{\n"                   \
    "'0':'[unknown]','1':'T','2':'U'}}}"
/* A dump that comes after these events. */
#define HEAPS(heaps) "{'pid':1,'ts':10,'ph':'v','id':'0x1','args':{'dumps':{'heaps':" heaps "}}}"
#define TRACE(heaps) "{'traceEvents':[\n" FRAMES ",\n" TYPES ",\n" HEAPS(heaps) "\n]}\n"
#define ENTRIES(entries) TRACE("{'malloc':{'entries':[" entries "]}}")

/* A trace with heaps_v2. Its valid part is a cell of 3 bytes at /f. */
#define V2_MAPS "'nodes':[{'id':1,'name_sid':1}],'types':[{'id':1,'name_sid':1}],'strings':[{'id':1,'string':'f'}]"
#define V2_GOOD "1 1 m self /f / 3 -\n"
#define V2_TRACE(allocators, maps)                                                                                   \
    "[{'pid':1,'ph':'v','id':'1','args':{'dumps':{'heaps_v2':{'allocators':" allocators ",\n'maps':" maps "}}}}]"
#define V2_HEAP(heap) V2_TRACE("{'bad':\n" heap ",\n'm':{'nodes':[1],'sizes':[3]}}", "{" V2_MAPS "}")
#define V2_CELLS(mark, columns, end) V2_TRACE("{'m':\n" mark "{" columns "}" end "}", "{" V2_MAPS "}")
#define V2_MORE(more) V2_TRACE("{'m':{'nodes':[1],'sizes':[3]}}", "{" V2_MAPS "," more "}")

#endif
