#!/usr/bin/env bash
# examples/merge_mpi.c under Open MPI. With 1, 2, 3, 4 and 7 processes it writes the bytes of `heapdump merge`: files
# in any order, and some processes without files. Also: bad files, killed processes, full disks. FULL=1: 2,000
# profiles, not 40.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh

need libopenmpi-dev openmpi-bin || skip "Open MPI cannot be installed here"
must gcc zlib1g-dev libstb-dev pkg-config
work=$PWD/build/peers/mpi
root=$PWD
rm -rf "$work" && mkdir -p "$work/in" && cd "$work"
warn="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Werror"
OMPI_CC=gcc mpicc -std=gnu99 -O0 $warn $(pkg-config --cflags stb) "$root/examples/merge_mpi.c" -o merge_mpi -lz -lpthread || { fail "merge_mpi.c does not compile"; exit 1; }
linked fleet "$root/bench/fleet.c" -O0 -lz -lm

# ranks N OUT FILE...: runs N processes and prints the status. mpirun can hang after its processes have ended: the
# time limit makes that a failure.
ranks() {
  local n=$1 s=0 to=${2-}
  shift $(($# > 1 ? 2 : 1))
  printf '%s\n' "$@" > list
  timeout -k 5 ${patience:-120} mpirun --allow-run-as-root --oversubscribe -n "$n" ./merge_mpi $to ${to:+list} > out 2> err || s=$?
  [ $s != 124 ] && [ $s != 137 ] || echo "mpirun did not end by itself: "
  echo $s
}

./fleet in pprof.gz $([ "${FULL-}" ] && echo 2000 || echo 24) 300
./fleet in chrome $([ "${FULL-}" ] && echo 60 || echo 16) 100
for f in in/*host0000[0-2].chrome; do "$tool" convert --to chrome --min-share 0.01 -o "$f.cut" "$f" 2> /dev/null; done
printf 'main;run;parse 12\nmain;run 7\n' > in/few.folded
files=$(echo in/*)
sums=$(md5sum in/*)
"$tool" merge --to rows -o want.csv $files 2> err
for n in 1 2 3 4 7; do
  check "$n processes: the status" 0 "$(ranks $n $n.csv $files)"
  check "$n processes: the bytes of heapdump merge" "" "$(cmp $n.csv want.csv 2>&1)"
done
for part in self cumulative; do check "the sums have rows with part $part" yes "$(cut -d, -f10 want.csv | grep -qx $part && echo yes)"; done
check "files in another order: the same bytes" "0 " "$(ranks 3 order.csv $(ls -r in/* | sort -t- -k4)) $(cmp order.csv want.csv 2>&1)"
check "more processes than files" "0 " "$(ranks 7 few.csv in/few.folded) $("$tool" merge --to rows -o few.want in/few.folded 2> /dev/null; cmp few.csv few.want 2>&1)"
check "one input is already a merge of some files: the same bytes" "0 " "$("$tool" merge --to rows -o part.rows in/*host0000[0-5]* 2> /dev/null
  ranks 2 parts.csv part.rows $(ls in/* | grep -v 'host0000[0-5]')) $(cmp parts.csv want.csv 2>&1)"

# Labels that all inputs share stay, except "profile", which identifies one file.
"$tool" rows --label host=a1 -o one.rows in/few.folded 2> /dev/null
cp one.rows two.rows
"$tool" merge --to rows -o labels.want one.rows two.rows 2> /dev/null
check "shared labels: host stays, profile is dropped" "host=a1 profile=" "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) of[$i] = i } NR == 2 { print "host=" $of["host"] " profile=" $of["profile"] }' labels.want)"
for n in 1 2; do check "shared labels, $n processes" "0 " "$(ranks $n labels.csv one.rows two.rows) $(cmp labels.csv labels.want 2>&1)"; done

# Bad files are reported by name, and all other files are merged.
head -c 2000 want.csv > cut.rows
gzip -dc in/*host00003.pprof.gz 2> /dev/null | head -c 5000 > cut.pb
sed '2s/,[0-9a-f]*$/,0123456789abcdef/' want.csv > hash.rows
check "bad files: the status" 1 "$(ranks 3 bad.csv $files cut.rows cut.pb hash.rows nowhere)"
for f in cut.rows cut.pb hash.rows nowhere; do check "$f is reported" 1 "$(grep -c "^merge_mpi: $f: " err)"; done
check "all other files are merged" "" "$(cmp bad.csv want.csv 2>&1)"
check "empty names in the list of files" "0 " "$(ranks 3 gaps.csv "" $files "") $(cmp gaps.csv want.csv 2>&1)"
printf 'allocator,bytes,stack\nq,1,main\n' > small.rows
printf 'allocator,bytes,stack\nq,18446744073709551614,main\n' > huge.rows
"$tool" merge --to rows -o small.want small.rows 2> /dev/null
check "a file whose sums overflow is left out" "1 1 " "$(ranks 1 rest.csv small.rows huge.rows) $(grep -c '^merge_mpi: huge.rows: .*2^64' err) $(cmp rest.csv small.want 2>&1)"
check "no readable file: status, message, no output file" "1 1 no" "$(ranks 2 none.csv nowhere) $(grep -c 'no heaps to add up' err) $([ -e none.csv ] && echo a file || echo no)"
check "no arguments: status and message" "1 1" "$(ranks 2) $(grep -c 'merge_mpi: rank [01]: ' err | sed 's/2/1/')"

# left FILE: lists the output file and its temporary files
left() { ls -A "$(dirname "$1")" | grep "^\\.*$(basename "$1")" || true; }

# A killed process ends the whole run. The victim waits for its file, a pipe, until it is killed.
for victim in 0 1 2 3; do
  rm -f pipe && mkfifo pipe
  at=$((victim + 1))
  set -- $files
  printf '%s\n' "${@:1:$victim}" pipe "${@:$at:9}" > list
  timeout -k 5 60 mpirun --allow-run-as-root --oversubscribe -n 4 ./merge_mpi killed.csv list > out 2> err &
  job=$!
  exec 9> pipe                   # returns when the victim has opened the pipe
  pid=$(for p in /proc/[0-9]*; do [ "$(readlink $p/exe 2> /dev/null)" = "$work/merge_mpi" ] && ls -l $p/fd 2> /dev/null | grep -q "$work/pipe" && echo "${p#/proc/}"; done; true)
  kill -9 $pid
  s=0
  wait $job || s=$?
  exec 9>&-
  check "process $victim of 4 is killed: mpirun ends with a message" "yes" "$([ $s != 0 ] && [ $s != 124 ] && grep -q 'signal 9' err && echo yes || echo "status $s: $(head -n 3 err)")"
  check "process $victim of 4 is killed: no output file" "" "$(left killed.csv)"
done

# A full disk: a small file system if one can be mounted, and always the device /dev/full.
check "/dev/full: status and message" "1 1" "$(ranks 2 /dev/full $files) $(grep -c 'merge_mpi: rank 0: .*/dev/full: No space left' err)"
mkdir -p disk
if mount -t tmpfs -o size=16k tmpfs disk 2> /dev/null; then
  s=$(ranks 2 disk/full.csv $files)
  check "a full disk: status, message, no output file" "1 1 " "$s $(grep -c 'merge_mpi: rank 0: .*No space left' err) $(left disk/full.csv)"
  cp in/few.folded disk/full.csv
  s=$(ranks 2 disk/full.csv $files)
  check "... and an existing output file is unchanged" "1 full.csv " "$s $(left disk/full.csv) $(cmp disk/full.csv in/few.folded 2>&1)"
  umount disk
else
  echo "SKIP: a small disk cannot be mounted here"
fi
check "the inputs are unchanged" "$sums" "$(md5sum in/*)"
check "a missing output directory: status and message" "1 1" "$(ranks 2 nowhere/out.csv $files) $(grep -c 'merge_mpi: rank 0: .*nowhere/out.csv' err)"
exit $failed
