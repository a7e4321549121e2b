"""top, suspects, info, check and pages: figures of lists."""
import re
from model import ZERO, add
from text import approx, BYTES, is_error, is_share, is_size, names_it

TOP = re.compile(rf"\s*(?P<bytes>{BYTES})(?P<error> ±\s*>?[\d.]+%)?\s+(?P<share>> ?100%|[\d.]+%)\s+(?P<bound>≤?)\s*"
                 rf"(?P<own>{BYTES})(?P<own_error> ±\s*>?[\d.]+%)?\s+(?P<own_share>> ?100%|[\d.]+%)")
FOOT = re.compile(r"hidden: |not shown: |next: |\(\+\.\.\.\?\)|not listed|left out")


def top(report, out, tables, condensed, sort=None, rough=0):
    """tables: for each heap its total and {name: (cumulative, self, amount in hidden callees)}."""
    table, total, has_blocks, last = None, 0, False, None
    for raw in out.split("\n"):
        raw = raw.rstrip()
        if not raw or FOOT.match(raw):
            continue
        m = re.fullmatch(rf"\s*({BYTES})(?: in (\d+) blocks?)?: (.*)", raw)
        if m and not TOP.match(raw):
            known = [i for i, (t, _) in enumerate(tables) if is_size(m[1], t[0]) and (not m[2] or int(m[2]) == t[1])]
            report.figures(m, [] if known else ["total"], "head of top", raw, [t for t, _ in tables][:3])
            report.relation()
            table, total, last = (tables[known[0]][1], tables[known[0]][0][0], None) if known else (None, 0, None)
            known_blocks = bool(known) and tables[known[0]][0][1] is not None
            continue
        if re.match(r"\s+total\s", raw):
            has_blocks = " blocks " in raw
            continue
        m = TOP.match(raw)
        if not m:
            report.bad("unparsed", raw)
            continue
        if table is None:
            continue
        rest = raw[m.end():].lstrip(" ")
        blocks = None
        if has_blocks:
            blocks, _, rest = rest.partition("  ")
        rest = rest.strip()
        plain = re.sub(r" \([^()]* unlisted[^()]*\)$", "", rest)
        found = [f for f in table if names_it(plain, f)] or [f for f in table if names_it(rest, f)]
        if condensed and plain == "<other>":
            continue
        if not found:
            report.bad("a name of no function", raw)
            continue
        least = None
        for f in found:
            (cum, own, moved), part = table[f], m["bound"]
            if condensed and (is_size(m["own"], moved[0]) or approx(m["own"]) < own[0]):
                own, part = (round(approx(m["own"])), None, moved[2]), True    # nothing else is known
            if condensed and f == "<self>":    # unlisted amounts are unknown
                continue
            bad = [k for k, good in (("bytes", is_size(m["bytes"], cum[0])), ("share", is_share(m["share"], cum[0], total)),
                                     ("self", part or is_size(m["own"], own[0])),
                                     ("self share", part or is_share(m["own_share"], own[0], total)),
                                     ("blocks", blocks is None or (None if blocks == "-" else int(blocks)) == cum[1]),
                                     ("error", is_error(m["error"], cum[2], cum[0])),
                                     ("self error", part or is_error(m["own_error"], own[2], own[0], rough))) if not good]
            if least is None or len(bad) < len(least[0]):
                least = bad, table[f]
        least = least or ([], None)
        report.figures(m, least[0], "top", raw, least[1])
        key = {"bytes": "bytes", "self": "own"}.get(sort)
        if key and m[key].isdigit():
            report.relation()
            if last is not None and int(m[key]) > last:
                report.bad(f"top: not sorted by {sort}", raw)
            last = int(m[key])


# suspects ----------------------------------------------------------------------------------------

NUMBER = rf"[+-]?{BYTES}"


def signed(printed, n):
    sign = printed[0] if printed[0] in "+-" else ""
    return is_size(printed.lstrip("+-"), int(abs(n))) and not (sign == "-" and n >= 1) and not (sign == "+" and n <= -1)


def suspects(report, out, heaps, bounds, sort=None):
    """heaps: of a series, in order. bounds(name, heap index): (least, most) possible amounts of a site with this
    name."""
    if re.match(r"the program freed all its memory: .*; the heap at its peak:$", out.split("\n")[0]):
        out = out.split("\n", 1)[1]             # the sites are of the peak
    out = re.sub(r"\n {8}(?=\S)", " ", out)      # lines that continue below
    for raw in out.split("\n"):
        if raw.endswith("…") and "called by" not in raw:
            report.bad("suspects: a figure is cut", raw)
    if " alive" in out.split("\n")[0]:          # suspects of objects
        return
    totals = []
    for h in heaps:
        t = ZERO
        for c in h:
            t = add(t, tuple(c[2:]))
        totals.append(t)
    freed = re.match(rf"the program freed all its memory: (?:no bytes are|only ({BYTES}) of libraries (?:is|are)) live$", out.split("\n")[0])
    if freed:                                   # and the file has no peak
        left = totals[-1][0]
        report.figures(freed, [] if (is_size(freed[1], left) if freed[1] else left < 1) else ["left"], "suspects", freed[0], left)
        return
    head = re.search(rf": one dump, ({BYTES})", out)
    grown = re.search(rf": (\d+) dumps(?: in [\d.]+ s)?, ({BYTES}) to ({BYTES})", out)
    if head:
        report.figures(head, [] if is_size(head[1], totals[-1][0]) else ["total"], "suspects", head[0], totals)
    elif grown:
        k = int(grown[1])
        bad = [w for w, p, t in (("first", grown[2], totals[0]), ("last", grown[3], totals[k - 1])) if not is_size(p, t[0])]
        report.figures(grown, bad, "suspects", grown[0], totals)
        totals = totals[:k]
    else:
        report.bad("unparsed", out.split("\n")[0])
        return
    name, shares, least, most, last = None, 0.0, 0.0, 1e300, None
    for raw in out.split("\n"):
        m = re.match(r" {0,2}\d+  (.*)", raw)
        if m and not raw.startswith("    "):
            name = m[1]
            continue
        if not raw.startswith("      ") or name is None or "called by" in raw:
            share = re.search(r"\((\d+)% of it\)", raw)
            if share:
                report.relation()
                if int(share[1]) > 100:
                    report.bad("suspects: callers' share over 100 %", raw)
            continue
        one = re.match(rf"\s+({BYTES})(?: ±\s*[\d.]+%)?, ([\d.]+)% of all(?:, (\d+) blocks?)?", raw)
        two = re.match(rf"\s+({NUMBER})(?: ±{BYTES})?(?: \((-?\d+)% of all growth\))?(.*)", raw)
        if two and not one and two[2] and two[1].lstrip("+-").isdigit():
            share = int(two[2])
            if share < 0:
                report.bad("a share of growth below 0", f"{name}: {raw.strip()}")
            elif share:                        # shares of one sum of growth for all
                least, most = max(least, 100 * abs(int(two[1])) / (share + .51)), min(most, 100 * abs(int(two[1])) / (share - .51))
        key = {"bytes": 1, "blocks": 3}.get(sort)
        if one and key and (one[key] or "").isdigit():
            report.relation()
            if last is not None and int(one[key]) > last:
                report.bad(f"suspects: not sorted by {sort}", raw)
            last = int(one[key])
        if one:
            shares += float(one[2])
            span = bounds(name, -1)
            bad = [] if not one[1].isdigit() or is_share(one[2], int(one[1]), totals[0][0] or 1) else ["share"]
            if not within(one[1], span, 0):
                bad.append("bytes")
            if one[3] and not within(one[3], span, 1):
                bad.append("blocks")
            if one[3] and span and span[0][1] is None:
                bad.append("unknown blocks printed")
            report.figures(one, bad, "suspects", f"{name}: {raw.strip()}", span)
        elif two:
            growth(report, two, name, raw, bounds, totals, len(totals))
        else:
            report.bad("unparsed", raw)
    report.relation()
    if least > most:
        report.bad("suspects: shares of growth have different totals", f"{least:.0f} > {most:.0f}: {out[:200]}")
    if shares > 100.6:
        report.bad("suspects: shares of all add up to more than 100 %", f"{shares:.1f}%")


def within(printed, span, k):
    """Between the self amount of a function and all below it; if both are equal, exactly that."""
    if span is None or None in (span[0][k], span[1][k]):
        return True
    return is_size(printed, span[0][k]) or is_size(printed, span[1][k]) or span[0][k] <= approx(printed) <= span[1][k]


def growth(report, two, name, raw, bounds, totals, n):
    grown = approx(two[1].lstrip("+-")) * (-1 if two[1][0] == "-" else 1)
    now = re.search(rf"now ({BYTES})", raw)
    step = re.search(rf"; ({NUMBER}) a step", raw)
    steps = re.search(r"grew in (\d+) of (\d+) steps", raw)
    bad = []
    exact = two[1].lstrip("+-").isdigit()
    if exact and step and not signed(step[1], int(grown / (n - 1))):
        bad.append("a step")
    if steps and (int(steps[2]) != n - 1 or int(steps[1]) > n - 1):
        bad.append("steps")
    a, b = bounds(name, 0), bounds(name, n - 1)
    if now and not within(now[1], b, 0):
        bad.append("now")
    if exact and now and a and b and not (a[0][0] <= int(now[1]) - grown <= a[1][0]):
        bad.append("growth")
    blocks = re.search(r", ([+-]\d+) blocks?", raw)
    if blocks and b and b[1][1] is None:
        bad.append("unknown blocks printed")
    if "; ;" in raw or ";  ;" in raw:
        bad.append("empty part")
    report.figures(two, bad, "suspects", f"{name}: {raw.strip()}", (a, b))


# info, check -------------------------------------------------------------------------------------

def info(report, out, heaps):
    seen = []
    for raw in out.split("\n"):
        m = re.fullmatch(rf"\s*(\d+)  (.{{16,}}?) +(\S+) +([\d.]+) s  (.+?) +({BYTES}) +(\d+|-)  (\d+) (entries|entry|contexts?)(.*)", raw)
        if not m:
            continue
        if (m[8] == "1") != (m[9] in ("entry", "context")):
            report.bad("info: plural", raw)
        for i, h in enumerate(heaps):
            n = ZERO
            for c in h.cells:
                n = add(n, tuple(c[2:]))
            if i in seen or h.pid != int(m[1]) or not is_size(m[6], n[0]) or \
                    (m[7] == "-") != (n[1] is None) or (n[1] is not None and int(m[7]) != n[1]):
                continue
            if int(m[8]) != h.rows:
                report.note("info: the number of contexts differs", f"{raw} (ours {h.rows})")
            seen.append(i)
            report.figures(m, [], "info", raw)
            break
        else:
            report.figures(m, ["total"], "info", raw)
    report.relation()
    if len(seen) != len(heaps):
        report.bad("info: missing heaps or other figures", out)


CHECK = re.compile(rf"(ok|noise|FAILED|untested|unknown|\S+)\s+(growth|total|site)\s+({BYTES}|-)\s+({BYTES})(?:\s+({BYTES}))??\s+"
                   rf"([+-][\d.]+%)?\s+({BYTES})  (.*)")


def check(report, out, before, after, limits):
    """limits: {"growth": share, "total": bytes, "site": (regex, bytes)}; the totals are of two heaps of one process
    each."""
    for raw in out.split("\n")[1:]:
        if not raw.strip() or FOOT.match(raw):
            continue
        m = CHECK.fullmatch(raw)
        if not m:
            report.bad("unparsed", raw)
            continue
        bad, a, b = [], sum(c[2] for c in before), sum(c[2] for c in after)
        limit = a * (1 + limits["growth"]) if m[2] == "growth" else limits.get("total")
        if m[2] == "site":
            b = sum(c[2] for c in after if any(re.search(limits["site"][0], f) for f in c[0]))
            limit = limits["site"][1]
        if m[2] == "growth" and m[3] != "-" and not is_size(m[3], a):
            bad.append("before")
        if not is_size(m[4], b):
            bad.append("after")
        if m[6] and m[3] != "-" and a and abs(float(m[6].rstrip("%")) - 100 * (b - a) / a) > 0.0501:
            bad.append("change")
        if limit is not None and m[3] != "-" and not is_size(m[7], int(limit)):
            bad.append("limit")
        if m[3] != "-" or m[2] != "growth":
            good = b <= limit
            if (m[1] == "ok") != good:
                bad.append("verdict")
        report.figures(m, bad, "check", raw, (a, b, limit))


# pages -------------------------------------------------------------------------------------------

def pages(report, out, live=None):
    """live: {function: bytes} of the same recording, from another command."""
    head = re.search(rf"(\d+) live in (\d+) blocks? keep (\d+): (\d+) pages of (\d+), ([\d.]+) % full", out)
    if not head:
        report.bad("unparsed", out.split("\n")[0])
        return
    total, blocks, kept, count, size = (int(head[i]) for i in range(1, 6))
    report.figures(head, [] if count * size == kept else ["pages"], "pages", head[0])
    tenths = [int(n) for n in re.findall(r"[<≥]\d+% (\d+)", out)]
    shares = lives = 0
    for raw in out.split("\n"):
        m = re.fullmatch(r"\s*(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)%  (.*)", raw)
        if not m:
            continue
        pages, own, share, of, full = (int(m[i]) for i in range(1, 6))
        bad = [k for k, good in (("pages", pages % size == 0 and pages <= kept), ("own pages", own <= pages and own % size == 0),
                                 ("share", own <= share <= pages), ("full", full <= 100)) if not good]
        found = [n for f, n in (live or {}).items() if names_it(m[6], f)]
        if live is not None and found and of not in found:
            bad.append("live")
        shares, lives = shares + share, lives + of
        report.figures(m, bad, "pages", raw, found)
    for k, good in (("tenths", sum(tenths) == count), ("live", lives == total),
                    ("share", abs(shares - kept) <= 1 + out.count("\n"))):
        report.relation()
        if not good:
            report.bad(f"pages: {k} do not add up", head[0])
