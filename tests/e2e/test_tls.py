"""TLS on both sides of the real binary: versions, names, resumption, handshakes that never end, and an
upstream that must prove who it is."""
import contextlib
import http.client
import http.server
import os
import pathlib
import socket
import ssl
import subprocess
import threading

import pytest

import harness
from certificates import Certificates, connect

TLS = """\
version: 1
gateway:
  tls:
    certificate: one.test.pem
    key: one.test.key
    sni: [ { certificate: two.test.pem, key: two.test.key } ]
    handshake_timeout: 1s
limits:
  - { name: never, match: { path: /no }, key: global, rate: 0/s }
"""


@pytest.fixture
def certificates(started):
    return started(Certificates("one.test", "two.test"))


@pytest.fixture
def secure(certificates, serve):
    """A gateway with TLS; the policy lies beside the certificates it names."""
    return start(certificates, serve)


def start(certificates, serve, policy=TLS, *args, **more):
    path = certificates.path("policy.yaml")
    pathlib.Path(path).write_text(policy)
    return serve(None, "-c", path, *args, **more)


def get(tls, path="/", close=False):
    tls.sendall(f"GET {path} HTTP/1.1\r\nHost: one.test\r\n{'Connection: close' if close else 'X-A: 1'}\r\n\r\n"
                .encode())
    response = http.client.HTTPResponse(tls)
    response.begin()
    return response.status, response.read()


# The plain way: both versions, the name that was asked for, kept connections, limits, bodies.
def test_serves_over_both_versions(certificates, secure, upstream):
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = certificates.trusting(minimum_version=version, maximum_version=version)
        context.set_alpn_protocols(["h2", "http/1.1"])
        with connect(secure.port, context) as tls:
            assert tls.selected_alpn_protocol() == "http/1.1" and tls.compression() is None
            for _ in range(3):
                assert get(tls)[0] == 200
                assert get(tls, "/no")[0] == 429
            body = os.urandom(3_000_000)
            tls.sendall(b"POST /big HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n")
            tls.sendall(body)
            response = http.client.HTTPResponse(tls)
            response.begin()
            assert response.read().endswith(b" 3000000\n")
            assert upstream.seen[-1]["body"] == body
    assert ("x-forwarded-proto", "https") in upstream.seen[0]["headers"]


# Each name has its certificate; an unknown one gets the first.
def test_chooses_the_certificate_by_name(certificates, secure):
    context = certificates.trusting()
    for name in ("one.test", "two.test"):
        with connect(secure.port, context, name) as tls:
            assert ("DNS", name) in tls.getpeercert()["subjectAltName"]
    context.check_hostname = False
    with connect(secure.port, context, "other.test") as tls:
        assert ("DNS", "one.test") in tls.getpeercert()["subjectAltName"]


# Old versions, foreign protocols and plain HTTP find no service, and harm nobody.
def test_refuses_what_it_does_not_speak(certificates, secure):
    old = certificates.trusting(minimum_version=ssl.TLSVersion.TLSv1, maximum_version=ssl.TLSVersion.TLSv1_1)
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises((ssl.SSLError, OSError)):
        connect(secure.port, old)
    foreign = certificates.trusting()
    foreign.set_alpn_protocols(["h2"])
    with pytest.raises((ssl.SSLError, OSError)):
        connect(secure.port, foreign)
    assert not harness.raw(secure.port, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").startswith(b"HTTP")
    with connect(secure.port, certificates.trusting()) as tls:
        assert get(tls)[0] == 200


# A ticket saves the handshake's arithmetic, also on another connection of another loop.
def test_resumes_sessions(certificates, secure):
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = certificates.trusting(minimum_version=version, maximum_version=version)
        with connect(secure.port, context) as tls:
            get(tls)
            assert not tls.session_reused
            session = tls.session
        for _ in range(4):
            plain = socket.create_connection(("127.0.0.1", secure.port), timeout=10)
            with context.wrap_socket(plain, server_hostname="one.test", session=session) as tls:
                assert tls.session_reused
                assert get(tls)[0] == 200
                session = tls.session


# Whoever does not finish a handshake is gone after its deadline; others are served meanwhile.
def test_cuts_handshakes_that_do_not_end(certificates, secure):
    silent = socket.create_connection(("127.0.0.1", secure.port), timeout=10)
    half = socket.create_connection(("127.0.0.1", secure.port), timeout=10)
    half.sendall(b"\x16\x03\x01\x02\x00\x01\x00")
    with connect(secure.port, certificates.trusting()) as tls:
        assert get(tls)[0] == 200
    for idle in (silent, half):
        with idle, contextlib.suppress(ConnectionResetError):
            assert idle.recv(100) == b""


# Requests cut into single octets of TLS records, many in one record, and a close that is a close.
def test_records_of_any_size(certificates, secure):
    with connect(secure.port, certificates.trusting()) as tls:
        for octet in b"GET /octets HTTP/1.1\r\nHost: a\r\n\r\n":
            tls.sendall(bytes([octet]))
        response = http.client.HTTPResponse(tls)
        response.begin()
        assert response.read()
        tls.sendall(b"GET /no HTTP/1.1\r\nHost: a\r\n\r\n" * 400)
        received = b""
        while received.count(b"HTTP/1.1 429 ") < 400:
            part = tls.recv(65536)
            assert part
            received += part
    with connect(secure.port, certificates.trusting()) as tls:
        assert get(tls, close=True)[0] == 200
        assert tls.recv(10) == b"", "close_notify, not a cut"


class SecureUpstream:
    def __init__(self, certificates, name):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Length", "6")
                self.end_headers()
                self.wfile.write(b"secure")

            def log_message(self, *args):
                pass

        self.names = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates.path(f"{name}.pem"), certificates.path(f"{name}.key"))
        context.sni_callback = lambda _, asked, __: self.names.append(asked)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # a gateway that refuses it is what we want
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True,
                                                 do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


# An upstream that cannot prove its name gets no request; the answer says why.
@pytest.mark.parametrize("certificate, settings, status, reason", [
    ("localhost", "ca: ca.pem", 200, ""),
    ("one.test", "ca: ca.pem", 502, "hostname mismatch"),
    ("localhost", "verify: on", 502, "certificate"),
    ("one.test", "verify: off", 200, ""),
])
def test_checks_the_upstream(started, certificates, serve, client, certificate, settings, status, reason):
    certificates.issue("localhost")
    upstream = started(SecureUpstream(certificates, certificate))
    port = harness.free_port()
    policy = (f"version: 1\ngateway: {{ listen: '127.0.0.1:{port}', upstream: 'https://localhost:{upstream.port}', "
              f"upstream_tls: {{ {settings} }} }}\n")
    path = certificates.path("policy.yaml")
    pathlib.Path(path).write_text(policy)
    gateway = started(harness.Process([harness.BINARY, "serve", "-c", path], "serve"))
    gateway.wait_for_line("listening on")
    c = client(port)
    for _ in range(3):
        answer = c.send()
        assert answer.status == status
        if status == 200:
            assert answer.body == b"secure"
        else:
            assert reason in answer.body.decode().lower()
    assert upstream.names[0] == "localhost"


# A certificate that cannot be used is told at the start, with the file's name.
def test_refuses_a_key_that_does_not_fit(certificates):
    path = certificates.path("policy.yaml")
    pathlib.Path(path).write_text(TLS.replace("key: one.test.key", "key: two.test.key"))
    code, _, stderr = harness.run("serve", "-c", path, "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:9")
    assert code != 0 and "two.test.key" in stderr and "mismatch" in stderr


# Idle connections are what a gateway holds most of; the figure is printed, the bound is twice the target.
def test_idle_connections_are_small(certificates, secure):
    def resident():
        with open(f"/proc/{secure.child.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    context = certificates.trusting()
    held = []
    for _ in range(20):
        held.append(connect(secure.port, context))
        get(held[-1])
    before = resident()
    for _ in range(300):
        held.append(connect(secure.port, context))
        get(held[-1])
    each = (resident() - before) / 300
    for tls in held:
        tls.close()
    print(f"idle TLS connection: {each:.1f} KiB")
    if not harness.sanitized():
        assert each < 48
