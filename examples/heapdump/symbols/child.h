/* The process that reads files for ask.c and open.c: start, questions, answers, end. */
#ifndef HEAPDUMP_SYMBOLS_CHILD_H
#define HEAPDUMP_SYMBOLS_CHILD_H

#include "symbols.h"

typedef enum symbols_outcome {
    SYMBOLS_ANSWERED,
    SYMBOLS_DIED,
    SYMBOLS_SILENT,              /* it waits too long for a file system or server */
    SYMBOLS_INTERRUPTED,         /* a signal asks us to end */
    SYMBOLS_NO_CHILD
} symbols_outcome;

/* Takes one record of an answer; false if it is malformed. */
typedef bool (*symbols_record_fn)(void *user, uint32_t type, const char *data, size_t bytes);

/* Starts the child if none runs. patience_ms: how long it may wait for a file system or server. */
symbols_outcome symbols_child_ready(symbols *s, int64_t patience_ms);
/* The descriptors travel with the first byte. */
symbols_outcome symbols_child_send(symbols *s, const void *data, size_t bytes, const int *fds, uint32_t count);
/* Takes records until *done. */
symbols_outcome symbols_child_receive(symbols *s, symbols_record_fn take, void *user, const bool *done);
/* Ends the child and returns the reason for its death, to be freed. `ended_for`: why we killed it; may be NULL. */
char *symbols_child_died(symbols *s, const char *ended_for);
/* Ends the child without waiting for it. */
void symbols_child_drop(symbols *s);

#endif
