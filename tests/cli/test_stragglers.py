"""``prlx stragglers``: the answer, the gate, and what can be asked for."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET

import pytest

import prlx as package


@pytest.fixture(scope="module")
def timeline(data):
    return next((data / "kineto").glob("*timeline-ST*"))


def test_the_first_line_says_who_was_late_and_why(prlx, timeline):
    ran = prlx("stragglers", str(timeline))
    assert ran.code == 0
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
    assert prlx("report", str(tmp_path / "late.json"), "-o", str(tmp_path / "later.md")).code == 0
    assert (tmp_path / "later.md").read_text() == printed
    met = found.save(tmp_path / "late.xml", fail_on="rank-loss>5%")
    assert ET.parse(met).getroot().get("failures") == str(1 + len(found.over("rank-loss>5%")))
    page = found.save(tmp_path / "late.html").read_text()
    assert "<svg" in page
    assert "dp1 pp3" in page
    assert ET.parse(found.save(tmp_path / "late.junit")).getroot().get("failures") == "0"


def test_reports_replace_nothing_unasked(prlx, timeline, tmp_path):
    there = tmp_path / "late.csv"
    there.write_text("mine")
    assert prlx("stragglers", str(timeline), "--csv", str(there)).code != 0
    assert there.read_text() == "mine"
    with pytest.raises(package.FileAccessError):
        package.find_stragglers(timeline, progress=False).save(there)
    assert prlx("stragglers", str(timeline), "--csv", str(there), "--overwrite").code == 0
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
