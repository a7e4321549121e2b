/* Hooks of calls that only some allocators have: jemalloc's own calls, and calls of C23.
   A part of heapdump_record.c, which includes it once.

   A program may look for such a call (by a weak symbol, or dlsym), and fails if it needs a missing one. So this
   library exports none of them. If an object behind the library has the call, the symbol table of that object leads
   to the hook from the start on. This covers objects loaded later, calls bound later, and dlsym. Calls that are
   already bound are replaced in their tables. */
#ifndef RECORD_ALLOCATOR_CALLS_H
#define RECORD_ALLOCATOR_CALLS_H

static struct {
    void *(*mallocx)(size_t, int);
    void *(*rallocx)(void *, size_t, int);
    size_t (*xallocx)(void *, size_t, size_t, int);
    void (*dallocx)(void *, int);
    void (*sdallocx)(void *, size_t, int);
    void (*free_sized)(void *, size_t);
    void (*free_aligned_sized)(void *, size_t, size_t);
} extra;

static BYPASSED void *extra_mallocx(size_t n, int flags) {
    bool on = enters(CALLER());
    void *p = extra.mallocx(n, flags);
    return leaves(on, p, n, CALLER());
}

static BYPASSED void *extra_rallocx(void *p, size_t n, int flags) {
    hd_resize resize;
    void *q;
    if (!enters(CALLER())) return extra.rallocx(p, n, flags);
    resize_begins(p, &resize);
    q = extra.rallocx(p, n, flags);
    if (q) resize_ends(&resize, q, n, CALLER());
    else resize_fails(&resize);
    return q;
}

/* Resizes in place to n bytes, and up to `more` beyond if possible. Returns the new size, which may exceed the
   request; a result below n means that the block is unchanged. */
static BYPASSED size_t extra_xallocx(void *p, size_t n, size_t more, int flags) {
    hd_resize resize;
    size_t is;
    if (!enters(CALLER())) return extra.xallocx(p, n, more, flags);
    resize_begins(p, &resize);
    is = extra.xallocx(p, n, more, flags);
    if (is >= n) resize_ends(&resize, p, is - n < more ? is : n + more, CALLER());
    else resize_fails(&resize);
    return is;
}

/* Whether this hook is the outer one, and recorded that the block is freed. */
static inline bool frees(void *p, unwind_frame from) {
    if (!p) return false;
    if (enters(from)) {
        gave(p);
        outer.gone = p;
        return true;
    }
    if (outer.gone != p && ready()) gave(p);
    return false;
}

static inline void freed(bool on) {
    if (!on) return;
    outer.pc = 0;
    outer.gone = NULL;
}

static BYPASSED void extra_dallocx(void *p, int flags) {
    bool on = frees(p, CALLER());
    extra.dallocx(p, flags);
    freed(on);
}

static BYPASSED void extra_sdallocx(void *p, size_t n, int flags) {
    bool on = frees(p, CALLER());
    extra.sdallocx(p, n, flags);
    freed(on);
}

static BYPASSED void extra_free_sized(void *p, size_t n) {
    bool on = frees(p, CALLER());
    extra.free_sized(p, n);
    freed(on);
}

static BYPASSED void extra_free_aligned_sized(void *p, size_t alignment, size_t n) {
    bool on = frees(p, CALLER());
    extra.free_aligned_sized(p, alignment, n);
    freed(on);
}

enum { EXTRAS = 7 };
static const char *const extra_names[EXTRAS] = {
    "mallocx", "rallocx", "xallocx", "dallocx", "sdallocx", "free_sized", "free_aligned_sized" };
#define EXTRA(name) { (void *)(uintptr_t)extra_##name, (void *const *)(void *)&extra.name }
static const bypass extra_hooks[EXTRAS] = {
    EXTRA(mallocx), EXTRA(rallocx), EXTRA(xallocx), EXTRA(dallocx), EXTRA(sdallocx), EXTRA(free_sized),
    EXTRA(free_aligned_sized) };
#undef EXTRA

/* Replaces a word of an object, which may be read-only. Not in a segment with code: some systems would refuse to run
   it afterwards. */
static void replace_word(const struct dl_phdr_info *info, const void *word, uintptr_t value) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)word & ~(page - 1);
    uint32_t flags = 0;
    bool sealed = false;         /* read-only after relocation */
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + ph->p_vaddr;
        if (ph->p_type == PT_LOAD && (uintptr_t)word - start < ph->p_memsz) flags = ph->p_flags;
        if (ph->p_type == PT_GNU_RELRO)
            sealed = at >= (start & ~(page - 1)) && at < ((start + ph->p_memsz) & ~(page - 1));
    }
    if (flags & PF_X || !(flags & PF_R)) return;
    sealed |= !(flags & PF_W);
    if (sealed && mprotect((void *)at, page, PROT_READ | PROT_WRITE)) return;
    __atomic_store_n((uintptr_t *)(uintptr_t)word, value, __ATOMIC_RELEASE);
    if (sealed) mprotect((void *)at, page, PROT_READ);
}

/* Looks for a call in each object behind this library, and uses the first one. */
static int find_extras(struct dl_phdr_info *info, size_t size, void *user) {
    elf_symbols s = symbols_of(info);
    bool *behind = user;
    (void)size;
    for (size_t i = 0; *behind && i < EXTRAS; i++) {
        const ElfW(Sym) *symbol = *extra_hooks[i].below ? NULL : find_symbol(&s, extra_names[i]);
        if (!symbol || (symbol->st_info & 15) != STT_FUNC || !symbol->st_value) continue;
        *(void **)(uintptr_t)extra_hooks[i].below = (void *)(info->dlpi_addr + symbol->st_value);
        replace_word(info, &symbol->st_value, (uintptr_t)extra_hooks[i].hook - info->dlpi_addr);
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        *behind |= ph->p_type == PT_LOAD && (uintptr_t)&find_extras - info->dlpi_addr - ph->p_vaddr < ph->p_memsz;
    }
    return 0;
}

/* Replaces calls in a table of relocations. An entry has `each` bytes, and may lead to a call. */
static void bind_slots(const struct dl_phdr_info *info, uintptr_t table, size_t size, size_t each) {
    for (size_t at = 0; table && at + each <= size; at += each) {
        const ElfW(Rel) *r = (const ElfW(Rel) *)(table + at);
        uintptr_t symbol = sizeof r->r_info == 8 ? (uintptr_t)((uint64_t)r->r_info >> 32) : (uintptr_t)r->r_info >> 8;
        const uintptr_t *slot = (const uintptr_t *)(info->dlpi_addr + r->r_offset);
        if (!symbol || (uintptr_t)slot % sizeof *slot) continue;
        for (size_t i = 0; i < EXTRAS; i++)
            if (*extra_hooks[i].below && *slot == (uintptr_t)*extra_hooks[i].below)
                replace_word(info, slot, (uintptr_t)extra_hooks[i].hook);
    }
}

static int bind_extras(struct dl_phdr_info *info, size_t size, void *user) {
    uintptr_t tables[3] = { 0 };
    size_t sizes[3] = { 0 }, called = sizeof(ElfW(Rela));
    (void)size, (void)user;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Dyn) *d = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
        for (; d->d_tag != DT_NULL; d++) {
            uintptr_t at = d->d_un.d_ptr + (d->d_un.d_ptr < info->dlpi_addr ? info->dlpi_addr : 0);
            if (d->d_tag == DT_RELA) tables[0] = at;
            if (d->d_tag == DT_RELASZ) sizes[0] = d->d_un.d_val;
            if (d->d_tag == DT_REL) tables[1] = at;
            if (d->d_tag == DT_RELSZ) sizes[1] = d->d_un.d_val;
            if (d->d_tag == DT_JMPREL) tables[2] = at;
            if (d->d_tag == DT_PLTRELSZ) sizes[2] = d->d_un.d_val;
            if (d->d_tag == DT_PLTREL && d->d_un.d_val == DT_REL) called = sizeof(ElfW(Rel));
        }
    }
    bind_slots(info, tables[0], sizes[0], sizeof(ElfW(Rela)));
    bind_slots(info, tables[1], sizes[1], sizeof(ElfW(Rel)));
    bind_slots(info, tables[2], sizes[2], called);
    return 0;
}

/* Called before anything is recorded. */
static void hook_extras(void) {
    bool behind = false, any = false;
    dl_iterate_phdr(find_extras, &behind);
    for (size_t i = 0; i < EXTRAS; i++) any |= *extra_hooks[i].below != NULL;
    if (any) dl_iterate_phdr(bind_extras, NULL);
}

#endif
