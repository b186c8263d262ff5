<?php

declare(strict_types=1);

namespace Penstock\Laravel;

use Closure;
use Illuminate\Http\Request;
use Illuminate\Http\Response;
use Penstock\Gate;

/** Laravel middleware. The container makes it; bind Penstock\Gate in a service provider. */
final class AskPenstock
{
    public function __construct(private readonly Gate $gate)
    {
    }

    public function handle(Request $request, Closure $next): mixed
    {
        $decision = $this->gate->decide(
            $request,
            $request->getMethod(),
            $request->server('REQUEST_URI') ?? $request->getRequestUri(),
            (string) $request->headers->get('Host'),
            $request->server('REMOTE_ADDR'),
            fn (string $name): array => $request->headers->all(strtolower($name)),
        );
        if ($decision === null) {
            return $next($request);
        }
        if (!$decision->allowed) {
            return new Response($decision->body(), $decision->status, $decision->headers + ['Content-Type' => 'application/json']);
        }
        Gate::hold($decision);
        $response = $next($request);
        foreach ($decision->headers as $name => $value) {
            if (!$response->headers->has($name)) {
                $response->headers->set($name, $value);
            }
        }
        return $response;
    }
}
