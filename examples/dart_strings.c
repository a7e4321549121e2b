/* Lists strings that a Dart heap snapshot contains more than once: dart_strings FILE [MOST]. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

int main(int argc, char **argv) {
    hd_error err;
    hd_in in;
    hd_dump *dart;
    hd_string_table *strings;
    uint32_t most = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 20;
    if (argc < 2) return fprintf(stderr, "usage: dart_strings FILE [MOST]\n"), 2;
    if (hd_in_open(argv[1], &in, &err) || hd_read_as(&hd_format_dart, in, NULL, &dart, &err)) {
        fprintf(stderr, "%s: %s\n", argv[1], err.message);
        return 1;
    }
    hd_in_close(&in); /* the document does not use the input any more */
    if (hd_dart_strings(hd_dump_dart(dart), NULL, NULL, &strings, &err)) {
        fprintf(stderr, "%s: %s\n", argv[1], err.message);
        return 1;
    }
    printf("%" PRIu64 " strings, %" PRIu32 " different ones; %" PRIu64 " of %" PRIu64 " bytes are wasted\n",
           strings->objects, strings->count, strings->wasted, strings->bytes);
    for (uint32_t i = 0; i < strings->count && i < most && strings->rows[i].wasted; i++) {
        const hd_string_row *row = &strings->rows[i];
        char text[64] = "";
        size_t n = hd_dart_utf8(&row->data, text, sizeof text);
        hd_str shown = { text, n < sizeof text ? n : sizeof text }, piece;
        /* drops the zeros of a character that did not fit */
        while (n > sizeof text && shown.len && !text[shown.len - 1]) shown.len--;
        printf("%10" PRIu64 " %8" PRIu64 "  ", row->wasted, row->objects);
        while ((piece = hd_visible(&shown)).len) fwrite(piece.data, 1, piece.len, stdout);
        puts(n > sizeof text || row->cut ? "..." : "");
    }
    hd_string_table_free(strings);
    hd_dump_free(dart);
    return 0;
}
