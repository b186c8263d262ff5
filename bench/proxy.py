#!/usr/bin/env python3
"""The gateway beside nginx with limit_req and HAProxy with a stick table, in one interleaved run on loopback.

One worker each, keep-alive on both sides, the same nginx upstream. CPU is user + system time of the
server's processes divided by the requests that the generator counted. The machine's noise hits all, so
only the ratio counts; medians of the rounds and the ratio's range are printed. `floor` is a program that
answers refusals with the octets that Penstock sends, without reading what was asked: what the system alone
costs.

Usage: bench/proxy.py [--rounds N] [--seconds S] [--connections C] [--only WORD] [--floor PROGRAM] [--json FILE] [--markdown FILE]
"""
import argparse
import json
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import loopback  # noqa: E402
from loopback import harness  # noqa: E402

PEERS = ("nginx", "haproxy", "penstock")
COLUMNS = (*PEERS, "floor")
THREE = ("version: 1\nlimits:\n"
         "  - { name: ip, key: address, rate: 1000000/s }\n"
         "  - { name: path, match: { path: '/**' }, key: address + route, algorithm: sliding_window_counter, rate: 1000000/s }\n"
         "  - { name: all, key: global, algorithm: fixed_window, rate: 1000000/s }\n")
NARROW = "version: 1\nlimits:\n  - { name: ip, key: address, rate: 1/min }\n"


class Bench:
    def __init__(self, options):
        self.options, self.started, self.rows, self.secure_pid = options, [], [], {}
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-bench-"))

    def start(self):
        self.backend = harness.free_port()
        (self.folder / "backend").mkdir()
        (self.folder / "backend/16k").write_bytes(b"x" * 16384)
        self.run(loopback.nginx(self.folder / "backend", f"""
            server {{ listen 127.0.0.1:{self.backend} backlog=4096; root {self.folder}/backend;
                      location = /small {{ return 200 "ok"; }} }}"""))
        self.certificate()
        self.wide = self.peers("wide", 1_000_000, "1000000r/s", THREE)
        self.narrow = self.peers("narrow", 1, "1r/m", NARROW)
        harness.wait_for(lambda: harness.accepts(self.backend), "the upstream listens")

    def run(self, process):
        self.started.append(process)
        return process

    def certificate(self):
        both = self.folder / "both.pem"
        subprocess.run([harness.tool("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                        str(self.folder / "key.pem"), "-out", str(self.folder / "cert.pem"), "-subj", "/CN=bench.test", "-days", "2"],
                       check=True, capture_output=True)
        both.write_text((self.folder / "cert.pem").read_text() + (self.folder / "key.pem").read_text())

    def peers(self, name, burst, rate, policy):
        """{peer: (pid, port, TLS port)} of the three under one limit for each address."""
        folder, made = self.folder / name, {}
        plain, secure = harness.free_port(), harness.free_port()
        location = f"""location / {{ limit_req zone=one burst={burst} nodelay; proxy_pass http://api; proxy_http_version 1.1;
            proxy_set_header Connection ""; proxy_set_header Host $host; proxy_set_header X-Forwarded-For $remote_addr; }}"""
        process = self.run(loopback.nginx(folder / "nginx", f"""
            limit_req_zone $binary_remote_addr zone=one:10m rate={rate}; limit_req_status 429; keepalive_timeout 600s; client_header_timeout 600s;
            upstream api {{ server 127.0.0.1:{self.backend}; keepalive 64; keepalive_requests 1000000000; }}
            server {{ listen 127.0.0.1:{plain} backlog=4096; {location} }}
            server {{ listen 127.0.0.1:{secure} ssl backlog=4096; ssl_certificate {self.folder}/cert.pem; ssl_certificate_key {self.folder}/key.pem; {location} }}"""))
        made["nginx"] = (process.child.pid, plain, secure)
        number, unit = rate[:-1].split("r/")[0], "60s" if rate.endswith("m") else "1s"
        plain, secure = harness.free_port(), harness.free_port()
        process = self.run(loopback.haproxy(folder / "haproxy", f"""
frontend f
  bind 127.0.0.1:{plain} backlog 4096
  bind 127.0.0.1:{secure} backlog 4096 ssl crt {self.folder}/both.pem
  timeout http-request 600s
  stick-table type ip size 100k expire 2m store http_req_rate({unit})
  http-request track-sc0 src
  http-request deny deny_status 429 if {{ sc_http_req_rate(0) gt {number} }}
  option forwardfor
  default_backend b
backend b
  server s 127.0.0.1:{self.backend}
"""))
        made["haproxy"] = (process.child.pid, plain, secure)
        process = self.run(harness.Penstock(policy, ("--workers", "1"), upstream=self.backend))
        tls = "gateway: { head_timeout: 10min, idle_timeout: 10min, tls: { certificate: %s/cert.pem, key: %s/key.pem, handshake_timeout: 1min } }\n" % (
            self.folder, self.folder)
        other = self.run(harness.Penstock(policy.replace("limits:", tls + "limits:"), ("--workers", "1"), upstream=self.backend))
        made["penstock"] = (process.child.pid, process.port, other.port)
        self.secure_pid[name] = other.child.pid
        for peer, (_, one, two) in made.items():
            for port in (one, two):
                harness.wait_for(lambda port=port: harness.accepts(port), f"{peer} listens")
        return made

    def add(self, *arguments, **more):
        self.rows.append(loopback.row(*arguments, **more))
        loopback.print_rows(self.rows[-1:], COLUMNS)

    def floor(self, path):
        """{"floor": (pid, port, None)} of a program that answers with what Penstock answers a refused `path`."""
        if self.options.floor is None:
            return {}
        ask = f"GET {path} HTTP/1.1\r\nHost: bench.test\r\n".encode()
        said = harness.raw(self.narrow["penstock"][1], 2 * (ask + b"\r\n") + ask + b"Connection: close\r\n\r\n")
        answer = next(a for a in re.split(rb"(?=HTTP/1\.1 )", said) if a.startswith(b"HTTP/1.1 429"))
        process, port = loopback.fixed_answer(self.options.floor, self.folder, answer)
        return {"floor": (self.run(process).child.pid, port, None)}

    def cpu(self, scenario, target, peers, path, refusals):
        def one(name):
            pid, port, _ = peers[name]
            before = loopback.cpu_seconds(pid)
            total, _ = loopback.wrk(port, path, self.options.seconds, self.options.connections, refusals)
            return (loopback.cpu_seconds(pid) - before) / total * 1e6
        self.add(scenario, target, loopback.in_turns(self.options.rounds, one, peers), "CPU us")

    def calls(self, scenario, peers, path, refusals):
        def one(name):
            pid, port, _ = peers[name]
            by_name = loopback.syscalls(pid, lambda: loopback.wrk(port, path, 2, self.options.connections, refusals)[0])
            often = sorted((-number, call) for call, number in by_name.items() if number >= 0.05)
            print(f"    {name}: " + ", ".join(f"{call} {-number:.2f}" for number, call in often))
            return sum(by_name.values())
        self.add(scenario, "report", loopback.in_turns(1, one, PEERS), "system calls")

    def p99(self):
        capacity = loopback.wrk(self.wide["nginx"][1], "/small", 2, self.options.connections, False)[0] / 2
        rate = int(capacity * 0.3)

        def one(name):
            found = loopback.latencies(self.wide[name][1], "/small", rate, self.options.seconds, self.options.connections, self.folder / "latencies")
            return found[int(len(found) * 0.99)]
        self.add(f"p99 at 30 % load ({rate}/s)", "<= 1.00", loopback.in_turns(self.options.rounds, one, PEERS), "ms")

    def idle(self):
        def plain(name):
            return loopback.idle_octets(self.wide[name][0], self.wide[name][1], 3000) / 1024
        self.add("idle connection, plain", "<= 4", loopback.in_turns(1, plain, PEERS), "KiB")
        import ssl
        context = ssl.create_default_context(cafile=str(self.folder / "cert.pem"))
        context.check_hostname = False

        def secure(name):
            pid = self.secure_pid["wide"] if name == "penstock" else self.wide[name][0]
            return loopback.idle_octets(pid, self.wide[name][2], 1000, lambda s: context.wrap_socket(s, server_hostname="bench.test")) / 1024
        self.add("idle connection, TLS", "<= 24", loopback.in_turns(1, secure, PEERS), "KiB")

    def goodput(self):
        """Under a limit that is a part of what the machine can refuse, with at least three times of it offered."""
        rate = max(100, min(loopback.wrk(peer[1], "/small", 2, 96, True)[0] for peer in self.narrow.values()) // 2 // 8)
        share = self.peers("share", rate // 10, f"{rate}r/s",
                           f"version: 1\nlimits:\n  - {{ name: all, key: address, rate: {rate}/s, burst: {rate // 10} }}\n")

        def one(name):
            total, refused = loopback.wrk(share[name][1], "/small", self.options.seconds, 96, None)
            if total < 3 * rate * self.options.seconds:
                print(f"bench: only {total / self.options.seconds / rate:.1f} times the limit was offered to {name}")
            return (total - refused) / self.options.seconds / rate * 100
        self.add(f"goodput under 3 times a limit of {rate}/s", ">= 95", loopback.in_turns(self.options.rounds, one, PEERS), "% of it")

        def crowd(name):
            port = self.wide[name][1]
            peak = loopback.wrk(port, "/small", 2, 32, False)[0]
            return loopback.wrk(port, "/small", 2, 960, False)[0] / peak * 100
        self.add("960 connections in place of 32", ">= 95", loopback.in_turns(self.options.rounds, crowd, PEERS), "% of peak")

    def everything(self):
        parts = {
            "small": lambda: self.cpu("proxied small GET, three limits", "<= 0.85", self.wide, "/small", False),
            "16k": lambda: self.cpu("proxied GET, 16 KB body", "<= 0.80", self.wide, "/16k", False),
            "refused": lambda: self.cpu("refused request (429)", "<= 0.75", {**self.narrow, **self.floor("/small")}, "/small", True),
            "calls": lambda: (self.calls("proxied small GET", self.wide, "/small", False), self.calls("refused request", self.narrow, "/small", True)),
            "p99": self.p99, "idle": self.idle, "goodput": self.goodput}
        for name, part in parts.items():
            if self.options.only in (None, name):
                part()

    def close(self):
        for process in reversed(self.started):
            process.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--only", choices=("small", "16k", "refused", "calls", "p99", "idle", "goodput"))
    parser.add_argument("--floor")
    parser.add_argument("--json")
    parser.add_argument("--markdown")
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print(f"machine: {loopback.machine()}; {options.rounds} rounds of {options.seconds} s, {options.connections} connections")
    bench = Bench(options)
    try:
        bench.start()
        bench.everything()
    finally:
        bench.close()
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(bench.rows, indent=1) + "\n")
    if options.markdown:
        pathlib.Path(options.markdown).write_text(loopback.markdown(bench.rows, COLUMNS))


if __name__ == "__main__":
    main()
