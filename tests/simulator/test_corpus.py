"""The corpus on the simulator: 37 kernels, as several Tritons compile them, against NumPy; and without a finding."""

from __future__ import annotations

import functools
import json
import os

import pytest

from .conftest import HERE, VERSIONS, python, require

CASES = [
    "add",
    "dropout",
    "idx64",
    "casts",
    "mathfn",
    "libdevice",
    "inline_asm",
    "ints",
    "bf16_f64",
    "rnd",
    "cachemod",
    "noinline",
    "device_dbg",
    "softmax",
    "layernorm",
    "cumsum",
    "sort",
    "topk",
    "copy2d",
    "reduce",
    "whileloop",
    "gather",
    "histogram",
    "scans",
    "sort64",
    "pipe",
    "early",
    "matmul",
    "flash",
    "dot_tf32",
    "dots_bf16",
    "dot_ieee",
    "dot_3x",
    "dot_f64",
    "dot_fp8",
    "atomics",
    "atom64",
]
SEEDS = int(os.environ.get("PRLX_TRITON_SEEDS", "2"))


@functools.cache
def launched(version: str, *words: str) -> dict[str, list[dict]]:
    """Every launch of the corpus with one Triton, by case."""
    ran = python(require(version), HERE / "run_corpus.py", "--seeds", str(SEEDS), *words)
    assert ran.returncode == 0, ran.stderr[-2000:]
    rows = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    assert rows.pop()["triton"] == version
    found: dict[str, list[dict]] = {}
    for row in rows:
        found.setdefault(row["case"], []).append(row)
    return found


def test_the_corpus_is_complete():
    assert len(set(CASES)) == 37
    assert sorted(launched("3.9.0")) == sorted(CASES)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", CASES)
def test_results_are_numpys_and_nothing_is_found(version, case):
    for row in launched(version)[case]:
        assert row.get("refused") is None
        assert row["differences"] == []
        assert row["findings"] == []
        assert row["instructions"] > 0


def test_the_number_of_workers_changes_nothing():
    one, two = launched("3.9.0", "--workers", "1"), launched("3.9.0", "--workers", "2")
    for case in CASES:
        assert [row["instructions"] for row in one[case]] == [row["instructions"] for row in two[case]]
        assert [row["output"] for row in one[case]] == [row["output"] for row in two[case]]


def test_prints_are_the_kernels_own():
    assert "v" in launched("3.9.0")["device_dbg"][0]["output"]
