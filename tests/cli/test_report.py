"""``prlx report``: the exit code of a saved document is that of what it concludes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import SCHEMAS


def saved(folder: Path, name: str, outcome: str | None, **changes: object) -> str:
    """An example of a document with another conclusion."""
    document = json.loads((SCHEMAS / f"prlx.{name}.1.json").read_text()) | changes
    document.pop("conclusion", None)
    if outcome is not None:
        looked = [{"what": "ranks", "count": 4, "of": 4}]
        document["conclusion"] = {"outcome": outcome, "why": f"it is {outcome}", "looked": looked, "missing": []}
    (folder / "saved.json").write_text(json.dumps(document))
    return str(folder / "saved.json")


@pytest.mark.parametrize("name", ["diff", "simulate", "stragglers", "cycles", "validate", "nccl-diagnose"])
@pytest.mark.parametrize(
    ("outcome", "code"),
    [("same", 0), ("passed", 0), ("differs", 1), ("failed", 1), ("inconclusive", 5), (None, 5), ("fine", 3)],
)
def test_the_exit_code_is_that_of_the_conclusion(prlx, tmp_path, name, outcome, code):
    ran = prlx("report", saved(tmp_path, name, outcome), "-o", str(tmp_path / "page.html"))
    assert ran.code == code, ran.err
    assert (tmp_path / "page.html").exists() == (code != 3)
    assert ("inconclusive" in ran.err) == (code == 5)


@pytest.mark.parametrize(
    ("outcome", "gate", "code"),
    [
        ("failed", "rank-loss>99%", 0),
        ("passed", "rank-loss>99%", 0),
        ("inconclusive", "rank-loss>99%", 5),
        (None, "rank-loss>99%", 5),
        ("failed", "rank-loss>1%", 1),
        ("inconclusive", "rank-loss>1%", 1),
        (None, "rank-loss>1%", 1),
    ],
)
def test_a_gate_is_passed_by_what_rests_on_evidence_alone(prlx, tmp_path, outcome, gate, code):
    words = ("-o", str(tmp_path / "page.html"), "--fail-on", gate)
    ran = prlx("report", saved(tmp_path, "stragglers", outcome), *words, "--json")
    assert ran.code == code, ran.err
    document = ran.json()
    assert document["schema"] == "prlx.report/1"
    assert document["of"] == "prlx.stragglers/1"
    assert bool(document["over"]) == (code == 1)
    assert document["conclusion"]["outcome"] == {0: "passed", 1: "failed", 5: "inconclusive"}[code]


def test_a_page_of_a_document_without_a_conclusion_is_not_green(prlx, tmp_path):
    prlx("report", saved(tmp_path, "simulate", None, findings=[]), "-o", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert 'data-outcome="inconclusive"' in page
    assert "pill good" not in page


def test_report_and_document_are_not_both_printed(prlx, tmp_path):
    assert prlx("report", saved(tmp_path, "diff", "same"), "-o", "-", "--format", "csv", "--json").code == 2
