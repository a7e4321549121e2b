/* The modules in the region: the code that contains program counters, its build ids, and unloading.
   A part of heapdump_record.c, which includes it once. */
#ifndef RECORD_MODULES_H
#define RECORD_MODULES_H

/* Ranges of code that the region has. They are read without a lock. A range that looks unknown is checked again under
   the lock. */
typedef struct module {
    uintptr_t start, end;
    uint64_t name;               /* a hash of it: another object may be loaded at the same address later */
    uint32_t seen;               /* number of the last scan of loaded objects that found it */
    bool loaded, kept;           /* kept: unloaded, and its addresses are not used again */
} module;

enum { MODULES = 4096, TRANSPARENTS = 64 };
static module modules[MODULES];
static uint32_t module_count, looks;
static uintptr_t transparent[TRANSPARENTS]; /* start addresses of operator new and similar functions; 0: free */
static pthread_mutex_t module_lock = PTHREAD_MUTEX_INITIALIZER; /* no lock of the loader is taken inside it */

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

/* dlopen may have had a path relative to the working directory, which is probably still the same. */
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

/* Finds the build id among an object's notes. These are mapped with its code or before it. */
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

/* Adds a range of code. If it overlaps an older range, that was unloaded without a call of dlclose. */
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

/* The symbol tables of an object. */
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

/* A function by its name, without the loader's lock; NULL: not found. */
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

/* operator new is transparent: it allocates for its caller. */
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

/* Adds an object. */
static int each_module(struct dl_phdr_info *info, size_t size, void *user) {
    static char exe[4096];       /* read once: not available after the main thread has ended */
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
        /* Linked into the program itself, this library's frames cannot be distinguished from the program's. */
        if (path != exe && (uintptr_t)&each_module - m.start < ph->p_memsz) own_start = m.start, own_end = m.end;
        add_module(&m, hash_of(path));
        if (own_start != m.start) add_transparent(info, &m);
    }
    return 0;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
/* Adds the object that contains an address of code, by its mapped headers. It takes no lock of the loader: another
   thread may have held it when this process forked. */
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

/* Checks code that may be new. The unwinder calls this, without any lock of the recorder. */
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

/* Keeps the addresses of an unloaded object free of other objects, so that its frames keep their names. This costs
   addresses, not memory. It has a limit, because a program may load and unload all day. */
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

/* Called after objects were unloaded. */
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

#endif
