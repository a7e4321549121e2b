/* report --pages: a map of the pages of a recording's processes, with their use, and the sites that keep them. */

#include "report.h"

enum { MOST_SITES = 100, MOST_PROCESSES = 8 };

static void put_map(hd_json *j, const page_map *m) {
    json_u64(j, "each", m->each);
    json_array(j, "at");
    for (uint32_t i = 0; i < m->count; i++) {
        char text[24];
        snprintf(text, sizeof text, "0x%llx", (unsigned long long)m->cells[i].address);
        hd_json_cstr(j, text);
    }
    hd_json_end(j), hd_json_newline(j);
    json_array(j, "filled");
    for (uint32_t i = 0; i < m->count; i++) hd_json_u64(j, m->cells[i].used);
    hd_json_end(j), hd_json_newline(j);
    json_array(j, "count");
    for (uint32_t i = 0; i < m->count; i++) hd_json_u64(j, m->cells[i].pages);
    hd_json_end(j), hd_json_newline(j);
}

static void put_process(report *r, const paged *p) {
    hd_json *j = &r->json;
    json_line(j);
    json_text(j, "process", p->state.name);
    json_u64(j, "pid", p->state.pid);
    json_u64(j, "page_bytes", p->total.page_bytes);
    json_u64(j, "pages", p->total.pages);
    json_u64(j, "bytes", p->total.bytes);
    json_u64(j, "used", p->total.used);
    json_array(j, "tenths");
    for (int i = 0; i < 10; i++) hd_json_u64(j, p->total.tenths[i]);
    hd_json_end(j);
    put_map(j, &p->map);
    json_array(j, "sites");
    for (size_t i = 0; i < p->count && i < MOST_SITES; i++) {
        const hd_page_use *u = &p->rows[i];
        hd_json_object(j);
        json_u64(j, "name", report_name(r, hd_cstr(p->sites.groups[u->group]->name)));
        json_u64(j, "bytes", u->bytes);
        json_u64(j, "pages", u->pages);
        json_u64(j, "alone", u->alone);
        json_u64(j, "share", u->share);
        json_u64(j, "used", u->used);
        hd_json_end(j);
    }
    hd_json_end(j);
    hd_json_end(j);
}

/* Writes the processes that keep most pages. */
int report_pages(report *r, const arguments *a) {
    region of = { .fd = -1 };
    int status = DONE;
    FREED paged *all = NULL;
    uint32_t n;
    if (!pages_open(a, a->watch.pages, &of)) return BAD_INPUT;
    n = pages_find(a, a->watch.pages, &of, &all);
    if (!n) status = BAD_INPUT;
    json_array(&r->json, "pages");
    for (uint32_t shown = 0; shown < n && shown < MOST_PROCESSES; shown++) {
        paged *most = &all[shown];
        for (uint32_t i = shown + 1; i < n; i++)
            if (all[i].state.counters.live_bytes > most->state.counters.live_bytes) most = &all[i];
        if (most != &all[shown]) {
            paged swap = *most;
            *most = all[shown];
            all[shown] = swap;
            most = &all[shown];
        }
        most->map.cells = needed(calloc(PAGE_CELLS, sizeof *most->map.cells));
        if (paged_fill(most, a, NULL, &of)) put_process(r, most);
        else status = BAD_INPUT;
        paged_free(most);
    }
    hd_json_end(&r->json);
    pages_close(&of);
    return status;
}
