/* Runs: steps of a path that repeat with a period. Hashes of all prefixes give the hash of any part of the path in
   O(1). Candidates for a period are the distances to earlier steps with the key of the last step. */

#include "objects.h"
#include "runs.h"

void run_trail_free(run_trail *r) {
    free(r->object), free(r->period), free(r->hash), free(r->power), free(r->mixed), free(r->before), free(r->last);
}

static void put_in_slot(run_trail *r, uint32_t at) {
    uint32_t slot = r->mixed[at] & (r->room - 1);
    r->before[at] = r->last[slot];
    r->last[slot] = at + 1;
}

static void grow(run_trail *r) {
    size_t n = r->room = r->room ? 2 * r->room : 16;
    r->object = needed(realloc(r->object, n * sizeof *r->object));
    r->period = needed(realloc(r->period, n * sizeof *r->period));
    r->hash = needed(realloc(r->hash, (n + 1) * sizeof *r->hash));
    r->power = needed(realloc(r->power, (n + 1) * sizeof *r->power));
    r->mixed = needed(realloc(r->mixed, n * sizeof *r->mixed));
    r->before = needed(realloc(r->before, n * sizeof *r->before));
    free(r->last);
    r->last = needed(calloc(n, sizeof *r->last));
    r->hash[0] = 0, r->power[0] = 1;
    for (uint32_t i = 0; i < r->count; i++) put_in_slot(r, i);
}

void run_trail_push(run_trail *r, uint32_t object, uint64_t key) {
    const uint64_t base = 0xd6e8feb86659fd93u;
    uint32_t at = r->count;
    if (at == r->room) grow(r);
    r->object[at] = object, r->period[at] = 0;
    r->mixed[at] = (uint32_t)(run_key(key, 0) >> 17);
    r->hash[at + 1] = r->hash[at] * base + key;
    r->power[at + 1] = r->power[at] * base;
    put_in_slot(r, at);
    r->count++;
}

void run_trail_pop(run_trail *r) {
    r->count--;
    r->last[r->mixed[r->count] & (r->room - 1)] = r->before[r->count];
}

static uint64_t hash_between(const run_trail *r, uint32_t from, uint32_t to) {
    return r->hash[to] - r->hash[from] * r->power[to - from];
}

uint32_t run_periods(const run_trail *r, uint32_t periods[RUN_PERIODS]) {
    uint32_t n = 0, end = r->count;
    if (!end) return 0;
    for (uint32_t at = r->before[end - 1], tries = 0; at && tries < RUN_PERIODS; at = r->before[at - 1], tries++) {
        uint32_t p = end - at;
        if (2 * (uint64_t)p > end) break;
        if (hash_between(r, end - p, end) == hash_between(r, end - 2 * p, end - p)) periods[n++] = p;
    }
    return n;
}

static bool begins_run(const void *user, run_alike *alike, uint32_t first, uint32_t period) {
    for (uint32_t i = 0; i <= period; i++)
        if (!alike(user, first + period + i, first + i, !i)) return false;
    return true;
}

/* Walks backwards, so that the trail of keys ends at the step after the current one. */
uint32_t *run_starts(const uint64_t *keys, uint32_t count, run_alike *alike, const void *user) {
    uint32_t *period = needed(calloc((size_t)count + 1, sizeof *period)), periods[RUN_PERIODS];
    run_trail path = { .count = 0 };
    for (uint32_t i = count; i--;) {
        uint32_t p = period[i + 1], n = 0;
        if (p && alike(user, i + p, i, true) && alike(user, i + 1 + p, i + 1, false)) period[i] = p;
        else n = run_periods(&path, periods);
        for (uint32_t k = 0; k < n && !period[i]; k++)
            if (begins_run(user, alike, i, periods[k])) period[i] = periods[k];
        run_trail_push(&path, i, keys[i]);
    }
    run_trail_free(&path);
    return period;
}
