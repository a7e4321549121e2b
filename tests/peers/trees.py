"""Trees of random stacks as terminals of many heights show them: each line has the bytes of the frames that lead to
it, as counted here, and no two lines below one begin with the same frame. trees.py TOOL WORK"""
import collections, fcntl, os, pty, random, re, struct, subprocess, sys, termios

tool, work = sys.argv[1:]
failed = 0
SEEN = collections.Counter()


def check(name, good, why=""):
    global failed
    failed |= not good
    print(f"PASS {name}" if good else f"FAIL {name}: {why}")


def on_terminal(arguments, rows, columns=99):
    """Lines as written to a terminal."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen([tool, *arguments], cwd=work, stdin=its, stdout=its, stderr=subprocess.DEVNULL,
                               env={"PATH": os.environ["PATH"], "TERM": "xterm", "NO_COLOR": "1", "HEAPDUMP_PAGER": "cat"})
    os.close(its)
    out = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break
        if not piece:
            break
        out += piece
    os.close(ours)
    if process.wait():
        raise SystemExit(f"FAIL {arguments}: exit status {process.returncode}")
    return out.decode().replace("\r", "").rstrip("\n").split("\n")


def cumulative(stacks):
    """Bytes of each path, and those of its innermost frame alone as <self>."""
    sums = collections.Counter()
    inner = {stack[:n] for stack in stacks for n in range(len(stack))}
    for stack, size in stacks.items():
        for n in range(len(stack) + 1):
            sums[stack[:n]] += size
        if stack in inner:
            sums[stack + ("<self>",)] += size
    return sums


def names_of(text):
    """Frames of a line, without how often one is repeated."""
    return [re.sub(r" ×\d+$", "", name) for name in text.split(" › ")]


def problem(lines, sums):
    """What is wrong with a tree; None: nothing."""
    total = sums[()]
    above = []                   # (indent, path)
    first = collections.defaultdict(set)
    if int(lines[0].split()[0]) != total:
        return f"total {lines[0]}"
    for line in lines[1:]:
        found = re.match(r" *(\d+) +[\d.]+%(?: +\d+)?  ( +)(.*)$", line)
        if not found:
            return f"no line of a tree: {line!r}"
        size, indent, names = int(found[1]), len(found[2]), names_of(found[3])
        SEEN["lines"] += 1
        while above and above[-1][0] >= indent:
            above.pop()
        path = above[-1][1] if above else ()
        if names == ["<other>"]:
            continue
        if names[0] in first[path]:
            return f"a second line begins with {names[0]} below {path}"
        first[path].add(names[0])
        SEEN["forks"] += len(first[path]) == 2
        if any("…" in name for name in names):
            return f"not all names: {line!r}"
        sizes = [sums.get(path + tuple(names[:n + 1])) for n in range(len(names))]
        if None in sizes:
            return f"no such frames below {path}: {line!r}"
        if size not in sizes or sizes[-1] < size - size // 100 - 1:
            return f"{size} where {sizes} are below {path}: {line!r}"
        above.append((indent, path + tuple(names)))
    return None


def random_stacks(r, recursive):
    stacks = collections.Counter()
    for _ in range(r.randint(1, 60)):
        stack = []
        for depth in range(r.randint(1, 7)):
            stack.append(r.choice("abc"[:r.randint(1, 3)]) + ("" if recursive else str(depth)))
        stacks[tuple(stack)] += r.choice((1, 10, 1000, 100000, 1 << 20)) * r.randint(1, 9)
    return stacks


def trees(kind, recursive, collapse, *more):
    for seed in range(60):
        r = random.Random(seed)
        stacks = random_stacks(r, recursive)
        with open(os.path.join(work, "stacks.folded"), "w") as f:
            for stack, size in stacks.items():
                f.write(";".join(stack) + f" {size}\n")
        sums = cumulative(collapse(stacks))
        for rows in 10, 16, 24, 40, 80:
            lines = on_terminal(["tree", "--bytes", *more, "stacks.folded"], rows)
            lines = [line for line in lines if not re.match("hidden:|next:|not shown:", line)]
            why = problem(lines, sums)
            if why:
                check(f"{kind}, seed {seed}, {rows} rows", False, why + "\n" + "\n".join(lines))
                return
    check(f"{kind}: lines have the bytes of their frames", True)


trees("plain stacks", False, lambda stacks: stacks)
trees("plain stacks, no frame folded", False, lambda stacks: stacks, "--frames", "all")
check(f"{SEEN['lines']} lines, {SEEN['forks']} of them where ways part", SEEN["lines"] > 1000 and SEEN["forks"] > 100)
sys.exit(failed)
