"""Clocks that step: F18. Only the wall clock is moved; the monotonic one runs on."""
import os
import pathlib
import struct
import subprocess
import tempfile
import time

import harness
import pytest
from gateways import Gateway
from redis_peers import Redis
from report import record

BUDGET, PERIOD = 10, 600
ALGORITHMS = ["fixed_window", "sliding_window_log", "sliding_window_counter", "token_bucket", "leaky_bucket"]


def policy(store=None):
    lines = [f"{{ name: {a}, match: {{ path: /{a} }}, key: address, algorithm: {a}, rate: {BUDGET}/{PERIOD}s"
             + (f", queue: {BUDGET - 1}, undelayed: {BUDGET - 1}" if a == "leaky_bucket" else "") + " }" for a in ALGORITHMS]
    head = f'store: {{ url: "{store}", deadline: 2s, on_store_failure: deny }}\n' if store else ""
    return f"version: 1\n{head}limits:\n" + "".join(f"  - {line}\n" for line in lines)


class Clock:
    """A wall clock for the programs that are given `environment`: stepped_clock.c, compiled here."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="penstock-clock-")
        library = os.path.join(self.folder.name, "stepped_clock.so")
        source = pathlib.Path(__file__).resolve().parent / "stepped_clock.c"
        subprocess.run([harness.tool("gcc"), "-O2", "-Wall", "-shared", "-fPIC", "-o", library, str(source)], check=True)
        self.path = os.path.join(self.folder.name, "offset")
        pathlib.Path(self.path).write_bytes(bytes(8))
        self.environment = {"LD_PRELOAD": library, "STEPPED_CLOCK": self.path,
                            # A sanitizer's runtime wants to be the first library.
                            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}

    def step(self, seconds):
        """From now on `seconds` away from the true time."""
        with open(self.path, "r+b") as f:
            f.write(struct.pack("=q", seconds * 1_000_000))

    def close(self):
        self.folder.cleanup()


def away_from_edges():
    """No aligned window ends during the test."""
    while time.time() % PERIOD > PERIOD - 60:
        time.sleep(1)


def drain(client):
    """Takes what is left under each algorithm: {algorithm: (passed, last Retry-After)}."""
    out = {}
    for a in ALGORITHMS:
        passed = 0
        for _ in range(5 * BUDGET):
            answer = client.send(path="/" + a)
            if answer.status == 429:
                break
            assert answer.status == 200
            passed += 1
        out[a] = (passed, int(answer.headers.get("retry-after", 0)))
    return out


STEPS = [1, -1, 3600, -3600]


# A gateway reads the wall clock once; what its host's clock does later moves no window.
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", ["memory", "redis"])
def test_f18_gateway(started, upstream, kind, step):
    away_from_edges()
    clock = started(Clock())
    url = started(Redis()).url if kind == "redis" else None
    gateway = started(Gateway(policy(url), upstream, environment=clock.environment))
    if url:
        gateway.wait_until_up()
    client = started(harness.Client(gateway.port))
    first = {a: n for a, (n, _) in drain(client).items()}
    clock.step(step)
    again = drain(client)
    extra = {a: n for a, (n, _) in again.items() if n}
    longest = max(wait for _, wait in again.values())
    record("F18", f"gateway's clock {step:+d} s, {kind}", f"{BUDGET} of each passed before, none after",
           f"{sorted(set(first.values()))}, then {extra or 'none'}", set(first.values()) == {BUDGET} and not extra)
    record("F18", f"gateway's clock {step:+d} s, {kind}", f"Retry-After <= {PERIOD} s", f"{longest} s", longest <= PERIOD)


# The store's clock decides. Forward it ends windows, once; backward it grants nothing and nobody waits
# longer than one window more.
@pytest.mark.parametrize("step", STEPS)
def test_f18_redis(started, upstream, step):
    away_from_edges()
    clock = started(Clock())
    redis = started(Redis(environment=clock.environment))
    gateway = started(Gateway(policy(redis.url), upstream))
    gateway.wait_until_up()
    client = started(harness.Client(gateway.port))
    first = drain(client)
    assert {n for n, _ in first.values()} == {BUDGET}
    before = int(redis.call("TIME")[0])
    clock.step(step)
    moved = int(redis.call("TIME")[0]) - before
    assert abs(moved - step) <= 30, "the clock of Redis did not step"
    # A process remembers a refusal for a second at most, whatever the clocks do.
    time.sleep(1.1)
    again = drain(client)
    most = {a: n for a, (n, _) in again.items()}
    allowed = BUDGET if step > 60 else 0
    record("F18", f"Redis' clock {step:+d} s", "one budget more" if allowed else "none passes",
           sorted(set(most.values())), max(most.values()) <= allowed)
    longest = max(wait for _, wait in again.values())
    record("F18", f"Redis' clock {step:+d} s", f"no wait above {2 * PERIOD} s, one window more", f"{longest} s",
           longest <= 2 * PERIOD)
