"""Replays what processes saw against the rules, and counts how hard they fought.

A history is lines `process op begun_ns ended_ns order at_us kind key limit cost how charged_at
admitted never remaining retry reset next delay` (contest_plan.hpp), one for each charge. The
requests about one key are replayed in the order in which the store decided them; every field of
every verdict has to be what the rules say. A refund's place in that order is known only to Redis:
it lies between its process's requests before and behind it, and some place there has to explain
everything that came after.
"""
import collections
import heapq
import random

import rules

Charge = collections.namedtuple("Charge", "process op begun ended order at kind key limit cost how charged_at verdict")
STATES_AT_ONCE = 2048  # more explanations than that, and the history would prove nothing


class Plan:
    """Limits as lines (name, kind, count, period_us, burst or -1, queue, undelayed, count_denied)."""

    def __init__(self, limits, keys):
        self.limits, self.keys = limits, keys
        self.rules = [rules.KINDS[kind](count, period, burst=None if burst < 0 else burst, queue=queue,
                                        undelayed=undelayed, count_denied=bool(denied))
                      for _, kind, count, period, burst, queue, undelayed, denied in limits]

    def text(self):
        return "".join("limit " + " ".join(map(str, limit)) + "\n" for limit in self.limits) + f"keys {self.keys}\n"


def read(paths):
    charges = []
    for path in paths:
        with open(path, encoding="ascii") as lines:
            for line in lines:
                w = line.split()
                n = [int(x) for x in w[:6]] + [w[6]] + [int(x) for x in w[7:]]
                charges.append(Charge(*n[:12], rules.Verdict(bool(n[12]), bool(n[13]), *n[14:])))
    return charges


class Request:
    __slots__ = ("charges", "earliest", "latest")

    def __init__(self, charges):
        self.charges = charges
        self.earliest = self.latest = None

    def __getattr__(self, name):
        return getattr(self.charges[0], name)


def by_key(charges):
    """{key: (decided requests in their order, refunds whose place is open)}."""
    requests = collections.OrderedDict()
    for c in charges:
        requests.setdefault((c.process, c.op), []).append(c)
    keys = collections.defaultdict(lambda: ([], []))
    for same in requests.values():
        is_open = same[0].kind == "refund" and same[0].order < 0
        keys[same[0].key][is_open].append(Request(same))
    for decided, floating in keys.values():
        decided.sort(key=lambda r: r.order)
        behind = collections.defaultdict(list)
        for r in decided:
            behind[r.process].append(r)
        for r in floating:
            # After what its process knew when it asked, and before what it asked later about this key,
            # which went the same way.
            known = [d.order for d in behind[r.process] if d.ended <= r.begun]
            r.earliest = max([r.charged_at, *known])
            r.latest = min((d.order for d in behind[r.process] if d.begun > r.ended), default=float("inf"))
        floating.sort(key=lambda r: r.earliest)
    return keys


def replay(plan, charges):
    """Everything that is wrong, one text for each key; empty when each answer is explained."""
    wrong = []
    for key, (decided, floating) in sorted(by_key(charges).items()):
        wrong += replay_key(plan, key, decided, floating)
    return wrong


def frozen(states):
    return tuple(sorted((limit, state) for limit, state in states.items() if state is not None))


def with_refund(plan, states, refund, t):
    after = dict(states)
    for c in refund.charges:
        after[c.limit] = plan.rules[c.limit].give_back(after.get(c.limit), c.charged_at, c.cost, t)
    return frozen(after)


def later_or_now(plan, possible, n, refund):
    """`possible`, and that refund n has happened now where it has not."""
    grown = set()
    late = all(plan.rules[c.limit].refund_can_be_late for c in refund.charges)
    for states, happened in possible:
        if n in happened:
            grown.add((states, happened))
            continue
        after = with_refund(plan, states, refund, None)
        grown.add((after, happened | {n}))
        if after != states or not late:
            grown.add((states, happened))
    return grown


def forgotten(plan, states, t):
    """What is as if never seen is not seen: so that explanations that differ in nothing are one."""
    return frozen({limit: state for limit, state in states if not plan.rules[limit].untouched(state, t)})


def replay_key(plan, key, decided, floating):
    # What may be true: (states of the limits, which of the open refunds have happened).
    possible = {(frozen({}), frozenset())}
    begun, open_refunds, previous = 0, [], None
    for r in decided:
        if r.kind == "failed":
            return [f"key {key}: process {r.process} request {r.op} was not answered"]
        if r.order == previous:
            return [f"key {key}: two decisions at {r.order}: their order is not known"]
        previous = r.order
        while begun < len(floating) and floating[begun].earliest < r.order:
            open_refunds.append(begun)
            begun += 1
        for n in open_refunds:
            possible = later_or_now(plan, possible, n, floating[n])
        over = {n for n in open_refunds if floating[n].latest < r.order}
        possible = {(states, happened - over) for states, happened in possible if over <= happened}
        open_refunds = [n for n in open_refunds if n not in over]
        if open_refunds:
            possible = {(forgotten(plan, states, r.order), happened) for states, happened in possible}
        after, told = set(), None
        for states, happened in possible:
            if r.kind == "refund":
                after.add((with_refund(plan, states, r, r.at), happened))
                continue
            asked = [(c.limit, c.cost, c.how % 2 == 1, c.how >= 2) for c in r.charges]
            claims = [c.verdict for c in r.charges]
            changed, told = rules.decide(plan.rules, dict(states), asked, r.at, r.kind == "peek", claims)
            if told == claims:
                after.add((frozen(changed), happened))
        if not after:
            return [f"key {key}: process {r.process} request {r.op} at {r.at}: "
                    + "; ".join(f"{r.kind} {c.cost} of {plan.limits[c.limit][0]} (how {c.how}) was answered "
                                f"{tuple(c.verdict)}, the rules say {tuple(v)}"
                                for c, v in zip(r.charges, told))]
        if len(after) > STATES_AT_ONCE:
            return [f"key {key}: too many explanations: this history proves nothing"]
        # What has happened in every explanation is no question any more.
        sure = frozenset.intersection(*(happened for _, happened in after))
        possible = {(states, happened - sure) for states, happened in after}
        open_refunds = [n for n in open_refunds if n not in sure]
    return []


def contests(plan, charges):
    """Requests that took the last unit of a limit while another process asked for that limit too."""
    asked = collections.defaultdict(list)
    for c in charges:
        if c.kind == "take" and not c.how and c.cost > 0:
            asked[c.key, c.limit].append(c)
    fought = 0
    for same in asked.values():
        same.sort(key=lambda c: c.begun)
        ends = []  # of requests that began earlier and may still be open
        for i, c in enumerate(same):
            ends = [e for e in ends if e.ended > c.begun]
            if c.verdict.admitted and c.verdict.remaining == 0:
                others = ends + [o for o in same[i + 1:i + 40] if o.begun < c.ended]
                fought += any(o.process != c.process for o in others)
            ends.append(c)
    return fought


def most_in_any_window(charges, key, limit, window_us):
    """The most that was surely admitted within one window: begun and ended inside it, and not given
    back. For a history whose order is lost with a server; never too high, whatever the order was."""
    # One enforcing limit that says no refuses the whole request, also for those that said yes.
    refused = {(c.process, c.op) for c in charges
               if c.kind == "take" and c.how % 2 == 0 and not c.verdict.admitted}
    back = {(c.process, c.charged_at, c.cost) for c in charges
            if c.kind == "refund" and (c.key, c.limit) == (key, limit)}
    taken = sorted((c.begun, c.ended, c.cost) for c in charges
                   if c.kind == "take" and (c.key, c.limit) == (key, limit) and c.verdict.admitted and not c.how
                   and (c.process, c.op) not in refused and (c.process, c.at, c.cost) not in back)
    most = inside = 0
    open_since = []  # (begun, cost) of those that a window which ends now may hold
    for begun, ended, cost in sorted(taken, key=lambda x: x[1]):
        heapq.heappush(open_since, (begun, cost))
        inside += cost
        while open_since and open_since[0][0] < ended - window_us * 1000:
            inside -= heapq.heappop(open_since)[1]
        most = max(most, inside)
    return most


def explained_by_refunds(charges):
    """Whether a refund whose place is open may explain another answer to charge c: a function of c."""
    spans = collections.defaultdict(list)
    for key, (_, floating) in by_key(charges).items():
        for r in floating:
            for c in r.charges:
                spans[key, c.limit].append((r.earliest, r.latest))
    return lambda c: any(first <= c.order <= last for first, last in spans[c.key, c.limit])


# Faults put into a history that was right: (name, what it does to the list of charges). Each returns
# a changed copy, or None where the history has nothing to change.
def mutations(seed):
    pick = random.Random(seed)

    def change(match, make):
        def mutate(charges):
            open_to_doubt = explained_by_refunds(charges)
            found = [i for i, c in enumerate(charges) if match(c) and not open_to_doubt(c)]
            if not found:
                return None
            i = pick.choice(found)
            return charges[:i] + make(charges[i]) + charges[i + 1:]
        return mutate

    def verdict(match, **fields):
        return change(match, lambda c: [c._replace(verdict=c.verdict._replace(
            **{name: value(getattr(c.verdict, name)) for name, value in fields.items()}))])

    def refused(c):
        return c.kind == "take" and not c.verdict.admitted and not c.verdict.never

    def taken(c):
        return c.kind == "take" and c.verdict.admitted and c.cost > 0 and not c.how

    return [
        ("one admission too many", verdict(refused, admitted=lambda _: True, retry=lambda _: 0)),
        ("one refusal too many", verdict(taken, admitted=lambda _: False, retry=lambda _: 1)),
        ("one unit too many is told", verdict(taken, remaining=lambda n: n + 1)),
        ("a wait one microsecond too short", verdict(refused, retry=lambda n: n - 1)),
        ("a reset one microsecond too long", verdict(taken, reset=lambda n: n + 1)),
        ("a delay one microsecond too short",
         verdict(lambda c: c.verdict.delay > 0, delay=lambda n: n - 1)),
        ("the answer of another request",
         change(lambda c: taken(c) and c.verdict.remaining > 0, lambda c: [c._replace(verdict=c.verdict._replace(
             remaining=c.verdict.remaining - 1, reset=c.verdict.reset + 7))])),
    ]
