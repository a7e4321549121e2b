/* Reads files in other threads while the caller works on earlier ones.

   A thread hands over only dumps that were read without a warning. The caller reads every other file itself, so
   warnings and their order are the same with and without threads. SLOTS and LARGEST bound the memory. */

#include "heaps.h"

#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>

enum { READERS = 4, SLOTS = READERS + 1 };
#define LARGEST ((off_t)4 << 20) /* bytes; larger files are not read ahead */

typedef struct slot {
    hd_dump *dump;
    bool done;
} slot;

struct ahead {
    const arguments *a;
    pthread_mutex_t lock;
    pthread_cond_t moved, read;  /* moved: `taken` or `ends` changed; read: a slot is done */
    pthread_t reader[READERS];
    int readers;
    int next, taken;             /* file numbers: the next one to read, the last one taken by the caller */
    bool ends;
    slot slot[SLOTS];            /* by file number modulo SLOTS */
};

static void is_unclean(void *user, const hd_error *warning) {
    reading *r = user;
    (void)warning;
    r->warnings++;
}

static bool goes_on(void *user, uint64_t done, uint64_t total) {
    reading *r = user;
    (void)done, (void)total;
    return !r->warnings;
}

/* Returns NULL if the caller has to read the file. */
static hd_dump *read_clean(const arguments *a, const char *file) {
    reading r = { .file = file };
    hd_options options = reading_options(&a->input, &r);
    struct stat st;
    hd_dump *dump;
    hd_error err;
    hd_in in;
    if (!strcmp(file, "-") || stat(file, &st) || !S_ISREG(st.st_mode) || st.st_size > LARGEST) return NULL;
    if (hd_in_open(file, &in, &err)) return NULL;
    options.warning = is_unclean;
    options.progress = goes_on;
    if (hd_read(in, &options, &dump, &err)) dump = NULL;
    hd_in_close(&in);
    if (!r.warnings) return dump;
    hd_dump_free(dump);
    return NULL;
}

static void *read_files(void *user) {
    ahead *h = user;
    pthread_mutex_lock(&h->lock);
    for (;;) {
        int i;
        hd_dump *dump;
        while (!h->ends && h->next - h->taken > h->readers) pthread_cond_wait(&h->moved, &h->lock);
        if (h->ends || h->next >= h->a->input.file_count) break;
        i = h->next++;
        pthread_mutex_unlock(&h->lock);
        dump = read_clean(h->a, h->a->input.files[i]);
        pthread_mutex_lock(&h->lock);
        h->slot[i % SLOTS] = (slot){ dump, true };
        pthread_cond_signal(&h->read);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

ahead *ahead_start(const arguments *a) {
    cpu_set_t set;
    int most = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    ahead *h;
    if (most < 2 || a->input.file_count < 2) return NULL;
    h = needed(calloc(1, sizeof *h));
    h->a = a;
    h->taken = -1;
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->moved, NULL);
    pthread_cond_init(&h->read, NULL);
    pthread_mutex_lock(&h->lock);
    while (h->readers < most && h->readers < READERS && !pthread_create(&h->reader[h->readers], NULL, read_files, h))
        h->readers++;
    pthread_mutex_unlock(&h->lock);
    return h;
}

hd_dump *ahead_take(ahead *h, int i) {
    slot got;
    if (!h || !h->readers) return NULL;
    pthread_mutex_lock(&h->lock);
    h->taken = i;
    pthread_cond_broadcast(&h->moved);
    while (!h->slot[i % SLOTS].done) pthread_cond_wait(&h->read, &h->lock);
    got = h->slot[i % SLOTS];
    h->slot[i % SLOTS] = (slot){ NULL, false };
    pthread_mutex_unlock(&h->lock);
    return got.dump;
}

void ahead_stop(ahead *h) {
    if (!h) return;
    pthread_mutex_lock(&h->lock);
    h->ends = true;
    pthread_cond_broadcast(&h->moved);
    pthread_mutex_unlock(&h->lock);
    for (int i = 0; i < h->readers; i++) pthread_join(h->reader[i], NULL);
    for (int i = 0; i < SLOTS; i++) hd_dump_free(h->slot[i].dump);
    pthread_cond_destroy(&h->moved), pthread_cond_destroy(&h->read);
    pthread_mutex_destroy(&h->lock);
    free(h);
}
