"""What was given differently is named first, before anything that is said of code: a sample.

``measure_commits.py given`` takes all.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TRITON = Path(os.environ.get("PRLX_TRITON", ROOT / "build/triton")) / "3.9.0"
NAMES = ("measure_commits", "pairs")

pytestmark = pytest.mark.skipif(not (TRITON / "triton").is_dir(), reason="no Triton under build/triton/3.9.0")


@pytest.fixture
def measure(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))
    for name in NAMES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    import measure_commits

    yield measure_commits
    for name in NAMES:
        monkeypatch.delitem(sys.modules, name, raising=False)


def test_the_argument_that_differs_comes_first(measure, tmp_path):
    expected = {
        2: ("x", "type"),
        8: ("x", "place"),
        14: ("n", "value"),
        23: ("BLOCK", "constant"),
        27: ("x", "contents"),
    }
    for row in measure.recorded("given", tmp_path, ",".join(map(str, expected))):
        document = measure.compared(tmp_path, row["number"])
        first, why = document["given"][0], document["explanation"]
        assert (first["name"], first["what"]) == expected[row["number"]], json.dumps(document["given"])
        assert why["class"] == "given"
        assert why["summary"].startswith(f"other arguments: {first['name']} ") or why["confidence"] == "likely"
        assert why["chain"][0]["text"].startswith(first["name"])


def test_the_text_report_has_the_table_before_the_divergence(measure, tmp_path):
    (row,) = measure.recorded("given", tmp_path, "14")
    folder = tmp_path / str(row["number"])
    text = measure.run("-m", "prlx", "diff", folder / "a.prlx", folder / "b.prlx", cache=tmp_path)
    assert text.index("given differently:") < text.index("first divergence:")
    assert "compiled in as a constant in B" in text
