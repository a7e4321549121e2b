/* libheapdump_record.so: records the heap of a program it is preloaded into, where others can look at it.

   `heapdump record` sets it up. What is recorded lies in a region (>>region of heapdump.h) that the program maps
   when it starts; `heapdump` has it as well, and looks at it when it likes, also when the program is dead. The
   program itself writes no file and gets no signal, and does nothing at its end. Environment:

     HEAPDUMP_JOIN, HEAPDUMP_USER   where the region comes from, and whose it is: join.h
     HEAPDUMP_KEEP                  without HEAPDUMP_JOIN: a file that is the region, made when it is not there;
                                    `heapdump recover` reads it. Programs that are given one file share it
     HEAPDUMP_DEPTH, HEAPDUMP_SAMPLE   then also: frames per stack [48], bytes per block that is sampled [0: all]
     HEAPDUMP_AGES, HEAPDUMP_THREADS   then also, when not empty: what record --ages and --threads keep

   Without a region nothing is recorded. The malloc family is interposed; stacks come from unwind.h, from libunwind
   where that declines; the type of a block is the object that asked for it. Nothing is ever printed. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "bypass.h"
#include "exec.h"
#include "join.h"
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
    int (*dlclose)(void *);
    int (*pthread_setname_np)(pthread_t, const char *);
    int (*prctl)(int, ...);
    int (*execve)(const char *, char *const *, char *const *);
    int (*execvpe)(const char *, char *const *, char *const *);
    int (*fexecve)(int, char *const *, char *const *);
    int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                       char *const *, char *const *);
    int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                        char *const *, char *const *);
    int (*setuid)(uid_t);
    int (*seteuid)(uid_t);
    int (*setreuid)(uid_t, uid_t);
    int (*setresuid)(uid_t, uid_t, uid_t);
    int (*setgid)(gid_t);
    int (*setegid)(gid_t);
    int (*setregid)(gid_t, gid_t);
    int (*setresgid)(gid_t, gid_t, gid_t);
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

enum { COLD, STARTING, READY, OFF };

/* The kernel clears the page in a child that gets a copy of the memory. Who came by fork is made ready again
   (fork_child); who came by a system call of its own finds a start that was, and is off: other threads may have
   held any lock. */
static union {
    int now;                     /* OFF: there is no region, or not any longer */
    char page[4096];
} state __attribute__((aligned(4096)));
static bool started;
static hd_recorder *recorder;
static void *region;
static uint64_t region_bytes;    /* mapped */
static uint64_t region_whole, region_step; /* all of it; how much more is mapped at a time, where addresses are limited */
static uint32_t join_flags;      /* of the join_reply */
static uint64_t started_us;
static bool timing;
static bool forked;              /* this process did not start with exec */
static bool over;                /* the recording was stopped */
static uintptr_t own_start, own_end;

static void set_state(int to) { __atomic_store_n(&state.now, to, __ATOMIC_RELAXED); }
static int get_state(void) { return __atomic_load_n(&state.now, __ATOMIC_RELAXED); }

static uint64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* Modules: what program counters lie in. ------------------------------------------------------- */

/* Stretches of code that the region was told of. They are read without a lock; what is wrongly taken for unknown
   is looked at again under it. */
typedef struct module {
    uintptr_t start, end;
    uint64_t name;               /* a hash of it: another object may lie where one was closed */
    uint32_t seen;               /* the look at what is loaded that found it last */
    bool loaded, kept;           /* kept: closed, and its addresses are nobody else's */
} module;

enum { MODULES = 4096, TRANSPARENTS = 64 };
static module modules[MODULES];
static uint32_t module_count, looks;
static uintptr_t transparent[TRANSPARENTS]; /* where operator new and its like begin; 0: free */
static pthread_mutex_t module_lock = PTHREAD_MUTEX_INITIALIZER; /* inside it no lock of the loader's is taken */

static uint64_t hash_of(const char *s) {
    uint64_t hash = 14695981039346656037u;
    while (*s) hash = (hash ^ (unsigned char)*s++) * 1099511628211u;
    return hash;
}

static bool is_known(uintptr_t pc) {
    for (uint32_t i = __atomic_load_n(&module_count, __ATOMIC_ACQUIRE); i--;) {
        const module *m = &modules[i];
        if (__atomic_load_n(&m->loaded, __ATOMIC_ACQUIRE) && pc >= __atomic_load_n(&m->start, __ATOMIC_RELAXED) &&
            pc < __atomic_load_n(&m->end, __ATOMIC_RELAXED))
            return true;
    }
    return false;
}

/* What dlopen was given may be relative to where the program is, most likely still. */
static const char *full_path(const char *name) {
    static char path[4096];      /* under module_lock, as all of this */
    size_t n;
    if (*name == '/' || !strchr(name, '/') || syscall(SYS_getcwd, path, sizeof path) <= 0) return name;
    n = strlen(path);
    if (n + 1 + strlen(name) >= sizeof path) return name;
    path[n] = '/';
    memcpy(path + n + 1, name, strlen(name) + 1);
    return access(path, F_OK) ? name : path;
}

/* The build id among an object's notes, which are mapped with its code or before it. */
static void find_build_id(const struct dl_phdr_info *info, hd_module *m) {
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

static void forget_module(module *m) {
    __atomic_store_n(&m->loaded, false, __ATOMIC_RELEASE);
    for (size_t i = 0; i < TRANSPARENTS; i++)
        if (transparent[i] >= m->start && transparent[i] < m->end) {
            hd_recorder_remove_module(recorder, transparent[i]);
            transparent[i] = 0;
        }
    hd_recorder_remove_module(recorder, m->start);
}

/* Tells of a stretch of code. What lay there before was closed, and nobody said so. */
static void add_module(const hd_module *told, uint64_t name) {
    module *m = NULL;
    for (uint32_t i = 0; i < module_count; i++) {
        module *other = &modules[i];
        if (other->loaded && told->start < other->end && told->end > other->start) {
            if (other->start == told->start && other->end == told->end && other->name == name) return;
            forget_module(other);
        }
        if (!other->loaded && !other->kept) m = other;
    }
    if (module_count < MODULES) m = &modules[module_count];
    hd_recorder_add_module(recorder, told);
    if (!m) return;
    __atomic_store_n(&m->start, told->start, __ATOMIC_RELAXED);
    __atomic_store_n(&m->end, told->end, __ATOMIC_RELAXED);
    m->name = name;
    m->seen = looks;
    m->kept = false;
    __atomic_store_n(&m->loaded, true, __ATOMIC_RELEASE);
    if (m == &modules[module_count]) __atomic_store_n(&module_count, module_count + 1, __ATOMIC_RELEASE);
}

/* What an object says of its symbols. */
typedef struct elf_symbols {
    const ElfW(Sym) *table;
    const char *names;
    const uint32_t *hashed;
} elf_symbols;

static elf_symbols symbols_of(const struct dl_phdr_info *info) {
    elf_symbols s = { 0 };
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Dyn) *d = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
        for (; d->d_tag != DT_NULL; d++) {
            uintptr_t at = d->d_un.d_ptr + (d->d_un.d_ptr < info->dlpi_addr ? info->dlpi_addr : 0);
            if (d->d_tag == DT_SYMTAB) s.table = (const ElfW(Sym) *)at;
            if (d->d_tag == DT_STRTAB) s.names = (const char *)at;
            if (d->d_tag == DT_GNU_HASH) s.hashed = (const uint32_t *)at;
        }
    }
    return s;
}

/* A function by its name, without the loader's lock; NULL: it is not there. */
static const ElfW(Sym) *find_symbol(const elf_symbols *s, const char *name) {
    const uint32_t *h = s->hashed, *buckets, *chain;
    uint32_t hash = 5381, i;
    if (!s->table || !s->names || !h || !h[0]) return NULL;
    for (const char *p = name; *p; p++) hash = hash * 33 + (unsigned char)*p;
    buckets = h + 4 + h[2] * (sizeof(ElfW(Addr)) / 4);
    chain = buckets + h[0];
    i = buckets[hash % h[0]];
    if (i < h[1]) return NULL;
    for (;; i++) {
        uint32_t of = chain[i - h[1]];
        if ((of | 1) == (hash | 1) && s->table[i].st_shndx && !strcmp(s->names + s->table[i].st_name, name))
            return &s->table[i];
        if (of & 1) return NULL;
    }
}

/* Operator new asks on behalf of its caller. */
static void add_transparent(const struct dl_phdr_info *info, const hd_module *whole) {
    elf_symbols s = symbols_of(info);
    for (size_t i = 0, free = 0; i < NEWS; i++) {
        const ElfW(Sym) *symbol = find_symbol(&s, new_names[i]);
        hd_module m = *whole;
        if (!symbol) continue;
        m.start = info->dlpi_addr + symbol->st_value;
        m.end = m.start + symbol->st_size;
        m.transparent = true;
        if (m.start < whole->start || m.end > whole->end) continue;
        while (free < TRANSPARENTS && transparent[free]) free++;
        if (free == TRANSPARENTS || !hd_recorder_add_module(recorder, &m)) return;
        transparent[free] = m.start;
    }
}

/* Tells of an object. */
static int each_module(struct dl_phdr_info *info, size_t size, void *user) {
    static char exe[4096];       /* asked for once: it is not to be had when the main thread has ended */
    const char *path = info->dlpi_name;
    hd_module m;
    (void)size, (void)user;
    if (!*exe && readlink("/proc/self/exe", exe, sizeof exe - 1) <= 0) exe[0] = '?';
    if (!path || !*path) path = exe;
    memset(&m, 0, sizeof m);
    m.bias = info->dlpi_addr;
    m.path = hd_cstr(full_path(path));
    find_build_id(info, &m);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X)) continue;
        m.start = info->dlpi_addr + ph->p_vaddr;
        m.end = m.start + ph->p_memsz;
        /* Linked into the program itself, its frames cannot be told from the program's. */
        if (path != exe && (uintptr_t)&each_module - m.start < ph->p_memsz) own_start = m.start, own_end = m.end;
        add_module(&m, hash_of(path));
        if (own_start != m.start) add_transparent(info, &m);
    }
    return 0;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
/* Tells of the object that code lies in, as its headers say where they are mapped: no lock of the loader's is
   taken, which another thread of a fork's parent may have held. */
static void add_object_of(uintptr_t pc) {
    struct dl_find_object found;
    struct dl_phdr_info info = { 0 };
    const ElfW(Ehdr) *header;
    if (_dl_find_object((void *)pc, &found) || !found.dlfo_link_map) return;
    header = found.dlfo_map_start;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG)) return;
    info.dlpi_addr = found.dlfo_link_map->l_addr;
    info.dlpi_name = found.dlfo_link_map->l_name;
    info.dlpi_phdr = (const ElfW(Phdr) *)(const void *)((const char *)header + header->e_phoff);
    info.dlpi_phnum = header->e_phnum;
    pthread_mutex_lock(&module_lock);
    if (!is_known(pc)) each_module(&info, sizeof info, NULL);
    pthread_mutex_unlock(&module_lock);
}
#endif

static int each_module_locked(struct dl_phdr_info *info, size_t size, void *user) {
    pthread_mutex_lock(&module_lock);
    each_module(info, size, user);
    pthread_mutex_unlock(&module_lock);
    return 0;
}

/* Code is met for the first time, maybe: called by who unwinds, who holds no lock of the recorder's. */
static void meet_code(uintptr_t pc) {
    if (is_known(pc)) return;
#ifdef DLFO_STRUCT_HAS_EH_DBASE
    if (_dl_find_object) {
        add_object_of(pc);
        return;
    }
#endif
    if (!forked) dl_iterate_phdr(each_module_locked, NULL);
}

static int each_still_there(struct dl_phdr_info *info, size_t size, void *user) {
    const char *name = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : NULL;
    uint64_t hash = name ? hash_of(name) : 0;
    (void)size, (void)user;
    pthread_mutex_lock(&module_lock);
    for (int i = 0; i < info->dlpi_phnum; i++)
        for (uint32_t k = 0; k < module_count; k++)
            if (modules[k].start == info->dlpi_addr + info->dlpi_phdr[i].p_vaddr &&
                (!name || modules[k].name == hash))
                modules[k].seen = looks;
    pthread_mutex_unlock(&module_lock);
    return 0;
}

/* Where the code of a closed object was, nothing else is loaded, so that its frames keep their names: costs
   addresses, not memory; within reason, for a program may open and close all day. */
static void keep_closed(module *m) {
    static size_t left = (size_t)256 << 20, times = 1000;
    uintptr_t start = m->start & ~(uintptr_t)4095, end = (m->end + 4095) & ~(uintptr_t)4095;
    if (!times || end - start > left) return;
    m->kept = mmap((void *)start, end - start, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) != MAP_FAILED;
    if (!m->kept) return;
    left -= end - start;
    times--;
}

/* After objects were closed. */
static void forget_closed(void *unused) {
    uint32_t look;
    (void)unused;
    pthread_mutex_lock(&module_lock);
    look = ++looks;
    pthread_mutex_unlock(&module_lock);
    dl_iterate_phdr(each_still_there, NULL);
    pthread_mutex_lock(&module_lock);
    for (uint32_t i = 0; i < module_count; i++)
        if (modules[i].loaded && modules[i].seen < look) {
            forget_module(&modules[i]);
            keep_closed(&modules[i]);
        }
    pthread_mutex_unlock(&module_lock);
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
    while (skip < n && s->n < s->capacity) {
        if (found[skip]) meet_code((uintptr_t)found[skip] - 1);
        s->pcs[s->n++] = found[skip++];
    }
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

/* Whether the thread is in dlclose: code that is unloaded may allocate, with a frame of ours around it. */
static __thread bool is_closing __attribute__((tls_model("initial-exec")));

/* Drops the frames of this library. An operator new that calls another of ours, and does not end in a jump as
   compilers that optimize less leave it, is near the inner end. */
static size_t without_own(const void **pcs, size_t n) {
    enum { NEAR = 4 };
    size_t kept = 0, most = is_closing || n < NEAR ? n : NEAR;
    while (kept < most && !is_own(pcs[kept])) kept++;
    if (kept == most) return n;
    for (size_t i = kept; i < n; i++)
        if (!is_own(pcs[i])) pcs[kept++] = pcs[i];
    return kept;
}

/* Return addresses, innermost first, without the frames of this library. */
static size_t unwind(void *user, const void **pcs, size_t capacity) {
    size_t n = unwind_from(caller, pcs, capacity);
    (void)user;
    return without_own(pcs, n ? n : unwind_slowly(pcs, capacity));
}

/* What recording costs. ------------------------------------------------------------------------ */

/* With JOIN_STATS, calls are timed that are drawn at random, one of 64; the sums are notes of the record. */
typedef struct draw {
    uint32_t gap, left;
    uint64_t random;
} draw;

/* The clock of processor time is a system call, after which a hook takes twice as long: so this is the time of day,
   and calls in which the thread must have lost the processor do not count. */
enum { TOO_LONG = 50000 };       /* nanoseconds */

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* When this call is one to time: when it began; else 0. */
static uint64_t timed_call(void) {
    static __thread draw d __attribute__((tls_model("initial-exec")));
    if (d.left && --d.left) return 0;
    if (!d.random) d.random = ((uintptr_t)&d ^ started_us) | 1;
    hd_recorder_note(recorder, JOIN_CALLS, d.gap);
    d.random ^= d.random << 13;
    d.random ^= d.random >> 7;
    d.random ^= d.random << 17;
    d.gap = d.left = 1 + (uint32_t)((d.random >> 32) * 127 >> 32);
    now_ns();                    /* the first time waits for what it reads */
    return now_ns();
}

/* Notes the time since `began`, less what asking for it takes. */
static void timed_call_ends(uint64_t began) {
    uint64_t end = now_ns(), asked = now_ns() - end;
    unwind_stats u = { 0 };
    unwind_take_stats(&u);
    if (end - began < TOO_LONG) {
        hd_recorder_note(recorder, JOIN_TIMED, 1);
        hd_recorder_note(recorder, JOIN_NANOSECONDS, end - began > asked ? end - began - asked : 0);
    }
    hd_recorder_note(recorder, JOIN_STACKS, u.stacks);
    hd_recorder_note(recorder, JOIN_FRAMES, u.frames);
    hd_recorder_note(recorder, JOIN_SHADOWED, u.shadowed);
    hd_recorder_note(recorder, JOIN_RULES, u.rules);
    hd_recorder_note(recorder, JOIN_DECLINED, u.declined);
}

/* What takes much of the stack, on another where there is one. Nothing is recorded meanwhile. */
static void with_room(aside_fn *run, void *argument) {
    bool outside = hd_record_suspend();
    if (!unwind_aside(run, argument, outside)) run(argument);
    hd_record_resume();
}

/* Not in a handler that interrupts the recorder: the thread may hold its locks. */
static pid_t own_pid;

static bool is_outside(void) {
    bool outside = hd_record_suspend();
    hd_record_resume();
    return outside;
}

/* The region. ---------------------------------------------------------------------------------- */

/* The region of the process that is at the other end, which must be the user who records, or root. -1: none. */
static int ask_for_region(int s, const join_request *request, join_reply *reply) {
    struct iovec data = { reply, sizeof *reply };
    union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } rights;
    struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1,
                              .msg_control = &rights, .msg_controllen = sizeof rights };
    const char *user = exec_variable("HEAPDUMP_USER");
    struct cmsghdr *c;
    struct ucred peer;
    socklen_t size = sizeof peer;
    ssize_t n;
    int fd = -1;
    if (getsockopt(s, SOL_SOCKET, SO_PEERCRED, &peer, &size) ||
        (peer.uid && peer.uid != geteuid() && !(user && *user && strtoul(user, NULL, 10) == peer.uid)))
        return -1;
    if (send(s, request, sizeof *request, MSG_NOSIGNAL) != (ssize_t)sizeof *request) return -1;
    n = recvmsg(s, &message, MSG_CMSG_CLOEXEC);
    c = n < 0 ? NULL : CMSG_FIRSTHDR(&message);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
    if (n == (ssize_t)sizeof *reply && reply->version == JOIN_VERSION && reply->answer == JOIN_RECORD) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

/* Joins `heapdump record`, which may be dead or stopped. */
static int join_recording(const char *name, const join_request *request, join_reply *reply) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    static const struct timeval patience = { 10, 0 };
    int s, fd = -1;
    if (strlen(name) != JOIN_NAME || (s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) < 0) return -1;
    memcpy(address.sun_path + 1, name, JOIN_NAME);
    setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (!connect(s, (struct sockaddr *)&address, offsetof(struct sockaddr_un, sun_path) + 1 + JOIN_NAME))
        fd = ask_for_region(s, request, reply);
    close(s);
    return fd;
}

/* A region in a file, made when it is empty. */
static int keep_region(const char *path, join_reply *reply) {
    const char *sample = exec_variable("HEAPDUMP_SAMPLE"), *depth = exec_variable("HEAPDUMP_DEPTH");
    const char *ages = exec_variable("HEAPDUMP_AGES"), *threads = exec_variable("HEAPDUMP_THREADS");
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct stat st;
    void *first;
    if (fd < 0) return -1;
    flock(fd, LOCK_EX);          /* of programs that start at a time one makes it */
    if (!fstat(fd, &st) && !st.st_size) {
        uint64_t bytes = (uint64_t)1 << 40;
        while (bytes >= 1 << 20 && ftruncate(fd, (off_t)bytes)) bytes /= 2;
        first = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (first != MAP_FAILED && bytes >= 1 << 20) hd_region_init(first, bytes, NULL);
        if (first != MAP_FAILED) munmap(first, 65536);
    }
    flock(fd, LOCK_UN);
    if (fstat(fd, &st) || !S_ISREG(st.st_mode)) return close(fd), -1;
    reply->region_bytes = (uint64_t)st.st_size;
    reply->sample_bytes = sample ? strtoull(sample, NULL, 10) : 0;
    reply->depth = depth ? (uint32_t)strtoul(depth, NULL, 10) : 0;
    reply->flags = (ages && *ages ? (uint32_t)JOIN_AGES : 0) | (threads && *threads ? (uint32_t)JOIN_THREADS : 0);
    return fd;
}

/* Where addresses are limited the mapping grows, and lies far from where others are put. */
static void *map_apart(int fd, uint64_t bytes) {
    uint64_t random = started_us * 0x9e3779b97f4a7c15u >> 34 << 12;
    void *p = MAP_FAILED;
    for (uint64_t i = 1; i < 8 && region_step && p == MAP_FAILED; i++)
        p = mmap((void *)(uintptr_t)(i << 43 | random), bytes, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd, 0);
    if (p != MAP_FAILED) return p;
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
}

/* Maps what there is room for: where addresses are limited, a tenth of them at first. */
static uint64_t map_region(int fd, uint64_t bytes) {
    struct rlimit limit;
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS); /* a file with a name cannot be sealed: -1, or F_SEAL_SEAL alone on tmpfs */
    bool sealable = seals >= 0 && seals != F_SEAL_SEAL;
    if (fstat(fd, &st) || (uint64_t)st.st_size < bytes || (sealable && !(seals & F_SEAL_SHRINK))) return 0;
    region_whole = bytes;
    if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur / 10)
        region_step = bytes = limit.rlim_cur / 10;
    for (bytes &= ~(uint64_t)65535; bytes >= 1 << 18; bytes = bytes / 2 & ~(uint64_t)65535) {
        void *p = map_apart(fd, bytes);
        if (p == MAP_FAILED) continue;
        madvise(p, bytes, MADV_DONTDUMP);
        if (join_flags & JOIN_NO_CHILDREN) madvise(p, bytes, MADV_DONTFORK);
        region = p;
        return bytes;
    }
    return 0;
}

/* Whether so many addresses are free that the program will not miss a step. */
static bool is_roomy(uint64_t step) {
    void *p = mmap(NULL, 3 * step, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p != MAP_FAILED && !munmap(p, 3 * step);
}

/* Maps more of the region, behind what is mapped, a tenth of the addresses at a time, while a third of them is free. */
static uint64_t more_region(void *unused, uint64_t needed) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* inside those of the recorder, which a fork takes */
    uint64_t step, bytes;
    int saved = errno;
    (void)unused;
    if (!region_step) return region_bytes;
    pthread_mutex_lock(&lock);
    step = region_step & ~(uint64_t)65535;
    bytes = region_bytes;
    while (step && bytes < needed) {
        if (bytes + step > region_whole || !is_roomy(step) || mremap(region, bytes, bytes + step, 0) == MAP_FAILED)
            region_step = step = 0;
        else bytes += step;
    }
    region_bytes = bytes;
    pthread_mutex_unlock(&lock);
    errno = saved;
    return bytes;
}

/* False in a child of vfork, whose memory is its parent's: what it does to itself is none of the mapping's business. */
static bool is_own_process(void) { return getpid() == own_pid; }

static void bypass_hooks(void);

/* Leaves the region for good: other threads that are recording write into memory that nobody sees. */
static void leave_region(void) {
    uint64_t bytes;
    if (get_state() != READY || !is_own_process()) return;
    set_state(OFF);
    if (!is_outside()) return;
    region_step = 0;
    hd_record_suspend();
    bytes = hd_recorder_region_bytes(recorder, 0);
    munmap((char *)region + bytes, region_bytes - bytes);
    if (mmap(region, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0) == MAP_FAILED)
        munmap(region, bytes);
    region_bytes = bytes;
    hd_record_resume();
    bypass_hooks();
}

/* The recording was stopped: the program goes on as if it had never been recorded. */
static __attribute__((noinline)) void end_recording(void) {
    if (!is_own_process() || !is_outside()) return;
    over = true;
    leave_region();
}

/* Before the program limits its addresses: gives back what the region does not need yet, but for a tenth of
   what is left to the program. */
static void shrink_region(uint64_t limit) {
    uint64_t bytes;
    if (get_state() != READY || limit == RLIM_INFINITY || !is_own_process() || !is_outside()) return;
    region_step = limit / 10;
    bytes = hd_region_used(region, region_bytes) + region_step;
    if (bytes >= region_bytes) return;
    hd_record_suspend();
    bytes = hd_recorder_region_bytes(recorder, bytes);
    if (bytes && bytes < region_bytes && !munmap((char *)region + bytes, region_bytes - bytes)) region_bytes = bytes;
    hd_record_resume();
}

/* Threads. ------------------------------------------------------------------------------------- */

/* The kernel knows what a thread is called, also one that has no name of its own, and tells it without a lock or an
   allocation. It is asked when a thread allocates for the first time, and again when somebody may have named it anew;
   from outside, who lives shortly would be missed. What is allocated has the name of that moment. Names are never given
   back; places where two threads wrote the same at once, or a signal interrupted who did, do no harm. */

enum { NAMES = 256, NAME = 16 };

static struct {
    int state;
    char text[NAME];
} names[NAMES];
enum { NAME_FREE, NAME_WRITING, NAME_THERE };
static bool named;               /* JOIN_THREADS */
static bool sandboxed;           /* a filter of system calls may be there that kills who asks for a name */
static uint32_t renames;         /* of threads by others, counted */
static __thread uint32_t named_at __attribute__((tls_model("initial-exec"))); /* one more than these were; 0: unnamed */

/* A name that stays. */
static const char *keep_name(const char name[NAME]) {
    for (int i = 0; i < NAMES; i++) {
        int is = __atomic_load_n(&names[i].state, __ATOMIC_ACQUIRE);
        if (is == NAME_FREE && __atomic_compare_exchange_n(&names[i].state, &is, NAME_WRITING, false, __ATOMIC_ACQUIRE,
                                                           __ATOMIC_ACQUIRE)) {
            memcpy(names[i].text, name, NAME);
            __atomic_store_n(&names[i].state, NAME_THERE, __ATOMIC_RELEASE);
            return names[i].text;
        }
        if (is == NAME_THERE && !memcmp(names[i].text, name, NAME)) return names[i].text;
    }
    return "<other threads>";
}

static __attribute__((noinline)) void read_name(uint32_t at) {
    char name[NAME] = "";
    bool quiet = __atomic_load_n(&sandboxed, __ATOMIC_ACQUIRE);
    if (quiet && named_at) {
        named_at = at;
        return;
    }
    if (quiet || syscall(SYS_prctl, PR_GET_NAME, name, 0, 0, 0)) memcpy(name, "<unknown>", 10);
    name[NAME - 1] = 0;
    memset(name + strlen(name), 0, NAME - strlen(name));
    if (!*name) memcpy(name, "<no name>", 10);
    if (!hd_tracker_set_thread(keep_name(name))) named_at = at;
}

static inline void name_thread(void) {
    uint32_t at = __atomic_load_n(&renames, __ATOMIC_ACQUIRE) + 1;
    if (__builtin_expect(named_at != at, 0)) read_name(at);
}

/* Start. --------------------------------------------------------------------------------------- */

/* FORK_INSIDE: from a handler inside a hook, whose locks may be its own. */
enum { FORK_UNPREPARED, FORK_INSIDE, FORK_PREPARED };
static __thread int fork_is;

static void fork_prepare(void) {
    fork_is = get_state() == READY ? FORK_PREPARED : FORK_UNPREPARED;
    if (fork_is == FORK_PREPARED && !is_outside()) fork_is = FORK_INSIDE;
    if (fork_is != FORK_PREPARED) return;
    hd_record_suspend();
    for (int i = 0; i < GATES; i++) pthread_rwlock_wrlock(&gates[i].lock);
    pthread_mutex_lock(&module_lock);
    hd_recorder_fork_prepare(recorder);
    unwind_fork_prepare();
}

static void fork_parent(void) {
    if (fork_is != FORK_PREPARED) return;
    unwind_fork_done();
    hd_recorder_fork_parent(recorder);
    pthread_mutex_unlock(&module_lock);
    for (int i = 0; i < GATES; i++) pthread_rwlock_unlock(&gates[i].lock);
    hd_record_resume();
}

static void fork_child(void) {
    forked = true;
    own_pid = getpid();
    set_state(OFF);
    if (fork_is != FORK_PREPARED) return;
    unwind_clear_stats();
    unwind_fork_done();
    if (!(join_flags & JOIN_NO_CHILDREN) && hd_recorder_fork_child(recorder)) set_state(READY);
    pthread_mutex_unlock(&module_lock);
    memset(gates, 0, sizeof gates); /* an unlock would ask whether the thread's number is the same */
    hd_record_resume();
}

static bool is_below(const void *p) {
    Dl_info below, other;
    return dladdr((void *)(uintptr_t)real.malloc, &below) && dladdr(p, &other) &&
           below.dli_fbase == other.dli_fbase;
}

/* Whether an object behind this one has operator new. One that has no such table of names may. */
static int has_new(struct dl_phdr_info *info, size_t size, void *user) {
    elf_symbols s = symbols_of(info);
    bool *behind = user;
    (void)size;
    if (*behind) return s.table && (!s.hashed || find_symbol(&s, new_names[0]));
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        *behind |= ph->p_type == PT_LOAD && (uintptr_t)&has_new - info->dlpi_addr - ph->p_vaddr < ph->p_memsz;
    }
    return 0;
}

/* A search that fails would leave the program an error that is not its own, for dlerror, and its memory. */
static void find_real_new(void) {
    bool behind = false;
    if (!dl_iterate_phdr(has_new, &behind) || !dlsym(RTLD_NEXT, new_names[0])) return;
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
    FIND(dlclose, "dlclose");
    FIND(pthread_setname_np, "pthread_setname_np");
    FIND(prctl, "prctl");
    FIND(execve, "execve");
    FIND(execvpe, "execvpe");
    FIND(fexecve, "fexecve");
    FIND(posix_spawn, "posix_spawn");
    FIND(posix_spawnp, "posix_spawnp");
    FIND(setuid, "setuid");
    FIND(seteuid, "seteuid");
    FIND(setreuid, "setreuid");
    FIND(setresuid, "setresuid");
    FIND(setgid, "setgid");
    FIND(setegid, "setegid");
    FIND(setregid, "setregid");
    FIND(setresgid, "setresgid");
#undef FIND
    find_real_new();
}

static uint32_t clock_ms(void *user) {
    (void)user;
    return (uint32_t)((now_us() - started_us) / 1000);
}

static void record_from_now(const join_request *request, const join_reply *reply, int fd) {
    hd_recorder_desc desc;
    memset(&desc, 0, sizeof desc);
    join_flags = reply->flags;
    desc.region_bytes = region_bytes = map_region(fd, reply->region_bytes);
    if (!region_bytes) return;
    dl_iterate_phdr(without_pipe, NULL);
    unwind_start(meet_code);
    desc.region = region;
    desc.region_more = more_region;
    desc.name = request->program;
    desc.start_us = started_us;
    desc.sample_bytes = reply->sample_bytes;
    desc.lifetimes = (join_flags & JOIN_LIFETIMES) != 0;
    desc.ages = (join_flags & JOIN_AGES) != 0;
    desc.threads = named = (join_flags & JOIN_THREADS) != 0;
    if (desc.lifetimes || desc.ages) desc.clock = clock_ms;
    desc.blocks = (join_flags & JOIN_BLOCKS) != 0;
    desc.tracker.max_frames = reply->depth <= HD_MAX_FRAMES ? reply->depth : HD_MAX_FRAMES;
    desc.tracker.capture = HD_CAPTURE_NATIVE_STACK;
    desc.tracker.unwind = unwind;
    own_pid = getpid();
    recorder = hd_recorder_create(&desc, NULL);
    if (!recorder) {
        munmap(region, region_bytes);
        return;
    }
    timing = (join_flags & JOIN_STATS) != 0;
    dl_iterate_phdr(each_module, NULL);
    hd_record_suspend();
    pthread_atfork(fork_prepare, fork_parent, fork_child);
    hd_record_resume();
    set_state(READY);
}

static void start_inside(void *unused) {
    const char *join = exec_variable("HEAPDUMP_JOIN"), *keep = exec_variable("HEAPDUMP_KEEP");
    const char *invoked = program_invocation_short_name, *slash;
    Dl_info own;
    join_request request = { JOIN_VERSION, sizeof request, 0, "" };
    join_reply reply;
    int fd = -1, cancel;
    (void)unused;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    find_real();
    if (dladdr((void *)(uintptr_t)&each_module, &own) && own.dli_fname) exec_start(own.dli_fname);
    memset(&reply, 0, sizeof reply);
    if (!invoked || !*invoked) { /* so early that the C library does not know */
        invoked = exec_argument();
        slash = invoked ? strrchr(invoked, '/') : NULL;
        if (slash) invoked = slash + 1;
    }
    request.start_us = started_us = now_us();
    strncpy(request.program, invoked && *invoked ? invoked : "program", sizeof request.program - 1);
    if (join && *join) fd = join_recording(join, &request, &reply);
    else if (keep && *keep) fd = keep_region(keep, &reply);
    join_flags = reply.flags;
    if (fd >= 0) {
        record_from_now(&request, &reply, fd);
        close(fd);
    }
    if (get_state() != READY) {
        set_state(OFF);
        bypass_hooks();
    }
    madvise(&state, sizeof state, MADV_WIPEONFORK);
    pthread_setcancelstate(cancel, NULL);
}

/* Of the start. */
static char stack[256 * 1024] __attribute__((aligned(4096)));

/* On the first call of any hook, which may be before any constructor. */
static __attribute__((noinline)) void start(void) {
    int saved = errno;
    set_state(started ? OFF : STARTING);
    if (!started) {
        started = true;
        aside(stack, sizeof stack, start_inside, NULL);
        madvise(stack, sizeof stack, MADV_DONTNEED);
    }
    errno = saved;
}

__attribute__((constructor)) static void start_early(void) {
    if (get_state() == COLD) start();
}

/* Hooks. --------------------------------------------------------------------------------------- */

static bool ready(void) {
    int now = get_state();
    if (__builtin_expect(now == READY, 1)) return true;
    if (__builtin_expect(now != COLD, 1)) return false;
    start();
    return get_state() == READY;
}

EXPORT int pthread_setname_np(pthread_t thread, const char *name) {
    int status;
    if (!real.pthread_setname_np) ready();
    status = real.pthread_setname_np ? real.pthread_setname_np(thread, name) : ENOSYS;
    if (pthread_equal(thread, pthread_self())) named_at = 0;
    else __atomic_add_fetch(&renames, 1, __ATOMIC_RELEASE);
    return status;
}

EXPORT int prctl(int option, ...) {
    unsigned long a[4];
    va_list list;
    int status;
    va_start(list, option);
    for (int i = 0; i < 4; i++) a[i] = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS)
        __atomic_store_n(&sandboxed, true, __ATOMIC_RELEASE);
    status = real.prctl ? real.prctl(option, a[0], a[1], a[2], a[3])
                        : (int)syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]);
    if (option == PR_SET_NAME) named_at = 0; /* not before: a signal handler may allocate meanwhile */
    return status;
}

/* The frame comes as words, which go in registers: as a struct it is copied by loads that are wider than the stores just
   before, and wait for these. */
static __attribute__((noinline)) void record_alloc(void *p, size_t n, uintptr_t pc, uintptr_t sp, uintptr_t bp) {
    int saved = errno;
    uint64_t began;
    unwind_frame before = caller; /* of what this interrupts, when it is a signal handler's */
    if (__builtin_expect(hd_region_ended(region), 0)) {
        end_recording();
        errno = saved;
        return;
    }
    began = timing ? timed_call() : 0;
    if (named) name_thread();
    caller.pc = pc;
    caller.sp = sp;
    caller.bp = bp;
    hd_record_alloc(recorder, p, n, NULL);
    caller = before;
    if (began) timed_call_ends(began);
    errno = saved;
}

static __attribute__((noinline)) void record_free(void *p) {
    int saved = errno;
    uint64_t began = timing ? timed_call() : 0;
    hd_record_free(recorder, p);
    /* A program that only frees notices the end by one block in 256. */
    if (__builtin_expect(!((uintptr_t)p & 0xff0), 0) && hd_region_ended(region)) end_recording();
    if (began) timed_call_ends(began);
    errno = saved;
}

static inline void *took(void *p, size_t n, unwind_frame from) {
    if (p && (timing || !hd_record_skips_alloc(recorder, n))) record_alloc(p, n, from.pc, from.sp, from.bp);
    return p;
}

static inline void gave(void *p) {
    if (timing || !hd_record_skips_free(recorder, p)) record_free(p);
}

/* The hook of this thread that has called the allocator below: the frame it was called from; pc 0: none has. Where that
   allocator has one function by another, and calls it by name, it comes back to these hooks (reallocarray of glibc
   calls realloc, operator new of jemalloc aligned_alloc). Only the outer hook records, but for frees of other blocks
   than `gone`, which the outer one has taken out.

   An exception or a longjmp may leave it set. So a hook is inside only if it lies close below, and if the outer one's
   return address is there still. Signal handlers lie further below. */
static __thread struct { uintptr_t pc, sp; void *gone; } outer __attribute__((tls_model("initial-exec")));

static __attribute__((noinline)) bool is_nested(uintptr_t sp) {
    enum { NEAR = 1024 };
    if (outer.sp - sp - 1 >= NEAR) return false;
#if defined(__x86_64__)
    return *(const volatile uintptr_t *)(outer.sp - sizeof(uintptr_t)) == outer.pc;
#else
    return true;
#endif
}

/* Whether a hook records, which then calls the allocator below. */
static inline bool enters(unwind_frame from) {
    if (!ready() || (__builtin_expect(outer.pc != 0, 0) && is_nested(from.sp))) return false;
    outer.pc = from.pc;
    outer.sp = from.sp;
    return true;
}

/* It has: what it gave is recorded. */
static inline void *leaves(bool on, void *p, size_t n, unwind_frame from) {
    if (!on) return p;
    outer.pc = 0;
    return took(p, n, from);
}

EXPORT BYPASSED void *malloc(size_t n) {
    bool on = enters(CALLER());
    void *p = real.malloc ? real.malloc(n) : bootstrap_take(n);
    return leaves(on, p, n, CALLER());
}

EXPORT BYPASSED void *calloc(size_t n, size_t size) {
    bool on;
    void *p;
    on = enters(CALLER());
    if (!real.calloc) return size && n > sizeof bootstrap / size ? NULL : bootstrap_take(n * size);
    p = real.calloc(n, size);
    return leaves(on, p, n * size, CALLER());
}

EXPORT BYPASSED void free(void *p) {
    if (!p || is_bootstrap(p)) return;
    if (ready() && !(__builtin_expect(outer.gone == p, 0) && is_nested(CALLER().sp))) gave(p);
    if (real.free) real.free(p);
}

/* The block is taken out before it may move, because another thread can be given its address. In line, so that the
   caller is read when it is needed. */
static inline __attribute__((always_inline)) void *resized(void *p, size_t n, size_t size, bool array) {
    hd_allocation old;
    bool taken;
    void *q;
    int saved = errno;
    taken = p && hd_record_take(recorder, p, &old);
    outer.gone = p;
    errno = saved;
    q = array ? real.reallocarray(p, n, size) : real.realloc(p, n);
    outer.pc = 0;
    outer.gone = NULL;
    if (taken) {
        saved = errno;
        if (q || !n || (array && !size)) hd_record_drop(recorder, &old);
        else hd_record_restore(recorder, &old);
        errno = saved;
    }
    if (q) return took(q, array ? n * size : n, CALLER());
    return NULL;
}

static void *resized_bootstrap(void *p, size_t n) {
    void *q = malloc(n);
    size_t most = (size_t)(bootstrap + sizeof bootstrap - (char *)p);
    if (q) memcpy(q, p, n < most ? n : most);
    return q;
}

EXPORT BYPASSED void *realloc(void *p, size_t n) {
    if (p && is_bootstrap(p)) return resized_bootstrap(p, n);
    if (enters(CALLER())) return resized(p, n, 1, false);
    return real.realloc ? real.realloc(p, n) : bootstrap_take(n);
}

EXPORT BYPASSED void *reallocarray(void *p, size_t n, size_t size) {
    if (p && is_bootstrap(p)) return size && n > SIZE_MAX / size ? NULL : resized_bootstrap(p, n * size);
    if (enters(CALLER())) return resized(p, n, size, true);
    return real.reallocarray ? real.reallocarray(p, n, size) : NULL;
}

EXPORT BYPASSED int posix_memalign(void **p, size_t alignment, size_t n) {
    bool on = enters(CALLER());
    int status = real.posix_memalign ? real.posix_memalign(p, alignment, n) : ENOMEM;
    leaves(on, status ? NULL : *p, n, CALLER());
    return status;
}

EXPORT BYPASSED void *aligned_alloc(size_t alignment, size_t n) {
    bool on = enters(CALLER());
    void *p = real.aligned_alloc ? real.aligned_alloc(alignment, n) : NULL;
    return leaves(on, p, n, CALLER());
}

EXPORT BYPASSED void *memalign(size_t alignment, size_t n) {
    bool on = enters(CALLER());
    void *p = real.memalign ? real.memalign(alignment, n) : NULL;
    return leaves(on, p, n, CALLER());
}

EXPORT BYPASSED void *valloc(size_t n) {
    bool on = enters(CALLER());
    void *p = real.valloc ? real.valloc(n) : NULL;
    return leaves(on, p, n, CALLER());
}

EXPORT BYPASSED void *pvalloc(size_t n) {
    bool on = enters(CALLER());
    void *p = real.pvalloc ? real.pvalloc(n) : NULL;
    return leaves(on, p, n, CALLER());
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
    ready();
    if (__builtin_expect(!real_new[i], 0)) return new_lately(i, n, a, b);
    if (!new_is_below[i] || !enters(CALLER())) return real_new[i](n, a, b);
    return leaves(true, real_new[i](n, a, b), n, CALLER());
}

static void delete_lately(int i, void *p, uintptr_t a, uintptr_t b) {
    real_delete[i] = (delete_fn *)(uintptr_t)late(delete_names[i]);
    if (real_delete[i]) real_delete[i](p, a, b);
    else free(p);
}

static inline void delete_any(int i, void *p, uintptr_t a, uintptr_t b) {
    ready();
    if (__builtin_expect(!real_delete[i], 0)) {
        delete_lately(i, p, a, b);
    } else if (!delete_is_below[i] || !p || !enters(CALLER())) {
        real_delete[i](p, a, b);
    } else {
        gave(p);
        outer.gone = p;
        real_delete[i](p, a, b);
        outer.pc = 0;
        outer.gone = NULL;
    }
}

/* The hooks of allocators, by names that no other object's lead elsewhere. */
#define OWN(name, own) OWN_AS(name, own)
#define OWN_AS(name, own)                                       \
    extern char own[] __attribute__((visibility("hidden")));    \
    __asm__(".globl " #own "\n.hidden " #own "\n.set " #own ", " #name);

#define NEW(i, name) \
    EXPORT BYPASSED void *name(size_t n, uintptr_t a, uintptr_t b) { return new_any(i, n, a, b); }             \
    OWN(name, own_new_##i)
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
    EXPORT BYPASSED void name(void *p, uintptr_t a, uintptr_t b) { delete_any(i, p, a, b); }                   \
    OWN(name, own_delete_##i)
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

/* The addresses of what is closed are kept, and what comes there later is another's. */
EXPORT int dlclose(void *handle) {
    int status, saved;
    bool within = is_closing;
    ready();
    is_closing = true;
    status = real.dlclose ? real.dlclose(handle) : -1;
    is_closing = within;
    saved = errno;
    unwind_forget();
    if (get_state() == READY && is_outside()) {
        with_room(forget_closed, NULL);
        unwind_forget();         /* what was met meanwhile */
    }
    errno = saved;
    return status;
}

#ifdef __LP64__ /* one struct, whatever its name */
static int limit(pid_t pid, unsigned resource, const void *to, void *was) {
    int saved = errno;
    if (to && resource == RLIMIT_AS && (!pid || pid == getpid()))
        shrink_region(((const struct rlimit *)to)->rlim_cur);
    errno = saved;
    return (int)syscall(SYS_prlimit64, pid, resource, to, was);
}

/* What is mapped would be taken whole: what the region does not need yet goes before. */
EXPORT int mlockall(int flags) {
    const uint64_t as_if = (uint64_t)160 << 20; /* a tenth of it is kept beside what is used */
    int saved = errno;
    shrink_region(as_if);
    errno = saved;
    return (int)syscall(SYS_mlockall, flags);
}
EXPORT int setrlimit(__rlimit_resource_t resource, const struct rlimit *to) {
    return limit(0, (unsigned)resource, to, NULL);
}
EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *to) {
    return limit(0, (unsigned)resource, to, NULL);
}
EXPORT int prlimit(pid_t pid, __rlimit_resource_t resource, const struct rlimit *to, struct rlimit *was) {
    return limit(pid, (unsigned)resource, to, was);
}
EXPORT int prlimit64(pid_t pid, __rlimit_resource_t resource, const struct rlimit64 *to, struct rlimit64 *was) {
    return limit(pid, (unsigned)resource, to, was);
}
#endif

/* Where only one user is to be recorded, whoever becomes another one is not from there on. -1: stays. */
static void becomes(const id_t *now, id_t a, id_t b, id_t c) {
    id_t to[3] = { a, b, c };
    int saved = errno;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            if (ready() && join_flags & JOIN_SAME_USER && to[i] != (id_t)-1 && to[i] != now[k]) leave_region();
    errno = saved;
}

static void becomes_user(uid_t a, uid_t b, uid_t c) {
    uid_t now[3] = { 0, 0, 0 };
    getresuid(&now[0], &now[1], &now[2]);
    becomes(now, a, b, c);
}

static void becomes_group(gid_t a, gid_t b, gid_t c) {
    gid_t now[3] = { 0, 0, 0 };
    getresgid(&now[0], &now[1], &now[2]);
    becomes(now, a, b, c);
}

EXPORT int setuid(uid_t u) { return becomes_user(u, u, u), real.setuid(u); }
EXPORT int seteuid(uid_t u) { return becomes_user(u, u, u), real.seteuid(u); }
EXPORT int setreuid(uid_t r, uid_t e) { return becomes_user(r, e, e), real.setreuid(r, e); }
EXPORT int setresuid(uid_t r, uid_t e, uid_t s) { return becomes_user(r, e, s), real.setresuid(r, e, s); }
EXPORT int setgid(gid_t g) { return becomes_group(g, g, g), real.setgid(g); }
EXPORT int setegid(gid_t g) { return becomes_group(g, g, g), real.setegid(g); }
EXPORT int setregid(gid_t r, gid_t e) { return becomes_group(r, e, e), real.setregid(r, e); }
EXPORT int setresgid(gid_t r, gid_t e, gid_t s) { return becomes_group(r, e, s), real.setresgid(r, e, s); }

OWN(malloc, own_malloc)
OWN(calloc, own_calloc)
OWN(free, own_free)
OWN(realloc, own_realloc)
OWN(reallocarray, own_reallocarray)
OWN(posix_memalign, own_posix_memalign)
OWN(aligned_alloc, own_aligned_alloc)
OWN(memalign, own_memalign)
OWN(valloc, own_valloc)
OWN(pvalloc, own_pvalloc)

/* Blocks of the start are nobody's below: where there are any, they have to be told from others. */
static void bypass_hooks(void) {
#define BELOW(name) { own_##name, (void *const *)(const void *)&real.name }
#define NEW(i) { own_new_##i, (void *const *)(const void *)&real_new[i] }
#define DELETE(i) { own_delete_##i, (void *const *)(const void *)&real_delete[i] }
    static const bypass hooks[] = {
        BELOW(free), BELOW(realloc), BELOW(reallocarray), BELOW(malloc), BELOW(calloc), BELOW(posix_memalign),
        BELOW(aligned_alloc), BELOW(memalign), BELOW(valloc), BELOW(pvalloc), NEW(0), NEW(1), NEW(2), NEW(3), NEW(4),
        NEW(5), NEW(6), NEW(7), DELETE(0), DELETE(1), DELETE(2), DELETE(3), DELETE(4), DELETE(5), DELETE(6), DELETE(7),
        DELETE(8), DELETE(9), DELETE(10), DELETE(11) };
    enum { GIVERS = 3 };
    size_t from = bootstrap_used ? GIVERS : 0;
    bypass_all(hooks + from, sizeof hooks / sizeof *hooks - from);
#undef BELOW
#undef NEW
#undef DELETE
}

/* Programs that this one becomes, or starts: exec.h. */
static bool passes(void) {
    return !over && !(join_flags & JOIN_NO_CHILDREN) && !(join_flags & JOIN_SAME_USER && get_state() == OFF);
}

EXPORT int execve(const char *path, char *const *arguments, char *const *variables) {
    exec_passed passed = exec_pass(path, false, variables, passes());
    int status = real.execve ? real.execve(path, arguments, passed.variables)
                             : (int)syscall(SYS_execve, path, arguments, passed.variables);
    exec_failed(&passed);
    return status;
}
EXPORT int execv(const char *path, char *const *arguments) { return execve(path, arguments, environ); }
EXPORT int execvpe(const char *file, char *const *arguments, char *const *variables) {
    exec_passed passed = exec_pass(file, true, variables, passes());
    int status = real.execvpe ? real.execvpe(file, arguments, passed.variables) : (errno = ENOSYS, -1);
    exec_failed(&passed);
    return status;
}
EXPORT int execvp(const char *file, char *const *arguments) { return execvpe(file, arguments, environ); }
EXPORT int fexecve(int fd, char *const *arguments, char *const *variables) {
    exec_passed passed = exec_pass(NULL, false, variables, passes());
    int status = real.fexecve ? real.fexecve(fd, arguments, passed.variables) : (errno = ENOSYS, -1);
    exec_failed(&passed);
    return status;
}
EXPORT int execveat(int fd, const char *path, char *const *arguments, char *const *variables, int flags) {
    exec_passed passed = exec_pass(NULL, false, variables, passes());
    int status = (int)syscall(SYS_execveat, fd, path, arguments, passed.variables, flags);
    exec_failed(&passed);
    return status;
}
EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *how, char *const *arguments, char *const *variables) {
    exec_passed passed = exec_pass(path, false, variables, passes());
    int status = real.posix_spawn ? real.posix_spawn(pid, path, actions, how, arguments, passed.variables) : ENOSYS;
    exec_failed(&passed);
    return status;
}
EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *how, char *const *arguments, char *const *variables) {
    exec_passed passed = exec_pass(file, true, variables, passes());
    int status = real.posix_spawnp ? real.posix_spawnp(pid, file, actions, how, arguments, passed.variables) : ENOSYS;
    exec_failed(&passed);
    return status;
}

/* The arguments of execl and its like, as an array on the stack; what follows their end stays in `list`. */
#define LISTED(first)                                                                   \
    va_list list, counted;                                                              \
    size_t count = 0;                                                                   \
    va_start(counted, first);                                                           \
    while (count++, va_arg(counted, char *)) {}                                         \
    va_end(counted);                                                                    \
    char *arguments[count + 1];                                                         \
    arguments[0] = (char *)(uintptr_t)first;                                            \
    va_start(list, first);                                                              \
    for (size_t i = 1; i <= count; i++) arguments[i] = va_arg(list, char *)

EXPORT int execl(const char *path, const char *first, ...) {
    LISTED(first);
    va_end(list);
    return execve(path, arguments, environ);
}
EXPORT int execlp(const char *file, const char *first, ...) {
    LISTED(first);
    va_end(list);
    return execvpe(file, arguments, environ);
}
EXPORT int execle(const char *path, const char *first, ...) {
    LISTED(first);
    char **variables = va_arg(list, char **);
    va_end(list);
    return execve(path, arguments, variables);
}
