/* Shared by the suspects of heaps and of objects. */
#ifndef HEAPDUMP_SUSPECTS_H
#define HEAPDUMP_SUSPECTS_H

#include "../screen/screen.h"

enum { MOST_SUSPECTS = 10, NAME_COLUMNS = 96 };

/* Limits from the terminal: columns for a name, and number of suspects with `lines_each` lines. Without a terminal,
   names have NAME_COLUMNS and all suspects fit. */
int name_columns(const arguments *a);
uint32_t suspects_that_fit(const arguments *a, uint32_t lines_each, uint32_t most);

/* The command that is proposed next, about the first suspect. name: to be freed; NULL: no command. */
typedef struct proposal {
    const char *command, *option, *purpose, *file;
    const char *kind;            /* of heaps; NULL: live, or the kind that --kind asks for */
    char *name;                  /* the value of the option */
} proposal;

/* The values of one figure over the dumps, judged as a leak. */
typedef struct trend {
    double growth;               /* from the first dump to the last */
    double steady;               /* 0 to 1: the late growth rate divided by the early one; 1: not slower */
    double back;                 /* 0 to 1: the largest fall, as a share of this fall plus growth */
    uint32_t ups;                /* steps with growth */
    double risen;                /* 0 to 1: share of the time, or of the steps, in steps with growth */
    double score;                /* growth, reduced by each sign against a leak */
} trend;

/* A value in one of the dumps. */
typedef struct dump_value { double v; uint32_t dump; } dump_value;

/* The trend of values in n dumps, two or more, at these times (microseconds; all 0 if unknown). Each step counts the
   same. */
trend trend_of(const double *values, const uint64_t *times, uint32_t n);
/* The same in time O(count). `list` has the values other than 0 in order, and each 0 that directly follows one.
   by_time: a step counts by its length. */
trend trend_of_values(const dump_value *list, uint32_t count, const uint64_t *times, uint32_t n, bool by_time);
/* The factor by which new blocks make a leak likelier than growth in the same blocks. */
double occasions(double growth, double blocks_grown);
const char *trend_words(const trend *t, uint32_t steps);
/* Whether a function allocates for its caller: allocators, containers and strings of the standard libraries. */
bool is_helper(hd_str name);
/* A name, shortened so that a list of names fits one screen. */
void put_short(FILE *out, const arguments *a, hd_str name);
void put_short_class(FILE *out, const arguments *a, hd_class c);
/* Bytes with a sign. */
void put_signed(FILE *out, const arguments *a, double bytes);

#endif
