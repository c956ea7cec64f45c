"""``prlx cycles compare --fail-on``: gates from Python, from the command line and in reports."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import prlx

ROOT = Path(__file__).resolve().parents[2]
BEFORE = "examples/serving/before.json.gz"
AFTER = "examples/serving/after.json.gz"


def compare(*words):
    """``prlx cycles compare`` of the shipped traces."""
    return subprocess.run(
        [sys.executable, "-m", "prlx", "cycles", "compare", BEFORE, AFTER, *map(str, words)],
        cwd=ROOT, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("gates", "code"),
    [
        (["step:decode*>3%"], 1),
        (["step:decode*>5%"], 0),
        (["step:decode*>5%", "added", "removed"], 0),
        (["kernel:paged_attention*>10%"], 1),
        (["kernel:paged_attention*>40us"], 1),
        (["kernel:no_such_kernel>10%"], 5),
        (["kernel:no_such_kernel>10%", "step:decode*>3%"], 1),
        (["step:prefill*>3%"], 5),
    ],
)
def test_the_exit_code_is_that_of_the_gates(gates, code):
    done = compare(*(word for gate in gates for word in ("--fail-on", gate)), "--json")
    assert done.returncode == code, done.stdout[-2000:] + done.stderr
    document = json.loads(done.stdout)
    assert document["gate"]["outcome"] == {0: "passed", 1: "failed", 5: "inconclusive"}[code]
    assert [one["gate"] for one in document["gate"]["gates"]] == gates
    assert document["conclusion"]["outcome"] == "differs"


@pytest.mark.parametrize("gate", ["steps>3%", "step>3", "step", "added>3%", "kernel:>3%"])
def test_what_is_no_gate_is_a_mistake(gate):
    done = compare("--fail-on", gate)
    assert done.returncode == 2
    assert gate in done.stderr
    assert "such as" in done.stderr


def test_reports_show_the_gates(tmp_path):
    gates = ["--fail-on", "step:decode*>3%", "--fail-on", "kernel:no_such>5%", "--fail-on", "added"]
    names = {"junit": "gate.xml", "markdown": "gate.md", "html": "gate.html", "github": "gate.txt"}
    written = [word for flag, name in names.items() for word in (f"--{flag}", tmp_path / name)]
    done = compare(*gates, *written)
    assert done.returncode == 1, done.stderr
    for line in ("failed: step:decode*>3%", "inconclusive: kernel:no_such>5%", "passed: added"):
        assert line in done.stdout
    cases = {case.get("name"): case for case in ET.parse(tmp_path / "gate.xml").iter("testcase")}
    assert cases["step:decode*>3%"].find("failure") is not None
    assert cases["kernel:no_such>5%"].find("error") is not None
    assert [cases["added"].find(outcome) for outcome in ("failure", "error", "skipped")] == [None] * 3
    lines = (tmp_path / "gate.txt").read_text().splitlines()
    assert any(line.startswith("::error ") and "step%3Adecode*>3%25 failed" in line for line in lines)
    assert any(line.startswith("::warning ") and "no_such" in line for line in lines)
    assert "**Gates: failed**" in (tmp_path / "gate.md").read_text()
    assert 'id="gates"' in (tmp_path / "gate.html").read_text()


def test_a_saved_comparison_keeps_its_gates(tmp_path):
    saved = tmp_path / "comparison.json"
    saved.write_text(compare("--fail-on", "added", "--json").stdout)
    done = subprocess.run(
        [sys.executable, "-m", "prlx", "report", saved, "-o", tmp_path / "later.xml"],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr  # the runs differ, and that is not what it was to fail on
    assert 'name="added"' in (tmp_path / "later.xml").read_text()


def test_gates_from_python(tmp_path):
    change = prlx.compare_cycles(ROOT / BEFORE, ROOT / AFTER, fail_on=["step:decode*>3%", "added"], progress=False)
    assert change.gate.outcome == "failed"
    assert change.gate.exit_code == 1
    change.save(tmp_path / "gate.xml")
    assert prlx.compare_cycles(ROOT / BEFORE, ROOT / AFTER, progress=False).gate is None


def test_a_baseline_that_differs_as_much_makes_a_change_noise():
    plain = prlx.compare_cycles(ROOT / BEFORE, ROOT / AFTER, fail_on="step:decode*>3%", progress=False)
    noisy = prlx.compare_cycles(
        ROOT / BEFORE, ROOT / AFTER, fail_on="step:decode*>3%", baseline=ROOT / AFTER, progress=False
    )
    assert plain.gate.outcome == "failed"
    assert noisy.gate.outcome == "inconclusive"
    assert "baselines" in noisy.gate.why
    assert noisy.document["options"]["baselines"] == 1
    assert not noisy.regressions
