/* heapdump: finds leaks and peaks in heap dumps, and records programs. See `heapdump --help`. */

#include "heaps/heaps.h"
#include "memprof/memprof.h"
#include "models.h"
#include "objects/objects.h"
#include "record/record.h"
#include "report/report.h"
#include "watch/watch.h"

/* Options that several commands take. */
#define CUTOFFS(by_default) " min-bytes min-share min-parent-share top entries output-bytes [" by_default "]"
#define WORK " keep drop root invert"
#define LIMITS " names-memory names-time"
#define NAMES " binary keep-unresolved keep-runtime" LIMITS
#define FILES " format decimal strict output"
#define HEAPS " pid dump allocator kind" FILES
#define JAVA " soft layout"

/* A line of a help text is a paragraph: help wraps it, and the man page fills it. Lines of examples stay as they
   are: at most 78 columns. */
static const command rows[] = {
    { .name = "record", .run = run_record, .defaults = record_defaults, .runs_program = true,
      .summary = "record a program's heap: leaks, peak, call stacks", .usage = "[OPTIONS] -- PROGRAM ARGS...",
      .help = "Runs a program and records its memory allocations with their call stacks. heapdump also records all "
      "processes that the program starts. The program needs no rebuild. The result is one Chromium trace. The trace "
      "gives each block a type: the name of the executable or library that allocated the block.\n"
      "The trace has up to four heaps for each process, and the option --kind of other commands selects one heap. "
      "live: memory at exit or at a crash (leaks). peak: memory at the moment of the highest memory use. total: all "
      "allocations of the process. temporary: blocks that were freed before the thread's next allocation.\n"
      "The option --at selects the moments of the dumps, for example --at exit,every=10. This list replaces the "
      "default peak,exit: the trace has no peak heap. A program that ends before its first dump gets a dump at "
      "exit.\n"
      "While the program runs, other commands can already read the trace. If child processes outlive the program, "
      "heapdump records them until they end, or until `heapdump stop` or Ctrl-C ends the recording. While the "
      "program runs, Ctrl-C interrupts only the program; heapdump then writes the trace. A second Ctrl-C while "
      "heapdump writes the trace discards the trace.\n"
      "If the program cannot be recorded or allocates nothing, heapdump writes no file.",
      .options = "output at children same-user keep blocks format ages threads depth sample stats bytes" LIMITS
                 CUTOFFS("default: --min-share 0.0001"),
      .examples = "heapdump record -o app.json -- ./app; heapdump tree app.json        # leaks\n"
                  "heapdump record -- ./app; heapdump tree --kind peak heapdump.app.*.json\n"
                  "heapdump record --at every=1 -o server.json -- ./server &\n"
                  "heapdump record --children 'worker' --sample 512k -- ./server\n"
                  "heapdump record --ages -o a.csv.zst -- ./app; heapdump tree --by age a.csv.zst" },
    { .name = "suspects", .run = run_suspects, .defaults = suspects_defaults,
      .summary = "find memory leaks: functions or objects that grow", .usage = "[OPTIONS] FILE...",
      .help = "Lists the most likely memory leaks on one screen, the most likely leak first.\n"
      "If the input has several dumps of one program, heapdump suspects lists functions whose memory grew from dump "
      "to dump. Steady growth ranks highest. Growth that slows down, reverses or skips a dump ranks lower. Memory "
      "that remains after the program has freed most of its memory ranks higher. Use at least three dumps.\n"
      "If the input has only one dump of a program, the command lists the functions that hold most memory. If the "
      "program freed everything before the end, the command lists the heap at its peak. A block is attributed to "
      "the innermost function on the call stack that is not an allocator, a container, strdup or a similar helper. "
      "The callers of this function follow on the next lines. In sampled dumps, the command ignores figures below "
      "two standard errors. For recordings with --ages, the list also shows how many bytes are older than one "
      "minute. The line 'not listed' sums up all other functions.\n"
      "If the input is a snapshot of objects, the command lists the objects with the largest retained size, each "
      "with a path from a GC root. For example, the list has a Map with a million entries, but not the object that "
      "refers to the Map. Large classes follow, each with the path that most objects of the class share. If the "
      "input has several snapshots of one process, the command lists the objects that hold more memory in each "
      "snapshot. The list has at most 6 objects. A separate section lists detached DOM nodes: nodes that JavaScript "
      "still holds after the page removed them.",
      .options = "top all sort frames wide bytes json csv keep drop root" NAMES HEAPS JAVA,
      .examples = "heapdump record --at exit,every=10 -o server.json -- ./server\n"
                  "heapdump suspects server.json\n"
                  "heapdump suspects before.heapsnapshot between.heapsnapshot after.heapsnapshot\n"
                  "heapdump suspects --json server.json | jq '.series[0].suspects[0].site'" },
    { .name = "tree", .run = run_tree, .defaults = tree_defaults,
      .summary = "show memory by call stack: a flame graph as text", .usage = "[OPTIONS] FILE...",
      .help = "Prints each heap as a tree of function calls. A line shows bytes, share of the total, number of "
      "blocks, and function. The bytes of a function include the bytes of all functions that it calls. The line "
      "<self> shows the function's own allocations. The line <other> shows the sum of all lines that are left out "
      "below the same parent. The line 'type: T' shows the blocks of type T.\n"
      "Functions share one line, 'a \xe2\x80\xba b', if a calls only b, and b has the same bytes and blocks. 'f "
      "\xc3\x97""50' means recursion: f, or a cycle of calls that begins with f, is up to 50 times in a row on the "
      "stack. 'lib.so (stripped) \xc3\x97""3' means three functions of lib.so without names.\n"
      "For a snapshot of objects, the tree shows which classes retain which other classes (dominators), and the "
      "number of objects.\n"
      "--by type groups blocks by their type first, and then by call stack. MemProf profiles can also be grouped by "
      "size, lifetime, heat and binary. pprof profiles can be grouped by their labels. Recordings with --ages and "
      "--threads can be grouped by age and thread.",
      .options = "by all sort frames wide every-route metric bytes json csv"
                 CUTOFFS("default: --min-share 0.01; on a terminal, as fits") WORK NAMES HEAPS JAVA,
      .examples = "heapdump tree --kind peak app.json              # memory at the peak\n"
                  "heapdump tree --invert --keep 'malloc|realloc' --entries 40 trace.json.gz\n"
                  "heapdump tree --by type --json trace.json | jq .heaps" },
    { .name = "diff", .run = run_diff, .defaults = diff_defaults,
      .summary = "show memory growth between two dumps", .usage = "[OPTIONS] BEFORE [AFTER]",
      .help = "Prints the changes between two dumps as a tree, the largest change first. Without a cut-off option, "
      "heapdump diff prints changes of at least 1% of the sum of all changes. If a file has several dumps, the "
      "command uses the last dump. If only one file is given, the command compares its first and last dump.\n"
      "Two heaps are compared if they have the same process, allocator and kind. If both files have a label with "
      "the same name, the values of this label must be equal too. The label 'profile' contains the file name, and "
      "may differ. If one file lacks a heap, heapdump prints 'none in FILE' for that heap. Functions are still "
      "recognized if the program was renamed or its source directory moved.\n"
      "The mark '?' means that the value is a bound, because one of the dumps leaves out this entry. If a dump "
      "was merged, the number after '?' is the largest possible error. The mark '~': sampling may explain it.\n"
      "Snapshots of objects are compared by class. All classes that changed are listed, the classes that grew "
      "first; --top limits the list. Two V8 snapshots are also compared object by object, if both are from one "
      "inspector session. For such snapshots, heapdump lists objects that are new, gone, or of another size. V8 "
      "gives new ids to all objects when a session ends. If more than 1% of the ids in both files belong to another "
      "class or name, heapdump compares only classes and prints a message. Dart snapshots are compared object by "
      "object if both are from one process and have identity hash codes.",
      .options = "before after match all live by sort frames wide every-route metric bytes json csv"
                 CUTOFFS("default: --min-share 0.01 of all change") WORK NAMES HEAPS JAVA,
      .examples = "heapdump diff server.json                      # its first dump and its last\n"
                  "heapdump diff base.json new.json\n"
                  "heapdump diff before.dartheap after.dartheap   # classes, new and gone objects" },
    { .name = "path", .run = run_path, .defaults = path_defaults,
      .summary = "show why an object is alive: the path from a GC root",
      .usage = "(--id ID | --class NAME) [OPTIONS] FILE",
      .help = "Shows why an object is alive: the shortest path of references from a GC root to the object (its "
      "retainers). Weak roots and weak references keep no object alive, so they are not part of a path. For V8 "
      "snapshots, heapdump prefers roots of the program to roots of the engine, like DevTools.\n"
      "--class shows why all objects of a class are alive. heapdump merges the shortest paths of these objects into "
      "one tree, by field and class. Each line shows the number and bytes of the objects that it leads to.\n"
      "A linked list takes one line, for example \"list of 300 Node (next)\", where 300 is the number of elements. "
      "A data structure that is a tree also takes one line, for example \"tree of Node\".\n"
      "A terminal shows variables, properties and classes, but no internal objects of the V8 engine. Every object "
      "is shown with --wide or --all, and in output to a file or pipe.",
      .options = "id paths class subclasses all wide bytes json csv" FILES JAVA,
      .examples = "heapdump path --id 60384 app.dartheap\n"
                  "heapdump path --class Script app.dartheap         # why all of them are alive\n"
                  "heapdump path --paths 5 --id 15 page.heapsnapshot" },

    { .name = "watch", .run = run_watch, .group = "running\0programs", .brief = "show a live table",
      .summary = "show a live table of a recording: RSS, growth (like top)",
      .usage = "[OPTIONS] FILE|PID", .needs = "the file of a recording, or the PID of a process",
      .help = "Shows which functions of a running process hold memory, which functions grow, and which functions "
      "allocate most. The columns are live bytes, blocks, growth per minute, bytes allocated per second, and the "
      "share of temporary allocations. A block is attributed to the function that asked for the memory, as in "
      "heapdump suspects. In sampled recordings, the number after \xc2\xb1 is the largest possible standard error.\n"
      "The lines above the table show the RSS of the process and its parts: live blocks, the allocator's own "
      "memory, stacks, mapped files, other mappings, and the recorder.\n"
      "FILE is the output file of a running recording, or the region file of record --keep. PID is the number of a "
      "recorded process. heapdump watch does not slow the program down, and the program never waits for it.\n"
      "Keys: s and S sort by another column. / filters by a regular expression. Space freezes the table. d shows "
      "the changes since the last freeze, or from now on if the table was never frozen. w writes a dump to a file. "
      "Tab selects the next process. ? lists all keys. q ends the live table, but not the recording; you can start "
      "it again.",
      .options = "every count sort filter top wait json output" LIMITS,
      .examples = "heapdump watch server.json\n"
                  "heapdump watch --sort growth --filter cache 1234\n"
                  "heapdump watch --json --every 10 server.json | jq '.sites[0]'" },
    { .name = "snapshot", .run = run_snapshot, .brief = "dump the live heap now",
      .summary = "dump the live heap of a running recording",
      .usage = "[OPTIONS] FILE|PID", .needs = "the file of a recording, or the PID of a process",
      .help = "Adds a dump of the live heaps of all processes to the file of a running recording. With -o, heapdump "
      "snapshot writes the dump to another file. FILE is the output file of the recording, and PID is the number of "
      "a recorded process. Only root and the user who started the recording can take a snapshot. The program keeps "
      "running, so two call stacks may show slightly different moments; the figures of one call stack are exact.",
      .options = "output wait",
      .examples = "heapdump snapshot app.json; heapdump tree app.json     # live memory now" },
    { .name = "stop", .run = run_stop, .brief = "end a recording",
      .summary = "end a recording while the program goes on",
      .usage = "[OPTIONS] FILE|PID", .needs = "the file of a recording, or the PID of a process",
      .help = "Ends a recording, and returns when the output file of the recording is complete. FILE is the output "
      "file of the recording, and PID is the number of a recorded process. The program continues, but heapdump does "
      "not record later allocations of the program. The process `heapdump record` waits until the program ends.",
      .options = "wait", .examples = "heapdump stop server.json; heapdump suspects server.json" },
    { .name = "recover", .run = run_recover, .brief = "read a killed recording",
      .summary = "read a recording (record --keep) after heapdump was killed",
      .usage = "[OPTIONS] FILE", .needs = "the region file of record --keep",
      .help = "Writes the trace that `heapdump record --keep FILE` could not write because heapdump was killed. The "
      "trace has the four heaps of each process at the end of the recording. Dumps from --at every and from "
      "heapdump snapshot are lost, because FILE does not contain them. heapdump recover does not change FILE.",
      .options = "output" LIMITS CUTOFFS("default: --min-share 0.0001"),
      .examples = "heapdump record --keep app.region -o app.json -- ./app\n"
                  "heapdump recover app.region -o app.json; heapdump tree app.json" },
    { .name = "capture", .run = run_capture, .defaults = capture_defaults, .brief = "snapshot Node/Chrome/Dart/Java",
      .summary = "take a heap snapshot of running Node, Chrome, Dart or Java",
      .usage = "[OPTIONS] PORT|HOST:PORT|URL|PID",
      .needs = "a port: 9229 for node --inspect, 9222 for chrome --remote-debugging-port=9222, or a Dart VM's URL",
      .help = "Takes a heap snapshot of a running program. For Node (node --inspect, port 9229) and Chrome "
      "(--remote-debugging-port), heapdump uses the inspector. For Dart (--enable-vm-service), heapdump uses the "
      "service of the Dart VM. PORT is a port of this machine. URL is the address that a Dart VM prints; it begins "
      "with http:// or ws://.\n"
      "The program pauses while its VM writes the heap. If the program has several pages, workers or isolates, "
      "heapdump lists them; select one with --target.\n"
      "To find growth, use --every and --count: all snapshots are then from one inspector session. heapdump diff "
      "and suspects can compare such snapshots object by object. If you run capture twice instead, V8 gives new ids "
      "to all objects, and only classes can be compared.\n"
      "With --jvm PID, a Java VM (HotSpot) writes its heap as an HPROF file. Run heapdump capture as root or as the "
      "user of the JVM. The JVM may run in a container.",
      .options = "jvm live target gc every count output",
      .examples = "heapdump capture --jvm 4711 -o app.hprof; heapdump suspects app.hprof\n"
                  "heapdump capture 9229 -o app.heapsnapshot; heapdump suspects app.heapsnapshot\n"
                  "heapdump capture --target worker --every 60 --count 3 9222 -o tab.heapsnapshot\n"
                  "heapdump capture --gc ws://127.0.0.1:8181/TOKEN=/ws -o app.dartheap" },

    { .name = "top", .run = run_top, .defaults = top_defaults, .group = "profiles", .brief = "list functions by size",
      .summary = "list the functions, types or classes that hold most", .usage = "[OPTIONS] FILE...",
      .help = "Lists functions by memory: total bytes with callees, own bytes, and blocks. A function that is twice "
      "on a call stack counts once.\n"
      "A heap that leaves out small entries (a condensed heap) does not assign all bytes to functions. For such a "
      "heap, 'unlisted' shows bytes that belong either to the function or to callees that are left out. The mark "
      "\xe2\x89\xa4 means that the function's own bytes are at most the printed value.",
      .options = "top all by sort self frames wide metric bytes json csv" WORK NAMES HEAPS,
      .examples = "heapdump top --self server.json" },
    { .name = "pages", .run = run_pages, .brief = "find fragmentation",
      .summary = "find fragmentation: functions that keep pages nearly empty",
      .usage = "[OPTIONS] FILE|PID", .needs = "the file of a recording, or the PID of a process",
      .help = "Shows which functions keep nearly empty memory pages resident (fragmentation). An allocator can "
      "return a page to the system only when the page has no block. A block is attributed to the function that "
      "asked for the memory, as in heapdump suspects.\n"
      "The column 'pages' shows the bytes of all pages with at least one block of the function. The column 'own "
      "pages' shows the bytes of pages where all blocks belong to the function; the allocator could return these "
      "pages if the function freed its blocks. The column 'share' shows the function's part of all pages. Each "
      "function gets a part of a page in proportion to its bytes on this page. The column 'live' shows the bytes of "
      "the function's blocks. The column 'full' shows how much of the function's pages is filled with blocks of any "
      "function.\n"
      "FILE is the output file of a running recording with --blocks or with --format memprof-raw, or the region "
      "file of record --blocks --keep. PID is the number of a recorded process. A region file also contains "
      "processes that have ended. Other files cannot be used, because they do not contain the addresses of blocks.\n"
      "All sizes are requested sizes. The allocator's own bytes next to a block are unknown.",
      .options = "top all by page-size pid wait wide bytes json csv output" LIMITS,
      .examples = "heapdump record --blocks --keep app.region -- ./app; heapdump pages app.region\n"
                  "heapdump record --blocks -o server.json -- ./server &\n"
                  "sleep 1; heapdump pages server.json; heapdump stop server.json" },
    { .name = "check", .run = run_check, .defaults = check_defaults, .brief = "set limits for CI",
      .summary = "fail if memory grew, or exceeds a limit (CI gate)", .usage = "[OPTIONS] BASELINE FILE",
      .help = "Fails if a program uses more memory than before, or more than a limit. heapdump check compares the "
      "heaps of FILE with limits and with the heaps of BASELINE. Matching heaps are found as in heapdump diff. The "
      "live heaps of the last dump are compared; --kind peak compares the peaks. If BASELINE lacks a heap, the "
      "whole heap counts as growth. The exit status is 0 if all values are within the limits. The exit status is 1 "
      "if a value exceeds its limit, or if a file cannot be read.\n"
      "In sampled heaps, a value above its limit fails only if sampling cannot explain the difference. Otherwise "
      "the line shows 'noise'. If the true value is exactly at the limit, fewer than 1 in 100 runs of check fail by "
      "chance. In a dump that leaves out small entries, a function may hold more bytes than heapdump check counts.",
      .options = "max-growth max-total site match bytes json csv" WORK NAMES HEAPS,
      .examples = "heapdump check base.json new.json\n"
                  "heapdump check --max-growth 3% --max-total 200M base.json new.json\n"
                  "heapdump check --site 'Cache::=20M' base.json new.json" },
    { .name = "report", .run = run_report, .brief = "draw a flame graph",
      .summary = "write a page for a browser: flame graph, time line, objects",
      .usage = "[OPTIONS] FILE [FILE2] -o report.html",
      .help = "Writes one HTML page that needs no network. With two files, the page shows the growth.\n"
      "For profiles, the page shows an icicle or flame graph of the call stacks, with search, zoom and a bottom-up "
      "view. The page also has a table of all functions. A time line shows all dumps of the file; the reader can "
      "compare any two dumps.\n"
      "For snapshots of objects, the page shows a map of retained sizes, a table of classes, and for each object "
      "its references and its path from a GC root. With two snapshots, the page compares them by class.",
      .options = "by metric pages entries keep drop root" NAMES HEAPS JAVA,
      .examples = "heapdump report -o server.html server.json\n"
                  "heapdump report -o grown.html base.json new.json\n"
                  "heapdump record --blocks --keep app.region -o app.json -- ./app\n"
                  "  heapdump report --pages app.region -o app.html app.json" },

    { .name = "classes", .run = run_classes, .group = "snapshots", .brief = "list classes",
      .summary = "list classes: objects, bytes and retained size", .usage = "[OPTIONS] FILE...",
      .help = "Lists the classes of a snapshot. The column 'retained' shows the memory that would be freed if all "
      "objects of the class were freed. The column 'live' counts the objects that a GC root reaches. The last two "
      "columns also count garbage. If a snapshot has more than 1008 live classes, the sizes of the smallest classes "
      "are lower bounds, marked with >. Exact sizes take up to 16 passes over the objects.",
      .options = "top all by wide bytes json csv" FILES JAVA,
      .examples = "heapdump classes app.dartheap\n"
                  "heapdump classes --by loader app.hprof" },
    { .name = "retained", .run = run_retained, .brief = "list the largest holders",
      .summary = "list the objects with the largest retained size", .usage = "[OPTIONS] FILE...",
      .help = "Lists the objects with the largest retained size. The retained size of an object is the memory that "
      "would be freed together with the object.",
      .options = "top class subclasses all wide bytes json csv" FILES JAVA,
      .examples = "heapdump retained --top 10 game.log            # next: heapdump path --id ID" },
    { .name = "objects", .run = run_objects, .brief = "list objects of a class",
      .summary = "list objects of a class, or objects that match a condition",
      .usage = "(--class NAME | --where CONDITION) [OPTIONS] FILE...",
      .help = "Lists the objects of a class that a GC root reaches, the largest retained size first. Each line "
      "shows the sizes, id, class and values of an object. Dart snapshots have values and fields. V8 snapshots have "
      "strings, properties, and the source location of closures and constructors. V8 snapshots also have the "
      "allocating function if allocations were tracked.\n"
      "A CONDITION has one of three forms. 'length>1000' compares the length, the size or the retained size of an "
      "object with a number; the comparison can be <, <=, =, >= or >. Strings have a length; in Dart, lists, maps "
      "and sets have a length too. 'FIELD=REGEX' matches the class or value of the object in that field. 'detached' "
      "matches objects that V8 marks as detached: DOM nodes that JavaScript still holds after the page removed "
      "them, and some objects of Node. To list only detached DOM nodes, use heapdump suspects.",
      .options = "class subclasses where garbage top all wide bytes json csv" FILES JAVA,
      .examples = "heapdump objects --class Script --where 'url_=visitor' app.dartheap\n"
                  "heapdump objects --class _List --where 'length>1000' --csv app.dartheap\n"
                  "heapdump objects --where 'retained>1M' game.log\n"
                  "heapdump objects --where detached page.heapsnapshot" },
    { .name = "object", .run = run_object, .defaults = object_defaults, .brief = "show one object",
      .summary = "show one object: value, references, retainers, dominator", .usage = "[OPTIONS] FILE ID|--id ID",
      .help = "Shows one object: its class, its value, its sizes, the objects that its fields refer to, and the "
      "objects that refer to it. The next lines show the dominator of the object, and the objects that the object "
      "dominates. An object is freed as soon as its dominator is freed. Each line has an id that you can use in the "
      "next call. For V8 snapshots, heapdump also shows whether a DOM node is detached, and the source location. If "
      "allocations were tracked, heapdump shows the call stack of the allocation.\n"
      "A mark shows references that do not keep an object alive. The marks are: weak; key or value of an ephemeron "
      "(an entry of a WeakMap); shortcut; and references from the V8 engine to an object of the page. DevTools "
      "treats the last two kinds in the same way.",
      .options = "id top all bytes json csv" FILES JAVA,
      .examples = "heapdump object app.dartheap 1          # the root of a Dart snapshot\n"
                  "heapdump object --json app.dartheap 60384 | jq '.files[0].referrers[].id'\n"
                  "heapdump object game.log 7cb42          # an id from retained or path" },
    { .name = "strings", .run = run_strings, .brief = "list duplicate strings",
      .summary = "list duplicate strings, and the memory that they waste", .usage = "[OPTIONS] FILE...",
      .help = "Lists the strings that a Dart or V8 snapshot contains more than once, the most wasteful string "
      "first. The waste of a string is the size of all its copies except the largest copy. The mark '?' means that "
      "the snapshot contains only the beginning of the string. The total does not include cut strings, because they "
      "may differ later on.",
      .options = "top all garbage wide bytes json csv format strict output",
      .examples = "heapdump strings --top 50 app.dartheap\n"
                  "heapdump strings --json app.dartheap | jq '.files[0].strings[].text'" },
    { .name = "threads", .run = run_threads, .brief = "list thread stacks",
      .summary = "list threads: stacks, and the memory that locals retain", .usage = "[OPTIONS] FILE...",
      .help = "Lists the threads in a heap dump of a Java VM (hprof), with state and stack. The thread whose local "
      "variables retain most comes first. Below each frame are its local variables: retained size, class, value and "
      "id. The retained size of a thread counts each object once. Behind 1008 threads, > marks lower bounds.\n"
      "After the id of a thread is the retained size of its java.lang.Thread object, with all ThreadLocal values. A "
      "terminal shows the three largest local variables of a thread; --all and pipes show the whole stack.",
      .options = "top all wide bytes json csv" FILES JAVA, .examples = "heapdump threads app.hprof" },

    { .name = "info", .run = run_info, .group = "files", .brief = "list the contents",
      .summary = "list the contents of a file, and the parts of the RSS", .usage = "[OPTIONS] FILE...",
      .help = "Lists the contents of a file. Profiles: processes, dumps and allocators with their attributes. "
      "Snapshots: numbers of objects, references and roots. Dart snapshots: also attributes of the isolate, objects "
      "by kind of data, libraries, and lists, maps and sets by length. Raw MemProf profiles: version, sums of all "
      "fields, and segments with build ids. Indexed MemProf profiles: schema and counts.\n"
      "The column 'time' is the time on the clock of the file: for recordings, seconds since the machine started. "
      "The column 'holds' counts call stacks: 'contexts' have own bytes, and 'entries' have bytes with callees. The "
      "kind of the heap follows, unless it is live.\n"
      "For a recording, heapdump info also shows the parts of the RSS of each process: live blocks, the allocator's "
      "other memory, stacks, mapped files, other anonymous mappings, and the recorder. heapdump shows the last "
      "figures that were read before the dump. Use --all or --dump to see the figures of every dump.",
      .options = "all bytes json csv" HEAPS, .examples = "heapdump info server.json" },
    { .name = "validate", .run = run_validate, .brief = "check the format",
      .summary = "check that a file is well-formed, and list each error", .usage = "[OPTIONS] FILE...",
      .help = "Lists all errors in a heap dump file. Use heapdump validate to test a program that writes heap "
      "dumps. Errors are violations of the format, functions, types and allocators that hold less than their "
      "children, and references to missing objects. The exit status is 0 if the file has no errors, and 1 otherwise.",
      .options = "all json csv format decimal output",
      .examples = "heapdump validate trace.json\n"
                  "heapdump validate --json *.heapsnapshot | jq '.files[] | .findings'" },
    { .name = "convert", .run = run_convert, .defaults = written_defaults, .brief = "write another format",
      .summary = "convert to another format, or make a file smaller", .usage = "[--to FORMAT] [OPTIONS] FILE",
      .help = "Writes a file in another format. Select the format with --to, or with the ending of the name after "
      "-o. chrome: a trace for the trace viewer, with sizes that include callees. heaps_v2: a trace with sizes that "
      "exclude callees. folded: one line per call stack, for flame graph tools. pprof: one dump of a process, for "
      "go tool pprof and others. rows: a table for SQL engines. netcf, dart and heapsnapshot: snapshots of objects. "
      "If you convert a snapshot to a profile format, the file gets the dominator tree of the snapshot.\n"
      "If a format can hold only one dump, heapdump writes the last dump; --dump selects another dump. If a format "
      "can hold only one kind of heap, heapdump writes the live heap; --kind selects another heap. A message lists "
      "all data that is lost.\n"
      "To make a file smaller, use --output-bytes 100k: the new file has at most 100 KiB. --entries 500 keeps 500 "
      "entries of each heap. --min-share 1% keeps the entries with at least 1% of their heap. heaps_v2 takes none "
      "of them.\n"
      "A function without a name, such as libfoo.so+0x1234, gets its name if the library is on this machine. V8 "
      "snapshots are written without garbage, and a message shows how many objects are left out. Dart snapshots are "
      "written with strings, numbers, lengths and names. If the input file already has the new format, heapdump "
      "copies the file without its malformed parts. To copy a raw MemProf profile, use --to memprof-raw.",
      .options = "to memprof-version like full-schema hot-cold-schema prune base add-to"
                 CUTOFFS("default: everything is listed") WORK NAMES HEAPS JAVA,
      .examples = "heapdump convert --to chrome --output-bytes 100k -o small.json big.json\n"
                  "heapdump convert -o app.folded app.json" },
    { .name = "merge", .run = run_merge, .defaults = written_defaults, .brief = "add up many files",
      .summary = "add up the heaps of many processes, hosts or files", .usage = "[OPTIONS] FILE...",
      .help = "Adds up heaps of the same allocator and kind, for all files and processes. heapdump merge uses the "
      "last live, peak, total and temporary heap of each process. A text profile (heap-text) may lack the total "
      "heap because it equals the live heap. If all files are text profiles, heapdump then uses the live heap as "
      "the total heap. If two programs have different names, a function of one program is added to a function of "
      "the other only if both have the same name and source file.\n"
      "Select the output format with --to, or with the ending of the name after -o. Otherwise the sum has the "
      "format of the input files if this format can hold it, and else is a Chromium trace. Use --to rows if you "
      "want to merge the result again later without loss.\n"
      "MemProf: the sum is a raw profile if the first FILE is a raw profile, or with --to memprof-raw. The sum is "
      "an indexed profile if one FILE is an indexed profile, or with --to memprof-index. An indexed profile also "
      "has the callees and the accesses to data. To merge raw profiles into an indexed profile, use --binary. With "
      "--to memprof-yaml, heapdump writes an indexed profile as YAML. heapdump keeps only one raw profile in memory "
      "at a time. If the files are pipes, heapdump gets the format only from the first pipe; --to is safer.\n"
      "If a file cannot be read, heapdump prints a message and omits the file. A heap is omitted too if the sum "
      "would have more than 2^64 bytes, or blocks with more than 8 properties (such as age and thread). The exit "
      "status is then 1. With --strict, heapdump then writes no output file.",
      .options = "all to memprof-version like full-schema hot-cold-schema prune base add-to"
                 CUTOFFS("default: everything is listed") WORK NAMES HEAPS,
      .examples = "heapdump merge -o fleet.json host*.json\n"
                  "heapdump merge -o all.memprofraw run*.memprofraw" },
    { .name = "rows", .run = run_rows, .brief = "write a table for SQL",
      .summary = "write a table for SQL engines: a row per call stack and type", .usage = "[OPTIONS] FILE...",
      .help = "Writes all heaps of all files as one table for DuckDB, ClickHouse and other SQL engines. The table "
      "is CSV or JSON lines. The man page describes the columns.\n"
      "For pprof and other full profiles, each row has the own bytes of one call stack and type, so you can add up "
      "the rows. For files of heapdump record, each row has the bytes of a function including its callees. A sum "
      "over these rows counts most bytes several times. To get the total of such a heap, select the row with stack "
      "= '' and type = ''. Each kind of heap (live, peak, total, temporary) has its own such row. To get own bytes "
      "by call stack, convert the file to pprof first, as in the last example.\n"
      "heapdump can read such a table like any other file, with all heaps. The table has no attributes of processes "
      "and allocators, such as the RSS. If a file cannot be read, heapdump prints a message and omits the file; the "
      "exit status is then 1. With --strict, heapdump writes no file. heapdump reads each file twice, first to find "
      "the names of the columns. A pipe is read once, and its contents stay in memory.",
      .options = "label json-lines" WORK NAMES HEAPS,
      .examples = "heapdump rows --label host=a1 --label day=2026-11-22 -o a1.csv.zst *.pb.gz\n"
                  "heapdump rows -o fleet.jsonl host*/*.json\n"
                  "heapdump merge --to rows -o p1.csv host1*.pb; heapdump merge -o all.pb p*.csv\n"
                  "heapdump rows -o app.csv app.json              # totals of a recording:\n"
                  "  sqlite3 -cmd '.import --csv app.csv r' :memory: \"SELECT dump, kind,\n"
                  "    sum(bytes) FROM r WHERE stack = '' AND type = '' GROUP BY dump, kind\"\n"
                  "heapdump convert --to pprof -o app.pb app.json     # largest call stacks:\n"
                  "  heapdump rows -o own.csv app.pb\n"
                  "  sqlite3 -cmd '.import --csv own.csv r' :memory: \"SELECT sum(bytes), stack\n"
                  "    FROM r WHERE kind = 'live' GROUP BY stack ORDER BY 1 DESC LIMIT 5\"" },

    { .name = "memprof", .run = run_memprof, .group = "MemProf", .brief = "list hot/cold hints",
      .summary = "list the records of a MemProf profile, or hot and cold hints",
      .usage = "--binary PROGRAM [OPTIONS] FILE...",
      .help = "Prints the records of MemProf profiles, like `llvm-profdata show --memory`. A record describes one "
      "function: its allocations with call stacks and all measured fields, and its calls of other functions. Line "
      "numbers count from the first line of the function.\n"
      "If the input files are raw profiles, heapdump adds them up. If the input is an indexed profile, only one "
      "file is allowed. With --binary, heapdump shows the names of functions, and leaves out the frames of raw "
      "profiles that have no name. Without --binary, heapdump shows BUILDID+0xOFFSET for raw profiles, and hashes "
      "of function names (GUIDs) for indexed profiles.\n"
      "--hints shows how clang classifies each allocation by operator new: cold, not cold, hot, or ambiguous. Cold "
      "memory is memory that the program rarely accesses. An ambiguous allocation is cold for some callers, and not "
      "cold for others. For such an allocation, clang copies functions to separate the callers, and --hints shows "
      "the callers that decide. Call stacks that clang does not separate share one row. The printed densities and "
      "lifetimes are averages of the allocations. clang 22 keeps all cold call stacks, and the other call stacks "
      "that it needs to separate the cold call stacks. An allocation is hot only if all its call stacks are hot.\n"
      "--effect HINTS shows whether the hints from the profile HINTS were right. FILE must be a profile of a later "
      "run of the same source. --effect shows how many bytes with a cold hint were cold again, and which call "
      "stacks were not cold again. Instrument the program again for the later run, without the hints: clang does "
      "not instrument allocations that have hints.",
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
      .help = "Makes an indexed MemProf profile for clang's -fmemory-profile-use from raw MemProf profiles, like "
      "`llvm-profdata merge`. heapdump adds up all raw profiles by call stack. Function names come from the "
      "programs and libraries after --binary; you can repeat --binary. If the input is an indexed profile, heapdump "
      "writes this profile again, for example in another version.\n"
      "If a file cannot be read, heapdump prints a message and omits the file; the exit status is then 1. With "
      "--strict, heapdump writes no output file.",
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
    heaps_view = memprof_view, heaps_recorded_now = recorded_now, record_as_memprof = memprof_recorded;
    setvbuf(stderr, NULL, _IOLBF, BUFSIZ); /* messages are written in pieces: keep lines whole */
    memory_reuse();
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
