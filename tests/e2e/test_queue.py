"""The queue (leaky_bucket) through the real binary: whose place it is, who is held up by it, and what a
refused upload costs."""
import json
import os
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest

import harness
from test_http_cases import RecordingUpstream

QUEUE = """\
version: 1
limits:
  - {{ name: hooks, match: {{ path: "/hooks/**" }}, key: global, algorithm: leaky_bucket, rate: {rate}, queue: {queue}, max_delay: 5min }}
  - {{ name: never, match: {{ path: /never }}, key: global, rate: 0/s }}
"""


class Api:
    """A gateway with a queue; a decision listener of the same process looks at it without a place."""

    def __init__(self, started, rate, queue):
        self.started = started
        self.upstream = started(RecordingUpstream())
        self.gateway = started(harness.Penstock(QUEUE.format(rate=rate, queue=queue), ("--workers", "1", "--decision-http", "127.0.0.1:0"),
                                                upstream=self.upstream.port))
        port = int(self.gateway.wait_for_line(r"decisions? listening on http://[^ ]*:(\d+)").group(1))
        self.observer = started(harness.Client(port))

    def free_places(self):
        question = json.dumps({"peek": True, "method": "POST", "path": "/hooks/x"})
        answer = json.loads(self.observer.send("POST", "/v1/check", question, {"Content-Type": "application/json"}).body)
        return answer["limits"][0]["remaining"] + answer["limits"][0]["admitted"]  # what it asks about is one of them

    def wait_for_places(self, count, what):
        harness.wait_for(lambda: self.free_places() == count, what)

    def ask(self, octets=b"POST /hooks/x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"):
        return self.started(Asked(self.gateway.port, octets))

    def arrived(self):
        with self.upstream.lock:
            return len(self.upstream.begun)


class Asked:
    """A request whose answer is waited for elsewhere."""

    def __init__(self, port, octets):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.sendall(octets)
        self.began = time.monotonic()

    def status(self):
        head = b""
        while b"\r\n\r\n" not in head:
            part = self.socket.recv(65536)
            assert part, f"the connection ended after {head!r}"
            head += part
        return int(head.split(b" ")[1])

    def leave(self, how):
        if how == "reset":
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self):
        self.socket.close()


@pytest.fixture
def api(started):
    return lambda rate="1/min", queue=3: Api(started, rate, queue)


# Whoever stops waiting gives the place to the next one, whether it says goodbye or not; its request
# never reaches the upstream.
@pytest.mark.parametrize("how", ["end", "reset"])
def test_who_leaves_the_end_of_the_queue_frees_a_place(api, how):
    a = api()
    assert a.ask().status() == 200
    a.wait_for_places(3, "the one that is served takes no place in the queue")
    waiting = []
    for left in (2, 1, 0):
        waiting.append(a.ask())
        a.wait_for_places(left, f"{left} places are left")
    assert a.ask().status() == 429
    for _ in range(3):  # for each admission one place can come back
        waiting.pop().leave(how)
        a.wait_for_places(1, "the place is free again")
        waiting.append(a.ask())
        a.wait_for_places(0, "the next one has it")
    assert a.ask().status() == 429
    assert a.arrived() == 1


# With somebody behind it a place is not given back: those behind were told their time, and two would
# be served at once. From the end of the queue it is.
def test_a_place_with_somebody_behind_it_is_not_given_back(api):
    a = api()
    assert a.ask().status() == 200
    waiting = []
    for left in (2, 1, 0):
        waiting.append(a.ask())
        a.wait_for_places(left, f"{left} places are left")
    waiting[0].leave("end")
    waiting[1].leave("reset")
    # Nothing tells that nothing happens; the gateway has seen both leave once it has served these.
    for _ in range(50):
        assert a.ask(b"GET /else HTTP/1.1\r\nHost: a\r\n\r\n").status() == 200
    assert a.free_places() == 0 and a.ask().status() == 429
    waiting[2].leave("end")
    a.wait_for_places(1, "the last one's place is free")
    assert a.arrived() == 51


# Who waits is served at its time when others before and behind it leave: not later, and not before.
def test_who_stays_is_served_at_its_time(api):
    a = api("1/s", 6)
    first = a.ask()
    assert first.status() == 200
    waiting = []
    for left in (5, 4, 3, 2):
        waiting.append(a.ask())
        a.wait_for_places(left, f"{left} places are left")
        if time.monotonic() - first.began > 0.9:
            pytest.skip("this machine is too busy to fill a queue within its first second")
    waiting[0].leave("reset")
    waiting[3].leave("end")
    for number in (1, 2):
        assert waiting[number].status() == 200
        took = time.monotonic() - first.began
        assert number + 0.99 <= took < number + 11
    assert a.arrived() == 3


# A queue holds up those who are in it and nobody else, on the same loop as well.
def test_a_full_queue_holds_up_nobody_else(api):
    a = api(queue=50)
    assert a.ask().status() == 200
    for _ in range(50):
        a.ask()
    a.wait_for_places(0, "the queue is full")
    other = harness.Client(a.gateway.port)
    assert [other.send("GET", "/else").status for _ in range(200)] == [200] * 200
    assert [other.send("POST", "/hooks/x").status for _ in range(200)] == [429] * 200
    other.close()
    assert a.arrived() == 201


# An upload waits its turn with its body: nothing of it is sent on before.
def test_a_queued_upload_waits_with_its_body(api):
    a = api("1/s", 3)
    assert a.ask().status() == 200
    body = os.urandom(300_000)
    upload = a.ask(b"POST /hooks/up HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n")
    threading.Thread(target=upload.socket.sendall, args=(body,), daemon=True).start()
    a.wait_for_places(2, "the upload is in the queue")
    assert upload.status() == 200
    assert a.upstream.take()[-1]["body"] == body


# Waiting is not refused by a stop: the drain lets the queue be served.
def test_a_drain_serves_the_queue(api):
    a = api("1/s", 3)
    assert a.ask().status() == 200
    waiting = [a.ask(), a.ask()]
    a.wait_for_places(1, "two wait")
    a.gateway.child.send_signal(signal.SIGTERM)
    assert [w.status() for w in waiting] == [200, 200]
    assert a.gateway.child.wait(20) == 0


REFUSED = b"POST /never HTTP/1.1\r\nHost: a\r\n%s\r\n"


# A refusal needs no body: it comes while the client has sent none, and the upstream hears nothing.
@pytest.mark.parametrize("framing", [b"Content-Length: 10000000000\r\n", b"Transfer-Encoding: chunked\r\n",
                                     b"Content-Length: 5\r\nExpect: 100-continue\r\n",
                                     b"Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n"])
def test_a_refused_upload_is_answered_before_its_body(api, framing):
    a = api()
    answer = harness.raw(a.gateway.port, REFUSED % framing)
    assert answer.startswith(b"HTTP/1.1 429 ") and b"\r\nConnection: close\r\n" in answer
    assert a.arrived() == 0


# A client that pushes its body all the same is not read for ever.
def test_a_refused_upload_is_not_read_to_its_end(api):
    a = api()
    with socket.create_connection(("127.0.0.1", a.gateway.port), timeout=30) as client:
        client.sendall(REFUSED % b"Content-Length: 10000000000\r\n")
        sent = 0
        with pytest.raises(OSError):  # the connection ends under the client's hands
            while sent < 1 << 30:
                sent += client.send(b"x" * 65536)
        # What the system's own buffers of both sides hold, and the little that is dropped on purpose.
        assert sent < 32 << 20
    assert a.arrived() == 0


# curl asks before it sends: refused, it uploads nothing; allowed, everything.
@pytest.mark.parametrize("path, status, sent", [("/never", "429", "0"), ("/else", "200", "10485760")])
def test_curl_asks_before_it_uploads(api, tmp_path, path, status, sent):
    a = api()
    (tmp_path / "body").write_bytes(b"x" * (10 << 20))
    done = subprocess.run([harness.tool("curl"), "-sS", "-o", "/dev/null", "-w", "%{http_code} %{size_upload}", "-H", "Expect: 100-continue",
                           "--expect100-timeout", "30", "--data-binary", f"@{tmp_path}/body", f"http://127.0.0.1:{a.gateway.port}{path}"],
                          capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == f"{status} {sent}"
    assert a.arrived() == (status == "200")
