"""Compares recorded stacks with gdb's own, inside gdb, for stacks.sh.

Runs the program with the recorder preloaded. At allocations chosen by a seed, it stops where the recorder registers
the block. It reads the block's context from the program's memory, and compares it frame by frame with gdb's
backtrace. Nothing here depends on how the recorder unwinds.

Environment: STACKS_LIBRARY, the recorder; STACKS_REPORT, the file for findings; STACKS_EVERY, the mean number of
allocations between comparisons; STACKS_LEAST, the least number of comparisons; STACKS_SEED; HEAPDUMP_DEPTH, as the
recorder reads it. The status is 0 if all stacks are equal."""
import collections
import functools
import os
import random
import re
import sys

import gdb

LIBRARY = os.path.realpath(os.environ["STACKS_LIBRARY"])
EVERY = int(os.environ.get("STACKS_EVERY", "1"))
LEAST = int(os.environ.get("STACKS_LEAST", "100"))
DEPTH = int(os.environ.get("HEAPDUMP_DEPTH", "48"))
SHOWN = 2                       # differences printed in full
# Functions that register a block when its context is known: a frame there has a variable `allocation`.
PLACES = "hd__recorder_insert", "hd_register_insert"


class Contexts:
    """The recorder's tree of contexts; room `tracker` in heapdump.h."""

    def __init__(self):
        header = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../heapdump.h")
        self.bits = int(re.search(r"#define HD__SEGMENT_BITS (\d+)", open(header).read()).group(1))
        self.node = gdb.lookup_type("hd__contexts_row")
        fields = [self.node[name] for name in ("parent", "kind", "value")]
        self.fields = [(f.bitpos // 8, f.type.sizeof) for f in fields]
        self.kind = {f.name: f.enumval for f in gdb.lookup_type("hd_frame_kind").fields()}
        self.contexts = gdb.parse_and_eval("hd__tracker.contexts")
        self.known = {}
        if self.at(0)[:2] != (0xffffffff, self.kind["HD_FRAME_ROOT"]):
            raise RuntimeError("context 0 is no root: has the layout of hd_contexts changed?")

    def at(self, context):
        """Parent, kind and value of a node; it never changes."""
        if context not in self.known:
            shifted = context + (1 << self.bits)
            segment = shifted.bit_length() - 1 - self.bits
            address = int(self.contexts["segments"][segment])
            address += (shifted - (1 << (segment + self.bits))) * self.node.sizeof
            raw = bytes(gdb.selected_inferior().read_memory(address, self.node.sizeof))
            self.known[context] = tuple(int.from_bytes(raw[o:o + n], sys.byteorder) for o, n in self.fields)
        return self.known[context]

    def of_site(self, site):
        """The context of a site; blocks are registered with the site's number."""
        shifted = site + (1 << self.bits)
        segment = shifted.bit_length() - 1 - self.bits
        numbers = gdb.parse_and_eval("'heapdump_record.c'::recorder->context_of[%d]" % segment)
        return int(numbers[shifted - (1 << (segment + self.bits))])

    def stack(self, context):
        """Return addresses, innermost first, and whether the stack is marked as cut."""
        pcs, cut = [], False
        while context:
            parent, kind, value = self.at(context)
            if parent >= context or cut:
                raise RuntimeError("context %d with parent %d in a stack" % (context, parent))
            if kind == self.kind["HD_FRAME_PC"]:
                pcs.append(value)
            elif kind == self.kind["HD_FRAME_TRUNCATED"]:
                cut = True
            elif kind != self.kind["HD_FRAME_TYPE"] or pcs:
                raise RuntimeError("context %d is a frame of kind %d" % (context, kind))
            context = parent
        return pcs, cut


@functools.lru_cache(None)
def is_own(pc):
    """The recorder is loaded from the start and stays, so the answer can be kept."""
    return os.path.realpath(gdb.solib_name(pc) or "") == LIBRARY


def own(frame):
    return frame and is_own(frame.pc())


def site_in(frame):
    """The site of the block that this frame of the recorder registers; None if gdb cannot see it."""
    try:
        value = frame.read_var("allocation")
        if value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
            value = value.dereference()
        return int(value["context"])
    except (ValueError, gdb.error):
        return None


class Code:
    """The program's code ranges: other addresses are no return addresses, whatever a table claims."""

    def __init__(self):
        self.ranges = []

    def __contains__(self, pc):
        if not any(start <= pc < end for start, end in self.ranges):
            with open("/proc/%d/maps" % gdb.selected_inferior().pid) as maps:
                lines = [line.split() for line in maps]
            self.ranges = [[int(x, 16) for x in line[0].split("-")] for line in lines if "x" in line[1]]
        return any(start <= pc < end for start, end in self.ranges)


class Stop(gdb.Breakpoint):
    """Counts every allocation and compares the chosen ones. The program continues by itself."""

    def __init__(self, place):
        super().__init__(place, internal=True)
        self.chance = random.Random(int(os.environ.get("STACKS_SEED", "1")))
        self.contexts = self.error = None
        self.code = Code()
        self.shown = []
        self.seen = self.put_back = self.deepest = 0
        self.choose()
        self.found, self.early, self.threads = collections.Counter(), collections.Counter(), set()

    def choose(self):
        self.next = self.seen + self.chance.randint(1, 2 * EVERY - 1)

    def stop(self):
        self.seen += 1
        if self.seen == self.next:
            self.choose()
            try:
                self.compare()
            except Exception as e:
                self.error = "%s: %s" % (type(e).__name__, e)
                return True
        return False

    def compare(self):
        self.contexts = self.contexts or Contexts()
        frame, site, names = gdb.newest_frame(), None, []
        while own(frame):
            names.append(str(frame.name()))
            site = site_in(frame) if site is None else site
            frame = frame.older()
        if "hd_record_not_resized" in names:    # a failed realloc: the stack is of an earlier call
            self.put_back += 1
            return
        if site is None:
            raise RuntimeError("no variable `allocation` shows in " + " < ".join(names))
        theirs, reason, signal = [], None, False
        while frame and len(theirs) <= DEPTH:
            if frame.pc() not in self.code:     # gdb guesses beyond an outermost frame without unwind tables
                self.found["beyond"] += 1
                break
            if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
                theirs.append(frame)
                signal |= frame.type() == gdb.SIGTRAMP_FRAME
            reason = frame.unwind_stop_reason()
            frame = frame.older()
        ours, cut = self.contexts.stack(self.contexts.of_site(site))
        wanted, wanted_cut = [f.pc() for f in theirs[:DEPTH]], len(theirs) > DEPTH
        self.found["compared"] += 1
        self.found["cut"] += cut
        self.found["signal"] += signal
        self.deepest = max(self.deepest, len(ours))
        self.threads.add(gdb.selected_thread().num)
        if (ours, cut) == (wanted, wanted_cut):
            self.found["equal"] += 1
        elif (ours[:len(wanted)] == wanted and not wanted_cut
              and reason not in (gdb.FRAME_UNWIND_NO_REASON, gdb.FRAME_UNWIND_OUTERMOST)):
            self.early[gdb.frame_stop_reason_string(reason)] += 1
        else:
            self.found["different"] += 1
            if self.found["different"] <= SHOWN:
                self.show(ours, cut, theirs, wanted_cut)

    def show(self, ours, cut, theirs, wanted_cut):
        self.shown.append("allocation %d, thread %d: %d frames recorded%s, %d of gdb's%s" % (
            self.seen, gdb.selected_thread().num, len(ours), " and cut" * cut,
            min(len(theirs), DEPTH), " and cut" * wanted_cut))
        for i in range(max(len(ours), min(len(theirs), DEPTH))):
            a = ours[i] if i < len(ours) else None
            b, name = (theirs[i].pc(), theirs[i].name()) if i < len(theirs) else (None, None)
            self.shown.append("%s %3d  %-18s %-18s %s (%s)" % (
                " " if a == b else "*", i, "-" if a is None else hex(a), "-" if b is None else hex(b),
                name or "?", os.path.basename(gdb.solib_name(a if b is None else b) or "the program")))


def finish(status, message):
    with open(os.environ["STACKS_REPORT"], "w") as report:   # gdb and the program write to stdout
        print(message, file=report)
    gdb.execute("kill" if gdb.selected_inferior().pid else "echo", to_string=True)
    gdb.execute("quit %d" % status)


def loaded():
    return any(os.path.realpath(o.filename) == LIBRARY for o in gdb.objfiles() if o.filename)


def main():
    for setting in ("startup-with-shell off", "disable-randomization on", "environment LD_PRELOAD " + LIBRARY,
                    "backtrace past-main on", "backtrace past-entry on", "backtrace limit unlimited",
                    "stop-on-solib-events 1", "print thread-events off", "print inferior-events off"):
        gdb.execute("set " + setting)
    gdb.execute("handle all nostop noprint pass", to_string=True)
    try:
        gdb.execute("run", to_string=True)
    except gdb.error as e:
        finish(2, "gdb cannot run the program: %s" % e)
    while gdb.selected_inferior().pid and not loaded():
        gdb.execute("continue", to_string=True)
    if not gdb.selected_inferior().pid:
        finish(1, "the program ended without loading the recorder")
    gdb.execute("set stop-on-solib-events 0")
    stop = None
    for place in PLACES:
        if gdb.lookup_static_symbol(place):
            stop = Stop(place)
            break
    if not stop or stop.pending:
        finish(1, "none of %s is in the recorder's debug information" % ", ".join(PLACES))
    gdb.execute("continue", to_string=True)
    if stop.error:
        finish(1, "allocation %d: %s" % (stop.seen, stop.error))
    status = gdb.convenience_variable("_exitcode")
    if status is None or int(status) != 0:
        finish(1, "the program ended with status %s" % status)
    found = stop.found
    lines = stop.shown + ["%d of %d allocations compared, %d equal, %d different" % (
        found["compared"], stop.seen, found["equal"], found["different"])]
    lines += ["gdb stopped early at %d: %s" % (n, why) for why, n in stop.early.items()]
    lines += ["%d %s" % (n, what) for n, what in (
        (found["beyond"], "where gdb continues past the outermost frame to addresses without code"),
        (found["cut"], "cut at %d frames" % DEPTH), (found["signal"], "through a signal")) if n]
    lines += ["deepest %d, %d threads" % (stop.deepest, len(stop.threads))]
    good = found["equal"] + sum(stop.early.values()) == found["compared"] >= LEAST
    finish(0 if good else 1, "\n  ".join(lines))


main()
