"""Trees of random stacks on terminals of many heights. Each line has the bytes of the frames that lead to it, as
counted here. No two lines below one line begin with the same frame. trees.py TOOL WORK"""
import collections, os, random, re, subprocess, sys
import on_terminal

tool, work = sys.argv[1:]
failed = 0
SEEN = collections.Counter()


def check(name, good, why=""):
    global failed
    failed |= not good
    print(f"PASS {name}" if good else f"FAIL {name}: {why}")


def shown_lines(arguments, rows, columns=99):
    """Lines as written to a terminal."""
    out, status = on_terminal.run([tool, *arguments], columns, rows, ("stdin", "stdout"), cwd=work, stderr=subprocess.DEVNULL,
                                  env={"PATH": os.environ["PATH"], "TERM": "xterm", "NO_COLOR": "1", "HEAPDUMP_PAGER": "cat"})
    if status:
        raise SystemExit(f"FAIL {arguments}: exit status {status}")
    return out.decode().replace("\r", "").rstrip("\n").split("\n")


def cumulative(stacks):
    """Bytes of each path, with the self bytes of its innermost frame as <self>."""
    sums = collections.Counter()
    for stack, size in stacks.items():
        for n in range(len(stack) + 1):
            sums[stack[:n]] += size
        sums[stack + ("<self>",)] += size
    return sums


def names_of(text, each):
    """Frames of a line, repeated ones expanded."""
    names = []
    for name in text.split(" › "):
        name, _, times = name.partition(" ×")
        names += [name] * (int(times) if times and each else 1)
    return names


def problem(lines, sums, each=False, least_self=False):
    """The fault of a tree, or None."""
    total = sums[()]
    above = []                   # (indent, path)
    first = collections.defaultdict(set)
    if int(lines[0].split()[0]) != total:
        return f"total {lines[0]}"
    for line in lines[1:]:
        found = re.match(r" *(\d+) +[\d.]+%(?: +\d+)?  ( +)(.*)$", line)
        if not found:
            return f"a line of no tree: {line!r}"
        size, indent, names = int(found[1]), len(found[2]), names_of(found[3], each)
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
        if least_self and names[-1] == "<self>" and size <= sizes[-1]:
            continue
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


def once(stacks, longest=32):
    """Stacks in which repeated groups of frames, up to the given length, occur once."""
    sums = collections.Counter()
    for stack, size in stacks.items():
        left = ()
        for frame in stack:
            left += frame,
            for n in range(1, longest + 1):
                if 2 * n <= len(left) and left[-n:] == left[-2 * n:-n]:
                    left = left[:-n]
                    SEEN["repeated"] += 1
                    break
        sums[left] += size
    return sums


def trees(kind, recursive, collapse, *more, convert=False, least_self=False):
    for seed in range(60):
        r = random.Random(seed)
        stacks = random_stacks(r, recursive)
        with open(os.path.join(work, "stacks.folded"), "w") as f:
            for stack, size in stacks.items():
                f.write(";".join(stack) + f" {size}\n")
        sums = cumulative(collapse(stacks))
        file = "stacks.folded"
        if convert:
            file = "stacks.json"
            subprocess.run([tool, "convert", "--to", "chrome", "--min-bytes", "1", "-o", file, "stacks.folded"], cwd=work,
                           check=True, stderr=subprocess.DEVNULL)
        for rows in 10, 16, 24, 40, 80:
            lines = shown_lines(["tree", "--bytes", *more, file], rows)
            lines = [line for line in lines if not re.match("hidden:|next:|not shown:", line)]
            why = problem(lines, sums, "--frames" in more, least_self)
            if why:
                check(f"{kind}, seed {seed}, {rows} rows", False, why + "\n" + "\n".join(lines))
                return
    check(f"{kind}: lines have the bytes of their frames", True)


trees("plain stacks", False, lambda stacks: stacks)
trees("plain stacks, no frame folded", False, lambda stacks: stacks, "--frames", "all")
trees("recursion", True, once)
trees("recursion, all frames folded", True, once, "--all")
trees("recursion, no frame folded", True, lambda stacks: stacks, "--frames", "all")
trees("recursion, cumulative sizes", True, once, convert=True)
trees("recursion, all cumulative sizes", True, lambda stacks: once(stacks, 1), "--all", convert=True, least_self=True)
check(f"{SEEN['repeated']} cycles", SEEN["repeated"] > 1000)

# Cumulative sizes: self bytes of repeated frames may be shown as <other>.

# The number of repetitions is the maximum; also the place where paths part within a recursion.
with open(os.path.join(work, "cycles.folded"), "w") as f:
    f.write("main;f;f;f;g 10\nmain;f;g 20\nmain;f;f;h 5\nmain;x;y;x;y;x;y;z 7\nmain;x;y;z 1\nmain;x;y;x;q 3\n"
            "main;" + "walk;" * 50 + "leaf 100\nmain;walk;leaf 1\nmain;walk;walk;twig 40\n")
shown = subprocess.run([tool, "tree", "--bytes", "cycles.folded"], cwd=work, capture_output=True, text=True).stdout
check("how often a frame is repeated", shown == """187  100.0%  total
187  100.0%    main
141   75.4%      walk ×50
101   54.0%        leaf
 40   21.4%        twig
 35   18.7%      f ×3
 30   16.0%        g
  5    2.7%        h
 11    5.9%      x › y ×3
  8    4.3%        z
  3    1.6%        x › q
""", shown)
inverted = subprocess.run([tool, "tree", "--bytes", "--invert", "cycles.folded"], cwd=work, capture_output=True, text=True).stdout
check("inverted", "101   54.0%    leaf › walk › main" in inverted and "30   16.0%    g › f › main" in inverted, inverted)

# Libraries without names.
with open(os.path.join(work, "stripped.folded"), "w") as f:
    f.write("main;lib.so+0x10;lib.so+0x2f;lib.so+0x3;go;a.so+0x1;b.so+0x2;b.so+0x3 10\n"
            "other;go;lib.so+0x10;lib.so+0x10a;x+y 20\nmain;z 30\n")
arguments = ["tree", "--bytes", "stripped.folded"]
shown = "\n".join(shown_lines(arguments, 40))
check("frames of a library without names", "lib.so+0x10 (stripped) ×3 › go › a.so+0x1 › b.so (stripped) ×2" in shown
      and "other › go › lib.so (stripped) ×2 › x+y" in shown, shown)
shown = "\n".join(shown_lines([*arguments, "--frames", "all"], 40))
check("each of them", "stripped)" not in shown and "lib.so+0x2f" in shown, shown)
check(f"{SEEN['lines']} lines, {SEEN['forks']} of them where paths part", SEEN["lines"] > 1000 and SEEN["forks"] > 100)
sys.exit(failed)
