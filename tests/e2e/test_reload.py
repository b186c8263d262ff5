"""Reload through the real binary: every way a file can change, and what must survive it."""
import os
import pathlib
import re
import signal
import threading
import time

import harness

POLICY = "version: 1\nlimits:\n  - {{ name: c, key: address, algorithm: fixed_window, rate: {} }}\n"


class Loaded:
    """A gateway whose policy file the test rewrites."""

    def __init__(self, serve, text):
        self.gateway = serve(text)
        self.path = pathlib.Path(self.gateway.policy_path)

    def await_generation(self, number):
        self.gateway.wait_for_line(rf"policy generation {number} is in force")

    @property
    def generations(self):
        return len(re.findall(r"generation \d+ is in force", self.gateway.log))


def limit_of(client):
    return client.send().headers.get("x-ratelimit-limit")


# Each way in which editors and orchestrators change a file.
def test_every_way_a_file_changes(serve, client, tmp_path):
    loaded = Loaded(serve, POLICY.format("1000/30d"))
    c = client(loaded.gateway.port)
    assert limit_of(c) == "1000"

    loaded.path.write_text(POLICY.format("1001/30d"))  # in place
    loaded.await_generation(2)
    assert limit_of(c) == "1001"

    other = loaded.path.with_suffix(".new")  # renamed over
    other.write_text(POLICY.format("1002/30d"))
    os.rename(other, loaded.path)
    loaded.await_generation(3)
    assert limit_of(c) == "1002"

    loaded.path.unlink()  # removed and made anew
    time.sleep(1)
    assert limit_of(c) == "1002"
    loaded.path.write_text(POLICY.format("1003/30d"))
    loaded.await_generation(4)
    assert limit_of(c) == "1003"

    os.chmod(loaded.path, 0o600)
    loaded.gateway.child.send_signal(signal.SIGHUP)  # unchanged, but asked for
    loaded.await_generation(5)


# Kubernetes swaps a link to a folder: the path never changes, what is behind it does.
def test_kubernetes_swaps_a_link(started, upstream, client, tmp_path):
    for number, rate in ((1, "2000/30d"), (2, "2001/30d")):
        folder = tmp_path / f"..v{number}"
        folder.mkdir()
        (folder / "policy.yaml").write_text(POLICY.format(rate))
    (tmp_path / "..data").symlink_to("..v1")
    (tmp_path / "policy.yaml").symlink_to("..data/policy.yaml")
    gateway = started(harness.Penstock(None, ("-c", str(tmp_path / "policy.yaml")), upstream=upstream.port))
    c = client(gateway.port)
    assert limit_of(c) == "2000"
    (tmp_path / "..tmp").symlink_to("..v2")
    os.rename(tmp_path / "..tmp", tmp_path / "..data")
    gateway.wait_for_line(r"policy generation 2 is in force")
    assert limit_of(c) == "2001"


# A broken file changes nothing but the log, once; mending it is enough.
def test_a_broken_file_keeps_the_old_policy(serve, client):
    loaded = Loaded(serve, POLICY.format("1000/30d"))
    c = client(loaded.gateway.port)
    text = POLICY.format("1001/30d")
    loaded.path.write_text(text[:len(text) - 12])  # half-written
    loaded.gateway.wait_for_line(r"reload refused; policy generation 1 stays in force")
    time.sleep(1.5)
    assert loaded.gateway.log.count("reload refused") == 1
    assert limit_of(c) == "1000"
    loaded.path.write_text(text)
    loaded.await_generation(2)
    assert limit_of(c) == "1001"


# What is used stays used when a limit changes; a different window or algorithm starts fresh.
def test_used_units_survive_a_changed_limit(serve, client):
    for algorithm in ("fixed_window", "token_bucket", "sliding_window_counter", "sliding_window_log"):
        text = f"version: 1\nlimits:\n  - {{{{ name: c, key: address, algorithm: {algorithm}, rate: {{}} }}}}\n"
        loaded = Loaded(serve, text.format("10/30d"))
        c = client(loaded.gateway.port)
        assert [c.send().status for _ in range(6)] == [200] * 6
        loaded.path.write_text(text.format("12/30d"))  # raised
        loaded.await_generation(2)
        assert c.send().headers["x-ratelimit-remaining"] == "5", algorithm
        loaded.path.write_text(text.format("4/30d"))  # lowered below what is used
        loaded.await_generation(3)
        refused = c.send()
        assert (refused.status, refused.headers["x-ratelimit-remaining"]) == (429, "0"), algorithm
        # Only the counter may have to wait for the window after next: its units weigh on one more.
        windows = 2 if algorithm == "sliding_window_counter" else 1
        assert 1 <= int(refused.headers["retry-after"]) <= windows * 30 * 86400, algorithm
        loaded.path.write_text(text.format("4/min"))  # another period
        loaded.await_generation(4)
        assert c.send().status == 200, algorithm


# Many reloads under load lose no request and let none through that was not free.
def test_reloads_under_load_lose_nothing_and_free_nothing(serve, client):
    loaded = Loaded(serve, POLICY.format("100/1d"))
    statuses, stop = [], threading.Event()
    clients = [client(loaded.gateway.port) for _ in range(4)]

    def hammer(c):
        while not stop.is_set():
            statuses.append(c.send().status)

    threads = [threading.Thread(target=hammer, args=(c,)) for c in clients]
    for t in threads:
        t.start()
    for generation in range(2, 2 + 8 * harness.SCALE):
        loaded.path.write_text(POLICY.format("100/1d") + f"# {generation}\n")
        loaded.await_generation(generation)
    harness.wait_for(lambda: len(statuses) > 200, "the load goes on")
    stop.set()
    for t in threads:
        t.join()
    assert set(statuses) == {200, 429}
    assert statuses.count(200) == 100


# Keys and plans live in files of their own that are handed out without a restart.
def test_key_and_plan_files_are_watched(started, upstream, client, tmp_path):
    (tmp_path / "keys.txt").write_text("alpha\n")
    (tmp_path / "plans.csv").write_text("alpha,free\n")
    (tmp_path / "policy.yaml").write_text(
        "version: 1\nidentity: { api_key: { header: X-API-Key, known: keys.txt } }\n"
        "plans: { free: { rate: 10/h }, premium: { rate: 1000/h } }\n"
        "limits:\n  - { name: client, key: api_key | address, plan: { by: api_key, from: plans.csv, default: free } }\n")
    gateway = started(harness.Penstock(None, ("-c", str(tmp_path / "policy.yaml")), upstream=upstream.port))
    c = client(gateway.port)
    send = lambda key: c.send(headers={"X-API-Key": key}).headers
    assert send("alpha")["x-ratelimit-remaining"] == "9"
    assert send("beta")["x-ratelimit-remaining"] == "9"    # unknown: counted by address
    assert send("gamma")["x-ratelimit-remaining"] == "8"   # so made-up keys buy nothing
    (tmp_path / "keys.txt").write_text("alpha\nbeta\n")
    gateway.wait_for_line("generation 2 is in force")
    assert send("beta")["x-ratelimit-remaining"] == "9"    # now a client of its own
    (tmp_path / "plans.csv").write_text("alpha,premium\n")
    gateway.wait_for_line("generation 3 is in force")
    got = send("alpha")
    assert (got["x-ratelimit-limit"], got["x-ratelimit-remaining"]) == ("1000", "998")
    (tmp_path / "plans.csv").write_text("alpha,premum\n")
    gateway.wait_for_line('plans.csv:1:1: unknown plan "premum"')
    gateway.wait_for_line("generation 3 stays in force")
    assert send("alpha")["x-ratelimit-limit"] == "1000"
    assert "alpha" not in gateway.log and "beta" not in gateway.log


# What cannot change while serving is said, and the rest of the file still takes effect.
def test_what_needs_a_restart_is_said(serve, client):
    loaded = Loaded(serve, POLICY.format("1000/30d"))
    c = client(loaded.gateway.port)
    loaded.path.write_text(POLICY.format("1001/30d") + "store: { memory: { max_bytes: 32MiB } }\n")
    loaded.await_generation(2)
    assert "store has changed; a restart is needed" in loaded.gateway.log
    assert limit_of(c) == "1001"
