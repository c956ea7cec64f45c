"""The example that records sets with known clocks: its library shows what was asked for, its comparison sees errors."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .reading import ROOT

HERE = ROOT / "examples" / "known_clocks"
SHOWN = """
import ctypes, json, os, time
reading = (ctypes.c_long * 2)()
call = ctypes.CDLL(None).syscall
def true():
    call({"x86_64": 228, "aarch64": 113}[os.uname().machine], 0, reading)
    return reading[0] * 10**9 + reading[1]
print(json.dumps([(true(), time.time_ns(), true()) for _ in range(3)] + [(time.monotonic_ns(), time.time(), 0)]))
"""


def shown(library: Path, known: str) -> list[list[float]]:
    """Readings of a process behind the library: the true clock before, the clock that it sees, the true clock after."""
    variables = {**os.environ, "LD_PRELOAD": str(library), "KNOWN_CLOCK": known}
    ran = subprocess.run([sys.executable, "-c", SHOWN], env=variables, capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)


@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("cc"), reason="needs Linux and cc")
def test_the_library_shows_the_clock_that_was_asked_for(tmp_path):
    library = tmp_path / "clock.so"
    command = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", library, HERE / "clock.c"]
    subprocess.run(command, check=True)
    ahead = 3_000_000_000
    for known, expect in (
        ("0,0,0", lambda t: t),
        (f"{ahead},0,0", lambda t: t + ahead),
        ("-5000,120000,1700000000000000000", lambda t: t - 5000 + (t - 1_700_000_000_000_000_000) * 120_000 // 10**9),
        ("0,0,0,7000000,1", lambda t: t + 7_000_000),
        (f"0,0,0,7000000,{2**62}", lambda t: t),
    ):
        *readings, (monotonic, seconds, _) = shown(library, known)
        for before, seen, after in readings:
            assert expect(before) <= seen <= expect(after), known
        assert seconds >= readings[-1][1] / 1e9 - 1e-3
        assert monotonic < 10**18


def test_an_event_further_off_than_it_says_is_seen(tmp_path):
    folder = tmp_path / "set"
    shutil.copytree(ROOT / "examples" / "torch_ranks", folder)
    truth = json.loads((folder / "truth.json").read_text())
    truth["nodes"][1]["offset_ns"] += 1_000_000  # further than the bounds of any event reach
    (folder / "truth.json").write_text(json.dumps(truth))
    ran = subprocess.run([sys.executable, HERE / "check.py", folder], capture_output=True, text=True, check=False)
    assert ran.returncode == 1, ran.stderr
    assert not ran.stdout.splitlines()[-1].startswith("0 of")


def test_a_clock_is_read_as_it_is_written(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))
    import record

    zero = {"anchor_ns": 5, "step_ns": 0, "step_at_ns": 5}
    assert record.clock("-5200:-80", 5) == {"offset_ns": -5_200_000, "drift_ppb": -80_000, **zero}
    stepped = record.clock("0.25:0:2000@1.5", 5)
    assert (stepped["offset_ns"], stepped["step_ns"], stepped["step_at_ns"]) == (250, 2_000_000, 1_500_000_005)
