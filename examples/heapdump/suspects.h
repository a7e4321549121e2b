/* What suspects.c and suspects_graph.c share. */
#ifndef HEAPDUMP_SUSPECTS_H
#define HEAPDUMP_SUSPECTS_H

#include "objects.h"
#include "screen.h"

enum { MOST_SUSPECTS = 10, NAME_COLUMNS = 96 };

/* What the terminal has room for; whole, where there is none: columns of a name, and suspects of so many lines each. */
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

/* Of values in n dumps at these times (microseconds; all 0 when not told), two or more. */
trend trend_of(const double *values, const uint64_t *times, uint32_t n);
/* How much likelier a leak is that many blocks speak for than one that did not get more of them. */
double occasions(double growth, double blocks_grown);
const char *trend_words(const trend *t, uint32_t steps);
/* Whether a function works for whoever calls it: allocators, containers and texts of the standard libraries. */
bool is_helper(hd_str name);
/* A name in so many columns that a list of them is one screen. */
void put_short(FILE *out, const arguments *a, hd_str name);
/* Bytes with a sign. */
void put_signed(FILE *out, const arguments *a, double bytes);

/* suspects_graph.c */
int suspects_of_graphs(const arguments *a, hd_dump **dumps, int count, answer *r);

#endif
