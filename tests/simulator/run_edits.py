"""Edits 20 kernels as people do and compares recordings of before and after; prints one JSON document an edit.

PYTHONPATH=build/triton/3.9.0 python run_edits.py [--edits N] [--bugs N] [--from SEED] DIRECTORY [KERNEL...]

A document says whether the PTX is equal but for lines, how many divergences count (control flow; with values), and the
same of the edited kernel with a bug that the unedited one shows, too.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import inspect
import json
import re
import sys
import textwrap
import warnings
from pathlib import Path

import edits
import numpy as np
from corpus import CASES

import prlx

warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")
warnings.filterwarnings("ignore", category=prlx.FindingWarning)  # bugs are planted

KERNELS = [
    "add", "dropout", "idx64", "ints", "cachemod", "softmax", "layernorm", "copy2d", "reduce", "whileloop",
    "gather", "histogram", "scans", "pipe", "early", "matmul", "flash", "atomics", "topk", "mathfn",
]  # fmt: skip
BUGS_TRIED = 8  # of each kernel
ENOUGH = 3_000_000  # instructions: a bug can make a loop endless
LOST = re.compile(r"^\s*(//.*|\.loc\b.*|\.file\b.*|\$L__tmp\d+:)?\s*$")


def code_of(ptx: str) -> str:
    """The PTX without what says where it comes from."""
    body = re.split(r"^\s*\.section\s+\.debug", ptx, flags=re.MULTILINE)[0]
    return "\n".join(line.split("//")[0].rstrip() for line in body.splitlines() if not LOST.match(line))


class Runner:
    """Runs texts of one kernel and keeps recordings in a folder."""

    def __init__(self, name: str, folder: Path, tried: int = BUGS_TRIED) -> None:
        self.case, self.name, self.folder, self.tried = CASES[name], name, folder, tried
        function = self.case.kernel.fn
        used = {n for n in function.__code__.co_names if n in function.__globals__} - {"tl", "triton"}
        self.imports = "import triton\nimport triton.language as tl\n"
        self.imports += "".join(f"from {function.__module__} import {n}\n" for n in sorted(used))
        source = textwrap.dedent(inspect.getsource(function))
        self.kernel = edits.Kernel(source[source.index("def ") :], known=frozenset(used))
        self.function = function.__name__

    def run(self, kernel: edits.Kernel, name: str) -> tuple[Path, str]:
        """Record a launch of the kernel; its recording and its PTX."""
        # One name of the file for all: as people edit a file in place.
        source = self.folder / name / f"{self.name}_kernels.py"
        source.parent.mkdir(exist_ok=True)
        source.write_text(f"{self.imports}\n\n{kernel.module}")
        spec = importlib.util.spec_from_file_location(f"edited_{name}", source)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        case, path = self.case, self.folder / f"{name}.prlx"
        arrays = case.arrays(np.random.default_rng(1))
        launched = getattr(module, self.function)
        with prlx.record(path, stores=True, atomics=True, loads=True, barriers=True, overwrite=True):
            compiled = launched[case.grid](**arrays, **case.scalars, **case.constants, **case.options)
        return path, compiled.asm["ptx"]

    @functools.cached_property
    def original(self) -> tuple[Path, str]:
        return self.run(self.kernel, f"{self.name}_original")

    @functools.cached_property
    def bugs(self) -> list[tuple[str, bool]]:
        """Bugs that show in the unedited kernel: the text, and whether without values."""
        found = []
        for number, text in enumerate(edits.bugs(self.kernel)[: 3 * self.tried]):
            try:
                path, _ = self.run(edits.Kernel(text, known=self.kernel.known), f"{self.name}_bug{number}")
            except Exception:  # a bug may not compile, or be stopped by a check
                continue
            flow, values = compared(self.original[0], path)
            if values["counted"]:
                found.append((text, flow["counted"] > 0))
            if len(found) == self.tried:
                break
        return found


def passed(path: Path, *more: str) -> list[tuple[int | str, ...]]:
    """What each warp passed, whatever the order: the kind, who was there and who went which way.

    Stores to shared memory keep their order with the barriers, which say what others see.
    """
    trace = prlx.read_trace(path)
    out = []
    for number in range(trace.num_warps):
        events = trace.warp(number).events.to_pandas()
        barriers = (events["kind"] == "barrier").cumsum().where(events["kind"] == "shared-store", 0)
        columns = [events[name].astype(str).tolist() for name in ("kind", "active", "taken", *more)]
        out += list(zip([number] * len(events), barriers.tolist(), *columns, strict=True))
    return sorted(out)


def compared(a: Path, b: Path) -> tuple[dict[str, object], dict[str, object]]:
    """How two recordings differ in control flow, and in values as well."""
    out = []
    for values in (False, True):
        document = json.loads(prlx.diff_traces(a, b, values=values, progress=False).to_json())
        first = document["first"] or {}
        out.append(
            {
                "counted": document["counted_divergences"],
                "verdict": document["verdict"],
                "first": [first.get("kind"), first.get("source_location")],
                "builds": document.get("builds"),
            }
        )
    return out[0], out[1]


def edit(runner: Runner, seed: int) -> dict[str, object]:
    """One edit: against the original, and with a bug."""
    kernel, done = edits.edited(runner.kernel, seed)
    row: dict[str, object] = {"kernel": runner.name, "seed": seed, "edits": done}
    try:
        path, ptx = runner.run(kernel, f"{runner.name}_{seed}")
    except Exception as error:
        return {**row, "refused": f"{type(error).__name__}: {error}"[-300:]}
    row["equal"] = code_of(ptx) == code_of(runner.original[1])
    a, b = runner.original[0], path
    row["events_equal"], row["values_equal"] = passed(a) == passed(b), passed(a, "value") == passed(b, "value")
    if seed % 5 == 0:
        a, b = b, a  # what was inserted is deleted
    row["flow"], row["values"] = compared(a, b)
    if runner.bugs:
        text, in_flow = runner.bugs[seed % len(runner.bugs)]
        wrong, _ = edits.edited(edits.Kernel(text, known=runner.kernel.known), seed)
        row["bug_in_flow"] = in_flow
        try:
            path, _ = runner.run(wrong, f"{runner.name}_{seed}_bug")
            row["bug_flow"], row["bug_values"] = compared(runner.original[0], path)
        except Exception as error:
            row["bug_refused"] = f"{type(error).__name__}: {error}"[-300:]
    return row


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--edits", type=int, default=1, help="of each kernel")
    parser.add_argument("--bugs", type=int, default=BUGS_TRIED, help="of each kernel")
    parser.add_argument("--from", type=int, default=0, dest="first")
    options = parser.parse_args()
    with prlx.enable(device="simulator", max_instructions=ENOUGH, progress=False):
        for name in options.names or KERNELS:
            runner = Runner(name, options.folder, options.bugs)
            for seed in range(options.first, options.first + options.edits):
                print(json.dumps(edit(runner, seed)), flush=True)
    print(json.dumps({"triton": sys.modules["triton"].__version__}))


if __name__ == "__main__":
    main()
