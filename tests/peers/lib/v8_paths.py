"""Paths to objects of V8 snapshots against DevTools' distances (which v8.sh checks): v8_paths.py TOOL FILE... Paths
from objects that the program holds come first, the shortest first, and no two share an object."""
import json, random, subprocess, sys

tool, *files = sys.argv[1:]
failed = 0


def answer(*arguments):
    return json.loads(subprocess.run([tool, *arguments, "--json"], capture_output=True, check=True).stdout)["files"][0]


for file in files:
    objects = answer("retained", "--top", "1000000", file)["objects"]
    wrong, several = [], 0
    for o in random.Random(7).sample(objects, min(40, len(objects))):
        paths = answer("path", "--paths", "5", "--id", o["id"], file)["paths"]
        lengths = [len(p["objects"]) - 1 for p in paths]
        system = [len(p["objects"]) > 1 and p["objects"][1]["class"] == "(synthetic)" for p in paths]
        several += len(paths) > 1
        if o["distance"] is None or not paths: continue
        if o["distance"] < 10 ** 8 and lengths[0] != o["distance"]: wrong.append((o["id"], "distance", o["distance"], lengths))
        if system != sorted(system): wrong.append((o["id"], "system roots before user roots"))
        for kind in False, True:
            these = [n for n, s in zip(lengths, system) if s == kind]
            if these != sorted(these): wrong.append((o["id"], "longer before shorter", lengths))
        seen = [x["id"] for p in paths for x in p["objects"][:-1] if x["class"] != "(synthetic)"]
        if len(seen) != len(set(seen)): wrong.append((o["id"], "an object on two paths"))
        if any(p["objects"][-1]["id"] != o["id"] for p in paths): wrong.append((o["id"], "the end"))
    name = file.rsplit("/", 1)[-1]
    if wrong: failed = 1
    print(f"FAIL paths in {name}: {wrong[:5]}" if wrong else f"PASS paths in {name}: {several} objects have several")
sys.exit(failed)
