/* heapdump: finds leaks and peaks in heap dumps, and records programs. See `heapdump --help`. */

#include "heaps/heaps.h"
#include "memprof/memprof.h"
#include "models.h"
#include "objects/objects.h"
#include "record/record.h"
#include "report/report.h"
#include "watch/watch.h"

#include <malloc.h>

/* Options that several commands take. */
#define CUTOFFS(by_default) " min-bytes min-share min-parent-share top entries output-bytes [" by_default "]"
#define WORK " keep drop root invert"
#define LIMITS " names-memory names-time"
#define NAMES " binary keep-unresolved keep-runtime" LIMITS
#define FILES " format decimal strict output"
#define HEAPS " pid dump allocator kind" FILES

/* A line of a help text is a paragraph: help wraps it, and the man page fills it. Lines of examples stay as they
   are: at most 78 columns. */
static const command rows[] = {
    { .name = "record", .run = run_record, .defaults = record_defaults, .runs_program = true,
      .summary = "record a program's heap: leaks, peak, call stacks",
      .usage = "[OPTIONS] -- PROGRAM ARGS...",
      .help =
      "Runs a program and records its heap, by call stack, and the heaps of all processes that it starts. The "
      "program is not rebuilt. The result is one trace; the type of a block is the executable or library that "
      "allocated it.\n"
      "Each process has four heaps, and --kind of other commands selects one. live: memory at exit, also after a "
      "crash (leaks). peak: memory when the process used most. total: all allocations. temporary: blocks that were "
      "freed before the next allocation of their thread.\n"
      "--at takes a list, such as exit,every=10. It replaces the default list peak,exit.\n"
      "Other commands can read the file while it grows. Processes that outlive the program are recorded until they "
      "end, or until `heapdump stop` or Ctrl-C. While the program runs, Ctrl-C is for the program only; heapdump "
      "then writes the file. A second Ctrl-C, during that, discards the file.",
      .options = "output at children same-user keep blocks format ages threads depth sample stats bytes" LIMITS
                 CUTOFFS("default: --min-share 0.0001"),
      .examples = "heapdump record -o app.json -- ./app; heapdump tree app.json        # leaks\n"
                  "heapdump record -- ./app; heapdump tree --kind peak heapdump.app.*.json\n"
                  "heapdump record --at every=1 -o server.json -- ./server &\n"
                  "heapdump record --children 'worker' --sample 512k -- ./server\n"
                  "heapdump record --ages -o a.csv.zst -- ./app; heapdump tree --by age a.csv.zst" },
    { .name = "suspects", .run = run_suspects, .defaults = suspects_defaults,
      .summary = "find memory leaks: sites or objects that grow, or hold most",
      .usage = "[OPTIONS] FILE...",
      .help =
      "Lists the most likely memory leaks first, on one screen.\n"
      "Several dumps of a profile, in one file or more: lists sites that grew, in all steps or in some. Growth that "
      "slows down, goes back or skips a step counts less. Memory that remains after the program has freed most of "
      "its memory counts more. Three or more dumps are best.\n"
      "One dump of a profile: lists the sites that hold most. If the program freed everything, the heap at its peak "
      "is listed. A site is the function that asked for the memory: the innermost one that is not an allocator, a "
      "container, strdup, or a helper like them. Below it are its callers. In sampled dumps, only figures beyond two "
      "standard errors count. With record --ages, each site shows its bytes that are older than a minute. A line "
      "'not listed' sums up the other sites.\n"
      "A snapshot of objects: lists the objects that hold most memory, by retained size, each with a path from a GC "
      "root. It names the Map that holds a million entries, not the objects above or below it. Large classes follow, "
      "with the path that most of their objects share. Several snapshots of a process: lists the objects that hold "
      "more each time. Detached DOM nodes, which a page removed but still holds, have a section of their own.",
      .options = "top all sort frames wide bytes json csv keep drop root" NAMES HEAPS,
      .examples = "heapdump record --at exit,every=10 -o server.json -- ./server\n"
                  "heapdump suspects server.json\n"
                  "heapdump suspects before.heapsnapshot between.heapsnapshot after.heapsnapshot\n"
                  "heapdump suspects --json server.json | jq '.series[0].suspects[0].site'" },
    { .name = "tree", .run = run_tree, .defaults = tree_defaults,
      .summary = "show memory by call stack: a flame graph as text",
      .usage = "[OPTIONS] FILE...",
      .help =
      "Prints each heap as a tree, with bytes, share of the total, blocks and function. Bytes include all callees. "
      "<self> is a function's own allocations. <other> is the part of its parent that is not listed. 'type: T' is a "
      "type, or the value of another axis.\n"
      "'a \xe2\x80\xba b' is one line if b is the only callee and has the same bytes and blocks. 'f \xc3\x97""50' is "
      "a recursion: f, or a cycle of calls that begins with f, up to 50 times in a row. 'lib.so (stripped) "
      "\xc3\x97""3' is three functions without names.\n"
      "For a snapshot, the tree shows which classes retain which (dominators), and how many objects they are.\n"
      "--by breaks down by another axis first. MemProf profiles have size, lifetime, heat and binary; pprof profiles "
      "have their labels; recordings with --ages and --threads have age and thread.",
      .options = "by all sort frames wide every-route metric bytes json csv"
                 CUTOFFS("default: --min-share 0.01; on a terminal, as fits") WORK NAMES HEAPS,
      .examples = "heapdump tree --kind peak app.json              # memory at the peak\n"
                  "heapdump tree --invert --keep 'malloc|realloc' --entries 40 trace.json.gz\n"
                  "heapdump tree --by type --json trace.json | jq .heaps" },
    { .name = "diff", .run = run_diff, .defaults = diff_defaults,
      .summary = "show memory growth between two dumps",
      .usage = "[OPTIONS] BEFORE [AFTER]",
      .help =
      "Prints the changes as a tree, the largest first: changes of at least 1% of all change, unless a cut-off is "
      "given. From a file with several dumps, the last one is used. With one file, its first dump is compared with "
      "its last.\n"
      "Two heaps are compared if they have the same process, allocator and kind. Labels that both files have must be "
      "equal too, except profile. If one file lacks a heap, 'none in FILE' is printed in its place. Functions pair "
      "across renamed programs and moved source directories.\n"
      "'?' marks a bound, since a dump does not list the entry; for merged dumps it has the largest error. '~' marks "
      "a change that sampling may explain.\n"
      "Snapshots are compared by class: the classes that grew come first, and all are listed unless --top is given. "
      "V8 snapshots of one inspector session are also compared object by object: new, gone, or of another size. V8 "
      "gives new ids when a session ends. If more than 1% of the ids in both files name another class or name, only "
      "classes are compared, and one line says so. Dart objects are compared if both snapshots are of one process "
      "and have identity hash codes.",
      .options = "before after match all live by sort frames wide every-route metric bytes json csv"
                 CUTOFFS("default: --min-share 0.01 of all change") WORK NAMES HEAPS,
      .examples = "heapdump diff server.json                      # its first dump and its last\n"
                  "heapdump diff base.json new.json\n"
                  "heapdump diff before.dartheap after.dartheap   # classes, new and gone objects" },
    { .name = "path", .run = run_path, .defaults = path_defaults,
      .summary = "show why an object is alive: the path from a GC root",
      .usage = "(--id ID | --class NAME) [OPTIONS] FILE",
      .help =
      "Shows the shortest path of references from a GC root to an object (its retainers). Weak roots and weak "
      "references are not part of a path. In V8 snapshots, paths from roots of the program come before paths from "
      "roots of the engine, as in DevTools.\n"
      "--class shows why all objects of a class are alive: a tree of their shortest paths, merged by field and "
      "class. Each line has the bytes and number of the objects at the ends of its paths.\n"
      "A linked list is one step, \"list of 300 Node (next)\", with the number of all its elements. A tree is one "
      "step too, \"tree of Node\".\n"
      "On a terminal, paths show variables, properties and classes, and fold objects of the V8 engine. --wide, --all "
      "and pipes show every object.",
      .options = "id paths class subclasses all wide bytes json csv" FILES,
      .examples = "heapdump path --id 60384 app.dartheap\n"
                  "heapdump path --class Script app.dartheap         # why all of them are alive\n"
                  "heapdump path --paths 5 --id 15 page.heapsnapshot" },

    { .name = "watch", .run = run_watch, .group = "running\0programs", .brief = "show a live table",
      .summary = "show a live table of a recording: RSS, growth (like top)",
      .usage = "[OPTIONS] FILE|PID", .needs = "the file of a recording, or the PID of a process",
      .help =
      "Shows which sites of a running process hold memory, which grow, and which allocate most. The columns are live "
      "bytes, blocks, growth per minute, bytes allocated per second, and the share of temporary allocations. A site "
      "is the function that asked for the memory, as in suspects. In sampled recordings, \xc2\xb1 "
      "is at most the standard error.\n"
      "Above the table is the RSS of the process with its parts: live blocks, the allocator's own memory, stacks, "
      "mapped files, other mappings, and the recorder.\n"
      "FILE is the file of a running recording, or the region file of record --keep. PID is a recorded process. The "
      "program does no extra work for watch, and never waits for it.\n"
      "Keys: s and S sort by another column; / filters by a regular expression; space freezes the table; d shows the "
      "changes since it was pressed; w writes a snapshot; Tab selects the next process; arrows, PgUp and PgDn "
      "scroll; ? helps. q quits, and the recording goes on: watch can be started again.",
      .options = "every count sort filter top wait json output" LIMITS,
      .examples = "heapdump watch server.json\n"
                  "heapdump watch --sort growth --filter cache 1234\n"
                  "heapdump watch --json --every 10 server.json | jq '.sites[0]'" },
    { .name = "snapshot", .run = run_snapshot, .brief = "dump the live heap now",
      .summary = "dump the live heap of a running recording",
      .usage = "[OPTIONS] FILE|PID", .needs = "the file of a recording, or the PID of a process",
      .help =
      "Adds a dump with the live heaps of all processes to the file of a recording, or writes another file with -o. "
      "FILE is the file of the recording, and PID a recorded process. Only the user of the recording and root may "
      "ask. The program does not stop meanwhile: each call stack is exact, but call stacks are read one after the "
      "other.",
      .options = "output wait",
      .examples = "heapdump snapshot app.json; heapdump tree app.json     # live memory now" },
    { .name = "stop", .run = run_stop, .brief = "end a recording",
      .summary = "end a recording while the program goes on",
      .usage = "[OPTIONS] FILE|PID", .needs = "the file of a recording, or the PID of a process",
      .help =
      "Ends a recording, and returns when its file is complete. FILE is the file of the recording, and PID a "
      "recorded process. The program goes on; its later allocations are not recorded.",
      .options = "wait",
      .examples = "heapdump stop server.json; heapdump suspects server.json" },
    { .name = "recover", .run = run_recover, .brief = "read a killed recording",
      .summary = "read a recording (record --keep) after heapdump was killed",
      .usage = "[OPTIONS] FILE", .needs = "the region file of record --keep",
      .help =
      "Writes the trace that record --keep FILE would have written if heapdump had not been killed: the four heaps "
      "of each process, in their last state. Dumps of --at every and of snapshots are not in FILE. FILE does not "
      "change.",
      .options = "output" LIMITS CUTOFFS("default: --min-share 0.0001"),
      .examples = "heapdump record --keep app.region -o app.json -- ./app\n"
                  "heapdump recover app.region -o app.json; heapdump tree app.json" },
    { .name = "capture", .run = run_capture, .defaults = capture_defaults, .brief = "snapshot Node/Chrome/Dart/Java",
      .summary = "take a heap snapshot of running Node, Chrome, Dart or Java",
      .usage = "[OPTIONS] PORT|HOST:PORT|URL|PID",
      .needs = "a port: 9229 for node --inspect, 9222 for chrome --remote-debugging-port=9222, or a Dart VM's URL",
      .help =
      "Takes a heap snapshot over the inspector of Node (node --inspect, port 9229) or Chrome "
      "(--remote-debugging-port), or over the service of a Dart VM (--enable-vm-service). PORT is a port of this "
      "machine. URL is the address that a Dart VM prints, and begins with http:// or ws://.\n"
      "The program is paused while its VM walks the heap. The snapshot is written as it arrives. If there are "
      "several pages, workers or isolates, they are listed; --target selects one.\n"
      "--every and --count take several snapshots in one session, so that diff and suspects can compare them object "
      "by object. Two calls of capture are two inspector sessions: V8 gives all objects new ids, and only classes "
      "can be compared.\n"
      "With --jvm, a HotSpot JVM writes its heap as an HPROF file, by its attach protocol. Run capture as the JVM's "
      "user or as root, also for a JVM in a container.",
      .options = "jvm live target gc every count output",
      .examples = "heapdump capture --jvm 4711 -o app.hprof; heapdump suspects app.hprof\n"
                  "heapdump capture 9229 -o app.heapsnapshot; heapdump suspects app.heapsnapshot\n"
                  "heapdump capture --target worker --every 60 --count 3 9222 -o tab.heapsnapshot\n"
                  "heapdump capture --gc ws://127.0.0.1:8181/TOKEN=/ws -o app.dartheap" },

    { .name = "top", .run = run_top, .defaults = top_defaults, .group = "profiles", .brief = "list functions by size",
      .summary = "list the functions, types or classes that hold most",
      .usage = "[OPTIONS] FILE...",
      .help =
      "Lists names by memory: total bytes with callees, own bytes, and blocks. A function that is twice on a call "
      "stack counts once.\n"
      "A condensed heap does not assign all bytes to functions. There, 'unlisted' is the part of a function that is "
      "below the cut-off, and may be its own or its callees'. \xe2\x89\xa4 marks an upper bound of its own bytes.",
      .options = "top all by sort self frames wide metric bytes json csv" WORK NAMES HEAPS,
      .examples = "heapdump top --self server.json" },
    { .name = "pages", .run = run_pages, .brief = "find fragmentation",
      .summary = "find fragmentation: sites that keep pages nearly empty",
      .usage = "[OPTIONS] FILE|PID", .needs = "the file of a recording, or the PID of a process",
      .help =
      "Shows which sites keep nearly empty pages resident. An allocator can return a page only when no block is on "
      "it. A site is the function that asked for the memory, as in suspects.\n"
      "keeps: bytes of all pages with at least one block of the site. alone: bytes of the pages with blocks of no "
      "other site; the allocator could return these pages if the site freed its blocks. share: the site's part of "
      "all pages, if each page is divided by bytes among its sites. live: bytes of the site's blocks. full: the part "
      "of its pages that blocks of any site fill.\n"
      "FILE is the file of a running recording with --blocks, or the region file of record --blocks --keep. It may "
      "also be the file of a recording with --format memprof-raw. PID is a process of such a recording. A region "
      "file also has processes that ended. Other formats have no addresses of blocks.\n"
      "Sizes are the requested sizes: the allocator's own bytes next to a block are unknown.",
      .options = "top all by page-size pid wait wide bytes json csv output" LIMITS,
      .examples = "heapdump record --blocks --keep app.region -- ./app; heapdump pages app.region\n"
                  "heapdump record --blocks -o server.json -- ./server &\n"
                  "sleep 1; heapdump pages server.json; heapdump stop server.json" },
    { .name = "check", .run = run_check, .defaults = check_defaults, .brief = "set limits for CI",
      .summary = "fail if memory grew, or exceeds a limit (CI gate)",
      .usage = "[OPTIONS] BASELINE FILE",
      .help =
      "Compares the heaps of FILE with limits, and with the heaps of BASELINE, paired as in diff; the last dump of "
      "each is used. A heap that BASELINE lacks counts as growth from 0. The exit status is 0 if all values are "
      "within their limits, and 1 if one is not or a file cannot be read.\n"
      "In sampled heaps, a value fails only if sampling cannot explain it; 'noise' is beyond a limit, but within "
      "sampling error. If the true value is exactly at the limit, fewer than 1 in 100 calls fail by chance, all "
      "comparisons together. In a condensed dump, a site holds at least the counted bytes.",
      .options = "max-growth max-total site match bytes json csv" WORK NAMES HEAPS,
      .examples = "heapdump check base.json new.json\n"
                  "heapdump check --max-growth 3% --max-total 200M base.json new.json\n"
                  "heapdump check --site 'Cache::=20M' base.json new.json" },
    { .name = "report", .run = run_report, .brief = "draw a flame graph",
      .summary = "write a page for a browser: flame graph, time line, objects",
      .usage = "[OPTIONS] FILE [FILE2] -o report.html",
      .help =
      "Writes one HTML page that needs no network. With two files, it shows growth from FILE to FILE2.\n"
      "For profiles, the page has an icicle or flame graph of call stacks, or of another axis, with search, zoom and "
      "bottom-up view. It also has a table of all names, and a time line of the dumps to compare any two.\n"
      "For snapshots, the page has a map of retained sizes, a table of classes, the path from a GC root to an "
      "object, and its references. Two snapshots are compared by class.",
      .options = "by metric pages entries keep drop root" NAMES HEAPS,
      .examples = "heapdump report -o server.html server.json\n"
                  "heapdump report -o grown.html base.json new.json\n"
                  "heapdump record --blocks --keep app.region -o app.json -- ./app\n"
                  "  heapdump report --pages app.region -o app.html app.json" },

    { .name = "classes", .run = run_classes, .group = "snapshots", .brief = "list classes",
      .summary = "list classes: objects, bytes and retained size",
      .usage = "[OPTIONS] FILE...",
      .help =
      "Lists classes. retained: memory that would be freed if all objects of the class were freed. live: objects "
      "that a GC root holds. The last two columns count garbage too. If more than 1008 classes are live, the "
      "smallest ones have a lower bound of their retained size, marked >. Exact figures need up to 16 passes over "
      "the objects.",
      .options = "top all wide bytes json csv" FILES,
      .examples = "heapdump classes app.dartheap" },
    { .name = "retained", .run = run_retained, .brief = "list the largest holders",
      .summary = "list the objects with the largest retained size",
      .usage = "[OPTIONS] FILE...",
      .help =
      "Lists the objects that retain most. The retained size of an object is the memory that would be freed with it.",
      .options = "top class subclasses all wide bytes json csv" FILES,
      .examples = "heapdump retained --top 10 game.log            # next: heapdump path --id ID" },
    { .name = "objects", .run = run_objects, .brief = "list objects of a class",
      .summary = "list objects of a class, or objects that match a condition",
      .usage = "(--class NAME | --where CONDITION) [OPTIONS] FILE...",
      .help =
      "Lists the objects that a GC root holds, largest retained size first: sizes, id, class, and the values that "
      "the format has. Dart has values and fields. V8 has strings and properties, the source location of closures "
      "and constructors, and the allocating function if allocations were tracked.\n"
      "A CONDITION has one of three forms. 'length>1000' compares the length, size or retained size with a number "
      "(k, M, G: times 1024), by <, <=, =, >= or >. Strings have a length, and in Dart also lists, maps and sets. "
      "'FIELD=REGEX' matches the class or value of the object in that field. 'detached' matches objects that V8 "
      "marks as detached: DOM nodes that a page removed but still holds, and some objects of Node. suspects lists "
      "detached DOM nodes only.",
      .options = "class subclasses where garbage top all wide bytes json csv" FILES,
      .examples = "heapdump objects --class Script --where 'url_=visitor' app.dartheap\n"
                  "heapdump objects --class _List --where 'length>1000' --csv app.dartheap\n"
                  "heapdump objects --where 'retained>1M' game.log\n"
                  "heapdump objects --where detached page.heapsnapshot" },
    { .name = "object", .run = run_object, .defaults = object_defaults, .brief = "show one object",
      .summary = "show one object: value, references, retainers, dominator",
      .usage = "[OPTIONS] FILE ID|--id ID",
      .help =
      "Shows one object: class, value, sizes, the objects that its fields refer to, and the objects that refer to "
      "it. Then come its dominator, without which it would be freed, and the objects that it dominates. Each line "
      "has an id for the next call. For V8: also whether a DOM node is detached, the source location, and the call "
      "stack of the allocation if allocations were tracked.\n"
      "References that do not keep an object alive have a mark: weak; key or value of an ephemeron (an entry of a "
      "WeakMap); and, as in DevTools, shortcut, or from the engine to an object of the page.",
      .options = "id top all bytes json csv" FILES,
      .examples = "heapdump object app.dartheap 1          # the root of a Dart snapshot\n"
                  "heapdump object --json app.dartheap 60384 | jq '.files[0].referrers[].id'\n"
                  "heapdump object game.log 7cb42          # an id from retained or path" },
    { .name = "strings", .run = run_strings, .brief = "list duplicate strings",
      .summary = "list duplicate strings, and the memory that they waste",
      .usage = "[OPTIONS] FILE...",
      .help =
      "Lists the strings that a Dart or V8 snapshot has more than once, the most wasteful first. The waste is the "
      "size of all copies except the largest. '?' marks strings that the snapshot cut off: they may differ further "
      "on, and are not part of the total.",
      .options = "top all garbage wide bytes json csv format strict output",
      .examples = "heapdump strings --top 50 app.dartheap\n"
                  "heapdump strings --json app.dartheap | jq '.files[0].strings[].text'" },

    { .name = "info", .run = run_info, .group = "files", .brief = "list the contents",
      .summary = "list the contents of a file, and the parts of the RSS",
      .usage = "[OPTIONS] FILE...",
      .help =
      "Lists processes, dumps and allocators with their attributes; or the objects, references and roots of a "
      "snapshot. For Dart: also the VM's attributes of the isolate, objects by kind of data, libraries, and lists, "
      "maps and sets by length. For MemProf profiles: versions, sums of all fields, and segments with build ids, or "
      "schema and counts.\n"
      "For a recording, it shows where the RSS of each process goes: live blocks, the allocator's other memory, "
      "stacks, mapped files, other anonymous mappings, and the recorder. record read these figures last before the "
      "dump. --all or --dump shows them at each dump.",
      .options = "all bytes json csv" HEAPS,
      .examples = "heapdump info server.json" },
    { .name = "validate", .run = run_validate, .brief = "check the format",
      .summary = "check that a file is well-formed, and list each error",
      .usage = "[OPTIONS] FILE...",
      .help =
      "Lists everything that is wrong with each file, for authors of programs that write dumps: violations of the "
      "format, with the offset; frames, types and allocators that hold less than their children; objects that no "
      "record describes. The exit status is 0 if nothing was found, and 1 otherwise.",
      .options = "all json csv format decimal output",
      .examples = "heapdump validate trace.json\n"
                  "heapdump validate --json *.heapsnapshot | jq '.files[] | .findings'" },
    { .name = "convert", .run = run_convert, .defaults = written_defaults, .brief = "write another format",
      .summary = "convert to another format, or make a file smaller",
      .usage = "[--to FORMAT] [OPTIONS] FILE",
      .help =
      "Writes another format. The format is taken from --to, else from the name after -o, as in merge. chrome: a "
      "trace with cumulative sizes, for the trace viewer. heaps_v2: a trace with self sizes. folded: a line per "
      "call stack, for flame graph tools. pprof: one dump of a process, for go tool pprof and others. rows: a "
      "table for SQL engines. netcf, dart and heapsnapshot: snapshots of objects; other formats get the tree of "
      "dominators of a snapshot.\n"
      "A format of one dump gets the last dump, and a format of one kind the live heap; --dump and --kind select "
      "others. One line on standard error lists all data that the format cannot hold.\n"
      "--output-bytes 100k or --min-share 1% makes a file smaller. A budget (--output-bytes, --entries) is for each "
      "heap, so a file with five heaps has up to five times as much.\n"
      "Frames such as libfoo.so+0x1234 get function names if the library is present. "
      "heapsnapshot has no garbage: one line reports the objects that no root holds. dart keeps strings, numbers, "
      "lengths and names of objects. A file that already has the format is copied, without its malformed parts; "
      "memprof-raw copies a raw MemProf profile.",
      .options = "to memprof-version like full-schema hot-cold-schema prune base add-to"
                 CUTOFFS("default: everything is listed") WORK NAMES HEAPS,
      .examples = "heapdump convert --to chrome --output-bytes 100k -o small.json big.json\n"
                  "heapdump convert -o app.folded app.json" },
    { .name = "merge", .run = run_merge, .defaults = written_defaults, .brief = "add up many files",
      .summary = "add up the heaps of many processes, hosts or files",
      .usage = "[OPTIONS] FILE...",
      .help =
      "Adds up heaps of the same allocator and kind, over files and processes. The last dump of each process counts. "
      "If a file has no heap of kind total, its live heap counts as total. Main programs with two names are added up "
      "only if their sources are the same.\n"
      "The format is taken from --to, then from the name after -o, then from the inputs if it can hold the sum. "
      "Otherwise it is a Chromium trace. --to rows writes a sum that later merges can continue exactly.\n"
      "MemProf: if the first FILE is a raw profile, or with --to memprof-raw, all profiles add up to one raw profile "
      "by call stack. Only one profile at a time is in memory. If a file is an indexed profile, or with --to "
      "memprof-index, the result is an indexed profile with callees and accesses to data. It adds up raw and indexed "
      "profiles of any version; raw ones need --binary. --to memprof-yaml writes the same as YAML. Only the first of "
      "several pipes is examined for this; --to overrides it.\n"
      "Files that cannot be read are omitted with a message, and so are heaps that would make the sum exceed 2^64 "
      "bytes or 8 axes. The exit status is then 1; with --strict, nothing is written. On several processors, small "
      "files are read in parallel.",
      .options = "all to memprof-version like full-schema hot-cold-schema prune base add-to"
                 CUTOFFS("default: everything is listed") WORK NAMES HEAPS,
      .examples = "heapdump merge -o fleet.json host*.json\n"
                  "heapdump merge -o all.memprofraw run*.memprofraw" },
    { .name = "rows", .run = run_rows, .brief = "write a table for SQL",
      .summary = "write a table for SQL engines: a row per call stack and type",
      .usage = "[OPTIONS] FILE...",
      .help =
      "Writes all heaps of all files as one table, for DuckDB, ClickHouse and others: CSV, or JSON lines. The man "
      "page describes the columns.\n"
      "In pprof and other full profiles, each row has the own bytes of a call stack and type, and rows add up. Files "
      "of record are condensed: each row has cumulative bytes, with all callees. A sum over all of these rows counts "
      "most bytes several times. The total of a heap is its row with stack = '' and type = ''. For own bytes by call "
      "stack, convert the file to pprof first, as in the last example.\n"
      "heapdump reads such a table again without loss, like any other file. Files that cannot be read are omitted "
      "with a message, and the exit status is then 1; with --strict, nothing is written. heapdump reads each file "
      "twice, first for the names of the columns; a pipe is read once, and kept in memory.",
      .options = "label json-lines" WORK NAMES HEAPS,
      .examples = "heapdump rows --label host=a1 --label day=2026-11-22 -o a1.csv.zst *.pb.gz\n"
                  "heapdump rows -o fleet.jsonl host*/*.json\n"
                  "heapdump merge --to rows -o p1.csv host1*.pb; heapdump merge -o all.pb p*.csv\n"
                  "heapdump rows -o app.csv app.json              # totals of a recording:\n"
                  "  sqlite3 -cmd '.import --csv app.csv r' :memory: \"SELECT dump, kind,\n"
                  "    sum(bytes) FROM r WHERE stack = '' AND type = '' GROUP BY dump, kind\"\n"
                  "heapdump convert --to pprof -o app.pb app.json     # own bytes:\n"
                  "  heapdump rows -o own.csv app.pb" },

    { .name = "memprof", .run = run_memprof, .group = "MemProf", .brief = "list hot/cold hints",
      .summary = "list the records of a MemProf profile, or hot and cold hints",
      .usage = "--binary PROGRAM [OPTIONS] FILE...",
      .help =
      "Prints the records of MemProf profiles like `llvm-profdata show --memory`. Each function has its allocation "
      "sites, with call stacks and all fields of their blocks, and its call sites. Lines count from the beginning of "
      "the function.\n"
      "All raw profiles of all files are added up; an indexed profile is used by itself. Without --binary, frames "
      "are BUILDID+0xOFFSET, or GUIDs in an indexed profile. With it, frames of raw profiles without a name are left "
      "out, and so are call stacks without any name.\n"
      "--hints shows how clang classifies each allocation by operator new: cold, not cold, hot, or ambiguous. "
      "Ambiguous allocations depend on their callers: clang copies functions to separate them, and the callers that "
      "decide are shown. Contexts that callers do not separate share a row. Densities and lifetimes are averages of "
      "the allocations. clang 22 marks all cold contexts, and enough others to show how many callers separate the "
      "cold ones. An allocation is hot only if all its contexts are.\n"
      "--effect shows whether the hints were right: how many bytes with a cold hint were cold again in a later run "
      "of the same source, and which call stacks were not. FILE must be from a program that was instrumented again, "
      "since clang does not instrument allocations that it gives hints to.",
      .options = "hints diff effect clang cold-density cold-lifetime hot-density all json yaml full-schema" NAMES
                 " format strict output",
      .examples = "heapdump memprof --binary app app.memprofraw\n"
                  "heapdump memprof --binary app --json app.memprofraw | jq '.Records[].Function'\n"
                  "heapdump memprof --hints --cold-lifetime 20 --binary app app.memprofraw\n"
                  "heapdump memprof --hints --diff --binary app run1.memprofraw run2.memprofraw\n"
                  "heapdump memprof --effect app.memprof --binary app run2.memprofraw" },
    { .name = "index", .run = run_index, .brief = "make a profile for clang",
      .summary = "make the profile for clang's -fmemory-profile-use",
      .usage = "--binary FILE [--binary FILE...] -o OUT [OPTIONS] RAW...",
      .help =
      "Makes an indexed profile from raw MemProf profiles, like `llvm-profdata merge`, for clang's "
      "-fmemory-profile-use. All profiles are added up by call stack. Function names come from the binaries, which "
      "may be several, position-independent or not. An indexed profile as input is written again in another "
      "version.\n"
      "Files that cannot be read are omitted with a message, and the exit status is then 1; with --strict, nothing "
      "is written.",
      .options = "binary" LIMITS " memprof-version like full-schema hot-cold-schema prune base format strict output",
      .examples = "heapdump index --binary app --binary libapp.so -o app.memprof run*.memprofraw\n"
                  "heapdump index --base app.profdata --binary app -o new.profdata app.memprofraw\n"
                  "heapdump index --memprof-version 0 -o old.memprof app.memprof\n"
                  "heapdump index --prune cold=0.1%,min-bytes=4k -o small.memprof app.memprof\n"
                  "heapdump index --like 19 --binary app -o app.memprof app.memprofraw" }
};

static const char examples[] =
    "heapdump record -- sqlite3 app.db '.schema'    # heapdump.sqlite3.PID.json\n"
    "heapdump tree --min-share 0.01 heapdump.sqlite3.1234.json\n"
    "heapdump record --at exit,every=10 -o server.json -- ./server\n"
    "heapdump suspects server.json                  # the most likely leaks\n"
    "heapdump diff server.json                      # its first dump and its last\n"
    "heapdump report -o server.html server.json     # a flame graph for a browser\n"
    "heapdump record --format memprof-raw -o app.memprofraw -- ./app\n"
    "heapdump tree --binary app --by lifetime app.memprofraw\n"
    "heapdump retained --top 10 game.log            # next: path --id ID game.log\n"
    "heapdump object app.dartheap 1                 # next: an id that it lists\n";

static const command_table table = { rows, sizeof rows / sizeof *rows, examples };

static int tool_main(int argc, char **argv) {
    const command *c;
    arguments a = { .record.depth = 48, .memprof.limit = { -1, -1, -1 }, .check.max_growth = -1 };
    int status;
    /* Functions of higher floors that lower floors call. */
    own_formats = tool_formats, own_format_count = tool_format_count;
    heaps_view = memprof_view, record_as_memprof = memprof_recorded;
    setvbuf(stderr, NULL, _IOLBF, BUFSIZ); /* messages are written in pieces: keep lines whole */
#ifdef M_MMAP_THRESHOLD
    /* Reuse freed blocks of less than 2 MB instead of returning them: the kernel takes longer to clear new pages
       than the tool takes to fill them. */
    mallopt(M_MMAP_THRESHOLD, 2 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
    status = symbols_server(argc, argv);
    if (status >= 0) return status;
    if (argc < 2) return tool_help(&table, stderr), WRONG_USAGE;
    if (!strcmp(argv[1], "help") && argc > 2) argv++, argc--, a.help = true;
    if (a.help && !strcmp(argv[1], "all")) return help_all(&table, stdout), fflush(stdout) ? BAD_INPUT : DONE;
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
        return tool_help(&table, stdout), fflush(stdout) ? BAD_INPUT : DONE;
    if (!strcmp(argv[1], "--man"))
        return man_write(&table, stdout), fflush(stdout) ? BAD_INPUT : DONE;
    if (!strcmp(argv[1], "--completion")) return completion(&table, argc > 2 ? argv[2] : "");
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "version") || !strcmp(argv[1], "-v"))
        return version(argc - 2, argv + 2);
    c = command_named(&table, argv[1]);
    if (!c) return unknown_command(&table, argv[1]);
    command_name = c->name;
    status = a.help ? DONE : options_read(c, argc - 1, argv + 1, &a);
    if (status) return status;
    if (a.input.format_help) return formats_help(stdout), fflush(stdout) ? BAD_INPUT : DONE;
    if (a.help) return command_help(c, stdout), fflush(stdout) ? BAD_INPUT : DONE;
    if (!c->runs_program && !a.input.file_count)
        return usage("%s needs %s", c->name, c->needs ? c->needs : "a file (- is standard input)");
    if (c->defaults) c->defaults(&a);
    symbols_limit(a.naming.memory, a.naming.seconds);
    status = memprof_open_binaries(&a);
    if (!status) status = c->run(&a);
    heaps_tell_unmatched(&a);
    memprof_close_binaries(&a, !status);
    return status;
}

int main(int argc, char **argv) { return on_large_stack(tool_main, argc, argv); }
