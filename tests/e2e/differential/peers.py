"""The proxies that are compared, each with one listening port for each lane.

Lanes run cases side by side; a lane has an upstream of its own per proxy, so that what arrives there
belongs to one case. All have the same short deadlines and, beyond what a reverse proxy needs, the
defaults of their distribution.
"""
import os
import re
import subprocess

import harness

PENSTOCK = """\
version: 1
gateway: { max_body: 1MiB, head_timeout: 1s, body_timeout: 1s, response_timeout: 2s }
identity:
  api_key: { header: X-Api-Key }
limits:
  - { name: never, match: { path: /always-429 }, key: global, rate: 0/s }
"""


class Peer:
    """`ports[i]` leads to the upstream of lane i."""

    def __init__(self, started, folder, upstreams):
        self.started, self.folder, self.upstreams = started, folder, upstreams
        folder.mkdir(parents=True)
        self.ports = [harness.free_port() for _ in upstreams]
        self.start()
        for port in self.ports:
            harness.wait_for(lambda port=port: harness.accepts(port), f"{self.name} listens")

    def each(self, text):
        return "\n".join(text.format(lane=i, port=self.ports[i], upstream=upstream.port, folder=self.folder)
                         for i, upstream in enumerate(self.upstreams))

    def run(self, command, **more):
        self.started(harness.Process(command, self.name, cwd=self.folder, **more))

    def write(self, text):
        path = self.folder / "conf"
        path.write_text(text)
        return str(path)

    @classmethod
    def version(cls):
        done = subprocess.run([harness.tool(cls.tool), *cls.asks], capture_output=True, text=True, check=True)
        return re.search(r"\d+\.\d+\.\d+", done.stdout + done.stderr).group()


class Penstock(Peer):
    """One process for each lane: they tell cases apart by process in sanitizer reports, too."""
    name = "penstock"

    def start(self):
        self.ports = [self.started(harness.Penstock(PENSTOCK, ("--workers", "1"), upstream=u.port)).port
                      for u in self.upstreams]


class Nginx(Peer):
    name = tool = "nginx"
    asks = ("-v",)

    def start(self):
        user = "user root; " if os.getuid() == 0 else ""  # its worker must read a private folder
        temp = "".join(f"{kind}_temp_path {self.folder}/{kind};\n" for kind in
                       ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        conf = self.write(
            f"daemon off; {user}worker_processes 1; error_log {self.folder}/error.log; pid {self.folder}/pid;\n"
            f"events {{ worker_connections 1024; }}\nhttp {{ access_log off; {temp}"
            "client_header_timeout 1s; client_body_timeout 1s; proxy_read_timeout 2s;\n" + self.each(
                "upstream u{lane} {{ server 127.0.0.1:{upstream}; keepalive 8; }}\n"
                "server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://u{lane}; proxy_http_version 1.1;"
                " proxy_set_header Connection \"\"; proxy_set_header Host $host; }} }}") + "\n}\n")
        self.run([harness.tool("nginx"), "-p", str(self.folder), "-c", conf, "-e", "stderr"])


class Haproxy(Peer):
    name = tool = "haproxy"
    asks = ("-v",)

    def start(self):
        conf = self.write(
            "global\n  maxconn 500\ndefaults\n  mode http\n  timeout connect 5s\n  timeout client 2s\n"
            "  timeout server 2s\n  timeout http-request 1s\n" + self.each(
                "frontend f{lane}\n  bind 127.0.0.1:{port}\n  default_backend b{lane}\n"
                "backend b{lane}\n  server s 127.0.0.1:{upstream}") + "\n")
        self.run([harness.tool("haproxy"), "-db", "-f", conf])


class Apache(Peer):
    name, tool = "apache", "apache2"
    asks = ("-v",)

    def start(self):
        user = "User root\nGroup root\n" if os.getuid() == 0 else ""
        modules = "".join(f"LoadModule {m}_module /usr/lib/apache2/modules/mod_{m}.so\n" for m in
                          ("mpm_event", "authz_core", "reqtimeout", "proxy", "proxy_http"))
        # Debian's httpd refuses to serve as root; its workers are the system's nobody then.
        user = user.replace("root", "nobody", 1).replace("root", "nogroup")
        conf = self.write(
            f"ServerRoot {self.folder}\nDefaultRuntimeDir {self.folder}\nPidFile {self.folder}/pid\nErrorLog {self.folder}/error.log\n"
            f"ServerName example.test\nMutex pthread\n{modules}{user}"
            "RequestReadTimeout header=1 body=1\nProxyTimeout 2\nServerLimit 1\nStartServers 1\nThreadsPerChild 25\n"
            "MaxRequestWorkers 25\n" + self.each(
                "Listen 127.0.0.1:{port}\n<VirtualHost 127.0.0.1:{port}>\n  ProxyPreserveHost On\n"
                "  ProxyPass / http://127.0.0.1:{upstream}/ retry=0\n</VirtualHost>") + "\n")
        self.run([harness.tool("apache2"), "-d", str(self.folder), "-f", conf, "-DFOREGROUND"])


class Caddy(Peer):
    name = tool = "caddy"
    asks = ("version",)

    def start(self):
        conf = self.write(
            "{\n  admin off\n  auto_https off\n  servers {\n    timeouts {\n      read_header 1s\n      read_body 1s\n"
            "    }\n  }\n}\n" + self.each(
                ":{port} {{\n  bind 127.0.0.1\n  reverse_proxy 127.0.0.1:{upstream}\n}}") + "\n")
        self.run([harness.tool("caddy"), "run", "--adapter", "caddyfile", "--config", conf],
                 env={**os.environ, "HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder)})


OTHERS = (Nginx, Haproxy, Apache, Caddy)
