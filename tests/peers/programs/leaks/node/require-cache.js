// usage: node require-cache.js FOLDER
// leak: children            a module removed from require.cache is still in the list of its parent
// each step: 50 Settings
// published: https://github.com/nodejs/node/issues/8443, https://github.com/nodejs/node/issues/14569
'use strict';
const fs = require('fs'), path = require('path'), v8 = require('v8');

const out = path.resolve(process.argv[2]), file = path.join(out, 'settings.js'), plain = path.join(out, 'plain.json');
fs.writeFileSync(file, `class Settings { constructor() { this.colours = new Array(40).fill('red'); this.read = Date.now(); } }
module.exports = new Settings();`);
fs.writeFileSync(plain, '{"colours": ["red", "green"]}');

function reload() {
  delete require.cache[file];
  return require(file).colours.length;
}

// Ordinary work: reads and parses the file each time.
function reread() { return JSON.parse(fs.readFileSync(plain, 'utf8')).colours.length; }

let sum = 0;
for (let step = 1; step <= 3; step++) {
  for (let i = 0; i < 50; i++) sum += reload() + reread();
  v8.writeHeapSnapshot(path.join(out, step + '.heapsnapshot'));
}
if (!sum) process.exitCode = 1;
