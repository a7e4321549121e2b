/* The environment that a recorded process passes to exec. A wrapper may set LD_PRELOAD to an allocator, or clear the
   environment; then the next program would not be recorded. So this library becomes the first of LD_PRELOAD, and the
   variables for joining are added. A wrapper may also have put the library behind the allocator; then the allocator's
   malloc would be called instead of ours.

   There are exceptions. A sanitizer's runtime must be first. If there is one, the library becomes the last: the
   program runs, but is not recorded. If HEAPDUMP_JOIN names another recording, or is empty, nothing is changed: the
   program is not to be recorded here. Some programs start without the library, and so do scripts for them. A program
   for musl's loader, or of another class of ELF, cannot load it. A program linked with a sanitizer's runtime ends if
   another library comes first.

   A program that cannot be recorded may end before heapdump sees it. So the process that starts it reports it.

   Nothing here allocates, and little of the stack is used, because a child of vfork runs on its parent's stack. A
   changed environment lies in pages of its own, which exec frees. A child of vfork leaves them to its parent, one
   page each time. */

#ifndef EXEC_H
#define EXEC_H

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "missed.h"

enum { EXEC_KEPT = 7, EXEC_BYTES = 16384 };

static const char *const exec_names[EXEC_KEPT] = {
    "HEAPDUMP_JOIN=", "HEAPDUMP_USER=", "HEAPDUMP_KEEP=", "HEAPDUMP_DEPTH=", "HEAPDUMP_SAMPLE=", "HEAPDUMP_AGES=",
    "HEAPDUMP_THREADS=" };
static const char *exec_kept[EXEC_KEPT]; /* values at the start of the process; NULL: not set */
static const char *exec_library;         /* its name in LD_PRELOAD; NULL: it was not preloaded */
static char exec_texts[EXEC_BYTES];
static size_t exec_used;

/* The environment. Functions of .preinit_array run before the C library is initialized and knows it. Then it is found
   behind the arguments. */
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

/* The name of the program, even before the C library knows it; NULL: unknown. */
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

/* The position of a library in a list of LD_PRELOAD; NULL: not in it. */
static const char *exec_find(const char *list, const char *library) {
    size_t n = strlen(library);
    for (const char *p = list; *p; p += strcspn(p, " :"), p += strspn(p, " :"))
        if (strcspn(p, " :") == n && !memcmp(p, library, n)) return p;
    return NULL;
}

/* Remembers the environment at the start of the process. `library`: the library's name in LD_PRELOAD. */
static void exec_start(const char *library) {
    const char *list = exec_variable("LD_PRELOAD");
    char **e = exec_environment();
    if (!list || !exec_find(list, library)) return;
    for (; e && *e; e++)
        for (int i = 0; i < EXEC_KEPT; i++)
            if (!strncmp(*e, exec_names[i], strlen(exec_names[i]))) exec_kept[i] = exec_keep(*e, strlen(*e));
    exec_library = exec_keep(library, strlen(library));
}

/* A program that is about to run. */
typedef struct exec_program {
    int directory;               /* the start of a relative path; an empty path: the program itself */
    const char *path;
    bool by_name;                /* the C library looks for a name without a slash in PATH */
} exec_program;

/* Writes the path of an open file. */
static const char *exec_own(char own[32], int fd) {
    char *last;
    memset(own, 0, 32);
    last = stpcpy(own, "/proc/self/fd/");
    for (int n = fd / 10; n; n /= 10) last++;
    do *last-- = (char)('0' + fd % 10);
    while (fd /= 10);
    return own;
}

/* Opens a program for reading, and never waits for a pipe. -1: not readable. */
static int exec_open(int directory, const char *path) {
    enum { HOW = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };
    char own[32];
    if (!path) return -1;
    if (*path || directory < 0) return openat(directory, path, HOW);
    return open(exec_own(own, directory), HOW); /* even if it was opened without the right to read */
}

/* The name of an open program, without directories. */
static void exec_name(int fd, char *name, size_t room) {
    char own[32], *path = mmap(NULL, PATH_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *slash;
    if (path == MAP_FAILED) return;
    if (readlink(exec_own(own, fd), path, PATH_MAX - 1) > 0) {
        slash = strrchr(path, '/');
        strncpy(name, slash ? slash + 1 : path, room - 1);
    }
    munmap(path, PATH_MAX);
}

/* Opens the file that the C library would find in PATH. */
static int exec_open_by_name(const char *name) {
    enum { PATH_BYTES = 4096 };
    const char *dirs = exec_variable("PATH");
    char *path = mmap(NULL, PATH_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *end;
    struct stat st;
    bool found = false;
    int fd = -1;
    if (path == MAP_FAILED) return -1;
    if (!dirs) dirs = "/bin:/usr/bin";
    for (size_t n; !found; dirs += n + 1) {
        n = strcspn(dirs, ":");
        if (n + strlen(name) + 2 <= PATH_BYTES) {
            end = (char *)memcpy(path, dirs, n) + n;
            if (n) *end++ = '/';
            stpcpy(end, name);
            found = !access(path, X_OK) && !stat(path, &st) && S_ISREG(st.st_mode);
            if (found) fd = exec_open(AT_FDCWD, path);
        }
        if (!dirs[n]) break;
    }
    munmap(path, PATH_BYTES);
    return fd;
}

/* Whether the program's loader is musl's. The loader's name may be long (Nix), so it is read in overlapping
   pieces. */
static bool exec_names_musl(int fd, const ElfW(Phdr) *part) {
    static const char musl[] = "/ld-musl-";
    enum { PIECE = 128, BACK = sizeof musl - 1 };
    size_t size = part->p_filesz < PATH_MAX ? (size_t)part->p_filesz : PATH_MAX;
    char piece[PIECE + 1];
    for (size_t at = 0; at < size; at += PIECE - BACK) {
        size_t most = size - at < PIECE ? size - at : PIECE;
        ssize_t n = pread(fd, piece, most, (off_t)(part->p_offset + at));
        if (n <= 0) return false;
        piece[n] = 0;
        if (strstr(piece, musl)) return true;
    }
    return false;
}

/* The offset in the file of a loaded address; -1: not in the file. */
static off_t exec_place(int fd, const ElfW(Ehdr) *header, ElfW(Addr) at) {
    ElfW(Phdr) part;
    for (int i = 0; i < header->e_phnum; i++) {
        off_t place = (off_t)(header->e_phoff + (size_t)i * sizeof part);
        if (pread(fd, &part, sizeof part, place) != (ssize_t)sizeof part) return -1;
        if (part.p_type == PT_LOAD && at - part.p_vaddr < part.p_filesz)
            return (off_t)(part.p_offset + (at - part.p_vaddr));
    }
    return -1;
}

/* Whether a program is linked with a sanitizer's runtime, which must be loaded first. `part`: its PT_DYNAMIC. */
static bool exec_needs_sanitizer(int fd, const ElfW(Ehdr) *header, const ElfW(Phdr) *part) {
    static const char *const names[] = { "libasan.so", "libtsan.so", "libhwasan.so", "libclang_rt.asan",
                                         "libclang_rt.tsan", "libclang_rt.hwasan" };
    enum { MOST = 4096 };
    ElfW(Dyn) entry;
    off_t texts = -1;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < MOST && i < part->p_filesz / sizeof entry; i++) {
            char name[32] = "";
            off_t at = (off_t)(part->p_offset + i * sizeof entry);
            if (pread(fd, &entry, sizeof entry, at) != (ssize_t)sizeof entry || entry.d_tag == DT_NULL) break;
            if (!pass && entry.d_tag == DT_STRTAB) texts = exec_place(fd, header, entry.d_un.d_ptr);
            if (!pass || texts < 0 || entry.d_tag != DT_NEEDED) continue;
            if (pread(fd, name, sizeof name - 1, texts + (off_t)entry.d_un.d_val) <= 0) continue;
            for (size_t k = 0; k < sizeof names / sizeof *names; k++)
                if (!strncmp(name, names[k], strlen(names[k]))) return true;
        }
    }
    return false;
}

/* Whether a program gets rights that its user lacks. Then its loader ignores LD_PRELOAD. */
static bool exec_raises(int fd) {
    struct stat st;
    struct statfs of;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || fstatfs(fd, &of) || of.f_flags & ST_NOSUID ||
        syscall(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
        return false;
    return (st.st_mode & S_ISUID && st.st_uid != getuid()) ||
           ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getgid()) ||
           (getuid() && fgetxattr(fd, "security.capability", NULL, 0) > 0);
}

/* Whether an ELF program can join a recording, or the reason why not. */
static uint32_t exec_elf_joins(int fd, const ElfW(Ehdr) *header) {
    ElfW(Phdr) part;
    bool has_loader = false;
    if (header->e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)) return JOIN_BITS;
    for (int i = 0; i < header->e_phnum; i++) {
        off_t at = (off_t)(header->e_phoff + (size_t)i * sizeof part);
        if (pread(fd, &part, sizeof part, at) != (ssize_t)sizeof part) return JOIN_CAN;
        if (part.p_type == PT_INTERP && exec_names_musl(fd, &part)) return JOIN_MUSL;
        if (part.p_type == PT_DYNAMIC && exec_needs_sanitizer(fd, header, &part)) return JOIN_SANITIZER;
        has_loader |= part.p_type == PT_INTERP;
    }
    if (exec_raises(fd)) return JOIN_RIGHTS;
    return has_loader ? JOIN_CAN : JOIN_STATIC;
}

/* The same for any program, and its name if it cannot join. A script is followed to its interpreter, and so on. */
static void exec_joins(const exec_program *program, join_missed *missed) {
    enum { SCRIPTS = 5, LINE = 256 }; /* limits of the system */
    union { ElfW(Ehdr) elf; char line[LINE]; } first;
    int fd = program->by_name && program->path && !strchr(program->path, '/') ?
        exec_open_by_name(program->path) : exec_open(program->directory, program->path);
    memset(missed, 0, sizeof *missed);
    for (int scripts = 0; fd >= 0; scripts++) {
        ssize_t n = pread(fd, &first, sizeof first - 1, 0);
        char *name = first.line + 2;
        if (n >= (ssize_t)sizeof first.elf && !memcmp(first.elf.e_ident, ELFMAG, SELFMAG))
            missed->why = exec_elf_joins(fd, &first.elf);
        if (missed->why) exec_name(fd, missed->program, sizeof missed->program);
        close(fd);
        fd = -1;
        if (n < 3 || memcmp(first.line, "#!", 2) || scripts == SCRIPTS) break;
        first.line[n] = 0;
        name += strspn(name, " \t");
        name[strcspn(name, " \t\n")] = 0;
        fd = exec_open(AT_FDCWD, name);
    }
}

/* An environment that replaces another. `bytes`: size of its pages. */
typedef struct exec_passed {
    char **variables;
    size_t bytes;                /* 0: unchanged */
    join_missed missed;          /* why 0: the program can be recorded, or is not to be recorded here */
    int report;                  /* a connection to heapdump; -1: none */
} exec_passed;

/* Whether a list names the runtime of a sanitizer, which ends the program unless it comes first. */
static bool exec_has_sanitizer(const char *list) {
    static const char *const names[] = { "libasan.", "libtsan.", "libhwasan.", "liblsan.", "libclang_rt." };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(list, names[i])) return true;
    return false;
}

/* Writes LD_PRELOAD with this library first, or last if there are sanitizers, or without it. The other names keep
   their order. */
static char *exec_preload(char *text, const char *list, bool with) {
    size_t own = strlen(exec_library);
    bool last = with && exec_has_sanitizer(list);
    char *begin = stpcpy(text, "LD_PRELOAD="), *to = with && !last ? stpcpy(begin, exec_library) : begin;
    for (size_t n; list += strspn(list, " :"), (n = strcspn(list, " :")); list += n) {
        if (n == own && !memcmp(list, exec_library, n)) continue;
        if (to != begin) *to++ = ':';
        memcpy(to, list, n);
        to += n;
    }
    if (last) *to++ = ':', to = stpcpy(to, exec_library);
    *to = 0;
    return text;
}

/* The relevant variables of an environment. */
typedef struct exec_given {
    size_t count;
    const char *list;            /* LD_PRELOAD */
    bool missing[EXEC_KEPT], any_missing;
    bool ours;                   /* it does not belong to another recording */
} exec_given;

static exec_given exec_look(char *const *variables) {
    exec_given g = { .list = "", .ours = true };
    for (int i = 0; i < EXEC_KEPT; i++) g.missing[i] = exec_kept[i] != NULL;
    for (; variables[g.count]; g.count++) {
        const char *v = variables[g.count];
        if (!strncmp(v, "LD_PRELOAD=", 11)) g.list = v + 11;
        for (int i = 0; i < EXEC_KEPT; i++)
            if (!strncmp(v, exec_names[i], strlen(exec_names[i]))) g.missing[i] = false;
        if (!strncmp(v, exec_names[0], strlen(exec_names[0]))) g.ours = exec_kept[0] && !strcmp(v, exec_kept[0]);
    }
    for (int i = 0; i < EXEC_KEPT; i++) g.any_missing |= g.missing[i];
    return g;
}

/* The environment for a program. is_on: record it. */
static exec_passed exec_pass(exec_program program, char *const *given, bool is_on) {
    exec_passed passed = { .variables = (char **)(uintptr_t)given, .report = -1 };
    static char *const none[] = { NULL };
    const char *at;
    exec_given g;
    bool with;
    size_t n;
    char *text;
    if (!exec_library) return passed;
    if (!given) given = none;    /* after clearenv */
    g = exec_look(given);
    at = exec_find(g.list, exec_library);
    exec_joins(&program, &passed.missed);
    with = !passed.missed.why || passed.missed.why == JOIN_STATIC || passed.missed.why == JOIN_RIGHTS;
    if (!is_on || !g.ours) passed.missed.why = 0;
    if (with ? !is_on || !g.ours : !at) return passed;
    if (with && at == g.list + strspn(g.list, " :") && !g.any_missing && !exec_has_sanitizer(g.list)) return passed;
    n = (g.count + EXEC_KEPT + 2) * sizeof *passed.variables;
    passed.bytes = n + strlen(g.list) + strlen(exec_library) + 32;
    passed.variables = mmap(NULL, passed.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (passed.variables == MAP_FAILED) {
        passed.variables = (char **)(uintptr_t)given;
        passed.bytes = 0;
        return passed;
    }
    text = exec_preload((char *)passed.variables + n, g.list, with);
    n = 0;
    for (size_t i = 0; i < g.count; i++)
        if (strncmp(given[i], "LD_PRELOAD=", 11)) passed.variables[n++] = given[i];
    for (int i = 0; i < EXEC_KEPT && with; i++)
        if (g.missing[i]) passed.variables[n++] = (char *)(uintptr_t)exec_kept[i];
    if (text[11]) passed.variables[n++] = text;
    return passed;
}

/* Reports a program that cannot be recorded to heapdump. `pid`: the process that runs the program. */
static void exec_report(exec_passed *passed, pid_t pid) {
    int saved = errno;
    if (!passed->missed.why || !exec_kept[0]) return;
    passed->missed.pid = pid;
    passed->report = missed_report(exec_kept[0] + strlen(exec_names[0]), &passed->missed);
    errno = saved;
}

/* Withdraws the report: exec failed. */
static void exec_withdraw(const exec_passed *passed) {
    int saved = errno;
    if (passed->report >= 0)
        send(passed->report, &passed->missed, sizeof passed->missed, MSG_NOSIGNAL | MSG_DONTWAIT);
    errno = saved;
}

static void exec_end(const exec_passed *passed) {
    int saved = errno;
    if (passed->report >= 0) close(passed->report);
    if (passed->bytes) munmap(passed->variables, passed->bytes);
    errno = saved;
}

static void exec_failed(const exec_passed *passed) {
    exec_withdraw(passed);
    exec_end(passed);
}

#endif
