"""More clients than descriptors, more handshakes than are allowed: what is served stays served, who
waits is served in time, operators see it, and nothing spins."""
import contextlib
import os
import pathlib
import resource
import socket
import ssl
import time

import pytest

import harness
from test_tls import Certificates, connect, get, start

DESCRIPTORS = 256
POLICY = "version: 1\nlimits:\n  - { name: c, key: global, rate: 1000000/s }\n"
GET = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


class Crowd:
    """Connections that were made and say nothing."""

    def __init__(self, port, number):
        self.sockets = [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(number)]
        for s in self.sockets:
            s.setblocking(False)

    def closed(self):
        """How many the other side has ended."""
        ended = 0
        for s in self.sockets:
            with contextlib.suppress(BlockingIOError):
                try:
                    ended += s.recv(1) == b""
                except ConnectionError:
                    ended += 1
        return ended

    def close(self):
        for s in self.sockets:
            s.close()


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def limited(started, upstream, *args):
    """A gateway that may open few files, soft and hard."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
    command = [harness.BINARY, "serve", "--listen", "127.0.0.1:0", "--upstream",
               f"http://127.0.0.1:{upstream.port}", "--health", "127.0.0.1:0", "--admin", "127.0.0.1:0", *args]
    gateway = started(harness.Process(command, "serve", preexec_fn=limit))
    ports = [int(gateway.wait_for_line(rf"{face} listening on http://[^ ]*:(\d+)").group(1))
             for face in ("gateway", "health", "admin")]
    return gateway, *ports


# Silent clients beyond the number of descriptors: they cost the service nothing but themselves.
def test_more_clients_than_descriptors(started, upstream, client):
    gateway, port, health, admin = limited(started, upstream)
    kept = client(port)
    assert kept.send().status == 200
    local = kept.connection.sock
    crowd = started(Crowd(port, 400))
    before, began = cpu_seconds(gateway.child.pid), time.monotonic()
    for _ in range(12):
        assert kept.send().status == 200
        assert kept.connection.sock is local  # the same connection all the time
        assert harness.raw(health, GET.replace(b"/ ", b"/livez ", 1)).startswith(b"HTTP/1.1 200")
        assert harness.raw(admin, GET.replace(b"/ ", b"/api/v1/status ", 1)
                           .replace(b"Host: a", b"Host: localhost")).startswith(b"HTTP/1.1 200")
        time.sleep(0.25)
    # A loop that spins takes all it can get.
    assert cpu_seconds(gateway.child.pid) - before < 0.5 * (time.monotonic() - began)
    # A newcomer is served although none of the crowd leaves: those that were silent give way.
    assert harness.raw(port, GET, 60).startswith(b"HTTP/1.1 200")
    assert crowd.closed() > 0
    crowd.close()
    for _ in range(20):
        assert harness.raw(port, GET, 60).startswith(b"HTTP/1.1 200")


# The decision listener has a share of its own, and does not eat the gateway's.
def test_a_crowd_at_one_face_leaves_the_others(started, upstream):
    gateway, port, health, admin = limited(started, upstream, "--decision-http", "127.0.0.1:0")
    decision = int(gateway.wait_for_line(r"decision listening on http://[^ ]*:(\d+)").group(1))
    started(Crowd(decision, 300))
    for _ in range(5):
        assert harness.raw(port, GET, 60).startswith(b"HTTP/1.1 200")
        assert harness.raw(health, GET.replace(b"/ ", b"/livez ", 1)).startswith(b"HTTP/1.1 200")
        assert harness.raw(admin, GET.replace(b"/ ", b"/api/v1/status ", 1)
                           .replace(b"Host: a", b"Host: localhost")).startswith(b"HTTP/1.1 200")


SLOW_TLS = """\
version: 1
gateway: { tls: { certificate: one.test.pem, key: one.test.key, handshake_timeout: 120s } }
limits:
  - { name: c, key: global, rate: 1000000/s }
"""
HANDSHAKES_MAX = 1024


@contextlib.contextmanager
def descriptors(number):
    """So many open files for this process and what it starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < number:
        pytest.skip(f"{number} open files are needed, {hard} are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, number), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# Handshakes that get nowhere: the oldest gives way long before its time is over, and who speaks is
# served.
def test_a_flood_of_handshakes(started, serve):
    with descriptors(4096):
        certificates = started(Certificates("one.test"))
        gateway = start(certificates, serve, SLOW_TLS, "--workers", "1")
        context = certificates.trusting()
        with connect(gateway.port, context) as kept:
            crowd = started(Crowd(gateway.port, HANDSHAKES_MAX + 100))
            for _ in range(3):
                assert get(kept)[0] == 200
                with connect(gateway.port, context) as tls:
                    tls.settimeout(60)
                    assert get(tls, close=True)[0] == 200
            harness.wait_for(lambda: crowd.closed() >= 90, "silent handshakes make room", 60)
            assert crowd.closed() < HANDSHAKES_MAX  # and no more than had to
            assert get(kept)[0] == 200
            crowd.close()


# Half-open hellos and clear text at a TLS port must not take what others need.
def test_garbage_instead_of_hellos(started, serve):
    certificates = started(Certificates("one.test"))
    gateway = start(certificates, serve, SLOW_TLS)
    for octets in (GET, b"\x16\x03\x01\xff\xff" + b"\0" * 600, b"\x15\x03\x01\x00\x02\x02\x28", os.urandom(2000)):
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", gateway.port), timeout=30) as s:
                s.sendall(octets)
    with connect(gateway.port, certificates.trusting()) as tls:
        assert get(tls)[0] == 200
    with pytest.raises(ssl.SSLError), connect(gateway.port, ssl.create_default_context()):
        pass
