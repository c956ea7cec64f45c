"""What prlx reads of Perfetto's traces is what its trace_processor reads of them: every slice, its place and its time."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import pftrace
import prlx
from pftrace import BEGIN, BOOTTIME, END, INSTANT, MONOTONIC, REALTIME, annotation, event, field, fixed, interned, named

ROOT = Path(__file__).resolve().parents[2]
BOOT, WALL = 7_000_000_000_000, 1_760_000_000_000_000_000
SLICES = "select ts, dur, name from slice order by ts, dur, name"


def same(ask_perfetto: Callable, path: Path, moved: int = 0, kernels: str = "") -> int:
    """Compare one trace, whose instants were moved to date it; how many slices it has.

    ``kernels`` is what trace_processor calls all kernels where it does not know the field that has their names.
    """
    answer = ask_perfetto(path, slices=SLICES)
    assert "error" not in answer, answer
    want = Counter((int(ts), int(dur), str(name)) for ts, dur, name in answer["slices"])
    columns = [prlx.open(path).events.column(name).to_numpy().tolist() for name in ("start_ns", "duration_ps", "name")]
    got: Counter = Counter()
    for start, duration, name in zip(*columns, strict=True):
        got[
            int(start) - moved, int(duration) // 1000, kernels if kernels and name.startswith("void ") else str(name)
        ] += 1
    assert got == want, (len(got), len(want), list((got - want).items())[:3], list((want - got).items())[:3])
    return sum(want.values())


def library(deflated: bool) -> bytes:
    """As Perfetto's library writes: clocks of the sequence, interned names, cleared and begun again, nested slices, flows."""
    out = pftrace.snapshot(1, (BOOTTIME, BOOT), (REALTIME, WALL), (MONOTONIC, BOOT - 1_000_000), (64, BOOT, 1, 1))
    out += pftrace.process(1, 77, "python") + pftrace.thread(2, 1, 77, 78, "worker") + pftrace.track(3, "own", 1)
    for again in range(3):
        names = b"".join(field(2, interned(i + 1, f"op {again} {i}")) for i in range(5))
        out += pftrace.packet(
            field(10, 1), field(13, 1), field(59, field(58, 64) + field(11, field(11, 2))), field(12, names)
        )
        for i in range(40):
            out += event(100 + i, BEGIN, 0, field(10, 1 + i % 5), fixed(47, 1000 * again + i))
            out += event(7, BEGIN, 0, field(10, 1 + (i + 1) % 5), annotation("n", i))
            out += event(11, END, 0) + event(3, END, 0) + event(1, INSTANT, 0, named("mark"))
            out += event(BOOT + 100_000 * again + 50 * i, BEGIN, 3, named("on a track"), clock=BOOTTIME)
            out += event(BOOT + 100_000 * again + 50 * i + 20 - 1_000_000, END, 3, clock=MONOTONIC)
        out += pftrace.snapshot(
            1,
            (BOOTTIME, BOOT + 100_000 * (again + 1)),
            (MONOTONIC, BOOT + 100_000 * (again + 1) - 1_000_000),
            (64, BOOT + 100_000 * (again + 1), 1, 1),
        )
    return pftrace.compressed(out) if deflated else out


@pytest.mark.parametrize("deflated", [False, True])
def test_slices_and_clocks_of_a_library(ask_perfetto: Callable, tmp_path: Path, deflated: bool) -> None:
    path = tmp_path / "a.pftrace"
    path.write_bytes(library(deflated))
    assert same(ask_perfetto, path, WALL - BOOT) == 3 * 40 * 4


def test_slices_of_rocprofv3(ask_perfetto: Callable, tmp_path: Path) -> None:
    """Kernels, copies and calls one after the other, each kind for itself, on tracks without a process."""
    out = (
        pftrace.track(9, "COMPUTE AGENT [2] STREAM [1] (GPU)")
        + pftrace.track(10, "COPY to AGENT [2] STREAM [1] (GPU)")
        + pftrace.track(11, "THREAD 1 (909)")
    )
    for uuid, category, shift in ((11, "hip_api", 0), (9, "kernel_dispatch", 40), (10, "memory_copy", 70)):
        for i in range(50):
            at = BOOT + 100 * i + shift
            out += event(
                at, BEGIN, uuid, named(f"{category} {i % 7}", category), annotation("corr_id", i + 1), fixed(47, i + 1)
            ) + event(at + 25, END, uuid)
    path = tmp_path / "a.pftrace"
    path.write_bytes(out)
    assert same(ask_perfetto, path) == 150
    found = prlx.find_cycles(path, progress=False).document
    assert found["input"]["kernels"] == 50


CUSPY = Path(__file__).with_name("cuspy.py")


def test_what_cuspys_encoder_writes(ask_perfetto: Callable, tmp_path: Path) -> None:
    python = ROOT / "build/torch/python"
    if not python.exists():
        pytest.skip("torch is not under build/torch")
    path = tmp_path / "a.pftrace"
    done = subprocess.run([python, CUSPY, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert same(ask_perfetto, path, kernels="Kernel") == 200 + 200 + 200 + 20 + 4
    found = prlx.find_cycles(path, progress=False).document
    assert found["input"]["kernels"] == 200
