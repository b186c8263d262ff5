"""Faults of a standalone Redis under a gateway that is being used: rows F1 to F18."""
import harness
import open_loop
import pytest
from redis_peers import Redis
from report import record


def policy(store, failure="deny", limit="rate: 1000000/s", more=""):
    return f"""\
version: 1
store: {{ url: "{store}", on_store_failure: {failure}, fleet_size: 2{more} }}
limits:
  - {{ name: one, key: address, algorithm: fixed_window, {limit} }}
"""


def metric(port, name):
    """The sum of a metric over its labels."""
    text = harness.Client(port).send(path="/metrics").body.decode()
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
               if line.split("{")[0].split(" ")[0] == name)


def gateway(started, upstream, text, *args):
    """A gateway with a health listener: (process, its gateway port, its health port)."""
    server = started(harness.Penstock(text, ["--health", "127.0.0.1:0", *args], upstream=upstream.port))
    return server, server.port, int(server.wait_for_line(r"health listening on http://[^ ]*:(\d+)").group(1))


# A gateway that needs its store to start would make every restart of Redis an outage of the API.
@pytest.mark.parametrize("failure, status", [("deny", 503), ("allow", 200), ("local", 200)])
def test_f1_down_at_start(started, upstream, failure, status):
    port = harness.free_port()
    _, listener, health = gateway(started, upstream, policy(f"redis://127.0.0.1:{port}", failure))
    load = started(open_loop.OpenLoop(listener)).start()
    harness.wait_for(lambda: load.now() > 2, "two seconds without Redis")
    appeared = load.now()
    started(Redis(port=port))
    harness.wait_for(lambda: metric(health, "penstock_store_up") == 1, "the store is up")
    used = load.now() - appeared
    harness.wait_for(lambda: load.now() > appeared + used + 1, "a second with Redis")
    seen = load.stop()
    without = open_loop.between(seen, 0, appeared)
    answers = sorted({s.status for s in without})
    record("F1", f"down at start, {failure}", f"all answered {status}", answers, answers == [status])
    late = open_loop.percentile([s.took for s in without], 0.99) * 1000
    record("F1", f"down at start, {failure}", "p99 of policy answers <= 5 ms", f"{late:.1f} ms", None)
    record("F1", f"Redis appears, {failure}", "used within 2 s", f"{used:.2f} s", used <= 2)
    after = {s.status for s in open_loop.between(seen, appeared + used, load.now())}
    record("F1", f"Redis appears, {failure}", "then only 200", sorted(after), after == {200})
