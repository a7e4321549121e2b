// usage: node map-keys.js FOLDER
// leak: loaded              keys are objects: no two requests have equal keys, so lookups always fail
// each step: 500 Query       and as many Result
// published: https://github.com/apollographql/apollo-client/pull/3444
'use strict';
const path = require('path'), v8 = require('v8');

class Query { constructor(table, id) { this.table = table; this.id = id; } }
class Result { constructor(query) { this.rows = ['row of ' + query.table, 'row ' + query.id]; } }

const loaded = new Map();
function load(query) {
  let result = loaded.get(query);
  if (!result) loaded.set(query, result = new Result(query));
  return result;
}

// Ordinary work: the same with a WeakMap, and with a string key.
const weak = new WeakMap(), byText = new Map();
function measure(query) { if (!weak.has(query)) weak.set(query, { size: query.table.length }); return weak.get(query); }
function plan(query) { if (!byText.has(query.table)) byText.set(query.table, { steps: ['scan', query.table] }); return byText.get(query.table); }

let rows = 0;
for (let step = 1; step <= 3; step++) {
  for (let i = 0; i < 500; i++) {
    const query = new Query('table' + i % 9, i);
    rows += load(query).rows.length + measure({ table: query.table }).size + plan(query).steps.length;
  }
  v8.writeHeapSnapshot(path.join(process.argv[2], step + '.heapsnapshot'));
}
if (!rows) process.exitCode = 1;
