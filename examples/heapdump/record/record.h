/* The parts of `heapdump record`: the region that processes record into, which of them live, what is written when. */
#ifndef HEAPDUMP_RECORD_H
#define HEAPDUMP_RECORD_H

#include "region.h"
#include "resident.h"

#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "../../recorder/join.h"

/* A program that asks to be recorded. */
typedef struct joining {
    int fd;                      /* its end of the socket; -1: nobody's */
    pid_t pid;
    uid_t uid;
    uint64_t since_us;
} joining;

enum { JOINING = SYMBOLS_MEANWHILE - 2 };
#define LEAST_SHARE 0.0001       /* of the total, that is listed where no cut-off is given */

/* What of a process was resident when it was looked at last. */
typedef struct resident_reading {
    uint64_t at_us;              /* 0: never */
    uint64_t part[RESIDENT_PARTS];
    int error;                   /* why it could not be looked at; 0: it could */
} resident_reading;

/* A process that recorded something: one for each program that it executed. */
typedef struct process {
    uint32_t index, number;      /* of it, of its record */
    uint32_t image;              /* number of programs that this process was before */
    int pidfd;                   /* -1: none */
    bool ended, written, later;  /* later: another program took its place */
    bool spoiled;                /* what it recorded could not be read, as was told */
    bool refused;                /* it claims more than the region holds */
    bool has_new_modules;        /* it may have some since modules_look */
    bool asked;                  /* without a pidfd: kill tells whether it lives */
    uint32_t types;              /* names of these that the file has, which has heaps of it; 0: none */
    char *name;
    uint64_t pid;
    uint64_t peak_number, peak_us; /* of the peak that was seen last */
    uint64_t ended_us;           /* time at which its end was seen */
    code_file *code;             /* that it made while it runs */
    hd_recorded state;
    uint64_t peak_bytes, temporary_bytes, temporary_blocks; /* as written */
    resident_reading resident;
    resident_ranges ranges;
} process;

/* A heap as it is written; the breakdown is our own. */
typedef struct kept_heap {
    hd_heap heap;
    char dump[24];
    uint32_t of;                 /* a process */
    uint32_t tick;               /* of the time line; 0: none */
    uint64_t size;               /* bytes that it took of the file; 0: not in it yet */
    resident_reading resident;   /* of its process, the last before its time */
    hd_scalar *stats;            /* what the allocator said; the texts are its own */
    size_t stat_count;
} kept_heap;

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
    kept_heap *heaps;
    size_t count, room;
    uint32_t moments, ticks;
} timeline;

/* Processes below the program that do not record. */
typedef struct unrecorded {
    struct found {
        pid_t pid;
        char name[64];
        const char *why;         /* the reason; NULL: unknown, or `preload` */
        char preload[200];       /* LD_PRELOAD that leaves out the recorder; empty: that is not the reason */
    } *found;
    uint32_t count, next, refused_count;
    pid_t *refused;              /* that --children leaves out, with what they start */
    struct joined { pid_t pid; uint64_t at_us; } joined[JOINING]; /* lately */
    uint64_t next_us;            /* when it is time to look */
    uint32_t late;               /* that had waited too long when they were answered */
    char late_name[64];          /* one of them */
    struct outside {             /* processes in which another malloc comes first; it may call the recorder's */
        pid_t pid;
        uint64_t start_us;
        char name[64], allocator[64];
        bool is_told;
    } *outside;
    uint32_t outside_count;
    bool main_outside;           /* the program is one */
} unrecorded;

typedef struct control control;
struct client;                   /* sends requests; in control.c */
typedef struct kept_moment kept_moment;

typedef struct recording {
    const arguments *a;
    output_options out;          /* of its file */
    cut_options cut;             /* of its heaps */
    const char *library;         /* the recorder, as LD_PRELOAD has it; NULL: recovered */
    region region;
    int listener;                /* a socket; -1: none */
    control *control;            /* what asks us while we run; NULL: nobody can */
    int timer, signals;
    int spare;                   /* a file that can be closed for another; -1: none */
    struct rlimit files;         /* of the program */
    char socket[JOIN_NAME + 1];
    joining joining[JOINING];
    process **processes;         /* they stay where they are */
    uint32_t count, room, looked; /* looked: records that were seen */
    uint64_t look_us;            /* time of the last processes_look */
    bool *known;                 /* by number: records that are processes */
    uint32_t known_count, refused_records;
    void *images;                /* tsearch, by pid */
    pid_t main;
    bool main_ended, stopped;
    uint64_t stopped_us;         /* time at which recording ended; 0: it goes on */
    uint64_t settled_us;         /* until then threads may leave the recorder after that */
    bool short_of_memory;        /* a heap could not be taken for want of it */
    int status;                  /* of the program */
    uint32_t joined, refused, crowded;
    int soon;                    /* so many looks follow each other: what joined shows itself */
    char refused_name[64];       /* one of them */
    bool at_peak, at_exit;
    double every;
    int at_signal;
    unrecorded others;
    uint64_t resident_next_us;   /* when it is time to look at what is resident */
    uint32_t resident_turn;      /* of the next process */
    timeline file;
    kept_moment *moments;        /* taken and not yet in the file, the oldest first */
    symbols names;
} recording;

/* region.c */
bool join_listen(recording *r);
bool is_descendant(pid_t pid);
/* Programs that connect, or have connected: adds at most JOINING + 1. */
uint32_t join_wait(void *user, struct pollfd *to);
void join_serve(void *user, const struct pollfd *from, uint32_t count);
/* No program can connect any more, or waits for an answer. */
void join_end(recording *r);

/* region_saved.c */
/* Saves the region as a file, and prints its name. */
void region_save(const recording *r);

/* unrecorded.c */
void unrecorded_joined(recording *r, pid_t pid, bool wanted);
/* It joined, and another malloc than the recorder's comes first. */
void unrecorded_outside(recording *r, pid_t pid, const join_request *request);
/* Whether a process was given the region lately, and has not shown itself. */
bool unrecorded_joins(const recording *r, pid_t pid);
void unrecorded_shown(recording *r, pid_t pid);
void unrecorded_look(recording *r, bool now);
void unrecorded_free(recording *r);

/* reasons.c */
/* The reason why a process does not record; NULL: unknown, or its LD_PRELOAD, which is in `preload` then. */
const char *reason_of(const recording *r, pid_t pid, char preload[200]);
/* Whether a process can be looked at, or has rights that are not ours. */
bool is_visible(pid_t pid);
bool has_other_rights(pid_t pid);

/* processes.c */
bool has_region(const recording *r, uint64_t pid, bool unseen);
void modules_look(recording *r, process *p);
/* Finds the perf maps of processes. */
void codes_look(recording *r, bool (*is_wanted)(const process *p));
void processes_look(recording *r);
/* Marks all running processes as ended: the recording has stopped. */
void processes_end(recording *r);
/* Looks at one process: whether it recorded something since the last look. *at_work: it lives, and is about to. */
bool process_changed(recording *r, process *p, bool *at_work);
bool processes_live(const recording *r);
bool processes_come(const recording *r);
uint64_t process_number(const recording *r, const process *p);
void processes_free(recording *r);

/* moments.c */
void processes_ended(recording *r);
/* Adds a heap of a process, with names, to the timeline. */
int timeline_add(recording *r, process *p, hd_heap_kind kind, uint32_t moment, uint32_t tick, uint64_t time_us);
/* Takes the live heaps of all running processes. Returns their number; 0: moments_write does nothing for them. */
uint32_t moment_take(recording *r, bool tick, struct client *client, uint32_t *number);
/* Names and writes all taken heaps, unless a search for names runs: they are written after it. */
void moments_write(recording *r);
/* Takes and writes the live heaps. tick: as an entry of the time line. */
void timeline_moment(recording *r, bool tick);

/* timeline.c */
uint64_t now_us(void);
void timeline_open(recording *r);
kept_heap *kept_add(timeline *t);
void timeline_begin(recording *r);
int timeline_flush(recording *r, size_t first);
hd_heap *heaps_from(const recording *r, size_t first);
void kept_release(kept_heap *k);
int timeline_finish(recording *r);
void timeline_discard(recording *r);
void timeline_free(recording *r);

/* resident.c */
void resident_look(recording *r);
void resident_look_at(recording *r, process *p);
void resident_keep(const recording *r, const process *p, kept_heap *k);
hd_scalar *scalars_from(const recording *r, size_t first, size_t *count);
void resident_told(const recording *r);

/* control.c */
void control_listen(recording *r);
/* What becomes readable when somebody asks; -1: nobody can. */
int control_polled(const recording *r);
void control_answer(recording *r);
/* Answers a client that asked for a snapshot, whose heaps are those of the timeline from index `first` on. */
void control_written(recording *r, struct client *c, uint32_t moment, size_t first);
void control_close(recording *r, int status);

/* snapshot.c */
/* The region of the recording that writes a file, or has a process, to be read and closed; -1: there is none, -2: it
   does not answer, as was told. */
int recording_region(const arguments *a, const char *what);

/* Writes MemProf profiles of what is in the region. Set by main, as a floor above does it. */
extern int (*record_as_memprof)(recording *r);

/* told.c */
/* Tells once, while the program runs, that its own malloc hides all its allocations. */
void tell_hidden(recording *r);
void tell_recorded(const recording *r, int status);
bool is_spoiled(const recording *r);

/* program.c */
bool program_check(const char *name);
const char *sanitizer_of(const char *file);

/* record.c */
/* Ends the recording of all processes. */
void record_stop(recording *r);

/* The commands of this floor. */
void capture_defaults(arguments *a);
int run_capture(const arguments *a);
int run_pages(const arguments *a);
void record_defaults(arguments *a);
int run_record(const arguments *a);
int run_recover(const arguments *a);
int run_snapshot(const arguments *a);
int run_stop(const arguments *a);

/* The rest of the face. */
#include "pages.h"

#endif
