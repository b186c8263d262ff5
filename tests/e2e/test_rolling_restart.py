"""Rolling restarts through the real binary: SIGUSR2 hands the listening sockets to a new process,
and no client notices. docs/guides/restarting.md says what is promised; here it is held to it."""
import collections
import contextlib
import http.client
import os
import pathlib
import re
import signal
import socket
import sys
import threading

import harness

RESTARTS = 5 * harness.SCALE
OPEN = "version: 1\nlimits:\n  - { name: c, key: global, algorithm: fixed_window, rate: 1000000/30d }\n"
STARTED = r"process (\d+) was started to take over from {}\b"
SERVES = r"process (\d+) serves; process {} finishes"


def is_running(pid):
    """Zombies do not count: who their parent is depends on where the test runs."""
    with contextlib.suppress(OSError):
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        return state not in "ZX"
    return False


class Chain:
    """A gateway and the processes that follow it, which share its log and its process group."""

    def __init__(self, gateway):
        self.gateway = gateway
        self.pids = [gateway.child.pid]

    @property
    def log(self):
        return self.gateway.log

    def ask(self):
        os.kill(self.pids[-1], signal.SIGUSR2)

    def await_line(self, pattern, seconds=60):
        return harness.wait_for(lambda: re.search(pattern, self.log), f"{pattern!r} in:\n{self.log}", seconds)

    def await_started(self):
        return int(self.await_line(STARTED.format(self.pids[-1])).group(1))

    def restart(self):
        self.ask()
        self.pids.append(int(self.await_line(SERVES.format(self.pids[-1])).group(1)))

    def await_end(self, pid, seconds=60):
        if pid == self.gateway.child.pid:
            assert self.gateway.child.wait(seconds) == 0, self.log
        harness.wait_for(lambda: not is_running(pid), f"process {pid} ends", seconds)

    def close(self):
        for pid in self.pids[1:]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        for pid in self.pids[1:]:
            with contextlib.suppress(AssertionError):
                harness.wait_for(lambda p=pid: not is_running(p), f"process {pid} ends")
                continue
            os.kill(pid, signal.SIGKILL)
        # Nobody looks at how the later ones ended.
        assert not re.search(r"Sanitizer|runtime error", self.log), self.log


class Load:
    """Requests without a pause from kept and from fresh connections. Every one must be answered; a
    kept connection ends only where an answer said so."""

    def __init__(self, port, kept=4, fresh=3, headers=None, path="/"):
        self.port, self.headers, self.path = port, headers or {}, path
        self.statuses, self.lost, self.stop = collections.Counter(), [], threading.Event()
        self.closes = 0
        self.lock = threading.Lock()
        self.threads = ([threading.Thread(target=self.run, args=(True,)) for _ in range(kept)] +
                        [threading.Thread(target=self.run, args=(False,)) for _ in range(fresh)])
        for t in self.threads:
            t.start()

    def run(self, keep):
        connection = None
        while not self.stop.is_set():
            try:
                if connection is None:
                    connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
                connection.request("GET", self.path, headers=self.headers)
                response = connection.getresponse()
                response.read()
                with self.lock:
                    self.statuses[response.status] += 1
                if response.will_close:
                    self.closes += 1
                if response.will_close or not keep:
                    connection.close()
                    connection = None
            except (OSError, http.client.HTTPException) as failed:
                with self.lock:
                    self.lost.append(repr(failed))
                connection = None
        if connection is not None:
            connection.close()

    @property
    def answered(self):
        return sum(self.statuses.values())

    def more(self, number=100):
        now = self.answered
        harness.wait_for(lambda: self.answered >= now + number or self.lost, "the load goes on", 60)

    def end(self):
        self.stop.set()
        for t in self.threads:
            t.join()


# The promise itself: nobody notices, on any listener, however often.
def test_nothing_is_lost_over_many_restarts(serve, started):
    gateway = serve(OPEN, "--health", "127.0.0.1:0", "--admin", "127.0.0.1:0",
                    "--decision-http", "127.0.0.1:0", "--workers", "2")
    ports = {face: int(gateway.wait_for_line(rf"{face} listening on http://[^ ]*:(\d+)").group(1))
             for face in ("gateway", "decision", "health", "admin")}
    chain = started(Chain(gateway))
    loads = [Load(ports["gateway"]),
             Load(ports["decision"], kept=1, fresh=1, path="/v1/auth",
                  headers={"X-Forwarded-Method": "GET", "X-Forwarded-Uri": "/"}),
             Load(ports["health"], kept=1, fresh=1, path="/readyz"),
             Load(ports["admin"], kept=1, fresh=1, path="/api/v1/status")]
    try:
        for _ in range(RESTARTS):
            loads[0].more()
            chain.restart()
            loads[0].more()
    finally:
        for load in loads:
            load.end()
    for load in loads:
        assert load.lost == [], (load.path, load.lost[:5], chain.log)
        assert set(load.statuses) == {200}, (load.path, load.statuses)
        assert load.answered >= RESTARTS, load.path
    assert loads[0].closes >= RESTARTS  # each kept connection was told, and told in time
    for pid in chain.pids[:-1]:
        chain.await_end(pid)
    assert is_running(chain.pids[-1])
    # The ports that were picked at the first start are still those.
    for face, port in ports.items():
        assert harness.accepts(port), face


# A client that is idle while the process changes gets its next answer, and hears that it is the
# last; and what was under way is finished.
def test_an_idle_connection_gets_one_more_answer(serve, started, client):
    gateway = serve(OPEN)
    chain = started(Chain(gateway))
    idle = client(gateway.port)
    assert idle.send().status == 200
    slow = socket.create_connection(("127.0.0.1", gateway.port), timeout=30)
    slow.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n01234")
    chain.restart()
    answer = idle.send()
    assert answer.status == 200
    assert answer.headers["connection"] == "close"
    assert is_running(chain.pids[0])
    slow.sendall(b"56789")
    got = slow.recv(65536)
    slow.close()
    assert got.startswith(b"HTTP/1.1 200"), got
    idle.close()
    chain.await_end(chain.pids[0])


# A new configuration with an error, or a program that is not there any more, must not cost the
# process that works.
def test_a_successor_that_cannot_start_changes_nothing(serve, started, client):
    gateway = serve(OPEN)
    chain = started(Chain(gateway))
    path = pathlib.Path(gateway.policy_path)
    load = Load(gateway.port, kept=2, fresh=2)
    try:
        path.write_text("version: 1\nlimits: [ { name: broken } ]\n")
        chain.ask()
        chain.await_line(r"ended before it served \(exit code 2\); this process goes on")
        load.more()
        other = client(gateway.port)
        assert other.send().headers["x-ratelimit-limit"] == "1000000"
        other.close()
        path.write_text(OPEN)
        chain.restart()
        load.more()
    finally:
        load.end()
    assert load.lost == [] and set(load.statuses) == {200}, (load.lost[:5], load.statuses, chain.log)
    chain.await_end(chain.pids[0])


UNREACHABLE = OPEN + "store: { url: 'redis://127.0.0.1:%d/0', deadline: 2s, on_store_failure: allow }\n"


# A successor waits for its store before it serves, so there is a time in which it can be killed and
# in which its predecessor can be told to stop.
def starting(serve, started):
    nobody = harness.free_port()
    gateway = serve(UNREACHABLE % nobody)
    chain = started(Chain(gateway))
    chain.ask()
    successor = chain.await_started()
    # Its own first line says that it has read its settings and found nobody.
    chain.await_line(r"(?s)was started to take over.*store does not answer")
    return gateway, chain, successor


def test_a_successor_that_is_killed_changes_nothing(serve, started):
    gateway, chain, successor = starting(serve, started)
    load = Load(gateway.port, kept=2, fresh=2)
    try:
        os.kill(successor, signal.SIGKILL)
        chain.await_line(r"ended before it served \(signal 9\); this process goes on")
        load.more()
        chain.restart()
        load.more()
    finally:
        load.end()
    assert load.lost == [] and set(load.statuses) == {200}, (load.lost[:5], load.statuses, chain.log)
    chain.await_end(chain.pids[0])


# Who stops a service in the middle of its restart wants nothing of it to remain.
def test_a_stop_during_the_start_ends_both(serve, started):
    gateway, chain, successor = starting(serve, started)
    gateway.child.send_signal(signal.SIGTERM)
    chain.await_end(chain.pids[0])
    chain.await_end(successor)
    assert not harness.accepts(gateway.port)


# The successor dies while its predecessor still drains: another is started, on sockets that were
# open all the time, and clients that came meanwhile waited in their queues.
def test_a_successor_that_dies_early_is_replaced(serve, started, client):
    gateway = serve(OPEN, "--workers", "1")
    chain = started(Chain(gateway))
    idle = client(gateway.port)  # keeps the first process there
    assert idle.send().status == 200
    chain.restart()
    harness.freeze(chain.pids[-1])
    waiting = socket.create_connection(("127.0.0.1", gateway.port), timeout=60)
    waiting.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    os.kill(chain.pids[-1], signal.SIGKILL)
    chain.await_line(rf"process {chain.pids[-1]} ended \(signal 9\)")
    chain.pids.append(int(chain.await_line(
        rf"(?s)ended \(signal 9\).*process (\d+) serves; process {chain.pids[0]} finishes").group(1)))
    assert waiting.recv(65536).startswith(b"HTTP/1.1 200")
    waiting.close()
    assert idle.send().headers["connection"] == "close"
    idle.close()
    chain.await_end(chain.pids[0])
    assert client(gateway.port).send().status == 200


# Other workers, another address: queues that no loop of the new process reads would swallow clients.
def test_the_number_of_workers_may_change(serve, started):
    gateway = serve(OPEN + "workers: 3\n")
    chain = started(Chain(gateway))
    load = Load(gateway.port, kept=2, fresh=4)
    try:
        for workers in (1, 4, 2):
            pathlib.Path(gateway.policy_path).write_text(OPEN + f"workers: {workers}\n")
            chain.restart()
            load.more()
    finally:
        load.end()
    assert load.lost == [] and set(load.statuses) == {200}, (load.lost[:5], load.statuses, chain.log)


# Counters in memory start anew: at most one more budget for each restart. The guide says so.
def test_memory_grants_at_most_one_more_budget_per_restart(serve, started):
    gateway = serve(OPEN.replace("1000000", "50"))
    chain = started(Chain(gateway))
    load = Load(gateway.port, kept=2, fresh=2)
    try:
        for _ in range(2):
            load.more(200)
            chain.restart()
        load.more(200)
    finally:
        load.end()
    assert load.lost == [] and set(load.statuses) == {200, 429}
    assert 50 <= load.statuses[200] <= 150, load.statuses


# A shared store keeps them: not one more, not one less.
def test_a_shared_store_keeps_every_counter(serve, started, tmp_path):
    port = harness.free_port()
    server = started(harness.Process([harness.tool("redis-server"), "--port", str(port), "--bind", "127.0.0.1",
                                      "--save", "", "--appendonly", "no", "--dir", str(tmp_path)], "redis"))
    server.wait_for_line("Ready to accept connections")
    gateway = serve(OPEN.replace("1000000", "300") +
                    f"store: {{ url: 'redis://127.0.0.1:{port}/0', deadline: 2s, on_store_failure: deny }}\n")
    chain = started(Chain(gateway))
    load = Load(gateway.port, kept=2, fresh=2)
    try:
        for _ in range(3):
            load.more(50)
            chain.restart()
        load.more(300)
    finally:
        load.end()
    assert load.lost == [] and set(load.statuses) == {200, 429}, (load.lost[:5], load.statuses, chain.log)
    assert load.statuses[200] == 300


# systemd keeps the socket and starts the service with it; a listener is known by its address.
def test_a_service_manager_can_bring_the_socket(started, upstream):
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    port = listener.getsockname()[1]
    notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notified.bind("\0penstock-test-" + str(os.getpid()))
    notified.settimeout(30)

    # What systemd does between fork and exec.
    starter = ("import os, sys; os.dup2(int(sys.argv[1]), 3); os.environ['LISTEN_PID'] = str(os.getpid()); "
               "os.execv(sys.argv[2], sys.argv[2:])")
    command = [sys.executable, "-c", starter, str(listener.fileno()), harness.BINARY, "serve", "--listen",
               f"127.0.0.1:{port}", "--upstream", f"http://127.0.0.1:{upstream.port}"]
    service = started(harness.Process(command, "service", pass_fds=(listener.fileno(),), env={
        **os.environ, "LISTEN_FDS": "1", "LISTEN_FDNAMES": "penstock.socket",
        "NOTIFY_SOCKET": f"@penstock-test-{os.getpid()}"}))
    assert notified.recv(1024) == b"READY=1"
    assert harness.raw(port, b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").startswith(b"HTTP/1.1 200")
    chain = started(Chain(service))
    chain.restart()
    assert notified.recv(1024) == f"MAINPID={chain.pids[-1]}".encode()
    chain.await_end(service.child.pid)
    assert harness.raw(port, b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").startswith(b"HTTP/1.1 200")
    os.kill(chain.pids[-1], signal.SIGTERM)
    assert notified.recv(1024) == b"STOPPING=1"
    chain.await_end(chain.pids[-1])
    # The manager still holds it: clients wait for the next start instead of being refused.
    assert harness.accepts(port)
    listener.close()
    notified.close()
