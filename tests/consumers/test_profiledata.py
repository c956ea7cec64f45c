"""jax.profiler.ProfileData, a reader that is neither ours nor xprof's, finds in our files what was in the inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import recordings
import xspace_wire as wire
from aligned import Aligned, errors_ns, node_number, plane_events, raw_true_ns

MAX_ERROR_NS = 4_000
SETS = ("p2", "p4")
KEPT = ("lines", "events", "event stats", "aggregated events", "event metadata")
MARKED = ("stat metadata", "plane stats")  # what prlx did is said in stats of planes, at most six of them


def contents(profile: dict) -> Counter:
    """Events by name and duration: what alignment by a shift of microseconds a second does not change much."""
    return Counter(name for plane in profile["planes"] for line in plane["lines"] for name, _, _ in line["events"])


def stats(profile: dict) -> int:
    return sum(line["event_stats"] for plane in profile["planes"] for line in plane["lines"])


@pytest.mark.parametrize("name", SETS)
def test_run_directory_is_right_in_time(prlx: Callable, ask_xspace: Callable, name: str, tmp_path: Path) -> None:
    recording = recordings.Skewed(name)
    out = tmp_path / "run_aligned"
    document = prlx.combine(*recording.traces, "--probes", *recording.probes, "--format", "run", "-o", out)
    aligned = Aligned(recording, document, out)

    answers = ask_xspace(*({"profile": path} for path in [*recording.traces, *aligned.files]))
    raw, written = answers[: len(recording.nodes)], answers[len(recording.nodes) :]

    assert [contents(profile) for profile in written] == [contents(profile) for profile in raw]
    shown = {
        node_number(path.name): [event for plane in profile["planes"] for event in plane_events(plane)]
        for path, profile in zip(aligned.files, written, strict=True)
    }
    errors = errors_ns(raw_true_ns(recording, raw), shown)
    bounds = aligned.bounds_ns()
    for node, values in errors.items():
        worst = max(map(abs, values))
        assert worst <= (1 if node == 0 else MAX_ERROR_NS), f"node {node}: {worst} ns"
        assert worst <= bounds[node] + 1, f"node {node}: {worst} ns, but the document admits {bounds[node]}"


@pytest.mark.parametrize("name", SETS)
def test_combined_file_holds_the_events_of_all_nodes(
    prlx: Callable, ask_xspace: Callable, name: str, tmp_path: Path
) -> None:
    recording = recordings.Skewed(name)
    out = tmp_path / "combined.xplane.pb"
    prlx.combine(*recording.traces, "--probes", *recording.probes, "-o", out)

    *raw, combined = ask_xspace(*({"profile": path} for path in [*recording.traces, out]))

    assert "error" not in combined
    assert contents(combined) == sum((contents(profile) for profile in raw), Counter())
    assert stats(combined) == sum(stats(profile) for profile in raw)


@pytest.mark.parametrize("output", ["combined.xplane.pb", "run_aligned"])
def test_every_public_trace_survives(prlx: Callable, ask_xspace: Callable, output: str, tmp_path: Path) -> None:
    """One node a file, all recordings at once: counts by our own reader of the wire, and JAX still reads it."""
    inputs = recordings.xspaces()
    out = tmp_path / output
    nodes = [f"{number}={path}" for number, path in enumerate(inputs)]
    prlx.combine(*nodes, "--no-align", "--format", "run" if output == "run_aligned" else "xplane", "-o", out)
    files = sorted(out.rglob("*.xplane.pb")) if out.is_dir() else [out]

    want = sum((wire.census(path.read_bytes()) for path in inputs), Counter())
    got = sum((wire.census(path.read_bytes()) for path in files), Counter())
    answers = ask_xspace(*({"profile": path} for path in [*inputs, *files]))
    raw, written = answers[: len(inputs)], answers[len(inputs) :]

    assert {kind: got[kind] for kind in KEPT} == {kind: want[kind] for kind in KEPT}
    assert all(want[kind] <= got[kind] <= want[kind] + 6 * got["planes"] for kind in MARKED)
    assert got["event metadata bytes"] == want["event metadata bytes"]
    assert sum(map(contents, written), Counter()) == sum(map(contents, raw), Counter())
    assert sum(map(stats, written)) == sum(map(stats, raw))
