"""The decision listener through the real binary, held against docs/openapi.yaml."""
import hashlib
import http.client
import json
import re
import socket
import time

import harness
import pytest
import yaml

POLICY = """\
version: 1
identity: { user: { header: X-User-Id }, api_key: { header: X-API-Key } }
limits:
  - { name: login, match: { method: POST, path: /login }, key: address, algorithm: fixed_window, rate: 2/h }
  - { name: exports, match: { path: "/users/{id}/export" }, key: user + route, algorithm: fixed_window, rate: 3/h }
  - { name: hooks, match: { path: /hooks }, key: global, algorithm: leaky_bucket, rate: 1/min, queue: 5, max_delay: 5min }
  - { name: trial, match: { path: /login }, key: address, rate: 1/h, mode: shadow }
"""
SPEC = yaml.safe_load((harness.ROOT / "docs/openapi.yaml").read_text())


def listening(server):
    return int(server.wait_for_line(r"decisions? listening on http://[^ ]*:(\d+)").group(1))


@pytest.fixture
def decision(started):
    """A client of a decision listener without a gateway."""
    server = started(harness.Penstock(POLICY, ["--decision-http", "127.0.0.1:0"]))
    return started(harness.Client(listening(server)))


def problems(value, schema, at="$"):
    """What of `value` a schema of SPEC forbids; the part of JSON Schema that SPEC uses."""
    if "$ref" in schema:
        yield from problems(value, SPEC["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]], at)
    if "oneOf" in schema:
        found = [list(problems(value, s, at)) for s in schema["oneOf"]]
        if sum(not f for f in found) != 1:
            yield f"{at}: none or several of oneOf: {found}"
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "null": type(None)}
    wanted = schema.get("type", [])
    wanted = [wanted] if isinstance(wanted, str) else wanted
    if wanted and type(value) not in [kinds[k] for k in wanted]:
        yield f"{at}: {value!r} is no {wanted}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is none of {schema['enum']}"
    if isinstance(value, int) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield f"{at}: {value} is out of range"
    if isinstance(value, str) and len(value) < schema.get("minLength", 0):
        yield f"{at}: too short"
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{at}: {len(value)} items"
        for i, v in enumerate(value):
            yield from problems(v, schema.get("items", {}), f"{at}[{i}]")
    if isinstance(value, dict):
        for name in schema.get("required", []):
            if name not in value:
                yield f"{at}.{name}: missing"
        for name, v in value.items():
            inner = schema.get("properties", {}).get(name, schema.get("additionalProperties", {}))
            if inner is False:
                yield f"{at}.{name}: not described"
            else:
                yield from problems(v, inner, f"{at}.{name}")


CHECK = SPEC["paths"]["/v1/check"]["post"]
ASKED = CHECK["requestBody"]["content"]["application/json"]


def check(client, question):
    """Asks, and holds question and answer against the document."""
    answer = client.send("POST", "/v1/check", body=json.dumps(question), headers={"Content-Type": "application/json"})
    body = json.loads(answer.body)
    described = CHECK["responses"][str(answer.status)]["content"]["application/json"]["schema"]
    assert list(problems(body, described)) == [], body
    # A check may be well-formed and make no sense; the server never takes what the document forbids.
    if answer.status != 400:
        assert list(problems(question, ASKED["schema"])) == []
    return answer.status, body


# A document that nobody holds against the program is fiction: its examples are accepted, and what
# comes back is what it describes, to the last member.
def test_the_document_describes_what_is_served(decision):
    for name, example in ASKED["examples"].items():
        status, _ = check(decision, example["value"])
        assert status == 200, name
    for question in [{}, {"path": "/login", "method": "POST"}, {"path": "/login", "method": "POST", "cost": 3},
                     {"path": "/hooks"}, {"path": "/hooks"}, {"path": "/a%2Fb"}, {"path": "/#"},
                     {"limit": "none"}, {"limit": "exports", "key": ["user:1", "route:/users/1/export"]},
                     {"headers": {"X-API-Key": ["a", "b"]}}, {"checks": [{"peek": True}] * 100}]:
        assert check(decision, question)[0] == 200, question
    for wrong in [{"cots": 1}, {"cost": -1}, {"cost": 1.5}, {"checks": []}, {"checks": [{}] * 101}, {"key": "user:1"}, [],
                  {"limit": "login", "path": "/"}, {"charges": [{}]}, {"address": "x"}, {"method": ""}]:
        status, body = check(decision, wrong)
        assert status == 400 and body["error"], wrong
    forbidden = decision.send("POST", "/v1/check", body="{}", headers={"Origin": "https://site.example"})
    assert forbidden.status == 403
    assert decision.send("GET", "/v1/check").status == 405


# A program's three questions: may it pass, what is the state, what would happen. Only the first costs.
def test_take_status_and_dry_run(decision):
    login = {"limit": "login", "key": "address:198.51.100.1"}
    state = lambda: check(decision, {**login, "cost": 0})[1]["limits"][0]["remaining"]  # noqa: E731
    assert state() == 2
    assert check(decision, {**login, "cost": 2, "peek": True})[1]["allowed"] is True
    assert check(decision, {**login, "cost": 3, "peek": True})[1]["reason"] == "the cost can never fit"
    assert state() == 2
    taken = check(decision, {"method": "POST", "path": "/login", "address": "198.51.100.1"})[1]
    assert [(v["limit"], v["mode"], v["remaining"]) for v in taken["limits"]] == [("login", "enforce", 1), ("trial", "shadow", 0)]
    assert state() == 1
    assert check(decision, login)[1]["allowed"] is True
    refused = check(decision, login)[1]
    assert (refused["allowed"], refused["status"], refused["limit"]) == (False, 429, "login")
    assert refused["headers"]["Retry-After"] == str(refused["retry_after"])
    wait = refused["limits"][0]["retry_after_ms"]
    assert (refused["retry_after"] - 1) * 1000 < wait <= refused["retry_after"] * 1000
    assert check(decision, {**login, "key": "address:198.51.100.2"})[1]["allowed"] is True


# A program is told how long to hold a request; it is not held for it.
def test_check_never_waits(decision):
    assert check(decision, {"path": "/hooks"})[1]["outcome"] == "allow"
    start = time.monotonic()
    told = check(decision, {"path": "/hooks"})[1]
    assert told["outcome"] == "delay" and told["allowed"] and 55_000 < told["delay_ms"] <= 60_000
    assert time.monotonic() - start < 30


# One connection serves both endpoints, any method and bodies that nobody reads, in order.
def test_one_connection_serves_everything(decision):
    named = {"X-Original-URI": "/login", "X-Original-Method": "POST", "X-Forwarded-For": "198.51.100.1"}
    answers = [decision.send(m, "/v1/auth?deny=403", headers=named, body=b"x" * 1000 if m == "POST" else None)
               for m in ("HEAD", "POST", "GET", "PURGE")]
    assert [a.status for a in answers] == [200, 200, 403, 403]
    assert [a.headers["x-ratelimit-status"] for a in answers] == ["200", "200", "429", "429"]
    assert answers[0].body == b"" and b"rate limit exceeded" in answers[3].body
    assert check(decision, {"path": "/"})[0] == 200
    assert decision.send("HEAD", "/v1/auth").status == 400
    assert decision.send("POST", "/v1/check", body=b" " * 300_000).status == 413


# A unix socket serves proxies and programs of the same machine without a port.
def test_a_unix_socket(started, tmp_path):
    path = tmp_path / "decision.sock"
    server = started(harness.Penstock(POLICY, ["--decision-http", f"unix:{path}"]))
    server.wait_for_line(rf"decisions? listening on {re.escape(f'unix:{path}')}")

    def ask(client):
        connection = http.client.HTTPConnection("penstock")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(str(path))
        connection.request("POST", "/v1/auth/login", headers={"X-Forwarded-For": client})
        status = connection.getresponse().status
        connection.close()
        return status

    assert [ask("198.51.100.1") for _ in range(3)] == [200, 200, 429]
    assert ask("198.51.100.2") == 200
    assert server.terminate() == 0


# Told never to believe, the listener counts its peer and needs the request in the line.
def test_believe_original_never(started):
    policy = POLICY + "decision: { http: \"127.0.0.1:0\", believe_original: never }\n"
    server = started(harness.Penstock(policy))
    c = started(harness.Client(listening(server)))
    named = {"X-Original-URI": "/login", "X-Original-Method": "POST"}
    assert c.send("GET", "/v1/auth", headers=named).status == 400
    statuses = [c.send("POST", "/v1/auth/login", headers={"X-Forwarded-For": f"198.51.100.{n}"}).status for n in range(3)]
    assert statuses == [200, 200, 429]


# A secret opens a listener that is not on loopback, and nothing else does.
def test_a_token(started):
    digest = hashlib.sha256(b"a secret of some length").hexdigest()
    policy = POLICY + f"decision: {{ http: \"0.0.0.0:0\", token_sha256: {digest} }}\n"
    server = started(harness.Penstock(policy))
    c = started(harness.Client(listening(server)))
    assert c.send("POST", "/v1/check", body="{}").status == 401
    named = {"X-Original-URI": "/login", "X-Original-Method": "POST", "X-Forwarded-For": "198.51.100.1"}
    assert c.send("GET", "/v1/auth", headers=named).status == 400
    named["X-Penstock-Token"] = "a secret of some length"
    assert [c.send("GET", "/v1/auth", headers=named).status for _ in range(3)] == [200, 200, 429]
    bearer = {"Authorization": "Bearer a secret of some length"}
    assert c.send("POST", "/v1/check", body="{}", headers=bearer).status == 200


# SIGTERM ends a listener that has a check waiting, and answers it first.
def test_sigterm_drains(started):
    queue = ("version: 1\nlimits:\n  - { name: q, key: global, algorithm: leaky_bucket, rate: 1/2s, queue: 5, max_delay: 9s }\n")
    server = started(harness.Penstock(queue, ["--decision-http", "127.0.0.1:0"]))
    port = listening(server)
    first, held = started(harness.Client(port)), started(harness.Client(port))
    assert first.send("GET", "/v1/auth/").status == 200
    held.connection.request("GET", "/v1/auth/")
    # Decided once a third request sees two before it.
    harness.wait_for(lambda: check(first, {"peek": True})[1]["delay_ms"] > 2000, "the second request is in the queue")
    server.child.terminate()
    assert harness.Answer(held.connection.getresponse()).status == 200
    assert server.child.wait(20) == 0
