/* The parts of `heapdump record`: the region that processes record into, which of them live, what is written when. */
#ifndef HEAPDUMP_RECORD_H
#define HEAPDUMP_RECORD_H

#include "heaps.h"
#include "resident.h"

#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "../recorder/join.h"

/* Memory that all processes of a recording share. Others write to it: what it says is believed of themselves alone. */
typedef struct region {
    int fd;
    uint8_t *base;
    uint64_t size, used;         /* used: the most that it said */
    uint64_t pages, pages_read;  /* bytes in pages; of those, that our reading made */
    uint64_t pages_guessed;      /* of these, that somebody else may have made meanwhile */
    uint64_t faults;             /* our own, before we read */
    bool is_ours;                /* to write to */
    uint8_t begins[8];
} region;

/* A program that asks to be recorded. */
typedef struct joining {
    int fd;                      /* its end of the socket; -1: nobody's */
    pid_t pid;
    uid_t uid;
    uint64_t since_us;
} joining;

enum { JOINING = 64 };

/* What of a process was resident when it was looked at last. */
typedef struct resident_reading {
    uint64_t at_us;              /* 0: never */
    uint64_t part[RESIDENT_PARTS];
    int error;                   /* why it could not be looked at; 0: it could */
} resident_reading;

/* A process that recorded something: one for each program that it executed. */
typedef struct process {
    uint32_t number;             /* of its record */
    uint32_t image;              /* number of programs that this process was before */
    int pidfd;                   /* -1: none */
    bool ended, written, later;  /* later: another program took its place */
    bool spoiled;                /* what it recorded could not be read, as was told */
    bool refused;                /* it claims more than the region holds */
    bool asked;                  /* without a pidfd: kill tells whether it lives */
    uint32_t types;              /* names of these that the file has, which has heaps of it; 0: none */
    char *name;
    uint64_t pid;
    uint64_t peak_number, peak_us; /* of the peak that was seen last */
    uint64_t ended_us;
    code_file *code;             /* that it made while it runs */
    hd_recorded state;
    uint64_t peak_bytes, temporary_bytes, temporary_blocks; /* as written */
    resident_reading resident;
    resident_ranges ranges;
} process;

/* A heap as it is written; the breakdown is our own. */
typedef struct kept {
    hd_heap heap;
    char dump[24];
    uint32_t of;                 /* a process */
    uint32_t tick;               /* of the time line; 0: none */
    uint64_t size;               /* bytes that it took of the file; 0: not in it yet */
    resident_reading resident;   /* of its process, the last before its time */
    hd_scalar *stats;            /* what the allocator said; the texts are its own */
    size_t stat_count;
} kept;

/* The file of a recording. */
typedef struct timeline {
    char *path;
    bool is_default, is_plain;   /* plain: it grows while the program runs */
    bool begun, failed;          /* failed: it could not be written lately */
    bool stale;                  /* a viewer would have what is in it better if it were written again */
    bool is_watched;             /* somebody had it open for long */
    int fd;                      /* -1: not open */
    uint64_t size;               /* of what is whole in it */
    uint64_t size_again;         /* when it was written again last */
    uint64_t ticks_size;         /* of these, the time line's */
    hd_chrome_writer *writer;
    char *pending;               /* what the writer wrote, not in the file yet */
    size_t pending_size, pending_room;
    kept *heaps;
    size_t count, room;
    uint32_t moments, ticks;
} timeline;

/* Processes below the program that do not record. */
typedef struct unrecorded {
    struct found {
        pid_t pid;
        char name[64];
        char preload[200];       /* LD_PRELOAD that leaves out the recorder; empty: that is not why */
    } *found;
    uint32_t count, next, refused_count;
    pid_t *refused;              /* that --children leaves out, with what they start */
    struct joined { pid_t pid; uint64_t at_us; } joined[JOINING]; /* lately */
    uint64_t next_us;            /* when it is time to look */
} unrecorded;

typedef struct control control;

typedef struct recording {
    const arguments *a;
    region region;
    int listener;                /* a socket; -1: none */
    control *control;            /* what asks us while we run; NULL: nobody can */
    int timer, signals;
    int spare;                   /* a file that can be closed for another; -1: none */
    struct rlimit files;         /* of the program */
    char socket[JOIN_NAME + 1];
    joining joining[JOINING];
    process *processes;
    uint32_t count, room, looked; /* looked: records that were seen */
    bool *known;                 /* by number: records that are processes */
    uint32_t known_count, refused_records;
    void *images;                /* tsearch, by pid */
    pid_t main;
    bool main_ended, stopped;
    bool short_of_memory;        /* a heap could not be taken for want of it */
    int status;                  /* of the program */
    uint32_t joined, refused, crowded;
    int soon;                    /* so many looks follow each other: what joined shows itself */
    char refused_name[64];       /* one of them */
    bool at_peak, at_exit;
    bool cut_off;                /* as the caller wants it */
    double every;
    int at_signal;
    unrecorded others;
    uint64_t resident_next_us;   /* when it is time to look at what is resident */
    uint32_t resident_turn;      /* of the next process */
    timeline file;
    symbols names;
} recording;

/* region.c */
bool region_make(region *r, const char *keep);
bool region_open(region *r, const char *path);
bool region_from(region *r, int fd);
/* Bytes of it that are there to be read, and limits that fit them. */
uint64_t region_bytes(region *r, hd_limits *limits);
/* Number of records in these bytes. Each record takes a page of its own. */
uint32_t region_count(const region *r, uint64_t bytes, const hd_limits *limits);
/* The most that hd_recorded.bytes of all records may add up to: the bytes that are there, and as many again for rows
   that are written meanwhile. */
uint64_t region_claims(const hd_limits *limits);
/* Called when what region_bytes allowed has been read. */
void region_was_read(region *r);
bool join_listen(recording *r);
bool is_descendant(pid_t pid);
bool join_has_room(recording *r);
void join_accept(recording *r);
void join_answer(recording *r, joining *j);

/* region_saved.c */
/* Saves the region as a file, and prints its name. */
void region_save(const recording *r);

/* watch_unrecorded.c */
void unrecorded_joined(recording *r, pid_t pid, bool wanted);
/* Whether a process was given the region lately, and has not shown itself. */
bool unrecorded_joins(const recording *r, pid_t pid);
void unrecorded_shown(recording *r, pid_t pid);
void unrecorded_look(recording *r, bool now);
void unrecorded_free(recording *r);

/* watch_processes.c */
bool has_region(const recording *r, uint64_t pid, bool unseen);
void modules_look(recording *r, const process *p, uint64_t bytes);
void processes_look(recording *r);
bool processes_live(const recording *r);
bool processes_come(const recording *r);
void processes_ended(recording *r, const process *only);
uint64_t process_number(const recording *r, const process *p);
void processes_free(recording *r);

/* timeline.c */
uint64_t now_us(void);
void timeline_open(recording *r);
int timeline_add(recording *r, process *p, hd_heap_kind kind, uint32_t moment, uint32_t tick, uint64_t time_us);
void timeline_begin(recording *r);
void timeline_moment(recording *r, bool tick);
int timeline_flush(recording *r, size_t first);
hd_heap *heaps_from(const recording *r, size_t first);
void kept_release(kept *k);
int timeline_finish(recording *r);
void timeline_discard(recording *r);
void timeline_free(recording *r);

/* resident.c */
void resident_look(recording *r);
void resident_look_at(recording *r, process *p);
void resident_keep(const recording *r, const process *p, kept *k);
hd_scalar *scalars_from(const recording *r, size_t first, size_t *count);
void resident_told(const recording *r);

/* control.c */
void control_listen(recording *r);
/* What becomes readable when somebody asks; -1: nobody can. */
int control_polled(const recording *r);
void control_answer(recording *r);
void control_close(recording *r, int status);

/* snapshot.c */
/* The region of the recording that writes a file, or has a process, to be read and closed; -1: there is none, -2: it
   does not answer, as was told. */
int recording_region(const arguments *a, const char *what);

/* memprof_recorded.c */
int memprof_recorded(recording *r);

/* record_told.c */
void tell_recorded(const recording *r, int status);
bool is_spoiled(const recording *r);

/* program.c */
bool program_check(const char *name);

#endif
