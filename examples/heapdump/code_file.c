/* The perf map of a process, /tmp/perf-PID.map: found while the process lives, and kept open. */

#include "symbols.h"

struct code_file {
    uint64_t pid, inner;         /* inner: as the process knows itself; 0: not known yet */
    int fd;                      /* -1: none yet */
    struct stat file;
    uint32_t object;             /* in symbols; HD_NONE: not yet */
    bool changed;                /* the object has an earlier file */
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

/* Whether the file is there and the process's own or root's: anybody may write into /tmp. *fd: if it is another one
   than before. */
static bool code_path(code_file *m, symbols *s, const char *directory, uint64_t number, uid_t user, int *fd) {
    char path[96];
    struct stat st;
    symbols_openable is;
    *fd = -1;
    if (m->is_silent) return false;
    snprintf(path, sizeof path, "%s/tmp/perf-%llu.map", directory, (unsigned long long)number);
    is = symbols_open(s, path, SYMBOLS_LOOK_NO_LINK, &st, fd);
    if (is == SYMBOLS_OPENED && (m->fd < 0 || st.st_ino != m->file.st_ino || st.st_dev != m->file.st_dev))
        is = symbols_open(s, path, SYMBOLS_KEEP_NO_LINK, &st, fd);
    m->is_silent = is == SYMBOLS_UNKNOWN;
    if (is == SYMBOLS_OPENED && (!st.st_uid || st.st_uid == user)) {
        if (*fd >= 0) m->file = st;
        return true;
    }
    if (*fd >= 0) close(*fd);
    *fd = -1;
    return false;
}

void code_file_look(code_file *m, symbols *s) {
    uid_t user = geteuid();
    char root[40];
    int fd = -1;
    snprintf(root, sizeof root, "/proc/%llu/root", (unsigned long long)m->pid);
    if (!code_process(m, &user) || !code_path(m, s, root, m->inner ? m->inner : m->pid, user, &fd))
        if (!m->inner || m->inner == m->pid) code_path(m, s, "", m->pid, user, &fd); /* it has ended */
    if (fd < 0) return;
    if (m->fd >= 0) close(m->fd);
    m->fd = fd;
    m->changed = true;
}

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
