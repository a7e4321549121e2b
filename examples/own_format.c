/* An own format that is read next to all built-in ones: lines of a size and a path, as printed by find -type f
   -printf '%s %p\n'. own_format FILE prints the largest directories and files. */

#include <string.h>

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

static int detect_sizes(const uint8_t *bytes, size_t size) {
    return size && bytes[0] >= '0' && bytes[0] <= '9' ? 10 : 0; /* a low score: formats that are more certain win */
}

/* "120 src/main.c": directories are frames. */
static hd_status add_line(hd_lines *line, hd_profile *profile) {
    uint64_t bytes;
    uint32_t nodes[2] = { 0, 0 };
    hd_status status = HD_OK;
    const char *wrong = hd_lines_number(line, 10, &bytes);
    if (!wrong && !hd_lines_take(line, " ")) wrong = "a space and a path";
    if (wrong) return hd_lines_wrong(line, wrong); /* strict: an error; lenient: a warning, and the line is skipped */
    for (const char *name = line->at, *stop; name < line->end && !status; name = stop + 1) {
        stop = (const char *)memchr(name, '/', (size_t)(line->end - name));
        if (!stop) stop = line->end;
        status = hd_profile_node(profile, HD_AXIS_BACKTRACE, nodes[0], (hd_str){ name, (size_t)(stop - name) },
                                 &nodes[0], line->err);
    }
    return status ? status : hd_profile_add(profile, nodes, bytes, 1, line->err);
}

static hd_status add_lines(hd_dump *dump, hd_in in, hd_profile *profile, hd_error *err) {
    hd_lines lines = hd_lines_of(hd_dump_window(dump, in), hd_dump_reporter(dump), err);
    for (;;) {
        hd_status status = hd_lines_next(&lines);
        if (!status && !lines.start) return HD_OK;
        if (!status) status = add_line(&lines, profile);
        if (status) return status;
    }
}

static hd_status read_sizes(hd_dump *dump, hd_in in, const hd_options *options, hd_error *err) {
    hd_profile_desc desc = { .allocator = options->allocator, .limits = options->limits };
    hd_profile *profile = hd_profile_create(&desc, err);
    hd_heap heap = { .allocator = "files", .profile = profile };
    hd_status status = profile ? add_lines(dump, in, profile, err) : err->status;
    if (!status) return hd_dump_add_heap(dump, &heap, err); /* from now on the dump owns it */
    hd_profile_free(profile);
    return status;
}

int main(int argc, char **argv) {
    static const hd_format sizes = { .name = "sizes", .title = "sizes of files", .detect = detect_sizes,
                                     .read = read_sizes };
    hd_options options = { .formats = &sizes, .format_count = 1 };
    hd_tree_options tree = { .cutoff = { .min_share = 0.1 }, .units = true };
    hd_dump *dump = NULL;
    hd_error err;
    hd_status status = argc == 2 ? hd_read_file(argv[1], &options, &dump, &err) : HD_INVALID;
    for (size_t i = 0; !status && i < hd_dump_heap_count(dump); i++)
        status = hd_print_tree(hd_dump_heap(dump, i), &tree, hd_out_file(stdout), &err);
    if (status) fprintf(stderr, "%s\n", argc == 2 ? err.message : "usage: own_format FILE");
    hd_dump_free(dump);
    return status != HD_OK || fflush(stdout);
}
