/* Measures how long recording takes.
   A part of heapdump_record.c, which includes it once. */
#ifndef RECORD_COSTS_H
#define RECORD_COSTS_H

/* With JOIN_STATS, one call in 64 is picked at random and timed. The sums are notes of the record. */
typedef struct draw {
    uint32_t gap, left;
    uint64_t random;
} draw;

/* The clock of processor time needs a system call, which makes the next hook take twice as long. So this uses the
   time of day, and ignores calls that took so long that the thread must have lost the processor. */
enum { TOO_LONG = 50000 };       /* nanoseconds */

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The present time if this call is to be timed; else 0. */
static uint64_t timed_call(void) {
    static __thread draw d __attribute__((tls_model("initial-exec")));
    if (d.left && --d.left) return 0;
    if (!d.random) d.random = ((uintptr_t)&d ^ started_us) | 1;
    hd_recorder_note(recorder, JOIN_CALLS, d.gap);
    d.random ^= d.random << 13;
    d.random ^= d.random >> 7;
    d.random ^= d.random << 17;
    d.gap = d.left = 1 + (uint32_t)((d.random >> 32) * 127 >> 32);
    now_ns();                    /* the first call waits for memory that it reads */
    return now_ns();
}

/* Notes the time since `began`, less the time of one clock call. */
static void timed_call_ends(uint64_t began) {
    uint64_t end = now_ns(), asked = now_ns() - end;
    unwind_stats u = { 0 };
    unwind_take_stats(&u);
    if (end - began < TOO_LONG) {
        hd_recorder_note(recorder, JOIN_TIMED, 1);
        hd_recorder_note(recorder, JOIN_NANOSECONDS, end - began > asked ? end - began - asked : 0);
    }
    hd_recorder_note(recorder, JOIN_STACKS, u.stacks);
    hd_recorder_note(recorder, JOIN_FRAMES, u.frames);
    hd_recorder_note(recorder, JOIN_SHADOWED, u.shadowed);
    hd_recorder_note(recorder, JOIN_RULES, u.rules);
    hd_recorder_note(recorder, JOIN_DECLINED, u.declined);
}

#endif
