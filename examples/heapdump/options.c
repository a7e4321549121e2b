/* The options of all commands: a row of the table each. */

#include "commands.h"

#include <getopt.h>
#include <stddef.h>

#include "formats/formats.h"
#include "memprof.h"

typedef struct option_row option_row;
struct option_row {
    const char *of;              /* commands that have these words for it; "": the others */
    const char *name, *value;    /* value: as the help calls it; NULL: it takes none */
    bool (*take)(const option_row *o, arguments *a, const char *text); /* false: this value will not do */
    size_t at;                   /* where in the arguments */
    const char *help;            /* NULL: formats_written */
};

/* How values are taken. ------------------------------------------------------------------------ */

static void *place(const option_row *o, arguments *a) { return (char *)a + o->at; }

static bool take_flag(const option_row *o, arguments *a, const char *text) {
    (void)text;
    *(bool *)place(o, a) = true;
    return true;
}

static bool take_text(const option_row *o, arguments *a, const char *text) {
    *(const char **)place(o, a) = text;
    return true;
}

/* Counters are those of one file. */
static bool take_base(const option_row *o, arguments *a, const char *text) {
    return !a->base && take_text(o, a, text);
}

bool parse_bytes(const char *s, uint64_t *n) {
    char *end;
    int shift = 0;
    errno = 0;
    *n = strtoull(s, &end, 10);
    if (*s < '0' || *s > '9' || errno) return false;
    switch (*end) {
    case 'k': case 'K': shift = 10; break;
    case 'M': shift = 20; break;
    case 'G': shift = 30; break;
    }
    if (shift) end++;
    if (*n > UINT64_MAX >> shift) return false;
    *n <<= shift;
    return !*end;
}

bool parse_number(const char *s, char **end, double *n) {
    size_t first = s[0] == '.';
    if (s[first] < '0' || s[first] > '9' || s[1] == 'x' || s[1] == 'X') return false;
    *n = strtod(s, end);
    return true;
}

static bool take_bytes(const option_row *o, arguments *a, const char *text) {
    return parse_bytes(text, place(o, a));
}

static bool take_some_bytes(const option_row *o, arguments *a, const char *text) {
    uint64_t *n = place(o, a);
    return parse_bytes(text, n) && *n;
}

static bool take_count(const option_row *o, arguments *a, const char *text) {
    uint64_t n;
    if (!parse_bytes(text, &n) || !n || n > UINT32_MAX) return false;
    *(uint32_t *)place(o, a) = (uint32_t)n;
    return true;
}

static bool take_depth(const option_row *o, arguments *a, const char *text) {
    return take_count(o, a, text) && a->depth <= HD_MAX_FRAMES;
}

static bool take_share(const option_row *o, arguments *a, const char *text) {
    double *share = place(o, a);
    char *end;
    if (!parse_number(text, &end, share)) return false;
    if (*end == '%') {
        *share /= 100;
        end++;
    }
    return !*end && *share <= 1;
}

static bool take_percent(const option_row *o, arguments *a, const char *text) {
    double *share = place(o, a);
    char *end;
    if (!parse_number(text, &end, share)) return false;
    *share /= 100;
    return (!*end || !strcmp(end, "%")) && *share < 1e9;
}

/* REGEX=BYTES; an expression may have a '=' itself. */
static bool take_site(const option_row *o, arguments *a, const char *text) {
    const char *bytes = strrchr(text, '=');
    site_limit *s;
    (void)o;
    a->sites = needed(realloc(a->sites, ((size_t)a->site_count + 1) * sizeof *a->sites));
    s = &a->sites[a->site_count++];
    if (!bytes || bytes == text || !parse_bytes(bytes + 1, &s->bytes)) return false;
    s->text = needed(strndup(text, (size_t)(bytes - text)));
    return pattern_set(&s->site, s->text);
}

static bool take_limit(const option_row *o, arguments *a, const char *text) {
    double *limit = place(o, a);
    char *end;
    return parse_number(text, &end, limit) && !*end && *limit < 1e30;
}

static bool take_seconds(const option_row *o, arguments *a, const char *text) {
    return take_limit(o, a, text) && *(double *)place(o, a) > 0 && *(double *)place(o, a) < 1e9;
}

/* NUMBER<N and its like, "detached", or FIELD=REGEX. */
static bool take_where(const option_row *o, arguments *a, const char *text) {
    static const char *const numbers[] = { [OF_LENGTH] = "length", [OF_SIZE] = "size", [OF_RETAINED] = "retained" };
    size_t n = strcspn(text, "<>=");
    condition *c;
    (void)o;
    a->where = needed(realloc(a->where, ((size_t)a->where_count + 1) * sizeof *a->where));
    c = &a->where[a->where_count++];
    *c = (condition){ .of = OF_FIELD, .field = text, .field_length = n, .compare = text[n] };
    if (!strcmp(text, "detached")) return c->of = OF_DETACHED, true;
    if (!n || !text[n]) return false;
    text += n + 1;
    for (int of = OF_LENGTH; of <= OF_RETAINED; of++)
        if (hd_str_equal(hd_cstr(numbers[of]), (hd_str){ c->field, n })) c->of = of;
    if (c->of == OF_FIELD) return c->compare == '=' && pattern_set(&c->value, text);
    if (*text == '=' && c->compare != '=') c->compare = c->compare == '<' ? '(' : ')', text++;
    return parse_bytes(text, &c->bound);
}

static bool take_csv(const option_row *o, arguments *a, const char *text) {
    return a->json = take_flag(o, a, text);
}

static bool take_pattern(const option_row *o, arguments *a, const char *text) {
    return pattern_set(place(o, a), text);
}

static bool take_pid(const option_row *o, arguments *a, const char *text) {
    return a->has_pid = take_bytes(o, a, text);
}

static bool take_frames(const option_row *o, arguments *a, const char *text) {
    a->frames_hidden = !strcmp(text, "hidden");
    *(bool *)place(o, a) = !strcmp(text, "all");
    return a->frames_hidden || a->frames_all;
}

/* Words in the order of hd_order. */
static bool take_order(const option_row *o, arguments *a, const char *text) {
    static const char *const words[] = { "bytes", "blocks", "self", "name" };
    (void)o;
    a->ordered = true;
    for (int i = HD_ORDER_BYTES; i <= HD_ORDER_NAME; i++)
        if (!strcmp(words[i], text)) return a->order = (hd_order)i, true;
    return false;
}

static bool take_kind(const option_row *o, arguments *a, const char *text) {
    take_text(o, a, text);
    for (int kind = HD_HEAP_LIVE; kind <= HD_HEAP_TEMPORARY; kind++)
        if (!strcmp(text, hd_heap_kind_name((hd_heap_kind)kind))) return true;
    return false;
}

static bool take_match(const option_row *o, arguments *a, const char *text) {
    return *(bool *)place(o, a) = !strcmp(text, "process");
}

static bool take_children(const option_row *o, arguments *a, const char *text) {
    (void)o;
    a->no_children = !strcmp(text, "no");
    a->children.text = NULL;
    return a->no_children || !strcmp(text, "all") || pattern_set(&a->children, text);
}

static bool take_metric(const option_row *o, arguments *a, const char *text) {
    (void)o;
    return memprof_take_metric(a, text);
}

static bool take_prune(const option_row *o, arguments *a, const char *text) {
    (void)o;
    return prune_parse(a, text);
}

static bool take_binary(const option_row *o, arguments *a, const char *text) {
    (void)o;
    a->binaries = needed(realloc(a->binaries, ((size_t)a->binary_count + 1) * sizeof *a->binaries));
    a->binaries[a->binary_count++] = text;
    return true;
}

/* NAME=VALUE; a value may have a '=' itself. */
static bool take_label(const option_row *o, arguments *a, const char *text) {
    const char *value = strchr(text, '=');
    hd_label *l;
    (void)o;
    if (!value || value == text) return false;
    a->labels = needed(realloc(a->labels, ((size_t)a->label_count + 1) * sizeof *a->labels));
    l = &a->labels[a->label_count];
    *l = (hd_label){ needed(strndup(text, (size_t)(value - text))), value + 1 };
    for (int i = 0; i < a->label_count; i++)
        if (!strcmp(a->labels[i].name, l->name)) return false;
    a->label_count++;
    return true;
}

static bool take_format(const option_row *o, arguments *a, const char *text) {
    (void)o;
    a->format_help = !strcmp(text, "help");
    a->format = text;
    return a->format_help || format_is_read(text);
}

static bool take_record_format(const option_row *o, arguments *a, const char *text) {
    (void)o;
    a->record_format = memprof_is_raw(text) || !strcmp(text, "memprof-rfc") ? text : NULL;
    return a->record_format || !strcmp(text, "chrome");
}

/* The table. ----------------------------------------------------------------------------------- */

#define AT(member) offsetof(arguments, member)

/* Rows of one name stand together: forms of the option, or the words that commands have for it. Values are taken as
   the first of them says that is of the command. */
static const option_row rows[] = {
    { "", "output", "FILE", take_text, AT(output),
      "write here instead of standard output; packed, where the name ends in .gz,\n"
      ".zst or .xz" }, /* -o, too */
    { "record", "output", "FILE", take_text, AT(output),
      "the file, packed at its end where the name ends in .gz, .zst or .xz\n[heapdump.PROGRAM.PID.json]" },
    { "capture", "output", "FILE", take_text, AT(output),
      "the file, packed where the name ends in .gz, .zst or .xz\n[heapdump.PORT.heapsnapshot, of Dart .dartheap]" },
    { "snapshot", "output", "FILE", take_text, AT(output),
      "write a file of its own instead; packed, where the name ends in .gz, .zst or .xz" },
    { "watch", "output", "FILE", take_text, AT(output),
      "what the key w writes [heapdump.PROGRAM.PID.N.json, another N each time]" },
    { "recover", "output", "FILE", take_text, AT(output),
      "packed, where the name ends in .gz, .zst or .xz [FILE.json]" },
    { "", "json", NULL, take_flag, AT(json), "one JSON value" },
    { "watch", "json", NULL, take_flag, AT(json),
      "no screen: a line of JSON each time, until nobody lives; needs no terminal" },
    { "info", "json", NULL, take_flag, AT(json), "one JSON value, with everything" },
    { "object", "json", NULL, take_flag, AT(json),
      "one JSON value; lists cut as above, beside how long they would be" },
    { "memprof", "json", NULL, take_flag, AT(json),
      "one JSON value, with files, lines and discriminators as well" },
    { "", "csv", NULL, take_csv, AT(csv),
      "a table for spreadsheets (RFC 4180) of what --json lists; a name that begins\n"
      "like a formula, with = + - or @, stands behind a '" },
    { "", "bytes", NULL, take_flag, AT(exact), "bytes in full instead of KiB and MiB" },
    { "info", "bytes", NULL, take_flag, AT(exact), "of objects: bytes in full instead of KiB and MiB" },
    { "", "strict", NULL, take_flag, AT(strict), "stop at the first malformed piece instead of leaving it out" },
    { "", "decimal", NULL, take_flag, AT(decimal), "sizes of a .NET dump are decimal numbers [hexadecimal]" },

    { "", "format", "NAME", take_format, AT(format),
      "read it as this format, whatever it begins like; help lists the names" },

    /* What is listed. */
    { "", "min-bytes", "N", take_bytes, AT(cutoff.min_bytes),
      "list what holds at least N bytes (k, M, G: times 1024)" },
    { "", "min-share", "F", take_share, AT(cutoff.min_share),
      "list what holds at least this share of the total, 0 to 1" },
    { "", "min-parent-share", "F", take_share, AT(cutoff.min_parent_share),
      "list what holds at least this share of its parent" },
    { "", "top", "K", take_count, AT(cutoff.top), "list the K largest of each breakdown" },
    { "top", "top", "K", take_count, AT(cutoff.top), "so many names [20; on a terminal, what fits it]" },
    { "classes", "top", "K", take_count, AT(cutoff.top), "so many classes [all; on a terminal, what fits it]" },
    { "retained", "top", "K", take_count, AT(cutoff.top), "so many objects [20; on a terminal, what fits it]" },
    { "object", "top", "K", take_count, AT(cutoff.top), "so many of each [10]" },
    { "suspects", "top", "K", take_count, AT(cutoff.top), "so many [10]" },
    { "watch", "top", "K", take_count, AT(cutoff.top), "with --json: so many sites [20]" },
    { "objects", "top", "K", take_count, AT(cutoff.top),
      "so many [20; on a terminal, what fits it; all in --json and --csv]" },
    { "strings", "top", "K", take_count, AT(cutoff.top), "so many [20; on a terminal, what fits it]" },
    { "", "entries", "N", take_count, AT(cutoff.max_entries), "list the N that explain most" },
    { "report", "pages", "RECORDING", take_text, AT(pages),
      "with a map of how full the pages are that hold live blocks, as heapdump pages\n"
      "tells it: of the recording that writes this file, or has this PID, or what\n"
      "record --keep left" },
    { "report", "entries", "N", take_count, AT(cutoff.max_entries),
      "so many entries of all heaps together, or objects: those that hold most [100000]" },
    { "", "output-bytes", "N", take_some_bytes, AT(cutoff.max_output_bytes),
      "list what explains most in so many bytes of a trace" },
    { "pages", "top", "K", take_count, AT(cutoff.top),
      "so many sites [20; on a terminal, what fits it; all in --json and --csv]" },
    { "pages", "all", NULL, take_flag, AT(all), "all of them" },
    { "tree", "all", NULL, take_flag, AT(all),
      "every dump [the last of each process, and of more than ten heaps the largest]; and however little\n"
      "it holds" },
    { "top", "all", NULL, take_flag, AT(all),
      "every dump [the last of each process, and of more than ten heaps the largest], and\n"
      "every name" },
    { "merge", "all", NULL, take_flag, AT(all), "every dump counts" },
    { "info", "all", NULL, take_flag, AT(all), "every attribute of every allocator; every library and length" },
    { "diff", "all", NULL, take_flag, AT(all),
      "every object that is new, gone, or changed [10 of each], and every heap [of more than\n"
      "ten those that changed most]" },
    { "object", "all", NULL, take_flag, AT(all), "all of them, and strings as far as the file has them" },
    { "classes", "all", NULL, take_flag, AT(all), "all of them, on a terminal too" },
    { "retained", "all", NULL, take_flag, AT(all), "all of them" },
    { "objects", "all", NULL, take_flag, AT(all), "all of them" },
    { "path", "all", NULL, take_flag, AT(all),
      "of --class also ways that few objects are held by; of --id every step, on a\n"
      "terminal too" },
    { "strings", "all", NULL, take_flag, AT(all), "all of them" },
    { "suspects", "all", NULL, take_flag, AT(all),
      "of objects, on a terminal too: every suspect, and paths and names whole" },
    { "validate", "all", NULL, take_flag, AT(all), "all findings [100 of a file]" },
    { "memprof", "all", NULL, take_flag, AT(all), "with --hints: call stacks as a whole" },

    /* Which heaps, and how they are looked at. */
    { "", "pid", "N", take_pid, AT(pid), "only heaps of this process" },
    { "", "dump", "ID", take_text, AT(dump), "only heaps of this dump" },
    { "", "allocator", "NAME", take_text, AT(allocator), "only heaps of this allocator" },
    { "", "by", "backtrace|type|...", take_text, AT(by),
      "what to break down by first [backtrace]; of MemProf profiles also\n"
      "size, lifetime, heat, binary; of pprof's a label, by its key; of recordings\n"
      "what --ages and --threads kept: age, thread" },
    { "pages", "by", "WHAT", take_text, AT(by),
      "whose blocks are told apart: those of each function, each call stack (stack), or\n"
      "each executable, library or type that asked for them (type) [function]" },
    { "pages", "pid", "N", take_pid, AT(pid), "only this process [all of a file; of PID that one]" },
    { "pages", "page-size", "BYTES", take_some_bytes, AT(page_size),
      "of pages, a power of two: 2M as huge pages [this machine's]" },
    { "top", "by", "backtrace|type|...", take_text, AT(by),
      "functions or types [backtrace]; of MemProf profiles also size, lifetime,\n"
      "heat, binary; of pprof's a label, by its key; of recordings age, thread" },
    { "", "frames", "all|hidden", take_frames, AT(frames_all),
      "all: with those of allocators and of what starts a program, and each on a line\n"
      "of its own [left out, and chains of one callee on a line]; hidden: list the\n"
      "hidden frames instead, with their object files and the bytes of their stacks" },
    { "", "wide", NULL, take_flag, AT(wide), "names whole [shortened to the width of the terminal]" },
    { "", "every-route", NULL, take_flag, AT(every_route), "break every entry down both ways" },
    { "", "self", NULL, take_flag, AT(by_self), "by what they hold themselves" },
    { "", "metric", "FIELD", take_metric, AT(field),
      "of MemProf profiles, instead of bytes (TotalSize): AllocCount,\n"
      "TotalAccessCount, MaxLifetime ...; average, or average:FIELD, by allocation" },
    { "", "kind", "KIND", take_kind, AT(kind),
      "only heaps of this kind: live, peak, total or temporary [live, of files that\n"
      "have it, where tree, top, diff and check look at them]" },
    { "", "keep", "REGEX", take_pattern, AT(keep), "only what has a frame (type=REGEX: a type) that matches" },
    { "record", "keep", "FILE", take_text, AT(region),
      "record into this new file instead of memory: heapdump recover reads it when\n"
      "heapdump was killed too. It stays, and is sparse: ls says up to 1 TiB" },
    { "", "drop", "REGEX", take_pattern, AT(drop), "without that" },
    { "", "root", "REGEX", take_pattern, AT(root), "start backtraces at the outermost frame that matches" },
    { "", "invert", NULL, take_flag, AT(invert), "innermost frames first: who is called, and by whom" },
    { "", "before", "ID", take_text, AT(before),
      "the dump to compare with [the last of BEFORE; of one file alone the first]" },
    { "", "after", "ID", take_text, AT(after), "the dump to compare [the last]" },
    { "", "match", "process", take_match, AT(match_process),
      "compare heaps only if the names of their processes are equal [also two heaps of\n"
      "other names, if each file has no other heap of this allocator and kind]" },
    { "", "max-growth", "PERCENT", take_percent, AT(max_growth),
      "each heap may grow by so much [5%, when no limit is given]" },
    { "", "max-total", "BYTES", take_some_bytes, AT(max_total), "each heap may hold so much (k, M, G: times 1024)" },
    { "", "site", "REGEX=BYTES", take_site, AT(sites),
      "what has a frame (type=REGEX: a type) that matches may hold so much; may be\n"
      "given again" },
    { "", "live", NULL, take_flag, AT(live), "of objects only those that a root holds: no garbage" },

    /* Which objects. */
    { "path", "id", "ID", take_text, AT(id), "the object, as retained lists it" },
    { "object", "id", "ID", take_text, AT(id), "the object, where ID does not stand behind FILE" },
    { "retained", "class", "NAME", take_text, AT(class_name),
      "instead, what all objects of a class retain together" },
    { "path", "class", "NAME", take_text, AT(class_name),
      "all objects of that class, their shortest ways as one tree" },
    { "objects", "class", "NAME", take_text, AT(class_name), "those of this class" },
    { "", "subclasses", NULL, take_flag, AT(subclasses),
      "and of classes that extend it, which snapshots of Dart tell" },
    { "", "where", "CONDITION", take_where, AT(where),
      "only those for which it holds: length, size or retained, then <, <=, =, >=\n"
      "or > and a number (k, M, G: times 1024); detached: objects that V8 marks as\n"
      "detached, such as DOM nodes that a page removed from its document or closed\n"
      "handles of Node; or FIELD=REGEX, which matches the class or the value of the\n"
      "object that the field refers to; may be given again" },
    { "", "paths", "N", take_count, AT(paths),
      "more ways, each without what those before went through, of at most 64\n"
      "different lengths [1]" },
    { "objects", "garbage", NULL, take_flag, AT(garbage), "those that no root holds, too" },
    { "", "garbage", NULL, take_flag, AT(garbage), "count what no root holds too, instead of live strings alone" },

    /* What is written. */
    { "", "json-lines", NULL, take_flag, AT(json_lines),
      "JSON lines instead of CSV [where the name of -o ends in .jsonl, .ndjson or\n.json]" },
    { "", "label", "NAME=VALUE", take_label, AT(labels),
      "give all rows this label, in a column of its own; may be given again. One\n"
      "called profile is told instead of the file" },
    { "merge", "to", "FORMAT", take_text, AT(to),
      "chrome, heaps_v2 with all of it, another format of heaps, memprof-raw, or\n"
      "memprof-index [what the name of -o ends in: .pb, .folded, .csv, .jsonl, .json,\n"
      ".speedscope.json, .memprofraw or .profdata; else the format of all FILEs, if\n"
      "it can hold the sum; else chrome. Of MemProf profiles raw, or indexed when\n"
      "one is]" },
    { "convert", "to", "FORMAT", take_text, AT(to), NULL },
    { "merge", "add-to", "TRACE", take_text, AT(add_to), "write TRACE with the result added" },
    { "convert", "add-to", "TRACE", take_text, AT(add_to),
      "write TRACE with the heaps added; all else in it stays as it is" },
    { "merge", "memprof-version", "N", take_text, AT(memprof_version),
      "of memprof-raw: write version 1 to 5 [the first that has the fields of all];\n"
      "of memprof-index see heapdump index, as for the five that follow" },
    { "convert", "memprof-version", "N", take_text, AT(memprof_version),
      "of memprof-raw: write version 1 to 5 [as it is]; of memprof-index see\n"
      "heapdump index, as for the five that follow" },
    { "index", "memprof-version", "N", take_text, AT(memprof_version),
      "0 to 4, LLVM's; or rfc, with names, files and lines, which compilers do not\n"
      "read [3, or that of the indexed profile]" },
    { "", "like", "RELEASE", take_text, AT(like),
      "write what llvm-profdata of this release writes of one raw file: 19,\n"
      "versions 0 to 3 [0], or 22, versions 2 to 4 [3]; 19 reads nothing of 22, 22\n"
      "no version before 2 [22, where it has the version]" },
    { "", "full-schema", NULL, take_flag, AT(full_schema),
      "all fields [versions 0, 1 and rfc; of an indexed profile what it has]" },
    { "", "hot-cold-schema", NULL, take_flag, AT(hot_cold_schema),
      "those that tell hot from cold: AllocCount, TotalSize, TotalLifetime,\n"
      "TotalLifetimeAccessDensity [versions 2 to 4 of raw profiles]" },
    { "", "prune", "WHAT", take_prune, AT(prune),
      "leave contexts out, and tell how much that is: min-bytes=N, those that\n"
      "allocated less, cold=P%, the smallest cold ones that together have at most P%\n"
      "of all cold bytes, or both with a comma between. What is not cold stays at\n"
      "places where something cold does, so that nothing becomes cold by it" },
    { "", "base", "FILE", take_base, AT(base),
      "put it into this indexed profile, beside its counters of functions, instead\n"
      "of the MemProf profile that may be there; beside counters of LLVM 22, in\n"
      "versions 2 to 4 or rfc" },

    /* MemProf. */
    { "", "binary", "FILE", take_binary, AT(binaries),
      "of MemProf profiles: the program, or a library of it, to name functions with\n"
      "(matched by build id; may be given again) [frames are BUILDID+0xOFFSET]; of\n"
      "heap profiles as text: where a mapped file is now (matched by its name).\n"
      "Debug information may be in it, in FILE.debug or what .gnu_debuglink names\n"
      "beside it, under /usr/lib/debug/.build-id, at the servers of DEBUGINFOD_URLS\n"
      "(none are asked without), in .dwo files, or in FILE.dwp" },
    { "index", "binary", "FILE", take_binary, AT(binaries),
      "the program, and each library of it that was profiled (by build id)" },
    { "", "keep-unresolved", NULL, take_flag, AT(keep_unresolved),
      "with --binary: keep frames that no binary names" },
    { "", "keep-runtime", NULL, take_flag, AT(keep_runtime),
      "keep frames of what recorded: with --binary, of MemProf's runtime; of heap\n"
      "profiles as text, those of the allocator" },
    { "", "names-memory", "BYTES", take_some_bytes, AT(names_memory),
      "memory that reading the debug information of a program may take (k, M, G: times\n"
      "1024); mapped files do not count. Frames in files that need more are\n"
      "FILE+0xOFFSET [2G]" },
    { "", "names-time", "SECONDS", take_seconds, AT(names_seconds),
      "processor time that finding names in one file may take, and the time that all\n"
      "answers of debuginfod servers may take [60]" },
    { "", "hints", NULL, take_flag, AT(hints),
      "instead of the records, what the compiler makes of them" },
    { "", "diff", NULL, take_flag, AT(hints_diff),
      "of --hints, and two files: what changes for the compiler from OLD to NEW" },
    { "", "effect", "HINTS", take_text, AT(effect),
      "instead, judge the hints that the compiler took of this profile by the later\n"
      "run that FILE is of" },
    { "", "clang", "RELEASE", take_text, AT(clang), "the compiler's: 19 or 22 [22]" },
    { "", "yaml", NULL, take_flag, AT(yaml),
      "the records as YAML, what llvm-profdata show --memory prints of an indexed\n"
      "profile, and llvm-profdata merge and this tool read" },
    { "", "cold-density", "D", take_limit, AT(limit[0]), "cold: less than D accesses a byte and second [0.05], and" },
    { "", "cold-lifetime", "S", take_limit, AT(limit[1]), "living for S seconds or longer [200]" },
    { "", "hot-density", "D", take_limit, AT(limit[2]),
      "hot: more than D accesses a byte and second [of clang 19 1000, of 22 nothing\n"
      "is hot without -mllvm -memprof-use-hot-hints]; of clang, these are\n"
      "-mllvm -memprof-lifetime-access-density-cold-threshold,\n"
      "-memprof-ave-lifetime-cold-threshold and\n"
      "-memprof-min-ave-lifetime-access-density-hot-threshold" },

    /* Recording. */
    { "", "at", "exit", take_text, AT(at),
      "the kinds live, total and temporary, of when a process ends, however it does\n"
      "[peak,exit: what is taken is what the list has]" },
    { "", "at", "peak", take_text, AT(at),
      "the kind peak: what was live when that was the most; with several threads,\n"
      "within 64 KiB for each" },
    { "", "at", "every=SECONDS", take_text, AT(at),
      "what is live again and again: each time in 12 KiB a process, unless an option\n"
      "below says what to list. When these take 32 MiB, every 2nd of the older ones\n"
      "goes; of the oldest so every 4th stays in time, every 8th, ..." },
    { "", "at", "signal[=NAME]", take_text, AT(at),
      "what is live whenever heapdump itself gets this signal: USR2, or as NAME says\n"
      "USR1, INT, TERM or HUP" },
    { "", "children", "WHICH", take_children, AT(children),
      "of the processes that the program starts record no, all, or those of programs\n"
      "whose name matches a REGEX [all]" },
    { "", "same-user", NULL, take_flag, AT(same_user),
      "do not record processes that change their user: these can read the call stacks\n"
      "and addresses of what their parents recorded" },
    { "record", "format", "memprof-raw", take_record_format, AT(record_format),
      "instead of a trace all that was allocated, freed or not, by call\n"
      "stack, with sizes and lifetimes, as llvm-profdata takes it; a profile\n"
      "for each process. Accesses and processors are not known, and zero [chrome]" },
    { "record", "format", "memprof-rfc", take_record_format, AT(record_format),
      "the same, of all processes together, with names, files and lines, as\n"
      "heapdump index --memprof-version rfc writes it" },
    { "", "ages", NULL, take_flag, AT(ages),
      "keep when each live block was allocated, for tree --by age: under 10 ms, 10 ms\n"
      "to 100 ms, 100 ms to 1 s, 1 s to 10 s, 10 s to 1 min, 1 min to 10 min, 10 min\n"
      "to 1 h, 1 h to 10 h, 10 h to 1 day, 1 day to 10 days, 10 days or more. Takes 24\n"
      "bytes a live block; heaps of kind live alone have it. The file is written at\n"
      "the end, as rows: JSON lines where its name ends in .json, .jsonl or .ndjson,\n"
      "else CSV [heapdump.PROGRAM.PID.csv]" },
    { "", "threads", NULL, take_flag, AT(threads),
      "keep which thread allocated, by the name that it had then, for tree --by thread;\n"
      "of up to 256 names, then <other threads>. The file is as with --ages" },
    { "", "depth", "N", take_depth, AT(depth), "frames kept per stack, up to 128 [48]" },
    { "", "blocks", NULL, take_flag, AT(blocks),
      "show each live block with its address, for heapdump pages: takes 24 bytes a block" },
    { "", "sample", "BYTES", take_some_bytes, AT(sample_bytes),
      "record one block per BYTES allocated, on average, and estimate from\n"
      "these: costs next to nothing (512k is usual) [every block, exactly]" },
    { "", "target", "WORD", take_text, AT(target),
      "of several: the one with this number, or with this word in its line" },
    { "", "gc", NULL, take_flag, AT(gc), "collect garbage first; V8 always does" },
    { "", "every", "SECONDS", take_seconds, AT(every),
      "take several snapshots in one connection, SECONDS apart, so that diff and\n"
      "suspects can follow single objects: FILE.1.heapsnapshot, FILE.2.heapsnapshot\n"
      "[1 with --count]" },
    { "watch", "every", "SECONDS", take_seconds, AT(every),
      "look so often; less often where a look takes more than a fifth of that [1]" },
    { "", "count", "N", take_count, AT(count), "number of snapshots to take [2 with --every, else 1]" },
    { "", "wait", "SECONDS", take_seconds, AT(wait),
      "wait so long for a sign of life of the recording, which gives one each 0.5 s [2]" },
    { "watch", "count", "N", take_count, AT(count), "end after so many looks [none]" },
    { "", "sort", "KEY", take_order, AT(order),
      "order of the lines: bytes, blocks, self or name [bytes]; self: in a tree, bytes\n"
      "beyond the listed callees" },
    { "watch", "sort", "WHAT", take_text, AT(sort),
      "at first by live, blocks, growth, rate, temporary or name [live]" },
    { "", "filter", "REGEX", take_text, AT(filter), "at first only sites whose name matches [all]" },
    { "", "stats", NULL, take_flag, AT(stats), "tell what the recording itself cost: time, memory, stacks" }
};
enum { ROWS = sizeof rows / sizeof *rows, OUTPUT = 0 };

/* Lists of names. ------------------------------------------------------------------------------ */

/* The next name of a list, or what is in brackets; of length 0 at the end. */
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

/* The fewest letters put in, left out and changed that make one word the other. */
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
    if (m > 1 && m < name.len && !memcmp(g->word, name.data, m)) distance = 1; /* its beginning */
    else distance = edit_distance(g->word, m, name.data, name.len);
    if (g->word[0] == *name.data) most++; /* first letters are seldom mistyped */
    if (distance > most || distance >= m || distance >= name.len) return;
    if (g->best.len && distance >= g->distance) return;
    g->best = name;
    g->distance = distance;
}

/* Reading them. -------------------------------------------------------------------------------- */

/* The table as getopt_long wants it: option 256 + N is row N, the first of its name. */
static void long_options(struct option options[ROWS + 2]) {
    size_t n = 0;
    for (int i = 0; i < ROWS; i++)
        if (!i || strcmp(rows[i - 1].name, rows[i].name))
            options[n++] = (struct option){ rows[i].name, rows[i].value ? required_argument : no_argument, NULL,
                                            256 + i };
    options[n++] = (struct option){ "help", no_argument, NULL, 'h' };
    options[n] = (struct option){ NULL, 0, NULL, 0 };
}

/* Of the rows of its name, the command's. */
static const option_row *row_of(const command *c, const option_row *o) {
    for (const option_row *own = o; own < rows + ROWS; own++)
        if (!strcmp(own->name, o->name) && has_name(own->of, hd_cstr(c->name))) return own;
    return o;
}

static bool is_cutoff(const option_row *o) { return o->at - AT(cutoff) < sizeof(hd_cutoff); }

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

int options_read(const command *c, int argc, char **argv, arguments *a) {
    struct option options[ROWS + 2];
    int option;
    long_options(options);
    opterr = 0;
    while ((option = getopt_long(argc, argv, c->runs_program ? "+:ho:" : ":ho:", options, NULL)) != -1) {
        const option_row *o = &rows[option < 256 ? OUTPUT : option - 256];
        if (option == 'h') return a->help = true, DONE;
        if (option == ':') return usage("%s needs a value", argv[optind - 1]);
        if (option == '?' && optopt == 'h') return usage("--help takes no value");
        if (option == '?' && optopt >= 256) return usage("--%s takes no value", rows[optopt - 256].name);
        if (option == '?' && optopt) return usage("%s does not know the option '-%c'", c->name, optopt);
        if (option == '?') return unknown_option(c, argv[optind - 1]);
        if (!has_name(c->options, hd_cstr(o->name))) return usage("%s does not take --%s", c->name, o->name);
        o = row_of(c, o);
        if (!o->take(o, a, optarg))
            return usage("--%s does not take '%s'%s%s", o->name, optarg,
                         o->take == take_format  ? " (--format help lists what it takes)"
                         : o->take == take_prune ? " (cold=P% with P from 0 to 100, min-bytes=N, or both with a comma "
                                                     "between)"
                         : o->take == take_base  ? " (counters of one file)"
                         : *pattern_error        ? ": "
                                                 : "",
                         pattern_error);
        if (is_cutoff(o)) a->has_cutoff = true;
    }
    a->files = argv + optind;
    a->file_count = argc - optind;
    return DONE;
}

/* Help. ---------------------------------------------------------------------------------------- */

enum { HELP_COLUMN = 25 };

static void option_help(void *user, hd_str name, const char *value, const char *help) {
    FILE *out = user;
    char text[64];
    if (!help) {
        display(out, "%*s%.*s\n", HELP_COLUMN, "", (int)name.len, name.data);
        return;
    }
    snprintf(text, sizeof text, "  %s--%.*s%s%s", hd_str_equal(name, hd_cstr(rows[OUTPUT].name)) ? "-o, " : "",
             (int)name.len, name.data, value ? " " : "", value ? value : "");
    if (strlen(text) + 1 > HELP_COLUMN) display(out, "%s\n", text), *text = 0;
    put_beside(out, text, HELP_COLUMN, help);
}

void options_each(const command *c, option_seen *seen, void *user) {
    const char *list = c->options;
    for (hd_str name; (name = next_name(&list)).len;) {
        bool own = false;
        if (*name.data == '[') seen(user, name, NULL, NULL);
        for (int i = 0; i < ROWS; i++)
            own |= hd_str_equal(hd_cstr(rows[i].name), name) && has_name(rows[i].of, hd_cstr(c->name));
        for (int i = 0; i < ROWS; i++)
            if (hd_str_equal(hd_cstr(rows[i].name), name) &&
                (own ? has_name(rows[i].of, hd_cstr(c->name)) : !*rows[i].of))
                seen(user, name, rows[i].value, rows[i].help ? rows[i].help : formats_written());
    }
}

void options_help(const command *c, FILE *out) { options_each(c, option_help, out); }
