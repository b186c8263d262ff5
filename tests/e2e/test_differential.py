"""Penstock beside nginx, HAProxy, Apache and Caddy: the same hostile octets through each.

Every listed case and, from a printed seed, variants of every kind go through all five to an upstream that
parses strictly. Where Penstock does what none of the others does, the difference stands with its reason in
differential/allowed.jsonl, or the test fails; an entry that explains nothing fails as well. What must
never happen is asserted without regard to the others.

PENSTOCK_SEED=N repeats a run; PENSTOCK_SCALE=10 draws ten times as many.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import random

import pytest

import harness
from differential import answers, compare, peers, requests
from test_http_cases import RecordingUpstream, ScriptedUpstream, load

SEED = int(os.environ.get("PENSTOCK_SEED", "20261130"))
LANES = 6
ALLOWED = pathlib.Path(__file__).parent / "differential/allowed.jsonl"


def listed_cases():
    for one in load("request_cases.jsonl"):
        rejects = any(w.startswith("reject") for w in one["also"])
        yield {"id": one["id"], "kind": one["id"], "raw": one["raw"].encode("latin-1"), "must": None, "level": one["level"],
               "n": max(1, one["complete"]), "bodies": None, "host": None, "absent": [], "half_close": one["half_close"],
               "forward": one["expect"] == "forward" or "forward" in one["also"],
               "refuse": one["expect"] != "forward" or rejects}


class Allowed:
    """Reasons by case or kind; remembers which were needed."""

    def __init__(self):
        self.entries = [json.loads(line) for line in ALLOWED.read_text().splitlines()]
        self.used = set()

    def explains(self, case, how):
        for number, entry in enumerate(self.entries):
            if entry["case"] in (case["id"], case["kind"]) and entry["penstock"] == how:
                self.used.add(number)
                return True
        return False

    def unused(self):
        return [entry for number, entry in enumerate(self.entries) if number not in self.used]


@pytest.fixture
def fleet(started, tmp_path):
    """The five proxies, each with an upstream for each lane: {name: peer}."""
    made = {}
    for kind in (peers.Penstock, *peers.OTHERS):
        upstreams = [started(RecordingUpstream()) for _ in range(LANES)]
        made[kind.name] = kind(started, tmp_path / kind.name, upstreams)
    return made


def run(fleet, cases):
    """{case id: {proxy: reaction}}; and what arrived so late that no case can be named."""
    late = []

    def lane(job):
        name, number = job
        peer, out = fleet[name], {}
        for case in cases[number::LANES]:
            out[case["id"]], before = compare.send(peer.ports[number], peer.upstreams[number], case)
            late.extend((name, record) for record in before)
        return name, out

    reactions = collections.defaultdict(dict)
    jobs = [(name, number) for name in fleet for number in range(LANES)]
    with concurrent.futures.ThreadPoolExecutor(len(jobs)) as pool:
        for name, out in pool.map(lane, jobs):
            for case_id, reaction in out.items():
                reactions[case_id][name] = reaction
    return reactions, late


def difference(by_proxy):
    """How Penstock stands alone in this case, or None."""
    ours = by_proxy["penstock"]
    others = [r for name, r in by_proxy.items() if name != "penstock"]
    if ours.key not in {r.key for r in others}:
        fewer = len(ours.passed) < min(len(r.passed) for r in others)
        return "refuse" if fewer else ours.key.split(" ")[0]
    alike = [r for r in others if r.key == ours.key]
    if ours.passed and ours.what() not in [r.what() for r in alike]:
        return "other octets"
    return None


def alone(fleet, case):
    """The case once more with nothing else under way."""
    return {name: compare.send(peer.ports[0], peer.upstreams[0], case)[0] for name, peer in fleet.items()}


def examine(fleet, cases, allowed):
    reactions, late = run(fleet, cases)
    failures = [f"{record['line']} arrived late from a message before" for name, record in late
                if name == "penstock" and "smuggled" in record["line"]]
    for case in cases:
        by_proxy = reactions[case["id"]]
        wrong = compare.judge(case, by_proxy["penstock"])
        how = difference(by_proxy)
        if wrong or (how and not allowed.explains(case, how)):
            # Busy machines delay answers; what is true is true again.
            by_proxy = reactions[case["id"]] = alone(fleet, case)
            wrong = compare.judge(case, by_proxy["penstock"])
            how = difference(by_proxy)
            if how and allowed.explains(case, how):
                how = None
            if wrong or how:
                said = "".join(f"\n    {name}: {reaction}" for name, reaction in by_proxy.items())
                failures.append(f"{case['id']}: {wrong or 'Penstock alone: ' + how}{said}\n    {case['raw'][:300]!r}")
    return reactions, failures


def print_table(title, columns, rows):
    print(f"\n{title}\n" + " ".join(f"{text:>14}" for text in ("", *columns)))
    for name, values in rows:
        print(" ".join(f"{value:>14}" for value in (name, *values)))


def test_listed_cases(fleet, capsys):
    cases = list(listed_cases())
    allowed = Allowed()
    reactions, failures = examine(fleet, cases, allowed)
    rows = []
    for name in fleet:
        counts = collections.Counter()
        for case in cases:
            reaction = reactions[case["id"]][name]
            hidden = any("smuggled" in r["line"] for r in reaction.passed)
            more = len(reaction.passed) > case["n"]
            counts["smuggled"] += hidden or more
            counts["no HTTP sent on"] += any(r["broken"] for r in reaction.passed)
            if reaction.passed and not case["forward"]:
                counts["let through, " + case["level"]] += 1
            elif not reaction.passed and not case["refuse"]:
                counts["refused valid"] += 1
        rows.append((name, [counts[c] for c in COLUMNS]))
    differ = sum(len({r.key for r in by.values()}) > 1 for by in reactions.values())
    with capsys.disabled():
        versions = ", ".join(f"{p.name} {p.version()}" for p in peers.OTHERS)
        print_table(f"{len(cases)} listed cases; {versions}; on {differ} the proxies disagree", COLUMNS, rows)
    assert not failures, f"{len(failures)} differences:\n" + "\n".join(failures)
    kinds = {k.__name__ for k in requests.KINDS} | {"havoc"}
    stale = [e for e in allowed.unused() if e["case"] not in kinds and not e["case"].startswith("response ")]
    assert not stale, f"entries that explain nothing: {stale}"


COLUMNS = ("smuggled", "no HTTP sent on", "let through, must", "let through, policy", "refused valid")


def test_variants_of_every_kind(fleet, capsys):
    seeds = [case["raw"] for case in listed_cases() if len(case["raw"]) < 2000]
    cases = requests.variants(random.Random(SEED), 20 * harness.SCALE, seeds)
    reactions, failures = examine(fleet, cases, Allowed())
    rows = []
    for name in fleet:
        hidden = let = refused = odd = 0
        for case in cases:
            reaction = reactions[case["id"]][name]
            hidden += any("smuggled" in r["line"] for r in reaction.passed) and not case.get("allows_smuggled")
            let += case["must"] == "refuse" and bool(reaction.passed)
            refused += case["must"] == "forward" and not reaction.passed
            odd += any(r["broken"] for r in reaction.passed)
        rows.append((name, [hidden, odd, let, refused]))
    with capsys.disabled():
        print_table(f"{len(cases)} variants, seed {SEED}", ("smuggled", "no HTTP sent on", "let through", "refused valid"), rows)
    assert not failures, f"seed {SEED}, {len(failures)} differences:\n" + "\n".join(failures)


def verdict(case, by_proxy, allowed):
    seen, after = by_proxy["penstock"]
    if wrong := answers.judge(case, seen, after):
        return wrong
    others = {s.key for name, (s, _) in by_proxy.items() if name != "penstock"}
    return None if seen.key in others or allowed.explains(case, seen.key) else f"Penstock alone: {seen.key}"


# The other side is as hostile: a broken answer is refused or cut, and never answers somebody else.
def test_answers_of_every_kind(started, tmp_path, capsys):
    cases = answers.variants(random.Random(SEED), 6 * harness.SCALE)
    fleet = {}
    for kind in (peers.Penstock, *peers.OTHERS):
        fleet[kind.name] = kind(started, tmp_path / kind.name, [started(ScriptedUpstream()) for _ in range(LANES)])

    def lane(job):
        name, number = job
        peer = fleet[name]
        return name, {c["id"]: answers.send(peer.ports[number], peer.upstreams[number], c) for c in cases[number::LANES]}

    results = collections.defaultdict(dict)
    jobs = [(name, number) for name in fleet for number in range(LANES)]
    with concurrent.futures.ThreadPoolExecutor(len(jobs)) as pool:
        for name, out in pool.map(lane, jobs):
            for case_id, both in out.items():
                results[case_id][name] = both
    allowed, failures = Allowed(), []
    counts = {name: collections.Counter() for name in fleet}
    for case in cases:
        by_proxy = results[case["id"]]
        for name, (seen, after) in by_proxy.items():
            counts[name]["poisoned"] += b"evil" in after.received or b"evil" in seen.received
            counts[name]["next fails"] += (after.status, after.body) != (200, b"plain")
            counts[name]["looks whole"] += case["must"] in ("502", "cut") and seen.key == "passed"
            counts[name]["good refused"] += case["must"] == "forward" and seen.key != "passed"
        wrong = verdict(case, by_proxy, allowed)
        if wrong:  # busy machines delay answers; what is true is true again
            by_proxy = {n: answers.send(p.ports[0], p.upstreams[0], case) for n, p in fleet.items()}
            wrong = verdict(case, by_proxy, allowed)
        if wrong:
            said = "".join(f"\n    {name}: {s}" for name, (s, _) in by_proxy.items())
            failures.append(f"{case['id']}: {wrong}{said}\n    {case['raw'][:200]!r}")
    columns = ("poisoned", "next fails", "looks whole", "good refused")
    with capsys.disabled():
        print_table(f"{len(cases)} answers, seed {SEED}", columns, [(n, [c[x] for x in columns]) for n, c in counts.items()])
    assert not failures, f"seed {SEED}, {len(failures)} differences:\n" + "\n".join(failures)
