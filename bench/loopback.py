"""What the benches on loopback share: named peers, load generators, and what a server's processes used.

The machine's noise hits everybody in a run, so peers are measured in turns and only ratios are read.
"""
import os
import pathlib
import platform
import re
import signal
import socket
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/e2e"))
import harness  # noqa: E402

# Asked to end, a bench ends what it has started.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
TEMP = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def machine():
    load = os.getloadavg()[0]
    return f"{platform.machine()}, {os.cpu_count()} CPUs, Linux {platform.release()}, load average {load:.1f}"


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


def resident(pid):
    """Octets of memory that the family holds in RAM."""
    return sum(int(pathlib.Path(f"/proc/{one}/statm").read_text().split()[1]) * PAGE for one in family(pid))


def nginx(folder, servers):
    folder.mkdir(parents=True, exist_ok=True)
    temp = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in TEMP)
    user = "user root; " if os.getuid() == 0 else ""  # its worker must read a private folder
    (folder / "nginx.conf").write_text(
        f"daemon off; {user}worker_processes 1; error_log {folder}/error.log crit; pid {folder}/pid;\n"
        f"events {{ worker_connections 8192; }}\nhttp {{ access_log off; keepalive_requests 1000000000; {temp}\n{servers}\n}}\n")
    return harness.Process([harness.tool("nginx"), "-p", str(folder), "-c", str(folder / "nginx.conf")], "nginx")


def haproxy(folder, sections):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "haproxy.cfg").write_text(
        "global\n  maxconn 8000\n  nbthread 1\ndefaults\n  mode http\n  timeout connect 5s\n  timeout client 600s\n  timeout server 60s\n"
        "  timeout http-keep-alive 600s\n  http-reuse always\n" + sections)
    return harness.Process([harness.tool("haproxy"), "-db", "-f", str(folder / "haproxy.cfg")], "haproxy")


def fixed_answer(program, folder, octets):
    """The floor: bench/fixed_answer.cpp, which answers everything with `octets`. (process, port)."""
    (folder / "answer").write_bytes(octets)
    process = harness.Process([program, str(folder / "answer")], "floor")
    return process, int(process.wait_for_line(r"^(\d+)$").group(1))


def wrk(port, path, seconds, connections, refusals):
    """Answers of a closed loop. `refusals`: what is expected: True most, False none, None whatever."""
    done = subprocess.run([harness.tool("wrk"), "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "20s",
                           f"http://127.0.0.1:{port}{path}"], capture_output=True, text=True, check=True)
    total = int(re.search(r"(\d+) requests in", done.stdout).group(1))
    other = re.search(r"Non-2xx or 3xx responses: (\d+)", done.stdout)
    refused = int(other.group(1)) if other else 0
    errors = re.search(r"Socket errors: (.*)", done.stdout)
    if errors and re.search(r"[1-9]", errors.group(1)):
        raise SystemExit(f"bench: wrk saw socket errors: {errors.group(1)}")
    if refusals and refused < total * 0.9 or refusals is False and refused:
        raise SystemExit(f"bench: {refused} of {total} answers were not 2xx; the scenario does not hold")
    return total, refused


def h2load(*arguments):
    """h2load over HTTP/1.1 with one thread; returns the number of 2xx answers."""
    done = subprocess.run([harness.tool("h2load"), "--h1", "-t1", *map(str, arguments)], capture_output=True, text=True, check=True)
    codes = re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", done.stdout)
    if codes is None or any(int(c) for c in codes.groups()[1:]):
        raise SystemExit(f"bench: not only 2xx answers: {done.stdout[-400:]}")
    return int(codes.group(1))


def latencies(port, path, rate, seconds, connections, log):
    """Milliseconds, sorted, of an open loop at `rate`, the first second left out."""
    log.unlink(missing_ok=True)
    h2load("-c", connections, "-D", seconds + 1, f"--rps={rate / connections:.3f}", f"--log-file={log}", f"http://127.0.0.1:{port}{path}")
    rows = [line.split("\t") for line in log.read_text().splitlines()]
    first = min(int(row[0]) for row in rows)
    return sorted(int(row[2]) / 1000 for row in rows if int(row[0]) >= first + 1_000_000)


def syscalls(pid, requests):
    """System calls of the family for each of the requests that `requests()` makes and counts, by name."""
    log = pathlib.Path(f"/tmp/penstock-strace-{os.getpid()}")
    attach = [a for one in family(pid) for a in ("-p", str(one))]
    tracer = subprocess.Popen([harness.tool("strace"), "-c", "-f", "-o", str(log), *attach], stderr=subprocess.PIPE, text=True)
    for _ in family(pid):
        tracer.stderr.readline()  # attached
    count = requests()
    tracer.send_signal(signal.SIGINT)
    tracer.wait(20)
    calls = re.findall(r"^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ +)?(\w+)$", log.read_text(), re.M)
    log.unlink()
    return {name: int(number) / count for number, name in calls if name != "total"}


def idle_octets(pid, port, count, wrap=lambda s: s):
    """Resident octets for each of `count` connections that do nothing after the handshake."""
    before, crowd = resident(pid), []
    for number in range(count):
        one = socket.socket()
        one.bind((f"127.0.0.{2 + number % 8}", 0))
        one.connect(("127.0.0.1", port))
        crowd.append(wrap(one))
    time.sleep(1)
    each = (resident(pid) - before) / count
    for one in crowd:
        one.close()
    time.sleep(0.5)
    return each


def in_turns(rounds, measure, peers):
    """{peer: [figures]}: every round asks every peer once, so that noise is shared."""
    figures = {name: [] for name in peers}
    for number in range(rounds):
        order = list(peers) if number % 2 == 0 else list(reversed(peers))
        for name in order:
            figures[name].append(measure(name))
    return figures


def row(scenario, target, figures, unit, base="nginx"):
    """One line of a report: medians, and the ratio to `base` in the same round."""
    line = {"scenario": scenario, "target": target, "unit": unit, **{name: statistics.median(f) for name, f in figures.items()}}
    if base in figures:
        ratios = [p / n for n, p in zip(figures[base], figures["penstock"])]
        line.update(ratio=statistics.median(ratios), ratio_min=min(ratios), ratio_max=max(ratios))
    return line


def print_rows(rows, peers):
    print(f"{'':46}" + "".join(f"{name:>10}" for name in peers) + f"{'ratio':>8}{'range':>13}{'target':>9}")
    for r in rows:
        cells = "".join(f"{r[name]:10.2f}" if r.get(name) is not None else f"{'-':>10}" for name in peers)
        ratio = f"{r['ratio']:8.2f} {r['ratio_min']:6.2f}-{r['ratio_max']:4.2f}" if "ratio" in r else f"{'':21}"
        print(f"{r['scenario'] + ', ' + r['unit']:46}{cells}{ratio}{r['target']:>9}")


def markdown(rows, peers):
    out = [f"| | {' | '.join(peers)} | ratio to nginx | range | target |", "|---|" + "---|" * (len(peers) + 3)]
    for r in rows:
        cells = " | ".join(f"{r[name]:.2f}" if r.get(name) is not None else "-" for name in peers)
        ratio = f"{r['ratio']:.2f} | {r['ratio_min']:.2f}-{r['ratio_max']:.2f}" if "ratio" in r else "- | -"
        out.append(f"| {r['scenario']}, {r['unit']} | {cells} | {ratio} | {r['target']} |")
    return "\n".join(out) + "\n"
