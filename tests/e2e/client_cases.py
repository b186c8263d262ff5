"""What every middleware of clients/ must do, whatever its stack: a table of cases that run against the
real server of the stack, with an example program from clients/, asking a real `penstock serve`.

A test file names its stacks as subclasses of ClientCases. Examples read PENSTOCK_URL, PENSTOCK_TOKEN,
PENSTOCK_DEADLINE_MS and PENSTOCK_FAIL_CLOSED, know the users of two bearer tokens, and answer
`hello USER`.
"""
import concurrent.futures
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import tempfile
import time

import harness
import pytest

CLIENTS = harness.ROOT / "clients"
KEY = "a-key-that-was-handed-out"
TOKEN = "a secret of some length"
# A bucket of three by the day does not refill while a test runs. Tests take a loopback address each.
LIMITS = """\
identity: { user: { header: X-User-Id }, api_key: { header: X-API-Key, known: KEYS } }
client: { trusted_proxies: [127.9.0.0/16] }
limits:
  - { name: client, key: api_key | user | address, rate: 3/1d }
  - { name: login, match: { path: /login }, key: address, rate: 1/1d }
  - { name: slow, match: { path: /slow }, key: global, algorithm: leaky_bucket, rate: 1/2s, queue: 5, max_delay: 20s }
"""
BEARER = {"Authorization": "Bearer token-of-alice"}


def penstock(started, extra="", listen="127.0.0.1:0"):
    """A daemon with the decision listener, and where its health listener is."""
    keys = pathlib.Path(started(Folder()).path, "keys.txt")
    keys.write_text(KEY + "\n")
    policy = "version: 1\nhealth: { listen: \"127.0.0.1:0\" }\n" + extra + LIMITS.replace("KEYS", str(keys))
    if "decision:" not in extra:
        policy += f'decision: {{ http: "{listen}" }}\n'
    daemon = started(harness.Penstock(policy))
    url = daemon.wait_for_line(r"decisions? listening on (\S+)").group(1)
    daemon.url = url.rstrip("/")
    daemon.health = int(daemon.wait_for_line(r"health listening on http://[^ ]*:(\d+)").group(1))
    return daemon


class Folder:
    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="penstock-clients-")

    def close(self):
        shutil.rmtree(self.path, ignore_errors=True)


def send(api, source, path="/", headers=None, method="GET"):
    client = harness.Client(api.port, source)
    try:
        return client.send(method, path, headers=headers)
    finally:
        client.close()


def statuses(api, source, count, **more):
    return [send(api, source, **more).status for _ in range(count)]


def accepted_connections(daemon):
    client = harness.Client(daemon.health)
    text = client.send("GET", "/metrics").body.decode()
    client.close()
    return int(re.search(r'penstock_connections_accepted_total\{listener="decision"\} (\d+)', text).group(1))


class ClientCases:
    raw_targets = True  # the stack hands over the target as the client sent it
    workers = 1         # processes, each with connections of its own

    def command(self, port):
        """(arguments, environment, folder) of the stack's server with the example."""
        raise NotImplementedError

    def serve(self, started, url, deadline_ms=5000, fail_closed=False, token=""):
        """Deadlines are long, so that a busy machine is not taken for an outage."""
        port = harness.free_port()
        arguments, environment, folder = self.command(port)
        environment = {**os.environ, "PENSTOCK_URL": url, "PENSTOCK_TOKEN": token,
                       "PENSTOCK_DEADLINE_MS": str(deadline_ms),
                       "PENSTOCK_FAIL_CLOSED": "1" if fail_closed else "", **environment}
        api = started(harness.Process(arguments, "api", env=environment, cwd=folder))
        harness.wait_for(lambda: api.child.poll() is not None or harness.accepts(port), "the API listens")
        assert api.child.poll() is None, api.log
        api.port = port
        return api

    @pytest.fixture(scope="class")
    def pair(self):
        """One daemon and one API for the cases that leave both alive."""
        with contextlib.ExitStack() as stack:
            started = lambda thing: stack.enter_context(contextlib.closing(thing))  # noqa: E731
            daemon = penstock(started)
            yield self.serve(started, daemon.url), daemon

    # The point of it: three pass and are told how much is left, the fourth is refused and told when.
    def test_within_the_limit_and_over_it(self, pair):
        api, _ = pair
        admitted = [send(api, "127.0.1.1", headers={"X-Answer": "x"}) for _ in range(3)]
        assert [a.status for a in admitted] == [200] * 3, api.log
        assert [a.headers["x-ratelimit-remaining"] for a in admitted] == ["2", "1", "0"]
        assert all(a.body.decode().strip() == "hello" for a in admitted)
        assert admitted[0].headers["ratelimit"].startswith('"client";r=2;t=')
        assert admitted[0].headers["ratelimit-policy"] == '"client";q=3;w=86400'
        assert "retry-after" not in admitted[2].headers
        refused = send(api, "127.0.1.1")
        assert refused.status == 429
        assert 1 <= int(refused.headers["retry-after"]) <= 28800
        assert refused.headers["x-ratelimit-remaining"] == "0"
        assert refused.headers["ratelimit"].startswith('"client";r=0;t=')
        assert "no-store" in refused.headers["cache-control"]  # frameworks add to both
        assert refused.headers["content-type"].startswith("application/json")
        assert json.loads(refused.body) == {"error": "rate limit exceeded", "limit": "client",
                                            "retry_after": int(refused.headers["retry-after"])}
        assert send(api, "127.0.1.2").status == 200

    # Methods that have no body to answer with, and bodies that nobody reads, do not upset the refusal.
    def test_other_methods_are_refused_alike(self, pair):
        api, _ = pair
        statuses(api, "127.0.1.3", 3)
        head = send(api, "127.0.1.3", method="HEAD")
        assert (head.status, head.body) == (429, b"") and "retry-after" in head.headers
        client = harness.Client(api.port, "127.0.1.3")
        answer = client.send("POST", "/", body=b"x" * 1000)
        client.close()
        assert answer.status == 429 and json.loads(answer.body)["limit"] == "client"

    # An API key counts before the user, the user before the address; each has a bucket of its own.
    def test_key_then_user_then_address(self, pair):
        api, _ = pair
        for who in ({"X-API-Key": KEY, **BEARER}, BEARER, {}):
            assert statuses(api, "127.0.1.4", 4, headers=who) == [200] * 3 + [429], (who, api.log)
        # The same key from elsewhere is the same client; the user who is known by it is not.
        assert send(api, "127.0.1.5", headers={"X-API-Key": KEY}).status == 429
        hello = send(api, "127.0.1.4", headers={"Authorization": "Bearer token-of-bob"})
        assert (hello.status, hello.body.decode().strip()) == (200, "hello bob")

    # What a client writes about itself buys it nothing and costs nobody else anything.
    def test_forged_fields_buy_nothing(self, pair):
        api, _ = pair
        statuses(api, "127.0.1.6", 3)
        for n in range(3):
            for forged in ({"X-Forwarded-For": f"198.51.100.{n}"}, {"Forwarded": f"for=198.51.100.{n}"},
                           {"X-Real-IP": f"198.51.100.{n}"}, {"X-User-Id": f"user{n}"}, {"X-API-Key": f"key{n}"},
                           {"Authorization": f"Bearer made-up-{n}"}, {"X-Original-URI": f"/{n}"}):
                assert send(api, "127.0.1.6", headers=forged).status == 429, forged
        assert send(api, "127.0.1.7").headers["x-ratelimit-remaining"] == "2"

    # The policy, not the program, says which proxy may name its client.
    def test_a_trusted_proxy_names_its_client(self, pair):
        api, _ = pair
        client = lambda n: {"X-Forwarded-For": f"203.0.113.1, 198.51.100.{n}"}  # noqa: E731
        assert statuses(api, "127.9.0.1", 4, headers=client(1)) == [200] * 3 + [429]
        assert send(api, "127.9.0.1", headers=client(2)).status == 200

    # A limit on a path is not got around by spelling it otherwise.
    def test_a_path_has_one_meaning(self, pair):
        api, _ = pair
        assert send(api, "127.0.1.8", "/login?a=b").status == 200
        for spelt in ("/login", "//login", "/%6cogin", "/login/", "/./login", "/x/../login"):
            assert send(api, "127.0.1.8", spelt).status == 429, spelt
        if self.raw_targets:
            refused = send(api, "127.0.1.9", "/a%2Fb")
            assert refused.status == 400
            assert json.loads(refused.body) == {"error": "bad request", "reason": "the path has an encoded slash"}

    # A queue of the policy holds the request in the program: it is late, not refused.
    def test_a_queue_delays(self, pair):
        api, _ = pair
        began = time.monotonic()
        assert statuses(api, "127.0.1.10", 2, path="/slow") == [200, 200]
        assert time.monotonic() - began >= 1

    # A connection for each check would cost more than the check.
    def test_one_connection_is_kept(self, pair):
        api, daemon = pair
        statuses(api, "127.0.1.11", 2 * self.workers)
        before = accepted_connections(daemon)
        statuses(api, "127.0.1.11", 30)
        assert accepted_connections(daemon) - before <= self.workers - 1

    # Requests at the same time: not one too many passes, and connections stay few.
    def test_at_the_same_time(self, pair):
        api, daemon = pair
        before = accepted_connections(daemon)
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            got = list(pool.map(lambda _: send(api, "127.0.1.12").status, range(64)))
        assert (got.count(200), got.count(429)) == (3, 61), api.log
        assert accepted_connections(daemon) - before <= 64

    # Frozen and gone are told apart only in the log; both pass, or are refused where that was chosen.
    # Afterwards the limits hold again, on the connection that had been kept or a new one.
    def test_an_outage(self, started):
        daemon = penstock(started, listen=f"127.0.0.1:{harness.free_port()}")
        fails_open = self.serve(started, daemon.url, deadline_ms=2000)
        fails_closed = self.serve(started, daemon.url, deadline_ms=2000, fail_closed=True)
        assert statuses(fails_open, "127.0.2.1", 4) == [200] * 3 + [429]
        assert send(fails_closed, "127.0.2.1").status == 429

        def undecided():
            passed, refused = send(fails_open, "127.0.2.1"), send(fails_closed, "127.0.2.1")
            assert passed.status == 200 and "ratelimit" not in passed.headers
            assert (refused.status, refused.headers["retry-after"]) == (503, "1")
            assert json.loads(refused.body) == {"error": "rate limiter unavailable", "retry_after": 1}
            # A logger may write later, on a thread of its own.
            return harness.wait_for(lambda: "fail-open" in fails_open.log and "fail-closed" in fails_closed.log,
                                    "both say so")

        harness.freeze(daemon.child.pid)
        assert undecided(), fails_open.log
        harness.wait_for(lambda: "no answer within 2" in fails_open.log, "the missed deadline is logged")
        daemon.child.send_signal(signal.SIGCONT)
        harness.wait_for(lambda: send(fails_open, "127.0.2.1").status == 429, "the limit holds again")

        os.killpg(daemon.child.pid, signal.SIGKILL)
        daemon.child.wait()
        lines = fails_open.log.count("fail-open")
        harness.wait_for(lambda: undecided() and fails_open.log.count("fail-open") > lines, "the refusal is logged")
        penstock(started, listen=daemon.url.removeprefix("http://"))
        assert statuses(fails_open, "127.0.2.2", 4) == [200] * 3 + [429], fails_open.log
        assert statuses(fails_closed, "127.0.2.3", 4) == [200] * 3 + [429], fails_closed.log

    # A service on another machine asks for a secret. The wrong one is a mistake that must be seen.
    def test_a_token(self, started):
        digest = hashlib.sha256(TOKEN.encode()).hexdigest()
        daemon = penstock(started, f'decision: {{ http: "127.0.0.1:0", token_sha256: {digest} }}\n')
        right, wrong = (self.serve(started, daemon.url, token=t) for t in (TOKEN, "wrong"))
        assert statuses(right, "127.0.3.1", 4) == [200] * 3 + [429]
        assert send(wrong, "127.0.3.1").status == 200
        harness.wait_for(lambda: "401" in wrong.log, "the mistake is logged")

    # On the same machine a unix socket needs no port.
    def test_a_unix_socket(self, started):
        path = f"unix:{started(Folder()).path}/decision.sock"
        penstock(started, listen=path)
        api = self.serve(started, path)
        assert statuses(api, "127.0.4.1", 4) == [200] * 3 + [429], api.log

    # The store is away and the policy says deny: that is a decision, not an outage of the service.
    def test_a_refusal_because_of_the_store_is_no_outage(self, started):
        store = "store: { url: \"redis://127.0.0.1:1\", on_store_failure: deny }\n"
        daemon = penstock(started, store)
        api = self.serve(started, daemon.url)
        answer = send(api, "127.0.5.1")
        assert (answer.status, answer.headers["retry-after"]) == (503, "1"), api.log
        assert json.loads(answer.body) == {"error": "rate limiter unavailable", "retry_after": 1}
        assert "fail-open" not in api.log
