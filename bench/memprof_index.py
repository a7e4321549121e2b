#!/usr/bin/env python3
"""Compares heapdump index and merge with llvm-profdata merge: wall time, peak memory, and sizes of the output.

    make bench-index                                      ten minutes, most of them llvm-profdata's
    make bench-index INDEX_ARGS='--functions 400 --walks 20000'    a smaller program
    make bench-index INDEX_ARGS='--many 10,50,500'        also merges as many raw profiles: twenty minutes more

The input is a recording of a large generated C++ program, and the output a profile for the compiler. The program has
layers of functions that call each other in many ways and allocate through the standard library. Its call stacks hardly
ever repeat. clang 19 compiles it for llvm-profdata-19, and clang 22 for llvm-profdata-22.

The profiles of --many come from runs of a twentieth of the length, each with another part of the walks. llvm-profdata
gets them once per row. By default, llvm-profdata-22 keeps the contexts of as many files as there are processors; with -j
equal to the number of files, it keeps all. No release keeps contexts of indexed files. The variants take turns, and the
fastest round counts, because other load only adds time. Memory is the maximum of the rounds.
"""

import argparse, os, random, shutil, subprocess, sys, time

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--build", default="build", help="where heapdump is")
parser.add_argument("--functions", type=int, default=2000)
parser.add_argument("--walks", type=int, default=60000, help="call stacks")
parser.add_argument("--rounds", type=int, default=15,
                    help="of one profile; of many, a third of that, and llvm-profdata once")
parser.add_argument("--many", default="10,50", help="so many raw profiles at once")
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

# The body of a function of the innermost layer.
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
        f.write('#include "calls.h"\n#include <cstdlib>\nint main(int, char **argv) {\n    uint64_t walk = strtoull(argv[2], nullptr, 0);\n    size_t sum = 0;\n'
                "    for (int i = atoi(argv[1]); i--;) {\n        walk = walk * 6364136223846793005u + 1442695040888963407u;\n"
                "        sum += layer0::call0(walk >> 20);\n    }\n    return sum == 0;\n}\n")
    return ["main.cc"] + ["part%d.cc" % i for i in range(FILES)]


def record(place, walks, start, name):
    subprocess.run(["./big", str(walks), str(start)], cwd=place, check=True,
                   env={**os.environ, "MEMPROF_OPTIONS": "log_path=%s/%s:print_text=0" % (place, name)})
    raw = [f for f in os.listdir(place) if f.startswith(name + ".")]
    os.rename(place + "/" + raw[0], place + "/" + name)


def build(place, clang):
    jobs, objects = [], []
    for source in program(place):
        objects.append(source[:-2] + "o")
        jobs.append(subprocess.Popen([clang, *FLAGS, "-c", source, "-o", objects[-1]], cwd=place))
        if len(jobs) >= (os.cpu_count() or 1):
            if jobs.pop(0).wait():
                sys.exit("memprof_index.py: %s failed" % clang)
    if any(job.wait() for job in jobs):
        sys.exit("memprof_index.py: %s failed" % clang)
    subprocess.run([clang, "-fmemory-profile", "-no-pie", "-Wl,-build-id", *objects, "-o", "big"], cwd=place, check=True)
    record(place, options.walks, 1, "big.raw")


def run(command):
    """Seconds and peak MiB. `time` measures memory, since our child begins with our memory."""
    if "-o" in command and os.path.exists(command[command.index("-o") + 1]):
        os.unlink(command[command.index("-o") + 1])  # overwriting a file takes longer
    start = time.monotonic()
    process = subprocess.run(["/usr/bin/time", "-o", "memory", "-f", "%M", *command], stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True)
    seconds = time.monotonic() - start
    if process.returncode:
        sys.exit("memprof_index.py: %s: %s" % (" ".join(command), process.stderr.strip().split("\n")[-1]))
    with open("memory") as f:
        return seconds, int(f.read().split()[-1]) / 1024


def size(name):
    return os.path.getsize(name)


def row(title, ours, llvm, is_one=False):
    mine, theirs = [], []
    for turn in range(options.rounds if is_one else (options.rounds + 2) // 3):
        mine.append(run(ours))
        if is_one or not turn:
            theirs.append(run(llvm))
    t, u = min(x[0] for x in mine), min(x[0] for x in theirs)
    m, n = max(x[1] for x in mine), max(x[1] for x in theirs)
    print("%-32s %8.3f s %8.3f s %8.2f %10.1f MiB %10.1f MiB %8.2f" % (title, t, u, u / t, m, n, n / m), flush=True)


def release(number, versions):
    place = work + "/" + number
    os.makedirs(place)
    os.chdir(place)
    build(place, "clang++-" + number)
    profdata = "llvm-profdata-" + number
    print("\nclang %s: a program of %.1f MB, a raw profile of %.1f MB: " % (number, size("big") / 1e6, size("big.raw") / 1e6), end="")
    told = subprocess.run([tool, "info", "big.raw"], capture_output=True, text=True).stdout.split("\n")[1]
    print(", ".join(told.split(", ")[3:6]))
    print("%-32s %10s %10s %8s %14s %14s %8s" % ("", "ours", "llvm", "times", "ours, peak", "llvm, peak", "times"))
    merge = lambda version: [profdata, "merge", "--failure-mode=warn", "--profiled-binary", "big", "--memprof-version=" + version, "-o", "llvm"]
    index = lambda version: [tool, "index", "--binary", "big", "--memprof-version", version, "-o", "ours"]
    united = lambda version: [tool, "merge", "--to", "memprof-index", *index(version)[2:]]
    for version in versions:
        row("index, version " + version, [*index(version), "big.raw"], [*merge(version), "big.raw"], True)
    for version in versions:
        row("merge to version " + version, [*united(version), "big.raw"], [*merge(version), "big.raw"], True)
    row("merge (raw; llvm: version %s)" % versions[-1], [tool, "merge", "-o", "ours", "big.raw"], [*merge(versions[-1]), "big.raw"], True)
    counts = [int(n) for n in options.many.split(",") if n]
    files = ["run.%d" % i for i in range(max(counts, default=0))]
    for i, name in enumerate(files):
        record(place, options.walks // 20, 977 * i + 1, name)
    last = versions[-1]
    for count in counts:
        row("index of %d, version %s" % (count, last), [*index(last), *files[:count]], [*merge(last), *files[:count]])
        if number != "19":  # version 19 loses no contexts by default
            row("... llvm: -j %d" % count, [*index(last), *files[:count]], [*merge(last), "-j", str(count), *files[:count]])
        row("merge of %d (raw; llvm: indexed)" % count, [tool, "merge", "-o", "ours", *files[:count]], [*merge(last), *files[:count]])
    indexed = [name + ".memprof" for name in files[:50]]
    for name, raw in zip(indexed, files):
        subprocess.run([*index(last)[:-1], name, "--like", number, raw], check=True, stderr=subprocess.DEVNULL)
    if indexed:
        row("index of %d indexed" % len(indexed), [*index(last), *indexed], [*merge(last), *indexed])
    if number != "19":
        return
    print("\n%-22s %14s %14s %14s" % ("bytes", "hot and cold", "all fields", "llvm's"))
    for version in [*versions, "rfc"]:
        sizes = []
        for schema in "--hot-cold-schema", "--full-schema":
            run([tool, "index", "--binary", "big", "--memprof-version", version, schema, "-o", "ours", "big.raw"])
            sizes.append(str(size("ours")))
        if version != "rfc":
            run([*merge(version), "big.raw"])
            sizes.append(str(size("llvm")))
        print("%-22s %14s %14s %14s" % ("RFC" if version == "rfc" else "version " + version, *(sizes + ["-"])[:3]))


shutil.rmtree(work, ignore_errors=True)
for number, versions in ("19", "0123"), ("22", "234"):
    if shutil.which("clang++-" + number) and shutil.which("llvm-profdata-" + number):
        release(number, list(versions))
    else:
        print("\nSKIP: no clang++-%s or llvm-profdata-%s" % (number, number))
