'use strict'
// Asks POST /v1/check on connections that are kept, with nothing but Node's own http.

const http = require('node:http')

const ANSWER_MAX = 1024 * 1024
const CONNECTIONS_MAX = 64 // to the service; requests above wait, within their deadline

// There is no decision: the service is away, late, or does not take the question.
class Undecided extends Error {}

class Client {
  // url: http://HOST:PORT or unix:PATH. token: the secret of decision.token_sha256. deadline: milliseconds.
  constructor ({ url = 'http://127.0.0.1:8081', token, deadline = 50 } = {}) {
    this.deadline = deadline
    // Idle connections go before the service closes them, which is after 75 seconds.
    const agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX, timeout: 60_000 })
    this.options = { method: 'POST', path: '/v1/check', agent, headers: { 'content-type': 'application/json' } }
    if (token) this.options.headers.authorization = `Bearer ${token}`
    if (url.startsWith('unix:')) {
      this.options.socketPath = url.slice('unix:'.length)
      return
    }
    const at = new URL(url)
    if (at.protocol !== 'http:') throw new TypeError(`${url} is neither http://HOST:PORT nor unix:PATH`)
    this.options.host = at.hostname.replace(/^\[|\]$/g, '')
    this.options.port = at.port || 80
  }

  // Resolves to the decision for a check as docs/openapi.yaml describes it. Rejects with Undecided.
  ask (check) {
    const question = Buffer.from(JSON.stringify(check))
    return new Promise((resolve, reject) => {
      let current
      let over = false
      const late = setTimeout(() => {
        done(reject, new Undecided(`no answer within ${this.deadline} ms`))
        current.destroy()
      }, this.deadline)
      const done = (settle, value) => {
        over = true
        clearTimeout(late)
        settle(value)
      }
      const attempt = again => {
        const request = current = http.request(this.options, answer => {
          const parts = []
          let size = 0
          answer.on('data', part => {
            parts.push(part)
            size += part.length
            if (size > ANSWER_MAX) answer.destroy(new Error('the answer is too long'))
          })
          answer.on('error', error => done(reject, new Undecided(error.message)))
          answer.on('end', () => {
            try {
              done(resolve, decision(answer.statusCode, Buffer.concat(parts)))
            } catch (error) {
              done(reject, error)
            }
          })
        })
        request.on('error', error => {
          if (over) return
          // A kept connection that the service has closed meanwhile, as it does when it is restarted.
          if (again > 0 && request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')) {
            return attempt(again - 1)
          }
          done(reject, new Undecided(error.message))
        })
        request.setHeader('content-length', question.length)
        request.end(question)
      }
      attempt(CONNECTIONS_MAX)
    })
  }

  close () {
    this.options.agent.destroy()
  }
}

// 503 with a decision is one: the store is away and the limit says deny.
function decision (status, body) {
  let said
  try {
    said = JSON.parse(body)
  } catch {}
  if ((status === 200 || status === 503) && typeof said?.allowed === 'boolean') return said
  throw new Undecided(`the service answers ${status} ${said?.error ?? ''}`.trimEnd())
}

module.exports = { Client, Undecided }
