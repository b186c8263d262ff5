<?php

declare(strict_types=1);

// What the examples share: options from the environment, and who the users are.

spl_autoload_register(function (string $class): void {
    $path = __DIR__ . '/../src/' . str_replace('\\', '/', substr($class, strlen('Penstock\\'))) . '.php';
    if (str_starts_with($class, 'Penstock\\') && is_file($path)) {
        require $path;
    }
});

/** Stands for your sessions or tokens: a user counts once the program has verified it. */
function user(?string $authorization): ?string
{
    return ['Bearer token-of-alice' => 'alice', 'Bearer token-of-bob' => 'bob'][$authorization] ?? null;
}

function penstock(Closure $user): Penstock\Gate
{
    $client = new Penstock\Client(
        getenv('PENSTOCK_URL') ?: 'http://127.0.0.1:8081',
        getenv('PENSTOCK_TOKEN') ?: null,
        (int) (getenv('PENSTOCK_DEADLINE_MS') ?: 50),
    );
    return new Penstock\Gate($client, failClosed: (bool) getenv('PENSTOCK_FAIL_CLOSED'), user: $user);
}
