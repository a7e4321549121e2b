/* Shared by the harnesses: checks, inputs in pieces, a digest of heaps. Include after heapdump.h. */
#include <stdlib.h>

#define CHECK(x) ((x) ? (void)0 : abort())

/* Reads 1 to 13 bytes at a time, depending on the next byte. */
HD_UNUSED static int64_t read_piece(void *user, void *buffer, size_t capacity) {
    hd_in *left = (hd_in *)user;
    size_t n = left->size ? 1 + *left->data % 13 : 0;
    if (n > left->size) n = (size_t)left->size;
    if (n > capacity) n = capacity;
    memcpy(buffer, left->data, n);
    left->data += n;
    left->size -= n;
    return (int64_t)n;
}

HD_UNUSED static uint64_t mixed(uint64_t hash, const char *text) { return hd__hash_bytes(hash, text, strlen(text)); }
HD_UNUSED static const char *dump_of(const hd_heap *h) { return h->dump ? h->dump : "0x1"; }

/* A digest of all facts of the heaps, independent of their order. */
HD_UNUSED static uint64_t heaps_digest(const hd_heap *heaps, size_t n) {
    uint64_t sum = n;
    for (size_t i = 0; i < n; i++) {
        const hd_heap *h = &heaps[i];
        uint64_t label = hd__hash_u64(hd__hash_u64(h->pid, h->time_us), h->profile != NULL);
        bool counted = true;     /* heaps_v2 has counts for all cells, or for none */
        hd_breakdown *b;
        for (uint32_t c = 0; h->profile && c < hd_profile_cells(h->profile).count; c++)
            counted &= hd_profile_cells(h->profile).amount[c].blocks != HD_UNKNOWN;
        label = mixed(mixed(mixed(label, dump_of(h)), h->allocator ? h->allocator : ""), h->process ? h->process : "");
        CHECK(!hd_heap_break_down(h, NULL, NULL, &b, NULL));
        for (uint32_t e = 0; e < b->entries.count; e++) {
            uint64_t hash = hd__hash_u64(hd__hash_u64(label, b->entries.amount[e].bytes), counted ? b->entries.amount[e].blocks : HD_UNKNOWN);
            for (uint32_t a = 0; a < b->entries.axis_count; a++)
                for (uint32_t k = b->entries.node[b->entries.axis_count * (size_t)e + a]; k != HD_NONE; k = b->axis[a].parent[k])
                    hash = hd__hash_bytes(hash, b->axis[a].node_name[k].data, b->axis[a].node_name[k].len);
            sum += hash;
        }
        hd_breakdown_free(b);
    }
    return sum;
}

/* Other texts do not always survive: invalid UTF-8 is written as U+FFFD, and labels end at a NUL. */
HD_UNUSED static bool text_is_ascii(const char *text, size_t len) {
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)(text[i] - 1) > 0x7e) return false;
    return true;
}

HD_UNUSED static bool heaps_are_ascii(const hd_heap *heaps, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const char *label[3] = { heaps[i].process, heaps[i].dump, heaps[i].allocator };
        uint32_t axes = heaps[i].profile ? hd_profile_axis_count(heaps[i].profile) : heaps[i].breakdown->entries.axis_count;
        for (int k = 0; k < 3; k++)
            if (label[k] && !text_is_ascii(label[k], strlen(label[k]))) return false;
        for (uint32_t a = 0; a < axes; a++) {
            hd_axis axis = heaps[i].profile ? hd_profile_axis(heaps[i].profile, a) : heaps[i].breakdown->axis[a];
            for (uint32_t k = 0; k < axis.node_count; k++)
                if (!text_is_ascii(axis.node_name[k].data, axis.node_name[k].len)) return false;
        }
    }
    return true;
}
