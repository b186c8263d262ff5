"""Django middleware. In settings.py, behind the middleware that knows the user:

    MIDDLEWARE = [..., "django.contrib.auth.middleware.AuthenticationMiddleware",
                  "penstock.django.PenstockMiddleware"]
    PENSTOCK = {"url": "http://127.0.0.1:8081", "user": "project.limits.user"}
"""
import time

from django.conf import settings
from django.http import HttpResponse
from django.utils.module_loading import import_string

from ._client import Client
from ._gate import Gate, split, target
from ._wire import CLOSED, Undecided


class PenstockMiddleware:
    """PENSTOCK holds url, token, deadline (seconds) and the options of _gate.Gate. Functions take the
    HttpRequest and may be dotted names. Without `user`, whoever request.user says is logged in counts."""

    def __init__(self, get_response):
        client, gate = split(getattr(settings, "PENSTOCK", {}))
        for name in ("api_key", "user", "address", "cost"):
            if name in gate:
                gate[name] = _function(gate[name])
        gate["fields"] = {name: _function(field) for name, field in gate.get("fields", {}).items()}
        gate.setdefault("user", logged_in)
        self.get_response, self.client, self.gate = get_response, Client(**client), Gate(**gate)

    def __call__(self, request):
        try:
            decision = self.client.ask(self._check(request))
        except Undecided as error:
            self.gate.failed(error)
            if not self.gate.fail_closed:
                return self.get_response(request)
            decision = CLOSED
        if not decision.allowed:
            response = HttpResponse(decision.body(), status=decision.status, content_type="application/json")
        else:
            if decision.delay_ms > 0:
                time.sleep(decision.delay_ms / 1000)
            response = self.get_response(request)
        for name, value in decision.headers.items():
            response.setdefault(name, value)
        return response

    def _check(self, request):
        def values(name):
            value = request.headers.get(name)  # repeated fields are joined with commas already
            return [value] if value else []

        found = {name: function(request) for name, function in self.gate.functions()}
        return self.gate.check(request.method, target(request.path, request.META.get("QUERY_STRING")),
                               request.META.get("HTTP_HOST"), request.META.get("REMOTE_ADDR"), values, found)


def _function(named):
    return import_string(named) if isinstance(named, str) else named


def logged_in(request):
    user = getattr(request, "user", None)
    return user.pk if user is not None and user.is_authenticated else None
