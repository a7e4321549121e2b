/* heapdump capture: takes a heap snapshot of a running VM: of Dart over its VM service, of Node and Chrome over their
   inspector. Both use JSON over a WebSocket. The snapshot is written as it arrives and never held in memory. */

#define _GNU_SOURCE
#include <libwebsockets.h>       /* before text.h, which forbids calls of printf */

#include "record.h"

#include <limits.h>

/* An owner of a separate heap: a page, a worker, a Node process, an isolate. */
typedef struct target {
    char *kind, *title, *page, *id;
    char *url;                   /* WebSocket address of its inspector. Any of these may be NULL */
} target;

typedef struct wait {
    lws_sorted_usec_list_t timer; /* must be first: wait_over casts it */
    struct lws_context *context;
    bool over;
} wait;

/* Called by lws_service, which would then wait for its own next event, perhaps half a minute away. */
static void wait_over(lws_sorted_usec_list_t *timer) {
    wait *w = (wait *)timer;
    w->over = true;
    lws_cancel_service(w->context);
}

typedef struct capture {
    const arguments *a;
    struct lws_context *context;
    struct lws *wsi;
    const char *scheme, *host;   /* point into `address`, as does the path for `connect_to` */
    char address[2048], shown[300];
    int port;
    bool dart;
    target *targets, read_of;    /* the targets in the list, and the one being parsed */
    uint32_t count;

    char request[LWS_PRE + 2048];
    size_t request_size;         /* 0: it was sent */
    uint32_t asked, answered;    /* numbers of the last request and of the last answer */
    bool open, closed;           /* state of the connection */
    char error[300];             /* why the capture cannot go on; "": no error */
    char refused[300];           /* the VM's reason for refusing a request */
    uint64_t work_done, work;    /* progress that the VM reports, in its own unit */

    struct lejp_ctx json;        /* parser of the incoming message */
    bool listed;                 /* the message is a list */
    bool begun, whole;           /* its first bytes arrived; it is complete */
    char text[2048];             /* of a string in the message */
    size_t text_size;
    uint64_t at, begin;          /* in a binary message: offset of the next byte, and of the snapshot's first byte */
    bool is_last;                /* it contains the end of the snapshot */

    output *to;                  /* NULL: no snapshot is being taken */
    uint64_t written;
    reading progress;
} capture;

static int fail(capture *c, const char *format, ...) __attribute__((format(__printf__, 2, 3)));

/* Keeps the first reason. Returns the value that makes libwebsockets close the connection. */
static int fail(capture *c, const char *format, ...) {
    va_list args;
    if (*c->error) return -1;
    va_start(args, format);
    vsnprintf(c->error, sizeof c->error, format, args);
    va_end(args);
    return -1;
}

static int put(capture *c, const void *data, size_t size) {
    if (!c->to) return 0;
    c->written += size;
    if (c->to->out.write(c->to->out.user, data, size)) {
        hd_error err = { .message = "writing failed" };
        return fail(c, "%s", output_error(c->to, &err));
    }
    return 0;
}

/* Messages. ------------------------------------------------------------------------------------- */

enum { ID = 1, ERROR, CHUNK, WORK_DONE, WORK, ISOLATE_ID, ISOLATE_NAME, LAST,
       LISTED_KIND, LISTED_TITLE, LISTED_PAGE, LISTED_URL };
static const char *const paths[] = {
    "id", "error.message", "params.chunk", "params.done", "params.total", "result.isolates[].id",
    "result.isolates[].name", "params.event.last", "[].type", "[].title", "[].url", "[].webSocketDebuggerUrl"
};

static void keep(char **to, const capture *c) {
    free(*to);
    *to = needed(strndup(c->text, c->text_size));
}

static void target_free(target *t) { free(t->kind), free(t->title), free(t->page), free(t->url), free(t->id); }

static void target_end(capture *c) {
    target *t = &c->read_of;
    if (t->url || t->id) {
        c->targets = needed(realloc(c->targets, (c->count + (size_t)1) * sizeof *c->targets));
        c->targets[c->count++] = *t;
    } else {
        target_free(t);
    }
    *t = (target){ 0 };
}

static void target_text(capture *c, int path) {
    switch (path) {
    case ERROR: snprintf(c->refused, sizeof c->refused, "%.*s", (int)c->text_size, c->text); break;
    case ISOLATE_ID: keep(&c->read_of.id, c); break;
    case LISTED_KIND: keep(&c->read_of.kind, c); break;
    case ISOLATE_NAME: case LISTED_TITLE: keep(&c->read_of.title, c); break;
    case LISTED_PAGE: keep(&c->read_of.page, c); break;
    case LISTED_URL: keep(&c->read_of.url, c); break;
    }
}

static signed char on_json(struct lejp_ctx *x, char reason) {
    capture *c = x->user;
    int path = x->path_match;
    switch ((uint8_t)reason) {
    case LEJPCB_VAL_STR_START: c->text_size = 0; break;
    case LEJPCB_VAL_STR_CHUNK:
    case LEJPCB_VAL_STR_END:
        if (path == CHUNK) return (signed char)put(c, x->buf, x->npos);
        for (size_t i = 0; i < x->npos && c->text_size < sizeof c->text; i++) c->text[c->text_size++] = x->buf[i];
        if (reason == LEJPCB_VAL_STR_END) target_text(c, path);
        break;
    case LEJPCB_VAL_NUM_INT:
        if (path == ID) c->answered = (uint32_t)strtoul(x->buf, NULL, 10);
        if (path == WORK_DONE) c->work_done = strtoull(x->buf, NULL, 10);
        if (path == WORK) c->work = strtoull(x->buf, NULL, 10);
        break;
    case LEJPCB_VAL_TRUE: c->is_last |= path == LAST; break;
    case LEJPCB_OBJECT_END: target_end(c); break;
    }
    return 0;
}

/* Parses a piece of a JSON message. Only blanks may follow its end. */
static int read_json(capture *c, const void *data, size_t size, bool first, bool last) {
    int status;
    if (first) {
        lejp_construct(&c->json, on_json, c, paths, LWS_ARRAY_SIZE(paths));
        c->whole = false;
    }
    status = c->whole || !size ? LEJP_CONTINUE : lejp_parse(&c->json, data, (int)size);
    c->whole |= status >= 0;
    if (*c->error) return -1;
    if (status < LEJP_CONTINUE) return fail(c, "expected a JSON message: %s", lejp_error_to_string(status));
    return last && !c->whole ? fail(c, "the JSON message is truncated") : 0;
}

/* Parses a piece of the Dart VM's binary message: the offset of the snapshot, JSON up to there, the snapshot. */
static int read_binary(capture *c, const void *data, size_t size, bool first, bool last) {
    const uint8_t *p = data;
    if (first) c->at = c->begin = 0;
    for (size_t n; size; p += n, size -= n, c->at += n) {
        n = size;
        if (c->at < 4) {
            n = 1;
            c->begin |= (uint64_t)*p << (8 * c->at);
        } else if (c->at < c->begin) {
            if (n > c->begin - c->at) n = (size_t)(c->begin - c->at);
            if (read_json(c, p, n, c->at == 4, c->at + n == c->begin)) return -1;
        } else if (put(c, p, n)) {
            return -1;
        }
    }
    if (c->at >= 4 && c->begin < 4) return fail(c, "expected a message with a header");
    return last && (c->at < 4 || c->at < c->begin) ? fail(c, "a message is truncated in its header") : 0;
}

/* The connection. ------------------------------------------------------------------------------- */

static int read_http(struct lws *wsi) {
    char buffer[LWS_PRE + 4096], *to = buffer + LWS_PRE;
    int n = 4096;
    return lws_http_client_read(wsi, &to, &n) < 0 ? -1 : 0;
}

/* Parses a piece of the target list. A VM without such a list gives another answer, which is no error. */
static int on_list(capture *c, const char *data, size_t size) {
    if (!c->begun && size) c->listed = *data == '[';
    if (c->listed) read_json(c, data, size, !c->begun, false);
    c->begun |= size > 0;
    return 0;
}

static int send_request(capture *c, struct lws *wsi) {
    size_t size = c->request_size;
    c->request_size = 0;
    if (!size || lws_write(wsi, (unsigned char *)c->request + LWS_PRE, size, LWS_WRITE_TEXT) >= (int)size) return 0;
    return fail(c, "the VM accepts no more requests");
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t size) {
    capture *c = lws_context_user(lws_get_context(wsi));
    (void)user;
    switch (reason) {
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
        fail(c, "%.*s", in ? (int)size : 13, in ? (const char *)in : "no connection");
        c->closed = true;
        break;
    case LWS_CALLBACK_RECEIVE_CLIENT_HTTP: return read_http(wsi);
    case LWS_CALLBACK_RECEIVE_CLIENT_HTTP_READ: return on_list(c, in, size);
    case LWS_CALLBACK_CLIENT_ESTABLISHED: c->open = true; break;
    case LWS_CALLBACK_CLIENT_WRITEABLE: return send_request(c, wsi);
    case LWS_CALLBACK_CLIENT_RECEIVE:
        return (lws_frame_is_binary(wsi) ? read_binary : read_json)(c, in, size, lws_is_first_fragment(wsi),
                                                                       lws_is_final_fragment(wsi));
    case LWS_CALLBACK_COMPLETED_CLIENT_HTTP:
    case LWS_CALLBACK_CLOSED_CLIENT_HTTP:
    case LWS_CALLBACK_CLIENT_CLOSED: c->closed = true; break;
    default: break;
    }
    return 0;
}

static const struct lws_protocols protocols[] = { { "heapdump", on_event, 0, 1 << 16, 0, NULL, 0 },
                                                  { NULL, NULL, 0, 0, 0, NULL, 0 } };

/* Method "GET" requests a page, NULL opens the WebSocket. Returns when an answer came, or none can come. */
static bool connect_to(capture *c, const char *method, const char *path) {
    bool tls = !strcmp(c->scheme, "wss") || !strcmp(c->scheme, "https");
    struct lws_context_creation_info made = {
        .port = CONTEXT_PORT_NO_LISTEN, .protocols = protocols, .user = c, .gid = -1, .uid = -1,
        .options = tls ? LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT : 0
    };
    struct lws_client_connect_info to = { .address = c->host, .port = c->port, .path = path, .host = c->shown,
                                          .method = method, .protocol = method ? protocols[0].name : NULL,
                                          .local_protocol_name = protocols[0].name, .pwsi = &c->wsi,
                                          .ssl_connection = tls ? LCCSCF_USE_SSL : 0 };
    if (c->context) lws_context_destroy(c->context); /* also frees the pending work of an older connection */
    c->context = needed(lws_create_context(&made));
    to.context = c->context;
    c->open = c->closed = c->begun = false;
    *c->error = 0;
    if (!lws_client_connect_via_info(&to)) return fail(c, "no connection"), false;
    while (!c->open && !c->closed) lws_service(c->context, 0);
    return !*c->error;
}

/* Reports why the connection was lost. */
static int unreached(const capture *c) {
    progress_end();
    display(stderr, "heapdump: %s: %s\n", c->shown, c->error);
    return BAD_INPUT;
}

/* Asking. -------------------------------------------------------------------------------------- */

/* Sends a request, with `text` and `flag` unless they are NULL, and waits for the answer. */
static bool ask(capture *c, const char *method, const char *key, const char *text, const char *flag) {
    hd_buffer request = { 0 };
    hd_json j;
    hd_json_begin(&j, hd_out_memory(&request));
    hd_json_object(&j);
    if (c->dart) json_text(&j, "jsonrpc", "2.0"); /* an inspector refuses this field */
    json_u64(&j, "id", ++c->asked);
    json_text(&j, "method", method);
    json_object(&j, "params");
    if (key) json_text(&j, key, text);
    if (flag) json_bool(&j, flag, true);
    hd_json_end(&j);
    hd_json_end(&j);
    if (hd_json_finish(&j)) needed(NULL);
    if (request.size > sizeof c->request - LWS_PRE) fail(c, "the request is too long: %zu bytes", request.size);
    else memcpy(c->request + LWS_PRE, request.data, c->request_size = request.size);
    hd_buffer_free(&request);
    *c->refused = 0;
    lws_callback_on_writable(c->wsi);
    while (!*c->error && c->answered != c->asked) {
        if (c->to && !c->written && c->work) on_progress(&c->progress, c->work_done, c->work);
        if (c->closed) fail(c, "the VM closed the connection");
        else lws_service(c->context, 0);
    }
    if (*c->refused) fail(c, "%s: %s", method, c->refused);
    return !*c->error;
}

static bool take(capture *c, const target *of) {
    if (!c->dart) {
        if (c->a->watch.gc && !ask(c, "HeapProfiler.collectGarbage", NULL, NULL, NULL)) return false;
        return ask(c, "HeapProfiler.takeHeapSnapshot", NULL, NULL, "reportProgress");
    }
    if (c->a->watch.gc && !ask(c, "getAllocationProfile", "isolateId", of->id, "gc")) return false;
    if (!ask(c, "requestHeapSnapshot", "isolateId", of->id, NULL)) return false;
    while (!*c->error && !c->is_last) {
        if (c->closed) fail(c, "the VM closed the connection");
        else lws_service(c->context, 0);
    }
    return !*c->error;
}

/* Target. -------------------------------------------------------------------------------------- */

static bool is_in(const char *text, const char *word) { return text && strstr(text, word); }

static bool target_is(const target *t, uint32_t i, const char *word) {
    char *end;
    unsigned long number = strtoul(word, &end, 10);
    if (*word && !*end) return number == i + 1ul;
    return is_in(t->kind, word) || is_in(t->title, word) || is_in(t->page, word) || is_in(t->id, word);
}

static void target_show(const target *t, uint32_t i) {
    display(stderr, "  %2u", i + 1);
    if (t->kind) display(stderr, "  %s", t->kind);
    if (t->title) display(stderr, "  %s", t->title);
    display(stderr, "  %s\n", t->page ? t->page : t->id ? t->id : "");
}

/* The target that --target names, by its number or by a word of its line. Without --target: the only target, or the
   only page, since a browser also lists parts of its own window. */
static int choose_target(const capture *c, const target **target_chosen) {
    const char *word = c->a->watch.target;
    uint32_t found = 0;
    if (!c->count) {
        display(stderr, "heapdump: %s: found no page, worker or isolate to take a snapshot of\n", c->shown);
        return BAD_INPUT;
    }
    for (uint32_t i = 0; i < c->count; i++)
        if (word ? target_is(&c->targets[i], i, word) : c->count == 1 || is_in(c->targets[i].kind, "page"))
            *target_chosen = &c->targets[i], found++;
    if (found == 1) return DONE;
    if (word) display(stderr, "heapdump: %s: %u targets match --target %s: ", c->shown, found, word);
    else display(stderr, "heapdump: %s has several targets: ", c->shown);
    display(stderr, "choose one by --target NUMBER, or a word of its line\n");
    for (uint32_t i = 0; i < c->count; i++) target_show(&c->targets[i], i);
    return WRONG_USAGE;
}

/* ADDRESS: a port of this machine, HOST:PORT, or a URL. */
static bool address_set(capture *c, const char *text, const char **path) {
    static const char *const schemes[] = { "http", "https", "ws", "wss" };
    const char *form = strstr(text, "://") ? "%s" : strchr(text, ':') ? "http://%s" : "http://127.0.0.1:%s";
    int n = snprintf(c->address, sizeof c->address, form, text);
    if (n < 0 || (size_t)n >= sizeof c->address) return false;
    if (lws_parse_uri(c->address, &c->scheme, &c->host, &c->port, path)) return false;
    *path += strspn(*path, "/");
    snprintf(c->shown, sizeof c->shown, strchr(c->host, ':') ? "[%s]:%d" : "%s:%d", c->host, c->port);
    for (size_t i = 0; i < LWS_ARRAY_SIZE(schemes); i++)
        if (!strcmp(c->scheme, schemes[i])) return *c->host && c->port > 0 && c->port < 65536;
    return false;
}

/* Connects to the inspector that lists the targets, or to the VM service. Reports errors itself. */
static int reach(capture *c, const char *path, const target **of) {
    static const target only = { NULL, NULL, NULL, NULL, NULL };
    char page[2100], *socket = page;
    bool named = c->scheme[0] == 'w';
    int status = DONE;
    const char *slash = *path && path[strlen(path) - 1] != '/' ? "/" : "";
    snprintf(page, sizeof page, named ? "/%s" : "/%s%sjson/list", path, slash);
    *of = &only;
    if (!named) {
        if (!connect_to(c, "GET", page)) return unreached(c);
        while (!c->closed) lws_service(c->context, 0);
        if (c->listed && !c->whole) fail(c, "the list of targets is truncated");
        if (c->listed && *c->error) return unreached(c);
        if (c->listed && (status = choose_target(c, of))) return status;
        if (c->listed) socket = strchr((*of)->url + strcspn((*of)->url, "/") + 2, '/');
        else snprintf(page, sizeof page, "/%s%sws", path, slash);
        if (!socket) return fail(c, "the target has no address that heapdump understands"), unreached(c);
    }
    size_t n = strlen(socket);
    c->dart = n >= 3 && !strcmp(socket + n - 3, "/ws");
    if (!connect_to(c, NULL, socket)) {
        if (!named && !c->listed)
            snprintf(c->error, sizeof c->error, "found neither an inspector nor a Dart VM service");
        return unreached(c);
    }
    if (!c->dart) return ask(c, "HeapProfiler.enable", NULL, NULL, NULL) ? DONE : unreached(c);
    if (!ask(c, "getVM", NULL, NULL, NULL)) return unreached(c);
    status = choose_target(c, of);
    if (status) return status;
    return ask(c, "streamListen", "streamId", "HeapSnapshot", NULL) ? DONE : unreached(c);
}

/* Files. --------------------------------------------------------------------------------------- */

/* The file name of snapshot `i`: with --every, the number goes before the extension. */
static void name_of(const capture *c, uint32_t i, char *name, size_t size) {
    const char *format = c->dart ? ".dartheap" : ".heapsnapshot", *rest;
    char usual[64], number[16] = "";
    const char *path = c->a->out.file;
    snprintf(usual, sizeof usual, "heapdump.%d%s", c->port, format);
    if (!path) path = usual;
    rest = strstr(path, format);
    if (!rest) rest = strrchr(path, '.');
    if (!rest || strchr(rest, '/')) rest = path + strlen(path);
    if (c->a->watch.every > 0) snprintf(number, sizeof number, ".%u", i + 1);
    snprintf(name, size, "%.*s%s%s", (int)(rest - path), path, number, rest);
}

static int capture_to(capture *c, const target *of, uint32_t i) {
    char path[PATH_MAX];
    output o;
    int status;
    name_of(c, i, path, sizeof path);
    status = output_open_as(&o, path, !c->a->out.file);
    if (status) return status;
    c->to = &o;
    c->written = c->work = 0;
    c->is_last = false;
    c->progress = (reading){ .doing = "the VM looks through its heap" };
    clock_gettime(CLOCK_MONOTONIC, &c->progress.began);
    if (!take(c, of)) status = unreached(c);
    c->to = NULL;
    status = output_close(&o, path, status);
    if (status || !o.is_file) return status;
    display(stderr, "heapdump: wrote %s, %.1f MiB%s%s\n", path, (double)c->written / 1048576, of->title ? ": " : "",
            of->title ? of->title : "");
    return DONE;
}

/* Proposes suspects of the snapshots; of many only the first and the last. */
static void tell_next(const capture *c, uint32_t count) {
    enum { MANY = 4 };
    char path[PATH_MAX];
    if (c->a->out.file && !strcmp(c->a->out.file, "-")) return;
    display(stderr, "heapdump: next: heapdump suspects");
    for (uint32_t i = 0; i < count; i += count > MANY ? count - 1 : 1) {
        name_of(c, i, path, sizeof path);
        display(stderr, " %s", path);
    }
    display(stderr, "\n");
}

/* Waits, and keeps answering the VM meanwhile. */
static bool wait_for(capture *c, double seconds) {
    wait w = { .context = c->context };
    lws_sul_schedule(c->context, 0, &w.timer, wait_over, (lws_usec_t)(seconds * 1e6));
    while (!w.over && !c->closed && !*c->error) lws_service(c->context, 0);
    lws_sul_schedule(c->context, 0, &w.timer, wait_over, LWS_SET_TIMER_USEC_CANCEL);
    if (c->closed) fail(c, "the VM closed the connection");
    return !*c->error;
}

void capture_defaults(arguments *a) {
    if (!a->watch.count) a->watch.count = a->watch.every > 0 ? 2 : 1;
    if (a->watch.count > 1 && !(a->watch.every > 0)) a->watch.every = 1;
}

int run_capture(const arguments *a) {
    capture c = { .a = a };
    uint32_t count = a->watch.count;
    const target *of;
    const char *path;
    int status;
    if (a->input.file_count != 1) return usage("capture takes one port, URL or PID");
    if (a->watch.jvm) return capture_jvm(a);
    if (!address_set(&c, a->input.files[0], &path))
        return usage("expected a port, HOST:PORT or a URL, found '%s'", a->input.files[0]);
    if (count > 1 && a->out.file && !strcmp(a->out.file, "-"))
        return usage("several snapshots cannot go to standard output: use -o FILE");
    lws_set_log_level(0, NULL);
    status = reach(&c, path, &of);
    for (uint32_t i = 0; i < count && !status; i++) {
        if (i && !wait_for(&c, a->watch.every)) status = unreached(&c);
        if (!status) status = capture_to(&c, of, i);
    }
    if (!status) tell_next(&c, count);
    if (c.context) lws_context_destroy(c.context);
    for (uint32_t i = 0; i < c.count; i++) target_free(&c.targets[i]);
    target_free(&c.read_of);
    free(c.targets);
    return status;
}
