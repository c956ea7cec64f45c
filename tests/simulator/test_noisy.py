"""A baseline hides no bug that equal runs do not show, and one more equal run is no bug.

One input a kernel here: 10 clean pairs and 40 bugs. With ``PRLX_TRITON_ALL`` (``make corpus``) ten: 100 clean pairs.
"""

from __future__ import annotations

import collections
import json
import os

from .conftest import HERE, python, require


def test_noise_hides_no_bug_and_is_no_bug(tmp_path):
    inputs = 10 if os.environ.get("PRLX_TRITON_ALL") else 1
    ran = python(require("3.9.0"), HERE / "run_noisy.py", tmp_path, str(inputs))
    assert ran.returncode == 0, ran.stderr
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    bugs = [row for row in rows if row["bug"]]
    clean = [row for row in rows if not row["bug"]]
    outcomes = collections.Counter(row["outcome"] for row in bugs)
    assert sum(outcomes.values()) == 40
    assert not [row for row in bugs if row["passed"] or row["outcome"] not in ("differs", "inconclusive")]
    assert outcomes["differs"] >= 32, outcomes
    outcomes = collections.Counter(row["outcome"] for row in clean)
    assert sum(outcomes.values()) == 10 * inputs
    assert not [row for row in clean if row["outcome"] == "differs"]
    assert outcomes["same"] >= 8 * inputs, outcomes
