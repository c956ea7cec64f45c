"""``prlx nccl plugin`` names a library that NCCL can load."""

from __future__ import annotations

import ctypes
import inspect
from pathlib import Path

import pytest

import prlx as package
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


FUNCTIONS = {
    "diagnose": package.diagnose_nccl,
    "report": package.read_nccl,
    "merge": package.merge_nccl,
    "flight": package.read_flight_recorder,
}
NO_FUNCTION = {"plugin": "a library, which Python does not load", "watch": "diagnose_nccl again and again"}


@pytest.mark.parametrize("verb", FUNCTIONS)
def test_every_flag_is_an_argument_and_every_argument_a_flag(verb):
    parameters = inspect.signature(FUNCTIONS[verb]).parameters.values()
    arguments = {each.name for each in parameters if each.kind is each.KEYWORD_ONLY}
    assert set(nccl._VERBS[verb].flags) - {"json"} == arguments - {"progress"}


def test_every_verb_is_looked_at():
    assert set(FUNCTIONS) | set(NO_FUNCTION) == set(nccl._VERBS)
    flags = {name for verb in nccl._VERBS.values() for name in verb.flags}
    assert flags == {option.name for option in nccl.COMMAND.options}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["plugin", "recordings"], "prlx nccl plugin takes no files"),
        (["diagnose"], "prlx nccl diagnose names no input"),
        (["report", ".", "--stall-after", "9"], "--stall-after is of prlx nccl diagnose and watch"),
        (["flight", ".", "-o", "x.json"], "--output is of prlx nccl merge"),
        (["watch", ".", "--path"], "--path is of prlx nccl plugin"),
    ],
)
def test_what_belongs_to_another_verb_is_refused(prlx, words, said):
    ran = prlx("nccl", *words)
    assert ran.code == 2
    assert said in ran.err
