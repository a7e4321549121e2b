/* Unpacking gzip with zlib, for hd_options.inflate: link with -lz.

       hd_options options = { .inflate = &hd_zlib };

   Any number of members end to end; zeros and other rubbish after the last are passed over, as gzip does. */
#ifndef HEAPDUMP_INFLATE_H
#define HEAPDUMP_INFLATE_H

#include <string.h>
#include <zlib.h>

typedef struct zlib_input {
    hd_allocator allocator;
    hd_read_fn packed;
    void *packed_user;
    z_stream stream;
    int done;                    /* the last member has ended */
    int members;
    unsigned char buffer[65536];
} zlib_input;

/* zlib does not tell the size of what it frees: it stands in front. */
#define ZLIB_HEAD 16

static voidpf zlib_take(voidpf user, uInt items, uInt size) {
    zlib_input *z = (zlib_input *)user;
    size_t all = ZLIB_HEAD + (size_t)items * size;
    char *block = (char *)z->allocator.allocate(z->allocator.user, NULL, 0, all);
    if (!block) return Z_NULL;
    memcpy(block, &all, sizeof all);
    return block + ZLIB_HEAD;
}

static void zlib_give(voidpf user, voidpf block) {
    zlib_input *z = (zlib_input *)user;
    size_t all;
    memcpy(&all, (char *)block - ZLIB_HEAD, sizeof all);
    z->allocator.allocate(z->allocator.user, (char *)block - ZLIB_HEAD, all, 0);
}

static void *zlib_open(void *user, hd_allocator allocator, hd_read_fn packed, void *packed_user) {
    zlib_input *z = (zlib_input *)allocator.allocate(allocator.user, NULL, 0, sizeof *z);
    (void)user;
    if (!z) return NULL;
    memset(z, 0, offsetof(zlib_input, buffer));
    z->allocator = allocator;
    z->packed = packed;
    z->packed_user = packed_user;
    z->stream.zalloc = zlib_take;
    z->stream.zfree = zlib_give;
    z->stream.opaque = z;
    if (inflateInit2(&z->stream, 15 + 16) == Z_OK) return z; /* gzip alone */
    allocator.allocate(allocator.user, z, sizeof *z, 0);
    return NULL;
}

/* More packed bytes behind those left, at least two in all if there are: false when reading failed. */
static int zlib_fill(zlib_input *z) {
    memmove(z->buffer, z->stream.next_in ? z->stream.next_in : z->buffer, z->stream.avail_in);
    z->stream.next_in = z->buffer;
    while (z->stream.avail_in < 2) {
        unsigned char *end = z->buffer + z->stream.avail_in;
        int64_t n = z->packed(z->packed_user, end, sizeof z->buffer - z->stream.avail_in);
        if (n < 0) return 0;
        if (!n) break;
        z->stream.avail_in += (unsigned)n;
    }
    return 1;
}

static int64_t zlib_read(void *stream, void *buffer, size_t capacity) {
    zlib_input *z = (zlib_input *)stream;
    z->stream.next_out = (unsigned char *)buffer;
    z->stream.avail_out = capacity < 0x40000000 ? (unsigned)capacity : 0x40000000;
    while (!z->done && z->stream.next_out == (unsigned char *)buffer) {
        int code;
        if (z->stream.avail_in < 2 && !zlib_fill(z)) return -1;
        code = inflate(&z->stream, Z_NO_FLUSH);
        if (code == Z_STREAM_END) { /* another member, or the end */
            if (z->stream.avail_in < 2 && !zlib_fill(z)) return -1;
            z->done = z->stream.avail_in < 2 || z->stream.next_in[0] != 0x1f || z->stream.next_in[1] != 0x8b;
            if (!z->done && inflateReset(&z->stream) != Z_OK) return -1;
        } else if (code != Z_OK) {
            return -1;           /* damaged, or cut off */
        }
    }
    return z->stream.next_out - (unsigned char *)buffer;
}

static void zlib_close(void *stream) {
    zlib_input *z = (zlib_input *)stream;
    hd_allocator allocator = z->allocator;
    inflateEnd(&z->stream);
    allocator.allocate(allocator.user, z, sizeof *z, 0);
}

static const hd_inflate hd_zlib = { zlib_open, zlib_read, zlib_close, NULL };

#endif
