"""Everything at once: F40, random faults of Redis and of the way to it, with pauses between them."""
import os
import random
import signal

import harness
import open_loop
from fault_proxy import FaultProxy
from gateways import Gateway, path_of, policy
from redis_peers import Redis
from report import record

SEED = int(os.environ.get("PENSTOCK_SEED", "1"))
BUDGET = 60


# Each fault alone is survived above. Together they meet states that nobody thought of; what must hold
# is the same: everything is answered, no budget is granted more often than counts were lost, no key
# stays for ever, and in the end all is well.
def test_f40_everything_at_once(started, upstream):
    pick = random.Random(SEED)
    redis = started(Redis())
    proxy = started(FaultProxy(redis.port))
    lines = [f"{{ name: budget, match: {{ path: {path_of(n)} }}, key: route, algorithm: {a}, rate: {BUDGET}/30d }}".replace(
        "name: budget", f"name: budget{n}") for n, a in enumerate(["sliding_window_log", "token_bucket", "fixed_window",
                                                                    "sliding_window_counter"])]
    gateway = started(Gateway(policy(proxy.url, limits=lines), upstream))
    gateway.wait_until_up()
    losses = 0

    def set_proxy(**values):
        for name, value in values.items():
            setattr(proxy, name, value)

    def restart():
        nonlocal losses
        redis.kill()
        pause()
        redis.start()
        losses += 1

    def stop():
        redis.pause()
        pause()
        redis.resume()

    def reload():
        gateway.process.child.send_signal(signal.SIGHUP)

    def for_a_while(**values):
        before = {name: getattr(proxy, name) for name in values}
        set_proxy(**values)
        pause()
        set_proxy(**before)

    def oom():
        redis.call("CONFIG", "SET", "maxmemory", 1)
        pause()
        redis.call("CONFIG", "SET", "maxmemory", 0)

    def pause():
        until = load.now() + pick.uniform(0.05, 0.8)
        harness.wait_for(lambda: load.now() > until, "a pause")

    faults = {"restart": restart, "stop": stop, "reload": reload, "out of memory": oom,
              "script flush": lambda: redis.call("SCRIPT", "FLUSH"),
              "clients killed": lambda: redis.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"),
              "late": lambda: for_a_while(delay=0.2), "silent": lambda: for_a_while(silent=True),
              "refused": lambda: for_a_while(refuse=True),
              "cut": lambda: set_proxy(cut_after=pick.randrange(200)),
              "garbage": lambda: set_proxy(replace=pick.randbytes(pick.randrange(1, 60)))}
    load = started(open_loop.OpenLoop(gateway.port, rate=200, path=path_of)).start()
    done = []
    while load.now() < 15 * harness.SCALE:
        name = pick.choice(sorted(faults))
        faults[name]()
        done.append(name)
        pause()
    set_proxy(cut_after=None, replace=None)
    over = load.now()
    gateway.wait_until_up(30)
    back = load.now() - over
    settled = load.now() + 0.5
    harness.wait_for(lambda: load.now() > settled + 1, "a quiet second")
    seen = load.stop()
    what = f"{len(done)} random faults, seed {SEED}"
    statuses = sorted({s.status for s in seen})
    record("F40", what, "every request answered", f"{len(seen)}: {statuses}", set(statuses) <= {200, 429, 503})
    most = 0
    for n in range(len(lines)):
        by_store = sum(1 for i, s in enumerate(seen) if i % 8 == n and s.status == 200)
        most = max(most, by_store)
    record("F40", what, f"admitted <= {BUDGET} * (1 + {losses} losses)", most, most <= BUDGET * (1 + losses))
    record("F40", what, "back within 5 s", f"{back:.2f} s", back <= 5)
    last = [s.status for s in seen if s.due > settled]
    record("F40", what, "then no answer by policy", f"{last.count(503)} of {len(last)}", last.count(503) <= len(last) * 0.1)
    keys = [k for k in redis.call("KEYS", "*") if redis.call("PTTL", k) < 0]
    record("F40", what, "every key of Redis has an end", keys or "yes", not keys)
