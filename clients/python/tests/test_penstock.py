"""Unit tests without a server: python3 -m unittest discover -s tests"""
import asyncio
import json
import logging
import unittest

import penstock
from penstock._gate import Gate, target
from penstock._wire import Answer, Decision, Undecided, question
from penstock.asgi import PenstockMiddleware as Asgi
from penstock.wsgi import PenstockMiddleware as Wsgi

ADMITTED = {"allowed": True, "outcome": "allow", "status": 200, "delay_ms": 0, "limits": [], "headers": {"X-Left": "2"}}
REFUSED = {"allowed": False, "outcome": "deny", "status": 429, "delay_ms": 0, "limit": "l", "retry_after": 7,
           "limits": [], "headers": {"Retry-After": "7"}}


def octets(status, body, extra=b""):
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n%s\r\n%s" % (status, len(body), extra, body)


class Answers(unittest.TestCase):
    # However the octets are cut, the answer is the same.
    def test_every_split_is_read_alike(self):
        whole = octets(200, json.dumps(REFUSED).encode())
        for cut in range(1, len(whole)):
            answer = Answer()
            self.assertFalse(answer.feed(whole[:cut]))
            self.assertTrue(answer.feed(whole[cut:]))
            self.assertEqual(answer.decision().retry_after, 7)

    # Only a decision decides; 503 with one is one.
    def test_what_is_no_decision(self):
        for status, body in ((401, b'{"error":"no token"}'), (200, b"<html>"), (200, b'{"ok":true}'), (503, b""), (200, b"[]")):
            answer = Answer()
            answer.feed(octets(status, body))
            with self.assertRaises(Undecided):
                answer.decision()
        answer = Answer()
        answer.feed(octets(503, json.dumps({**REFUSED, "status": 503, "outcome": "degraded_deny"}).encode()))
        self.assertEqual(json.loads(answer.decision().body())["error"], "rate limiter unavailable")

    # What does not end, or is not framed as the service frames it, is given up.
    def test_what_is_no_answer(self):
        for wrong in (b"", b"x" * 20000, b"HTTP/1.1 200 OK\r\n\r\n", b"SSH-2.0\r\n\r\n", octets(200, b"{}") + b"x",
                      b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"):
            with self.assertRaises(Undecided):
                Answer().feed(wrong)

    def test_a_connection_is_kept_unless_told(self):
        for extra, keep in ((b"", True), (b"Connection: close\r\n", False)):
            answer = Answer()
            answer.feed(octets(200, b"{}", extra))
            self.assertEqual(answer.keep, keep)

    # A client's octets stand in JSON only; they cannot end a line of the request.
    def test_a_question_has_no_octets_of_the_client_in_its_head(self):
        head, body = question({"path": "/\r\nX: y"}, "h:1", "t").split(b"\r\n\r\n", 1)
        self.assertNotIn(b"X: y", head)
        self.assertIn(b"Authorization: Bearer t", head)
        self.assertEqual(json.loads(body), {"path": "/\r\nX: y"})
        with self.assertRaises(ValueError):
            penstock.Client(token="a\r\nb")


class Options(unittest.TestCase):
    def test_defaults(self):
        self.assertEqual(penstock.Client()._deadline, 0.05)
        for wrong in ("127.0.0.1:8081", "https://x", "http://x/path"):
            with self.assertRaises(ValueError):
                penstock.Client(wrong)

    def test_targets(self):
        self.assertEqual(target("/a b/é", "c=d"), "/a%20b/%C3%A9?c=d")
        self.assertEqual(target(b"/%2F\xff", ""), "/%252F%FF")

    # A function takes the place of the field: what a client writes into it is not told then.
    def test_a_function_wins_over_the_field(self):
        gate = Gate(api_key=lambda request: "k", headers=["x-tenant"], cost=lambda request: 0, user=lambda request: 0,
                    fields={"X-Tenant": lambda request: 7, "X-None": lambda request: None})
        found = {name: function(None) for name, function in gate.functions()}
        check = gate.check("GET", "/", "h", "192.0.2.1", lambda name: [] if name.startswith(("X-F", "F", "X-R")) else ["forged"], found)
        self.assertEqual(check, {"method": "GET", "path": "/", "host": "h", "address": "192.0.2.1", "user": "0",
                                 "cost": 0, "headers": {"X-API-Key": "k", "X-Tenant": "7"}})

    # An outage under load is one line a second.
    def test_failures_are_logged_sparingly(self):
        logger = logging.getLogger("test")
        with self.assertLogs(logger, "WARNING") as logged:
            gate = Gate(logger=logger)
            for _ in range(1000):
                gate.failed(Undecided("away"))
        self.assertLess(len(logged.output), 100)
        self.assertIn("away", logged.output[0])


class Fake:
    def __init__(self, said):
        self.said = Decision(**{k: v for k, v in said.items() if k != "limits"})

    def ask(self, check):
        self.check = check
        return self.said


class FakeAsync(Fake):
    async def ask(self, check):
        return super().ask(check)


class Middlewares(unittest.TestCase):
    # What the application says itself stays.
    def test_wsgi_adds_and_does_not_replace(self):
        def app(environ, start_response):
            start_response("200 OK", [("x-left", "own")])
            return [b"hello"]

        middleware, got = Wsgi(app), {}
        middleware.client = Fake({**ADMITTED, "headers": {"X-Left": "2", "X-Other": "1"}})
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/a b", "QUERY_STRING": "", "HTTP_X_API_KEY": "k"}
        middleware(environ, lambda status, headers: got.update(status=status, headers=headers))
        self.assertEqual(got["headers"], [("x-left", "own"), ("X-Other", "1")])
        self.assertEqual(middleware.client.check, {"method": "GET", "path": "/a%20b", "headers": {"X-API-Key": ["k"]}})

    def run_asgi(self, said, scope):
        async def app(scope, receive, send):
            await send({"type": "http.response.start", "status": 200, "headers": [(b"x-left", b"own")]})
            await send({"type": "http.response.body", "body": b"hello"})

        sent = []

        async def send(message):
            sent.append(message)

        async def user(scope):
            return "alice"

        middleware = Asgi(app, user=user)
        middleware.client = FakeAsync(said)
        asyncio.run(middleware({"method": "GET", "path": "/", "headers": [(b"x-api-key", b"a"), (b"x-api-key", b"b")],
                                **scope}, None, send))
        return sent, middleware.client.check

    # A function may be a coroutine; repeated fields stay repeated.
    def test_asgi(self):
        sent, check = self.run_asgi({**ADMITTED, "headers": {"X-Left": "2", "X-Other": "1"}}, {"type": "http", "client": ("192.0.2.1", 5)})
        self.assertEqual(sent[0]["headers"], [(b"x-left", b"own"), (b"x-other", b"1")])
        self.assertEqual(check, {"method": "GET", "path": "/", "user": "alice", "address": "192.0.2.1",
                                 "headers": {"X-API-Key": ["a", "b"]}})
        sent, _ = self.run_asgi(REFUSED, {"type": "http"})
        self.assertEqual((sent[0]["status"], json.loads(sent[1]["body"])["retry_after"]), (429, 7))

    # A WebSocket is a request as well: refused before it is accepted.
    def test_asgi_refuses_websockets(self):
        sent, _ = self.run_asgi(REFUSED, {"type": "websocket"})
        self.assertEqual([m["type"] for m in sent], ["websocket.close"])


if __name__ == "__main__":
    unittest.main()
