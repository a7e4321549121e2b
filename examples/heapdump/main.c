/* heapdump: looks into heap dumps, and records programs to have one. See `heapdump --help`. */

#include "heaps/heaps.h"
#include "memprof/memprof.h"
#include "models.h"
#include "objects/objects.h"
#include "record/record.h"
#include "report/report.h"
#include "watch/watch.h"

#include <malloc.h>

/* Options that several commands take. */
#define CUTOFFS(otherwise) " min-bytes min-share min-parent-share top entries output-bytes [" otherwise "]"
#define WORK " keep drop root invert"
#define LIMITS " names-memory names-time"
#define NAMES " binary keep-unresolved keep-runtime" LIMITS
#define FILES " format decimal strict output"
#define HEAPS " pid dump allocator kind" FILES

static const command rows[] = {
    { .name = "record", .run = run_record, .defaults = record_defaults, .runs_program = true,
      .summary = "run a program and write its heap: what is live, and who allocated it",
      .usage = "[OPTIONS] -- PROGRAM ARGS...",
      .help =
      "Runs the program, and writes one trace of its heap and those of all processes that it starts, by call\n"
      "stack and by the executable or library that asked. Each process has four heaps, of which tree, top, diff\n"
      "and merge take one kind (--kind): live, what it had at its end, however that came; peak, what it had when\n"
      "that was the most; total, all that it ever allocated; temporary, what was freed before its thread\n"
      "allocated again.\n\n"
      "heapdump looks on from outside: the program writes nothing, and may crash or be killed. The file can be\n"
      "read while it grows. Processes that go on after the program has ended are recorded until they end, or\n"
      "until `heapdump stop` or Ctrl-C. While the program runs Ctrl-C is for the program; what was recorded is\n"
      "written then, and one more Ctrl-C while that goes on discards it.",
      .options = "output at children same-user keep blocks format ages threads depth sample stats bytes" LIMITS
                 CUTOFFS("--min-share 0.0001"),
      .examples = "heapdump record -o app.json -- ./app; heapdump tree app.json        # what leaked\n"
                  "heapdump record -- ./app; heapdump tree --kind peak heapdump.app.*.json\n"
                  "heapdump record --at every=1 -o server.json -- ./server &\n"
                  "heapdump record --children 'worker' --sample 512k -- ./server\n"
                  "heapdump record --ages --threads -o app.csv.zst -- ./app; heapdump tree --by age app.csv.zst" },
    { .name = "watch", .run = run_watch,
      .summary = "of a recording that runs: a table that renews itself, of what holds and what grows",
      .usage = "[OPTIONS] FILE|PID",
      .help =
      "Shows, of a process of a recording, which sites hold most, by how much each grows in a minute, how much it\n"
      "allocates in a second, and how much of that is temporary, freed before its thread allocated again. A site\n"
      "is the innermost function on a call stack that does not allocate for others. The recording is that which\n"
      "writes FILE, or that of the process PID, or the region that record --keep made. heapdump reads what the\n"
      "program records anyway: the program does nothing for it, and does not wait. Of samples ± is the standard\n"
      "error, at most. Above the table stands where resident bytes go: live blocks, the allocator's own, stacks,\n"
      "mapped files, other maps and the recorder; of smaps, which is read in a hundredth of the time at most.\n\n"
      "Keys: s and S sort by another column; / filters by a regular expression; space freezes what is shown, d\n"
      "shows what changed since then; w writes a snapshot; Tab goes to the next process; arrows, PgUp and PgDn\n"
      "scroll; ? helps; q quits, and the recording goes on: watch can come back at any time.",
      .options = "every count sort filter top wait json output" LIMITS,
      .examples = "heapdump watch server.json\n"
                  "heapdump watch --sort growth --filter cache 1234\n"
                  "heapdump watch --json --every 10 server.json | jq '.sites[0]'" },
    { .name = "snapshot", .run = run_snapshot,
      .summary = "of a recording that runs: add what is live now to its file",
      .usage = "[OPTIONS] FILE|PID",
      .help =
      "Adds what is live now, of all processes of a recording, to its file, or with -o writes another file. The\n"
      "recording is that which writes FILE, or that of the process PID; its user and root may ask. The program\n"
      "does not wait meanwhile: each call stack is exact, but was looked at one after the other.",
      .options = "output wait",
      .examples = "heapdump snapshot app.json; heapdump tree app.json     # what is live now" },
    { .name = "stop", .run = run_stop,
      .summary = "end a recording; the program goes on",
      .usage = "[OPTIONS] FILE|PID",
      .help =
      "Ends the recording that writes FILE, or that of the process PID, and returns when its file is whole. The\n"
      "program goes on, and what it allocates from then on is seen by nobody.",
      .options = "wait",
      .examples = "heapdump stop server.json; heapdump suspects server.json" },
    { .name = "recover", .run = run_recover,
      .summary = "what `record --keep` left, where heapdump was killed",
      .usage = "[OPTIONS] FILE",
      .help =
      "Writes the trace that record --keep FILE would have written, had it not been killed: of each process the\n"
      "four kinds, as they were last. Dumps of --at every and of snapshots are not in it. FILE stays as it is.",
      .options = "output" LIMITS CUTOFFS("--min-share 0.0001"),
      .examples = "heapdump record --keep app.region -o app.json -- ./app\n"
                  "heapdump recover app.region -o app.json; heapdump tree app.json" },
    { .name = "capture", .run = run_capture, .defaults = capture_defaults,
      .summary = "a heap snapshot of a Dart VM, a Node or a Chrome that runs",
      .usage = "[OPTIONS] PORT|HOST:PORT|URL",
      .help =
      "Takes a heap snapshot over the inspector of Node (node --inspect), Chrome (--remote-debugging-port) and\n"
      "what else speaks as they do, or over the service of a Dart VM (--enable-vm-service): PORT of this machine,\n"
      "or the URL that the VM prints, http:// or ws://. It is written as it comes. The VM stands still while it\n"
      "looks through its heap. Of several pages, workers or isolates they are listed, and --target names one.\n"
      "Snapshots of one --every or --count are compared object by object by diff and suspects. Two captures of V8\n"
      "are two inspector sessions: V8 gives new ids to all objects, so only classes can be compared.",
      .options = "target gc every count output",
      .examples = "heapdump capture 9229 -o app.heapsnapshot; heapdump suspects app.heapsnapshot\n"
                  "heapdump capture --target worker.js --every 60 --count 3 9222 -o tab.heapsnapshot\n"
                  "heapdump capture --gc ws://127.0.0.1:8181/TOKEN=/ws -o app.dartheap" },
    { .name = "tree", .run = run_tree, .defaults = tree_defaults,
      .summary = "where the memory is: a breakdown by frame and type",
      .usage = "[OPTIONS] FILE...",
      .help =
      "Prints each heap as a tree: bytes, share of the total, blocks, function. <other> is the rest of its\n"
      "parent, <self> the frame's own allocations, 'type: T' a value of another axis. 'a > b' is one line\n"
      "if b is the only callee and has the same bytes and blocks. 'f x50': f, or the\n"
      "calls from f to f again, up to 50 times on end, told once with all that they hold; 'lib.so\n"
      "(stripped) x3': that many frames without names. Of objects: what retains what, class by class,\n"
      "and how many objects that is.",
      .options = "by all sort frames wide every-route metric bytes json csv"
                 CUTOFFS("--min-share 0.01; on a terminal, what fits it") WORK NAMES HEAPS },
    { .name = "top", .run = run_top, .defaults = top_defaults,
      .summary = "the functions, or types, that hold the most",
      .usage = "[OPTIONS] FILE...",
      .help =
      "Lists the names that hold the most: in all, with what they called, and themselves. A name that is\n"
      "on a stack twice counts once. Of condensed heaps 'unlisted' tells what a name holds beyond what is\n"
      "listed below it, its own or not; ≤ marks what is at most its own.",
      .options = "top all by sort self frames wide metric bytes json csv" WORK NAMES HEAPS },
    { .name = "diff", .run = run_diff, .defaults = diff_defaults,
      .summary = "what grew between two dumps",
      .usage = "[OPTIONS] BEFORE [AFTER]",
      .help =
      "Prints what changed as a tree, the most changed first. Of several dumps in a file the last is taken;\n"
      "of one file alone the first and the last are compared. Heaps belong together that have process and\n"
      "allocator in common, and of labels those of which both files have values, but for profile; 'none in\n"
      "FILE' stands for the other one where there is none such. Functions of two files are compared whatever\n"
      "the program is called, and wherever its sources were. '?' marks sizes that are bounds, since a dump\n"
      "does not list the entry, of merged ones by how much, '~' a change that sampling may have made up.\n"
      "Objects are compared class by class: those that grew come first, and only --top leaves some out.\n"
      "Snapshots of one inspector session of V8 are also compared object by object: new, gone, or of another\n"
      "size. V8 gives new ids when a session ends. If more than 1% of the ids in both files name another\n"
      "class or name, only classes are compared, and one line says so. Dart's objects are compared if both\n"
      "snapshots are of one process and have identity hash codes.",
      .options = "before after match all live by sort frames wide every-route metric bytes json csv"
                 CUTOFFS("--min-share 0.01 of all change") WORK NAMES HEAPS },
    { .name = "suspects", .run = run_suspects, .defaults = suspects_defaults,
      .summary = "what to look at first: a leak, or what holds the memory, on one screen",
      .usage = "[OPTIONS] FILE...",
      .help =
      "Of several dumps of a process, in one file or several, what grew in every step, the likeliest leak first:\n"
      "what levels off or goes back counts less, what outlives the program's own clearing up more. Of one dump\n"
      "the sites that hold most. A site is the innermost function on a call stack that does not allocate for\n"
      "others, be it malloc, a container or strdup; below it are its callers. Of sampled dumps only what is\n"
      "beyond two standard errors counts. Where record --ages kept ages, also what is older than a minute.\n"
      "The last line states the bytes that are not listed. If a program freed everything, the heap at its peak\n"
      "is shown.\n"
      "In a snapshot of objects: the largest holders (retained size), down to where each fans out, with a path\n"
      "from a GC root; then large classes, with the path that most of their objects share. In several\n"
      "snapshots of a process: the objects that hold more each time, and by how much.\n"
      "Detached DOM nodes (removed from a page's document, still held) have a section of their own.",
      .options = "top all sort frames wide bytes json csv keep drop root" NAMES HEAPS,
      .examples = "heapdump record --at exit,every=10 -o server.json -- ./server; heapdump suspects server.json\n"
                  "heapdump suspects before.heapsnapshot between.heapsnapshot after.heapsnapshot\n"
                  "heapdump suspects --json server.json | jq '.series[0].suspects[0].site'" },
    { .name = "pages", .run = run_pages,
      .summary = "whose blocks keep how many pages: fragmentation",
      .usage = "[OPTIONS] FILE|PID",
      .help =
      "Tells how full the pages are that hold live blocks, and which sites keep them: 'keeps', the pages that a "
      "site's\n"
      "blocks are on; 'alone', those of them that no other site is on, and that could go with its blocks; 'share',\n"
      "its part of all pages, each divided among those who are on it by their bytes; 'live', its blocks' own bytes;\n"
      "'full', of the pages it keeps the part that is in use by anybody's blocks. A site is the innermost function\n"
      "that does not allocate for others, as of suspects.\n\n"
      "It takes a recording that runs, by the FILE that it writes or the PID of a process, or what record --keep "
      "FILE\n"
      "left, also of processes that are dead; recorded with --blocks, or as a MemProf profile. Other formats do not\n"
      "say where blocks are. Sizes are those asked for: what the allocator puts beside them is not known.",
      .options = "top all by page-size pid wait wide bytes json csv output" LIMITS,
      .examples = "heapdump record --blocks --keep app.region -- ./app; heapdump pages app.region\n"
                  "heapdump record --blocks -o server.json -- ./server & # then heapdump pages server.json" },
    { .name = "check", .run = run_check, .defaults = check_defaults,
      .summary = "whether a program holds more than it may, or than it did: for CI",
      .usage = "[OPTIONS] BASELINE FILE",
      .help =
      "Compares the heaps of FILE with limits, and with those of BASELINE, which are found as diff finds\n"
      "them: the last dump of each. The exit status is 0 when all is within the limits, and 1 when\n"
      "something is not, or cannot be read; a heap that BASELINE does not have grew. What was sampled has "
      "to be beyond a limit by so many standard\n"
      "errors that a check whose truth is at the limit fails less than once in 100 times, with all that is\n"
      "compared taken together; 'noise' is beyond a limit, but not by so much. Of a dump that does not list\n"
      "everything a site holds at least what is counted.",
      .options = "max-growth max-total site match bytes json csv" WORK NAMES HEAPS,
      .examples = "heapdump check base.json new.json\n"
                  "heapdump check --max-growth 3% --max-total 200M --site 'Cache::=20M' base.json new.json" },
    { .name = "report", .run = run_report,
      .summary = "a page to open in a browser: flame view, tables, time line; of objects a map of what holds what",
      .usage = "[OPTIONS] FILE [FILE2] -o report.html",
      .help =
      "Writes one page that needs no network. Of heaps: call stacks, or what else they are told by, as an icicle or\n"
      "flame view, with search, zoom and bottom-up; a table of all names; a time line of the dumps, any two of\n"
      "which can be compared. Of objects: what holds what as a map, classes, the way from a root to an object,\n"
      "what it refers to. With two files what grew from FILE to FILE2, of objects class by class.",
      .options = "by metric pages entries keep drop root" NAMES HEAPS,
      .examples = "heapdump report -o server.html server.json\n"
                  "heapdump report -o grown.html base.json new.json\n"
                  "heapdump record --blocks --keep app.region -o app.json -- ./app;"
                  " heapdump report --pages app.region -o app.html app.json" },
    { .name = "merge", .run = run_merge, .defaults = merge_defaults,
      .summary = "add dumps up, of many processes say",
      .usage = "[OPTIONS] FILE...",
      .help =
      "Adds heaps of the same allocator up, over files and processes. The format is --to; else that of the name of\n"
      "-o; else that of all files, if it can hold the sum; else a Chromium trace. Of a process that dumped several\n"
      "times its last dump counts. If some files have no total, what is live in them counts to it. Functions of\n"
      "main programs with two names are added up only if their sources are the same. When the first FILE is a\n"
      "raw MemProf profile, or with --to memprof-raw, all profiles of all files are added up call stack by\n"
      "call stack, held one at a time, and written as one raw profile. When one of the files is an indexed\n"
      "MemProf profile, or with --to memprof-index, raw and indexed ones of any version are added up into an\n"
      "indexed one: a block for each call stack of a function, with callees and accesses to data; raw ones\n"
      "need --binary.\n"
      "--to memprof-yaml writes the same as YAML.\n"
      "Of pipes the first alone is looked at for that: where another decides, --to has to say it.\n"
      "With --to rows, the sum is written so that it can be merged on, exactly. A file that cannot be read is\n"
      "told and left out, and so is a heap that makes the sum pass 2^64 bytes or 8 axes; the exit status is 1\n"
      "then; with --strict nothing is written. Of several processors, others read the next small files\n"
      "meanwhile.",
      .options = "all to memprof-version like full-schema hot-cold-schema prune base add-to" CUTOFFS("all is listed")
                 WORK NAMES HEAPS },
    { .name = "info", .run = run_info,
      .summary = "list what a file holds: processes, dumps, allocators",
      .usage = "[OPTIONS] FILE...",
      .help =
      "Lists processes, dumps and allocators, and what the dumps say of them; or objects, references,\n"
      "roots, and what of these no record describes. Of a Dart snapshot also what the VM says of the\n"
      "isolate, objects by kind of data, libraries, and lists, maps and sets by length; of MemProf profiles\n"
      "their versions, totals of their fields, and segments with build ids, or schema and counts.\n"
      "Of a recording it tells where the resident bytes of each process go, as `record` read it last before\n"
      "the dump: live blocks, what the allocator keeps beside them, stacks, mapped files, other anonymous\n"
      "maps, the recorder. With --all or --dump of each dump.",
      .options = "all bytes json csv" HEAPS },
    { .name = "validate", .run = run_validate,
      .summary = "what is wrong with a file, and where: for who writes such files",
      .usage = "[OPTIONS] FILE...",
      .help =
      "Lists what is wrong with each file: what breaks the rules of its format, with the offset; frames, types\n"
      "and allocators that hold less than what is below them; objects that no record describes. The exit\n"
      "status is 0 when nothing was found, and 1 when something was.",
      .options = "all json csv format decimal output",
      .examples = "heapdump validate trace.json\n"
                  "heapdump validate --json *.heapsnapshot | jq '.files[] | select(.findings > 0) | .list[0]'" },
    { .name = "convert", .run = run_convert,
      .summary = "write another format, condensed, or add to a trace",
      .usage = "--to FORMAT [OPTIONS] FILE",
      .help =
      "Writes another format: chrome, cumulative sizes for the trace viewer; heaps_v2, self sizes; folded, bytes\n"
      "of call stacks, a line each, as flame graphs are drawn from; pprof, for go tool pprof and others, of one\n"
      "dump of a process; rows, for SQL engines; or another format that --to lists. A format of one dump gets the\n"
      "last dump, a format of one kind the live heap; --dump and --kind choose others. One line names everything\n"
      "that the format has no place for.\n"
      "Frames given as OBJECT+0xOFFSET are resolved to functions where the object is at hand.\n"
      "Objects become netcf, dart or heapsnapshot; in other formats, what retains what. heapsnapshot has no\n"
      "garbage: one line reports the objects that no root holds. dart keeps strings, numbers, lengths and\n"
      "names of objects. A file of the format that it has is written as it was, without what was left out\n"
      "when it was read; so is a raw MemProf profile as memprof-raw.",
      .options = "to memprof-version like full-schema hot-cold-schema prune base add-to"
                 CUTOFFS("all is listed") WORK NAMES HEAPS },
    { .name = "rows", .run = run_rows,
      .summary = "a table of all heaps for SQL engines, a row per call stack and type",
      .usage = "[OPTIONS] FILE...",
      .help =
      "Writes rows of all heaps of all files: of a profile one per call stack and type, with its own bytes, of a\n"
      "condensed heap one per entry, with cumulative ones. CSV, or JSON lines; the columns are in the manual.\n"
      "DuckDB, ClickHouse and others read them as they are. heapdump reads them again, exactly: they are heaps\n"
      "as those of any file, and those of `merge --to rows` partial results, to be merged on. A file that cannot\n"
      "be read is told and left out, and the exit status is 1; with --strict nothing is written then. Files are\n"
      "read twice, for the columns first, but for pipes.",
      .options = "label json-lines" WORK NAMES HEAPS,
      .examples = "heapdump rows --label host=a1 --label day=2026-11-22 -o a1.csv.zst *.pb.gz\n"
                  "heapdump rows -o fleet.jsonl host*/*.json\n"
                  "heapdump merge --to rows -o part1.csv host1*.pb; heapdump merge -o all.json part*.csv" },
    { .name = "classes", .run = run_classes,
      .heading = "of files that say what is alive and who holds it, instead of who allocated it",
      .summary = "objects, bytes and what they hold, class by class",
      .usage = "[OPTIONS] FILE...",
      .help =
      "Lists classes: what would go if all objects of a class did (retained), what is live, and all. Of more\n"
      "than 1008 classes that are alive, those whose objects dominate least are told by what these dominate,\n"
      "marked >: it may be more. Finding out costs up to 16 walks through the objects.",
      .options = "top all wide bytes json csv" FILES },
    { .name = "retained", .run = run_retained,
      .summary = "the objects that hold the most",
      .usage = "[OPTIONS] FILE...",
      .help =
      "Lists the objects that retain the most: that would take the most memory with them if they went.",
      .options = "top class subclasses all wide bytes json csv" FILES },
    { .name = "path", .run = run_path, .defaults = path_defaults,
      .summary = "why an object is alive: who holds it, from a root",
      .usage = "(--id ID | --class NAME) [OPTIONS] FILE",
      .help =
      "Shows why an object is alive: the shortest path from a GC root that is not weak (its retainers). In V8\n"
      "snapshots paths from the program's own roots come before paths from the engine's, as in DevTools. With\n"
      "--class, shows why all objects of a class are alive: the shortest path to each, merged by field and\n"
      "class, with the bytes and number of objects at its end. A linked list is one step,\n"
      "\"list of 300 Node (next)\": with --id its elements up to the object, with --class all of them. So is a\n"
      "tree, \"tree of Node\".\n"
      "On a terminal, paths show variables, properties and classes; in V8 snapshots, objects of the engine are\n"
      "folded. --wide, --all and pipes show every object.",
      .options = "id paths class subclasses all wide bytes json csv" FILES,
      .examples = "heapdump path --id 60384 app.dartheap\n"
                  "heapdump path --class Script app.dartheap         # who keeps all of them\n"
                  "heapdump path --paths 5 --id 15 page.heapsnapshot" },
    { .name = "objects", .run = run_objects,
      .summary = "the objects of a class: sizes, fields, values; or those that a condition holds for",
      .usage = "(--class NAME | --where CONDITION) [OPTIONS] FILE...",
      .help =
      "Lists the objects of a class that a root holds, those that retain the most first: id, sizes, and what the\n"
      "format tells of them: values and fields of Dart, strings and properties of V8. Lengths are those of\n"
      "strings and, of Dart, lists, maps and sets. For V8, the source location of closures and constructors is\n"
      "listed, and the function that allocated an object while allocations were tracked. --where detached\n"
      "lists objects that V8 marks as detached: DOM nodes that a page removed from its document and still\n"
      "holds, and some of Node's own. suspects reports DOM nodes only.",
      .options = "class subclasses where garbage top all wide bytes json csv" FILES,
      .examples = "heapdump objects --class Script --where 'url_=visitor' app.dartheap\n"
                  "heapdump objects --class _List --where 'length>1000' --csv app.dartheap\n"
                  "heapdump objects --where 'retained>1M' game.log\n"
                  "heapdump objects --where detached page.heapsnapshot" },
    { .name = "object", .run = run_object, .defaults = object_defaults,
      .summary = "all about one: values, sizes, what it refers to, who refers to it",
      .usage = "[OPTIONS] FILE ID",
      .help =
      "Tells all about one object: class, value, sizes, what it refers to by which field, who refers to it,\n"
      "what dominates it, that is without which it would go, and what it dominates. Each of these has its\n"
      "id, to go on from. For V8, also whether a DOM node is detached, the source location, and the call\n"
      "stack that allocated the object (of snapshots taken while allocations were tracked).\n"
      "References that do not keep their object alive say why: weak, key or value of an ephemeron (an entry\n"
      "of a WeakMap), or, as in DevTools, a shortcut or from the engine to an object of the page.",
      .options = "id top all bytes json csv" FILES,
      .examples = "heapdump object app.dartheap 1          # the root of a Dart snapshot\n"
                  "heapdump object --all --json app.dartheap 60384 | jq '.files[0].referrers[].id'\n"
                  "heapdump object game.log 7cb42          # ids as retained and path list them" },
    { .name = "strings", .run = run_strings,
      .summary = "strings that are there more than once, and what that wastes (Dart, V8)",
      .usage = "[OPTIONS] FILE...",
      .help =
      "Lists strings that a snapshot of Dart or V8 has more than once, those that waste most first: of equal ones\n"
      "all but the largest are waste. '?' marks strings of which the snapshot has only the beginning; these\n"
      "may differ further on, and do not count into the total.",
      .options = "top all garbage wide bytes json csv format strict output",
      .examples = "heapdump strings app.dartheap\n"
                  "heapdump strings --all --json app.dartheap | jq '.files[0].strings[] | [.wasted, .text]'" },
    { .name = "memprof", .run = run_memprof,
      .heading = "of LLVM MemProf profiles, beside all of the first list",
      .summary = "the records: allocation and call sites, and every field, as llvm-profdata lists them;\n"
                 "with --hints, which allocations the compiler takes for cold or hot, and why",
      .usage = "--binary PROGRAM [OPTIONS] FILE...",
      .help =
      "Prints the records of MemProf profiles as `llvm-profdata show --memory` does: by function, its\n"
      "allocation sites with call stacks and all fields of their blocks, and its call sites. Lines count\n"
      "from that where the function begins. All raw profiles of all files are added up; an indexed one\n"
      "stands alone. Without --binary, frames are BUILDID+0xOFFSET, or GUIDs when indexed; with it, frames\n"
      "of raw profiles that it does not name are left out, and stacks of no others.\n"
      "With --hints, what clang makes of each allocation, which it reads of calls of operator new: cold,\n"
      "not cold or hot, or ambiguous, when that depends on the callers; then it makes copies of functions,\n"
      "and the callers that tell contexts apart are shown, in one row what these do not tell apart.\n"
      "Densities and lifetimes are averages of the allocations. clang 22 marks all cold contexts, and of the\n"
      "others those that say how many callers tell cold ones apart; hot are there only allocations of which\n"
      "all contexts are.\n"
      "With --effect, whether the hints were right: of what the compiler was told cold, how much was cold\n"
      "again in a later run of the same source, and which call stacks were not. FILE has to be of a program\n"
      "that is instrumented again: clang does not instrument what it gives hints to.",
      .options = "hints diff effect clang cold-density cold-lifetime hot-density all json yaml full-schema" NAMES
                 " format strict output",
      .examples = "heapdump memprof --binary app app.memprofraw\n"
                  "heapdump memprof --binary app --json app.memprofraw | jq '.Records[] | [.Function, .AllocSites]'\n"
                  "heapdump memprof --hints --cold-lifetime 20 --binary app app.memprofraw\n"
                  "heapdump memprof --hints --diff --binary app run1.memprofraw run2.memprofraw\n"
                  "heapdump memprof --effect app.memprof --binary app run2.memprofraw" },
    { .name = "index", .run = run_index,
      .summary = "make the file that clang's -fmemory-profile-use reads",
      .usage = "--binary FILE [--binary FILE...] -o OUT [OPTIONS] RAW...",
      .help =
      "Makes an indexed profile of raw MemProf profiles, as `llvm-profdata merge` does, for clang's\n"
      "-fmemory-profile-use: all of them are added up, call stack by call stack, and named after the\n"
      "binaries, which may be several, position-independent or not. Or writes an indexed profile again, in\n"
      "another version. Of several files one that cannot be read is told and left out, and the exit status\n"
      "is 1 then; with --strict nothing is written.",
      .options = "binary" LIMITS " memprof-version like full-schema hot-cold-schema prune base format strict output",
      .examples = "heapdump index --binary app --binary libapp.so -o app.memprof run*.memprofraw\n"
                  "heapdump index --base app.profdata --binary app -o both.profdata app.memprofraw\n"
                  "heapdump index --memprof-version 0 -o old.memprof app.memprof\n"
                  "heapdump index --prune cold=0.1%,min-bytes=4k -o small.memprof app.memprof\n"
                  "heapdump index --like 19 --memprof-version 3 --binary app -o app.memprof app.memprofraw" }
};
static const char examples[] =
    "heapdump record -- sqlite3 app.db '.schema'    # writes heapdump.sqlite3.PID.json\n"
    "heapdump tree --min-share 0.01 heapdump.sqlite3.1234.json\n"
    "heapdump tree --by type --json trace.json | jq .\n"
    "heapdump tree --invert --root 'malloc|realloc' --entries 40 trace.json.gz\n"
    "heapdump record --at every=10 --sample 512k -o server.json -- ./server\n"
    "heapdump record --format memprof-raw -o app.memprofraw -- ./app\n"
    "heapdump diff server.json                      # its last dump against its first\n"
    "heapdump convert --to chrome --top 20 -o small.json big.json\n"
    "heapdump merge -o fleet.json host*.json\n"
    "heapdump retained --top 10 game.log            # then: heapdump path --id ID game.log\n"
    "heapdump object app.dartheap 1                 # then one of the ids that it lists\n"
    "heapdump strings --top 50 app.dartheap\n"
    "heapdump diff before.dartheap after.dartheap   # classes, and objects new and gone\n"
    "heapdump tree --binary app --by lifetime app.memprofraw\n"
    "heapdump merge -o all.memprofraw run*.memprofraw\n"
    "heapdump index --binary app --binary libapp.so -o app.memprof run*.memprofraw\n"
    "heapdump memprof --hints --binary app app.memprof\n";

static const command_table table = { rows, sizeof rows / sizeof *rows, examples };

static int tool_main(int argc, char **argv) {
    const command *c;
    arguments a = { .record.depth = 48, .memprof.limit = { -1, -1, -1 }, .check.max_growth = -1 };
    int status;
    /* What lower floors do by those above them. */
    own_formats = tool_formats, own_format_count = tool_format_count;
    heaps_view = memprof_view, record_as_memprof = memprof_recorded;
    setvbuf(stderr, NULL, _IOLBF, BUFSIZ); /* a line at a time, though it is made of pieces */
#ifdef M_MMAP_THRESHOLD
    /* What is freed of blocks of less than 2 MB is used again, and not given back: the kernel takes longer for new
       pages than we do to fill them. */
    mallopt(M_MMAP_THRESHOLD, 2 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
    status = symbols_server(argc, argv);
    if (status >= 0) return status;
    if (argc < 2) return tool_help(&table, stderr), WRONG_USAGE;
    if (!strcmp(argv[1], "help") && argc > 2) argv++, argc--, a.help = true;
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
        return tool_help(&table, stdout), fflush(stdout) ? BAD_INPUT : DONE;
    if (!strcmp(argv[1], "--man"))
        return man_write(&table, stdout), fflush(stdout) ? BAD_INPUT : DONE;
    if (!strcmp(argv[1], "--completion")) return completion(&table, argc > 2 ? argv[2] : "");
    if (!strcmp(argv[1], "--version")) return version(argc - 2, argv + 2);
    c = command_named(&table, argv[1]);
    if (!c) return unknown_command(&table, argv[1]);
    command_name = c->name;
    status = a.help ? DONE : options_read(c, argc - 1, argv + 1, &a);
    if (status) return status;
    if (a.input.format_help) return formats_help(stdout), fflush(stdout) ? BAD_INPUT : DONE;
    if (a.help) return command_help(c, stdout), fflush(stdout) ? BAD_INPUT : DONE;
    if (!c->runs_program && !a.input.file_count) return usage("%s needs a file (- is standard input)", c->name);
    if (c->defaults) c->defaults(&a);
    symbols_limit(a.naming.memory, a.naming.seconds);
    status = memprof_open_binaries(&a);
    if (!status) status = c->run(&a);
    memprof_close_binaries(&a, !status);
    return status;
}

int main(int argc, char **argv) { return on_large_stack(tool_main, argc, argv); }
