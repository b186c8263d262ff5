#!/usr/bin/env python3
"""Figures of the Redis store, beside redis-benchmark with the same script in the same run.

Usage: bench/redis.py PATH_OF_redis_load. Starts its own redis-server on a unix socket. Interleaved
rounds, medians. CPU of Redis is its own user and system time per call, sockets included.
"""
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ALGORITHMS = ["token_bucket", "fixed_window", "sliding_window_counter", "leaky_bucket",
              "sliding_window_log", "four"]
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
SECONDS = os.environ.get("BENCH_SECONDS", "2")


class Redis:
    def __init__(self, folder):
        self.socket = folder + "/s"
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.socket, "--save", "", "--dir", folder],
            stdout=subprocess.DEVNULL)
        while not os.path.exists(self.socket):
            time.sleep(0.01)

    def call(self, *words, data=None):
        extra = ["-x"] if data is not None else []
        return subprocess.run(["redis-cli", "-s", self.socket, *extra, *words], check=True,
                              input=data, capture_output=True).stdout.decode(errors="replace").strip()

    def used_memory(self):
        return int(next(line.split(":")[1] for line in self.call("INFO", "memory").splitlines()
                        if line.startswith("used_memory:")))

    def cpu_us(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * 1e6 / os.sysconf("SC_CLK_TCK")


def memory_of_clients(redis, sha, args, clients):
    """Octets of Redis for each of `clients` addresses that asked once, everything included."""
    redis.call("FLUSHALL")
    before = redis.used_memory()
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(redis.socket)
        answers = s.makefile("rb")
        for first in range(0, clients, 1000):
            out = []
            for n in range(first, min(first + 1000, clients)):
                key = b"penstock:1:{address:%d.%d.%d.%d}:client" % (10 + (n >> 24), n >> 16 & 255, n >> 8 & 255, n & 255)
                out.append(b"*5\r\n$7\r\nEVALSHA\r\n$40\r\n%s\r\n$1\r\n1\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n"
                           % (sha.encode(), len(key), key, len(args), args))
            s.sendall(b"".join(out))
            for _ in out:
                fields = int(answers.readline()[1:])
                for _ in range(fields):
                    answers.readline()
    return (redis.used_memory() - before) / clients


def benchmark(redis, sha, keys, args, clients, pipeline, requests):
    """redis-benchmark with the same script: calls per second."""
    words = ["redis-benchmark", "-s", redis.socket, "-c", str(clients), "-P", str(pipeline), "-n",
             str(requests), "-r", "1000", "--csv", "-x", "EVALSHA", sha, str(len(keys)), *keys]
    while True:
        done = subprocess.run(words, input=args, capture_output=True)
        if done.returncode == 0:
            break
        # At the very end it may find its clients gone before it looks at the count.
        if b"All clients disconnected" not in done.stderr:
            sys.exit("redis-benchmark: " + done.stderr.decode()[:300])
    out = done.stdout.decode()
    return float(out.strip().splitlines()[-1].split('","')[1].strip('"'))


def load(binary, redis, algorithm, in_flight, rate=None):
    words = [binary, "check", "unix://" + redis.socket, algorithm, str(in_flight), SECONDS]
    before = redis.cpu_us()
    out = json.loads(subprocess.run(words + ([str(rate)] if rate else []), check=True,
                                    capture_output=True).stdout)
    out["redis_us"] = (redis.cpu_us() - before) / (out["checks_per_s"] * (float(SECONDS) + 0.3))
    return out


def median(rows, field):
    return statistics.median(r[field] for r in rows)


def main(binary):
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        redis = Redis(folder)
        try:
            print(f"{'algorithm':24}{'ours/s':>9}{'bench/s':>9}{'ratio':>7}{'client us':>11}"
                  f"{'redis us':>10}{'bytes/key':>11}")
            for algorithm in ALGORITHMS:
                args_file = folder + "/args"
                script = subprocess.run([binary, "words", algorithm, args_file], check=True,
                                        capture_output=True).stdout
                args = pathlib.Path(args_file).read_bytes()
                # redis-benchmark cuts arguments at a NUL: it sends a text of the same length, and the
                # script has the real ones built in.
                literal = b'"' + b"".join(b"\\%03d" % octet for octet in args) + b'"'
                sha = redis.call("SCRIPT", "LOAD", data=script.replace(b"local args = ARGV[1]", b"local args = " + literal))
                args = b"x" * len(args)
                names = ["a", "b", "c", "d"] if algorithm == "four" else ["a"]
                keys = ["penstock:1:{user:__rand_int__}:" + n for n in names]
                ours, theirs = [], []
                for _ in range(ROUNDS):
                    redis.call("FLUSHALL")
                    ours.append(load(binary, redis, algorithm, 64))
                    theirs.append(benchmark(redis, sha, keys, args, 1, 64, 100000))
                redis.call("FLUSHALL")
                load(binary, redis, algorithm, 64)
                count = int(redis.call("DBSIZE"))
                name = redis.call("RANDOMKEY")
                size = int(redis.call("MEMORY", "USAGE", name))
                rate = median(ours, "checks_per_s")
                print(f"{algorithm:24}{rate:9.0f}{statistics.median(theirs):9.0f}"
                      f"{rate / statistics.median(theirs):7.2f}{median(ours, 'cpu_us'):11.2f}"
                      f"{median(ours, 'redis_us'):10.1f}{size:11d}   ({count} keys)")
            clients = int(os.environ.get("BENCH_CLIENTS", "200000"))
            for algorithm in ALGORITHMS[:-1]:
                args_file = folder + "/args"
                script = subprocess.run([binary, "words", algorithm, args_file], check=True, capture_output=True).stdout
                each = memory_of_clients(redis, redis.call("SCRIPT", "LOAD", data=script),
                                         pathlib.Path(args_file).read_bytes(), clients)
                print(f"{algorithm}: {each:.0f} octets of Redis for a client, {each * 1e6 / 2**20:.0f} MiB for a million "
                      f"({clients} addresses)")
            redis.call("FLUSHALL")
            for in_flight in (1, 16, 64, 256):
                rows = [load(binary, redis, "token_bucket", in_flight) for _ in range(ROUNDS)]
                print(f"token_bucket, {in_flight:3d} in flight: client {median(rows, 'cpu_us'):.2f} us per check, "
                      f"{median(rows, 'checks_per_s'):.0f}/s, p50 {median(rows, 'p50_us'):.0f} us, "
                      f"p99 {median(rows, 'p99_us'):.0f} us")
            rate = int(median(rows, "checks_per_s") * 0.3)  # of what it does with 256 in flight
            rows = [load(binary, redis, "token_bucket", 256, rate) for _ in range(ROUNDS)]
            print(f"token_bucket at 30 % of that ({rate}/s): p50 {median(rows, 'p50_us'):.0f} us, "
                  f"p99 {median(rows, 'p99_us'):.0f} us")
        finally:
            redis.process.kill()
            redis.process.wait()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
