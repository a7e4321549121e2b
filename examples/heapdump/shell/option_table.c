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
      "The ending is .heapsnapshot or .dartheap. With --count 2, -o app.heapsnapshot writes app.1.heapsnapshot "
      "and app.2.heapsnapshot. The file is compressed if the name ends in .gz, .zst or .xz." },
    { "snapshot", "output", "FILE", take_text, AT(out.file),
      "write a separate file [add a dump to the recording]\n"
      "The file is compressed if the name ends in .gz, .zst or .xz." },
    { "watch", "output", "FILE", take_text, AT(out.file),
      "file that key w writes [heapdump.PROGRAM.PID.N.json]\n"
      "N is a new number each time you press w." },
    { "recover", "output", "FILE", take_text, AT(out.file),
      "write here [FILE.json]; .gz, .zst, .xz compress\n"
      "The file is compressed if the name ends in .gz, .zst or .xz." },
    { "", "json", NULL, take_flag, AT(view.json), "print one JSON value" },
    { "watch", "json", NULL, take_flag, AT(view.json),
      "print a line of JSON at each update; no terminal needed\n"
      "watch ends when no recorded process is alive." },
    { "info", "json", NULL, take_flag, AT(view.json), "print one JSON value with all details" },
    { "object", "json", NULL, take_flag, AT(view.json),
      "print one JSON value\n"
      "Each list has at most the number of items after --top, and its full length as a number." },
    { "memprof", "json", NULL, take_flag, AT(view.json), "print JSON, with source files and line numbers" },
    { "", "csv", NULL, take_csv, AT(view.csv),
      "print a table in CSV format (RFC 4180)\n"
      "The table has the same rows as the output of --json. A name that begins with =, +, - or @ gets a ' in "
      "front, so that a spreadsheet does not run the name as a formula." },
    { "", "bytes", NULL, take_flag, AT(view.exact), "print sizes in bytes, not in KiB and MiB" },
    { "", "strict", NULL, take_flag, AT(input.strict), "stop at malformed input [skip it with a warning]" },
    { "", "soft", "strong|weak", take_soft, AT(input.soft_weak),
      "whether soft references of Java keep objects alive [strong]" },
    { "", "layout", "LAYOUT", take_layout, AT(input.layout),
      "Java sizes: compressed, wide or file [by addresses]\n"
      "compressed and wide: references have 4 or 8 bytes. file: the bytes of fields and elements in the file, with "
      "no headers or padding. Without this option, the distances between objects show the layout of the JVM." },
    { "", "decimal", NULL, take_flag, AT(input.decimal), "read sizes in .NET dumps as decimal [hexadecimal]" },

    { "", "format", "NAME", take_format, AT(input.format),
      "input format [by first bytes]; NAME help lists all\n"
      "Without this option, heapdump recognizes the format by the first bytes of the file." },

    /* Lists and cut-offs. */
    { "", "min-bytes", "N", take_bytes, AT(cut.cutoff.min_bytes),
      "list functions with at least N bytes (k, M, G: x 1024)" },
    { "", "min-share", "F", take_share, AT(cut.cutoff.min_share),
      "list functions with at least this share of the total\n"
      "A share is a number from 0 to 1, such as 0.05, or a percentage, such as 5%." },
    { "", "min-parent-share", "F", take_share, AT(cut.cutoff.min_parent_share),
      "list functions with this share of their caller or more" },
    { "", "top", "K", take_count, AT(cut.cutoff.top),
      "list the K largest children of each line\n"
      "With --top 5, a function has at most 5 callees and 5 types. A deep tree stays large: to get a small file, "
      "use --output-bytes or --min-share." },
    { "top", "top", "K", take_count, AT(cut.cutoff.top), "number of names [20; on a terminal, as fits]" },
    { "classes", "top", "K", take_count, AT(cut.cutoff.top), "number of classes [all; on a terminal, as fits]" },
    { "threads", "top", "K", take_count, AT(cut.cutoff.top), "number of threads [all; on a terminal, as fits]" },
    { "retained", "top", "K", take_count, AT(cut.cutoff.top), "number of objects [20; on a terminal, as fits]" },
    { "object", "top", "K", take_count, AT(cut.cutoff.top), "length of each list [10]" },
    { "suspects", "top", "K", take_count, AT(cut.cutoff.top),
      "number of suspects [10]; at most 6 objects\n"
      "For a snapshot of objects, the list has at most 6 objects." },
    { "watch", "top", "K", take_count, AT(cut.cutoff.top), "number of functions with --json [20]" },
    { "objects", "top", "K", take_count, AT(cut.cutoff.top),
      "number of objects [20; on a terminal, as fits]\n"
      "With --json and --csv, the default is all." },
    { "strings", "top", "K", take_count, AT(cut.cutoff.top), "number of strings [20; on a terminal, as fits]" },
    { "", "entries", "N", take_count, AT(cut.cutoff.max_entries),
      "list the N most informative lines of each heap\n"
      "A line with all bytes of its caller adds no information. A line with half the bytes of its caller adds "
      "most information. Large lines add more information than small lines." },
    { "report", "pages", "RECORDING", take_text, AT(watch.pages),
      "add a map of its memory pages (fragmentation)\n"
      "RECORDING is the file or PID of a running recording, or a file of record --keep; see heapdump pages." },
    { "report", "entries", "N", take_count, AT(cut.cutoff.max_entries),
      "number of entries or objects on the page [100000]\n"
      "report selects the largest entries of all heaps together." },
    { "", "output-bytes", "N", take_some_bytes, AT(cut.cutoff.max_output_bytes),
      "like --entries, but each heap takes at most N bytes" },
    { "convert merge", "output-bytes", "N", take_some_bytes, AT(cut.cutoff.max_output_bytes),
      "write at most N bytes: the most informative entries\n"
      "N is the size of the whole file, before compression. With --add-to, N is the size of the added heaps." },
    { "pages", "top", "K", take_count, AT(cut.cutoff.top),
      "number of functions [20; on a terminal, as fits]\n"
      "With --json and --csv, the default is all." },
    { "pages retained objects strings", "all", NULL, take_flag, AT(cut.all), "list all" },
    { "tree", "all", NULL, take_flag, AT(cut.all),
      "list all dumps, heaps and entries\n"
      "Without --all, heapdump lists the last dump of each process, and at most the ten largest heaps." },
    { "top", "all", NULL, take_flag, AT(cut.all),
      "list all dumps, heaps and names\n"
      "Without --all, heapdump lists the last dump of each process, and at most the ten largest heaps." },
    { "merge", "all", NULL, take_flag, AT(cut.all), "add up all dumps [the last dump of each process]" },
    { "info", "all", NULL, take_flag, AT(cut.all), "list every attribute, library and length" },
    { "diff", "all", NULL, take_flag, AT(cut.all),
      "list all changed objects and heaps [10 of each]\n"
      "Without --all, diff lists 10 new, 10 gone and 10 changed objects, and the ten heaps that changed most." },
    { "object", "all", NULL, take_flag, AT(cut.all), "print whole lists and strings" },
    { "classes", "all", NULL, take_flag, AT(cut.all), "list all classes on a terminal too" },
    { "threads", "all", NULL, take_flag, AT(cut.all), "print all stacks and local variables on a terminal too" },
    { "path", "all", NULL, take_flag, AT(cut.all),
      "list every step (--id), and rare paths (--class)\n"
      "Without --all, only output to a file or a pipe shows every step." },
    { "suspects", "all", NULL, take_flag, AT(cut.all), "snapshots: list all suspects, with whole paths" },
    { "validate", "all", NULL, take_flag, AT(cut.all), "list all findings [100 per file]" },
    { "memprof", "all", NULL, take_flag, AT(cut.all), "with --hints: print whole call stacks" },

    /* Selection and display of heaps. */
    { "", "pid", "N", take_pid, AT(heaps.pid), "select heaps of the process with this PID" },
    { "", "dump", "ID", take_text, AT(heaps.dump), "select heaps of this dump; info lists the IDs" },
    { "", "allocator", "NAME", take_text, AT(heaps.allocator), "select heaps of this allocator" },
    { "", "by", "AXIS", take_text, AT(view.by),
      "group by this property of blocks first [backtrace]\n"
      "An axis is a property of blocks. All profiles have backtrace (the call stack), and most have type. MemProf "
      "profiles also have size, lifetime, heat and binary. In pprof profiles, each label is an axis. Recordings "
      "with --ages have age, and recordings with --threads have thread." },
    { "classes", "by", "package|loader", take_text, AT(view.by),
      "add up classes by package, or by class loader\n"
      "A package or loader retains each object only once. Only heap dumps of Java VMs have class loaders." },
    { "pages", "by", "SITE", take_text, AT(view.by),
      "list by function, stack (call stack) or type [function]\n"
      "The type of a block is the executable or library that allocated the block, unless the program sets a type." },
    { "pages", "pid", "N", take_pid, AT(heaps.pid), "only this process [all processes of the file]" },
    { "pages", "page-size", "BYTES", take_some_bytes, AT(record.page_size),
      "bytes per page, a power of two: 4k, 2M [this machine's]" },
    { "top", "by", "AXIS", take_text, AT(view.by),
      "list values of this property [backtrace: functions]\n"
      "An axis is a property of blocks. All profiles have backtrace (the call stack), and most have type. MemProf "
      "profiles also have size, lifetime, heat and binary. In pprof profiles, each label is an axis. Recordings "
      "with --ages have age, and recordings with --threads have thread." },
    { "", "frames", "all|hidden", take_frames, AT(view.frames_all),
      "all: show every function; hidden: list hidden functions\n"
      "By default, heapdump hides functions of allocators and functions that start programs, and prints chains of "
      "calls on one line. --frames all prints each function on its own line. --frames hidden lists the hidden "
      "functions, with their object files and the bytes of their call stacks." },
    { "", "wide", NULL, take_flag, AT(view.wide), "print whole names [shortened to the terminal's width]" },
    { "", "every-route", NULL, take_flag, AT(view.every_route), "break each line down by every property of blocks" },
    { "", "self", NULL, take_flag, AT(view.by_self), "sort by own bytes, without callees" },
    { "", "metric", "FIELD", take_metric, AT(memprof.field),
      "MemProf: show this field instead of bytes (TotalSize)\n"
      "Fields are AllocCount, TotalAccessCount, MaxLifetime and others. --metric average:FIELD shows the average "
      "of FIELD per allocation, and --metric average shows the average size." },
    { "", "kind", "KIND", take_kind, AT(heaps.kind),
      "select live, peak, total or temporary heaps\n"
      "By default, tree, top, diff and check select live heaps, if the file has live heaps." },
    { "", "keep", "REGEX", take_pattern, AT(heaps.keep), "keep call stacks with a matching function\n"
      "--keep type=REGEX keeps the blocks with a matching type." },
    { "record", "keep", "FILE", take_text, AT(record.region),
      "record into this new file, for heapdump recover\n"
      "heapdump never removes this file, so a recording survives even if heapdump is killed. ls shows up to 1 TiB "
      "for the file, but the file uses disk space only for recorded data (a sparse file)." },
    { "", "drop", "REGEX", take_pattern, AT(heaps.drop), "leave out call stacks with a matching function\n"
      "--drop type=REGEX leaves out the blocks with a matching type." },
    { "", "root", "REGEX", take_pattern, AT(heaps.root), "begin call stacks at the outermost matching function" },
    { "", "invert", NULL, take_flag, AT(view.invert), "show allocating functions first, then their callers" },
    { "", "before", "ID", take_text, AT(heaps.before), "dump before [last of BEFORE; of one file, the first]" },
    { "", "after", "ID", take_text, AT(heaps.after), "dump after [the last dump]" },
    { "", "match", "process", take_match, AT(heaps.match_process),
      "compare only heaps with equal process names\n"
      "By default, two heaps with different process names are compared if each file has only one heap of the same "
      "allocator and kind." },
    { "", "max-growth", "PERCENT", take_percent, AT(check.max_growth),
      "limit for growth of each heap [5% if no other limit]" },
    { "", "max-total", "BYTES", take_some_bytes, AT(check.max_total),
      "limit for the size of each heap (k, M, G: x 1024)" },
    { "", "site", "REGEX=BYTES", take_site, AT(check.sites),
      "limit for a matching function; may be repeated\n"
      "type=REGEX=BYTES is a limit for a type." },
    { "", "live", NULL, take_flag, AT(objects.live), "only objects that a GC root reaches (no garbage)" },

    /* Selection of objects. */
    { "path", "id", "ID", take_text, AT(objects.id), "id of the object; retained and objects list ids\n"
      "An id that begins with 0x is hexadecimal, such as an address that jstack prints." },
    { "object", "id", "ID", take_text, AT(objects.id), "id of the object [the ID after FILE]" },
    { "retained", "class", "NAME", take_text, AT(objects.class_name),
      "print the size that all objects of a class retain" },
    { "path", "class", "NAME", take_text, AT(objects.class_name),
      "show a tree of paths to all objects of this class" },
    { "objects", "class", "NAME", take_text, AT(objects.class_name), "list objects of this class" },
    { "", "subclasses", NULL, take_flag, AT(objects.subclasses), "also list objects of subclasses (Dart)" },
    { "", "where", "CONDITION", take_where, AT(objects.where),
      "list objects that match; may be repeated\n"
      "The condition 'size>1M' compares the size with a number; length and retained can be compared too, with <, "
      "<=, =, >= or >. The condition FIELD=REGEX matches the class or value of the object in that field. The "
      "condition detached matches objects that V8 marks as detached." },
    { "", "paths", "N", take_count, AT(objects.paths),
      "number of paths [1]\n"
      "Each path avoids the objects of the paths before. Paths of at most 64 different lengths are listed." },
    { "objects", "garbage", NULL, take_flag, AT(objects.garbage), "also list objects that no GC root reaches" },
    { "", "garbage", NULL, take_flag, AT(objects.garbage), "also count strings that no GC root reaches" },

    /* Outputs. */
    { "", "json-lines", NULL, take_flag, AT(out.json_lines),
      "write JSON lines [by the name after -o; else CSV]\n"
      "If the name after -o ends in .jsonl, .ndjson or .json, the output is JSON lines even without this option." },
    { "", "label", "NAME=VALUE", take_label, AT(input.labels),
      "add a column to all rows; may be repeated\n"
      "--label profile=NAME replaces the name of the file in the column profile." },
    { "merge", "to", "FORMAT", take_text, AT(out.to),
      "output format [by the name of -o, else of the inputs]\n"
      "FORMAT is chrome, heaps_v2 (without cut-off options), another format of profiles, memprof-raw, or "
      "memprof-index. The name after -o can end in .pb, .folded, .csv, .jsonl, .json, .speedscope.json, "
      ".memprofraw or .profdata. If neither --to nor the name selects a format, merge keeps the format of the "
      "input files, or writes chrome if this format cannot hold the sum. The sum of MemProf profiles is indexed "
      "if one input is indexed, and else raw." },
    { "convert", "to", "FORMAT", take_text, AT(out.to), NULL },
    { "merge", "add-to", "TRACE", take_text, AT(out.add_to), "write a copy of TRACE that also has the sum" },
    { "convert", "add-to", "TRACE", take_text, AT(out.add_to), "write a copy of TRACE that also has these heaps" },
    { "merge", "memprof-version", "N", take_text, AT(memprof.version),
      "version of memprof-raw, 1 to 5 [first with all fields]\n"
      "heapdump help index explains this option and the next five options for memprof-index." },
    { "convert", "memprof-version", "N", take_text, AT(memprof.version),
      "version of memprof-raw, 1 to 5 [unchanged]\n"
      "heapdump help index explains this option and the next five options for memprof-index." },
    { "index", "memprof-version", "N", take_text, AT(memprof.version),
      "version, 0 to 4 or rfc [3; of an indexed file, same]\n"
      "Version rfc contains names of functions, source files and lines. Compilers cannot read version rfc." },
    { "", "like", "RELEASE", take_text, AT(memprof.like),
      "write the same bytes as llvm-profdata 19 or 22 [22]\n"
      "The bytes are the same if the input is one raw file. llvm-profdata 19 writes versions 0 to 3 [0], and "
      "llvm-profdata 22 writes versions 2 to 4 [3]. LLVM 19 cannot read files of LLVM 22. LLVM 22 cannot read "
      "versions 0 and 1. The default is 22, and 19 for versions 0 and 1." },
    { "", "full-schema", NULL, take_flag, AT(memprof.full_schema),
      "write all fields\n"
      "For versions 0, 1 and rfc, heapdump writes all fields by default. If the input is indexed, the output has "
      "the fields of the input." },
    { "", "hot-cold-schema", NULL, take_flag, AT(memprof.hot_cold_schema),
      "write only the fields for hot and cold\n"
      "The fields are AllocCount, TotalSize, TotalLifetime and TotalLifetimeAccessDensity. If raw profiles become "
      "versions 2 to 4, heapdump writes only these fields by default." },
    { "", "prune", "RULES", take_prune, AT(memprof.prune),
      "min-bytes=N,cold=P%: leave out small call stacks\n"
      "min-bytes=N leaves out call stacks that allocated less than N bytes. cold=P% leaves out the smallest cold "
      "call stacks, with at most P% of all cold bytes. If a cold call stack of an allocation stays, the call "
      "stacks of this allocation that are not cold stay too; so no allocation becomes cold. A message shows the "
      "amount that is left out." },
    { "", "base", "FILE", take_base, AT(memprof.base),
      "add to this indexed profile, and keep its counters\n"
      "If FILE already has a MemProf profile, the new profile replaces it. If the counters are from LLVM 22, the "
      "output must have version 2, 3, 4 or rfc." },

    /* MemProf. */
    { "", "binary", "FILE", take_binary, AT(naming.binaries),
      "program or library for function names; may be repeated\n"
      "For MemProf profiles, FILE must have the same build id as the profiled program; without FILE, functions "
      "are shown as BUILDID+0xOFFSET. For text profiles, FILE must have the same name as a mapped file. heapdump "
      "searches debug information in FILE, in FILE.debug, in the file that .gnu_debuglink names, under "
      "/usr/lib/debug/.build-id, on the servers of DEBUGINFOD_URLS, in .dwo files, and in FILE.dwp." },
    { "index", "binary", "FILE", take_binary, AT(naming.binaries),
      "program or profiled library; may be repeated\n"
      "FILE must have the same build id as the profiled program or library." },
    { "", "keep-unresolved", NULL, take_flag, AT(naming.keep_unresolved),
      "with --binary: keep functions without a name" },
    { "", "keep-runtime", NULL, take_flag, AT(naming.keep_runtime),
      "keep frames of the MemProf runtime or the allocator\n"
      "This option is for text profiles, and for MemProf profiles with --binary." },
    { "", "names-memory", "BYTES", take_some_bytes, AT(naming.memory),
      "memory limit for debug information of one file [2G]\n"
      "If a file needs more memory, its functions are shown as FILE+0xOFFSET. Memory of mapped files does not "
      "count. The same limit applies to a file from a debuginfod server." },
    { "", "names-time", "SECONDS", take_seconds, AT(naming.seconds),
      "time limit for the names of one file [60]\n"
      "The limit is for the processor time per file, and for the time to wait for all debuginfod servers." },
    { "", "hints", NULL, take_flag, AT(memprof.hints), "show how clang classifies allocations: cold, hot" },
    { "", "diff", NULL, take_flag, AT(memprof.hints_diff), "with --hints and two files: show changes of hints" },
    { "", "effect", "HINTS", take_text, AT(memprof.effect),
      "compare the hints from profile HINTS with a later run\n"
      "FILE is the profile of the later run." },
    { "", "clang", "RELEASE", take_text, AT(memprof.clang), "with --hints: release of clang, 19 or 22 [22]" },
    { "", "yaml", NULL, take_flag, AT(memprof.yaml),
      "print YAML, like llvm-profdata show --memory\n"
      "llvm-profdata merge and heapdump can read this YAML." },
    { "", "cold-density", "D", take_limit, AT(memprof.limit[0]),
      "cold: less than D accesses per byte and second [0.05]\n"
      "This option has the same meaning as clang's -mllvm -memprof-lifetime-access-density-cold-threshold." },
    { "", "cold-lifetime", "S", take_limit, AT(memprof.limit[1]),
      "cold: and a lifetime of S seconds or more [200]\n"
      "This option has the same meaning as clang's -mllvm -memprof-ave-lifetime-cold-threshold." },
    { "", "hot-density", "D", take_limit, AT(memprof.limit[2]),
      "hot: more than D accesses per byte and second\n"
      "The default is 1000 for clang 19. clang 22 marks nothing as hot, unless it gets -mllvm "
      "-memprof-use-hot-hints. This option has the same meaning as clang's -mllvm "
      "-memprof-min-ave-lifetime-access-density-hot-threshold." },

    /* Recording. */
    { "", "at", "exit", take_times, AT(record.at),
      "live, total, temporary heaps at exit [peak,exit]\n"
      "A crash is an exit too. If you use --at, it replaces the default peak,exit. You can repeat --at: --at peak "
      "--at exit means --at peak,exit. Without peak in the list, the file has no peak heap." },
    { "", "at", "peak", take_times, AT(record.at),
      "the peak heap\n"
      "The peak of a process with one thread is exact. With more threads, the peak is exact within 64 KiB per "
      "thread." },
    { "", "at", "every=SECONDS", take_times, AT(record.at),
      "the live heap, repeatedly: shows growth\n"
      "Each dump takes at most 12 KiB of the file per process, so small functions are left out. A cut-off option "
      "replaces this limit. When these dumps reach 32 MiB, heapdump drops every second dump of the older dumps." },
    { "", "at", "signal[=NAME]", take_times, AT(record.at),
      "the live heap when heapdump gets this signal [USR2]\n"
      "NAME is USR1, USR2, INT, TERM or HUP." },
    { "", "children", "WHICH", take_children, AT(record.children),
      "child processes to record: no, all or a REGEX [all]\n"
      "--children no records only PROGRAM. A REGEX records the child processes with a matching program name." },
    { "", "same-user", NULL, take_flag, AT(record.same_user),
      "do not record processes that change their user\n"
      "Without this option, a process that changes its user is recorded too. Such a process can read the call "
      "stacks and addresses that its parent processes recorded." },
    { "record", "format", "memprof-raw", take_record_format, AT(record.format),
      "write raw MemProf profiles [chrome: a trace]\n"
      "Each process gets a profile for llvm-profdata, with all allocations by call stack, their sizes and "
      "lifetimes. heapdump cannot measure accesses and processors; these fields are zero." },
    { "record", "format", "memprof-rfc", take_record_format, AT(record.format),
      "write one MemProf profile of all processes\n"
      "The profile contains names of functions, source files and lines, like heapdump index --memprof-version rfc." },
    { "", "ages", NULL, take_flag, AT(record.ages),
      "record ages of live blocks, for tree --by age\n"
      "Ages are grouped at 10 ms, 100 ms, 1 s, 10 s, 1 min, 10 min, 1 h, 10 h, 1 day and 10 days. Recording an "
      "age takes 24 bytes per live block. Only live heaps have ages. heapdump writes a table instead of a trace, "
      "at the end: JSON lines if the name ends in .json, .jsonl or .ndjson, else CSV [heapdump.PROGRAM.PID.csv]." },
    { "", "threads", NULL, take_flag, AT(record.threads),
      "record thread names, for tree --by thread\n"
      "heapdump records the name that the thread has when it allocates. At most 256 names are recorded; threads "
      "with other names are shown as <other threads>. heapdump writes a table instead of a trace, as with --ages." },
    { "", "depth", "N", take_depth, AT(record.depth), "number of functions per call stack, up to 128 [48]" },
    { "", "blocks", NULL, take_flag, AT(record.blocks),
      "record addresses, for heapdump pages (fragmentation)\n"
      "Recording an address takes 24 bytes per block." },
    { "", "sample", "BYTES", take_some_bytes, AT(record.sample_bytes),
      "record one block per BYTES allocated [every block]\n"
      "Sizes and counts are then estimates, and recording costs almost no time. A usual value is 512k." },
    { "", "target", "WORD", take_text, AT(watch.target), "select a page, worker or isolate by number or name" },
    { "", "jvm", NULL, take_flag, AT(watch.jvm), "the argument is the PID of a Java VM; write HPROF" },
    { "capture", "live", NULL, take_flag, AT(watch.live), "with --jvm: collect garbage first [all objects]" },
    { "", "gc", NULL, take_flag, AT(watch.gc), "collect garbage first (V8 always does)" },
    { "", "every", "SECONDS", take_seconds, AT(watch.every),
      "take several snapshots in one session [1 with --count]\n"
      "diff and suspects can then compare the snapshots object by object. The files have the names "
      "FILE.1.heapsnapshot, FILE.2.heapsnapshot and so on." },
    { "watch", "every", "SECONDS", take_seconds, AT(watch.every),
      "time between updates [1]\n"
      "watch waits longer if an update takes more than a fifth of this time." },
    { "", "count", "N", take_count, AT(watch.count), "number of snapshots to take [2 with --every, else 1]" },
    { "", "wait", "SECONDS", take_seconds, AT(watch.wait),
      "time to wait until the recording answers [2]\n"
      "A recording that works gives a sign of life every 0.5 seconds." },
    { "watch", "count", "N", take_count, AT(watch.count), "number of updates, after which watch ends [no limit]" },
    { "", "sort", "KEY", take_order, AT(cut.order),
      "order by bytes, blocks, self or name [bytes]\n"
      "In a tree, self means the bytes of a function minus the bytes of its listed callees." },
    { "watch", "sort", "COLUMN", take_text, AT(watch.sort),
      "live, blocks, growth, rate, temporary or name [live]\n"
      "The keys s and S change the order while watch runs." },
    { "", "filter", "REGEX", take_text, AT(watch.filter),
      "list only functions with a matching name [all]\n"
      "The key / changes the filter while watch runs." },
    { "", "stats", NULL, take_flag, AT(record.stats), "report the recording's cost: time, memory, stacks" }
};
const size_t option_row_count = sizeof option_rows / sizeof *option_rows;
