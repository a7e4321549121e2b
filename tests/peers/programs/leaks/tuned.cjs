// usage: node tuned.cjs CASE OUT, by suspects.sh
//
// Like published.cjs, but suspects was tuned on these leaks, so they do not count. Every third case takes two snapshots.
//
// leak clients: clients                https://github.com/nodejs/node/issues/2631           a list of sockets; failed ones are not removed
// leak signal: Mapper                  https://github.com/sindresorhus/p-map/issues/75      a listener on a signal that lives long
// leak requests: _requests             https://github.com/chatmail/yerpc/pull/61            settled promises stay in a Map
// leak tasks: pendingRequests          https://github.com/n8n-io/n8n/pull/15768             requests that are added and never read
// leak rpc: requestListeners           https://github.com/blackboardsh/electrobun/pull/241  listeners whose answers have come
// leak indexing: pendingIndex          https://github.com/digidem/comapeo-core/pull/950     a Set of promises
// leak details: pendingById            https://github.com/diegosouzapw/OmniRoute/pull/4107  details of requests that ended in an error
// leak handles: activeHandles          https://github.com/mafintosh/why-is-node-running/issues/35  started handles are kept by number
'use strict';
const { EventEmitter } = require('events'), v8 = require('v8');
const [which, out] = process.argv.slice(2), rounds = 8400;
const names = 'clients signal requests tasks rpc indexing details handles'.split(' ');
const most = 500 + 211 * names.indexOf(which), steps = names.indexOf(which) % 3 === 2 ? 2 : 3;
let drawn = 5;
const draw = () => (drawn = Math.imul(drawn, 1103515245) + 12345 >>> 0) >>> 8;

// Ordinary work.
class Lru { constructor(n) { this.n = n; this.map = new Map(); } get(k) { let v = this.map.get(k); if (v) this.map.delete(k); else v = { k, html: 'page ' + k, tags: ['t' + k] }; this.map.set(k, v); if (this.map.size > this.n) this.map.delete(this.map.keys().next().value); return v; } }
const pages = new Lru(900), symbols = Object.create(null), ring = new Array(400).fill(null);
const sessions = new Map(), queue = [];
class Mail { constructor(i) { this.to = 'someone ' + i; this.lines = ['line ' + i, 'end']; } }
const compiled = {};
function compile(i) { const k = draw() % 60; return compiled[k] || (compiled[k] = new Function('x', 'return x * ' + k + ' + ' + i)); }
function work(i) {
  pages.get(draw() % 1500);
  symbols['symbol' + draw() % 1400] ??= { at: i, uses: [i] };
  ring[i % 400] = { i, text: 'log line ' + i };
  sessions.set(i, { user: 'u' + i, since: i }); sessions.delete(i - 700);
  queue.push(new Mail(i)); if (queue.length >= most) queue.length = 0;
  compile(i)(i);
}

// Leaks.
const hub = { clients: [] };
function connect(i) { const socket = { name: 'peer ' + i, buffer: new Array(6).fill(i) }; hub.clients.push(socket); if (i % 4) hub.clients.splice(hub.clients.indexOf(socket), 1); }
const controller = new EventTarget();
class Mapper { constructor(i) { this.items = [i, 'item ' + i]; this.results = { i }; controller.addEventListener('abort', () => this.reject(i)); } reject(i) { this.items = i; } }
class Transport { constructor() { this._requests = new Map(); this.id = 0; } request(i) { return new Promise((resolve, reject) => { const id = ++this.id; this._requests.set(id, { resolve, reject }); resolve({ id, result: 'answer ' + i }); }); } }
const transport = new Transport();
class TaskRequester { constructor() { this.requestAccepted = new Map(); this.pendingRequests = new Map(); } run(i) { const id = 'request ' + i; this.requestAccepted.set(id, 1); this.pendingRequests.set(id, { id, data: { node: 'Code', items: [i, i + 1] } }); this.requestAccepted.delete(id); } }
const requester = new TaskRequester();
const rpc = (() => { const requestListeners = {}; let last = 0; return i => { requestListeners[++last] = (message, failed) => failed ? i : message; return last; }; })();
const store = { pendingIndex: new Set() };
function write(i) { store.pendingIndex.add(Promise.resolve({ core: i, version: 'v' + i })); }
const pendingById = new Map();
function trackRequest(i) { pendingById.set('id' + i, { started: i, preview: { body: 'text ' + i, model: 'm' } }); try { if (i % 5 === 0) throw new Error('upstream'); pendingById.delete('id' + i); } catch (e) { return e.message; } }
const activeHandles = new Map();
function start(i) { const e = new EventEmitter(); e.on('end', () => i); activeHandles.set(i, { type: 'HANDLE', resource: e }); if (i % 8) activeHandles.delete(i); }

const cases = {
  clients: connect, signal: i => { if (i % 4 === 0) new Mapper(i); }, requests: i => { if (i % 3 === 0) return transport.request(i); },
  tasks: i => { if (i % 4 === 0) requester.run(i); }, rpc: i => { if (i % 2) rpc(i); }, indexing: i => { if (i % 3 === 0) write(i); },
  details: trackRequest, handles: start
};
(async () => {
  for (let i = 0; i < rounds; i++) {
    work(i);
    await cases[which](i);
    if (i % (rounds / steps) === rounds / steps - 1) v8.writeHeapSnapshot(out + '.' + (i + 1) / (rounds / steps) + '.heapsnapshot');
  }
  if (ring.length < 1) console.log(hub, controller, transport, requester, store);
})();
