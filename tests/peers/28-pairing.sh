#!/usr/bin/env bash
# Two files at a time: which heaps diff, check and merge put together, and which format merge and convert write.
set -eu
cd "$(dirname "$0")/../.."
. tests/peers/common.sh
must jq
work=build/peers/pairing
rm -rf $work && mkdir -p $work
cp tests/data/{doc-all.json,eq1.heap,eq2.heap,app-1.pb,app-3.pb,small.heaptrack} $work
cd $work
format() { "$tool" info --json "$1" | jq -r '.files[0].format'; }
bytes() { "$tool" info --json "$1" | jq -r --arg kind "$2" '[.files[0].heaps[] | select(.kind == $kind) | .bytes] | join(" ")'; }

# The only heaps of two files are a pair, whatever their processes are called, and a line says so.
check "a diff of two builds" "100 150" "$("$tool" diff --json app-1.pb app-3.pb 2> err | jq -r '[.diffs[].rows[0] | "\(.before) \(.after)"] | join(",")')"
check "one line says so" 1 "$(grep -c 'app (app-1.pb) is compared with app13 (app-3.pb)' err)"
check "names only" "100 0,0 150" "$("$tool" diff --match process --json app-1.pb app-3.pb 2> err | jq -r '[.diffs[].rows[0] | "\(.before) \(.after)"] | sort_by(-(split(" ")[0] | tonumber)) | join(",")')"
check "nothing is said" 0 "$(wc -l < err)"
check "a check of two builds" 1 "$(status "$tool" check --max-growth 40 app-1.pb app-3.pb)"
check "within its limit" 0 "$(status "$tool" check --max-growth 60 app-1.pb app-3.pb)"
check "another value" 2 "$(status "$tool" diff --match pid app-1.pb app-3.pb)"

# merge: --to, else the name of -o, else the format of all files, else a trace.
for name in x.pb:pprof x.pb.gz:pprof x.json:chrome x.folded:folded x.csv:rows x.csv.zst:rows x.other:pprof; do
  "$tool" merge -o ${name%:*} app-1.pb app-3.pb 2> /dev/null
  check "merge -o ${name%:*}" ${name#*:} "$(format ${name%:*})"
  check "bytes of ${name%:*}" 250 "$(bytes ${name%:*} live)"
done
"$tool" merge app-1.pb app-3.pb > piped 2> /dev/null
check "merge into a pipe" pprof "$(format piped)"
"$tool" merge -o mixed app-1.pb eq1.heap 2> /dev/null
check "files of two formats" chrome "$(format mixed)"
"$tool" merge --to folded -o to.pb app-1.pb 2> /dev/null
check "--to is asked first" folded "$(format to.pb)"
check "binary on a terminal" 2 "$(status script -qec "'$tool' merge -o - app-1.pb app-3.pb" /dev/null)"

# A file that tells no total has what is live as its total, in any order.
for files in "eq1.heap eq2.heap" "eq2.heap eq1.heap"; do
  "$tool" merge --to pprof -o sum.pb $files 2> /dev/null
  check "total of $files" "400 200" "$(bytes sum.pb total) $(bytes sum.pb live)"
done

# A format of one kind gets the live heap, and a line names the rest.
"$tool" convert --to folded -o live.folded small.heaptrack 2> err
check "the live heap" "$(bytes small.heaptrack live)" "$(bytes live.folded live)"
check "the others are named" 1 "$(grep -c 'heaps of other kinds (3' err)"
"$tool" convert --to folded --kind peak -o peak.folded small.heaptrack 2> /dev/null
check "another kind" "$(bytes small.heaptrack peak)" "$(bytes peak.folded live)"

# A budget that all entries fit in lists them.
"$tool" convert --to chrome --output-bytes 100000 -o all.json doc-all.json
check "the document's table" 59 "$("$tool" info --json all.json | jq '.files[0].heaps[0].entries')"
exit $failed
