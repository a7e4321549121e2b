/* Reads a file of tests/data into memory, from any current directory. Include after heapdump.h and cmocka.h. */
#ifndef LOAD_H
#define LOAD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The caller frees the data. */
static void load(const char *name, uint8_t **data, size_t *size) {
    char path[256];
    hd_in in;
    static const char *const from[] = { "tests/data/", "../../../tests/data/", "../tests/data/" };
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s%s", from[i], name);
        if (hd_in_open_mapped(path, &in, NULL)) continue;
        *size = (size_t)in.size;
        *data = malloc(*size + 1);
        assert_non_null(*data);
        memcpy(*data, in.data, *size);
        hd_in_close(&in);
        return;
    }
    fail_msg("no %s", name);
}

#endif
