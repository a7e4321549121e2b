/* The child process that reads ELF, DWARF and perf maps for its parent, with limits on memory and processor time. */

#include "dwarf.h"
#include "wire.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <time.h>

enum { FROM = STDIN_FILENO, BUFFER = 1 << 16 };

/* An object of the parent, by its number. */
typedef struct served {
    uint32_t version;
    char *path, *files[SYMBOLS_FILES];
    int fds[SYMBOLS_FILES];
    uint32_t count;              /* of files */
    uint8_t build_id[32], wanted_id[32];
    uint32_t build_id_size, wanted_id_size;
    int64_t changed;             /* modification time of the file, in seconds */
    symbols_elf elf;
    code_map *code;
    bool opened;
    uint64_t spent_ns, written;  /* written: bytes in memory files */
} served;

static served *objects;
static uint32_t object_room;
static uint64_t limit_ns, limit_bytes;
static char out[BUFFER];
static size_t out_size;

/* Limits. ------------------------------------------------------------------------------------- */

static uint64_t clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Lets the process run until the object's time is used up: then SIGXCPU ends it. */
static void allow(const served *o) {
    uint64_t left = o->spent_ns < limit_ns ? limit_ns - o->spent_ns : 0;
    struct rlimit r;
    if (getrlimit(RLIMIT_CPU, &r)) return;
    r.rlim_cur = (rlim_t)((clock_ns(CLOCK_PROCESS_CPUTIME_ID) + left + 999999999) / 1000000000);
    if (r.rlim_max != RLIM_INFINITY && r.rlim_cur > r.rlim_max) r.rlim_cur = r.rlim_max;
    setrlimit(RLIMIT_CPU, &r);
}

static void limit_at_most(int what, rlim_t most) {
    struct rlimit r;
    if (getrlimit((__rlimit_resource_t)what, &r)) return;
    if (r.rlim_cur == RLIM_INFINITY || r.rlim_cur > most) r.rlim_cur = most;
    setrlimit((__rlimit_resource_t)what, &r);
}

/* Bytes of private data (data and stack) of the process. */
static uint64_t own_bytes(void) {
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%*s %*s %*s %*s %*s %llu", &pages) != 1) pages = 0;
    if (f) fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Answers. ------------------------------------------------------------------------------------ */

/* Sends the buffer; the descriptor travels with the first byte. -1: no descriptor. */
static void flush_with(int fd) {
    union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } rights = { { 0 } };
    for (size_t at = 0; at < out_size;) {
        struct iovec part = { out + at, out_size - at };
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
        ssize_t n;
        if (fd >= 0) {
            struct cmsghdr *c;
            message.msg_control = &rights;
            message.msg_controllen = sizeof rights.bytes;
            c = CMSG_FIRSTHDR(&message);
            c->cmsg_level = SOL_SOCKET;
            c->cmsg_type = SCM_RIGHTS;
            c->cmsg_len = CMSG_LEN(sizeof fd);
            memcpy(CMSG_DATA(c), &fd, sizeof fd);
        }
        n = sendmsg(FROM, &message, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) _exit(1);    /* the parent has gone */
        at += (size_t)n, fd = -1;
    }
    out_size = 0;
}

static void flush_out(void) { flush_with(-1); }

static void put(const void *data, size_t bytes) {
    const char *from = data;
    while (bytes) {
        size_t n = BUFFER - out_size < bytes ? BUFFER - out_size : bytes;
        memcpy(out + out_size, from, n);
        out_size += n, from += n, bytes -= n;
        if (out_size == BUFFER) flush_out();
    }
}

static void put_head(wire_type type, size_t bytes) {
    wire_head head = { (uint32_t)type, (uint32_t)bytes };
    put(&head, sizeof head);
}

/* Sent at once, since this process may die before its answer is complete. */
static void put_served(const symbols_served *more) {
    wire_served is = { more->ns, more->bytes };
    put_head(WIRE_SERVED, sizeof is);
    put(&is, sizeof is);
    flush_out();
}

static size_t text_bytes(const char *text) { return text ? strlen(text) + 1 : 0; }

static void put_frames(uint32_t index, const symbols_frame *frames, uint32_t count) {
    size_t bytes = sizeof(wire_frames);
    wire_frames head = { index, count };
    for (uint32_t i = 0; i < count; i++)
        bytes += sizeof(wire_frame) + text_bytes(frames[i].name) + text_bytes(frames[i].file);
    if (bytes > WIRE_RECORD_MOST) head.count = count = 0, bytes = sizeof head;
    put_head(WIRE_FRAMES, bytes);
    put(&head, sizeof head);
    for (uint32_t i = 0; i < count; i++) {
        const symbols_frame *f = &frames[i];
        wire_frame frame = { f->line, f->column, f->discriminator, f->start_line, (uint32_t)text_bytes(f->name),
                             (uint32_t)text_bytes(f->file) };
        put(&frame, sizeof frame);
    }
    for (uint32_t i = 0; i < count; i++) {
        put(frames[i].name, text_bytes(frames[i].name));
        put(frames[i].file, text_bytes(frames[i].file));
    }
}

static void put_linked(void *user, const char *name) {
    size_t bytes = text_bytes(name);
    (void)user;
    if (bytes > WIRE_RECORD_MOST) return;
    put_head(WIRE_NAME, bytes);
    put(name, bytes);
}

static uint32_t loads_of(const symbols_elf *o, symbols_load *loads) {
    GElf_Addr bias;
    Elf *elf = o->module ? dwfl_module_getelf(o->module, &bias) : NULL;
    uint32_t count = 0;
    size_t n = 0;
    if (!elf || elf_getphdrnum(elf, &n)) return 0;
    for (size_t i = 0; i < n && i < INT32_MAX && count < WIRE_LOADS_MOST; i++) {
        GElf_Phdr h;
        if (!gelf_getphdr(elf, (int)i, &h) || h.p_type != PT_LOAD) continue;
        memset(&loads[count], 0, sizeof *loads);
        loads[count] = (symbols_load){ h.p_offset, h.p_filesz, h.p_vaddr, h.p_memsz, (h.p_flags & PF_X) != 0 };
        count++;
    }
    return count;
}

static void put_info(const served *o) {
    static symbols_load loads[WIRE_LOADS_MOST];
    wire_info info = { .is_elf = o->elf.module != NULL, .build_id_size = o->build_id_size, .changed = o->changed };
    info.load_count = loads_of(&o->elf, loads);
    memcpy(info.build_id, o->build_id, sizeof info.build_id);
    put_head(WIRE_INFO, sizeof info + info.load_count * sizeof *loads);
    put(&info, sizeof info);
    put(loads, info.load_count * sizeof *loads);
}

/* Objects. ------------------------------------------------------------------------------------ */

/* Frees the tables of an object. The next question rebuilds them. */
static void served_clear(served *o) {
    symbols_close(&o->elf);
    code_map_free(o->code);
    symbols_written -= o->written;
    o->written = 0;
    o->code = NULL;
    o->opened = false;
}

static void served_forget(served *o) {
    served_clear(o);
    for (uint32_t i = 0; i < o->count; i++) {
        close(o->fds[i]);
        free(o->files[i]);
    }
    free(o->path);
    *o = (served){ 0 };
}

static bool read_build_id(served *o) {
    const unsigned char *bits;
    GElf_Addr address;
    int n = o->elf.module ? dwfl_module_build_id(o->elf.module, &bits, &address) : 0;
    o->build_id_size = 0;
    if (n > 0 && (size_t)n <= sizeof o->build_id) {
        memcpy(o->build_id, bits, (size_t)n);
        o->build_id_size = (uint32_t)n;
    }
    return !o->wanted_id_size ||
           (o->build_id_size == o->wanted_id_size && !memcmp(o->build_id, o->wanted_id, o->build_id_size));
}

/* Opens the first file with the wanted build id. */
static void served_open(served *o) {
    if (o->opened) return;
    o->opened = true;
    for (uint32_t i = 0; i < o->count; i++) {
        struct stat st;
        symbols_take(&o->elf, o->path, o->files[i], fcntl(o->fds[i], F_DUPFD_CLOEXEC, 3));
        o->changed = fstat(o->fds[i], &st) ? 0 : (int64_t)st.st_mtim.tv_sec;
        if (o->elf.module && read_build_id(o)) return;
        symbols_close(&o->elf);
    }
    o->build_id_size = o->wanted_id_size;
    memcpy(o->build_id, o->wanted_id, sizeof o->build_id);
}

/* The functions at one address, innermost first, in the form that the question asks for. */
static void answer_address(served *o, const wire_question *q, uint32_t index, uint64_t offset) {
    symbols_frame frames[HD_MEMPROF_INLINE_MAX];
    bool qualified = q->kind == SYMBOLS_TEXT;
    uint32_t most = qualified ? HD_RENAME_MAX : HD_MEMPROF_INLINE_MAX, n = 0;
    Dwarf_Addr address = offset + o->elf.bias;
    if (o->elf.module && q->level == SYMBOLS_ALL) n = symbols_frames(&o->elf, address, qualified, frames, most);
    if (o->elf.module && !n && !(q->strict && o->elf.unit_count)) n = symbols_function_at(&o->elf, address, frames);
    for (uint32_t i = 0; i < n && qualified; i++)
        frames[i] = (symbols_frame){ .name = symbols_text(frames[i].name, frames[i].file, frames[i].line,
                                                          hd_cstr(o->path)) };
    put_frames(index, frames, n);
    for (uint32_t i = 0; i < n && qualified; i++) free((char *)(uintptr_t)frames[i].name);
}

static void answer_code(served *o, const uint64_t *addresses, uint32_t count) {
    if (!o->code) o->code = code_map_open();
    code_map_read(o->code, o->count ? o->fds[0] : -1);
    for (uint32_t i = 0; i < count; i++) {
        symbols_frame frame = { .name = code_map_name(o->code, addresses[i]) };
        put_frames(i, &frame, frame.name != NULL);
        free((char *)(uintptr_t)frame.name);
    }
}

static void serve_question(served *o, const wire_question *q, const uint64_t *addresses) {
    uint64_t began = clock_ns(CLOCK_PROCESS_CPUTIME_ID), written = symbols_written;
    wire_end end;
    allow(o);
    if (q->kind != SYMBOLS_CODE) served_open(o);
    put_info(o);
    if (q->kind == SYMBOLS_CODE) answer_code(o, addresses, q->count);
    else if (q->kind == SYMBOLS_NAMES && o->elf.module)
        symbols_all_names(&o->elf, q->level == SYMBOLS_ALL, put_linked, NULL);
    else
        for (uint32_t i = 0; i < q->count; i++) answer_address(o, q, i, addresses[i]);
    end.spent_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began;
    o->spent_ns += end.spent_ns;
    put_head(WIRE_END, sizeof end);
    put(&end, sizeof end);
    flush_out();
    o->written += symbols_written - written;
    if (own_bytes() + symbols_written > limit_bytes / 4) served_clear(o); /* leaves all memory to the next object */
}

/* Questions. ---------------------------------------------------------------------------------- */

static void get(void *data, size_t bytes) {
    char *to = data;
    while (bytes) {
        ssize_t n = read(FROM, to, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) _exit(0);    /* the parent has gone */
        to += n, bytes -= (size_t)n;
    }
}

/* Receives the question and its descriptors. */
static uint32_t get_question(wire_question *q, int fds[SYMBOLS_FILES]) {
    union { char bytes[CMSG_SPACE(SYMBOLS_FILES * sizeof(int))]; struct cmsghdr align; } rights;
    struct iovec data = { q, sizeof *q };
    struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &rights,
                              .msg_controllen = sizeof rights.bytes };
    struct cmsghdr *c;
    uint32_t count = 0;
    ssize_t n;
    do n = recvmsg(FROM, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n <= 0) _exit(0);
    c = CMSG_FIRSTHDR(&message);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
        count = (uint32_t)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(fds, CMSG_DATA(c), count * sizeof(int));
    }
    if ((size_t)n < sizeof *q) get((char *)q + n, sizeof *q - (size_t)n);
    return count;
}

/* Takes the paths and files of a question. */
static void served_take(served *o, const wire_question *q, char *text, const int *fds, uint32_t count) {
    char *end = text + q->text_bytes;
    uint32_t next = 0;
    if (o->path && o->version == q->version) {
        for (uint32_t i = 0; i < count; i++) close(fds[i]);
        return;
    }
    served_forget(o);
    o->version = q->version;
    o->path = needed(strdup(text));
    for (uint32_t i = 0; i < q->files && i < SYMBOLS_FILES; i++) {
        bool is_open = q->open >> i & 1;
        int fd;
        text += strlen(text) + 1;
        if (is_open && next == count) _exit(1);
        fd = is_open ? fds[next++] : symbols_file_open(text < end ? text : "");
        if (fd < 0) continue;
        o->files[o->count] = needed(strdup(text < end ? text : ""));
        o->fds[o->count++] = fd;
    }
    o->wanted_id_size = q->build_id_size <= sizeof o->wanted_id ? q->build_id_size : 0;
    memcpy(o->wanted_id, q->build_id, sizeof o->wanted_id);
}

/* Whether the parent may keep the file open: closing a file on FUSE can block, and so block the end of our parent. */
static bool may_be_kept(int fd, const struct stat *st) {
    static const char *const own[] = { "/", "/proc/self/exe" };
    struct statfs fs;
    struct stat mine;
    if (fstatfs(fd, &fs)) return false;
    if (fs.f_type != FUSE_SUPER_MAGIC && fs.f_type != OVERLAYFS_SUPER_MAGIC) return true;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!stat(own[i], &mine) && mine.st_dev == st->st_dev) return true;
    return false;
}

/* A copy in memory; -1 if that fails. */
static int copy_file(int fd, const struct stat *st) {
    int copy = memfd_create("program", MFD_CLOEXEC);
    if (copy >= 0 && sendfile(copy, fd, NULL, (size_t)st->st_size) == st->st_size) return copy;
    if (copy >= 0) close(copy);
    return -1;
}

/* Opens a file for the parent. The parent gets the last answer before we close the file, which may block for ever. */
static void serve_open(const char *path, symbols_opening how, bool is_last) {
    bool follows = how != SYMBOLS_LOOK_NO_LINK && how != SYMBOLS_KEEP_NO_LINK;
    bool keeps = how == SYMBOLS_KEEP || how == SYMBOLS_KEEP_NO_LINK;
    wire_opened is = { .is_there = 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (follows ? 0 : O_NOFOLLOW)), given = -1;
    is.is_there = fd >= 0 && !fstat(fd, &is.file) && S_ISREG(is.file.st_mode);
    if (is.is_there && keeps && may_be_kept(fd, &is.file)) given = fd;
    if (is.is_there && how == SYMBOLS_COPY) given = copy_file(fd, &is.file);
    is.has_descriptor = given >= 0;
    if (given >= 0) flush_out();
    put_head(WIRE_OPENED, sizeof is);
    put(&is, sizeof is);
    if (given >= 0 || is_last) flush_with(given);
    if (given >= 0 && given != fd) close(given);
    if (fd >= 0) close(fd);
}

static void serve_one(void) {
    wire_question q;
    int fds[SYMBOLS_FILES];
    uint32_t count = get_question(&q, fds);
    FREED uint64_t *addresses = NULL;
    FREED char *text = NULL;
    if (q.object >= WIRE_OBJECTS_MOST || q.text_bytes > WIRE_TEXT_MOST || q.count > WIRE_ADDRESSES_MOST) _exit(1);
    text = needed(calloc(1, (size_t)q.text_bytes + 2));
    addresses = needed(malloc(((size_t)q.count + 1) * sizeof *addresses));
    get(text, q.text_bytes);
    get(addresses, q.count * sizeof *addresses);
    if (q.object >= object_room) {
        uint32_t room = 2 * q.object + 64;
        objects = needed(realloc(objects, room * sizeof *objects));
        memset(objects + object_room, 0, (room - object_room) * sizeof *objects);
        object_room = room;
    }
    if (q.kind == WIRE_OPEN) {
        const char *path = text;
        for (uint32_t i = q.version; i && path < text + q.text_bytes; path += strlen(path) + 1)
            serve_open(path, (symbols_opening)q.level, !--i);
        return;
    }
    served_take(&objects[q.object], &q, text, fds, count);
    serve_question(&objects[q.object], &q, addresses);
}

static void signals_default(void) {
    static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1, SIGUSR2, SIGXFSZ };
    sigset_t none;
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) signal(ignored[i], SIG_IGN); /* the parent's */
    signal(SIGXCPU, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void no_memory(void) { _exit(WIRE_NO_MEMORY); }

int symbols_server(int argc, char **argv) {
    symbols_served served_by;
    struct rlimit files;
    if (argc != 7 || strcmp(argv[1], "--names-of-frames")) return -1;
    limit_bytes = strtoull(argv[2], NULL, 10);
    limit_ns = strtoull(argv[3], NULL, 10);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "heapdump-names");
    if (getppid() != (pid_t)strtol(argv[4], NULL, 10)) return 1;
    symbols_is_child = true;
    memory_ends = no_memory;
    symbols_written_most = limit_bytes;
    served_by = (symbols_served){ strtoull(argv[5], NULL, 10), strtoull(argv[6], NULL, 10) };
    symbols_debuginfod_limit((symbols_served){ limit_ns, limit_bytes }, served_by, put_served);
    signals_default();
    limit_at_most(RLIMIT_CORE, 0);
#ifndef SYMBOLS_SANITIZED       /* their shadow memory counts */
    limit_at_most(RLIMIT_DATA, (rlim_t)limit_bytes);
    symbols_count_writes();
#endif
    if (!getrlimit(RLIMIT_NOFILE, &files)) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    put_head(WIRE_HELLO, 0);
    flush_out();
    for (;;) serve_one();
}
