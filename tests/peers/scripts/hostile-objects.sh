#!/usr/bin/env bash
# Hostile programs: their ELF, DWARF, links or debuginfod server try to make record hang or grow. It still ends at
# once and within its memory limit, and one Ctrl-C or TERM ends it within a second.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc binutils python3
made build/heapdump build/libheapdump_record.so
work=$PWD/build/peers/hostile-objects here=$PWD/tests/peers
rm -rf "$work" && mkdir -p "$work" && cd "$work"
unset DEBUGINFOD_URLS

cat > prog.c <<'C'
#include <stdlib.h>
void *volatile keep;
#ifdef NAME
void work(void) __asm__(NAME);
#endif
static inline __attribute__((always_inline)) void inlined(void) { keep = malloc(1000); }
__attribute__((noinline)) void work(void) {
    inlined();
    __asm__("");
}
int main(void) {
    work();
    return 0;
}
C
moments=3; [ -z "${FULL-}" ] || moments=6
frames() { "$tool" tree --frames all --kind live out.json 2> tree.err | grep -o "$1" | sort -u | tr '\n' ' '; }
record() { python3 "$here/lib/hostile_objects.py" record "$tool" "$@"; } # SECONDS MIB OPTIONS... -- PROGRAM
interrupt() { python3 "$here/lib/hostile_objects.py" interrupt "$tool" $moments "$@"; } # OPTIONS... -- PROGRAM

# A named pipe under each name that leads to debug information.
gcc -g -O1 -Wl,--build-id prog.c -o whole
objcopy --only-keep-debug whole link.debug
strip -o link whole && objcopy --add-gnu-debuglink=link.debug link
rm link.debug && mkfifo link.debug
check "a pipe named by .gnu_debuglink" "quick" "$(record 5 200 -- ./link)"
check "... Ctrl-C" "ends within a second" "$(interrupt -- ./link)"
gcc -g -O1 -gdwarf-5 -gsplit-dwarf -c prog.c -o split.o && gcc split.o -o split
rm split.dwo && mkfifo split.dwo split.dwp
check "pipes in place of .dwo and .dwp" "quick" "$(record 5 200 -- ./split)"
check "... functions have names from the symbol table" "work " "$(frames work)"
check "... Ctrl-C" "ends within a second" "$(interrupt -- ./split)"
mkfifo alt
{ printf '%s\0' "$PWD/alt"; printf 'aaaaaaaaaaaaaaaaaaaa'; } > section
objcopy --add-section .gnu_debugaltlink=section whole altlink
check "a pipe named by .gnu_debugaltlink" "quick" "$(record 5 200 -- ./altlink)"
check "... Ctrl-C" "ends within a second" "$(interrupt -- ./altlink)"

# A path that alternates between a regular file and a pipe.
linked swap "$here/programs/hostile_region.c"
for i in 1 2 3 4; do check "a path exchanged for a pipe, $i" "quick" "$(record 12 300 -- ./swap swap 1 $i)"; done
check "... Ctrl-C" "ends within a second" "$(interrupt -- ./swap swap 1 1)"

# Ranges that many functions share: naive code would visit functions times ranges.
python3 "$here/lib/hostile_objects.py" ranges 8000 8000 > ranges.s
gcc -fPIC -x c -c - -o some.o <<< 'void *malloc(unsigned long); void *volatile keep; void some(void) { keep = malloc(1000); }'
gcc -z noexecstack ranges.s some.o -o ranges
check "8,000 functions that share 8,000 ranges" "quick" "$(record 5 200 -- ./ranges)"
check "... the program's functions have names" "main some " "$(frames '\bmain\b\|\bsome\b')"
check "... Ctrl-C" "ends within a second" "$(interrupt -- ./ranges)"

# 2.9 MB of debug information that unpack to 2.9 GB.
for gz in zlib zstd; do
  python3 "$here/lib/hostile_objects.py" packed $gz whole packed-$gz || { echo "SKIP: $gz: Python cannot pack it"; continue; }
  chmod +x packed-$gz
  check "... functions have names from the symbol table" "quick" "$(record 20 400 --names-memory 256M -- ./packed-$gz)"
  check "... Ctrl-C" "work " "$(frames work)"
  check "... Ctrl-C" "ends within a second" "$(interrupt --names-memory 256M -- ./packed-$gz)"
done

# Files that are mapped do not count.
cp whole large && truncate -s 3G large
check "a program of 3 GiB in 64 MiB of memory" "quick" "$(record 10 200 --names-memory 64M -- ./large)"
check "... inlined functions have names" "inlined " "$(frames '\binlined\b')"
rm large

# Relocating a file writes to its pages, so those count against the memory limit.
mkdir relocatable && python3 "$here/lib/hostile_objects.py" relocatable 140000 relocatable/0
check "a relocatable file of 547 MiB, of 4 MiB on the disk, in 64 MiB of memory" "quick" \
  "$(record 20 200 --names-memory 64M -- ./swap files 1 "$PWD/relocatable")"
check "... a message reports the unnamed frame" 1 "$(grep -c 'relocatable/0: 1 frame stays unnamed: reading it runs out of memory (limit: 0.0625 GiB' err)"
check "... frames of other objects have names" "__libc_start_main " "$(frames __libc_start_main)"
python3 "$here/lib/hostile_objects.py" relocatable 3000 relocatable/0
check "a relocatable file of 12 MiB fits into 64 MiB" "quick" "$(record 10 200 --names-memory 64M -- ./swap files 1 "$PWD/relocatable")"
check "... without a message" 0 "$(grep -c 'relocatable/0' err)"
rm -r relocatable

# A name of 500 bytes that demangles to gigabytes: the second process that reads it dies, too.
gcc -g -O1 -DNAME="\"$(python3 "$here/lib/hostile_objects.py" name 30)\"" prog.c -o bomb
check "a name that is too long: memory" "quick" "$(record 30 400 --names-memory 256M -- ./bomb)"
check "... a message reports the unnamed frames" 1 "$(grep -c 'bomb: [1-9] frames* stays* unnamed: reading it runs out of memory (limit: 0.25 GiB; --names-memory raises it)$' err)"
check "... frames of other objects have names" "__libc_start_main " "$(frames __libc_start_main)"
check "a name that is too long: time" "quick" "$(record 60 4000 --names-time 1 -- ./bomb)"
check "... a message reports the time limit" 1 "$(grep -c 'reading it takes too long (limit: 1 s of processor time; --names-time raises it)$' err)"
for signal in INT TERM; do
  check "a name that is too long: $signal" "ends within a second" \
    "$(python3 "$here/lib/hostile_objects.py" stop "$tool" $signal -- ./bomb)"
done

# A server that sends one byte from time to time.
strip -o dripping whole
server= choosy= flood= junk=
clean() {
  set +e
  kill $server $choosy $flood $junk
  umount -l "$work/fuse" "$work/full"
} 2> /dev/null
trap clean EXIT
python3 -u "$here/lib/hostile_objects.py" drip > port & server=$!
until [ -s port ]; do kill -0 $server || exit 1; done
export DEBUGINFOD_URLS=http://127.0.0.1:$(cat port) DEBUGINFOD_CACHE_PATH=$PWD/cache
check "a debuginfod server that sends slowly" "quick" "$(record 15 200 --names-time 2 -- ./dripping)"
check "... a message reports the server's time limit" 1 "$(grep -c 'the debuginfod server took more than 2 s and is not asked any more' err)"
check "a debuginfod server that sends slowly: INT" "ends within a second" \
  "$(python3 "$here/lib/hostile_objects.py" stop "$tool" INT -- ./dripping)"
check "... Ctrl-C" "ends within a second" "$(interrupt -- ./dripping)"
unset DEBUGINFOD_URLS

# A server that never stops sending.
python3 -u "$here/lib/hostile_objects.py" flood > flooded & flood=$!
until [ -s flooded ]; do kill -0 $flood || exit 1; done
export DEBUGINFOD_URLS=http://127.0.0.1:$(head -n 1 flooded) DEBUGINFOD_CACHE_PATH=$PWD/cache
check "a debuginfod server that never stops sending" "quick" "$(record 15 200 --names-memory 64M -- ./dripping)"
check "... a message reports the file's size limit" 1 "$(grep -c 'the debuginfod server sent a file of more than 0.0625 GiB, which is not kept' err)"
check "... its file is not kept, and took less than 100 MiB of the disk" "0 yes" \
  "$(find cache -type f -size +1M | wc -l) $(tail -n +2 flooded | awk '{ most = $1 > most ? $1 : most } END { print NR && most < 100 ? "yes" : most }')"
check "... frames of other objects have names" "__libc_start_main " "$(frames __libc_start_main)"
check "a debuginfod server that never stops sending: Ctrl-C" "ends within a second" \
  "$(interrupt --names-memory 64M -- ./dripping)"

# A server that sends a file for each object.
python3 -u "$here/lib/hostile_objects.py" junk > junk & junk=$!
until [ -s junk ]; do kill -0 $junk || exit 1; done
mkdir junked && rm -r cache
for i in $(seq 0 9); do gcc -shared -s -o junked/$i -Wl,--build-id=0x010203$(printf %02x $i)$(printf '%032d' 0) some.o; done
export DEBUGINFOD_URLS=http://127.0.0.1:$(cat junk)
check "a debuginfod server that sends 40 MiB for each of 10 objects" "quick" \
  "$(record 30 200 --names-memory 64M -- ./swap files 10 "$PWD/junked")"
check "... a message reports the total limit" 1 "$(grep -c 'the debuginfod server sent more than 0.25 GiB and is not asked any more' err)"
check "... the cache keeps at most 256 MiB" yes \
  "$(du -sm cache | awk '{ print ($1 > 200 && $1 < 256 ? "yes" : $1 " MiB") }')"
unset DEBUGINFOD_URLS

# Many forged modules, and frames outside all of them.
check "20,000 forged modules" "quick" "$(record 20 600 -- ./swap modules 20000)"
check "... Ctrl-C" "ends within a second" "$(interrupt -- ./swap modules 20000)"

# Many records, each with its own modules.
check "200 forged records of 200 modules each" "quick" "$(record 20 600 -- ./swap records 200 200)"
check "... Ctrl-C" "ends within a second" "$(interrupt -- ./swap records 200 200)"

# No file can be written.
if mkdir full && mount -t tmpfs -o size=64k none full 2> /dev/null; then
  head -c 1M /dev/zero > full/all 2> /dev/null || :
  check "a full file system: Ctrl-C" "ends within a second" "$(interrupt -o full/out.json -- ./swap records 20 20)"
else
  echo "SKIP: a full file system: cannot mount one"
fi

# A file system that answers all processes except heapdump: each file costs a short wait, and Ctrl-C ends the wait.
mkdir fuse
python3 -u "$here/lib/hostile_objects.py" choosy "$PWD/fuse" "$PWD/whole" > mounted 2> unmounted & choosy=$!
until [ -s mounted ] || ! kill -0 $choosy 2> /dev/null; do :; done
if [ -s mounted ]; then
  silent() {                   # SECONDS PROGRAM...
    check "a file system that does not answer, $2 $3: ends" "quick" "$(record $1 300 -- "${@:2}")"
    check "... frames of other objects have names" "__libc_start_main " "$(frames __libc_start_main)"
  }
  silent 30 sh -c fuse/prog
  silent 30 ./swap files 1 "$PWD/fuse"
  check "... a message reports that the file system does not answer" 1 "$(grep -c 'fuse/0: 1 frame stays unnamed: its file system does not answer' err)"
  silent 60 ./swap files 200 "$PWD/fuse"
  check "a file system that does not answer: INT" "ends within a second" \
    "$(interrupt -- ./swap files 200 "$PWD/fuse")"
else
  echo "SKIP: a file system that does not answer: $(tail -1 unmounted)"
fi

# The limits allow no further process.
echo "main;$PWD/whole+0x$(printf %x 0x$(nm whole | awk '$3 == "work" { print $1 }')) 1000" > frame.folded
check "a frame of a folded file gets its name" "main;work" "$("$tool" convert --to folded frame.folded | cut -d' ' -f1)"
(ulimit -n 4 && "$tool" convert --to folded frame.folded) > out 2> err || fail "without a process for names: status $?"
check "without a process for names, frames stay as they are" "$(sed "s|;.*/|;|" frame.folded)" "$(cat out)"
check "... and one message gives the reason" \
  "heapdump: cannot start the process that finds function names: Too many open files; frames stay FILE+0xOFFSET" "$(cat err)"
exit $failed
