"""What the gateway's fault rows share: a gateway that can be measured, and upstreams that misbehave."""
import os
import pathlib
import re
import socket
import struct
import subprocess
import threading

import harness

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
CLOSING = b"GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Gateway:
    """`penstock serve` with a health listener. `options` are those of `gateway:` in the policy."""

    def __init__(self, started, upstream, options="", limits="", args=(), **more):
        text = f"version: 1\ngateway: {{ {options} }}\n{limits}"
        self.process = started(harness.Penstock(text, ["--workers", "1", "--health", "127.0.0.1:0", *args], upstream=upstream, **more))
        self.port, self.pid = self.process.port, self.process.child.pid
        self.health = int(self.process.wait_for_line(r"health listening on http://[^ ]*:(\d+)").group(1))

    def metric(self, name, labels=""):
        """The sum of a metric over its labels, those with the text `labels`."""
        client = harness.Client(self.health)
        text = client.send(path="/metrics").body.decode()
        client.close()
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                   if line.split("{")[0].split(" ")[0] == name and labels in line)

    def connections(self):
        return self.metric("penstock_connections_open", 'listener="gateway"')

    def memory(self):
        """Resident octets."""
        return int(pathlib.Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * PAGE

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def cpu(self):
        """Seconds of user and system time so far."""
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


class Nginx(harness.Process):
    """A fast API: /16m, anything else from memory. `locations`: more of them;
    `listen`: options of its socket."""

    def __init__(self, folder, locations="", listen="backlog=4096"):
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "16m", "wb") as file:
            file.truncate(16 << 20)
        self.port = harness.free_port()
        user = "user root; " if os.getuid() == 0 else ""  # its worker must read a private folder
        temp = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (folder / "nginx.conf").write_text(
            f"daemon off; {user}worker_processes 1; error_log {folder}/error.log crit; pid {folder}/pid;\n"
            f"events {{ worker_connections 8192; }}\nhttp {{ access_log off; keepalive_requests 1000000000; {temp}\n"
            f"server {{ listen 127.0.0.1:{self.port} {listen}; root {folder}; location = /16m {{ }} {locations}\n"
            "location / { return 200 \"ok\"; } } }\n")
        super().__init__([harness.tool("nginx"), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", "stderr"], "nginx")
        harness.wait_for(lambda: harness.accepts(self.port), "nginx listens")


def start_after(monkeypatch, folder, command):
    """Gateways that start from here on run this command of the shell first."""
    wrapper = folder / "penstock"
    wrapper.write_text(f'#!/bin/sh\n{command}\nexec "{harness.BINARY}" "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setattr(harness, "BINARY", str(wrapper))


def wrk(port, seconds, connections=32, path="/x", headers=(), threads=1, script=()):
    """(answers, answers that were not 2xx, socket errors, p99 in ms) of a closed loop. `script`: a file
    beside this one and its arguments."""
    command = [harness.tool("wrk"), f"-t{threads}", f"-c{connections}", f"-d{seconds}s", "--latency", "--timeout", "20s"]
    for header in headers:
        command += ["-H", header]
    if script:
        command += ["-s", str(pathlib.Path(__file__).with_name(script[0]))]
    command += [f"http://127.0.0.1:{port}{path}", "--", *map(str, script[1:])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    total = int(re.search(r"(\d+) requests in", done.stdout).group(1))
    other = re.search(r"Non-2xx or 3xx responses: (\d+)", done.stdout)
    errors = re.search(r"Socket errors: (.*)", done.stdout)
    number, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", done.stdout).groups()
    return (total, int(other.group(1)) if other else 0, sum(map(int, re.findall(r"\d+", errors.group(1)))) if errors else 0,
            float(number) * {"us": 0.001, "ms": 1, "s": 1000}[unit])


class Raw:
    """An upstream in the hands of `serve(connection, number)`, a thread for each connection."""

    def __init__(self, serve, receive_buffer=None):
        self.serve, self.count, self.ended = serve, 0, 0
        self.listener = socket.socket()
        if receive_buffer:
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(1024)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.count += 1
            threading.Thread(target=self.run, args=(connection, self.count), daemon=True).start()

    def run(self, connection, number):
        with connection:
            connection.settimeout(120)
            try:
                self.serve(connection, number)
            except OSError:
                pass
        self.ended += 1

    def close(self):
        self.listener.close()


def read_head(connection):
    """One request's head; b'' when the connection ended first."""
    head = b""
    while b"\r\n\r\n" not in head:
        part = connection.recv(65536)
        if not part:
            return b""
        head += part
    return head


def reset(connection):
    """Ends a connection with a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def answer_of(port, request, seconds=60):
    """(all octets until the end, whether a well-formed end was among them) of one request that asks to close."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as client:
        client.sendall(request)
        try:
            while part := client.recv(65536):
                received += part
        except ConnectionResetError:
            pass
    head, _, body = received.partition(b"\r\n\r\n")
    length = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    whole = len(body) >= int(length[0]) if length else body.endswith(b"0\r\n\r\n")
    return received, bool(head) and whole
