"""Several gateways on one Redis, through the real binary: one limit for all of them."""
import contextlib
import pathlib
import re
import socket
import sys
import time
import urllib.request

import harness
import pytest
from certificates import Certificates

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "faults"))
from redis_peers import Cluster, Redis, Sentinels  # noqa: E402
from test_metrics import series  # noqa: E402

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
    gateways = [serve(policy(url, limit)) for _ in range(2 if url else 1)]
    statuses = storm([g.port for g in gateways])
    assert (statuses.count(200), statuses.count(429)) == (100, 412)


HEALTH = 'health: { listen: "127.0.0.1:0" }\n'


def health_of(gateway):
    port = int(gateway.wait_for_line(r"health listening on http://\S+:(\d+)").group(1))
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=30) as answer:
        ready = answer.read().decode()
    return series(port)["penstock_store_up", ()], ready


# A fleet that is rolled out under an attack: whoever has just said that it listens counts as exactly as
# those that are there for long.
@pytest.mark.parametrize("kind", [Redis, Sentinels, Cluster])
def test_the_first_requests_of_a_gateway_are_counted(started, serve, kind):
    url = started(kind()).url
    text = policy(url, "rate: 10/30d").replace("deny", "allow") + HEALTH
    statuses = []
    for _ in range(5):
        gateway = serve(text, "--workers", "4")
        statuses += storm([gateway.port], 16, 1)
    assert (statuses.count(200), statuses.count(429)) == (10, 70)
    harness.wait_for(lambda: health_of(gateway) == (1, "ready\n"), "it says that the store answers")


# Nobody is told that a store is up which was never reached, and its absence holds no request up.
@pytest.mark.parametrize("kind", ["redis", "redis+cluster"])
def test_a_store_that_was_never_there_is_down_from_the_start(started, serve, client, kind):
    port = harness.free_port()
    text = policy(f"{kind}://127.0.0.1:{port}", "rate: 10/30d").replace("2s", "10s") + HEALTH
    gateway = serve(text)
    up, ready = health_of(gateway)
    assert up == 0 and ready.startswith("degraded\n- the store does not answer"), ready
    c, begun = client(gateway.port), time.monotonic()
    assert [c.send().status for _ in range(20)] == [503] * 20
    assert time.monotonic() - begun < 10
    assert health_of(gateway)[0] == 0
    if kind == "redis":
        started(Redis(port=port))
        harness.wait_for(lambda: health_of(gateway) == (1, "ready\n"), "it is found later")
        assert c.send().status == 200


# A server that asks for certificates is reached with the files that the URL names, and one that shows a
# certificate of somebody else is not used.
def test_a_store_over_tls(started, serve, client):
    files = started(Certificates("127.0.0.1", "penstock"))
    port = harness.free_port()
    started(Redis("--tls-port", str(port), "--tls-cert-file", files.path("127.0.0.1.pem"), "--tls-key-file",
                  files.path("127.0.0.1.key"), "--tls-ca-cert-file", files.path("ca.pem")))
    own = f"cert={files.path('penstock.pem')}&key={files.path('penstock.key')}"
    statuses = []
    for options in (f"ca={files.path('ca.pem')}&{own}", f"verify=none&{own}", f"ca={files.path('other.pem')}&{own}"):
        gateway = serve(policy(f"rediss://127.0.0.1:{port}?{options}", "rate: 3/30d"))
        statuses.append([client(gateway.port).send().status for _ in range(2)])
    assert statuses == [[200, 200], [200, 429], [503, 503]]
    assert "TLS: certificate:" in gateway.log


# What serve would refuse at its start is found by check before.
@pytest.mark.parametrize(("url", "text"), [("redis://127.0.0.1:1?ca=/x.pem", "ca needs rediss://"), ("redis://127.0.0.1:1?pool=3", "unknown option")])
def test_check_reads_the_options_of_the_url(tmp_path, url, text):
    file = tmp_path / "policy.yaml"
    file.write_text(policy(url, "rate: 1/s"))
    for command in (["check", str(file)], ["serve", "-c", str(file), "--upstream", "http://127.0.0.1:1", "--listen", "127.0.0.1:0"]):
        code, _, said = harness.run(*command)
        assert code == 2 and text in said and "store.url" in said, said


# Sentinels have a password of their own.
def test_sentinels_behind_a_password(started, serve, client):
    master = started(Redis())
    sentinel = started(Redis(config=f"sentinel monitor main 127.0.0.1 {master.port} 1\nrequirepass s3cret\n", sentinel=True))
    for options, wanted in (("?sentinel_password=s3cret", [200, 429]), ("?sentinel_password=wr0ng", [503, 503])):
        gateway = serve(policy(f"redis+sentinel://127.0.0.1:{sentinel.port}/main{options}", "rate: 1/30d"))
        assert [client(gateway.port).send().status for _ in range(2)] == wanted, gateway.log
        assert "wr0ng" not in gateway.log and "s3cret" not in gateway.log


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
