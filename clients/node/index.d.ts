import type { IncomingMessage, ServerResponse } from 'node:http'

export interface Options<Request> {
  /** `http://HOST:PORT` or `unix:PATH`. Default: `http://127.0.0.1:8081`. */
  url?: string
  /** The secret of the policy's `decision.token_sha256`. */
  token?: string
  /** Longest wait for a decision, in milliseconds. Default: 50. */
  deadline?: number
  /** Refuse with 503 what could not be decided. By default it passes. Both are logged. */
  failClosed?: boolean
  /** As `identity.api_key.header` in the policy. Default: `X-API-Key`. */
  apiKeyHeader?: string
  /** The API key, instead of what stands in that field. */
  apiKey?: (request: Request) => string | undefined | Promise<string | undefined>
  /** The user that the program has verified. */
  user?: (request: Request) => string | number | undefined | Promise<string | number | undefined>
  /** Who connected. Default: the socket's peer; the policy's `client.trusted_proxies` looks behind it. */
  address?: (request: Request) => string | undefined | Promise<string | undefined>
  /** Units that the request takes. Default: as the limits say. */
  cost?: (request: Request) => number | undefined | Promise<number | undefined>
  /** Further fields that the policy reads, as `['Cookie', 'X-Tenant']`. */
  headers?: string[]
  /** What the program knows and the policy counts by, as `{ 'X-Tenant': request => request.tenant }`. */
  fields?: Record<string, (request: Request) => string | number | undefined | Promise<string | number | undefined>>
  /** Takes a line about a failure. Default: `console.warn`, or Fastify's log. */
  log?: (line: string) => void
}

export interface Decision {
  allowed: boolean
  outcome: 'allow' | 'delay' | 'deny' | 'degraded_allow' | 'degraded_deny'
  status: number
  delay_ms: number
  limit?: string
  retry_after?: number
  reason?: string
  headers: Record<string, string>
}

/** There is no decision: the service is away, late, or does not take the question. */
export class Undecided extends Error {}

export class Client {
  constructor (options?: { url?: string, token?: string, deadline?: number })
  /** A check as docs/openapi.yaml describes it. Rejects with Undecided. */
  ask (check: object): Promise<Decision>
  close (): void
}

export function express<Request extends IncomingMessage = any> (
  options?: Options<Request>
): (req: Request, res: ServerResponse, next: (error?: unknown) => void) => Promise<void>

export function fastify (
  instance: any, options: Options<any> & { hook?: 'onRequest' | 'preHandler' }, done: () => void
): void
