<?php

declare(strict_types=1);

namespace Penstock;

use Closure;

/** What the middlewares share: how a request is described, what happens without a decision. */
final class Gate
{
    /** Fields in which a proxy names its client. The policy believes them only from client.trusted_proxies. */
    private const FORWARDING = ['X-Forwarded-For', 'Forwarded', 'X-Real-IP'];

    /**
     * @param bool $failClosed         refuse with 503 what could not be decided; by default it passes
     * @param string $apiKeyHeader     as identity.api_key.header in the policy
     * @param list<string> $headers    further fields that the policy reads, as ['Cookie', 'Accept']
     * @param array<string, Closure> $fields what the program knows and the policy counts by:
     *                                 ['X-Tenant' => fn (request): string|int|null]
     * @param Closure|null $apiKey     fn (request): ?string, instead of what stands in that field
     * @param Closure|null $user       fn (request): string|int|null, the user that the program has verified
     * @param Closure|null $address    fn (request): ?string, instead of the peer
     * @param Closure|null $cost       fn (request): ?int, units that the request takes
     * @param Closure|null $log        fn (string $line): void; by default error_log()
     */
    public function __construct(
        private readonly Client $client,
        private readonly bool $failClosed = false,
        private readonly string $apiKeyHeader = 'X-API-Key',
        private readonly array $headers = [],
        private array $fields = [],
        ?Closure $apiKey = null,
        private readonly ?Closure $user = null,
        private readonly ?Closure $address = null,
        private readonly ?Closure $cost = null,
        private readonly ?Closure $log = null,
    ) {
        if ($apiKey !== null) {
            $this->fields[$apiKeyHeader] = $apiKey;
        }
    }

    /**
     * The decision on a request; null: undecided, and to be passed.
     *
     * @param Closure $values fn (string $name): list<string>, what a field holds
     */
    public function decide(object $request, string $method, string $target, string $host, ?string $peer, Closure $values): ?Decision
    {
        $check = ['method' => $method, 'path' => $target, 'headers' => $this->fields($request, $values)];
        $user = $this->user === null ? null : ($this->user)($request);
        $address = ($this->address === null ? null : ($this->address)($request)) ?? $peer;
        $cost = $this->cost === null ? null : ($this->cost)($request);
        $check += array_filter(['host' => $host, 'user' => (string) $user, 'address' => (string) $address], fn ($v) => $v !== '');
        if ($cost !== null) {
            $check['cost'] = $cost;
        }
        try {
            return $this->client->ask($check);
        } catch (Undecided $undecided) {
            $what = $this->failClosed ? 'refused (fail-closed)' : 'passed (fail-open)';
            $line = "penstock: a request was $what undecided: {$undecided->getMessage()}";
            $this->log === null ? error_log($line) : ($this->log)($line);
            return $this->failClosed ? Decision::closed() : null;
        }
    }

    /** Waits as a queue of the policy says. */
    public static function hold(Decision $decision): void
    {
        if ($decision->delayMs > 0) {
            usleep($decision->delayMs * 1000);
        }
    }

    private function fields(object $request, Closure $values): object
    {
        // A field that a function speaks for is not told as the client wrote it.
        $spoken = array_map(strtolower(...), array_keys($this->fields));
        $fields = [];
        foreach ([...self::FORWARDING, ...$this->headers, $this->apiKeyHeader] as $name) {
            $held = in_array(strtolower($name), $spoken, true) ? [] : array_values($values($name));
            if ($held !== []) {
                $fields[$name] = $held;
            }
        }
        foreach ($this->fields as $name => $field) {
            $value = (string) $field($request);
            if ($value !== '') {
                $fields[$name] = $value;
            }
        }
        return (object) $fields;
    }
}
