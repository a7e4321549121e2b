"""Recordings of real programs."""
import os, shutil, subprocess

PROGRAMS = [
    ("python3", ["/usr/bin/python3", "-c", "x = [str(i) * 9 for i in range(3000)]; import json; y = json.dumps(x)"]),
    ("perl", ["perl", "-e", "my %h; $h{$_} = 'x' x $_ for 1..800; print scalar(keys %h)"]),
    ("git", ["git", "log", "-n", "50", "--stat", "--format=%H"]),
    ("sqlite3", ["sqlite3", ":memory:", "create table t(a, b); with recursive c(i) as (select 1 union all select i + 1 from "
                 "c where i < 900) insert into t select i, hex(i) from c; create index x on t(b); select count(*) from t"]),
    ("cc1", ["cc", "-O1", "-c", "-x", "c", "-o", "/dev/null", "tests/peers/programs/tally.c"]),
    ("node", ["node", "-e", "const a = []; for (let i = 0; i < 9000; i++) a.push({i}); console.log(a.length)"])]


def record(tool, report, work, most, read):
    """Files of recordings, of the installed programs up to the given number."""
    from parse_lists import pages
    out, kept = [], False
    for name, command in PROGRAMS:
        if len(out) == most or not shutil.which(command[0]):
            continue
        path = os.path.join(work, name + ".json")
        keep = os.path.join(work, name + ".region")
        for old in path, keep:
            if os.path.exists(old):
                os.remove(old)
        more = [] if kept else ["--blocks", "--keep", keep]
        p = subprocess.run([tool.path, "record", *more, "-o", path, "--", *command], capture_output=True)
        if p.returncode or not os.path.exists(path):
            report.by, report.command = "record", " ".join(["heapdump", "record", "--", *command])
            report.bad("no recording", p.stderr.decode(errors="replace")[-300:])
            continue
        read["programs"] += 1
        out.append(path)
        if more:
            kept = True
            for columns in None, 80, 140:
                report.by = "pages"
                text, status = tool.run(["pages", "--bytes", "--all", keep], columns)
                if not status and text:
                    report.screens["pages"] += 1
                    for part in text.strip().split("\n\n"):
                        pages(report, part)
    return out
