/* Messages between the child that names addresses and its parent. They use the machine's byte order, since both run
   the same program. Both sides check sizes; the parent trusts nothing that the child sends. */
#ifndef HEAPDUMP_SYMBOLS_WIRE_H
#define HEAPDUMP_SYMBOLS_WIRE_H

#include "symbols.h"

enum {
    WIRE_TEXT_MOST = 1 << 16,    /* bytes of paths in a question */
    WIRE_ADDRESSES_MOST = 1 << 20,
    WIRE_RECORD_MOST = 1 << 21,  /* bytes of an answer */
    WIRE_LOADS_MOST = 4096,
    WIRE_OBJECTS_MOST = 1 << 26,
    WIRE_OPEN = 255,             /* kind of question: its level is a symbols_opening, its text a path */
    WIRE_NO_MEMORY = 9           /* the child's status */
};

/* Followed by the path and the paths of the files, each with a zero, and by the addresses. */
typedef struct wire_question {
    uint32_t object, version, count, text_bytes;
    uint8_t kind, level, strict; /* kind: a symbols_kind, or WIRE_OPEN */
    uint8_t files, open;         /* open: bits of the files with an attached descriptor */
    uint8_t build_id_size, build_id[32]; /* wanted */
} wire_question;

typedef enum wire_type {
    WIRE_HELLO = 1, WIRE_INFO, WIRE_FRAMES, WIRE_NAME, WIRE_END, WIRE_OPENED, WIRE_SERVED
} wire_type;

/* Before each record of an answer. */
typedef struct wire_head {
    uint32_t type, bytes;        /* bytes: that follow */
} wire_head;

/* WIRE_INFO: the first record. The loads follow. */
typedef struct wire_info {
    uint32_t is_elf, build_id_size, load_count;
    uint8_t build_id[32];
    int64_t changed;             /* modification time of the file, in seconds */
} wire_info;

/* WIRE_FRAMES: `count` wire_frame follow, then their texts. */
typedef struct wire_frames {
    uint32_t index, count;
} wire_frames;

typedef struct wire_frame {
    int32_t line, column;
    uint32_t discriminator, start_line, name_bytes, file_bytes; /* with the terminating zero; 0: no text */
} wire_frame;

/* WIRE_OPENED: a regular file. Its descriptor is attached if it was asked for. */
typedef struct wire_opened {
    struct stat file;
    uint8_t is_there, has_descriptor;
} wire_opened;

/* WIRE_SERVED, anywhere in an answer: a debuginfod server was asked. */
typedef struct wire_served {
    uint64_t ns, bytes;          /* used by this request */
} wire_served;

/* WIRE_END */
typedef struct wire_end {
    uint64_t spent_ns;           /* processor time for this question */
} wire_end;

#endif
