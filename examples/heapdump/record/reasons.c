/* heapdump record: why a process does not record. Only /proc is read, because the program's file may be on a file
   system that does not answer. */

#include "record.h"

#include <elf.h>

static FILE *proc_open(pid_t pid, const char *name) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
    return fopen(path, "re");
}

bool is_visible(pid_t pid) {
    FILE *f = proc_open(pid, "maps");
    if (f) fclose(f);
    return f || errno != EACCES;
}

bool has_other_rights(pid_t pid) {
    FILE *f = proc_open(pid, "status");
    char line[256];
    unsigned id[2] = { geteuid(), geteuid() };
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "Uid: %u %u", &id[0], &id[1]) == 2) break;
    if (f) fclose(f);
    return id[0] != geteuid() || id[1] != geteuid();
}

static const char *const reasons[JOIN_REASONS] = {
    [JOIN_STATIC] = "linked statically",
    [JOIN_MUSL] = "linked with musl",
    [JOIN_SANITIZER] = "built with a sanitizer (record a build without it)",
    [JOIN_BITS] = "a 32-bit program",
    [JOIN_RIGHTS] = "runs with other rights (setuid, setgid, capabilities)" };

const char *reason_given(const join_missed *missed) {
    return missed->why < JOIN_REASONS ? reasons[missed->why] : NULL;
}

/* Why the system preloads nothing into a program: it runs with rights that its user lacks, or it is a 32-bit program.
   Two 32-bit entries of auxv are read as one entry with a large kind. NULL: neither. */
static const char *system_reason(pid_t pid) {
    const char *secure = reasons[JOIN_RIGHTS];
    FILE *f = proc_open(pid, "auxv");
    unsigned long entry[2];
    const char *why = NULL;
    if (!f) return has_other_rights(pid) ? secure : NULL;
    while (!why && fread(entry, sizeof entry, 1, f) == 1 && entry[0] != AT_NULL) {
        if ((uint64_t)entry[0] >> 32) why = reasons[JOIN_BITS];
        else if (entry[0] == AT_SECURE && entry[1]) why = secure;
    }
    fclose(f);
    return why;
}

static const char *base_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The files that a process maps. */
typedef struct mapped {
    bool any, library;           /* library: a shared library by its name (.so), the loader included */
    bool musl, recorder;
    bool sanitizer;              /* a runtime that must be loaded first */
} mapped;

static mapped mapped_by(const recording *r, pid_t pid) {
    char own[PATH_MAX], *line = NULL;
    size_t room = 0;
    mapped m = { 0 };
    FILE *f = proc_open(pid, "maps");
    if (!r->library || !realpath(r->library, own)) *own = 0;
    while (f && getline(&line, &room, f) > 0) {
        const char *path = strchr(line, '/'), *base;
        if (!path) continue;
        line[strcspn(line, "\n")] = 0;
        base = base_of(path);
        m.any = true;
        m.library |= strstr(base, ".so") != NULL;
        m.musl |= !strncmp(base, "ld-musl-", 8) || !strcmp(base, "libc.so"); /* loader, its file */
        m.sanitizer |= sanitizer_of(base) != NULL;
        m.recorder |= *own && !strcmp(base, base_of(own));
    }
    free(line);
    if (f) fclose(f);
    return m;
}

/* Whether LD_PRELOAD contains the recorder: its path, or its file name in another directory. */
static bool has_library(const char *list, const char *library) {
    const char *name = base_of(library);
    for (size_t n; list += strspn(list, " :"), (n = strcspn(list, " :")); list += n) {
        const char *base = list + n;
        while (base > list && base[-1] != '/') base--;
        if ((size_t)(list + n - base) == strlen(name) && !memcmp(base, name, strlen(name))) return true;
    }
    return false;
}

/* The environment that a process was started with. */
typedef struct environment {
    bool read, preloads, joins;  /* preloads: LD_PRELOAD is set */
    bool library;                /* LD_PRELOAD contains the recorder */
} environment;

static environment environment_of(const recording *r, pid_t pid, char preload[200]) {
    FREED char *variable = NULL;
    size_t room = 0;
    environment e = { 0 };
    FILE *f = proc_open(pid, "environ");
    *preload = 0;
    e.read = f != NULL;
    while (f && getdelim(&variable, &room, 0, f) > 0) {
        e.joins |= !strncmp(variable, "HEAPDUMP_JOIN=", 14) && !strcmp(variable + 14, r->socket);
        if (strncmp(variable, "LD_PRELOAD=", 11)) continue;
        e.preloads = variable[11 + strspn(variable + 11, " :")] != 0;
        e.library = has_library(variable + 11, r->library);
        snprintf(preload, 200, "%.199s", variable + 11);
    }
    if (f) fclose(f);
    return e;
}

/* Whether the process has another root directory than ours. */
static bool is_elsewhere(pid_t pid) {
    char path[64], root[8];
    ssize_t n;
    snprintf(path, sizeof path, "/proc/%ld/root", (long)pid);
    n = readlink(path, root, sizeof root);
    return n > 0 && (n != 1 || *root != '/');
}

const char *reason_of(const recording *r, pid_t pid, char preload[200]) {
    const char *why = system_reason(pid);
    environment e;
    mapped m;
    *preload = 0;
    if (why) return why;
    m = mapped_by(r, pid);
    if (m.musl) return reasons[JOIN_MUSL];
    if (m.any && !m.library) return reasons[JOIN_STATIC];
    e = environment_of(r, pid, preload);
    if (e.read && e.preloads && !e.library) return NULL;
    *preload = 0;
    if (m.sanitizer && !m.recorder) return reasons[JOIN_SANITIZER];
    if (is_elsewhere(pid)) return "in another root directory";
    if (e.read && !e.preloads && !e.joins) return "started with a cleared environment";
    if (e.read && !e.preloads) return "started without LD_PRELOAD";
    if (e.read && !e.joins) return "started without HEAPDUMP_JOIN";
    if (m.recorder) return "the recorder could not map its region, or the program unmapped it";
    return e.read ? "its loader did not load the recorder" : NULL;
}
