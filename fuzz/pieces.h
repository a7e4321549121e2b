/* What the harnesses share: checks that hold, and inputs in pieces. Include after heapdump.h. */
#include <stdlib.h>

#define CHECK(x) ((x) ? (void)0 : abort())

/* 1 to 13 bytes at a time, as the bytes themselves have it. */
static int64_t read_piece(void *user, void *buffer, size_t capacity) {
    hd_in *left = (hd_in *)user;
    size_t n = left->size ? 1 + *left->data % 13 : 0;
    if (n > left->size) n = (size_t)left->size;
    if (n > capacity) n = capacity;
    memcpy(buffer, left->data, n);
    left->data += n;
    left->size -= n;
    return (int64_t)n;
}
