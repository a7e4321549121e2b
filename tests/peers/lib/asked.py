"""Runs the tool (sys.argv[1]) for the Python scripts of these tests: output in a pipe, as JSON, or on a terminal; and
checks."""
import json, os, re, subprocess, sys
import on_terminal

tool, failures = sys.argv[1], []


def check(name, want, got):
    if want != got:
        failures.append(name)
    print("PASS " + name if want == got else f"FAIL {name}: {want!r:.600} expected, {got!r:.600} found")


def end():
    sys.exit(bool(failures))


def run(*arguments):
    done = subprocess.run([tool, *arguments], capture_output=True, stdin=subprocess.DEVNULL, encoding="utf-8")
    if done.returncode:
        check(" ".join(arguments), 0, (done.returncode, done.stderr))
    return done.stdout


def answer(*arguments):
    return json.loads(run(*arguments, "--json"))


def screen(columns, *arguments):
    """Text on a terminal, without colours and without the hint at the end."""
    env = {**os.environ, "HEAPDUMP_PAGER": "cat", "TERM": "xterm", "NO_COLOR": "1"}
    text = on_terminal.run([tool, *arguments], columns, env=env)[0].decode().replace("\r", "")
    return re.sub("\033\\[[0-9;?]*[a-zA-Z=>]|\033[=>]", "", text)


def lines_of(*arguments):
    return run(*arguments).split("\n")


def lines_on(columns, *arguments):
    return [line for line in screen(columns, *arguments).split("\n") if line and not line.startswith("next: ")]
