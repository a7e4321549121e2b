/* Prints text. Text from files cannot control the terminal. */

#define _GNU_SOURCE
#define HEAPDUMP_TEXT_C
#include "shell.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void put_name(FILE *out, hd_str name) {
    for (hd_str piece; (piece = hd_visible(&name)).len;) fwrite(piece.data, 1, piece.len, out);
}

/* Prints a text of several lines. */
void put_lines(FILE *out, hd_str text) {
    while (text.len) {
        const char *end = memchr(text.data, '\n', text.len);
        hd_str line = { text.data, end ? (size_t)(end - text.data) : text.len };
        put_name(out, line);
        if (end) fputc('\n', out);
        text.data += line.len + (end != NULL), text.len -= line.len + (end != NULL);
    }
}

void put_beside(FILE *out, const char *left, int column, const char *lines) {
    for (; *lines; left = "") {
        size_t n = strcspn(lines, "\n");
        display(out, "%-*s%.*s\n", column, left, (int)n, lines);
        lines += n + (lines[n] == '\n');
    }
}

/* Columns of help texts. */
static int help_columns(FILE *out) {
    enum { USUAL = 80, LEAST = 40, MOST = 100 };
    struct winsize size;
    if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &size) || !size.ws_col) return USUAL;
    return size.ws_col < LEAST ? LEAST : size.ws_col > MOST ? MOST : size.ws_col;
}

static int characters_of(hd_str text) {
    int n = 0;
    for (size_t i = 0; i < text.len; i++) n += (text.data[i] & 0xc0) != 0x80;
    return n;
}

void put_filled(FILE *out, const char *left, int column, hd_str text) {
    int columns = help_columns(out), used = column;
    display(out, "%-*s", column, left);
    while (text.len) {
        hd_str word = text;
        const char *end = memchr(text.data, ' ', text.len);
        if (end) word.len = (size_t)(end - text.data);
        if (used > column && used + 1 + characters_of(word) > columns) {
            display(out, "\n%*s", column, "");
            used = column;
        } else if (used > column) {
            fputc(' ', out), used++;
        }
        put_name(out, word);
        used += characters_of(word);
        text.data += word.len + (end != NULL), text.len -= word.len + (end != NULL);
    }
    fputc('\n', out);
}

/* Puts a text in quotes. Hidden characters are escaped as in JSON, and bytes that are not UTF-8 become \xNN. */
void put_quoted(FILE *out, hd_str text) {
    fputc('"', out);
    for (hd_str rest = text; text.len; text = rest) {
        hd_str piece = hd_visible(&rest);
        const unsigned char *p = (const unsigned char *)text.data;
        size_t n = text.len - rest.len;
        if (piece.data == text.data) {
            for (size_t i = 0; i < n; i++) {
                if (piece.data[i] == '"' || piece.data[i] == '\\') fputc('\\', out);
                fputc(piece.data[i], out);
            }
        } else if (*p == '\n' || *p == '\t') {
            fputs(*p == '\n' ? "\\n" : "\\t", out);
        } else if (n == 1) {
            fprintf(out, *p < 0x80 ? "\\u%04x" : "\\x%02x", *p);
        } else {
            fprintf(out, "\\u%04x", n == 2 ? (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu)
                                           : (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu));
        }
    }
    fputc('"', out);
}

/* Puts a text into a column of `width` characters, aligned right; if `width` is negative, aligned left. */
static void put_column(FILE *out, hd_str text, int width) {
    int shown = 0;
    for (hd_str rest = text, piece; (piece = hd_visible(&rest)).len;) shown += characters_of(piece);
    for (int i = shown; i < width; i++) fputc(' ', out);
    put_name(out, text);
    for (int i = shown; i < -width; i++) fputc(' ', out);
}

/* A width or precision of a conversion: '*' or digits. */
static int display_number(const char **format, int star, int otherwise) {
    char *end;
    long n;
    if (**format == '*') return ++*format, star;
    n = strtol(*format, &end, 10);
    if (end == *format) return otherwise;
    *format = end;
    return (int)n;
}

/* fprintf with the conversions s c d u x X f g and the lengths l ll z. Texts of %s and %c are filtered as in
   put_name. */
void display_list(FILE *out, const char *format, va_list args) {
    for (;; format++) {
        char spec[16] = "%";
        size_t n = strcspn(format, "%");
        int width, precision = -1, length = 0;
        char letter[2] = "";
        fwrite(format, 1, n, out);
        format += n;
        if (!*format++) break;
        n = strspn(format, "-+ #0");
        snprintf(spec + 1, 6, "%.*s", (int)n, format);
        format += n;
        width = display_number(&format, *format == '*' ? va_arg(args, int) : 0, 0);
        if (*format == '.') {
            format++;
            precision = display_number(&format, *format == '*' ? va_arg(args, int) : 0, 0);
        }
        for (; *format == 'l' || *format == 'z'; format++) length += *format == 'l' ? 1 : 3;
        snprintf(spec + strlen(spec), 8, "*.*%s%c", strchr("duxX", *format) ? "ll" : "", *format);
        switch (*format) {
        case '%': fputc('%', out); break;
        case 'c': *letter = (char)va_arg(args, int), put_column(out, hd_cstr(letter), width); break;
        case 's': {
            const char *s = va_arg(args, const char *);
            hd_str text = { s, precision < 0 ? strlen(s) : strnlen(s, (size_t)precision) };
            put_column(out, text, strchr(spec, '-') ? -width : width);
            break;
        }
        case 'd':
            fprintf(out, spec, width, precision,
                    length == 0   ? (long long)va_arg(args, int)
                    : length == 1 ? (long long)va_arg(args, long)
                    : length == 2 ? va_arg(args, long long)
                                  : (long long)va_arg(args, ssize_t));
            break;
        case 'u': case 'x': case 'X':
            fprintf(out, spec, width, precision,
                    length == 0   ? (unsigned long long)va_arg(args, unsigned)
                    : length == 1 ? (unsigned long long)va_arg(args, unsigned long)
                    : length == 2 ? va_arg(args, unsigned long long)
                                  : (unsigned long long)va_arg(args, size_t));
            break;
        case 'f': case 'g': fprintf(out, spec, width, precision, va_arg(args, double)); break;
        default: abort();
        }
    }
}

void display(FILE *out, const char *format, ...) {
    va_list args;
    va_start(args, format);
    display_list(out, format, args);
    va_end(args);
}

const char *plural(uint64_t n) { return n == 1 ? "" : "s"; }
