/* Names of frames for people: allocators and startup code are hidden, and long names are shortened. */
#ifndef HEAPDUMP_FRAMES_H
#define HEAPDUMP_FRAMES_H

#include "../shell/shell.h"

#define CALLS " \xe2\x80\xba "   /* › */

/* hidden.c: functions that allocate for others, and functions that start programs and threads. They are recognized by
   name together with object file or source path, so that a program's own function is always shown. */
typedef enum frame_role {
    FRAME_SHOWN,
    FRAME_HIDDEN_INSIDE,         /* hidden at the inner end of a stack: a malloc without an object */
    FRAME_HIDDEN_OUTSIDE,        /* hidden at the outer end: _start */
    FRAME_HIDDEN
} frame_role;

/* *which (may be NULL): the matching pattern of the table; a static string. */
frame_role frame_role_of(hd_str name, const char **which);
/* Whether a frame is hidden anywhere on a stack; an hd_match_fn. */
bool frame_is_hidden(void *user, hd_str name);
/* Whether a function is part of the C library, or of the library of C++, Rust or V8. */
bool frame_is_library(hd_str name);

/* The hidden nodes of an axis of frames. A stack with only hidden frames is shown as its object: "[libfoo.so]" in
   `own`, at its innermost node, for hd_hide_nodes. */
typedef struct hidden_frames {
    uint32_t count;              /* nodes of the axis */
    size_t hidden;               /* hidden nodes */
    bool *is;
    const char **pattern;        /* by node; of hidden nodes only */
    hd_str *own;
} hidden_frames;

/* The axis of frames is the first axis of `rows`. */
void hidden_frames_find(hidden_frames *h, hd_axis axis, const hd_rows *rows);
void hidden_frames_free(hidden_frames *h);

/* frames.c */
/* A function without parameters, with "<>" for template arguments. Freed by the caller. */
char *plain_function(hd_str function);
/* The offset of the name in a plain function, after its return type. */
size_t behind_return_type(const char *plain);

/* The length of a name without the place " (file.c:12) [object]" at its end. */
size_t without_place(const char *s, size_t n);
/* Columns of a name on a terminal. */
int columns_of(hd_str name);
/* The name in at most `columns` columns; 0: whole, without invisible characters. It drops the file and line, then
   parameters, then template arguments, then the beginning. Freed by the caller. */
char *short_name(hd_str name, int columns);
/* The least columns for which short_name keeps the key of "age: 10 ms"; 0 for other names. */
int value_columns(hd_str name);
/* Names of frames, outermost first, in at most `columns` columns: "main › run › … 7 more › parse". Equal neighbours
   are "walk ×50". If not all fit, names at the end are kept, or with `from_start` names at the start. Freed by the
   caller. */
char *short_chain(const hd_str *names, size_t count, int columns, bool from_start);

/* A frame that is repeated, or a run of frames without names. */
typedef struct frame_run {
    hd_str name;
    hd_str of;                   /* the first frame */
    uint64_t times;
    bool nameless;
} frame_run;
char *short_calls(const frame_run *calls, size_t count, int columns, bool from_start);

/* Names of the frames of one list, for screens: the path is cut to its base name, and the object is omitted. If two
   functions of the list would read the same, they get directories until they differ, "a/util.c:7" and "b/util.c:7",
   or the object if their paths are equal. The caller frees each of `shown`. `names` may have duplicates. */
void frames_shown(const hd_str *names, size_t count, char **shown);

/* "libfoo.so" for a frame without a name, "libfoo.so+0x1234"; empty for other frames. */
hd_str module_of_address(hd_str name);

#endif
