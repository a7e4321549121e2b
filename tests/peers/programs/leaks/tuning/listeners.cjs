// leak: socket_pool
'use strict';
const { EventEmitter } = require('events'), v8 = require('v8');
const bus = new EventEmitter(); bus.setMaxListeners(0);
const cache = new Map(); let session_log = [];
class socket_pool { constructor(i) { this.name = 'socket ' + i; this.buffer = new Array(30).fill(i); bus.on('tick', () => this.buffer.length); } }
class Page { constructor(i) { this.text = 'page ' + i + 'x'.repeat(i % 50); } }
for (let i = 0; i < 9000; i++) {
  cache.set(i * 7919 % 1500, new Page(i));
  if (session_log.length > 2000) session_log = []; session_log.push({ at: i, note: 'n' + i });
  if (i % 4 == 0) new socket_pool(i);
  if (i % 3000 == 2999) v8.writeHeapSnapshot(process.argv[2] + '.' + (i + 1) / 3000 + '.heapsnapshot');
}
