"""What tests of the command line share: running it in this process, and a core that answers from the documented examples."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from prlx import _core
from prlx.cli import main

_CALL = _core.call
SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "schemas"


@dataclass(frozen=True)
class Ran:
    """What a command line did."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class FakeCore:
    """Answers operations from ``docs/schemas`` and remembers what was asked."""

    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    replies: dict[str, Any] = field(default_factory=dict)

    def run(self, op: str, request: dict[str, Any], *, progress: Any = None) -> dict[str, Any]:
        self.asked.append((op, {key: value for key, value in request.items() if value is not None}))
        if progress is not None:
            progress("reading", 1, 2)
        if op == "recognise":  # what the documented examples are of
            return {"schema": "prlx.recognise/1", "what": "timeline"}
        reply = self.replies.get(op)
        if isinstance(reply, BaseException):
            raise reply
        if reply is None:
            reply = json.loads((SCHEMAS / f"prlx.{'combine' if op == 'align' else op}.1.json").read_text())
        return copy.deepcopy(reply)

    def call(self, op: str, request: dict[str, Any] | None = None) -> dict[str, Any]:
        if op == "parse_toml":  # on CPython 3.10 settings come through the core
            return _CALL(op, request)
        return self.run(op, request or {})

    @property
    def request(self) -> dict[str, Any]:
        """The one request that was made."""
        assert len(self.asked) == 1
        return self.asked[0][1]


@pytest.fixture(autouse=True)
def _clean_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No settings of the person who runs the tests, 100 columns, a folder of one's own."""
    for name in list(os.environ):
        if name.startswith("PRLX_") and name not in ("PRLX_TEST_DATA", "PRLX_DEBUG_OPS"):
            monkeypatch.delenv(name)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def prlx(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run a command line in this process."""

    def run(*words: str | os.PathLike[str]) -> Ran:
        capsys.readouterr()
        code = main([os.fspath(word) for word in words])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> FakeCore:
    """A core that needs no extension."""
    fake = FakeCore()
    monkeypatch.setattr(_core, "run", fake.run)
    monkeypatch.setattr(_core, "call", fake.call)
    return fake
