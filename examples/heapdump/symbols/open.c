/* Opens files that recorded programs chose. A file system that does not answer blocks only the child, which is then
   left behind. Many files go into one question. If it gets no answer, they are asked for one by one, up to the one
   that blocks. After several blocking files, the rest are opened only when their names are needed. */

#include "child.h"
#include "wire.h"

enum { OPEN_MS = 500, UNOPENED_MOST = 6 };

/* Files of one question. */
typedef struct opening {
    symbols *s;
    symbols_opened *files;
    uint32_t count, done;
    bool ended;
} opening;

static bool take_opened(void *user, uint32_t type, const char *data, size_t bytes) {
    opening *x = user;
    symbols_opened *f = &x->files[x->done];
    symbols_child *c = &x->s->child;
    wire_opened is;
    if (type != WIRE_OPENED || bytes != sizeof is) return false;
    memcpy(&is, data, sizeof is);
    f->is = is.is_there ? SYMBOLS_OPENED : SYMBOLS_ABSENT;
    f->st = is.file;
    if (is.has_descriptor && c->brought_count) {
        f->fd = c->brought[0];
        memmove(c->brought, c->brought + 1, --c->brought_count * sizeof *c->brought);
    }
    x->ended = ++x->done == x->count;
    return true;
}

/* Sends the question with one call, since the child may get processor time only after each call. */
static symbols_outcome open_send(const opening *x, symbols_opening how) {
    wire_question q = { .kind = WIRE_OPEN, .level = (uint8_t)how, .version = x->count };
    symbols_outcome status;
    char *text, *to;
    for (uint32_t i = 0; i < x->count; i++) q.text_bytes += (uint32_t)strlen(x->files[i].path) + 1;
    text = needed(malloc(sizeof q + q.text_bytes));
    memcpy(text, &q, sizeof q);
    to = text + sizeof q;
    for (uint32_t i = 0; i < x->count; i++) to = stpcpy(to, x->files[i].path) + 1;
    status = symbols_child_send(x->s, text, sizeof q + q.text_bytes, NULL, 0);
    free(text);
    return status;
}

static symbols_outcome open_some(opening *x, symbols_opening how) {
    symbols_outcome status = symbols_child_ready(x->s, OPEN_MS);
    if (status != SYMBOLS_ANSWERED) return status;
    status = open_send(x, how);
    if (status == SYMBOLS_ANSWERED) status = symbols_child_receive(x->s, take_opened, x, &x->ended);
    if (status != SYMBOLS_ANSWERED) symbols_child_drop(x->s);
    return status;
}

void symbols_open_all(symbols *s, symbols_opened *files, uint32_t count, symbols_opening how) {
    bool singly = false;
    for (uint32_t i = 0; i < count; i++) files[i].is = SYMBOLS_UNKNOWN, files[i].fd = -1;
    for (uint32_t at = 0; at < count && !s->none && s->unopened < UNOPENED_MOST;) {
        opening x = { .s = s, .files = files + at };
        size_t bytes = 0;
        symbols_outcome status;
        while (at + x.count < count && (!singly || !x.count)) {
            bytes += strlen(files[at + x.count].path) + 1;
            if (bytes > WIRE_TEXT_MOST) break;
            x.count++;
        }
        if (!x.count) return;
        status = open_some(&x, how);
        at += x.done;
        if (status == SYMBOLS_ANSWERED) continue;
        if (status == SYMBOLS_INTERRUPTED || status == SYMBOLS_NO_CHILD) return;
        singly = x.count > 1;
        if (singly) continue;
        s->unopened++;
        at++;
        while (at < count && files[at].is_again) at++;
    }
}

symbols_openable symbols_open(symbols *s, const char *path, symbols_opening how, struct stat *st, int *fd) {
    symbols_opened f = { .path = path };
    symbols_open_all(s, &f, 1, how);
    *st = f.st;
    *fd = f.fd;
    return f.is;
}
