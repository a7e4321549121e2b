/* Names of addresses, as jeprof and pprof print them with --raw before a heap profile:

       --- symbol
       binary=/bin/app
       0x000000000040000f outer(int)--inlined
       ---

   Inlined functions follow the function that contains them, after "--". Cost: a sort, then a binary search for each
   address. */
#ifndef HEAPDUMP_HEAP_TEXT_SYMBOLS_H
#define HEAPDUMP_HEAP_TEXT_SYMBOLS_H

#include <stdlib.h>

#include "room.h"

enum { SYMBOL_FUNCTIONS = 32 };  /* most functions at one address: memory stays linear in the input */

typedef struct text_symbol {
    uint64_t address;
    size_t at, length;           /* in text */
} text_symbol;

typedef struct text_symbols {
    text_symbol *list;
    size_t count, room;
    room_text text;
} text_symbols;

/* The rest of the line, without spaces at its ends. */
static hd_str symbols_rest(hd_lines *l) {
    hd_str rest;
    hd_lines_skip_spaces(l);
    rest.data = l->at;
    rest.len = (size_t)(l->end - l->at);
    while (rest.len && strchr(" \t\r", rest.data[rest.len - 1]) && rest.data[rest.len - 1]) rest.len--;
    return rest;
}

/* "0x40000f main". Skips lines without an address or a name, as jeprof does. */
static hd_status symbols_add(text_symbols *s, hd_lines *l) {
    text_symbol symbol = { 0, s->text.size, 0 };
    hd_str name;
    if (!hd_lines_take(l, "0x") || hd_lines_number(l, 16, &symbol.address)) return HD_OK;
    if (l->at < l->end && *l->at != ' ' && *l->at != '\t') return HD_OK;
    name = symbols_rest(l);
    if (!name.len) return HD_OK;
    if (!ROOM(l, s->list, s->count, 1, s->room) || !room_keep(l, &s->text, name.data, name.len))
        return l->err->status;
    symbol.length = name.len;
    s->list[s->count++] = symbol;
    return HD_OK;
}

static int symbols_order(const void *a, const void *b) {
    const text_symbol *x = (const text_symbol *)a, *y = (const text_symbol *)b;
    if (x->address != y->address) return x->address < y->address ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void symbols_sort(text_symbols *s) {
    if (s->count) qsort(s->list, s->count, sizeof *s->list, symbols_order);
}

/* The names at an address; empty: no names. If two lines have the address, the later one counts. */
static hd_str symbols_find(const text_symbols *s, uint64_t address) {
    size_t low = 0, high = s->count;
    hd_str none = { "", 0 };
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->list[middle].address <= address) low = middle + 1;
        else high = middle;
    }
    if (!low || s->list[low - 1].address != address) return none;
    none.data = s->text.data + s->list[low - 1].at;
    none.len = s->list[low - 1].length;
    return none;
}

/* Removes the address that nm appends to a name: "main<000000000000136a>". */
static hd_str symbols_plain(hd_str name) {
    size_t digits = 0;
    if (!name.len || name.data[name.len - 1] != '>') return name;
    while (digits + 1 < name.len && strchr("0123456789abcdef", name.data[name.len - 2 - digits]) &&
           name.data[name.len - 2 - digits]) digits++;
    if ((digits != 8 && digits != 16) || digits + 2 >= name.len) return name;
    if (name.data[name.len - 2 - digits] == '<') name.len -= digits + 2;
    return name;
}

/* Takes the next function, outermost first, from these names. "operator--" is one name. */
static hd_str symbols_next(hd_str *names, bool last) {
    hd_str name = *names;
    for (size_t i = 0; i + 1 < names->len && !last; i++) {
        if (names->data[i] != '-' || names->data[i + 1] != '-') continue;
        if (i >= 8 && !memcmp(names->data + i - 8, "operator", 8)) {
            i++;
            continue;
        }
        name.len = i;
        names->data += i + 2;
        names->len -= i + 2;
        return symbols_plain(name);
    }
    names->len = 0;
    return symbols_plain(name);
}

#endif
