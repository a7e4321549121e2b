// For paths.sh: a Map in a variable that a closure keeps, and a linked list.
//
//   node v8_leak.js FILE
const v8 = require('node:v8');
class Session { constructor(i) { this.user = 'user ' + i; } }
class Item { constructor(i) { this.text = 'item ' + i; this.next = null; } }
function store() {
  const cache = new Map();
  return { put: i => cache.set('key' + i, new Session(i)) };
}
const sessions = store();
for (let i = 0; i < 30; i++) sessions.put(i);
globalThis.queue = { head: new Item(0) };
for (let i = 1, last = queue.head; i < 50; i++) last = last.next = new Item(i);
globalThis.app = { sessions };
v8.writeHeapSnapshot(process.argv[2]);
