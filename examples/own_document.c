/* An own format with a document that can be written again, and scalars: the figures of a process in /proc/PID/status.
   own_document FILE */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

static int detect(const uint8_t *bytes, size_t size) { return size > 5 && !memcmp(bytes, "Name:", 5) ? 90 : 0; }

/* "VmRSS:     1236 kB" */
static hd_status add_line(hd_dump *dump, const char *line, size_t length, hd_error *err) {
    char name[32] = "";
    hd_scalar scalar = { .name = name, .units = "bytes" };
    size_t n = strcspn(line, ":\n");
    if (strncmp(line, "Vm", 2) || n >= sizeof name || n >= length || line[n] != ':') return HD_OK;
    memcpy(name, line, n);
    scalar.value = 1024 * strtoull(line + n + 1, NULL, 10);
    return hd_dump_add_scalar(dump, &scalar, err);
}

static void unload(void *document) {
    hd_buffer_free((hd_buffer *)document);
    free(document);
}

static hd_status load(hd_dump *dump, hd_in in, const hd_options *options, hd_error *err) {
    hd_window *window = hd_dump_window(dump, in);
    hd_reporter *reporter = hd_dump_reporter(dump);
    hd_buffer *copy = (hd_buffer *)calloc(1, sizeof *copy); /* the whole file, for `save` */
    hd_status status = HD_OUT_OF_MEMORY;
    (void)options;
    if (!copy) return *err = (hd_error){ .status = status, .message = "no memory" }, status;
    hd_dump_set_document(dump, copy, 0); /* from now on the dump owns and frees it */
    window->text = true;                 /* errors give line numbers */
    for (;;) {
        const uint8_t *end = NULL;
        uint64_t offset = hd_window_offset(window);
        status = hd_window_fill(window, 1, err);
        while (!status && !(end = (const uint8_t *)memchr(window->at, '\n', (size_t)(window->end - window->at))) &&
               !window->ended)
            status = hd_window_fill(window, (uint64_t)(window->end - window->at) + 1, err);
        if (!status) status = hd_report_progress(reporter, offset, offset + hd_window_left(window), err);
        if (status || window->at == window->end) return status;
        if (!end) {
            hd_error cut = { .status = HD_MALFORMED, .offset = offset, .line = hd_window_line(window, offset),
                             .message = "a line that does not end" };
            return hd_report(reporter, &cut, err);
        }
        status = add_line(dump, (const char *)window->at, (size_t)(end - window->at), err);
        if (!status) status = hd_out_memory(copy).write(copy, window->at, (size_t)(end + 1 - window->at));
        if (status) return status;
        window->at = end + 1;
    }
}

static hd_status save(const void *document, const hd_options *options, hd_out out, hd_error *err) {
    const hd_buffer *copy = (const hd_buffer *)document;
    (void)options, (void)err;
    return out.write(out.user, copy->data, copy->size);
}

int main(int argc, char **argv) {
    static const hd_format format = { .name = "proc-status", .title = "/proc/PID/status", .detect = detect,
                                      .read = load, .free = unload, .write = save };
    hd_options options = { .formats = &format, .format_count = 1 };
    hd_dump *dump = NULL;
    hd_error err;
    if (argc != 2 || hd_read_file(argv[1], &options, &dump, &err))
        return fprintf(stderr, "%s\n", argc == 2 ? err.message : "usage: own_document FILE"), 1;
    for (size_t i = 0; i < hd_dump_scalar_count(dump); i++)
        printf("%s %" PRIu64 "\n", hd_dump_scalar(dump, i)->name, hd_dump_scalar(dump, i)->value);
    if (hd_dump_document(dump, &format)) hd_dump_write(dump, NULL, hd_out_file(stdout), &err);
    hd_dump_free(dump);
    return fflush(stdout);
}
