"""WebSockets through the gateway: a real server and a real client (python3-websockets) on both ends.

A tunnel opens only on the upstream's 101. Where a test needs to see single octets, a raw upstream of
this file takes the server's place.
"""
import asyncio
import contextlib
import http
import os
import re
import signal
import socket
import threading

import pytest

import harness
from test_http_cases import Reader
from test_tls import Certificates

OPEN = "version: 1\n"
SIZES = [0, 1, 125, 126, 127, 65535, 65536, 1 << 20, 5 << 20]
UPGRADE = (b"GET %s HTTP/1.1\r\nHost: api.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
           b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")


@pytest.fixture
def websockets():
    try:
        import websockets
    except ModuleNotFoundError:
        message = "python3-websockets is not installed (scripts/setup build test)"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(message)
    return websockets


class Server:
    """A WebSocket API whose path says what it does; runs on a loop of its own."""

    def __init__(self, websockets):
        self.websockets = websockets
        self.opened = []     # the path of each connection, in order
        self.closed = []     # (path, code, reason) of each connection that ended
        self.pushed = 0      # octets of /flood that the server could hand to its socket
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.server = self.on_loop(self.listen())
        self.port = self.server.sockets[0].getsockname()[1]

    async def listen(self):
        async def refuse(path, headers):
            return (http.HTTPStatus.FORBIDDEN, [], b"no sockets here\n") if path == "/forbidden" else None
        return await self.websockets.serve(self.serve, "127.0.0.1", 0, process_request=refuse, max_size=None,
                                           ping_interval=None, compression="deflate")

    def on_loop(self, coroutine, seconds=60):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(seconds)

    async def serve(self, socket_, path):
        self.opened.append(path)
        try:
            await getattr(self, path.strip("/").partition("?")[0])(socket_)
        except self.websockets.ConnectionClosed:
            pass
        finally:
            await socket_.wait_closed()
            self.closed.append((path, socket_.close_code, socket_.close_reason))

    async def echo(self, socket_):
        async for message in socket_:
            await socket_.send(message)

    async def ping(self, socket_):
        await asyncio.wait_for(await socket_.ping(b"are you there"), 30)
        await socket_.send("the pong came")
        await socket_.recv()

    async def close_first(self, socket_):
        await socket_.recv()
        await socket_.close(4001, "enough")

    async def abort(self, socket_):
        await socket_.recv()
        socket_.transport.abort()

    # The first frames leave together with the 101.
    async def greet(self, socket_):
        for number in range(200):
            await socket_.send(f"greeting {number}")
        await socket_.recv()

    async def flood(self, socket_):
        for _ in range(1024):
            await socket_.send(b"x" * 65536)
            self.pushed += 65536
        await socket_.recv()

    def close(self):
        async def end():
            self.server.close()
            await self.server.wait_closed()
        self.on_loop(end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


@pytest.fixture
def api(started, websockets):
    return started(Server(websockets))


@pytest.fixture
def gateway(started, api):
    return lambda policy=OPEN, *args: started(harness.Penstock(policy, ("--workers", "1", *args), upstream=api.port))


@pytest.fixture
def connect(websockets):
    """connect(gateway, path): a client with a bound on everything it awaits."""
    def make(gateway, path, **more):
        more = {"max_size": None, "ping_interval": None, "open_timeout": 30, "close_timeout": 30, **more}
        return websockets.connect(f"ws://127.0.0.1:{gateway.port}{path}", **more)
    return make


async def within(awaitable, seconds=60):
    return await asyncio.wait_for(awaitable, seconds)


async def eventually(condition, what, seconds=30):
    for _ in range(seconds * 50):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {what}")


async def echoes(client, message):
    await within(client.send(message))
    assert await within(client.recv()) == message


# Frames of every length form, whole and in fragments, arrive as they were sent, with and without an
# extension that the two ends agreed on.
@pytest.mark.parametrize("compression", [None, "deflate"])
def test_messages_pass_both_ways(gateway, connect, compression):
    async def talk():
        async with connect(gateway(), "/echo", compression=compression) as client:
            for size in SIZES:
                await echoes(client, os.urandom(size))
                await echoes(client, "ü" * (size // 2))
            await within(client.send([b"in ", b"three ", b"fragments"]))
            assert await within(client.recv()) == b"in three fragments"
    asyncio.run(talk())


# Neither direction waits for the other: both ends write before either reads.
def test_both_directions_at_once(gateway, connect):
    async def talk():
        async with connect(gateway(), "/greet") as client:
            for number in range(200):
                assert await within(client.recv()) == f"greeting {number}"
            await client.send("thanks")
        async with connect(gateway(), "/echo") as client:
            messages = [os.urandom(30_000) for _ in range(200)]

            async def read():
                return [await within(client.recv()) for _ in messages]
            reader = asyncio.create_task(read())
            for message in messages:
                await within(client.send(message))
            assert await reader == messages
    asyncio.run(talk())


# Keep-alive is the ends' own affair: control frames pass in both directions.
def test_ping_and_pong(gateway, connect):
    async def talk():
        async with connect(gateway(), "/ping") as client:
            assert await within(client.recv()) == "the pong came"
            await within(await client.ping(b"and you"))
    asyncio.run(talk())


# Code and reason of a close reach the other end, whoever closes.
def test_a_close_passes_from_each_side(gateway, connect, api, websockets):
    async def talk():
        server = gateway()
        client = await connect(server, "/echo")
        await echoes(client, "hello")
        await within(client.close(4000, "bye"))
        await eventually(lambda: ("/echo", 4000, "bye") in api.closed, "the server learns of the close")
        client = await connect(server, "/close_first")
        await client.send("go on")
        with pytest.raises(websockets.ConnectionClosed):
            await within(client.recv())
        assert (client.close_code, client.close_reason) == (4001, "enough")
    asyncio.run(talk())


# An end that vanishes without a close is noticed at the other end, not after some timeout.
def test_an_abrupt_end_passes_from_each_side(gateway, connect, api, websockets):
    async def talk():
        server = gateway()
        client = await connect(server, "/echo")
        await echoes(client, "hello")
        client.transport.abort()
        await eventually(lambda: ("/echo", 1006, "") in api.closed, "the server learns of the loss")
        client = await connect(server, "/abort")
        await client.send("go on")
        with pytest.raises(websockets.ConnectionClosedError):
            await within(client.recv())
        assert client.close_code == 1006
    asyncio.run(talk())


# A refused upgrade is an ordinary answer.
def test_an_upstream_may_refuse_the_upgrade(gateway, connect, websockets):
    async def talk():
        with pytest.raises(websockets.InvalidStatusCode) as refused:
            await connect(gateway(), "/forbidden")
        assert refused.value.status_code == 403  # and not our 502
    asyncio.run(talk())


# The handshake is the request that is counted. Beyond the limit it never reaches the upstream; an open
# socket's messages take nothing.
def test_a_limit_refuses_handshakes_and_counts_no_messages(gateway, connect, api, websockets):
    async def talk():
        server = gateway("version: 1\nlimits:\n  - { name: sockets, key: address, rate: 1/h }\n")
        async with connect(server, "/echo") as client:
            with pytest.raises(websockets.InvalidStatusCode) as refused:
                await connect(server, "/echo")
            assert refused.value.status_code == 429
            assert 1 <= int(refused.value.headers["Retry-After"]) <= 3600
            for number in range(100):
                await echoes(client, str(number))
        assert api.opened == ["/echo"]
    asyncio.run(talk())


# The deadlines of requests are not a tunnel's: it outlives an idle connection that is ended by them.
def test_an_idle_tunnel_outlives_idle_connections(gateway, connect):
    server = gateway("version: 1\ngateway: { idle_timeout: 1s, head_timeout: 1s, body_timeout: 1s, response_timeout: 1s }\n")

    async def talk():
        async with connect(server, "/echo") as client:
            await echoes(client, "before")
            for _ in range(2):
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                assert await within(reader.read()) == b""  # ended for having been idle
                writer.close()
            await echoes(client, "after")
    asyncio.run(talk())


# A stop takes no new sockets, leaves the open ones alone, and is over as soon as they are.
def test_a_drain_leaves_open_tunnels_alone(gateway, connect):
    server = gateway()

    async def talk():
        async with connect(server, "/echo") as client:
            await echoes(client, "before")
            server.child.send_signal(signal.SIGTERM)
            await eventually(lambda: not harness.accepts(server.port), "no new connections are taken")
            for size in SIZES:
                await echoes(client, os.urandom(size))
            assert server.child.poll() is None
    asyncio.run(talk())
    assert server.child.wait(20) == 0


# wss: the same over TLS.
def test_messages_pass_over_tls(started, api, websockets):
    certificates = started(Certificates("one.test"))
    policy = "version: 1\ngateway: { tls: { certificate: %s, key: %s } }\n" % (
        certificates.path("one.test.pem"), certificates.path("one.test.key"))
    server = started(harness.Penstock(policy, ("--workers", "1"), upstream=api.port))

    async def talk():
        async with websockets.connect(f"wss://127.0.0.1:{server.port}/echo", ssl=certificates.trusting(),
                                      server_hostname="one.test", max_size=None) as client:
            for size in SIZES:
                await echoes(client, os.urandom(size))
            await within(client.close(4000, "bye"))
        await eventually(lambda: ("/echo", 4000, "bye") in api.closed, "the close passes")
    asyncio.run(talk())


# A client that does not read stops the server instead of filling the gateway; then all of it arrives.
def test_a_slow_reader_stops_the_writer(gateway, connect, api):
    async def talk():
        async with connect(gateway(), "/flood", max_queue=1, compression=None) as client:
            await within(client.recv())
            last = -1
            while api.pushed != last:  # until nothing has moved for a while
                last = api.pushed
                await asyncio.sleep(0.5)
            # What is under way fills sockets and the ends' own buffers, which are the system's affair.
            assert api.pushed < 48 << 20
            for _ in range(1023):
                assert len(await within(client.recv())) == 65536
            await client.send("done")
    asyncio.run(talk())


# Every tunnel is given back: connections to clients and upstreams end with them.
def test_many_tunnels_leave_nothing_behind(gateway, connect):
    server = gateway()

    def descriptors():
        return len(os.listdir(f"/proc/{server.child.pid}/fd"))

    async def one(number, server):
        async with connect(server, "/echo") as client:
            for size in (10, 1000, 50_000):
                await echoes(client, os.urandom(size))
            if number % 3 == 0:
                client.transport.abort()

    async def talk():
        before = descriptors()
        for _ in range(3):
            await asyncio.gather(*(one(number, server) for number in range(60)))
        # Only a few idle connections may be left.
        await eventually(lambda: descriptors() <= before + 4, f"descriptors return to {before}")
    asyncio.run(talk())


class RawUpstream:
    """One upstream connection in the test's hands."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(20)
        self.port = self.listener.getsockname()[1]

    def accept(self):
        connection, _ = self.listener.accept()
        connection.settimeout(20)
        return connection

    def close(self):
        self.listener.close()


@pytest.fixture
def raw(started):
    upstream = started(RawUpstream())
    server = started(harness.Penstock(OPEN, ("--workers", "1"), upstream=upstream.port))
    client = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    with client:
        yield upstream, client


# Nothing passes before the 101: octets behind the handshake wait for it, and belong to the tunnel then.
def test_octets_behind_the_handshake_wait_for_the_101(raw):
    upstream, client = raw
    client.sendall(UPGRADE % b"/early" + b"\x81\x85earlyframe")
    with upstream.accept() as server:
        reader = Reader(server)
        head = reader.until(b"\r\n\r\n").lower()
        assert b"\r\nupgrade: websocket" in head and b"\r\nconnection: upgrade" in head
        server.settimeout(1)
        with pytest.raises(TimeoutError):
            reader.more()
        assert reader.held == b""
        server.settimeout(20)
        server.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nfirst")
        assert reader.exactly(12) == b"\x81\x85earlyframe"
        mine = Reader(client)
        assert mine.until(b"\r\n\r\n").startswith(b"HTTP/1.1 101 ")
        assert mine.exactly(5) == b"first"


# Anything but a 101 leaves the connection to HTTP: what follows is a request of its own (the hole was
# CVE-2026-2833 in Pingora and CVE-2024-23326 in Envoy).
@pytest.mark.parametrize("answer", ["200 OK", "403 Forbidden", "426 Upgrade Required", "500 No"])
def test_without_a_101_there_is_no_tunnel(raw, answer):
    upstream, client = raw
    client.sendall(UPGRADE % b"/first" + b"GET /second HTTP/1.1\r\nHost: api.test\r\n\r\n")
    with upstream.accept() as server:
        reader = Reader(server)
        assert reader.until(b"\r\n\r\n").startswith(b"GET /first ")
        server.settimeout(1)
        with pytest.raises(TimeoutError):
            reader.more()
        server.settimeout(20)
        server.sendall(f"HTTP/1.1 {answer}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                       "Content-Length: 2\r\n\r\nno".encode())
        mine = Reader(client)
        assert mine.until(b"\r\n\r\n").startswith(f"HTTP/1.1 {answer[:3]}".encode())
        assert mine.exactly(2) == b"no"
        with contextlib.ExitStack() as more:
            if b"\r\n\r\n" not in reader.held:
                server.settimeout(1)
                try:
                    reader.more()
                except (EOFError, TimeoutError, OSError):
                    reader = Reader(more.enter_context(upstream.accept()))
            head = reader.until(b"\r\n\r\n")
            assert head.startswith(b"GET /second HTTP/1.1\r\n") and re.search(rb"(?i)\r\nvia: ", head)
            reader.connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes")
            assert mine.until(b"\r\n\r\n").startswith(b"HTTP/1.1 200 ")
            assert mine.exactly(3) == b"yes"


# Each half of a tunnel ends on its own: one side may be done while the other still speaks.
def test_half_a_tunnel_may_end_first(raw):
    upstream, client = raw
    client.sendall(UPGRADE % b"/half")
    with upstream.accept() as server:
        reader, mine = Reader(server), Reader(client)
        reader.until(b"\r\n\r\n")
        server.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        mine.until(b"\r\n\r\n")
        client.sendall(b"last words")
        client.shutdown(socket.SHUT_WR)
        assert reader.exactly(10) == b"last words"
        with pytest.raises(EOFError):
            reader.more()
        server.sendall(b"still speaking")
        assert mine.exactly(14) == b"still speaking"
        server.close()
        with pytest.raises(EOFError):
            mine.more()
