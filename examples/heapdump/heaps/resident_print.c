/* Prints resident memory by part, from scalars that `heapdump record` writes. */

#include "heaps.h"

/* The scalars of one process in one dump; HD_UNKNOWN: absent. */
typedef struct resident_sums {
    const char *process, *unread;
    uint64_t all, age, part[RESIDENT_PARTS];
} resident_sums;

static bool is_part(const hd_scalar *s) {
    return s->allocator && !strncmp(s->allocator, "resident", 8) && (!s->allocator[8] || s->allocator[8] == '/');
}

bool has_resident(const hd_dump *dump) {
    for (size_t i = 0; i < hd_dump_scalar_count(dump); i++)
        if (is_part(hd_dump_scalar(dump, i))) return true;
    return false;
}

bool is_resident(const hd_scalar *s) {
    return is_part(s) || (!s->allocator && !strcmp(s->name, "resident_set_bytes"));
}

/* Collects the scalars of one process and dump, which are adjacent. False: they do not give resident memory. */
static bool add_up(const hd_dump *dump, size_t from, size_t to, resident_sums *sums) {
    *sums = (resident_sums){ .all = HD_UNKNOWN, .age = HD_UNKNOWN };
    for (size_t i = from; i < to; i++) {
        const hd_scalar *s = hd_dump_scalar(dump, i);
        if (!is_part(s)) continue;
        sums->process = s->process;
        if (!strcmp(s->name, "unread")) sums->unread = s->text;
        if (!strcmp(s->name, "age")) sums->age = s->value;
        if (strcmp(s->name, "size")) continue;
        if (!s->allocator[8]) sums->all = s->value;
        for (int k = 0; s->allocator[8] && k < RESIDENT_PARTS; k++)
            if (!strcmp(s->allocator + 9, resident_names[k])) sums->part[k] = s->value;
    }
    return sums->unread || sums->all != HD_UNKNOWN;
}

/* The end of the scalars of one process and dump that begin at i. */
static size_t end_of(const hd_dump *dump, size_t i) {
    const hd_scalar *s = hd_dump_scalar(dump, i), *next;
    do next = hd_dump_scalar(dump, ++i);
    while (next && next->pid == s->pid && same_text(next->dump, s->dump));
    return i;
}

static void print_resident(FILE *out, const arguments *a, uint64_t pid, const char *id, resident_sums sums) {
    display(out, "resident memory (RSS) of %s (PID %llu), ", sums.process ? sums.process : "-",
            (unsigned long long)pid);
    if (sums.all != HD_UNKNOWN && sums.age != HD_UNKNOWN)
        display(out, "%.1f s before dump %s:", (double)sums.age / 1000, id ? id : "-");
    else display(out, "in dump %s:", id ? id : "-");
    if (sums.all == HD_UNKNOWN) {
        display(out, " could not be read: %s\n", sums.unread);
        return;
    }
    display(out, "\n"), put_bytes(out, a, sums.all, 14), display(out, " 100.0 %%  RSS, the sum of:\n");
    for (int k = 0; k < RESIDENT_PARTS; k++) {
        put_bytes(out, a, sums.part[k], 14);
        display(out, " %5.1f %%  %s\n", sums.all ? 100.0 * (double)sums.part[k] / (double)sums.all : 0,
                resident_words[k]);
    }
}

void resident_info(FILE *out, const hd_dump *dump, const arguments *a) {
    resident_sums sums;
    const hd_scalar *last = NULL;
    for (size_t i = 0, end; i < hd_dump_scalar_count(dump); i = end) {
        const hd_scalar *s = hd_dump_scalar(dump, i);
        resident_sums next;
        end = end_of(dump, i);
        if (a->heaps.allocator || (a->heaps.has_pid && s->pid != a->heaps.pid)) continue;
        if (a->heaps.dump && !same_text(a->heaps.dump, s->dump)) continue;
        if (!add_up(dump, i, end, &next)) continue;
        if (last && (a->cut.all || last->pid != s->pid)) print_resident(out, a, last->pid, last->dump, sums);
        last = s;
        sums = next;
    }
    if (last) print_resident(out, a, last->pid, last->dump, sums);
}
