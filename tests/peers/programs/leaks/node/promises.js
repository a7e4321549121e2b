// usage: node promises.js FOLDER
// leak: shutdown            each race adds a reaction to a promise that is never settled
// each step: 300 Job
// published: https://github.com/nodejs/node/issues/17469
'use strict';
const path = require('path'), v8 = require('v8');

let stop;
const shutdown = new Promise(resolve => { stop = resolve; });

class Job {
  constructor(id) { this.id = id; this.log = ['begun ' + id]; }
  async run() { await null; this.log.push('done ' + this.id); return this; }
}

// The reaction on `shutdown` keeps the job, although the race is over.
async function work(id) {
  const job = new Job(id), stopped = shutdown.then(() => { job.log.push('stopped'); });
  await Promise.race([job.run(), stopped]);
}

// Ordinary work: a race whose promises all settle.
async function brief(id) { await Promise.race([Promise.resolve({ id }), Promise.resolve(null)]); }

(async () => {
  let id = 0;
  for (let step = 1; step <= 3; step++) {
    for (let i = 0; i < 300; i++) { await work(++id); await brief(id); }
    v8.writeHeapSnapshot(path.join(process.argv[2], step + '.heapsnapshot'));
  }
  if (!stop) process.exitCode = 1;
})();
