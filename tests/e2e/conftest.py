"""Fixtures: each hands out factories whose products are closed at the end of the test."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402
from harness import started  # noqa: E402, F401


@pytest.fixture
def upstream(started):
    return started(harness.Upstream())


@pytest.fixture
def serve(started, upstream):
    """serve(policy, *args) starts `penstock serve` in front of the upstream."""
    return lambda policy=None, *args, **more: started(
        harness.Penstock(policy, args, upstream=upstream.port, **more))


@pytest.fixture
def client(started):
    return lambda port, source="127.0.0.1": started(harness.Client(port, source))
