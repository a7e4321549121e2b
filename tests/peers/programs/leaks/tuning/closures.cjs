// leak: retry
'use strict';
const v8 = require('v8');
const jobs = []; const stats = {};
function retry(i) { const big = new Array(20).fill('x' + i); return () => big.length; }
function run(i) { const again = retry(i); if (i % 3 == 0) jobs.push(again); stats['k' + i % 500] = { n: i }; }
for (let i = 0; i < 15000; i++) { run(i); if (i % 5000 == 4999) v8.writeHeapSnapshot(process.argv[2] + '.' + (i + 1) / 5000 + '.heapsnapshot'); }
