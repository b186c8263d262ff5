'use strict'
// Unit tests without a framework: node --test test/

const assert = require('node:assert')
const http = require('node:http')
const test = require('node:test')
const penstock = require('../index.js')

const admitted = { allowed: true, outcome: 'allow', status: 200, delay_ms: 0, limits: [], headers: { 'X-Left': '2' } }
const refused = {
  allowed: false, outcome: 'deny', status: 429, delay_ms: 0, limit: 'l', retry_after: 7, limits: [], headers: { 'Retry-After': '7' }
}

function listen (t, handler) {
  return new Promise(resolve => {
    const server = http.createServer(handler).listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${server.address().port}`))
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
  })
}

// A service that answers every check alike and remembers the last one.
async function service (t, status, answer) {
  const asked = {}
  asked.url = await listen(t, async (req, res) => {
    const parts = []
    for await (const part of req) parts.push(part)
    asked.check = JSON.parse(Buffer.concat(parts))
    res.writeHead(status, { location: 'http://127.0.0.1:1/' }).end(typeof answer === 'string' ? answer : JSON.stringify(answer))
  })
  return asked
}

// A request past the middleware; the program behind it answers 204.
async function through (t, options, headers = {}) {
  const lines = []
  const middleware = penstock.express({ deadline: 10_000, log: line => lines.push(line), ...options })
  const url = await listen(t, (req, res) => middleware(req, res, error => res.writeHead(error ? 500 : 204).end()))
  return new Promise((resolve, reject) => {
    http.get(`${url}/a%20b?c=d`, { headers }, async answer => {
      let body = ''
      for await (const part of answer) body += part
      resolve({ status: answer.statusCode, headers: answer.headers, body, lines })
    }).on('error', reject)
  })
}

// What is told decides who is counted: nothing more, and repeated fields stay repeated.
test('a request is described', async t => {
  const asked = await service(t, 200, admitted)
  await through(t, { url: asked.url, user: async () => 42, headers: ['X-Tenant'], cost: () => 0 },
    { 'X-API-Key': ['a', 'b'], 'x-tenant': 't', cookie: 'secret', 'X-User-Id': 'bob', host: 'api.example' })
  assert.deepStrictEqual(asked.check, {
    method: 'GET',
    path: '/a%20b?c=d',
    host: 'api.example',
    address: '127.0.0.1',
    user: '42',
    cost: 0,
    headers: { 'X-API-Key': ['a', 'b'], 'X-Tenant': ['t'] }
  })
})

// A function takes the place of the field: what a client writes into it is not told then.
test('a function wins over the field', async t => {
  const asked = await service(t, 200, admitted)
  await through(t, { url: asked.url, apiKey: () => 'k', address: () => '198.51.100.1' }, { 'X-API-Key': 'forged' })
  assert.deepStrictEqual([asked.check.headers, asked.check.address], [{ 'X-API-Key': 'k' }, '198.51.100.1'])
})

// What the program knows is a field to the policy, and the client's own field of that name is not.
test('fields', async t => {
  const asked = await service(t, 200, admitted)
  await through(t, { url: asked.url, headers: ['x-tenant'], fields: { 'X-Tenant': async () => 7, 'X-None': () => undefined } },
    { 'X-Tenant': 'forged', 'X-None': 'forged' })
  assert.deepStrictEqual(asked.check.headers, { 'X-Tenant': '7' })
})

// Late on a kept connection is late: the question is not repeated, and nothing is left waiting.
test('a late answer is not asked for again', async t => {
  let asked = 0
  const url = await listen(t, (req, res) => ++asked === 2 || res.end(JSON.stringify(admitted)))
  const client = new penstock.Client({ url, deadline: 1000 })
  t.after(() => client.close())
  await client.ask({})
  await assert.rejects(client.ask({}), /no answer within 1000 ms/)
  await client.ask({})
  assert.strictEqual(asked, 3)
})

// Only a decision decides. All else passes, is logged, and says why; a redirect is not followed.
for (const [name, status, answer, want, logged] of [
  ['admitted', 200, admitted, 204, ''],
  ['refused', 200, refused, 429, ''],
  ['the store is away', 503, { ...refused, status: 503 }, 503, ''],
  ['a wrong token', 401, { error: 'the check carries no valid token' }, 204, '401 the check carries no valid token'],
  ['another server', 200, '<html>', 204, '200'],
  ['another JSON', 200, { ok: true }, 204, '200'],
  ['another 503', 503, '', 204, '503'],
  ['a redirect', 307, '', 204, '307']
]) {
  test(`the service answers: ${name}`, async t => {
    const asked = await service(t, status, answer)
    const got = await through(t, { url: asked.url })
    assert.strictEqual(got.status, want)
    assert.strictEqual(got.lines.length, logged ? 1 : 0)
    assert.ok(got.lines.join().includes(logged), got.lines.join())
  })
}

test('a refusal is complete', async t => {
  const asked = await service(t, 200, refused)
  const got = await through(t, { url: asked.url })
  assert.strictEqual(got.body, '{"error":"rate limit exceeded","limit":"l","retry_after":7}\n')
  assert.deepStrictEqual([got.headers['retry-after'], got.headers['content-type']], ['7', 'application/json'])
})

// An error in the program's own function is the program's error, not an outage to pass over.
test('a function that throws is not an outage', async t => {
  const got = await through(t, { user: () => { throw new Error('bug') } })
  assert.deepStrictEqual([got.status, got.lines], [500, []])
})

test('defaults', () => {
  const client = new penstock.Client()
  assert.deepStrictEqual([client.deadline, client.options.host, client.options.port], [50, '127.0.0.1', '8081'])
  assert.throws(() => new penstock.Client({ url: 'https://x' }), TypeError)
})
