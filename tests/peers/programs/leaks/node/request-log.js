// usage: node request-log.js FOLDER
// leak: requests            a log for an admin's page keeps whole requests, and is never trimmed
// each step: 300 IncomingMessage
// published: https://github.com/swagger-api/swagger-client/pull/289
'use strict';
const http = require('http'), path = require('path'), v8 = require('v8');

class Log {
  constructor() { this.requests = []; this.errors = 0; }
  add(request) { this.requests.push({ request, at: this.requests.length }); }
}
const log = new Log();

// A request as the server makes it, without a socket.
function received(url) {
  const request = new http.IncomingMessage(null);
  request.method = 'GET';
  request.url = url;
  request.headers.cookie = 'session of ' + url;
  request.body = ['body', url];
  return request;
}

// Ordinary work: counts by method and path, and the last ten.
const counts = new Map(), last = [];
function count(request) {
  const key = request.method + ' ' + request.url.split('/')[1];
  counts.set(key, (counts.get(key) || 0) + 1);
  if (last.push(request.url) > 10) last.shift();
}

let serial = 0;
for (let step = 1; step <= 3; step++) {
  for (let i = 0; i < 300; i++) { const request = received('/user/' + ++serial); log.add(request); count(request); }
  v8.writeHeapSnapshot(path.join(process.argv[2], step + '.heapsnapshot'));
}
