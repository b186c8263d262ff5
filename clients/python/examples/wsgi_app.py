"""Plain WSGI behind Penstock: python3 wsgi_app.py PORT"""
import socketserver
import sys
import wsgiref.simple_server

from common import SESSIONS, options

from penstock.wsgi import PenstockMiddleware


def user(environ):
    return SESSIONS.get(environ.get("HTTP_AUTHORIZATION"))


def hello(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"hello {user(environ) or ''}\n".encode()]


application = PenstockMiddleware(hello, user=user, **options())


class ThreadingServer(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True
    request_queue_size = 128


if __name__ == "__main__":
    wsgiref.simple_server.make_server("127.0.0.1", int(sys.argv[1]), application, ThreadingServer).serve_forever()
