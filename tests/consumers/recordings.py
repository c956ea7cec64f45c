"""The recordings that the consumers are tried on, and what is known to be true about them."""

from __future__ import annotations

import json
import os
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def directory() -> Path:
    """Where the recordings are: PRLX_TEST_DATA, or shared/data beside the checkout. Skips without them, but not in CI."""
    path = Path(os.environ.get("PRLX_TEST_DATA") or REPOSITORY.parent / "shared" / "data")
    if not path.is_dir():
        missing = f"no recordings at {path}: set PRLX_TEST_DATA"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing, allow_module_level=True)
    return path


def xspaces() -> list[Path]:
    """Every intact public XSpace file and one node of the JAX recordings."""
    root = directory()
    found = [
        path for path in sorted((root / "xplane").glob("*.xplane.pb")) if "60203f9" not in path.name
    ]  # damaged upstream
    return [*found, root / "jax_skew" / "p2" / "node0.xplane.pb"]


def kinetos() -> list[Path]:
    """Every public Chrome / Kineto JSON file."""
    root = directory() / "kineto"
    return sorted(path for path in root.iterdir() if path.name.endswith((".json", ".json.gz")))


def dlrm(into: Path) -> list[Path]:
    """The eight ranks of one DLRM job, unpacked."""
    archive = directory() / "kineto" / "facebookresearch+param__dlrm_kineto.tar.gz"
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            if member.isfile():
                (into / Path(member.name).name).write_bytes(tar.extractfile(member).read())
    return sorted(into.glob("*.json"))


@dataclass(frozen=True)
class Skewed:
    """One set of jax_skew: JAX processes whose wall clocks were wrong by a known amount."""

    name: str

    @property
    def path(self) -> Path:
        return directory() / "jax_skew" / self.name

    @property
    def truth(self) -> dict:
        return json.loads((self.path / "truth.json").read_text())

    @property
    def nodes(self) -> list[int]:
        return [node["node"] for node in self.truth["nodes"]]

    @property
    def traces(self) -> list[Path]:
        return [self.path / f"node{node}.xplane.pb" for node in self.nodes]

    @property
    def probes(self) -> list[Path]:
        return [self.path / f"probes_node{node}.jsonl" for node in self.nodes]

    def true_ns(self, node: int, shown_ns: int) -> int:
        """The true instant at which the node's clock showed shown_ns. Node 0's clock is the true one."""
        truth = self.truth
        anchor, clock = truth["anchor_true_ns"], truth["nodes"][node]

        def before_step(shown: int) -> int:
            elapsed = shown - clock["offset_ns"] - anchor
            return anchor + elapsed - clock["drift_ppb"] * elapsed // (1_000_000_000 + clock["drift_ppb"])

        instant = before_step(shown_ns)
        if clock["step_ns"]:
            stepped = before_step(shown_ns - clock["step_ns"])
            if stepped >= clock["step_at_true_ns"]:
                return stepped
        return instant
