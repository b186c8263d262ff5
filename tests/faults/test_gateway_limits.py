"""Rows F28 to F35 at the gateway: full disks, no descriptors, idle crowds, floods, churn."""
import contextlib
import json
import os
import re
import resource
import socket
import subprocess
import time

import harness
import open_loop
import pytest
from gateway_peers import CLOSING, Gateway, answer_of, start_after, wrk
from report import record
from test_tls import Certificates


@contextlib.contextmanager
def small_disk(path, size="64k"):
    """A file system of that size, where this process may mount one."""
    path.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"no small file system here: {done.stderr.strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


# The log is the least important thing there is: requests go on, whole lines or none, the loss is told.
def test_f28_the_disk_is_full(started, api, tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        (disk / "other").write_bytes(b"x" * 32768)
        gateway = Gateway(started, api.port, f"access_log: {{ mode: all, path: '{disk}/access.log' }}")
        load = started(open_loop.OpenLoop(gateway.port)).start()
        harness.wait_for(lambda: load.now() > 4, "the disk is full", 30)
        full = os.statvfs(disk).f_bavail == 0
        held = (disk / "access.log").read_bytes().count(b"\n")
        (disk / "other").unlink()
        freed = load.now()
        harness.wait_for(lambda: (disk / "access.log").read_bytes().count(b"\n") > held, "lines are written again", 10)
        again = load.now() - freed
        seen = load.stop()
        lines = (disk / "access.log").read_text().split("\n")
    broken = 0
    for line in lines[:-1]:
        try:
            json.loads(line)
        except ValueError:
            broken += 1
    record("F28", "the access log's disk is full", "it was", full, full)
    record("F28", "requests meanwhile", "all 200", sorted({s.status for s in seen}), {s.status for s in seen} == {200})
    record("F28", "space is freed", "lines again within 5 s", f"{again:.1f} s", again <= 5)
    record("F28", "lines", "none half written", f"{broken} of {len(lines) - 1} are no JSON", broken == 0)


@pytest.fixture
def few_descriptors(monkeypatch, tmp_path):
    """Gateways that start from here on may open 256 files."""
    start_after(monkeypatch, tmp_path, "ulimit -n 256")


def crowded(started, gateway, what):
    """400 clients against a gateway that cannot hold them."""
    kept, health = started(harness.Client(gateway.port)), started(harness.Client(gateway.health))
    assert kept.send().status == 200 and health.send(path="/livez").status == 200
    crowd = [socket.create_connection(("127.0.0.1", gateway.port), timeout=30) for _ in range(400)]
    statuses = set()

    def ask(seconds):  # who is idle for a second gives way to new clients
        for _ in range(4 * seconds):
            statuses.add(kept.send().status)
            time.sleep(0.25)
    ask(1)  # whatever it does at first
    before, began = gateway.cpu(), time.monotonic()
    ask(2)
    busy = (gateway.cpu() - before) / (time.monotonic() - began)
    record("F31", f"400 clients, {what}", "accept loop idle: <= 10 % of a core", f"{busy * 100:.0f} %", busy <= 0.1)
    record("F31", f"a kept connection that is in use, {what}", "served", sorted(statuses), statuses == {200})
    status = health.send(path="/livez").status
    record("F31", f"a kept connection of the health listener, {what}", "served", status, status == 200)
    return crowd


def leaves(gateway, crowd, what):
    began = time.monotonic()
    for one in crowd:
        one.close()
    received, _ = answer_of(gateway.port, CLOSING)
    took = time.monotonic() - began
    record("F31", f"the crowd leaves, {what}", "a new client is served at once", f"{received[9:12].decode()} after {took * 1000:.0f} ms",
           received.startswith(b"HTTP/1.1 200") and took < 2)


# A gateway that knows how few descriptors it has keeps some back for upstreams and operators.
def test_f31_few_descriptors(started, api, few_descriptors):
    gateway = Gateway(started, api.port)
    crowd = crowded(started, gateway, "256 descriptors")
    fresh = answer_of(gateway.health, b"GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")[0]
    record("F31", "a new connection to the health listener, 256 descriptors", "served", fresh[9:12].decode(), fresh.startswith(b"HTTP/1.1 200"))
    leaves(gateway, crowd, "256 descriptors")


# One from which they are taken away serves whom it has, and waits without spinning.
def test_f31_descriptors_run_out(started, api):
    gateway = Gateway(started, api.port)
    resource.prlimit(gateway.pid, resource.RLIMIT_NOFILE, (64, 256))
    crowd = crowded(started, gateway, "64 at run time")
    leaves(gateway, crowd, "64 at run time")


def idle_crowd(gateway, count, wrap=lambda s: s):
    """(connections, octets of memory for each)."""
    before, crowd = gateway.memory(), []
    for number in range(count):
        one = socket.socket()
        one.bind((f"127.0.0.{2 + number % 8}", 0))
        one.connect(("127.0.0.1", gateway.port))
        crowd.append(wrap(one))
    harness.wait_for(lambda: gateway.connections() >= count, f"{count} connections are open", 60)
    return crowd, (gateway.memory() - before) / count


# A crowd that does nothing costs little and holds nobody up.
def test_f32_idle_connections(started, api):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = min(9500, hard // 2 - 500)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    gateway = Gateway(started, api.port, "idle_timeout: 10min")
    quiet = wrk(gateway.port, 3)
    crowd, each = idle_crowd(gateway, count)
    among = wrk(gateway.port, 3)
    record("F32", f"{count} idle connections", "<= 4 KiB each", f"{each / 1024:.2f} KiB", each <= 4096)
    record("F32", "active clients among them", "p99 <= 20 % more", f"{quiet[3]:.2f} -> {among[3]:.2f} ms", None)
    record("F32", "active clients among them", "none lost", f"{among[1] + among[2]} of {among[0]}", among[1] + among[2] == 0)
    for one in crowd:
        one.close()
    certificates = started(Certificates("one.test"))
    secure = Gateway(started, api.port, "idle_timeout: 10min, tls: { certificate: %s, key: %s }" % (
        certificates.path("one.test.pem"), certificates.path("one.test.key")))
    trust = certificates.trusting()
    crowd, each = idle_crowd(secure, 2000, lambda s: trust.wrap_socket(s, server_hostname="one.test"))
    record("F32", "2000 idle TLS connections", "<= 24 KiB each", f"{each / 1024:.1f} KiB", each <= 24 * 1024)
    for one in crowd:
        one.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# Connections that come and go leave nothing behind.
def test_churn(started, api):
    gateway = Gateway(started, api.port)
    wrk(gateway.port, 2, headers=("Connection: close",))
    memory, descriptors = gateway.memory(), gateway.descriptors()
    wanted, done, bad = 100_000 * harness.SCALE, 0, 0
    while done < wanted:
        total, other, errors, _ = wrk(gateway.port, 5, headers=("Connection: close",))
        done, bad = done + total, bad + other + errors
    harness.wait_for(lambda: gateway.connections() == 0, "all are gone")
    grown = (gateway.memory() - memory) / 1048576
    record("churn", f"{done} connections of one request each", "0 errors", bad, bad == 0)
    record("churn", "after them", "memory within 4 MiB, descriptors within 8", f"{grown:+.1f} MiB, {gateway.descriptors() - descriptors:+d}",
           grown <= 4 and gateway.descriptors() <= descriptors + 8)


# What is admitted is served, however many more ask; to refuse costs less than to serve.
def test_f35_overload(started, api):
    free = Gateway(started, api.port)
    peak = wrk(free.port, 4)[0] / 4
    rate = int(peak / 6)
    gateway = Gateway(started, api.port, limits=f"limits:\n  - {{ name: all, key: global, rate: {rate}/s, burst: {max(1, rate // 10)} }}\n")
    total, refused, errors, p99 = wrk(gateway.port, 5, 96)
    goodput, offered = (total - refused) / 5, total / 5
    record("F35", f"a limit of {rate}/s, offered {offered / rate:.1f} times that", "goodput >= 95 % of the limit", f"{goodput / rate * 100:.0f} %", goodput >= 0.95 * rate)
    record("F35", "and nothing else than 200 and 429", "0 errors", errors, errors == 0)
    record("F35", "p99 of all answers", "quick", f"{p99:.1f} ms", None)
    crowd = wrk(free.port, 4, 960)
    record("F35", "960 connections in place of 32", "goodput near the peak", f"{crowd[0] / 4 / peak * 100:.0f} %, p99 {crowd[3]:.0f} ms", None)
    record("F35", "960 connections in place of 32", "0 errors", crowd[1] + crowd[2], crowd[1] + crowd[2] == 0)


# A generator that pipelines, from another author: h2load over HTTP/1.1.
def test_a_flood_of_pipelined_requests(started, api):
    gateway = Gateway(started, api.port, limits="limits:\n  - { name: one, key: address, rate: 1000/d }\n")
    memory = gateway.memory()
    count = 200_000 * harness.SCALE
    done = subprocess.run([harness.tool("h2load"), "--h1", "-n", str(count), "-c", "50", "-m", "32", f"http://127.0.0.1:{gateway.port}/x"], capture_output=True, text=True, timeout=300)
    codes = re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", done.stdout)
    got = tuple(map(int, codes.groups())) if codes else ()
    record("flood", f"h2load: {count} pipelined requests against 1000/d", "1000 pass, all others 429", f"{got}", got == (1000, 0, count - 1000, 0))
    grown = (gateway.memory() - memory) / 1048576
    record("flood", "memory after it", "within 16 MiB", f"{grown:+.1f} MiB", grown <= 16)


# Those who are refused cannot slow those who are not: to refuse is the cheapest thing there is.
def test_a_flood_of_refused_requests(started, api):
    limits = "limits:\n  - { name: flood, match: { path: /flood }, key: address, rate: 1/d }\n"
    gateway = Gateway(started, api.port, limits=limits)
    load = started(open_loop.OpenLoop(gateway.port)).start()
    harness.wait_for(lambda: load.now() > 3, "a quiet time")
    began = load.now()
    total, refused, errors, _ = wrk(gateway.port, 5, 64, "/flood")
    ended = load.now()
    seen = load.stop()
    quiet, during = open_loop.between(seen, 0.5, began), open_loop.between(seen, began, ended)
    p99 = [open_loop.percentile([s.took for s in some], 0.99) * 1000 for some in (quiet, during)]
    record("B119", f"a flood of {total // 5} refused requests a second", "all but one 429, no error", f"{total - refused} passed, {errors} errors", total - refused <= 2 and errors == 0)
    record("B119", "others during it", "all 200", sorted({s.status for s in during}), {s.status for s in during} == {200})
    record("B119", "others during it", "p99 <= 2 times", f"{p99[0]:.1f} -> {p99[1]:.1f} ms", None)
