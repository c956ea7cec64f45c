"""A job as large as one file can show: 60 nodes with 8 GPUs each; and one node more than that."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import xspace_wire as wire

EPOCH_NS = 1_760_000_000_000_000_000
GPUS, STEPS, STEP_NS = 8, 20, 1_000_003
SESSION_NS, LEAD_NS = 2_000_000, 5_000_000  # from the epoch to the session, from there to the first step
MAX_GPU_ID = 499


def offset_ns(node: int) -> int:
    """Clocks up to half a second apart; node 0 is the reference."""
    return 0 if node == 0 else (node * 7_919_017) % 1_000_000_000 - 500_000_000


def drift_ppb(node: int) -> int:
    return 0 if node == 0 else (node * 3_371) % 200_000 - 100_000


def shown_ns(node: int, true_ns: int) -> int:
    """What the node's wall clock says at a true instant."""
    return true_ns + offset_ns(node) + drift_ppb(node) * (true_ns - EPOCH_NS) // 1_000_000_000


def step_ns(step: int) -> int:
    return EPOCH_NS + SESSION_NS + LEAD_NS + step * STEP_NS


def write_node(path: Path, node: int) -> None:
    """Every device ends step k at the same true instant; starts differ by device, so that no two events coincide."""
    start = shown_ns(node, EPOCH_NS + SESSION_NS)

    def events(lane: int) -> list[bytes]:
        out = []
        for step in range(STEPS):
            begin = shown_ns(node, step_ns(step) - 10_000 - 997 * (node * 9 + lane)) - start
            end = shown_ns(node, step_ns(step)) - start
            out.append(wire.event(1, begin * 1000, (end - begin) * 1000))
        return out

    gpus = [
        wire.plane(gpu, f"/device:GPU:{gpu}", [wire.line(1, "Stream #1(Compute)", 0, events(gpu))], ["all-reduce"])
        for gpu in range(GPUS)
    ]
    host = wire.plane(0, "/host:CPU", [wire.line(7, "python", 0, events(GPUS))], ["step"])
    environment = wire.environment(start, shown_ns(node, step_ns(STEPS)))
    path.write_bytes(wire.space([*gpus, host, environment], f"host{node:03d}"))


def write_offsets(path: Path, nodes: int) -> None:
    """Round offsets as GraphCalc writes them, without noise."""
    window, rows = 4_000_000_000, []
    for number in range(3):
        begin = EPOCH_NS + (number - 1) * window
        middle = begin + window // 2
        for node in range(nodes):
            row = {"round_id": number, "window_id": number, "window_start_ns": begin, "window_end_ns": begin + window}
            row |= {"node_id": node, "offset_ns": shown_ns(node, middle) - middle, "drift_ppm": drift_ppb(node) / 1000}
            rows.append(row | {"residual": 0, "reachable": True, "converged": True})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_job(directory: Path, nodes: int) -> list[Path]:
    traces = [directory / f"node{node}.xplane.pb" for node in range(nodes)]
    for node, path in enumerate(traces):
        write_node(path, node)
    write_offsets(directory / "round_offsets.jsonl", nodes)
    return traces


@pytest.fixture(scope="module")
def combined(prlx: Callable, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("job")
    traces = write_job(directory, 60)
    out = directory / "out" / "combined.xplane.pb"
    out.parent.mkdir()
    prlx.combine(*traces, "--offsets", directory / "round_offsets.jsonl", "-o", out)
    return out


def test_gpu_ids_are_unique_and_fit_the_viewer(combined: Path) -> None:
    ids = [plane["id"] for plane in wire.planes(combined.read_bytes()) if plane["name"].startswith("/device:GPU:")]

    assert len(ids) == 60 * GPUS
    assert len(set(ids)) == len(ids)
    assert min(ids) >= 0
    assert max(ids) <= MAX_GPU_ID


def test_viewer_shows_every_gpu_and_every_host(ask_xspace: Callable, combined: Path) -> None:
    streamed, plain = ask_xspace(
        {"view": [combined], "tool": "trace_viewer@"}, {"view": [combined], "tool": "trace_viewer"}
    )

    def processes(view: dict, kind: str) -> set[str]:
        return {pid for pid, name in view["processes"].items() if kind in name}

    assert len(processes(streamed, "/host:CPU")) == 60
    assert len(processes(streamed, "/device:GPU:")) == 60 * GPUS
    assert len(processes(plain, "/device:GPU:")) == 60 * GPUS
    shown = Counter(str(event[0]) for event in streamed["events"] if event[4] in ("all-reduce", "step"))
    assert {shown[pid] for pid in streamed["processes"]} == {STEPS}


def test_every_device_ends_a_step_together(ask_xspace: Callable, combined: Path) -> None:
    """All ends of one step were one instant; aligned by noise-free offsets they are again, to a nanosecond each way."""
    (profile,) = ask_xspace({"profile": combined})
    ends = [[] for _ in range(STEPS)]
    for plane in profile["planes"]:
        for line in plane["lines"]:
            for step, (_, start, duration) in enumerate(sorted(line["events"], key=lambda event: event[1])):
                ends[step].append(start + duration)

    assert {len(instants) for instants in ends} == {60 * (GPUS + 1)}
    assert max(max(instants) - min(instants) for instants in ends) <= 2.01
    first = [min(instants) for instants in ends]
    assert [round(instant - first[0]) for instant in first] == pytest.approx(
        [step * STEP_NS for step in range(STEPS)], abs=2
    )


def test_more_gpus_than_the_viewer_shows_become_a_run_directory(
    prlx: Callable, ask_xspace: Callable, tmp_path: Path
) -> None:
    """One file could not be shown: a run directory of its name is written instead, and shows every GPU."""
    nodes = MAX_GPU_ID // GPUS + 1  # 63 nodes, 504 GPUs
    traces = write_job(tmp_path, nodes)
    offsets = ("--offsets", tmp_path / "round_offsets.jsonl")
    single = tmp_path / "out" / "combined.xplane.pb"
    single.parent.mkdir()

    document = prlx.combine(*traces, *offsets, "-o", single)
    files = sorted((single.parent / "combined").rglob("*.xplane.pb"))
    (view,) = ask_xspace({"view": files, "tool": "trace_viewer@"})

    assert not single.exists()
    assert len(files) == len(document["outputs"]) == nodes
    assert sum("/device:GPU:" in name for name in view["processes"].values()) == nodes * GPUS
