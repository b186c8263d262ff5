"""Rows F33 and F34: a gateway that may have little memory, and more keys than its table holds."""
import collections
import concurrent.futures
import contextlib
import resource
import socket
import time

import harness
import open_loop
import pytest
from gateway_peers import CLOSING, Gateway, Nginx, answer_of, start_after, wrk
from memory_cap import MemoryCap
from report import record

MIB = 1 << 20
ALL_OF_10 = 1 << 24  # clients in 10.0.0.0/8
TRUSTING = "client: { trusted_proxies: [127.0.0.1], address_from: x-forwarded-for }\n"


@pytest.fixture
def many_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Uploads:
    """Clients that send as much of a big body as anybody takes."""

    def __init__(self, port, count):
        self.crowd = []
        for number in range(count):
            one = socket.socket()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
            one.bind((f"127.0.0.{2 + number % 8}", 0))
            one.connect(("127.0.0.1", port))
            one.sendall(b"POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 16777216\r\n\r\n")
            one.setblocking(False)
            self.crowd.append(one)

    def push(self):
        """Sends what is taken now. How many octets that were."""
        sent = 0
        for one in self.crowd:
            with contextlib.suppress(OSError):
                while True:
                    sent += one.send(bytes(65536))
        return sent

    def answers(self):
        """{status: clients that have such an answer}; 0: still waiting, or cut."""
        found = collections.Counter()
        for one in self.crowd:
            with contextlib.suppress(OSError):
                found[int(one.recv(65536)[9:12] or 0)] += 1
                continue
            found[0] += 1
        return dict(found)

    def close(self):
        for one in self.crowd:
            one.close()


# Memory is the one thing that cannot be asked back: what is accepted must fit from the start.
@pytest.mark.parametrize("options", ["", "max_in_flight: 500"])
def test_f33_little_memory(started, tmp_path, monkeypatch, many_files, options):
    cap = started(MemoryCap(256 * MIB))
    # Its queue takes connections, and nobody takes what they bring. Not over TCP: what the upstream's own
    # sockets would hold could be more than the system gives to all TCP together.
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(tmp_path / "deaf"))
        deaf.listen(4096)
        api = started(Nginx(tmp_path / "api", "location = /upload { client_max_body_size 0; proxy_request_buffering off; "
                            f"proxy_pass http://unix:{tmp_path}/deaf; }}", "backlog=4096 rcvbuf=64k"))
        start_after(monkeypatch, tmp_path, cap.enter)
        gateway = Gateway(started, api.port, options, TRUSTING + "limits:\n  - { name: each, key: address, rate: 1000/s }\n")
        what = f"2,000 uploads that nobody takes and a flood of new keys, 256 MiB{', ' if options else ''}{options}"
        load = started(open_loop.OpenLoop(gateway.port, 100)).start()
        harness.wait_for(lambda: load.now() > 1, "a quiet second")
        begun = load.now()
        with concurrent.futures.ThreadPoolExecutor() as floods:
            flood = floods.submit(wrk, gateway.port, 10 * harness.SCALE, 64, script=("unique_keys.lua", 0, ALL_OF_10))
            uploads = started(Uploads(gateway.port, 2000))
            while not flood.done():
                uploads.push()
                time.sleep(0.1)
            keys, shed, errors, _ = flood.result()
        held = gateway.metric("penstock_upstream_requests_open")
        answers = uploads.answers()
        over = load.now()
        uploads.close()
    began = time.monotonic()
    while not answer_of(gateway.port, CLOSING)[0].startswith(b"HTTP/1.1 200") and time.monotonic() < began + 30:
        time.sleep(0.01)
    back = time.monotonic() - began
    harness.wait_for(lambda: load.now() > over + 2, "the load goes on")
    seen = load.stop()
    during, after = open_loop.between(seen, begun, over), open_loop.between(seen, over + 1, float("inf"))
    record("F33", what, "never killed", f"{cap.killed()} kills, peak {(cap.peak() or 0) / MIB:.0f} MiB", cap.killed() == 0 and gateway.process.child.poll() is None)
    record("F33", what, "uploads wait or are answered 503", f"{held:.0f} under way, {answers}", set(answers) <= {0, 503})
    record("F33", f"{keys} requests of new clients meanwhile", "200 or 503, no error", f"{shed} not 200, {errors} errors", errors == 0)
    statuses = collections.Counter(s.status for s in during)
    record("F33", "others meanwhile", "200, 429 or 503", dict(statuses), set(statuses) <= {200, 429, 503})
    record("F33", "the uploads end", "served within 1 s", f"{back * 1000:.0f} ms", back <= 1)
    record("F33", "from a second later on", "all 200", sorted({s.status for s in after}), {s.status for s in after} == {200})


# A flood of new keys must buy neither memory nor a second budget for those that have used theirs.
def test_f34_more_keys_than_memory(started, api):
    budget, wanted = 16 * MIB, 1_000_000 * harness.SCALE
    gateway = Gateway(started, api.port, limits="store: { memory: { max_bytes: 16MiB } }\n" + TRUSTING + "limits:\n"
                      "  - { name: few, match: { path: /x }, key: address, rate: 5/d }\n"
                      "  - { name: many, match: { path: /known }, key: address, rate: 1000000/s }\n")

    def probes():
        with contextlib.closing(harness.Client(gateway.port)) as client:
            return [client.send(path="/x", headers={"X-Forwarded-For": f"192.0.2.{n}"}).status for n in range(100)]
    for _ in range(5):
        assert set(probes()) == {200}
    assert set(probes()) == {429}
    known = wrk(gateway.port, 10, 64, "/known", script=("unique_keys.lua", 0, 1000))
    before = peak = gateway.memory()
    sent = refused = errors = rounds = 0
    while sent < wanted:
        rounds += 1
        # Behind those that were under way when the last round ended.
        total, other, failed, _ = wrk(gateway.port, 10, 64, script=("unique_keys.lua", sent + rounds * 1000, ALL_OF_10))
        sent, refused, errors = sent + total, refused + other, errors + failed
        peak = max(peak, gateway.memory())
    what = f"{sent} keys against a table of 16 MiB"
    still = probes().count(429)
    record("F34", what, "memory <= budget + 5 %", f"{(peak - before) / MIB:+.1f} MiB", peak - before <= budget * 1.05)
    record("F34", what, "every first request passes", f"{refused} refused, {errors} errors", refused + errors == 0)
    record("F34", "100 keys that had used their budget before", "100 still refused", still, still == 100)
    evicted = gateway.metric("penstock_table_evictions_total", 'kind="live"')
    record("F34", what, "what was forgotten is told", f"{evicted:.0f} evictions", evicted > 0)
    record("F34", what, "throughput >= 90 % of 1,000 keys'", f"{sent / rounds / 10:.0f}/s, {sent / rounds / known[0] * 100:.0f} %", None)
