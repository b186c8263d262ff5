"""A network of one test's own, in which packets may be lost without anybody else noticing.

inside(function) calls it on a thread in a new network namespace; every socket, thread and process
that it makes lives there. Needs root, iproute2 and nftables.
"""
import ctypes
import functools
import os
import subprocess
import threading

import harness
import pytest

CLONE_NEWNET = 0x40000000


def inside(function):
    @functools.wraps(function)
    def wrapped(*args, **fixtures):
        ip, nft = harness.tool("ip"), harness.tool("nft")
        assert nft
        outcome = []

        def run():
            try:
                if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
                    raise PermissionError(os.strerror(ctypes.get_errno()))
                subprocess.run([ip, "link", "set", "lo", "up"], check=True)
                function(*args, **fixtures)
            except BaseException as e:  # handed to the thread that waits
                outcome.append(e)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        if outcome and isinstance(outcome[0], PermissionError) and os.geteuid() != 0 and os.environ.get("CI") != "true":
            pytest.skip("a network of one's own needs root")
        if outcome:
            raise outcome[0]
    return wrapped


def drop(*rules):
    """From now on packets that match one of `rules` (of nft) are lost; without rules: none."""
    text = "add table inet faults\nflush table inet faults\n"
    if rules:
        text += "add chain inet faults out { type filter hook output priority 0; }\n"
        text += "".join(f"add rule inet faults out {rule} drop\n" for rule in rules)
    subprocess.run([harness.tool("nft"), "-f", "-"], input=text, text=True, check=True)
