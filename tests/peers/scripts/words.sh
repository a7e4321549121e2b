#!/usr/bin/env bash
# README and man page against the tool: every command in them runs as written, in a directory with files of the names
# they use. The options, commands and make targets they mention exist.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must jq man-db sqlite3 python3 xz-utils
root=$PWD work=$PWD/build/peers/words
rm -rf "$work" && mkdir -p "$work/files"
page=$root/build/heapdump.1
PATH=$root/build:/usr/bin:$PATH # in another PATH python3 may be a script, which would be recorded instead
export LC_ALL=C.UTF-8
unset MAKEFLAGS DEBUGINFOD_URLS

check "man reads the page without warnings" "" "$(MANWIDTH=80 man --warnings -l "$page" 2>&1 >"$work/page.txt")"
if need mandoc; then check "mandoc reads the page without warnings" "" "$(mandoc -Tlint -Wwarning "$page" 2>&1 || true)"
else echo "SKIP: mandoc is not installed"; fi
check "the page documents each command" "" \
  "$(for c in $(heapdump help all | sed -n 's/^  \([a-z]\+\)  .*/\1/p' | grep -v '^heapdump$'); do grep -q "^   heapdump $c " "$work/page.txt" || echo $c; done)"
check "... and all of its options" "" \
  "$(for c in $(heapdump help all | sed -n 's/^  \([a-z]\+\)  .*/\1/p' | grep -v '^heapdump$'); do
       for o in $(heapdump help $c | sed -n 's/^  \(-o, \)\?\(--[a-z-]*\).*/\2/p'); do
         sed -n "/^   heapdump $c /,/^   heapdump /p" "$work/page.txt" | grep -q -e "^ \+\(-o, \)\?$o\b" || echo "$c $o"
       done
     done)"
glance() { # names of the paragraphs about a command
  awk -v c="$1" '$0 ~ "^   " c " - " { on = 1; next } /^[A-Z]/ || /^   [a-z]+ - / { on = 0 }
    on && match($0, /^       (Purpose|Input|Output|Details|See also) /) { printf "%s ", substr($0, 8, RLENGTH - 8) }' "$work/page.txt"
}
check "each command has the same five paragraphs" "" \
  "$(for c in $(heapdump help all | sed -n 's/^  \([a-z]\+\)  .*/\1/p' | grep -v '^heapdump$'); do
       [ "$(glance $c)" = "Purpose Input Output Details See also " ] || echo "$c: $(glance $c)"
     done)"
# The page's own text is outside the generated tables, which begin with COMMANDS and end with EXAMPLES.
check "no paragraph of the page is longer than six lines" "" \
  "$(awk '/^[A-Z]/ { tables = /^COMMANDS$/ ? 1 : /^EXAMPLES/ ? 2 : tables % 2 }
          { match($0, /^ */) }
          !NF || RLENGTH < 7 || RLENGTH < indent { lines = 0 }
          NF && RLENGTH >= 7 && !tables && ++lines == 7 { print NR ": " $0 }
          { indent = RLENGTH }' "$work/page.txt")"

# The files. --------------------------------------------------------------------------------------------------
cd "$work/files"
data=$root/tests/data
cat > app.c <<'C'
#include <stdlib.h>
void *from_library(size_t n);
int main(void) {
    void *kept[50];
    for (int i = 0; i < 50; i++) kept[i] = i % 2 ? malloc(1000) : from_library(3000);
    return kept[7] == kept[8];
}
C
echo '#include <stdlib.h>
void *from_library(size_t n); void *from_library(size_t n) { return malloc(n); }' > libapp.c
${CC:-cc} -g -O0 -fPIC -shared libapp.c -o libapp.so -Wl,--build-id
${CC:-cc} -g -O0 app.c -o app ./libapp.so -Wl,--build-id
cp app server
for f in app run1 run2; do heapdump record --format memprof-raw -o $f.memprofraw -- ./app 2> /dev/null; done
heapdump index --binary app --binary libapp.so -o app.memprof app.memprofraw 2> /dev/null
cp "$data/counters-19.profdata" app.profdata
xz -dc "$data/sass-small.dartheap.xz" > app.dartheap
cp "$data/small.dartheap" before.dartheap
cp "$data/small.dartheap" after.dartheap
printf 'a 2 x 0\no 7cb42 1 8 1\nc x 1\n' > game.log
cp "$data/shop.hprof" app.hprof
sqlite3 app.db 'create table t(a)'
heapdump record -o trace.json -- sqlite3 app.db .schema > /dev/null 2> err
gzip -k trace.json
cp "$data/trace-viewer/two-dumps.json" server.json
for f in before between after; do cp "$data/node-small.heapsnapshot" $f.heapsnapshot; done
cp "$data/detached.heapsnapshot" page.heapsnapshot
for f in heapdump.sqlite3.1234 big host1 host2 base new app; do cp trace.json $f.json; done
for f in base new; do sed -i '0,/"sqlite3+0x[0-9a-f]*"/s//"Cache::open"/' $f.json; done
mkdir host3 && cp trace.json host3
cp "$data/pprof-go.pb" host1a.pb
cp "$data/pprof-go.pb" app.pb
gzip -k host1a.pb
sed -n '/^define demo_program/,/^endef/p' "$root/Makefile" | sed '1d; $d' > fill_database.py
rm err app.c libapp.c
cd "$work"

# Each command starts with the original files.
run() {
  rm -rf now && cp -r files now && cd now
  check "$1" "0 " "$(status bash -o pipefail -c "$1"$'\n''s=$?; wait; exit $s') $(grep -v '^heapdump: ' err)"
  cd ..
}
commands=0
while IFS= read -r line; do
  commands=$((commands + 1))
  run "$line"
done < <({ sed -n 's/^\$ \(heapdump .*\)/\1/p' "$root/README.md"
           sed -n '/^\.nf/,/^\.fi/p' "$page" | sed -n "s/\\\\-/-/g; s/\\\\(aq/'/g; s/\\\\(ti/~/g; s/\\\\(ha/^/g; s/\\\\(ga/\`/g; s/\\\\e/\\\\/g; s/^heapdump /&/p"; } |
         grep -v '^heapdump \(capture\|watch\) ' | sort -u) # these need a running target: see capture.sh and watch.sh
check "both texts have commands" 1 "$((commands > 25))"

# README's command for a big file makes a recording with many small entries several times smaller.
heapdump record --at peak,exit -o big.json -- python3 -c 'import json, re, collections' 2> /dev/null
bash -c "$(grep -o 'heapdump convert [^`]* big.json' "$root/README.md")"
check "README makes a big file small" 1 "$(($(stat -c %s big.json) > 4 * $(stat -c %s small.json)))"

# Names. ------------------------------------------------------------------------------------------------------
for c in $(heapdump help all | sed -n 's/^  \([a-z]\+\)  .*/\1/p' | grep -v '^heapdump$'); do heapdump help $c > help.$c; done
check "commands in README exist, with their options" "" \
  "$(grep -o '`heapdump [a-z][^`]*' "$root/README.md" | cut -d' ' -f2- | while read -r c rest; do
       for o in $(grep -o -e '--[a-z][a-z-]*' <<< "$rest"); do grep -q -e "$o\b" help.$c || echo "$c $o"; done
       [ -e help.$c ] || [ $c = help ] || echo $c
     done)"
check "options in README and man page exist" "" \
  "$({ sed 's/--[a-z-]*_[a-z_]*//g' "$root/README.md"; sed 's/\\-/-/g' "$page"; } | grep -v 'clang\|llvm-\|jeprof\|pkg-config\|node --perf\|which node' | grep -o -e '[ `(|]--[a-z][a-z-]*' | tr -d ' `(|' | sort -u |
     while read -r o; do case $o in --help | --version | --license | --completion | --man) ;; *) cat help.* "$root"/tests/rooms.sh | grep -q -e "$o\b" || echo "$o" ;; esac; done)"
check "make targets in README exist" "" \
  "$(grep -o '`make [a-z0-9-]*\|^    make [a-z0-9-]*' "$root/README.md" | awk '{ print $NF }' | grep -v '^-\|^`' | sort -u | while read -r t; do grep -q "^$t:" "$root/Makefile" || echo "$t"; done)"
exit $failed
