/* Random names and labels, for the tests that write traces. Include after faults.h. */
#ifndef LABELS_H
#define LABELS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A name with every character that JSON escapes, several kinds of UTF-8, and lone surrogates. It has no invalid
   UTF-8, which would come out as U+FFFD. */
HD_UNUSED static hd_str random_name(uint64_t *r, char buffer[64], bool zero) {
    static const char *const pieces[] = { "a", "f(int)", "\"", "\\", "\n", "\x01", "\x1f", "\x7f", "/", " ", "{}[],:",
                                          "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xed\xa0\x80", "<self>", "\xc2\x80" };
    hd_str name = { buffer, 0 };
    for (uint64_t n = hd__test_below(r, 4); n; n--) {
        uint64_t k = hd__test_below(r, sizeof pieces / sizeof *pieces + zero);
        size_t length = k < sizeof pieces / sizeof *pieces ? strlen(pieces[k]) : 1;
        memcpy(buffer + name.len, k < sizeof pieces / sizeof *pieces ? pieces[k] : "", length);
        name.len += length;
    }
    return name;
}

HD_UNUSED static char *random_label(uint64_t *r, int number) {
    char buffer[64], *label;
    hd_str name = random_name(r, buffer, false);
    label = (char *)malloc(name.len + 16);
    snprintf(label, name.len + 16, "%.*s%d", (int)name.len, name.data, number);
    return label;
}

#endif
