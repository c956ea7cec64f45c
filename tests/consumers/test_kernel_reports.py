"""Perfetto's trace_processor reads the tracks of a comparison: every divergence, in order, with flows and counters."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

import pytest
from environments import REPOSITORY

GOLDEN = REPOSITORY / "core" / "report" / "kernelreport" / "testdata"
ENDINGS = (".trace.json", ".pftrace")

QUERIES = {
    "errors": "select name, sum(value) from stats where value > 0 and severity in ('error', 'data_loss') group by name",
    "slices": "select s.ts, s.dur, s.name, t.name, p.name, p.pid, t.tid from slice s join thread_track k on s.track_id = k.id "
    "join thread t using (utid) join process p using (upid) order by p.pid, t.tid, s.ts",
    "flows": "select a.name, b.name from flow join slice a on slice_out = a.id join slice b on slice_in = b.id",
    "counters": "select k.name, sum(c.value) from counter c join counter_track k on c.track_id = k.id group by k.name",
    "verdict": "select name, dur from slice where track_id not in (select id from thread_track)",
}


def document(name: str) -> dict:
    return json.loads((GOLDEN / f"{name}.json").read_text())


def look(ask_perfetto: Callable, name: str, ending: str) -> dict:
    answer = ask_perfetto(GOLDEN / f"{name}{ending}", **QUERIES)
    assert "error" not in answer, answer
    assert answer["errors"] == []
    return answer


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", ["diverged", "identical", "hostile"])
def test_every_divergence_is_a_slice(ask_perfetto: Callable, name: str, ending: str) -> None:
    kinds = Counter(divergence["kind"] for divergence in document(name)["divergences"])

    answer = look(ask_perfetto, name, ending)

    assert Counter(row[2].split(" ")[0] for row in answer["slices"]) == kinds


def test_perfetto_shows_blocks_warps_and_events(ask_perfetto: Callable) -> None:
    answer = look(ask_perfetto, "diverged", ".pftrace")

    # A microsecond is an event; extra events are as wide as they are many.
    assert ["block", 4, "warp", 17, 41_000, 1000, "Branch softmax.py:24:12"] in [
        [row[4], row[5], row[3], row[6], row[0], row[1], row[2]] for row in answer["slices"]
    ]
    assert [row[1] for row in answer["slices"] if row[2].startswith("ExtraEvents")] == [37_000]
    (verdict,) = answer["verdict"]
    assert verdict[0] == document("diverged")["verdict"]


def test_perfetto_leads_from_causes_to_followers(ask_perfetto: Callable) -> None:
    answer = look(ask_perfetto, "diverged", ".pftrace")

    assert Counter(map(tuple, answer["flows"])) == {
        ("Branch softmax.py:24:12", "ActiveMask softmax.py:26:13"): 2,
        ("ActiveMask softmax.py:26:13", "Value softmax.py:29:17"): 2,
    }


@pytest.mark.parametrize(("ending", "name"), [(".trace.json", "divergence_count {}"), (".pftrace", "{} by event")])
def test_counters_count_divergences(ask_perfetto: Callable, ending: str, name: str) -> None:
    kinds = Counter(divergence["kind"] for divergence in document("diverged")["divergences"])

    answer = look(ask_perfetto, "diverged", ending)

    assert dict(answer["counters"]) == {name.format(kind): count for kind, count in kinds.items()}


def test_chrome_keeps_the_described_layout(ask_perfetto: Callable) -> None:
    """Process: block; thread: warp of the block; 10 us a divergence; in order of events."""
    answer = look(ask_perfetto, "diverged", ".trace.json")

    assert {row[1] for row in answer["slices"]} == {10_000}
    assert [row[0] // 10_000 for row in answer["slices"] if row[3:6] == ["warp 1", "block", 4]] == [41, 44, 52]
