"""A Redis that is there and does not serve: F15 to F17."""
import os
import shutil
import threading

import harness
import pytest
from fault_proxy import FaultProxy
from gateways import SECONDS, Gateway, policy, trouble
from redis_peers import Connection, Redis, Refused
from report import record


def on(started, upstream, *options, failure="deny"):
    redis = started(Redis(*options))
    gateway = started(Gateway(policy(redis.url, failure), upstream))
    gateway.wait_until_up()
    return redis, gateway


# No memory for a new counter is no permission to pass, and no refusal either.
@pytest.mark.parametrize("failure, status", [("deny", 503), ("allow", 200)])
def test_f15_out_of_memory(started, upstream, failure, status):
    redis, gateway = on(started, upstream, failure=failure)
    seen = trouble(started, gateway, lambda: redis.call("CONFIG", "SET", "maxmemory", 1),
                   lambda: redis.call("CONFIG", "SET", "maxmemory", 0))
    seen.record_usual("F15", f"OOM with noeviction, {failure}", [200, status], back=2)
    counted = gateway.metric("penstock_store_errors_total")
    record("F15", f"OOM with noeviction, {failure}", "counted as store failures", f"{counted:.0f}", counted > 0)


def test_f15_eviction_policy(started, upstream):
    _, gateway = on(started, upstream, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
    harness.wait_for(lambda: "maxmemory_policy may drop counters" in gateway.process.log, "the remark at start")
    record("F15", "allkeys-lru with a bound", "a remark in the log at start", "yes", True)


SECRET = "s3cret-7f1b"


def test_f16_wrong_password(started, upstream):
    redis = started(Redis("--requirepass", SECRET + "-right"))
    gateway = started(Gateway(policy(f"redis://:{SECRET}@127.0.0.1:{redis.port}"), upstream))

    def right():
        redis_call(redis, SECRET + "-right", "CONFIG", "SET", "requirepass", SECRET)
    seen = trouble(started, gateway, lambda: None, right)
    answers = seen.statuses(seen.during)
    record("F16", "wrong password", "answers by policy", answers, answers == [503])
    record("F16", "wrong password", "the secret is in no line of log", SECRET in gateway.process.log,
           SECRET not in gateway.process.log)
    lines = gateway.process.log.count("WRONGPASS")
    record("F16", "wrong password", "told once", lines, lines == 1)
    record("F16", "the password becomes right", "served within 2 s", f"{seen.back():.2f} s", seen.back() <= 2)


def redis_call(redis, password, *words):
    connection = Connection(redis.port)
    connection.call("AUTH", password)
    answer = connection.call(*words)
    connection.close()
    return answer


def test_f16_rights_taken_away_and_rotation(started, upstream):
    redis = started(Redis())
    redis.call("ACL", "SETUSER", "limiter", "on", ">old", "~penstock:*", "+@all")
    url = f"redis://limiter:{{}}@127.0.0.1:{redis.port}"
    first = started(Gateway(policy(url.format("old")), upstream))
    first.wait_until_up()
    seen = trouble(started, first, lambda: redis.call("ACL", "SETUSER", "limiter", "-evalsha", "-eval"),
                   lambda: redis.call("ACL", "SETUSER", "limiter", "+evalsha", "+eval"))
    seen.record_usual("F16", "NOPERM for scripts", [200, 503], back=2)

    def rotate():
        # Two passwords are valid while the instances are restarted one by one.
        redis.call("ACL", "SETUSER", "limiter", ">new")
        second = started(Gateway(policy(url.format("new")), upstream))
        second.wait_until_up()
        redis.call("ACL", "SETUSER", "limiter", "<old")
    seen = trouble(started, first, rotate, lambda: None)
    refused = sum(s.status != 200 for s in seen.seen)
    record("F16", "rotation: a second password, then the first removed", "the instance that still has the first loses nothing",
           f"{refused} of {len(seen.seen)}", refused == 0)


def test_f17_busy_script(started, upstream):
    redis, gateway = on(started, upstream, "--busy-reply-threshold", "100")

    def run():
        with pytest.raises(Refused):
            redis.call("EVAL", "while true do end", 0)
    seen = trouble(started, gateway, threading.Thread(target=run).start, lambda: redis.call("SCRIPT", "KILL"))
    seen.record_usual("F17", "BUSY: a script that does not end", [200, 503], back=2)


def test_f17_loading(started, upstream):
    redis, gateway = on(started, upstream)
    redis.call("EVAL", "for i = 1, ARGV[1] do redis.call('SET', 'other:' .. i, i) end", 0, 20_000)
    redis.call("SAVE")

    def begin():
        redis.kill()
        redis.options += ["--dbfilename", "dump.rdb", "--key-load-delay", str(SECONDS * 50)]
        redis.start(wait=False)
        harness.wait_for(lambda: says(redis, "LOADING"), "Redis says that it is loading")
    def end():
        harness.wait_for(lambda: not says(redis, "LOADING"), "loaded", 60)
    seen = trouble(started, gateway, begin, end, seconds=0.1)
    seen.record_usual("F17", "LOADING a dump", [200, 503], back=2)
    refused = sum(s.status == 503 for s in seen.during)
    record("F17", "LOADING a dump", "policy while it lasts", refused, refused > 0)


def says(redis, word):
    try:
        redis.call("GET", "x")
    except Refused as e:
        return str(e).startswith(word)
    except OSError:
        return True
    return False


def test_f17_master_down(started, upstream):
    master = started(Redis("--repl-diskless-sync-delay", "0"))
    replica = started(Redis("--replicaof", f"127.0.0.1 {master.port}", "--replica-serve-stale-data", "no"))
    harness.wait_for(lambda: replica.info("master_link_status", "replication") == "up", "the replica follows")
    master.kill()
    harness.wait_for(lambda: says(replica, "MASTERDOWN"), "the replica says that its master is down")
    gateway = started(Gateway(policy(replica.url), upstream))
    seen = trouble(started, gateway, lambda: None, lambda: replica.call("REPLICAOF", "NO", "ONE"))
    answers = seen.statuses(seen.during)
    record("F17", "MASTERDOWN: a replica without its master", "answers by policy", answers, answers == [503])
    record("F17", "it becomes a master", "served within 2 s", f"{seen.back():.2f} s", seen.back() <= 2)


def test_f17_cannot_save(started, upstream):
    redis, gateway = on(started, upstream, "--enable-protected-configs", "yes")

    def begin():
        redis.call("CONFIG", "SET", "save", "3600 1")
        shutil.rmtree(redis.folder.name)  # where the dump would go
        redis.call("SET", "other", 1)
        redis.call("BGSAVE")
        harness.wait_for(lambda: misconf(redis), "Redis refuses to write")

    def end():
        os.makedirs(redis.folder.name)
        redis.call("CONFIG", "SET", "dir", redis.folder.name)
        redis.call("CONFIG", "SET", "save", "")
    seen = trouble(started, gateway, begin, end)
    seen.record_usual("F17", "MISCONF: a dump that cannot be written", [200, 503], back=2)
    refused = sum(s.status == 503 for s in seen.during)
    record("F17", "MISCONF: a dump that cannot be written", "policy while it lasts", refused, refused > 0)


def misconf(redis):
    try:
        redis.call("SET", "other", 1)
    except Refused as e:
        return str(e).startswith("MISCONF")
    return False


def test_f17_no_room_for_clients(started, upstream):
    redis = started(Redis())
    proxy = started(FaultProxy(redis.port))
    gateway = started(Gateway(policy(proxy.url), upstream, "--workers", "1"))
    gateway.wait_until_up()
    others = []

    def begin():
        redis.call("CONFIG", "SET", "maxclients", 12)
        redis.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        for _ in range(40):
            try:
                others.append(Connection(redis.port))
                others[-1].call("PING")
            except (OSError, Refused):
                pass
        begin.accepted = proxy.accepted

    def end():
        begin.accepted = proxy.accepted - begin.accepted
        for c in others:
            c.close()
    seen = trouble(started, gateway, begin, end)
    seen.record_usual("F17", "no room for clients", [200, 503], back=2)
    took = seen.over - seen.begun
    record("F17", "no room for clients", "<= 5 connects a second per loop", f"{begin.accepted} in {took:.0f} s",
           begin.accepted <= 5 * took + 3)
