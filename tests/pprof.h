/* pprof profiles from text. Include after heapdump.h and cmocka.h.

   A message is written as its fields, by number. 1:5 is a number (maybe negative), 1(5 6) are packed numbers, 1{...}
   is a message, 1'text' a string. 1#9 is a length of 9 without its content, and %0a is any byte. */
#ifndef PPROF_H
#define PPROF_H

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct bytes {
    uint8_t data[16384];
    size_t size;
} bytes;

static void put_number(bytes *b, uint64_t value) {
    for (; value >= 128; value >>= 7) b->data[b->size++] = (uint8_t)(value | 128);
    b->data[b->size++] = (uint8_t)value;
}

static void put_bytes(bytes *b, uint64_t field, const bytes *value) {
    put_number(b, field << 3 | 2);
    put_number(b, value->size);
    memcpy(b->data + b->size, value->data, value->size);
    b->size += value->size;
}

static const char *put_fields(bytes *b, const char *text) {
    while (*text && *text != '}') {
        bytes inner;
        inner.size = 0;
        if (*text == ' ' || *text == '\n') {
            text++;
        } else if (*text == '%') {
            char digits[3] = { text[1], text[2], 0 };
            b->data[b->size++] = (uint8_t)strtoul(digits, NULL, 16);
            text += 3;
        } else {
            char *at;
            uint64_t field = strtoull(text, &at, 10);
            if (at == text) fail_msg("no field: %s", text);
            text = at + 1;
            if (*at == ':') {
                put_number(b, field << 3);
                put_number(b, (uint64_t)(*text == '-' ? (uint64_t)strtoll(text, &at, 10) : strtoull(text, &at, 10)));
                text = at;
            } else if (*at == '#') {
                put_number(b, field << 3 | 2);
                put_number(b, strtoull(text, &at, 10));
                text = at;
            } else if (*at == '{') {
                text = put_fields(&inner, text) + 1;
                put_bytes(b, field, &inner);
            } else if (*at == '(') {
                while (*text != ')') {
                    put_number(&inner, (uint64_t)strtoull(text, &at, 10));
                    text = at + strspn(at, " ");
                }
                text++;
                put_bytes(b, field, &inner);
            } else {
                while (*text != '\'') inner.data[inner.size++] = (uint8_t)*text++;
                text++;
                put_bytes(b, field, &inner);
            }
        }
    }
    return text;
}

static bytes encode(const char *text) {
    bytes b;
    b.size = 0;
    put_fields(&b, text);
    return b;
}

#endif
