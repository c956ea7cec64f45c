"""Both differs, behind one face: a list of flags goes in, the document or a refusal comes out."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from prlx import _core
from prlx._errors import PrlxError

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("PRLX_ORACLE", ROOT / "build/oracle/prlx/data/bin/prlx-diff"))

SWITCHES = {
    "--values": "values",
    "--force": "force",
    "--cross-gpu": "cross_gpu",
    "--continue-after-path": "continue_after_path",
    "--ignore-active-mask": "ignore_active_mask",
}
NUMBERS = {"--limit": "limit", "--lookahead": "lookahead", "--max-allowed-divergences": "max_divergences"}
TEXTS = {"--warps": "warps", "--filter-kind": "kinds", "--filter-sites": "sites"}
MAPS = {"--map": "site_map", "--remap-a": "remap_a", "--remap-b": "remap_b"}
OUTPUTS = {"--csv": "csv", "--export-flamegraph": "chrome"}


@dataclass(frozen=True)
class Answer:
    """What a differ said. Without a document it refused, and ``why`` says why."""

    text: str
    passed: bool
    why: str

    @property
    def refused(self) -> bool:
        return not self.text

    @property
    def document(self) -> Any:
        return json.loads(self.text)

    @property
    def ordered(self) -> str:
        """The document's text with the one thing put in order that the binary prints in the order of a hash table."""
        document = self.document
        if "divergence_breakdown" in document:
            document["divergence_breakdown"] = dict(sorted(document["divergence_breakdown"].items()))
        return json.dumps(document, indent=2, ensure_ascii=False)


class Oracle:
    """The binary."""

    def __init__(self, binary: Path) -> None:
        self.binary = binary

    def raw(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("RUST_")}
        line = [str(self.binary), *map(str, arguments)]
        return subprocess.run(line, capture_output=True, text=True, timeout=600, env=environment, check=False)

    def __call__(self, a: Path, b: Path, flags: Sequence[object] = ()) -> Answer:
        ran = self.raw(a, b, "--json", *flags)
        assert ran.returncode in (0, 1), ran.stderr
        return Answer(ran.stdout.rstrip("\n"), ran.returncode == 0, ran.stderr)


class Ours:
    """The operations ``diff_compat`` and ``session_diff_compat``, as ``prlx diff --compat`` asks for them."""

    def __call__(self, a: Path, b: Path, flags: Sequence[object] = ()) -> Answer:
        request: dict[str, Any] = {"a": str(a), "b": str(b), "lookahead": 32, "overwrite": True, "outputs": []}
        op = "diff_compat"
        rest = iter(map(str, flags))
        for flag in rest:
            if flag in SWITCHES:
                request[SWITCHES[flag]] = True
            elif flag in NUMBERS:
                request[NUMBERS[flag]] = int(next(rest))
            elif flag in OUTPUTS:
                request["outputs"].append({"format": OUTPUTS[flag], "path": next(rest)})
            elif flag == "--session":
                op = "session_diff_compat"
            else:
                request[(TEXTS | MAPS)[flag]] = next(rest)
        try:
            reply = _core.run(op, request)
        except PrlxError as error:
            return Answer("", False, f"{type(error).__name__}: {error}")
        return Answer(reply["text"].rstrip("\n"), reply["passed"], "\n".join(reply["warnings"]))


@pytest.fixture(scope="session")
def oracle() -> Oracle:
    if not BINARY.is_file():
        if os.environ.get("CI"):
            pytest.fail(f"{BINARY} is missing: make build/oracle/.ready fetches it")
        pytest.skip("original prlx 0.5 is not there: make build/oracle/.ready fetches it")
    return Oracle(BINARY)


@pytest.fixture(scope="session")
def ours() -> Ours:
    return Ours()
