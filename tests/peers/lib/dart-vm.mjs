// usage: node --experimental-websocket dart-vm.mjs DART SASS.SNAPSHOT FILE.scss exit|MIB OUT, by dart.sh
//
// Compiles a stylesheet in a Dart VM. Stops the VM at its exit, or as soon as its heap has MIB MiB. Then requests over the
// VM's service a heap snapshot (OUT.dartheap), and before and after it the VM's own counts by class (OUT.before,
// OUT.after: count, bytes, name, library URI, separated by tabs).
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';

const [dart, sass, scss, when, out] = process.argv.slice(2);
const sleep = seconds => new Promise(done => setTimeout(done, seconds * 1000));
const vm = spawn(dart, ['--disable-dart-dev', '--no-dds', '--enable-vm-service=0', '--disable-service-auth-codes',
  '--pause-isolates-on-exit', '--pause-isolates-on-start', sass, scss], { stdio: ['ignore', 'pipe', 'pipe'] });
process.on('exit', () => vm.kill('SIGKILL'));
const fail = why => { console.error('dart-vm: ' + why); process.exit(1); };
setTimeout(() => fail('the time limit is over'), 1800000).unref();

const port = await new Promise((done, bad) => {
  let text = '';
  const look = data => {
    text += data;
    const found = text.match(/http:\/\/127\.0\.0\.1:(\d+)\//);
    if (found) done(found[1]);
  };
  vm.stdout.on('data', look);
  vm.stderr.on('data', look);
  vm.on('exit', () => bad(new Error('the VM ended: ' + text)));
}).catch(e => fail(e.message));

const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`);
socket.binaryType = 'arraybuffer';
const waiting = new Map(), chunks = [];
let next = 1, last;
const whole = new Promise(done => last = done);
socket.onmessage = ({ data }) => {
  if (typeof data === 'string') {
    const answer = JSON.parse(data), w = waiting.get(answer.id);
    if (w) answer.error ? w.bad(new Error(JSON.stringify(answer.error))) : w.done(answer.result);
    return;
  }
  const offset = new DataView(data).getUint32(0, true);   // a header, then a part of the snapshot
  const header = JSON.parse(Buffer.from(data.slice(4, offset)).toString());
  chunks.push(Buffer.from(data.slice(offset)));
  if (header.params.event.last) last();
};
await new Promise(done => socket.onopen = done);
const call = (method, params = {}) => new Promise((done, bad) => {
  waiting.set(next, { done, bad });
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: next++, method, params }));
});

try {
  let isolateId, kind;
  for (const wanted of ['PauseStart', when === 'exit' ? 'PauseExit' : 'PauseInterrupted']) {
    do {
      await sleep(0.1);
      isolateId = (await call('getVM')).isolates[0]?.id;
      if (isolateId) kind = (await call('getIsolate', { isolateId })).pauseEvent?.kind;
    } while (kind !== wanted);
    if (wanted !== 'PauseStart') break;
    await call('resume', { isolateId });
    if (when !== 'exit') {
      while ((await call('getMemoryUsage', { isolateId })).heapUsage < when * 1048576) {}
      await call('pause', { isolateId });
    }
  }
  const profile = async file => {
    const { members } = await call('getAllocationProfile', { isolateId });
    writeFileSync(file, members.filter(m => m.instancesCurrent).map(m =>
      [m.instancesCurrent, m.bytesCurrent, m.class.name, m.class.library?.uri ?? ''].join('\t') + '\n').join(''));
  };
  await call('streamListen', { streamId: 'HeapSnapshot' });
  await profile(out + '.before');
  await call('requestHeapSnapshot', { isolateId });
  await whole;
  writeFileSync(out + '.dartheap', Buffer.concat(chunks));
  await profile(out + '.after');
} catch (e) { fail(e.message); }
process.exit(0);
