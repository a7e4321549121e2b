"""usage: report.py inputs UNTIL_DUMPS | browse TOOL [PICTURE]

inputs: makes heaps and graphs in the current directory, with names that resemble markup, and one with 100,000 nodes.
browse: opens their pages, drives them by keyboard and script, and compares them with the tool's output."""
import json, os, random, re, subprocess, sys
from browser import Browser

EVIL = ['</script><img src=x onerror=alert(1)>', '&lt;b&gt;bold&lt;/b&gt;', '<!--', '<script>alert(2)</script>', "'\"><svg onload=alert(3)>",
        '\u2028\u202ejavascript:alert(4)', '</title><style>*{display:none}</style>', '__proto__', 'constructor']

def visible(name): return re.sub('[\u2028\u202e]', '?', name)

def trace(path, nodes, cells, types, process='made', allocator='malloc'):
    """nodes: (name, parent or None); cells: (node, type, bytes, blocks)."""
    strings, ids = [], {}
    def number(s):
        if s not in ids:
            ids[s] = len(ids) + 1
            strings.append({'id': ids[s], 'string': s})
        return ids[s]
    maps = {'nodes': [{'id': i + 1, 'name_sid': number(n), **({} if p is None else {'parent': p + 1})} for i, (n, p) in enumerate(nodes)],
            'types': [{'id': i, 'name_sid': number(t)} for i, t in enumerate(types)], 'strings': strings}
    columns = list(zip(*cells))
    heap = {'nodes': [n + 1 for n in columns[0]], 'types': columns[1], 'sizes': columns[2], 'counts': columns[3]}
    json.dump({'traceEvents': [{'pid': 5, 'ph': 'M', 'name': 'process_name', 'args': {'name': process}},
        {'pid': 5, 'ph': 'v', 'id': '0x1', 'ts': 1, 'args': {'dumps': {'heaps_v2': {'maps': maps, 'allocators': {allocator: heap}}}}}]}, open(path, 'w'))

def snapshot(path, nodes, edges, names):
    """A V8 heap snapshot. nodes: (type, name, id, size); edges by node: (type, name or index, to)."""
    kinds = ['hidden', 'array', 'string', 'object', 'code', 'closure', 'regexp', 'number', 'native', 'synthetic', 'concatenated string', 'sliced string', 'symbol', 'bigint']
    flat, links = [], []
    for (kind, name, id, size), out in zip(nodes, edges): flat += [kinds.index(kind), name, id, size, len(out), 0]
    links = [x for out in edges for kind, name, to in out for x in (kind, name, to * 6)]
    meta = {'node_fields': ['type', 'name', 'id', 'self_size', 'edge_count', 'trace_node_id'],
            'node_types': [kinds, 'string', 'number', 'number', 'number', 'number'],
            'edge_fields': ['type', 'name_or_index', 'to_node'],
            'edge_types': [['context', 'element', 'property', 'internal', 'hidden', 'shortcut', 'weak'], 'string_or_number', 'node'],
            'trace_function_info_fields': [], 'trace_node_fields': [], 'sample_fields': [], 'location_fields': []}
    json.dump({'snapshot': {'meta': meta, 'node_count': len(nodes), 'edge_count': len(links) // 3, 'trace_function_count': 0},
               'nodes': flat, 'edges': links, 'trace_function_infos': [], 'trace_tree': [], 'samples': [], 'locations': [], 'strings': names}, open(path, 'w'))

def objects(path, count):
    """A tree of count + 1 objects that reference each other, some with hostile names."""
    r = random.Random(7)
    names = ['', '(GC roots)', 'left', 'right'] + EVIL + ['Class %d' % i for i in range(500)]
    nodes, edges = [('synthetic', 1, 1, 0)], [[]]
    for i in range(1, count + 1):
        parent = r.randrange(max(0, i // 3 - 50), i) if i > 1 else 0
        nodes.append(('object', 4 + i % len(EVIL) if i % 50 < 3 else 4 + len(EVIL) + i * i % 500, 2 * i + 1, 16 + 8 * (i % 40)))
        edges.append([])
        edges[parent].append((2, 2 + i % 2, i) if i % 3 else (1, i % 7, i))
    snapshot(path, nodes, edges, names)

def alike(path):
    """20,000 objects of a class that one object holds, and a list of 300 elements."""
    names = ['', 'Holder', 'Entry', 'next', 'Node', 'Last']
    nodes = [('synthetic', 0, 1, 0), ('object', 1, 3, 16)] + [('object', 2, 5 + 2 * i, 16) for i in range(20000)]
    nodes += [('object', 4 if i < 299 else 5, 50001 + 2 * i, 8 if i < 299 else 100000) for i in range(300)]
    edges = [[(1, 0, 1)], [(1, i, 2 + i) for i in range(20001)]] + [[] for i in range(20000)]
    edges += [[(2, 3, 20003 + i)] if i < 299 else [] for i in range(300)]
    snapshot(path, nodes, edges, names)

def unlike(path):
    """20,000 objects, each of its own class."""
    names = [''] + ['Class %d' % i for i in range(20000)]
    snapshot(path, [('synthetic', 0, 1, 0)] + [('object', 1 + i, 3 + 2 * i, 24) for i in range(20000)],
             [[(1, i, 1 + i) for i in range(20000)]] + [[] for _ in range(20000)], names)

def inputs(until_dumps):
    with open('many.py', 'w') as f: f.write(until_dumps + '''
import json, sqlite3
keep = []
for step in range(8):
    db = sqlite3.connect(":memory:")
    db.execute("create table words(word text primary key, json text)")
    db.executemany("insert into words values (?, ?)", ((str(i), json.dumps([i] * 20)) for i in range(3000)))
    keep.append((db, [{"id": i, "name": "n%d" % i} for i in range(5000)]))
    if os.environ.get("REPORT_DUMPS"): until_dumps(step + 1)
os._exit(0)
''')
    for path, scale in ('evil.json', 1), ('evil2.json', 3):
        nodes = [('main', None)] + [(name, 0) for name in EVIL] + [('malloc', 3), ('leaf', 10), ('_start', None), ('deep', 12), ('leaf', 13)]
        trace(path, nodes, [(i, i % 2, 1000 * i if i != 4 else 1000 * i * scale, i) for i in range(1, len(nodes))],
              [EVIL[3], 'Type'], '<i>process</i>', '<u>malloc</u>')
    r, nodes = random.Random(5), [('main', None)]
    for i in range(1, 100000): nodes.append(('namespace%d::function_%d(int, char const*)' % (i % 7, r.randrange(30000)), r.randrange(max(0, i // 4 - 20), i)))
    with open('deep.folded', 'w') as f: f.write(';'.join('f%d' % i for i in range(100005)) + ' 1000\n')
    with open('wide.folded', 'w') as f: f.write(''.join('main;c%d;leaf %d\n' % (i, 100 + i % 7) for i in range(10000)))
    trace('large.json', nodes, [(i, i % 12, r.randrange(16, 4000), 1 + i % 3) for i in range(1, len(nodes))], ['Type %d' % i for i in range(12)])
    objects('graph.heapsnapshot', 99999)
    objects('graph2.heapsnapshot', 90000)
    alike('alike.heapsnapshot'), unlike('unlike.heapsnapshot')

failed = False
def check(name, want, got):
    global failed
    failed |= want != got
    same = want == got
    if not same and isinstance(want, list) and isinstance(got, list): want, got = [x for x in want if x not in got], [x for x in got if x not in want]
    print(f'PASS {name}' if same else f'FAIL {name}: {want!r} expected, {got!r} found')

def text(n):
    """A size as heapdump and its pages print it."""
    u, size = 0, float(n)
    while u < 4 and abs(size) >= 1023.95: u, size = u + 1, size / 1024
    return ('%.1f %s' if u else '%.0f %s') % (size, ['B', 'KiB', 'MiB', 'GiB', 'TiB'][u])

def signed(n): return ('+' if n > 0 else '\u2212' if n < 0 else '') + text(abs(n))

class Page:
    def __init__(self, tool): self.tool, self.there = tool, os.getcwd()
    def told(self, *command): return json.loads(subprocess.run([self.tool, *command], stdout=subprocess.PIPE, check=True).stdout)
    def names(self, *command): return {visible(r['name']): (r['bytes'], r['self_bytes']) for r in self.told('top', '--json', '--top', '1000000', *command)['heaps'][-1]['rows']}
    def open(self, b, name, **size):
        b.open(f'file://{self.there}/{name}.html', **size)
        b.theme('light')
        return b

ROWS = 'JSON.stringify([...document.querySelectorAll("#%s tbody tr")].map(r => [...r.cells].map(c => c.textContent)))'
def rows(b, table): return json.loads(b.run(ROWS % table))
def all_rows(b, table):
    while b.run(f'!document.getElementById("{table}-more").hidden'): b.run(f'document.getElementById("{table}-more").click()')
    return rows(b, table)
def shown(b, id): return b.run(f'document.getElementById("{id}").textContent').strip()
def cells(b, more=''): return b.run(f'document.querySelectorAll("#stacks .cell{more}").length')
def cursor(b): return b.run('document.querySelector(".cursor")?.title.split(" \u2013 ")[0]')
def quiet(b, name): check(f'{name}: the console is silent, and no request is made', ([], 1), (b.said, len(b.asked)))
def filtered(b, field, nodes, words):
    """Prints the time in milliseconds from an input to the layout of its results; under 100 on an idle machine. This
    is not checked, because the machine may be busy."""
    times = sorted(b.run("""(() => { const field = document.getElementById(%r), words = %s; return words.map(w => {
        const start = performance.now();
        field.value = w, field.dispatchEvent(new Event("input")), document.body.offsetHeight;
        return performance.now() - start }) })()""" % (field, json.dumps(words))))
    print(f'     {nodes} nodes are filtered in {times[len(times) // 2]:.0f} ms (median), {times[-1]:.0f} ms (longest of {len(times)})')
    check(f'the page has enough nodes to time the filter: {nodes}', True, nodes >= 99000)
def names_of_all(b, name):
    """Screen readers: all buttons and figures have a name."""
    tree = b.send('Accessibility.getFullAXTree')['nodes']
    without = [n['role']['value'] for n in tree if not n.get('ignored') and n['role']['value'] in ('button', 'combobox', 'searchbox', 'slider', 'tree', 'treeitem', 'table', 'img', 'image')
               and not n.get('name', {}).get('value')]
    check(f'{name}: all elements have a name for screen readers', [], without)

def heaps(b, page):
    page.open(b, 'evil')
    quiet(b, 'names that resemble markup')
    check('they are shown as text', True, all(b.run(f'[...document.querySelectorAll("#stacks .cell")].some(c => c.title.startsWith({json.dumps(visible(n))}))') for n in EVIL))
    check('none of them changes the direction of text', None, b.run(r'document.body.innerText.match(/[\u2028-\u202e]/)'))
    check('none of them became an element', 0, b.run('document.querySelectorAll("main img, main script, main style, main i, main u, main b, main svg [onload]").length'))
    check('an inserted script does not run', ['script-src-elem', 'undefined'], b.run("""new Promise(done => {
        addEventListener('securitypolicyviolation', e => done([e.effectiveDirective, typeof ran]));
        document.body.append(Object.assign(document.createElement('script'), { textContent: 'var ran = 1' })) })"""))
    def as_top(name, *options):
        told = page.names(*options, f'{name}.json')
        check(f'{name}: totals and self bytes equal those of top{" with " + " ".join(options) if options else ""}',
              sorted([text(t), text(s), n] for n, (t, s) in told.items() if n != '<self>'),
              sorted([r[0], r[2], r[4]] for r in all_rows(b, 'sites')))
    as_top('evil')
    b.key('h')
    as_top('evil', '--frames', 'all')
    b.key('h'), b.key('b')
    as_top('evil', '--by', 'type')
    b.run('document.getElementById("stacks").focus()')
    for key in 'ArrowDown', 'Enter', 'b': b.key(key)
    check('zooming into a type shows only its stacks', [text(sum(range(0, 15, 2)) * 1000), True],
          [shown(b, 'detail').split(' \u2013 ')[1].split(',')[0], b.run('!document.getElementById("only").hidden')])

def keyboard(b, page):
    page.open(b, 'many')
    names_of_all(b, 'heaps')
    check('many dumps have a time line', True, b.run('!document.getElementById("time").hidden && document.querySelectorAll("#line path").length === 2'))
    last = shown(b, 'told')
    b.run('document.getElementById("dump").focus()')
    b.key('ArrowLeft')
    check('an arrow key goes to the previous dump', True, shown(b, 'told') != last and b.run('document.getElementById("dump").ariaValueText ?? document.getElementById("dump").getAttribute("aria-valuetext")').startswith('dump 0x'))
    b.run('document.activeElement.blur()')
    b.key('/')
    check('/ goes to the search', 'search', b.run('document.activeElement.id'))
    b.type('sqlite3')
    check('matches are marked and counted', True, cells(b, '.hit') > 5 and shown(b, 'hits').endswith('%'))
    check('the table has only matches', True, all('sqlite3' in r[-1].lower() for r in rows(b, 'sites')) and len(rows(b, 'sites')) > 5)
    b.key('Enter')
    check('Enter goes to the view', 'stacks', b.run('document.activeElement.id'))
    b.key('n')
    check('n goes to the next match', True, 'sqlite3' in cursor(b).lower())
    before, name = cells(b), cursor(b)
    b.key('Enter')
    check('Enter zooms in', (True, True), (shown(b, 'detail').startswith(name), cells(b, '.above') >= 1))
    b.key('ArrowUp')
    check('an arrow key goes to the frame above', True, cursor(b) not in (None, name))
    b.key('Backspace'), b.key('Escape')
    check('Escape shows the whole heap', (before, 0), (cells(b), cells(b, '.above')))
    b.key('/'), b.type('('), b.key('Escape')
    check('Escape ends the search', (0, ''), (cells(b, '.hit'), shown(b, 'hits')))
    total = shown(b, 'detail')
    b.key('i')
    check('i inverts the tree', ('true', total, True), (b.run('document.getElementById("invert").ariaPressed'), shown(b, 'detail'), cells(b) > 20))
    b.key('f')
    check('f shows a flame graph', True, b.run('parseFloat(document.querySelector("#stacks .cell").style.top) > parseFloat(document.querySelector("#stacks .cell:nth-child(3)").style.top)'))
    b.key('i'), b.key('f'), b.key('b')
    check('b selects the next axis', 'type', b.run('document.getElementById("axis").value'))
    b.key('b'), b.key('?')
    check('? shows the keys', True, b.run('document.getElementById("keys").open'))
    b.key('Escape'), b.key('t')
    check('t selects the dark theme', 'dark', b.run('document.documentElement.dataset.theme'))
    b.run('const c = document.getElementById("compare"); c.value = c.options[1].value; c.onchange()')
    check('two dumps of one file are compared', True, cells(b, '.change') > 10)
    quiet(b, 'keys')

def both(b, page):
    page.open(b, 'both')
    before, after = page.names('evil.json'), page.names('evil2.json')
    want = [[signed(after[n][0] - before[n][0]), signed(after[n][1] - before[n][1]), text(before[n][0]), text(after[n][0]), n] for n in after if n != '<self>']
    check('two files: changes by name', sorted(want), sorted(all_rows(b, 'sites')))
    page.open(b, 'sampled')
    check('two samples of one program: most differences are marked as noise', True, cells(b, '.noise') > 0)
    quiet(b, 'two files')
    page.open(b, 'raw')
    quiet(b, 'MemProf')
    page.open(b, 'cut')
    check('omitted entries are counted', True, 'each, is <other>' in shown(b, 'told') and cells(b, '.other') > 1)
    check('... and are in the total', text(sum(r['bytes'] for r in page.told('info', '--json', 'large.json')['files'][0]['heaps'])), shown(b, 'told').split(';')[0])

def typed(b, field, words):
    for word in words:
        b.run(f'document.getElementById("{field}").value = ""')
        b.key('/'), b.type(word), b.key('Enter')

def large(b, page):
    page.open(b, 'large')
    nodes = b.run('JSON.parse(document.getElementById("data").textContent).heaps[0].tables[0].axes[0].parent.length')
    told = page.names('large.json')
    check('100,000 nodes: the figures of the names with the most self bytes', [[text(v) for v in told[r[4]]] for r in rows(b, 'sites')], [[r[0], r[2]] for r in rows(b, 'sites')])
    check('they are the largest ones', text(max(s for n, (t, s) in told.items())), rows(b, 'sites')[0][2])
    filtered(b, 'search', nodes, ['f', 'fu', 'function_1', 'function_12', '/space3.*_99/', '/[02468][(]/', 'zz', 'namespace', '7', ''])
    quiet(b, 'large')

def deep(b, page):
    page.open(b, 'deep')
    nodes = b.run('JSON.parse(document.getElementById("data").textContent).heaps[0].tables[0].axes[0].parent.length')
    check('a chain of 100,005 objects of equal size: as many nodes as a page may have, and <other>', 100001, nodes)
    check('the drawn levels are limited, and the last one says so', (201, True), (cells(b), 'zoom in' in b.run('document.querySelector("#stacks .deeper").title')))
    b.run('document.querySelector("#stacks .deeper").click()')
    check('... zooming into it shows further levels', ('f199', 'f399'), (shown(b, 'detail').split(' ')[0], b.run('document.querySelector("#stacks .deeper").textContent')))
    check('... and the last drawn level is in view', True, b.run('(r => r.top >= 0 && r.bottom <= innerHeight)(document.querySelectorAll("#stacks .cell")[200].getBoundingClientRect())'))
    page.open(b, 'wide')
    zooms = []
    for _ in range(4):
        zooms.append(cells(b))
        b.run('[...document.querySelectorAll("#stacks .cell")].at(-1).click()')
    check('a cell that is too narrow is reached by zooming', (3, 'leaf'), (zooms[0], shown(b, 'detail').split(' ')[0]))
    b.key('Escape')
    check('... and zooming out works', 3, cells(b))
    quiet(b, 'deep and wide')

def small(b, page):
    for name in 'many', 'both', 'graphs':
        page.open(b, name, width=360, height=640)
        check(f'{name}: as wide as a telephone', 360, b.run('document.documentElement.scrollWidth'))
        check(f'{name}: names are next to their figures', True, b.run('(c => c.getBoundingClientRect().right <= 360 && c.getBoundingClientRect().left < 240)([...document.querySelectorAll(".wide td:last-child")].find(c => c.offsetWidth))'))
    for name, view in ('many', 'stacks'), ('graph', 'map'):
        page.open(b, name)
        b.send('Emulation.setEmulatedMedia', media='print')
        b.run(f'document.querySelector("main").style.width = "700px"')
        check(f'{name}: the whole view is printed', True, b.run(f'(v => [...v.children].every(c => c.offsetLeft + c.offsetWidth <= v.clientWidth + 1 && c.offsetTop + c.offsetHeight <= v.scrollHeight))(document.getElementById("{view}"))'))
        b.send('Emulation.setEmulatedMedia', media='')

def graphs(b, page):
    page.open(b, 'graph')
    names_of_all(b, 'objects')
    quiet(b, 'objects')
    check('no name became an element', 0, b.run('document.querySelectorAll("main img, main script, main style").length'))
    check('the map has cells', True, b.run('document.querySelectorAll("#map .cell").length') > 50)
    told = page.told('classes', '--json', 'graph.heapsnapshot')['files'][0]['classes']
    check('classes are equal to those of the tool', sorted([text(c['retained']), text(c['live_bytes']), f'{c["live_objects"]:,}', visible(c['class'])] for c in told),
          sorted([r[0], r[2], r[3], r[6]] for r in all_rows(b, 'classes')))
    typed(b, 'find', ['class 12', '/class .*7$/', 'onerror'])
    check('objects are filtered', True, all('onerror' in r[-1] for r in rows(b, 'objects')) and len(rows(b, 'objects')) == 100)
    count = b.run('JSON.parse(document.getElementById("data").textContent).graph.id.length')
    filtered(b, 'find', count, ['c', 'class', 'class 12', '/class .*7$/', 'onerror', 'zz', '7', ''])
    b.key('/'), b.key('Escape')
    b.run('document.querySelector("#classes thead th:nth-child(6) button").click()')
    check('a click on its head sorts a table', 'descending', b.run('document.querySelector("#classes thead th:nth-child(6)").ariaSort'))
    b.run('document.querySelector("#objects tbody tr:nth-child(40) .link").click()')
    id = b.run('document.querySelector("#object h2").textContent.split(" ").at(-1)')
    path = page.told('path', '--json', '--id', id, 'graph.heapsnapshot')['files'][0]['paths'][0]['objects']
    check('the path to an object is as short as in `path`', len(path), b.run('document.querySelectorAll("#object ol li").length'))
    b.run('document.getElementById("map").focus()')
    for key in 'ArrowDown', 'ArrowDown', 'Enter': b.key(key)
    check('Enter zooms into the map and shows the object', (True, True), (b.run('document.querySelectorAll("#crumbs button").length') > 1, b.run('document.activeElement.id') == 'map'))
    b.key('Escape')
    check('Escape shows the whole map', 1, b.run('document.querySelectorAll("#crumbs button").length'))
    quiet(b, 'objects, by keyboard')
    page.open(b, 'unlike')
    for _ in range(3): b.run('[...document.querySelectorAll("#map .cell")].at(-1).click()')
    check('many objects, each of its own class', 'Class', shown(b, 'map-detail').split(' ')[0])
    page.open(b, 'alike')
    for _ in range(3): b.run('[...document.querySelectorAll("#map .cell")].findLast(c => c.title.includes("Entry"))?.click()')
    check('many objects of one class: zooming reaches each', 'Entry', shown(b, 'map-detail').split(' ')[0])
    check('... with its page', 'Entry', b.run('document.querySelector("#object h2")?.textContent.split(" ")[0]'))
    all_rows(b, 'objects')
    b.run('[...document.querySelectorAll("#objects .link")].find(l => l.textContent.startsWith("Last ")).click()')
    way = json.loads(b.run('JSON.stringify([...document.querySelectorAll("#object ol li")].map(l => [l.value, l.textContent.split(" ")[1]]))'))
    check('a long path shows both of its ends', ([41, 302, 'more:'], 'Last'), ([len(way), way[-1][0], way[20][1]], b.run('document.querySelector("#object ol li:last-child b").textContent.split(" ")[0]')))
    page.open(b, 'graphs')
    change = {visible(c['class']): c for c in page.told('diff', '--json', 'graph.heapsnapshot', 'graph2.heapsnapshot')['classes']}
    check('two graphs: changes by class', sorted([signed(c['after'] - c['before']), n] for n, c in change.items()),
          sorted([r[0], r[-1]] for r in all_rows(b, 'classes') if r[0] != '0 B' or r[1] != '0'))
    quiet(b, 'two graphs')
    page.open(b, 'node')
    for path in b.run('[...document.querySelectorAll("#objects .link")].slice(0, 5).map(l => (l.click(), [document.querySelector("#object h2").textContent.split(" ").at(-1), document.querySelectorAll("#object ol li").length]))'):
        told = page.told('path', '--json', '--id', path[0], 'node.heapsnapshot')['files'][0]['paths'][0]['objects']
        check(f'node: the path to {path[0]}', len(told), path[1])
    quiet(b, 'node')

def pictures(b, page, picture):
    for name in 'many', 'both', 'graph':
        page.open(b, name)
        for theme in 'light', 'dark':
            b.theme(theme)
            b.picture(f'{name}-{theme}.png')
        back = b.run('getComputedStyle(document.body).backgroundColor')
        check(f'{name}: dark if the theme of the system is dark', True, sum(map(int, re.findall(r'\d+', back)[:3])) < 150)
        b.send('Emulation.setEmulatedMedia', media='print')
        check(f'{name}: printed on white, without buttons', ('rgb(255, 255, 255)', 'none'),
              (b.run('getComputedStyle(document.body).backgroundColor'), b.run('getComputedStyle(document.getElementById("theme")).display')))
        b.send('Emulation.setEmulatedMedia', media='')
    if picture:
        page.open(b, 'picture', width=940, height=580)
        b.picture(picture)
        check('the picture is small', True, os.path.getsize(picture) < 100000)

def browse(tool, picture=None):
    page = Page(tool)
    with Browser(os.getcwd()) as b:
        for part in heaps, keyboard, both, large, deep, graphs, small: part(b, page)
        pictures(b, page, picture)
    sys.exit(failed)

{'inputs': inputs, 'browse': browse}[sys.argv[1]](*sys.argv[2:])
