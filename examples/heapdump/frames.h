/* Names of frames as people want them: those that say nothing left out, long ones shortened. */
#ifndef HEAPDUMP_FRAMES_H
#define HEAPDUMP_FRAMES_H

#include "cli.h"

#define CALLS " \xe2\x80\xba "   /* › */

/* An hd_match_fn: functions that allocate for others, and functions that start programs and threads. */
bool frame_is_hidden(void *user, hd_str name);

/* The length of a name without " (file.c:12) [object]" at its end. */
size_t without_place(const char *s, size_t n);
/* Characters that a name takes on a terminal. */
int columns_of(hd_str name);
/* The name in at most so many columns (0: whole, but for what is not shown on terminals): without its file and
   line, without parameters, without what templates were made for, without its beginning. To be freed. */
char *short_name(hd_str name, int columns);
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
