"""Every hostile and every odd message of src/net/testdata through the real binary.

A case is right when the upstream got exactly the complete requests that it should, re-serialised, and
the client got the answer that the case names or one that it lists as equally good. The upstream here
parses strictly and records; a request that it could not parse fails the case.

At scale 1 each request case is sent whole, octet by octet and over TLS; at scale 10 in all ways of WAYS.
"""
import concurrent.futures
import contextlib
import json
import re
import socket
import threading
import time

import harness
from test_tls import Certificates

DATA = harness.ROOT / "src/net/testdata"
POLICY = """\
version: 1
gateway: { max_body: 1MiB, body_timeout: 1s, response_timeout: 2s, head_timeout: 3s }
identity:
  api_key: { header: X-Api-Key }
limits:
  - { name: never, match: { path: /always-429 }, key: global, rate: 0/s }
"""
WAYS = ["whole", "octets", "tls", "lines", "kept", "pipelined", "canary", "tls octets"]
CHOSEN = WAYS if harness.SCALE >= 10 else WAYS[:3]
LANES = 4


def load(name):
    with open(DATA / name, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class Broken(Exception):
    """What arrived is not a request that this upstream accepts."""


class Reader:
    def __init__(self, connection):
        self.connection = connection
        self.held = b""

    def more(self):
        part = self.connection.recv(65536)
        if not part:
            raise EOFError
        self.held += part

    def until(self, mark):
        while mark not in self.held:
            self.more()
        found, self.held = self.held.split(mark, 1)
        return found

    def exactly(self, size):
        while len(self.held) < size:
            self.more()
        found, self.held = self.held[:size], self.held[size:]
        return found


class RecordingUpstream:
    """Accepts only what RFC 9112 lets a sender send, and writes down every request it began."""

    def __init__(self):
        self.lock = threading.Lock()
        self.begun = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection:
            connection.settimeout(30)
            reader = Reader(connection)
            while True:
                try:
                    self.one(reader, connection)
                except (OSError, EOFError):
                    return

    def one(self, reader, connection):
        record = {"line": "", "fields": {}, "body": b"", "complete": False, "broken": None}
        head = reader.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        record["line"] = head[0]
        with self.lock:
            self.begun.append(record)
        try:
            self.parse(record, head, reader, connection)
            record["complete"] = True
        except Broken as why:
            record["broken"] = str(why)
            raise EOFError from why
        body = b"" if record["line"].startswith("HEAD ") else b"ok"
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Up: 1\r\n\r\n" + body)

    @staticmethod
    def parse(record, head, reader, connection):
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+ [\x21-\x7e]+ HTTP/1\.1", record["line"]):
            raise Broken(f"request line {record['line']!r}")
        for line in head[1:]:
            match = re.fullmatch(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)", line)
            if match is None:
                raise Broken(f"field line {line!r}")
            record["fields"].setdefault(match[1].lower(), []).append(match[2].rstrip(" \t"))
        fields = record["fields"]
        if len(fields.get("host", [])) != 1:
            raise Broken("not exactly one Host")
        if "expect" in fields:
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        coding, length = fields.get("transfer-encoding"), fields.get("content-length")
        if coding and length:
            raise Broken("both framings")
        if coding:
            if coding != ["chunked"]:
                raise Broken(f"coding {coding}")
            while True:
                size = reader.until(b"\r\n")
                if not re.fullmatch(rb"[0-9a-fA-F]{1,16}", size):
                    raise Broken(f"chunk size {size!r}")
                if int(size, 16) == 0:
                    if reader.until(b"\r\n"):
                        raise Broken("a trailer was sent on")
                    return
                record["body"] += reader.exactly(int(size, 16))
                if reader.exactly(2) != b"\r\n":
                    raise Broken("chunk end")
        elif length:
            if len(length) != 1 or not re.fullmatch(r"0|[1-9][0-9]*", length[0]):
                raise Broken(f"length {length}")
            record["body"] = reader.exactly(int(length[0]))

    def take(self):
        with self.lock:
            begun, self.begun = self.begun, []
            return begun

    def close(self):
        self.listener.close()


def final_statuses(octets):
    """The statuses of the complete final responses at the front of what a client received."""
    out, at = [], 0
    while match := re.compile(rb"HTTP/1\.1 (\d{3}) [^\r\n]*\r\n").match(octets, at):
        end = octets.find(b"\r\n\r\n", at)
        if end < 0:
            break
        head, at = octets[at:end].lower() + b"\r\n", end + 4
        status = int(match[1])
        if status < 200:
            continue
        out.append((status, b"\r\nconnection: close\r\n" in head))
        length = re.search(rb"\r\ncontent-length: (\d+)\r\n", head)
        if length and status not in (204, 304):
            at += int(length[1])
    return out


def pieces(raw, way):
    if way.endswith("octets"):
        # Long messages in fewer writes: what matters is every split near the structure.
        step = 1 if len(raw) < 600 else 97
        return [raw[i:i + step] for i in range(0, len(raw), step)]
    if way == "lines":
        return re.findall(rb"[^\r\n]*[\r\n]|[^\r\n]+", raw)
    return [raw]


HELLO = b"GET /hello HTTP/1.1\r\nHost: example.test\r\n\r\n"
CANARY = b"GET /canary HTTP/1.1\r\nHost: example.test\r\n\r\n"


class Lane:
    """One gateway with one upstream; cases run on it one after the other."""

    def __init__(self, started, certificates):
        self.upstream = started(RecordingUpstream())
        self.gateway = started(harness.Penstock(POLICY, ("--workers", "1"), upstream=self.upstream.port))
        self.trust = certificates.trusting()
        policy = POLICY.replace("gateway: {", "gateway: { tls: { certificate: %s, key: %s }," % (
            certificates.path("one.test.pem"), certificates.path("one.test.key")))
        self.secure = started(harness.Penstock(policy, ("--workers", "1"), upstream=self.upstream.port))

    @contextlib.contextmanager
    def connection(self, way):
        gateway = self.secure if way.startswith("tls") else self.gateway
        with socket.create_connection(("127.0.0.1", gateway.port), timeout=10) as plain:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if gateway is self.gateway:
                yield plain
                return
            with self.trust.wrap_socket(plain, server_hostname="one.test") as client:
                yield client

    def exchange(self, case, way):
        raw = case["raw"].encode("latin-1")
        before = HELLO if way in ("kept", "pipelined") else b""
        after = CANARY if way == "canary" and not case["half_close"] else b""
        with self.connection(way) as client:
            received, closed = b"", False
            try:
                if way == "kept":
                    client.sendall(before)
                    while not final_statuses(received):
                        received += client.recv(65536)
                    received, before = b"", b""
                for piece in pieces(before + raw + after, way):
                    client.sendall(piece)
                if case["half_close"]:
                    client.shutdown(socket.SHUT_WR)
            except OSError:
                closed = True  # refused before the end of what we wanted to say
            want = max(1, case["complete"]) + (1 if way == "pipelined" else 0)
            end = time.monotonic() + 6
            quiet = None
            while time.monotonic() < end and not closed:
                client.settimeout(0.1)
                try:
                    part = client.recv(65536)
                    closed = not part
                    received += part
                except socket.timeout:
                    # All answers are there; a little longer for what must not come.
                    quiet = quiet or (time.monotonic() if len(final_statuses(received)) >= want else None)
                    if quiet and time.monotonic() - quiet > 0.1:
                        break
                except OSError:
                    closed = True
        return received, closed

    def judge(self, case, way):
        """None when all is well, else what is wrong."""
        self.upstream.take()
        received, closed = self.exchange(case, way)
        time.sleep(0.03)  # an upstream that was cut notices
        begun = [r for r in self.upstream.take() if r["line"] != "GET /hello HTTP/1.1"]
        statuses = final_statuses(received)
        if way == "pipelined":
            if not statuses or statuses[0][0] != 200:
                return f"the request ahead was answered {statuses[:1]}"
            statuses = statuses[1:]
        canaries = [r for r in begun if "/canary" in r["line"]]
        begun = [r for r in begun if "/canary" not in r["line"]]
        complete = [r for r in begun if r["complete"]]
        for record in begun:
            if record["broken"]:
                return f"the upstream got no HTTP: {record['broken']}"
            if "smuggled" in record["line"]:
                return f"smuggled: {record['line']}"
        if len(complete) > max(1, case["complete"]):
            return f"{len(complete)} requests out of {case['complete']}"
        first = statuses[0][0] if statuses else None
        got = "forward" if complete else f"reject-{first}" if first else "close" if closed else "open"
        if canaries and got not in ("forward", "reject-429"):
            return f"a request passed behind a message that was not forwarded ({got})"
        if got == "open" or (first and not complete and first < 400):
            return f"{got}, statuses {statuses}"
        # A limit's refusal may keep the connection; any other ends it.
        if got.startswith("reject") and first != 429 and not (statuses[0][1] and closed):
            return f"{got} without Connection: close and an end"
        wanted = [case["expect"], *case["also"]]
        if got == "forward":
            if "forward" not in wanted:
                return "let through"
            if case["expect"] == "forward" and way != "canary" and len(complete) != case["complete"]:
                return f"{len(complete)} requests instead of {case['complete']}"
            return self.differences(case, complete)
        if got in wanted:
            return None
        rejects = got.startswith("reject") or got == "close"
        if case["expect"] == "forward":
            ok = any(w.startswith("reject") for w in case["also"]) and rejects
            return None if ok else f"a valid request got {got}"
        # Another refusal than the named one is as safe; a body too slow may be told with 408.
        return None if rejects else f"{got} instead of {wanted}"

    @staticmethod
    def differences(case, complete):
        want = case["upstream"] or {}
        record = complete[0]
        for name in want.get("absent", []):
            if name in record["fields"]:
                return f"{name} reached the upstream"
        for name in want.get("present", []):
            if name not in record["fields"]:
                return f"{name} is missing at the upstream"
        for name, value in want.get("header", {}).items():
            if record["fields"].get(name) != [value]:
                return f"{name} is {record['fields'].get(name)}"
        if "target" in want and record["line"].split(" ")[1] != want["target"]:
            return f"target {record['line'].split(' ')[1]}"
        return None


def test_request_cases(started):
    cases = load("request_cases.jsonl")
    certificates = started(Certificates("one.test"))
    lanes = [Lane(started, certificates) for _ in range(LANES)]

    def run(lane):
        found = []
        for number, case in enumerate(cases):
            if number % LANES != lane:
                continue
            for way in CHOSEN:
                if way.startswith("tls") and case["half_close"]:
                    continue  # TLS peers end both halves
                wrong = lanes[lane].judge(case, way)
                if wrong:
                    found.append(f"{case['id']} [{case['level']}, {way}]: {wrong}")
        return found

    with concurrent.futures.ThreadPoolExecutor(LANES) as pool:
        failures = sorted(line for lines in pool.map(run, range(LANES)) for line in lines)
    assert not failures, "\n".join(failures)


class ScriptedUpstream:
    """Answers the first request of a case with given octets and every later one with 200."""

    PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nplain"

    def __init__(self):
        self.script = self.PLAIN
        self.silent = False
        self.unsolicited = b""
        self.served = []  # the number of the connection of each request
        self.count = 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.count += 1
            threading.Thread(target=self.serve, args=(connection, self.count), daemon=True).start()

    def serve(self, connection, number):
        with connection:
            connection.settimeout(30)
            reader = Reader(connection)
            try:
                while True:
                    reader.until(b"\r\n\r\n")
                    self.served.append(number)
                    answer, self.script = self.script, self.PLAIN
                    if self.silent:
                        self.silent = False
                        connection.recv(1)
                        return
                    ends = answer.endswith(b"<EOF>")
                    connection.sendall(answer.removesuffix(b"<EOF>"))
                    if self.unsolicited:
                        surplus, self.unsolicited = self.unsolicited, b""
                        time.sleep(0.05)
                        connection.sendall(surplus)
                    if ends:
                        return
            except (OSError, EOFError):
                return

    def close(self):
        self.listener.close()


def ask(port, method="GET", minor=1):
    """(octets received until an answer is complete or the end, whether the connection ended)."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(f"{method} /x HTTP/1.{minor}\r\nHost: example.test\r\n\r\n".encode())
        while True:
            heads = received.split(b"\r\n\r\n")
            final = [h for h in heads[:-1] if re.match(rb"HTTP/1\.1 [2-5]", h)]
            if final:
                length = re.search(rb"(?i)content-length: (\d+)", final[0])
                body = received.split(final[0] + b"\r\n\r\n", 1)[1]
                none = method == "HEAD" or b" 204 " in final[0][:14]
                if none or (length and len(body) >= int(length[1])):
                    client.settimeout(0.1)
            try:
                part = client.recv(65536)
            except socket.timeout:
                return received, False
            except OSError:
                return received, True
            if not part:
                return received, True
            received += part


# What an upstream sends is as hostile as what a client sends: two answers for one request is how one
# user gets another's page.
def test_response_cases(started):
    failures = []
    for case in load("response_cases.jsonl"):
        upstream = started(ScriptedUpstream())
        gateway = started(harness.Penstock(POLICY, ("--workers", "1"), upstream=upstream.port))
        wrong = judge_response(case, upstream, gateway)
        if wrong:
            failures.append(f"{case['id']}: {wrong}")
        gateway.close()
        upstream.close()
    assert not failures, "\n".join(failures)


def judge_response(case, upstream, gateway):
    raw = case["upstream_raw"]
    if raw.startswith("<refuses"):
        upstream.close()
        # The listener's thread holds the socket until it is woken.
        harness.wait_for(lambda: not harness.accepts(upstream.port), "the upstream is gone")
    elif raw.startswith("<accepts"):
        upstream.silent = True
    elif raw.startswith("<unsolicited"):
        upstream.unsolicited = raw.split("> ", 1)[1].encode("latin-1")
    else:
        upstream.script = raw.encode("latin-1")
    method, _, minor = case["req"].partition("-1.")
    received, ended = ask(gateway.port, method, int(minor or 1))
    statuses = [int(s) for s in re.findall(rb"HTTP/1\.1 (\d{3}) ", received)]
    final = statuses[-1] if statuses else None
    expect = case["expect"]
    if expect == "drop-1xx" and (final != 200 or len(statuses) != 1):
        return f"statuses {statuses}"
    if expect == "forward" and final not in (200, 204):
        return f"status {final}"
    if expect in ("502", "504") and final != int(expect):
        return f"status {final} instead of {expect}"
    if expect == "close" and not (final == 502 or (ended and not received.endswith(b"0\r\n\r\n"))):
        return "a cut answer looks complete"
    if expect == "forward" and not raw.startswith("<"):
        head, _, body = received.rpartition(b"\r\n\r\n")
        sent = raw.encode("latin-1").rpartition(b"HTTP/1.1")[2].partition(b"\r\n\r\n")[2]
        if method == "HEAD" or final == 204:
            sent = b""
        elif b"ontent-Length: 2" in head:
            sent = sent[:2]
        if body != sent:
            return f"body {body!r} instead of {sent!r}"
        for name, value in re.findall(rb"\r\n(Set-Cookie|Link): ([^\r]*)", raw.encode("latin-1")):
            if name + b": " + value not in received:
                return f"{name} {value} is missing"
    if raw.startswith("<refuses"):
        return None
    if upstream.unsolicited == b"" and raw.startswith("<unsolicited"):
        time.sleep(0.2)
    again, _ = ask(gateway.port)
    if not again.endswith(b"plain"):
        return f"the next request got {again[-60:]!r}"
    if case["then"] == "close" and len(set(upstream.served)) != len(upstream.served):
        return "the upstream's connection was used again"
    return None
