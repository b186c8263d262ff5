"""The same question over blocking sockets and over asyncio, on connections that are kept.

A kept connection may turn out to be closed, as it is after a restart of the service: then, and only
if nothing of an answer has come, the question is asked once more on a fresh one.
"""
import asyncio
import collections
import os
import socket
import time
from urllib.parse import urlsplit

from ._wire import Answer, Undecided, question

IDLE_MAX = 60  # seconds; the service closes after 75
CONNECTIONS_MAX = 64  # of an AsyncClient; a Client has at most one for each thread that asks


class _Base:
    def __init__(self, url="http://127.0.0.1:8081", token=None, deadline=0.05):
        """`url` is http://HOST:PORT or unix:PATH; `deadline` is in seconds."""
        self._token, self._deadline = token, deadline
        if token and not (token.isascii() and token.isprintable()):
            raise ValueError("the token has octets that a header field cannot hold")
        if url.startswith("unix:"):
            self._path, self._host = url[len("unix:"):], "penstock"
            return
        at = urlsplit(url)
        if at.scheme != "http" or not at.hostname or at.path not in ("", "/"):
            raise ValueError(f"{url!r} is neither http://HOST:PORT nor unix:PATH")
        self._path, self._host = None, at.netloc
        self._address = (at.hostname, at.port or 80)

    def _question(self, check):
        return question(check, self._host, self._token)

    def _late(self):
        return Undecided(f"no answer within {self._deadline * 1000:.0f} ms")


class Client(_Base):
    """Blocking; safe for threads and across fork(). Looking up a host name is not part of the deadline."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self._idle, self._process = collections.deque(), os.getpid()

    def ask(self, check):
        """The Decision for a check as docs/openapi.yaml describes it. Errors: Undecided."""
        end = time.monotonic() + self._deadline
        octets = self._question(check)
        while True:
            connection = self._kept()
            fresh = connection is None
            answer = Answer()
            try:
                if fresh:
                    connection = self._connect(end)
                self._exchange(connection, octets, answer, end)
            except socket.timeout:
                self._close(connection)
                raise self._late() from None
            except (OSError, Undecided) as error:
                self._close(connection)
                if not fresh and not answer.octets:
                    continue
                raise Undecided(str(error)) from error
            if answer.keep:
                self._idle.append((connection, time.monotonic()))
            else:
                connection.close()
            return answer.decision()

    def _exchange(self, connection, octets, answer, end):
        connection.settimeout(self._left(end))
        connection.sendall(octets)
        complete = False
        while not complete:
            connection.settimeout(self._left(end))
            complete = answer.feed(connection.recv(65536))

    def _kept(self):
        if self._process != os.getpid():  # the parent goes on with those
            self._idle, self._process = collections.deque(), os.getpid()
        while self._idle:
            try:
                connection, since = self._idle.pop()
            except IndexError:  # another thread took it
                return None
            if time.monotonic() - since < IDLE_MAX:
                return connection
            connection.close()
        return None

    def _connect(self, end):
        if self._path is None:
            connection = socket.create_connection(self._address, timeout=self._left(end))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(self._left(end))
        try:
            connection.connect(self._path)
        except OSError:
            connection.close()
            raise
        return connection

    def _left(self, end):
        left = end - time.monotonic()
        if left <= 0:
            raise self._late()
        return left

    @staticmethod
    def _close(connection):
        if connection is not None:
            connection.close()


class AsyncClient(_Base):
    """For one event loop at a time."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self._loop = None

    async def ask(self, check):
        """The Decision for a check as docs/openapi.yaml describes it. Errors: Undecided."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # connections belong to the loop that made them
            self._loop, self._idle, self._free = loop, [], asyncio.Semaphore(CONNECTIONS_MAX)
        try:
            answer = await asyncio.wait_for(self._ask(self._question(check)), self._deadline)
        except asyncio.TimeoutError:
            raise self._late() from None
        except OSError as error:
            raise Undecided(str(error)) from error
        return answer.decision()

    async def _ask(self, octets):
        async with self._free:
            while True:
                streams = self._kept()
                fresh = streams is None
                if fresh:
                    streams = await self._connect()
                reader, writer = streams
                answer = Answer()
                try:
                    writer.write(octets)
                    complete = False
                    while not complete:
                        complete = answer.feed(await reader.read(65536))
                except (OSError, Undecided):
                    writer.close()
                    if not fresh and not answer.octets:
                        continue
                    raise
                except BaseException:  # too late, or the client has left
                    writer.close()
                    raise
                if answer.keep:
                    self._idle.append((streams, self._loop.time()))
                else:
                    writer.close()
                return answer

    def _kept(self):
        while self._idle:
            streams, since = self._idle.pop()
            if self._loop.time() - since < IDLE_MAX:
                return streams
            streams[1].close()
        return None

    async def _connect(self):
        if self._path is None:
            return await asyncio.open_connection(*self._address)
        return await asyncio.open_unix_connection(self._path)
