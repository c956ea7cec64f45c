"""Kernels that people edit: what changes nothing is the same, what moves is said to have moved, a bug is found.

A sample of edits runs here; ``PRLX_TRITON_EDITS=25`` makes so many of each of 20 kernels (500 edits, some ten minutes).
"""

from __future__ import annotations

import functools
import json
import os
import tempfile

import pytest

from .conftest import HERE, python, require

EDITS = int(os.environ.get("PRLX_TRITON_EDITS", "0"))
SAMPLE = ("early", "copy2d", "add")
VERSION = "3.9.0"


@functools.cache
def edited() -> list[dict]:
    """Every edit: of the sample, or of all kernels."""
    words = ["--edits", str(EDITS)] if EDITS else ["--edits", "4", "--bugs", "2"]
    with tempfile.TemporaryDirectory() as folder:
        ran = python(require(VERSION), HERE / "run_edits.py", *words, folder, *(() if EDITS else SAMPLE), seconds=7200)
    assert ran.returncode == 0, ran.stderr[-2000:]
    rows = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    assert rows.pop()["triton"] == VERSION
    return rows


def test_there_are_edits_to_look_at():
    rows = edited()
    assert len(rows) == (20 * EDITS if EDITS else 12)
    assert not [row["refused"] for row in rows if "refused" in row]
    assert sum(row["equal"] for row in rows) > len(rows) / 2
    assert any("reorder" in row["edits"] for row in rows)


def test_equal_ptx_is_the_same_whatever_its_lines():
    wrong = [row for row in edited() if row["equal"] and (row["flow"]["counted"] or row["values"]["counted"])]
    assert wrong == []


def test_what_moved_does_not_count():
    """Where the warps passed the same, in another order of the code."""
    rows = [row for row in edited() if not row["equal"] and row["events_equal"]]
    assert [row for row in rows if row["flow"]["counted"]] == []
    assert [row for row in rows if row["values_equal"] and row["values"]["counted"]] == []
    for row in rows:
        if "moved between the builds" in row["flow"]["verdict"]:
            assert row["flow"]["builds"]["moved"]


def test_bugs_are_found_in_edited_kernels_too():
    rows = [row for row in edited() if "bug_in_flow" in row]
    assert len(rows) > len(edited()) / 2
    assert [row for row in rows if "bug_refused" in row] == []
    assert [row for row in rows if not row["bug_values"]["counted"]] == []
    assert [row for row in rows if row["bug_in_flow"] and not row["bug_flow"]["counted"]] == []


@pytest.mark.parametrize("lines", [1, 2])
def test_a_comment_above_many_similar_loads_changes_nothing(lines, tmp_path):
    """One line above a kernel gave a false divergence, where an equal key stood for the neighbour."""
    body = "".join(f"    v{n} = tl.load(x + i + {n}, mask=i < n - {n}, other=0.0)\n" for n in range(16))
    branches = "".join(f"    if tl.program_id(0) > m - {n}:\n        v{n} += {n}\n" for n in range(3))
    total = " + ".join(f"v{n}" for n in range(16))
    kernel = f"""
@triton.jit
def many(o, x, n, m, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
{body}{branches}    tl.store(o + i, {total}, mask=i < n)


with prlx.record(sys.argv[1], loads=True, stores=True):
    many[(4,)](np.zeros(512, np.float32), np.arange(600, dtype=np.float32), 500, 2, BLOCK=128)
"""
    head = "import sys\nimport numpy as np\nimport prlx\nimport triton\nimport triton.language as tl\n"
    head += "prlx.enable(device='simulator', progress=False)\n"
    for name, above in (("a", ""), ("b", "# a comment\n" * lines)):
        (tmp_path / "kernel.py").write_text(head + above + kernel)
        ran = python(require(VERSION), tmp_path / "kernel.py", tmp_path / f"{name}.prlx")
        assert ran.returncode == 0, ran.stderr
    compared = python(require(VERSION), "-m", "prlx", "diff", "a.prlx", "b.prlx", "--values", "--json", cwd=tmp_path)
    document = json.loads(compared.stdout)
    assert document["total_divergences"] == 0
    assert document["builds"]["relocated"] == document["builds"]["matched"] > 20
    assert document["builds"]["ambiguous"] == 0
