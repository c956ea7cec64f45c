"""What every Python test shares: the recordings, and operations of the core that fail and block on request."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# A shell that runs us in the background has SIGINT ignored, and nohup SIGHUP; processes inherit that: tests of these signals
# would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Read when the core is loaded, which only tests cause; processes that tests start inherit it.
os.environ["PRLX_DEBUG_OPS"] = "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked ``nightly`` unless PRLX_FULL_SWEEP is set."""
    if os.environ.get("PRLX_FULL_SWEEP"):
        return
    for item in items:
        if item.get_closest_marker("nightly"):
            item.add_marker(pytest.mark.skip(reason="make nightly runs it"))


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of recordings (``PRLX_TEST_DATA``). Without it tests are skipped; in CI they fail."""
    folder = Path(os.environ.get("PRLX_TEST_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        message = f"no recordings at {folder}: set PRLX_TEST_DATA"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return folder.resolve()
