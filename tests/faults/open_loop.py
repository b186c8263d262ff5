"""A load that does not wait: requests leave at a fixed rate whatever the answers do, so that a stall
is seen by every request it delays. Latency counts from the instant a request was due.

One asyncio loop in a thread of its own, keep-alive connections, GET and POST without a body. Meant
for some hundred requests a second, far below what the gateway can do.
"""
import asyncio
import collections
import threading
import time

# `due`, `took`: seconds (due: since start()); status 0: no complete answer came.
Seen = collections.namedtuple("Seen", "due took status headers")


class OpenLoop:
    def __init__(self, port, rate=200, path="/", method="GET", headers=None, patience=15, host="127.0.0.1"):
        """`path` and `headers` may be functions of the request's number."""
        self.port, self.host, self.rate, self.patience = port, host, rate, patience
        self.path, self.method, self.headers = path, method, headers or {}
        self.seen = []
        self.idle = []
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self.main()), daemon=True)

    def start(self):
        self.began = time.monotonic()
        self.thread.start()
        return self

    def now(self):
        return time.monotonic() - self.began

    def stop(self):
        """Ends the load, waits for the open answers, and returns all that was seen, in order of due."""
        self.stopping.set()
        self.thread.join()
        return sorted(self.seen)

    close = stop

    async def main(self):
        open_requests = set()
        number = 0
        while not self.stopping.is_set():
            due = number / self.rate
            ahead = due - self.now()
            if ahead > 0:
                await asyncio.sleep(min(ahead, 0.05))
                continue
            task = asyncio.create_task(self.one(number, due))
            open_requests.add(task)
            task.add_done_callback(open_requests.discard)
            number += 1
        if open_requests:
            await asyncio.wait(open_requests)
        for _, writer in self.idle:
            writer.close()

    async def one(self, number, due):
        status, headers = 0, {}
        try:
            status, headers = await asyncio.wait_for(self.ask(number), self.patience)
        except (OSError, EOFError, ValueError, IndexError, asyncio.TimeoutError):
            pass
        self.seen.append(Seen(due, self.now() - due, status, headers))

    async def ask(self, number):
        while True:
            used = bool(self.idle)
            reader, writer = self.idle.pop() if used else await asyncio.open_connection(self.host, self.port)
            try:
                return await self.exchange(reader, writer, number)
            except (ConnectionError, EOFError):
                writer.close()
                # A kept connection may have been closed while it was idle; a fresh one may not.
                if not used:
                    raise
            except BaseException:
                writer.close()
                raise

    async def exchange(self, reader, writer, number):
        path = self.path(number) if callable(self.path) else self.path
        fields = self.headers(number) if callable(self.headers) else self.headers
        length = "Content-Length: 0\r\n" if self.method not in ("GET", "HEAD") else ""
        more = "".join(f"{k}: {v}\r\n" for k, v in fields.items())
        writer.write(f"{self.method} {path} HTTP/1.1\r\nHost: test\r\n{length}{more}\r\n".encode())
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status = int(head[0].split(" ")[1])
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
        await reader.readexactly(int(headers.get("content-length", "0")))
        if headers.get("connection", "").lower() == "close":
            writer.close()
        else:
            self.idle.append((reader, writer))
        return status, headers


def percentile(values, share):
    """The value that `share` (0 to 1) of `values` do not exceed; 0 when there is none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0


def between(seen, begin, end):
    return [s for s in seen if begin <= s.due < end]
