#!/usr/bin/env python3
"""The totals of a program's exact list of allocations: one_run.py FILE [pool]

FILE is written by one_run.c, or is heaptrack's raw record (which begins with "v "). Prints blocks and bytes in
total, at the peak, live at the end, and temporary (freed by their thread before its next allocation). For
heaptrack's record it also prints heaptrack_print's number of temporary allocations. pool: without the first block
of 72,704 bytes, which heaptrack's own C++ library allocates."""
import struct
import sys

POOL = 72704


def of_heaptrack(f):
    """Address, size (None when a block is freed), stack; there is one thread."""
    for line in f:
        words = line.split()
        if line[:2] == b"+ ":
            yield int(words[3], 16), int(words[1], 16), int(words[2], 16)
        elif line[:2] == b"- ":
            yield int(words[1], 16), None, None


def of_ours(f):
    """Address, size (None when a block is freed), thread."""
    while len(words := f.read(24)) == 24:
        what, address, size = struct.unpack("QQQ", words)
        if not what:
            return
        yield address, size if what & 255 == 1 else None, what >> 8


def printed_temporaries(events):
    """Counts a free right after an allocation of the same size and stack, whichever block it frees. After another
    free, it counts repeated frees of the first allocation."""
    live, kinds, count, last = {}, {}, 0, 0
    for address, size, stack in events:
        if size is None:
            count += live.pop(address, None) == last
            last = 0
        else:
            last = live[address] = kinds.setdefault((size, stack), len(kinds))
    return count


def figures(events):
    live, last, now = {}, {}, 0
    total, peak, temporary = [0, 0], [0, 0], [0, 0]
    for address, size, thread in events:
        if size is not None:
            now += size
            live[address] = size
            last[thread] = address
            total = [total[0] + 1, total[1] + size]
            continue
        if now > peak[1]:
            peak = [len(live), now]
        size = live.pop(address, None)
        if size is None:
            continue
        now -= size
        if last.get(thread) == address:
            last[thread] = None
            temporary = [temporary[0] + 1, temporary[1] + size]
    return total + max(peak, [len(live), now], key=lambda p: p[1]) + [len(live), now] + temporary


def without_pool(events):
    pool = None
    for address, size, stack in events:
        if pool is None and size == POOL:
            pool = address
        elif pool != address or size is not None:
            yield address, size, stack


with open(sys.argv[1], "rb") as f:
    if f.read(2) != b"v ":
        f.seek(0)
        print(*figures(of_ours(f)))
    else:
        events = list(of_heaptrack(f))
        kept = without_pool(events) if sys.argv[2:] == ["pool"] else events
        print(*figures((address, size, 0) for address, size, stack in kept), printed_temporaries(events))
