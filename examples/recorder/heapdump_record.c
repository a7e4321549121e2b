/* libheapdump_record.so: records the heap of a program it is preloaded into.

   `heapdump record` sets it up; by hand: LD_PRELOAD=build/libheapdump_record.so PROGRAM, and
   heapdump.PROGRAM.PID.json appears in the current directory when the program ends, a trace with
   frames as OBJECT+0xOFFSET that `heapdump convert` can resolve. Environment:

     HEAPDUMP_DIR    directory for heapdump.PROGRAM.PID.json, there when the program starts [.]
     HEAPDUMP_SPOOL  where PID.STARTED.NUMBER.PROGRAM.json goes instead, as long as it is there: the directory
                     that `heapdump record` made, as DEVICE:INODE:PATH; it gives HEAPDUMP_DIR so too
     HEAPDUMP_AT     exit, peak, every=SECONDS, signal=NUMBER [exit]
     HEAPDUMP_DEPTH  frames kept per stack [48]
     HEAPDUMP_SAMPLE bytes allocated per block that is sampled, on average; 0: every block [0]
     HEAPDUMP_FORMAT memprof-raw: instead of traces, write raw MemProf profiles, .memprofraw, of all that
                     was allocated, freed or not; of several dumps the last stays. memprof-rfc: the same,
                     and in the spool FILE.modules, the paths of all that was loaded, each with its NUL
     HEAPDUMP_STATS  1: leave PID.STARTED.stats in the spool, or heapdump.PROGRAM.PID.stats: a text
                     that says what the recording cost

   A dump that could not be written is told of by a link in the spool, PID.NUMBER.missing, to the errno.

   The malloc family is interposed; stacks come from unwind.h, from libunwind where that declines; the
   type of a block is the object that asked for it. Dumps are written without malloc and without stdio,
   so that a signal handler may write one, and nothing is ever printed. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "unwind.h"

#define HEAPDUMP_IMPLEMENTATION
#define HEAPDUMP_STATIC
#define HD__OWN_ROOM() ((hd__room *)unwind_bytes_of_thread())
#include "../../heapdump.h"
_Static_assert(sizeof(hd__room) <= UNWIND_BYTES, "a room is among a thread's bytes");

#define EXPORT __attribute__((visibility("default")))

/* The allocator below us. ---------------------------------------------------------------------- */

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*reallocarray)(void *, size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    void (*free)(void *);
    void (*exit_now)(int);
    int (*dlclose)(void *);
    int (*daemon)(int, int);
} real;

/* What dlsym itself allocates while `real` is being filled. Never freed. */
static char bootstrap[16384];
static size_t bootstrap_used;

/* operator new and delete, by the names that compilers give them. */
enum { NEWS = 8, DELETES = 12 };
static const char *const new_names[NEWS] = {
    "_Znwm", "_Znam", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t",
    "_ZnwmSt11align_val_t", "_ZnamSt11align_val_t",
    "_ZnwmSt11align_val_tRKSt9nothrow_t", "_ZnamSt11align_val_tRKSt9nothrow_t" };
static const char *const delete_names[DELETES] = {
    "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm", "_ZdlPvRKSt9nothrow_t", "_ZdaPvRKSt9nothrow_t",
    "_ZdlPvSt11align_val_t", "_ZdaPvSt11align_val_t", "_ZdlPvmSt11align_val_t", "_ZdaPvmSt11align_val_t",
    "_ZdlPvSt11align_val_tRKSt9nothrow_t", "_ZdaPvSt11align_val_tRKSt9nothrow_t" };
typedef void *new_fn(size_t, uintptr_t, uintptr_t); /* all of them, with what they do not take */
typedef void delete_fn(void *, uintptr_t, uintptr_t);
static new_fn *real_new[NEWS];
static delete_fn *real_delete[DELETES];
/* Those that come with the malloc below us, and do not call it. */
static bool new_is_below[NEWS], delete_is_below[DELETES];

static void *bootstrap_take(size_t n) {
    size_t at = bootstrap_used;
    n = (n + 15) & ~(size_t)15;
    if (n > sizeof bootstrap - at) return NULL;
    bootstrap_used = at + n;
    return bootstrap + at;
}

static bool is_bootstrap(const void *p) {
    return (const char *)p >= bootstrap && (const char *)p < bootstrap + sizeof bootstrap;
}

/* State. --------------------------------------------------------------------------------------- */

enum { AT_EXIT, AT_PEAK, AT_EVERY, AT_SIGNAL };
enum { COLD, STARTING, READY, OFF };

static int state = COLD;         /* OFF: started without memory, or forked by a handler inside a hook */
static hd_recorder *recorder;
static pid_t own_pid;
static int at;
static bool at_end_only;         /* nothing but recording is done in between */
static int at_signal;
static bool at_signal_ignored;   /* the program was started not to heed it */
static uint64_t at_every_ms, next_ms, started_us;
static uint64_t peak_at;         /* live bytes at which the next dump of the peak is due */
static unsigned dumps;           /* written by this process */
static uint32_t calls;
static uint64_t sample_bytes;
static volatile sig_atomic_t pending;
static char program[256];
static bool is_raw;              /* MemProf profiles are written */
static bool tells_modules;       /* and beside each a list of what was loaded */
static bool ended;               /* the last dump is written */
static bool forked;              /* this process did not start with exec */
static pthread_mutex_t dump_lock = PTHREAD_MUTEX_INITIALIZER;
static uintptr_t own_start, own_end;

static uint64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* Without stdio: text and numbers appended before `end`, NUL-terminated. */
static char *text(char *to, const char *end, const char *s) {
    while (*s && to < end) *to++ = *s++;
    *to = 0;
    return to;
}

/* For people. */
static char *visible(char *to, const char *end, const char *s) {
    for (hd_str name = hd_cstr(s), piece; (piece = hd_visible(&name)).len;)
        for (size_t i = 0; i < piece.len && to < end; i++) *to++ = piece.data[i];
    *to = 0;
    return to;
}

static char *number(char *to, const char *end, uint64_t value, unsigned base) {
    char digits[24], *p = digits + sizeof digits - 1;
    *p = 0;
    do *--p = "0123456789abcdef"[value % base];
    while (value /= base);
    return text(to, end, p);
}

/* Pages of the OS, zeroed. */
static void *pages(void *block, size_t old_size, size_t size) {
    hd_allocator a = hd_page_allocator();
    return a.allocate(a.user, block, old_size, size);
}

/* Modules: which object a program counter lies in. --------------------------------------------- */

typedef struct module {
    uintptr_t start, end, bias;
    const char *name, *path;     /* as the loader has it; from the root */
    unsigned char build_id[32];
    uint32_t build_id_size;
    bool loaded, kept;           /* kept: closed, and its addresses are nobody else's */
} module;

static module *modules;          /* in pages of our own: names outlive dlclose */
static size_t module_count, module_capacity;
static char *path_at;
static size_t path_left;
/* operator new and its like, which ask on behalf of their caller */
static struct { uintptr_t start, end; } transparent[16];
static size_t transparent_count;

static const char *keep_text(const char *s) {
    size_t n = strlen(s) + 1;
    if (n > path_left) {
        path_left = 65536;
        path_at = pages(NULL, 0, path_left);
        if (!path_at) path_left = 0;
        if (n > path_left) return "?";
    }
    memcpy(path_at, s, n);
    path_at += n;
    path_left -= n;
    return path_at - n;
}

/* What dlopen was given may be relative to where the program is, most likely still. */
static const char *keep_path(const char *name) {
    static char path[4096];      /* under dump_lock, as all of this */
    char *end = path + sizeof path - 1;
    if (*name == '/' || !strchr(name, '/') || !getcwd(path, sizeof path)) return name;
    text(text(path + strlen(path), end, "/"), end, name);
    return access(path, F_OK) ? name : keep_text(path);
}

static void add_module(uintptr_t start, uintptr_t end, uintptr_t bias, const char *name) {
    size_t same = SIZE_MAX;
    for (size_t i = 0; i < module_count; i++) {
        if (strcmp(modules[i].name, name)) continue;
        same = i;
        if (modules[i].start != start || modules[i].end != end) continue;
        modules[i].loaded = true;
        return;
    }
    if (module_count == module_capacity) {
        size_t capacity = module_capacity ? 2 * module_capacity : 256;
        module *grown = pages(modules, module_capacity * sizeof *modules, capacity * sizeof *grown);
        if (!grown) return;
        modules = grown;
        module_capacity = capacity;
    }
    modules[module_count].name = same != SIZE_MAX ? modules[same].name : keep_text(name);
    modules[module_count].path = same != SIZE_MAX ? modules[same].path
                                                  : keep_path(modules[module_count].name);
    modules[module_count].start = start;
    modules[module_count].end = end;
    modules[module_count].bias = bias;
    modules[module_count].loaded = true;
    modules[module_count].kept = false;
    modules[module_count].build_id_size = 0;
    module_count++;
}

/* The build id among an object's notes, which are mapped with its code or before it. */
static void find_build_id(const struct dl_phdr_info *info, module *m) {
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        const char *p = (const char *)info->dlpi_addr + ph->p_vaddr, *end = p + ph->p_memsz;
        while (ph->p_type == PT_NOTE && end - p >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
            const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(const void *)p;
            size_t name = (note->n_namesz + 3u) & ~3u, bits = (note->n_descsz + 3u) & ~3u;
            p += sizeof *note;
            if (name + bits > (size_t)(end - p)) break;
            if (note->n_type == NT_GNU_BUILD_ID && name == 4 && !memcmp(p, "GNU", 4) &&
                note->n_descsz <= sizeof m->build_id) {
                memcpy(m->build_id, p + name, note->n_descsz);
                m->build_id_size = note->n_descsz;
                return;
            }
            p += name + bits;
        }
    }
}

static int each_module(struct dl_phdr_info *info, size_t size, void *user) {
    static char exe[1024];       /* asked for once: it is not to be had when the main thread has ended */
    const char *path = info->dlpi_name;
    size_t before;
    (void)size, (void)user;
    if (!*exe && readlink("/proc/self/exe", exe, sizeof exe - 1) <= 0) exe[0] = '?';
    if (!path || !*path) path = exe;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + ph->p_vaddr;
        if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X)) continue;
        before = module_count;
        add_module(start, start + ph->p_memsz, info->dlpi_addr, path);
        if (is_raw && module_count > before) find_build_id(info, &modules[before]);
        if ((uintptr_t)&each_module - start < ph->p_memsz) {
            own_start = start;
            own_end = start + ph->p_memsz;
        }
    }
    return 0;
}

static void refresh_modules(void) {
    for (size_t i = 0; i < module_count; i++) modules[i].loaded = false;
    dl_iterate_phdr(each_module, NULL);
}

/* Where the code of a closed object was, nothing else is loaded, so that its frames keep their names.
   Costs addresses, not memory; within reason, for a program may open and close all day. */
static void keep_closed(void) {
    static size_t left = (size_t)256 << 20, times = 1000;
    for (size_t i = 0; i < module_count; i++) {
        module *m = &modules[i];
        uintptr_t start = m->start & ~(uintptr_t)4095, end = (m->end + 4095) & ~(uintptr_t)4095;
        if (m->loaded || m->kept || !times || end - start > left) continue;
        m->kept = true;
        if (mmap((void *)start, end - start, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
            continue;
        left -= end - start;
        times--;
    }
}

/* Not in a signal handler, and not in the middle of the program: a dlsym that finds nothing allocates
   and leaves its message to the program's next dlerror. */
static void find_transparent(void *unused) {
    size_t n = 0;                /* another thread may be writing a dump: those that stay keep their places */
    (void)unused;
    for (size_t i = 0; i < NEWS; i++) {
        void *p = dlsym(RTLD_NEXT, new_names[i]);
        Dl_info info;
        const ElfW(Sym) *symbol = NULL;
        if (!p || !dladdr1(p, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol) continue;
        transparent[n].start = (uintptr_t)p;
        transparent[n++].end = (uintptr_t)p + symbol->st_size;
    }
    transparent_count = n;
    dlerror();
}

/* What a forked child has loaded: it must not wait for the loader's lock, which another thread of its
   parent may have held. So its headers are read where they are mapped. */
static const module *module_since_fork(uintptr_t pc) {
#ifdef DLFO_STRUCT_HAS_EH_DBASE
    extern int _dl_find_object(void *, struct dl_find_object *) __attribute__((weak));
    struct dl_find_object found;
    struct dl_phdr_info info = { 0 };
    size_t before = module_count;
    const ElfW(Ehdr) *header;
    if (!forked || !_dl_find_object || _dl_find_object((void *)pc, &found) || !found.dlfo_link_map)
        return NULL;
    header = found.dlfo_map_start;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG)) return NULL;
    info.dlpi_addr = found.dlfo_link_map->l_addr;
    info.dlpi_name = found.dlfo_link_map->l_name;
    info.dlpi_phdr = (const ElfW(Phdr) *)(const void *)((const char *)header + header->e_phoff);
    info.dlpi_phnum = header->e_phnum;
    each_module(&info, sizeof info, NULL);
    for (size_t i = before; i < module_count; i++)
        if (pc >= modules[i].start && pc < modules[i].end) return &modules[i];
#endif
    (void)pc;
    return NULL;
}

/* Where addresses could not be kept, what is loaded wins, then the latest. */
static const module *module_of(uintptr_t pc) {
    const module *closed = NULL;
    for (size_t i = module_count; i--;) {
        if (pc < modules[i].start || pc >= modules[i].end) continue;
        if (modules[i].loaded) return &modules[i];
        if (!closed) closed = &modules[i];
    }
    return closed ? closed : module_since_fork(pc);
}

/* OBJECT+0xOFFSET, inside the call instruction that returns to pc. */
static hd_str pc_name(void *user, const void *pc, char *buffer, size_t capacity) {
    uintptr_t address = (uintptr_t)pc - 1;
    const module *m = module_of(address);
    char *p = buffer, *end = buffer + capacity - 32;
    hd_str name;
    (void)user;
    if (m) p = text(text(p, end, m->path), end + 1, "+");
    p = number(text(p, end + 8, "0x"), end + 31, m ? address - m->bias : address, 16);
    name.data = buffer;
    name.len = (size_t)(p - buffer);
    return name;
}

static bool is_transparent(uintptr_t pc) {
    for (size_t i = 0; i < transparent_count; i++)
        if (pc >= transparent[i].start && pc < transparent[i].end) return true;
    return false;
}

/* The object that asked: that of the innermost frame that is no operator new. */
static hd_str type_name(void *user, const hd_contexts *contexts, uint32_t context, char *buffer,
                        size_t capacity) {
    const module *m = NULL;
    const char *slash;
    (void)user, (void)buffer, (void)capacity;
    for (; context; context = hd_contexts_frame(contexts, context).parent) {
        hd_frame frame = hd_contexts_frame(contexts, context);
        if (frame.kind != HD_FRAME_PC) break;
        m = module_of((uintptr_t)frame.value - 1);
        if (!is_transparent((uintptr_t)frame.value - 1)) break;
    }
    if (!m) return hd_cstr("[unknown]");
    slash = strrchr(m->path, '/');
    return hd_cstr(slash && slash[1] ? slash + 1 : m->path);
}

/* The frame that called the hook. */
static __thread unwind_frame caller __attribute__((tls_model("initial-exec")));
#define CALLER()                                                                        \
    (unwind_frame) {                                                                    \
        (uintptr_t)__builtin_return_address(0), (uintptr_t)__builtin_frame_address(0) + 16, \
            *(uintptr_t *)__builtin_frame_address(0)                                    \
    }

static bool is_own(const void *pc) { return (uintptr_t)pc >= own_start && (uintptr_t)pc < own_end; }

/* libunwind and dl_iterate_phdr have locks of their own that a fork does not know of: a child would
   wait for ever for one that a thread of its parent held. So a fork waits until no thread unwinds, and no
   thread waits for a fork: its block has no stack then. A forked child does without libunwind, for the
   program's own threads may have held those locks. */
static union {
    pthread_rwlock_t lock;
    char apart[64];
} gates[16];
enum { GATES = sizeof gates / sizeof *gates };

static pthread_rwlock_t *unwind_begin(void) {
    pthread_rwlock_t *gate = &gates[((uintptr_t)&caller >> 12) * 0x9e3779b1u >> 16 & (GATES - 1)].lock;
    return forked || pthread_rwlock_tryrdlock(gate) ? NULL : gate;
}

/* libunwind finds out whether memory can be read by writing it to a pipe that it keeps. A program that
   closes the pipe's descriptors, and has files of its own there then, would find bytes taken from them
   and bytes put in. So libunwind gets no pipe, and the kernel is asked in another way. */
static int no_pipe(int fds[2], int flags) {
    (void)fds, (void)flags;
    errno = EMFILE;
    return -1;
}

static ssize_t read_no_pipe(int fd, void *p, size_t n) {
    if (fd >= 0) return read(fd, p, n);
    errno = EAGAIN;
    return -1;
}

/* libunwind calls write this way. A signal set is read before it is seen what to do with it. */
static long write_no_pipe(long call, long a, long b, long c, long d, long e, long f) {
    if (call != SYS_write || (int)a != -1) return syscall(call, a, b, c, d, e, f);
    syscall(SYS_rt_sigprocmask, -1, b & ~7l, NULL, 8);
    return errno == EFAULT ? -1 : c;
}

static void give_no_pipe(uintptr_t bias, const ElfW(Dyn) *d) {
    static const struct { const char *name; uintptr_t function; } replaced[] = {
        { "pipe2", (uintptr_t)no_pipe }, { "read", (uintptr_t)read_no_pipe },
        { "syscall", (uintptr_t)write_no_pipe } };
    const ElfW(Rela) *slots = NULL;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    size_t size = 0, page = (size_t)sysconf(_SC_PAGESIZE);
    for (; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_JMPREL) slots = (const ElfW(Rela) *)d->d_un.d_ptr;
        if (d->d_tag == DT_PLTRELSZ) size = d->d_un.d_val;
        if (d->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym) *)d->d_un.d_ptr;
        if (d->d_tag == DT_STRTAB) names = (const char *)d->d_un.d_ptr;
    }
    for (size_t i = 0; slots && symbols && names && i < size / sizeof *slots; i++) {
        uintptr_t slot = bias + slots[i].r_offset;
        for (size_t k = 0; k < sizeof replaced / sizeof *replaced; k++) {
            if (strcmp(names + symbols[slots[i].r_info >> 32].st_name, replaced[k].name)) continue;
            if (mprotect((void *)(slot & ~(uintptr_t)(page - 1)), page, PROT_READ | PROT_WRITE) == 0)
                *(uintptr_t *)slot = replaced[k].function;
        }
    }
}

static int without_pipe(struct dl_phdr_info *info, size_t size, void *user) {
    const ElfW(Dyn) *dynamic = NULL;
    bool is_unwinder = false;
    (void)size, (void)user;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + ph->p_vaddr;
        if (ph->p_type == PT_DYNAMIC) dynamic = (const ElfW(Dyn) *)start;
        if (ph->p_type == PT_LOAD && (uintptr_t)unw_backtrace - start < ph->p_memsz) is_unwinder = true;
    }
    if (is_unwinder && dynamic) give_no_pipe(info->dlpi_addr, dynamic);
    return is_unwinder;
}

/* A stack that unwind_from declines, and where what libunwind finds goes. */
typedef struct slow_stack {
    const void **pcs;
    size_t capacity, n;
} slow_stack;

/* From here on outward. */
static void unwind_slow_stack(void *argument) {
    enum { OWN = 12 };
    slow_stack *s = argument;
    void *found[HD_MAX_FRAMES + 1 + OWN];
    int n = unw_backtrace(found, (int)s->capacity + OWN), skip = 0;
    while (skip < n && is_own(found[skip])) skip++;
    while (skip < n && s->n < s->capacity) s->pcs[s->n++] = found[skip++];
}

/* libunwind takes more of the stack than those who allocate may have, and calls what can be cancelled. */
static size_t unwind_slowly(const void **pcs, size_t capacity) {
    slow_stack s = { pcs, capacity, 0 };
    pthread_rwlock_t *gate = unwind_begin();
    int cancel;
    if (!gate) return 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    unwind_aside(unwind_slow_stack, &s, false);
    pthread_rwlock_unlock(gate);
    pthread_setcancelstate(cancel, NULL);
    return s.n;
}

/* Return addresses, innermost first, without the frames of this library. */
static size_t unwind(void *user, const void **pcs, size_t capacity) {
    size_t n = unwind_from(caller, pcs, capacity);
    (void)user;
    return n ? n : unwind_slowly(pcs, capacity);
}

/* What recording costs. ------------------------------------------------------------------------ */

/* With HEAPDUMP_STATS, every 64th call of a thread is timed. */
static bool timing;
static struct { uint64_t calls, timed, nanoseconds, dumps, dump_nanoseconds; } cost;

static uint64_t now_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Nanoseconds since `began`, less what asking for the time takes. */
static uint64_t elapsed(uint64_t began) {
    uint64_t end = now_ns(CLOCK_MONOTONIC), asked = now_ns(CLOCK_MONOTONIC) - end;
    return end - began > asked ? end - began - asked : 0;
}

/* When this call is one to time: when it began; else 0. */
static uint64_t timed_call(void) {
    static __thread uint32_t n __attribute__((tls_model("initial-exec")));
    if (++n & 63) return 0;
    __atomic_add_fetch(&cost.calls, 64, __ATOMIC_RELAXED);
    return now_ns(CLOCK_MONOTONIC);
}

static void timed_call_ends(uint64_t began) {
    if (!began) return;
    __atomic_add_fetch(&cost.timed, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&cost.nanoseconds, elapsed(began), __ATOMIC_RELAXED);
}

/* "label: N" and what stands behind it, without stdio. */
static char *figure(char *to, const char *end, const char *label, uint64_t value, const char *unit) {
    to = text(to, end, label);
    to = number(to, end, value, 10);
    return text(to, end, unit);
}

static char *percent(char *to, const char *end, uint64_t part, uint64_t whole, const char *unit) {
    uint64_t tenths = whole ? (part * 1000 + whole / 2) / whole : 0;
    to = figure(to, end, "", tenths / 10, ".");
    return figure(to, end, "", tenths % 10, unit);
}

/* The text of --stats; returns its end. */
static char *describe_cost(char *p, const char *end) {
    hd_recorder_counters r;
    unwind_stats u = { 0 };
    uint64_t cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID), each, hooks;
    hd_recorder_stats(recorder, &r);
    unwind_add_stats(&u);
    each = cost.timed ? cost.nanoseconds / cost.timed : 0;
    hooks = each * cost.calls;
    p = visible(text(p, end, "heapdump: what recording "), end, program);
    p = figure(p, end, " (", (uint64_t)own_pid, ") cost:\n");
    p = figure(p, end, "  hooks    ", hooks / 1000000, " ms of ");
    p = figure(p, end, "", cpu / 1000000, " ms of processor time (");
    p = percent(p, end, hooks, cpu, " %): ");
    p = figure(p, end, "", cost.calls, " calls of ");
    p = figure(p, end, "", each, " ns, by timing one in 64\n");
    p = figure(p, end, sample_bytes ? "  sampled  " : "  blocks   ", r.total_blocks,
               sample_bytes ? " blocks" : " recorded");
    p = figure(p, end, ", ", r.live_blocks, " live");
    if (sample_bytes) p = figure(p, end, "; one per ", sample_bytes, " bytes allocated");
    p = figure(p, end, ", ", r.lost, " lost for want of memory");
    p = figure(p, end, ", ", r.ignored, " calls from inside the recorder\n");
    p = figure(p, end, "  stacks   ", u.stacks, " of ");
    p = percent(p, end, u.frames, u.stacks * 100, " frames each: ");
    p = percent(p, end, u.shadowed, u.frames, " % of the frames known from the stack before, ");
    p = figure(p, end, "", u.rules, " unwind rules read, ");
    p = figure(p, end, "", u.declined, " stacks left to libunwind\n");
    p = figure(p, end, "  contexts ", hd_contexts_count(hd_recorder_contexts(recorder)), " of them\n");
    p = figure(p, end, "  memory   ", r.memory.resident >> 10, " KiB for registers and contexts");
    p = figure(p, end, ", ", u.memory >> 10, " KiB for unwinding\n");
    p = figure(p, end, "  dumps    ", cost.dumps, " written in ");
    return figure(p, end, "", cost.dump_nanoseconds / 1000000, " ms\n");
}

/* Where dumps go. ------------------------------------------------------------------------------ */

/* A directory, known by its numbers: its name may lead to somebody else's by now. */
typedef struct place {
    char path[2048];
    uint64_t device, inode;      /* inode 0: there is no such place */
    int fd;                      /* kept open, or -1; the program may close it and use its number */
} place;

static place spool, directory;

/* Away from the low numbers: the program's next open gets the number it expects. */
static int move_up(int fd) {
    int up = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 512);
    if (up < 0) return fd;
    close(fd);
    return up;
}

/* At the start. `named` is a path, or DEVICE:INODE:PATH. */
static void place_find(place *p, const char *named, bool keep) {
    char *colon, *to = p->path, *end = p->path + sizeof p->path - 1;
    struct stat st;
    p->device = strtoull(named, &colon, 10);
    if (*colon == ':') p->inode = strtoull(colon + 1, &colon, 10);
    if (*colon != ':' || colon[1] != '/') p->inode = 0;
    if (!p->inode && *named != '/' && getcwd(to, sizeof p->path)) to = text(to + strlen(to), end, "/");
    text(to, end, p->inode ? colon + 1 : named);
    p->fd = keep || !p->inode ? move_up(open(p->path, O_PATH | O_DIRECTORY | O_CLOEXEC)) : -1;
    if (!p->inode && p->fd >= 0 && !fstat(p->fd, &st)) p->device = st.st_dev, p->inode = st.st_ino;
    if (p->fd < 0 || (keep && p->fd >= 512)) return;
    close(p->fd);
    p->fd = -1;
}

/* Whether fd is the place. The spool is its owner's alone, and takes dumps until `heapdump record` marks it
   with the sticky bit. */
static bool place_is(const place *p, int fd) {
    struct stat st;
    bool is = fd >= 0 && p->inode && !fstat(fd, &st) && S_ISDIR(st.st_mode) && st.st_dev == p->device &&
              st.st_ino == p->inode &&
              (p != &spool || (st.st_uid == geteuid() && (st.st_mode & 01777) == 0700));
    if (!is) errno = ENOENT;
    return is;
}

static void place_close(const place *p, int fd) {
    if (fd >= 0 && fd != p->fd) close(fd);
}

/* A descriptor of the place, for place_close; -1 when it is not there. */
static int place_open(const place *p) {
    int fd = p->fd;
    if (place_is(p, fd)) return fd;
    fd = p->inode ? move_up(open(p->path, O_PATH | O_DIRECTORY | O_CLOEXEC)) : -1;
    if (place_is(p, fd)) return fd;
    if (fd >= 0) close(fd);
    errno = ENOENT;
    return -1;
}

/* A file that gets its name when it is whole. It never was there before, and no link leads to it. */
typedef struct dump_file {
    const place *in;
    int fd;
    char name[384], temporary[416];
} dump_file;

static hd_status dump_file_write(void *user, const void *data, size_t size) {
    const dump_file *f = user;
    const char *p = data, *end = p + size;
    while (p < end) {
        ssize_t n = write(f->fd, p, (size_t)(end - p));
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = ENOSPC;
        if (n <= 0) return HD_IO;
        p += n;
    }
    return HD_OK;
}

/* Without a place there is no file. One that is marked meanwhile has it removed by `heapdump record`. */
static bool dump_file_create(dump_file *f) {
    char *p = text(f->temporary, f->temporary + sizeof f->temporary - 1, f->name);
    int dir = place_open(f->in), error;
    f->fd = -1;
    for (int attempt = 0; dir >= 0 && f->fd < 0 && attempt < 100; attempt++) {
        char *end = number(text(p, p + 1, "."), p + 24, now_us(), 10);
        text(end, end + 4, ".tmp");
        f->fd = openat(dir, f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (f->fd < 0 && errno != EEXIST) break;
    }
    if (f->fd >= 0 && !place_is(f->in, dir)) {
        unlinkat(dir, f->temporary, 0);
        close(f->fd);
        f->fd = -1;
        errno = ENOENT;
    }
    error = errno;
    place_close(f->in, dir);
    errno = error;
    return f->fd >= 0;
}

/* While standard input, output or error are closed, something that cannot be written to stands in, lest
   what another thread writes there gets into the dump. */
static bool dump_file_open(dump_file *f, const place *in) {
    bool is_open;
    int stand_in[3], n = 0, error;
    while (n < 3 && (stand_in[n] = open("/", O_PATH | O_CLOEXEC)) >= 0)
        if (stand_in[n++] > 2) break;
    f->in = in;
    is_open = dump_file_create(f);
    error = errno;
    while (n--) close(stand_in[n]);
    f->fd = move_up(f->fd);
    errno = error;
    return is_open;
}

/* Outside the spool the name may be another's by now, or a link: only a file of our own is replaced. */
static bool dump_file_rename(const dump_file *f, int dir) {
    struct stat st;
    bool taken = false;
    if (f->in != &spool) {
        int fd = openat(dir, f->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        taken = fd >= 0;
        if (taken) close(fd);
        else if (errno != EEXIST || fstatat(dir, f->name, &st, AT_SYMLINK_NOFOLLOW)) return false;
        else if (errno = EEXIST, !S_ISREG(st.st_mode) || st.st_uid != geteuid()) return false;
    }
    if (!renameat(dir, f->temporary, dir, f->name)) return true;
    if (taken) {
        int error = errno;
        unlinkat(dir, f->name, 0);
        errno = error;
    }
    return false;
}

/* Gives the file its name when it is whole; false: it is removed, and errno says why. */
static bool dump_file_close(dump_file *f, bool whole) {
    int error = errno, dir;
    if (close(f->fd) && whole) whole = false, error = errno;
    dir = place_open(f->in);
    if (whole && (dir < 0 || !dump_file_rename(f, dir))) whole = false, error = errno;
    if (!whole && dir >= 0) unlinkat(dir, f->temporary, 0);
    place_close(f->in, dir);
    errno = error;
    return whole;
}

/* Dumps. --------------------------------------------------------------------------------------- */

/* The name of what this process leaves in the spool and of what it leaves by itself, up to its ending. */
static char *own_name(char *p, const char *end, const place *in) {
    if (in != &spool) p = text(text(text(p, end, "heapdump."), end, program), end, ".");
    p = number(p, end, (uint64_t)own_pid, 10);
    return in == &spool ? number(text(p, end, "."), end, started_us, 10) : p;
}

/* The name of the next dump. */
static char *dump_name(char *p, const char *end, const place *in) {
    bool one = at == AT_PEAK || is_raw;
    p = own_name(p, end, in);
    if (in == &spool) p = number(text(p, end, "."), end, one ? 1 : dumps, 10);
    else if (dumps > 1 && !one) p = number(text(p, end, "."), end, dumps, 10);
    if (in == &spool) p = text(text(p, end, "."), end, program);
    return text(p, end, is_raw ? ".memprofraw" : ".json");
}

/* Tells `heapdump record` why a dump is missing, by a link in the spool, which a full disk has room for.
   0: the process ended in a signal handler inside a hook. */
static void note_missing(int error) {
    char name[64], why[24];
    int dir = place_open(&spool);
    if (dir < 0) return;
    text(own_name(name, name + sizeof name - 1, &spool), name + sizeof name - 1, ".missing");
    number(why, why + 20, (uint64_t)error, 10);
    if (symlinkat(why, dir, name)) {} /* it is there already */
    place_close(&spool, dir);
}

/* A heap, or a raw profile. */
static bool write_to(const hd_heap *heap, const hd_memprof_raw *raw, const place *in) {
    hd_options options;
    dump_file file;
    hd_out out = hd_out_callback(dump_file_write, &file);
    memset(&options, 0, sizeof options);
    options.allocator = hd_page_allocator();
    options.lenient = true;      /* what is too large for its field is the largest */
    dump_name(file.name, file.name + sizeof file.name - 1, in);
    if (!dump_file_open(&file, in)) return false;
    return dump_file_close(&file, (heap ? hd_chrome_write(heap, 1, &options, out, NULL)
                                        : hd_memprof_write_raw(raw, 0, &options, out, NULL)) == HD_OK);
}

/* The paths of all modules beside a profile in the spool, each with its NUL; `heapdump record` names
   functions with them. */
static void write_modules(void) {
    dump_file file;
    char *end = file.name + sizeof file.name - 1;
    bool whole = true;
    text(dump_name(file.name, end, &spool), end, ".modules");
    if (!dump_file_open(&file, &spool)) return;
    for (size_t i = 0; i < module_count; i++)
        if (*modules[i].path == '/')
            whole &= !dump_file_write(&file, modules[i].path, strlen(modules[i].path) + 1);
    dump_file_close(&file, whole);
}

/* Into the spool, which may go while it is being written to; then where `heapdump` was started. */
static void write_out(const hd_heap *heap, const hd_memprof_raw *raw) {
    if (write_to(heap, raw, &spool) || (errno == ENOENT && write_to(heap, raw, &directory))) return;
    note_missing(errno);
}

static void write_dump(void) {
    hd_snapshot_options options;
    hd_profile *profile;
    hd_heap heap;
    char id[24] = "0x";
    memset(&options, 0, sizeof options);
    options.options.allocator = hd_page_allocator();
    options.pc_name = pc_name;
    options.type_name = type_name;
    if (!forked) refresh_modules();
    if (hd_recorder_snapshot(recorder, &options, &profile, NULL)) {
        note_missing(ENOMEM);
        return;
    }
    dumps++;
    number(id + 2, id + 22, dumps, 16);
    memset(&heap, 0, sizeof heap);
    heap.pid = (uint64_t)own_pid;
    heap.process = program;
    heap.dump = id;
    heap.time_us = now_us() - started_us;
    heap.allocator = "malloc";
    heap.sample_bytes = sample_bytes;
    heap.profile = profile;
    write_out(&heap, NULL);
    hd_profile_free(profile);
}

/* What one context allocated; times are milliseconds since the start. */
typedef struct usage {
    uint64_t count, size, min_size, max_size;
    uint64_t lifetime, min_lifetime, max_lifetime;
    uint64_t overlaps;           /* allocated before the one before was freed */
    uint32_t allocated, freed;   /* the last's */
} usage;

/* Usage by context, in chunks that come when they are needed. */
enum { USAGE_CHUNK = 4096, USAGE_CHUNKS = 1 << 20, USAGE_LOCKS = 64 };
typedef struct usages {
    usage *chunk[USAGE_CHUNKS];
} usages;

static usages freed_usage, live_usage;
/* Of freed_usage, by chunk. No handler interrupts who holds one and waits for it: its frees are ignored. */
static pthread_mutex_t usage_locks[USAGE_LOCKS];

static uint32_t clock_ms(void *user) {
    (void)user;
    return (uint32_t)((now_us() - started_us) / 1000);
}

static usage *usage_of(usages *u, uint32_t context, bool make) {
    usage **chunk = &u->chunk[context / USAGE_CHUNK];
    if (!*chunk && make) *chunk = pages(NULL, 0, USAGE_CHUNK * sizeof **chunk);
    return *chunk ? *chunk + context % USAGE_CHUNK : NULL;
}

/* Adds what comes after it. */
static void usage_add(usage *u, const usage *more) {
    if (!more->count) return;
    if (!u->count || more->min_size < u->min_size) u->min_size = more->min_size;
    if (!u->count || more->min_lifetime < u->min_lifetime) u->min_lifetime = more->min_lifetime;
    if (more->max_size > u->max_size) u->max_size = more->max_size;
    if (more->max_lifetime > u->max_lifetime) u->max_lifetime = more->max_lifetime;
    u->overlaps += more->overlaps + (u->count && more->allocated < u->freed);
    u->count += more->count;
    u->size += more->size;
    u->lifetime += more->lifetime;
    u->allocated = more->allocated;
    u->freed = more->freed;
}

static void usage_add_block(usage *u, const hd_allocation *a, uint32_t lifetime) {
    usage one = { .count = 1, .size = a->size, .min_size = a->size, .max_size = a->size,
                  .lifetime = lifetime, .min_lifetime = lifetime, .max_lifetime = lifetime,
                  .allocated = a->time, .freed = a->time + lifetime };
    usage_add(u, &one);
}

static void on_free(void *user, const hd_allocation *freed, uint32_t lifetime) {
    pthread_mutex_t *lock = &usage_locks[freed->context / USAGE_CHUNK % USAGE_LOCKS];
    usage *u;
    (void)user;
    pthread_mutex_lock(lock);
    u = usage_of(&freed_usage, freed->context, true);
    if (u) usage_add_block(u, freed, lifetime);
    pthread_mutex_unlock(lock);
}

static void on_live(void *now, const hd_allocation *live) {
    usage *u = usage_of(&live_usage, live->context, true);
    if (u) usage_add_block(u, live, *(uint32_t *)now - live->time);
}

/* What raw profiles are made of, in pages. */
typedef struct raw_columns {
    hd_memprof_segment *segments;
    hd_memprof_block *blocks;
    uint64_t *ids, *pcs;
    uint32_t *first;
    uint32_t segment_count, count, depth; /* contexts that allocated; frames of them */
} raw_columns;

static void raw_block(hd_memprof_block *b, const usage *u) {
    uint64_t *v = b->value;
    v[HD_MEMPROF_ALLOC_COUNT] = u->count;
    v[HD_MEMPROF_TOTAL_SIZE] = u->size;
    v[HD_MEMPROF_MIN_SIZE] = u->min_size;
    v[HD_MEMPROF_MAX_SIZE] = u->max_size;
    v[HD_MEMPROF_ALLOC_TIMESTAMP] = u->allocated;
    v[HD_MEMPROF_DEALLOC_TIMESTAMP] = u->freed;
    v[HD_MEMPROF_TOTAL_LIFETIME] = u->lifetime;
    v[HD_MEMPROF_MIN_LIFETIME] = u->min_lifetime;
    v[HD_MEMPROF_MAX_LIFETIME] = u->max_lifetime;
    v[HD_MEMPROF_NUM_LIFETIME_OVERLAPS] = u->overlaps;
}

/* What was closed stands back where something else was loaded in its place. */
static void raw_segments(raw_columns *c) {
    for (int loaded = 1; loaded >= 0; loaded--)
        for (size_t i = module_count; i--;) {
            const module *m = &modules[i];
            hd_memprof_segment *s = &c->segments[c->segment_count];
            bool is_free = m->loaded == loaded;
            for (uint32_t k = 0; k < c->segment_count; k++)
                is_free &= m->end <= c->segments[k].start || m->start >= c->segments[k].end;
            if (!is_free) continue;
            s->start = m->start;
            s->end = m->end;
            s->offset = m->bias;
            s->build_id_size = m->build_id_size;
            memcpy(s->build_id, m->build_id, m->build_id_size);
            c->segment_count++;
        }
}

/* Counts, when there are no columns yet, or fills; a context's call stack has its number. */
static void raw_contexts(raw_columns *c, uint32_t contexts) {
    const hd_contexts *all = hd_recorder_contexts(recorder);
    c->count = c->depth = 0;
    for (uint32_t context = 0; context < contexts; context++) {
        const usage *freed = usage_of(&freed_usage, context, false);
        const usage *live = usage_of(&live_usage, context, false);
        usage sum = { 0 };
        if (freed) usage_add(&sum, freed);
        if (live) usage_add(&sum, live);
        if (!sum.count) continue;
        if (c->blocks) {
            c->blocks[c->count].stack = c->count;
            raw_block(&c->blocks[c->count], &sum);
            c->ids[c->count] = context;
            c->first[c->count] = c->depth;
        }
        for (uint32_t at_context = context; at_context;) {
            hd_frame frame = hd_contexts_frame(all, at_context);
            if (frame.kind == HD_FRAME_PC) {
                if (c->pcs) c->pcs[c->depth] = (uintptr_t)frame.value - 1;
                c->depth++;
            }
            at_context = frame.parent;
        }
        c->count++;
    }
    if (c->first) c->first[c->count] = c->depth;
}

/* A frame's object is found when it is asked for. */
static void find_modules_since_fork(uint32_t contexts) {
    const hd_contexts *all = hd_recorder_contexts(recorder);
    for (uint32_t context = 1; context < contexts; context++) {
        hd_frame frame = hd_contexts_frame(all, context);
        if (frame.kind == HD_FRAME_PC) module_of((uintptr_t)frame.value - 1);
    }
}

/* One page more than is needed, for none is not to be had. */
static void *column(size_t n, size_t size) { return pages(NULL, 0, n * size + 4096); }
static void column_free(void *p, size_t n, size_t size) {
    if (p) pages(p, n * size + 4096, 0);
}

/* Everything that was allocated so far. What is freed meanwhile is counted once, or not yet. */
static void write_raw(void) {
    raw_columns c;
    hd_memprof_raw raw;
    uint32_t now = clock_ms(NULL), contexts, count, depth;
    size_t segments;
    memset(&c, 0, sizeof c);
    memset(&raw, 0, sizeof raw);
    if (!forked) refresh_modules();
    for (int i = 0; i < USAGE_LOCKS; i++) pthread_mutex_lock(&usage_locks[i]);
    hd_recorder_visit(recorder, on_live, &now);
    contexts = hd_contexts_count(hd_recorder_contexts(recorder));
    if (forked) find_modules_since_fork(contexts);
    segments = module_count;
    raw_contexts(&c, contexts);
    count = c.count, depth = c.depth;
    c.segments = column(segments, sizeof *c.segments);
    c.blocks = column(count, sizeof *c.blocks);
    c.ids = column(count, sizeof *c.ids);
    c.first = column((size_t)count + 1, sizeof *c.first);
    c.pcs = column(depth, sizeof *c.pcs);
    if (c.segments && c.blocks && c.ids && c.first && c.pcs) {
        dumps++;
        raw_contexts(&c, contexts);
        raw_segments(&c);
        raw.version = 4;
        raw.fields = hd_memprof_version_fields(4);
        raw.segment_count = c.segment_count;
        raw.block_count = raw.stack_count = count;
        raw.segments = c.segments;
        raw.blocks = c.blocks;
        raw.stack_id = c.ids;
        raw.first = c.first;
        raw.pc = c.pcs;
        if (tells_modules) write_modules();
        write_out(NULL, &raw);
    } else {
        note_missing(ENOMEM);
    }
    for (int i = 0; i < USAGE_LOCKS; i++) pthread_mutex_unlock(&usage_locks[i]);
    column_free(c.segments, segments, sizeof *c.segments);
    column_free(c.blocks, count, sizeof *c.blocks);
    column_free(c.ids, count, sizeof *c.ids);
    column_free(c.first, (size_t)count + 1, sizeof *c.first);
    column_free(c.pcs, depth, sizeof *c.pcs);
    for (uint32_t i = 0; i <= contexts / USAGE_CHUNK; i++) {
        if (live_usage.chunk[i]) pages(live_usage.chunk[i], USAGE_CHUNK * sizeof(usage), 0);
        live_usage.chunk[i] = NULL;
    }
}

static bool write_cost(const place *in) {
    char told[2048], *p;
    dump_file file;
    char *end = file.name + sizeof file.name - 1;
    text(own_name(file.name, end, in), end, ".stats");
    p = describe_cost(told, told + sizeof told - 1);
    if (!dump_file_open(&file, in)) return false;
    return dump_file_close(&file, dump_file_write(&file, told, (size_t)(p - told)) == HD_OK);
}

enum { WRITE_DUMP = 1, WRITE_COST = 2 };

/* The signal for a file that passes the program's limit is taken away, for that is a failed write like
   others. */
static void write_wanted(void *what) {
    static const struct timespec now;
    uint64_t began = now_ns(CLOCK_MONOTONIC);
    int wanted = *(int *)what;
    sigset_t too_large, due;
    sigpending(&due);
    if (wanted & WRITE_DUMP) {
        if (is_raw) write_raw();
        else write_dump();
        cost.dumps++;
        cost.dump_nanoseconds += elapsed(began);
    }
    if (wanted & WRITE_COST && !write_cost(&spool)) write_cost(&directory);
    sigemptyset(&too_large);
    sigaddset(&too_large, SIGXFSZ);
    if (!sigismember(&due, SIGXFSZ)) sigtimedwait(&too_large, NULL, &now);
}

/* Of dumps, under their lock, and of the start. */
static char stack[256 * 1024] __attribute__((aligned(16)));

/* What takes much of the stack, on another where there is one. Nothing is recorded meanwhile. */
static void with_room(aside_fn *run, void *argument) {
    bool outside = hd_record_suspend();
    if (!unwind_aside(run, argument, outside)) run(argument);
    hd_record_resume();
}

static void remember_modules(bool closed) {
    int saved = errno, cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    hd_record_suspend();
    pthread_mutex_lock(&dump_lock);
    refresh_modules();
    if (closed) keep_closed();
    pthread_mutex_unlock(&dump_lock);
    hd_record_resume();
    pthread_setcancelstate(cancel, NULL);
    errno = saved;
}

/* One at a time, none in the child of a vfork, whose memory is its parent's. The last waits for one that
   is being written, and none comes after it. Signals wait, so that no handler ends the process halfway, and
   so does a request to cancel the thread: who holds the lock gives it back. */
static void write_now(int what, bool last) {
    int saved = errno, cancel;
    if (state != READY || getpid() != own_pid) return;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    hd_record_suspend();
    if ((last ? pthread_mutex_lock : pthread_mutex_trylock)(&dump_lock) == 0) {
        if (!ended) aside(stack, sizeof stack, write_wanted, &what);
        ended |= last;
        pthread_mutex_unlock(&dump_lock);
    }
    hd_record_resume();
    pthread_setcancelstate(cancel, NULL);
    errno = saved;
}

static void dump(void) { write_now(WRITE_DUMP, false); }

/* Not in a handler that interrupts the recorder: the thread may hold locks that a dump takes. */
static bool is_outside(void) {
    bool outside = hd_record_suspend();
    hd_record_resume();
    return outside;
}

static void note_inside(void *unused) {
    (void)unused;
    note_missing(0);
}

static void dump_at_end(void) {
    int what = timing ? WRITE_COST : 0;
    if (getpid() != own_pid) return;
    if (at == AT_EXIT || at == AT_EVERY ||
        (at == AT_PEAK && (!dumps || hd_recorder_live_bytes(recorder) >= peak_at)) ||
        (at == AT_SIGNAL && pending))
        what |= WRITE_DUMP;
    if (what && is_outside()) write_now(what, true);
    else if (what & WRITE_DUMP) with_room(note_inside, NULL);
}

static void on_end(int status, void *user) {
    (void)status, (void)user;
    if (state != READY) return;
    if (is_outside() && !forked) with_room(find_transparent, NULL); /* a fork may have left dlsym's lock taken */
    dump_at_end();
}

static void on_quick_end(void) {
    if (state == READY) dump_at_end();
}

/* A thread that is inside the recorder dumps when it leaves. */
static void on_signal(int signal_number) {
    bool is_end = !at_signal_ignored &&
                  (signal_number == SIGINT || signal_number == SIGTERM || signal_number == SIGHUP);
    if (!is_outside()) {
        pending = 1;
        return;
    }
    write_now(WRITE_DUMP | (is_end && timing ? WRITE_COST : 0), is_end);
    if (is_end) {
        signal(signal_number, SIG_DFL);
        raise(signal_number);
    }
}

static void after_call(void) {
    if (pending) {
        pending = 0;
        on_signal(at_signal);
    }
    if (at == AT_EVERY && (++calls & 63) == 0) {
        uint64_t ms = now_us() / 1000;
        if (ms >= next_ms && is_outside()) {
            next_ms = ms + at_every_ms;
            dump();
        }
    }
}

/* Before a block goes: if live bytes stand a fiftieth above the last peak dumped, and a page, so that
   small heaps are not dumped again and again, dump this one. */
static void before_free(void) {
    uint64_t live = hd_recorder_live_bytes(recorder);
    if (live >= peak_at && live >= hd_recorder_peak_bytes(recorder) && is_outside()) {
        peak_at = live + live / 50 + 4096;
        dump();
    }
}

/* Start. --------------------------------------------------------------------------------------- */

static __thread bool fork_inside; /* from a handler inside a hook: the locks may be this thread's own */

static void fork_prepare(void) {
    fork_inside = !hd_record_suspend();
    if (fork_inside) return;
    for (int i = 0; i < GATES; i++) pthread_rwlock_wrlock(&gates[i].lock);
    pthread_mutex_lock(&dump_lock);
    if (!forked) refresh_modules();
    hd_recorder_fork_prepare(recorder);
    for (int i = 0; i < USAGE_LOCKS; i++) pthread_mutex_lock(&usage_locks[i]);
    unwind_fork_prepare();
}

static void fork_parent(void) {
    if (!fork_inside) {
        unwind_fork_done();
        for (int i = 0; i < USAGE_LOCKS; i++) pthread_mutex_unlock(&usage_locks[i]);
        hd_recorder_fork_parent(recorder);
        pthread_mutex_unlock(&dump_lock);
        for (int i = 0; i < GATES; i++) pthread_rwlock_unlock(&gates[i].lock);
    }
    hd_record_resume();
}

static void fork_child(void) {
    if (fork_inside) {
        state = OFF;
    } else {
        unwind_clear_stats();
        unwind_fork_done();
        for (int i = 0; i < USAGE_LOCKS; i++) pthread_mutex_unlock(&usage_locks[i]);
        hd_recorder_fork_child(recorder);
        pthread_mutex_unlock(&dump_lock);
        memset(gates, 0, sizeof gates); /* an unlock would ask whether the thread's number is the same */
    }
    hd_record_resume();
    own_pid = getpid();
    dumps = 0;
    peak_at = 0;
    memset(&cost, 0, sizeof cost);
    for (size_t i = 0; i < USAGE_CHUNKS; i++) /* what the parent freed is in its own profile */
        if (freed_usage.chunk[i]) memset(freed_usage.chunk[i], 0, USAGE_CHUNK * sizeof **freed_usage.chunk);
    ended = false;
    forked = true;
}

static bool is_below(const void *p) {
    Dl_info below, other;
    return dladdr((void *)(uintptr_t)real.malloc, &below) && dladdr(p, &other) &&
           below.dli_fbase == other.dli_fbase;
}

static void find_real_new(void) {
    if (!dlsym(RTLD_NEXT, new_names[0])) return;
    for (size_t i = 0; i < NEWS; i++) {
        void *p = dlsym(RTLD_NEXT, new_names[i]);
        real_new[i] = (new_fn *)(uintptr_t)p;
        new_is_below[i] = p && is_below(p);
    }
    for (size_t i = 0; i < DELETES; i++) {
        void *p = dlsym(RTLD_NEXT, delete_names[i]);
        real_delete[i] = (delete_fn *)(uintptr_t)p;
        delete_is_below[i] = p && is_below(p);
    }
}

static void find_real(void) {
#define FIND(field, name) *(void **)&real.field = dlsym(RTLD_NEXT, name)
    FIND(calloc, "calloc");
    FIND(malloc, "malloc");
    FIND(realloc, "realloc");
    FIND(reallocarray, "reallocarray");
    FIND(posix_memalign, "posix_memalign");
    FIND(aligned_alloc, "aligned_alloc");
    FIND(memalign, "memalign");
    FIND(valloc, "valloc");
    FIND(pvalloc, "pvalloc");
    FIND(free, "free");
    FIND(exit_now, "_exit");
    FIND(dlclose, "dlclose");
    FIND(daemon, "daemon");
#undef FIND
    find_real_new();
}

static void read_environment(hd_tracker_desc *tracker) {
    const char *sample = getenv("HEAPDUMP_SAMPLE"), *stats = getenv("HEAPDUMP_STATS");
    const char *s = getenv("HEAPDUMP_AT"), *depth = getenv("HEAPDUMP_DEPTH"), *d = getenv("HEAPDUMP_DIR");
    const char *invoked = program_invocation_short_name, *format = getenv("HEAPDUMP_FORMAT");
    long frames = depth ? strtol(depth, NULL, 10) : 0;
    tracker->max_frames = frames > 0 && frames <= HD_MAX_FRAMES ? (uint32_t)frames : 0;
    if (s && !strcmp(s, "peak")) at = AT_PEAK;
    if (s && !strncmp(s, "every=", 6)) {
        double seconds = strtod(s + 6, NULL);
        at = AT_EVERY;
        at_every_ms = seconds > 0.001 ? (uint64_t)(seconds * 1000) : 1;
    }
    if (s && !strncmp(s, "signal=", 7)) {
        at = AT_SIGNAL;
        at_signal = (int)strtol(s + 7, NULL, 10);
    }
    sample_bytes = sample ? strtoull(sample, NULL, 10) : 0;
    timing = stats && *stats == '1';
    tells_modules = format && !strcmp(format, "memprof-rfc");
    is_raw = tells_modules || (format && !strcmp(format, "memprof-raw"));
    if (is_raw) sample_bytes = 0; /* a sample has no lifetimes to be added up */
    s = getenv("HEAPDUMP_SPOOL");
    spool.fd = -1;
    if (s && *s) place_find(&spool, s, true);
    place_find(&directory, d ? d : ".", !spool.inode);
    text(program, program + sizeof program - 1, invoked && *invoked ? invoked : "program");
    for (char *p = program; *p; p++)
        if (*p == '/') *p = '_';
}

static void start_inside(void *unused) {
    hd_recorder_desc desc;
    (void)unused;
    memset(&desc, 0, sizeof desc);
    find_real();
    read_environment(&desc.tracker);
    own_pid = getpid();
    started_us = now_us();
    next_ms = started_us / 1000 + at_every_ms;
    refresh_modules();
    dl_iterate_phdr(without_pipe, NULL);
    find_transparent(NULL);
    unwind_start();
    desc.sample_bytes = sample_bytes;
    if (is_raw) {
        desc.clock = clock_ms;
        desc.on_free = on_free;
    }
    desc.tracker.capture = HD_CAPTURE_NATIVE_STACK;
    desc.tracker.unwind = unwind;
    recorder = hd_recorder_create(&desc, NULL);
    if (!recorder) {
        state = OFF;
        return;
    }
    hd_record_suspend();
    pthread_atfork(fork_prepare, fork_parent, fork_child);
    on_exit(on_end, NULL);       /* registered first, so that it runs last */
    at_quick_exit(on_quick_end);
    if (at == AT_SIGNAL) {
        struct sigaction action, before;
        memset(&action, 0, sizeof action);
        action.sa_handler = on_signal;
        action.sa_flags = SA_RESTART;
        sigaction(at_signal, &action, &before);
        at_signal_ignored = before.sa_handler == SIG_IGN;
    }
    hd_record_resume();
    at_end_only = at == AT_EXIT && !timing;
    state = READY;
}

/* On the first call of any hook, which may be before any constructor. */
static void start(void) {
    state = STARTING;
    aside(stack, sizeof stack, start_inside, NULL);
}

__attribute__((constructor)) static void start_early(void) {
    if (state == COLD) start();
}

/* Hooks. --------------------------------------------------------------------------------------- */

static bool ready(void) {
    if (__builtin_expect(state == COLD, 0)) start();
    return __builtin_expect(state == READY, 1);
}

static __attribute__((noinline)) void record_alloc(void *p, size_t n, unwind_frame from) {
    int saved = errno;
    uint64_t began = timing ? timed_call() : 0;
    unwind_frame before = caller; /* of what this interrupts, when it is a signal handler's */
    caller = from;
    hd_record_alloc(recorder, p, n, NULL);
    caller = before;
    if (timing) timed_call_ends(began);
    if (__builtin_expect(at, 0)) after_call();
    errno = saved;
}

static __attribute__((noinline)) void record_free(void *p) {
    int saved = errno;
    uint64_t began;
    if (at == AT_PEAK) before_free();
    began = timing ? timed_call() : 0;
    hd_record_free(recorder, p);
    if (timing) timed_call_ends(began);
    if (__builtin_expect(at, 0)) after_call();
    errno = saved;
}

static inline void *took(void *p, size_t n, unwind_frame from) {
    if (p && !(at_end_only && hd_record_skips_alloc(recorder, n))) record_alloc(p, n, from);
    return p;
}

static inline void gave(void *p) {
    if (!(at_end_only && hd_record_skips_free(recorder, p))) record_free(p);
}

EXPORT void *malloc(size_t n) {
    bool on = ready();
    void *p = real.malloc ? real.malloc(n) : bootstrap_take(n);
    return on ? took(p, n, CALLER()) : p;
}

EXPORT void *calloc(size_t n, size_t size) {
    bool on = ready();
    void *p;
    if (!real.calloc) return size && n > sizeof bootstrap / size ? NULL : bootstrap_take(n * size);
    p = real.calloc(n, size);
    return on ? took(p, n * size, CALLER()) : p;
}

EXPORT void free(void *p) {
    if (!p || is_bootstrap(p)) return;
    if (ready()) gave(p);
    if (real.free) real.free(p);
}

/* The block is taken out before it may move, because another thread can be given its address. */
static void *resized(void *p, size_t n, size_t size, bool array, unwind_frame from) {
    hd_allocation old;
    bool taken;
    void *q;
    int saved = errno;
    if (at == AT_PEAK) before_free();
    taken = p && hd_record_take(recorder, p, &old);
    errno = saved;
    q = array ? real.reallocarray(p, n, size) : real.realloc(p, n);
    if (taken) {
        saved = errno;
        if (q || !n || (array && !size)) hd_record_drop(recorder, &old);
        else hd_record_restore(recorder, &old);
        errno = saved;
    }
    if (q) return took(q, array ? n * size : n, from);
    return NULL;
}

static void *resized_bootstrap(void *p, size_t n) {
    void *q = malloc(n);
    size_t most = (size_t)(bootstrap + sizeof bootstrap - (char *)p);
    if (q) memcpy(q, p, n < most ? n : most);
    return q;
}

EXPORT void *realloc(void *p, size_t n) {
    if (p && is_bootstrap(p)) return resized_bootstrap(p, n);
    if (ready()) return resized(p, n, 1, false, CALLER());
    return real.realloc ? real.realloc(p, n) : bootstrap_take(n);
}

EXPORT void *reallocarray(void *p, size_t n, size_t size) {
    if (ready() && !(p && is_bootstrap(p))) return resized(p, n, size, true, CALLER());
    return real.reallocarray ? real.reallocarray(p, n, size) : NULL;
}

EXPORT int posix_memalign(void **p, size_t alignment, size_t n) {
    bool on = ready();
    int status = real.posix_memalign ? real.posix_memalign(p, alignment, n) : ENOMEM;
    if (!status && on) took(*p, n, CALLER());
    return status;
}

EXPORT void *aligned_alloc(size_t alignment, size_t n) {
    bool on = ready();
    void *p = real.aligned_alloc ? real.aligned_alloc(alignment, n) : NULL;
    return on ? took(p, n, CALLER()) : p;
}

EXPORT void *memalign(size_t alignment, size_t n) {
    bool on = ready();
    void *p = real.memalign ? real.memalign(alignment, n) : NULL;
    return on ? took(p, n, CALLER()) : p;
}

EXPORT void *valloc(size_t n) {
    bool on = ready();
    void *p = real.valloc ? real.valloc(n) : NULL;
    return on ? took(p, n, CALLER()) : p;
}

EXPORT void *pvalloc(size_t n) {
    bool on = ready();
    void *p = real.pvalloc ? real.pvalloc(n) : NULL;
    return on ? took(p, n, CALLER()) : p;
}

/* jemalloc, tcmalloc and mimalloc bring an operator new that does not call malloc; it is recorded here.
   Others are passed on to, by a jump, so that no frame of ours gets between. */
typedef struct late_symbol {
    const char *name;
    void *found;
} late_symbol;

static void find_late(void *symbol) {
    late_symbol *s = symbol;
    void *library;
    s->found = dlsym(RTLD_NEXT, s->name);
    library = s->found ? NULL : dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    if (library) {
        s->found = dlsym(library, s->name);
        real.dlclose(library);
    }
    dlerror();
}

static void *late(const char *name) { /* the C++ library was loaded after the start, by dlopen */
    late_symbol symbol = { name, NULL };
    with_room(find_late, &symbol);
    return symbol.found;
}

static void *new_lately(int i, size_t n, uintptr_t a, uintptr_t b) {
    void *p;
    real_new[i] = (new_fn *)(uintptr_t)late(new_names[i]);
    if (real_new[i]) return real_new[i](n, a, b);
    p = i < 4 ? malloc(n ? n : 1) : aligned_alloc(a, (n + a - 1) & ~(a - 1));
    if (!p && i % 4 < 2) abort();
    return p;
}

static inline __attribute__((always_inline)) void *new_any(int i, size_t n, uintptr_t a, uintptr_t b) {
    bool on = ready();
    if (__builtin_expect(!real_new[i], 0)) return new_lately(i, n, a, b);
    if (!new_is_below[i] || !on) return real_new[i](n, a, b);
    return took(real_new[i](n, a, b), n, CALLER());
}

static void delete_lately(int i, void *p, uintptr_t a, uintptr_t b) {
    real_delete[i] = (delete_fn *)(uintptr_t)late(delete_names[i]);
    if (real_delete[i]) real_delete[i](p, a, b);
    else free(p);
}

static inline void delete_any(int i, void *p, uintptr_t a, uintptr_t b) {
    if (ready() && delete_is_below[i] && p) gave(p);
    if (real_delete[i]) real_delete[i](p, a, b);
    else delete_lately(i, p, a, b);
}

#define NEW(i, name) \
    EXPORT void *name(size_t n, uintptr_t a, uintptr_t b) { return new_any(i, n, a, b); }
NEW(0, _Znwm)
NEW(1, _Znam)
NEW(2, _ZnwmRKSt9nothrow_t)
NEW(3, _ZnamRKSt9nothrow_t)
NEW(4, _ZnwmSt11align_val_t)
NEW(5, _ZnamSt11align_val_t)
NEW(6, _ZnwmSt11align_val_tRKSt9nothrow_t)
NEW(7, _ZnamSt11align_val_tRKSt9nothrow_t)
#undef NEW
#define DELETE(i, name) \
    EXPORT void name(void *p, uintptr_t a, uintptr_t b) { delete_any(i, p, a, b); }
DELETE(0, _ZdlPv)
DELETE(1, _ZdaPv)
DELETE(2, _ZdlPvm)
DELETE(3, _ZdaPvm)
DELETE(4, _ZdlPvRKSt9nothrow_t)
DELETE(5, _ZdaPvRKSt9nothrow_t)
DELETE(6, _ZdlPvSt11align_val_t)
DELETE(7, _ZdaPvSt11align_val_t)
DELETE(8, _ZdlPvmSt11align_val_t)
DELETE(9, _ZdaPvmSt11align_val_t)
DELETE(10, _ZdlPvSt11align_val_tRKSt9nothrow_t)
DELETE(11, _ZdaPvSt11align_val_tRKSt9nothrow_t)
#undef DELETE

/* Ends that run no exit handlers. */
EXPORT __attribute__((noreturn)) void _exit(int status) {
    if (state == READY) dump_at_end();
    if (real.exit_now) real.exit_now(status);
    for (;;) {}
}

EXPORT __attribute__((noreturn)) void _Exit(int status) { _exit(status); }

/* Its parent goes with libc's own _exit, as it is now. */
EXPORT int daemon(int stay, int keep) {
    if (ready()) dump_at_end();
    ended = false;
    return real.daemon(stay, keep);
}

/* Objects are remembered before they go, for the stacks that lead through them. */
EXPORT int dlclose(void *handle) {
    bool on = ready();
    int status;
    if (on) remember_modules(false);
    status = real.dlclose(handle);
    unwind_forget();
    if (on) remember_modules(true);
    return status;
}
