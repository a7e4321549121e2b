// leak: pending
'use strict';
const v8 = require('v8');
const registry = { pending: new Map(), done: 0 }; const lru = new Map();
function handle(i) { const req = { id: i, headers: { host: 'h' + i, len: i }, body: [i, i + 1] }; registry.pending.set(req.id, req); if (i % 5) registry.pending.delete(req.id); registry.done++; }
function look(i) { lru.set(i % 3000, { v: 'value ' + i }); if (lru.size > 1000) lru.delete(lru.keys().next().value); }
const start = Array.from({ length: 5000 }, (_, i) => ({ i, t: 'table ' + i }));
for (let i = 0; i < 30000; i++) { handle(i); look(i); if (i % 10000 == 9999) v8.writeHeapSnapshot(process.argv[2] + '.' + (i + 1) / 10000 + '.heapsnapshot'); }
if (start.length < 1) console.log(registry.done);
