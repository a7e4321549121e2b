/* The options --metric, --by and --prune of MemProf profiles. */

#include "shell.h"

#include <strings.h>

static const char *const memprof_splits[] = { "none", "lifetime", "size", "heat", "binary" };
enum { MEMPROF_SPLITS = sizeof memprof_splits / sizeof *memprof_splits };

hd_memprof_split memprof_split(const arguments *a) {
    for (int i = 1; i < MEMPROF_SPLITS; i++)
        if (a->view.by && !strcmp(a->view.by, memprof_splits[i])) return (hd_memprof_split)i;
    return HD_MEMPROF_SPLIT_NONE;
}

/* FIELD, average (of TotalSize), or average:FIELD. */
bool memprof_take_metric(arguments *a, const char *text) {
    a->memprof.average = !strncmp(text, "average", 7) && (!text[7] || text[7] == ':');
    if (a->memprof.average) text = text[7] ? text + 8 : "TotalSize";
    for (a->memprof.field = 1; a->memprof.field < HD_MEMPROF_FIELDS; a->memprof.field++)
        if (!strcasecmp(text, hd_memprof_field_name(a->memprof.field))) break;
    if (a->memprof.field == HD_MEMPROF_FIELDS) return false;
    a->view.exact |= memprof_counted(a); /* these amounts are not bytes */
    return true;
}

/* Whether the shown amounts are counts or times, not bytes. */
bool memprof_counted(const arguments *a) {
    return a->memprof.field && a->memprof.field != HD_MEMPROF_TOTAL_SIZE && a->memprof.field != HD_MEMPROF_MIN_SIZE &&
           a->memprof.field != HD_MEMPROF_MAX_SIZE;
}

/* "cold=0.1%", "min-bytes=4k", or both separated by a comma. */
bool prune_parse(arguments *a, const char *text) {
    for (size_t n;; text += n + 1) {
        char *part, *end;
        bool good = false;
        n = strcspn(text, ",");
        part = needed(strndup(text, n));
        if (!strncmp(part, "cold=", 5)) {
            good = parse_number(part + 5, &end, &a->memprof.prune_cold) && !strcmp(end, "%") &&
                   a->memprof.prune_cold <= 100;
            a->memprof.prune_cold /= 100;
        } else if (!strncmp(part, "min-bytes=", 10)) {
            good = parse_bytes(part + 10, &a->memprof.prune_bytes);
        }
        free(part);
        if (!good) return false;
        if (!text[n]) return a->memprof.prune = true;
    }
}
