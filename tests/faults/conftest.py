"""The fixtures of the end-to-end tests, and a test that recorded a bad row is a failed test."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import harness  # noqa: E402
from harness import started  # noqa: E402, F401
from gateway_peers import Nginx  # noqa: E402
import report  # noqa: E402


@pytest.fixture(autouse=True)
def rows_hold():
    before = len(report.rows)
    yield
    bad = [f"{r['row']}: {r['what']}: expected {r['expected']}, measured {r['measured']}"
           for r in report.rows[before:] if r["ok"] is False]
    assert not bad, "\n".join(bad)


@pytest.fixture
def api(started, tmp_path):
    return started(Nginx(tmp_path / "api"))


@pytest.fixture
def upstream(started):
    return started(harness.Upstream())
