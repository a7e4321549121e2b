/* Objects of recorded processes: their files are opened while the processes live. */

#include "symbols.h"

#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <sys/resource.h>

/* The identity of an object: its path, and its build id or the number of its copy. */
typedef struct symbols_id {
    hd_str path;                 /* the object's */
    uint32_t size, copy;
    uint8_t id[32];
    size_t object;
} symbols_id;

static int symbols_id_order(const void *a, const void *b) {
    const symbols_id *x = a, *y = b;
    int order = hd_str_compare(x->path, y->path);
    if (order) return order;
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    if (x->copy != y->copy) return x->copy < y->copy ? -1 : 1;
    return memcmp(x->id, y->id, sizeof x->id);
}

int symbols_file_open(const char *path) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || (!fstat(fd, &st) && S_ISREG(st.st_mode))) return fd;
    close(fd);
    return -1;
}

/* Whether `more` files may stay open. Half of the descriptors are for other uses. */
static bool may_keep(const symbols *s, size_t more) {
    struct rlimit most;
    return !getrlimit(RLIMIT_NOFILE, &most) && s->kept_files + more <= most.rlim_cur / 2;
}

/* An object with files still to be opened. */
typedef struct symbols_loading {
    size_t object;
    uint64_t pid;
    const char *copied;          /* path of its copy in symbols; NULL: none */
    int copy;
    struct stat before;          /* the file that was copied */
} symbols_loading;

/* Adds a file that may be the object, unless it is the same file as the candidate before it. */
static void add_candidate(symbols *s, symbols_object *o, const symbols_opened *f, struct stat *before) {
    if (f->is != SYMBOLS_OPENED || (f->st.st_ino == before->st_ino && f->st.st_dev == before->st_dev)) {
        if (f->fd >= 0) close(f->fd);
        return;
    }
    *before = f->st;
    o->files[o->file_count++] = (symbols_candidate){ .fd = f->fd, .kept = f->fd >= 0,
                                                     .file = needed(strdup(f->path)) };
    s->kept_files += f->fd >= 0;
}

/* The copy of a process's program, or the last copy of that path, or NULL. */
static const symbols_copy *copy_of(const symbols *s, hd_str path, uint64_t pid) {
    const symbols_copy *last = NULL;
    for (size_t i = s->copy_count; i-- > 0;) {
        const symbols_copy *c = &s->copies[i];
        if (last && c->pid != pid) continue;
        if (!hd_str_equal(hd_cstr(c->path), path)) continue;
        if (c->pid == pid) return c;
        last = c;
    }
    return last;
}

/* Adds the files that may be a new object: the program's copy, the path below the process's root, and the path. */
static void add_files(symbols *s, const symbols_loading *l, const symbols_opened pair[2]) {
    symbols_object *o = &s->objects[l->object];
    struct stat before = l->before;
    if (l->copied) {
        o->files[o->file_count++] = (symbols_candidate){ .fd = fcntl(l->copy, F_DUPFD_CLOEXEC, 3), .kept = true,
                                                         .file = needed(strdup(l->copied)) };
        s->kept_files++;
    }
    add_candidate(s, o, &pair[0], &before);
    add_candidate(s, o, &pair[1], &before);
    o->is_slow = pair[0].is == SYMBOLS_UNKNOWN || pair[1].is == SYMBOLS_UNKNOWN;
    if (!o->is_slow || o->file_count == SYMBOLS_FILES) return;
    o->files[o->file_count++] = (symbols_candidate){ .fd = -1, .file = needed(strdup(o->path)) };
}

void symbols_loaded_end(symbols *s) {
    enum { TOGETHER = 64 };
    for (size_t at = 0, n; at < s->loading_count; at += n) {
        symbols_opened files[2 * TOGETHER];
        char *below[TOGETHER];
        const symbols_loading *l = s->loading + at;
        n = s->loading_count - at < TOGETHER ? s->loading_count - at : TOGETHER;
        if (!may_keep(s, 2 * n)) n = 1;
        for (size_t i = 0; i < n; i++) {
            const char *path = s->objects[l[i].object].path;
            if (asprintf(&below[i], "/proc/%llu/root%s", (unsigned long long)l[i].pid, path) < 0) needed(NULL);
            files[2 * i] = (symbols_opened){ .path = below[i] };
            files[2 * i + 1] = (symbols_opened){ .path = path, .is_again = true };
        }
        symbols_open_all(s, files, (uint32_t)(2 * n), may_keep(s, 2 * n) ? SYMBOLS_KEEP : SYMBOLS_LOOK);
        for (size_t i = 0; i < n; i++) {
            add_files(s, &l[i], files + 2 * i);
            free(below[i]);
        }
    }
    s->loading_count = 0;
}

void symbols_loaded(symbols *s, const hd_module *m, uint64_t pid) {
    symbols_id key = { .path = m->path }, *own, **found;
    symbols_object *o, *last;
    symbols_loading *l;
    const symbols_copy *copy = NULL;
    if (!m->path.len || *m->path.data != '/' || m->path.len >= PATH_MAX) return;
    key.size = m->build_id_size <= sizeof key.id ? m->build_id_size : 0;
    memcpy(key.id, m->build_id, key.size);
    if (!key.size) {
        copy = copy_of(s, m->path, pid);
        key.copy = copy ? (uint32_t)(copy - s->copies) + 1 : 0;
    }
    last = symbols_find(s, m->path);
    found = tfind(&key, &s->by_id, symbols_id_order);
    if (found) {
        size_t object = (*found)->object;
        if (last != &s->objects[object]) symbols_name_path(s, m->path, object);
        return;
    }
    if (key.size) copy = copy_of(s, m->path, pid);
    s->twins |= last != NULL;
    o = symbols_add(s, m->path);
    o->build_id_size = key.size;
    memcpy(o->build_id, key.id, key.size);
    o->has_wanted_id = key.size != 0;
    s->loading = symbols_room(s->loading, s->loading_count, &s->loading_room, sizeof *s->loading);
    l = &s->loading[s->loading_count++];
    *l = (symbols_loading){ .object = (size_t)(o - s->objects), .pid = pid, .copy = -1 };
    if (copy) l->copied = copy->path, l->copy = copy->fd, l->before = copy->file;
    own = needed(malloc(sizeof *own));
    *own = key;
    own->object = (size_t)(o - s->objects);
    own->path = (hd_str){ o->path, m->path.len };
    needed(tsearch(own, &s->by_id, symbols_id_order));
    symbols_name_path(s, own->path, own->object);
}

void symbols_begun(symbols *s, uint64_t pid) {
    enum { LARGEST = 16 << 20, TOGETHER = 128 << 20, MOST = 256 };
    char link[40], path[PATH_MAX];
    const symbols_copy *before;
    symbols *by = s;
    struct stat st;
    ssize_t n;
    int copy;
    snprintf(link, sizeof link, "/proc/%llu/exe", (unsigned long long)pid);
    n = readlink(link, path, sizeof path);
    if (n <= 0 || n == sizeof path || *path != '/' || s->copy_count == MOST || !may_keep(s, 1)) return;
    if (s->is_busy) {
        if (!s->second) s->second = needed(calloc(1, sizeof *s->second));
        by = s->second;
    }
    if (symbols_open(by, link, SYMBOLS_LOOK, &st, &copy) != SYMBOLS_OPENED || st.st_size > LARGEST) return;
    if (s->copied + (uint64_t)st.st_size > TOGETHER) return;
    path[n] = 0;
    before = copy_of(s, hd_cstr(path), pid);
    if (before && before->file.st_ino == st.st_ino && !memcmp(&before->file.st_mtim, &st.st_mtim, sizeof st.st_mtim))
        return;
    if (symbols_open(by, link, SYMBOLS_COPY, &st, &copy) != SYMBOLS_OPENED || copy < 0) return;
    s->copied += (uint64_t)st.st_size;
    s->kept_files++;
    ONE_MORE(s->copies, s->copy_count);
    s->copies[s->copy_count++] = (symbols_copy){ needed(strdup(path)), pid, copy, st };
}
