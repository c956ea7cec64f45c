"""A program on the simulator, with every process that it starts: what its launches did, gathered from their devices."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._errors import UsageError
from ._launching import Options
from ._program import run_program
from ._simulated import Run
from ._simulation import Simulation
from ._simulator import row_of
from ._target import Target

CHECKS = (
    "seed",
    "nan",
    "races",
    "global_races",
    "warp_races",
    "convergence",
    "counts",
    "max_findings",
    "max_instructions",
    "workers",
    "memory_limit",
)


@dataclass(frozen=True)
class Ran:
    """What came of a program.

    Attributes
    ----------
    status
        Its exit code.
    seen
        Its launches, added up.
    recorded
        How many of them were recorded.
    """

    status: int
    seen: Run
    recorded: int


def simulate(
    command: Sequence[str],
    name: str,
    options: Options,
    target: Target | None,
    *,
    most: int = 0,
    leaks: bool = False,
    stdout: int | None = None,
) -> Ran:
    """Run a program on the simulator.

    Parameters
    ----------
    command
        The program and its arguments.
    name
        What documents call it.
    options
        How its launches run.
    target
        The directory that they are recorded to; None for nothing.
    most
        Launches of each kernel that are executed in each process; the others do nothing. 0: all.
    leaks
        Whether memory that is there when a process ends is a finding.
    stdout
        A descriptor that takes the place of its standard output.
    """
    seen, recorded = Run(name, noun="program"), 0
    with tempfile.TemporaryDirectory(prefix="prlx-run-") as folder:
        told = Path(folder) / "run.json"
        told.write_text(json.dumps(_run(Path(folder), options, target, most)))
        status = run_program(command, run=told, stdout=stdout)
        for row in _journal(Path(folder)):
            recorded += _add(seen, row, target, leaks)
    if target is not None:
        target.close(partial=status != 0)
    return Ran(status, seen, recorded)


def _run(folder: Path, options: Options, target: Target | None, most: int) -> dict[str, Any]:
    """What devices are told of the run that they are part of."""
    checks = {name: getattr(options, name) for name in CHECKS if getattr(options, name) is not None}
    record = None
    if target is not None:
        if target.is_file:
            raise UsageError("a program makes a session", hint="name a directory: --record DIR")
        record = {**target.request, "path": str(target.path), "texts_beside": True}
        record.pop("sources", None)
        record["events_per_warp"] = record["events_per_warp"] or 0
    return {"folder": str(folder), "options": checks, "record": record, "most": most}


def _journal(folder: Path) -> Iterator[Mapping[str, Any]]:
    """The launches of all processes, in the order in which they began."""
    rows = []
    for path in folder.glob("*.jsonl"):
        with path.open("rb") as lines:
            rows += [json.loads(line) for line in lines if line.endswith(b"\n")]  # a killed device leaves half a line
    return iter(sorted(rows, key=lambda row: row["launch"]))


def _add(seen: Run, row: Mapping[str, Any], target: Target | None, leaks: bool) -> bool:
    """Add a launch; whether it was recorded."""
    if row["outcome"] == "noted":
        if leaks or row["document"]["check"] != "leak":
            seen.note({**row["document"], **_line(row["document"])})
        return False
    if row["outcome"] == "refused":
        error = row["document"]
        hint = f" ({error['hint']})" if error.get("hint") else ""
        seen.refuse(row["kernel"], f"{error['message']}{hint}")
        return False
    if row["outcome"] == "passed over":
        seen.refuse(row["kernel"], "passed over, as --launches says: what it would have computed is not there")
        return False
    simulation = Simulation(row["document"])
    seen.add(simulation)
    if target is None or row["document"]["recording"] is None:
        return False
    made = row_of(simulation)
    target.launches.append({"launch": row["launch"], **made, "file": Path(made["file"]).name})
    return True


def _line(found: Mapping[str, Any]) -> dict[str, Any]:
    """Where a program did something: file and line, where it has them and binutils are there; else its function."""
    tool = shutil.which("addr2line")
    for place in found["places"] if tool is not None else ():
        words = [tool, "-e", place["object"], hex(place["offset"])]
        said = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
        file, _, line = said.split(" (discriminator")[0].rpartition(":")
        if line.isdigit() and line != "0" and Path(file).name not in _HEADERS:
            return {"file": file, "line": int(line)}
    names = [place["function"] or Path(place["object"]).name for place in found["places"][-1:]]
    return {"message": f"{found['message']} (in {names[0]})"} if names else {}


_HEADERS = frozenset({"cuda_runtime.h"})  # of which functions are called that have no others behind them
