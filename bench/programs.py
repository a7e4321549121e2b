#!/usr/bin/env python3
"""Measures the time that recording adds to whole programs: ours against heaptrack, tcmalloc and jemalloc.

    make bench-programs                                            all of it, a quarter of an hour
    make bench-programs PROGRAMS_ARGS='--rounds 9 --only sqlite3'  a part of it, longer
    make bench-programs PROGRAMS_ARGS='--hooks --rounds 21'        only the recorded programs: ours and heaptrack

The variants of a program take turns, in a new order each round. The table shows the least wall time and the least
processor time of the rounds, because other load only adds time. "spread" is the additional processor time of the median
round. "added" compares with the unrecorded program, which uses the recorder's allocator if the recorder brings one.
"plain, again" repeats the plain program: the difference between the two is the noise of the comparison. "hooks" load only
a recorder's preloaded library, and count only the program's processor time, without the process that writes reports.

A variant that takes longer than SLOW seconds runs once, for at most LIMIT seconds. A run counts only if the program's
result equals the plain one and the recorder wrote its recording. A variant that fails is skipped for that program, with
the reason.
"""

import argparse, glob, os, random, shutil, signal, statistics, subprocess, sys, threading, time

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--build", default="build", help="where heapdump, its recorder and two_threads are")
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--depth", default="48", help="frames that ours keeps of a stack; the others cannot be told")
parser.add_argument("--only", default="", help="only programs whose name has this in it")
parser.add_argument("--hooks", action="store_true", help="only the hooks of ours and of heaptrack")
parser.add_argument("--old", default="", help="another recorder, set beside our hooks: its environment, as in\n"
                    "LD_PRELOAD=/old/libheapdump_record.so HEAPDUMP_KEEP=REGION; REGION is a file in memory")
options = parser.parse_args()
build = os.path.abspath(options.build)
tool = build + "/heapdump"
work = build + "/programs"
# In the same kind of memory as the region of `heapdump record`.
region = "/dev/shm/heapdump-programs-%d" % os.getpid()

# The programs -------------------------------------------------------------------------------------
# Each writes a file "result", because heaptrack prints on standard output, and starts no other program, because heaptrack
# does not follow child processes.

ROWS, SLOW, LIMIT = 300000, 20, 100

SQL = """.mode csv
.import INPUTS/rows.csv people
create unique index by_id on people(id);
create index by_city on people(city, name);
.output result
select city, count(*), max(name) from people group by city;
select sum(id % 1000003) from people;
"""

JSON = """import hashlib, json, sys
people = [{"id": i, "name": "name %d" % (i * 7919 % 100003), "tags": ["t%d" % (i % k) for k in range(2, 8)],
           "at": {"x": i / 7, "y": [i, None, i % 2 == 0]}} for i in range(int(sys.argv[1]))]
text = json.dumps(people)
parsed = json.loads(text)
assert parsed == people
lines = [json.dumps(p, sort_keys=True, indent=1) for p in parsed]
print(hashlib.sha256("\\n".join(lines).encode()).hexdigest(), len(text), file=open("result", "w"))
"""


def programs(inputs):
    os.makedirs(inputs)
    rng = random.Random(1)
    with open(inputs + "/rows.csv", "w") as f:
        f.write("id,name,city\n")
        for i in range(ROWS):
            f.write(f"{rng.randrange(1 << 40) * ROWS + i},name {rng.randrange(50000)},city {rng.randrange(400)}\n")
    with open(inputs + "/import.sql", "w") as f:
        f.write(SQL.replace("INPUTS", inputs))
    with open(inputs + "/library.c", "w") as f:
        f.write('#define HEAPDUMP_IMPLEMENTATION\n#include "heapdump.h"\n')
    header = os.path.dirname(os.path.abspath(__file__)) + "/.."
    compiler, multiarch = (subprocess.check_output(["gcc", "-print-" + what], text=True).strip()
                           for what in ("prog-name=cc1", "multiarch"))
    return {
        f"sqlite3: import and index {ROWS} rows": (["sqlite3", ":memory:", ".read " + inputs + "/import.sql"], {}),
        "python3: build and parse JSON": (["/usr/bin/python3", "-c", JSON, "16000"], {}),
        # Python's own allocator serves small blocks; without it, recorders see all.
        "the same, PYTHONMALLOC=malloc": (["/usr/bin/python3", "-c", JSON, "6000"], {"PYTHONMALLOC": "malloc"}),
        "gcc's cc1 -O0: compile heapdump.h": (
            [compiler, "-quiet", "-imultiarch", multiarch, "-I" + header, "-I/usr/include/stb", inputs + "/library.c", "-o", "result"], {}),
        "two threads: malloc and free": ([build + "/two_threads", "20000", "result"], {}),
        "eight threads: malloc and free": ([build + "/two_threads", "5000", "result", "8"], {}),
    }


# The variants -------------------------------------------------------------------------------------

class Variant:
    def __init__(self, over=None, against=None, prefix=(), env=None, leaves="dump*"):
        self.over, self.against = over, against  # the variants that its time is compared with
        self.prefix, self.env, self.leaves = list(prefix), env or {}, leaves
        self.skip = None


HOOKS, THEIRS = "hooks: ", "hooks: heaptrack"


def hooks(env, against=THEIRS):
    env = {name: value.replace("REGION", region) for name, value in env.items()}
    return Variant("plain", against, env=env, leaves=region if region in env.values() else None)


def ours(sample):
    return hooks({"LD_PRELOAD": build + "/libheapdump_record.so", "HEAPDUMP_KEEP": "REGION",
                  "HEAPDUMP_DEPTH": options.depth, "HEAPDUMP_SAMPLE": sample})


def theirs():
    found = [f for at in ("", "*/") for f in glob.glob(f"/usr/lib/{at}heaptrack/libheaptrack_preload.so")]
    v = hooks({"LD_PRELOAD": (found + [""])[0], "DUMP_HEAPTRACK_OUTPUT": "dump"}, None)
    v.leaves, v.skip = "dump*", None if found else "libheaptrack_preload.so is not there"
    return v


def variants():
    record = [tool, "record", "--depth", options.depth, "--at", "exit", "-o", "dump.json"]
    tcmalloc, jemalloc = {"LD_PRELOAD": "libtcmalloc.so.4"}, {"LD_PRELOAD": "libjemalloc.so.2"}
    # heaptrack's interpreter uses up all memory if its hash table of allocations degenerates.
    limit = ["prlimit", "--as=%d" % (6 << 30)]
    table = {
        "plain": Variant(leaves=None),
        "plain, again": Variant("plain", leaves=None),
        "hooks: ours": ours("0"),
        "hooks: ours, sampled": ours("524288"),
        THEIRS: theirs(),
    }
    if options.old:
        table["hooks: --old"] = hooks(dict(word.split("=", 1) for word in options.old.split()))
    if options.hooks:
        return table
    return {
        **table,
        "ours, with report": Variant("plain", "heaptrack", record + ["--"]),
        "ours, sampled, with report": Variant("plain", "heaptrack", record + ["--sample", "512k", "--"]),
        "heaptrack": Variant("plain", None, limit + ["heaptrack", "-o", "dump"]),
        "heaptrack -r, not interpreted": Variant("plain", None, limit + ["heaptrack", "-r", "-o", "dump"]),
        "tcmalloc": Variant("plain", env=tcmalloc, leaves=None),
        "tcmalloc, HEAPPROFILE": Variant("tcmalloc", "heaptrack -r, not interpreted",
                                         env={**tcmalloc, "HEAPPROFILE": "dump"}),
        "jemalloc": Variant("plain", env=jemalloc, leaves=None),
        "jemalloc, prof": Variant("jemalloc", "heaptrack -r, not interpreted", env={
            **jemalloc, "MALLOC_CONF": "prof:true,lg_prof_sample:19,prof_final:true,prof_prefix:dump"}),
    }


DEPTHS = (f"Frames kept of a stack: ours {options.depth} (--depth), heaptrack 64, tcmalloc 32, jemalloc 128; theirs are"
          " compiled in.")


# Running and printing ------------------------------------------------------------------------------

def run(program, variant):
    """Wall seconds, processor seconds, the result, and the error."""
    command, env = program
    place = work + "/run"
    shutil.rmtree(place, ignore_errors=True)
    os.mkdir(place)
    if os.path.exists(region):
        os.remove(region)
    with open(place + "/said", "w") as said:
        start = time.monotonic()
        process = subprocess.Popen(variant.prefix + command, cwd=place, env={**os.environ, **env, **variant.env},
                                   stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True)
        # Popen's own timeout would only check every 50 ms.
        stop = threading.Timer(LIMIT, os.killpg, (process.pid, signal.SIGKILL))
        stop.start()
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        process.returncode = status = os.waitstatus_to_exitcode(status)
        cpu = used.ru_utime + used.ru_stime
        stop.cancel()
    if seconds >= LIMIT:
        return (seconds, cpu), b"", f"stopped after {LIMIT} seconds"
    try:
        with open(place + "/result", "rb") as f:
            result = f.read()
    except FileNotFoundError:
        result = b""
    with open(place + "/said", errors="replace") as said:
        words = said.read()
    if "std::bad_alloc" in words or status == 128 + signal.SIGPIPE:
        return (seconds, cpu), result, "its interpreter died"
    if status or not result:
        return (seconds, cpu), result, f"ended with status {status}: " + (words.strip().split("\n")[-1] or "no result")
    if variant.leaves and not any(os.stat(f).st_blocks > 16 for f in glob.glob(os.path.join(place, variant.leaves))):
        return (seconds, cpu), result, "left no dump: " + words.strip().split("\n")[0]
    return (seconds, cpu), result, None


def measure(name, program, table):
    times, failed, expected = {v: [] for v in table}, {}, None
    for v in table:
        if table[v].skip:
            failed[v] = table[v].skip
    for i in range(options.rounds):
        order = [v for v in table if v not in failed and (i == 0 or times[v][0][0] < SLOW)]
        random.Random(i).shuffle(order)
        order.sort(key=lambda v: v != "plain" or i > 0)  # the very first run gives the expected result
        for v in order:
            took, result, wrong = run(program, table[v])
            if expected is None:
                expected = result
            if not wrong and result != expected:
                wrong = "the program's result is another"
            if wrong and v == "plain":
                sys.exit(f"programs.py: {name}: {wrong}")
            if wrong:
                failed[v] = wrong
            times[v].append(took)
            print(f"round {i + 1}  {name:36} {v:28} {took[0]:7.3f} s {took[1]:7.3f} s cpu  {wrong or ''}", file=sys.stderr)
    return times, failed


def tell(name, table, times, failed):
    least = [{v: min(took[k] for took in times[v]) for v in table if v not in failed} for k in (0, 1)]
    # "added" to plain starts from the faster of its two.
    base = [{**t, "plain": min(t["plain"], t["plain, again"])} for t in least]
    added = [{v: t[v] - base[k][table[v].over] for v in t if table[v].over in t} for k, t in enumerate(least)]
    noise = [abs(t["plain"] - t["plain, again"]) for t in least]
    print(f"\n{name:40} {'seconds':>8} {'added':>8} {'cpu':>8} {'spread':>7} {'added':>8} {'times':>6}"
          f"  heaptrack's over this{'; this over --old' if options.old else ''}")
    for v in table:
        if v in failed:
            print(f"  {v:38} SKIP: {failed[v]}")
            continue
        k = 1 if v.startswith(HOOKS) else 0  # hooks: processor time
        spread = f"{100 * (statistics.median(took[1] for took in times[v]) / least[1][v] - 1):.0f}%"
        line = [f"{least[0][v]:8.3f}", f"{added[0][v]:+8.3f}" if v in added[0] else 8 * " ",
                f"{least[1][v]:8.3f}", f"{spread if len(times[v]) > 1 else 'once':>7}"]
        if v in added[0]:
            line += [f"{added[1][v]:+8.3f}", f"{least[k][v] / base[k][table[v].over]:6.2f}"]
            for above, below in (table[v].against, v), (v, "hooks: --old" if v == HOOKS + "ours" else None):
                if above in added[k] and below in added[k]:
                    above, below = added[k][above], added[k][below]
                    line.append(f" {above / below:.2f}" if min(above, below) > noise[k] else " within the noise")
        print(f"  {v:38}", *line)
    sys.stdout.flush()


shutil.rmtree(work, ignore_errors=True)
os.makedirs(work)
table = variants()
try:
    for name, program in programs(work + "/inputs").items():
        if options.only in name:
            tell(name, table, *measure(name, program, table))
finally:
    if os.path.exists(region):
        os.remove(region)
print(f"""
seconds: wall time, the fastest of {options.rounds} rounds; cpu: processor time of all processes, the least; spread:
additional processor time of the median round; added, times: over the unrecorded program with the same allocator, for
hooks in processor time, which other load disturbs less, else in wall time. heaptrack's over this: time that heaptrack
adds over time that this variant adds; processor time for hooks, without the report (heaptrack -r) for others' recorders,
with the report for ours; above 1, this variant is better. within the noise: one of the two adds no more than two plain
runs differ.
{DEPTHS}""")
