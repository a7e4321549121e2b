// usage: node timers.js FOLDER
// leak: Timeout             intervals that are never cleared keep the objects of their callbacks
// each step: 300 Connection
// published: https://github.com/yjs/y-websocket/pull/30
'use strict';
const path = require('path'), v8 = require('v8');

class Connection {
  constructor(id) { this.id = id; this.headers = { host: 'host ' + id, agent: 'agent ' + id }; this.open = true; }
  poll() { const timer = setInterval(() => { if (!this.open) this.idle = true; }, 3600e3); timer.unref(); return timer; }
  close() { this.open = false; } // the timer runs on
}

// Ordinary work: timers that are cleared.
function once(id) { const state = { id, text: 'state ' + id }, timer = setTimeout(() => state.text, 3600e3); clearTimeout(timer); }

let id = 0;
for (let step = 1; step <= 3; step++) {
  for (let i = 0; i < 300; i++) {
    const connection = new Connection(++id);
    connection.poll();
    connection.close();
    once(id);
  }
  v8.writeHeapSnapshot(path.join(process.argv[2], step + '.heapsnapshot'));
}
