"""What the end-to-end tests share: the real binary, real peers, free loopback ports, private folders.

Everything started here is ended here, and nothing else is. A missing tool fails under CI=true and is
a named skip elsewhere.
"""
import contextlib
import http.client
import http.server
import itertools
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = os.environ.get("PENSTOCK_BINARY", str(ROOT / "build/release/penstock"))
SCALE = int(os.environ.get("PENSTOCK_SCALE", "1"))


def tool(name):
    """The path of a program that the test needs."""
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    return path or not_installed(name, "scripts/setup build test")


def pinned_tool(name):
    """The path of a program of packages/python.txt, whatever else of that name there is."""
    path = shutil.which(name, path=str(ROOT / "build/python/bin"))
    return path or not_fetched(name, "scripts/python_tools", "build/python")


@pytest.fixture
def started():
    """started(thing) keeps a thing with close() until the test is over; last started, first ended."""
    things = []

    def keep(thing):
        things.append(thing)
        return thing

    yield keep
    for thing in reversed(things):
        thing.close()


def sanitized():
    """Whether the binary is built under a sanitizer: its memory and its system calls are not all its own."""
    octets = pathlib.Path(BINARY).read_bytes()
    return b"__asan_init" in octets or b"__tsan_init" in octets


def not_fetched(name, script, folder):
    """`name` is not in the folder that `script` fills. Where its registry cannot be had, nothing can be done."""
    if (ROOT / folder / "unreachable").exists():
        pytest.skip(f"{name} could not be had from its registry ({script})")
    not_installed(name, script)


def not_installed(name, remedy):
    message = f"{name} is not installed ({remedy})"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


def free_port():
    """A port that nobody listens on, outside the range that outgoing connections take theirs from: until
    the caller's program listens there, nothing else is given it."""
    while True:
        port = random.randrange(12_000, 32_000)
        with contextlib.suppress(OSError), socket.socket() as s:
            s.bind(("0.0.0.0", port))
            return port


def wait_for(condition, what, seconds=20):
    """Polls until `condition` holds; the bound is generous because only its absence is a failure."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {what}")


def accepts(port, host="127.0.0.1"):
    with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=1):
        return True
    return False


def freeze(pid):
    """SIGSTOP, and until the last of its threads stands still: until then it may still take something up."""
    os.kill(pid, signal.SIGSTOP)
    still = lambda stat: stat.read_text().rpartition(")")[2].split()[0] == "T"  # noqa: E731
    wait_for(lambda: all(map(still, pathlib.Path(f"/proc/{pid}/task").glob("*/stat"))), "it stands still")


class Process:
    """A program with its output in a file; ended with its group when the test is over."""

    def __init__(self, args, name, **popen):
        self.folder = tempfile.mkdtemp(prefix=f"penstock-{name}-")
        self.log_path = os.path.join(self.folder, "log")
        self.name = name
        self.log_file = open(self.log_path, "wb")
        self.child = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=self.log_file,
                                      stderr=subprocess.STDOUT, start_new_session=True, **popen)

    @property
    def log(self):
        return pathlib.Path(self.log_path).read_text(errors="replace")

    def wait_for_line(self, pattern, seconds=20):
        def look():
            match = re.search(pattern, self.log, re.M)
            if match is None and self.child.poll() is not None:
                raise AssertionError(f"{self.name} ended with {self.child.returncode}:\n{self.log}")
            return match
        return wait_for(look, f"{self.name} prints {pattern!r}; it printed:\n{self.log}", seconds)

    def terminate(self, seconds=20):
        """SIGTERM, then the exit code."""
        self.child.send_signal(signal.SIGTERM)
        return self.child.wait(seconds)

    def close(self):
        if self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGTERM)
            try:
                self.child.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self.child.pid, signal.SIGKILL)
                self.child.wait()
        self.log_file.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Penstock(Process):
    """`penstock serve` with a policy text and an upstream on a free port."""

    def __init__(self, policy=None, args=(), upstream=None, environment=None):
        folder = tempfile.mkdtemp(prefix="penstock-policy-")
        self.policy_path = os.path.join(folder, "policy.yaml")
        command = [BINARY, "serve", *args]
        if policy is not None:
            pathlib.Path(self.policy_path).write_text(policy)
            command += ["-c", self.policy_path]
        if "--listen" not in args:
            command += ["--listen", "127.0.0.1:0"]
        if upstream is not None:
            command += ["--upstream", f"http://127.0.0.1:{upstream}"]
        super().__init__(command, "serve", env={**os.environ, **(environment or {})})
        self.policy_folder = folder
        try:
            if upstream is not None:
                self.port = int(self.wait_for_line(r"gateway listening on https?://[^ ]*:(\d+)").group(1))
        except BaseException:
            self.close()
            raise

    def close(self):
        super().close()
        shutil.rmtree(self.policy_folder, ignore_errors=True)
        # A sanitizer's report must not go unseen because the process was ended anyway.
        assert self.child.returncode in (0, -signal.SIGTERM, -signal.SIGKILL, 1, 2), \
            f"penstock ended with {self.child.returncode}"


class Upstream:
    """A small HTTP/1.1 API in this process. Records what it saw; answers 200 with the body's size."""

    def __init__(self):
        seen = self.seen = []
        lock = threading.Lock()
        number = itertools.count(1)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                if "chunked" in self.headers.get("Transfer-Encoding", ""):
                    body = b""
                    while size := int(self.rfile.readline().split(b";")[0], 16):
                        body += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                else:
                    body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                with lock:
                    seen.append({"method": self.command, "target": self.path, "body": body,
                                 "headers": [(k.lower(), v) for k, v in self.headers.items()]})
                text = f"{next(number)} {len(body)}\n".encode()
                self.send_response(int(self.headers.get("X-Answer-Status", "200")))
                self.send_header("Content-Type", "text/plain")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(text)

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_OPTIONS = do_PATCH = answer

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = {}
        for name, value in response.getheaders():
            self.headers[name.lower()] = value
        self.body = response.read()


class Client:
    """One keep-alive connection from a loopback address of choice."""

    def __init__(self, port, source="127.0.0.1"):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30,
                                                     source_address=(source, 0))

    def send(self, method="GET", path="/", body=None, headers=None):
        self.connection.request(method, path, body=body, headers=headers or {})
        return Answer(self.connection.getresponse())

    def close(self):
        self.connection.close()


def raw(port, octets, seconds=10):
    """Sends octets on a fresh connection and returns all that comes until the peer closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as s:
        s.sendall(octets)
        data = b""
        with contextlib.suppress(ConnectionResetError):
            while chunk := s.recv(65536):
                data += chunk
        return data


def run(*args, **options):
    """Runs the binary to its end: (exit code, standard output, standard error)."""
    done = subprocess.run([BINARY, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60, **options)
    return done.returncode, done.stdout, done.stderr
