"""A hint speaks the reader's interface: an argument in Python, a flag on the command line."""

from __future__ import annotations

import dataclasses
import inspect
import json
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import prlx
from prlx import _errors

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/jax_p4"


@pytest.mark.parametrize(
    ("flags", "arguments"),
    [
        ("choose another output or pass --overwrite", "choose another output or pass overwrite=True"),
        ("raise the memory limit (--memory-limit)", "raise the memory limit (memory_limit=)"),
        ("cover the trace, or use --policy degrade", 'cover the trace, or use policy="degrade"'),
        ("or leave the clock data out: --method wall", 'or leave the clock data out: method="wall"'),
        ("name it: --snapshots ID=a.jsonl, ID one of [0 1]", "name it: snapshots=, ID one of [0 1]"),
        ("pick one with --offsets or --declared", "pick one with offsets= or declared="),
        ("--force compares them all the same", "force=True compares them all the same"),
        ("it was written; leave out --strict to accept it", "it was written; leave out strict=True to accept it"),
        ("a directory (--format run), or --time-range", 'a directory (format="run"), or time_range='),
        ("use --format chrome, and a name", 'use format="chrome", and a name'),
        ("write the report beside it: --report run.html", 'write the report beside it: report="run.html"'),
        ("write elsewhere with -o; nothing was left", "write elsewhere with output=; nothing was left"),
        ("of format v1, --map or --remap-a and --remap-b say", "of format v1, site_map= or site_map= and site_map_b= say"),
        ("compare two recordings without --session", "compare two recordings without --session"),
        ("both: prlx simulate --record DIR --outputs 64MiB: that", "both: prlx simulate --record DIR --outputs 64MiB: that"),
        ("first: prlx convert a.prlx -o v1.prlx --to v1", "first: prlx convert a.prlx -o v1.prlx --to v1"),
        ("a file, not two", "a file, not two"),
    ],
)  # fmt: skip
def test_flags_become_arguments(flags, arguments):
    error = _errors.from_envelope({"kind": "usage", "message": "no", "hint": flags})
    assert error.hint == arguments
    assert str(error) == f"no\n{arguments}"
    assert error.on_command_line() == f"no\n{flags}"
    for again in (pickle.loads(pickle.dumps(error)), _errors.from_envelope(_errors.to_envelope(error))):
        assert (again.hint, again.on_command_line()) == (arguments, f"no\n{flags}")


def test_messages_name_arguments_in_python_and_flags_on_the_command_line():
    error = _errors.from_envelope({"kind": "usage", "message": "--policy hold needs --offsets", "path": "a.pb"})
    assert error.message == 'policy="hold" needs offsets='
    assert str(error) == 'a.pb: policy="hold" needs offsets='
    assert error.on_command_line() == "a.pb: --policy hold needs --offsets"
    for again in (pickle.loads(pickle.dumps(error)), _errors.from_envelope(_errors.to_envelope(error))):
        assert (str(again), again.on_command_line()) == (str(error), error.on_command_line())


def test_a_text_without_flags_stays_what_it_is():
    for text in ("a.pb holds 3 events", "x - y", "a-b", "-5 ns", "well--known", "(-1)", "1 of --"):
        assert _errors.in_python(text) == text


def test_warnings_notes_and_what_is_missing_name_arguments(tmp_path, monkeypatch):
    two = ROOT / "examples/two_runs"
    (tmp_path / "b.json").write_text("[]")
    v1 = prlx.convert_trace(two / "a.prlx", output=tmp_path / "a.prlx", to="v1", progress=False).path
    monkeypatch.chdir(tmp_path)
    diff = prlx.diff_traces(v1, v1, site_map="", progress=False)
    assert diff.notes == ('no site map was found: sites show as ids; site_map="prlx-sites.json" names them',)
    found = prlx.diff_traces(two / "a.prlx", two / "b.prlx", progress=False)
    with_advice = {**found.document, "warnings": ["records are missing: see --baseline"]}
    with_advice["explanation"] = {**found.explain().document, "missing": ["name its site map with --map"]}
    diff = dataclasses.replace(found, document=with_advice)
    assert diff.warnings == ("records are missing: see baseline=",)
    assert "--map" not in diff.to_text()
    assert "name its site map with site_map=" in " ".join(diff.to_text().split())


def test_the_command_line_names_flags_where_python_names_arguments(tmp_path):
    for name, letter in (("a", "a"), ("b", "b")):
        prlx.convert_trace(
            ROOT / f"examples/two_runs/{letter}.prlx", output=tmp_path / f"{name}.prlx", to="v1", progress=False
        )
    done = subprocess.run(
        [sys.executable, "-m", "prlx", "diff", "a.prlx", "b.prlx", "--explain"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert "--map prlx-sites.json names them" in done.stderr
    assert "site_map=" not in done.stdout + done.stderr


def test_what_python_says_is_an_argument_of_some_function():
    functions = [prlx.combine_traces, prlx.diff_traces, prlx.align_trace, prlx.find_cycles, prlx.validate_collectives]
    functions.append(prlx.probe_clocks)
    known = {name for function in functions for name in inspect.signature(function).parameters}
    known = known.union(*(getattr(function, "accepts", ()) for function in functions))
    source = "".join(path.read_text() for path in (ROOT / "core").rglob("*.go") if not path.name.endswith("_test.go"))
    hints = re.findall(r'(?:WithHint\(|Hint = )"((?:[^"\\]|\\.)*)"', source)
    assert len(hints) > 50
    arguments = re.compile(r"\b([a-z_]+)=")
    said = {
        name
        for hint in hints
        for name in set(arguments.findall(_errors.in_python(hint))) - set(arguments.findall(hint))
    }
    assert len(said) > 10
    assert said <= known


def test_the_same_mistake_in_both_interfaces(tmp_path):
    (tmp_path / "run").mkdir()
    with pytest.raises(prlx.PrlxError) as caught:
        prlx.combine_traces(EXAMPLE, output=tmp_path / "run", probes=[])
    assert "overwrite=True" in str(caught.value)
    assert "--" not in str(caught.value)
    done = subprocess.run(
        [sys.executable, "-m", "prlx", "combine", str(EXAMPLE), "-o", str(tmp_path / "run")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3
    assert "--overwrite" in done.stderr
    assert "overwrite=" not in done.stderr


def alone(path):
    """A trace without a collective."""
    event = {"ph": "X", "pid": 1, "tid": 1, "ts": 5, "dur": 1, "name": "a"}
    path.write_text(json.dumps({"baseTimeNanoseconds": 1_700_000_000_000_000_000, "traceEvents": [event]}))
    return path


def test_the_warning_of_traces_that_are_not_aligned_names_arguments(tmp_path):
    with pytest.warns(prlx.NotAlignedWarning) as caught:
        prlx.combine_traces(
            {"a": alone(tmp_path / "a.json"), "b": alone(tmp_path / "b.json")}, output=tmp_path / "all.json"
        )
    text = str(caught[0].message)
    assert "probes=" in text
    assert "--" not in text
