// usage: node contexts.js FOLDER
// leak: reporters           a function out of a sandbox keeps the whole context that it came from
// each step: 8 Fixture      one per context, next to its built-in objects
// published: https://github.com/electron/electron/pull/23207, https://github.com/laverdet/isolated-vm/issues/112
'use strict';
const path = require('path'), v8 = require('v8'), vm = require('vm');

const reporters = [];
function runTest(number) {
  const sandbox = vm.createContext({ number });
  const report = vm.runInContext(`
    class Fixture { constructor() { this.rows = new Array(200).fill(number); } }
    const fixture = new Fixture();
    () => fixture.rows.length`, sandbox);
  reporters.push(report); // one small function
  return report();
}

// Ordinary work: a sandbox of which only a number is kept.
const lengths = [];
function runOther(number) {
  lengths.push(vm.runInNewContext('const rows = new Array(200).fill(number); rows.length', { number }));
  if (lengths.length > 10) lengths.shift();
}

let number = 0, sum = 0;
for (let step = 1; step <= 3; step++) {
  for (let i = 0; i < 8; i++) { sum += runTest(++number); if (i < 2) runOther(number); }
  v8.writeHeapSnapshot(path.join(process.argv[2], step + '.heapsnapshot'));
}
if (!sum) process.exitCode = 1;
