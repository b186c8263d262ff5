<?php

declare(strict_types=1);

// Laravel's container, request and pipeline behind Penstock, in the shape in which its kernel runs a
// middleware: php -S 127.0.0.1:3000 laravel_app.php

use Illuminate\Container\Container;
use Illuminate\Http\Request;
use Illuminate\Http\Response;
use Illuminate\Pipeline\Pipeline;
use Penstock\Gate;
use Penstock\Laravel\AskPenstock;

require 'Illuminate/Container/autoload.php';
require 'Illuminate/Http/autoload.php';
require 'Illuminate/Pipeline/autoload.php';
require __DIR__ . '/common.php';

// In an application: in the register() of a service provider, with 'user' => $request->user()?->getAuthIdentifier().
$container = new Container();
$container->singleton(Gate::class, fn () => penstock(fn (Request $r) => user($r->headers->get('Authorization'))));

(new Pipeline($container))
    ->send(Request::capture())
    ->through([AskPenstock::class])
    ->then(fn (Request $request) => new Response('hello ' . user($request->headers->get('Authorization')) . "\n"))
    ->send();
