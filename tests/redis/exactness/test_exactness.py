"""Processes fight over last units, and every answer that they got has to be what the rules say.

PENSTOCK_CONTEST names the program that fights (store_contest). PENSTOCK_SCALE 1 is for every day,
10 and more for releases: zero violations in n contests bound their rate below 3 / n (95 %).
"""
import os
import pathlib
import random
import subprocess
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(TESTS / "e2e"), str(TESTS / "faults"), str(pathlib.Path(__file__).resolve().parent)]
import harness  # noqa: E402
import history  # noqa: E402
import seeded  # noqa: E402
from redis_peers import Cluster, Redis, Sentinels  # noqa: E402

CONTEST = os.environ.get("PENSTOCK_CONTEST", str(harness.ROOT / "build/dev/tests/redis/store_contest"))
SEED = int(os.environ.get("PENSTOCK_SEED", "1"))
PROCESSES, IN_FLIGHT = 8, 16
MS = 1000


def limits(period):
    """Every algorithm at small limits, where the last unit is fought over all the time."""
    return [
        ("one", "token_bucket", 1, period, -1, 0, 0, 0), ("fixed", "fixed_window", 2, period, -1, 0, 0, 0),
        ("log", "sliding_window_log", 3, 2 * period, -1, 0, 0, 0),
        ("counter", "sliding_window_counter", 5, period, -1, 0, 0, 0),
        ("bucket", "token_bucket", 10, 2 * period, 4, 0, 0, 0), ("queue", "leaky_bucket", 5, period, -1, 3, 1, 0),
        ("burst", "sliding_window_counter", 3, period, 2, 0, 0, 0), ("denied", "fixed_window", 4, period, -1, 0, 0, 1),
        ("hundred", "sliding_window_log", 100, 10 * period, -1, 0, 0, 0), ("slow", "fixed_window", 3, 1000 * MS, 2, 0, 0, 0),
        ("logburst", "sliding_window_log", 2, period, 1, 0, 0, 0), ("third", "token_bucket", 3, period, -1, 0, 0, 1),
    ]


def fight(folder, plan, url, requests, seed, meanwhile=lambda: None):
    """The history of all processes at the store of `url`; `meanwhile` is called once they fight."""
    path = folder / "plan"
    path.write_text(plan.text())
    if url == "memory":
        subprocess.run([CONTEST, str(path), str(folder / "out"), "memory", "0", str(PROCESSES), str(requests), str(seed)],
                       check=True, timeout=600)
        return history.read(sorted(folder.glob("out.*")))
    fighters = [subprocess.Popen([CONTEST, str(path), str(folder / f"out.{n}"), url, str(n), str(IN_FLIGHT),
                                  str(requests), str(seed)],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for n in range(PROCESSES)]
    try:
        for f in fighters:
            assert f.stdout.readline() == "ready\n"
        for f in fighters:
            f.stdin.write("go\n")
            f.stdin.flush()
        meanwhile()
        assert [f.wait(600) for f in fighters] == [0] * PROCESSES
    finally:
        for f in fighters:
            f.kill()
            f.wait()
            f.stdin.close()
            f.stdout.close()
    return history.read(sorted(folder.glob("out.*")))


STORES = {"memory": lambda started: None, "standalone": lambda started: started(Redis()),
          "sentinel": lambda started: started(Sentinels()), "cluster": lambda started: started(Cluster())}


# The product's promise in one test: whoever asks at the same time, no unit is given twice, none is
# lost, and every number that a client is told is true.
@pytest.mark.parametrize("kind", STORES)
def test_every_answer_is_what_the_rules_say(tmp_path, started, kind):
    peer = STORES[kind](started)
    fought = answers = rounds = 0
    wanted = 1500 * harness.SCALE
    while fought < wanted:
        rounds += 1
        assert rounds <= 20 * harness.SCALE, f"only {fought} contests in {rounds} rounds: too few to prove anything"
        folder = tmp_path / str(rounds)
        folder.mkdir()
        period = (20 if kind == "memory" else 25) * MS
        plan = history.Plan(limits(period), 4)
        requests = 1500 if peer else 6000
        charges = fight(folder, plan, peer.url if peer else "memory", requests, SEED * 1000 + rounds)
        assert len({(c.process, c.op) for c in charges}) == PROCESSES * requests
        wrong = history.replay(plan, charges)
        assert wrong == [], f"PENSTOCK_SEED={SEED}, round {rounds}"
        fought += history.contests(plan, charges)
        answers += len(charges)
        # The same history with one thing changed is wrong, and is said to be.
        for name, mutate in history.mutations(SEED + rounds):
            changed = mutate(charges) if rounds == 1 else None
            if changed is not None:
                key = next(a.key for a, b in zip(charges, changed) if a != b)
                assert history.replay(plan, [c for c in changed if c.key == key]), name
        if peer:
            peer.flush()
    print(f"{kind}: {answers} answers, {fought} contests for a last unit, 0 wrong")


# The bound that is left when the order of decisions dies with a server: replication is asynchronous,
# so a failover may forget the newest counts, once.
def test_a_failover_grants_at_most_one_budget_more(tmp_path, started):
    peer = started(Sentinels())
    logs = [(f"log{n}", "sliding_window_log", n, 2000 * MS, -1, 0, 0, 0) for n in (1, 2, 3, 5, 10, 100)]
    plan = history.Plan(logs, 4)

    def kill_master():
        # In the middle: what was written down is a small part of what will be.
        harness.wait_for(lambda: sum(f.stat().st_size for f in tmp_path.glob("out.*")) > 100_000, "the fight is on", 60)
        peer.master.kill()
    charges = fight(tmp_path, plan, peer.url, 3000 * harness.SCALE, SEED, kill_master)
    failed = sum(c.kind == "failed" for c in charges)
    assert 0 < failed < len(charges), "the failover was not in the middle"
    worst = {}
    for limit, (name, _, count, period, *_) in enumerate(logs):
        worst[name] = max(history.most_in_any_window(charges, key, limit, period) for key in range(plan.keys))
        assert worst[name] <= 2 * count, name
    print(f"failover: {failed} of {len(charges)} not answered; most in any window {worst}")


# A checker that finds nothing proves nothing: it accepts the right store and catches each fault that
# limiters are known to have had.
def test_the_checker_accepts_a_right_store():
    for seed in range(SEED, SEED + 5 * harness.SCALE):
        assert history.replay(seeded.PLAN, seeded.run(None, seed)) == [], f"seed {seed}"


@pytest.mark.parametrize("fault", seeded.FAULTS)
def test_the_checker_catches(fault):
    for seed in range(SEED, SEED + harness.SCALE):
        assert history.replay(seeded.PLAN, seeded.run(fault, seed)), f"seed {seed}"


# What the bound is held against: only what was admitted as a whole, kept, and inside one window.
def test_the_most_in_a_window_counts_what_was_admitted():
    yes, no = (history.rules.Verdict(admitted, False, 0, 0, 0, 0, 0) for admitted in (True, False))

    def take(op, limit, verdict, begun, ended, kind="take", charged_at=0):
        return history.Charge(0, op, begun * MS, ended * MS, op, op, kind, 0, limit, 1, 0, charged_at, verdict)
    whole = [take(1, 0, yes, 0, 5), take(2, 0, yes, 8, 10), take(3, 0, yes, 9, 10), take(3, 1, yes, 9, 10)]
    assert history.most_in_any_window(whole, 0, 0, 10) == 3
    assert history.most_in_any_window(whole, 0, 0, 9) == 2, "one began before the window"
    assert history.most_in_any_window([*whole[:3], whole[3]._replace(verdict=no)], 0, 0, 10) == 2, "refused as a whole"
    shadow = whole[3]._replace(verdict=no, how=1)
    assert history.most_in_any_window([*whole[:3], shadow], 0, 0, 10) == 3, "a shadow refuses nothing"
    assert history.most_in_any_window([*whole, take(4, 0, yes, 9, 9, "refund", 2)], 0, 0, 10) == 2, "given back"


# Each change to a history that was right is caught wherever it is made.
def test_the_checker_catches_changed_histories():
    pick = random.Random(SEED)
    for _ in range(3 * harness.SCALE):
        charges = seeded.run(None, pick.randrange(10**6), requests=400)
        for name, mutate in history.mutations(pick.randrange(10**6)):
            changed = mutate(charges)
            assert changed is not None and history.replay(seeded.PLAN, changed), name
