"""Screens as people see them. screens.py TOOL WORK GOLDEN [update]; see screens.sh."""
import difflib, os, re, shutil, subprocess, sys
import pyte
import on_terminal

tool, work, golden, update = sys.argv[1:]
SIZES = (80, 24), (140, 50)
RECORDINGS = "cache", "node", "python3", "redis", "sqlite3", "templates"
COMMANDS = [(f"{c.replace(' --', '-')}-{name}", [*c.split(), name + ".json"])
            for name in RECORDINGS for c in ("tree", "top", "top --self")]
COMMANDS += [("diff-templates", ["diff", "templates.json", "templates-later.json"]),
             ("diff-invert-templates", ["diff", "--invert", "templates.json", "templates-later.json"])]
COMMANDS += [(f"{c}-{name.split('.')[0]}", [c, name]) for name in ("sass.dartheap", "page.heapsnapshot")
             for c in ("tree", "suspects")]
COMMANDS += [("suspects-" + name, ["suspects", name + ".json"]) for name in RECORDINGS]
COMMANDS += [("suspects-grown", ["suspects", "templates.json", "templates-later.json"]),
             ("path-sass", ["path", "--class", "Script", "sass.dartheap"])]
COMMANDS += [(f"{c}-{name.split('.')[0]}", [c, name]) for name in ("sass.dartheap", "page.heapsnapshot")
             for c in ("classes", "retained")]
COMMANDS += [("objects-sass", ["objects", "--class", "Class", "sass.dartheap"]),
             ("objects-page", ["objects", "--class", "(closure)", "page.heapsnapshot"]),
             ("strings-sass", ["strings", "sass.dartheap"]),
             ("path-class-sass", ["path", "--class", "_Map", "sass.dartheap"]),
             ("path-class-page", ["path", "--class", "(closure)", "page.heapsnapshot"]),
             ("path-id-sass", ["path", "--id", "1409", "sass.dartheap"]),
             ("path-id-page", ["path", "--id", "50373", "page.heapsnapshot"])]

# File names for which the next command must repeat options or quoting of this one; and the expected command.
shutil.copy(os.path.join(golden, "..", "go-heap.folded"), os.path.join(work, "-dashed.folded"))
with open(os.path.join(work, "it's a.file"), "w") as f:
    f.write("main;load 12x\nmain;load 512\n")
GROWN = ["v8-ids-1.heapsnapshot", "v8-ids-2.heapsnapshot"]
for name in [*GROWN, "dhat-heap.json"]:
    shutil.copy(os.path.join(golden, "..", name), work)
PAIR = ["templates.json", "templates-later.json"]
MORE = [(["tree", "--", "-dashed.folded"], "top --self ./-dashed.folded"),
        (["tree", "--format", "folded", "it's a.file"], "top --format folded --self 'it'\\''s a.file'"),
        (["top", "--self", "--frames", "all", "templates.json"],
         "tree --frames all --invert --keep '^operator new' templates.json"),
        (["tree", "--pid", "18464", "--dump", "0x1", "--allocator", "malloc", "--kind", "live", "templates.json"],
         "top --pid 18464 --dump 0x1 --allocator malloc --kind live --self templates.json"),
        (["info", "templates.json"], "suspects templates.json"), (["info", "sass.dartheap"], "suspects sass.dartheap"),
        (["object", "page.heapsnapshot", "6049"], "path --id 6049 page.heapsnapshot"),
        (["suspects", *GROWN], "path --id 7 " + GROWN[1]),
        (["suspects", "--kind", "peak", "dhat-heap.json"], "tree --kind peak --keep '^grow' dhat-heap.json"),
        (["suspects", *PAIR], "tree --keep '^main' templates-later.json"),
        (["check", "--max-total", "100", *PAIR], "diff " + " ".join(PAIR)),
        (["diff", "--frames", "all", *PAIR], "diff --frames all --invert " + " ".join(PAIR))]


def run(arguments, columns, rows, stdin=os.devnull, **environment):
    """The tool's output on a terminal of that size."""
    environment = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "HEAPDUMP_PAGER": "cat", **environment}
    with open(os.path.join(work, stdin)) as f:
        out, status = on_terminal.run([tool, *arguments], columns, rows, cwd=work, stdin=f, stderr=subprocess.DEVNULL,
                                      env=environment)
    return out.decode(errors="replace"), status


failed = 0


def check(name, good, why):
    global failed
    failed |= not good
    print(f"PASS {name}" if good else f"FAIL {name}: {why}")


def follow(what, out):
    """Runs the commands that an answer proposes: each finds something."""
    hints = re.findall(r"^next: heapdump (.*?)(?:  # .*)?$", re.sub("\033\\[[0-9;]*m", "", out).replace("\r", ""), re.M)
    check(what + ": at most two to ask next", len(hints) <= 2, hints)
    for hint in hints:
        p = subprocess.run(["sh", "-c", '"$0" ' + hint, tool], cwd=work, capture_output=True, text=True)
        check(f"{what}: next {hint}", not p.returncode and p.stdout.strip() and p.stdout.split()[0] != "0", p)
    return hints


for name, arguments in COMMANDS:
    for columns, rows in SIZES:
        out, status = run(arguments, columns, rows)
        screen = pyte.Screen(columns, rows)
        pyte.Stream(screen).feed(out)
        text = "".join(line.rstrip() + "\n" for line in screen.display).rstrip("\n") + "\n"
        file = os.path.join(golden, f"{name}.{columns}x{rows}.txt")
        what = f"{' '.join(arguments)} at {columns}x{rows}"
        lines = out.count("\n")
        check(what + ": fits", status == 0 and lines < rows and lines == text.count("\n"),
              f"status {status}, {lines} lines that take {text.count(chr(10))}")
        if update:
            with open(file, "w") as f:
                f.write(text)
            continue
        if columns == 140:
            follow(what, out)
        with open(file) as f:
            expected = f.read()
        check(what, text == expected, "another text:\n" + "".join(difflib.unified_diff(
            expected.splitlines(True), text.splitlines(True), "as kept", "shown")))

for arguments, expected in MORE:
    hints = follow(" ".join(arguments), run(arguments, 140, 50)[0])
    check(f"{' '.join(arguments)}: the proposed next command", hints == [expected], hints)
callers = run(["tree", "--frames", "all", "--invert", "--keep", "^operator new", "templates.json"], 140, 50)[0]
check("top --self: the proposed command shows callers", "::push_back" in callers, callers)
with open(os.path.join(work, "callers.folded"), "w") as f:
    f.write("".join(f"main;{caller};make {n}\n" for caller, n in (("load", 100), ("play", 99), ("save", 98), ("quit", 3))))
for columns, expected in (140, "load 100 B, play 99 B, save 98 B, and 1 more"), (64, "load 100 B, and 3 more"):
    out = run(["suspects", "callers.folded"], columns, 24)[0]
    check(f"suspects, {columns} columns: several callers", f"      called by 4 functions: {expected}\r\n" in out, out)
piped = run(["tree", "-"], 80, 24, stdin="templates.json")[0]
check("standard input: no further command is proposed", "main" in piped and "next:" not in piped, piped)

for arguments in ["convert", "--to", "pprof"], ["convert", "--to", "pprof", "-o", "-"], ["merge"], ["index", "--binary", tool]:
    out, status = run([*arguments, "templates.json"], 80, 24)
    check(f"{' '.join(arguments)}: no file on a terminal", status == 2 and not out, out[:200])
for arguments in ["merge", "-o", "-"], ["convert", "--to", "folded"]:
    out, status = run([*arguments, "templates.json"], 80, 24)
    check(f"{' '.join(arguments)}: on a terminal, too", status == 0 and out, status)

# Colours are used only on terminals that have them, for users who want them.
plain = subprocess.run([tool, "tree", "sqlite3.json"], cwd=work, stdout=subprocess.PIPE).stdout
check("no terminal, no colour", b"\033" not in plain, plain)
check("a terminal, colours", "\033[1m" in run(["tree", "sqlite3.json"], 80, 24)[0], "none")
check("NO_COLOR", "\033" not in run(["tree", "sqlite3.json"], 80, 24, NO_COLOR="1")[0], "colours")
check("TERM=dumb", "\033" not in run(["tree", "sqlite3.json"], 80, 24, TERM="dumb")[0], "colours")
wide = run(["tree", "--wide", "--frames", "all", "templates.json"], 80, 24)[0]
check("--wide", "::push_back(Point&&)" in wide and "<\u2026>" not in wide, wide[:2000])
sys.exit(failed)
