"""`penstock import nginx`: the command, and its policies against a real nginx with the original.

In the differential tests nginx serves the configuration, Penstock the policy that was made from it,
and both get the same requests in the same order; every status has to be the same. Refills take 20 s,
so that a slow machine does not change the outcome."""
import concurrent.futures
import os
import pathlib
import re
import textwrap
import time

import pytest
import yaml

import harness

TESTDATA = harness.ROOT / "src/import/testdata"
GOOD = sorted(TESTDATA.glob("good/*.conf"))
BAD = sorted(TESTDATA.glob("bad/*.conf"))


def imported(path, *args):
    code, policy, err = harness.run("import", "nginx", str(path), *args)
    assert code == 0, err
    return policy


# What is printed goes into production: it has no error, and it is the text that somebody has read.
@pytest.mark.parametrize("path", GOOD, ids=lambda p: p.stem)
def test_a_policy_comes_out_that_loads(tmp_path, path):
    policy = tmp_path / "policy.yaml"
    policy.write_text(imported(path))
    assert policy.read_text() == path.with_suffix(".yaml").read_text()
    code, out, err = harness.run("check", str(policy))
    assert code == 0, out + err


# Nothing half-made on standard output, and a message that names file, line and remedy.
@pytest.mark.parametrize("path", BAD, ids=lambda p: p.stem)
def test_a_broken_file_is_named(path):
    code, out, err = harness.run("import", "nginx", str(path))
    assert (code, out) == (2, "")
    assert err == "penstock: " + path.with_suffix(".txt").read_text()
    assert err.startswith(f"penstock: {path.name}:1: ")


def test_a_file_that_is_not_there(tmp_path):
    for path in (tmp_path / "nginx.conf", tmp_path):
        code, out, err = harness.run("import", "nginx", str(path))
        assert (code, out) == (2, "") and str(path) in err and "cannot be read" in err


# For pipelines: a change that is no longer carried over exactly stops them.
def test_strict_tells_exact_from_inexact():
    assert harness.run("import", "nginx", "--strict", str(TESTDATA / "good/first.conf"))[0] == 0
    code, out, err = harness.run("import", "nginx", "--strict", str(TESTDATA / "good/site.conf"))
    assert code == 3 and out == (TESTDATA / "good/site.yaml").read_text()
    assert "5 limits; 7 differences and 4 lines left out" in err


# A copy elsewhere finds the parts of the original.
def test_prefix(tmp_path):
    copy = tmp_path / "nginx.conf"
    copy.write_text((TESTDATA / "good/parts.conf").read_text())
    assert "limits:\n" not in imported(copy)
    assert 'name: "parts"' in imported(copy, "--prefix", str(TESTDATA / "good"))


# Files that nobody wrote with care: any of them ends in a policy or a message, never otherwise.
def test_odd_bytes(tmp_path):
    odd = tmp_path / "odd.conf"
    for octets in (b"", b"\0" * 100, b"\xff\xfe{;", b"{" * 5000, b"a{" * 5000, b"'" * 9, b"include /dev/zero;",
                   b"include *;" * 3, "http { server { location /ü { } } }".encode()):
        odd.write_bytes(octets)
        code, out, err = harness.run("import", "nginx", str(odd))
        assert code in (0, 2), (octets, err)
        assert (out == "") == (code == 2)


class Nginx:
    """A real nginx with the http block of a test, on a free port."""

    def __init__(self, started, folder, http, upstream):
        self.port = harness.free_port()
        self.path = folder / "nginx.conf"
        temp = "\n".join(f"    {what}_temp_path {folder}/{what};"
                         for what in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        user = "user root;\n" if os.getuid() == 0 else ""
        self.path.write_text(f"{user}pid {folder}/pid;\nworker_processes 1;\nevents {{}}\n"
                             f"http {{\n    access_log off;\n{temp}\n" +
                             http.replace("PORT", str(self.port)).replace("API", f"127.0.0.1:{upstream.port}") +
                             "\n}\n")
        self.process = started(harness.Process(
            [harness.tool("nginx"), "-p", str(folder), "-c", str(self.path), "-e", "stderr", "-g", "daemon off;"],
            "nginx", cwd=folder))
        harness.wait_for(lambda: self.process.child.poll() is not None or harness.accepts(self.port), "nginx listens")
        assert self.process.child.poll() is None, self.process.log


@pytest.fixture
def both(started, serve, upstream, tmp_path):
    """both(http) → (nginx, penstock with the imported policy)"""
    def make(http):
        nginx = Nginx(started, tmp_path, http, upstream)
        policy = imported(nginx.path)
        assert f'upstream: ["http://127.0.0.1:{upstream.port}"]' in policy
        return nginx, serve(policy)
    return make


SERVER = """
    server {
        listen 127.0.0.1:PORT;
        %s
        location / { %s proxy_pass http://API; }
    }"""


def server(inside="", root=""):
    return SERVER % (inside, root)


def zone(name, key="$binary_remote_addr", rate="3r/m"):
    return f"    limit_req_zone {key} zone={name}:1m rate={rate};\n"


A, B = "127.0.0.1", "127.0.0.2"
GET, POST = "GET", "POST"

# name: (http block, requests as (how many, from, method, target, fields), how many are refused of each)
SEQUENCES = {
    "burst and one more, in a counter for each client": (
        zone("a") + server("limit_req zone=a burst=4 nodelay;"),
        [(8, A, GET, "/", {}), (6, B, POST, "/other", {})], [3, 1]),
    "no burst, other status": (
        zone("a") + server("limit_req zone=a; limit_req_status 429;"), [(3, A, GET, "/", {})], [2]),
    "each location its own": (
        zone("all") + zone("api") + zone("login") + server(
            """location /api/ { limit_req zone=api burst=2 nodelay; proxy_pass http://API; }
            location = /api/login { limit_req zone=login; proxy_pass http://API; }
            location /free/ { proxy_pass http://API; }""",
            "limit_req zone=all burst=3 nodelay;"),
        [(6, A, GET, "/", {}), (5, A, GET, "/api/x", {}), (3, A, GET, "/api/login", {}), (9, A, GET, "/free/x", {}),
         (2, A, GET, "/other", {}), (1, B, GET, "/api/login", {})], [2, 2, 2, 0, 2, 0]),
    "inherited, and replaced by a level's own": (
        zone("outer") + zone("inner") + server(
            """limit_req zone=outer burst=3 nodelay;
            location /same/ { proxy_pass http://API; }
            location /own/ { limit_req zone=inner burst=1 nodelay; proxy_pass http://API; }"""),
        [(2, A, GET, "/", {}), (4, A, GET, "/same/x", {}), (4, A, GET, "/own/x", {})], [0, 2, 2]),
    "precedence: expression over prefix, ^~ over expression": (
        zone("p") + zone("r") + zone("f") + server(
            """location /a/ { limit_req zone=p burst=8 nodelay; proxy_pass http://API; }
            location ~ ^/(a|b)/ { limit_req zone=r; proxy_pass http://API; }
            location ^~ /b/final/ { limit_req zone=f burst=2 nodelay; proxy_pass http://API; }"""),
        [(3, A, GET, "/a/x", {}), (5, A, GET, "/b/final/x", {})], [2, 2]),
    "two limits: what one refuses, the other does not count": (
        zone("client") + zone("all", "$server_name") + server(
            """server_name api.example.com; limit_req zone=client burst=3 nodelay; limit_req zone=all burst=5 nodelay;"""),
        [(6, A, GET, "/", {}), (4, B, GET, "/", {}), (1, "127.0.0.3", GET, "/", {})], [2, 2, 1]),
    "a server without a name has no $server_name": (
        zone("client") + zone("all", "$server_name") + server("limit_req zone=client; limit_req zone=all;"),
        [(2, A, GET, "/", {}), (1, B, GET, "/", {})], [1, 0]),
    "an allow list": (
        """    geo $limit { default 1; 127.0.0.2/32 0; }
    map $limit $limit_key { 0 ""; 1 $binary_remote_addr; }\n""" + zone("a", "$limit_key") +
        server("limit_req zone=a burst=1 nodelay;"),
        [(4, A, GET, "/", {}), (9, B, GET, "/", {})], [2, 0]),
    "a partner's header": (
        """    map $http_x_partner $key { let-me-in ""; default $binary_remote_addr; }\n""" + zone("a", "$key") +
        server("limit_req zone=a;"),
        [(3, A, GET, "/", {"X-Partner": "let-me-in"}), (3, A, GET, "/", {"X-Partner": "other"})], [0, 2]),
    "one method only": (
        """    map $request_method $key { POST $binary_remote_addr; default ""; }\n""" + zone("a", "$key") +
        server("limit_req zone=a burst=1 nodelay;"), [(5, A, GET, "/", {}), (4, A, POST, "/", {})], [0, 2]),
    "an empty key is not limited": (
        zone("a", "$http_x_api_key") + server("limit_req zone=a;"),
        [(4, A, GET, "/", {}), (3, A, GET, "/", {"X-Api-Key": "k1"}), (2, B, GET, "/", {"X-Api-Key": "k2"})], [0, 2, 1]),
    "a composite key with an empty part": (
        zone("a", "$binary_remote_addr$http_x_api_key") + server("limit_req zone=a;"),
        [(2, A, GET, "/", {}), (2, A, GET, "/", {"X-Api-Key": "k"}), (2, B, GET, "/", {"X-Api-Key": "k"})], [1, 1, 1]),
    "a cookie, else the address": (
        """    map $cookie_sid $who { "" $binary_remote_addr; default $cookie_sid; }\n""" + zone("a", "$who") +
        server("limit_req zone=a;"),
        [(2, A, GET, "/", {}), (2, A, GET, "/", {"Cookie": "sid=1"}), (1, B, GET, "/", {"Cookie": "sid=1"})], [1, 1, 1]),
    "an argument": (
        zone("a", "$arg_user") + server("limit_req zone=a;"),
        [(2, A, GET, "/?user=1", {}), (2, B, GET, "/?x=1&user=2", {}), (2, A, GET, "/?x=1", {})], [1, 1, 0]),
    "trusted proxies": (
        """    set_real_ip_from 127.0.0.0/8; real_ip_header X-Forwarded-For; real_ip_recursive on;\n""" + zone("a") +
        server("limit_req zone=a;"),
        [(2, A, GET, "/", {"X-Forwarded-For": "192.0.2.1"}), (1, B, GET, "/", {"X-Forwarded-For": "192.0.2.1"}),
         (2, A, GET, "/", {"X-Forwarded-For": "192.0.2.1, 192.0.2.2, 127.0.0.9"})], [1, 1, 1]),
    "a dry run": (
        zone("a") + server("limit_req zone=a burst=1 nodelay; limit_req_dry_run on;"), [(6, A, GET, "/", {})], [0]),
    "undelayed ones first": (
        zone("a") + server("limit_req zone=a burst=3 delay=3;"), [(6, A, GET, "/", {})], [2]),
    "quotes and escapes": (
        zone("a", '"x:${binary_remote_addr}"') + server("""limit_req 'zone=a' "burst=1" nodelay; # not; this {
            location "/with space/" { limit_req zone=a; proxy_pass http://API; }
            location /braces{ proxy_pass http://API; }"""),
        [(4, A, GET, "/", {}), (2, A, GET, "/braces/x", {})], [2, 2]),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_the_same_requests_pass(both, client, name):
    http, requests, refused = SEQUENCES[name]
    answers = {}
    for who in both(http):
        answers[who] = []
        for count, source, method, target, fields in requests:
            c = client(who.port, source)
            answers[who].append([c.send(method, target, headers=fields).status for _ in range(count)])
    by_nginx, by_penstock = answers.values()
    assert by_penstock == by_nginx
    assert [sum(status != 200 for status in group) for group in by_penstock] == refused


def at_once(port, count):
    """Statuses and seconds of requests that are sent together."""
    clients = [harness.Client(port) for _ in range(count)]
    for c in clients:
        c.connection.connect()

    def send(c):
        start = time.monotonic()
        return c.send("GET", "/").status, time.monotonic() - start
    try:
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            return list(pool.map(send, clients))
    finally:
        for c in clients:
            c.close()


# Without nodelay a burst waits its turn: as many are admitted, and the last of them waits as long.
def test_a_queue_holds_as_many(both):
    for who in both(zone("a", rate="30r/m") + server("limit_req zone=a burst=2;")):
        answers = at_once(who.port, 6)
        assert sorted(status for status, _ in answers) == [200] * 3 + [503] * 3
        waits = sorted(seconds for status, seconds in answers if status == 200)
        assert waits[1] >= 1 and waits[2] >= 3  # 2 and 4 s, less what sending took


# nodelay: all at once, and no more than burst + 1.
def test_a_burst_at_once(both):
    for who in both(zone("a") + server("limit_req zone=a burst=10 nodelay;")):
        assert sorted(status for status, _ in at_once(who.port, 16)) == [200] * 11 + [503] * 5


# With --decision nginx keeps its listeners and upstreams, and asks.
def test_a_policy_for_an_nginx_that_asks(tmp_path):
    policy = imported(TESTDATA / "good/allow-list.conf", "--decision")
    assert "gateway:" not in policy and 'decision: { http: "127.0.0.1:8081" }' in policy
    path = pathlib.Path(tmp_path, "policy.yaml")
    path.write_text(policy)
    assert harness.run("check", str(path))[0] == 0


# What the guide shows is what its reader gets.
def test_the_guide_shows_what_is_printed(tmp_path):
    guide = (harness.ROOT / "docs/guides/from-nginx-limit-req.md").read_text()
    block = lambda language: textwrap.dedent(re.search(rf"   ```{language}\n(.*?)   ```", guide, re.S).group(1))
    original = tmp_path / "nginx.conf"
    original.write_text(block("nginx"))
    assert yaml.safe_load(imported(original)) == yaml.safe_load(block("yaml"))
    bare = "\n".join(line.split("  # ")[0] for line in imported(original).splitlines()
                     if line.strip() and not line.strip().startswith("#"))
    assert bare + "\n" == block("yaml")
    code, out, _ = harness.run("import", "nginx", "--strict", str(original))
    assert code == 0 and "0 differences, 0 lines left out" in out
