/* Judges how much the growth of a figure looks like a leak. */

#include "heaps.h"

#include <math.h>

static double value_at(const dump_value *v, uint32_t n, uint32_t dump) {
    uint32_t from = 0;
    while (n > 1) {
        uint32_t half = n / 2;
        if (v[from + half].dump <= dump) from += half, n -= half;
        else n = half;
    }
    return n && v[from].dump == dump ? v[from].v : 0;
}

/* The values of n dumps at these times. `list` has the needed values, see trend_of_values. */
typedef struct trend_figures {
    const dump_value *list;
    uint32_t count, n;
    const uint64_t *times;
    bool by_time;
} trend_figures;

/* The position of a dump: microseconds after the first, or its number. */
static double position(const trend_figures *f, uint32_t dump) {
    return f->by_time ? (double)(f->times[dump] - f->times[0]) : (double)dump;
}

/* The dump next to a share of the whole length; neither the first nor the last. */
static uint32_t dump_near(const trend_figures *f, double share) {
    double at = share * position(f, f->n - 1);
    uint32_t from = 1, to = f->n - 2;
    while (from < to) {
        uint32_t half = from + (to - from) / 2;
        if (position(f, half) < at) from = half + 1;
        else to = half;
    }
    return from > 1 && at - position(f, from - 1) < position(f, from) - at ? from - 1 : from;
}

/* The growth rate from one dump to another. A part shorter than an eighth of the whole is completed with the usual
   rate, because a short part has one block or none by chance. */
static double rate(const trend_figures *f, uint32_t from, uint32_t to, double usual) {
    double grown = value_at(f->list, f->count, to) - value_at(f->list, f->count, from);
    double length = position(f, to) - position(f, from);
    double missing = fmax(position(f, f->n - 1) / 8 - length, 0);
    return (grown + usual * missing) / (length + missing);
}

/* The late growth rate, divided by the early one; at most 1. */
static double late_share(const trend_figures *f) {
    uint32_t end = f->n - 1, half = dump_near(f, 1.0 / 2);
    double early = rate(f, 0, half, rate(f, half, end, 0)), late = rate(f, half, end, early);
    if (f->n > 4) late = fmin(late, (late + rate(f, dump_near(f, 2.0 / 3), end, late)) / 2);
    return late <= 0 ? 0 : late < early ? late / early : 1;
}

/* A leak grows in every step, about in proportion to time, and does not go back. A cache levels off: it grows slower
   late than before. Factors are squared, because a single sign is enough to doubt. */
trend trend_of_values(const dump_value *list, uint32_t count, const uint64_t *times, uint32_t n, bool by_time) {
    trend_figures f = { list, count, n, times, by_time };
    double first = value_at(list, count, 0), most = first, drop = 0, up = 0, before = first;
    trend t = { .growth = value_at(list, count, n - 1) - first, .steady = 1 };
    for (uint32_t i = 0; i < count; i++) {
        double v = list[i].v;
        if (!list[i].dump) continue;
        t.ups += v > before;
        if (v > before) t.risen += position(&f, list[i].dump) - position(&f, list[i].dump - 1);
        up += v > before ? v - before : 0;
        if (v > most) most = v;
        if (most - v > drop) drop = most - v;
        before = v;
    }
    if (t.growth <= 0) return t.steady = 0, t.back = up > 0 ? 1 : 0, t;
    t.back = drop / (drop + t.growth);
    t.risen = fmin(t.risen / position(&f, n - 1), 1);
    if (n > 2) {
        t.steady = late_share(&f);
    } else if (times[0] && times[1] > times[0] && first > 0) { /* the early rate is from 0 bytes at time 0 */
        double early = first / (double)times[0], late = t.growth / (double)(times[1] - times[0]);
        t.steady = late < early ? sqrt(late / early) : 1;
    }
    t.score = t.growth * pow(fmax(t.steady, 0.05), 2) * pow(1 - t.back, 2) * pow(t.risen, 2);
    return t;
}

trend trend_of(const double *v, const uint64_t *times, uint32_t n) {
    FREED dump_value *list = needed(malloc(((size_t)n + 1) * sizeof *list));
    trend t;
    for (uint32_t i = 0; i < n; i++) list[i] = (dump_value){ v[i], i };
    t = trend_of_values(list, n, times, n, false);
    return t;
}

/* A leak usually repeats. A few large blocks may just wait, say in a queue of pages that is emptied later. A buffer
   counts one block per page of growth. The factor is a square root, because bytes do the harm: with a hundred times
   the blocks, a tenth of the bytes is equally suspect. */
double occasions(double growth, double blocks_grown) { return sqrt(fmax(fmax(blocks_grown, growth / 4096), 1)); }

const char *trend_words(const trend *t, uint32_t steps) {
    if (steps < 2) return t->steady < 0.4 ? "slower than before" : "";
    if (t->back > 0.3) return "went back in between";
    return t->risen >= 0.9 && t->steady > 0.6 ? "steadily" : t->steady < 0.4 ? "levelling off" : "unevenly";
}

void put_signed(FILE *out, const arguments *a, double bytes) {
    fputc(bytes < 0 ? '-' : '+', out);
    put_bytes(out, a, (uint64_t)fabs(bytes), 0);
}
