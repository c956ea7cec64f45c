"""The real Perfetto trace_processor loads our JSON with no error that the inputs did not have, and every slice and flow."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import recordings

QUERIES = {
    "errors": "select name, sum(value) from stats where value > 0 and severity in ('error', 'data_loss') group by name",
    "slices": "select count(*) from slice",
    "flows": "select count(*) from flow",
    "counters": "select count(*) from counter",
    "names": "select name, dur, count(*) from slice group by name, dur",
}
STARTS = "select s.name, s.ts from slice s order by s.ts, s.name"
# A tokenizer failure is the input's own: JAX ends its JSON with an empty object.
COUNTED = ("slices", "flows", "counters")


def look(ask_perfetto: Callable, trace: Path) -> dict:
    answer = ask_perfetto(trace, **QUERIES)
    assert "error" not in answer, f"{trace.name}: {answer}"
    summary = {name: answer[name][0][0] for name in COUNTED}
    return {
        **summary,
        "errors": Counter(dict(answer["errors"])),
        "names": {tuple(row[:2]): row[2] for row in answer["names"]},
    }


def no_new_errors(got: Counter, *inputs: Counter) -> None:
    new = got - sum(inputs, Counter())
    assert not new, f"error statistics that the inputs do not have: {dict(new)}"


def test_merged_ranks_keep_every_slice_and_flow(prlx: Callable, ask_perfetto: Callable, tmp_path: Path) -> None:
    ranks = recordings.dlrm(tmp_path)
    out = tmp_path / "merged" / "merged.json"
    out.parent.mkdir()
    prlx.combine(*ranks, "--no-align", "-o", out)

    raw = [look(ask_perfetto, path) for path in ranks]
    merged = look(ask_perfetto, out)

    no_new_errors(merged["errors"], *(summary["errors"] for summary in raw))
    for name in COUNTED:
        assert merged[name] == sum(summary[name] for summary in raw), name
    assert merged["names"] == sum((Counter(summary["names"]) for summary in raw), Counter())


def test_merged_ranks_keep_their_distance_in_time(prlx: Callable, ask_perfetto: Callable, tmp_path: Path) -> None:
    """Unaligned, every slice stands where it stood, seen from the first: to the nanosecond, ranks included."""
    ranks = recordings.dlrm(tmp_path)
    out = tmp_path / "merged" / "merged.json"
    out.parent.mkdir()
    prlx.combine(*ranks, "--no-align", "-o", out)

    raw = sorted((ts, name) for path in ranks for name, ts in ask_perfetto(path, starts=STARTS)["starts"])
    merged = sorted((ts, name) for name, ts in ask_perfetto(out, starts=STARTS)["starts"])

    assert relative(merged) == relative(raw)


def relative(starts: list[tuple[int, str]]) -> list[tuple[int, str]]:
    return [(ts - starts[0][0], name) for ts, name in starts]


def test_merged_ranks_are_processes_of_their_own(prlx: Callable, ask_perfetto: Callable, tmp_path: Path) -> None:
    ranks = recordings.dlrm(tmp_path)
    out = tmp_path / "merged" / "merged.json"
    out.parent.mkdir()
    prlx.combine(*ranks, "--no-align", "-o", out)
    busy = "select count(distinct upid) from thread_track t join thread using (utid) join slice s on s.track_id = t.id"

    raw = [ask_perfetto(path, busy=busy)["busy"][0][0] for path in ranks]

    assert ask_perfetto(out, busy=busy)["busy"][0][0] == sum(raw)


@pytest.mark.parametrize("path", recordings.kinetos(), ids=lambda path: path.name[:40])
def test_every_public_json_survives(prlx: Callable, ask_perfetto: Callable, path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    prlx.combine(f"0={path}", "--no-align", "-o", out)

    raw, written = look(ask_perfetto, path), look(ask_perfetto, out)

    no_new_errors(written["errors"], raw["errors"])
    assert {name: written[name] for name in COUNTED} == {name: raw[name] for name in COUNTED}


def test_skewed_jax_recording_crosses_into_chrome_json(prlx: Callable, ask_perfetto: Callable, tmp_path: Path) -> None:
    """XSpace to JSON: as many slices as JAX's own JSON beside the recording, and none of its tokenizer failures."""
    recording = recordings.Skewed("p4")
    out = tmp_path / "combined.json"
    prlx.combine(*recording.traces, "--probes", *recording.probes, "--format", "chrome", "-o", out)

    raw = [look(ask_perfetto, path.with_name(f"node{n}.trace.json.gz")) for n, path in enumerate(recording.traces)]
    crossed = look(ask_perfetto, out)

    assert not crossed["errors"], crossed["errors"]
    assert crossed["slices"] == sum(summary["slices"] for summary in raw)


@pytest.mark.parametrize("path", recordings.xspaces(), ids=lambda path: path.name[:40])
def test_every_public_xspace_crosses_into_chrome_json(
    prlx: Callable, ask_perfetto: Callable, path: Path, tmp_path: Path
) -> None:
    out = tmp_path / "crossed.json"
    prlx.combine(f"0={path}", "--no-align", "--format", "chrome", "-o", out)

    crossed = look(ask_perfetto, out)
    overlapping = crossed["errors"].pop("slice_drop_overlapping_complete_event", 0)

    assert not crossed["errors"], crossed["errors"]
    written = sum(1 for event in complete_events(out))
    assert crossed["slices"] + overlapping == written


def complete_events(path: Path) -> Iterable[dict]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt") as file:
        document = json.load(file)
    events = document["traceEvents"] if isinstance(document, dict) else document
    return (event for event in events if event.get("ph") == "X")
