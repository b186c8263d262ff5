"""Several gateways on one Redis, through the real binary: one limit for all of them."""
import contextlib
import pathlib
import socket
import sys

import harness
import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "faults"))
from redis_peers import Cluster, Redis, Refused, Sentinels  # noqa: E402

REQUEST = b"GET /a HTTP/1.1\r\nHost: test\r\n\r\n"
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


def storm(ports, connections=256, rounds=2):
    """Statuses of `rounds` requests on each of many connections, all sent before any answer is read."""
    statuses = []
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(socket.create_connection(("127.0.0.1", ports[i % len(ports)]), timeout=60))
                  for i in range(connections)]
        for _ in range(rounds):
            for connection in opened:
                connection.sendall(REQUEST)
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
    gateways = [serve(policy(url, limit)) for _ in range(2 if url else 1)]
    statuses = storm([g.port for g in gateways])
    assert (statuses.count(200), statuses.count(429)) == (100, 412)
