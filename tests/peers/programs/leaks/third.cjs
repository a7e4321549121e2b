// usage: node third.cjs CASE OUT, by suspects.sh
//
// Like third.c, in JavaScript: three heap snapshots. The expected name is a variable, a property or a class.
//
// leak nes: subscribers                https://github.com/hapijs/nes/issues/24                    a disconnected client is removed only when something is published
// leak rooms: sids                     https://github.com/socketio/socket.io-adapter/pull/58      a socket that leaves a room after its end is stored again
// leak abort: (Request|AbortSignal|abortController)  https://github.com/sindresorhus/got/issues/2160  one signal for all requests keeps a listener of each
// leak resources: subscriptions        https://github.com/modelcontextprotocol/servers/issues/4710  sessions that end do not unsubscribe
// leak modules: children               https://github.com/analog-nico/stealthy-require/issues/2   a module removed from the cache is still a child of its parent
// leak ring: (HashRing|cache)          https://github.com/3rd-Eden/node-hashring/issues/8         a cache of keys that only a change of the ring empties
// leak batches: (_cacheMap|DataLoader) https://github.com/graphql-hive/gateway/issues/1085        a cache by keys that are never equal
// leak retries: retryAsPromised        https://github.com/mickhansen/retry-as-promised/issues/22  each attempt is nested in the previous one
// leak links: seenUrls                 https://github.com/stablyai/orca/pull/11333                a slice of a chunk of output keeps the chunk
// leak gateway: (observers|handleConnection)  https://github.com/nestjs/nest/issues/147           every client subscribes the handler again
'use strict';
const events = require('events'), fs = require('fs'), path = require('path'), v8 = require('v8');
const [which, out] = process.argv.slice(2), rounds = 9000;

// Ordinary work; each program uses the parts that it needs.
let drawn = 1;
const draw = () => (drawn = Math.imul(drawn, 1103515245) + 12345 >>> 0) >>> 8;
class LruCache {
  constructor(max) { this.max = max; this.entries = new Map(); }
  get(key, make) {
    let value = this.entries.get(key);
    if (value === undefined) value = make(key); else this.entries.delete(key);
    this.entries.set(key, value);
    if (this.entries.size > this.max) this.entries.delete(this.entries.keys().next().value);
    return value;
  }
}
class Document { constructor(key) { this.key = key; this.title = 'document ' + key; this.tags = ['tag ' + key % 7, 'of ' + key]; } }
class Session { constructor(i) { this.user = { name: 'user ' + i, roles: ['reader'] }; this.basket = new Array(5 + i % 9).fill(i); } }
class SessionStore {
  constructor(most) { this.most = most; this.byId = new Map(); }
  step(i) { const id = draw() % this.most; if (!this.byId.delete(id)) this.byId.set(id, new Session(i)); }
}
class EventLog {
  constructor(max) { this.max = max; this.lines = []; }
  add(i) { this.lines.push({ at: i, text: 'event number ' + i }); if (this.lines.length > this.max) this.lines.shift(); }
}
class Batcher {
  constructor(size) { this.size = size; this.waiting = []; }
  add(i) { this.waiting.push({ id: i, payload: 'payload of ' + i }); if (this.waiting.length >= this.size) this.waiting = []; }
}
class ObjectPool {
  constructor(make) { this.make = make; this.free = []; }
  work(most) { const taken = []; for (let n = 1 + draw() % most; n > 0; n--) taken.push(this.free.pop() || this.make()); this.free.push(...taken); }
}
class Report { constructor() { this.rows = null; } step(i, every, n) { if (i % every === 0) this.rows = Array.from({ length: n }, (_, k) => ({ k, total: i + k / 7 })); else if (i % every === every >> 1) this.rows = null; } }
const routes = [], lru = new LruCache(600), store = new SessionStore(400), log = new EventLog(500), batcher = new Batcher(250);
const pool = new ObjectPool(() => ({ buffer: new Array(64).fill(0) })), report = new Report(), words = new Map();
const start = n => { for (let i = 0; i < n; i++) routes.push({ path: '/api/v1/route/' + i, methods: ['GET', 'POST'], stack: [() => i] }); };
const learn = range => { const k = draw() % range; if (!words.has(k)) words.set(k, { word: 'word ' + k, seen: 1 }); else words.get(k).seen++; };
const skewed = range => Math.floor(draw() % range * (draw() % range) / range);

// nes: web socket clients that subscribe to paths.
class Client {
  constructor(id, listener) { this.id = id; this.listener = listener; this.auth = { credentials: { user: 'user ' + id % 90 } }; this.headers = { origin: 'https://shop.example.org' }; this.dead = false; }
  onSubscribe(path) { this.listener.subscribe(path, this); }
  onClose() { this.dead = true; this.listener.sockets.delete(this.id); }
}
class Listener {
  constructor() { this.sockets = new Map(); this.routes = new Map(); }
  subscribe(path, client) { if (!this.routes.has(path)) this.routes.set(path, { path, subscribers: [] }); this.routes.get(path).subscribers.push(client); }
  publish(path) { const route = this.routes.get(path); if (route) route.subscribers = route.subscribers.filter(c => !c.dead); }
  add(i) { const c = new Client(i, this); this.sockets.set(i, c); c.onSubscribe('/item/' + i % 25); if (this.sockets.size > 70) this.sockets.values().next().value.onClose(); }
}
const listener = new Listener();

// socket.io: sockets that join rooms, and leave them after they have closed.
class Adapter {
  constructor() { this.rooms = {}; this.sids = {}; }
  add(id, room) { (this.sids[id] = this.sids[id] || {})[room] = true; (this.rooms[room] = this.rooms[room] || { sockets: {}, length: 0 }).sockets[id] = true; this.rooms[room].length++; }
  del(id, room) {
    this.sids[id] = this.sids[id] || {};
    delete this.sids[id][room];
    const r = this.rooms[room];
    if (r && r.sockets[id]) { delete r.sockets[id]; if (--r.length === 0) delete this.rooms[room]; }
  }
  delAll(id) { for (const room of Object.keys(this.sids[id] || {})) this.del(id, room); delete this.sids[id]; }
}
const adapter = new Adapter(), open = [];
class Socket {
  constructor(i) { this.id = 'Q' + i + '-8rK2xYpLwAAAB'; this.handshake = { headers: { host: 'chat.example.org' }, time: i }; adapter.add(this.id, this.id); adapter.add(this.id, this.room = 'room ' + i % 40); }
  close() { adapter.delAll(this.id); adapter.del(this.id, this.room); }
}

// got: requests that may be aborted by one signal
const abortController = new AbortController();
events.setMaxListeners(0, abortController.signal);
class Request {
  constructor(url, { signal }) { this.url = url; this.options = { method: 'GET', headers: { accept: '*/*' } }; this.chunks = []; signal.addEventListener('abort', () => this.destroy(new Error('aborted'))); }
  async body(i) { this.chunks.push('chunk of ' + i); await null; return this.chunks.join(''); }
  destroy(error) { this.error = error; }
}

// MCP: sessions subscribe to resources.
const subscriptions = new Map(), transports = new Map();
function setSubscription(uri, sessionId) { if (!subscriptions.has(uri)) subscriptions.set(uri, new Set()); subscriptions.get(uri).add(sessionId); }
class Transport { constructor(sessionId) { this.sessionId = sessionId; this.started = true; this.stream = { events: [] }; } }
function cleanup(sessionId) { transports.delete(sessionId); }
function mcpSession(i) {
  const sessionId = [i, draw(), draw()].map(n => n.toString(16).padStart(12, '0')).join('-');
  transports.set(sessionId, new Transport(sessionId));
  if (i % 2) setSubscription('demo://resource/dynamic/text/' + i % 20, sessionId);
  if (transports.size > 30) cleanup(transports.keys().next().value);
}

// stealthy-require: a module is loaded afresh for each caller.
const dummy = path.resolve(out + '.module.cjs');
function stealthyRequire(file) { delete require.cache[file]; const m = require(file); delete require.cache[file]; return m; }

// hashring: the server of each key.
class HashRing {
  constructor(servers) { this.ring = []; this.cache = Object.create(null); for (const s of servers) for (let k = 0; k < 160; k++) this.ring.push({ value: this.hash(s + '-' + k), server: s }); this.ring.sort((a, b) => a.value - b.value); }
  hash(key) { let h = 5381; for (let i = 0; i < key.length; i++) h = Math.imul(h, 33) ^ key.charCodeAt(i); return h >>> 0; }
  get(key) { if (this.cache[key]) return this.cache[key]; const h = this.hash(key), point = this.ring.find(p => p.value >= h) || this.ring[0]; return (this.cache[key] = point.server); }
}
let ring;

// graphql-tools: requests to a service, batched by a loader
class DataLoader {
  constructor(load) { this._load = load; this._cacheMap = new Map(); this._batch = []; }
  load(key) { const cached = this._cacheMap.get(key); if (cached) return cached; const p = new Promise(resolve => this._batch.push({ key, resolve })); this._cacheMap.set(key, p); return p; }
  dispatch() { const batch = this._batch; this._batch = []; batch.forEach(({ key, resolve }) => resolve(this._load(key))); }
}
const loader = new DataLoader(request => ({ data: { hero: { name: 'name ' + request.variables.id } } }));
async function execute(i) { const p = loader.load({ document: 'query Hero($id: ID!)', variables: { id: i }, operationType: 'query' }); if (i % 4 === 0) loader.dispatch(); if (i % 4 === 0) await p; }

// retry-as-promised: a service that never answers.
let failing;
function attempt() { return new Promise((_, reject) => { failing = reject; }); }
function retryAsPromised(callback, options) {
  return new Promise((resolve, reject) => {
    callback({ current: options.$current }).then(resolve).catch(err => {
      options.$current++;
      Promise.resolve().then(() => retryAsPromised(callback, options)).then(resolve).catch(reject);
    });
  });
}

// A terminal: links in the output of programs.
const seenUrls = new Set();
class LinkDetector {
  constructor() { this.latest = null; }
  scan(data) { const at = data.indexOf('https://'); if (at < 0) return; const url = data.slice(at, data.indexOf(' ', at)); if (seenUrls.has(url)) return; seenUrls.add(url); this.latest = { length: url.length }; }
}
const detector = new LinkDetector(), filler = 'compiling a file of the program and testing it again\r\n'.repeat(310);
function ptyData(i) { const link = i % 12 === 0 ? ' https://git.example.org/project/repository/pull/' + i + ' ' : ' no link here '; return Buffer.from(filler.slice(0, 8000 + i % 100) + link + filler.slice(0, 8000)).toString('latin1'); }

// Nest: a gateway whose handlers receive its clients.
class Subject { constructor() { this.observers = []; } subscribe(next) { const s = { next, closed: false }; this.observers.push(s); return s; } next(v) { for (const o of this.observers) o.next(v); } }
class ChatGateway { constructor() { this.online = 0; } handleConnection(client) { this.online = client.number; } }
class WebSocketsController {
  constructor(instance) { this.instance = instance; this.connection = new Subject(); }
  onConnection(client) { this.subscribeConnectionEvent(this.instance, this.connection); this.connection.next(client); }
  subscribeConnectionEvent(instance, event) { if (instance.handleConnection) event.subscribe(client => instance.handleConnection(client)); }
}
const controller = new WebSocketsController(new ChatGateway());

const cases = {
  nes: [() => start(800), i => { store.step(i); lru.get(skewed(1500), k => new Document(k)); log.add(i); if (i % 3 === 0) listener.add(i / 3); if (i % 10 === 0) listener.publish('/item/' + draw() % 9); }],
  rooms: [() => start(300), i => { log.add(i); learn(500); batcher.add(i); if (i % 2) { open.push(new Socket(i)); if (open.length > 100) open.splice(draw() % 100, 1)[0].close(); } }],
  abort: [() => start(200), async i => { batcher.add(i); lru.get(draw() % 900, k => new Document(k)); report.step(i, 1000, 1200); if (i % 4 === 0) await new Request('https://files.example.org/' + i, { signal: abortController.signal }).body(i); }],
  resources: [() => start(400), i => { store.step(i); log.add(i); learn(700); mcpSession(i); }],
  modules: [() => { start(600); fs.writeFileSync(dummy, '\'use strict\';\nconst jar = { cookies: [] };\nmodule.exports = { defaults: options => ({ jar, options }), name: \'client\' };\n'); }, i => { lru.get(skewed(2000), k => new Document(k)); batcher.add(i); store.step(i); if (i % 6 === 0) stealthyRequire(dummy).defaults({}); }],
  ring: [() => { start(100); ring = new HashRing(['10.0.0.1:11211', '10.0.0.2:11211', '10.0.0.3:11211']); }, i => { ring.get('session:' + i + ':user'); ring.get('page:' + draw() % 300); lru.get(skewed(3000), k => new Document(k)); report.step(i, 700, 900); pool.work(20); }],
  batches: [() => start(1000), async i => { await execute(i); log.add(i); learn(900); store.step(i); }],
  retries: [() => { start(500); retryAsPromised(attempt, { $current: 1 }); }, async i => { lru.get(draw() % 800, k => new Document(k)); store.step(i); batcher.add(i); if (i % 3 === 0) { failing(new Error('no answer')); await new Promise(setImmediate); } }],
  links: [() => start(250), i => { detector.scan(ptyData(i)); log.add(i); pool.work(40); learn(200); }],
  gateway: [() => start(700), i => { store.step(i); report.step(i, 1500, 800); lru.get(skewed(1200), k => new Document(k)); if (i % 5 === 0) controller.onConnection({ number: i, address: '10.1.1.' + i % 250 }); }]
};
(async () => {
  const [begin, run] = cases[which];
  drawn = 17 + 7919 * Object.keys(cases).indexOf(which);
  begin();
  for (let i = 0; i < rounds; i++) {
    await run(i);
    if (i % (rounds / 3) === rounds / 3 - 1) v8.writeHeapSnapshot(out + '.' + (i + 1) / (rounds / 3) + '.heapsnapshot');
  }
  if (which === 'modules') fs.unlinkSync(dummy);
  if (routes.length < 1) console.log(adapter, open, controller, transports, report, pool);
})();
