# objects_diff.py TOOL [COUNT]: makes pairs of V8 snapshots from seeds, and checks the output of TOOL diff for them.
import json, random, re, subprocess, sys

TYPES = ['hidden', 'array', 'string', 'object', 'code', 'closure', 'native', 'synthetic']
CLASS = {'hidden': '(system)', 'array': '(array)', 'string': '(string)', 'code': '(compiled code)', 'closure': '(closure)',
         'synthetic': '(synthetic)'}


def write(path, nodes):
    """nodes: id -> (type, name, size); the first is the root, which holds the others."""
    strings, index = [], {}
    def text(t):
        if t not in index: index[t] = len(strings); strings.append(t)
        return index[t]
    flat, edges = [], []
    for i, (id, (type, name, size)) in enumerate(nodes.items()):
        flat += [TYPES.index(type), text(name), id, size, len(nodes) - 1 if not i else 0]
        if i: edges += [0, i, 5 * i]
    meta = {'node_fields': ['type', 'name', 'id', 'self_size', 'edge_count'], 'node_types': [TYPES, 'string', 'number', 'number', 'number'],
            'edge_fields': ['type', 'name_or_index', 'to_node'], 'edge_types': [['element'], 'string_or_number', 'node']}
    json.dump({'snapshot': {'meta': meta, 'node_count': len(nodes), 'edge_count': len(edges) // 3}, 'nodes': flat, 'edges': edges,
               'strings': strings}, open(path, 'w'), separators=(',', ':'))


def class_of(node):
    return CLASS[node[0]] if node[0] in CLASS else re.sub(r'^((?:Detached )?<\w+) .*', r'\1>', node[1])


def attached(name): return name.removeprefix('Detached ')
def alike(a, b): return a[0] == b[0] and attached(class_of(a)) == attached(class_of(b))
def named_alike(a, b): return alike(a, b) and (a[0] in ('object', 'native') or a[1] == b[1])


def some(r):
    kind = r.choice(['object'] * 5 + ['string', 'closure', 'array', 'code', 'native'])
    name = r.choice(['Session', 'Cache', 'Entry', 'Länge', 'Detached Panel']) if kind == 'object' else r.choice(
        ['<li>', "<li class='x'>", '<div>', 'system / JSArrayBufferData']) if kind == 'native' else 'n%d' % r.randrange(50)
    return kind, name, r.choice([0, 16, 24, 40, 1000, r.randrange(100000)])


def pair(r):
    """Two snapshots: some objects are gone, new, of another size, or detached; in some pairs ids belong to other
    objects."""
    n, ids = r.choice([1, 2, 8, 60, 99, 100, 101, 300, 700]), 3
    before = {1: ('synthetic', '', 0)}
    for _ in range(n): before[ids] = some(r); ids += r.choice([2, 2, 2, 7])
    after, gone, other = {}, r.choice([0, .1, .6]), r.choice([0, 0, 0, .008, .012, .06, .87])
    for id, node in before.items():
        type, name, size = node
        if id > 1 and r.random() < gone: continue
        if r.random() < .1: size = r.randrange(2000)
        if type == 'native' and r.random() < .3: name = 'Detached ' + name if not name.startswith('Detached') else name[9:]
        if type == 'native' and name.endswith('<li>') and r.random() < .3: name = name[:-1] + " class='y'>"
        after[id] = (type, name, size)
        if id > 1 and r.random() < other: after[id] = some(r)
    for _ in range(r.choice([0, 1, 20, n])): after[ids] = some(r); ids += 2
    return before, after


def classes(before, after):
    rows = {}
    for side, nodes in enumerate((before, after)):
        for node in nodes.values():
            row = rows.setdefault(class_of(node), [0, 0, 0, 0])
            row[side] += node[2]
            row[2 + side] += 1
    rows = [(name, *row) for name, row in rows.items() if row[0] != row[1] or row[2] != row[3]]
    return sorted(rows, key=lambda r: (r[2] <= r[1], -abs(r[2] - r[1]), r[0].encode()))


def by_object(before, after):
    kept = {id for id in before if id in after and alike(before[id], after[id])}
    rows = {}
    def row(node): return rows.setdefault(class_of(node), dict.fromkeys(
        ('new_objects', 'new_bytes', 'gone_objects', 'gone_bytes', 'kept_objects', 'kept_bytes_before', 'kept_bytes_after'), 0))
    for side, nodes, others in (('gone', before, after), ('new', after, before)):
        for id, node in nodes.items():
            if id in kept: continue
            row(node)[side + '_objects'] += 1
            row(node)[side + '_bytes'] += node[2]
    for id in kept:
        x = row(after[id])
        x['kept_objects'] += 1
        x['kept_bytes_before'] += before[id][2]
        x['kept_bytes_after'] += after[id][2]
    rows = {name: x for name, x in rows.items() if x['new_objects'] or x['gone_objects'] or x['kept_bytes_before'] != x['kept_bytes_after']}
    lists = {'new': sorted((str(id), x[2], class_of(x)) for id, x in after.items() if id not in kept),
             'gone': sorted((str(id), x[2], class_of(x)) for id, x in before.items() if id not in kept),
             'changed': sorted((str(id), before[id][2], after[id][2], class_of(before[id])) for id in kept if before[id][2] != after[id][2])}
    return rows, lists


def why(before, after):
    common = before.keys() & after.keys()
    other = sum(not named_alike(before[id], after[id]) for id in common)
    if 100 * other <= len(common): return ''
    share = 100 * other / len(common)
    return f'heapdump: a.heapsnapshot, b.heapsnapshot: {share:.{int(share < 10)}f}% of the ids in both files name another object: ' \
           'V8 gives new ids when an inspector session ends, and each process its own; compared by class\n'


def listed(told, kind):
    rows = []
    for o in told[kind]['objects']:
        if kind == 'changed': rows.append((o['id_after'], o['before'], o['after'], o['class']))
        else: rows.append((o['id_' + ('after' if kind == 'new' else 'before')], o['after' if kind == 'new' else 'before'], o['class']))
    return sorted(rows)


def main():
    tool, count, modes = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60, set()
    for seed in range(count):
        before, after = pair(random.Random(seed))
        write('a.heapsnapshot', before), write('b.heapsnapshot', after)
        def expect(what, wanted, found):
            if wanted != found: sys.exit(f'seed {seed}: {what}: {wanted} expected, {found} found')
        def run(*options):
            return subprocess.run([tool, 'diff', *options, 'a.heapsnapshot', 'b.heapsnapshot'], capture_output=True, text=True, check=True)
        told, line = run('--json', '--all'), why(before, after)
        found = json.loads(told.stdout)
        expect('the reason', line, told.stderr)
        expect('classes', classes(before, after), [(c['class'], c['before'], c['after'], c['objects_before'], c['objects_after']) for c in found['classes']])
        rows, lists = by_object(before, after)
        screen = run().stdout
        modes.add(bool(line))
        if line:
            expect('objects', None, found['identity'])
            expect('the screen', False, 'object by object' in screen)
            continue
        keys = next(iter(rows.values())).keys() if rows else ()
        expect('classes of objects', rows, {c['class']: {k: c[k] for k in keys} for c in found['identity']['classes']})
        for kind, title in (('new', 'new objects?'), ('gone', 'objects? that (?:is|are) gone'), ('changed', 'objects? of another size')):
            expect(kind, lists[kind], listed(found['identity'], kind))
            expect(kind + ', how many', len(lists[kind]), found['identity'][kind]['count'])
            n = re.search(rf'^(\d+) {title}$', screen, re.M)
            expect(kind + ' on the screen', len(lists[kind]), int(n[1]) if n else 0)
    if modes != {False, True}: sys.exit('the seeds make only one kind of pair')


main()
