/* The options of all commands: a row each. The first line of a help text is for `heapdump help COMMAND`: at most 55
   characters, with the default in brackets. The rest is for the man page. */

#include "options.h"

const option_row option_rows[] = {
    { "", "output", "FILE", take_text, AT(out.file),
      "write here [standard output]; .gz, .zst, .xz compress\n"
      "The output is compressed if the name ends in .gz, .zst or .xz." }, /* also -o */
    { "record", "output", "FILE", take_text, AT(out.file),
      "write here [heapdump.PROGRAM.PID.json]\n"
      "The file is compressed at its end if the name ends in .gz, .zst or .xz." },
    { "capture", "output", "FILE", take_text, AT(out.file),
      "write here [heapdump.PORT.*]; NAME.1.* with --count\n"
      "The ending is .heapsnapshot or .dartheap. With --count 2, -o app.heapsnapshot writes app.1.heapsnapshot and "
      "app.2.heapsnapshot. "
      "The file is compressed if the name ends in .gz, .zst or .xz." },
    { "snapshot", "output", "FILE", take_text, AT(out.file),
      "write a separate file [add a dump to the recording]\n"
      "The file is compressed if the name ends in .gz, .zst or .xz." },
    { "watch", "output", "FILE", take_text, AT(out.file),
      "file of the key w [heapdump.PROGRAM.PID.N.json]\n"
      "N is another number each time." },
    { "recover", "output", "FILE", take_text, AT(out.file),
      "write here [FILE.json]; .gz, .zst, .xz compress\n"
      "The file is compressed if the name ends in .gz, .zst or .xz." },
    { "", "json", NULL, take_flag, AT(view.json), "print one JSON value" },
    { "watch", "json", NULL, take_flag, AT(view.json),
      "print a line of JSON at each update; no terminal needed\n"
      "The output ends when no recorded process is alive." },
    { "info", "json", NULL, take_flag, AT(view.json), "print one JSON value with all details" },
    { "object", "json", NULL, take_flag, AT(view.json),
      "print one JSON value\n"
      "Lists are shortened as in text, and have their full length." },
    { "memprof", "json", NULL, take_flag, AT(view.json), "print JSON; adds files, lines and discriminators" },
    { "", "csv", NULL, take_csv, AT(view.csv),
      "print the rows of --json as a table (RFC 4180)\n"
      "A name that a spreadsheet would take for a formula, since it begins with =, +, - or @, gets a ' in front." },
    { "", "bytes", NULL, take_flag, AT(view.exact), "print bytes in full, not as KiB and MiB" },
    { "info", "bytes", NULL, take_flag, AT(view.exact), "print bytes of snapshots in full, not as KiB and MiB" },
    { "", "strict", NULL, take_flag, AT(input.strict), "stop at the first malformed part [skip it, and warn]" },
    { "", "decimal", NULL, take_flag, AT(input.decimal), "sizes in .NET dumps are decimal [hexadecimal]" },

    { "", "format", "NAME", take_format, AT(input.format),
      "input format [by first bytes]; NAME help lists all\n"
      "It overrides the recognized format." },

    /* Lists and cut-offs. */
    { "", "min-bytes", "N", take_bytes, AT(cut.cutoff.min_bytes),
      "list entries of at least N bytes (k, M, G: x 1024)" },
    { "", "min-share", "F", take_share, AT(cut.cutoff.min_share),
      "list entries with at least this share of the total\n"
      "A share is 0 to 1, or a percentage such as 5%." },
    { "", "min-parent-share", "F", take_share, AT(cut.cutoff.min_parent_share),
      "list entries with at least this share of their parent" },
    { "", "top", "K", take_count, AT(cut.cutoff.top),
      "list the K largest children of each entry\n"
      "An entry has up to K callees and K types. A deep tree stays large: --output-bytes and --min-share make "
      "smaller files." },
    { "top", "top", "K", take_count, AT(cut.cutoff.top), "number of names [20; on a terminal, as fits]" },
    { "classes", "top", "K", take_count, AT(cut.cutoff.top), "number of classes [all; on a terminal, as fits]" },
    { "retained", "top", "K", take_count, AT(cut.cutoff.top), "number of objects [20; on a terminal, as fits]" },
    { "object", "top", "K", take_count, AT(cut.cutoff.top), "length of each list [10]" },
    { "suspects", "top", "K", take_count, AT(cut.cutoff.top), "number of suspects [10]" },
    { "watch", "top", "K", take_count, AT(cut.cutoff.top), "number of sites with --json [20]" },
    { "objects", "top", "K", take_count, AT(cut.cutoff.top),
      "number of objects [20; on a terminal, as fits]\n"
      "With --json and --csv, the default is all." },
    { "strings", "top", "K", take_count, AT(cut.cutoff.top), "number of strings [20; on a terminal, as fits]" },
    { "", "entries", "N", take_count, AT(cut.cutoff.max_entries),
      "list the N most informative entries of each heap\n"
      "An entry with all bytes of its caller adds no information, and one with half of them adds most. Large entries "
      "add more than small ones." },
    { "report", "pages", "RECORDING", take_text, AT(watch.pages),
      "add a map of its memory pages (fragmentation)\n"
      "RECORDING is the file or PID of a running recording, or a file of record --keep; see heapdump pages." },
    { "report", "entries", "N", take_count, AT(cut.cutoff.max_entries),
      "number of entries or objects on the page [100000]\n"
      "The page has the largest ones, of all heaps together." },
    { "", "output-bytes", "N", take_some_bytes, AT(cut.cutoff.max_output_bytes),
      "like --entries, for N bytes of trace per heap" },
    { "pages", "top", "K", take_count, AT(cut.cutoff.top),
      "number of sites [20; on a terminal, as fits]\n"
      "With --json and --csv, the default is all." },
    { "pages retained objects strings", "all", NULL, take_flag, AT(cut.all), "list all" },
    { "tree", "all", NULL, take_flag, AT(cut.all),
      "list all dumps, heaps and entries\n"
      "The default is the last dump of each process, and of more than ten heaps the largest." },
    { "top", "all", NULL, take_flag, AT(cut.all),
      "list all dumps, heaps and names\n"
      "The default is the last dump of each process, and of more than ten heaps the largest." },
    { "merge", "all", NULL, take_flag, AT(cut.all), "add up all dumps [the last dump of each process]" },
    { "info", "all", NULL, take_flag, AT(cut.all), "list every attribute, library and length" },
    { "diff", "all", NULL, take_flag, AT(cut.all),
      "list all changed objects and heaps [10 of each]\n"
      "The default is 10 objects that are new, gone or changed, and of more than ten heaps the most changed." },
    { "object", "all", NULL, take_flag, AT(cut.all), "print whole lists and strings" },
    { "classes", "all", NULL, take_flag, AT(cut.all), "list all classes on a terminal too" },
    { "path", "all", NULL, take_flag, AT(cut.all),
      "list every step (--id), and rare paths (--class)\n"
      "This is for terminals too." },
    { "suspects", "all", NULL, take_flag, AT(cut.all), "for snapshots: list all suspects, paths and names whole" },
    { "validate", "all", NULL, take_flag, AT(cut.all), "list all findings [100 per file]" },
    { "memprof", "all", NULL, take_flag, AT(cut.all), "with --hints: print whole call stacks" },

    /* Selection and display of heaps. */
    { "", "pid", "N", take_pid, AT(heaps.pid), "only heaps of this process" },
    { "", "dump", "ID", take_text, AT(heaps.dump), "only heaps of this dump" },
    { "", "allocator", "NAME", take_text, AT(heaps.allocator), "only heaps of this allocator" },
    { "", "by", "AXIS", take_text, AT(view.by),
      "break down by this axis first [backtrace]\n"
      "All profiles have backtrace, and most have type. MemProf profiles also have size, lifetime, heat and "
      "binary; pprof profiles have the keys of their labels; recordings with --ages and --threads have age and "
      "thread." },
    { "pages", "by", "SITE", take_text, AT(view.by),
      "function, stack (call stack) or type [function]\n"
      "type is the executable or library that allocated, or the type." },
    { "pages", "pid", "N", take_pid, AT(heaps.pid), "only this process [all of a file; the given PID]" },
    { "pages", "page-size", "BYTES", take_some_bytes, AT(record.page_size),
      "a power of two; 2M: huge pages [this machine's]" },
    { "top", "by", "AXIS", take_text, AT(view.by),
      "list the names of this axis [backtrace: functions]\n"
      "All profiles have backtrace, and most have type. MemProf profiles also have size, lifetime, heat and "
      "binary; pprof profiles have the keys of their labels; recordings with --ages and --threads have age and "
      "thread." },
    { "", "frames", "all|hidden", take_frames, AT(view.frames_all),
      "all: show every function; hidden: list hidden functions\n"
      "By default, functions of allocators and functions that start programs are hidden, and chains of calls "
      "share a line. all shows each function on its own line. hidden lists the hidden functions, with their "
      "object files and the bytes of their stacks." },
    { "", "wide", NULL, take_flag, AT(view.wide), "print whole names [shortened to the terminal's width]" },
    { "", "every-route", NULL, take_flag, AT(view.every_route), "break each entry down along every axis" },
    { "", "self", NULL, take_flag, AT(view.by_self), "sort by own bytes, without callees" },
    { "", "metric", "FIELD", take_metric, AT(memprof.field),
      "MemProf: show this field instead of bytes (TotalSize)\n"
      "Fields are AllocCount, TotalAccessCount, MaxLifetime and others. average, or average:FIELD, divides by the "
      "number of allocations." },
    { "", "kind", "KIND", take_kind, AT(heaps.kind),
      "live, peak, total or temporary heaps only\n"
      "tree, top, diff and check use live heaps by default, if the file has any." },
    { "", "keep", "REGEX", take_pattern, AT(heaps.keep), "only stacks with a matching function, or type=REGEX" },
    { "record", "keep", "FILE", take_text, AT(record.region),
      "record into this new file, for heapdump recover\n"
      "The file survives even if heapdump is killed. It is not removed. It is sparse: ls shows up to 1 TiB." },
    { "", "drop", "REGEX", take_pattern, AT(heaps.drop), "no stacks with a matching function, or type=REGEX" },
    { "", "root", "REGEX", take_pattern, AT(heaps.root), "begin call stacks at the outermost matching function" },
    { "", "invert", NULL, take_flag, AT(view.invert), "innermost functions first, then their callers" },
    { "", "before", "ID", take_text, AT(heaps.before), "first dump [last of BEFORE; in one file, its first]" },
    { "", "after", "ID", take_text, AT(heaps.after), "second dump [the last]" },
    { "", "match", "process", take_match, AT(heaps.match_process),
      "compare only heaps with equal process names\n"
      "By default, two heaps with other names are compared too, if each file has no other heap of this allocator "
      "and kind." },
    { "", "max-growth", "PERCENT", take_percent, AT(check.max_growth),
      "limit for growth of each heap [5% if no other limit]" },
    { "", "max-total", "BYTES", take_some_bytes, AT(check.max_total),
      "limit for bytes of each heap (k, M, G: x 1024)" },
    { "", "site", "REGEX=BYTES", take_site, AT(check.sites),
      "limit for a matching function; may be repeated\n"
      "type=REGEX=BYTES is a limit for a type." },
    { "", "live", NULL, take_flag, AT(objects.live), "only objects that a GC root holds (no garbage)" },

    /* Selection of objects. */
    { "path", "id", "ID", take_text, AT(objects.id), "the object: an id from retained or objects" },
    { "object", "id", "ID", take_text, AT(objects.id), "the object [ID after FILE]" },
    { "retained", "class", "NAME", take_text, AT(objects.class_name),
      "print the size that all objects of a class retain" },
    { "path", "class", "NAME", take_text, AT(objects.class_name),
      "all objects of this class: a tree of shortest paths" },
    { "objects", "class", "NAME", take_text, AT(objects.class_name), "list objects of this class" },
    { "", "subclasses", NULL, take_flag, AT(objects.subclasses), "also classes that extend it (Dart)" },
    { "", "where", "CONDITION", take_where, AT(objects.where),
      "list objects that match; may be repeated\n"
      "A condition is length, size or retained, then <, <=, =, >= or > and a number (k, M, G: times 1024); or "
      "detached, for objects that V8 marks as detached; or FIELD=REGEX, for the class or value of the object in "
      "that field." },
    { "", "paths", "N", take_count, AT(objects.paths),
      "number of paths [1]\n"
      "Each path has no object of earlier ones. Paths of at most 64 different lengths are listed." },
    { "objects", "garbage", NULL, take_flag, AT(objects.garbage), "list objects that no GC root holds too" },
    { "", "garbage", NULL, take_flag, AT(objects.garbage), "count strings that no GC root holds too" },

    /* Outputs. */
    { "", "json-lines", NULL, take_flag, AT(out.json_lines),
      "write JSON lines [by the name after -o; else CSV]\n"
      "The names .jsonl, .ndjson and .json mean JSON lines." },
    { "", "label", "NAME=VALUE", take_label, AT(input.labels),
      "add a column to all rows; may be repeated\n"
      "A label named profile replaces the name of the file." },
    { "merge", "to", "FORMAT", take_text, AT(out.to),
      "output format [by the name of -o, else of the inputs]\n"
      "chrome, heaps_v2 without a cut-off, another format of heaps, memprof-raw, or memprof-index. The endings of "
      "-o are .pb, .folded, .csv, .jsonl, .json, .speedscope.json, .memprofraw and .profdata. The format of the "
      "inputs is used if it can hold the sum; else chrome is. MemProf profiles become raw, or indexed if one is." },
    { "convert", "to", "FORMAT", take_text, AT(out.to), NULL },
    { "merge", "add-to", "TRACE", take_text, AT(out.add_to), "write TRACE with the result added" },
    { "convert", "add-to", "TRACE", take_text, AT(out.add_to), "write TRACE with the heaps added, else unchanged" },
    { "merge", "memprof-version", "N", take_text, AT(memprof.version),
      "1 to 5, of memprof-raw [the first with all fields]\n"
      "For memprof-index see heapdump index, also for the five options that follow." },
    { "convert", "memprof-version", "N", take_text, AT(memprof.version),
      "1 to 5, of memprof-raw [unchanged]\n"
      "For memprof-index see heapdump index, also for the five options that follow." },
    { "index", "memprof-version", "N", take_text, AT(memprof.version),
      "0 to 4 of LLVM, or rfc [3; unchanged if indexed]\n"
      "rfc has names, files and lines, and compilers do not read it." },
    { "", "like", "RELEASE", take_text, AT(memprof.like),
      "write the same bytes as llvm-profdata 19 or 22 [22]\n"
      "This holds for one raw file. 19 writes versions 0 to 3 [0], and 22 writes versions 2 to 4 [3]. 19 reads no "
      "file of 22, and 22 no version before 2. The default is 22 where it has the version." },
    { "", "full-schema", NULL, take_flag, AT(memprof.full_schema),
      "write all fields\n"
      "This is the default for versions 0, 1 and rfc. An indexed profile keeps its fields." },
    { "", "hot-cold-schema", NULL, take_flag, AT(memprof.hot_cold_schema),
      "write only the fields for hot and cold\n"
      "These are AllocCount, TotalSize, TotalLifetime and TotalLifetimeAccessDensity. It is the default for "
      "versions 2 to 4 from raw profiles." },
    { "", "prune", "RULES", take_prune, AT(memprof.prune),
      "min-bytes=N,cold=P%: leave small contexts out\n"
      "min-bytes=N leaves out contexts that allocated less. cold=P% leaves out the smallest cold contexts, with "
      "at most P% of all cold bytes. Other contexts stay wherever a cold one stays, so that nothing becomes cold. "
      "The amount is reported." },
    { "", "base", "FILE", take_base, AT(memprof.base),
      "add to this indexed profile, and keep its counters\n"
      "A MemProf profile in FILE is replaced. With counters of LLVM 22, only versions 2 to 4 and rfc are "
      "possible." },

    /* MemProf. */
    { "", "binary", "FILE", take_binary, AT(naming.binaries),
      "program or library for function names; may be repeated\n"
      "For MemProf profiles it is matched by build id; without it, frames are BUILDID+0xOFFSET. For text profiles "
      "it is matched by name: the place where a mapped file is now. Debug information may be in FILE, in "
      "FILE.debug, in the file that .gnu_debuglink names next to it, under /usr/lib/debug/.build-id, on the "
      "servers of DEBUGINFOD_URLS, in .dwo files, or in FILE.dwp." },
    { "index", "binary", "FILE", take_binary, AT(naming.binaries),
      "program or profiled library; may be repeated\n"
      "It is matched by build id." },
    { "", "keep-unresolved", NULL, take_flag, AT(naming.keep_unresolved),
      "with --binary: keep frames without a name" },
    { "", "keep-runtime", NULL, take_flag, AT(naming.keep_runtime),
      "keep frames of the MemProf runtime or the allocator\n"
      "This is for MemProf profiles with --binary, and for text profiles." },
    { "", "names-memory", "BYTES", take_some_bytes, AT(naming.memory),
      "memory limit for debug information of one file [2G]\n"
      "Mapped files do not count. Frames in files that need more stay FILE+0xOFFSET. It is also the limit for a "
      "file from a debuginfod server." },
    { "", "names-time", "SECONDS", take_seconds, AT(naming.seconds),
      "time limit for the names of one file [60]\n"
      "It limits processor time per file, and the time for all answers of debuginfod servers." },
    { "", "hints", NULL, take_flag, AT(memprof.hints), "show how clang classifies allocations: cold, hot" },
    { "", "diff", NULL, take_flag, AT(memprof.hints_diff), "with --hints and two files: show changes of hints" },
    { "", "effect", "HINTS", take_text, AT(memprof.effect),
      "judge the hints from the profile HINTS by a later run\n"
      "FILE is the profile of the later run." },
    { "", "clang", "RELEASE", take_text, AT(memprof.clang), "with --hints: release of clang, 19 or 22 [22]" },
    { "", "yaml", NULL, take_flag, AT(memprof.yaml),
      "print YAML, like llvm-profdata show --memory\n"
      "llvm-profdata merge and heapdump read it." },
    { "", "cold-density", "D", take_limit, AT(memprof.limit[0]),
      "cold: less than D accesses per byte and second [0.05]\n"
      "This is clang's -mllvm -memprof-lifetime-access-density-cold-threshold." },
    { "", "cold-lifetime", "S", take_limit, AT(memprof.limit[1]),
      "cold: and a lifetime of S seconds or more [200]\n"
      "This is clang's -mllvm -memprof-ave-lifetime-cold-threshold." },
    { "", "hot-density", "D", take_limit, AT(memprof.limit[2]),
      "hot: more than D accesses per byte and second\n"
      "The default is 1000 for clang 19. With clang 22, nothing is hot without -mllvm -memprof-use-hot-hints. "
      "This is clang's -mllvm -memprof-min-ave-lifetime-access-density-hot-threshold." },

    /* Recording. */
    { "", "at", "exit", take_times, AT(record.at),
      "live, total, temporary heaps at exit [peak,exit]\n"
      "An exit is any end of a process, also a crash. Your list replaces the default. Several --at add up." },
    { "", "at", "peak", take_times, AT(record.at),
      "the peak heap\n"
      "It is exact with one thread, and within 64 KiB per thread otherwise." },
    { "", "at", "every=SECONDS", take_times, AT(record.at),
      "the live heap, repeatedly: shows growth\n"
      "Each dump takes 12 KiB per process, unless a cut-off option is given. When these dumps take 32 MiB, every "
      "2nd of the older ones is dropped, as often as needed." },
    { "", "at", "signal[=NAME]", take_times, AT(record.at),
      "the live heap when heapdump gets this signal [USR2]\n"
      "NAME is USR1, USR2, INT, TERM or HUP." },
    { "", "children", "WHICH", take_children, AT(record.children),
      "record no child processes, all, or REGEX [all]\n"
      "The REGEX matches the names of their programs." },
    { "", "same-user", NULL, take_flag, AT(record.same_user),
      "do not record processes that change their user\n"
      "These processes can read the call stacks and addresses that their parents recorded." },
    { "record", "format", "memprof-raw", take_record_format, AT(record.format),
      "write raw MemProf profiles [chrome: a trace]\n"
      "A profile per process has all allocations by call stack, freed or not, with sizes and lifetimes, for "
      "llvm-profdata. Accesses and processors are unknown, and zero." },
    { "record", "format", "memprof-rfc", take_record_format, AT(record.format),
      "write one MemProf profile of all processes\n"
      "It has names, files and lines, like heapdump index --memprof-version rfc." },
    { "", "ages", NULL, take_flag, AT(record.ages),
      "record ages of live blocks, for tree --by age\n"
      "The bounds of the classes are 10 ms, 100 ms, 1 s, 10 s, 1 min, 10 min, 1 h, 10 h, 1 day and 10 days. It "
      "takes 24 bytes per live block, and only live heaps have ages. The file is written at the end, as rows: "
      "JSON lines if its name ends in .json, .jsonl or .ndjson, else CSV [heapdump.PROGRAM.PID.csv]." },
    { "", "threads", NULL, take_flag, AT(record.threads),
      "record thread names, for tree --by thread\n"
      "A thread has its name at the time of the allocation. After 256 names, further ones are <other threads>. "
      "The file is as with --ages." },
    { "", "depth", "N", take_depth, AT(record.depth), "frames per call stack, up to 128 [48]" },
    { "", "blocks", NULL, take_flag, AT(record.blocks),
      "record addresses, for heapdump pages (fragmentation)\n"
      "It takes 24 bytes per block." },
    { "", "sample", "BYTES", take_some_bytes, AT(record.sample_bytes),
      "record one block per BYTES allocated [every block]\n"
      "Sizes and counts are then estimates, at almost no cost. 512k is usual." },
    { "", "target", "WORD", take_text, AT(watch.target), "page, worker or isolate: number, or part of its line" },
    { "", "jvm", NULL, take_flag, AT(watch.jvm), "the argument is the PID of a JVM; the dump is HPROF" },
    { "capture", "live", NULL, take_flag, AT(watch.live), "with --jvm: collect garbage first [all objects]" },
    { "", "gc", NULL, take_flag, AT(watch.gc), "collect garbage first (V8 always does)" },
    { "", "every", "SECONDS", take_seconds, AT(watch.every),
      "take several snapshots in one session [1 with --count]\n"
      "diff and suspects can then compare them object by object. The files are FILE.1.heapsnapshot, "
      "FILE.2.heapsnapshot and so on." },
    { "watch", "every", "SECONDS", take_seconds, AT(watch.every),
      "time between updates [1]\n"
      "It is longer if an update takes more than a fifth of it." },
    { "", "count", "N", take_count, AT(watch.count), "number of snapshots to take [2 with --every, else 1]" },
    { "", "wait", "SECONDS", take_seconds, AT(watch.wait),
      "time to wait for a sign of life of the recording [2]\n"
      "A recording gives one every 0.5 seconds." },
    { "watch", "count", "N", take_count, AT(watch.count), "number of updates [no limit]" },
    { "", "sort", "KEY", take_order, AT(cut.order),
      "order by bytes, blocks, self or name [bytes]\n"
      "In a tree, self is the bytes beyond the listed callees." },
    { "watch", "sort", "COLUMN", take_text, AT(watch.sort),
      "live, blocks, growth, rate, temporary or name [live]\n"
      "The keys s and S change it." },
    { "", "filter", "REGEX", take_text, AT(watch.filter),
      "only sites with a matching name [all]\n"
      "The key / changes it." },
    { "", "stats", NULL, take_flag, AT(record.stats), "report the recording's cost: time, memory, stacks" }
};
const size_t option_row_count = sizeof option_rows / sizeof *option_rows;
