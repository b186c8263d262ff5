"""Top keys of several gateways that share a Redis: one list, and what is left of it without Redis."""
import json
import time
import urllib.request

import harness
import pytest
from test_shared_store import rights
from redis_peers import Cluster, Redis

BOARD = "penstock:1:{offenders}"
POLICY = """version: 1
store: {{ url: "{url}", deadline: 2s, on_store_failure: local }}
limits:
  - {{ name: all, key: address, rate: 1/30d }}
"""


class Gateway:
    def __init__(self, serve, client, url):
        self.serve, self.client = serve(POLICY.format(url=url), "--admin", "127.0.0.1:0", "--workers", "2"), client
        self.admin = self.serve.wait_for_line(r"admin listening on (?:http://)?(\S+)").group(1)

    def refusals_of(self, source, n):
        c = self.client(self.serve.port, source)
        refused = 0
        while refused < n:
            refused += c.send().status == 429

    def offenders(self):
        with urllib.request.urlopen(f"http://{self.admin}/api/v1/offenders?by=refusals&window=1h", timeout=30) as answer:
            report = json.load(answer)
        keys = {k["key"].removeprefix("address:"): (k["at_least"], k["at_most"]) for k in report["top"]}
        return report["instances"], report["whole"], report["total"], keys


# An attack that is spread over replicas shows at each of them with its whole weight, under exactly
# the rights that the guide gives; without Redis each still tells its own part, and says so.
@pytest.mark.parametrize("kind", ["standalone", "cluster"])
def test_the_list_is_the_sum_of_all_instances(started, serve, client, kind):
    peers = started({"standalone": Redis, "cluster": Cluster}[kind]())
    servers = peers.servers if kind == "cluster" else [peers]
    for server in servers:
        server.call("ACL", "SETUSER", "penstock", *rights(kind))
        server.call("ACL", "LOG", "RESET")
    a, b = (Gateway(serve, client, peers.url.replace("://", "://penstock:secret@", 1)) for _ in range(2))
    a.refusals_of("127.0.0.2", 5)
    a.refusals_of("127.0.0.3", 3)
    b.refusals_of("127.0.0.2", 7)
    b.refusals_of("127.0.0.4", 2)
    total = {"127.0.0.2": (12, 12), "127.0.0.3": (3, 3), "127.0.0.4": (2, 2)}
    for gateway in (a, b):
        harness.wait_for(lambda g=gateway: g.offenders() == (2, True, 17, total), f"the sum, not {gateway.offenders()}", 60)
    for server in servers:
        assert server.call("ACL", "LOG") == [], "a command was refused"
        server.kill()
    own = {"127.0.0.2": (5, 5), "127.0.0.3": (3, 3)}
    harness.wait_for(lambda: a.offenders() == (1, False, 8, own), "own figures only")


# The hash is another's to write as well: what is no notice is said, costs nothing and is taken down.
def test_hostile_notices_are_left_out(started, serve, client):
    redis = started(Redis())
    a = Gateway(serve, client, redis.url)
    a.refusals_of("127.0.0.2", 5)
    own = {"127.0.0.2": (5, 5)}
    assert a.offenders() == (1, True, 5, own)
    now = int(time.time())
    for i in range(300):  # 9 MiB: an answer with all of them would be more than a connection takes
        redis.call("HSET", BOARD, f"{now}-{i:x}", "x" * 30_000)
    redis.call("HSET", BOARD, "garbage", "x" * 3_000_000, "9" * 400 + "-a", "x", f"{now}-", "")
    assert a.offenders() == (1, False, 5, own)
    assert client(a.serve.port, "127.0.0.9").send().status == 200, "the store still serves"
    redis.call("DEL", BOARD)
    redis.call("SET", BOARD, "not a hash")
    assert a.offenders() == (1, False, 5, own)
    redis.call("DEL", BOARD)
    redis.call("HSET", BOARD, "garbage", "x", f"{now - 1000}-b", "x")
    harness.wait_for(lambda: "garbage" not in redis.call("HKEYS", BOARD), "the board is tidied", 60)
    fields = redis.call("HKEYS", BOARD)
    assert len(fields) == 1 and redis.call("HGET", BOARD, fields[0]).startswith("penstock-offenders 1\n")
    assert 0 < redis.call("PTTL", BOARD) <= 900_000
    assert "does not answer" not in a.serve.log


# Figures for people must not stop the counting: a user of an older guide has no right to the board.
def test_without_the_right_to_it_only_the_list_is_poorer(started, serve, client):
    redis = started(Redis())
    lesser = [w for w in rights("standalone") if not w.startswith("+h")]
    redis.call("ACL", "SETUSER", "penstock", *lesser)
    a = Gateway(serve, client, redis.url.replace("://", "://penstock:secret@", 1))
    a.refusals_of("127.0.0.2", 5)
    for _ in range(30):  # more than a breaker takes
        assert a.offenders() == (1, False, 5, {"127.0.0.2": (5, 5)})
    assert client(a.serve.port, "127.0.0.9").send().status == 200
    assert "does not answer" not in a.serve.log
