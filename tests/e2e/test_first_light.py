"""The main job through the real binary: requests are counted, refused and let in again."""
import json
import os
import pathlib
import re
import subprocess
import time

import harness

POLICY = """\
version: 1
limits:
  - { name: per-client, key: address, rate: 1/s, burst: 20 }
"""


# The sentence on the tin: burst 20 is 20, not 21; others are untouched; the wait named is true.
def test_thirty_requests_with_burst_twenty(serve, client):
    gateway = serve("version: 1\nlimits:\n  - { name: c, key: address, rate: 10/min, burst: 20 }\n")
    first = client(gateway.port)
    answers = [first.send() for _ in range(30)]
    assert [a.status for a in answers] == [200] * 20 + [429] * 10
    other = client(gateway.port, "127.0.0.2")
    assert [other.send().status for _ in range(20)] == [200] * 20
    wait = int(answers[-1].headers["retry-after"])
    assert 1 <= wait <= 6
    time.sleep(wait)
    assert first.send().status == 200


# Everything a client needs to behave is in the refusal, and the numbers agree.
def test_a_refusal_explains_itself(serve, client):
    gateway = serve("version: 1\nlimits:\n  - { name: c, key: address, rate: 2/min }\n")
    c = client(gateway.port)
    passed = c.send()
    assert passed.headers["x-ratelimit-limit"] == "2"
    assert passed.headers["x-ratelimit-remaining"] == "1"
    assert passed.headers["x-ratelimit-window"] == "60"
    assert passed.headers["ratelimit-policy"] == '"c";q=2;w=60'
    c.send()
    before = time.time()
    refused = c.send()
    assert refused.status == 429
    wait = int(refused.headers["retry-after"])
    assert 28 <= wait <= 30
    assert refused.headers["x-ratelimit-remaining"] == "0"
    assert abs(int(refused.headers["x-ratelimit-reset"]) - (before + 60)) <= 3
    assert refused.headers["ratelimit"] == f'"c";r=0;t={wait}'
    assert refused.headers["cache-control"] == "no-store"
    assert refused.headers["content-type"] == "application/json"
    body = json.loads(refused.body)
    assert body == {"error": "rate limit exceeded", "limit": "c", "retry_after": wait}


# A refused request must not reach the API, and an admitted one exactly once.
def test_the_upstream_sees_what_was_admitted(serve, client, upstream):
    gateway = serve("version: 1\nlimits:\n  - { name: c, key: global, rate: 3/h }\n")
    c = client(gateway.port)
    statuses = [c.send("POST", f"/p?n={n}", body=b"x" * n).status for n in range(6)]
    assert statuses == [200] * 3 + [429] * 3
    assert [(s["target"], len(s["body"])) for s in upstream.seen] == [("/p?n=0", 0), ("/p?n=1", 1), ("/p?n=2", 2)]


# Several limits are one decision: a refusal by one charges none of the others.
def test_a_refusal_by_one_limit_charges_no_other(serve, client):
    gateway = serve("version: 1\nlimits:\n"
                    "  - { name: key, key: header(X-API-Key), rate: 2/h }\n"
                    "  - { name: all, key: global, rate: 5/h }\n")
    c = client(gateway.port)
    a = [c.send(headers={"X-API-Key": "a"}).status for _ in range(10)]
    b = [c.send(headers={"X-API-Key": "b"}).status for _ in range(2)]
    rest = [c.send(headers={"X-API-Key": "c"}).status for _ in range(2)]
    assert (a, b, rest) == ([200] * 2 + [429] * 8, [200] * 2, [200, 429])


# Bodies of both framings go through unchanged, on one connection.
def test_bodies_stream_through(serve, client, upstream):
    gateway = serve(POLICY)
    c = client(gateway.port)
    big = os.urandom(3 << 20)
    assert c.send("POST", "/length", body=big).status == 200
    chunks = (big[i:i + 70_000] for i in range(0, len(big), 70_000))
    c.connection.request("POST", "/chunked", body=chunks, encode_chunked=True,
                         headers={"Transfer-Encoding": "chunked"})
    assert harness.Answer(c.connection.getresponse()).status == 200
    assert [s["body"] == big for s in upstream.seen] == [True, True]


# Flags alone are enough for a first try, and read like the file.
def test_flags_without_a_file(serve, client):
    gateway = serve(None, "--limit", "address 1/h burst 2", "--limit", "global 1000/s fixed_window")
    c = client(gateway.port)
    assert [c.send().status for _ in range(3)] == [200, 200, 429]


# SIGTERM answers what is in flight, then ends with 0.
def test_sigterm_drains(serve, started):
    slow = started(SlowUpstream())
    gateway = started(harness.Penstock(POLICY, upstream=slow.port))
    c = started(harness.Client(gateway.port))
    c.connection.request("GET", "/slow")
    harness.wait_for(lambda: slow.waiting, "the request is at the upstream")
    gateway.child.terminate()
    harness.wait_for(lambda: not harness.accepts(gateway.port), "the listener is closed")
    slow.release()
    answer = harness.Answer(c.connection.getresponse())
    assert (answer.status, answer.body) == (200, b"slow")
    assert gateway.child.wait(20) == 0


class SlowUpstream:
    """Answers one request when told to."""

    def __init__(self):
        import socket
        import threading
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.waiting = False
        self.event = threading.Event()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        connection, _ = self.listener.accept()
        with connection:
            data = b""
            while b"\r\n\r\n" not in data:
                data += connection.recv(4096)
            self.waiting = True
            self.event.wait(30)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nslow")

    def release(self):
        self.event.set()

    def close(self):
        self.event.set()
        self.listener.close()


# A dead upstream is a 502 with a reason, not a hang, and the next request works when it is back.
def test_a_dead_upstream_is_502(started):
    port = harness.free_port()
    gateway = started(harness.Penstock(POLICY, upstream=port))
    c = started(harness.Client(gateway.port))
    answer = c.send()
    assert answer.status == 502
    assert b"upstream" in answer.body


# Everything a person can get wrong at the start names the place and the remedy; exit code 2.
def test_errors_at_start_can_be_acted_on(tmp_path, started, upstream):
    bad = tmp_path / "policy.yaml"
    bad.write_text("version: 1\nlimits:\n  - { name: a, key: adress, rate: 10/s }\n  - { name: b, key: address, rat: 1/s }\n")
    code, out, err = harness.run("serve", "-c", str(bad))
    assert code == 2
    assert f"{bad}:3:" in err and 'did you mean "address"' in err
    assert f"{bad}:4:" in err and 'did you mean "rate"' in err
    code, out, err = harness.run("serve", "-c", str(tmp_path / "none.yaml"))
    assert code == 2 and "none.yaml" in err
    code, out, err = harness.run("serve", "--limit", "address 10/s brust 3")
    assert code == 2 and 'unknown algorithm "brust"' in err and 'hint:' in err
    taken = started(harness.Penstock(POLICY, upstream=upstream.port))
    code, out, err = harness.run("serve", "--listen", f"127.0.0.1:{taken.port}", "--upstream", "http://127.0.0.1:9")
    assert code == 1 and "in use" in err and str(taken.port) in err


# `serve --help` fits one screen; version names the program.
def test_help_fits_one_screen_and_version_answers():
    code, out, err = harness.run("serve", "--help")
    assert code == 0 and 10 <= len(out.splitlines()) <= 40
    assert max(map(len, out.splitlines())) <= 120
    code, out, err = harness.run("version")
    assert code == 0 and re.match(r"penstock \d+\.\d+\.\d+\n", out)


# The tools people reach for first.
def test_curl_and_wrk(serve):
    gateway = serve("version: 1\nlimits:\n  - { name: c, key: address, rate: 100/h }\n")
    url = f"http://127.0.0.1:{gateway.port}/x"
    done = subprocess.run([harness.tool("curl"), "-sS", "-i", url], capture_output=True, text=True, timeout=30)
    assert done.stdout.startswith("HTTP/1.1 200 OK\r\n".replace("\r\n", "\n")) or done.stdout.startswith("HTTP/1.1 200 OK")
    done = subprocess.run([harness.tool("wrk"), "-t1", "-c8", "-d1s", url], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    total = int(re.search(r"(\d+) requests in", done.stdout).group(1))
    bad = int(re.search(r"Non-2xx or 3xx responses: (\d+)", done.stdout).group(1))
    assert total > 100
    # wrk does not count what was in flight at its end: at most one request for each connection.
    assert 99 - 8 <= total - bad <= 99
    assert "Socket errors" not in done.stdout


# A Node client with a keep-alive agent against a Node API, and nginx as the API.
def test_node_and_nginx_upstreams(started, tmp_path):
    node = harness.tool("node")
    script = pathlib.Path(__file__).with_name("node_peer.js")
    api = started(harness.Process([node, str(script), "server"], "node"))
    port = int(api.wait_for_line(r"^(\d+)$").group(1))
    gateway = started(harness.Penstock("version: 1\nlimits:\n  - { name: c, key: address, rate: 1000/h }\n", upstream=port))
    done = subprocess.run([node, str(script), "client", str(gateway.port)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout) == {"statuses": {"200": 60}, "echoed": 60}

    nginx = harness.tool("nginx")
    port = harness.free_port()
    (tmp_path / "logs").mkdir()
    (tmp_path / "page.txt").write_text("x" * 100_000)
    user = "user root; " if os.getuid() == 0 else ""  # its workers must read a private folder
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; {user}error_log {tmp_path}/logs/error.log; pid {tmp_path}/nginx.pid;\n"
        "events { worker_connections 64; }\n"
        f"http {{ access_log off; client_body_temp_path {tmp_path}/b; proxy_temp_path {tmp_path}/p;\n"
        f"  fastcgi_temp_path {tmp_path}/f; uwsgi_temp_path {tmp_path}/u; scgi_temp_path {tmp_path}/s;\n"
        f"  server {{ listen 127.0.0.1:{port}; root {tmp_path}; }} }}\n")
    started(harness.Process([nginx, "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")], "nginx"))
    harness.wait_for(lambda: harness.accepts(port), "nginx listens")
    gateway = started(harness.Penstock("version: 1\nlimits:\n  - { name: c, key: address, rate: 1000/h }\n", upstream=port))
    c = started(harness.Client(gateway.port))
    answers = [c.send("GET", "/page.txt") for _ in range(20)] + [c.send("HEAD", "/page.txt")]
    assert [a.status for a in answers] == [200] * 21
    assert {len(a.body) for a in answers[:20]} == {100_000}
    assert answers[20].headers["content-length"] == "100000" and answers[20].body == b""
