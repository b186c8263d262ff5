<?php

declare(strict_types=1);

namespace Penstock;

/** What the service says about a check. */
final class Decision
{
    /** @param array<string, string> $headers to send to the client */
    public function __construct(
        public readonly bool $allowed,
        public readonly string $outcome,
        public readonly int $status,
        public readonly array $headers = [],
        public readonly int $delayMs = 0,
        public readonly ?string $limit = null,
        public readonly ?int $retryAfter = null,
        public readonly ?string $reason = null,
    ) {
    }

    /** 503 with a decision is one: the store is away and the limit says deny. Errors: Undecided. */
    public static function read(int $status, string $body): self
    {
        $said = json_decode($body, true);
        if (!in_array($status, [200, 503], true) || !is_bool($said['allowed'] ?? null)) {
            throw new Undecided(rtrim("the service answers $status " . ($said['error'] ?? '')));
        }
        return new self($said['allowed'], $said['outcome'], $said['status'], $said['headers'], $said['delay_ms'],
            $said['limit'] ?? null, $said['retry_after'] ?? null, $said['reason'] ?? null);
    }

    /** In place of a decision when the middleware was told to fail closed. */
    public static function closed(): self
    {
        return new self(false, 'degraded_deny', 503, ['Retry-After' => '1', 'Cache-Control' => 'no-store'], retryAfter: 1);
    }

    /** The refusal's JSON, as the gateway writes it. */
    public function body(): string
    {
        $error = match (true) {
            $this->outcome === 'degraded_deny' => 'rate limiter unavailable',
            $this->limit !== null || $this->status === 429 => 'rate limit exceeded',
            $this->status === 400 => 'bad request',
            default => 'forbidden',
        };
        $reason = $this->retryAfter === null && $error !== 'forbidden' ? $this->reason : null;
        $said = ['error' => $error, 'limit' => $this->limit, 'retry_after' => $this->retryAfter, 'reason' => $reason];
        return json_encode(array_filter($said, fn ($v) => $v !== null), JSON_THROW_ON_ERROR) . "\n";
    }
}
