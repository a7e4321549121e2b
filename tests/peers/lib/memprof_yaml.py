#!/usr/bin/env python3
"""Writes small MemProf profiles as YAML to a directory. Each has one detail that readers could treat differently."""
import os
import sys

FRAME = "{ Function: main, LineOffset: 9, Column: 3, IsInlineFrame: false }"
CELL = "{ AllocCount: 2, TotalSize: 10, TotalLifetime: 7, TotalLifetimeAccessDensity: 3 }"
SITE = f"{{ Callstack: [ {FRAME} ], MemInfoBlock: {CELL} }}"
CALL = f"{{ Frames: [ {FRAME} ] }}"


def record(guid="f", sites=f"[ {SITE} ]", calls=None):
    text = f"  - GUID: {guid}\n"
    if sites is not None:
        text += f"    AllocSites: {sites}\n"
    if calls is not None:
        text += f"    CallSites: {calls}\n"
    return text


def heap(*records):
    return "HeapProfileRecords:\n" + "".join(records)


def doc(*parts):
    return "---\n" + "".join(parts) + "...\n"


def frame(text):
    return doc(heap(record(sites=f"[ {{ Callstack: [ {text} ], MemInfoBlock: {CELL} }} ]")))


def number(key, value):
    fields = {"Function": "main", "LineOffset": "9", "Column": "3", "IsInlineFrame": "false", key: value}
    return frame("{ " + ", ".join(f"{k}: {v}" for k, v in fields.items()) + " }")


def block(text):
    return doc(heap(record(sites=f"[ {{ Callstack: [ {FRAME} ], MemInfoBlock: {text} }} ]")))


def access(text):
    return doc("DataAccessProfiles:\n" + text)


def symbol(text):
    return access(f"  SampledRecords:\n    - {{ {text} }}\n")


V = {}
good = doc(heap(record()))
V["plain"] = good
V["no-end"] = good[:-4]
V["no-newline"] = good[:-5]
# The start of the text.
V["start-newline"] = "\n" + good
V["start-comment"] = "# x\n" + good
V["start-bom"] = "\ufeff" + good
V["start-none"] = good[4:]
V["start-space"] = " " + good
V["start-directive"] = "%YAML 1.2\n" + good
V["start-comment-behind"] = good.replace("---\n", "--- # x\n")
V["start-same-line"] = "--- " + '{"HeapProfileRecords": [ {"GUID": "f", "AllocSites": []} ] }\n'
V["start-tag"] = "--- !x\n" + good[4:]
V["start-tab"] = "---\t\n" + good[4:]
V["start-four"] = "-" + good
V["crlf"] = good.replace("\n", "\r\n")
V["cr"] = good.replace("\n", "\r")
# Documents in the stream.
V["empty"] = "---\n...\n"
V["only-dashes"] = "---\n"
V["nothing"] = ""
V["comment-document"] = "---\n# x\n" + good
V["null-document"] = "---\nnull\n" + good
V["tilde-document"] = "---\n~\n" + good
V["empty-map-document"] = "---\n{}\n" + good
V["empty-string-document"] = '---\n""\n' + good
V["two-documents"] = good + doc(heap(record("g")))
V["behind-end"] = good + "garbage: [ {\n"
V["behind-end-tab"] = good + "\t\tx: *y\n"
V["behind-second"] = good + "---\n\"\n"
V["scalar-document"] = "---\nhello\n"
V["list-document"] = "---\n- HeapProfileRecords\n"
V["other-map"] = "---\nFoo: 1\n"
V["empty-records"] = doc("HeapProfileRecords: []\n")
V["records-null"] = doc("HeapProfileRecords:\n")
V["records-tilde"] = doc("HeapProfileRecords: ~\n")
V["records-map"] = doc("HeapProfileRecords: {}\n")
V["records-scalar"] = doc("HeapProfileRecords: 5\n")
V["record-scalar"] = doc("HeapProfileRecords: [ 5 ]\n")
V["record-null"] = doc("HeapProfileRecords:\n  -\n")
V["record-list"] = doc("HeapProfileRecords: [ [ ] ]\n")
V["twice-records"] = doc(heap(record()), heap(record("g")))
V["unknown-top"] = doc(heap(record()), "Foo: 1\n")
# GUIDs.
for name, text in {
        "hex": "0x1f", "hex-upper": "0X1F", "hex-mixed": "0xAbCdEf", "hex-16": "0xffffffffffffffff", "hex-17": "0x1ffffffffffffffff",
        "hex-17-zero": "0x01234567890abcdef", "hex-none": "0x", "hex-bad": "0xfg", "hex-plus": "+0x1f", "decimal": "12", "octal": "010",
        "zero": "0", "decimal-quoted": '"12"', "negative": "-5", "number-name": "12a", "empty": '""', "null": "~", "nothing": "",
        "name-space": "a b", "name-quoted": '"a b"', "name-single": "'it''s'", "name-escape": '"a\\x41\\u00e9\\n"', "name-utf8": "é",
        "name-part": "f.part.3", "name-llvm": "f.llvm.77", "name-cold": "f.cold", "float": "1.5", "name-colon": "std::f", "name-hash": "a#b",
        "name-comment": "a #b", "name-tag": "!!str f", "name-anchor": "&a f", "name-alias": "*a", "name-bang": "!f", "name-at": "@f",
        "name-percent": "%f", "name-question": "?f@@YAXXZ", "name-dash": "-f", "name-backtick": "`f", "name-star": '"*f"', "name-literal": "|\n      f",
        "name-fold": ">\n      f", "name-lines": "a\n      b", "name-list": "[ f ]", "name-map": "{ f: 1 }", "true": "true", "octal-o": "0o17",
        "binary": "0b11", "underscore": "1_000", "hex-underscore": "0x1_0", "plus": "+5", "name-bracket": "f[abi:cxx11]", "name-brace": "f{1}",
        "name-comma": "f,g", "name-nul": '"a\\0b"', "name-tab": "a\tb", "name-dot": ".", "name-dollar": "$_0", "name-amp": "'&f'"}.items():
    V["guid-" + name] = doc(heap(record(text)))
    V["function-" + name] = number("Function", text) if "\n" not in text else good
V["guid-missing"] = doc("HeapProfileRecords:\n  - AllocSites: []\n")
V["guid-alone"] = doc("HeapProfileRecords:\n  - GUID: f\n")
V["guid-last"] = doc(f"HeapProfileRecords:\n  - AllocSites: [ {SITE} ]\n    GUID: f\n")
V["guid-twice"] = doc("HeapProfileRecords:\n  - GUID: f\n    GUID: f\n    AllocSites: []\n")
V["guid-key-quoted"] = good.replace("GUID", '"GUID"')
V["calls-first"] = doc(f"HeapProfileRecords:\n  - GUID: f\n    CallSites: [ {CALL.replace('9', '8')} ]\n    AllocSites: [ {SITE} ]\n")
V["same-guid"] = doc(heap(record(), record("f", None, f"[ {CALL} ]")))
# Numbers.
for key in ("LineOffset", "Column"):
    for name, text in {
            "max": "4294967295", "over": "4294967296", "far": "99999999999999999999", "hex": "0x1f", "hex-upper": "0X1F", "octal": "010", "octal-bad": "08",
            "octal-o": "0o17", "binary": "0b101", "binary-upper": "0B1", "negative": "-1", "plus": "+1", "float": "1.5", "exponent": "1e3", "empty": '""',
            "null": "~", "nothing": "", "quoted": '"7"', "single": "'7'", "space": '" 7"', "underscore": "1_0", "word": "x", "zero": "0", "zeros": "000",
            "hex-none": "0x", "hex-max": "0xffffffff", "list": "[ 1 ]", "map": "{ }", "tag": "!!int 7", "trail": "7x", "fold": ">-\n 7"}.items():
        if "\n" not in text:
            V[f"{key}-{name}"] = number(key, text)
for name, text in {"true": "true", "True": "True", "TRUE": "TRUE", "tRue": "tRue", "yes": "yes", "Yes": "Yes", "YES": "YES", "on": "on", "On": "On", "ON": "ON",
                   "y": "y", "Y": "Y", "n": "n", "N": "N", "no": "no", "No": "No", "NO": "NO", "off": "off", "Off": "Off", "OFF": "OFF", "False": "False",
                   "FALSE": "FALSE", "one": "1", "zero": "0", "empty": '""', "null": "~", "quoted": '"true"', "word": "maybe", "t": "t"}.items():
    V["inline-" + name] = number("IsInlineFrame", text)
for key in ("Function", "LineOffset", "Column", "IsInlineFrame"):
    fields = ["Function: main", "LineOffset: 9", "Column: 3", "IsInlineFrame: false"]
    rest = [f for f in fields if not f.startswith(key)]
    V["without-" + key] = frame("{ " + ", ".join(rest) + " }")
    V["twice-" + key] = frame("{ " + ", ".join(fields + [f for f in fields if f.startswith(key)]) + " }")
    V["first-" + key] = frame("{ " + ", ".join([f for f in fields if f.startswith(key)] + rest) + " }")
V["frame-unknown"] = frame(FRAME.replace(" }", ", File: x }"))
V["frame-empty"] = frame("{ }")
V["frame-scalar"] = frame("5")
V["frame-null"] = frame("~")
V["frame-alias"] = doc(heap(record(sites=f"[ {{ Callstack: [ &a {FRAME}, *a ], MemInfoBlock: {CELL} }} ]")))
V["frame-anchor"] = frame("&a " + FRAME)
V["frame-tag"] = frame("!x " + FRAME)
V["frame-comma"] = frame(FRAME.replace(" }", ", }"))
V["frame-json"] = frame('{"Function":"main","LineOffset":9,"Column":3,"IsInlineFrame":false}')
V["frame-tight"] = frame("{Function: main,LineOffset: 9,Column: 3,IsInlineFrame: false}")
V["frame-no-space"] = frame("{Function:main, LineOffset: 9, Column: 3, IsInlineFrame: false}")
V["frame-case"] = frame(FRAME.replace("Column", "column"))
V["merge-key"] = frame(FRAME.replace("{ ", "{ <<: { Column: 3 }, "))
V["complex-key"] = frame("{ ? Function : main, LineOffset: 9, Column: 3, IsInlineFrame: false }")
V["lines-in-flow"] = frame(FRAME.replace(", ", ",\n"))
V["lines-in-flow-deep"] = frame(FRAME.replace(", ", ",\n            "))
# Allocations and call sites.
V["stack-empty"] = doc(heap(record(sites=f"[ {{ Callstack: [ ], MemInfoBlock: {CELL} }} ]")))
V["stack-null"] = doc(heap(record(sites=f"[ {{ Callstack: ~, MemInfoBlock: {CELL} }} ]")))
V["stack-missing"] = doc(heap(record(sites=f"[ {{ MemInfoBlock: {CELL} }} ]")))
V["block-missing"] = doc(heap(record(sites=f"[ {{ Callstack: [ {FRAME} ] }} ]")))
V["block-first"] = doc(heap(record(sites=f"[ {{ MemInfoBlock: {CELL}, Callstack: [ {FRAME} ] }} ]")))
V["site-unknown"] = doc(heap(record(sites=f"[ {{ Callstack: [ {FRAME} ], MemInfoBlock: {CELL}, X: 1 }} ]")))
V["site-twice"] = doc(heap(record(sites=f"[ {{ Callstack: [ ], Callstack: [ {FRAME} ], MemInfoBlock: {CELL} }} ]")))
V["site-scalar"] = doc(heap(record(sites="[ 5 ]")))
V["sites-null"] = doc(heap(record(sites="~")))
V["sites-nothing"] = doc(heap(record(sites="")))
V["sites-scalar"] = doc(heap(record(sites="5")))
V["sites-map"] = doc(heap(record(sites="{ }")))
V["sites-twice"] = doc(heap("  - GUID: f\n    AllocSites: []\n    AllocSites: []\n"))
V["record-unknown"] = doc(heap(record() + "    Foo: 1\n"))
V["same-site"] = doc(heap(record(sites=f"[ {SITE}, {SITE} ]")))
V["calls-empty"] = doc(heap(record("f", None, "[ ]")))
V["calls"] = doc(heap(record(calls=f"[ {CALL} ]")))
V["calls-same"] = doc(heap(record(calls=f"[ {CALL}, {CALL} ]")))
V["calls-nested"] = doc(heap(record(calls=f"[ [ {FRAME} ] ]")))
V["calls-no-frames"] = doc(heap(record(calls="[ { CalleeGuids: [ 1 ] } ]")))
V["calls-empty-frames"] = doc(heap(record(calls="[ { Frames: [ ] } ]")))
V["calls-unknown"] = doc(heap(record(calls=f"[ {{ Frames: [ {FRAME} ], X: 1 }} ]")))
for name, text in {"hex": "[ 0x1, 0x2 ]", "names": "[ a, b ]", "decimal": "[ 1 ]", "empty": "[ ]", "null": "~", "nothing": "", "scalar": "0x1", "same": "[ 0x1, 0x1 ]",
                   "bad": "[ 0xg ]", "over": "[ 0x10000000000000000 ]", "map": "[ { } ]", "block": "\n          - 0x1\n          - b"}.items():
    if "\n" not in text:
        V["callees-" + name] = doc(heap(record(calls=f"[ {{ Frames: [ {FRAME} ], CalleeGuids: {text} }} ]")))
V["callees-block"] = doc(heap(record(calls=f"\n      - Frames: [ {FRAME} ]\n        CalleeGuids:\n          - 0x1\n          - b")))
V["callees-first"] = doc(heap(record(calls=f"[ {{ CalleeGuids: [ a ], Frames: [ {FRAME} ] }} ]")))
# Blocks.
for name, text in {
        "empty": "{ }", "null": "~", "scalar": "5", "list": "[ ]", "unknown": "{ Foo: 1 }", "twice": "{ AllocCount: 1, AllocCount: 1 }", "one": "{ AllocCount: 1 }",
        "order": "{ TotalSize: 1, AllocCount: 2 }", "histogram": "{ AccessHistogramValues: [ 1 ] }", "histogram-size": "{ AccessHistogramSize: 3 }",
        "histogram-pointer": "{ AccessHistogram: 3 }", "wide": "{ AllocCount: 4294967301 }", "wider": "{ AllocCount: 18446744073709551615 }",
        "widest": "{ AllocCount: 18446744073709551616 }", "size": "{ TotalSize: 18446744073709551615 }", "size-over": "{ TotalSize: 18446744073709551616 }",
        "size-hex": "{ TotalSize: 0xff }", "size-octal": "{ TotalSize: 010 }", "negative": "{ TotalSize: -1 }", "float": "{ TotalSize: 1.5 }",
        "word": "{ TotalSize: big }", "density": "{ TotalLifetimeAccessDensity: 18446744073709551615 }", "cpu": "{ AllocCpuId: 4294967296 }", "quoted": '{ TotalSize: "8" }',
        "value-null": "{ TotalSize: ~ }", "value-nothing": "{ TotalSize: }", "bools": "{ NumMigratedCpu: 300, NumLifetimeOverlaps: 65536, DataTypeId: 4294967297 }",
        "ends": "{ MinSize: 4294967296, MaxSize: 4294967297, MinAccessCount: 18446744073709551615, MaxLifetime: 4294967298, AllocTimestamp: 5000000000 }",
        "all": "{ AllocCount: 1, TotalAccessCount: 2, MinAccessCount: 3, MaxAccessCount: 4, TotalSize: 5, MinSize: 6, MaxSize: 7, AllocTimestamp: 8, DeallocTimestamp: 9, "
               "TotalLifetime: 10, MinLifetime: 11, MaxLifetime: 12, AllocCpuId: 13, DeallocCpuId: 14, NumMigratedCpu: 15, NumLifetimeOverlaps: 16, NumSameAllocCpu: 17, "
               "NumSameDeallocCpu: 18, DataTypeId: 19, TotalAccessDensity: 20, MinAccessDensity: 21, MaxAccessDensity: 22, TotalLifetimeAccessDensity: 23, "
               "MinLifetimeAccessDensity: 24, MaxLifetimeAccessDensity: 25, AccessHistogramSize: 26, AccessHistogram: 27 }"}.items():
    V["block-" + name] = block(text)
# Data accesses.
S = "Symbol: s, AccessCount: 5"
for name, text in {
        "plain": S, "places": S + ", Locations: [ { FileName: a.c, Line: 14 } ]", "place-empty": S + ", Locations: [ { } ]", "place-line": S + ", Locations: [ { Line: 1 } ]",
        "place-file": S + ", Locations: [ { FileName: a.c } ]", "place-unknown": S + ", Locations: [ { FileName: a.c, Line: 1, X: 2 } ]",
        "place-over": S + ", Locations: [ { FileName: a.c, Line: 4294967296 } ]", "places-empty": S + ", Locations: [ ]", "hash": "Hash: 7, AccessCount: 5",
        "hash-hex": "Hash: 0x1f, AccessCount: 5", "hash-over": "Hash: 18446744073709551616, AccessCount: 5", "both": "Symbol: s, Hash: 7, AccessCount: 5",
        "hash-first": "Hash: 7, Symbol: s, AccessCount: 5", "neither": "AccessCount: 5", "no-count": "Symbol: s", "count-over": "Symbol: s, AccessCount: 18446744073709551616",
        "unknown": S + ", X: 1", "twice": S + ", AccessCount: 6", "dot": "Symbol: a.llvm.5, AccessCount: 5", "dots": "Symbol: f.c, AccessCount: 5", "dot-first": "Symbol: .L.str.3, AccessCount: 5",
        "uniq": "Symbol: t.__uniq.7.llvm.5, AccessCount: 5", "uniq-end": "Symbol: t.__uniq.7, AccessCount: 5", "uniq-only": "Symbol: .__uniq.7.x, AccessCount: 5",
        "uniq-letters": "Symbol: t.__uniq.ab.c, AccessCount: 5", "uniq-late": "Symbol: a.b.__uniq.7.c, AccessCount: 5",
        "empty": 'Symbol: "", AccessCount: 5', "null": "Symbol: ~, AccessCount: 5", "space": 'Symbol: "a b", AccessCount: 5', "utf8": "Symbol: é, AccessCount: 5",
        "escape": 'Symbol: "a\\tb", AccessCount: 5', "file-dot": S + ", Locations: [ { FileName: dir.d/a.c, Line: 1 } ]", "file-empty": S + ', Locations: [ { FileName: "", Line: 1 } ]',
        "same-file": S + ", Locations: [ { FileName: a.c, Line: 1 }, { FileName: a.c, Line: 1 } ]", "file-is-symbol": S + ", Locations: [ { FileName: s, Line: 1 } ]"}.items():
    V["symbol-" + name] = symbol(text)
V["symbols-two"] = access(f"  SampledRecords:\n    - {{ {S} }}\n    - {{ Symbol: t, AccessCount: 1 }}\n    - {{ Hash: 3, AccessCount: 9 }}\n")
V["access-null"] = doc("DataAccessProfiles:\n")
V["access-empty"] = doc("DataAccessProfiles: { }\n")
V["access-scalar"] = doc("DataAccessProfiles: 5\n")
V["access-unknown"] = access("  Foo: 1\n")
V["samples-empty"] = access("  SampledRecords: []\n")
V["samples-null"] = access("  SampledRecords:\n")
for name, text in {"two": "[ zebra, ant ]", "same": "[ a, a ]", "dots": "[ a.llvm.1, a ]", "null": "~", "nothing": "", "number": "[ 5 ]", "map": "[ { } ]", "scalar": "a"}.items():
    V["cold-" + name] = access(f"  KnownColdSymbols: {text}\n")
for name, text in {"two": "[ 9, 5 ]", "same": "[ 9, 9 ]", "hex": "[ 0x9 ]", "over": "[ 18446744073709551616 ]", "word": "[ x ]", "empty": "[ ]", "octal": "[ 010 ]"}.items():
    V["literal-" + name] = access(f"  KnownColdStrHashes: {text}\n")
V["cold-is-sampled"] = access(f"  SampledRecords:\n    - {{ {S} }}\n  KnownColdSymbols: [ s ]\n")
V["access-all"] = access(f"  KnownColdStrHashes: [ 3, 1 ]\n  KnownColdSymbols: [ q, b ]\n  SampledRecords:\n    - {{ {S} }}\n")
V["access-first"] = doc("DataAccessProfiles:\n  KnownColdSymbols: [ q ]\n", heap(record()))
V["both-kinds"] = doc(heap(record(calls=f"[ {CALL} ]")), "DataAccessProfiles:\n  KnownColdSymbols: [ q ]\n")
# Notations of YAML.
V["tab-indent"] = good.replace("    AllocSites", "\tAllocSites")
V["tab-separate"] = good.replace("GUID: f", "GUID:\tf")
V["tab-behind"] = good.replace("GUID: f", "GUID: f\t")
V["tab-comment"] = good.replace("GUID: f", "GUID: f\t# x")
V["tab-flow"] = frame(FRAME.replace(", ", ",\t"))
V["comments"] = good.replace("\n", " # x\n")
V["comment-lines"] = good.replace("\n  -", "\n# x\n\n   # y\n  -")
V["indent-none"] = "---\nHeapProfileRecords:\n- GUID: f\n  AllocSites: []\n"
V["indent-odd"] = "---\nHeapProfileRecords:\n     - GUID: f\n       AllocSites: []\n"
V["indent-bad"] = "---\nHeapProfileRecords:\n   - GUID: f\n  AllocSites: []\n"
V["unclosed"] = frame(FRAME)[:-8]
V["unclosed-quote"] = '---\nHeapProfileRecords:\n  - GUID: "f\n'
V["control"] = good.replace("GUID: f", "GUID: f\x01")
V["delete"] = good.replace("GUID: f", "GUID: f\x7f")
V["nul"] = good.replace("GUID: f", "GUID: f\0")
V["invalid-utf8"] = good.replace("GUID: f", "GUID: \udcff")
V["overlong"] = good.replace("GUID: f", "GUID: \udcc0\udc80")
V["alias-bomb"] = "---\n" + "".join(f"a{i}: &a{i} [ " + ", ".join([f"*a{i - 1}"] * 9 if i else ["x"] * 9) + " ]\n" for i in range(8)) + "HeapProfileRecords: *a7\n"
V["deep-flow"] = "---\nHeapProfileRecords: " + "[" * 2000 + "]" * 2000 + "\n"
V["key-long"] = good.replace("GUID: f", '"' + "G" * 2000 + '": f')
V["name-long"] = doc(heap(record("f" * 5000)))
V["separators"] = good.replace("GUID: f", "GUID: a\u0085b")
V["line-separator"] = good.replace("GUID: f", "GUID: a\u2028b")

os.makedirs(sys.argv[1], exist_ok=True)
for name, text in V.items():
    with open(os.path.join(sys.argv[1], name + ".yaml"), "wb") as out:
        out.write(text.encode("utf-8", "surrogateescape"))
