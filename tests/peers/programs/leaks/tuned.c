/* usage: tuned CASE, by suspects.sh

   Like published.c, but suspects was tuned on these leaks: they are not counted. Ordinary work and leaks share a table
   and texts, as in large programs. Every third case dumps twice.

   leak keys: add_variable|channel_key     https://github.com/signalwire/freeswitch/pull/368   a key is copied for a table that copies it itself
   leak steal: register_event|event_key    https://github.com/libvmi/libvmi/pull/416           entries are removed, but their keys stay
   leak overwrite: set_global|table_set    https://github.com/yasl-lang/yasl/issues/52         an overwritten key
   leak substitute: substitute_text        https://github.com/MapServer/MapServer/issues/5325  a text made for a table that copies it
   leak agents: add_agent|agent_new        https://github.com/allinurl/goaccess/issues/260     lists of user agents are never freed
   leak recent: add_log|log_new            https://github.com/haxpor/Potatso/pull/25           the first link of a list is cut off, not freed
   leak ast: parse_expression|node_new     https://github.com/katef/libfsm/issues/251          a half built tree is dropped at an error
   leak alias: parse_import|alias_text     https://github.com/vtereshkov/umka-lang/issues/211  names of imports, when parsing fails
   leak client: output_new|accept_client   https://github.com/brailcom/speechd/pull/688        the data of a client that disconnects
   leak syntax: read_statement|token_new   https://github.com/jplevyak/dparser/issues/17       tokens of bad syntax */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 8400 };
static unsigned drawn = 1;
static int most_waiting = 700;
static unsigned draw(void) { return (drawn = drawn * 1103515245u + 12345u) >> 8; }
static unsigned long sum;

/* The common parts. */
static void *need(size_t n) { void *p = calloc(1, n); if (!p) abort(); return p; }
static char *text_new(const char *s, int i) { char b[200]; snprintf(b, sizeof b, "%s %d%.*s", s, i, i % 50, ".................................................."); char *p = need(strlen(b) + 1); return strcpy(p, b); }
struct node { struct node *next; char *key, *value; int at; };
struct table { struct node *slot[512]; int count; };
static unsigned hash(const char *s) { unsigned h = 5381; while (*s) h = h * 33 + (unsigned char)*s++; return h % 512; }
static struct node *table_find(struct table *t, const char *key) { struct node *n = t->slot[hash(key)]; while (n && strcmp(n->key, key)) n = n->next; return n; }
static struct node *table_put(struct table *t, const char *key, const char *value) {
    struct node *n = table_find(t, key);
    if (n) { free(n->value); n->value = text_new(value, 1); return n; }
    n = need(sizeof *n), n->key = text_new(key, 0), n->value = text_new(value, 2);
    n->key[strlen(key)] = 0;
    n->next = t->slot[hash(key)], t->slot[hash(key)] = n, t->count++;
    return n;
}
static void table_drop(struct table *t, const char *key, int with_key) {
    for (struct node **p = &t->slot[hash(key)]; *p; p = &(*p)->next)
        if (!strcmp((*p)->key, key)) { struct node *n = *p; *p = n->next; if (with_key) free(n->key); free(n->value), free(n), t->count--; return; }
}

/* Ordinary work. */
static struct table interned, sessions;
static void intern_word(int i) { char b[40]; snprintf(b, sizeof b, "word%u", draw() % 1500); (void)i; if (!table_find(&interned, b)) table_put(&interned, b, "interned"); }
static void keep_session(int i) { char b[40]; snprintf(b, sizeof b, "session%d", i); table_put(&sessions, b, "user=someone"); snprintf(b, sizeof b, "session%d", i - 600); table_drop(&sessions, b, 1); }
struct item { struct item *next; char *text; };
static struct item *waiting; static int waiting_count;
static void queue_mail(int i) {
    struct item *m = need(sizeof *m);
    m->text = text_new("mail to someone at some place", i), m->next = waiting, waiting = m;
    if (++waiting_count < most_waiting) return;
    while (waiting) { m = waiting, waiting = m->next; free(m->text), free(m); }
    waiting_count = 0;
}
static char *buffer; static size_t buffer_size, buffer_room;
static void append_output(int i) { size_t n = 20 + (size_t)i % 60; if (buffer_size + n > buffer_room) buffer = realloc(buffer, buffer_room = buffer_room ? 2 * buffer_room : 256); buffer_size += n; if (buffer_size > 200000) buffer_size = 0; }
static void *pages[40];
static void load_page(int i) { int k = (int)(draw() % 40); free(pages[k]); pages[k] = malloc(3000 + (size_t)(i % 5000)); }
static void handle(int i) { char *a = text_new("request", i), *b = text_new(a, i); sum += strlen(b); free(a), free(b); }
static void *styles[900];
static void style_of(int i) { unsigned k = draw() % 900; if (!styles[k]) styles[k] = need(100 + (size_t)(i % 80)); }

/* Leaks. */
static struct table variables;
static char *channel_key(int i) { return text_new("channel", i % 100); }
static void add_variable(int i) { char *key = channel_key(i); table_put(&variables, key, "value"); }
static void answer_call(int i) { if (i % 2) add_variable(i); }

static struct table events;
static char *event_key(int i) { char b[40]; snprintf(b, sizeof b, "event%d", i); return text_new(b, i); }
static void register_event(int i) { char *k = event_key(i); table_put(&events, k, "handler"); }
static void step_vm(int i) { char b[60]; if (i % 3) return; register_event(i); snprintf(b, sizeof b, "event%d", i); for (int s = 0; s < 512; s++) while (events.slot[s]) table_drop(&events, events.slot[s]->key, 0); }

static struct table globals;
static void table_set(struct table *t, const char *key) { struct node *n = table_find(t, key); if (!n) n = table_put(t, key, "new"); else n->key = text_new(key, 0), n->key[strlen(key)] = 0; }
static void set_global(int i) { char b[40]; snprintf(b, sizeof b, "global%d", i % 20); table_set(&globals, b); }
static void run_script(int i) { if (i % 2) set_global(i); }

static struct table metadata;
static char *substitute_text(int i) { return text_new("/maps/%layer%/", i); }
static void apply_metadata(int i) { table_put(&metadata, "layer", substitute_text(i)); }
static void draw_map(int i) { if (i % 3 == 0) apply_metadata(i); }

struct agent { struct agent *next; char *name; int hits; };
static struct agent *agents;
static struct agent *agent_new(int i) { struct agent *a = need(sizeof *a); a->name = text_new("Mozilla/5.0 (X11; Linux)", i); return a; }
static void add_agent(int i) { struct agent *a = agent_new(i); a->next = agents, agents = a; }
static void parse_log_line(int i) { if (i % 4 == 0) add_agent(i); }

struct log { struct log *next; char url[60], *rule; };
static struct log *logs, *logs_end; static int log_count;
static struct log *log_new(int i) { struct log *l = need(sizeof *l); l->rule = text_new("DIRECT", i); return l; }
static void add_log(int i) { struct log *l = log_new(i); if (logs_end) logs_end->next = l; else logs = l; logs_end = l; if (++log_count > 50) logs = logs->next, log_count--; }
static void proxy_request(int i) { if (i % 3 == 0) add_log(i); }

struct tree { struct tree *left, *right; char *name; };
static struct tree *node_new(struct tree *l, struct tree *r, int i) { struct tree *t = need(sizeof *t); t->left = l, t->right = r, t->name = l ? NULL : text_new("x", i % 9); return t; }
static struct tree *parse_expression(int i, int depth) { if (!depth) return i % 4 ? node_new(NULL, NULL, i) : NULL; struct tree *l = parse_expression(i / 2 + 1, depth - 1), *r = parse_expression(i, depth - 1); return l && r ? node_new(l, r, i) : NULL; }
static void tree_free(struct tree *t) { if (!t) return; tree_free(t->left), tree_free(t->right), free(t->name), free(t); }
static void compile_pattern(int i) { tree_free(parse_expression(i, 2)); }

static char *alias_text(int i) { return text_new("module", i); }
static int parse_import(int i) { char *a = alias_text(i); if (i % 3 == 0) return -1; free(a); return 0; }
static void compile_module(int i) { sum += (unsigned)parse_import(i); }

struct output { char *buffer, *name; int fd; };
static struct output *output_new(int i) { struct output *o = need(sizeof *o); o->buffer = need(160), o->name = text_new("client", i); return o; }
static void accept_client(int i) { struct output *o = output_new(i); if (i % 5 == 0) return; free(o->buffer), free(o->name), free(o); }
static void poll_sockets(int i) { accept_client(i); }

static char *token_new(int i) { return text_new("token", i % 7); }
static void read_statement(int i) { char *t[3]; for (int k = 0; k < 3; k++) t[k] = token_new(i + k); if (i % 6 == 0) return; for (int k = 0; k < 3; k++) free(t[k]); }
static void read_program(int i) { read_statement(i); }

static const struct { const char *name; void (*run)(int); } cases[] = {
    { "keys", answer_call }, { "steal", step_vm }, { "overwrite", run_script }, { "substitute", draw_map }, { "agents", parse_log_line },
    { "recent", proxy_request }, { "ast", compile_pattern }, { "alias", compile_module }, { "client", poll_sockets }, { "syntax", read_program }
};

int main(int argc, char **argv) {
    void (*run)(int) = NULL;
    int steps = 3;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) if (argc == 2 && !strcmp(argv[1], cases[c].name)) run = cases[c].run, most_waiting = 300 + (int)c * 170, drawn = (unsigned)c + 77, steps = c % 3 == 2 ? 2 : 3;
    if (!run) return 2;
    for (int i = 0; i < ROUNDS; i++) {
        intern_word(i), keep_session(i), queue_mail(i), append_output(i), load_page(i), handle(i), style_of(i), run(i);
        if (i % (ROUNDS / steps) == ROUNDS / steps - 1) raise(SIGUSR2);
    }
    return sum == 1;
}
