"""Compares the classes of a heap dump with a class histogram of the JVM: objects and bytes of each class.

    hprof.py HEAPDUMP DUMP HISTOGRAM

Prints each class that differs, then the totals. Fails if more than 0.1 % of the bytes differ. Names of lambdas and
other hidden classes have an address, which both name differently: it is left out, and their classes are summed."""
import json
import re
import subprocess
import sys

PRIMITIVE = dict(Z="boolean", C="char", F="float", D="double", B="byte", S="short", I="int", J="long")


def plain(name):
    """A class's name without the address of a hidden class, with array types as in Java."""
    ranks = len(name) - len(name.lstrip("["))
    if ranks:
        name = name[ranks:]
        name = (PRIMITIVE.get(name) or name[1:].rstrip(";")) + "[]" * ranks
    return re.sub(r"[/+.]0x[0-9a-f]+", "", name)


def summed(rows):
    classes = {}
    for name, objects, size in rows:
        total = classes.setdefault(plain(name), [0, 0])
        total[0] += objects
        total[1] += size
    return classes


def in_dump(tool, dump):
    out = subprocess.run([tool, "classes", "--strict", "--json", dump], capture_output=True, text=True, check=True).stdout
    return summed((c["class"], c["objects"], c["bytes"]) for c in json.loads(out)["files"][0]["classes"])


def in_histogram(path):
    with open(path) as lines:
        rows = [re.match(r"\s*\d+:\s+(\d+)\s+(\d+)\s+(\S+)", line) for line in lines]
    return summed((m[3], int(m[1]), int(m[2])) for m in rows if m)


def main(tool, dump, histogram):
    ours, theirs = in_dump(tool, dump), in_histogram(histogram)
    if not theirs:
        sys.exit("the histogram is empty")
    total, wrong = sum(size for _, size in theirs.values()), 0
    for name in sorted(set(ours) | set(theirs)):
        a, b = ours.get(name, [0, 0]), theirs.get(name, [0, 0])
        if a != b and (a[0] or b[0]):
            wrong += abs(a[1] - b[1])
            print(f"  {name}: {a[0]} objects, {a[1]} bytes; the JVM has {b[0]} and {b[1]}")
    print(f"{len(theirs)} classes; {wrong} of {total} bytes differ")
    sys.exit(1000 * wrong > total)


main(*sys.argv[1:])
