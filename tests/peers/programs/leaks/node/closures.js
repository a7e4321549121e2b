// usage: node closures.js FOLDER
// leak: theThing            the context that two closures share keeps the previous thing
// each step: 30 Thing       each keeps the one before, with its long text
// published: by the developers of Meteor, 2013: "An interesting kind of JavaScript memory leak"
'use strict';
const path = require('path'), v8 = require('v8');

class Thing {
  constructor(text, method) { this.text = text; this.method = method; }
}

let theThing = null;
function replaceThing(i) {
  const originalThing = theThing;
  const unused = () => { if (originalThing) console.log('hi'); }; // never called: makes the context keep originalThing
  theThing = new Thing([i].concat(new Array(1000).fill(i)), () => 'called');
  return unused;
}

// Ordinary work: the same without the closure that is never called.
let other = null;
function replaceOther(i) { other = { text: new Array(1000).fill(i), before: other && other.text.length }; }

let count = 0;
for (let step = 1; step <= 3; step++) {
  for (let i = 0; i < 30; i++) { replaceThing(++count); replaceOther(count); }
  v8.writeHeapSnapshot(path.join(process.argv[2], step + '.heapsnapshot'));
}
if (theThing.method() !== 'called' || !other) process.exitCode = 1;
