'use strict'
// Fastify behind Penstock: PENSTOCK_URL=http://127.0.0.1:8081 PORT=3000 node fastify_app.js

const app = require('fastify')({ logger: { level: 'warn' } })
const penstock = require('../index.js')
const { options, port, user } = require('./common.js')

app.register(penstock.fastify, { user, ...options })
app.all('/*', async (request, reply) => reply.type('text/plain').send(`hello ${user(request) ?? ''}\n`))
app.listen({ port, host: '127.0.0.1' })
