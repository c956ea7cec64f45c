"""Every document that judges holds its verdict in one form, and Python's truth and the exit code follow from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import prlx
from prlx._verdict import EXIT_CODES, Judged, conclusion_of

SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "schemas"

JUDGES_NOTHING = {
    "prlx.alignment_stats": "counts what was corrected",
    "prlx.config": "settings",
    "prlx.convert": "what was written",
    "prlx.doctor": "judges an installation, not evidence",
    "prlx.inspect": "what is there",
    "prlx.kernel-trace": "what is there",
    "prlx.mark": "what prlx did to a file",
    "prlx.nccl": "where the time of operations went; what nccl diagnose says judges",
    "prlx.session": "what was recorded",
    "prlx.session-inspect": "what is there",
    "prlx.version": "a number",
}
"""Documents without a verdict, and what they are instead."""

DOCUMENTS = sorted(path.name.removesuffix(".1.json") for path in SCHEMAS.glob("*.1.json"))
JUDGES = [name for name in DOCUMENTS if name not in JUDGES_NOTHING]


def test_every_document_judges_or_says_what_it_is_instead():
    assert set(DOCUMENTS) >= JUDGES_NOTHING.keys()


@pytest.mark.parametrize("name", JUDGES)
def test_a_document_that_judges_holds_its_conclusion(name):
    schema = json.loads((SCHEMAS / f"{name}.1.schema.json").read_text())
    assert "conclusion" in schema["required"]
    document = json.loads((SCHEMAS / f"{name}.1.json").read_text())
    conclusion = conclusion_of(document)
    assert conclusion.outcome in EXIT_CODES
    assert conclusion.looked or conclusion.outcome == "inconclusive", "nothing looked at is not a verdict"
    if conclusion.outcome in ("same", "passed"):
        assert not conclusion.missing
    if "passed" in document:
        assert document["passed"] in (None, conclusion.outcome in ("same", "passed")) or conclusion.outcome == "differs"


@pytest.mark.parametrize("outcome", sorted(EXIT_CODES))
def test_the_truth_of_a_result_is_that_of_its_conclusion(outcome):
    result = Judged(
        {"schema": "prlx.any/1", "conclusion": {"outcome": outcome, "why": "so", "looked": [], "missing": []}}
    )
    if outcome == "inconclusive":
        with pytest.raises(prlx.InconclusiveError, match="inconclusive: so"):
            bool(result)
    else:
        assert bool(result) == (EXIT_CODES[outcome] == 0)


def test_a_document_without_a_conclusion_is_inconclusive():
    with pytest.raises(prlx.InconclusiveError, match="an earlier version of prlx wrote it"):
        bool(Judged({"schema": "prlx.any/1"}))
