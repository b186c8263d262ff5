// `server`: an echo API on a free port, printed. `client PORT`: 60 requests of three kinds through a
// keep-alive agent with 6 sockets; prints the statuses and how many bodies came back unchanged.
const http = require('http');

if (process.argv[2] === 'server') {
  const server = http.createServer((req, res) => {
    const chunks = [];
    req.on('data', (c) => chunks.push(c));
    req.on('end', () => {
      const body = Buffer.concat(chunks);
      if (req.url.startsWith('/chunked')) res.write(body);  // no length: chunked on the way back
      else res.setHeader('Content-Length', body.length), res.write(body);
      res.end();
    });
  });
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));
} else {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 6 });
  const statuses = {};
  let echoed = 0;
  const one = (n) => new Promise((resolve, reject) => {
    const body = Buffer.alloc(n * 997, n);
    const chunked = n % 3 === 0;
    const req = http.request({ port: process.argv[3], host: '127.0.0.1', agent,
      method: 'POST', path: chunked ? '/chunked' : '/length',
      headers: chunked ? {} : { 'Content-Length': body.length } }, (res) => {
      const chunks = [];
      res.on('data', (c) => chunks.push(c));
      res.on('end', () => {
        statuses[res.statusCode] = (statuses[res.statusCode] || 0) + 1;
        if (Buffer.concat(chunks).equals(body)) echoed++;
        resolve();
      });
    });
    req.on('error', reject);
    req.end(body);
  });
  Promise.all(Array.from({ length: 60 }, (_, n) => one(n + 1)))
    .then(() => { console.log(JSON.stringify({ statuses, echoed })); process.exit(0); })
    .catch((e) => { console.error(e); process.exit(1); });
}
