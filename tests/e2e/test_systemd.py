"""deploy/systemd/penstock.service: checked by systemd's own tools, and run by a real systemd in a root of
its own with the Debian package installed."""
import re
import subprocess

import harness
import private_root
import pytest

UNIT = harness.ROOT / "deploy/systemd/penstock.service"


def test_systemd_accepts_the_unit(tmp_path):
    copy = tmp_path / "penstock.service"
    copy.write_text(UNIT.read_text().replace("/usr/bin/penstock", harness.BINARY))
    done = subprocess.run([harness.tool("systemd-analyze"), "verify", "--man=no", "--recursive-errors=no", str(copy)],
                          capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr


# 0 is best, 10 is a service without any protection (9.6). What is left is the network, and being reached
# by unix sockets.
def test_exposure_is_low():
    done = subprocess.run([harness.tool("systemd-analyze"), "security", "--no-pager", "--offline=true", str(UNIT)],
                          capture_output=True, text=True)
    level = re.search(r"Overall exposure level for penstock.service: (\d+\.\d)", done.stdout)
    assert level and float(level.group(1)) <= 1.7, done.stdout + done.stderr


def allowed_calls():
    """The system calls that the unit's SystemCallFilter lines let through, from systemd's own sets."""
    listing = subprocess.run([harness.tool("systemd-analyze"), "syscall-filter"], capture_output=True, text=True).stdout
    sets, current = {}, None
    for line in re.sub(r"\x1b\[[0-9;]*m", "", listing).splitlines():
        if line.startswith("@"):
            current = sets.setdefault(line.strip(), [])
        elif current is not None and line.startswith("    ") and "#" not in line:
            current.append(line.strip())

    def members(name):
        return {name} if name[0] != "@" else set().union(*map(members, sets[name]))

    out = set()
    for sign, names in re.findall(r"^SystemCallFilter=(~?)(.*)$", UNIT.read_text(), re.M):
        named = set().union(*map(members, names.split()))
        out = out - named if sign else out | named
    return out


# A call that the filter forbids fails only when it is made: in production, some day.
def test_the_daemon_makes_no_system_call_that_is_forbidden(started, upstream, client, tmp_path):
    if harness.sanitized():
        pytest.skip("sanitizers make calls of their own")
    policy = tmp_path / "policy.yaml"
    policy.write_text(f"""\
version: 1
gateway:
  listen: "127.0.0.1:0"
  upstream: "http://localhost:{upstream.port}"
  access_log: {{ mode: all, path: "{tmp_path}/log" }}
decision: {{ http: "unix:{tmp_path}/decision" }}
admin: {{ listen: "127.0.0.1:0" }}
health: {{ listen: "127.0.0.1:0" }}
limits: [{{ name: all, key: address, rate: 100/h }}]
""")
    trace = tmp_path / "trace"
    strace = [harness.tool("strace"), "-f", "-qq", "-o", str(trace)]
    traced = started(harness.Process([*strace, harness.BINARY, "serve", "-c", str(policy)], "serve"))
    ports = {face: int(traced.wait_for_line(rf"{face} listening on http://127\.0\.0\.1:(\d+)", 60).group(1))
             for face in ("gateway", "admin", "health")}
    assert client(ports["gateway"]).send().status == 200
    assert client(ports["health"]).send(path="/metrics").status == 200
    assert client(ports["admin"]).send(path="/").status == 200
    policy.write_text(policy.read_text().replace("100/h", "90/h"))
    traced.wait_for_line("generation 2 is in force", 60)
    pid = trace.read_text().split()[0]
    subprocess.run(["kill", "-TERM", pid], check=True)
    traced.child.wait(60)
    used = set(re.findall(r"^\d+ +([a-z]\w*)\(", trace.read_text(), re.M))
    assert len(used) > 30 and "epoll_wait" in used
    assert used - allowed_calls() == set()


@pytest.fixture(scope="module")
def machine():
    if harness.sanitized():
        pytest.skip("sanitizers make calls that the unit forbids")
    root = private_root.PrivateRoot(boot=True)
    try:
        root.install()
        yield root
    finally:
        root.close()
        private_root.remove_package()


def shown(machine, *properties):
    text = machine.sure("systemctl", "show", "penstock", *(f"-p{p}" for p in properties))
    return dict(line.split("=", 1) for line in text.splitlines())


def wait_until_served(machine, port=7071):
    harness.wait_for(lambda: machine.get(port, "/readyz")[0] == 200, "the service is ready", 60)


# Installing is all there is to do: the service runs, as nobody in particular, and decides.
def test_installed_means_running(machine):
    wait_until_served(machine)
    now = shown(machine, "ActiveState", "User", "MainPID")
    assert now["ActiveState"] == "active" and now["User"] == "penstock"
    assert machine.get(8081, "/v1/auth")[0] == 200
    status = machine.sure("cat", f"/proc/{now['MainPID']}/status")
    assert re.search(r"^NoNewPrivs:\t1$", status, re.M) and re.search(r"^Seccomp:\t2$", status, re.M)
    assert re.search(r"^CapEff:\t0000000000000400$", status, re.M)  # CAP_NET_BIND_SERVICE alone


# A mistake must not reach the daemon, and whoever types the command must see it.
def test_reload_checks_first(machine):
    policy = "version: 1\ndecision: { http: '127.0.0.1:8081' }\nhealth: { listen: '127.0.0.1:7071' }\nlimits:\n"
    wait_until_served(machine)
    machine.write("/etc/penstock/policy.yaml", policy + "  - { name: none, key: address, rate: 0 }\n")
    machine.sure("systemctl", "reload", "penstock")
    harness.wait_for(lambda: machine.get(8081, "/v1/auth")[0] == 429, "the new policy is in force")
    machine.write("/etc/penstock/policy.yaml", policy + "  - { name: none, key: adress, rate: 0 }\n")
    assert machine.run("systemctl", "reload", "penstock")[0] != 0
    assert machine.get(8081, "/v1/auth")[0] == 429
    assert shown(machine, "ActiveState")["ActiveState"] == "active"


# A crash is over in a moment; a configuration that cannot be used is not tried again and again.
def test_a_crash_restarts_and_a_mistake_does_not(machine):
    good = "version: 1\ndecision: { http: '127.0.0.1:80' }\nhealth: { listen: '127.0.0.1:7071' }\nlimits: []\n"
    machine.write("/etc/penstock/policy.yaml", good)
    machine.sure("systemctl", "restart", "penstock")  # on a port that only root may have
    wait_until_served(machine)
    assert machine.get(80, "/v1/auth")[0] == 200
    before = shown(machine, "MainPID")["MainPID"]
    machine.sure("kill", "-KILL", before)
    harness.wait_for(lambda: shown(machine, "MainPID")["MainPID"] not in (before, "0"), "it is started again", 60)
    wait_until_served(machine)

    machine.write("/etc/penstock/policy.yaml", "version: 2\n")
    machine.run("systemctl", "restart", "penstock")
    harness.wait_for(lambda: shown(machine, "ActiveState")["ActiveState"] == "failed", "it gives up", 60)
    assert shown(machine, "ExecMainStatus", "NRestarts") == {"ExecMainStatus": "2", "NRestarts": "0"}
    machine.write("/etc/penstock/policy.yaml", good)
    machine.sure("systemctl", "restart", "penstock")
    wait_until_served(machine)


# A new process takes over under the unit's restrictions, and systemd knows it from then on.
def test_a_rolling_restart_is_followed(machine):
    wait_until_served(machine)
    before = shown(machine, "MainPID")["MainPID"]
    machine.sure("systemctl", "kill", "--kill-who=main", "-s", "USR2", "penstock")
    harness.wait_for(lambda: shown(machine, "MainPID")["MainPID"] not in (before, "0"), "another process is the main one")
    harness.wait_for(lambda: machine.run("test", "-d", f"/proc/{before}")[0] != 0, "the old process is gone", 60)
    assert shown(machine, "ActiveState", "NRestarts")["ActiveState"] == "active"
    assert machine.get(7071, "/readyz")[0] == 200
    machine.sure("systemctl", "reload", "penstock")


# The file system is not its own, but for what the unit gives it.
def test_it_writes_only_where_it_should(machine):
    wait_until_served(machine)
    pid = shown(machine, "MainPID")["MainPID"]
    inside = ["nsenter", "-t", pid, "-m", "-r", "setpriv", "--reuid", "penstock", "--regid", "penstock", "--clear-groups"]
    for folder, fine in {"/etc/penstock": False, "/usr/bin": False, "/var/lib": False, "/home": False,
                         "/run/penstock": True, "/var/log/penstock": True, "/tmp": True}.items():
        assert (machine.run(*inside, "test", "-w", folder)[0] == 0) == fine, folder


# Stopping is not a failure, and the package takes its service along when it goes.
def test_stop_and_remove(machine):
    machine.sure("systemctl", "restart", "penstock")
    wait_until_served(machine)
    machine.sure("systemctl", "stop", "penstock")
    assert shown(machine, "Result", "ExecMainStatus") == {"Result": "success", "ExecMainStatus": "0"}
    machine.sure("systemctl", "start", "penstock")
    machine.sure("dpkg", "-P", "penstock")
    assert machine.run("systemctl", "is-active", "penstock")[1].strip() != "active"
    assert machine.get(7071, "/livez")[0] == 0
