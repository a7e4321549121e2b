"""Files whose names and texts contain terminal control sequences: no command may pass them on. terminal.py TOOL
BINARY; BINARY is a program with a function called HOSTILE_FUNCTION_NAME______________."""
import json, os, struct, subprocess, sys

tool, binary = sys.argv[1:]
# Control characters (8-bit ones as UTF-8 and raw), bidirectional marks, line breaks, half a surrogate pair, invalid
# UTF-8.
BAD = (b"\x1b]0;T\x07\r\t\x7f\xc2\x9b31m\x9b\xe2\x80\xae\xe2\x80\x8f\xe2\x81\xa6\xd8\x9c\xe2\x80\xa8\xed\xa0\x80\xff"
       b"\nINJECTED: \xf0\x9f\x8e\x89")
FUNCTION = b"HOSTILE_FUNCTION_NAME______________"
SYMBOL = (b"f\x1b[1m\xc2\x9b\xe2\x80\xae\xff\t\nINJECTED" + b"_" * len(FUNCTION))[:len(FUNCTION)]
FORBIDDEN = [*range(0x0a), *range(0x0b, 0x20), *range(0x7f, 0xa0), 0x61c, 0x200e, 0x200f, *range(0x2028, 0x202f),
             *range(0x2066, 0x206a)]
failed = False
runs = 0

def tell(name, why):
    global failed
    failed = True
    print("FAIL %s: %s" % (why, name))

def run(*arguments, directory=None, **more):
    """Checks a command's output: whole lines, none of which begins with a hostile text."""
    global runs
    runs += 1
    done = subprocess.run([tool, *arguments], stdin=subprocess.DEVNULL, capture_output=True, cwd=directory, **more)
    name = b" ".join(a if isinstance(a, bytes) else a.encode() for a in arguments).decode("ascii", "backslashreplace")
    name = "".join(c if c.isprintable() else "." for c in name)
    for stream, what in (done.stdout, "output"), (done.stderr, "messages"):
        try:
            text = stream.replace(b"\r\n", b"\n").decode() if "--csv" in arguments else stream.decode()
        except UnicodeDecodeError as e:
            tell(name, "%s: %r" % (what, stream[max(0, e.start - 40):e.end + 20]))
            continue
        at = [i for i, c in enumerate(text) if ord(c) in FORBIDDEN]
        if at:
            tell(name, "%s: %r" % (what, text[max(0, at[0] - 40):at[0] + 20]))
        if any(line.lstrip().startswith("INJECTED") for line in text.split("\n")):
            tell(name, "%s: a line that a name began" % what)
    if "--json" in arguments and not done.returncode:
        try:
            json.loads(done.stdout)
        except ValueError as e:
            tell(name, "no JSON: %s" % e)
    return done

# Files -----------------------------------------------------------------------------------------------------------

def quoted(data):
    """A JSON string of these bytes, escaped only where necessary."""
    return b'"' + b"".join(b"\\u%04x" % c if c < 32 else bytes([c]) for c in data) + b'"'

B = quoted(BAD)

def process(pid): return b'{"pid":%d,"ph":"M","name":"process_name","args":{"name":%s}}' % (pid, B)

def dump(body, ts=10):
    return (b'{"pid":1,"ts":%d,"ph":"v","id":%s,"args":{"dumps":{%s}}}' % (ts, quoted(BAD + b"%d" % ts), body))

scalars = (b'"process_totals":{%s:"1000"},"allocators":{%s:{"guid":"1","attrs":{"size":{"type":"scalar","units":"bytes","value":"602"},'
           b'%s:{"type":"scalar","units":%s,"value":"7"},%s:{"type":"string","units":%s,"value":%s}}}}' % (B, B, B, B, quoted(BAD + b"s"), B, B))
new = (b'"heaps":{%s:{"entries":[{"size":"10","bt":""},{"size":"8","bt":"1","type":"1","count":"2"},{"size":"9","bt":"0"},'
       b'{"size":"9","type":"1"}]}}' % B)
frames = (b'{"pid":1,"ph":"M","name":"stackFrames","args":{"stackFrames":{"0":{"name":%s},"1":{"name":%s,"parent":"0"}}}},'
          b'{"pid":1,"ph":"M","name":"typeNames","args":{"typeNames":{"1":%s}}}' % (B, B, B))
v2 = (b'"heaps_v2":{"allocators":{%s:{"nodes":[2,1],"sizes":[30,4],"counts":[1,2],"types":[1,1]}},"maps":{"nodes":[{"id":1,"name_sid":1},'
      b'{"id":2,"name_sid":2,"parent":1}],"types":[{"id":1,"name_sid":1}],"strings":[{"id":1,"string":%s},{"id":2,"string":%s}]}}' % (B, B, quoted(BAD + b"g")))
old = b'"heaps":{%s:{"entries":[{"size":"10"},{"size":"5","bt":"1"}]}}' % B
unknown = b'"heaps":{%s:{"entries":[{"size":"10","bt":""},{"size":%s,"bt":%s},{"size":"3","bt":%s},{"size":"2","bt":"0","type":%s}]}}' % (B, B, B, B, B)
traces = {
    b"new": b"[" + b",".join([process(1), frames, dump(new + b"," + scalars), dump(new, 20)]) + b"]",
    b"v2": b"[" + b",".join([process(1), dump(v2 + b"," + scalars), dump(v2, 20)]) + b"]",
    b"old": b"[" + b",".join([process(1), frames.split(b",{\"pid\":1,\"ph\":\"M\",\"name\":\"typeNames\"")[0], dump(old)]) + b"]",
    b"unknown": b"[" + b",".join([process(1), frames, dump(unknown)]) + b"]",
    b"doubled": b"[" + b",".join([process(1), frames, dump(new), dump(new)]) + b"]",
    b"broken": b"[" + process(1) + b"," + dump(new) + b"," + B + B,
}

LINE = BAD.replace(b"\n", b"\x0b").replace(b" ", b"_").replace(b"\r", b"")
netcf = b"a 2 %s 1\nt 1 %s\nt 2 %sx\no 10 1 8 11\no 11 2 100 10 10\nr 10 0 0\nc %s 2\n" % (LINE, LINE, LINE, LINE)
graphs = {b"netcf": netcf, b"netcf-broken": netcf.replace(b"o 11", LINE) + LINE}

def u(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])

def s(data): return u(len(data)) + data

def dart(size):
    out = b"dartheap" + u(0) + s(BAD) + u(1) + u(2) + u(3) + u(3)
    for name in b"Root", BAD, BAD + b"2":
        out += u(0) + s(name) + s(BAD) + s(BAD) + s(b"") + u(1) + u(0) + u(0) + s(BAD) + s(b"")
    wide = BAD.decode("latin1").encode("utf-16-le")
    objects = [(1, 0, u(0), [2, 3, 4, 5]), (2, size, u(0), [3]), (3, 32, u(5) + u(len(BAD)) + s(BAD), []),
               (3, 32, u(5) + u(len(BAD)) + s(BAD), []), (3, 40, u(6) + u(len(wide) // 2) + u(len(wide) // 2) + wide, []),
               (2, 8, u(7) + s(BAD), [])]
    out += u(sum(len(o[3]) for o in objects)) + u(len(objects))
    for class_id, size, data, references in objects:
        out += u(class_id) + u(size) + data + u(len(references)) + b"".join(map(u, references))
    return out + u(1) + u(2) + u(1000) + s(BAD) + b"".join(map(u, [0, 11, 12, 0, 14, 0]))

snapshots = {b"dart": dart(100), b"dart2": dart(300), b"dart-broken": dart(100)[:-60]}

folder = BAD.replace(b"/", b"")
os.makedirs(folder, exist_ok=True)
def put(name, data):
    path = folder + b"/" + BAD + name
    with open(path, "wb") as f:
        f.write(data)
    return path

# Commands --------------------------------------------------------------------------------------------------------

OUT = folder + b"/out"
ways = [[], ["--json"], ["--csv"]]
shown = []
for name, data in traces.items():
    path = put(name, data)
    for way in ways:
        for command in (["tree"], ["tree", "--by", "type"], ["tree", "--invert"], ["tree", "--every-route"], ["top"], ["top", "--by", "type"],
                        ["info"], ["info", "--all"], ["diff"], ["tree", "--strict"], ["tree", "--dump", BAD], ["tree", "--allocator", BAD],
                        ["tree", "--keep", BAD], ["diff", "--before", BAD]):
            shown.append(run(*command, *way, path))
        run("diff", *way, path, path)
    for to in "chrome", "heaps_v2", "netcf", "dart", "memprof-raw", "memprof-index":
        run("convert", "--to", to, "-o", OUT, path)
    run("convert", "--add-to", path, "-o", OUT, path)
    run("merge", "-o", OUT, path, path)
for name, data in {**graphs, **snapshots}.items():
    path = put(name, data)
    for way in ways:
        for command in (["classes"], ["retained"], ["retained", "--class", LINE], ["retained", "--class", BAD], ["path", "--id", "10"], ["path", "--class", BAD],
                        ["path", "--class", LINE], ["path", "--id", "3"], ["strings", "--all"], ["info", "--all"], ["tree"], ["top"], ["path", "--id", BAD],
                        ["classes", "--strict"], ["objects", "--garbage", "--where", "size>=0"], ["objects", "--class", LINE], ["objects", "--class", BAD],
                        ["objects", "--where", b"x" + BAD + b"=."]):
            shown.append(run(*command, *way, path))
        for id in "1", "2", "3", "4", "5", "6", "10", "11", BAD:
            shown.append(run("object", "--all", *way, path, id))
        for other in b"netcf", b"dart", b"dart2":
            shown.append(run("diff", *way, path, folder + b"/" + BAD + other))
    for to in "chrome", "netcf", "dart", "heaps_v2":
        run("convert", "--to", to, "-o", OUT, path)

# A program with a hostile name and a function with a hostile name.
program = folder + b"/" + BAD + b"program"
with open(binary, "rb") as f:
    data = f.read()
with open(program, "wb") as f:
    f.write(data.replace(FUNCTION, SYMBOL))
os.chmod(program, 0o755)
here = os.path.abspath(folder)
environment = dict(os.environ, TMPDIR=here)
def recorded(name, *options):
    """A recording of that program under its hostile name, or under a plain name."""
    done = run("record", *options, *(["-o", folder + b"/" + BAD + name] if name else []), "--", os.path.abspath(program),
               directory=None if name else here, env=environment)
    if done.returncode:
        tell("record", done.stderr)
    shown.append(done)
    return folder + b"/" + BAD + name
trace = recorded(b"recorded.json", "--min-bytes", "1", "--stats")
recorded(b"")
raw = recorded(b"raw", "--format", "memprof-raw")
rfc = recorded(b"rfc", "--format", "memprof-rfc")
index = folder + b"/" + BAD + b"index"
with_binary = ["--binary", program]
run("index", *with_binary, "-o", index, raw)
run("index", *with_binary, "--memprof-version", "0", "-o", OUT, raw)
run("merge", "-o", OUT, raw, raw)
for path in trace, raw, rfc, index:
    for way in ways:
        for command in ["info", "--all"], ["tree"], ["top"], ["diff"], ["tree", "--by", "type"], ["tree", "--by", "binary"], ["tree", "--by", "lifetime"]:
            shown.append(run(*command, *way, path))
            shown.append(run(*command, *way, *with_binary, path))
        for command in ["memprof"], ["memprof", "--hints"], ["memprof", "--hints", "--all", "--cold-lifetime", "0", "--cold-density", "1e20"]:
            shown.append(run(*command, *way, path))
            shown.append(run(*command, *way, *with_binary, path))
    for to in "chrome", "memprof-raw", "memprof-index":
        run("convert", "--to", to, "-o", OUT, path)

# Error messages with hostile words.
run(BAD), run(b"--" + BAD), run("tree", b"--" + BAD, "x"), run("tree", b"-" + BAD, "x"), run("tree", b"--top=" + BAD, "x")
for path in folder, folder + b"/" + BAD + b"missing", binary.encode():
    for command in "tree", "top", "info", "diff", "merge", "classes", "retained", "strings", "memprof":
        run(command, path)
    run("convert", "--to", "chrome", path), run("convert", "--to", BAD, path), run("index", "--binary", path, path), run("object", path, BAD)
    run("memprof", "--binary", path, raw), run("index", "--base", path, *with_binary, "-o", OUT, raw), run("convert", "--add-to", path, "-o", OUT, trace)
    run("tree", "-o", path + b"/" + BAD, trace), run("record", "-o", path + b"/" + BAD, "--", program), run("record", "--", path)
run("record", "--at", BAD, "--", program), run("record", "--format", BAD, "--", program), run("record", "--sample", BAD, "--", program)
run("record", "--at", "exit", "--", program, env=dict(os.environ, TMPDIR=folder + b"/" + BAD))
for option in ("--min-bytes", "--min-share", "--pid", "--by", "--metric", "--id", "--depth", "--memprof-version", "--root", "--cold-density"):
    for command in "tree", "top", "path", "memprof", "index":
        run(command, option, BAD, trace)

if not failed:
    print("PASS %d commands pass no control sequences of names on to the terminal" % runs)
# The texts are shown escaped, not omitted.
for what, sought in ("a name", b"?]0;T?"), ("a function of a program", SYMBOL[:1] + b"?[1m???"), ("a text in quotes", b"\\u001b]0;T\\u0007"):
    if any(sought in done.stdout + done.stderr for done in shown):
        print("PASS %s was shown" % what)
    else:
        tell(what, "not shown")
sys.exit(failed)
