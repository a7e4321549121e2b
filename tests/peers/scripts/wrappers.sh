#!/usr/bin/env bash
# Programs that a wrapper starts without the recorder, or that allocate before any constructor, are recorded anyway.
# Otherwise one line names the program, the reason and the remedy. A musl program is refused before it runs.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev jq dash coreutils
sources=$PWD/tests/peers/programs work=$PWD/build/peers/wrappers
rm -rf "$work" && mkdir -p "$work" && cd "$work"
gcc -w -g -O1 -fno-builtin "$sources/wrappers.c" -o wrappers
rec() { status timeout -s KILL 60 "$tool" record --min-bytes 1 "$@"; }
said() { grep -c -- "$1" err || true; }
# blocks NAME: processes in NAME.json that allocated at least 100 blocks in `wrappers`, and their amounts
blocks() { "$tool" info --json "$1.json" | jq -r '[.files[0].heaps[] | select(.kind == "total" and .process == "wrappers" and .blocks >= 100) | "\(.blocks) of \(.bytes)"] | group_by(.) | map("\(length): \(.[0])") | join(", ")'; }

check "every form of exec with an environment that lacks the recorder" "0 11: 100 of 100000" "$(rec -o ways.json -- "$work/wrappers") $(blocks ways)"
check "... not with --children no" "0 none" "$(rec --children no -o no.json -- "$work/wrappers") $(ls no.json 2> /dev/null || echo none)"
check "a program started by env -i" "0 1: 100 of 100000" "$(rec -o env.json -- env -i ./wrappers work) $(blocks env)"
check "allocations in .preinit_array" "0 1: 101 of 100010" "$(rec -o early.json -- ./wrappers early) $(blocks early)"
once='[.files[0].heaps[] | select(.process == "wrappers" and .kind == "total" and .blocks >= 100 and .bytes >= 100000)] | length == 1'
if need libjemalloc2 libgoogle-perftools4 libmimalloc2.0; then
  for l in jemalloc.so.2 tcmalloc.so.4 mimalloc.so.2.0; do
    path=$(ls /usr/lib/*/lib$l)
    # Each way in which a script may change LD_PRELOAD.
    for to in "$path" "$path:\$LD_PRELOAD" "$path \$LD_PRELOAD" "\$LD_PRELOAD:$path" "\$LD_PRELOAD $path" " : $path : \$LD_PRELOAD:"; do
      printf '#!/bin/dash\nexport LD_PRELOAD="%s"\nexec ./wrappers work\n' "$to" > wrapper && chmod +x wrapper
      check "a script that sets LD_PRELOAD to $to: recorded, without a message" "0 true 0" \
        "$(rec -o script.json -- ./wrapper) $("$tool" info --json script.json | jq "$once") $(said 'not recorded')"
    done
    check "every form of exec, with the recorder after lib$l" "0 11" \
      "$(rec -o behind.json -- "$work/wrappers" behind "$path") $("$tool" info --json behind.json | jq '[.files[0].heaps[] | select(.process == "wrappers" and .kind == "total" and .blocks >= 100 and .bytes >= 100000)] | length')"
    check "exec by a system call, with the recorder after lib$l: a message with the remedy" "0 1" \
      "$(rec -o raw.json -- ./wrappers rawbehind "$path" ./wrappers work) $(said "^heapdump: wrappers ([0-9]*): its allocations were not recorded: lib$l comes before the recorder in its LD_PRELOAD; .*LD_PRELOAD=\$LD_PRELOAD:lib$l\$")"
  done
  gcc -w -g -O1 -fno-builtin "$sources/wrappers.c" -o with_own -Wl,-Bstatic -ljemalloc -Wl,-Bdynamic -lstdc++ -lm 2> /dev/null &&
    check "a program with its own malloc, started by a script: a message" "0 1" \
      "$(rec -o own.json -- dash -c './with_own work; exit $?') $(said 'with_own ([0-9]*): its allocations were not recorded: it has a malloc of its own linked in$')"
fi
# A malloc that is linked into the program may call the recorder's.
gcc -w -O1 -fno-builtin -rdynamic "$sources/own_malloc.c" -o own_malloc
own='[.files[0].heaps[] | select(.process == "own_malloc" and .kind == "total") | .blocks] | add'
delegates() { check "$1: recorded, without a message" "0 100 0" "$(rec -o delegate.json -- "${@:2}" < /dev/null) $("$tool" info --json delegate.json | jq "$own") $(said "has a malloc")"; }
delegates "a linked malloc that calls the next one" ./own_malloc delegate
delegates "... in a program started by a script" dash -c './own_malloc delegate; exit $?'
check "a program's own malloc with its own memory: a message" "0 1" \
  "$(rec -o hidden.json -- ./own_malloc own < /dev/null) $(said '^heapdump: own_malloc ([0-9]*): its allocations were not recorded: it has a malloc of its own linked in$')"
rm -f hold && mkfifo hold && exec 8<> hold
"$tool" record -o hidden.json -- ./own_malloc own < hold 2> held 8>&- & recording=$!
until grep -q 'malloc of its own' held; do kill -0 $recording; done
exec 8>&-
wait $recording
check "... while the program runs" 1 "$(grep -c '^heapdump: ' held)"
# A sanitizer's runtime ends the program unless it is loaded first.
asan=$(gcc -print-file-name=libasan.so) && asan=$(readlink -f "$asan")
if [ -f "$asan" ]; then
  for to in "$asan" "$asan:\$LD_PRELOAD" "\$LD_PRELOAD:$asan"; do
    printf '#!/bin/dash\nexport LD_PRELOAD="%s" ASAN_OPTIONS=detect_leaks=0\nexec ./wrappers work\n' "$to" > wrapper && chmod +x wrapper
    check "a script that sets LD_PRELOAD to $to: the program runs, and a message says that it is not recorded" "0 1" \
      "$(rec -o sanitized.json -- ./wrapper) $(said "wrappers ([0-9]*): its allocations were not recorded: $(basename "$asan") comes before")"
  done
fi
# The same for a program that is linked with the runtime: without the recorder it runs.
for kind in address thread; do
  gcc -w -g -O1 -fno-builtin -fsanitize=$kind "$sources/wrappers.c" -o built-$kind 2> /dev/null && ASAN_OPTIONS=detect_leaks=0 ./built-$kind sleep || continue
  printf '#!/bin/dash\nexport ASAN_OPTIONS=detect_leaks=0\nexec ./built-%s "$@"\n' $kind > wrapper && chmod +x wrapper
  check "a program linked with -fsanitize=$kind does not run" "1 1 1" \
    "$(rec -o built.json -- ./built-$kind work) $(said "built-$kind is built with -fsanitize=$kind (record a build without it): .*it was not run") $(grep -c . err)"
  check "... started by a script, it runs" "0 0" "$(rec -o built.json -- ./wrapper work) $(said 'does not come first')"
  for how in execve execvp posix_spawn; do
    check "... started by $how, it runs" "0 0" "$(ASAN_OPTIONS=detect_leaks=0 rec -o built.json -- ./wrappers $how $PWD/built-$kind) $(said 'does not come first')"
  done
  check "... and a message gives the reason, even if it is short" "0 1" \
    "$(rec -o built.json -- dash -c './wrapper work; exit 0') $(said "^heapdump: 1 process was not recorded: built-$kind ([0-9]*): built with a sanitizer (record a build without it)\$")"
  check "... and a message gives the reason" "0 1" "$(rec -o built.json -- ./wrapper sleep) $(said "wrapper\|built-$kind ([0-9]*): built with a sanitizer")"
done
check "a program that another recording records stays with it" "0 1: 100 of 100000" \
  "$(rec -o outer.json -- "$tool" record -o inner.json -- ./wrappers work) $(blocks inner)"
mkdir -p heapdump-tools
for other in /nowhere/libother.so "$work/heapdump-tools/libother.so" "/a/libheapdump_record.so/b:/c/libheapdump_record.so.1"; do
  rec -o raw.json -- ./wrappers raw "$other" /bin/sleep 1 > status
  check "exec by a system call with LD_PRELOAD=$other: a message with program, LD_PRELOAD and remedy" "0 1" \
    "$(cat status) $(said "sleep ([0-9]*) was not recorded: it was started with LD_PRELOAD=$other, .*LD_PRELOAD=\$LD_PRELOAD:$other")"
done

# Each unrecorded process has its reason.
reason() { check "$1: the message has the reason" "0 1" "$(rec -o reason.json -- dash -c "$2; exit 0") $(said "^heapdump: 1 process was not recorded: $3\$")"; }
gcc -w -static "$sources/wrappers.c" -o statically
cp wrappers wrappers-sleeps
# Programs that live only a moment: the program that starts them reports them.
brief() { check "$1: the message has the reason" "0 1" "$(rec -o reason.json -- "${@:3}") $(said "^heapdump: $2\$")"; }
brief "20 short static programs" '20 processes were not recorded:\( statically ([0-9]*): linked statically;\)\{5\} \.\.\.' \
  dash -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do ./statically work; done; exit 0'
for how in execve execvp fexecve fexecve-path execveat execveat-in posix_spawn posix_spawnp; do
  brief "a short static program, started by $how" '1 process was not recorded: statically ([0-9]*): linked statically' \
    ./wrappers $how "$PWD/statically"
done
cp statically not_executable && chmod a-x not_executable
check "a static program that cannot be executed: no message" "9 0" \
  "$(rec -o reason.json -- dash -c './wrappers execve ./not_executable; exit 9') $(said 'not_executable')"
check "... nor by posix_spawn" "9 0" "$(rec -o reason.json -- ./wrappers posix_spawn ./not_executable) $(said 'not_executable')"
check "a short static program that --children excludes: no message" "0 0" \
  "$(rec --children dash -o reason.json -- dash -c './statically work; exit 0') $(said 'statically')"
check "... with --children no, too" "0 0" "$(rec --children no -o reason.json -- dash -c './statically work; exit 0') $(said 'statically')"
reason static './statically sleep' 'statically ([0-9]*): linked statically'
reason "a cleared environment" './wrappers raw "" /bin/sleep 1' 'sleep ([0-9]*): started with a cleared environment'
if [ "$(id -u)" = 0 ]; then
  cp wrappers short_raised && chown nobody short_raised && chmod u+s short_raised
  brief "a short program, setuid for another user" '1 process was not recorded: short_raised ([0-9]*): runs with other rights (setuid, setgid, capabilities)' \
    dash -c './short_raised work; exit 0'
  cp /bin/sleep raised && chown nobody raised && chmod u+s raised
  reason "setuid for another user" './raised 1' 'raised ([0-9]*): runs with other rights (setuid, setgid, capabilities)'
  if dir=$(mktemp -d) && chmod 777 "$dir" && cp /bin/sleep "$dir/raised" && chmod 4755 "$dir/raised" && setpriv --reuid nobody --clear-groups test -x "$tool" 2> /dev/null; then
    check "setuid for root, recorded by another user: the message has the reason" "0 1" \
      "$(status timeout -s KILL 60 setpriv --reuid nobody --clear-groups "$tool" record -o "$dir/out.json" -- dash -c "$dir/raised 1; exit 0") $(said '^heapdump: 1 process was not recorded: raised ([0-9]*): runs with other rights')"
  fi
  rm -rf "$dir"
fi

# Programs that cannot load the recorder start without it: otherwise their loader prints an error.
if need musl-tools; then
  loader=$(ls /lib/ld-musl-*.so.1) store=$work/nix/store/0123456789abcdefghijklmnopqrstuv-musl-1.2.5-with-a-long-name/lib
  mkdir -p "$store" && cp "$loader" "$store/"
  musl-gcc -w -O1 -fno-builtin "$sources/wrappers.c" -o for_musl
  musl-gcc -w -O1 -fno-builtin -Wl,--dynamic-linker="$store/${loader##*/}" "$sources/wrappers.c" -o for_store
  printf '#!%s\n' "$work/for_musl" > script_musl
  printf '#! \t%s an/argument\n' "$work/for_store" > script_store
  printf '#!%s\n' "$work/script_store" > script_twice
  chmod +x script_*
  check "a musl program does not run" "1 1 0" "$(rec -o musl.json -- ./for_musl work) $(said 'for_musl is linked with musl, .*it was not run') $(said 'Error')"
  check "... started by a script, it runs" "0 0" "$(rec -o musl.json -- dash -c './for_musl work; exit $?') $(said 'Error')"
  for to in for_musl for_store script_musl script_store script_twice; do
    for how in execve execvp fexecve fexecve-path execveat execveat-in posix_spawn posix_spawnp; do
      check "... $to, started by $how, runs" "0 0" "$(rec -o musl.json -- ./wrappers $how $PWD/$to) $(said 'Error')"
    done
    for how in execvp posix_spawnp; do
      check "... $to, started by $how through PATH, runs" "0 0" "$(PATH=$PWD:$PATH rec -o musl.json -- ./wrappers $how $to) $(said 'Error')"
    done
  done
  brief "a short musl program" '1 process was not recorded: for_store ([0-9]*): linked with musl' dash -c './for_store work; exit 0'
  reason musl './for_store sleep' 'for_store ([0-9]*): linked with musl'
  check "musl programs and their children: the messages have the reasons" "0 1 1" \
    "$(rec -o reason.json -- dash -c './for_store execve ./wrappers-sleeps; exit 0') $(said '^heapdump: 2 processes were not recorded:.* for_store ([0-9]*): linked with musl') $(said 'wrappers-sleeps ([0-9]*): started without LD_PRELOAD')"
fi
# A 32-bit program that looks for LD_PRELOAD: its status is 1 if it is set. With an argument it sleeps for a second.
cat > bits.c <<'C'
__asm__(".globl _start\n_start: mov %esp, %eax\n push %eax\n call look\n mov %eax, %ebx\n mov $1, %eax\n int $0x80");
int look(char **p) {
    const long second[2] = { 1, 0 };
    int unused;
    if (*(int *)p > 1) __asm__ volatile("int $0x80" : "=a"(unused) : "0"(162), "b"(second), "c"(0) : "memory");
    for (p += 1 + *(int *)p + 1; *p; p++)
        if ((*p)[0] == 'L' && (*p)[1] == 'D' && (*p)[2] == '_' && (*p)[3] == 'P') return 1;
    return 0;
}
C
if [ "$(uname -m)" = x86_64 ] && gcc -m32 -w -Os -ffreestanding -fno-pic -fno-stack-protector -nostdlib -static bits.c -o bits && { ./bits || [ $? = 1 ]; } 2> /dev/null; then
  check "a 32-bit program starts without LD_PRELOAD" 0 "$(env -u LD_PRELOAD "$tool" record -o bits.json -- ./wrappers execve-bare "$work/bits" > out 2> err; echo $?)"
  reason "32 bits" './bits sleep' 'bits ([0-9]*): a 32-bit program'
fi
exit $failed
