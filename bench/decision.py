#!/usr/bin/env python3
"""The decision service beside nginx's smallest answer under limit_req (empty_gif), over TCP and unix sockets.

One worker each, h2load over HTTP/1.1 as the client, a fixed number of requests in turns. CPU is user +
system time of the server's processes for each request; only ratios in one run count. `floor` is a program
that answers every /v1/auth with the octets of Penstock's answer, without reading what was asked: what the
system alone costs (TCP only).

Usage: bench/decision.py [--rounds N] [--requests N] [--connections C] [--floor PROGRAM] [--json FILE] [--markdown FILE]
"""
import argparse
import json
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import loopback  # noqa: E402
from loopback import harness  # noqa: E402

PEERS = ("nginx", "penstock")
COLUMNS = (*PEERS, "floor")
POLICY = "version: 1\nlimits:\n  - { name: ip, key: address, rate: 1000000/s }\n"
BODY = '{"method":"GET","path":"/api/orders","address":"198.51.100.7"}'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--floor")
    parser.add_argument("--json")
    parser.add_argument("--markdown")
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    started, rows = [], []
    try:
        port = harness.free_port()
        peer = loopback.nginx(folder / "peer", f"""
            limit_req_zone $binary_remote_addr zone=one:10m rate=1000000r/s; limit_req_status 429;
            server {{ listen 127.0.0.1:{port} backlog=4096; listen unix:{folder}/nginx.sock;
                      location / {{ limit_req zone=one burst=1000000 nodelay; empty_gif; }} }}""")
        started.append(peer)
        harness.wait_for(lambda: harness.accepts(port), "nginx listens")
        ours = {}
        for kind, address in (("tcp", "127.0.0.1:0"), ("unix", f"unix:{folder}/penstock.sock")):
            process = harness.Penstock(POLICY, ("--workers", "1", "--decision-http", address))
            started.append(process)
            ours[kind] = (process, process.wait_for_line(r"decisions? listening on (\S+)").group(1))
        ours_port = re.search(r":(\d+)$", ours["tcp"][1]).group(1)
        body = folder / "body.json"
        body.write_text(BODY)
        more = ["-H", "x-forwarded-method: GET", "-H", "x-forwarded-uri: /api/orders"]
        check = ["-d", str(body), "-H", "content-type: application/json"]
        at = {"nginx": {"tcp": [f"http://127.0.0.1:{port}/"], "unix": ["-B", f"unix:{folder}/nginx.sock", "http://localhost/"]},
              "auth": {"tcp": [f"http://127.0.0.1:{ours_port}/v1/auth"], "unix": ["-B", f"unix:{folder}/penstock.sock", "http://localhost/v1/auth"]},
              "check": {"tcp": [f"http://127.0.0.1:{ours_port}/v1/check"], "unix": ["-B", f"unix:{folder}/penstock.sock", "http://localhost/v1/check"]}}
        floor = None
        if options.floor:
            ask = f"GET /v1/auth HTTP/1.1\r\nHost: bench.test\r\n{more[1]}\r\n{more[3]}\r\n"
            said = harness.raw(int(ours_port), f"{ask}\r\n{ask}Connection: close\r\n\r\n".encode())
            floor, floor_port = loopback.fixed_answer(options.floor, folder, said[:said.index(b"HTTP/1.1 ", 1)])
            started.append(floor)
            at["floor"] = f"http://127.0.0.1:{floor_port}/"
        print(f"machine: {loopback.machine()}; {options.rounds} rounds of {options.requests} requests, {options.connections} connections")
        for kind in ("tcp", "unix"):
            for question, extra in (("auth", more), ("check", check)):
                def one(name, kind=kind, question=question, extra=extra):
                    pid = {"nginx": peer, "penstock": ours[kind][0], "floor": floor}[name].child.pid
                    target = {"nginx": at["nginx"][kind], "penstock": [*extra, *at[question][kind]], "floor": [*extra, at.get("floor")]}[name]
                    before = loopback.cpu_seconds(pid)
                    count = loopback.h2load("-n", options.requests, "-c", options.connections, *target)
                    return (loopback.cpu_seconds(pid) - before) / count * 1e6
                names = COLUMNS if floor and (kind, question) == ("tcp", "auth") else PEERS
                rows.append(loopback.row(f"/v1/{question} over {kind}", "<= 0.80", loopback.in_turns(options.rounds, one, names), "CPU us"))
                loopback.print_rows(rows[-1:], COLUMNS)
    finally:
        for process in reversed(started):
            process.close()
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    if options.markdown:
        pathlib.Path(options.markdown).write_text(loopback.markdown(rows, COLUMNS))


if __name__ == "__main__":
    main()
