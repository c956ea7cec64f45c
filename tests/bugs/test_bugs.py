"""The list of bugs is consistent, a sample of it is what it says, and reports are judged as README.md says.

``make bugs`` measures all of it. What prlx says of the bugs is not asserted here: that is a score, and it changes.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TRITON = Path(os.environ.get("PRLX_TRITON", ROOT / "build/triton")) / "3.9.0"
BUGS = ["tile_store", "row_variance", "grouped_heads", "cached_keys", "softened_step", "scattered_sums"]
WAYS = ["split_loop", "negated_mask", "early_return", "counted_in_pairs"]
CITED = re.compile(r"[\w.-]+/[\w.-]+#\d+")


@pytest.fixture
def measure(monkeypatch):
    """The modules of this folder import each other by their plain names, as scripts do."""
    monkeypatch.syspath_prepend(str(HERE))
    for name in ("measure", "pairs"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import measure

    yield measure
    for name in ("measure", "pairs"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def cases(module: str) -> list[str]:
    """The kernels in the list CASES of a module, without importing it: that wants Triton."""
    tree = ast.parse((HERE / f"{module}.py").read_text())
    (listed,) = [n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "CASES"]
    assert isinstance(listed, ast.List)
    return [ast.unparse(call.args[0]) for call in listed.elts if isinstance(call, ast.Call)]


def test_every_row_has_a_kernel_and_every_kernel_a_row(measure):
    known = measure.modules()
    listed = {row.id: group for group, row in measure.listed()}
    assert set(listed) == set(known)
    for module in set(known.values()):
        assert sorted(cases(module)) == sorted(name for name, of in known.items() if of == module)
    for name, group in listed.items():
        assert known[name].startswith(group), f"{name} stands in {known[name]}, and its row among {group}"


def test_there_are_as_many_as_were_asked_for(measure):
    rows = [(group, row) for group, row in measure.listed() if row.state in ("differs", "equal")]
    counts = {group: sum(of == group for of, _ in rows) for group in ("others", "own", "refactorings")}
    assert counts["others"] >= 32
    assert counts["own"] >= 8
    assert counts["refactorings"] == 40


def test_rows_are_cited_classed_and_explained(measure):
    classes = measure.causes()
    used = set()
    for group, row in measure.listed():
        if group == "refactorings":
            continue
        assert CITED.match(row.source) if group == "others" else row.source == "own", row
        assert row.kind in classes, row
        assert row.by in ("control flow", "data"), row
        assert row.state == "differs" or row.state.startswith("does not differ: "), row
        assert len(row.wrong) > 15, row
        used.add(row.kind)
    assert used == set(classes)


def test_forms_hold_no_mark_and_name_true_lines(measure):
    known = measure.modules()
    for group, row in measure.listed():
        text = measure.marked_text(HERE / f"{known[row.id]}.py", row.id)
        forms = {which: measure.form(text, which) for which in (measure.FIRST, measure.SECOND)}
        for which, one in forms.items():
            assert not re.search(r"# (BUG|FIX|WRONG|WAS|NOW)\b", one.text), f"{row.id}, {which} form"
            names = [node.name for node in ast.parse(one.text).body if isinstance(node, ast.FunctionDef)]
            assert names[-1] == row.id
            assert bool(one.true_lines) == (group != "refactorings"), f"{row.id}, {which} form"
        same = forms[measure.FIRST].text == forms[measure.SECOND].text
        caller = "# WRONG" in text and "# BUG" not in text and "# FIX" not in text
        assert same == caller, f"{row.id}: its forms are {'equal' if same else 'not equal'}"


def test_a_marked_text_becomes_two(measure):
    text = "a\nb  # BUG\n    # FIX: if c:\n    # FIX:     d\ne  # WRONG\nf\n"
    first, second = measure.form(text, measure.FIRST), measure.form(text, measure.SECOND)
    assert first == type(first)("a\n    if c:\n        d\ne\nf\n", (2, 3, 4))
    assert second == type(second)("a\nb\ne\nf\n", (2, 3))


def document(**more):
    return {"status": "diverged", "verdict": "", "first": None, **more}


TRUE = {"first": (7,), "second": (9,)}
COMMON = {"key": "", "id": "x", "group": "others", "kind": "stride", "by": "data", "differs": True}


@pytest.mark.parametrize(
    ("first", "true"),
    [
        ({"source_location": "/k/kernel.py:f:7:5"}, True),
        ({"source_location": "/k/kernel.py:f:9:5"}, False),  # B's line, and the report shows A's
        ({"source_location": "/k/kernel.py:f:9:5", "in_trace": "B"}, True),
        ({"source_location": "/k/kernel.py:f:7:5", "in_trace": "B"}, False),
        ({"source_location": "/triton/language/kernel.py:f:7:5"}, False),
        ({"source_location": "/triton/language/standard.py:sum:314:12"}, False),
    ],
)
def test_a_line_is_true_in_the_form_that_it_is_of(measure, first, true):
    assert measure.judged(document(first=first), Path("/k/kernel.py"), TRUE, **COMMON).line_true is true


def test_the_first_place_is_in_control_flow_else_a_store(measure):
    store = {"first": {"store": {"source_location": "/k/kernel.py:f:7:5"}}}
    assert measure.reported(document(outputs=store)) == ("/k/kernel.py:f:7:5", "first")
    both = document(outputs=store, first={"source_location": "/k/kernel.py:f:3:1"})
    assert measure.reported(both) == ("/k/kernel.py:f:3:1", "first")
    only_b = {"first": None, "stores": [{"source_location": "/k/kernel.py:f:9:5", "count_a": 0}]}
    assert measure.reported(document(outputs=only_b)) == ("/k/kernel.py:f:9:5", "second")
    nothing = measure.judged(document(findings=[]), Path("/k/kernel.py"), TRUE, **COMMON)
    assert (nothing.reported, nothing.line_true) == ("", False)


@pytest.mark.parametrize(
    ("cause", "named", "right"),
    [("unknown", False, False), ("stride", True, True), ("index-or-mask", True, True), ("race", True, False)],
)
def test_a_cause_is_right_where_the_class_accepts_it(measure, cause, named, right):
    why = {"class": cause, "confidence": "strong"}
    one = measure.judged(document(explanation=why), Path("/k/kernel.py"), TRUE, **COMMON)
    assert (bool(one.cause), one.cause_right, one.strength) == (named, right, "strong" if named else "")
    last = list(measure.totals([one]))[-1]
    assert ("wrong and strong 1" in last) == (named and not right)


def test_a_refactoring_is_recognised_and_has_no_cause(measure):
    common = {**COMMON, "group": "refactorings", "differs": False}
    told = [
        measure.Measured(**common, status=status, cause=cause)
        for status, cause in (("identical", ""), ("same-results", ""), ("same-results", "race"), ("diverged", ""))
    ]
    assert [measure.equal(one) for one in told] == [True, True, False, False]


def test_a_list_that_is_wrong_is_complained_of(measure):
    one = measure.Measured(**COMMON)
    assert measure.complaints([one], {"x": "differs"}) == []
    assert len(measure.complaints([one], {"x": "equal"})) == 1
    other = measure.Measured(**{**COMMON, "differs": False})
    assert len(measure.complaints([other], {"x": "differs"})) == 1


def test_a_sample_is_what_the_list_says(tmp_path):
    """Six bugs differ and four refactorings do not, on the simulator; what was measured is not measured again."""
    if not (TRITON / "triton").is_dir():
        if os.environ.get("CI") == "true" and sys.version_info >= (3, 11):
            pytest.fail(f"Triton 3.9.0 is not under {TRITON}: make test-python installs it")
        pytest.skip(f"no Triton 3.9.0 under {TRITON}")
    words = [sys.executable, HERE / "measure.py", "--folder", tmp_path, "--only", ",".join(BUGS + WAYS)]
    for _ in range(2):
        done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        lines = (tmp_path / "default/results.jsonl").read_text().splitlines()
        assert len(lines) == len(BUGS + WAYS)
    measured = {row["id"]: row for row in map(json.loads, lines)}
    assert [name for name, row in measured.items() if row["differs"]] == BUGS
    assert sorted(name for name, row in measured.items() if not row["differs"]) == sorted(WAYS)
    for name in BUGS:
        assert measured[name]["true_lines"]
        assert measured[name]["status"] == "diverged"
        assert measured[name]["reported"]


LOCATED = ["tile_store", "grouped_heads", "softened_step"]


@pytest.mark.usefixtures("measure")
def test_locate_names_a_true_line_of_a_sample(tmp_path):
    """``measure_locate.py`` tries all of them, and equal runs: this holds that it does, and that locate still finds."""
    if not (TRITON / "triton").is_dir():
        pytest.skip(f"no Triton under {TRITON}")
    import measure_locate

    rows = list(measure_locate.bugs(LOCATED, 1, tmp_path))
    equal = [row["status"] for row in rows if row.get("equal")]  # the first has findings on both sides
    assert equal == ["inconclusive", "same", "same"]
    located = [row for row in rows if not row.get("equal")]
    assert [row["id"] for row in located if not row["true"]] == []
    assert {row["id"] for row in located} == set(LOCATED)
