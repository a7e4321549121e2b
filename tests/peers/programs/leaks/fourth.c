/* usage: fourth CASE, by suspects.sh

   Leaks in programs whose own functions have names like those of allocators and runtimes, and in threads. Written
   without looking at the rules of `suspects`. Each prints "leaked BYTES" before each dump: the bytes of all lost blocks.

   leak rows: je_parse_row           the parsed row is dropped when its table is replaced
   leak letters: tc_newsletter_add   an unsubscribed reader's letter is unlinked, not freed
   leak tiles: arena_map_tiles       tiles that scroll out of view lose their pixels
   leak jobs: start_thread           a job's argument block is never freed by its thread (threads)
   leak logs: worker_log             each worker keeps its last lines, and restarts without them (threads)
   leak ring: ring_grow              a ring of messages grows and is never drained (over 90 %)
   leak names: PyObject_New_name     the old name of a renamed object is lost
   leak close: on_close              a closing connection schedules a record that is never used */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long long lost;
static unsigned drawn = 7;
static unsigned draw(void) { return (drawn = drawn * 1103515245u + 12345u) >> 8; }

/* Ordinary work: settings that stay, a cache that is full soon, bursts that end. */
static char *settings[2000], *cached[600], *burst[900];
static void read_settings(int n) { for (int i = 0; i < n; i++) settings[i] = malloc(20 + draw() % 80); }
static void use_cache(void) { unsigned k = draw() % 600; free(cached[k]); cached[k] = malloc(100 + draw() % 40); }
static void run_burst(int i) { if (i % 300 == 0) for (int k = 0; k < 900; k++) burst[k] = malloc(64); if (i % 300 == 70) for (int k = 0; k < 900; k++) free(burst[k]); }
static void honest(int i) { use_cache(), run_burst(i); }

static struct row { struct row *next; char cells[72]; } *table;
static struct row *je_parse_row(int i) { struct row *r = malloc(sizeof *r); snprintf(r->cells, sizeof r->cells, "row %d", i); return r; }
static void load_table(int i) {
    struct row *r = je_parse_row(i);
    if (i % 4 && table) { r->next = table->next; free(table); } else if (table) lost += sizeof *table, r->next = NULL;
    table = r;
}

static struct letter { struct letter *next; unsigned id; char text[200]; } *letters;
static void tc_newsletter_add(unsigned id) { struct letter *l = malloc(sizeof *l); l->id = id, l->next = letters, letters = l; }
static void unsubscribe(unsigned id) {
    for (struct letter **at = &letters; *at; at = &(*at)->next)
        if ((*at)->id == id) { lost += sizeof **at; *at = (*at)->next; return; }
}
static void news(int i) { tc_newsletter_add((unsigned)i); if (i > 40) unsubscribe((unsigned)i - 40); }

static struct tile { unsigned char *pixels; size_t size; } tiles[64];
static void arena_map_tiles(int i) {
    struct tile *t = &tiles[i % 64];
    if (t->pixels && i % 3) free(t->pixels);
    else if (t->pixels) lost += t->size;
    t->size = 300 + draw() % 200, t->pixels = malloc(t->size);
}

struct job { int number; char name[120]; };
static void *run_job(void *job) { char *work = malloc(500); work[0] = (char)((struct job *)job)->number; free(work); return NULL; }
static void start_thread(int i) {
    pthread_t thread;
    struct job *job = malloc(sizeof *job);
    job->number = i, lost += sizeof *job;
    pthread_create(&thread, NULL, run_job, job), pthread_join(thread, NULL);
}
static void jobs(int i) { if (i % 4 == 0) start_thread(i); }

static void worker_log(char **lines, int i) { free(lines[i % 8]); lines[i % 8] = malloc(160); }
static void *worker(void *unused) {
    char *lines[8] = { 0 };
    for (int i = 0; i < 50; i++) worker_log(lines, i), free(malloc(90));
    return unused;
}
static void workers(int i) {
    pthread_t thread[2];
    if (i % 6) return;
    for (int k = 0; k < 2; k++) pthread_create(&thread[k], NULL, worker, NULL);
    for (int k = 0; k < 2; k++) pthread_join(thread[k], NULL), lost += 8 * 160;
}

static char *ring; static size_t ring_used, ring_room;
static void ring_grow(void) { ring_room = ring_room ? ring_room * 3 / 2 : 65536; ring = realloc(ring, ring_room); lost = ring_room; }
static void message(int i) { size_t n = 900 + draw() % 400; while (ring_used + n > ring_room) ring_grow(); ring[ring_used] = (char)i, ring_used += n; }

static char *object_name[32];
static char *PyObject_New_name(int i) { size_t n = 40 + (size_t)(i % 90); char *s = malloc(n); memset(s, 'n', n - 1), s[n - 1] = 0; return s; }
static void rename_object(int i) {
    char **at = &object_name[draw() % 32];
    if (*at && i % 2) free(*at); else if (*at) lost += strlen(*at) + 1;
    *at = PyObject_New_name(i);
}

struct connection { void (*closed)(struct connection *); char buffer[256]; };
static void *last_record;
static void on_close(struct connection *c) { last_record = calloc(1, 336); lost += 336; free(c); }
static void connection(int i) { struct connection *c = malloc(sizeof *c); c->closed = on_close, c->buffer[0] = (char)i; c->closed(c); }

static const struct { const char *name; void (*run)(int); int rounds; } cases[] = {
    { "rows", load_table, 9000 }, { "letters", news, 6000 }, { "tiles", arena_map_tiles, 9000 }, { "jobs", jobs, 9000 },
    { "logs", workers, 6000 }, { "ring", message, 30000 }, { "names", rename_object, 9000 }, { "close", connection, 6000 }
};

/* Blocks of that function that are not lost count, too. */
static unsigned long long kept(const char *name) {
    unsigned long long bytes = 0;
    if (!strcmp(name, "rows")) bytes = sizeof *table;
    for (struct letter *l = letters; l; l = l->next) bytes += sizeof *l;
    for (int i = 0; i < 64; i++) bytes += tiles[i].pixels ? tiles[i].size : 0;
    for (int i = 0; i < 32; i++) bytes += object_name[i] ? strlen(object_name[i]) + 1 : 0;
    return bytes;
}

int main(int argc, char **argv) {
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        if (argc != 2 || strcmp(argv[1], cases[c].name)) continue;
        read_settings(strcmp(argv[1], "ring") ? 2000 : 200);
        for (int i = 0; i < cases[c].rounds; i++) {
            honest(i), cases[c].run(i);
            if (i % (cases[c].rounds / 3) != cases[c].rounds / 3 - 1) continue;
            printf("leaked %llu\n", lost + kept(argv[1])), fflush(stdout);
            raise(SIGUSR2);
        }
        return 0;
    }
    return 2;
}
