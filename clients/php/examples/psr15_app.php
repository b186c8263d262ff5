<?php

declare(strict_types=1);

// A PSR-15 pipeline behind Penstock: php -S 127.0.0.1:3000 psr15_app.php

use Nyholm\Psr7\Factory\Psr17Factory;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\RequestHandlerInterface;

require 'Nyholm/Psr7/autoload.php';
require __DIR__ . '/common.php';

$factory = new Psr17Factory();
$request = $factory->createServerRequest($_SERVER['REQUEST_METHOD'], $_SERVER['REQUEST_URI'], $_SERVER);
foreach (getallheaders() as $name => $value) {
    $request = $request->withHeader((string) $name, $value);
}

$hello = new class ($factory) implements RequestHandlerInterface {
    public function __construct(private Psr17Factory $factory)
    {
    }

    public function handle(ServerRequestInterface $request): ResponseInterface
    {
        $body = 'hello ' . user($request->getHeaderLine('Authorization')) . "\n";
        return $this->factory->createResponse()->withBody($this->factory->createStream($body));
    }
};

$gate = penstock(fn (ServerRequestInterface $r) => user($r->getHeaderLine('Authorization')));
$response = (new Penstock\Middleware($gate, $factory, $factory))->process($request, $hello);

http_response_code($response->getStatusCode());
foreach ($response->getHeaders() as $name => $values) {
    foreach ($values as $value) {
        header("$name: $value", false);
    }
}
echo $response->getBody();
