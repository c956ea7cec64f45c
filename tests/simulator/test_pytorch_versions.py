"""Which torch works with which Triton on the simulator: the table of ``docs/pytorch.md`` is what was found.

Versions of torch are folders beside ``build/torch``, such as ``build/torch-2.14.0``, made as the Makefile makes it. What is not
there is not looked at; a row whose versions are there must say what is found now. ``PRLX_UPDATE_TABLES=1`` writes it.
"""

from __future__ import annotations

import json
import os
import re

import pytest

from .conftest import HERE, ROOT, TRITON, python

PAGE = ROOT / "docs/pytorch.md"
LOOKED_AT = (
    "check_a_kernel_knows_what_it_computes",
    "check_modules_are_named_forward_and_backward",
    "check_findings_name_graph_and_line",
    "check_max_autotune_makes_templates_and_repeats",
    "check_flex_attention",
)
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


def looked_at(version, triton):
    """What became of the checks with two versions, in the words of the table."""
    torch = torches()[version]
    variables = {"PYTHONPATH": f"{TRITON / triton}{os.pathsep}{torch}", "LD_LIBRARY_PATH": str(torch / "stubs")}
    done = python(TRITON / triton, HERE / "pytorch_checks.py", *LOOKED_AT, seconds=1800, **variables)
    if done.returncode:
        return f"no: {done.stderr.strip().splitlines()[-1][:80]}"
    results = json.loads(done.stdout)
    wrong = [name.removeprefix("check_").replace("_", " ") for name in LOOKED_AT if results[name] is not None]
    return "works" if not wrong else f"not: {', '.join(wrong)}"


@pytest.mark.skipif(not PAIRS, reason="no torch beside Triton: make corpus installs it")
@pytest.mark.skipif(not os.environ.get("PRLX_TRITON_ALL"), reason="make corpus runs it: a minute for each pair")
def test_the_table_says_what_is_found():
    said = {(torch, triton): word for torch, triton, word in ROWS.findall(PAGE.read_text())}
    found = {pair: looked_at(*pair) for pair in PAIRS}
    if os.environ.get("PRLX_UPDATE_TABLES"):
        rows = {**said, **found}
        lines = [f"| {torch} | {triton} | {word} |" for (torch, triton), word in sorted(rows.items(), reverse=True)]
        text = PAGE.read_text()
        head = "| torch | Triton | |\n|---|---|---|\n"
        PAGE.write_text(text[: text.index(head)] + head + "\n".join(lines) + "\n")
        said = rows
    assert found == {pair: said.get(pair) for pair in found}
