/* usage: third CASE, by suspects.sh

   Like published.c, but with leaks that suspects had not seen. Each leak is among work like that of its own program.
   Rewritten from the reports, with the programs' own names.

   leak label: window_tree_draw_session  https://github.com/tmux/tmux/issues/4591        a label that is too wide is formatted again, over the first
   leak path: file_get_path          https://github.com/tmux/tmux/issues/4877            a relative path is copied, the copy joined, not freed
   leak find: HASHfind               https://github.com/stepcode/stepcode/pull/140       the searched key is put into an element, and stays
   leak memcached: create_req|h2o_memcached_set|h2o_memcached_delete  https://github.com/h2o/h2o/pull/856  a command to set or delete is not freed when it is done
   leak download: mg_connect_client_impl  https://github.com/civetweb/civetweb/issues/448  the connection of a client is closed, not freed
   leak will: MQTTClient_connectURI  https://github.com/eclipse-paho/paho.mqtt.c/issues/197  the two texts of a removed will stay
   leak loadfile: duv_loadfile|uv_fs_open  https://github.com/creationix/dukluv/pull/22  a request is used again before it is cleaned up
   leak tubes: do_list_tubes         https://github.com/beanstalkd/beanstalkd/issues/29  a job that holds a reply is not marked for freeing
   leak lookup: libwebsocket_client_connect_2  https://github.com/warmcat/libwebsockets/issues/255  the list of addresses is walked by its only pointer
   leak turn: create_new_ss|open_client_connection_session  https://github.com/coturn/coturn/pull/956  a session that cannot be registered stays in the map
   leak mset: mbuf_get|_mbuf_get|msg_recv_chain  https://github.com/twitter/twemproxy/issues/487  buffers are removed from a message and lost
   leak telemetry: cJSON_Print       https://github.com/DaveGamble/cJSON/issues/764      a text that its caller has to free
   leak ftp: accept_clients          https://github.com/parkergrt/ftp-server/issues/1    a thread is given its socket in a block of its own */
#define _GNU_SOURCE
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long sum;
static void use(const char *s) { if (s) sum += strlen(s); }
static unsigned drawn = 1;
static unsigned draw(void) { return (drawn = drawn * 1103515245u + 12345u) >> 8; }
static void *(*get)(size_t) = malloc;           /* the program's allocator */
static char *text(const char *what, int i) { char b[200]; int n = snprintf(b, sizeof b, "%s %d %.*s", what, i, i % 50, "--------------------------------------------------"); return memcpy(get((size_t)n + 1), b, (size_t)n + 1); }

/* Ordinary work; each program uses the parts that it needs. */
static char *settings[4000];
static void load_settings(int n, int size) { for (int i = 0; i < n; i++) settings[i] = get((size_t)(size / 2 + (int)(draw() % (unsigned)size))); }
static struct session { char name[40]; char *in, *out; } *sessions[1000];
static void session_step(unsigned most, size_t buffer) {
    unsigned k = draw() % most;
    struct session *s = sessions[k];
    if (s) { free(s->in); free(s->out); free(s); sessions[k] = NULL; return; }
    s = sessions[k] = get(sizeof *s), s->in = get(buffer), s->out = get(buffer / 2), s->name[0] = 0;
}
static struct cached { unsigned key; char *body; } *cache[3000];
static void cache_look_up(unsigned range, unsigned room) {         /* the room belongs to the latest requests */
    unsigned key = draw() % range * (draw() % range) / range, k = key * 2654435761u % room;
    struct cached *c = cache[k];
    if (c && c->key == key) { use(c->body); return; }
    if (c) { free(c->body); free(c); }
    c = cache[k] = get(sizeof *c), c->key = key, c->body = text("a page of the cache", (int)key);
}
static char *lines[2000]; static unsigned line;
static void history_add(unsigned most, int i) { free(lines[line % most]); lines[line++ % most] = text("a line of the history", i); }
static char *rows[4000]; static unsigned row_count;
static void query_burst(int i, int every, unsigned n) {            /* a large result exists for a while */
    if (i % every == 0) while (row_count < n) rows[row_count++] = get(40 + draw() % 100);
    if (i % every == every / 4) while (row_count) free(rows[--row_count]);
}
static struct chunk { struct chunk *next; char data[2000]; } *spare;
static void pool_work(unsigned most) {                            /* the pool has at most the chunks needed at once */
    struct chunk *taken = NULL, *c;
    for (unsigned n = 1 + draw() % most; n; n--) { if ((c = spare)) spare = c->next; else c = get(sizeof *c); c->next = taken, taken = c; }
    while ((c = taken)) taken = c->next, c->next = spare, spare = c;
}
static char *names[3000];
static void name_learn(unsigned range) { unsigned k = draw() % range; if (!names[k]) names[k] = text("a name", (int)k); }
static char *outgoing[3000]; static unsigned outgoing_count;
static void outgoing_add(unsigned most, int i) { if (outgoing_count == most) while (outgoing_count) free(outgoing[--outgoing_count]); outgoing[outgoing_count++] = text("a message that waits", i); }
static char *screen; static size_t screen_size;
static void screen_draw(void) { size_t n = 500 + draw() % 20000; if (n > screen_size) screen = realloc(screen, screen_size = n); screen[n / 2] = 1; }
static void request_parse(int i) { char *a = text("GET /a/page", i), *b = text("Host: example.org", i); use(a); use(b); free(b); free(a); }

/* tmux */
static void *xmalloc(size_t n) { void *p = malloc(n); if (!p) abort(); return p; }
static char *xstrdup(const char *s) { char *p = strdup(s); if (!p) abort(); return p; }
static int xvasprintf(char **ret, const char *fmt, va_list ap) { int n = vasprintf(ret, fmt, ap); if (n == -1) abort(); return n; }
static int xasprintf(char **ret, const char *fmt, ...) { va_list ap; va_start(ap, fmt); int n = xvasprintf(ret, fmt, ap); va_end(ap); return n; }
static void window_tree_draw_session(int i) {
    char *label;
    for (int w = 0; w < 4; w++) {
        xasprintf(&label, " %d:%.*s ", w, (i + w * 7) % 30, "a window of an editor or shell");
        if (strlen(label) > 26) xasprintf(&label, " %d ", w);
        use(label);
        free(label);
    }
}
static char *pane_title[40];
static void status_update(int i) { char *left; int p = i % 40; xasprintf(&left, "[%d] %s", i % 9, "status"); use(left); free(left); free(pane_title[p]); pane_title[p] = xstrdup("a title of a pane"); }
static void tmux_start(void) { get = xmalloc; load_settings(1200, 60); }
static void tmux_tree(int i) { history_add(2000, i); screen_draw(); status_update(i); name_learn(400); request_parse(i); if (i % 3 == 0) window_tree_draw_session(i); }

static char *file_get_path(const char *file) {
    char *path, *full_path;
    if (strncmp(file, "~/", 2) != 0) path = xstrdup(file); else xasprintf(&path, "%s/%s", "/home/someone", file + 2);
    if (*path == '/') return path;
    xasprintf(&full_path, "%s/%s", "/home/someone/a/directory/of/work", path);
    return full_path;
}
static void load_buffer(int i) { char file[60]; snprintf(file, sizeof file, "%sbuffers/of/the/session-%d", i % 2 ? "/tmp/" : i % 4 ? "~/" : "", i); char *p = file_get_path(file); use(p); free(p); }
static char *paste[50];
static void paste_add(int i) { free(paste[i % 50]); paste[i % 50] = xmalloc(200 + draw() % 3000); }
static void tmux_buffers(int i) { history_add(1500, i); status_update(i); paste_add(i); screen_draw(); session_step(60, 1024); load_buffer(i); }

/* A dictionary of schemas: entities come and go with their file. */
typedef struct Element { char *key; void *data; struct Element *next; } Element;
static struct { Element *bucket[256]; } schema;
static unsigned HASHhash(const char *s) { unsigned h = 5381; while (*s) h = h * 33 + (unsigned char)*s++; return h % 256; }
static Element *HASHsearch(Element *item) { for (Element *e = schema.bucket[HASHhash(item->key)]; e; e = e->next) if (!strcmp(e->key, item->key)) return e; return NULL; }
static void HASHinsert(char *key, void *data) { Element *e = calloc(1, sizeof *e); unsigned h = HASHhash(key); e->key = key, e->data = data, e->next = schema.bucket[h], schema.bucket[h] = e; }
static void *HASHfind(char *key) { Element *e = calloc(1, sizeof *e), *ep; e->key = key, e->data = NULL; ep = HASHsearch(e); return ep ? ep->data : NULL; }
static struct instance { struct instance *next; double values[4]; char *label; } *model;
static void instance_read(int i) {
    char key[40];
    snprintf(key, sizeof key, "ENTITY_%u", draw() % 700);
    struct instance *n = malloc(sizeof *n);
    n->label = text("#instance", i), n->next = model, model = n;
    use(HASHfind(key));
}
static void model_close(void) { while (model) { struct instance *n = model->next; free(model->label); free(model); model = n; } }
static void step_start(void) { char *k; for (int i = 0; i < 600; i++) { asprintf(&k, "ENTITY_%d", i); HASHinsert(k, "an entity of the schema"); } load_settings(800, 120); }
static void step_file(int i) { if (i % 750 == 749) model_close(); instance_read(i); if (i % 5 == 0) request_parse(i); pool_work(30); }

/* h2o: TLS sessions are stored in memcached by a separate thread. */
enum { REQ_TYPE_GET, REQ_TYPE_SET, REQ_TYPE_DELETE };
typedef struct h2o_memcached_req { struct h2o_memcached_req *next; int type; char *value; size_t key_len; char key[1]; } h2o_memcached_req_t;
static struct { pthread_mutex_t mutex; pthread_cond_t cond; h2o_memcached_req_t *pending, **end; int stop, done; } memc = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER };
static void *h2o_mem_alloc(size_t n) { void *p = malloc(n); if (!p) abort(); return p; }
static h2o_memcached_req_t *create_req(int type, const char *key, size_t key_len) { h2o_memcached_req_t *r = h2o_mem_alloc(sizeof *r + key_len); memset(r, 0, sizeof *r); r->type = type, r->key_len = key_len; memcpy(r->key, key, key_len); return r; }
static void free_req(h2o_memcached_req_t *r) { free(r->value); free(r); }
static void discard_req(h2o_memcached_req_t *r) { if (r->type == REQ_TYPE_GET) free_req(r); }
static void *memcached_thread(void *arg) {
    pthread_mutex_lock(&memc.mutex);
    while (!memc.stop) {
        h2o_memcached_req_t *r = memc.pending;
        if (!r) { pthread_cond_wait(&memc.cond, &memc.mutex); continue; }
        memc.pending = r->next;
        discard_req(r);
        memc.done++;
        pthread_cond_broadcast(&memc.cond);
    }
    pthread_mutex_unlock(&memc.mutex);
    return arg;
}
static void dispatch(h2o_memcached_req_t *r) { int before; pthread_mutex_lock(&memc.mutex); before = memc.done, r->next = memc.pending, memc.pending = r; pthread_cond_broadcast(&memc.cond); while (memc.done == before) pthread_cond_wait(&memc.cond, &memc.mutex); pthread_mutex_unlock(&memc.mutex); }
static void h2o_memcached_get(const char *key) { dispatch(create_req(REQ_TYPE_GET, key, strlen(key))); }
static void h2o_memcached_set(const char *key, size_t n) { h2o_memcached_req_t *r = create_req(REQ_TYPE_SET, key, strlen(key)); r->value = h2o_mem_alloc(n); r->value[0] = 1; dispatch(r); }
static void h2o_memcached_delete(const char *key) { dispatch(create_req(REQ_TYPE_DELETE, key, strlen(key))); }
static void handshake_tls(int i) { char key[80]; snprintf(key, sizeof key, "h2o:session:%08x%08x", (unsigned)i, draw()); h2o_memcached_get(key); if (i % 3 == 0) h2o_memcached_set(key, 180 + draw() % 60); else if (i % 10 == 1) h2o_memcached_delete(key); }
static void h2o_start(void) { pthread_t t; get = h2o_mem_alloc; load_settings(900, 110); pthread_create(&t, NULL, memcached_thread, NULL); }
static void h2o_request(int i) { request_parse(i); session_step(250, 4096); cache_look_up(1500, 900); pool_work(25); if (i % 4 == 0) handshake_tls(i / 4); }

/* civetweb: a server that sometimes downloads from another. */
enum { MAX_REQUEST_SIZE = 16384 };
struct mg_context { int *worker_threadids; int context_type; };
struct mg_connection { struct mg_context *ctx; char *buf; int buf_size, must_close; char addr[64]; };
static void *mg_malloc(size_t n) { return malloc(n); }
static void *mg_calloc(size_t n, size_t size) { return calloc(n, size); }
static void mg_free(void *p) { free(p); }
static struct mg_context common_client_context;
static struct mg_connection *mg_connect_client_impl(const char *host, int use_ssl) {
    struct mg_connection *conn = mg_calloc(1, sizeof *conn + MAX_REQUEST_SIZE);
    conn->buf_size = MAX_REQUEST_SIZE, conn->buf = (char *)(conn + 1), conn->ctx = &common_client_context;
    snprintf(conn->addr, sizeof conn->addr, "%s:%d", host, use_ssl ? 443 : 80);
    return conn;
}
static struct mg_connection *mg_download(const char *host) { struct mg_connection *c = mg_connect_client_impl(host, 0); strcpy(c->buf, "HTTP/1.1 200 OK"); return c; }
static void mg_close_connection(struct mg_connection *conn) {
    struct mg_context *client_ctx = conn->ctx->context_type == 2 ? conn->ctx : NULL;
    conn->must_close = 1;
    if (client_ctx) { mg_free(client_ctx->worker_threadids); mg_free(client_ctx); mg_free(conn); }
}
static struct mg_connection *workers[50];
static void civet_start(void) { get = mg_malloc; load_settings(300, 80); for (int i = 0; i < 50; i++) workers[i] = mg_calloc(1, sizeof *workers[i] + MAX_REQUEST_SIZE); }
static void civet_request(int i) { request_parse(i); session_step(300, 700); cache_look_up(900, 800); history_add(500, i); if (i % 40 == 0) mg_close_connection(mg_download("www.example.org")); }

/* Paho: an MQTT client that sometimes loses its connection. */
static void *mymalloc(size_t n) { void *p = malloc(n + 8); return p ? memset(p, 0, n) : NULL; }
static char *MQTTStrdup(const char *s) { size_t n = strlen(s) + 1; return memcpy(mymalloc(n), s, n); }
static struct { char *clientID; struct { char *msg, *topic; int qos; } *will; char *msgs[100]; } *mqtt;
static void MQTTClient_connectURI(const char *topic, const char *message) {
    mqtt->will = mymalloc(sizeof *mqtt->will);
    mqtt->will->msg = MQTTStrdup(message), mqtt->will->qos = 1, mqtt->will->topic = MQTTStrdup(topic);
    use(mqtt->will->topic);
    free(mqtt->will), mqtt->will = NULL;
}
static void MQTTPersistence_put(int i) { int k = (int)(draw() % 100); free(mqtt->msgs[k]); mqtt->msgs[k] = mymalloc(300 + draw() % 700); (void)i; }
static void mqtt_start(void) { get = mymalloc; mqtt = mymalloc(sizeof *mqtt); mqtt->clientID = MQTTStrdup("a sensor"); load_settings(500, 40); }
static void mqtt_publish(int i) { char *t = MQTTStrdup("house/room/temperature"); use(t); free(t); MQTTPersistence_put(i); outgoing_add(350, i); name_learn(120); if (i % 12 == 0) MQTTClient_connectURI("house/sensors/hall/status", "the sensor of the hall went away without a word"); }

/* dukluv: modules that libuv loads again and again. */
typedef struct { char *path; char *ptr; } uv_fs_t;
static void *uv__malloc(size_t n) { return malloc(n); }
static char *uv__strdup(const char *s) { size_t n = strlen(s) + 1; char *m = uv__malloc(n); return m ? memcpy(m, s, n) : NULL; }
static int uv_fs_open(uv_fs_t *req, const char *path) { req->ptr = NULL, req->path = uv__strdup(path); return 3; }
static int uv_fs_fstat(uv_fs_t *req) { req->path = NULL; return 2000; }
static void uv_fs_req_cleanup(uv_fs_t *req) { free(req->path); free(req->ptr); req->path = req->ptr = NULL; }
static void duv_loadfile(const char *path) {
    uv_fs_t req;
    uv_fs_open(&req, path);
    char *buf = malloc((size_t)uv_fs_fstat(&req) + draw() % 6000);
    buf[0] = 1;
    uv_fs_req_cleanup(&req);
    free(buf);
}
static void duk_alloc_work(unsigned i) { static void *objects[1800]; unsigned k = i * 7 % 1800; free(objects[k]); objects[k] = get(24 + draw() % 120); }
static void duk_start(void) { load_settings(1500, 70); }
static void duk_run(int i) { for (int k = 0; k < 4; k++) duk_alloc_work((unsigned)(i * 4 + k)); name_learn(700); screen_draw(); if (i % 2) { char path[120]; snprintf(path, sizeof path, "/srv/app/modules/%s/lib/part-%d.js", i % 3 ? "router" : "template-engine", i % 40); duv_loadfile(path); } }

/* beanstalkd */
enum { JOB_STATE_READY, JOB_STATE_COPY };
typedef struct job { int id, state; size_t body_size; char *body; } *job;
static job allocate_job(size_t size) { job j = malloc(sizeof *j + size); j->id = 0, j->state = JOB_STATE_READY, j->body_size = size, j->body = (char *)j + sizeof *j; return j; }
static job ready[900]; static char *tubes[40]; static job out_job;
static void job_free(job j) { free(j); }
static void put(int i) { unsigned k = draw() % 900; if (ready[k]) { job_free(ready[k]); ready[k] = NULL; } else { ready[k] = allocate_job(80 + draw() % 300); ready[k]->id = i; } }
static void conn_reply_done(void) { if (out_job && out_job->state == JOB_STATE_COPY) job_free(out_job); out_job = NULL; }
static void peek(void) { job j = ready[draw() % 900]; if (!j) return; out_job = allocate_job(j->body_size); out_job->state = JOB_STATE_COPY; conn_reply_done(); }
static void do_list_tubes(void) {
    size_t n = 6;
    for (int t = 0; t < 40 && tubes[t]; t++) n += strlen(tubes[t]) + 3;
    out_job = allocate_job(n);
    strcpy(out_job->body, "---\n");
    for (int t = 0; t < 40 && tubes[t]; t++) strcat(out_job->body, "- "), strcat(out_job->body, tubes[t]), strcat(out_job->body, "\n");
    conn_reply_done();
}
static void beanstalk_start(void) { for (int t = 0; t < 9; t++) tubes[t] = text("tube", t); load_settings(200, 300); }
static void beanstalk_command(int i) { request_parse(i); put(i); put(i); session_step(200, 220); peek(); history_add(300, i); if (i % 20 == 0) do_list_tubes(); }

/* libwebsockets: a client that reconnects after each loss. */
static void libwebsocket_client_connect_2(const char *ads) {
    struct addrinfo ai, *res;
    void *p = NULL;
    memset(&ai, 0, sizeof ai);
    ai.ai_family = AF_UNSPEC, ai.ai_socktype = SOCK_STREAM, ai.ai_flags = AI_CANONNAME;
    if (getaddrinfo(ads, NULL, &ai, &res)) return;
    while (!p && res) { if (res->ai_family == AF_INET) p = &((struct sockaddr_in *)(void *)res->ai_addr)->sin_addr; res = res->ai_next; }
    if (p) sum += *(unsigned char *)p;
}
static void handshake(void) { char *headers = get(2200), *key = get(40); headers[0] = key[0] = 1; free(key); free(headers); }
static void lws_start(void) { load_settings(400, 100); }
static void lws_service(int i) { outgoing_add(600, i); session_step(120, 1500); history_add(800, i); if (i % 6 == 0) { handshake(); libwebsocket_client_connect_2("127.0.0.1"); } }

/* coturn: sessions of clients, looked up by number. */
typedef struct { unsigned id; char realm[128], nonce[49]; char *username; int state; } ts_ur_super_session;
static ts_ur_super_session **session_map; static unsigned map_room, map_used;
static void ur_map_put(ts_ur_super_session *ss) { if (map_used == map_room) session_map = realloc(session_map, (map_room = map_room ? map_room * 2 : 64) * sizeof *session_map); session_map[map_used++] = ss; }
static ts_ur_super_session *create_new_ss(void) { static unsigned next; ts_ur_super_session *ss = calloc(1, sizeof *ss); ss->id = ++next; ur_map_put(ss); return ss; }
static void shutdown_client_connection(ts_ur_super_session *ss) { for (unsigned k = 0; k < map_used; k++) if (session_map[k] == ss) { session_map[k] = session_map[--map_used]; break; } free(ss->username); free(ss); }
static int register_callback_on_ioa_socket(int i) { return i % 9 == 4 ? -1 : 0; }
static ts_ur_super_session *open_client_connection_session(int i) { ts_ur_super_session *ss = create_new_ss(); if (register_callback_on_ioa_socket(i) < 0) return NULL; ss->username = text("user", i), ss->state = 1; return ss; }
static ts_ur_super_session *relayed[400];
static void turn_packet(int i) {
    unsigned k = draw() % 400;
    if (relayed[k]) { shutdown_client_connection(relayed[k]); relayed[k] = NULL; } else relayed[k] = open_client_connection_session(i);
}
static void turn_start(void) { load_settings(1000, 64); }
static void turn_relay(int i) { pool_work(60); turn_packet(i); history_add(200, i); cache_look_up(400, 500); }

/* twemproxy: messages in buffers of 16 KB; free ones are kept. */
struct mbuf { struct mbuf *next; char *pos, *last; };
struct msg { struct mbuf *first, **end; };
static struct mbuf *free_mbufq;
static struct mbuf *_mbuf_get(void) { struct mbuf *m = free_mbufq; if (m) { free_mbufq = m->next; return m; } char *buf = malloc(16384); return (struct mbuf *)(void *)(buf + 16384 - sizeof *m); }
static struct mbuf *mbuf_get(void) { struct mbuf *m = _mbuf_get(); m->next = NULL, m->pos = m->last = (char *)m - 16384 + sizeof *m; return m; }
static void mbuf_put(struct mbuf *m) { m->next = free_mbufq, free_mbufq = m; }
static void msg_recv_chain(struct msg *msg, size_t n) { for (msg->end = &msg->first, msg->first = NULL; n; n--) { struct mbuf *m = mbuf_get(); *msg->end = m, msg->end = &m->next; } }
static void msg_put(struct msg *msg) { while (msg->first) { struct mbuf *m = msg->first; msg->first = m->next; mbuf_put(m); } }
static void redis_copy_bulk(struct msg *dst, struct msg *src, int whole) { while (whole-- && src->first) { struct mbuf *m = src->first; src->first = m->next; if (dst) m->next = dst->first, dst->first = m; } }
static void redis_fragment(int i) { struct msg r, sub = { NULL, NULL }; msg_recv_chain(&r, 1 + draw() % 5); if (i % 10 == 0) redis_copy_bulk(i % 50 ? &sub : NULL, &r, 1); msg_put(&r); msg_put(&sub); }
static void nc_start(void) { load_settings(600, 200); }
static void nc_loop(int i) { redis_fragment(i); session_step(500, 64); outgoing_add(200, i); name_learn(90); }

/* A device that sends its measurements as JSON. */
typedef struct cJSON { struct cJSON *next, *child; char *string, *valuestring; double valuedouble; } cJSON;
static cJSON *cJSON_New_Item(void) { return calloc(1, sizeof(cJSON)); }
static cJSON *cJSON_CreateObject(void) { return cJSON_New_Item(); }
static char *cJSON_strdup(const char *s) { return strcpy(malloc(strlen(s) + 1), s); }
static void cJSON_AddItem(cJSON *o, const char *name, const char *s, double d) { cJSON *c = cJSON_New_Item(); c->string = cJSON_strdup(name), c->valuestring = s ? cJSON_strdup(s) : NULL, c->valuedouble = d, c->next = o->child, o->child = c; }
static void cJSON_Delete(cJSON *c) { while (c) { cJSON *n = c->next; cJSON_Delete(c->child); free(c->string); free(c->valuestring); free(c); c = n; } }
static char *print(const cJSON *o) { char *b = malloc(256), *r; int n = sprintf(b, "{"); for (const cJSON *c = o->child; c; c = c->next) n += c->valuestring ? sprintf(b + n, "\"%s\": \"%s\",", c->string, c->valuestring) : sprintf(b + n, "\"%s\": %g,", c->string, c->valuedouble); b[n - 1] = '}'; r = realloc(b, (size_t)n + 1); return r; }
static char *cJSON_Print(const cJSON *o) { return print(o); }
static void publish(const char *s) { use(s); }
static void telemetry(int i) { cJSON *o = cJSON_CreateObject(); cJSON_AddItem(o, "device", "a meter of the cellar", 0); cJSON_AddItem(o, "temperature", NULL, 15 + i % 9); cJSON_AddItem(o, "count", NULL, i); publish(cJSON_Print(o)); cJSON_Delete(o); }
static cJSON *commands[200];
static void command_keep(int i) { int k = i % 200; cJSON_Delete(commands[k]); commands[k] = cJSON_CreateObject(); cJSON_AddItem(commands[k], "set", "heating", i); }
static void device_start(void) { load_settings(700, 50); }
static void device_loop(int i) { command_keep(i); outgoing_add(900, i); screen_draw(); history_add(400, i); if (i % 5 == 0) telemetry(i); }

/* A file server with a thread for each connection. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *communication(void *connection) {
    int fd = *(int *)connection;
    char *reply = malloc(1024), *listing = malloc(6000);
    reply[0] = listing[0] = (char)fd;
    pthread_mutex_lock(&lock);
    session_step(150, 900);
    history_add(600, fd);
    pthread_mutex_unlock(&lock);
    free(listing); free(reply);
    return NULL;
}
static void accept_clients(int i) {
    pthread_t t[2];
    for (int k = 0; k < 2; k++) { int *connection = malloc(sizeof *connection); *connection = i + k; pthread_create(&t[k], NULL, communication, connection); }
    for (int k = 0; k < 2; k++) pthread_join(t[k], NULL);
}
static void ftp_start(void) { load_settings(900, 100); }
static void ftp_loop(int i) { pthread_mutex_lock(&lock); cache_look_up(800, 700); query_burst(i, 250, 300); pthread_mutex_unlock(&lock); accept_clients(i); }

static const struct { const char *name; void (*start)(void); void (*run)(int); int rounds; } cases[] = {
    { "label", tmux_start, tmux_tree, 9000 }, { "path", tmux_start, tmux_buffers, 7500 }, { "find", step_start, step_file, 10000 },
    { "memcached", h2o_start, h2o_request, 9000 }, { "download", civet_start, civet_request, 8000 }, { "will", mqtt_start, mqtt_publish, 9000 },
    { "loadfile", duk_start, duk_run, 7000 }, { "tubes", beanstalk_start, beanstalk_command, 9000 }, { "lookup", lws_start, lws_service, 9000 },
    { "turn", turn_start, turn_relay, 12000 }, { "mset", nc_start, nc_loop, 10000 }, { "telemetry", device_start, device_loop, 9000 },
    { "ftp", ftp_start, ftp_loop, 6000 }
};

int main(int argc, char **argv) {
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        if (argc != 2 || strcmp(argv[1], cases[c].name)) continue;
        drawn = (unsigned)c * 7919 + 3;
        cases[c].start();
        for (int i = 0; i < cases[c].rounds; i++) {
            cases[c].run(i);
            if (i % (cases[c].rounds / 3) == cases[c].rounds / 3 - 1) raise(SIGUSR2);
        }
        return sum == 1;
    }
    return 2;
}
