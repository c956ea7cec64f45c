"""Triton for the tests of the simulator: each version in a process of its own, from the folders that ``make`` fills."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
TRITON = Path(os.environ.get("PRLX_TRITON", ROOT / "build/triton"))
NEEDED = ("3.5.1", "3.6.0", "3.9.0")
VERSIONS = (*NEEDED, "3.7.1", "3.8.0") if os.environ.get("PRLX_TRITON_ALL") else NEEDED


def require(version: str) -> Path:
    """The folder of a version of Triton; without it the test is skipped, in CI it fails."""
    folder = TRITON / version
    if (folder / "triton").is_dir():
        return folder
    if os.environ.get("CI") == "true" and version in NEEDED and not (version == "3.9.0" and sys.version_info < (3, 11)):
        pytest.fail(f"Triton {version} is not under {TRITON}: make test-python installs it")
    pytest.skip(f"no Triton {version} under {TRITON}")


def variables(folder: Path) -> dict[str, str]:
    """What a process needs that imports one Triton."""
    # Compiled kernels are kept between runs: Triton's key holds everything that they depend on.
    cache = TRITON / "cache" / f"{folder.name}-{sys.implementation.cache_tag}"
    # Triton 3.9 warns where nobody said whether products and sums are fused.
    return {"PYTHONPATH": str(folder), "TRITON_CACHE_DIR": str(cache), "TRITON_DEFAULT_FP_FUSION": "1"}


def environment(folder: Path, **more: str) -> dict[str, str]:
    """The environment of a process with one Triton, without settings of the person who runs the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PRLX_", "TRITON_"))}
    return {**kept, **variables(folder), "NO_COLOR": "1", **more}


def python(
    folder: Path, *words: str | Path, cwd: Path | None = None, seconds: int = 600, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run this Python on some words with one Triton."""
    return subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=cwd, env=environment(folder, **more), capture_output=True, text=True, timeout=seconds, check=False,
    )  # fmt: skip


@pytest.fixture(params=VERSIONS)
def triton(request: pytest.FixtureRequest) -> Path:
    """The folder of one version of Triton."""
    return require(request.param)


def torch_environment(folder: Path) -> dict[str, str]:
    """What makes torch importable beside a Triton; without torch the test is skipped."""
    torch = TRITON.parent / "torch"
    if not (torch / "stubs").is_dir():
        pytest.skip(f"no torch under {torch}: make corpus installs it")
    return {"PYTHONPATH": f"{folder}{os.pathsep}{torch}", "LD_LIBRARY_PATH": str(torch / "stubs")}
