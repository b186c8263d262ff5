"""Overlapping limits through many starts of the real binary: order, hash seeds and threads change nothing."""
import random
import re

import harness

LIMITS = [
    "{ name: all, key: global, algorithm: fixed_window, rate: 14/30d }",
    "{ name: client, key: header(N), algorithm: sliding_window_log, rate: 6/30d }",
    '{ name: tree, match: { path: "/api/**" }, key: address, algorithm: sliding_window_log, rate: 9/30d }',
    '{ name: leaf, match: { path: "/api/{id}/x" }, key: header(N) + route, rates: [3/30d, 4/60d] }',
    "{ name: post, match: { method: POST }, key: address, algorithm: fixed_window, rate: 5/30d, count_denied: true }",
    "{ name: cost, match: { path: /big }, key: header(N), algorithm: fixed_window, rate: 7/30d, cost: 3 }",
    "{ name: shadow, key: global, rate: 2/30d, mode: shadow }",
]


def decisions(gateway, client, trace):
    c = client(gateway.port)
    out = []
    for method, path, who in trace:
        a = c.send(method, path, headers={"N": who})
        # Which limit of equals is reported goes by the order in the file; what is left of each does not.
        left = sorted(re.findall(r'"([^"]+)";r=(\d+)', a.headers["ratelimit"]))
        out.append((a.status, left))
    return out


# An operator who sorts the file or restarts must not change who is refused.
def test_the_same_decisions_over_many_starts(serve, client):
    choose = random.Random(20261130)
    trace = [(choose.choice(["GET", "GET", "POST"]), choose.choice(["/", "/api/1/x", "/api/2/x", "/api/1", "/big"]),
              choose.choice("ab")) for _ in range(40)]
    limits = list(LIMITS)
    want = None
    for start in range(20 * harness.SCALE):
        text = "version: 1\nlimits:\n" + "".join(f"  - {one}\n" for one in limits)
        gateway = serve(text, "--workers", str(1 + start % 3))
        got = decisions(gateway, client, trace)
        want = want or got
        assert got == want, f"start {start}:\n{text}"
        gateway.child.terminate()
        choose.shuffle(limits)
    statuses = [status for status, _ in want]
    assert 8 <= statuses.count(200) <= 14 and statuses.count(429) >= 20
