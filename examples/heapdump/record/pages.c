/* heapdump pages: how full the pages with live blocks are, and which sites keep them resident. */

#include "record.h"

#include <fcntl.h>
#include <search.h>
#include <sys/mman.h>

/* Sites. --------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
    return strcmp(((const group *)a)->name, ((const group *)b)->name);
}

/* The number of the group with this name; takes ownership of the name. */
static uint32_t group_of(page_sites *s, char *name) {
    group *g = needed(malloc(sizeof *g)), **found;
    *g = (group){ name, s->count };
    found = needed(tsearch(g, &s->tree, by_name));
    if (*found != g) {
        free(g->name), free(g);
        return (*found)->number;
    }
    if (s->count == s->room) {
        s->room = s->room ? 2 * s->room : 64;
        s->groups = needed(realloc(s->groups, s->room * sizeof *s->groups));
    }
    s->groups[s->count] = g;
    return s->count++;
}

/* The functions of a frame, one per line, outermost first. */
static const char *frames_of(page_sites *s, uint32_t node) {
    hd_str path[HD_RENAME_MAX];
    size_t size = 1;
    uint32_t n;
    char *to;
    if (s->text[node]) return s->text[node];
    n = symbols_rename(s->names, hd_profile_axis(s->profile, 0).node_name[node], path);
    for (uint32_t i = 0; i < n; i++) size += path[i].len + 1;
    s->text[node] = to = needed(calloc(1, size));
    for (uint32_t i = 0; i < n; i++) {
        if (i) *to++ = '\n';
        to = mempcpy(to, path[i].data, path[i].len);
    }
    return s->text[node];
}

/* The last function in `lines` that is not an allocation helper; length 0 if there is none. */
static hd_str last_site(const char *lines, bool any) {
    for (size_t end = strlen(lines); end;) {
        const char *from = memrchr(lines, '\n', end);
        hd_str name = { from ? from + 1 : lines, 0 };
        name.len = (size_t)(lines + end - name.data);
        if (any || !is_helper(name)) return (hd_str){ name.data, without_place(name.data, name.len) };
        end = from ? (size_t)(from - lines) : 0;
    }
    return (hd_str){ "", 0 };
}

/* The innermost function that is not a helper. If all are helpers, the outermost one. */
static char *function_of(page_sites *s, uint32_t node) {
    hd_axis axis = hd_profile_axis(s->profile, 0);
    hd_str name = { "", 0 };
    for (uint32_t n = node; n && !name.len; n = axis.parent[n]) {
        name = last_site(frames_of(s, n), false);
        if (!name.len && !axis.parent[n]) name = last_site(frames_of(s, n), true);
    }
    return needed(name.len ? strndup(name.data, name.len) : strdup("[no call stack]"));
}

static char *stack_of(page_sites *s, uint32_t node) {
    hd_axis axis = hd_profile_axis(s->profile, 0);
    char *stack = NULL, *more;
    for (uint32_t n = node; n; n = axis.parent[n]) {
        if (asprintf(&more, "%s%s%s", frames_of(s, n), stack ? "\n" : "", stack ? stack : "") < 0) more = NULL;
        free(stack);
        stack = needed(more);
    }
    return stack ? stack : needed(strdup("[no call stack]"));
}

static void keep_context(void *user, uint32_t context, const uint32_t *nodes) {
    page_sites *s = user;
    while (s->contexts <= context) {
        if (!(s->contexts & (s->contexts - 1)))
            s->nodes = needed(realloc(s->nodes, (s->contexts ? 2 * (size_t)s->contexts : 1) * sizeof *s->nodes));
        s->nodes[s->contexts][0] = s->nodes[s->contexts][1] = HD_NONE;
        s->contexts++;
    }
    memcpy(s->nodes[context], nodes, sizeof s->nodes[context]);
}

/* Assigns each context to its group. The first group is for contexts that have not allocated yet. */
static void sites_group(page_sites *s) {
    hd_axis types = hd_profile_axis(s->profile, 1);
    symbols_prepare(s->names, hd_profile_axis(s->profile, HD_AXIS_BACKTRACE));
    symbols_tell(s->names);
    s->text = needed(calloc(hd_profile_axis(s->profile, 0).node_count, sizeof *s->text));
    s->of = needed(calloc(s->contexts + 1, sizeof *s->of));
    group_of(s, needed(strdup("[not known]")));
    for (uint32_t c = 0; c < s->contexts; c++) {
        if (s->nodes[c][0] == HD_NONE) continue;
        if (s->by == BY_TYPE) {
            hd_str name = types.node_name[s->nodes[c][1]];
            s->of[c] = group_of(s, needed(strndup(name.data, name.len)));
        } else {
            s->of[c] = group_of(s, (s->by == BY_STACK ? stack_of : function_of)(s, s->nodes[c][0]));
        }
    }
}

static void keep_group(void *unused) { (void)unused; }

static void sites_free(page_sites *s) {
    if (s->text)
        for (uint32_t i = 0; i < hd_profile_axis(s->profile, 0).node_count; i++) free(s->text[i]);
    hd_profile_free(s->profile);
    tdestroy(s->tree, keep_group);
    for (uint32_t i = 0; i < s->count; i++) free(s->groups[i]->name), free(s->groups[i]);
    free(s->groups), free(s->text), free(s->of), free(s->nodes);
}

/* Pages. --------------------------------------------------------------------------------------- */

typedef struct loads {
    symbols *names;
    uint64_t pid, count;
} loads;

static void on_module(void *user, const hd_module *module, bool loaded) {
    loads *l = user;
    (void)loaded;
    if (l->count++ < 4096) symbols_loaded(l->names, module, l->pid);
}

static int by_share(const void *a, const void *b) {
    const hd_page_use *x = a, *y = b;
    if (x->share != y->share) return x->share < y->share ? 1 : -1;
    return x->group < y->group ? -1 : x->group > y->group;
}

/* Merges pairs of cells, so that each covers twice as many pages. */
static void map_halve(page_map *m) {
    for (uint32_t i = 0; i < m->count; i++) {
        page_cell *to = &m->cells[i / 2];
        if (!(i & 1)) {
            *to = m->cells[i];
            continue;
        }
        to->pages += m->cells[i].pages;
        to->used += m->cells[i].used;
    }
    m->count = (m->count + 1) / 2;
    m->each *= 2;
}

static void map_add(void *user, uint64_t address, uint64_t pages, uint64_t bytes) {
    page_map *m = user;
    while (pages) {
        page_cell *last = m->count ? &m->cells[m->count - 1] : NULL;
        uint64_t n;
        if (!last || last->pages == m->each) {
            while (m->count == PAGE_CELLS || pages / m->each > PAGE_CELLS - m->count) map_halve(m);
            last = m->count ? &m->cells[m->count - 1] : NULL;
            if (!last || last->pages == m->each) {
                last = &m->cells[m->count++];
                *last = (page_cell){ .address = address };
            }
        }
        n = m->each - last->pages < pages ? m->each - last->pages : pages;
        last->pages += n;
        last->used += n * bytes;
        pages -= n;
        address += n * m->page_bytes;
    }
}

static hd_status paged_count(paged *p, const arguments *a, region *r, hd_error *err) {
    reading now = { .file = p->file, .doing = "counting pages" };
    hd_options options = reading_options(&a->input, &now);
    uint64_t bytes = region_bytes(r, &options.limits);
    hd_snapshot_options naming = { .options = options };
    hd_pages_options counting = { .options = options, .page_bytes = a->record.page_size };
    loads modules = { p->sites.names, p->state.pid, 0 };
    hd_pages *pages;
    hd_status status;
    hd_recorder_view_modules(r->base, bytes, p->number, on_module, &modules, NULL);
    symbols_loaded_end(modules.names);
    status = hd_recorder_view_contexts(r->base, bytes, p->number, &naming, keep_context, &p->sites, &p->sites.profile,
                                       err);
    if (status) return status;
    sites_group(&p->sites);
    counting.group = p->sites.of;
    counting.context_count = p->sites.contexts;
    counting.group_count = p->sites.count;
    if (p->map.cells) counting.each = map_add, counting.user = &p->map;
    status = hd_recorder_view_pages(r->base, bytes, p->number, &counting, &pages, err);
    progress_end();
    region_was_read(r);
    if (status) return status;
    p->total = hd_pages_total(pages);
    p->count = hd_pages_count(pages);
    p->rows = needed(calloc(p->count + 1, sizeof *p->rows));
    for (size_t i = 0; i < p->count; i++) p->rows[i] = hd_pages_use(pages, i);
    qsort(p->rows, p->count, sizeof *p->rows, by_share);
    hd_pages_free(pages);
    return HD_OK;
}

/* Regions. ------------------------------------------------------------------------------------- */

bool pages_open(const arguments *a, const char *what, region *r) {
    static const char wanted[] = "expected a running recording, or a file of record --keep: other formats do not "
                                 "contain the addresses of blocks; record again with --blocks --keep FILE";
    int fd = recording_region(a, what);
    if (fd == -1) fd = open(what, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd == -2) return false;
    if (fd < 0) {
        char *end;
        bool is_number = *what && (strtoull(what, &end, 10), !*end);
        if (is_number)
            display(stderr, "heapdump: %s: no recording of this user has this process%s\n", what, recorded_by);
        else display(stderr, "heapdump: cannot open %s: %s\n", what, strerror(errno));
        return false;
    }
    if (region_from(r, fd)) return true;
    display(stderr, "heapdump: %s: %s\n", what, wanted);
    close(fd);
    return false;
}

void pages_close(region *r) {
    munmap(r->base, (size_t)r->size);
    close(r->fd);
}

static int by_number(const void *a, const void *b) {
    return compare_numbers(*(const uint64_t *)a, *(const uint64_t *)b);
}

static int by_live(const void *a, const void *b) {
    const paged *x = (const paged *)a, *y = (const paged *)b;
    uint64_t p = x->state.counters.live_bytes, q = y->state.counters.live_bytes;
    return p == q ? compare_numbers(x->number, y->number) : compare_numbers(q, p);
}

static void keep_pid(void *unused) { (void)unused; }

/* Whether a pid is seen for the first time. Records are visited from the last to the first, so the last program of a
   process counts. */
static bool is_last(uint64_t *pid, void **seen) {
    const uint64_t **found = needed(tsearch(pid, seen, by_number));
    return *found == pid;
}

uint32_t pages_find(const arguments *a, const char *what, region *r, paged **out) {
    uint64_t pid = a->heaps.has_pid ? a->heaps.pid : access(what, F_OK) ? strtoull(what, NULL, 10) : 0;
    hd_limits limits = { 0 };
    uint64_t bytes = region_bytes(r, &limits), left = region_claims(&limits);
    uint32_t n = region_count(r, bytes, &limits), count = 0;
    FREED uint64_t *pids = NULL;
    void *seen = NULL;
    pids = needed(calloc((size_t)n + 1, sizeof *pids));
    *out = NULL;
    for (uint32_t i = n; i-- > 0;) {
        paged p = { .file = what, .number = i };
        if (hd_recorder_view(r->base, bytes, i, &p.state, NULL)) continue;
        if (p.state.bytes > left) continue;
        left -= p.state.bytes;
        p.state.name[sizeof p.state.name - 1] = 0;
        pids[i] = p.state.pid;
        if (!is_last(&pids[i], &seen) || !p.state.counters.live_blocks || (pid && p.state.pid != pid)) continue;
        if (!(count & (count - 1))) *out = needed(realloc(*out, (count ? 2 * (size_t)count : 1) * sizeof **out));
        (*out)[count++] = p;
    }
    tdestroy(seen, keep_pid);
    if (count) qsort(*out, count, sizeof **out, by_live);
    region_was_read(r);
    if (!count) display(stderr, "heapdump: %s: none of the selected processes has live blocks\n", what);
    return count;
}

bool paged_fill(paged *p, const arguments *a, const char *by, region *r) {
    hd_error err;
    hd_status status;
    p->sites.names = &p->own;
    p->sites.by = !by || !strcmp(by, "function") ? BY_FUNCTION : !strcmp(by, "type") ? BY_TYPE : BY_STACK;
    p->map.each = 1;
    p->map.page_bytes = a->record.page_size ? a->record.page_size : (uint64_t)sysconf(_SC_PAGESIZE);
    status = paged_count(p, a, r, &err);
    if (status)
        display(stderr, "heapdump: %s: %s (%llu): %s%s\n", p->file, p->state.name, (unsigned long long)p->state.pid,
                err.message, status == HD_UNSUPPORTED ? ": record it with --blocks" : "");
    return !status;
}

void paged_free(paged *p) {
    sites_free(&p->sites);
    symbols_free(&p->own);
    free(p->rows);
    free(p->map.cells);
}

/* Answers. ------------------------------------------------------------------------------------- */

static void json_stack(hd_json *j, const char *lines) {
    json_array(j, "stack");
    for (const char *end; lines; lines = end ? end + 1 : NULL) {
        end = strchr(lines, '\n');
        hd_json_str(j, (hd_str){ lines, end ? (size_t)(end - lines) : strlen(lines) });
    }
    hd_json_end(j);
}

static void json_paged(hd_json *j, const paged *p, size_t shown) {
    hd_json_object(j);
    json_text(j, "file", p->file);
    json_u64(j, "pid", p->state.pid);
    json_text(j, "process", p->state.name);
    json_u64(j, "page_bytes", p->total.page_bytes);
    json_u64(j, "pages", p->total.pages);
    json_u64(j, "shared_pages", p->total.shared);
    json_u64(j, "used_bytes", p->total.used);
    json_u64(j, "bytes", p->total.bytes);
    json_u64(j, "blocks", p->total.blocks);
    json_array(j, "pages_by_tenths");
    for (int i = 0; i < 10; i++) hd_json_u64(j, p->total.tenths[i]);
    hd_json_end(j);
    json_array(j, "sites");
    for (size_t i = 0; i < shown; i++) {
        const hd_page_use *u = &p->rows[i];
        const char *name = p->sites.groups[u->group]->name;
        json_line(j);
        if (p->sites.by == BY_STACK) json_stack(j, name);
        else json_text(j, p->sites.by == BY_TYPE ? "type" : "function", name);
        json_u64(j, "bytes", u->bytes);
        json_u64(j, "blocks", u->blocks);
        json_u64(j, "pages", u->pages);
        json_u64(j, "own_pages", u->alone);
        json_u64(j, "share_bytes", u->share);
        json_u64(j, "used_bytes", u->used);
        hd_json_end(j);
    }
    hd_json_end(j);
    hd_json_end(j);
}

static double percent(uint64_t part, uint64_t whole) { return whole ? 100.0 * (double)part / (double)whole : 0; }

static char *shown_name(const page_sites *s, const char *name, int columns) {
    FREED hd_str *frames = NULL;
    size_t n = 0;
    if (s->by != BY_STACK) return short_name(hd_cstr(name), columns);
    frames = needed(calloc(HD_MAX_FRAMES * HD_RENAME_MAX + 1, sizeof *frames));
    for (const char *end; name && n < HD_MAX_FRAMES * HD_RENAME_MAX; name = end ? end + 1 : NULL) {
        end = strchr(name, '\n');
        frames[n++] = (hd_str){ name, end ? (size_t)(end - name) : strlen(name) };
    }
    return short_chain(frames, n, columns, false);
}

static void put_tenths(FILE *out, const paged *p) {
    display(out, "  pages by how full they are:");
    for (int i = 0, told = 0; i < 10; i++)
        if (p->total.tenths[i])
            display(out, "%s %s%d%% %llu", told++ ? "," : "", i < 9 ? "<" : "\xe2\x89\xa5", i < 9 ? 10 * (i + 1) : 90,
                    (unsigned long long)p->total.tenths[i]);
    display(out, "\n");
}

static void put_paged(FILE *out, const arguments *a, const screen *s, const paged *p, size_t shown) {
    const hd_pages_summary *t = &p->total;
    int wide = a->view.exact ? 16 : 11, room = s->columns && !a->view.wide ? s->columns - 4 * wide - 12 : 0;
    display(out, "%s (%llu): ", p->state.name, (unsigned long long)p->state.pid);
    put_bytes(out, a, t->bytes, 0);
    display(out, " live in %llu block%s keep ", (unsigned long long)t->blocks, plural(t->blocks));
    put_bytes(out, a, t->pages * t->page_bytes, 0);
    display(out, ": %llu page%s of ", (unsigned long long)t->pages, plural(t->pages));
    put_bytes(out, a, t->page_bytes, 0);
    display(out, ", %.1f %% full\n", percent(t->used, t->pages * t->page_bytes));
    put_tenths(out, p);
    put_style(out, s, FAINT);
    display(out, "%*s%*s%*s%*s  %5s  %s\n", wide, "pages", wide, "own pages", wide, "share", wide, "live", "full",
            p->sites.by == BY_STACK ? "call stack" : p->sites.by == BY_TYPE ? "type" : "function");
    put_style(out, s, PLAIN);
    for (size_t i = 0; i < shown; i++) {
        const hd_page_use *u = &p->rows[i];
        FREED char *name = shown_name(&p->sites, p->sites.groups[u->group]->name, room && room < 16 ? 16 : room);
        put_bytes(out, a, u->pages * t->page_bytes, wide);
        put_bytes(out, a, u->alone * t->page_bytes, wide);
        put_bytes(out, a, u->share, wide);
        put_bytes(out, a, u->bytes, wide);
        display(out, "  %4.0f%%  %s\n", percent(u->used, u->pages * t->page_bytes), name);
    }
    if (shown < p->count) {
        put_style(out, s, FAINT);
        display(out, "not shown: %zu more (--all)\n", p->count - shown);
        put_style(out, s, PLAIN);
    }
}

static size_t sites_shown(const arguments *a, const screen *s, const paged *p, size_t processes) {
    uint32_t rows = rows_for(a, s, processes), most = a->cut.cutoff.top;
    if (!most && !a->cut.all && !a->view.json) most = rows > 6 ? rows - 6 : 20;
    return most && most < p->count ? most : p->count;
}

/* Proposes the call stacks of the sites. */
static void put_what_next(FILE *out, const arguments *a, const screen *s) {
    char size[24];
    snprintf(size, sizeof size, "%llu", (unsigned long long)a->record.page_size);
    if (a->view.by && !strcmp(a->view.by, "stack")) return;
    put_next(out, s, a, "their call stacks", "pages", "--by", "stack", a->input.files[0],
             a->record.page_size ? "--page-size" : NULL, size, NULL);
}

static int put_processes(const arguments *a, region *r, answer *to) {
    screen s = screen_of(a);
    FREED paged *all = NULL;
    uint32_t n = pages_find(a, a->input.files[0], r, &all), told = 0;
    uint32_t most = a->cut.all || a->view.json || n <= 10 ? n : 10;
    uint64_t rest = 0;
    for (uint32_t i = 0; i < n; i++) {
        paged *p = &all[i];
        if (i >= most) {
            rest += p->state.counters.live_bytes;
        } else if (paged_fill(p, a, a->view.by, r)) {
            if (told++ && !a->view.json) display(to->text, "\n");
            if (a->view.json) json_paged(&to->json, p, sites_shown(a, &s, p, most));
            else put_paged(to->text, a, &s, p, sites_shown(a, &s, p, most));
        }
        paged_free(p);
    }
    if (most < n) {
        display(to->text, "\n%u more processes with fewer live bytes: ", n - most);
        put_bytes(to->text, a, rest, 0);
        display(to->text, " together (--all)\n");
    }
    if (told && !a->view.json) put_what_next(to->text, a, &s);
    return n && told == most ? DONE : BAD_INPUT;
}

int run_pages(const arguments *a) {
    region r = { .fd = -1 };
    answer to;
    int status;
    if (a->input.file_count != 1) return usage("pages takes one recording: its file, or the PID of a process");
    if (a->view.by && strcmp(a->view.by, "function") && strcmp(a->view.by, "stack") && strcmp(a->view.by, "type"))
        return usage("pages --by takes function, stack or type, not '%s'", a->view.by);
    if (a->record.page_size && (a->record.page_size < 64 || a->record.page_size > (uint64_t)1 << 30 ||
                                a->record.page_size & (a->record.page_size - 1)))
        return usage("--page-size takes a power of two from 64 to 1G, not %llu",
                     (unsigned long long)a->record.page_size);
    if (!pages_open(a, a->input.files[0], &r)) return BAD_INPUT;
    status = answer_open(&to, a, "processes");
    if (!status) status = answer_close(&to, put_processes(a, &r, &to));
    pages_close(&r);
    return status;
}
