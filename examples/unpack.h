/* Decompresses gzip with zlib, for hd_options.unpackers: link with -lz.

       hd_options options = { .unpackers = &unpack_gzip, .unpacker_count = 1 };

   Any number of members may follow each other. Zeros after the last are padding; other bytes there are damage. */
#ifndef HEAPDUMP_UNPACK_H
#define HEAPDUMP_UNPACK_H

#include <string.h>
#include <zlib.h>

/* zlib does not pass the size of a block to free, so it is stored in front of the block. */
#define UNPACK_HEAD 16

static void *unpack_take(const hd_allocator *allocator, size_t size) {
    size_t all = UNPACK_HEAD + size;
    char *block = all < size ? NULL : (char *)allocator->allocate(allocator->user, NULL, 0, all);
    if (!block) return NULL;
    memcpy(block, &all, sizeof all);
    return block + UNPACK_HEAD;
}

static void unpack_give(const hd_allocator *allocator, void *block) {
    size_t all;
    if (!block) return;
    memcpy(&all, (char *)block - UNPACK_HEAD, sizeof all);
    allocator->allocate(allocator->user, (char *)block - UNPACK_HEAD, all, 0);
}

typedef struct gzip_stream {
    hd_allocator allocator;
    hd_read_fn packed;
    void *packed_user;
    z_stream z;
    int ended, damaged;          /* ended: the last member; damaged: the stream */
    unsigned char buffer[65536];
} gzip_stream;

static voidpf gzip_take(voidpf user, uInt items, uInt size) {
    return unpack_take((const hd_allocator *)user, (size_t)items * size);
}
static void gzip_give(voidpf user, voidpf block) { unpack_give((const hd_allocator *)user, block); }

static void *gzip_open(void *user, hd_allocator allocator, hd_read_fn packed, void *packed_user) {
    gzip_stream *s = (gzip_stream *)unpack_take(&allocator, sizeof *s);
    (void)user;
    if (!s) return NULL;
    memset(s, 0, offsetof(gzip_stream, buffer));
    s->allocator = allocator;
    s->packed = packed;
    s->packed_user = packed_user;
    s->z.zalloc = gzip_take;
    s->z.zfree = gzip_give;
    s->z.opaque = &s->allocator;
    if (inflateInit2(&s->z, 15 + 16) == Z_OK) return s; /* only gzip */
    unpack_give(&allocator, s);
    return NULL;
}

/* Reads more compressed bytes after the remaining ones, at least two in all unless the input ends. False: reading
   failed. */
static int gzip_fill(gzip_stream *s) {
    if (s->z.avail_in) memmove(s->buffer, s->z.next_in, s->z.avail_in);
    s->z.next_in = s->buffer;
    while (s->z.avail_in < 2) {
        int64_t n = s->packed(s->packed_user, s->buffer + s->z.avail_in, sizeof s->buffer - s->z.avail_in);
        if (n < 0) return 0;
        if (!n) break;
        s->z.avail_in += (unsigned)n;
    }
    return 1;
}

/* Skips the padding after a member. False: reading failed. */
static int gzip_pass_zeros(gzip_stream *s) {
    for (;;) {
        if (s->z.avail_in < 2 && !gzip_fill(s)) return 0;
        if (!s->z.avail_in || *s->z.next_in) return 1;
        while (s->z.avail_in && !*s->z.next_in) s->z.avail_in--, s->z.next_in++;
    }
}

static int64_t gzip_read(void *stream, void *buffer, size_t capacity) {
    gzip_stream *s = (gzip_stream *)stream;
    s->z.next_out = (unsigned char *)buffer;
    s->z.avail_out = capacity < 0x40000000 ? (unsigned)capacity : 0x40000000;
    while (!s->ended && !s->damaged && s->z.next_out == (unsigned char *)buffer) {
        int code;
        if (s->z.avail_in < 2 && !gzip_fill(s)) return -1;
        code = inflate(&s->z, Z_NO_FLUSH);
        if (code == Z_STREAM_END) { /* another member, or the end */
            if (!gzip_pass_zeros(s)) return -1;
            s->ended = !s->z.avail_in;
            s->damaged = s->z.avail_in == 1 || (s->z.avail_in && (s->z.next_in[0] != 0x1f || s->z.next_in[1] != 0x8b));
            if (!s->ended && !s->damaged && inflateReset(&s->z) != Z_OK) return -1;
        } else {
            s->damaged = code != Z_OK; /* or truncated */
        }
    }
    if (s->damaged && s->z.next_out == (unsigned char *)buffer) return -1;
    return s->z.next_out - (unsigned char *)buffer;
}

static void gzip_close(void *stream) {
    gzip_stream *s = (gzip_stream *)stream;
    hd_allocator allocator = s->allocator;
    inflateEnd(&s->z);
    unpack_give(&allocator, s);
}

static const hd_unpacker unpack_gzip = { "gzip", "\x1f\x8b", gzip_open, gzip_read, gzip_close, NULL };

#endif
