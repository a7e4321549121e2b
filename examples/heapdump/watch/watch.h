/* heapdump watch: the data about a process from tick to tick, which the screen and --json show. It does not depend on
   the source of the figures. */
#ifndef HEAPDUMP_WATCH_H
#define HEAPDUMP_WATCH_H

#include "../record/record.h"

/* The amounts of a site since the start of its process; estimates if the recording is sampled. */
typedef struct watch_amount {
    uint64_t live, blocks, total, total_blocks, temporary, temporary_blocks;
    double live_variance, total_variance; /* variance of the bytes */
} watch_amount;

/* Growth covers the last minute, or the time since the first tick. It is measured from marks, which are WATCH_MARK_US
   apart. */
enum { WATCH_MARK_US = 5000000, WATCH_MARKS = 13, WATCH_ROWS = 1 << 16, WATCH_NAME = 1024 };

/* Live bytes at a mark. */
typedef struct watch_mark {
    uint64_t live;
    double live_variance, total_variance;
} watch_mark;

typedef struct watch_figures {
    double live, blocks;         /* with `changes`: the difference to the frozen table */
    double error;                /* upper bound of the standard error of `live`; 0: not sampled */
    double growth, growth_error; /* bytes per minute; an upper bound of the standard error */
    double rate;                 /* bytes allocated per second since the last tick */
    double temporary;            /* share of the allocated bytes that was temporary: freed before the next
                                    allocation of their thread; less than 0: no allocation */
} watch_figures;

typedef struct watch_row {
    char *name;
    watch_amount now, next, before, frozen;
    watch_mark mark[WATCH_MARKS];
    watch_figures held;          /* figures while the table is frozen */
    bool hidden;                 /* the filter excludes it */
} watch_row;

typedef enum watch_order {
    BY_LIVE, BY_BLOCKS, BY_GROWTH, BY_RATE, BY_TEMPORARY, BY_NAME, WATCH_ORDERS
} watch_order;
extern const char *const watch_order_names[WATCH_ORDERS];

typedef struct watch_table {
    watch_row **rows, **shown;   /* shown: the rows that pass the filter, in order */
    uint32_t count, shown_count;
    void *by_name;               /* rows by name: a tree of <search.h> */
    watch_row all;               /* the sums of the process */
    uint64_t ticks, now_us, before_us, frozen_us; /* frozen_us 0: never frozen */
    uint64_t rss, held_rss;      /* RSS of the process; set rss before the end of each tick; HD_UNKNOWN: unknown */
    double held_rss_growth, held_window;
    uint64_t mark_us[WATCH_MARKS], mark_rss[WATCH_MARKS];
    uint64_t marks;              /* number of marks so far; the last WATCH_MARKS are kept */
    uint64_t part[RESIDENT_PARTS], held_part[RESIDENT_PARTS]; /* parts of the RSS at the last reading */
    uint64_t part_us, held_part_us; /* time of that reading, set like rss; 0: never read */
    bool frozen, changes;
    watch_order order;
    char filter[128];            /* "": no filter */
    regex_t regex;
} watch_table;

/* The row of a site, which is created if it is new. After WATCH_ROWS rows, it is "<other>". Names are cut at
   WATCH_NAME bytes. */
watch_row *watch_row_of(watch_table *t, hd_str name);
/* A tick: call watch_begin, add all amounts to `next` of their rows, then call watch_end. */
void watch_begin(watch_table *t);
void watch_end(watch_table *t, uint64_t now_us);
/* The figures of a row: current, or frozen. */
watch_figures watch_figures_of(const watch_table *t, const watch_row *row);
/* The period of growth in seconds, the RSS, and the growth of the RSS per minute: current, or frozen. */
double watch_window(const watch_table *t);
uint64_t watch_rss(const watch_table *t);
double watch_rss_growth(const watch_table *t);
/* The parts of the RSS, and the age of the reading at the tick; NULL: never read. */
const uint64_t *watch_resident(const watch_table *t, uint64_t *age_us);
/* Sets `shown`: the rows that pass the filter and ever had a block, in order; ties by name. */
void watch_sort(watch_table *t);
/* Sets the filter: only matching sites are shown; "" shows all. If the expression is wrong, it returns false, sets
   pattern_error, and keeps the old filter. */
bool watch_filter(watch_table *t, const char *text);
/* Freezes the shown figures, or continues. Ticks continue in both cases. */
void watch_freeze(watch_table *t, bool frozen);
/* Shows the difference to the last frozen table, or to the current one if it was never frozen. */
void watch_changes(watch_table *t, bool changes);
/* Resets the table to its state before the first tick. Order and filter stay. */
void watch_clear(watch_table *t);
void watch_free(watch_table *t);

/* The state that is shown next to the table. */
typedef struct watch watch;
typedef struct watch_state {
    const char *name;            /* name of the process */
    uint64_t pid, sample_bytes;
    enum { IS_ALIVE, IS_ENDED, IS_UNSEEN, IS_REPLACED } is;
    uint32_t others;             /* number of other processes */
    uint32_t others_alive;
    const char *told;            /* the last event; "": none */
    bool finished;               /* no process is alive */
    const char *unread;          /* why the parts of the RSS could not be read; NULL: no error so far */
} watch_state;

/* watch.c */
watch_table *watch_table_of(watch *w);
watch_state watch_state_of(const watch *w);
/* Reads the process once. Returns the milliseconds until the next tick. */
int watch_tick(watch *w);
void watch_next(watch *w);       /* switches to the next process */
/* Writes the live heap to a separate file. `said` gets the result as a message. */
void watch_save(watch *w, char *said, size_t size);
bool watch_is_done(const watch *w); /* --count */
void watch_tell(watch *w, const char *format, ...) __attribute__((format(__printf__, 2, 3)));

/* screen.c */
int watch_screen(watch *w);
/* Restores the terminal. It can be called from anywhere. */
void watch_screen_end(void);

/* The commands of this floor. */
int run_watch(const arguments *a);

#endif
