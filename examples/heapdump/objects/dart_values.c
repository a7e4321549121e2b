/* Values of Dart's snapshots: numbers, texts, and lengths of lists. */

#include "objects.h"

/* The first `most` code units of a string or name, as UTF-8. The caller frees it. */
static hd_str text_of(hd_dart_value data, size_t most) {
    size_t unit = data.tag == HD_DART_UTF16 ? 2 : 1, n;
    const unsigned char *p = (const unsigned char *)data.text.data;
    char *text;
    if (data.text.len / unit > most) {
        data.text.len = most * unit;
        if (data.tag == HD_DART_UTF16 && most && p[data.text.len - 1] >> 2 == 0x36)
            data.text.len -= 2;  /* drops half of a surrogate pair */
        while (data.tag == HD_DART_NAME && data.text.len && (p[data.text.len] & 0xc0) == 0x80)
            data.text.len--;
    }
    n = hd_dart_utf8(&data, NULL, 0);
    text = needed(malloc(n + 1));
    hd_dart_utf8(&data, text, n);
    return (hd_str){ text, n };
}

bool is_string(uint32_t tag) { return tag == HD_DART_LATIN1 || tag == HD_DART_UTF16; }

/* Number of code units that the file contains of a string. */
uint64_t units_of(const hd_dart_value *data) {
    return data->text.len / (data->tag == HD_DART_UTF16 ? 2 : 1);
}

/* Spells a number in the fewest digits that parse back to it. */
static void number_text(double number, char text[32]) {
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, 32, "%.*g", digits, number);
        if (strtod(text, NULL) == number) return;
    }
}

static void put_text(FILE *out, const hd_dart_value *data, size_t most) {
    hd_str text = text_of(*data, most);
    put_quoted(out, text);
    if (units_of(data) > most || (is_string(data->tag) && units_of(data) < data->value)) display(out, "...");
    free((char *)text.data);
}

/* Prints nothing for a value without data. */
void put_value(FILE *out, const hd_dart_value *data, size_t most) {
    char number[32];
    switch (data->tag) {
    case HD_DART_NULL: display(out, "null"); break;
    case HD_DART_BOOL: display(out, data->value ? "true" : "false"); break;
    case HD_DART_INTEGER: display(out, "%lld", (long long)data->value); break;
    case HD_DART_DOUBLE: number_text(data->number, number), display(out, "%s", number); break;
    case HD_DART_LENGTH: display(out, "length %llu", (unsigned long long)data->value); break;
    case HD_DART_LATIN1: case HD_DART_UTF16: case HD_DART_NAME: put_text(out, data, most); break;
    }
}

hd_str value_text(const hd_dart_value *data) {
    char *text;
    size_t size;
    FILE *f;
    if (is_string(data->tag) || data->tag == HD_DART_NAME) return text_of(*data, SIZE_MAX);
    f = needed(open_memstream(&text, &size));
    put_value(f, data, SIZE_MAX);
    closed_text(f, &text);
    return (hd_str){ text, size };
}

static void json_units(hd_json *j, const hd_dart_value *data, size_t most) {
    hd_str text = text_of(*data, most);
    if (is_string(data->tag)) {
        json_u64(j, "length", data->value);
        json_u64(j, "truncated_length", units_of(data));
    }
    json_str(j, "text", text);
    free((char *)text.data);
}

/* Writes members of an object. Numbers that may have a fraction, or may be NaN or infinite, are strings. */
void json_value(hd_json *j, const hd_dart_value *data, size_t most) {
    char number[32];
    json_text(j, "tag", hd_dart_tag_name(data->tag));
    switch (data->tag) {
    case HD_DART_BOOL: json_bool(j, "value", data->value != 0); break;
    case HD_DART_INTEGER: hd_json_key(j, "value"), hd_json_i64(j, (int64_t)data->value); break;
    case HD_DART_DOUBLE: number_text(data->number, number), json_text(j, "value", number); break;
    case HD_DART_LENGTH: json_u64(j, "length", data->value); break;
    case HD_DART_LATIN1: case HD_DART_UTF16: case HD_DART_NAME: json_units(j, data, most); break;
    }
}

