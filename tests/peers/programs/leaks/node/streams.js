// usage: node streams.js FOLDER
// leak: log                 pipe() of a source that ends in an error does not unpipe: the target keeps its listeners
// each step: 100 Upload
// published: https://github.com/juliangruber/multipipe/issues/22
'use strict';
const { PassThrough, Readable, Writable, pipeline } = require('stream'), path = require('path'), v8 = require('v8');

class Upload extends Readable {
  constructor(name) { super(); this.name = name; this.parts = ['part one of ' + name, 'part two of ' + name]; }
  _read() { this.push(this.parts[0]); this.destroy(); } // an error before the end
}

const log = new PassThrough();
log.setMaxListeners(0);
log.resume();
function upload(name) { new Upload(name).on('error', () => {}).pipe(log, { end: false }); }

// Ordinary work: a pipeline, which removes its listeners.
function copy(text) {
  return new Promise(done => pipeline(Readable.from([text]), new Writable({ write(c, e, next) { next(); } }), done));
}

(async () => {
  let number = 0;
  for (let step = 1; step <= 3; step++) {
    for (let i = 0; i < 100; i++) { upload('file ' + ++number); if (i % 10 === 0) await copy('text ' + i); }
    await new Promise(setImmediate);
    v8.writeHeapSnapshot(path.join(process.argv[2], step + '.heapsnapshot'));
  }
})();
