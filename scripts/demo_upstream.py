#!/usr/bin/env python3
"""A tiny API to stand behind the gateway in the demo: answers every GET with its path and a counter.
Prints the port it listens on, then serves until it is ended."""
import http.server
import itertools
import json
import sys


class Api(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    count = itertools.count(1)

    def do_GET(self):
        body = json.dumps({"path": self.path, "request": next(self.count)}).encode() + b"\n"
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Api)
server.daemon_threads = True
print(server.server_address[1], flush=True)
try:
    server.serve_forever()
except KeyboardInterrupt:
    pass
