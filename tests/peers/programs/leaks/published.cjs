// usage: node published.cjs CASE OUT, by suspects.sh
//
// Like published.c, in JavaScript: three heap snapshots. The expected name is a variable, a property or a class.
//
// leak listeners: Request         https://github.com/request/request/issues/1497      a listener for every redirect
// leak refresh: Streamer          https://github.com/TID-Lab/aggie/pull/399           listeners added again at each refresh
// leak contexts: _contexts        https://github.com/Jeff-Lewis/cls-hooked/issues/66  contexts that a promise keeps
// leak images: urlCache           https://github.com/imgproxy/imgproxy-node/pull/10   an unbounded cache in a Map
// leak storages: storageList      https://github.com/hocus-dev/hocus/pull/95          a list of storages that are never removed
// leak timeouts: TimersList       https://github.com/Kushaal-k/Tessera/issues/218     the timer of a race that was won
// leak feeds: changefeeds         https://github.com/neumino/reqlite/issues/23        a feed that failed stays registered
// leak hooks: triggerHook         https://github.com/gms1/node-async-context/pull/54  each context keeps the context that triggered it
// leak reconnect: offline_queue   https://github.com/redis/node-redis/pull/723        queued commands are kept at each reconnection
// leak rebind: requestHandler     https://github.com/scality/Arsenal/pull/267         listeners bound again after each error
// leak polling: TaskList          https://github.com/OrqueIO/OrqueIO/issues/65        an interval that outlives its list
'use strict';
const { EventEmitter } = require('events'), v8 = require('v8');
const [which, out] = process.argv.slice(2), rounds = 9000;

// Ordinary work. The amount that waits at a time differs from case to case.
const most = 900 + 137 * 'listeners refresh contexts images storages timeouts feeds hooks reconnect rebind polling'.split(' ').indexOf(which);
let drawn = 1;
const draw = () => (drawn = Math.imul(drawn, 1103515245) + 12345 >>> 0) >>> 8;
const lru = new Map(), byName = {}, table = [];
let batch = [], recent = [];
class Page { constructor(i) { this.url = '/page/' + i; this.body = 'text '.repeat(i % 20) + i; } }
class Job { constructor(i) { this.id = i; this.args = [i, 'argument ' + i]; } }
function cachePage(i) { lru.set(i, new Page(i)); if (lru.size > 800) lru.delete(lru.keys().next().value); }
function queueJob(i) { batch.push(new Job(i)); if (batch.length === most) batch = []; }
function countWord(i) { byName['word ' + draw() % 1000] = { n: i }; }
function remember(i) { recent.push({ i, what: 'event ' + i }); if (recent.length > 500) recent = recent.slice(250); }
for (let i = 0; i < 4000; i++) table.push({ key: 'k' + i, value: [i, i + 1] });

// Leaks.
const agent = new EventEmitter().setMaxListeners(0), socket = new EventEmitter().setMaxListeners(0);
class Request { constructor(i) { this.headers = { host: 'host ' + i, accept: '*/*' }; this.redirects = [i]; agent.on('free', this.onFree.bind(this)); } onFree() { return this.redirects; } }
class Streamer { constructor(i) { this.filter = 'term ' + i; this.seen = new Array(10).fill(i); } start(on) { on.on('report', r => this.seen.push(r)); } }
const namespace = { name: 'test', active: null, _contexts: new Map() };
function runContext(i) { const context = { _ns_name: 'test', id: i, x: Promise.resolve(i) }; namespace._contexts.set(i, context); if (i % 4) namespace._contexts.delete(i); }
const urlCache = new Map();
function imageUrl(i) { const key = 'resize:fit:' + i; if (!urlCache.has(key)) urlCache.set(key, { url: 'https://img.example.org/' + i, signature: 's' + i }); return urlCache.get(key).url; }
const hooks = { storageList: [], enabled: true };
class Storage { constructor(i) { this.store = { connection: i, text: 'call context ' + i }; hooks.storageList.push(this); } close() { this.store.closed = true; } }
function execute(i) { const timeoutPromise = new Promise(resolve => { const limit = { task: i, code: 'run ' + i, logs: [i] }; setTimeout(() => resolve(limit), 1e8).unref(); }); return Promise.race([Promise.resolve(i), timeoutPromise]); }
const server = { tables: {}, changefeeds: {} };
function subscribe(i) { server.changefeeds['feed ' + i] = { socket: i, query: ['table', 'changes', i] }; if (i % 3) delete server.changefeeds['feed ' + i]; }
let current = { id: 0, triggerHook: null };
function activate(i) { current = { id: i, text: 'async resource ' + i, triggerHook: current }; return current.id; }
const client = { stream: null, offline_queue: [], attempts: 0 };
function reconnect(i) { client.attempts++; client.stream = { port: i, retry: true }; if (i % 3 === 0) client.offline_queue.push({ command: 'get', args: ['key ' + i], buffer: new Array(8).fill(i) }); }
const http = new EventEmitter().setMaxListeners(0);
function restart(i) { if (i % 4) return; const options = { port: i, log: 'server ' + i, ciphers: ['a', 'b' + i] }; http.on('request', function requestHandler() { return options.port; }); }
class TaskList { constructor(i) { this.tasks = Array.from({ length: 6 }, (_, k) => ({ id: i * 6 + k })); this.name = 'list ' + i; setInterval(() => this.tasks.length, 1e8).unref(); } }

const cases = {
  listeners: i => { if (i % 3 === 0) new Request(i); },
  refresh: i => { if (i % 2 === 0) new Streamer(i).start(socket); },
  contexts: runContext,
  images: imageUrl,
  storages: i => { if (i % 2) new Storage(i).close(); },
  timeouts: execute,
  feeds: subscribe,
  hooks: activate,
  reconnect,
  rebind: restart,
  polling: i => { if (i % 10 === 0) new TaskList(i); }
};
(async () => {
  for (let i = 0; i < rounds; i++) {
    cachePage(i), queueJob(i), countWord(i), remember(i);
    await cases[which](i);
    if (i % (rounds / 3) === rounds / 3 - 1) v8.writeHeapSnapshot(out + '.' + (i + 1) / (rounds / 3) + '.heapsnapshot');
  }
  if (table.length < 1) console.log(agent, socket, namespace, server, hooks, byName);
})();
