"""What people try in order not to be counted, or to be counted as somebody else: none of it may work.

Messages are written octet by octet, because polite clients would repair them. Framing attacks are in
test_http_cases.py; here the messages are valid HTTP, or nearly, and the aim is the limiter.
"""
import random
import re
import socket

import pytest

import harness


def send(port, lines, source="127.0.0.1", body=b""):
    """One request as written on a connection of its own: (status, the whole answer)."""
    with socket.create_connection(("127.0.0.1", port), timeout=20, source_address=(source, 0)) as s:
        text = b"\r\n".join(l if isinstance(l, bytes) else l.encode("latin-1") for l in lines)
        try:
            s.sendall(text + b"\r\nConnection: close\r\n\r\n" + body)
        except OSError:
            pass  # an early refusal may close before all is sent; the answer is still there
        data = b""
        try:
            while part := s.recv(65536):
                data += part
        except ConnectionResetError:
            pass
    return (int(data.split(b" ", 2)[1]) if data else 0), data.decode("latin-1")


def get(port, target=b"/", *fields, **options):
    target = target if isinstance(target, bytes) else target.encode("latin-1")
    return send(port, [b"GET " + target + b" HTTP/1.1", "Host: x", *fields], **options)[0]


# --- paths

LOGIN = "version: 1\n%slimits:\n  - { name: login, match: { path: /login }, key: address, rate: 1/1d }\n"

SAME = [  # a spelling of /login, what the upstream must get
    ("/login", "/login"),
    ("/login/", "/login/"),
    ("//login", "/login"),
    ("/login//", "/login/"),
    ("///login///", "/login/"),
    ("/./login", "/login"),
    ("/login/.", "/login/"),
    ("/a/../login", "/login"),
    ("/a/b/../../login", "/login"),
    ("/%6Cogin", "/login"),
    ("/%6cogin", "/login"),
    ("/%6C%6F%67%69%6E", "/login"),
    ("/%2e/login", "/login"),
    ("/a/%2e%2e/login", "/login"),
    ("/a/.%2E/login", "/login"),
    ("/login;x=1", "/login"),
    ("/login;", "/login"),
    ("/login;/", "/login/"),
    ("/;a/login", "/login"),
    ("/login?x", "/login?x"),
    ("/login?", "/login?"),
    ("/login/?/../other", "/login/?/../other"),
    ("http://x/login", "/login"),
    ("http://x//login?a", "/login?a"),
    ("HTTP://other.test/%6cogin", "/login"),
]

REFUSED = [  # spellings that servers read in different ways: nobody gets to see them
    "/login%2f", "/login%2F", "/a%2flogin", "/login%5c", "/login\\", "\\login", "/..%2flogin",
    "/login%00", "/login%00.html", "/%00/login", "/login%0d%0a", "/login%0", "/login%", "/login%zz", "/log%u0069n",
    "/../login", "/%2e%2e/login", "/a/../../login", "/..;/login", "/a/..;/../login",
    "/%c0%afogin", "/%c0%ae%c0%ae/login", "/login%c1%9c", "/login%e0%80%af", "/log%7fin",
    "/login#x", "/lo gin", "/login\t", "/login\x00", "/login\x7f", "/login\x85", "/l\xc3\xb6gin", "/log\xc4\xb1n",
]

OTHER = [  # other paths than /login for a case-sensitive upstream, and what it must get
    ("/LOGIN", "/LOGIN"),
    ("/Login", "/Login"),
    ("/%4Cogin", "/Login"),
    ("/login.", "/login."),
    ("/login.json", "/login.json"),
    ("/%256Cogin", "/%256Cogin"),  # decoded once, never twice
    ("/login%2e", "/login."),
    ("/login%20", "/login%20"),
    ("/login%3B", "/login%3B"),
    ("/login%3F", "/login%3F"),
    ("/log%c4%b1n", "/log%C4%B1n"),  # a dotless i
    ("/%EF%BD%8Cogin", "/%EF%BD%8Cogin"),  # a full-width l
    ("/l%C3%B6gin", "/l%C3%B6gin"),
    ("/lo%cc%80gin", "/lo%CC%80gin"),
    ("/login,", "/login,"),
    ("/log+in", "/log+in"),
    ("/*", "/*"),
]


# Every spelling of a path shares the path's counter, and the upstream gets the form that was matched.
def test_spellings_of_a_path_share_its_counter(serve, upstream):
    port = serve(LOGIN % "").port
    for number, (spelling, forwarded) in enumerate(SAME):
        source = f"127.0.1.{number + 1}"  # each spelling begins with a fresh counter …
        before = len(upstream.seen)
        assert get(port, spelling, source=source) == 200, spelling
        assert [s["target"] for s in upstream.seen[before:]] == [forwarded], spelling
        assert get(port, "/login", source=source) == 429, spelling  # … and uses up the only unit
        assert get(port, spelling, source=source) == 429, spelling
    assert len(upstream.seen) == len(SAME)


# What two servers could read in two ways is answered with 400, whether or not a limit names the path.
@pytest.mark.parametrize("policy", ["login", "none"])
def test_ambiguous_paths_reach_nobody(serve, upstream, policy):
    port = serve(LOGIN % "" if policy == "login" else "version: 1\nlimits: [ { name: c, key: global, rate: 9/s } ]\n").port
    assert [(p, s) for p in REFUSED if (s := get(port, p)) != 400] == []
    assert upstream.seen == []
    assert get(port, "/login") == 200  # and nothing of it was counted


# What is a different path for a case-sensitive server is not limited as /login, and arrives as it was matched.
def test_other_paths_stay_other(serve, upstream):
    port = serve(LOGIN % "").port
    assert get(port, "/login") == 200 and get(port, "/login") == 429
    for spelling, forwarded in OTHER:
        assert get(port, spelling) == 200, spelling
        assert upstream.seen[-1]["target"] == forwarded


# For an upstream that ignores case, one setting makes all spellings one path.
def test_case_is_folded_by_choice(serve, upstream):
    port = serve(LOGIN % "paths: { case: fold }\n").port
    assert get(port, "/LOGIN") == 200
    assert upstream.seen[-1]["target"] == "/LOGIN"  # folding is for counting, not for the upstream
    assert [get(port, p) for p in ("/login", "/Login", "/%4Cogin", "//lOGIN/")] == [429] * 4


# With encoded slashes kept they are data: still one canonical form, and no way around by dots.
def test_encoded_slashes_are_kept_by_choice(serve, upstream):
    port = serve(LOGIN % "paths: { encoded_slash: keep }\n").port
    assert get(port, "/a%2fb") == 200 and upstream.seen[-1]["target"] == "/a%2Fb"
    assert [get(port, p) for p in ("/a/..%2flogin", "/a%2f..%2flogin", "/login%00")] == [400] * 3


# Random spellings made of everything that normalisers disagree on: each is refused, or the upstream gets
# a form that is its own canonical form and was counted exactly when it is /login.
def test_random_spellings(serve, upstream):
    seed = 20261130
    choose = random.Random(seed)
    port = serve("version: 1\nlimits:\n  - { name: login, match: { path: /login }, key: header(N), rate: 1/1d }\n").port
    pieces = ["/", "//", "/.", "/..", "/./", "/../", "/a", "/login", "login", "%6c", "l", "ogin", ";", ";x=1", "%2e", "%2E",
              "%2f", "%5c", "?", "%3f", "%25", "%252f", "%c0%ae", "%c3%a9", "%e9", "%00", "."]
    forwarded = 0
    for number in range(400 * harness.SCALE):
        path = "/" + "".join(choose.choice(pieces) for _ in range(choose.randint(1, 7)))
        note = f"seed {seed}, number {number}: {path!r}"
        before = len(upstream.seen)
        status = get(port, path, f"N: {number}")
        if status == 400:
            assert len(upstream.seen) == before, note
            continue
        assert status == 200, note
        target = upstream.seen[-1]["target"]
        only_path = target.split("?")[0]
        assert not re.search(r"//|/\.{1,2}(/|$)|;|\\|%2[fF]|%5[cC]|%00", only_path), note
        again = get(port, target, f"N: {number}")
        if only_path.rstrip("/") == "/login":
            assert again == 429, note
        else:
            assert (again, upstream.seen[-1]["target"]) == (200, target), note
        forwarded += 1
    assert forwarded > 100


# --- forged and stripped fields

FORGED = [
    "X-Forwarded-For: 1.2.3.4", "X-Forwarded-Host: evil", "X-Forwarded-Proto: https", "X-Forwarded-Port: 1",
    "X-Forwarded-Prefix: /admin", "X-Forwarded-Uri: /admin", "X-Forwarded-Method: PUT", "X-Forwarded-Server: e",
    "X-Forwarded: for=1.2.3.4", "Forwarded: for=1.2.3.4", "X-Real-IP: 1.2.3.4", "X-Client-IP: 1.2.3.4",
    "X-Cluster-Client-IP: 1.2.3.4", "True-Client-IP: 1.2.3.4", "CF-Connecting-IP: 1.2.3.4",
    "Fastly-Client-IP: 1.2.3.4", "X-Original-URL: /admin", "X-Original-Host: evil", "X-Rewrite-URL: /admin",
    "X-HTTP-Method-Override: DELETE", "X-Method-Override: DELETE", "X-HTTP-Method: DELETE", "X-Remote-Addr: 1.2.3.4",
    "X-Envoy-External-Address: 1.2.3.4", "X-User-Id: root",
]
IDENTITY = ("identity: { user: { header: X-User-Id }, api_key: { header: X-API-Key } }\n"
            "limits:\n  - { name: c, key: user | address, rate: 1000/h }\n")


# Nobody behind the gateway hears what an untrusted client says about addresses, hosts, methods and users.
@pytest.mark.parametrize("spell", [str, str.lower, str.upper, lambda f: f.replace("-", "_")],
                         ids=["as is", "lower", "upper", "underscores"])
def test_forged_fields_do_not_reach_the_upstream(serve, upstream, spell):
    port = serve("version: 1\n" + IDENTITY).port
    for field in FORGED:
        name, value = field.split(": ")
        assert get(port, "/", f"{spell(name)}: {value}") == 200
        headers = upstream.seen[-1]["headers"]
        told = dict(headers)
        assert told["x-forwarded-for"] == told["x-real-ip"] == "127.0.0.1", field
        assert (told["x-forwarded-host"], told["x-forwarded-proto"], told["host"]) == ("x", "http", "x"), field
        assert [h for h in headers if h[1] == value and h[1] != "https"] == [], field
        assert "_" not in "".join(h[0] for h in headers), field
        assert len(headers) == len(told), field  # nothing twice


# A client cannot remove what the gateway adds, or an identity, by naming it hop-by-hop.
def test_connection_cannot_strip_fields(serve, upstream):
    port = serve("version: 1\nclient: { trusted_proxies: [127.0.0.2] }\n" + IDENTITY).port
    for option in ("X-Forwarded-For", "x-real-ip", "X-Forwarded-Proto", "X-Forwarded-Host", "Via", "X-User-Id",
                   "X-API-Key", "close, X-Forwarded-For", "X-Forwarded-For, X-Real-IP, Forwarded"):
        status = send(port, ["GET / HTTP/1.1", "Host: x", "X-API-Key: a", f"Connection: {option}"])[0]
        assert status == 200, option
        told = dict(upstream.seen[-1]["headers"])
        assert (told["x-forwarded-for"], told["x-real-ip"], told["via"][:3]) == ("127.0.0.1", "127.0.0.1", "1.1"), option
    for option in ("Host", "Content-Length", "Transfer-Encoding"):
        assert send(port, ["GET / HTTP/1.1", "Host: x", f"Connection: {option}"])[0] == 400, option


# What a limit counts by must not vanish on its way: a key named hop-by-hop is still counted.
def test_a_key_named_hop_by_hop_is_still_counted(serve):
    port = serve("version: 1\nidentity: { api_key: { header: X-API-Key } }\n"
                 "limits:\n  - { name: c, key: api_key, rate: 2/h }\n").port
    options = [(), ("Connection: X-API-Key",), ("Connection: x-api-key, close",)]
    assert [get(port, "/", "X-API-Key: a", *o) for o in options] == [200, 200, 429]


# A trusted proxy's chain is kept and continued; a client's forged beginning stays recognisable as such.
def test_a_trusted_chain_is_continued(serve, upstream):
    port = serve("version: 1\nclient: { trusted_proxies: [127.0.0.1] }\n" + IDENTITY).port
    assert get(port, "/", "X-Forwarded-For: 1.2.3.4, 203.0.113.9", "X-Forwarded-For: 127.0.0.1", "X-Real-IP: 9.9.9.9",
               "X-Forwarded-Proto: https", "X-Forwarded-Host: api.test", "X-User-Id: 7") == 200
    told = upstream.seen[-1]["headers"]
    assert ("x-forwarded-for", "1.2.3.4, 203.0.113.9, 127.0.0.1, 127.0.0.1") in told
    assert ("x-real-ip", "203.0.113.9") in told and ("x-user-id", "7") in told
    assert ("x-forwarded-proto", "https") in told and ("x-forwarded-host", "api.test") in told


# --- identity

COUNTED = [  # the key, two fields of which the limiter and the upstream could each read another one
    ("api_key", "X-API-Key: a", "X-API-Key: b"),
    ("api_key", "X-API-Key: a", "x-api-KEY: a"),
    ("api_key", "X-API-Key: a", "X-API-Key: "),
    ("user", "X-User-Id: 1", "x-user-id: 2"),
    ("header(X-T)", "X-T: a", "X-T: b"),
    ("cookie(s)", "Cookie: s=a; s=b", None),
    ("cookie(s)", "Cookie: s=a", "Cookie: s=b"),
]


# A value that is counted by and stands there twice is refused: 400, and the upstream sees neither.
@pytest.mark.parametrize("key, one, two", COUNTED)
def test_a_doubled_identity_is_refused(serve, upstream, key, one, two):
    port = serve("version: 1\nclient: { trusted_proxies: [127.0.0.1] }\n"
                 "identity: { user: { header: X-User-Id }, api_key: { header: X-API-Key } }\n"
                 f"limits:\n  - {{ name: c, key: {key}, rate: 1000/h }}\n").port
    assert get(port, "/", one, *([two] if two else [])) == 400
    assert upstream.seen == []


@pytest.mark.parametrize("target", ["/?k=a&k=b", "/?k=a&x=1&k=a", "/?k=a&%6b=b", "/?k&k=a"])
def test_a_doubled_parameter_is_refused(serve, upstream, target):
    port = serve("version: 1\nidentity: { api_key: { query: k } }\nlimits:\n  - { name: c, key: api_key, rate: 1000/h }\n").port
    assert get(port, target) == 400 and upstream.seen == []


# One field with a list in it is one value, whatever separators it holds: it is nobody else's key.
def test_a_list_is_one_value(serve):
    port = serve("version: 1\nlimits:\n  - { name: c, key: header(X-T), rate: 1/h }\n").port
    assert [get(port, "/", f"X-T: {v}") for v in ("a", "b", "a, b", "a,b", "a", "a, b")] == [200] * 4 + [429] * 2


COLLISIONS = [  # key, pairs of requests that must not share a counter
    ("header(A) + header(B)", [("a:b", "c"), ("a", "b:c"), ("a+b", "c"), ("a", "b+c"), ("a:b:c", ""), ("a", "b")]),
    ("header(A) | header(B)", [("x", ""), ("", "x")]),
    ("header(A) + query(q)", [("{a}", "b"), ("a", "{b}"), ("a}", "b"), ("a", "}b")]),
]


# No two clients share a counter because their values, put together, look alike.
@pytest.mark.parametrize("key, pairs", COLLISIONS, ids=[c[0] for c in COLLISIONS])
@pytest.mark.parametrize("show", ["false", "true"])
def test_composed_keys_do_not_collide(serve, key, pairs, show):
    port = serve(f"version: 1\nlimits:\n  - {{ name: c, key: {key}, show: {show}, rate: 1/1d, on_missing_key: shared }}\n").port
    def ask(pair):
        if "query" in key:
            return get(port, "/?q=" + pair[1], f"A: {pair[0]}")
        return get(port, "/", *[f"{n}: {v}" for n, v in zip("AB", pair) if v])
    assert [ask(p) for p in pairs] == [200] * len(pairs)
    assert [ask(p) for p in pairs] == [429] * len(pairs)


ODD = [  # values of a header, all different clients
    b"a", b"A", b"a ", b"a b", b"a\tb", b"\xe9", b"\xc3\xa9", b"e\xcc\x81", b"\xff\xfe", b"%61", b"%00", b"a%00b", b"\\0",
    b"{a}", b"a}", b"*", b"address:127.0.0.1", b"api_key#00", b"$6\\r\\nFLUSHALL", b"' or 1=1", b"\xe2\x80\xae", b"a" * 4096,
    b"a" * 4095 + b"b", b"0", b"00", b"-0", b"1e0", b"null",
]


# Case, unicode forms, escapes and length tell clients apart; outer blanks are not part of a value.
def test_odd_values_are_their_own_clients(serve):
    port = serve("version: 1\nlimits:\n  - { name: c, key: header(X-T), rate: 1/1d }\n").port
    got = [get(port, "/", b"X-T: " + v) for v in ODD]
    assert [(v, g) for v, g in zip(ODD, got) if g != (429 if v == b"a " else 200)] == []
    assert {get(port, "/", b"X-T:" + v + b"  ") for v in ODD} == {429}


# NUL and other control octets end values early in C programs: they are refused, or are octets like others.
def test_control_octets(serve, upstream):
    port = serve("version: 1\nlimits:\n  - { name: h, key: header(X-T), rate: 1/1d }\n"
                 "  - { name: q, key: query(q), rate: 1/1d }\n").port
    for octet in (0, 1, 8, 11, 12, 27, 127):
        assert get(port, "/", b"X-T: a" + bytes([octet])) == 400, octet
    assert upstream.seen == []
    assert [get(port, "/?q=" + v) for v in ("a", "a%00", "a%00b", "%00", "a%0a", "a")] == [200] * 5 + [429]


# 64 KiB of anything is refused by size or counted like any other value, and the gateway lives.
@pytest.mark.parametrize("limits", ["", "gateway: { max_request_line: 60KiB, max_head: 60KiB }\n"])
def test_64_kib_values(serve, upstream, limits):
    gateway = serve("version: 1\n" + limits + "identity: { api_key: { header: X-API-Key } }\nlimits:\n"
                    "  - { name: k, key: api_key, rate: 1/1d }\n  - { name: r, key: route, rate: 5/1d }\n"
                    "  - { name: c, key: cookie(c), rate: 1/1d }\n  - { name: q, key: query(q), rate: 1/1d }\n")
    big = "a" * 65536
    assert get(gateway.port, "/", "X-API-Key: " + big) == 431
    assert get(gateway.port, "/", "Cookie: c=" + big) == 431
    assert get(gateway.port, "/" + big) in (414, 431)
    assert get(gateway.port, "/?q=" + big) in (414, 431)
    assert get(gateway.port, "/", big + ": 1") == 431
    assert get(gateway.port, "/", *[f"X-{n}: 1" for n in range(200)]) == 431
    assert upstream.seen == []
    fits = "a" * (40000 if limits else 8000)
    assert [get(gateway.port, "/", "X-API-Key: " + v) for v in (fits, fits + "b", fits)] == [200, 200, 429]
    assert [get(gateway.port, "/", "Cookie: c=" + v) for v in (fits, fits + "b", fits)] == [200, 200, 429]


# Made-up keys, hosts, methods and user agents do not buy fresh counters from an address limit.
def test_rotation_buys_nothing(serve, client, tmp_path):
    c = client(serve("version: 1\nlimits:\n  - { name: c, key: address, rate: 5/1d }\n").port)
    got = []
    for n in range(30):
        got.append(c.send(["GET", "POST", "PUT", "OPTIONS", "PATCH"][n % 5], f"/{n}?{n}", headers={
            "Host": f"h{n}", "X-API-Key": str(n), "User-Agent": str(n), "Cookie": f"s={n}", "Authorization": f"Bearer {n}"}).status)
    assert got == [200] * 5 + [429] * 25


# Pipelined requests are counted one by one, and those behind a refusal do not slip through.
def test_pipelined_requests_are_all_counted(serve, upstream):
    port = serve("version: 1\nlimits:\n  - { name: c, key: address, rate: 3/1d }\n").port
    with socket.create_connection(("127.0.0.1", port), timeout=20) as s:
        s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 9 + b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        data = b""
        while part := s.recv(65536):
            data += part
    assert re.findall(rb"HTTP/1.1 (\d+)", data) == [b"200"] * 3 + [b"429"] * 7
    assert len(upstream.seen) == 3


# Host in all its spellings is one host, and the authority of an absolute target wins over Host for both.
def test_spellings_of_a_host(serve, upstream):
    port = serve("version: 1\nlimits:\n  - { name: c, match: { host: api.test }, key: host, rate: 1/1d }\n").port
    ask = lambda target, host: send(port, [f"GET {target} HTTP/1.1", f"Host: {host}"])[0]
    assert ask("/", "api.test") == 200
    for target, host in (("/", "API.TEST"), ("/", "api.test:80"), ("/", "api.test."), ("/", "Api.Test.:8080"),
                         ("http://api.test/", "other.test"), ("http://API.test:99/", "other.test")):
        assert ask(target, host) == 429, (target, host)
    assert ask("http://other.test/", "api.test") == 200
    assert dict(upstream.seen[-1]["headers"])["host"] == "other.test"
    assert send(port, ["GET / HTTP/1.1", "Host: other.test", "Host: api.test"])[0] == 400
