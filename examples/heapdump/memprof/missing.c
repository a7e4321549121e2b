/* Addresses of MemProf profiles without names, and binaries that are missing. */

#include "memprof.h"

#include <elf.h>
#include <link.h>

void symbols_counts_make(symbols_counts *x, symbols *names, const hd_memprof_raw *raw) {
    *x = (symbols_counts){ .names = names, .raw = raw };
    x->missing = needed(calloc((size_t)raw->segment_count + 1, sizeof *x->missing));
}

void symbols_counts_free(symbols_counts *x) { free(x->missing); }

uint32_t symbols_counted(void *user, const hd_memprof_address *a, hd_memprof_frame *frames, uint32_t capacity) {
    symbols_counts *x = user;
    uint32_t n = x->names ? symbols_linked(x->names, a, frames, capacity) : 0;
    x->addresses++;
    if (n == 1 && x->skips_new && frames->function.len > 4 &&
        (!memcmp(frames->function.data, "_Znw", 4) || !memcmp(frames->function.data, "_Zna", 4)))
        return 0;
    if (n) return n;
    if (!a->segment) x->outside++;
    else if (x->names && symbols_binary(x->names, a)) x->unnamed++;
    else x->absent++, x->missing[a->segment - x->raw->segments]++;
    return 0;
}

/* Finds a library by build id among the libraries of this process; libc is one of them. */
typedef struct own_library {
    const hd_memprof_segment *segment;
    const char *name;
} own_library;

static int own_library_look(struct dl_phdr_info *info, size_t size, void *user) {
    own_library *x = user;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        const uint8_t *notes = (const uint8_t *)info->dlpi_addr + h->p_vaddr;
        ElfW(Nhdr) n;
        if (h->p_type != PT_NOTE || !*info->dlpi_name) continue;
        for (size_t at = 0; at + sizeof n <= h->p_memsz; at += (n.n_descsz + 3) & ~3u) {
            memcpy(&n, notes + at, sizeof n);
            at += sizeof n + ((n.n_namesz + 3) & ~3u);
            if (n.n_type != NT_GNU_BUILD_ID || n.n_descsz != x->segment->build_id_size ||
                memcmp(notes + at, x->segment->build_id, n.n_descsz))
                continue;
            x->name = info->dlpi_name;
            return 1;
        }
    }
    return 0;
}

static void warn_segment(const hd_memprof_segment *s, uint32_t missing) {
    const char *of = missing == 1 ? "" : "es";
    own_library own = { .segment = s };
    char id[65];
    symbols_build_id(id, s->build_id, s->build_id_size);
    if (*id) display(stderr, "heapdump: no --binary has build id %s (%u address%s)", id, missing, of);
    else display(stderr, "heapdump: no --binary fits the module at %#llx to %#llx without build id (%u address%s)",
                 (unsigned long long)s->start, (unsigned long long)s->end, missing, of);
    if (*id && dl_iterate_phdr(own_library_look, &own)) display(stderr, ": %s", own.name);
    fputc('\n', stderr);
}

/* Adds up adjacent segments of one file in the first of them. */
static uint32_t unite_segments(symbols_counts *x) {
    uint32_t count = 0;
    for (uint32_t s = x->raw->segment_count; s-- > 0;) {
        const hd_memprof_segment *a = &x->raw->segments[s], *b = a - 1;
        if (s && a->build_id_size && a->build_id_size == b->build_id_size &&
            !memcmp(a->build_id, b->build_id, a->build_id_size))
            x->missing[s - 1] += x->missing[s], x->missing[s] = 0;
        count += x->missing[s] != 0;
    }
    return count;
}

void symbols_warn_absent(symbols_counts *x) {
    enum { LISTED = 8 };
    uint32_t left = x->absent, files = unite_segments(x);
    for (uint32_t n = 0; n < LISTED && files; n++, files--) {
        uint32_t most = 0;
        for (uint32_t s = 1; s < x->raw->segment_count; s++)
            if (x->missing[s] > x->missing[most]) most = s;
        warn_segment(&x->raw->segments[most], x->missing[most]);
        left -= x->missing[most];
        x->missing[most] = 0;
    }
    if (files)
        display(stderr, "heapdump: %u more binar%s missing (%u address%s)\n", files, files == 1 ? "y is" : "ies are",
                left, left == 1 ? "" : "es");
}

void symbols_warn_unnamed(symbols_counts *x) {
    uint32_t nameless = x->absent + x->unnamed + x->outside;
    if (!nameless) return;
    display(stderr, "heapdump: no name for %u of %u address%s:", nameless, x->addresses,
            x->addresses == 1 ? "" : "es");
    if (x->absent) display(stderr, " %u without --binary%s", x->absent, x->absent < nameless ? "," : "");
    if (x->unnamed) display(stderr, " %u not named in the --binary%s", x->unnamed, x->outside ? "," : "");
    if (x->outside) display(stderr, " %u outside all modules", x->outside);
    fputc('\n', stderr);
    symbols_warn_absent(x);
}
