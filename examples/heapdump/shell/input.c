/* Inputs: files by name, pipes, and standard input. */

#include "shell.h"

#include <sys/stat.h>

/* A pipe whose beginning was examined. Its bytes come only once, so the examined bytes are kept for the reader. */
typedef struct looked {
    struct looked *next;
    char *file;
    hd_in in;
    uint8_t *kept;
    size_t size, room, at;
    bool is_looking;             /* read bytes are kept */
    bool has_ended;
} looked;

static looked *pipes;            /* examined, and not open */

static int64_t read_stdin(void *user, void *buffer, size_t capacity) {
    ssize_t n;
    (void)user;
    do n = read(STDIN_FILENO, buffer, capacity);
    while (n < 0 && errno == EINTR);
    return n;
}

static int64_t read_looked(void *user, void *buffer, size_t capacity) {
    looked *p = user;
    size_t left = p->size - p->at;
    int64_t n = (int64_t)(left < capacity ? left : capacity);
    if (!left) {
        n = p->has_ended ? 0 : p->in.read(p->in.user, buffer, capacity);
        p->has_ended |= !n;
        if (n <= 0 || !p->is_looking) return n;
        if ((size_t)n > p->room - p->size) {
            p->room = 2 * p->room + (size_t)n;
            p->kept = needed(realloc(p->kept, p->room));
        }
        memcpy(p->kept + p->size, buffer, (size_t)n);
        p->size += (size_t)n;
    } else {
        memcpy(buffer, p->kept + p->at, (size_t)n);
    }
    p->at += (size_t)n;
    return n;
}

const char *input_name(const char *file) { return strcmp(file, "-") ? file : "standard input"; }

bool input_is_pipe(const char *file) {
    struct stat st;
    return !strcmp(file, "-") || (!stat(file, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}

hd_status input_open(const char *file, hd_in *in, hd_error *err) {
    for (looked **p = &pipes; *p; p = &(*p)->next)
        if (!strcmp((*p)->file, file)) {
            *in = hd_in_callback(read_looked, *p);
            *p = (*p)->next;
            return HD_OK;
        }
    *in = hd_in_callback(read_stdin, NULL);
    return strcmp(file, "-") ? hd_in_open(file, in, err) : HD_OK;
}

void input_close(hd_in *in) {
    looked *p = in->user;
    if (in->read != read_looked) {
        hd_in_close(in);
        return;
    }
    hd_in_close(&p->in);
    free(p->kept);
    free(p->file);
    free(p);
}

size_t input_look(const char *file, bool unpacks, uint8_t first[HD_DETECT_FIRST]) {
    size_t n = 0;
    looked *p = NULL;
    unpacked u;
    hd_error err;
    hd_in in;
    if (input_open(file, &in, &err)) return 0;
    if (in.read == read_looked) {
        p = in.user;
    } else if (input_is_pipe(file)) {
        p = needed(calloc(1, sizeof *p));
        p->file = needed(strdup(file));
        p->in = in;
        in = hd_in_callback(read_looked, p);
    }
    if (p) p->is_looking = true;
    unpacked_from(&u, in);
    if (!unpacks && u.unpacker) n = u.size, memcpy(first, u.first, n);
    else
        for (int64_t got = 1; n < HD_DETECT_FIRST && got > 0; n += got > 0 ? (size_t)got : 0)
            got = u.in.read(u.in.user, first + n, HD_DETECT_FIRST - n);
    if (!p) return unpacked_close(&u), n;
    u.file = hd_in_memory(NULL, 0); /* the pipe stays open */
    unpacked_close(&u);
    p->is_looking = false;
    p->at = 0;
    p->next = pipes;
    pipes = p;
    return n;
}
