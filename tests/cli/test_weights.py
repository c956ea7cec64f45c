"""However much a result holds, its line stays short and its card light: in a shell, in logs, and in notebooks that are kept."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from prlx import (
    _combine,
    _cycles,
    _diff,
    _doctor,
    _kernel_trace,
    _probe,
    _session,
    _session_diff,
    _simulation,
    _simulator,
    _solve,
    _timeline,
    _validate,
)
from prlx._result import Brief, Card
from prlx._rows import table
from prlx._units import one_unit

from .conftest import SCHEMAS

# What a document says in words or names; everything else would be another document when it were longer.
WORDS = {"name", "host", "kernel", "path", "file", "verdict", "headline", "key", "what", "class_name", "text", "reason"}
WORDS |= {"phase_reason", "signature", "loose", "summary", "message", "detail", "warp_ranges", "function"}
RESULTS = {
    "combine": lambda document: _combine.CombinedTrace(document, Path("run")),
    "validate": lambda document: _validate.Verdicts(document),
    "solve": lambda document: _solve.Offsets(document, Path()),
    "probe": lambda document: _probe.Probing(document),
    "cycles": lambda document: _cycles.Cycles(document),
    "cycles-compare": lambda document: _cycles.CycleComparison(document),
    "inspect": lambda document: _timeline.Timeline("p" * 4000, document),
    "diff": lambda document: _diff.Diff(document, {}, {}),
    "session-diff": lambda document: _session_diff.SessionDiff(document, {}, {}),
    "session-inspect": lambda document: _session.Session("p" * 4000, document),
    "simulation": lambda document: _simulation.Simulation(document),
    "doctor": lambda document: _doctor.Diagnosis(document),
}


def example(name):
    return json.loads((SCHEMAS / f"prlx.{name}.1.json").read_text())


def swollen(value, key="", depth=0):
    """The document with longer words and many more rows: of the lists outside; those inside of rows are doubled."""
    if isinstance(value, dict):
        return {name: swollen(item, name, depth) for name, item in value.items()}
    if isinstance(value, list):
        rows = [swollen(item, key, depth + 1) for item in value]
        return rows * (200 if depth == 0 else 2) if rows and isinstance(rows[0], dict) else rows
    if isinstance(value, str) and key in WORDS:
        return "<" + value * 40
    return value


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_stays_small_whatever_it_holds(name):
    result = RESULTS[name](swollen({**example(name), "warnings": ["it is <unusual>" * 90] * 300}))
    assert len(repr(result)) <= 200, repr(result)
    assert "\n" not in repr(result)
    assert repr(result).startswith(f"<{type(result).__name__}")
    card = result._repr_html_()
    assert len(card.encode()) <= 20_000, len(card.encode())
    assert "<unusual>" not in card


@pytest.mark.parametrize("name", ["combine", "validate", "solve", "cycles", "diff", "session-diff", "simulation"])
def test_a_card_says_what_the_text_says_first(name):
    result = RESULTS[name](example(name))
    card = result._repr_html_()
    said = getattr(result, "verdict", None)
    if name in ("solve", "simulation"):
        said = result._card().sentence
    assert said
    assert Card("", said).to_html()[len("<div><b></b><br>") : -len("</div>")] in card


def test_what_a_card_leaves_out_is_counted():
    card = Card("T", "s", ("a",), [("x" * 60,)] * 1000, ["n"] * 20).to_html()
    assert len(card.encode()) <= 20_000
    shown = card.count("<tr>") - 1
    assert shown > 50
    assert f"and {1000 - shown:,} rows more" in card
    assert "and 12 notes more" in card
    whole = Card("T", "s", ("a",), [("x",)] * 3, ["n"]).to_html()
    assert "more" not in whole
    assert whole.count("<tr>") == 4


def test_a_long_name_keeps_both_ends():
    card = Card("T", "s", ("a",), [("begin" + "x" * 500 + "end",)]).to_html()
    assert ">beginxxx" in card
    assert "xxend<" in card
    assert len(card) < 500


def test_lines_of_a_file_that_is_not_a_document_are_short():
    recording = _simulator.Recording()
    recording.path = "p" * 5000
    assert len(repr(recording)) <= 200
    document = swollen(example("kernel-trace"))
    trace = _kernel_trace.KernelTrace("p" * 5000, document, {})
    warp = _kernel_trace.WarpTrace(trace, 3, {"events": 7, "dropped": 2})
    for one in (trace, trace.header, trace.losses, warp):
        assert len(repr(one)) <= 200, type(one)
    assert repr(warp).endswith(": 7 events, 2 events lost>")


def test_rows_of_results_are_short():
    """Nodes, classes, divergences and findings: what lists of them print."""
    seen = 0
    for name, make in RESULTS.items():
        result = make(swollen(example(name)))
        for attribute in ("nodes", "worst", "classes", "findings", "first", "losses", "checks", "outputs", "steps"):
            rows = getattr(result, attribute, None)
            for one in rows if isinstance(rows, (list, tuple)) else [rows]:
                if isinstance(one, Brief):
                    seen += 1
                    assert len(repr(one)) <= 200, type(one)
    assert seen > 1000


def test_a_table_shows_few_rows_and_short_cells():
    rows = table([("kernel", "string", "")], [{"kernel": f"{n} {'x' * 3000}"} for n in range(1000)])
    assert len(repr(rows)) <= 200
    assert len(rows._repr_html_()) < 2000


@pytest.mark.parametrize(
    ("times", "shown"),
    [
        ([37_567_041, 16_383, 0], ["37,567.041 us", "16.383 us", "0.000 us"]),
        ([5, 900], ["5 ns", "900 ns"]),
        ([33_290_000, 78_340.5], ["33,290.000 us", "78.341 us"]),
        ([86_400 * 10**9, 12_000], ["1,440.000 min", "0.000 min"]),
        ([None, 2_000_000], ["-", "2.000 ms"]),
        ([-1500, 3], ["-1,500 ns", "3 ns"]),
        ([None], ["-"]),
    ],
)
def test_times_of_a_table_have_one_unit(times, shown):
    format = one_unit(times)
    assert [format(time) for time in times] == shown
    assert format(1500, sign=True).startswith("+")


def test_cards_have_one_unit_of_time():
    for name in ("combine", "solve", "cycles", "validate"):
        card = RESULTS[name](example(name))._card()
        units = {cell.split()[-1] for row in card.rows for cell in row if cell.endswith((" ns", " us", " ms", " s"))}
        assert len(units) == 1, (name, units)


def test_tables_call_classes_hosts_and_ranks_by_name():
    cycles = _cycles.Cycles(example("cycles"))
    names = {one.id: one.name for one in cycles}
    assert [names[id] for id in cycles.kernels["class"]] == cycles.kernels["class_name"].tolist()
    assert [names.get(id, "") for id in cycles.steps["class"]] == cycles.steps["class_name"].tolist()
    timeline = _timeline.Timeline("a", example("inspect"))
    hosts = {file["path"]: ", ".join(file.get("hosts") or ()) for file in timeline.files}
    for rows in (timeline.planes, timeline.lines):
        assert len(rows)
        assert [hosts[path] for path in rows["file"]] == rows["host"].tolist()
        assert "rank" in rows
    document = example("combine")
    for rank, headings in ((3, ("node", "host", "rank")), (None, ("node", "host", "method"))):
        for node in document["nodes"]:
            node["rank"] = None
        document["nodes"][1]["rank"] = rank
        card = RESULTS["combine"](document)._card()
        assert card.headings[:3] == headings
        assert {len(row) for row in card.rows} == {len(card.headings)}


def test_headings_stand_above_their_values():
    card = Card("T", "s", ("name", "count", "none"), [("x", "1", ""), ("y", "20", "")]).to_html()
    sides = re.findall(r'<th style="text-align:(\w+)[^>]*>(\w+)', card)
    assert sides == [("left", "name"), ("right", "count"), ("left", "none")]
    rows = table([("kernel", "string", ""), ("count", "int64", "")], [{"kernel": "f", "count": 3}])._repr_html_()
    assert '<td style="text-align:left">f</td><td>3</td>' in rows
