"""What the three middlewares share: how a request is described, and how a failure is told."""
import logging
import threading
import time
from urllib.parse import quote

# Fields in which a proxy names its client. The policy believes them only from client.trusted_proxies.
FORWARDING = ("X-Forwarded-For", "Forwarded", "X-Real-IP")


def target(path, query):
    """Path and query for the service, from the decoded path by which Python's applications route."""
    return quote(path, safe="/:@!$&'()*+,;=~") + ("?" + query if query else "")


class Gate:
    """Options that each middleware takes beside those of Client.

    fail_closed     refuse with 503 what could not be decided; by default it passes. Both are logged
    api_key_header  as identity.api_key.header in the policy
    headers         further fields that the policy reads, as ("Cookie", "Host")
    fields          what the program knows and the policy counts by: {"X-Tenant": a function of the request}
    api_key, user, address, cost
                    functions of the request (of the ASGI scope, of the WSGI environ) that return the API
                    key instead of what stands in that field, the user that the program has verified, the
                    peer's address, and the units that the request takes; None: nothing to say
    """

    def __init__(self, fail_closed=False, api_key_header="X-API-Key", headers=(), fields=None, api_key=None,
                 user=None, address=None, cost=None, logger=None):
        self.fail_closed = fail_closed
        self.fields = {**(fields or {}), **({api_key_header: api_key} if api_key else {})}
        self.facts = {name: f for name, f in (("user", user), ("address", address), ("cost", cost)) if f}
        # A field that a function speaks for is not told as the client wrote it.
        spoken = {name.lower() for name in self.fields}
        self.told = [name for name in (*FORWARDING, *headers, api_key_header) if name.lower() not in spoken]
        self._log = logger or logging.getLogger("penstock")
        self._lock, self._logged, self._unlogged = threading.Lock(), float("-inf"), 0

    def check(self, method, path, host, peer, values, found):
        """The question. `values(name)` lists what a field holds; `found` is what the functions say, by
        the names of functions()."""
        check = {"method": method, "path": path, "headers": {}}
        for name in self.told:
            held = values(name)
            if held:
                check["headers"][name] = held
        for name in self.fields:
            if found.get(name) not in (None, ""):
                check["headers"][name] = str(found[name])
        if found.get("user") not in (None, ""):
            check["user"] = str(found["user"])
        if found.get("cost") is not None:
            check["cost"] = found["cost"]
        address = found.get("address") or peer
        if address:
            check["address"] = address
        if host:
            check["host"] = host
        return check

    def functions(self):
        return [*self.fields.items(), *self.facts.items()]

    def failed(self, error):
        """Logs at most a line a second, so that an outage under load does not fill the disk."""
        with self._lock:
            if time.monotonic() - self._logged < 1:
                self._unlogged += 1
                return
            unlogged, self._logged, self._unlogged = self._unlogged, time.monotonic(), 0
        self._log.warning("penstock: a request was %s undecided: %s; %d more since the last line",
                          "refused (fail-closed)" if self.fail_closed else "passed (fail-open)", error, unlogged)


def split(options):
    """Options of the client, options of the gate."""
    ours = ("url", "token", "deadline")
    return {k: v for k, v in options.items() if k in ours}, {k: v for k, v in options.items() if k not in ours}
