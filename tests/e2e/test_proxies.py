"""The configurations under deploy/, as they stand there, in front of a real API with the real
proxies: only ports are replaced. nginx, HAProxy and Caddy come from the distribution; Traefik and a
newer Caddy from packages/python.txt, or PENSTOCK_TRAEFIK and PENSTOCK_CADDY name them."""
import hashlib
import os
import re
import shutil
import time

import harness
import pytest
from certificates import Certificates

DEPLOY = harness.ROOT / "deploy"
TOKEN = "not-so-secret-in-a-test"
POLICY = """\
version: 1
identity: { user: { header: X-User-Id } }
limits:
  - { name: login, match: { method: POST, path: /login }, key: user | address, algorithm: fixed_window, rate: 2/h }
  - { name: hooks, match: { path: "/hooks/**" }, key: global, algorithm: leaky_bucket, rate: 1/s, queue: 5, max_delay: 5s }
"""


def named(variable, name):
    """A program that Debian lacks, or has older: from the environment, else of packages/python.txt."""
    return os.environ.get(variable) or harness.pinned_tool(name)


class Proxy:
    """One proxy between a client and the API, asking the decision listener."""

    def __init__(self, started, folder, decision, api, with_token, ca):
        self.started, self.folder, self.with_token, self.ca = started, folder, with_token, ca
        self.ports = {"8080": harness.free_port(), "8081": decision, "8082": harness.free_port(), "3000": api}
        self.port = self.ports["8080"]

    def copy(self, name, **replaced):
        """A file of deploy/ with our ports, and the replacements that a reader is told to make."""
        text = (DEPLOY / name).read_text()
        if self.with_token and name.endswith(self.token[0]):
            replaced[self.token[1]] = self.token[2]
        if self.ca:
            for file, old, new in self.encrypted:
                if name.endswith(file):
                    replaced[old] = new.replace("CA", self.ca)
        for old, new in replaced.items():
            assert old in text, f"{name} does not say {old!r}"
            text = text.replace(old, new)
        text = re.sub(r"\b(8080|8081|8082|3000)\b", lambda m: str(self.ports[m.group(1)]), text)
        target = self.folder / os.path.basename(name)
        target.write_text(text)
        return target

    def run(self, command, name, **more):
        self.process = self.started(harness.Process(command, name, cwd=self.folder, **more))
        try:
            harness.wait_for(lambda: self.process.child.poll() is not None or harness.accepts(self.port), f"{name} listens")
        finally:
            assert self.process.child.poll() is None, self.process.log
        return self


class Nginx(Proxy):
    token = ("check.conf", 'X-User-Id "";', f'X-User-Id "";\nproxy_set_header X-Penstock-Token "{TOKEN}";')
    encrypted = [("check.conf", "proxy_pass http:", """\
proxy_ssl_verify on;
    proxy_ssl_trusted_certificate CA;
    proxy_ssl_server_name on;
    proxy_ssl_name one.test;
    proxy_pass https:""")]
    tells_admitted = True
    down = 503

    def start(self, fail_open=False):
        nginx = harness.tool("nginx")
        for file in sorted((DEPLOY / "nginx").iterdir()):
            change = {}
            if fail_open and file.name == "penstock-check.conf":
                change = {"# error_page 502 504": "error_page 502 504"}
            copy = self.copy(f"nginx/{file.name}", **change)
            if file.name == "nginx.conf":
                user = "user root;\n" if os.getuid() == 0 else ""
                temp = "".join(f"{w}_temp_path {self.folder}/{w};\n" for w in
                               ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
                copy.write_text(user + f"pid {self.folder}/pid;\n" + copy.read_text().replace(
                    "http {", f"http {{\naccess_log off;\n{temp}", 1))
        return self.run([nginx, "-p", str(self.folder), "-c", str(self.folder / "nginx.conf"),
                         "-e", "stderr", "-g", "daemon off;"], "nginx")


class Caddy(Proxy):
    token = ("Caddyfile", "header_up -X-User-Id", f"header_up -X-User-Id\nheader_up X-Penstock-Token {TOKEN}")
    encrypted = [("Caddyfile", "transport http {", """\
transport http {
			tls_server_name one.test
			tls_trusted_ca_certs CA""")]
    tells_admitted = True
    down = 502

    def program(self):
        return harness.tool("caddy")

    def start(self, fail_open=False):
        file = self.copy("caddy/Caddyfile.fail-open" if fail_open else "caddy/Caddyfile")
        return self.run([self.program(), "run", "--adapter", "caddyfile", "--config", str(file)], "caddy",
                        env={**os.environ, "HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder)})


class NewCaddy(Caddy):
    encrypted = [("Caddyfile", "transport http {", """\
transport http {
			tls_server_name one.test
			tls_trust_pool file CA""")]

    def program(self):
        return named("PENSTOCK_CADDY", "caddy")


class Haproxy(Proxy):
    token = ("haproxy.cfg", "# A token:        http-request set-var(txn.penstock_token) str(<secret>)",
             f"http-request set-var(txn.penstock_token) str({TOKEN})")
    encrypted = [("haproxy.cfg", "lua.penstock http://127.0.0.1:8081", "lua.penstock http://127.0.0.1:8082"),
                 ("haproxy.cfg", "\nbackend api\n", """
listen penstock
    bind 127.0.0.1:8082
    server one 127.0.0.1:8081 ssl verify required ca-file CA sni str(one.test)

backend api
""")]
    tells_admitted = True
    down = 503

    def start(self, fail_open=False):
        haproxy = harness.tool("haproxy")
        (self.folder / "deploy/haproxy").mkdir(parents=True)
        shutil.copy(DEPLOY / "haproxy/penstock.lua", self.folder / "deploy/haproxy")
        change = {"-m str unavailable unreachable": "-m str unavailable"} if fail_open else {}
        file = self.copy("haproxy/haproxy.cfg", **change)
        return self.run([haproxy, "-db", "-f", str(file)], "haproxy")


class Traefik(Proxy):
    token = ("dynamic.yml", 'X-User-Id: ""', f'X-User-Id: ""\n          X-Penstock-Token: {TOKEN}')
    encrypted = [("dynamic.yml", "address: http:", "tls: { ca: CA }\n        address: https:")]
    tells_admitted = False  # it has no way to
    down = 500

    def start(self, fail_open=False):
        if fail_open:
            pytest.skip("Traefik's forwardAuth cannot fail open")
        traefik = named("PENSTOCK_TRAEFIK", "traefik")
        self.copy("traefik/dynamic.yml")
        file = self.copy("traefik/traefik.yml", **{"deploy/traefik/dynamic.yml": str(self.folder / "dynamic.yml")})
        self.run([traefik, f"--configFile={file}"], "traefik")
        # Its port is open before its routes are there; 404 until then.
        probe = self.started(harness.Client(self.port))
        harness.wait_for(lambda: probe.send("GET", "/ready").status != 404, "traefik has its routes")
        return self


@pytest.fixture(params=[Nginx, Caddy, NewCaddy, Haproxy, Traefik], ids=lambda p: p.__name__.lower())
def proxy(request, started, upstream, tmp_path):
    """proxy(fail_open, with_token, certificates) starts Penstock and the proxy."""
    def start(fail_open=False, with_token=False, certificates=None):
        policy, ca = POLICY + "decision:\n  http: 127.0.0.1:0\n", None
        if with_token:
            policy += f"  token_sha256: {hashlib.sha256(TOKEN.encode()).hexdigest()}\n"
        if certificates:
            ca = certificates.path("ca.pem")
            first, second = ([f"{kind}: {certificates.path(name)}.{end}" for kind, end in
                              (("certificate", "pem"), ("key", "key"))] for name in ("127.0.0.1", "one.test"))
            policy += f"  tls: {{ {', '.join(first)}, sni: [ {{ {', '.join(second)} }} ] }}\n"
        server = started(harness.Penstock(policy))
        port = int(server.wait_for_line(r"decisions? listening on https?://[^ ]*:(\d+)").group(1))
        folder = tmp_path / request.param.__name__
        folder.mkdir()
        p = request.param(started, folder, port, upstream.port, with_token, ca)
        p.penstock = server
        return p.start(fail_open)
    return start


def at(upstream, path):
    return [s for s in upstream.seen if s["target"].split("?")[0] == path]


# The sentence on the tin: the third login is a 429 that says when to come back, whatever the proxy
# does with the answers of a check, and the API sees the admitted requests whole.
def test_a_refusal_reaches_the_client(proxy, client, upstream):
    p = proxy()
    c = client(p.port)
    answers = [c.send("POST", f"/login?n={n}", body=b"name=x&password=y" * 100) for n in range(3)]
    assert [a.status for a in answers] == [200, 200, 429], [a.body for a in answers]
    assert [len(s["body"]) for s in at(upstream, "/login")] == [1700, 1700]
    refused = answers[2]
    assert 1 <= int(refused.headers["retry-after"]) <= 3600
    assert re.fullmatch(r'"login";r=0;t=\d+', refused.headers["ratelimit"])
    assert refused.headers["ratelimit-policy"] == '"login";q=2;w=3600'
    assert b"rate limit exceeded" in refused.body
    assert "x-ratelimit-verdict" not in refused.headers or not p.tells_admitted
    if p.tells_admitted:
        assert [a.headers["ratelimit"][:12] for a in answers[:2]] == ['"login";r=1;', '"login";r=0;']
        assert answers[0].headers["x-ratelimit-remaining"] == "1"
    assert c.send("GET", "/login").status == 200
    assert "ratelimit" not in c.send("GET", "/other").headers
    assert client(p.port, "127.0.0.2").send("POST", "/login").status == 200


# Whatever a client writes into fields that proxies use among themselves, it is counted as who it is
# and for what it asks, or refused.
@pytest.mark.parametrize("forged", [
    {"X-Original-URI": "/free", "X-Original-URL": "/free", "X-Original-Method": "GET", "X-Original-Host": "free"},
    {"X-Forwarded-Uri": "/free", "X-Forwarded-Method": "GET", "X-Forwarded-Host": "free", "X-Forwarded-Proto": "https"},
    {"X-Forwarded-For": "198.51.100.{n}", "X-Real-IP": "198.51.100.{n}", "Forwarded": "for=198.51.100.{n}"},
    {"X-User-Id": "someone-{n}"},
    {"X-RL-Deny-Status": "200", "X-RateLimit-Verdict": "allow", "X-RateLimit-Status": "200"},
], ids=["x-original", "x-forwarded", "address", "user", "verdict"])
def test_forged_fields_buy_nothing(proxy, client, upstream, forged):
    p = proxy()
    c = client(p.port)
    statuses = [c.send("POST", "/login", headers={k: v.format(n=n) for k, v in forged.items()}).status for n in range(6)]
    assert statuses == [200] * 2 + [429] * 4
    assert len(at(upstream, "/login")) == 2


# A spelling that the limiter and the API could read differently gets nowhere; other spellings of the
# path are the same path.
def test_spellings_of_a_path_are_one_path_or_none(proxy, client, upstream):
    p = proxy()
    c = client(p.port)
    statuses = [c.send("POST", path).status for path in ("/login", "/%6cogin", "/login?x", "/login/;a")]
    assert statuses.count(200) <= 2 and set(statuses) <= {200, 429}, statuses
    assert c.send("POST", "/a%2f..%2flogin").status in (400, 403)
    assert not [s for s in upstream.seen if "%2f" in s["target"].lower()]


# Without an answer nobody passes, and clients are told that it is not their fault.
def test_fails_closed(proxy, client, upstream):
    p = proxy()
    p.penstock.terminate()
    before = len(upstream.seen)
    answer = client(p.port).send("GET", "/other")
    assert answer.status == p.down
    assert len(upstream.seen) == before


# The other choice: while Penstock is away everything passes, and once it is there it refuses.
def test_fails_open_by_choice(proxy, client, upstream):
    p = proxy(fail_open=True)
    c = client(p.port)
    assert [c.send("POST", "/login").status for _ in range(3)] == [200, 200, 429]
    p.penstock.terminate()
    assert [c.send("POST", "/login", body=b"abc").status for _ in range(3)] == [200] * 3
    assert [s["body"] for s in upstream.seen][-3:] == [b"abc"] * 3


# A queue works through a proxy: the second request waits its second, none is lost.
def test_a_queue_delays(proxy, client):
    p = proxy()
    c = client(p.port)
    start = time.monotonic()
    assert [c.send("GET", "/hooks/a").status for _ in range(2)] == [200, 200]
    assert time.monotonic() - start >= 1


# Where others reach the decision listener, the proxy brings a token and its client cannot.
def test_a_token_is_carried(proxy, client):
    c = client(proxy(with_token=True).port)
    assert [c.send("POST", "/login", headers={"X-Penstock-Token": "guess"}).status for n in range(3)] == [200, 200, 429]


# Between machines the token must not be read on the way: each proxy speaks TLS to Penstock, and speaks
# to nobody who cannot prove that it is Penstock.
def test_a_check_is_encrypted(proxy, client, started):
    certificates = started(Certificates("127.0.0.1", "one.test"))
    c = client(proxy(with_token=True, certificates=certificates).port)
    assert [c.send("POST", "/login").status for n in range(3)] == [200, 200, 429]


def test_an_impostor_is_not_asked(proxy, client, started, upstream):
    certificates = started(Certificates("127.0.0.1", "one.test"))
    for name in ("127.0.0.1", "one.test"):
        certificates.issue(name, authority="other")
    p = proxy(with_token=True, certificates=certificates)
    before = len(upstream.seen)
    assert client(p.port).send("GET", "/other").status == p.down
    assert len(upstream.seen) == before
