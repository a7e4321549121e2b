"""Programs with one leak each, and three Node snapshots of each: the leak is named first, and every figure is
right."""
import os, re, shutil, subprocess


def programs(root, some, turn):
    """The given number of programs of tests/peers/programs/leaks/node, others each time; all if `some` is None."""
    folder = os.path.join(root, "tests/peers/programs/leaks/node")
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) and shutil.which("node") else []
    names = [os.path.join(folder, n) for n in names if n.endswith(".js")]
    return names if some is None or not names else [names[(turn + k) % len(names)] for k in range(min(some, len(names)))]


def snapshots(program, work):
    """The files of a run in order, and the name of the leak's holder."""
    out = os.path.join(work, os.path.basename(program)[:-3])
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    subprocess.run(["node", program, out], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    leak = re.search(r"^// leak: (\S+)", open(program).read(), re.M)[1]
    return sorted(os.path.join(out, n) for n in os.listdir(out) if n.endswith(".heapsnapshot")), leak


def check_named(report, got, leak, names):
    """With several snapshots: the first suspect's name, class, holder or new objects contain the leak's name."""
    report.by, first = "suspects", (got or {}).get("suspects", [])[:1]
    told = [first[0]["class"], first[0]["name"], *first[0]["path"], *first[0]["within"],
            *(b["class"] for key in ("new", "below") for b in first[0].get(key, []))] if first else []
    report.count += 1
    if not any(re.search(rf"(^|\W){re.escape(leak)}(\W|$)", t) for t in told):
        report.bad("leak: it is not named first", f"{names[-1]}: {leak} expected, found {told}")
