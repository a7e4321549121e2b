"""What Python makes of the tool's JSON and of snapshots beside what the tool says of instances, and its tables.
   instances.py TOOL DATA, in a directory with sass.dartheap and game.log."""
import csv, io, json, re, subprocess, sys

tool, data = sys.argv[1:]
failed = False

def check(name, want, got):
    global failed
    if want == got:
        print("PASS " + name)
        return
    failed = True
    print("FAIL %s: %.400r expected, %.400r found" % (name, want, got))

def run(*arguments):
    return subprocess.run([tool, *arguments], capture_output=True, stdin=subprocess.DEVNULL)

def answer(*arguments):
    return json.loads(run(*arguments, "--json").stdout)

# Tables --------------------------------------------------------------------------------------------------------------

def table(*arguments):
    """Rows of --csv, by column; lines end as RFC 4180 has it."""
    done = run(*arguments, "--csv")
    text = done.stdout.decode()
    if text.count("\n") != text.count("\r\n"):
        check("lines of " + " ".join(arguments), "CRLF", "LF")
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))

def cell(value):
    if value is None or isinstance(value, list): return ""
    if isinstance(value, bool): return str(value).lower()
    text = "".join(c if c.isprintable() or c == "\u00ad" else "?" for c in str(value))
    formula = isinstance(value, str) and value[:1] in tuple("=+-@\t\r") and not re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", value)
    return "'" * formula + text

def flat(row, prefix=""):
    cells = {}
    for key, value in row.items():
        if isinstance(value, dict): cells.update(flat(value, prefix + key + "."))
        elif not isinstance(value, list): cells[prefix + key] = cell(value)
    return cells

def rows_at(value, names):
    """Each object of the lists at that path, with what they stand in."""
    if not names: return [[value]]
    return [[value] + rest for inner in value.get(names[0], []) for rest in rows_at(inner, names[1:])]

def check_table(path, *arguments):
    want = []
    for around in rows_at(answer(*arguments), path.split(".")):
        row = flat(around[-1])
        want.append((row, around[-2]))
    got = table(*arguments)
    differ = [(w, g) for (w, _), g in zip(want, got) if any(g[k] != v for k, v in w.items()) or
              any(v for k, v in g.items() if k not in w and k not in ABOUT)]
    check("--csv of %s" % " ".join(a.rsplit("/", 1)[-1] for a in arguments), (len(want), []), (len(got), differ[:1]))
    return got

ABOUT = {"file", "format", "pid", "process", "dump", "allocator", "kind", "root", "list"}
dart, node, chromium = "sass.dartheap", data + "/node-small.heapsnapshot", data + "/chromium-small.heapsnapshot"
profile, later = data + "/screens/templates.json.xz", data + "/screens/templates-later.json.xz"
for command in "tree", "top": check_table("heaps.rows", command, profile, data + "/heap-jemalloc.txt")
check_table("diffs.rows", "diff", profile, later)
check_table("classes", "diff", node, chromium)
check_table("files.heaps", "info", profile, data + "/heap-jemalloc.txt")
check_table("files", "info", dart, node, "game.log")
for file in dart, node, "game.log":
    check_table("files.classes", "classes", file)
    check_table("files.objects", "retained", file)
check_table("files", "retained", "--class", "Texture", "game.log")
check_table("files.strings", "strings", "--all", "--garbage", dart)
check_table("files.paths.objects", "path", "--id", "c2", "game.log")
got = table("object", "--id", "b2", "game.log")
check("--csv of object tells the lists apart", [("references", "c1"), ("references", "c2"), ("referrers", "a1"), ("dominated", "c2")],
      [(row["list"], row["id"]) for row in got])
check("no rows, no lines but the header", ["file\r\n"],
      run("strings", "--csv", data + "/small.dartheap").stdout.decode().splitlines(True))

# Names that a spreadsheet would run, or a cell would end at.
NAMES = ["=1+2", "+cmd", "-2+3", "@sum", "a,b", 'say "x"', "-5", "+1.5e3", "plain", "'quoted", "=\u00e9"]
with open("names.log", "w") as f:
    f.write("a 2 x 1\n" + "".join("t %x %s\no %x %x 8\nr %x 1 0\n" % (i, n.replace(" ", "_"), i, i, i) for i, n in enumerate(NAMES, 1)) + "c x 2\n")
got = sorted(row["class"] for row in check_table("files.classes", "classes", "names.log"))
check("names that begin like formulas stand behind an apostrophe", sorted(
    ["'=1+2", "'+cmd", "'-2+3", "'@sum", "a,b", 'say_"x"', "-5", "+1.5e3", "plain", "'quoted", "'=\u00e9"]), got)
sys.exit(failed)
