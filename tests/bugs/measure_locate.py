"""Runs ``prlx.locate`` on every bug of this folder and of tests/simulator/bugs.py: is the line that is reported first true?

    python tests/bugs/measure_locate.py [--only ID,ID] [--equal N] [--folder DIR]

Prints a line for each bug and the totals. With ``--equal N`` the wrong form of each is held against itself N times,
too: nothing may differ. Ends with 1 where fewer than 80 % of the lines are true or equal runs differ.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from measure import REFACTORED, ROOT, TRITON, listed, modules, share
from pairs import FIRST, HERE, SECOND, form, marked_text

SIMULATOR = HERE.parent / "simulator"
SEEDED = "simulator"  # the group of tests/simulator/bugs.py
LEAST = 0.8


def run(script: Path, *words: str, cache: Path) -> Iterator[dict[str, Any]]:
    """The rows that a script prints, without settings of the person who measures."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PRLX_", "TRITON_"))}
    more = {"PYTHONPATH": str(TRITON), "TRITON_CACHE_DIR": str(cache), "TRITON_DEFAULT_FP_FUSION": "1", "NO_COLOR": "1"}
    with subprocess.Popen(
        [sys.executable, script, *words], env={**kept, **more}, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        yield from (json.loads(line) for line in child.stdout if line.startswith("{"))
    if child.returncode != 0:
        raise RuntimeError(f"{script.name} ended with {child.returncode}")


def judged(row: dict[str, Any], group: str, true: dict[str, Sequence[int]]) -> dict[str, Any]:
    """A row with what is true of it: the lines of each form by its place."""
    file, _, line = row["place"].rpartition(":")
    which = next((name for name in (SECOND, FIRST) if f"/{name}/" in file), "")
    lines = true.get(which, ())
    return {**row, "group": group, "true": bool(line) and int(line) in lines, "lines": list(lines)}


def bugs(only: Sequence[str], equal: int, folder: Path) -> Iterator[dict[str, Any]]:
    """The bugs of this folder that differ on the simulator."""
    known = modules()
    asked = {
        row.id: group
        for group, row in listed()
        if group != REFACTORED and row.state == "differs" and (not only or row.id in only)
    }
    words = [f"{known[name]}:{name}" for name in asked]
    for row in run(HERE / "run_locate.py", str(folder), str(equal), *words, cache=folder / "cache") if words else ():
        text = marked_text(HERE / f"{known[row['id']]}.py", row["id"])
        true = {which: form(text, which).true_lines for which in (FIRST, SECOND)}
        yield judged(row, asked[row["id"]], true)


def seeded(only: Sequence[str], equal: int, folder: Path) -> Iterator[dict[str, Any]]:
    """The bugs of tests/simulator/bugs.py."""
    for row in run(SIMULATOR / "run_locate.py", "--equal", str(equal), "--all", cache=folder / "cache"):
        if not only or row["bug"] in only:
            true = row["place"] == f"bugs.py:{row['line']}"
            yield {**row, "id": row["bug"], "group": SEEDED, "true": true, "lines": [row["line"]]}


def sentence(row: dict[str, Any]) -> str:
    """A line of the table."""
    where = row["place"].rpartition("/")[2] or row["status"]
    lines = ",".join(map(str, row["lines"]))
    return f"{row['id']:24} {'true ' if row['true'] else 'WRONG'} {where:18} of {lines:12} {row['runs']} runs"


def totals(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """What the rows add up to."""
    found = list(rows)
    for group in dict.fromkeys(row["group"] for row in found):
        of = [row for row in found if row["group"] == group]
        located = [row for row in of if not row.get("equal")]
        equal = [row for row in of if row.get("equal")]
        text = f"{group}: first line true {share([row['true'] for row in located])}"
        yield text + (
            f"; equal runs in which nothing differs {share([row['status'] in ('same', 'inconclusive') for row in equal])}"
            if equal
            else ""
        )


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", default="", help="kernels, with commas")
    arguments.add_argument("--equal", type=int, default=0, help="how often the wrong form is held against itself; 0")
    arguments.add_argument("--folder", type=Path, default=ROOT / "build/bugs/locate", help="default: build/bugs/locate")
    options = arguments.parse_args()
    if not (TRITON / "triton").is_dir():
        print(f"no Triton under {TRITON}: make bugs installs it", file=sys.stderr)
        return 1
    only, folder = [one for one in options.only.split(",") if one], options.folder.resolve()
    rows = []
    for source in (bugs, seeded):
        for row in source(only, options.equal, folder):
            rows.append(row)
            if not row.get("equal"):
                print(sentence(row), flush=True)
            elif row["status"] != "same":
                print(f"{row['id']:24} EQUAL RUNS DIFFER: {row['verdict']}", flush=True)
    print(*totals(rows), sep="\n")
    located = [row["true"] for row in rows if not row.get("equal")]
    false = [row for row in rows if row.get("equal") and row["status"] not in ("same", "inconclusive")]
    return 1 if false or sum(located) < LEAST * len(located) or not located else 0


if __name__ == "__main__":
    sys.exit(main())
