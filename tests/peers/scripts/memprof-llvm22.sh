#!/usr/bin/env bash
# Indexed MemProf profiles of LLVM 22 against llvm-profdata-22: the content of its files, version 4 through every way
# of writing it, and the messages about data that is left out. Whole programs with many call stacks are in
# memprof-index.sh.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3 jq
need llvm-22 python3-yaml || skip "llvm-22 cannot be installed"
source=$PWD/tests/peers/lib data=$PWD/tests/data
work=build/peers/memprof-llvm22
rm -rf $work && mkdir -p $work
cd $work

# says NAME FILE: compares our reading with llvm-profdata's
says() {
  local told
  "$tool" memprof --json "$2" > ours.json 2> err && "$tool" info --json "$2" > info.json 2> err || { fail "$1: $(tail -n 1 err)"; return; }
  llvm-profdata-22 show --memory "$2" > theirs.yaml 2> err || { fail "$1: LLVM refuses it: $(tail -n 1 err)"; return; }
  if told=$(python3 "$source/memprof_show.py" ours.json info.json theirs.yaml); then pass "$1: $told"; else fail "$1: $told"; fi
}

for f in "$data"/memprof-22-*.profdata "$data"/counters-22-memprof-*.profdata; do
  says "$(basename "$f")" "$f"
  "$tool" convert --to memprof-index -o again "$f" 2> err || fail "writing: $(tail -n 1 err)"
  check "... and is written back unchanged" same "$(cmp -s again "$f" && echo same)"
done

# Data that only version 4 has, in one file with counters and in other schemas.
access=$data/memprof-22-access.profdata
shown() { llvm-profdata-22 show --memory "$1" 2>&1; }
"$tool" index --base "$data/counters-22.profdata" -o both "$access" 2> err || fail "with counters: $(tail -n 1 err)"
check "callees and data accesses are written into a file with counters" "" "$(shown both | diff <(shown "$access") - | head -n 3)"
counts() { llvm-profdata-22 show --all-functions --counts "$1" 2>&1; }
check "... and the counters are unchanged" "" "$(counts both | diff <(counts "$data/counters-22.profdata") - | head -n 3)"
for v in 0 1 2 3 rfc; do
  [ $v = rfc ] && name="the RFC" || name="version $v"
  "$tool" convert --to memprof-index --memprof-version $v -o less "$access" 2> err || fail "version $v: $(tail -n 1 err)"
  check "version $v: a message counts the data that it cannot hold" "3 callees 4 accesses" \
    "$(sed -n 's/heapdump: '"$name"' cannot hold callees of call sites; left out: \([0-9]*\).*/\1 callees/p; s/heapdump: '"$name"' cannot hold accesses to data; left out: \([0-9]*\) symbols and literals.*/\1 accesses/p' err | tr '\n' ' ' | sed 's/ $//')"
  "$tool" convert --to memprof-index --memprof-version 4 -o more less 2> err || fail "from version $v: $(tail -n 1 err)"
  says "... and all other data comes back" more
done
check "version 4: nothing is left out" 0 "$("$tool" convert --to memprof-index --memprof-version 4 -o more "$access" 2>&1 | grep -c 'left out')"

# Counters, which YAML cannot hold; and summary numbers that LLVM 22 does not define, which only version 4 can hold.
for f in counters-22-memprof-v4 counters-22-memprof-v3; do
  "$tool" convert --to memprof-yaml -o no.yaml "$data/$f.profdata" 2> err || fail "YAML of $f: $(tail -n 1 err)"
  check "$f: a message says that YAML cannot hold counters" "$("$tool" info --json "$data/$f.profdata" | jq '.files[0].instrumented_functions')" \
    "$(sed -n 's/.*YAML cannot hold function counters; left out: counters of \([0-9]*\) functions*/\1/p' err)"
done
python3 - "$data/memprof-22-v4.profdata" > more-summary << 'PY'
import struct, sys
d = open(sys.argv[1], "rb").read()
header = list(struct.unpack("<9Q", d[:72]))
at = header[5]                   # the section; its summary gets two more numbers after its six
section = list(struct.unpack("<5Q", d[at:at + 40]))
assert section[0] == 4 and not section[4] and struct.unpack_from("<I", d, at + 40)[0] == 6
more = 16
out = bytearray(d[:at + 44 + 48] + struct.pack("<2Q", 7, 8) + d[at + 44 + 48:])
struct.pack_into("<I", out, at + 40, 8)
for i in 1, 2, 3: section[i] += more
struct.pack_into("<5Q", out, at, *section)
for i in 6, 7, 8:
    if header[i]: header[i] += more
struct.pack_into("<9Q", out, 0, *header)
table = section[3]               # number of buckets, number of entries, then the offset of each bucket
for b in range(struct.unpack_from("<Q", out, table)[0]):
    o, = struct.unpack_from("<Q", out, table + 16 + 8 * b)
    if o: struct.pack_into("<Q", out, table + 16 + 8 * b, o + more)
sys.stdout.buffer.write(out)
PY
for v in 2 3 4 rfc; do
  "$tool" convert --to memprof-index --memprof-version $v -o less more-summary 2> err || fail "version $v: $(tail -n 1 err)"
  check "version $v: a message counts the unknown summary numbers that it cannot hold" "$([ $v = 4 ] || echo 2)" "$(sed -n 's/heapdump: \([0-9]*\) values of the summary are left out.*/\1/p' err)"
done
for way in "convert --to memprof-yaml" "merge" "index --prune min-bytes=1"; do
  "$tool" $way -o less more-summary 2> err || fail "$way: $(tail -n 1 err)"
  check "... $way" 2 "$(sed -n 's/heapdump: \([0-9]*\) values of the summary are left out.*/\1/p' err)"
done

# Messages count the data of the written file, and the call sites that the RFC's layout cannot hold.
count() { "$tool" info --json "$1" | jq -r 'def n($of; $name): "\($of) \($name)\(if $of == 1 then "" else "s" end)";
  .files[0] | [n(.functions; "function"), n(.blocks; "block"), n(.call_sites; "call site"), n(.call_stacks; "call stack")] | join(", ")'; }
for f in memprof-22-v4 memprof-22-v2 memprof-19-v1; do
  "$tool" convert --to memprof-index --memprof-version 4 -o same "$data/$f.profdata" 2> err || fail "version 4: $(tail -n 1 err)"
  check "$f as version 4: the message has the counts of the written file" "$(count same)" "$(sed -n '$s/heapdump: //p' err)"
  "$tool" convert --to memprof-index --memprof-version rfc -o rfc same 2> err || fail "RFC: $(tail -n 1 err)"
  check "... as RFC, too" "$(count rfc)" "$(sed -n '$s/heapdump: //p' err)"
  lost=$(sed -n 's/.*only call sites on its call stacks.*; left out: \([0-9]*\)/\1/p' err)
  "$tool" convert --to memprof-index --memprof-version 4 -o back rfc 2> err || fail "from RFC: $(tail -n 1 err)"
  check "... and back" "$(count back)" "$(sed -n '$s/heapdump: //p' err)"
  sites() { "$tool" info --json "$1" | jq '.files[0].call_sites'; }
  check "... the message counts the lost call sites: ${lost:-none}" "$(sites same)" "$(($(sites back) + ${lost:-0}))"
done
"$tool" convert --to memprof-index --memprof-version rfc -o rfc "$access" 2> err || fail "RFC: $(tail -n 1 err)"
check "the RFC's layout loses call sites outside all call stacks, and a message says so" 1 "$(grep -c 'only call sites on its call stacks.*; left out: 2' err)"

# When heapdump writes the names of accessed data anew, it deflates them.
"$tool" merge -o merged "$access" 2> err || fail "merging: $(tail -n 1 err)"
check "names of data are deflated as by LLVM" 1 "$(LC_ALL=C grep -a -c -P '\x78\xda' merged)"
check "... and LLVM reads them" 4 "$(shown merged | sed -n '/DataAccessProfiles:/,$p' | grep -c 'AccessCount:')"

# The RFC's layout in a file with counters: LLVM refuses it, heapdump converts it.
"$tool" index --base "$data/counters-22.profdata" --memprof-version rfc -o beside "$data/memprof-22-v4.profdata" 2> err || fail "RFC with counters: $(tail -n 1 err)"
check "LLVM refuses the RFC's layout with counters with a message" "1 1" "$(status llvm-profdata-22 show --memory beside) $(llvm-profdata-22 show --memory beside 2>&1 | grep -c 'MemProf version 23 not supported')"
"$tool" convert --to memprof-index --memprof-version 4 -o there beside 2> err || fail "from RFC with counters: $(tail -n 1 err)"
check "... converted to version 4, all counters are there" "" "$(counts there | diff <(counts "$data/counters-22.profdata") - | head -n 3)"
says "... and all records" there
"$tool" convert --to memprof-index --memprof-version rfc -o again there 2> err || fail "RFC from version 4: $(tail -n 1 err)"
check "... and converting back keeps the counters" "with function counters" "$("$tool" info again | grep -o 'with function counters')"

"$tool" convert --to memprof-index --memprof-version rfc --base "$data/memprof-19-v2.profdata" -o beside.19 "$data/memprof-19-v2.profdata" 2> err
echo 'int main() { return 0; }' > empty.cc
for release in 16 19 22; do
  for file in beside beside.19; do
    for way in "llvm-profdata-$release show" "llvm-profdata-$release merge -o merged" "clang++-$release -O2 -c -o empty.o empty.cc -fprofile-use=" \
      "clang++-$release -O2 -c -o empty.o empty.cc -fmemory-profile-use="; do
      command -v "${way%% *}" > word || continue
      case $way in *=) set -- "$way$file" ;; *) set -- "$way $file" ;; esac
      case $1 in clang++-16*-fmemory-profile-use*) continue ;; esac # has no such option
      check "$1: refused" "1 1" "$(status $1 2> err) $(grep -c 'unsupported instrumentation profile format version' err)"
    done
  done
done

# Line offsets above 65535: the compiler cuts line numbers of its source to 16 bits, but not line numbers of the
# profile. --hints and hd_memprof_index_match compare places in the same way.
printf 'char *p;\nvoid f() {\n#line 70002\n  p = new char[10];\n}\n' > far.cc
for case in "70000 0" "4464 1"; do
  printf -- '---\nHeapProfileRecords:\n  - GUID: _Z1fv\n    AllocSites:\n      - Callstack: [ { Function: _Z1fv, LineOffset: %d, Column: 7, IsInlineFrame: false } ]
        MemInfoBlock: { AllocCount: 1, TotalSize: 70, TotalLifetime: 900000, TotalLifetimeAccessDensity: 0 }\n...\n' ${case% *} > far.yaml
  for release in 19 22; do
    "$tool" index --like $release --memprof-version 3 -o far.memprof far.yaml 2> err || fail "far: $(tail -n 1 err)"
    command -v clang++-$release > word || continue
    check "clang $release, a call at line 70000 of its function, a profile of line ${case% *}: found ${case#* } times" "${case#* }" \
      "$(clang++-$release -O2 -gmlt -fdebug-info-for-profiling -fmemory-profile-use=far.memprof far.cc -S -emit-llvm -o - 2> err | grep -c '"memprof"="cold"')"
  done
done

# Releases and versions that exclude each other.
check "22 does not write version 1" 2 "$(status "$tool" index --like 22 --memprof-version 1 -o no "$access")"
check "19 does not write version 4" 2 "$(status "$tool" index --like 19 --memprof-version 4 -o no "$access")"
check "release 20 is unknown" 2 "$(status "$tool" index --like 20 -o no "$access")"
check "--like 19 refuses counters of LLVM 22" 1 "$(status "$tool" index --like 19 --memprof-version 3 -o no "$data/counters-22-memprof-v3.profdata")"
exit $failed
