/* heapdump record: the messages after a run. */

#include "record.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void put_signal(int number) {
    static const struct { int number; const char *name; } signals[] = {
        { SIGHUP, "HUP" }, { SIGINT, "INT" }, { SIGQUIT, "QUIT" }, { SIGILL, "ILL" }, { SIGTRAP, "TRAP" },
        { SIGABRT, "ABRT" }, { SIGBUS, "BUS" }, { SIGFPE, "FPE" }, { SIGKILL, "KILL" }, { SIGUSR1, "USR1" },
        { SIGSEGV, "SEGV" }, { SIGUSR2, "USR2" }, { SIGPIPE, "PIPE" }, { SIGALRM, "ALRM" }, { SIGTERM, "TERM" },
        { SIGXCPU, "XCPU" }, { SIGXFSZ, "XFSZ" }, { SIGSYS, "SYS" }
    };
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (signals[i].number == number) {
            display(stderr, "killed by SIG%s", signals[i].name);
            return;
        }
    display(stderr, "killed by signal %d", number);
}

void put_under_way(uint32_t count) {
    if (count) display(stderr, "; %u operation%s under way", count, count == 1 ? " was" : "s were");
}

static bool is_main(const recording *r, const process *p) { return p->pid == (uint64_t)r->main && !p->later; }

static bool was_killed(const recording *r) { return r->main && r->main_ended && WIFSIGNALED(r->status); }

/* Whether a process overwrote the beginning of the region. */
static bool is_overwritten(const recording *r) {
    return r->joined && (!r->count || !hd_region_used(r->region.base, r->region.size));
}

/* Whether tell_unrecorded prints the reason. */
static bool is_explained(const recording *r, pid_t pid) {
    for (uint32_t i = 0; i < r->others.count; i++)
        if (r->others.found[i].pid == pid) return r->others.found[i].why || *r->others.found[i].preload;
    return false;
}

static void tell_killed(const recording *r) {
    if (!was_killed(r)) return;
    display(stderr, "heapdump: %s was ", r->a->input.files[0]);
    put_signal(WTERMSIG(r->status));
    display(stderr, "\n");
}

static void tell_none(const recording *r) {
    const char *program = r->a->input.files[0];
    tell_killed(r);
    if (r->refused)
        display(stderr, "heapdump: %s was not recorded: --children excludes it\n", program);
    else if (is_overwritten(r))
        display(stderr, "heapdump: a process wrote over the recording of %s and the others: nothing can be read\n",
                program);
    else if (r->joined && r->others.main_outside) return; /* tell_outside gives the reason */
    else if (r->joined)
        display(stderr, "heapdump: %s allocated nothing\n", program);
    else if (!r->others.late && !is_explained(r, r->main))
        display(stderr, "heapdump: %s was not recorded: was it started with a cleared environment, or did it close "
                "file descriptors that it did not open?\n", program);
}

static void tell_process(const recording *r, const process *p) {
    const hd_recorder_counters *c = &p->state.counters;
    bool sampled = p->state.sample_bytes != 0;
    const char *about = sampled ? "about " : "", *block = sampled ? "sampled block" : "block";
    display(stderr, "heapdump: %s (%llu): peak %s", p->name, (unsigned long long)p->pid, about);
    put_bytes(stderr, r->a, c->peak_bytes, 0);
    if (r->region.is_ours && p->state.start_us && p->peak_us > p->state.start_us + 50000)
        display(stderr, " after %.1f s", (double)(p->peak_us - p->state.start_us) / 1e6);
    display(stderr, ", at the end %s", about);
    put_bytes(stderr, r->a, c->live_bytes, 0);
    display(stderr, " in %llu %s%s", (unsigned long long)c->live_blocks, block, plural(c->live_blocks));
    if (p->temporary_blocks)
        display(stderr, "; temporary: %s%llu of %llu block%s", about, (unsigned long long)p->temporary_blocks,
                (unsigned long long)p->total_blocks, plural(p->total_blocks));
    if (c->inherited_bytes) {
        display(stderr, "; "), put_bytes(stderr, r->a, c->inherited_bytes, 0);
        display(stderr, " inherited from its parent");
    }
    put_under_way(p->state.under_way);
    if (is_main(r, p) && was_killed(r)) display(stderr, "; "), put_signal(WTERMSIG(r->status));
    if (r->stopped && !p->later && process_state(p->pid) == 'T') display(stderr, "; stopped by a signal");
    display(stderr, "\n");
    if (c->lost) display(stderr, "heapdump: %s (%llu): %llu block%s could not be recorded: out of memory\n", p->name,
                         (unsigned long long)p->pid, (unsigned long long)c->lost, plural(c->lost));
}

static double share(uint64_t part, uint64_t whole) { return whole ? 100.0 * (double)part / (double)whole : 0; }

static uint64_t nanoseconds(const struct rusage *used) {
    return (uint64_t)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1000000000 +
           (uint64_t)(used->ru_utime.tv_usec + used->ru_stime.tv_usec) * 1000;
}

/* Processor time of a running process, and of the children that it waited for. */
static uint64_t nanoseconds_so_far(uint64_t pid) {
    char path[64], text[1024];
    unsigned long long user, system, waited_user, waited_system;
    const char *end;
    size_t n;
    FILE *f;
    snprintf(path, sizeof path, "/proc/%llu/stat", (unsigned long long)pid);
    f = fopen(path, "re");
    n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = 0;
    end = strrchr(text, ')');    /* a program name may contain ')' */
    if (!end || sscanf(end + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu %llu %llu", &user, &system,
                       &waited_user, &waited_system) != 4)
        return 0;
    return (user + system + waited_user + waited_system) * 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

/* Digits after the point for milliseconds, so that their ratio fits the printed share. */
static int digits(uint64_t ns) { return ns < 100000000 ? 3 : 0; }

/* --stats: the cost of recording, of all processes together. */
static void tell_cost(const recording *r) {
    struct stat st;
    uint64_t notes[8] = { 0 }, blocks = 0, live = 0, lost = 0, ignored = 0, contexts = 0, cpu, each, hooks;
    struct rusage used, own;
    for (uint32_t i = 0; i < r->count; i++) {
        const hd_recorded *s = &r->processes[i]->state;
        for (int k = 0; k < 8; k++) notes[k] += s->notes[k];
        blocks += s->counters.total_blocks, live += s->counters.live_blocks;
        lost += s->counters.lost, ignored += s->counters.ignored, contexts += s->contexts;
    }
    getrusage(RUSAGE_CHILDREN, &used);
    getrusage(RUSAGE_SELF, &own);
    cpu = nanoseconds(&used);   /* without the process that names frames, which is reaped later */
    for (uint32_t i = 0; i < r->count; i++)
        if (!r->processes[i]->later && (r->stopped || !r->main_ended))
            cpu += nanoseconds_so_far(r->processes[i]->pid);
    each = notes[JOIN_TIMED] ? notes[JOIN_NANOSECONDS] / notes[JOIN_TIMED] : 0;
    hooks = each * notes[JOIN_CALLS];
    display(stderr, "heapdump: cost of the recording:\n");
    if (!notes[JOIN_TIMED]) display(stderr, "  hooks    too few calls to time any\n");
    else
        display(stderr, "  hooks    %.*f ms of %.*f ms of processor time (%.1f %%): %llu calls of %llu ns, by "
                "timing one in 64, at random\n", digits(hooks), (double)hooks / 1e6, digits(cpu), (double)cpu / 1e6,
                share(hooks, cpu), (unsigned long long)notes[JOIN_CALLS], (unsigned long long)each);
    display(stderr, "  %-8s %llu, %llu live, %llu lost (out of memory), %llu calls from inside the recorder\n",
            r->a->record.sample_bytes ? "sampled" : "blocks", (unsigned long long)blocks, (unsigned long long)live,
            (unsigned long long)lost, (unsigned long long)ignored);
    display(stderr, "  stacks   %llu of %.1f frames each: %.1f %% of these known from the stack before, %llu unwind "
            "rules read, %llu stacks left to libunwind\n", (unsigned long long)notes[JOIN_STACKS],
            share(notes[JOIN_FRAMES], notes[JOIN_STACKS]) / 100, share(notes[JOIN_SHADOWED], notes[JOIN_FRAMES]),
            (unsigned long long)notes[JOIN_RULES], (unsigned long long)notes[JOIN_DECLINED]);
    display(stderr, "  contexts %llu\n", (unsigned long long)contexts);
    display(stderr, "  memory   ");
    put_bytes(stderr, r->a, fstat(r->region.fd, &st) ? 0 : (uint64_t)st.st_blocks * 512, 0);
    display(stderr, " of the region\n  heapdump %.0f ms of processor time of its own, ",
            (double)(nanoseconds(&own) + symbols_child_nanoseconds(&r->names)) / 1e6);
    put_bytes(stderr, r->a, (uint64_t)own.ru_maxrss * 1024, 0), display(stderr, " of memory\n");
}

enum { NAMED = 5 };

/* Reports processes with an LD_PRELOAD without the recorder, and the remedy. Returns the number of the others. */
static uint32_t tell_displaced(const unrecorded *u) {
    uint32_t others = u->more, displaced = 0;
    for (uint32_t i = 0; i < u->count; i++) {
        const char *preload = u->found[i].preload;
        if (!*preload) others++;
        else if (displaced++ < NAMED)
            display(stderr,
                    "heapdump: %s (%ld) was not recorded: it was started with LD_PRELOAD=%s, without the recorder; "
                    "let its wrapper keep that: LD_PRELOAD=$LD_PRELOAD:%s\n",
                    u->found[i].name, (long)u->found[i].pid, preload, preload);
    }
    return others;
}

/* Number of blocks that were recorded of such a process. */
static uint64_t blocks_seen(const recording *r, const struct outside *o) {
    for (uint32_t i = 0; i < r->count; i++) {
        const process *p = r->processes[i];
        if (p->pid == (uint64_t)o->pid && p->state.start_us == o->start_us) return p->state.counters.total_blocks;
    }
    return 0;
}

/* Whether its malloc hides allocations: no, if it calls the recorder's. A few blocks may come from functions that its
   allocator lacks, such as pvalloc. */
static bool is_hidden(const recording *r, const struct outside *o) {
    enum { FEW = 64 };
    return !o->is_told && blocks_seen(r, o) < FEW;
}

static void tell_linked(const recording *r, const struct outside *o) {
    uint64_t blocks = blocks_seen(r, o);
    if (!blocks)
        display(stderr, "heapdump: %s (%ld): its allocations were not recorded: it has a malloc of its own linked "
                "in\n", o->name, (long)o->pid);
    else
        display(stderr, "heapdump: %s (%ld) has a malloc of its own linked in, which may hide allocations: %llu "
                "block%s recorded\n", o->name, (long)o->pid, (unsigned long long)blocks,
                blocks == 1 ? " was" : "s were");
}

void tell_hidden(recording *r) {
    enum { AFTER_US = 1000000 };
    struct outside *o = r->others.outside; /* the program joined first */
    if (!r->others.outside_count || o->pid != r->main || strcmp(o->allocator, ".") || o->is_told ||
        now_us() - o->start_us < AFTER_US || blocks_seen(r, o))
        return;
    o->is_told = true;
    display(stderr, "heapdump: %s (%ld) has a malloc of its own linked in: none of its allocations was "
            "recorded\n", o->name, (long)o->pid);
}

/* Reports processes that joined, but allocate with another malloc than the recorder's. */
static void tell_outside(const recording *r) {
    const unrecorded *u = &r->others;
    uint32_t count = 0;
    for (uint32_t i = 0; i < u->outside_count; i++) {
        const struct outside *o = &u->outside[i];
        if (!is_hidden(r, o) || count++ >= NAMED) continue;
        if (!strcmp(o->allocator, ".")) tell_linked(r, o);
        else
            display(stderr, "heapdump: %s (%ld): its allocations were not recorded: %s comes before the recorder in "
                    "its LD_PRELOAD; let its wrapper append it: LD_PRELOAD=$LD_PRELOAD:%s\n", o->name, (long)o->pid,
                    o->allocator, o->allocator);
    }
    if (count > NAMED)
        display(stderr, "heapdump: %u more process%s another malloc than the recorder's\n", count - NAMED,
                count - NAMED == 1 ? " has" : "es have");
}

/* Reports processes that were seen and never recorded: their number, names and reasons. */
static void tell_unrecorded(const recording *r) {
    const unrecorded *u = &r->others;
    uint32_t others = tell_displaced(u), named = 0;
    tell_outside(r);
    if (r->crowded)
        display(stderr, "heapdump: %u program%s could not be recorded: too many ran at once, or heapdump may not "
                "open more files (ulimit -n)\n", r->crowded, plural(r->crowded));
    if (u->late)
        display(stderr, "heapdump: %u program%s not recorded (%s%s): heapdump did not answer in time (was it "
                "stopped?)\n",
                u->late, u->late == 1 ? " was" : "s were", u->late == 1 ? "" : "such as ", u->late_name);
    if (!others) return;
    display(stderr, "heapdump: %u %s not recorded:", others, others == 1 ? "process was" : "processes were");
    for (uint32_t i = 0; i < u->count && named < NAMED; i++) {
        const struct found *f = &u->found[i];
        if (*f->preload) continue;
        display(stderr, "%s %s (%ld): %s", named++ ? ";" : "", f->name, (long)f->pid,
                f->why ? f->why : "the reason is unknown");
    }
    display(stderr, others > NAMED ? "; ...\n" : "\n");
}

/* Whether a part of the recording cannot be read. */
bool is_spoiled(const recording *r) {
    if (is_overwritten(r)) return true;
    for (uint32_t i = 0; i < r->count; i++)
        if (r->processes[i]->spoiled) return true;
    return false;
}

static bool has_live(const recording *r) {
    for (size_t i = 0; i < r->file.count; i++)
        if (r->file.heaps[i].heap.kind == HD_HEAP_LIVE) return true;
    return r->a->record.format != NULL;
}

/* Whether the peak is more interesting than the end: the file has it, and less than half of it is live at the end. */
static bool peak_is_more(const recording *r) {
    const hd_recorder_counters *most = NULL;
    for (uint32_t i = 0; i < r->count; i++) {
        const hd_recorder_counters *c = &r->processes[i]->state.counters;
        if (!most || c->peak_bytes > most->peak_bytes) most = c;
    }
    for (size_t i = 0; i < r->file.count && most; i++)
        if (r->file.heaps[i].heap.kind == HD_HEAP_PEAK) return most->peak_bytes / 2 > most->live_bytes;
    return false;
}

void warn_ending(const char *path) {
    const char *named = format_of_name(path);
    const hd_format *format = named ? format_named(named) : NULL;
    if (!named || format_is(named, HD_FORMAT_TRACE)) return;
    display(stderr, "heapdump: %s will be a trace (JSON), whatever its name", path);
    if (format && format->write_heaps) display(stderr, "; for this format: heapdump convert --to %s", named);
    display(stderr, "\n");
}

/* Whether the file has two dumps of a process, so that suspects can show growth. */
static bool has_series(const recording *r) {
    const hd_heap *first = NULL;
    for (size_t i = 0; i < r->file.count; i++) {
        const hd_heap *heap = &r->file.heaps[i].heap;
        if (heap->kind != HD_HEAP_LIVE) continue;
        if (first && first->pid == heap->pid) return true;
        if (!first) first = heap;
    }
    return false;
}

/* Reports the file, and the command that helps next. */
static void tell_written(const recording *r) {
    display(stderr, "heapdump: wrote %s; next: heapdump ", r->file.path);
    if (r->a->record.blocks && r->a->record.region) display(stderr, "pages %s\n", r->a->record.region);
    else if (has_series(r)) display(stderr, "suspects %s\n", r->file.path);
    else
        display(stderr, "tree%s %s\n", has_live(r) && !peak_is_more(r) ? "" : " --kind peak", r->file.path);
}

/* Reports the program, and each process with a twentieth of the largest peak. The others share one line. */
void tell_recorded(const recording *r, int status) {
    uint64_t most = 0, bytes = 0, processes = 0, shown = 0;
    uint32_t under_way = 0;
    bool any = false, has_main = false;
    for (uint32_t i = 0; i < r->count; i++) {
        const hd_recorder_counters *c = &r->processes[i]->state.counters;
        any |= c->total_blocks != 0;
        if (c->peak_bytes > most) most = c->peak_bytes;
    }
    if (!any) {
        tell_none(r);
        tell_unrecorded(r);
        return;
    }
    for (uint32_t i = 0; i < r->count; i++) {
        const process *p = r->processes[i];
        if (!p->state.counters.total_blocks) continue;
        if (is_main(r, p) || (p->state.counters.peak_bytes >= most / 20 && shown < 8)) {
            tell_process(r, p);
            has_main |= is_main(r, p);
            shown++;
        } else {
            processes++;
            bytes += p->state.counters.peak_bytes;
            under_way += p->state.under_way;
        }
    }
    if (!has_main) tell_killed(r);
    if (processes) {
        display(stderr, processes == 1 ? "heapdump: and %llu more process, its peak "
                                       : "heapdump: and %llu more processes, their peaks ",
                (unsigned long long)processes);
        put_bytes(stderr, r->a, bytes, 0);
        display(stderr, processes == 1 ? "" : " together");
        put_under_way(under_way);
        display(stderr, "\n");
    }
    if (r->refused)
        display(stderr, "heapdump: --children excludes %u program%s (%s%s)\n", r->refused, plural(r->refused),
                r->refused == 1 ? "" : "such as ", r->refused_name);
    tell_unrecorded(r);
    resident_told(r);
    if (r->a->record.stats) tell_cost(r);
    if (status) return;
    if (!r->file.count && is_spoiled(r))
        display(stderr, "heapdump: the recording cannot be read, so no file is written\n");
    if (r->is_end_instead && r->file.count)
        display(stderr, "heapdump: the program ended before the first dump of --at %s: %s has its heaps at exit\n",
                r->a->record.at, r->file.path);
    if (r->file.count || r->a->record.format) tell_written(r);
}
