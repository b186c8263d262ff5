'use strict'
// Asks a Penstock decision service before a request is served.
//
//   app.use(penstock.express({ url, user: req => req.session?.user }))            Express, Connect
//   fastify.register(penstock.fastify, { url, user: request => request.user?.id })  Fastify
//
// It holds no limits and no counters: it describes the request, copies the fields of the answer and
// passes on, waits or refuses as it is told. Options are described in index.d.ts.

const { setTimeout: sleep } = require('node:timers/promises')
const { Client, Undecided } = require('./client.js')

// Fields in which a proxy names its client. The policy believes them only from client.trusted_proxies.
const FORWARDING = ['X-Forwarded-For', 'Forwarded', 'X-Real-IP']

// What is answered in place of a decision when the middleware was told to fail closed.
const CLOSED = {
  allowed: false,
  outcome: 'degraded_deny',
  status: 503,
  retry_after: 1,
  headers: { 'Retry-After': '1', 'Cache-Control': 'no-store' }
}

class Gate {
  constructor (options) {
    const { url, token, deadline, failClosed = false, apiKeyHeader = 'X-API-Key', headers = [], fields = {}, log = console.warn } = options
    this.client = new Client({ url, token, deadline })
    this.options = options
    this.failClosed = failClosed
    this.apiKeyHeader = apiKeyHeader
    this.fields = { ...fields, ...(options.apiKey && { [apiKeyHeader]: options.apiKey }) }
    // A field that a function speaks for is not told as the client wrote it.
    const spoken = Object.keys(this.fields).map(name => name.toLowerCase())
    this.told = [...FORWARDING, ...headers, apiKeyHeader].filter(name => !spoken.includes(name.toLowerCase()))
    this.log = log
    this.logged = -Infinity
    this.unlogged = 0
  }

  // The decision on a request; undefined: undecided, and to be passed.
  async decide (request, raw, target) {
    try {
      return await this.client.ask(await this.check(request, raw, target))
    } catch (error) {
      if (!(error instanceof Undecided)) throw error
      this.failed(error)
      return this.failClosed ? CLOSED : undefined
    }
  }

  async check (request, raw, target) {
    const { user, address, cost } = this.options
    const check = { method: raw.method, path: target, headers: {} }
    for (const name of this.told) {
      const values = held(raw.rawHeaders, name.toLowerCase())
      if (values.length > 0) check.headers[name] = values
    }
    for (const [name, field] of Object.entries(this.fields)) {
      const value = await field(request)
      if (said(value)) check.headers[name] = String(value)
    }
    const [who, from, units] = await Promise.all([user, address, cost].map(f => f?.(request)))
    if (said(who)) check.user = String(who)
    if (said(units)) check.cost = units
    if (from ?? raw.socket.remoteAddress) check.address = from ?? raw.socket.remoteAddress
    if (raw.headers.host) check.host = raw.headers.host
    return check
  }

  // At most a line a second, so that an outage under load does not fill the disk.
  failed (error) {
    if (performance.now() - this.logged < 1000) {
      this.unlogged++
      return
    }
    const what = this.failClosed ? 'refused (fail-closed)' : 'passed (fail-open)'
    this.log(`penstock: a request was ${what} undecided: ${error.message}; ${this.unlogged} more since the last line`)
    this.logged = performance.now()
    this.unlogged = 0
  }
}

function said (value) {
  return value !== undefined && value !== null && value !== ''
}

// Every value of a field, as it came: node joins or drops repeated ones.
function held (rawHeaders, name) {
  const values = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i].toLowerCase() === name) values.push(rawHeaders[i + 1])
  }
  return values
}

// The refusal's JSON, as the gateway writes it.
function body (decision) {
  const { limit, retry_after: retryAfter, reason, status, outcome } = decision
  let error = 'forbidden'
  if (outcome === 'degraded_deny') error = 'rate limiter unavailable'
  else if (limit || status === 429) error = 'rate limit exceeded'
  else if (status === 400) error = 'bad request'
  const said = { error, limit }
  if (retryAfter) said.retry_after = retryAfter
  else if (error !== 'forbidden') said.reason = reason
  return JSON.stringify(said) + '\n'
}

function express (options = {}) {
  const gate = new Gate(options)
  return async (req, res, next) => {
    let decision
    try {
      decision = await gate.decide(req, req, req.originalUrl ?? req.url)
    } catch (error) { // of a function in the options
      return next(error)
    }
    if (!decision) return next()
    for (const [name, value] of Object.entries(decision.headers)) res.setHeader(name, value)
    if (!decision.allowed) {
      const text = body(decision)
      res.writeHead(decision.status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) })
      return res.end(text)
    }
    if (decision.delay_ms > 0) await sleep(decision.delay_ms)
    next()
  }
}

// options.hook: 'onRequest', or 'preHandler' when `user` needs what an earlier hook found out.
function fastify (instance, options, done) {
  const gate = new Gate({ log: line => instance.log.warn(line), ...options })
  instance.addHook('onClose', async () => gate.client.close())
  instance.addHook(options.hook ?? 'onRequest', async (request, reply) => {
    const decision = await gate.decide(request, request.raw, request.raw.url)
    if (!decision) return
    reply.headers(decision.headers)
    if (!decision.allowed) return reply.code(decision.status).type('application/json').send(body(decision))
    if (decision.delay_ms > 0) await sleep(decision.delay_ms)
  })
  done()
}
// For the whole server, not only for the routes of an encapsulated plugin.
fastify[Symbol.for('skip-override')] = true
fastify[Symbol.for('fastify.display-name')] = 'penstock'

module.exports = { express, fastify, Client, Undecided }
