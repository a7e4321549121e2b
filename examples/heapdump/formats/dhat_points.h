/* Reads DHAT's JSON for dhat.c: the numbers of program points, and the names of their frames. */
#ifndef HEAPDUMP_DHAT_POINTS_H
#define HEAPDUMP_DHAT_POINTS_H

#include "json.h"

enum { TB, TBK, TL, MB, MBK, GB, GBK, EB, EBK, RB, WB, DHAT_NUMBERS, FS = DHAT_NUMBERS };

/* A program point. */
typedef struct dhat_point {
    uint64_t number[DHAT_NUMBERS];
    uint64_t offset, line;       /* where it begins */
    uint64_t most;               /* the largest number of a frame */
    size_t frames, count;        /* in dhat.frames, innermost first */
    uint32_t has;                /* bits of its keys */
    bool left_out;
} dhat_point;

typedef struct dhat_name {
    size_t at, size;             /* in dhat.names */
} dhat_name;

/* Keys of the file: first those with a simple value, then the two with an array. */
enum { VERSION, TUTH, PID, TE, TG, MODE, VERB, TU, MTU, CMD, BU, BSU, BKSU, BKLT, BKACC, PPS, FTBL, DHAT_KEYS };

typedef struct dhat {
    json_in json;
    uint32_t has;                /* bits of the file's keys */
    uint64_t number[MODE];
    size_t text[BKLT];           /* keys from MODE on: position in `names`; 0: absent */
    bool lifetimes, accesses;
    dhat_point *points;
    size_t point_count, point_room;
    uint32_t *frames;            /* of all points: numbers of the table */
    size_t frame_count, frame_room;
    dhat_name *table;
    size_t table_count, table_room;
    char *names;                 /* all texts, each with a 0 byte at its end */
    size_t names_size, names_room;
} dhat;

static const char *const dhat_keys[DHAT_KEYS] = { "dhatFileVersion", "tuth", "pid", "te", "tg", "mode", "verb", "tu",
                                                  "Mtu", "cmd", "bu", "bsu", "bksu", "bklt", "bkacc", "pps", "ftbl" };
static const char *const dhat_point_keys[] = { "tb", "tbk", "tl", "mb", "mbk", "gb", "gbk", "eb", "ebk", "rb", "wb",
                                               "fs" };

/* Texts. --------------------------------------------------------------------------------------- */

/* Grows a list for `more` items; false: an earlier failure, or no memory. `list` is the address of its pointer. */
static bool dhat_grow(dhat *d, void *list, size_t count, size_t more, size_t *room, size_t size) {
    if (d->json.status) return false;
    if (!room_grow(&d->json.lines, list, count, more, room, size)) d->json.status = d->json.lines.err->status;
    return !d->json.status;
}

/* Keeps a text in `names`, at *at. */
static bool dhat_keep(dhat *d, hd_str text, size_t *at) {
    if (!dhat_grow(d, &d->names, d->names_size, text.len + 2, &d->names_room, 1)) return false;
    if (!d->names_size) d->names[d->names_size++] = 0; /* 0 means no text */
    *at = d->names_size;
    memcpy(d->names + *at, text.data, text.len);
    d->names[*at + text.len] = 0;
    d->names_size += text.len + 1;
    return true;
}

/* A text of the file, or NULL. */
static const char *dhat_text(const dhat *d, int key) { return d->text[key] ? d->names + d->text[key] : NULL; }

/* The part of a path after the last '/'. */
static hd_str dhat_base(hd_str path) {
    for (size_t i = path.len; i--;)
        if (path.data[i] == '/') return (hd_str){ path.data + i + 1, path.len - i - 1 };
    return path;
}

static bool dhat_is_digit(char c) { return c >= '0' && c <= '9'; }

/* "0x1093C0: " at the beginning: its length, or 0. */
static size_t dhat_address(hd_str name) {
    size_t i = 2;
    if (name.len < 5 || memcmp(name.data, "0x", 2)) return 0;
    while (i < name.len && name.data[i] && strchr("0123456789abcdefABCDEF", name.data[i])) i++;
    return i > 2 && name.len - i >= 2 && name.data[i] == ':' && name.data[i + 1] == ' ' ? i + 2 : 0;
}

/* Removes ":12" at the end; false: the text does not end like this. */
static bool dhat_cut_number(hd_str *text) {
    size_t i = text->len;
    while (i && dhat_is_digit(text->data[i - 1])) i--;
    if (!i || i == text->len || text->data[i - 1] != ':') return false;
    text->len = i - 1;
    return true;
}

/* Divides "grow (p.c:5)" and "malloc (in /usr/lib/libc.so.6)". Returns the function; *place is the text in braces, or
   empty if the braces belong to the function. The column of "lib.rs:72:9" is cut off. */
static hd_str dhat_divide(hd_str name, hd_str *place, bool *is_object) {
    size_t i = name.len;
    hd_str inner = { NULL, 0 }, outer;
    *place = inner;
    *is_object = false;
    if (name.len < 5 || name.data[name.len - 1] != ')') return name;
    while (i >= 2 && memcmp(name.data + i - 2, " (", 2)) i--;
    if (i < 3) return name;
    inner = (hd_str){ name.data + i, name.len - i - 1 };
    outer = inner;
    *is_object = inner.len > 3 && !memcmp(inner.data, "in ", 3);
    if (*is_object) *place = (hd_str){ inner.data + 3, inner.len - 3 };
    else if (dhat_cut_number(&inner)) {
        hd_str line = inner;
        *place = dhat_cut_number(&line) ? inner : outer;
    }
    return place->len ? (hd_str){ name.data, i - 2 } : name;
}

/* Adds a frame of the table, under the name that heapdump gives to frames. */
static bool dhat_name_frame(dhat *d, hd_str given) {
    size_t skip = dhat_address(given), at, size;
    hd_str function, place;
    bool is_object;
    char *made;
    if (!dhat_grow(d, &d->table, d->table_count, 1, &d->table_room, sizeof *d->table)) return false;
    function = dhat_divide((hd_str){ given.data + skip, given.len - skip }, &place, &is_object);
    if (skip && function.len == 3 && !memcmp(function.data, "???", 3)) function = (hd_str){ given.data, skip - 2 };
    if (is_object) place = dhat_base(place);
    size = function.len + (place.len ? place.len + 3 : 0);
    if (!dhat_keep(d, given, &at)) return false;
    made = d->names + at;        /* the name is made in place: it is never the longer one */
    memmove(made, made + (function.data - given.data), function.len);
    if (place.len) {
        memmove(made + function.len + 2, made + (place.data - given.data), place.len);
        memcpy(made + function.len, is_object ? " [" : " (", 2);
        made[size - 1] = is_object ? ']' : ')';
    }
    d->names_size = at + size;
    d->table[d->table_count++] = (dhat_name){ at, size };
    return true;
}

/* Reading. ------------------------------------------------------------------------------------- */

/* Reads a key, and returns its number. An unknown key gives `count`, and its value is skipped; so does a repeated
   key, which is also reported. */
static int dhat_key(dhat *d, const char *const *keys, int count, uint32_t *has) {
    json_in *j = &d->json;
    int key = 0;
    if (!json_key(j)) return count;
    while (key < count && !json_key_is(j, keys[key])) key++;
    if (key < count && !(*has & UINT32_C(1) << key)) {
        *has |= UINT32_C(1) << key;
        return key;
    }
    if (key < count) json_wrong(j, "a new key");
    else json_skip(j);
    return count;
}

/* The frames of a point. */
static bool dhat_read_frames(dhat *d, dhat_point *p) {
    json_in *j = &d->json;
    bool begun = false, good = json_open(j, '[');
    if (!good) return false;
    while (json_more(j, ']', &begun)) {
        uint64_t number = 0;
        if (!dhat_grow(d, &d->frames, d->frame_count, 1, &d->frame_room, sizeof *d->frames)) return false;
        if (!json_u64(j, &number)) {
            good = false;
            continue;
        }
        if (number > p->most) p->most = number;
        d->frames[d->frame_count++] = (uint32_t)number; /* dhat_check refuses larger ones by p->most */
    }
    p->count = d->frame_count - p->frames;
    return good;
}

/* The current position, for an error that is found later. */
static void dhat_place(json_in *j, uint64_t *offset, uint64_t *line) {
    json_peek(j);
    *offset = hd_window_offset(j->lines.window);
    *line = hd_window_line(j->lines.window, *offset);
}

static void dhat_read_point(dhat *d) {
    json_in *j = &d->json;
    bool begun = false;
    dhat_point *p;
    if (!dhat_grow(d, &d->points, d->point_count, 1, &d->point_room, sizeof *d->points)) return;
    p = &d->points[d->point_count];
    memset(p, 0, sizeof *p);
    dhat_place(j, &p->offset, &p->line);
    p->frames = d->frame_count;
    if (!json_open(j, '{')) return;
    d->point_count++;
    while (json_more(j, '}', &begun)) {
        int key = dhat_key(d, dhat_point_keys, FS + 1, &p->has);
        if (key < DHAT_NUMBERS) p->left_out |= !json_u64(j, &p->number[key]);
        else if (key == FS) p->left_out |= !dhat_read_frames(d, p);
    }
}

static void dhat_progress(json_in *j) {
    if (!j->status)
        j->status = hd_report_progress(j->lines.reporter, hd_window_offset(j->lines.window), j->total, j->lines.err);
}

static void dhat_read_points(dhat *d) {
    json_in *j = &d->json;
    bool begun = false;
    if (!json_open(j, '[')) return;
    for (; json_more(j, ']', &begun); dhat_progress(j)) dhat_read_point(d);
}

static void dhat_read_table(dhat *d) {
    json_in *j = &d->json;
    bool begun = false;
    if (!json_open(j, '[')) return;
    for (; json_more(j, ']', &begun); dhat_progress(j)) {
        bool is_text = json_text(j);
        if (!is_text) j->size = 0; /* an empty name keeps its number */
        dhat_name_frame(d, (hd_str){ is_text ? j->text : "", j->size });
    }
}

static void dhat_read_version(dhat *d) {
    json_in *j = &d->json;
    hd_error found;
    json_peek(j);
    found = json_error(j, HD_UNSUPPORTED, "version 2 of DHAT's files");
    json_u64(j, &d->number[VERSION]);
    if (j->status || d->number[VERSION] == 2) return;
    *j->lines.err = found;
    j->status = HD_UNSUPPORTED;
}

static void dhat_read_value(dhat *d, int key) {
    json_in *j = &d->json;
    if (key == VERSION) dhat_read_version(d);
    else if (key < MODE) json_u64(j, &d->number[key]);
    else if (key < BKLT) {
        if (json_text(j)) dhat_keep(d, (hd_str){ j->text, j->size }, &d->text[key]);
    } else if (key == BKLT) json_bool(j, &d->lifetimes);
    else if (key == BKACC) json_bool(j, &d->accesses);
    else if (key == PPS) dhat_read_points(d);
    else if (key == FTBL) dhat_read_table(d);
}

/* Whether a wanted key is missing; *found reports the first one. */
static bool dhat_lacks(uint32_t has, uint32_t wanted, const char *const *keys, hd_error *found) {
    int key = 0;
    if (!(wanted & ~has)) return false;
    while (!(wanted & ~has & UINT32_C(1) << key)) key++;
    found->status = HD_MALFORMED;
    snprintf(found->message, sizeof found->message, "\"%s\" expected, and the object ends", keys[key]);
    return true;
}

/* The file: an object. Fails without the keys that all others depend on, in lenient reading too. */
static void dhat_read_file(dhat *d) {
    json_in *j = &d->json;
    const uint32_t vital = UINT32_C(1) << VERSION | UINT32_C(1) << BKLT | UINT32_C(1) << PPS | UINT32_C(1) << FTBL;
    uint32_t wanted = (UINT32_C(1) << DHAT_KEYS) - 1;
    bool begun = false;
    hd_error found;
    json_take(j, '{', "'{'");
    while (json_more(j, '}', &begun)) dhat_read_value(d, dhat_key(d, dhat_keys, DHAT_KEYS, &d->has));
    wanted &= ~(UINT32_C(1) << BU | UINT32_C(1) << BSU | UINT32_C(1) << BKSU);
    if (!d->lifetimes) wanted &= ~(UINT32_C(1) << TUTH | UINT32_C(1) << TG);
    memset(&found, 0, sizeof found);
    if (!j->status) dhat_place(j, &found.offset, &found.line);
    if (!j->status && dhat_lacks(d->has, vital, dhat_keys, &found)) {
        *j->lines.err = found;
        j->status = found.status;
    }
    if (dhat_lacks(d->has, wanted, dhat_keys, &found)) json_report(j, &found);
    json_end(j);
}

/* Checks the keys and frames of all points: both need the whole file. */
static void dhat_check(dhat *d) {
    uint32_t wanted = UINT32_C(1) << TB | UINT32_C(1) << TBK | UINT32_C(1) << FS;
    if (d->lifetimes)
        for (int key = TL; key <= EBK; key++) wanted |= UINT32_C(1) << key;
    if (d->accesses) wanted |= UINT32_C(1) << RB | UINT32_C(1) << WB;
    for (size_t i = 0; i < d->point_count && !d->json.status; i++) {
        dhat_point *p = &d->points[i];
        hd_error found;
        memset(&found, 0, sizeof found);
        found.offset = p->offset;
        found.line = p->line;
        if (p->left_out) continue;
        p->left_out = dhat_lacks(p->has, wanted, dhat_point_keys, &found);
        if (!p->left_out && p->count && p->most >= d->table_count) {
            p->left_out = true;
            found.status = HD_MALFORMED;
            snprintf(found.message, sizeof found.message, "a frame of the table, below %zu, expected, found %llu",
                     d->table_count, (unsigned long long)p->most);
        }
        if (p->left_out) json_report(&d->json, &found);
    }
}

#endif
