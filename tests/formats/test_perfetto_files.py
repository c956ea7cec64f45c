"""Perfetto's traces as recorders write them: every slice, stage and clock is what was put into the file."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

import pftrace
import prlx
from pftrace import BEGIN, BOOTTIME, END, INSTANT, REALTIME, annotation, event, field, interned, named

WALL = 1_760_000_000_000_000_000
BOOT = 5_000_000_000_000


def events(path: Path) -> list[tuple[str, str, str, int, int]]:
    """What prlx reads: plane, line, name, start and duration in ns, in order of time."""
    table = prlx.open(path).events
    columns = [table.column(name).to_numpy().tolist() for name in ("plane", "line", "name", "start_ns", "duration_ps")]
    out = [(str(p), str(line), str(n), int(s), int(d) // 1000) for p, line, n, s, d in zip(*columns, strict=True)]
    return sorted(out, key=lambda e: (e[3], -e[4], e[2]))


def library() -> bytes:
    """As Perfetto's library writes: names once, times as differences on a clock of the sequence, a snapshot."""
    names = (
        field(2, interned(1, "forward"))
        + field(2, interned(2, "aten::mm"))
        + field(1, interned(1, "cpu_op"))
        + field(3, interned(1, "bytes"))
    )
    head = (
        pftrace.snapshot(1, (BOOTTIME, BOOT), (REALTIME, WALL), (64, BOOT // 1000, 1, 1000))
        + pftrace.packet(
            field(10, 1), field(13, 1), field(59, field(58, 64) + field(11, field(11, 2))), field(12, names)
        )
        + pftrace.process(1, 77, "python")
        + pftrace.thread(2, 1, 77, 78, "worker")
    )
    body = (
        event(5, BEGIN, 0, field(10, 1), field(3, 1))  # +5 us
        + event(10, BEGIN, 0, field(10, 2), field(3, 1), field(4, field(1, 1) + field(4, 4096)))
        + event(20, END, 0)
        + event(30, END, 0)
        + event(1, INSTANT, 0, named("mark"))
    )
    return head + body


EXPECTED = [
    ("/host:CPU python 77", "worker", "forward", WALL + 5_000, 60_000),
    ("/host:CPU python 77", "worker", "aten::mm", WALL + 15_000, 20_000),
    ("/host:CPU python 77", "worker", "mark", WALL + 66_000, 0),
]


def test_names_defaults_and_clocks_of_a_sequence(tmp_path: Path) -> None:
    path = tmp_path / "a.pftrace"
    path.write_bytes(library())
    assert events(path) == EXPECTED
    packed = tmp_path / "b.pftrace"
    packed.write_bytes(pftrace.compressed(library()))
    assert events(packed) == EXPECTED
    zipped = tmp_path / "c"
    zipped.write_bytes(gzip.compress(library()))
    assert events(zipped) == EXPECTED


def test_begins_before_all_ends_are_paired_by_time(tmp_path: Path) -> None:
    """Cuspy writes the begins of a kind, then the ends."""
    path = tmp_path / "a.pftrace"
    slices = [(0, 100, "outer"), (10, 20, "first"), (30, 90, "second"), (40, 50, "inner")]
    path.write_bytes(
        pftrace.thread(2, 0, 7, 8, "t")
        + b"".join(event(BOOT + a, BEGIN, 2, named(name)) for a, _, name in slices)
        + b"".join(event(BOOT + b, END, 2) for _, b, _ in slices)
    )
    assert [(name, start - BOOT, duration) for _, _, name, start, duration in events(path)] == [
        (name, a, b - a) for a, b, name in slices
    ]


def test_slices_of_rocprofv3_that_overlap_are_as_written(tmp_path: Path) -> None:
    path = tmp_path / "a.pftrace"
    at = [(0, 10, "one"), (5, 15, "two")]
    path.write_bytes(
        pftrace.track(9, "COMPUTE AGENT [4] STREAM [2] (GPU)")
        + b"".join(
            event(BOOT + a, BEGIN, 9, named(name, "kernel_dispatch"), annotation("corr_id", 5))
            + event(BOOT + b, END, 9)
            for a, b, name in at
        )
    )
    assert events(path) == [
        ("/device:GPU:4", "COMPUTE AGENT [4] STREAM [2] (GPU)", name, BOOT + a, b - a) for a, b, name in at
    ]
    assert prlx.find_cycles(path, progress=False).document["input"]["kernels"] == 2


def gpu() -> bytes:
    """Stages of two queues, as Cuspy writes them."""
    specs = b"".join(
        field(24, field(1, iid) + field(2, name) + field(4, category))
        for iid, name, category in (
            (1, "Kernel", 2),
            (2, "Memcpy", 0),
            (3, "Annotation", 0),
            (100, "stream 7", 0),
            (101, "stream 9", 0),
        )
    )
    data = specs + field(23, field(1, 1) + field(2, 77)) + field(2, interned(1, "gemm")) + field(2, interned(2, "relu"))
    launch = field(
        21, field(1, field(1, 10) + field(2, 2) + field(3, 1)) + field(2, field(1, 128) + field(2, 1) + field(3, 1))
    )

    def correlated(n: int) -> bytes:
        return field(6, field(1, "correlation") + field(2, str(n)))

    out = pftrace.packet(field(10, 1), field(13, 1), field(12, data))
    for step in range(12):
        at = BOOT + step * 1000
        out += pftrace.stage(at, 300, 100, 1, field(20, 1), launch, correlated(step * 2 + 1))
        out += pftrace.stage(at + 400, 200, 100, 1, field(20, 2), launch, correlated(step * 2 + 2))
        out += pftrace.stage(at + 700, 50, 101, 2, correlated(9000 + step), gpu=1)
    return out + pftrace.stage(BOOT, 12_000, 100, 3)


def test_stages_of_gpus(tmp_path: Path) -> None:
    path = tmp_path / "a.pftrace"
    path.write_bytes(gpu())
    got = events(path)
    assert len(got) == 37
    assert ("/device:GPU:0", "stream 7", "relu", BOOT + 400, 200) in got
    assert ("/device:GPU:1", "stream 9", "Memcpy", BOOT + 700, 50) in got
    found = prlx.find_cycles(path, progress=False).document
    assert found["input"]["kernels"] == 24


def test_a_trace_on_stdin_is_read() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "prlx", "cycles", "-", "--json"], input=gpu(), capture_output=True, check=False
    )
    assert done.returncode in (0, 4), done.stderr
    assert json.loads(done.stdout)["input"]["kernels"] == 24


def test_combine_makes_chrome_json_of_it(tmp_path: Path) -> None:
    path, out = tmp_path / "a.pftrace", tmp_path / "out.json"
    path.write_bytes(gpu())
    prlx.combine_traces(path, output=out, apply_alignment=False, progress=False)
    made = [e for e in json.loads(out.read_text())["traceEvents"] if e.get("ph") == "X"]
    assert len(made) == 37
    one = next(e for e in made if e["name"] == "relu")
    assert one["args"]["grid"] == [10, 2, 1]
    assert one["args"]["correlation"] == 2


def test_what_is_not_used_and_what_is_lost_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.pftrace"
    path.write_bytes(
        pftrace.thread(2, 0, 7, 8, "t")
        + event(BOOT, pftrace.COUNTER, 2, field(30, 5))
        + event(BOOT, END, 2)
        + event(BOOT + 1, BEGIN, 2, named("open"))
        + event(BOOT + 2, INSTANT, 2, named("other clock"), clock=9)
        + pftrace.packet(field(1, b""), field(10, 1))
        + pftrace.packet(field(10, 1), field(42, 1))
    )
    said = "\n".join(prlx.open(path).warnings)
    for words in (
        "counters (1)",
        "ftrace events (1)",
        "nobody ended, which last 0 here: 1",
        "nobody began: 1",
        "relates to that of the trace: 1",
        "packets are lost in them: 1",
    ):
        assert words in said, (words, said)


@pytest.mark.parametrize("damage", ["cut", "length", "inflated"])
def test_damage_is_said_with_its_place(tmp_path: Path, damage: str) -> None:
    whole = library()
    path = tmp_path / "a.pftrace"
    path.write_bytes(
        {
            "cut": whole[:-3],
            "length": whole + b"\x0a\xff\xff\xff\x7f",
            "inflated": whole + pftrace.packet(field(50, b"none")),
        }[damage]
    )
    with pytest.raises(prlx.PrlxError):
        prlx.open(path)


def test_a_trace_without_kernels_says_how_its_recorder_gets_them(tmp_path: Path) -> None:
    path = tmp_path / "a.pftrace"
    path.write_bytes(library())
    said = prlx.find_cycles(path, progress=False).document["warnings"]
    assert any("no kernels: record what devices execute, with a recorder of GPUs" in text for text in said), said
