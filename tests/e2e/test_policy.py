"""The policy through the real binary: matching, client addresses, identity, plans, exemptions, modes, answers.

One gateway per group of rows. Limits are per hour or per day where their windows must not move while a
test runs; a test that needs time waits for what Retry-After names.
"""
import gzip
import hashlib
import json
import re
import socket
import time

import pytest

import harness
from address_rows import ROWS


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def statuses(client, count, *args, **options):
    return [client.send(*args, **options).status for _ in range(count)]


def seen(upstream, name):
    """The values of a field in the latest request that the upstream got."""
    return [value for key, value in upstream.seen[-1]["headers"] if key == name.lower()]


def exchange(port, text, source="127.0.0.1", host="127.0.0.1"):
    """One request as written, line by line; the answer as (status, head and body)."""
    with socket.create_connection((host, port), timeout=20, source_address=(source, 0)) as s:
        s.sendall("\r\n".join([*text, "Connection: close", "", ""]).encode("latin-1"))
        data = b""
        while part := s.recv(65536):
            data += part
    return int(data.split(b" ", 2)[1]), data.decode("latin-1")


# --- matching

MATCHES = {  # name of the limit: its match
    "all": "{}",
    "get": "{ method: GET }",
    "writes": "{ method: [POST, PUT] }",
    "exact": "{ path: /login }",
    "one": '{ path: "/users/{id}/export" }',
    "star": "{ path: /a/*/b }",
    "tree": '{ path: "/api/**" }',
    "middle": '{ path: "/t/**/end" }',
    "host": "{ host: api.test }",
    "hosts": '{ host: ["*.shop.test", www.test] }',
    "narrow": "{ method: POST, host: api.test, path: /login }",
}
MATCH_ROWS = [  # method, target, Host, the limits that must count it
    ("GET", "/", "x", "all get"),
    ("POST", "/", "x", "all writes"),
    ("HEAD", "/", "x", "all"),
    ("post", "/", "x", "all"),
    ("GET", "/login", "x", "all get exact"),
    ("GET", "/login/", "x", "all get exact"),
    ("GET", "/login?next=/", "x", "all get exact"),
    ("GET", "/logins", "x", "all get"),
    ("GET", "/LOGIN", "x", "all get"),
    ("GET", "/x/login", "x", "all get"),
    ("GET", "/users/7/export", "x", "all get one"),
    ("GET", "/users/7/8/export", "x", "all get"),
    ("GET", "/users//export", "x", "all get"),
    ("GET", "/a/1/b", "x", "all get star"),
    ("GET", "/a/b", "x", "all get"),
    ("GET", "/api", "x", "all get tree"),
    ("GET", "/api/", "x", "all get tree"),
    ("GET", "/api/v1/things", "x", "all get tree"),
    ("GET", "/apis", "x", "all get"),
    ("GET", "/t/end", "x", "all get middle"),
    ("GET", "/t/1/2/end", "x", "all get middle"),
    ("GET", "/", "api.test", "all get host"),
    ("GET", "/", "API.Test:8080", "all get host"),
    ("GET", "/", "api.test.", "all get host"),
    ("GET", "/", "a.api.test", "all get"),
    ("GET", "/", "eu.shop.test", "all get hosts"),
    ("GET", "/", "a.eu.shop.test", "all get hosts"),
    ("GET", "/", "shop.test", "all get"),
    ("GET", "/", "www.test", "all get hosts"),
    ("POST", "/login", "api.test", "all writes exact host narrow"),
    ("POST", "/login", "other.test", "all writes exact"),
]


# Which limits a request belongs to is in RateLimit-Policy, so one header proves the whole matching.
def test_method_host_and_path_choose_the_limits(serve, client):
    limits = "".join(f"  - {{ name: {name}, match: {match}, key: global, rate: 1000/h }}\n"
                     for name, match in MATCHES.items())
    c = client(serve("version: 1\nlimits:\n" + limits).port)
    wrong = []
    for method, target, host, want in MATCH_ROWS:
        answer = c.send(method, target, headers={"Host": host})
        got = re.findall(r'"([a-z]+)";q', answer.headers["ratelimit-policy"])
        if got != want.split():
            wrong.append((method, target, host, want, got))
    assert wrong == []


# --- the client's address

SOCKET_ROWS = [r for r in ROWS if r[1] in ("10.0.0.1", "203.0.113.9", "198.51.100.7")]


# What `explain` says is what serving does: every row that a loopback peer can play.
@pytest.mark.parametrize("source", ["x-forwarded-for", "forwarded", "x-real-ip"])
def test_finds_the_client_behind_trusted_proxies(serve, upstream, source):
    # 127.0.0.1 plays the trusted peer 10.0.0.1, 127.0.0.2 the peer that is not trusted.
    rows = [r for r in SOCKET_ROWS if r[3] == source]
    gateway = serve("version: 1\nclient:\n"
                    '  trusted_proxies: ["::ffff:10.0.0.0/104", 127.0.0.1]\n'
                    f"  address_from: {source}\n"
                    "limits:\n  - { name: c, key: address, rate: 1000/h }\n")
    wrong = []
    for name, peer, _, _, fields, client in rows:
        plays = {"10.0.0.1": "127.0.0.1"}.get(peer, "127.0.0.2")
        want = {"10.0.0.1": "127.0.0.1", peer: plays}.get(client, client)
        status, _ = exchange(gateway.port, ["GET / HTTP/1.1", "Host: x", *fields], plays)
        got = seen(upstream, "X-Real-IP")
        if (status, got) != (200, [want]):
            wrong.append((name, status, got, want))
    assert wrong == [] and len(rows) >= 3


# A household owns a /64: its addresses share a counter, its neighbour's do not, and both are settings.
@pytest.mark.parametrize("settings, same, other", [
    ("", ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:DB8:1:2:0:0:0:3"], "2001:db8:1:3::1"),
    (", ipv6_prefix: 56", ["2001:db8:1:2::1", "2001:db8:1:ff::1", "2001:db8:1::1"], "2001:db8:1:100::1"),
    (", ipv6_prefix: 128", ["2001:db8::1", "[2001:db8::1]:443", "2001:db8:0::1"], "2001:db8::2"),
    ("", ["203.0.113.9", "203.0.113.9:1234", "::ffff:203.0.113.9"], "203.0.113.10"),
    (", ipv4_prefix: 24", ["203.0.113.9", "203.0.113.10", "::ffff:cb00:71fe"], "203.0.114.9"),
    ("", ["fe80::1%25eth0", "fe80::1%eth1", "fe80::2"], "fe81::1"),
])
def test_counts_by_prefix(serve, client, settings, same, other):
    c = client(serve("version: 1\n"
                     f"client: {{ trusted_proxies: [127.0.0.1]{settings} }}\n"
                     "limits:\n  - { name: c, key: address, rate: 3/1d }\n").port)
    send = lambda a: c.send(headers={"X-Forwarded-For": a}).status
    assert [send(a) for a in [*same, same[0], other]] == [200, 200, 200, 429, 200]


# Invented addresses in front of the true one buy nothing, however many there are.
def test_forged_prefixes_share_one_counter(serve, client):
    c = client(serve("version: 1\nclient: { trusted_proxies: [127.0.0.1] }\n"
                     "limits:\n  - { name: c, key: address, rate: 5/h }\n").port)
    got = [c.send(headers={"X-Forwarded-For": f"10.9.{n // 250}.{n % 250}, 203.0.113.9"}).status
           for n in range(300 * harness.SCALE)]
    assert got.count(200) == 5


# --- identity and keys

KEY_ROWS = [  # key, one client's request, the same client, another client: (target, fields)
    ("api_key", ("/", {"X-API-Key": "a"}), ("/x", {"x-api-key": "a"}), ("/", {"X-API-Key": "b"})),
    ("user", ("/", {"X-User-Id": "1"}), ("/", {"X-USER-ID": "1"}), ("/", {"X-User-Id": "2"})),
    ("user + route", ("/u/1", {"X-User-Id": "1"}), ("/u/1/", {"X-User-Id": "1"}), ("/u/2", {"X-User-Id": "1"})),
    ("route", ("/u/1", {}), ("//u/./1", {}), ("/u/2", {})),
    ("host", ("/", {"Host": "a"}), ("/", {"Host": "A:80"}), ("/", {"Host": "b"})),
    ("header(X-T)", ("/", {"X-T": "a"}), ("/", {"x-t": "a"}), ("/", {"X-T": "A"})),
    ("query(q)", ("/?q=a", {}), ("/?x=1&q=%61", {}), ("/?q=b", {})),
    ("cookie(c)", ("/", {"Cookie": "c=a"}), ("/", {"Cookie": 'd=1; c="a"'}), ("/", {"Cookie": "c=b"})),
    ("api_key | user", ("/", {"X-API-Key": "a", "X-User-Id": "1"}), ("/", {"X-API-Key": "a", "X-User-Id": "2"}),
     ("/", {"X-User-Id": "1"})),
    ("header(A) + header(B)", ("/", {"A": "x", "B": "y"}), ("/", {"B": "y", "A": "x"}), ("/", {"A": "x:y", "B": "y"})),
    ("address", ("/", {"X-Forwarded-For": "192.0.2.1"}), ("/", {"X-Forwarded-For": "192.0.2.1:5"}),
     ("/", {"X-Forwarded-For": "192.0.2.2"})),
]


# Each part of a key counts what it names: the same client in another spelling, and nobody else.
@pytest.mark.parametrize("key, one, same, other", KEY_ROWS, ids=[r[0] for r in KEY_ROWS])
def test_counts_by_key(serve, client, key, one, same, other):
    c = client(serve("version: 1\nclient: { trusted_proxies: [127.0.0.1] }\n"
                     "identity: { api_key: { header: X-API-Key }, user: { header: X-User-Id } }\n"
                     f"limits:\n  - {{ name: c, key: {key}, rate: 2/h }}\n").port)
    send = lambda request: c.send("GET", request[0], headers=request[1]).status
    assert [send(one), send(same), send(same), send(other), send(one)] == [200, 200, 429, 200, 429]


# Everything together is one counter, and a constant is a name for it.
@pytest.mark.parametrize("key", ["global", "constant(all)", "method"])
def test_counts_everybody_together(serve, client, key):
    port = serve(f"version: 1\nlimits:\n  - {{ name: c, key: {key}, rate: 2/h }}\n").port
    got = [client(port, f"127.0.0.{n}").send("GET", f"/{n}").status for n in (1, 2, 3)]
    assert got == [200, 200, 429]


PLACES = [  # where the key stands, a request with a known key, with an unknown one: (target, fields)
    ("header: X-API-Key", ("/", {"X-API-Key": "k1"}), ("/", {"X-API-Key": "no"})),
    ("header: Authorization", ("/", {"Authorization": "Bearer k1"}), ("/", {"Authorization": "Bearer no"})),
    ("query: key", ("/?key=k1", {}), ("/?key=no", {})),
    ("cookie: key", ("/", {"Cookie": "key=k1"}), ("/", {"Cookie": "key=no"})),
]


# A known key is a client of its own wherever it stands; a made-up one counts as its address.
@pytest.mark.parametrize("place, known, unknown", PLACES, ids=[p[0] for p in PLACES])
def test_only_known_keys_are_clients(started, upstream, client, tmp_path, place, known, unknown):
    (tmp_path / "keys.txt").write_text(f"# team a\nk1\nsha256:{sha256('k2')}\n")
    (tmp_path / "policy.yaml").write_text(
        f"version: 1\nidentity: {{ api_key: {{ {place}, known: keys.txt }} }}\n"
        "limits:\n  - { name: c, key: api_key | address, rate: 2/h }\n")
    gateway = started(harness.Penstock(None, ("-c", str(tmp_path / "policy.yaml")), upstream=upstream.port))
    c = client(gateway.port)
    send = lambda r, spelled="": c.send("GET", r[0] + spelled, headers={k: v + spelled for k, v in r[1].items()}).status
    assert [send(unknown), send(unknown, "1"), send(unknown, "2")] == [200, 200, 429]  # rotating buys nothing
    assert [send(known), send(known), send(known)] == [200, 200, 429]
    second = (known[0].replace("k1", "k2"), {k: v.replace("k1", "k2") for k, v in known[1].items()})
    assert send(second) == 200  # listed by its hash only
    assert not re.search(r"\bk[12]\b", gateway.log)


# A user is who the proxy says, not who the client says, and nobody behind us hears the client's claim.
def test_a_user_is_believed_from_trusted_peers_only(serve, client, upstream):
    port = serve("version: 1\nclient: { trusted_proxies: [127.0.0.1] }\n"
                 "identity: { user: { header: X-User-Id } }\n"
                 "limits:\n  - { name: c, key: user | address, rate: 2/h }\n").port
    trusted, other = client(port), client(port, "127.0.0.2")
    assert statuses(trusted, 3, headers={"X-User-Id": "1"}) == [200, 200, 429]
    assert seen(upstream, "X-User-Id") == ["1"]
    assert [other.send(headers={"X-User-Id": str(n)}).status for n in range(3)] == [200, 200, 429]
    assert seen(upstream, "X-User-Id") == []


MISSING = [  # mode, statuses of three requests without the key, then of one with it
    ("skip", [200, 200, 200], 200),
    ("address", [200, 200, 429], 200),
    ("shared", [200, 200, 429], 200),
    ("deny", [429, 429, 429], 200),
]


# What a request without the key is counted by is said, not guessed.
@pytest.mark.parametrize("mode, without, with_key", MISSING, ids=[m[0] for m in MISSING])
def test_a_missing_key(serve, client, mode, without, with_key):
    port = serve("version: 1\nlimits:\n"
                 f"  - {{ name: c, key: header(X-T), rate: 2/h, on_missing_key: {mode} }}\n").port
    c = client(port)
    answers = [c.send() for _ in range(3)]
    assert [a.status for a in answers] == without
    assert c.send(headers={"X-T": "a"}).status == with_key
    from_elsewhere = client(port, "127.0.0.9").send().status
    assert from_elsewhere == {"skip": 200, "address": 200, "shared": 429, "deny": 429}[mode]
    if mode == "deny":
        assert json.loads(answers[0].body) == {"error": "rate limit exceeded", "limit": "c", "reason": "missing_key"}
        assert "retry-after" not in answers[0].headers  # no wait helps


# --- plans, several windows, cost, failures

# Quotas of customers live in a file of their own; who is not in it has the default.
def test_plans_from_a_csv(started, upstream, client, tmp_path):
    (tmp_path / "plans.csv").write_text("# key,plan\nfree1,free\ngold1,gold\nsha256:%s,all\n" % sha256("all1"))
    (tmp_path / "policy.yaml").write_text(
        "version: 1\nidentity: { api_key: { header: X-API-Key } }\n"
        "plans:\n  free: { rate: 2/h }\n  gold: { rates: [3/h, 100/1d] }\n  all: { rate: unlimited }\n"
        "limits:\n  - { name: c, key: api_key | address, plan: { by: api_key, from: plans.csv, default: free } }\n")
    gateway = started(harness.Penstock(None, ("-c", str(tmp_path / "policy.yaml")), upstream=upstream.port))
    c = client(gateway.port)
    for key, want in (("free1", [200, 200, 429, 429]), ("gold1", [200, 200, 200, 429]),
                      ("all1", [200] * 4), ("new1", [200, 200, 429, 429])):
        assert statuses(c, 4, headers={"X-API-Key": key}) == want, key
    assert statuses(c, 4) == [200, 200, 429, 429]  # nobody in particular


# Several windows are one limit: all must admit, and each is told of.
def test_several_windows_in_one_limit(serve, client):
    c = client(serve("version: 1\nlimits:\n"
                     "  - { name: c, key: address, algorithm: sliding_window_log, rates: [3/2s, 5/1h] }\n").port)
    answers = [c.send() for _ in range(4)]
    assert [a.status for a in answers] == [200, 200, 200, 429]
    assert answers[0].headers["ratelimit-policy"] == '"c/2s";q=3;w=2, "c/1h";q=5;w=3600'
    wait = int(answers[3].headers["retry-after"])
    assert 1 <= wait <= 2
    time.sleep(wait)
    answers = [c.send() for _ in range(3)]
    assert [a.status for a in answers] == [200, 200, 429]
    assert int(answers[2].headers["retry-after"]) > 3000  # now it is the hour that refuses


COSTS = [  # cost, source address, X-Cost or None, units that one request takes of 10
    ("1", "127.0.0.1", None, 1),
    ("4", "127.0.0.1", None, 4),
    ("4", "127.0.0.1", "1", 4),
    ("{ header: X-Cost }", "127.0.0.1", "7", 7),
    ("{ header: X-Cost }", "127.0.0.1", None, 1),
    ("{ header: X-Cost }", "127.0.0.1", "0", 0),
    ("{ header: X-Cost }", "127.0.0.1", "-5", 1),
    ("{ header: X-Cost }", "127.0.0.1", "2.5", 1),
    ("{ header: X-Cost }", "127.0.0.1", "0x2", 1),
    ("{ header: X-Cost }", "127.0.0.1", " 2 ", 2),
    ("{ header: X-Cost }", "127.0.0.2", "0", 1),  # an untrusted client may not name its price
    ("{ header: X-Cost }", "127.0.0.1", "11", None),
    ("{ header: X-Cost }", "127.0.0.1", "99999999999999999999999", None),
]


# Expensive calls take more units, and who may say so is the proxy.
@pytest.mark.parametrize("cost, source, header, takes", COSTS)
def test_cost(serve, client, cost, source, header, takes):
    port = serve("version: 1\nclient: { trusted_proxies: [127.0.0.1] }\n"
                 f"limits:\n  - {{ name: c, key: global, rate: 10/1d, cost: {cost} }}\n").port
    answer = client(port, source).send(headers={} if header is None else {"X-Cost": header})
    if takes is None:  # above what the limit can ever hold: no wait is named that would not help
        assert answer.status == 429 and "retry-after" not in answer.headers
        assert json.loads(answer.body)["reason"] == "cost_exceeds_limit"
    else:
        assert (answer.status, answer.headers["x-ratelimit-remaining"]) == (200, str(10 - takes))


# Password guessing: only failures count, a right password costs nothing, and neither does a refusal.
def test_only_failures_count(serve, client, upstream):
    c = client(serve("version: 1\nlimits:\n"
                     "  - { name: login, match: { method: POST, path: /login }, key: address,\n"
                     "      algorithm: sliding_window_log, rate: 3/2s, count: failures, statuses: [401, 422] }\n").port)
    login = lambda status: c.send("POST", "/login", headers={"X-Answer-Status": str(status)})
    assert [login(200).status for _ in range(10)] == [200] * 10
    assert [login(403).status for _ in range(3)] == [403] * 3  # not listed
    assert [login(s).status for s in (401, 422, 401)] == [401, 422, 401]
    before = len(upstream.seen)
    refused = [login(200) for _ in range(5)]
    assert [r.status for r in refused] == [429] * 5 and len(upstream.seen) == before
    assert c.send("GET", "/login").status == 200
    # Across the edge: the wait is true, and the window has not begun anew with all three.
    time.sleep(int(refused[-1].headers["retry-after"]))
    assert login(401).status == 401


# Whatever moment guessing starts at, no stretch of the window's length holds more than the limit.
def test_failures_across_window_edges(serve, client):
    c = client(serve("version: 1\nlimits:\n"
                     "  - { name: login, key: address, algorithm: sliding_window_log, rate: 4/1s, count: failures }\n").port)
    tried = []
    end = time.monotonic() + 4
    while time.monotonic() < end:
        sent = time.monotonic()
        if c.send("POST", "/login", headers={"X-Answer-Status": "401"}).status == 401:
            tried.append((sent, time.monotonic()))
        time.sleep(0.01)
    assert len(tried) >= 12
    # Each was charged between its sending and its answer, so four in a window bound this from below.
    for first, fifth in zip(tried, tried[4:]):
        assert fifth[1] - first[0] >= 1


# A login limit may be charged by requests that another limit refuses, up to what it holds, never above.
@pytest.mark.parametrize("count_denied, left", [("false", [2, 2, 2, 2]), ("true", [2, 1, 0, 0])])
def test_refusals_may_be_charged(serve, client, count_denied, left):
    c = client(serve("version: 1\nlimits:\n"
                     f"  - {{ name: login, key: address, rate: 3/1d, algorithm: fixed_window, count_denied: {count_denied} }}\n"
                     "  - { name: all, key: global, rate: 1/1d, algorithm: fixed_window }\n").port)
    answers = [c.send() for _ in range(4)]
    assert [a.status for a in answers] == [200, 429, 429, 429]
    assert [int(re.search(r'"login";r=(\d+)', a.headers["ratelimit"]).group(1)) for a in answers] == left


# --- exempt, blocked, banned

EXEMPT = [  # entry, an exempt request, one that is not: (source, target, fields)
    ("{ address: [127.0.0.7, 127.0.1.0/24] }", ("127.0.1.9", "/", {}), ("127.0.0.8", "/", {})),
    ("{ path: /health }", ("127.0.0.1", "//health/", {}), ("127.0.0.1", "/healthy", {})),
    ("{ header: { name: X-Internal-Token, sha256: %s } }" % sha256("s3cret"),
     ("127.0.0.1", "/", {"X-Internal-Token": "s3cret"}), ("127.0.0.1", "/", {"X-Internal-Token": "s3cre"})),
    ("{ api_key_sha256: %s }" % sha256("vip"), ("127.0.0.1", "/", {"X-API-Key": "vip"}), ("127.0.0.1", "/", {"X-API-Key": "VIP"})),
]


# Exempt requests meet no limit, not even a global one, use none up, and carry no limit's headers.
@pytest.mark.parametrize("entry, exempt, counted", EXEMPT, ids=["address", "path", "header", "api_key"])
def test_exempt(serve, client, entry, exempt, counted):
    port = serve("version: 1\nidentity: { api_key: { header: X-API-Key } }\n"
                 f"exempt:\n  - {entry}\nlimits:\n  - {{ name: c, key: global, rate: 2/h }}\n").port
    send = lambda r: client(port, r[0]).send("GET", r[1], headers=r[2])
    assert [send(counted).status for _ in range(3)] == [200, 200, 429]
    answers = [send(exempt) for _ in range(5)]
    assert [a.status for a in answers] == [200] * 5
    assert not [name for name in answers[0].headers if "ratelimit" in name]


# The block list comes before everything, exemptions included.
def test_blocked(serve, client, upstream):
    port = serve("version: 1\nblock: [127.0.0.66, 127.1.0.0/16]\nexempt: [ { path: /health } ]\n"
                 "limits:\n  - { name: c, key: address, rate: 10/h }\n").port
    for source, want in (("127.0.0.66", 403), ("127.1.2.3", 403), ("127.0.0.67", 200)):
        answer = client(port, source).send("GET", "/health")
        assert answer.status == want, source
    refused = client(port, "127.0.0.66").send()
    assert (refused.body, refused.headers["cache-control"]) == (b'{"error":"forbidden"}\n', "no-store")
    assert len(upstream.seen) == 1


# Who is refused too often is refused for a while: also where the limit itself would admit again.
def test_banned(serve, client):
    port = serve("version: 1\nlimits:\n"
                 "  - { name: c, key: address, algorithm: sliding_window_log, rate: 3/1s,\n"
                 "      ban: { after: 5 refusals in 1min, for: 4s } }\n").port
    c, other = client(port), client(port, "127.0.0.2")
    assert statuses(c, 3 + 5) == [200] * 3 + [429] * 5
    start = time.monotonic()
    banned = c.send()
    assert banned.status == 429 and 2 <= int(banned.headers["retry-after"]) <= 4
    assert json.loads(banned.body)["limit"] == "c"
    assert other.send().status == 200
    time.sleep(1.5)  # the limit's own window has passed
    assert c.send().status == 429
    time.sleep(max(0, start + int(banned.headers["retry-after"]) - time.monotonic()))
    assert c.send().status == 200


# --- modes

# Shadow limits report and refuse nothing; what they report is off unless asked for.
@pytest.mark.parametrize("top, responses, mode, statuses_, shadow", [
    ("", "", "enforce", [200, 200, 429, 429], [None] * 4),
    ("", "", "shadow", [200] * 4, [None] * 4),
    ("", "responses: { shadow_header: true }\n", "shadow", [200] * 4, [None, None, "c", "c"]),
    ("mode: shadow\n", "responses: { shadow_header: true }\n", "enforce", [200] * 4, [None, None, "c", "c"]),
    ("", "responses: { shadow_header: true }\n", '"off"', [200] * 4, [None] * 4),
])
def test_modes(serve, client, top, responses, mode, statuses_, shadow):
    c = client(serve(f"version: 1\n{top}{responses}limits:\n  - {{ name: c, key: address, rate: 2/h, mode: {mode} }}\n").port)
    answers = [c.send() for _ in range(4)]
    assert [a.status for a in answers] == statuses_
    assert [a.headers.get("x-ratelimit-shadow") for a in answers] == shadow


# A shadow limit changes nothing for anybody: not what is refused, counted, reported or understood.
def test_a_shadow_limit_has_no_effect(serve, client):
    shadow = ("  - { name: s1, key: global, rate: 1/h, mode: shadow }\n"
              "  - { name: s2, key: query(q), rate: 1/h, mode: shadow }\n"
              "  - { name: s3, key: header(X-T), rate: 1/h, mode: shadow, on_missing_key: deny }\n")
    policy = "version: 1\nlimits:\n%s  - { name: c, key: address, rate: 4/h }\n"
    requests = ["/", "/?q=1&q=2", "/?q=1", "/?q=1&q=1", "/", "/"]
    got = []
    for text in ("", shadow):
        c = client(serve(policy % text).port)
        answers = [c.send("GET", path) for path in requests]
        got.append([(a.status, a.headers["ratelimit-policy"], a.headers["x-ratelimit-remaining"]) for a in answers])
    assert got[0] == got[1]
    assert [g[0] for g in got[0]] == [200] * 4 + [429] * 2


# --- answers

def headers_of(answer):
    return sorted(n for n in answer.headers if "ratelimit" in n or n in ("retry-after", "x-rl-left"))


IETF = ["ratelimit", "ratelimit-policy"]
X = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "x-ratelimit-window"]
FAMILIES = [  # responses, fields when admitted, fields when refused
    ("{}", IETF + X, IETF + ["retry-after"] + X),
    ("{ headers: [ietf] }", IETF, IETF + ["retry-after"]),
    ("{ headers: [x-ratelimit] }", X, ["retry-after"] + X),
    ("{ headers: [] }", [], ["retry-after"]),
    ("{ on_success: false }", [], IETF + ["retry-after"] + X),
    ("{ headers: [x-ratelimit], names: { remaining: X-RL-Left } }",
     [X[0], X[2], X[3], "x-rl-left"], ["retry-after", X[0], X[2], X[3], "x-rl-left"]),
]


# Which header fields a client sees is the operator's choice; Retry-After is always there.
@pytest.mark.parametrize("responses, admitted, refused", FAMILIES, ids=[f[0] for f in FAMILIES])
def test_header_families(serve, client, responses, admitted, refused):
    c = client(serve(f"version: 1\nresponses: {responses}\nlimits:\n  - {{ name: c, key: address, rate: 1/h }}\n").port)
    assert headers_of(c.send()) == sorted(admitted)
    answer = c.send()
    assert (answer.status, headers_of(answer)) == (429, sorted(refused))


BODIES = [  # the limit's response, request fields, status, content type, pattern of the body
    ("{}", {}, 429, "application/json", r'\{"error":"rate limit exceeded","limit":"c","retry_after":\d+\}\n'),
    ("{}", {"Accept": "application/problem+json, application/json"}, 429, "application/problem+json",
     r'\{"type":"https://iana.org/.*#quota-exceeded","title":"Quota Exceeded","status":429,"violated-policies":\["c"\],.*\}\n'),
    ("{}", {"Accept": "application/json, application/problem+json;q=0.5"}, 429, "application/json", r'\{"error":.*'),
    ("{ status: 503, body: problem }", {}, 503, "application/problem+json", r'\{.*"status":503.*'),
    ("{ body: text, text: 'Wait {retry_after} s ({limit}) {other}' }", {}, 429, "text/plain; charset=utf-8",
     r"Wait 3[56]\d\d s \(c\) \{other\}"),
    ("{ body: text, content_type: text/html, text: '<p>{name}</p>' }", {}, 429, "text/html", "<p>c</p>"),
    ("{ body: text, text: slow, languages: { de: langsam, fr: lent } }", {"Accept-Language": "de-AT, fr;q=0.5"}, 429,
     "text/plain; charset=utf-8", "langsam"),
    ("{ body: text, text: slow, languages: { de: langsam, fr: lent } }", {"Accept-Language": "fr;q=0.5, de;q=0.1"}, 429,
     "text/plain; charset=utf-8", "lent"),
    ("{ body: text, text: slow, languages: { de: langsam } }", {"Accept-Language": "es"}, 429, "text/plain; charset=utf-8", "slow"),
]


# Status, form and language of a refusal, per limit; what stands in the text cannot be a client's.
@pytest.mark.parametrize("response, fields, status, content_type, body", BODIES)
def test_bodies(serve, client, response, fields, status, content_type, body):
    c = client(serve(f"version: 1\nlimits:\n  - {{ name: c, key: address, rate: 1/h, response: {response} }}\n").port)
    c.send()
    answer = c.send("GET", "/%3Cscript%3E?retry_after={x}", headers=fields)
    assert (answer.status, answer.headers["content-type"]) == (status, content_type)
    assert re.fullmatch(body, answer.body.decode(), re.S), answer.body
    assert answer.headers["content-length"] == str(len(answer.body))
    if body in ("langsam", "lent"):
        assert answer.headers["content-language"] == {"langsam": "de", "lent": "fr"}[body]
    if content_type.endswith("json"):
        json.loads(answer.body)


# A refusal of a HEAD request has the same head and no body.
def test_a_refused_head_request_has_no_body(serve):
    port = serve("version: 1\nlimits:\n  - { name: c, key: address, rate: 0/s }\n").port
    status, text = exchange(port, ["HEAD / HTTP/1.1", "Host: x"])
    head, body = text.split("\r\n\r\n", 1)
    assert status == 429 and body == "" and int(re.search(r"Content-Length: (\d+)", head).group(1)) > 0


# Jitter spreads clients that were refused together, and never lets one return before its time.
def test_retry_jitter_only_adds(serve, client):
    c = client(serve("version: 1\nlimits:\n"
                     "  - { name: c, key: address, algorithm: fixed_window, rate: 1/30d, retry_jitter: 1h }\n").port)
    c.send()
    now = time.time()
    true_wait = 30 * 86400 - now % (30 * 86400)
    waits = [int(c.send().headers["retry-after"]) for _ in range(60)]
    assert min(waits) >= true_wait - 30 and max(waits) <= true_wait + 3600 + 30
    assert len(set(waits)) > 30  # of 3,600


# The upstream's own answer keeps its body; its X-RateLimit fields would contradict ours and give way.
def test_compressed_answers_pass_unchanged(started, client):
    import http.server
    import threading

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            body = gzip.compress(b"x" * 1000)
            self.send_response(429 if self.path == "/own" else 200)
            for name, value in (("Content-Encoding", "gzip"), ("Content-Length", str(len(body))),
                                ("X-RateLimit-Limit", "77"), ("Retry-After", "123")):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        gateway = started(harness.Penstock("version: 1\nlimits:\n  - { name: c, key: address, rate: 9/h }\n",
                                           upstream=server.server_address[1]))
        answers = [client(gateway.port).send("GET", p) for p in ("/", "/own")]
        assert [a.status for a in answers] == [200, 429]
        for a in answers:
            assert gzip.decompress(a.body) == b"x" * 1000
            assert (a.headers["x-ratelimit-limit"], a.headers["retry-after"]) == ("9", "123")
    finally:
        server.shutdown()
        server.server_close()
