// usage: node globals.js FOLDER
// leak: results             an array that was meant to be local, without `const`: a property of the global object
// each step: 500 Row
// published: https://github.com/markabrahams/node-net-snmp/pull/11
const path = require('path'), v8 = require('v8');

class Row { constructor(id) { this.id = id; this.text = 'row ' + id; this.cells = [id, id + 1, id + 2]; } }

function search(from) {
  if (from === 1) results = []; // the global one, filled by every search
  for (let i = 0; i < 50; i++) results.push(new Row(from + i));
  return results.length;
}

// Ordinary work: the same with a local array.
function count(from) {
  const found = [];
  for (let i = 0; i < 50; i++) found.push({ id: from + i });
  return found.length;
}

let from = 1, sum = 0;
for (let step = 1; step <= 3; step++) {
  for (let i = 0; i < 10; i++, from += 50) sum += search(from) + count(from);
  v8.writeHeapSnapshot(path.join(process.argv[2], step + '.heapsnapshot'));
}
if (!sum) process.exitCode = 1;
