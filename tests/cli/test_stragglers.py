"""``prlx stragglers``: the answer, the gate, and what can be asked for."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import prlx as package

ROOT = Path(__file__).resolve().parents[2]
TORCH = str(ROOT / "examples" / "torch_ranks")

CONCLUDED = (0, 1, 5)  # the exit codes of documents that were read


@pytest.fixture(scope="module")
def timeline(data):
    return next((data / "kineto").glob("*timeline-ST*"))


def test_the_first_line_says_who_was_late_and_why(prlx, timeline):
    ran = prlx("stragglers", str(timeline))
    assert ran.code == 1
    first = ran.out.splitlines()[0]
    assert first.startswith("dp1 pp3 was late")
    assert "forward-compute" in first


@pytest.mark.parametrize(("gate", "code"), [("rank-loss>5%", 1), ("rank-loss > 16.5 %", 1), ("rank-loss>20%", 0)])
def test_a_gate_fails_where_a_rank_cost_more(prlx, timeline, gate, code):
    assert prlx("stragglers", str(timeline), "--fail-on", gate).code == code


def test_reports_say_what_the_document_says(prlx, timeline, tmp_path):
    """The columns of the CSV are fields of the document; the failures of JUnit are the ranks for which the gate fails."""
    paths = {
        name: tmp_path / f"late{ending}" for name, ending in (("csv", ".csv"), ("junit", ".xml"), ("markdown", ".md"))
    }
    flags = [word for name, path in paths.items() for word in (f"--{name}", str(path))]
    ran = prlx("stragglers", str(timeline), "--json", "--fail-on", "rank-loss>5%", *flags)
    assert ran.code == 1
    document = json.loads(ran.out)
    assert not {"written", "rendered"} & document.keys()
    assert all(path.name in ran.err for path in paths.values())
    rows = list(csv.DictReader(io.StringIO(paths["csv"].read_text())))
    assert [row["rank"] for row in rows] == [rank["id"] for rank in document["ranks"]]
    for row, rank in zip(rows, document["ranks"], strict=True):
        for column in ("cost_ns", "gain_ns", "last", "operations", "steps"):
            assert int(row[column]) == rank[column]
        assert int(row["waited_ns"]) == rank["time"]["waiting_ns"]
        assert float(row["share"]) == rank["share"]
        assert row["blamed"] == str(rank["blamed"]).lower()
    failed = [
        case.get("name")
        for case in ET.parse(paths["junit"]).getroot().iter("testcase")
        if case.find("failure") is not None
    ]
    over = [rank["id"] for rank in document["ranks"] if rank["blamed"] and rank["share"] > 0.05]
    assert over
    assert failed == ["rank-loss>5%", *over]
    assert "| dp1 pp3 |" in paths["markdown"].read_text()


def test_a_report_can_be_printed_saved_and_made_later(prlx, timeline, tmp_path):
    printed = prlx("stragglers", str(timeline), "--markdown", "-").out
    assert printed.startswith("### Stragglers")
    found = package.find_stragglers(timeline, progress=False)
    assert found.save(tmp_path / "late.md").read_text() == printed
    found.save(tmp_path / "late.json")
    assert prlx("report", str(tmp_path / "late.json"), "-o", str(tmp_path / "later.md")).code in CONCLUDED
    assert (tmp_path / "later.md").read_text() == printed
    met = found.save(tmp_path / "late.xml", fail_on="rank-loss>5%")
    assert ET.parse(met).getroot().get("failures") == str(1 + len(found.over("rank-loss>5%")))
    page = found.save(tmp_path / "late.html").read_text()
    assert "<svg" in page
    assert "dp1 pp3" in page
    without = ET.parse(found.save(tmp_path / "late.junit")).getroot()
    assert [case.get("name") for case in without.iter("testcase") if case.find("failure") is not None] == ["verdict"]


def test_reports_replace_nothing_unasked(prlx, timeline, tmp_path):
    there = tmp_path / "late.csv"
    there.write_text("mine")
    assert prlx("stragglers", str(timeline), "--csv", str(there)).code != 0
    assert there.read_text() == "mine"
    with pytest.raises(package.FileAccessError):
        package.find_stragglers(timeline, progress=False).save(there)
    assert prlx("stragglers", str(timeline), "--csv", str(there), "--overwrite").code == 1
    assert there.read_text().startswith("rank,host,cost_ns,")


def test_two_things_do_not_go_to_stdout(prlx, timeline):
    ran = prlx("stragglers", str(timeline), "--csv", "-", "--json")
    assert ran.code == 2
    assert "only one thing can go to stdout" in ran.err


@pytest.mark.parametrize("gate", ["", "rank-loss", "rank-loss>5", "step-loss>5%", "rank-loss>-5%", "rank-loss>100%"])
def test_a_gate_that_is_none_is_refused_before_anything_is_read(prlx, gate):
    ran = prlx("stragglers", "no such file", "--fail-on", gate)
    assert ran.code == 2
    assert "rank-loss>5%" in ran.err


@pytest.mark.parametrize("since", ["-1", "nan", "inf", "soon", ""])
def test_seconds_that_are_none_are_refused(prlx, since):
    ran = prlx("stragglers", "no such file", f"--since={since}")
    assert ran.code == 2
    assert f"--since: expected seconds, 0 or more, got {since!r}" in ran.err


def test_the_command_takes_parts_of_a_second_as_the_function_does(prlx, timeline):
    found = package.find_stragglers(timeline, since=40.5, progress=False)
    assert found.document == json.loads(prlx("stragglers", str(timeline), "--since", "40.5", "--json").out)
    assert found.document != package.find_stragglers(timeline, since=40, progress=False).document


def test_the_function_and_the_command_say_the_same(prlx, timeline):
    found = package.find_stragglers(timeline, step=["519"], limit=2, progress=False)
    assert found.document == json.loads(
        prlx("stragglers", str(timeline), "--step", "519", "--limit", "2", "--json").out
    )
    assert [rank.id for rank in found.blamed] == ["dp1 pp3"]
    assert found.blamed[0].cause == "forward-compute"
    assert [step["name"] for step in found.steps] == ["519"]
    assert len(found.document["worst"]) == 2


def test_a_part_of_the_job_can_be_looked_at(timeline):
    every = package.find_stragglers(timeline, progress=False)
    late = package.find_stragglers(timeline, since=40, progress=False)
    assert 0 < late.operations < every.operations
    pipeline = package.find_stragglers(timeline, group="pipeline dp0", progress=False)
    assert {row["group"] for row in pipeline.document["groups"]} == {"pipeline dp0 tp0"}


def test_what_is_asked_for_and_is_not_there_is_named(prlx, timeline):
    ran = prlx("stragglers", str(timeline), "--step", "7")
    assert ran.code == 2
    assert 'no step "7"' in ran.err
    assert "23 to 1048" in ran.err
    assert prlx("stragglers", str(timeline), "--group", "nobody").code == 2


def test_where_nothing_can_be_judged_the_exit_code_says_so(prlx, data):
    alone = next((data / "jax_skew" / "p2").glob("**/*.xplane.pb"))
    ran = prlx("stragglers", str(alone))
    assert ran.code == 5
    assert "nothing to judge" in ran.out


def test_quiet_prints_nothing_and_the_exit_code_says_it(prlx, timeline):
    ran = prlx("stragglers", str(timeline), "-q", "--fail-on", "rank-loss>5%")
    assert (ran.code, ran.out) == (1, "")


def test_one_trace_of_several_ranks_says_what_is_missing(prlx):
    ran = prlx("stragglers", f"{TORCH}/rank0.pt.trace.json.gz")
    assert ran.code == 5
    assert "only the trace of one rank is given; name those of the others too" in ran.err
    assert "have no partners" not in ran.err


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--group", "nobody"), "the communicators are gloo"),
        (("--since", "1000"), "all operations had ended 7.444 s after the first one began"),
        (("--since", "7", "--step", "1"), "no operation is all that was asked for"),
    ],
)
def test_a_choice_that_leaves_nothing_is_refused_with_what_there_is(prlx, asked, said):
    ran = prlx("stragglers", TORCH, *asked)
    assert ran.code == 2
    assert said in ran.err


def test_a_saved_document_is_held_against_a_gate(prlx, timeline, tmp_path):
    saved = tmp_path / "late.json"
    found = package.find_stragglers(timeline, progress=False)
    found.save(saved)
    met = prlx("report", str(saved), "-o", str(tmp_path / "met.xml"), "--fail-on", "rank-loss>5%")
    assert met.code == 1
    assert "dp1 pp3 meets rank-loss>5%" in met.err
    assert ET.parse(tmp_path / "met.xml").getroot().get("failures") == str(1 + len(found.over("rank-loss>5%")))
    assert prlx("report", str(saved), "-o", str(tmp_path / "unmet.xml"), "--fail-on", "rank-loss>50%").code == 0
    assert ET.parse(tmp_path / "unmet.xml").getroot().get("failures") == "0"
    diff = str(ROOT / "docs" / "schemas" / "prlx.diff.1.json")
    other = prlx("report", diff, "-o", str(tmp_path / "x.xml"), "--fail-on", "rank-loss>5%")
    assert other.code == 2
    assert "this document is not of who was late" in other.err
    assert not (tmp_path / "x.xml").exists()


def test_tracks_for_a_viewer_are_written_beside(prlx, timeline, tmp_path):
    tracks = tmp_path / "late.trace.json"
    ran = prlx("stragglers", str(timeline), "--json", "--overlay", str(tracks))
    assert ran.code in CONCLUDED
    document, trace = json.loads(ran.out), json.loads(tracks.read_text())
    names = [event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "process_name"]
    assert names[0] == f"prlx stragglers: {document['ranks'][0]['id']}, blamed"
    assert len(names) == len(document["ranks"])
    operations = [event for event in trace["traceEvents"] if event.get("cat") == "prlx operation"]
    assert len(operations) == sum(rank["operations"] for rank in document["ranks"])
    assert round(sum(event["dur"] for event in operations) * 1e3) == sum(document["time"].values())
    found = package.find_stragglers(timeline, overlay=tmp_path / "again.trace.json", progress=False)
    assert (tmp_path / "again.trace.json").read_bytes() == tracks.read_bytes()
    assert found.document == document


def test_tracks_are_not_made_of_a_result(prlx, timeline, tmp_path):
    found = package.find_stragglers(timeline, progress=False)
    with pytest.raises(package.UsageError, match="tracks are made of the traces"):
        found.save(tmp_path / "late.trace.json")
    found.save(tmp_path / "late.json")
    ran = prlx("report", str(tmp_path / "late.json"), "-o", str(tmp_path / "late.trace.json"))
    assert ran.code == 2
    assert "tracks cannot be made of a document" in ran.err
    assert not (tmp_path / "late.trace.json").exists()
