"""What was given differently is named first, before anything that is said of code: a sample.

``measure_commits.py given`` takes all.
"""

from __future__ import annotations

import json


def test_the_argument_that_differs_comes_first(measure_commits, tmp_path):
    expected = {
        2: ("x", "type"),
        8: ("x", "place"),
        14: ("n", "value"),
        23: ("BLOCK", "constant"),
        27: ("x", "contents"),
    }
    for row in measure_commits.recorded("given", tmp_path, ",".join(map(str, expected))):
        document = measure_commits.compared(tmp_path, row["number"])
        first, why = document["given"][0], document["explanation"]
        assert (first["name"], first["what"]) == expected[row["number"]], json.dumps(document["given"])
        assert why["class"] == "given"
        assert why["summary"].startswith(f"other arguments: {first['name']} ") or why["confidence"] == "likely"
        assert why["chain"][0]["text"].startswith(first["name"])


def test_the_text_report_has_the_table_before_the_divergence(measure_commits, tmp_path):
    (row,) = measure_commits.recorded("given", tmp_path, "14")
    folder = tmp_path / str(row["number"])
    text = measure_commits.run("-m", "prlx", "diff", folder / "a.prlx", folder / "b.prlx", cache=tmp_path)
    assert text.index("given differently:") < text.index("first divergence:")
    assert "compiled in as a constant in B" in text
