"""Private redis-servers for tests: a free port and a unix socket each, nothing saved, and a client of
a few lines for them. PENSTOCK_REDIS_SERVER names another server, for example Valkey's.
"""
import os
import pathlib
import signal
import socket
import tempfile

import harness

SERVER = os.environ.get("PENSTOCK_REDIS_SERVER", "redis-server")


class Refused(Exception):
    """An error that the server answered."""


class Connection:
    """Commands one after the other: call("GET", "k"). Answers are int, str, None or list."""

    def __init__(self, port, seconds=10):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=seconds)
        self.stream = self.socket.makefile("rb")

    def send(self, *words):
        out = [b"*%d\r\n" % len(words)]
        for word in words:
            octets = word if isinstance(word, bytes) else str(word).encode()
            out.append(b"$%d\r\n%s\r\n" % (len(octets), octets))
        self.socket.sendall(b"".join(out))

    def call(self, *words):
        self.send(*words)
        return self.answer()

    def answer(self):
        line = self.stream.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("closed")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise Refused(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            size = int(rest)
            return None if size < 0 else self.stream.read(size + 2)[:-2].decode("latin-1")
        if kind == b"*":
            return None if int(rest) < 0 else [self.answer() for _ in range(int(rest))]
        return rest.decode()

    def close(self):
        self.stream.close()
        self.socket.close()


class Redis:
    """One server. `environment`: more variables for it; `config`: lines of a configuration file."""

    def __init__(self, *options, port=None, environment=None, config=None, sentinel=False):
        self.program = harness.tool(SERVER)
        self.port = port or harness.free_port()
        self.options, self.environment, self.sentinel = list(options), environment or {}, sentinel
        self.config = config
        self.folder = tempfile.TemporaryDirectory(prefix="penstock-redis-")  # lives over restarts
        self.process = None
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self, wait=True):
        """Starts it, again after kill(): same port, no data."""
        words = [self.program]
        if self.process is not None:
            self.process.close()
        if self.config is not None:
            path = pathlib.Path(self.folder.name, "conf")
            if not path.exists():
                path.write_text(self.config)
            words.append(str(path))
        words += ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.folder.name]
        words += ["--sentinel"] if self.sentinel else ["--save", "", "--appendonly", "no"]
        self.process = harness.Process(words + self.options, "redis", env={**os.environ, **self.environment})
        if wait:
            harness.wait_for(self.answers, f"redis-server answers; it printed:\n{self.process.log}")

    def answers(self):
        try:
            connection = Connection(self.port)
            try:
                return connection.call("PING") == "PONG"
            except Refused as e:
                return str(e).startswith(("NOAUTH", "NOPERM"))
            finally:
                connection.close()
        except OSError:
            return False

    def call(self, *words):
        connection = Connection(self.port)
        try:
            return connection.call(*words)
        finally:
            connection.close()

    def info(self, field, section="everything"):
        for line in self.call("INFO", section).splitlines():
            if line.startswith(field + ":"):
                return line.split(":", 1)[1]
        raise KeyError(field)

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    def kill(self):
        self.process.child.kill()
        self.process.child.wait()

    def pause(self):
        self.process.child.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.child.send_signal(signal.SIGCONT)

    def close(self):
        if self.process is not None:
            if self.process.child.poll() is None:
                self.resume()
            self.process.close()
        self.folder.cleanup()

    def flush(self):
        self.call("FLUSHALL")


def follows(server):
    return server.info("master_link_status", "replication") == "up"


class Sentinels:
    """A master, a replica and three Sentinels that call it `main`."""

    def __init__(self, *options, environment=None):
        quick = ("--repl-diskless-sync-delay", "0", *options)
        self.servers, self.sentinels = [], []
        try:
            self.servers.append(Redis(*quick, environment=environment))
            self.servers.append(Redis(*quick, "--replicaof", f"127.0.0.1 {self.master.port}", environment=environment))
            harness.wait_for(lambda: follows(self.servers[1]), "the replica follows")
            config = (f"sentinel monitor main 127.0.0.1 {self.master.port} 2\n"
                      "sentinel down-after-milliseconds main 1000\nsentinel failover-timeout main 3000\n")
            for _ in range(3):
                self.sentinels.append(Redis(config=config, sentinel=True))
            harness.wait_for(lambda: all("slaves=1,sentinels=3" in s.info("master0", "sentinel") for s in self.sentinels),
                             "Sentinels know each other")
        except BaseException:
            self.close()
            raise

    @property
    def master(self):
        return self.servers[0]

    @property
    def replica(self):
        return self.servers[1]

    @property
    def url(self):
        return "redis+sentinel://" + ",".join(f"127.0.0.1:{s.port}" for s in self.sentinels) + "/main"

    def flush(self):
        self.master.flush()

    def close(self):
        for server in self.sentinels + self.servers:
            server.close()


class Cluster:
    """Three masters (0 to 2) with a replica each (3 to 5)."""

    def __init__(self, *options):
        self.servers = []
        try:
            self.build(options)
        except BaseException:
            self.close()
            raise

    def build(self, options):
        buses = []
        for _ in range(6):
            buses.append(harness.free_port())
            self.servers.append(Redis("--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-port",
                                      str(buses[-1]), "--cluster-require-full-coverage", "no",
                                      "--repl-diskless-sync-delay", "0", *options))
        self.ids = [s.call("CLUSTER", "MYID") for s in self.servers]
        edges = [0, 5461, 10923, 16384]
        for i in range(3):
            self.servers[i].call("CLUSTER", "ADDSLOTSRANGE", edges[i], edges[i + 1] - 1)
            self.servers[i].call("CLUSTER", "SET-CONFIG-EPOCH", i + 1)
        for i in range(1, 6):
            self.servers[0].call("CLUSTER", "MEET", "127.0.0.1", self.servers[i].port, buses[i])
        harness.wait_for(lambda: all("cluster_known_nodes:6" in s.call("CLUSTER", "INFO") for s in self.servers), "nodes meet")
        for i in range(3, 6):
            harness.wait_for(lambda: self.replicate(i), "replicas know their masters")
        harness.wait_for(lambda: self.whole() and all(follows(s) for s in self.servers[3:]), "the cluster is whole")

    def replicate(self, i):
        try:
            return self.servers[i].call("CLUSTER", "REPLICATE", self.ids[i - 3]) == "OK"
        except Refused:
            return False

    def whole(self):
        """Every living node sees every slot served."""
        living = [s for s in self.servers if s.process.child.poll() is None]
        return all("cluster_state:ok" in info and "cluster_slots_ok:16384" in info
                   for info in (s.call("CLUSTER", "INFO") for s in living))

    @property
    def url(self):
        return "redis+cluster://" + ",".join(f"127.0.0.1:{s.port}" for s in self.servers[:2])

    def flush(self):
        for server in self.servers[:3]:
            server.flush()

    def close(self):
        for server in self.servers:
            server.close()
