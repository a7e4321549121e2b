#!/usr/bin/env bash
# Calls that only some allocators have are recorded to the byte: jemalloc's mallocx, rallocx, xallocx, dallocx,
# sdallocx, and C23's free_sized and free_aligned_sized. A program finds these calls exactly if it would find them
# unrecorded.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev jq
made build/heapdump build/libheapdump_record.so
sources=$PWD/tests/peers/programs work=$PWD/build/peers/sized
rm -rf "$work" && mkdir -p "$work" && cd "$work"
gcc -w -g -O1 -fno-builtin "$sources/sized.c" -o lazy -ldl -Wl,-z,lazy
gcc -w -g -O1 -fno-builtin -fno-plt "$sources/sized.c" -o now -ldl -Wl,-z,now
gcc -w -g -O1 -fno-builtin -fPIC -shared -DPLUGIN "$sources/sized.c" -o plugin.so
gcc -w -O1 -fno-builtin -fPIC -shared "$sources/sized_library.c" -o own.so
gcc -w -O1 -fno-builtin -fPIC -shared -DCALLS "$sources/sized_library.c" -o calls.so
# kinds NAME OBJECT: live and total blocks that an object allocated; dlopen itself allocates, too
kinds() {
  for kind in live total; do
    "$tool" tree --frames all --by type --min-share 0 --kind $kind --json "$1.json" |
      jq -r --arg o "$2" '[.heaps[0].rows[] | select(.depth == 1 and (.name | endswith($o))) | "\(.blocks) of \(.bytes)"] | join(" + ")'
  done | paste -sd, | sed 's/,/, /'
}
frames() { "$tool" tree --frames all --min-share 0 --kind total --json "$1.json" | grep -c heapdump_record || true; }

calls="mallocx rallocx xallocx dallocx sdallocx dlsym"
libraries=("own.so|$calls free_sized free_aligned_sized" "calls.so|$calls free_sized free_aligned_sized")
if need libjemalloc2; then libraries+=("$(ls /usr/lib/*/libjemalloc.so.2)|$calls"); else echo "SKIP: jemalloc"; fi
for l in "${libraries[@]}"; do
  library=${l%%|*} wrong=
  [[ $library = /* ]] || library=$work/$library
  for call in ${l#*|}; do
    for program in lazy now plugin.so; do
      run=(./$program) && [ $program != plugin.so ] || run=(./lazy plugin ./plugin.so)
      s=$(LD_PRELOAD=$library status "$tool" record --min-bytes 1 -o sized.json -- "${run[@]}" $call)
      got=$(kinds sized $program)
      [ "$s $got $(frames sized)" = "0 $(cat out) 0" ] || wrong="$wrong $program $call: status $s, '$got' for '$(cat out)', $(frames sized) own frames;"
    done
  done
  check "these calls in $(basename "$library"): live and total, to the byte" "" "$wrong"
done

if need libjemalloc2; then
  gcc -w -g -O1 -fno-builtin "$sources/sized_threads.c" -o sized_threads /usr/lib/*/libjemalloc.so.2 -lpthread
  check "four threads: live and total, to the byte" "0 yes" \
    "$(status "$tool" record --min-bytes 1 -o sized.json -- ./sized_threads) $([ "$(kinds sized sized_threads)" = "$(cat out)" ] && echo yes)"
fi
check "a program that looks for these calls finds none" "0 0 0 0 0" "$(status "$tool" record -o weak.json -- ./now weak) $(cat out)"
check "... and with a library that has them, it finds them" "0 1 1 1 1" "$(LD_PRELOAD=$work/own.so status "$tool" record -o weak.json -- ./now weak) $(cat out)"
cat > strong.c <<'C'
#include <stdlib.h>
void sdallocx(void *, size_t, int);
int main(int argc, char **argv) {
    void *volatile p = malloc(100);
    if (argc > 1) sdallocx(p, 100, 0);
    return 3;
}
C
for how in lazy now; do
  gcc -w -O1 strong.c -o strong_$how -Wl,--unresolved-symbols=ignore-all -Wl,-z,$how
  for argument in "" call; do
    s=0; ./strong_$how $argument > plain.out 2> plain || s=$?
    check "a program that needs a missing call ($how $argument) fails as it would unrecorded" "$s $(cat plain)" \
      "$(status "$tool" record -o strong.json -- ./strong_$how $argument) $(grep -v ^heapdump: err)"
  done
done

# After heapdump stop.
cat > on.c <<'C'
#include <stdlib.h>
#include <unistd.h>
void *mallocx(size_t, int);
void sdallocx(void *, size_t, int);
int main(void) {
    char line;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 100000; k++) sdallocx(mallocx(100, 0), 100, 0);
        if (write(1, "x\n", 2) < 0 || read(0, &line, 1) < 0) return 2;
    }
    return 4;
}
C
gcc -w -O1 -fno-builtin on.c -o on "$work/own.so"
mkfifo go said
exec 7<> go 8<> said
(s=0; LD_LIBRARY_PATH= "$tool" record -o on.json -- ./on < go > said 2> err || s=$?; echo "status $s" >&8) &
read -r first <&8
timeout 60 "$tool" stop --wait 30 on.json > stop.out 2>&1 || true
echo >&7; read -r second <&8
echo >&7; read -r third <&8
echo >&7; read -r ended <&8
wait
check "after stop the program continues with these calls" "x x x status 4" "$first $second $third $ended"
check "... and the recording has all calls before the stop" "100000 of 10000000" "$("$tool" info --json on.json | jq -r '.files[0].heaps[] | select(.kind == "total") | "\(.blocks) of \(.bytes)"')"
exit $failed
