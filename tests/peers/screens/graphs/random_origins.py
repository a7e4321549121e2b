"""Origins of the objects of a random V8 snapshot: allocating functions and source locations."""
import random

FUNCTION = ["function_id", "name", "script_name", "script_id", "line", "column"]
TRACE = ["id", "function_info_index", "count", "size", "children"]
LOCATION = ["object_index", "script_id", "line", "column"]
FUNCTIONS = [("(root)", "", 0, 0, 0), ("main", "app.js", 7, 1, 1), ("", "app.js", 7, 30, 9), ("makeSession", "lib/größe.js", 8, 4, 0),
             ("Buffer.alloc", "node:buffer", 9, 268, 16), ("", "", 12, 0, 0), ("on\u202edone", "file:///a b.js", 13, 2, 5)]


class Origins:
    def __init__(self, other):
        r = self.r = other or random.Random(0)
        self.tracked, self.located = (bool(other and r.random() < .4) for _ in range(2))
        self.traces, self.places, self.usual = {}, {}, {}
        self.callers = [None, 0] + [r.randrange(k) for k in range(2, 9)]     # for each node of the tree
        self.called = [0, 1] + [r.randrange(1, len(FUNCTIONS)) for _ in range(2, 9)]

    def usually(self, of, kind, choose):
        """Most objects of a class have one origin."""
        usual = self.usual.setdefault((kind, of[0], of[1]), choose())
        return usual if self.r.random() < .7 else choose()

    def trace(self, i, node):
        if node[0] == "synthetic" or not self.tracked:
            return 0
        if i not in self.traces:
            self.traces[i] = self.usually(node, "trace", lambda: self.r.choice([0] + [k + 1 for k in range(1, len(self.callers))]))
        return self.traces[i]

    def stacks(self, string):
        """trace_function_infos and trace_tree."""
        if not self.tracked:
            return [], []
        rows, lists = [], [[] for _ in self.callers]
        for k, (name, script, id, line, column) in enumerate(FUNCTIONS):
            rows += [k, string(name), string(script), id, line, column]
        for k in range(len(self.callers)):
            at = lists[self.callers[k]] if k else None
            record = [k + 1, self.called[k], 1, 16, lists[k]]
            if k:
                at += record
            else:
                top = record
        return rows, top

    def locations(self, nodes, place):
        out = []
        for i, node in nodes.items() if self.located else ():
            if node[0] not in ("object", "closure"):
                continue
            if i not in self.places:
                self.places[i] = self.usually(node, "place", lambda: self.r.choice((None, (7, 2, 11), (8, 0, 0), (99, 5, 2))))
            if self.places[i]:
                out += [place[i], *self.places[i]]
        return out
