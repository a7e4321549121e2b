#!/usr/bin/env bash
# Live, total and temporary bytes of real programs equal a tally below the recorder (tally.c), to the byte: under
# glibc, jemalloc, tcmalloc and mimalloc. FULL=1: 26 programs, else a few.
# If a process ends while another thread allocates or frees, this call may be missing in the recording or in the tally:
# java differs by one block in about 1 of 150 runs.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc g++ libc6-dev python3 jq sqlite3
sources=$PWD/tests/peers work=$PWD/build/peers/totals
rm -rf "$work" && mkdir -p "$work" && cd "$work"
gcc -w -O1 -fPIC -shared "$sources/programs/tally.c" -o tally.so -ldl -lpthread
gcc -w -O1 -fPIC -shared -fexceptions -DWITH_NEW "$sources/programs/tally.c" -o tally_new.so -ldl -lpthread
gcc -w -g -O1 -fno-builtin "$sources/programs/nested.c" -o nested
g++ -w -g -O1 -std=c++17 -fno-builtin "$sources/programs/nested_new.cc" -o nested_new
cat > x.cc <<'C'
#include <map>
#include <string>
int main() { std::map<std::string, int> m; m["a"] = 1; return (int)m.size() - 1; }
C
# kinds NAME: blocks and bytes of the one process; frames NAME: number of lines with a frame of the recorder
kinds() { "$tool" info --json "$1.json" | jq -r '[.files[0].heaps[] | select(.kind == "live" or .kind == "total")] | sort_by(.kind) | map("\(.blocks) of \(.bytes)") | join(", ")'; }
frames() { "$tool" tree --frames all --min-share 0 --kind total --json "$1.json" | grep -c heapdump_record || true; }
check "reallocarray counts once" "0 1 of 1000, 100 of 100000" "$(status "$tool" record --min-bytes 1 -o nested.json -- ./nested) $(kinds nested)"
check "... and without frames of the recorder" 0 "$(frames nested)"

programs=(
  'ls|ls -la /usr/bin'
  'python|python3 -c "import json; json.loads(json.dumps([{str(i): [i]} for i in range(3000)]))"'
  'sqlite|sqlite3 :memory: "create table t(a, b); with recursive c(i) as (select 1 union all select i + 1 from c where i < 20000) insert into t select i, i || i from c; select sum(length(b)) from t order by 1"'
  'c++|g++ -O1 -c x.cc -o x.o'
  'aligned new|./nested_new'
  'new that fails|./nested_new fail'
)
if [ "${FULL-}" = 1 ]; then
  need git perl gawk bc tar xz-utils imagemagick php-cli ruby python3-numpy default-jre-headless nodejs clang mariadb-server ghostscript openssl jq || true
  programs+=(
    'git|git -C '"$common_root"' log --stat -30'
    'repack|sh -c "rm -rf r && git clone -q --bare '"$common_root"' r && git -C r repack -qadf --threads=4"'
    'perl|perl -e "my %h; \$h{\$_} = [1 .. 5] for 1 .. 3000; print scalar keys %h"'
    'awk|gawk "BEGIN { for (i = 0; i < 20000; i++) a[i] = i \"\"; print length(a) }"'
    'bc|bc -q bc.txt' 'tar|tar cJf x.tar.xz '"$common_root/tests/peers" 'sort|sort -R '"$common_root/heapdump.h"
    'convert|/usr/bin/convert -size 300x200 plasma: -blur 0x3 x.png' 'php|php -n -r "for (\$i = 0; \$i < 20000; \$i++) \$a[] = [\$i];"'
    'php with modules|php -r "for (\$i = 0; \$i < 20000; \$i++) \$a[] = [\$i];"'
    'ruby|ruby -e "a = (1..20000).map { |i| [i.to_s] }; puts a.size"'
    'numpy|/usr/bin/python3 -c "import numpy; print(numpy.linalg.svd(numpy.ones((60, 60)))[1][0])"'
    'java|java -Xmx64m -version' 'node|node -e "let a = []; for (let i = 0; i < 1e5; i++) a.push([i]); console.log(a.length)"'
    'clang|clang++ -c x.cc -o y.o' 'mariadb|mariadbd --no-defaults --verbose --help'
    'tables|sh -c "rm -rf d && mkdir d && /usr/sbin/mariadbd --no-defaults --user=root --datadir=$PWD/d --bootstrap < tables.sql"'
    'gs|gs -q -sDEVICE=nullpage -dBATCH -dNOPAUSE page.ps' 'openssl|openssl genrsa 2048' 'jq|jq -n "[range(20000) | {a: .}] | length"' )
  echo '2 ^ 4000' > bc.txt; echo quit >> bc.txt
  echo '/Times-Roman findfont 9 scalefont setfont 1 1 300 { dup moveto (text) show } for showpage' > page.ps
  printf '%s;\n' 'create database d' 'use d' 'create table d.t (a int, b text)' \
    'insert into d.t select seq, repeat("b", seq) from seq_1_to_2000' 'select sum(length(b)) from d.t' > tables.sql
fi
lib=/usr/lib/$(uname -m)-linux-gnu
below=("glibc|tally.so|")
! need libjemalloc2 || below+=("jemalloc|tally_new.so|$lib/libjemalloc.so.2")
! need libgoogle-perftools4 || below+=("tcmalloc|tally_new.so|$lib/libtcmalloc.so.4")
! need libmimalloc2.0 || below+=("mimalloc|tally_new.so|$lib/libmimalloc.so.2")
for b in "${below[@]}"; do
  IFS='|' read -r allocator tally library <<< "$b"
  wrong= n=0
  for p in "${programs[@]}"; do
    name=${p%%|*} command=${p#*|} s=0
    eval "set -- $command"
    command -v "$1" > /dev/null || { echo "  left out: $name"; continue; }
    case "$allocator $name" in
      "mimalloc new that fails") continue;; # mimalloc ends the program in this case
      "glibc php with modules") ;;
      *"php with modules") continue;; # they call glibc's free (RTLD_DEEPBIND), which ends php also without a recorder
    esac
    head -c $((4096 * 64)) /dev/zero > t.tally
    timeout -s KILL 300 env TALLY="$work/t.tally" LD_PRELOAD="$work/$tally${library:+ $library}" "$tool" record --bytes --min-bytes 1 -o t.json -- "$@" > out 2> err || s=$?
    said=$(/usr/bin/python3 "$sources/lib/tally.py" "$tool" t.tally t.json 2>&1) || true
    [[ "$s $said" =~ ^0\ [1-9][0-9]*$ ]] || wrong="$wrong $name (status $s): $said;"
    n=$((n + 1))
  done
  check "$n programs under $allocator: live, total and temporary, to the byte" "" "$wrong"
done
exit $failed
