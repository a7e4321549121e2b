#!/usr/bin/env python3
"""usage: generate.py SEED >program.c, by suspects.sh

A C program with one leak among ordinary work, which dumps its heap (SIGUSR2) three or four times. Its first line names the
leak: `/* leak: FUNCTION */`. Seeds below 1000 and above 2000000000 are for the test; suspects was tuned on those between."""
import random
import sys

rng = random.Random(int(sys.argv[1]))
verbs = "parse load build merge index scan pack route resolve render store track queue visit probe apply split align".split()
nouns = "header request token record session page cell vertex packet message order user route frame chunk entry query job".split()
used = set()


def name():
    while True:
        n = rng.choice(verbs) + "_" + rng.choice(nouns)
        if n not in used:
            used.add(n)
            return n


def size():
    """A C expression for the size of a block."""
    base = rng.choice([24, 40, 64, 100, 200, 500, 1500, 4000])
    return str(base) if rng.random() < 0.5 else f"{base} + (size_t)(i * 7919 % {base})"


print_lines = ["#include <signal.h>", "#include <stdio.h>", "#include <stdlib.h>", "#include <string.h>", ""]
helper = name() if rng.random() < 0.4 else None
if helper:
    print_lines += [f"static __attribute__((noinline)) void *{helper}(size_t n) {{ void *p = malloc(n); memset(p, 1, n); return p; }}"]
alloc = lambda: helper if helper and rng.random() < 0.6 else "malloc"
calls = []
steps = rng.choice([3, 3, 4])
rounds = 4000 * steps


def function(body, n):
    return f"static __attribute__((noinline)) void {n}(unsigned i) {{ {body} }}"


def honest(kind):
    n, s, a = name(), size(), alloc()
    if kind == "start":
        body = f"static void *t[400]; if (i < 400) t[i] = {a}({s});"
    elif kind == "ring":
        slots = rng.choice([16, 100, 700])
        body = f"static void *t[{slots}]; unsigned k = i % {slots}; free(t[k]); t[k] = {a}({s});"
    elif kind == "keys":        # a cache of random keys: fills fast, then slower
        keys = rng.choice([300, 800, 1500])
        body = f"static void *t[{keys}]; unsigned k = i * 2654435761u >> 7; k %= {keys}; if (!t[k]) t[k] = {a}({s});"
    elif kind == "saw":
        most = rng.choice([300, 1100, 2300])
        body = f"static void *t[{most}]; static unsigned n; if (n == {most}) while (n) free(t[--n]); t[n++] = {a}({s});"
    elif kind == "buffer":
        most = rng.choice([20000, 90000])
        body = f"static char *b; static size_t n; n += 30; if (n > {most}) n = 30; b = realloc(b, n);"
    else:
        body = f"void *p = {a}({s}); if (p) free(p);"
    return function(body, n), n


functions = []
for kind in ["start", "ring", "keys", "saw", "temp"] + rng.choices(["ring", "keys", "saw", "buffer", "temp", "start"], k=rng.randint(2, 6)):
    text, n = honest(kind)
    functions.append(text)
    calls.append(n)
leak, every, s, a = name(), rng.choice([1, 1, 2, 3]), size(), alloc()
style = rng.choice(["lost", "list", "array", "error"])
if style == "lost":
    body = f"char *p = {a}({s}); if (!p || i % {every}) {{ free(p); return; }} p[0] = 1;"
elif style == "list":
    body = f"static void **head; void **p; if (i % {every}) return; p = {a}({s}); *p = head; head = p;"
elif style == "array":
    body = f"static void *t[{rounds}]; static unsigned n; if (i % {every} == 0) t[n++] = {a}({s});"
else:
    body = f"char *p = {a}({s}), *q = malloc(50); if (q) q[0] = 1; free(q); if (i % {every * 2} == 0) return; free(p);"
functions.append(function(body, leak))
calls.append(leak)
rng.shuffle(functions)
# Some of the work is below further functions.
layers = []
for n in list(calls):
    for _ in range(rng.randint(0, 3)):
        outer = name()
        layers.append(function(f"{n}(i);", outer))
        calls[calls.index(n)] = n = outer
rng.shuffle(calls)
print(f"/* leak: {leak} */")
print("\n".join(print_lines + functions + layers))
print(f"""
int main(void) {{
    for (unsigned i = 0; i < {rounds}; i++) {{
        {' '.join(f'{c}(i);' for c in calls)}
        if (i % {rounds // steps} == {rounds // steps - 1}) raise(SIGUSR2);
    }}
    return 0;
}}""")
