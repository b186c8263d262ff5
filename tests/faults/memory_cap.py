"""A group of processes that may have so much memory and no more: a memory cgroup, version 1 or 2."""
import os
import pathlib
import re

import harness
import pytest

ROOT = pathlib.Path("/sys/fs/cgroup")


def parent():
    """(folder in which a group may be made, version). Below or beside this process's own, so that whatever
    bounds this process bounds the group, too."""
    own = dict(line.split(":", 2)[1:] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines())
    for controllers, path in own.items():
        if "memory" in controllers.split(","):
            return ROOT / "memory" / path.lstrip("/"), 1
    # A group that has processes cannot hand the controller on; the nearest above it that does so can.
    folder = ROOT / own.get("", "/").lstrip("/")
    while folder.is_relative_to(ROOT):
        if "memory" in (folder / "cgroup.subtree_control").read_text().split():
            return folder, 2
        folder = folder.parent
    pytest.skip("no memory cgroup here")


class MemoryCap:
    def __init__(self, octets):
        try:
            above, self.version = parent()
            self.folder = above / f"penstock-faults-{os.getpid()}"
            self.folder.mkdir()
            self.write({1: "memory.limit_in_bytes", 2: "memory.max"}[self.version], octets)
        except OSError as failed:
            pytest.skip(f"no memory cgroup can be made here: {failed}")
        # Without swap the bound is a bound. Not every system has the file.
        swap, most = {1: ("memory.memsw.limit_in_bytes", octets), 2: ("memory.swap.max", 0)}[self.version]
        if (self.folder / swap).exists():
            self.write(swap, most)

    def write(self, name, value):
        (self.folder / name).write_text(str(value))

    @property
    def enter(self):
        """The shell's command for it."""
        return f"echo $$ > '{self.folder}/cgroup.procs'"

    def peak(self):
        """Most octets that were in use at once; None where the system does not say."""
        file = self.folder / {1: "memory.max_usage_in_bytes", 2: "memory.peak"}[self.version]
        return int(file.read_text()) if file.exists() else None

    def killed(self):
        """How many of its processes the system has killed."""
        text = (self.folder / {1: "memory.oom_control", 2: "memory.events"}[self.version]).read_text()
        return int(re.search(r"^oom_kill (\d+)", text, re.M).group(1))

    def close(self):
        def gone():
            try:
                self.folder.rmdir()
            except OSError:
                return False  # a process of it is still ending
            return True
        harness.wait_for(gone, "the group is removed")
