/* Bytes and shares as text for people. */
#ifndef HEAPDUMP_AMOUNTS_H
#define HEAPDUMP_AMOUNTS_H

#include "../shell/shell.h"

/* "19.6 KiB", or with --bytes "20032". */
enum { FIGURE = 32 };
void bytes_text(const arguments *a, uint64_t bytes, char text[FIGURE]);
void put_bytes(FILE *out, const arguments *a, uint64_t bytes, int width);
/* The same in a sentence: "20032 bytes". */
void put_bytes_named(FILE *out, const arguments *a, uint64_t bytes);
void put_share(FILE *out, uint64_t part, uint64_t whole);
uint32_t shown_of(const arguments *a, uint32_t otherwise);
void put_more(FILE *out, uint64_t all, uint64_t shown);

#endif
