/* Questions to the child and its answers: each address is asked for once, in batches by object. */

#include "symbols.h"

#include <search.h>

enum { ANSWERS_MOST = 1 << 30, OBJECT_MOST = 1 << 28 }; /* bytes of names */

static int key_order(const void *a, const void *b) {
    const symbols_key *x = a, *y = b;
    if (x->object != y->object) return x->object < y->object ? -1 : 1;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    if (x->strict != y->strict) return x->strict < y->strict ? -1 : 1;
    return x->address < y->address ? -1 : x->address > y->address;
}

static int answer_order(const void *a, const void *b) {
    return key_order(&((const symbols_answer *)a)->key, &((const symbols_answer *)b)->key);
}

static symbols_answer *find_answer(symbols *s, symbols_key key) {
    symbols_answer of = { .key = key }, **found = tfind(&of, &s->answers, answer_order);
    return found ? *found : NULL;
}

static symbols_key key_of(const symbols *s, const symbols_object *o, symbols_kind kind, bool strict,
                          uint64_t address) {
    return (symbols_key){ (uint32_t)(o - s->objects), (uint8_t)kind, strict, address };
}

/* A copy of frames, followed by their strings. */
static symbols_answer *answer_make(symbols_key key, uint32_t count, const symbols_frame *frames) {
    symbols_answer *a;
    size_t bytes = sizeof *a + count * sizeof *frames;
    char *to;
    for (uint32_t i = 0; i < count; i++)
        bytes += strlen(frames[i].name) + 1 + (frames[i].file ? strlen(frames[i].file) + 1 : 0);
    a = needed(malloc(bytes));
    a->key = key;
    a->bytes = bytes;
    a->count = count;
    to = (char *)(a->frame + count);
    for (uint32_t i = 0; i < count; i++) {
        symbols_frame *f = &a->frame[i];
        *f = frames[i];
        f->name = to;
        to = stpcpy(to, frames[i].name) + 1;
        if (!frames[i].file) continue;
        f->file = to;
        to = stpcpy(to, frames[i].file) + 1;
    }
    return a;
}

/* Keeps an answer; for generated code the last answer replaces earlier ones. False: there are too many names. */
static bool answer_keep(symbols *s, symbols_object *o, symbols_key key, uint32_t count, const symbols_frame *frames) {
    symbols_answer *a = answer_make(key, count, frames), **found = needed(tsearch(a, &s->answers, answer_order));
    if (*found != a) {
        s->answer_bytes -= (*found)->bytes;
        o->answer_bytes -= (*found)->bytes;
        free(*found);
        *found = a;
    }
    s->answer_bytes += a->bytes;
    o->answer_bytes += a->bytes;
    return o->answer_bytes < OBJECT_MOST && s->answer_bytes < ANSWERS_MOST;
}

void symbols_want(symbols *s, const symbols_object *o, symbols_kind kind, bool strict, uint64_t address) {
    symbols_key key = key_of(s, o, kind, strict, address);
    if (!o->is_code_map && find_answer(s, key)) return;
    s->wanted = symbols_room(s->wanted, s->wanted_count, &s->wanted_room, sizeof *s->wanted);
    s->wanted[s->wanted_count++] = key;
}

/* Answers as they come. */
typedef struct answering {
    symbols *s;
    symbols_object *o;
    symbols_key key;
    const uint64_t *addresses;
    bool *done;
} answering;

static bool take_answer(void *user, uint32_t index, uint32_t count, const symbols_frame *frames) {
    answering *x = user;
    x->key.address = x->addresses[index];
    x->done[index] = true;
    return answer_keep(x->s, x->o, x->key, count, frames);
}

/* Asks for wanted addresses of one object and kind. An address without an answer has no functions. */
static void fetch_some(symbols *s, const symbols_key *wanted, uint32_t count) {
    answering x = { .s = s, .o = &s->objects[wanted->object], .key = *wanted };
    FREED uint64_t *addresses = needed(malloc(count * sizeof *addresses));
    const symbols_taker to = { .take = take_answer, .user = &x };
    for (uint32_t i = 0; i < count; i++) addresses[i] = wanted[i].address;
    x.addresses = addresses;
    x.done = needed(calloc(count, sizeof *x.done));
    symbols_ask(s, x.o, (symbols_kind)wanted->kind, wanted->strict, addresses, count, &to);
    for (uint32_t i = 0; i < count; i++) {
        x.key.address = addresses[i];
        if (!x.done[i] && !find_answer(s, x.key)) answer_keep(s, x.o, x.key, 0, NULL);
    }
    free(x.done);
}

void symbols_fetch(symbols *s) {
    symbols_key *w = s->wanted;
    size_t n = 0;
    if (s->wanted_count) qsort(w, s->wanted_count, sizeof *w, key_order);
    for (size_t i = 0; i < s->wanted_count; i++)
        if (!n || key_order(&w[n - 1], &w[i])) w[n++] = w[i];
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && end - i < 1 << 20; end++)
            if (w[end].object != w[i].object || w[end].kind != w[i].kind || w[end].strict != w[i].strict) break;
        fetch_some(s, &w[i], (uint32_t)(end - i));
    }
    s->wanted_count = 0;
}

const symbols_answer *symbols_answered(symbols *s, const symbols_object *o, symbols_kind kind, bool strict,
                                       uint64_t address) {
    symbols_key key = key_of(s, o, kind, strict, address);
    symbols_answer *found = find_answer(s, key);
    if (found) return found;
    symbols_want(s, o, kind, strict, address);
    symbols_fetch(s);
    return needed(find_answer(s, key));
}

bool symbols_know(symbols *s, symbols_object *o) {
    const symbols_taker none = { 0 };
    if (!o->known && o->level != SYMBOLS_NOTHING) symbols_ask(s, o, SYMBOLS_INFO, false, NULL, 0, &none);
    return o->known && o->is_elf;
}

void symbols_answers_free(symbols *s) {
    tdestroy(s->answers, free);
    s->answers = NULL;
    free(s->wanted);
    s->wanted = NULL;
    s->wanted_count = s->wanted_room = 0;
}
