"""A gateway in front of an upstream, on a store that is about to suffer, under a steady load."""
import os

import harness
import open_loop
from report import record

KINDS = ["fixed_window", "token_bucket", "sliding_window_counter", "sliding_window_log"]
PATHS = 8
SECONDS = 2 * harness.SCALE  # how long a fault holds


def policy(store, failure="deny", deadline="50ms", limits=None):
    """Eight limits that never refuse and that no two answers can be taken for each other: each has a
    number of its own. `limits`: other lines instead."""
    lines = limits or [f"{{ name: p{n}, match: {{ path: /p{n} }}, key: address, algorithm: {KINDS[n % 4]}, "
                       f"rate: {limit_of(n)}/30d }}" for n in range(PATHS)]
    return (f'version: 1\nstore: {{ url: "{store}", deadline: {deadline}, on_store_failure: {failure}, fleet_size: 2 }}\n'
            "limits:\n" + "".join(f"  - {line}\n" for line in lines))


def limit_of(n):
    return 9000 + n % PATHS


def path_of(n):
    return f"/p{n % PATHS}"


def metric(port, name, *labels):
    """The sum of a metric's series that have every one of `labels`, such as 'kind="timeout"'."""
    client = harness.Client(port)
    try:
        text = client.send(path="/metrics").body.decode()
    finally:
        client.close()
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
               if line.split("{")[0].split(" ")[0] == name and all(label in line for label in labels))


class Gateway:
    def __init__(self, text, upstream, *args, **more):
        # Head and body are two writes there; without this each answer would be 40 ms late.
        upstream.server.RequestHandlerClass.disable_nagle_algorithm = True
        self.process = harness.Penstock(text, ["--health", "127.0.0.1:0", *args], upstream=upstream.port, **more)
        self.port = self.process.port
        self.health = int(self.process.wait_for_line(r"health listening on http://[^ ]*:(\d+)").group(1))

    def metric(self, name, *labels):
        return metric(self.health, name, *labels)

    def up(self):
        return self.metric("penstock_store_up") == 1

    def wait_until_up(self, seconds=20):
        harness.wait_for(self.up, "the store is up", seconds)

    def octets(self):
        """Resident memory of the process."""
        with open(f"/proc/{self.process.child.pid}/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def is_sanitized(self):
        """Whether its memory says nothing: a sanitizer keeps what was freed."""
        with open(f"/proc/{self.process.child.pid}/maps", encoding="utf-8") as maps:
            return "san.so" in maps.read()

    def close(self):
        self.process.close()


class Trouble:
    """What a load saw of one fault: before `begun`, until `over`, and after."""

    def __init__(self, seen, begun, over, gateway, log_before):
        self.seen, self.begun, self.over, self.gateway = seen, begun, over, gateway
        self.log = gateway.process.log[log_before:]

    @property
    def during(self):
        return open_loop.between(self.seen, self.begun, self.over)

    @property
    def after(self):
        return open_loop.between(self.seen, self.over, float("inf"))

    def statuses(self, seen=None):
        return sorted({s.status for s in (self.seen if seen is None else seen)})

    def back(self, status=200):
        """Seconds from the end of the fault until the first answer by the store."""
        return next((s.due + s.took - self.over for s in self.after if s.status == status), float("inf"))

    def foreign(self):
        """Answers with the number of another limit; `local` shows half, the share of a fleet of two."""
        return sum(1 for n, s in enumerate(self.seen) if "x-ratelimit-limit" in s.headers
                   and int(s.headers["x-ratelimit-limit"]) not in (limit_of(n), limit_of(n) // 2))

    def record_usual(self, row, what, statuses, back=None):
        """The promises that every fault shares."""
        seen = self.statuses()
        record(row, what, f"every request answered, with {statuses}", f"{len(self.seen)}: {seen}", set(seen) <= set(statuses))
        first = [s.took for s in open_loop.between(self.seen, self.begun, self.begun + 1)]
        rest = [s.took for s in open_loop.between(self.seen, self.begun + 1, self.over)]
        record(row, what, "p99 <= 60 ms in the first second, <= 5 ms then",
               f"{open_loop.percentile(first, 0.99) * 1000:.1f} ms, {open_loop.percentile(rest, 0.99) * 1000:.1f} ms", None)
        record(row, what, "no answer to another request", self.foreign(), self.foreign() == 0)
        lines = self.log.count("\n")
        most = self.seen[-1].due - self.begun + 2
        record(row, what, "at most a line of log a second", f"{lines} in {most:.0f} s", lines <= most)
        if back is not None:
            record(row, what, f"back within {back} s", f"{self.back():.2f} s", self.back() <= back)
            settled = open_loop.between(self.seen, self.over + self.back() + 0.3, float("inf"))
            bad = sum(1 for s in settled if s.status != 200)
            record(row, what, "then served by the store again", f"{bad} of {len(settled)} not 200",
                   settled and bad <= len(settled) * 0.1)


def trouble(started, gateway, begin, end, seconds=None, rate=150, settle=1.5, up=True, headers=None):
    """Loads `gateway`, begins the fault after a second, ends it `seconds` later. `up`: waits for the
    store to be up again."""
    load = started(open_loop.OpenLoop(gateway.port, rate=rate, path=path_of, headers=headers)).start()
    harness.wait_for(lambda: load.now() > 1, "a quiet second")
    log_before = len(gateway.process.log)
    begun = load.now()
    begin()
    harness.wait_for(lambda: load.now() > begun + (seconds or SECONDS), "the fault holds", 600)
    end()
    over = load.now()
    if up:
        gateway.wait_until_up(30)
    then = load.now()
    harness.wait_for(lambda: load.now() > then + settle, "the load goes on")
    return Trouble(load.stop(), begun, over, gateway, log_before)
