"""Names that a programmer knows, on a terminal: a printed way against all steps of it, which JSON has.

A way that is too long leaves out steps, "… 3 more" or "… 3", and classes behind names: "bus" for "bus: EventEmitter". The
last variable stays as long as it fits beside the end of the way, and so does the root beside both; so does the last
property if no other name is shown."""
import re
from steps import MORE, split
from text import like
from told import clean, judge

END, WITH_ROOT = 8, 12           # columns that the end of a way keeps beside a variable, and with the root, too


def known(g):
    """Names of variables, of properties, those that may be one, and those that may be variables."""
    if "known" not in g.cache:
        if g.format != "heapsnapshot":
            names = set(), {clean(r.name) for refs in g.refs for r in refs if r.name}, set(), set()
        else:
            names = tuple({clean(r.name) for refs, kinds in zip(g.refs, g.edge_types) for r, k in zip(refs, kinds)
                           if k in of and r.name and not r.name.isdigit()} for of in (("context",), ("property", "shortcut"), ("internal", "hidden")))
            both = names[0] | names[1]         # of two kinds: not known which it is
            names = names[0] - names[1] - names[2], both - names[2], both & names[2], names[0]
        g.cache["known"] = names
    return g.cache["known"]


def label_of(step, names):
    """The name of a step, if it is one of these."""
    at = step.find(": ")
    while at >= 0:
        if step[:at] in names:
            return step[:at]
        at = step.find(": ", at + 1)
    return None


def brief(step, label):
    """A step without its class. A list keeps its length."""
    m = re.match(re.escape(label) + r": list of \d+(?= )", step)
    return m[0] + "…" if m else label


def align(shown, whole):
    """By step of the whole way what is printed of it, None if it is left out; None: they do not match."""
    out = []
    for s in shown:
        m = MORE.fullmatch(s)
        if m and not (len(out) < len(whole) and s == whole[len(out)]):
            out += [None] * int(m[1])
            continue
        if len(out) == len(whole):
            return None
        want = whole[len(out)]
        if not (s == want or like(s, want) or "…" in want or want.startswith(s + ": ") or (s.endswith("…") and want.startswith(s[:-1]))):
            return None
        out.append(s)
    return out if len(out) == len(whole) else None


def text_with(out, whole, names):
    """The shortest text of a way that has these of its steps, as bare names, and its end."""
    parts, left = [], 0
    for k in range(len(whole)):
        if k in names or k + 1 == len(whole):
            parts += [f"… {left}"] * (left > 0) + [names.get(k, out[-1])]
            left = 0
        else:
            left += 1
    return " › ".join(parts)


def shown_later(out, whole, last, names):
    """The last name; where one may be of two kinds, the last that is shown and may be it."""
    later = [k for k, s in enumerate(whole[:-1]) if k > max(last, default=-1) and out[k] is not None and label_of(s, names)]
    return {later[-1]: out[later[-1]]} if later else last


def kept(report, g, raw, columns, shown, whole, beside, rooted=True):
    """beside: columns of the line that are no part of the way; rooted: it begins with a root."""
    whole = [clean(s) for s in split(" › ".join(whole))]
    out = align(shown, whole)
    if not judge(report, "way on a terminal", raw, [("other steps than in JSON", out is not None)], whole) or not columns:
        return
    variables, properties, perhaps, scoped = known(g)
    mine = {k: brief(s, label_of(s, variables)) for k, s in enumerate(whole[:-1]) if label_of(s, variables)}
    facts = []
    last = shown_later(out, whole, {k: mine[k] for k in sorted(mine)[-1:]}, scoped)
    if any(out[k] is None for k in last) and out[-1]:
        least = len(text_with(out, whole, last)) - max(0, len(out[-1]) - END)
        facts.append(("a variable is left out though it fits", beside + least >= columns))
    named = [k for k, s in enumerate(whole[:-1]) if label_of(s, properties)]
    if not last and named:
        last = {named[-1]: brief(whole[named[-1]], label_of(whole[named[-1]], properties))}
    if not variables & {label_of(s, variables) for s in whole}:
        last = shown_later(out, whole, last, properties | perhaps)
    if rooted and out[0] is None and out[-1]:
        least = len(text_with(out, whole, {**last, 0: whole[0]})) - max(0, len(out[-1]) - WITH_ROOT)
        facts.append(("the root is left out though it fits", beside + least >= columns))
    if named and out[-1] and all(out[k] is None for k, s in enumerate(whole[:-1]) if k in named or label_of(s, perhaps)):
        last = {named[-1]: brief(whole[named[-1]], label_of(whole[named[-1]], properties))}
        facts.append(("no name is shown though one fits", beside + len(text_with(out, whole, last)) >= columns))
    judge(report, "way on a terminal", raw, facts, whole)
