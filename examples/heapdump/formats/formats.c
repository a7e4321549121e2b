#include "formats.h"

const hd_format tool_formats[] = {
    { .name = NULL } /* the end */
};
const size_t tool_format_count = sizeof tool_formats / sizeof *tool_formats - 1;

const hd_format *format_named(const char *name) {
    const hd_format *format;
    for (format = tool_formats; format->name; format++)
        if (!strcmp(format->name, name)) return format;
    for (size_t i = 0; (format = hd_format_at(i)) && strcmp(format->name, name); i++) {}
    return format;
}
