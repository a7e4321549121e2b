#!/usr/bin/env bash
# MemProf profiles as YAML against llvm-profdata-22. Hundreds of small texts, each with one deviation: both accept or
# refuse the same texts and write the same bytes. Also: listings of indexed and raw profiles, files converted to YAML
# and back, the runtime's report, and texts that would need too much time or memory.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must python3 jq gzip
need llvm-22 || skip "llvm-22 cannot be installed"
source=$PWD/tests/peers data=$PWD/tests/data
work=build/peers/memprof-yaml
rm -rf $work && mkdir -p $work
cd $work
theirs() { llvm-profdata-22 merge "$@"; }
show() { llvm-profdata-22 show --memory "$1"; }

# Known differences and their reasons.
differs="calls-nested: the form of LLVM 20
complex-key: ? before a key, which YAML allows
empty-string-document: an empty document
function-name-question: libyaml takes ? before a name within braces for a key
line-separator: libyaml ends a line here
nothing: an empty text
null-document: an empty document
same-guid: the second record of a function is kept
separators: libyaml ends a line here
calls-empty-frames: a call site without frames is left out
stack-empty: an allocation without stack is left out, and none remains
stack-null: an allocation without stack is left out, and none remains
start-bom: begins with a byte order mark
start-comment: begins with a comment
start-directive: begins with a directive
start-newline: begins with an empty line
start-none: begins with a key
tilde-document: an empty document"

python3 "$source/lib/memprof_yaml.py" texts
mkdir ours
one() {                          # one TEXT...: a line NAME THEIRS OURS BYTES for each text
  local name=${1%.yaml} a=no b=no same=- t o
  theirs --memprof-version=4 --memprof-full-schema "texts/$1" -o "texts/$name.mp" > /dev/null 2>&1 && [ -s "texts/$name.mp" ] && a=yes
  s=0; timeout 20 "$tool" index --strict --format memprof-yaml --memprof-version 4 --full-schema -o "ours/$name.mp" "texts/$1" > "ours/$name.err" 2>&1 || s=$?
  case $s in 0) b=yes ;; 1) b=no ;; *) b=status-$s ;; esac
  if [ $a$b = yesyes ]; then
    same=yes
    if ! cmp -s "texts/$name.mp" "ours/$name.mp"; then # data accesses may be deflated or not
      t=$(show "texts/$name.mp" 2>&1) && o=$(show "ours/$name.mp" 2>&1) && [ "$t" = "$o" ] || same=no
    fi
  fi
  echo "$name $a $b $same"
}
export -f one theirs show
export tool
ls texts | grep yaml$ | xargs -P 2 -I{} bash -c 'one {}' | LC_ALL=C sort > table
alike=$(awk '($2 == $3) && $4 != "no"' table | wc -l)
check "$(wc -l < table) texts: $alike are read or refused alike, with equal bytes; these others are known to differ" \
  "$(cut -d: -f1 <<< "$differs" | LC_ALL=C sort | xargs)" "$(awk '($2 != $3) || $4 == "no" { print $1 }' table | LC_ALL=C sort | xargs)"
check "each refusal names a place" "" "$(for n in $(awk '$3 == "no" { print $1 }' table); do grep -q -e 'offset [0-9]' "ours/$n.err" || echo $n; done | grep -v -e '^stack-' | xargs)"

# Our listing of an indexed file equals LLVM's, byte for byte.
for f in "$data"/memprof-22-*.profdata "$data"/memprof-19-v[23].profdata "$data"/counters-22-memprof-v*.profdata; do
  name=$(basename "$f" .profdata)
  show "$f" > "$name.theirs.yaml" 2> err || { fail "$name: LLVM refuses it"; continue; }
  "$tool" memprof --yaml "$f" > "$name.ours.yaml" 2> err
  "$tool" convert --to memprof-yaml -o "$name.converted.yaml" "$f" 2> err
  check "$name: the listings are equal" "" "$(diff "$name.theirs.yaml" "$name.ours.yaml" | head -n 3; cmp "$name.ours.yaml" "$name.converted.yaml" 2>&1)"
  [ $name != memprof-22-empty ] || continue
  for v in 2 3 4; do
    theirs --memprof-version=$v "$name.ours.yaml" -o theirs.mp 2> err || fail "LLVM refuses ours: $(head -n 1 err)"
    "$tool" index --hot-cold-schema --memprof-version $v -o ours.mp "$name.theirs.yaml" 2> err || fail "we refuse LLVM's: $(tail -n 1 err)"
    check "... and equal after merging, version $v" "" "$(diff <(show theirs.mp) <(show ours.mp) | head -n 3)"
    [ "$name$v" = memprof-22-access4 ] || check "... to the same bytes" "" "$(cmp theirs.mp ours.mp 2>&1)"
  done
done

# Commands for indexed profiles also take YAML, packed or from a pipe.
yaml=memprof-22-v4.theirs.yaml
gzip -c $yaml > packed.yaml.gz
check "packed YAML" "$("$tool" tree --bytes $yaml | head -n 3)" "$("$tool" tree --bytes packed.yaml.gz | head -n 3)"
check "YAML from a pipe" "$("$tool" tree --bytes $yaml | head -n 3)" "$("$tool" tree --bytes - < $yaml | head -n 3)"
theirs --memprof-version=3 $yaml -o same.mp
check "hints of YAML equal those of the indexed file" "$("$tool" memprof --hints --json same.mp | jq '.allocations | length, (map(.contexts | length) | add)' | xargs)" \
  "$("$tool" memprof --hints --json $yaml | jq '.allocations | length, (map(.contexts | length) | add)' | xargs)"
"$tool" merge -o sum.mp $yaml same.mp packed.yaml.gz 2> err || fail "merging: $(tail -n 1 err)"
check "merged with indexed files, all allocations are kept" "$((3 * $("$tool" info --json $yaml | jq '.files[0].totals.AllocCount')))" \
  "$("$tool" info --json sum.mp | jq '.files[0].totals.AllocCount')"

# A program: LLVM's listing of the raw profile contains all of it, with names; the runtime's report has the same
# totals.
if need clang-22 libclang-rt-22-dev; then
  sed 's/pool/pools/' "$source/programs/memprof_threads.cc" > app.cc
  clang++-22 -O1 -gmlt -fdebug-info-for-profiling -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls -no-pie \
    -pthread -Wl,-build-id -fmemory-profile app.cc -o app
  MEMPROF_OPTIONS=log_path=app.raw:print_text=0 ./app > /dev/null
  llvm-profdata-22 show --memory app.raw.* --profiled-binary app > listing.yaml 2> err
  for schema in hot-cold full; do
    "$tool" index --like 22 --$schema-schema --memprof-version 3 --binary app -o of-raw.mp app.raw.* 2> err || fail "$(tail -n 1 err)"
    "$tool" index --$schema-schema --memprof-version 3 -o of-listing.mp listing.yaml 2> err || fail "$(tail -n 1 err)"
    check "LLVM's listing gives the same indexed profile, $schema schema" "" "$(cmp of-raw.mp of-listing.mp 2>&1)"
  done
  check "... with names" true "$("$tool" memprof --json listing.yaml | jq '[.Records[].AllocSites[].Callstack[].SymbolName | startswith("0x") | not] | all')"
  "$tool" memprof --yaml --binary app app.raw.* > of-raw.yaml 2> err || fail "$(tail -n 1 err)"
  "$tool" index --hot-cold-schema --memprof-version 3 -o of-yaml.mp of-raw.yaml 2> err || fail "$(tail -n 1 err)"
  "$tool" index --hot-cold-schema --memprof-version 3 --binary app -o of-raw.mp app.raw.* 2> err || fail "$(tail -n 1 err)"
  check "our YAML of the raw profile has its values" "" "$(diff <(show of-raw.mp) <(show of-yaml.mp) | head -n 3)"
  for terse in 0 1; do
    MEMPROF_OPTIONS=print_text=1:print_terse=$terse:log_path=report$terse ./app > /dev/null
    check "the runtime's report, print_terse=$terse: blocks and bytes equal its sums" \
      "$(sed -n 's/.*alloc_count \([0-9]*\),.*/\1/p; s,^MIB:[0-9]*/\([0-9]*\)/.*,\1,p' report$terse.* | paste -sd+ | bc)" \
      "$("$tool" info --json report$terse.* 2> err | jq '.files[0].heaps[0].blocks')"
  done
else echo "SKIP: listings and reports of programs: clang-22 cannot be installed"; fi

# Texts that would need too much time or memory: refused within 256 MiB and seconds, with a place.
bomb() {                         # bomb NAME COMMAND...: the text is the command's output
  local name=$1; shift
  "$@" > bomb.yaml 2> /dev/null || true
  check "$name" "1 1" "$(status bash -c "ulimit -v 262144; exec timeout 20 '$tool' info --strict --format memprof-yaml bomb.yaml") $(grep -c -e 'offset [0-9]' err)"
}
py() { python3 -c "import sys; w = sys.stdout.write; h = '---\nHeapProfileRecords:\n  - GUID: '; $1"; }
bomb "a scalar of 64 MiB" py "w(h + 'f' * (64 << 20))"
bomb "a key of 64 MiB" py "w('---\n' + 'f' * (64 << 20) + ': 1')"
bomb "a comment of 64 MiB" py "w(h + '# ' + 'f' * (64 << 20))"
bomb "a million brackets" py "w(h + '[' * 1000000)"
bomb "a million dashes" py "w('---\n' + '- ' * 1000000)"
bomb "a billion laughs" py "w('---\n' + ''.join(f'a{i}: &a{i} [{\",\".join([f\"*a{i-1}\"] * 9)}]\n' for i in range(1, 20)))"
bomb "a million keys" py "w('---\n' + ''.join(f'k{i}: 1\n' for i in range(1000000)))"
bomb "a million tags" py "w(''.join(f'%TAG !a{i}! x\n' for i in range(1000000)) + '---\nHeapProfileRecords: []\n')"
py "w('---\nHeapProfileRecords: ' + '[' * 1000000 + ']' * 1000000)" > bomb.yaml
check "a million nested brackets in a value that may be skipped" "1 1" "$(status timeout 20 "$tool" info --format memprof-yaml bomb.yaml) $(grep -c 'nested deeper than' err)"
exit $failed
