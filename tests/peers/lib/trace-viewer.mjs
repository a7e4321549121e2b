// usage: node trace-viewer.mjs WORK, by trace-viewer.sh, which puts viewer.html and the traces there
//        node trace-viewer.mjs WORK added BEFORE ALLOCATOR AFTER..., by chromium.sh
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';

const work = process.argv[2];

// The browser ---------------------------------------------------------------------------------------
// Chromium reads DevTools commands from file 3 and answers on file 4, as JSON that ends with NUL: it needs no port and no
// library. It ends when the pipe closes.

class Browser {
  constructor() {
    mkdirSync(work + '/profile');
    this.log = work + '/chromium.log';
    const log = openSync(this.log, 'w');
    this.process = spawn('chromium', ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
      '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-breakpad',
      '--window-size=1400,1300', '--user-data-dir=' + work + '/profile', '--remote-debugging-pipe', 'about:blank'],
      { stdio: ['ignore', log, log, 'pipe', 'pipe'], detached: true });  // detached: a group, so that it can be ended whole
    this.ended = new Promise(done => this.process.on('exit', done).on('error', done));
    this.ended.then(() => this.waiting.forEach(w => w.bad(new Error('chromium ended: see ' + this.log))));
    this.waiting = new Map();  // by id of the command, or name of the event
    this.process.stdio[3].on('error', () => {});  // the end is noticed by `ended`
    let text = '';
    this.process.stdio[4].setEncoding('utf8').on('data', data => {
      const messages = (text + data).split('\0');
      text = messages.pop();
      messages.forEach(m => this.receive(JSON.parse(m)));
    });
  }
  receive(message) {
    const key = message.id || message.method, w = this.waiting.get(key);
    if (!w) return;
    this.waiting.delete(key);
    if (message.error) w.bad(new Error(message.error.message));
    else w.good(message.result || message.params);
  }
  wait(key) { return new Promise((good, bad) => this.waiting.set(key, { good, bad })); }
  send(method, params = {}) {
    const id = this.last = (this.last || 0) + 1;
    this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId: this.session }) + '\0');
    return this.wait(id);
  }
  async open(url) {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
    this.session = (await this.send('Target.attachToTarget', { targetId, flatten: true })).sessionId;
    await this.send('Page.enable');
    const loaded = this.wait('Page.loadEventFired');
    await this.send('Page.navigate', { url });
    await loaded;
  }
  // Calls a function of this file in the page.
  async call(f, ...args) {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', {
      expression: `(${f})(...${JSON.stringify(args)})`, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description || exceptionDetails.text);
    return result.value;
  }
  async close() {
    if (this.session) this.send('Browser.close').catch(() => {});
    else this.kill();
    const late = setTimeout(() => this.kill(), 5000);
    await this.ended;
    clearTimeout(late);
    this.kill();  // processes of its group that may remain
    rmSync(work + '/profile', { recursive: true, force: true, maxRetries: 5 });
  }
  kill() { try { process.kill(-this.process.pid, 'SIGKILL'); } catch { /* gone */ } }
}

// In the page ---------------------------------------------------------------------------------------

// The viewer's reading of a trace: the imported entries, and in `rows` the content of its heap panel, broken down by
// backtrace and by type on every level.
function viewerReads(text) {
  const model = new tr.Model();
  new tr.importer.Import(model).importTraces([text]);
  const pane = document.createElement('tr-ui-a-memory-dump-heap-details-pane');
  const heaps = [];
  for (const process of Object.values(model.processes))
    process.memoryDumps.forEach((dump, index) => {
      for (const [allocator, heap] of Object.entries(dump.heapDumps || {})) {
        const entries = heap.entries.map(e => {
          const backtrace = [];
          for (let f = e.leafStackFrame; f; f = f.parentFrame) backtrace.unshift(f.title);
          return { backtrace, type: e.objectTypeName ?? null, size: Number.isNaN(e.size) ? 'NaN' : e.size,
            count: e.count ?? null, cumulative: e.valuesAreTotals };
        });
        const rows = [];
        const walk = (node, path) => {
          rows.push({ path, size: node.cells.Size.fields[0].value, count: node.cells.Count?.fields[0].value ?? null });
          for (const [dimension, children] of node.childNodes) {
            const mark = dimension === tr.ui.analysis.HeapDetailsRowDimension.OBJECT_TYPE ? ': ' : '; ';
            for (const child of children) walk(child, [...path, mark + child.title]);
          }
        };
        pane.heapDumps = [heap];
        walk(pane.createHeapTree_(), []);
        heaps.push({ pid: process.pid, dump: index, allocator, entries, rows,
          size: dump.getMemoryAllocatorDumpByFullName(allocator)?.numerics.size?.value });
      }
    });
  return { heaps, warnings: model.importWarnings.map(w => w.message) };
}

// Opens a trace as a user would: selects the largest dump, an allocator in it, then the largest row on each level.
// Returns the rows of that path as shown: name, size, count.
async function viewerShows(text) {
  const painted = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  document.head.insertAdjacentHTML('beforeend', '<style>html, body, tr-ui-timeline-view { width: 100%; height: 100%; margin: 0 }</style>');
  const view = document.createElement('tr-ui-timeline-view'), container = document.createElement('track-view-container');
  container.id = 'track_view_container';
  view.track_view_container = container;
  Polymer.dom(view).appendChild(container);
  view.globalMode = true;
  Polymer.dom(document.body).appendChild(view);
  const model = new tr.Model();
  await new tr.importer.Import(model).importTracesWithProgressDialog([text]);
  view.model = model;
  await painted();

  const size = dump => Object.values(dump.processMemoryDumps)[0].heapDumps.malloc?.entries[0].size ?? 0;
  const dump = model.globalMemoryDumps.reduce((a, b) => size(b) > size(a) ? b : a);
  view.brushingStateController.changeSelectionFromRequestSelectionChangeEvent(new tr.model.EventSet([dump]));
  await painted();
  const { table } = document.querySelector('tr-ui-a-memory-dump-overview-pane').$;
  table.selectedTableRow = table.tableRows[0];
  table.selectedColumnIndex = table.tableColumns.findIndex(c => c.name === 'malloc');
  await painted();
  const path = document.querySelector('tr-ui-a-memory-dump-heap-details-pane').$.path_view;
  const bytes = node => node.cells.Size.fields[0].value;
  for (let i = 0; i < 12; i++) {
    const below = path.selectedNode.childNodes.get(tr.ui.analysis.HeapDetailsRowDimension.STACK_FRAME);
    if (!below.length) break;
    path.selectedNode = below.reduce((a, b) => bytes(b) > bytes(a) ? b : a);
    await painted();
  }
  return Array.from(path.$.table.querySelectorAll('tbody > tr'),
    row => Array.from(row.querySelectorAll('td'), cell => cell.textContent.trim()));
}

// All memory dumps and slices that the viewer has of a trace, one per line.
function viewerHas(text) {
  const model = new tr.Model(), lines = [];
  new tr.importer.Import(model).importTraces([text]);
  for (const p of Object.values(model.processes)) {
    for (const t of Object.values(p.threads)) lines.push(`${p.pid} thread ${t.tid}: ${t.sliceGroup.slices.length} slices`);
    for (const dump of p.memoryDumps) {
      const at = `${p.pid} dump at ${dump.start}`;
      lines.push(`${at}: ${dump.levelOfDetail} ${JSON.stringify(dump.totals ?? null)}`);
      const below = allocators => (allocators || []).forEach(a => {
        const numbers = Object.entries(a.numerics).map(([name, n]) => name + ' ' + n.value);
        lines.push(`${at}: ${a.fullName}: ${numbers.join(', ')}`);
        below(a.children);
      });
      below(dump.memoryAllocatorDumps);
      for (const [name, heap] of Object.entries(dump.heapDumps || {}))
        lines.push(`${at}: heap of ${name}: ${heap.entries.length} entries, ${heap.entries.reduce((sum, e) => sum + e.size, 0)} bytes`);
    }
  }
  return { lines, warnings: model.importWarnings.map(w => w.message) };
}

// Our side ------------------------------------------------------------------------------------------

// Reads a trace independently of the tool and the viewer.
function fileSays(text) {
  const frames = {}, types = {}, heaps = [], dumps = {}, v2 = {};
  const events = JSON.parse(text).traceEvents;
  for (const e of events) {
    Object.assign(frames[e.pid] ??= {}, e.name === 'stackFrames' ? e.args.stackFrames : {});
    Object.assign(types[e.pid] ??= {}, e.name === 'typeNames' ? e.args.typeNames : {});
  }
  const path = (nodes, id, name) => {
    const p = [];
    for (let n = nodes[id]; n; n = nodes[n.parent]) p.unshift(name(n));
    return p;
  };
  for (const e of events.filter(e => e.ph === 'v')) {
    const dump = dumps[e.pid] = (dumps[e.pid] ?? -1) + 1, d = e.args.dumps;
    for (const [allocator, heap] of Object.entries(d.heaps || {}))
      heaps.push({ pid: e.pid, dump, allocator, entries: heap.entries.map(x => ({
        backtrace: path(frames[e.pid], x.bt, f => f.name),
        type: x.type === undefined ? null : types[e.pid][x.type],
        size: parseInt(x.size, 16), count: x.count === undefined ? null : parseInt(x.count, 16), cumulative: true })) });
    const maps = v2[e.pid] ??= { nodes: {}, types: {}, strings: {} };  // entries of earlier dumps remain valid
    for (const m in maps) for (const x of d.heaps_v2?.maps[m] || []) maps[m][x.id] = x;
    for (const [allocator, h] of Object.entries(d.heaps_v2?.allocators || {}))
      heaps.push({ pid: e.pid, dump, allocator, entries: h.nodes.map((node, i) => ({
        backtrace: [...path(maps.nodes, node, n => maps.strings[n.name_sid].string), '<self>'],
        type: maps.strings[maps.types[h.types[i]].name_sid].string,
        size: h.sizes[i], count: h.counts[i], cumulative: false })) });
  }
  return heaps;
}

// The output of build/heapdump by kind, with rows in the form of viewerReads. The viewer does not show the category
// of frames, with which our names end: " [libfoo.so]".
function toolSays(file) {
  const heaps = ['live', 'peak', 'total', 'temporary'].flatMap(kind => {
    const { stdout } = spawnSync('build/heapdump', ['tree', '--kind', kind, '--json', '--every-route', '--all', '--frames', 'all',
      '--min-bytes', '0', file], { maxBuffer: 1 << 30 });
    return JSON.parse(stdout).heaps;
  });
  const ids = {};  // the dump ids of a process, in order
  const events = JSON.parse(readFileSync(file, 'utf8')).traceEvents;
  const categories = new Set(events.flatMap(e => Object.values(e.args?.stackFrames ?? {}).map(f => f.category)));
  const shown = name => { const m = / \[([^[\]]+)\]$/.exec(name); return m && categories.has(m[1]) ? name.slice(0, m.index) : name; };
  for (const e of events) if (e.ph === 'v' && !(ids[e.pid] ??= []).includes(e.id)) ids[e.pid].push(e.id);
  return heaps.map(h => {
    const path = [];
    const rows = h.rows.map(r => {
      path.length = r.depth;
      if (r.depth) path[r.depth - 1] = r.axis === 'type' ? ': ' + r.name : '; ' + shown(r.name);
      return { path: [...path], size: r.bytes, count: r.blocks };
    });
    return { pid: h.pid, dump: ids[h.pid].indexOf(h.dump), allocator: h.allocator + (h.kind === 'live' ? '' : '/' + h.kind), kind: h.kind, rows };
  });
}

// Adds up self sizes for every backtrace. The viewer shows <self> at the end of each, and so does this function.
function addedUp(heap) {
  const rows = new Map();
  for (const e of heap.entries)
    for (let n = 0; n <= e.backtrace.length; n++) {
      const path = e.backtrace.slice(0, n).map(f => '; ' + f), key = path.join();
      if (!rows.has(key)) rows.set(key, { path, size: 0, count: 0 });
      rows.get(key).size += e.size;
      rows.get(key).count += e.count;
    }
  return { ...heap, rows: [...rows.values()] };
}

// Checks --------------------------------------------------------------------------------------------

let failed = false;
function report(name, problems, detail) {
  console.log(problems.length ? `FAIL ${name}` : `PASS ${name}: ${detail}`);
  problems.slice(0, 10).forEach(p => console.log('  ' + p));
  if (problems.length > 10) console.log(`  and ${problems.length - 10} more`);
  if (problems.length) failed = true;
}

// The lines that only one side has, in any order: entries are a set.
function difference(a, aName, b, bName) {
  const count = new Map();
  for (const x of a) count.set(x, (count.get(x) || 0) + 1);
  for (const x of b) count.set(x, (count.get(x) || 0) - 1);
  return [...count].filter(([, n]) => n).map(([x, n]) => `only ${n > 0 ? aName : bName}: ${x}`);
}
const entryLines = heaps => heaps.flatMap(h => h.entries.map(e =>
  [h.pid, h.dump, h.allocator, e.backtrace.join('; '), e.type, e.size, e.count, e.cumulative].join(' | ')));
const rowLines = (heaps, which = () => true) => heaps.flatMap(h => h.rows.filter(r => which(r.path)).map(r =>
  [h.pid, h.dump, h.allocator, r.path.join(''), r.size, r.count].join(' | ')));

async function checkHarness(browser) {
  const dir = 'tests/data/trace-viewer/', problems = [];
  const names = readdirSync(dir).filter(n => n.endsWith('.expected.json')).map(n => n.slice(0, -14));
  for (const name of names) {
    const expected = JSON.parse(readFileSync(dir + name + '.expected.json', 'utf8'));
    const got = await browser.call(viewerReads, readFileSync(dir + name + '.json', 'utf8'));
    problems.push(...difference(entryLines(expected.dumps), 'expected', entryLines(got.heaps), 'this viewer').map(p => name + ': ' + p),
      ...difference(expected.warnings, 'expected warning', got.warnings, 'this viewer warns').map(p => name + ': ' + p));
  }
  if (names.length < 3) problems.push(`only ${names.length} expected.json files`);
  report('this viewer reads tests/data/trace-viewer as expected', problems, names.length + ' traces');
}

async function checkTrace(browser, about, name, minHeaps, namesFound) {
  const file = `${work}/${name}.json`, text = readFileSync(file, 'utf8');
  const got = await browser.call(viewerReads, text), says = fileSays(text), tool = toolSays(file);
  const problems = got.warnings.map(w => 'warning: ' + w);
  if (says.length < minHeaps) problems.push(`${says.length} heaps, at least ${minHeaps} expected`);
  problems.push(...difference(entryLines(says), 'the file', entryLines(got.heaps), 'the viewer'));

  // The panel's rows, <other> included, are our tree with every route. For self sizes the viewer makes a <self> row
  // below every leaf, and names it <other> below a type. In that case the file's own sums are compared with the
  // panel, and the tree is compared without these rows. If our tool found names for addresses, only types are
  // compared.
  let alike = () => true;
  if (!says[0].entries[0].cumulative) {
    const frames = path => path.every(p => p.startsWith('; '));
    problems.push(...difference(rowLines(says.map(addedUp)), 'the file added up', rowLines(got.heaps, frames), 'the panel'));
    alike = namesFound ? path => path.every(p => p.startsWith(': ')) : path => !path.some(p => /<self>|<other>/.test(p));
  }
  problems.push(...difference(rowLines(tool, alike), 'heapdump tree', rowLines(got.heaps, alike), 'the panel'));

  // The overview shows the same size.
  got.heaps.forEach(h => { if (!/\/(peak|total|temporary)$/.test(h.allocator) && h.size !== h.rows[0].size) problems.push(`the overview shows ${h.size} bytes, the panel ${h.rows[0].size}`); });
  report(about, problems, `heaps ${says.length}, entries ${entryLines(says).length}, rows shown ${rowLines(got.heaps).length}, no warning; ` +
    `${got.heaps.at(-1)?.rows[0].size} bytes in the last`);
}

async function checkPanel(browser) {
  const file = work + '/every.json';
  const shown = await browser.call(viewerShows, readFileSync(file, 'utf8'));
  const { data } = await browser.send('Page.captureScreenshot');
  writeFileSync('build/peers/trace-viewer.png', Buffer.from(data, 'base64'));
  // The same path in our tree of the largest heap, in the viewer's spelling.
  const largest = toolSays(file).filter(h => h.kind === 'live').reduce((a, b) => b.rows[0].size > a.rows[0].size ? b : a);
  const kib = size => (size / 1024).toLocaleString('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 }) + ' KiB';
  const path = shown.slice(1).map(([name]) => name.replace(/^\u21b3\u0192/, '; '));  // an arrow, the sign of a stack frame
  const ours = shown.map((_, i) => {
    const row = largest.rows.find(r => r.path.join('') === path.slice(0, i).join(''));
    return row ? `${kib(row.size)} ${row.count.toLocaleString('en')}` : 'nothing';
  });
  report('the panel on the screen', difference(ours.map((o, i) => shown[i][0] + ' ' + o), 'heapdump tree', shown.map(row => row.join(' ')), 'the panel')
    .concat(shown.length < 5 ? ['no path to follow'] : []), `${shown.length} rows down the heaviest path, build/peers/trace-viewer.png`);
}

// After an addition, the viewer has all previous content, and the new heap.
async function checkAdded(browser, beforeFile, allocator, afterFile) {
  const before = await browser.call(viewerHas, readFileSync(beforeFile, 'utf8'));
  const after = await browser.call(viewerHas, readFileSync(afterFile, 'utf8'));
  const problems = difference(before.warnings, 'before: warning', after.warnings, 'after: warning');
  const changes = difference(before.lines, 'before', after.lines, 'after'), heap = `heap of ${allocator}: `;
  problems.push(...changes.filter(c => c.startsWith('only before')));
  const found = changes.filter(c => c.includes(heap));
  if (found.length !== 1) problems.push(`one ${heap}expected, found: ${found}`);
  if (changes.length > 20) problems.push(`${changes.length} changes`, ...changes);
  report(afterFile.replace(/.*\//, '') + ': the viewer has all previous content, and the new heap', problems, `${before.lines.length} lines, ${changes.length} new; ${found}`);
}

const browser = new Browser();
const limit = setTimeout(() => { console.log('FAIL not done after half an hour'); browser.kill(); process.exit(1); }, 1800000);
try {
  await browser.open('file://' + work + '/viewer.html');
  const has = await browser.call(() => typeof tr === 'object' && !!tr.importer?.Import && !!tr.e?.importer?.LegacyHeapDumpTraceEventImporter);
  if (!has) console.log('SKIP: this trace viewer imports no heap dumps');
  else if (process.argv[3] === 'added') {
    const [before, allocator, ...after] = process.argv.slice(4);
    for (const file of after) await checkAdded(browser, before, allocator, file);
  } else {
    await checkHarness(browser);
    await checkTrace(browser, 'a recording', 'exit', 1);
    await checkTrace(browser, 'a recording of several dumps', 'every', 2);
    await checkTrace(browser, 'the same, condensed by convert', 'condensed', 2);
    await checkTrace(browser, 'heaps_v2 by the preloaded recorder', 'raw', 1, true);
    await checkTrace(browser, 'five heaps by the library', 'library', 5);
    await checkTrace(browser, 'the same as heaps_v2', 'library_v2', 5);
    await checkPanel(browser);
  }
} catch (e) {
  report('the viewer in chromium', [e.stack]);
} finally {
  await browser.close();
  clearTimeout(limit);
}
process.exit(failed ? 1 : 0);
