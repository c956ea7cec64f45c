"""What the samples of ``measure_commits.py`` share."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).resolve().parent
TRITON = Path(os.environ.get("PRLX_TRITON", HERE.parents[1] / "build/triton")) / "3.9.0"
NAMES = ("measure_commits", "pairs")


@pytest.fixture
def measure_commits(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The script as a module, without what it imports from this folder staying behind."""
    if not (TRITON / "triton").is_dir():
        pytest.skip("no Triton under build/triton/3.9.0")
    monkeypatch.syspath_prepend(str(HERE))
    for name in NAMES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    import measure_commits

    yield measure_commits
    for name in NAMES:
        monkeypatch.delitem(sys.modules, name, raising=False)
