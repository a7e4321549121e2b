#!/usr/bin/env bash
# Inputs packed by gzip, zstd and xz: the tool reads their content from files, standard input and pipes. Also damaged
# inputs, and small inputs with huge content. The three programs unpack the tool's packed outputs.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must jq gzip zstd xz-utils python3
work=build/peers/packed
rm -rf $work && mkdir -p $work
build/examples/record_engine > $work/trace.json
cp tests/data/small.dartheap tests/data/memprof-19.raw $work
cd $work

# Long enough that a truncated file still has heaps: the trace's events repeat, each time with another process.
python3 - <<'END'
import json
trace = json.load(open("trace.json"))
events = trace["traceEvents"]
trace["traceEvents"] = [dict(e, pid=pid) for pid in range(1, 2001) for e in events]
json.dump(trace, open("long.json", "w"))
END

for how in "gzip -c" "zstd -qc" "xz -c" "pzstd -qc" "xz -c --check=none --block-size=1000" "zstd -qc --ultra -22"; do
  for file in trace.json small.dartheap memprof-19.raw; do
    "$tool" info "$file" > plain
    $how "$file" > "$file.packed"
    check "$how: $file" "$(sed "s/$file/&.packed/" plain)" "$("$tool" info "$file.packed")"
    check "... on standard input" "$(sed "s/^$file/-/" plain)" "$("$tool" info - < "$file.packed")"
    check "... from a pipe" "$(sed 1d plain)" "$("$tool" info <(cat "$file.packed") | sed 1d)"
  done
  { head -c 100 trace.json | $how; tail -c +101 trace.json | $how; } > two.packed
  check "$how: two streams in one file" "$("$tool" tree --bytes trace.json)" "$("$tool" tree --bytes two.packed)"
done
"$tool" merge --to memprof-raw -o twice.raw memprof-19.raw memprof-19.raw 2> err
zstd -qc memprof-19.raw > raw.zst
xz -c memprof-19.raw > raw.xz
"$tool" merge --to memprof-raw -o packed.raw raw.zst - < raw.xz 2> err
check "packed profiles add up like plain ones" 0 "$(status cmp packed.raw twice.raw)"

# A packed trace for --add-to, which is not itself read as a dump.
printf '{"traceEvents":[{"ph":"X","pid":9,"name":"one"}],"more":[1, 2]}\n' > to.json
"$tool" merge --add-to to.json -o added.json trace.json 2> err
for how in "gzip -c" "zstd -qc" "xz -c"; do
  $how to.json > to.packed
  check "${how%% *}: --add-to a packed trace" "0 0" "$(status "$tool" merge --add-to to.packed -o out.json trace.json) $(status cmp out.json added.json)"
  check "... from standard input" "0 0" "$(status "$tool" merge --add-to - -o out.json trace.json < to.packed) $(status cmp out.json added.json)"
  head -c 50 to.packed > cut.packed
  check "... a truncated one is refused" "1 heapdump: cut.packed: the ${how%% *} stream is damaged or cut off in its first 50 bytes, or other data follows it" \
    "$(rm out.json; status "$tool" convert --add-to cut.packed -o out.json trace.json) $(cat err)$(cat out.json 2> /dev/null)"
done
# gzip allows several members and trailing zeros. Other trailing bytes are damage.
gzip -c to.json > to.packed
{ head -c 20 trace.json | gzip -c; tail -c +21 trace.json | gzip -c; head -c 1000 /dev/zero; } > members.gz
check "gzip: several members and trailing zeros" "nothing wrong" "$("$tool" validate members.gz | sed 's/.*, //')"
for rubbish in x 'garbage and more'; do
  { cat members.gz; printf %s "$rubbish"; } > rubbish.gz
  check "gzip with trailing bytes: the content before them, and a warning" "0 1" \
    "$(status "$tool" info rubbish.gz) $(grep -c 'warning: the gzip stream is damaged .*, or other data follows it (the offset counts unpacked bytes)' err)"
  check "... validate reports them, and --strict refuses the file" "1 1" "$(status "$tool" validate rubbish.gz) $(status "$tool" info --strict rubbish.gz)"
done
"$tool" merge -o unasked.raw raw.zst raw.xz 2> err
check "packed raw profiles are recognised" 0 "$(status cmp unasked.raw twice.raw)"

# Outputs are packed if the name says so, and the programs unpack them. A failure leaves no file.
"$tool" tree --json trace.json > tree.json
"$tool" convert --to folded -o plain.folded long.json 2> err
for how in "gzip gz" "zstd zst" "xz xz"; do
  name=${how% *} end=${how#* }
  check "-o packs by suffix: $name" "0 0" "$(status "$tool" convert --to folded -o out.folded.$end long.json) $($name -dc out.folded.$end | cmp - plain.folded; echo $?)"
  check "... it is smaller" yes "$([ $((4 * $(stat -c %s out.folded.$end))) -lt "$(stat -c %s plain.folded)" ] && echo yes)"
  check "... an answer of tree" "0 0" "$(status "$tool" tree --json -o tree.json.$end trace.json) $($name -dc tree.json.$end | cmp - tree.json; echo $?)"
  check "... equal bytes each time" "0 0" "$(status "$tool" convert --to folded -o again.folded.$end long.json) $(status cmp again.folded.$end out.folded.$end)"
  check "... a failure leaves no file" "1 1 " "$(status "$tool" tree -o none.$end to.json) $(wc -l < err) $(ls none.$end* 2> /dev/null)"
  check "... a full disk is reported" "1 1" "$(ulimit -f 1; status "$tool" convert --to chrome -o full.$end long.json) $(grep -c 'File too large' err)"
  [ ! -e full.$end ] || fail "full.$end remains after the failure"
done

heaps() { jq '.files[0].heaps | length' out; }
for how in "gzip -c" "zstd -qc" "xz -c"; do
  name=${how%% *}
  $how long.json > long.packed
  size=$(stat -c %s long.packed)
  all=$("$tool" info --json long.json | jq '.files[0].heaps | length')
  head -c $((size * 3 / 4)) long.packed > cut.packed
  check "$name, truncated: the content before, and a warning" "0 1" "$(status "$tool" info --json cut.packed) $(grep -c "warning: the $name stream is damaged or cut off in its first $((size * 3 / 4)) bytes" err)"
  kept=$(heaps)
  if [ "$kept" -gt $((all / 10)) ] && [ "$kept" -lt "$all" ]; then pass "... $kept of $all heaps"; else fail "... $kept of $all heaps"; fi
  check "... --strict refuses it and names the place" "1 1" "$(status "$tool" info --strict cut.packed) $(grep -c "cut.packed (chrome): offset [0-9]*: the $name stream is damaged or cut off in its first" err)"
  for at in 2 5 9 20; do
    head -c $at long.packed > cut.packed
    check "... truncated after $at bytes" "1 1" "$(status "$tool" info cut.packed) $(wc -l < err)"
  done
  python3 - $((size / 2)) <<'END'
import sys
b = bytearray(open("long.packed", "rb").read())
for i in range(64): b[int(sys.argv[1]) + i] ^= 0x5a
open("changed.packed", "wb").write(b)
END
  check "$name with changed bytes: --strict refuses it" "1 1" "$(status "$tool" info --strict changed.packed) $(wc -l < err)"
  check "... lenient" 0 "$(status "$tool" info --json changed.packed)"
done

# Huge content: 512 MiB of spaces between events; and streams that claim an impossibly large window.
bomb() { printf '{"traceEvents":['; head -c 512M /dev/zero | tr '\0' ' '; printf ']}'; }
for how in "gzip -c" "zstd -qc -1" "xz -c -0"; do
  bomb | $how > bomb.packed
  check "$how: 512 MiB in $(stat -c %s bomb.packed) bytes are read with 64 MiB of memory" "0 bomb.packed: chrome, 0 heaps" \
    "$(ulimit -v 65536; status "$tool" info bomb.packed) $(cat out)"
done
python3 - <<'END'
import struct, zlib
def crc(b): return b + struct.pack("<I", zlib.crc32(b))
open("far.zst", "wb").write(b"\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00")
open("far.xz", "wb").write(b"\xfd7zXZ\0" + crc(b"\0\0") + crc(b"\x02\x00\x21\x01\x28\0\0\0") + b"\x01\0\0a\0")
END
for f in zst xz; do
  check "far.$f: its window is larger than any memory" "1 1" \
    "$(status "$tool" info far.$f) $(grep -c 'stream takes [0-9]* bytes at a time, more than 268435456: unpack it first' err)"
done
check "a file that is packed twice is refused" 1 "$(gzip -c trace.json | gzip -c > twice.gz; status "$tool" info twice.gz)"
exit $failed
