/* Names for code that a program generated at run time, from /tmp/perf-PID.map: one line "START SIZE NAME" for each
   piece of code, numbers in hexadecimal. node --perf-basic-prof, Java and Python write these maps for perf. */

#include "dwarf.h"

#include <ctype.h>
#include <sys/stat.h>

typedef struct code_line {
    uint64_t start, end;
    size_t name;                 /* offset of the name in the text; it ends with the line */
    uint32_t number;             /* a later line replaces earlier ones: code is freed and its memory reused */
} code_line;

struct code_map {
    char *text;
    size_t size, room, read;     /* read: bytes of complete lines that were parsed */
    code_line *lines;            /* sorted: by start, without overlaps */
    size_t count, capacity;
    uint32_t number;             /* number of the next line */
    bool sorted;
};

enum { CODE_TEXT_MOST = 1 << 28 };

code_map *code_map_open(void) { return needed(calloc(1, sizeof(code_map))); }

void code_map_free(code_map *m) {
    if (!m) return;
    free(m->text), free(m->lines);
    free(m);
}

void code_map_read(code_map *m, int fd) {
    struct stat st;
    if (fd < 0 || fstat(fd, &st)) return;
    if ((uint64_t)st.st_size < m->size) {
        free(m->text), free(m->lines);
        *m = (code_map){ 0 };
    }
    while (m->size < (uint64_t)st.st_size && m->size < CODE_TEXT_MOST) {
        ssize_t n;
        if (m->room - m->size < 1 << 16) m->text = needed(realloc(m->text, m->room = 2 * m->room + (1 << 17)));
        n = pread(fd, m->text + m->size, m->room - m->size, (off_t)m->size);
        if (n <= 0) return;
        m->size += (size_t)n;
    }
}

/* Lines. --------------------------------------------------------------------------------------- */

static bool code_number(const char **p, const char *end, uint64_t *n) {
    const char *from = *p;
    if (end - *p > 2 && (*p)[0] == '0' && ((*p)[1] | 32) == 'x') from = *p += 2;
    for (*n = 0; *p < end && isxdigit((unsigned char)**p); ++*p) {
        if (*n >> 60) return false;
        *n = *n * 16 + (uint64_t)(isdigit((unsigned char)**p) ? **p - '0' : (**p | 32) - 'a' + 10);
    }
    return *p > from && *p < end && *(*p)++ == ' ';
}

/* Lines that do not have the form of a map are skipped. */
static void code_lines(code_map *m) {
    char *end;
    while (m->read < m->size && (end = memchr(m->text + m->read, '\n', m->size - m->read))) {
        const char *p = m->text + m->read;
        uint64_t start, size;
        m->read = (size_t)(end + 1 - m->text);
        if (!code_number(&p, end, &start) || !code_number(&p, end, &size) || p == end) continue;
        if (!size || start + size < start) continue;
        m->lines = symbols_room(m->lines, m->count, &m->capacity, sizeof *m->lines);
        m->lines[m->count] = (code_line){ start, start + size, (size_t)(p - m->text), m->number++ };
        m->count++;
        m->sorted = false;
    }
}

static int code_order(const void *a, const void *b) {
    const code_line *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* A heap of lines, the newest on top. */
static void code_push(const code_line **heap, size_t n, const code_line *line) {
    for (; n && heap[(n - 1) / 2]->number < line->number; n = (n - 1) / 2) heap[n] = heap[(n - 1) / 2];
    heap[n] = line;
}

static void code_pop(const code_line **heap, size_t n) {
    size_t at = 0, next;
    const code_line *line = heap[n];
    for (; (next = 2 * at + 1) < n; at = next) {
        if (next + 1 < n && heap[next + 1]->number > heap[next]->number) next++;
        if (heap[next]->number <= line->number) break;
        heap[at] = heap[next];
    }
    heap[at] = line;
}

/* Where lines overlap, the newest wins, piece by piece. */
static void code_sort(code_map *m) {
    const code_line **heap = needed(malloc((m->count + 1) * sizeof *heap));
    code_line *flat = NULL;
    size_t n = 0, open = 0, room = 0, i = 0;
    uint64_t at = 0;
    if (m->count) qsort(m->lines, m->count, sizeof *m->lines, code_order);
    while (i < m->count || open) {
        uint64_t next;
        if (!open) at = m->lines[i].start;
        while (i < m->count && m->lines[i].start <= at) code_push(heap, open++, &m->lines[i++]);
        while (open && heap[0]->end <= at) code_pop(heap, --open);
        if (!open) continue;
        next = i < m->count && m->lines[i].start < heap[0]->end ? m->lines[i].start : heap[0]->end;
        if (n && flat[n - 1].number == heap[0]->number && flat[n - 1].end == at) {
            flat[n - 1].end = next;
        } else {
            flat = symbols_room(flat, n, &room, sizeof *flat);
            flat[n++] = (code_line){ at, next, heap[0]->name, heap[0]->number };
        }
        at = next;
    }
    free(heap), free(m->lines);
    m->lines = flat;
    m->count = n;
    m->capacity = room;
    m->sorted = true;
}

/* The name at an address; empty if the map has no code there. */
static hd_str code_at(code_map *m, uint64_t address) {
    size_t low;
    const char *name;
    code_lines(m);
    if (!m->sorted) code_sort(m);
    low = KEYS_UP_TO(m->lines, m->count, start, address);
    if (!low || address >= m->lines[low - 1].end) return (hd_str){ 0 };
    name = m->text + m->lines[low - 1].name;
    return (hd_str){ name, (size_t)((char *)memchr(name, '\n', m->size - m->lines[low - 1].name) - name) };
}

/* Names. --------------------------------------------------------------------------------------- */

/* Finds the file's start in "get size node:internal/url:7:8". Both parts may contain blanks. NULL: no file. */
static char *code_source(char *text) {
    static const char *const begins[] = { " /", " file:", " node:" };
    char *found = NULL;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        char *at = strstr(text, begins[i]);
        if (at && (!found || at < found)) found = at;
    }
    return found ? found : strrchr(text, ' ');
}

/* V8's "JS:*name FILE:LINE:COLUMN". The mark of the compiler tier is dropped, since one function is compiled several
   ways. */
static char *code_of_v8(char *text) {
    char *source, *column, *line = NULL;
    text += strspn(text, "*~^+-");
    source = code_source(text);
    if (!source) return symbols_text(*text ? text : "(anonymous)", NULL, 0, (hd_str){ NULL, 0 });
    *source++ = 0;
    column = strrchr(source, ':');
    if (column) *column = 0, line = strrchr(source, ':');
    if (line) *line++ = 0;
    return symbols_text(*text ? text : "(anonymous)", source, line ? atoi(line) : 0, (hd_str){ NULL, 0 });
}

char *code_map_name(code_map *m, uint64_t address) {
    static const char *const v8[] = { "JS:", "LazyCompile:", "Function:", "Script:", "Eval:" };
    hd_str found = code_at(m, address);
    char *text, *name;
    if (!found.len) return NULL;
    text = needed(strndup(found.data, found.len));
    for (size_t i = 0; i < sizeof v8 / sizeof *v8; i++) {
        size_t n = strlen(v8[i]);
        if (strncmp(text, v8[i], n)) continue;
        name = code_of_v8(text + n);
        free(text);
        return name;
    }
    return text;
}
