"""Faults of several Redis servers that belong together: Sentinel (F10 to F12) and Cluster (F13, F14)."""
import pathlib
import threading

import harness
import private_network
from gateways import PATHS, SECONDS, Gateway, KINDS, limit_of, path_of, policy, trouble
from redis_peers import Cluster, Sentinels
from report import record

BUDGET = 100
ONE_BUDGET = [f"{{ name: budget, key: global, algorithm: sliding_window_log, rate: {BUDGET}/30d }}"]


def spend(client, most):
    """Asks until refused, at most `most` times: how many passed."""
    passed = 0
    for _ in range(most):
        status = client.send().status
        if status == 429:
            break
        passed += status == 200
    return passed


# The master is lost with what it had not told its replica: one budget more at most.
def test_f10_failover(started, upstream):
    peers = started(Sentinels())
    gateway = started(Gateway(policy(peers.url), upstream))
    gateway.wait_until_up()
    seen = trouble(started, gateway, peers.master.kill, lambda: None, seconds=1)
    seen.record_usual("F10", "SIGKILL of the master, 3 Sentinels", [200, 503], back=5)
    policy_only = [s.due for s in seen.seen if s.status == 503]
    took = max(policy_only) - min(policy_only) if policy_only else 0
    record("F10", "SIGKILL of the master, down-after 1 s", "answers by policy <= 3 s (5 on a busy machine)",
           f"{took:.1f} s", took <= 5)


def test_f10_no_more_than_two_budgets(started, upstream):
    peers = started(Sentinels())
    gateway = started(Gateway(policy(peers.url, deadline="2s", limits=ONE_BUDGET), upstream))
    gateway.wait_until_up()
    client = started(harness.Client(gateway.port))
    before = spend(client, BUDGET * 6 // 10)
    peers.master.kill()
    harness.wait_for(lambda: gateway.metric("penstock_store_up") == 0, "the loss is seen")
    gateway.wait_until_up(30)
    after = spend(client, 10 * BUDGET)
    record("F10", f"failover after {before} of {BUDGET}", f"<= {2 * BUDGET} in any window",
           f"{before + after}, so {before + after - BUDGET} lost", before + after <= 2 * BUDGET)


# Sentinels are needed to find a master, not to use it.
def test_f11_no_sentinel_left(started, upstream):
    peers = started(Sentinels())
    gateway = started(Gateway(policy(peers.url, deadline="2s"), upstream))
    gateway.wait_until_up()

    def begin():
        for s in peers.sentinels:
            s.kill()
    seen = trouble(started, gateway, begin, lambda: None)
    seen.record_usual("F11", "SIGKILL of all Sentinels", [200])
    peers.master.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    client = started(harness.Client(gateway.port))
    harness.wait_for(lambda: client.send(path="/p0").status == 200, "the last known master is used again")
    record("F11", "and the connections to the master cut", "the last known master is used", "yes", True)


def partition(started, min_replicas):
    """The old master and gateway A on one side, all others and gateway B on the other."""
    upstream = started(harness.Upstream())
    peers = started(Sentinels())
    if min_replicas:  # not on the replica: it will have none of its own when it is the master
        peers.master.call("CONFIG", "SET", "min-replicas-to-write", 1, "min-replicas-max-lag", 1)
    ports = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")
    usual = ports.read_text()
    ports.write_text("20000 20999")  # what gateway A connects from: that is how its packets are known
    a = started(Gateway(policy(peers.url, deadline="300ms", limits=ONE_BUDGET), upstream, "--workers", "1"))
    a.wait_until_up()
    ports.write_text(usual)
    b = started(Gateway(policy(peers.url, deadline="300ms", limits=ONE_BUDGET), upstream, "--workers", "1"))
    b.wait_until_up()
    clients = [started(harness.Client(g.port)) for g in (a, b)]
    before = spend(clients[0], 20) + spend(clients[1], 20)
    old = peers.master.port
    private_network.drop(f"tcp dport {old} tcp sport != 20000-20999", f"tcp sport {old} tcp dport != 20000-20999",
                         *(f"tcp sport 20000-20999 tcp dport {s.port}" for s in peers.sentinels + [peers.replica]))
    harness.wait_for(lambda: peers.replica.info("role", "replication") == "master", "the replica is promoted", 60)
    harness.wait_for(lambda: clients[1].send().status in (200, 429), "the majority's gateway follows", 30)
    return peers, clients, before


# Two masters at once are two budgets at once, and no more.
def test_f12_isolated_master(started):
    @private_network.inside
    def run():
        peers, (a, b), before = partition(started, min_replicas=False)
        minority, majority = spend(a, 3 * BUDGET), spend(b, 3 * BUDGET)
        total = before + minority + majority
        record("F12", "old master isolated with one of two gateways", f"<= {2 * BUDGET} in any window",
               f"{before} + {minority} + {majority}", total <= 2 * BUDGET + 1)
        private_network.drop()
        harness.wait_for(lambda: peers.master.info("role", "replication") == "slave", "the old master is demoted", 60)
        harness.wait_for(lambda: a.send().status == 429, "the minority's gateway counts with the others again", 30)
        record("F12", "the network is whole again", "both gateways share one count", "yes", True)
    run()


def test_f12_min_replicas(started):
    @private_network.inside
    def run():
        peers, (a, b), before = partition(started, min_replicas=True)
        # The old master has noticed that its replica is gone; the promotion took longer than a second.
        harness.wait_for(lambda: a.send().status == 503, "the isolated master refuses to write", 30)
        answers = {a.send().status for _ in range(20)}
        record("F12", "with min-replicas-to-write 1, max-lag 1", "the minority goes to policy", sorted(answers), answers == {503})
        majority = spend(b, 3 * BUDGET)
        record("F12", "with min-replicas-to-write 1, max-lag 1", "the majority goes on", f"{majority} more pass", majority > 0)
    run()


def cluster_policy(url, deadline="50ms"):
    return policy(url, deadline=deadline, limits=[
        f"{{ name: p{n}, match: {{ path: /p{n} }}, key: header(X-Id), algorithm: {KINDS[n % 4]}, rate: {limit_of(n)}/30d }}"
        for n in range(PATHS)])


def many(n):
    return {"X-Id": f"user-{n % 61}"}


def slot_of(key):
    tag = key[key.index("{") + 1:key.index("}")]
    crc = 0
    for octet in tag.encode():
        crc ^= octet << 8
        for _ in range(8):
            crc = (crc << 1) ^ (0x1021 if crc & 0x8000 else 0)
    return (crc & 0xffff) % 16384


def move_slot(cluster, slot, source, target):
    source_node, target_node = cluster.servers[source], cluster.servers[target]
    target_node.call("CLUSTER", "SETSLOT", slot, "IMPORTING", cluster.ids[source])
    source_node.call("CLUSTER", "SETSLOT", slot, "MIGRATING", cluster.ids[target])
    while keys := source_node.call("CLUSTER", "GETKEYSINSLOT", slot, 10):
        for key in keys:
            source_node.call("MIGRATE", "127.0.0.1", target_node.port, key, 0, 5000)
    for node in (target_node, source_node):
        node.call("CLUSTER", "SETSLOT", slot, "NODE", cluster.ids[target])


# A cluster that is made larger must cost neither requests nor counts.
def test_f13_moving_slots(started, upstream):
    cluster = started(Cluster())
    gateway = started(Gateway(cluster_policy(cluster.url, "2s"), upstream))
    gateway.wait_until_up()
    client = started(harness.Client(gateway.port))
    for n in range(20):  # every node has been reached; the limit of /p1 is not counted below
        harness.wait_for(lambda: client.send(path="/p1", headers={"X-Id": f"first-{n}"}).status == 200, "all nodes serve")
    for n in range(61 * PATHS):
        assert client.send(path=path_of(n), headers=many(n)).status == 200
    used = sorted({slot_of(k) for k in cluster.servers[0].call("KEYS", "*")})
    moved = []

    def move():
        # Every slot with counters, and empty ones up to 500 * SCALE.
        empty = [s for s in range(5461) if s not in used][:max(0, 500 * harness.SCALE - len(used))]
        for slot in used + empty:
            move_slot(cluster, slot, 0, 1)
            moved.append(slot)
    mover = threading.Thread(target=move)
    seen = trouble(started, gateway, mover.start, mover.join, headers=many, seconds=1)
    seen.record_usual("F13", f"{len(moved)} slots moved, {len(used)} with counters", [200])
    counted = sum(1 for s in seen.seen if s.status == 200) + 61 * PATHS
    told = {}
    for n in range(61 * PATHS):
        headers = client.send(path=path_of(n), headers=many(n)).headers
        told[path_of(n), n % 61] = int(headers["x-ratelimit-limit"]) - int(headers["x-ratelimit-remaining"]) - 1
    kinds = [n for n in range(PATHS) if KINDS[n % 4] != "token_bucket"]
    exact = sum(v for (path, _), v in told.items() if int(path[2:]) in kinds)
    sent = sum(1 for n in range(len(seen.seen)) if n % PATHS in kinds) + 61 * len(kinds)
    record("F13", "slots moved under load", "every request counted once", f"{exact} of {sent}", exact == sent and counted > 0)


# Losing one master takes its slots away until its replica stands in, and no others.
def test_f14_lost_master(started, upstream):
    cluster = started(Cluster())
    gateway = started(Gateway(cluster_policy(cluster.url), upstream))
    gateway.wait_until_up()
    lost = cluster.servers[0]
    seen = trouble(started, gateway, lost.kill, lambda: None, headers=many, seconds=2 * SECONDS)
    seen.record_usual("F14", "SIGKILL of one of three masters", [200, 503])
    ours = [n for n in range(61) if slot_of(f"{{{n}}}") >= 0]
    by_key = {n: [s for i, s in enumerate(seen.seen) if i % 61 == n] for n in ours}
    hit = {n for n, answers in by_key.items() if sum(s.status == 503 for s in answers) >= 2}
    record("F14", "SIGKILL of one of three masters", "about a third of the keys is hit", f"{len(hit)} of 61", 5 <= len(hit) <= 40)
    failed = [s.due for n in hit for s in by_key[n] if s.status == 503]
    took = max(failed) - seen.begun if failed else 0
    record("F14", "the slots of that master", "back within 5 s (7 on a busy machine)", f"{took:.1f} s", took <= 7)
    others = sum(s.status == 503 for n in by_key if n not in hit for s in by_key[n])
    total = sum(len(by_key[n]) for n in by_key if n not in hit)
    record("F14", "the other slots", "no answers by policy", f"{others} of {total}", others <= total * 0.01)
    lost.start()
    harness.wait_for(lambda: "slave" in lost.info("role", "replication"), "the node is back as a replica", 60)
    record("F14", "that node starts again", "as a replica", "yes", True)
