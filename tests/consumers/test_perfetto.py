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
PLACES = {
    "starts": "select ts, name from slice order by ts, name",
    "busy": "select count(distinct upid) from thread_track t join thread using (utid) join slice s on s.track_id = t.id",
}
# A tokenizer failure is the input's own: JAX ends its JSON with an empty object.
COUNTED = ("slices", "flows", "counters")


def look(ask_perfetto: Callable, trace: Path, **more: str) -> dict:
    answer = ask_perfetto(trace, **QUERIES, **more)
    assert "error" not in answer, f"{trace.name}: {answer}"
    summary = {name: answer[name][0][0] for name in COUNTED}
    summary["errors"] = Counter(dict(answer["errors"]))
    summary["names"] = Counter({(name, duration): count for name, duration, count in answer["names"]})
    return {**summary, **{name: answer[name] for name in more}}


def no_new_errors(got: Counter, *inputs: Counter) -> None:
    new = got - sum(inputs, Counter())
    assert not new, f"error statistics that the inputs do not have: {dict(new)}"


@pytest.fixture(scope="module")
def ranks_and_merged(
    prlx: Callable, ask_perfetto: Callable, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[dict], dict]:
    """What trace_processor says about the eight ranks of a job, and about the one file that prlx makes of them."""
    ranks = recordings.dlrm(tmp_path_factory.mktemp("ranks"))
    out = tmp_path_factory.mktemp("merged") / "merged.json"
    prlx.combine(*ranks, "--no-align", "-o", out)
    return [look(ask_perfetto, path, **PLACES) for path in ranks], look(ask_perfetto, out, **PLACES)


def test_merged_ranks_keep_every_slice_and_flow(ranks_and_merged: tuple[list[dict], dict]) -> None:
    raw, merged = ranks_and_merged

    no_new_errors(merged["errors"], *(summary["errors"] for summary in raw))
    for name in COUNTED:
        assert merged[name] == sum(summary[name] for summary in raw), name
    assert merged["names"] == sum((summary["names"] for summary in raw), Counter())


def test_merged_ranks_keep_their_distance_in_time(ranks_and_merged: tuple[list[dict], dict]) -> None:
    """Unaligned, every slice stands where it stood, seen from the first: to the nanosecond, ranks included."""
    raw, merged = ranks_and_merged

    assert relative(merged["starts"]) == relative(sorted(start for summary in raw for start in summary["starts"]))


def relative(starts: list[list]) -> list[tuple[int, str]]:
    return [(ts - starts[0][0], name) for ts, name in starts]


def test_merged_ranks_are_processes_of_their_own(ranks_and_merged: tuple[list[dict], dict]) -> None:
    raw, merged = ranks_and_merged

    assert merged["busy"][0][0] == sum(summary["busy"][0][0] for summary in raw)


def test_declared_offset_moves_one_rank(
    prlx: Callable, ask_perfetto: Callable, ranks_and_merged: tuple[list[dict], dict], tmp_path: Path
) -> None:
    """A clock that is said to be a millisecond ahead: its rank's slices go back by that, the others stay."""
    raw, _ = ranks_and_merged
    ranks = recordings.dlrm(tmp_path)
    declared, out = tmp_path / "declared.toml", tmp_path / "out" / "merged.json"
    tables = [
        f"[nodes.{rank}]\noffset_ns = {1_000_000 if rank == 3 else 0}\nbound_ns = 100\n" for rank in range(len(ranks))
    ]
    declared.write_text("\n".join(tables))
    out.parent.mkdir()
    prlx.combine(*ranks, "--declared", declared, "-o", out)

    starts = ask_perfetto(out, **PLACES)["starts"]

    want = [[ts - 1_000_000 * (rank == 3), name] for rank, summary in enumerate(raw) for ts, name in summary["starts"]]
    assert relative(starts) == relative(sorted(want))


def test_xspace_and_kineto_become_one_timeline(prlx: Callable, ask_perfetto: Callable, tmp_path: Path) -> None:
    xspace = recordings.Skewed("p2").traces[0]
    kineto = recordings.dlrm(tmp_path)[0]
    out = tmp_path / "out" / "mixed.json"
    out.parent.mkdir()
    prlx.combine(f"0={xspace}", f"1={kineto}", "--no-align", "-o", out)

    jax, torch = look(ask_perfetto, xspace.with_name("node0.trace.json.gz")), look(ask_perfetto, kineto)
    mixed = look(ask_perfetto, out)

    no_new_errors(mixed["errors"], torch["errors"])
    assert mixed["slices"] == jax["slices"] + torch["slices"]
    assert mixed["flows"] == torch["flows"]


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
