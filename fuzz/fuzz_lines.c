/* Lines of a text, from memory and in pieces. The lines and their ends make up the whole text, and both ways agree.
   The first letter of a line selects a request: e extends it beyond its end, n parses numbers, w reports an error. */
#include "../tests/private.h"
#include "pieces.h"

static uint64_t digest, text_size;

static int always(const uint8_t *bytes, size_t size) { return (void)bytes, (void)size, 100; }

/* Makes the request of the line's first letter. */
static hd_status ask(hd_lines *l) {
    uint64_t value = 0;
    bool whole = false;
    if (hd_lines_take(l, "e")) {
        if (hd_lines_number(l, 10, &value) || !hd_lines_take(l, ":")) return HD_OK;
        if (hd_lines_extend(l, (size_t)(value % 1000), &whole)) return l->err->status;
        CHECK(!whole || (uint64_t)(l->end - l->at) == value % 1000);
    } else if (hd_lines_take(l, "n")) {
        for (unsigned base = 2; !hd_lines_done(l); base = base % 16 + 1)
            if (base < 2 || hd_lines_number(l, base, &value)) l->at++;
            else digest = hd__hash_u64(digest, value);
    } else if (hd_lines_take(l, "w")) {
        l->columns = !l->columns;
        return hd_lines_wrong(l, "something else");
    }
    return HD_OK;
}

static hd_status read_lines(hd_dump *dump, hd_in in, const hd_options *options, hd_error *err) {
    hd_lines l = hd_lines_of(hd_dump_window(dump, in), hd_dump_reporter(dump), err);
    uint64_t next = 0;
    (void)options;
    for (;;) {
        uint64_t before = l.number;
        HD__TRY(hd_lines_next(&l));
        CHECK(l.number >= before && l.at <= l.end);
        CHECK(hd_lines_offset(&l) == next + (l.start ? (uint64_t)(l.at - l.start) : 0));
        if (!l.start) break;
        HD__TRY(ask(&l));
        CHECK(l.start <= l.at && l.at <= l.end);
        digest = hd__hash_u64(hd__hash_bytes(digest, l.start, (size_t)(l.end - l.start)), l.number);
        next += (uint64_t)(l.end - l.start) + l.crlf + !l.open;
    }
    CHECK(next == text_size);
    return HD_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const hd_format format = { .name = "lines", .title = "lines", .detect = always, .read = read_lines };
    uint64_t seen[4];
    hd_status status[4];
    hd_error err[4];
    if (!size) return 0;
    text_size = size;
    for (int run = 0; run < 4; run++) {
        hd_options options = { .formats = &format, .format_count = 1, .lenient = run / 2 };
        hd_in in = hd_in_memory(data, size), left = in;
        hd_dump *dump = NULL;
        if (run % 2) in = hd_in_callback(read_piece, &left);
        digest = 0;
        status[run] = hd_read(in, &options, &dump, &err[run]);
        seen[run] = hd_dump_warning_count(dump) + digest;
        hd_dump_free(dump);
    }
    for (int run = 0; run < 4; run += 2) {
        CHECK(seen[run] == seen[run + 1] && status[run] == status[run + 1]);
        if (!status[run]) continue;
        CHECK(err[run].offset == err[run + 1].offset && err[run].line == err[run + 1].line);
        CHECK(!strcmp(err[run].message, err[run + 1].message));
    }
    return 0;
}
