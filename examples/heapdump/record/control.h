/* The control socket of a running recording: its name, requests and replies.

   Any user can list and connect to abstract sockets, and can create one with a similar name. So both ends ask the
   kernel for the user at the other end. The name is "heapdump-UID-DEVICE-INODE-TOKEN", with the region's device and
   inode. The token is random, so that nobody can take the name first. Replies consist of numbers, and root prints no
   text of another user. The path in a reply is only shown to the user of the recording.

   A recording sends CONTROL_ALIVE every 500 ms until it has carried a request out. */
#ifndef HEAPDUMP_CONTROL_H
#define HEAPDUMP_CONTROL_H

#include "../shell/shell.h"

#include <limits.h>

enum { CONTROL_VERSION = 3, CONTROL_NAME = 108, CONTROL_ALIVE_MS = 500, CONTROL_WAIT_MS = 2000 };

typedef enum control_verb { ASK_SNAPSHOT, ASK_STOP, ASK_REGION } control_verb;

/* Result of a request. */
typedef enum control_code {
    CONTROL_ALIVE,               /* a sign of life; the result follows */
    CONTROL_DONE,
    CONTROL_AT_END,              /* the format is written only at the end */
    CONTROL_NOBODY,              /* no recorded process is running */
    CONTROL_NOTHING,             /* nothing was recorded, so there is no file */
    CONTROL_UNWRITTEN,           /* the file could not be written */
    CONTROL_ENDED                /* the recording ended meanwhile */
} control_code;

typedef struct control_request {
    uint32_t version, verb;
    char out[PATH_MAX];          /* for a snapshot: another file; "": the recording's own */
} control_request;

typedef struct control_reply {
    uint32_t version, code;
    int32_t error;               /* errno of a failed write; 0: unknown */
    uint32_t moment, processes;  /* for a snapshot: its number, and the number of processes in it */
    uint32_t under_way;          /* operations in progress during the snapshot */
    uint64_t bytes;              /* live, as written */
    char path[PATH_MAX];         /* the recording's file */
} control_reply;

extern const char control_prefix[];

#endif
