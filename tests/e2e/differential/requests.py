"""Requests beyond the listed cases: variants of every kind, drawn from a seed.

Each has what must hold whatever others do: `must` is forward, refuse or None (both are defensible),
`n` the most requests that may reach an upstream, `bodies` what those must carry in order, `host` the
only Host that may arrive. A request line with `smuggled` may never arrive from any of them.
"""
HIDDEN = b"GET /smuggled HTTP/1.1\r\nHost: example.test\r\n\r\n"
HOST = b"Host: example.test\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
FIVE = b"5\r\nhello\r\n0\r\n\r\n"


def post(fields, body, target=b"/t"):
    return b"POST " + target + b" HTTP/1.1\r\n" + HOST + fields + b"\r\n" + body


def get(fields=b"", target=b"/t", host=HOST):
    return b"GET " + target + b" HTTP/1.1\r\n" + host + fields + b"\r\n"


def case(raw, must=None, **more):
    return {"raw": raw, "must": must, "n": 1, "bodies": None, "host": None, "absent": [], **more}


def word(r, size=8):
    return bytes(r.choice(b"abcdefghijklmnopqrstuvwxyz") for _ in range(r.randint(1, size)))


def line_folding(r):
    fold = b"\r\n" + r.choice([b" ", b"\t", b"  ", b" \t"])
    lines = [b"X-" + word(r) + b": one", b"Content-Length: 5", b"Host: example.test", b"Connection: keep-alive"]
    r.shuffle(lines)
    where = r.randrange(len(lines) + 1)
    if where == len(lines):  # before any field
        return case(b"POST /t HTTP/1.1" + fold + lines[0] + b"\r\n" + b"\r\n".join(lines[1:]) + b"\r\n\r\nhello", "refuse")
    lines[where] += fold + r.choice([word(r), b"5", b"chunked", b"", b"Transfer-Encoding: chunked"])
    return case(b"POST /t HTTP/1.1\r\n" + b"\r\n".join(lines) + b"\r\n\r\nhello", "refuse")


def space_before_colon(r):
    name, value, body = r.choice([(b"X-A", b"1", b""), (b"Content-Length", b"5", b"hello"), (b"Transfer-Encoding", b"chunked", FIVE),
                                  (b"Content-Length", b"%d" % len(HIDDEN), HIDDEN), (b"Connection", b"close", b"")])
    gap = r.choice([b" ", b"\t", b"  ", b"\x0b", b"\x0c", b"\xa0", b"\x85", b"\x00"])
    return case(post(name + gap + b": " + value + b"\r\n", body), "refuse")


def both_framings(r):
    coding = r.choice([b"chunked", b"Chunked", b"\tchunked", b"chunked ", b"xchunked", b"chunked, identity", b"gzip, chunked",
                       b"identity", b"chunked;x", b",chunked", b"\x0bchunked", b"chunked\x0b", b"\"chunked\""])
    body = b"0\r\n\r\n" + HIDDEN
    fields = [b"Content-Length: %d\r\n" % r.choice([0, 3, 5, len(body), len(body) + 4]), b"Transfer-Encoding: " + coding + b"\r\n"]
    if r.random() < 0.3:
        fields.append(b"X-" + word(r) + b": 1\r\n")
    r.shuffle(fields)
    return case(post(b"".join(fields), body), "refuse")


LENGTHS_BAD = [b"+5", b"-5", b"0x5", b"5e0", b"5.0", b"5 5", b"5,", b",5", b"5,6", b"5, 6", b"5;", b"\"5\"", b"5\x00", b"\x005", b"5\x0b",
               b"\x0c5", b"5\xa0", b"\xd9\xa5", b"5_0", b"0b101", b"18446744073709551621", b"99999999999999999999999",
               b"9223372036854775813000", b"", b"NaN", b"5\r", b"5 chunked", b"0x", b"5L", b"%35"]


def length_forms(r):
    form = r.randrange(4)
    if form < 2:
        return case(post(b"Content-Length: " + r.choice(LENGTHS_BAD) + b"\r\n", b"hello" + r.choice([b"", HIDDEN])), "refuse")
    if form == 2:
        other = r.choice([b"6", b"0", b"05", b"5"])
        lines = [b"Content-Length: 5\r\n", r.choice([b"Content-Length: ", b"content-length:", b"CONTENT-LENGTH:\t"]) + other + b"\r\n"]
        r.shuffle(lines)
        if other.endswith(b"5"):  # equal ones may be taken for one
            return case(post(b"X-A: 1\r\n".join(lines), b"hello" + get(target=b"/second")), n=2)
        return case(post(b"X-A: 1\r\n".join(lines), b"hello" + HIDDEN), "refuse")
    space = r.choice([b"", b" ", b"\t", b"  \t "])
    return case(post(b"Content-Length:" + space + b"5" + r.choice([b"", b" ", b"\t"]) + b"\r\n", b"hello"), "forward", bodies=[b"hello"])


CODINGS_BAD = [b"chunked, chunked", b"chunked,", b",chunked", b"chunked;a=b", b"chunked ;", b"\"chunked\"", b"'chunked'", b"xchunked", b"chunkedx",
               b"chunked\x00", b"\x00chunked", b"chun\x00ked", b"\x0bchunked", b"chunked\x0b", b"\xa0chunked", b"chunked\xff", b"identity",
               b"identity, chunked", b"chunked, identity", b"gzip", b"chunked, gzip", b"deflate;chunked", b"", b"chunk", b"c hunked", b"chunked chunked",
               b"cow", b"chunke%64", b"\r\n chunked", b"\n\tchunked", b"chunked\r"]


def coding_forms(r):
    if r.random() < 0.25:
        text = bytes(c ^ 0x20 if r.random() < 0.5 else c for c in b"chunked")
        name = bytes(c ^ 0x20 if c != 0x2d and r.random() < 0.5 else c for c in b"Transfer-Encoding")
        return case(post(name + b":" + r.choice([b"", b" ", b"\t"]) + text + r.choice([b"", b" ", b"\t"]) + b"\r\n", FIVE), "forward", bodies=[b"hello"])
    lines = [b"Transfer-Encoding: " + r.choice(CODINGS_BAD) + b"\r\n"]
    if r.random() < 0.3:
        lines.append(CHUNKED)
        r.shuffle(lines)
    return case(post(b"".join(lines), FIVE + r.choice([b"", HIDDEN])), "refuse")


def chunk_size(r):
    good = r.choice([b"5", b"05", b"0000005"])
    if r.random() < 0.2:
        return case(post(CHUNKED, good + b"\r\nhello\r\n" + r.choice([b"0", b"00", b"0000"]) + b"\r\n\r\n"), "forward", bodies=[b"hello"])
    bad = r.choice([b"+5", b"-5", b"0x5", b" 5", b"\t5", b"5_", b"5,", b"5h", b"5.", b"5\x0b", b"\x005", b"5\x00", b"\xef\xbc\x95", b"", b"5 5",
                    b"10000000000000005", b"fffffffffffffffff5", b"80000000000000000005", b"ffffffffffffffff", b"8000000000000005", b"x", b"\"5\"", b"5\r",
                    b"0" * 20 + b"5 x", b"5#", b"5\xa0"])
    return case(post(CHUNKED, bad + b"\r\nhello\r\n0\r\n\r\n" + r.choice([b"", HIDDEN])), "refuse")


def chunk_extension(r):
    evil = r.choice([b"\r", b"\n", b"\x00", b"\x01", b"\x7f", b"\x0b"])
    form = r.randrange(5)
    if form < 2:
        text = r.choice([b";" + evil, b";a=" + evil + b"b", b";a=\"" + evil + b"\"", b" " + evil, b";a" + evil])
        must = "refuse" if evil in (b"\r", b"\x00") else None
        return case(post(CHUNKED, b"5" + text + b"\r\nhello\r\n0\r\n\r\n" + r.choice([b"", HIDDEN])), must, n=2)
    if form == 2:
        return case(post(CHUNKED, b"5;" + word(r) * r.choice([600, 4000]) + b"\r\nhello\r\n0\r\n\r\n"))
    if form == 3:  # the two readings of a line end within an extension, each with a request of its own
        return case(post(CHUNKED, b"2;\nxx\r\n" + b"%x" % len(HIDDEN) + b"\r\n0\r\n\r\n" + HIDDEN[:-7] + b"\r\n0\r\n\r\n"), n=2)
    text = r.choice([b";a", b";a=b", b"; a = b", b";a=\"q;r\"", b";a=\"q\\\"r\"", b";a;b;c=1", b";", b" ", b"\t;x", b";=", b";a=\"", b";a=b c"])
    return case(post(CHUNKED, b"5" + text + b"\r\nhello\r\n0" + r.choice([b"", text]) + b"\r\n\r\n"), bodies=[b"hello"])


def chunk_data(r):
    broken = r.choice([b"5\r\nhelloX\r\n0\r\n\r\n", b"5\r\nhello\n0\r\n\r\n", b"5\r\nhello\r0\r\n\r\n", b"5\r\nhello0\r\n\r\n", b"5\r\nhello\r\n\r\n0\r\n\r\n",
                       b"4\r\nhello\r\n0\r\n\r\n", b"5\r\nhello\r\r\n0\r\n\r\n", b"5\nhello\r\n0\r\n\r\n", b"5\rhello\r\n0\r\n\r\n", b"5\r\nhello\r\n0\n\r\n",
                       b"5\r\nhello\r\n0\r\n\n", b"5\r\nhello\r\n0\n\n", b"5\r\nhello  0\r\n\r\n", b"5\n\nhell\r\n0\r\n\r\n", b"5\r\nhello\x00\x000\r\n\r\n"])
    return case(post(CHUNKED, broken + r.choice([b"", HIDDEN])), "refuse")


def trailers(r):
    name = r.choice([b"X-Trail", b"Content-Length", b"Transfer-Encoding", b"Host", b"X-Forwarded-For", b"Authorization", b"Cookie", b"Connection"])
    broken = r.choice([b"", b"", b" folded\r\n", b"no colon\r\n", b"X : 1\r\n", b": v\r\n", b"X: \x00\r\n", b"X: a\rb\r\n"])
    last = name + b": 5\r\n" + broken
    return case(post(CHUNKED, b"5\r\nhello\r\n0\r\n" + last + b"\r\n"), "refuse" if broken else None, bodies=[b"hello"], absent=["x-trail", "authorization", "cookie"])


def trailing_garbage(r):
    first, body = r.choice([(get(), b""), (post(b"Content-Length: 5\r\n", b"hello"), b"hello"), (post(CHUNKED, FIVE), b"hello"), (post(b"Content-Length: 0\r\n", b""), b"")])
    junk = r.choice([b"X\r\n\r\n", b"\x00" * 5, bytes(r.randrange(256) for _ in range(30)) + b"\r\n\r\n", b"GET\r\n\r\n", b"0\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n",
                     b" " + HIDDEN, b"\x00" + HIDDEN, b"x:" + HIDDEN])
    return case(first + junk, "forward", bodies=[body])


def absolute_form(r):
    scheme = r.choice([b"http", b"HTTP", b"hTtP"])
    other = r.choice([b"other.test", b"example.test:81", b"127.0.0.1", b"EXAMPLE.test"])
    if r.random() < 0.5:
        target = scheme + b"://target.test" + r.choice([b"/t", b"/t?x=1", b"", b"/", b"?q"])
        return case(get(target=target, host=b"Host: " + other + b"\r\n"), host="target.test")
    bad = r.choice([b"http:///t", b"http://u@target.test/t", b"http://u:p@target.test/t", b"http://target.test:8a/t", b"http://target.test:99999/t", b"http://[::1/t",
                    b"http:/t", b"http:t", b"http//target.test/t", b"ftp://target.test/t", b"file:///etc/passwd", b"http://target test/t", b"http://tar\x00get/t",
                    b"http://target.test\\@evil.test/t", b"http://target.test#/t", b"javascript:1", b"://target.test/"])
    return case(get(target=bad, host=b"Host: " + other + b"\r\n"), "refuse")


def escapes(r):
    bad = r.choice([b"%", b"%2", b"%G0", b"%0G", b"%00", b"%0d%0a", b"%0A", b"%2F", b"%2f", b"%5C", b"%c0%ae", b"%c0%af", b"%e0%80%af", b"%u002f", b"%%32%66", b"%ff", b"%7f",
                    b"\\", b"\x80", b"\xff", b"\"", b"<", b"|", b"{", b"^", b"`"])
    where = r.choice([b"/a" + bad, b"/" + bad + b"/b", b"/a/" + bad + b"../c", b"/a/.." + bad + b"/c", b"/a?q=" + bad, b"/%2e%2e/" + bad])
    return case(get(target=where))


def dot_segments(r):
    parts = [r.choice([b"a", b"b", b".", b"..", b"%2e", b"%2E%2e", b".%2e", b"", b"c;x", b"..;", b"...", b"%2e;a"]) for _ in range(r.randint(2, 7))]
    return case(get(target=b"/" + b"/".join(parts)))


def controls(r):
    octet = bytes([r.choice([0, 10, 13, 1, 8, 11, 12, 27, 31, 127])])
    at = r.choice(["method", "target", "version", "name", "value", "between"])
    text = {"method": b"G" + octet + b"ET /t HTTP/1.1\r\n" + HOST, "target": b"GET /t" + octet + b"u HTTP/1.1\r\n" + HOST,
            "version": b"GET /t HTTP/1." + octet + b"1\r\n" + HOST, "name": b"GET /t HTTP/1.1\r\n" + HOST + b"X" + octet + b"A: 1\r\n",
            "value": b"GET /t HTTP/1.1\r\n" + HOST + b"X-A: a" + octet + b"b\r\n", "between": b"GET /t HTTP/1.1" + octet + b"\r\n" + HOST}[at]
    strict = at in ("method", "version", "name") or octet in b"\x00\r" or (at == "target" and octet != b"\n")
    return case(text + b"\r\n", "refuse" if strict and not (octet == b"\n" and at in ("name", "between")) else None)


def caps(r):
    form = r.randrange(3)
    if form == 0:
        count = r.randint(95, 105)
        fields = b"".join(b"X-%d: v\r\n" % i for i in range(count - 1))
        return case(get(fields), "forward" if count <= 100 else "refuse")
    size = r.choice([4000, 8000, 15_500, 17_000, 40_000, 70_000])
    if form == 1:
        return case(get(target=b"/" + b"a" * size), "forward" if size <= 8000 else "refuse")
    step = r.choice([100, 1000, 7000])
    fields = b"".join(b"X-%d: %s\r\n" % (i, b"v" * min(step, size - i * step)) for i in range(min(90, -(-size // step))))
    return case(get(fields), "forward" if len(get(fields)) < 16_000 else "refuse" if len(get(fields)) > 16_600 else None)


def pipelines(r):
    raw, bodies = b"", []
    for number in range(r.randint(2, 5)):
        target = b"/p%d" % number
        body = r.choice([HIDDEN, b"0\r\n\r\n" + HIDDEN, b"\r\n\r\n" + HIDDEN, b"x" * r.randint(0, 3000)])
        if r.random() < 0.4:
            raw, body = raw + get(target=target), b""
        elif r.random() < 0.5:
            raw += post(b"Content-Length: %d\r\n" % len(body), body, target)
        else:
            cut = r.randint(0, len(body))
            parts = [p for p in (body[:cut], body[cut:]) if p]
            raw += post(CHUNKED, b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in parts) + b"0\r\n\r\n", target)
        bodies.append(body)
    return case(raw, "forward", n=len(bodies), bodies=bodies)


def request_lines(r):
    version = r.choice([b"HTTP/1.1x", b"HTTP/01.1", b"HTTP/1.01", b"http/1.1", b"HTTP/1,1", b"HTTP /1.1", b"HTTP/ 1.1", b"ICY/1.1", b"HTTP/1.1.1", b"HTTP/11", b"HTTP/-1.1", b"HTTP/2.0", b"HTTP/0.9",
                        b"HTTP/1.", b"HTTP/.1", b"HTTPS/1.1", b"1.1", b"HTTP/1.1 HTTP/1.1", b"/smuggled HTTP/1.1", b"HTTP/\xef\xbc\x91.1"])
    if r.random() < 0.5:
        return case(b"GET /t " + version + b"\r\n" + HOST + b"\r\n", "refuse")
    method = r.choice([b"get", b"Get", b"GET\xa0", b"G(T", b"G,T", b"G/T", b"G:T", b"G[T", b"G{T", b"G@T", b"G=T", b"", b"\x80ET", b"PRI", b"CONNECT", b"TRACE", b"A" * 300, b"G!T", b"_", b"X-NEW"])
    valid = method in (b"get", b"Get", b"PRI", b"CONNECT", b"TRACE", b"A" * 300, b"G!T", b"_", b"X-NEW")
    return case(method + b" /t HTTP/1.1\r\n" + HOST + b"\r\n", None if valid else "refuse")


def hosts(r):
    bad = r.choice([b"a@example.test", b"example.test/", b"example.test:8a", b"example.test:-1", b"example.test:99999", b"[::1", b"::1", b"[::1]x", b"[gg::1]", b"exa mple.test", b"example.test, b",
                    b"example.test\x00", b"example.test?x", b"example.test#x", b"http://example.test", b"exam\\ple", b"exa\"mple", b"<a>", b"[::1]:8a", b"%00", b"exa\tmple"])
    form = r.randrange(3)
    if form == 0:
        return case(get(host=b"Host: " + bad + b"\r\n"), None if bad in (b"example.test:99999", b"%00", b"[gg::1]", b"::1", b"<a>", b"exa\"mple", b"exam\\ple") else "refuse")
    if form == 1:
        lines = [b"Host: example.test\r\n", r.choice([b"host: ", b"HOST:", b"Host:\t"]) + r.choice([b"other.test", b"example.test", b""]) + b"\r\n"]
        r.shuffle(lines)
        return case(get(host=lines[0] + r.choice([b"", b"X: 1\r\n"]) + lines[1]), "refuse")
    return case(get(host=b"Host: " + r.choice([b"example.test:80", b"[::1]:80", b"EXAMPLE.TEST", b"a-b.c_d.test", b"1.2.3.4:8080", b"xn--nxa.test"]) + b"\r\n"), "forward")


def connection_options(r):
    named = r.choice([b"X-Foo", b"x-foo", b"Content-Length", b"Transfer-Encoding", b"Host", b"Cookie", b"Authorization", b"X-Forwarded-For", b"Connection"])
    value = r.choice([b"%s", b"keep-alive, %s", b"%s,", b",%s", b" %s ", b"close, %s, X-Other", b"\"%s\"", b"%s;q=1"]) % named
    return case(post(b"Connection: " + value + b"\r\nX-Foo: 1\r\nContent-Length: 5\r\n", b"hello"), bodies=[b"hello"],
                absent=["x-foo"] if named.lower() == b"x-foo" and b"\"" not in value and b";" not in value else [])


def expectations(r):
    value = r.choice([b"100-continue", b"100-Continue", b"100-continue, x", b"x", b"", b"100-continue\x0b", b"200-ok", b" 100-continue ", b"100 continue", b"100-continue;a=b"])
    method = r.choice([b"POST", b"GET", b"OPTIONS", b"HEAD", b"DELETE"])
    framing, body = r.choice([(b"Content-Length: %d\r\n" % len(HIDDEN), HIDDEN), (b"Content-Length: 0\r\n", b""), (CHUNKED, b"%x\r\n%s\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN))])
    return case(method + b" /t HTTP/1.1\r\n" + HOST + b"Expect: " + value + b"\r\n" + framing + b"\r\n" + body, bodies=[HIDDEN if body else b""])


def upgrades(r):
    token = r.choice([b"websocket", b"h2c", b"TLS/1.0", b"foo", b"websocket, h2c", b""])
    fields = b"Upgrade: " + token + b"\r\nConnection: " + r.choice([b"Upgrade", b"upgrade", b"Upgrade, HTTP2-Settings", b"close, Upgrade", b"keep-alive"]) + b"\r\n"
    if token == b"h2c":
        fields += b"HTTP2-Settings: AAMAAABkAAQAAP__\r\n"
    return case(get(fields) + get(target=b"/second"), n=2)


MEANINGFUL = [b"\r", b"\n", b"\r\n", b"\r\n\r\n", b" ", b"\t", b":", b",", b";", b"\x00", b"0", b"5", b"\"", b"chunked", b"Content-Length: 0\r\n", CHUNKED, b"\x0b", b"\xff", b"HTTP/1.1", b"/", b"?", b"#", b"%"]


def havoc(r, seeds):
    """One to three cuts, insertions, repetitions or swaps in a listed case."""
    raw = r.choice(seeds)
    for _ in range(r.randint(1, 3)):
        at, to = sorted((r.randrange(len(raw) + 1), r.randrange(len(raw) + 1)))
        to = min(to, at + 12)
        raw = r.choice([raw[:at] + r.choice(MEANINGFUL) + raw[at:], raw[:at] + raw[to:], raw[:at] + raw[at:to] * 2 + raw[to:],
                        raw[:at] + bytes([r.randrange(256)]) + raw[at + 1:]]) or b"\r\n"
    return case(raw, n=raw.count(b"HTTP/1.") + 1, allows_smuggled=b"smuggled" in raw)


KINDS = (line_folding, space_before_colon, both_framings, length_forms, coding_forms, chunk_size, chunk_extension, chunk_data, trailers,
         trailing_garbage, absolute_form, escapes, dot_segments, controls, caps, pipelines, request_lines, hosts, connection_options, expectations, upgrades)


def variants(r, each, seeds):
    """`each` different requests of every kind, and four times as many havocs."""
    out = []
    for kind, make, count in [(k.__name__, k, each) for k in KINDS] + [("havoc", lambda r: havoc(r, seeds), 4 * each)]:
        seen = {}
        for _ in range(20 * count):
            made = make(r)
            seen.setdefault(made["raw"], made)
            if len(seen) == count:
                break
        for number, made in enumerate(seen.values()):
            out.append({**made, "id": f"{kind}-{number}", "kind": kind, "half_close": False})
    return out
