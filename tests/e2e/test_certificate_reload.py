"""Certificates that are replaced, broken, mismatched or expired while clients connect (no request is
lost, and what is wrong changes nothing)."""
import pathlib
import signal
import socket
import ssl
import threading

import harness
from test_tls import Certificates, connect, get, start

POLICY = """\
version: 1
gateway: { tls: { certificate: one.test.pem, key: one.test.key } }
limits:
  - { name: c, key: global, rate: 1000000/s }
"""
ROUNDS = 4 * harness.SCALE


def serial_of(certificates, port):
    with connect(port, certificates.trusting()) as tls:
        return tls.getpeercert()["serialNumber"]


class Load:
    """Handshakes and requests without a pause, new and resumed, and one connection that stays."""

    def __init__(self, certificates, port):
        self.lost, self.done, self.stop = [], 0, threading.Event()
        self.certificates, self.port = certificates, port
        self.threads = [threading.Thread(target=self.run) for _ in range(3)]
        for t in self.threads:
            t.start()

    def run(self):
        context, session = self.certificates.trusting(), None
        try:
            with connect(self.port, context) as kept:
                while not self.stop.is_set():
                    assert get(kept)[0] == 200
                    plain = socket.create_connection(("127.0.0.1", self.port), timeout=30)
                    with context.wrap_socket(plain, server_hostname="one.test", session=session) as tls:
                        assert get(tls, close=True)[0] == 200
                        session = tls.session
                    self.done += 1
        except Exception as failed:  # every way of failing is one of losing a request
            self.lost.append(repr(failed))

    def more(self):
        now = self.done
        harness.wait_for(lambda: self.done >= now + 20 or self.lost, "the load goes on", 60)

    def end(self):
        self.stop.set()
        for t in self.threads:
            t.join()


def test_certificates_change_under_load(started, serve):
    certificates = started(Certificates("one.test"))
    folder = pathlib.Path(certificates.folder)
    gateway = start(certificates, serve, POLICY)
    load = Load(certificates, gateway.port)
    try:
        for _ in range(ROUNDS):
            before = serial_of(certificates, gateway.port)
            certificates.issue("one.test")  # key and certificate, one after the other
            wanted = ssl._ssl._test_decode_cert(certificates.path("one.test.pem"))["serialNumber"]
            assert wanted != before
            harness.wait_for(lambda: serial_of(certificates, gateway.port) == wanted, "the new certificate is used")
            load.more()

        good = {name: (folder / name).read_bytes() for name in ("one.test.pem", "one.test.key")}
        served = serial_of(certificates, gateway.port)
        certificates.openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                             "-out", "other.key")
        for name, octets in (("one.test.pem", b""), ("one.test.pem", good["one.test.pem"][:300]),
                             ("one.test.key", (folder / "other.key").read_bytes()), ("one.test.key", None)):
            said = gateway.log.count("the old certificates stay in use")
            if octets is None:
                (folder / name).unlink()
            else:
                (folder / name).write_bytes(octets)
            gateway.child.send_signal(signal.SIGHUP)
            harness.wait_for(lambda: gateway.log.count("the old certificates stay in use") > said,
                             f"{name} is refused; the log:\n{gateway.log}")
            load.more()
            assert serial_of(certificates, gateway.port) == served
            (folder / name).write_bytes(good[name])
            gateway.child.send_signal(signal.SIGHUP)
    finally:
        load.end()
    assert load.lost == [], (load.lost[:3], gateway.log)


# Another file named in the policy takes effect like another content of the same file.
def test_another_certificate_in_the_policy(started, serve):
    certificates = started(Certificates("one.test", "two.test"))
    gateway = start(certificates, serve, POLICY)
    old = serial_of(certificates, gateway.port)
    pathlib.Path(certificates.path("policy.yaml")).write_text(POLICY.replace("one.test", "two.test"))
    gateway.wait_for_line("generation 2 is in force")
    assert "restart is needed" not in gateway.log

    def served():
        plain = socket.create_connection(("127.0.0.1", gateway.port), timeout=30)
        with certificates.trusting().wrap_socket(plain, server_hostname="two.test") as tls:
            return tls.getpeercert()["serialNumber"]

    def changed():
        try:
            return served() != old
        except ssl.SSLCertVerificationError:
            return False  # still the one for the other name

    harness.wait_for(changed, "the certificate of two.test")


# Bounds of the gateway that need no restart: they hold for the next request.
def test_bounds_change_while_serving(serve, client):
    text = "version: 1\ngateway: {{ max_body: {} }}\nlimits:\n  - {{ name: c, key: global, rate: 1000000/s }}\n"
    gateway = serve(text.format("100"))
    c = client(gateway.port)
    assert c.send("POST", body=b"x" * 101).status == 413
    pathlib.Path(gateway.policy_path).write_text(text.format("1000"))
    gateway.wait_for_line("generation 2 is in force")
    assert "restart is needed" not in gateway.log
    harness.wait_for(lambda: client(gateway.port).send("POST", body=b"x" * 101).status == 200, "the new bound")
    pathlib.Path(gateway.policy_path).write_text(text.format("1000, max_head: 32KiB"))
    gateway.wait_for_line("generation 3 is in force")
    assert "gateway.max_head has changed; a restart is needed" in gateway.log
