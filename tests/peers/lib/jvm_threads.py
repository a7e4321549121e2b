"""Compares the threads of a heap dump with those of jstack: name, state and stack.

    jvm_threads.py HEAPDUMP DUMP JSTACK

The dump has no threads of the VM itself, and jstack no retained sizes; so each thread of the dump must be in jstack.
Prints the number of equal threads and frames."""
import json
import re
import subprocess
import sys


def in_dump(tool, dump):
    out = subprocess.run([tool, "threads", "--strict", "--json", dump], capture_output=True, text=True, check=True).stdout
    for t in json.loads(out)["files"][0]["threads"]:
        frames = [f["function"] + "(" + ("Native Method" if f["native"] else f["source"] + ":%d" % f["line"]) + ")"
                  for f in t["frames"]]
        yield t["thread"], (t["state"], frames)


def in_jstack(path):
    threads, name = {}, None
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if m := re.match(r'"(.*)" #\d+ ', line): name = m[1]
            elif m := re.match(r"   java.lang.Thread.State: (\w+)", line): threads[name] = m[1], []
            elif m := re.match(r"\tat ([^(]*)\((?:[^/()]*/)?([^()]*)\)", line): threads[name][1].append(m[1] + "(" + m[2] + ")")
    return threads


def main(tool, dump, jstack):
    ours, theirs = list(in_dump(tool, dump)), in_jstack(jstack)
    for name, thread in ours:
        if thread != theirs.get(name): sys.exit(f"{name}: {thread}; jstack has {theirs.get(name)}")
    print(f"{len(ours)} threads, {sum(len(frames) for _, (_, frames) in ours)} frames")


main(*sys.argv[1:])
