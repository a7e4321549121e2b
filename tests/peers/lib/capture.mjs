// Servers for capture.sh, with npm's ws. Each prints its port.
//
// tee VM_PORT DIR      forwards all messages to a VM, and writes the snapshots that pass to DIR/1, DIR/2, ... as the VM
//                      sent them: chunks of its JSON, or the data after the headers of binary messages
// fake CASE            misbehaves in one way
import { createServer } from 'node:http';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const { WebSocketServer, WebSocket } = createRequire(process.cwd() + '/')('ws');
const [what, one, two] = process.argv.slice(2);
const server = createServer(), sockets = new WebSocketServer({ noServer: true });
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
server.on('upgrade', (request, socket, head) => one === 'none' ? socket.destroy() : sockets.handleUpgrade(request, socket, head, client => talk(client, request.url)));

const page = body => (request, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(body);
};
let talk;

if (what === 'tee') {
  let taken = 0, chunks = [];
  const whole = () => { writeFileSync(`${two}/${++taken}`, Buffer.concat(chunks)); chunks = []; };
  server.on('request', async (request, response) => {
    const answer = await fetch(`http://127.0.0.1:${one}${request.url}`).catch(() => null);
    response.statusCode = answer?.status ?? 502;
    response.end(answer ? await answer.text() : '');
  });
  talk = (client, url) => {
    const vm = new WebSocket(`ws://127.0.0.1:${one}${url}`, { maxPayload: 1 << 30 }), early = [];
    client.on('message', data => vm.readyState === 1 ? vm.send(data.toString()) : early.push(data.toString()));
    vm.on('open', () => early.forEach(m => vm.send(m)));
    vm.on('message', (data, binary) => {
      if (binary) {
        const begin = data.readUInt32LE(0), header = JSON.parse(data.subarray(4, begin));
        chunks.push(data.subarray(begin));
        if (header.params.event.last) whole();
      } else {
        const m = JSON.parse(data);
        if (m.method === 'HeapProfiler.addHeapSnapshotChunk') chunks.push(Buffer.from(m.params.chunk));
        else if (m.id && chunks.length) whole();
      }
      client.send(binary ? data : data.toString());
    });
    vm.on('close', () => client.close());
    vm.on('error', () => client.close());
    client.on('close', () => vm.close());
  };
} else {
  const list = n => JSON.stringify(Array.from({ length: n }, (_, i) =>
    ({ id: `T${i}`, type: i % 2 ? 'worker' : 'page', title: `tab ${i}`, webSocketDebuggerUrl: `ws://x/T${i}` })));
  const lists = { empty: '[]', cut: '[{"id":"a"', deep: '['.repeat(100), none: '{"error":1}', long: `[{"webSocketDebuggerUrl":"${'a'.repeat(9000)}"}]`,
    nourl: '[{"webSocketDebuggerUrl":"x"}]' };
  const chunk = c => JSON.stringify({ method: 'HeapProfiler.addHeapSnapshotChunk', params: { chunk: c } });
  const header = last => Buffer.from(JSON.stringify({ params: { event: { last } } }));
  const message = (begin, ...parts) => { const b = Buffer.alloc(4); b.writeUInt32LE(begin); return Buffer.concat([b, ...parts]); };
  const cases = {
    refuse: (s, m) => s.send(JSON.stringify({ id: m.id, error: { code: -1, message: 'not today' } })),
    junk: s => s.send('junk'),
    half: (s, m) => { s.send(chunk('{"snapshot"')); s.send('{"id":' + m.id); },
    gone: s => { s.send(chunk('{"snapshot"')); s.terminate(); },
    deep: s => s.send('{"a":'.repeat(100000)),
    other: (s, m) => { s.send('{"id":99}'); s.send(JSON.stringify({ method: 'x', params: { chunk: 3, done: 'x' } }));
      s.send(chunk('ok "\u00e9')); s.send(JSON.stringify({ id: m.id, result: {} })); },
  };
  const binaries = {
    'short': s => s.send(Buffer.from([1, 2])), small: s => s.send(message(0)), far: s => s.send(message(0xffffffff, header(true))),
    headless: s => s.send(message(9, Buffer.from('{"a'))), bad: s => s.send(message(9, Buffer.from('{"a":'), Buffer.from('data'))),
    fine: s => { s.send(message(4 + header(false).length, header(false), Buffer.from('dart')));
      s.send(message(4 + header(true).length, header(true), Buffer.from('heap'))); },
  };
  const dart = one.startsWith('dart-'), name = one.replace('dart-', '');
  const isolates = Array.from({ length: name === 'two' ? 2 : name === 'empty' ? 0 : 1 }, (_, i) => ({ id: `isolates/${i}`, name: `main${i}` }));
  server.on('request', page(dart ? '{"jsonrpc":"2.0"}' : lists[name] ?? list(name === 'several' ? 5 : 1)));
  talk = socket => socket.on('message', data => {
    const m = JSON.parse(data), ok = result => socket.send(JSON.stringify({ id: m.id, result }));
    if (m.method === 'getVM') return ok({ type: 'VM', isolates });
    if (m.method === 'requestHeapSnapshot' && binaries[name]) { ok({}); binaries[name](socket); return; }
    if (m.method === 'HeapProfiler.takeHeapSnapshot' && cases[name]) return cases[name](socket, m);
    ok({});
  });
}
