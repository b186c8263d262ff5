"""Sends one message to one proxy and says what came of it."""
import contextlib
import re
import socket
import time

ANSWER = re.compile(rb"HTTP/1\.[01] (\d{3})[^\r\n]*\r\n")


def final_answers(octets):
    """(status, closes) of the complete final answers at the front of `octets`."""
    out, at = [], 0
    while match := ANSWER.match(octets, at):
        end = octets.find(b"\r\n\r\n", at)
        if end < 0:
            break
        head, at = octets[at:end].lower() + b"\r\n", end + 4
        status = int(match[1])
        if status < 200:
            continue
        length = re.search(rb"\r\ncontent-length: *(\d+)\r\n", head)
        if length and status not in (204, 304):
            if at + int(length[1]) > len(octets):
                break
            at += int(length[1])
        elif b"\r\ntransfer-encoding: chunked\r\n" in head:
            last = octets.find(b"0\r\n\r\n", at)
            if last < 0:
                break
            at = last + 5
        out.append((status, b"\r\nconnection: close\r\n" in head))
    return out


class Reaction:
    """What one proxy did with one message: `key` is what is compared."""

    def __init__(self, received, closed, begun):
        self.answers, self.closed, self.begun = final_answers(received), closed, begun
        # A request that our strict upstream would not have accepted was sent on all the same.
        self.passed = [r for r in begun if r["complete"] or r["broken"]]
        status = self.answers[0][0] if self.answers else None
        if self.passed:
            self.key = f"forward {len(self.passed)}"
        elif status and status < 400:
            self.key = "answer itself"
        else:
            self.key = "refuse" if status or closed or received else "wait"
        self.status = status

    def what(self):
        """What reached the upstream, as far as proxies should agree on it."""
        return [(r["line"], r["body"]) for r in self.passed]

    def __str__(self):
        lines = ", ".join(r["line"][:60] for r in self.passed)
        return f"{self.key}{f' ({self.status})' if self.status else ''}{f': {lines}' if lines else ''}"


def send(port, upstream, case):
    """The reaction, and what arrived late of an earlier message."""
    late = upstream.take()
    received, closed = b"", False
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            client.sendall(case["raw"])
            if case["half_close"]:
                client.shutdown(socket.SHUT_WR)
        except OSError:
            closed = True
        end, quiet = time.monotonic() + 4, None
        while time.monotonic() < end and not closed:
            client.settimeout(0.04)
            try:
                part = client.recv(65536)
                closed, quiet = not part, None
                received += part
            except socket.timeout:
                # Everything is there; a little longer for what must not come.
                answers = len(final_answers(received))
                if answers >= case["n"] or (answers and quiet and time.monotonic() - quiet > 0.12):
                    break
                quiet = quiet or time.monotonic()
            except OSError:
                closed = True
    time.sleep(0.01)
    return Reaction(received, closed, upstream.take()), late


def judge(case, reaction):
    """None, or what Penstock must never do, whatever others do."""
    lines = [r["line"] for r in reaction.begun]
    for record in reaction.begun:
        if record["broken"]:
            return f"the upstream got no HTTP: {record['broken']}"
    if any("smuggled" in line for line in lines) and not case.get("allows_smuggled"):
        return f"smuggled: {lines}"
    if len(reaction.passed) > case["n"]:
        return f"{len(reaction.passed)} requests out of {case['n']}"
    if case["must"] == "forward" and reaction.key != f"forward {case['n']}":
        return f"a valid message got {reaction}"
    if case["must"] == "refuse" and reaction.key != "refuse":
        return f"let through: {reaction}"
    if reaction.key == "refuse" and reaction.status != 429 and not reaction.closed:
        return f"refused with {reaction.status}, and the connection is open"
    for record, body in zip(reaction.passed, case["bodies"] or []):
        if record["body"] != body:
            return f"the body arrived as {record['body'][:60]!r}"
    for record in reaction.passed:
        if case["host"] and record["fields"].get("host") != [case["host"]]:
            return f"Host arrived as {record['fields'].get('host')}"
        for name in case["absent"]:
            if name in record["fields"]:
                return f"{name} reached the upstream"
        target = record["line"].split(" ")[1].partition("?")[0]
        with contextlib.suppress(UnicodeDecodeError):
            if re.search(r"(?i)(^|/)(\.|%2e){1,2}(/|;|$)|//|%2f|%5c|%00|\\", target):
                return f"the path arrived as {target}"
    return None
