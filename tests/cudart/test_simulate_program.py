"""``prlx.simulate_program`` gives as values what ``prlx simulate -- PROGRAM`` prints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import prlx

PROGRAM = [sys.executable, str(Path(__file__).parents[2] / "examples" / "ptx" / "driver.py")]


def test_it_is_the_document_of_the_command():
    words = [sys.executable, "-m", "prlx", "simulate", "--json", "--", *PROGRAM, "101"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    ran = prlx.simulate_program([*PROGRAM, "101"], capture_output=True)
    assert ran.document == json.loads(done.stdout)
    assert (ran.exit_code, done.returncode) == (1, 1)
    assert ran.stderr == done.stderr
    assert ran.passed is False
    assert [row["line"] for row in ran.document["kernels"][0]["lines"]] == list(ran.lines["line"])
    assert ran.fidelity["saxpy"]["exact"]


def test_what_it_records_is_there(tmp_path):
    ran = prlx.simulate_program(PROGRAM, output=tmp_path / "r", mode="values", stores=True, capture_output=True)
    assert [prlx.read_trace(one).header.document["kernel"] for one in ran.recordings] == ["saxpy"]
    assert ran.session == tmp_path / "r"
    assert list(prlx.open(ran.session).launches["kernel"]) == ["saxpy"]


def test_the_program_runs_where_and_with_what_it_is_told(tmp_path):
    code = "import os; print(os.getcwd(), os.environ['WORD'], 'HOME' in os.environ)"
    ran = prlx.simulate_program([sys.executable, "-c", code], cwd=tmp_path, env={"WORD": "yes"}, capture_output=True)
    assert ran.stdout == f"{tmp_path} yes False\n"
    assert ran.conclusion.outcome == "inconclusive"  # nothing was launched


def test_a_page_has_the_source_of_its_kernels(tmp_path):
    ran = prlx.simulate_program(PROGRAM, capture_output=True)
    assert "saxpy" in ran.save(tmp_path / "page.html").read_text()
    assert json.loads(ran.save(tmp_path / "run.json").read_text()) == ran.document
    assert "saxpy" in ran._repr_html_()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rest": "again"}, "rest: expected skip or repeat"),
        ({"launches": 0}, "launches: expected a whole number above 0"),
        ({"rest": "repeat", "output": "r"}, "records nothing"),
        ({"output": "r.prlx"}, "a program makes a session"),
        ({"seed": -1}, "seed: expected a whole number"),
    ],
)
def test_options_that_cannot_be_are_refused(options, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(prlx.UsageError, match=said):
        prlx.simulate_program(PROGRAM, **options)
    with pytest.raises(prlx.UsageError, match="argv is"):
        prlx.simulate_program("./a.out")
    with pytest.raises(prlx.FileAccessError, match="cannot be run"):
        prlx.simulate_program(["./not-there"])
