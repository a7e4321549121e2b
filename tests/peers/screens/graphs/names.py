"""Names that a programmer knows, on a terminal: compares a printed path with all of its steps, which JSON has.

A path that is too long omits steps ("… 3 more" or "… 3") and classes after names ("bus" for "bus: EventEmitter").
The last variable is kept as long as it fits next to the end of the path, and then the root as long as it fits next
to both. If no other name is shown, the same holds for the last property."""
import re
from steps import MORE, split, without_package
from text import like
from told import clean, judge

OF_JAVA = "java.", "javax.", "jdk.", "sun.", "com.sun."  # few know the static fields of Java's library
END, WITH_ROOT = 8, 12           # columns that the end of a path keeps next to a variable, and next to variable and root


def known(g):
    """Names of variables; of properties; names that may be properties; names that may be variables."""
    if "known" not in g.cache:
        if g.format != "heapsnapshot":
            names = set(), {clean(r.name) for refs in g.refs for r in refs if r.name and not r.name.startswith(OF_JAVA)}, set(), set()
        else:
            names = tuple({clean(r.name) for refs, kinds in zip(g.refs, g.edge_types) for r, k in zip(refs, kinds)
                           if k in of and r.name and not r.name.isdigit()} for of in (("context",), ("property", "shortcut"), ("internal", "hidden")))
            both = names[0] | names[1]         # of two kinds: it is unknown which
            names = names[0] - names[1] - names[2], both - names[2], both & names[2], names[0]
        g.cache["known"] = names
    return g.cache["known"]


def label_of(step, names):
    """The name of a step if it is one of these."""
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
    """For each step of the whole path, its printed form, or None if it is omitted. Returns None if the two do not
    match."""
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
    """The shortest text of a path with these steps as bare names, and with its end."""
    parts, left = [], 0
    for k in range(len(whole)):
        if k in names or k + 1 == len(whole):
            parts += [f"… {left}"] * (left > 0) + [names.get(k, out[-1])]
            left = 0
        else:
            left += 1
    return " › ".join(parts)


def shown_later(out, whole, last, names):
    """The last name; if a name may be of two kinds, the last shown name that may be of this kind."""
    later = [k for k, s in enumerate(whole[:-1]) if k > max(last, default=-1) and out[k] is not None and label_of(s, names)]
    return {later[-1]: out[later[-1]]} if later else last


def on_terminal(g, step):
    """A step as a terminal shows it: classes of Java without their package."""
    if g.format == "hprof":
        for name in sorted({n for n, _ in g.classes if "." in n and n in step}, key=len, reverse=True):
            step = re.sub(rf"(^|: |\[\] |list of \d+ |tree of ){re.escape(clean(name))}(?=$|[ ,])",
                          lambda m: m[1] + clean(without_package(name)), step)
    return step


def kept(report, g, raw, columns, shown, whole, beside, rooted=True):
    """beside: columns of the line outside the path; rooted: whether the path begins with a root."""
    whole = [clean(s) for s in split(" › ".join(whole))]
    if columns:
        whole = [on_terminal(g, s) for s in whole]
    out = align(shown, whole)
    if not judge(report, "path on a terminal", raw, [("other steps than in JSON", out is not None)], whole) or not columns:
        return
    variables, properties, perhaps, scoped = known(g)
    mine = {k: brief(s, label_of(s, variables)) for k, s in enumerate(whole[:-1]) if label_of(s, variables)}
    facts = []
    last = shown_later(out, whole, {k: mine[k] for k in sorted(mine)[-1:]}, scoped)
    if any(out[k] is None for k in last) and out[-1]:
        least = len(text_with(out, whole, last)) - max(0, len(out[-1]) - END)
        facts.append(("a variable is omitted although it fits", beside + least >= columns))
    named = [k for k, s in enumerate(whole[:-1]) if label_of(s, properties)]
    if not last and named:
        last = {named[-1]: brief(whole[named[-1]], label_of(whole[named[-1]], properties))}
    if not variables & {label_of(s, variables) for s in whole}:
        last = shown_later(out, whole, last, properties | perhaps)
    if rooted and out[0] is None and out[-1]:
        least = len(text_with(out, whole, {**last, 0: whole[0]})) - max(0, len(out[-1]) - WITH_ROOT)
        facts.append(("the root is omitted although it fits", beside + least >= columns))
    if named and out[-1] and all(out[k] is None for k, s in enumerate(whole[:-1]) if k in named or label_of(s, perhaps)):
        last = {named[-1]: brief(whole[named[-1]], label_of(whole[named[-1]], properties))}
        facts.append(("no name is shown although one fits", beside + len(text_with(out, whole, last)) >= columns))
    judge(report, "path on a terminal", raw, facts, whole)
