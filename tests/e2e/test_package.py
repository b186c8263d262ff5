"""The Debian package: built from the build under test without building anything, then installed, run,
removed and purged by the real dpkg in a root of its own."""
import re
import subprocess

import harness
import private_root
import pytest


@pytest.fixture(scope="module")
def deb():
    yield private_root.package()
    private_root.remove_package()


def field(deb, name):
    return subprocess.run(["dpkg-deb", "-f", str(deb), name], capture_output=True, text=True, check=True).stdout.strip()


# A missing dependency is found by the first user whose machine lacks it; a wrong one keeps people out.
def test_it_depends_on_what_the_binary_links(deb, tmp_path):
    linked = subprocess.run(["ldd", harness.BINARY], capture_output=True, text=True, check=True).stdout
    depends = field(deb, "Depends")
    names = {"libc.so": "libc6", "libstdc++.so": "libstdc++6", "libssl.so": "libssl3", "libyaml-cpp.so": "libyaml-cpp"}
    for library, package in names.items():
        assert (library in linked) == bool(re.search(rf"(^|, ){re.escape(package)}", depends)), (library, depends)
    assert "adduser" in depends and "init-system-helpers" in depends
    assert "-dev" not in depends


# What dpkg keeps when an administrator has changed it.
def test_configuration_is_kept(deb):
    conffiles = subprocess.run(["dpkg-deb", "-I", str(deb), "conffiles"], capture_output=True, text=True).stdout
    assert conffiles.split() == ["/etc/default/penstock", "/etc/penstock/policy.yaml"]


def test_the_changelog_names_this_version(deb):
    first = (harness.ROOT / "deploy/debian/changelog").read_text().splitlines()[0]
    assert first.startswith(f"penstock ({field(deb, 'Version')}) ")
    assert harness.run("version")[1] == f"penstock {field(deb, 'Version')}\n"


def test_lintian_finds_nothing(deb):
    done = subprocess.run([harness.tool("lintian"), "--allow-root", "--fail-on", "error,warning", str(deb)],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


# The page would otherwise speak of commands that are gone.
def test_the_manual_names_commands_that_exist():
    page = (harness.ROOT / "docs/penstock.1").read_text()
    names = re.findall(r"^\.TP\n\.B (\w+)$", page[page.index(".SH COMMANDS"):page.index(".SH ENVIRONMENT")], re.M)
    assert {"serve", "check", "explain", "version"} <= set(names)
    for name in names:
        assert harness.run(name, "--help")[0] == 0, name


# The life of a package on a machine: what it brings works, removing keeps the configuration, purging
# leaves nothing but the user.
def test_install_run_remove_purge(deb, started):
    root = started(private_root.PrivateRoot())
    root.install()
    assert "install ok installed" in root.sure("dpkg-query", "-s", "penstock")
    assert root.sure("penstock", "version").startswith("penstock ")
    assert root.sure("penstock", "check", "/etc/penstock/policy.yaml").startswith("/etc/penstock/policy.yaml: fine")
    assert re.fullmatch(r"penstock:x:\d+:\d+:.*:/nonexistent:/usr/sbin/nologin\n",
                        root.sure("getent", "passwd", "penstock"))
    assert root.sure("stat", "-c", "%a %U", "/etc/default/penstock") == "640 root\n"
    # It is to start with the machine.
    root.sure("test", "-L", "/etc/systemd/system/multi-user.target.wants/penstock.service")
    # As the unit's user, with the shipped policy.
    as_penstock = ("setpriv", "--reuid", "penstock", "--regid", "penstock", "--clear-groups", "--no-new-privs")
    root.sure(*as_penstock, "sh", "-c", """
        penstock serve -c /etc/penstock/policy.yaml 2>/tmp/log & pid=$!
        until grep -q 'health listening' /tmp/log; do kill -0 $pid || { cat /tmp/log; exit 1; }; done
        kill $pid && wait $pid""")

    root.write("/etc/penstock/policy.yaml", "version: 1  # mine\n")
    root.install()  # the same again: an upgrade
    assert root.sure("cat", "/etc/penstock/policy.yaml") == "version: 1  # mine\n"

    root.sure("dpkg", "-r", "penstock")
    assert root.run("sh", "-c", "command -v penstock")[0] != 0
    assert root.sure("cat", "/etc/penstock/policy.yaml") == "version: 1  # mine\n"
    root.sure("dpkg", "-P", "penstock")
    find = ["find", "/etc", "/usr", "/lib/systemd", "/var/log", "-name", "*penstock*"]
    assert root.sure(*find) == subprocess.run(find, capture_output=True, text=True).stdout
    assert root.sure("dpkg-query", "-f", "${db:Status-Status}", "-W", "base-files") == "installed"
    assert root.run("dpkg-query", "-W", "penstock")[0] != 0


# The image is not built here; its description is at least well-formed, and careful where a linter can tell.
def test_the_container_file_is_accepted():
    file = harness.ROOT / "deploy/container/Containerfile"
    done = subprocess.run([harness.pinned_tool("hadolint"), str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r"^USER (\S+)", file.read_text(), re.M) == ["65532:65532"]
    entry = re.search(r'^ENTRYPOINT \["(.*)"\]', file.read_text(), re.M).group(1)
    assert entry == "/usr/bin/penstock"  # where the package puts it; and `sleep` for preStop is in Debian
