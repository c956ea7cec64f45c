"""Two alignments of the same traces, compared: on the command line, in Python, and with exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import prlx as package

from .conftest import SCHEMAS

P4 = Path(__file__).resolve().parents[2] / "examples/jax_p4"


def documented():
    return json.loads((SCHEMAS / "prlx.combine-compare.1.json").read_text())


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The example, aligned by probes, by collectives, and by offsets that are wrong for one node."""
    folder = tmp_path_factory.mktemp("runs")
    for method in ("probes", "collectives"):
        package.combine_traces(P4, method=method, output=folder / method)
    combined = package.combine_traces(P4, method="wall", output=folder / "raw")
    assert combined.status == "unaligned"
    offsets = {"node0": 0, "node1": 37_567_041, "node2": -5_578_393, "node3": 415_120 + 3_000_000}
    declared = folder / "clocks.toml"
    declared.write_text(
        "\n".join(f"[nodes.{name}]\noffset_ns = {ns}\nbound_ns = 1000000" for name, ns in offsets.items())
    )
    package.combine_traces(P4, method="declared", declared=declared, output=folder / "wrong")
    return folder


def test_alignments_that_agree(prlx, runs):
    ran = prlx("combine", "--compare", runs / "probes", runs / "collectives" / "alignment.json")
    assert ran.code == 0
    assert ran.out.startswith("the alignments agree: 3 clocks compared, at most ")
    assert [line.split()[0] for line in ran.out.splitlines()[4:]] == ["node0", "node1", "node2", "node3"]
    assert not ran.err


def test_a_contradiction_is_exit_code_1_and_says_where(prlx, runs):
    ran = prlx("combine", "--compare", runs / "probes", runs / "wrong")
    assert ran.code == 1
    assert "the alignments contradict each other about node3, of 3 clocks compared" in ran.out
    assert "node3: B less A is +3." in ran.out
    assert "the intervals have nothing in common at 2" in ran.out


def test_nothing_to_compare_is_exit_code_5(prlx, runs):
    ran = prlx("combine", "--compare", runs / "probes", runs / "raw")
    assert ran.code == 5
    assert "inconclusive: no clock could be compared" in ran.out
    assert "node1: only one of the documents relates its clock to the others" in ran.err


def test_the_document_and_the_function_are_the_same(prlx, runs, monkeypatch):
    monkeypatch.chdir(runs)
    printed = prlx("combine", "--compare", "probes", "collectives", "--json").json()
    compared = package.compare_alignments("probes", "collectives")
    assert printed == compared.document
    assert printed["a"]["path"] == "probes/alignment.json"
    assert compared.agree is True
    assert package.compare_alignments("probes", "wrong").agree is False
    assert package.compare_alignments("probes", "raw").agree is None
    node = compared.nodes[1]
    assert (node.method_a, node.method_b, node.status) == ("probes", "collectives", "agree")
    assert 0 < node.apart_p50_ns <= node.apart_max_ns < node.bound_b_ns
    assert "the alignments agree" in repr(compared)
    assert "node1" in compared._repr_html_()


def test_other_references_do_not_belong_together(prlx, runs):
    package.combine_traces(P4, method="probes", reference="node2", output=runs / "of_node2", overwrite=True)
    ran = prlx("combine", "--compare", runs / "probes", runs / "of_node2")
    assert ran.code == 4
    assert "on that of node0" in ran.err
    assert "--reference" in ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("a.json",), "--compare takes two alignments, got 1"),
        (("a.json", "b.json", "c.json"), "got 3"),
        (("a.json", "b.json", "-o", "out"), "--output is for combining"),
        (("a.json", "b.json", "--no-align"), "--no-align is for combining"),
        (("a.json", "b.json", "--method", "probes"), "--method is for combining"),
    ],
)
def test_what_cannot_be_meant_is_refused(prlx, core, words, said):
    ran = prlx("combine", "--compare", *words)
    assert ran.code == 2
    assert said in ran.err
    assert not core.asked


@pytest.mark.parametrize(("status", "code"), [("agree", 0), ("contradict", 1), ("inconclusive", 5)])
def test_each_verdict_has_its_exit_code(prlx, core, status, code):
    outcome = {"agree": "same", "contradict": "differs"}.get(status, status)
    conclusion = {**documented()["conclusion"], "outcome": outcome}
    core.replies["combine_compare"] = {**documented(), "status": status, "conclusion": conclusion}
    for node in core.replies["combine_compare"]["nodes"][1:]:
        node["status"] = status
    ran = prlx("combine", "a.json", "b.json", "--compare")
    assert ran.code == code
    (op, request) = core.asked[-1]
    assert op == "combine_compare"
    assert [path.rpartition("/")[2] for path in request.values()] == ["a.json", "b.json"]
