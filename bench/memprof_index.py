#!/usr/bin/env python3
"""heapdump index beside llvm-profdata merge: wall time and peak memory of making a profile for the compiler from what
a large C++ program recorded, and the sizes of what they write.

    make bench-index                                      two minutes, most of it compiling
    make bench-index INDEX_ARGS='--functions 400 --walks 20000'    a smaller program

The program is made up: layers of functions that call each other in many ways and allocate through the standard
library, in call stacks that hardly ever come twice. Times are the fastest of the rounds, which take turns.
"""

import argparse, os, random, shutil, subprocess, sys, time

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--build", default="build", help="where heapdump is")
parser.add_argument("--functions", type=int, default=2000)
parser.add_argument("--walks", type=int, default=60000, help="call stacks")
parser.add_argument("--rounds", type=int, default=5)
options = parser.parse_args()
tool = os.path.abspath(options.build) + "/heapdump"
work = os.path.abspath(options.build) + "/bench-index"
LAYERS, FILES = 20, 20
FLAGS = ("-O1 -gmlt -fdebug-info-for-profiling -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer "
         "-fno-optimize-sibling-calls -fmemory-profile").split()

HEADER = """#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>
template <class T, int n> struct buffer {
    std::vector<T> items;
    void fill(uint64_t walk) { for (int i = 0; i < n; i++) items.push_back(T(walk + static_cast<uint64_t>(i))); }
};
inline std::string text(uint64_t walk) { return "some text that is too long to lie in place " + std::to_string(walk); }
"""

# What a function of the innermost layer does.
LEAVES = [
    "buffer<int, {k}> b; b.fill(walk); return b.items.size();",
    "std::map<uint64_t, std::string> m; m[walk] = text(walk); return m.size();",
    "auto p = std::make_unique<std::vector<double>>({k} + 1); return p->size();",
    "std::vector<std::string> v; v.push_back(text(walk)); v.push_back(text(walk + 1)); return v.size();",
]


def program(place):
    """Sources of layers of functions, each calling one of four of the next."""
    rng = random.Random(1)
    width = max(4, options.functions // LAYERS)
    names = [["layer%d::call%d" % (layer, k) for k in range(width)] for layer in range(LAYERS)]
    with open(place + "/calls.h", "w") as f:
        f.write(HEADER)
        for layer in names:
            for name in layer:
                space, function = name.split("::")
                f.write("namespace %s { size_t %s(uint64_t walk); }\n" % (space, function))
    sources = [open("%s/part%d.cc" % (place, i), "w") for i in range(FILES)]
    for f in sources:
        f.write('#include "calls.h"\n')
    for layer in range(LAYERS):
        for k, name in enumerate(names[layer]):
            if layer + 1 == LAYERS:
                body = "    " + LEAVES[k % len(LEAVES)].format(k=k % 7 + 2)
            else:
                calls = [rng.choice(names[layer + 1]) for _ in range(4)]
                body = "    switch (walk & 3) {\n" + "".join(
                    "    %s: return %s(walk >> 2) + %d;\n" % ("default" if i == 3 else "case %d" % i, call, i)
                    for i, call in enumerate(calls)) + "    }"
            space, function = name.split("::")
            sources[k % FILES].write("namespace %s { __attribute__((noinline)) size_t %s(uint64_t walk) {\n%s\n} }\n" %
                                     (space, function, body))
    for f in sources:
        f.close()
    with open(place + "/main.cc", "w") as f:
        f.write('#include "calls.h"\n#include <cstdlib>\nint main(int, char **argv) {\n    uint64_t walk = 1;\n    size_t sum = 0;\n'
                "    for (int i = atoi(argv[1]); i--;) {\n        walk = walk * 6364136223846793005u + 1442695040888963407u;\n"
                "        sum += layer0::call0(walk >> 20);\n    }\n    return sum == 0;\n}\n")
    return ["main.cc"] + ["part%d.cc" % i for i in range(FILES)]


def build(place):
    jobs, objects = [], []
    for source in program(place):
        objects.append(source[:-2] + "o")
        jobs.append(subprocess.Popen(["clang++-19", *FLAGS, "-c", source, "-o", objects[-1]], cwd=place))
        if len(jobs) >= (os.cpu_count() or 1):
            if jobs.pop(0).wait():
                sys.exit("memprof_index.py: clang++-19 failed")
    if any(job.wait() for job in jobs):
        sys.exit("memprof_index.py: clang++-19 failed")
    subprocess.run(["clang++-19", "-fmemory-profile", "-no-pie", "-Wl,-build-id", *objects, "-o", "big"], cwd=place, check=True)
    subprocess.run(["./big", str(options.walks)], cwd=place, check=True,
                   env={**os.environ, "MEMPROF_OPTIONS": "log_path=%s/big.raw:print_text=0" % place})
    raw = [f for f in os.listdir(place) if f.startswith("big.raw.")]
    os.rename(place + "/" + raw[0], place + "/big.raw")


def run(command):
    """Seconds, and MiB at the peak."""
    start = time.monotonic()
    process = subprocess.Popen(command, cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    if status:
        sys.exit("memprof_index.py: %s: %s" % (" ".join(command), said.strip().split("\n")[-1]))
    return time.monotonic() - start, used.ru_maxrss / 1024


def size(name):
    return os.path.getsize(work + "/" + name)


shutil.rmtree(work, ignore_errors=True)
os.makedirs(work)
build(work)
print("a program of %.1f MB, a raw profile of %.1f MB: " % (size("big") / 1e6, size("big.raw") / 1e6), end="")
told = subprocess.run([tool, "info", "big.raw"], cwd=work, capture_output=True, text=True).stdout.split("\n")[1]
print(", ".join(told.split(", ")[3:6]))

versions = ["0", "1", "2", "3"]
print("\n%-22s %10s %10s %8s %14s %14s %8s" % ("", "ours", "llvm", "times", "ours, peak", "llvm, peak", "times"))
for version in versions:
    ours, llvm = [], []
    for _ in range(options.rounds):
        ours.append(run([tool, "index", "--binary", "big", "--memprof-version", version, "-o", "ours", "big.raw"]))
        llvm.append(run(["llvm-profdata-19", "merge", "--profiled-binary", "big", "--memprof-version=" + version, "-o", "llvm", "big.raw"]))
    (t, m), (u, n) = min(ours), min(llvm)
    m, n = max(x[1] for x in ours), max(x[1] for x in llvm)
    print("%-22s %8.3f s %8.3f s %8.2f %10.1f MiB %10.1f MiB %8.2f" % ("index, version " + version, t, u, u / t, m, n, n / m))

print("\n%-22s %14s %14s %14s" % ("bytes", "hot and cold", "all fields", "llvm's"))
for version in versions + ["rfc"]:
    row = []
    for schema in "--hot-cold-schema", "--full-schema":
        run([tool, "index", "--binary", "big", "--memprof-version", version, schema, "-o", "ours", "big.raw"])
        row.append(str(size("ours")))
    if version != "rfc":
        run(["llvm-profdata-19", "merge", "--profiled-binary", "big", "--memprof-version=" + version, "-o", "llvm", "big.raw"])
        row.append(str(size("llvm")))
    print("%-22s %14s %14s %14s" % ("RFC" if version == "rfc" else "version " + version, *(row + ["-"])[:3]))
