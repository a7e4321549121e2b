"""Compares a tally with a recording, program by program and process by process: `tally.py HEAPDUMP TALLY RECORDING`.
Prints those that differ, and the number of recorded ones."""
import json, struct, subprocess, sys

rows = open(sys.argv[2], "rb").read()
tallied, recorded, heaps = {}, {}, {}
for i in range(1, struct.unpack_from("<Q", rows)[0] + 1):
    row = struct.unpack_from("<7Q", rows, 64 * i)
    if row[4]: tallied.setdefault(row[0], []).append(row[1:])
for h in json.loads(subprocess.check_output([sys.argv[1], "info", "--json", sys.argv[3]]))["files"][0]["heaps"]:
    if h["kind"] in ("live", "total", "temporary"): heaps.setdefault(h["pid"], {})[h["kind"]] = (h["bytes"], h["blocks"])
for pid in sorted(heaps, reverse=True):
    recorded.setdefault(pid % (1 << 22), []).append(sum((heaps[pid].get(kind, (0, 0)) for kind in ("live", "total", "temporary")), ()))

for pid in sorted(set(tallied) | set(recorded)):
    a, b = tallied.get(pid, []), recorded.get(pid, [])
    if a != b: print(pid, "tallied", a, "recorded", b)
print(sum(map(len, recorded.values())))
