"""The rules of docs/algorithms.md, written for judging and not for speed.

Shares nothing with the program that it judges. A state is an immutable tuple, None when never seen.
Each rule says only three things: what is left at a tick, whether a cost fits, and what a charge makes
of the state. Every wait is then searched by its definition, the least number of ticks after which
something holds, and not computed by a formula. Integers throughout; times in ticks of one
microsecond (a limit whose tick is coarser is refused).
"""
import collections

Verdict = collections.namedtuple("Verdict", "admitted never remaining retry reset next delay")


def least(holds, most, claimed=0):
    """The least d in 0..most for which holds(d), which stays true once it is; None when there is none.
    `claimed`: looked at first, since it is usually right."""
    if claimed and 0 < claimed <= most and holds(claimed) and not holds(claimed - 1):
        return claimed
    if holds(0):
        return 0
    if not holds(most):
        return None
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


NOTHING = Verdict(False, False, 0, 0, 0, 0, 0)


class Rule:
    """A limit. Subclasses give settle, left, fits, charge, untouched and give_back (`t` None: at some
    time before the next request)."""

    # Whether a refund that would change nothing now never will: what it names cannot come back.
    refund_can_be_late = False

    def __init__(self, count, period, burst=None, queue=0, undelayed=0, count_denied=False):
        self.count, self.period, self.burst = count, period, burst or 0
        self.queue, self.undelayed, self.count_denied = queue, undelayed, count_denied
        self.capacity = self.count + self.burst
        self.horizon = 4 * period

    # settle(state, t): the state after what a clock that went back does to it, and whether that is to
    # be kept even when nothing is charged.
    def settle(self, state, t):
        return state, False

    def delay(self, state, t, cost):
        return 0

    def report(self, state, t, cost, admitted, delay, claim):
        """The verdict for `state` (settled), in which an admitted cost is charged already."""
        left = self.left(state, t)
        never = not admitted and cost > self.capacity
        retry = next_after = 0
        if not admitted and not never:
            retry = least(lambda d: self.fits(state, t + d, cost), self.horizon, claim.retry)
        if left < self.capacity:
            next_after = least(lambda d: self.left(state, t + d) > left, self.horizon, claim.next)
        reset = least(lambda d: self.untouched(state, t + d), self.horizon, claim.reset)
        return Verdict(admitted, never, left, retry, reset, next_after, delay)

    def take(self, state, t, cost, claim=NOTHING):
        """(state to keep, verdict). A refusal charges nothing, and cost 0 changes nothing. `claim`: the
        verdict that was told; saves searching where its waits are right."""
        settled, moved = self.settle(state, t)
        if cost == 0:
            return state, self.report(settled, t, 0, True, 0, claim)
        if not self.fits(settled, t, cost):
            return (settled if moved else state), self.report(settled, t, cost, False, 0, claim)
        after = self.charge(settled, t, cost, moved)
        return after, self.report(after, t, cost, True, self.delay(settled, t, cost), claim)

    def take_denied(self, state, t, cost, claim=NOTHING):
        """A limit that counts refusals: what fits is charged, and the verdict is that after it."""
        left = self.left(self.settle(state, t)[0], t)
        after, _ = self.take(state, t, min(cost, left), claim)
        kept, again = self.take(after, t, cost, claim)
        if not again.admitted:
            after = kept
        now = self.take(after, t, 0, claim)[1]
        return after, now._replace(admitted=False, never=again.never, retry=again.retry)


class Windows(Rule):
    """What window algorithms share: the burst is a fixed window of its own. State: (base, burst)."""

    def base_settle(self, base, t):
        raise NotImplementedError

    def settle(self, state, t):
        base, burst = state if state else (None, None)
        base, base_moved = self.base_settle(base, t)
        burst, burst_moved = self.roll(burst, t) if self.burst else (None, False)
        return (base, burst), base_moved or burst_moved

    def roll(self, window, t):
        """A fixed window at t: (index, used), or None when nothing in it counts."""
        current = t // self.period
        if window is None or window[1] <= 0 or window[0] < current:
            return None, False
        if window[0] > current + 1:
            return (current, window[1]), True
        return window, False

    def burst_left(self, state, t):
        if not self.burst:
            return 0
        window = self.roll(state[1], t)[0]
        return max(0, self.burst - (window[1] if window else 0))

    def left(self, state, t):
        return self.base_left(state[0], t) + self.burst_left(state, t)

    def fits(self, state, t, cost):
        return cost <= self.left(state, t)

    def untouched(self, state, t):
        return not self.base_counts(state[0], t) and (not self.burst or self.roll(state[1], t)[0] is None)

    def charge(self, state, t, cost, moved):
        base = min(cost, self.base_left(state[0], t))
        burst = state[1]
        if cost > base:
            window = self.roll(burst, t)[0]
            burst = (window[0], window[1] + cost - base) if window else (t // self.period, cost - base)
        return (self.base_charge(state[0], t, base) if base else state[0], burst)


class FixedWindow(Windows):
    """base: (window, used)."""

    def base_settle(self, base, t):
        return self.roll(base, t)

    def base_left(self, base, t):
        window = self.roll(base, t)[0]
        return max(0, self.count - (window[1] if window else 0))

    def base_counts(self, base, t):
        return self.roll(base, t)[0] is not None

    def base_charge(self, base, t, units):
        window = self.roll(base, t)[0]
        return (window[0], window[1] + units) if window else (t // self.period, units)

    def give_back(self, state, charged_at, cost, t):
        known = self.settle(state, t)[0] if state and t is not None else state
        if not known or not known[0] or known[0][0] != charged_at // self.period:
            return state
        state = known
        return ((state[0][0], max(0, state[0][1] - cost)), state[1])


class SlidingWindowLog(Windows):
    """base: ((tick, units), ...), the oldest first."""

    refund_can_be_late = True

    def base_settle(self, base, t):
        if base and base[-1][0] - t > self.period:
            before = tuple(e for e in base if e[0] < t)
            return before + ((t, sum(units for tick, units in base if tick >= t)),), True
        return base, False

    def counting(self, base, t):
        if not base:
            return (), t
        decides = max(t, base[-1][0])
        return tuple(e for e in base if e[0] > decides - self.period), decides

    def base_left(self, base, t):
        return max(0, self.count - sum(units for _, units in self.counting(base, t)[0]))

    def base_counts(self, base, t):
        return bool(self.counting(base, t)[0])

    def base_charge(self, base, t, units):
        entries, decides = self.counting(base, t)
        if entries and entries[-1][0] == decides:
            return entries[:-1] + ((decides, entries[-1][1] + units),)
        return entries + ((decides, units),)

    def give_back(self, state, charged_at, cost, t):
        if not state or not state[0]:
            return state
        if t is not None and charged_at <= max(t, state[0][-1][0]) - self.period:
            return state
        entries = tuple((tick, units - min(cost, units)) if tick == charged_at else (tick, units)
                        for tick, units in state[0])
        return (tuple(e for e in entries if e[1] > 0) or None, state[1])


class SlidingWindowCounter(Windows):
    """base: (window, current, previous)."""

    def base_settle(self, base, t):
        real = t // self.period
        if base is None or base[0] < real - 1 or (base[1] == 0 and base[2] == 0):
            return None, False
        if base[0] == real - 1:
            return (real, 0, base[1]), False
        if base[0] <= real + 1:
            return base, False
        return (real, min(self.count, base[1] + base[2]), 0), True

    def at(self, base, t):
        return self.base_settle(base, t)[0] or (t // self.period, 0, 0)

    def base_left(self, base, t):
        index, current, previous = self.at(base, t)
        elapsed = max(0, t - index * self.period)  # one window back: no time has passed
        # estimate + n <= count, where estimate = previous * (period - elapsed) / period + current
        return max(0, ((self.count - current) * self.period - previous * (self.period - elapsed)) // self.period)

    def base_counts(self, base, t):
        _, current, previous = self.at(base, t)
        return current > 0 or previous > 0

    def base_charge(self, base, t, units):
        index, current, previous = self.at(base, t)
        return (index, current + units, previous)

    def give_back(self, state, charged_at, cost, t):
        known = self.settle(state, t)[0] if state and t is not None else state
        if not known or not known[0] or known[0][0] - charged_at // self.period not in (0, 1):
            return state
        state = known
        index, current, previous = state[0]
        back = index - charged_at // self.period
        if back == 0:
            current = max(0, current - cost)
        elif back == 1:
            previous = max(0, previous - cost)
        return ((index, current, previous), state[1])


class TokenBucket(Rule):
    """State: the time at which the bucket is full again, times count: one unit is `period` then."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.capacity = self.burst or self.count
        self.full = self.capacity * self.period
        self.horizon = self.full // self.count + 2

    def ahead(self, state, t):
        return max(0, (state or 0) - t * self.count)

    def settle(self, state, t):
        if self.ahead(state, t) > self.full:
            return t * self.count + self.full, True
        return state, False

    def left(self, state, t):
        return (self.full - self.ahead(state, t)) // self.period

    def fits(self, state, t, cost):
        return cost * self.period <= self.full - self.ahead(state, t)

    def untouched(self, state, t):
        return self.ahead(state, t) == 0

    def charge(self, state, t, cost, moved):
        return t * self.count + self.ahead(state, t) + cost * self.period

    def give_back(self, state, charged_at, cost, t):
        if state is None:
            return None
        if t is None:  # some time before the next request: a bucket that overflows is full by then
            return state - min(cost, self.capacity) * self.period
        state = self.settle(state, t)[0]
        if self.ahead(state, t) == 0:
            return state
        return max(t * self.count, state - min(cost, self.capacity) * self.period)


class LeakyBucket(Rule):
    """State: (the time the queue is empty, times count; tick of the latest admission; alone in it)."""

    refund_can_be_late = True

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.capacity = self.queue + 1
        self.longest_wait = self.queue * self.period
        self.full = self.longest_wait + self.capacity * self.period
        self.horizon = self.full // self.count + 2

    def ahead(self, state, t):
        return max(0, (state[0] if state else 0) - t * self.count)

    def settle(self, state, t):
        if self.ahead(state, t) > self.full:
            return (t * self.count + self.full, t, False), True
        return state, False

    def left(self, state, t):
        ahead = self.ahead(state, t)
        return (self.longest_wait - ahead) // self.period + 1 if ahead <= self.longest_wait else 0

    def fits(self, state, t, cost):
        return cost == 0 or (cost <= self.capacity and self.ahead(state, t) <= self.longest_wait)

    def untouched(self, state, t):
        return self.ahead(state, t) == 0

    def delay(self, state, t, cost):
        return -(-max(0, self.ahead(state, t) - self.undelayed * self.period) // self.count)

    def charge(self, state, t, cost, moved):
        alone = not moved and not (state and state[1] == t)
        return (t * self.count + self.ahead(state, t) + cost * self.period, t, alone)

    def give_back(self, state, charged_at, cost, t):
        if not state or not state[2] or state[1] != charged_at:
            return state
        if t is not None and (self.settle(state, t)[1] or self.ahead(state, t) == 0):
            return state
        empty = state[0] - min(cost, self.capacity) * self.period
        return (empty if t is None else max(t * self.count, empty), state[1], False)


KINDS = {"fixed_window": FixedWindow, "sliding_window_log": SlidingWindowLog, "token_bucket": TokenBucket,
         "sliding_window_counter": SlidingWindowCounter, "leaky_bucket": LeakyBucket}


def decide(rules, states, charges, t, peek, claims=None):
    """One request: all enforcing charges or none. `charges`: (limit, cost, shadow, only_check), each
    limit at most once. Returns (new states, verdicts); `states` is not changed."""
    claims = claims or [NOTHING] * len(charges)
    working, verdicts = dict(states), [None] * len(charges)
    admitted = True
    for i, (limit, cost, shadow, only_check) in enumerate(charges):
        if shadow:
            continue
        after, verdicts[i] = rules[limit].take(states.get(limit), t, cost, claims[i])
        admitted = admitted and verdicts[i].admitted
        if verdicts[i].admitted and not only_check:
            working[limit] = after
    if not admitted:
        working = dict(states)
    for i, (limit, cost, shadow, only_check) in enumerate(charges):
        rule, before = rules[limit], states.get(limit)
        takes = admitted and not only_check
        if shadow:
            after, verdicts[i] = rule.take(before, t, cost, claims[i])
            if verdicts[i].admitted and takes:
                working[limit] = after
        elif not admitted and rule.count_denied and not only_check:
            admits = verdicts[i].admitted
            working[limit], verdict = rule.take_denied(before, t, cost, claims[i])
            verdicts[i] = verdict._replace(admitted=admits)
            continue
        if not verdicts[i].admitted:
            working[limit] = rule.take(before, t, cost, claims[i])[0]
        elif not takes:
            verdicts[i] = rule.take(before, t, 0, claims[i])[1]
    return (states if peek else working), verdicts
