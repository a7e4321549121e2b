"""objects, strings and object: every row is compared with the graph."""
import collections, re
import origins
from graph import ROOTS
from lists import object_row, OBJECT
from text import like
from told import clean, is_bytes, is_id, is_quoted, is_value, judge, quoted, SIZE, value_text


# objects -----------------------------------------------------------------------------------------

def fields_of(g, o):
    """The first reference with each name, as far as they are shown: [(name, object)], and whether there are more."""
    out = {}
    for r in g.refs[o][:128]:
        if r.name:
            out.setdefault(r.name, r.to)
    return list(out.items())[:64], len(out) > 64


def fields_text(g, o, units):
    fields, more = fields_of(g, o)
    out = []
    for name, t in fields:
        v = value_text(g, t)
        collection = g.values is not None and g.values[t].tag == 7
        if v is not None and not collection:
            text = short_value(g, t, units)
        else:
            text = f"{clean(g.class_of(t)[0])} {g.id_text(t)}"
        out.append(f"{clean(name)}: {text}")
    return "{" + ", ".join(out) + (", ..." if more else "") + "}" if out else ""


def short_value(g, o, units):
    v = value_text(g, o)
    if g.values is None:
        raw = v.encode(errors="surrogatepass")
        cut = raw[:units].decode(errors="replace")
        return '"' + clean(cut) + ('"...' if len(raw) > units else '"')
    tag = g.values[o].tag
    if tag not in (5, 6, 8):
        return v
    if tag == 8:
        raw = v.encode()
        return quoted(raw[:units].decode(errors="ignore")) + ("..." if len(raw) > units else "")
    wide = v.encode("utf-16-le", errors="surrogatepass")[:2 * units].decode("utf-16-le", errors="ignore") if tag == 6 else v[:units]
    return quoted(wide) + ("..." if g.values[o].units > units or g.values[o].units < g.values[o].length else "")


def squeezed(text):
    text = re.sub(r"\\(u[0-9a-f]{0,3}|x[0-9a-f]?)?…$", "…", text)  # the terminal's edge is within an escape
    return re.sub(r"[?�]|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}", "?", text)


def is_instance(g, o, text, columns):
    """Class, value and fields: whole, or shortened on a terminal, with the fields cut off. Values are whole if they
    fit."""
    return is_instance_of(g, o, text, columns, 40) or bool(columns) and is_instance_of(g, o, text, 0, columns)


def is_instance_of(g, o, text, columns, units):
    name, rest = squeezed(clean(g.class_of(o)[0])), ""
    if value_text(g, o) is not None:
        rest += "  " + short_value(g, o, units)
    tail = [fields_text(g, o, units), origins.short_text(g, o), "" if g.live[o] else "(garbage)"]
    rest = squeezed(rest + "".join("  " + t for t in tail if t))
    if text == name + rest:
        return True
    for at in range(len(text) + 1) if columns else ():
        if like(text[:at], name) and (rest.startswith(text[at:-1]) and text.endswith("…") or rest == text[at:]):
            return True
    return False


def objects(a, chosen, options, columns):
    """chosen: the objects that the options select, garbage included."""
    g, r = a.g, a.g.dominators()[1]
    lines = a.lines(["objects", *options], columns)
    if lines is None:
        return
    garbage = "--garbage" in options
    live = [o for o in chosen if g.live[o] or garbage]
    count, total = g.removed([o for o in live if g.live[o]])
    m = re.match(rf"(\d+) objects?(?: of class .*)?, ({SIZE}), (?:retains|retain) ({SIZE})(?: together)?(?:; (\d+) more (?:is|are) garbage.*)?", lines[0])
    if m:
        judge(a.report, "head", lines[0], [("one or many", (", retains " in lines[0]) == (m[1] == "1") and (m[1] == "1") == bool(re.match(r"\d+ object\b", lines[0])) and
                                            (not m[4] or (m[4] == "1") == (" more is " in lines[0])))])
        judge(a.report, "head", lines[0], [("objects", int(m[1]) == len(live)), ("bytes", is_bytes(m[2], sum(g.sizes[o] for o in live))),
                                           ("retained", is_bytes(m[3], total)), ("garbage", int(m[4] or 0) == len(chosen) - len(live) or
                                                                                 (columns and not m[4]))],
              (len(live), sum(g.sizes[o] for o in live), total, len(chosen) - len(live)))
    elif not columns:
        a.report.bad("unparsed", lines[0])
    order = sorted(live, key=lambda o: (-(r[o] if g.live[o] else 0), -g.sizes[o], o))
    shown = 0
    for raw in lines[2:]:
        more = re.match(r"\.\.\. (\d+) more", raw)
        m = OBJECT.match(raw)
        if more:
            judge(a.report, "objects", raw, [("how many more", int(more[1]) == len(order) - shown)], len(order))
            shown = len(order)
        elif not m or shown >= len(order):
            a.report.bad("unparsed", raw)
        else:
            o = order[shown]
            shown += 1
            if not object_row(a, "object", raw, m, o, columns):
                continue
            judge(a.report, "object", raw, [("value and fields", is_instance(g, o, squeezed(m["rest"]), columns))],
                  (g.class_of(o), value_text(g, o), fields_of(g, o)[0][:9]))
    judge(a.report, "objects", lines[-1], [("how many", shown == len(order))], len(order))


def objects_json(a, chosen, options):
    g, r = a.g, a.g.dominators()[1]
    got = a.json(["objects", *options])
    if got is None:
        return
    live = [o for o in chosen if g.live[o] or "--garbage" in options]
    total = g.removed([o for o in live if g.live[o]])[1]
    judge(a.report, "json", {k: v for k, v in got.items() if k != "objects"}, [
        ("count", got["count"] == len(live)), ("bytes", got["bytes"] == sum(g.sizes[o] for o in live)),
        ("retained", got["retained"] == total), ("unheld", got["unheld"] == len(chosen) - len(live))],
        (len(live), sum(g.sizes[o] for o in live), total, len(chosen) - len(live)))
    order = sorted(live, key=lambda o: (-(r[o] if g.live[o] else 0), -g.sizes[o], o))
    for row, o in zip(got["objects"], order):
        fields = fields_of(g, o)[0]
        facts = [("id", row["id"] == g.id_text(o)), ("class", (row["class"], row.get("scope", "")) == g.class_of(o)),
                 ("retained", row["retained"] == (r[o] if g.live[o] else None)), ("bytes", row["bytes"] == g.sizes[o]),
                 ("fields", [f["id"] for f in row["fields"].values()] == [g.id_text(t) for _, t in fields])]
        if "length" in row:
            want = (g.values[o].length if g.values is not None else len(g.names[o].encode("utf-16-le", errors="surrogatepass")) // 2)
            facts.append(("length", row["length"] == want))
        if "value" in row and g.values is None:
            facts.append(("value", row["value"] == g.name_of(o) or any(0xd800 <= ord(c) < 0xe000 for c in g.name_of(o))))
        judge(a.report, "json object", row, facts, (g.id_text(o), g.class_of(o), r[o], fields[:5]))
        origins.json(a.report, "json object", g, o, row)


# strings -----------------------------------------------------------------------------------------

def string_table(g, garbage=False):
    """[(wasted, bytes, objects, first, cut, text)] of strings; and totals (objects, different, bytes, wasted, wasted
    if cut texts are equal)."""
    by = {}
    for o in range(g.described):
        if not garbage and not g.live[o]:
            continue
        if g.values is not None and g.values[o].tag in (5, 6):
            v = g.values[o]
            key, cut = (v.tag, v.text, v.length), v.units < v.length
        elif g.values is None and g.types[o] == "string":
            units = sum(2 if ord(c) > 0xffff else 1 for c in g.names[o])
            key, cut = g.names[o], units >= 1023
        else:
            continue
        by.setdefault(key, (cut, []))[1].append(o)
    rows = []
    for key, (cut, all) in by.items():
        parts = {o: [r.to for r in g.refs[o] if g.format == "hprof" and r.name == "value"] for o in all}
        total = sum(g.sizes[o] for o in {*all, *(t for p in parts.values() for t in p)})   # texts that strings share: once
        one = max(g.sizes[o] + sum(g.sizes[t] for t in parts[o]) for o in all)
        rows.append((total - one, total, len(all), all[0], cut, key if isinstance(key, str) else key[1]))
    return sorted(rows, key=lambda r: (-r[0], -r[1])), (
        sum(r[2] for r in rows), len(rows), sum(r[1] for r in rows), sum(r[0] for r in rows if not r[4]), sum(r[0] for r in rows if r[4]))


STRING = re.compile(rf"\s*(?P<wasted>{SIZE})\s+(?P<bytes>{SIZE})\s+(?P<objects>\d+)\s+(?P<id>\d+) (?P<cut>[ ?])\s(?P<text>.*)")


def strings(a, options, columns):
    g = a.g
    lines = a.lines(["strings", *options], columns)
    if lines is None:
        return
    rows, totals = string_table(g, "--garbage" in options)
    by_first = {r[3]: r for r in rows}
    repeated = sum(r[0] > 0 for r in rows)
    m = re.fullmatch(rf"(\d+) (?:live strings|strings with garbage), (\d+) different, ({SIZE})(?: bytes)?; duplicates waste ({SIZE})", lines[0])
    judge(a.report, "head", lines[0], [("it", bool(m))] + ([] if not m else [
        ("strings", int(m[1]) == totals[0]), ("different", int(m[2]) == totals[1]), ("bytes", is_bytes(m[3], totals[2])),
        ("wasted", is_bytes(m[4], totals[3]))]), totals)
    shown, last = 0, None
    for raw in lines[1:]:
        m, more = STRING.match(raw), re.match(r"\.\.\. (\d+) more", raw)
        alike = re.match(rf"and ({SIZE}) more if those marked \? are alike", raw)
        if alike:
            judge(a.report, "strings", raw, [("wasted if alike", is_bytes(alike[1], totals[4]))], totals[4])
        elif more:
            judge(a.report, "strings", raw, [("how many more", int(more[1]) == repeated - shown)], repeated)
            shown = repeated
        elif m:
            shown += 1
            right = [by_first[o] for o in g.find(m["id"]) if o in by_first]
            judge(a.report, "string", raw, [("first id", bool(right))] + ([] if not right else [
                ("wasted", is_bytes(m["wasted"], right[0][0])), ("bytes", is_bytes(m["bytes"], right[0][1])),
                ("objects", int(m["objects"]) == right[0][2]), ("cut", (m["cut"] == "?") == right[0][4]),
                ("text", is_quoted(m["text"], right[0][5]) or bool(columns)),
                ("order", last is None or right[0][0] <= last)]), right)
            last = right[0][0] if right else last
        elif not raw.lstrip().startswith("wasted"):
            a.report.bad("unparsed", raw)
    judge(a.report, "strings", lines[-1], [("how many", shown == repeated)], repeated)


def strings_json(a):
    got = a.json(["strings", "--all"])
    if not got:
        return
    rows, t = string_table(a.g)
    judge(a.report, "json", {k: v for k, v in got.items() if k != "strings"}, [
        (k, got[k] == v) for k, v in zip(("objects", "different", "bytes", "wasted", "wasted_if_alike"), t)], t)
    by_first = {a.g.id_text(r[3]): r for r in rows}
    for row in got["strings"]:
        right = by_first.get(row["id"])
        judge(a.report, "json string", row, [("row", bool(right) and (row["wasted"], row["bytes"], row["objects"], row["cut"]) == (
            right[0], right[1], right[2], right[4]))], right)


# object ------------------------------------------------------------------------------------------

NEIGHBOUR = re.compile(rf"\s*(?P<id>[0-9a-f]+)\s+(?P<retained>{SIZE}|garbage)  (?P<rest>.*)")


IN_WORDS = {"key": "ephemeron key", "value": "ephemeron value", "shortcut": "shortcut, not followed",
            "page object": "page object, not followed"}


def reference_text(g, o, i):
    kind = g.kind_of(o, i)
    return (g.field_text(o, i) or f"[{i}]") + ("" if kind == "strong" else f" ({IN_WORDS.get(kind, kind)})") + ": "


def neighbours(g, o):
    """The lists of an object in order: [(object, text before its class)]."""
    up, r, _ = g.dominators()
    if "referrers" not in g.cache:
        into = g.cache["referrers"] = collections.defaultdict(list)
        for p, refs in enumerate(g.refs):
            for i, ref in enumerate(refs):
                into[ref.to].append((p, i))
        down = g.cache["down"] = collections.defaultdict(list)
        for p, d in enumerate(up):
            if d is not None and p != g.left_out:
                down[d].append(p)
    out = {"refers to": [(ref.to, reference_text(g, o, i)) for i, ref in enumerate(g.refs[o])],
           "referred to by": [(p, reference_text(g, p, i)) for p, i in g.cache["referrers"][o]]}
    if g.live[o]:
        out["dominated by"] = [(up[o], "")] if up[o] is not None else []
        out["dominates"] = [(p, "") for p in sorted(g.cache["down"][o], key=lambda p: (-r[p], p))]
    return out


def object_screen(a, o, options, columns):
    g, (up, r, count) = a.g, a.g.dominators()
    text = g.id_text(o)
    lines = a.lines(["object", *options, "--id", text], columns)
    if lines is None:
        return
    o = g.find(text)[0]
    want, now, shown, seen, title = neighbours(g, o), None, 0, set(), None
    m = re.match(r"id (\S+)  (.*)", lines[0])
    judge(a.report, "head", lines[0], [("id", bool(m) and m[1] == text), ("class", bool(m) and m[2].startswith(clean(g.class_of(o)[0])))],
          (text, g.class_of(o)))
    roots = [root for root in g.roots if root.object == o]
    first = next((k for k, l in enumerate(lines) if re.match("(?:refers to|referred to by) ", l)), len(lines))
    if g.format == "heapsnapshot":
        origins.object_screen(a.report, g, o, lines[1:first], 1000 if "--all" in options else 10)
    for raw in lines[1:]:
        head = re.fullmatch(r"(refers to|referred to by|dominated by|dominates) (\d+)", raw)
        if head:
            now, shown, title = want.get(head[1]), 0, head[1]
            seen.add(title)
            judge(a.report, title, raw, [("count", now is not None and int(head[2]) == len(now))], now and len(now))
            continue
        if now is None:
            object_fact(a, o, raw, roots)
            continue
        more, m = re.match(r"\.\.\. (\d+) more", raw), NEIGHBOUR.match(raw)
        if more:
            judge(a.report, title, raw, [("how many more", int(more[1]) == len(now) - shown)], len(now))
        elif m and shown < len(now):
            p, before = now[shown]
            shown += 1
            whole = before + clean(g.class_of(p)[0]) + (f"  ({clean(g.class_of(p)[1])})" if g.class_of(p)[1] else "")
            judge(a.report, title, raw, [
                ("id", is_id(g, m["id"], p)), ("retained", m["retained"] == "garbage" if not g.live[p] else is_bytes(m["retained"], r[p])),
                ("name", m["rest"].startswith(whole) and is_rest(g, m["rest"][len(whole):], p) or
                 bool(columns) and is_cut(m["rest"], whole, value_text(g, p)))], (g.id_text(p), whole, r[p], g.live[p]))
            judge(a.report, title, raw, [("a line wider than the terminal", not columns or len(raw) <= max(columns, 60))])
        elif not re.match(r"\s*id\s+retained  class", raw):
            a.report.bad("unparsed", raw)
    judge(a.report, "object", lines[-1], [("all lists", seen == set(want))], seen)


def is_cut(shown, whole, value):
    """On a terminal a field is cut in its middle, then the class or value at its end."""
    if "…" not in shown:
        return False
    if like(shown, whole) and not value:
        return True
    for text in (whole,) if value is None else (whole, f"{whole}, {value}", whole + '  "' + clean(value), whole + "  " + clean(value), whole + "  " + quoted(value)):
        for at in range(len(shown), 0, -1):
            head, rest = shown[:at], shown[at:]
            if rest in ("", "…", '"', '"...', '"…', "...", "...…", '".…', '"..…') and any(like(head, text[:n]) for n in range(len(text), 0, -1)):
                return True
    return False


def is_rest(g, rest, o):
    if g.format == "hprof" and g.values[o].tag == 7:
        return rest == ", " + value_text(g, o)
    if not rest.startswith("  "):
        return rest == "" and (value_text(g, o) is None or g.format == "hprof" and g.values[o].tag == 8 and not g.names[o])
    return is_value(g, rest[2:], o)


def object_fact(a, o, raw, roots):
    g, (_, r, count) = a.g, a.g.dominators()
    m = re.fullmatch(rf"\s*(\S[\w ]*?)\s+({SIZE}|garbage)(?:(?: in (\d+) objects?)|: no root holds it)?(?:  .*)?", raw)
    label = m and m[1]
    if raw.startswith("root: "):
        judge(a.report, "object", raw, [("root", any(clean(x.name) in raw if x.name else ROOTS[x.kind] in raw for x in roots if x.kind < 6))], roots)
    elif label is None and re.match(r"\s*elements ", raw):
        judge(a.report, "object", raw, [("elements", raw.strip() == f"elements {value_text(g, o)}")], value_text(g, o))
    elif label == "shallow":
        judge(a.report, "object", raw, [("shallow", is_bytes(m[2], g.sizes[o]))], g.sizes[o])
    elif label == "retained":
        judge(a.report, "object", raw, [("retained", m[2] == "garbage" if not g.live[o] else is_bytes(m[2], r[o])),
                                        ("objects", not g.live[o] or int(m[3] or -1) == count[o])], (r[o], count[o]))
    elif label == "distance" and g.format == "heapsnapshot":
        far = g.devtools_distances()[o]
        judge(a.report, "object", raw, [("distance", int(m[2]) == far)], far)


def object_json(a, o):
    g, (up, r, count) = a.g, a.g.dominators()
    text = g.id_text(o)
    got = a.json(["object", "--all", "--id", text])
    if not got:
        return
    o = g.find(text)[0]
    want = neighbours(g, o)
    judge(a.report, "json", {k: v for k, v in got.items() if not isinstance(v, list)}, [
        ("id", got["id"] == text), ("class", (got["class"], got.get("scope", "")) == g.class_of(o)),
        ("retained", got["retained"] == (r[o] if g.live[o] else None)), ("bytes", got["bytes"] == g.sizes[o]),
        ("retained objects", not g.live[o] or got["retained_objects"] == count[o]),
        ("dominator", (got["dominator"] and got["dominator"]["id"]) == (None if not g.live[o] or up[o] is None else g.id_text(up[o])))],
        (text, g.class_of(o), r[o], count[o], up[o] is not None and g.id_text(up[o])))
    origins.json(a.report, "json", g, o, got)
    for key, title in ("references", "refers to"), ("referrers", "referred to by"), ("dominated", "dominates"):
        told = [(row["id"], row["retained"]) for row in got[key]]
        right = [(g.id_text(p), r[p] if g.live[p] else None) for p, _ in want.get(title, [])]
        judge(a.report, "json", told[:6], [(key, told == right)], right[:6])
    for i, (row, ref) in enumerate(zip(got["references"], g.refs[o])):
        judge(a.report, "json reference", row, [("kind", row["kind"] == g.kind_of(o, i)), ("field", row.get("field", "") == ref.name or
                                                                                          any(0xd800 <= ord(c) < 0xe000 for c in ref.name)),
                                                ("index", ref.index is None or row.get("index") == ref.index)], ref)
