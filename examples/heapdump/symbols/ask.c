/* Questions to the child that names addresses, and its answers. */

#include "child.h"
#include "wire.h"

#include <fcntl.h>

enum { ALL_OBJECTS = 10, SILENT_OBJECTS = 4, SLOW_MS = 2000, SILENT_MS = 20000 };

/* A question and the state of its answer. */
typedef struct asking {
    symbols *s;
    symbols_object *o;
    symbols_kind kind;
    const uint64_t *addresses;
    uint32_t count, first, done; /* first: the first address of this attempt */
    const symbols_taker *to;
    bool ended, full;            /* full: there are too many names */
    const char *why;             /* reason why we killed the child; NULL: it ended itself */
} asking;

/* Asking. ------------------------------------------------------------------------------------- */

/* Lists the descriptors and paths of an object's files. The child opens the files without a descriptor. */
static uint32_t list_files(const symbols_object *o, int fds[SYMBOLS_FILES], uint8_t *open, char **text,
                           size_t *bytes) {
    uint32_t n = 0;
    char *to;
    *open = 0;
    *bytes = strlen(o->path) + 1;
    for (uint32_t i = 0; i < o->file_count; i++) *bytes += strlen(o->files[i].file) + 1;
    *text = needed(malloc(*bytes));
    to = stpcpy(*text, o->path) + 1;
    for (uint32_t i = 0; i < o->file_count; i++) {
        const symbols_candidate *c = &o->files[i];
        if (c->fd >= 0) fds[n++] = c->fd, *open |= (uint8_t)(1 << i);
        to = stpcpy(to, c->file) + 1;
    }
    return n;
}

static symbols_outcome send_question(asking *x, bool strict) {
    symbols_object *o = x->o;
    wire_question q = { .object = (uint32_t)(o - x->s->objects), .version = o->version, .count = x->count - x->first,
                        .kind = (uint8_t)x->kind, .level = (uint8_t)o->level, .strict = strict };
    bool sent = o->sent == x->s->children;
    int fds[SYMBOLS_FILES];
    FREED char *text = NULL;
    size_t bytes = 0;
    uint32_t count = sent ? 0 : list_files(o, fds, &q.open, &text, &bytes);
    symbols_outcome status = SYMBOLS_ANSWERED;
    if (!sent && (!o->file_count || bytes > WIRE_TEXT_MOST)) { /* there is no file to read */
        o->known = x->ended = true;
    } else {
        q.text_bytes = (uint32_t)bytes;
        q.files = sent ? 0 : (uint8_t)o->file_count;
        if (o->has_wanted_id) {
            q.build_id_size = (uint8_t)o->build_id_size;
            memcpy(q.build_id, o->build_id, sizeof q.build_id);
        }
        status = symbols_child_send(x->s, &q, sizeof q, fds, count);
        if (status == SYMBOLS_ANSWERED) status = symbols_child_send(x->s, text, bytes, NULL, 0);
        if (status == SYMBOLS_ANSWERED)
            status = symbols_child_send(x->s, x->addresses + x->first, q.count * sizeof *x->addresses, NULL, 0);
        o->sent = x->s->children;
    }
    return status;
}

/* Answers. ------------------------------------------------------------------------------------ */

static bool take_info(symbols_object *o, const char *data, size_t bytes) {
    wire_info info;
    if (bytes < sizeof info) return false;
    memcpy(&info, data, sizeof info);
    if (info.load_count > WIRE_LOADS_MOST || bytes != sizeof info + info.load_count * sizeof *o->loads ||
        info.build_id_size > sizeof o->build_id)
        return false;
    o->known = true;
    o->is_elf = info.is_elf != 0;
    o->changed = info.changed;
    o->load_count = info.load_count;
    o->loads = needed(realloc(o->loads, (info.load_count + 1) * sizeof *o->loads));
    memcpy(o->loads, data + sizeof info, info.load_count * sizeof *o->loads);
    if (o->has_wanted_id) return true;
    o->build_id_size = info.build_id_size;
    memcpy(o->build_id, info.build_id, sizeof o->build_id);
    return true;
}

/* Reads a text of `bytes` including its zero at *data; *text is NULL if `bytes` is 0. */
static bool take_text(const char **data, const char *end, uint32_t bytes, const char **text) {
    *text = bytes ? *data : NULL;
    if (!bytes) return true;
    if (bytes > (size_t)(end - *data) || (*data)[bytes - 1] || strlen(*data) != bytes - 1) return false;
    *data += bytes;
    return true;
}

static bool take_frames(asking *x, const char *data, size_t bytes) {
    symbols_frame frames[HD_MEMPROF_INLINE_MAX];
    const char *end = data + bytes, *texts;
    wire_frames head;
    if (bytes < sizeof head) return false;
    memcpy(&head, data, sizeof head);
    data += sizeof head;
    if (head.index != x->done - x->first || x->done >= x->count || head.count > HD_MEMPROF_INLINE_MAX ||
        (x->kind == SYMBOLS_TEXT && head.count > HD_RENAME_MAX) ||
        head.count > (size_t)(end - data) / sizeof(wire_frame))
        return false;
    texts = data + head.count * sizeof(wire_frame);
    for (uint32_t i = 0; i < head.count; i++) {
        wire_frame f;
        memcpy(&f, data + i * sizeof f, sizeof f);
        frames[i] = (symbols_frame){ .line = f.line, .column = f.column, .discriminator = f.discriminator,
                                     .start_line = f.start_line };
        if (!f.name_bytes || !take_text(&texts, end, f.name_bytes, &frames[i].name) ||
            !take_text(&texts, end, f.file_bytes, &frames[i].file))
            return false;
    }
    if (texts != end) return false;
    if (x->to->take(x->to->user, x->done++, head.count, frames)) return true;
    x->full = true;
    x->why = "its names take too much memory";
    return false;
}

/* The next child continues from these figures. */
static bool take_served(symbols *s, const char *data, size_t bytes) {
    wire_served more;
    if (bytes != sizeof more) return false;
    memcpy(&more, data, sizeof more);
    s->served_ns += more.ns;
    s->served_bytes += more.bytes;
    return true;
}

static bool take_record(void *user, uint32_t type, const char *data, size_t bytes) {
    asking *x = user;
    const char *name;
    bool right;
    switch (type) {
    case WIRE_INFO: right = take_info(x->o, data, bytes); break;
    case WIRE_FRAMES: right = x->to->take && take_frames(x, data, bytes); break;
    case WIRE_NAME:
        right = x->to->name && bytes && take_text(&data, data + bytes, (uint32_t)bytes, &name) &&
                x->to->name(x->to->user, name);
        break;
    case WIRE_SERVED: right = take_served(x->s, data, bytes); break;
    case WIRE_END: right = x->ended = true; break;
    default: right = false; break;
    }
    if (!right && !x->why) x->why = "the process that read it answered wrongly";
    return right;
}

/* A debuginfod server gets the same time as a file. */
static int64_t patience_of(const symbols_object *o) {
    const char *servers = getenv("DEBUGINFOD_URLS");
    if (o->is_slow) return SLOW_MS;
    return SILENT_MS + (servers && *servers ? (int64_t)(symbols_seconds_most() * 1000) : 0);
}

static symbols_outcome ask_once(asking *x, bool strict) {
    symbols_outcome status;
    x->first = x->done;
    x->ended = false;
    x->why = NULL;
    status = symbols_child_ready(x->s, patience_of(x->o));
    if (status == SYMBOLS_ANSWERED) status = send_question(x, strict);
    return status == SYMBOLS_ANSWERED ? symbols_child_receive(x->s, take_record, x, &x->ended) : status;
}

static void tell_interrupted(symbols *s) {
    if (!s->interrupted)
        display(stderr, "heapdump: a signal ended the search for function names: frames without one stay "
                        "FILE+0xOFFSET\n");
    s->interrupted = true;
}

/* Stops asking for names once the time for all objects is used up. */
static void end_of_time(symbols *s) {
    double most = ALL_OBJECTS * symbols_seconds_most();
    if (s->none || (double)symbols_child_nanoseconds(s) / 1e9 < most) return;
    s->none = true;
    symbols_child_end(s);
    progress_end();
    display(stderr, "heapdump: finding function names took %.0f s of processor time: the other frames stay "
                    "FILE+0xOFFSET (--names-time raises that)\n", most);
}

/* Whether the object's file system might not answer, and other files already used up the waiting time. */
static bool waited_enough(const symbols *s, const symbols_object *o) {
    for (uint32_t i = 0; i < o->file_count; i++)
        if (o->files[i].fd >= 0) return false;
    return s->waited_ms >= (o->is_slow ? SLOW_MS : SILENT_MS) * (int64_t)SILENT_OBJECTS;
}

void symbols_ask(symbols *s, symbols_object *o, symbols_kind kind, bool strict, const uint64_t *addresses,
                 uint32_t count, const symbols_taker *to) {
    asking x = { .s = s, .o = o, .kind = kind, .addresses = addresses, .count = count, .to = to };
    if (o->known && !o->is_elf && !o->is_code_map) return;
    if (o->level < SYMBOLS_NOTHING && waited_enough(s, o)) {
        o->level = SYMBOLS_NOTHING;
        free(o->why);
        o->why = needed(strdup("its file system may not answer, and others took too long"));
    }
    while (o->level < SYMBOLS_NOTHING && !s->none) {
        symbols_outcome status = ask_once(&x, strict);
        if (status == SYMBOLS_ANSWERED || status == SYMBOLS_NO_CHILD) break;
        if (status == SYMBOLS_INTERRUPTED) {
            symbols_child_drop(s);
            tell_interrupted(s);
            return;
        }
        if (status == SYMBOLS_SILENT) x.why = "its file system does not answer";
        free(o->why);
        o->why = symbols_child_died(s, x.why);
        o->level = x.full || status == SYMBOLS_SILENT ? SYMBOLS_NOTHING : o->level + 1;
    }
    if (o->level == SYMBOLS_NOTHING) o->lost += count - x.done;
    end_of_time(s);
}

bool symbols_given_whole(const symbols *s) {
    for (size_t i = 0; i < s->given; i++)
        if (s->objects[i].level != SYMBOLS_ALL) return false;
    return !s->given || !s->none;
}

/* Reports. ------------------------------------------------------------------------------------ */

void symbols_tell(symbols *s) {
    enum { LISTED = 4 };
    uint64_t lost = 0;
    unsigned listed = 0, more = 0;
    for (symbols_object *o = s->objects; s->count && o < s->objects + s->count; o++) {
        if (o->told_level == o->level) continue;
        o->told_level = o->level;
        if (listed == LISTED) {
            more++, lost += o->lost;
            continue;
        }
        listed++;
        progress_end();
        if (o->level == SYMBOLS_TABLE && !o->is_code_map)
            display(stderr, "heapdump: %s: its frames have no inlined functions and no line numbers: %s\n",
                    o->path, o->why);
        else if (o->level == SYMBOLS_NOTHING)
            display(stderr, "heapdump: %s: %llu frame%s unnamed: %s\n", o->path, (unsigned long long)o->lost,
                    o->lost == 1 ? " stays" : "s stay", o->why);
    }
    if (more)
        display(stderr, "heapdump: %u more file%s could not be read whole: %llu frame%s unnamed\n", more,
                plural(more), (unsigned long long)lost, lost == 1 ? " stays" : "s stay");
}
