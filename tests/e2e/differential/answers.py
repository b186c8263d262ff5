"""What a hostile or broken upstream may send: variants of every kind, and how a proxy's client sees them.

`must` is 502 (nothing of the answer reaches the client), forward (all of it does, with `body`), cut (never
what looks like a whole answer) or None. Octets with `evil` are another message: no client may see them, and
the next request on any connection is answered with its own answer.
"""
import re
import socket
import time

from differential.requests import CODINGS_BAD, LENGTHS_BAD, word

OK = b"HTTP/1.1 200 OK\r\n"
EVIL = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
EOF = b"<EOF>"  # the upstream ends the connection here


def case(raw, must=None, body=None, method="GET", minor=1, absent=()):
    return {"raw": raw, "must": must, "body": body, "method": method, "minor": minor, "absent": absent}


def lengths(r):
    if r.random() < 0.2:
        return case(OK + b"Content-Length:" + r.choice([b"5", b" 5 ", b"\t5", b" 05"]) + b"\r\n\r\nhello", "forward", b"hello")
    return case(OK + b"Content-Length: " + r.choice(LENGTHS_BAD) + b"\r\n\r\nhello" + r.choice([b"", EVIL]), "502")


def two_lengths(r):
    other = r.choice([b"6", b"0", b"4", b"005", b"5"])
    lines = [b"Content-Length: 5\r\n", b"content-length: " + other + b"\r\n"]
    r.shuffle(lines)
    return case(OK + (b"X: 1\r\n").join(lines) + b"\r\nhello" + r.choice([b"", EVIL]), None if other.endswith(b"5") else "502")


def both_framings(r):
    lines = [b"Content-Length: %d\r\n" % r.choice([0, 5, 10, 100]), CHUNKED]
    r.shuffle(lines)
    return case(OK + b"".join(lines) + b"\r\n5\r\nhello\r\n0\r\n\r\n" + r.choice([b"", EVIL]), "502")


def codings(r):
    return case(OK + b"Transfer-Encoding: " + r.choice([c for c in CODINGS_BAD if c not in (b"gzip", b"identity")]) + b"\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + r.choice([b"", EVIL, EOF]),
                "502")


def chunk_sizes(r):
    if r.random() < 0.2:
        return case(OK + CHUNKED + b"\r\n" + r.choice([b"5", b"005", b"5;a=b", b"5;a=\"b\""]) + b"\r\nhello\r\n0\r\n\r\n", "forward", b"hello")
    bad = r.choice([b"+5", b"-5", b"0x5", b" 5", b"5,", b"5h", b"5.", b"5\x0b", b"\x005", b"", b"5 5", b"10000000000000005", b"ffffffffffffffff", b"x", b"5\r", b"5;\n", b"5;a\x00"])
    return case(OK + CHUNKED + b"\r\n" + bad + b"\r\nhello\r\n0\r\n\r\n" + r.choice([b"", EVIL]), "cut")


def chunk_data(r):
    bad = r.choice([b"5\r\nhelloX\r\n0\r\n\r\n", b"5\r\nhello\n0\r\n\r\n", b"5\r\nhello0\r\n\r\n", b"5\r\nhello\r\n\r\n0\r\n\r\n", b"4\r\nhello\r\n0\r\n\r\n",
                    b"5\nhello\r\n0\r\n\r\n", b"5\r\nhello\r\n0\n\r\n", b"5\r\nhello\r\r\n0\r\n\r\n"])
    return case(OK + CHUNKED + b"\r\n" + bad + r.choice([b"", EVIL]), "cut")


def status_lines(r):
    bad = r.choice([b"HTTP/1.1 20 OK", b"HTTP/1.1 2000 OK", b"HTTP/1.1  200 OK", b"HTTP/2 200 OK", b"HTTP/2.0 200 OK", b"http/1.1 200 OK", b"ICY 200 OK", b"HTTP/1.1 099 OK", b"HTTP/1.1 600 OK", b"200 OK",
                    b"HTTP/1.1 +20 OK", b"HTTP/1.1 2x0 OK", b"HTTP/1.1\t200 OK", b"HTTP/1.1", b"HTTP/1.1 200\x00OK", b"HTTP/1.1 200 O\rK", b"HTTP/1.10 200 OK", b" HTTP/1.1 200 OK", b"HTTP/1.1 000 OK"])
    return case(bad + b"\r\nContent-Length: 5\r\n\r\nhello", "502")


def fields(r):
    line, must = r.choice([(b"X: a\x00b", "502"), (b"X: a\rb", "502"), (b"X\x00: a", "502"), (b": a", "502"), (b"no colon", "502"), (b"X[]: a", "502"), (b"X: a\r\n folded", None),
                           (b" X: a", "502"), (b"X : a", "forward"), (b"X:", "forward"), (b"X: caf\xe9", "forward"), (b"X: a\x7f", None), (b"X: a\x01", None), (b"X: a\nY: b", None), (b"X\xff: a", "502"),
                           (b"X: " + b"v" * 7000, "forward"), (b"X: " + b"v" * 70_000, "502")])
    return case(OK + line + b"\r\nContent-Length: 5\r\n\r\nhello", must, b"hello")


def interims(r):
    count, minor = r.randint(1, 6), r.choice([0, 1, 1])
    heads = b"".join(b"HTTP/1.1 %d Wait\r\n%s\r\n" % (r.choice([100, 102, 103, 199]), r.choice([b"", b"Link: </a>\r\n"])) for _ in range(count))
    if r.random() < 0.25:
        return case(heads + b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n" + EVIL, "502")
    return case(heads + OK + b"Content-Length: 5\r\n\r\nhello", "forward", b"hello", minor=minor)


def without_body(r):
    status, method = r.choice([(b"204 No Content", "GET"), (b"304 Not Modified", "GET"), (b"200 OK", "HEAD"), (b"404 Not Found", "HEAD")])
    framing = r.choice([b"Content-Length: %d\r\n" % len(EVIL), b"", CHUNKED]) if status[:3] != b"204" else r.choice([b"Content-Length: 5\r\n", b""])
    return case(b"HTTP/1.1 " + status + b"\r\n" + framing + b"\r\n" + EVIL, "forward", b"", method=method)


def surplus(r):
    framing = r.choice([b"Content-Length: 5\r\n\r\nhello", CHUNKED + b"\r\n5\r\nhello\r\n0\r\n\r\n"])
    return case(OK + framing + r.choice([EVIL, b"\r\n" + EVIL, b"evil", b"\x00evil", EVIL * 3]), "forward", b"hello")


def cut_short(r):
    part = r.choice([b"Content-Length: 10\r\n\r\nhello", CHUNKED + b"\r\n5\r\nhello\r\n", CHUNKED + b"\r\n5\r\nhello\r\n0\r\n", CHUNKED + b"\r\n5\r\nhel", CHUNKED + b"\r\n5", CHUNKED + b"\r\n"])
    return case(OK + part + EOF, "cut")


def cut_head(r):
    whole = OK + b"X-" + word(r) + b": 1\r\nContent-Length: 5\r\n\r\n"
    return case(whole[:r.randrange(1, len(whole) - 1)] + EOF, "502")


def until_close(r):
    body = b"x" * r.choice([0, 1, 5000, 100_000])
    return case(b"HTTP/1.%d 200 OK\r\n" % r.randrange(2) + r.choice([b"", b"Connection: close\r\n"]) + b"\r\n" + body + EOF, "forward", body, minor=r.randrange(2))


def connection_options(r):
    return case(OK + b"Connection: " + r.choice([b"X-Foo", b"close, X-Foo", b"x-foo, keep-alive"]) + b"\r\nX-Foo: 1\r\nKeep-Alive: timeout=5\r\nContent-Length: 5\r\n\r\nhello", "forward",
                b"hello", absent=("x-foo",))


def old_versions(r):
    return case(b"HTTP/1.0 200 OK\r\n" + r.choice([CHUNKED + b"\r\n5\r\nhello\r\n0\r\n\r\n", CHUNKED + b"Connection: keep-alive\r\n\r\n5\r\nhello\r\n0\r\n\r\n"]) + r.choice([b"", EVIL]), "502")


KINDS = (lengths, two_lengths, both_framings, codings, chunk_sizes, chunk_data, status_lines, fields, interims, without_body, surplus, cut_short, cut_head,
         until_close, connection_options, old_versions)


def variants(r, each):
    out = []
    for kind in KINDS:
        seen = {}
        for _ in range(20 * each):
            made = kind(r)
            seen.setdefault((made["raw"], made["method"], made["minor"]), made)
            if len(seen) == each:
                break
        out.extend({**made, "id": f"response {kind.__name__}-{n}", "kind": f"response {kind.__name__}"} for n, made in enumerate(seen.values()))
    return out


class Seen:
    """What the client of one proxy saw."""

    def __init__(self, received, closed, method):
        self.received, self.closed = received, closed
        at, self.status, self.body, self.whole, self.head = 0, None, b"", False, b""
        while match := re.compile(rb"HTTP/1\.[01] (\d{3})[^\r\n]*\r\n").match(received, at):
            end = received.find(b"\r\n\r\n", at)
            if end < 0:
                break
            self.status, self.head, at = int(match[1]), received[at:end + 2], end + 4
            if self.status >= 200:
                self.read_body(received[at:], method)
                break
        whole = "error" if self.status and self.status >= 500 else "passed"
        self.key = whole if self.whole else "cut" if closed else "wait"

    def read_body(self, rest, method):
        fields = self.head.lower()
        length = re.search(rb"\r\ncontent-length: *(\d+)\r\n", fields)
        if method == "HEAD" or self.status in (204, 304):
            self.body, self.whole = rest, True
        elif b"\r\ntransfer-encoding: chunked\r\n" in fields:
            while match := re.match(rb"([0-9a-fA-F]+)[^\r\n]*\r\n", rest):
                size, rest = int(match[1], 16), rest[match.end():]
                self.whole = size == 0 and rest.startswith(b"\r\n")
                if size == 0 or len(rest) < size + 2:
                    break
                self.body, rest = self.body + rest[:size], rest[size + 2:]
        elif length:
            self.body, self.whole = rest, len(rest) >= int(length[1])
        else:
            self.body, self.whole = rest, self.closed

    def __str__(self):
        return f"{self.key} ({self.status}): {self.received[-60:]!r}"


def ask(port, method="GET", minor=1):
    received, closed = b"", False
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(f"{method} /x HTTP/1.{minor}\r\nHost: example.test\r\n\r\n".encode())
        end = time.monotonic() + 5
        while time.monotonic() < end and not closed:
            client.settimeout(0.05)
            try:
                part = client.recv(65536)
                closed = not part
                received += part
            except socket.timeout:
                if Seen(received, False, method).whole:
                    break
            except OSError:
                closed = True
    return Seen(received, closed, method)


def send(port, upstream, one):
    """(what the client of this answer saw, what the next client saw)"""
    upstream.script = one["raw"]
    return ask(port, one["method"], one["minor"]), ask(port)


def judge(one, seen, after):
    if b"evil" in seen.received or b"evil" in after.received:
        return "another message reached a client"
    if (after.status, after.body) != (200, b"plain"):
        return f"the next request got {after}"
    if seen.key == "wait":
        return f"the client still waits: {seen}"
    if not re.fullmatch(rb"(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[ \t]*[^\x00-\x08\x0a-\x1f\x7f]*\r\n)*", seen.head.partition(b"\r\n")[2]):
        return f"the client got no HTTP: {seen.head!r}"
    if one["must"] == "502" and seen.status != 502:
        return f"passed on: {seen}"
    if one["must"] == "cut" and seen.key == "passed":
        return f"a broken answer looks whole: {seen}"
    if one["must"] == "forward" and (seen.key != "passed" or seen.body != one["body"]):
        return f"a good answer became {seen}"
    if one["minor"] == 0 and re.match(rb"HTTP/1\.[01] 1", seen.received):
        return "a 1.0 client got an interim answer"
    for name in one["absent"]:
        if f"\r\n{name}:".encode() in seen.head.lower():
            return f"{name} reached the client"
    return None
