'use strict'
// Express behind Penstock: PENSTOCK_URL=http://127.0.0.1:8081 PORT=3000 node express_app.js

const express = require(process.env.EXPRESS || 'express')
const penstock = require('../index.js')
const { options, port, user } = require('./common.js')

const app = express()
app.use(penstock.express({ user, ...options }))
app.use((req, res) => res.type('text/plain').send(`hello ${user(req) ?? ''}\n`))
app.listen(port, '127.0.0.1')
