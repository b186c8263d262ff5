"""A TCP proxy in front of one server that does to the traffic what networks and broken servers do.

Settings are attributes and may change at any time, also for connections that are open:
  delay           seconds that every answer is held back
  silent          True: nothing is passed on in either direction, connections stay open
  cut_after       octets of answers, counted over all connections from when it was set, after which
                  the connection is reset (RST); None: never
  replace         octets that stand in for the next answer, once
  refuse          True: connections are closed as soon as they are accepted
"""
import contextlib
import heapq
import select
import socket
import struct
import threading
import time


class FaultProxy:
    def __init__(self, target_port):
        self.target_port = target_port
        self.delay, self.silent, self.cut_after, self.replace, self.refuse = 0, False, None, None, False
        self.accepted = 0  # connections since the start
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.peers = {}  # socket -> (other socket, whether it is the server's side)
        self.late = []  # (due, number, socket, octets)
        self.number = 0
        self.stopping = False
        self.thread = threading.Thread(target=self.turn, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    def turn(self):
        while not self.stopping:
            now = time.monotonic()
            while self.late and self.late[0][0] <= now:
                _, _, to, octets = heapq.heappop(self.late)
                self.send(to, octets)
            wait = min(0.02, max(0, self.late[0][0] - now)) if self.late else 0.02
            waiting = [self.listener] + ([] if self.silent else list(self.peers))
            for ready in select.select(waiting, [], [], wait)[0]:
                if ready is self.listener:
                    self.accept()
                elif ready in self.peers:
                    self.read(ready)

    def accept(self):
        client, _ = self.listener.accept()
        self.accepted += 1
        if self.refuse:
            client.close()
            return
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            server = socket.create_connection(("127.0.0.1", self.target_port), timeout=5)
        except OSError:
            client.close()
            return
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.peers[client], self.peers[server] = (server, False), (client, True)

    def read(self, source):
        other, from_server = self.peers[source]
        try:
            octets = source.recv(65536)
        except OSError:
            octets = b""
        if not octets:
            self.drop(source)
            return
        if from_server and self.replace is not None:
            octets, self.replace = self.replace, None
        if from_server and self.cut_after is not None:
            if len(octets) >= self.cut_after:
                self.send(other, octets[:self.cut_after])
                self.cut_after = None
                self.drop(source, reset=True)
                return
            self.cut_after -= len(octets)
        if from_server and self.delay:
            self.number += 1
            heapq.heappush(self.late, (time.monotonic() + self.delay, self.number, other, octets))
        else:
            self.send(other, octets)

    def send(self, to, octets):
        if to in self.peers:
            with contextlib.suppress(OSError):
                to.sendall(octets)

    def drop(self, one, reset=False):
        other, _ = self.peers.pop(one)
        self.peers.pop(other, None)
        for s in (one, other):
            if reset:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.close()

    def close(self):
        self.stopping = True
        self.thread.join()
        for s in list(self.peers):
            s.close()
        self.listener.close()
