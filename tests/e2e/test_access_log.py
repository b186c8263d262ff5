"""The access log of the real binary: one parseable line a request, whatever was sent, never waited for."""
import contextlib
import json
import os
import socket
import tempfile

import harness

POLICY = """\
version: 1
gateway: {{ access_log: {{ mode: {mode}, path: "{path}", sample: 10, max_lines: 0 }} }}
limits:
  - {{ name: never, match: {{ path: /no }}, key: global, rate: 0/s }}
  - {{ name: soft, match: {{ path: /soft }}, key: global, rate: 0/s, mode: shadow }}
"""

# Octets that have written second lines, moved cursors or broken parsers elsewhere; each is sent in the
# path, in the Host field and in another field.
HOSTILE = [b"\r\n{\"status\":200}", b"\n", b"\r", b"\x1b[2J\x1b]0;x\x07", b"\"}\n{\"a\":\"", b"\\", b"\\u000a",
           b"\xff\xfe", b"\xc3", b"\xe2\x80\xa8", b"\xed\xa0\x80", b"\x7f", b"\x00", b"%0a%0d", b"%22", b"\xc2\x85",
           b"\t", b"'$(x)`", b"</script>", b"A" * 5000]


def lines(path):
    with contextlib.suppress(FileNotFoundError):
        with open(path, "rb") as file:
            octets = file.read()
        assert octets == b"" or octets.endswith(b"\n"), "the last line is not complete"
        return [json.loads(line) for line in octets.split(b"\n")[:-1]]
    return []


def complete_lines(path, count):
    def look():
        with contextlib.suppress(AssertionError):
            found = lines(path)
            return found if len(found) >= count else None
    return harness.wait_for(look, f"{count} lines in the log")


class LogFolder:
    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="penstock-log-")
        self.path = os.path.join(self.folder.name, "access.log")

    def policy(self, mode):
        return POLICY.format(mode=mode, path=self.path)

    def close(self):
        self.folder.cleanup()


# What a line says is what happened.
def test_lines_say_what_happened(started, serve, client, upstream):
    log = started(LogFolder())
    gateway = serve(log.policy("all"))
    c = client(gateway.port, "127.0.0.9")
    assert c.send(path="/a//b/?secret=1").status == 200
    assert c.send(path="/no").status == 429
    assert c.send(path="/soft").status == 200
    assert c.send("POST", "/up", body=b"x" * 10, headers={"X-Answer-Status": "503"}).status == 503
    complete_lines(log.path, 4)  # only the lines of one connection have an order
    assert b" 400 " in harness.raw(gateway.port, b"GET / HTTP/1.1\r\n\r\n")
    plain, denied, soft, failed, bad = complete_lines(log.path, 5)
    assert plain["client"] == plain["peer"] == "127.0.0.9"
    assert (plain["method"], plain["path"], plain["status"], plain["complete"]) == ("GET", "/a/b/", 200, True)
    assert plain["decision"] == "allow" and plain["upstream"] == f"127.0.0.1:{upstream.port}"
    assert plain["bytes"] > 50 and plain["duration_us"] > 0 and plain["time"].endswith("Z")
    assert (denied["status"], denied["decision"], denied["limit"]) == (429, "deny", "never")
    assert denied["upstream"] == "" and not denied["shadow_refused"]
    assert (soft["status"], soft["shadow_refused"]) == (200, True)
    assert (failed["method"], failed["status"]) == ("POST", 503)
    assert (bad["status"], bad["method"], bad["decision"]) == (400, "", "")
    assert "secret" not in open(log.path).read()


# An access log is evidence and the input of other programs: no client may forge or break a line.
def test_injection_attempts_give_one_line_each(started, serve):
    log = started(LogFolder())
    gateway = serve(log.policy("all"))
    sent = 0
    for octets in HOSTILE:
        for request in (b"GET /x" + octets + b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
                        b"GET / HTTP/1.1\r\nHost: a" + octets + b"\r\nConnection: close\r\n\r\n",
                        b"GET / HTTP/1.1\r\nHost: a\r\nX-A: " + octets + b"\r\nConnection: close\r\n\r\n",
                        b"GE" + octets + b"T / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"):
            assert harness.raw(gateway.port, request).startswith(b"HTTP/1.1 ")
            sent += 1
    found = complete_lines(log.path, sent)
    assert len(found) == sent
    for line in found:
        assert set(line) == {"time", "client", "peer", "method", "host", "path", "status", "complete", "bytes",
                             "duration_us", "decision", "limit", "shadow_refused", "upstream"}
        assert line["client"] == "127.0.0.1"
    octets = open(log.path, "rb").read()
    assert not any(c < 0x20 and c != 0x0a or c == 0x7f for c in octets)
    octets.decode("utf-8")


# `sampled` and `refused` write what they say and nothing else; off writes nothing at all.
def test_modes(started, serve, client):
    for mode, want in (("off", 0), ("sampled", 6), ("refused", 40)):
        log = started(LogFolder())
        gateway = serve(log.policy(mode))
        c = client(gateway.port)
        for i in range(60):
            c.send(path=("/a", "/no", "/soft")[i % 3])
        assert gateway.terminate() == 0
        found = lines(log.path)
        assert len(found) == want, mode
        if mode == "refused":
            assert all(line["status"] == 429 or line["shadow_refused"] for line in found)


# A log collector that hangs must cost lines, not requests; the gap is told when it reads again.
def test_a_stopped_reader_does_not_stop_serving(started, serve, client):
    log = started(LogFolder())
    os.mkfifo(log.path)
    reader = os.open(log.path, os.O_RDONLY | os.O_NONBLOCK)
    gateway = serve(log.policy("all"), "--workers", "1")
    c = client(gateway.port)
    requests = 3000
    octets = b"GET /no HTTP/1.1\r\nHost: a\r\n\r\n" * requests
    with socket.create_connection(("127.0.0.1", gateway.port)) as s:
        s.sendall(octets)
        received = b""
        while received.count(b"HTTP/1.1 429 ") < requests:
            part = s.recv(1 << 20)
            assert part
            received += part
    assert c.send().status == 200, "a full log does not hold up the next request"
    os.set_blocking(reader, False)
    got = b""

    def all_accounted_for():
        nonlocal got
        with contextlib.suppress(BlockingIOError):
            got += os.read(reader, 1 << 20)
        found = [json.loads(line) for line in got.split(b"\n")[:-1]]
        dropped = sum(line.get("dropped", 0) for line in found)
        return dropped > 0 and dropped + sum("dropped" not in line for line in found) == requests + 1
    harness.wait_for(all_accounted_for, "every line is written or told as dropped")
    os.close(reader)
