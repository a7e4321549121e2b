/* Compressed inputs: gzip by zlib, zstd by libzstd, xz by liblzma. */

#include "shell.h"

#define ZSTD_STATIC_LINKING_ONLY /* custom allocators; Debian's shared library exports these functions too */
#include <lzma.h>
#include <zstd.h>

#include "../../unpack.h"

/* The common part of zstd and xz streams. */
typedef struct unpacking {
    hd_allocator allocator;
    hd_read_fn packed;
    void *packed_user;
    ZSTD_DCtx *zstd;
    lzma_stream xz;
    lzma_allocator xz_allocator;
    bool inside, ended;          /* inside: a zstd frame has begun; ended: no more compressed bytes */
    bool full;                   /* zstd may have more output without more input */
    bool damaged;
    ZSTD_inBuffer left;
    unsigned char buffer[65536];
} unpacking;

static void *zstd_take(void *user, size_t size) { return unpack_take(user, size); }
static void *xz_take(void *user, size_t items, size_t size) {
    return size && items > SIZE_MAX / size ? NULL : unpack_take(user, items * size);
}
static void give(void *user, void *block) { unpack_give(user, block); }

static unpacking *unpacking_open(hd_allocator allocator, hd_read_fn packed, void *packed_user) {
    unpacking *s = unpack_take(&allocator, sizeof *s);
    if (!s) return NULL;
    memset(s, 0, offsetof(unpacking, buffer));
    s->allocator = allocator;
    s->packed = packed;
    s->packed_user = packed_user;
    s->left.src = s->buffer;
    return s;
}

static void unpacking_close(void *stream) {
    unpacking *s = stream;
    hd_allocator allocator = s->allocator;
    ZSTD_freeDCtx(s->zstd);
    lzma_end(&s->xz);
    unpack_give(&allocator, s);
}

/* Reads more compressed bytes if none are left. Returns false if reading failed. */
static bool fill(unpacking *s) {
    int64_t n;
    if (s->left.pos < s->left.size || s->ended) return true;
    n = s->packed(s->packed_user, s->buffer, sizeof s->buffer);
    s->left.pos = 0;
    s->left.size = n > 0 ? (size_t)n : 0;
    s->ended = n == 0;
    return n >= 0;
}

/* The allocator limits the window of a stream, so all window sizes are allowed here. */
static void *zstd_open(void *user, hd_allocator allocator, hd_read_fn packed, void *packed_user) {
    unpacking *s = unpacking_open(allocator, packed, packed_user);
    (void)user;
    if (!s) return NULL;
    s->zstd = ZSTD_createDCtx_advanced((ZSTD_customMem){ zstd_take, give, &s->allocator });
    if (s->zstd && !ZSTD_isError(ZSTD_DCtx_setParameter(s->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOWLOG_MAX))) return s;
    unpacking_close(s);
    return NULL;
}

static int64_t zstd_read(void *stream, void *buffer, size_t capacity) {
    unpacking *s = stream;
    ZSTD_outBuffer out = { buffer, capacity, 0 };
    while (!out.pos && !s->damaged) {
        size_t code;
        if (!s->full && !fill(s)) return -1;
        if (s->ended && !s->full) {
            s->damaged = s->inside;
            break;
        }
        code = ZSTD_decompressStream(s->zstd, &out, &s->left);
        s->damaged = ZSTD_isError(code);
        s->inside = code != 0;
        s->full = out.pos == capacity && code != 0;
    }
    return s->damaged && !out.pos ? -1 : (int64_t)out.pos;
}

static void *xz_open(void *user, hd_allocator allocator, hd_read_fn packed, void *packed_user) {
    unpacking *s = unpacking_open(allocator, packed, packed_user);
    (void)user;
    if (!s) return NULL;
    s->xz_allocator = (lzma_allocator){ xz_take, give, &s->allocator };
    s->xz.allocator = &s->xz_allocator;
    if (lzma_stream_decoder(&s->xz, UINT64_MAX, LZMA_CONCATENATED) == LZMA_OK) return s;
    unpacking_close(s);
    return NULL;
}

static int64_t xz_read(void *stream, void *buffer, size_t capacity) {
    unpacking *s = stream;
    lzma_ret code = LZMA_OK;
    s->xz.next_out = buffer;
    s->xz.avail_out = capacity;
    while (s->xz.avail_out == capacity && code == LZMA_OK && !s->damaged) {
        if (!fill(s)) return -1;
        s->xz.next_in = s->buffer + s->left.pos;
        s->xz.avail_in = s->left.size - s->left.pos;
        code = lzma_code(&s->xz, s->ended ? LZMA_FINISH : LZMA_RUN);
        s->left.pos = s->left.size - s->xz.avail_in;
        s->damaged = code != LZMA_OK && code != LZMA_STREAM_END;
    }
    return s->damaged && s->xz.avail_out == capacity ? -1 : (int64_t)(capacity - s->xz.avail_out);
}

/* The last row is for files of pzstd, which begin with a skippable frame. */
const hd_unpacker tool_unpackers[TOOL_UNPACKERS] = {
    { "gzip", "\x1f\x8b", gzip_open, gzip_read, gzip_close, NULL },
    { "zstd", "\x28\xb5\x2f\xfd", zstd_open, zstd_read, unpacking_close, NULL },
    { "xz", "\xfd" "7zXZ", xz_open, xz_read, unpacking_close, NULL },
    { "zstd", "\x50\x2a\x4d\x18", zstd_open, zstd_read, unpacking_close, NULL }
};

/* Inputs that are not dumps. --------------------------------------------------------------------- */

/* The largest block is 256 MiB, as for a stream in hd_read. */
static void *take_memory(void *user, void *block, size_t old_size, size_t size) {
    (void)user, (void)old_size;
    if (size) return size > (size_t)256 << 20 ? NULL : realloc(block, size);
    free(block);
    return NULL;
}

/* Reads the input, beginning with the bytes that were examined. */
static int64_t read_all(void *user, void *buffer, size_t capacity) {
    unpacked *u = user;
    size_t n = u->size - u->at;
    int64_t got = 0;
    if (!n) got = u->failed ? -1 : u->file.read(u->file.user, buffer, capacity);
    else memcpy(buffer, u->first + u->at, n = n < capacity ? n : capacity);
    u->at += n;
    u->failed |= got < 0;
    if (got > 0) n = (size_t)got;
    u->taken += n;
    return got < 0 ? -1 : (int64_t)n;
}

static int64_t read_unpacked(void *user, void *buffer, size_t capacity) {
    unpacked *u = user;
    return u->unpacker->read(u->stream, buffer, capacity);
}

void unpacked_from(unpacked *u, hd_in in) {
    int64_t n = 1;
    memset(u, 0, sizeof *u);
    u->file = in;
    for (; u->size < sizeof u->first && n > 0; u->size += n > 0 ? (size_t)n : 0)
        n = u->file.read(u->file.user, u->first + u->size, sizeof u->first - u->size);
    u->failed = n < 0;
    u->in = hd_in_callback(read_all, u);
    u->in.size = u->file.size;
    for (size_t i = 0; i < TOOL_UNPACKERS && !u->unpacker; i++) {
        size_t length = strlen(tool_unpackers[i].magic);
        if (u->size >= length && !memcmp(u->first, tool_unpackers[i].magic, length)) u->unpacker = &tool_unpackers[i];
    }
    if (!u->unpacker) return;
    u->stream = needed(u->unpacker->open(u->unpacker->user, (hd_allocator){ take_memory, NULL }, read_all, u));
    u->in = hd_in_callback(read_unpacked, u);
}

hd_status unpacked_open(unpacked *u, const char *path, hd_error *err) {
    hd_in in;
    hd_status status = input_open(path, &in, err);
    if (!status) unpacked_from(u, in);
    return status;
}

void unpacked_explain(const unpacked *u, hd_error *err) {
    if (err->status != HD_IO || !u->unpacker || u->failed) return;
    err->status = HD_MALFORMED;
    snprintf(err->message, sizeof err->message,
             "the %s stream is damaged or cut off in its first %llu bytes, or other data follows it",
             u->unpacker->name, (unsigned long long)u->taken);
}

void unpacked_close(unpacked *u) {
    if (u->stream) u->unpacker->close(u->stream);
    input_close(&u->file);
}
