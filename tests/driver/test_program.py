"""Programs that know nothing of prlx, over the CUDA driver of the simulator: ``prlx simulate -- CMD``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TRITON = HERE.parents[1] / "build" / "triton"


def simulate(*command, cwd, check=True, **environment):
    return subprocess.run(
        [sys.executable, "-m", "prlx", "simulate", *map(str, command)],
        cwd=cwd, env={**os.environ, "TRITON_CACHE_DIR": str(cwd / "cache"), **environment},
        capture_output=True, text=True, timeout=300, check=check,
    )  # fmt: skip


@pytest.fixture(scope="session")
def api(tmp_path_factory):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    program = tmp_path_factory.mktemp("driver") / "api"
    subprocess.run(
        ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o", program, HERE / "api.c", "-lpthread", "-ldl"],
        check=True,
    )
    return program


def test_a_program_in_c_calls_the_driver_as_it_is_documented(api, tmp_path):
    done = simulate("--", api, cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "1 device, prlx simulator sm_80, 166912 bytes of shared memory",
        "device 1: 101 there is one device, number 0, and not number 1",
        "copied 7 7",
        "too much: 1 " + done.stdout.split("too much: 1 ")[1].split("\n")[0],
        "range 1 64",
        "no pointer: 1 0x3039 is no memory of the device",
        "machine code: 209 the image is machine code: the simulator runs PTX",
        "no PTX: 218",
        "no function: 500 the module has no kernel sub",
        "added 10 10, counter of 4 bytes 21",
        "packed 11 11 10, counter 102",
        "out of bounds: 700 1",
        "freed: 700 1",
        "freed twice: 1 1",
        "a launch takes some time",
        "by name: 1 0",
        "a name that is not there: 500",
        "8 of 8 threads",
        "a forked child is refused: 1",
    ]
    assert "which is not within one allocation" in done.stdout
    assert not done.stderr


def test_a_program_has_its_own_exit_code(tmp_path):
    assert simulate("--", "sh", "-c", "exit 7", cwd=tmp_path, check=False).returncode == 7
    assert simulate("--", "sh", "-c", "kill -9 $$", cwd=tmp_path, check=False).returncode == 137
    refused = simulate("--global-races", "--", "sh", "-c", "exit 7", cwd=tmp_path, check=False)
    assert refused.returncode == 2
    assert "--global-races is about scripts that prlx runs itself, and sh is a program" in refused.stderr


@pytest.mark.parametrize("version", ["3.9.0", "3.6.0", "3.5.1"])
def test_triton_as_it_is_runs_on_the_driver(version, tmp_path):
    if not (TRITON / version / "triton").is_dir():
        pytest.skip(f"no Triton {version}")
    path = [str(TRITON / version)]
    if version != "3.9.0":  # these want to import torch, of which they use six names
        path.append(str(HERE / "torch_stand_in"))
    done = simulate(
        "--", sys.executable, "-W", "ignore", HERE / "program.py", cwd=tmp_path, PYTHONPATH=os.pathsep.join(path)
    )
    lines = done.stdout.splitlines()
    assert lines[:3] == ["add True", "scaled True", "product True"], done.stderr
    line = (HERE / "program.py").read_text().splitlines().index(
        "    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)"
    ) + 1
    assert f"out-of-bounds program.py:{line}: a load of 4 bytes" in lines[3]
    assert "beyond the end of allocation" in lines[3]
    assert "Pointer argument" in lines[4]
    assert "cannot be accessed from Triton" in lines[4]
