#!/usr/bin/env bash
# Functions with the same name stay separate in a recording if their source files, objects or enclosing functions
# differ. Frames keep the whole path and the object file. A program's own function is never hidden, whatever its name.
set -eu
cd "$(dirname "$0")/../../.."
. tests/peers/lib/common.sh
must g++ libc6-dev python3
work=$PWD/build/peers/identity
rm -rf "$work" && mkdir -p "$work/one" "$work/two" && cd "$work"

# The functions that allocate in the last live heap of a trace: bytes, name, object.
cat > sites.py <<'END2'
import json, sys
t = json.load(open(sys.argv[1]))
frames, heap = {}, []
for e in t["traceEvents"]:
    frames.update(e.get("args", {}).get("stackFrames", {}))
    heap = e.get("args", {}).get("dumps", {}).get("heaps", {}).get("malloc", {}).get("entries", heap)
size = {}
for e in heap:
    if e.get("bt"): size[e["bt"]] = max(size.get(e["bt"], 0), int(e["size"], 16))
for bt in sorted(size, key=lambda b: -size[b]):
    f = frames[bt]
    print(size[bt], f["name"].replace(sys.argv[2] + "/", ""), f.get("category", "-"))
END2

cat > one/util.c <<'END2'
#include <stdlib.h>
static void *grow(size_t n) { return malloc(n); }
void *NAME(void) { return grow(SIZE); }
END2
cp one/util.c two/util.c
cat > same.c <<'END2'
void *one(void), *two(void), *three(void);
int main(void) { for (int i = 0; i < 10; i++) one(), two(), three(); return 0; }
END2
cc -g -O0 -DNAME=one -DSIZE=1000 -c one/util.c -o one.o
cc -g -O0 -DNAME=two -DSIZE=3000 -c two/util.c -o two.o
cc -g -O0 -DNAME=three -DSIZE=5000 -shared -fPIC one/util.c -o libthree.so
cc -g -O0 same.c one.o two.o -L. -lthree -Wl,-rpath,"$PWD" -o same
"$tool" record -o same.json -- ./same 2> record.err
check "one name in two files and two objects is three functions" \
"50000 grow (one/util.c:2) libthree.so
30000 grow (two/util.c:2) same
10000 grow (one/util.c:2) same" "$(python3 sites.py same.json "$PWD" | grep '^[0-9]* grow')"
check "converted files keep the path and the object" 3 \
  "$("$tool" convert --to folded --kind live same.json 2> convert.err | grep -o 'grow ([^;]*/*util.c:2) \[[a-z.]*\]' | sort -u | wc -l)"

cat > lambdas.cc <<'END2'
#include <algorithm>
#include <cstdlib>
#include <vector>
void *volatile sink;
namespace { namespace inner { __attribute__((noinline)) static void keep(int n) { sink = malloc(n); } } }
__attribute__((noinline)) static void keep(int n) { sink = malloc(n * 2); }
__attribute__((noinline)) void textures(std::vector<int> &v) { std::for_each(v.begin(), v.end(), [](int n) { sink = malloc(n * 10); sink = malloc(n); }); }
__attribute__((noinline)) void sounds(std::vector<int> &v) { std::for_each(v.begin(), v.end(), [](int n) { sink = malloc(n); sink = malloc(n); }); }
int main() { std::vector<int> v(100, 1000); textures(v); sounds(v); inner::keep(70000); sink = nullptr; keep(25000); sink = nullptr; return 0; }
END2
for o in 0 2; do
  g++ -g -O$o lambdas.cc -o lambdas$o
  "$tool" record -o lambdas$o.json -- ./lambdas$o 2> record.err
  python3 sites.py lambdas$o.json "$PWD" > sites
  check "-O$o: lambdas of two functions are two" "1100000 textures 200000 sounds" \
    "$(grep -F 'operator()' sites | sed 's/^\([0-9]*\) \([a-z]*\)(std::vector.*::operator().*/\1 \2/' | tr '\n' ' ' | sed 's/ $//')"
  check "-O$o: static functions have their namespace" "70000 (anonymous namespace)::inner::keep 50000 keep" \
    "$(grep -F 'keep' sites | sed 's/(int).*//; s/ (lambdas.*//' | tr '\n' ' ' | sed 's/ $//')"
done

# Hidden frames -------------------------------------------------------------------------------

# Names that resemble those of an allocator, a runtime or a library; and a stack only of the library (of a
# constructor's thread).
cat > own.cc <<'END2'
#include <cstdlib>
#include <pthread.h>
void *volatile sink;
namespace core { struct Engine { void load_textures(); }; void Engine::load_textures() { for (int i = 0; i < 10; i++) sink = malloc(40000); } }
namespace alloc { namespace alloc { void grow() { sink = malloc(30000); } } }
static void *clone(int n) { return malloc(n); }
extern "C" {
static void *mi_load_textures() { return malloc(20002); }
static void *new_arena() { return malloc(20003); }
static void *xmalloc(size_t n) { return malloc(n); }
static void *je_suis() { return malloc(20005); }
static void *g_malloc_all() { return malloc(20006); }
}
static void *run(void *) { core::Engine().load_textures(); alloc::alloc::grow(); return nullptr; }
int main() {
  pthread_t t;
  pthread_create(&t, nullptr, run, nullptr);
  pthread_join(t, nullptr);
  clone(20001), mi_load_textures(), new_arena(), xmalloc(20004), je_suis(), g_malloc_all();
  sink = new char[20007];
  return 0;
}
END2
g++ -g -O0 -pthread own.cc -o own
"$tool" record -o own.json -- ./own 2> record.err
"$tool" top --self --bytes --all own.json > top.out 2>&1
for f in 'core::Engine::load_textures:400,000' 'alloc::alloc::grow:30,000' 'clone:20,001' 'mi_load_textures:20,002' \
         'new_arena:20,003' 'xmalloc:20,004' 'je_suis:20,005' 'g_malloc_all:20,006' 'main:20,007'; do
  bytes=${f##*:} name=${f%:*}
  if grep -E "(^| )${bytes//,/,?} .*[^:a-z]$name[ (]" top.out > /dev/null; then pass "$name is shown with its bytes"
  else fail "$name is shown with $bytes bytes"; cat top.out; fi
done
check "the library's frames are hidden" "" "$(grep -E ' (_start|start_thread|clone3|operator new|__libc_start)' top.out || true)"
check "suspects: a namespace core is the program's" 'core::Engine::load_textures()' \
  "$("$tool" suspects own.json 2>&1 | grep -m 1 -o 'core::Engine::load_textures()' || true)"
total() { "$tool" tree --json --min-share 0 "$@" own.json 2> /dev/null | python3 -c '
import json, sys
rows = json.load(sys.stdin)["heaps"][0]["rows"]
print([(r["bytes"], r["blocks"]) for r in rows if r["depth"] == 0], sum(r["bytes"] for r in rows if r["depth"] == 1))'; }
check "hidden frames do not change the total" "$(total --frames all)" "$(total)"

# tree --frames hidden, recomputed from folded stacks.
"$tool" convert --to folded --kind live -o own.folded own.json 2> convert.err
"$tool" tree --frames hidden --json own.json > hidden.json
check "tree --frames hidden: the bytes of all stacks with a hidden frame" ok "$(python3 -c '
import json, re
stacks = [(l.rsplit(" ", 1)[0].split(";"), int(l.rsplit(" ", 1)[1])) for l in open("own.folded")]
rows = json.load(open("hidden.json"))["heaps"][0]["rows"]
assert {("_start", "own"), ("start_thread", "libc.so.6")} <= {(r["pattern"], r["object"]) for r in rows}, rows
for r in rows:
    if "*" in r["pattern"]: continue
    frame = re.compile(re.escape(r["pattern"]) + r"(\(.*\))?( \(.*:[0-9]+\))? \[" + re.escape(r["object"]) + r"\]$")
    want = sum(b for s, b in stacks if any(frame.match(f) for f in s))
    assert want == r["bytes"], (r, want)
print("ok")' 2>&1)"
for c in top suspects; do
  check "$c --frames hidden lists the same" "$(python3 -c 'import json; print(len(json.load(open("hidden.json"))["heaps"][0]["rows"]))')" \
    "$("$tool" $c --frames hidden own.json | grep -c '\]$')"
done

# Files without objects and sources: only functions of the malloc family are hidden.
printf 'main;core::Engine::load_textures;malloc 99000\nmain;other;malloc 1000\n' > bare.folded
check "suspects of a file of names only: a namespace core is the program's" core::Engine::load_textures \
  "$("$tool" suspects bare.folded 2>&1 | grep -m 1 -o 'core::Engine::load_textures' || true)"
printf 'main;alloc::alloc::Pool::grow;malloc 99000\nmain;runtime.main;malloc 1000\n' > bare.folded
check "tree of a file of names only: alloc::alloc and runtime are shown" "alloc::alloc::Pool::grow runtime.main" \
  "$("$tool" tree --min-share 0 bare.folded 2>&1 | grep -o 'alloc::alloc::Pool::grow\|runtime\.main' | tr '\n' ' ' | sed 's/ $//')"
mkdir -p mimalloc-demo shelf
printf '#include <stdlib.h>\nvoid *mi_load_textures(void) { return malloc(5000); }\n' > mimalloc-demo/mi.c
printf '#include <stdlib.h>\nvoid *clone(int n) { return malloc((size_t)n); }\n' > shelf/dl-x.c
printf 'void *mi_load_textures(void), *clone(int);\nint main(void) { mi_load_textures(), clone(6000); return 0; }\n' > mi.c
cc -g -O0 -fno-builtin mi.c mimalloc-demo/mi.c shelf/dl-x.c -o mi
"$tool" record -o mi.json -- ./mi 2> record.err
check "directories named almost like an allocator's hide nothing" "clone mi_load_textures" \
  "$("$tool" top --self --all mi.json 2>&1 | grep -o 'mi_load_textures\|clone' | sort -u | tr '\n' ' ' | sed 's/ $//')"

printf '#include <new>\nvoid *volatile sink;\nint main() { for (int i = 0; i < 9; i++) sink = ::operator new(7000); }\n' > new.cc
g++ -O0 -static-libstdc++ -static-libgcc new.cc -o new
"$tool" record -o new.json -- ./new 2> record.err
check "operator new of a program linked statically is hidden" "" "$("$tool" top --self --all new.json 2>&1 | grep 'operator new' || true)"

# The recorder's own frames are never recorded, however it was compiled. Only optimisation turns the ends of its hooks
# into jumps.
cat > hooks.cc <<'END2'
#include <dlfcn.h>
#include <new>
#include <unistd.h>
struct node { char bytes[100]; };
void *volatile sink;
__attribute__((noinline)) static void grow() { for (int i = 0; i < 9; i++) sink = new node, sink = new node[7]; }
__attribute__((noinline)) static void careful() { sink = new (std::nothrow) char[77], sink = ::operator new(100, std::align_val_t(64)); }
int main() { grow(), careful(); if (void *h = dlopen("./closes.so", RTLD_NOW)) dlclose(h); _exit(0); }
END2
printf '#include <stdlib.h>\n__attribute__((destructor)) static void end(void) { void *volatile p = malloc(333); (void)p; }\n' > closes.c
g++ -std=c++17 -g -O0 hooks.cc -o hooks -ldl
cc -g -O0 -shared -fPIC closes.c -o closes.so
for o in 0 1 2; do
  made B="$work/o$o" CFLAGS="-O$o -g" "$work/o$o/libheapdump_record.so"
  HEAPDUMP_RECORDER=$work/o$o/libheapdump_record.so "$tool" record -o hooks.json -- ./hooks 2> record.err
  "$tool" tree --json --all --frames all hooks.json > all.json
  check "-O$o: no frame or type of the recorder" 0 "$(jq '[.heaps[].rows[].name | select(test("libheapdump_record|heapdump_record[.]c"))] | length' all.json)"
  check "-O$o: the types are the program's" "hooks" "$("$tool" tree --json --by type --all hooks.json | jq -r '[.heaps[0].rows[] | select(.axis == "type" and .depth > 0) | .name] | map(select(. == "hooks" or test("record"))) | unique | join(" ")')"
  jq -r '.heaps[0].rows[] | select(.axis == "backtrace") | "\(.depth) \(.name) \(.bytes) \(.blocks)"' all.json > rows.$o
done
check "stacks do not depend on the recorder's optimisation" "same same" "$(cmp rows.0 rows.2 && echo same) $(cmp rows.1 rows.2 && echo same)"

exit $failed
