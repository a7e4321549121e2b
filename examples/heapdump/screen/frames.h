/* Names of frames as people want them: those that say nothing left out, long ones shortened. */
#ifndef HEAPDUMP_FRAMES_H
#define HEAPDUMP_FRAMES_H

#include "../shell/shell.h"

#define CALLS " \xe2\x80\xba "   /* › */

/* hidden.c: frames that allocate for others, and that start programs and threads. They are known by their name
   together with their object file or source path: a program's own function is always shown. */
typedef enum frame_role {
    FRAME_SHOWN,
    FRAME_HIDDEN_INSIDE,         /* at the inner end of a stack: a malloc of no known object */
    FRAME_HIDDEN_OUTSIDE,        /* at the outer end: _start */
    FRAME_HIDDEN
} frame_role;

/* *which (may be NULL): the pattern of the table that matches; a static string. */
frame_role frame_role_of(hd_str name, const char **which);
/* Whether it is hidden at some place of a stack; an hd_match_fn. */
bool frame_is_hidden(void *user, hd_str name);
/* Whether a function is part of the C library, or of the library of C++, Rust or V8. */
bool frame_is_library(hd_str name);

/* The hidden nodes of an axis of frames. A stack of hidden frames only is shown under its object: own, for
   hd_hide_nodes, is "[libfoo.so]" at its innermost node. */
typedef struct hidden_frames {
    uint32_t count;              /* of nodes of the axis */
    size_t hidden;               /* of them */
    bool *is;
    const char **pattern;        /* by node, of hidden ones */
    hd_str *own;
} hidden_frames;

/* `rows` are of axis_count axes, the frames' being the first. */
void hidden_frames_find(hidden_frames *h, hd_axis axis, const hd_rows *rows);
void hidden_frames_free(hidden_frames *h);

/* frames.c */
/* A function without parameters, "<>" in place of template arguments. To be freed. */
char *plain_function(hd_str function);
/* Where the name of such a function begins, behind the type that it returns. */
size_t behind_return_type(const char *plain);

/* The length of a name without " (file.c:12) [object]" at its end. */
size_t without_place(const char *s, size_t n);
/* Characters that a name takes on a terminal. */
int columns_of(hd_str name);
/* The name in at most so many columns (0: whole, but for what is not shown on terminals): without its file and
   line, without parameters, without what templates were made for, without its beginning. To be freed. */
char *short_name(hd_str name, int columns);
/* The fewest columns in which short_name keeps the key of "age: 10 ms"; 0 for other names. */
int value_columns(hd_str name);
/* Names of frames, outermost first, in at most so many columns: "main › run › … 7 more › parse", equal neighbours
   as "walk ×50". Names at the end are shown before others, or those at the start. To be freed. */
char *short_chain(const hd_str *names, size_t count, int columns, bool from_start);

/* A frame that is repeated, or a run of frames without names. */
typedef struct frame_run {
    hd_str name;
    hd_str of;                   /* the first of the frames */
    uint64_t times;
    bool nameless;
} frame_run;
char *short_calls(const frame_run *calls, size_t count, int columns, bool from_start);

/* The frames of one list as screens show them: the path cut to its base name and the object left out, unless two
   functions of the list would read the same; then with directories until they differ, "a/util.c:7" and "b/util.c:7",
   or with the object where the paths are equal. Each of `shown` is to be freed. Names may be there more than once. */
void frames_shown(const hd_str *names, size_t count, char **shown);

/* Of "libfoo.so+0x1234", a frame without a name, "libfoo.so"; else nothing. */
hd_str module_of_address(hd_str name);

#endif
