/* The formats that the tool knows: its own formats, which main registers, and the library's. */

#include "shell.h"

const hd_format *own_formats;
size_t own_format_count;

const hd_format *format_at(size_t index) {
    return index < own_format_count ? &own_formats[index] : hd_format_at(index - own_format_count);
}

const hd_format *format_named(const char *name) {
    const hd_format *format;
    for (size_t i = 0; (format = format_at(i)) && strcmp(format->name, name); i++) {}
    return format;
}

/* Traces and MemProf profiles can be written in several ways, and each way has a name. */
static const struct {
    const char *name;
    const hd_format *format;
    uint32_t is;
    const char *listed;          /* the format's entry in the list of --to; NULL: the way is not in that list */
} ways[] = { { "heaps_v2", &hd_format_chrome, FORMAT_SELF_SIZES, "chrome, heaps_v2" },
             { "memprof-raw", &hd_format_memprof, HD_FORMAT_BINARY | FORMAT_RAW, "memprof-raw" },
             { "memprof-rfc", &hd_format_memprof_index, HD_FORMAT_BINARY | FORMAT_RFC, NULL } };
enum { WAYS = sizeof ways / sizeof *ways };

written_as format_written(const char *name) {
    const hd_format *format = format_named(name);
    for (size_t i = 0; i < WAYS; i++)
        if (!strcmp(name, ways[i].name)) return (written_as){ ways[i].format, ways[i].is };
    return (written_as){ format, format ? format->is : 0 };
}

bool format_is(const char *name, uint32_t flags) { return name && format_written(name).is & flags; }

/* Endings of file names. json: rows in such a file are JSON lines. */
typedef struct ending { const char *end, *format; bool json; } ending;

/* The longest known ending of a file name; NULL: no ending is known. */
static const ending *ending_of(const char *path) {
    static const ending all[] = {
        { ".pb", "pprof", false }, { ".pprof", "pprof", false }, { ".folded", "folded", false },
        { ".collapsed", "folded", false }, { ".csv", "rows", false }, { ".jsonl", "rows-json", true },
        { ".ndjson", "rows-json", true }, { ".json", "chrome", true }, { ".speedscope", "speedscope", false },
        { ".speedscope.json", "speedscope", true }, { ".memprofraw", "memprof-raw", false },
        { ".profdata", "memprof-index", false }, { ".heapsnapshot", "heapsnapshot", false },
        { ".dartheap", "dart", false }
    };
    size_t n = path ? strlen(path) - packed_end(path) : 0, longest = 0;
    const ending *found = NULL;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size_t length = strlen(all[i].end);
        if (n <= length || length <= longest || memcmp(path + n - length, all[i].end, length)) continue;
        longest = length;
        found = &all[i];
    }
    return found;
}

const char *format_of_name(const char *path) {
    const ending *e = ending_of(path);
    return e ? e->format : NULL;
}

bool is_json_name(const char *path) {
    const ending *e = ending_of(path);
    return e && e->json;
}

bool format_begins(const uint8_t *first, size_t size, uint32_t flags) {
    const hd_format *format;
    for (size_t i = 0; (format = format_at(i)); i++)
        if (format->is & flags && format->detect && format->detect(first, size) > 0) return true;
    return false;
}

const hd_format *format_beginning(const uint8_t *first, size_t size) {
    const hd_format *format, *best = NULL;
    int most = 0;
    for (size_t i = 0; (format = format_at(i)); i++) {
        int certainty = format->read && format->detect ? format->detect(first, size) : 0;
        if (certainty > most) best = format, most = certainty;
    }
    return best;
}

bool format_is_read(const char *name) {
    const hd_format *format = format_named(name);
    return format && format->read;
}

/* The library leaves formats without a title out of its error for an unknown input. Lists of formats have them. */
const char *format_title(const hd_format *format) {
    if (format->title) return format->title;
    if (format == &hd_format_memprof_index) return "an indexed memprof profile";
    return "other text about a memprof profile: heapdump only says how to convert it";
}

void formats_help(FILE *out) {
    const hd_format *format;
    for (size_t i = 0; (format = format_at(i)); i++)
        if (format->read) display(out, "%-15s %s\n", format->name, format_title(format));
}

const char *formats_written(void) {
    static char text[256];
    const hd_format *format;
    size_t n = 0;
    for (size_t i = 0; (format = format_at(i)) && n < sizeof text; i++) {
        const char *name = format->name;
        if (!format->write && !format->write_heaps && !format->write_graph) continue;
        for (size_t k = 0; k < WAYS; k++)
            if (ways[k].format == format && ways[k].listed) name = ways[k].listed;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? ", " : "", name);
    }
    return text;
}
