<?php

declare(strict_types=1);

// Unit tests without a framework: php tests/run.php

use Penstock\Client;
use Penstock\Decision;
use Penstock\Gate;
use Penstock\Undecided;

require __DIR__ . '/../examples/common.php';

$failed = 0;
function same(string $name, mixed $got, mixed $want): void
{
    if ($got !== $want) {
        $GLOBALS['failed']++;
        echo "$name: got ", var_export($got, true), ', want ', var_export($want, true), "\n";
    }
}

function refuses(string $name, string $error, Closure $does): void
{
    try {
        $does();
        same($name, 'nothing', $error);
    } catch (Throwable $thrown) {
        same($name, $thrown::class, $error);
    }
}

$refused = ['allowed' => false, 'outcome' => 'deny', 'status' => 429, 'delay_ms' => 0, 'limit' => 'l', 'retry_after' => 7,
    'limits' => [], 'headers' => ['Retry-After' => '7']];

// Only a decision decides; 503 with one is one.
foreach ([[401, '{"error":"no token"}'], [200, '<html>'], [200, '{"ok":true}'], [503, ''], [200, '[]'], [200, 'true']] as [$status, $body]) {
    refuses("no decision: $status $body", Undecided::class, fn () => Decision::read($status, $body));
}
same('503 with a decision', Decision::read(503, json_encode($refused))->allowed, false);

// The bodies of the gateway.
foreach ([
    [$refused, '{"error":"rate limit exceeded","limit":"l","retry_after":7}'],
    [['retry_after' => null, 'reason' => 'never'] + $refused, '{"error":"rate limit exceeded","limit":"l","reason":"never"}'],
    [['outcome' => 'degraded_deny', 'limit' => null, 'retry_after' => 1] + $refused, '{"error":"rate limiter unavailable","retry_after":1}'],
    [['status' => 400, 'limit' => null, 'retry_after' => null, 'reason' => 'r'] + $refused, '{"error":"bad request","reason":"r"}'],
    [['status' => 403, 'limit' => null, 'retry_after' => null, 'reason' => 'r'] + $refused, '{"error":"forbidden"}'],
] as [$said, $body]) {
    same('body', Decision::read(200, json_encode($said))->body(), "$body\n");
}

// What the service's answer may look like, whole and in parts.
$complete = new ReflectionMethod(Client::class, 'complete');
$answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
for ($cut = 0; $cut < strlen($answer); $cut++) {
    same("cut at $cut", $complete->invoke(null, substr($answer, 0, $cut)), null);
}
same('whole', $complete->invoke(null, $answer), [200, '{}', true]);
same('closing', $complete->invoke(null, "HTTP/1.1 503 X\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"), [503, '', false]);
foreach ([str_repeat('x', 20000), "SSH-2.0\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", "$answer more", "HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n"] as $wrong) {
    refuses('no answer', Undecided::class, fn () => $complete->invoke(null, $wrong));
}

refuses('https', InvalidArgumentException::class, fn () => new Client('https://x'));
refuses('a token of two lines', InvalidArgumentException::class, fn () => new Client(token: "a\r\nb"));
same('the deadline', (new ReflectionProperty(Client::class, 'deadlineMs'))->getValue(new Client()), 50);

// What the program knows is a field to the policy, and the client's own field of that name is not.
$gate = new Gate(new Client(), headers: ['x-tenant'], fields: ['X-Tenant' => fn () => 7, 'X-None' => fn () => null], apiKey: fn () => 'k');
$told = (new ReflectionMethod(Gate::class, 'fields'))->invoke($gate, new stdClass(), fn (string $n) => $n === 'Forwarded' ? ['a', 'b'] : (str_starts_with($n, 'X-F') || $n === 'X-Real-IP' ? [] : ['forged']));
same('fields', (array) $told, ['Forwarded' => ['a', 'b'], 'X-Tenant' => '7', 'X-API-Key' => 'k']);

// Nobody listens: passes or is refused as chosen, and is logged.
foreach ([false, true] as $failClosed) {
    $lines = [];
    $gate = new Gate(new Client('http://127.0.0.1:1'), failClosed: $failClosed, log: function (string $line) use (&$lines) { $lines[] = $line; });
    same('undecided', $gate->decide(new stdClass(), 'GET', '/', 'h', null, fn () => [])?->status, $failClosed ? 503 : null);
    same('logged', count($lines), 1);
}

echo $failed === 0 ? "all passed\n" : "$failed failed\n";
exit($failed === 0 ? 0 : 1);
