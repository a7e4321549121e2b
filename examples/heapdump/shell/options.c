/* Options: parsing and help. */

#include "options.h"

#include <getopt.h>

enum { OUTPUT = 0 };             /* the row of --output, also for -o */

/* Lists of names. ------------------------------------------------------------------------------ */

/* The next name of a list, or a text in brackets. Its length is 0 at the end. */
static hd_str next_name(const char **list) {
    hd_str name = { *list += strspn(*list, " "), 0 };
    name.len = *name.data == '[' ? strcspn(name.data, "]") + 1 : strcspn(name.data, " ");
    *list += name.len;
    return name;
}

static bool has_name(const char *list, hd_str name) {
    for (hd_str n; (n = next_name(&list)).len;)
        if (hd_str_equal(n, name)) return true;
    return false;
}

/* The least number of inserted, removed and replaced letters that turn one word into the other. */
static size_t edit_distance(const char *a, size_t m, const char *b, size_t n) {
    size_t row[33];
    for (size_t k = 0; k <= n; k++) row[k] = k;
    for (size_t i = 0; i < m; i++) {
        size_t before = row[0]++;
        for (size_t k = 0; k < n; k++) {
            size_t changed = before + (a[i] != b[k]), least = row[k] < row[k + 1] ? row[k] : row[k + 1];
            before = row[k + 1];
            row[k + 1] = changed < least + 1 ? changed : least + 1;
        }
    }
    return row[n];
}

void guess_try(guess *g, hd_str name) {
    size_t m = strlen(g->word), distance, most = m < 6 ? 1 : 2;
    if (name.len > 32) return;
    if (m > 1 && m < name.len && !memcmp(g->word, name.data, m)) distance = 1; /* a beginning of the name */
    else distance = edit_distance(g->word, m, name.data, name.len);
    if (g->word[0] == *name.data) most++; /* a first letter is rarely mistyped */
    if (distance > most || distance >= m || distance >= name.len) return;
    if (g->best.len && distance >= g->distance) return;
    g->best = name;
    g->distance = distance;
}

/* Parsing. ---------------------------------------------------------------------------------------- */

/* The table for getopt_long: option 256 + N is row N, the first row of its name. Freed by the caller. */
static struct option *long_options(void) {
    size_t n = 0;
    struct option *options = needed(calloc(option_row_count + 2, sizeof *options));
    for (int i = 0; i < (int)option_row_count; i++)
        if (!i || strcmp(option_rows[i - 1].name, option_rows[i].name))
            options[n++] = (struct option){ option_rows[i].name,
                                            option_rows[i].value ? required_argument : no_argument, NULL, 256 + i };
    options[n] = (struct option){ "help", no_argument, NULL, 'h' }; /* a row of zeros ends the table */
    return options;
}

/* The row of this name for the command. */
static const option_row *row_of(const command *c, const option_row *o) {
    for (const option_row *own = o; own < option_rows + option_row_count; own++)
        if (!strcmp(own->name, o->name) && has_name(own->of, hd_cstr(c->name))) return own;
    return o;
}

static bool is_cutoff(const option_row *o) { return o->at - AT(cut.cutoff) < sizeof(hd_cutoff); }

static int unknown_option(const command *c, const char *text) {
    char word[64];
    guess g = { .word = word };
    const char *list = c->options;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(text + strspn(text, "-"), "="), text + strspn(text, "-"));
    for (hd_str name; (name = next_name(&list)).len;)
        if (*name.data != '[') guess_try(&g, name);
    if (!g.best.len) return usage("%s does not know the option '%s'", c->name, text);
    return usage("%s does not know the option '%s' (did you mean --%.*s?)", c->name, text, (int)g.best.len,
                 g.best.data);
}

/* An option got another value than it takes. */
static int wrong_value(const option_row *o, const char *text) {
    static const struct { option_take *take; const char *values; } known[] = {
        { take_times, "expected times such as peak,exit, at most 255 characters" },
        { take_base, "counters of one file" },
        { take_bytes, "expected a number of bytes, such as 64k, 10M or 1G" },
        { take_some_bytes, "expected 1 byte or more, such as 64k, 10M or 1G" },
        { take_count, "expected a whole number from 1" },
        { take_depth, "expected a whole number from 1 to 128" },
        { take_share, "expected 0 to 1, or a percentage such as 5%" },
        { take_percent, "expected a percentage such as 5%" },
        { take_site, "expected REGEX=BYTES" },
        { take_limit, "expected a number from 0" },
        { take_seconds, "expected a number of seconds above 0" },
        { take_where, "expected a condition such as 'length>1000', 'FIELD=REGEX' or detached" },
        { take_pid, "expected the number of a process" },
        { take_frames, "expected all or hidden" },
        { take_order, "expected bytes, blocks, self or name" },
        { take_kind, "expected live, peak, total or temporary" },
        { take_match, "expected process" },
        { take_soft, "expected strong or weak" },
        { take_layout, "expected compressed, wide or file" },
        { take_children, "expected no, all or REGEX; ^NAME$ matches a program with this name" },
        { take_metric, "expected a field of MemProf such as MaxLifetime, average, or average:FIELD" },
        { take_prune, "cold=P% with P from 0 to 100, min-bytes=N, or both with a comma between" },
        { take_label, "expected NAME=VALUE, and each NAME once" },
        { take_format, "--format help lists what it takes" },
        { take_record_format, "expected chrome, memprof-raw or memprof-rfc" }
    };
    const char *values = "";
    if (*pattern_error) return usage("--%s does not take '%s': %s", o->name, text, pattern_error);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].take == o->take) values = known[i].values;
    return usage("--%s does not take '%s' (%s)", o->name, text, values);
}

static int read_by(const struct option *options, const command *c, int argc, char **argv, arguments *a) {
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, c->runs_program ? "+:ho:" : ":ho:", options, NULL)) != -1) {
        const option_row *o = &option_rows[option < 256 ? OUTPUT : option - 256];
        if (option == 'h') return a->help = true, DONE;
        if (option == ':') return usage("%s needs a value", argv[optind - 1]);
        if (option == '?' && optopt == 'h') return usage("--help takes no value");
        if (option == '?' && optopt >= 256) return usage("--%s takes no value", option_rows[optopt - 256].name);
        if (option == '?' && optopt) return usage("%s does not know the option '-%c'", c->name, optopt);
        if (option == '?') return unknown_option(c, argv[optind - 1]);
        if (!has_name(c->options, hd_cstr(o->name))) return usage("%s does not take --%s", c->name, o->name);
        o = row_of(c, o);
        if (!o->take(o, a, optarg)) return wrong_value(o, optarg);
        if (is_cutoff(o)) a->cut.has_cutoff = true;
    }
    a->input.files = argv + optind;
    a->input.file_count = argc - optind;
    return DONE;
}

int options_read(const command *c, int argc, char **argv, arguments *a) {
    FREED struct option *options = long_options();
    return read_by(options, c, argc, argv, a);
}

/* Help: a line per option. The man page has the further lines of `help`. ------------------------ */

enum { HELP_COLUMN = 25 };       /* 55 of 80 columns are left */

static void option_help(void *user, hd_str name, const char *value, const char *help) {
    FILE *out = user;
    char text[64];
    if (!help) {
        put_filled(out, "", HELP_COLUMN, name);
        return;
    }
    snprintf(text, sizeof text, "  %s--%.*s%s%s", hd_str_equal(name, hd_cstr(option_rows[OUTPUT].name)) ? "-o, " : "",
             (int)name.len, name.data, value ? " " : "", value ? value : "");
    if (strlen(text) + 1 > HELP_COLUMN) display(out, "%s\n", text), *text = 0;
    put_filled(out, text, HELP_COLUMN, (hd_str){ help, strcspn(help, "\n") });
}

void options_each(const command *c, option_seen *seen, void *user) {
    const char *list = c->options;
    for (hd_str name; (name = next_name(&list)).len;) {
        bool own = false;
        if (*name.data == '[') seen(user, name, NULL, NULL);
        for (size_t i = 0; i < option_row_count; i++)
            own |= hd_str_equal(hd_cstr(option_rows[i].name), name) && has_name(option_rows[i].of, hd_cstr(c->name));
        for (size_t i = 0; i < option_row_count; i++)
            if (hd_str_equal(hd_cstr(option_rows[i].name), name) &&
                (own ? has_name(option_rows[i].of, hd_cstr(c->name)) : !*option_rows[i].of))
                seen(user, name, option_rows[i].value, option_rows[i].help ? option_rows[i].help : formats_written());
    }
}

void options_help(const command *c, FILE *out) { options_each(c, option_help, out); }
