/* What suspects of heaps and of objects share. */
#ifndef HEAPDUMP_SUSPECTS_H
#define HEAPDUMP_SUSPECTS_H

#include "../screen/screen.h"

enum { MOST_SUSPECTS = 10, NAME_COLUMNS = 96 };

/* What the terminal has room for; whole, where there is none: columns of a name, and suspects of so many
   lines each. */
int name_columns(const arguments *a);
uint32_t suspects_that_fit(const arguments *a, uint32_t lines_each, uint32_t most);

/* What one figure was in each dump, and what that says. */
typedef struct trend {
    double growth;               /* from the first dump to the last */
    double steady;               /* 0 to 1: how fast it grew late, of how fast it grew in all */
    double back;                 /* 0 to 1: how much of what it grew by went again at a time */
    uint32_t ups;                /* steps in which it grew */
    double score;                /* growth, less where it does not look as a leak does */
} trend;

/* A figure in one of the dumps. */
typedef struct dump_value { double v; uint32_t dump; } dump_value;

/* The trend of values in n dumps, two or more, at these times (microseconds; all 0 if unknown). */
trend trend_of(const double *values, const uint64_t *times, uint32_t n);
/* The same in time O(count). Values that are not 0 have to be listed in order, and every 0 behind one. */
trend trend_of_values(const dump_value *list, uint32_t count, const uint64_t *times, uint32_t n, bool uneven);
/* Whether steps differ so much in length that growth has to be seen by time: else each counts as much as any other,
   since how much work was done in them is not known. */
bool is_uneven(const uint64_t *times, uint32_t n);
/* How much likelier a leak is that many blocks speak for than one that did not get more of them. */
double occasions(double growth, double blocks_grown);
const char *trend_words(const trend *t, uint32_t steps);
/* Whether a function works for whoever calls it: allocators, containers and texts of the standard libraries. */
bool is_helper(hd_str name);
/* A name in so many columns that a list of them is one screen. */
void put_short(FILE *out, const arguments *a, hd_str name);
void put_short_class(FILE *out, const arguments *a, hd_class c);
/* Bytes with a sign. */
void put_signed(FILE *out, const arguments *a, double bytes);

#endif
