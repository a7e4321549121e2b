#!/usr/bin/env bash
# One run of `heapdump record` gives all allocations, the peak, live memory at the end, and temporary allocations.
# Each equals, to the byte and block, a list of the same run's allocations, which is written below the recorder. In
# other runs of these programs, with an equal environment, valgrind and heaptrack give the same figures.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc g++ libc6-dev python3 jq sqlite3 libxml2-utils gperf util-linux
source=$PWD/tests/peers bench=$PWD/bench work=$PWD/build/peers/one-run
rm -rf "$work" && mkdir -p "$work" && cd "$work"
gcc -O1 -shared -fPIC "$source/programs/one_run.c" -o one_run.so
gcc -O1 -w "$bench/two_threads.c" -o two_threads -lpthread
valgrind= heaptrack=
if need valgrind; then valgrind=yes; else echo "SKIP: valgrind's figures: valgrind cannot be installed"; fi
if need heaptrack; then heaptrack=/usr/lib/heaptrack
else echo "SKIP: heaptrack's figures: heaptrack cannot be installed"; fi

# Runs under other tools get variables of the same length as a recorded program's.
alike=(env "LX_PRELOAD=${tool%/*}/libheapdump_record.so:$work/one_run.so" HEAPDUMX_JOIN=0123456789abcdef0123456789abcdef
       HEAPDUMX_USER=$(id -u) "ONE_RUX=$work/list")
# Without address space randomisation, if that is allowed.
fixed=()
if setarch -R true 2> /dev/null; then fixed=(setarch -R); fi
export PYTHONHASHSEED=0 PYTHONMALLOC=malloc PYTHONDONTWRITEBYTECODE=1

# recorded PROGRAM KIND: blocks and bytes in run.json
recorded() { "$tool" info --json run.json | jq -r ".files[0].heaps[] | select(.process == \"$1\" and .kind == \"$2\") | \"\(.blocks) \(.bytes)\""; }
printed() { sed -n "s/^$1: \([0-9.]*[KMGB]*\).*/\1/p" track.text; }
# rounded BYTES: as heaptrack_print rounds
rounded() { awk -v n="$1" 'BEGIN { if (n < 1000) printf "%dB", n; else if (n < 1e6) printf "%.2fK", n / 1e3; else printf "%.2fM", n / 1e6 }'; }

# run INPUT PROGRAM ARGS...: records the program. `ours` has the figures of the recording, and `listed` the figures of
# the list: blocks and bytes in total, at the peak, at the end, and temporary.
run() {
  local input=$1 kind; shift
  name=${1##*/}
  rm -f list.* run.json
  LD_PRELOAD=$work/one_run.so ONE_RUN=$work/list "${fixed[@]}" "$tool" record --min-bytes 1 -o run.json -- "$@" < "$input" > out 2> err || true
  ours=$(for kind in total peak live temporary; do recorded "$name" $kind; done | paste -sd' ')
  listed=$("$source/lib/one_run.py" "list.$name")
}

# valgrinds INPUT PROGRAM ARGS...: blocks and bytes in use at exit
valgrinds() {
  local input=$1; shift
  "${fixed[@]}" "${alike[@]}" valgrind --run-libc-freeres=no --run-cxx-freeres=no --leak-check=no "$@" 2>&1 > out < "$input" |
    sed -n 's/.*in use at exit: \([0-9,]*\) bytes in \([0-9,]*\) blocks.*/\2 \1/p' | tr -d ,
}

# heaptracks INPUT PROGRAM ARGS...: sets `track` to the figures of heaptrack's record, computed by our definitions,
# and checks heaptrack_print's figures. heaptrack counts temporary allocations differently: a free right after an
# allocation of the same size and stack counts, whichever block it frees. A free after another free does not count.
heaptracks() {
  local input=$1 pool=pool all; shift
  rm -f raw
  "${fixed[@]}" "${alike[@]}" LD_PRELOAD=$heaptrack/libheaptrack_preload.so DUMP_HEAPTRACK_OUTPUT=$work/raw "$@" < "$input" > out 2>&1
  $heaptrack/libexec/heaptrack_interpret < raw > track.all 2> err
  heaptrack_print track.all > track.text 2> err
  all=($("$source/lib/one_run.py" raw))
  check "$name: heaptrack_print's calls, peak and temporary allocations equal those of heaptrack's record" "${all[0]} $(rounded ${all[3]}) ${all[8]}" \
    "$(printed 'calls to allocation functions') $(printed 'peak heap memory consumption') $(printed 'temporary memory allocations')"
  # heaptrack's own C++ library allocates 72,704 bytes when it starts, and heaptrack frees them before the end. A
  # program that uses this library allocates them itself.
  if ldd "$1" | grep -q libstdc++; then pool=; fi
  track=($("$source/lib/one_run.py" raw $pool))
}

# alone INPUT PROGRAM ARGS...: a program with one thread, compared with all tools
alone() {
  local blocks bytes peak_blocks peak live_blocks live temporary temporary_bytes track
  run "$@"
  check "$name: blocks and bytes in total, at the peak, at the end, and temporary" "$listed" "$ours"
  read -r blocks bytes peak_blocks peak live_blocks live temporary temporary_bytes <<< "$ours"
  if [ -n "$valgrind" ]; then check "$name: valgrind's memory in use at exit" "$(valgrinds "$@")" "$live_blocks $live"; fi
  [ -n "$heaptrack" ] || return 0
  heaptracks "$@"
  check "$name: heaptrack's calls, peak and temporary allocations" "${track[0]} $(rounded ${track[3]}) ${track[6]}" \
    "$blocks $(rounded $peak) $temporary"
}

cat > work.sql <<'END'
create table t(id integer primary key, word text unique, half real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
  insert into t select i, hex(i * 7919 % 10007), i / 2.0 from n;
create index by_half on t(half);
select count(*), sum(length(word)) from t where half > 1000 group by id % 7;
update t set half = half + 1 where id % 10 = 0;
vacuum;
END
cat > work.py <<'END'
import re
class Word(str): pass
words = [Word("word%d" % (i * 7919 % 10007)) for i in range(5000)]
found = {w: re.findall("[0-9]", w) for w in words if w.endswith("7")}
text = " ".join(sorted(words, key=lambda w: w[::-1]))
print(len(re.sub("o(r)", "\\1", text)), len(found))
END
cat > work.cc <<'END'
template<int N> struct power { static constexpr long of(long n) { return n * power<N - 1>::of(n); } };
template<> struct power<0> { static constexpr long of(long) { return 1; } };
template<class T, class... More> T sum(T first, More... more) { if constexpr (sizeof...(more)) return first + sum(more...); else return first; }
long all(long n) { return sum(power<30>::of(n), power<20>::of(n), power<10>::of(n), 5L, 6L); }
END
python3 -c 'print("{\"a\":[%s]}" % ",".join(map(str, range(3000))))' > work.json
seq -f 'word%g' 7 13 5000 > words
python3 -c 'print("<a>%s</a>" % "".join("<b id=\"%d\">text %d<c/></b>\n" % (i, i) for i in range(500)))' > work.xml
alone work.sql /usr/bin/sqlite3 :memory:
alone work.json /usr/bin/jq '.a | map(. * 2) | add'
alone work.xml /usr/bin/xmllint --format -
alone words /usr/bin/gperf
alone work.py /usr/bin/python3 -s -S -
# cc1plus depends on addresses, so that no other run equals this one.
run work.cc "$(g++ -print-prog-name=cc1plus)" -quiet -std=c++17 -O1 -o work.s -
check "cc1plus: blocks and bytes in total, at the peak, at the end, and temporary" "$listed" "$ours"

# Two threads that also free each other's blocks: all figures except the peak are exact. Each shard keeps up to 4 KiB
# of changes to itself, and simultaneous operations have no order.
for i in 1 2 3; do
  run /dev/null ./two_threads 300 out.sum
  read -r -a o <<< "$ours"
  read -r -a l <<< "$listed"
  check "two threads: total, live at the end, and temporary" "${l[*]:0:2} ${l[*]:4}" "${o[*]:0:2} ${o[*]:4}"
  off=$((${o[3]} - ${l[3]}))
  if [ ${off#-} -le $((2 * 65536)) ]; then pass "two threads: the peak is exact to 64 KiB per thread"
  else fail "two threads: peak of ${l[3]} expected, within 64 KiB per thread, ${o[3]} found"; fi
done
exit $failed
