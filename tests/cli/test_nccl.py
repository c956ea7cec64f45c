"""``prlx nccl plugin`` names a library that NCCL can load."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from prlx.cli import nccl


@pytest.mark.parametrize(
    ("flags", "name"), [([], "libnccl-profiler-prlx.so"), (["--rccl"], "librccl-profiler-prlx.so")]
)
def test_the_library_has_every_version_of_the_interface(prlx, flags, name):
    ran = prlx("nccl", "plugin", "--path", *flags)
    path = Path(ran.out.strip())
    assert ran.code == 0
    assert path.is_absolute()
    assert path.name == name
    library = ctypes.CDLL(str(path))
    for version in range(1, 8):
        table = (ctypes.c_void_p * 6).in_dll(library, f"ncclProfiler_v{version}")
        assert ctypes.string_at(table[0]) == b"prlx"
        assert all(table)


def test_the_lines_for_launchers_name_the_library(prlx):
    ran = prlx("nccl", "plugin")
    path = prlx("nccl", "plugin", "--path").out.strip()
    for launcher in ("SLURM", "torchrun", "Kubernetes"):
        (line,) = (line for line in ran.out.splitlines() if launcher in line)
        assert path in line


def test_a_path_that_nccl_would_cut_is_said(prlx, monkeypatch):
    monkeypatch.setattr(nccl, "_LONGEST", 10)
    ran = prlx("nccl", "plugin", "--path")
    assert ran.code == 0
    assert "NCCL cuts the path after 10 characters" in ran.err


def test_a_library_that_is_missing_is_an_error(prlx, monkeypatch, tmp_path):
    monkeypatch.setattr(nccl, "__file__", str(tmp_path / "cli" / "nccl.py"))
    ran = prlx("nccl", "plugin")
    assert ran.code != 0
    assert "libnccl-profiler-prlx.so is not there" in ran.err
