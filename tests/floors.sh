#!/usr/bin/env bash
# Checks the walls between the floors of the command and of its recorder, and prints how large the floors are.
# tests/rooms.sh does the same for the rooms of heapdump.h.
#
#   floors.sh [--list | --enforce | --self-test] [ROOT]
#
# Prints the table of floors and the number of violations of each kind. --list prints each violation too, with
# its file and line; --enforce does so and ends with status 1 if there is one. ROOT is the directory that holds
# examples/ [default: this repository].
#
# A folder of examples/heapdump/ is a floor; the recorder's folder is one too. A floor F has one face, the header
# F/F.h; its other headers are private. Files above all floors: main.c, models.c, models.h and library.c. Only
# .c and .h files are read.
#
# Kinds of violation:
#   floor      a folder is missing from the list of floors below, or has no file; a file is above all floors
#   order      a file includes a header of a later floor, or a header above all floors
#   face       a file includes a private header of another floor; a floor has no face
#   format     a file of formats includes more than heapdump.h and headers of formats
#   circle     headers include each other
#   extern     a .c file declares a function that another file defines
#   home       a header declares a function that a file of another floor defines
#   readme     a floor has no README.md, or one of more than 15 lines
#   comment    a .c file does not begin with a comment
#   size       a file has more than 500 lines
#   function   a function has more than 60 lines
#   columns    a line has more than 118 characters
set -u
export LC_ALL=C

# Floors in their order, each with its folder below examples/ and its face.
floors='
recorder  recorder            join.h
shell     heapdump/shell      shell.h
screen    heapdump/screen     screen.h
symbols   heapdump/symbols    symbols.h
formats   heapdump/formats    formats.h
heaps     heapdump/heaps      heaps.h
objects   heapdump/objects    objects.h
record    heapdump/record     record.h
watch     heapdump/watch      watch.h
report    heapdump/report     report.h
memprof   heapdump/memprof    memprof.h
'
above='main.c models.c models.h library.c'

read -r -d '' program <<'AWK'
BEGIN {
    n = split(floors, row, "\n")
    for (i = 1; i <= n; i++) {
        if (split(row[i], word, " ") < 3) continue
        name_of[++count] = word[1]; folder[count] = "examples/" word[2]; face[count] = folder[count] "/" word[3]
        number[folder[count]] = count
    }
    n = split(above, word, " ")
    for (i = 1; i <= n; i++) number["examples/heapdump/" word[i]] = count + 1
    name_of[count + 1] = "above all"
}

function complain(kind, file, line, message) {
    violations[kind]++
    violation_count++
    if (list) printf "%s:%d: %s: %s\n", file, line, kind, message
}

# The number of a file's floor, 0 for a file outside of all floors.
function floor_of(file,    at) {
    if (file in number) return number[file]
    at = file
    sub(/\/[^\/]*$/, "", at)
    return at in number ? number[at] : 0
}

# Makes "a/b/../c" "a/c".
function plain(path) {
    while (sub(/[^\/.]+\/\.\.\//, "", path)) continue
    return path
}

# A chunk is text at file scope up to a semicolon, or up to the brace that ends a function.
function chunk_reset() {
    begun = 0; parens = 0; fname = ""; is_value = 0; is_local = 0; is_type = 0; in_function = 0
}
function function_end(    lines) {
    lines = FNR - begun + 1
    functions[here]++
    if (!is_local) home[fname] = FILENAME
    if (lines > longest[here] + 0) { longest[here] = lines; longest_name[here] = fname }
    if (lines > 60) complain("function", FILENAME, begun, fname " has " lines " lines")
    chunk_reset()
}
function code(s,    n, i, t, c, before) {
    gsub(/[^A-Za-z0-9_{}()\[\];=,*]+/, " ", s)
    gsub(/[{}()\[\];=,*]/, " & ", s)
    n = split(s, token, " ")
    for (i = 1; i <= n; i++) {
        t = token[i]
        c = substr(t, 1, 1)
        if (c == "{") {
            if (!depth && !parens && fname != "" && !is_value && !is_type) in_function = 1
            depth++
        } else if (c == "}") {
            if (depth) depth--
            if (!depth && in_function) function_end()
        } else if (c == "(" || c == "[") {
            # A macro at file scope may come before the function.
            if (c == "(" && !depth && !parens && !is_value && (fname == "" || fname ~ /^[A-Z_0-9]+$/) &&
                token[i + 1] != "*" && last ~ /^[A-Za-z_]/ && last !~ /^(__attribute__|__asm__|_Static_assert)$/) {
                if (fname != "") begun = FNR
                fname = last
            }
            if (!depth) parens++
        } else if (c == ")" || c == "]") { if (!depth && parens) parens-- }
        else if (c == ";") {
            if (!depth && !parens) {
                if (fname != "" && !is_value && !is_local && !is_type) {
                    if (FILENAME ~ /\.c$/)
                        complain("extern", FILENAME, begun, fname " is declared here; its header is missing")
                    else {
                        declared_count++
                        declared[declared_count] = fname; declared_in[declared_count] = FILENAME
                        declared_at[declared_count] = begun
                    }
                }
                chunk_reset()
            }
        } else if (c == "=") { if (!depth && !parens) is_value = 1 }
        else if (!depth) {
            if (!begun) begun = FNR
            if (!parens && t == "static") is_local = 1
            else if (!parens && t == "typedef") is_type = 1
        }
        if (c != "") last = t
    }
}

FNR == 1 {
    here = floor_of(FILENAME)
    if (!here) complain("floor", FILENAME, 1, "the file is on no floor")
    in_comment = 0; depth = 0; ifs = 0; continued = 0; last = ""
    chunk_reset()
    files[here]++
    file_count++
    known[FILENAME] = 1
    if (FILENAME ~ /\.c$/ && $0 !~ /^\/[*\/]/) complain("comment", FILENAME, 1, "the first line is no comment")
}
{
    sub(/\r$/, "")
    lines[here]++
    if (FNR == 501) complain("size", FILENAME, FNR, "the file has more than 500 lines")
    wide = $0
    gsub(/[\200-\277]/, "", wide)
    if (length(wide) > 118) complain("columns", FILENAME, FNR, "the line has " length(wide) " characters")
    if (!in_comment && match($0, /^[ \t]*#[ \t]*include[ \t]+"/)) {
        target = substr($0, RLENGTH + 1)
        sub(/".*/, "", target)
        at = FILENAME
        sub(/[^\/]*$/, "", at)
        include_count++
        from[include_count] = FILENAME; to[include_count] = plain(at target); include_line[include_count] = FNR
    }
    text = bare($0)
    if (continued || text ~ /^[ \t]*#/) {
        # Both branches of a condition begin at the same depth of braces.
        if (!continued && text ~ /^[ \t]*#[ \t]*if/) { ifs++; save[ifs] = depth; save_in[ifs] = in_function }
        else if (!continued && text ~ /^[ \t]*#[ \t]*el/) {
            if (ifs) { depth = save[ifs]; in_function = save_in[ifs] }
        }
        else if (!continued && text ~ /^[ \t]*#[ \t]*endif/) { if (ifs) ifs-- }
        continued = text ~ /\\$/
        next
    }
    if (text !~ /^[ \t]*extern ""/) code(text)
}

# Reports each include that leads a file back to itself. First removes the files outside of all circles, so that
# few remain to be followed.
function circles(    i, changed, into, out, reach, file, other, third) {
    for (i = 1; i <= include_count; i++) open[i] = to[i] in known
    do {
        changed = 0
        for (i in into) delete into[i]
        for (i in out) delete out[i]
        for (i = 1; i <= include_count; i++) if (open[i]) { out[from[i]]++; into[to[i]]++ }
        for (i = 1; i <= include_count; i++)
            if (open[i] && (!(from[i] in into) || !(to[i] in out))) { open[i] = 0; changed = 1 }
    } while (changed)
    for (i = 1; i <= include_count; i++) if (open[i]) reach[from[i], to[i]] = 1
    for (file in out) for (other in out) if ((other, file) in reach)
        for (third in out) if ((file, third) in reach) reach[other, third] = 1
    for (i = 1; i <= include_count; i++)
        if (open[i] && ((to[i], from[i]) in reach))
            complain("circle", from[i], include_line[i], "includes " to[i] ", which includes this file in turn")
}

END {
    n = split(folders, word, "\n")
    for (i = 1; i <= n; i++)
        if (word[i] != "" && !(word[i] in number))
            complain("floor", word[i], 0, "the folder is in no row of the list of floors")
    n = split(readmes, row, "\n")
    for (i = 1; i <= n; i++) if (split(row[i], word, " ") == 2) readme[word[2]] = word[1]
    for (i = 1; i <= count; i++) {
        if (!files[i]) { complain("floor", folder[i], 0, "the floor has no file"); continue }
        if (!(face[i] in known)) complain("face", face[i], 0, "the floor has no face")
        at = folder[i] "/README.md"
        if (!(at in readme)) complain("readme", at, 0, "the floor has no README.md")
        else if (readme[at] > 15) complain("readme", at, 0, "the text has " readme[at] " lines")
    }
    for (i = 1; i <= include_count; i++) {
        a = floor_of(from[i]); b = floor_of(to[i])
        if (a == number["examples/heapdump/formats"] && b != a && to[i] != "heapdump.h")
            complain("format", from[i], include_line[i], "includes " to[i])
        if (!b || a == b) continue
        if (b > a) complain("order", from[i], include_line[i], "includes " to[i] " of a later floor")
        else if (to[i] != face[b]) complain("face", from[i], include_line[i], "includes " to[i] ", which is private")
        if (to[i] == face[b] && !((a, b) in uses)) uses[a, b] = 1
    }
    circles()
    for (i = 1; i <= declared_count; i++) {
        a = floor_of(declared_in[i]); b = floor_of(home[declared[i]])
        if (b && a != b) complain("home", declared_in[i], declared_at[i], declared[i] " is of " home[declared[i]])
    }
    if (violation_count && list) print ""
    form = "%-10s %6s %7s %10s  %-34s %s\n"
    printf form, "floor", "files", "lines", "functions", "longest", "faces used"
    for (i = 1; i <= count + 1; i++) {
        used = ""
        for (j = 1; j <= count; j++) if ((i, j) in uses) used = used (used == "" ? "" : " ") name_of[j]
        printf form, name_of[i], files[i] + 0, lines[i] + 0, functions[i] + 0, \
            longest[i] ? longest[i] " " longest_name[i] : "-", used == "" ? "-" : used
        all_files += files[i]; all_lines += lines[i]; all_functions += functions[i]
    }
    printf form, "all", all_files, all_lines, all_functions, "", ""
    printf "violations:"
    n = split("floor order face format circle extern home readme comment size function columns", word, " ")
    for (i = 1; i <= n; i++) printf "%s %s %d", (i > 1 ? "," : ""), word[i], violations[word[i]]
    print ""
    exit (enforce && violation_count ? 1 : 0)
}
AWK
program="$(cat "$(dirname "$0")/bare.awk")"$'\n'$program

floors() {                       # floors ROOT LIST ENFORCE
  cd "$1" || return 2
  local sources folders readmes
  sources=$(find examples/recorder examples/heapdump -name '*.[ch]' | sort)
  [ -n "$sources" ] || { echo "$1: no files of the command" >&2; return 2; }
  folders=$(find examples/heapdump -mindepth 1 -type d | sort)
  readmes=$(find examples/recorder examples/heapdump -name README.md -exec awk 'END { print NR, FILENAME }' {} \;)
  # shellcheck disable=SC2086
  awk -v floors="${floors//$'\n'/\\n}" -v above="$above" -v folders="${folders//$'\n'/\\n}" \
    -v readmes="${readmes//$'\n'/\\n}" -v list="$2" -v enforce="$3" "$program" $sources
}

# Tests each kind of violation: three small floors without one, and the same floors with one change. ----------

house() {                        # house DIR: three floors without violations
  local at=$1/examples
  put() { local to=$at/$1; shift; printf '%s\n' "$@" >"$to"; }
  rm -rf "$1/examples"
  mkdir -p "$at"/recorder "$at"/heapdump/{shell,formats,heaps}
  for f in recorder heapdump/shell heapdump/formats heapdump/heaps; do echo "# a floor" >"$at/$f/README.md"; done
  echo 'int joined(void);' >"$at/recorder/join.h"
  put heapdump/shell/shell.h \
    '#include "text.h"' 'extern int (*shell_hook)(int a);' 'int shell_put(int a);'
  echo 'int shell_text(int a);' >"$at/heapdump/shell/text.h"
  cat >"$at/heapdump/shell/put.c" <<'END'
/* Puts. #include "../heaps/heaps.h" */
#include "shell.h"
static int step(int a);
int (*shell_hook)(int a);
static const struct row { int (*run)(int a); } rows[] = { { step } };
static int step(int a) { return a + sizeof rows; }
int shell_put(int a)
{
#ifdef _WIN32
    if (a) {
#else
    while (a) {
#endif
        return step(a) + '{' + sizeof "{(";    /* { */
    }
    return 0;
}
END
  put heapdump/formats/formats.h '#include "../../../heapdump.h"' 'int format_row(void);'
  put heapdump/formats/row.c \
    '/* A format. */' '#include "formats.h"' 'int format_row(void) { return 1; }'
  put heapdump/heaps/heaps.h \
    '#include "../shell/shell.h"' '#include "../formats/formats.h"' 'int run_tree(void);'
  echo 'int pair(void);' >"$at/heapdump/heaps/pairing.h"
  put heapdump/heaps/tree.c '/* tree */' '#include "heaps.h"' \
    '#include "pairing.h"' 'int run_tree(void) {' '    return shell_put(1);' '}'
  put heapdump/main.c \
    '/* main */' '#include "heaps/heaps.h"' '#include "models.h"' 'int main(void) { return run_tree(); }'
  echo 'int run_info(void);' >"$at/heapdump/models.h"
}

self_test() {
  local dir checks=0 failed=0 root
  dir=$(mktemp -d) || exit 2
  trap "rm -rf '$dir'" EXIT
  floors='
recorder recorder         join.h
shell    heapdump/shell   shell.h
formats  heapdump/formats formats.h
heaps    heapdump/heaps   heaps.h
'
  at=$dir/examples/heapdump
  expect() {                     # expect KINDS NAME: the house must have exactly these kinds of violation
    local want=0 got status=0
    (floors "$dir" 1 1) >"$dir/out" 2>&1 || status=$?
    got=$(sed -n 's/^examples[^ ]*:[0-9]*: \([a-z]*\): .*/\1/p' "$dir/out" | sort -u | tr '\n' ' ')
    [ -z "$1" ] || want=1
    checks=$((checks + 1))
    [ "$got" = "$1${1:+ }" ] && [ $status = $want ] ||
      { failed=$((failed + 1)); echo "FAIL $2: status $want of '$1' expected, $status of '$got' found"
        cat "$dir/out"; }
    house "$dir"
  }
  many() { awk -v n="$1" 'BEGIN { while (n--) print "    ;" }'; }
  wide() { printf '/* %*s */\n' "$1" "" | sed "s/^/${2-}/"; }

  house "$dir"
  expect "" "a clean house"
  checks=$((checks + 1))
  [ "$(sed -n 's/ \+/ /g; s/ $//; /^heaps/p; /^shell/p' "$dir/out" | tr '\n' '|')" = \
    "shell 3 21 2 11 shell_put -|heaps 3 10 1 3 run_tree shell formats|" ] ||
    { failed=$((failed + 1)); echo "FAIL the rows of two floors"; cat "$dir/out"; }
  echo '#include "../heaps/heaps.h"' >>"$at/shell/put.c"; expect order "a file that includes the face of a later floor"
  echo '#include "../models.h"' >>"$at/heaps/tree.c"; expect order "a floor that includes a header above all"
  echo '#include "../heapdump/shell/shell.h"' >>"$at/../recorder/join.h"
  expect order "the recorder that includes the command"
  echo '#include "../shell/text.h"' >>"$at/heaps/tree.c"; expect face "a private header of another floor"
  echo '#include "heaps/pairing.h"' >>"$at/main.c"; expect face "main with a private header"
  sed -i '/pairing.h/d' "$at/heaps/tree.c"; mv "$at/heaps/heaps.h" "$at/heaps/pair.h"
  sed -i 's/heaps.h/pair.h/' "$at/heaps/tree.c"
  sed -i '/heaps.h/d' "$at/main.c"; expect face "a floor without a face"
  echo '#include "../shell/shell.h"' >>"$at/formats/row.c"; expect format "a format that uses the shell"
  echo '#include "../../unpack.h"' >>"$at/formats/row.c"; expect format "a format that uses another header"
  echo '#include "shell.h"' >>"$at/shell/text.h"; expect circle "headers that include each other"
  echo '#include "heaps.h"' >>"$at/heaps/heaps.h"; expect circle "a header that includes itself"
  echo 'extern int shell_text(int a);' >>"$at/heaps/tree.c"; expect extern "an extern declaration"
  echo 'int shell_text(int a);' >>"$at/heaps/tree.c"; expect extern "the same without the word"
  echo 'int run_tree(void);' >>"$at/shell/text.h"; expect home "a header with a function of another floor"
  rm "$at/heaps/README.md"; expect readme "a floor without README"
  awk 'BEGIN { for (i = 0; i < 16; i++) print "x" }' >"$at/heaps/README.md"; expect readme "a README of 16 lines"
  awk 'BEGIN { for (i = 0; i < 15; i++) print "x" }' >"$at/heaps/README.md"; expect "" "a README of 15 lines"
  sed -i 1d "$at/heaps/tree.c"; expect comment "a file without a comment"
  many 494 >>"$at/heaps/tree.c"; expect "" "a file of 500 lines"
  many 495 >>"$at/heaps/tree.c"; expect size "a file of 501 lines"
  many 49 >"$dir/many"; sed -i "/return step/r $dir/many" "$at/shell/put.c"; expect "" "a function of 60 lines"
  many 50 >"$dir/many"; sed -i "/return step/r $dir/many" "$at/shell/put.c"; expect function "a function of 61 lines"
  wide 112 >>"$at/heaps/tree.c"; expect "" "a line of 118 characters"
  wide 113 >>"$at/heaps/tree.c"; expect columns "a line of 119 characters"
  wide 109 '…›…' >>"$at/heaps/tree.c"; expect "" "a line of 118 characters that has 124 bytes"
  mkdir "$at/hall"; expect floor "a folder that is no floor"
  echo '/* x */' >"$at/hall.c"; expect floor "a file above all floors"
  rm -r "$at/shell"; sed -i '/shell/d' "$at/heaps"/*; expect floor "a floor without files"
  echo "floors.sh: $((checks - failed)) passed, $failed failed"
  [ $failed = 0 ]
}

list=0 enforce=0
case ${1-} in
  --self-test) self_test; exit ;;
  --list) list=1; shift ;;
  --enforce) list=1 enforce=1; shift ;;
  -*) sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
floors "${1-$(dirname "$0")/..}" $list $enforce
