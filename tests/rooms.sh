#!/usr/bin/env bash
# Checks the walls between the rooms of heapdump.h, and prints how large the rooms are. tests/floors.sh does the
# same for the floors of the command.
#
#   rooms.sh [--list | --enforce | --split DIR | --self-test] [HEADER]
#
# Prints the table of rooms and the number of violations of each kind. --list prints each violation too, with
# its line; --enforce does so and ends with status 1 if there is one. --split also writes each room, both halves,
# to its own file in DIR, and the lines outside of rooms to outside.c.
#
# A room begins at its banner, a line "/* ==== >>tag", and ends at the next one, or at the last closing of
# extern "C" in its half. The part of a tag before its first dot is the room's family. A name is the name of
# a function, type, tag, enumerator, variable or macro at file scope. A name is private if it begins with hd__ or
# HD__, or if the API does not declare it. Text in comments and strings does not use a name.
#
# Kinds of violation:
#   below      a room uses a private name that a room below it defines
#   public     a room uses a public name that a room below it declares
#   format     a room of a format uses a name of another format; a room has a row of the registry, and its family is
#              in no row of the table of formats below
#   size       a room has more than 1,000 lines, both halves together
#   function   a function has more than 60 lines
#   width      a line has more than 118 columns
#   prefix     a private name has no hd__, or none of the words that the table below wants after it; a room that has
#              private names has no row in that table; two families of rooms share a word of it
#   comment    a public function or type has no comment of its own right above its declaration
#   index      the index in the manual lacks a public function, has it twice or names a function that does not exist,
#              or says that an example shows a function that the example does not name
#   twin       a private name equals a public one except for its prefix: hd__merge and hd_merge
#   contents   tags in the table of contents at the top and in the banners of both halves differ, or their order
#              does; the text after a tag is not compared
#   allocator  a function of a recording room uses an allocator of the C library, directly or through the functions
#              and macros that it names
#   recursion  a function calls itself, or functions call each other in a circle; calls through pointers are
#              not followed
#   exception  a row of the table of exceptions excuses nothing
set -u
export LC_ALL=C

# Formats, and the families of their rooms.
formats='
chrome   chrome provider trace
netcf    netcf
dart     dart
memprof  memprof
folded   folded
pprof    pprof
v8       v8
rows     rows
'

# Tags and words. In a private name, hd__ or HD__ comes before one of its room's words. A room without a row of its
# own uses the row of its tag without the last parts. A word belongs to one family of rooms.
prefixes='
platform          atomic mutex cancel pages large libc
text              text utf8 error fail try need
memory            mem arr arrs bytes object limits options report
numbers           u128 sum number le varint
sets              set sets hash sort strings
io                in out os file window packed sink
lines             lines
json              json scan pull token
heap              heap axis axes table tree frame amount profile breakdown children entry
cutoff            cutoff budget residuals
condense          condense lattice fiber
heap.merge        merge merger bounds way axes axis heap profile
heap.ops          filter hide invert rename rest axis heap profile
heap.diff         diff pair entries
print             print walk top
graph             graph owned id ids weak field
graph.fill        graph missing shelf weak field
graph.merge       union
graph.reach       reach path holding removal joins
graph.dominators  dom
graph.classes     class change same histogram
places            places
dump.model        dump peek
region            region land column filler segment shown figure
tracker           tracker contexts category scope scopes thread
register.buckets  bucket crowd slot tag grade
register          register span leaf batch recent bucket slot grade piece hole vast
recorder.sites    site pending shard peak live lifetimes block weight sample recorder
recorder          recorder shard sample
recorder.resize   recorder
recorder.sight    sight
recorder.view     snapshot view
recorder.pages    paging
trace             trace chrome
provider          provider
netcf             netcf
dart              dart
digest            digest md5 blake3
memprof           memprof
memprof.index     memprof index
memprof.rfc       memprof rfc
folded            folded
v8                v8
pprof             pprof
rows              rows
dump              dump peek
'

# Rooms that run inside of malloc hooks, and functions of the C library that may allocate or free. The functions of
# stb_ds that allocate also count.
recording='region tracker register.buckets register recorder.sites recorder recorder.resize recorder.sight recorder.view recorder.pages'
allocators='
malloc calloc realloc reallocarray free aligned_alloc posix_memalign memalign valloc pvalloc cfree strdup strndup wcsdup
asprintf vasprintf printf vprintf fprintf vfprintf snprintf vsnprintf sprintf vsprintf dprintf vdprintf puts fputs putc
fputc fwrite fread fgets fgetc scanf sscanf fscanf perror fopen fdopen freopen fmemopen open_memstream open_wmemstream
fclose fflush tmpfile popen pclose opendir fdopendir closedir scandir glob getline getdelim realpath getcwd setenv
putenv qsort qsort_r hcreate tsearch regcomp setlocale newlocale iconv_open getaddrinfo getpwuid getpwnam localtime
dlopen dlsym dlclose atexit pthread_create pthread_key_create backtrace backtrace_symbols strsignal strerror_l
'

# KIND ROOM NAME[,NAME...] REASON: violations that are allowed. NAME is the name that violates, or the room again.
exceptions='
public memory hd_unpacker,hd_format,hd_places,hd_values            hd_options points to these types, and their rooms declare them
allocator platform hd__pages_take,hd__pages_give                WASI has no pages but those of the C library
allocator recorder.view hd__snapshot_begin,hd_recorder_view_lifetimes        observes from outside, with hd_options.allocator
allocator recorder.view hd__snapshot_thread,hd__snapshot_node,hd__snapshot_add,hd__snapshot_aged,hd__snapshot_nodes    fills a profile, with hd_options.allocator
allocator recorder.pages hd__paging_begin,hd__paging_walk,hd__paging_view    observes from outside, with hd_options.allocator
prefix platform MAP_ANONYMOUS,MAP_NORESERVE,madvise,mremap    some systems do not declare these
prefix io   readlinkat,openat,unlinkat,renameat,fchmod,fchown  some systems do not declare these
prefix io   O_CLOEXEC,O_DIRECTORY,O_NOFOLLOW,O_PATH,AT_FDCWD   some systems do not declare these
prefix io   MADV_DONTNEED                                      some systems do not declare this
'

read -r -d '' program <<'AWK'
BEGIN {
    n = split(formats, row, "\n")
    for (i = 1; i <= n; i++) { k = split(row[i], word, " "); for (j = 2; j <= k; j++) format_of[word[j]] = word[1] }
    n = split(prefixes, row, "\n")
    for (i = 1; i <= n; i++) { k = split(row[i], word, " "); for (j = 2; j <= k; j++) words_of[word[1]] = words_of[word[1]] " " word[j] }
    n = split(exceptions, row, "\n")
    for (i = 1; i <= n; i++) {
        if (split(row[i], word, " ") < 4) continue
        k = split(word[3], name_of, ",")
        for (j = 1; j <= k; j++) excuse[word[1], word[2], name_of[j]] = row[i]
    }
    n = split(recording, word, " ")
    for (i = 1; i <= n; i++) records[word[i]] = 1
    n = split(allocators, word, " ")
    for (i = 1; i <= n; i++) allocates[word[i]] = word[i]
    half = 0                            # 0: before the API's first banner, 1: API, 2: between, 3: implementation, 4: after
    room = ""
    chunk_reset()
}

# A name belongs to the room that defines it; else to the room with its typedef; else to the room that declares it.
function define(name, rank) {
    if (name == "") return
    if (half < 2) { if (rank > api_rank[name] + 0) { api_rank[name] = rank; api_room[name] = room } }
    else if (rank > own_rank[name] + 0) { own_rank[name] = rank; own_room[name] = room; own_line[name] = NR }
}

# A chunk is text at file scope up to a semicolon, or up to the brace that ends a function.
function chunk_reset() {
    begun = 0; last = ""; fname = ""; pointer = ""; tag = ""; agg = ""; agg_next = 0
    is_typedef = 0; is_value = 0; is_public = 0; has_body = 0; in_function = 0; enum_depth = 0; enum_next = 0
}
function chunk_save(i) {
    save[i] = depth SUBSEP parens SUBSEP begun SUBSEP last SUBSEP fname SUBSEP pointer SUBSEP tag SUBSEP agg SUBSEP agg_next \
        SUBSEP is_typedef SUBSEP is_value SUBSEP is_public SUBSEP has_body SUBSEP in_function SUBSEP enum_depth SUBSEP enum_next
}
function chunk_restore(i,    f) {
    split(save[i], f, SUBSEP)
    depth = f[1] + 0; parens = f[2] + 0; begun = f[3] + 0; last = f[4]; fname = f[5]; pointer = f[6]; tag = f[7]; agg = f[8]
    agg_next = f[9] + 0; is_typedef = f[10] + 0; is_value = f[11] + 0; is_public = f[12] + 0; has_body = f[13] + 0
    in_function = f[14] + 0; enum_depth = f[15] + 0; enum_next = f[16] + 0
}
function chunk_end() {
    if (is_typedef) define(pointer != "" ? pointer : fname != "" ? fname : last, has_body ? 3 : 2)
    else if (fname != "" && pointer == "" && !is_value) define(fname, half < 2 ? 3 : 1)
    else if (agg != "" && last == tag && !has_body) define(tag, 1)
    else if (last != tag || agg == "") define(pointer != "" ? pointer : last, 3)
    chunk_reset()
}
function function_end(    lines) {
    define(fname, 3)
    if (room == "") return
    lines = NR - begun + 1
    functions[room]++
    if (is_public) publics[room]++
    if (lines > longest[room] + 0) { longest[room] = lines; longest_name[room] = fname }
    if (lines > 60) { long_count++; long_room[long_count] = room; long_name[long_count] = fname; long_line[long_count] = begun; long_lines[long_count] = lines }
}

function use(name) {
    if (room == "" || seen[name] == NR) return
    seen[name] = NR
    use_count++; use_name[use_count] = name; use_room[use_count] = room; use_line[use_count] = NR
}

# Records that a function or macro names another, and whether it calls that. A macro calls everything that it names.
function name_used(owner, name, called) {
    if (owner == "") return
    if (!((owner, name) in calls)) { name_in[owner, ++names_in[owner]] = name; calls[owner, name] = 0 }
    if (!calls[owner, name]) { calls[owner, name] = called; name_line[owner, name] = NR }
}

function code(s, directive,    n, i, t, c, before) {
    gsub(/->/, " . ", s)
    gsub(/[^A-Za-z0-9_{}()\[\];=,.*]+/, " ", s)
    gsub(/[{}()\[\];=,.*]/, " & ", s)
    n = split(s, token, " ")
    for (i = 1; i <= n; i++) {
        t = token[i]
        c = substr(t, 1, 1)
        if (c ~ /[A-Za-z_]/) {
            if (before != "." || t ~ /^(hd|HD)_/) use(t)
            if (before != ".") name_used(directive ? macro : in_function ? fname : "", t, directive || token[i + 1] == "(")
            if (!directive && !in_function) name_seen(t, before)
        } else if (!directive) mark_seen(c, before)
        before = t
    }
    if (n && !directive) end_of_line = before
}
function name_seen(t, before) {
    if (before == "") before = end_of_line
    if (enum_depth && depth == enum_depth && parens == enum_parens && (before == "{" || before == ",")) define(t, 3)
    if (t == "enum") enum_next = 1
    if (depth) return
    if (!begun) begun = NR
    if (t == "typedef") is_typedef = 1
    else if (t == "HEAPDUMP_API") is_public = 1
    else if (t == "struct" || t == "union" || t == "enum") { agg = t; agg_next = 1 }
    else {
        if (agg_next) { tag = t; agg_next = 0 }
        if (!parens && !is_value) last = t
        if (parens == 1 && before == "*" && opened == 1 && pointer == "" && !is_value) pointer = t
    }
    opened = 0
}
function mark_seen(c, before) {
    if (before == "") before = end_of_line
    if (c == "{") {
        if (!depth) {
            if (fname != "" && !is_value && !is_typedef) in_function = 1
            else if (!is_value) { has_body = 1; if (!agg_next) define(tag, 3) }
        }
        depth++
        if (enum_next) { enum_depth = depth; enum_parens = parens; enum_next = 0 }
        agg_next = 0
    } else if (c == "}") {
        if (depth == enum_depth) enum_depth = 0
        if (depth) depth--
        if (!depth) {
            if (in_function) { function_end(); chunk_reset(); parens = 0 }
            else if (!is_value) last = ""
        }
    } else if (c == "(" || c == "[") {
        if (c == "(" && !depth && !parens && !is_value && before == last && last != "" &&
            last !~ /^(__attribute__|__declspec|_Alignas|alignas)$/ && (fname == "" || fname ~ /^[A-Z_0-9]+$/)) fname = last
        if (!depth && !parens && c == "(") opened = 1
        parens++
    } else if (c == ")" || c == "]") { if (parens) parens--; opened = 0 }
    else if (c == ";") { enum_next = 0; if (!depth && !parens) chunk_end() }
    else if (c == "=") { if (!depth && !parens) is_value = 1 }
    else if (c == ",") { if (!depth && !parens && !is_typedef) { define(last, 3); is_value = 0 } }
}

{
    sub(/\r$/, "")
    if (!in_comment && /^\/\* =+ >>[a-z][a-z0-9_.]*( \*\/)?$/) {
        new = substr($3, 3)
        if (half == 0) half = 1
        if (half == 2) half = 3
        room = new
        banner_count++; banner_half[banner_count] = half; banner_tag[banner_count] = new; banner_line[banner_count] = NR
    } else if (half == 0 && in_comment && /^ *([a-z]+ +)?>>[a-z][a-z0-9_.]*/) {
        match($0, />>[a-z][a-z0-9_.]*/)
        contents_count++; contents[contents_count] = substr($0, RSTART + 2, RLENGTH - 2); contents_line[contents_count] = NR
    } else if (/^} \/\* extern "C" \*\/$/) closing = NR
    if (length($0) > 118) { wide_count++; wide_line[wide_count] = NR; wide_columns[wide_count] = length($0) }
    source[NR] = $0
    room_of[NR] = room
    half_of[NR] = half
    if (/^#endif \/\* HEAPDUMP_(H|IMPLEMENTATION) \*\/$/ && room != "") {
        for (i = closing - 1; i <= NR; i++) room_of[i] = ""
        room = ""
        half++
    }
    was_above = above
    if (!in_comment) above = /^\/\* =+ >>/ ? "banner" : /^\/\*/ ? "comment" : ""
    text = bare($0)
    if (text ~ /^HD__FORMAT\(.*\);$/) { gsub(/^HD__FORMAT\(|\)/, "", text); text = "HEAPDUMP_API const hd_format " text }
    if (text ~ /[^ \t]/ || !/\*\/$/ && !in_comment) above = ""
    if (half == 0 && in_comment && /^ *INDEX/) in_index = 1
    else if (half == 0 && /^   [A-Za-z]/ && index_count) in_index = 0
    if (in_index) index_row($0)
    if (half == 1 && /^HEAPDUMP_API [^=]*\(/) {
        name = $0
        sub(/\(.*/, "", name)
        sub(/.*[ *]/, "", name)
        public_line[name] = NR
    }
    name = half == 1 ? declared($0) : ""
    if (name != "" && was_above != "comment") { bald_count++; bald_line[bald_count] = NR; bald_name[bald_count] = name }
    if (text ~ /^(extern ""|namespace) {$/ || closing == NR) next
    if (!continued && text ~ /^[ \t]*#/) {
        directive = 1
        macro = ""
        rest = text
        sub(/^[ \t]*#[ \t]*/, "", rest)
        if (rest ~ /^if/) chunk_save(++ifs)
        else if (rest ~ /^el/) { if (ifs) chunk_restore(ifs) }
        else if (rest ~ /^endif/) { if (ifs) ifs-- }
        else if (match(rest, /^define[ \t]+[A-Za-z_][A-Za-z0-9_]*/)) {
            name = substr(rest, 1, RLENGTH)
            rest = substr(rest, RLENGTH + 1)
            sub(/^define[ \t]+/, "", name)
            define(name, 3)
            macro = name
            is_macro[name] = 1
        }
        if (rest !~ /^(include|error|pragma|undef)/) code(rest, 1)
    } else code(text, directive)
    continued = text ~ /\\$/
    if (!continued) directive = 0
}

# The public function or type that a line declares, or "". `} name;` and a type declared before need no comment again.
function declared(s) {
    if (s ~ /^HEAPDUMP_API [^=]*\(/) { match(s, /[A-Za-z_0-9]+\(/); return substr(s, RSTART, RLENGTH - 1) }
    if (s !~ /^typedef .*hd_[a-z]/ || s ~ /hd__/) return ""
    match(s, /hd_[a-z_0-9]+/)
    if (s ~ /\(\*hd_/) match(s, /\(\*hd_[a-z_0-9]+/)
    s = substr(s, RSTART, RLENGTH)
    sub(/^\(\*/, "", s)
    return seen_type[s]++ ? "" : s
}

# A row of the index: an example or a directory of them, and functions. Rows without an example continue the row above.
function index_row(s,    n, i, word) {
    n = split(s, word, " ")
    for (i = 1; i <= n; i++) {
        if (i == 1 && word[1] ~ /\.(c|cc|h)$|\/$/) index_example = word[1]
        else if (word[i] ~ /^hd_/) {
            index_count++
            if (word[i] in index_line) index_twice[word[i]] = NR
            index_line[word[i]] = NR
            index_by[word[i]] = index_example
        }
    }
}
# Whether an example names a function. Examples are in examples/ in the directory of the header.
function shows(example, name,    path, text) {
    if (example ~ /\/$/) return 1
    if (!(example in example_text)) {
        path = FILENAME
        sub(/[^\/]*$/, "", path)
        path = path "examples/" example
        while ((getline text < path) > 0) example_text[example] = example_text[example] text "\n"
        close(path)
    }
    return match(example_text[example], "(^|[^A-Za-z_0-9])" name "[^A-Za-z_0-9]")
}

function complain(kind, where, name, line, message) {
    if ((kind, where, name) in excuse) { used[kind, where, name] = 1; return }
    violations[kind]++
    violation_count++
    if (list) { text_count++; text_line[text_count] = line; text_of[text_count] = sprintf("%s:%d: %s: %s", FILENAME, line, kind, message) }
}
function family(tag) { sub(/\..*/, "", tag); return tag }
# The chain of names from a function to an allocator of the C library; "" if the function reaches none.
function allocator_by(name,    i, next_name, way) {
    if (name in allocates) return allocates[name]
    if (name ~ /^stbds_(arr(put|push|ins|add|set|grow|free)|hm|sh|str)/) return name
    allocates[name] = ""                # a call back to this name adds nothing: its other names follow
    if (("allocator", own_room[name], name) in excuse) used["allocator", own_room[name], name] = 1
    else for (i = 1; i <= names_in[name] && way == ""; i++) {
        next_name = name_in[name, i]
        if (next_name != name) way = allocator_by(next_name)
    }
    return allocates[name] = way == "" ? "" : name ", " way
}
# Walks the calls from a function. A call to a function that is already on the path closes a circle.
function circle_from(name,    i, j, next_name, text) {
    on_way[name] = ++way_length
    way_name[way_length] = name
    for (i = 1; i <= names_in[name]; i++) {
        next_name = name_in[name, i]
        if (!calls[name, next_name] || !(next_name in names_in) || (next_name == name && name in is_macro)) continue
        if (!(next_name in on_way)) circle_from(next_name)
        else if (on_way[next_name]) {
            text = name
            for (j = on_way[next_name]; j < way_length; j++) text = (j == on_way[next_name] ? "" : text ", ") way_name[j]
            text = name == next_name ? name " calls itself" : name " calls " next_name ", which comes back to it by " text
            complain("recursion", own_room[name], name, name_line[name, next_name], text)
        }
    }
    on_way[name] = 0
    way_length--
}
function words(tag) {
    while (!(tag in words_of) && sub(/\.[^.]*$/, "", tag)) continue
    return tag in words_of ? words_of[tag] : ""
}

END {
    for (i = 1; i <= NR; i++) {
        if (room_of[i] != "") lines[room_of[i], half_of[i]]++
        else lines["", 0]++
        if (source[i] ~ /^static const hd_format hd__/ && !(family(room_of[i]) in format_of))
            complain("format", room_of[i], room_of[i], i, room_of[i] " has a row of the registry, and is of no format in the table above")
        if (split_to != "") {
            name = split_to "/" (room_of[i] == "" ? "outside" : room_of[i]) ".c"
            if (i == 1 || room_of[i] != room_of[i - 1]) print "#line " i " \"heapdump.h\"" > name
            print source[i] > name
        }
    }
    # Rooms in the order of the implementation. A room with only an API half follows the room before it in the API.
    for (i = 1; i <= banner_count; i++) {
        tag = banner_tag[i]
        if ((tag, banner_half[i]) in stands) complain("contents", tag, tag, banner_line[i], "the banner >>" tag " stands twice in one half")
        stands[tag, banner_half[i]] = banner_line[i]
        if (banner_half[i] == 3 && !(tag in place)) { order[++rooms] = tag; place[tag] = rooms }
    }
    before = 0
    for (i = 1; i <= banner_count; i++) {
        tag = banner_tag[i]
        if (banner_half[i] != 1) continue
        if (!(tag in place)) {
            for (j = rooms++; j > before; j--) { order[j + 1] = order[j]; place[order[j]] = j + 1 }
            order[before + 1] = tag
            place[tag] = before + 1
        } else if (place[tag] < before)
            complain("contents", tag, tag, banner_line[i], "the API of >>" tag " comes after that of >>" order[before] ", the implementation before it")
        before = place[tag]
    }
    if (!rooms) { print FILENAME ": no banners" > "/dev/stderr"; exit 2 }
    for (i = 1; i <= contents_count || i <= rooms; i++)
        if (contents[i] != order[i]) {
            if (i > rooms) message = ">>" contents[i] " is in the table of contents alone"
            else if (i > contents_count) message = ">>" order[i] " is not in the table of contents"
            else message = "the table of contents has >>" contents[i] " where the banners have >>" order[i]
            complain("contents", "top", "top", contents_line[i <= contents_count ? i : contents_count] + 0, message)
            break
        }

    for (i = 1; i <= use_count; i++) {
        name = use_name[i]
        is_private = !(name in api_room) || name ~ /^(hd|HD)__/
        where = is_private && (name in own_room) ? own_room[name] : (name in api_room) ? api_room[name] : ""
        here = use_room[i]
        if (where == "" || where == here) continue
        a = format_of[family(here)]
        b = format_of[family(where)]
        if (a != "" && b != "" && a != b)
            complain("format", here, name, use_line[i], here " uses " name " of " where)
        else if (place[where] > place[here])
            complain(is_private ? "below" : "public", here, name, use_line[i], here " uses " name " of " where ", which is below")
    }
    for (i = 1; i <= rooms; i++) {
        tag = order[i]
        n = lines[tag, 1] + lines[tag, 3]
        if (n > 1000) complain("size", tag, tag, stands[tag, 3], tag " has " n " lines")
    }
    for (i = 1; i <= long_count; i++)
        complain("function", long_room[i], long_name[i], long_line[i], long_name[i] " has " long_lines[i] " lines")
    for (name in public_line) if (!(name in index_line)) complain("index", "", name, public_line[name], "the index lacks " name)
    for (name in index_line) {
        at = index_line[name]
        if (!(name in public_line)) complain("index", "", name, at, "the index has " name ", which is no public function")
        else if (name in index_twice) complain("index", "", name, at, "the index has " name " twice")
        else if (!shows(index_by[name], name)) complain("index", "", name, at, "examples/" index_by[name] " does not name " name)
    }
    for (i = 1; i <= bald_count; i++)
        complain("comment", room_of[bald_line[i]], bald_name[i], bald_line[i], bald_name[i] " has no comment right above it")
    for (i = 1; i <= wide_count; i++)
        complain("width", "", wide_line[i], wide_line[i], wide_columns[i] " columns")
    for (name in own_room) {
        tag = own_room[name]
        if (tag == "" || name in api_room) continue
        if (name !~ /^(hd|HD)__/) {
            if (name !~ /^(hd|HD|HEAPDUMP)_/) complain("prefix", tag, name, own_line[name], name " of " tag " does not begin with hd__")
            continue
        }
        public_name = name
        sub(/__/, "_", public_name)
        if (public_name in api_room)
            complain("twin", tag, name, own_line[name], name " of " tag " is " public_name " but for its prefix")
        n = split(words(tag), word, " ")
        if (!n) {
            complain("prefix", tag, name, own_line[name], name " of " tag ": that room has no row of words")
            continue
        }
        fits = 0
        for (i = 1; i <= n; i++) if (index(tolower(name) "_", "hd__" word[i] "_") == 1) fits = 1
        if (!fits) complain("prefix", tag, name, own_line[name], name " of " tag " does not begin with hd__" word[1] "_")
    }
    for (tag in words_of) {
        n = split(words_of[tag], word, " ")
        for (i = 1; i <= n; i++) {
            if (word[i] in family_of && family_of[word[i]] != family(tag))
                complain("prefix", tag, word[i], 0, "the word " word[i] " is one of " family_of[word[i]] " and of " family(tag))
            family_of[word[i]] = family(tag)
        }
    }
    for (name in names_in) {
        tag = name in own_room ? own_room[name] : api_room[name]
        for (i = 1; i <= names_in[name] && tag in records; i++) {
            other = name_in[name, i]
            if (own_room[other] in records || other == name || (way = allocator_by(other)) == "") continue
            complain("allocator", tag, name, name_line[name, other], name " of " tag " comes to an allocator by " way)
        }
        if (!(name in on_way)) circle_from(name)
    }
    for (key in excuse)
        if (!(key in used)) {
            split(key, word, SUBSEP)
            complain("exception", "", "", 0, word[3] " needs none: " excuse[key])
        }

    # Print the violations in the order of their lines.
    for (i = 1; i <= text_count; i++) { at = text_line[i]; by_line[at] = by_line[at] text_of[i] "\n" }
    for (i = 0; i <= NR; i++) if (i in by_line) printf "%s", by_line[i]
    if (text_count) print ""

    form = "%-16s %7s %7s %7s %10s %7s  %s\n"
    printf form, "room", "API", "impl.", "lines", "functions", "public", "longest"
    for (i = 1; i <= rooms; i++) {
        tag = order[i]
        a = lines[tag, 1] + 0; b = lines[tag, 3] + 0; f = functions[tag] + 0; p = publics[tag] + 0
        printf form, tag, a, b, a + b, f, p, f ? longest[tag] " " longest_name[tag] : "-"
        all_a += a; all_b += b; all_f += f; all_p += p
    }
    printf form, "outside of rooms", "", "", lines["", 0] + 0, "", "", ""
    printf form, "all", all_a, all_b, NR, all_f, all_p, ""
    printf "violations:"
    n = split("below public format size function width comment index prefix twin contents allocator recursion exception", word, " ")
    for (i = 1; i <= n; i++) printf "%s %s %d", (i > 1 ? "," : ""), word[i], violations[word[i]]
    print ""
    exit (enforce && violation_count ? 1 : 0)
}
AWK
program="$(cat "$(dirname "$0")/bare.awk")"$'\n'$program

rooms() {                        # rooms HEADER LIST ENFORCE [DIR]
  awk -v formats="${formats//$'\n'/\\n}" -v prefixes="${prefixes//$'\n'/\\n}" -v exceptions="${exceptions//$'\n'/\\n}" \
    -v recording="$recording" -v allocators="${allocators//$'\n'/ }" \
    -v list="$2" -v enforce="$3" -v split_to="${4-}" "$program" "$1"
}

# Tests each kind of violation: a small header without one, and the same header with one line changed. --------

header() {
  cat <<'END'
/* a header
   ROOMS
       >>base   what all share
       >>netcf  one format
       >>dart   another; >>base is named in passing
       >>memprof.raw  a third
   INDEX
       read
         read.c   hd_netcf_read
   That is all. */
#ifndef HEAPDUMP_H
#define HEAPDUMP_H
extern "C" {
/* ====== >>base
   Shares. */
/* Bytes. */
typedef struct hd_str { const char *data; size_t len; } hd_str;
#define HD_NONE 0xffffffffu
/* ====== >>netcf */
/* Reads,
   and calls back. */
HEAPDUMP_API int hd_netcf_read(hd_str s, int (*each)(void *user));
/* ====== >>dart */
/* Values. */
typedef enum hd_dart_kind { HD_DART_NULL = 1, HD_DART_BOOL } hd_dart_kind;
/* ====== >>memprof.raw */
/* Is called. */
typedef bool (*hd_memprof_fn)(void *user);
#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* HEAPDUMP_H */
#if defined(HEAPDUMP_IMPLEMENTATION)
#define HD__INLINE static inline
extern "C" {
/* ====== >>base */
#define HD__TRY(call)  do { if (call) return 1; } while (0)
typedef struct hd__mem { int taken; struct { int a; } b; } hd__mem;
static int hd__base_sum(const hd__mem *m)
{
#if defined(_WIN32)
    if (m) {
#else
    while (m) {
#endif
        return m->taken;          /* not hd__dart_step, "hd__dart_step" */
    }
    return '"' + hd_log("hd__dart_step \" // /*");
}
/* ====== >>netcf
   Reads. */
static int hd__netcf_field(int a) { return a; }
HEAPDUMP_API int hd_netcf_read(hd_str s, int (*each)(void *user)) {
    int c = hd__netcf_field(1);
    HD__TRY(c); // hd__dart_step
    return c;
}
/* ====== >>dart */
enum { HD__DART_MOST = sizeof(hd__mem), HD__DART_LEAST };
static const char *const hd__dart_names[] = { "a", "b" };
static int hd__dart_step(int a);
static int hd__dart_step(int a) { return a + HD__DART_MOST; }
/* ====== >>memprof.raw */
HD__INLINE int hd__memprof_last(void) { return hd__base_sum(0); }
#ifdef __cplusplus
} /* extern "C" */
#endif
#undef HD__INLINE
#endif /* HEAPDUMP_IMPLEMENTATION */
END
}

self_test() {
  local dir checks=0 failed=0
  dir=$(mktemp -d) || exit 2
  trap "rm -rf '$dir'" EXIT
  mkdir "$dir/examples" && echo 'int main(void) { return hd_netcf_read(hd_cstr("a"), 0) + hd_netcf_two(); }' >"$dir/examples/read.c"
  exceptions=
  local words=$'base base mem try\nnetcf netcf\ndart dart\ncf cf\nmemprof memprof'
  prefixes=$words
  expect() {                     # expect KINDS NAME: the header on standard input has exactly these kinds of violation
    local kinds=$1 want=0 got status=0
    cat >"$dir/h"
    rooms "$dir/h" 1 1 >"$dir/out" 2>&1 || status=$?
    got=$(sed -n 's/^.*\/h:[0-9]*: \([a-z]*\): .*/\1/p' "$dir/out" | sort -u | tr '\n' ' ')
    [ -z "$kinds" ] || want=1
    checks=$((checks + 1))
    [ "$got" = "$kinds${kinds:+ }" ] && [ $status = $want ] ||
      { failed=$((failed + 1)); echo "FAIL $2: status $want of '$kinds' expected, $status of '$got' found"; grep '/h:' "$dir/out"; }
  }
  many() { awk -v n="$1" 'BEGIN { while (n--) print "    ;" }'; }
  insert() { awk -v before="$1" -v text="$2" 'index($0, before) == 1 { print text } { print }' < <(header); }

  expect "" "a clean header" < <(header)
  expect below "a call downward" < <(insert '    if (m) {' '    hd__dart_step(1);')
  expect below "a call downward in a macro" < <(insert 'typedef struct hd__mem' '#define HD__BASE_STEP(a) \\
    hd__dart_step(a)')
  expect below "a declaration of what is below" < <(insert 'typedef struct hd__mem' 'static int hd__dart_step(int a);')
  expect below "an enumerator of a room below" < <(insert '    if (m) {' '    m->taken = HD__DART_LEAST;')
  expect public "a public type of a room below" < <(insert '    if (m) {' '    hd_dart_kind kind;')
  expect format "a format that names another" < <(insert 'static int hd__dart_step(int a) {' 'static int hd__dart_c(void) { return hd__netcf_field(1); }')
  expect format "a format that names a public type of another" < <(insert '    HD__TRY(c);' '    hd_dart_kind kind;')
  expect format "the same from a room with a dot in its tag" < <(insert 'HD__INLINE int' 'static const void *hd__memprof_n(void) { return hd__dart_names; }')
  expect format "a format that the table does not have" < <(header | sed 's/dart/cf/g; s/DART/CF/g; /static int hd__cf_step(int a);/i static const hd_format hd__cf_format = { 0 };')
  expect contents "a table of contents that lacks a room" < <(header | sed '/>>netcf  one/d')
  expect contents "a table of contents with an old name" < <(header | sed 's/>>netcf  one/>>necf  one/')
  expect contents "a table of contents in another order" < <(header | sed '/>>netcf  one/{h;d};/>>dart   another/G')
  expect contents "a table of contents with a room that is gone" < <(header | sed 's/^   ROOMS/       >>gone a room\n&/')
  expect contents "a banner in one half alone" < <(header | sed '0,/=== >>netcf/s/=== >>netcf/=== >>new/')
  expect "" "a function of 60 lines" < <(insert '    if (m) {' "$(many 49)")
  expect function "a function of 61 lines" < <(insert '    if (m) {' "$(many 50)")
  expect "" "a room of 1000 lines" < <(insert 'typedef struct hd__mem' "$(many 981)")
  expect size "a room of 1001 lines" < <(insert 'typedef struct hd__mem' "$(many 982)")
  expect "" "a line of 118 columns" < <(insert 'typedef struct hd__mem' "/* $(printf '%0112d' 0) */")
  expect width "a line of 119 columns" < <(insert 'typedef struct hd__mem' "/* $(printf '%0113d' 0) */")
  local netcf_two='/* Two. */
HEAPDUMP_API int hd_netcf_two(void);'
  expect index "a function that the index lacks" < <(header | awk -v t="$netcf_two" '{ print } /^\/\* =+ >>netcf/ && !n++ { print t }')
  expect index "an index with a name that is gone" < <(header | sed 's/hd_netcf_read$/& hd_netcf_gone/')
  expect index "an index that has a function twice" < <(header | sed 's/hd_netcf_read$/& hd_netcf_read/')
  expect index "an example that does not show it" < <(header | sed 's/read\.c /other.c /')
  expect comment "a public function without a comment" < <(header | sed '/^\/\* Reads,/d; /and calls back/d')
  expect comment "a comment that stands above another line" < <(insert 'HEAPDUMP_API int hd_netcf_read' '#define HD_MOST 1')
  expect comment "the comment of the function before" < <(insert 'HEAPDUMP_API int hd_netcf_read' \
    'HEAPDUMP_API int hd_netcf_two(void);  /* of the next, too */' | sed 's/hd_netcf_read$/& hd_netcf_two/')
  expect comment "a public type without a comment" < <(header | sed '/^\/\* Values\. /d')
  expect comment "a public function type without a comment" < <(header | sed '/^\/\* Is called\. /d')
  expect comment "a banner alone" < <(header | awk '/Reads,|and calls back/ { next } { print }')
  expect prefix "a private name without its room's word" < <(insert 'enum { HD__DART_MOST' 'static int hd__darts;')
  expect prefix "a private name with another room's word" < <(insert 'enum { HD__DART_MOST' 'static int hd__netcf_x;')
  prefixes=$'netcf netcf\ndart dart\nmemprof memprof'
  expect prefix "private names in a room without a row of words" < <(header)
  prefixes=$'base base mem try\nnetcf netcf\ndart dart mem\nmemprof memprof'
  expect prefix "a word of two families" < <(header)
  prefixes=$words
  expect twin "a private name that is a public one" < <(header | sed 's/hd__netcf_field/hd__netcf_read/')
  expect prefix "a private name without hd__" < <(insert 'typedef struct hd__mem' 'static int base_step(void) { return 1; }')
  recording=dart
  step='static int hd__dart_step(int a) {'
  expect allocator "an allocator in a room that records" < <(insert "$step" 'static void hd__dart_a(void) { free(malloc(1)); }')
  expect allocator "an allocator as a value" < <(insert "$step" 'static void hd__dart_a(void) { hd_log(free); }')
  expect allocator "an allocator in a macro" < <(insert "$step" '#define HD__DART_A(p) \\
    free(p)
static void hd__dart_a(void) { HD__DART_A(0); }')
  expect allocator "an array of stb_ds" < <(insert "$step" 'static void hd__dart_a(int *a) { stbds_arrput(a, 1); }')
  expect allocator "an allocator behind a function of a room above" < <(header | sed "/^static int hd__base_sum/i\\
static void *hd__base_b(void) { return strdup(\"\"); }\\
#define HD__BASE_C() (hd__base_b())
    /^$step/i static void hd__dart_a(void) { HD__BASE_C(); }")
  expect "" "an allocator that no room that records comes to" < <(insert 'static int hd__base_sum' 'static void *hd__base_b(int free) { return malloc(1); }')
  expect "" "a member with an allocator's name" < <(insert "$step" 'static void hd__dart_a(hd__mem *m) { m->free(m); }')
  expect recursion "a function that calls itself" < <(insert "$step" 'static int hd__dart_a(int a) { return a ? hd__dart_a(a - 1) : 0; }')
  expect recursion "two that call each other, one through a macro" < <(insert "$step" 'static int hd__dart_b(int a);
#define HD__DART_B(a) hd__dart_b(a)
static int hd__dart_a(int a) { return HD__DART_B(a); }
static int hd__dart_b(int a) { return hd__dart_a(a); }')
  expect "" "a function that hands itself on" < <(insert "$step" 'static int hd__dart_a(int a) { return hd_log(hd__dart_a); }')
  exceptions='allocator base hd__base_b tried here'
  expect "" "an allocator that an exception allows" < <(insert "$step" 'static void hd__dart_a(void) { hd__base_b(); }' |
    sed '/^static int hd__base_sum/i static void *hd__base_b(void) { return malloc(1); }')
  exceptions='below base hd__dart_step,HD__DART_LEAST tried here'
  expect "" "what an exception allows" < <(insert '    if (m) {' '    hd__dart_step(HD__DART_LEAST);')
  expect exception "an exception that is not needed any more" < <(insert '    if (m) {' '    hd__dart_step(1);')
  exceptions=

  header >"$dir/h"
  rooms "$dir/h" 0 0 "$dir" >"$dir/out"
  checks=$((checks + 2))
  [ "$(sed -n 's/ \+/ /g; s/ $//; /^netcf/p' "$dir/out")" = "netcf 4 8 12 2 1 5 hd_netcf_read" ] ||
    { failed=$((failed + 1)); echo "FAIL the row of a room"; cat "$dir/out"; }
  [ "$(grep -hv '^#line' "$dir"/{outside,base,netcf,dart,memprof.raw}.c | sort)" = "$(header | sort)" ] &&
    grep -q hd__netcf_field "$dir/netcf.c" || { failed=$((failed + 1)); echo "FAIL rooms written to files of their own"; }
  echo "rooms.sh: $((checks - failed)) passed, $failed failed"
  [ $failed = 0 ]
}

list=0 enforce=0 split_to=
case ${1-} in
  --self-test) self_test; exit ;;
  --list) list=1; shift ;;
  --enforce) list=1 enforce=1; shift ;;
  --split) split_to=${2:?--split needs a directory}; shift 2; mkdir -p "$split_to" || exit 2 ;;
  -*) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
rooms "${1-$(dirname "$0")/../heapdump.h}" $list $enforce "$split_to"
