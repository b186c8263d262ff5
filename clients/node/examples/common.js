'use strict'
// What the examples share: options from the environment, and who the users are.

// Stands for your sessions or tokens: a user counts once the program has verified it.
const sessions = new Map([['Bearer token-of-alice', 'alice'], ['Bearer token-of-bob', 'bob']])

exports.user = request => sessions.get(request.headers.authorization)

exports.options = {
  url: process.env.PENSTOCK_URL || undefined,
  token: process.env.PENSTOCK_TOKEN || undefined,
  deadline: Number(process.env.PENSTOCK_DEADLINE_MS || 50),
  failClosed: Boolean(process.env.PENSTOCK_FAIL_CLOSED)
}

exports.port = Number(process.env.PORT || 3000)
