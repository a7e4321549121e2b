/* heapdump: looks into heap dumps, and records programs to have one. See `heapdump --help`. */

#include "commands.h"

#include <getopt.h>

#include "memprof.h"

static const char help[] =
    "heapdump - looks into heap dumps, and records programs to have one\n"
    "\n"
    "usage: heapdump COMMAND [OPTIONS] FILE...       (- is standard input)\n"
    "\n"
    "  record    run a program and write its heap: what is live, and who allocated it\n"
    "  tree      where the memory is: a breakdown by frame and type\n"
    "  top       the functions, or types, that hold the most\n"
    "  diff      what grew between two dumps\n"
    "  merge     add dumps up, of many processes say\n"
    "  info      list what a file holds: processes, dumps, allocators\n"
    "  convert   write another format, condensed, or add to a trace\n"
    "\n"
    "of files that say what is alive and who holds it, instead of who allocated it:\n"
    "\n"
    "  classes   objects, bytes and what they hold, class by class\n"
    "  retained  the objects that hold the most\n"
    "  path      why an object is alive: who holds it, from a root\n"
    "  object    all about one: values, sizes, what it refers to, who refers to it\n"
    "  strings   strings that are there more than once, and what that wastes (Dart)\n"
    "\n"
    "of LLVM MemProf profiles, beside all of the first list:\n"
    "\n"
    "  memprof   the records: allocation and call sites, and every field, as llvm-profdata lists them;\n"
    "            with --hints, which allocations the compiler takes for cold or hot, and why\n"
    "  index     make the file that clang's -fmemory-profile-use reads\n"
    "\n"
    "`heapdump COMMAND --help` lists the options of a command.\n"
    "\n"
    "examples:\n"
    "  heapdump record -- sqlite3 app.db '.schema'    # writes heapdump.sqlite3.PID.json\n"
    "  heapdump tree --min-share 0.01 heapdump.sqlite3.1234.json\n"
    "  heapdump tree --by type --json trace.json | jq .\n"
    "  heapdump tree --invert --root 'malloc|realloc' --entries 40 trace.json.gz\n"
    "  heapdump record --at every=10 --sample 512k -o server.json -- ./server\n"
    "  heapdump record --format memprof-raw -o app.memprofraw -- ./app\n"
    "  heapdump diff server.json                      # its last dump against its first\n"
    "  heapdump convert --to chrome --top 20 -o small.json big.json\n"
    "  heapdump merge -o fleet.json host*.json\n"
    "  heapdump retained --top 10 game.log            # then: heapdump path --id ID game.log\n"
    "  heapdump object app.dartheap 1                 # then one of the ids that it lists\n"
    "  heapdump strings --top 50 app.dartheap\n"
    "  heapdump diff before.dartheap after.dartheap   # classes, and objects new and gone\n"
    "  heapdump tree --binary app --by lifetime app.memprofraw\n"
    "  heapdump merge -o all.memprofraw run*.memprofraw\n"
    "  heapdump index --binary app --binary libapp.so -o app.memprof run*.memprofraw\n"
    "  heapdump memprof --hints --binary app app.memprof\n"
    "\n"
    "exit status: 0 done, 1 the input is bad, 2 wrong usage; `record` ends as the program ended\n";

static const char cutoff_help[] =
    "  --min-bytes N          list what holds at least N bytes (k, M, G: times 1024)\n"
    "  --min-share F          list what holds at least this share of the total, 0 to 1\n"
    "  --min-parent-share F   list what holds at least this share of its parent\n"
    "  --top K                list the K largest of each breakdown\n"
    "  --entries N            list the N that explain most\n"
    "  --output-bytes N       list what explains most in so many bytes of a trace\n";

static const char select_help[] =
    "  --pid N, --dump ID, --allocator NAME   only these heaps\n"
    "  --decimal              sizes of a .NET dump are decimal numbers [hexadecimal]\n"
    "  --strict               stop at the first malformed piece instead of leaving it out\n"
    "  -o, --output FILE      write here instead of standard output\n";

static const char names_help[] =
    "  --binary FILE          of MemProf profiles: the program, or a library of it, to name functions with\n"
    "                         (matched by build id; may be given again) [frames are BUILDID+0xOFFSET]\n"
    "  --keep-unresolved      with --binary: keep frames that no binary names\n"
    "  --keep-runtime         with --binary: keep frames of the runtime that recorded\n";

static const char work_help[] =
    "  --keep REGEX           only what has a frame (type=REGEX: a type) that matches\n"
    "  --drop REGEX           without that\n"
    "  --root REGEX           start backtraces at the outermost frame that matches\n"
    "  --invert               innermost frames first: who is called, and by whom\n";

/* The command line. ---------------------------------------------------------------------------- */

static bool parse_bytes(const char *s, uint64_t *n) {
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

static bool parse_share(const char *s, double *share) {
    char *end;
    *share = strtod(s, &end);
    if (end != s && *end == '%') {
        *share /= 100;
        end++;
    }
    return end != s && !*end && *share >= 0 && *share <= 1;
}

static bool parse_limit(const char *s, double *limit) {
    char *end;
    *limit = strtod(s, &end);
    return end != s && !*end && *limit >= 0 && *limit < 1e30;
}

enum {
    OPT_MIN_BYTES = 256,
    OPT_MIN_SHARE,
    OPT_MIN_PARENT_SHARE,
    OPT_TOP,
    OPT_ENTRIES,
    OPT_OUTPUT_BYTES,
    OPT_JSON,
    OPT_STRICT,
    OPT_TO,
    OPT_BY,
    OPT_AT,
    OPT_PID,
    OPT_DUMP,
    OPT_ALLOCATOR,
    OPT_DEPTH,
    OPT_SAMPLE,
    OPT_STATS,
    OPT_ALL,
    OPT_EXACT,
    OPT_KEEP,
    OPT_DROP,
    OPT_ROOT,
    OPT_INVERT,
    OPT_SELF,
    OPT_EVERY_ROUTE,
    OPT_ADD_TO,
    OPT_BEFORE,
    OPT_AFTER,
    OPT_DECIMAL,
    OPT_ID,
    OPT_CLASS,
    OPT_PATHS,
    OPT_GARBAGE,
    OPT_LIVE,
    OPT_METRIC,
    OPT_BINARY,
    OPT_KEEP_UNRESOLVED,
    OPT_KEEP_RUNTIME,
    OPT_MEMPROF_VERSION,
    OPT_FORMAT,
    OPT_FULL_SCHEMA,
    OPT_HOT_COLD_SCHEMA,
    OPT_BASE,
    OPT_HINTS,
    OPT_COLD_DENSITY,            /* in the order of arguments.limit */
    OPT_COLD_LIFETIME,
    OPT_HOT_DENSITY
};

static const struct option long_options[] = { { "min-bytes", required_argument, NULL, OPT_MIN_BYTES },
                                              { "min-share", required_argument, NULL, OPT_MIN_SHARE },
                                              { "min-parent-share", required_argument, NULL,
                                                OPT_MIN_PARENT_SHARE },
                                              { "top", required_argument, NULL, OPT_TOP },
                                              { "entries", required_argument, NULL, OPT_ENTRIES },
                                              { "output-bytes", required_argument, NULL, OPT_OUTPUT_BYTES },
                                              { "json", no_argument, NULL, OPT_JSON },
                                              { "strict", no_argument, NULL, OPT_STRICT },
                                              { "to", required_argument, NULL, OPT_TO },
                                              { "by", required_argument, NULL, OPT_BY },
                                              { "at", required_argument, NULL, OPT_AT },
                                              { "pid", required_argument, NULL, OPT_PID },
                                              { "dump", required_argument, NULL, OPT_DUMP },
                                              { "allocator", required_argument, NULL, OPT_ALLOCATOR },
                                              { "depth", required_argument, NULL, OPT_DEPTH },
                                              { "sample", required_argument, NULL, OPT_SAMPLE },
                                              { "stats", no_argument, NULL, OPT_STATS },
                                              { "keep", required_argument, NULL, OPT_KEEP },
                                              { "drop", required_argument, NULL, OPT_DROP },
                                              { "root", required_argument, NULL, OPT_ROOT },
                                              { "invert", no_argument, NULL, OPT_INVERT },
                                              { "self", no_argument, NULL, OPT_SELF },
                                              { "all", no_argument, NULL, OPT_ALL },
                                              { "add-to", required_argument, NULL, OPT_ADD_TO },
                                              { "before", required_argument, NULL, OPT_BEFORE },
                                              { "after", required_argument, NULL, OPT_AFTER },
                                              { "decimal", no_argument, NULL, OPT_DECIMAL },
                                              { "id", required_argument, NULL, OPT_ID },
                                              { "class", required_argument, NULL, OPT_CLASS },
                                              { "paths", required_argument, NULL, OPT_PATHS },
                                              { "garbage", no_argument, NULL, OPT_GARBAGE },
                                              { "live", no_argument, NULL, OPT_LIVE },
                                              { "every-route", no_argument, NULL, OPT_EVERY_ROUTE },
                                              { "metric", required_argument, NULL, OPT_METRIC },
                                              { "binary", required_argument, NULL, OPT_BINARY },
                                              { "keep-unresolved", no_argument, NULL, OPT_KEEP_UNRESOLVED },
                                              { "keep-runtime", no_argument, NULL, OPT_KEEP_RUNTIME },
                                              { "memprof-version", required_argument, NULL,
                                                OPT_MEMPROF_VERSION },
                                              { "format", required_argument, NULL, OPT_FORMAT },
                                              { "full-schema", no_argument, NULL, OPT_FULL_SCHEMA },
                                              { "hot-cold-schema", no_argument, NULL,
                                                OPT_HOT_COLD_SCHEMA },
                                              { "base", required_argument, NULL, OPT_BASE },
                                              { "hints", no_argument, NULL, OPT_HINTS },
                                              { "cold-density", required_argument, NULL, OPT_COLD_DENSITY },
                                              { "cold-lifetime", required_argument, NULL,
                                                OPT_COLD_LIFETIME },
                                              { "hot-density", required_argument, NULL, OPT_HOT_DENSITY },
                                              { "exact", no_argument, NULL, OPT_EXACT },
                                              { "output", required_argument, NULL, 'o' },
                                              { "help", no_argument, NULL, 'h' },
                                              { NULL, 0, NULL, 0 } };

typedef struct command {
    const char *name;
    int (*run)(const arguments *a);
    const char *options;         /* the letters and numbers it takes, by name */
    const char *usage, *help;
    const char *cutoff;          /* takes cut-offs; what holds when none is given */
    bool select, work;           /* takes --pid and the like; --keep and the like */
    bool names;                  /* takes --binary and the like */
} command;

#define GRAPH_HELP \
    "  --decimal              sizes of a .NET dump are decimal numbers [hexadecimal]\n" \
    "  --strict               stop at the first malformed piece instead of leaving it out\n" \
    "  -o, --output FILE      write here instead of standard output\n"

static const command commands[] = {
    { "record", record, "o at depth sample stats format", "record [OPTIONS] -- PROGRAM ARGS...",
      "Runs the program and writes what is live on its heap, by call stack and by object that asked,\n"
      "as a trace for the trace viewer. Its children are recorded too, each into its own file.\n\n"
      "  -o, --output FILE      [heapdump.PROGRAM.PID.json]\n"
      "  --at exit              when the program ends, on its own accord [default]\n"
      "  --at peak              when the most bytes were live, to within 2 percent and 4 KiB\n"
      "  --at every=SECONDS     again and again, and at exit\n"
      "  --at signal[=NAME]     when it gets USR2, or USR1, INT, TERM, HUP\n"
      "  --format memprof-raw   instead of what is live, all that was allocated, freed or not, by call\n"
      "                         stack, with sizes and lifetimes, as llvm-profdata takes it; of several\n"
      "                         dumps the last. Accesses and processors are not known, and zero [chrome]\n"
      "  --format memprof-rfc   the same with names, files and lines, as heapdump index\n"
      "                         --memprof-version rfc writes it\n"
      "  --depth N              frames kept per stack, up to 128 [48]\n"
      "  --sample BYTES         record one block per BYTES allocated, on average, and estimate from\n"
      "                         these: costs next to nothing (512k is usual) [every block, exactly]\n"
      "  --stats                tell what the recording itself cost\n",
      "--min-share 0.0001", false, false, false },
    { "tree", tree, "o json by every-route exact metric", "tree [OPTIONS] FILE...",
      "Prints each heap as a tree: bytes, share of the total, blocks, what holds them. <other> is what\n"
      "is not listed, <self> what a frame holds beside its callees, ': name' a type. Of objects: what\n"
      "retains what, class by class, and how many objects that is.\n\n"
      "  --by backtrace|type    what to break down by first [backtrace]; of MemProf profiles also\n"
      "                         size, lifetime, heat, binary\n"
      "  --every-route          break every entry down both ways\n"
      "  --metric FIELD         of MemProf profiles, instead of bytes (TotalSize): AllocCount,\n"
      "                         TotalAccessCount, MaxLifetime ...; average, or average:FIELD, by allocation\n"
      "  --exact                bytes in full instead of KiB and MiB\n"
      "  --json                 one JSON value\n", "--min-share 0.01", true, true, true },
    { "top", top, "o json by self exact top metric", "top [OPTIONS] FILE...",
      "Lists the names that hold the most: in all, with what they called, and themselves. A name that is\n"
      "on a stack twice counts once. Of condensed heaps 'unlisted' tells what a name holds beyond what is\n"
      "listed below it, its own or not; 'self?' that of some of its own it is not known whether they are.\n\n"
      "  --top K                so many names [20]\n"
      "  --by backtrace|type    functions or types [backtrace]; of MemProf profiles also size, lifetime,\n"
      "                         heat, binary\n"
      "  --self                 by what they hold themselves\n"
      "  --metric FIELD         of MemProf profiles, instead of bytes (TotalSize): AllocCount,\n"
      "                         TotalAccessCount, MaxLifetime ...; average, or average:FIELD, by allocation\n"
      "  --exact                bytes in full instead of KiB and MiB\n"
      "  --json                 one JSON value\n", NULL, true, true, true },
    { "diff", diff, "o json by every-route exact before after all live metric", "diff [OPTIONS] BEFORE [AFTER]",
      "Prints what changed as a tree, the most changed first. Of several dumps in a file the last is taken;\n"
      "of one file alone the first and the last are compared. Heaps belong together that have process and\n"
      "allocator in common; 'none in FILE' stands for the other one where there is none such. '?' marks sizes\n"
      "that are bounds, since a dump does not list the entry, '~' a change that sampling may have made up.\n"
      "Objects are compared class by class, since their ids mean nothing from one dump to the next; --top\n"
      "alone leaves some out. Snapshots of one Dart process are compared object by object too, where both\n"
      "have identity hash codes: what is new, gone, or of another size. Objects without a code are in the\n"
      "classes alone. When next to no code is in both, the snapshots are of different processes, and classes\n"
      "alone are compared.\n\n"
      "  --before ID, --after ID   dumps to compare\n"
      "  --all                  every object that is new, gone, or changed [10 of each]\n"
      "  --live                 of objects only those that a root holds: no garbage\n"
      "  --by backtrace|type    what to break down by first [backtrace]; of MemProf profiles also\n"
      "                         size, lifetime, heat, binary\n"
      "  --every-route          break every entry down both ways\n"
      "  --metric FIELD         of MemProf profiles, instead of bytes (TotalSize): AllocCount,\n"
      "                         TotalAccessCount, MaxLifetime ...; average, or average:FIELD, by allocation\n"
      "  --exact                bytes in full instead of KiB and MiB\n"
      "  --json                 one JSON value\n", "--min-share 0.01 of all change", true, true, true },
    { "merge", merge, "o to all add-to memprof-version", "merge [OPTIONS] FILE...",
      "Adds heaps of the same allocator up, over files and processes, and writes a trace. Of a process that\n"
      "dumped several times its last dump counts. When the first FILE is a raw MemProf profile, or with\n"
      "--to memprof-raw, all profiles of all files are added up call stack by call stack, held one at a\n"
      "time, and written as one raw profile.\n\n"
      "  --all                  every dump counts\n"
      "  --to FORMAT            chrome, heaps_v2 with all of it, or memprof-raw [chrome]\n"
      "  --memprof-version N    of memprof-raw: write version 1 to 5 [the first that has the fields of all]\n"
      "  --add-to TRACE         write TRACE with the result added\n", "all is listed", true, true, true },
    { "info", info, "o json all", "info [OPTIONS] FILE...",
      "Lists processes, dumps and allocators, and what the dumps say of them; or objects, references,\n"
      "roots, and what of these no record describes. Of a Dart snapshot also what the VM says of the\n"
      "isolate, objects by kind of data, libraries, and lists, maps and sets by length; of MemProf profiles\n"
      "their versions, totals of their fields, and segments with build ids, or schema and counts.\n\n"
      "  --all                  every attribute of every allocator; every library and length\n"
      "  --json                 one JSON value, with everything\n", NULL, true, false, false },
    { "classes", classes, "o json exact top strict decimal", "classes [OPTIONS] FILE...",
      "Lists classes: what would go if all objects of a class did (retained), what is live, and all. Of more\n"
      "than 1008 classes that are alive, those whose objects dominate least are told by what these dominate,\n"
      "marked >: it may be more. Finding out costs up to 16 walks through the objects.\n\n"
      "  --top K                so many classes [all]\n"
      "  --exact                bytes in full instead of KiB and MiB\n"
      "  --json                 one JSON value\n" GRAPH_HELP, NULL, false, false, false },
    { "retained", retained, "o json exact top class strict decimal", "retained [OPTIONS] FILE...",
      "Lists the objects that retain the most: that would take the most memory with them if they went.\n\n"
      "  --top K                so many objects [20]\n"
      "  --class NAME           instead, what all objects of a class retain together\n"
      "  --exact                bytes in full instead of KiB and MiB\n"
      "  --json                 one JSON value\n" GRAPH_HELP, NULL, false, false, false },
    { "path", path, "o json exact id class paths strict decimal",
      "path (--id ID | --class NAME) [OPTIONS] FILE",
      "Tells why an object is alive: a shortest way to it from a root that is not weak.\n\n"
      "  --id ID                the object, as retained lists it\n"
      "  --class NAME           the object of that class that retains the most\n"
      "  --paths N              more ways, each without what those before went through, of at most 64\n"
      "                         different lengths [1]\n"
      "  --exact                bytes in full instead of KiB and MiB\n"
      "  --json                 one JSON value\n" GRAPH_HELP, NULL, false, false, false },
    { "object", object, "o json exact id top all strict decimal", "object [OPTIONS] FILE ID",
      "Tells all about one object: class, value, sizes, what it refers to by which field, who refers to it,\n"
      "what dominates it, that is without which it would go, and what it dominates. Each of these has its\n"
      "id, to go on from.\n\n"
      "  --top K                so many of each [10]\n"
      "  --all                  all of them, and strings as far as the file has them\n"
      "  --exact                bytes in full instead of KiB and MiB\n"
      "  --json                 one JSON value; lists cut as above, beside how long they would be\n"
      GRAPH_HELP
      "\nexamples:\n"
      "  heapdump object app.dartheap 1          # the root of a Dart snapshot\n"
      "  heapdump object --all --json app.dartheap 60384 | jq '.files[0].referrers[].id'\n"
      "  heapdump object game.log 7cb42          # ids as retained and path list them\n",
      NULL, false, false, false },
    { "strings", strings, "o json exact top all garbage strict", "strings [OPTIONS] FILE...",
      "Lists strings that a Dart snapshot has more than once, those that waste most first: of equal ones\n"
      "all but the largest are waste. '?' marks strings of which the snapshot has only the beginning; these\n"
      "may differ further on, and do not count into the total.\n\n"
      "  --top K                so many [20]\n"
      "  --all                  all of them\n"
      "  --garbage              count what no root holds too, instead of live strings alone\n"
      "  --exact                bytes in full instead of KiB and MiB\n"
      "  --json                 one JSON value\n"
      "  --strict               stop at the first malformed piece instead of leaving it out\n"
      "  -o, --output FILE      write here instead of standard output\n"
      "\nexamples:\n"
      "  heapdump strings app.dartheap\n"
      "  heapdump strings --all --json app.dartheap | jq '.files[0].strings[] | [.wasted, .text]'\n",
      NULL, false, false, false },
    { "memprof", memprof, "o json strict all hints cold-density cold-lifetime hot-density",
      "memprof --binary PROGRAM [OPTIONS] FILE...",
      "Prints the records of MemProf profiles as `llvm-profdata show --memory` does: by function, its\n"
      "allocation sites with call stacks and all fields of their blocks, and its call sites. Lines count\n"
      "from that where the function begins. All raw profiles of all files are added up; an indexed one\n"
      "stands alone. Without --binary, frames are BUILDID+0xOFFSET, or GUIDs when indexed; with it, frames\n"
      "of raw profiles that it does not name are left out, and stacks of no others.\n"
      "With --hints, what clang 19 makes of each allocation, which it reads of calls of operator new: cold,\n"
      "not cold or hot, or ambiguous, when that depends on the callers; then it makes copies of functions,\n"
      "and the callers that tell contexts apart are shown. Densities and lifetimes are averages of the\n"
      "allocations. clang 22 has the same thresholds, but calls nothing hot without\n"
      "-mllvm -memprof-use-hot-hints.\n\n"
      "  --hints                instead of the records, what the compiler makes of them (clang 19)\n"
      "  --cold-density D       cold: less than D accesses a byte and second [0.05], and\n"
      "  --cold-lifetime S      living for S seconds or longer [200]\n"
      "  --hot-density D        hot: more than D accesses a byte and second [1000]; of clang, these are\n"
      "                         -mllvm -memprof-lifetime-access-density-cold-threshold,\n"
      "                         -memprof-ave-lifetime-cold-threshold and\n"
      "                         -memprof-min-ave-lifetime-access-density-hot-threshold\n"
      "  --all                  with --hints: call stacks as a whole\n"
      "  --json                 one JSON value, with files, lines and discriminators as well\n"
      "  --strict               stop at the first malformed piece instead of leaving it out\n"
      "  -o, --output FILE      write here instead of standard output\n"
      "\nexamples:\n"
      "  heapdump memprof --binary app app.memprofraw\n"
      "  heapdump memprof --binary app --json app.memprofraw | jq '.Records[] | [.Function, .AllocSites]'\n"
      "  heapdump memprof --hints --cold-lifetime 20 --binary app app.memprofraw\n",
      NULL, false, false, true },
    { "index", memprof_index, "o strict binary memprof-version full-schema hot-cold-schema base",
      "index --binary FILE [--binary FILE...] -o OUT [OPTIONS] RAW...",
      "Makes an indexed profile of raw MemProf profiles, as `llvm-profdata merge` does, for clang's\n"
      "-fmemory-profile-use: all of them are added up, call stack by call stack, and named after the\n"
      "binaries, which may be several, position-independent or not. Or writes an indexed profile again, in\n"
      "another version.\n\n"
      "  --binary FILE          the program, and each library of it that was profiled (by build id)\n"
      "  --memprof-version N    0 to 3, LLVM's; or rfc, with names, files and lines, which compilers do not\n"
      "                         read [3, or that of the indexed profile]\n"
      "  --full-schema          all fields [versions 0, 1 and rfc; of an indexed profile what it has]\n"
      "  --hot-cold-schema      those that tell hot from cold: AllocCount, TotalSize, TotalLifetime,\n"
      "                         TotalLifetimeAccessDensity [versions 2 and 3 of raw profiles]\n"
      "  --base FILE            put it into this indexed profile, beside its counters of functions; beside\n"
      "                         those of LLVM 22, in version 2 or 3\n"
      "  --strict               stop at the first malformed piece instead of leaving it out\n"
      "  -o, --output FILE      write here instead of standard output\n"
      "\nexamples:\n"
      "  heapdump index --binary app --binary libapp.so -o app.memprof run*.memprofraw\n"
      "  heapdump index --base app.profdata --binary app -o both.profdata app.memprofraw\n"
      "  heapdump index --memprof-version 0 -o old.memprof app.memprof\n",
      NULL, false, false, false },
    { "convert", convert, "o to add-to memprof-version full-schema hot-cold-schema base",
      "convert --to FORMAT [OPTIONS] FILE",
      "Writes another format: chrome, cumulative sizes for the trace viewer, or heaps_v2, self sizes.\n"
      "Frames given as OBJECT+0xOFFSET are resolved to functions where the object is at hand.\n"
      "Of objects: netcf or dart, as they are, or chrome, what retains what. A file of the format that it\n"
      "has is written as it was, without what was left out when it was read; so is a raw MemProf profile as\n"
      "memprof-raw.\n\n"
      "  --to FORMAT            chrome, heaps_v2, netcf, dart, memprof-raw, memprof-index\n"
      "  --memprof-version N    of memprof-raw: write version 1 to 5 [as it is]; of memprof-index see\n"
      "                         heapdump index, whose other options are taken as well\n"
      "  --add-to TRACE         write TRACE with the heaps added; all else in it stays as it is\n",
      "all is listed", true, true, true },
};

static int command_help(const command *c) {
    display(stdout, "usage: heapdump %s\n\n", c->usage);
    put_lines(stdout, hd_cstr(c->help));
    if (c->cutoff) put_lines(stdout, hd_cstr(cutoff_help));
    if (c->cutoff) display(stdout, "                         [%s]\n", c->cutoff);
    if (c->work) put_lines(stdout, hd_cstr(work_help));
    if (c->names) put_lines(stdout, hd_cstr(names_help));
    if (c->select) put_lines(stdout, hd_cstr(select_help));
    return fflush(stdout) ? BAD_INPUT : DONE;
}

static bool takes(const command *c, const char *option) {
    static const char *const cutoffs = " min-bytes min-share min-parent-share top entries output-bytes ";
    static const char *const works = " keep drop root invert ";
    static const char *const selects = " pid dump allocator strict decimal ";
    static const char *const names = " binary keep-unresolved keep-runtime ";
    char spaced[64], listed[128];
    snprintf(spaced, sizeof spaced, " %s ", option);
    snprintf(listed, sizeof listed, " %s ", c->options);
    if (!strcmp(option, "output")) return strstr(listed, " o ") != NULL;
    return strstr(listed, spaced) || (c->cutoff && strstr(cutoffs, spaced)) ||
           (c->select && strstr(selects, spaced)) || (c->work && strstr(works, spaced)) ||
           (c->names && strstr(names, spaced));
}

static const char *option_name(int option) {
    for (const struct option *o = long_options; o->name; o++)
        if (o->val == option) return o->name;
    return "";
}

/* Takes one option; false when its value will not do. */
static bool take_option(arguments *a, int option) {
    uint64_t n;
    if (option >= OPT_MIN_BYTES && option <= OPT_OUTPUT_BYTES) a->has_cutoff = true;
    switch (option) {
    case OPT_MIN_BYTES: return parse_bytes(optarg, &a->cutoff.min_bytes);
    case OPT_MIN_SHARE: return parse_share(optarg, &a->cutoff.min_share);
    case OPT_MIN_PARENT_SHARE: return parse_share(optarg, &a->cutoff.min_parent_share);
    case OPT_TOP:
        if (!parse_bytes(optarg, &n) || !n || n > UINT32_MAX) return false;
        a->cutoff.top = (uint32_t)n;
        return true;
    case OPT_ENTRIES:
        if (!parse_bytes(optarg, &n) || !n || n > UINT32_MAX) return false;
        a->cutoff.max_entries = (uint32_t)n;
        return true;
    case OPT_OUTPUT_BYTES:
        return parse_bytes(optarg, &a->cutoff.max_output_bytes) && a->cutoff.max_output_bytes;
    case OPT_KEEP: return pattern_set(&a->keep, optarg);
    case OPT_DROP: return pattern_set(&a->drop, optarg);
    case OPT_ROOT: return pattern_set(&a->root, optarg);
    case OPT_INVERT: a->invert = true; return true;
    case OPT_SELF: a->by_self = true; return true;
    case OPT_ALL: a->all = true; return true;
    case OPT_GARBAGE: a->garbage = true; return true;
    case OPT_LIVE: a->live = true; return true;
    case OPT_ADD_TO: a->add_to = optarg; return true;
    case OPT_BEFORE: a->before = optarg; return true;
    case OPT_AFTER: a->after = optarg; return true;
    case OPT_DECIMAL: a->decimal = true; return true;
    case OPT_ID: a->id = optarg; return true;
    case OPT_CLASS: a->class_name = optarg; return true;
    case OPT_PATHS:
        if (!parse_bytes(optarg, &n) || !n || n > UINT32_MAX) return false;
        a->paths = (uint32_t)n;
        return true;
    case OPT_PID: return a->has_pid = parse_bytes(optarg, &a->pid);
    case OPT_DEPTH:
        if (!parse_bytes(optarg, &n) || !n || n > HD_MAX_FRAMES) return false;
        a->depth = (uint32_t)n;
        return true;
    case OPT_SAMPLE: return parse_bytes(optarg, &a->sample_bytes) && a->sample_bytes;
    case OPT_STATS: a->stats = true; return true;
    case OPT_JSON: a->json = true; return true;
    case OPT_STRICT: a->strict = true; return true;
    case OPT_EVERY_ROUTE: a->every_route = true; return true;
    case OPT_EXACT: a->exact = true; return true;
    case OPT_TO: a->to = optarg; return true;
    case OPT_BY:
        a->by = optarg;
        return !strcmp(optarg, "backtrace") || !strcmp(optarg, "type") || memprof_split(a);
    case OPT_METRIC: return memprof_take_metric(a, optarg);
    case OPT_BINARY:
        a->binaries = needed(realloc(a->binaries, ((size_t)a->binary_count + 1) * sizeof *a->binaries));
        a->binaries[a->binary_count++] = optarg;
        return true;
    case OPT_KEEP_UNRESOLVED: a->keep_unresolved = true; return true;
    case OPT_KEEP_RUNTIME: a->keep_runtime = true; return true;
    case OPT_MEMPROF_VERSION: a->memprof_version = optarg; return true;
    case OPT_FULL_SCHEMA: a->full_schema = true; return true;
    case OPT_HOT_COLD_SCHEMA: a->hot_cold_schema = true; return true;
    case OPT_BASE: a->base = optarg; return true;
    case OPT_HINTS: a->hints = true; return true;
    case OPT_COLD_DENSITY: case OPT_COLD_LIFETIME: case OPT_HOT_DENSITY:
        return parse_limit(optarg, &a->limit[option - OPT_COLD_DENSITY]);
    case OPT_AT: a->at = optarg; return true;
    case OPT_FORMAT:
        a->format = memprof_is_raw(optarg) || !strcmp(optarg, "memprof-rfc") ? optarg : NULL;
        return a->format || !strcmp(optarg, "chrome");
    case OPT_DUMP: a->dump = optarg; return true;
    case OPT_ALLOCATOR: a->allocator = optarg; return true;
    case 'o': a->output = optarg; return true;
    }
    return false;
}

int main(int argc, char **argv) {
    const command *c = NULL;
    arguments a;
    int option, status;
    memset(&a, 0, sizeof a);
    a.depth = 48;
    for (int i = 0; i < 3; i++) a.limit[i] = -1;
    setvbuf(stderr, NULL, _IOLBF, BUFSIZ); /* a line at a time, though it is made of pieces */
    if (argc < 2) {
        put_lines(stderr, hd_cstr(help));
        return WRONG_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        put_lines(stdout, hd_cstr(help));
        return fflush(stdout) ? BAD_INPUT : DONE;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(argv[1], commands[i].name)) c = &commands[i];
    if (!c) return usage("no command '%s'", argv[1]);
    opterr = 0;
    while ((option = getopt_long(argc - 1, argv + 1, c->run == record ? "+:ho:" : ":ho:", long_options,
                                 NULL)) != -1) {
        if (option == 'h') return command_help(c);
        if (option == ':') return usage("%s needs a value", argv[optind]);
        if (option == '?' && optopt >= OPT_MIN_BYTES)
            return usage("--%s takes no value", option_name(optopt));
        if (option == '?' && optopt) return usage("%s does not know the option '-%c'", c->name, optopt);
        if (option == '?') return usage("%s does not know the option '%s'", c->name, argv[optind]);
        if (!takes(c, option_name(option)))
            return usage("%s does not take --%s", c->name, option_name(option));
        if (!take_option(&a, option)) return usage("--%s does not take '%s'", option_name(option), optarg);
    }
    if (c->run == tree) a.default_share = 0.01;
    a.files = argv + 1 + optind;
    a.file_count = argc - 1 - optind;
    if (c->run != record && !a.file_count) return usage("%s needs a file (- is standard input)", c->name);
    status = memprof_open_binaries(&a);
    if (!status) status = c->run(&a);
    memprof_close_binaries(&a, !status);
    return status;
}
