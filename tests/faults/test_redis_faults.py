"""Faults of a standalone Redis, and of the way to it, under a gateway that is in use: F1 to F9."""
import harness
import private_network
import pytest
from fault_proxy import FaultProxy
from gateways import SECONDS, Gateway, limit_of, path_of, policy, trouble
from redis_peers import Redis
from report import record

POLICIES = [("deny", 503), ("allow", 200), ("local", 200)]


# A gateway that needs its store to start would make every restart of Redis an outage of the API.
@pytest.mark.parametrize("failure, status", POLICIES)
def test_f1_down_at_start(started, upstream, failure, status):
    port = harness.free_port()
    gateway = started(Gateway(policy(f"redis://127.0.0.1:{port}", failure), upstream))
    readiness = harness.Client(gateway.health).send(path="/readyz").body.decode()
    record("F1", "down at start", "/readyz says degraded", readiness.split("\n")[0], "degraded" in readiness)
    seen = trouble(started, gateway, lambda: None, lambda: started(Redis(port=port)))
    seen.record_usual("F1", f"down at start, {failure}", [200, status], back=2)
    answers = seen.statuses(seen.during)
    record("F1", f"down at start, {failure}", f"only {status} without Redis", answers, answers == [status])


# The outage that every operator meets first.
@pytest.mark.parametrize("failure, status", POLICIES)
def test_f2_killed(started, upstream, failure, status):
    redis = started(Redis())
    gateway = started(Gateway(policy(redis.url, failure), upstream))
    gateway.wait_until_up()
    seen = trouble(started, gateway, redis.kill, redis.start)
    seen.record_usual("F2", f"SIGKILL, {failure}", [200, status], back=1)
    if failure == "deny":
        late = [s for s in seen.during if s.status == 200 and s.due > seen.begun + 0.2]
        record("F2", "SIGKILL, deny", "admits none", len(late), not late)
        refused = sum(s.status == 503 for s in seen.seen)
        counted = gateway.metric("penstock_requests_total", 'outcome="degraded_refused"')
        record("F2", "SIGKILL, deny", "counts what clients saw", f"{counted:.0f} of {refused}", counted == refused)
    else:
        # An answer without the store shows the share of the fleet, or no numbers.
        without = sum(int(s.headers.get("x-ratelimit-limit", 0)) < limit_of(0) for s in seen.seen)
        counted = gateway.metric("penstock_requests_total", 'outcome="degraded_allowed"')
        record("F2", f"SIGKILL, {failure}", "counts what clients saw", f"{counted:.0f} of {without}", counted == without)


# A stopped process keeps its connections open: only the deadline notices.
@pytest.mark.parametrize("failure, status", POLICIES)
def test_f3_stopped(started, upstream, failure, status):
    redis = started(Redis())
    gateway = started(Gateway(policy(redis.url, failure), upstream))
    gateway.wait_until_up()
    seen = trouble(started, gateway, redis.pause, redis.resume)
    seen.record_usual("F3", f"SIGSTOP, {failure}", [200, status], back=2)


# Answers that come after their request was decided without them belong to nobody.
def test_f4_late_answers(started, upstream):
    redis = started(Redis())
    proxy = started(FaultProxy(redis.port))
    gateway = started(Gateway(policy(proxy.url), upstream))
    gateway.wait_until_up()

    def late(seconds):
        proxy.delay = seconds
    seen = trouble(started, gateway, lambda: late(0.5), lambda: late(0))
    seen.record_usual("F4", "answers 500 ms late, deny", [200, 503], back=2)


# A network that swallows packets closes nothing.
@private_network.inside
def f5_blackhole(started):
    upstream = started(harness.Upstream())
    redis = started(Redis())
    gateway = started(Gateway(policy(redis.url), upstream))
    gateway.wait_until_up()
    ports = [f"tcp dport {redis.port}", f"tcp sport {redis.port}"]
    seen = trouble(started, gateway, lambda: private_network.drop(*ports), private_network.drop, seconds=SECONDS + 1)
    seen.record_usual("F5", "blackhole, deny", [200, 503], back=2)


def test_f5_blackhole(started):
    f5_blackhole(started)


@private_network.inside
def f5_loss(started):
    upstream = started(harness.Upstream())
    redis = started(Redis())
    gateway = started(Gateway(policy(redis.url, deadline="300ms"), upstream))
    gateway.wait_until_up()
    lossy = [f"tcp {side}port {redis.port} numgen random mod 100 < 5" for side in "ds"]
    seen = trouble(started, gateway, lambda: private_network.drop(*lossy), private_network.drop, seconds=3 * SECONDS)
    seen.record_usual("F5", "5 % of packets lost, deny", [200, 503], back=2)
    lost = sum(s.status != 200 for s in seen.during)
    record("F5", "5 % of packets lost, deny", "answers by policy <= 10 %", f"{lost} of {len(seen.during)}",
           lost <= len(seen.during) * 0.1)


def test_f5_loss(started):
    f5_loss(started)


# A connection may end inside any octet of an answer: then nobody knows whether the request counted,
# and asking again could charge twice.
def test_f6_reset_after_each_octet(started, upstream):
    redis = started(Redis())
    proxy = started(FaultProxy(redis.port))
    limit = "{ name: one, key: address, algorithm: fixed_window, rate: 1000000/30d }"
    gateway = started(Gateway(policy(proxy.url, deadline="2s", limits=[limit]), upstream, "--workers", "1"))
    client = started(harness.Client(gateway.port))
    gateway.wait_until_up()
    step = max(1, 6 // harness.SCALE)
    passed = unknown = tried = 0
    for octets in range(0, 120, step):
        proxy.cut_after = octets
        answer = client.send(path="/")
        while proxy.cut_after is not None or answer.status != 200:
            assert answer.status in (200, 503), octets
            passed += answer.status == 200
            unknown += answer.status == 503
            if proxy.cut_after is None:  # cut: on with a good connection
                gateway.wait_until_up()
            answer = client.send(path="/")
        passed += 1
        tried += 1
    left = int(client.send(path="/").headers["x-ratelimit-remaining"])
    used = 1_000_000 - left - 1
    record("F6", f"RST after N octets of answers, {tried} N", "used - admitted <= answers that were cut, and not below 0",
           f"{used - passed} of {unknown}", 0 <= used - passed <= unknown)
    # The greeting of a connection can be cut as well.
    for octets in range(0, 600, 10 * step):
        proxy.refuse = True
        proxy.cut_after = 0
        client.send(path="/")
        proxy.cut_after, proxy.refuse = octets, False
        harness.wait_for(lambda: client.send(path="/").status == 200, f"serves again, greeting cut after {octets}")
    record("F6", "RST inside the greeting", "serves again each time", f"{len(range(0, 600, 10 * step))} cuts", True)


BROKEN = {
    "garbage": b"\x00\xff\x13garbage\r\n" * 3, "no RESP type": b"HTTP/1.1 200 OK\r\n\r\n", "2 GB bulk": b"$2147483647\r\nabc",
    "deep arrays": b"*1\r\n" * 40 + b":1\r\n", "a huge array": b"*1000000000\r\n", "a negative length": b"$-7\r\n",
    "an endless line": b"+" + b"a" * 200_000, "a number that is none": b":12x4\r\n", "two answers for one": b"*0\r\n*0\r\n",
    "an answer of another shape": b"*2\r\n:1\r\n:2\r\n", "a string": b"+OK\r\n", "null": b"$-1\r\n",
}
WORDS = ["NOSCRIPT No matching script. Please use EVAL.", "READONLY You can't write against a read only replica.",
         "NOAUTH Authentication required.", "WRONGPASS invalid username-password pair", "CLUSTERDOWN Hash slot not served",
         "BUSY Redis is busy running a script.", "ERR max number of clients reached", "LOADING Redis is loading the dataset",
         "MASTERDOWN Link with MASTER is down", "MISCONF Errors writing to the AOF file", "OOM command not allowed",
         "NOREPLICAS Not enough good replicas to write.", "TRYAGAIN Multiple keys request", "CROSSSLOT Keys in request",
         "MOVED 1 127.0.0.1:1", "ASK 1 127.0.0.1:1", "NOPERM this user has no permissions", "EXECABORT Transaction discarded",
         "UNBLOCKED force unblock", "ERR unknown command"]


# What a server says is parsed as if an enemy had written it.
def test_f7_broken_answers(started, upstream):
    redis = started(Redis())
    proxy = started(FaultProxy(redis.port))
    gateway = started(Gateway(policy(proxy.url, deadline="1s"), upstream, "--workers", "1"))
    client = started(harness.Client(gateway.port))
    gateway.wait_until_up()
    before = gateway.octets()
    answers = {**BROKEN, **{w.split(" ")[0] if not w.startswith("ERR") else w: f"-{w}\r\n".encode() for w in WORDS}}
    wrong = []
    for name, octets in answers.items():
        gateway.wait_until_up()
        harness.wait_for(lambda: client.send(path="/p0").status == 200, f"serves before {name}")
        proxy.replace = octets
        status = client.send(path="/p1").status
        while proxy.replace is not None:  # a probe or a fresh connection took it
            status = client.send(path="/p1").status
        if status not in (200, 503):
            wrong.append((name, status))
    harness.wait_for(lambda: client.send(path="/p0").status == 200, "serves in the end")
    grown = gateway.octets() - before
    record("F7", f"{len(answers)} broken answers", "policy or a retry, then served again", wrong or "all", not wrong)
    record("F7", f"{len(answers)} broken answers", "memory <= 1 MiB above base", f"{grown / 2**20:.2f} MiB",
           None if gateway.is_sanitized() else grown <= 2**20)


# Scripts live in Redis' memory: they are gone after a restart, and one request must not notice.
def test_f8_script_cache_and_data_lost(started, upstream):
    redis = started(Redis())
    gateway = started(Gateway(policy(redis.url, deadline="2s"), upstream))
    gateway.wait_until_up()

    def flush():
        redis.call("SCRIPT", "FLUSH", "SYNC")
    seen = trouble(started, gateway, flush, flush)
    seen.record_usual("F8", "SCRIPT FLUSH under load", [200])
    failed = gateway.metric("penstock_store_errors_total")
    record("F8", "SCRIPT FLUSH under load", "no failed check", f"{failed:.0f}", failed == 0)
    client = started(harness.Client(gateway.port))
    client.send(path="/p2")
    redis.kill()
    redis.start()
    harness.wait_for(lambda: client.send(path="/p3").status == 200, "serves the empty Redis")
    headers = client.send(path="/p2").headers
    used = int(headers["x-ratelimit-limit"]) - int(headers["x-ratelimit-remaining"])
    record("F8", "restart with empty data", "one fresh budget, counted from 1", used, used == 1)
    told = gateway.process.log.count("what was counted may be lost")
    record("F8", "restart with empty data", "said in the log", f"{told} times", told == 1)


# A master that became a replica refuses to write; nothing was executed, so nothing is lost.
def test_f9_master_becomes_replica(started, upstream):
    redis, other = started(Redis()), started(Redis())
    gateway = started(Gateway(policy(redis.url), upstream))
    gateway.wait_until_up()
    seen = trouble(started, gateway, lambda: redis.call("REPLICAOF", "127.0.0.1", other.port),
                   lambda: redis.call("REPLICAOF", "NO", "ONE"))
    seen.record_usual("F9", "REPLICAOF, and back", [200, 503], back=2)


def test_numbers_tell_limits_apart():
    assert len({limit_of(n) for n in range(8)}) == len({path_of(n) for n in range(8)}) == 8
