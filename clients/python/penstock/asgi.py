"""ASGI middleware, for FastAPI, Starlette and their like.

    app.add_middleware(penstock.asgi.PenstockMiddleware, url="http://127.0.0.1:8081", user=user)
"""
import asyncio
import inspect

from ._client import AsyncClient
from ._gate import Gate, split, target
from ._wire import CLOSED, Undecided


class PenstockMiddleware:
    """Options: url, token, deadline (seconds), and those of _gate.Gate; functions may be coroutines."""

    def __init__(self, app, **options):
        client, gate = split(options)
        self.app, self.client, self.gate = app, AsyncClient(**client), Gate(**gate)

    async def __call__(self, scope, receive, send):
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        try:
            decision = await self.client.ask(await self._check(scope))
        except Undecided as error:
            self.gate.failed(error)
            if not self.gate.fail_closed:
                return await self.app(scope, receive, send)
            decision = CLOSED
        if not decision.allowed:
            return await self._refuse(scope, send, decision)
        if decision.delay_ms > 0:
            await asyncio.sleep(decision.delay_ms / 1000)

        async def send_with_headers(message):
            if message["type"] in ("http.response.start", "websocket.accept"):
                own = list(message.get("headers", ()))
                there = {bytes(name).lower() for name, _ in own}
                message = {**message, "headers": own + [h for h in _encoded(decision.headers) if h[0] not in there]}
            await send(message)

        await self.app(scope, receive, send_with_headers)

    async def _check(self, scope):
        found = {}
        for name, function in self.gate.functions():
            value = function(scope)
            found[name] = await value if inspect.isawaitable(value) else value

        def values(name):
            wanted = name.lower().encode("latin-1")
            return [v.decode("latin-1") for n, v in scope["headers"] if n.lower() == wanted]

        peer = scope.get("client")
        host = values("host")
        path = target(scope["path"], scope.get("query_string", b"").decode("latin-1"))
        return self.gate.check(scope.get("method", "GET"), path, host[0] if host else None,
                               peer[0] if peer else None, values, found)

    async def _refuse(self, scope, send, decision):
        if scope["type"] == "websocket":  # before it is accepted: the server answers 403
            return await send({"type": "websocket.close", "code": 1008})
        body = decision.body()
        headers = [*_encoded(decision.headers), (b"content-type", b"application/json"),
                   (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": decision.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


def _encoded(headers):
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
