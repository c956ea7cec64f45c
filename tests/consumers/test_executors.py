"""``executor=`` with Ray and with MPI, as users run them: the same bytes as without."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import environments
import pytest

import prlx as package

HERE = Path(__file__).parent
# Ray asks about tokens and counts its users; MPI as root wants to be told that this is meant.
QUIET = {
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "HYDRA_IFACE": "lo",
}


@pytest.mark.parametrize("engine", ["ray", "mpi"])
def test_an_engine_writes_the_same_bytes(engine, tmp_path):
    if not environments.ENGINES.ready:
        pytest.skip(f"engines are not installed: {', '.join(environments.ENGINES.requirements)}")
    inputs = environments.REPOSITORY / "examples/jax_p4"
    here = package.combine_traces(inputs, output=tmp_path / "here", progress=False)
    python = environments.ENGINES.python
    words = [HERE / "readers/combine_on.py", engine, inputs, tmp_path / "there", tmp_path / "answers.json"]
    command = [python, *words]
    if engine == "mpi":
        command = [python.parent / "mpiexec", "-n", "3", python, "-m", "mpi4py.futures", *words]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PRLX_")}
    home = tmp_path / "home"  # engines write where they are at home
    home.mkdir()
    package_folder = Path(package.__file__).parents[1]
    done = subprocess.run(
        [*map(str, command)],
        env={**kept, **QUIET, "PYTHONPATH": str(package_folder), "HOME": str(home), "RAY_TMPDIR": "/tmp"},
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, f"{engine}: exit {done.returncode}\n{done.stderr[-4000:]}"
    answer = json.loads((tmp_path / "answers.json").read_text())
    assert answer["prlx"] == str(Path(package.__file__).parent)
    assert answer["elsewhere"], "the engine has no worker of its own"
    assert answer["status"] == here.status
    assert answer["sums"] == [one.sha256 for one in here.outputs]
