'use strict'
// Fastify behind Penstock: PENSTOCK_URL=http://127.0.0.1:8081 PORT=3000 node fastify_app.js

const fastify = require(process.env.FASTIFY || 'fastify')
const penstock = require('../index.js')
const { options, port, user } = require('./common.js')

const app = fastify({ logger: { level: 'warn' } })
app.register(penstock.fastify, { user, ...options })
app.all('/*', async (request, reply) => reply.type('text/plain').send(`hello ${user(request) ?? ''}\n`))
app.listen({ port, host: '127.0.0.1' })
