"""Results are objects: one line in a shell, a card in a notebook, a table, a document, a file."""

from __future__ import annotations

import json
import warnings

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import prlx as package
from prlx import _rows
from prlx._verdict import conclusion_of
from prlx.cli import _table as _commands

from .conftest import SCHEMAS


def example(name):
    return json.loads((SCHEMAS / f"prlx.{name}.1.json").read_text())


@pytest.fixture
def combined(core):
    assert not core.asked
    return package.combine_traces("p2")


@pytest.fixture
def results(core, combined):
    assert len(core.asked) == 1
    return [combined, package.align_trace("a.pb"), package.validate_collectives("a"), package.solve_offsets("p")]


@pytest.mark.usefixtures("core")
def test_repr_is_one_line(results):
    for result in (*results, package.open("a.pb")):
        assert "\n" not in repr(result)
        assert repr(result).startswith(f"<{type(result).__name__}")
    assert "2 nodes on the clock of node0" in repr(results[0])
    assert "impossible collectives 87 -> 0 of 240" in repr(results[0])
    assert "87 impossible" in repr(results[2])


def test_cards_escape_what_files_say(core):
    document = example("combine")
    document["nodes"][0]["host"] = "<script>alert(1)</script>"
    core.replies["combine"] = document
    card = package.combine_traces("a")._repr_html_()
    assert "<script>" not in card
    assert "&lt;script&gt;" in card


def test_notebooks_prefer_the_card(results):
    """JupyterLab shows a tree of JSON wherever a result offers one."""
    for result in results:
        assert not hasattr(result, "_repr_mimebundle_")
        assert not hasattr(result, "_repr_json_")
        assert len(result._repr_html_()) < 20_000


def test_a_repr_is_one_short_line_however_much_there_is(core):
    document = example("cycles")
    level = document["levels"][0]
    assert level["classes"][0]["kernels"], "an example with kernels"
    level["classes"][0]["kernels"] *= 2000
    document["verdict"] *= 50
    core.replies["cycles"] = document
    cycles = package.find_cycles("a")
    large = next(one for one in cycles if len(one.kernels) >= 2000)
    for shown in [cycles, *cycles, large.kernels[0], cycles.table, cycles.kernels]:
        assert len(repr(shown)) <= 200, type(shown)
        assert "\n" not in repr(shown)
    assert f"kernels=<{len(large.kernels)}>" in repr(large) or repr(large).endswith("...>")


def test_json_begins_with_the_schema(results):
    for result in results:
        assert next(iter(json.loads(result.to_json()))) == "schema"


def test_save_writes_whole_files_and_overwrites_nothing(combined, tmp_path):
    assert json.loads(combined.save(tmp_path / "a.json").read_text()) == combined.document
    assert combined.save(tmp_path / "a.html").read_text().startswith("<!doctype html>")
    with pytest.raises(package.FileAccessError, match="already exists"):
        combined.save(tmp_path / "a.json")
    combined.save(tmp_path / "a.json", overwrite=True)
    with pytest.raises(package.UsageError, match=r"ends in \.json or \.html"):
        combined.save(tmp_path / "a.txt")
    with pytest.raises(OSError, match="no such directory to write to"):
        combined.save(tmp_path / "none" / "a.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "a.json"]


def test_a_combined_trace_says_where_it_is_and_how_good(core, tmp_path):
    core.replies["combine"] = {**example("combine"), "base": str(tmp_path)}
    combined = package.combine_traces("p2")
    assert "base" not in combined.document
    assert combined.path == tmp_path
    assert [output.path for output in combined.outputs] == [tmp_path / "node0.xplane.pb", tmp_path / "node1.xplane.pb"]
    assert combined.reference == "node0"
    node = combined.nodes[1]
    assert (node.id, node.method, node.bound_max_ns) == ("node1", "probes", node.document["bound_ns"]["max"])
    assert combined.collectives["before"]["violated"] == 87


def test_what_is_not_known_is_not_zero(core):
    document = example("combine")
    document["nodes"][1] |= {
        "method": "none",
        "offset_ns": 0,
        "drift_ppm": 0,
        "bound_ns": {"p50": 0, "p99": 0, "max": 0},
    }
    core.replies["combine"] = document
    node = package.combine_traces("a").nodes[1]
    assert (node.offset_ns, node.drift_ppm, node.bound_p50_ns, node.bound_max_ns) == (None, None, None, None)
    document["nodes"][1]["method"] = "wall"
    node = package.combine_traces("a").nodes[1]
    assert (node.offset_ns, node.bound_max_ns) == (0, None)


def test_nodes_become_data_frames(combined):
    frame = combined.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame["id"]) == ["node0", "node1"]
    assert frame["max_correction_ns"].dtype == "int64"
    assert frame["rank"].isna().all()
    assert combined.to_polars().height == 2
    assert pa.table(combined)["id"].to_pylist() == ["node0", "node1"]
    assert pl.DataFrame(combined).columns == list(frame.columns)


def test_verdicts_say_whether_they_passed(core):
    verdicts = package.validate_collectives("a")
    assert not verdicts.passed
    assert (verdicts.groups, verdicts.violated, verdicts.unmatched) == (240, 87, 0)
    assert verdicts.worst[0].gap_ns == -1571492
    core.replies["validate"] = {**example("validate"), "violated": 0, "status": "passed", "passed": True}
    assert package.validate_collectives("a").passed is True
    said = {"status": "inconclusive", "verdict": "0 collectives: inconclusive", "passed": None}
    core.replies["validate"] = {**example("validate"), "violated": 0, **said}
    verdicts = package.validate_collectives("a")
    assert (verdicts.passed, verdicts.status) == (None, "inconclusive")
    assert "inconclusive" in repr(verdicts)


def test_a_conclusion_advises_in_arguments_and_its_document_in_flags():
    why = "no store was seen (--require control-flow compares its way alone)"
    missing = [{"what": "stores", "count": 0, "why": why}]
    document = {"conclusion": {"outcome": "inconclusive", "why": why, "looked": [], "missing": missing}}
    said = 'no store was seen (require="control-flow" compares its way alone)'
    for result in (package.Diff(document, {}, {}), package.AlignmentComparison(document)):
        assert (result.conclusion.why, result.conclusion.missing[0].why) == (said, said)
        with pytest.raises(package.InconclusiveError, match='require="control-flow"'):
            bool(result.conclusion)
    assert conclusion_of(document).why == why


def test_combining_warns_when_nothing_was_aligned(core):
    said = "not aligned: no clock data, so the times of each node are on a clock of its own; pass probes"
    core.replies["combine"] = {
        **example("combine"),
        "status": "unaligned",
        "not_aligned": "no clock data",
        "verdict": "2 nodes: not aligned: no clock data",
        "warnings": [said],
    }
    with pytest.warns(package.NotAlignedWarning, match="no clock data") as caught:
        combined = package.combine_traces(["a", "b"])
    assert caught[0].filename == __file__
    assert combined.not_aligned == "no clock data"
    assert "not aligned: no clock data" in repr(combined)
    core.replies["align"] = core.replies["combine"]
    with pytest.warns(package.NotAlignedWarning):
        package.align_trace("a")
    core.replies["combine"] = {
        **example("combine"),
        "status": "unaligned",
        "not_aligned": "a merge was asked for",
        "warnings": [],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        package.combine_traces(["a", "b"], apply_alignment=False)


@pytest.mark.usefixtures("core")
def test_offsets_name_their_file(tmp_path):
    offsets = package.solve_offsets("p.jsonl", output="offsets.jsonl")
    assert offsets.path == tmp_path / "offsets.jsonl"
    assert offsets.nodes[1].offset_ns == 338404
    assert offsets.nodes[1].steps[0]["size_ns"] == 2000504


@pytest.mark.usefixtures("core")
def test_a_timeline_has_planes_lines_and_clocks():
    timeline = package.open("a.pb")
    assert timeline.hosts == ("node1",)
    assert timeline.ranks == ()
    planes = timeline.planes.to_pandas()
    assert "/host:CPU" in list(planes["name"])
    lines = timeline.lines.to_pandas()
    assert set(lines["plane"]) >= {"/host:CPU"}
    assert lines["first_ns"].dropna().min() > 10**18
    assert timeline.clocks["readings"].tolist() == [1168]
    assert "<table" in timeline._repr_html_()
    assert not timeline.collectives.passed


def test_events_of_clock_files_are_a_usage_error(core):
    document = example("inspect")
    core.replies["inspect"] = {**document, "files": document["files"][3:]}
    with pytest.raises(package.UsageError, match="holds no trace"):
        _ = package.open("p.jsonl").events


def test_rows_keep_their_columns_when_there_are_none():
    empty = _rows.table([("a", "int64", "ns"), ("b", "string", "")], [])
    assert (len(empty), empty.names) == (0, ["a", "b"])
    assert empty.to_pandas().empty


def test_tables_below_each_other_share_their_dictionary():
    specs = [("name", "string", ""), ("n", "int64", "")]
    first = _rows.table(specs, [{"name": "x", "n": 1}, {"name": None, "n": 2}])
    second = _rows.table(specs, [{"name": "y", "n": None}, {"name": "x", "n": 4}])
    both = _rows.stacked([first, second], "file", ["one", "two"])
    assert both["file"].tolist() == ["one", "one", "two", "two"]
    assert both["name"].tolist() == ["x", None, "y", "x"]
    assert both["n"].tolist() == [1, 2, None, 4]
    assert both.column("name").dictionary() == ["x", "y"]


def test_the_table_of_commands_is_the_documented_one():
    assert {"combine", "align", "validate", "solve", "inspect", "doctor", "version", "completion", "config"} <= set(
        _commands.COMMANDS
    )
