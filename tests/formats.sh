#!/usr/bin/env bash
# Checks that each format is complete: it has its file, test, harness, seeds and dictionary, an input for
# tests/peers/scripts/every-command.sh, and its name in README's table. Reports each missing place. Also reports
# each place where the command recognizes a format by its name or row, not by its flags (hd_format.is).
#
#   formats.sh [--self-test | ROOT]
#
# Formats are the rows of examples/heapdump/formats/formats.c and the rows hd_format_* of heapdump.h. ROOT is the
# directory that holds these files [default: this repository].
set -u
export LC_ALL=C

# Formats and the other name of their tests and harness. A format with - is only recognized, and has neither.
named='
heapsnapshot v8
rows-json    rows
memprof-text -
'
# The functions of tests/readers.h that the test of each format of the command must call.
asked='survives_damage survives_pieces survives_faults survives_limits survives_malformed[_a-z]*'

formats() {                      # formats ROOT: a line for each missing place
  cd "$1" || return 2
  local missing=0 own library name names word other file table call
  say() { missing=$((missing + 1)); echo "format $name: $*"; }
  own=$(sed -n 's/.*{ \.name = "\([^"]*\)".*/\1/p' examples/heapdump/formats/formats.c)
  library=$(sed -n 's/.*const hd_format hd_format_[a-z0-9_]* = { "\([^"]*\)".*/\1/p' heapdump.h)
  [ -n "$own" ] && [ -n "$library" ] || { echo "$1: no rows of formats" >&2; return 2; }
  table=$(grep '^|' README.md)
  for name in $own $library; do
    word=${name//-/_}
    while read -r other file; do [ "$other" != "$name" ] || word=$file; done <<<"$named"
    [[ $table == *"\`$name\`"* ]] || say "README.md: no row of the table of formats has \`$name\`"
    [ "$word" != - ] || continue
    [ -s "tests/test_$word.c" ] || say "tests/test_$word.c: no test"
    [ -s "fuzz/fuzz_$word.c" ] || say "fuzz/fuzz_$word.c: no harness"
    [ -s "fuzz/fuzz_$word.dict" ] || say "fuzz/fuzz_$word.dict: no dictionary"
    [ -n "$(ls "fuzz/seeds/fuzz_$word" 2>/dev/null)" ] || say "fuzz/seeds/fuzz_$word/: no seed"
  done
  for name in $own; do
    word=${name//-/_} file=examples/heapdump/formats/${name//-/_}.c
    [ -s "$file" ] || { say "$file: no file"; continue; }
    for other in "tests/test_$word.c" "fuzz/fuzz_$word.c"; do
      [ ! -s "$other" ] || grep -q "#include \"../$file\"" "$other" || say "$other: does not include $file"
    done
    grep -q "^hd_status ${word}_read(" "$file" || continue
    grep -q -e "^inputs=\"$name " -e "^$name " tests/peers/scripts/every-command.sh ||
      say "tests/peers/scripts/every-command.sh: no input"
    [ -s "tests/test_$word.c" ] || continue
    for call in $asked; do grep -q "$call(" "tests/test_$word.c" || say "tests/test_$word.c: does not call $call"; done
  done
  by_name "$own $library" && [ $missing = 0 ]
}

# by_name NAMES: a line for each comparison with one of the names, with the name of a row, or with a row. Only
# known_formats.c may look up the format names in --to, --format and files.
by_name() {
  local names list
  list=$(tr -s ' \n' '|' <<<"$1 heaps_v2 memprof-raw memprof-rfc") names="\"(${list%|})\""
  ! find examples/heapdump -name '*.[ch]' ! -name known_formats.c -exec grep -nHE \
    -e "(cmp|same_text)\(.*$names" -e "(cmp|same_text)\(.*(format|yaml)[a-z_]*(\([^()]*(\([^()]*\))*[^()]*\))?(->|\.)name" \
    -e '[!=]= *&?(hd|tool)_formats?[_[]' -e '&(hd|tool)_formats?[][_a-z0-9]* *[!=]=' {} + |
    sed -n 's/^\([^:]*:[0-9]*\):.*/\1: compares a format by its name or row: hd_format.is says what it is/p' | grep .
}

# Removes each place from a copy of the repository. ------------------------------------------------------------

self_test() {
  local dir checks=0 failed=0 from=$PWD f
  dir=$(mktemp -d) || exit 2
  trap "rm -rf '$dir'" EXIT
  fresh() {
    rm -rf "${dir:?}"/*
    mkdir -p "$dir/examples/heapdump" "$dir/tests/peers/scripts" && cp -r "$from/fuzz" "$from/README.md" "$dir/"
    cp -r "$from/examples/heapdump/formats" "$dir/examples/heapdump/" && cp "$from"/tests/*.[ch] "$dir/tests/"
    cp "$from/tests/peers/scripts/every-command.sh" "$dir/tests/peers/scripts/"
    grep 'const hd_format hd_format_' "$from/heapdump.h" >"$dir/heapdump.h"
  }
  expect() {                     # expect LINE NAME: the copy must lack exactly this place, or none
    checks=$((checks + 1))
    [ "$(formats "$dir" 2>&1)" = "$1" ] || { failed=$((failed + 1)); echo "FAIL $2"; (formats "$dir"); }
    fresh
  }
  fresh
  expect "" "a whole copy"
  for f in '!strcmp(to, "memprof-rfc")' '!strncmp(format->name, "rows", 4)' '!strcmp(name, hd_dump_format(dump)->name)' \
    'format == &hd_format_chrome' '&hd_format_dart != format' 'format == &tool_formats[1]'; do
    echo "bool is_one(void) { return $f; }" >"$dir/examples/heapdump/one.c"
    expect "examples/heapdump/one.c:1: compares a format by its name or row: hd_format.is says what it is" "$f"
  done
  rm "$dir/fuzz/fuzz_heaptrack.c"; expect "format heaptrack: fuzz/fuzz_heaptrack.c: no harness" "no harness"
  rm "$dir/fuzz/fuzz_heaptrack.dict"; expect "format heaptrack: fuzz/fuzz_heaptrack.dict: no dictionary" "no dictionary"
  rm "$dir"/fuzz/seeds/fuzz_v8/*; expect "format heapsnapshot: fuzz/seeds/fuzz_v8/: no seed" "no seed"
  rm "$dir/tests/test_speedscope.c"; expect "format speedscope: tests/test_speedscope.c: no test" "no test"
  rm "$dir/examples/heapdump/formats/speedscope.c"
  expect "format speedscope: examples/heapdump/formats/speedscope.c: no file" "no file"
  sed -i 's/`heaptrack`//' "$dir/README.md"
  expect "format heaptrack: README.md: no row of the table of formats has \`heaptrack\`" "no row in README"
  sed -i 's/^heaptrack /heaps /' "$dir/tests/peers/scripts/every-command.sh"
  expect "format heaptrack: tests/peers/scripts/every-command.sh: no input" "no input"
  sed -i 's/formats\/heaptrack.c/x.c/' "$dir/fuzz/fuzz_heaptrack.c"
  expect "format heaptrack: fuzz/fuzz_heaptrack.c: does not include examples/heapdump/formats/heaptrack.c" "another file"
  for f in $asked; do
    sed -i "s/$f(/survives(/" "$dir/tests/test_heaptrack.c"
    expect "format heaptrack: tests/test_heaptrack.c: does not call $f" "no $f"
  done
  echo "formats.sh: $((checks - failed)) passed, $failed failed"
  [ $failed = 0 ]
}

case ${1-} in
  --self-test) cd "$(dirname "$0")/.." && self_test; exit ;;
  -*) sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
formats "${1-$(dirname "$0")/..}"
