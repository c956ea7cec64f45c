"""While launches on a GPU are recorded, torch's compiler compiles in this process and launches by Triton."""

from __future__ import annotations

import os
import subprocess
import sys
import types

import pytest

from prlx.hooks import inductor_settings

LAUNCHER, THREADS = "TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER", "TORCHINDUCTOR_COMPILE_THREADS"


class Entry:
    """A setting as torch keeps it."""

    def __init__(self, alias=None):
        self.alias = alias
        self.env_value_force = "of nobody"


@pytest.fixture
def config(monkeypatch):
    """Settings of torch 2.15: one name is an alias of the other."""
    made = types.ModuleType("torch._inductor.config")
    made._config = {
        "use_static_triton_launcher": Entry("torch._inductor.config.use_static_cuda_launcher"),
        "use_static_cuda_launcher": Entry(),
        "compile_threads": Entry(),
    }
    monkeypatch.setitem(sys.modules, "torch._inductor.config", made)
    return made


def test_settings_hold_until_they_are_given_back(config, monkeypatch):
    monkeypatch.setenv(THREADS, "7")
    monkeypatch.delenv(LAUNCHER, raising=False)
    back = inductor_settings.launch_by_triton()
    assert config._config["use_static_cuda_launcher"].env_value_force is False
    assert config._config["compile_threads"].env_value_force == 1
    assert (os.environ[LAUNCHER], os.environ[THREADS]) == ("0", "1")
    back()
    assert {entry.env_value_force for entry in config._config.values()} == {"of nobody"}
    assert (LAUNCHER in os.environ, os.environ[THREADS]) == (False, "7")


def test_torch_is_not_imported():
    code = "import sys; from prlx.hooks import inductor_settings as i; i.launch_by_triton()(); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_torch_itself_reads_the_variables(root):
    python = root / "build/torch/python"
    if not python.is_file():
        pytest.skip(f"no torch under {python.parent}: make corpus installs it")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from prlx.hooks import inductor_settings as i;"
        "back = i.launch_by_triton();"
        "import torch._inductor.config as c; first = c.use_static_cuda_launcher, c.compile_threads; back();"
        "again = i.launch_by_triton(); print(*first, c.use_static_cuda_launcher, c.compile_threads)"
    )
    done = subprocess.run([python, "-c", code, root / "python"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "1", "False", "1"]
