"""What tests of recordings share: a folder with some, and the command line in this process."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from prlx.cli import main

from .recordings import ADD, GUARD, SITES, Event, site_map, softmax


@dataclass(frozen=True)
class Ran:
    """What a command line did."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(autouse=True)
def _clean_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No settings of the person who runs the tests, 100 columns, a folder of one's own."""
    for name in list(os.environ):
        if name.startswith("PRLX_") and name not in ("PRLX_DEBUG_OPS", "PRLX_ORACLE"):
            monkeypatch.delenv(name)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def prlx(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run a command line in this process."""

    def run(*words: str | os.PathLike[str] | int) -> Ran:
        capsys.readouterr()
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


SOURCE = """\
import triton

@triton.jit
def softmax_kernel(x, out, n):
    row = tl.program_id(0)
    total = 0.0

    # the loop
    while n > 0:
        value = load(x + n)
        if value < limit:
            atomic_add(out, value)
        n -= 1
    store(out, total)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """``a.prlx``, ``same.prlx`` (equal) and ``b.prlx``: in warp 1 the guard is decided otherwise in round 2, whose atomic
    follows; in warp 3 a value differs. With the site map and the source."""
    a = softmax()
    a.write(tmp_path / "a.prlx")
    a.write(tmp_path / "same.prlx")
    one = list(a.warps[1])
    at = [k for k, event in enumerate(one) if event.site == GUARD][2]
    one[at : at + 1] = [replace(one[at], dir=1), Event(ADD, 2, 0, value=77)]
    three = list(a.warps[3])
    three[1] = replace(three[1], value=999)
    a.changed(1, one).changed(3, three).write(tmp_path / "b.prlx")
    site_map(tmp_path / "prlx-sites.json", SITES)
    (tmp_path / "softmax.py").write_text(SOURCE)
    return tmp_path
