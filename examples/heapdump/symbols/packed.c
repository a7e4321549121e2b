/* Debug information compressed with zstd (-gz=zstd), which libdw before 0.189 does not read. */

#include "dwarf.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <zstd.h>

enum {
    PACKED_ZSTD = 2,             /* ELFCOMPRESS_ZSTD, which elf.h may lack */
    PACKED_MOST = 1024           /* largest ratio of decompressed to compressed size in debug information */
};

/* Decompresses a section; NULL if it is not compressed with zstd, or is damaged. */
static unsigned char *packed_section(const unsigned char *file, size_t size, const Elf64_Shdr *s,
                                     Elf64_Chdr *h) {
    unsigned char *bytes;
    size_t length;
    if (!(s->sh_flags & SHF_COMPRESSED) || s->sh_type == SHT_NOBITS || s->sh_offset > size ||
        s->sh_size > size - s->sh_offset || s->sh_size < sizeof *h)
        return NULL;
    memcpy(h, file + s->sh_offset, sizeof *h);
    length = (size_t)s->sh_size - sizeof *h;
    if (h->ch_type != PACKED_ZSTD || h->ch_size / PACKED_MOST > length) return NULL;
    bytes = needed(malloc((size_t)h->ch_size + 1));
    if (ZSTD_decompress(bytes, (size_t)h->ch_size, file + s->sh_offset + sizeof *h, length) == h->ch_size)
        return bytes;
    free(bytes);
    return NULL;
}

uint64_t symbols_written, symbols_written_most;

bool symbols_write(int fd, const void *data, size_t size, size_t at) {
    const char *bytes = data;
    symbols_written += size;
    if (symbols_written > symbols_written_most) memory_ends();
    while (size) {
        ssize_t n = pwrite(fd, bytes, size, (off_t)at);
        if (n <= 0) return false;
        bytes += n, at += (size_t)n, size -= (size_t)n;
    }
    return true;
}

static int packed_begin(const unsigned char *file, size_t size) {
    int fd = memfd_create("symbols", MFD_CLOEXEC);
    if (fd < 0 || symbols_write(fd, file, size, 0)) return fd;
    close(fd);
    return -1;
}

/* Copies the file and appends its decompressed sections, with section headers that point to them. -1 if no section is
   compressed with zstd. */
static int packed_copy(const unsigned char *file, size_t size, const Elf64_Ehdr *e) {
    int fd = -1;
    size_t end = size;
    for (uint64_t i = 0; i < e->e_shnum; i++) {
        size_t at = (size_t)e->e_shoff + (size_t)i * sizeof(Elf64_Shdr);
        Elf64_Shdr s;
        Elf64_Chdr h;
        FREED unsigned char *bytes = NULL;
        bool written;
        memcpy(&s, file + at, sizeof s);
        if (!(bytes = packed_section(file, size, &s, &h))) continue;
        if (fd < 0 && (fd = packed_begin(file, size)) < 0) break;
        end = (end + 15) & ~(size_t)15;
        s.sh_flags &= ~(Elf64_Xword)SHF_COMPRESSED;
        s.sh_offset = end;
        s.sh_size = h.ch_size;
        s.sh_addralign = h.ch_addralign;
        written = symbols_write(fd, bytes, (size_t)h.ch_size, end) && symbols_write(fd, &s, sizeof s, at);
        end += (size_t)h.ch_size;
        if (!written) break;
    }
    return fd;
}

/* A descriptor from which libdw can read the object: `fd` itself, or a decompressed copy (then `fd` is closed). */
int symbols_unpacked(int fd) {
    struct stat st;
    Elf64_Ehdr e;
    unsigned char *file;
    const unsigned one = 1;
    int copy = -1;
    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof e) return fd;
    file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED) return fd;
    memcpy(&e, file, sizeof e);
    if (!memcmp(e.e_ident, ELFMAG, SELFMAG) && e.e_ident[EI_CLASS] == ELFCLASS64 &&
        e.e_ident[EI_DATA] == (*(const char *)&one ? ELFDATA2LSB : ELFDATA2MSB) &&
        e.e_shentsize == sizeof(Elf64_Shdr) &&
        e.e_shoff <= (size_t)st.st_size && e.e_shnum <= ((size_t)st.st_size - e.e_shoff) / sizeof(Elf64_Shdr))
        copy = packed_copy(file, (size_t)st.st_size, &e);
    munmap(file, (size_t)st.st_size);
    if (copy < 0) return fd;
    close(fd);
    return copy;
}
