/* heapdump watch --json: a line for scripts at each tick. */

#include "watched.h"

#include <math.h>
#include <poll.h>

static void json_number(hd_json *j, const char *key, double value) {
    hd_json_key(j, key);
    hd_json_i64(j, isnan(value) ? 0
                   : value > 9e18 ? INT64_MAX : value < -9e18 ? INT64_MIN : (int64_t)nearbyint(value));
}

static void json_figures(hd_json *j, const watch_figures *f, bool sampled) {
    json_number(j, "bytes", f->live);
    json_number(j, "blocks", f->blocks);
    if (sampled) json_number(j, "error_bytes", f->error);
    json_number(j, "growth_per_minute", f->growth);
    if (sampled) json_number(j, "growth_error", f->growth_error);
    json_number(j, "allocated_per_second", f->rate);
    json_number(j, "temporary_per_second", f->temporary < 0 ? 0 : f->temporary * f->rate);
}

static void json_resident(hd_json *j, const watch *w, const watch_state *s) {
    uint64_t age, all = 0;
    const uint64_t *part = watch_resident(&w->table, &age);
    hd_json_key(j, "resident");
    hd_json_object(j);
    for (int i = 0; part && i < RESIDENT_PARTS; i++) all += part[i];
    json_known(j, "bytes", part ? all : HD_UNKNOWN);
    for (int i = 0; i < RESIDENT_PARTS; i++) json_known(j, resident_names[i], part ? part[i] : HD_UNKNOWN);
    json_known(j, "age_ms", part ? age / 1000 : HD_UNKNOWN);
    json_text(j, "unread", s->unread);
    hd_json_end(j);
}

static void json_state(hd_json *j, watch *w, const watch_state *s) {
    static const char *const words[] = { "runs", "ended", "unseen", "replaced" };
    json_u64(j, "pid", s->pid);
    json_text(j, "process", s->name);
    json_text(j, "state", words[s->is]);
    json_text(j, "told", *s->told ? s->told : NULL);
    json_known(j, "rss_bytes", watch_rss(&w->table));
    json_number(j, "rss_growth_per_minute", watch_rss_growth(&w->table));
    json_resident(j, w, s);
    json_u64(j, "sample_bytes", s->sample_bytes);
    json_number(j, "growth_seconds", watch_window(&w->table));
    json_u64(j, "look_us", w->took_us);
    json_array(j, "processes");
    for (uint32_t i = 0; i < w->r.count; i++) {
        const process *p = w->r.processes[i];
        if (p->later) continue;
        hd_json_object(j);
        json_u64(j, "pid", p->pid);
        json_text(j, "process", p->name);
        json_text(j, "state", words[p->ended ? IS_ENDED : is_unseen(p) ? IS_UNSEEN : IS_ALIVE]);
        json_u64(j, "bytes", p->state.counters.live_bytes);
        hd_json_end(j);
    }
    hd_json_end(j);
}

static bool json_tick(watch *w) {
    uint32_t most = w->a->cut.cutoff.top ? w->a->cut.cutoff.top : 20;
    watch_table *t = &w->table;
    watch_state s = watch_state_of(w);
    watch_figures f = watch_figures_of(t, &t->all);
    hd_json j;
    hd_json_begin(&j, hd_out_file(stdout));
    hd_json_object(&j);
    json_text(&j, "heapdump", hd_version());
    json_text(&j, "command", command_name);
    json_array(&j, "files");
    hd_json_object(&j);
    json_text(&j, "file", w->a->input.files[0]);
    hd_json_end(&j);
    hd_json_end(&j);
    json_u64(&j, "tick", w->ticks);
    json_u64(&j, "time_us", t->now_us);
    json_state(&j, w, &s);
    json_figures(&j, &f, s.sample_bytes != 0);
    watch_sort(t);
    json_u64(&j, "site_count", t->shown_count);
    json_array(&j, "sites");
    for (uint32_t i = 0; i < t->shown_count && i < most; i++) {
        f = watch_figures_of(t, t->shown[i]);
        hd_json_object(&j);
        json_text(&j, "site", t->shown[i]->name);
        json_figures(&j, &f, s.sample_bytes != 0);
        hd_json_end(&j);
    }
    hd_json_end(&j);
    hd_json_end(&j);
    hd_json_newline(&j);
    *w->told = 0;
    return !hd_json_finish(&j) && !fflush(stdout);
}

int watch_lines(watch *w) {
    for (;;) {
        uint32_t ticks = w->ticks;
        int wait = watch_tick(w);
        if (ticks != w->ticks && !json_tick(w)) {
            display(stderr, "heapdump: standard output: %s\n", strerror(errno));
            return BAD_INPUT;
        }
        if (watch_is_done(w) || watch_state_of(w).finished) return DONE;
        if (wait) poll(NULL, 0, wait);
    }
}
