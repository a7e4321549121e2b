/* Parses /proc/PID/smaps line by line, and assigns each map to a part of the program's memory. */

#include "record.h"

#include <stdlib.h>
#include <string.h>

enum { MAPS_MOST = 1 << 20 };

/* Parses digits up to `end`; false if it finds no digits, or the number exceeds 64 bits. */
static bool number(const char **at, const char *end, unsigned base, uint64_t *n) {
    const char *from = *at;
    for (*n = 0; *at < end; ++*at) {
        unsigned c = (unsigned char)**at;
        unsigned digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
        if (digit >= base) break;
        if (*n > (UINT64_MAX - digit) / base) return false;
        *n = *n * base + digit;
    }
    return *at > from;
}

static bool taken(const char **at, const char *end, char c) { return *at < end && *(*at)++ == c; }

static void spaces(const char **at, const char *end) {
    while (*at < end && (**at == ' ' || **at == '\t')) ++*at;
}

static bool begins(const char *at, const char *end, const char *with) {
    size_t n = strlen(with);
    return (size_t)(end - at) >= n && !memcmp(at, with, n);
}

static resident_kind kind_of(const char *name, const char *end) {
    if (name == end || begins(name, end, "[anon:")) return MAP_ANONYMOUS_ONE;
    if (begins(name, end, "[heap]")) return MAP_HEAP_ONE;
    if (begins(name, end, "[stack")) return MAP_STACK_ONE;
    return *name == '[' ? MAP_SPECIAL_ONE : MAP_FILE_ONE;
}

static bool is_recorders(const char *name, const char *end) {
    const char *base = name;
    for (const char *at = name; at < end; at++)
        if (*at == '/') base = at + 1;
    return begins(base, end, "libheapdump_record.so");
}

/* 7f5c0a000000-7f5c0a021000 rw-p 00000000 00:00 0 [heap] */
static bool map_begin(resident_maps *m, const char *at, const char *end) {
    resident_map map = { 0 };
    const char *may;
    uint64_t skipped;
    if (!number(&at, end, 16, &map.start) || !taken(&at, end, '-') || !number(&at, end, 16, &map.end) ||
        !taken(&at, end, ' ') || map.start >= map.end || (m->count && m->map[m->count - 1].end > map.start))
        return false;
    may = at;
    if (end - at < 5 || at[4] != ' ') return false;
    at += 5;
    if (!number(&at, end, 16, &skipped) || !taken(&at, end, ' ') || !number(&at, end, 16, &skipped) ||
        !taken(&at, end, ':') || !number(&at, end, 16, &skipped) || !taken(&at, end, ' ') ||
        !number(&at, end, 10, &map.inode))
        return false;
    spaces(&at, end);
    map.reads = may[0] == 'r';
    map.writes = may[1] == 'w';
    map.kind = kind_of(at, end);
    map.of_recorder = map.kind == MAP_FILE_ONE && is_recorders(at, end);
    if (m->count == m->room) {
        size_t room = m->room ? 2 * m->room : 128;
        resident_map *grown = m->count < MAPS_MOST ? realloc(m->map, room * sizeof *grown) : NULL;
        if (!grown) return false;
        m->map = grown;
        m->room = room;
    }
    m->map[m->count++] = map;
    return true;
}

static bool rss_line(resident_map *map, const char *at, const char *end) {
    uint64_t kilobytes;
    spaces(&at, end);
    if (!number(&at, end, 10, &kilobytes) || !begins(at, end, " kB") || kilobytes > UINT64_MAX / 1024) return false;
    map->bytes = kilobytes * 1024;
    return true;
}

static void flags_line(resident_map *map, const char *at, const char *end) {
    for (spaces(&at, end); end - at >= 2; at += 2, spaces(&at, end)) {
        map->random |= begins(at, end, "rr");
        map->unreserved |= begins(at, end, "nr");
    }
}

static bool line_taken(resident_maps *m, const char *at, const char *end) {
    if (at < end && ((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f'))) return map_begin(m, at, end);
    if (!m->count || at == end || *at < 'A' || *at > 'Z') return false;
    if (begins(at, end, "Rss:")) return rss_line(&m->map[m->count - 1], at + 4, end);
    if (begins(at, end, "VmFlags:")) flags_line(&m->map[m->count - 1], at + 8, end);
    return true;
}

bool resident_line(resident_maps *m, const char *line, size_t size) {
    bool fine = line_taken(m, line, line + size);
    m->unexpected |= !fine;
    return fine;
}

resident_map *resident_map_at(const resident_maps *m, uint64_t address) {
    size_t low = KEYS_UP_TO(m->map, m->count, end, address);
    return low < m->count && m->map[low].start <= address ? &m->map[low] : NULL;
}

/* Pages that the recorder allocated: >>platform of heapdump.h marks them. */
static bool is_recorder(const resident_map *map) {
    return map->of_recorder || (map->kind == MAP_ANONYMOUS_ONE && map->random && map->unreserved);
}

void resident_guess_stacks(resident_maps *m, size_t threads) {
    for (size_t i = 1; i < m->count && threads; i++) {
        const resident_map *below = &m->map[i - 1];
        resident_map *map = &m->map[i];
        if (map->is_stack || map->holds || is_recorder(map)) continue;
        if (map->kind != MAP_ANONYMOUS_ONE || !map->writes) continue;
        if (below->end != map->start || below->kind != MAP_ANONYMOUS_ONE || below->reads || below->writes) continue;
        map->is_stack = true;
        threads--;
    }
}

/* The part that a map belongs to; `before`: the part of the map that ends where this one begins. Zero-initialized
   data of a program or library is anonymous, and follows the writable map of its file. */
static int part_of(const resident_maps *m, size_t i, int before) {
    const resident_map *map = &m->map[i];
    bool zeros = map->kind == MAP_ANONYMOUS_ONE && map->writes && i && m->map[i - 1].end == map->start &&
                 m->map[i - 1].kind == MAP_FILE_ONE && m->map[i - 1].writes;
    if (is_recorder(map)) return RESIDENT_RECORDER;
    if (map->holds || map->kind == MAP_HEAP_ONE) return RESIDENT_ALLOCATOR;
    if (map->is_stack || map->kind == MAP_STACK_ONE) return RESIDENT_STACKS;
    if (map->kind == MAP_FILE_ONE) return RESIDENT_FILES;
    if (zeros && (before == RESIDENT_FILES || before == RESIDENT_RECORDER)) return before;
    return map->kind == MAP_SPECIAL_ONE ? RESIDENT_UNEXPLAINED : RESIDENT_ANONYMOUS;
}

void resident_sum(const resident_maps *m, uint64_t live, uint64_t part[RESIDENT_PARTS]) {
    int before = RESIDENT_UNEXPLAINED;
    memset(part, 0, RESIDENT_PARTS * sizeof *part);
    for (size_t i = 0; i < m->count; i++) {
        before = part_of(m, i, before);
        part[before] += m->map[i].bytes;
    }
    /* untouched pages of blocks are not resident */
    part[RESIDENT_BLOCKS] = live < part[RESIDENT_ALLOCATOR] ? live : part[RESIDENT_ALLOCATOR];
    part[RESIDENT_ALLOCATOR] -= part[RESIDENT_BLOCKS];
}

void resident_maps_free(resident_maps *m) {
    free(m->map);
    *m = (resident_maps){ 0 };
}
