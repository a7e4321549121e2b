/* heapdump watch: what is known of a process from tick to tick. The screen and --json show it; where the figures come
   from it does not know. */
#ifndef HEAPDUMP_WATCH_H
#define HEAPDUMP_WATCH_H

#include "../record/record.h"

/* What a site has, counted from the start of its process; of samples what these stand for. */
typedef struct watch_amount {
    uint64_t live, blocks, total, total_blocks, temporary, temporary_blocks;
    double live_variance, total_variance; /* of the bytes */
} watch_amount;

/* Growth is told over the last minute, or since the first tick: marks are kept so far apart. */
enum { WATCH_MARK_US = 5000000, WATCH_MARKS = 13, WATCH_ROWS = 1 << 16, WATCH_NAME = 1024 };

/* What was live at a mark. */
typedef struct watch_mark {
    uint64_t live;
    double live_variance, total_variance;
} watch_mark;

typedef struct watch_figures {
    double live, blocks;         /* with `changes` how much more than when it was frozen */
    double error;                /* standard error of `live`, at most; 0: nothing is sampled */
    double growth, growth_error; /* bytes a minute; the error is at most that */
    double rate;                 /* bytes allocated a second, since the tick before */
    double temporary;            /* share of these that was freed before the thread allocated again; less than 0: none
                                    was allocated */
} watch_figures;

typedef struct watch_row {
    char *name;
    watch_amount now, next, before, frozen;
    watch_mark mark[WATCH_MARKS];
    watch_figures held;          /* while it is frozen */
    bool hidden;                 /* by the filter */
} watch_row;

typedef enum watch_order {
    BY_LIVE, BY_BLOCKS, BY_GROWTH, BY_RATE, BY_TEMPORARY, BY_NAME, WATCH_ORDERS
} watch_order;
extern const char *const watch_order_names[WATCH_ORDERS];

typedef struct watch_table {
    watch_row **rows, **shown;   /* shown: those that the filter leaves, in order */
    uint32_t count, shown_count;
    void *by_name;               /* a tree of <search.h> */
    watch_row all;               /* of the process */
    uint64_t ticks, now_us, before_us, frozen_us; /* frozen_us 0: never */
    uint64_t rss, held_rss;      /* of the process; rss is to be set before each tick ends; HD_UNKNOWN: not told */
    double held_rss_growth, held_window;
    uint64_t mark_us[WATCH_MARKS], mark_rss[WATCH_MARKS];
    uint64_t marks;              /* so many were made; the last WATCH_MARKS are there */
    uint64_t part[RESIDENT_PARTS], held_part[RESIDENT_PARTS]; /* of resident bytes, as they were read last, */
    uint64_t part_us, held_part_us; /* at that time; 0: never; to be set as rss is */
    bool frozen, changes;
    watch_order order;
    char filter[128];            /* "": none */
    regex_t regex;
} watch_table;

/* The row of a site; new ones are made, up to WATCH_ROWS: then it is "<other>". Names are cut at WATCH_NAME bytes. */
watch_row *watch_row_of(watch_table *t, hd_str name);
/* A tick: first, then all amounts are added to `next` of their rows; last, or watch_cancel: nothing was seen. */
void watch_begin(watch_table *t);
void watch_end(watch_table *t, uint64_t now_us);
/* What a row shows now, or where it is frozen showed then. */
watch_figures watch_figures_of(const watch_table *t, const watch_row *row);
/* Over how many seconds growth is told, and resident bytes with their growth a minute: now or where it is frozen
   then. */
double watch_window(const watch_table *t);
uint64_t watch_rss(const watch_table *t);
double watch_rss_growth(const watch_table *t);
/* Where resident bytes went and how long before the tick that was; NULL: it was never read. */
const uint64_t *watch_resident(const watch_table *t, uint64_t *age_us);
/* Rows that the filter leaves and that ever had something, in order; ties by name. Into `shown`. */
void watch_sort(watch_table *t);
/* Leaves sites that match alone; "" all. False, and pattern_error says why: the filter stays as it was. */
bool watch_filter(watch_table *t, const char *text);
/* What is shown stands still, or goes on; ticks go on meanwhile. */
void watch_freeze(watch_table *t, bool frozen);
/* Shows how much more is live than when it was frozen last; than now, when it never was. */
void watch_changes(watch_table *t, bool changes);
/* As it was before the first tick; order and filter stay. */
void watch_clear(watch_table *t);
void watch_free(watch_table *t);

/* What is shown beside the table. */
typedef struct watch watch;
typedef struct watch_state {
    const char *name;            /* of the process */
    uint64_t pid, sample_bytes;
    enum { IS_ALIVE, IS_ENDED, IS_UNSEEN, IS_REPLACED } is;
    uint32_t others;             /* more processes, */
    uint32_t others_alive;
    const char *told;            /* what happened to it; "": nothing */
    bool finished;               /* nobody lives */
    const char *unread;          /* why where resident bytes go could not be read; NULL: it was, or not tried yet */
} watch_state;

/* watch.c */
watch_table *watch_table_of(watch *w);
watch_state watch_state_of(const watch *w);
/* Looks at the process; how many milliseconds until the next time. */
int watch_tick(watch *w);
void watch_next(watch *w);       /* another process */
/* Writes what is live into a file of its own. `said`: what became of it. */
void watch_save(watch *w, char *said, size_t size);
bool watch_is_done(const watch *w); /* --count */
void watch_tell(watch *w, const char *format, ...) __attribute__((format(__printf__, 2, 3)));

/* screen.c */
int watch_screen(watch *w);
/* Gives the terminal back, from anywhere. */
void watch_screen_end(void);

/* The commands of this floor. */
int run_watch(const arguments *a);

#endif
