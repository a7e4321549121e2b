#!/usr/bin/env python3
"""Runs the benchmarks of bench.cc with the heapdump.h of another revision, A, and with this one, B, in turn.

    against.py --build build [--rounds 5] REV [-- BENCH_ARGS...]

Runs A B A B ..., --rounds times each. For each benchmark it prints the medians of A and of B, B over A, and the spread
of A against A. For the spread, it draws two sets of runs from the runs of A many times: in 19 of 20 draws their medians
differ by less. "slower" means that B over A exceeds 1 by more than that spread. Times are CPU time, except for
benchmarks that bench.cc measures by the clock; of the repetitions in one run the fastest counts. Without BENCH_ARGS only
our own rows run. Peers' rows do not depend on heapdump.h, so they show how noisy the machine is.

Environment: CXX, CXXFLAGS, STB, LIBS. make builds B as build/bench beforehand."""
import argparse, glob, json, os, random, shlex, statistics, subprocess, sys

NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def git(*args):
    result = subprocess.run(["git", *args], stdout=subprocess.PIPE)
    return sys.exit("against.py: git failed") if result.returncode else result.stdout


def words(variable):
    return shlex.split(os.environ.get(variable, ""))


def built(build, revision):
    """Builds the benchmarks with the header of that revision: this bench.cc, or its own if this does not compile."""
    commit = git("rev-parse", "--verify", revision + "^{commit}").decode().strip()
    at = os.path.join(build, "against", commit)
    for directory in ("bench", "tests"):
        os.makedirs(os.path.join(at, directory), exist_ok=True)
    here, its_own = {}, {}
    for name in ["bench/bench.cc", *glob.glob("tests/*.h")]:
        with open(name, "rb") as file:
            here[name] = file.read()
    for name in git("ls-tree", "--name-only", commit, "bench/", "tests/").decode().split("\n"):
        if name == "bench/bench.cc" or name.endswith(".h"):
            its_own[name] = git("show", f"{commit}:{name}")
    sources = [("this bench.cc", here)]
    if its_own != here:
        sources.append(("its own bench.cc, since this one needs another API", its_own))
    program = os.path.join(at, "program")
    for what, files in sources:
        for name, content in {**files, "heapdump.h": git("show", commit + ":heapdump.h")}.items():
            with open(os.path.join(at, name), "wb") as out:
                out.write(content)
        command = [*shlex.split(os.environ.get("CXX", "c++")), "-std=c++17", *words("CXXFLAGS"), "-DNDEBUG", *words("STB"),
                   os.path.join(at, "bench", "bench.cc"), "-o", program, *words("LIBS")]
        result = subprocess.run(command, stderr=subprocess.PIPE)
        if not result.returncode:
            print(f"A: {revision}, {commit[:12]}, with {what}\nB: this heapdump.h", flush=True)
            return program
    sys.stderr.buffer.write(result.stderr)
    sys.exit(f"against.py: the benchmarks cannot be built with the heapdump.h of {revision}")


def values(program, build, args):
    """The figures of one run: by name a value, and whether it is bytes (else nanoseconds)."""
    out = os.path.join(build, "against", "out.json")
    command = [program, r"--benchmark_filter=\|(ours|the same)", *args, "--benchmark_out=" + out, "--benchmark_out_format=json"]
    result = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if result.returncode:
        sys.stderr.buffer.write(result.stderr)
        sys.exit(f"against.py: {program} failed")
    with open(out) as file:
        runs = json.load(file)["benchmarks"]
    found = {}
    for run in runs:
        if run.get("run_type") != "iteration":
            continue
        name = run["run_name"]
        by_clock = "/manual_time" in name or "/real_time" in name
        value = run["bytes"] if "bytes" in run else run["real_time" if by_clock else "cpu_time"] * NANOSECONDS[run["time_unit"]]
        name = name.split("/iterations:")[0].split("/min_time:")[0].split("/repeats:")[0]
        found[name] = min(found.get(name, (value, False))[0], value), "bytes" in run
    return found


def spread(runs):
    draw = random.Random(1)
    ratios = sorted(max(pair) / min(pair) if min(pair) else 1.0 for pair in
                    ([statistics.median(draw.choices(runs, k=len(runs))) for _ in "AA"] for _ in range(1000)))
    return ratios[949] - 1


def text(value, is_bytes):
    if is_bytes:
        return f"{value:.1f} B"
    for unit, size in (("ns", 1e4), ("us", 1e7), ("ms", 1e10)):
        if value < size:
            return f"{value / NANOSECONDS[unit]:.4g} {unit}"
    return f"{value / 1e9:.4g} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("revision")
    parser.add_argument("bench_args", nargs="*")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds is at least 1")
    programs = [built(options.build, options.revision), os.path.join(options.build, "bench")]
    measured = [{}, {}]
    for number in range(options.rounds):
        for side, program in enumerate(programs):
            for name, value in values(program, options.build, options.bench_args).items():
                measured[side].setdefault(name, []).append(value)
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
    a, b = measured
    slower = 0
    print(f"\n{'':<72} {'A':>11} {'B':>11} {'B over A':>9} {'A to A':>7}")
    for name in sorted(a):
        if name not in b:
            continue
        runs, is_bytes = [value for value, _ in a[name]], a[name][0][1]
        before, after = statistics.median(runs), statistics.median(value for value, _ in b[name])
        ratio, apart = after / before if before else 1.0, spread(runs)
        is_slower = ratio > 1 + apart
        slower += is_slower
        print(f"{name:<72} {text(before, is_bytes):>11} {text(after, is_bytes):>11} {ratio:9.3f} {100 * apart:6.1f}%"
              + ("  slower" if is_slower and not is_bytes else "  larger" if is_slower else ""))
    for side, other, label in ((a, b, "A"), (b, a, "B")):
        for name in sorted(side):
            if name not in other:
                print(f"{name:<72} only {label} has it")
    print(f"\n{slower} of {len([name for name in a if name in b])} rows slower or larger beyond the spread of A against A")
    if options.rounds < 3:
        print("fewer than 3 rounds say little of the spread")


if __name__ == "__main__":
    main()
