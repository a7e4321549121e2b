/* Names of threads.
   A part of heapdump_record.c, which includes it once. */
#ifndef RECORD_THREADS_H
#define RECORD_THREADS_H

/* The kernel has a name for each thread, and returns it without a lock or an allocation. It is asked at a thread's
   first allocation, and again when another thread may have renamed it. An observer outside would miss short-lived
   threads. A block gets the name that its thread had at that moment. Names are never freed. Duplicates do no harm:
   two threads may write the same name at once, or a signal may interrupt a writer. */

enum { NAMES = 256, NAME = 16 };

static struct {
    int state;
    char text[NAME];
} names[NAMES];
enum { NAME_FREE, NAME_WRITING, NAME_THERE };
static bool named;               /* JOIN_THREADS */
static bool sandboxed;           /* a filter of system calls may end a process that asks for a name */
static uint32_t renames;         /* number of times that a thread renamed another one */
/* `renames` plus 1 when the name was read; 0: no name yet */
static __thread uint32_t named_at __attribute__((tls_model("initial-exec")));

/* A permanent copy of a name. */
static const char *keep_name(const char name[NAME]) {
    for (int i = 0; i < NAMES; i++) {
        int is = __atomic_load_n(&names[i].state, __ATOMIC_ACQUIRE);
        if (is == NAME_FREE && __atomic_compare_exchange_n(&names[i].state, &is, NAME_WRITING, false,
                                                           __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
            memcpy(names[i].text, name, NAME);
            __atomic_store_n(&names[i].state, NAME_THERE, __ATOMIC_RELEASE);
            return names[i].text;
        }
        if (is == NAME_THERE && !memcmp(names[i].text, name, NAME)) return names[i].text;
    }
    return "<other threads>";
}

static __attribute__((noinline)) void read_name(uint32_t at) {
    char name[NAME] = "";
    bool quiet = __atomic_load_n(&sandboxed, __ATOMIC_ACQUIRE);
    if (quiet && named_at) {
        named_at = at;
        return;
    }
    if (quiet || syscall(SYS_prctl, PR_GET_NAME, name, 0, 0, 0)) memcpy(name, "<unknown>", 10);
    name[NAME - 1] = 0;
    memset(name + strlen(name), 0, NAME - strlen(name));
    if (!*name) memcpy(name, "<no name>", 10);
    if (!hd_tracker_set_thread(keep_name(name))) named_at = at;
}

static inline void name_thread(void) {
    uint32_t at = __atomic_load_n(&renames, __ATOMIC_ACQUIRE) + 1;
    if (__builtin_expect(named_at != at, 0)) read_name(at);
}

#endif
