"""Processes llvm-symbolizer's and llvm-profdata's output for memprof-raw.sh.

    memprof.py table ADDRESSES BINARY SYMBOLIZER    the frames of those addresses that are in the binary, as memprof_tool
                                                    reads them; none without debug information
    memprof.py compare RECORDS YAML                 compares blocks and frames of memprof_tool with llvm-profdata's: all
                                                    allocation sites of all functions, and all fields of all blocks
"""
import collections
import json
import subprocess
import sys

FIELDS = """AllocCount TotalAccessCount MinAccessCount MaxAccessCount TotalSize MinSize MaxSize AllocTimestamp
DeallocTimestamp TotalLifetime MinLifetime MaxLifetime AllocCpuId DeallocCpuId NumMigratedCpu NumLifetimeOverlaps
NumSameAllocCpu NumSameDeallocCpu DataTypeId TotalAccessDensity MinAccessDensity MaxAccessDensity
TotalLifetimeAccessDensity MinLifetimeAccessDensity MaxLifetimeAccessDensity AccessHistogramSize
AccessHistogram""".split()


def table(addresses, binary, symbolizer):
    ranges = []
    for line in subprocess.check_output(["readelf", "-lW", binary], text=True).splitlines():
        words = line.split()
        if words[:1] == ["LOAD"] and "E" in words[6:8]:
            ranges.append((int(words[2], 16), int(words[2], 16) + int(words[5], 16)))
    pcs = sorted({int(line, 16) for line in open(addresses)})
    pcs = [pc for pc in pcs if any(low <= pc < high for low, high in ranges)]
    asked = subprocess.run([symbolizer, "--obj=" + binary, "--inlines", "--functions=linkage", "--no-demangle",
                            "--output-style=JSON"], input="".join("0x%x\n" % pc for pc in pcs), text=True,
                           stdout=subprocess.PIPE, check=True).stdout
    for pc, line in zip(pcs, asked.splitlines()):
        frames = json.loads(line).get("Symbol", [])
        if not frames or not frames[0]["FileName"]:
            continue
        for f in frames:
            print(hex(pc), f["FunctionName"], f["FileName"], f["Line"], f["Column"], f["StartLine"], sep="\t")


def canonical(name):
    """LLVM's name of a function, without suffixes of clones."""
    for suffix in (".llvm.", ".part.", ".__uniq."):
        name = name.split(suffix)[0]
    return name


def fields(values, counters):
    """Values that both print: no addresses of processes, and no missing counters, which version 3 does not state."""
    values.pop("AccessHistogram", None)
    if values.get("AccessHistogramSize") == "0":
        del values["AccessHistogramSize"]
    return tuple(sorted(values.items())) + (("counters", counters),)


def ours(path):
    """Each block with its frames, under every function into which it is inlined."""
    sites, blocks = collections.Counter(), []
    for line in open(path):
        words = line.split()
        if words[0] == "B":
            values = dict(zip(FIELDS, words[1:]))
            blocks.append((values, words[1 + len(FIELDS):], []))
        else:
            blocks[-1][2].append((canonical(words[1]), words[2], words[3], words[4]))
    for values, counters, frames in blocks:
        block = fields(values, " ".join(counters))
        for function, _, _, inlined in frames:
            sites[(function, tuple(frames), block)] += 1
            if inlined == "0":
                break
    return sites


def theirs(path):
    """llvm-profdata's YAML, which has names in place of GUIDs: records, sites, frames and blocks by indentation."""
    sites, guid, frames, values, kind = collections.Counter(), None, None, None, None
    names = {}

    def close():
        nonlocal values
        if frames is not None and values:
            counters = values.pop("AccessHistogramValues", "")
            block = fields(values, counters.strip())
            found.append((guid, tuple(tuple(f) for f in frames), block))
        values = None

    found = []
    for line in open(path):
        key, _, value = line.strip().partition(":")
        value = value.strip()
        if key == "-":
            continue
        if key == "FunctionGUID":
            close()
            guid = value
        elif key in ("AllocSites", "CallSites"):
            close()
            kind = key
        elif key == "Callstack" and kind == "AllocSites":
            close()
            frames = []
        elif kind != "AllocSites":
            continue
        elif key == "Function":
            frames.append([value])
        elif key == "SymbolName":
            names[frames[-1][0]] = value
        elif key in ("LineOffset", "Column", "Inline"):
            frames[-1].append(value)
        elif key == "MemInfoBlock":
            values = {}
        elif values is not None and key:
            values[key] = value
    close()
    for guid, frames, block in found:
        sites[(names[guid], tuple((names[f[0]],) + f[1:] for f in frames), block)] += 1
    return sites


def compare(records, yaml):
    a, b = ours(records), theirs(yaml)
    for what, rest in ("only ours", a - b), ("only llvm-profdata's", b - a):
        for site, count in sorted(rest.items())[:1]:
            print("     %s, one of %d:" % (what, len(rest)), str(site)[:500], file=sys.stderr)
    values = sum(len(site[2]) * count for site, count in b.items())
    frames = sum(len(site[1]) * count for site, count in b.items())
    print("%d sites, %d frames, %d fields" % (sum(b.values()), frames, values))
    return a != b or not b


if __name__ == "__main__":
    sys.exit({"table": table, "compare": compare}[sys.argv[1]](*sys.argv[2:]))
