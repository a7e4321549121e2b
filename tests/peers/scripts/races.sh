#!/usr/bin/env bash
# No data races in the recorder: ThreadSanitizer checks its code compiled into a program, and helgrind checks the
# library. Processes that fork while their threads allocate do not hang, and each has its own heap.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev libunwind-dev libstb-dev pkg-config jq
root=$PWD work=$PWD/build/peers/races
rm -rf "$work" && mkdir -p "$work" && cd "$work"
races=$root/tests/peers/programs/races.c recorder=$root/examples/recorder/heapdump_record.c
rec() { status timeout -s KILL 900 "$tool" record "$@"; }
# left FILE: bytes that the program itself allocated and that are live at the end of each process, and the number of
# processes
left() {
  "$tool" tree --frames all --by type --min-share 0 --kind live --json "$1" |
    jq -r '[.heaps[].rows[] | select(.depth == 1 and .axis == "type" and (.name | startswith("races"))) | .bytes] | group_by(.) | map("\(length) of \(.[0])") | join(", ")'
}

# The program calls the hooks by other names: ThreadSanitizer owns the real ones.
names="malloc calloc realloc reallocarray posix_memalign aligned_alloc memalign valloc pvalloc free dlclose
  setrlimit setrlimit64 prlimit prlimit64 setuid seteuid setreuid setresuid setgid setegid setregid setresgid
  $(sed -n 's/^\(NEW\|DELETE\)([0-9]*, \(_Z[^)]*\)).*/\2/p' "$recorder")"
renamed=$(for name in $names; do echo -D$name=recorded_$name; done)
gcc -shared -fPIC -x c /dev/null -o nothing.so
gcc -std=gnu11 -g -O1 -w -fsanitize=thread -fno-builtin -fno-omit-frame-pointer $(pkg-config --cflags stb) $renamed \
  "$races" "$recorder" -o races_tsan -static-libtsan -l:libunwind.so.8 -ldl -lpthread
export HEAPDUMP_RECORDER=$work/nothing.so # the program contains its own recorder
if [ "$(status ./races_tsan)" != 0 ]; then echo "SKIP: ThreadSanitizer: its programs do not run on this machine: $(head -1 err)"
else
  check "ThreadSanitizer, 8 threads" "0 0 1 of 777" "$(rec --min-bytes 1 -o tsan.json -- ./races_tsan) $(grep -c 'WARNING: ThreadSanitizer' err) $(left tsan.json)"
  check "ThreadSanitizer, 8 threads, MemProf" "0 0" "$(rec --format memprof-raw -o tsan.memprofraw -- ./races_tsan) $(grep -c 'WARNING: ThreadSanitizer' err)"
  check "ThreadSanitizer, 8 threads, sampled" "0 0" "$(rec --sample 1k -o sample.json -- ./races_tsan) $(grep -c 'WARNING: ThreadSanitizer' err)"
fi
unset HEAPDUMP_RECORDER

# helgrind replaces malloc only in libc, so the library's malloc is called. Its own suppressions cover libc's malloc,
# whose locks it does not know. It treats atomic writes as reads, and so cannot check them. The region must be small
# under helgrind, so files are limited to that size.
gcc -g -O1 -w -fno-builtin "$races" -o races -lpthread
gcc -g -O1 -w -fno-builtin "$races" -o races_linked -Wl,--no-as-needed "$root/build/libheapdump_record.so" -Wl,-rpath,"$root/build" -lpthread
helgrind() {
  trap '' XFSZ
  ulimit -f 32768
  HEAPDUMP_KEEP=$work/kept timeout -s KILL 900 valgrind -q --tool=helgrind --history-level=approx \
    --error-exitcode=9 --soname-synonyms=somalloc=nouserintercepts ./races_linked
}
if need valgrind; then
  check "helgrind, 8 threads" "0 0 0 true" "$(status helgrind) $(grep -c 'Possible data race' err) $(status "$tool" recover kept -o helgrind.json) $("$tool" info --json helgrind.json | jq '.files[0].heaps | any(.kind == "total" and .blocks > 100000)')"
else echo "SKIP: helgrind: valgrind cannot be installed"
fi

check "121 processes fork while their threads allocate" "0 121 of 777" "$(rec --min-bytes 1 -o storm.json -- ./races storm) $(left storm.json)"
exit $failed
