"""A small shared store in virtual time, right or with one known fault: what a checker is tried on.

Processes ask it at overlapping times; the history that they would have written comes out. With no
fault every answer is as the rules say. The faults are those that limiters are known to have had.
"""
import random

import history
import rules

LIMITS = [
    ("fixed", "fixed_window", 5, 100_000, -1, 0, 0, 0), ("burst", "fixed_window", 3, 100_000, 2, 0, 0, 0),
    ("log", "sliding_window_log", 3, 100_000, -1, 0, 0, 0), ("denied", "sliding_window_log", 5, 100_000, -1, 0, 0, 1),
    ("counter", "sliding_window_counter", 10, 100_000, -1, 0, 0, 0), ("bucket", "token_bucket", 3, 100_000, -1, 0, 0, 0),
    ("queue", "leaky_bucket", 10, 100_000, -1, 4, 1, 0),
]
PLAN = history.Plan(LIMITS, 2)

FAULTS = [
    "reads and writes in two steps", "admits one unit above the limit", "counts a unit that is just one period old",
    "rounds a refill up", "forgets a window too early", "never lets a window end", "uses the clock of the client",
    "reads the clock twice", "charges again after a time-out", "charges the first limit of a refused request",
    "fills a bucket above its capacity", "gives an answer to the next request", "decides a moving key on two nodes",
    "drops its state once", "loses a refund", "gives a refund twice",
]


class InclusiveLog(rules.SlidingWindowLog):
    def counting(self, base, t):
        decides = max(t, base[-1][0]) if base else t
        return tuple(e for e in base or () if e[0] >= decides - self.period), decides


class RoundedBucket(rules.TokenBucket):
    def left(self, state, t):
        return min(self.capacity, -(-(self.full - self.ahead(state, t)) // self.period))

    def fits(self, state, t, cost):
        return cost <= self.left(state, t)


class ForgetfulCounter(rules.SlidingWindowCounter):
    def at(self, base, t):
        index, current, _ = super().at(base, t)
        return index, current, 0


class EndlessWindow(rules.FixedWindow):
    def roll(self, window, t):
        return (None if window is None else (t // self.period, window[1])), False

    def untouched(self, state, t):
        return not state or not state[0] or state[0][0] < t // self.period


class BottomlessBucket(rules.TokenBucket):
    def ahead(self, state, t):
        return max(-self.full, (state or 0) - t * self.count) if state else 0

    def left(self, state, t):
        return max(0, (self.full - self.ahead(state, t)) // self.period)

    def untouched(self, state, t):
        return self.ahead(state, t) <= 0


def rules_with(fault):
    made = list(PLAN.rules)
    swaps = {"counts a unit that is just one period old": {2: InclusiveLog}, "rounds a refill up": {5: RoundedBucket},
             "forgets a window too early": {4: ForgetfulCounter}, "never lets a window end": {0: EndlessWindow},
             "fills a bucket above its capacity": {5: BottomlessBucket}}
    for limit, kind in swaps.get(fault, {}).items():
        made[limit] = kind(LIMITS[limit][2], LIMITS[limit][3])
    if fault == "admits one unit above the limit":
        made = [rules.KINDS[kind](count + 1, period, burst=None if burst < 0 else burst, queue=queue, undelayed=undelayed,
                                  count_denied=bool(denied))
                for _, kind, count, period, burst, queue, undelayed, denied in LIMITS]
    return made


def run(fault, seed, requests=1500):
    """The history of four processes at a store that has `fault` (None: none)."""
    pick = random.Random(seed)
    used_rules = rules_with(fault)
    nodes = [[{} for _ in range(PLAN.keys)] for _ in range(2)]
    stale = [{} for _ in range(PLAN.keys)]
    held, charged, out = {}, [], []
    t = 1_800_000_000_000_000
    refunds = 0

    def write(process, op, kind, at, key, asked, verdicts, charged_at=0):
        open_order = kind == "refund"
        for (limit, cost, shadow, only_check), verdict in zip(asked, verdicts):
            out.append(history.Charge(process, op, at * 1000 - 300_000, at * 1000 + 300_000, -1 if open_order else at,
                                      0 if open_order else at, kind, key, limit, cost, shadow + 2 * only_check,
                                      charged_at, verdict))

    for op in range(1, requests):
        # Now and then exactly one period later, where borders are.
        t += 100_000 if pick.random() < 0.02 else pick.randint(1, 4000)
        process, key = pick.randrange(4), pick.randrange(PLAN.keys)
        states = nodes[0][key]
        if fault == "drops its state once" and op == requests // 2:
            states = {}
        if charged and pick.random() < 0.1:
            process, key, asked, charged_at = charged.pop()
            limit, cost = asked[0][:2]
            refunds += 1
            times = {"loses a refund": refunds % 2, "gives a refund twice": 2}.get(fault, 1)
            states = dict(nodes[0][key])
            for _ in range(times):
                states[limit] = used_rules[limit].give_back(states.get(limit), charged_at, cost, t)
            nodes[0][key] = states
            write(process, op, "refund", t, key, asked, [rules.NOTHING], charged_at)
            continue
        limits = pick.sample(range(len(LIMITS)), pick.choice([1, 1, 1, 2, 3]))
        asked = [(limit, pick.choice([1, 1, 1, 2, 3]), len(limits) > 1 and pick.random() < 0.2, pick.random() < 0.05)
                 for limit in limits]
        peek = pick.random() < 0.05
        decides_at = t
        if fault == "uses the clock of the client":
            decides_at += (0, 0, 5000, -5000)[process]
        if fault == "reads and writes in two steps" and pick.random() < 0.2:
            states = stale[key]  # what was read before another one wrote
        node = 1 if fault == "decides a moving key on two nodes" and 0.4 < op / requests < 0.5 else 0
        if node == 1 and pick.random() < 0.5:
            states = nodes[1][key]
        else:
            node = 0
        stale[key] = nodes[0][key]
        states, verdicts = rules.decide(used_rules, states, asked, decides_at, peek)
        admitted = all(v.admitted for v, a in zip(verdicts, asked) if not a[2])
        if fault == "charges again after a time-out" and pick.random() < 0.02:
            states, _ = rules.decide(used_rules, states, asked, decides_at, peek)
        if fault == "charges the first limit of a refused request" and not admitted and not peek:
            states = dict(states)
            states[asked[0][0]] = used_rules[asked[0][0]].take(states.get(asked[0][0]), decides_at, asked[0][1])[0]
        nodes[node][key] = states
        told_at = t
        if fault == "reads the clock twice":
            told_at += 43
        if fault == "gives an answer to the next request" and 0.5 < op / requests < 0.6 and len(asked) == 1:
            # Of its own process, as a connection that lost its place would.
            verdicts, held[process] = held.get(process, verdicts), verdicts
        write(process, op, "peek" if peek else "take", told_at, key, asked, verdicts)
        plain = len(asked) == 1 and not peek and not asked[0][3] and LIMITS[asked[0][0]][4] < 0
        if plain and admitted and pick.random() < 0.3:
            charged.append((process, key, asked, decides_at))
    return out
