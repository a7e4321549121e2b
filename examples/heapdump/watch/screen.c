/* heapdump watch: the table on a terminal, by ncurses, which no other file uses. */

#define HEAPDUMP_TEXT_C          /* ncurses has a printw; names pass through short_name */
#include "watch.h"

#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>

enum { HEAD = 5, LEAST_ROWS = 6, LEAST_COLUMNS = 40 }; /* HEAD: lines above the sites */

typedef struct view {
    watch *w;
    uint32_t top;                /* number of the first visible site */
    bool helps, over;
    char said[256];              /* message in the last line, until the next key */
    char typed[128];             /* a filter while it is typed */
    size_t typed_size;
    bool types;
    int talk;                    /* a file that replaces standard error while the screen is used; -1: none */
    off_t heard;
} view;

static bool is_on;
static int error_before = -1;    /* the former standard error while the screen is used */
static volatile sig_atomic_t ends;

void watch_screen_end(void) {
    if (is_on) endwin();
    is_on = false;
    if (error_before >= 0) dup2(error_before, STDERR_FILENO);
}

static void on_end(int number) { ends = number; }

/* Figures. -------------------------------------------------------------------------------------- */

/* Bytes in eight columns: "+123.4 M". */
static void figure_text(char text[32], double bytes, bool sign) {
    static const char units[] = " kMGTPE";
    double size = fabs(bytes);
    int u = 0;
    for (; u < 6 && size >= 999.95; u++) size /= 1024;
    snprintf(text, 32, u ? "%s%.1f %c" : "%s%.0f %c", bytes < 0 ? "-" : sign && bytes > 0 ? "+" : "", size, units[u]);
}

static void put_figure(int width, double bytes, bool sign) {
    char text[32];
    figure_text(text, bytes, sign);
    if (bytes == 0) snprintf(text, sizeof text, sign ? "=  " : "0  ");
    printw("%*s ", width, text);
}

/* Prints a site in at most `columns` columns, shortened like other frames. */
static void put_text(const char *text, int columns) {
    hd_str name = hd_cstr(text);
    FREED char *frame = NULL, *shown = NULL;
    if (columns <= 0) return;
    frames_shown(&name, 1, &frame);
    shown = short_name(hd_cstr(frame), columns);
    addstr(shown);
}

/* Prints a line from the left edge, cut off at the right edge. */
__attribute__((format(__printf__, 2, 3))) static void put_line(int row, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    move(row, 0);
    for (hd_str piece, rest = hd_cstr(text); (piece = hd_visible(&rest)).len;)
        for (size_t i = 0, n; i < piece.len && getcurx(stdscr) < COLS - 1; i += n) {
            for (n = 1; i + n < piece.len && (piece.data[i + n] & 0xc0) == 0x80; n++) {}
            addnstr(piece.data + i, (int)n);
        }
}

/* The table. ------------------------------------------------------------------------------------ */

static void put_process(const view *v, const watch_state *s) {
    static const char *const words[] = { "", " ENDED", " not visible from here", " NOT RECORDED ANY MORE" };
    const watch_table *t = watch_table_of(v->w);
    char others[64] = "";
    if (s->others)
        snprintf(others, sizeof others, ", %u more process%s, %u alive (Tab)", s->others, s->others == 1 ? "" : "es",
                 s->others_alive);
    attron(A_BOLD);
    put_line(0, "%s (%llu)%s%s%s%s", *s->name ? s->name : "no process records yet", (unsigned long long)s->pid, 
             words[s->is], t->frozen ? "  FROZEN" : "", t->changes ? "  CHANGES" : "", others);
    attroff(A_BOLD);
}

static void put_sums(const view *v, const watch_state *s) {
    watch_table *t = watch_table_of(v->w);
    watch_figures f = watch_figures_of(t, &t->all);
    char live[32], error[48] = "", growth[32], growth_error[48] = "";
    char rate[32], temporary[32] = "-", rss[32] = "-", rss_growth[32];
    figure_text(live, f.live, t->changes), figure_text(growth, f.growth, true), figure_text(rate, f.rate, false);
    if (s->sample_bytes) {
        char e[32];
        figure_text(e, f.error, false), snprintf(error, sizeof error, " \xc2\xb1%s", e);
        figure_text(e, f.growth_error, false), snprintf(growth_error, sizeof growth_error, " \xc2\xb1%s", e);
    }
    if (f.temporary >= 0) snprintf(temporary, sizeof temporary, "%.0f%%", 100 * f.temporary);
    if (watch_rss(t) != HD_UNKNOWN) figure_text(rss, (double)watch_rss(t), false);
    figure_text(rss_growth, watch_rss_growth(t), true);
    put_line(1, "live %s%s  %.0f block%s  growth %s%s/min over %.0f s", live, error, f.blocks,
             f.blocks == 1 ? "" : "s", growth, growth_error, watch_window(t));
    put_line(2, "allocates %s/s, %s of it temporary  RSS %s  %s/min", rate, temporary, rss, rss_growth);
}

/* "1.2M", "123k": short, so that seven parts with their names fit into 80 columns. */
static void short_bytes_text(char text[32], uint64_t bytes) {
    static const char units[] = "kMGTPE";
    double size = (double)bytes / 1024;
    int u = 0;
    for (; u < 5 && size >= 999.5; u++) size /= 1024;
    snprintf(text, 32, size > 0 && size < 9.95 ? "%.1f%c" : "%.0f%c", size, units[u]);
}

/* Prints the parts of the RSS. Parts of 0 bytes are omitted. */
static void put_resident(const view *v, const watch_state *s) {
    static const char *const words[RESIDENT_PARTS] = { "live", "alloc", "stacks", "files", "mmap", "recorder", "?" };
    char text[256] = "", size[32];
    uint64_t age;
    const uint64_t *part = watch_resident(watch_table_of(v->w), &age);
    size_t n = 0;
    if (part && age >= 10000000)
        n = (size_t)snprintf(text, sizeof text, "%llu s ago:", (unsigned long long)(age / 1000000));
    for (int i = 0; part && i < RESIDENT_PARTS; i++) {
        if (!part[i]) continue;
        short_bytes_text(size, part[i]);
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s %s", n ? "  " : "", words[i], size);
    }
    if (s->unread) put_line(3, "cannot read the parts of the RSS: %s", s->unread);
    else put_line(3, "%s", text);
}

static void put_heading(const view *v, const watch_state *s) {
    static const int column[] = {
        [BY_LIVE] = 0, [BY_BLOCKS] = 1, [BY_GROWTH] = 2, [BY_RATE] = 4, [BY_TEMPORARY] = 5, [BY_NAME] = 6
    };
    static const char *const words[] = { "live", "blocks", "growth/min", "\xc2\xb1", "alloc/s", "temp", "site" };
    static const int width[] = { 9, 9, 10, 8, 9, 4, 4 };
    const watch_table *t = watch_table_of(v->w);
    move(HEAD - 1, 0);
    attron(A_REVERSE);
    for (int i = 0; i < 7; i++) {
        int pad = width[i] - columns_of(hd_cstr(words[i]));
        if (i == 3 && !s->sample_bytes) continue;
        if (i == column[t->order]) attron(A_BOLD | A_UNDERLINE);
        printw("%*s%s", i == 6 ? 0 : pad, "", words[i]);
        if (i == column[t->order]) attroff(A_BOLD | A_UNDERLINE);
        addch(' ');
    }
    for (int x = getcurx(stdscr); x < COLS && getcury(stdscr) == HEAD - 1; x++) addch(' ');
    attroff(A_REVERSE);
}

static void put_site(const view *v, const watch_state *s, int y, const watch_row *row) {
    const watch_table *t = watch_table_of(v->w);
    watch_figures f = watch_figures_of(t, row);
    move(y, 0);
    put_figure(9, f.live, t->changes);
    if (f.blocks < 1e8) printw(t->changes ? "%+9.0f " : "%9.0f ", f.blocks);
    else put_figure(9, f.blocks, t->changes);
    put_figure(10, f.growth, true);
    if (s->sample_bytes) put_figure(8, f.growth_error, false);
    put_figure(9, f.rate, false);
    if (f.temporary < 0) printw("%4s ", "");
    else printw("%3.0f%% ", 100 * f.temporary);
    put_text(row->name, COLS - getcurx(stdscr));
}

static void put_foot(const view *v, const watch_state *s) {
    const watch_table *t = watch_table_of(v->w);
    move(LINES - 1, 0);
    if (v->types) put_line(LINES - 1, "filter: %s", v->typed);
    else if (*v->said) put_line(LINES - 1, "%s", v->said);
    else if (*s->told) put_line(LINES - 1, "%s", s->told);
    else put_line(LINES - 1, "? help  q quit  s sort: %s  space freeze  d changes  w write  / filter%s%s",
                  watch_order_names[t->order], *t->filter ? ": " : "", t->filter);
}

static void put_help(void) {
    static const char *const lines[] = {
        "s S       sort by the next or previous column; or directly by:",
        "          l live, b blocks, g growth, a allocation rate, t temporaries, n name",
        "/         show only sites that match a regular expression; empty: all",
        "space f   freeze the table, or continue",
        "d         show changes since the last freeze (if none: from now on), or figures",
        "w         write a snapshot of the live heap, for heapdump tree",
        "Tab       the next process of the recording",
        "arrows    scroll, also PgUp, PgDn, Home and End",
        "q         quit; the recording goes on, and watch can start again",
        "",
        "live      bytes allocated and not freed;  k M G: times 1024",
        "growth    live bytes per minute (last minute);  \xc2\xb1 largest standard error",
        "alloc/s   bytes allocated per second;  temp: share freed before the",
        "          next allocation of the thread",
        "site      the function that asked for the memory",
        "RSS       resident bytes, with their parts: live blocks, the allocator's own,",
        "          stacks, mapped files, other mappings, the recorder, ? unexplained",
        "",
        "any key goes back"
    };
    for (int i = 0; i < (int)(sizeof lines / sizeof *lines) && i < LINES; i++) put_line(i, "%s", lines[i]);
}

static void draw(view *v) {
    watch_table *t = watch_table_of(v->w);
    watch_state s = watch_state_of(v->w);
    uint32_t rows = LINES > HEAD + 1 ? (uint32_t)(LINES - HEAD - 1) : 0;
    erase();
    if (v->helps) {
        put_help();
    } else if (LINES < HEAD + 2 || COLS < LEAST_COLUMNS) {
        put_line(0, "too small: %d x %d", COLS, LINES);
    } else {
        watch_sort(t);
        if (v->top + rows > t->shown_count) v->top = t->shown_count > rows ? t->shown_count - rows : 0;
        put_process(v, &s);
        put_sums(v, &s);
        put_resident(v, &s);
        put_heading(v, &s);
        for (uint32_t i = 0; i < rows && v->top + i < t->shown_count; i++)
            put_site(v, &s, (int)(HEAD + i), t->shown[v->top + i]);
        put_foot(v, &s);
    }
    refresh();
}

/* Keys. ----------------------------------------------------------------------------------------- */

static void key_typed(view *v, int key) {
    if (key == '\n' || key == '\r' || key == KEY_ENTER) {
        v->types = false;
        if (!watch_filter(watch_table_of(v->w), v->typed))
            snprintf(v->said, sizeof v->said, "%s: %s", v->typed, pattern_error);
        v->top = 0;
    } else if (key == 27) {
        v->types = false;
    } else if (key == KEY_BACKSPACE || key == 127 || key == 8) {
        while (v->typed_size && (v->typed[--v->typed_size] & 0xc0) == 0x80) {}
    } else if (key == 'U' - 64) {
        v->typed_size = 0;
    } else if (key >= ' ' && key < 256 && v->typed_size < sizeof v->typed - 1) {
        v->typed[v->typed_size++] = (char)key;
    }
    v->typed[v->typed_size] = 0;
}

static bool key_sorts(watch_table *t, int key) {
    static const char keys[] = "lbgatn";
    const char *at = key > 0 && key < 128 ? strchr(keys, key) : NULL;
    if (key == 's') t->order = (t->order + 1) % WATCH_ORDERS;
    else if (key == 'S') t->order = (t->order + WATCH_ORDERS - 1) % WATCH_ORDERS;
    else if (at) t->order = (watch_order)(at - keys);
    else return false;
    return true;
}

static bool key_scrolls(view *v, int key) {
    uint32_t page = LINES > HEAD + 2 ? (uint32_t)(LINES - HEAD - 2) : 1, up = 0;
    if (key == KEY_DOWN || key == 'j') v->top++;
    else if (key == KEY_NPAGE) v->top += page;
    else if (key == KEY_END) v->top = WATCH_ROWS;
    else if (key == KEY_HOME) v->top = 0;
    else if (key == KEY_UP || key == 'k') up = 1;
    else if (key == KEY_PPAGE) up = page;
    else return false;
    v->top -= up < v->top ? up : v->top;
    return true;
}

static void key_pressed(view *v, int key) {
    watch_table *t = watch_table_of(v->w);
    if (key == KEY_RESIZE) return;
    if (v->types) {
        key_typed(v, key);
        return;
    }
    *v->said = 0;
    watch_tell(v->w, "%s", "");
    if (v->helps) {
        v->helps = false;
        return;
    }
    if (key_sorts(t, key)) {
        v->top = 0;
        return;
    }
    if (key_scrolls(v, key)) return;
    switch (key) {
    case 'q': case 'Q': v->over = true; break;
    case '?': case 'h': v->helps = true; break;
    case '/':
        v->types = true;
        snprintf(v->typed, sizeof v->typed, "%s", t->filter);
        v->typed_size = strlen(v->typed);
        break;
    case ' ': case 'f': watch_freeze(t, !t->frozen); break;
    case 'd': watch_changes(t, !t->changes); break;
    case 'w': watch_save(v->w, v->said, sizeof v->said); break;
    case '\t': watch_next(v->w); v->top = 0; break;
    case 'L' - 64: clearok(stdscr, true); break;
    }
}

/* Messages on standard error. -------------------------------------------------------------------- */

static void talk_begin(view *v) {
    v->talk = -1;
    if (!isatty(STDERR_FILENO)) return;
    v->talk = memfd_create("talk", MFD_CLOEXEC);
    error_before = dup(STDERR_FILENO);
    if (v->talk >= 0 && error_before >= 0) dup2(v->talk, STDERR_FILENO);
}

/* Shows the last line that was written to standard error. */
static void talk_hear(view *v) {
    char text[240];
    off_t end = v->talk < 0 ? 0 : lseek(v->talk, 0, SEEK_END);
    ssize_t n;
    char *line;
    if (end <= v->heard) return;
    v->heard = end;
    n = pread(v->talk, text, sizeof text - 1, end > (off_t)sizeof text - 1 ? end - (off_t)sizeof text + 1 : 0);
    text[n > 0 ? n : 0] = 0;
    if (n > 0 && text[n - 1] == '\n') text[n - 1] = 0;
    line = strrchr(text, '\n');
    if (!*v->said) snprintf(v->said, sizeof v->said, "%s", line ? line + 1 : text);
}

static void talk_end(view *v) {
    char text[4096];
    ssize_t n;
    if (v->talk < 0) return;
    n = pread(v->talk, text, sizeof text, 0);
    if (n > 0 && write(STDERR_FILENO, text, (size_t)n) < 0) {}
    close(v->talk);
}

/* ------------------------------------------------------------------------------------------------ */

static bool screen_begin(void) {
    const char *terminal = getenv("TERM");
    SCREEN *terminal_screen;
    if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8")) setlocale(LC_CTYPE, "C.UTF-8");
    if (!getenv("ESCDELAY")) set_escdelay(50);
    terminal_screen = terminal && *terminal ? newterm(NULL, stdout, stdin) : NULL;
    if (!terminal_screen) {
        display(stderr, "heapdump: cannot open a screen on a terminal of type '%s'; --json needs none\n",
                terminal ? terminal : "");
        return false;
    }
    is_on = true;
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, true);
    nodelay(stdscr, true);
    curs_set(0);
    return true;
}

/* Blocks signals except during the wait for input, so that they interrupt only this wait. A closed terminal is always
   ready, so the wait would never block and no signal would arrive: it is checked separately. */
static void hold(sigset_t *before) {
    static const int held[] = { SIGINT, SIGTERM, SIGHUP, SIGWINCH };
    struct sigaction end = { .sa_handler = on_end };
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
        sigaddset(&set, held[i]);
        if (held[i] != SIGWINCH) sigaction(held[i], &end, NULL);
    }
    sigprocmask(SIG_BLOCK, &set, before);
}

static void run(view *v) {
    sigset_t before;
    hold(&before);
    while (!v->over && !ends) {
        int wait = watch_tick(v->w), key;
        struct timespec until = { wait / 1000, wait % 1000 * 1000000L };
        struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
        if (watch_is_done(v->w)) v->over = true;
        talk_hear(v);
        draw(v);
        if (v->over) break;
        if (ppoll(&in, 1, &until, &before) > 0 && in.revents & (POLLHUP | POLLERR)) ends = SIGHUP;
        while (!v->over && (key = getch()) != ERR) key_pressed(v, key);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
}

int watch_screen(watch *w) {
    view v = { .w = w };
    if (!screen_begin()) return BAD_INPUT;
    talk_begin(&v);
    run(&v);
    fflush(stderr);
    watch_screen_end();
    talk_end(&v);
    return ends && ends != SIGINT ? 128 + ends : DONE;
}
