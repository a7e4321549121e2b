"""Compares a heap dump with the output of Visualvm.java: instances of all classes, roots, shallow and retained sizes.

    hprof_visualvm.py HEAPDUMP DUMP OUTPUT

VisualVM counts class objects in its own way, so java.lang.Class is left out. Prints the differences and the totals."""
import json
import subprocess
import sys


def command(tool, *words):
    out = subprocess.run([tool, *words, "--json"], capture_output=True, text=True, check=True).stdout
    return json.loads(out)["files"][0]


def main(tool, dump, output):
    counts, sizes, roots, wrong, compared = {}, {}, 0, 0, 0
    for line in open(output):
        kind, *rest = line.rstrip("\n").split("\t")
        if kind == "class":
            counts[rest[0]] = int(rest[1])
        elif kind == "object":
            sizes[rest[0]] = [int(rest[1]), int(rest[2])]
        elif kind == "roots":
            roots = int(rest[0])
    ours = {}
    for c in command(tool, "classes", dump)["classes"]:
        ours[c["class"]] = ours.get(c["class"], 0) + c["objects"]
    for name, count in counts.items():
        if name != "java.lang.Class" and ours.get(name, 0) != count:
            wrong += 1
            print(f"  {name}: {ours.get(name, 0)} instances, VisualVM has {count}")
    for name in ("Shop$Toy", "Shop$Book", "Shop$Session", "Shop$B", "Shop$C", "Shop$D"):
        for o in command(tool, "objects", "--class", name, "--top", "100000", dump)["objects"]:
            if o["id"] not in sizes:
                continue
            compared += 1
            if [o["bytes"], o["retained"]] != sizes[o["id"]]:
                wrong += 1
                print(f"  {name} {o['id']}: {o['bytes']} and {o['retained']} bytes, VisualVM has {sizes[o['id']]}")
    print(f"{len(counts)} classes, {compared} objects, {roots} roots: {wrong} differences")
    sys.exit(wrong > 0 or compared < 1000 or roots == 0)


main(*sys.argv[1:])
