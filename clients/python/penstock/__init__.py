"""Asks a Penstock decision service before a request is served.

penstock.asgi, penstock.wsgi and penstock.django hold a middleware each; none needs anything but the
standard library (and its own framework). The client holds no limits and no counters: it describes the
request to POST /v1/check, copies the fields of the answer and passes on, waits or refuses as told.
"""
from ._wire import Decision, Undecided
from ._client import AsyncClient, Client

__all__ = ["AsyncClient", "Client", "Decision", "Undecided"]
__version__ = "0.1.0"
