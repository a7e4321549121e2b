/* What a recorded process passes to exec. A wrapper that sets LD_PRELOAD to an allocator, or clears the environment,
   would leave the next program unrecorded: then this library comes before what is preloaded there, and the variables
   that it joins by are added. An empty HEAPDUMP_JOIN is left alone: that program is not to be recorded. A program for
   musl's loader cannot load this library, and starts without it.

   Nothing here allocates, and little of the stack is taken: a child of vfork runs on its parent's. What is passed lies
   in pages that exec gives back; of a child of vfork they stay its parent's, one page each. */

#ifndef EXEC_H
#define EXEC_H

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { EXEC_KEPT = 7, EXEC_BYTES = 16384 };

static const char *const exec_names[EXEC_KEPT] = {
    "HEAPDUMP_JOIN=", "HEAPDUMP_USER=", "HEAPDUMP_KEEP=", "HEAPDUMP_DEPTH=", "HEAPDUMP_SAMPLE=", "HEAPDUMP_AGES=",
    "HEAPDUMP_THREADS=" };
static const char *exec_kept[EXEC_KEPT]; /* as they were when the process started; NULL: not there */
static const char *exec_library;         /* as LD_PRELOAD named it; NULL: it was not preloaded */
static char exec_texts[EXEC_BYTES];
static size_t exec_used;

/* The environment, which the C library knows only once it has been initialized: functions of .preinit_array run before.
   Then it lies behind the arguments. */
static char **exec_environment(void) {
    extern char **environ;
    extern void *__libc_stack_end __attribute__((weak));
    uintptr_t *first = &__libc_stack_end ? __libc_stack_end : NULL;
    if (environ || !first) return environ;
    return (char **)(first + 1 + first[0] + 1);
}

static const char *exec_variable(const char *name) {
    char **e = exec_environment();
    size_t n = strlen(name);
    for (; e && *e; e++)
        if (!strncmp(*e, name, n) && (*e)[n] == '=') return *e + n + 1;
    return NULL;
}

/* What a program is called, also before the C library knows; NULL: nothing is known. */
static const char *exec_argument(void) {
    extern void *__libc_stack_end __attribute__((weak));
    uintptr_t *first = &__libc_stack_end ? __libc_stack_end : NULL;
    return first && first[0] ? (const char *)first[1] : NULL;
}

static const char *exec_keep(const char *text, size_t n) {
    char *kept = exec_texts + exec_used;
    if (n >= EXEC_BYTES - exec_used) return NULL;
    memcpy(kept, text, n);
    exec_used += n + 1;
    return kept;
}

/* Where a list of LD_PRELOAD has a library; NULL: nowhere. */
static const char *exec_find(const char *list, const char *library) {
    size_t n = strlen(library);
    for (const char *p = list; *p; p += strcspn(p, " :"), p += strspn(p, " :"))
        if (strcspn(p, " :") == n && !memcmp(p, library, n)) return p;
    return NULL;
}

/* Remembers what the process was started with; `library`: as LD_PRELOAD names it. */
static void exec_start(const char *library) {
    const char *list = exec_variable("LD_PRELOAD");
    char **e = exec_environment();
    if (!list || !exec_find(list, library)) return;
    for (; e && *e; e++)
        for (int i = 0; i < EXEC_KEPT; i++)
            if (!strncmp(*e, exec_names[i], strlen(exec_names[i]))) exec_kept[i] = exec_keep(*e, strlen(*e));
    exec_library = exec_keep(library, strlen(library));
}

/* Whether a program is loaded by musl, which would take a library that it cannot load for an error. */
static bool exec_is_musl(const char *path) {
    ElfW(Ehdr) header;
    ElfW(Phdr) part;
    char name[64] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    if (pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header && !memcmp(header.e_ident, ELFMAG, SELFMAG))
        for (int i = 0; i < header.e_phnum && !*name; i++)
            if (pread(fd, &part, sizeof part, (off_t)(header.e_phoff + (size_t)i * sizeof part)) ==
                    (ssize_t)sizeof part && part.p_type == PT_INTERP)
                if (pread(fd, name, sizeof name - 1, (off_t)part.p_offset) <= 0) break;
    close(fd);
    return strstr(name, "/ld-musl-") != NULL;
}

/* The same, for a name that the C library looks for in PATH. */
static bool exec_is_musl_by_name(const char *name) {
    enum { PATH_BYTES = 4096 };
    const char *dirs = exec_variable("PATH");
    char *path = mmap(NULL, PATH_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *end;
    bool is = false;
    if (path == MAP_FAILED) return false;
    if (!dirs) dirs = "/bin:/usr/bin";
    for (size_t n;; dirs += n + 1) {
        n = strcspn(dirs, ":");
        if (n + strlen(name) + 2 <= PATH_BYTES) {
            end = (char *)memcpy(path, dirs, n) + n;
            if (n) *end++ = '/';
            stpcpy(end, name);
            if (!access(path, X_OK)) {
                is = exec_is_musl(path);
                break;
            }
        }
        if (!dirs[n]) break;
    }
    munmap(path, PATH_BYTES);
    return is;
}

/* An environment that is passed in place of another. `bytes`: of its pages. */
typedef struct exec_passed {
    char **variables;
    size_t bytes;                /* 0: nothing was changed */
} exec_passed;

/* LD_PRELOAD with our library first, or without it. */
static char *exec_preload(char *to, const char *list, bool with) {
    const char *at = with ? NULL : exec_find(list, exec_library);
    size_t before = at ? (size_t)(at - list) : 0;
    char *text = to;
    to = stpcpy(to, "LD_PRELOAD=");
    if (with) {
        to = stpcpy(to, exec_library);
        if (*list) to = stpcpy(to, ":");
        stpcpy(to, list);
    } else {
        at += strlen(exec_library);
        memcpy(to, list, before);
        strcpy(to + before, at + strspn(at, " :"));
    }
    return text;
}

/* The environment for a program. `path`: may be NULL; by_name: the C library looks in PATH if it has no slash.
   is_on: the program is to be recorded. */
static exec_passed exec_pass(const char *path, bool by_name, char *const *given, bool is_on) {
    exec_passed passed = { (char **)(uintptr_t)given, 0 };
    const char *list = "";
    static char *const none[] = { NULL };
    bool missing[EXEC_KEPT], with, has, any = false;
    size_t count = 0, n = 0;
    char *text;
    if (!exec_library) return passed;
    if (!given) given = none;    /* after clearenv */
    for (int i = 0; i < EXEC_KEPT; i++) missing[i] = exec_kept[i] != NULL;
    for (; given[count]; count++) {
        if (!strncmp(given[count], "LD_PRELOAD=", 11)) list = given[count] + 11;
        for (int i = 0; i < EXEC_KEPT; i++)
            if (!strncmp(given[count], exec_names[i], strlen(exec_names[i]))) missing[i] = false;
    }
    for (int i = 0; i < EXEC_KEPT; i++) any |= missing[i];
    has = exec_find(list, exec_library) != NULL;
    by_name &= path && !strchr(path, '/');
    with = !path || !(by_name ? exec_is_musl_by_name(path) : exec_is_musl(path));
    if (with ? !is_on || (has && !any) : !has) return passed;
    n = (count + EXEC_KEPT + 2) * sizeof *passed.variables;
    passed.bytes = n + strlen(list) + strlen(exec_library) + 32;
    passed.variables = mmap(NULL, passed.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (passed.variables == MAP_FAILED) return (exec_passed){ (char **)(uintptr_t)given, 0 };
    text = (char *)passed.variables + n;
    n = 0;
    for (size_t i = 0; i < count; i++)
        if (strncmp(given[i], "LD_PRELOAD=", 11)) passed.variables[n++] = given[i];
    for (int i = 0; i < EXEC_KEPT && with; i++)
        if (missing[i]) passed.variables[n++] = (char *)(uintptr_t)exec_kept[i];
    if (with && has) stpcpy(stpcpy(text, "LD_PRELOAD="), list);
    else exec_preload(text, list, with);
    if (text[11]) passed.variables[n++] = text;
    return passed;
}

static void exec_failed(const exec_passed *passed) {
    if (passed->bytes) munmap(passed->variables, passed->bytes);
}

#endif
