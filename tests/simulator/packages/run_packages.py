"""Run the Triton kernels of third-party packages on the simulator: ``python run_packages.py FOLDER --journal FILE``.

FOLDER is what ``install.py`` filled. Every case runs in a process of its own, with a time limit; its row goes to the journal
at once, and a case that the journal has is not run again. What it prints counts kernels: how many were tried and ran, which did
not and why, what was wrong.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[2] / "build"
# Defects of the packages themselves, by module and case: the check that finds them, and what it is.
KNOWN = {
    ("cases_conch", "scaled_gemm_edge"): ("out-of-bounds", "columns of B beyond its end are loaded without a mask"),
}
MODULES = tuple(sorted(path.stem for path in HERE.glob("cases_*.py")))


def environment(triton: Path, torch: Path) -> dict[str, str]:
    """What a process needs that imports Triton and torch."""
    cache = triton.parent / "cache" / f"packages-{triton.name}-{sys.implementation.cache_tag}"
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, (triton, torch))),
        "LD_LIBRARY_PATH": str(torch / "stubs"),
        "TRITON_CACHE_DIR": os.environ.get("TRITON_CACHE_DIR", str(cache)),
        "TRITON_DEFAULT_FP_FUSION": os.environ.get("TRITON_DEFAULT_FP_FUSION", "1"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def cases(folder: Path, module: str, variables: dict[str, str]) -> list[str]:
    """The names of a module's cases."""
    words = [sys.executable, HERE / "run_case.py", folder, module]
    done = subprocess.run([*map(str, words)], env=variables, capture_output=True, text=True, check=True)
    return done.stdout.split()


def row(folder: Path, module: str, case: str, variables: dict[str, str], seconds: int) -> dict[str, object]:
    """What became of one case."""
    words = [sys.executable, HERE / "run_case.py", folder, module, case]
    empty: dict[str, object] = {"package": module, "case": case, "kernels": [], "not_run": [], "launches": 0}
    try:
        done = subprocess.run(
            [*map(str, words)], env=variables, capture_output=True, text=True, check=False, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return {**empty, "outcome": "given up", "cause": f"not done after {seconds} s"}
    if done.returncode or not done.stdout.strip():
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return {**empty, "outcome": "error", "cause": f"exit code {done.returncode}: {last[:300]}"}
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def rows_of(journal: Path) -> list[dict]:
    """The rows of a journal; a line that was cut off is not one."""
    if not journal.is_file():
        return []
    return [json.loads(line) for line in journal.read_text().splitlines() if line.endswith("}")]


def is_known(row: dict) -> bool:
    """Whether a row is a finding that is right: a defect of the package."""
    check, _ = KNOWN.get((row["package"], row["case"]), (None, ""))
    return row["outcome"] == "finding" and check is not None and check in row["cause"]


def missed(rows: list[dict]) -> set[tuple[str, str]]:
    """Cases whose defect was not found."""
    return {(one["package"], one["case"]) for one in rows if not is_known(one)}


def summary(rows: list[dict]) -> dict[str, object]:
    """Counts of kernels and cases. A kernel ran if a launch of it came to its end."""
    ran, tried, packages = set(), set(), collections.defaultdict(set)
    for one in rows:
        package = one["package"].removeprefix("cases_").removesuffix("_modules")
        for kernel in one["kernels"]:
            ran.add((package, kernel))
            packages[package].add(kernel)
        tried |= {(package, kernel) for kernel in (*one["kernels"], *one["not_run"])}
    causes = collections.Counter(
        f"{one['outcome']}: {one['cause'][:160]}" for one in rows if one["outcome"] not in ("ran", "wrong", "finding")
    )
    known = [one for one in rows if is_known(one)]
    return {
        "cases": len(rows),
        "outcomes": dict(collections.Counter(one["outcome"] for one in rows)),
        "kernels_tried": len(tried),
        "kernels_run": len(ran),
        "by_package": {package: len(names) for package, names in sorted(packages.items())},
        "not_run": sorted(f"{package}: {kernel}" for package, kernel in tried - ran),
        "causes": dict(causes.most_common()),
        "wrong": [one for one in rows if one["outcome"] == "wrong"],
        "findings": [one for one in rows if one["outcome"] == "finding" and not is_known(one)],
        "defects_of_packages": [f"{one['package']} {one['case']}: {one['cause']}" for one in known],
        "defects_missed": [f"{m} {c}" for m, c in KNOWN if (m, c) in missed(rows)],
    }


def main() -> int:
    """Run what the journal does not have, then say what became of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--journal", type=Path, required=True)
    parser.add_argument("--triton", type=Path, default=BUILD / "triton/3.9.0")
    parser.add_argument("--torch", type=Path, default=BUILD / "torch")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--modules", nargs="*", default=MODULES)
    parser.add_argument("--cases", nargs="*", help="only these")
    given = parser.parse_args()
    folder = given.folder.resolve()
    variables = environment(given.triton.resolve(), given.torch.resolve())
    known = {(one["package"], one["case"]) for one in rows_of(given.journal)}
    for module in given.modules:
        for case in cases(folder, module, variables):
            if (module, case) in known or (given.cases and case not in given.cases):
                continue
            found = row(folder, module, case, variables, given.seconds)
            with given.journal.open("a") as file:
                file.write(json.dumps(found) + "\n")
    found = summary(rows_of(given.journal))
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    return 1 if found["wrong"] or found["findings"] or found["defects_missed"] else 0


if __name__ == "__main__":
    sys.exit(main())
