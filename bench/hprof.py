#!/usr/bin/env python3
"""Compares heapdump with VisualVM's library on a heap dump of a JVM: seconds and peak memory.

    make bench-hprof                               five minutes
    make bench-hprof HPROF_ARGS='--large 2'        also a dump of 2 GB: 9 GB of memory, 2 GB of disk

Both read the dump of bench/Heap.java and find the retained sizes of all objects. VisualVM's library is in Debian's
package visualvm; --visualvm names its folder. The tools take turns, and the fastest round counts.
"""

import argparse, glob, os, subprocess, sys, time

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--build", default="build", help="where heapdump is")
parser.add_argument("--visualvm", default="/usr/share/visualvm")
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--large", type=float, default=0, help="GB of another dump, which only heapdump reads")
options = parser.parse_args()
here = os.path.dirname(os.path.abspath(__file__))
tool = os.path.abspath(options.build) + "/heapdump"
work = os.path.abspath(options.build) + "/bench-hprof"


def run(command):
    """Wall seconds, processor seconds, and peak memory in bytes."""
    start = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit("bench/hprof.py: %s failed" % " ".join(command[:2]))
    return time.monotonic() - start, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def dump(name, rows, memory):
    """A dump with this many rows, of 670 bytes each in the file."""
    path = work + "/" + name
    if os.path.exists(path):
        os.remove(path)
    subprocess.check_call(["java", "-Xmx%dm" % memory, "-XX:+UseSerialGC", "-cp", work, "Heap", path, str(rows)])
    return path, os.path.getsize(path)


def ours(path, size):
    for command in ("info", "classes", "retained", "suspects"):
        seconds, processor, memory = min((run([tool, command, path]) for _ in range(options.rounds)), key=lambda r: r[1])
        print("%-18s %8.2f s, of processors %8.2f s, %6.0f MB, %7.0f MB/s" %
              ("heapdump " + command, seconds, processor, memory / 1e6, size / 1e6 / processor))


os.makedirs(work, exist_ok=True)
jars = ":".join(j for name in ("jfluid-heap", "common") for j in
                glob.glob(options.visualvm + "/**/org-graalvm-visualvm-lib-%s.jar" % name, recursive=True))
subprocess.check_call(["javac", "-nowarn", "-d", work, here + "/Heap.java"])
path, size = dump("heap.hprof", 470000, 1000)
print("a dump of %.0f MB" % (size / 1e6))
ours(path, size)
if jars:
    subprocess.check_call(["javac", "-nowarn", "-cp", jars, "-d", work, here + "/Retained.java"])
    seconds, processor, memory = run(["java", "-cp", jars + ":" + work, "Retained", path])
    print("%-18s %8.2f s, of processors %8.2f s, %6.0f MB" % ("VisualVM retained", seconds, processor, memory / 1e6))
else:
    print("SKIP: VisualVM's library (Debian's visualvm) is not in " + options.visualvm)
os.remove(path)
if options.large:
    path, size = dump("large.hprof", int(options.large * 1e9 / 670), int(options.large * 2000))
    print("\na dump of %.0f MB" % (size / 1e6))
    ours(path, size)
    os.remove(path)
