/* heapdump record: what is said after a run. */

#include "record.h"

#include <sys/wait.h>

static void tell_none(const recording *r) {
    const char *program = r->a->files[0];
    if (r->refused) display(stderr, "heapdump: %s was not recorded: it is none of those asked for\n", program);
    else if (r->joined) display(stderr, "heapdump: %s allocated nothing, or brings an allocator of its own\n", program);
    else
        display(stderr, "heapdump: %s was not recorded: was it started with a cleared environment, or did it close what it "
                "did not open?\n", program);
}

static void tell_process(const recording *r, const process *p) {
    const hd_recorder_counters *c = &p->state.counters;
    const char *about = p->state.sample_bytes ? "about " : "";
    display(stderr, "heapdump: %s (%llu): peak %s%llu bytes, at the end %s%llu in %llu blocks", p->name,
            (unsigned long long)p->pid, about, (unsigned long long)c->peak_bytes, about,
            (unsigned long long)c->live_bytes, (unsigned long long)c->live_blocks);
    if (p->temporary_blocks)
        display(stderr, "; freed at once: %llu of %llu blocks", (unsigned long long)p->temporary_blocks,
                (unsigned long long)c->total_blocks);
    if (c->inherited_bytes) display(stderr, "; %llu bytes were its parent's", (unsigned long long)c->inherited_bytes);
    if (p->state.under_way) display(stderr, "; %u operations were under way", p->state.under_way);
    display(stderr, "\n");
    if (c->lost) display(stderr, "heapdump: %s (%llu): %llu blocks could not be recorded, for want of memory\n", p->name,
                         (unsigned long long)p->pid, (unsigned long long)c->lost);
    (void)r;
}

/* Each process that matters: the program, and what had a twentieth of the largest peak. The others are one line. */
void tell_recorded(const recording *r, int status) {
    uint64_t most = 0, bytes = 0, processes = 0, shown = 0;
    bool any = false;
    for (uint32_t i = 0; i < r->count; i++) {
        const hd_recorder_counters *c = &r->processes[i].state.counters;
        any |= c->total_blocks != 0;
        if (c->peak_bytes > most) most = c->peak_bytes;
    }
    if (!any) {
        tell_none(r);
        return;
    }
    for (uint32_t i = 0; i < r->count; i++) {
        const process *p = &r->processes[i];
        if (!p->state.counters.total_blocks) continue;
        if ((p->pid == (uint64_t)r->main && !p->later) || (p->state.counters.peak_bytes >= most / 20 && shown < 8)) {
            tell_process(r, p);
            shown++;
        } else {
            processes++;
            bytes += p->state.counters.peak_bytes;
        }
    }
    if (processes)
        display(stderr, "heapdump: and %llu more processes, their peaks %llu bytes together\n", (unsigned long long)processes,
                (unsigned long long)bytes);
    if (r->refused)
        display(stderr, "heapdump: %u programs were left out, %s among them\n", r->refused, r->refused_name);
    if (!status) display(stderr, "heapdump: wrote %s; next: heapdump tree%s %s\n", r->file.path,
                         r->at_exit || r->a->record_format ? "" : " --kind peak", r->file.path);
}
