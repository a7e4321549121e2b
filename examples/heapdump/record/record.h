/* The parts of `heapdump record`: the region of the recording, its processes, and the file that it writes. */
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
    int fd;                      /* its socket; -1: free slot */
    pid_t pid;
    uid_t uid;
    uint64_t since_us;
    join_missed missed;          /* size 0: it sent none */
} joining;

enum { JOINING = SYMBOLS_MEANWHILE - 2 };
#define LEAST_SHARE 0.0001       /* of the total: smallest share that is listed if no cut-off is given */

/* The resident memory of a process when it was last read. */
typedef struct resident_reading {
    uint64_t at_us;              /* 0: never */
    uint64_t part[RESIDENT_PARTS];
    int error;                   /* errno if it could not be read */
} resident_reading;

/* A recorded process: one for each program that it executed. */
typedef struct process {
    uint32_t index, number;      /* its index, and the number of its record */
    uint32_t image;              /* number of programs that this process executed before */
    int pidfd;                   /* -1: not open */
    bool ended, written, later;  /* later: it executed another program, which has its own entry */
    bool spoiled;                /* its recording could not be read, as a message said */
    bool refused;                /* it claims more than the region holds */
    bool has_new_modules;        /* it may have loaded modules since modules_look */
    bool asked;                  /* it has no pidfd: kill(pid, 0) shows whether it lives */
    uint32_t types;              /* number of type names that the file has for it; 0: none */
    char *name;
    uint64_t pid;
    uint64_t peak_number, peak_us; /* the last peak that was seen */
    uint64_t ended_us;           /* time at which its end was seen */
    code_file *code;             /* its perf map */
    hd_recorded state;
    uint64_t peak_bytes, temporary_bytes, temporary_blocks, total_blocks; /* as written to the file */
    resident_reading resident;
    resident_ranges ranges;
} process;

/* A heap to be written; we own its breakdown. */
typedef struct kept_heap {
    hd_heap heap;
    char dump[24];
    uint32_t of;                 /* index of its process */
    uint32_t tick;               /* its number in the time line; 0: not part of it */
    uint64_t size;               /* bytes of the file that it takes; 0: not written yet */
    resident_reading resident;   /* last reading of its process before the heap's time */
    hd_scalar *stats;            /* figures of the process's allocator; their texts belong to the heap */
    size_t stat_count;
} kept_heap;

/* The file of a recording. */
typedef struct timeline {
    char *path;
    bool is_default, is_plain;   /* is_plain: it grows while the program runs */
    bool begun, failed;          /* failed: the last write failed */
    bool stale;                  /* rewriting it would help a trace viewer */
    bool is_watched;             /* another process kept it open for long */
    int fd;                      /* -1: not open */
    uint64_t size;               /* bytes written completely */
    uint64_t size_again;         /* size after it was last rewritten */
    uint64_t ticks_size;         /* bytes of it that belong to the time line */
    hd_chrome_writer *writer;
    char *pending;               /* output of the writer that is not in the file yet */
    size_t pending_size, pending_room;
    kept_heap *heaps;
    size_t count, room;
    uint32_t moments, ticks;
    bool is_under_way_told;      /* of a heap of the time line that was taken with operations in progress */
} timeline;

/* Processes below the program that do not record. */
typedef struct unrecorded {
    struct found {
        pid_t pid;
        char name[64];
        const char *why;         /* the reason; NULL: unknown, or `preload` */
        char preload[200];       /* an LD_PRELOAD without the recorder; empty: not the reason */
    } *found;
    uint32_t count, next, refused_count;
    uint32_t more;               /* number of programs that were reported when `found` was full */
    pid_t *refused;              /* processes left out by --children: their children are left out, too */
    struct joined { pid_t pid; uint64_t at_us; } joined[JOINING]; /* processes that joined lately */
    uint64_t next_us;            /* time of the next look */
    uint32_t late;               /* number that got their answer too late */
    char late_name[64];          /* one of them */
    struct outside {             /* processes with another malloc before the recorder's, which it may call */
        pid_t pid;
        uint64_t start_us;
        char name[64], allocator[64];
        bool is_told;
    } *outside;
    uint32_t outside_count;
    bool main_outside;           /* the program is one of them */
} unrecorded;

typedef struct control control;
struct client;                   /* a client that sends requests; in control.c */
typedef struct kept_moment kept_moment;

typedef struct recording {
    const arguments *a;
    output_options out;          /* options of the file */
    cut_options cut;             /* options of its heaps */
    const char *library;         /* path of the recorder in LD_PRELOAD; NULL: recovered */
    region region;
    int listener;                /* a socket; -1: none */
    control *control;            /* control socket; NULL: none */
    int timer, signals;
    int spare;                   /* a descriptor to be closed when descriptors run out; -1: none */
    struct rlimit files;         /* the program's limit */
    char socket[JOIN_NAME + 1];
    joining joining[JOINING];
    process **processes;         /* pointers stay valid */
    uint32_t count, room, looked; /* looked: number of records that were examined */
    uint64_t look_us;            /* time of the last processes_look */
    bool *known;                 /* by record number: whether the record has a process */
    uint32_t known_count, refused_records;
    void *images;                /* tsearch, by pid */
    pid_t main;
    bool main_ended, stopped;
    uint64_t stopped_us;         /* when recording was ended; 0: it continues */
    uint64_t settled_us;         /* until then, threads may still leave the recorder */
    bool short_of_memory;        /* a heap could not be taken */
    int status;                  /* of the program */
    uint32_t joined, refused, crowded;
    int soon;                    /* number of quick looks to come, since a joined program is about to appear */
    char refused_name[64];       /* name of one of them */
    bool at_peak, at_exit;
    bool is_end_instead;         /* no time of --at has come: the file has the end */
    double every;
    int at_signal;
    unrecorded others;
    uint64_t resident_next_us;   /* time of the next look at resident memory */
    uint32_t resident_turn;      /* index of the next process to look at */
    timeline file;
    kept_moment *moments;        /* taken and not yet in the file, oldest first */
    symbols names;
} recording;

/* region.c */
bool join_listen(recording *r);
bool is_descendant(pid_t pid);
/* Programs that connect or have connected: adds at most JOINING + 1. */
uint32_t join_wait(void *user, struct pollfd *to);
void join_serve(void *user, const struct pollfd *from, uint32_t count);
/* Closes the socket: from now on no program can connect or waits for an answer. */
void join_end(recording *r);

/* region_saved.c */
/* Saves the region to a file, and prints the file's name. */
void region_save(const recording *r);

/* unrecorded.c */
void unrecorded_joined(recording *r, pid_t pid, bool wanted);
/* Notes a process that joined with another malloc before the recorder's. */
void unrecorded_outside(recording *r, pid_t pid, const join_request *request);
/* Whether a process got the region lately and does not record yet. */
bool unrecorded_joins(const recording *r, pid_t pid);
void unrecorded_shown(recording *r, pid_t pid);
/* Notes a program that cannot join, as the process `from` said. */
void unrecorded_missed(recording *r, pid_t from, const join_missed *missed);
void unrecorded_look(recording *r, bool now);
void unrecorded_free(recording *r);

/* reasons.c */
/* Why a process does not record. NULL: unknown, or its LD_PRELOAD, which is then in `preload`. */
const char *reason_of(const recording *r, pid_t pid, char preload[200]);
/* The reason that a join_missed gives. */
const char *reason_given(const join_missed *missed);
/* Whether a process can be inspected, or has other rights than ours. */
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
/* Checks one process: whether it recorded since the last look. *at_work: it lives, and an operation is
   under way. */
bool process_changed(recording *r, process *p, bool *at_work);
bool processes_live(const recording *r);
/* State of a process as in /proc/PID/stat: 'T' is stopped. 0: there is no such process. */
char process_state(uint64_t pid);
bool processes_come(const recording *r);
uint64_t process_number(const recording *r, const process *p);
void processes_free(recording *r);

/* moments.c */
void processes_ended(recording *r);
void processes_end_instead(recording *r);
/* Adds a heap of a process, with names, to the timeline. */
int timeline_add(recording *r, process *p, hd_heap_kind kind, uint32_t moment, uint32_t tick, uint64_t time_us);
/* Takes the live heaps of all running processes. Returns their number. If that is 0, `client` gets no answer
   later. */
uint32_t moment_take(recording *r, bool tick, struct client *client, uint32_t *number);
/* Names and writes all taken heaps; during a search for names, they are written after it. */
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
/* Descriptor that becomes readable when a request arrives; -1: no control socket. */
int control_polled(const recording *r);
void control_answer(recording *r);
/* Answers a client that asked for a snapshot: its heaps are in the timeline, from index `first` on. */
void control_written(recording *r, struct client *c, uint32_t moment, uint32_t under_way, size_t first);
void control_close(recording *r, int status);

/* snapshot.c */
/* The region of the recording that writes a file or has a process, to be read and closed. -1: no recording found; -2:
   it does not answer, as a message said. */
int recording_region(const arguments *a, const char *what);
/* The end of messages about a process that is not recorded. */
extern const char recorded_by[];

/* Writes MemProf profiles of the region. main sets it, since a higher floor does the work. */
extern int (*record_as_memprof)(recording *r);

/* told.c */
/* Prints how many operations were in progress when a heap was taken: a block of each may be missing in it. */
void put_under_way(uint32_t count);
/* Reports once, while the program runs, that its own malloc hides all its allocations. */
void tell_hidden(recording *r);
/* Warns of an output whose name ends like another format's. */
void warn_ending(const char *path);
void tell_recorded(const recording *r, int status);
bool is_spoiled(const recording *r);

/* program.c */
bool program_check(const char *name);
/* Prints why execvp could not run the program: errno was `error`. */
void program_tell(const char *name, int error);
const char *sanitizer_of(const char *file);

/* record.c */
/* Ends the recording of all processes. */
void record_stop(recording *r);

/* The commands of this floor. */
void capture_defaults(arguments *a);
int run_capture(const arguments *a);
int capture_jvm(const arguments *a);
int run_pages(const arguments *a);
void record_defaults(arguments *a);
int run_record(const arguments *a);
int run_recover(const arguments *a);
int run_snapshot(const arguments *a);
/* Whether a recording of this user writes the file now. */
bool recorded_now(const char *file);
int run_stop(const arguments *a);

/* The rest of the face. */
#include "pages.h"

#endif
