"""Which torch works with which Triton on the simulator: the table of ``docs/pytorch.md`` is what was found.

Versions of torch are folders beside ``build/torch``, such as ``build/torch-2.14.1``, made as the Makefile makes it. What is not
there is not looked at; a row whose versions are there must say what is found now. ``PRLX_UPDATE_TABLES=1`` writes it. With
``PRLX_PACKAGES_JOURNAL``, a folder, checks that were made before are not made again.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from prlx.hooks.inductor import TESTED

from .conftest import HERE, ROOT, TRITON, python

PAGE = ROOT / "docs/pytorch.md"
LOOKED_AT = (
    "check_a_kernel_knows_what_it_computes",
    "check_modules_are_named_forward_and_backward",
    "check_findings_name_graph_and_line",
    "check_max_autotune_makes_templates_and_repeats",
    "check_flex_attention",
)
SECONDS = 900  # for one check
ROWS = re.compile(r"^\| ([\d.]+) \| ([\d.]+) \| (.*) \|$", re.MULTILINE)


def torches():
    """Folders of torch, by version."""
    found = {}
    for folder in sorted(TRITON.parent.glob("torch*")):
        made = sorted(folder.glob("torch-*.dist-info"))
        if made and (folder / "stubs").is_dir():
            found[made[-1].name.removeprefix("torch-").removesuffix(".dist-info").partition("+")[0]] = folder
    return found


PAIRS = [
    (version, triton.name)
    for version in torches()
    for triton in sorted(TRITON.glob("[0-9]*"))
    if (triton / "triton").is_dir()
]


def check(version, triton, name):
    """What became of one check with two versions: None where it holds, else what is wrong."""
    torch = torches()[version]
    variables = {"PYTHONPATH": f"{TRITON / triton}{os.pathsep}{torch}", "LD_LIBRARY_PATH": str(torch / "stubs")}
    try:
        done = python(TRITON / triton, HERE / "pytorch_checks.py", name, seconds=SECONDS, **variables)
    except subprocess.TimeoutExpired:
        return f"not done after {SECONDS} s"
    if done.returncode:
        return f"no: {done.stderr.strip().splitlines()[-1][:80]}"
    return json.loads(done.stdout)[name]


def looked_at(version, triton, journal):
    """What became of the checks with two versions, in the words of the table; those that the journal has are not run again."""
    rows = [json.loads(line) for line in journal.read_text().splitlines()] if journal.is_file() else []
    known = {(row["torch"], row["triton"], row["check"]): row["problem"] for row in rows}
    wrong = []
    for name in LOOKED_AT:
        if (version, triton, name) not in known:
            problem = check(version, triton, name)
            known[version, triton, name] = problem
            with journal.open("a") as file:
                file.write(json.dumps({"torch": version, "triton": triton, "check": name, "problem": problem}) + "\n")
        if known[version, triton, name] is not None:
            wrong.append((name.removeprefix("check_").replace("_", " "), known[version, triton, name]))
    if len(wrong) == len(LOOKED_AT) and wrong[0][1].startswith("no: "):
        return wrong[0][1]
    return "works" if not wrong else f"not: {', '.join(name for name, _ in wrong)}"


@pytest.mark.skipif(not PAIRS, reason="no torch beside Triton: make corpus installs it")
@pytest.mark.skipif(not os.environ.get("PRLX_TRITON_ALL"), reason="make corpus runs it: a minute for each pair")
@pytest.mark.parametrize(("version", "triton"), PAIRS)
def test_the_table_says_what_is_found(version, triton, tmp_path):
    journal = Path(os.environ.get("PRLX_PACKAGES_JOURNAL", tmp_path)) / "pytorch-versions.jsonl"
    found = looked_at(version, triton, journal)
    text = PAGE.read_text()
    said = {(torch, other): word for torch, other, word in ROWS.findall(text)}
    if os.environ.get("PRLX_UPDATE_TABLES"):
        said[version, triton] = found
        lines = [f"| {torch} | {other} | {word} |" for (torch, other), word in sorted(said.items(), reverse=True)]
        head = "| torch | Triton | |\n|---|---|---|\n"
        PAGE.write_text(text[: text.index(head)] + head + "\n".join(lines) + "\n")
    assert found == said.get((version, triton))


def test_the_hint_of_a_refusal_names_versions_that_work():
    works = {torch for torch, _, word in ROWS.findall(PAGE.read_text()) if word == "works"}
    assert set(TESTED) == works


def test_checks_of_a_journal_are_not_made_again(tmp_path, monkeypatch):
    journal, made = tmp_path / "j.jsonl", []

    def once(*given):
        made.append(name := given[-1])
        return "wrong" if name == LOOKED_AT[-1] else None

    monkeypatch.setattr(sys.modules[__name__], "check", once)
    row = {"torch": "1.0", "triton": "2.0", "check": LOOKED_AT[0], "problem": None}
    journal.write_text(json.dumps(row) + "\n")
    assert looked_at("1.0", "2.0", journal) == f"not: {LOOKED_AT[-1].removeprefix('check_').replace('_', ' ')}"
    assert made == list(LOOKED_AT[1:])
    assert looked_at("1.0", "2.0", journal).startswith("not: ")
    assert made == list(LOOKED_AT[1:])
    assert looked_at("1.0", "3.0", journal).startswith("not: ")
    assert len(made) == 2 * len(LOOKED_AT) - 1
