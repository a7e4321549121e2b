/* Opens files that recorded programs chose. A file system that does not answer holds up only the child, which is left
   behind then. Waits for such files have an end together: later ones are only opened when their names are needed. */

#include "symbols_child.h"
#include "symbols_wire.h"

enum { OPEN_MS = 500, UNOPENED_MOST = 6 };

typedef struct opening {
    wire_opened is;
    bool ended;
} opening;

static bool take_opened(void *user, uint32_t type, const char *data, size_t bytes) {
    opening *x = user;
    if (type != WIRE_OPENED || bytes != sizeof x->is) return false;
    memcpy(&x->is, data, sizeof x->is);
    return x->ended = true;
}

symbols_openable symbols_open(symbols *s, const char *path, symbols_opening how, struct stat *st, int *fd) {
    wire_question q = { .kind = WIRE_OPEN, .level = (uint8_t)how, .text_bytes = (uint32_t)strlen(path) + 1 };
    opening x = { .ended = false };
    symbols_outcome status;
    *fd = -1;
    if (s->none || s->unopened >= UNOPENED_MOST || q.text_bytes > WIRE_TEXT_MOST) return SYMBOLS_UNKNOWN;
    status = symbols_child_ready(s, OPEN_MS);
    if (status != SYMBOLS_ANSWERED) return SYMBOLS_UNKNOWN;
    status = symbols_child_send(s, &q, sizeof q, NULL, 0);
    if (status == SYMBOLS_ANSWERED) status = symbols_child_send(s, path, q.text_bytes, NULL, 0);
    if (status == SYMBOLS_ANSWERED) status = symbols_child_receive(s, take_opened, &x, &x.ended);
    if (status != SYMBOLS_ANSWERED) {
        symbols_child_drop(s);
        s->unopened += status != SYMBOLS_INTERRUPTED;
        return SYMBOLS_UNKNOWN;
    }
    if (x.is.has_descriptor) *fd = s->child.brought, s->child.brought = -1;
    *st = x.is.file;
    return x.is.is_there ? SYMBOLS_OPENED : SYMBOLS_ABSENT;
}
