#!/usr/bin/env bash
# Shows whether a change of the code changes the command's output, and for which runs:
#
#   digests.sh build/heapdump >before    # then the change, then
#   digests.sh build/heapdump >after
#   diff before after
#
# Runs on every file of tests/data and fuzz/seeds: every command with its main options, and every writer. Prints a
# line per run: digests of standard output, standard error and the written file (- without one), the exit status,
# and the command. The command can be repeated at the root of the checkout. The files in bin/ and more/ come from
# `digests.sh --inputs DIR`.
set -u
export LC_ALL=C TZ=UTC
unset DEBUGINFOD_URLS
root=$(cd "$(dirname "$0")/.." && pwd)

# inputs DIR: puts the input files there. bin/ gets programs that name the frames of profiles: they have the build
# ids of these profiles, inlined functions, and line numbers.
inputs() {
  local id n=0
  mkdir -p "$1/tests" "$1/fuzz" "$1/bin" "$1/more"
  cp -r "$root/tests/data" "$1/tests/" && cp -r "$root/fuzz/seeds" "$1/fuzz/" && cd "$1" || exit 2
  gzip -nc fuzz/seeds/fuzz_chrome/new.json >more/new.json.gz
  head -c 700 fuzz/seeds/fuzz_chrome/new.json >more/cut-off.json
  head -c 900 tests/data/memprof-19.raw >more/cut-off.raw
  head -c 5000 tests/data/small.dartheap >more/cut-off.dartheap
  awk 'BEGIN {
    print "static inline __attribute__((always_inline)) void inner(void) { __asm__ volatile(\".fill 500, 1, 0x90\"); }"
    for (i = 0; i < 570; i++) printf "void f%d(void) {\n  __asm__ volatile(\".fill 500, 1, 0x90\");\n  inner();\n}\n", i
  }' >bin/app.c
  ${CC:-cc} -O1 -g -fno-pic -fdebug-prefix-map="$PWD"=/app -c bin/app.c -o bin/app.o || exit 2
  for id in 6c3276547126bb8f90d9db0c116e73f864154251 d903b1f6668e44185f984b39069fbc6bfb97802d \
    8a4d575ddbbf0f0339e6de6b37446480b53a25b2 000102030405060708090a0b0c0d0e0f10111213; do
    n=$((n + 1))
    ${CC:-cc} -nostdlib -static -no-pie -Wl,-e,f0,-Ttext=0x401000,--build-id=0x$id bin/app.o -o bin/$n || exit 2
  done
  rm bin/app.o bin/app.c
}

# The commands. F stands for the file, G for the previous file in its directory. -----------------------------

reads() {                        # reads COMMAND...: as text, as JSON, and with --strict; appends F if it is missing
  local command
  for command in "$@"; do
    [[ $command == *' F'* ]] || command+=' F'
    printf '%s\n' "$command" "${command/ / --json }" "${command/ / --strict }"
  done
}
on_all() {
  printf '%s\n' 'tree F' 'top F' 'diff F' 'merge -o out F' 'info F' 'convert --to chrome -o out F' 'classes F' 'retained F' \
    'path --id 1 F' 'object F 1' 'strings F' 'memprof F' 'index -o out F' 'tree -'
}
on_heaps() {
  reads tree 'tree --by type --min-bytes 1' 'top' 'diff' info 'info --all'
}
on_stacks() {
  printf '%s F\n' 'tree --bytes --every-route --min-bytes 1' 'tree --min-share 0.2' 'tree --min-parent-share 0.3' 'tree --top 2' \
    'tree --entries 5' 'tree --output-bytes 600' 'tree --keep a' 'tree --drop a' 'tree --root a' 'tree --keep type=[aTs]' \
    'tree --invert --min-bytes 1' 'tree --invert --by type --entries 4' 'tree --json --every-route --top 1' 'tree --pid 1' \
    'tree --dump 0x1' 'tree --allocator malloc' 'tree -o out' 'top --self' 'top --by type --top 3' 'top --invert --bytes' \
    'top --json --self --keep a' 'diff --by type --min-bytes 1' 'diff --invert --entries 6' 'diff --json --keep a --top 3' 'diff --bytes G' \
    'diff --json --min-bytes 1 G' 'diff --before 0x1 --after 0x2'
}
on_graphs() {
  reads tree classes retained 'retained --class String' 'path --class Node' info 'info --all' diff strings
  reads 'object F 1' 'object --all F 2'
  printf '%s F\n' 'tree --top 3 --bytes' 'tree --entries 5' 'tree --keep S' 'tree --invert' 'tree --decimal' 'top --self' 'classes --top 2 --bytes' \
    'classes --decimal' 'retained --top 3 --bytes' 'retained --json --class com.X' 'path --id 2' 'path --id 3 --paths 3' 'path --json --class com.X' 'objects --json --class com.X' \
    'path --class _OneByteString' 'objects --class _OneByteString --subclasses --where length>5' 'strings --all' 'strings --garbage --top 3 --bytes' 'strings --json --all --garbage' 'diff G' 'diff --live --all G' \
    'diff --json --all G' 'diff --top 3 G'
}
on_memprof() {
  local by metric version bins='--binary bin/1 --binary bin/2 --binary bin/3 --binary bin/4'
  reads memprof 'memprof --hints' "memprof $bins" "memprof --hints --all $bins" "tree --min-bytes 1 $bins"
  for by in size lifetime heat binary; do echo "tree --by $by --min-bytes 1 F"; done
  for metric in AllocCount TotalLifetime MaxAccessCount average average:TotalLifetime; do
    echo "tree --metric $metric F"
  done
  printf '%s F\n' "top --self $bins" "top --json --by heat --metric MaxLifetime" 'tree --invert --min-bytes 1' 'tree --entries 5' \
    'top --invert --bytes' 'diff --bytes G' "tree --keep-unresolved $bins" "tree --keep-runtime $bins" "memprof --keep-unresolved $bins" "diff $bins G" \
    "memprof --hints --cold-lifetime 0 --cold-density 9 --json $bins" "memprof --hints --hot-density 0.001 --all $bins"
  for version in 0 1 2 3 rfc; do
    echo "index --memprof-version $version $bins -o out F"
  done
  for version in 1 2 3 4 5; do
    printf '%s -o out F\n' "convert --to memprof-raw --memprof-version $version" "merge --to memprof-raw --memprof-version $version G"
  done
  printf '%s -o out F\n' "index --hot-cold-schema $bins" "index --strict --full-schema --keep-runtime $bins" "index $bins --base tests/data/counters-19.profdata" \
    "index $bins --base tests/data/counters-22.profdata" "index --base tests/data/memprof-19-v1.profdata $bins" "convert --to memprof-index $bins" \
    "convert --to memprof-index --memprof-version rfc $bins" "convert --to chrome $bins" "convert --to heaps_v2 --keep f1 $bins" "merge $bins" "merge $bins G"
}
on_writers() {
  local to trace=tests/data/trace-viewer/two-dumps.json
  for to in $("$tool" convert --to help "$input" 2>&1 | sed -n 's/.*: --to takes //; s/;.*//; s/,//gp'); do # the error lists all of them
    printf '%s -o out F\n' "convert --to $to" "convert --strict --to $to"
  done
  for to in '--top 2' '--entries 3' '--output-bytes 400' '--min-share 0.3' '--invert' '--drop a' "--add-to $trace" "--strict --top 1 --add-to $trace"; do
    printf '%s -o out F\n' "convert --to chrome $to"
  done
  printf '%s -o out F\n' 'convert --to heaps_v2 --keep a' "convert --to heaps_v2 --add-to $trace" 'merge --strict' 'merge --all' 'merge --to heaps_v2' 'merge --to memprof-raw' \
    "merge --top 3 --add-to $trace" 'merge --entries 5 G' 'merge --to heaps_v2 G'
  echo "convert --to heaps_v2 --add-to F -o out $trace"
  echo 'convert --to netcf --decimal -o out F'
}
commands() {                     # commands FILE: the commands to run on it; a file of unknown format gets all commands
  on_all
  case $1 in
    *.md | *.expected.json | *.xz | */fuzz_ops/* | */fuzz_lines/*) ;;
    *.json | *.json.gz) on_heaps; on_stacks; on_writers ;;
    *folded* | *pprof*) on_heaps; on_stacks; on_writers ;;
    *dart*) on_graphs; on_writers ;;
    *netcf*) on_graphs; on_writers ;;
    *.heapsnapshot) on_graphs; on_writers ;;
    *memprof* | *.raw | *.profdata) on_heaps; on_memprof; on_writers ;;
    *) on_heaps; on_stacks; on_graphs; on_memprof; on_writers ;;
  esac
}
on_directory() {                 # all files of a directory at once
  printf '%s\n' 'merge -o out F' 'merge --all --to heaps_v2 -o out F' 'merge --to memprof-raw -o out F' 'index -o out F' 'tree F' 'top --json F' 'info F' \
    'info --json --all F' 'classes --json F' 'memprof F'
}

# numbered N COMMAND...: runs the command in this directory; its outputs become N.out, N.err and N.file.
numbered() {
  local n=$1 status=0 line
  shift
  line="heapdump $*"
  [[ $line != *' -' ]] || line+=" <$input"
  "$tool" "$@" >$n.out 2>$n.err <"$input" || status=$?
  [ ! -e out ] || mv out $n.file
  echo "$status $line" >>lines
}
# one NUMBER FILE BEFORE: runs all commands on a file, or on a directory.
one() {
  local number=$1 file=$2 before=$3 n=0 command files words word
  input=$file
  mkdir "$work/run/$number" && cd "$work/run/$number" || exit 2
  ln -s "$work"/in/* .
  ulimit -t 60
  if [ -d "$file" ]; then files=$(find "$file/" -maxdepth 1 -type f ! -name '*.md' | sort | tr -s / | tr '\n' ' '); input=/dev/null; else files=$file; fi
  { if [ -d "$file" ]; then on_directory; else commands "$file"; fi } >commands
  while read -r -a words; do
    command=()
    for word in "${words[@]}"; do
      case $word in
        F) command+=($files) ;;
        G) command+=("$before") ;;
        *) command+=("$word") ;;
      esac
    done
    n=$((n + 1))
    numbered $n "${command[@]}"
  done < <(awk '!seen[$0]++' commands)
  sed -i "s|$work/in/||g" *.err    # messages name binaries by their whole path
  sha256sum *.out *.err *.file 2>/dev/null | awk '
    FNR == NR { digest[$2] = substr($1, 1, 16); next }
    { status = $1; sub(/^[^ ]* /, ""); print digest[FNR ".out"], digest[FNR ".err"], (FNR ".file" in digest ? digest[FNR ".file"] : "-"), status, $0 }' - lines >../$number.digests
  cd .. && rm -rf "$work/run/$number"
}

case ${1-} in
  --inputs) inputs "${2:?--inputs needs a directory}"; exit ;;
  --one) tool=$2 work=$3; shift 3; one "$@"; exit ;;
  -* | '') sed -n '4,6s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
tool=$(realpath -e "$1") || exit 2
work=$(realpath "$(mktemp -d)") || exit 2
trap 'rm -rf "$work"' EXIT
mkdir "$work/run"
(inputs "$work/in") || exit 2
(cd "$work/in" && {
  find tests fuzz more -type f | sort | awk '{ dir = $0; sub(/[^\/]*$/, "", dir); print $0, dir == last ? before : $0; last = dir; before = $0 }'
  find tests/data fuzz/seeds more -type d | sort | awk '{ print $0, "-" }'
}) | awk '{ printf "%05d %s\n", NR, $0 }' >"$work/all"
xargs -P "$(nproc 2>/dev/null || echo 2)" -L 1 "$0" --one "$tool" "$work" <"$work/all" || exit 2
cat "$work"/run/*.digests
