/* The program that a command runs, and whether it can be recorded. */

#include "record.h"

#include <fcntl.h>
#include <gelf.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

/* Finds the file that execvp would run. */
static bool program_find(const char *name, char path[PATH_MAX]) {
    const char *dirs = getenv("PATH");
    struct stat st;
    if (strchr(name, '/')) return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX && !access(path, F_OK);
    if (!dirs) dirs = "/bin:/usr/bin";
    for (;; dirs++) {
        size_t n = strcspn(dirs, ":");
        if (snprintf(path, PATH_MAX, "%.*s%s%s", (int)n, dirs, n ? "/" : "", name) < PATH_MAX &&
            !eaccess(path, X_OK) && !stat(path, &st) && S_ISREG(st.st_mode)) return true;
        dirs += n;
        if (!*dirs) return false;
    }
}

/* Replaces a script by the interpreter after #!, and so on up to 5 times; other files stay. */
static void program_interpreter(char path[PATH_MAX]) {
    for (int scripts = 0; scripts < 5; scripts++) {
        char line[PATH_MAX];
        int fd = symbols_file_open(path);
        ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
        char *name;
        if (fd >= 0) close(fd);
        if (n < 2 || memcmp(line, "#!", 2)) return;
        line[n] = 0;
        name = line + 2 + strspn(line + 2, " \t");
        name[strcspn(name, " \t\n")] = 0;
        memcpy(path, name, strlen(name) + 1);
    }
}

/* Whether the system runs the program with other rights than ours, so that nothing can be preloaded into it. */
static bool program_is_secure(const char *path) {
    struct stat st;
    struct statvfs fs;
    if (stat(path, &st) || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return false;
    if (!statvfs(path, &fs) && (fs.f_flag & ST_NOSUID)) return false;
    if ((st.st_mode & S_ISUID) && st.st_uid != getuid()) return true;
    if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getgid()) return true;
    return getuid() && getxattr(path, "security.capability", NULL, 0) > 0;
}

static bool elf_has_program_header(Elf *elf, uint32_t type) {
    size_t n = 0;
    GElf_Phdr header;
    elf_getphdrnum(elf, &n);
    for (size_t i = 0; i < n; i++)
        if (gelf_getphdr(elf, (int)i, &header) && header.p_type == type) return true;
    return false;
}

/* Whether it uses musl's loader. */
static bool elf_is_musl(Elf *elf) {
    size_t n = 0, size = 0;
    const char *file = elf_rawfile(elf, &size), *name;
    GElf_Phdr header;
    elf_getphdrnum(elf, &n);
    for (size_t i = 0; i < n; i++) {
        if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_INTERP) continue;
        if (!file || header.p_offset >= size || header.p_filesz > size - header.p_offset) return false;
        name = memmem(file + header.p_offset, header.p_filesz, "/ld-musl-", 9);
        return name != NULL;
    }
    return false;
}

/* The section of a type, with its header in *header. */
static Elf_Data *elf_section(Elf *elf, uint32_t type, GElf_Shdr *header) {
    for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));)
        if (gelf_getshdr(s, header) && header->sh_type == type && header->sh_entsize)
            return elf_getdata(s, NULL);
    return NULL;
}

/* Whether it is a shared library. The dynamic loader is no static program: it loads preloaded libraries. */
static bool elf_is_library(Elf *elf) {
    GElf_Shdr header;
    GElf_Dyn entry;
    Elf_Data *data = elf_section(elf, SHT_DYNAMIC, &header);
    for (int i = 0; data && gelf_getdyn(data, i, &entry); i++)
        if (entry.d_tag == DT_SONAME) return true;
    return false;
}

/* The sanitizer with this runtime, which ends the program unless it is loaded first; NULL: not a sanitizer's. */
const char *sanitizer_of(const char *file) {
    static const char *const names[][2] = {
        { "libasan.so", "address" }, { "libclang_rt.asan", "address" }, { "libtsan.so", "thread" },
        { "libclang_rt.tsan", "thread" }, { "libhwasan.so", "hwaddress" }, { "libclang_rt.hwasan", "hwaddress" } };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(file, names[i][0], strlen(names[i][0]))) return names[i][1];
    return NULL;
}

/* The sanitizer of a shared runtime that the program is linked with; NULL: no sanitizer. */
static const char *elf_sanitizer(Elf *elf) {
    const char *found = NULL, *name;
    GElf_Shdr header;
    GElf_Dyn entry;
    Elf_Data *data = elf_section(elf, SHT_DYNAMIC, &header);
    for (int i = 0; data && !found && gelf_getdyn(data, i, &entry); i++)
        if (entry.d_tag == DT_NEEDED && (name = elf_strptr(elf, header.sh_link, entry.d_un.d_val)))
            found = sanitizer_of(name);
    return found;
}

/* Whether the program can be recorded; if not, stderr says why. True also if it is not a program, which execvp
   reports better. */
bool program_check(const char *name) {
    char path[PATH_MAX];
    const char *why = NULL, *sanitizer;
    char built[80];
    Elf *elf;
    int fd;
    if (!program_find(name, path)) return true;
    program_interpreter(path);
    elf_version(EV_CURRENT);
    fd = symbols_file_open(path);
    elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (program_is_secure(path)) {
        why = "runs with another user's, group's or higher rights (setuid, setgid, capabilities)";
    } else if (elf && elf_kind(elf) == ELF_K_ELF) {
        if (!elf_has_program_header(elf, PT_INTERP) && !elf_is_library(elf)) why = "is linked statically";
        else if (gelf_getclass(elf) != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32))
            why = sizeof(void *) == 8 ? "is a 32-bit program" : "is a 64-bit program";
        else if (elf_is_musl(elf)) why = "is linked with musl, and the recorder with glibc";
        else if ((sanitizer = elf_sanitizer(elf)))
            why = built;
    }
    if (why == built)
        snprintf(built, sizeof built, "is built with -fsanitize=%s (record a build without it)", sanitizer);
    if (why)
        display(stderr, "heapdump: %s %s: the recorder cannot be loaded into it, so it was not run\n", path,
                why);
    if (elf) elf_end(elf);
    if (fd >= 0) close(fd);
    return !why;
}

void program_tell(const char *name, int error) {
    uint8_t first[HD_DETECT_FIRST];
    struct stat st;
    const hd_format *format = NULL;
    bool is_file = !stat(name, &st) && S_ISREG(st.st_mode);
    if (is_file) format = format_beginning(first, input_look(name, true, first));
    display(stderr, "heapdump: cannot run %s: %s", name, strerror(error));
    if (error == ENOENT && !strchr(name, '/')) {
        display(stderr, " in PATH");
        if (is_file && !format) display(stderr, " (for the file here, write ./%s)", name);
    }
    if (format)
        display(stderr, ". It is a heap dump (%s); to read it: heapdump %s %s", format_title(format),
                format->graph ? "suspects" : "tree", name);
    display(stderr, "\n");
}
