"""Watches the clean kernels of the corpus and those that record by themselves: what both decide at each line.

PYTHONPATH=build/triton/3.9.0 python run_clean.py DIRECTORY [NAME...]

Prints a JSON document a case. Where ``run_recorder.py`` looks at what the recorder wrote, here the simulator watches the
machine code of both. The recorder writes nothing: its arena is not prepared.
"""

from __future__ import annotations

import collections
import contextlib
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from run_recorder import by_site, lanes, line_of, places

import prlx
from prlx import _core

warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Kernels that record by themselves are launched as they are, and the simulator records what it sees."""
    run = _core.run

    def watching(operation: str, request: dict[str, Any], **rest: Any) -> Any:
        if operation == "simulate_launch":
            record = {name: value for name, value in request["record"].items() if name != "instrumented"}
            request = {**request, "record": record}
        return run(operation, request, **rest)

    _core.run = watching
    try:
        yield
    finally:
        _core.run = run


def decided(case: Any, capture: Any, path: Path) -> collections.Counter[tuple[str, str, str]]:
    """How many sites have a kind, a line and the decisions of each lane in its order, whichever way the question is asked."""
    arrays = case.arrays(np.random.default_rng(0))
    with (
        watched(),
        prlx.enable(device="simulator", capture=capture, output=path, overwrite=True, progress=False),
        contextlib.redirect_stdout(sys.stderr),
    ):
        case.launch(arrays)
    trace = prlx.read_trace(path, progress=False)
    known, found = places(trace), collections.Counter[tuple[str, str, str]]()
    for site, warps in by_site(trace).items():
        kind, location = known[site]
        ways = [str(sorted(lanes(warps, other=other).items())) for other in (False, True)]
        found[kind, line_of(location), min(ways)] += 1
    return found


def main() -> None:
    from corpus import CASES

    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or CASES:
        clean, own = (decided(CASES[name], how, folder / f"{name}.{how}.prlx") for how in ("observed", "instrumented"))
        gone = clean - own
        row = {
            "case": name,
            "sites": clean.total(),
            "gone": [[kind, line.rpartition("/")[2]] for kind, line, _ in gone.elements()],
            "recorder": (own - clean).total(),
        }
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
