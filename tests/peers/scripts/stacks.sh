#!/usr/bin/env bash
# Recorded stacks equal gdb's, frame by frame: at over a hundred random allocations of sqlite3 and python3, and at
# every allocation of stacks.cc. That program has the cases that are hard for an unwinder.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must gdb python3 sqlite3 g++ libc6-dev
here=$PWD/tests/peers work=$PWD/build/peers/stacks
export STACKS_LIBRARY=$PWD/build/libheapdump_record.so STACKS_REPORT=$work/report HEAPDUMP_KEEP=$work/region
unset HEAPDUMP_DEPTH HEAPDUMP_SAMPLE HEAPDUMP_JOIN
rm -rf "$work" && mkdir -p "$work" && cd "$work"

debug() { gdb -nx -q -batch -iex 'set auto-load off' -iex 'set debuginfod enabled off' "$@" < /dev/null; }
debug -ex 'set startup-with-shell off' -ex run -ex 'p $_exitcode' --args /bin/true > ptrace.log 2>&1 || true
grep -q '^$1 = 0$' ptrace.log ||
  skip "gdb may not trace programs here: $(grep -m 1 -i ptrace ptrace.log || tail -1 ptrace.log)"

# alike NAME EVERY COMMAND...: compares about one in EVERY allocations; arguments must not contain spaces
alike() {
  local name=$1 every=$2; shift 2
  rm -f region
  echo "gdb did not get to the end: $work/$name.log" > report
  if STACKS_EVERY=$every debug -x "$here/lib/stacks.py" --args "$@" > "$name.log" 2>&1
  then pass "$name: $(cat report)"
  else fail "$name:"; cat report; fi
}

cat > work.sql <<'END'
create table t(id integer primary key, word text unique, half real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
  insert into t select i, hex(i * 7919 % 10007), i / 2.0 from n;
create index by_half on t(half);
select count(*), sum(length(word)), group_concat(word) from t where half > 1000 group by id % 7;
select json_group_array(json_object('id', id, 'word', word)) from t where id < 200;
select id, row_number() over (partition by id % 5 order by word) from t where id < 300;
create view v as select a.word, b.half from t a join t b on a.id = b.id + 1;
select count(*) from v where word like '%3%' or half in (select half from t where id % 3 = 0);
create trigger r after update on t
  begin insert or ignore into t values (new.id + 5000, new.word || 'x', 1); end;
update t set half = half + 1 where id % 10 = 0;
vacuum;
END
alike sqlite3 50 /usr/bin/sqlite3 -init work.sql :memory: .exit

cat > work.py <<'END'
import ctypes, json, re, sqlite3, threading
text = json.dumps([{"number": i, "list": list(range(i % 50)), "text": "word" * (i % 300)} for i in range(60)])
def work():
    json.loads(text)
    re.findall("(w(o)r)+d", text)
    sorted(re.split("[,:]", text), key=lambda s: s * 40)
    db = sqlite3.connect(":memory:")
    db.create_function("twice", 1, lambda s: s * 2)
    db.execute("create table t(a, b)")
    db.executemany("insert into t values (?, twice(?))", ((i, "x" * i) for i in range(40)))
    db.execute("select b, count(*) from t group by b order by b").fetchall()
def by_value(a, b):
    bytes(600 + a[0])
    return a[0] - b[0]
compare = ctypes.CFUNCTYPE(ctypes.c_int, *2 * [ctypes.POINTER(ctypes.c_int)])(by_value)
ctypes.CDLL(None).qsort((ctypes.c_int * 30)(*range(30, 0, -1)), 30, 4, compare)
threads = [threading.Thread(target=work) for _ in range(2)]
work(), [t.start() for t in threads], [t.join() for t in threads]
END
alike python3 80 /usr/bin/python3 work.py

if [ "$(uname -m)" = x86_64 ]; then
  optimised="g++ -g -O2 -fomit-frame-pointer"
  $optimised "$here/programs/stacks.cc" -o stacks -ldl -lpthread
  cat > frame.cc <<END
extern "C" void call(void (*f)()) { char room[ROOM]; asm volatile("" : : "r"(room)); f(); asm(""); }
END
  for room in 200 600; do          # the same code length with two frame sizes
    $optimised -DROOM=$room -fPIC -shared frame.cc -o frame$room.so
  done
  alike hard 1 ./stacks
  HEAPDUMP_DEPTH=5 alike hard-5-deep 8 ./stacks
  HEAPDUMP_DEPTH=128 alike hard-128-deep 8 ./stacks
  alike reloaded 1 ./stacks ./frame200.so ./frame600.so ./frame200.so
fi
exit $failed
