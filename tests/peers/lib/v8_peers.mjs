// Reads V8 heap snapshots with other programs: Chrome DevTools' own worker, v8-heap-parser and memlab, from npm.
//
//   node v8_peers.mjs build DIR                  bundles the worker in DIR, where npm has installed it
//   node v8_peers.mjs devtools|parser|memlab DIR FILE     one line "id retained" per node; for DevTools' worker also the
//                                                         dominator's id and the distance
//   node v8_peers.mjs origins DIR FILE           DevTools' data on each node that is detached or attached, or has a source
//                                                location or allocation stack; and classes of native nodes
//   node v8_peers.mjs ours DIR FILE              the same from `heapdump objects --json` in FILE
//   node v8_peers.mjs take FILE                  takes a snapshot of this process, with difficult cases
//   node v8_peers.mjs tracked FILE               takes one with allocation tracking
import { createRequire } from 'node:module';
import fs from 'node:fs';
import path from 'node:path';
import v8 from 'node:v8';
import { Worker } from 'node:worker_threads';

const [what, dir, file] = process.argv.slice(2);

// The worker needs no translations, and a top-level await cannot be bundled.
async function build() {
  const require = createRequire(path.resolve(dir, 'package.json'));
  const front = path.resolve(dir, 'node_modules/chrome-devtools-frontend/front_end');
  fs.writeFileSync(`${front}/core/i18n/locales.js`, `export const LOCALES = ['en-US'], BUNDLED_LOCALES = ['en-US'];
export const DEFAULT_LOCALE = 'en-US', REMOTE_FETCH_PATTERN = '', LOCAL_FETCH_PATTERN = '';\n`);
  fs.writeFileSync(`${front}/core/platform/HostRuntime.ts`, `import * as Node from './node/node.js';
export const IS_NODE = true, IS_BROWSER = false, HOST_RUNTIME = Node.HostRuntime.HOST_RUNTIME;\n`);
  fs.writeFileSync(path.resolve(dir, 'entry.js'),
      `export * from '${front}/entrypoints/heap_snapshot_worker/heap_snapshot_worker.js';\n`);
  await require('esbuild').build({ entryPoints: [path.resolve(dir, 'entry.js')], bundle: true, platform: 'node', format: 'esm',
    outfile: path.resolve(dir, 'worker.mjs'), logLevel: 'error' });
}

const print = (count, ...columns) => {
  const out = [];
  for (let n = 0; n < count; n++) out.push(columns.map(column => column(n)).join(' ') + '\n');
  process.stdout.write(out.join(''));
};

async function load() {
  globalThis.self = globalThis;
  Promise.withResolvers ??= () => { const r = {}; r.promise = new Promise((a, b) => { r.resolve = a, r.reject = b; }); return r; };
  const { HeapSnapshot, HeapSnapshotLoader } = await import(path.resolve(dir, 'worker.mjs'));
  const { port1, port2 } = new MessageChannel();
  new HeapSnapshot.SecondaryInitManager(port2);
  const loader = new HeapSnapshotLoader.HeapSnapshotLoader({ sendEvent() {} });
  for await (const chunk of fs.createReadStream(file, 'utf8')) loader.write(chunk);
  loader.close();
  return { snapshot: await loader.buildSnapshot(port1), own: JSON.parse(fs.readFileSync(file, 'utf8')),
    close: () => { port1.close(), port2.close(); } };
}

// DevTools moves the sizes of some nodes to others before it adds up; here the file's sizes are added along its own
// dominators.
async function devtools() {
  const { snapshot, own, close } = await load(), width = own.snapshot.meta.node_fields.length;
  const size = own.snapshot.meta.node_fields.indexOf('self_size'), id = own.snapshot.meta.node_fields.indexOf('id');
  const parent = snapshot.dominatorsTree, count = own.nodes.length / width;
  const children = Array.from({ length: count }, () => []), order = [0];
  for (let n = 1; n < count; n++) children[parent[n]].push(n);
  for (let i = 0; i < order.length; i++) for (const child of children[order[i]]) order.push(child);
  const retained = new Float64Array(count);
  for (let n = 0; n < count; n++) retained[n] = own.nodes[n * width + size];
  for (let i = order.length - 1; i > 0; i--) retained[parent[order[i]]] += retained[order[i]];
  print(count, n => own.nodes[n * width + id], n => retained[n], n => own.nodes[parent[n] * width + id],
    n => snapshot.createNode(n * width).distance());
  close();
}

// One line per node: our stacks name scripts that DevTools' do not name, so only named ones are compared.
const place = p => `${p.script_id ?? p.scriptId}:${p.line ?? p.lineNumber + 1}:${p.column ?? p.columnNumber + 1}`;
const frame = f => f.functionName + (f.scriptName ? ` (${f.scriptName}:${f.line}:${f.column})` : '');
async function origins() {
  const { snapshot, own, close } = await load(), width = own.snapshot.meta.node_fields.length;
  const traced = own.snapshot.trace_function_count > 0;
  for (let n = 0; n < own.nodes.length; n += width) {
    const node = snapshot.createNode(n), source = snapshot.getLocation(n), link = node.detachedness();
    const stack = traced && node.traceNodeId() ? snapshot.allocationStack(n) : null;
    const of = node.type() === 'native' ? node.className() : '';
    if (!of && !source && !stack && !link) continue;
    console.log(node.id(), of, link, source ? place(source) : '-',
      stack ? stack.filter(f => f.functionName !== '(root)').map(frame).join(' < ') : '-');
  }
  close();
}

async function ours() {
  const own = JSON.parse(fs.readFileSync(dir, 'utf8')), { node_fields: fields, node_types: [types] } = own.snapshot.meta;
  const native = new Set();
  for (let n = 0; n < own.nodes.length; n += fields.length)
    if (types[own.nodes[n]] === 'native') native.add(String(own.nodes[n + fields.indexOf('id')]));
  const scripts = new Set();
  for (let i = 0; i < own.trace_function_infos.length; i += 6) scripts.add(own.strings[own.trace_function_infos[i + 2]]);
  for (const o of JSON.parse(fs.readFileSync(file, 'utf8')).files[0].objects) {
    const of = native.has(o.id) ? o.class : '', link = o.detached === undefined ? 0 : o.detached ? 2 : 1;
    if (!of && !o.source && !o.stack && !link) continue;
    const stack = o.stack?.map(f => {
      const [, name, at = ''] = f.match(/^(.*?)(?: \((.*)\))?$/), script = at.replace(/:\d+:\d+$/, '');
      return (name === '(anonymous)' ? '' : name) + (at && scripts.has(script) ? ` (${at})` : '');
    });
    console.log(o.id, of, link, o.source ? place(o.source) : '-', stack ? stack.join(' < ') : '-');
  }
}

async function parser() {
  const require = createRequire(path.resolve(dir, 'package.json'));
  const { decode_bytes } = require('@vscode/v8-heap-parser');
  const graph = decode_bytes(fs.readFileSync(file));
  const all = [];
  const groups = graph.get_class_groups(0, 100000, true);
  groups.forEach((group, i) => { for (const node of graph.class_children(i, 0, group.children_len, 0)) all.push(node); });
  const seen = new Map(all.map(node => [Number(node.id), Number(node.retained_size)]));
  const ids = [...seen.keys()];
  print(ids.length, n => ids[n], n => seen.get(ids[n]));
}

async function memlab() {
  const require = createRequire(path.resolve(dir, 'package.json'));
  const { getFullHeapFromFile } = require('@memlab/heap-analysis');
  const log = console.log;
  console.log = () => {};
  const heap = await getFullHeapFromFile(file);
  console.log = log;
  const out = [];
  heap.nodes.forEach(node => { out.push(`${node.id} ${node.retainedSize}\n`); });
  process.stdout.write('\n' + out.join(''));
}

// Keys and values of WeakMaps, two values at one key, values that hold their keys; closures, cycles, weak references,
// arrays with holes, strings of all kinds.
function take() {
  const keep = globalThis.keep = [];
  class Leaf { constructor(i) { this.big = 'x'.repeat(100 + i) + i; this.index = i; } }
  class Tree { constructor(n) { this.left = n > 1 ? new Tree(n >> 1) : new Leaf(n); this.right = n > 1 ? new Tree(n - 1 >> 1) : null; } }
  const one = new WeakMap(), two = new WeakMap(), dead = new WeakMap();
  for (let i = 0; i < 50; i++) {
    const key = { i }, shared = new Leaf(i);
    one.set(key, { value: shared, key }), two.set(key, shared), dead.set({ gone: i }, shared);
    if (i % 3) keep.push(key);
  }
  keep.push(one, two, new Tree(500), new WeakRef(keep), new Map([[keep, one]]), new Set([two]), Symbol('s'), 12345678901234567890n);
  keep[5000] = 'a "quoted" \u00e9\u{1f600}\ud800 text\n' + keep.length;
  keep.push((a => () => a)(new Leaf(7)), /a+/g, new Uint8Array(5000), 'concatenated '.repeat(3) + keep.length);
  v8.writeHeapSnapshot(dir);
}

// Objects allocated by a constructor, a recursive function and a method; closures. Another thread takes the snapshot:
// otherwise its own allocations would be in it.
const taker = `
  const { Session } = require('node:inspector'), { parentPort, workerData } = require('node:worker_threads'), fs = require('node:fs');
  const session = new Session(), out = fs.openSync(workerData, 'w');
  session.connectToMainThread();
  session.on('HeapProfiler.addHeapSnapshotChunk', m => fs.writeSync(out, m.params.chunk));
  session.post('HeapProfiler.startTrackingHeapObjects', { trackAllocations: true }, () => parentPort.postMessage('tracking'));
  parentPort.on('message', () => session.post('HeapProfiler.stopTrackingHeapObjects', { reportProgress: false }, () => process.exit()));`;
async function tracked() {
  const worker = new Worker(taker, { eval: true, workerData: dir });
  await new Promise(resolve => worker.once('message', resolve));
  class Widget { constructor(i) { this.label = 'widget ' + i; } twin() { return new Widget(this.label); } }
  const nest = n => n ? [nest(n - 1)] : [];
  function fill(n) { return Array.from({ length: n }, (_, i) => { const w = new Widget(i); return [w, w.twin(), () => w, nest(i % 5)]; }); }
  globalThis.kept = fill(30);
  worker.postMessage('stop');
  await new Promise(resolve => worker.once('exit', resolve));
}

await { build, devtools, origins, ours, parser, memlab, take, tracked }[what]();
