// usage: node cache.js FOLDER
// leak: pages               a cache without bound: every address has a query of its own
// each step: 500 Page
// published: https://github.com/zama-ai/relayer-sdk/issues/336
'use strict';
const path = require('path'), v8 = require('v8');

class Page {
  constructor(url) { this.url = url; this.html = ['<p>', url, '</p>']; this.read = Date.now(); }
}

const pages = Object.create(null);
function page(url) { return pages[url] || (pages[url] = new Page(url)); }

// Ordinary work: a cache of the last 300.
const recent = new Map();
function thumbnail(url) {
  const found = recent.get(url) || { url, pixels: new Uint8Array(64) };
  recent.delete(url);
  recent.set(url, found);
  if (recent.size > 300) recent.delete(recent.keys().next().value);
  return found;
}

let serial = 0;
for (let step = 1; step <= 3; step++) {
  for (let i = 0; i < 500; i++) { const url = '/item?session=' + ++serial; page(url); thumbnail(url); page('/start'); }
  v8.writeHeapSnapshot(path.join(process.argv[2], step + '.heapsnapshot'));
}
