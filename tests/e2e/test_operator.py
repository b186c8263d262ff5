"""The commands for operators against a real daemon: the on-call page as it stands, tables of every
command with its errors and exit codes, the live view on a pseudo-terminal, and hostile peers."""
import fcntl
import hashlib
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import textwrap
import threading
import time

import harness
import pytest

PAGE = harness.ROOT / "docs/operations.md"
REFERENCE = harness.ROOT / "docs/reference/commands.md"

# Traffic of any client and user: the test is a trusted proxy.
POLICY = """\
version: 1
client: { trusted_proxies: [127.0.0.1], address_from: x-forwarded-for }
identity:
  api_key: { header: X-API-Key, known: known.txt }
  user: { header: X-User-Id }
limits:
  - { name: login, match: { path: "/login/**" }, key: address, algorithm: sliding_window_log, rate: 2/h }
  - { name: per-user, key: user, rate: 3/h }
  - { name: per-key, key: api_key, rate: 4/h }
"""
KEY = "customer-key-1"
TOKEN = "a-s3cret-token-of-26-letters"
CLIENT = "203.0.113.9"


def environment(**more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PENSTOCK_")}
    return {**kept, **more}


def command(*args, folder=None, stdin="", **variables):
    """(exit code, output, errors) of an operator command."""
    done = subprocess.run([harness.BINARY, *args], input=stdin, capture_output=True, text=True, timeout=60,
                          env=environment(**variables), cwd=folder)
    return done.returncode, done.stdout, done.stderr


class Daemon:
    """A daemon with an admin listener, the folder of its policy, and traffic through it."""

    def __init__(self, started, upstream, folder, policy=POLICY, admin="127.0.0.1:0", extra=()):
        self.folder = folder
        (folder / "policy.yaml").write_text(policy)
        (folder / "known.txt").write_text(KEY + "\n")
        (folder / "key.txt").write_text(KEY + "\n")
        self.serve = started(harness.Penstock(
            None, ("-c", str(folder / "policy.yaml"), "--admin", admin, *extra), upstream=upstream.port))
        self.admin = self.serve.wait_for_line(r"admin listening on (?:http://)?(\S+)").group(1)
        self.client = started(harness.Client(self.serve.port))

    def send(self, path="/", address="198.51.100.1", **fields):
        headers = {"X-Forwarded-For": address, **{k.replace("_", "-"): v for k, v in fields.items()}}
        return self.client.send(path=path, headers=headers).status

    def run(self, *args, **more):
        return command(*args, folder=self.folder, **{"PENSTOCK_ADMIN": self.admin, **more})

    def json(self, *args, **more):
        code, out, err = self.run(*args, "--json", **more)
        assert code == 0, err
        assert out.count("\n") == 1, "one line"
        return json.loads(out)


@pytest.fixture
def daemon(started, upstream, tmp_path):
    return lambda **more: Daemon(started, upstream, tmp_path, **more)


# --- the page

def blocks(path):
    """(line, text) of each fenced block of shell commands."""
    text = path.read_text()
    return [(text[:m.start()].count("\n") + 1, textwrap.dedent(m.group(1)))
            for m in re.finditer(r"^```sh\n(.*?)^```$", text, re.M | re.S)]


# At three in the morning nobody repairs a command of the page: each one works as it stands, in the
# order of the page, and every operator command is on it.
def test_the_commands_of_the_page_work(daemon, tmp_path):
    d = daemon()
    for _ in range(5):
        d.send("/login", CLIENT, X_User_Id="42", X_API_Key=KEY)
        d.send("/", X_User_Id="42")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "penstock").symlink_to(os.path.abspath(harness.BINARY))
    path = f"{programs}:{os.environ['PATH']}"
    harness.tool("curl")
    ran = []
    for line, text in blocks(PAGE):
        done = subprocess.run(["/bin/bash", "-euo", "pipefail", "-c", text], cwd=tmp_path, timeout=120,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=environment(PENSTOCK_ADMIN=d.admin, PATH=path))
        assert done.returncode == 0, f"operations.md:{line}:\n{text}\n{done.stdout}{done.stderr}"
        assert '"error"' not in done.stdout, f"operations.md:{line}:\n{done.stdout}"
        ran += re.findall(r"^penstock (\w+)", text, re.M)
    assert {"status", "top", "inspect", "reset", "ban", "unban", "override", "reload", "check"} <= set(ran)
    audit = re.findall(r'"audit":"([\w-]+)".*"outcome":"(\w+)"', d.serve.log)
    assert {a for a, _ in audit} == {"reset", "ban", "unban", "override", "lift-override", "reload"}
    assert {o for _, o in audit} == {"done"}


# The reference names every flag that the commands have, and no other.
def test_the_reference_names_every_flag():
    page = REFERENCE.read_text()
    for name in ("top", "status", "inspect", "reset", "ban", "unban", "override", "reload"):
        code, out, _ = command(name, "--help")
        assert code == 0
        flags = set(re.findall(r"--[a-z-]+", out.split("The token")[0])) - {"--help"}
        assert {f for f in flags if f not in page} == set(), name


# --- what each command does

# A customer is found by address, seen by key, and freed; the counters are what requests feel.
def test_a_customer_is_found_and_freed(daemon):
    d = daemon()
    assert [d.send(X_User_Id="42", address=CLIENT) for _ in range(5)] == [200, 200, 200, 429, 429]
    found = d.json("inspect", "--client", CLIENT)["refusals"]
    assert [(r["limit"], r["key"], r["reason"]) for r in found] == [("per-user", "user:42", "over the limit")] * 2
    assert d.json("inspect", "--client", "203.0.113.1")["refusals"] == []

    state = d.json("inspect", "user:42")["keys"]
    assert [(k["limit"], k["refusing"], k["remaining"]) for k in state] == [("per-user", True, 0)]
    code, out, _ = d.run("inspect", "user:42")
    assert code == 0 and "refused for" in out and "0 of 3" in out and "over the limit" in out
    assert d.run("inspect", "user:7")[1].count("admits") == 1

    assert d.run("reset", "user:42", "--limit", "per-user") == (
        0, "reset user:42 under limit per-user: 1 counter set back to unused\n", "")
    assert d.send(X_User_Id="42") == 200
    assert d.json("inspect", "user:42")["keys"][0]["remaining"] == 2


# A customer's API key stays out of arguments and finds its counter all the same.
def test_an_api_key_is_read_from_standard_input(daemon):
    d = daemon()
    d.send(X_API_Key=KEY)
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    for stdin in (KEY, KEY + "\n", KEY + "\r\n"):
        state = d.json("inspect", "api_key#-", stdin=stdin)["keys"]
        assert [(k["key"], k["remaining"]) for k in state] == [(f"api_key#{digest}", 3)]
    code, _, err = d.run("inspect", "api_key#-")
    assert code == 2 and "standard input" in err


# A ban holds until it is lifted, says why, and is listed.
def test_bans_hold_until_they_are_lifted(daemon):
    d = daemon()
    assert d.send("/login") == 200
    code, out, _ = d.run("ban", "address:198.51.100.1", "--for", "1h", "--reason", "scan")
    assert code == 0 and re.fullmatch(r"banned address:198\.51\.100\.1 until \d{4}-\S+Z\n", out)
    assert d.send("/login") == 429
    assert d.send("/login", CLIENT) == 200
    assert "banned until" in d.run("inspect", "address:198.51.100.1")[1]
    code, out, _ = d.run("status")
    assert code == 0 and re.search(r"address:198\.51\.100\.1 +login +\S+Z +scan", out), out
    assert d.json("status")["bans"][0]["reason"] == "scan"
    assert d.run("unban", "address:198.51.100.1")[1] == "unbanned address:198.51.100.1: 1 ban ended\n"
    assert d.send("/login") == 200
    assert d.run("unban", "address:198.51.100.1") == (0, "address:198.51.100.1 was not banned\n", "")


# An override counts at once, is shown wherever the limit is, and ends by hand or by itself.
def test_overrides_count_at_once(daemon):
    d = daemon()
    assert [d.send("/login") for _ in range(3)] == [200, 200, 429]
    code, out, _ = d.run("override", "login", "4/h", "--for", "1h")
    assert code == 0 and re.fullmatch(r"limit login has 4/h until \S+Z\n", out)
    assert [d.send("/login") for _ in range(3)] == [200, 200, 429]
    assert "4/h (override)" in d.run("status")[1]
    assert [o["limit"] for o in d.json("status")["overrides"]] == ["login"]
    assert d.run("override", "login", "--lift")[1] == "limit login has the quota of the policy file again\n"
    assert d.json("override", "login", "--lift") == {"lifted": 0}
    assert d.run("override", "per-user", "9/h", "burst", "10", "--for", "2s")[0] == 0
    harness.wait_for(lambda: d.json("status")["overrides"] == [], "the override ends by itself")


# A reload says which policy counts now; a broken file keeps the old one and is a usage error.
def test_reload_tells_what_is_in_force(daemon):
    d = daemon()
    before = d.json("status")["policy"]["generation"]
    assert d.run("reload") == (0, f"policy generation {before + 1} is in force\n", "")
    (d.folder / "policy.yaml").write_text(POLICY.replace("3/h", "3/fortnight"))
    code, out, err = d.run("reload")
    assert (code, out) == (2, "") and "error" in err
    code, out, _ = d.run("status")
    assert code == 0 and "degraded: the latest reload was refused" in out


# Every refusal is one line that says where and what to do, with the documented exit code.
def test_wrong_commands_say_what_is_wrong(daemon):
    d = daemon()
    rows = [
        (["inspect", "user:1", "--limit", "per-usr"], 2, 'there is no limit named "per-usr"; did you mean "per-user"?'),
        (["inspect", "colour:red"], 2, "no limit counts by a key like"),
        (["inspect"], 2, "say whose"),
        (["reset", "user:1", "--limit", "nothing"], 2, "there is no limit named"),
        (["ban", "user:1", "--for", "soon"], 2, '"for"'),
        (["ban", "user:1"], 2, "--for"),
        (["ban", "--for", "1h"], 2, "KEY"),
        (["unban", "user:1", "--limit", "logins"], 2, 'did you mean "login"?'),
        (["override", "login"], 2, "say the quota"),
        (["override", "login", "4/h"], 2, "for how long"),
        (["override", "login", "lots", "--for", "1h"], 2, "rate"),
        (["override", "logn", "4/h", "--for", "1h"], 2, 'did you mean "login"?'),
        (["override", "login", "4/h", "--lift"], 2, "--lift takes neither"),
        (["top", "--by", "size"], 2, "--by"),
        (["top", "--window", "2m"], 2, "--window"),
        (["top", "--once", "--every", "0s"], 2, "--every"),
        (["status", "--deadline", "never"], 2, "--deadline"),
        (["status", "--nonsense"], 2, "--nonsense"),
        (["status", "--token-file", "none.txt"], 2, "cannot be read"),
        (["status", "--admin", "192.0.2.1:7070"], 2, "is not this machine"),
        (["status", "--admin", "7070"], 2, "did you mean"),
        (["status", "--admin", f"127.0.0.1:{d.serve.port}"], 1, "is not penstock's admin listener"),
    ]
    for args, want, says in rows:
        code, out, err = d.run(*args)
        assert (code, out) == (want, ""), (args, out, err)
        assert says in err, (args, err)
    assert '"outcome":"done"' not in d.serve.log


# Where nothing listens the sentence says what to do, for TCP and for a socket in the file system.
def test_an_absent_daemon_is_named(tmp_path):
    port = harness.free_port()
    for name in ("status", "top", "reload"):
        code, out, err = command(name, "--admin", f"127.0.0.1:{port}")
        assert (code, out) == (1, "") and f"127.0.0.1:{port}: connection refused" in err and "--admin" in err
    code, _, err = command("status", PENSTOCK_ADMIN=f"unix:{tmp_path}/none.sock")
    assert code == 1 and "no such socket" in err


# The token comes from a file or the environment, and a missing one is told apart from a wrong one.
def test_tokens(daemon, tmp_path):
    d = daemon(policy=POLICY + f"admin: {{ token: {TOKEN} }}\n")
    token_file = tmp_path / "token"
    token_file.write_text(TOKEN + "\n")
    code, _, err = d.run("status")
    assert code == 1 and "--token-file" in err and "PENSTOCK_ADMIN_TOKEN" in err
    code, _, err = d.run("status", PENSTOCK_ADMIN_TOKEN="wr0ng")
    assert code == 1 and "the admin token is wrong" in err and "wr0ng" not in err
    assert d.run("status", "--token-file", "token")[0] == 0
    assert d.run("status", PENSTOCK_ADMIN_TOKEN_FILE=str(token_file))[0] == 0
    assert d.run("status", PENSTOCK_ADMIN_TOKEN=TOKEN)[0] == 0
    assert d.run("status", "--token-file", "token", PENSTOCK_ADMIN_TOKEN="wr0ng")[0] == 0
    for _ in range(10):
        d.run("status", PENSTOCK_ADMIN_TOKEN="wr0ng")
    code, _, err = d.run("status", PENSTOCK_ADMIN_TOKEN=TOKEN)
    assert code == 1 and "try again in a minute" in err


# A socket in the file system works like a port.
def test_a_unix_socket(daemon, tmp_path):
    d = daemon(admin=f"unix:{tmp_path}/admin.sock")
    code, out, err = command("status", PENSTOCK_ADMIN=f"unix:{tmp_path}/admin.sock")
    assert code == 0 and "ready" in out, err


# While Redis is away, what needs it says so, and what does not goes on working.
def test_without_redis(daemon):
    d = daemon(extra=("--store", f"redis://127.0.0.1:{harness.free_port()}"))
    d.send(X_User_Id="42")
    harness.wait_for(lambda: not d.json("status")["store"]["up"], "the outage is noticed")
    assert "DOES NOT ANSWER" in d.run("status")[1]
    for args in (("inspect", "user:42"), ("reset", "user:42")):
        code, out, err = d.run(*args)
        assert (code, out) == (1, "") and "the store does not answer" in err
    assert d.run("ban", "user:42", "--for", "1h")[0] == 0
    assert d.run("override", "login", "4/h", "--for", "1h")[0] == 0
    assert d.run("reload")[0] == 0


# --- hostile texts and peers

HOSTILE = ["\x1b[2J", "\x1b]0;owned\x07", "\u202eevil", "\x9b31m", "\\x1b"]


# What clients choose ends up before an operator's eyes; none of it may reach the terminal as it is.
def test_hostile_texts_are_only_text(daemon):
    policy = POLICY + "  - { name: nobody, match: { path: \"/n/**\" }, key: header(X-T), show: true, rate: 0/h }\n"
    d = daemon(policy=policy)
    for text in HOSTILE:
        octets = text.encode()
        escaped = "".join(f"%{b:02x}" for b in octets)
        d.client.send(path=f"/n/{escaped.replace('%1b', 'x').replace('%07', 'x')}",
                      headers={"X-Forwarded-For": CLIENT, "X-T": octets.replace(b"\x1b", b"").replace(b"\x07", b"")})
    code, _, err = d.run("ban", "address:198.51.100.7", "--for", "1h", "--reason", "".join(HOSTILE))
    assert code == 0, err
    for args in (["top", "--once"], ["status"], ["inspect", "--client", CLIENT], ["inspect", "".join(HOSTILE)],
                 ["status", "--json"], ["top", "--json"], ["override", "".join(HOSTILE), "1/s", "--for", "1h"]):
        _, out, err = d.run(*args)
        bad = [c for c in out + err if c != "\n" and (ord(c) < 32 or 0x7f <= ord(c) < 0xa0 or 0x202a <= ord(c) <= 0x202e)]
        assert bad == [] and "\udc9b" not in out, args
    assert "\\x1b[2J" in d.run("status")[1]


class Peer:
    """Accepts connections and answers each with the same octets, or with silence."""

    def __init__(self, octets):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.octets, self.open = octets, []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                s, _ = self.listener.accept()
            except OSError:
                return
            self.open.append(s)
            if self.octets is None:
                continue
            try:
                s.recv(65536)
                s.sendall(self.octets)
                s.shutdown(socket.SHUT_WR)
            except OSError:
                pass

    def close(self):
        self.listener.close()
        for s in self.open:
            s.close()


# What listens may be anything; the command ends, says so, and repeats none of it raw.
def test_foreign_peers_are_reported(started):
    rows = [
        ("closes at once", b"", "does not speak HTTP"),
        ("no HTTP", b"-ERR unknown command \x1b[2J\r\n", "does not speak HTTP"),
        ("cut off in its head", b"HTTP/1.1 200 OK\r\nContent-Le", "does not speak HTTP"),
        ("cut off in its body", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}", "does not speak HTTP"),
        ("a page", b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", "is not JSON"),
        ("a list", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "is not JSON"),
        ("an error page", b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", "not penstock's admin listener"),
        ("a hostile reason", b"HTTP/1.1 500 X\r\nContent-Length: 22\r\n\r\n{\"error\":\"\\u001b[31m\"}", "\\x1b[31m"),
        ("endless digits", b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n", "does not speak HTTP"),
    ]
    for name, octets, says in rows:
        peer = started(Peer(octets))
        code, out, err = command("reload", "--admin", f"127.0.0.1:{peer.port}")
        assert (code, out) == (1, "") and says in err and "\x1b" not in err, (name, err)


# A daemon that hangs does not hang whoever asks why.
def test_a_deadline_ends_the_wait(started):
    peer = started(Peer(None))
    begun = time.monotonic()
    code, _, err = command("status", "--admin", f"127.0.0.1:{peer.port}", "--deadline", "1s")
    assert code == 1 and "no answer within 1s" in err
    assert 1 <= time.monotonic() - begun < 30


# --- top

# Output that is no terminal gets one picture without control sequences, whole.
def test_top_prints_once_without_a_terminal(daemon):
    d = daemon()
    for _ in range(5):
        d.send(X_User_Id="42")
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    for _ in range(5):
        d.send(X_API_Key=KEY)
    for args in (["top"], ["top", "--once"]):
        code, out, _ = d.run(*args)
        assert code == 0 and "\x1b" not in out
        assert re.search(r"user:42 +per-user +2\n", out) and f"api_key#{digest}" in out, out
    code, out, _ = d.run("top", "--by", "requests")
    assert re.search(r"TOP KEYS BY requests, 1m", out) and re.search(r"user:42 +per-user +5\n", out), out
    answer = d.json("top")
    assert answer["offenders"]["top"][0]["at_least"] == 2
    assert {"limits", "refusals", "requests", "store"} <= set(answer)


class Terminal:
    """A pseudo-terminal with a program in it."""

    def __init__(self, args, env, rows=24, columns=80):
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""

        def own_terminal():
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)

        self.child = subprocess.Popen(args, stdin=self.slave, stdout=self.slave, stderr=self.slave, env=env,
                                      preexec_fn=own_terminal)

    def resize(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        while select.select([self.master], [], [], 0)[0]:
            self.seen += os.read(self.master, 65536)
        return self.seen.decode(errors="replace")

    def wait(self, text, since=0):
        return harness.wait_for(lambda: text in self.read()[since:], f"{text!r} is shown; seen:\n{self.seen!r}")

    def end(self):
        code = self.child.wait(20)
        self.read()
        return code

    def restored(self):
        return termios.tcgetattr(self.slave) == self.before and self.seen.endswith(b"\x1b[?25h\x1b[?1049l")

    def close(self):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def top(started, daemon):
    d = daemon()

    def start(*args, **size):
        return d, started(Terminal([harness.BINARY, "top", "--every", "1s", *args],
                                   environment(PENSTOCK_ADMIN=d.admin), **size))
    return start


# It refreshes in place, takes keys, and gives the terminal back as it was.
def test_top_refreshes_and_leaves_the_terminal_as_it_was(top):
    d, t = top()
    t.wait("q quit")
    assert t.seen.startswith(b"\x1b[?1049h")
    for _ in range(4):
        d.send(X_User_Id="77")
    t.wait("user:77")
    t.wait("(last ")
    at = len(t.read())
    os.write(t.master, b"rw")
    t.wait("BY requests, 10m", at)
    os.write(t.master, b"q")
    assert t.end() == 0 and t.restored(), t.seen[-200:]


@pytest.mark.parametrize("how, code", [("^C", 0), (signal.SIGTERM, 1), (signal.SIGHUP, 1)])
def test_top_restores_the_terminal_however_it_ends(top, how, code):
    _, t = top()
    t.wait("q quit")
    if how == "^C":
        os.write(t.master, b"\x03")
    else:
        t.child.send_signal(how)
    assert t.end() == code and t.restored(), t.seen[-200:]


# A smaller window is drawn anew at once, and no line is wider than it.
def test_top_follows_the_size_of_the_window(top):
    _, t = top(rows=40, columns=160)
    t.wait("q quit")
    at = len(t.read())
    t.resize(10, 30)
    harness.wait_for(lambda: t.read()[at:].count("q quit") >= 2, "it is drawn in the new size")
    pictures = t.read()[at:].split("\x1b[1;1H")
    last = [p for p in pictures if "q quit" in p and p.endswith("\x1b[J")][-1]
    lines = re.split(r"\x1b\[K(?:\x1b\[\d+;1H)?", last.removesuffix("\x1b[J"))[:-1]
    assert len(lines) == 10 and max(map(len, lines)) <= 30, lines


# Ctrl-Z gives the terminal back for the shell, and `fg` draws again.
def test_top_can_be_stopped_and_continued(top):
    _, t = top()
    t.wait("q quit")
    at = len(t.read())
    os.write(t.master, b"\x1a")
    harness.wait_for(lambda: os.waitpid(t.child.pid, os.WNOHANG | os.WUNTRACED)[1] != 0, "it stops")
    t.read()
    assert t.restored()
    os.kill(t.child.pid, signal.SIGCONT)
    t.wait("q quit", at)
    os.write(t.master, b"q")
    assert t.end() == 0 and t.restored()


# A daemon that restarts is exactly when somebody watches: the picture says that it is old, and lives on.
def test_top_outlives_the_daemon(top):
    d, t = top()
    t.wait("q quit")
    d.serve.terminate()
    t.wait("STALE: ")
    assert t.child.poll() is None
    os.write(t.master, b"q")
    assert t.end() == 0 and t.restored()


# The first look decides: a wrong address is an error on the terminal as it is.
def test_top_does_not_take_the_screen_for_an_error(started):
    port = harness.free_port()
    t = started(Terminal([harness.BINARY, "top", "--admin", f"127.0.0.1:{port}"], environment()))
    assert t.end() == 1 and b"connection refused" in t.seen and b"\x1b" not in t.seen
