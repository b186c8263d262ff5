"""WSGI middleware, for Flask, Bottle and any other WSGI application.

    application = penstock.wsgi.PenstockMiddleware(application, url="http://127.0.0.1:8081", user=user)
"""
import http
import time

from ._client import Client
from ._gate import Gate, split, target
from ._wire import CLOSED, Undecided


class PenstockMiddleware:
    """Options: url, token, deadline (seconds), and those of _gate.Gate."""

    def __init__(self, app, **options):
        client, gate = split(options)
        self.app, self.client, self.gate = app, Client(**client), Gate(**gate)

    def __call__(self, environ, start_response):
        try:
            decision = self.client.ask(self._check(environ))
        except Undecided as error:
            self.gate.failed(error)
            if not self.gate.fail_closed:
                return self.app(environ, start_response)
            decision = CLOSED
        if not decision.allowed:
            body = decision.body()
            start_response(_status(decision.status), [*decision.headers.items(), ("Content-Type", "application/json"),
                                                      ("Content-Length", str(len(body)))])
            return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]
        if decision.delay_ms > 0:
            time.sleep(decision.delay_ms / 1000)

        def start_with_headers(status, headers, *exc_info):
            there = {name.lower() for name, _ in headers}
            added = [(n, v) for n, v in decision.headers.items() if n.lower() not in there]
            return start_response(status, headers + added, *exc_info)

        return self.app(environ, start_with_headers)

    def _check(self, environ):
        def values(name):
            # The server has joined repeated fields with commas already.
            value = environ.get("HTTP_" + name.upper().replace("-", "_"))
            return [value] if value else []

        # The one path that every server hands over, and by which the application routes.
        path = (environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")).encode("latin-1")
        found = {name: function(environ) for name, function in self.gate.functions()}
        return self.gate.check(environ["REQUEST_METHOD"], target(path or b"/", environ.get("QUERY_STRING")),
                               environ.get("HTTP_HOST"), environ.get("REMOTE_ADDR"), values, found)


def _status(code):
    try:
        return f"{code} {http.HTTPStatus(code).phrase}"
    except ValueError:
        return f"{code} Refused"
