"""Run Triton's own unit tests on the simulator.

``run.py TESTS --triton build/triton/3.6.0 --journal FILE``, where TESTS is a checkout of Triton. The tests are theirs and are
not in this repository. Ended, it goes on where it was when it is started again with the same journal. What it prints says how
many passed, were refused and why, and were wrong.

``--over driver --passed-in FILE`` runs tests that passed by that journal once more, launched by Triton's own driver over the
CUDA driver of the simulator: the ``--most`` of them with the smallest numbers, which the seed decides.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

try:
    from . import known
except ImportError:  # as a script
    import known

HERE = Path(__file__).resolve().parent
DRIVER = HERE.parent / "driver"
sys.path.append(str(DRIVER))
from tensors import simulated  # noqa: E402

FILES = (
    "language/test_core.py",
    "language/test_standard.py",
    "language/test_random.py",
    "language/test_conversions.py",
    "language/test_matmul.py",
    "language/test_block_pointer.py",
    "language/test_annotations.py",
    "language/test_decorator.py",
    "language/test_libdevice.py",
    "language/test_tuple.py",
    "language/test_pipeliner.py",
    "language/test_tensor_descriptor.py",
    "runtime/test_autotuner.py",
)
# What decides whether the simulator may be trusted; what is not for an sm_80 does not apply to it.
APPLY = ("passed", "refused", "given up", "finding", "wrong", "defect of the test")


def unit_tests(tests: Path) -> Path:
    """The folder of the unit tests in a checkout."""
    for folder in (tests / "python/test/unit", tests / "test/unit", tests / "unit"):
        if folder.is_dir():
            return folder
    raise SystemExit(f"{tests} has no python/test/unit")


def first_passed(journal: Path, seed: int, most: int) -> list[str]:
    """Tests that passed by a journal, as many as are wanted, in the order of the numbers that ``judge`` draws."""
    rows = [json.loads(line) for line in journal.read_text().splitlines() if line.endswith("}")]
    passed = [row["test"] for row in rows if row["outcome"] == "passed" and row["launches"]]
    return sorted(passed, key=lambda test: random.Random(f"{seed} {test}").random())[:most]


def summary(journal: Path) -> dict[str, object]:
    """Counts by outcome, and refusals by cause: what takes too long is one of them."""
    rows = [json.loads(line) for line in journal.read_text().splitlines() if line.endswith("}")]
    counts = collections.Counter(known.outcome(row) for row in rows)
    refused = [row for row in rows if row["outcome"] in ("refused", "given up")]
    causes = collections.Counter(re.sub(r"^\S+:\d+: | \(/.*\)$|\w+_param_", "", row["cause"]) for row in refused)
    excused = [row for row in rows if known.outcome(row) != row["outcome"]]
    return {
        "tests": len(rows),
        "apply": sum(counts[outcome] for outcome in APPLY),
        **dict(counts),
        "refused_by_cause": dict(causes.most_common()),
        "excused_by_reason": dict(collections.Counter(known.reason(row) for row in excused).most_common()),
        "not_passed": [row for row in rows if known.outcome(row) in ("wrong", "finding")],
    }


def main() -> int:
    """Run the files one after the other, then say what became of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", type=Path)
    parser.add_argument("--triton", type=Path, required=True)
    parser.add_argument("--torch", type=Path, default=HERE.parents[1] / "build/torch")
    parser.add_argument("--journal", type=Path, required=True)
    parser.add_argument("--per-function", type=int, default=10)
    parser.add_argument("--share", type=float, default=1.0, help="of the tests, drawn by the seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--over", choices=("simulator", "driver"), default="simulator")
    parser.add_argument("--passed-in", type=Path, help="run only tests that passed by this journal")
    parser.add_argument("--most", type=int, default=300)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--files", nargs="*", default=FILES)
    parser.add_argument("-k", default="")
    given = parser.parse_args()
    unit = unit_tests(given.tests)
    settings = {
        "journal": str(given.journal.resolve()), "per_function": given.per_function, "seed": given.seed,
        "seconds": given.seconds, "share": given.share, "over": given.over,
        "only": None if given.passed_in is None else first_passed(given.passed_in, given.seed, given.most),
    }  # fmt: skip
    path = os.pathsep.join(map(str, (HERE, DRIVER, given.triton.resolve(), given.torch.resolve())))
    cache = given.triton.resolve().parent / "cache" / f"upstream-{given.triton.resolve().name}"
    variables = {
        **os.environ, "PRLX_UPSTREAM": json.dumps(settings), "PYTHONPATH": path,
        "LD_LIBRARY_PATH": str((given.torch / "stubs").resolve()), "TRITON_DEFAULT_FP_FUSION": "1",
        "TRITON_CACHE_DIR": str(cache),
    }  # fmt: skip
    here = contextlib.nullcontext(([], variables)) if given.over == "simulator" else simulated(variables)
    with here as (before, environ):
        run(given, unit, before, environ)
    if not given.journal.is_file():
        raise SystemExit("no test ran")
    found = summary(given.journal)
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    return 1 if found["not_passed"] else 0


def run(given: argparse.Namespace, unit: Path, before: list[str], environ: dict[str, str]) -> None:
    """Run the files, each in a process of its own."""
    for file in given.files:
        if not (unit / file).is_file():
            sys.stderr.write(f"{file}: not in this checkout\n")
            continue
        words = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "judge",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            unit.parent,
        ]
        words += ["--confcutdir", given.tests.resolve()]  # fixtures stand above the unit tests in newer checkouts
        words += ["-W", "ignore", "--no-header", "--tb=no", unit / file, *(["-k", given.k] if given.k else [])]
        subprocess.run(
            [*before, *map(str, words)], env=environ, cwd=unit.parent, stdout=subprocess.DEVNULL, check=False
        )


if __name__ == "__main__":
    sys.exit(main())
