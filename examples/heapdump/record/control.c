/* heapdump record: the control socket of a running recording. A thread receives requests and sends signs of life; the
   main thread carries the requests out. */

#include "control.h"
#include "record.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

const char control_prefix[] = "heapdump-";

enum { CLIENTS = 16, STACK = 1 << 17 };

/* A client process: connected, its request received, or being served. */
typedef struct client {
    enum { FREE, SILENT, HEARD, SERVED } is; /* SILENT: no request yet */
    int fd;
    uint64_t since_us;
    control_request q;
} client;

struct control {
    pthread_t thread;
    pthread_mutex_t lock;        /* of clients */
    int listener, wake, heard;   /* wake: wakes the thread; heard: wakes the main thread, which polls it */
    bool over;
    client clients[CLIENTS];
};

static void nudge(int fd) {
    const uint64_t one = 1;
    if (write(fd, &one, sizeof one)) {} /* full: a wake-up is pending already */
}

static void taken(int fd) {
    uint64_t n;
    if (read(fd, &n, sizeof n)) {}
}

static void client_close(client *c) {
    close(c->fd);
    c->is = FREE;
}

/* The thread. ------------------------------------------------------------------------------------ */

/* Whether the peer is root or our own user. */
static bool may_ask(int fd) {
    struct ucred who;
    socklen_t size = sizeof who;
    return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) && (!who.uid || who.uid == geteuid());
}

static client *client_place(control *k) {
    for (client *c = k->clients; c < k->clients + CLIENTS; c++)
        if (c->is == FREE) return c;
    return NULL;
}

static void clients_accept(control *k) {
    for (client *c; (c = client_place(k));) {
        int fd = accept4(k->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) return;
        if (!may_ask(fd)) {
            close(fd);
            continue;
        }
        c->is = SILENT, c->fd = fd, c->since_us = now_us();
    }
}

/* Whether the client hung up. Its request is then not carried out. */
static bool has_gone(const client *c) {
    struct pollfd end = { .fd = c->fd, .events = POLLRDHUP };
    return poll(&end, 1, 0) > 0 && end.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

static void client_hear(control *k, client *c) {
    ssize_t n = recv(c->fd, &c->q, sizeof c->q, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n != sizeof c->q || c->q.version != CONTROL_VERSION || has_gone(c)) {
        client_close(c);
        return;
    }
    c->q.out[sizeof c->q.out - 1] = 0;
    c->is = HEARD;
    nudge(k->heard);
}

/* Sends signs of life to waiting clients, and drops clients that are silent or hung up. */
static void clients_tend(control *k) {
    static const control_reply alive = { .version = CONTROL_VERSION, .code = CONTROL_ALIVE };
    for (client *c = k->clients; c < k->clients + CLIENTS; c++) {
        if (c->is == SILENT && now_us() - c->since_us > CONTROL_WAIT_MS * 1000) client_close(c);
        if (c->is != HEARD && c->is != SERVED) continue;
        if (c->is == HEARD && has_gone(c)) client_close(c);
        else if (send(c->fd, &alive, offsetof(control_reply, error), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {} /* later */
    }
}

static void *control_thread(void *user) {
    control *k = user;
    uint64_t tended = 0;
    pthread_mutex_lock(&k->lock);
    while (!k->over) {
        struct pollfd wait[2 + CLIENTS] = { { .fd = k->wake, .events = POLLIN },
                                            { .fd = client_place(k) ? k->listener : -1, .events = POLLIN } };
        bool any = false;
        for (int i = 0; i < CLIENTS; i++) {
            const client *c = &k->clients[i];
            wait[2 + i] = (struct pollfd){ .fd = c->is == SILENT ? c->fd : -1, .events = POLLIN };
            any |= c->is != FREE;
        }
        pthread_mutex_unlock(&k->lock);
        poll(wait, 2 + CLIENTS, any ? CONTROL_ALIVE_MS / 2 : -1);
        pthread_mutex_lock(&k->lock);
        if (wait[0].revents) taken(k->wake);
        for (int i = 0; i < CLIENTS; i++)
            if (k->clients[i].is == SILENT && wait[2 + i].revents) client_hear(k, &k->clients[i]);
        if (wait[1].revents) clients_accept(k);
        if (now_us() - tended < CONTROL_ALIVE_MS / 2 * 1000) continue;
        clients_tend(k);
        tended = now_us();
    }
    pthread_mutex_unlock(&k->lock);
    return NULL;
}

static int control_socket(const recording *r) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct stat st;
    uint64_t token;
    int n, fd;
    if (fstat(r->region.fd, &st) || getrandom(&token, sizeof token, 0) != sizeof token) return -1;
    n = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s%u-%llx-%llx-%llx", control_prefix,
                 (unsigned)geteuid(), (unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
                 (unsigned long long)token);
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && !bind(fd, (struct sockaddr *)&address,
                         (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) && !listen(fd, 128))
        return fd;
    if (fd >= 0) close(fd);
    return -1;
}

static bool control_start(control *k) {
    pthread_attr_t small;
    sigset_t all, before;
    bool started;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    started = !pthread_create(&k->thread, &small, control_thread, k);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&small);
    return started;
}

/* Without a socket, descriptors or a thread the recording continues, but `snapshot` and `stop` cannot find it. */
void control_listen(recording *r) {
    control *k;
    if (r->control) return;
    k = needed(calloc(1, sizeof *k));
    pthread_mutex_init(&k->lock, NULL);
    k->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    k->heard = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    k->listener = control_socket(r);
    if (k->wake >= 0 && k->heard >= 0 && k->listener >= 0 && control_start(k)) {
        r->control = k;
        return;
    }
    if (k->wake >= 0) close(k->wake);
    if (k->heard >= 0) close(k->heard);
    if (k->listener >= 0) close(k->listener);
    free(k);
}

/* The main thread. ------------------------------------------------------------------------------- */

int control_polled(const recording *r) { return r->control ? r->control->heard : -1; }

/* An answer with the name of the file, which only the recording's own user gets to see. */
static control_reply reply_of(const recording *r, control_code code) {
    control_reply reply = { .version = CONTROL_VERSION, .code = code };
    snprintf(reply.path, sizeof reply.path, "%s", r->file.path);
    return reply;
}

/* Sends the answer with a read-only descriptor of the region. */
static void send_region(int to, const recording *r) {
    control_reply reply = reply_of(r, CONTROL_DONE);
    union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } rights = { { 0 } };
    struct iovec data = { &reply, sizeof reply };
    struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &rights,
                              .msg_controllen = sizeof rights.bytes };
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    char path[64];
    int fd;
    snprintf(path, sizeof path, "/proc/self/fd/%d", r->region.fd);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    if (sendmsg(to, &message, MSG_NOSIGNAL) < 0) {} /* the client hung up */
    close(fd);
}

/* Ends a client; reply may be NULL. */
static void client_answer(control *k, client *c, const control_reply *reply) {
    pthread_mutex_lock(&k->lock);
    if (reply && send(c->fd, reply, sizeof *reply, MSG_NOSIGNAL) < 0) {} /* the client hung up */
    client_close(c);
    pthread_mutex_unlock(&k->lock);
    nudge(k->wake);              /* a slot is free */
}

/* Takes the heaps for a client, which gets its answer once they are written. False: *reply is the answer. */
static bool control_snapshot(recording *r, client *c, control_reply *reply) {
    if (r->stopped) return false;
    reply->code = CONTROL_AT_END;
    if (r->a->record.format && !*c->q.out) return false;
    processes_look(r);
    unrecorded_look(r, true);
    for (uint32_t i = 0; i < r->count; i++) resident_look_at(r, r->processes[i]);
    reply->code = CONTROL_NOBODY;
    return moment_take(r, false, c, &reply->moment) != 0;
}

/* Writes the heaps from index `first` on into another file, and removes them from the timeline. */
static int write_apart(recording *r, const char *path, size_t first) {
    timeline *t = &r->file;
    hd_chrome_dumps dumps = { .heap_count = t->count - first };
    FREED hd_heap *heaps = heaps_from(r, first);
    FREED hd_scalar *scalars = scalars_from(r, first, &dumps.scalar_count);
    int status;
    dumps.heaps = heaps;
    dumps.scalars = scalars;
    status = write_heaps(&r->out, &dumps, NULL, path, false);
    while (t->count > first) kept_release(&t->heaps[--t->count]);
    return status;
}

void control_written(recording *r, client *c, uint32_t moment, uint32_t under_way, size_t first) {
    control_reply reply = reply_of(r, CONTROL_NOBODY);
    const timeline *t = &r->file;
    int status;
    reply.moment = moment;
    reply.under_way = under_way;
    reply.processes = (uint32_t)(t->count - first);
    for (size_t i = first; i < t->count; i++) reply.bytes += totals_of(&t->heaps[i].heap).bytes;
    if (reply.processes) {
        errno = 0;
        status = *c->q.out ? write_apart(r, c->q.out, first) : timeline_flush(r, first);
        reply.error = status ? errno : 0;
        reply.code = status ? CONTROL_UNWRITTEN : CONTROL_DONE;
    }
    client_answer(r->control, c, &reply);
}

/* The client that has waited longest, now marked as served; NULL if no client waits. */
static client *client_next(control *k) {
    client *found = NULL;
    pthread_mutex_lock(&k->lock);
    for (client *c = k->clients; c < k->clients + CLIENTS; c++)
        if (c->is == HEARD && has_gone(c)) client_close(c);
        else if (c->is == HEARD && (!found || c->since_us < found->since_us)) found = c;
    if (found) found->is = SERVED;
    pthread_mutex_unlock(&k->lock);
    return found;
}

/* Carries out all requests. control_close answers requests to stop, control_written requests for a snapshot. */
void control_answer(recording *r) {
    control *k = r->control;
    taken(k->heard);
    for (client *c; (c = client_next(k));) {
        control_reply reply = reply_of(r, CONTROL_ENDED);
        if (c->q.verb == ASK_STOP) {
            record_stop(r);
            continue;
        }
        if (c->q.verb == ASK_SNAPSHOT && control_snapshot(r, c, &reply)) continue;
        if (c->q.verb == ASK_REGION) send_region(c->fd, r);
        client_answer(k, c, c->q.verb == ASK_SNAPSHOT ? &reply : NULL);
    }
    moments_write(r);
}

/* Closes the control socket at the end of the recording, and answers its clients. Status 0: the file is complete. */
void control_close(recording *r, int status) {
    control *k = r->control;
    if (!k) return;
    pthread_mutex_lock(&k->lock);
    k->over = true;
    pthread_mutex_unlock(&k->lock);
    nudge(k->wake);
    pthread_join(k->thread, NULL);
    close(k->listener);
    for (client *c = k->clients; c < k->clients + CLIENTS; c++) {
        bool stops = c->is != FREE && c->is != SILENT && c->q.verb == ASK_STOP;
        control_reply reply = reply_of(r, !stops ? CONTROL_ENDED : status ? CONTROL_UNWRITTEN
                                          : r->file.count || r->a->record.format ? CONTROL_DONE : CONTROL_NOTHING);
        if (c->is != FREE) client_answer(k, c, &reply);
    }
    close(k->wake);
    close(k->heard);
    free(k);
    r->control = NULL;
}
