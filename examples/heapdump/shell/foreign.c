/* Files other than heap dumps, recognized by their first bytes. Messages name the kind, and the command for it. */

#include "shell.h"

static const struct {
    const char *magic;
    const char *kind;
} kinds[] = {
    { "\177ELF", "a program or library (ELF); heapdump record -- PROGRAM records its heap" },
    { "#!", "a script; heapdump record -- PROGRAM records its heap" },
    { "hdregio", "a recording of heapdump record --keep; heapdump recover FILE reads it" },
    { "JAVA PROFILE", "a Java heap dump (HPROF)" },
    { "\xff\xd8\xff", "a JPEG image" },
    { "\x89PNG", "a PNG image" },
    { "GIF8", "a GIF image" },
    { "%PDF", "a PDF document" },
    { "PK\3\4", "a ZIP archive" },
    { "SQLite format 3", "an SQLite database" },
    { "PERFILE2", "a recording of perf, which has no heap" },
    { "!<arch>", "an archive of object files" },
    { "\x1f\x8b", "compressed data (gzip) of an unknown format" },
    { "\x28\xb5\x2f\xfd", "compressed data (zstd) of an unknown format" },
    { "\xfd" "7zXZ", "compressed data (xz) of an unknown format" },
    { "<!DOCTYPE", "an HTML page" },
    { "<html", "an HTML page" }
};

const char *foreign_file(const uint8_t *first, size_t size) {
    size_t text = 0;
    if (!size) return "empty";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t n = strlen(kinds[i].magic);
        if (n <= size && !memcmp(first, kinds[i].magic, n)) return kinds[i].kind;
    }
    while (text < size && (first[text] >= ' ' || (first[text] >= '\t' && first[text] <= '\r'))) text++;
    return text == size ? "text of an unknown format" : "data of an unknown format";
}
