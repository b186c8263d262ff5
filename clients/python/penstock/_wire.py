"""Questions and answers as octets, without sockets, so that both clients share them."""
import dataclasses
import json
from typing import Dict, Optional

HEAD_MAX = 16 * 1024
BODY_MAX = 1024 * 1024


class Undecided(Exception):
    """There is no decision: the service is away, late, or does not take the question."""


@dataclasses.dataclass(frozen=True)
class Decision:
    allowed: bool
    outcome: str  # allow, delay, deny, degraded_allow, degraded_deny
    status: int  # for the client of the API
    delay_ms: int = 0
    limit: Optional[str] = None
    retry_after: Optional[int] = None  # seconds; None when no wait helps
    reason: Optional[str] = None
    headers: Dict[str, str] = dataclasses.field(default_factory=dict)  # to send to the client

    def body(self):
        """The refusal's JSON, as the gateway writes it."""
        if self.outcome == "degraded_deny":
            said = {"error": "rate limiter unavailable"}
        elif self.limit or self.status == 429:
            said = {"error": "rate limit exceeded"}
        elif self.status == 400:
            said = {"error": "bad request"}
        else:
            return b'{"error":"forbidden"}\n'
        if self.limit:
            said["limit"] = self.limit
        if self.retry_after:
            said["retry_after"] = self.retry_after
        elif self.reason:
            said["reason"] = self.reason
        return json.dumps(said, separators=(",", ":")).encode() + b"\n"


# What is answered in place of a decision when the middleware was told to fail closed.
CLOSED = Decision(False, "degraded_deny", 503, retry_after=1,
                  headers={"Retry-After": "1", "Cache-Control": "no-store"})


def question(check, host, token):
    """One request of HTTP/1.1 that keeps its connection."""
    body = json.dumps(check, separators=(",", ":")).encode()
    head = f"POST /v1/check HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n" \
           f"Content-Length: {len(body)}\r\n"
    if token:
        head += f"Authorization: Bearer {token}\r\n"
    return head.encode("latin-1") + b"\r\n" + body


class Answer:
    """Fed with what arrives. The service always says Content-Length; anything else is not it."""

    def __init__(self):
        self.octets = b""
        self._body_at = None

    def feed(self, octets):
        """True when the answer is complete. Errors: Undecided."""
        if not octets:
            raise Undecided("the service closed the connection")
        self.octets += octets
        if self._body_at is None and not self._head():
            return False
        if len(self.octets) > self._body_at + self._length:
            raise Undecided("more came than the answer")
        return len(self.octets) == self._body_at + self._length

    def _head(self):
        end = self.octets.find(b"\r\n\r\n")
        if end < 0:
            if len(self.octets) > HEAD_MAX:
                raise Undecided("the head of the answer does not end")
            return False
        line, *fields = self.octets[:end].decode("latin-1").split("\r\n")
        try:
            version, status = line.split(" ")[:2]
            self.status = int(status)
            fields = {name.lower(): value.strip() for name, value in (f.split(":", 1) for f in fields)}
            self._length = int(fields["content-length"])
        except (ValueError, KeyError):
            raise Undecided("the answer is not one of the decision service") from None
        if not 0 <= self._length <= BODY_MAX:
            raise Undecided("the answer is too long")
        self.keep = version == "HTTP/1.1" and fields.get("connection", "").lower() != "close"
        self._body_at = end + 4
        return True

    def decision(self):
        """503 with a decision is one: the store is away and the limit says deny."""
        try:
            said = json.loads(self.octets[self._body_at:])
            if self.status in (200, 503) and isinstance(said["allowed"], bool):
                return Decision(**{f.name: said[f.name] for f in dataclasses.fields(Decision) if f.name in said})
        except (ValueError, KeyError, TypeError):
            said = {}
        error = said.get("error", "") if isinstance(said, dict) else ""
        raise Undecided(f"the service answers {self.status} {error}".rstrip())
