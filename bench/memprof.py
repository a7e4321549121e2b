#!/usr/bin/env python3
"""Compares ours with LLVM's tools on MemProf profiles of a real program: time and peak memory of whole processes.

    make bench-memprof                                     some minutes; needs 1 GB below build/
    make bench-memprof MEMPROF_ARGS='--beside 500'         all profiles with llvm-profdata too: half an hour, 20 GB

The program is heapdump itself, compiled by clang 19 for MemProf. 500 profiles of it are generated, not recorded: with the
numbers of call stacks of the document's 500 runs of clang, and return addresses of the program.

llvm-profdata takes half a second and 30 MB per profile, so it only merges the first 50.

The two merges do different work. heapdump merges by address, and writes one raw profile without symbolizing it.
llvm-profdata symbolizes each profile, merges within a profile, collects the records of all, and writes an indexed
profile. Naming 10,000 addresses is measured separately: heapdump prints the records as text, llvm-symbolizer the frames,
and llvm-profdata writes an indexed profile.
"""

import argparse, glob, json, os, re, shutil, subprocess, sys, time

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--build", default="build")
parser.add_argument("--profiles", type=int, default=500)
parser.add_argument("--beside", type=int, default=50, help="so many of them by llvm-profdata as well")
parser.add_argument("--addresses", type=int, default=10000)
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--binary", help="name addresses of this program too")
options = parser.parse_args()
build = os.path.abspath(options.build)
tool, fleet, work = build + "/heapdump", build + "/memprof_fleet", build + "/memprof"
root = os.path.dirname(os.path.abspath(__file__)) + "/.."


def text(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def compiled():
    path = work + "/program"
    stb = subprocess.run(["pkg-config", "--cflags", "stb"], capture_output=True, text=True).stdout.split()
    subprocess.run(["clang-19", "-std=gnu11", "-O1", "-w", "-gmlt", "-fdebug-info-for-profiling", "-fno-omit-frame-pointer",
                    "-mno-omit-leaf-frame-pointer", "-fno-optimize-sibling-calls", "-no-pie", "-Wl,-build-id",
                    *(stb or ["-I/usr/include/stb"]), *glob.glob(root + "/examples/heapdump/**/*.c", recursive=True), "-o", path,
                    "-ldw", "-lelf", "-lz", "-lzstd", "-llzma", "-lstdc++", "-lm", "-lpthread"], check=True)
    return path


def segment(path):
    """The build id, and the range of the code in whole pages."""
    build_id = re.search(r"Build ID: (\w+)", text("readelf", "-nW", path))[1]
    for line in text("readelf", "-lW", path).split("\n"):
        f = line.split()
        if f and f[0] == "LOAD" and "E" in f[6:8]:
            start, size = int(f[2], 16), int(f[5], 16)
            return build_id, start & ~4095, (start + size + 4095) & ~4095


def returns(path, count):
    """Return addresses minus 1, spread over the program, always in the same order."""
    found, after = [], False
    for line in text("objdump", "-d", "--no-show-raw-insn", "-j", ".text", path).split("\n"):
        m = re.match(r"\s*([0-9a-f]+):\t(\S+)", line)
        if m:
            if after:
                found.append(int(m[1], 16) - 1)
            after = m[2].startswith("call")
    step = max(1, len(found) // count)
    picked = found[::step][:count]
    return [picked[i * 7919 % len(picked)] for i in range(len(picked))] if len(picked) % 7919 else picked


def profiles(path, name, processes, addresses):
    build_id, start, end = segment(path)
    subprocess.run([fleet, f"{work}/{name}", str(processes), build_id, hex(start), hex(end)], check=True, text=True,
                   input="".join(f"{a:#x}\n" for a in addresses))


def run(command, stdin=None):
    """Wall seconds, processor seconds and peak MB. `time` measures memory, since our child begins with our memory."""
    command = ["/usr/bin/time", "-o", work + "/memory", "-f", "%M", *command]
    with open(stdin or "/dev/null") as given, open(os.devnull, "w") as out, open(work + "/said", "w") as said:
        start = time.monotonic()
        process = subprocess.Popen(command, stdin=given, stdout=out, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command[5]} failed: " + open(work + "/said").read()[:300])
    return seconds, used.ru_utime + used.ru_stime, int(open(work + "/memory").read()) / 1024


def compare(title, variants):
    print(f"\n{title}\n  {'':34}{'seconds':>9}{'of CPU':>9}{'MB':>8}   times ours, memory")
    best = {}
    for turn in range(options.rounds):
        for name, (command, stdin, rounds) in variants.items():
            if turn < rounds:
                used = run(command, stdin)
                best[name] = [min(a, b) for a, b in zip(best.get(name, used), used)]
    ours = next(iter(best.values()))
    for name, (seconds, cpu, memory) in best.items():
        print(f"  {name:34}{seconds:9.3f}{cpu:9.3f}{memory:8.0f}   {seconds / ours[0]:9.1f}{memory / ours[2]:9.1f}")


def merge(program):
    profiles(program, "run", options.profiles, returns(program, 1 << 30))
    every = [f"{work}/run.{i}.raw" for i in range(options.profiles)]
    files = every[:options.beside]
    size = lambda of: f"{len(of)} profiles, {sum(map(os.path.getsize, of)) / 1e6:.0f} MB, merged"
    ours = [tool, "merge", "-o", work + "/merged.raw"]
    # It refuses some profiles, because two frames have one id.
    llvm = ["llvm-profdata-19", "merge", "--failure-mode=warn", "--profiled-binary", program, "-o", work + "/llvm.memprof", *files]
    compare(size(files), {
        "heapdump merge": (ours + files, None, options.rounds),
        "llvm-profdata merge": (llvm, None, 1),
        "llvm-profdata merge -j 1": (llvm + ["-j", "1"], None, 1),
    })
    refused = open(work + "/said").read().count("mapping mismatch")
    if refused:
        print(f"  llvm-profdata refused {refused} of them: frame to id mapping mismatch")
    compare(size(every), {"heapdump merge": (ours + every, None, options.rounds)})
    for field in "AllocCount", "TotalSize":
        total = [sum(f["profiles"][0]["totals"][field] for f in json.loads(text(tool, "info", "--json", *of))["files"])
                 for of in (every, [work + "/merged.raw"])]
        assert total[0] == total[1], field
    for f in every:
        os.unlink(f)


def name(program, title):
    addresses = returns(program, options.addresses)
    profiles(program, "one", 0, addresses)
    with open(work + "/addresses", "w") as f:
        f.writelines(f"{a:#x}\n" for a in addresses)
    raw = work + "/one.raw"
    compare(f"{len(addresses)} addresses of {title} ({os.path.getsize(program) / 1e6:.1f} MB), named", {
        "heapdump memprof": ([tool, "memprof", "--binary", program, raw], None, options.rounds),
        "llvm-symbolizer -i": (["llvm-symbolizer-19", "-i", "-f", "--obj=" + program], work + "/addresses", options.rounds),
        "llvm-profdata merge": (["llvm-profdata-19", "merge", "--profiled-binary", program, "-o", work + "/llvm.memprof", raw],
                                None, options.rounds),
    })


shutil.rmtree(work, ignore_errors=True)
os.makedirs(work)
program = compiled()
name(program, "heapdump")
if options.binary:
    name(os.path.abspath(options.binary), os.path.basename(options.binary))
merge(program)
