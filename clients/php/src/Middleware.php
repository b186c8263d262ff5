<?php

declare(strict_types=1);

namespace Penstock;

use Psr\Http\Message\ResponseFactoryInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Message\StreamFactoryInterface;
use Psr\Http\Server\MiddlewareInterface;
use Psr\Http\Server\RequestHandlerInterface;

/** PSR-15 middleware, for Slim, Mezzio and their like. */
final class Middleware implements MiddlewareInterface
{
    public function __construct(
        private readonly Gate $gate,
        private readonly ResponseFactoryInterface $responses,
        private readonly StreamFactoryInterface $streams,
    ) {
    }

    public function process(ServerRequestInterface $request, RequestHandlerInterface $handler): ResponseInterface
    {
        $server = $request->getServerParams();
        $decision = $this->gate->decide(
            $request,
            $request->getMethod(),
            $server['REQUEST_URI'] ?? $request->getRequestTarget(), // as the client sent it, where that is known
            $request->getHeaderLine('Host'),
            $server['REMOTE_ADDR'] ?? null,
            fn (string $name): array => $request->getHeader($name),
        );
        if ($decision === null) {
            return $handler->handle($request);
        }
        if ($decision->allowed) {
            Gate::hold($decision);
            $response = $handler->handle($request);
        } else {
            $response = $this->responses->createResponse($decision->status)
                ->withHeader('Content-Type', 'application/json')
                ->withBody($this->streams->createStream($decision->body()));
        }
        foreach ($decision->headers as $name => $value) {
            if (!$response->hasHeader($name)) {
                $response = $response->withHeader($name, $value);
            }
        }
        return $response;
    }
}
