/* usage: published CASE, by suspects.sh

   Leaks of real programs, rewritten from their reports, among work like that of a small server. Dumps three times.
   One line each: leak CASE: FUNCTION, the report.

   leak info: client_info          https://github.com/redis/redis/issues/256       the text made for each client is copied and not freed
   leak split: split_tokens        https://github.com/redis/redis/issues/373       an early return after the first allocation
   leak grow: format_text          https://github.com/redis/redis/issues/9412      a buffer that was too small is replaced, not freed
   leak sync: try_resync           https://github.com/redis/redis/pull/13996       a reply is not freed in one branch
   leak cookie: clean_path         https://github.com/curl/curl/issues/1935        an attribute given twice replaces its first value
   leak oversized: add_cookie      https://github.com/curl/curl/pull/1930          a cookie that is too large is refused, but not freed
   leak reuse: login_options       https://github.com/curl/curl/pull/2790          a reused connection: one of its texts is not freed
   leak names: host_names          https://github.com/curl/curl/pull/8842          ... two of them
   leak strtok: parse_face         https://github.com/cn-uofbasel/ccn-lite/pull/341  the pointer moves on before it is freed
   leak twice: column_name         https://github.com/ashtonjamesd/lavandula/pull/10  copied twice, freed once
   leak branch: error_text         https://github.com/NagiosEnterprises/nagioscore/pull/526  freed in one kind of page only
   leak index: check_tries         https://github.com/aerospike/aerospike-server/pull/63  the loop that frees has the wrong bounds
   leak macro: volume_path         https://github.com/Netatalk/netatalk/pull/1955  a macro leaves the function before the end
   leak option: set_option         https://github.com/cesanta/mongoose/issues/309  options set again, handlers never removed
   leak umad: adapter_name         https://github.com/linux-rdma/rdma-core/pull/1282  a name copied before a check fails
   leak bind: add_bind             https://github.com/CESNET/libnetconf2/issues/398  a growing list without any call that empties it
   leak label: menu_label          https://github.com/derf/feh/pull/619            an argument copied for a call that copies it itself
   leak reset: append_cookie       https://github.com/curl/curl/pull/10709         a list that a reset forgets
   leak ping: open_redis           https://github.com/FreeRADIUS/freeradius-server/pull/1045  a connection that does not answer is not closed
   leak specific: register_thread  https://github.com/rmind/libqsbr/pull/3         thread-specific data outlives its thread */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 9000 };
static unsigned long sum;
static void use(const char *s) { if (s) sum += strlen(s); }
static char *text_of(const char *what, int i) { char b[160]; snprintf(b, sizeof b, "%s number %d of them %.*s", what, i, i % 40, "........................................"); return strdup(b); }

/* Ordinary work. The amount that waits differs from case to case: otherwise one unlucky figure would decide all. */
static int most_batched = 1300;
static unsigned drawn = 1;
static unsigned draw(void) { return (drawn = drawn * 1103515245u + 12345u) >> 8; }
static struct entry { int key; char *value; } cache[500];
static void cache_put(int i) { struct entry *e = &cache[i * 31 % 500]; free(e->value); e->key = i; e->value = text_of("cached", i); }
static char *words[2000];
static void learn_word(int i) { unsigned k = draw() % 1200; (void)i; if (!words[k]) words[k] = malloc(60 + k % 90); }
static char *batch[3000]; static int batched;
static void batch_add(int i) { if (batched == most_batched) while (batched) free(batch[--batched]); batch[batched++] = malloc(150 + (size_t)(i % 70)); }
static char *log_ring[64];
static void log_line(int i) { free(log_ring[i % 64]); log_ring[i % 64] = malloc(4000); }
static char *page; static size_t page_size;
static void render_page(int i) { page_size = 1000 + (size_t)(i * 37 % 30000); page = realloc(page, page_size); }
static void parse_request(int i) { char *line = text_of("request", i), *copy = strdup(line); use(copy); free(copy); free(line); }
static char *table[3000];
static void load_table(void) { for (int i = 0; i < 3000; i++) table[i] = malloc(20 + (size_t)(i % 200)); }

/* Leaks. */
static char *client_info(int i) { return text_of("client", i); }
static void list_clients(int i) { char all[4096] = ""; for (int c = 0; c < 2; c++) { char *one = client_info(i + c); strncat(all, one, 200); } use(all); }

static char **split_tokens(const char *s, const char *by, int *n) {
    char **tokens = malloc(5 * sizeof *tokens);
    *n = 0;
    if (!*by || !*s) return NULL;
    tokens[(*n)++] = strdup(s);
    return tokens;
}
static void run_command(int i) { int n; char **t = split_tokens("get key", i % 3 ? " " : "", &n); if (t) { free(t[0]); free(t); } }

static char *format_text(int i) {
    size_t room = 32;
    char *b = malloc(room);
    while (snprintf(b, room, "value %d %.*s", i, i % 60, "............................................................") >= (int)room) b = malloc(room *= 2);
    return b;
}
static void reply_bulk(int i) { char *s = format_text(i); use(s); free(s); }

static void try_resync(int i) { char *reply = text_of("+CONTINUE", i); if (i % 4 == 0) { use(reply); return; } free(reply); }
static void replicate(int i) { try_resync(i); }

struct cookie { char *path, *name; };
static char *clean_path(int i) { return text_of("/a/path", i); }
static void read_header(int i) { struct cookie c = { NULL, text_of("cookie", i) }; for (int k = 0; k < 1 + (i % 5 == 0); k++) c.path = clean_path(i); free(c.path); free(c.name); }

static int add_cookie(int i) { struct cookie *c = malloc(sizeof *c); c->name = malloc(40); if (i % 6 == 0) { free(c->name); return 0; } free(c->name); free(c); return 1; }
static void read_set_cookie(int i) { add_cookie(i); }

struct connection { char *user, *options, *host, *proxy_host; };
static char *login_options(int i) { return text_of("AUTH=NTLM", i); }
static void reuse_connection(struct connection *old) { free(old->user); free(old); }
static void connect_login(int i) { struct connection *c = calloc(1, sizeof *c); c->user = text_of("user", i); if (i % 2) c->options = login_options(i); reuse_connection(c); }

static void host_names(struct connection *c, int i) { c->host = text_of("host", i); c->proxy_host = strdup("proxy.example.org"); }
static void connect_host(int i) { struct connection *c = calloc(1, sizeof *c); host_names(c, i); c->user = text_of("user", i); reuse_connection(c); }

static void parse_face(int i) { char *udp = text_of("127.0.0.1/9695/", i), *rest; if (i % 2) { free(udp); return; } udp = strtok(udp, "/"); rest = strtok(NULL, "/"); udp = rest; use(udp); }
static void create_face(int i) { parse_face(i); }

struct column { char *name; };
static char *column_name(int i) { return text_of("column", i); }
static void define_column(int i) { struct column c = { column_name(i) }; c.name = column_name(i + 1); use(c.name); free(c.name); }

static char *error_text(int i) { return text_of("some error occurred", i); }
static void show_error(int i) { char *e = i % 3 == 0 ? error_text(i) : NULL; int is_wml = i % 2; use(e); if (!is_wml) free(e); }

static void check_tries(int i) { char *p[4]; int tries = i % 3 + 1; for (int k = 0; k <= tries; k++) p[k] = malloc(64); for (int k = 0; k < tries; k++) free(p[k]); }
static void verify_heap(int i) { check_tries(i); }

#define CHECK(x) do { if (!(x)) goto done; } while (0)
static void volume_path(int i) { char *p = text_of("/volume", i); CHECK(i % 3); use(p); free(p); done: return; }
static void open_volume(int i) { volume_path(i); }

struct handler { struct handler *next; char *uri; };
static struct handler *handlers;
static void set_option(int i) { struct handler *h = malloc(sizeof *h); h->uri = text_of("/api", i); h->next = handlers; handlers = h; }
static void restart_server(int i) { if (i % 7 == 0) set_option(i); }

static int adapter_name(int i) { char *name = text_of("mlx5", i); if (i % 5 == 2) return -1; free(name); return 0; }
static void open_port(int i) { adapter_name(i); }

static struct bind { char address[40]; int port; } *binds; static int bind_count; static char **bind_names;
static void add_bind(int i) {
    binds = realloc(binds, (size_t)(bind_count + 1) * sizeof *binds);
    bind_names = realloc(bind_names, (size_t)(bind_count + 1) * sizeof *bind_names);
    bind_names[bind_count++] = text_of("[::]", i);
}
static void call_home(int i) { if (i % 3 == 0) add_bind(i); }

static char *menu_label(int i) { return text_of("File/Save As", i); }
static void build_menu(int i) { char b[200]; snprintf(b, sizeof b, "%s", i % 4 ? "File" : menu_label(i)); use(b); }

static struct slist { struct slist *next; char *data; } *cookie_list;
static void append_cookie(int i) { struct slist *l = malloc(sizeof *l); l->data = malloc(48 + (size_t)(i % 30)); l->next = cookie_list; cookie_list = l; }
static void reset_handle(int i) { if (i % 3 == 0) append_cookie(i), append_cookie(i + 1); cookie_list = NULL; }

struct redis { char in[64], *reader; };
static struct redis *open_redis(int i) { struct redis *r = malloc(sizeof *r); r->reader = malloc(80); r->in[0] = (char)i; return r; }
static void spawn_connection(int i) { struct redis *r; if (i % 2) return; r = open_redis(i); if (i % 8 == 0) return; free(r->reader); free(r); }

struct epoch { struct epoch *next; char local[112]; };
static pthread_key_t epoch_key;
static pthread_once_t epoch_once = PTHREAD_ONCE_INIT;
static void make_key(void) { pthread_key_create(&epoch_key, NULL); }
static void register_thread(void) { struct epoch *e = calloc(1, sizeof *e); pthread_setspecific(epoch_key, e); }
static void *read_epochs(void *arg) { pthread_once(&epoch_once, make_key); register_thread(); return arg; }
static void start_reader(int i) { pthread_t t; if (i % 30 == 0 && !pthread_create(&t, NULL, read_epochs, NULL)) pthread_join(t, NULL); }

static const struct { const char *name; void (*run)(int); } cases[] = {
    { "info", list_clients }, { "split", run_command }, { "grow", reply_bulk }, { "sync", replicate }, { "cookie", read_header },
    { "oversized", read_set_cookie }, { "reuse", connect_login }, { "names", connect_host }, { "strtok", create_face },
    { "twice", define_column }, { "branch", show_error }, { "index", verify_heap }, { "macro", open_volume },
    { "option", restart_server }, { "umad", open_port }, { "bind", call_home },
    { "label", build_menu }, { "reset", reset_handle }, { "ping", spawn_connection }, { "specific", start_reader }
};

int main(int argc, char **argv) {
    void (*run)(int) = NULL;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) if (argc == 2 && !strcmp(argv[1], cases[c].name)) run = cases[c].run, most_batched = 500 + (int)c * 101, drawn = (unsigned)c + 1;
    if (!run) return 2;
    load_table();
    for (int i = 0; i < ROUNDS; i++) {
        parse_request(i), cache_put(i), learn_word(i), batch_add(i), log_line(i), render_page(i), run(i);
        if (i % (ROUNDS / 3) == ROUNDS / 3 - 1) raise(SIGUSR2);
    }
    return sum == 1;
}
