/* A register without a recorder, in pages of the OS: finds the owner of an address, and lists blocks never freed. */

#include <inttypes.h>

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

enum { LOADER = 1, CACHE = 2 };  /* contexts: any numbers */

int main(void) {
    hd_error err;
    hd_register *reg = hd_register_create(&err);
    hd_allocation found, removed;
    hd_cursor cursor = { 0, 0 };
    uint64_t start = 0x10000;
    hd_status status = reg ? HD_OK : err.status;
    for (uint32_t i = 0; i < 1000 && !status; i++) {
        hd_allocation a = { start + 64 * i, 48, LOADER, i };
        status = hd_register_insert(reg, &a, NULL);
    }
    if (status) return fprintf(stderr, "%s\n", hd_status_text(status)), 1;
    hd_register_set_context(reg, start + 64, CACHE); /* another part of the program owns it now */
    for (uint64_t i = 0; i < 998; i++) hd_register_remove(reg, start + 64 * (i < 1 ? i : i + 1), &removed);
    printf("last freed: %" PRIu64 " bytes, allocated at time %" PRIu32 "\n", removed.size, removed.time);
    printf("a block at %#" PRIx64 ": %s\n", start, hd_register_find(reg, start, &found) ? "yes" : "no");
    printf("%" PRIu64 " blocks were never freed:\n", hd_register_count(reg));
    while (hd_register_next(reg, &cursor, &found))
        printf("%#" PRIx64 ", %" PRIu64 " bytes, of the %s\n", found.address, found.size,
               found.context == CACHE ? "cache" : "loader");
    hd_register_clear(reg);      /* returns its memory to the OS */
    printf("cleared: %" PRIu64 " blocks\n", hd_register_count(reg));
    hd_register_free(reg);
    return fflush(stdout);
}
