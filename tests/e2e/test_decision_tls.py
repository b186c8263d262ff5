"""TLS on the decision listener: proxies and programs that ask from other machines."""
import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import shutil
import socket
import ssl
import urllib.request

import harness
import pytest
from certificates import Certificates, connect

TOKEN = "not-so-secret-in-a-test"
POLICY = f"""\
version: 1
decision:
  http: 127.0.0.1:0
  token_sha256: {hashlib.sha256(TOKEN.encode()).hexdigest()}
  tls: {{ certificate: server.pem, key: server.key, handshake_timeout: 1s }}
health: {{ listen: 127.0.0.1:0 }}
limits:
  - {{ name: login, match: {{ path: /login }}, key: address, algorithm: fixed_window, rate: 2/h }}
  - {{ name: hooks, match: {{ path: /hooks }}, key: global, algorithm: leaky_bucket, rate: 30/min, queue: 5 }}
"""


@pytest.fixture
def certificates(started):
    return started(Certificates("one.test", "two.test"))


@pytest.fixture
def decision(certificates, started):
    """A decision listener with the certificate of one.test in server.pem beside its policy."""
    use(certificates, "one.test")
    path = certificates.path("policy.yaml")
    pathlib.Path(path).write_text(POLICY)
    server = started(harness.Process([harness.BINARY, "serve", "-c", path], "serve"))
    server.port = int(server.wait_for_line(r"decision listening on https://127\.0\.0\.1:(\d+)").group(1))
    return server


def use(certificates, name):
    for kind in ("key", "pem"):
        shutil.copy(certificates.path(f"{name}.{kind}"), certificates.path(f"next.{kind}"))
        os.rename(certificates.path(f"next.{kind}"), certificates.path(f"server.{kind}"))


def question(path="/", token=TOKEN, method="GET", body=""):
    target = "/v1/check" if body else "/v1/auth"
    return (f"{method} {target} HTTP/1.1\r\nHost: one.test\r\nAuthorization: Bearer {token}\r\n"
            f"X-Original-Method: GET\r\nX-Original-URI: {path}\r\nX-Forwarded-For: 203.0.113.9\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode()


def answer(tls):
    response = http.client.HTTPResponse(tls)
    response.begin()
    return response.status, response.read()


def ask(tls, *args, **more):
    tls.sendall(question(*args, **more))
    return answer(tls)


# The plain way: both versions, the server proves its name, connections are kept, limits are one.
def test_decides_over_both_versions(certificates, decision):
    statuses = []
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = certificates.trusting(minimum_version=version, maximum_version=version)
        with connect(decision.port, context) as tls:
            assert tls.version() == {"TLSv1_2": "TLSv1.2", "TLSv1_3": "TLSv1.3"}[version.name]
            for _ in range(2):
                statuses.append(ask(tls, "/login")[0])
                assert ask(tls)[0] == 200
    assert statuses == [200, 200, 429, 429]
    with pytest.raises(ssl.SSLCertVerificationError):
        connect(decision.port, certificates.trusting(), "two.test")
    with pytest.raises(ssl.SSLCertVerificationError):
        connect(decision.port, ssl.create_default_context())


# A secret that anybody on the way can read is none: there is no plain way in beside TLS.
def test_refuses_what_it_does_not_speak(certificates, decision):
    assert not harness.raw(decision.port, question()).startswith(b"HTTP")
    old = certificates.trusting(minimum_version=ssl.TLSVersion.TLSv1, maximum_version=ssl.TLSVersion.TLSv1_1)
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises((ssl.SSLError, OSError)):
        connect(decision.port, old)
    with connect(decision.port, certificates.trusting()) as tls:
        assert ask(tls)[0] == 200


# TLS says who the server is, the token who asks: one does not replace the other.
def test_asks_for_the_token(certificates, decision):
    with connect(decision.port, certificates.trusting()) as tls:
        for _ in range(3):
            status, text = ask(tls, "/login", token="guessed")
            assert status == 400 and b"no valid token" in text
            assert ask(tls, "/login", token="guessed", method="POST", body="{}")[0] == 401
        assert ask(tls, "/login")[0] == 200


# Certificates last weeks, connections of proxies for as long: new ones get the new certificate, old ones
# go on, and what cannot be used changes nothing.
def test_reloads_certificates(certificates, decision):
    context = certificates.trusting()
    with connect(decision.port, context) as kept:
        assert ask(kept, "/login")[0] == 200
        use(certificates, "two.test")

        def serves_the_new_one():
            with contextlib.suppress(ssl.SSLError):
                with connect(decision.port, context, "two.test"):
                    return True

        harness.wait_for(serves_the_new_one, "the new certificate is served")
        assert ask(kept, "/login")[0] == 200
        pathlib.Path(certificates.path("server.pem")).write_text("broken")
        decision.wait_for_line(r"the old certificates stay in use: .*server\.pem")
        with connect(decision.port, context, "two.test") as tls:
            assert ask(tls, "/login")[0] == 429
        assert ask(kept)[0] == 200
        use(certificates, "one.test")

        def serves_the_first_one():
            with contextlib.suppress(ssl.SSLError):
                with connect(decision.port, context, "one.test"):
                    return True

        harness.wait_for(serves_the_first_one, "the first certificate is served again")
    assert "a restart is needed" not in decision.log


# Whoever does not finish a handshake is gone after its deadline; others are served meanwhile.
def test_cuts_handshakes_that_do_not_end(certificates, decision):
    silent = socket.create_connection(("127.0.0.1", decision.port), timeout=20)
    half = socket.create_connection(("127.0.0.1", decision.port), timeout=20)
    half.sendall(b"\x16\x03\x01\x02\x00\x01\x00")
    with connect(decision.port, certificates.trusting()) as tls:
        assert ask(tls)[0] == 200
    for idle in (silent, half):
        with idle, contextlib.suppress(ConnectionResetError):
            assert idle.recv(100) == b""


# Requests cut into records of one octet, many in one record, a body of many records, and a close that
# is a close; each connection object serves several clients in turn.
def test_records_of_any_size(certificates, decision):
    for _ in range(3):
        with connect(decision.port, certificates.trusting()) as tls:
            for octet in question():
                tls.sendall(bytes([octet]))
            assert answer(tls)[0] == 200
            tls.sendall(question() * 300)
            received = b""
            while received.count(b"HTTP/1.1 200 ") < 300 or not received.endswith(b"\r\n\r\n"):
                part = tls.recv(65536)
                assert part
                received += part
            body = json.dumps({"checks": [{"path": f"/{i}", "headers": {"X-Long": ["x" * 1000]}} for i in range(100)]})
            status, text = ask(tls, method="POST", body=body)
            assert status == 200 and len(json.loads(text)["results"]) == 100
            tls.sendall(question().replace(b"\r\nHost", b"\r\nConnection: close\r\nHost"))
            assert answer(tls)[0] == 200
            assert tls.recv(10) == b"", "close_notify, not a cut"


def metrics(server):
    url = server.wait_for_line(r"health listening on (http://\S+)").group(1)
    with urllib.request.urlopen(f"{url}/metrics", timeout=20) as scrape:
        return scrape.read().decode()


# SIGTERM: an answer that is held is given, and a handshake that leads nowhere holds nobody up.
def test_drains(certificates, decision):
    silent = socket.create_connection(("127.0.0.1", decision.port), timeout=20)
    with silent, connect(decision.port, certificates.trusting()) as tls:
        assert ask(tls, "/hooks")[0] == 200
        tls.sendall(question("/hooks"))  # waits its turn for two seconds
        harness.wait_for(lambda: 'outcome="delayed"} 1' in metrics(decision), "the question is held")
        decision.child.terminate()
        decision.wait_for_line("finishing what is in flight")
        assert answer(tls)[0] == 200
        assert tls.recv(10) == b""
    assert decision.child.wait(20) == 0


# A certificate that cannot be used is told at the start, with the file's name.
def test_refuses_a_key_that_does_not_fit(certificates):
    path = certificates.path("policy.yaml")
    pathlib.Path(path).write_text(POLICY.replace("server.pem", "one.test.pem").replace("server.key", "two.test.key"))
    code, _, stderr = harness.run("serve", "-c", path)
    assert code != 0 and "two.test.key" in stderr and "mismatch" in stderr
