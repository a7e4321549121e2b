#!/usr/bin/env python3
"""Compares `heapdump memprof --json` and `heapdump info --json` of an indexed MemProf profile with the YAML of
`llvm-profdata show --memory`.

    memprof_show.py OURS.json INFO.json THEIRS.yaml
"""
import json
import re
import sys

import yaml

ours = json.load(open(sys.argv[1]))
info = json.load(open(sys.argv[2]))["files"][0]
text = open(sys.argv[3]).read()
theirs = next((d for d in yaml.safe_load_all(text) if d), {})


def number(v):
    return int(v, 16) if isinstance(v, str) else v


def their_frames(frames):
    return [(f["Function"], f["LineOffset"], f["Column"], f["IsInlineFrame"]) for f in frames]


def our_frames(frames):
    return [(number(f["SymbolName"]), f["LineOffset"], f["Column"], bool(f["Inline"])) for f in frames]


def their_record(r):
    return ([(their_frames(a["Callstack"]), a["MemInfoBlock"] or {}) for a in r.get("AllocSites") or []],
            [(their_frames(c["Frames"]), [number(g) for g in c.get("CalleeGuids") or []]) for c in r.get("CallSites") or []])


def our_record(r):
    callees = r.get("Callees") or [[] for _ in r["CallSites"]]
    return ([(our_frames(a["Callstack"]), a["MemInfoBlock"]) for a in r["AllocSites"]],
            [(our_frames(c), [number(g) for g in called]) for c, called in zip(r["CallSites"], callees)])


def accesses(d):
    found = [(r.get("Symbol"), r.get("Hash"), r["AccessCount"], [(p["FileName"], p["Line"]) for p in r.get("Locations") or []])
             for r in d.get("SampledRecords") or []]
    return found, sorted(d.get("KnownColdSymbols") or []), sorted(d.get("KnownColdStrHashes") or [])


wrong = []
a = {number(r["GUID"]): our_record(r) for r in ours["Records"]}
b = {number(r["GUID"]): their_record(r) for r in theirs.get("HeapProfileRecords") or []}
if a.keys() != b.keys():
    wrong.append("%d records here, %d there" % (len(a), len(b)))
wrong += ["record %#x: %s here, %s there" % (g, a[g], b[g]) for g in a.keys() & b.keys() if a[g] != b[g]]
if accesses(ours.get("DataAccessProfiles") or {}) != accesses(theirs.get("DataAccessProfiles") or {}):
    wrong.append("accesses to data: %s here, %s there" % (ours.get("DataAccessProfiles"), theirs.get("DataAccessProfiles")))
told = [int(n) for n in re.findall(r"^#   (?:Total|Maximum) .*: (\d+)$", text, re.M)]
if list(info["summary"].values()) != told:
    wrong.append("summary: %s here, %s there" % (info["summary"], told))
print("\n".join(w[:200] for w in wrong[:3]) if wrong else "%d records, %d call sites with callees, %d accesses to data, summary %s" % (
    len(a), sum(bool(c) for r in a.values() for _, c in r[1]), len(accesses(ours.get("DataAccessProfiles") or {})[0]), told))
sys.exit(bool(wrong))
