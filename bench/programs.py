#!/usr/bin/env python3
"""Whole programs, recorded and not: the wall time that recording adds, ours beside heaptrack, tcmalloc and
jemalloc.

    make bench-programs                                            all of it, a quarter of an hour
    make bench-programs PROGRAMS_ARGS='--rounds 9 --only sqlite3'  a part of it, longer

The variants of a program take turns, in another order each round. Shown is the fastest of the rounds, and by
how much the slowest was slower: what else the machine is doing only ever adds. "added" is over the same
program unrecorded, with the allocator that the recorder brings where it brings one. "plain, again" is the
same thing twice: by how much the two differ is the noise of the comparison. What takes longer than SLOW
seconds runs once, for LIMIT seconds at most. A run counts only if the program's result is the plain one's and
the recorder left its dump; a variant that fails is left out of that program, with the reason.
"""

import argparse, glob, os, random, shutil, signal, subprocess, sys, threading, time

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--build", default="build", help="where heapdump, its recorder and two_threads are")
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--depth", default="48", help="frames that ours keeps of a stack; the others cannot be told")
parser.add_argument("--only", default="", help="only programs whose name has this in it")
options = parser.parse_args()
build = os.path.abspath(options.build)
tool = build + "/heapdump"
work = build + "/programs"

# The programs -------------------------------------------------------------------------------------
# Each leaves what it made in a file "result", because heaptrack talks on standard output, and starts no other,
# because heaptrack does not follow.

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
    compiler = subprocess.check_output(["gcc", "-print-prog-name=cc1"], text=True).strip()
    return {
        f"sqlite3: import and index {ROWS} rows": (["sqlite3", ":memory:", ".read " + inputs + "/import.sql"], {}),
        "python3: build and parse JSON": (["/usr/bin/python3", "-c", JSON, "16000"], {}),
        # Python has an allocator of its own for what is small; without it, recorders see all.
        "the same, PYTHONMALLOC=malloc": (["/usr/bin/python3", "-c", JSON, "6000"], {"PYTHONMALLOC": "malloc"}),
        "gcc's cc1 -O0: compile heapdump.h": (
            [compiler, "-quiet", "-I" + header, "-I/usr/include/stb", inputs + "/library.c", "-o", "result"], {}),
        "two threads: malloc and free": ([build + "/two_threads", "20000", "result"], {}),
    }


# The variants -------------------------------------------------------------------------------------

class Variant:
    def __init__(self, over=None, against=None, prefix=(), env=None, dump=True):
        self.over, self.against = over, against  # what it adds to; whose added time it is set beside
        self.prefix, self.env, self.dump = list(prefix), env or {}, dump
        self.skip = None


def recorded(*arguments):
    """The program under `heapdump record`, and under the recorder alone, which writes a dump with addresses:
    what comes after the program has ended is the difference."""
    told = [tool, "record", "--depth", options.depth, *arguments]
    whole = Variant("plain", "heaptrack", told + ["-o", "dump.json", "--"])
    alone = Variant("plain", "heaptrack -r")
    probe = subprocess.run(told + ["-o", work + "/probe.json", "--", "env"], capture_output=True, text=True)
    if probe.returncode:
        whole.skip = alone.skip = probe.stderr.strip().split("\n")[0]
    alone.env = dict(line.split("=", 1) for line in probe.stdout.split("\n") if line.startswith("HEAPDUMP_"))
    alone.env.update(HEAPDUMP_SPOOL="", HEAPDUMP_DIR=".", LD_PRELOAD=build + "/libheapdump_record.so")
    return alone, whole


def variants():
    exact, exact_report = recorded()
    sampled, sampled_report = recorded("--sample", "512k")
    tcmalloc, jemalloc = {"LD_PRELOAD": "libtcmalloc.so.4"}, {"LD_PRELOAD": "libjemalloc.so.2"}
    # heaptrack's interpreter takes all memory there is when the hash of its allocations degenerates.
    limit = ["prlimit", "--as=%d" % (6 << 30)]
    return {
        "plain": Variant(dump=False),
        "plain, again": Variant("plain", dump=False),
        "ours, exact: run": exact,
        "ours, exact: with report": exact_report,
        "ours, sampled: run": sampled,
        "ours, sampled: with report": sampled_report,
        "heaptrack -r": Variant("plain", None, limit + ["heaptrack", "-r", "-o", "dump"]),
        "heaptrack": Variant("plain", None, limit + ["heaptrack", "-o", "dump"]),
        "tcmalloc": Variant("plain", env=tcmalloc, dump=False),
        "tcmalloc, HEAPPROFILE": Variant("tcmalloc", "heaptrack -r", env={**tcmalloc, "HEAPPROFILE": "dump"}),
        "jemalloc": Variant("plain", env=jemalloc, dump=False),
        "jemalloc, prof": Variant("jemalloc", "heaptrack -r", env={
            **jemalloc, "MALLOC_CONF": "prof:true,lg_prof_sample:19,prof_final:true,prof_prefix:dump"}),
    }


DEPTHS = (f"Frames kept of a stack: ours {options.depth} (--depth), heaptrack 64, tcmalloc 32, jemalloc 128; theirs are"
          " compiled in.")


# Running and telling ------------------------------------------------------------------------------

def run(program, variant):
    """Seconds by the clock and of the processors, what it made, and what went wrong."""
    command, env = program
    place = work + "/run"
    shutil.rmtree(place, ignore_errors=True)
    os.mkdir(place)
    with open(place + "/said", "w") as said:
        start = time.monotonic()
        process = subprocess.Popen(variant.prefix + command, cwd=place, env={**os.environ, **env, **variant.env},
                                   stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True)
        # Not Popen's own timeout, which looks every 50 ms whether the program has ended.
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
    if variant.dump and not any(os.path.getsize(f) for f in glob.glob(place + "/*dump*")):
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
        order.sort(key=lambda v: v != "plain" or i > 0)  # the first of all says what the result is
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
    wall, cpu = ({v: min(took[k] for took in times[v]) for v in table if v not in failed} for k in (0, 1))
    noise = abs(wall["plain"] - wall["plain, again"])
    # What is added to plain is added to the faster of its two.
    base, base_cpu = ({**t, "plain": min(t["plain"], t["plain, again"])} for t in (wall, cpu))
    added = {v: wall[v] - base[table[v].over] for v in wall if table[v].over in wall}
    print(f"\n{name:40} {'seconds':>8} {'spread':>7} {'added':>8} {'times':>6} {'cpu added':>9}  heaptrack's over this")
    for v in table:
        if v in failed:
            print(f"  {v:38} SKIP: {failed[v]}")
            continue
        slowest = max(took[0] for took in times[v])
        spread = f"{100 * (slowest / wall[v] - 1):.0f}%" if len(times[v]) > 1 else "once"
        line = f"  {v:38} {wall[v]:8.3f} {spread:>7}"
        if v in added:
            over = table[v].over
            line += f" {added[v]:+8.3f} {wall[v] / base[over]:6.2f} {cpu[v] - base_cpu[over]:+9.3f}"
            if table[v].against in added:
                theirs = added[table[v].against]
                line += f"  {theirs / added[v]:.2f}" if min(added[v], theirs) > noise else "  within the noise"
        print(line)
    sys.stdout.flush()


shutil.rmtree(work, ignore_errors=True)
os.makedirs(work)
table = variants()
for name, program in programs(work + "/inputs").items():
    if options.only in name:
        tell(name, table, *measure(name, program, table))
print(f"""
seconds: wall time, the fastest of {options.rounds} rounds; spread: how much longer the slowest took; added, times: over
the program unrecorded, with the same allocator. heaptrack's over this: the time that heaptrack adds over what this
adds, for "run" as recorded (heaptrack -r), for "with report" as interpreted; above 1, this is the better.
cpu added: the same in processor time, of all processes, which a busy machine disturbs less.
{DEPTHS}""")
