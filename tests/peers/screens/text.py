"""The printed form of figures and names."""
import functools, re

UNIT = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "PiB": 1 << 50, "EiB": 1 << 60}
BYTES = r"\d+(?:\.\d+)?(?: (?:B|KiB|MiB|GiB|TiB|PiB|EiB)\b)?"


def is_size(printed, n):
    """Whether this text is the printed form of a number of bytes."""
    number, _, unit = printed.partition(" ")
    if "." not in number and unit in ("", "B"):
        return int(number) == n
    return abs(float(number) - n / UNIT[unit or "B"]) <= 0.0501


def approx(printed):
    number, _, unit = printed.partition(" ")
    return float(number) * UNIT[unit or "B"]


def is_share(printed, part, whole):
    if "> 100" in printed:
        return part > whole
    return abs(float(printed.rstrip("% ")) - (100 * part / whole if whole else 0)) <= 0.0501


def is_error(printed, variance, n, rough=0):
    """rough: the possible error of a variance that is a difference of squares of rounded errors."""
    if printed is None:
        return True
    if rough and ">" not in printed and n:
        low, high = (100 * max(0, v) ** 0.5 / n for v in (variance - rough, variance + rough))
        if low - 0.0501 - 100 / n <= float(re.sub(r"[±% ]", "", printed)) <= high + 0.0501 + 100 / n:
            return True
    share = 100 * variance ** 0.5 / n if n else 0
    if ">" in printed:
        return share >= 999
    return abs(float(re.sub(r"[±% ]", "", printed)) - share) <= 0.0501 + (100 / n if n else 0)


# Names -------------------------------------------------------------------------------------------

INVISIBLE = re.compile("[\0-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\ufffd]")


@functools.lru_cache(None)
def parts(name):
    """(function, place, line, object) of a whole name."""
    m = re.fullmatch(r"(.*?)(?: \[([^\[\]]*)\])?", name, re.S)
    rest, obj = m[1], m[2]
    m = re.fullmatch(r"(.+) \((.*):(\d+)\)", rest, re.S)
    return (m[1], m[2], m[3], obj) if m else (rest, None, None, obj)


def without_templates(f, mark):
    out, depth = "", 0
    for i, c in enumerate(f):
        before = f[:i].rstrip("<>=-")
        sign = i and c in "<>" and not before.endswith("operator") and (c == "<" or depth)
        if sign and c == "<":
            depth += 1
            out += "<" + mark if depth == 1 else ""
        if sign and c == ">":
            depth -= 1
        if not depth:
            out += c
    return out


@functools.lru_cache(None)
def functions(f):
    """A function, whole and in its possible short forms: without hash, parameters, return type, template
    arguments."""
    out = {f}
    out |= {re.sub(r"::h[0-9a-f]{16}$", "", x) for x in out}
    for x in list(out):
        end = x.rfind(")")
        depth = 0
        for i in range(end, -1, -1):
            depth += (x[i] == ")") - (x[i] == "(")
            if not depth:
                if i and not x[:i].endswith("operator"):
                    out.add(x[:i].rstrip())
                break
    for x in list(out):
        depth = 0
        for i, c in enumerate(x):
            depth += (c == "<") - (c == ">" and depth > 0)
            if c == " " and not depth:
                out.add(x[i + 1:])
    out |= {without_templates(x, "…") for x in out} | {without_templates(x, "") for x in out}
    return frozenset(INVISIBLE.sub("?", x) for x in out)


def like(shown, whole):
    """Whether a text with "…" can be a shortened form of another."""
    if "…" not in shown:
        return shown == whole
    at, pieces = 0, shown.split("…")
    if not whole.startswith(pieces[0]):
        return False
    at = len(pieces[0])
    for p in pieces[1:-1]:
        at = whole.find(p, at)
        if at < 0:
            return False
        at += len(p)
    return len(whole) - at >= len(pieces[-1]) and whole.endswith(pieces[-1])


@functools.lru_cache(1 << 18)
def names_it(shown, name):
    """Whether a printed name can belong to a frame: whole, without its file, directories or object, or shortened."""
    shown = INVISIBLE.sub("?", shown)          # hd_visible keeps harmless ones, such as U+FEFF
    clean, shown = INVISIBLE.sub("?", name), shown.rstrip() if shown.rstrip() else shown
    if "?" in shown and shown == INVISIBLE.sub("?", name):
        return True
    if shown in (clean, clean.rstrip()) or like(shown, clean):
        return True
    f, place, line, obj = parts(name)
    for take in ((shown, None, None, None), parts(shown), parts_of_short(shown)):
        sf, splace, sline, sobj = take
        if sobj is not None and (obj is None or not like(sobj, obj)):
            continue
        if sline is not None and (sline != line or not is_place(splace, place)):
            continue
        if any(like(sf, x) for x in functions(f)):
            return True
    return False


def parts_of_short(shown):
    """f:12 and f (12): possible remains of a place on a narrow terminal."""
    m = re.fullmatch(r"(.+?)(?::| \(:?)(\d+)\)?", shown)
    return (m[1], "…", m[2], None) if m else (shown, None, None, None)


def is_place(shown, whole):
    if whole is None:
        return False
    clean = INVISIBLE.sub("?", whole)
    return shown == clean or clean.endswith("/" + shown) or like(shown, clean) or \
        any(like(shown, clean[i + 1:]) for i, c in enumerate(clean) if c == "/")


CHAIN = " › "
MORE = re.compile(r"… ?(\d+) more")
TIMES = re.compile(r"(.*?)( \(stripped\))? ×(\d+)")


def segments(text):
    """A chain: [("more", n), ("run", name, n) or ("name", name)]."""
    out = []
    for s in text.split(CHAIN):
        m, t = MORE.fullmatch(s), TIMES.fullmatch(s)
        if m:
            out.append(("more", int(m[1])))
        elif t:
            out.append(("stripped" if t[2] else "times", t[1], int(t[3])))
        else:
            out.append(("name", s))
    return out
