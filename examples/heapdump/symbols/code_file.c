/* The perf map of a process, /tmp/perf-PID.map: found while the process lives, and kept open. */

#include "symbols.h"

struct code_file {
    uint64_t pid, inner;         /* inner: its pid in its own namespace; 0: not known yet */
    int fd;                      /* -1: none yet */
    struct stat file;
    uint32_t object;             /* number in symbols; HD_NONE: none yet */
    bool changed;                /* the object still has an earlier file */
    bool is_silent;              /* its file system did not answer */
};

code_file *code_file_open(uint64_t pid) {
    code_file *m = needed(calloc(1, sizeof *m));
    m->pid = pid;
    m->fd = -1;
    m->object = HD_NONE;
    return m;
}

void code_file_free(code_file *m) {
    if (!m) return;
    if (m->fd >= 0) close(m->fd);
    free(m);
}

/* The last number of "NSpid:", and the user of "Uid:"; false: the process is gone. */
static bool code_process(code_file *m, uid_t *user) {
    char path[64], *line = NULL, *last;
    size_t room = 0;
    FILE *f;
    snprintf(path, sizeof path, "/proc/%llu/status", (unsigned long long)m->pid);
    f = fopen(path, "re");
    while (f && getline(&line, &room, f) > 0) {
        if (!strncmp(line, "Uid:", 4)) *user = (uid_t)strtoul(line + 4, NULL, 10);
        last = strrchr(line, '\t');
        if (last && !strncmp(line, "NSpid:", 6)) m->inner = strtoull(last, NULL, 10);
    }
    free(line);
    if (f) fclose(f);
    return f != NULL;
}

/* Places where the map of a process may be. */
enum { BELOW_ROOT, HERE, PLACES };

typedef struct code_search {
    uid_t user;
    bool lives;
    char path[PLACES][96];
} code_search;

/* A map outside the process's root has the right name only if the process has the same pid there. */
static bool may_be_here(const code_file *m) { return !m->inner || m->inner == m->pid; }

static void code_search_begin(code_search *x, code_file *m) {
    x->user = geteuid();
    x->lives = code_process(m, &x->user);
    snprintf(x->path[BELOW_ROOT], sizeof *x->path, "/proc/%llu/root/tmp/perf-%llu.map", (unsigned long long)m->pid,
             (unsigned long long)(m->inner ? m->inner : m->pid));
    snprintf(x->path[HERE], sizeof *x->path, "/tmp/perf-%llu.map", (unsigned long long)m->pid);
}

/* Whether the file belongs to the process's user or to root: anyone may write into /tmp. */
static bool may_be_map(const code_search *x, const symbols_opened *f) {
    return f->is == SYMBOLS_OPENED && (!f->st.st_uid || f->st.st_uid == x->user);
}

/* Opens the map, unless it is open. */
static void code_open(code_file *m, symbols *s, const code_search *x, const symbols_opened found[PLACES]) {
    int at = x->lives && may_be_map(x, &found[BELOW_ROOT]) ? BELOW_ROOT : HERE;
    symbols_opened f = { .path = x->path[at] };
    m->is_silent = found[BELOW_ROOT].is == SYMBOLS_UNKNOWN || found[HERE].is == SYMBOLS_UNKNOWN;
    if (at == HERE && (!may_be_here(m) || !may_be_map(x, &found[HERE]))) return;
    if (m->fd >= 0 && found[at].st.st_ino == m->file.st_ino && found[at].st.st_dev == m->file.st_dev) return;
    symbols_open_all(s, &f, 1, SYMBOLS_KEEP_NO_LINK);
    m->is_silent |= f.is == SYMBOLS_UNKNOWN;
    if (f.fd < 0) return;
    if (!may_be_map(x, &f)) {
        close(f.fd);
        return;
    }
    if (m->fd >= 0) close(m->fd);
    m->fd = f.fd;
    m->file = f.st;
    m->changed = true;
}

/* One question for many processes, since the child may get little processor time. */
static void code_files_search(code_file *const *files, uint32_t count, symbols *s) {
    FREED code_search *x = needed(calloc(count, sizeof *x));
    FREED symbols_opened *found = needed(calloc(count, PLACES * sizeof *found));
    for (uint32_t i = 0; i < count; i++) {
        code_search_begin(&x[i], files[i]);
        for (int k = 0; k < PLACES; k++)
            found[PLACES * i + (uint32_t)k] = (symbols_opened){ .path = x[i].path[k], .is_again = k == HERE };
    }
    symbols_open_all(s, found, PLACES * count, SYMBOLS_LOOK_NO_LINK);
    for (uint32_t i = 0; i < count; i++) code_open(files[i], s, &x[i], found + PLACES * i);
}

void code_files_look(code_file *const *files, uint32_t count, symbols *s) {
    FREED code_file **asked = needed(calloc(count + 1, sizeof *asked));
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!files[i]->is_silent) asked[n++] = files[i];
    if (n) code_files_search(asked, n, s);
}

void code_file_look(code_file *m, symbols *s) { code_files_look(&m, 1, s); }

symbols_object *code_file_object(code_file *m, symbols *s) {
    symbols_object *o;
    if (m->fd < 0) return NULL;
    if (m->object == HD_NONE) {
        char path[40];
        snprintf(path, sizeof path, "/tmp/perf-%llu.map", (unsigned long long)m->pid);
        o = symbols_add(s, hd_cstr(path));
        o->is_code_map = true;
        o->file_count = 1;
        o->files[0].file = needed(strdup(path));
        m->object = (uint32_t)(o - s->objects);
    }
    o = &s->objects[m->object];
    o->files[0].fd = m->fd;
    if (m->changed) o->version++, o->sent = 0;
    m->changed = false;
    return o;
}
