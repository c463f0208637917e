// Servers as Node's users write them: node origin.js ROOT READING PORT [READING PORT]...
'use strict';
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const legacy = require('node:url');

const decoded = decodeURIComponent;
const after = (text, mark) => text.slice(text.indexOf(mark) + 1 || text.length);
// Path and query of a URL, as the standard has them; what it ends with, `?` alone included.
const parsed = (target) => {
  const url = new URL(target, 'http://localhost');
  return [url.pathname, after(url.href.split('#')[0], '?'), url.href.split('#')[0].includes('?')];
};
const changed = (change, [path, ...query]) => [change(path), ...query];

const readings = {
  // The pathname as the WHATWG URL standard has it, looked up as it is.
  'node-url': (target) => changed(decoded, parsed(target)),
  // The same, made a path of the file system.
  'node-join': (target) => changed((name) => path.posix.join('/', decoded(name)), parsed(target)),
  // The older parser, and what stands before the first `?`.
  'node-legacy': (target) => {
    const url = legacy.parse(target);
    return [path.posix.join('/', decoded(url.pathname)), url.query ?? '', url.search !== null];
  },
  'node-plain': (target) => {
    const name = target.split('?')[0];
    return [path.posix.normalize(decoded(name)), target.slice(name.length + 1), target.includes('?')];
  },
  // Decoded by a framework, and once more by the application.
  'node-twice': (target) => changed((name) => path.posix.join('/', decoded(decoded(name))), parsed(target)),
  // Decoded before it is taken apart.
  'node-decoded': (target) => changed((name) => path.posix.join('/', name), parsed(decoded(target))),
  // On a system whose folders are separated by backslashes.
  'node-windows': (target) =>
    changed((name) => path.win32.join('\\', decoded(name)).replaceAll('\\', '/'), parsed(target)),
};

const [root, ...wanted] = process.argv.slice(2);
for (let at = 0; at < wanted.length; at += 2) {
  const read = readings[wanted[at]];
  const server = http.createServer((request, response) => {
    let content;
    let query;
    try {
      let [page, after, has] = read(request.url);
      query = has ? `?${after}` : '';
      // Nothing below is to resolve what the reading left unresolved.
      if (page.includes('/../') || page.includes('//') || page.includes('/./') || page.includes('\0')) throw page;
      if (page.endsWith('/')) page += 'index.html';
      content = fs.readFileSync(root + page);
    } catch {
      response.writeHead(404, { 'Content-Length': 0 });
      return response.end();
    }
    // The query as this server has it, which the others leave as it was sent.
    const body = `${content.toString().trimEnd()}\t${query}\n`;
    response.writeHead(200, { 'Content-Length': Buffer.byteLength(body) });
    response.end(body);
  });
  server.keepAliveTimeout = 60000;
  server.listen(Number(wanted[at + 1]), '127.0.0.1');
}
