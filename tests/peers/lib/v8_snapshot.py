"""Builds small V8 snapshots: a Heap has a root, "(GC roots)" and a global object; node() and edge() add to it."""
import json

NODE_TYPES = ["hidden", "array", "string", "object", "code", "closure", "regexp", "number", "native", "synthetic",
              "concatenated string", "sliced string", "symbol", "bigint", "object shape"]
EDGE_TYPES = ["context", "element", "property", "internal", "hidden", "shortcut", "weak"]
FIELDS = ["type", "name", "id", "self_size", "edge_count", "detachedness"]


class Heap:
    def __init__(self):
        self.nodes, self.strings, self.number = [], [], {}
        self.detachedness = {}
        self.next_id = 1
        self.root = self.node("synthetic", "", 0)
        self.roots = self.node("synthetic", "(GC roots)", 0)
        self.edge(self.root, "element", 1, self.roots)
        self.globals = self.node("object", "global", 32)
        self.edge(self.root, "shortcut", "2", self.globals)

    def string(self, text):
        if text not in self.number:
            self.number[text] = len(self.strings)
            self.strings.append(text)
        return self.number[text]

    def node(self, type, name, size, id=None):
        if id is None:
            id = self.next_id
        self.next_id = max(self.next_id, id + 2)
        self.nodes.append((type, name, size, id, []))
        return len(self.nodes) - 1

    def edge(self, holder, type, name, to):
        self.nodes[holder][4].append((type, name, to))

    # V8's representation of a program's values.

    def variable(self, name, to):
        """A property of the global object."""
        self.edge(self.globals, "property", name, to)
        return to

    def array(self, size=16, id=None):
        return self.node("object", "Array", size, id)

    def elements(self, array, values, id=None):
        table = self.node("array", "(object elements)", 8 * len(values), id)
        self.edge(array, "internal", "elements", table)
        for i, value in enumerate(values):
            self.edge(array, "element", i, value)
            self.edge(table, "internal", str(i), value)
        return array

    def map(self, pairs, size=32, table_size=1000, id=None, table_id=None, kind="Map"):
        m = self.node("object", kind, size, id)
        table = self.node("array", "", table_size, table_id)
        self.edge(m, "internal", "table", table)
        for i, value in enumerate(v for pair in pairs for v in pair):
            self.edge(table, "internal", str(4 + i), value)
        return m

    def closure(self, name, context, size=56, id=None):
        c = self.node("closure", name, size, id)
        self.edge(c, "internal", "context", context)
        return c

    def context(self, size=40, id=None, **variables):
        c = self.node("object", "system / Context", size, id)
        for name, value in variables.items():
            self.edge(c, "context", name, value)
        return c

    def buffer(self, size, id=None):
        """A Buffer, whose bytes are native; the engine adds 184 bytes of its own."""
        b = self.node("object", "Buffer", 96, id)
        a = self.node("object", "ArrayBuffer", 88, id and id + 2)
        data = self.node("native", "system / JSArrayBufferData", size, id and id + 4)
        self.edge(b, "internal", "buffer", a)
        self.edge(a, "internal", "backing_store", data)
        return b

    def dom(self, name, size, id=None, attached=True):
        """A node of a page, in its document or removed from it."""
        self.detachedness[len(self.nodes)] = 1 if attached else 2
        return self.node("native", name, size, id)

    def write(self, path):
        nodes, edges = [], []
        for i, (type, name, size, id, references) in enumerate(self.nodes):
            nodes += [NODE_TYPES.index(type), self.string(name), id, size, len(references), self.detachedness.get(i, 0)]
            for kind, field, to in references:
                edges += [EDGE_TYPES.index(kind), field if isinstance(field, int) else self.string(field), to * len(FIELDS)]
        meta = {"node_fields": FIELDS, "node_types": [NODE_TYPES] + ["string"] + ["number"] * (len(FIELDS) - 2),
                "edge_fields": ["type", "name_or_index", "to_node"], "edge_types": [EDGE_TYPES, "string_or_number", "node"],
                "trace_function_info_fields": ["function_id", "name", "script_name", "script_id", "line", "column"],
                "trace_node_fields": ["id", "function_info_index", "count", "size", "children"],
                "sample_fields": ["timestamp_us", "last_assigned_id"],
                "location_fields": ["object_index", "script_id", "line", "column"]}
        with open(path, "w") as f:
            json.dump({"snapshot": {"meta": meta, "node_count": len(self.nodes), "edge_count": len(edges) // 3,
                                    "trace_function_count": 0},
                       "nodes": nodes, "edges": edges, "trace_function_infos": [], "trace_tree": [], "samples": [],
                       "locations": [], "strings": self.strings}, f, separators=(",", ":"))
        return path
