/* The options of all commands: a row each. */

#include "options.h"

const option_row option_rows[] = {
    { "", "output", "FILE", take_text, AT(out.file),
      "write here instead of standard output; packed, where the name ends in .gz,\n"
      ".zst or .xz" }, /* -o, too */
    { "record", "output", "FILE", take_text, AT(out.file),
      "the file, packed at its end where the name ends in .gz, .zst or .xz\n[heapdump.PROGRAM.PID.json]" },
    { "capture", "output", "FILE", take_text, AT(out.file),
      "the file, packed where the name ends in .gz, .zst or .xz\n[heapdump.PORT.heapsnapshot, of Dart .dartheap]" },
    { "snapshot", "output", "FILE", take_text, AT(out.file),
      "write a file of its own instead; packed, where the name ends in .gz, .zst or .xz" },
    { "watch", "output", "FILE", take_text, AT(out.file),
      "what the key w writes [heapdump.PROGRAM.PID.N.json, another N each time]" },
    { "recover", "output", "FILE", take_text, AT(out.file),
      "packed, where the name ends in .gz, .zst or .xz [FILE.json]" },
    { "", "json", NULL, take_flag, AT(view.json), "one JSON value" },
    { "watch", "json", NULL, take_flag, AT(view.json),
      "no screen: a line of JSON each time, until nobody lives; needs no terminal" },
    { "info", "json", NULL, take_flag, AT(view.json), "one JSON value, with everything" },
    { "object", "json", NULL, take_flag, AT(view.json),
      "one JSON value; lists cut as above, beside how long they would be" },
    { "memprof", "json", NULL, take_flag, AT(view.json),
      "one JSON value, with files, lines and discriminators as well" },
    { "", "csv", NULL, take_csv, AT(view.csv),
      "a table for spreadsheets (RFC 4180) of what --json lists; a name that begins\n"
      "like a formula, with = + - or @, stands behind a '" },
    { "", "bytes", NULL, take_flag, AT(view.exact), "bytes in full instead of KiB and MiB" },
    { "info", "bytes", NULL, take_flag, AT(view.exact), "of objects: bytes in full instead of KiB and MiB" },
    { "", "strict", NULL, take_flag, AT(input.strict),
      "stop at the first malformed piece instead of leaving it out" },
    { "", "decimal", NULL, take_flag, AT(input.decimal), "sizes of a .NET dump are decimal numbers [hexadecimal]" },

    { "", "format", "NAME", take_format, AT(input.format),
      "read it as this format, whatever it begins like; help lists the names" },

    /* What is listed. */
    { "", "min-bytes", "N", take_bytes, AT(cut.cutoff.min_bytes),
      "list what holds at least N bytes (k, M, G: times 1024)" },
    { "", "min-share", "F", take_share, AT(cut.cutoff.min_share),
      "list what holds at least this share of the total, 0 to 1" },
    { "", "min-parent-share", "F", take_share, AT(cut.cutoff.min_parent_share),
      "list what holds at least this share of its parent" },
    { "", "top", "K", take_count, AT(cut.cutoff.top), "list the K largest of each breakdown" },
    { "top", "top", "K", take_count, AT(cut.cutoff.top), "so many names [20; on a terminal, what fits it]" },
    { "classes", "top", "K", take_count, AT(cut.cutoff.top), "so many classes [all; on a terminal, what fits it]" },
    { "retained", "top", "K", take_count, AT(cut.cutoff.top), "so many objects [20; on a terminal, what fits it]" },
    { "object", "top", "K", take_count, AT(cut.cutoff.top), "so many of each [10]" },
    { "suspects", "top", "K", take_count, AT(cut.cutoff.top), "so many [10]" },
    { "watch", "top", "K", take_count, AT(cut.cutoff.top), "with --json: so many sites [20]" },
    { "objects", "top", "K", take_count, AT(cut.cutoff.top),
      "so many [20; on a terminal, what fits it; all in --json and --csv]" },
    { "strings", "top", "K", take_count, AT(cut.cutoff.top), "so many [20; on a terminal, what fits it]" },
    { "", "entries", "N", take_count, AT(cut.cutoff.max_entries), "list the N that explain most" },
    { "report", "pages", "RECORDING", take_text, AT(watch.pages),
      "with a map of how full the pages are that hold live blocks, as heapdump pages\n"
      "tells it: of the recording that writes this file, or has this PID, or what\n"
      "record --keep left" },
    { "report", "entries", "N", take_count, AT(cut.cutoff.max_entries),
      "so many entries of all heaps together, or objects: those that hold most [100000]" },
    { "", "output-bytes", "N", take_some_bytes, AT(cut.cutoff.max_output_bytes),
      "list what explains most in so many bytes of a trace" },
    { "pages", "top", "K", take_count, AT(cut.cutoff.top),
      "so many sites [20; on a terminal, what fits it; all in --json and --csv]" },
    { "pages retained objects strings", "all", NULL, take_flag, AT(cut.all), "all of them" },
    { "tree", "all", NULL, take_flag, AT(cut.all),
      "every dump [the last of each process, and of more than ten heaps the largest]; and however little\n"
      "it holds" },
    { "top", "all", NULL, take_flag, AT(cut.all),
      "every dump [the last of each process, and of more than ten heaps the largest], and\n"
      "every name" },
    { "merge", "all", NULL, take_flag, AT(cut.all), "every dump counts" },
    { "info", "all", NULL, take_flag, AT(cut.all), "every attribute of every allocator; every library and length" },
    { "diff", "all", NULL, take_flag, AT(cut.all),
      "every object that is new, gone, or changed [10 of each], and every heap [of more than\n"
      "ten those that changed most]" },
    { "object", "all", NULL, take_flag, AT(cut.all), "all of them, and strings as far as the file has them" },
    { "classes", "all", NULL, take_flag, AT(cut.all), "all of them, on a terminal too" },
    { "path", "all", NULL, take_flag, AT(cut.all),
      "of --class also ways that few objects are held by; of --id every step, on a\n"
      "terminal too" },
    { "suspects", "all", NULL, take_flag, AT(cut.all),
      "of objects, on a terminal too: every suspect, and paths and names whole" },
    { "validate", "all", NULL, take_flag, AT(cut.all), "all findings [100 of a file]" },
    { "memprof", "all", NULL, take_flag, AT(cut.all), "with --hints: call stacks as a whole" },

    /* Which heaps, and how they are looked at. */
    { "", "pid", "N", take_pid, AT(heaps.pid), "only heaps of this process" },
    { "", "dump", "ID", take_text, AT(heaps.dump), "only heaps of this dump" },
    { "", "allocator", "NAME", take_text, AT(heaps.allocator), "only heaps of this allocator" },
    { "", "by", "backtrace|type|...", take_text, AT(view.by),
      "what to break down by first [backtrace]; of MemProf profiles also\n"
      "size, lifetime, heat, binary; of pprof's a label, by its key; of recordings\n"
      "what --ages and --threads kept: age, thread" },
    { "pages", "by", "WHAT", take_text, AT(view.by),
      "whose blocks are told apart: those of each function, each call stack (stack), or\n"
      "each executable, library or type that asked for them (type) [function]" },
    { "pages", "pid", "N", take_pid, AT(heaps.pid), "only this process [all of a file; of PID that one]" },
    { "pages", "page-size", "BYTES", take_some_bytes, AT(record.page_size),
      "of pages, a power of two: 2M as huge pages [this machine's]" },
    { "top", "by", "backtrace|type|...", take_text, AT(view.by),
      "functions or types [backtrace]; of MemProf profiles also size, lifetime,\n"
      "heat, binary; of pprof's a label, by its key; of recordings age, thread" },
    { "", "frames", "all|hidden", take_frames, AT(view.frames_all),
      "all: with those of allocators and of what starts a program, and each on a line\n"
      "of its own [left out, and chains of one callee on a line]; hidden: list the\n"
      "hidden frames instead, with their object files and the bytes of their stacks" },
    { "", "wide", NULL, take_flag, AT(view.wide), "names whole [shortened to the width of the terminal]" },
    { "", "every-route", NULL, take_flag, AT(view.every_route), "break every entry down both ways" },
    { "", "self", NULL, take_flag, AT(view.by_self), "by what they hold themselves" },
    { "", "metric", "FIELD", take_metric, AT(memprof.field),
      "of MemProf profiles, instead of bytes (TotalSize): AllocCount,\n"
      "TotalAccessCount, MaxLifetime ...; average, or average:FIELD, by allocation" },
    { "", "kind", "KIND", take_kind, AT(heaps.kind),
      "only heaps of this kind: live, peak, total or temporary [live, of files that\n"
      "have it, where tree, top, diff and check look at them]" },
    { "", "keep", "REGEX", take_pattern, AT(heaps.keep), "only what has a frame (type=REGEX: a type) that matches" },
    { "record", "keep", "FILE", take_text, AT(record.region),
      "record into this new file instead of memory: heapdump recover reads it when\n"
      "heapdump was killed too. It stays, and is sparse: ls says up to 1 TiB" },
    { "", "drop", "REGEX", take_pattern, AT(heaps.drop), "without that" },
    { "", "root", "REGEX", take_pattern, AT(heaps.root), "start backtraces at the outermost frame that matches" },
    { "", "invert", NULL, take_flag, AT(view.invert), "innermost frames first: who is called, and by whom" },
    { "", "before", "ID", take_text, AT(heaps.before),
      "the dump to compare with [the last of BEFORE; of one file alone the first]" },
    { "", "after", "ID", take_text, AT(heaps.after), "the dump to compare [the last]" },
    { "", "match", "process", take_match, AT(heaps.match_process),
      "compare heaps only if the names of their processes are equal [also two heaps of\n"
      "other names, if each file has no other heap of this allocator and kind]" },
    { "", "max-growth", "PERCENT", take_percent, AT(check.max_growth),
      "each heap may grow by so much [5%, when no limit is given]" },
    { "", "max-total", "BYTES", take_some_bytes, AT(check.max_total),
      "each heap may hold so much (k, M, G: times 1024)" },
    { "", "site", "REGEX=BYTES", take_site, AT(check.sites),
      "what has a frame (type=REGEX: a type) that matches may hold so much; may be\n"
      "given again" },
    { "", "live", NULL, take_flag, AT(objects.live), "of objects only those that a root holds: no garbage" },

    /* Which objects. */
    { "path", "id", "ID", take_text, AT(objects.id), "the object, as retained lists it" },
    { "object", "id", "ID", take_text, AT(objects.id), "the object, where ID does not stand behind FILE" },
    { "retained", "class", "NAME", take_text, AT(objects.class_name),
      "instead, what all objects of a class retain together" },
    { "path", "class", "NAME", take_text, AT(objects.class_name),
      "all objects of that class, their shortest ways as one tree" },
    { "objects", "class", "NAME", take_text, AT(objects.class_name), "those of this class" },
    { "", "subclasses", NULL, take_flag, AT(objects.subclasses),
      "and of classes that extend it, which snapshots of Dart tell" },
    { "", "where", "CONDITION", take_where, AT(objects.where),
      "only those for which it holds: length, size or retained, then <, <=, =, >=\n"
      "or > and a number (k, M, G: times 1024); detached: objects that V8 marks as\n"
      "detached, such as DOM nodes that a page removed from its document or closed\n"
      "handles of Node; or FIELD=REGEX, which matches the class or the value of the\n"
      "object that the field refers to; may be given again" },
    { "", "paths", "N", take_count, AT(objects.paths),
      "more ways, each without what those before went through, of at most 64\n"
      "different lengths [1]" },
    { "objects", "garbage", NULL, take_flag, AT(objects.garbage), "those that no root holds, too" },
    { "", "garbage", NULL, take_flag, AT(objects.garbage),
      "count what no root holds too, instead of live strings alone" },

    /* What is written. */
    { "", "json-lines", NULL, take_flag, AT(out.json_lines),
      "JSON lines instead of CSV [where the name of -o ends in .jsonl, .ndjson or\n.json]" },
    { "", "label", "NAME=VALUE", take_label, AT(input.labels),
      "give all rows this label, in a column of its own; may be given again. One\n"
      "called profile is told instead of the file" },
    { "merge", "to", "FORMAT", take_text, AT(out.to),
      "chrome, heaps_v2 with all of it, another format of heaps, memprof-raw, or\n"
      "memprof-index [what the name of -o ends in: .pb, .folded, .csv, .jsonl, .json,\n"
      ".speedscope.json, .memprofraw or .profdata; else the format of all FILEs, if\n"
      "it can hold the sum; else chrome. Of MemProf profiles raw, or indexed when\n"
      "one is]" },
    { "convert", "to", "FORMAT", take_text, AT(out.to), NULL },
    { "merge", "add-to", "TRACE", take_text, AT(out.add_to), "write TRACE with the result added" },
    { "convert", "add-to", "TRACE", take_text, AT(out.add_to),
      "write TRACE with the heaps added; all else in it stays as it is" },
    { "merge", "memprof-version", "N", take_text, AT(memprof.version),
      "of memprof-raw: write version 1 to 5 [the first that has the fields of all];\n"
      "of memprof-index see heapdump index, as for the five that follow" },
    { "convert", "memprof-version", "N", take_text, AT(memprof.version),
      "of memprof-raw: write version 1 to 5 [as it is]; of memprof-index see\n"
      "heapdump index, as for the five that follow" },
    { "index", "memprof-version", "N", take_text, AT(memprof.version),
      "0 to 4, LLVM's; or rfc, with names, files and lines, which compilers do not\n"
      "read [3, or that of the indexed profile]" },
    { "", "like", "RELEASE", take_text, AT(memprof.like),
      "write what llvm-profdata of this release writes of one raw file: 19,\n"
      "versions 0 to 3 [0], or 22, versions 2 to 4 [3]; 19 reads nothing of 22, 22\n"
      "no version before 2 [22, where it has the version]" },
    { "", "full-schema", NULL, take_flag, AT(memprof.full_schema),
      "all fields [versions 0, 1 and rfc; of an indexed profile what it has]" },
    { "", "hot-cold-schema", NULL, take_flag, AT(memprof.hot_cold_schema),
      "those that tell hot from cold: AllocCount, TotalSize, TotalLifetime,\n"
      "TotalLifetimeAccessDensity [versions 2 to 4 of raw profiles]" },
    { "", "prune", "WHAT", take_prune, AT(memprof.prune),
      "leave contexts out, and tell how much that is: min-bytes=N, those that\n"
      "allocated less, cold=P%, the smallest cold ones that together have at most P%\n"
      "of all cold bytes, or both with a comma between. What is not cold stays at\n"
      "places where something cold does, so that nothing becomes cold by it" },
    { "", "base", "FILE", take_base, AT(memprof.base),
      "put it into this indexed profile, beside its counters of functions, instead\n"
      "of the MemProf profile that may be there; beside counters of LLVM 22, in\n"
      "versions 2 to 4 or rfc" },

    /* MemProf. */
    { "", "binary", "FILE", take_binary, AT(naming.binaries),
      "of MemProf profiles: the program, or a library of it, to name functions with\n"
      "(matched by build id; may be given again) [frames are BUILDID+0xOFFSET]; of\n"
      "heap profiles as text: where a mapped file is now (matched by its name).\n"
      "Debug information may be in it, in FILE.debug or what .gnu_debuglink names\n"
      "beside it, under /usr/lib/debug/.build-id, at the servers of DEBUGINFOD_URLS\n"
      "(none are asked without), in .dwo files, or in FILE.dwp" },
    { "index", "binary", "FILE", take_binary, AT(naming.binaries),
      "the program, and each library of it that was profiled (by build id)" },
    { "", "keep-unresolved", NULL, take_flag, AT(naming.keep_unresolved),
      "with --binary: keep frames that no binary names" },
    { "", "keep-runtime", NULL, take_flag, AT(naming.keep_runtime),
      "keep frames of what recorded: with --binary, of MemProf's runtime; of heap\n"
      "profiles as text, those of the allocator" },
    { "", "names-memory", "BYTES", take_some_bytes, AT(naming.memory),
      "memory that reading the debug information of a program may take (k, M, G: times\n"
      "1024); mapped files do not count. Frames in files that need more are\n"
      "FILE+0xOFFSET. Also the size of a file from a debuginfod server [2G]" },
    { "", "names-time", "SECONDS", take_seconds, AT(naming.seconds),
      "processor time that finding names in one file may take, and the time that all\n"
      "answers of debuginfod servers may take [60]" },
    { "", "hints", NULL, take_flag, AT(memprof.hints),
      "instead of the records, what the compiler makes of them" },
    { "", "diff", NULL, take_flag, AT(memprof.hints_diff),
      "of --hints, and two files: what changes for the compiler from OLD to NEW" },
    { "", "effect", "HINTS", take_text, AT(memprof.effect),
      "instead, judge the hints that the compiler took of this profile by the later\n"
      "run that FILE is of" },
    { "", "clang", "RELEASE", take_text, AT(memprof.clang), "the compiler's: 19 or 22 [22]" },
    { "", "yaml", NULL, take_flag, AT(memprof.yaml),
      "the records as YAML, what llvm-profdata show --memory prints of an indexed\n"
      "profile, and llvm-profdata merge and this tool read" },
    { "", "cold-density", "D", take_limit, AT(memprof.limit[0]),
      "cold: less than D accesses a byte and second [0.05], and" },
    { "", "cold-lifetime", "S", take_limit, AT(memprof.limit[1]), "living for S seconds or longer [200]" },
    { "", "hot-density", "D", take_limit, AT(memprof.limit[2]),
      "hot: more than D accesses a byte and second [of clang 19 1000, of 22 nothing\n"
      "is hot without -mllvm -memprof-use-hot-hints]; of clang, these are\n"
      "-mllvm -memprof-lifetime-access-density-cold-threshold,\n"
      "-memprof-ave-lifetime-cold-threshold and\n"
      "-memprof-min-ave-lifetime-access-density-hot-threshold" },

    /* Recording. */
    { "", "at", "exit", take_text, AT(record.at),
      "the kinds live, total and temporary, of when a process ends, however it does\n"
      "[peak,exit: what is taken is what the list has]" },
    { "", "at", "peak", take_text, AT(record.at),
      "the kind peak: what was live when that was the most; with several threads,\n"
      "within 64 KiB for each" },
    { "", "at", "every=SECONDS", take_text, AT(record.at),
      "what is live again and again: each time in 12 KiB a process, unless an option\n"
      "below says what to list. When these take 32 MiB, every 2nd of the older ones\n"
      "goes; of the oldest so every 4th stays in time, every 8th, ..." },
    { "", "at", "signal[=NAME]", take_text, AT(record.at),
      "what is live whenever heapdump itself gets this signal: USR2, or as NAME says\n"
      "USR1, INT, TERM or HUP" },
    { "", "children", "WHICH", take_children, AT(record.children),
      "of the processes that the program starts record no, all, or those of programs\n"
      "whose name matches a REGEX [all]" },
    { "", "same-user", NULL, take_flag, AT(record.same_user),
      "do not record processes that change their user: these can read the call stacks\n"
      "and addresses of what their parents recorded" },
    { "record", "format", "memprof-raw", take_record_format, AT(record.format),
      "instead of a trace all that was allocated, freed or not, by call\n"
      "stack, with sizes and lifetimes, as llvm-profdata takes it; a profile\n"
      "for each process. Accesses and processors are not known, and zero [chrome]" },
    { "record", "format", "memprof-rfc", take_record_format, AT(record.format),
      "the same, of all processes together, with names, files and lines, as\n"
      "heapdump index --memprof-version rfc writes it" },
    { "", "ages", NULL, take_flag, AT(record.ages),
      "keep when each live block was allocated, for tree --by age: under 10 ms, 10 ms\n"
      "to 100 ms, 100 ms to 1 s, 1 s to 10 s, 10 s to 1 min, 1 min to 10 min, 10 min\n"
      "to 1 h, 1 h to 10 h, 10 h to 1 day, 1 day to 10 days, 10 days or more. Takes 24\n"
      "bytes a live block; heaps of kind live alone have it. The file is written at\n"
      "the end, as rows: JSON lines where its name ends in .json, .jsonl or .ndjson,\n"
      "else CSV [heapdump.PROGRAM.PID.csv]" },
    { "", "threads", NULL, take_flag, AT(record.threads),
      "keep which thread allocated, by the name that it had then, for tree --by thread;\n"
      "of up to 256 names, then <other threads>. The file is as with --ages" },
    { "", "depth", "N", take_depth, AT(record.depth), "frames kept per stack, up to 128 [48]" },
    { "", "blocks", NULL, take_flag, AT(record.blocks),
      "show each live block with its address, for heapdump pages: takes 24 bytes a block" },
    { "", "sample", "BYTES", take_some_bytes, AT(record.sample_bytes),
      "record one block per BYTES allocated, on average, and estimate from\n"
      "these: costs next to nothing (512k is usual) [every block, exactly]" },
    { "", "target", "WORD", take_text, AT(watch.target),
      "of several: the one with this number, or with this word in its line" },
    { "", "gc", NULL, take_flag, AT(watch.gc), "collect garbage first; V8 always does" },
    { "", "every", "SECONDS", take_seconds, AT(watch.every),
      "take several snapshots in one connection, SECONDS apart, so that diff and\n"
      "suspects can follow single objects: FILE.1.heapsnapshot, FILE.2.heapsnapshot\n"
      "[1 with --count]" },
    { "watch", "every", "SECONDS", take_seconds, AT(watch.every),
      "look so often; less often where a look takes more than a fifth of that [1]" },
    { "", "count", "N", take_count, AT(watch.count), "number of snapshots to take [2 with --every, else 1]" },
    { "", "wait", "SECONDS", take_seconds, AT(watch.wait),
      "wait so long for a sign of life of the recording, which gives one each 0.5 s [2]" },
    { "watch", "count", "N", take_count, AT(watch.count), "end after so many looks [none]" },
    { "", "sort", "KEY", take_order, AT(cut.order),
      "order of the lines: bytes, blocks, self or name [bytes]; self: in a tree, bytes\n"
      "beyond the listed callees" },
    { "watch", "sort", "WHAT", take_text, AT(watch.sort),
      "at first by live, blocks, growth, rate, temporary or name [live]" },
    { "", "filter", "REGEX", take_text, AT(watch.filter), "at first only sites whose name matches [all]" },
    { "", "stats", NULL, take_flag, AT(record.stats), "tell what the recording itself cost: time, memory, stacks" }
};
const size_t option_row_count = sizeof option_rows / sizeof *option_rows;
