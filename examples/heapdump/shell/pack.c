/* Compressed outputs, for names that end in .gz, .zst or .xz: by zlib, libzstd and liblzma. */

#include "shell.h"

#include <lzma.h>

#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>

enum { GZIP, ZSTD, XZ, PACKINGS };

struct packing {
    hd_out to;
    int how;
    z_stream gzip;
    ZSTD_CCtx *zstd;
    lzma_stream xz;
    unsigned char buffer[65536];
};

static hd_status put(packing *p, size_t left) {
    return left < sizeof p->buffer ? p->to.write(p->to.user, p->buffer, sizeof p->buffer - left) : HD_OK;
}

/* Each function consumes all given bytes. With `last`, it also ends the stream. */
static hd_status pack_gzip(packing *p, const void *data, size_t size, bool last) {
    hd_status status = HD_OK;
    int code = Z_OK;
    p->gzip.next_in = data;
    while (!status && (size || p->gzip.avail_in || (last && code != Z_STREAM_END))) {
        if (!p->gzip.avail_in) {
            p->gzip.avail_in = size < 0x40000000 ? (unsigned)size : 0x40000000;
            size -= p->gzip.avail_in;
        }
        p->gzip.next_out = p->buffer;
        p->gzip.avail_out = sizeof p->buffer;
        code = deflate(&p->gzip, last && !size ? Z_FINISH : Z_NO_FLUSH);
        if (code != Z_OK && code != Z_STREAM_END) return HD_IO;
        status = put(p, p->gzip.avail_out);
    }
    return status;
}

static hd_status pack_zstd(packing *p, const void *data, size_t size, bool last) {
    ZSTD_inBuffer in = { data, size, 0 };
    hd_status status = HD_OK;
    size_t left = last;
    while (!status && (in.pos < size || left)) {
        ZSTD_outBuffer out = { p->buffer, sizeof p->buffer, 0 };
        left = ZSTD_compressStream2(p->zstd, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left)) return HD_OUT_OF_MEMORY;
        if (!last) left = 0;
        status = put(p, sizeof p->buffer - out.pos);
    }
    return status;
}

static hd_status pack_xz(packing *p, const void *data, size_t size, bool last) {
    hd_status status = HD_OK;
    lzma_ret code = LZMA_OK;
    p->xz.next_in = data;
    p->xz.avail_in = size;
    while (!status && (p->xz.avail_in || (last && code != LZMA_STREAM_END))) {
        p->xz.next_out = p->buffer;
        p->xz.avail_out = sizeof p->buffer;
        code = lzma_code(&p->xz, last ? LZMA_FINISH : LZMA_RUN);
        if (code != LZMA_OK && code != LZMA_STREAM_END) return HD_OUT_OF_MEMORY;
        status = put(p, p->xz.avail_out);
    }
    return status;
}

static hd_status pack(packing *p, const void *data, size_t size, bool last) {
    static hd_status (*const how[PACKINGS])(packing *, const void *, size_t, bool) = {
        pack_gzip, pack_zstd, pack_xz
    };
    return how[p->how](p, data, size, last);
}

static hd_status pack_write(void *p, const void *data, size_t size) {
    return size ? pack(p, data, size, false) : HD_OK;
}

static const char *const packed_ends[PACKINGS] = { ".gz", ".zst", ".xz" };

/* The compression that a file name asks for; PACKINGS: none. */
static int packing_named(const char *path) {
    size_t length = strlen(path);
    int how = 0;
    for (; how < PACKINGS; how++) {
        size_t n = strlen(packed_ends[how]);
        if (length > n && !strcmp(path + length - n, packed_ends[how])) break;
    }
    return how;
}

size_t packed_end(const char *path) {
    int how = packing_named(path);
    return how == PACKINGS ? 0 : strlen(packed_ends[how]);
}

packing *packing_open(const char *path, hd_out to, hd_out *out) {
    packing *p;
    bool ready = false;
    int how = packing_named(path);
    *out = to;
    if (how == PACKINGS) return NULL;
    p = needed(calloc(1, sizeof *p));
    p->to = to;
    p->how = how;
    switch (how) {
    case GZIP:                   /* no name and no time: equal bytes for equal dumps */
        ready = deflateInit2(&p->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK;
        break;
    case ZSTD:
        ready = (p->zstd = ZSTD_createCCtx()) != NULL;
        if (ready) ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_checksumFlag, 1);
        break;
    default: ready = lzma_easy_encoder(&p->xz, LZMA_PRESET_DEFAULT, LZMA_CHECK_CRC64) == LZMA_OK;
    }
    if (!ready) needed(NULL);
    *out = hd_out_callback(pack_write, p);
    return p;
}

hd_status packing_close(packing *p, bool whole) {
    hd_status status = whole && p ? pack(p, "", 0, true) : HD_OK;
    if (!p) return HD_OK;
    if (p->how == GZIP) deflateEnd(&p->gzip);
    ZSTD_freeCCtx(p->zstd);
    lzma_end(&p->xz);
    free(p);
    return status;
}

size_t tool_deflate(void *user, void *to, size_t capacity, const void *data, size_t size) {
    uLongf n = (uLongf)capacity;
    (void)user;
    return compress2(to, &n, data, (uLong)size, Z_BEST_COMPRESSION) == Z_OK ? (size_t)n : 0;
}
