// Computes the retained sizes of a V8 heap snapshot by the rules in the simplest way: JSON.parse, and dominators by
// Cooper, Harvey and Kennedy. Prints "id retained" for each node.
//
//   node v8_retained.mjs FILE
import fs from 'node:fs';

const file = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const { node_fields: nodeFields, node_types: nodeTypes, edge_fields: edgeFields, edge_types: edgeTypes } = file.snapshot.meta;
const { nodes, edges, strings } = file;
const width = nodeFields.length, count = nodes.length / width;
const node = (n, field) => nodes[n * width + nodeFields.indexOf(field)];
const edge = (e, field) => edges[e * edgeFields.length + edgeFields.indexOf(field)];
const edgeType = e => edgeTypes[edgeFields.indexOf('type')][edge(e, 'type')];
const nodeType = n => nodeTypes[nodeFields.indexOf('type')][node(n, 'type')];
const target = e => edge(e, 'to_node') / width;
const first = [0];
for (let n = 0; n < count; n++) first.push(first[n] + node(n, 'edge_count'));

// The nodes that the page owns.
const owned = new Set();
const queue = [];
const own = n => { if (!owned.has(n)) owned.add(n), queue.push(n); };
for (let e = first[0]; e < first[1]; e++) {
  const to = target(e), trees = nodeType(to) === 'synthetic' && strings[node(to, 'name')] === '(Document DOM trees)';
  if (edgeType(e) === 'shortcut' || (edgeType(e) === 'element' && trees)) own(to);
}
while (queue.length) {
  const n = queue.pop();
  for (let e = first[n]; e < first[n + 1]; e++) if (edgeType(e) !== 'weak') own(target(e));
}

const pair = /^\d+ \/ part of key \(.*? @\d+\) -> value \(.*? @\d+\) pair in WeakMap \(table @(\d+)\)$/;
function holds(n, e) {
  const type = edgeType(e), to = target(e);
  if (type === 'weak' || n === to) return false;
  if (n && (type === 'shortcut' || (owned.has(to) && !owned.has(n)))) return false;
  const match = type === 'internal' && pair.exec(strings[edge(e, 'name_or_index')]);
  return !(match && Number(match[1]) === node(n, 'id'));
}
const out = [], into = [];
for (let n = 0; n < count; n++) out.push([]), into.push([]);
for (let n = 0; n < count; n++)
  for (let e = first[n]; e < first[n + 1]; e++)
    if (holds(n, e)) out[n].push(target(e)), into[target(e)].push(n);

// Nodes in postorder; unreachable ones are put below node 0.
const seen = new Uint8Array(count), order = [];
function walk(root) {
  const stack = [[root, 0]];
  seen[root] = 1;
  while (stack.length) {
    const top = stack[stack.length - 1];
    if (top[1] === out[top[0]].length) { order.push(top[0]); stack.pop(); continue; }
    const to = out[top[0]][top[1]++];
    if (!seen[to]) seen[to] = 1, stack.push([to, 0]);
  }
}
walk(0);
const reached = order.pop(); // node 0 is the last
const hang = n => into[n].push(0);
for (let n = 0; n < count; n++) if (!seen[n] && !into[n].length) hang(n), walk(n);
for (let n = 0; n < count; n++) if (!seen[n]) seen[n] = 1, hang(n), order.push(n), out[n].rest = true;
order.push(reached);

const number = new Int32Array(count), dominator = new Int32Array(count).fill(-1);
order.forEach((n, i) => number[n] = i);
dominator[0] = 0;
for (let changed = true; changed;) {
  changed = false;
  for (let i = order.length - 2; i >= 0; i--) {
    let best = -1;
    for (const from of into[order[i]]) {
      if (dominator[from] < 0) continue;
      if (best < 0) { best = from; continue; }
      for (let other = from; other !== best;)
        if (number[other] < number[best]) other = dominator[other];
        else best = dominator[best];
    }
    if (dominator[order[i]] !== best) dominator[order[i]] = best, changed = true;
  }
}
const retained = new Float64Array(count);
for (let n = 0; n < count; n++) retained[n] = node(n, 'self_size');
for (const n of order) if (n) retained[dominator[n]] += retained[n];
let text = '';
for (let n = 0; n < count; n++) text += `${node(n, 'id')} ${retained[n]}\n`;
fs.writeFileSync(1, text);
