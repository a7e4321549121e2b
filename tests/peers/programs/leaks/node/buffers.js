// usage: node buffers.js FOLDER
// leak: tokens              a slice of 16 bytes keeps the chunk of 64 KiB that it was cut from
// each step: 40 Token       with 65536 bytes each
// published: https://github.com/nodejs/node/issues/5799
'use strict';
const path = require('path'), v8 = require('v8');

class Token { constructor(bytes) { this.bytes = bytes; } }

const tokens = new Map();
function receive(number) {
  const chunk = Buffer.alloc(65536, number);
  tokens.set('client ' + number, new Token(chunk.subarray(8, 24)));
}

// Ordinary work: a copy of the same bytes, for the last 20 clients.
const copies = new Map();
function receiveCopied(number) {
  const chunk = Buffer.alloc(65536, number);
  copies.set(number, Buffer.from(chunk.subarray(8, 24)));
  copies.delete(number - 20);
}

let number = 0;
for (let step = 1; step <= 3; step++) {
  for (let i = 0; i < 40; i++) { receive(++number); receiveCopied(number); }
  v8.writeHeapSnapshot(path.join(process.argv[2], step + '.heapsnapshot'));
}
