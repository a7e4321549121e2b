// usage: node listeners.js FOLDER
// leak: bus                 an emitter that lives as long as the process
// each step: 400 Order      each subscribes once more and never calls off()
// published: https://github.com/request/request/issues/673, https://github.com/cult-of-coders/apollo-live-server/issues/1
'use strict';
const { EventEmitter } = require('events'), path = require('path'), v8 = require('v8');
const bus = new EventEmitter();
bus.setMaxListeners(0);

class Order {
  constructor(number) {
    this.number = number;
    this.lines = ['line one of ' + number, 'line two of ' + number];
    bus.on('price', price => { this.price = price; });
  }
  total() { return this.lines.length * (this.price || 1); }
}

// Ordinary work: a line that unsubscribes, and orders that are freed.
function glance() { const seen = () => {}; bus.on('price', seen); bus.emit('price', 3); bus.off('price', seen); }

let number = 0, sum = 0;
for (let step = 1; step <= 3; step++) {
  for (let i = 0; i < 400; i++) { sum += new Order(++number).total(); if (i % 50 === 0) glance(); }
  v8.writeHeapSnapshot(path.join(process.argv[2], step + '.heapsnapshot'));
}
if (!sum) bus.emit('end');
