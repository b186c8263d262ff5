"""Several gateways on one Redis, through the real binary: one limit for all of them."""
import contextlib
import pathlib
import re
import socket
import sys
import time

import harness
import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "faults"))
from redis_peers import Cluster, Redis, Sentinels  # noqa: E402

ALGORITHMS = ["algorithm: token_bucket, rate: 100/30d", "algorithm: sliding_window_log, rate: 100/30d"]


def policy(store, limit, more=""):
    store = f'store: {{ url: "{store}", deadline: 2s, on_store_failure: deny }}\n' if store else ""
    return f"version: 1\n{store}limits:\n  - {{ name: all, key: global, {limit} }}\n{more}"


def answer_of(connection):
    with connection.makefile("rb") as stream:
        status = int(stream.readline().split(b" ")[1])
        length = 0
        while (line := stream.readline().strip()) != b"":
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        stream.read(length)
        return status


def storm(ports, connections=256, rounds=2, path="/a"):
    """Statuses of `rounds` requests on each of many connections, all sent before any answer is read."""
    statuses = []
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(socket.create_connection(("127.0.0.1", ports[i % len(ports)]), timeout=60))
                  for i in range(connections)]
        for _ in range(rounds):
            for connection in opened:
                connection.sendall(f"GET {path} HTTP/1.1\r\nHost: test\r\n\r\n".encode())
            statuses += [answer_of(connection) for connection in opened]
    return statuses


# The reason to have a shared store at all: it does not matter how many gateways and connections the
# crowd comes over.
@pytest.mark.parametrize("limit", ALGORITHMS)
@pytest.mark.parametrize("kind", ["memory", "standalone", "sentinel", "cluster"])
def test_exactly_the_limit_passes(started, serve, upstream, kind, limit):
    upstream.server.socket.listen(512)  # the gateways open a connection for each that is admitted
    peers = {"standalone": Redis, "sentinel": Sentinels, "cluster": Cluster}
    url = started(peers[kind]()).url if kind in peers else None
    text = policy(url, limit, "  - { name: warm, match: { path: /warm }, key: global, rate: 1000000/s }\n")
    text = text.replace("name: all, key", "name: all, match: { path: /a }, key")
    gateways = [serve(text) for _ in range(2 if url else 1)]
    for g in gateways:
        harness.wait_for(lambda g=g: storm([g.port], 16, 1, "/warm") == [200] * 16, "every loop has found its store")
    statuses = storm([g.port for g in gateways])
    assert (statuses.count(200), statuses.count(429)) == (100, 412)


def script_calls(redis):
    stats = redis.call("INFO", "commandstats")
    return sum(int(re.search(r"calls=(\d+)", line).group(1)) for line in stats.splitlines() if "cmdstat_evalsha:" in line)


# An attack on one key must not become an attack on Redis: a loop asks about a refused key once a
# second at most.
def test_a_refused_key_costs_redis_a_call_a_second(started, serve, client):
    redis = started(Redis())
    gateway = serve(policy(redis.url, "rate: 1/30d"), "--workers", "1")
    c = client(gateway.port)
    harness.wait_for(lambda: c.send().status == 429, "the limit is spent")
    before, begun, refused = script_calls(redis), time.monotonic(), 0
    while time.monotonic() < begun + 3 or refused < 200:
        assert c.send().status == 429
        refused += 1
    calls = script_calls(redis) - before
    assert calls <= time.monotonic() - begun + 1, f"{calls} calls for {refused} refusals"


GUIDE = (harness.ROOT / "docs/guides/shared-store.md").read_text()
QUEUE = ", queue: 999, undelayed: 999"
EVERY_ALGORITHM = "".join(
    f"  - {{ name: {a}, key: address, algorithm: {a}, rate: 1000/30d{QUEUE if a == 'leaky_bucket' else ''} }}\n"
    for a in ["token_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter", "leaky_bucket"])


def rights(kind):
    """The rules of the guide's ACL user, as words of ACL SETUSER."""
    rules = re.search(r"^user penstock (.*)$", GUIDE, re.M).group(1).replace("PASSWORD", "secret").split(" ")
    more = {"sentinel": "Sentinel", "cluster": "Cluster"}
    for word in [more[kind]] if kind in more else []:
        rules += re.search(rf"with {word} also `([^`]*)`", GUIDE).group(1).split(" ")
    return rules


# Least privilege that is only believed to suffice is found wanting on the day of a failover. The user
# of the guide does everything that limits need, and nothing else.
@pytest.mark.parametrize("kind", ["standalone", "sentinel", "cluster"])
def test_the_rights_of_the_guide_suffice(started, serve, upstream, client, kind):
    # Head and body are two writes there; without this each answer would be 40 ms late.
    upstream.server.RequestHandlerClass.disable_nagle_algorithm = True
    peers = started({"standalone": Redis, "sentinel": Sentinels, "cluster": Cluster}[kind]())
    servers = {"standalone": lambda: [peers], "sentinel": lambda: peers.servers, "cluster": lambda: peers.servers}[kind]()
    for server in servers:
        server.call("ACL", "SETUSER", "penstock", *rights(kind))
        server.call("ACL", "LOG", "RESET")
    url = peers.url.replace("://", "://penstock:secret@", 1)
    gateway = serve(policy(url, "rate: 1000/30d", EVERY_ALGORITHM))
    c = client(gateway.port)
    harness.wait_for(lambda: c.send().status == 200, "the store serves")
    # Long enough for a log that is read and written in pieces.
    assert {c.send().status for _ in range(300)} == {200}
    for server in servers:
        assert server.call("ACL", "LOG") == [], "a command was refused"
        # Resetting a key by hand, and what an intruder with this password would want.
        assert server.call("ACL", "DRYRUN", "penstock", "DEL", "penstock:1:{user:1}:login") == "OK"
        for forbidden in (["FLUSHALL"], ["CONFIG", "GET", "*"], ["KEYS", "*"], ["GET", "session:1"], ["SHUTDOWN"],
                          ["CLIENT", "LIST"], ["ACL", "LIST"]):
            assert server.call("ACL", "DRYRUN", "penstock", *forbidden) != "OK", forbidden
