"""Rows F19 to F22: upstreams that refuse, hang, break off, drip, and take no body."""
import os
import random
import signal
import socket
import threading
import time

import harness
import open_loop
from gateway_peers import OK, Gateway, Nginx, Raw, answer_of, read_head, reset
from report import record

GET = b"GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


def statuses(seen):
    return sorted({s.status for s in seen})


def median_ms(seen):
    return open_loop.percentile([s.took for s in seen], 0.5) * 1000


def steady(started, gateway, seconds, rate=100, **more):
    """What an open loop saw in `seconds`."""
    load = started(open_loop.OpenLoop(gateway.port, rate, **more)).start()
    harness.wait_for(lambda: load.now() > seconds, f"{seconds} s of load", seconds + 30)
    return load.stop()


# Nobody waits for a server that is not there.
def test_f19_the_upstream_refuses(started, tmp_path):
    port = harness.free_port()
    gateway = Gateway(started, port)
    seen = steady(started, gateway, 3)
    record("F19", "the only upstream refuses", "all answered 502", statuses(seen), statuses(seen) == [502])
    record("F19", "the only upstream refuses", "answered in 10 ms", f"median {median_ms(seen):.1f} ms", None)
    alive = started(Nginx(tmp_path / "alive"))
    gateway = Gateway(started, port, args=("--upstream", f"http://127.0.0.1:{alive.port}"))
    seen = steady(started, gateway, 3)
    record("F19", "one of two upstreams refuses", "all answered 200", statuses(seen), statuses(seen) == [200])


# A hanging server costs its own requests the deadline, and after three of them nobody else's.
def test_f20_the_upstream_hangs(started, tmp_path):
    hangs = started(Nginx(tmp_path / "hangs"))
    gateway = Gateway(started, hangs.port, "response_timeout: 1s")
    client = started(harness.Client(gateway.port))
    assert client.send().status == 200
    os.killpg(hangs.child.pid, signal.SIGSTOP)
    try:
        took = []
        for _ in range(3):
            began = time.monotonic()
            assert client.send().status == 504
            took.append(time.monotonic() - began)
        record("F20", "upstream stopped (SIGSTOP), response_timeout 1 s", "504 after 1 s", f"{min(took):.3f} to {max(took):.3f} s", min(took) >= 0.99)
        alive = started(Nginx(tmp_path / "alive"))
        pair = Gateway(started, hangs.port, "response_timeout: 1s", args=("--upstream", f"http://127.0.0.1:{alive.port}"))
        seen = steady(started, pair, 10)
        late = [s for s in seen if s.status != 200]
        record("F20", "one of two upstreams stopped for 10 s at 100/s", "only 200 and 504", statuses(seen), statuses(seen) in ([200, 504], [200]))
        record("F20", "requests that met the stopped one", "<= 10 %: those of the first second, then one each try",
               f"{len(late)} of {len(seen)}", len(late) <= len(seen) * 0.10)
        good = [s for s in seen if s.status == 200]
        record("F20", "requests to the other one", "not held up", f"median {median_ms(good):.1f} ms", None)
    finally:
        os.killpg(hangs.child.pid, signal.SIGCONT)
    harness.wait_for(lambda: client.send().status == 200, "the upstream serves again")
    record("F20", "upstream goes on (SIGCONT)", "served again", "yes", True)


# Slow is not broken: pauses count, not the whole; a client that waits costs nobody else a thing.
def test_f20_the_upstream_drips(started, tmp_path):
    def drip(connection, _):
        while read_head(connection):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n")
            for _ in range(40):
                time.sleep(0.05)
                connection.sendall(b"x")
    slow = started(Raw(drip))
    gateway = Gateway(started, slow.port, "response_timeout: 1s")
    began = time.monotonic()
    received, whole = answer_of(gateway.port, GET)
    record("F20", "a body of one octet each 50 ms, 2 s in all", "a whole 200 (pauses count)",
           f"{received[9:12].decode()} after {time.monotonic() - began:.1f} s", whole and received.startswith(b"HTTP/1.1 200"))

    def stall(connection, _):
        read_head(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf ")
        connection.recv(1)
    stalls = started(Raw(stall))
    gateway = Gateway(started, stalls.port, "response_timeout: 1s")
    began = time.monotonic()
    received, whole = answer_of(gateway.port, GET)
    record("F20", "the answer stalls in its body", "cut after 1 s, not whole", f"{time.monotonic() - began:.2f} s, {'whole' if whole else 'cut'}", not whole)


# A broken answer may never look like a whole one, wherever it breaks off; the next request is fine.
def test_f21_the_upstream_breaks_off(started):
    answers = [b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n" + b"x" * 20,
               b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"]
    plan = []  # (octets to send, how to end) for each connection

    def serve(connection, _):
        if not read_head(connection):
            return
        octets, ending = plan[0]
        connection.sendall(octets)
        if ending == "reset":
            reset(connection)
        elif ending == "half":
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)
    raw = started(Raw(serve))
    gateway = Gateway(started, raw.port)
    good, tried, looked_whole, lost = 0, 0, 0, 0
    for answer in answers:
        for ending in ("end", "half", "reset"):
            for size in range(len(answer)):
                plan[:] = [(answer[:size], ending)]
                received, whole = answer_of(gateway.port, GET)
                tried += 1
                status = received[9:12]
                looked_whole += whole and status == b"200"
                lost += not received and size == 0
        plan[:] = [(OK, "end")]
        received, whole = answer_of(gateway.port, GET)
        good += whole and received.startswith(b"HTTP/1.1 200")
    record("F21", f"an answer breaks off after each octet, {tried} times (end, half-close, reset)", "0 look whole", looked_whole, looked_whole == 0)
    record("F21", "no octet of an answer came", "always told (502)", f"{lost} untold", lost == 0)
    record("F21", "the request after", "200", f"{good} of 2", good == 2)


# What an upstream does not take stays with its sender.
def test_f22_the_upstream_takes_no_body(started):
    uploads = 100

    def deaf(connection, _):
        ended.wait(60)
    ended = threading.Event()
    raw = started(Raw(deaf, receive_buffer=4096))
    gateway = Gateway(started, raw.port, "response_timeout: 3s")
    before = gateway.memory()
    sent = [0] * uploads
    finals = [None] * uploads

    def upload(number):
        with socket.create_connection(("127.0.0.1", gateway.port), timeout=60) as client:
            client.sendall(b"POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: 16777216\r\n\r\n")
            client.settimeout(1)
            try:
                while True:
                    sent[number] += client.send(b"x" * 65536)
            except OSError:
                pass
            client.settimeout(60)
            try:
                finals[number] = client.recv(65536)[9:12].decode()
            except OSError:
                finals[number] = "reset"
    threads = [threading.Thread(target=upload, args=(n,)) for n in range(uploads)]
    for thread in threads:
        thread.start()
    peak = before
    while any(thread.is_alive() for thread in threads):
        peak = max(peak, gateway.memory())
        time.sleep(0.05)
    ended.set()
    each = (peak - before) / uploads / 1024
    record("F22", f"{uploads} uploads of 16 MiB to an upstream that never reads", "<= 128 KiB more memory for each", f"{each:.0f} KiB", each <= 128)
    record("F22", "and they are answered", "504 or the end after response_timeout", sorted(set(finals)), set(finals) <= {"504", "reset", ""})
    harness.wait_for(lambda: gateway.connections() == 0, "no connection is left")
    record("F22", "after that", "no connection is left", "none", True)


# Servers close kept connections when they like. A GET that meets such an end is sent again; a POST that
# may have been carried out is not, and none is ever carried out twice.
def test_an_upstream_that_closes_kept_connections(started):
    carried_out = []

    def serve(connection, _):
        random_ = random.Random(connection.fileno())
        while head := read_head(connection):
            carried_out.append(head.split(b" ")[1])
            connection.sendall(OK)
            connection.settimeout(random_.uniform(0.0005, 0.01))
            try:
                if not connection.recv(1, socket.MSG_PEEK):
                    return
            except TimeoutError:
                return
            connection.settimeout(60)
    raw = started(Raw(serve))
    gateway = Gateway(started, raw.port)
    client = started(harness.Client(gateway.port))
    random_, results = random.Random(109), {"GET": [], "POST": []}
    for number in range(1000 * harness.SCALE):
        method = ("GET", "POST")[number % 2]
        results[method].append(client.send(method, f"/{number}").status)
        time.sleep(random_.uniform(0, 0.006))
    errors = {method: sum(s != 200 for s in got) for method, got in results.items()}
    record("B109", f"kept connections end after 0.5 to 10 ms, {len(results['GET'])} GETs between", "0 errors", errors["GET"], errors["GET"] == 0)
    record("B109", f"{len(results['POST'])} POSTs between", "those that met an end are told 502", errors["POST"], set(results["POST"]) <= {200, 502})
    posts = [target for target in carried_out if int(target[1:]) % 2]
    record("B109", "POSTs carried out twice", "0", len(posts) - len(set(posts)), len(posts) == len(set(posts)))
