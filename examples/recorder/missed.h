/* Reports a program that cannot join the recording to `heapdump record`: see join.h. Never waits. If heapdump does
   not listen, or its queue is full, the message is lost. */

#ifndef MISSED_H
#define MISSED_H

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "join.h"

/* Returns the connection, which exec closes; -1: the message is lost. */
static int missed_report(const char *join, join_missed *missed) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const socklen_t size = offsetof(struct sockaddr_un, sun_path) + 1 + JOIN_NAME;
    int s = strlen(join) == JOIN_NAME ? socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
    if (s < 0) return -1;
    missed->version = JOIN_VERSION;
    missed->size = sizeof *missed;
    missed->own = getpid();
    memcpy(address.sun_path + 1, join, JOIN_NAME);
    if (!connect(s, (struct sockaddr *)&address, size) &&
        send(s, missed, sizeof *missed, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
        return s;
    close(s);
    return -1;
}

#endif
