#!/usr/bin/env bash
# Real servers and trees of processes: workers of another user, daemons, a changed root or namespace, hundreds of
# helpers. One file has all processes. Their figures equal a tally, which is preloaded next to heapdump and
# independent of it (tally.c). Servers are also observed while they serve.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gcc libc6-dev python3 jq dash util-linux curl
sources=$PWD/tests/peers work=$PWD/build/peers/servers
rm -rf "$work" && mkdir -p "$work" && cd "$work"
gcc -w -O1 -fPIC -shared "$sources/programs/tally.c" -o tally.so -ldl -lpthread
gcc -w -g -O1 -fno-builtin "$sources/programs/hard_server.c" -o server -lpthread
gcc -w -O1 -static "$sources/programs/hard_server.c" -o static -lpthread
said() { grep -c -- "$1" err || true; }
# tallied NAME COMMAND...: records it into NAME.json together with a tally; prints its status
tallied() {
  local name=$1 s=0
  shift
  head -c $((4096 * 64)) /dev/zero > "$name.tally"
  chmod 666 "$name.tally"
  timeout -s KILL 300 env TALLY="$work/$name.tally" LD_PRELOAD="$work/tally.so" "$tool" record --bytes -o "$name.json" "$@" > out 2> err || s=$?
  echo $s
}
# agrees NAME: number of processes in a recording, and those that differ from the tally
agrees() { /usr/bin/python3 "$sources/lib/tally.py" "$tool" "$1.tally" "$1.json"; }
# kept NAME PROGRAM: live bytes that the program's own code allocated in each process, sorted
kept() { "$tool" tree --strict --frames all --by type --min-share 0 --kind live --json "$1.json" |
         jq -r --arg p "$2" '[.heaps[].rows[] | select(.depth == 1 and .axis == "type" and .name == $p) | .bytes] | sort | map(tostring) | join(" ")'; }
until_socket() { until [ -S "$1" ]; do sleep 0.05; done; }

# nginx with workers of another user.
if [ "$(id -u)" = 0 ] && need nginx-light && id www-data > /dev/null; then
  mkdir nginx && chmod 755 .
  cat > nginx/conf <<C
user www-data;
worker_processes 3;
daemon off;
pid $work/nginx/pid;
error_log $work/nginx/error.log;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path $work/nginx/body; proxy_temp_path $work/nginx/proxy; fastcgi_temp_path $work/nginx/fastcgi;
  uwsgi_temp_path $work/nginx/uwsgi; scgi_temp_path $work/nginx/scgi;
  server { listen unix:$work/nginx/socket; location / { return 200 "hello"; } }
}
C
  tallied nginx -- /usr/sbin/nginx -c "$work/nginx/conf" > status &
  until_socket nginx/socket
  served=$(for i in $(seq 30); do curl -s --unix-socket nginx/socket http://nginx/; [ $i != 15 ] || "$tool" snapshot -o nginx.now.json nginx.json 2> /dev/null; done | grep -o hello | wc -l)
  kill -QUIT $(cat nginx/pid)
  wait $!
  check "nginx, workers of another user: all requests are answered, and the status is 0" "30 0" "$served $(cat status)"
  check "... a snapshot has the master and three workers" "4" "$("$tool" info --strict --json nginx.now.json | jq '[.files[0].heaps[].pid] | unique | length')"
  check "... at the end all processes equal the tally" 4 "$(agrees nginx)"
else
  echo "SKIP: nginx: needs root, and Debian's nginx-light"
fi

# redis under load.
if need redis-server redis-tools; then
  tallied redis -- /usr/bin/redis-server --port 0 --unixsocket "$work/redis" --dir "$work" --save '' > status &
  cli() { redis-cli -s "$work/redis" "$@"; }
  until [ "$(cli ping 2> /dev/null)" = PONG ]; do sleep 0.05; done
  redis-benchmark -s "$work/redis" -q -n 20000 -r 20000 -c 8 -t set,lpush,sadd > bench 2>&1 &
  load=$! looked=0
  while kill -0 $load 2> /dev/null; do
    [ $looked -ge 40 ] || "$tool" snapshot redis.json 2> /dev/null
    [ "$(cli ping)" = PONG ] || echo no >> silent
    looked=$((looked + 1))
  done
  wait $load
  "$tool" snapshot -o redis.now.json redis.json 2> /dev/null
  used=$(cli info memory | tr -d '\r' | awk -F: '$1 == "used_memory" { print $2 }')
  cli shutdown nosave
  wait %1
  check "redis under load, with snapshots meanwhile: it always answers, and the status is 0" "yes 0" "$([ -e silent ] || echo yes) $(cat status)"
  now=$(live redis.now.json | cut -d' ' -f1)
  # redis counts size classes of its allocator; the recording has requested sizes.
  if [ $now -le $used ] && [ $((now * 3 / 2)) -ge $used ]; then pass "... $now bytes live, used_memory $used"
  else fail "... $now bytes live, used_memory $used"; fi
  check "... at the end it equals the tally" 1 "$(agrees redis)"
  check "... the file's peak heap has the peak of the message" yes "$("$tool" info --json redis.json | jq -r --argjson told "$(sed -n 's/^heapdump: redis-server ([0-9]*): peak \([0-9]*\)[ ,].*/\1/p' err)" \
    '[.files[0].heaps[] | select(.kind == "peak") | .bytes][0] - $told | if . > -131072 and . < 131072 then "yes" else . end')"
else
  echo "SKIP: redis: Debian's redis-server cannot be installed"
fi

# postgres, under its own user.
bin=$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | sort -V | tail -n 1)
if [ "$(id -u)" = 0 ] && need postgresql && bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1) && id postgres > /dev/null; then
  mkdir postgres && chown postgres postgres
  as() { setpriv --reuid postgres --regid postgres --clear-groups env -C "$work/postgres" HOME="$work/postgres" "$@"; }
  as "$bin/initdb" -D "$work/postgres/data" -A trust -N > init.out 2>&1
  head -c $((4096 * 64)) /dev/zero > postgres/postgres.tally && chmod 666 postgres/postgres.tally
  as TALLY="$work/postgres/postgres.tally" LD_PRELOAD="$work/tally.so" "$tool" record -o postgres.json -- "$bin/postgres" \
    -D "$work/postgres/data" -c listen_addresses= -c unix_socket_directories="$work/postgres" -c fsync=off > out 2> err &
  recording=$!
  until "$bin/pg_isready" -q -h "$work/postgres" -U postgres; do sleep 0.05; done
  "$bin/createdb" -h "$work/postgres" -U postgres test
  rows=$("$bin/psql" -h "$work/postgres" -U postgres -qAt test -c "create table t (a int, b text)" \
    -c "insert into t select i, repeat('x', 200) from generate_series(1, 20000) i" -c "select sum(length(b)) from t" \
    -c "\\! '$tool' snapshot -o $work/postgres/now.json $work/postgres/postgres.json 2> /dev/null" \
    -c "select sum(total_bytes) from pg_backend_memory_contexts")
  kill -TERM $(head -n 1 postgres/data/postmaster.pid)
  s=0; wait $recording || s=$?
  check "postgres: it answers, and the status is 0" "4000000 0" "$(echo "$rows" | head -n 1) $s"
  check "... a snapshot has a backend and the background processes" yes \
    "$("$tool" info --strict --json postgres/now.json | jq -r '[.files[0].heaps[].pid] | unique | length | if . >= 6 then "yes" else . end')"
  # postgres allocates its memory contexts with malloc, and little else: the backend's heap has about the size that
  # postgres reports.
  own=$(echo "$rows" | tail -n 1)
  most=$("$tool" info --json postgres/now.json | jq '[.files[0].heaps[].bytes] | max')
  if [ $most -ge $((own * 8 / 10)) ] && [ $most -le $((own * 13 / 10)) ]; then pass "... a backend of $most bytes reports $own"
  else fail "... a backend of $most bytes reports $own"; fi
  cp postgres/postgres.tally postgres/postgres.json .
  check "... at the end each process equals the tally" "" "$(agrees postgres | sed '$d')"
else
  echo "SKIP: postgres: needs root, and Debian's postgresql"
fi

# python's multiprocessing.
cat > pool.py <<'P'
import multiprocessing, sys
def work(n): return len([bytes(100) for _ in range(n)])
if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    pool = multiprocessing.Pool(3)
    print(sum(pool.map(work, [1000, 2000, 3000])))
    pool.close(), pool.join()
    p = multiprocessing.Process(target=work, args=(50000,))
    p.start(), p.join()
    sys.exit(p.exitcode)
P
check "python multiprocessing, fork: five processes equal the tally" "0 6000 5" "$(tallied fork -- /usr/bin/python3 pool.py fork) $(cat out) $(agrees fork)"
check "... a message says that inherited blocks belong to the parent" yes "$(grep -q "inherited from its parent" err && echo yes)"
check "python multiprocessing, spawn: six processes with the resource tracker" "0 6000 6" "$(tallied spawn -- /usr/bin/python3 pool.py spawn) $(cat out) $(agrees spawn)"

# node.
if command -v node > /dev/null || need nodejs; then
  check "node with its threads equals the tally" "0 20000000 1" "$(tallied node -- node -e '
    let all = []; for (let i = 0; i < 1000; i++) all.push(Buffer.alloc(20000, i));
    console.log(all.reduce((n, b) => n + b.length, 0))') $(cat out) $(agrees node)"
else
  echo "SKIP: node: Debian's nodejs cannot be installed"
fi

# A shell script with 130 helpers.
check "130 helpers of a shell script: one file, all equal the tally" "4 130" "$(tallied script -- dash -c 'for i in $(seq 130); do ls / > /dev/null; done; exit 4') $("$tool" info --strict --json script.json | jq '[.files[0].heaps[] | select(.process == "ls") | .pid] | unique | length')$(agrees script | sed '$d')"
check "... one line of the summary has the smaller processes" "1 yes" "$(said 'and [0-9]* more processes, their peaks') $([ $(wc -l < err) -le 12 ] && echo yes)"

# Daemons, namespaces and seccomp.
for what in daemon unshare seccomp; do
  check "$what: the status" 3 "$(tallied $what -- ./server $what)"
  check "... its live bytes before and after" "$([ $what = daemon ] && echo 222222 1000 || echo 223222)" "$(kept $what server | tr ' ' '\n' | sort -nr | xargs)"
  check "... it equals the tally" "$([ $what = daemon ] && echo 2 || echo 1)" "$(agrees $what)"
done
if [ "$(id -u)" = 0 ]; then
  mkdir root
  for what in chroot setuid both; do
    check "$what: the status" 3 "$(tallied $what -- ./server $what root)"
    check "... live bytes of the program and its child" "70000 223222" "$(kept $what server)"
    check "... they equal the tally" 2 "$(agrees $what)"
  done
else
  echo "SKIP: chroot, setuid: need root"
fi

# A worker of another user writes random bytes into the region.
if [ "$(id -u)" = 0 ]; then
  for i in 1 2 3 4; do
    check "a worker overwrites the region: the status is the master's" 3 "$(status timeout -s KILL 120 "$tool" record --at peak,exit,every=0.05 -o vandal.json -- ./server vandal $((i % 2)))"
    check "... the master's own data is unharmed" "done" "$(cat out)"
    check "... the file is readable, or a message says why it is missing" yes \
      "$(if [ -e vandal.json ]; then "$tool" info vandal.json > out && echo yes; else grep -q 'nothing\|no file is written' err && echo yes; fi)"
    rm -f vandal.json
  done
else
  echo "SKIP: a worker of another user: needs root"
fi

# Programs that cannot be recorded are named.
mkfifo go
exec 6<> go
"$tool" record -o unseen.json -- dash -c './static wait < go; env -i ./server wait < go; exit 5' > ready 2> err &
recording=$!
for i in 1 2; do
  until [ "$(wc -l < ready)" = $i ]; do sleep 0.05; done
  until [ -e unseen.json ]; do sleep 0.05; done
  "$tool" snapshot unseen.json 2> /dev/null
  echo > go
done
s=0; wait $recording || s=$?
check "a static program is counted and named; the program of env -i is recorded" "5 1" "$s $(said '1 process was not recorded: static ([0-9]*): linked statically$')"
exit $failed
