"""numba-cuda's own tests over the CUDA driver of the simulator: a sample that a seed draws.

``numba_tests.py FOLDER --journal FILE [--seed N]``, where FOLDER is what ``pip install --target FOLDER "numba-cuda[cu13]"
filecheck cffi`` filled, with a numpy that this numba-cuda can be imported with. The tests are those that the package brings.
Ended, it goes on.
It prints how many passed, were skipped and failed, and of what.

As a plug-in of pytest this module draws the sample and writes the journal: a line before each test, so that one that ends the
process is known, and a line with what became of it.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
SEED = 20261128  # of the first draw; --seed is another
SAMPLE = 200
WHERE = (
    "core",
    "cudadrv",
    "cudapy",
    "doc_examples",
    "nocuda",
    "nrt",
)  # without the benchmarks and numba's own simulator
MOST_PROCESSES = 20
# Exceptions that say that a number or a text is another one than expected; all others say that something could not be done.
WRONG = re.compile(r"AssertionError|Mismatch|Not equal|not almost equal|FileCheck", re.IGNORECASE)


class GivenUpError(BaseException):
    """A test took too long."""


def rows_of(journal: Path) -> dict[str, dict]:
    """The last line of each test."""
    if not journal.is_file():
        return {}
    rows = [json.loads(line) for line in journal.read_text().splitlines() if line.endswith("}")]
    return {row["test"]: row for row in rows}


def drawn(tests: list[str], seed: int = SEED) -> list[str]:
    """The sample, whatever order the tests are collected in. Another seed draws among those that the first one left."""
    first = random.Random(SEED).sample(sorted(tests), min(SAMPLE, len(tests)))
    if seed == SEED:
        return first
    left = sorted(set(tests) - set(first))
    return random.Random(seed).sample(left, min(SAMPLE, len(left)))


class Judge:
    """The plug-in."""

    def __init__(self, journal: Path, seconds: int, seed: int) -> None:
        self._journal, self._seconds, self._seed, self._outcome = journal, seconds, seed, None

    def _note(self, **row: object) -> None:
        with self._journal.open("a") as file:
            file.write(json.dumps(row) + "\n")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """The sample, less what the journal has."""
        chosen = set(drawn([item.nodeid for item in items], self._seed)) - set(rows_of(self._journal))
        items[:] = [item for item in items if item.nodeid in chosen]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        self._outcome = "passed", ""
        self._note(test=item.nodeid, outcome="ended the process", cause="")
        begun = time.monotonic()

        def late(*_: object) -> None:
            raise GivenUpError(f"not done after {self._seconds} s")

        signal.signal(signal.SIGALRM, late)
        signal.setitimer(
            signal.ITIMER_REAL, self._seconds, 1
        )  # again and again: what runs below may swallow an exception
        yield
        signal.setitimer(signal.ITIMER_REAL, 0)
        outcome, cause = self._outcome
        self._note(test=item.nodeid, outcome=outcome, cause=cause, seconds=round(time.monotonic() - begun, 1))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, call):
        report = (yield).get_result()
        if report.skipped:
            self._outcome = "skipped", str(report.longrepr)[-300:]
        elif report.failed and self._outcome[0] == "passed":
            text = f"{call.excinfo.typename}: {call.excinfo.value}"
            kind = (
                "given up" if call.excinfo.errisinstance(GivenUpError) else "wrong" if WRONG.search(text) else "failed"
            )
            self._outcome = kind, text if len(text) < 1600 else f"{text[:800]} ... {text[-800:]}"


def plugged() -> None:
    """Run pytest in this process, as ``PRLX_NUMBA`` says."""
    told = json.loads(os.environ["PRLX_NUMBA"])

    tests = Path(told["folder"]) / "numba_cuda/numba/cuda/tests"
    words = ["-q", "-p", "no:cacheprovider", "-W", "ignore", "--no-header", "--tb=no", "--rootdir", str(tests.parent)]
    words += [
        "-o",
        "consider_namespace_packages=true",
        "--import-mode=importlib",
        *(str(tests / name) for name in WHERE),
    ]

    sys.exit(pytest.main(words, plugins=[Judge(Path(told["journal"]), told["seconds"], told["seed"]), Dump()]))


class Dump:
    """What the tests' own ``conftest`` has, which is not in the package."""

    def pytest_addoption(self, parser):
        """Its option."""
        parser.addoption("--dump-failed-filechecks", action="store_true")

    @pytest.fixture(scope="class")
    def initialize_from_pytest_config(self, request):
        """Its fixture."""
        request.cls._dump_failed_filechecks = False


def summary(rows: dict[str, dict]) -> dict[str, object]:
    """Counts by outcome, and causes of what did not pass."""
    counts = collections.Counter(row["outcome"] for row in rows.values())
    ran = len(rows) - counts["skipped"]
    causes = collections.Counter(
        f"{row['outcome']}: {row['cause'].splitlines()[0][:160] if row['cause'] else ''}"
        for row in rows.values()
        if row["outcome"] not in ("passed", "skipped")
    )
    return {
        "tests": len(rows),
        **dict(counts),
        "share_passed": round(counts["passed"] / max(ran, 1), 3),
        "causes": dict(causes.most_common()),
    }


def main() -> int:
    """Run until all of the sample has an outcome."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--journal", type=Path, required=True)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--seed", type=int, default=SEED, help="another one draws tests that the first draw left")
    given = parser.parse_args()
    folder = given.folder.resolve()
    told = {
        "folder": str(folder),
        "journal": str(given.journal.resolve()),
        "seconds": given.seconds,
        "seed": given.seed,
    }
    libraries = folder / "nvidia/cu13/lib"
    environ = {**os.environ, "PRLX_NUMBA": json.dumps(told), "LD_LIBRARY_PATH": str(libraries)}
    environ["NUMBA_CUDA_NVRTC_EXTRA_SEARCH_PATHS"] = str(folder / "nvidia/cu13/include/cccl")
    start = (
        tempfile.TemporaryDirectory()
    )  # numba-cuda stands in numba's place by a .pth, which Python reads in site directories alone
    Path(start.name, "sitecustomize.py").write_text(f"import site\nsite.addsitedir({str(folder)!r})\n")
    environ["PYTHONPATH"] = os.pathsep.join((start.name, str(folder), str(HERE)))
    words = [
        sys.executable,
        "-m",
        "prlx",
        "simulate",
        "--",
        sys.executable,
        "-c",
        "import numba_tests; numba_tests.plugged()",
    ]
    for _ in range(MOST_PROCESSES):
        before = len(rows_of(given.journal))
        subprocess.run(words, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if len(rows_of(given.journal)) == before:
            break
    found = summary(rows_of(given.journal))
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    return 0 if found["tests"] and not found.get("wrong") and found["share_passed"] >= 0.75 else 1


if __name__ == "__main__":
    sys.exit(main())
