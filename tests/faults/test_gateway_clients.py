"""Rows F23 to F25: clients that leave at any point, that read slowly, and slowhttptest's four attacks."""
import contextlib
import json
import random
import re
import select
import socket
import subprocess
import threading
import time

import harness
import open_loop
import pytest
from gateway_peers import Gateway, Nginx, Raw, answer_of, read_head, reset
from report import record


def settled(gateway, descriptors, what):
    """Whether connections and descriptors are back where they were."""
    try:
        harness.wait_for(lambda: gateway.connections() == 0 and gateway.descriptors() <= descriptors, what, 10)
        return True
    except AssertionError:
        return False


# A client may go at any instant; what was done for it is undone.
def test_f23_clients_leave(started, tmp_path):
    api = started(Nginx(tmp_path / "api"))
    queue = "limits:\n  - { name: q, match: { path: /queue }, key: global, algorithm: leaky_bucket, rate: 1/min, queue: 1000000, max_delay: 9min }\n"
    gateway = Gateway(started, api.port, limits=queue)
    client = harness.Client(gateway.port)
    client.send()
    client.close()
    before, memory = gateway.descriptors(), gateway.memory()
    random_ = random.Random(23)
    upload = b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"
    points = {"before a request": b"", "in the head": b"GET /x HTT", "behind the head": b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n",
              "in the body": upload + b"x" * 5000, "in a chunk": b"POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\nxx",
              "in a big answer": b"GET /16m HTTP/1.1\r\nHost: a\r\n\r\n", "in the queue": b"GET /queue HTTP/1.1\r\nHost: a\r\n\r\n"}
    each = 1500 * harness.SCALE
    for what, octets in points.items():
        for number in range(each):
            with socket.create_connection(("127.0.0.1", gateway.port), timeout=30) as leaving:
                leaving.sendall(octets)
                if what == "in a big answer" and number % 10 == 0:
                    leaving.recv(random_.randrange(1, 100_000))
                if random_.random() < 0.5:
                    reset(leaving)
        back = settled(gateway, before + 8, f"clients that left {what} are gone")
        record("F23", f"{each} clients leave {what}", "connections 0, descriptors as before", f"{gateway.connections():.0f} and {gateway.descriptors() - before:+d}", back)
    grown = (gateway.memory() - memory) / 1048576
    record("F23", "all of them", "memory within 16 MiB", f"{grown:+.1f} MiB", grown <= 16)
    status = answer_of(gateway.port, b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")[0][9:12].decode()
    record("F23", "the next client", "200", status, status == "200")


# The upstream of a client that left does not work on for nobody.
def test_f23_the_upstream_learns_of_it(started):
    began, gone = threading.Event(), []

    def serve(connection, _):
        if read_head(connection):
            began.set()
            connection.recv(1)
            gone.append(time.monotonic())
    raw = started(Raw(serve))
    gateway = Gateway(started, raw.port)
    took = []
    for _ in range(50):
        began.clear()
        with socket.create_connection(("127.0.0.1", gateway.port), timeout=30) as leaving:
            leaving.sendall(b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
            assert began.wait(20)
            count = len(gone)  # before it leaves: the end may be there sooner than the next line
        left = time.monotonic()
        harness.wait_for(lambda count=count: len(gone) > count or raw.ended > count, "the upstream's connection ends")
        took.append(max(0, gone[-1] - left))
    record("F23", "a client leaves, its upstream is told", "<= 100 ms", f"median {sorted(took)[25] * 1000:.1f} ms, worst {max(took) * 1000:.1f} ms", max(took) <= 1)


# Who takes an answer octet by octet holds buffers of a fixed size, not the answer.
def test_f24_clients_read_slowly(started, tmp_path):
    api = started(Nginx(tmp_path / "api"))
    gateway = Gateway(started, api.port)
    answer_of(gateway.port, b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    before, readers = gateway.memory(), []
    for _ in range(100):
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", gateway.port))
        slow.sendall(b"GET /16m HTTP/1.1\r\nHost: a\r\n\r\n")
        readers.append(slow)
    began, peak = time.monotonic(), before
    load = started(open_loop.OpenLoop(gateway.port)).start()
    left = set(readers)
    while left and time.monotonic() - began < 60:
        for slow in list(left):
            slow.settimeout(0.001)
            with contextlib.suppress(OSError):
                slow.recv(1)
            poll = select.poll()  # what it still holds hides the end from a read
            poll.register(slow, 0)
            if poll.poll(0):
                left.discard(slow)
        peak = max(peak, gateway.memory())
        time.sleep(0.8)
    took = time.monotonic() - began
    seen = load.stop()
    each = (peak - before) / 100 / 1024
    record("F24", "100 clients read 16 MiB at an octet a second", "<= 128 KiB more memory for each", f"{each:.0f} KiB", each <= 128)
    record("F24", "and are cut", "20 s after they stopped taking more", f"{took:.0f} s", 19 <= took <= 40)
    record("F24", "others meanwhile", "all 200", f"{sorted({s.status for s in seen})}, p99 {open_loop.percentile([s.took for s in seen], 0.99) * 1000:.1f} ms",
           {s.status for s in seen} == {200})
    for slow in readers:
        slow.close()


ATTACKS = {  # slowhttptest's name of the mode: (its arguments, what it is)
    "-H": (["-i", "2", "-p", "3"], "slow headers"),
    "-B": (["-i", "2", "-s", "8192", "-p", "3"], "slow body"),
    "-X": (["-w", "512", "-y", "1024", "-n", "5", "-z", "32", "-k", "3", "-p", "3"], "slow read"),
    "-R": (["-a", "10", "-b", "3000", "-t", "HEAD", "-p", "3"], "overlapping ranges"),
}


# The attackers' connections are cut at their deadline; the load of others goes on as before.
@pytest.mark.parametrize("mode", ATTACKS)
def test_f25_slowhttptest(started, tmp_path, mode):
    arguments, what = ATTACKS[mode]
    attackers = {"-H": 5000, "-B": 1000, "-X": 1000, "-R": 200}[mode]
    api = started(Nginx(tmp_path / "api"))
    gateway = Gateway(started, api.port, "head_timeout: 3s, body_timeout: 3s, idle_timeout: 5s")
    load = started(open_loop.OpenLoop(gateway.port)).start()
    harness.wait_for(lambda: load.now() > 2, "a quiet time")
    quiet, memory = load.now(), gateway.memory()
    path = "/16m" if mode in ("-X", "-R") else "/x"
    done = subprocess.run([harness.tool("slowhttptest"), mode, "-c", str(attackers), "-r", str(attackers // 4), "-l", "10", "-u", f"http://127.0.0.1:{gateway.port}{path}", *arguments],
                          capture_output=True, text=True, timeout=120)
    text = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    peak = gateway.memory()
    ended = load.now()
    harness.wait_for(lambda: gateway.connections() < 50, "the attackers' connections are gone", 40)
    seen = load.stop()
    status = re.search(r"Exit status:\s*(.*)", text)
    during, calm = open_loop.between(seen, quiet, ended), open_loop.between(seen, 0.5, quiet)
    bad = [s for s in during if s.status != 200]
    p99 = [open_loop.percentile([s.took for s in some], 0.99) * 1000 for some in (calm, during)]
    record("F25", f"slowhttptest {what}, {attackers} connections", "0 of the others' requests lost or refused", f"{len(bad)} of {len(during)}", not bad)
    record("F25", f"others during {what}", "p99 <= 10 ms more", f"{p99[0]:.1f} -> {p99[1]:.1f} ms", None)
    record("F25", f"slowhttptest {what}: its own verdict", "service stays available", status.group(1).strip() if status else json.dumps(text[-80:]),
           "service available: NO" not in re.sub(r" +", " ", text))
    each = (peak - memory) / attackers / 1024
    most = 128 if mode == "-X" else 16  # answers are on their way
    record("F25", f"memory after {what}", f"<= {most} KiB for each", f"{each:.1f} KiB", each <= most)


# Every attacker is cut at the deadline, and not a moment later than a second after it.
def test_f25_the_deadlines_hold(started):
    def takes_all(connection, _):
        while connection.recv(65536):
            pass
    gateway = Gateway(started, started(Raw(takes_all)).port, "head_timeout: 3s, body_timeout: 3s, idle_timeout: 3s")
    kinds = {"silent": (b"", b""), "a head in octets": (b"GET /x HTTP/1.1\r\nHost: a\r\nX: ", b"y"),
             "a body in octets": (b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n", b"z")}
    for what, (first, more) in kinds.items():
        cut = []

        def attack(cut=cut, first=first, more=more):
            with socket.create_connection(("127.0.0.1", gateway.port), timeout=0.3) as s:
                began = time.monotonic()
                s.sendall(first)
                while time.monotonic() - began < 30:
                    try:
                        if more:
                            s.sendall(more)
                        if not s.recv(4096):
                            break
                    except TimeoutError:
                        continue
                    except OSError:
                        break
                cut.append(time.monotonic() - began)
        threads = [threading.Thread(target=attack) for _ in range(200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        record("F25", f"200 clients, {what}, deadline 3 s", "ended between 3 and 4 s (5 s on a busy machine)", f"{min(cut):.2f} to {max(cut):.2f} s",
               2.9 <= min(cut) and max(cut) <= 5)
