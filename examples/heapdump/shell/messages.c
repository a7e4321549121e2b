/* Messages on standard error, and the exit when memory runs out. */

#include "shell.h"

void (*before_failing)(void);
void (*memory_ends)(void);

void *needed(void *memory) {
    void (*last)(void) = before_failing;
    if (memory) return memory;
    before_failing = NULL;
    if (memory_ends) memory_ends();
    display(stderr, "heapdump: out of memory\n");
    if (last) last();
    exit(BAD_INPUT);
}

const char *command_name;

void closed_text(FILE *f, char **text) {
    if (fclose(f)) needed(NULL); /* it fails only if memory runs out */
    needed(*text);
}

int usage(const char *format, ...) {
    va_list args;
    display(stderr, "heapdump: ");
    va_start(args, format);
    display_list(stderr, format, args);
    va_end(args);
    if (command_name) display(stderr, "; see heapdump help %s\n", command_name);
    else display(stderr, "; see heapdump --help\n");
    return WRONG_USAGE;
}

/* Whether a message already names the file: "cannot open FILE: ...". */
static bool names_file(const char *message, const char *file) {
    static const char begin[] = "cannot open ";
    size_t n = sizeof begin - 1, length = strlen(file);
    return !strncmp(message, begin, n) && !strncmp(message + n, file, length) && message[n + length] == ':';
}

void complain(const char *file, const hd_error *err, const char *kind) {
    progress_end();
    if (!err->format && err->offset == HD_UNKNOWN && !*kind && names_file(err->message, file)) {
        display(stderr, "heapdump: %s\n", err->message);
        return;
    }
    display(stderr, "heapdump: %s", file);
    if (err->format) display(stderr, " (%s)", err->format);
    display(stderr, ": ");
    if (err->offset != HD_UNKNOWN) display(stderr, "offset %llu: ", (unsigned long long)err->offset);
    display(stderr, "%s%s", kind, err->message);
    if (err->line > 1 && !err->column) display(stderr, " (line %llu)", (unsigned long long)err->line);
    fputc('\n', stderr);
}

int failed(const char *file, const hd_error *err) {
    complain(file, err, "");
    return BAD_INPUT;
}
