#!/usr/bin/env bash
# Every command on every format: it works where it applies, and one line gives the reason where it does not. Nothing
# crashes. With --json the output is one value that begins with the common keys.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must jq xz-utils
root=$PWD work=$PWD/build/peers/every-command
rm -rf "$work" && mkdir -p "$work"
cd "$work"
data=$root/tests/data
printf 'a 2 x 0\no 7cb42 1 8 1\nr 7cb42\nc x 1\n' > small.log
"$tool" index --memprof-version rfc -o small.rfc "$data/memprof-19-v3.profdata" 2> err
"$tool" convert --to speedscope -o speedscope.json "$data/go-heap.folded" 2> err
gzip -c "$data/go-heap.folded" > packed.gz
"$tool" rows --label host=a1 -o small.csv "$data/pprof-go.pb" "$data/trace-viewer/two-dumps.json" 2> err
"$tool" rows -o small.jsonl "$data/go-heap.folded" 2> err

# What a file contains: heaps, objects, raw or indexed MemProf profiles; and the id of one object.
inputs="chrome heaps - $data/trace-viewer/two-dumps.json
chrome heaps - $data/trace-viewer/old-with-types.json
folded heaps - $data/go-heap.folded
folded heaps - packed.gz
pprof heaps - $data/pprof-go.pb
pprof heaps - $data/pprof-node.pb
rows heaps - small.csv
rows-json heaps - small.jsonl
heap-text heaps - $data/heap-go.txt
heap-text heaps - $data/heap-jemalloc.txt
heap-text heaps - $data/heap-tcmalloc.txt
heaptrack heaps - $data/small.heaptrack
dhat heaps - $data/dhat-heap.json
dhat heaps - $data/dhat-ad-hoc.json
hprof objects 3758096528 $data/shop.hprof
netcf objects 7cb42 small.log
dart objects 1 $data/small.dartheap
heapsnapshot objects 1 $data/node-small.heapsnapshot
memprof raw - $data/memprof-19.raw
memprof-index indexed - $data/memprof-19-v3.profdata
memprof-index indexed - small.rfc
memprof-yaml indexed - $data/memprof-22-listing.yaml
memprof-report heaps - $data/memprof-22-report.txt"
# Formats that are recognised only to give advice, and those that only identify the file.
no_input="memprof-text"

# A command, the kinds of files that it applies to, and its words: F is the file, I the object.
commands='tree heaps,objects,raw,indexed tree F
tree heaps,objects,raw,indexed tree --by type --min-bytes 1 F
tree heaps,objects,raw,indexed tree --invert --every-route --all F
top heaps,objects,raw,indexed top --self F
diff heaps,objects,raw,indexed diff F F
info heaps,objects,raw,indexed info --all F
merge heaps,objects,raw,indexed merge -o out F F
convert heaps,objects,raw,indexed convert --to chrome -o out F
convert heaps,objects,raw,indexed convert --to folded -o out F
convert objects convert --to dart -o out F
convert heaps,objects,raw,indexed convert --to rows -o out F
rows heaps,objects,raw,indexed rows -o out F
classes objects classes F
retained objects retained F
path objects path --id I F
object objects object F I
objects - objects --class Root F
strings - strings --all F
threads - threads --all F
memprof raw,indexed memprof F
memprof indexed memprof --hints F
index indexed index -o out F
suspects heaps,objects,raw,indexed suspects F
check heaps,objects,raw,indexed check F F
report heaps,objects,raw,indexed report -o out F
validate - validate F
pages none pages F
watch none watch --json --count 1 F'

# Expected status: 0 where the command applies, else 1 or 2 with a line. Kind `-` accepts either.
wrong() {                        # wrong STATUS APPLIES: the reason if that is a fault
  local lines
  lines=$(grep -c . err || true)
  if (($1 > 2)); then echo "status $1"
  elif [ $2 = yes ] && (($1)); then echo "status $1: $(head -n 1 err)"
  elif [ $2 = no ] && ((!$1)); then echo "it applies"
  elif (($1)) && ((lines == 0)) && [ ! -s out.text ]; then echo "status $1, and not a word"
  elif grep -q -e '^==[0-9]' -e 'runtime error' err; then echo "$(grep -m 1 -e '^==' -e 'runtime error' err)"; fi
}
while read -r format kind id file; do
  bad=
  while read -r name kinds words; do
    words=${words//F/$file}
    read -ra words <<< "${words//I/${id/-/1}}"
    applies=no
    case ,$kinds, in *,$kind,*) applies=yes ;; *,-,*) applies=any ;; esac
    ways=('')
    if "$tool" help "$name" | grep -q -e '^  --json '; then ways+=(--json); fi
    for way in "${ways[@]}"; do
      rm -f out
      s=0
      "$tool" "${words[0]}" $way "${words[@]:1}" > out.text 2> err < /dev/null || s=$?
      why=$(wrong $s $applies)
      if [ -z "$why" ] && [ "$way" ] && ((s == 0)); then
        begins=$(jq -r 'keys_unsorted[:3] | join(",")' out.text 2> err) || begins="what is no JSON: $(head -n 1 err)"
        [ "$begins" = heapdump,command,files ] || why="begins with $begins"
        [ "$why" ] || [ "$(jq -r '"\(.command) \(.files[0].file)"' out.text)" = "$name $file" ] || why="begins with others"
      fi
      if [ -z "$why" ] && [ $name = report ] && ((s == 0)); then
        why=$(sed -n '/<script type="application\/json"/,$p' out | sed '1s/.*<script[^>]*>//; $s/<\/script>$//' |
          jq -r 'if .graph.id or any(.heaps[]?; .tables[0].bytes[0]) then empty else "a page of nothing" end' 2>&1)
      fi
      [ -z "$why" ] || bad+="${words[0]} $way ${words[*]:1}: $why"$'\n'
    done
  done <<< "$commands"
  check "all commands on $format, ${file##*/}" "" "$bad"
done <<< "$inputs"

check "every format is tried" "$({ "$tool" info --format help | cut -d' ' -f1; } | sort | xargs)" \
  "$({ echo "$no_input" | tr ' ' '\n'; cut -d' ' -f1 <<< "$inputs"; } | sort -u | xargs)"
check "every command is tried" "$("$tool" help all | sed -n 's/^  \([a-z]\+\)  .*/\1/p' | grep -v -e '^heapdump$' -e '^capture$' -e '^record$' -e '^snapshot$' -e '^stop$' -e '^recover$' | sort | xargs)" \
  "$(cut -d' ' -f1 <<< "$commands" | sort -u | xargs)"
exit $failed
