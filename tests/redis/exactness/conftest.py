"""The fixture that ends what a test started, as everywhere."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from harness import started  # noqa: E402, F401
