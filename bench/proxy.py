#!/usr/bin/env python3
"""CPU per request of the gateway beside nginx with limit_req, in one interleaved run on loopback.

One worker each, keep-alive on both sides, the same nginx upstream, wrk as the client. CPU is user +
system time of the server's processes divided by the requests that wrk counted. The machine's noise
hits both, so only the ratio counts; the median of the rounds and its range are printed.

Usage: bench/proxy.py [--rounds N] [--seconds S] [--connections C] [--json FILE]
"""
import argparse
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/e2e"))
import harness  # noqa: E402

TICKS = os.sysconf("SC_CLK_TCK")


def family(pid):
    """The process and all its descendants."""
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        found.append(one)
        try:
            children = pathlib.Path(f"/proc/{one}/task/{one}/children").read_text().split()
        except FileNotFoundError:
            continue
        todo += [int(c) for c in children]
    return found


def cpu_seconds(pid):
    total = 0
    for one in family(pid):
        fields = pathlib.Path(f"/proc/{one}/stat").read_text().rsplit(") ", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def nginx(folder, servers):
    folder.mkdir(parents=True, exist_ok=True)
    temp = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in
                   ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    user = "user root; " if os.getuid() == 0 else ""  # its worker must read a private folder
    (folder / "nginx.conf").write_text(
        f"daemon off; {user}worker_processes 1; error_log {folder}/error.log crit; pid {folder}/pid;\n"
        f"events {{ worker_connections 1024; }}\nhttp {{ access_log off; keepalive_requests 1000000000; {temp}\n{servers}\n}}\n")
    return harness.Process([harness.tool("nginx"), "-p", str(folder), "-c", str(folder / "nginx.conf")], "nginx")


def wrk(port, path, seconds, connections, expect_refusals):
    done = subprocess.run([harness.tool("wrk"), "-t1", f"-c{connections}", f"-d{seconds}s", "--latency",
                           f"http://127.0.0.1:{port}{path}"], capture_output=True, text=True, check=True)
    total = int(re.search(r"(\d+) requests in", done.stdout).group(1))
    other = re.search(r"Non-2xx or 3xx responses: (\d+)", done.stdout)
    refused = int(other.group(1)) if other else 0
    errors = re.search(r"Socket errors: (.*)", done.stdout)
    if errors and re.search(r"[1-9]", errors.group(1)):
        raise SystemExit(f"bench: wrk saw socket errors: {errors.group(1)}")
    if expect_refusals and refused < total * 0.9 or not expect_refusals and refused:
        raise SystemExit(f"bench: {refused} of {total} answers were not 2xx; the scenario does not hold")
    return total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--json")
    options = parser.parse_args()

    folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    started = []
    try:
        backend, wide, narrow = harness.free_port(), harness.free_port(), harness.free_port()
        (folder / "backend").mkdir()
        (folder / "backend/16k").write_bytes(b"x" * 16384)
        started.append(nginx(folder / "backend", f"""
            server {{ listen 127.0.0.1:{backend} backlog=4096; root {folder}/backend;
                      location = /small {{ return 200 "ok"; }} }}"""))
        proxied = f"""location / {{ limit_req zone=%s burst=%s nodelay; proxy_pass http://api;
                       proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host;
                       proxy_set_header X-Forwarded-For $remote_addr; }}"""
        peer = nginx(folder / "peer", f"""
            limit_req_zone $binary_remote_addr zone=wide:10m rate=1000000r/s;
            limit_req_zone $binary_remote_addr zone=narrow:10m rate=1r/m;
            limit_req_status 429;
            upstream api {{ server 127.0.0.1:{backend}; keepalive 64; keepalive_requests 1000000000; }}
            server {{ listen 127.0.0.1:{wide} backlog=4096; {proxied % ("wide", 1000000)} }}
            server {{ listen 127.0.0.1:{narrow} backlog=4096; {proxied % ("narrow", 1)} }}""")
        started.append(peer)
        for port in (backend, wide, narrow):
            harness.wait_for(lambda port=port: harness.accepts(port), "nginx listens")
        three = ("version: 1\nlimits:\n"
                 "  - { name: ip, key: address, rate: 1000000/s }\n"
                 "  - { name: path, match: { path: '/**' }, key: address + route, algorithm: sliding_window_counter, rate: 1000000/s }\n"
                 "  - { name: all, key: global, algorithm: fixed_window, rate: 1000000/s }\n")
        ours = harness.Penstock(three, ("--workers", "1"), upstream=backend)
        started.append(ours)
        strict = harness.Penstock("version: 1\nlimits:\n  - { name: ip, key: address, rate: 1/min }\n",
                                  ("--workers", "1"), upstream=backend)
        started.append(strict)

        scenarios = [  # name, target, path, refusals, (nginx process, port), (penstock process, port)
            ("proxied small GET, three limits", 0.85, "/small", False, (peer, wide), (ours, ours.port)),
            ("proxied GET, 16 KB body", 0.80, "/16k", False, (peer, wide), (ours, ours.port)),
            ("refused request (429)", 0.75, "/small", True, (peer, narrow), (strict, strict.port)),
        ]
        report = []
        print(f"machine: {platform.machine()}, {os.cpu_count()} CPUs, {platform.release()}; "
              f"{options.rounds} rounds of {options.seconds} s, {options.connections} connections")
        print(f"{'scenario':34} {'nginx us':>9} {'penstock us':>11} {'ratio':>6} {'range':>13} {'target':>7}")
        for name, target, path, refusals, theirs, mine in scenarios:
            figures = {"nginx": [], "penstock": []}
            for _ in range(options.rounds):
                for who, (process, port) in (("nginx", theirs), ("penstock", mine)):
                    before = cpu_seconds(process.child.pid)
                    total = wrk(port, path, options.seconds, options.connections, refusals)
                    figures[who].append((cpu_seconds(process.child.pid) - before) / total * 1e6)
            ratios = [p / n for n, p in zip(figures["nginx"], figures["penstock"])]
            row = {"scenario": name, "target": target, "nginx_us": statistics.median(figures["nginx"]),
                   "penstock_us": statistics.median(figures["penstock"]), "ratio": statistics.median(ratios),
                   "ratio_min": min(ratios), "ratio_max": max(ratios)}
            report.append(row)
            print(f"{name:34} {row['nginx_us']:9.1f} {row['penstock_us']:11.1f} {row['ratio']:6.2f} "
                  f"{row['ratio_min']:6.2f}-{row['ratio_max']:4.2f} {'<= ' + format(target, '.2f'):>8}")
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n")
    finally:
        for process in reversed(started):
            process.close()


if __name__ == "__main__":
    main()
