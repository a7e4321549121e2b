#!/usr/bin/env bash
# The page of `heapdump report` in Debian's chromium, opened from a file. Its figures are compared with top, classes
# and path. Also: search, zoom, bottom-up, keyboard use of axes, names that resemble markup, both themes, and the time
# to filter 100,000 nodes. PICTURE=$PWD/examples/heapdump/report/report.png writes the picture that is kept there.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
root=$PWD
work=$root/build/peers/report
rm -rf "$work" && mkdir -p "$work" && cd "$work"
must python3 gcc binutils libc6-dev

# Without the library the tool contains an empty page.
mkdir -p bare/tool && : > bare/report.html
(cd bare && ld -r -b binary -z noexecstack -o tool/report_page.o report.html)
gcc $(find "$root/build/tool" -name '*.o' ! -name report_page.o) bare/tool/report_page.o -o bare/heapdump \
  -ldw -lelf -lz -lzstd -llzma -lyaml -lwebsockets -lncursesw -ltinfo -liberty -lstdc++ -ldl -lm -lpthread
cp "$root/tests/data/memprof-19.raw" .
check "without the library: one message names the packages to install, and no page is written" \
  "1 1 node-d3-hierarchy node-d3-selection no" \
  "$(status bare/heapdump report -o none.html memprof-19.raw) $(wc -l < err) $(grep -o 'node-d3-[a-z]*' err | paste -sd ' ') $([ -e none.html ] && echo yes || echo no)"
[ -s "$root/build/report.html" ] || skip "the tool was built without D3: Debian's node-d3-hierarchy and node-d3-selection"

python3 "$root/tests/peers/lib/report.py" inputs "$until_dumps"
REPORT_DUMPS=1 "$tool" record --at peak,exit,every=0.2 -o many.json -- /usr/bin/python3 many.py 2> err
for i in 1 2; do "$tool" record --sample 20k -o sampled$i.json -- /usr/bin/python3 many.py 2> err; done
for name in many large evil; do "$tool" report -o $name.html $name.json; done
for name in deep wide; do "$tool" report -o $name.html $name.folded; done
"$tool" report -o raw.html memprof-19.raw
"$tool" report -o both.html evil.json evil2.json
"$tool" report -o sampled.html sampled1.json sampled2.json
"$tool" report --entries 200 -o cut.html large.json
for name in graph alike unlike; do "$tool" report -o $name.html $name.heapsnapshot; done
"$tool" report -o graphs.html graph.heapsnapshot graph2.heapsnapshot
"$tool" report -o node.html "$root/tests/data/node-small.heapsnapshot"
cp "$root/tests/data/node-small.heapsnapshot" node.heapsnapshot
check "a page to a file or to standard output: the same bytes" 0 "$("$tool" report evil.json > stdout.html; status cmp stdout.html evil.html)"
check "two runs write the same bytes" 0 "$("$tool" report -o again.html large.json; status cmp again.html large.html)"
check "a page above the limit on file sizes: no partial file, and the reason" \
  "1 heapdump: cannot write half.html: File too large no" \
  "$(ulimit -f 16; status "$tool" report -o half.html large.json) $(cat err) $([ -e half.html ] && echo yes || echo no)"
check "a full device: the reason" "1 heapdump: standard output: No space left on device" \
  "$("$tool" report large.json > /dev/full 2> err; echo $?) $(cat err)"
check "no page to a terminal" "heapdump: report writes a page for a browser: use -o report.html; see heapdump help report" \
  "$(script -qec "'$tool' report evil.json" /dev/null < /dev/null | tr -d '\r')"
check "heaps and objects have different pages" \
  "1 heapdump: one file is a profile, the other a snapshot of objects: make a page of each" \
  "$(status "$tool" report evil.json graph.heapsnapshot) $(cat err)"

# The program in the picture: a server whose cache forgets too little.
if [ -n "${PICTURE:-}" ]; then
  command -v node > /dev/null || must nodejs
  cat > server.js <<'END'
const zlib = require("zlib"), crypto = require("crypto"), kept = [], cache = new Map();
let n = 0;
setInterval(() => {
  for (let i = 0; i < 40; i++) kept.push(Buffer.alloc(3000 + 50 * i, i));
  for (let i = 0; i < 15; i++) cache.set(n * 100 + i, zlib.deflateSync(crypto.randomBytes(9000)));
  if (n % 9 === 8) kept.splice(0, kept.length * 0.6);
  if (++n === 40) process.kill(process.pid, "SIGKILL");
}, 50);
END
  { "$tool" record --at peak,exit,every=0.15 -o server.json -- node server.js || :; } 2> err
  "$tool" report -o picture.html server.json
fi

need chromium || skip "chromium cannot be installed here"
python3 "$root/tests/peers/lib/report.py" browse "$tool" ${PICTURE:+"$PICTURE"} || failed=1
exit $failed
