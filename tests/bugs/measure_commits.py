"""Measures what is said of the pairs of given.py and the commits of commits.py, commits_fresh.py,
commits_third.py, commits_fourth.py, commits_fifth.py and commits_sixth.py.

    python tests/bugs/measure_commits.py given|commits|fresh|third|fourth|fifth|sixth|equal [--only N,N] [--folder DIR]

``given``: is the argument that differs named first, in the table and in the explanation? ``commits``: is the line true without
inputs and with them, and how often is a wrong one ``strong``? ``fresh``, ``third``, ``fourth``, ``fifth``, ``sixth``: the same
of two sets of twenty, one of thirty and two of fifty that were held out. ``equal``: are the forty refactorings, and those forty
commits without what they break, quiet with inputs? Ends with 1 where a pair does not differ, and where what is said falls
short: fewer than nine lines of ten true with inputs, one that is wrong and ``strong``, one that is blamed without a mistake.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pairs import HERE

ROOT = HERE.parents[1]
TRITON = Path(os.environ.get("PRLX_TRITON", ROOT / "build/triton")) / "3.9.0"
LEAST_GIVEN = 27
QUIET = ("identical", "same-results")


def run(*words: str | Path, cache: Path, fine: tuple[int, ...] = (0, 1, 5)) -> str:
    """What a command of this Python prints, with Triton, without settings of the person who measures."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PRLX_", "TRITON_"))}
    more = {"PYTHONPATH": str(TRITON), "TRITON_CACHE_DIR": str(cache), "TRITON_DEFAULT_FP_FUSION": "1", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, *map(str, words)], env={**kept, **more}, capture_output=True, text=True, timeout=1200, check=False
    )  # fmt: skip
    if done.returncode not in fine:
        raise RuntimeError(f"{words} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def recorded(what: str, folder: Path, only: str) -> Iterator[dict[str, Any]]:
    """Record the pairs; what is true of each."""
    said = run(HERE / "run_given.py", what, folder, *([only] if only else []), cache=folder / "cache", fine=(0,))
    yield from (json.loads(line) for line in said.splitlines() if line.startswith("{"))


def compared(folder: Path, number: int, *flags: str) -> dict[str, Any]:
    """What prlx diff says of a pair."""
    words = ("-m", "prlx", "diff", folder / f"{number}/a.prlx", folder / f"{number}/b.prlx", "--explain", "--json")
    document: dict[str, Any] = json.loads(run(*words, *flags, cache=folder / "cache"))
    return document


def given(folder: Path, only: str) -> bool:
    """The pairs of one text."""
    named, rows = 0, list(recorded("given", folder, only))
    for row in rows:
        document = compared(folder, row["number"])
        why = document.get("explanation") or {"summary": "", "class": "none", "confidence": ""}
        table = document.get("given") or [{"name": ""}]
        first = table[0]["name"] == row["argument"] and why["class"] in ("given", "stale-data")
        first = first and why["summary"].partition(": ")[2].startswith(row["argument"])
        named += first
        print(f"{row['number']:3} {row['name']:22} {row['argument']:8} {'first' if first else 'NOT  '} {why['class']} "
              f"({why['confidence']}): {why['summary'][:90]}", flush=True)  # fmt: skip
    print(f"the argument named first: {named} of {len(rows)}")
    equal = [row["name"] for row in rows if not row["differs"]]
    if equal:
        print(f"the list is wrong, these do not differ: {', '.join(equal)}")
    return not equal and named >= min(LEAST_GIVEN, len(rows))


def true(row: dict[str, Any], statement: dict[str, Any] | None) -> bool:
    """Whether the statement to look at is one of the true lines of its side."""
    if not statement:
        return False
    line = int(statement["source_location"].rsplit(":", 3)[-2])
    return line in row["true_b" if statement["side"] == "B" else "true_a"]


def commits(what: str, folder: Path, only: str) -> bool:
    """Commits that tidy and break."""
    rows = list(recorded(what, folder, only))
    right, tested, strong = 0, 0, 0
    for row in rows:
        said = []
        for flags in ((), ("--try",)):
            why = compared(folder, row["number"], *flags).get("explanation") or {}
            holds = true(row, why.get("statement"))
            wrong = not holds and why.get("confidence") == "strong"
            strong += wrong
            tested, right = tested + (holds and bool(flags)), right + (holds and not flags)
            where = (why.get("statement") or {}).get("source_location", "::0:0").rsplit(":", 3)[-2]
            side = (why.get("statement") or {}).get("side", "-")
            said.append(f"{'true ' if holds else 'WRONG'} {side}:{where} {why.get('class')} ({why.get('confidence')})"
                        + (" WRONG AND STRONG" if wrong else ""))  # fmt: skip
        lines = f"A {row['true_a']} B {row['true_b']}"
        print(f"{row['number']:3} {row['name']:22} {lines:18} {said[0]:40} tested: {said[1]}", flush=True)
    print(
        f"line true: {right} of {len(rows)} without inputs, {tested} of {len(rows)} with inputs; wrong and strong: {strong}"
    )
    equal = [row["name"] for row in rows if not row["differs"]]
    if equal:
        print(f"the list is wrong, these do not differ: {', '.join(equal)}")
    return not equal and strong == 0 and 10 * tested >= 9 * len(rows)


def equal(folder: Path, only: str) -> bool:
    """Commits that only tidy: with inputs, too, nothing is blamed."""
    rows, loud = list(recorded("equal", folder, only)), []
    for row in rows:
        document = compared(folder, row["number"], "--try")
        blamed = document.get("explanation") is not None or document["status"] not in QUIET
        loud += [row["name"]] if blamed else []
        print(
            f"{row['number']:3} {row['name']:22} {document['status']:14} {'BLAMED' if blamed else 'quiet'}", flush=True
        )
    print(f"quiet: {len(rows) - len(loud)} of {len(rows)}")
    different = [row["name"] for row in rows if row["differs"]]
    if different:
        print(f"the list is wrong, these differ: {', '.join(different)}")
    return not different and not loud


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("what", choices=("given", "commits", "fresh", "third", "fourth", "fifth", "sixth", "equal"))
    arguments.add_argument("--only", default="", help="numbers, with commas")
    arguments.add_argument("--folder", type=Path, default=ROOT / "build/bugs", help="default: build/bugs")
    options = arguments.parse_args()
    if not (TRITON / "triton").is_dir():
        print(f"no Triton under {TRITON}: make bugs installs it", file=sys.stderr)
        return 1
    folder = options.folder.resolve() / options.what
    whole = {"given": given, "equal": equal}
    fine = (
        whole[options.what](folder, options.only)
        if options.what in whole
        else commits(options.what, folder, options.only)
    )
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
