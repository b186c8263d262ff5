"""The Debian package of the build under test, and a root to install it in: this machine's file system
under a layer that is thrown away, in namespaces of its own, with systemd as process 1 if wanted.
Needs root; where a kernel or a container does not let it be made, tests skip with the reason."""
import base64
import functools
import os
import pathlib
import shutil
import subprocess
import tempfile

import harness
import pytest

MAKE = r"""
set -e
mount --make-rprivate /
m=$1/root
mount -t tmpfs -o size=2g layer $1
mkdir $1/upper $1/work $m
mount -t overlay overlay -o lowerdir=/,upperdir=$1/upper,workdir=$1/work $m
mount -t proc proc $m/proc
mount --bind $m/proc/sys $m/proc/sys
mount -o remount,ro,bind $m/proc/sys
mount -t sysfs -o ro sysfs $m/sys
mount -t tmpfs run $m/run
mount -t tmpfs tmp $m/tmp
mount -t tmpfs -o mode=755 dev $m/dev
for node in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0; do
  IFS=: read name major minor <<<$node
  mknod -m 666 $m/dev/$name c $major $minor
done
ln -s /proc/self/fd $m/dev/fd
mkdir $m/dev/pts $m/dev/shm $m/dev/mqueue
mount -t devpts -o newinstance,ptmxmode=666 devpts $m/dev/pts
mount -t tmpfs shm $m/dev/shm
ln -s pts/ptmx $m/dev/ptmx
# Nothing of this machine's services: only what a unit asks for itself.
rm -rf $m/etc/fstab $m/etc/systemd/system $m/usr/sbin/policy-rc.d $m/var/lib/man-db/auto-update
mkdir -p $m/etc/systemd/system
find $m/lib/systemd/system/ -maxdepth 1 -name '*.wants' -exec rm -rf {} +
for target in idle sysinit basic network-online; do
  printf '[Unit]\nDescription=%s\n' $target >$m/etc/systemd/system/$target.target
done
if [ "$2" = boot ]; then
  mount -t cgroup2 cgroup2 $m/sys/fs/cgroup
  exec chroot $m env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --unit=idle.target --log-target=console --show-status=no
fi
exec chroot $m sleep infinity
"""
# systemd makes its groups under the one that its namespace shows as the root: not the machine's.
OWN_GROUP = r"""
set -e
mount --make-rprivate /
mount -t tmpfs group $1
mkdir $1/all
mount -t cgroup2 cgroup2 $1/all
mkdir $1/all/$2
echo $$ >$1/all/$2/cgroup.procs
umount $1/all && umount $1
exec unshare --cgroup --pid --fork --kill-child --net --uts --ipc bash -c "$3" make $1 boot
"""
REMOVE_GROUP = 'mount -t cgroup2 cgroup2 $1; find $1/$2 -depth -type d -exec rmdir {} +'
ALONE = 'exec unshare --pid --fork --kill-child --net --uts --ipc bash -c "$2" make $1 plain'


@functools.cache
def package():
    """The package of the folder that the binary was built in, made without building anything."""
    build = pathlib.Path(harness.BINARY).parent
    if not (build / "CPackConfig.cmake").exists():
        pytest.skip(f"{build} is not a build folder")
    folder = tempfile.mkdtemp(prefix="penstock-package-")
    done = subprocess.run([harness.tool("cpack"), "-G", "DEB", "-B", folder, "--config", "CPackConfig.cmake"],
                          cwd=build, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(pathlib.Path(folder).glob("*.deb"))


def remove_package():
    if package.cache_info().currsize:
        shutil.rmtree(package().parent, ignore_errors=True)
        package.cache_clear()


class PrivateRoot:
    def __init__(self, boot=False):
        if os.getuid() != 0:
            pytest.skip("a private root can only be made by root")
        for name in ("unshare", "nsenter", "dpkg"):
            harness.tool(name)
        if boot and not os.path.exists("/lib/systemd/systemd"):
            harness.not_installed("systemd", "scripts/setup build test")
        self.group = f"penstock-e2e-{os.getpid()}" if boot else None
        self.layer = tempfile.mkdtemp(prefix="penstock-root-")
        command = ["unshare", "--mount", "bash", "-c"]
        command += [OWN_GROUP, "own", self.layer, self.group, MAKE] if boot else [ALONE, "alone", self.layer, MAKE]
        self.process = harness.Process(command, "root")
        self.inner = None
        try:
            self.inner = harness.wait_for(lambda: self.process.child.poll() is not None or self.find_inner(),
                                          "the private root is there", 60)
            if self.process.child.poll() is None and boot:
                harness.wait_for(lambda: self.process.child.poll() is not None or self.run(
                    "systemctl", "is-system-running")[1].strip() in ("running", "degraded"), "systemd runs", 60)
            if self.process.child.poll() is not None:
                pytest.skip(f"no private root can be made here: {self.process.log[-300:]}")
        except BaseException:
            self.close()
            raise

    def find_inner(self):
        """Process 1 of the namespace, once it has become what it is to be."""
        pid = str(self.process.child.pid)
        try:
            for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                if os.path.basename(os.readlink(f"/proc/{child}/exe")) in ("systemd", "sleep"):
                    return child
        except OSError:
            pass
        return None

    def run(self, *command, text=None, seconds=120):
        """A command inside: (exit code, what it printed)."""
        done = subprocess.run(["nsenter", "-t", self.inner, "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w", "env", "-i",
                               "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", *command],
                              input=text or "", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=seconds)
        return done.returncode, done.stdout

    def sure(self, *command, **more):
        code, out = self.run(*command, **more)
        assert code == 0, f"{command}: {out}\n{self.process.log[-2000:]}"
        return out

    def write(self, path, text):
        self.sure("tee", path, text=text)

    def install(self):
        """Copies the package inside and installs it."""
        self.sure("sh", "-c", "base64 -d > /tmp/penstock.deb", text=base64.b64encode(package().read_bytes()).decode())
        return self.sure("dpkg", "--force-confold", "--force-unsafe-io", "-i", "/tmp/penstock.deb")

    def get(self, port, path="/"):
        """(status, body) of a request to a loopback port inside; (0, "") when nobody answers. To a decision
        listener it is the question of a proxy about GET /."""
        code, out = self.run("/usr/bin/python3", "-c", GET, f"http://127.0.0.1:{port}{path}")
        assert code == 0, out
        status, _, body = out.partition(" ")
        return int(status), body

    def remove_group(self):
        return not self.group or not os.path.exists(self.layer) or subprocess.run(
            ["unshare", "--mount", "bash", "-c", REMOVE_GROUP, "remove", self.layer, self.group],
            capture_output=True).returncode == 0

    def close(self):
        self.process.child.kill()  # --kill-child: with everything inside
        self.process.child.wait()
        self.process.close()
        if isinstance(self.inner, str):
            harness.wait_for(self.remove_group, "its groups are gone")
        else:
            self.remove_group()  # there may be none: nothing could be made here
        shutil.rmtree(self.layer, ignore_errors=True)


GET = """
import sys, urllib.request, urllib.error
try:
    asked = {"X-Original-Method": "GET", "X-Original-URI": "/", "X-Forwarded-For": "203.0.113.9"}
    request = urllib.request.Request(sys.argv[1], headers=asked)
    with urllib.request.urlopen(request, timeout=20) as a: print(a.status, a.read().decode(), end="")
except urllib.error.HTTPError as e: print(e.code, e.read().decode(), end="")
except OSError: print(0, "", end="")
"""

