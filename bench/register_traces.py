#!/usr/bin/env python3
"""Measures the register with the malloc calls of real programs.

    make bench-register                                   all of them, ten minutes
    make bench-register REGISTER_ARGS='--only sqlite3'    a part

Records each program's calls, replays them through our register and the peers in one run of build/bench, and deletes the
recordings. "register, trace of ..." is nanoseconds per call, starting with an empty register; "most blocks" is the
maximum of live blocks; "bytes each" is the memory of the register at that moment, per block. Times of blocks are not
kept, as in a recorder without a clock.
"""

import argparse, os, random, shutil, subprocess, sys, time

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--build", default="build", help="where bench and libregister_trace.so are")
parser.add_argument("--only", default="", help="only programs whose name has this in it")
parser.add_argument("--record", action="store_true", help="only record, and leave what was recorded in register_traces")
options = parser.parse_args()
build = os.path.abspath(options.build)
work = build + "/register_traces"
header = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")

SQL = """.mode csv
.import rows.csv people
create unique index by_id on people(id);
create index by_city on people(city, name);
select city, count(*), max(name) from people group by city;
"""

JSON = """import json
people = [{"id": i, "name": "name %d" % (i * 7919 % 100003), "tags": ["t%d" % (i % k) for k in range(2, 8)],
           "at": {"x": i / 7, "y": [i, None, i % 2 == 0]}} for i in range(16000)]
parsed = json.loads(json.dumps(people))
lines = [json.dumps(p, sort_keys=True, indent=1) for p in parsed]
"""

NODE = """const zlib = require("zlib"), people = [], blocks = [];
for (let i = 0; i < 60000; i++) people.push({ id: i, name: "name " + i * 7919 % 100003, tag: Buffer.from("t" + i % 7) });
for (let r = 0; r < 20; r++) zlib.gunzipSync(zlib.gzipSync(JSON.stringify(people)));
for (let i = 0; i < 200000; i++) blocks.push(Buffer.allocUnsafeSlow(40 + i % 200));
for (let i = 0; i < 200000; i += 2) blocks[i] = Buffer.allocUnsafeSlow(30 + i % 100);
"""


def redis_commands():
    yield "debug populate 200000"
    for i in range(20000):
        yield f"set key:{i * 7919 % 50000} {'v' * (i % 60 + 1)}"
        yield f"lpush list:{i % 300} {i}"
        yield f"del key:{i * 31 % 200000}"
    yield "shutdown nosave"


def write(name, text):
    with open(f"{work}/{name}", "w") as f:
        f.write(text)


def inputs():
    rng = random.Random(1)
    write("rows.csv", "id,name,city\n" + "".join(
        f"{rng.randrange(1 << 40) * 300000 + i},name {rng.randrange(50000)},city {rng.randrange(400)}\n"
        for i in range(300000)))
    write("import.sql", SQL)
    write("program.js", NODE)
    write("library.c", '#define HEAPDUMP_IMPLEMENTATION\n#include "heapdump.h"\n')
    write("redis.txt", "\n".join(redis_commands()) + "\n")


def compiler():
    place = subprocess.check_output(["gcc", "-print-prog-name=cc1"], text=True).strip()
    multiarch = subprocess.check_output(["gcc", "-print-multiarch"], text=True).strip()
    return [place, "-O1", "-quiet", "-imultiarch", multiarch, "-I" + header, "-I/usr/include/stb", "library.c", "-o",
            "/dev/null"]


def record(name, command, env):
    """Runs a program; a second program sends requests to redis-server."""
    env = {**os.environ, **env, "LD_PRELOAD": build + "/libregister_trace.so", "HEAPDUMP_TRACE": f"{work}/{name}.trace"}
    process = subprocess.Popen(command, cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    if name == "redis":
        while process.poll() is None and not os.path.exists(work + "/socket"):
            time.sleep(0.1)
        with open(work + "/redis.txt") as commands:
            subprocess.run(["redis-cli", "-s", work + "/socket"], stdin=commands, stdout=subprocess.DEVNULL)
    return process.wait() == 0 and os.path.getsize(f"{work}/{name}.trace") > 0


programs = {
    "sqlite3": (lambda: ["sqlite3", ":memory:", ".read import.sql"], {}),
    "python3": (lambda: ["/usr/bin/python3", "-c", JSON], {"PYTHONMALLOC": "malloc"}),
    "cc1": (compiler, {}),
    "node": (lambda: ["node", "program.js"], {}),
    "redis": (lambda: ["redis-server", "--port", "0", "--unixsocket", "socket", "--save", "", "--enable-debug-command",
                       "yes"], {}),
}

shutil.rmtree(work, ignore_errors=True)
os.makedirs(work)
status = 1
try:
    inputs()
    for name, (command, env) in programs.items():
        if options.only not in name:
            continue
        try:
            whole = record(name, command(), env)
        except FileNotFoundError:
            whole = False
        if not whole:
            print(f"{name}: not there, or it failed", file=sys.stderr)
            if os.path.exists(f"{work}/{name}.trace"):
                os.remove(f"{work}/{name}.trace")
    status = 0 if options.record else subprocess.run([build + "/bench", "--benchmark_filter=register, trace"],
                                                     env={**os.environ, "HEAPDUMP_TRACES": work}).returncode
finally:
    if status or not options.record:
        shutil.rmtree(work, ignore_errors=True)
sys.exit(status)
